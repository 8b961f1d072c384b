//! Services of Windows.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// File name of the driver's library.
pub const LIBRARY: &str = "vulkan_grus.dll";

/// Returns true if the user of this process is root, which does not exist here.
pub fn is_root() -> bool {
    false
}

/// Returns true if the path leads to the open file. A file that is open is not replaced here.
pub fn is_same_file(_path: &Path, _file: &File) -> Result<bool> {
    Ok(true)
}

/// Runs the command and ends this process with its exit code, because a process cannot be replaced
/// here. Returns only if the command cannot be started.
pub fn execute(command: &mut Command) -> Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(-1)),
        Err(error) => error,
    }
}

/// Makes a command run in another root directory.
///
/// # Errors
/// The system has no other roots.
pub fn run_in_root(_command: &mut Command, _root: &Path) -> Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Restricts this process to some processors.
///
/// # Errors
/// This is not supported here.
pub fn pin(_count: usize) -> Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Makes a command the leader of a new process group. Here a group is the leader alone.
pub fn lead_group(_command: &mut Command) {}

/// Ends the group of a leader that has not been waited for.
pub fn end_group(leader: &mut Child) {
    // The error is that the process has ended.
    let _ = leader.kill();
}

/// Returns true if the leader has ended.
pub fn has_ended(leader: &mut Child) -> bool {
    matches!(leader.try_wait(), Ok(Some(_)))
}

/// Returns the processor time of all children that have ended, which is not known here.
pub fn processor_time_of_children() -> Duration {
    Duration::ZERO
}

/// Describes in words how a process ended.
pub fn describe(status: ExitStatus) -> String {
    format!("exit code {:#x}", status.code().unwrap_or(-1))
}
