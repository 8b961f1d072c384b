//! Hashes of the results of Grus: shaders and drawings of `tests/glsl`, ray-traced scenes, and the
//! first frames of the demo.
//!
//! The committed table (`tests/data/hashes.txt`) is valid on every machine, for every tier and any
//! number of threads. The driver's own variables select tier and threads. The tests run the same
//! shaders on another driver.

mod rays;
mod run;
mod shader;

pub use run::Driver;
pub use shader::{Compare, Input, Shader, folder, names, sources};

use crate::demo;
use crate::driver::{self, Route, Target};
use crate::fnv::fnv1a;
use crate::vk::{Api, Error, Manifest, Result};
use lexopt::{Arg, Parser};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Hashes by name.
pub type Rows = BTreeMap<String, String>;

/// Number of frames and size of the part of the demo that [`command`] runs.
const DEMO: (u32, (u32, u32)) = (2, (320, 180));

/// Returns the path of the committed table, which has rows `NAME HASH`.
pub fn file() -> PathBuf {
    driver::workspace().join("cts-runner/tests/data/hashes.txt")
}

/// Returns the rows of the committed table.
pub fn committed() -> Rows {
    rows(std::fs::read_to_string(file()).unwrap_or_default().lines())
}

/// Parses the rows of a table.
pub fn rows<'a>(lines: impl Iterator<Item = &'a str>) -> Rows {
    let row = |line: &str| line.split_once(' ').map(|(name, hash)| (name.to_owned(), hash.trim().to_owned()));
    lines.filter(|line| !line.starts_with('#')).filter_map(row).collect()
}

/// Returns the rows of a table whose names begin with `prefix`.
pub fn beginning(prefix: &str, rows: Rows) -> Rows {
    rows.into_iter().filter(|(name, _)| name.starts_with(prefix)).collect()
}

/// Returns the differences between the committed rows and other rows, one per line.
pub fn differences(committed: &Rows, found: &Rows) -> Vec<String> {
    let mut names: Vec<&String> = committed.keys().chain(found.keys()).collect();
    names.sort();
    names.dedup();
    let differ = names.into_iter().filter(|name| committed.get(*name) != found.get(*name));
    differ
        .map(|name| format!("  {name}: committed {:?}, computed {:?}", committed.get(name), found.get(name)))
        .collect()
}

/// Computes the rows of all shaders and drawings on a driver.
///
/// # Errors
/// Returns the errors of the driver.
pub fn of_shaders(icd: &Path) -> Result<Rows> {
    let mut driver = Driver::open(icd)?;
    let mut rows = Rows::new();
    for name in names()? {
        let shader = Shader::read(&name)?;
        let output = driver.run(&shader, &shader.random_input())?;
        let bytes: Vec<u8> = output.iter().flat_map(|w| w.to_le_bytes()).collect();
        let hash = fnv1a(&bytes);
        rows.insert(format!("shader/{name}"), format!("{hash:016x}"));
    }
    Ok(rows)
}

/// Computes the rows of the ray-traced scenes on a driver.
///
/// # Errors
/// Returns the errors of the driver.
pub fn of_rays(icd: &Path) -> Result<Rows> {
    rays::rows(&Api::open_icd(&Manifest::read(icd)?)?)
}

/// Returns the rows of the demo.
pub fn of_demo(frames: u32, (width, height): (u32, u32), picture: &str, bodies: &str) -> Rows {
    let row = |what: &str, hash: &str| (format!("demo/{frames}-frames-{width}x{height}/{what}"), hash.to_owned());
    [row("picture", picture), row("bodies", bodies)].into()
}

/// `cts-runner hashes`: computes the rows of the shaders, the ray-traced scenes and the small demo
/// on a driver and compares them with the committed ones. With `--print` it prints all but those of
/// the demo instead. All work runs in this process.
///
/// # Errors
/// Returns an error for unknown options, and the errors of the driver.
pub fn command(parser: &mut Parser) -> std::result::Result<ExitCode, Box<dyn std::error::Error>> {
    let mut target = Target { icd: None, route: Route::Direct };
    let mut print = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("icd") => target.icd = Some(PathBuf::from(parser.value()?)),
            Arg::Long("print") => print = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let icd = target.manifest()?.path;
    let mut found = of_shaders(&icd)?;
    found.extend(of_rays(&icd)?);
    if print {
        found.iter().for_each(|(name, hash)| println!("{name} {hash}"));
        return Ok(ExitCode::SUCCESS);
    }
    let options = demo::Options { target, frames: DEMO.0, size: DEMO.1, out: None, progress: false, validation: false };
    // SAFETY: a driver that is opened directly sets no environment variables, so other threads are
    // harmless.
    let report = unsafe { demo::run(&options)? };
    let [picture, bodies] = [report.picture_hash, report.bodies_hash].map(|hash| format!("{hash:016x}"));
    let demo = of_demo(DEMO.0, DEMO.1, &picture, &bodies);
    let of_these = |name: &str| !name.starts_with("demo/") || demo.contains_key(name);
    let committed: Rows = committed().into_iter().filter(|(name, _)| of_these(name)).collect();
    if committed.is_empty() {
        return Err(Error::Missing(format!("the table {}", file().display())).into());
    }
    found.extend(demo.clone());
    let different = differences(&committed, &found);
    different.iter().for_each(|line| println!("{line}"));
    println!(
        "{}: {} of {} hashes are the committed ones",
        std::env::consts::ARCH,
        committed.len() - different.len().min(committed.len()),
        committed.len()
    );
    Ok(if different.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
