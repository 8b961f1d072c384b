//! The fixed-function state of `VkGraphicsPipelineCreateInfo`, and Vulkan's enumerations in the rasterizer's terms.

use crate::ffi::pointer::{find, slice};
use crate::object::pipeline_state::{Bit, Dynamic, GraphicsState};
use ash::vk;
use base::format::Format;
use rasterizer::api::{
    BlendFactor, BlendOp, CompareOp, LineMode, MAX_VIEWPORTS, PolygonMode, StencilOp, Stipple, Topology,
    VertexAttribute, VertexBinding, Viewport,
};

/// Translates the state of a create info; `Err` says what is not supported.
///
/// # Safety
/// `info` is valid with its chains.
pub unsafe fn translate(info: &vk::GraphicsPipelineCreateInfo<'_>) -> Result<GraphicsState, String> {
    // SAFETY: (all here) the caller's promise.
    let dynamic = match unsafe { info.p_dynamic_state.as_ref() } {
        // SAFETY: as above.
        Some(d) => Dynamic::new(unsafe { slice(d.p_dynamic_states, d.dynamic_state_count) })?,
        None => Dynamic::default(),
    };
    let mut state = GraphicsState::new(dynamic);
    // SAFETY: as above.
    unsafe {
        if let Some(v) = info.p_vertex_input_state.as_ref() {
            vertex_input(v, &mut state)?;
        }
        if let Some(a) = info.p_input_assembly_state.as_ref() {
            state.values.topology = lookup(&TOPOLOGIES, a.topology.as_raw(), "topology")?;
            state.values.primitive_restart = a.primitive_restart_enable != 0;
        }
        let r = info.p_rasterization_state.as_ref().ok_or("no rasterization state")?;
        rasterization(r, &mut state)?;
        // The pointers below may dangle when rasterization is discarded.
        if !state.discards() {
            info.p_viewport_state.as_ref().into_iter().for_each(|v| viewport(v, &mut state));
            info.p_multisample_state.as_ref().into_iter().for_each(|m| multisample(m, &mut state));
            info.p_depth_stencil_state.as_ref().map_or(Ok(()), |d| depth_stencil(d, &mut state))?;
            info.p_color_blend_state.as_ref().map_or(Ok(()), |b| color_blend(b, &mut state))?;
        }
    }
    Ok(state)
}

unsafe fn vertex_input(
    v: &vk::PipelineVertexInputStateCreateInfo<'_>,
    state: &mut GraphicsState,
) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let (bindings, attributes, divisors) = unsafe {
        let divisor = find::<vk::PipelineVertexInputDivisorStateCreateInfoKHR<'_>>(v.p_next);
        (
            slice(v.p_vertex_binding_descriptions, v.vertex_binding_description_count),
            slice(v.p_vertex_attribute_descriptions, v.vertex_attribute_description_count),
            divisor.map_or(&[][..], |d| slice(d.p_vertex_binding_divisors, d.vertex_binding_divisor_count)),
        )
    };
    for b in bindings {
        let divisor = divisors.iter().find(|d| d.binding == b.binding).map_or(1, |d| d.divisor);
        let per_instance = b.input_rate == vk::VertexInputRate::INSTANCE;
        state.fixed.bindings.push(VertexBinding { binding: b.binding, stride: b.stride, per_instance, divisor });
        match state.values.strides.get_mut(b.binding as usize) {
            Some(stride) => *stride = b.stride,
            None => return Err(format!("vertex binding {} is beyond the limit", b.binding)),
        }
    }
    for a in attributes {
        let format = Format::from_vk(a.format.as_raw() as u32)
            .ok_or_else(|| format!("vertex format {:?} is not supported", a.format))?;
        state.fixed.attributes.push(VertexAttribute {
            location: a.location,
            binding: a.binding,
            format,
            offset: a.offset,
        });
    }
    Ok(())
}

unsafe fn rasterization(
    r: &vk::PipelineRasterizationStateCreateInfo<'_>,
    state: &mut GraphicsState,
) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let clip = unsafe { find::<vk::PipelineRasterizationDepthClipStateCreateInfoEXT<'_>>(r.p_next) };
    state.fixed.depth_clamp = r.depth_clamp_enable != 0;
    state.fixed.depth_clip = clip.map_or(r.depth_clamp_enable == 0, |c| c.depth_clip_enable != 0);
    state.fixed.polygon_mode =
        lookup(&[PolygonMode::Fill, PolygonMode::Line, PolygonMode::Point], r.polygon_mode.as_raw(), "polygon mode")?;
    state.values.rasterizer_discard = r.rasterizer_discard_enable != 0;
    state.values.cull_mode = r.cull_mode.as_raw();
    state.values.front_clockwise = r.front_face == vk::FrontFace::CLOCKWISE;
    state.values.depth_bias_enable = r.depth_bias_enable != 0;
    state.values.depth_bias = [r.depth_bias_constant_factor, r.depth_bias_clamp, r.depth_bias_slope_factor];
    state.values.line_width = r.line_width;
    // SAFETY: the caller's promise.
    if let Some(line) = unsafe { find::<vk::PipelineRasterizationLineStateCreateInfoKHR<'_>>(r.p_next) } {
        state.fixed.line_mode = lookup(&LINE_MODES, line.line_rasterization_mode.as_raw(), "line rasterization mode")?;
        state.values.line_stipple = stipple_of(line.line_stipple_factor, line.line_stipple_pattern);
        state.fixed.line_stipple = (line.stippled_line_enable != 0).then_some(state.values.line_stipple);
    }
    Ok(())
}

