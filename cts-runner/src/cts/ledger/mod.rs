//! The ledger is a small text table of the known results of one build of a driver, from runs on any
//! number of machines and days.
//!
//! A [`Run`] is one complete call of `cts-runner cts`. It covers a portion of all cases or of some
//! groups. It stores outcomes by group, and names the slow cases and those that are neither Pass
//! nor NotSupported.
//!
//! - [`format`] reads and writes the text.
//! - [`Ledger::merge`] combines ledgers.
//! - [`cover`] finds which runs together contain every case once, and what is missing.
//! - [`summary`] draws the conclusions.
//! - [`show`] writes them down.
//! - [`file`] adds a run to a file to which other processes may add at the same time.
//!
//! Invariants:
//! - A ledger belongs to one build of the driver and one CTS.
//! - No case is counted twice.
//! - Of two runs of a case the later one counts.
//!
//! Failures are known by name. A later run of a portion that a coarser run contains therefore
//! corrects single cases in the coarser run's numbers. A case that was named and no longer is
//! counts as passed, because only supported cases can fail.

pub mod command;
pub mod cover;
pub mod file;
pub mod format;
pub mod show;
pub mod summary;

use super::caselist::{Selection, is_selected};
use super::portion::Portion;
use super::status::Status;
use std::collections::BTreeMap;
use std::time::SystemTime;

/// Time in milliseconds from which a case counts as slow and is named.
pub const SLOW: u64 = 5000;
/// Maximum number of cases for which a run over lists names every case.
pub const NAMED: usize = 2000;

/// Properties that all runs of a ledger share.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Build {
    /// Release of the CTS, with its commit.
    pub cts: String,
    /// `driverName` and `driverInfo` of the device.
    pub driver: String,
    /// `apiVersion`, as `1.3.0`.
    pub api: String,
    /// Identity of the driver's library, see [`super::identity::of_file`].
    pub id: String,
}

/// The cases from which a run selected its portion.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scope {
    /// Groups, as on the command line.
    pub groups: Vec<String>,
    /// Patterns, as on the command line.
    pub cases: Vec<String>,
    /// True if lists defined the cases. Only the cases that the run names are then known to be in
    /// it.
    pub listed: bool,
}

impl Scope {
    /// Returns the scope of a selection on the command line.
    pub fn new(selection: &Selection) -> Self {
        let (groups, cases) = (selection.groups.clone(), selection.cases.clone());
        Self { groups, cases, listed: !selection.lists.is_empty() }
    }

    /// Returns true if the scope contains all cases of deqp.
    pub fn is_all(&self) -> bool {
        *self == Scope::default()
    }

    /// Returns true if the scope is known to contain a case.
    fn contains_case(&self, name: &str) -> bool {
        !self.listed && self.is_selected(name)
    }

    fn is_selected(&self, name: &str) -> bool {
        is_selected(&self.groups, &self.cases, name)
    }

    /// Returns true if all cases of a [`super::listing::table_group`] are in the scope.
    pub fn covers(&self, group: &str) -> bool {
        self.is_all() || !self.listed && !self.groups.is_empty() && is_selected(&self.groups, &[], group)
    }

    /// Returns true if all cases of another scope are in this one.
    fn contains(&self, other: &Scope) -> bool {
        let inside = |group: &String| {
            // A group without a package stands for that group of every package.
            let full = if group.starts_with("dEQP-") { group.clone() } else { format!("*.{group}") };
            self.covers(full.trim_end_matches('.'))
        };
        self.is_all()
            || !other.listed && other.cases.is_empty() && !other.groups.is_empty() && other.groups.iter().all(inside)
    }
}

/// Number of cases per status. The last element counts the cases that expectations exclude from
/// running.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StatusCounts(pub [u64; StatusCounts::NAMES.len()]);

impl StatusCounts {
    /// Names of the elements: those of [`Status::ALL`], then the cases that did not run.
    pub const NAMES: [&'static str; 8] =
        ["Pass", "NotSupported", "Warning", "Fail", "Crash", "Timeout", "Missing", "Skip"];

    /// Returns the index of the element that counts a case with these executions.
    pub fn index_of(statuses: &[Status]) -> usize {
        let place = |first: &Status| Status::ALL.iter().position(|status| status == first);
        statuses.first().and_then(place).unwrap_or(Status::ALL.len())
    }

    /// Returns the number of cases.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds another tally to this one.
    pub fn add(&mut self, other: &StatusCounts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum += count);
    }

