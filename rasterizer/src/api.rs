//! The rasterizer's types as the icd sees them: attachments, pipeline state, draws, dispatches.
//!
//! Enumerations that Vulkan numbers keep its numbers (`base::numbered!`). What becomes of fragments is `base::pixel`'s.

pub use crate::feedback::Feedback;
pub use crate::stages::{GraphicsStages, Misfit};

use base::abi::ShaderContext;
use base::image::ImageLayout;
use base::mem::MemoryRange;
use base::numbered;
use base::parts::PartialRange;
use base::pixel::{MAX_COLOR_ATTACHMENTS, PixelState, PixelValues};
use base::shader::{CompiledStage, STREAMS};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most viewports and scissors.
pub const MAX_VIEWPORTS: usize = 16;
/// Most vertex bindings and attributes.
pub const MAX_VERTEX_BINDINGS: usize = 32;

/// Point sizes are clamped to this range (`pointSizeRange`).
pub const POINT_SIZE_RANGE: [f32; 2] = [1.0, 1024.0];
/// Line widths are clamped to this range (`lineWidthRange`). Nothing here needs them to be bounded, but whoever draws with the widest does so in some viewport: a
/// wide line is not cut there, as the specification has it, and the CTS's references (dynamic_state.*.image), of viewports of 64 pixels, are. (lavapipe, which
/// tells 255, cuts them.)
pub const LINE_WIDTH_RANGE: [f32; 2] = [1.0, 64.0];
/// LOD biases of samplers and operations are clamped to this magnitude (`maxSamplerLodBias`).
pub const MAX_LOD_BIAS: f32 = 16.0;
/// Anisotropies are clamped to this (`maxSamplerAnisotropy`).
pub const MAX_SAMPLER_ANISOTROPY: f32 = 16.0;

/// Image memory: base address and layout. The icd keeps it alive while a submission uses it.
#[derive(Clone, Debug)]
pub struct ImageMemory {
    /// First byte; valid for `layout.size` bytes, aligned to `base::image::IMAGE_ALIGNMENT`.
    pub base: *mut u8,
    /// Where its texels lie in the memory.
    pub layout: Arc<ImageLayout>,
}
// SAFETY: an address and an immutable layout; all accesses go through checked kernels.
unsafe impl Send for ImageMemory {}
// SAFETY: as above.
unsafe impl Sync for ImageMemory {}

/// One attachment of a render pass instance: a level and layer range of an image, seen through a view format.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// The image that is rendered to.
    pub image: ImageMemory,
    /// Format of the view (compatible with the image's).
    pub format: base::format::Format,
    /// Mip level.
    pub level: u32,
    /// First layer (or depth slice of a 3D image when `slices`).
    pub base_layer: u32,
    /// Layer count.
    pub layers: u32,
    /// The layers are depth slices of a 3D image.
    pub slices: bool,
}

/// Attachments of a subpass or dynamic rendering instance.
#[derive(Clone, Debug, Default)]
pub struct RenderTargets {
    /// By colour attachment number.
    pub color: [Option<Attachment>; MAX_COLOR_ATTACHMENTS],
    /// Depth aspect.
    pub depth: Option<Attachment>,
    /// Stencil aspect.
    pub stencil: Option<Attachment>,
    /// Rasterization samples: 1, 2, 4, 8 or 16.
    pub samples: u32,
    /// Framebuffer layers.
    pub layers: u32,
    /// Render area x, y, width, height: nothing outside is touched.
    pub area: [u32; 4],
    /// Which of these attachments input attachments may be: those of the subpass, or of dynamic rendering.
    pub inputs: AttachmentLoops,
}

numbered! {
    /// `VkPrimitiveTopology`. Adjacent vertices are ignored without a geometry stage.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum Topology {
        PointList, LineList, LineStrip, TriangleList, TriangleStrip, TriangleFan,
        LineListWithAdjacency, LineStripWithAdjacency, TriangleListWithAdjacency, TriangleStripWithAdjacency,
        PatchList,
    }
}

/// A topology class: what primitives are made of after assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyClass {
    /// One vertex.
    Point,
    /// Two vertices.
    Line,
    /// Three vertices.
    Triangle,
}

impl Topology {
    /// What the topology is made of.
    pub fn class(self) -> TopologyClass {
        match self {
            Topology::PointList => TopologyClass::Point,
            Topology::LineList
            | Topology::LineStrip
            | Topology::LineListWithAdjacency
            | Topology::LineStripWithAdjacency => TopologyClass::Line,
            _ => TopologyClass::Triangle,
        }
    }