unsafe fn viewport(v: &vk::PipelineViewportStateCreateInfo<'_>, state: &mut GraphicsState) {
    let count = |n: u32| n.min(MAX_VIEWPORTS as u32);
    // SAFETY: the caller's promise; ignored pointers of dynamic state are not read.
    unsafe {
        if !state.dynamic.has(Bit::VIEWPORT) {
            state.values.viewports = slice(v.p_viewports, count(v.viewport_count)).iter().map(viewport_of).collect();
        }
        if !state.dynamic.has(Bit::SCISSOR) {
            state.values.scissors = slice(v.p_scissors, count(v.scissor_count)).iter().map(scissor_of).collect();
        }
    }
}

unsafe fn multisample(m: &vk::PipelineMultisampleStateCreateInfo<'_>, state: &mut GraphicsState) {
    // SAFETY: the caller's promise.
    state.fixed.sample_mask = unsafe { m.p_sample_mask.as_ref() }.copied().unwrap_or(!0);
    // With 4 samples a fraction above 1/4 asks for more than one; the driver then shades all of them.
    state.samples = m.rasterization_samples.as_raw();
    let samples = state.samples as f32;
    state.fixed.sample_shading = m.sample_shading_enable != 0 && m.min_sample_shading * samples > 1.0;
    state.fixed.alpha_to_coverage = m.alpha_to_coverage_enable != 0;
    state.fixed.alpha_to_one = m.alpha_to_one_enable != 0;
}

unsafe fn depth_stencil(
    d: &vk::PipelineDepthStencilStateCreateInfo<'_>,
    state: &mut GraphicsState,
) -> Result<(), String> {
    let v = &mut state.values;
    v.depth_test = d.depth_test_enable != 0;
    v.depth_write = d.depth_write_enable != 0;
    v.depth_compare = compare_op(d.depth_compare_op)?;
    v.depth_bounds_test = d.depth_bounds_test_enable != 0;
    v.depth_bounds = [d.min_depth_bounds, d.max_depth_bounds];
    v.stencil_test = d.stencil_test_enable != 0;
    for (i, face) in [d.front, d.back].into_iter().enumerate() {
        v.stencil_ops[i] = (
            stencil_op(face.fail_op)?,
            stencil_op(face.pass_op)?,
            stencil_op(face.depth_fail_op)?,
            compare_op(face.compare_op)?,
        );
        v.stencil_compare_mask[i] = face.compare_mask;
        v.stencil_write_mask[i] = face.write_mask;
        v.stencil_reference[i] = face.reference;
    }
    Ok(())
}

unsafe fn color_blend(b: &vk::PipelineColorBlendStateCreateInfo<'_>, state: &mut GraphicsState) -> Result<(), String> {
    state.values.logic_op = b.logic_op.as_raw() as u32;
    state.fixed.logic_op = (b.logic_op_enable != 0).then_some(state.values.logic_op);
    state.values.blend_constants = b.blend_constants;
    // SAFETY: the caller's promise.
    let attachments = unsafe { slice(b.p_attachments, b.attachment_count) };
    for (to, from) in state.fixed.blend.iter_mut().zip(attachments) {
        to.write_mask = from.color_write_mask.as_raw() as u8;
        to.enable = from.blend_enable != 0;
        if to.enable {
            let factor = |f: vk::BlendFactor| lookup(&BLEND_FACTORS, f.as_raw(), "blend factor");
            let op = |o: vk::BlendOp| lookup(&BLEND_OPS, o.as_raw(), "blend operation");
            to.color =
                (factor(from.src_color_blend_factor)?, factor(from.dst_color_blend_factor)?, op(from.color_blend_op)?);
            to.alpha =
                (factor(from.src_alpha_blend_factor)?, factor(from.dst_alpha_blend_factor)?, op(from.alpha_blend_op)?);
        }
    }
    Ok(())
}

