//! The stages: one row each, which determines everything that depends on the stage alone.
//!
//! Numbers of Vulkan and SPIR-V are plain numbers here, because this crate depends on neither.

#![forbid(unsafe_code)]

use super::interface::BuiltinSlot;
use super::ray::{RayStages, RayValue};
use crate::abi::BatchKind;
use crate::limits::{MAX_COMPUTE_WORKGROUPS, MAX_MESH_WORKGROUPS};

/// The types of pipelines that a stage can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineType {
    /// A pipeline of the stages of a draw.
    Graphics,
    /// A pipeline of the stage of a dispatch.
    Compute,
    /// A pipeline of the stages that trace rays, and that rays call.
    RayTracing,
}

/// The kind of the slots on one side of a stage, which is their source or destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageIoKind {
    /// There are no slots.
    None,
    /// Vertex attributes, by location.
    Attributes,
    /// Vertices that go to the rasterizer, or to a stage before it.
    Vertices,
    /// The vertices of a primitive, which the stage before has made: every variable is an array
    /// with an element for each.
    Primitives,
    /// A patch: its vertices, with every variable an array with an element for each, and values of
    /// the whole patch.
    Patch,
    /// The number of mesh workgroups to run, and the payload that they read.
    Tasks,
    /// Vertices and primitives of a mesh: every variable is an array with an element for each
    /// vertex or each primitive.
    Mesh,
    /// Values that the rasterizer interpolates between vertices.
    Interpolated,
    /// Fragments: colour attachments by location, depth, stencil, coverage.
    Fragments,
    /// Words of the invocation's frame: values of the ray ([`RayValue`](super::RayValue)), and the
    /// words of the payload or of the callable data, whose locations count them. An output is the
    /// input of the same kind.
    Frame,
}

impl StageIoKind {
    /// Returns true if a built-in uses a slot on this side.
    pub const fn has(self, slot: BuiltinSlot) -> bool {
        match slot {
            BuiltinSlot::Position(_) | BuiltinSlot::PointSize => {
                matches!(self, StageIoKind::Vertices | StageIoKind::Primitives | StageIoKind::Patch | StageIoKind::Mesh)
            }
            BuiltinSlot::Layer | BuiltinSlot::ViewportIndex | BuiltinSlot::ShadingRate | BuiltinSlot::PrimitiveId => {
                matches!(self, StageIoKind::Vertices | StageIoKind::Mesh)
            }
            BuiltinSlot::VertexMark => matches!(self, StageIoKind::Vertices),
            BuiltinSlot::CullPrimitive | BuiltinSlot::PrimitiveIndex(_) => matches!(self, StageIoKind::Mesh),
            BuiltinSlot::ClipDistance(_) | BuiltinSlot::CullDistance(_) => {
                matches!(
                    self,
                    StageIoKind::Vertices
                        | StageIoKind::Primitives
                        | StageIoKind::Patch
                        | StageIoKind::Mesh
                        | StageIoKind::Interpolated
                )
            }
            BuiltinSlot::TessLevelOuter(_) | BuiltinSlot::TessLevelInner(_) => matches!(self, StageIoKind::Patch),
            BuiltinSlot::FragDepth | BuiltinSlot::FragStencilRef | BuiltinSlot::SampleMask => {
                matches!(self, StageIoKind::Fragments)
            }
            BuiltinSlot::BaryCoord(_) | BuiltinSlot::BaryCoordNoPersp(_) => matches!(self, StageIoKind::Interpolated),
            BuiltinSlot::Ray(_) => matches!(self, StageIoKind::Frame),
        }
    }
}

/// Groups of execution modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeFamily {
    /// Modes of any stage: float arithmetic, reconvergence.
    Any,
    /// Modes of the processing of vertices.
    Vertex,
    /// Input and output primitives of a geometry stage.
    Primitive,
    /// Modes of the tessellator.
    Patch,
    /// Modes whose names geometry and tessellation stages share.
    GeometryOrTessellation,
    /// The number of vertices that are made.
    OutputVertices,
    /// The mode that the made primitives are points.
    OutputPoints,
    /// Modes of a mesh's primitives.
    Mesh,
    /// Modes of the processing of fragments.
    Fragment,
    /// The size of workgroups.
    Workgroup,
}

/// Groups of built-in values: a stage can read all of a group or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinFamily {
    /// Device and subgroup of any invocation.
    Invocation,
    /// The view.
    View,
    /// The draw among those of a command.
    Draw,
    /// The vertex in its draw.
    Vertex,
    /// The primitive.
    Primitive,
    /// The invocation among those of a primitive.
    Instance,
    /// The patch.
    Patch,
    /// The position in a patch.
    Domain,
    /// The fragment, and the per-primitive values of its vertices.
    Fragment,
    /// The position in workgroup and dispatch.
    Workgroup,
}

