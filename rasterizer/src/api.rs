//! The rasterizer's types as the icd uses them: attachments, pipeline state, draws.
//!
//! Enumerations that Vulkan numbers keep Vulkan's numbers (`base::vk_enum!`). The module
//! `base::pixel` has the state that decides what happens to fragments.

#![forbid(unsafe_code)]

pub use crate::feedback::Feedback;
pub use crate::shading_rate::{FragmentSize, RateCombiner, ShadingRate};
pub use crate::stages::{GraphicsStages, LinkError, link_compute};
use base::limits::{MAX_COLOR_ATTACHMENTS, STREAMS};

use base::abi::ShaderContext;
use base::mem::{ImageMemory, MemoryRange};
use base::partial_range::PartialRange;
use base::pixel::{PixelState, PixelValues};
use base::vk_enum;
use execution::RunningCommand;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One attachment of a render pass instance: a level and a layer range of an image, accessed as a
/// view format.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// The image that is rendered to.
    pub image: ImageMemory,
    /// Format of the view (compatible with the image's).
    pub format: base::format::Format,
    /// Mip level.
    pub level: u32,
    /// First layer, or first depth slice of a 3D image if `slices` is true.
    pub base_layer: u32,
    /// Number of layers.
    pub layers: u32,
    /// True if the layers are depth slices of a 3D image.
    pub slices: bool,
}

/// Attachments of a subpass or dynamic rendering instance.
#[derive(Clone, Debug, Default)]
pub struct RenderTargets {
    /// Colour attachments by number.
    pub color: [Option<Attachment>; MAX_COLOR_ATTACHMENTS],
    /// Depth aspect.
    pub depth: Option<Attachment>,
    /// Stencil aspect.
    pub stencil: Option<Attachment>,
    /// Shading rate attachment, each of whose texels is for a square of
    /// [`SHADING_RATE_TEXEL`](base::limits::SHADING_RATE_TEXEL) pixels.
    pub shading_rate: Option<Attachment>,
    /// Rasterization samples: 1, 2, 4, 8 or 16.
    pub samples: u32,
    /// Number of framebuffer layers.
    pub layers: u32,
    /// Render area as x, y, width, height; no texel outside of it is accessed.
    pub area: [u32; 4],
    /// Attachments that may also be input attachments: those of the subpass, or of dynamic
    /// rendering.
    pub inputs: AttachmentLoops,
}

vk_enum! {
    /// `VkPrimitiveTopology`. Adjacent vertices are ignored without a geometry stage.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum Topology {
        PointList, LineList, LineStrip, TriangleList, TriangleStrip, TriangleFan,
        LineListWithAdjacency, LineStripWithAdjacency, TriangleListWithAdjacency, TriangleStripWithAdjacency,
        PatchList,
    }
}

/// A topology class: the kind of the primitives after assembly.
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
    /// Returns the class of the topology's primitives.
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

    /// Returns true if stipple counters continue from line to line.
    pub fn is_line_strip(self) -> bool {
        matches!(self, Topology::LineStrip | Topology::LineStripWithAdjacency)
    }
}

vk_enum! {
    /// `VkPolygonMode`.
    pub enum PolygonMode {
        /// Draws triangles as areas.
        Fill,
        /// Draws triangles as their edges.
        Line,
        /// Draws triangles as their vertices.
        Point,
    }
}

/// `VkLineRasterizationMode`, whose default mode is rectangular (`strictLines`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineMode {
    /// Covers samples inside of the rectangle.
    Rectangular,
    /// Covers whole pixels by the diamond-exit rule.
    Bresenham,
    /// Multiplies alpha by the share of the pixel that the rectangle covers.
    Smooth,
}

/// A line stipple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stipple {
    /// Repetition of each pattern bit (lineStippleFactor), 1 to 256.
    pub factor: u32,
    /// Bits of the pattern (lineStipplePattern), the lowest one first.
    pub pattern: u16,
}

/// `VkVertexInputAttributeDescription` joined with its binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VertexAttribute {
    /// Location of the vertex stage's input.
    pub location: u32,
    /// Number of the binding.
    pub binding: u32,
    /// Format of the attribute, which is a vertex buffer format.
    pub format: base::format::Format,
    /// Byte offset within the element.
    pub offset: u32,
}

