//! Payload of a fence or a semaphore: a number of this process, a number that other processes see
//! too, or a sync file of another process.
//!
//! A fence and a binary semaphore count 0 and 1. An object has a permanent payload and may have a
//! temporary one that was imported ([`super::semaphore`]). Operations of a submission hold the
//! payload that the object had when it was submitted.

use super::external_sync::ExternalSync;
use super::sync::Sync;
use crate::os::descriptor::{self, ExportAttributes, OwnedHandle, RawHandle};
use crate::os::shared_counter::SharedCounter;
use ash::vk;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Kind of object to which a payload belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    /// A binary semaphore: a wait resets the signal.
    Binary = 1,
    /// A timeline semaphore.
    Timeline = 2,
    /// A fence.
    Fence = 3,
}

enum PayloadState {
    Local(AtomicU64),
    Shared(SharedCounter),
    /// A sync file, which is signaled or not yet; this process does not signal it.
    SyncFile(OwnedHandle),
}

/// State of a fence or a semaphore.
pub struct Payload {
    /// Kind of object that has the payload.
    pub kind: PayloadKind,
    state: PayloadState,
}

impl Payload {
    /// Creates a number of this process.
    pub fn new(kind: PayloadKind, value: u64) -> Payload {
        Payload { kind, state: PayloadState::Local(AtomicU64::new(value)) }
    }

    /// Creates a number that can be exported; `None` if the kernel refuses.
    pub fn shared(kind: PayloadKind, value: u64, attributes: &ExportAttributes) -> Option<Payload> {
        Some(Payload { kind, state: PayloadState::Shared(SharedCounter::new(kind as u32, value, attributes)?) })
    }

    /// Imports what another [`Payload::shared`] of the kind exported; `None` if the handle is
    /// something else.
    pub fn import(kind: PayloadKind, handle: RawHandle) -> Option<Payload> {
        Some(Payload { kind, state: PayloadState::Shared(SharedCounter::import(handle, kind as u32)?) })
    }

    /// Imports a sync file, or for [`descriptor::SIGNALED`] a signaled state; `None` if there is no
    /// such handle. The handle is duplicated.
    pub fn from_sync_file(kind: PayloadKind, handle: RawHandle) -> Option<Payload> {
        if handle == descriptor::SIGNALED {
            return Some(Payload::new(kind, 1));
        }
        Some(Payload { kind, state: PayloadState::SyncFile(descriptor::duplicate(handle)?) })
    }

    /// Returns a handle of the payload itself; `None` if it cannot be exported, or the process may
    /// have no more handles.
    pub fn export(&self) -> Option<OwnedHandle> {
        if let PayloadState::Shared(shared) = &self.state { shared.export() } else { None }
    }

    /// Returns true if the payload can be exported.
    pub fn is_shared(&self) -> bool {
        matches!(self.state, PayloadState::Shared(_))
    }

    /// Returns the current value.
    pub fn value(&self) -> u64 {
        match &self.state {
            PayloadState::Local(value) => value.load(Ordering::Acquire),
            PayloadState::Shared(shared) => shared.value(),
            PayloadState::SyncFile(file) => descriptor::is_signaled(file).into(),
        }
    }

    /// Sets the value and wakes waiting threads. A sync file does not change.
    pub fn set(&self, sync: &Sync, value: u64) {
        match &self.state {
            PayloadState::Local(own) => sync.notify(|| own.store(value, Ordering::Release)),
            PayloadState::Shared(shared) => {
                shared.set(value);
                sync.notify(|| ());
            }
            PayloadState::SyncFile(_) => {}
        }
    }

    /// Takes the signal of a binary semaphore, or checks that the counter has reached `value`. The
    /// caller holds the device's lock.
    pub fn try_wait(&self, value: u64) -> bool {
        match (&self.state, self.kind) {
            (_, PayloadKind::Timeline | PayloadKind::Fence) => self.value() >= value,
            (PayloadState::Local(own), PayloadKind::Binary) => {
                own.compare_exchange(1, 0, Ordering::AcqRel, Ordering::Acquire).is_ok()
            }
            (PayloadState::Shared(shared), PayloadKind::Binary) => shared.take(1, 0),
            // The payload ends with this wait.
            (PayloadState::SyncFile(_), PayloadKind::Binary) => self.value() == 1,
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
    is_signaled: bool,
}

impl Signal {
    /// Creates a signal and announces it to other processes that have the payload. `value` is for
    /// timeline semaphores.
    pub fn new(payload: Arc<Payload>, value: u64) -> Signal {
        let value = if payload.kind == PayloadKind::Timeline { value } else { 1 };
        if let PayloadState::Shared(shared) = &payload.state {
            shared.promise(value);
        }
        Signal { payload, value, is_signaled: false }
    }

    /// Gives the signal.
    pub fn signal_now(mut self, sync: &Sync) {
        self.is_signaled = true;
        self.payload.set(sync, self.value);
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        if let PayloadState::Shared(shared) = &self.payload.state {
            if !self.is_signaled && shared.value() < self.value {
                shared.set(self.value);
            }
            shared.finish_promise();
        }
    }
}

/// Waits until `ready` returns true, which depends on these payloads, as [`Sync::wait`] does.
pub fn wait_for(sync: &Sync, timeout: u64, payloads: &[&Payload], ready: impl FnMut() -> bool) -> vk::Result {
    let shared = payloads.iter().filter_map(|payload| match &payload.state {
        PayloadState::Shared(shared) => Some(shared),
        _ => None,
    });
    let files = payloads.iter().any(|payload| matches!(payload.state, PayloadState::SyncFile(_)));
    sync.wait_with(timeout, &ExternalSync { shared: shared.collect(), files, ..Default::default() }, ready)
}