    /// Do stipple counters run on from line to line?
    pub fn is_line_strip(self) -> bool {
        matches!(self, Topology::LineStrip | Topology::LineStripWithAdjacency)
    }
}

numbered! {
    /// `VkPolygonMode`.
    pub enum PolygonMode {
        /// Triangles are areas.
        Fill,
        /// Triangles are their edges.
        Line,
        /// Triangles are their vertices.
        Point,
    }
}

/// `VkLineRasterizationMode`, whose default mode is rectangular (`strictLines`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineMode {
    /// Samples inside of the rectangle.
    Rectangular,
    /// The diamond-exit rule, whole pixels.
    Bresenham,
    /// The rectangle's share of a pixel goes into alpha.
    Smooth,
}

/// A line stipple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stipple {
    /// lineStippleFactor, 1 to 256.
    pub factor: u32,
    /// lineStipplePattern.
    pub pattern: u16,
}

/// `VkVertexInputAttributeDescription` joined with its binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VertexAttribute {
    /// Location of the vertex stage's input.
    pub location: u32,
    /// Binding number.
    pub binding: u32,
    /// Format (a vertex buffer format).
    pub format: base::format::Format,
    /// Byte offset in the element.
    pub offset: u32,
}

/// `VkVertexInputBindingDescription`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VertexBinding {
    /// Binding number.
    pub binding: u32,
    /// Bytes from one element to the next.
    pub stride: u32,
    /// Per instance.
    pub per_instance: bool,
    /// Instances per element (VK_EXT_vertex_attribute_divisor); 1 without; 0: all instances read element 0.
    pub divisor: u32,
}

/// A viewport.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the specification's names (VkViewport)")]
pub struct Viewport {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
    pub min_depth: f32,
    pub max_depth: f32,
}

/// A list of which there is mostly one: made anew with the state, by every draw that changes some.
pub type One<T> = SmallVec<[T; 1]>;
/// A list of which there are mostly a few.
pub type Few<T> = SmallVec<[T; 4]>;

/// A depth bias.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DepthBias {
    /// depthBiasConstantFactor.
    pub constant: f32,
    /// depthBiasClamp.
    pub clamp: f32,
    /// depthBiasSlopeFactor.
    pub slope: f32,
    /// What the constant is a factor of.
    pub unit: DepthBiasUnit,
}

/// `VkDepthBiasRepresentationEXT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DepthBiasUnit {
    /// The least difference that the attachment resolves.
    #[default]
    Format,
    /// The same as if the attachment were a normalised one of as many bits as its mantissa.
    Unorm,
    /// 1.
    One,
}

/// All state of a draw that is not code. Pipeline state and dynamic state merged by the icd when the draw is executed.
#[derive(Clone, Debug)]
pub struct DrawState {
    /// How vertices make primitives.
    pub topology: Topology,
    /// patchControlPoints: vertices of a patch, 1 to 32.
    pub patch_vertices: u32,
    /// The tessellator's domain has its origin in the lower left, else in the upper left.
    pub lower_left: bool,
    /// primitiveRestartEnable.
    pub primitive_restart: bool,
    /// Vertex attributes.
    pub attributes: Few<VertexAttribute>,
    /// Vertex bindings.
    pub bindings: Few<VertexBinding>,
    /// By index.
    pub viewports: One<Viewport>,
    /// Scissors x, y, width, height (non-negative after clipping to i32 range by the icd).
    pub scissors: One<[i32; 4]>,
    /// depthClampEnable.
    pub depth_clamp: bool,
    /// Clip against near and far planes (depthClipEnable; default = !depth_clamp).
    pub depth_clip: bool,
    /// negativeOneToOne: the near plane is at z = -w.
    pub negative_one_to_one: bool,
    /// provokingVertexMode is that of the last vertex.
    pub provoking_last: bool,
    /// rasterizerDiscardEnable.
    pub rasterizer_discard: bool,
    /// The stream of vertices that is rasterized, below [`STREAMS`].
    pub rasterization_stream: u32,
    /// Polygon mode.
    pub polygon_mode: PolygonMode,
    /// `VkCullModeFlags`: 1 front, 2 back.
    pub cull_mode: u32,
    /// frontFace == CLOCKWISE.
    pub front_clockwise: bool,
    /// depthBiasEnable with its factors.
    pub depth_bias: Option<DepthBias>,
    /// lineWidth.
    pub line_width: f32,
    /// lineRasterizationMode.
    pub line_mode: LineMode,
    /// stippledLineEnable with the stipple.
    pub line_stipple: Option<Stipple>,
    /// What becomes of fragments.
    pub pixel: PixelState,
    /// Numbers for that.
    pub pixel_values: PixelValues,
    /// The fragment stage may read the pass's attachments as images.
    pub loops: AttachmentLoops,
    /// What fragments read of attachments is what those of earlier primitives wrote, without barriers.
    pub ordered: bool,
}

