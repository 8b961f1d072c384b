//! Runs one deqp process over some cases. It starts the process, follows its output and its log,
//! and applies the time limit to every case. At the end it reports how each case ended and in which
//! one the process died.
//!
//! The log is authoritative for results: it is a file of deqp's own, flushed after every element,
//! and no driver prints into it. The printed output serves as the clock: it shows when a case
//! starts, and it replaces results that the log lacks.
//!
//! Invariant: a case is reported at most once, and only if it was requested.

use super::error::{At, Result};
use super::process::{self, ProcessGroup};
use super::qpa::{LogEntry, LogTail};
use super::status::Status;
use crate::driver::MANIFEST_VARIABLES;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of bytes kept of a case's output; the end of the output is kept.
const OUTPUT_LIMIT: usize = 32 << 10;
/// Interval at which a silent process is checked.
const TICK: Duration = Duration::from_millis(50);
/// Time for which the pipe may stay open after all started processes have been ended.
const DRAIN: Duration = Duration::from_secs(2);

/// Parameters for starting deqp with one driver.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Path of the deqp binary.
    pub deqp: PathBuf,
    /// Working folder of deqp, in which it searches for its data.
    pub folder: PathBuf,
    /// Absolute path of the driver's manifest.
    pub manifest: PathBuf,
    /// Further arguments for deqp.
    pub arguments: Vec<String>,
    /// Additional environment variables.
    pub environment: Vec<(String, String)>,
    /// Time limit of each case and of the start.
    pub timeout: Duration,
    /// Folder for the files of a process, which are removed with it.
    pub scratch: PathBuf,
    /// True if images are logged.
    pub images: bool,
}

/// Result of one case.
#[derive(Clone, PartialEq, Debug)]
pub struct CaseEnd {
    /// Full name of the case.
    pub name: String,
    /// Status of the case.
    pub status: Status,
    /// Result code of deqp, or how the process died.
    pub code: String,
    /// Reason for the status, in one or a few lines.
    pub message: String,
    /// Duration in seconds.
    pub seconds: f64,
    /// XML of the case from deqp's log.
    pub log: Vec<u8>,
    /// Standard output and standard error of the process while the case ran.
    pub output: String,
}

/// Describes how a process ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShardOutcome {
    /// deqp reported that it is done.
    Done,
    /// The process ended early, after at least one case.
    Interrupted,
    /// The process ended, or was ended, before any case; the text is what it printed.
    NotStarted(String),
    /// The run is being cancelled.
    Cancelled,
}

/// Result of a process, apart from its cases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardEnd {
    /// Way in which the process ended.
    pub outcome: ShardOutcome,
    /// Name of the device in the header of the log.
    pub device: Option<String>,
    /// Release of the CTS in the header of the log.
    pub release: Option<String>,
    /// A problem that belongs to no case.
    pub note: Option<String>,
}

impl Launch {
    /// Returns the command with which every run of deqp begins.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.deqp);
        command.current_dir(&self.folder);
        command.envs(MANIFEST_VARIABLES.map(|variable| (variable, &self.manifest)));
        command.envs(self.environment.iter().map(|(key, value)| (key, value)));
        command
    }

    /// Runs a process over cases and reports each case that ended.
    pub fn run(
        &self,
        names: &[&str],
        cancel: &AtomicBool,
        report: &mut dyn FnMut(CaseEnd) -> Result<()>,
    ) -> Result<ShardEnd> {
        let files = Files::new(&self.scratch, names)?;
        let mut command = self.command();
        command.arg(option("caselist-file", &files.list)).arg(option("log-filename", &files.log));
        command.arg(option("shadercache-filename", &files.cache));
        command.arg("--deqp-log-shader-sources=disable");
        command.args((!self.images).then_some("--deqp-log-images=disable"));
        command.args(&self.arguments);
        let mut group = ProcessGroup::start(&mut command)?;
        let output = Arc::new(Mutex::new(Output::default()));
        let events = follow(&mut group, &output);
        let now = Instant::now();
        let mut watch = ShardWatcher {
            todo: names.iter().copied().collect(),
            accepted: 0,
            log: LogTail::new(files.log.clone()),
            current: None,
            printed: HashMap::new(),
            unread: HashMap::new(),
            done: false,
            last: now,
            report,
        };
        let timed_out = watch.follow(&mut group, &events, self.timeout, cancel)?;
        watch.end(&group.end().map(process::describe).unwrap_or_default(), timed_out, &output, cancel)
    }
}

fn option(name: &str, path: &Path) -> std::ffi::OsString {
    let mut option = std::ffi::OsString::from(format!("--deqp-{name}="));
    option.push(path);
    option
}

/// Files of one process.
struct Files {
    list: PathBuf,
    log: PathBuf,
    cache: PathBuf,
}

