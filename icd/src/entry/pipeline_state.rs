//! The fixed-function state of `VkGraphicsPipelineCreateInfo`: the structures that are present and
//! not ignored.

use crate::ffi::pointer::{find, slice};
use crate::object::graphics_part::PreRasterization;
use crate::object::pipeline_state::{
    BlendAttachments, CreateInfo, GraphicsState, RenderingFormats, StateMask, StateRow, SubsetFlags, VertexInput,
    ViewportState, decode as values,
};
use ash::vk::{self, Handle};
use base::limits::MAX_VIEWPORTS;
use base::pixel::SampleLocations;
use core::ffi::c_void;
use rasterizer::api::{AttachmentLoops, DepthBias, DepthBiasUnit};

/// Returns the rows that a create info makes dynamic; the error says what is not supported.
///
/// # Safety
/// `info` is valid.
pub unsafe fn dynamic_rows(info: &vk::GraphicsPipelineCreateInfo<'_>) -> Result<StateMask, String> {
    // SAFETY: `info` is valid, as the `# Safety` section demands.
    match unsafe { info.p_dynamic_state.as_ref() } {
        // SAFETY: the structure is valid, so that its list has this many states.
        Some(d) => StateMask::dynamic(unsafe { slice(d.p_dynamic_states, d.dynamic_state_count) }),
        None => Ok(StateMask::default()),
    }
}

/// Returns the properties of pre-rasterization state on which it depends what is ignored.
///
/// # Safety
/// `info` is valid and has pre-rasterization state.
pub unsafe fn pre_rasterization(info: &vk::GraphicsPipelineCreateInfo<'_>, dynamic: StateMask) -> PreRasterization {
    // SAFETY: `info` is valid, and this state is not ignored, as the `# Safety` section demands.
    let (stages, state) = unsafe { (slice(info.p_stages, info.stage_count), info.p_rasterization_state.as_ref()) };
    PreRasterization {
        meshes: stages.iter().any(|s| s.stage == vk::ShaderStageFlags::MESH_EXT),
        discards: state.is_some_and(|r| r.rasterizer_discard_enable != 0)
            && !dynamic.has(StateRow::RasterizerDiscardEnable),
    }
}

/// Decodes the state of a create info with these flags; the error says what is not supported.
/// Structures of other subsets are ignored, and their pointers may dangle.
///
/// # Safety
/// `info` is valid with its chains, and has the state of the subsets.
pub unsafe fn decode(
    info: &vk::GraphicsPipelineCreateInfo<'_>,
    flags: vk::PipelineCreateFlags2KHR,
    subsets: SubsetFlags,
    dynamic: StateMask,
) -> Result<GraphicsState, String> {
    let mut structures = CreateInfo::default();
    // SAFETY: `info` is valid with its chains and has the subset, as the `# Safety` section
    // demands.
    unsafe {
        if subsets.contains(SubsetFlags::VERTEX_INPUT_INTERFACE) {
            add_vertex_input(&mut structures, info, dynamic);
        }
        if subsets.contains(SubsetFlags::PRE_RASTERIZATION_SHADERS) {
            add_pre_rasterization(&mut structures, info, dynamic);
        }
        if subsets.contains(SubsetFlags::FRAGMENT_SHADER) {
            structures.depth_stencil = info.p_depth_stencil_state.as_ref();
        }
        if subsets.contains(SubsetFlags::FRAGMENT_OUTPUT_INTERFACE) {
            add_fragment_output(&mut structures, info, flags, dynamic);
        }
    }
    GraphicsState::new(&structures, subsets, dynamic)
}

/// Adds the structures of vertex input state.
///
/// # Safety
/// `info` is valid with its chains, and has this state.
unsafe fn add_vertex_input<'a>(
    structures: &mut CreateInfo<'a>,
    info: &vk::GraphicsPipelineCreateInfo<'a>,
    dynamic: StateMask,
) {
    // SAFETY: `info` is valid with its chains, as the `# Safety` section demands; vertex input that
    // is dynamic as a whole is ignored and not read.
    unsafe {
        if !dynamic.has(StateRow::VertexInput) {
            structures.vertex_input = info.p_vertex_input_state.as_ref().map(|v| vertex_input(v));
        }
        structures.input_assembly = info.p_input_assembly_state.as_ref();
    }
}

