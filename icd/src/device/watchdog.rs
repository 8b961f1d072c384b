//! The time budget of a draw or dispatch: if one runs longer than `GRUS_SHADER_TIMEOUT_MS`, the
//! device is lost.
//!
//! The thread exists only after a queue has been busy, and sleeps without a time-out while all
//! queues are idle. It periodically looks at what the engine's workers run and counts for each
//! command of each queue separately ([`Budget`]). Draws are deferred and a flush runs many of them,
//! but each has the whole budget. The cost is a number and two stores per executed command. A
//! command's number contains its queue.
//!
//! The count is not wall-clock time: a look counts for as long as the thread meant to sleep,
//! however long that took. A process that is stopped or a machine that sleeps therefore loses
//! nothing. A check counts not much more than the processor time that the process got meanwhile,
//! either.

use super::Device;
use super::fault::Cause;
use crate::ffi::object_data;
use crate::os::clock::process_time;
use crate::os::condvar::Condvar;
use crate::os::environment::shader_timeout;
use execution::RunningCommand;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// A check counts at least this fraction of its intended time, however little the process ran
/// meanwhile, so that an endless wait ends too.
const MIN_COUNTED_PART: u32 = 4;

/// Number of bits of a command's number below its queue's.
const QUEUE_SHIFT: u32 = 48;

/// The state of a queue that the watchdog observes.
pub struct WatchedQueue {
    /// The queue's number.
    queue: usize,
    /// The queue's worker executes something.
    executing: AtomicBool,
    /// The queue has work. Changes under the lock of [`Watchdog::state`], except when it becomes
    /// idle.
    busy: AtomicBool,
    /// Number of the worker's current command (0 for none), and its pipeline's handle.
    command: AtomicU64,
    pipeline: AtomicU64,
    /// The last command's number.
    last: AtomicU64,
}

impl WatchedQueue {
    /// Makes the state of an idle queue.
    pub fn new(queue: usize) -> WatchedQueue {
        WatchedQueue {
            queue,
            executing: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            command: AtomicU64::new(0),
            pipeline: AtomicU64::new(0),
            last: AtomicU64::new((queue as u64) << QUEUE_SHIFT),
        }
    }

    /// Begins a command that runs a pipeline (by handle); its draws may be deferred beyond
    /// [`WatchedQueue::end`].
    pub fn begin(&self, pipeline: u64) {
        // Only the queue's worker begins commands. A locked instruction would wait until the
        // stores of earlier commands are done.
        let number = self.last.load(Ordering::Relaxed) + 1;
        self.last.store(number, Ordering::Relaxed);
        self.pipeline.store(pipeline, Ordering::Relaxed);
        self.command.store(number, Ordering::Release);
    }

    /// Names the pipeline that the command runs from now on.
    pub fn set_pipeline(&self, pipeline: u64) {
        self.pipeline.store(pipeline, Ordering::Relaxed);
    }

    /// Returns the command that has begun, for its draws and dispatches.
    pub fn running(&self) -> RunningCommand {
        RunningCommand {
            command: self.command.load(Ordering::Acquire),
            pipeline: self.pipeline.load(Ordering::Relaxed),
        }
    }

    /// Ends the command, which is done or deferred.
    pub fn end(&self) {
        self.command.store(0, Ordering::Release);
    }

    /// Sets whether the queue's worker executes work.
    pub fn set_executing(&self, executing: bool) {
        self.end();
        self.executing.store(executing, Ordering::SeqCst);
    }

    /// Returns true if the queue's worker executes something.
    pub fn is_executing(&self) -> bool {
        self.executing.load(Ordering::SeqCst)
    }

    /// Marks the queue as idle.
    pub fn mark_idle(&self) {
        self.busy.store(false, Ordering::Relaxed);
    }

    /// Returns true if the command belongs to the queue.
    fn owns(&self, running: &RunningCommand) -> bool {
        running.command >> QUEUE_SHIFT == self.queue as u64
    }

