//! What is known of a compiled stage, once for whoever makes, stores, or runs it.

#![forbid(unsafe_code)]

use super::capture::{Capture, STREAMS};
use super::interface::StageInterface;
use super::stage::Stage;
use std::sync::Arc;

/// Facts of a fragment stage that fixed-function code acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentFacts {
    /// May kill or demote.
    pub kills: bool,
    /// `EarlyFragmentTests`.
    pub early_fragment_tests: bool,
    /// `DepthReplacing`.
    pub writes_depth: bool,
    /// `DepthGreater`.
    pub depth_greater: bool,
    /// `DepthLess`.
    pub depth_less: bool,
    /// Writes the stencil reference.
    pub writes_stencil: bool,
    /// Writes SampleMask.
    pub writes_sample_mask: bool,
    /// Reads SampleId or SamplePosition, or has Sample-decorated inputs: shade per sample.
    pub sample_shading: bool,
    /// Reads input attachments.
    pub reads_input_attachments: bool,
    /// Reads PrimitiveId.
    pub reads_primitive_id: bool,
    /// Reads SampleMask.
    pub reads_sample_mask: bool,
    /// `PostDepthCoverage`.
    pub post_depth_coverage: bool,
    /// `PixelInterlockOrderedEXT` and the like: of the invocations of a pixel one runs after the other, in the order of primitives.
    pub ordered: bool,
    /// It writes colours that are the same for all fragments of a primitive, and does nothing else.
    pub flat: bool,
}

/// Facts of a stage whose invocations come in workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkgroupFacts {
    /// Size.
    pub local_size: [u32; 3],
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Of these, the first ones that are none of the variables': what the stage is given and makes.
    pub reserved_bytes: u32,
}

impl Default for WorkgroupFacts {
    fn default() -> Self {
        WorkgroupFacts { local_size: [1; 3], shared_bytes: 0, reserved_bytes: 0 }
    }
}

impl WorkgroupFacts {
    /// Invocations of a workgroup.
    pub fn invocations(&self) -> u64 {
        self.local_size.iter().map(|&n| u64::from(n)).product()
    }

    /// Bytes from the memory of a workgroup to the next one's, where each has its own ([`super::Stage::keeps_groups`]): a word that begins inside of
    /// one ends there too.
    pub fn group_bytes(&self) -> u32 {
        (self.shared_bytes + size_of::<u32>() as u32).next_multiple_of(16)
    }
}

/// What is tessellated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// `Triangles`: coordinates are barycentric (u, v, w).
    Triangles,
    /// `Quads`.
    Quads,
    /// `Isolines`.
    Isolines,
}

impl Domain {
    /// How many outer levels it looks at.
    pub fn outer_levels(self) -> usize {
        match self {
            Domain::Triangles => 3,
            Domain::Quads => 4,
            Domain::Isolines => 2,
        }
    }
}

/// How edges are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spacing {
    /// `SpacingEqual`.
    Equal,
    /// `SpacingFractionalEven`.
    FractionalEven,
    /// `SpacingFractionalOdd`.
    FractionalOdd,
}

/// How the tessellator's triangles turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VertexOrder {
    /// `VertexOrderCw`.
    Clockwise,
    /// `VertexOrderCcw`.
    CounterClockwise,
}

/// What the tessellation stages say of the tessellator: either of them, or both the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TessellationFacts {
    /// What is tessellated.
    pub domain: Option<Domain>,
    /// How edges are divided.
    pub spacing: Option<Spacing>,
    /// How triangles turn.
    pub order: Option<VertexOrder>,
    /// `PointMode`.
    pub points: bool,
    /// `OutputVertices` of a patch, 1 to [`TessellationFacts::MOST_VERTICES`]; 0: not said.
    pub vertices: u32,
}

impl TessellationFacts {
    /// `maxTessellationPatchSize`.
    pub const MOST_VERTICES: u32 = 32;

    /// What both say together. (Where they contradict each other, the first one counts.)
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
    /// A patch as a workgroup: as many invocations as it has vertices, its outputs as shared memory.
    pub patch: WorkgroupFacts,
    /// What it says of the tessellator.
    pub modes: TessellationFacts,
}

/// What a stage that takes primitives is given.
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
    /// Its vertices.
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

/// What a stage makes of its vertices.
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
    /// Vertices of a primitive.
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
    /// What it is given.
    pub input: InputPrimitive,
    /// What it makes.
    pub output: OutputPrimitive,
    /// `OutputVertices`: the most that an invocation makes, of all streams together; 1 to [`GeometryFacts::MOST_VERTICES`].
    pub max_vertices: u32,
    /// `Invocations` of a primitive; 1 to [`GeometryFacts::MOST_INVOCATIONS`].
    pub invocations: u32,
}

impl GeometryFacts {
    /// `maxGeometryOutputVertices`.
    pub const MOST_VERTICES: u32 = 1024;
    /// `maxGeometryShaderInvocations`.
    pub const MOST_INVOCATIONS: u32 = 127;
}

