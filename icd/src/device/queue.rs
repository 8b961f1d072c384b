//! The queue: submissions in order, executed by one worker thread that starts at the first submission.
//!
//! Order is the whole design: the worker takes one submission at a time, waits for its semaphores, executes, then signals.
//! Parallelism is inside the work (the rasterizer's pool). A panic or an abort loses the device and nothing else.
//!
//! Invariant: fences, semaphores, events and queries are signaled, and a submission is counted as completed, only when everything before
//! it was executed to its end. Work that was cut short, and what follows it, is never done: waits for it end with the loss.

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;

use super::Device;
use super::fault::Cause;
use super::watchdog::Watchdog;
use crate::fallible;
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
}

/// Work of a submission: a command buffer, a presentation.
pub type Work = Box<dyn FnOnce(&Device) + Send>;

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

/// The device's queue.
#[derive(Default)]
pub struct Queue {
    state: Mutex<QueueState>,
    wake: Condvar,
    submitted: AtomicU64,
    /// Submissions executed to their end.
    completed: AtomicU64,
    stopping: AtomicBool,
    /// Of the worker, for submissions.
    patience: Patience,
    /// Guards against endless shaders.
    pub watchdog: Arc<Watchdog>,
}

#[derive(Default)]
struct QueueState {
    pending: VecDeque<Submission>,
    worker: Option<base::thread::JoinHandle<()>>,
}

impl Queue {
    /// Appends submissions; starts the worker when there is none yet. None is taken when this fails.
    pub fn submit(&self, device: &Arc<Device>, submissions: Vec<Submission>) -> Result<(), vk::Result> {
        device.sync.check()?;
        let mut state = self.state.lock();
        if state.worker.is_none() && !submissions.is_empty() {
            let for_worker = device.clone();
            let worker = base::thread::spawn("grus-queue", base::thread::STACK, move || run(&for_worker))
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
        let target = self.submitted.load(Ordering::Acquire);
        match device.sync.wait(u64::MAX, || self.completed.load(Ordering::Acquire) >= target) {
            vk::Result::SUCCESS => device.sync.check(),
            error => Err(error),
        }
    }

    /// Ends and joins the worker and the watchdog.
    pub fn stop(&self, device: &Device) {
        let worker = {
            let mut state = self.state.lock();
            device.sync.notify(|| self.stopping.store(true, Ordering::Release));
            self.wake.notify_all();
            state.worker.take()
        };
        if let Some(worker) = worker {
            // A worker that panicked outside of a submission has nothing left to say.
            let _ = worker.join();
        }
        self.watchdog.stop();
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
            self.watchdog.idle();
            self.wake.wait(&mut state);
        }
    }
}

fn run(device: &Arc<Device>) {
    while let Some(submission) = device.queue.next() {
        let Submission { waits, work, signals, fence } = submission;
        if execute(device, &waits, work) {
            signals.into_iter().chain(fence).for_each(|signal| signal.give(&device.sync));
            device.sync.notify(|| device.queue.completed.fetch_add(1, Ordering::AcqRel));
        }
    }
}

/// Waits and works; false when the work was not done to its end. What it referred to is released either way.
fn execute(device: &Arc<Device>, waits: &[Wait], work: Vec<Work>) -> bool {
    for wait in waits {
        let mut signaled = false;
        let result = wait_for(&device.sync, u64::MAX, &[&wait.payload], || {
            signaled = wait.payload.try_wait(wait.value);
            signaled || device.queue.is_stopping()
        });
        // The device is lost, or destroyed while its work waits: both end the wait.
        if result != vk::Result::SUCCESS || !signaled {
            return false;
        }
    }
    if !work.is_empty() {
        device.queue.watchdog.busy(device);
    }
    for item in work {
        if device.is_losing() {
            return false;
        }
        perform(device, item);
    }
    !device.is_losing()
}

fn perform(device: &Device, work: Work) {
    device.queue.watchdog.executes(true);
    let result = catch_unwind(AssertUnwindSafe(|| work(device)));
    device.queue.watchdog.executes(false);
    if let Err(payload) = result {
        let text = fallible::text_of(&*payload);
        device.lose(Cause::Panic, &format!("internal error while executing commands: {text}"));
    }
}
