//! Handles for other processes and APIs: there are none. The capability queries (`caps::formats`) give no handle type any feature, so the
//! structures of VK_KHR_external_{memory,semaphore,fence} may be chained to a creation, but with no handle type in them.

use crate::device::Device;
use crate::ffi::pointer::find;
use ash::vk;
use core::ffi::c_void;

/// Refuses the creation of an object that is to be exported, with a message that names `command`.
///
/// # Errors
/// VK_ERROR_INVALID_EXTERNAL_HANDLE: the chain asks for a handle type.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn refuse_exports(device: &Device, command: &str, p_next: *const c_void) -> Result<(), vk::Result> {
    // SAFETY: the caller's promise.
    let asked = unsafe {
        [
            find::<vk::ExternalMemoryBufferCreateInfo<'_>>(p_next).map(|e| e.handle_types.as_raw()),
            find::<vk::ExternalMemoryImageCreateInfo<'_>>(p_next).map(|e| e.handle_types.as_raw()),
            find::<vk::ExportMemoryAllocateInfo<'_>>(p_next).map(|e| e.handle_types.as_raw()),
            find::<vk::ExportSemaphoreCreateInfo<'_>>(p_next).map(|e| e.handle_types.as_raw()),
            find::<vk::ExportFenceCreateInfo<'_>>(p_next).map(|e| e.handle_types.as_raw()),
        ]
    };
    let types = asked.into_iter().flatten().fold(0, |all, types| all | types);
    if types == 0 {
        return Ok(());
    }
    device.unsupported(&format!("{command}: external handles (handleTypes {types:#x}) are not supported"));
    Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE)
}
