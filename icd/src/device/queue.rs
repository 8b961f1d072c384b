//! A queue: submissions in order, executed by one worker thread that starts at the first submission.
//!
//! Order is the whole design: the worker takes one submission at a time, waits for its semaphores, executes, then signals.
//! Queues know nothing of each other: what orders them is semaphores. Other parallelism is inside the work (the rasterizer's pool, which queues share). A panic or an
//! abort loses the device, with all of its queues, and nothing else.
//!
//! Invariant: fences, semaphores, events and queries are signaled, and a submission is counted as completed, only when everything before
//! it was executed to its end. Work that was cut short, and what follows it, is never done: waits for it end with the loss.

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;

use super::Device;
use super::fault::Cause;
use super::watchdog::Watched;
use crate::fallible;
use crate::object::execution::Released;
use crate::object::payload::{Signal, Wait, wait_for};
use crate::os::condvar::Condvar;
use crate::os::patience::Patience;
use ash::vk;
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// What a `VkQueue` handle points to.
pub struct QueueRef {
    /// The device; gone after vkDestroyDevice.
    pub device: Weak<Device>,
    /// The queue.
    pub queue: Arc<Queue>,
}

impl QueueRef {
    /// The device, while it lives. VK_ERROR_DEVICE_LOST.
    pub fn device(&self) -> Result<Arc<Device>, vk::Result> {
        self.device.upgrade().ok_or(vk::Result::ERROR_DEVICE_LOST)
    }
}

/// Work of a submission to a queue: a command buffer, a presentation.
pub type Work = Box<dyn FnOnce(&Device, &Queue) + Send>;

/// One batch: waits, work, signals.
#[derive(Default)]
pub struct Submission {
    /// Waited for before the work.
    pub waits: Vec<Wait>,
    /// Done in order.
    pub work: Vec<Work>,
    /// Signaled after the work.
    pub signals: Vec<Signal>,
    /// Signaled last.
    pub fence: Option<Signal>,
}

/// A queue of a device.
pub struct Queue {
    /// Among the device's queues.
    pub number: usize,
    /// `queueFamilyIndex`.
    pub family: u32,
    /// `queueIndex`.
    pub index: u32,
    state: Mutex<QueueState>,
    wake: Condvar,
    submitted: AtomicU64,
    /// Submissions executed to their end.
    completed: AtomicU64,
    stopping: AtomicBool,
    /// Of the worker, for submissions.
    patience: Patience,
    /// What it is at.
    pub watched: Watched,
}

#[derive(Default)]
struct QueueState {
    pending: VecDeque<Submission>,
    worker: Option<base::thread::JoinHandle<()>>,
}

impl Queue {
    /// An empty one; starts no thread.
    pub fn new(number: usize, family: u32, index: u32) -> Queue {
        Queue {
            number,
            family,
            index,
            state: Mutex::default(),
            wake: Condvar::new(),
            submitted: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            patience: Patience::default(),
            watched: Watched::new(number),
        }
    }

