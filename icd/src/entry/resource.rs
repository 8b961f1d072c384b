//! Memory, buffers, images, views, samplers and query pools.

use super::external::{allocate, exported_types};
use super::memory_of;
use super::sampler::{conversion_of, sampler_of};
use crate::caps::formats::EffectiveFlags;
use crate::caps::host::{MEMORY_TYPES, SPARSE_MEMORY_TYPE};
use crate::caps::limits::CAPTURED_DATA;
use crate::caps::modifiers;
use crate::device::Device;
use crate::ffi::handle::{self, dispatchable, get, optional, share};
use crate::ffi::pointer::{find, find_mut, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, V1_0, V1_1, V1_2, V1_3, V1_4, ext, row};
use crate::object::buffer::{Buffer, BufferView, MAX_BUFFER_SIZE};
use crate::object::descriptor_buffer::DescriptorName;
use crate::object::image::{Image, ImageView, format_of};
use crate::object::memory::Memory;
use crate::object::query::QueryPool;
use crate::object::sampler::{Sampler, SamplerYcbcrConversion};
use crate::object::sparse::SPARSE_BLOCK;
use ash::vk::{self, Handle};
use base::format::MAX_PLANES;
use core::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, allocate_memory as vk::PFN_vkAllocateMemory, vkAllocateMemory: V1_0),
    row!(Device, free_memory as vk::PFN_vkFreeMemory, vkFreeMemory: V1_0),
    row!(Device, set_device_memory_priority as vk::PFN_vkSetDeviceMemoryPriorityEXT, vkSetDeviceMemoryPriorityEXT: ext("VK_EXT_pageable_device_local_memory")),
    row!(Device, map_memory as vk::PFN_vkMapMemory, vkMapMemory: V1_0),
    row!(Device, unmap_memory as vk::PFN_vkUnmapMemory, vkUnmapMemory: V1_0),
    row!(Device, map_memory2 as vk::PFN_vkMapMemory2KHR, vkMapMemory2: V1_4, vkMapMemory2KHR: ext("VK_KHR_map_memory2")),
    row!(Device, unmap_memory2 as vk::PFN_vkUnmapMemory2KHR, vkUnmapMemory2: V1_4, vkUnmapMemory2KHR: ext("VK_KHR_map_memory2")),
    row!(Device, flush_mapped_memory_ranges as vk::PFN_vkFlushMappedMemoryRanges, vkFlushMappedMemoryRanges: V1_0),
    row!(Device, invalidate_mapped_memory_ranges as vk::PFN_vkInvalidateMappedMemoryRanges, vkInvalidateMappedMemoryRanges: V1_0),
    row!(Device, get_device_memory_commitment as vk::PFN_vkGetDeviceMemoryCommitment, vkGetDeviceMemoryCommitment: V1_0),
    row!(Device, create_buffer as vk::PFN_vkCreateBuffer, vkCreateBuffer: V1_0),
    row!(Device, destroy_buffer as vk::PFN_vkDestroyBuffer, vkDestroyBuffer: V1_0),
    row!(Device, get_buffer_memory_requirements as vk::PFN_vkGetBufferMemoryRequirements, vkGetBufferMemoryRequirements: V1_0),
    row!(
        Device,
        get_buffer_memory_requirements2 as vk::PFN_vkGetBufferMemoryRequirements2,
        vkGetBufferMemoryRequirements2: V1_1,
        vkGetBufferMemoryRequirements2KHR: ext("VK_KHR_get_memory_requirements2")
    ),
    row!(
        Device,
        get_device_buffer_memory_requirements as vk::PFN_vkGetDeviceBufferMemoryRequirements,
        vkGetDeviceBufferMemoryRequirements: V1_3,
        vkGetDeviceBufferMemoryRequirementsKHR: ext("VK_KHR_maintenance4")
    ),
    row!(Device, bind_buffer_memory as vk::PFN_vkBindBufferMemory, vkBindBufferMemory: V1_0),
    row!(
        Device,
        bind_buffer_memory2 as vk::PFN_vkBindBufferMemory2,
        vkBindBufferMemory2: V1_1,
        vkBindBufferMemory2KHR: ext("VK_KHR_bind_memory2")
    ),
    row!(
        Device,
        get_buffer_device_address as vk::PFN_vkGetBufferDeviceAddress,
        vkGetBufferDeviceAddress: V1_2,
        vkGetBufferDeviceAddressKHR: ext("VK_KHR_buffer_device_address"),
        vkGetBufferDeviceAddressEXT: ext("VK_EXT_buffer_device_address")
    ),
    row!(
        Device,
        get_buffer_opaque_capture_address as vk::PFN_vkGetBufferOpaqueCaptureAddress,
        vkGetBufferOpaqueCaptureAddress: V1_2,
        vkGetBufferOpaqueCaptureAddressKHR: ext("VK_KHR_buffer_device_address")
    ),
    row!(
        Device,
        get_device_memory_opaque_capture_address as vk::PFN_vkGetDeviceMemoryOpaqueCaptureAddress,
        vkGetDeviceMemoryOpaqueCaptureAddress: V1_2,
        vkGetDeviceMemoryOpaqueCaptureAddressKHR: ext("VK_KHR_buffer_device_address")
    ),
    row!(Device, create_buffer_view as vk::PFN_vkCreateBufferView, vkCreateBufferView: V1_0),
    row!(Device, destroy_buffer_view as vk::PFN_vkDestroyBufferView, vkDestroyBufferView: V1_0),
    row!(Device, create_image as vk::PFN_vkCreateImage, vkCreateImage: V1_0),
    row!(Device, destroy_image as vk::PFN_vkDestroyImage, vkDestroyImage: V1_0),
    row!(Device, get_image_memory_requirements as vk::PFN_vkGetImageMemoryRequirements, vkGetImageMemoryRequirements: V1_0),
    row!(
        Device,
        get_image_memory_requirements2 as vk::PFN_vkGetImageMemoryRequirements2,
        vkGetImageMemoryRequirements2: V1_1,
        vkGetImageMemoryRequirements2KHR: ext("VK_KHR_get_memory_requirements2")
    ),
    row!(
        Device,
        get_device_image_memory_requirements as vk::PFN_vkGetDeviceImageMemoryRequirements,
        vkGetDeviceImageMemoryRequirements: V1_3,
        vkGetDeviceImageMemoryRequirementsKHR: ext("VK_KHR_maintenance4")
    ),
    row!(Device, bind_image_memory as vk::PFN_vkBindImageMemory, vkBindImageMemory: V1_0),
    row!(
        Device,
        bind_image_memory2 as vk::PFN_vkBindImageMemory2,
        vkBindImageMemory2: V1_1,
        vkBindImageMemory2KHR: ext("VK_KHR_bind_memory2")
    ),
    row!(Device, get_image_subresource_layout as vk::PFN_vkGetImageSubresourceLayout, vkGetImageSubresourceLayout: V1_0),
    row!(
        Device,
        get_image_subresource_layout2 as vk::PFN_vkGetImageSubresourceLayout2KHR,
        vkGetImageSubresourceLayout2: V1_4, vkGetImageSubresourceLayout2KHR: ext("VK_KHR_maintenance5"),
        vkGetImageSubresourceLayout2EXT: ext("VK_EXT_host_image_copy")
    ),
    row!(
        Device,
        get_device_image_subresource_layout as vk::PFN_vkGetDeviceImageSubresourceLayoutKHR,
        vkGetDeviceImageSubresourceLayout: V1_4, vkGetDeviceImageSubresourceLayoutKHR: ext("VK_KHR_maintenance5")
    ),
    row!(
        Device,
        get_image_drm_format_modifier_properties as vk::PFN_vkGetImageDrmFormatModifierPropertiesEXT,
        vkGetImageDrmFormatModifierPropertiesEXT: ext("VK_EXT_image_drm_format_modifier")
    ),
    row!(Device, create_image_view as vk::PFN_vkCreateImageView, vkCreateImageView: V1_0),
    row!(Device, destroy_image_view as vk::PFN_vkDestroyImageView, vkDestroyImageView: V1_0),
    row!(Device, create_sampler as vk::PFN_vkCreateSampler, vkCreateSampler: V1_0),
    row!(Device, destroy_sampler as vk::PFN_vkDestroySampler, vkDestroySampler: V1_0),
    row!(
        Device,
        create_sampler_ycbcr_conversion as vk::PFN_vkCreateSamplerYcbcrConversion,
        vkCreateSamplerYcbcrConversion: V1_1,
        vkCreateSamplerYcbcrConversionKHR: ext("VK_KHR_sampler_ycbcr_conversion")
    ),
    row!(
        Device,
        destroy_sampler_ycbcr_conversion as vk::PFN_vkDestroySamplerYcbcrConversion,
        vkDestroySamplerYcbcrConversion: V1_1,
        vkDestroySamplerYcbcrConversionKHR: ext("VK_KHR_sampler_ycbcr_conversion")
    ),
    row!(Device, create_query_pool as vk::PFN_vkCreateQueryPool, vkCreateQueryPool: V1_0),
    row!(Device, destroy_query_pool as vk::PFN_vkDestroyQueryPool, vkDestroyQueryPool: V1_0),
    row!(Device, get_query_pool_results as vk::PFN_vkGetQueryPoolResults, vkGetQueryPoolResults: V1_0),
    row!(
        Device,
        reset_query_pool as vk::PFN_vkResetQueryPool,
        vkResetQueryPool: V1_2,
        vkResetQueryPoolEXT: ext("VK_EXT_host_query_reset")
    ),
];

