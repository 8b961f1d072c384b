//! Execution of command lists on a queue's worker.
//!
//! Every command except a draw is executed when it is reached. Draws are deferred inside the
//! rasterizer's render pass until it is flushed (barriers, end of the render pass), so a barrier
//! outside of a render pass has nothing left to do.

mod bind;
mod descriptor_buffer;
mod device_range;
mod draw;
mod generated;
mod indirect_copy;
mod inheritance;
mod query;
mod recycler;
mod render;
mod state;
mod structures;
mod trace;
mod transfer;
mod transform_feedback;

use super::{Command, CommandList, SetDescriptorBufferOffsets};
use crate::device::Device;
use crate::device::queue::Queue;
use crate::object::bind_point::PerBindPoint;
use crate::object::pipeline_state::Values;
use base::partial_range::PartialRange;
use bind::BindPointState;
use descriptor_buffer::MaterializedSet;
use inheritance::BufferBindings;
use rasterizer::api::{DrawState, IndexBuffer, QuerySinks, SmallVec4};
use recycler::Recycler;
use render::RenderInstance;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use transform_feedback::FeedbackState;

/// State of a command buffer while it is executed.
#[derive(Default)]
struct CommandState {
    points: PerBindPoint<BindPointState>,
    push_constants: PushConstants,
    /// Addresses of the bound descriptor buffers.
    descriptor_buffers: SmallVec<[u64; 2]>,
    values: Values,
    /// Joined draw state; `None` after a change.
    joined_draw_state: Option<Arc<DrawState>>,
    /// Draw states before the last changes.
    old_draw_states: Recycler<DrawState>,
    vertex_buffers: SmallVec4<PartialRange>,
    index_buffer: Option<IndexBuffer>,
    bindings: BufferBindings,
    feedback: FeedbackState,
}

/// Bytes of push constants.
struct PushConstants([u8; base::limits::MAX_PUSH_CONSTANTS]);
impl Default for PushConstants {
    fn default() -> Self {
        PushConstants([0; base::limits::MAX_PUSH_CONSTANTS])
    }
}

/// Executor of command buffers, in order.
pub struct Executor<'d> {
    device: &'d Device,
    /// Queue whose worker executes the commands.
    queue: &'d Queue,
    state: CommandState,
    render: Option<RenderInstance<'d>>,
    queries: QuerySinks,
    /// True while conditional rendering discards the commands that depend on it; secondary command
    /// buffers see it too.
    discarding: bool,
    /// Materialized descriptor sets that deferred draws may use.
    materialized_sets: Vec<Arc<MaterializedSet>>,
}

