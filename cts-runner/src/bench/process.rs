//! Runs children with separate caches and pinned CPUs, and ends those that hang.
//!
//! Invariant: a child has an empty home and cache folder, and Mesa's disk cache is disabled, so no
//! driver's disk cache is warm. A child writes to files, so it cannot block on a pipe. The state
//! folder remains that of the user: state that one child stored is visible to the next, if its
//! driver finds the user's folder.

use super::sysroot::Sysroot;
use crate::vk::{Error, Result};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Interval between two checks of a child.
const POLL: Duration = Duration::from_millis(2);
/// Number of characters that are kept of a dead child's stderr.
const STDERR_TAIL: usize = 300;

/// Describes how a child ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ChildEnd {
    /// The child ended with exit code 0 and this output.
    Success(String),
    /// The child ended otherwise, with this status and end of stderr.
    Died(String),
    /// The child exceeded the time limit and was ended.
    TimedOut,
}

/// Runs this program again as `bench` with the given arguments and additional environment
/// variables.
pub fn run(sysroot: &Sysroot, args: &[&str], environment: &[(String, String)], timeout: Duration) -> Result<ChildEnd> {
    let mut command = sysroot.command();
    command.arg("bench").args(args).envs(environment.iter().map(|(name, value)| (name, value)));
    watch(sysroot, command, timeout)
}

fn watch(sysroot: &Sysroot, mut command: Command, timeout: Duration) -> Result<ChildEnd> {
    let scratch = sysroot.scratch()?;
    let file = |name: &str| scratch.path().join(name);
    let create = |path: PathBuf| File::create(&path).map_err(|e| Error::Io(path, e));
    for (variable, folder) in [("HOME", "home"), ("XDG_CACHE_HOME", "home/.cache"), ("XDG_DATA_HOME", "home/.data")] {
        command.env(variable, sysroot.inside_path(&file(folder)));
    }
    command.env("TMPDIR", sysroot.inside_path(scratch.path())).env("MESA_SHADER_CACHE_DISABLE", "true");
    state_folder(sysroot).into_iter().for_each(|folder| _ = command.env("XDG_STATE_HOME", folder));
    std::fs::create_dir_all(file("home/.cache")).map_err(|e| Error::Io(file("home/.cache"), e))?;
    command.stdin(Stdio::null()).stdout(create(file("out"))?).stderr(create(file("err"))?);
    let mut child = sysroot.spawn(command)?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| Error::Io("a child".into(), e))? {
            break status;
        }
        if start.elapsed() > timeout {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(ChildEnd::TimedOut);
        }
        std::thread::sleep(POLL);
    };
    let read = |name: &str| String::from_utf8_lossy(&std::fs::read(file(name)).unwrap_or_default()).into_owned();
    Ok(if status.success() {
        ChildEnd::Success(read("out"))
    } else {
        ChildEnd::Died(stderr_tail(status, &read("err")))
    })
}

/// Returns the user's state folder, or a folder of this run in another root.
fn state_folder(sysroot: &Sysroot) -> Option<PathBuf> {
    if sysroot.root().is_some() {
        return Some(sysroot.inside_path(&sysroot.shared().join("state")));
    }
    let set = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    set.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".local/state")))
}

fn stderr_tail(status: ExitStatus, stderr: &str) -> String {
    let text = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let skip = text.chars().count().saturating_sub(STDERR_TAIL);
    let tail: String = text.chars().skip(skip).collect();
    if tail.is_empty() { status.to_string() } else { format!("{status}: {tail}") }
}

/// Returns the peak resident memory of this process in bytes; 0 if the system does not report it.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Restricts this process to the first `count` of the CPUs that it may use. Threads that start
/// later inherit the restriction.
pub fn pin(count: usize) -> Result<()> {
    crate::os::pin(count).map_err(|e| Error::Io("the processors of this process".into(), e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Duration) -> ChildEnd {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        watch(&Sysroot::current().expect("a folder"), command, timeout).expect("a shell")
    }

    #[test]
    fn success_failure_and_timeout_are_distinguished() {
        let long = Duration::from_secs(20);
        assert_eq!(shell("echo hello; echo noise >&2", long), ChildEnd::Success("hello\n".into()));
        assert_eq!(shell("echo some words >&2; exit 3", long), ChildEnd::Died("exit status: 3: some words".into()));
        let ChildEnd::Died(why) = shell("kill -SEGV $$", long) else { panic!("a signal is a death") };
        assert!(why.starts_with("signal: 11"), "{why}");
        assert_eq!(shell("exec sleep 20", Duration::from_millis(50)), ChildEnd::TimedOut);
    }

    #[test]
    fn a_child_finds_an_empty_home() {
        let ChildEnd::Success(text) = shell("ls -A \"$HOME\" \"$XDG_CACHE_HOME\" | grep -v :", Duration::from_secs(20))
        else {
            panic!("ls")
        };
        assert_eq!(text.trim(), ".cache");
    }

    #[test]
    fn peak_memory_grows_with_use() {
        let before = peak_memory();
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(peak_memory() >= before && peak_memory() >= block.len() as u64);
    }
}
