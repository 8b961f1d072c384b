//! Properties of a compiled stage, which are found once for the code that compiles, stores or runs
//! it.

#![forbid(unsafe_code)]

use super::capture::Capture;
use super::interface::StageInterface;
use super::stage::Stage;
use super::suspension::FrameInfo;
use crate::limits::STREAMS;
use crate::text::FromText;
use std::sync::Arc;

/// Properties of a fragment stage that affect fixed-function code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromText)]
pub struct FragmentInfo {
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
    /// True if the stage reads FullyCoveredEXT.
    pub reads_fully_covered: bool,
    /// True if the stage reads inputs at centroids.
    pub reads_centroids: bool,
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

/// Properties of a stage whose invocations form workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromText)]
pub struct WorkgroupInfo {
    /// Number of invocations in each dimension.
    pub local_size: [u32; 3],
    /// Number of bytes of shared memory.
    pub shared_bytes: u32,
    /// Number of the first of these bytes that belong to no variable, but to the stage's own inputs
    /// and outputs.
    pub reserved_bytes: u32,
}

impl Default for WorkgroupInfo {
    fn default() -> Self {
        WorkgroupInfo { local_size: [1; 3], shared_bytes: 0, reserved_bytes: 0 }
    }
}

impl WorkgroupInfo {
    /// Returns the number of invocations of a workgroup.
    pub fn invocations(&self) -> u64 {
        self.local_size.iter().map(|&n| u64::from(n)).product()
    }

    /// Returns the number of bytes from the memory of a workgroup to that of the next one, if each
    /// has its own ([`super::Stage::has_workgroup_outputs`]). A word that begins inside of one ends
    /// there too.
    pub fn workgroup_stride(&self) -> u32 {
        (self.shared_bytes + size_of::<u32>() as u32).next_multiple_of(16)
    }
}

/// The domain that is tessellated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum Spacing {
    /// `SpacingEqual`.
    Equal,
    /// `SpacingFractionalEven`.
    FractionalEven,
    /// `SpacingFractionalOdd`.
    FractionalOdd,
}

/// Winding order of the tessellator's triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum VertexOrder {
    /// `VertexOrderCw`.
    Clockwise,
    /// `VertexOrderCcw`.
    CounterClockwise,
}

/// Modes of the tessellator. Either tessellation stage declares them, or both declare the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromText)]
pub struct TessellationInfo {
    /// Domain that is tessellated.
    pub domain: Option<Domain>,
    /// Spacing of edges.
    pub spacing: Option<Spacing>,
    /// Winding order of triangles.
    pub order: Option<VertexOrder>,
    /// True if the tessellator makes points (`PointMode`).
    pub points: bool,
    /// Number of vertices of a patch (`OutputVertices`), 1 to
    /// [`MAX_PATCH_VERTICES`](crate::limits::MAX_PATCH_VERTICES); 0 if it is not declared.
    pub vertices: u32,
}

impl TessellationInfo {
    /// Returns the modes that either stage declares. (If they contradict each other, those of
    /// `self` apply.)
    pub fn or(self, other: TessellationInfo) -> TessellationInfo {
        TessellationInfo {
            domain: self.domain.or(other.domain),
            spacing: self.spacing.or(other.spacing),
            order: self.order.or(other.order),
            points: self.points || other.points,
            vertices: if self.vertices == 0 { other.vertices } else { self.vertices },
        }
    }
}

/// Properties of a tessellation control stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromText)]
pub struct TessellationControlInfo {
    /// The patch as a workgroup, which has as many invocations as the patch has vertices and its
    /// outputs as shared memory.
    pub patch: WorkgroupInfo,
    /// Modes of the tessellator that the stage declares.
    pub modes: TessellationInfo,
}

/// Input primitive of a stage that processes primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromText)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromText)]
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

/// Properties of a geometry stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromText)]
pub struct GeometryInfo {
    /// Input primitive.
    pub input: InputPrimitive,
    /// Output primitive.
    pub output: OutputPrimitive,
    /// Largest number of vertices that an invocation emits to all streams together
    /// (`OutputVertices`), 1 to [`MAX_GEOMETRY_VERTICES`](crate::limits::MAX_GEOMETRY_VERTICES).
    pub max_vertices: u32,
    /// Number of invocations per primitive (`Invocations`), 1 to
    /// [`MAX_GEOMETRY_INVOCATIONS`](crate::limits::MAX_GEOMETRY_INVOCATIONS).
    pub invocations: u32,
}

