//! Mutants by the thousand: a process runs some, tells its journal which one it is at, and what became of all when it ends. A mutant that
//! takes its process down, hangs, or eats memory is named by its seed, and the seeds behind it are another process's.

use super::Ends;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A mutant takes well below a second; machines are loaded.
pub const HANGS: Duration = Duration::from_secs(30);
/// Most memory of a process, in KiB.
pub const MEMORY: u64 = 3 << 20;
/// The herd looks this often.
const LOOK: Duration = Duration::from_millis(100);

const JOURNAL: &str = "GRUS_FUZZ_JOURNAL";
const REPORT: &str = "GRUS_FUZZ_REPORT";

/// Where a process of the herd writes the seed that it is at.
pub struct Journal(Option<File>);

impl Journal {
    /// The herd's, or none.
    pub fn open() -> Journal {
        Journal(std::env::var_os(JOURNAL).map(|path| File::options().write(true).open(path).expect("a journal")))
    }

    /// The mutant of this seed comes next.
    pub fn begins(&self, seed: u64) {
        if let Some(file) = &self.0 {
            file.write_all_at(&seed.to_le_bytes(), 0).expect("the journal is written");
        }
    }
}

/// A process of the herd tells what became of its mutants.
pub fn tell(ends: &Ends) {
    if let Some(path) = std::env::var_os(REPORT) {
        let lines: String = ends.iter().map(|(end, n)| format!("{n} {end}\n")).collect();
        std::fs::write(path, lines).expect("the report is written");
    }
}

/// A line of a process's status, in KiB.
fn status(process: &str, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Peak of this process's memory in KiB.
pub fn peak() -> u64 {
    status("self", "VmHWM")
}

/// Runs the mutants of the seeds, so many in a process.
pub fn run(seeds: Range<u64>, each: u64) -> (Ends, Vec<String>) {
    let folder = std::env::temp_dir().join(format!("grus-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (journal, report) = (folder.join("journal"), folder.join("report"));
    let (mut ends, mut wrong) = (Ends::new(), Vec::new());
    let began = Instant::now();
    let mut at = seeds.start;
    while at < seeds.end {
        let count = each.min(seeds.end - at);
        std::fs::write(&journal, at.to_le_bytes()).expect("the journal is begun");
        let _ = std::fs::remove_file(&report);
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--nocapture", "--test-threads=1"])
            .env("GRUS_FUZZ", count.to_string())
            .env("GRUS_FUZZ_SEED", at.to_string())
            .env(JOURNAL, &journal)
            .env(REPORT, &report)
            .stdout(Stdio::null())
            .spawn()
            .expect("a process");
        let seed = || std::fs::read(&journal).ok().and_then(|b| b.try_into().ok()).map_or(at, u64::from_le_bytes);
        let problem = watch(&mut child, &seed);
        let told = std::fs::read_to_string(&report).ok();
        for (n, end) in told.iter().flat_map(|text| text.lines()).filter_map(|line| line.split_once(' ')) {
            *ends.entry(end.into()).or_default() += n.parse::<u64>().unwrap_or(0);
        }
        // A report means that all have been run, and a failure that it has said why.
        let next = if told.is_some() { at + count } else { seed() + 1 };
        if let Some(problem) = problem {
            let what = format!("seed {}: {problem}", if told.is_some() { at } else { next - 1 });
            eprintln!("{what}");
            wrong.push(what);
        }
        if told.is_none() {
            *ends.entry("in a process that ended early".into()).or_default() += next - at;
        }
        at = next;
        eprintln!("up to {at} in {:?}: {ends:?}", began.elapsed());
    }
    let _ = std::fs::remove_dir_all(&folder);
    (ends, wrong)
}

/// Waits for a process; what was wrong with it.
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
        if since.elapsed() > HANGS || memory > MEMORY {
            let _ = child.kill();
            let _ = child.wait();
            return Some(format!("stopped after {:?}, at {memory} KiB", since.elapsed()));
        }
        std::thread::sleep(LOOK);
    }
}
