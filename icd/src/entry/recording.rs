//! Recording into a command buffer, for all families of commands.

use crate::command::{Command, CommandBuffer, Recorder};
use crate::ffi::handle::dispatchable;
use crate::ffi::shim::Recording;
use ash::vk;

impl Recording for vk::CommandBuffer {
    unsafe fn fail(self, error: vk::Result) {
        // SAFETY: the handle is live, as the `# Safety` section demands.
        unsafe { dispatchable::<CommandBuffer>(self) }.recorder.lock().fail(error);
    }
}

/// Records into a command buffer.
///
/// # Safety
/// The handle is live.
pub unsafe fn record(buffer: vk::CommandBuffer, with: impl FnOnce(&mut Recorder)) {
    // SAFETY: the handle is live, as the `# Safety` section demands.
    let buffer = unsafe { dispatchable::<CommandBuffer>(buffer) };
    with(&mut buffer.recorder.lock());
}

/// Records one command.
///
/// # Safety
/// The handle is live.
pub unsafe fn push(buffer: vk::CommandBuffer, command: Command) {
    // SAFETY: the handle is live, as the `# Safety` section demands.
    unsafe { record(buffer, |recorder| recorder.push(command)) }
}
