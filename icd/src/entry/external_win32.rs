//! Handles of Windows: those of memory, semaphores and fences, which other processes inherit,
//! duplicate, or open by a name.
//!
//! An object is named, and gets its security descriptor, when it is created; its handles get their
//! access rights when they are exported. Imports never take a handle over.

use super::external_handle::{check_handle_type, export_fence, export_semaphore, import_fence, import_semaphore};
use crate::caps::external;
use crate::device::Device;
use crate::ffi::handle::{dispatchable, get};
use crate::ffi::pointer::find;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, ext, row};
use crate::object::memory::Memory;
use crate::object::semaphore::{Fence, Semaphore};
use crate::os::descriptor::{self, ExportAttributes, MemoryHandleKind, OwnedHandle, RawHandle};
use ash::vk;
use core::ffi::c_void;
use std::os::windows::io::AsRawHandle;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(
        Device,
        get_memory_win32_handle as vk::PFN_vkGetMemoryWin32HandleKHR,
        vkGetMemoryWin32HandleKHR: ext("VK_KHR_external_memory_win32")
    ),
    row!(
        Device,
        get_memory_win32_handle_properties as vk::PFN_vkGetMemoryWin32HandlePropertiesKHR,
        vkGetMemoryWin32HandlePropertiesKHR: ext("VK_KHR_external_memory_win32")
    ),
    row!(
        Device,
        get_semaphore_win32_handle as vk::PFN_vkGetSemaphoreWin32HandleKHR,
        vkGetSemaphoreWin32HandleKHR: ext("VK_KHR_external_semaphore_win32")
    ),
    row!(
        Device,
        import_semaphore_win32_handle as vk::PFN_vkImportSemaphoreWin32HandleKHR,
        vkImportSemaphoreWin32HandleKHR: ext("VK_KHR_external_semaphore_win32")
    ),
    row!(
        Device,
        get_fence_win32_handle as vk::PFN_vkGetFenceWin32HandleKHR,
        vkGetFenceWin32HandleKHR: ext("VK_KHR_external_fence_win32")
    ),
    row!(
        Device,
        import_fence_win32_handle as vk::PFN_vkImportFenceWin32HandleKHR,
        vkImportFenceWin32HandleKHR: ext("VK_KHR_external_fence_win32")
    ),
];

/// A handle of the application, or one that the driver has opened by a name.
enum Imported {
    Borrowed(RawHandle),
    Opened(OwnedHandle),
}

impl Imported {
    /// Finds the object of a handle, or if that is null, of a name.
    ///
    /// # Errors
    /// VK_ERROR_INVALID_EXTERNAL_HANDLE: there is no object of this name that the user may read and
    /// write.
    ///
    /// # Safety
    /// `name` is null or a text that ends with a zero.
    unsafe fn find(handle: vk::HANDLE, name: vk::LPCWSTR) -> Result<Imported, vk::Result> {
        if handle != 0 || name.is_null() {
            return Ok(Imported::Borrowed(handle as RawHandle));
        }
        // SAFETY: the name ends with a zero, as the `# Safety` section requires.
        let opened = unsafe { descriptor::open(name) }.ok_or(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE)?;
        Ok(Imported::Opened(opened))
    }

    fn handle(&self) -> RawHandle {
        match self {
            Imported::Borrowed(handle) => *handle,
            Imported::Opened(handle) => handle.as_raw_handle(),
        }
    }
}

/// A handle to import as memory.
pub struct MemoryImport(Imported);

impl MemoryImport {
    /// Returns the handle.
    pub fn handle(&self) -> RawHandle {
        self.0.handle()
    }

    /// Returns the kind of memory.
    pub fn kind(&self) -> MemoryHandleKind {
        MemoryHandleKind::Opaque
    }

    /// Ends a successful import. The application keeps its handle.
    pub fn finish(self) {}
}

/// Returns the import that the chain of VkMemoryAllocateInfo requests.
///
/// # Errors
/// VK_ERROR_INVALID_EXTERNAL_HANDLE for an unknown type of handle or an unknown name.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn memory_import(device: &Device, p_next: *const c_void) -> Result<Option<MemoryImport>, vk::Result> {
    // SAFETY: `p_next` is a valid chain, as the `# Safety` section requires.
    let import =
        unsafe { find::<vk::ImportMemoryWin32HandleInfoKHR<'_>>(p_next) }.filter(|i| !i.handle_type.is_empty());
    let Some(import) = import else { return Ok(None) };
    check_memory_type(device, "vkAllocateMemory", import.handle_type)?;
    // SAFETY: the chain and the name are valid, as the `# Safety` section requires.
    Ok(Some(MemoryImport(unsafe { Imported::find(import.handle, import.name) }?)))
}