/// Longest time for which an allocation without free memory waits for submissions whose end
/// releases memory that was freed meanwhile.
const SUBMISSION_TIME: Duration = Duration::from_secs(2);

/// Returns memory requirements. A sparse resource is bound in blocks, to memory that can be mapped
/// twice; other resources can use any memory type.
fn requirements(size: u64, alignment: u64, sparse: bool) -> vk::MemoryRequirements {
    let (alignment, types) = if sparse { (SPARSE_BLOCK, 1 << SPARSE_MEMORY_TYPE) } else { (alignment, MEMORY_TYPES) };
    vk::MemoryRequirements { size: size.next_multiple_of(alignment), alignment, memory_type_bits: types }
}
/// Creates a buffer, whose usage may have 64 bits.
///
/// # Safety
/// `info` is valid with its chain.
unsafe fn new_buffer(info: &vk::BufferCreateInfo<'_>, opaque: u64) -> Buffer {
    let mut info = *info;
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    if let Some(long) = unsafe { find::<vk::BufferUsageFlags2CreateInfoKHR<'_>>(info.p_next) } {
        info.usage = vk::BufferUsageFlags::from_raw(long.usage.as_raw() as u32);
    }
    Buffer::new(&info, opaque)
}
fn buffer_requirements(buffer: &Buffer) -> vk::MemoryRequirements {
    requirements(buffer.size, buffer.alignment, buffer.is_sparse)
}
/// Returns the requirements of an image, or of one plane if the image is disjoint and `plane` names
/// one.
fn image_requirements(image: &Image, plane: Option<vk::ImageAspectFlags>) -> vk::MemoryRequirements {
    requirements(image.bytes(plane), base::image::IMAGE_ALIGNMENT, image.is_sparse)
}