/// Attachments that a fragment stage may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachmentLoops {
    /// Of colour.
    pub color: bool,
    /// Depth or stencil.
    pub depth_stencil: bool,
}

/// What a pipeline has of which nothing is said.
impl Default for DrawState {
    fn default() -> DrawState {
        DrawState {
            topology: Topology::TriangleList,
            patch_vertices: 1,
            lower_left: false,
            primitive_restart: false,
            attributes: Few::new(),
            bindings: Few::new(),
            viewports: One::new(),
            scissors: One::new(),
            depth_clamp: false,
            depth_clip: true,
            negative_one_to_one: false,
            provoking_last: false,
            rasterizer_discard: false,
            rasterization_stream: 0,
            polygon_mode: PolygonMode::Fill,
            cull_mode: 0,
            front_clockwise: false,
            depth_bias: None,
            line_width: 1.0,
            line_mode: LineMode::Rectangular,
            line_stipple: None,
            pixel: PixelState::default(),
            pixel_values: PixelValues::default(),
            loops: AttachmentLoops::default(),
            ordered: false,
        }
    }
}

impl DrawState {
    /// Primitives of such a topology are lines which need a record of their own in the tiles: they are more than rectangles.
    pub fn lines_are_special(&self, topology: Topology) -> bool {
        let lines = match topology.class() {
            TopologyClass::Line => true,
            TopologyClass::Triangle => self.polygon_mode == PolygonMode::Line,
            TopologyClass::Point => false,
        };
        lines && (self.line_mode != LineMode::Rectangular || self.line_stipple.is_some())
    }
}

/// Index buffer.
#[derive(Clone, Copy, Debug)]
pub struct IndexBuffer {
    /// Its memory. Reads outside of it give 0.
    pub range: MemoryRange,
    /// Bytes between index 0 and the memory: the buffer's address can lie before its memory.
    pub before: u64,
    /// Bytes per index: 1, 2 or 4.
    pub index_bytes: u32,
    /// The index that restarts a primitive, where that is not the greatest of so many bytes.
    pub restart: Option<u32>,
}

/// Query sinks active during a draw.
#[derive(Clone, Debug, Default)]
pub struct QuerySinks {
    /// Occlusion: samples that passed, added.
    pub occlusion: Option<Arc<AtomicU64>>,
    /// Pipeline statistics in `VkQueryPipelineStatisticFlagBits` bit order ([`statistic`]).
    pub statistics: Option<Arc<Statistics>>,
    /// Transform feedback, by stream: primitives that were written, and that buffers without end would have got.
    pub feedback: [Option<Arc<[AtomicU64; 2]>>; STREAMS],
    /// Primitives that reach transform feedback, active or not, by stream.
    pub generated: [Option<Arc<AtomicU64>>; STREAMS],
    /// Primitives of meshes that come to the rasterizer.
    pub meshes: Option<Arc<AtomicU64>>,
}

/// A counter for each [`statistic`].
pub type Statistics = [AtomicU64; statistic::COUNT];

/// Bits of `VkQueryPipelineStatisticFlagBits` that are counted.
pub mod statistic {
    /// Input assembly vertices.
    pub const VERTICES: usize = 0;
    /// Input assembly primitives.
    pub const PRIMITIVES: usize = 1;
    /// Vertex shader invocations.
    pub const VERTEX_INVOCATIONS: usize = 2;
    /// Geometry shader invocations.
    pub const GEOMETRY_INVOCATIONS: usize = 3;
    /// Primitives that geometry shaders made.
    pub const GEOMETRY_PRIMITIVES: usize = 4;
    /// Primitives that reach clipping.
    pub const CLIPPING_INVOCATIONS: usize = 5;
    /// Primitives that leave clipping.
    pub const CLIPPING_PRIMITIVES: usize = 6;
    /// Fragment shader invocations.
    pub const FRAGMENT_INVOCATIONS: usize = 7;
    /// Patches of tessellation control shaders.
    pub const CONTROL_PATCHES: usize = 8;
    /// Tessellation evaluation shader invocations.
    pub const EVALUATION_INVOCATIONS: usize = 9;
    /// Compute shader invocations.
    pub const COMPUTE_INVOCATIONS: usize = 10;
    /// Task shader invocations.
    pub const TASK_INVOCATIONS: usize = 11;
    /// Mesh shader invocations.
    pub const MESH_INVOCATIONS: usize = 12;
    /// How many there are.
    pub const COUNT: usize = 13;
}

