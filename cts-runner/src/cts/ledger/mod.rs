//! The ledger: what is known of one build of a driver, from runs on any number of machines and days, as a small table of text.
//!
//! A [`Run`] is one call of `cts-runner cts` that went to its end: a portion of all cases or of some groups, its outcomes by group, and by
//! name what is neither Pass nor NotSupported and what was slow. [`format`] reads and writes the text, [`Ledger::merge`] puts ledgers
//! together, [`cover`] finds which runs together hold every case once and what is missing, [`summary`] draws the conclusions, [`show`]
//! writes them down, [`file`] adds a run to a file that others may add to at the same time.
//!
//! Invariants: a ledger is of one build of the driver and one CTS; no case is counted twice; of two runs of a case the later one counts. What
//! fails is known by name, so a later run of a portion that a coarser one holds mends or marks single cases in the coarser one's
//! numbers: a case that was named and is no longer counts as passed, for only what is supported can fail.

pub mod command;
pub mod cover;
pub mod file;
pub mod format;
pub mod show;
pub mod summary;

use super::caselist::{Selection, chosen};
use super::portion::Portion;
use super::status::Status;
use std::collections::BTreeMap;
use std::time::SystemTime;

/// Cases that took at least this long are named: milliseconds.
pub const SLOW: u64 = 5000;
/// A run over lists names every case when it has at most this many.
pub const NAMED: usize = 2000;

/// What all runs of a ledger have in common.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Build {
    /// Release of the CTS, with its commit.
    pub cts: String,
    /// `driverName` and `driverInfo`.
    pub driver: String,
    /// `apiVersion`, as `1.3.0`.
    pub api: String,
    /// Identity of the driver's library, see [`super::identity::of_file`].
    pub id: String,
}

/// Which cases a run drew its portion from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scope {
    /// Groups, as on the command line.
    pub groups: Vec<String>,
    /// Patterns, as on the command line.
    pub cases: Vec<String>,
    /// Whether lists said which cases exist: then only what the run names is known to be in it.
    pub listed: bool,
}

impl Scope {
    /// Of a command line.
    pub fn new(selection: &Selection) -> Self {
        let (groups, cases) = (selection.groups.clone(), selection.cases.clone());
        Self { groups, cases, listed: !selection.lists.is_empty() }
    }

    /// Whether these are all cases that deqp has.
    pub fn is_all(&self) -> bool {
        *self == Scope::default()
    }

    /// Whether the scope is known to hold a name.
    fn holds(&self, name: &str) -> bool {
        !self.listed && self.chosen(name)
    }

    fn chosen(&self, name: &str) -> bool {
        chosen(&self.groups, &self.cases, name)
    }

    /// Whether all cases of a [`super::listing::table_group`] are in the scope.
    pub fn covers(&self, group: &str) -> bool {
        self.is_all() || !self.listed && !self.groups.is_empty() && chosen(&self.groups, &[], group)
    }

    /// Whether all cases of another scope are in this one.
    fn contains(&self, other: &Scope) -> bool {
        let inside = |group: &String| {
            // A group without its package is that group of every package.
            let full = if group.starts_with("dEQP-") { group.clone() } else { format!("*.{group}") };
            self.covers(full.trim_end_matches('.'))
        };
        self.is_all()
            || !other.listed && other.cases.is_empty() && !other.groups.is_empty() && other.groups.iter().all(inside)
    }
}

/// How many cases have which status; the last place is for those that expectations keep from running.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally(pub [u64; Tally::NAMES.len()]);

impl Tally {
    /// Words for the places: those of [`Status::ALL`], then the cases that did not run.
    pub const NAMES: [&'static str; 8] =
        ["Pass", "NotSupported", "Warning", "Fail", "Crash", "Timeout", "Missing", "Skip"];

    /// The place of a case with these executions.
    pub fn place(statuses: &[Status]) -> usize {
        let place = |first: &Status| Status::ALL.iter().position(|status| status == first);
        statuses.first().and_then(place).unwrap_or(Status::ALL.len())
    }

    /// Number of cases.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Tally) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum += count);
    }

    /// A case is known better: it counts in place `to` now, and no longer in `from`.
    fn move_one(&mut self, from: usize, to: usize) {
        const PASS_THEN_NOT_SUPPORTED: [usize; 2] = [0, 1];
        // Of a case without a name it is only known that it is in one of these two places.
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
    /// What each execution gave; none when expectations kept it from running.
    pub statuses: Vec<Status>,
    /// Time of the first execution, in milliseconds.
    pub millis: u64,
    /// What it says, in one line.
    pub message: String,
}

/// One call of the runner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Tells runs apart, on all machines.
    pub id: String,
    /// When it began, in whole milliseconds.
    pub start: SystemTime,
    /// Which portion.
    pub portion: Portion,
    /// Of which cases.
    pub scope: Scope,
    /// How long the call took, in milliseconds.
    pub wall: u64,
    /// The sum of the cases' times, in milliseconds; of all calls, when a killed run went on.
    pub busy: u64,
    /// Results that earlier, killed calls had left.
    pub resumed: u64,
    /// The device's name.
    pub device: String,
    /// The machine.
    pub host: String,
    /// Identity of the deqp binary.
    pub deqp: String,
    /// Outcomes by group.
    pub counts: BTreeMap<String, Tally>,
    /// What is neither Pass nor NotSupported, and what was slow.
    pub findings: BTreeMap<String, Finding>,
}

impl Run {
    /// Number of cases.
    pub fn cases(&self) -> u64 {
        self.counts.values().map(Tally::total).sum()
    }

    /// Whether a case is known to have been in the run.
    pub fn holds(&self, name: &str) -> bool {
        self.findings.contains_key(name) || self.portion.holds(name) && self.scope.holds(name)
    }

    /// Whether nothing of this run counts any more because of a later one.
    fn superseded_by(&self, later: &Run) -> bool {
        (later.start, &later.id) > (self.start, &self.id)
            && later.portion.contains(self.portion)
            && later.scope.contains(&self.scope)
    }
}

/// All that is known of a build.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    /// Of what.
    pub build: Build,
    /// Cases that deqp lists, by group, as far as runs were drawn from all cases of a group.
    pub totals: BTreeMap<String, u64>,
    /// The runs, earliest first.
    pub runs: Vec<Run>,
}

impl Ledger {
    /// Puts another ledger's runs into this one; an error says why the two do not belong together.
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