unsafe fn fill_requirements2(out: *mut vk::MemoryRequirements2<'_>, requirements: vk::MemoryRequirements) {
    // SAFETY: the shims pass a valid structure with a valid chain.
    unsafe {
        (*out).memory_requirements = requirements;
        if let Some(dedicated) = find_mut::<vk::MemoryDedicatedRequirements<'_>>((*out).p_next) {
            dedicated.prefers_dedicated_allocation = vk::FALSE;
            dedicated.requires_dedicated_allocation = vk::FALSE;
        }
    }
}

/// Fills in the requirements of a buffer without bytes, in which generated commands would be
/// preprocessed.
///
/// # Safety
/// `out` is a valid structure with a valid chain.
pub(super) unsafe fn fill_generated_requirements(out: *mut vk::MemoryRequirements2<'_>) {
    // SAFETY: the structure is valid, as the `# Safety` section demands.
    unsafe { fill_requirements2(out, requirements(0, 64, false)) }
}

/// Returns the data that `vkGet*OpaqueCaptureDescriptorDataEXT` gave in an earlier run.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn captured_data(p_next: *const c_void) -> Option<u64> {
    // SAFETY: the chain is valid, as the `# Safety` section requires. The data are those that the
    // driver returned: the bytes of a number.
    unsafe {
        let info = find::<vk::OpaqueCaptureDescriptorDataCreateInfoEXT<'_>>(p_next)?;
        Some(
            info.opaque_capture_descriptor_data
                .cast::<[u8; CAPTURED_DATA]>()
                .as_ref()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes)),
        )
    }
}

/// Returns the layout of a subresource in its image's memory.
fn subresource_layout(image: &Image, s: &vk::ImageSubresource) -> vk::SubresourceLayout {
    let plane = image.plane(s.aspect_mask);
    let piece = plane.piece(s.mip_level, s.array_layer);
    let Some((level, (offset, size))) = plane.levels.get(s.mip_level as usize).zip(piece) else {
        return vk::SubresourceLayout::default();
    };
    vk::SubresourceLayout {
        offset: offset - image.origin(plane),
        size,
        row_pitch: level.row_pitch,
        array_pitch: plane.layer_stride,
        depth_pitch: level.slice_pitch,
    }
}

