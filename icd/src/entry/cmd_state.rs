//! Recording of state: pipelines, descriptors, push constants, vertex and index buffers, dynamic
//! state.

use super::descriptor_write::{apply, elements_of};
use super::pipeline_state::depth_bias;
use super::recording::{push, record};
use crate::command::{BindDescriptorSets, BufferOrAddress, Command, VertexBufferBinding};
use crate::ffi::handle::{get, optional, share};
use crate::ffi::pointer::{find, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, V1_0, V1_3, V1_4, any, ext, row};
use crate::object::bind_point::BindPoint;
use crate::object::buffer::Buffer;
use crate::object::descriptor_pool::DescriptorSet;
use crate::object::descriptor_update::{UpdateTemplate, write};
use crate::object::pipeline::Pipeline;
use crate::object::pipeline_layout::PipelineLayout;
use crate::object::pipeline_state::{DynamicState, Faces, ListChange, decode};
use ash::vk;
use base::shader::Stage;
use core::ffi::c_void;
use smallvec::{SmallVec, smallvec};

/// Extension that has most dynamic state of other extensions.
pub(super) const SHADER_OBJECT: &str = "VK_EXT_shader_object";
const EDS1: Requirement = any(&["VK_EXT_extended_dynamic_state", SHADER_OBJECT]);
const EDS2: Requirement = any(&["VK_EXT_extended_dynamic_state2", SHADER_OBJECT]);
const M6: &str = "VK_KHR_maintenance6";

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, cmd_bind_pipeline as vk::PFN_vkCmdBindPipeline, vkCmdBindPipeline: V1_0),
    row!(Device, cmd_bind_descriptor_sets as vk::PFN_vkCmdBindDescriptorSets, vkCmdBindDescriptorSets: V1_0),
    row!(
        Device,
        cmd_push_descriptor_set as vk::PFN_vkCmdPushDescriptorSetKHR,
        vkCmdPushDescriptorSet: V1_4, vkCmdPushDescriptorSetKHR: ext("VK_KHR_push_descriptor")
    ),
    row!(
        Device,
        cmd_push_descriptor_set_with_template as vk::PFN_vkCmdPushDescriptorSetWithTemplateKHR,
        vkCmdPushDescriptorSetWithTemplate: V1_4, vkCmdPushDescriptorSetWithTemplateKHR: ext("VK_KHR_push_descriptor")
    ),
    row!(Device, cmd_push_constants as vk::PFN_vkCmdPushConstants, vkCmdPushConstants: V1_0),
    row!(Device, cmd_bind_index_buffer as vk::PFN_vkCmdBindIndexBuffer, vkCmdBindIndexBuffer: V1_0),
    row!(
        Device,
        cmd_bind_index_buffer2 as vk::PFN_vkCmdBindIndexBuffer2KHR,
        vkCmdBindIndexBuffer2: V1_4, vkCmdBindIndexBuffer2KHR: ext("VK_KHR_maintenance5")
    ),
    row!(Device, cmd_bind_vertex_buffers as vk::PFN_vkCmdBindVertexBuffers, vkCmdBindVertexBuffers: V1_0),
    row!(
        Device,
        cmd_bind_vertex_buffers2 as vk::PFN_vkCmdBindVertexBuffers2,
        vkCmdBindVertexBuffers2: V1_3,
        vkCmdBindVertexBuffers2EXT: EDS1
    ),
    row!(Device, cmd_set_viewport as vk::PFN_vkCmdSetViewport, vkCmdSetViewport: V1_0),
    row!(Device, cmd_set_scissor as vk::PFN_vkCmdSetScissor, vkCmdSetScissor: V1_0),
    row!(Device, cmd_set_line_width as vk::PFN_vkCmdSetLineWidth, vkCmdSetLineWidth: V1_0),
    row!(Device, cmd_set_depth_bias as vk::PFN_vkCmdSetDepthBias, vkCmdSetDepthBias: V1_0),
    row!(Device, cmd_bind_descriptor_sets2 as vk::PFN_vkCmdBindDescriptorSets2KHR, vkCmdBindDescriptorSets2: V1_4, vkCmdBindDescriptorSets2KHR: ext(M6)),
    row!(Device, cmd_push_constants2 as vk::PFN_vkCmdPushConstants2KHR, vkCmdPushConstants2: V1_4, vkCmdPushConstants2KHR: ext(M6)),
    row!(Device, cmd_push_descriptor_set2 as vk::PFN_vkCmdPushDescriptorSet2KHR, vkCmdPushDescriptorSet2: V1_4, vkCmdPushDescriptorSet2KHR: ext(M6)),
    row!(Device, cmd_push_descriptor_set_with_template2 as vk::PFN_vkCmdPushDescriptorSetWithTemplate2KHR, vkCmdPushDescriptorSetWithTemplate2: V1_4, vkCmdPushDescriptorSetWithTemplate2KHR: ext(M6)),
    row!(Device, cmd_set_depth_bias2 as vk::PFN_vkCmdSetDepthBias2EXT, vkCmdSetDepthBias2EXT: ext("VK_EXT_depth_bias_control")),
    row!(Device, cmd_set_blend_constants as vk::PFN_vkCmdSetBlendConstants, vkCmdSetBlendConstants: V1_0),
    row!(Device, cmd_set_depth_bounds as vk::PFN_vkCmdSetDepthBounds, vkCmdSetDepthBounds: V1_0),
    row!(Device, cmd_set_stencil_compare_mask as vk::PFN_vkCmdSetStencilCompareMask, vkCmdSetStencilCompareMask: V1_0),
    row!(Device, cmd_set_stencil_write_mask as vk::PFN_vkCmdSetStencilWriteMask, vkCmdSetStencilWriteMask: V1_0),
    row!(Device, cmd_set_stencil_reference as vk::PFN_vkCmdSetStencilReference, vkCmdSetStencilReference: V1_0),
    row!(Device, cmd_set_cull_mode as vk::PFN_vkCmdSetCullMode, vkCmdSetCullMode: V1_3, vkCmdSetCullModeEXT: EDS1),
    row!(Device, cmd_set_front_face as vk::PFN_vkCmdSetFrontFace, vkCmdSetFrontFace: V1_3, vkCmdSetFrontFaceEXT: EDS1),
    row!(
        Device,
        cmd_set_primitive_topology as vk::PFN_vkCmdSetPrimitiveTopology,
        vkCmdSetPrimitiveTopology: V1_3,
        vkCmdSetPrimitiveTopologyEXT: EDS1
    ),
    row!(
        Device,
        cmd_set_viewport_with_count as vk::PFN_vkCmdSetViewportWithCount,
        vkCmdSetViewportWithCount: V1_3,
        vkCmdSetViewportWithCountEXT: EDS1
    ),
    row!(
        Device,
        cmd_set_scissor_with_count as vk::PFN_vkCmdSetScissorWithCount,
        vkCmdSetScissorWithCount: V1_3,
        vkCmdSetScissorWithCountEXT: EDS1
    ),
    row!(
        Device,
        cmd_set_depth_test_enable as vk::PFN_vkCmdSetDepthTestEnable,
        vkCmdSetDepthTestEnable: V1_3,
        vkCmdSetDepthTestEnableEXT: EDS1
    ),
    row!(
        Device,
        cmd_set_depth_write_enable as vk::PFN_vkCmdSetDepthWriteEnable,
        vkCmdSetDepthWriteEnable: V1_3,
        vkCmdSetDepthWriteEnableEXT: EDS1
    ),
    row!(
        Device,
        cmd_set_depth_compare_op as vk::PFN_vkCmdSetDepthCompareOp,
        vkCmdSetDepthCompareOp: V1_3,
        vkCmdSetDepthCompareOpEXT: EDS1
    ),
    row!(
        Device,
        cmd_set_depth_bounds_test_enable as vk::PFN_vkCmdSetDepthBoundsTestEnable,
        vkCmdSetDepthBoundsTestEnable: V1_3,
        vkCmdSetDepthBoundsTestEnableEXT: EDS1
    ),
    row!(
        Device,
        cmd_set_stencil_test_enable as vk::PFN_vkCmdSetStencilTestEnable,
        vkCmdSetStencilTestEnable: V1_3,
        vkCmdSetStencilTestEnableEXT: EDS1
    ),
    row!(Device, cmd_set_stencil_op as vk::PFN_vkCmdSetStencilOp, vkCmdSetStencilOp: V1_3, vkCmdSetStencilOpEXT: EDS1),
    row!(
        Device,
        cmd_set_rasterizer_discard_enable as vk::PFN_vkCmdSetRasterizerDiscardEnable,
        vkCmdSetRasterizerDiscardEnable: V1_3,
        vkCmdSetRasterizerDiscardEnableEXT: EDS2
    ),
    row!(
        Device,
        cmd_set_depth_bias_enable as vk::PFN_vkCmdSetDepthBiasEnable,
        vkCmdSetDepthBiasEnable: V1_3,
        vkCmdSetDepthBiasEnableEXT: EDS2
    ),
    row!(
        Device,
        cmd_set_primitive_restart_enable as vk::PFN_vkCmdSetPrimitiveRestartEnable,
        vkCmdSetPrimitiveRestartEnable: V1_3,
        vkCmdSetPrimitiveRestartEnableEXT: EDS2
    ),
    row!(
        Device,
        cmd_set_line_stipple as vk::PFN_vkCmdSetLineStippleKHR,
        vkCmdSetLineStipple: V1_4, vkCmdSetLineStippleKHR: ext("VK_KHR_line_rasterization"),
        vkCmdSetLineStippleEXT: ext("VK_EXT_line_rasterization")
    ),
    row!(Device, cmd_set_logic_op as vk::PFN_vkCmdSetLogicOpEXT, vkCmdSetLogicOpEXT: EDS2),
    row!(
        Device,
        cmd_set_patch_control_points as vk::PFN_vkCmdSetPatchControlPointsEXT,
        vkCmdSetPatchControlPointsEXT: EDS2
    ),
];

