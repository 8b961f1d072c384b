//! Results of a run in the forms that users and programs read: terminal, Markdown, JUnit, HTML,
//! JSON. All are written from one [`Report`].

pub mod html;
pub mod image;
pub mod junit;
pub mod markdown;
pub mod table;
pub mod terminal;

use super::device::Device;
use super::diff::Comparison;
use super::portion::Portion;
use super::status::{Counts, Outcome, Status};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

/// Maximum number of slowest cases that are listed.
pub const SLOWEST: usize = 20;

/// Maximum number of cases that all get a row in the reports. Larger reports would be too large to
/// open.
pub const MAX_FULL_ROWS: usize = 100_000;

/// Result of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Full name of the case.
    pub name: String,
    /// Final outcome of the case.
    pub outcome: Outcome,
    /// Status of each execution.
    pub attempts: Vec<Status>,
    /// Result code of deqp, or how the process died.
    pub code: String,
    /// Reason for the status.
    pub message: String,
    /// Seconds of the first execution.
    pub seconds: f64,
    /// Reason of the expectation that decided the outcome.
    pub reason: Option<String>,
    /// Paths of the log and the output, if they exist.
    pub logs: Option<[PathBuf; 2]>,
    /// Status and seconds on the other driver.
    pub there: Option<(Status, f64)>,
}

impl Row {
    /// Returns the reason in one line: the message, the code, or both.
    pub fn why(&self) -> String {
        match (self.message.as_str(), self.code == self.outcome.name()) {
            (message, _) if message.is_empty() || message == self.code => self.code.clone(),
            (message, true) => message.into(),
            (message, false) => format!("{}: {message}", self.code),
        }
    }
}

/// All results of a run. It is made by [`Report::new`] and one [`Report::add`] per case.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The driver that ran.
    pub device: Device,
    /// The driver that it is compared with.
    pub other: Option<Device>,
    /// Number of cases.
    pub cases: usize,
    /// Cases in the order of the selection. If there are more than [`MAX_FULL_ROWS`], only those
    /// that neither passed nor are unsupported.
    pub rows: Vec<Row>,
    /// Differences from the other driver and from the baseline.
    pub comparisons: Vec<Comparison>,
    /// Problems that belong to no case.
    pub notes: Vec<String>,
    /// Duration of this call.
    pub wall: Duration,
    /// Processor time of the cases of this call, of all drivers, with the starts of their
    /// processes.
    pub processor: Duration,
    /// Portion of the cases that was selected.
    pub portion: Portion,
    /// Number of results that an earlier call had left.
    pub resumed: usize,
    every: bool,
    counts: Counts,
    seconds: f64,
    slowest: Vec<Row>,
    groupings: Vec<Grouping>,
}

/// The cases, grouped by the first components of their names.
#[derive(Clone, Debug, PartialEq, Default)]
struct Grouping {
    depth: usize,
    groups: Vec<Group>,
    places: HashMap<String, usize>,
}

impl Grouping {
    fn add(&mut self, row: &Row) {
        let name = group_name(&row.name, self.depth);
        let place = match self.places.get(name) {
            Some(&place) => place,
            None => {
                self.places.insert(name.into(), self.groups.len());
                self.groups.push(Group { name: name.into(), ..Group::default() });
                self.groups.len() - 1
            }
        };
        let group = &mut self.groups[place];
        group.counts.add(row.outcome);
        group.seconds += row.seconds;
        if let Some((status, seconds)) = row.there {
            group.there.0 += usize::from(status.passed());
            group.there.1 += seconds;
        }
    }
}

/// The cases of one group.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Group {
    /// Common prefix of their names.
    pub name: String,
    /// Outcomes of the cases.
    pub counts: Counts,
    /// Seconds that the cases took.
    pub seconds: f64,
    /// Number of passed cases and seconds on the other driver.
    pub there: (usize, f64),
}

