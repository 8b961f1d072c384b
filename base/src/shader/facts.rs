//! Facts of a compiled stage, which are found once for the code that compiles, stores or runs it.

#![forbid(unsafe_code)]

use super::capture::{Capture, STREAMS};
use super::interface::StageInterface;
use super::stage::Stage;
use std::sync::Arc;

/// Facts of a fragment stage that affect fixed-function code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentFacts {
    /// True if the stage may kill or demote invocations.
    pub kills: bool,
    /// True if the stage has `EarlyFragmentTests`.
    pub early_fragment_tests: bool,
    /// True if the stage has `DepthReplacing`.
    pub writes_depth: bool,
    /// True if the stage has `DepthGreater`.
    pub depth_greater: bool,
    /// True if the stage has `DepthLess`.
    pub depth_less: bool,
    /// True if the stage writes the stencil reference.
    pub writes_stencil: bool,
    /// True if the stage writes SampleMask.
    pub writes_sample_mask: bool,
    /// True if the stage is shaded per sample, because it reads SampleId or SamplePosition or has
    /// Sample-decorated inputs.
    pub sample_shading: bool,
    /// True if the stage reads input attachments.
    pub reads_input_attachments: bool,
    /// True if the stage reads PrimitiveId.
    pub reads_primitive_id: bool,
    /// True if the stage reads SampleMask.
    pub reads_sample_mask: bool,
    /// True if the stage has `PostDepthCoverage`.
    pub post_depth_coverage: bool,
    /// True if the invocations of a pixel run one after the other in the order of primitives
    /// (`PixelInterlockOrderedEXT` and similar modes).
    pub ordered: bool,
    /// True if the stage only writes colours that are the same for all fragments of a primitive.
    pub flat: bool,
}

/// Facts of a stage whose invocations form workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkgroupFacts {
    /// Number of invocations in each dimension.
    pub local_size: [u32; 3],
    /// Number of bytes of shared memory.
    pub shared_bytes: u32,
    /// Number of the first of these bytes that belong to no variable, but to the stage's own inputs
    /// and outputs.
    pub reserved_bytes: u32,
}

impl Default for WorkgroupFacts {
    fn default() -> Self {
        WorkgroupFacts { local_size: [1; 3], shared_bytes: 0, reserved_bytes: 0 }
    }
}

impl WorkgroupFacts {
    /// Returns the number of invocations of a workgroup.
    pub fn invocations(&self) -> u64 {
        self.local_size.iter().map(|&n| u64::from(n)).product()
    }

    /// Returns the number of bytes from the memory of a workgroup to that of the next one, if each
    /// has its own ([`super::Stage::keeps_groups`]). A word that begins inside of one ends there
    /// too.
    pub fn group_bytes(&self) -> u32 {
        (self.shared_bytes + size_of::<u32>() as u32).next_multiple_of(16)
    }
}

/// The domain that is tessellated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Triangles (`Triangles`), with barycentric coordinates (u, v, w).
    Triangles,
    /// `Quads`.
    Quads,
    /// `Isolines`.
    Isolines,
}

impl Domain {
    /// Returns the number of outer levels that the domain uses.
    pub fn outer_levels(self) -> usize {
        match self {
            Domain::Triangles => 3,
            Domain::Quads => 4,
            Domain::Isolines => 2,
        }
    }
}

/// Spacing of the segments into which edges are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spacing {
    /// `SpacingEqual`.
    Equal,
    /// `SpacingFractionalEven`.
    FractionalEven,
    /// `SpacingFractionalOdd`.
    FractionalOdd,
}

/// Winding order of the tessellator's triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VertexOrder {
    /// `VertexOrderCw`.
    Clockwise,
    /// `VertexOrderCcw`.
    CounterClockwise,
}

/// Modes of the tessellator. Either tessellation stage declares them, or both declare the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TessellationFacts {
    /// Domain that is tessellated.
    pub domain: Option<Domain>,
    /// Spacing of edges.
    pub spacing: Option<Spacing>,
    /// Winding order of triangles.
    pub order: Option<VertexOrder>,
    /// True if the tessellator makes points (`PointMode`).
    pub points: bool,
    /// Number of vertices of a patch (`OutputVertices`), 1 to [`TessellationFacts::MOST_VERTICES`];
    /// 0 if it is not declared.
    pub vertices: u32,
}

