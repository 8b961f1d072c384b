//! Child process: runs one workload on one driver. It checks, warms up, calibrates and times the
//! workload.

use super::corpus;
use super::create::{self, MODULES};
use super::figure::SetupError;
use super::options::Options;
use super::process::{self, ChildEnd};
use super::rays;
use super::report::{ChildReport, WorkloadOutcome};
use super::sysroot::Sysroot;
use super::workload::{Fresh, FreshError, Make, Spec, Workload};
use crate::driver::{Route, Target};
use crate::vk::{Api, Error, Gpu, GpuOptions, Result, version_text};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Number of samples of which the median is taken.
const SAMPLES: usize = 3;
/// Maximum number of iterations in one submission.
const MAX_ITERATIONS: u32 = 1 << 14;

/// Opens the driver that the options name.
fn open(options: &Options) -> Result<Api> {
    let route = if options.validate { Route::Loader } else { Route::Direct };
    let icd = options.icds.first().map(Into::into);
    // SAFETY: a child process has only one thread at this point, as `Target::open` requires.
    unsafe { Target { icd, route }.open() }
}

/// Returns the options for making devices. With the validation layer, the instance is no newer than
/// the device, because the layer checks rules of the device by the instance's version.
fn gpu_options(api: &Api, options: &Options) -> Result<GpuOptions> {
    let everything = GpuOptions::everything();
    if !options.validate {
        return Ok(everything);
    }
    let device = Gpu::new(api, &everything)?.properties.api_version;
    Ok(GpuOptions { validation: true, api_version: device.min(everything.api_version), ..everything })
}

/// Makes a device with the options that all workloads use.
fn device(options: &Options) -> Result<Gpu> {
    let api = open(options)?;
    Gpu::new(&api, &gpu_options(&api, options)?)
}

/// Returns name and version of the driver as JSON.
pub fn probe(options: &Options) -> Result<Value> {
    let gpu = device(options)?;
    let p = &gpu.properties;
    Ok(json!({
        "device": gpu.name(),
        "api_version": version_text(p.api_version),
        "driver_version": version_text(p.driver_version),
        "vendor_id": p.vendor_id,
        "subgroup_size": gpu.optional.subgroup_size,
    }))
}

/// Draws the contact sheet of the create family on the driver that the options name, and behind it
/// the picture of the ray tracing pipeline. The pictures of unsupported modules stay black.
pub fn record_sheet(path: &Path, options: &Options) -> Result<()> {
    let gpu = device(options)?;
    let drawn = |name: &str, picture| match picture {
        Ok(picture) => Ok(picture),
        Err(SetupError::Unsupported(what)) => {
            eprintln!("{name}: {what}");
            Ok(Vec::new())
        }
        Err(SetupError::Failed(error)) => Err(error),
    };
    let modules = MODULES.iter().map(|module| drawn(module.name, create::draw(&gpu, module)));
    let studio = std::iter::once_with(|| drawn("pipeline-20", rays::studio_picture(&gpu)));
    create::write_sheet(path, &modules.chain(studio).collect::<Result<Vec<_>>>()?)
}

/// Runs a workload. Every failure becomes a report, except the death or hang of the process.
pub fn run(spec: &Spec, options: &Options) -> ChildReport {
    let made = match spec.make {
        Make::Steady(make) => steady(make, options),
        Make::Fresh(make) => fresh(spec, &make, options),
        Make::Module(case) => fresh(spec, &|fresh| corpus::measure(fresh, case), options),
    };
    let mut report = made.unwrap_or_else(|report| *report);
    report.peak_memory = process::peak_memory();
    report
}

type Reported = std::result::Result<ChildReport, Box<ChildReport>>;

fn boxed<E: Into<ChildReport>>(error: E) -> Box<ChildReport> {
    Box::new(error.into())
}

fn steady(make: fn(&Gpu) -> std::result::Result<Box<dyn Workload>, SetupError>, options: &Options) -> Reported {
    let gpu = device(options).map_err(boxed)?;
    let mut workload = make(&gpu).map_err(boxed)?;
    workload.run(&gpu, 1).map_err(boxed)?;
    workload.check(&gpu).map_err(boxed)?;
    if options.validate {
        drop(workload);
        gpu.release_to(0);
        return match gpu.validation_messages() {
            0 => Ok(ChildReport::ok(Vec::new())),
            messages => Err(Box::new(ChildReport::invalid(messages))),
        };
    }
    let seconds = measure(&mut *workload, &gpu, options.sample()).map_err(boxed)?;
    workload.check(&gpu).map_err(boxed)?;
    Ok(ChildReport::steady(seconds, workload.amount()))
}

/// Returns the seconds per iteration: the median of several samples after a warm-up of a sample's
/// length.
fn measure(workload: &mut dyn Workload, gpu: &Gpu, sample: Duration) -> Result<f64> {
    let mut timed = |iterations: u32| -> Result<Duration> {
        let start = Instant::now();
        workload.run(gpu, iterations)?;
        Ok(start.elapsed())
    };
    let (mut iterations, mut spent) = (1u32, Duration::ZERO);
    let mut time = timed(1)?;
    // The warm-up is also the calibration. It gives drivers that recompile hot shaders time to do
    // so.
    while spent + time < sample {
        spent += time;
        iterations = next_count(iterations, time, sample);
        time = timed(iterations)?;
    }
    iterations = scale(iterations, time, sample);
    // Slow work gets fewer samples to limit the duration of the whole run. The rounds show the
    // spread.
    let (mut samples, start) = (Vec::with_capacity(SAMPLES), Instant::now());
    while samples.is_empty() || (samples.len() < SAMPLES && start.elapsed() < sample * SAMPLES as u32 * 2) {
        samples.push(timed(iterations)?.as_secs_f64() / f64::from(iterations));
    }
    Ok(super::stats::median(&mut samples))
}

