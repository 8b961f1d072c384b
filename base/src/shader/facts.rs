//! What is known of a compiled stage, once for whoever makes, stores, or runs it.

#![forbid(unsafe_code)]

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
    /// `PostDepthCoverage`.
    pub post_depth_coverage: bool,
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
    /// Shared memory must be zero when a workgroup begins (an Initializer of OpConstantNull).
    pub zero_shared: bool,
}

impl Default for WorkgroupFacts {
    fn default() -> Self {
        WorkgroupFacts { local_size: [1; 3], shared_bytes: 0, zero_shared: false }
    }
}

impl WorkgroupFacts {
    /// Invocations of a workgroup.
    pub fn invocations(&self) -> u64 {
        self.local_size.iter().map(|&n| u64::from(n)).product()
    }
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
    pub const MOST_VERTICES: u32 = 256;
    /// `maxGeometryShaderInvocations`.
    pub const MOST_INVOCATIONS: u32 = 127;
    /// `maxVertexStreams`' most: what [`VertexMark`] can tell apart.
    pub const MOST_STREAMS: u32 = 4;
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
        self.0 % GeometryFacts::MOST_STREAMS
    }

    /// It is the first one of a strip.
    pub const fn begins(self) -> bool {
        self.0 & Self::BEGINS != 0
    }
}

/// What only one stage has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Vertex.
    Vertex,
    /// Geometry.
    Geometry(GeometryFacts),
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
            Stage::Geometry => Payload::Geometry(GeometryFacts::default()),
            Stage::Fragment => Payload::Fragment(FragmentFacts::default()),
            Stage::Compute => Payload::Compute(WorkgroupFacts::default()),
        }
    }

    /// Whose.
    pub fn stage(&self) -> Stage {
        match self {
            Payload::Vertex => Stage::Vertex,
            Payload::Geometry(_) => Stage::Geometry,
            Payload::Fragment(_) => Stage::Fragment,
            Payload::Compute(_) => Stage::Compute,
        }
    }

    /// The geometry stage's.
    pub fn geometry(&self) -> Option<&GeometryFacts> {
        match self {
            Payload::Geometry(facts) => Some(facts),
            Payload::Vertex | Payload::Fragment(_) | Payload::Compute(_) => None,
        }
    }

    /// As [`Payload::geometry`].
    pub fn geometry_mut(&mut self) -> Option<&mut GeometryFacts> {
        match self {
            Payload::Geometry(facts) => Some(facts),
            Payload::Vertex | Payload::Fragment(_) | Payload::Compute(_) => None,
        }
    }

    /// The fragment stage's.
    pub fn fragment(&self) -> Option<&FragmentFacts> {
        match self {
            Payload::Fragment(facts) => Some(facts),
            Payload::Vertex | Payload::Geometry(_) | Payload::Compute(_) => None,
        }
    }

    /// As [`Payload::fragment`].
    pub fn fragment_mut(&mut self) -> Option<&mut FragmentFacts> {
        match self {
            Payload::Fragment(facts) => Some(facts),
            Payload::Vertex | Payload::Geometry(_) | Payload::Compute(_) => None,
        }
    }

    /// Those of a stage with workgroups.
    pub fn workgroup(&self) -> Option<&WorkgroupFacts> {
        match self {
            Payload::Compute(facts) => Some(facts),
            Payload::Vertex | Payload::Geometry(_) | Payload::Fragment(_) => None,
        }
    }

    /// As [`Payload::workgroup`].
    pub fn workgroup_mut(&mut self) -> Option<&mut WorkgroupFacts> {
        match self {
            Payload::Compute(facts) => Some(facts),
            Payload::Vertex | Payload::Geometry(_) | Payload::Fragment(_) => None,
        }
    }
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
    /// Writes buffers, images or executes atomics.
    pub side_effects: bool,
    /// Scratch bytes a batch needs (with workgroups: of a whole one).
    pub scratch_bytes: u32,
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
        }
    }
}
