//! Many mutants in several processes: a process runs some, writes its current seed to its journal,
//! and reports the ends of all when it has run them. A mutant that ends its process, hangs, or
//! takes too much memory is named by its seed, and another process runs the seeds after it.

use super::ResultCounts;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time without progress after which a mutant counts as hanging. A mutant takes well below a
/// second, but machines may be loaded.
pub const HANG_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest memory of a process in KiB.
pub const MAX_MEMORY_KIB: u64 = 3 << 20;
/// Interval at which the processes are checked.
const CHECK_PERIOD: Duration = Duration::from_millis(100);

const JOURNAL: &str = "GRUS_FUZZ_JOURNAL";
const REPORT: &str = "GRUS_FUZZ_REPORT";
const BITS: &str = "GRUS_FUZZ_BITS";

/// File to which a process writes its current seed.
pub struct Journal(Option<File>);

impl Journal {
    /// Opens the journal of this process, if it has one.
    pub fn open() -> Journal {
        Journal(std::env::var_os(JOURNAL).map(|path| File::options().write(true).open(path).expect("a journal")))
    }

    /// Notes that the mutant of this seed comes next.
    pub fn record(&self, seed: u64) {
        if let Some(mut file) = self.0.as_ref() {
            let written = file.rewind().and_then(|()| file.write_all(&seed.to_le_bytes()));
            written.expect("the journal is written");
        }
    }
}

/// Writes the report of a process about the ends of its mutants.
pub fn write_report(ends: &ResultCounts) {
    if let Some(path) = std::env::var_os(REPORT) {
        let lines: String = ends.iter().map(|(end, n)| format!("{n} {end}\n")).collect();
        std::fs::write(path, lines).expect("the report is written");
    }
}

/// File to which a process writes a hash of what each mutant has left.
pub struct ResultHashes {
    file: Option<File>,
    /// Seed of the current mutant.
    pub seed: u64,
}

impl ResultHashes {
    /// Opens the file of a comparison, if there is one.
    pub fn open() -> ResultHashes {
        let file = std::env::var_os(BITS).map(|path| File::create(path).expect("a file"));
        ResultHashes { file, seed: 0 }
    }

    /// Notes that the current mutant has left these bytes.
    pub fn record(&mut self, contents: &[u8]) {
        if let Some(file) = &mut self.file {
            let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            let hash = contents.iter().fold(0xcbf2_9ce4_8422_2325, step);
            writeln!(file, "{} {hash:x}", self.seed).expect("a line");
        }
    }
}

/// Runs mutants twice, each time over memory with another pattern. A mutant that does not leave the
/// same bits has read data that other work left.
pub fn compare_poisoned_runs(seeds: Range<u64>) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("grus-poison-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let patterns = [0u32, 0x7fc1_2345];
    let runs = patterns.map(|pattern| {
        let bits = folder.join(pattern.to_string());
        let child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--nocapture", "--test-threads=1"])
            .env("GRUS_FUZZ", (seeds.end - seeds.start).to_string())
            .env("GRUS_FUZZ_SEED", seeds.start.to_string())
            .env_remove("GRUS_FUZZ_POISON")
            .env("GRUS_FUZZ_SHARE", "0")
            .env("GRUS_POISON", pattern.to_string())
            .env("GRUS_THREADS", "1")
            .env(BITS, &bits)
            .stdout(Stdio::null())
            .spawn();
        (child.expect("a process"), bits)
    });
    let lines = runs.map(|(mut child, bits)| {
        let status = child.wait().expect("a child");
        (status, std::fs::read_to_string(bits).unwrap_or_default())
    });
    let _ = std::fs::remove_dir_all(&folder);
    let mut wrong: Vec<String> =
        lines.iter().filter(|run| !run.0.success()).map(|run| format!("with poison: {}", run.0)).collect();
    let of = |i: usize| lines[i].1.lines().filter_map(|line| line.split_once(' ')).collect::<HashMap<_, _>>();
    let (one, other) = (of(0), of(1));
    eprintln!("{} mutants over two patterns", one.len());
    let differs = one.iter().filter(|(seed, hash)| other.get(*seed).is_some_and(|other| other != *hash));
    wrong.extend(differs.map(|(seed, _)| format!("seed {seed}: the bits depend on what lies in memory before")));
    wrong
}

