//! The stages: one row each, from which everything that depends on the stage alone is decided.
//!
//! Vulkan's and SPIR-V's numbers are plain numbers here: neither is known to this room.

#![forbid(unsafe_code)]

use super::interface::BuiltinSlot;
use crate::abi::BatchKind;

/// The pipelines that a stage can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineType {
    /// Stages of a draw.
    Graphics,
    /// The stage of a dispatch.
    Compute,
}

/// What the slots of one side of a stage are: where they come from or go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// There are none.
    Nothing,
    /// Vertex attributes, by location.
    Attributes,
    /// Vertices on their way to the rasterizer, or to a stage before it.
    Vertices,
    /// The vertices of a primitive, which the stage before has made: every variable is an array with an element for each.
    Primitives,
    /// A patch: its vertices, every variable an array with an element for each, and what it has once.
    Patch,
    /// How many mesh workgroups there are to be, and the payload that these read.
    Tasks,
    /// Vertices and primitives of a mesh: every variable an array with an element for each of one or the other.
    Mesh,
    /// What the rasterizer interpolates between vertices.
    Interpolated,
    /// Fragments: colour attachments by location, depth, stencil, coverage.
    Fragments,
}

impl Side {
    /// Does a built-in go through a slot here?
    pub const fn has(self, slot: BuiltinSlot) -> bool {
        match slot {
            BuiltinSlot::Position(_) | BuiltinSlot::PointSize => {
                matches!(self, Side::Vertices | Side::Primitives | Side::Patch | Side::Mesh)
            }
            BuiltinSlot::Layer | BuiltinSlot::ViewportIndex | BuiltinSlot::PrimitiveId => {
                matches!(self, Side::Vertices | Side::Mesh)
            }
            BuiltinSlot::VertexMark => matches!(self, Side::Vertices),
            BuiltinSlot::CullPrimitive | BuiltinSlot::Corner(_) => matches!(self, Side::Mesh),
            BuiltinSlot::ClipDistance(_) | BuiltinSlot::CullDistance(_) => {
                matches!(self, Side::Vertices | Side::Primitives | Side::Patch | Side::Mesh | Side::Interpolated)
            }
            BuiltinSlot::TessLevelOuter(_) | BuiltinSlot::TessLevelInner(_) => matches!(self, Side::Patch),
            BuiltinSlot::FragDepth | BuiltinSlot::FragStencilRef | BuiltinSlot::SampleMask => {
                matches!(self, Side::Fragments)
            }
        }
    }
}

/// Execution modes that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeFamily {
    /// Of any stage: float arithmetic, reconvergence.
    Any,
    /// What becomes of vertices.
    Vertex,
    /// What primitives come and are made.
    Primitive,
    /// What the tessellator does.
    Patch,
    /// What is so named of both.
    Shape,
    /// How many vertices are made.
    Vertices,
    /// That what is made are points.
    Points,
    /// What a mesh is made of.
    Mesh,
    /// What becomes of fragments.
    Fragment,
    /// The size of workgroups.
    Workgroup,
}

/// Built-in values that belong together: a stage can read all of a family or none.
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
    /// The place in a patch.
    Domain,
    /// The fragment, and what its vertices have said of its primitive.
    Fragment,
    /// The place in workgroup and dispatch.
    Workgroup,
}

/// See [`Stage::row`].
#[derive(Debug)]
pub struct StageRow {
    /// SPIR-V's `ExecutionModel`.
    pub execution_model: u32,
    /// The `VkShaderStageFlagBits`.
    pub flag_bit: u32,
    /// Where it can be.
    pub pipeline: PipelineType,
    /// What a call works on.
    pub batch: BatchKind,
    /// What it is given.
    pub inputs: Side,
    /// What it gives.
    pub outputs: Side,
    /// Execution modes that it takes.
    pub modes: &'static [ModeFamily],
    /// Built-ins that it can read (beside those in its slots).
    pub builtins: &'static [BuiltinFamily],
}