    /// Moves one case from element `from` to element `to`, because a later run knows its result
    /// better.
    fn move_one(&mut self, from: usize, to: usize) {
        const PASS_THEN_NOT_SUPPORTED: [usize; 2] = [0, 1];
        // A case without a name is only known to be in one of these two elements.
        let places = [from].into_iter().chain(PASS_THEN_NOT_SUPPORTED);
        if let Some(from) = places.into_iter().find(|&place| self.0[place] > 0) {
            self.0[from] -= 1;
            self.0[to] += 1;
        }
    }
}

/// A case that a run names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Finding {
    /// Status of each execution; empty if expectations exclude the case from running.
    pub statuses: Vec<Status>,
    /// Time of the first execution, in milliseconds.
    pub millis: u64,
    /// Message of the case, in one line.
    pub message: String,
}

/// One call of the runner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Unique id of the run, on all machines.
    pub id: String,
    /// Start of the run, in whole milliseconds.
    pub start: SystemTime,
    /// Portion of the scope that was run.
    pub portion: Portion,
    /// Cases from which the portion was selected.
    pub scope: Scope,
    /// Duration of the call, in milliseconds.
    pub wall: u64,
    /// Sum of the times of the cases, in milliseconds. If a killed run was continued, it includes
    /// all calls.
    pub busy: u64,
    /// Number of results that earlier, killed calls had left.
    pub resumed: u64,
    /// Name of the device.
    pub device: String,
    /// Description of the machine.
    pub host: String,
    /// Identity of the deqp binary.
    pub deqp: String,
    /// Outcomes by group.
    pub counts: BTreeMap<String, StatusCounts>,
    /// Slow cases and cases that are neither Pass nor NotSupported, by name.
    pub findings: BTreeMap<String, Finding>,
}

impl Run {
    /// Returns the number of cases.
    pub fn cases(&self) -> u64 {
        self.counts.values().map(StatusCounts::total).sum()
    }

    /// Returns true if a case is known to have been in the run.
    pub fn contains_case(&self, name: &str) -> bool {
        self.findings.contains_key(name) || self.portion.contains_case(name) && self.scope.contains_case(name)
    }

    /// Returns true if a later run replaces all results of this run.
    fn superseded_by(&self, later: &Run) -> bool {
        (later.start, &later.id) > (self.start, &self.id)
            && later.portion.contains(self.portion)
            && later.scope.contains(&self.scope)
    }
}

/// All known results of a build.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    /// Build to which the results belong.
    pub build: Build,
    /// Number of cases that deqp lists, by group, for the groups of which runs used all cases.
    pub totals: BTreeMap<String, u64>,
    /// The runs, earliest first.
    pub runs: Vec<Run>,
}

impl Ledger {
    /// Adds another ledger's runs to this one. An error states why the two do not belong together.
    pub fn merge(&mut self, other: Ledger) -> Result<(), String> {
        if self.build != other.build {
            return Err(differ(&self.build, &other.build));
        }
        for (group, total) in other.totals {
            let known = *self.totals.entry(group.clone()).or_insert(total);
            if known != total {
                return Err(format!(
                    "{group} has {known} cases in the one and {total} in the other: deqp was built differently"
                ));
            }
        }
        for run in other.runs {
            match self.runs.iter().find(|known| known.id == run.id) {
                Some(known) if *known != run => return Err(format!("two different runs are called {}", run.id)),
                Some(_) => {}
                None => self.runs.push(run),
            }
        }
        self.runs.sort_by(|a, b| (a.start, &a.id).cmp(&(b.start, &b.id)));
        let runs = std::mem::take(&mut self.runs);
        let counts = |run: &&Run| !runs.iter().any(|later| run.superseded_by(later));
        self.runs = runs.iter().filter(counts).cloned().collect();
        Ok(())
    }
}

fn differ(a: &Build, b: &Build) -> String {
    let fields = [
        ("CTS", &a.cts, &b.cts),
        ("build", &a.id, &b.id),
        ("driver", &a.driver, &b.driver),
        ("apiVersion", &a.api, &b.api),
    ];
    let differs = |&(what, a, b): &(&str, &String, &String)| (a != b).then(|| format!("{what} {a} and {what} {b}"));
    let differences: Vec<String> = fields.iter().filter_map(differs).collect();
    format!("a ledger is of one build: {} do not mix", differences.join(", "))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
