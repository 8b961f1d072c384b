//! Shards over jobs. A shard that ends early goes on in a new process with the cases that have no result; what a process's end means
//! for its cases is decided here, in [`after`], and nowhere else.
//!
//! - deqp says it is through and cases have no result: they run once more, then each alone, then they are Missing.
//! - the process died in a case: that case has its result already, the rest goes on.
//! - the process died before any case: nobody is blamed. Three times in a row, a probe (a case that worked when the run began) tells
//!   whether deqp still starts at all. If not, the run ends; if it does, the shard is halved until the one case is alone.
//!
//! Invariant: every case of the plan gets exactly one result, or the run ends with an error.

use super::error::{Error, Result};
use super::shard::{CaseEnd, How, ShardEnd};
use super::status::Status;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Starts that fail in a row before something is suspected.
pub const STARTS: u32 = 3;

/// Some cases for one process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Which driver: 0 is the one under test.
    pub driver: usize,
    /// The cases, by their place in the selection.
    pub cases: Vec<u32>,
    /// Which execution of the cases this is: 0, or the number of the repetition.
    pub attempt: u32,
    /// Whether a case without result is Missing at once.
    pub alone: bool,
    /// Starts that failed in a row.
    pub starts: u32,
}

/// What runs shards; a trait so that tests can put something else than processes behind it.
pub trait Machine: Sync {
    /// Runs one process over a shard and reports the cases that ended.
    fn run(
        &self,
        shard: &Shard,
        cancel: &AtomicBool,
        report: &mut dyn FnMut(u32, CaseEnd) -> Result<()>,
    ) -> Result<ShardEnd>;
    /// Whether deqp starts at all with this driver.
    fn probe(&self, driver: usize) -> Result<()>;
    /// Name of a case.
    fn name(&self, case: u32) -> &str;
}

/// Receives each result once.
pub type Sink<'a> = dyn Fn(&Shard, u32, CaseEnd) -> Result<()> + Sync + 'a;

/// Cuts cases into shards: large ones first, so that few processes start, small ones at the end, so that all jobs end together. The
/// smallest still take longer than the start of their process.
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

/// Repetitions: each case in a process of its own.
pub fn repeat(driver: usize, cases: &[u32], attempt: u32) -> Vec<Shard> {
    let alone = |&case| Shard { driver, cases: vec![case], attempt, alone: true, starts: 0 };
    cases.iter().map(alone).collect()
}

/// Takes turns between drivers, so that what slows the machine for a while slows all of them. Who begins changes too.
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

/// What follows from the end of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// These go on; nothing when all have results.
    Queue(Vec<Shard>),
    /// These never got a result.
    Missing(Vec<u32>),
    /// The process did not get to its first case too often: probe, then this if the probe works.
    Probe(String, Suspect),
}

/// What is suspected when deqp starts, only not with this shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Suspect {
    /// One of several cases: two halves.
    Halves(Vec<Shard>),
    /// This case.
    Case(u32),
}

/// What follows from the end of a process that left cases without result.
pub fn after(shard: &Shard, left: Vec<u32>, how: &How) -> Next {
    let with =
        |cases: &[u32], alone: bool, starts: u32| Shard { cases: cases.to_vec(), alone, starts, ..shard.clone() };
    if left.is_empty() {
        return Next::Queue(Vec::new());
    }
    match how {
        How::Cancelled => Next::Queue(Vec::new()),
        How::Done if shard.alone => Next::Missing(left),
        // As long as a process gets on with them they stay together: a start takes longer than most cases.
        How::Done if left.len() < shard.cases.len() => Next::Queue(vec![with(&left, false, 0)]),
        How::Done => Next::Queue(left.iter().map(|&case| with(&[case], true, 0)).collect()),
        How::Interrupted => Next::Queue(vec![with(&left, shard.alone, 0)]),
        How::NotStarted(_) if shard.starts + 1 < STARTS => {
            Next::Queue(vec![with(&left, shard.alone, shard.starts + 1)])
        }
        How::NotStarted(output) => {
            let (first, second) = left.split_at(left.len() / 2);
            let suspect = match first.is_empty() {
                true => Suspect::Case(left[0]),
                false => Suspect::Halves(vec![with(first, shard.alone, 0), with(second, shard.alone, 0)]),
            };
            Next::Probe(output.clone(), suspect)
        }
    }
}

struct State {
    queue: VecDeque<Shard>,
    running: usize,
    /// Driver, case: what has no result yet.
    open: HashSet<(usize, u32)>,
    notes: Vec<String>,
    error: Option<Error>,
}

struct Run<'a> {
    state: Mutex<State>,
    changed: Condvar,
    cancel: AtomicBool,
    machine: &'a dyn Machine,
    sink: &'a Sink<'a>,
}

/// Runs all shards with `jobs` processes at a time. Gives notes about oddities no case is to blame for.
pub fn run(shards: Vec<Shard>, jobs: usize, machine: &dyn Machine, sink: &Sink<'_>) -> Result<Vec<String>> {
    let open = shards.iter().flat_map(|shard| shard.cases.iter().map(|&case| (shard.driver, case))).collect();
    let state = State { queue: shards.into(), running: 0, open, notes: Vec::new(), error: None };
    let run = Run { state: Mutex::new(state), changed: Condvar::new(), cancel: AtomicBool::new(false), machine, sink };
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
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One job: takes shards until nothing is queued and nothing runs that could queue more.
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
                // The first error is the cause of the others.
                state.error.get_or_insert(error);
            }
            self.changed.notify_all();
        }
    }

    fn shard(&self, shard: &Shard) -> Result<()> {
        let end = self.machine.run(shard, &self.cancel, &mut |case, end| self.result(shard, case, end))?;
        let mut state = self.lock();
        state.notes.extend(end.note);
        let left = shard.cases.iter().copied().filter(|&case| state.open.contains(&(shard.driver, case))).collect();
        drop(state);
        match after(shard, left, &end.how) {
            Next::Queue(shards) => self.queue(shards),
            Next::Missing(cases) => {
                for case in cases {
                    self.result(shard, case, self.blame(case, Status::Missing, "listed, and never reported by deqp"))?;
                }
            }
            Next::Probe(output, suspect) => {
                self.machine.probe(shard.driver).map_err(|_| Error::Start(output.clone()))?;
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

    /// The rest of a shard goes on first: its neighbours' files and groups are still warm.
    fn queue(&self, shards: Vec<Shard>) {
        let mut state = self.lock();
        shards.into_iter().rev().for_each(|shard| state.queue.push_front(shard));
    }

    fn result(&self, shard: &Shard, case: u32, end: CaseEnd) -> Result<()> {
        if self.lock().open.remove(&(shard.driver, case)) { (self.sink)(shard, case, end) } else { Ok(()) }
    }

    fn blame(&self, case: u32, status: Status, why: &str) -> CaseEnd {
        CaseEnd {
            name: self.machine.name(case).into(),
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
