//! What a fence or a semaphore says: a number of this process, one that other processes see too, or a sync file of somebody else's.
//!
//! A fence and a binary semaphore count 0 and 1. An object has a permanent payload and perhaps a temporary one that was imported
//! ([`super::semaphore`]); operations of a submission hold the payload that the object had when it was submitted.

use super::others::Others;
use super::sync::Sync;
use crate::os::descriptor;
use crate::os::shared::Shared;
use ash::vk;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whose payload it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of a binary semaphore: a wait takes the signal.
    Binary = 1,
    /// Of a timeline semaphore.
    Timeline = 2,
    /// Of a fence.
    Fence = 3,
}

enum State {
    Own(AtomicU64),
    Shared(Shared),
    /// Signaled or not yet; nobody here signals it.
    File(File),
}

/// See the module header.
pub struct Payload {
    /// Whose it is.
    pub kind: Kind,
    state: State,
}

impl Payload {
    /// A number of this process.
    pub fn new(kind: Kind, value: u64) -> Payload {
        Payload { kind, state: State::Own(AtomicU64::new(value)) }
    }

    /// A number that can be given away; None where the kernel refuses.
    pub fn shared(kind: Kind, value: u64) -> Option<Payload> {
        Some(Payload { kind, state: State::Shared(Shared::new(kind as u32, value)?) })
    }

    /// What another [`Payload::shared`] of the kind gave away; None if the descriptor is something else.
    pub fn import(kind: Kind, fd: i32) -> Option<Payload> {
        Some(Payload { kind, state: State::Shared(Shared::import(fd, kind as u32)?) })
    }

    /// A sync file's, or for -1 one that has signaled; None if there is no such descriptor. The descriptor is duplicated.
    pub fn of_sync_file(kind: Kind, fd: i32) -> Option<Payload> {
        if fd == -1 {
            return Some(Payload::new(kind, 1));
        }
        Some(Payload { kind, state: State::File(descriptor::duplicate(fd)?) })
    }

    /// A descriptor of the payload itself; None if it is not one to be given away, or the process may have no more.
    pub fn export(&self) -> Option<File> {
        if let State::Shared(shared) = &self.state { shared.export() } else { None }
    }

    /// Can it be given away?
    pub fn is_shared(&self) -> bool {
        matches!(self.state, State::Shared(_))
    }

    /// What it has reached.
    pub fn value(&self) -> u64 {
        match &self.state {
            State::Own(value) => value.load(Ordering::Acquire),
            State::Shared(shared) => shared.value(),
            State::File(file) => descriptor::is_signaled(file).into(),
        }
    }

    /// Another number, and whoever waits is woken. A sync file stays what it is.
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

    /// Under the device's lock: takes the signal of a binary semaphore, or checks that the counter has reached `value`.
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
    /// For what.
    pub payload: Arc<Payload>,
    /// Timeline value; not read for binary semaphores.
    pub value: u64,
}

/// A signal of a submission. One that is dropped without having been given is given to other processes: what they wait for will not come.
pub struct Signal {
    payload: Arc<Payload>,
    value: u64,
    given: bool,
}

impl Signal {
    /// Announced from here on to whoever else has the payload. `value` is for timeline semaphores.
    pub fn new(payload: Arc<Payload>, value: u64) -> Signal {
        let value = if payload.kind == Kind::Timeline { value } else { 1 };
        if let State::Shared(shared) = &payload.state {
            shared.promise(value);
        }
        Signal { payload, value, given: false }
    }

    /// Signals.
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

/// Waits until `ready`, which looks at these payloads; as [`Sync::wait`].
pub fn wait_for(sync: &Sync, timeout: u64, payloads: &[&Payload], ready: impl FnMut() -> bool) -> vk::Result {
    let shared = payloads.iter().filter_map(|payload| match &payload.state {
        State::Shared(shared) => Some(shared),
        _ => None,
    });
    let files = payloads.iter().any(|payload| matches!(payload.state, State::File(_)));
    sync.wait_with(timeout, &Others { shared: shared.collect(), files }, ready)
}
