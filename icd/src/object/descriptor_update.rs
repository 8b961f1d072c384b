//! Writing descriptors: `vkUpdateDescriptorSets`, update templates, push descriptors.

use super::buffer::{Buffer, BufferView};
use super::descriptor::Binding;
use super::descriptor_pool::{DescriptorSet, null_buffer};
use super::image::ImageView;
use super::sampler::Sampler;
use crate::entry::handle::get;
use ash::vk::{self, Handle};
use base::abi::{DESCRIPTOR_SIZE, ImageDescriptor};
use base::shader::DescriptorKind;
use rasterizer::sample::{default_sampler, null_view};

/// Where the descriptors of a write come from: the address and stride of elements of the type's info structure.
#[derive(Clone, Copy)]
pub struct Source {
    /// First element.
    pub data: *const u8,
    /// Bytes between elements.
    pub stride: usize,
}

/// Writes `count` descriptors starting at (binding, element), rolling over into the following bindings.
///
/// # Safety
/// `source` has `count` valid elements of the type's info structure with live handles (bytes, for inline uniform blocks).
pub unsafe fn write(set: &DescriptorSet, binding: u32, element: u32, count: u32, source: Source) {
    let layout = set.layout.clone();
    let (mut position, mut element, mut done) = (layout.position(binding), element, 0);
    while done < count {
        let Some(b) = layout.bindings.get(position) else { return };
        if b.kind == DescriptorKind::InlineUniformBlock {
            // SAFETY: the caller's promise: `count` bytes.
            let bytes = unsafe { std::slice::from_raw_parts(source.data, count as usize) };
            let room = set.count(b).saturating_sub(element) as usize;
            set.write_bytes(b.offset as usize + element as usize, &bytes[..bytes.len().min(room)]);
            return;
        }
        while element < set.count(b) && done < count {
            // SAFETY: element `done` of the source.
            unsafe { write_one(set, b, element, source.data.add(done as usize * source.stride)) };
            element += 1;
            done += 1;
        }
        element = 0;
        position += 1;
    }
}

unsafe fn write_one(set: &DescriptorSet, b: &Binding, element: u32, info: *const u8) {
    let at = b.offset as usize + element as usize * b.stride();
    // SAFETY: (all reads here) `info` is the info structure of the binding's type, handles live or null.
    match b.kind {
        DescriptorKind::UniformBuffer | DescriptorKind::StorageBuffer => {
            // SAFETY: as above.
            let (descriptor, _) = unsafe { buffer_descriptor(&*info.cast()) };
            set.write(at, descriptor);
        }
        DescriptorKind::UniformBufferDynamic | DescriptorKind::StorageBufferDynamic => {
            // SAFETY: as above.
            let (descriptor, end) = unsafe { buffer_descriptor(&*info.cast()) };
            set.write_dynamic(at, descriptor, end);
        }
        DescriptorKind::UniformTexelBuffer | DescriptorKind::StorageTexelBuffer => {
            // SAFETY: as above.
            let handle = unsafe { *info.cast::<vk::BufferView>() };
            let view = match handle.is_null() {
                true => std::ptr::from_ref(null_view()),
                // SAFETY: as above.
                false => unsafe { &raw const *get::<BufferView>(handle).view },
            };
            set.write(at, ImageDescriptor { view, sampler: default_sampler() });
        }
        _ => {
            // SAFETY: as above.
            let info = unsafe { *info.cast::<vk::DescriptorImageInfo>() };
            // SAFETY: as above.
            let descriptor = unsafe { image_descriptor(b, element, info) };
            set.write(at, descriptor);
        }
    }
}

unsafe fn buffer_descriptor(info: &vk::DescriptorBufferInfo) -> (base::abi::BufferDescriptor, u64) {
    if info.buffer.is_null() {
        return (null_buffer(), 0);
    }
    // SAFETY: the caller's promise.
    let buffer = unsafe { get::<Buffer>(info.buffer) };
    let descriptor = buffer.descriptor(info.offset, info.range);
    descriptor.map_or((null_buffer(), 0), |d| (d, buffer.size - info.offset))
}

unsafe fn image_descriptor(b: &Binding, element: u32, info: vk::DescriptorImageInfo) -> ImageDescriptor {
    let has_view = b.kind != DescriptorKind::Sampler && !info.image_view.is_null();
    let takes_sampler = matches!(b.kind, DescriptorKind::Sampler | DescriptorKind::CombinedImageSampler);
    let immutable = b.immutable_samplers.get(element as usize);
    // SAFETY: the caller's promise; only the handles that the type uses are looked at.
    unsafe {
        let view = if has_view { &raw const *get::<ImageView>(info.image_view).view } else { null_view() };
        let sampler = match immutable {
            Some(sampler) => &raw const *sampler.sampler,
            None if takes_sampler && !info.sampler.is_null() => &raw const *get::<Sampler>(info.sampler).sampler,
            None => default_sampler(),
        };
        ImageDescriptor { view, sampler }
    }
}