impl Default for GeometryInfo {
    fn default() -> Self {
        let (input, output) = (InputPrimitive::Points, OutputPrimitive::Points);
        GeometryInfo { input, output, max_vertices: 1, invocations: 1 }
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
pub const WORKGROUP_HEADER_BYTES: u32 = 16;

/// Properties of a task stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromText)]
pub struct TaskInfo {
    /// Properties of its workgroups.
    pub group: WorkgroupInfo,
    /// Number of bytes of the payload.
    pub payload_bytes: u32,
}

/// Primitive of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromText)]
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
/// [`super::StageInterface::placements`] defines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromText)]
pub struct Records {
    /// Byte offset of the first record; a multiple of 4.
    pub first: u32,
    /// Number of bytes from one record to the next; a multiple of 4.
    pub stride: u32,
}

/// Properties of a mesh stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromText)]
pub struct MeshInfo {
    /// Properties of its workgroups.
    pub group: WorkgroupInfo,
    /// Number of bytes of the payload that it reads.
    pub payload_bytes: u32,
    /// Primitive that it emits.
    pub output: MeshPrimitive,
    /// Largest number of vertices (`OutputVertices`), 0 to
    /// [`MAX_MESH_VERTICES`](crate::limits::MAX_MESH_VERTICES).
    pub max_vertices: u32,
    /// Largest number of primitives (`OutputPrimitivesEXT`), 0 to
    /// [`MAX_MESH_PRIMITIVES`](crate::limits::MAX_MESH_PRIMITIVES).
    pub max_primitives: u32,
    /// Records of vertices, one for each of `max_vertices`.
    pub vertices: Records,
    /// Records of primitives, one for each of `max_primitives`.
    pub primitives: Records,
}

impl Default for MeshInfo {
    fn default() -> Self {
        MeshInfo {
            group: WorkgroupInfo::default(),
            payload_bytes: 0,
            output: MeshPrimitive::Points,
            max_vertices: 0,
            max_primitives: 0,
            vertices: Records::default(),
            primitives: Records::default(),
        }
    }
}

/// Properties that only one kind of stage has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromText)]
pub enum StageSpecificInfo {
    /// Vertex.
    Vertex,
    /// Tessellation control.
    TessellationControl(TessellationControlInfo),
    /// Tessellation evaluation.
    TessellationEvaluation(TessellationInfo),
    /// Geometry.
    Geometry(GeometryInfo),
    /// Task.
    Task(TaskInfo),
    /// Mesh.
    Mesh(MeshInfo),
    /// Fragment.
    Fragment(FragmentInfo),
    /// Compute.
    Compute(WorkgroupInfo),
    /// Ray generation.
    RayGeneration,
    /// Any-hit.
    AnyHit,
    /// Closest-hit.
    ClosestHit,
    /// Miss.
    Miss,
    /// Intersection.
    Intersection,
    /// Callable.
    Callable,
}

impl StageSpecificInfo {
    /// Makes the information about a stage before anything is known about it.
    pub fn new(stage: Stage) -> StageSpecificInfo {
        match stage {
            Stage::Vertex => StageSpecificInfo::Vertex,
            Stage::TessellationControl => StageSpecificInfo::TessellationControl(TessellationControlInfo::default()),
            Stage::TessellationEvaluation => StageSpecificInfo::TessellationEvaluation(TessellationInfo::default()),
            Stage::Geometry => StageSpecificInfo::Geometry(GeometryInfo::default()),
            Stage::Task => StageSpecificInfo::Task(TaskInfo::default()),
            Stage::Mesh => StageSpecificInfo::Mesh(MeshInfo::default()),
            Stage::Fragment => StageSpecificInfo::Fragment(FragmentInfo::default()),
            Stage::Compute => StageSpecificInfo::Compute(WorkgroupInfo::default()),
            Stage::RayGeneration => StageSpecificInfo::RayGeneration,
            Stage::AnyHit => StageSpecificInfo::AnyHit,
            Stage::ClosestHit => StageSpecificInfo::ClosestHit,
            Stage::Miss => StageSpecificInfo::Miss,
            Stage::Intersection => StageSpecificInfo::Intersection,
            Stage::Callable => StageSpecificInfo::Callable,
        }
    }

    /// Returns the stage that the information belongs to.
    pub fn stage(&self) -> Stage {
        match self {
            StageSpecificInfo::Vertex => Stage::Vertex,
            StageSpecificInfo::TessellationControl(_) => Stage::TessellationControl,
            StageSpecificInfo::TessellationEvaluation(_) => Stage::TessellationEvaluation,
            StageSpecificInfo::Geometry(_) => Stage::Geometry,
            StageSpecificInfo::Task(_) => Stage::Task,
            StageSpecificInfo::Mesh(_) => Stage::Mesh,
            StageSpecificInfo::Fragment(_) => Stage::Fragment,
            StageSpecificInfo::Compute(_) => Stage::Compute,
            StageSpecificInfo::RayGeneration => Stage::RayGeneration,
            StageSpecificInfo::AnyHit => Stage::AnyHit,
            StageSpecificInfo::ClosestHit => Stage::ClosestHit,
            StageSpecificInfo::Miss => Stage::Miss,
            StageSpecificInfo::Intersection => Stage::Intersection,
            StageSpecificInfo::Callable => Stage::Callable,
        }
    }
}

/// Declares accessors of information that some stages have: the getter, the mutable getter, and the
/// variants with the place of the information.
macro_rules! info_accessors {
    ($($(#[$doc:meta])* $get:ident, $get_mut:ident: $of:ty = $stage_info:pat => $info:ident;)*) => {
        impl StageSpecificInfo {
            $(
                $(#[$doc])*
                pub fn $get(&self) -> Option<&$of> {
                    match self {
                        $stage_info => Some($info),
                        _ => None,
                    }
                }

                #[doc = concat!("As [`Payload::", stringify!($get), "`].")]
                pub fn $get_mut(&mut self) -> Option<&mut $of> {
                    match self {
                        $stage_info => Some($info),
                        _ => None,
                    }
                }
            )*
        }
    };
}

info_accessors! {
    /// Returns the modes of the tessellator, if the stage is a tessellation stage.
    tessellation, tessellation_mut: TessellationInfo =
        StageSpecificInfo::TessellationControl(TessellationControlInfo { modes: info, .. }) | StageSpecificInfo::TessellationEvaluation(info) => info;
    /// Returns the properties of a geometry stage.
    geometry, geometry_mut: GeometryInfo = StageSpecificInfo::Geometry(info) => info;
    /// Returns the properties of a task stage.
    task, task_mut: TaskInfo = StageSpecificInfo::Task(info) => info;
    /// Returns the properties of a mesh stage.
    mesh, mesh_mut: MeshInfo = StageSpecificInfo::Mesh(info) => info;
    /// Returns the properties of a fragment stage.
    fragment, fragment_mut: FragmentInfo = StageSpecificInfo::Fragment(info) => info;
    /// Returns the properties of a stage with workgroups.
    workgroup, workgroup_mut: WorkgroupInfo =
        StageSpecificInfo::Compute(info)
            | StageSpecificInfo::TessellationControl(TessellationControlInfo { patch: info, .. })
            | StageSpecificInfo::Task(TaskInfo { group: info, .. })
            | StageSpecificInfo::Mesh(MeshInfo { group: info, .. }) => info;
}

/// Properties of a compiled stage beside its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShaderInfo {
    /// Stage, with the properties that only this kind of stage has.
    pub stage_info: StageSpecificInfo,
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
    /// The frames of the invocations, if the stage's batches have frames
    /// ([`BatchKind::Invocations`](crate::abi::BatchKind)).
    pub frame: Option<Arc<FrameInfo>>,
}

impl ShaderInfo {
    /// Returns the stage.
    pub fn stage(&self) -> Stage {
        self.stage_info.stage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stage_specific_info_belongs_to_its_stage() {
        for &stage in Stage::ALL {
            let stage_info = StageSpecificInfo::new(stage);
            assert_eq!(stage_info.stage(), stage);
            assert_eq!(stage_info.fragment().is_some(), stage.has_quads());
            assert_eq!(stage_info.workgroup().is_some(), stage.has_workgroups());
            assert_eq!(stage_info.geometry().is_some(), stage.has_primitives());
            assert_eq!(stage_info.tessellation().is_some(), stage.takes(crate::shader::ModeFamily::Patch));
            assert_eq!(stage_info.mesh().is_some(), stage.takes(crate::shader::ModeFamily::Mesh));
            assert_eq!(stage_info.task().is_some(), stage.row().outputs == crate::shader::StageIoKind::Tasks);
        }
    }
}
