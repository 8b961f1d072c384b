//! Converts reports to rows: medians, ratios round by round, geometric means.
//!
//! Invariant: a ratio compares two reports of the same round, which were measured one after the
//! other. A mean only includes rows on which both drivers were correct in every round.

use super::figure::{Amount, Unit};
use super::report::{ChildReport, WorkloadOutcome};
use super::workload::{Family, Spec};
use super::{figure::Figure, limits::Limits};

/// One child's report with its coordinates.
pub struct ChildRun {
    /// Index of the workload.
    pub spec: usize,
    /// Index of the driver.
    pub driver: usize,
    /// Index of the round, from 0.
    pub round: usize,
    /// Report of the child.
    pub report: ChildReport,
}

/// One figure of one workload on all drivers.
pub struct FigureRow {
    /// Name of the workload and of the figure.
    pub name: String,
    /// Group to whose mean the row contributes.
    pub group: String,
    /// True if the values are in bytes.
    pub bytes: bool,
    /// Cells by driver.
    pub cells: Vec<DriverFigure>,
}

/// One figure on one driver.
#[derive(Clone)]
pub struct DriverFigure {
    /// Worst outcome of all rounds.
    pub outcome: WorkloadOutcome,
    /// Reason for the outcome.
    pub why: String,
    /// Values by round, in seconds of one iteration or in bytes.
    pub rounds: Vec<Option<f64>>,
    /// Amount of work of one iteration.
    pub amount: Option<Amount>,
    /// Maximum over the rounds of the peak memory, in bytes.
    pub peak_memory: u64,
}

/// Time of another driver relative to the first driver: median, minimum and maximum of the rounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// Median of the rounds.
    pub median: f64,
    /// Minimum of the rounds.
    pub min: f64,
    /// Maximum of the rounds.
    pub max: f64,
}

impl DriverFigure {
    /// Returns the median of the rounds.
    pub fn median(&self) -> Option<f64> {
        let mut values: Vec<f64> = self.rounds.iter().flatten().copied().collect();
        (self.outcome == WorkloadOutcome::Ok && !values.is_empty()).then(|| median(&mut values))
    }

    /// Returns the amount per second.
    pub fn rate(&self) -> Option<(f64, Unit)> {
        Some((self.amount?.value / self.median()?, self.amount?.unit))
    }

    /// Returns the share of the machine's limit, if the unit has a limit.
    pub fn share(&self, limits: &Limits) -> Option<f64> {
        let (rate, unit) = self.rate()?;
        let limit = match unit {
            Unit::Flop => limits.flops,
            Unit::Byte => limits.copy,
            Unit::Filled => limits.fill,
            _ => return None,
        };
        (limit > 0.0).then(|| rate / limit)
    }
}

impl FigureRow {
    /// Returns the value of another driver divided by the value of the first driver.
    pub fn ratio(&self, rival: usize) -> Option<Ratio> {
        let (first, other) = (self.cells.first()?, self.cells.get(rival)?);
        if first.outcome != WorkloadOutcome::Ok || other.outcome != WorkloadOutcome::Ok {
            return None;
        }
        let pairs = first.rounds.iter().zip(&other.rounds);
        let mut ratios: Vec<f64> = pairs.filter_map(|(a, b)| Some((*b)? / (*a)?)).filter(|r| r.is_finite()).collect();
        if ratios.is_empty() {
            return None;
        }
        let median = median(&mut ratios);
        Some(Ratio { median, min: ratios[0], max: ratios[ratios.len() - 1] })
    }
}

/// Sorts the values and returns the middle one. Returns NaN for no values.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match (values.len(), values.len() / 2) {
        (0, _) => f64::NAN,
        (n, half) if n % 2 == 0 => (values[half - 1] + values[half]) / 2.0,
        (_, half) => values[half],
    }
}

/// Returns the geometric mean; `None` for no values.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0u32), |(sum, n), v| (sum + v.ln(), n + 1));
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

/// Returns the geometric mean of a group's ratios to another driver, and the number of ratios.
pub fn group_mean(rows: &[FigureRow], group: &str, rival: usize) -> Option<(f64, usize)> {
    let ratios: Vec<f64> =
        rows.iter().filter(|r| r.group == group).filter_map(|r| Some(r.ratio(rival)?.median)).collect();
    Some((geometric_mean(ratios.iter().copied())?, ratios.len()))
}

/// Returns the sums of a group's values on the first driver and on another driver, over the rows
/// that both have.
pub fn group_sums(rows: &[FigureRow], group: &str, rival: usize) -> Option<(f64, f64)> {
    let both = |r: &FigureRow| r.ratio(rival).and_then(|_| Some((r.cells[0].median()?, r.cells[rival].median()?)));
    let sums = rows.iter().filter(|r| r.group == group).filter_map(both);
    sums.reduce(|(a, b), (c, d)| (a + c, b + d))
}

/// Returns the groups in the order of their rows.
pub fn groups(rows: &[FigureRow]) -> Vec<&str> {
    let mut groups: Vec<&str> = Vec::new();
    for row in rows {
        if !groups.contains(&row.group.as_str()) {
            groups.push(&row.group);
        }
    }
    groups
}

/// Returns all rows of all runs. Figures of one group are adjacent.
pub fn rows(specs: &[Spec], drivers: usize, rounds: usize, runs: &[ChildRun]) -> Vec<FigureRow> {
    let mut rows: Vec<FigureRow> =
        specs.iter().enumerate().flat_map(|(i, spec)| rows_of(spec, i, drivers, rounds, runs)).collect();
    let order: Vec<String> = groups(&rows).into_iter().map(String::from).collect();
    rows.sort_by_key(|r| order.iter().position(|g| *g == r.group));
    rows
}

