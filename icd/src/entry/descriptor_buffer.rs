//! VK_EXT_descriptor_buffer: descriptors as bytes, and buffers of them
//! (`object::descriptor_buffer`).

use super::cmd_state::{point, points};
use super::recording::push;
use crate::caps::limits::CAPTURED_DATA;
use crate::command::{BindDescriptorSets, Command, SetDescriptorBufferOffsets};
use crate::device::Device;
use crate::ffi::handle::{address, dispatchable, get, share};
use crate::ffi::pointer::slice;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::bind_point::BindPoint;
use crate::object::buffer::Buffer;
use crate::object::descriptor::{SetLayout, kind_of};
use crate::object::descriptor_buffer::{DescriptorNames, PackedDescriptor};
use crate::object::descriptor_pool::DescriptorSet;
use crate::object::image::format_of;
use crate::object::pipeline_layout::PipelineLayout;
use ash::vk::{self, Handle};
use base::shader::DescriptorKind;
use core::ffi::c_void;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

const DESCRIPTOR_BUFFER: Requirement = ext("VK_EXT_descriptor_buffer");

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, get_descriptor_set_layout_size as vk::PFN_vkGetDescriptorSetLayoutSizeEXT, vkGetDescriptorSetLayoutSizeEXT: DESCRIPTOR_BUFFER),
    row!(Device, get_descriptor_set_layout_binding_offset as vk::PFN_vkGetDescriptorSetLayoutBindingOffsetEXT, vkGetDescriptorSetLayoutBindingOffsetEXT: DESCRIPTOR_BUFFER),
    row!(Device, get_descriptor as vk::PFN_vkGetDescriptorEXT, vkGetDescriptorEXT: DESCRIPTOR_BUFFER),
    row!(Device, cmd_bind_descriptor_buffers as vk::PFN_vkCmdBindDescriptorBuffersEXT, vkCmdBindDescriptorBuffersEXT: DESCRIPTOR_BUFFER),
    row!(Device, cmd_set_descriptor_buffer_offsets as vk::PFN_vkCmdSetDescriptorBufferOffsetsEXT, vkCmdSetDescriptorBufferOffsetsEXT: DESCRIPTOR_BUFFER),
    row!(Device, cmd_set_descriptor_buffer_offsets2 as vk::PFN_vkCmdSetDescriptorBufferOffsets2EXT, vkCmdSetDescriptorBufferOffsets2EXT: DESCRIPTOR_BUFFER),
    row!(Device, cmd_bind_descriptor_buffer_embedded_samplers as vk::PFN_vkCmdBindDescriptorBufferEmbeddedSamplersEXT, vkCmdBindDescriptorBufferEmbeddedSamplersEXT: DESCRIPTOR_BUFFER),
    row!(Device, cmd_bind_descriptor_buffer_embedded_samplers2 as vk::PFN_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT, vkCmdBindDescriptorBufferEmbeddedSamplers2EXT: DESCRIPTOR_BUFFER),
    row!(Device, get_buffer_opaque_capture_descriptor_data as vk::PFN_vkGetBufferOpaqueCaptureDescriptorDataEXT, vkGetBufferOpaqueCaptureDescriptorDataEXT: DESCRIPTOR_BUFFER),
    row!(Device, get_image_opaque_capture_descriptor_data as vk::PFN_vkGetImageOpaqueCaptureDescriptorDataEXT, vkGetImageOpaqueCaptureDescriptorDataEXT: DESCRIPTOR_BUFFER),
    row!(Device, get_image_view_opaque_capture_descriptor_data as vk::PFN_vkGetImageViewOpaqueCaptureDescriptorDataEXT, vkGetImageViewOpaqueCaptureDescriptorDataEXT: DESCRIPTOR_BUFFER),
    row!(Device, get_sampler_opaque_capture_descriptor_data as vk::PFN_vkGetSamplerOpaqueCaptureDescriptorDataEXT, vkGetSamplerOpaqueCaptureDescriptorDataEXT: DESCRIPTOR_BUFFER),
];