/// `VkVertexInputBindingDescription`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VertexBinding {
    /// Number of the binding.
    pub binding: u32,
    /// Number of bytes from one element to the next.
    pub stride: u32,
    /// True if elements advance per instance and not per vertex.
    pub per_instance: bool,
    /// Number of instances per element (VK_EXT_vertex_attribute_divisor); 1 without the extension.
    /// With 0, all instances read element 0.
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

/// A list that mostly has one element; it has no heap memory then, because every draw that changes
/// state makes it anew.
pub type SmallVec1<T> = SmallVec<[T; 1]>;
/// A list that mostly has a few elements.
pub type SmallVec4<T> = SmallVec<[T; 4]>;

/// A depth bias.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DepthBias {
    /// Constant term of the bias (depthBiasConstantFactor), in units of `unit`.
    pub constant: f32,
    /// Bound of the bias (depthBiasClamp).
    pub clamp: f32,
    /// Factor of the primitive's slope (depthBiasSlopeFactor).
    pub slope: f32,
    /// Unit of `constant`.
    pub unit: DepthBiasUnit,
}

/// `VkDepthBiasRepresentationEXT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DepthBiasUnit {
    /// The smallest difference that the attachment's format resolves.
    #[default]
    Format,
    /// The smallest difference of a normalised format with as many bits as the attachment's
    /// mantissa.
    Unorm,
    /// The value 1.
    One,
}

/// `VkConservativeRasterizationModeEXT`, with its parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConservativeMode {
    /// Coverage is that of samples.
    #[default]
    Disabled,
    /// A primitive covers each pixel that it touches.
    Overestimate {
        /// Distance by which the primitive grows before, in 1/256 of a pixel
        /// (`extraPrimitiveOverestimationSize`).
        extra: i32,
    },
    /// A primitive covers each pixel that it contains.
    Underestimate,
}

/// All state of a draw that is not code: pipeline state and dynamic state, which the icd merges
/// when it executes the draw.
#[derive(Clone, Debug)]
pub struct DrawState {
    /// Topology that assembles vertices to primitives.
    pub topology: Topology,
    /// Number of vertices of a patch (patchControlPoints), 1 to 32.
    pub patch_vertices: u32,
    /// True if the origin of the tessellator's domain is in the lower left, false if in the upper
    /// left.
    pub lower_left: bool,
    /// True if an index restarts primitives (primitiveRestartEnable).
    pub primitive_restart: bool,
    /// Vertex attributes.
    pub attributes: SmallVec4<VertexAttribute>,
    /// Vertex bindings.
    pub bindings: SmallVec4<VertexBinding>,
    /// Viewports by index.
    pub viewports: SmallVec1<Viewport>,
    /// Scissors as x, y, width, height; non-negative, because the icd clips them to the range of
    /// i32.
    pub scissors: SmallVec1<[i32; 4]>,
    /// True if depth is clamped to the viewport's range (depthClampEnable).
    pub depth_clamp: bool,
    /// True if primitives are clipped against the near and far planes (depthClipEnable; the default
    /// is the opposite of `depth_clamp`).
    pub depth_clip: bool,
    /// True if the near plane is at z = -w (negativeOneToOne).
    pub negative_one_to_one: bool,
    /// True if the last vertex is the provoking one (provokingVertexMode).
    pub provoking_last: bool,
    /// True if primitives are discarded before rasterization (rasterizerDiscardEnable).
    pub rasterizer_discard: bool,
    /// The stream of vertices that is rasterized, below [`STREAMS`].
    pub rasterization_stream: u32,
    /// Form in which polygons are drawn.
    pub polygon_mode: PolygonMode,
    /// Culled faces as `VkCullModeFlags`: 1 front, 2 back.
    pub cull_mode: u32,
    /// True if clockwise triangles are front-facing (frontFace).
    pub front_clockwise: bool,
    /// Conservative rasterization of polygons, lines of mode [`LineMode::Rectangular`] and points.
    pub conservative: ConservativeMode,
    /// Sizes of fragments.
    pub shading_rate: ShadingRate,
    /// Depth bias, if depthBiasEnable is set.
    pub depth_bias: Option<DepthBias>,
    /// Width of lines in pixels (lineWidth).
    pub line_width: f32,
    /// Rasterization of lines (lineRasterizationMode).
    pub line_mode: LineMode,
    /// Line stipple, if stippledLineEnable is set.
    pub line_stipple: Option<Stipple>,
    /// State that decides what happens to fragments.
    pub pixel: PixelState,
    /// Numeric values for that state.
    pub pixel_values: PixelValues,
    /// Attachments of the pass that the fragment stage may read as images.
    pub loops: AttachmentLoops,
    /// True if a fragment that reads an attachment sees what earlier primitives wrote, without
    /// barriers.
    pub ordered: bool,
}

