//! Handles for other processes, devices and APIs: the external handle types that create infos
//! request, and the commands that export and import file descriptors. The kinds of handles are rows
//! of `caps::external`.

use crate::caps::external;
use crate::caps::host::{MEMORY_TYPES, SPARSE_MEMORY_TYPE};
use crate::device::Device;
use crate::ffi::handle::{dispatchable, get};
use crate::ffi::pointer::find;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, ext, row};
use crate::object::memory::Memory;
use crate::object::semaphore::{Fence, Semaphore, SyncHandleType};
use crate::os::arena::AddressRequest;
use crate::os::backing::{Backing, MemoryFdKind, Pages};
use crate::os::descriptor;
use ash::vk;
use base::abi::BUFFER_BYTES;
use base::mem::MemoryRange;
use core::ffi::c_void;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, get_memory_fd as vk::PFN_vkGetMemoryFdKHR, vkGetMemoryFdKHR: ext("VK_KHR_external_memory_fd")),
    row!(
        Device,
        get_memory_fd_properties as vk::PFN_vkGetMemoryFdPropertiesKHR,
        vkGetMemoryFdPropertiesKHR: ext("VK_KHR_external_memory_fd")
    ),
    row!(
        Device,
        get_memory_host_pointer_properties as vk::PFN_vkGetMemoryHostPointerPropertiesEXT,
        vkGetMemoryHostPointerPropertiesEXT: ext("VK_EXT_external_memory_host")
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

/// The `handleTypes` of an object that is created for export, all of which exist.
#[derive(Clone, Copy, Default)]
pub struct ExportedTypes {
    memory: vk::ExternalMemoryHandleTypeFlags,
    semaphore: vk::ExternalSemaphoreHandleTypeFlags,
    fence: vk::ExternalFenceHandleTypeFlags,
}

impl ExportedTypes {
    /// Returns true if the object itself is to be exported, not only copies of its state.
    pub fn are_shared(self) -> bool {
        self.memory.intersects(FILES)
            || self.semaphore.contains(vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD)
            || self.fence.contains(vk::ExternalFenceHandleTypeFlags::OPAQUE_FD)
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
    let semaphores =
        external::SEMAPHORE_TYPES.iter().fold(vk::ExternalSemaphoreHandleTypeFlags::empty(), |all, ty| all | *ty);
    let fences = external::FENCE_TYPES.iter().fold(vk::ExternalFenceHandleTypeFlags::empty(), |all, ty| all | *ty);
    let is_supported = external::memory_types().contains(buffer | image)
        && external::exportable_memory_types().contains(memory)
        && semaphores.contains(semaphore)
        && fences.contains(fence);
    if is_supported {
        return Ok(ExportedTypes { memory: buffer | image | memory, semaphore, fence });
    }
    let types = (buffer | image | memory).as_raw() | semaphore.as_raw() | fence.as_raw();
    device.report_unsupported(&format!(
        "{command}: external handles of these types are not supported (handleTypes {types:#x})"
    ));
    Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE)
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
    let (types, fd, host) = unsafe {
        (
            exported_types(device, "vkAllocateMemory", info.p_next)?,
            find::<vk::ImportMemoryFdInfoKHR<'_>>(info.p_next).filter(|i| !i.handle_type.is_empty()),
            find::<vk::ImportMemoryHostPointerInfoEXT<'_>>(info.p_next).filter(|i| !i.handle_type.is_empty()),
        )
    };
    // SAFETY: the chain of `info` is valid, as the `# Safety` section requires.
    let addresses = unsafe { addresses_of(info.p_next) };
    if let Some(import) = fd {
        let kind = memory_handle(device, "vkAllocateMemory", import.handle_type)?;
        let memory = Memory::import(&device.heap, info.allocation_size, import.fd, kind, addresses);
        let memory = memory.inspect_err(|&error| {
            if error == vk::Result::ERROR_INVALID_EXTERNAL_HANDLE {
                device.report_invalid_usage(
                    "vkAllocateMemory: the descriptor has no allocationSize bytes that can be mapped in pages and stay",
                );
            }
        })?;
        // The import transferred the descriptor to the driver, which has a duplicate.
        descriptor::close(import.fd);
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
    let twice = types.are_shared() || info.memory_type_index == SPARSE_MEMORY_TYPE;
    let backing = if twice { Backing::Memfd } else { Backing::default_kind() };
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

/// Fails with VK_ERROR_INVALID_EXTERNAL_HANDLE and a message if the handle type is not known.
fn check_handle_type(device: &Device, command: &str, is_supported: bool) -> Result<(), vk::Result> {
    if is_supported {
        return Ok(());
    }
    device.report_unsupported(&format!("{command}: there are no external handles of this type"));
    Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE)
}

/// Memory types of imported memory that the driver did not make: sparse resources cannot show it.
const FOREIGN_TYPES: u32 = MEMORY_TYPES & !(1 << SPARSE_MEMORY_TYPE);

/// Descriptor that stands for a copy of a signaled state.
const SIGNALED: i32 = -1;

shims! {
    fn get_memory_fd(device: vk::Device, info: *const vk::MemoryGetFdInfoKHR<'_>, fd: *mut i32) -> VkResult {
        let info = &*info;
        let kind = memory_handle(dispatchable::<Device>(device), "vkGetMemoryFdKHR", info.handle_type)?;
        *fd = descriptor::into_fd(get::<Memory>(info.memory).export(kind)?);
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
        Pages::import(fd, MemoryFdKind::DmaBuf, 0).ok_or(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE)?;
        (*out).memory_type_bits = FOREIGN_TYPES;
        Ok(())
    }

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

    fn get_semaphore_fd(device: vk::Device, info: *const vk::SemaphoreGetFdInfoKHR<'_>, fd: *mut i32) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let semaphore = get::<Semaphore>(info.semaphore);
        *fd = match semaphore_handle(device, "vkGetSemaphoreFdKHR", info.handle_type)? {
            SyncHandleType::Opaque => descriptor::into_fd(semaphore.export()?),
            SyncHandleType::SyncFile => {
                semaphore.export_state(&device.sync);
                SIGNALED
            }
        };
        Ok(())
    }

    fn import_semaphore_fd(device: vk::Device, info: *const vk::ImportSemaphoreFdInfoKHR<'_>) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let handle = semaphore_handle(device, "vkImportSemaphoreFdKHR", info.handle_type)?;
        let temporary = info.flags.contains(vk::SemaphoreImportFlags::TEMPORARY);
        get::<Semaphore>(info.semaphore).import(info.fd, handle, temporary || handle == SyncHandleType::SyncFile)
    }

    fn get_fence_fd(device: vk::Device, info: *const vk::FenceGetFdInfoKHR<'_>, fd: *mut i32) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let fence = get::<Fence>(info.fence);
        *fd = match fence_handle(device, "vkGetFenceFdKHR", info.handle_type)? {
            SyncHandleType::Opaque => descriptor::into_fd(fence.export()?),
            SyncHandleType::SyncFile => {
                fence.export_state(&device.sync);
                SIGNALED
            }
        };
        Ok(())
    }

    fn import_fence_fd(device: vk::Device, info: *const vk::ImportFenceFdInfoKHR<'_>) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let handle = fence_handle(device, "vkImportFenceFdKHR", info.handle_type)?;
        let temporary = info.flags.contains(vk::FenceImportFlags::TEMPORARY);
        get::<Fence>(info.fence).import(info.fd, handle, temporary || handle == SyncHandleType::SyncFile)
    }
}

fn memory_handle(
    device: &Device,
    command: &str,
    ty: vk::ExternalMemoryHandleTypeFlags,
) -> Result<MemoryFdKind, vk::Result> {
    check_handle_type(device, command, FILES.contains(ty) && external::memory_types().contains(ty))?;
    Ok(if ty == vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD { MemoryFdKind::File } else { MemoryFdKind::DmaBuf })
}

fn semaphore_handle(
    device: &Device,
    command: &str,
    ty: vk::ExternalSemaphoreHandleTypeFlags,
) -> Result<SyncHandleType, vk::Result> {
    check_handle_type(device, command, external::SEMAPHORE_TYPES.contains(&ty))?;
    Ok(if ty == vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD {
        SyncHandleType::Opaque
    } else {
        SyncHandleType::SyncFile
    })
}

fn fence_handle(
    device: &Device,
    command: &str,
    ty: vk::ExternalFenceHandleTypeFlags,
) -> Result<SyncHandleType, vk::Result> {
    check_handle_type(device, command, external::FENCE_TYPES.contains(&ty))?;
    Ok(if ty == vk::ExternalFenceHandleTypeFlags::OPAQUE_FD {
        SyncHandleType::Opaque
    } else {
        SyncHandleType::SyncFile
    })
}