/// Returns the attributes of handles that the chain of a create info requests: of the one kind that
/// the object has.
///
/// # Safety
/// `p_next` is a valid chain, and lives as long as the result.
pub unsafe fn attributes(p_next: *const c_void) -> ExportAttributes {
    // SAFETY: the chain and all that it refers to are valid, as the `# Safety` section requires.
    unsafe {
        let memory = find::<vk::ExportMemoryWin32HandleInfoKHR<'_>>(p_next);
        let semaphore = find::<vk::ExportSemaphoreWin32HandleInfoKHR<'_>>(p_next);
        let fence = find::<vk::ExportFenceWin32HandleInfoKHR<'_>>(p_next);
        let requested = memory
            .map(|info| (info.p_attributes, info.dw_access, info.name))
            .or_else(|| semaphore.map(|info| (info.p_attributes, info.dw_access, info.name)))
            .or_else(|| fence.map(|info| (info.p_attributes, info.dw_access, info.name)));
        requested.map_or(ExportAttributes::DEFAULT, |(security, access, name)| {
            ExportAttributes::new(security.cast(), access, name)
        })
    }
}

shims! {
    fn get_memory_win32_handle(
        device: vk::Device,
        info: *const vk::MemoryGetWin32HandleInfoKHR<'_>,
        out: *mut vk::HANDLE,
    ) -> VkResult {
        let info = &*info;
        check_memory_type(dispatchable::<Device>(device), "vkGetMemoryWin32HandleKHR", info.handle_type)?;
        let handle = get::<Memory>(info.memory).export(MemoryHandleKind::Opaque)?;
        *out = descriptor::into_raw(handle) as vk::HANDLE;
        Ok(())
    }

    fn get_memory_win32_handle_properties(
        device: vk::Device,
        _ty: vk::ExternalMemoryHandleTypeFlags,
        _handle: vk::HANDLE,
        _out: *mut vk::MemoryWin32HandlePropertiesKHR<'_>,
    ) -> VkResult {
        // The query is about handles that the driver did not make, of which it imports none.
        check_handle_type(dispatchable::<Device>(device), "vkGetMemoryWin32HandlePropertiesKHR", false)
    }

    fn get_semaphore_win32_handle(
        device: vk::Device,
        info: *const vk::SemaphoreGetWin32HandleInfoKHR<'_>,
        out: *mut vk::HANDLE,
    ) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let semaphore = get::<Semaphore>(info.semaphore);
        let handle = export_semaphore(device, "vkGetSemaphoreWin32HandleKHR", semaphore, info.handle_type)?;
        *out = handle.map_or(descriptor::SIGNALED, descriptor::into_raw) as vk::HANDLE;
        Ok(())
    }

    fn import_semaphore_win32_handle(
        device: vk::Device,
        info: *const vk::ImportSemaphoreWin32HandleInfoKHR<'_>,
    ) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let imported = Imported::find(info.handle, info.name)?;
        let (semaphore, how) = (get::<Semaphore>(info.semaphore), (info.handle_type, info.flags));
        import_semaphore(device, "vkImportSemaphoreWin32HandleKHR", semaphore, imported.handle(), how)
    }

    fn get_fence_win32_handle(
        device: vk::Device,
        info: *const vk::FenceGetWin32HandleInfoKHR<'_>,
        out: *mut vk::HANDLE,
    ) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let handle = export_fence(device, "vkGetFenceWin32HandleKHR", get::<Fence>(info.fence), info.handle_type)?;
        *out = handle.map_or(descriptor::SIGNALED, descriptor::into_raw) as vk::HANDLE;
        Ok(())
    }

    fn import_fence_win32_handle(
        device: vk::Device,
        info: *const vk::ImportFenceWin32HandleInfoKHR<'_>,
    ) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let imported = Imported::find(info.handle, info.name)?;
        let (fence, how) = (get::<Fence>(info.fence), (info.handle_type, info.flags));
        import_fence(device, "vkImportFenceWin32HandleKHR", fence, imported.handle(), how)
    }
}

/// Fails with VK_ERROR_INVALID_EXTERNAL_HANDLE and a message unless the type is that of sections.
fn check_memory_type(device: &Device, command: &str, ty: vk::ExternalMemoryHandleTypeFlags) -> Result<(), vk::Result> {
    let is_known = ty == vk::ExternalMemoryHandleTypeFlags::OPAQUE_WIN32 && external::memory_types().contains(ty);
    check_handle_type(device, command, is_known)
}
