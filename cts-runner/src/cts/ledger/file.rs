//! Adds a run to the file of a ledger, to which other runners on this machine may add at the same
//! time.

use super::{Ledger, format};
use crate::cts::error::{At, Error, Result};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::Path;

/// Reads a ledger from a file.
pub fn read(path: &Path) -> Result<Ledger> {
    parse(path, &std::fs::read(path).at(path)?)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Ledger> {
    format::read(bytes).map_err(|(line, why)| Error::Line { path: path.into(), line, why })
}

/// Merges a ledger into the file, which need not exist yet. Returns the new content of the file.
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

/// Checks that runs of a build may be added to the file. This happens before a run, which takes
/// hours.
pub fn check(path: &Path, new: &Ledger) -> Result<()> {
    match path.exists() {
        true if std::fs::metadata(path).at(path)?.len() > 0 => {
            read(path)?.merge(new.clone()).map_err(|why| Error::Ledger(path.into(), why))
        }
        // Locking also checks that the file can be created.
        _ => lock(path).map(drop),
    }
}

/// Writes the whole file atomically: into a temporary file first, so that readers never see half of
/// it.
pub fn write(path: &Path, ledger: &Ledger) -> Result<()> {
    let part = path.with_file_name(format!(
        "{}.{}.part",
        path.file_name().unwrap_or_default().to_string_lossy(),
        std::process::id()
    ));
    std::fs::write(&part, format::write(ledger)).at(&part)?;
    std::fs::rename(&part, path).at(path)
}

/// Opens the file and locks it exclusively until it is closed.
fn lock(path: &Path) -> Result<File> {
    loop {
        let file = OpenOptions::new().read(true).create(true).append(true).open(path).at(path)?;
        file.lock().at(path)?;
        // The previous owner of the lock may have replaced the file, so the path must still refer
        // to the locked file.
        if crate::os::is_same_file(path, &file).at(path)? {
            return Ok(file);
        }
    }
}