    /// Returns the commands that are running: those of the workers, or the queue's own if the
    /// workers have none of this queue.
    fn running_commands(&self, workers: &[RunningCommand]) -> Vec<RunningCommand> {
        let mut running: Vec<RunningCommand> = workers.iter().copied().filter(|running| self.owns(running)).collect();
        let own = self.running();
        if running.is_empty() && own.command != 0 {
            running.push(own);
        }
        running
    }

    /// Returns the handles of the pipelines that are running for the queue.
    pub fn running_pipelines(&self, device: &Device) -> Vec<u64> {
        let running = self.running_commands(&device.engine.pool().running());
        let mut pipelines: Vec<u64> = running.into_iter().map(|running| running.pipeline).collect();
        pipelines.dedup();
        pipelines
    }
}

/// Watches what a device's queues execute.
#[derive(Default)]
pub struct Watchdog {
    state: Mutex<WatchdogState>,
    wake: Condvar,
    timeout: OnceLock<Option<Duration>>,
}

#[derive(Default)]
struct WatchdogState {
    /// The thread sleeps until it is woken. It parks itself when it finds the queues idle, so that
    /// short submissions wake no thread.
    parked: bool,
    stop: bool,
    thread: Option<base::thread::JoinHandle<()>>,
    /// The application has been informed that there is no thread.
    reported: bool,
}

impl Watchdog {
    /// Starts watching a queue that has work.
    pub fn watch_queue(self: &Arc<Self>, device: &Arc<Device>, queue: &WatchedQueue) {
        let Some(timeout) = *self.timeout.get_or_init(shader_timeout) else { return };
        let mut state = self.state.lock();
        queue.busy.store(true, Ordering::Relaxed);
        if state.thread.is_none() {
            let (watchdog, for_thread) = (self.clone(), Arc::downgrade(device));
            let stack = base::thread::SMALL_STACK;
            let thread = base::thread::spawn("grus-watchdog", stack, move || watchdog.run(timeout, &for_thread));
            state.thread = thread.ok();
            if state.thread.is_none() && !std::mem::replace(&mut state.reported, true) {
                // The lock is not held while the application's callback runs.
                drop(state);
                return device.report_unsupported("no thread for the watchdog: GRUS_SHADER_TIMEOUT_MS is not in force");
            }
        }
        if std::mem::take(&mut state.parked) {
            self.wake.notify_one();
        }
    }

    /// Ends the thread.
    pub fn stop(&self) {
        let thread = {
            let mut state = self.state.lock();
            state.stop = true;
            self.wake.notify_all();
            state.thread.take()
        };
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn run(&self, timeout: Duration, device: &Weak<Device>) {
        let mut budgets: Vec<Budget> = Vec::new();
        let mut interval = CheckInterval::default();
        let mut state = self.state.lock();
        while !state.stop {
            let Some(at) = device.upgrade() else { return };
            if !at.queues.iter().any(|queue| queue.watched.busy.load(Ordering::Relaxed)) {
                budgets.clear();
                state.parked = true;
                drop(at);
                self.wake.wait(&mut state);
                continue;
            }
            drop(at);
            let (step, used) = (interval.next_step(timeout), process_time());
            if !self.wake.wait_for(&mut state, step) {
                continue;
            }
            let used = Duration::from_nanos(process_time().saturating_sub(used));
            let Some(device) = device.upgrade() else { return };
            // The lock is held neither while the engine's lock is taken nor while the application's
            // callback runs.
            drop(state);
            budgets.resize_with(device.queues.len(), || Budget::new(timeout));
            let (workers, time) = (device.engine.pool().running(), used.clamp(step / MIN_COUNTED_PART, step));
            for (queue, budget) in device.queues.iter().zip(&mut budgets) {
                let mut over = budget.count(&queue.watched.running_commands(&workers), time);
                over.dedup();
                if !over.is_empty() {
                    let names: Vec<String> = over.iter().copied().map(object_data::name).collect();
                    let (names, ms) = (names.join(", "), timeout.as_millis());
                    let message = format!("{queue}: {names} ran longer than {ms} ms (GRUS_SHADER_TIMEOUT_MS)");
                    return device.lose_after(Cause::Timeout, &message, &over, || device.wait_for_workers(None));
                }
            }
            drop(device);
            state = self.state.lock();
        }
    }
}

/// Intervals of the watchdog's checks.
#[derive(Default)]
struct CheckInterval {
    checks: u32,
}

impl CheckInterval {
    /// Returns the time until the next check: a fraction of the budget, of varying length, so that
    /// the checks do not synchronise with the work.
    fn next_step(&mut self, timeout: Duration) -> Duration {
        let step = (timeout / 16).clamp(Duration::from_millis(2), Duration::from_millis(250));
        self.checks = self.checks.wrapping_add(1);
        // The factor is 3/4 to 5/4, in an order that repeats after 16 checks.
        step * (12 + self.checks.wrapping_mul(7) % 9) / 16
    }
}

/// Running time of each command of a queue, as far as it has been observed.
struct Budget {
    timeout: Duration,
    /// Time of each command seen so far, by number.
    seen: BTreeMap<u64, Duration>,
}

impl Budget {
    /// Number of commands that are remembered: more than can run at once, and more than a render
    /// pass defers.
    const MAX_TRACKED_COMMANDS: u64 = 1 << 14;

