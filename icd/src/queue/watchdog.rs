//! The budget of a draw or dispatch: when one runs longer than `GRUS_SHADER_TIMEOUT_MS`, the device is lost.
//!
//! The thread exists only while a queue has been busy, and sleeps without a time-out while the queue is idle. The executor
//! stores when its current operation began and which pipeline it runs; nothing else is done per operation.

use crate::backend::machine::shader_timeout;
use crate::object::device::Device;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// How long an aborted operation may take to end before waits return without it.
const GRACE: Duration = Duration::from_secs(10);

/// Watches the operation that a queue executes.
#[derive(Default)]
pub struct Watchdog {
    state: Mutex<State>,
    wake: Condvar,
    /// When the current operation began, in nanoseconds; 0: none.
    began: AtomicU64,
    pipeline: AtomicU64,
    timeout: OnceLock<Option<Duration>>,
}

#[derive(Default)]
struct State {
    busy: bool,
    /// The thread sleeps until it is woken; it parks itself when it finds the queue idle, so that short submissions wake nobody.
    parked: bool,
    stop: bool,
    thread: Option<base::thread::JoinHandle<()>>,
}

/// Monotonic time in nanoseconds, also what timestamps are.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Watchdog {
    /// An operation of a pipeline (by handle) begins.
    pub fn begin(&self, pipeline: u64) {
        self.pipeline.store(pipeline, Ordering::Relaxed);
        self.began.store(now(), Ordering::Release);
    }

    /// No operation is under way.
    pub fn end(&self) {
        self.began.store(0, Ordering::Release);
    }

    /// The queue has work: watch it.
    pub fn busy(self: &Arc<Self>, device: &Arc<Device>) {
        let Some(timeout) = *self.timeout.get_or_init(shader_timeout) else { return };
        let mut state = self.state.lock();
        state.busy = true;
        if state.thread.is_none() {
            let (watchdog, device) = (self.clone(), Arc::downgrade(device));
            let stack = base::thread::SMALL_STACK;
            state.thread = base::thread::spawn("grus-watchdog", stack, move || watchdog.run(timeout, &device)).ok();
        }
        if std::mem::take(&mut state.parked) {
            self.wake.notify_one();
        }
    }

    /// The queue has nothing to do.
    pub fn idle(&self) {
        self.state.lock().busy = false;
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

    /// Waits until the operation has ended, which it does soon once the abort flag is up.
    fn wait_for_end(&self) {
        let deadline = Instant::now() + GRACE;
        while self.began.load(Ordering::Acquire) != 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn run(&self, timeout: Duration, device: &Weak<Device>) {
        let step = (timeout / 8).clamp(Duration::from_millis(5), Duration::from_secs(1));
        let mut state = self.state.lock();
        while !state.stop {
            if !state.busy {
                state.parked = true;
                self.wake.wait(&mut state);
                continue;
            }
            self.wake.wait_for(&mut state, step);
            let began = self.began.load(Ordering::Acquire);
            if began != 0 && now().saturating_sub(began) > timeout.as_nanos() as u64 {
                let Some(device) = device.upgrade() else { return };
                // The lock is not held while the application's callback runs.
                drop(state);
                // Draws are deferred: the one that does not end need not be the one recorded last.
                let mut pipelines = device.engine.running();
                if pipelines.is_empty() {
                    pipelines.push(self.pipeline.load(Ordering::Relaxed));
                }
                let names: Vec<String> = pipelines.into_iter().map(|p| device.name(p)).collect();
                let (names, ms) = (names.join(", "), timeout.as_millis());
                let message = format!("pipeline {names} ran longer than {ms} ms (GRUS_SHADER_TIMEOUT_MS)");
                device.lose_after("GRUS-shader-timeout", &message, || self.wait_for_end());
                return;
            }
        }
    }
}
