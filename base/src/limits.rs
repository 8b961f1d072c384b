//! Limits of the device: the numbers on which several parts rely.
//!
//! The compiler sizes structures and folds by them, the rasterizer sizes its arrays by them, the
//! ICD reports them (`icd/src/caps/{limits,properties}.rs`) and refuses what exceeds them, and
//! tests go up to them. A number on which only one part relies stands in that part. Each
//! description names the Vulkan limit.

#![forbid(unsafe_code)]

use core::ops::RangeInclusive;

// Images and attachments.

/// Largest width and height of an image and of a framebuffer (`maxImageDimension1D`, `…2D`,
/// `…Cube`, `maxFramebufferWidth`, `maxFramebufferHeight`, `maxViewportDimensions`).
pub const MAX_DIMENSION: u32 = 16384;
/// Largest side of a 3D image (`maxImageDimension3D`).
pub const MAX_DIMENSION_3D: u32 = MAX_DIMENSION;
/// Largest number of mip levels of an image, which are those of [`MAX_DIMENSION`].
pub const MAX_LEVELS: usize = MAX_DIMENSION.ilog2() as usize + 1;
/// Largest number of array layers (`maxImageArrayLayers`, `maxFramebufferLayers`).
pub const MAX_LAYERS: u32 = 2048;
/// Largest number of rasterization samples (`framebufferColorSampleCounts` and the like).
pub const MAX_SAMPLES: usize = 16;
/// Largest number of colour attachments (`maxColorAttachments`, `maxFragmentOutputAttachments`).
pub const MAX_COLOR_ATTACHMENTS: usize = 8;
/// Magnitude to which LOD biases of samplers and operations are clamped (`maxSamplerLodBias`).
pub const MAX_LOD_BIAS: f32 = 16.0;
/// Largest anisotropy, to which larger ones are clamped (`maxSamplerAnisotropy`).
pub const MAX_SAMPLER_ANISOTROPY: f32 = 16.0;

// Suspended invocations.

/// Largest number of words of an invocation's frame. A stage that needs more is refused.
pub const MAX_FRAME_WORDS: u32 = 16384;
/// Largest number of points at which invocations of a stage are suspended. A stage that has more is
/// refused.
pub const MAX_SUSPENSION_POINTS: u32 = 4096;

// Values of shaders.

/// Largest number of components of a vector (`maxVectorComponents`,
/// `maxCooperativeVectorComponents`).
pub const MAX_VECTOR_COMPONENTS: u32 = 1024;

// Descriptors and buffers.

/// Largest number of descriptor sets of a pipeline layout (`maxBoundDescriptorSets`).
pub const MAX_DESCRIPTOR_SETS: usize = 32;
/// Number of bytes of push constants (`maxPushConstantsSize`).
pub const MAX_PUSH_CONSTANTS: usize = 256;
/// Largest range of a buffer in a descriptor, in bytes (`maxStorageBufferRange`). Offsets of
/// generated code are words, which must not wrap.
pub const MAX_BUFFER_RANGE: u32 = 1 << 30;
/// Largest number of bytes of a descriptor heap, and of a buffer whose descriptor is in one
/// (`maxResourceHeapSize`, `maxSamplerHeapSize`), so that offsets of generated code do not wrap.
pub const MAX_HEAP_RANGE: u64 = MAX_BUFFER_RANGE as u64;

// Vertices and primitives.

/// Largest number of vertex bindings (`maxVertexInputBindings`).
pub const MAX_VERTEX_BINDINGS: usize = 32;
/// Largest number of vertex attributes (`maxVertexInputAttributes`).
pub const MAX_VERTEX_ATTRIBUTES: usize = 32;
/// Largest number of 32-bit components of an interface between two stages
/// (`maxVertexOutputComponents`, `maxFragmentInputComponents` and the like).
pub const MAX_STAGE_COMPONENTS: u32 = 128;
/// Largest number of clip distances, of cull distances, and of both together (`maxClipDistances`,
/// `maxCullDistances`, `maxCombinedClipAndCullDistances`).
pub const MAX_CLIP_DISTANCES: usize = 8;
/// Largest number of viewports and scissors (`maxViewports`).
pub const MAX_VIEWPORTS: usize = 16;
/// Number of fractional bits of positions (`subPixelPrecisionBits`).
pub const SUBPIXEL_BITS: u32 = 8;
/// Largest `extraPrimitiveOverestimationSize`, in pixels.
pub const MAX_EXTRA_OVERESTIMATION: f32 = 0.75;
/// Steps of `extraPrimitiveOverestimationSize`, in pixels.
pub const OVERESTIMATION_GRANULARITY: f32 = 0.25;
/// Base-2 logarithm of the largest width and height of a fragment in pixels (`maxFragmentSize`).
pub const MAX_FRAGMENT_SIZE_LOG2: u32 = 2;
/// Width and height of the pixels for which a texel of a shading rate attachment is
/// (`minFragmentShadingRateAttachmentTexelSize`, and max); a quad of the largest fragments is as
/// large.
pub const SHADING_RATE_TEXEL: u32 = 2 << MAX_FRAGMENT_SIZE_LOG2;
/// Range to which point sizes are clamped (`pointSizeRange`).
pub const POINT_SIZE_RANGE: [f32; 2] = [1.0, 1024.0];
/// Range to which line widths are clamped (`lineWidthRange`).
///
/// The rasterizer needs no bound. The bound exists because the CTS's reference images
/// (dynamic_state.*.image) cut wide lines at their viewports of 64 pixels. The specification does
/// not cut a wide line at the viewport, and neither does the rasterizer. (lavapipe, which reports
/// 255, cuts them.)
pub const LINE_WIDTH_RANGE: [f32; 2] = [1.0, 64.0];