/// Returns the number of iterations that take `sample`, given the time of `iterations`.
fn scale(iterations: u32, time: Duration, sample: Duration) -> u32 {
    let wanted = f64::from(iterations) * sample.as_secs_f64() / time.as_secs_f64().max(1e-9);
    (wanted.round() as u32).clamp(1, MAX_ITERATIONS)
}

/// Limits the growth to a factor of four, because the first times are unreliable.
fn next_count(iterations: u32, time: Duration, sample: Duration) -> u32 {
    scale(iterations, time, sample).min(iterations.saturating_mul(4)).max(iterations)
}

fn fresh(
    spec: &Spec,
    make: &dyn Fn(&Fresh<'_>) -> std::result::Result<Vec<super::figure::Figure>, FreshError>,
    options: &Options,
) -> Reported {
    let start = Instant::now();
    let api = open(options).map_err(boxed)?;
    let opened = start.elapsed();
    let again = |stage: &str| second_process(spec, options, stage);
    let fresh = Fresh {
        api: &api,
        opened,
        options: gpu_options(&api, options).map_err(boxed)?,
        scratch: &options.scratch,
        again: &again,
        stage: &options.stage,
    };
    let figures = make(&fresh).map_err(boxed)?;
    // Times under the validation layer are not representative, so they are dropped.
    let untimed = options.stage.is_empty() && options.validate;
    Ok(ChildReport::ok(if untimed { Vec::new() } else { figures }))
}

fn second_process(
    spec: &Spec,
    options: &Options,
    stage: &str,
) -> std::result::Result<Vec<super::figure::Figure>, FreshError> {
    let icd = options.icds.first().map(String::as_str).unwrap_or_default();
    let report = spawn(&Sysroot::current()?, spec.name, icd, &Options { stage: stage.into(), ..options.clone() })?;
    if report.outcome == WorkloadOutcome::Ok { Ok(report.figures) } else { Err(FreshError::Other(Box::new(report))) }
}

/// Starts a child for a workload and waits for its report.
pub fn spawn(sysroot: &Sysroot, name: &str, icd: &str, options: &Options) -> Result<ChildReport> {
    let (sample, timeout) = (options.sample().as_millis().to_string(), options.timeout.as_secs().to_string());
    let scratch = options.scratch.display().to_string();
    let mut args = vec!["--child", name, "--icd", icd, "--sample-ms", &sample, "--timeout", &timeout];
    args.extend(["--scratch", &scratch, "--stage", &options.stage]);
    if options.validate {
        args.push("--validate");
    }
    let corpus = options.corpus.as_ref().map(|folder| folder.display().to_string());
    if let Some(folder) = &corpus {
        args.extend(["--corpus", folder]);
    }
    let pin = options.pin.map(|n| n.to_string());
    if let Some(pin) = &pin {
        args.extend(["--pin", pin]);
    }
    Ok(match process::run(sysroot, &args, &options.environment, options.timeout)? {
        ChildEnd::Success(text) => ChildReport::from_output(&text)
            .unwrap_or_else(|| ChildReport::without(WorkloadOutcome::Crashed, "the child ended without a report")),
        ChildEnd::Died(why) => ChildReport::without(WorkloadOutcome::Crashed, why),
        ChildEnd::TimedOut => ChildReport::without(WorkloadOutcome::TimedOut, format!("after {timeout} s")),
    })
}

fn strip_program_name(why: &str) -> &str {
    let message = why.rsplit("cts-runner: ").next().unwrap_or(why);
    message.strip_prefix("not available: ").unwrap_or(message)
}

/// Starts a child that prints one JSON object, which is the probe or the limits.
pub fn query(sysroot: &Sysroot, args: &[&str], options: &Options) -> Result<Value> {
    let pin = options.pin.map(|n| n.to_string());
    let mut args = args.to_vec();
    if let Some(pin) = &pin {
        args.extend(["--pin", pin]);
    }
    match process::run(sysroot, &args, &options.environment, options.timeout)? {
        ChildEnd::Success(text) => {
            let found = text.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
            found.ok_or_else(|| Error::Missing("JSON from a child".into()))
        }
        // The message of the child is the most precise one.
        ChildEnd::Died(why) => Err(Error::Missing(strip_program_name(&why).into())),
        ChildEnd::TimedOut => Err(Error::Missing("an answer in time".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Duration = Duration::from_millis(150);

    #[test]
    fn calibration_aims_at_the_sample_and_grows_slowly() {
        assert_eq!(scale(1, Duration::from_millis(15), SAMPLE), 10);
        assert_eq!(scale(1, Duration::from_secs(3), SAMPLE), 1);
        assert_eq!(scale(1, Duration::from_nanos(10), SAMPLE), MAX_ITERATIONS);
        assert_eq!(next_count(1, Duration::from_millis(1), SAMPLE), 4);
        assert_eq!(next_count(64, Duration::from_millis(100), SAMPLE), 96);
        assert_eq!(next_count(64, Duration::from_millis(300), SAMPLE), 64);
    }
}