impl TessellationFacts {
    /// Largest number of vertices of a patch (`maxTessellationPatchSize`).
    pub const MOST_VERTICES: u32 = 32;

    /// Returns the modes that either stage declares. (If they contradict each other, those of
    /// `self` apply.)
    pub fn or(self, other: TessellationFacts) -> TessellationFacts {
        TessellationFacts {
            domain: self.domain.or(other.domain),
            spacing: self.spacing.or(other.spacing),
            order: self.order.or(other.order),
            points: self.points || other.points,
            vertices: if self.vertices == 0 { other.vertices } else { self.vertices },
        }
    }
}

/// Facts of a tessellation control stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlFacts {
    /// The patch as a workgroup, which has as many invocations as the patch has vertices and its
    /// outputs as shared memory.
    pub patch: WorkgroupFacts,
    /// Modes of the tessellator that the stage declares.
    pub modes: TessellationFacts,
}

/// Input primitive of a stage that processes primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputPrimitive {
    /// `InputPoints`.
    Points,
    /// `InputLines`.
    Lines,
    /// `InputLinesAdjacency`.
    LinesAdjacency,
    /// `Triangles`.
    Triangles,
    /// `InputTrianglesAdjacency`.
    TrianglesAdjacency,
}

impl InputPrimitive {
    /// Returns the number of vertices, adjacent ones included.
    pub const fn vertices(self) -> u32 {
        match self {
            InputPrimitive::Points => 1,
            InputPrimitive::Lines => 2,
            InputPrimitive::LinesAdjacency => 4,
            InputPrimitive::Triangles => 3,
            InputPrimitive::TrianglesAdjacency => 6,
        }
    }
}

/// Output primitive of a geometry stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputPrimitive {
    /// `OutputPoints`.
    Points,
    /// `OutputLineStrip`.
    LineStrip,
    /// `OutputTriangleStrip`.
    TriangleStrip,
}

impl OutputPrimitive {
    /// Returns the number of vertices of a primitive.
    pub const fn vertices(self) -> u32 {
        match self {
            OutputPrimitive::Points => 1,
            OutputPrimitive::LineStrip => 2,
            OutputPrimitive::TriangleStrip => 3,
        }
    }
}

/// Facts of a geometry stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeometryFacts {
    /// Input primitive.
    pub input: InputPrimitive,
    /// Output primitive.
    pub output: OutputPrimitive,
    /// Largest number of vertices that an invocation emits to all streams together
    /// (`OutputVertices`), 1 to [`GeometryFacts::MOST_VERTICES`].
    pub max_vertices: u32,
    /// Number of invocations per primitive (`Invocations`), 1 to
    /// [`GeometryFacts::MOST_INVOCATIONS`].
    pub invocations: u32,
}

impl GeometryFacts {
    /// Largest number of vertices that an invocation may emit (`maxGeometryOutputVertices`).
    pub const MOST_VERTICES: u32 = 1024;
    /// Largest number of invocations per primitive (`maxGeometryShaderInvocations`).
    pub const MOST_INVOCATIONS: u32 = 127;
}

impl Default for GeometryFacts {
    fn default() -> Self {
        let (input, output) = (InputPrimitive::Points, OutputPrimitive::Points);
        GeometryFacts { input, output, max_vertices: 1, invocations: 1 }
    }
}

/// A word of [`super::BuiltinSlot::VertexMark`]. Without that slot, all vertices belong to stream
/// 0, and those of an invocation form one strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VertexMark(pub u32);

impl VertexMark {
    /// Bit of a vertex that begins a strip of its stream. (The first vertex of a stream begins a
    /// strip without it.)
    pub const BEGINS: u32 = 1 << 8;

    /// Returns the vertex's stream.
    pub const fn stream(self) -> u32 {
        self.0 % STREAMS as u32
    }

    /// Returns true if the vertex is the first one of a strip.
    pub const fn begins(self) -> bool {
        self.0 & Self::BEGINS != 0
    }
}