/// Returns the bytes of a descriptor; `None` for types that have none.
///
/// # Safety
/// `info` is valid with its pointers and handles.
unsafe fn packed_descriptor(
    descriptor_names: &DescriptorNames,
    info: &vk::DescriptorGetInfoEXT<'_>,
) -> Option<PackedDescriptor> {
    use vk::DescriptorType as T;
    let kind = kind_of(info.ty)?;
    // SAFETY: `info` is valid with its pointers and handles; the type says which member the union
    // has. Null is the null descriptor.
    let image = |image: *const vk::DescriptorImageInfo, has_sampler: bool| unsafe {
        let (view, sampler) =
            image.as_ref().map_or((0, 0), |i| (address(i.image_view.as_raw()), address(i.sampler.as_raw())));
        let sampler = if has_sampler { descriptor_names.sampler_name(sampler) } else { 0 };
        PackedDescriptor::image(kind, descriptor_names.view_name(view), sampler)
    };
    // SAFETY: `info` is valid with its pointers; null is the null descriptor.
    let buffer = |address: *const vk::DescriptorAddressInfoEXT<'_>| unsafe {
        let texels = matches!(kind, DescriptorKind::UniformTexelBuffer | DescriptorKind::StorageTexelBuffer);
        address.as_ref().map_or(PackedDescriptor::default(), |a| {
            PackedDescriptor::buffer(kind, a.address, a.range, format_of(a.format).ok().filter(|_| texels))
        })
    };
    // SAFETY: `info` is valid with its pointers and handles; the type says which member the union
    // has.
    unsafe {
        Some(match info.ty {
            T::SAMPLER => {
                let sampler = info.data.p_sampler.as_ref().map_or(0, |s| address(s.as_raw()));
                PackedDescriptor::image(kind, 0, descriptor_names.sampler_name(sampler))
            }
            T::COMBINED_IMAGE_SAMPLER => image(info.data.p_combined_image_sampler, true),
            T::SAMPLED_IMAGE => image(info.data.p_sampled_image, false),
            T::STORAGE_IMAGE => image(info.data.p_storage_image, false),
            T::INPUT_ATTACHMENT => image(info.data.p_input_attachment_image, false),
            T::UNIFORM_TEXEL_BUFFER => buffer(info.data.p_uniform_texel_buffer),
            T::STORAGE_TEXEL_BUFFER => buffer(info.data.p_storage_texel_buffer),
            T::UNIFORM_BUFFER => buffer(info.data.p_uniform_buffer),
            T::STORAGE_BUFFER => buffer(info.data.p_storage_buffer),
            T::ACCELERATION_STRUCTURE_KHR => PackedDescriptor::buffer(kind, info.data.acceleration_structure, 0, None),
            _ => return None,
        })
    }
}

/// Writes the capture data of an object ([`CAPTURED_DATA`] bytes).
///
/// # Safety
/// `data` has space for the bytes.
pub unsafe fn write_capture_data(data: *mut c_void, number: u64) {
    // SAFETY: `data` has space for the bytes, as the `# Safety` section demands.
    unsafe { data.cast::<[u8; CAPTURED_DATA]>().write(number.to_le_bytes()) };
}

/// Records the offsets of sets in descriptor buffers.
///
/// # Safety
/// The arguments fulfil the valid usage of the command.
unsafe fn set_offsets(
    buffer: vk::CommandBuffer,
    bind_point: BindPoint,
    layout: vk::PipelineLayout,
    (first_set, indices, offsets): (u32, &[u32], &[vk::DeviceSize]),
) {
    // SAFETY: the valid usage of the command makes handles live.
    unsafe {
        let layouts = &get::<PipelineLayout>(layout).sets;
        let layout = |i: usize| layouts.get(first_set as usize + i).cloned().flatten();
        let sets = indices.iter().zip(offsets).enumerate().map(|(i, (&index, &offset))| (layout(i), index, offset));
        let command = SetDescriptorBufferOffsets { bind_point, first_set, sets: sets.collect() };
        push(buffer, Command::SetDescriptorBufferOffsets(Box::new(command)));
    }
}

/// Records a set with embedded samplers, which never changes.
///
/// # Safety
/// The arguments fulfil the valid usage of the command.
unsafe fn bind_embedded(
    buffer: vk::CommandBuffer,
    bind_point: BindPoint,
    layout: vk::PipelineLayout,
    set: u32,
) -> Result<(), vk::Result> {
    // SAFETY: the valid usage of the command makes handles live.
    unsafe {
        let layout = share::<PipelineLayout>(layout);
        let Some(Some(samplers)) = layout.sets.get(set as usize) else { return Ok(()) };
        let samplers = Arc::new(DescriptorSet::new(samplers.clone(), 0)?);
        let (sets, dynamic_offsets) = (smallvec![Some(samplers)], SmallVec::new());
        let bind = BindDescriptorSets { bind_point, first_set: set, sets, dynamic_offsets };
        push(buffer, Command::BindDescriptorSets(Box::new(bind)));
        Ok(())
    }
}