impl Files {
    fn new(scratch: &Path, names: &[&str]) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = |kind: &str| scratch.join(format!("{number}.{kind}"));
        let files = Self { list: file("txt"), log: file("qpa"), cache: file("shadercache") };
        let mut text = names.join("\n");
        text.push('\n');
        std::fs::write(&files.list, text).at(&files.list)?;
        Ok(files)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in [&self.list, &self.log, &self.cache] {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The last part of the output since the current case began.
#[derive(Debug, Default)]
struct Output(String);

impl Output {
    fn push(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
        if self.0.len() > OUTPUT_LIMIT {
            let cut = self.0.ceil_char_boundary(self.0.len() - OUTPUT_LIMIT / 2);
            self.0.drain(..cut);
        }
    }
}

/// Lines of deqp's output that have a meaning for the runner.
enum Event {
    /// A case starts. `before` is the output since the last result.
    Started {
        name: String,
        before: String,
    },
    Ended {
        code: String,
        message: String,
        output: String,
    },
    Done,
}

/// Reads the output in a separate thread. The channel closes when the pipe has closed.
fn follow(group: &mut ProcessGroup, output: &Arc<Mutex<Output>>) -> Receiver<Event> {
    let (sender, events) = channel();
    if let Some(stream) = group.output() {
        let output = Arc::clone(output);
        std::thread::spawn(move || process::lines(stream, |line| read_line(line, &output, &sender)));
    }
    events
}

fn read_line(line: &str, output: &Mutex<Output>, sender: &Sender<Event>) {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    let event = if let Some(name) = line.strip_prefix("Test case '").and_then(|rest| rest.strip_suffix("'..")) {
        Event::Started { name: name.into(), before: std::mem::take(&mut output.0) }
    } else if line == "DONE!" {
        Event::Done
    } else if let Some((code, message)) = result_line(line) {
        Event::Ended { code: code.into(), message: message.into(), output: std::mem::take(&mut output.0) }
    } else {
        output.push(line);
        return;
    };
    // The receiver is gone when the run is being cancelled, so an error is ignored.
    let _ = sender.send(event);
}

/// Parses `  Fail (why)`. The closing bracket is missing if the explanation continues in the next
/// line.
fn result_line(line: &str) -> Option<(&str, &str)> {
    let (code, message) = line.strip_prefix("  ")?.split_once(" (")?;
    Status::from_deqp(code)?;
    Some((code, message.strip_suffix(')').unwrap_or(message)))
}

/// State of following one process.
struct ShardWatcher<'a> {
    todo: HashSet<&'a str>,
    accepted: usize,
    log: LogTail,
    /// Running case according to the output, and the time of its start.
    current: Option<(String, Instant)>,
    /// Results that were printed and are not yet in the log.
    printed: HashMap<String, (CaseEnd, f64)>,
    /// Output and seconds of cases whose printed result could not be parsed.
    unread: HashMap<String, (String, f64)>,
    done: bool,
    /// Time of the last progress of the process.
    last: Instant,
    report: &'a mut dyn FnMut(CaseEnd) -> Result<()>,
}

impl ShardWatcher<'_> {
    /// Follows the process to its end. Returns true if it was ended because of the time limit.
    fn follow(
        &mut self,
        group: &mut ProcessGroup,
        events: &Receiver<Event>,
        timeout: Duration,
        cancel: &AtomicBool,
    ) -> Result<bool> {
        let mut timed_out = false;
        let mut ended: Option<Instant> = None;
        loop {
            match events.recv_timeout(TICK) {
                Ok(event) => self.event(event)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if ended.is_some() => return Ok(timed_out),
                // The pipe closes shortly before the process ends.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(Duration::from_millis(1)),
            }
            if ended.is_none() && group.poll().is_some() {
                ended = Some(Instant::now());
            }
            if ended.is_some_and(|since| since.elapsed() > DRAIN) {
                return Ok(timed_out);
            }
            if ended.is_none() && cancel.load(Ordering::Relaxed) {
                group.end();
            }
            if ended.is_none() && self.last.elapsed() > timeout {
                // The log may show progress that the output does not, so the log is read before the
                // process is ended.
                let before = (self.accepted, self.log.running().map(str::to_owned));
                self.read_log()?;
                if before == (self.accepted, self.log.running().map(str::to_owned)) {
                    timed_out = true;
                    group.end();
                }
                self.last = Instant::now();
            }
        }
    }

