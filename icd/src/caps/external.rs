//! Handles for other processes, devices and APIs: their kinds, and the features of each. A kind
//! without a row has no feature.

#![forbid(unsafe_code)]

use super::extensions::Extension;
use crate::os::dma_buf;
use ash::vk;
use vk::ExternalMemoryHandleTypeFlags as MemoryType;

/// `minImportedHostPointerAlignment`: host memory is imported in whole pages.
pub const HOST_POINTER_ALIGNMENT: u64 = 4096;

/// A kind of memory handles.
struct MemoryHandleRow {
    ty: MemoryType,
    /// Extension without which the kind does not exist.
    extension: Extension,
    /// Returns true if new memory can be exported as this kind.
    can_export_new: fn() -> bool,
    /// True if imported memory of this kind can be exported as it again.
    can_export_imported: bool,
    /// True if buffers in such memory may have a device address, because it is where pointers of
    /// shaders may point (`os::arena`).
    addressable: bool,
}

static MEMORY_HANDLES: [MemoryHandleRow; 4] = [
    MemoryHandleRow {
        ty: MemoryType::OPAQUE_FD,
        extension: Extension::VK_KHR_external_memory_fd,
        can_export_new: || true,
        can_export_imported: true,
        addressable: true,
    },
    MemoryHandleRow {
        ty: MemoryType::OPAQUE_WIN32,
        extension: Extension::VK_KHR_external_memory_win32,
        can_export_new: || true,
        can_export_imported: true,
        addressable: true,
    },
    MemoryHandleRow {
        ty: MemoryType::DMA_BUF_EXT,
        extension: Extension::VK_EXT_external_memory_dma_buf,
        can_export_new: dma_buf::can_be_made,
        can_export_imported: true,
        addressable: true,
    },
    MemoryHandleRow {
        ty: MemoryType::HOST_ALLOCATION_EXT,
        extension: Extension::VK_EXT_external_memory_host,
        can_export_new: || false,
        can_export_imported: false,
        addressable: false,
    },
];

/// Returns the rows of the kinds that exist on this system.
fn memory_rows() -> impl Iterator<Item = &'static MemoryHandleRow> {
    MEMORY_HANDLES.iter().filter(|row| row.extension.is_advertised())
}

fn memory_row(ty: MemoryType) -> Option<&'static MemoryHandleRow> {
    memory_rows().find(|row| row.ty == ty)
}

fn properties_of(row: &MemoryHandleRow) -> vk::ExternalMemoryProperties {
    use vk::ExternalMemoryFeatureFlags as Features;
    let exportable = if (row.can_export_new)() { Features::EXPORTABLE } else { Features::empty() };
    vk::ExternalMemoryProperties {
        external_memory_features: Features::IMPORTABLE | exportable,
        export_from_imported_handle_types: if row.can_export_imported { row.ty } else { MemoryType::empty() },
        compatible_handle_types: row.ty,
    }
}

/// Returns the properties for images. `None` stands for a kind without features, which
/// vkGetPhysicalDeviceImageFormatProperties2 refuses.
pub fn image_memory(ty: MemoryType) -> Option<vk::ExternalMemoryProperties> {
    memory_row(ty).map(properties_of)
}

/// Fills in the answer of vkGetPhysicalDeviceExternalBufferProperties.
pub fn buffer_properties(info: &vk::PhysicalDeviceExternalBufferInfo<'_>, out: &mut vk::ExternalBufferProperties<'_>) {
    let addressed = info.usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS);
    let row = memory_row(info.handle_type).filter(|row| row.addressable || !addressed);
    let none = vk::ExternalMemoryProperties { compatible_handle_types: info.handle_type, ..Default::default() };
    out.external_memory_properties = row.map_or(none, properties_of);
}

/// Returns the kinds of memory that objects may be created for.
pub fn memory_types() -> MemoryType {
    memory_rows().fold(MemoryType::empty(), |all, row| all | row.ty)
}

