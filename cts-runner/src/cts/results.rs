//! Stores the results on disk, in one CSV per driver. The file grows by a line per execution, so a
//! killed run loses at most the line that it was writing.
//!
//! Columns: `case,attempt,status,code,seconds,message`. Attempt 0 is the run; attempts from 1 are
//! repetitions of failures. `run.json` beside the CSV names the driver and the CTS of the results.
//! A run with another driver or CTS refuses to add to them. Logs of cases that did not simply pass
//! are in `logs/`, under a hash of the name.
//!
//! Invariant: at most one line counts per case and attempt, namely the first.

use super::device::Device;
use super::error::{At, Error, Result};
use super::names::Names;
use super::portion::hash;
use super::shard::CaseEnd;
use super::status::Status;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const HEADER: &str = "case,attempt,status,code,seconds,message";
/// Maximum number of bytes that are kept of a message.
const MESSAGE_LIMIT: usize = 600;

/// One execution of a case, which is a line of the file.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Full name of the case.
    pub case: String,
    /// 0 for the run, or the number of the repetition.
    pub attempt: u32,
    /// Status of the execution.
    pub status: Status,
    /// Result code of deqp, or how the process died.
    pub code: String,
    /// Duration in seconds.
    pub seconds: f64,
    /// Reason for the status, in one line.
    pub message: String,
}

impl Record {
    /// Creates the record of a case that ended.
    pub fn new(attempt: u32, end: &CaseEnd) -> Self {
        let line = end.message.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut = line.floor_char_boundary(MESSAGE_LIMIT.min(line.len()));
        let message = line[..cut].to_string();
        let (case, code) = (end.name.clone(), end.code.clone());
        Self { case, attempt, status: end.status, code, seconds: end.seconds, message }
    }

    fn line(&self) -> String {
        let fields = [&self.case, &self.attempt.to_string(), self.status.name(), &self.code];
        let mut line: Vec<String> = fields.into_iter().map(quote).collect();
        line.push(format!("{:.6}", self.seconds));
        line.push(quote(&self.message));
        line.join(",") + "\n"
    }

    fn parse(line: &str) -> Option<Self> {
        let fields = split(line)?;
        let [case, attempt, status, code, seconds, message] = <[String; 6]>::try_from(fields).ok()?;
        Some(Self {
            case,
            attempt: attempt.parse().ok()?,
            status: Status::parse(&status)?,
            code,
            seconds: seconds.parse().ok()?,
            message,
        })
    }
}

/// Returns a field, quoted if necessary (RFC 4180). A record is one line, so a field never contains
/// line ends.
fn quote(field: impl AsRef<str>) -> String {
    let field = field.as_ref();
    let field: String = field.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if field.contains([',', '"']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

/// Returns the fields of a line; `None` if a quote is open at the end.
fn split(line: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let field = fields.last_mut()?;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => field.push(c),
        }
    }
    (!quoted).then_some(fields)
}

/// One execution of a case in memory. It takes 24 bytes, because there are millions of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Execution {
    /// 0 for the run, or the number of the repetition.
    pub attempt: u32,
    /// Status of the execution.
    pub status: Status,
    /// Duration in seconds.
    pub seconds: f64,
    code: u32,
    message: u32,
}

/// Executions of the selected cases, indexed by their number in the selection.
#[derive(Debug, Default)]
pub struct Executions {
    first: Vec<Option<Execution>>,
    /// Further executions of a case, in order.
    more: HashMap<u32, Vec<Execution>>,
    /// Codes and messages, of which there are few different ones.
    texts: Names,
}

impl Executions {
    /// Adds one execution. Returns false if this execution is already there.
    pub fn add(&mut self, case: u32, record: &Record) -> bool {
        let Record { attempt, status, seconds, .. } = *record;
        if self.of_case(case).any(|known| known.attempt == attempt) {
            return false;
        }
        let (code, message) = (self.texts.insert(&record.code), self.texts.insert(&record.message));
        let mut new = Execution { attempt, status, seconds, code, message };
        let place = case as usize;
        if self.first.len() <= place {
            self.first.resize(place + 1, None);
        }
        match &mut self.first[place] {
            Some(first) => {
                if new.attempt < first.attempt {
                    std::mem::swap(&mut new, first);
                }
                let more = self.more.entry(case).or_default();
                more.push(new);
                more.sort_by_key(|execution| execution.attempt);
            }
            none => *none = Some(new),
        }
        true
    }

    /// Returns the executions of a case, in order.
    pub fn of_case(&self, case: u32) -> impl Iterator<Item = &Execution> {
        let first = self.first.get(case as usize).and_then(Option::as_ref);
        first.into_iter().chain(self.more.get(&case).into_iter().flatten())
    }

    /// Returns the statuses of a case, in the order of its executions.
    pub fn statuses(&self, case: u32) -> Vec<Status> {
        self.of_case(case).map(|execution| execution.status).collect()
    }

    /// Returns the result code of deqp, or how the process died.
    pub fn code(&self, execution: &Execution) -> &str {
        self.texts.get(execution.code)
    }

