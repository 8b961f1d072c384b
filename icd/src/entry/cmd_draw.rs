//! Recording of render pass instances, draws and dispatches.

use super::recording::push;
use super::render_pass::samples;
use crate::caps::newer;
use crate::command::{
    BeginRenderPass, BeginRendering, BufferOrAddress, Command, ConditionalRendering, DeviceLocation, DrawIndirect,
    DrawMulti, IndirectKind, RenderingAttachment,
};
use crate::fallible;
use crate::ffi::handle::{optional, share};
use crate::ffi::pointer::{find, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, V1_0, V1_1, V1_2, V1_3, V1_4, ext, row};
use crate::object::buffer::Buffer;
use crate::object::image::ImageView;
use crate::object::pipeline_state::decode;
use crate::object::render_pass::{Framebuffer, RenderPass};
use ash::vk;

const RP2: Requirement = ext("VK_KHR_create_renderpass2");
const COUNT: Requirement = ext("VK_KHR_draw_indirect_count");
const MESH: Requirement = ext("VK_EXT_mesh_shader");
const CONDITIONAL: Requirement = ext("VK_EXT_conditional_rendering");
const DYNAMIC: Requirement = ext("VK_KHR_dynamic_rendering");
const LOCAL_READ: Requirement = ext("VK_KHR_dynamic_rendering_local_read");

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, cmd_begin_render_pass as vk::PFN_vkCmdBeginRenderPass, vkCmdBeginRenderPass: V1_0),
    row!(
        Device,
        cmd_begin_render_pass2 as vk::PFN_vkCmdBeginRenderPass2,
        vkCmdBeginRenderPass2: V1_2,
        vkCmdBeginRenderPass2KHR: RP2
    ),
    row!(Device, cmd_next_subpass as vk::PFN_vkCmdNextSubpass, vkCmdNextSubpass: V1_0),
    row!(Device, cmd_next_subpass2 as vk::PFN_vkCmdNextSubpass2, vkCmdNextSubpass2: V1_2, vkCmdNextSubpass2KHR: RP2),
    row!(Device, cmd_end_render_pass as vk::PFN_vkCmdEndRenderPass, vkCmdEndRenderPass: V1_0),
    row!(Device, cmd_end_render_pass2 as vk::PFN_vkCmdEndRenderPass2, vkCmdEndRenderPass2: V1_2, vkCmdEndRenderPass2KHR: RP2),
    row!(Device, cmd_begin_rendering as vk::PFN_vkCmdBeginRendering, vkCmdBeginRendering: V1_3, vkCmdBeginRenderingKHR: DYNAMIC),
    row!(Device, cmd_end_rendering as vk::PFN_vkCmdEndRendering, vkCmdEndRendering: V1_3, vkCmdEndRenderingKHR: DYNAMIC),
    row!(Device, cmd_end_rendering2 as newer::PFN_vkCmdEndRendering2KHR, vkCmdEndRendering2KHR: ext("VK_KHR_maintenance10")),
    row!(
        Device,
        cmd_set_rendering_attachment_locations as vk::PFN_vkCmdSetRenderingAttachmentLocationsKHR,
        vkCmdSetRenderingAttachmentLocations: V1_4, vkCmdSetRenderingAttachmentLocationsKHR: LOCAL_READ
    ),
    row!(
        Device,
        cmd_set_rendering_input_attachment_indices as vk::PFN_vkCmdSetRenderingInputAttachmentIndicesKHR,
        vkCmdSetRenderingInputAttachmentIndices: V1_4, vkCmdSetRenderingInputAttachmentIndicesKHR: LOCAL_READ
    ),
    row!(Device, cmd_draw as vk::PFN_vkCmdDraw, vkCmdDraw: V1_0),
    row!(Device, cmd_draw_indexed as vk::PFN_vkCmdDrawIndexed, vkCmdDrawIndexed: V1_0),
    row!(Device, cmd_draw_indirect as vk::PFN_vkCmdDrawIndirect, vkCmdDrawIndirect: V1_0),
    row!(Device, cmd_draw_indexed_indirect as vk::PFN_vkCmdDrawIndexedIndirect, vkCmdDrawIndexedIndirect: V1_0),
    row!(
        Device,
        cmd_draw_indirect_count as vk::PFN_vkCmdDrawIndirectCount,
        vkCmdDrawIndirectCount: V1_2,
        vkCmdDrawIndirectCountKHR: COUNT
    ),
    row!(
        Device,
        cmd_draw_indexed_indirect_count as vk::PFN_vkCmdDrawIndexedIndirectCount,
        vkCmdDrawIndexedIndirectCount: V1_2,
        vkCmdDrawIndexedIndirectCountKHR: COUNT
    ),
    row!(Device, cmd_draw_multi as vk::PFN_vkCmdDrawMultiEXT, vkCmdDrawMultiEXT: ext("VK_EXT_multi_draw")),
    row!(Device, cmd_draw_multi_indexed as vk::PFN_vkCmdDrawMultiIndexedEXT, vkCmdDrawMultiIndexedEXT: ext("VK_EXT_multi_draw")),
    row!(Device, cmd_draw_mesh_tasks as vk::PFN_vkCmdDrawMeshTasksEXT, vkCmdDrawMeshTasksEXT: MESH),
    row!(Device, cmd_draw_mesh_tasks_indirect as vk::PFN_vkCmdDrawMeshTasksIndirectEXT, vkCmdDrawMeshTasksIndirectEXT: MESH),
    row!(
        Device,
        cmd_draw_mesh_tasks_indirect_count as vk::PFN_vkCmdDrawMeshTasksIndirectCountEXT,
        vkCmdDrawMeshTasksIndirectCountEXT: MESH
    ),
    row!(
        Device,
        cmd_begin_conditional_rendering as vk::PFN_vkCmdBeginConditionalRenderingEXT,
        vkCmdBeginConditionalRenderingEXT: CONDITIONAL
    ),
    row!(
        Device,
        cmd_end_conditional_rendering as vk::PFN_vkCmdEndConditionalRenderingEXT,
        vkCmdEndConditionalRenderingEXT: CONDITIONAL
    ),
    row!(Device, cmd_dispatch as vk::PFN_vkCmdDispatch, vkCmdDispatch: V1_0),
    row!(Device, cmd_dispatch_indirect as vk::PFN_vkCmdDispatchIndirect, vkCmdDispatchIndirect: V1_0),
    row!(
        Device,
        cmd_dispatch_base as vk::PFN_vkCmdDispatchBase,
        vkCmdDispatchBase: V1_1,
        vkCmdDispatchBaseKHR: ext("VK_KHR_device_group")
    ),
    row!(Device, cmd_clear_attachments as vk::PFN_vkCmdClearAttachments, vkCmdClearAttachments: V1_0),
];

