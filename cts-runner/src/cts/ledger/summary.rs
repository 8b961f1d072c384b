//! Summary of a ledger: outcomes of all cases that some run contains, missing cases of a complete
//! run, and known failures.

use super::cover::{Cover, Gap, cover};
use super::{Finding, Ledger, Run, SLOW, StatusCounts};
use crate::cts::error::Result;
use crate::cts::expect::Expectations;
use crate::cts::listing::table_group;
use crate::cts::status::{Outcome, Status};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// Results of one group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Number of cases that deqp lists; `None` if no run has asked for it.
    pub listed: Option<u64>,
    /// Known results of its cases.
    pub tally: StatusCounts,
    /// Portions that no run contains.
    pub gaps: Vec<Gap>,
}

/// A case that the summary lists by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedCase {
    /// Full name of the case.
    pub name: String,
    /// Outcome of the case under the expectations.
    pub outcome: Outcome,
    /// Result of the latest run that contains the case.
    pub finding: Finding,
    /// Reason of the expectation that decided the outcome.
    pub reason: Option<String>,
}

/// Warnings with the same text, apart from numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WarningKind {
    /// Text of the warning, with `N` for every number.
    pub text: String,
    /// Number of cases.
    pub cases: usize,
    /// Name of the first case.
    pub example: String,
}

/// Conclusions from a ledger.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Results by group.
    pub groups: Vec<Group>,
    /// Sum of the results of all groups.
    pub total: StatusCounts,
    /// Number of cases that deqp lists, if a run was drawn from all of them.
    pub listed: Option<u64>,
    /// Cases that failed, are expected to fail or did not run; surprises come first.
    pub failures: Vec<NamedCase>,
    /// Cases that passed with a remark, by the text of the remark.
    pub warnings: Vec<WarningKind>,
    /// Cases that took at least [`SLOW`], slowest first.
    pub slow: Vec<NamedCase>,
    /// Names of known failures that the runs contain and that did not fail, with the reason of the
    /// expectation.
    pub fixed: Vec<(String, String)>,
    /// Descriptions of groups whose numbers disagree with what deqp lists.
    pub inconsistencies: Vec<String>,
}

impl Summary {
    /// Draws the conclusions. `expect` is the folder of the expectations.
    pub fn new(ledger: &Ledger, expect: &Path) -> Result<Self> {
        let mut cover_cache = CoverCache { ledger, by_runs: HashMap::new() };
        let names: BTreeSet<&String> =
            ledger.totals.keys().chain(ledger.runs.iter().flat_map(|run| run.counts.keys())).collect();
        let mut groups = BTreeMap::new();
        for name in names {
            let cover = cover_cache.of_group(name);
            let mut tally = StatusCounts::default();
            let counted = cover.bases.iter().filter_map(|&at| ledger.runs[at].counts.get(name));
            counted.for_each(|of_run| tally.add(of_run));
            let listed = ledger.totals.get(name).copied();
            groups.insert(name.as_str(), Group { name: name.clone(), listed, tally, gaps: cover.gaps });
        }
        let mut summary = Summary::default();
        let mut named = BTreeMap::new();
        for name in ledger.runs.iter().flat_map(|run| run.findings.keys()).collect::<BTreeSet<_>>() {
            let latest = ledger.runs.iter().rev().find(|run| run.contains_case(name));
            let place =
                |run: &Run| run.findings.get(name).map_or(0, |finding| StatusCounts::index_of(&finding.statuses));
            let group = table_group(name);
            let base = cover_cache
                .of_group(group)
                .bases
                .into_iter()
                .map(|at| &ledger.runs[at])
                .find(|run| run.contains_case(name));
            if let (Some(base), Some(latest), Some(group)) = (base, latest, groups.get_mut(group))
                && place(base) != place(latest)
            {
                group.tally.move_one(place(base), place(latest));
            }
            if let Some((run, finding)) = latest.and_then(|run| Some((run, run.findings.get(name)?))) {
                named.insert(name.clone(), (run.device.as_str(), finding.clone()));
            }
        }
        summary.groups = groups.into_values().collect();
        summary.groups.iter().for_each(|group| summary.total.add(&group.tally));
        let all = ledger.runs.iter().any(|run| run.scope.is_all());
        summary.listed = all.then(|| ledger.totals.values().sum());
        summary.inconsistencies = summary.groups.iter().filter_map(inconsistency).collect();
        let devices: BTreeSet<&str> = ledger.runs.iter().map(|run| run.device.as_str()).collect();
        let mut expectations = HashMap::new();
        for device in devices {
            let of_device = Expectations::read(expect, device)?;
            for (name, reason) in of_device.known_failures() {
                let held = ledger.runs.iter().any(|run| run.device == device && run.contains_case(name));
                if held && !named.contains_key(name) {
                    summary.fixed.push((name.to_string(), reason.to_string()));
                }
            }
            expectations.insert(device, of_device);
        }
        summary.fixed.sort();
        summary.fixed.dedup();
        summary.classify(named, &expectations);
        Ok(summary)
    }