/// Result of vkEndCommandBuffer for a value that no valid call has.
pub(super) const INVALID: vk::Result = vk::Result::ERROR_OUT_OF_HOST_MEMORY;

/// Records a change of dynamic state.
///
/// # Safety
/// The handle is live.
pub(super) unsafe fn set(buffer: vk::CommandBuffer, state: DynamicState) {
    // SAFETY: the handle is live, as the `# Safety` section demands.
    unsafe { push(buffer, Command::SetDynamicState(state)) }
}

/// Converts a bind point; no valid call has another one.
pub(super) fn point(point: vk::PipelineBindPoint) -> Result<BindPoint, vk::Result> {
    BindPoint::from_vk(point).ok_or(INVALID)
}

/// Records a change of a state whose value has to be converted; a value that cannot be converted
/// makes the recording fail.
///
/// # Safety
/// The handle is live.
pub(super) unsafe fn set_translated<T>(
    buffer: vk::CommandBuffer,
    value: Result<T, String>,
    state: impl FnOnce(T) -> DynamicState,
) {
    // SAFETY: the handle is live, as the `# Safety` section demands.
    unsafe {
        record(buffer, |recorder| match value {
            Ok(value) => recorder.push(Command::SetDynamicState(state(value))),
            Err(_) => recorder.fail(INVALID),
        })
    }
}

