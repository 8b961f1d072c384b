//! Services of Windows.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// File name of the driver's library.
pub const LIBRARY: &str = "vulkan_grus.dll";

/// File name of the Vulkan loader.
pub const LOADER: &str = "vulkan-1.dll";
/// Folder of the library in an installation, relative to its prefix.
pub const LIBRARY_FOLDER: &str = "";
/// Folder of the manifest in an installation, relative to its prefix.
pub const MANIFEST_FOLDER: &str = "";

/// Key of the registry whose values are the paths of manifests. The loader reads drivers that
/// belong to no device from this key only ("Driver Discovery on Windows" of the loader's
/// documentation), so that their installation needs an administrator.
const DRIVERS: &str = r"HKLM\SOFTWARE\Khronos\Vulkan\Drivers";

/// Returns the prefix of installations, `%ProgramFiles%\Grus`; `None` if the variable is not set.
pub fn default_prefix() -> Option<PathBuf> {
    std::env::var_os("ProgramFiles").map(|programs| Path::new(&programs).join("Grus"))
}

/// Returns an absolute path without `..`. The result does not begin with `\\?\`, as one of
/// `canonicalize` does, because `.` is the name of a file in such paths: the Vulkan loader would
/// not find the library, whose path in the manifest is relative.
///
/// # Errors
/// The path is empty.
pub fn clean(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
}

/// Makes a manifest known to the loader: its path is a value of the registry, whose number is 0.
///
/// # Errors
/// The user is no administrator.
pub fn register_manifest(manifest: &Path) -> Result<()> {
    let arguments = [OsStr::new("/t"), OsStr::new("REG_DWORD"), OsStr::new("/d"), OsStr::new("0")];
    if edit_registry("add", manifest, &arguments)? { Ok(()) } else { Err(ErrorKind::PermissionDenied.into()) }
}

/// Reverts [`register_manifest`], if the registry has the path.
///
/// # Errors
/// The system's program for the registry is missing.
pub fn unregister_manifest(manifest: &Path) -> Result<()> {
    edit_registry("delete", manifest, &[]).map(|_| ())
}

/// Runs the system's program for the registry on a value of [`DRIVERS`]. Returns false if it fails.
fn edit_registry(command: &str, value: &Path, arguments: &[&OsStr]) -> Result<bool> {
    let root = std::env::var_os("SystemRoot").ok_or(ErrorKind::NotFound)?;
    let mut reg = Command::new(Path::new(&root).join(r"System32\reg.exe"));
    reg.args([command, DRIVERS, "/f", "/reg:64", "/v"]).arg(value).args(arguments);
    Ok(reg.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success())
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