/// Returns a line of a process's status, in KiB.
fn status(process: &str, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Returns the peak of this process's memory in KiB.
pub fn peak() -> u64 {
    status("self", "VmHWM")
}

/// Runs the mutants of the seeds, `each` of them in a process.
pub fn run(seeds: Range<u64>, each: u64) -> (ResultCounts, Vec<String>) {
    let folder = std::env::temp_dir().join(format!("grus-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let processes = super::number("GRUS_FUZZ_PROCESSES").map_or(cores, |n| n.max(1) as usize);
    let state = Mutex::new((ResultCounts::new(), Vec::new(), seeds.start));
    let (began, total) = (Instant::now(), seeds.end - seeds.start);
    std::thread::scope(|threads| {
        for number in 0..processes {
            let (state, folder) = (&state, &folder);
            threads.spawn(move || {
                while let Some(part) = next_part(state, seeds.end, each) {
                    let (ends, wrong) = run_part(part, folder, number);
                    let mut state = state.lock().expect("no panic");
                    ends.into_iter().for_each(|(end, n)| *state.0.entry(end).or_default() += n);
                    state.1.extend(wrong);
                    let done: u64 = state.0.values().sum();
                    let rate = done as f64 / began.elapsed().as_secs_f64();
                    let left = Duration::from_secs_f64((total - done.min(total)) as f64 / rate.max(0.001));
                    eprintln!("{done} of {total}, {rate:.0} a second, {left:.0?} left: {:?}", state.0);
                }
            });
        }
    });
    let _ = std::fs::remove_dir_all(&folder);
    let (ends, wrong, _) = state.into_inner().expect("no panic");
    (ends, wrong)
}

/// Returns the seeds of the next process.
fn next_part(state: &Mutex<(ResultCounts, Vec<String>, u64)>, end: u64, each: u64) -> Option<Range<u64>> {
    let mut state = state.lock().expect("no panic");
    let first = state.2;
    state.2 = (first + each).min(end);
    (first < end).then(|| first..state.2)
}

/// Runs the mutants of the seeds in one process, and in a further one after each mutant that ends
/// its process.
fn run_part(seeds: Range<u64>, folder: &Path, number: usize) -> (ResultCounts, Vec<String>) {
    let (journal, report) = (folder.join(format!("journal-{number}")), folder.join(format!("report-{number}")));
    let (mut ends, mut wrong) = (ResultCounts::new(), Vec::new());
    let mut at = seeds.start;
    while at < seeds.end {
        let count = seeds.end - at;
        std::fs::write(&journal, at.to_le_bytes()).expect("the journal is begun");
        let _ = std::fs::remove_file(&report);
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--nocapture", "--test-threads=1"])
            .env("GRUS_FUZZ", count.to_string())
            .env("GRUS_FUZZ_SEED", at.to_string())
            .env(JOURNAL, &journal)
            .env(REPORT, &report)
            // The processes share the machine, so each has one thread.
            .env("GRUS_THREADS", "1")
            .stdout(Stdio::null())
            .spawn()
            .expect("a process");
        let seed = || std::fs::read(&journal).ok().and_then(|b| b.try_into().ok()).map_or(at, u64::from_le_bytes);
        let problem = watch(&mut child, &seed);
        let reported = std::fs::read_to_string(&report).ok();
        for (n, end) in reported.iter().flat_map(|text| text.lines()).filter_map(|line| line.split_once(' ')) {
            *ends.entry(end.into()).or_default() += n.parse::<u64>().unwrap_or(0);
        }
        // A report means that all mutants have been run, and a failure that the process has printed
        // the reason.
        let next = if reported.is_some() { at + count } else { seed() + 1 };
        if let Some(problem) = problem {
            let what = format!("seed {}: {problem}", if reported.is_some() { at } else { next - 1 });
            eprintln!("{what}");
            wrong.push(what);
        }
        if reported.is_none() {
            *ends.entry("in a process that ended early".into()).or_default() += next - at;
        }
        at = next;
    }
    (ends, wrong)
}

/// Waits for a process; returns the problem that it had.
fn watch(child: &mut Child, seed: &dyn Fn() -> u64) -> Option<String> {
    let id = child.id().to_string();
    let (mut last, mut since) = (seed(), Instant::now());
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return (!status.success()).then(|| format!("the process ended by {status}"));
        }
        let now = seed();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        let memory = status(&id, "VmRSS");
        if since.elapsed() > HANG_TIMEOUT || memory > MAX_MEMORY_KIB {
            let _ = child.kill();
            let _ = child.wait();
            return Some(format!("stopped after {:?}, at {memory} KiB", since.elapsed()));
        }
        std::thread::sleep(CHECK_PERIOD);
    }
}