    fn new(timeout: Duration) -> Budget {
        Budget { timeout, seen: BTreeMap::new() }
    }

    /// Counts `time` for the running commands; returns the pipelines of those that have used up
    /// their budget. The first check of a command is not counted, because its start is unknown.
    fn count(&mut self, running: &[RunningCommand], time: Duration) -> Vec<u64> {
        let mut over = Vec::new();
        for r in running {
            match self.seen.get_mut(&r.command) {
                Some(used) => {
                    *used += time;
                    if *used >= self.timeout {
                        over.push(r.pipeline);
                    }
                }
                None => {
                    self.seen = self.seen.split_off(&r.command.saturating_sub(Self::MAX_TRACKED_COMMANDS));
                    self.seen.insert(r.command, Duration::ZERO);
                }
            }
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(10);

    fn at(commands: &[u64]) -> Vec<RunningCommand> {
        commands.iter().map(|&command| RunningCommand { command, pipeline: 100 + command }).collect()
    }

    #[test]
    fn each_command_has_its_own_budget() {
        let mut budget = Budget::new(10 * STEP);
        // A hundred draws of one flush take turns.
        for i in 0..900 {
            assert!(budget.count(&at(&[1 + i % 100, 1 + (i + 50) % 100]), STEP / 2).is_empty(), "look {i}");
        }
        // A command that keeps running exceeds the budget after the first look and ten more,
        // whatever else runs.
        for i in 0..10 {
            assert!(budget.count(&at(&[200, 201 + i]), STEP).is_empty(), "look {i}");
        }
        assert_eq!(budget.count(&at(&[200, 300]), STEP), [300], "pipeline of command 200");
    }

    #[test]
    fn old_commands_are_forgotten() {
        let mut budget = Budget::new(STEP);
        for command in 1..100_000 {
            budget.count(&at(&[command]), STEP);
        }
        assert!(budget.seen.len() as u64 <= Budget::MAX_TRACKED_COMMANDS + 1);
    }

    #[test]
    fn steps_vary_around_a_part_of_the_budget() {
        let (mut interval, timeout) = (CheckInterval::default(), Duration::from_millis(1600));
        let steps: Vec<Duration> = (0..16).map(|_| interval.next_step(timeout)).collect();
        assert!(steps.iter().all(|s| (75..=125).contains(&s.as_millis())), "{steps:?}");
        assert!(steps.windows(2).all(|s| s[0] != s[1]), "{steps:?}");
    }
}
