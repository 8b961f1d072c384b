//! The results as text for a terminal.

use super::report::WorkloadOutcome;
use super::results::Results;
use super::stats::{self, DriverFigure, FigureRow};
use std::fmt::Write;

/// Number of rows above which a group is folded to its mean, its worst and its best rows, unless
/// all rows are requested.
const FOLD: usize = 40;
/// Number of rows with the smallest ratios that are shown of a folded group. `BEST` is the number
/// of rows with the largest ratios.
const WORST: usize = 10;
const BEST: usize = 3;

/// Formats a number with an SI prefix and three significant digits: `1.23 G`.
pub fn si(value: f64) -> String {
    const PREFIXES: [(f64, &str); 8] =
        [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
    let (scale, prefix) = PREFIXES.into_iter().find(|(s, _)| value >= *s * 0.9995).unwrap_or((1e-9, "n"));
    let scaled = value / scale;
    let digits = if scaled < 9.995 { 2 } else { usize::from(scaled < 99.95) };
    format!("{scaled:.digits$} {prefix}")
}

/// Formats a size in powers of 1024.
fn mebibytes(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

/// Formats a cell as its rate, its time or its size, or as the reason why there is no value.
pub fn shown(cell: &DriverFigure, bytes: bool) -> String {
    match (cell.outcome, cell.median(), cell.rate()) {
        (WorkloadOutcome::Ok, _, Some((rate, unit))) => format!("{}{}", si(rate), unit.per_second()),
        (WorkloadOutcome::Ok, Some(value), None) if bytes => mebibytes(value),
        (WorkloadOutcome::Ok, Some(value), None) => format!("{}s", si(value)),
        (WorkloadOutcome::Ok, None, _) => "ok".into(),
        (outcome, ..) => outcome.name().into(),
    }
}

fn ratio_shown(row: &FigureRow, rival: usize) -> String {
    row.ratio(rival).map_or_else(String::new, |r| {
        let digits = |v: f64| if v < 9.995 { 2 } else { usize::from(v < 99.95) };
        let (m, l, u) = (digits(r.median), digits(r.min), digits(r.max));
        format!("{:.m$} ({:.l$}–{:.u$})", r.median, r.min, r.max)
    })
}

/// Returns the text of all results.
pub fn render(results: &Results, details: bool) -> String {
    let mut text = head(results);
    for group in stats::groups(&results.rows) {
        group_table(&mut text, results, group, details);
    }
    means(&mut text, results);
    failures(&mut text, results);
    text
}

fn head(results: &Results) -> String {
    let l = &results.limits;
    let mut text = format!("{}, vectors of {} bits", results.machine, results.vector_bits);
    if l.threads > 0 {
        let (flops, copy, fill) = (si(l.flops), si(l.copy), si(l.fill));
        let _ = write!(text, ", {} threads; FMA {flops}FLOP/s, copy {copy}B/s, fill {fill}B/s", l.threads);
    }
    text.push('\n');
    for d in &results.drivers {
        let (device, lanes, manifest) = (&d.device, d.lanes, d.manifest.display());
        let own: String = d.environment.iter().map(|(name, value)| format!(", {name}={value}")).collect();
        let _ = writeln!(
            text,
            "{:14} {device} {}, Vulkan {}, subgroups of {lanes} ({manifest}{own})",
            d.label, d.version, d.api
        );
    }
    let _ =
        writeln!(text, "{} rounds; ratio = time of the rival / time of {}", results.rounds, results.drivers[0].label);
    text
}

fn group_table(text: &mut String, results: &Results, group: &str, details: bool) {
    let rows: Vec<&FigureRow> = results.rows.iter().filter(|r| r.group == group).collect();
    let _ = write!(text, "\n{group:32}{:>16}{:>5}", results.drivers[0].label, "%");
    for rival in &results.drivers[1..] {
        let _ = write!(text, "{:>16}{:>20}", rival.label, "ratio");
    }
    text.push('\n');
    let folded = rows.len() > FOLD && !details;
    let count = rows.len();
    let shown = if folded { extremes(&rows) } else { rows };
    for (i, row) in shown.iter().enumerate() {
        line(text, results, row);
        if folded && i + 1 == WORST {
            let _ = writeln!(text, "  … {} more, see --details", count - shown.len());
        }
    }
    if results.drivers.len() < 2 {
        return;
    }
    let _ = write!(text, "{:53}", "geometric mean");
    for rival in 1..results.drivers.len() {
        let mean = stats::group_mean(&results.rows, group, rival);
        let mean = mean.map_or_else(String::new, |(mean, n)| format!("{mean:.2} of {n}"));
        let _ = write!(text, "{:16}{mean:>20}", "");
    }
    text.push('\n');
    sums(text, results, group);
}

/// Appends the sums of all rows of a group whose figures are times.
fn sums(text: &mut String, results: &Results, group: &str) {
    let is_times = |r: &FigureRow| !r.bytes && r.cells.first().is_some_and(|c| c.amount.is_none());
    if results.rows.iter().any(|r| r.group == group && !is_times(r)) {
        return;
    }
    let _ = write!(text, "{:32}", "sum of what both do");
    for rival in 1..results.drivers.len() {
        if let Some((first, other)) = stats::group_sums(&results.rows, group, rival) {
            let shown = [first, other].map(|sum| format!("{}s", si(sum)));
            let _ = write!(text, "{:>16}{:5}{:>16}{:>20.2}", shown[0], "", shown[1], other / first);
        }
    }
    text.push('\n');
}

/// Returns the rows with the smallest and with the largest ratios. The ratio of a row is its
/// minimum over the other drivers.
fn extremes<'a>(rows: &[&'a FigureRow]) -> Vec<&'a FigureRow> {
    let worst =
        |row: &FigureRow| (1..row.cells.len()).filter_map(|i| Some(row.ratio(i)?.median)).min_by(f64::total_cmp);
    let mut sorted: Vec<(f64, &FigureRow)> = rows.iter().filter_map(|row| Some((worst(row)?, *row))).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let last = sorted.len().saturating_sub(BEST).max(WORST);
    sorted.into_iter().enumerate().filter(|(i, _)| *i < WORST || *i >= last).map(|(_, (_, row))| row).collect()
}

