//! What the rooms know of a stage and of a compiled one.
//!
//! [`stage`] has one row per stage: what SPIR-V and Vulkan call it, what a call of it works on, what it is given and gives. [`facts`] is
//! what is known of a compiled stage, once for all rooms; what only one kind of stage has stands in its [`Payload`]. `jit` produces
//! [`CompiledStage`]; `rasterizer` consumes it; `icd` links the two. [`layout`] describes the pipeline layout that `jit` finds descriptors by.

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