/// Attachments that a fragment stage may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachmentLoops {
    /// True if the stage may read colour attachments.
    pub color: bool,
    /// True if the stage may read the depth or stencil attachment.
    pub depth_stencil: bool,
}

/// The state of a pipeline that sets nothing.
impl Default for DrawState {
    fn default() -> DrawState {
        DrawState {
            topology: Topology::TriangleList,
            patch_vertices: 1,
            lower_left: false,
            primitive_restart: false,
            attributes: SmallVec4::new(),
            bindings: SmallVec4::new(),
            viewports: SmallVec1::new(),
            scissors: SmallVec1::new(),
            depth_clamp: false,
            depth_clip: true,
            negative_one_to_one: false,
            provoking_last: false,
            rasterizer_discard: false,
            rasterization_stream: 0,
            polygon_mode: PolygonMode::Fill,
            cull_mode: 0,
            front_clockwise: false,
            conservative: ConservativeMode::Disabled,
            shading_rate: ShadingRate::PIXEL,
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
    /// Returns true if primitives of the topology are lines that need their own record in the
    /// tiles, because they are more than rectangles.
    pub fn has_special_lines(&self, topology: Topology) -> bool {
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
    /// Memory of the buffer; reads outside of it give 0.
    pub range: MemoryRange,
    /// Number of bytes between index 0 and the memory, because the buffer's address can lie before
    /// its memory.
    pub before: u64,
    /// Number of bytes per index: 1, 2 or 4.
    pub index_bytes: u32,
    /// Index that restarts a primitive, if it is not the largest value of an index.
    pub restart: Option<u32>,
}

/// Query counters that are active during a draw.
#[derive(Clone, Debug, Default)]
pub struct QuerySinks {
    /// Number of samples that passed (occlusion query).
    pub occlusion: Option<Arc<AtomicU64>>,
    /// Pipeline statistics in the bit order of `VkQueryPipelineStatisticFlagBits` ([`statistic`]).
    /// Vulkan permits one query at a time; zink begins one for each statistic that a program asks.
    pub statistics: Vec<Arc<Statistics>>,
    /// Transform feedback counters by stream: primitives that were written, and primitives that
    /// unbounded buffers would have received.
    pub feedback: [Option<Arc<[AtomicU64; 2]>>; STREAMS],
    /// Number of primitives that reach transform feedback by stream, whether it is active or not.
    pub generated: [Option<Arc<AtomicU64>>; STREAMS],
    /// Number of primitives of meshes that reach the rasterizer.
    pub meshes: Option<Arc<AtomicU64>>,
}

/// One counter for each [`statistic`].
pub type Statistics = [AtomicU64; statistic::COUNT];

/// Numbers of the counted bits of `VkQueryPipelineStatisticFlagBits`.
pub mod statistic {
    /// Number of input assembly vertices.
    pub const VERTICES: usize = 0;
    /// Number of input assembly primitives.
    pub const PRIMITIVES: usize = 1;
    /// Number of vertex shader invocations.
    pub const VERTEX_INVOCATIONS: usize = 2;
    /// Number of geometry shader invocations.
    pub const GEOMETRY_INVOCATIONS: usize = 3;
    /// Number of primitives that geometry shaders emitted.
    pub const GEOMETRY_PRIMITIVES: usize = 4;
    /// Number of primitives that reach clipping.
    pub const CLIPPING_INVOCATIONS: usize = 5;
    /// Number of primitives that leave clipping.
    pub const CLIPPING_PRIMITIVES: usize = 6;
    /// Number of fragment shader invocations.
    pub const FRAGMENT_INVOCATIONS: usize = 7;
    /// Number of patches of tessellation control shaders.
    pub const CONTROL_PATCHES: usize = 8;
    /// Number of tessellation evaluation shader invocations.
    pub const EVALUATION_INVOCATIONS: usize = 9;
    /// Number of compute shader invocations.
    pub const COMPUTE_INVOCATIONS: usize = 10;
    /// Number of task shader invocations.
    pub const TASK_INVOCATIONS: usize = 11;
    /// Number of mesh shader invocations.
    pub const MESH_INVOCATIONS: usize = 12;
    /// Number of statistics.
    pub const COUNT: usize = 13;
}

impl QuerySinks {
    /// Returns true if no query counts fragments or samples that pass.
    pub fn ignores_fragments(&self) -> bool {
        self.statistics.is_empty() && self.occlusion.is_none()
    }

    /// Adds `n` to a [`statistic`] of all queries.
    pub fn count(&self, bit: usize, n: u64) {
        for statistics in &self.statistics {
            statistics[bit].fetch_add(n, Ordering::Relaxed);
        }
    }

    /// Adds primitives of a stream: those that were written to transform feedback buffers, and
    /// those that would fit unbounded buffers.
    pub fn count_feedback(&self, stream: usize, written: u32, needed: u32) {
        if let Some([to_written, to_needed]) = self.feedback[stream].as_deref() {
            to_written.fetch_add(written.into(), Ordering::Relaxed);
            to_needed.fetch_add(needed.into(), Ordering::Relaxed);
        }
    }

    /// Adds primitives of meshes to their query, if one is active.
    pub fn count_meshes(&self, primitives: u64) {
        if let Some(meshes) = &self.meshes {
            meshes.fetch_add(primitives, Ordering::Relaxed);
        }
    }

    /// Adds primitives of a stream that reached transform feedback.
    pub fn count_generated(&self, stream: usize, primitives: u64) {
        if let Some(generated) = &self.generated[stream] {
            generated.fetch_add(primitives, Ordering::Relaxed);
        }
    }
}

/// Counts of a draw; those of an indirect draw are already fetched from its buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct DrawCounts {
    /// Number of vertices or indices.
    pub count: u32,
    /// Number of instances.
    pub instances: u32,
    /// First vertex or first index (firstVertex, firstIndex).
    pub first: u32,
    /// Value added to indices (vertexOffset).
    pub vertex_offset: i32,
    /// Number of the first instance (firstInstance).
    pub first_instance: u32,
}

/// One draw.
#[derive(Clone)]
pub struct Draw {
    /// Identity for reports of running work.
    pub running: RunningCommand,
    /// Compiled stages and their links.
    pub stages: Arc<GraphicsStages>,
    /// Fixed-function state, including dynamic values.
    pub state: Arc<DrawState>,
    /// Descriptor sets, push constants, draw parameters.
    pub context: Arc<ShaderContext>,
    /// Vertex buffers by binding number. Reads beyond a buffer's end, of its parts without memory,
    /// and of null buffers give 0. The icd keeps the memory alive.
    pub vertex_buffers: SmallVec4<PartialRange>,
    /// Index buffer; `None` if the draw is not indexed.
    pub index_buffer: Option<IndexBuffer>,
    /// Counts of vertices and instances, used if there is a vertex stage.
    pub counts: DrawCounts,
    /// Number of task or mesh workgroups per dimension, used if there is a mesh stage.
    pub groups: [u32; 3],
    /// Active transform feedback that captures the vertices, if any.
    pub feedback: Option<Arc<Feedback>>,
    /// Counters of the active queries.
    pub queries: QuerySinks,
}

impl Draw {
    /// Returns the stream that is rasterized, if any.
    #[inline]
    pub fn rasterized(&self) -> Option<u32> {
        (!self.state.rasterizer_discard).then_some(self.state.rasterization_stream)
    }
}
