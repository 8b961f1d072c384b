//! `compare`: runs the demo on two drivers in alternation, with each run in a process of its own,
//! and prints medians and ratios.

use crate::driver::Target;
use crate::vk::{Error, Result};
use serde_json::{Value, json};
use std::process::Command;

/// Options of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// The two drivers.
    pub targets: Vec<Target>,
    /// Number of runs of each driver.
    pub runs: u32,
    /// Number of frames of a run.
    pub frames: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { targets: Vec::new(), runs: 5, frames: 30 }
    }
}

/// Compared figures, as keys of the demo's JSON. Smaller values are better.
const FIGURES: [&str; 6] = ["pipelines_ms", "first_use_ms", "first_frame_ms", "compute_ms", "scene_ms", "frame_ms"];

/// Runs both drivers in alternation and prints medians and ratios.
pub fn run(options: &Options, as_json: bool) -> Result<()> {
    if options.targets.len() != 2 || options.runs == 0 {
        return Err(Error::Missing("two --icd and at least one run".into()));
    }
    let mut reports = [Vec::new(), Vec::new()];
    for _ in 0..options.runs {
        for (target, reports) in options.targets.iter().zip(&mut reports) {
            reports.push(demo_process(target, options.frames)?);
        }
    }
    let median = |reports: &[Value], key: &str| {
        let mut values: Vec<f64> = reports.iter().filter_map(|r| r[key].as_f64()).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let rows: Vec<_> = FIGURES.iter().map(|&key| (key, median(&reports[0], key), median(&reports[1], key))).collect();
    let names = [&reports[0][0]["device"], &reports[1][0]["device"]];
    if as_json {
        let figures: Vec<Value> =
            rows.iter().map(|(key, a, b)| json!({ "figure": key, "a": a, "b": b, "ratio": b / a })).collect();
        println!("{:#}", json!({ "a": names[0], "b": names[1], "runs": options.runs, "figures": figures }));
        return Ok(());
    }
    println!("A {}\nB {}\nmedians of {} interleaved runs", names[0], names[1], options.runs);
    println!("{:16}{:>12}{:>12}{:>8}", "", "A", "B", "B/A");
    for (key, a, b) in rows {
        println!("{key:16}{a:12.2}{b:12.2}{:8.2}", b / a);
    }
    Ok(())
}

fn demo_process(target: &Target, frames: u32) -> Result<Value> {
    let program = std::env::current_exe().map_err(|e| Error::Io("the running program".into(), e))?;
    let out = std::env::temp_dir().join(format!("cts-runner-compare-{}.png", std::process::id()));
    let manifest = target.manifest()?;
    let mut command = Command::new(&program);
    command.args(["demo", "--json", "--no-loader", "--frames", &frames.to_string()]);
    let run = command.arg("--icd").arg(&manifest.path).arg("--out").arg(&out).output();
    let run = run.map_err(|e| Error::Io(program, e))?;
    let _ = std::fs::remove_file(&out);
    if !run.status.success() {
        let why = String::from_utf8_lossy(&run.stderr).trim().to_owned();
        return Err(Error::Missing(format!("a successful run on {}: {why}", manifest.path.display())));
    }
    serde_json::from_slice(&run.stdout).map_err(|_| Error::Missing("JSON from the demo".into()))
}