    /// Appends submissions; starts the worker when there is none yet. None is taken when this fails.
    pub fn submit(self: &Arc<Self>, device: &Arc<Device>, submissions: Vec<Submission>) -> Result<(), vk::Result> {
        device.sync.check()?;
        let mut state = self.state.lock();
        if state.worker.is_none() && !submissions.is_empty() {
            let (for_worker, queue) = (device.clone(), self.clone());
            let name = format!("grus-queue-{}.{}", self.family, self.index);
            let worker = base::thread::spawn(&name, base::thread::STACK, move || run(&for_worker, &queue))
                .map_err(|_| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
            state.worker = Some(worker);
        }
        fallible::reserve_queue(&mut state.pending, submissions.len())?;
        self.submitted.fetch_add(submissions.len() as u64, Ordering::AcqRel);
        state.pending.extend(submissions);
        self.wake.notify_one();
        Ok(())
    }

    /// Waits until everything submitted so far is done.
    pub fn wait_idle(&self, device: &Device) -> Result<(), vk::Result> {
        let target = self.submitted();
        device.sync.wait_until(|| self.has_completed(target))
    }

    /// Submissions so far.
    pub fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    /// Have so many of them been executed to their end?
    pub fn has_completed(&self, submissions: u64) -> bool {
        self.completed.load(Ordering::Acquire) >= submissions
    }

    /// The worker is to end, and so are its waits; the caller wakes who waits with the device.
    pub fn stopping(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Waits for the end of a worker that is to end.
    pub fn join(&self) {
        let worker = {
            let mut state = self.state.lock();
            self.wake.notify_all();
            state.worker.take()
        };
        if let Some(worker) = worker {
            // A worker that panicked outside of a submission has nothing left to say.
            let _ = worker.join();
        }
    }

    /// Loses the device, once: generated code stops, the application is told why, waits return (in this order). Called by the queue's worker, which then ends its work.
    pub fn lose(&self, device: &Device, cause: Cause, message: &str) {
        self.lose_by(device, cause, message, &self.watched.pipelines_at_work(device));
    }

    /// As [`Queue::lose`], by these pipelines.
    pub fn lose_by(&self, device: &Device, cause: Cause, message: &str, pipelines: &[u64]) {
        device.lose_after(cause, &format!("{self}: {message}"), pipelines, || device.wait_for_workers(Some(self)));
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    fn next(&self) -> Option<Submission> {
        let mut state = self.state.lock();
        let mut wait = None;
        loop {
            if let Some(submission) = state.pending.pop_front() {
                wait.iter().for_each(|wait| self.patience.end(wait));
                return Some(submission);
            }
            if self.is_stopping() {
                return None;
            }
            let wait = wait.get_or_insert_with(|| self.patience.begin());
            if wait.is_awake() {
                let seen = self.submitted.load(Ordering::Relaxed);
                let news = || self.submitted.load(Ordering::Acquire) != seen || self.is_stopping();
                MutexGuard::unlocked(&mut state, || wait.until(news));
                continue;
            }
            self.watched.idle();
            self.wake.wait(&mut state);
        }
    }
}

impl std::fmt::Display for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "queue {} of family {}", self.index, self.family)
    }
}

fn run(device: &Arc<Device>, queue: &Queue) {
    while let Some(submission) = queue.next() {
        let Submission { waits, work, signals, fence } = submission;
        // What waited for the end of this submission is released after its signals.
        let (done, released) = execute(device, queue, &waits, work);
        if done {
            signals.into_iter().chain(fence).for_each(|signal| signal.give(&device.sync));
            device.sync.notify(|| queue.completed.fetch_add(1, Ordering::AcqRel));
        }
        drop(released);
    }
}

/// Waits and works; false when the work was not done to its end. What it referred to is released
/// either way. The second value owns what the application freed meanwhile, which the caller drops
/// after the signals.
fn execute<'d>(
    device: &'d Arc<Device>,
    queue: &Queue,
    waits: &[Wait],
    work: Vec<Work>,
) -> (bool, Option<Released<'d>>) {
    for wait in waits {
        let mut signaled = false;
        let result = wait_for(&device.sync, u64::MAX, &[&wait.payload], || {
            signaled = wait.payload.try_wait(wait.value);
            signaled || queue.is_stopping()
        });
        // The device is lost, or destroyed while its work waits: both end the wait.
        if result != vk::Result::SUCCESS || !signaled {
            return (false, None);
        }
    }
    if work.is_empty() {
        return (!device.is_losing(), None);
    }
    device.watchdog.busy(device, &queue.watched);
    let execution = device.heap.executions.begin();
    let done = work.into_iter().all(|item| perform(device, queue, item));
    (done && !device.is_losing(), Some(execution.end()))
}

/// False if it was not begun: the device is being lost.
fn perform(device: &Device, queue: &Queue, work: Work) -> bool {
    queue.watched.executes(true);
    // After the line before: who loses the device then either is seen here, or sees that this worker executes (`Device::lose_after`).
    if device.is_losing() {
        queue.watched.executes(false);
        return false;
    }
    let result = catch_unwind(AssertUnwindSafe(|| work(device, queue)));
    queue.watched.executes(false);
    if let Err(payload) = result {
        let text = fallible::text_of(&*payload);
        queue.lose(device, Cause::Panic, &format!("internal error while executing commands: {text}"));
    }
    true
}
