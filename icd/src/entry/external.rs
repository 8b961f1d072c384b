//! Handles for other processes, devices and APIs: the external handle types that create infos
//! request, and allocations of memory. The commands and structures of a system's handles are in
//! `external_fd` and `external_win32`; the kinds of handles are rows of `caps::external`.

#[cfg(unix)]
use super::external_fd as handles;
use super::external_handle::{FOREIGN_TYPES, SHARED_FENCE, SHARED_SEMAPHORE, check_handle_type};
#[cfg(windows)]
use super::external_win32 as handles;
use crate::caps::external;
use crate::caps::host::SPARSE_MEMORY_TYPE;
use crate::device::Device;
use crate::ffi::handle::dispatchable;
use crate::ffi::pointer::find;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, ext, row};
use crate::object::memory::Memory;
use crate::os::arena::AddressRequest;
use crate::os::backing::Backing;
use crate::os::descriptor::ExportAttributes;
use ash::vk;
use base::abi::BUFFER_BYTES;
use base::mem::MemoryRange;
use core::ffi::c_void;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[row!(
    Device,
    get_memory_host_pointer_properties as vk::PFN_vkGetMemoryHostPointerPropertiesEXT,
    vkGetMemoryHostPointerPropertiesEXT: ext("VK_EXT_external_memory_host")
)];

/// Handle types of memory that is to be exported, in contrast to that of the host.
const SHARED_MEMORY: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::from_raw(
    vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD.as_raw()
        | vk::ExternalMemoryHandleTypeFlags::OPAQUE_WIN32.as_raw()
        | vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT.as_raw(),
);

/// The `handleTypes` of an object that is created for export, all of which exist.
#[derive(Clone, Copy, Default)]
pub struct ExportedTypes {
    memory: vk::ExternalMemoryHandleTypeFlags,
    semaphore: vk::ExternalSemaphoreHandleTypeFlags,
    fence: vk::ExternalFenceHandleTypeFlags,
}

impl ExportedTypes {
    /// Returns true if the object itself is to be exported, not only copies of its state.
    fn are_shared(self) -> bool {
        self.memory.intersects(SHARED_MEMORY)
            || self.semaphore.intersects(SHARED_SEMAPHORE)
            || self.fence.intersects(SHARED_FENCE)
    }
}

/// Returns the handle types that the chain of a create info requests.
///
/// # Errors
/// VK_ERROR_INVALID_EXTERNAL_HANDLE for a kind of handle that does not exist, with a message that
/// names `command`.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn exported_types(
    device: &Device,
    command: &str,
    p_next: *const c_void,
) -> Result<ExportedTypes, vk::Result> {
    // SAFETY: `p_next` is a valid chain, as the `# Safety` section requires.
    let (buffer, image, memory, semaphore, fence) = unsafe {
        (
            find::<vk::ExternalMemoryBufferCreateInfo<'_>>(p_next).map(|e| e.handle_types).unwrap_or_default(),
            find::<vk::ExternalMemoryImageCreateInfo<'_>>(p_next).map(|e| e.handle_types).unwrap_or_default(),
            find::<vk::ExportMemoryAllocateInfo<'_>>(p_next).map(|e| e.handle_types).unwrap_or_default(),
            find::<vk::ExportSemaphoreCreateInfo<'_>>(p_next).map(|e| e.handle_types).unwrap_or_default(),
            find::<vk::ExportFenceCreateInfo<'_>>(p_next).map(|e| e.handle_types).unwrap_or_default(),
        )
    };
    let is_supported = external::memory_types().contains(buffer | image)
        && external::exportable_memory_types().contains(memory)
        && external::semaphore_types().contains(semaphore)
        && external::fence_types().contains(fence);
    if is_supported {
        return Ok(ExportedTypes { memory: buffer | image | memory, semaphore, fence });
    }
    let types = (buffer | image | memory).as_raw() | semaphore.as_raw() | fence.as_raw();
    device.report_unsupported(&format!(
        "{command}: external handles of these types are not supported (handleTypes {types:#x})"
    ));
    Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE)
}

/// Returns the attributes of handles of an object that is to be exported; `None` if the chain of
/// its create info requests no such handles.
///
/// # Errors
/// The errors are those of [`exported_types`].
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn export_attributes(
    device: &Device,
    command: &str,
    p_next: *const c_void,
) -> Result<Option<ExportAttributes>, vk::Result> {
    // SAFETY: `p_next` is a valid chain, as the `# Safety` section requires.
    unsafe {
        let types = exported_types(device, command, p_next)?;
        Ok(types.are_shared().then(|| handles::attributes(p_next)))
    }
}

