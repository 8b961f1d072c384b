//! Parent process: finds the drivers, plans the rounds, starts the children, and shows and writes
//! the results.

use super::child::{self, query, spawn};
use super::corpus;
use super::options::{Options, Role};
use super::process;
use super::report::{ChildReport, WorkloadOutcome};
use super::results::{MeasuredDriver, Results};
use super::stats::{self, ChildRun};
use super::sysroot::Sysroot;
use super::workload::{Make, Spec};
use super::{drivers, json, limits::Limits, svg, table};
use crate::vk::{Error, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the command `bench` with its parsed arguments.
pub fn run(options: &Options) -> Result<ExitCode> {
    if let (Some(count), true) = (options.pin, options.role != Role::Parent) {
        process::pin(count)?;
    }
    let specs = match &options.corpus {
        Some(folder) => {
            let wanted = if let Role::Child(name) = &options.role { Some(&**name) } else { None };
            corpus::specs(folder, wanted)?
        }
        None => super::specs(),
    };
    match &options.role {
        Role::Parent if options.list => list(&options.select(&specs)),
        Role::Parent => return parent(&options.select(&specs), options),
        Role::Sheet(path) => child::record_sheet(path, options)?,
        Role::Probe => println!("{}", child::probe(options)?),
        Role::Limits => println!("{}", Limits::measure().to_json()),
        Role::Child(name) => {
            let spec = specs.iter().find(|s| s.name == name);
            let spec = spec.ok_or_else(|| Error::Missing(format!("a workload named {name}")))?;
            println!("{}", child::run(spec, options).to_json());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(specs: &[Spec]) {
    for spec in specs {
        let (quick, once) = (if spec.quick { "quick" } else { "" }, !matches!(spec.make, Make::Steady(_)));
        println!("{:40}{quick:8}{}", spec.name, if once { "new process for each figure" } else { "" });
    }
}

fn parent(specs: &[Spec], options: &Options) -> Result<ExitCode> {
    if specs.is_empty() {
        return Err(Error::Missing("a workload that matches; `cts-runner bench --list` shows all".into()));
    }
    let sysroot = match &options.root {
        Some(root) => Sysroot::at(root)?,
        None => Sysroot::current()?,
    };
    // The children find the folder under a path of the place where they run.
    let inside = options.corpus.as_ref().map(|folder| sysroot.copy_folder_in(folder)).transpose()?;
    let options = &Options { corpus: inside, ..options.clone() };
    let drivers = select_drivers(options, &sysroot)?;
    let rounds = options.rounds() as usize;
    let bar = progress(rounds * specs.len() * drivers.len());
    let mut runs: Vec<ChildRun> = Vec::new();
    let mut limits = Vec::new();
    let mut results = None;
    for round in 0..rounds {
        if !options.validate {
            bar.set_message("limits of the machine");
            limits.extend(Limits::from_json(&query(&sysroot, &["--limits"], options)?));
        }
        let children = Children { sysroot: &sysroot, options, drivers: &drivers, bar: &bar };
        children.one_round(specs, round, &mut runs)?;
        let rows = stats::rows(specs, drivers.len(), round + 1, &runs);
        let (machine, vector_bits, limits) = (cpu_name(), vector_bits(), median_limits(&limits));
        let so_far = Results { machine, vector_bits, limits, rounds: round + 1, drivers: drivers.clone(), rows };
        write_files(&so_far, options)?;
        results = Some(so_far);
    }
    bar.finish_and_clear();
    let results = results.ok_or_else(|| Error::Missing("a round".into()))?;
    print!("{}", table::render(&results, options.details || options.validate));
    let bad = results.rows.iter().any(|row| row.cells.first().is_some_and(|c| c.outcome.is_bad()));
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the named drivers, which must all work, or the found drivers that work.
fn select_drivers(options: &Options, sysroot: &Sysroot) -> Result<Vec<MeasuredDriver>> {
    let named = !options.icds.is_empty();
    let manifests: Vec<(PathBuf, drivers::Environment)> = if named {
        let named = options.icds.iter().map(|what| {
            let (what, environment) = drivers::environment(what);
            Ok((drivers::named(what, sysroot)?, environment))
        });
        named.collect::<Result<_>>()?
    } else {
        drivers::found(sysroot)?.into_iter().map(|manifest| (manifest, Vec::new())).collect()
    };
    let mut found = Vec::new();
    for (i, (manifest, environment)) in manifests.into_iter().enumerate() {
        let own = Options { environment: environment.clone(), ..options.clone() };
        match query(sysroot, &["--probe", "--icd", &manifest.display().to_string()], &own) {
            Ok(json) => {
                let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
                let (device, version, api) = (text("device"), text("driver_version"), text("api_version"));
                let lanes = json["subgroup_size"].as_u64().unwrap_or(0);
                found.push(MeasuredDriver { label: String::new(), device, version, api, lanes, manifest, environment });
            }
            Err(error) if named || i == 0 => return Err(Error::Missing(format!("{} ({error})", manifest.display()))),
            Err(error) => eprintln!("left out: {}: {error}", manifest.display()),
        }
    }
    let labels = drivers::labels(&found.iter().map(|d| d.device.clone()).collect::<Vec<_>>());
    for (driver, label) in found.iter_mut().zip(labels) {
        driver.label = label;
    }
    Ok(found)
}

/// Data that the children of all rounds share.
struct Children<'a> {
    sysroot: &'a Sysroot,
    options: &'a Options,
    drivers: &'a [MeasuredDriver],
    bar: &'a ProgressBar,
}

impl Children<'_> {
    fn one_round(&self, specs: &[Spec], round: usize, runs: &mut Vec<ChildRun>) -> Result<()> {
        // A workload that failed once is not repeated, because a hang would cost its time limit in
        // every round.
        let failed: HashSet<_> =
            runs.iter().filter(|r| r.report.outcome != WorkloadOutcome::Ok).map(|r| (r.spec, r.driver)).collect();
        for (index, spec) in specs.iter().enumerate() {
            // The first driver after another workload finds cold caches, so a different driver is
            // first in each round.
            for number in (0..self.drivers.len()).map(|i| (i + round) % self.drivers.len()) {
                let driver = &self.drivers[number];
                self.bar.set_message(format!("round {} {} {}", round + 1, spec.name, driver.label));
                if !failed.contains(&(index, number)) {
                    let report = self.one(spec, driver)?;
                    runs.push(ChildRun { spec: index, driver: number, round, report });
                }
                self.bar.inc(1);
            }
        }
        Ok(())
    }

    fn one(&self, spec: &Spec, driver: &MeasuredDriver) -> Result<ChildReport> {
        let scratch = self.sysroot.scratch()?;
        let environment = driver.environment.clone();
        let own = Options { scratch: self.sysroot.inside_path(scratch.path()), environment, ..self.options.clone() };
        spawn(self.sysroot, spec.name, &driver.manifest.display().to_string(), &own)
    }
}

fn progress(steps: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed_precise} {msg}");
    ProgressBar::new(steps as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn median_limits(limits: &[Limits]) -> Limits {
    let of = |field: fn(&Limits) -> f64| match limits {
        [] => 0.0,
        all => stats::median(&mut all.iter().map(field).collect::<Vec<_>>()),
    };
    let threads = limits.first().map_or(0, |l| l.threads);
    Limits { flops: of(|l| l.flops), copy: of(|l| l.copy), fill: of(|l| l.fill), threads }
}

fn cpu_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| std::env::consts::ARCH.into(), |(_, name)| name.trim().into())
}

/// Returns the width in bits of the widest vectors of the processor.
fn vector_bits() -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        return 512;
    } else if std::arch::is_x86_feature_detected!("avx2") {
        return 256;
    }
    128
}

fn write_files(results: &Results, options: &Options) -> Result<()> {
    let write = |path: &PathBuf, text: String| std::fs::write(path, text).map_err(|e| Error::Io(path.clone(), e));
    if let Some(path) = &options.json {
        write(path, format!("{:#}\n", json::render(results)))?;
    }
    if let (Some(path), Some(chart)) = (&options.svg, svg::render(results)) {
        write(path, chart)?;
    }
    Ok(())
}
