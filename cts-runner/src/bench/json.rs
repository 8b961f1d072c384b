//! The results as JSON, with everything that the table shows and the figures of each round.

use super::results::{MeasuredDriver, Results};
use super::stats::{self, DriverFigure, FigureRow};
use serde_json::{Value, json};

/// Returns all results as JSON.
pub fn render(results: &Results) -> Value {
    let groups: Vec<Value> = stats::groups(&results.rows)
        .into_iter()
        .map(|group| json!({ "group": group, "ratios": means(results, group) }))
        .collect();
    json!({
        "machine": { "cpu": results.machine, "vector_bits": results.vector_bits, "limits": results.limits.to_json() },
        "rounds": results.rounds,
        "drivers": results.drivers.iter().map(driver).collect::<Vec<_>>(),
        "groups": groups,
        "results": results.rows.iter().map(|row| row_json(results, row)).collect::<Vec<_>>(),
    })
}

fn driver(d: &MeasuredDriver) -> Value {
    json!({
        "label": d.label,
        "device": d.device,
        "driver_version": d.version,
        "api_version": d.api,
        "subgroup_size": d.lanes,
        "manifest": d.manifest,
        "environment": d.environment.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
    })
}

fn means(results: &Results, group: &str) -> Vec<Value> {
    let mean = |(i, d): (usize, &MeasuredDriver)| {
        let (mean, count) = stats::group_mean(&results.rows, group, i)?;
        let (own, other) = stats::group_sums(&results.rows, group, i)?;
        Some(json!({ "to": d.label, "geometric_mean": mean, "count": count, "sums": [own, other] }))
    };
    results.drivers.iter().enumerate().skip(1).filter_map(mean).collect()
}

fn row_json(results: &Results, row: &FigureRow) -> Value {
    let cells = row.cells.iter().zip(&results.drivers);
    let ratio = |(i, d): (usize, &MeasuredDriver)| {
        let r = row.ratio(i)?;
        Some(json!({ "to": d.label, "median": r.median, "least": r.min, "most": r.max }))
    };
    json!({
        "name": row.name,
        "group": row.group,
        "unit": if row.bytes { "bytes" } else { "seconds" },
        "drivers": cells.map(|(c, d)| cell(results, c, d)).collect::<Vec<_>>(),
        "ratios": results.drivers.iter().enumerate().skip(1).filter_map(ratio).collect::<Vec<_>>(),
    })
}

fn cell(results: &Results, cell: &DriverFigure, driver: &MeasuredDriver) -> Value {
    json!({
        "driver": driver.label,
        "outcome": cell.outcome.name(),
        "why": cell.why,
        "median": cell.median(),
        "rounds": cell.rounds,
        "rate": cell.rate().map(|(value, unit)| json!({ "value": value, "unit": unit.per_second() })),
        "share_of_limit": cell.share(&results.limits),
        "peak_memory": cell.peak_memory,
    })
}
