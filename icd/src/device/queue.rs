//! A queue: submissions in order, executed by one worker thread that starts at the first
//! submission.
//!
//! The design rests on order: the worker takes one submission at a time, waits for its semaphores,
//! executes, then signals. Queues do not know each other; only semaphores order them. Other
//! parallelism is inside the work (the rasterizer's pool, which queues share). A panic or an abort
//! loses the device, with all of its queues, and nothing else.
//!
//! Invariant: fences, semaphores, events and queries are signaled, and a submission is counted as
//! completed, only when everything before it was executed to its end. Work that was cut short, and
//! everything after it, is never completed: waits for it end with the loss.

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;

use super::Device;
use super::fault::Cause;
use super::idle_builders::IdleBuilders;
use super::watchdog::WatchedQueue;
use crate::fallible;
use crate::object::execution::Released;
use crate::object::payload::{Signal, Wait, wait_for};
use crate::os::adaptive_spin::AdaptiveSpin;
use crate::os::condvar::Condvar;
use ash::vk;
use parking_lot::{Mutex, MutexGuard};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Object behind a `VkQueue` handle.
pub struct QueueRef {
    /// Device of the queue; gone after vkDestroyDevice.
    pub device: Weak<Device>,
    /// The queue itself.
    pub queue: Arc<Queue>,
}

impl QueueRef {
    /// Returns the device while it lives, and VK_ERROR_DEVICE_LOST afterwards.
    pub fn device(&self) -> Result<Arc<Device>, vk::Result> {
        self.device.upgrade().ok_or(vk::Result::ERROR_DEVICE_LOST)
    }
}

/// Work of a submission to a queue: a command buffer, a presentation.
pub type Work = Box<dyn FnOnce(&Device, &Queue) + Send>;

/// A submission: waits, work, signals.
#[derive(Default)]
pub struct Submission {
    /// Waits that end before the work begins.
    pub waits: Vec<Wait>,
    /// Work items, which are executed in order.
    pub work: Vec<Work>,
    /// Signals that are given after the work.
    pub signals: Vec<Signal>,
    /// Signal of the fence, which is given last.
    pub fence: Option<Signal>,
}

/// A queue of a device.
pub struct Queue {
    /// Number among the device's queues.
    pub number: usize,
    /// Value of `queueFamilyIndex`.
    pub family: u32,
    /// Flags with which the queue was created.
    pub flags: vk::DeviceQueueCreateFlags,
    /// Value of `queueIndex`, which counts the queues of a family and flags.
    pub index: u32,
    state: Mutex<QueueState>,
    wake: Condvar,
    submitted: AtomicU64,
    /// Number of submissions that were executed to their end.
    completed: AtomicU64,
    stopping: AtomicBool,
    /// Adaptive spinning of the worker while it waits for submissions.
    spin: AdaptiveSpin,
    /// Work that the worker currently executes, for the watchdog.
    pub watched: WatchedQueue,
    /// Builders of acceleration structures.
    pub builders: IdleBuilders,
    /// State that a command buffer leaves to the next one, whose type only their executor knows.
    pub inherited: Mutex<Option<Box<dyn Any + Send>>>,
}

#[derive(Default)]
struct QueueState {
    pending: VecDeque<Submission>,
    worker: Option<base::thread::JoinHandle<()>>,
}

impl Queue {
    /// Creates an empty queue; starts no thread.
    pub fn new(number: usize, family: u32, flags: vk::DeviceQueueCreateFlags, index: u32) -> Queue {
        Queue {
            number,
            family,
            flags,
            index,
            state: Mutex::default(),
            wake: Condvar::new(),
            submitted: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            spin: AdaptiveSpin::default(),
            watched: WatchedQueue::new(number),
            builders: IdleBuilders::default(),
            inherited: Mutex::default(),
        }
    }

    /// Appends submissions and starts the worker if there is none yet. If this fails, no submission
    /// is accepted.
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

