//! `cts-runner cts`: runs the Vulkan CTS (a `deqp-vk` binary) on a driver and survives crashes and
//! hangs of the driver. Compares the results with expectations, an earlier run or another driver,
//! and writes reports.
//!
//! A run passes through these modules:
//! 1. [`options`] parses the command line.
//! 2. [`caselist`] and [`listing`] select the cases.
//! 3. [`device`] proves which driver runs.
//! 4. [`scheduler`] distributes [`shard`]s, which are one deqp process each; [`process`] and
//!    [`qpa`] follow its output.
//! 5. [`results`] stores the results in a CSV that grows.
//! 6. [`expect`] and [`diff`] judge and compare the results.
//! 7. [`report`] and [`ledger`] record them.
//!
//! Invariants:
//! - A case gets exactly one result per execution.
//! - No result is taken from a process whose driver is not proven.
//! - A driver can crash, hang and print any amount without ending the run or growing its memory.
//!
//! Models: Mesa's deqp-runner, SwiftShader's regres.

pub mod caselist;
pub mod device;
pub mod diff;
mod entry;
pub mod error;
pub mod expect;
pub mod glob;
pub mod identity;
pub mod ledger;
pub mod listing;
pub mod names;
pub mod options;
pub mod portion;
pub mod process;
pub mod progress;
pub mod qpa;
pub mod report;
pub mod results;
pub mod scheduler;
pub mod shard;
pub mod status;

use crate::driver::Target;
use crate::vk::Manifest;
use device::Device;
use diff::{Comparison, Pair};
use entry::LedgerEntry;
use error::{At, Error, Result};
use expect::Expectations;
use listing::Listing;
use names::Names;
use options::Options;
use portion::Portion;
use progress::Progress;
use report::{Report, Row};
use results::{Execution, Executions, Store};
use scheduler::{Shard, ShardRunner};
use shard::{CaseEnd, Launch, ShardEnd};
use status::{Outcome, Status};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Runs the command. The exit code is 0 if all results are as expected, 1 for surprises, 2 if there
/// is no report.
pub fn command(parser: &mut lexopt::Parser) -> ExitCode {
    let outcome = options::parse(parser).and_then(|options| options.map(|options| run(&options)).transpose());
    match outcome {
        Ok(None) => {
            print!("{}", options::HELP);
            ExitCode::SUCCESS
        }
        Ok(Some(surprises)) => ExitCode::from(u8::from(surprises > 0)),
        Err(error) => {
            eprintln!("cts-runner: {error}");
            ExitCode::from(2)
        }
    }
}

/// One driver of a run.
struct Driver {
    launch: Launch,
    device: Device,
    store: Store,
    executions: Mutex<Executions>,
    expectations: Expectations,
}

impl Driver {
    fn executions(&self) -> MutexGuard<'_, Executions> {
        self.executions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the outcome of a case, and the reason if an expectation decides it.
    fn judge(&self, name: &str, statuses: &[Status]) -> (Outcome, Option<&str>) {
        match self.expectations.skip(name) {
            Some(reason) => (Outcome::Skip, Some(reason)),
            None => self.expectations.judge(name, statuses),
        }
    }
}

/// Folder of files that only live as long as the run, beside the results.
struct ScratchFolder(PathBuf);

impl ScratchFolder {
    fn new(out: &Path) -> Result<Self> {
        let out = std::path::absolute(out).at(out)?;
        let scratch = Self(out.join(format!("{SCRATCH}{}", std::process::id())));
        std::fs::create_dir_all(&scratch.0).at(&scratch.0)?;
        Ok(scratch)
    }