impl Report {
    /// Creates a report of `cases` cases, which are then added.
    pub fn new(device: Device, other: Option<Device>, cases: usize) -> Self {
        // The groupings are ordered from finest to coarsest. The last one is used regardless of its
        // number of groups.
        let groupings = (2..=4).rev().map(|depth| Grouping { depth, ..Grouping::default() }).collect();
        Self {
            device,
            other,
            cases: 0,
            rows: Vec::new(),
            comparisons: Vec::new(),
            notes: Vec::new(),
            wall: Duration::ZERO,
            processor: Duration::ZERO,
            portion: Portion::ALL,
            resumed: 0,
            every: cases <= MAX_FULL_ROWS,
            counts: Counts::default(),
            seconds: 0.0,
            slowest: Vec::new(),
            groupings,
        }
    }

    /// Adds the next case of the selection.
    pub fn add(&mut self, row: Row) {
        const LARGEST: usize = 50;
        self.cases += 1;
        self.counts.add(row.outcome);
        self.seconds += row.seconds;
        self.groupings.iter_mut().for_each(|grouping| grouping.add(&row));
        // The groups use as many components of the names as still give a readable table.
        self.groupings.retain(|grouping| grouping.depth == 2 || grouping.groups.len() <= LARGEST);
        let last = self.slowest.get(SLOWEST - 1).map_or(0.0, |slow| slow.seconds);
        if row.seconds > last {
            let place = self.slowest.partition_point(|slow| slow.seconds >= row.seconds);
            self.slowest.insert(place, row.clone());
            self.slowest.truncate(SLOWEST);
        }
        if self.every || !matches!(row.outcome, Outcome::Is(Status::Pass | Status::NotSupported)) {
            self.rows.push(row);
        }
    }

    /// Returns the outcomes of all cases.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns true if `rows` contains all cases.
    pub fn has_every_row(&self) -> bool {
        self.every
    }

    /// Returns the cases with unexpected outcomes, worst first.
    pub fn surprises(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| row.outcome.surprise()).collect();
        rows.sort_by_key(|row| Outcome::ALL.iter().position(|&o| o == row.outcome));
        rows
    }

    /// Returns the cases that took longest.
    pub fn slowest(&self) -> &[Row] {
        &self.slowest
    }

    /// Returns the sum of the seconds of all cases.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Returns the cases by group.
    pub fn groups(&self) -> &[Group] {
        self.groupings.first().map_or(&[], |grouping| &grouping.groups)
    }

    /// Returns the summary that scripts read.
    pub fn json(&self) -> Value {
        let counts = self.counts();
        let by_outcome: serde_json::Map<String, Value> =
            Outcome::ALL.iter().map(|&o| (o.name().to_string(), counts.get(o).into())).collect();
        let surprise = |row: &&Row| json!({ "case": row.name, "outcome": row.outcome.name(), "why": row.why() });
        let group = |g: &super::diff::Group| json!({ "pattern": g.pattern, "cases": g.cases, "of": g.of });
        let kind = |k: &super::diff::DifferenceKind| {
            json!({ "title": k.title, "worse": k.worse, "cases": k.cases,
                    "groups": k.groups.iter().map(group).collect::<Vec<_>>() })
        };
        let comparison = |c: &Comparison| {
            json!({ "with": c.with, "compared": c.compared, "seconds_here": c.seconds[0], "seconds_there": c.seconds[1],
                    "kinds": c.kinds.iter().map(kind).collect::<Vec<_>>() })
        };
        json!({
            "driver": self.device.json(), "against": self.other.as_ref().map(Device::json),
            "cases": self.cases, "outcomes": by_outcome, "seconds": self.seconds(),
            "wall_seconds": self.wall.as_secs_f64(),
            "processor_seconds": self.processor.as_secs_f64(), "portion": self.portion.to_string(), "resumed": self.resumed, "notes": self.notes,
            "surprises": self.surprises().iter().map(surprise).collect::<Vec<_>>(),
            "comparisons": self.comparisons.iter().map(comparison).collect::<Vec<_>>(),
        })
    }
}