    /// Returns the reason for the status, in one line.
    pub fn message(&self, execution: &Execution) -> &str {
        self.texts.get(execution.message)
    }

    /// Returns status and seconds of a case. One good execution outweighs bad ones.
    pub fn settled(&self, case: u32) -> Option<(Status, f64)> {
        let settled = self.of_case(case).find(|execution| !execution.status.failed()).or(self.of_case(case).next())?;
        Some((settled.status, settled.seconds))
    }
}

/// Reads the results of the selected cases and returns the number of bytes read. A last line
/// without its end is ignored, because a killed run was writing it.
fn read_lines(path: &Path, names: &Names) -> Result<(Executions, u64)> {
    let mut file = BufReader::new(File::open(path).at(path)?);
    let (mut executions, mut whole, mut bytes) = (Executions::default(), 0, Vec::new());
    for number in 1.. {
        bytes.clear();
        let length = file.read_until(b'\n', &mut bytes).at(path)?;
        if bytes.pop() != Some(b'\n') {
            break;
        }
        whole += length as u64;
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches('\r');
        if number == 1 && line == HEADER || line.is_empty() {
            continue;
        }
        let why = || format!("not a line of results ({HEADER})");
        let record = Record::parse(line).ok_or_else(|| Error::Line { path: path.into(), line: number, why: why() })?;
        if let Some(case) = names.find(&record.case) {
            executions.add(case, &record);
        }
    }
    Ok((executions, whole))
}

/// Reads the results of an earlier run for a comparison.
pub fn read_baseline(path: &Path, names: &Names) -> Result<Executions> {
    Ok(read_lines(path, names)?.0)
}

/// Prepares the folder of a run. Its content must belong to the same drivers and CTS, or is deleted
/// if `fresh` is set.
pub fn open_folder(folder: &Path, devices: &[Device], fresh: bool) -> Result<Vec<Store>> {
    std::fs::create_dir_all(folder.join("logs")).at(folder)?;
    let path = folder.join("run.json");
    let now = json!({ "version": 1, "drivers": devices.iter().map(Device::json).collect::<Vec<_>>() });
    let stores: Vec<Store> = (0..devices.len()).map(|driver| Store::open(folder, driver)).collect::<Result<_>>()?;
    let old: Option<Value> = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    if fresh {
        stores.iter().try_for_each(Store::clear)?;
    } else if let Some(why) = old.and_then(|old| difference(&old, &now)) {
        return Err(Error::OtherRun(folder.into(), why));
    }
    std::fs::write(&path, format!("{now:#}\n")).at(&path)?;
    Ok(stores)
}

/// Returns the difference between two runs; `None` if one may continue with the results of the
/// other. A driver to compare with may be added or removed.
fn difference(old: &Value, now: &Value) -> Option<String> {
    let drivers = |run: &Value| run["drivers"].as_array().cloned().unwrap_or_default();
    let (old, now) = (drivers(old), drivers(now));
    let pairs = old.iter().zip(&now);
    pairs.into_iter().find_map(|(old, now)| {
        let keys = ["device", "driver_name", "driver_info", "library", "build", "cts"];
        let key = keys.into_iter().find(|&key| old[key] != now[key])?;
        Some(format!("{key} was {} and is {}", old[key], now[key]))
    })
}

/// The growing results of one driver.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    logs: PathBuf,
    driver: usize,
    file: Mutex<File>,
}

