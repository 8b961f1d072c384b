//! Descriptor set layouts: the offset of each descriptor in a set's memory.
//!
//! Every descriptor takes 16 bytes (`base::abi::descriptor`). A dynamic buffer takes two slots: its
//! descriptor and the end of its buffer, because the dynamic offset is added when the set is bound
//! and the range must not leave the buffer.

use super::sampler::Sampler;
use crate::caps::properties::{MAX_INLINE_UNIFORM_BLOCK_SIZE, MAX_PER_SET_DESCRIPTORS};
use crate::fallible;
use ash::vk;
use base::abi::DESCRIPTOR_SIZE;
use base::shader::DescriptorKind;
use std::sync::Arc;

/// One binding.
pub struct Binding {
    /// Number of the binding.
    pub binding: u32,
    /// Type of the descriptors in the shader compiler.
    pub kind: DescriptorKind,
    /// Number of array elements, or of bytes of an inline uniform block.
    pub count: u32,
    /// Byte offset of element 0.
    pub offset: u32,
    /// Number of dynamic buffers before this one in the set.
    pub dynamic_index: u32,
    /// Immutable samplers, one per element.
    pub immutable_samplers: Vec<Arc<Sampler>>,
    /// Flags of the binding.
    pub flags: vk::DescriptorBindingFlags,
    /// True if the descriptor is mutable and may become a buffer.
    pub may_be_buffer: bool,
}

impl Binding {
    /// Returns the number of bytes between elements.
    pub fn stride(&self) -> usize {
        match self.kind {
            DescriptorKind::UniformBufferDynamic | DescriptorKind::StorageBufferDynamic => 2 * DESCRIPTOR_SIZE,
            DescriptorKind::InlineUniformBlock => 1,
            _ => DESCRIPTOR_SIZE,
        }
    }
    /// Returns true for dynamic buffers.
    pub fn is_dynamic(&self) -> bool {
        matches!(self.kind, DescriptorKind::UniformBufferDynamic | DescriptorKind::StorageBufferDynamic)
    }
    /// Returns true if the number of elements is given when a set is allocated. Only the last
    /// binding can have a variable count.
    pub fn is_variable(&self) -> bool {
        self.flags.contains(vk::DescriptorBindingFlags::VARIABLE_DESCRIPTOR_COUNT)
    }
    /// Returns the number of elements in a set whose variable count is `variable_count`.
    pub fn count_in_set(&self, variable_count: u32) -> u32 {
        if self.is_variable() { self.count.min(variable_count) } else { self.count }
    }
    /// Returns the number of bytes of `count` elements and the null descriptor that represents all
    /// others that generated code may access. There is one behind a variable count, and in place of
    /// zero elements. The result is a multiple of a descriptor's size; it saturates.
    fn bytes(&self, count: u32) -> usize {
        let elements = self.stride().saturating_mul(count as usize).div_ceil(DESCRIPTOR_SIZE) * DESCRIPTOR_SIZE;
        let null = self.is_variable() || count == 0;
        elements.saturating_add(if null { self.stride().next_multiple_of(DESCRIPTOR_SIZE) } else { 0 })
    }
}

/// Contents of a `VkDescriptorSetLayoutBinding`.
#[allow(missing_docs, reason = "as in Binding")]
pub struct BindingInfo {
    pub binding: u32,
    pub ty: vk::DescriptorType,
    pub count: u32,
    /// Empty for types without samplers.
    pub immutable_samplers: Vec<Arc<Sampler>>,
    pub flags: vk::DescriptorBindingFlags,
    /// Types that a mutable descriptor may have.
    pub mutable: Vec<vk::DescriptorType>,
}

/// `VkDescriptorSetLayout`.
#[derive(Default)]
pub struct SetLayout {
    /// Bindings, sorted by number.
    pub bindings: Vec<Binding>,
    /// Number of dynamic buffers in the set.
    pub dynamic_count: u32,
}

