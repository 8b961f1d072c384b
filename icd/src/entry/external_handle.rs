//! Parts of exports and imports that do not depend on the type of a system's handles.

#![forbid(unsafe_code)]

use crate::caps::external;
use crate::caps::host::{MEMORY_TYPES, SPARSE_MEMORY_TYPE};
use crate::device::Device;
use crate::object::semaphore::{Fence, Semaphore, SyncHandleType};
use crate::os::descriptor::{OwnedHandle, RawHandle};
use ash::vk;

/// Handle types of semaphores that are the payload itself, in contrast to copies of its state.
pub const SHARED_SEMAPHORE: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::from_raw(
    vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD.as_raw()
        | vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_WIN32.as_raw(),
);
/// Handle types of fences that are the payload itself.
pub const SHARED_FENCE: vk::ExternalFenceHandleTypeFlags = vk::ExternalFenceHandleTypeFlags::from_raw(
    vk::ExternalFenceHandleTypeFlags::OPAQUE_FD.as_raw() | vk::ExternalFenceHandleTypeFlags::OPAQUE_WIN32.as_raw(),
);

/// Memory types of imported memory that the driver did not make: sparse resources cannot show it.
pub const FOREIGN_TYPES: u32 = MEMORY_TYPES & !(1 << SPARSE_MEMORY_TYPE);

/// Fails with VK_ERROR_INVALID_EXTERNAL_HANDLE and a message if the handle type is not known.
pub fn check_handle_type(device: &Device, command: &str, is_supported: bool) -> Result<(), vk::Result> {
    if is_supported {
        return Ok(());
    }
    device.report_unsupported(&format!("{command}: there are no external handles of this type"));
    Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE)
}

/// Exports a handle of a semaphore's payload. Returns `None` for a copy of its state, which is then
/// signaled and needs no handle.
///
/// # Errors
/// VK_ERROR_INVALID_EXTERNAL_HANDLE for an unknown type of handle, and those of
/// [`Semaphore::export`].
pub fn export_semaphore(
    device: &Device,
    command: &str,
    semaphore: &Semaphore,
    ty: vk::ExternalSemaphoreHandleTypeFlags,
) -> Result<Option<OwnedHandle>, vk::Result> {
    match semaphore_handle(device, command, ty)? {
        SyncHandleType::Opaque => semaphore.export().map(Some),
        SyncHandleType::SyncFile => {
            semaphore.export_state(&device.sync);
            Ok(None)
        }
    }
}

/// Imports a payload into a semaphore. The handle is duplicated.
///
/// # Errors
/// VK_ERROR_INVALID_EXTERNAL_HANDLE for an unknown type of handle, or another kind of payload.
pub fn import_semaphore(
    device: &Device,
    command: &str,
    semaphore: &Semaphore,
    handle: RawHandle,
    (ty, flags): (vk::ExternalSemaphoreHandleTypeFlags, vk::SemaphoreImportFlags),
) -> Result<(), vk::Result> {
    let ty = semaphore_handle(device, command, ty)?;
    let temporary = flags.contains(vk::SemaphoreImportFlags::TEMPORARY) || ty == SyncHandleType::SyncFile;
    semaphore.import(handle, ty, temporary)
}

/// Exports a handle of a fence's payload as [`export_semaphore`] does.
///
/// # Errors
/// The errors are those of [`export_semaphore`].
pub fn export_fence(
    device: &Device,
    command: &str,
    fence: &Fence,
    ty: vk::ExternalFenceHandleTypeFlags,
) -> Result<Option<OwnedHandle>, vk::Result> {
    match fence_handle(device, command, ty)? {
        SyncHandleType::Opaque => fence.export().map(Some),
        SyncHandleType::SyncFile => {
            fence.export_state(&device.sync);
            Ok(None)
        }
    }
}

/// Imports a payload into a fence as [`import_semaphore`] does.
///
/// # Errors
/// The errors are those of [`import_semaphore`].
pub fn import_fence(
    device: &Device,
    command: &str,
    fence: &Fence,
    handle: RawHandle,
    (ty, flags): (vk::ExternalFenceHandleTypeFlags, vk::FenceImportFlags),
) -> Result<(), vk::Result> {
    let ty = fence_handle(device, command, ty)?;
    let temporary = flags.contains(vk::FenceImportFlags::TEMPORARY) || ty == SyncHandleType::SyncFile;
    fence.import(handle, ty, temporary)
}

fn semaphore_handle(
    device: &Device,
    command: &str,
    ty: vk::ExternalSemaphoreHandleTypeFlags,
) -> Result<SyncHandleType, vk::Result> {
    check_handle_type(device, command, external::SEMAPHORE_TYPES.contains(&ty))?;
    Ok(if SHARED_SEMAPHORE.contains(ty) { SyncHandleType::Opaque } else { SyncHandleType::SyncFile })
}

fn fence_handle(
    device: &Device,
    command: &str,
    ty: vk::ExternalFenceHandleTypeFlags,
) -> Result<SyncHandleType, vk::Result> {
    check_handle_type(device, command, external::FENCE_TYPES.contains(&ty))?;
    Ok(if SHARED_FENCE.contains(ty) { SyncHandleType::Opaque } else { SyncHandleType::SyncFile })
}
