//! Sources of descriptors: `VkWriteDescriptorSet`, and the application's memory of an update
//! template.

use crate::ffi::handle::get;
use crate::ffi::pointer::find;
use crate::object::acceleration_structure::AccelerationStructure;
use crate::object::buffer::{Buffer, BufferView};
use crate::object::descriptor_pool::DescriptorSet;
use crate::object::descriptor_update::{DescriptorSource, UpdateTemplate, write};
use crate::object::image::ImageView;
use crate::object::sampler::Sampler;
use ash::vk::{self, Handle};
use core::ffi::c_void;

/// Elements of a descriptor type's info structure (bytes, for inline uniform blocks).
///
/// Invariant: `count` elements are valid as long as this value lives, with live handles. Callers
/// only ask for members that the type has.
pub struct RawElements {
    data: *const u8,
    /// Number of bytes between elements.
    stride: usize,
    count: u32,
    ty: vk::DescriptorType,
}

impl RawElements {
    /// Returns element `i` of a type's info structure.
    fn element<T: Copy>(&self, i: u32) -> T {
        // SAFETY: the elements are valid by the type's invariant; a template's data need not be
        // aligned.
        unsafe { self.data.add(i as usize * self.stride).cast::<T>().read_unaligned() }
    }
}

impl DescriptorSource for RawElements {
    fn ty(&self) -> vk::DescriptorType {
        self.ty
    }
    fn buffer(&self, i: u32) -> Option<(&Buffer, u64, u64)> {
        let info: vk::DescriptorBufferInfo = self.element(i);
        // SAFETY: the handle is not null, so it is live by the type's invariant.
        (!info.buffer.is_null()).then(|| (unsafe { get::<Buffer>(info.buffer) }, info.offset, info.range))
    }
    fn texel_buffer(&self, i: u32) -> Option<&BufferView> {
        let view: vk::BufferView = self.element(i);
        // SAFETY: the handle is not null, so it is live by the type's invariant.
        (!view.is_null()).then(|| unsafe { get::<BufferView>(view) })
    }
    fn view(&self, i: u32) -> Option<&ImageView> {
        let view = self.element::<vk::DescriptorImageInfo>(i).image_view;
        // SAFETY: the handle is not null, so it is live by the type's invariant.
        (!view.is_null()).then(|| unsafe { get::<ImageView>(view) })
    }
    fn sampler(&self, i: u32) -> Option<&Sampler> {
        let sampler = self.element::<vk::DescriptorImageInfo>(i).sampler;
        // SAFETY: the handle is not null, so it is live by the type's invariant.
        (!sampler.is_null()).then(|| unsafe { get::<Sampler>(sampler) })
    }
    fn structure(&self, i: u32) -> u64 {
        let structure: vk::AccelerationStructureKHR = self.element(i);
        // SAFETY: the handle is not null, so it is live by the type's invariant.
        let address = |structure| unsafe { get::<AccelerationStructure>(structure) }.memory().address as u64;
        if structure.is_null() { 0 } else { address(structure) }
    }
    fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes are valid by the type's invariant.
        unsafe { crate::ffi::pointer::slice(self.data, self.count) }
    }
}

/// Returns the elements of a `VkWriteDescriptorSet`, and their count.
///
/// # Safety
/// `w` is valid with its chain and handles, as long as the elements are used.
pub unsafe fn elements_of(w: &vk::WriteDescriptorSet<'_>) -> (RawElements, u32) {
    let (data, stride, count) = match w.descriptor_type {
        vk::DescriptorType::INLINE_UNIFORM_BLOCK => {
            // SAFETY: `w` is valid with its chain, as the `# Safety` section demands.
            let block = unsafe { find::<vk::WriteDescriptorSetInlineUniformBlock<'_>>(w.p_next) };
            block.map_or((std::ptr::null(), 1, 0), |b| (b.p_data.cast(), 1, b.data_size))
        }
        vk::DescriptorType::ACCELERATION_STRUCTURE_KHR => {
            // SAFETY: `w` is valid with its chain, as the `# Safety` section demands.
            let list = unsafe { find::<vk::WriteDescriptorSetAccelerationStructureKHR<'_>>(w.p_next) };
            list.map_or((std::ptr::null(), 0, 0), |list| {
                let stride = size_of::<vk::AccelerationStructureKHR>();
                (list.p_acceleration_structures.cast(), stride, list.acceleration_structure_count)
            })
        }
        vk::DescriptorType::UNIFORM_TEXEL_BUFFER | vk::DescriptorType::STORAGE_TEXEL_BUFFER => {
            (w.p_texel_buffer_view.cast::<u8>(), size_of::<vk::BufferView>(), w.descriptor_count)
        }
        vk::DescriptorType::UNIFORM_BUFFER
        | vk::DescriptorType::STORAGE_BUFFER
        | vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC
        | vk::DescriptorType::STORAGE_BUFFER_DYNAMIC => {
            (w.p_buffer_info.cast(), size_of::<vk::DescriptorBufferInfo>(), w.descriptor_count)
        }
        _ => (w.p_image_info.cast(), size_of::<vk::DescriptorImageInfo>(), w.descriptor_count),
    };
    let count = if data.is_null() { 0 } else { count };
    (RawElements { data, stride, count, ty: w.descriptor_type }, count)
}

/// Writes a template's descriptors.
///
/// # Safety
/// `data` has what the entries describe, with live handles.
pub unsafe fn apply(template: &UpdateTemplate, set: &DescriptorSet, data: *const c_void) {
    for e in &template.entries {
        let inline = e.descriptor_type == vk::DescriptorType::INLINE_UNIFORM_BLOCK;
        let elements = RawElements {
            data: data.cast::<u8>().wrapping_add(e.offset),
            stride: if inline { 1 } else { e.stride },
            count: e.descriptor_count,
            ty: e.descriptor_type,
        };
        write(set, e.dst_binding, e.dst_array_element, e.descriptor_count, &elements);
    }
}
