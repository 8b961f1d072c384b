//! Recording of the dynamic state of VK_EXT_extended_dynamic_state3 and of other extensions with
//! dynamic state.

use super::cmd_state::{INVALID, SHADER_OBJECT, set, set_translated};
use super::recording::{push, record};
use crate::caps::newer;
use crate::command::Command;
use crate::ffi::pointer::slice;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, any, ext, row};
use crate::object::pipeline_state::{Attachments, BindingStride, DynamicState, VertexInput, VertexLayout, decode};
use ash::vk;
use std::sync::Arc;

macro_rules! rows {
    ($extension:literal: $($shim:ident as $ty:ident, $name:ident;)*) => {
        &[$(row!(Device, $shim as vk::$ty, $name: any(&[$extension, SHADER_OBJECT]))),*]
    };
}

/// Rows of VK_EXT_extended_dynamic_state3 in the command table.
#[rustfmt::skip]
pub const STATE3: &[CommandRow] = rows! { "VK_EXT_extended_dynamic_state3":
    cmd_set_depth_clamp_enable as PFN_vkCmdSetDepthClampEnableEXT, vkCmdSetDepthClampEnableEXT;
    cmd_set_depth_clip_enable as PFN_vkCmdSetDepthClipEnableEXT, vkCmdSetDepthClipEnableEXT;
    cmd_set_polygon_mode as PFN_vkCmdSetPolygonModeEXT, vkCmdSetPolygonModeEXT;
    cmd_set_rasterization_samples as PFN_vkCmdSetRasterizationSamplesEXT, vkCmdSetRasterizationSamplesEXT;
    cmd_set_sample_mask as PFN_vkCmdSetSampleMaskEXT, vkCmdSetSampleMaskEXT;
    cmd_set_alpha_to_coverage_enable as PFN_vkCmdSetAlphaToCoverageEnableEXT, vkCmdSetAlphaToCoverageEnableEXT;
    cmd_set_alpha_to_one_enable as PFN_vkCmdSetAlphaToOneEnableEXT, vkCmdSetAlphaToOneEnableEXT;
    cmd_set_logic_op_enable as PFN_vkCmdSetLogicOpEnableEXT, vkCmdSetLogicOpEnableEXT;
    cmd_set_color_blend_enable as PFN_vkCmdSetColorBlendEnableEXT, vkCmdSetColorBlendEnableEXT;
    cmd_set_color_blend_equation as PFN_vkCmdSetColorBlendEquationEXT, vkCmdSetColorBlendEquationEXT;
    cmd_set_color_blend_advanced as PFN_vkCmdSetColorBlendAdvancedEXT, vkCmdSetColorBlendAdvancedEXT;
    cmd_set_color_write_mask as PFN_vkCmdSetColorWriteMaskEXT, vkCmdSetColorWriteMaskEXT;
    cmd_set_line_rasterization_mode as PFN_vkCmdSetLineRasterizationModeEXT, vkCmdSetLineRasterizationModeEXT;
    cmd_set_line_stipple_enable as PFN_vkCmdSetLineStippleEnableEXT, vkCmdSetLineStippleEnableEXT;
    cmd_set_depth_clip_negative_one_to_one as PFN_vkCmdSetDepthClipNegativeOneToOneEXT, vkCmdSetDepthClipNegativeOneToOneEXT;
    cmd_set_provoking_vertex_mode as PFN_vkCmdSetProvokingVertexModeEXT, vkCmdSetProvokingVertexModeEXT;
    cmd_set_conservative_rasterization_mode as PFN_vkCmdSetConservativeRasterizationModeEXT, vkCmdSetConservativeRasterizationModeEXT;
    cmd_set_extra_primitive_overestimation_size as PFN_vkCmdSetExtraPrimitiveOverestimationSizeEXT, vkCmdSetExtraPrimitiveOverestimationSizeEXT;
    cmd_set_rasterization_stream as PFN_vkCmdSetRasterizationStreamEXT, vkCmdSetRasterizationStreamEXT;
    cmd_set_sample_locations_enable as PFN_vkCmdSetSampleLocationsEnableEXT, vkCmdSetSampleLocationsEnableEXT;
    cmd_set_tessellation_domain_origin as PFN_vkCmdSetTessellationDomainOriginEXT, vkCmdSetTessellationDomainOriginEXT;
};

