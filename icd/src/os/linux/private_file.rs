//! Files that no other user can access.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Returns the effective user.
fn user() -> u32 {
    // SAFETY: `geteuid` only returns a number.
    unsafe { libc::geteuid() }
}

/// Returns the directory of the driver's state: `grus` in `$XDG_STATE_HOME` or `~/.local/state`.
pub fn state_directory() -> Option<PathBuf> {
    directory_of(std::env::var_os("XDG_STATE_HOME").as_deref(), std::env::var_os("HOME").as_deref())
}

/// Returns the directory of the driver's state for these environment variables. Relative paths are
/// ignored, as the base directory specification demands.
fn directory_of(state: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let absolute = |path: Option<&OsStr>| path.map(Path::new).filter(|path| path.is_absolute()).map(Path::to_path_buf);
    let state = absolute(state).or_else(|| Some(absolute(home)?.join(".local/state")))?;
    Some(state.join("grus"))
}

/// Creates a directory of this user, with its parents.
pub fn create_directory(path: &Path) -> Option<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).ok()
}

/// Returns true for a directory of this user to which no other user can write.
pub fn is_private_directory(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|own| own.uid() == user() && own.mode() & 0o022 == 0)
}

/// Creates a file that does not exist yet, to be written.
pub fn create(path: &Path) -> Option<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).ok()
}

/// Opens a regular file of this user that no other user can read or write, and that is no link.
pub fn open(path: &Path) -> Option<File> {
    // Opening a pipe that another process put there does not wait.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let facts = file.metadata().ok()?;
    (facts.is_file() && facts.uid() == user() && facts.mode() & 0o077 == 0).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_directories_are_ignored() {
        assert_eq!(directory_of(None, None), None);
        assert_eq!(directory_of(Some(OsStr::new("relative")), Some(OsStr::new(""))), None);
        let home = Some(OsStr::new("/home/a"));
        assert_eq!(directory_of(None, home), Some("/home/a/.local/state/grus".into()));
        assert_eq!(directory_of(Some(OsStr::new("/s")), home), Some("/s/grus".into()));
    }
}