impl QuerySinks {
    /// Nobody asks how many fragments there are, or samples that pass.
    pub fn ignores_fragments(&self) -> bool {
        self.statistics.is_none() && self.occlusion.is_none()
    }

    /// Adds to a [`statistic`], if it is counted.
    pub fn count(&self, bit: usize, n: u64) {
        if let Some(statistics) = &self.statistics {
            statistics[bit].fetch_add(n, Ordering::Relaxed);
        }
    }

    /// Adds primitives of a stream that were written to transform feedback buffers, and that should have been.
    pub fn count_feedback(&self, stream: usize, written: u32, needed: u32) {
        if let Some([to_written, to_needed]) = self.feedback[stream].as_deref() {
            to_written.fetch_add(written.into(), Ordering::Relaxed);
            to_needed.fetch_add(needed.into(), Ordering::Relaxed);
        }
    }

    /// Adds primitives of meshes.
    pub fn count_meshes(&self, primitives: u64) {
        if let Some(meshes) = &self.meshes {
            meshes.fetch_add(primitives, Ordering::Relaxed);
        }
    }

    /// Adds primitives that reached transform feedback.
    pub fn count_generated(&self, stream: usize, primitives: u64) {
        if let Some(generated) = &self.generated[stream] {
            generated.fetch_add(primitives, Ordering::Relaxed);
        }
    }
}

/// Counts of a draw (already fetched from the indirect buffer).
#[derive(Clone, Copy, Debug, Default)]
pub struct DrawCounts {
    /// Vertices or indices.
    pub count: u32,
    /// Number of instances.
    pub instances: u32,
    /// firstVertex or firstIndex.
    pub first: u32,
    /// vertexOffset of an indexed draw.
    pub vertex_offset: i32,
    /// firstInstance.
    pub first_instance: u32,
}

/// A draw or dispatch that a worker is at: what [`Engine::running`](crate::Engine::running) calls it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Running {
    /// The number of its command, not 0. A command may have several draws.
    pub command: u64,
    /// What the icd calls its pipeline, not 0.
    pub pipeline: u64,
}

/// One draw.
#[derive(Clone)]
pub struct Draw {
    /// What to call it.
    pub running: Running,
    /// Code, with what connects it.
    pub stages: Arc<GraphicsStages>,
    /// Fixed-function state, dynamic values included.
    pub state: Arc<DrawState>,
    /// Descriptor sets, push constants, draw parameters.
    pub context: Arc<ShaderContext>,
    /// By binding number; reads beyond one or where it has no memory, and of null, give 0. The icd keeps the memory alive.
    pub vertex_buffers: Few<PartialRange>,
    /// `None`: not indexed.
    pub index_buffer: Option<IndexBuffer>,
    /// Vertices and instances, where there is a vertex stage.
    pub counts: DrawCounts,
    /// Task or mesh workgroups, where there is a mesh stage.
    pub groups: [u32; 3],
    /// Where its vertices are captured, if transform feedback is active.
    pub feedback: Option<Arc<Feedback>>,
    /// Where its counters go.
    pub queries: QuerySinks,
}

impl Draw {
    /// The stream that is rasterized, if any is.
    #[inline]
    pub fn rasterized(&self) -> Option<u32> {
        (!self.state.rasterizer_discard).then_some(self.state.rasterization_stream)
    }
}

/// One dispatch.
#[derive(Clone)]
pub struct Dispatch {
    /// What to call it.
    pub running: Running,
    /// What each invocation runs.
    pub stage: CompiledStage,
    /// Context (its `num_workgroups` is filled by the icd).
    pub context: Arc<ShaderContext>,
    /// First workgroup (vkCmdDispatchBase).
    pub base: [u32; 3],
    /// Number of workgroups per dimension.
    pub groups: [u32; 3],
    /// Queries (compute invocations).
    pub queries: QuerySinks,
}