/// Size in bytes of the header of a task or mesh workgroup's memory. A task's header has the number
/// of mesh workgroups to launch (x, y, z), a mesh's header has its numbers of vertices and
/// primitives. The payload follows the header; a mesh workgroup has a copy of its task's.
pub const GROUP_HEAD: u32 = 16;

/// Facts of a task stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskFacts {
    /// Facts of its workgroups.
    pub group: WorkgroupFacts,
    /// Number of bytes of the payload.
    pub payload_bytes: u32,
}

/// Primitive of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshPrimitive {
    /// `OutputPoints`.
    Points,
    /// `OutputLinesEXT`.
    Lines,
    /// `OutputTrianglesEXT`.
    Triangles,
}

impl MeshPrimitive {
    /// Returns the number of vertices of a primitive.
    pub const fn vertices(self) -> u32 {
        match self {
            MeshPrimitive::Points => 1,
            MeshPrimitive::Lines => 2,
            MeshPrimitive::Triangles => 3,
        }
    }
}

/// Records of a mesh in the memory of its workgroup. Their words hold slots at the places that
/// [`super::StageInterface::places`] defines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Byte offset of the first record; a multiple of 4.
    pub first: u32,
    /// Number of bytes from one record to the next; a multiple of 4.
    pub stride: u32,
}

/// Facts of a mesh stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshFacts {
    /// Facts of its workgroups.
    pub group: WorkgroupFacts,
    /// Number of bytes of the payload that it reads.
    pub payload_bytes: u32,
    /// Primitive that it emits.
    pub output: MeshPrimitive,
    /// Largest number of vertices (`OutputVertices`), 0 to [`MeshFacts::MOST_VERTICES`].
    pub max_vertices: u32,
    /// Largest number of primitives (`OutputPrimitivesEXT`), 0 to [`MeshFacts::MOST_PRIMITIVES`].
    pub max_primitives: u32,
    /// Records of vertices, one for each of `max_vertices`.
    pub vertices: Records,
    /// Records of primitives, one for each of `max_primitives`.
    pub primitives: Records,
}

impl MeshFacts {
    /// Largest number of vertices of a mesh (`maxMeshOutputVertices`).
    pub const MOST_VERTICES: u32 = 256;
    /// Largest number of primitives of a mesh (`maxMeshOutputPrimitives`).
    pub const MOST_PRIMITIVES: u32 = 256;
}

impl Default for MeshFacts {
    fn default() -> Self {
        MeshFacts {
            group: WorkgroupFacts::default(),
            payload_bytes: 0,
            output: MeshPrimitive::Points,
            max_vertices: 0,
            max_primitives: 0,
            vertices: Records::default(),
            primitives: Records::default(),
        }
    }
}

/// Facts that only one stage has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Vertex.
    Vertex,
    /// Tessellation control.
    TessellationControl(ControlFacts),
    /// Tessellation evaluation.
    TessellationEvaluation(TessellationFacts),
    /// Geometry.
    Geometry(GeometryFacts),
    /// Task.
    Task(TaskFacts),
    /// Mesh.
    Mesh(MeshFacts),
    /// Fragment.
    Fragment(FragmentFacts),
    /// Compute.
    Compute(WorkgroupFacts),
}

impl Payload {
    /// Makes the payload of a stage before anything is known about it.
    pub fn new(stage: Stage) -> Payload {
        match stage {
            Stage::Vertex => Payload::Vertex,
            Stage::TessellationControl => Payload::TessellationControl(ControlFacts::default()),
            Stage::TessellationEvaluation => Payload::TessellationEvaluation(TessellationFacts::default()),
            Stage::Geometry => Payload::Geometry(GeometryFacts::default()),
            Stage::Task => Payload::Task(TaskFacts::default()),
            Stage::Mesh => Payload::Mesh(MeshFacts::default()),
            Stage::Fragment => Payload::Fragment(FragmentFacts::default()),
            Stage::Compute => Payload::Compute(WorkgroupFacts::default()),
        }
    }

