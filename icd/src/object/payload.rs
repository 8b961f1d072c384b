//! Payload of a fence or a semaphore: a number of this process, a number that other processes see
//! too, or a sync file of another process.
//!
//! A fence and a binary semaphore count 0 and 1. An object has a permanent payload and may have a
//! temporary one that was imported ([`super::semaphore`]). Operations of a submission hold the
//! payload that the object had when it was submitted.

use super::others::Others;
use super::sync::Sync;
use crate::os::descriptor;
use crate::os::shared::Shared;
use ash::vk;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Kind of object to which a payload belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A binary semaphore: a wait resets the signal.
    Binary = 1,
    /// A timeline semaphore.
    Timeline = 2,
    /// A fence.
    Fence = 3,
}

enum State {
    Own(AtomicU64),
    Shared(Shared),
    /// A sync file, which is signaled or not yet; this process does not signal it.
    File(File),
}

/// State of a fence or a semaphore.
pub struct Payload {
    /// Kind of object that has the payload.
    pub kind: Kind,
    state: State,
}

impl Payload {
    /// Creates a number of this process.
    pub fn new(kind: Kind, value: u64) -> Payload {
        Payload { kind, state: State::Own(AtomicU64::new(value)) }
    }

    /// Creates a number that can be exported; `None` if the kernel refuses.
    pub fn shared(kind: Kind, value: u64) -> Option<Payload> {
        Some(Payload { kind, state: State::Shared(Shared::new(kind as u32, value)?) })
    }

    /// Imports what another [`Payload::shared`] of the kind exported; `None` if the descriptor is
    /// something else.
    pub fn import(kind: Kind, fd: i32) -> Option<Payload> {
        Some(Payload { kind, state: State::Shared(Shared::import(fd, kind as u32)?) })
    }

    /// Imports a sync file, or for -1 a signaled state; `None` if there is no such descriptor. The
    /// descriptor is duplicated.
    pub fn of_sync_file(kind: Kind, fd: i32) -> Option<Payload> {
        if fd == -1 {
            return Some(Payload::new(kind, 1));
        }
        Some(Payload { kind, state: State::File(descriptor::duplicate(fd)?) })
    }

    /// Returns a descriptor of the payload itself; `None` if it cannot be exported, or the process
    /// may have no more descriptors.
    pub fn export(&self) -> Option<File> {
        if let State::Shared(shared) = &self.state { shared.export() } else { None }
    }

    /// Returns true if the payload can be exported.
    pub fn is_shared(&self) -> bool {
        matches!(self.state, State::Shared(_))
    }

    /// Returns the current value.
    pub fn value(&self) -> u64 {
        match &self.state {
            State::Own(value) => value.load(Ordering::Acquire),
            State::Shared(shared) => shared.value(),
            State::File(file) => descriptor::is_signaled(file).into(),
        }
    }

    /// Sets the value and wakes waiting threads. A sync file does not change.
    pub fn set(&self, sync: &Sync, value: u64) {
        match &self.state {
            State::Own(own) => sync.notify(|| own.store(value, Ordering::Release)),
            State::Shared(shared) => {
                shared.set(value);
                sync.notify(|| ());
            }
            State::File(_) => {}
        }
    }

    /// Takes the signal of a binary semaphore, or checks that the counter has reached `value`. The
    /// caller holds the device's lock.
    pub fn try_wait(&self, value: u64) -> bool {
        match (&self.state, self.kind) {
            (_, Kind::Timeline | Kind::Fence) => self.value() >= value,
            (State::Own(own), Kind::Binary) => own.compare_exchange(1, 0, Ordering::AcqRel, Ordering::Acquire).is_ok(),
            (State::Shared(shared), Kind::Binary) => shared.take(1, 0),
            // The payload ends with this wait.
            (State::File(_), Kind::Binary) => self.value() == 1,
        }
    }
}

/// A wait of a submission.
pub struct Wait {
    /// Payload that is waited for.
    pub payload: Arc<Payload>,
    /// Timeline value; not read for binary semaphores.
    pub value: u64,
}

/// A signal of a submission. If it is dropped before it is given, it is given to other processes,
/// because the operations that they wait for will not happen.
pub struct Signal {
    payload: Arc<Payload>,
    value: u64,
    given: bool,
}

impl Signal {
    /// Creates a signal and announces it to other processes that have the payload. `value` is for
    /// timeline semaphores.
    pub fn new(payload: Arc<Payload>, value: u64) -> Signal {
        let value = if payload.kind == Kind::Timeline { value } else { 1 };
        if let State::Shared(shared) = &payload.state {
            shared.promise(value);
        }
        Signal { payload, value, given: false }
    }

    /// Gives the signal.
    pub fn give(mut self, sync: &Sync) {
        self.given = true;
        self.payload.set(sync, self.value);
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        if let State::Shared(shared) = &self.payload.state {
            if !self.given && shared.value() < self.value {
                shared.set(self.value);
            }
            shared.is_done();
        }
    }
}

/// Waits until `ready` returns true, which depends on these payloads, as [`Sync::wait`] does.
pub fn wait_for(sync: &Sync, timeout: u64, payloads: &[&Payload], ready: impl FnMut() -> bool) -> vk::Result {
    let shared = payloads.iter().filter_map(|payload| match &payload.state {
        State::Shared(shared) => Some(shared),
        _ => None,
    });
    let files = payloads.iter().any(|payload| matches!(payload.state, State::File(_)));
    sync.wait_with(timeout, &Others { shared: shared.collect(), files }, ready)
}
