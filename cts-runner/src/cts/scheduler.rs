//! Distributes shards over jobs. If a shard ends early, a new process continues with the cases that
//! have no result. Only [`after`] decides what the end of a process means for its cases:
//!
//! - deqp reports that it is done, and cases have no result: they run once more, then each alone.
//!   After that they are Missing.
//! - The process died in a case: that case already has its result, and the remaining cases
//!   continue.
//! - The process died before any case: no case is blamed. After three such starts in a row, a probe
//!   (a case that worked when the run began) shows whether deqp still starts at all. If it does
//!   not, the run ends. If it does, the shard is halved until a single case is left.
//!
//! Invariant: every case of the plan gets exactly one result, or the run ends with an error.

use super::error::{Error, Result};
use super::shard::{CaseEnd, ShardEnd, ShardOutcome};
use super::status::Status;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Number of consecutive failed starts after which a probe runs.
pub const STARTS: u32 = 3;

/// Cases for one process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Index of the driver; 0 is the one under test.
    pub driver: usize,
    /// Numbers of the cases in the selection.
    pub cases: Vec<u32>,
    /// Number of the execution of the cases: 0 for the run, or the number of the repetition.
    pub attempt: u32,
    /// True if a case without a result is Missing immediately.
    pub alone: bool,
    /// Number of consecutive failed starts.
    pub starts: u32,
}

/// Runs shards. It is a trait so that tests can replace the processes.
pub trait ShardRunner: Sync {
    /// Runs one process over a shard and reports the cases that ended.
    fn run(
        &self,
        shard: &Shard,
        cancel: &AtomicBool,
        report: &mut dyn FnMut(u32, CaseEnd) -> Result<()>,
    ) -> Result<ShardEnd>;
    /// Returns `Ok` if deqp starts at all with this driver.
    fn probe(&self, driver: usize) -> Result<()>;
    /// Returns the name of a case.
    fn name(&self, case: u32) -> &str;
}

/// Callback that receives each result once.
pub type Sink<'a> = dyn Fn(&Shard, u32, CaseEnd) -> Result<()> + Sync + 'a;

/// Cuts cases into shards. Large shards come first, so that few processes start. Small ones come
/// last, so that all jobs end together; the smallest still take longer than the start of their
/// process.
pub fn plan(driver: usize, cases: &[u32], largest: usize, jobs: usize) -> Vec<Shard> {
    let mut shards = Vec::new();
    let mut rest = cases;
    while !rest.is_empty() {
        let fair = if jobs > 1 { rest.len().div_ceil(jobs * 2).max(16).max(largest / 50) } else { rest.len() };
        let (now, later) = rest.split_at(fair.min(largest.max(1)).min(rest.len()));
        shards.push(Shard { driver, cases: now.to_vec(), attempt: 0, alone: false, starts: 0 });
        rest = later;
    }
    shards
}

/// Plans repetitions, with each case in a process of its own.
pub fn repeat(driver: usize, cases: &[u32], attempt: u32) -> Vec<Shard> {
    let alone = |&case| Shard { driver, cases: vec![case], attempt, alone: true, starts: 0 };
    cases.iter().map(alone).collect()
}

/// Alternates between drivers, so that a temporary slowdown of the machine affects all of them. The
/// first driver of each round also alternates.
pub fn interleave(plans: Vec<Vec<Shard>>) -> Vec<Shard> {
    let rounds = plans.iter().map(Vec::len).max().unwrap_or(0);
    let mut queues: Vec<_> = plans.into_iter().map(Vec::into_iter).collect();
    let mut shards = Vec::new();
    for round in 0..rounds {
        let drivers = queues.len();
        for turn in 0..drivers {
            shards.extend(queues[(turn + round) % drivers].next());
        }
    }
    shards
}

/// Consequence of the end of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// These shards continue; the list is empty if all cases have results.
    Queue(Vec<Shard>),
    /// These cases never got a result.
    Missing(Vec<u32>),
    /// The process failed too often before its first case. A probe runs, and the suspect is handled
    /// if the probe works.
    Probe(String, Suspect),
}

/// Suspected cause if deqp starts in general but not with this shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Suspect {
    /// One of several cases, which are split into two halves.
    Halves(Vec<Shard>),
    /// A single case.
    Case(u32),
}

