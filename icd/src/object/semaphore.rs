//! Fences and semaphores: each has a payload, and for a while perhaps another that was imported ("temporary permanence").

use super::payload::{Kind, Payload, Signal, Wait, wait_for};
use super::sync::Sync;
use crate::os::descriptor;
use ash::vk;
use parking_lot::Mutex;
use std::fs::File;
use std::sync::Arc;

/// The payloads of an object.
struct Payloads {
    permanent: Arc<Payload>,
    /// Imported, until the next wait of a semaphore or reset of a fence.
    temporary: Option<Arc<Payload>>,
}

/// How a payload is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// The payload itself.
    Opaque,
    /// A copy of its state. -1: signaled.
    SyncFile,
}

/// Payloads behind a lock: they change when one is imported, and when a temporary one has been used.
struct Slot(Mutex<Payloads>);

impl Slot {
    /// A payload of `kind`, to be given away or not. VK_ERROR_OUT_OF_HOST_MEMORY where the kernel refuses a file.
    fn new(kind: Kind, value: u64, shared: bool) -> Result<Slot, vk::Result> {
        let permanent = if shared { Payload::shared(kind, value) } else { Some(Payload::new(kind, value)) };
        let permanent = Arc::new(permanent.ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY)?);
        Ok(Slot(Mutex::new(Payloads { permanent, temporary: None })))
    }

    fn current(&self) -> Arc<Payload> {
        let payloads = self.0.lock();
        payloads.temporary.as_ref().unwrap_or(&payloads.permanent).clone()
    }

    /// The current one, which is given up if it is temporary.
    fn take(&self) -> Arc<Payload> {
        let mut payloads = self.0.lock();
        payloads.temporary.take().unwrap_or_else(|| payloads.permanent.clone())
    }

    /// Imports what is behind `fd`, which is closed when that succeeds. VK_ERROR_INVALID_EXTERNAL_HANDLE: it is nothing of the kind.
    fn import(&self, fd: i32, handle: Handle, temporary: bool) -> Result<(), vk::Result> {
        let kind = self.current().kind;
        let payload = match handle {
            Handle::Opaque => Payload::import(kind, fd),
            Handle::SyncFile => Payload::of_sync_file(kind, fd),
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

/// A descriptor of a payload. VK_ERROR_TOO_MANY_OBJECTS: the process may have no more; VK_ERROR_OUT_OF_HOST_MEMORY: not one to be given away.
fn export(payload: &Payload) -> Result<File, vk::Result> {
    let none =
        if payload.is_shared() { vk::Result::ERROR_TOO_MANY_OBJECTS } else { vk::Result::ERROR_OUT_OF_HOST_MEMORY };
    payload.export().ok_or(none)
}

/// `VkFence`.
pub struct Fence(Slot);

impl Fence {
    /// A fence; `shared`: its payload can be given away. VK_ERROR_OUT_OF_HOST_MEMORY where the kernel refuses that.
    pub fn new(signaled: bool, shared: bool) -> Result<Fence, vk::Result> {
        Ok(Fence(Slot::new(Kind::Fence, signaled.into(), shared)?))
    }

    /// What is waited for.
    pub fn payload(&self) -> Arc<Payload> {
        self.0.current()
    }

    /// Signaled?
    #[cfg(test)]
    pub fn is_signaled(&self) -> bool {
        self.payload().value() != 0
    }

    /// A signal that something will give.
    pub fn signal(&self) -> Signal {
        Signal::new(self.payload(), 1)
    }

    /// `vkResetFences`: an imported payload goes, and the one below it is reset.
    pub fn reset(&self, sync: &Sync) {
        self.0.take();
        self.0.current().set(sync, 0);
    }

    /// As [`Slot::import`].
    pub fn import(&self, fd: i32, handle: Handle, temporary: bool) -> Result<(), vk::Result> {
        self.0.import(fd, handle, temporary)
    }

    /// A descriptor of the payload; as [`export`].
    pub fn export(&self) -> Result<File, vk::Result> {
        export(&self.payload())
    }

    /// Waits until it has signaled, and resets it: after that a copy of its state is "signaled", which is said by no descriptor (-1).
    /// On a lost device it is too.
    pub fn copy_out(&self, sync: &Sync) {
        let payload = self.payload();
        let _ = wait_for(sync, u64::MAX, &[&payload], || payload.value() != 0);
        self.reset(sync);
    }
}

/// `VkSemaphore`.
pub struct Semaphore(Slot);

impl Semaphore {
    /// A semaphore; `initial` is 0 for binary ones. As [`Fence::new`].
    pub fn new(timeline: bool, initial: u64, shared: bool) -> Result<Semaphore, vk::Result> {
        Ok(Semaphore(Slot::new(if timeline { Kind::Timeline } else { Kind::Binary }, initial, shared)?))
    }

    /// What a timeline semaphore has reached.
    pub fn value(&self) -> u64 {
        self.0.current().value()
    }

    /// Its payload, for a wait of the host: temporary ones are of binary semaphores, which it does not wait for.
    pub fn payload(&self) -> Arc<Payload> {
        self.0.current()
    }

    /// A wait that is submitted: it takes an imported payload with it.
    pub fn wait(&self, value: u64) -> Wait {
        Wait { payload: self.0.take(), value }
    }

    /// A signal that something will give.
    pub fn signal(&self, value: u64) -> Signal {
        Signal::new(self.0.current(), value)
    }

    /// As [`Slot::import`].
    pub fn import(&self, fd: i32, handle: Handle, temporary: bool) -> Result<(), vk::Result> {
        self.0.import(fd, handle, temporary)
    }

    /// A descriptor of the payload; as [`export`].
    pub fn export(&self) -> Result<File, vk::Result> {
        export(&self.0.current())
    }

    /// Waits for the signal and takes it; as [`Fence::copy_out`]. The work that signals was submitted before, so this ends.
    pub fn copy_out(&self, sync: &Sync) {
        let payload = self.0.take();
        let _ = wait_for(sync, u64::MAX, &[&payload], || payload.try_wait(1));
    }
}