/// Returns the kinds of memory that can be exported.
pub fn exportable_memory_types() -> MemoryType {
    memory_rows().filter(|row| (row.can_export_new)()).fold(MemoryType::empty(), |all, row| all | row.ty)
}

/// Kinds of semaphore handles: the payload itself, and a copy of a binary semaphore's state.
pub const SEMAPHORE_TYPES: &[vk::ExternalSemaphoreHandleTypeFlags] =
    if Extension::VK_KHR_external_semaphore_fd.row().implemented.is_yes() {
        &[vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD, vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD]
    } else if Extension::VK_KHR_external_semaphore_win32.row().implemented.is_yes() {
        &[vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_WIN32]
    } else {
        &[]
    };
/// Kinds of fence handles.
pub const FENCE_TYPES: &[vk::ExternalFenceHandleTypeFlags] =
    if Extension::VK_KHR_external_fence_fd.row().implemented.is_yes() {
        &[vk::ExternalFenceHandleTypeFlags::OPAQUE_FD, vk::ExternalFenceHandleTypeFlags::SYNC_FD]
    } else if Extension::VK_KHR_external_fence_win32.row().implemented.is_yes() {
        &[vk::ExternalFenceHandleTypeFlags::OPAQUE_WIN32]
    } else {
        &[]
    };

/// Returns all kinds of semaphore handles.
pub fn semaphore_types() -> vk::ExternalSemaphoreHandleTypeFlags {
    SEMAPHORE_TYPES.iter().fold(vk::ExternalSemaphoreHandleTypeFlags::empty(), |all, ty| all | *ty)
}

/// Returns all kinds of fence handles.
pub fn fence_types() -> vk::ExternalFenceHandleTypeFlags {
    FENCE_TYPES.iter().fold(vk::ExternalFenceHandleTypeFlags::empty(), |all, ty| all | *ty)
}

/// Fills in the answer of vkGetPhysicalDeviceExternalSemaphoreProperties, for a type of semaphores.
/// Every imported payload has a state that can be copied; only one that was imported as itself can
/// be exported as itself.
pub fn semaphore_properties(
    ty: vk::ExternalSemaphoreHandleTypeFlags,
    timeline: bool,
    out: &mut vk::ExternalSemaphoreProperties<'_>,
) {
    use vk::ExternalSemaphoreHandleTypeFlags as Type;
    let both = vk::ExternalSemaphoreFeatureFlags::EXPORTABLE | vk::ExternalSemaphoreFeatureFlags::IMPORTABLE;
    let all = if timeline { semaphore_types() & !Type::SYNC_FD } else { semaphore_types() };
    let known = SEMAPHORE_TYPES.contains(&ty) && all.contains(ty);
    out.export_from_imported_handle_types = match ty {
        _ if !known => Type::empty(),
        Type::SYNC_FD => ty,
        _ => all,
    };
    out.compatible_handle_types = if known { all } else { Type::empty() };
    out.external_semaphore_features = if known { both } else { vk::ExternalSemaphoreFeatureFlags::empty() };
}

/// Fills in the answer of vkGetPhysicalDeviceExternalFenceProperties, by the rules of
/// [`semaphore_properties`].
pub fn fence_properties(ty: vk::ExternalFenceHandleTypeFlags, out: &mut vk::ExternalFenceProperties<'_>) {
    use vk::ExternalFenceHandleTypeFlags as Type;
    let known = FENCE_TYPES.contains(&ty);
    out.export_from_imported_handle_types = match ty {
        _ if !known => Type::empty(),
        Type::SYNC_FD => ty,
        _ => fence_types(),
    };
    out.compatible_handle_types = if known { fence_types() } else { Type::empty() };
    out.external_fence_features = if known {
        vk::ExternalFenceFeatureFlags::EXPORTABLE | vk::ExternalFenceFeatureFlags::IMPORTABLE
    } else {
        vk::ExternalFenceFeatureFlags::empty()
    };
}
