//! A pipeline layout, as far as `jit` needs it to find descriptors.

#![forbid(unsafe_code)]

use crate::abi::NEAR_DYNAMIC_BUFFERS;

/// Descriptor type of a binding, as far as shader code can tell.
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
    /// Inline uniform block: the bytes lie in the set memory itself at `offset`, `count` bytes.
    InlineUniformBlock,
    /// What was written last: anything but a dynamic buffer or an inline uniform block.
    Mutable,
}

/// One binding of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BindingLayout {
    /// Binding number.
    pub binding: u32,
    /// Type.
    pub kind: DescriptorKind,
    /// Byte offset of element 0 in the set memory (not for dynamic buffers).
    pub offset: u32,
    /// Array size (descriptors; bytes for inline uniform blocks). Indices are clamped to it. With 0 there is one null descriptor.
    pub count: u32,
    /// `count` is only the most that a set may have: its own count lies before its memory ([`crate::abi::SetHeader`]), and behind its
    /// last descriptor there is a null descriptor, to which greater indices are clamped.
    pub variable: bool,
    /// Dynamic buffers: index of element 0 in `ShaderContext::dynamic_buffers`, pipeline-layout wide.
    pub dynamic_index: u32,
}

impl BindingLayout {
    /// Dynamic buffers: all of them lie in the context itself.
    pub const fn is_near(&self) -> bool {
        self.dynamic_index as usize + self.count as usize <= NEAR_DYNAMIC_BUFFERS
    }
}

/// The sets of a pipeline layout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PipelineLayoutInfo {
    /// By set number; bindings sorted by number.
    pub sets: Vec<Vec<BindingLayout>>,
    /// Resources lie in descriptor heaps, there; only embedded samplers are in sets.
    pub heap: Option<Vec<HeapMapping>>,
}

/// Where resources of a module lie: `VkDescriptorSetAndBindingMappingEXT`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeapMapping {
    /// `DescriptorSet` of the resources.
    pub set: u32,
    /// First `Binding`.
    pub first_binding: u32,
    /// How many follow.
    pub binding_count: u32,
    /// `VkSpirvResourceTypeFlagsEXT`.
    pub resource_mask: u32,
    /// Where they are.
    pub source: MappingSource,
}

impl HeapMapping {
    /// Is it of that resource, of a type with that `VkSpirvResourceTypeFlagBitsEXT`?
    pub fn has(&self, set: u32, binding: u32, resource: u32) -> bool {
        let number = binding.checked_sub(self.first_binding);
        self.set == set && number.is_some_and(|n| n < self.binding_count) && self.resource_mask & resource != 0
    }
}

/// `VkDescriptorMappingSourceEXT`, with its data; offsets and strides are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MappingSource {
    /// Descriptors in a heap.
    Heap {
        /// Of what is no sampled image.
        resource: HeapPlace,
        /// Where a sampler is that the mapping brings itself.
        embedded: Option<EmbeddedSampler>,
        /// Of a sampled image's sampler.
        sampler: HeapPlace,
        /// The resource's index has the sampler's in its high bits.
        combined: bool,
    },
    /// A uniform buffer's bytes are in the resource heap, at the sum of `offset` and a word of push data.
    HeapData {
        /// In the heap.
        offset: u32,
        /// In push data.
        push: u32,
    },
    /// A uniform buffer's bytes are in push data.
    PushData(u32),
    /// At an address in push data.
    PushAddress(u32),
    /// At an address that is in memory, at `offset` from an address in push data.
    IndirectAddress {
        /// In push data.
        push: u32,
        /// From there.
        offset: u32,
    },
}

/// Which sampler of which set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EmbeddedSampler {
    /// In [`PipelineLayoutInfo::sets`], of one binding.
    pub set: u32,
    /// In that binding.
    pub index: u32,
}

/// Where the descriptors of a binding's elements are in their heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeapPlace {
    /// Of the first one.
    pub offset: u32,
    /// To the next one. Elements count from the mapping's first binding on.
    pub array_stride: u32,
    /// What is added.
    pub index: HeapIndex,
    /// What the index is multiplied by.
    pub index_stride: u32,
}

/// Where an index comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeapIndex {
    /// There is none.
    None,
    /// A word of push data.
    Push(u32),
    /// A word at `offset` from an address in push data.
    Indirect {
        /// In push data.
        push: u32,
        /// From there.
        offset: u32,
    },
    /// The element's word of an array there.
    IndirectArray {
        /// In push data.
        push: u32,
        /// From there.
        offset: u32,
    },
}

impl PipelineLayoutInfo {
    /// The binding, if the layout has it.
    pub fn find(&self, set: u32, binding: u32) -> Option<&BindingLayout> {
        let bindings = self.sets.get(set as usize)?;
        bindings.binary_search_by_key(&binding, |b| b.binding).ok().map(|i| &bindings[i])
    }
}