fn line(text: &mut String, results: &Results, row: &FigureRow) {
    let name = row.name.split_once('/').map_or(row.name.as_str(), |(_, name)| name);
    let Some(first) = row.cells.first() else { return };
    let share = first.share(&results.limits).map_or_else(String::new, |s| format!("{:.0}%", s * 100.0));
    let _ = write!(text, "  {name:30}{:>16}{share:>5}", shown(first, row.bytes));
    for (i, cell) in row.cells.iter().enumerate().skip(1) {
        let _ = write!(text, "{:>16}{:>20}", shown(cell, row.bytes), ratio_shown(row, i));
    }
    text.push('\n');
}

fn means(text: &mut String, results: &Results) {
    if results.drivers.len() < 2 {
        return;
    }
    let _ = write!(text, "\n{:32}", "geometric means");
    for rival in &results.drivers[1..] {
        let _ = write!(text, "{:>16}", rival.label);
    }
    text.push('\n');
    for group in stats::groups(&results.rows) {
        let _ = write!(text, "  {group:30}");
        for rival in 1..results.drivers.len() {
            let mean = stats::group_mean(&results.rows, group, rival);
            let _ = write!(text, "{:>16}", mean.map_or_else(|| "–".into(), |(mean, _)| format!("{mean:.2}")));
        }
        text.push('\n');
    }
}

/// Appends the reasons why cells have no value.
fn failures(text: &mut String, results: &Results) {
    let mut said = Vec::new();
    for row in &results.rows {
        let workload = row.name.split(' ').next().unwrap_or_default();
        for (cell, driver) in row.cells.iter().zip(&results.drivers).filter(|(c, _)| c.outcome != WorkloadOutcome::Ok) {
            let key = format!("{} on {}: {}: {}", workload, driver.label, cell.outcome.name(), cell.why);
            if !said.contains(&key) {
                said.push(key);
            }
        }
    }
    if !said.is_empty() {
        let _ = write!(text, "\n{}\n", said.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, expected) in [
            (1234.0, "1.23 k"),
            (999.9, "1.00 k"),
            (12.34e9, "12.3 G"),
            (0.0456, "45.6 m"),
            (1.0, "1.00 "),
            (123.4e-6, "123 µ"),
        ] {
            assert_eq!(si(value), expected);
        }
    }
}