/// The source of a `VkWriteDescriptorSet`, and its count.
///
/// # Safety
/// `w` is valid with its chain.
pub unsafe fn source_of(w: &vk::WriteDescriptorSet<'_>) -> (Source, u32) {
    let (data, stride) = match w.descriptor_type {
        vk::DescriptorType::INLINE_UNIFORM_BLOCK => {
            // SAFETY: the caller's promise.
            let block = unsafe { crate::entry::shim::find::<vk::WriteDescriptorSetInlineUniformBlock<'_>>(w.p_next) };
            return block.map_or((Source { data: std::ptr::null(), stride: 1 }, 0), |b| {
                (Source { data: b.p_data.cast(), stride: 1 }, b.data_size)
            });
        }
        vk::DescriptorType::UNIFORM_TEXEL_BUFFER | vk::DescriptorType::STORAGE_TEXEL_BUFFER => {
            (w.p_texel_buffer_view.cast::<u8>(), size_of::<vk::BufferView>())
        }
        vk::DescriptorType::UNIFORM_BUFFER
        | vk::DescriptorType::STORAGE_BUFFER
        | vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC
        | vk::DescriptorType::STORAGE_BUFFER_DYNAMIC => (w.p_buffer_info.cast(), size_of::<vk::DescriptorBufferInfo>()),
        _ => (w.p_image_info.cast(), size_of::<vk::DescriptorImageInfo>()),
    };
    (Source { data, stride }, if data.is_null() { 0 } else { w.descriptor_count })
}

/// A `VkCopyDescriptorSet`.
pub fn copy(from: &DescriptorSet, to: &DescriptorSet, c: &vk::CopyDescriptorSet<'_>) {
    let (mut from_at, mut to_at) = (from.layout.position(c.src_binding), to.layout.position(c.dst_binding));
    let (mut from_element, mut to_element) = (c.src_array_element, c.dst_array_element);
    for i in 0..c.descriptor_count {
        while from.layout.bindings.get(from_at).is_some_and(|b| from_element >= from.count(b)) {
            (from_at, from_element) = (from_at + 1, 0);
        }
        while to.layout.bindings.get(to_at).is_some_and(|b| to_element >= to.count(b)) {
            (to_at, to_element) = (to_at + 1, 0);
        }
        let (Some(src), Some(dst)) = (from.layout.bindings.get(from_at), to.layout.bindings.get(to_at)) else { return };
        if src.kind == DescriptorKind::InlineUniformBlock {
            copy_inline(from, to, (src, from_element), (dst, to_element), c.descriptor_count - i);
            return;
        }
        let at = |b: &Binding, element: u32| b.offset as usize + element as usize * b.stride();
        for part in (0..src.stride().min(dst.stride())).step_by(DESCRIPTOR_SIZE) {
            if let Some(words) = from.read::<[u64; 2]>(at(src, from_element) + part) {
                to.write(at(dst, to_element) + part, words);
            }
        }
        from_element += 1;
        to_element += 1;
    }
}

fn copy_inline(from: &DescriptorSet, to: &DescriptorSet, src: (&Binding, u32), dst: (&Binding, u32), bytes: u32) {
    let (readable, room) = (from.count(src.0).saturating_sub(src.1), to.count(dst.0).saturating_sub(dst.1));
    let bytes = bytes.min(readable).min(room) as usize;
    let at = src.0.offset as usize + src.1 as usize;
    // SAFETY: inside the source binding's bytes.
    let data = unsafe { std::slice::from_raw_parts(from.base().add(at), bytes) }.to_vec();
    to.write_bytes(dst.0.offset as usize + dst.1 as usize, &data);
}

/// `VkDescriptorUpdateTemplate`.
pub struct UpdateTemplate {
    /// Entries.
    pub entries: Vec<vk::DescriptorUpdateTemplateEntry>,
    /// For push descriptors.
    pub bind_point: vk::PipelineBindPoint,
}

impl UpdateTemplate {
    /// Applies the template.
    ///
    /// # Safety
    /// `data` holds what the entries say.
    pub unsafe fn apply(&self, set: &DescriptorSet, data: *const core::ffi::c_void) {
        for e in &self.entries {
            let inline = e.descriptor_type == vk::DescriptorType::INLINE_UNIFORM_BLOCK;
            // SAFETY: the caller's promise.
            unsafe {
                let source =
                    Source { data: data.cast::<u8>().add(e.offset), stride: if inline { 1 } else { e.stride } };
                write(set, e.dst_binding, e.dst_array_element, e.descriptor_count, source);
            }
        }
    }
}