fn rows_of(spec: &Spec, index: usize, drivers: usize, rounds: usize, runs: &[ChildRun]) -> Vec<FigureRow> {
    let own: Vec<&ChildRun> = runs.iter().filter(|r| r.spec == index).collect();
    if own.is_empty() {
        return Vec::new();
    }
    let mut figures: Vec<&Figure> = Vec::new();
    for figure in own.iter().flat_map(|r| &r.report.figures) {
        if !figures.iter().any(|f| f.name == figure.name) {
            figures.push(figure);
        }
    }
    let nothing = Figure { name: String::new(), value: 0.0, bytes: false, amount: None };
    if figures.is_empty() {
        figures.push(&nothing);
    }
    let row = |figure: &&Figure| FigureRow {
        name: format!("{} {}", spec.name, figure.name).trim().into(),
        group: group_of(spec.family, figure),
        bytes: figure.bytes,
        cells: (0..drivers).map(|driver| cell(&own, driver, rounds, &figure.name)).collect(),
    };
    figures.iter().map(row).collect()
}

fn group_of(family: Family, figure: &Figure) -> String {
    match family {
        Family::Create | Family::Programs | Family::Corpus | Family::Rays => {
            format!("{} {}", family.name(), figure.name).trim().into()
        }
        family if figure.bytes => format!("{} memory", family.name()),
        family => family.name().into(),
    }
}

fn cell(own: &[&ChildRun], driver: usize, rounds: usize, name: &str) -> DriverFigure {
    let mut cell = DriverFigure {
        outcome: WorkloadOutcome::Ok,
        why: String::new(),
        rounds: vec![None; rounds],
        amount: None,
        peak_memory: 0,
    };
    for run in own.iter().filter(|r| r.driver == driver) {
        let report = &run.report;
        cell.peak_memory = cell.peak_memory.max(report.peak_memory);
        if report.outcome != WorkloadOutcome::Ok && cell.outcome == WorkloadOutcome::Ok {
            (cell.outcome, cell.why) = (report.outcome, report.why.clone());
        }
        if let Some(figure) = report.figures.iter().find(|f| f.name == name) {
            cell.amount = figure.amount;
            if let Some(place) = cell.rounds.get_mut(run.round) {
                *place = Some(figure.value);
            }
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell_of(values: &[f64]) -> DriverFigure {
        let rounds = values.iter().map(|&v| Some(v)).collect();
        DriverFigure { outcome: WorkloadOutcome::Ok, why: String::new(), rounds, amount: None, peak_memory: 0 }
    }

    fn row_of(cells: Vec<DriverFigure>) -> FigureRow {
        FigureRow { name: "x".into(), group: "g".into(), bytes: false, cells }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // The machine was ten times slower in round 2, which does not change the ratio.
        let row = row_of(vec![cell_of(&[1.0, 10.0, 1.0]), cell_of(&[2.0, 20.0, 3.0])]);
        assert_eq!(row.ratio(1), Some(Ratio { median: 2.0, min: 2.0, max: 3.0 }));
    }

    #[test]
    fn a_wrong_result_has_no_ratio() {
        let mut wrong = cell_of(&[1e-9, 1e-9]);
        wrong.outcome = WorkloadOutcome::Wrong;
        let rows = [row_of(vec![cell_of(&[1.0, 1.0]), wrong.clone()]), row_of(vec![wrong, cell_of(&[4.0, 4.0])])];
        assert!(rows.iter().all(|r| r.ratio(1).is_none()));
        assert_eq!(group_mean(&rows, "g", 1), None);
        assert_eq!(rows[1].cells[0].median(), None);
    }

    #[test]
    fn sums_cover_figures_of_both_drivers() {
        let mut wrong = cell_of(&[100.0]);
        wrong.outcome = WorkloadOutcome::Wrong;
        let both = |a, b| row_of(vec![cell_of(&[a]), cell_of(&[b])]);
        let rows = [both(1.0, 4.0), row_of(vec![cell_of(&[50.0]), wrong]), both(2.0, 8.0)];
        assert_eq!(group_sums(&rows, "g", 1), Some((3.0, 12.0)));
        assert_eq!(group_sums(&rows, "h", 1), None);
    }

    #[test]
    fn means() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0]), 2.5);
        assert!(median(&mut []).is_nan());
        assert!((geometric_mean([2.0, 8.0]).expect("two") - 4.0).abs() < 1e-12);
        assert_eq!(geometric_mean([]), None);
    }

    #[test]
    fn a_crash_in_one_round_is_the_outcome() {
        fn never(_: &crate::vk::Gpu) -> Result<Box<dyn super::super::Workload>, super::super::SetupError> {
            Err(super::super::SetupError::Unsupported("never made".into()))
        }
        let specs = [Spec::quick("compute/a", Family::Compute, never)];
        let good = || ChildReport::steady(2.0, Amount::new(4.0, Unit::Flop));
        let run = |driver, round, report| ChildRun { spec: 0, driver, round, report };
        let runs = [
            run(0, 0, good()),
            run(1, 0, good()),
            run(0, 1, good()),
            run(1, 1, ChildReport::without(WorkloadOutcome::Crashed, "signal: 11")),
        ];
        let rows = rows(&specs, 2, 2, &runs);
        assert_eq!(rows.len(), 1);
        let cells = &rows[0].cells;
        assert_eq!((cells[0].outcome, cells[1].outcome), (WorkloadOutcome::Ok, WorkloadOutcome::Crashed));
        assert_eq!(cells[0].rate(), Some((2.0, Unit::Flop)));
        assert_eq!(cells[1].rate(), None);
        let limits = Limits { flops: 8.0, ..Limits::default() };
        assert_eq!(cells[0].share(&limits), Some(0.25));
        assert_eq!(rows[0].ratio(1), None);
    }
}
