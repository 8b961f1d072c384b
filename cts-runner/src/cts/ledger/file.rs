//! Adding a run to a ledger's file, that other runners on this machine may add to at the same moment.

use super::{Ledger, format};
use crate::cts::error::{At, Error, Result};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Reads a ledger's file.
pub fn read(path: &Path) -> Result<Ledger> {
    parse(path, &std::fs::read(path).at(path)?)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Ledger> {
    format::read(bytes).map_err(|(line, why)| Error::Line { path: path.into(), line, why })
}

/// Merges a ledger into the file, which need not be there yet. Gives what the file holds then.
pub fn add(path: &Path, new: Ledger) -> Result<Ledger> {
    let mut file = lock(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).at(path)?;
    let mut whole =
        if bytes.is_empty() { Ledger { build: new.build.clone(), ..Ledger::default() } } else { parse(path, &bytes)? };
    whole.merge(new).map_err(|why| Error::Ledger(path.into(), why))?;
    write(path, &whole)?;
    Ok(whole)
}

/// Whether runs of a build may be added to the file, before hours are spent on one.
pub fn check(path: &Path, new: &Ledger) -> Result<()> {
    match path.exists() {
        true if std::fs::metadata(path).at(path)?.len() > 0 => {
            read(path)?.merge(new.clone()).map_err(|why| Error::Ledger(path.into(), why))
        }
        // Also tells whether it can be made.
        _ => lock(path).map(drop),
    }
}

/// Writes the whole file at once: beside it first, so that nobody ever reads half of it.
pub fn write(path: &Path, ledger: &Ledger) -> Result<()> {
    let part = path.with_file_name(format!(
        "{}.{}.part",
        path.file_name().unwrap_or_default().to_string_lossy(),
        std::process::id()
    ));
    std::fs::write(&part, format::write(ledger)).at(&part)?;
    std::fs::rename(&part, path).at(path)
}

/// Opens the file for nobody else to add to until it is closed.
fn lock(path: &Path) -> Result<File> {
    loop {
        let file = OpenOptions::new().read(true).create(true).append(true).open(path).at(path)?;
        file.lock().at(path)?;
        // Who had the lock before has put another file in its place.
        let there = std::fs::metadata(path).ok().map(|there| (there.dev(), there.ino()));
        let here = file.metadata().at(path)?;
        if there == Some((here.dev(), here.ino())) {
            return Ok(file);
        }
    }
}