/// Adds the structures of pre-rasterization shader state.
///
/// # Safety
/// `info` is valid with its chains, and has this state.
unsafe fn add_pre_rasterization<'a>(
    structures: &mut CreateInfo<'a>,
    info: &vk::GraphicsPipelineCreateInfo<'a>,
    dynamic: StateMask,
) {
    // SAFETY: `info` is valid with its chains, as the `# Safety` section demands; ignored pointers
    // are not read.
    unsafe {
        let r = info.p_rasterization_state.as_ref();
        // Without tessellation stages this state is ignored.
        let stages = slice(info.p_stages, info.stage_count);
        let tessellates = stages.iter().any(|s| s.stage == vk::ShaderStageFlags::TESSELLATION_CONTROL);
        let tessellation = if tessellates { info.p_tessellation_state.as_ref() } else { None };
        structures.tessellation = tessellation;
        structures.lower_left = tessellation
            .and_then(|t| find::<vk::PipelineTessellationDomainOriginStateCreateInfo<'_>>(t.p_next))
            .map(|origin| origin.domain_origin == vk::TessellationDomainOrigin::LOWER_LEFT);
        let chain = r.map_or(std::ptr::null(), |r| r.p_next);
        structures.rasterization = r;
        structures.depth_bias = r.map(|r| {
            let factors = [r.depth_bias_constant_factor, r.depth_bias_clamp, r.depth_bias_slope_factor];
            depth_bias(factors, find::<vk::DepthBiasRepresentationInfoEXT<'_>>(chain))
        });
        structures.depth_clip =
            find::<vk::PipelineRasterizationDepthClipStateCreateInfoEXT<'_>>(chain).map(|c| c.depth_clip_enable != 0);
        structures.provoking_last = find::<vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT<'_>>(chain)
            .map(|p| p.provoking_vertex_mode == vk::ProvokingVertexModeEXT::LAST_VERTEX);
        structures.shading_rate = find::<vk::PipelineFragmentShadingRateStateCreateInfoKHR<'_>>(info.p_next);
        structures.conservative = find::<vk::PipelineRasterizationConservativeStateCreateInfoEXT<'_>>(chain);
        structures.rasterization_stream =
            find::<vk::PipelineRasterizationStateStreamCreateInfoEXT<'_>>(chain).map(|s| s.rasterization_stream);
        structures.line = find::<vk::PipelineRasterizationLineStateCreateInfoKHR<'_>>(chain);
        // Viewports are ignored if rasterization is discarded.
        let viewports = match pre_rasterization(info, dynamic).discards {
            true => None,
            false => info.p_viewport_state.as_ref(),
        };
        structures.viewport = viewports.map(|v| viewport(v, dynamic));
        structures.negative_one_to_one = viewports
            .and_then(|v| find::<vk::PipelineViewportDepthClipControlCreateInfoEXT<'_>>(v.p_next))
            .map(|c| c.negative_one_to_one != 0);
    }
}

/// Adds the structures of fragment output state. Multisample state belongs to it and to fragment
/// shader state, where it must be the same.
///
/// # Safety
/// `info` is valid with its chains, and has this state.
unsafe fn add_fragment_output<'a>(
    structures: &mut CreateInfo<'a>,
    info: &vk::GraphicsPipelineCreateInfo<'a>,
    flags: vk::PipelineCreateFlags2KHR,
    dynamic: StateMask,
) {
    // SAFETY: `info` is valid with its chains, as the `# Safety` section demands.
    unsafe {
        let blend = info.p_color_blend_state.as_ref();
        let multisample = info.p_multisample_state.as_ref();
        structures.multisample = multisample;
        structures.sample_mask = multisample.and_then(|m| m.p_sample_mask.as_ref()).copied();
        structures.sample_locations = multisample
            .and_then(|m| find::<vk::PipelineSampleLocationsStateCreateInfoEXT<'_>>(m.p_next))
            .map(|s| sample_locations(s, dynamic));
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
