//! The commands that a command buffer records.

#![forbid(unsafe_code)]

use super::CommandList;
use super::cooperative_vector::MatrixConversion;
use super::structures::StructureBuild;
use crate::object::acceleration_structure::AccelerationStructure;
use crate::object::bind_point::BindPoint;
use crate::object::buffer::Buffer;
use crate::object::descriptor::SetLayout;
use crate::object::descriptor_heap::HeapKind;
use crate::object::descriptor_pool::DescriptorSet;
use crate::object::execution_set::ExecutionSet;
use crate::object::image::{Image, ImageView};
use crate::object::indirect_commands::IndirectCommandsLayout;
use crate::object::pipeline_state::DynamicState;
use crate::object::program::BoundProgram;
use crate::object::query::QueryPool;
use crate::object::render_pass::{Framebuffer, RenderPass};
use crate::object::shader_object::ShaderObject;
use crate::object::sync::Event;
use ash::vk;
use base::pixel::Locations;
use base::shader::Stage;
use execution::trace::ShaderTables;
use smallvec::SmallVec;
use std::sync::Arc;

pub use crate::object::indirect_commands::IndirectKind;

/// Base of an offset. A command that takes buffers and its counterpart that takes
/// addresses are the same here.
#[derive(Clone)]
pub enum BufferOrAddress {
    /// A buffer: offsets are bytes from its start.
    Buffer(Arc<Buffer>),
    /// The device's memory: offsets are addresses. There is nothing at address 0.
    Addresses,
}

impl BufferOrAddress {
    /// Returns a buffer with an offset, or address 0 if there is no buffer.
    pub fn location(buffer: Option<Arc<Buffer>>, offset: u64) -> DeviceLocation {
        buffer.map_or((BufferOrAddress::Addresses, 0), |buffer| (BufferOrAddress::Buffer(buffer), offset))
    }
}

impl From<Arc<Buffer>> for BufferOrAddress {
    fn from(buffer: Arc<Buffer>) -> BufferOrAddress {
        BufferOrAddress::Buffer(buffer)
    }
}

/// An offset with its base.
pub type DeviceLocation = (BufferOrAddress, u64);

/// Resolve modes of the aspects of images.
#[derive(Clone, Copy)]
pub struct ResolveModes {
    /// Mode of colours and depth.
    pub color_or_depth: vk::ResolveModeFlags,
    /// Mode of stencil.
    pub stencil: vk::ResolveModeFlags,
}

/// Parameters of commands in device memory: a `VkStridedDeviceAddressRangeKHR` with the number of
/// commands in it.
pub struct IndirectCommands {
    /// Address of the first command's parameters.
    pub address: u64,
    /// Number of bytes from one command's parameters to the next.
    pub stride: u64,
    /// Number of commands.
    pub count: u32,
}

/// One command.
#[allow(missing_docs, reason = "variants and fields are the specification's vkCmd commands and parameters")]
pub enum Command {
    // State.
    /// `vkCmdBindPipeline`: the program that the pipeline has made.
    BindProgram(Arc<BoundProgram>),
    BindShaders(Box<BindShaders>),
    BindDescriptorSets(Box<BindDescriptorSets>),
    BindDescriptorBuffers(SmallVec<[u64; 2]>),
    SetDescriptorBufferOffsets(Box<SetDescriptorBufferOffsets>),
    BindHeap {
        kind: HeapKind,
        address: u64,
        size: u64,
    },
    PushConstants {
        offset: u32,
        bytes: SmallVec<[u8; 32]>,
    },
    BindVertexBuffers {
        first: u32,
        buffers: Vec<VertexBufferBinding>,
    },
    SetPrimitiveRestartIndex(u32),
    BindIndexBuffer {
        location: DeviceLocation,
        size: u64,
        index_bytes: u32,
    },
    SetDynamicState(DynamicState),