/// Returns the words of a clear value: colour bits, or depth bits and stencil.
fn clear_words(value: &vk::ClearValue) -> [u32; 4] {
    // SAFETY: every member of the union is plain 32-bit words.
    unsafe { value.color.uint32 }
}

unsafe fn begin_render_pass(buffer: vk::CommandBuffer, info: &vk::RenderPassBeginInfo<'_>) -> Result<(), vk::Result> {
    // SAFETY: the valid usage of the command makes handles live and pointers valid.
    unsafe {
        let framebuffer = share::<Framebuffer>(info.framebuffer);
        let views = match find::<vk::RenderPassAttachmentBeginInfo<'_>>(info.p_next) {
            Some(imageless) if framebuffer.views.is_empty() => {
                slice(imageless.p_attachments, imageless.attachment_count)
                    .iter()
                    .map(|v| share::<ImageView>(*v))
                    .collect()
            }
            _ => framebuffer.views.clone(),
        };
        let begin = BeginRenderPass {
            render_pass: share::<RenderPass>(info.render_pass),
            framebuffer,
            views,
            area: info.render_area,
            clear_values: slice(info.p_clear_values, info.clear_value_count).iter().map(clear_words).collect(),
        };
        begin.check_memory()?;
        push(buffer, Command::BeginRenderPass(Box::new(begin)));
        Ok(())
    }
}

unsafe fn rendering_attachment(info: &vk::RenderingAttachmentInfo<'_>) -> Option<RenderingAttachment> {
    // SAFETY: the valid usage of the command makes handles live.
    unsafe {
        let resolve = optional::<ImageView>(info.resolve_image_view).filter(|_| !info.resolve_mode.is_empty());
        Some(RenderingAttachment {
            view: optional::<ImageView>(info.image_view)?,
            resolve: resolve.map(|view| (view, info.resolve_mode)),
            resolve_mode: info.resolve_mode,
            load_op: info.load_op,
            store_op: info.store_op,
            clear_value: clear_words(&info.clear_value),
        })
    }
}

unsafe fn draw_indirect(
    buffer: vk::CommandBuffer,
    from: (vk::Buffer, u64),
    count: Option<(vk::Buffer, u64)>,
    limits: (u32, u32),
    kind: IndirectKind,
) {
    // SAFETY: the valid usage of the command makes handles live.
    unsafe {
        let location = |(buffer, offset): (vk::Buffer, u64)| -> DeviceLocation {
            (BufferOrAddress::Buffer(share::<Buffer>(buffer)), offset)
        };
        let (draw_count, stride) = (limits.0, limits.1.into());
        let draw = DrawIndirect { location: location(from), count: count.map(location), draw_count, stride, kind };
        push(buffer, Command::DrawIndirect(Box::new(draw)));
    }
}