    /// Waits until everything that has been submitted so far is done.
    pub fn wait_idle(&self, device: &Device) -> Result<(), vk::Result> {
        let target = self.submitted();
        device.sync.wait_until(|| self.has_completed(target))
    }

    /// Returns the number of submissions so far.
    pub fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    /// Returns true if the first `submissions` submissions have been executed to their end.
    pub fn has_completed(&self, submissions: u64) -> bool {
        self.completed.load(Ordering::Acquire) >= submissions
    }

    /// Requests the end of the worker and of its waits. The caller wakes the threads that wait with
    /// the device.
    pub fn request_stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Waits for the end of a worker that was requested to stop.
    pub fn join(&self) {
        let worker = {
            let mut state = self.state.lock();
            self.wake.notify_all();
            state.worker.take()
        };
        if let Some(worker) = worker {
            // A worker that panicked outside of a submission has nothing left to report.
            let _ = worker.join();
        }
    }

    /// Loses the device, once. Generated code stops, the application receives the reason, and waits
    /// return, in this order. The queue's worker calls this and then ends its work.
    pub fn lose(&self, device: &Device, cause: Cause, message: &str) {
        self.lose_with_pipelines(device, cause, message, &self.watched.running_pipelines(device));
    }

    /// Loses the device as [`Queue::lose`] does, with these pipelines as the cause.
    pub fn lose_with_pipelines(&self, device: &Device, cause: Cause, message: &str, pipelines: &[u64]) {
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
                wait.iter().for_each(|wait| self.spin.end(wait));
                return Some(submission);
            }
            if self.is_stopping() {
                return None;
            }
            let wait = wait.get_or_insert_with(|| self.spin.begin());
            if wait.should_spin() {
                let seen = self.submitted.load(Ordering::Relaxed);
                let has_changed = || self.submitted.load(Ordering::Acquire) != seen || self.is_stopping();
                MutexGuard::unlocked(&mut state, || wait.spin_until(has_changed));
                continue;
            }
            self.watched.mark_idle();
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
        // Objects that the application freed during the submission are dropped after its signals.
        let (done, released) = execute(device, queue, &waits, work);
        if done {
            signals.into_iter().chain(fence).for_each(|signal| signal.signal_now(&device.sync));
            device.sync.notify(|| queue.completed.fetch_add(1, Ordering::AcqRel));
        }
        drop(released);
    }
    // This may be the last owner of objects, which must not outlive the device.
    queue.inherited.lock().take();
}

/// Waits and works; returns false if the work was not executed to its end. Referenced objects are
/// released in both cases. The second value owns objects that the application freed meanwhile; the
/// caller drops it after the signals.
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
        // The wait ended because the device is lost, or is destroyed while its work waits.
        if result != vk::Result::SUCCESS || !signaled {
            return (false, None);
        }
    }
    if work.is_empty() {
        return (!device.is_losing(), None);
    }
    device.watchdog.watch_queue(device, &queue.watched);
    let execution = device.heap.executions.begin();
    let done = work.into_iter().all(|item| perform(device, queue, item));
    (done && !device.is_losing(), Some(execution.end()))
}

/// Executes a piece of work. Returns false if it was not begun because the device is being lost.
fn perform(device: &Device, queue: &Queue, work: Work) -> bool {
    queue.watched.set_executing(true);
    // This check comes after the line before. A thread that loses the device is therefore either
    // seen here, or sees that this worker executes (`Device::lose_after`).
    if device.is_losing() {
        queue.watched.set_executing(false);
        return false;
    }
    let result = catch_unwind(AssertUnwindSafe(|| work(device, queue)));
    queue.watched.set_executing(false);
    if let Err(payload) = result {
        let text = fallible::text_of(&*payload);
        queue.lose(device, Cause::Panic, &format!("internal error while executing commands: {text}"));
    }
    true
}