    // Render pass instances.
    BeginRenderPass(Box<BeginRenderPass>),
    NextSubpass,
    EndRenderPass,
    BeginRendering(Box<BeginRendering>),
    EndRendering,
    SetRenderingAttachmentLocations(Locations),
    ExecuteCommands(Vec<Arc<CommandList>>),

    // Draws and dispatches.
    Draw {
        vertex_count: u32,
        instance_count: u32,
        first_vertex: u32,
        first_instance: u32,
    },
    DrawIndexed {
        index_count: u32,
        instance_count: u32,
        first_index: u32,
        vertex_offset: i32,
        first_instance: u32,
    },
    DrawIndirect(Box<DrawIndirect>),
    DrawMulti(Box<DrawMulti>),
    DrawIndirectByteCount(Box<DrawIndirectByteCount>),
    DrawMeshTasks {
        groups: [u32; 3],
    },
    Dispatch {
        base: [u32; 3],
        groups: [u32; 3],
    },
    DispatchIndirect(DeviceLocation),
    /// `vkCmdTraceRaysKHR` and `vkCmdTraceRaysIndirectKHR`.
    TraceRays(Box<TraceRays>),
    /// Launch whose tables and size are at this address.
    TraceRaysIndirect2(u64),
    ExecuteGeneratedCommands(Box<GeneratedCommands>),
    ClearAttachments {
        attachments: Vec<vk::ClearAttachment>,
        rects: Vec<vk::ClearRect>,
    },

    // Conditions on draws, dispatches and attachment clears, which a word in a buffer decides.
    BeginConditionalRendering(Box<ConditionalRendering>),
    EndConditionalRendering,

    // Transform feedback.
    BindTransformFeedbackBuffers {
        first: u32,
        ranges: Vec<FeedbackRange>,
    },
    BeginTransformFeedback(Box<FeedbackCounters>),
    EndTransformFeedback(Box<FeedbackCounters>),

    // Transfers.
    CopyBuffer {
        src: BufferOrAddress,
        dst: BufferOrAddress,
        regions: Vec<vk::BufferCopy>,
    },
    CopyImage {
        src: Arc<Image>,
        dst: Arc<Image>,
        regions: Vec<vk::ImageCopy>,
    },
    BlitImage {
        src: Arc<Image>,
        dst: Arc<Image>,
        regions: Vec<vk::ImageBlit>,
        filter: vk::Filter,
    },
    CopyBufferToImage {
        base: BufferOrAddress,
        image: Arc<Image>,
        regions: Vec<vk::BufferImageCopy>,
    },
    CopyImageToBuffer {
        image: Arc<Image>,
        base: BufferOrAddress,
        regions: Vec<vk::BufferImageCopy>,
    },
    UpdateBuffer {
        dst: DeviceLocation,
        data: Box<[u8]>,
    },
    FillBuffer {
        dst: DeviceLocation,
        size: u64,
        data: u32,
    },
    ClearColorImage {
        image: Arc<Image>,
        color: [u32; 4],
        ranges: Vec<vk::ImageSubresourceRange>,
    },
    ClearDepthStencilImage {
        image: Arc<Image>,
        value: vk::ClearDepthStencilValue,
        ranges: Vec<vk::ImageSubresourceRange>,
    },
    CopyMemoryIndirect(IndirectCommands),
    CopyMemoryToImageIndirect {
        commands: IndirectCommands,
        image: Arc<Image>,
    },
    /// Conversions, or the reasons for which they are not valid.
    ConvertCooperativeVectorMatrix(Vec<Result<MatrixConversion, &'static str>>),
    ResolveImage {
        src: Arc<Image>,
        dst: Arc<Image>,
        regions: Vec<vk::ImageResolve>,
        modes: ResolveModes,
    },

    // Synchronisation and queries.
    PipelineBarrier,
    SetEvent(Arc<Event>),
    ResetEvent(Arc<Event>),
    WaitEvents(Vec<Arc<Event>>),
    BeginQuery {
        pool: Arc<QueryPool>,
        query: u32,
        stream: u32,
    },
    EndQuery {
        pool: Arc<QueryPool>,
        query: u32,
        stream: u32,
    },
    ResetQueryPool {
        pool: Arc<QueryPool>,
        first: u32,
        count: u32,
    },
    WriteTimestamp {
        pool: Arc<QueryPool>,
        query: u32,
    },
    CopyQueryPoolResults(Box<CopyQueryPoolResults>),

    // Acceleration structures.
    BuildAccelerationStructures(Vec<StructureBuild>),
    CopyAccelerationStructure {
        src: Arc<AccelerationStructure>,
        dst: Arc<AccelerationStructure>,
    },
    CopyAccelerationStructureToMemory {
        src: Arc<AccelerationStructure>,
        dst: u64,
    },
    CopyMemoryToAccelerationStructure {
        src: u64,
        dst: Arc<AccelerationStructure>,
    },
    WriteAccelerationStructuresProperties(Box<WriteAccelerationStructuresProperties>),
}

/// Parameters of `vkCmdBindShadersEXT` for one bind point.
#[allow(missing_docs, reason = "the specification's names")]
pub struct BindShaders {
    pub bind_point: BindPoint,
    /// Stages with their objects; `None` unbinds the stage's object.
    pub shaders: Vec<(Stage, Option<Arc<ShaderObject>>)>,
}

/// Parameters of `vkCmdBindDescriptorSets` and `vkCmdPushDescriptorSetKHR`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct BindDescriptorSets {
    pub bind_point: BindPoint,
    pub first_set: u32,
    pub sets: SmallVec<[Option<Arc<DescriptorSet>>; 4]>,
    pub dynamic_offsets: SmallVec<[u32; 4]>,
}