impl Store {
    fn open(folder: &Path, driver: usize) -> Result<Self> {
        let path = folder.join(if driver == 0 { "results.csv" } else { "against.csv" });
        let file = OpenOptions::new().create(true).append(true).open(&path).at(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let why =
                    format!("another cts-runner writes to {}; choose another folder with --out", folder.display());
                return Err(Error::Usage(why));
            }
            Err(TryLockError::Error(error)) => return Err(Error::Io(path, error)),
        }
        Ok(Self { path, logs: folder.join("logs"), driver, file: Mutex::new(file) })
    }

    fn clear(&self) -> Result<()> {
        self.truncate(0)?;
        for entry in std::fs::read_dir(&self.logs).at(&self.logs)?.flatten() {
            if entry.path().extension().is_some_and(|end| end == "qpa" || end == "out") {
                std::fs::remove_file(entry.path()).at(entry.path())?;
            }
        }
        Ok(())
    }

    fn truncate(&self, length: u64) -> Result<()> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).set_len(length).at(&self.path)
    }

    /// Returns the results of the selected cases that an earlier run left here, and prepares the
    /// file for further results.
    pub fn resume(&self, names: &Names) -> Result<Executions> {
        let (executions, whole) = read_lines(&self.path, names)?;
        self.truncate(whole)?;
        if whole == 0 {
            self.append(&format!("{HEADER}\n"))?;
        }
        Ok(executions)
    }

    /// Writes one execution, and the log of a case that did not simply pass.
    pub fn add(&self, attempt: u32, end: &CaseEnd) -> Result<Record> {
        let record = Record::new(attempt, end);
        if end.status.failed() || end.status == Status::Warning {
            let [log, output] = self.logs_of(&end.name);
            std::fs::write(&log, &end.log).at(log)?;
            std::fs::write(&output, &end.output).at(output)?;
        }
        self.append(&record.line())?;
        Ok(record)
    }

    /// Appends a line with a single write, so that a killed run can tear only the last line.
    fn append(&self, text: &str) -> Result<()> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes()).at(&self.path)
    }

    /// Returns the paths of the log and the output of a case.
    pub fn logs_of(&self, case: &str) -> [PathBuf; 2] {
        let name = format!("{}-{:016x}", if self.driver == 0 { "run" } else { "against" }, hash(case.as_bytes()));
        ["qpa", "out"].map(|end| self.logs.join(format!("{name}.{end}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(name: &str, status: Status, message: &str) -> CaseEnd {
        let (log, output) = (b"<log>".to_vec(), "printed".to_string());
        CaseEnd {
            name: name.into(),
            status,
            code: "x, \"y\"".into(),
            message: message.into(),
            seconds: 0.25,
            log,
            output,
        }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("cts-results-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn records_survive_quotes_commas_and_line_ends() {
        let record = Record::new(2, &end("a.b", Status::Fail, "got \"3, 4\",\r\n expected\t5"));
        assert_eq!(record.message, "got \"3, 4\", expected 5");
        let line = record.line();
        assert_eq!(line, "a.b,2,Fail,\"x, \"\"y\"\"\",0.250000,\"got \"\"3, 4\"\", expected 5\"\n");
        assert_eq!(Record::parse(line.trim_end()), Some(record));
        let long = Record::new(0, &end("a", Status::Fail, &"ä".repeat(1000)));
        assert!(long.message.len() <= MESSAGE_LIMIT);
    }

    #[test]
    fn a_partial_last_line_is_ignored_and_overwritten() {
        let folder = folder("torn");
        let device = [Device { name: "A".into(), ..Device::default() }];
        let stores = open_folder(&folder, &device, false).unwrap();
        let names: Names = ["a", "b", "c"].into_iter().collect();
        let ran = |executions: &Executions| (0..3).filter(|&case| executions.of_case(case).count() > 0).count();
        assert_eq!(ran(&stores[0].resume(&names).unwrap()), 0);
        stores[0].add(0, &end("a", Status::Pass, "")).unwrap();
        stores[0].add(0, &end("b", Status::Crash, "")).unwrap();
        stores[0].append("c,0,Pas").unwrap();
        drop(stores);
        let stores = open_folder(&folder, &device, false).unwrap();
        assert_eq!(ran(&stores[0].resume(&names).unwrap()), 2);
        stores[0].add(0, &end("c", Status::Pass, "")).unwrap();
        stores[0].add(1, &end("b", Status::Pass, "")).unwrap();
        stores[0].add(0, &end("c", Status::Fail, "a second line must not count")).unwrap();
        let executions = read_baseline(&folder.join("results.csv"), &names).unwrap();
        let statuses = |case: u32| executions.of_case(case).map(|r| (r.attempt, r.status)).collect::<Vec<_>>();
        assert_eq!(statuses(2), [(0, Status::Pass)]);
        assert_eq!(statuses(1), [(0, Status::Crash), (1, Status::Pass)]);
        assert_eq!(executions.settled(1), Some((Status::Pass, 0.25)));
        let some: Names = ["b"].into_iter().collect();
        assert_eq!(read_baseline(&folder.join("results.csv"), &some).unwrap().statuses(0).len(), 2);
        assert_eq!(std::fs::read_to_string(&stores[0].logs_of("b")[1]).unwrap(), "printed");
        assert!(!stores[0].logs_of("a")[0].exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn results_of_another_driver_are_not_mixed_in() {
        let folder = folder("mixed");
        let device = |info: &str| Device { name: "A".into(), driver_info: info.into(), ..Device::default() };
        let stores = open_folder(&folder, &[device("1")], false).unwrap();
        let names: Names = ["a"].into_iter().collect();
        let ran = |stores: &[Store]| stores[0].resume(&names).unwrap().of_case(0).count();
        assert_eq!(ran(&stores), 0);
        stores[0].add(0, &end("a", Status::Pass, "")).unwrap();
        let busy = open_folder(&folder, &[device("1")], false).unwrap_err();
        assert!(busy.to_string().contains("another cts-runner"), "{busy}");
        drop(stores);
        let other = open_folder(&folder, &[device("2")], false).unwrap_err();
        assert!(other.to_string().contains("driver_info was \"1\" and is \"2\""), "{other}");
        // A driver to compare with may be added later.
        assert_eq!(ran(&open_folder(&folder, &[device("1"), device("3")], false).unwrap()), 1);
        let fresh = open_folder(&folder, &[device("2")], true).unwrap();
        assert_eq!(ran(&fresh), 0);
        drop(fresh);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn other_files_are_refused() {
        let folder = folder("wrong");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x.csv");
        std::fs::write(&path, "case\tPass\t0.1\n").unwrap();
        assert!(matches!(read_baseline(&path, &Names::default()), Err(Error::Line { line: 1, .. })));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
