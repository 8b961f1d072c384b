//! The description of stages, compiled or not, that all crates share.
//!
//! [`stage`] has one row per stage: its names in SPIR-V and Vulkan, the batch of a call, its inputs
//! and outputs. [`info`] are the properties of a compiled stage; those of only one kind of stage
//! are in its [`StageSpecificInfo`]. `jit` produces [`CompiledStage`], `rasterizer` consumes it,
//! and `icd` links the two. [`layout`] describes the pipeline layout by which `jit` finds
//! descriptors.

pub mod capture;
pub mod code;
pub mod hit_object;
pub mod info;
pub mod interface;
pub mod layout;
pub mod ray;
pub mod stage;
pub mod suspension;

pub use capture::{Capture, Captured};
pub use code::{CompiledStage, StageCode};
pub use hit_object::{HitObjectField, HitObjectKind};
pub use info::{
    Domain, FragmentInfo, GeometryInfo, InputPrimitive, MeshInfo, MeshPrimitive, OutputPrimitive, Records, ShaderInfo,
    Spacing, StageSpecificInfo, TaskInfo, TessellationControlInfo, TessellationInfo, VertexMark, VertexOrder,
    WORKGROUP_HEADER_BYTES, WorkgroupInfo,
};
pub use interface::{BuiltinSlot, Interpolation, OutputPlacement, Slot, SlotKind, SlotType, StageInterface};
pub use layout::{
    BindingLayout, DescriptorKind, EmbeddedSampler, HeapIndex, HeapMapping, HeapPlace, MappingSource,
    PipelineLayoutInfo,
};
pub use ray::{
    ExecuteCallableOperand, InstanceWord, LSS_HIT_KIND, PRIMITIVE_WORDS, RADIUS_WORD, RayStages, RayValue, RayWord,
    RayWordType, ReadInstanceOperand, ReorderOperand, ReportIntersectionOperand, SPHERE_HIT_KIND, TRIANGLE_HIT_KINDS,
    TraceRayOperand, matrix_columns, matrix_rows,
};
pub use stage::{BuiltinFamily, ModeFamily, PipelineType, Stage, StageIoKind, StageRow};
pub use suspension::{FrameInfo, FrameLayout, InvocationEnd, SuspendReason, SuspensionPoint};