    /// Removes the files that killed runs have left. The caller must hold the lock of the results.
    fn remove_stale(&self, out: &Path) {
        for entry in std::fs::read_dir(out).into_iter().flatten().flatten() {
            let left = entry.file_name().to_string_lossy().starts_with(SCRATCH);
            if left && Some(entry.file_name().as_os_str()) != self.0.file_name() {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// Prefix of the names of scratch folders.
const SCRATCH: &str = "scratch-";

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the cases, writes the reports and returns the number of surprises.
fn run(options: &Options) -> Result<usize> {
    let start = Instant::now();
    let scratch = ScratchFolder::new(&options.out)?;
    let drivers = prepare(options, &scratch.0)?;
    scratch.remove_stale(&options.out);
    let mut entry = options.ledger.as_ref().map(|path| LedgerEntry::begin(path, options, &drivers[0])).transpose()?;
    let Listing { names, totals } = select(options, &drivers[0].launch)?;
    let baseline = options.baseline.as_deref().map(|path| results::read_baseline(path, &names)).transpose()?;
    for driver in &drivers {
        *driver.executions() = driver.store.resume(&names)?;
    }
    let done = |case: &u32| drivers[0].executions().of_case(*case).next().is_some();
    let resumed = (0..).take(names.len()).filter(done).count();
    let session = Session { names: &names, drivers: &drivers, jobs: options.jobs, quiet: options.json };
    session.announce(resumed);
    let before = process::processor_time();
    let mut notes = session.execute(options)?;
    let processor = process::processor_time().saturating_sub(before);
    notes.sort();
    notes.dedup();
    let mut report = session.report(baseline.as_ref(), options, entry.as_mut());
    report.notes = notes;
    report.wall = start.elapsed();
    report.processor = processor;
    report.portion = options.selection.portion.unwrap_or(Portion::ALL);
    report.resumed = resumed;
    write_reports(&report, &options.out)?;
    if let Some(entry) = entry {
        entry.end(&report, totals)?;
    }
    match options.json {
        true => println!("{:#}", report.json()),
        false => print!("{}", report::terminal::render(&report, &options.out, std::io::stdout().is_terminal())),
    }
    Ok(report.counts().surprises())
}

/// Prepares the drivers: reads manifests, proves devices and opens earlier results.
fn prepare(options: &Options, scratch: &Path) -> Result<Vec<Driver>> {
    let tested = Target { icd: options.icd.clone(), ..Target::default() }.manifest()?;
    let against = options.against.as_deref().map(Manifest::read).transpose()?;
    let manifests: Vec<Manifest> = std::iter::once(tested).chain(against).collect();
    let launches: Vec<Launch> =
        manifests.iter().map(|manifest| launch(options, manifest, scratch)).collect::<Result<_>>()?;
    let prove = |(launch, manifest): (&Launch, &Manifest)| {
        let absolute = Manifest { library: absolute_library(&manifest.library)?, ..manifest.clone() };
        device::prove(launch, &absolute)
    };
    let devices: Vec<Device> = launches.iter().zip(&manifests).map(prove).collect::<Result<_>>()?;
    if let Some(pattern) = options.device.as_ref().filter(|pattern| !glob::matches(pattern, &devices[0].name)) {
        return Err(Error::Unproven(format!("the device is \"{}\", and --device wants {pattern}", devices[0].name)));
    }
    if options.expect != Options::default().expect && !options.expect.is_dir() {
        return Err(Error::Usage(format!("--expect {}: no such folder", options.expect.display())));
    }
    let stores = results::open_folder(&options.out, &devices, options.fresh)?;
    let driver = |((launch, device), store): ((Launch, Device), Store)| {
        let expectations = Expectations::read(&options.expect, &device.name)?;
        Ok(Driver { launch, device, store, executions: Mutex::default(), expectations })
    };
    launches.into_iter().zip(devices).zip(stores).map(driver).collect()
}

/// Makes a path absolute relative to the folder in which the runner was started, because deqp runs
/// in another folder. A bare name stays as it is, because the linker searches for it.
fn absolute_library(library: &Path) -> Result<PathBuf> {
    match library.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Ok(library.into()),
        _ => std::path::absolute(library).at(library),
    }
}

fn launch(options: &Options, manifest: &Manifest, scratch: &Path) -> Result<Launch> {
    let deqp = std::path::absolute(&options.deqp).at(&options.deqp)?;
    let own = deqp.parent().map(Path::to_path_buf).unwrap_or_default();
    Ok(Launch {
        folder: options.deqp_dir.clone().unwrap_or(own),
        deqp,
        manifest: std::path::absolute(&manifest.path).at(&manifest.path)?,
        arguments: options.deqp_args.clone(),
        environment: Vec::new(),
        timeout: options.timeout,
        scratch: scratch.into(),
        images: options.images,
    })
}

/// Returns the selected cases, either from the lists or from deqp itself.
fn select(options: &Options, launch: &Launch) -> Result<Listing> {
    match options.selection.lists.is_empty() {
        true => listing::of_deqp(&options.selection, launch, &identity::of_file(&launch.deqp)?, &options.out),
        false => Ok(Listing { names: options.selection.read()?, ..Listing::default() }),
    }
}

/// The constant state of a run.
struct Session<'a> {
    names: &'a Names,
    drivers: &'a [Driver],
    jobs: usize,
    quiet: bool,
}

impl ShardRunner for Session<'_> {
    fn run(
        &self,
        shard: &Shard,
        cancel: &AtomicBool,
        report: &mut dyn FnMut(u32, CaseEnd) -> Result<()>,
    ) -> Result<ShardEnd> {
        let driver = &self.drivers[shard.driver];
        let names: Vec<&str> = shard.cases.iter().map(|&case| self.name(case)).collect();
        let places: HashMap<&str, u32> = names.iter().copied().zip(shard.cases.iter().copied()).collect();
        let end = driver.launch.run(&names, cancel, &mut |end| match places.get(end.name.as_str()) {
            Some(&case) => report(case, end),
            None => Ok(()),
        })?;
        match &end.device {
            Some(device) if *device != driver.device.name => {
                Err(Error::Unproven(format!("a process ran on \"{device}\" instead of \"{}\"", driver.device.name)))
            }
            _ => Ok(end),
        }
    }

    fn probe(&self, driver: usize) -> Result<()> {
        let driver = &self.drivers[driver];
        let manifest = Manifest { path: driver.launch.manifest.clone(), library: PathBuf::new() };
        let library = driver.device.library.clone().unwrap_or_default();
        device::prove(&driver.launch, &Manifest { library, ..manifest }).map(drop)
    }

    fn name(&self, case: u32) -> &str {
        self.names.get(case)
    }
}

impl Session<'_> {
    fn announce(&self, resumed: usize) {
        if self.quiet {
            return;
        }
        for driver in self.drivers {
            eprintln!("{}", driver.device.describe());
        }
        match resumed {
            0 => eprintln!("{} cases", self.names.len()),
            resumed => eprintln!("{} cases, {resumed} of them done by an earlier call", self.names.len()),
        }
    }

