//! Handles of Linux: file descriptors of memory, semaphores and fences.

use super::external_handle::{
    FOREIGN_TYPES, check_handle_type, export_fence, export_semaphore, import_fence, import_semaphore,
};
use crate::caps::external;
use crate::device::Device;
use crate::ffi::handle::{dispatchable, get};
use crate::ffi::pointer::find;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, ext, row};
use crate::object::memory::Memory;
use crate::object::semaphore::{Fence, Semaphore};
use crate::os::backing::Pages;
use crate::os::descriptor::{self, ExportAttributes, MemoryHandleKind, RawHandle};
use ash::vk;
use core::ffi::c_void;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, get_memory_fd as vk::PFN_vkGetMemoryFdKHR, vkGetMemoryFdKHR: ext("VK_KHR_external_memory_fd")),
    row!(
        Device,
        get_memory_fd_properties as vk::PFN_vkGetMemoryFdPropertiesKHR,
        vkGetMemoryFdPropertiesKHR: ext("VK_KHR_external_memory_fd")
    ),
    row!(Device, get_semaphore_fd as vk::PFN_vkGetSemaphoreFdKHR, vkGetSemaphoreFdKHR: ext("VK_KHR_external_semaphore_fd")),
    row!(
        Device,
        import_semaphore_fd as vk::PFN_vkImportSemaphoreFdKHR,
        vkImportSemaphoreFdKHR: ext("VK_KHR_external_semaphore_fd")
    ),
    row!(Device, get_fence_fd as vk::PFN_vkGetFenceFdKHR, vkGetFenceFdKHR: ext("VK_KHR_external_fence_fd")),
    row!(Device, import_fence_fd as vk::PFN_vkImportFenceFdKHR, vkImportFenceFdKHR: ext("VK_KHR_external_fence_fd")),
];

/// Handle types of memory that are file descriptors.
const FILES: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::from_raw(
    vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD.as_raw() | vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT.as_raw(),
);

/// A descriptor to import as memory.
pub struct MemoryImport {
    fd: RawHandle,
    kind: MemoryHandleKind,
}

impl MemoryImport {
    /// Returns the descriptor.
    pub fn handle(&self) -> RawHandle {
        self.fd
    }

    /// Returns the kind of memory.
    pub fn kind(&self) -> MemoryHandleKind {
        self.kind
    }

    /// Closes the descriptor, which a successful import transfers to the driver. The driver has a
    /// duplicate.
    pub fn finish(self) {
        descriptor::close(self.fd);
    }
}

/// Returns the import that the chain of VkMemoryAllocateInfo requests.
///
/// # Errors
/// VK_ERROR_INVALID_EXTERNAL_HANDLE for an unknown type of handle.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn memory_import(device: &Device, p_next: *const c_void) -> Result<Option<MemoryImport>, vk::Result> {
    // SAFETY: `p_next` is a valid chain, as the `# Safety` section requires.
    let import = unsafe { find::<vk::ImportMemoryFdInfoKHR<'_>>(p_next) }.filter(|i| !i.handle_type.is_empty());
    let Some(import) = import else { return Ok(None) };
    let kind = memory_handle(device, "vkAllocateMemory", import.handle_type)?;
    Ok(Some(MemoryImport { fd: import.fd, kind }))
}

/// Returns the attributes of descriptors, which have none.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn attributes(_p_next: *const c_void) -> ExportAttributes {
    ExportAttributes::DEFAULT
}

shims! {
    fn get_memory_fd(device: vk::Device, info: *const vk::MemoryGetFdInfoKHR<'_>, fd: *mut i32) -> VkResult {
        let info = &*info;
        let kind = memory_handle(dispatchable::<Device>(device), "vkGetMemoryFdKHR", info.handle_type)?;
        *fd = descriptor::into_raw(get::<Memory>(info.memory).export(kind)?);
        Ok(())
    }

    fn get_memory_fd_properties(
        device: vk::Device,
        ty: vk::ExternalMemoryHandleTypeFlags,
        fd: i32,
        out: *mut vk::MemoryFdPropertiesKHR<'_>,
    ) -> VkResult {
        // The query is about handles that the driver did not make.
        let foreign = ty == vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT;
        check_handle_type(dispatchable::<Device>(device), "vkGetMemoryFdPropertiesKHR", foreign)?;
        Pages::import(fd, MemoryHandleKind::DmaBuf, 0).ok_or(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE)?;
        (*out).memory_type_bits = FOREIGN_TYPES;
        Ok(())
    }

    fn get_semaphore_fd(device: vk::Device, info: *const vk::SemaphoreGetFdInfoKHR<'_>, fd: *mut i32) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let handle = export_semaphore(device, "vkGetSemaphoreFdKHR", get::<Semaphore>(info.semaphore), info.handle_type)?;
        *fd = handle.map_or(descriptor::SIGNALED, descriptor::into_raw);
        Ok(())
    }

    fn import_semaphore_fd(device: vk::Device, info: *const vk::ImportSemaphoreFdInfoKHR<'_>) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let (semaphore, how) = (get::<Semaphore>(info.semaphore), (info.handle_type, info.flags));
        import_semaphore(device, "vkImportSemaphoreFdKHR", semaphore, info.fd, how)?;
        close(info.fd);
        Ok(())
    }

    fn get_fence_fd(device: vk::Device, info: *const vk::FenceGetFdInfoKHR<'_>, fd: *mut i32) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let handle = export_fence(device, "vkGetFenceFdKHR", get::<Fence>(info.fence), info.handle_type)?;
        *fd = handle.map_or(descriptor::SIGNALED, descriptor::into_raw);
        Ok(())
    }

    fn import_fence_fd(device: vk::Device, info: *const vk::ImportFenceFdInfoKHR<'_>) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let (fence, how) = (get::<Fence>(info.fence), (info.handle_type, info.flags));
        import_fence(device, "vkImportFenceFdKHR", fence, info.fd, how)?;
        close(info.fd);
        Ok(())
    }
}

/// Closes a descriptor that a successful import has transferred to the driver. That of a signaled
/// state is none.
fn close(fd: RawHandle) {
    if fd != descriptor::SIGNALED {
        descriptor::close(fd);
    }
}

fn memory_handle(
    device: &Device,
    command: &str,
    ty: vk::ExternalMemoryHandleTypeFlags,
) -> Result<MemoryHandleKind, vk::Result> {
    check_handle_type(device, command, FILES.contains(ty) && external::memory_types().contains(ty))?;
    Ok(if ty == vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD {
        MemoryHandleKind::Opaque
    } else {
        MemoryHandleKind::DmaBuf
    })
}