/// Decides how to continue after the end of a process. `left` are its cases without a result.
pub fn next_step(shard: &Shard, left: Vec<u32>, outcome: &ShardOutcome) -> Next {
    let with =
        |cases: &[u32], alone: bool, starts: u32| Shard { cases: cases.to_vec(), alone, starts, ..shard.clone() };
    if left.is_empty() {
        return Next::Queue(Vec::new());
    }
    match outcome {
        ShardOutcome::Cancelled => Next::Queue(Vec::new()),
        ShardOutcome::Done if shard.alone => Next::Missing(left),
        // The remaining cases stay together as long as a process makes progress with them, because
        // a start takes longer than most cases.
        ShardOutcome::Done if left.len() < shard.cases.len() => Next::Queue(vec![with(&left, false, 0)]),
        ShardOutcome::Done => Next::Queue(left.iter().map(|&case| with(&[case], true, 0)).collect()),
        ShardOutcome::Interrupted => Next::Queue(vec![with(&left, shard.alone, 0)]),
        ShardOutcome::NotStarted(_) if shard.starts + 1 < STARTS => {
            Next::Queue(vec![with(&left, shard.alone, shard.starts + 1)])
        }
        ShardOutcome::NotStarted(output) => {
            let (first, second) = left.split_at(left.len() / 2);
            let suspect = match first.is_empty() {
                true => Suspect::Case(left[0]),
                false => Suspect::Halves(vec![with(first, shard.alone, 0), with(second, shard.alone, 0)]),
            };
            Next::Probe(output.clone(), suspect)
        }
    }
}

struct SchedulerState {
    queue: VecDeque<Shard>,
    running: usize,
    /// Pairs of driver and case that have no result yet.
    open: HashSet<(usize, u32)>,
    notes: Vec<String>,
    error: Option<Error>,
}

struct Run<'a> {
    state: Mutex<SchedulerState>,
    changed: Condvar,
    cancel: AtomicBool,
    runner: &'a dyn ShardRunner,
    sink: &'a Sink<'a>,
}

/// Runs all shards with `jobs` processes at a time. Returns notes about problems that belong to no
/// case.
pub fn run(shards: Vec<Shard>, jobs: usize, runner: &dyn ShardRunner, sink: &Sink<'_>) -> Result<Vec<String>> {
    let open = shards.iter().flat_map(|shard| shard.cases.iter().map(|&case| (shard.driver, case))).collect();
    let state = SchedulerState { queue: shards.into(), running: 0, open, notes: Vec::new(), error: None };
    let run = Run { state: Mutex::new(state), changed: Condvar::new(), cancel: AtomicBool::new(false), runner, sink };
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| run.work());
        }
    });
    let state = run.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (state.error, state.open.len()) {
        (Some(error), _) => Err(error),
        (None, 0) => Ok(state.notes),
        (None, lost) => Err(Error::Internal(format!("{lost} cases without result"))),
    }
}

impl Run<'_> {
    fn lock(&self) -> MutexGuard<'_, SchedulerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one job. It takes shards until none is queued and no running shard can queue more.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if state.error.is_some() {
                return;
            }
            let Some(shard) = state.queue.pop_front() else {
                if state.running == 0 {
                    return;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.running += 1;
            drop(state);
            let outcome = self.shard(&shard);
            state = self.lock();
            state.running -= 1;
            if let Err(error) = outcome {
                self.cancel.store(true, Ordering::Relaxed);
                // The first error is kept, because it is the cause of the later ones.
                state.error.get_or_insert(error);
            }
            self.changed.notify_all();
        }
    }

    fn shard(&self, shard: &Shard) -> Result<()> {
        let end = self.runner.run(shard, &self.cancel, &mut |case, end| self.result(shard, case, end))?;
        let mut state = self.lock();
        state.notes.extend(end.note);
        let left = shard.cases.iter().copied().filter(|&case| state.open.contains(&(shard.driver, case))).collect();
        drop(state);
        match next_step(shard, left, &end.outcome) {
            Next::Queue(shards) => self.queue(shards),
            Next::Missing(cases) => {
                for case in cases {
                    self.result(shard, case, self.blame(case, Status::Missing, "listed, and never reported by deqp"))?;
                }
            }
            Next::Probe(output, suspect) => {
                self.runner.probe(shard.driver).map_err(|_| Error::Start(output.clone()))?;
                match suspect {
                    Suspect::Halves(shards) => self.queue(shards),
                    Suspect::Case(case) => {
                        let why = format!("deqp dies before the case starts: {}", output.replace('\n', " "));
                        self.result(shard, case, self.blame(case, Status::Crash, &why))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The rest of a shard continues first, because the files and groups of its neighbours are
    /// still in the caches.
    fn queue(&self, shards: Vec<Shard>) {
        let mut state = self.lock();
        shards.into_iter().rev().for_each(|shard| state.queue.push_front(shard));
    }

    fn result(&self, shard: &Shard, case: u32, end: CaseEnd) -> Result<()> {
        if self.lock().open.remove(&(shard.driver, case)) { (self.sink)(shard, case, end) } else { Ok(()) }
    }

    fn blame(&self, case: u32, status: Status, why: &str) -> CaseEnd {
        CaseEnd {
            name: self.runner.name(case).into(),
            status,
            code: status.name().into(),
            message: why.into(),
            seconds: 0.0,
            log: Vec::new(),
            output: String::new(),
        }
    }
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
