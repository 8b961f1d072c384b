//! The description of stages, compiled or not, that all crates share.
//!
//! [`stage`] has one row per stage: its names in SPIR-V and Vulkan, the batch of a call, its inputs
//! and outputs. [`facts`] are the facts about a compiled stage; those of only one kind of stage are
//! in its [`Payload`]. `jit` produces [`CompiledStage`], `rasterizer` consumes it, and `icd` links
//! the two. [`layout`] describes the pipeline layout by which `jit` finds descriptors.

pub mod capture;
pub mod code;
pub mod facts;
pub mod interface;
pub mod layout;
pub mod stage;

pub use capture::{CAPTURE_BUFFERS, Capture, Captured, MAX_CAPTURE_STRIDE, STREAMS};
pub use code::{CompiledStage, StageCode};
pub use facts::{
    ControlFacts, Domain, FragmentFacts, GROUP_HEAD, GeometryFacts, InputPrimitive, MeshFacts, MeshPrimitive,
    OutputPrimitive, Payload, Records, Spacing, StageFacts, TaskFacts, TessellationFacts, VertexMark, VertexOrder,
    WorkgroupFacts,
};
pub use interface::{BuiltinSlot, Interpolation, PatchPlace, Slot, SlotKind, SlotType, StageInterface};
pub use layout::{
    BindingLayout, DescriptorKind, EmbeddedSampler, HeapIndex, HeapMapping, HeapPlace, MappingSource,
    PipelineLayoutInfo,
};
pub use stage::{BuiltinFamily, ModeFamily, PipelineType, Side, Stage, StageRow};