impl SetLayout {
    /// Computes the offsets of the bindings.
    pub fn new(bindings: Vec<BindingInfo>) -> Result<SetLayout, vk::Result> {
        let mut translated = fallible::try_collect(bindings.into_iter().map(|b| {
            let kind = kind_of(b.ty).ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)?;
            let may_be_buffer = kind == DescriptorKind::Mutable && may_be_buffer(&b.mutable)?;
            Ok(Binding {
                binding: b.binding,
                kind,
                count: b.count,
                offset: 0,
                dynamic_index: 0,
                immutable_samplers: b.immutable_samplers,
                flags: b.flags,
                may_be_buffer,
            })
        }))?;
        translated.sort_by_key(|b| b.binding);
        let last = translated.len().saturating_sub(1);
        for (i, b) in translated.iter_mut().enumerate() {
            // No other binding may have the flag. Generated code finds the count of one binding,
            // and not of dynamic buffers.
            if i < last || b.is_dynamic() {
                b.flags &= !vk::DescriptorBindingFlags::VARIABLE_DESCRIPTOR_COUNT;
            }
        }
        let (mut size, mut dynamic_count) = (0usize, 0u32);
        for b in &mut translated {
            b.offset = u32::try_from(size).map_err(|_| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
            b.dynamic_index = dynamic_count;
            size = size.saturating_add(b.bytes(b.count));
            dynamic_count = dynamic_count.saturating_add(if b.is_dynamic() { b.count } else { 0 });
        }
        // Generated code has offsets of 31 bits.
        if i32::try_from(size).is_err() {
            return Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY);
        }
        Ok(SetLayout { bindings: translated, dynamic_count })
    }

    /// Returns the largest number of elements that the last binding may have if it is variable, for
    /// any count that it has here; 0 if it is not.
    pub fn max_variable_count(&self) -> u32 {
        let Some((last, others)) = self.bindings.split_last().filter(|(last, _)| last.is_variable()) else { return 0 };
        if last.kind == DescriptorKind::InlineUniformBlock {
            return MAX_INLINE_UNIFORM_BLOCK_SIZE;
        }
        // A block counts as one descriptor.
        let descriptors = |b: &Binding| if b.kind == DescriptorKind::InlineUniformBlock { 1 } else { b.count };
        others.iter().fold(MAX_PER_SET_DESCRIPTORS, |left, b| left.saturating_sub(descriptors(b)))
    }

    /// Returns the index of a binding, or of the next one if it does not exist.
    pub fn position(&self, binding: u32) -> usize {
        self.bindings.partition_point(|b| b.binding < binding)
    }

    /// Returns true if a set of this layout may be used where `other` is expected: both have equal
    /// descriptors at equal offsets.
    pub fn compatible(&self, other: &SetLayout) -> bool {
        let same = |(a, b): (&Binding, &Binding)| {
            a.binding == b.binding
                && a.kind == b.kind
                && (a.count, a.is_variable()) == (b.count, b.is_variable())
                && a.offset == b.offset
        };
        std::ptr::eq(self, other)
            || (self.bindings.len() == other.bindings.len() && self.bindings.iter().zip(&other.bindings).all(same))
    }

    /// Returns the number of bytes of a set whose variable binding has `count` elements.
    pub fn size_with_variable_count(&self, count: u32) -> usize {
        match self.bindings.last() {
            Some(last) => last.offset as usize + last.bytes(last.count_in_set(count)),
            None => 0,
        }
    }
}

/// Returns true if there is a buffer among the types that a mutable descriptor may have.
///
/// # Errors
/// Fails if a mutable descriptor must not have one of the types.
fn may_be_buffer(types: &[vk::DescriptorType]) -> Result<bool, vk::Result> {
    use DescriptorKind as K;
    types.iter().try_fold(false, |found, ty| match kind_of(*ty) {
        Some(K::UniformBuffer | K::StorageBuffer) => Ok(true),
        None | Some(K::UniformBufferDynamic | K::StorageBufferDynamic | K::InlineUniformBlock | K::Mutable) => {
            Err(vk::Result::ERROR_FEATURE_NOT_PRESENT)
        }
        Some(_) => Ok(found),
    })
}

/// Returns the compiler's counterpart of a descriptor type; `None` for types that the driver does
/// not have.
pub fn kind_of(ty: vk::DescriptorType) -> Option<DescriptorKind> {
    Some(match ty {
        vk::DescriptorType::SAMPLER => DescriptorKind::Sampler,
        vk::DescriptorType::COMBINED_IMAGE_SAMPLER => DescriptorKind::CombinedImageSampler,
        vk::DescriptorType::SAMPLED_IMAGE => DescriptorKind::SampledImage,
        vk::DescriptorType::STORAGE_IMAGE => DescriptorKind::StorageImage,
        vk::DescriptorType::UNIFORM_TEXEL_BUFFER => DescriptorKind::UniformTexelBuffer,
        vk::DescriptorType::STORAGE_TEXEL_BUFFER => DescriptorKind::StorageTexelBuffer,
        vk::DescriptorType::UNIFORM_BUFFER => DescriptorKind::UniformBuffer,
        vk::DescriptorType::STORAGE_BUFFER => DescriptorKind::StorageBuffer,
        vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC => DescriptorKind::UniformBufferDynamic,
        vk::DescriptorType::STORAGE_BUFFER_DYNAMIC => DescriptorKind::StorageBufferDynamic,
        vk::DescriptorType::INPUT_ATTACHMENT => DescriptorKind::InputAttachment,
        vk::DescriptorType::INLINE_UNIFORM_BLOCK => DescriptorKind::InlineUniformBlock,
        vk::DescriptorType::ACCELERATION_STRUCTURE_KHR => DescriptorKind::AccelerationStructure,
        vk::DescriptorType::MUTABLE_EXT => DescriptorKind::Mutable,
        _ => return None,
    })
}
