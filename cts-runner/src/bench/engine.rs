//! The parent: finds the drivers, plans the rounds, starts the children, shows and writes what came out.

use super::child::{self, ask, spawn};
use super::options::{Options, Role};
use super::process::{self, Scratch};
use super::report::{Outcome, Report};
use super::results::{Driver, Results};
use super::stats::{self, Run};
use super::workload::{Make, Spec};
use super::{drivers, json, limits::Limits, svg, table};
use crate::vk::{Error, Manifest, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The command `bench` after its arguments were read.
pub fn run(options: &Options) -> Result<ExitCode> {
    if let (Some(count), true) = (options.pin, options.role != Role::Parent) {
        process::pin(count)?;
    }
    let specs = super::specs();
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
        let (quick, once) = (if spec.quick { "quick" } else { "" }, matches!(spec.make, Make::Fresh(_)));
        println!("{:40}{quick:8}{}", spec.name, if once { "new process for each figure" } else { "" });
    }
}

fn parent(specs: &[Spec], options: &Options) -> Result<ExitCode> {
    if specs.is_empty() {
        return Err(Error::Missing("a workload that matches; `cts-runner bench --list` shows all".into()));
    }
    let scratch = Scratch::new(&std::env::temp_dir())?;
    let drivers = take_part(options, scratch.path())?;
    let rounds = options.rounds() as usize;
    let bar = progress(rounds * specs.len() * drivers.len());
    let mut runs: Vec<Run> = Vec::new();
    let mut limits = Vec::new();
    let mut results = None;
    for round in 0..rounds {
        if !options.validate {
            bar.set_message("limits of the machine");
            limits.extend(Limits::from_json(&ask(&["--limits"], options)?));
        }
        one_round(specs, &drivers, round, options, &bar, &mut runs)?;
        let rows = stats::rows(specs, drivers.len(), round + 1, &runs);
        let (machine, limits) = (cpu_name(), middle(&limits));
        let so_far = Results { machine, limits, rounds: round + 1, drivers: drivers.clone(), rows };
        write_files(&so_far, options)?;
        results = Some(so_far);
    }
    bar.finish_and_clear();
    let results = results.ok_or_else(|| Error::Missing("a round".into()))?;
    print!("{}", table::render(&results, options.details || options.validate));
    let bad = results.rows.iter().any(|row| row.cells.first().is_some_and(|c| c.outcome.is_bad()));
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The drivers that were named, which must work, or those found that do.
fn take_part(options: &Options, scratch: &Path) -> Result<Vec<Driver>> {
    let named = !options.icds.is_empty();
    let manifests: Vec<Manifest> = if named {
        options.icds.iter().map(|what| drivers::named(what, scratch)).collect::<Result<_>>()?
    } else {
        drivers::found()?
    };
    let mut found = Vec::new();
    for (i, manifest) in manifests.into_iter().enumerate() {
        let path = std::path::absolute(&manifest.path).map_err(|e| Error::Io(manifest.path.clone(), e))?;
        match ask(&["--probe", "--icd", &path.display().to_string()], options) {
            Ok(json) => {
                let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
                let (device, version, api) = (text("device"), text("driver_version"), text("api_version"));
                found.push(Driver { label: String::new(), device, version, api, manifest: path });
            }
            Err(error) if named || i == 0 => return Err(Error::Missing(format!("{} ({error})", path.display()))),
            Err(error) => eprintln!("left out: {}: {error}", path.display()),
        }
    }
    let labels = drivers::labels(&found.iter().map(|d| d.device.clone()).collect::<Vec<_>>());
    for (driver, label) in found.iter_mut().zip(labels) {
        driver.label = label;
    }
    Ok(found)
}

fn one_round(
    specs: &[Spec],
    drivers: &[Driver],
    round: usize,
    options: &Options,
    bar: &ProgressBar,
    runs: &mut Vec<Run>,
) -> Result<()> {
    // What did not work once is not tried again: a hang would cost its time-out in every round.
    let failed: HashSet<_> =
        runs.iter().filter(|r| r.report.outcome != Outcome::Ok).map(|r| (r.spec, r.driver)).collect();
    for (index, spec) in specs.iter().enumerate() {
        // Who comes first after something else finds cold caches: another one in each round.
        for number in (0..drivers.len()).map(|i| (i + round) % drivers.len()) {
            let driver = &drivers[number];
            bar.set_message(format!("round {} {} {}", round + 1, spec.name, driver.label));
            if !failed.contains(&(index, number)) {
                let report = one_child(spec, driver, options)?;
                runs.push(Run { spec: index, driver: number, round, report });
            }
            bar.inc(1);
        }
    }
    Ok(())
}

fn one_child(spec: &Spec, driver: &Driver, options: &Options) -> Result<Report> {
    let scratch = Scratch::new(&std::env::temp_dir())?;
    let own = Options { scratch: scratch.path().into(), ..options.clone() };
    spawn(spec.name, &driver.manifest.display().to_string(), &own)
}

fn progress(steps: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed_precise} {msg}");
    ProgressBar::new(steps as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn middle(limits: &[Limits]) -> Limits {
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