/// Returns the first components of a name, without the last component.
fn group_name(name: &str, depth: usize) -> &str {
    let end = name.match_indices('.').take(depth).last().map_or(name.len(), |(dot, _)| dot);
    &name[..end]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cts::diff::Pair;

    /// Returns a report with one case of each kind, and texts that every format must escape.
    pub fn sample() -> Report {
        let row = |name: &str, outcome, message: &str| Row {
            name: format!("dEQP-VK.{name}"),
            outcome,
            attempts: vec![Status::Pass],
            code: Outcome::name(outcome).into(),
            message: message.into(),
            seconds: name.len() as f64,
            reason: (outcome == Outcome::ExpectedFail).then(|| "known | <since> 1.0".into()),
            logs: None,
            there: None,
        };
        let mut rows: Vec<Row> = Outcome::ALL
            .iter()
            .map(|&outcome| row(&format!("api.{outcome}.x"), outcome, "a < b & \"c\" | d"))
            .collect();
        rows.push(row("glsl.loops.y", Outcome::Is(Status::Pass), ""));
        let pair = |name, here, there| Pair { name, here, there, message: "a < b", seconds: [1.0, 2.0] };
        let pairs = vec![
            pair("dEQP-VK.api.Fail.x", Status::Fail, Status::Pass),
            pair("dEQP-VK.api.Pass.x", Status::Pass, Status::Pass),
        ];
        let device = |name: &str| Device { name: name.into(), driver_info: "1 <2>".into(), ..Device::default() };
        rows[0].there = Some((Status::Pass, 2.0));
        let mut report = Report::new(device("Grus (2 threads)"), Some(device("llvmpipe")), rows.len());
        rows.into_iter().for_each(|row| report.add(row));
        report.comparisons = vec![Comparison::new("on llvmpipe", pairs)];
        report.notes = vec!["deqp hung".into()];
        report.wall = Duration::from_secs(5);
        report.processor = Duration::from_secs(8);
        report.resumed = 3;
        report
    }

    #[test]
    fn groups_are_as_fine_as_a_table_bears() {
        let report = sample();
        let names: Vec<&str> = report.groups().iter().map(|group| group.name.as_str()).collect();
        assert!(names.contains(&"dEQP-VK.glsl.loops"), "{names:?}");
        assert_eq!(report.groups().iter().map(|group| group.counts.total()).sum::<usize>(), report.rows.len());
        let mut wide = Report::new(Device::default(), None, 5000);
        (0..5000).for_each(|i| wide.add(Row { name: format!("dEQP-VK.a.b.g{i}.x"), ..report.rows[0].clone() }));
        assert_eq!(wide.groups().len(), 1);
    }

    #[test]
    fn of_very_many_cases_only_what_matters_has_a_row() {
        let sample = sample();
        let mut report = Report::new(Device::default(), None, MAX_FULL_ROWS + 1);
        for i in 0..=MAX_FULL_ROWS {
            let row = if i == 777 { &sample.rows[6] } else { &sample.rows[i % 2] };
            report.add(Row { name: format!("dEQP-VK.a.b.c{i}"), seconds: i as f64, ..row.clone() });
        }
        assert_eq!(
            (report.cases, report.counts().total(), report.rows.len()),
            (MAX_FULL_ROWS + 1, MAX_FULL_ROWS + 1, 1)
        );
        assert_eq!((report.surprises().len(), report.slowest().len()), (1, SLOWEST));
        assert_eq!(report.slowest()[0].name, format!("dEQP-VK.a.b.c{MAX_FULL_ROWS}"));
        let texts = [html::render(&report), junit::render(&report), markdown::render(&report)];
        for text in texts {
            assert!(text.len() < 100_000 && text.contains("100001") && text.contains("777"), "{text}");
        }
    }

    #[test]
    fn json_counts_every_outcome() {
        let json = sample().json();
        assert_eq!((json["cases"].as_u64(), json["outcomes"]["Crash"].as_u64()), (Some(12), Some(1)));
        assert_eq!(json["surprises"].as_array().map(Vec::len), Some(5));
        assert_eq!(json["comparisons"][0]["kinds"][0]["groups"][0]["pattern"], "dEQP-VK.api.Fail.x");
    }
}