    fn classify(&mut self, named: BTreeMap<String, (&str, Finding)>, expectations: &HashMap<&str, Expectations>) {
        let mut kinds: BTreeMap<String, WarningKind> = BTreeMap::new();
        for (name, (device, finding)) in named {
            let expectations = &expectations[device];
            let (outcome, reason) = match finding.statuses.is_empty() {
                true => (Outcome::Skip, expectations.skip(&name)),
                false => expectations.judge(&name, &finding.statuses),
            };
            let reason = reason.map(str::to_owned);
            let named = NamedCase { name, outcome, finding, reason };
            if named.finding.millis >= SLOW {
                self.slow.push(named.clone());
            }
            match outcome {
                Outcome::Is(Status::Warning) => {
                    let text = kind_of(&named.finding.message);
                    let new = || WarningKind { text: text.clone(), cases: 0, example: named.name.clone() };
                    kinds.entry(text.clone()).or_insert_with(new).cases += 1;
                }
                Outcome::Is(Status::Pass | Status::NotSupported) => {}
                _ => self.failures.push(named),
            }
        }
        // The sort is stable, so cases of one outcome stay in the order of their names.
        self.failures.sort_by_key(|named| (!named.outcome.surprise(), named.outcome));
        self.slow.sort_by_key(|named| std::cmp::Reverse(named.finding.millis));
        self.warnings = kinds.into_values().collect();
        self.warnings.sort_by_key(|kind| std::cmp::Reverse(kind.cases));
    }

    /// Returns true if every case that deqp lists was run.
    pub fn complete(&self) -> bool {
        self.listed == Some(self.total.total())
            && self.groups.iter().all(|group| group.gaps.is_empty())
            && self.inconsistencies.is_empty()
    }

    /// Returns the number of unexpected failures and of expected failures that did not fail.
    pub fn surprises(&self) -> usize {
        self.failures.iter().filter(|named| named.outcome.surprise()).count() + self.fixed.len()
    }

    /// Returns the missing portions, with the groups in which they are missing.
    pub fn missing(&self) -> Vec<(String, Vec<&str>)> {
        let mut missing: BTreeMap<&[Gap], Vec<&str>> = BTreeMap::new();
        for group in self.groups.iter().filter(|group| !group.gaps.is_empty()) {
            missing.entry(&group.gaps).or_default().push(&group.name);
        }
        let text = |gaps: &[Gap]| gaps.iter().map(Gap::to_string).collect::<Vec<_>>().join(", ");
        missing.into_iter().map(|(gaps, groups)| (text(gaps), groups)).collect()
    }
}

/// Describes a complete group whose number of cases differs from what deqp lists.
fn inconsistency(group: &Group) -> Option<String> {
    let (ran, listed) = (group.tally.total(), group.listed?);
    let differs = ran > listed || group.gaps.is_empty() && ran != listed;
    differs.then(|| format!("{}: {ran} cases were run and deqp lists {listed}", group.name))
}

/// Returns a message with `N` for every number, so that cases that differ only in measured values
/// are one kind.
fn kind_of(message: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    let mut chars = message.chars().peekable();
    while let Some(c) = chars.next() {
        // Digits inside a name (`R8G8`, `sample_2`) belong to the name.
        if c.is_ascii_digit() && !before.is_alphanumeric() && before != '_' {
            while chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '.').is_some() {}
            out.push('N');
        } else {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Cache of covers by group, because most groups have the same runs.
struct CoverCache<'a> {
    ledger: &'a Ledger,
    by_runs: HashMap<Vec<usize>, Cover>,
}

impl CoverCache<'_> {
    fn of_group(&mut self, group: &str) -> Cover {
        let runs = &self.ledger.runs;
        let candidates: Vec<usize> = (0..runs.len()).filter(|&at| runs[at].scope.covers(group)).collect();
        let compute = || {
            let portions: Vec<_> = candidates.iter().map(|&at| runs[at].portion).collect();
            let of_candidates = cover(&portions);
            Cover { bases: of_candidates.bases.iter().map(|&at| candidates[at]).collect(), ..of_candidates }
        };
        self.by_runs.entry(candidates.clone()).or_insert_with(compute).clone()
    }
}
