//! The fixed-function state of `VkGraphicsPipelineCreateInfo`: the structures that are present and
//! not ignored.

use crate::ffi::pointer::{find, slice};
use crate::object::pipeline_state::{
    BlendAttachments, CreateInfo, GraphicsState, RenderingFormats, StateMask, StateRow, VertexInput, ViewportState,
    decode as values,
};
use ash::vk::{self, Handle};
use base::limits::MAX_VIEWPORTS;
use base::pixel::SampleLocations;
use core::ffi::c_void;
use rasterizer::api::{AttachmentLoops, DepthBias, DepthBiasUnit};

/// Decodes the state of a create info with these flags; the error says what is not supported.
///
/// # Safety
/// `info` is valid with its chains.
pub unsafe fn decode(
    info: &vk::GraphicsPipelineCreateInfo<'_>,
    flags: vk::PipelineCreateFlags2KHR,
) -> Result<GraphicsState, String> {
    // SAFETY: `info` is valid, as the `# Safety` section demands.
    let dynamic = match unsafe { info.p_dynamic_state.as_ref() } {
        // SAFETY: the structure is valid, so that its list has this many states.
        Some(d) => StateMask::dynamic(unsafe { slice(d.p_dynamic_states, d.dynamic_state_count) })?,
        None => StateMask::default(),
    };
    // SAFETY: `info` is valid with its chains, as the `# Safety` section demands.
    let info = unsafe { structures(info, flags, dynamic)? };
    GraphicsState::new(&info, dynamic)
}

/// Collects the structures that are present and not ignored.
///
/// # Safety
/// `info` is valid with its chains.
unsafe fn structures<'a>(
    info: &vk::GraphicsPipelineCreateInfo<'a>,
    flags: vk::PipelineCreateFlags2KHR,
    dynamic: StateMask,
) -> Result<CreateInfo<'a>, String> {
    // SAFETY: `info` is valid with its chains, as the `# Safety` section demands; ignored pointers
    // are not read.
    unsafe {
        let r = info.p_rasterization_state.as_ref();
        // Without tessellation stages this state is ignored.
        let stages = slice(info.p_stages, info.stage_count);
        let tessellates = stages.iter().any(|s| s.stage == vk::ShaderStageFlags::TESSELLATION_CONTROL);
        // With a mesh stage there are no vertices to fetch.
        let meshes = stages.iter().any(|s| s.stage == vk::ShaderStageFlags::MESH_EXT);
        let tessellation = if tessellates { info.p_tessellation_state.as_ref() } else { None };
        let chain = r.map_or(std::ptr::null(), |r| r.p_next);
        let discards =
            r.is_some_and(|r| r.rasterizer_discard_enable != 0) && !dynamic.has(StateRow::RasterizerDiscardEnable);
        let mut structures = CreateInfo {
            discards,
            // If all of it is dynamic, all of it is ignored.
            vertex_input: if meshes || dynamic.has(StateRow::VertexInput) {
                None
            } else {
                info.p_vertex_input_state.as_ref().map(|v| vertex_input(v))
            },
            input_assembly: if meshes { None } else { info.p_input_assembly_state.as_ref() },
            tessellation,
            lower_left: tessellation
                .and_then(|t| find::<vk::PipelineTessellationDomainOriginStateCreateInfo<'_>>(t.p_next))
                .map(|origin| origin.domain_origin == vk::TessellationDomainOrigin::LOWER_LEFT),
            rasterization: r,
            depth_bias: r.map(|r| {
                let factors = [r.depth_bias_constant_factor, r.depth_bias_clamp, r.depth_bias_slope_factor];
                depth_bias(factors, find::<vk::DepthBiasRepresentationInfoEXT<'_>>(chain))
            }),
            depth_clip: find::<vk::PipelineRasterizationDepthClipStateCreateInfoEXT<'_>>(chain)
                .map(|c| c.depth_clip_enable != 0),
            provoking_last: find::<vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT<'_>>(chain)
                .map(|p| p.provoking_vertex_mode == vk::ProvokingVertexModeEXT::LAST_VERTEX),
            rasterization_stream: find::<vk::PipelineRasterizationStateStreamCreateInfoEXT<'_>>(chain)
                .map(|s| s.rasterization_stream),
            line: find::<vk::PipelineRasterizationLineStateCreateInfoKHR<'_>>(chain),
            ..CreateInfo::default()
        };
        // The pointers below may dangle if rasterization is discarded.
        if !discards {
            let blend = info.p_color_blend_state.as_ref();
            let multisample = info.p_multisample_state.as_ref();
            let viewports = info.p_viewport_state.as_ref();
            structures.viewport = viewports.map(|v| viewport(v, dynamic));
            structures.negative_one_to_one = viewports
                .and_then(|v| find::<vk::PipelineViewportDepthClipControlCreateInfoEXT<'_>>(v.p_next))
                .map(|c| c.negative_one_to_one != 0);
            structures.multisample = multisample;
            structures.sample_mask = multisample.and_then(|m| m.p_sample_mask.as_ref()).copied();
            structures.sample_locations = multisample
                .and_then(|m| find::<vk::PipelineSampleLocationsStateCreateInfoEXT<'_>>(m.p_next))
                .map(|s| sample_locations(s, dynamic));
            structures.depth_stencil = info.p_depth_stencil_state.as_ref();
            structures.color_blend = blend;
            structures.attachments = blend.map(|b| BlendAttachments {
                list: slice(b.p_attachments, b.attachment_count),
                advanced: find::<vk::PipelineColorBlendAdvancedStateCreateInfoEXT<'_>>(b.p_next),
            });
            if info.render_pass.is_null() {
                structures.rendering = Some(rendering(info.p_next));
                structures.locations = locations(info.p_next);
            }
            let writes = blend.and_then(|b| find::<vk::PipelineColorWriteCreateInfoEXT<'_>>(b.p_next));
            structures.write_enables = writes.map(|w| slice(w.p_color_write_enables, w.attachment_count));
            structures.loops = Some(AttachmentLoops {
                color: flags.contains(vk::PipelineCreateFlags2KHR::COLOR_ATTACHMENT_FEEDBACK_LOOP_EXT),
                depth_stencil: flags.contains(vk::PipelineCreateFlags2KHR::DEPTH_STENCIL_ATTACHMENT_FEEDBACK_LOOP_EXT),
            });
        }
        Ok(structures)
    }
}

/// Returns whether sample locations are enabled, and the locations. These are ignored (and may
/// dangle) if they are dynamic or not enabled.
///
/// # Safety
/// The structure is valid.
unsafe fn sample_locations(
    state: &vk::PipelineSampleLocationsStateCreateInfoEXT<'_>,
    dynamic: StateMask,
) -> (bool, SampleLocations) {
    let enable = state.sample_locations_enable != 0;
    let matters = enable || dynamic.has(StateRow::SampleLocationsEnable);
    let info = &state.sample_locations_info;
    if !matters || dynamic.has(StateRow::SampleLocations) {
        return (enable, values::CENTRES);
    }
    // SAFETY: the structure is valid, and its locations are not ignored.
    let locations = unsafe { slice(info.p_sample_locations, info.sample_locations_count) };
    (enable, values::sample_locations(locations))
}

/// Returns the formats of a `VkPipelineRenderingCreateInfo`.
///
/// # Safety
/// The chain is valid.
unsafe fn rendering<'a>(chain: *const c_void) -> RenderingFormats<'a> {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    unsafe {
        find::<vk::PipelineRenderingCreateInfo<'_>>(chain).map_or(RenderingFormats::default(), |r| RenderingFormats {
            colors: slice(r.p_color_attachment_formats, r.color_attachment_count),
            depth: r.depth_attachment_format,
            stencil: r.stencil_attachment_format,
        })
    }
}

/// Returns the locations of a `VkRenderingAttachmentLocationInfo`, if the chain has some.
///
/// # Safety
/// The chain is valid.
unsafe fn locations<'a>(chain: *const c_void) -> Option<&'a [u32]> {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    unsafe {
        let info = find::<vk::RenderingAttachmentLocationInfoKHR<'_>>(chain)?;
        (!info.p_color_attachment_locations.is_null())
            .then(|| slice(info.p_color_attachment_locations, info.color_attachment_count))
    }
}

/// Returns the vertex input.
///
/// # Safety
/// The structure is valid with its chain.
unsafe fn vertex_input<'a>(v: &vk::PipelineVertexInputStateCreateInfo<'a>) -> VertexInput<'a> {
    // SAFETY: the structure is valid with its chain, as the `# Safety` section demands.
    unsafe {
        let divisor = find::<vk::PipelineVertexInputDivisorStateCreateInfoKHR<'_>>(v.p_next);
        VertexInput {
            bindings: slice(v.p_vertex_binding_descriptions, v.vertex_binding_description_count),
            attributes: slice(v.p_vertex_attribute_descriptions, v.vertex_attribute_description_count),
            divisors: divisor.map_or(&[], |d| slice(d.p_vertex_binding_divisors, d.vertex_binding_divisor_count)),
        }
    }
}