    /// Runs the cases that have no result yet, then repeats failures that no expectation explains,
    /// one at a time, because some cases compare times that other processes disturb.
    fn execute(&self, options: &Options) -> Result<Vec<String>> {
        let plans: Vec<Vec<Shard>> = (0..self.drivers.len())
            .map(|driver| {
                scheduler::plan(driver, &self.cases(driver, |_, of| of.is_empty()), options.shard_size, self.jobs)
            })
            .collect();
        let mut notes = self.phase("cases", scheduler::interleave(plans), self.jobs)?;
        for attempt in 1..=options.reruns {
            let unexplained = |driver: usize| {
                let due = |name: &str, of: &[Status]| {
                    let failed = of.iter().all(|status| status.failed());
                    let first = of.first().copied().unwrap_or(Status::Missing);
                    failed && of.len() == attempt as usize && !self.drivers[driver].expectations.explains(name, first)
                };
                let cases = self.cases(driver, due);
                scheduler::repeat(driver, &cases, attempt)
            };
            let plans: Vec<Vec<Shard>> = (0..self.drivers.len()).map(unexplained).collect();
            notes.extend(self.phase("reruns", scheduler::interleave(plans), 1)?);
        }
        Ok(notes)
    }

    /// Returns the cases to run. `due` decides by the name and the results so far.
    fn cases(&self, driver: usize, due: impl Fn(&str, &[Status]) -> bool) -> Vec<u32> {
        let driver = &self.drivers[driver];
        let executions = driver.executions();
        let is_due = |case: &u32| {
            let name = self.names.get(*case);
            driver.expectations.skip(name).is_none() && due(name, &executions.statuses(*case))
        };
        (0..).take(self.names.len()).filter(is_due).collect()
    }