/// A `VkViewport`.
pub fn viewport_of(v: &vk::Viewport) -> Viewport {
    Viewport { x: v.x, y: v.y, width: v.width, height: v.height, min_depth: v.min_depth, max_depth: v.max_depth }
}

/// A `VkRect2D` cut to the range of `i32`.
pub fn scissor_of(r: &vk::Rect2D) -> [i32; 4] {
    let size = |extent: u32, offset: i32| extent.min((i32::MAX - offset.max(0)) as u32) as i32;
    [r.offset.x, r.offset.y, size(r.extent.width, r.offset.x), size(r.extent.height, r.offset.y)]
}

/// A line stipple; factors out of range are cut to it (they are ignored where no line is stippled).
pub fn stipple_of(factor: u32, pattern: u16) -> Stipple {
    Stipple { factor: factor.clamp(1, 256), pattern }
}

/// A `VkCompareOp`.
pub fn compare_op(op: vk::CompareOp) -> Result<CompareOp, String> {
    lookup(&CompareOp::ALL, op.as_raw(), "compare operation")
}
/// A `VkStencilOp`.
pub fn stencil_op(op: vk::StencilOp) -> Result<StencilOp, String> {
    lookup(&STENCIL_OPS, op.as_raw(), "stencil operation")
}
/// A `VkPrimitiveTopology`.
pub fn topology(topology: vk::PrimitiveTopology) -> Result<Topology, String> {
    lookup(&TOPOLOGIES, topology.as_raw(), "topology")
}

fn lookup<T: Copy>(table: &[T], value: i32, what: &str) -> Result<T, String> {
    let entry = usize::try_from(value).ok().and_then(|i| table.get(i));
    entry.copied().ok_or_else(|| format!("{what} {value} is not supported"))
}

/// Tables in the order of Vulkan's numbers, which the rasterizer's enums keep.
const TOPOLOGIES: [Topology; 10] = [
    Topology::PointList,
    Topology::LineList,
    Topology::LineStrip,
    Topology::TriangleList,
    Topology::TriangleStrip,
    Topology::TriangleFan,
    Topology::LineListWithAdjacency,
    Topology::LineStripWithAdjacency,
    Topology::TriangleListWithAdjacency,
    Topology::TriangleStripWithAdjacency,
];
/// The default mode is rectangular: `strictLines`.
const LINE_MODES: [LineMode; 4] = [LineMode::Rectangular, LineMode::Rectangular, LineMode::Bresenham, LineMode::Smooth];
const STENCIL_OPS: [StencilOp; 8] = [
    StencilOp::Keep,
    StencilOp::Zero,
    StencilOp::Replace,
    StencilOp::IncrementAndClamp,
    StencilOp::DecrementAndClamp,
    StencilOp::Invert,
    StencilOp::IncrementAndWrap,
    StencilOp::DecrementAndWrap,
];
const BLEND_OPS: [BlendOp; 5] = [BlendOp::Add, BlendOp::Subtract, BlendOp::ReverseSubtract, BlendOp::Min, BlendOp::Max];
const BLEND_FACTORS: [BlendFactor; 19] = [
    BlendFactor::Zero,
    BlendFactor::One,
    BlendFactor::SrcColor,
    BlendFactor::OneMinusSrcColor,
    BlendFactor::DstColor,
    BlendFactor::OneMinusDstColor,
    BlendFactor::SrcAlpha,
    BlendFactor::OneMinusSrcAlpha,
    BlendFactor::DstAlpha,
    BlendFactor::OneMinusDstAlpha,
    BlendFactor::ConstantColor,
    BlendFactor::OneMinusConstantColor,
    BlendFactor::ConstantAlpha,
    BlendFactor::OneMinusConstantAlpha,
    BlendFactor::SrcAlphaSaturate,
    BlendFactor::Src1Color,
    BlendFactor::OneMinusSrc1Color,
    BlendFactor::Src1Alpha,
    BlendFactor::OneMinusSrc1Alpha,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_keep_vulkan_numbers() {
        assert!(TOPOLOGIES.iter().enumerate().all(|(i, t)| *t as usize == i));
        assert!(CompareOp::ALL.iter().enumerate().all(|(i, t)| *t as usize == i));
        assert!(STENCIL_OPS.iter().enumerate().all(|(i, t)| *t as usize == i));
        assert!(BLEND_OPS.iter().enumerate().all(|(i, t)| *t as usize == i));
        assert!(BLEND_FACTORS.iter().enumerate().all(|(i, t)| *t as usize == i));
    }

    #[test]
    fn scissors_do_not_overflow() {
        let rect =
            vk::Rect2D { offset: vk::Offset2D { x: 5, y: 0 }, extent: vk::Extent2D { width: u32::MAX, height: 7 } };
        assert_eq!(scissor_of(&rect), [5, 0, i32::MAX - 5, 7]);
    }
}
