//! What a run found, in the forms people and machines read: terminal, Markdown, JUnit, HTML, JSON. All are written from one [`Report`].

pub mod html;
pub mod image;
pub mod junit;
pub mod markdown;
pub mod table;
pub mod terminal;

use super::device::Device;
use super::diff::Comparison;
use super::status::{Counts, Outcome, Status};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

/// How many of the slowest cases are listed.
pub const SLOWEST: usize = 20;

/// One case.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Full name.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What each execution gave.
    pub attempts: Vec<Status>,
    /// deqp's code, or how the process died.
    pub code: String,
    /// Why.
    pub message: String,
    /// Seconds of the first execution.
    pub seconds: f64,
    /// The reason of the expectation that decided.
    pub reason: Option<String>,
    /// Log and output, when there are any.
    pub logs: Option<[PathBuf; 2]>,
}

impl Row {
    /// What it says in a line: the message, or else the code.
    pub fn why(&self) -> String {
        match (self.message.as_str(), self.code == self.outcome.name()) {
            (message, _) if message.is_empty() || message == self.code => self.code.clone(),
            (message, true) => message.into(),
            (message, false) => format!("{}: {message}", self.code),
        }
    }
}

/// The second driver of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// Who it is.
    pub device: Device,
    /// Status and seconds of each case.
    pub cases: HashMap<String, (Status, f64)>,
}

/// All that a run found.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The driver that ran.
    pub device: Device,
    /// All selected cases, in the order of the selection.
    pub rows: Vec<Row>,
    /// The driver compared with.
    pub other: Option<Other>,
    /// What differs from that driver and from the baseline.
    pub comparisons: Vec<Comparison>,
    /// Oddities that no case is to blame for.
    pub notes: Vec<String>,
    /// Time of this call.
    pub wall: Duration,
    /// Results that an earlier call had left.
    pub resumed: usize,
}

/// The cases of one group.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Group {
    /// Common beginning of their names.
    pub name: String,
    /// What became of them.
    pub counts: Counts,
    /// Seconds they took.
    pub seconds: f64,
    /// On the other driver: how many pass, and seconds.
    pub there: (usize, f64),
}

impl Report {
    /// Outcomes of all cases.
    pub fn counts(&self) -> Counts {
        self.rows.iter().map(|row| row.outcome).collect()
    }

    /// The cases that nobody expected to end so, worst first.
    pub fn surprises(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| row.outcome.surprise()).collect();
        rows.sort_by_key(|row| Outcome::ALL.iter().position(|&o| o == row.outcome));
        rows
    }

    /// The cases that took longest.
    pub fn slowest(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| row.seconds > 0.0).collect();
        rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        rows.truncate(SLOWEST);
        rows
    }

    /// Seconds of all cases.
    pub fn seconds(&self) -> f64 {
        self.rows.iter().map(|row| row.seconds).sum()
    }

    /// The cases by group: as many components of the names as give a table one can look at.
    pub fn groups(&self) -> Vec<Group> {
        const LARGEST: usize = 50;
        let at_depth = |depth: usize| {
            let mut groups: Vec<Group> = Vec::new();
            let mut places = HashMap::new();
            for row in &self.rows {
                let name = group_name(&row.name, depth);
                let place = *places.entry(name).or_insert_with(|| {
                    groups.push(Group { name: name.into(), ..Group::default() });
                    groups.len() - 1
                });
                let group = &mut groups[place];
                group.counts.add(row.outcome);
                group.seconds += row.seconds;
                if let Some((status, seconds)) = self.other.as_ref().and_then(|other| other.cases.get(&row.name)) {
                    group.there.0 += usize::from(status.passed());
                    group.there.1 += seconds;
                }
            }
            groups
        };
        let fine = (3..=4).rev().map(at_depth).find(|groups| groups.len() <= LARGEST);
        fine.unwrap_or_else(|| at_depth(2))
    }

    /// The summary that scripts read.
    pub fn json(&self) -> Value {
        let counts = self.counts();
        let by_outcome: serde_json::Map<String, Value> =
            Outcome::ALL.iter().map(|&o| (o.name().to_string(), counts.get(o).into())).collect();
        let surprise = |row: &&Row| json!({ "case": row.name, "outcome": row.outcome.name(), "why": row.why() });
        let group = |g: &super::diff::Group| json!({ "pattern": g.pattern, "cases": g.cases, "of": g.of });
        let kind = |k: &super::diff::Kind| {
            json!({ "title": k.title, "worse": k.worse, "cases": k.cases,
                    "groups": k.groups.iter().map(group).collect::<Vec<_>>() })
        };
        let comparison = |c: &Comparison| {
            json!({ "with": c.with, "compared": c.compared, "seconds_here": c.seconds[0], "seconds_there": c.seconds[1],
                    "kinds": c.kinds.iter().map(kind).collect::<Vec<_>>() })
        };
        json!({
            "driver": self.device.json(), "against": self.other.as_ref().map(|other| other.device.json()),
            "cases": self.rows.len(), "outcomes": by_outcome, "seconds": self.seconds(),
            "wall_seconds": self.wall.as_secs_f64(), "resumed": self.resumed, "notes": self.notes,
            "surprises": self.surprises().iter().map(surprise).collect::<Vec<_>>(),
            "comparisons": self.comparisons.iter().map(comparison).collect::<Vec<_>>(),
        })
    }
}