/// A set in a descriptor buffer: its layout, the buffer's number, the offset.
pub type SetInBuffer = (Option<Arc<SetLayout>>, u32, u64);

/// Parameters of `vkCmdSetDescriptorBufferOffsetsEXT`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct SetDescriptorBufferOffsets {
    pub bind_point: BindPoint,
    pub first_set: u32,
    pub sets: SmallVec<[SetInBuffer; 4]>,
}

/// Parameters of `vkCmdTraceRaysKHR` and `vkCmdTraceRaysIndirectKHR`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct TraceRays {
    pub tables: ShaderTables,
    pub size: LaunchSize,
}

/// Size of a launch.
#[derive(Clone, Copy)]
pub enum LaunchSize {
    /// Numbers of launch ids.
    Direct([u32; 3]),
    /// Address of the numbers.
    Indirect(u64),
}

/// One vertex buffer.
#[allow(missing_docs, reason = "the specification's names")]
pub struct VertexBufferBinding {
    pub location: DeviceLocation,
    pub size: u64,
    pub stride: Option<u32>,
}

/// Parameters of `vkCmdBeginRenderPass`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct BeginRenderPass {
    pub render_pass: Arc<RenderPass>,
    pub framebuffer: Arc<Framebuffer>,
    pub views: Vec<Arc<ImageView>>,
    pub area: vk::Rect2D,
    pub clear_values: Vec<[u32; 4]>,
}

/// One attachment of dynamic rendering.
#[derive(Clone)]
#[allow(missing_docs, reason = "the specification's names")]
pub struct RenderingAttachment {
    pub view: Arc<ImageView>,
    pub resolve: Option<(Arc<ImageView>, vk::ResolveModeFlags)>,
    /// Value of resolveMode, with a resolve view or without.
    pub resolve_mode: vk::ResolveModeFlags,
    pub load_op: vk::AttachmentLoadOp,
    pub store_op: vk::AttachmentStoreOp,
    pub clear_value: [u32; 4],
}

/// Parameters of `vkCmdBeginRendering`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct BeginRendering {
    pub flags: vk::RenderingFlags,
    pub area: vk::Rect2D,
    pub layer_count: u32,
    pub view_mask: u32,
    /// Value of rasterizationSamples in `VkMultisampledRenderToSingleSampledInfoEXT`, if it is
    /// enabled.
    pub multisampled: Option<u32>,
    pub colors: Vec<Option<RenderingAttachment>>,
    pub depth: Option<RenderingAttachment>,
    pub stencil: Option<RenderingAttachment>,
    pub shading_rate: Option<Arc<ImageView>>,
}