/// Returns the static viewports and scissors.
///
/// # Safety
/// The structure is valid; ignored pointers of dynamic state are not read.
unsafe fn viewport<'a>(v: &vk::PipelineViewportStateCreateInfo<'a>, dynamic: StateMask) -> ViewportState<'a> {
    let count = |row: StateRow, n: u32| if dynamic.has(row) { 0 } else { n.min(MAX_VIEWPORTS as u32) };
    // SAFETY: the structure is valid, as the `# Safety` section demands; lists that are dynamic
    // have a count of 0 and are not read.
    unsafe {
        ViewportState {
            viewports: slice(v.p_viewports, count(StateRow::Viewport, v.viewport_count)),
            scissors: slice(v.p_scissors, count(StateRow::Scissor, v.scissor_count)),
        }
    }
}

/// Returns the depth bias of a constant factor, clamp and slope factor in their representation.
pub fn depth_bias(
    [constant, clamp, slope]: [f32; 3],
    representation: Option<&vk::DepthBiasRepresentationInfoEXT<'_>>,
) -> DepthBias {
    // Units are exact, whether the application requires it or not.
    let unit = match representation.map(|r| r.depth_bias_representation) {
        Some(vk::DepthBiasRepresentationEXT::LEAST_REPRESENTABLE_VALUE_FORCE_UNORM) => DepthBiasUnit::Unorm,
        Some(vk::DepthBiasRepresentationEXT::FLOAT) => DepthBiasUnit::One,
        _ => DepthBiasUnit::Format,
    };
    DepthBias { constant, clamp, slope, unit }
}