shims! {
    fn get_descriptor_set_layout_size(_device: vk::Device, layout: vk::DescriptorSetLayout, size: *mut vk::DeviceSize) {
        let layout = get::<SetLayout>(layout);
        *size = layout.size_with_variable_count(u32::MAX) as u64;
    }

    fn get_descriptor_set_layout_binding_offset(
        _device: vk::Device,
        layout: vk::DescriptorSetLayout,
        binding: u32,
        offset: *mut vk::DeviceSize,
    ) {
        let layout = get::<SetLayout>(layout);
        *offset = layout.bindings.get(layout.position(binding)).map_or(0, |b| b.offset.into());
    }

    fn get_descriptor(device: vk::Device, info: *const vk::DescriptorGetInfoEXT<'_>, size: usize, out: *mut c_void) {
        let bytes = packed_descriptor(&dispatchable::<Device>(device).descriptor_names, &*info).unwrap_or_default().to_bytes();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), out.cast(), size.min(bytes.len()));
    }

    fn cmd_bind_descriptor_buffers(
        buffer: vk::CommandBuffer,
        count: u32,
        infos: *const vk::DescriptorBufferBindingInfoEXT<'_>,
    ) {
        let addresses = slice(infos, count).iter().map(|info| info.address).collect();
        push(buffer, Command::BindDescriptorBuffers(addresses));
    }

    fn cmd_set_descriptor_buffer_offsets(
        buffer: vk::CommandBuffer,
        bind_point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first_set: u32,
        count: u32,
        indices: *const u32,
        offsets: *const vk::DeviceSize,
    ) {
        set_offsets(buffer, point(bind_point)?, layout, (first_set, slice(indices, count), slice(offsets, count)));
    }

    fn cmd_set_descriptor_buffer_offsets2(
        buffer: vk::CommandBuffer,
        info: *const vk::SetDescriptorBufferOffsetsInfoEXT<'_>,
    ) {
        let info = &*info;
        let (indices, offsets) = (slice(info.p_buffer_indices, info.set_count), slice(info.p_offsets, info.set_count));
        for bind_point in points(info.stage_flags) {
            set_offsets(buffer, bind_point, info.layout, (info.first_set, indices, offsets));
        }
    }

    fn cmd_bind_descriptor_buffer_embedded_samplers(
        buffer: vk::CommandBuffer,
        bind_point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        set: u32,
    ) {
        bind_embedded(buffer, point(bind_point)?, layout, set)?;
    }

    fn cmd_bind_descriptor_buffer_embedded_samplers2(
        buffer: vk::CommandBuffer,
        info: *const vk::BindDescriptorBufferEmbeddedSamplersInfoEXT<'_>,
    ) {
        let info = &*info;
        for bind_point in points(info.stage_flags) {
            bind_embedded(buffer, bind_point, info.layout, info.set)?;
        }
    }

    // Data with which another process makes the same descriptors. For a sparse buffer this is its
    // address (that of a bound buffer follows from its memory), for a view and a sampler its name.
    // For an image there is nothing, because descriptors do not refer to it.
    fn get_buffer_opaque_capture_descriptor_data(
        _device: vk::Device,
        info: *const vk::BufferCaptureDescriptorDataInfoEXT<'_>,
        data: *mut c_void,
    ) -> VkResult {
        let buffer = get::<Buffer>((*info).buffer);
        write_capture_data(data, if buffer.is_sparse { buffer.memory().address as u64 } else { 0 });
        Ok(())
    }

    fn get_image_opaque_capture_descriptor_data(
        _device: vk::Device,
        _info: *const vk::ImageCaptureDescriptorDataInfoEXT<'_>,
        data: *mut c_void,
    ) -> VkResult {
        write_capture_data(data, 0);
        Ok(())
    }

    fn get_image_view_opaque_capture_descriptor_data(
        device: vk::Device,
        info: *const vk::ImageViewCaptureDescriptorDataInfoEXT<'_>,
        data: *mut c_void,
    ) -> VkResult {
        write_capture_data(data, dispatchable::<Device>(device).descriptor_names.view_name(address((*info).image_view.as_raw())));
        Ok(())
    }

    fn get_sampler_opaque_capture_descriptor_data(
        device: vk::Device,
        info: *const vk::SamplerCaptureDescriptorDataInfoEXT<'_>,
        data: *mut c_void,
    ) -> VkResult {
        write_capture_data(data, dispatchable::<Device>(device).descriptor_names.sampler_name(address((*info).sampler.as_raw())));
        Ok(())
    }
}