/// Fills the structure, with `VkSubresourceHostMemcpySize`, because a level of a layer is
/// contiguous.
///
/// # Safety
/// `out` heads a valid chain.
unsafe fn fill_subresource_layout2(out: *mut vk::SubresourceLayout2KHR<'_>, layout: vk::SubresourceLayout) {
    // SAFETY: `out` heads a valid chain, as the `# Safety` section requires.
    unsafe {
        (*out).subresource_layout = layout;
        if let Some(memcpy) = find_mut::<vk::SubresourceHostMemcpySizeEXT<'_>>((*out).p_next) {
            memcpy.size = layout.size;
        }
    }
}

/// Returns the address of `size` bytes of memory.
fn map(memory: &Memory, offset: u64, size: u64) -> Result<*mut c_void, vk::Result> {
    let size = if size == vk::WHOLE_SIZE { memory.size().saturating_sub(offset) } else { size };
    Ok(memory.range(offset, size).ok_or(vk::Result::ERROR_MEMORY_MAP_FAILED)?.address.cast())
}

/// Reports the result of a binding in a `VkBindMemoryStatusKHR` of the chain, if there is one.
///
/// # Safety
/// The chain is valid.
unsafe fn store_status(chain: *const c_void, bound: Result<(), vk::Result>) -> Result<(), vk::Result> {
    // SAFETY: the chain is valid, as the `# Safety` section requires.
    unsafe {
        if let Some(status) = find::<vk::BindMemoryStatusKHR<'_>>(chain) {
            *status.p_result = bound.err().unwrap_or(vk::Result::SUCCESS);
        }
    }
    bound
}

/// Creates the image of a create info, with the plane layouts that it specifies, if any. Fails with
/// VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT if the driver cannot use these layouts.
///
/// # Safety
/// `info` is valid with its chain.
pub(super) unsafe fn image_of(info: &vk::ImageCreateInfo<'_>) -> Result<Image, vk::Result> {
    // SAFETY: `info` is valid with its chain, as the `# Safety` section requires.
    let effective = unsafe { EffectiveFlags::find(info.flags, info.usage, info.p_next) };
    let EffectiveFlags { flags, usage } = effective.ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)?;
    let image = Image::new(&vk::ImageCreateInfo { flags, usage, ..*info })?;
    if info.tiling != vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT {
        return Ok(image);
    }
    // SAFETY: `info` is valid with its chain, as the `# Safety` section requires.
    let (list, explicit) = unsafe {
        let list = find::<vk::ImageDrmFormatModifierListCreateInfoEXT<'_>>(info.p_next);
        let explicit = find::<vk::ImageDrmFormatModifierExplicitCreateInfoEXT<'_>>(info.p_next);
        (list.map(|l| slice(l.p_drm_format_modifiers, l.drm_format_modifier_count)), explicit)
    };
    if let Some(explicit) = explicit {
        // SAFETY: the plane layouts are an array of a structure in the valid chain.
        let planes = unsafe { slice(explicit.p_plane_layouts, explicit.drm_format_modifier_plane_count) };
        let rows: Vec<_> = planes.iter().take(MAX_PLANES + 1).map(|plane| (plane.offset, plane.row_pitch)).collect();
        let linear = explicit.drm_format_modifier == modifiers::LINEAR;
        let laid_out = if linear { image.with_plane_pitches(&rows) } else { None };
        return laid_out.ok_or(vk::Result::ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT);
    }
    // A valid list contains the only modifier that exists.
    let known = list.is_some_and(|list| list.contains(&modifiers::LINEAR));
    if known { Ok(image) } else { Err(vk::Result::ERROR_FEATURE_NOT_PRESENT) }
}

/// Creates the view of a create info.
///
/// # Safety
/// `info` is valid with its chain and handles.
pub unsafe fn view_of(info: &vk::ImageViewCreateInfo<'_>) -> Result<ImageView, vk::Result> {
    // SAFETY: `info` is valid with its chain and handles, as the `# Safety` section requires.
    unsafe {
        let min_lod = find::<vk::ImageViewMinLodCreateInfoEXT<'_>>(info.p_next).map_or(0.0, |m| m.min_lod);
        let sliced = find::<vk::ImageViewSlicedCreateInfoEXT<'_>>(info.p_next).map(|s| (s.slice_offset, s.slice_count));
        let conversion =
            find::<vk::SamplerYcbcrConversionInfo<'_>>(info.p_next).filter(|info| !info.conversion.is_null());
        let conversion = conversion.map(|info| &get::<SamplerYcbcrConversion>(info.conversion).conversion);
        let in_bytes = find::<vk::ImageViewASTCDecodeModeEXT<'_>>(info.p_next)
            .is_some_and(|mode| mode.decode_mode == vk::Format::R8G8B8A8_UNORM);
        ImageView::new(share::<Image>(info.image), info, min_lod, sliced, conversion, in_bytes)
    }
}