/// The properties of a stage, which [`Stage::row`] returns.
#[derive(Debug)]
pub struct StageRow {
    /// Value of SPIR-V's `ExecutionModel`.
    pub execution_model: u32,
    /// Value of `VkShaderStageFlagBits`.
    pub flag_bit: u32,
    /// Type of pipeline in which the stage can be.
    pub pipeline: PipelineType,
    /// Kind of batch on which a call works.
    pub batch: BatchKind,
    /// Inputs of the stage.
    pub inputs: StageIoKind,
    /// Outputs of the stage.
    pub outputs: StageIoKind,
    /// Execution modes that the stage accepts.
    pub modes: &'static [ModeFamily],
    /// Built-ins that the stage can read (besides those in its slots).
    pub builtins: &'static [BuiltinFamily],
}

macro_rules! stages {
    ($($(#[$doc:meta])* $name:ident {
        $model:literal $bit:literal $pipeline:ident $batch:ident $inputs:ident -> $outputs:ident
        modes [$($mode:ident)*] builtins [$($builtin:ident)*]
    })*) => {
        /// A shader stage. The order is that of a pipeline.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Stage {
            $($(#[$doc])* $name,)*
        }

        impl Stage {
            /// All stages, in the order of a pipeline.
            pub const ALL: &'static [Stage] = &[$(Stage::$name),*];

            /// Returns the properties of the stage.
            pub const fn row(self) -> &'static StageRow {
                match self {
                    $(Stage::$name => &StageRow {
                        execution_model: $model,
                        flag_bit: $bit,
                        pipeline: PipelineType::$pipeline,
                        batch: BatchKind::$batch,
                        inputs: StageIoKind::$inputs,
                        outputs: StageIoKind::$outputs,
                        modes: &[$(ModeFamily::$mode),*],
                        builtins: &[$(BuiltinFamily::$builtin),*],
                    },)*
                }
            }
        }
    };
}

stages! {
    /// Vertex.
    Vertex {
        0 0x1 Graphics Vertices Attributes -> Vertices
        modes [Any Vertex] builtins [Invocation View Draw Vertex]
    }
    /// Tessellation control.
    TessellationControl {
        1 0x2 Graphics Patches Primitives -> Patch
        modes [Any Patch GeometryOrTessellation OutputVertices] builtins [Invocation View Primitive Instance Patch]
    }
    /// Tessellation evaluation.
    TessellationEvaluation {
        2 0x4 Graphics Domain Patch -> Vertices
        modes [Any Vertex Patch GeometryOrTessellation OutputVertices] builtins [Invocation View Primitive Patch Domain]
    }
    /// Geometry.
    Geometry {
        3 0x8 Graphics Primitives Primitives -> Vertices
        modes [Any Vertex Primitive GeometryOrTessellation OutputVertices OutputPoints] builtins [Invocation View Primitive Instance]
    }
    /// Task.
    Task {
        5364 0x40 Graphics Mesh None -> Tasks
        modes [Any Workgroup] builtins [Invocation Draw Workgroup]
    }
    /// Mesh.
    Mesh {
        5365 0x80 Graphics Mesh Tasks -> Mesh
        modes [Any Workgroup OutputVertices OutputPoints Mesh] builtins [Invocation View Draw Workgroup]
    }
    /// Fragment.
    Fragment {
        4 0x10 Graphics Quads Interpolated -> Fragments
        modes [Any Fragment] builtins [Invocation View Primitive Fragment]
    }
    /// Compute.
    Compute {
        5 0x20 Compute Workgroup None -> None
        modes [Any Workgroup] builtins [Invocation Workgroup]
    }
    /// Ray generation.
    RayGeneration {
        5313 0x100 RayTracing Invocations Frame -> None
        modes [Any] builtins [Invocation]
    }
    /// Any-hit.
    AnyHit {
        5315 0x200 RayTracing Invocations Frame -> Frame
        modes [Any] builtins [Invocation]
    }
    /// Closest-hit.
    ClosestHit {
        5316 0x400 RayTracing Invocations Frame -> Frame
        modes [Any] builtins [Invocation]
    }
    /// Miss.
    Miss {
        5317 0x800 RayTracing Invocations Frame -> Frame
        modes [Any] builtins [Invocation]
    }
    /// Intersection.
    Intersection {
        5314 0x1000 RayTracing Invocations Frame -> None
        modes [Any] builtins [Invocation]
    }
    /// Callable.
    Callable {
        5318 0x2000 RayTracing Invocations Frame -> Frame
        modes [Any] builtins [Invocation]
    }
}

impl Stage {
    /// Returns the stage of a SPIR-V `ExecutionModel`.
    pub fn from_execution_model(model: u32) -> Option<Stage> {
        Stage::ALL.iter().copied().find(|stage| stage.row().execution_model == model)
    }

