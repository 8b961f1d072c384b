//! A pipeline layout, as far as `jit` needs it to find descriptors.

#![forbid(unsafe_code)]

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

/// The sets of a pipeline layout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PipelineLayoutInfo {
    /// By set number; bindings sorted by number.
    pub sets: Vec<Vec<BindingLayout>>,
}

impl PipelineLayoutInfo {
    /// The binding, if the layout has it.
    pub fn find(&self, set: u32, binding: u32) -> Option<&BindingLayout> {
        let bindings = self.sets.get(set as usize)?;
        bindings.binary_search_by_key(&binding, |b| b.binding).ok().map(|i| &bindings[i])
    }
}
