//! Fences and semaphores: each has a payload, and perhaps another one that was imported temporarily
//! ("temporary permanence").

use super::payload::{Payload, PayloadKind, Signal, Wait, wait_for};
use super::sync::Sync;
use crate::os::descriptor;
use ash::vk;
use parking_lot::Mutex;
use std::fs::File;
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
    /// A copy of its state, where -1 stands for signaled.
    SyncFile,
}

/// Payloads behind a lock: they change when one is imported, and when a temporary one has been
/// used.
struct PayloadSlot(Mutex<Payloads>);

impl PayloadSlot {
    /// Creates a payload of `kind`, which can be exported if it is shared. Fails with
    /// VK_ERROR_OUT_OF_HOST_MEMORY if the kernel refuses a file.
    fn new(kind: PayloadKind, value: u64, shared: bool) -> Result<PayloadSlot, vk::Result> {
        let permanent = if shared { Payload::shared(kind, value) } else { Some(Payload::new(kind, value)) };
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

    /// Imports the payload behind `fd`, which is closed if that succeeds. Fails with
    /// VK_ERROR_INVALID_EXTERNAL_HANDLE if it is not of this kind.
    fn import(&self, fd: i32, handle: SyncHandleType, temporary: bool) -> Result<(), vk::Result> {
        let kind = self.current().kind;
        let payload = match handle {
            SyncHandleType::Opaque => Payload::import(kind, fd),
            SyncHandleType::SyncFile => Payload::from_sync_file(kind, fd),
        };
        let payload = Arc::new(payload.ok_or(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE)?);
        let mut payloads = self.0.lock();
        if temporary {
            payloads.temporary = Some(payload);
        } else {
            *payloads = Payloads { permanent: payload, temporary: None };
        }
        if fd >= 0 {
            descriptor::close(fd);
        }
        Ok(())
    }
}

/// Exports a descriptor of a payload. Fails with VK_ERROR_TOO_MANY_OBJECTS if the process may have
/// no more, and with VK_ERROR_OUT_OF_HOST_MEMORY if it cannot be exported.
fn export(payload: &Payload) -> Result<File, vk::Result> {
    let none =
        if payload.is_shared() { vk::Result::ERROR_TOO_MANY_OBJECTS } else { vk::Result::ERROR_OUT_OF_HOST_MEMORY };
    payload.export().ok_or(none)
}

/// `VkFence`.
pub struct Fence(PayloadSlot);

impl Fence {
    /// Creates a fence; `shared` makes its payload exportable. Fails with
    /// VK_ERROR_OUT_OF_HOST_MEMORY if the kernel refuses that.
    pub fn new(signaled: bool, shared: bool) -> Result<Fence, vk::Result> {
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
    pub fn import(&self, fd: i32, handle: SyncHandleType, temporary: bool) -> Result<(), vk::Result> {
        self.0.import(fd, handle, temporary)
    }

    /// Exports a descriptor of the payload as [`export`] does.
    pub fn export(&self) -> Result<File, vk::Result> {
        export(&self.payload())
    }

    /// Waits until the fence is signaled, and resets it. A copy of its state is then "signaled",
    /// which needs no descriptor (-1). On a lost device the copy is signaled too.
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
    pub fn new(timeline: bool, initial: u64, shared: bool) -> Result<Semaphore, vk::Result> {
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
    pub fn import(&self, fd: i32, handle: SyncHandleType, temporary: bool) -> Result<(), vk::Result> {
        self.0.import(fd, handle, temporary)
    }

    /// Exports a descriptor of the payload as [`export`] does.
    pub fn export(&self) -> Result<File, vk::Result> {
        export(&self.0.current())
    }

    /// Waits for the signal and takes it, as [`Fence::export_state`] does. The work that signals
    /// was submitted before, so the wait ends.
    pub fn export_state(&self, sync: &Sync) {
        let payload = self.0.take();
        let _ = wait_for(sync, u64::MAX, &[&payload], || payload.try_wait(1));
    }
}