/// Implements `vkAllocateMemory`: creates new memory, for this process or for export, or imports
/// memory.
///
/// # Errors
/// VK_ERROR_INVALID_EXTERNAL_HANDLE, VK_ERROR_OUT_OF_DEVICE_MEMORY,
/// VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS.
///
/// # Safety
/// `info` and its chain are valid.
pub unsafe fn allocate(device: &Device, info: &vk::MemoryAllocateInfo<'_>) -> Result<Memory, vk::Result> {
    // SAFETY: `info` and its chain are valid, as the `# Safety` section requires.
    let (shared, import, host, addresses) = unsafe {
        (
            export_attributes(device, "vkAllocateMemory", info.p_next)?,
            handles::memory_import(device, info.p_next)?,
            find::<vk::ImportMemoryHostPointerInfoEXT<'_>>(info.p_next).filter(|i| !i.handle_type.is_empty()),
            addresses_of(info.p_next),
        )
    };
    if let Some(import) = import {
        let memory = Memory::import(&device.heap, info.allocation_size, import.handle(), import.kind(), addresses);
        let memory = memory.inspect_err(|&error| {
            if error == vk::Result::ERROR_INVALID_EXTERNAL_HANDLE {
                device.report_invalid_usage(
                    "vkAllocateMemory: the handle has no allocationSize bytes that can be mapped in pages and stay",
                );
            }
        })?;
        import.finish();
        return Ok(memory);
    }
    if let Some(import) = host {
        check_handle_type(
            device,
            "vkAllocateMemory",
            import.handle_type == vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT,
        )?;
        let range = MemoryRange { address: import.p_host_pointer.cast(), size: info.allocation_size };
        // Sizes have to be aligned as the address is, but clients import as many bytes as a
        // resource requires. This is harmless, because nothing behind a multiple of BUFFER_BYTES is
        // accessed.
        let aligned = (range.address as u64).is_multiple_of(external::HOST_POINTER_ALIGNMENT)
            && range.size.is_multiple_of(BUFFER_BYTES);
        if !aligned || range.address.is_null() || range.size == 0 {
            device.report_invalid_usage(
                "vkAllocateMemory: memory of the host is imported from the beginning of a page on (minImportedHostPointerAlignment), 16 bytes at least",
            );
            return Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE);
        }
        return Ok(Memory::from_host(&device.heap, range));
    }
    if let Some(attributes) = shared {
        return Memory::allocate_for_export(&device.heap, info.allocation_size, &attributes, addresses);
    }
    let is_sparse = info.memory_type_index == SPARSE_MEMORY_TYPE;
    let backing = if is_sparse { Backing::Memfd } else { Backing::default_kind() };
    Memory::allocate(&device.heap, info.allocation_size, backing, addresses)
}

/// Returns the addresses that new memory requests.
///
/// # Safety
/// `p_next` is a valid chain.
unsafe fn addresses_of(p_next: *const c_void) -> AddressRequest {
    // SAFETY: `p_next` is a valid chain, as the `# Safety` section requires.
    let (flags, opaque) = unsafe {
        (
            find::<vk::MemoryAllocateFlagsInfo<'_>>(p_next).map_or(vk::MemoryAllocateFlags::empty(), |info| info.flags),
            find::<vk::MemoryOpaqueCaptureAddressAllocateInfo<'_>>(p_next)
                .map_or(0, |info| info.opaque_capture_address),
        )
    };
    AddressRequest::from_capture(flags.contains(vk::MemoryAllocateFlags::DEVICE_ADDRESS_CAPTURE_REPLAY), opaque)
}

shims! {
    fn get_memory_host_pointer_properties(
        device: vk::Device,
        ty: vk::ExternalMemoryHandleTypeFlags,
        _pointer: *const c_void,
        out: *mut vk::MemoryHostPointerPropertiesEXT<'_>,
    ) -> VkResult {
        let host = ty == vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
        check_handle_type(dispatchable::<Device>(device), "vkGetMemoryHostPointerPropertiesEXT", host)?;
        (*out).memory_type_bits = FOREIGN_TYPES;
        Ok(())
    }
}