/// Rows of the other extensions.
pub const COMMANDS: &[CommandRow] = &[
    row!(
        Device,
        cmd_set_vertex_input as vk::PFN_vkCmdSetVertexInputEXT,
        vkCmdSetVertexInputEXT: any(&["VK_EXT_vertex_input_dynamic_state", SHADER_OBJECT])
    ),
    row!(
        Device,
        cmd_set_color_write_enable as vk::PFN_vkCmdSetColorWriteEnableEXT,
        vkCmdSetColorWriteEnableEXT: ext("VK_EXT_color_write_enable")
    ),
    row!(
        Device,
        cmd_set_sample_locations as vk::PFN_vkCmdSetSampleLocationsEXT,
        vkCmdSetSampleLocationsEXT: ext("VK_EXT_sample_locations")
    ),
    row!(
        Device,
        cmd_set_fragment_shading_rate as vk::PFN_vkCmdSetFragmentShadingRateKHR,
        vkCmdSetFragmentShadingRateKHR: ext("VK_KHR_fragment_shading_rate")
    ),
    row!(
        Device,
        cmd_set_primitive_restart_index as newer::PFN_vkCmdSetPrimitiveRestartIndexEXT,
        vkCmdSetPrimitiveRestartIndexEXT: ext("VK_EXT_primitive_restart_index")
    ),
    row!(
        Device,
        cmd_set_attachment_feedback_loop_enable as vk::PFN_vkCmdSetAttachmentFeedbackLoopEnableEXT,
        vkCmdSetAttachmentFeedbackLoopEnableEXT: ext("VK_EXT_attachment_feedback_loop_dynamic_state")
    ),
];

/// Returns values of the attachments from `first` on.
fn attachments<A, T>(first: u32, all: &[A], one: impl Fn(&A) -> T) -> Attachments<T> {
    Attachments { first, values: all.iter().map(one).collect() }
}

/// Converts bindings and attributes to the form that a pipeline has.
fn vertex_layout(
    bindings: &[vk::VertexInputBindingDescription2EXT<'_>],
    attributes: &[vk::VertexInputAttributeDescription2EXT<'_>],
) -> Result<VertexLayout, String> {
    let binding = |b: &vk::VertexInputBindingDescription2EXT<'_>| vk::VertexInputBindingDescription {
        binding: b.binding,
        stride: b.stride,
        input_rate: b.input_rate,
    };
    let divisor = |b: &vk::VertexInputBindingDescription2EXT<'_>| vk::VertexInputBindingDivisorDescriptionKHR {
        binding: b.binding,
        divisor: b.divisor,
    };
    let attribute = |a: &vk::VertexInputAttributeDescription2EXT<'_>| vk::VertexInputAttributeDescription {
        location: a.location,
        binding: a.binding,
        format: a.format,
        offset: a.offset,
    };
    let divisors: Vec<_> = bindings.iter().map(divisor).collect();
    let bindings: Vec<_> = bindings.iter().map(binding).collect();
    let attributes: Vec<_> = attributes.iter().map(attribute).collect();
    let input = VertexInput { bindings: &bindings, attributes: &attributes, divisors: &divisors };
    Ok(VertexLayout { bindings: decode::bindings(&input)?, attributes: decode::attributes(&input)? })
}