// Tessellation, geometry and mesh stages, and transform feedback.

/// Largest number of segments of an edge (`maxTessellationGenerationLevel`).
pub const MAX_TESSELLATION_LEVEL: u32 = 64;
/// Largest number of vertices of a patch (`maxTessellationPatchSize`).
pub const MAX_PATCH_VERTICES: u32 = 32;
/// Largest number of vertices that an invocation of a geometry stage emits
/// (`maxGeometryOutputVertices`).
pub const MAX_GEOMETRY_VERTICES: u32 = 1024;
/// Largest number of invocations of a geometry stage per primitive
/// (`maxGeometryShaderInvocations`).
pub const MAX_GEOMETRY_INVOCATIONS: u32 = 127;
/// Largest number of vertices of a mesh (`maxMeshOutputVertices`).
pub const MAX_MESH_VERTICES: u32 = 256;
/// Largest number of primitives of a mesh (`maxMeshOutputPrimitives`).
pub const MAX_MESH_PRIMITIVES: u32 = 256;
/// Largest number of bytes of the payload of a task stage (`maxTaskPayloadSize`).
pub const MAX_TASK_PAYLOAD: u32 = 16 << 10;
/// Number of buffers in which vertices can be captured (`maxTransformFeedbackBuffers`).
pub const CAPTURE_BUFFERS: usize = 4;
/// Number of streams of vertices to which a stage can emit (`maxTransformFeedbackStreams`); only a
/// geometry stage can have more than one.
pub const STREAMS: usize = 4;
/// Largest number of bytes from vertex to vertex of a buffer, and thus of the captured data of one
/// (`maxTransformFeedbackBufferDataStride`, `…DataSize`).
pub const MAX_CAPTURE_STRIDE: u32 = 2048;

// Workgroups and subgroups.

/// Largest number of invocations of a workgroup (`maxComputeWorkGroupInvocations`,
/// `maxTaskWorkGroupInvocations`, `maxMeshWorkGroupInvocations`).
pub const MAX_WORKGROUP_INVOCATIONS: u32 = 1024;
/// Largest size of a workgroup in each dimension (`maxComputeWorkGroupSize`,
/// `maxTaskWorkGroupSize`, `maxMeshWorkGroupSize`).
pub const MAX_WORKGROUP_SIZE: [u32; 3] = [MAX_WORKGROUP_INVOCATIONS; 3];
/// Largest number of workgroups of a dispatch in a dimension (`maxComputeWorkGroupCount`).
pub const MAX_COMPUTE_WORKGROUPS: u32 = 65535;
/// Largest number of workgroups of a task or mesh stage in a dimension (`maxTaskWorkGroupCount`,
/// `maxMeshWorkGroupCount`).
pub const MAX_MESH_WORKGROUPS: u32 = 65536;
/// Largest number of bytes of workgroup memory (`maxComputeSharedMemorySize`,
/// `maxTaskSharedMemorySize`, `maxMeshSharedMemorySize`): space for the cooperative matrices of
/// 16×16 words of four subgroups, and the results of their reductions.
pub const MAX_SHARED_MEMORY: u32 = 128 << 10;
/// Sizes of subgroups, which are powers of two (`minSubgroupSize`, `maxSubgroupSize`).
pub const SUBGROUP_SIZES: RangeInclusive<u32> = 4..=64;
/// Size of a subgroup if the application does not require another one (`subgroupSize`).
pub const DEFAULT_SUBGROUP_SIZE: u32 = 8;