    /// Returns the stage that the payload belongs to.
    pub fn stage(&self) -> Stage {
        match self {
            Payload::Vertex => Stage::Vertex,
            Payload::TessellationControl(_) => Stage::TessellationControl,
            Payload::TessellationEvaluation(_) => Stage::TessellationEvaluation,
            Payload::Geometry(_) => Stage::Geometry,
            Payload::Task(_) => Stage::Task,
            Payload::Mesh(_) => Stage::Mesh,
            Payload::Fragment(_) => Stage::Fragment,
            Payload::Compute(_) => Stage::Compute,
        }
    }
}

/// Declares accessors of facts that some payloads have: the getter, the getter for changes, and the
/// payloads with the place of the facts.
macro_rules! facts_of {
    ($($(#[$doc:meta])* $get:ident, $get_mut:ident: $of:ty = $payload:pat => $facts:ident;)*) => {
        impl Payload {
            $(
                $(#[$doc])*
                pub fn $get(&self) -> Option<&$of> {
                    match self {
                        $payload => Some($facts),
                        _ => None,
                    }
                }

                #[doc = concat!("As [`Payload::", stringify!($get), "`].")]
                pub fn $get_mut(&mut self) -> Option<&mut $of> {
                    match self {
                        $payload => Some($facts),
                        _ => None,
                    }
                }
            )*
        }
    };
}

facts_of! {
    /// Returns the modes of the tessellator, if the stage is a tessellation stage.
    tessellation, tessellation_mut: TessellationFacts =
        Payload::TessellationControl(ControlFacts { modes: facts, .. }) | Payload::TessellationEvaluation(facts) => facts;
    /// Returns the facts of a geometry stage.
    geometry, geometry_mut: GeometryFacts = Payload::Geometry(facts) => facts;
    /// Returns the facts of a task stage.
    task, task_mut: TaskFacts = Payload::Task(facts) => facts;
    /// Returns the facts of a mesh stage.
    mesh, mesh_mut: MeshFacts = Payload::Mesh(facts) => facts;
    /// Returns the facts of a fragment stage.
    fragment, fragment_mut: FragmentFacts = Payload::Fragment(facts) => facts;
    /// Returns the facts of a stage with workgroups.
    workgroup, workgroup_mut: WorkgroupFacts =
        Payload::Compute(facts)
            | Payload::TessellationControl(ControlFacts { patch: facts, .. })
            | Payload::Task(TaskFacts { group: facts, .. })
            | Payload::Mesh(MeshFacts { group: facts, .. }) => facts;
}

/// Facts of a compiled stage beside its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageFacts {
    /// Stage, with the facts that only this stage has.
    pub payload: Payload,
    /// Number of lanes per chunk: 4 or 8.
    pub lanes: u32,
    /// Slots of inputs and outputs.
    pub interface: Arc<StageInterface>,
    /// Outputs that transform feedback captures, if the stage is compiled for that (`Xfb`).
    pub capture: Option<Arc<Capture>>,
    /// True if the stage writes buffers or images, or executes atomics.
    pub side_effects: bool,
    /// True if the stage has loops of its own. The quick tier's code is then much slower than the
    /// full tier's, because it keeps nothing in registers from block to block.
    pub has_loops: bool,
    /// True if the stage reads context values of a single draw: base vertex and instance, or the
    /// draw's number.
    pub draw_parameters: bool,
}

impl StageFacts {
    /// Returns the stage.
    pub fn stage(&self) -> Stage {
        self.payload.stage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_of_their_stages() {
        for &stage in Stage::ALL {
            let payload = Payload::new(stage);
            assert_eq!(payload.stage(), stage);
            assert_eq!(payload.fragment().is_some(), stage.has_quads());
            assert_eq!(payload.workgroup().is_some(), stage.has_workgroups());
            assert_eq!(payload.geometry().is_some(), stage.has_primitives());
            assert_eq!(payload.tessellation().is_some(), stage.takes(crate::shader::ModeFamily::Patch));
            assert_eq!(payload.mesh().is_some(), stage.takes(crate::shader::ModeFamily::Mesh));
            assert_eq!(payload.task().is_some(), stage.row().outputs == crate::shader::Side::Tasks);
        }
    }
}
