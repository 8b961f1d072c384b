//! Services of Linux.

use std::ffi::CString;
use std::fs::File;
use std::io::{Error, Result};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// File name of the driver's library.
pub const LIBRARY: &str = "libvulkan_grus.so";

/// File name of the Vulkan loader.
pub const LOADER: &str = "libvulkan.so.1";
/// Folder of the library in an installation, relative to its prefix.
pub const LIBRARY_FOLDER: &str = "lib";
/// Folder of the manifest in an installation, relative to its prefix.
pub const MANIFEST_FOLDER: &str = "share/vulkan/icd.d";

/// Returns the prefix of installations, `/usr/local` for root and `~/.local` for other users.
/// Returns `None` if `HOME` is not set.
pub fn default_prefix() -> Option<PathBuf> {
    if std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0) {
        return Some("/usr/local".into());
    }
    std::env::var_os("HOME").map(|home| Path::new(&home).join(".local"))
}

/// Returns an absolute path without links and `..`.
///
/// # Errors
/// The path does not exist.
pub fn clean(path: &Path) -> Result<PathBuf> {
    path.canonicalize()
}

/// Makes a manifest known to the loader, which finds it by its folder here.
///
/// # Errors
/// There are none.
pub fn register_manifest(_manifest: &Path) -> Result<()> {
    Ok(())
}

/// Reverts [`register_manifest`].
///
/// # Errors
/// There are none.
pub fn unregister_manifest(_manifest: &Path) -> Result<()> {
    Ok(())
}

/// Returns true if the path leads to the open file.
pub fn is_same_file(path: &Path, file: &File) -> Result<bool> {
    let there = std::fs::metadata(path).ok().map(|there| (there.dev(), there.ino()));
    let here = file.metadata()?;
    Ok(there == Some((here.dev(), here.ino())))
}

/// Replaces this process by the command, so that its exit code, its signals and its process number
/// are those that the caller sees. Returns only if this fails.
pub fn execute(command: &mut Command) -> Error {
    command.exec()
}

/// Makes a command run in another root directory.
///
/// # Errors
/// The path contains a zero.
pub fn run_in_root(command: &mut Command, root: &Path) -> Result<()> {
    let root = CString::new(root.as_os_str().as_bytes())?;
    let enter = move || {
        // SAFETY: both functions get pointers to strings that end in 0.
        let entered = unsafe { libc::chroot(root.as_ptr()) == 0 && libc::chdir(c"/".as_ptr()) == 0 };
        if entered { Ok(()) } else { Err(Error::last_os_error()) }
    };
    // SAFETY: the closure only makes system calls between fork and exec, and an OS error allocates
    // no memory.
    unsafe { command.pre_exec(enter) };
    Ok(())
}

/// Restricts this process to the first `count` of the processors that it may use. Threads that
/// start later inherit the restriction.
///
/// # Errors
/// The kernel refuses.
pub fn pin(count: usize) -> Result<()> {
    // SAFETY: a set of processors is plain bits, for which zero is valid. The calls get its size
    // and access only the set.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&allowed), &mut allowed) != 0 {
            return Err(Error::last_os_error());
        }
        let mut chosen: libc::cpu_set_t = std::mem::zeroed();
        let cpus = (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &allowed));
        for cpu in cpus.take(count) {
            libc::CPU_SET(cpu, &mut chosen);
        }
        if libc::sched_setaffinity(0, size_of_val(&chosen), &chosen) != 0 {
            return Err(Error::last_os_error());
        }
    }
    Ok(())
}

/// Makes a command the leader of a new process group, which ends with the thread that started it.
pub fn lead_group(command: &mut Command) {
    command.process_group(0);
    // SAFETY: `prctl` is async-signal-safe, and the closure allocates no memory.
    unsafe {
        command.pre_exec(|| {
            // The kernel kills the child when the thread that started it ends, so a killed runner
            // leaves no deqp behind.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
}

/// Ends the group of a leader that has not been waited for.
pub fn end_group(leader: &mut Child) {
    if let Ok(group) = libc::pid_t::try_from(leader.id()) {
        // SAFETY: the call accesses no memory. The leader has not been reaped, so its process id
        // cannot belong to another process.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// Returns true if the leader has ended, without reaping it. The kernel reserves its process id,
/// which is also the id of the group, until it is reaped.
pub fn has_ended(leader: &mut Child) -> bool {
    // SAFETY: an all-zero `siginfo_t` is valid, and `waitid` writes only into it.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_PID, leader.id(), &raw mut info, options) == 0 && info.si_pid() != 0
    }
}

/// Returns the processor time of all children that have ended, with their descendants.
pub fn processor_time_of_children() -> Duration {
    // SAFETY: an all-zero `rusage` is valid, and `getrusage` writes only into it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let time = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec.try_into().unwrap_or(0)) + Duration::from_micros(t.tv_usec.try_into().unwrap_or(0))
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Describes in words how a process ended.
pub fn describe(status: ExitStatus) -> String {
    const NAMES: [(i32, &str); 8] = [
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGTRAP, "SIGTRAP"),
    ];
    match (status.signal(), status.code()) {
        (Some(signal), _) => match NAMES.iter().find(|(number, _)| *number == signal) {
            Some((_, name)) => format!("signal {signal} ({name})"),
            None => format!("signal {signal}"),
        },
        (None, code) => format!("exit code {}", code.unwrap_or(-1)),
    }
}
