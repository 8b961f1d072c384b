//! Files that no other user can access: those in the user's folder for local data, whose
//! permissions they inherit. Only the user, the system and administrators can access it.

#![forbid(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// Returns the directory of the driver's state: `grus` in `%LOCALAPPDATA%`.
pub fn state_directory() -> Option<PathBuf> {
    let local = PathBuf::from(std::env::var_os("LOCALAPPDATA")?);
    local.is_absolute().then(|| local.join("grus"))
}

/// Creates a directory of this user, with its parents.
pub fn create_directory(path: &Path) -> Option<()> {
    std::fs::create_dir_all(path).ok()
}

/// Returns true for a directory that is no link.
pub fn is_private_directory(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

/// Creates a file that does not exist yet, to be written.
pub fn create(path: &Path) -> Option<File> {
    OpenOptions::new().write(true).create_new(true).open(path).ok()
}

/// Opens a regular file that is no link.
pub fn open(path: &Path) -> Option<File> {
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file());
    if is_file { File::open(path).ok() } else { None }
}
