//! The entry of a run in a ledger. It is begun before the run, so that a run is not spent on a
//! ledger that refuses it. It is completed from the run's report.

use super::Driver;
use super::error::{Error, Result};
use super::ledger::format::clean;
use super::ledger::{Build, Finding, Ledger, NAMED, Run, SLOW, Scope, StatusCounts, file};
use super::listing::table_group;
use super::options::Options;
use super::portion::Portion;
use super::report::{Report, Row};
use super::status::{Outcome, Status};
use super::{identity, portion};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An entry without its results.
#[derive(Debug)]
pub struct LedgerEntry {
    path: PathBuf,
    library: PathBuf,
    build: Build,
    run: Run,
}

impl LedgerEntry {
    /// Checks that the ledger belongs to this build. The library must prove the driver, because
    /// results without a build cannot be compared.
    pub fn begin(path: &Path, options: &Options, driver: &Driver) -> Result<Self> {
        let device = &driver.device;
        let Some(library) = device.library.clone() else {
            let why = "--ledger needs the driver's library, and which one deqp loaded could not be seen here";
            return Err(Error::Unproven(why.into()));
        };
        let driver_text = [device.driver_name.as_str(), device.driver_info.as_str()].join(" ");
        let build = Build {
            cts: clean(&device.release),
            driver: clean(&driver_text),
            api: clean(&device.api_version),
            id: device.build.clone(),
        };
        file::check(path, &Ledger { build: build.clone(), ..Ledger::default() })?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let host = clean(&identity::host());
        let portion = options.selection.portion.unwrap_or(Portion::ALL);
        let seed = format!("{} {} {host} {portion} {}", now.as_nanos(), std::process::id(), options.out.display());
        let run = Run {
            id: format!("{:016x}", portion::hash(seed.as_bytes())),
            start: UNIX_EPOCH + Duration::from_secs(now.as_secs()) + Duration::from_millis(now.subsec_millis().into()),
            portion,
            scope: Scope::new(&options.selection),
            wall: 0,
            busy: 0,
            resumed: 0,
            device: clean(&device.name),
            host,
            deqp: identity::of_file(&driver.launch.deqp)?,
            counts: BTreeMap::new(),
            findings: BTreeMap::new(),
        };
        Ok(Self { path: path.into(), library, build, run })
    }

    /// Adds the entry, which contains all cases, to the file of the ledger.
    pub fn end(mut self, report: &Report, totals: BTreeMap<String, u64>) -> Result<()> {
        if identity::of_file(&self.library)? != self.build.id {
            let why = format!("{} was replaced while the run went on", self.library.display());
            return Err(Error::Unproven(why));
        }
        self.run.wall = millis(report.wall.as_secs_f64());
        self.run.busy = millis(report.seconds());
        self.run.resumed = report.resumed as u64;
        file::add(&self.path, Ledger { build: self.build, totals, runs: vec![self.run] }).map(drop)
    }

    /// Adds the result of one case of a run with `cases` cases.
    pub fn add(&mut self, row: &Row, cases: usize) {
        let all = self.run.scope.listed && cases <= NAMED;
        let statuses = match row.outcome {
            Outcome::Skip => Vec::new(),
            // A case without any execution has the status Missing.
            _ if row.attempts.is_empty() => vec![Status::Missing],
            _ => row.attempts.clone(),
        };
        let group = table_group(&row.name);
        let place = StatusCounts::index_of(&statuses);
        if !self.run.counts.contains_key(group) {
            self.run.counts.insert(group.into(), StatusCounts::default());
        }
        if let Some(tally) = self.run.counts.get_mut(group) {
            tally.0[place] += 1;
        }
        let millis = millis(row.seconds);
        let plain = matches!(statuses.first(), Some(Status::Pass | Status::NotSupported));
        if !plain || millis >= SLOW || all {
            let message = clean(&row.why());
            self.run.findings.insert(row.name.clone(), Finding { statuses, millis, message });
        }
    }
}

/// Converts seconds to whole milliseconds. A `u64` holds any time that a run can take.
fn millis(seconds: f64) -> u64 {
    (seconds * 1e3).round() as u64
}