/// The first components of a name, without the last one.
fn group_name(name: &str, depth: usize) -> &str {
    let end = name.match_indices('.').take(depth).last().map_or(name.len(), |(dot, _)| dot);
    &name[..end]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cts::diff::Pair;

    /// A report with one case of each kind, and texts that every format must escape.
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
        };
        let mut rows: Vec<Row> = Outcome::ALL
            .iter()
            .map(|&outcome| row(&format!("api.{outcome}.x"), outcome, "a < b & \"c\" | d"))
            .collect();
        rows.push(row("glsl.loops.y", Outcome::Is(Status::Pass), ""));
        let pair = |name: &str, here, there| Pair {
            name: format!("dEQP-VK.{name}"),
            here,
            there,
            message: "a < b".into(),
            seconds: [1.0, 2.0],
        };
        let pairs =
            vec![pair("api.Fail.x", Status::Fail, Status::Pass), pair("api.Pass.x", Status::Pass, Status::Pass)];
        let device = |name: &str| Device { name: name.into(), driver_info: "1 <2>".into(), ..Device::default() };
        let cases = HashMap::from([("dEQP-VK.api.Pass.x".to_string(), (Status::Pass, 2.0))]);
        Report {
            device: device("Grus (2 threads)"),
            rows,
            other: Some(Other { device: device("llvmpipe"), cases }),
            comparisons: vec![Comparison::new("on llvmpipe", pairs)],
            notes: vec!["deqp hung".into()],
            wall: Duration::from_secs(5),
            resumed: 3,
        }
    }

    #[test]
    fn groups_are_as_fine_as_a_table_bears() {
        let report = sample();
        let names: Vec<String> = report.groups().into_iter().map(|group| group.name).collect();
        assert!(names.contains(&"dEQP-VK.glsl.loops".to_string()), "{names:?}");
        assert_eq!(report.groups().iter().map(|group| group.counts.total()).sum::<usize>(), report.rows.len());
        let mut wide = report.clone();
        wide.rows = (0..5000).map(|i| Row { name: format!("dEQP-VK.a.b.g{i}.x"), ..report.rows[0].clone() }).collect();
        assert_eq!(wide.groups().len(), 1);
    }

    #[test]
    fn json_counts_every_outcome() {
        let json = sample().json();
        assert_eq!((json["cases"].as_u64(), json["outcomes"]["Crash"].as_u64()), (Some(12), Some(1)));
        assert_eq!(json["surprises"].as_array().map(Vec::len), Some(5));
        assert_eq!(json["comparisons"][0]["kinds"][0]["groups"][0]["pattern"], "dEQP-VK.api.Fail.x");
    }
}