    /// Returns the stage of a `VkShaderStageFlagBits`, if such a pipeline has it.
    pub fn from_flag_bit(bit: u32, pipeline: PipelineType) -> Option<Stage> {
        Stage::ALL.iter().copied().find(|stage| stage.row().flag_bit == bit && stage.row().pipeline == pipeline)
    }

    /// Returns true if the stage accepts the execution modes of a family.
    pub fn takes(self, family: ModeFamily) -> bool {
        self.row().modes.contains(&family)
    }

    /// Returns true if the stage can read the built-ins of a family.
    pub fn reads(self, family: BuiltinFamily) -> bool {
        self.row().builtins.contains(&family)
    }

    /// Returns true if the stage reads a value of a ray, its launch or its intersection.
    pub fn reads_ray_value(self, value: RayValue) -> bool {
        let stages = value.stages();
        match self {
            Stage::RayGeneration | Stage::Callable => stages == RayStages::All,
            Stage::Miss => matches!(stages, RayStages::All | RayStages::Ray),
            Stage::Intersection => stages != RayStages::Hit,
            Stage::AnyHit | Stage::ClosestHit => true,
            Stage::Vertex | Stage::TessellationControl | Stage::TessellationEvaluation | Stage::Geometry => false,
            Stage::Task | Stage::Mesh | Stage::Fragment | Stage::Compute => false,
        }
    }

    /// Returns true if the stage's invocations shade pixels in quads, so that there are derivatives
    /// and helper invocations.
    pub const fn has_quads(self) -> bool {
        match self.row().batch {
            BatchKind::Quads => true,
            BatchKind::Vertices | BatchKind::Patches | BatchKind::Domain | BatchKind::Invocations => false,
            BatchKind::Primitives | BatchKind::Workgroup | BatchKind::Mesh => false,
        }
    }

    /// Returns true if the stage's invocations make any number of vertices of primitives.
    pub const fn has_primitives(self) -> bool {
        match self.row().batch {
            BatchKind::Primitives => true,
            BatchKind::Vertices | BatchKind::Patches | BatchKind::Domain | BatchKind::Invocations => false,
            BatchKind::Quads | BatchKind::Workgroup | BatchKind::Mesh => false,
        }
    }

    /// Returns true if the stage's invocations share memory and synchronize at barriers.
    pub const fn has_workgroups(self) -> bool {
        match self.row().batch {
            BatchKind::Workgroup | BatchKind::Patches | BatchKind::Mesh => true,
            BatchKind::Vertices | BatchKind::Domain | BatchKind::Primitives => false,
            BatchKind::Quads | BatchKind::Invocations => false,
        }
    }

    /// Returns the largest number of workgroups of the stage in a dimension.
    pub const fn max_workgroups(self) -> u32 {
        match self.row().batch {
            BatchKind::Mesh => MAX_MESH_WORKGROUPS,
            BatchKind::Workgroup | BatchKind::Patches | BatchKind::Vertices => MAX_COMPUTE_WORKGROUPS,
            BatchKind::Domain | BatchKind::Primitives => MAX_COMPUTE_WORKGROUPS,
            BatchKind::Quads | BatchKind::Invocations => MAX_COMPUTE_WORKGROUPS,
        }
    }

    /// Returns true if each workgroup has its own memory, which outlives it and contains its
    /// outputs.
    pub const fn has_workgroup_outputs(self) -> bool {
        match self.row().batch {
            BatchKind::Patches | BatchKind::Mesh => true,
            BatchKind::Vertices | BatchKind::Domain | BatchKind::Primitives => false,
            BatchKind::Quads | BatchKind::Workgroup | BatchKind::Invocations => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stage_is_found_by_execution_model_and_flag_bit() {
        for &stage in Stage::ALL {
            let row = stage.row();
            assert_eq!(Stage::from_execution_model(row.execution_model), Some(stage));
            assert_eq!(Stage::from_flag_bit(row.flag_bit, row.pipeline), Some(stage));
            assert_eq!(row.flag_bit.count_ones(), 1);
            assert!(stage.takes(ModeFamily::Any) && stage.reads(BuiltinFamily::Invocation), "{stage:?}");
        }
        assert!(Stage::AnyHit.reads_ray_value(RayValue::HitKind));
        assert!(!Stage::Intersection.reads_ray_value(RayValue::HitKind));
        assert!(!Stage::Callable.reads_ray_value(RayValue::RayTmin));
        assert_eq!(Stage::from_execution_model(0x20), None);
        assert_eq!(
            Stage::from_flag_bit(0x20, PipelineType::Graphics),
            None,
            "a compute stage is in no graphics pipeline"
        );
    }
}