shims! {
    fn cmd_set_vertex_input(
        buffer: vk::CommandBuffer,
        binding_count: u32,
        bindings: *const vk::VertexInputBindingDescription2EXT<'_>,
        attribute_count: u32,
        attributes: *const vk::VertexInputAttributeDescription2EXT<'_>,
    ) {
        let bindings = slice(bindings, binding_count);
        let layout = vertex_layout(bindings, slice(attributes, attribute_count));
        record(buffer, |recorder| {
            let Ok(layout) = layout else { return recorder.fail(INVALID) };
            recorder.push(Command::SetDynamicState(DynamicState::VertexInput(Arc::new(layout))));
            for b in bindings {
                let stride = BindingStride { binding: b.binding, stride: b.stride };
                recorder.push(Command::SetDynamicState(DynamicState::VertexInputBindingStride(stride)));
            }
        });
    }

    fn cmd_set_fragment_shading_rate(
        buffer: vk::CommandBuffer,
        size: *const vk::Extent2D,
        combiners: *const [vk::FragmentShadingRateCombinerOpKHR; 2],
    ) {
        set_translated(buffer, decode::shading_rate(*size, *combiners), DynamicState::FragmentShadingRate);
    }

    fn cmd_set_primitive_restart_index(buffer: vk::CommandBuffer, index: u32) {
        push(buffer, Command::SetPrimitiveRestartIndex(index));
    }

    fn cmd_set_attachment_feedback_loop_enable(buffer: vk::CommandBuffer, aspects: vk::ImageAspectFlags) {
        set(buffer, DynamicState::AttachmentFeedbackLoopEnable(decode::loops(aspects)));
    }

    fn cmd_set_color_write_enable(buffer: vk::CommandBuffer, count: u32, enables: *const vk::Bool32) {
        set(buffer, DynamicState::ColorWriteEnable(attachments(0, slice(enables, count), |enable| *enable != 0)));
    }

    fn cmd_set_depth_clamp_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::DepthClampEnable(enable != 0));
    }

    fn cmd_set_depth_clip_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::DepthClipEnable(Some(enable != 0)));
    }

    fn cmd_set_polygon_mode(buffer: vk::CommandBuffer, mode: vk::PolygonMode) {
        set_translated(buffer, decode::polygon_mode(mode), DynamicState::PolygonMode);
    }

    fn cmd_set_rasterization_samples(buffer: vk::CommandBuffer, samples: vk::SampleCountFlags) {
        set(buffer, DynamicState::RasterizationSamples(samples.as_raw()));
    }

    fn cmd_set_sample_mask(buffer: vk::CommandBuffer, _samples: vk::SampleCountFlags, mask: *const vk::SampleMask) {
        // Without a mask, all samples are written.
        set(buffer, DynamicState::SampleMask(mask.as_ref().copied().unwrap_or(!0)));
    }

    fn cmd_set_sample_locations_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::SampleLocationsEnable(enable != 0));
    }

    fn cmd_set_sample_locations(buffer: vk::CommandBuffer, info: *const vk::SampleLocationsInfoEXT<'_>) {
        let locations = slice((*info).p_sample_locations, (*info).sample_locations_count);
        set(buffer, DynamicState::SampleLocations(decode::sample_locations(locations)));
    }

    fn cmd_set_alpha_to_coverage_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::AlphaToCoverageEnable(enable != 0));
    }

    fn cmd_set_alpha_to_one_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::AlphaToOneEnable(enable != 0));
    }

    fn cmd_set_logic_op_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::LogicOpEnable(enable != 0));
    }

    fn cmd_set_color_blend_enable(buffer: vk::CommandBuffer, first: u32, count: u32, enables: *const vk::Bool32) {
        set(buffer, DynamicState::ColorBlendEnable(attachments(first, slice(enables, count), |enable| *enable != 0)));
    }

    fn cmd_set_color_blend_equation(
        buffer: vk::CommandBuffer,
        first: u32,
        count: u32,
        equations: *const vk::ColorBlendEquationEXT,
    ) {
        let values: Result<_, _> = slice(equations, count).iter().map(decode::equations).collect();
        set_translated(buffer, values, |values| DynamicState::ColorBlendEquation(Attachments { first, values }));
    }

    fn cmd_set_color_blend_advanced(
        buffer: vk::CommandBuffer,
        first: u32,
        count: u32,
        advanced: *const vk::ColorBlendAdvancedEXT,
    ) {
        // The one of this and the equation that is set last defines blending.
        for (first, advanced) in (first..).zip(slice(advanced, count)) {
            if let Some(value) = decode::advanced(advanced).transpose() {
                set_translated(buffer, value, |value| {
                    DynamicState::ColorBlendEquation(Attachments { first, values: [value].into_iter().collect() })
                });
            }
        }
    }

    fn cmd_set_color_write_mask(
        buffer: vk::CommandBuffer,
        first: u32,
        count: u32,
        masks: *const vk::ColorComponentFlags,
    ) {
        set(buffer, DynamicState::ColorWriteMask(attachments(first, slice(masks, count), |mask| mask.as_raw() as u8)));
    }

    fn cmd_set_line_rasterization_mode(buffer: vk::CommandBuffer, mode: vk::LineRasterizationModeEXT) {
        set_translated(buffer, decode::line_mode(mode), DynamicState::LineRasterizationMode);
    }

    fn cmd_set_line_stipple_enable(buffer: vk::CommandBuffer, enable: vk::Bool32) {
        set(buffer, DynamicState::LineStippleEnable(enable != 0));
    }

    fn cmd_set_depth_clip_negative_one_to_one(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set(buffer, DynamicState::DepthClipNegativeOneToOne(on != 0));
    }

    fn cmd_set_provoking_vertex_mode(buffer: vk::CommandBuffer, mode: vk::ProvokingVertexModeEXT) {
        set(buffer, DynamicState::ProvokingVertexMode(mode == vk::ProvokingVertexModeEXT::LAST_VERTEX));
    }

    fn cmd_set_conservative_rasterization_mode(buffer: vk::CommandBuffer, mode: vk::ConservativeRasterizationModeEXT) {
        set_translated(buffer, decode::conservative_mode(mode), DynamicState::ConservativeRasterizationMode);
    }

    fn cmd_set_extra_primitive_overestimation_size(buffer: vk::CommandBuffer, size: f32) {
        set(buffer, DynamicState::ExtraPrimitiveOverestimationSize(size));
    }

    fn cmd_set_rasterization_stream(buffer: vk::CommandBuffer, stream: u32) {
        set_translated(buffer, decode::rasterization_stream(stream), DynamicState::RasterizationStream);
    }

    fn cmd_set_tessellation_domain_origin(buffer: vk::CommandBuffer, origin: vk::TessellationDomainOrigin) {
        let lower_left = origin == vk::TessellationDomainOrigin::LOWER_LEFT;
        set(buffer, DynamicState::TessellationDomainOrigin(lower_left));
    }
}