macro_rules! stages {
    ($($(#[$doc:meta])* $name:ident {
        $model:literal $bit:literal $pipeline:ident $batch:ident $inputs:ident -> $outputs:ident
        modes [$($mode:ident)*] builtins [$($builtin:ident)*]
    })*) => {
        /// Shader stage. The order is that of a pipeline.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Stage {
            $($(#[$doc])* $name,)*
        }

        impl Stage {
            /// All, in the order of a pipeline.
            pub const ALL: &'static [Stage] = &[$(Stage::$name),*];

            /// What is so of every such stage.
            pub const fn row(self) -> &'static StageRow {
                match self {
                    $(Stage::$name => &StageRow {
                        execution_model: $model,
                        flag_bit: $bit,
                        pipeline: PipelineType::$pipeline,
                        batch: BatchKind::$batch,
                        inputs: Side::$inputs,
                        outputs: Side::$outputs,
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
        modes [Any Patch Shape Vertices] builtins [Invocation View Primitive Instance Patch]
    }
    /// Tessellation evaluation.
    TessellationEvaluation {
        2 0x4 Graphics Domain Patch -> Vertices
        modes [Any Vertex Patch Shape Vertices] builtins [Invocation View Primitive Patch Domain]
    }
    /// Geometry.
    Geometry {
        3 0x8 Graphics Primitives Primitives -> Vertices
        modes [Any Vertex Primitive Shape Vertices Points] builtins [Invocation View Primitive Instance]
    }
    /// Task.
    Task {
        5364 0x40 Graphics Mesh Nothing -> Tasks
        modes [Any Workgroup] builtins [Invocation Draw Workgroup]
    }
    /// Mesh.
    Mesh {
        5365 0x80 Graphics Mesh Tasks -> Mesh
        modes [Any Workgroup Vertices Points Mesh] builtins [Invocation View Draw Workgroup]
    }
    /// Fragment.
    Fragment {
        4 0x10 Graphics Quads Interpolated -> Fragments
        modes [Any Fragment] builtins [Invocation View Primitive Fragment]
    }
    /// Compute.
    Compute {
        5 0x20 Compute Workgroup Nothing -> Nothing
        modes [Any Workgroup] builtins [Invocation Workgroup]
    }
}

impl Stage {
    /// The stage of a SPIR-V `ExecutionModel`.
    pub fn of_execution_model(model: u32) -> Option<Stage> {
        Stage::ALL.iter().copied().find(|stage| stage.row().execution_model == model)
    }

    /// The stage of a `VkShaderStageFlagBits`, if such a pipeline has it.
    pub fn of_flag_bit(bit: u32, pipeline: PipelineType) -> Option<Stage> {
        Stage::ALL.iter().copied().find(|stage| stage.row().flag_bit == bit && stage.row().pipeline == pipeline)
    }

    /// The execution modes of a family may stand in it.
    pub fn takes(self, family: ModeFamily) -> bool {
        self.row().modes.contains(&family)
    }

    /// It can read the built-ins of a family.
    pub fn reads(self, family: BuiltinFamily) -> bool {
        self.row().builtins.contains(&family)
    }

    /// Its invocations shade pixels in quads: there are derivatives, and helpers.
    pub const fn has_quads(self) -> bool {
        match self.row().batch {
            BatchKind::Quads => true,
            BatchKind::Vertices | BatchKind::Patches | BatchKind::Domain => false,
            BatchKind::Primitives | BatchKind::Workgroup | BatchKind::Mesh => false,
        }
    }

    /// Its invocations make as many vertices as they like, of primitives.
    pub const fn has_primitives(self) -> bool {
        match self.row().batch {
            BatchKind::Primitives => true,
            BatchKind::Vertices | BatchKind::Patches | BatchKind::Domain => false,
            BatchKind::Quads | BatchKind::Workgroup | BatchKind::Mesh => false,
        }
    }

    /// Its invocations share memory and meet at barriers.
    pub const fn has_workgroups(self) -> bool {
        match self.row().batch {
            BatchKind::Workgroup | BatchKind::Patches | BatchKind::Mesh => true,
            BatchKind::Vertices | BatchKind::Domain | BatchKind::Primitives | BatchKind::Quads => false,
        }
    }

    /// Each of its workgroups has memory of its own, which outlives it: what it makes lies there.
    pub const fn keeps_groups(self) -> bool {
        match self.row().batch {
            BatchKind::Patches | BatchKind::Mesh => true,
            BatchKind::Vertices | BatchKind::Domain | BatchKind::Primitives => false,
            BatchKind::Quads | BatchKind::Workgroup => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_found_by_its_numbers() {
        for &stage in Stage::ALL {
            let row = stage.row();
            assert_eq!(Stage::of_execution_model(row.execution_model), Some(stage));
            assert_eq!(Stage::of_flag_bit(row.flag_bit, row.pipeline), Some(stage));
            assert_eq!(row.flag_bit.count_ones(), 1);
            assert!(stage.takes(ModeFamily::Any) && stage.reads(BuiltinFamily::Invocation), "{stage:?}");
        }
        assert_eq!(Stage::of_execution_model(0x20), None);
        assert_eq!(
            Stage::of_flag_bit(0x20, PipelineType::Graphics),
            None,
            "a compute stage is in no graphics pipeline"
        );
    }
}