    fn event(&mut self, event: Event) -> Result<()> {
        let now = Instant::now();
        match event {
            Event::Started { name, before } => {
                // The result line of the previous case could not be parsed, so its result is taken
                // from the log.
                if let Some((unfinished, since)) = self.current.replace((name, now)) {
                    self.unread.insert(unfinished, (before, since.elapsed().as_secs_f64()));
                    self.read_log()?;
                }
            }
            Event::Ended { code, message, output } => {
                if let Some((name, since)) = self.current.take() {
                    let seconds = since.elapsed().as_secs_f64();
                    let status = Status::from_deqp(&code).unwrap_or(Status::Fail);
                    let end = CaseEnd { name: name.clone(), status, code, message, seconds, log: Vec::new(), output };
                    self.printed.insert(name, (end, seconds));
                    self.read_log()?;
                }
            }
            Event::Done => self.done = true,
        }
        self.last = now;
        Ok(())
    }

    /// Reports the cases that have ended according to the log.
    fn read_log(&mut self) -> Result<()> {
        for entry in self.log.poll() {
            let printed = self.printed.remove(&entry.name).map(|(end, wall)| (end.output, wall));
            let (output, wall) = printed.or_else(|| self.unread.remove(&entry.name)).unwrap_or_default();
            self.accept(from_entry(entry, output, wall))?;
        }
        Ok(())
    }

    fn accept(&mut self, end: CaseEnd) -> Result<()> {
        if self.todo.remove(end.name.as_str()) {
            self.accepted += 1;
            (self.report)(end)?;
        }
        Ok(())
    }

    /// Interprets the end of the process and reports the remaining results.
    fn end(mut self, exit: &str, timed_out: bool, output: &Mutex<Output>, cancel: &AtomicBool) -> Result<ShardEnd> {
        self.read_log()?;
        for (_, (end, _)) in std::mem::take(&mut self.printed) {
            self.accept(end)?;
        }
        let output = std::mem::take(&mut output.lock().unwrap_or_else(PoisonError::into_inner).0);
        let mut blamed = false;
        let cancelled = cancel.load(Ordering::Relaxed) && !self.done;
        if !self.done && !cancelled {
            // The log is more reliable than the output about which case began last.
            let printed = self.current.take();
            let since = printed.as_ref().map(|(_, since)| *since);
            let logged = self.log.take_running();
            let entry = logged.or_else(|| printed.map(|(name, _)| LogEntry { name, ..LogEntry::default() }));
            if let Some(entry) = entry.filter(|entry| self.todo.contains(entry.name.as_str())) {
                blamed = true;
                let wall = since.map_or(0.0, |since| since.elapsed().as_secs_f64());
                self.accept(crashed(entry, output.clone(), wall, exit, timed_out))?;
            }
        }
        let ending = if timed_out { "hung".to_string() } else { format!("ended with {exit}") };
        let late = self.done && (timed_out || exit.starts_with("signal"));
        let note = late.then(|| format!("deqp {ending} after its last case; no case is to blame"));
        let outcome = match () {
            () if cancelled => ShardOutcome::Cancelled,
            () if self.done => ShardOutcome::Done,
            () if blamed || self.accepted > 0 => ShardOutcome::Interrupted,
            () => ShardOutcome::NotStarted(format!("{ending}\n{}", output.trim_end())),
        };
        Ok(ShardEnd { outcome, device: self.log.device, release: self.log.release, note })
    }
}

fn from_entry(entry: LogEntry, output: String, wall: f64) -> CaseEnd {
    let seconds = entry.seconds.unwrap_or(wall);
    // An unknown code comes from a CTS that is newer than this program. It counts as a failure
    // until it is added to the table.
    let status = Status::from_deqp(&entry.code).unwrap_or(Status::Fail);
    CaseEnd { name: entry.name, status, code: entry.code, message: entry.message, seconds, log: entry.log, output }
}

/// Returns the result of the case in which the process died.
fn crashed(entry: LogEntry, output: String, wall: f64, exit: &str, timed_out: bool) -> CaseEnd {
    let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
    let last: String = last.chars().take(300).collect();
    let (status, code, message) = match timed_out {
        true => (Status::Timeout, "Timeout".to_string(), format!("ended after {wall:.1} s without a result")),
        false => (Status::Crash, exit.to_string(), last),
    };
    CaseEnd { name: entry.name, status, code, message, seconds: wall, log: entry.log, output }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_distinguished_from_other_lines() {
        assert_eq!(result_line("  Fail (Got 3 (of 4))"), Some(("Fail", "Got 3 (of 4)")));
        assert_eq!(result_line("  NotSupported (a long"), Some(("NotSupported", "a long")));
        assert_eq!(result_line("  Passed:        4/4 (100.0%)"), None);
        assert_eq!(result_line("Pass (x)"), None);
    }

    #[test]
    fn output_keeps_its_end() {
        let mut output = Output::default();
        for i in 0..20_000 {
            output.push(&format!("zeile {i} ä"));
        }
        assert!(output.0.len() <= OUTPUT_LIMIT && output.0.ends_with("zeile 19999 ä\n"));
    }
}
