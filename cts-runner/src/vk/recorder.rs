//! Recording of commands without unsafe code at each call.
//!
//! Invariant, as in the whole harness: the objects given to a method were made by the same [`Gpu`]
//! and are not destroyed while the command buffer can be submitted. Regions lie inside the objects
//! that they refer to. The validation layer checks the callers.

use super::draw::{Pass, Program, STAGES};
use super::error::Result;
use super::gpu::Gpu;
use super::memory::{Buffer, Image};
use super::record::Recorded;
use super::submit::{image_barrier, memory_barrier};
use ash::vk;

/// Source layout of image transfers.
const SRC: vk::ImageLayout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
const DST: vk::ImageLayout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;

/// A command buffer that is being recorded.
#[derive(Clone, Copy)]
pub struct Recorder<'a> {
    pub(super) d: &'a ash::Device,
    pub(super) cmd: vk::CommandBuffer,
}

impl Gpu {
    /// Records a command buffer as [`Gpu::record`] does, with a [`Recorder`].
    pub fn recorded(&self, record: impl FnOnce(Recorder<'_>)) -> Result<Recorded> {
        self.record(|d, cmd| record(Recorder { d, cmd }))
    }

    /// Records a command buffer as [`Gpu::record_exclusive`] does, with a [`Recorder`].
    pub fn recorded_exclusive(&self, record: impl FnOnce(Recorder<'_>)) -> Result<Recorded> {
        self.record_exclusive(|d, cmd| record(Recorder { d, cmd }))
    }

    /// Records and runs commands once as [`Gpu::run`] does, with a [`Recorder`].
    pub fn once(&self, record: impl FnOnce(Recorder<'_>)) -> Result<()> {
        self.run(|d, cmd| record(Recorder { d, cmd })).map(|_| ())
    }
}

/// Draw commands.
impl Recorder<'_> {
    /// Begins a render pass.
    pub fn begin(self, pass: &Pass) {
        let info = vk::RenderPassBeginInfo::default()
            .render_pass(pass.handle)
            .framebuffer(pass.framebuffer)
            .render_area(vk::Rect2D { offset: vk::Offset2D::default(), extent: pass.extent })
            .clear_values(&pass.clears);
        // SAFETY: `pass` belongs to this device (module invariant) and has one clear value per
        // attachment.
        unsafe { self.d.cmd_begin_render_pass(self.cmd, &info, vk::SubpassContents::INLINE) }
    }

    /// Ends the render pass.
    pub fn end(self) {
        // SAFETY: [`Self::begin`] has begun a render pass.
        unsafe { self.d.cmd_end_render_pass(self.cmd) }
    }

    /// Binds a graphics pipeline and its descriptor set.
    pub fn bind(self, program: &Program) {
        // SAFETY: the pipeline is alive and belongs to this device (module invariant).
        unsafe { self.d.cmd_bind_pipeline(self.cmd, vk::PipelineBindPoint::GRAPHICS, program.pipeline) }
        if program.set.is_some() {
            self.offsets(program, &[]);
        }
    }

    /// Binds a pipeline alone. The descriptor set follows with [`Self::offsets`].
    pub fn bind_pipeline(self, program: &Program) {
        // SAFETY: the pipeline is alive and belongs to this device (module invariant).
        unsafe { self.d.cmd_bind_pipeline(self.cmd, vk::PipelineBindPoint::GRAPHICS, program.pipeline) }
    }

    /// Binds the descriptor set of a program with these dynamic offsets.
    pub fn offsets(self, program: &Program, offsets: &[u32]) {
        let (point, sets) = (vk::PipelineBindPoint::GRAPHICS, [program.set.unwrap_or_default()]);
        // SAFETY: layout and set belong to this device (module invariant). There is one offset per
        // dynamic descriptor.
        unsafe { self.d.cmd_bind_descriptor_sets(self.cmd, point, program.layout, 0, &sets, offsets) }
    }

    /// Sets push constants from offset 0.
    pub fn push(self, program: &Program, words: &[u32]) {
        self.push_for(program.layout, words);
    }

    /// Sets push constants from offset 0 for a layout.
    pub fn push_for(self, layout: vk::PipelineLayout, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        // SAFETY: the range of the layout begins at 0 and covers all words that are pushed (module
        // invariant).
        unsafe { self.d.cmd_push_constants(self.cmd, layout, STAGES, 0, &bytes) }
    }

    /// Binds vertex buffers from binding 0.
    pub fn vertices(self, buffers: &[Buffer]) {
        let handles: Vec<_> = buffers.iter().map(|b| b.handle).collect();
        // SAFETY: the buffers are alive and belong to this device (module invariant).
        unsafe { self.d.cmd_bind_vertex_buffers(self.cmd, 0, &handles, &vec![0; handles.len()]) }
    }

    /// Binds an index buffer.
    pub fn indices(self, buffer: &Buffer, kind: vk::IndexType) {
        // SAFETY: the buffer is alive and belongs to this device (module invariant).
        unsafe { self.d.cmd_bind_index_buffer(self.cmd, buffer.handle, 0, kind) }
    }

    /// Sets the scissor rectangle, given as position and size in pixels.
    pub fn scissor(self, [x, y, width, height]: [u32; 4]) {
        let offset = vk::Offset2D { x: x as i32, y: y as i32 };
        let rect = vk::Rect2D { offset, extent: vk::Extent2D { width, height } };
        // SAFETY: the draws use a pipeline with a dynamic scissor (module invariant).
        unsafe { self.d.cmd_set_scissor(self.cmd, 0, &[rect]) }
    }

    /// Records `vkCmdDraw`, with first vertex and first instance 0.
    pub fn draw(self, vertices: u32, instances: u32) {
        // SAFETY: a pipeline and its resources are bound inside a render pass (module invariant).
        unsafe { self.d.cmd_draw(self.cmd, vertices, instances, 0, 0) }
    }

    /// Draws one instance of `vertices` vertices, starting at `first`.
    pub fn draw_range(self, first: u32, vertices: u32) {
        // SAFETY: a pipeline and its resources are bound inside a render pass (module invariant).
        unsafe { self.d.cmd_draw(self.cmd, vertices, 1, first, 0) }
    }

    /// Records `vkCmdDrawIndirect` with `count` tightly packed commands from the start of a buffer.
    pub fn draw_indirect(self, commands: &Buffer, count: u32) {
        // SAFETY: a pipeline and its resources are bound inside a render pass (module invariant).
        // The buffer has the indirect usage and holds the commands.
        unsafe {
            self.d.cmd_draw_indirect(self.cmd, commands.handle, 0, count, size_of::<vk::DrawIndirectCommand>() as u32)
        }
    }

    /// Records `vkCmdDrawMeshTasksEXT`. The device must have the extension.
    pub fn draw_mesh_tasks(self, functions: &ash::ext::mesh_shader::Device, [x, y, z]: [u32; 3]) {
        // SAFETY: a pipeline and its resources are bound inside a render pass (module invariant).
        unsafe { functions.cmd_draw_mesh_tasks(self.cmd, x, y, z) }
    }

    /// Draws `count` indices from `first`, with `base` added to each.
    pub fn draw_indexed(self, count: u32, first: u32, base: i32, instances: u32) {
        // SAFETY: a pipeline, an index buffer and other resources are bound inside a render pass
        // (module invariant).
        unsafe { self.d.cmd_draw_indexed(self.cmd, count, instances, first, base, 0) }
    }
}

/// Transform feedback commands.
impl Recorder<'_> {
    /// Captures the draws of `draws` in a buffer, from its beginning. The device must have the
    /// extension.
    pub fn capture(self, functions: &ash::ext::transform_feedback::Device, to: &Buffer, draws: impl FnOnce()) {
        let (f, no_offsets) = (functions.fp(), std::ptr::null());
        // SAFETY: the buffer is alive and belongs to this device (module invariant). The counter
        // count is 0, so the null pointers are not read.
        unsafe {
            (f.cmd_bind_transform_feedback_buffers_ext)(self.cmd, 0, 1, &to.handle, &0, no_offsets);
            (f.cmd_begin_transform_feedback_ext)(self.cmd, 0, 0, std::ptr::null(), no_offsets);
            draws();
            (f.cmd_end_transform_feedback_ext)(self.cmd, 0, 0, std::ptr::null(), no_offsets);
        }
    }
}

/// Commands with a recording function of their own.
impl Recorder<'_> {
    /// Calls a function that records commands directly.
    pub fn with(self, record: impl FnOnce(&ash::Device, vk::CommandBuffer)) {
        record(self.d, self.cmd);
    }
}