/// Parameters of `vkCmdExecuteGeneratedCommandsEXT`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct GeneratedCommands {
    pub layout: Arc<IndirectCommandsLayout>,
    pub execution_set: Option<Arc<ExecutionSet>>,
    pub indirect_address: u64,
    pub indirect_address_size: u64,
    pub max_sequence_count: u32,
    /// Address of the number of sequences, if it is in memory.
    pub sequence_count_address: Option<u64>,
    pub max_draw_count: u32,
}

/// Parameters of `vkCmdDraw[Indexed]Indirect[Count]` and `vkCmdDrawMeshTasksIndirect[Count]EXT`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct DrawIndirect {
    pub location: DeviceLocation,
    pub count: Option<DeviceLocation>,
    pub draw_count: u32,
    pub stride: u64,
    pub kind: IndirectKind,
}

/// Parameters of `vkCmdDrawMulti[Indexed]EXT`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct DrawMulti {
    /// First vertex or index, number of them, and vertex offset of each draw.
    pub draws: Vec<(u32, u32, i32)>,
    pub instance_count: u32,
    pub first_instance: u32,
    pub indexed: bool,
}

/// Parameters of `vkCmdDrawIndirectByteCountEXT`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct DrawIndirectByteCount {
    pub instance_count: u32,
    pub first_instance: u32,
    pub counter: DeviceLocation,
    pub counter_offset: u32,
    pub vertex_stride: u32,
}

/// One buffer of `vkCmdBindTransformFeedbackBuffersEXT`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct FeedbackRange {
    pub location: DeviceLocation,
    pub size: u64,
}

/// Counters of `vkCmdBeginTransformFeedbackEXT` and `vkCmdEndTransformFeedbackEXT`, for the buffers
/// from `first` on; a buffer may have none.
#[allow(missing_docs, reason = "the specification's names")]
pub struct FeedbackCounters {
    pub first: u32,
    pub counters: Vec<Option<DeviceLocation>>,
}

/// Parameters of `vkCmdBeginConditionalRenderingEXT`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct ConditionalRendering {
    pub location: DeviceLocation,
    pub inverted: bool,
}

impl Command {
    /// Returns true if conditional rendering can discard the command.
    pub fn is_conditional(&self) -> bool {
        use Command::{ClearAttachments, Dispatch, DispatchIndirect, ExecuteGeneratedCommands};
        use Command::{Draw, DrawIndexed, DrawIndirect, DrawIndirectByteCount, DrawMeshTasks, DrawMulti};
        matches!(
            self,
            Draw { .. }
                | DrawIndexed { .. }
                | DrawIndirect(_)
                | DrawIndirectByteCount(_)
                | DrawMulti(_)
                | DrawMeshTasks { .. }
                | Dispatch { .. }
                | DispatchIndirect(_)
                | ExecuteGeneratedCommands(_)
                | ClearAttachments { .. }
        )
    }
}

/// Parameters of `vkCmdWriteAccelerationStructuresPropertiesKHR`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct WriteAccelerationStructuresProperties {
    pub structures: Vec<Arc<AccelerationStructure>>,
    pub pool: Arc<QueryPool>,
    pub first: u32,
}

/// Parameters of `vkCmdCopyQueryPoolResults`.
#[allow(missing_docs, reason = "the specification's names")]
pub struct CopyQueryPoolResults {
    pub pool: Arc<QueryPool>,
    pub first: u32,
    pub count: u32,
    pub dst: DeviceLocation,
    pub stride: u64,
    pub flags: vk::QueryResultFlags,
}

/// Lists are long, so large parameters are behind a pointer.
const _: () = assert!(size_of::<Command>() <= 56);
