//! Writing descriptors: `vkUpdateDescriptorSets`, update templates, push descriptors.

use super::bind_point::BindPoint;
use super::buffer::{Buffer, BufferView};
use super::descriptor::{Binding, kind_of};
use super::descriptor_pool::{DescriptorSet, null_buffer};
use super::image::ImageView;
use super::sampler::Sampler;
use ash::vk;
use base::abi::{AccelerationStructureDescriptor, BufferDescriptor, DESCRIPTOR_SIZE, ImageDescriptor};
use base::shader::DescriptorKind;
use texture::{default_sampler, null_view};

/// Source of the descriptors of a write, by number; null descriptors are `None`.
pub trait DescriptorSource {
    /// Returns the type of the descriptors, for a mutable binding.
    fn ty(&self) -> vk::DescriptorType;
    /// Returns the buffer, offset and range of a buffer descriptor.
    fn buffer(&self, i: u32) -> Option<(&Buffer, u64, u64)>;
    /// Returns the view of a texel buffer descriptor.
    fn texel_buffer(&self, i: u32) -> Option<&BufferView>;
    /// Returns the view of an image descriptor.
    fn view(&self, i: u32) -> Option<&ImageView>;
    /// Returns the sampler of an image descriptor or sampler.
    fn sampler(&self, i: u32) -> Option<&Sampler>;
    /// Returns the device address of an acceleration structure; 0 for a null descriptor.
    fn structure(&self, i: u32) -> u64;
    /// Returns all bytes of an inline uniform block.
    fn bytes(&self) -> &[u8];
}

/// Writes `count` descriptors starting at (binding, element), rolling over into the following
/// bindings.
pub fn write(set: &DescriptorSet, binding: u32, element: u32, count: u32, from: &impl DescriptorSource) {
    let layout = &set.layout;
    let (mut position, mut element, mut done) = (layout.position(binding), element, 0);
    while done < count {
        let Some(b) = layout.bindings.get(position) else { return };
        if b.kind == DescriptorKind::InlineUniformBlock {
            let (bytes, room) = (from.bytes(), set.count(b).saturating_sub(element) as usize);
            set.memory().write_bytes(b.offset as usize + element as usize, &bytes[..bytes.len().min(room)]);
            return;
        }
        while element < set.count(b) && done < count {
            write_one(set, b, element, from, done);
            element += 1;
            done += 1;
        }
        element = 0;
        position += 1;
    }
}

/// Writes one descriptor. It only reads the members that the binding's type has.
fn write_one(set: &DescriptorSet, b: &Binding, element: u32, from: &impl DescriptorSource, i: u32) {
    let at = b.offset as usize + element as usize * b.stride();
    let kind = match b.kind {
        DescriptorKind::Mutable => kind_of(from.ty()).unwrap_or(DescriptorKind::Mutable),
        kind => kind,
    };
    match kind {
        DescriptorKind::UniformBuffer | DescriptorKind::StorageBuffer => {
            set.memory().write(at, buffer_descriptor(from.buffer(i)).0);
        }
        DescriptorKind::UniformBufferDynamic | DescriptorKind::StorageBufferDynamic if b.is_dynamic() => {
            let (descriptor, end) = buffer_descriptor(from.buffer(i));
            set.write_dynamic(at, descriptor, end);
        }
        DescriptorKind::UniformTexelBuffer | DescriptorKind::StorageTexelBuffer => {
            let view = from.texel_buffer(i).map_or(std::ptr::from_ref(null_view()), |view| &raw const *view.view);
            set.memory().write(at, ImageDescriptor { view, sampler: default_sampler() });
        }
        DescriptorKind::AccelerationStructure => set.memory().write(at, structure_descriptor(from.structure(i))),
        DescriptorKind::Sampler
        | DescriptorKind::CombinedImageSampler
        | DescriptorKind::SampledImage
        | DescriptorKind::StorageImage
        | DescriptorKind::InputAttachment => {
            let immutable = b.immutable_samplers.get(element as usize).map(|sampler| &**sampler);
            set.memory().write(at, image_descriptor(kind, immutable, from, i));
        }
        // A mutable descriptor cannot have these types.
        DescriptorKind::UniformBufferDynamic
        | DescriptorKind::StorageBufferDynamic
        | DescriptorKind::InlineUniformBlock
        | DescriptorKind::Mutable => {}
    }
}

/// Returns the words of the descriptor of an acceleration structure: its address, and nothing.
pub fn structure_descriptor(address: u64) -> [u64; 2] {
    const { assert!(size_of::<AccelerationStructureDescriptor>() == size_of::<u64>()) };
    [address, 0]
}

/// Returns a buffer's descriptor, and the number of bytes that the buffer has from its address on.
fn buffer_descriptor(info: Option<(&Buffer, u64, u64)>) -> (BufferDescriptor, u64) {
    let descriptor =
        info.and_then(|(buffer, offset, range)| Some((buffer.descriptor(offset, range)?, buffer.size - offset)));
    descriptor.unwrap_or((null_buffer(), 0))
}

fn image_descriptor(
    kind: DescriptorKind,
    immutable: Option<&Sampler>,
    from: &impl DescriptorSource,
    i: u32,
) -> ImageDescriptor {
    let view = if kind == DescriptorKind::Sampler { None } else { from.view(i) };
    let sampler = match immutable {
        Some(immutable) => Some(immutable),
        None if matches!(kind, DescriptorKind::Sampler | DescriptorKind::CombinedImageSampler) => from.sampler(i),
        None => None,
    };
    ImageDescriptor {
        view: view.map_or(std::ptr::from_ref(null_view()), |view| match kind {
            DescriptorKind::StorageImage => std::ptr::from_ref(view.storage()),
            _ => std::ptr::from_ref(view.view()),
        }),
        sampler: sampler.map_or(std::ptr::from_ref(default_sampler()), |sampler| &raw const *sampler.sampler),
    }
}

/// Executes a `VkCopyDescriptorSet`.
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
            if let Some(words) = from.memory().read::<[u64; 2]>(at(src, from_element) + part) {
                to.memory().write(at(dst, to_element) + part, words);
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
    let data = from.memory().read_bytes(at, bytes);
    to.memory().write_bytes(dst.0.offset as usize + dst.1 as usize, &data);
}

/// `VkDescriptorUpdateTemplate`.
pub struct UpdateTemplate {
    /// Entries of the template.
    pub entries: Vec<vk::DescriptorUpdateTemplateEntry>,
    /// Bind point, for push descriptors.
    pub bind_point: BindPoint,
}