impl<'d> Executor<'d> {
    /// Creates an executor with undefined state, to which [`Executor::run`] adds what is inherited.
    pub fn new(device: &'d Device, queue: &'d Queue) -> Executor<'d> {
        Executor {
            device,
            queue,
            state: CommandState::default(),
            render: None,
            queries: QuerySinks::default(),
            discarding: false,
            materialized_sets: Vec::new(),
        }
    }

    /// Executes a primary command buffer.
    pub fn run(mut self, list: &CommandList) {
        self.take_state();
        self.commands(list);
        // A list that ends inside a render pass is invalid, or its device is lost.
        self.render = None;
        self.leave_state();
    }

    fn commands(&mut self, list: &CommandList) {
        for command in &list.commands {
            if self.device.abort.load(Ordering::Relaxed) != 0 {
                return;
            }
            if self.discarding && command.is_conditional() {
                continue;
            }
            self.command(command);
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::BindProgram(program) => self.bind_program(program),
            Command::BindShaders(c) => self.bind_shaders(c.bind_point, &c.shaders),
            Command::BindDescriptorSets(c) => self.bind_descriptor_sets(c),
            Command::BindDescriptorBuffers(addresses) => self.bind_descriptor_buffers(addresses),
            Command::SetDescriptorBufferOffsets(c) => self.set_descriptor_buffer_offsets(c),
            Command::BindHeap { kind, address, size } => self.bind_heap(*kind, *address, *size),
            Command::PushConstants { offset, bytes } => self.push_constants(*offset, bytes),
            Command::BindVertexBuffers { first, buffers } => self.bind_vertex_buffers(*first, buffers),
            Command::SetPrimitiveRestartIndex(index) => self.set_primitive_restart_index(*index),
            Command::BindIndexBuffer { location, size, index_bytes } => {
                self.bind_index_buffer(location, *size, *index_bytes)
            }
            Command::SetDynamicState(change) => self.set_dynamic_state(change),

            Command::BeginRenderPass(c) => {
                self.begin_render_pass(c);
                self.invalidate_descriptors();
            }
            Command::NextSubpass => {
                self.next_subpass();
                self.invalidate_descriptors();
            }
            Command::EndRenderPass => {
                self.end_render_pass();
                self.invalidate_descriptors();
            }
            Command::BeginRendering(c) => self.begin_rendering(c),
            Command::EndRendering => self.end_rendering(),
            Command::SetRenderingAttachmentLocations(locations) => self.set_rendering_attachment_locations(*locations),
            Command::ExecuteCommands(lists) => self.execute_commands(lists),

            Command::Draw { vertex_count, instance_count, first_vertex, first_instance } => {
                self.draw(*vertex_count, *instance_count, *first_vertex, *first_instance)
            }
            Command::DrawIndexed { index_count, instance_count, first_index, vertex_offset, first_instance } => {
                self.draw_indexed([*index_count, *instance_count, *first_index, *vertex_offset as u32, *first_instance])
            }
            Command::DrawIndirect(c) => self.draw_indirect(c),
            Command::DrawMulti(c) => self.draw_multi(c),
            Command::DrawIndirectByteCount(c) => self.draw_indirect_byte_count(c),
            Command::DrawMeshTasks { groups } => self.draw_mesh_tasks(*groups),
            Command::BeginConditionalRendering(c) => self.begin_conditional_rendering(c),
            Command::EndConditionalRendering => self.discarding = false,
            Command::Dispatch { base, groups } => self.dispatch(*base, *groups),
            Command::DispatchIndirect(location) => self.dispatch_indirect(location),
            Command::TraceRays(c) => self.trace_rays(c),
            Command::TraceRaysIndirect2(address) => self.trace_rays_indirect2(*address),
            Command::ExecuteGeneratedCommands(c) => self.execute_generated_commands(c),
            Command::ClearAttachments { attachments, rects } => self.clear_attachments(attachments, rects),

            Command::BindTransformFeedbackBuffers { first, ranges } => {
                self.bind_transform_feedback_buffers(*first, ranges)
            }
            Command::BeginTransformFeedback(c) => self.begin_transform_feedback(c),
            Command::EndTransformFeedback(c) => self.end_transform_feedback(c),

            Command::CopyBuffer { src, dst, regions } => self.copy_buffer(src, dst, regions),
            Command::CopyImage { src, dst, regions } => self.copy_image(src, dst, regions),
            Command::BlitImage { src, dst, regions, filter } => self.blit_image(src, dst, regions, *filter),
            Command::CopyBufferToImage { base, image, regions } => self.copy_buffer_to_image(base, image, regions),
            Command::CopyImageToBuffer { image, base, regions } => self.copy_image_to_buffer(image, base, regions),
            Command::UpdateBuffer { dst, data } => self.update_buffer(dst, data),
            Command::FillBuffer { dst, size, data } => self.fill_buffer(dst, *size, *data),
            Command::ClearColorImage { image, color, ranges } => self.clear_color_image(image, *color, ranges),
            Command::ClearDepthStencilImage { image, value, ranges } => {
                self.clear_depth_stencil_image(image, *value, ranges)
            }
            Command::CopyMemoryIndirect(commands) => self.copy_memory_indirect(commands),
            Command::CopyMemoryToImageIndirect { commands, image } => {
                self.copy_memory_to_image_indirect(commands, image)
            }
            Command::ConvertCooperativeVectorMatrix(all) => self.convert_cooperative_vector_matrix(all),
            Command::ResolveImage { src, dst, regions, modes } => self.resolve_image(src, dst, regions, *modes),

            Command::PipelineBarrier => {
                self.barrier();
                self.invalidate_descriptors();
            }
            Command::SetEvent(event) => event.set(&self.device.sync, true),
            Command::ResetEvent(event) => event.set(&self.device.sync, false),
            Command::WaitEvents(events) => {
                self.wait_events(events);
                self.invalidate_descriptors();
            }
            Command::BeginQuery { pool, query, stream } => self.begin_query(pool, *query, *stream),
            Command::EndQuery { pool, query, stream } => self.end_query(pool, *query, *stream),
            Command::ResetQueryPool { pool, first, count } => pool.range(*first, *count).iter().for_each(|q| q.reset()),
            Command::WriteTimestamp { pool, query } => self.write_timestamp(pool, *query),
            Command::CopyQueryPoolResults(c) => self.copy_query_pool_results(c),

            Command::BuildAccelerationStructures(builds) => self.build_acceleration_structures(builds),
            Command::CopyAccelerationStructure { src, dst } => self.copy_acceleration_structure(src, dst),
            Command::CopyAccelerationStructureToMemory { src, dst } => {
                self.copy_acceleration_structure_to_memory(src, *dst)
            }
            Command::CopyMemoryToAccelerationStructure { src, dst } => {
                self.copy_memory_to_acceleration_structure(*src, dst)
            }
            Command::WriteAccelerationStructuresProperties(c) => self.write_acceleration_structures_properties(c),
        }
    }

    /// Executes secondary command buffers. They inherit the render pass, the queries, and the state
    /// that [`inheritance`] passes to them.
    fn execute_commands(&mut self, lists: &[Arc<CommandList>]) {
        for list in lists {
            self.pass_state();
            self.commands(list);
        }
        self.pass_state();
    }
}
