//! Fences and semaphores: each has a payload, and perhaps another one that was imported temporarily
//! ("temporary permanence").

use super::payload::{Payload, PayloadKind, Signal, Wait, wait_for};
use super::sync::Sync;
use crate::os::descriptor::{ExportAttributes, OwnedHandle, RawHandle};
use ash::vk;
use parking_lot::Mutex;
use std::sync::Arc;

/// The payloads of an object.
struct Payloads {
    permanent: Arc<Payload>,
    /// Imported payload, until the next wait of a semaphore or reset of a fence.
    temporary: Option<Arc<Payload>>,
}

/// Way in which a payload is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncHandleType {
    /// The payload itself.
    Opaque,
    /// A copy of its state.
    SyncFile,
}

/// Payloads behind a lock: they change when one is imported, and when a temporary one has been
/// used.
struct PayloadSlot(Mutex<Payloads>);

impl PayloadSlot {
    /// Creates a payload of `kind`, which can be exported if it has attributes for that. Fails with
    /// VK_ERROR_OUT_OF_HOST_MEMORY if the system refuses shared memory.
    fn new(kind: PayloadKind, value: u64, shared: Option<&ExportAttributes>) -> Result<PayloadSlot, vk::Result> {
        let permanent = match shared {
            Some(attributes) => Payload::shared(kind, value, attributes),
            None => Some(Payload::new(kind, value)),
        };
        let permanent = Arc::new(permanent.ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY)?);
        Ok(PayloadSlot(Mutex::new(Payloads { permanent, temporary: None })))
    }

    fn current(&self) -> Arc<Payload> {
        let payloads = self.0.lock();
        payloads.temporary.as_ref().unwrap_or(&payloads.permanent).clone()
    }

    /// Returns the current payload and drops it if it is temporary.
    fn take(&self) -> Arc<Payload> {
        let mut payloads = self.0.lock();
        payloads.temporary.take().unwrap_or_else(|| payloads.permanent.clone())
    }

    /// Imports the payload behind `handle`, which is duplicated. Fails with
    /// VK_ERROR_INVALID_EXTERNAL_HANDLE if it is not of this kind.
    fn import(&self, handle: RawHandle, ty: SyncHandleType, temporary: bool) -> Result<(), vk::Result> {
        let kind = self.current().kind;
        let payload = match ty {
            SyncHandleType::Opaque => Payload::import(kind, handle),
            SyncHandleType::SyncFile => Payload::from_sync_file(kind, handle),
        };
        let payload = Arc::new(payload.ok_or(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE)?);
        let mut payloads = self.0.lock();
        if temporary {
            payloads.temporary = Some(payload);
        } else {
            *payloads = Payloads { permanent: payload, temporary: None };
        }
        Ok(())
    }
}

/// Exports a handle of a payload. Fails with VK_ERROR_TOO_MANY_OBJECTS if the process may have
/// no more, and with VK_ERROR_OUT_OF_HOST_MEMORY if it cannot be exported.
fn export(payload: &Payload) -> Result<OwnedHandle, vk::Result> {
    let none =
        if payload.is_shared() { vk::Result::ERROR_TOO_MANY_OBJECTS } else { vk::Result::ERROR_OUT_OF_HOST_MEMORY };
    payload.export().ok_or(none)
}

/// `VkFence`.
pub struct Fence(PayloadSlot);

impl Fence {
    /// Creates a fence; `shared` makes its payload exportable. Fails with
    /// VK_ERROR_OUT_OF_HOST_MEMORY if the system refuses that.
    pub fn new(signaled: bool, shared: Option<&ExportAttributes>) -> Result<Fence, vk::Result> {
        Ok(Fence(PayloadSlot::new(PayloadKind::Fence, signaled.into(), shared)?))
    }

    /// Returns the payload that a wait needs.
    pub fn payload(&self) -> Arc<Payload> {
        self.0.current()
    }

    /// Returns true if the fence is signaled.
    #[cfg(test)]
    pub fn is_signaled(&self) -> bool {
        self.payload().value() != 0
    }

    /// Returns a signal for a submission to give.
    pub fn signal(&self) -> Signal {
        Signal::new(self.payload(), 1)
    }

    /// Implements `vkResetFences`: an imported payload is dropped, and the permanent one is reset.
    pub fn reset(&self, sync: &Sync) {
        self.0.take();
        self.0.current().set(sync, 0);
    }

    /// Imports a payload as [`PayloadSlot::import`] does.
    pub fn import(&self, handle: RawHandle, ty: SyncHandleType, temporary: bool) -> Result<(), vk::Result> {
        self.0.import(handle, ty, temporary)
    }

    /// Exports a handle of the payload as [`export`] does.
    pub fn export(&self) -> Result<OwnedHandle, vk::Result> {
        export(&self.payload())
    }

    /// Waits until the fence is signaled, and resets it. A copy of its state is then "signaled",
    /// which needs no handle. On a lost device the copy is signaled too.
    pub fn export_state(&self, sync: &Sync) {
        let payload = self.payload();
        let _ = wait_for(sync, u64::MAX, &[&payload], || payload.value() != 0);
        self.reset(sync);
    }
}

/// `VkSemaphore`.
pub struct Semaphore(PayloadSlot);

impl Semaphore {
    /// Creates a semaphore as [`Fence::new`] does; `initial` is 0 for binary ones.
    pub fn new(timeline: bool, initial: u64, shared: Option<&ExportAttributes>) -> Result<Semaphore, vk::Result> {
        Ok(Semaphore(PayloadSlot::new(
            if timeline { PayloadKind::Timeline } else { PayloadKind::Binary },
            initial,
            shared,
        )?))
    }

    /// Returns the current value of a timeline semaphore.
    pub fn value(&self) -> u64 {
        self.0.current().value()
    }

    /// Returns the payload, for a wait of the host. Only binary semaphores have temporary payloads,
    /// and the host does not wait for those.
    pub fn payload(&self) -> Arc<Payload> {
        self.0.current()
    }

    /// Returns a wait for a submission, which takes an imported payload with it.
    pub fn wait(&self, value: u64) -> Wait {
        Wait { payload: self.0.take(), value }
    }

    /// Returns a signal for a submission to give.
    pub fn signal(&self, value: u64) -> Signal {
        Signal::new(self.0.current(), value)
    }

    /// Imports a payload as [`PayloadSlot::import`] does.
    pub fn import(&self, handle: RawHandle, ty: SyncHandleType, temporary: bool) -> Result<(), vk::Result> {
        self.0.import(handle, ty, temporary)
    }

    /// Exports a handle of the payload as [`export`] does.
    pub fn export(&self) -> Result<OwnedHandle, vk::Result> {
        export(&self.0.current())
    }

    /// Waits for the signal and takes it, as [`Fence::export_state`] does. The work that signals
    /// was submitted before, so the wait ends.
    pub fn export_state(&self, sync: &Sync) {
        let payload = self.0.take();
        let _ = wait_for(sync, u64::MAX, &[&payload], || payload.try_wait(1));
    }
}