    fn phase(&self, what: &str, shards: Vec<Shard>, jobs: usize) -> Result<Vec<String>> {
        if shards.is_empty() {
            return Ok(Vec::new());
        }
        let total = shards.iter().map(|shard| shard.cases.len()).sum();
        let progress = Progress::new(what, total, self.quiet);
        scheduler::run(shards, jobs, self, &|shard, case, end| {
            let driver = &self.drivers[shard.driver];
            let record = driver.store.add(shard.attempt, &end)?;
            let mut executions = driver.executions();
            executions.add(case, &record);
            let statuses = executions.statuses(case);
            drop(executions);
            let (outcome, _) = driver.judge(&end.name, &statuses);
            progress.add(outcome);
            if outcome.surprise() && shard.driver == 0 {
                progress.print_line(&format!("{outcome:14}  {}", end.name));
            }
            Ok(())
        })
    }

    /// Returns the report. Every case is also added to the entry of the ledger.
    fn report(&self, baseline: Option<&Executions>, options: &Options, mut entry: Option<&mut LedgerEntry>) -> Report {
        let tested = &self.drivers[0];
        let executions = tested.executions();
        let other = self.drivers.get(1).map(|driver| (&driver.device, driver.executions()));
        let device = other.as_ref().map(|(device, _)| (*device).clone());
        let mut report = Report::new(tested.device.clone(), device, self.names.len());
        for (case, name) in (0..).zip(self.names.iter()) {
            let there = other.as_ref().and_then(|(_, executions)| executions.settled(case));
            let row = Row { there, ..row(tested, &executions, case, name) };
            if let Some(entry) = &mut entry {
                entry.add(&row, self.names.len());
            }
            report.add(row);
        }
        if let Some((device, there)) = &other {
            let with = format!("on {}", short_name(device, &tested.device));
            report.comparisons.push(self.compare(&with, &executions, there));
        }
        if let (Some(there), Some(path)) = (baseline, &options.baseline) {
            report.comparisons.push(self.compare(&format!("in {}", path.display()), &executions, there));
        }
        report
    }

    fn compare(&self, with: &str, here: &Executions, there: &Executions) -> Comparison {
        let expectations = &self.drivers[0].expectations;
        let pair = |(case, name)| {
            let (of_here, of_there) = (here.settled(case)?, there.settled(case)?);
            // A flake differs from run to run, so it is not compared.
            let flake = |statuses: &[Status]| expectations.judge(name, statuses).0 == Outcome::Flake;
            if flake(&here.statuses(case)) || flake(&[of_there.0]) {
                return None;
            }
            let message = here.message(here.of_case(case).next()?);
            Some(Pair { name, here: of_here.0, there: of_there.0, message, seconds: [of_here.1, of_there.1] })
        };
        Comparison::new(with, (0..).zip(self.names.iter()).filter_map(pair).collect())
    }
}

/// Returns the other device's name without the part in brackets, if that distinguishes it from the
/// tested device.
fn short_name(other: &Device, tested: &Device) -> String {
    let short = |device: &Device| device.name.split(" (").next().unwrap_or_default().to_string();
    if short(other) == short(tested) { other.describe() } else { short(other) }
}

fn row(driver: &Driver, executions: &Executions, case: u32, name: &str) -> Row {
    let attempts = executions.statuses(case);
    let (outcome, reason) = driver.judge(name, &attempts);
    let first = executions.of_case(case).next();
    let text =
        |of: fn(&'_ Executions, &Execution) -> String| first.map(|first| of(executions, first)).unwrap_or_default();
    // Only these cases have logs, so the runner does not search for files of millions of passed
    // cases.
    let logged = attempts.iter().any(|status| status.failed() || *status == Status::Warning);
    let logs = logged.then(|| driver.store.logs_of(name)).filter(|logs| logs[0].exists());
    Row {
        name: name.into(),
        outcome,
        code: text(|of, first| of.code(first).into()),
        message: text(|of, first| of.message(first).into()),
        seconds: first.map_or(0.0, |first| first.seconds),
        reason: reason.map(str::to_owned),
        logs,
        attempts,
        there: None,
    }
}

fn write_reports(report: &Report, folder: &Path) -> Result<()> {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).at(&path)
    };
    write("report.md", report::markdown::render(report))?;
    write("junit.xml", report::junit::render(report))?;
    write("report.html", report::html::render(report))
}