/// Transfers and barriers. Images are read in `TRANSFER_SRC_OPTIMAL` and written in
/// `TRANSFER_DST_OPTIMAL`.
impl Recorder<'_> {
    /// Records a barrier that orders all earlier commands before all later commands.
    pub fn barrier(self) {
        memory_barrier(self.d, self.cmd);
    }

    /// Moves all levels and layers of an image to another layout.
    pub fn layout(self, image: &Image, from: vk::ImageLayout, to: vk::ImageLayout) {
        image_barrier(self.d, self.cmd, image, image.full_range(), from, to);
    }

    /// Moves one level of an image to another layout.
    pub fn level_layout(self, image: &Image, level: u32, from: vk::ImageLayout, to: vk::ImageLayout) {
        let range = image.full_range().base_mip_level(level).level_count(1);
        image_barrier(self.d, self.cmd, image, range, from, to);
    }

    /// Copies between buffers.
    pub fn copy_buffer(self, from: &Buffer, to: &Buffer, regions: &[vk::BufferCopy]) {
        // SAFETY: both buffers are alive and contain the regions (module invariant).
        unsafe { self.d.cmd_copy_buffer(self.cmd, from.handle, to.handle, regions) }
    }

    /// Fills a whole buffer with a word.
    pub fn fill_buffer(self, to: &Buffer, word: u32) {
        // SAFETY: the buffer is alive and belongs to this device (module invariant).
        unsafe { self.d.cmd_fill_buffer(self.cmd, to.handle, 0, vk::WHOLE_SIZE, word) }
    }

    /// Writes bytes (at most 65,536) to a buffer.
    pub fn update_buffer(self, to: &Buffer, offset: u64, bytes: &[u8]) {
        // SAFETY: the buffer is alive and contains the range (module invariant).
        unsafe { self.d.cmd_update_buffer(self.cmd, to.handle, offset, bytes) }
    }

    /// Copies between images.
    pub fn copy_image(self, from: &Image, to: &Image, regions: &[vk::ImageCopy]) {
        // SAFETY: both images are alive and contain the regions (module invariant).
        unsafe { self.d.cmd_copy_image(self.cmd, from.handle, SRC, to.handle, DST, regions) }
    }

    /// Copies from a buffer to an image.
    pub fn copy_to_image(self, from: &Buffer, to: &Image, regions: &[vk::BufferImageCopy]) {
        // SAFETY: buffer and image are alive and contain the regions (module invariant).
        unsafe { self.d.cmd_copy_buffer_to_image(self.cmd, from.handle, to.handle, DST, regions) }
    }

    /// Copies from an image to a buffer.
    pub fn copy_to_buffer(self, from: &Image, to: &Buffer, regions: &[vk::BufferImageCopy]) {
        // SAFETY: image and buffer are alive and contain the regions (module invariant).
        unsafe { self.d.cmd_copy_image_to_buffer(self.cmd, from.handle, SRC, to.handle, regions) }
    }

    /// Blits between images or between levels of one image.
    pub fn blit(self, from: &Image, to: &Image, regions: &[vk::ImageBlit], filter: vk::Filter) {
        // SAFETY: both images are alive and contain the regions (module invariant).
        unsafe { self.d.cmd_blit_image(self.cmd, from.handle, SRC, to.handle, DST, regions, filter) }
    }

    /// Resolves a multisampled image.
    pub fn resolve(self, from: &Image, to: &Image, regions: &[vk::ImageResolve]) {
        // SAFETY: both images are alive and contain the regions (module invariant).
        unsafe { self.d.cmd_resolve_image(self.cmd, from.handle, SRC, to.handle, DST, regions) }
    }

    /// Clears all levels and layers of a colour image.
    pub fn clear_color(self, image: &Image, color: vk::ClearColorValue) {
        // SAFETY: the image is alive and belongs to this device (module invariant).
        unsafe { self.d.cmd_clear_color_image(self.cmd, image.handle, DST, &color, &[image.full_range()]) }
    }

    /// Clears all levels and layers of a depth image.
    pub fn clear_depth(self, image: &Image, depth: f32) {
        let (value, range) = (vk::ClearDepthStencilValue { depth, stencil: 0 }, [image.full_range()]);
        // SAFETY: the image is alive and belongs to this device (module invariant).
        unsafe { self.d.cmd_clear_depth_stencil_image(self.cmd, image.handle, DST, &value, &range) }
    }
}
