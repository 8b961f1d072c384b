//! What the rooms know of a compiled stage: its interface, its needs, its entry point.
//!
//! `jit` produces [`CompiledStage`]; `rasterizer` consumes it; `icd` links the two. Also the description of a pipeline
//! layout that `jit` needs to find descriptors.

use crate::abi::{BatchHeader, ShaderContext, StageFn};
use std::sync::Arc;

/// Shader stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Vertex.
    Vertex,
    /// Fragment.
    Fragment,
    /// Compute.
    Compute,
}

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

/// Built-in variables that cross a stage boundary through slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BuiltinSlot {
    /// Position.xyzw by component.
    Position(u8),
    /// PointSize.
    PointSize,
    /// ClipDistance\[i\].
    ClipDistance(u8),
    /// CullDistance\[i\].
    CullDistance(u8),
    /// Layer (integer bits).
    Layer,
    /// ViewportIndex (integer bits).
    ViewportIndex,
    /// FragDepth.
    FragDepth,
    /// FragStencilRefEXT.
    FragStencilRef,
    /// SampleMask\[0\] output.
    SampleMask,
}

/// Where the 32 bits of a slot come from or go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SlotKind {
    /// A user variable: location, component 0..=3, and for fragment outputs the dual-source index.
    User {
        /// `Location`.
        location: u32,
        /// `Component` (0..=3).
        component: u8,
        /// `Index` (dual-source blending).
        index: u8,
    },
    /// A built-in.
    Builtin(BuiltinSlot),
}

/// How a fragment input is interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interpolation {
    /// Perspective-correct (also: not a fragment input).
    Smooth,
    /// NoPerspective.
    Linear,
    /// Flat: raw bits of the provoking vertex.
    Flat,
}

/// Numeric class of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SlotType {
    /// 32-bit float bits.
    Float,
    /// Signed integer bits.
    Sint,
    /// Unsigned integer bits.
    Uint,
}

/// One 32-bit slot of a stage's inputs or outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Source or destination.
    pub kind: SlotKind,
    /// Numeric class.
    pub ty: SlotType,
    /// Fragment inputs only.
    pub interpolation: Interpolation,
}

/// Slots in batch order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageInterface {
    /// Inputs that the stage reads (vertex: attributes; fragment: varyings).
    pub inputs: Vec<Slot>,
    /// Outputs that the stage writes.
    pub outputs: Vec<Slot>,
}

impl StageInterface {
    /// Index of an output slot.
    pub fn output(&self, kind: SlotKind) -> Option<usize> {
        self.outputs.iter().position(|s| s.kind == kind)
    }
}

/// Facts of a stage that fixed-function code acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageFlags {
    /// Writes buffers, images or executes atomics.
    pub side_effects: bool,
    /// Fragment: may kill or demote.
    pub kills: bool,
    /// Fragment: `EarlyFragmentTests`.
    pub early_fragment_tests: bool,
    /// Fragment: DepthReplacing.
    pub writes_depth: bool,
    /// Fragment: DepthGreater / DepthLess modes.
    pub depth_greater: bool,
    /// See `depth_greater`.
    pub depth_less: bool,
    /// Fragment: writes the stencil reference.
    pub writes_stencil: bool,
    /// Fragment: writes SampleMask.
    pub writes_sample_mask: bool,
    /// Fragment: reads SampleId or SamplePosition, or has Sample-decorated inputs: shade per sample.
    pub sample_shading: bool,
    /// Reads input attachments.
    pub reads_input_attachments: bool,
    /// Fragment, `PostDepthCoverage`.
    pub post_depth_coverage: bool,
}

/// The code of a stage, as those who run it see it: it may be made late, and replaced by better code between two batches.
pub trait StageCode: Send + Sync {
    /// Runs a batch. Who runs code has made sure before that there is some; without it nothing is done.
    ///
    /// # Safety
    /// As [`StageFn`]'s.
    unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader);
}

/// Code that is a plain function.
impl StageCode for StageFn {
    unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader) {
        // SAFETY: the caller's promise.
        unsafe { self(context, batch) }
    }
}

/// A stage and its code. Cloning shares the code; the code's memory goes back when the last clone is dropped.
#[derive(Clone)]
pub struct CompiledStage {
    /// Stage.
    pub stage: Stage,
    /// Lanes per chunk: 4 or 8.
    pub lanes: u32,
    /// Slots.
    pub interface: Arc<StageInterface>,
    /// Facts.
    pub flags: StageFlags,
    /// Compute: workgroup size.
    pub local_size: [u32; 3],
    /// Compute: bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Compute: workgroup memory must be zero when a workgroup begins.
    pub zero_shared: bool,
    /// Scratch bytes a batch needs (for a compute stage: of a whole workgroup).
    pub scratch_bytes: u32,
    /// True when the stage has barriers: zero the first `chunks * 4` bytes of scratch per workgroup, call until `pending` is 0.
    pub has_barriers: bool,
    /// What runs.
    pub code: Arc<dyn StageCode>,
}

impl CompiledStage {
    /// Runs a batch.
    ///
    /// # Safety
    /// `batch` is the stage's own batch struct; both are valid for the call and laid out as the stage's interface says.
    pub unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader) {
        // SAFETY: the caller's promise.
        unsafe { self.code.run(context, batch) }
    }
}

impl core::fmt::Debug for CompiledStage {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CompiledStage")
            .field("stage", &self.stage)
            .field("lanes", &self.lanes)
            .field("interface", &self.interface)
            .field("flags", &self.flags)
            .finish_non_exhaustive()
    }
}