/// Keeps an object to which descriptors point until no executing submission can use it.
///
/// # Safety
/// `device` is live.
unsafe fn retire<T: Send + Sync + 'static>(device: vk::Device, object: Arc<T>) {
    // SAFETY: `device` is live, as the `# Safety` section requires.
    unsafe { dispatchable::<Device>(device) }.heap.executions.retire_described(object);
}

shims! {
    fn allocate_memory(device: vk::Device, info: *const vk::MemoryAllocateInfo<'_>, allocator: Allocator<'_>, memory: *mut vk::DeviceMemory) -> VkResult {
        let callbacks = memory_of(device, allocator);
        let device = dispatchable::<Device>(device);
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let made = allocate(device, &*info);
        // Freed memory may still wait for the end of a submission.
        let again = made.as_ref().is_err_and(|error| *error == out) && device.heap.executions.settle(SUBMISSION_TIME);
        let made = if again { allocate(device, &*info) } else { made };
        *memory = handle::create(Arc::new(made?), callbacks)?;
        Ok(())
    }

    // The driver pages out nothing, so priorities have no effect.
    fn set_device_memory_priority(_device: vk::Device, _memory: vk::DeviceMemory, _priority: f32) {}

    fn free_memory(device: vk::Device, memory: vk::DeviceMemory, allocator: Allocator<'_>) {
        if let Some(memory) = optional::<Memory>(memory) {
            let device = dispatchable::<Device>(device);
            if let Some(heaps) = &device.heaps {
                let all = memory.range(0, memory.size());
                all.into_iter().for_each(|range| heaps.remove_memory(&device.heap, range));
            }
            memory.allow_address_reuse();
        }
        handle::destroy::<Memory>(memory, memory_of(device, allocator));
    }

    fn map_memory(_device: vk::Device, memory: vk::DeviceMemory, offset: u64, size: u64, _flags: vk::MemoryMapFlags, data: *mut *mut c_void) -> VkResult {
        *data = map(get::<Memory>(memory), offset, size)?;
        Ok(())
    }

    fn map_memory2(_device: vk::Device, info: *const vk::MemoryMapInfoKHR<'_>, data: *mut *mut c_void) -> VkResult {
        *data = map(get::<Memory>((*info).memory), (*info).offset, (*info).size)?;
        Ok(())
    }

    fn unmap_memory(_device: vk::Device, _memory: vk::DeviceMemory) {}

    fn unmap_memory2(_device: vk::Device, _info: *const vk::MemoryUnmapInfoKHR<'_>) -> VkResult {
        Ok(())
    }

    fn flush_mapped_memory_ranges(_device: vk::Device, _count: u32, _ranges: *const vk::MappedMemoryRange<'_>) -> VkResult {
        Ok(())
    }

    fn invalidate_mapped_memory_ranges(_device: vk::Device, _count: u32, _ranges: *const vk::MappedMemoryRange<'_>) -> VkResult {
        Ok(())
    }

    fn get_device_memory_commitment(_device: vk::Device, memory: vk::DeviceMemory, bytes: *mut u64) {
        *bytes = get::<Memory>(memory).size();
    }

    fn create_buffer(device: vk::Device, info: *const vk::BufferCreateInfo<'_>, allocator: Allocator<'_>, buffer: *mut vk::Buffer) -> VkResult {
        let callbacks = memory_of(device, allocator);
        let (device, info) = (dispatchable::<Device>(device), &*info);
        exported_types(device, "vkCreateBuffer", info.p_next)?;
        if info.size >= MAX_BUFFER_SIZE {
            device.report_unsupported("vkCreateBuffer: the size is more than any buffer can have");
            return Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
        }
        let replayed = find::<vk::BufferDeviceAddressCreateInfoEXT<'_>>(info.p_next).map_or(0, |i| i.device_address);
        if replayed != 0 {
            device.report_unsupported("vkCreateBuffer: VkBufferDeviceAddressCreateInfoEXT::deviceAddress asks for VK_EXT_buffer_device_address's bufferDeviceAddressCaptureReplay");
            return Err(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
        }
        let opaque = find::<vk::BufferOpaqueCaptureAddressCreateInfo<'_>>(info.p_next).map(|i| i.opaque_capture_address);
        let opaque = opaque.filter(|&address| address != 0).or_else(|| captured_data(info.p_next)).unwrap_or(0);
        let object = new_buffer(info, opaque);
        if object.is_sparse {
            object.reserve_addresses(&device.heap)?;
        }
        *buffer = handle::create(Arc::new(object), callbacks)?;
        Ok(())
    }

    fn destroy_buffer(device: vk::Device, buffer: vk::Buffer, allocator: Allocator<'_>) {
        optional::<Buffer>(buffer).iter().for_each(|buffer| buffer.end());
        handle::destroy::<Buffer>(buffer, memory_of(device, allocator));
    }

    fn get_buffer_memory_requirements(_device: vk::Device, buffer: vk::Buffer, out: *mut vk::MemoryRequirements) {
        *out = buffer_requirements(get::<Buffer>(buffer));
    }

    fn get_buffer_memory_requirements2(_device: vk::Device, info: *const vk::BufferMemoryRequirementsInfo2<'_>, out: *mut vk::MemoryRequirements2<'_>) {
        fill_requirements2(out, buffer_requirements(get::<Buffer>((*info).buffer)));
    }

    fn get_device_buffer_memory_requirements(device: vk::Device, info: *const vk::DeviceBufferMemoryRequirements<'_>, out: *mut vk::MemoryRequirements2<'_>) {
        let create = &*(*info).p_create_info;
        // Refused handle types are reported here already.
        let _ = exported_types(dispatchable::<Device>(device), "vkGetDeviceBufferMemoryRequirements", create.p_next);
        fill_requirements2(out, buffer_requirements(&new_buffer(create, 0)));
    }

    fn bind_buffer_memory(_device: vk::Device, buffer: vk::Buffer, memory: vk::DeviceMemory, offset: u64) -> VkResult {
        get::<Buffer>(buffer).bind(share::<Memory>(memory), offset)
    }

    fn bind_buffer_memory2(_device: vk::Device, count: u32, infos: *const vk::BindBufferMemoryInfo<'_>) -> VkResult {
        let mut all = Ok(());
        for info in slice(infos, count) {
            let bound = get::<Buffer>(info.buffer).bind(share::<Memory>(info.memory), info.memory_offset);
            all = all.and(store_status(info.p_next, bound));
        }
        all
    }

    fn get_buffer_device_address(device: vk::Device, info: *const vk::BufferDeviceAddressInfo<'_>) -> u64 {
        let (device, address) = (dispatchable::<Device>(device), get::<Buffer>((*info).buffer).memory().address as u64);
        if device.heap.is_imported(address) {
            device.report_unsupported(
                "vkGetBufferDeviceAddress: the buffer lies in imported memory of the host: commands take the address, pointers of shaders read 0 there",
            );
        }
        address
    }

    // Capture addresses are device addresses (`os::arena`).
    fn get_buffer_opaque_capture_address(_device: vk::Device, info: *const vk::BufferDeviceAddressInfo<'_>) -> u64 {
        get::<Buffer>((*info).buffer).memory().address as u64
    }

    fn get_device_memory_opaque_capture_address(_device: vk::Device, info: *const vk::DeviceMemoryOpaqueCaptureAddressInfo<'_>) -> u64 {
        get::<Memory>((*info).memory).address()
    }

    fn create_buffer_view(device: vk::Device, info: *const vk::BufferViewCreateInfo<'_>, allocator: Allocator<'_>, view: *mut vk::BufferView) -> VkResult {
        let info = &*info;
        let object = BufferView::new(get::<Buffer>(info.buffer), format_of(info.format)?, info.offset, info.range);
        *view = handle::create(Arc::new(object), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_buffer_view(device: vk::Device, view: vk::BufferView, allocator: Allocator<'_>) {
        optional::<BufferView>(view).into_iter().for_each(|view| retire(device, view));
        handle::destroy::<BufferView>(view, memory_of(device, allocator));
    }

    fn create_image(device: vk::Device, info: *const vk::ImageCreateInfo<'_>, allocator: Allocator<'_>, image: *mut vk::Image) -> VkResult {
        let callbacks = memory_of(device, allocator);
        let device = dispatchable::<Device>(device);
        exported_types(device, "vkCreateImage", (*info).p_next)?;
        let object = image_of(&*info).inspect_err(|e| {
            device.report_unsupported(&format!("vkCreateImage: {e:?}: the image is not one of those that vkGetPhysicalDeviceImageFormatProperties2 allows"));
        })?;
        if object.is_sparse {
            object.reserve_addresses(&device.heap)?;
        }
        *image = handle::create(Arc::new(object), callbacks)?;
        Ok(())
    }

    fn destroy_image(device: vk::Device, image: vk::Image, allocator: Allocator<'_>) {
        let heap = &dispatchable::<Device>(device).heap;
        let heaps = dispatchable::<Device>(device).heaps.iter();
        heaps.for_each(|heaps| heaps.remove_image(heap, handle::address(image.as_raw())));
        optional::<Image>(image).iter().for_each(|image| image.end());
        handle::destroy::<Image>(image, memory_of(device, allocator));
    }

    fn get_image_memory_requirements(_device: vk::Device, image: vk::Image, out: *mut vk::MemoryRequirements) {
        *out = image_requirements(get::<Image>(image), None);
    }

    fn get_image_memory_requirements2(_device: vk::Device, info: *const vk::ImageMemoryRequirementsInfo2<'_>, out: *mut vk::MemoryRequirements2<'_>) {
        let plane = find::<vk::ImagePlaneMemoryRequirementsInfo<'_>>((*info).p_next).map(|plane| plane.plane_aspect);
        fill_requirements2(out, image_requirements(get::<Image>((*info).image), plane));
    }

    fn get_device_image_memory_requirements(device: vk::Device, info: *const vk::DeviceImageMemoryRequirements<'_>, out: *mut vk::MemoryRequirements2<'_>) {
        let create = &*(*info).p_create_info;
        // Refused handle types are reported here already, as for buffers.
        let _ = exported_types(dispatchable::<Device>(device), "vkGetDeviceImageMemoryRequirements", create.p_next);
        let image = image_of(create);
        let plane = Some((*info).plane_aspect).filter(|plane| !plane.is_empty());
        fill_requirements2(out, image.map_or_else(|_| requirements(0, 64, false), |image| image_requirements(&image, plane)));
    }

    fn bind_image_memory(_device: vk::Device, image: vk::Image, memory: vk::DeviceMemory, offset: u64) -> VkResult {
        get::<Image>(image).bind(share::<Memory>(memory), offset)
    }

    fn bind_image_memory2(_device: vk::Device, count: u32, infos: *const vk::BindImageMemoryInfo<'_>) -> VkResult {
        let mut all = Ok(());
        for info in slice(infos, count) {
            let memory = match find::<vk::BindImageMemorySwapchainInfoKHR<'_>>(info.p_next) {
                Some(swapchain) if info.memory.is_null() => {
                    let memory = crate::wsi::swapchain_image_memory(swapchain.swapchain, swapchain.image_index);
                    memory.ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
                }
                _ => Ok(share::<Memory>(info.memory)),
            };
            let (image, offset) = (get::<Image>(info.image), info.memory_offset);
            let plane = find::<vk::BindImagePlaneMemoryInfo<'_>>(info.p_next);
            let bound = memory.and_then(|memory| match plane {
                Some(plane) => image.bind_plane(plane.plane_aspect, memory, offset),
                None => image.bind(memory, offset),
            });
            all = all.and(store_status(info.p_next, bound));
        }
        all
    }

    fn get_image_subresource_layout(_device: vk::Device, image: vk::Image, subresource: *const vk::ImageSubresource, out: *mut vk::SubresourceLayout) {
        *out = subresource_layout(get::<Image>(image), &*subresource);
    }

    fn get_image_subresource_layout2(
        _device: vk::Device,
        image: vk::Image,
        subresource: *const vk::ImageSubresource2KHR<'_>,
        out: *mut vk::SubresourceLayout2KHR<'_>,
    ) {
        fill_subresource_layout2(out, subresource_layout(get::<Image>(image), &(*subresource).image_subresource));
    }

    fn get_device_image_subresource_layout(
        _device: vk::Device,
        info: *const vk::DeviceImageSubresourceInfoKHR<'_>,
        out: *mut vk::SubresourceLayout2KHR<'_>,
    ) {
        let layout = |image: Image| subresource_layout(&image, &(*(*info).p_subresource).image_subresource);
        fill_subresource_layout2(out, image_of(&*(*info).p_create_info).map(layout).unwrap_or_default());
    }

    fn get_image_drm_format_modifier_properties(
        _device: vk::Device,
        _image: vk::Image,
        out: *mut vk::ImageDrmFormatModifierPropertiesEXT<'_>,
    ) -> VkResult {
        (*out).drm_format_modifier = modifiers::LINEAR;
        Ok(())
    }

    fn create_image_view(device: vk::Device, info: *const vk::ImageViewCreateInfo<'_>, allocator: Allocator<'_>, view: *mut vk::ImageView) -> VkResult {
        let object = view_of(&*info)?;
        let object = Arc::new(object);
        let replayed = (*info).flags.contains(vk::ImageViewCreateFlags::DESCRIPTOR_BUFFER_CAPTURE_REPLAY_EXT);
        let name = DescriptorName::requested(replayed, captured_data((*info).p_next));
        let (descriptor_names, raw) = (&dispatchable::<Device>(device).descriptor_names, handle::raw(&object));
        descriptor_names.record_view(&object, name)?;
        *view = handle::create(object, memory_of(device, allocator)).inspect_err(|_| descriptor_names.remove_view(raw))?;
        Ok(())
    }

    fn destroy_image_view(device: vk::Device, view: vk::ImageView, allocator: Allocator<'_>) {
        dispatchable::<Device>(device).descriptor_names.remove_view(handle::address(view.as_raw()));
        optional::<ImageView>(view).into_iter().for_each(|view| retire(device, view));
        handle::destroy::<ImageView>(view, memory_of(device, allocator));
    }

    fn create_sampler(device: vk::Device, info: *const vk::SamplerCreateInfo<'_>, allocator: Allocator<'_>, sampler: *mut vk::Sampler) -> VkResult {
        let object = Arc::new(Sampler::new(sampler_of(&*info)));
        let replayed = (*info).flags.contains(vk::SamplerCreateFlags::DESCRIPTOR_BUFFER_CAPTURE_REPLAY_EXT);
        let name = DescriptorName::requested(replayed, captured_data((*info).p_next));
        let (descriptor_names, raw) = (&dispatchable::<Device>(device).descriptor_names, handle::raw(&object));
        descriptor_names.record_sampler(&object, name)?;
        *sampler = handle::create(object, memory_of(device, allocator)).inspect_err(|_| descriptor_names.remove_sampler(raw))?;
        Ok(())
    }

    fn destroy_sampler(device: vk::Device, sampler: vk::Sampler, allocator: Allocator<'_>) {
        dispatchable::<Device>(device).descriptor_names.remove_sampler(handle::address(sampler.as_raw()));
        optional::<Sampler>(sampler).into_iter().for_each(|sampler| retire(device, sampler));
        handle::destroy::<Sampler>(sampler, memory_of(device, allocator));
    }

    fn create_sampler_ycbcr_conversion(
        device: vk::Device,
        info: *const vk::SamplerYcbcrConversionCreateInfo<'_>,
        allocator: Allocator<'_>,
        conversion: *mut vk::SamplerYcbcrConversion,
    ) -> VkResult {
        *conversion = vk::SamplerYcbcrConversion::null();
        let Some(object) = conversion_of(&*info) else {
            dispatchable::<Device>(device).report_unsupported("vkCreateSamplerYcbcrConversion: the format does not support the conversion");
            return Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY);
        };
        *conversion = handle::create(Arc::new(object), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_sampler_ycbcr_conversion(device: vk::Device, conversion: vk::SamplerYcbcrConversion, allocator: Allocator<'_>) {
        handle::destroy::<SamplerYcbcrConversion>(conversion, memory_of(device, allocator));
    }

    fn create_query_pool(device: vk::Device, info: *const vk::QueryPoolCreateInfo<'_>, allocator: Allocator<'_>, pool: *mut vk::QueryPool) -> VkResult {
        *pool = handle::create(Arc::new(QueryPool::new(&*info)?), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_query_pool(device: vk::Device, pool: vk::QueryPool, allocator: Allocator<'_>) {
        handle::destroy::<QueryPool>(pool, memory_of(device, allocator));
    }

    fn get_query_pool_results(
        device: vk::Device,
        pool: vk::QueryPool,
        first: u32,
        count: u32,
        data_size: usize,
        data: *mut c_void,
        stride: u64,
        flags: vk::QueryResultFlags,
    ) -> VkResult {
        let (device, pool) = (dispatchable::<Device>(device), get::<QueryPool>(pool));
        let queries = pool.range(first, count);
        if flags.contains(vk::QueryResultFlags::WAIT) {
            let waited = device.sync.wait(u64::MAX, || queries.iter().all(|q| q.is_available()));
            if waited != vk::Result::SUCCESS {
                return Err(waited);
            }
        }
        if !flags.contains(vk::QueryResultFlags::WAIT) {
            device.sync.check()?;
        }
        let mut all = true;
        for (i, query) in queries.iter().enumerate() {
            let at = i as u64 * stride;
            all &= pool.write_result(query, flags, |offset, bytes| {
                let start = (at + offset) as usize;
                if start + bytes.len() <= data_size {
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>().add(start), bytes.len());
                }
            });
        }
        if all { Ok(()) } else { Err(vk::Result::NOT_READY) }
    }

    fn reset_query_pool(_device: vk::Device, pool: vk::QueryPool, first: u32, count: u32) {
        get::<QueryPool>(pool).range(first, count).iter().for_each(|q| q.reset());
    }
}