unsafe fn bind_index_buffer(
    buffer: vk::CommandBuffer,
    index_buffer: vk::Buffer,
    offset: u64,
    size: u64,
    ty: vk::IndexType,
) {
    // SAFETY: the valid usage of the command makes handles live.
    unsafe {
        let location = BufferOrAddress::location(optional::<Buffer>(index_buffer), offset);
        push(buffer, Command::BindIndexBuffer { location, size, index_bytes: index_bytes(ty) });
    }
}

/// Returns the size of an index in bytes.
pub(super) fn index_bytes(ty: vk::IndexType) -> u32 {
    match ty {
        vk::IndexType::UINT16 => 2,
        vk::IndexType::UINT8_KHR => 1,
        _ => 4,
    }
}

/// Records vertex buffers. `strides` and `sizes` may be null.
unsafe fn bind_vertex_buffers(
    buffer: vk::CommandBuffer,
    first: u32,
    count: u32,
    buffers: *const vk::Buffer,
    offsets: *const u64,
    sizes: *const u64,
    strides: *const u64,
) {
    // SAFETY: the valid usage of the command makes handles live and arrays valid.
    unsafe {
        let (buffers, offsets) = (slice(buffers, count), slice(offsets, count));
        let (sizes, strides) = (slice(sizes, count), slice(strides, count));
        let binding = |(i, b): (usize, &vk::Buffer)| VertexBufferBinding {
            location: BufferOrAddress::location(optional::<Buffer>(*b), offsets.get(i).copied().unwrap_or(0)),
            size: sizes.get(i).copied().unwrap_or(vk::WHOLE_SIZE),
            stride: strides.get(i).map(|s| *s as u32),
        };
        push(buffer, Command::BindVertexBuffers { first, buffers: buffers.iter().enumerate().map(binding).collect() });
    }
}

