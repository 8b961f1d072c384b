//! The parts of a pipeline layout by which `jit` finds descriptors.

#![forbid(unsafe_code)]

use crate::limits::MAX_DESCRIPTOR_SETS;

/// Descriptor type of a binding, as far as shader code can distinguish types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DescriptorKind {
    /// Sampler only.
    Sampler,
    /// Combined image sampler.
    CombinedImageSampler,
    /// Sampled image.
    SampledImage,
    /// Storage image.
    StorageImage,
    /// Uniform texel buffer.
    UniformTexelBuffer,
    /// Storage texel buffer.
    StorageTexelBuffer,
    /// Uniform buffer.
    UniformBuffer,
    /// Storage buffer.
    StorageBuffer,
    /// Dynamic uniform buffer: read from `ShaderContext::dynamic_buffers`.
    UniformBufferDynamic,
    /// Dynamic storage buffer: read from `ShaderContext::dynamic_buffers`.
    StorageBufferDynamic,
    /// Input attachment.
    InputAttachment,
    /// Inline uniform block: its `count` bytes are in the set memory itself at `offset`.
    InlineUniformBlock,
    /// Acceleration structure: its 64-bit device address (`abi::AccelerationStructureDescriptor`).
    AccelerationStructure,
    /// Mutable descriptor of the last written type, which is neither a dynamic buffer nor an inline
    /// uniform block.
    Mutable,
}

/// One binding of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BindingLayout {
    /// Binding number.
    pub binding: u32,
    /// Descriptor type.
    pub kind: DescriptorKind,
    /// Byte offset of element 0 in the set memory (not for dynamic buffers).
    pub offset: u32,
    /// Array size (descriptors; bytes for inline uniform blocks). Indices are clamped to it. With 0
    /// there is one null descriptor.
    pub count: u32,
    /// True if `count` is only the maximum of a set. The set's own count is stored before its
    /// memory ([`crate::abi::SetHeader`]). After its last descriptor there is a null descriptor, to
    /// which greater indices are clamped.
    pub variable: bool,
    /// Index of element 0 of dynamic buffers among those of the set
    /// ([`crate::abi::DynamicBuffers::sets`]).
    pub dynamic_index: u32,
}

/// The sets of a pipeline layout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PipelineLayoutInfo {
    /// Bindings by set number, sorted by binding number.
    pub sets: Vec<Vec<BindingLayout>>,
    /// Mappings to descriptor heaps, if resources are in heaps; then only embedded samplers are in
    /// sets.
    pub heap: Option<Vec<HeapMapping>>,
}

/// The location of resources of a module: `VkDescriptorSetAndBindingMappingEXT`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeapMapping {
    /// `DescriptorSet` of the resources.
    pub set: u32,
    /// First `Binding` of the resources.
    pub first_binding: u32,
    /// Number of bindings.
    pub binding_count: u32,
    /// Mask of `VkSpirvResourceTypeFlagsEXT`.
    pub resource_mask: u32,
    /// Location of the descriptors.
    pub source: MappingSource,
}

impl HeapMapping {
    /// Returns true if the mapping includes the given resource, whose type has the given
    /// `VkSpirvResourceTypeFlagBitsEXT`.
    pub fn has(&self, set: u32, binding: u32, resource: u32) -> bool {
        let number = binding.checked_sub(self.first_binding);
        self.set == set && number.is_some_and(|n| n < self.binding_count) && self.resource_mask & resource != 0
    }
}

/// Data of a `VkDescriptorMappingSourceEXT`; offsets and strides are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MappingSource {
    /// Descriptors are in a heap.
    Heap {
        /// Place of descriptors that are not sampled images.
        resource: HeapPlace,
        /// Embedded sampler of the mapping, if it has one.
        embedded: Option<EmbeddedSampler>,
        /// Place of the sampler of a sampled image.
        sampler: HeapPlace,
        /// True if the resource's index contains the sampler's in its high bits.
        combined: bool,
    },
    /// The bytes of a uniform buffer are in the resource heap, at the sum of `offset` and a word of
    /// push data.
    HeapData {
        /// Offset in the heap.
        offset: u32,
        /// Offset of the word in push data.
        push: u32,
    },
    /// The bytes of a uniform buffer are in push data.
    PushData(u32),
    /// The resource is at an address in push data.
    PushAddress(u32),
    /// The resource is at an address that is in memory, at `offset` from an address in push data.
    IndirectAddress {
        /// Offset of the address in push data.
        push: u32,
        /// Offset from that address.
        offset: u32,
    },
    /// The bytes of a uniform buffer are in the shader record, at this offset.
    RecordData(u32),
    /// The resource is at an address in the shader record, at this offset.
    RecordAddress(u32),
}

/// The location of an embedded sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EmbeddedSampler {
    /// Number of the set in [`PipelineLayoutInfo::sets`], which has one binding.
    pub set: u32,
    /// Index in that binding.
    pub index: u32,
}

/// The location of the descriptors of a binding's elements in their heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeapPlace {
    /// Offset of the first descriptor.
    pub offset: u32,
    /// Distance to the next descriptor. Elements count from the mapping's first binding on.
    pub array_stride: u32,
    /// Index that is added.
    pub index: HeapIndex,
    /// Factor of the index.
    pub index_stride: u32,
}

/// The source of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeapIndex {
    /// There is no index.
    None,
    /// The index is a word of push data.
    Push(u32),
    /// The index is a word at `offset` from an address in push data.
    Indirect {
        /// Offset of the address in push data.
        push: u32,
        /// Offset from that address.
        offset: u32,
    },
    /// The index is the element's word of an array at `offset` from an address in push data.
    IndirectArray {
        /// Offset of the address in push data.
        push: u32,
        /// Offset from that address.
        offset: u32,
    },
    /// The index is a word of the shader record, at this offset.
    Record(u32),
}

impl PipelineLayoutInfo {
    /// Returns the binding, if the layout has it. Sets beyond [`MAX_DESCRIPTOR_SETS`] are not
    /// found, because contexts of shaders have no pointers to them.
    pub fn find(&self, set: u32, binding: u32) -> Option<&BindingLayout> {
        let bindings = self.sets.get(set as usize).filter(|_| (set as usize) < MAX_DESCRIPTOR_SETS)?;
        bindings.binary_search_by_key(&binding, |b| b.binding).ok().map(|i| &bindings[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_without_a_pointer_in_the_context_are_not_found() {
        let kind = DescriptorKind::StorageBuffer;
        let one = vec![BindingLayout { binding: 3, kind, offset: 0, count: 1, variable: false, dynamic_index: 0 }];
        let layout = PipelineLayoutInfo { sets: vec![one; MAX_DESCRIPTOR_SETS + 1], heap: None };
        let last = MAX_DESCRIPTOR_SETS as u32 - 1;
        assert!(layout.find(last, 3).is_some());
        assert!(layout.find(last, 2).is_none() && layout.find(last + 1, 3).is_none());
    }
}
