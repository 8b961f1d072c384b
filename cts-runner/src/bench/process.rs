//! Children: started with caches of their own, pinned, watched, stopped when they hang.
//!
//! Invariant: a child finds an empty home and cache folder, so no driver's disk cache is warm, and writes to files, so it
//! cannot block on a pipe. The user's state stays the user's: what one child stored another one may load, if its driver knows the user.

use crate::vk::{Error, Result};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long to sleep between two looks at a child.
const POLL: Duration = Duration::from_millis(2);
/// How much of a dead child's stderr is kept.
const LAST_WORDS: usize = 300;

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// With exit code 0 and this output.
    Good(String),
    /// Otherwise; the status and the end of stderr.
    Died(String),
    /// It was stopped.
    TimedOut,
}

/// A folder that goes with its owner.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new folder below `parent`.
    pub fn new(parent: &Path) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("cts-runner-bench-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| Error::Io(path.clone(), e))?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs this program again as `bench` with the given arguments.
pub fn run(args: &[&str], timeout: Duration) -> Result<End> {
    let program = std::env::current_exe().map_err(|e| Error::Io("the running program".into(), e))?;
    let mut command = Command::new(program);
    command.arg("bench").args(args);
    watch(command, timeout)
}

fn watch(mut command: Command, timeout: Duration) -> Result<End> {
    let scratch = Scratch::new(&std::env::temp_dir())?;
    let file = |name: &str| scratch.path().join(name);
    let create = |path: PathBuf| File::create(&path).map_err(|e| Error::Io(path, e));
    for (variable, folder) in [("HOME", "home"), ("XDG_CACHE_HOME", "home/.cache"), ("XDG_DATA_HOME", "home/.data")] {
        command.env(variable, file(folder));
    }
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".local/state")));
    state.into_iter().for_each(|folder| _ = command.env("XDG_STATE_HOME", folder));
    std::fs::create_dir_all(file("home/.cache")).map_err(|e| Error::Io(file("home/.cache"), e))?;
    command.stdin(Stdio::null()).stdout(create(file("out"))?).stderr(create(file("err"))?);
    let mut child = command.spawn().map_err(|e| Error::Io(PathBuf::from(command.get_program()), e))?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| Error::Io("a child".into(), e))? {
            break status;
        }
        if start.elapsed() > timeout {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(End::TimedOut);
        }
        std::thread::sleep(POLL);
    };
    let read = |name: &str| String::from_utf8_lossy(&std::fs::read(file(name)).unwrap_or_default()).into_owned();
    Ok(if status.success() { End::Good(read("out")) } else { End::Died(last_words(status, &read("err"))) })
}

fn last_words(status: ExitStatus, stderr: &str) -> String {
    let text = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let skip = text.chars().count().saturating_sub(LAST_WORDS);
    let tail: String = text.chars().skip(skip).collect();
    if tail.is_empty() { status.to_string() } else { format!("{status}: {tail}") }
}

/// Most memory this process has had resident, in bytes; 0 where the system does not say.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Leaves this process the first `count` of the CPUs it may run on; threads started later inherit it.
pub fn pin(count: usize) -> Result<()> {
    let failed = || Error::Io("sched_setaffinity".into(), std::io::Error::last_os_error());
    // SAFETY: a CPU set is plain bits, for which zero is valid; the calls get its size and only touch it.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&allowed), &mut allowed) != 0 {
            return Err(failed());
        }
        let mut chosen: libc::cpu_set_t = std::mem::zeroed();
        let cpus = (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &allowed));
        for cpu in cpus.take(count) {
            libc::CPU_SET(cpu, &mut chosen);
        }
        if libc::sched_setaffinity(0, size_of_val(&chosen), &chosen) != 0 {
            return Err(failed());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Duration) -> End {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        watch(command, timeout).expect("a shell")
    }

    #[test]
    fn children_end_well_badly_or_not_at_all() {
        let long = Duration::from_secs(20);
        assert_eq!(shell("echo hello; echo noise >&2", long), End::Good("hello\n".into()));
        assert_eq!(shell("echo some words >&2; exit 3", long), End::Died("exit status: 3: some words".into()));
        let End::Died(why) = shell("kill -SEGV $$", long) else { panic!("a signal is a death") };
        assert!(why.starts_with("signal: 11"), "{why}");
        assert_eq!(shell("exec sleep 20", Duration::from_millis(50)), End::TimedOut);
    }

    #[test]
    fn a_child_finds_an_empty_home() {
        let End::Good(text) = shell("ls -A \"$HOME\" \"$XDG_CACHE_HOME\" | grep -v :", Duration::from_secs(20)) else {
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