/// Records a pushed set; `fill` writes the descriptors.
unsafe fn push_descriptor_set(
    buffer: vk::CommandBuffer,
    bind_point: BindPoint,
    layout: vk::PipelineLayout,
    number: u32,
    fill: impl FnOnce(&DescriptorSet),
) {
    // SAFETY: the valid usage of the command makes handles live.
    unsafe {
        let layout = share::<PipelineLayout>(layout);
        record(buffer, |recorder| {
            let Some(Some(set_layout)) = layout.sets.get(number as usize) else { return };
            let set = match recorder.push_set(bind_point, number, set_layout) {
                Ok(set) => set,
                Err(error) => return recorder.fail(error),
            };
            fill(&set);
            let bind = BindDescriptorSets {
                bind_point,
                first_set: number,
                sets: smallvec![Some(set)],
                dynamic_offsets: SmallVec::new(),
            };
            recorder.push(Command::BindDescriptorSets(Box::new(bind)));
        });
    }
}

/// Records a pushed set with these descriptors.
unsafe fn push_descriptor_writes(
    buffer: vk::CommandBuffer,
    bind_point: BindPoint,
    layout: vk::PipelineLayout,
    number: u32,
    writes: &[vk::WriteDescriptorSet<'_>],
) {
    // SAFETY: the valid usage of the command makes handles live and the writes valid.
    unsafe {
        push_descriptor_set(buffer, bind_point, layout, number, |set| {
            for w in writes {
                let (elements, count) = elements_of(w);
                write(set, w.dst_binding, w.dst_array_element, count, &elements);
            }
        });
    }
}

/// Records the sets that are bound from `first_set` on.
unsafe fn bind_descriptor_sets(
    buffer: vk::CommandBuffer,
    bind_point: BindPoint,
    first_set: u32,
    sets: &[vk::DescriptorSet],
    offsets: &[u32],
) {
    // SAFETY: the valid usage of the command makes handles live.
    unsafe {
        let sets = sets.iter().map(|s| optional::<DescriptorSet>(*s)).collect();
        let bind = BindDescriptorSets { bind_point, first_set, sets, dynamic_offsets: SmallVec::from_slice(offsets) };
        push(buffer, Command::BindDescriptorSets(Box::new(bind)));
    }
}

/// Returns the bind points at which descriptors are bound for these stages.
pub(super) fn points(stages: vk::ShaderStageFlags) -> impl Iterator<Item = BindPoint> {
    let of = |point| {
        let all = Stage::ALL.iter().filter(move |stage| BindPoint::of_stage(**stage) == point);
        all.fold(0, |flags, stage| flags | stage.row().flag_bit)
    };
    let points = [BindPoint::Compute, BindPoint::Graphics, BindPoint::RayTracing];
    points.into_iter().filter(move |point| stages.as_raw() & of(*point) != 0)
}

shims! {
    fn cmd_bind_pipeline(buffer: vk::CommandBuffer, _point: vk::PipelineBindPoint, pipeline: vk::Pipeline) {
        // A library cannot be bound.
        let program = get::<Pipeline>(pipeline).program().ok_or(INVALID)?;
        push(buffer, Command::BindProgram(program.clone()));
    }

    fn cmd_bind_descriptor_sets(
        buffer: vk::CommandBuffer,
        bind_point: vk::PipelineBindPoint,
        _layout: vk::PipelineLayout,
        first_set: u32,
        count: u32,
        sets: *const vk::DescriptorSet,
        offset_count: u32,
        offsets: *const u32,
    ) {
        bind_descriptor_sets(buffer, point(bind_point)?, first_set, slice(sets, count), slice(offsets, offset_count));
    }

    fn cmd_push_descriptor_set(
        buffer: vk::CommandBuffer,
        bind_point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        number: u32,
        count: u32,
        writes: *const vk::WriteDescriptorSet<'_>,
    ) {
        push_descriptor_writes(buffer, point(bind_point)?, layout, number, slice(writes, count));
    }

    fn cmd_push_descriptor_set_with_template(
        buffer: vk::CommandBuffer,
        template: vk::DescriptorUpdateTemplate,
        layout: vk::PipelineLayout,
        number: u32,
        data: *const c_void,
    ) {
        let template = get::<UpdateTemplate>(template);
        push_descriptor_set(buffer, template.bind_point, layout, number, |set| apply(template, set, data));
    }

    fn cmd_bind_descriptor_sets2(buffer: vk::CommandBuffer, info: *const vk::BindDescriptorSetsInfoKHR<'_>) {
        let info = &*info;
        let sets = slice(info.p_descriptor_sets, info.descriptor_set_count);
        let offsets = slice(info.p_dynamic_offsets, info.dynamic_offset_count);
        for bind_point in points(info.stage_flags) {
            bind_descriptor_sets(buffer, bind_point, info.first_set, sets, offsets);
        }
    }

    fn cmd_push_constants2(buffer: vk::CommandBuffer, info: *const vk::PushConstantsInfoKHR<'_>) {
        let info = &*info;
        let bytes = SmallVec::from_slice(slice(info.p_values.cast(), info.size));
        push(buffer, Command::PushConstants { offset: info.offset, bytes });
    }

    fn cmd_push_descriptor_set2(buffer: vk::CommandBuffer, info: *const vk::PushDescriptorSetInfoKHR<'_>) {
        let info = &*info;
        for bind_point in points(info.stage_flags) {
            let writes = slice(info.p_descriptor_writes, info.descriptor_write_count);
            push_descriptor_writes(buffer, bind_point, info.layout, info.set, writes);
        }
    }

    fn cmd_push_descriptor_set_with_template2(buffer: vk::CommandBuffer, info: *const vk::PushDescriptorSetWithTemplateInfoKHR<'_>) {
        let info = &*info;
        let template = get::<UpdateTemplate>(info.descriptor_update_template);
        push_descriptor_set(buffer, template.bind_point, info.layout, info.set, |set| apply(template, set, info.p_data));
    }

    fn cmd_push_constants(
        buffer: vk::CommandBuffer,
        _layout: vk::PipelineLayout,
        _stages: vk::ShaderStageFlags,
        offset: u32,
        size: u32,
        values: *const c_void,
    ) {
        push(buffer, Command::PushConstants { offset, bytes: SmallVec::from_slice(slice(values.cast(), size)) });
    }

    fn cmd_bind_index_buffer(buffer: vk::CommandBuffer, index_buffer: vk::Buffer, offset: u64, ty: vk::IndexType) {
        bind_index_buffer(buffer, index_buffer, offset, vk::WHOLE_SIZE, ty);
    }

    fn cmd_bind_index_buffer2(
        buffer: vk::CommandBuffer,
        index_buffer: vk::Buffer,
        offset: u64,
        size: u64,
        ty: vk::IndexType,
    ) {
        bind_index_buffer(buffer, index_buffer, offset, size, ty);
    }

    fn cmd_bind_vertex_buffers(buffer: vk::CommandBuffer, first: u32, count: u32, buffers: *const vk::Buffer, offsets: *const u64) {
        bind_vertex_buffers(buffer, first, count, buffers, offsets, std::ptr::null(), std::ptr::null());
    }

    fn cmd_bind_vertex_buffers2(
        buffer: vk::CommandBuffer,
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const u64,
        sizes: *const u64,
        strides: *const u64,
    ) {
        bind_vertex_buffers(buffer, first, count, buffers, offsets, sizes, strides);
    }

    fn cmd_set_viewport(buffer: vk::CommandBuffer, first: u32, count: u32, viewports: *const vk::Viewport) {
        set(buffer, DynamicState::Viewport(ListChange::From(first, slice(viewports, count).iter().map(decode::viewport).collect())));
    }

    fn cmd_set_scissor(buffer: vk::CommandBuffer, first: u32, count: u32, scissors: *const vk::Rect2D) {
        set(buffer, DynamicState::Scissor(ListChange::From(first, slice(scissors, count).iter().map(decode::scissor).collect())));
    }

    fn cmd_set_viewport_with_count(buffer: vk::CommandBuffer, count: u32, viewports: *const vk::Viewport) {
        set(buffer, DynamicState::Viewport(ListChange::All(slice(viewports, count).iter().map(decode::viewport).collect())));
    }

    fn cmd_set_scissor_with_count(buffer: vk::CommandBuffer, count: u32, scissors: *const vk::Rect2D) {
        set(buffer, DynamicState::Scissor(ListChange::All(slice(scissors, count).iter().map(decode::scissor).collect())));
    }

    fn cmd_set_line_width(buffer: vk::CommandBuffer, width: f32) {
        set(buffer, DynamicState::LineWidth(width));
    }

    fn cmd_set_depth_bias(buffer: vk::CommandBuffer, constant: f32, clamp: f32, slope: f32) {
        set(buffer, DynamicState::DepthBias(depth_bias([constant, clamp, slope], None)));
    }

    fn cmd_set_depth_bias2(buffer: vk::CommandBuffer, info: *const vk::DepthBiasInfoEXT<'_>) {
        let info = &*info;
        let factors = [info.depth_bias_constant_factor, info.depth_bias_clamp, info.depth_bias_slope_factor];
        let representation = find::<vk::DepthBiasRepresentationInfoEXT<'_>>(info.p_next);
        set(buffer, DynamicState::DepthBias(depth_bias(factors, representation)));
    }

    fn cmd_set_blend_constants(buffer: vk::CommandBuffer, constants: *const [f32; 4]) {
        set(buffer, DynamicState::BlendConstants(*constants));
    }

    fn cmd_set_depth_bounds(buffer: vk::CommandBuffer, min: f32, max: f32) {
        set(buffer, DynamicState::DepthBounds([min, max]));
    }

    fn cmd_set_stencil_compare_mask(buffer: vk::CommandBuffer, faces: vk::StencilFaceFlags, mask: u32) {
        set(buffer, DynamicState::StencilCompareMask(Faces { faces, value: mask }));
    }

    fn cmd_set_stencil_write_mask(buffer: vk::CommandBuffer, faces: vk::StencilFaceFlags, mask: u32) {
        set(buffer, DynamicState::StencilWriteMask(Faces { faces, value: mask }));
    }

    fn cmd_set_stencil_reference(buffer: vk::CommandBuffer, faces: vk::StencilFaceFlags, reference: u32) {
        set(buffer, DynamicState::StencilReference(Faces { faces, value: reference }));
    }

    fn cmd_set_cull_mode(buffer: vk::CommandBuffer, mode: vk::CullModeFlags) {
        set(buffer, DynamicState::CullMode(mode.as_raw()));
    }

    fn cmd_set_front_face(buffer: vk::CommandBuffer, face: vk::FrontFace) {
        set(buffer, DynamicState::FrontFace(face == vk::FrontFace::CLOCKWISE));
    }

    fn cmd_set_primitive_topology(buffer: vk::CommandBuffer, value: vk::PrimitiveTopology) {
        set_translated(buffer, decode::topology(value), DynamicState::PrimitiveTopology);
    }

    fn cmd_set_depth_test_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::DepthTestEnable(enable != 0));
    }

    fn cmd_set_depth_write_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::DepthWriteEnable(enable != 0));
    }

    fn cmd_set_depth_compare_op(buffer: vk::CommandBuffer, op: vk::CompareOp) {
        set_translated(buffer, decode::compare_op(op), DynamicState::DepthCompareOp);
    }

    fn cmd_set_depth_bounds_test_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::DepthBoundsTestEnable(enable != 0));
    }

    fn cmd_set_stencil_test_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::StencilTestEnable(enable != 0));
    }

    fn cmd_set_stencil_op(
        buffer: vk::CommandBuffer,
        faces: vk::StencilFaceFlags,
        fail: vk::StencilOp,
        pass: vk::StencilOp,
        depth_fail: vk::StencilOp,
        compare: vk::CompareOp,
    ) {
        let (fail_op, pass_op, depth_fail_op, compare_op) = (fail, pass, depth_fail, compare);
        let face = vk::StencilOpState { fail_op, pass_op, depth_fail_op, compare_op, ..Default::default() };
        set_translated(buffer, decode::stencil_ops(&face), |value| DynamicState::StencilOp(Faces { faces, value }));
    }

    fn cmd_set_rasterizer_discard_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::RasterizerDiscardEnable(enable != 0));
    }

    fn cmd_set_depth_bias_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::DepthBiasEnable(enable != 0));
    }

    fn cmd_set_primitive_restart_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::PrimitiveRestartEnable(enable != 0));
    }

    fn cmd_set_logic_op(buffer: vk::CommandBuffer, op: vk::LogicOp) {
        set_translated(buffer, decode::logic_op(op), DynamicState::LogicOp);
    }

    fn cmd_set_line_stipple(buffer: vk::CommandBuffer, factor: u32, pattern: u16) {
        set(buffer, DynamicState::LineStipple(decode::stipple(factor, pattern)));
    }

    fn cmd_set_patch_control_points(buffer: vk::CommandBuffer, points: u32) {
        set(buffer, DynamicState::PatchControlPoints(points));
    }
}