/// Returns the elements of an array whose elements are `stride` bytes apart.
///
/// # Safety
/// The array is valid.
unsafe fn strided<T: Copy>(first: *const T, count: u32, stride: u32) -> impl ExactSizeIterator<Item = T> {
    // SAFETY: the array is valid, as the `# Safety` section demands; the elements need not be
    // aligned.
    (0..count).map(move |i| unsafe { first.byte_add(i as usize * stride as usize).read_unaligned() })
}

shims! {
    fn cmd_begin_render_pass(buffer: vk::CommandBuffer, info: *const vk::RenderPassBeginInfo<'_>, _contents: vk::SubpassContents) {
        begin_render_pass(buffer, &*info)?;
    }

    fn cmd_begin_render_pass2(
        buffer: vk::CommandBuffer,
        info: *const vk::RenderPassBeginInfo<'_>,
        _subpass: *const vk::SubpassBeginInfo<'_>,
    ) {
        begin_render_pass(buffer, &*info)?;
    }

    fn cmd_next_subpass(buffer: vk::CommandBuffer, _contents: vk::SubpassContents) {
        push(buffer, Command::NextSubpass);
    }

    fn cmd_next_subpass2(buffer: vk::CommandBuffer, _begin: *const vk::SubpassBeginInfo<'_>, _end: *const vk::SubpassEndInfo<'_>) {
        push(buffer, Command::NextSubpass);
    }

    fn cmd_end_render_pass(buffer: vk::CommandBuffer) {
        push(buffer, Command::EndRenderPass);
    }

    fn cmd_end_render_pass2(buffer: vk::CommandBuffer, _end: *const vk::SubpassEndInfo<'_>) {
        push(buffer, Command::EndRenderPass);
    }

    fn cmd_begin_rendering(buffer: vk::CommandBuffer, info: *const vk::RenderingInfo<'_>) {
        let info = &*info;
        let one = |a: *const vk::RenderingAttachmentInfo<'_>| a.as_ref().and_then(|a| rendering_attachment(a));
        let colors = slice(info.p_color_attachments, info.color_attachment_count);
        let begin = BeginRendering {
            flags: info.flags,
            area: info.render_area,
            layer_count: info.layer_count.max(1),
            view_mask: info.view_mask,
            multisampled: find::<vk::MultisampledRenderToSingleSampledInfoEXT<'_>>(info.p_next).and_then(samples),
            colors: colors.iter().map(|a| rendering_attachment(a)).collect(),
            depth: one(info.p_depth_attachment),
            // The stencil clear value is the second word, as in a combined value.
            stencil: one(info.p_stencil_attachment),
            shading_rate: find::<vk::RenderingFragmentShadingRateAttachmentInfoKHR<'_>>(info.p_next)
                .and_then(|rate| optional(rate.image_view)),
        };
        begin.check_memory()?;
        push(buffer, Command::BeginRendering(Box::new(begin)));
    }

    fn cmd_end_rendering(buffer: vk::CommandBuffer) {
        push(buffer, Command::EndRendering);
    }

    // Structures that may extend this one belong to extensions that the driver does not have.
    fn cmd_end_rendering2(buffer: vk::CommandBuffer, _info: *const newer::RenderingEndInfoKHR<'_>) {
        push(buffer, Command::EndRendering);
    }

    fn cmd_set_rendering_attachment_locations(
        buffer: vk::CommandBuffer,
        info: *const vk::RenderingAttachmentLocationInfoKHR<'_>,
    ) {
        let list = slice((*info).p_color_attachment_locations, (*info).color_attachment_count);
        push(buffer, Command::SetRenderingAttachmentLocations(decode::locations(list)));
    }

    // An input attachment is its descriptor, for any index of an attachment.
    fn cmd_set_rendering_input_attachment_indices(
        _buffer: vk::CommandBuffer,
        _info: *const vk::RenderingInputAttachmentIndexInfoKHR<'_>,
    ) {}

    fn cmd_draw(buffer: vk::CommandBuffer, vertex_count: u32, instance_count: u32, first_vertex: u32, first_instance: u32) {
        push(buffer, Command::Draw { vertex_count, instance_count, first_vertex, first_instance });
    }

    fn cmd_draw_indexed(
        buffer: vk::CommandBuffer,
        index_count: u32,
        instance_count: u32,
        first_index: u32,
        vertex_offset: i32,
        first_instance: u32,
    ) {
        push(buffer, Command::DrawIndexed { index_count, instance_count, first_index, vertex_offset, first_instance });
    }

    fn cmd_draw_indirect(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64, draw_count: u32, stride: u32) {
        draw_indirect(buffer, (from, offset), None, (draw_count, stride), IndirectKind::Vertices);
    }

    fn cmd_draw_indexed_indirect(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64, draw_count: u32, stride: u32) {
        draw_indirect(buffer, (from, offset), None, (draw_count, stride), IndirectKind::Indexed);
    }

    fn cmd_draw_indirect_count(
        buffer: vk::CommandBuffer,
        from: vk::Buffer,
        offset: u64,
        count_buffer: vk::Buffer,
        count_offset: u64,
        max_draw_count: u32,
        stride: u32,
    ) {
        draw_indirect(buffer, (from, offset), Some((count_buffer, count_offset)), (max_draw_count, stride), IndirectKind::Vertices);
    }

    fn cmd_draw_indexed_indirect_count(
        buffer: vk::CommandBuffer,
        from: vk::Buffer,
        offset: u64,
        count_buffer: vk::Buffer,
        count_offset: u64,
        max_draw_count: u32,
        stride: u32,
    ) {
        draw_indirect(buffer, (from, offset), Some((count_buffer, count_offset)), (max_draw_count, stride), IndirectKind::Indexed);
    }

    fn cmd_draw_multi(
        buffer: vk::CommandBuffer,
        count: u32,
        draws: *const vk::MultiDrawInfoEXT,
        instance_count: u32,
        first_instance: u32,
        stride: u32,
    ) {
        let draws = fallible::collect(strided(draws, count, stride).map(|d| (d.first_vertex, d.vertex_count, 0)))?;
        push(buffer, Command::DrawMulti(Box::new(DrawMulti { draws, instance_count, first_instance, indexed: false })));
    }

    fn cmd_draw_multi_indexed(
        buffer: vk::CommandBuffer,
        count: u32,
        draws: *const vk::MultiDrawIndexedInfoEXT,
        instance_count: u32,
        first_instance: u32,
        stride: u32,
        vertex_offset: *const i32,
    ) {
        let of_all = vertex_offset.as_ref().copied();
        let draw = |d: vk::MultiDrawIndexedInfoEXT| (d.first_index, d.index_count, of_all.unwrap_or(d.vertex_offset));
        let draws = fallible::collect(strided(draws, count, stride).map(draw))?;
        push(buffer, Command::DrawMulti(Box::new(DrawMulti { draws, instance_count, first_instance, indexed: true })));
    }

    fn cmd_draw_mesh_tasks(buffer: vk::CommandBuffer, x: u32, y: u32, z: u32) {
        push(buffer, Command::DrawMeshTasks { groups: [x, y, z] });
    }

    fn cmd_draw_mesh_tasks_indirect(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64, draw_count: u32, stride: u32) {
        draw_indirect(buffer, (from, offset), None, (draw_count, stride), IndirectKind::MeshTasks);
    }

    fn cmd_draw_mesh_tasks_indirect_count(
        buffer: vk::CommandBuffer,
        from: vk::Buffer,
        offset: u64,
        count_buffer: vk::Buffer,
        count_offset: u64,
        max_draw_count: u32,
        stride: u32,
    ) {
        let count = Some((count_buffer, count_offset));
        draw_indirect(buffer, (from, offset), count, (max_draw_count, stride), IndirectKind::MeshTasks);
    }

    fn cmd_begin_conditional_rendering(buffer: vk::CommandBuffer, info: *const vk::ConditionalRenderingBeginInfoEXT<'_>) {
        let info = &*info;
        let inverted = info.flags.contains(vk::ConditionalRenderingFlagsEXT::INVERTED);
        let begin = ConditionalRendering { location: (share::<Buffer>(info.buffer).into(), info.offset), inverted };
        push(buffer, Command::BeginConditionalRendering(Box::new(begin)));
    }

    fn cmd_end_conditional_rendering(buffer: vk::CommandBuffer) {
        push(buffer, Command::EndConditionalRendering);
    }

    fn cmd_dispatch(buffer: vk::CommandBuffer, x: u32, y: u32, z: u32) {
        push(buffer, Command::Dispatch { base: [0; 3], groups: [x, y, z] });
    }

    fn cmd_dispatch_base(buffer: vk::CommandBuffer, base_x: u32, base_y: u32, base_z: u32, x: u32, y: u32, z: u32) {
        push(buffer, Command::Dispatch { base: [base_x, base_y, base_z], groups: [x, y, z] });
    }

    fn cmd_dispatch_indirect(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64) {
        push(buffer, Command::DispatchIndirect((share::<Buffer>(from).into(), offset)));
    }

    fn cmd_clear_attachments(
        buffer: vk::CommandBuffer,
        attachment_count: u32,
        attachments: *const vk::ClearAttachment,
        rect_count: u32,
        rects: *const vk::ClearRect,
    ) {
        let attachments = fallible::to_vec(slice(attachments, attachment_count))?;
        push(buffer, Command::ClearAttachments { attachments, rects: fallible::to_vec(slice(rects, rect_count))? });
    }
}