impl Default for GeometryFacts {
    fn default() -> Self {
        let (input, output) = (InputPrimitive::Points, OutputPrimitive::Points);
        GeometryFacts { input, output, max_vertices: 1, invocations: 1 }
    }
}

/// A word of [`super::BuiltinSlot::VertexMark`]. Without that slot all vertices are of stream 0, and those of an invocation are one strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VertexMark(pub u32);

impl VertexMark {
    /// The bit of a vertex that begins a strip of its stream. (The first one of a stream does anyway.)
    pub const BEGINS: u32 = 1 << 8;

    /// The vertex's stream.
    pub const fn stream(self) -> u32 {
        self.0 % STREAMS as u32
    }

    /// It is the first one of a strip.
    pub const fn begins(self) -> bool {
        self.0 & Self::BEGINS != 0
    }
}

/// Memory of task and mesh workgroups begins with what they say of themselves: of a task how many mesh workgroups there are to be (x, y, z), of a mesh
/// how many vertices and primitives it has. Behind so many bytes follows the payload: a mesh workgroup has a copy of its task's.
pub const GROUP_HEAD: u32 = 16;

/// Facts of a task stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskFacts {
    /// Its workgroups.
    pub group: WorkgroupFacts,
    /// Bytes of the payload.
    pub payload_bytes: u32,
}

/// What a mesh is made of.
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
    /// Vertices of a primitive.
    pub const fn vertices(self) -> u32 {
        match self {
            MeshPrimitive::Points => 1,
            MeshPrimitive::Lines => 2,
            MeshPrimitive::Triangles => 3,
        }
    }
}

/// Records of a mesh in the memory of its workgroup: words, in which slots lie where [`super::StageInterface::places`] says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Byte of the first one; a multiple of 4.
    pub first: u32,
    /// Bytes from one to the next; a multiple of 4.
    pub stride: u32,
}

/// Facts of a mesh stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshFacts {
    /// Its workgroups.
    pub group: WorkgroupFacts,
    /// Bytes of the payload that it reads.
    pub payload_bytes: u32,
    /// What it makes.
    pub output: MeshPrimitive,
    /// `OutputVertices`, 0 to [`MeshFacts::MOST_VERTICES`].
    pub max_vertices: u32,
    /// `OutputPrimitivesEXT`, 0 to [`MeshFacts::MOST_PRIMITIVES`].
    pub max_primitives: u32,
    /// A record for each of `max_vertices`.
    pub vertices: Records,
    /// A record for each of `max_primitives`.
    pub primitives: Records,
}

impl MeshFacts {
    /// `maxMeshOutputVertices`.
    pub const MOST_VERTICES: u32 = 256;
    /// `maxMeshOutputPrimitives`.
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

/// What only one stage has.
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
    /// Of a stage of which nothing is known yet.
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

    /// Whose.
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

/// Facts that some payloads have: how they are read, how they are changed, and in which payloads they are where.
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
    /// What a tessellation stage says of the tessellator.
    tessellation, tessellation_mut: TessellationFacts =
        Payload::TessellationControl(ControlFacts { modes: facts, .. }) | Payload::TessellationEvaluation(facts) => facts;
    /// The geometry stage's.
    geometry, geometry_mut: GeometryFacts = Payload::Geometry(facts) => facts;
    /// The task stage's.
    task, task_mut: TaskFacts = Payload::Task(facts) => facts;
    /// The mesh stage's.
    mesh, mesh_mut: MeshFacts = Payload::Mesh(facts) => facts;
    /// The fragment stage's.
    fragment, fragment_mut: FragmentFacts = Payload::Fragment(facts) => facts;
    /// Those of a stage with workgroups.
    workgroup, workgroup_mut: WorkgroupFacts =
        Payload::Compute(facts)
            | Payload::TessellationControl(ControlFacts { patch: facts, .. })
            | Payload::Task(TaskFacts { group: facts, .. })
            | Payload::Mesh(MeshFacts { group: facts, .. }) => facts;
}

/// What is known of a compiled stage beside its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageFacts {
    /// Which stage, and what only that has.
    pub payload: Payload,
    /// Lanes per chunk: 4 or 8.
    pub lanes: u32,
    /// Slots.
    pub interface: Arc<StageInterface>,
    /// What transform feedback takes of its outputs, if it is made for that (`Xfb`).
    pub capture: Option<Arc<Capture>>,
    /// Writes buffers, images or executes atomics.
    pub side_effects: bool,
    /// Has loops of its own: the quick tier's code is then much slower than the full tier's, because it keeps nothing in registers
    /// from block to block.
    pub has_loops: bool,
    /// Reads what the context has of a single draw: base vertex and instance, the draw's number.
    pub draw_parameters: bool,
}

impl StageFacts {
    /// Which stage.
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
