//! Conversion of Vulkan's values to the rasterizer's types; an error says what is not supported.

use super::change::Strides;
use super::create_info::VertexInput;
use ash::vk;
use base::format::Format;
use base::limits::{
    MAX_COLOR_ATTACHMENTS, MAX_EXTRA_OVERESTIMATION, MAX_SAMPLES, MAX_VERTEX_BINDINGS, OVERESTIMATION_GRANULARITY,
    STREAMS, SUBPIXEL_BITS,
};
use base::pixel::{
    AdvancedBlend, AdvancedBlendOp, BlendEquations, BlendFactor, BlendOp, BlendOverlap, Blending, CompareOp,
    IDENTITY_LOCATIONS, Locations, LogicOp, NO_LOCATION, SAMPLE_LOCATION_STEPS, SampleLocations, StencilOp, StencilOps,
};
use rasterizer::api::{
    AttachmentLoops, ConservativeMode, FragmentSize, LineMode, PolygonMode, RateCombiner, ShadingRate, SmallVec4,
    Stipple, Topology, VertexAttribute, VertexBinding, Viewport,
};

fn check_enum<T>(value: Option<T>, what: &str, number: i32) -> Result<T, String> {
    value.ok_or_else(|| format!("{what} {number} is not supported"))
}

/// Converts a `VkPrimitiveTopology`.
pub fn topology(topology: vk::PrimitiveTopology) -> Result<Topology, String> {
    check_enum(Topology::from_vk(topology.as_raw()), "topology", topology.as_raw())
}

/// Converts a `VkPolygonMode`.
pub fn polygon_mode(mode: vk::PolygonMode) -> Result<PolygonMode, String> {
    check_enum(PolygonMode::from_vk(mode.as_raw()), "polygon mode", mode.as_raw())
}

/// Converts a `VkConservativeRasterizationModeEXT`, without growth.
pub fn conservative_mode(mode: vk::ConservativeRasterizationModeEXT) -> Result<ConservativeMode, String> {
    let mode_of = match mode {
        vk::ConservativeRasterizationModeEXT::DISABLED => Some(ConservativeMode::Disabled),
        vk::ConservativeRasterizationModeEXT::OVERESTIMATE => Some(ConservativeMode::Overestimate { extra: 0 }),
        vk::ConservativeRasterizationModeEXT::UNDERESTIMATE => Some(ConservativeMode::Underestimate),
        _ => None,
    };
    check_enum(mode_of, "conservative rasterization mode", mode.as_raw())
}

/// Converts an `extraPrimitiveOverestimationSize` to 1/256 of a pixel: at most
/// [`MAX_EXTRA_OVERESTIMATION`], and a multiple of the granularity, rounded up so that no pixel is
/// lost.
pub fn overestimation(size: f32) -> i32 {
    const STEP: f32 = OVERESTIMATION_GRANULARITY;
    ((size.clamp(0.0, MAX_EXTRA_OVERESTIMATION) / STEP).ceil() * STEP * (1 << SUBPIXEL_BITS) as f32) as i32
}

/// Converts a size of fragments and two combiner operations.
pub fn shading_rate(
    size: vk::Extent2D,
    combiners: [vk::FragmentShadingRateCombinerOpKHR; 2],
) -> Result<ShadingRate, String> {
    let combiner = |op: vk::FragmentShadingRateCombinerOpKHR| {
        check_enum(RateCombiner::from_vk(op.as_raw()), "shading rate combiner operation", op.as_raw())
    };
    let combiners = [combiner(combiners[0])?, combiner(combiners[1])?];
    Ok(ShadingRate { size: FragmentSize::new(size.width, size.height), combiners })
}

/// Converts a `VkCompareOp`.
pub fn compare_op(op: vk::CompareOp) -> Result<CompareOp, String> {
    check_enum(CompareOp::from_vk(op.as_raw()), "compare operation", op.as_raw())
}

/// Converts a `VkLogicOp`.
pub fn logic_op(op: vk::LogicOp) -> Result<LogicOp, String> {
    check_enum(LogicOp::from_vk(op.as_raw()), "logic operation", op.as_raw())
}

/// Checks a `rasterizationStream`, which must be below `maxTransformFeedbackStreams`.
pub fn rasterization_stream(stream: u32) -> Result<u32, String> {
    if stream < STREAMS as u32 { Ok(stream) } else { Err(format!("rasterization stream {stream} of {STREAMS}")) }
}

fn stencil_op(op: vk::StencilOp) -> Result<StencilOp, String> {
    check_enum(StencilOp::from_vk(op.as_raw()), "stencil operation", op.as_raw())
}

/// Converts the operations of a `VkStencilOpState`.
pub fn stencil_ops(face: &vk::StencilOpState) -> Result<StencilOps, String> {
    Ok(StencilOps {
        fail: stencil_op(face.fail_op)?,
        pass: stencil_op(face.pass_op)?,
        depth_fail: stencil_op(face.depth_fail_op)?,
        compare: compare_op(face.compare_op)?,
    })
}

/// Sample locations of a pixel for which none are set: all samples are at the centre.
pub const CENTRES: SampleLocations = [[128; 2]; MAX_SAMPLES];

/// Converts the sample locations of a pixel, which has as many samples as there are locations, to
/// the nearest supported positions inside it.
pub fn sample_locations(locations: &[vk::SampleLocationEXT]) -> SampleLocations {
    let mut all = CENTRES;
    for (to, from) in all.iter_mut().zip(locations) {
        *to = [from.x, from.y].map(|c| {
            let step = (c * SAMPLE_LOCATION_STEPS).round_ties_even().clamp(0.0, SAMPLE_LOCATION_STEPS - 1.0);
            (step * 256.0 / SAMPLE_LOCATION_STEPS) as u8
        });
    }
    all
}

/// Converts a `VkLineRasterizationMode`. The default mode is rectangular: `strictLines`.
pub fn line_mode(mode: vk::LineRasterizationModeKHR) -> Result<LineMode, String> {
    let mode_of = match mode {
        vk::LineRasterizationModeKHR::DEFAULT | vk::LineRasterizationModeKHR::RECTANGULAR => {
            Some(LineMode::Rectangular)
        }
        vk::LineRasterizationModeKHR::BRESENHAM => Some(LineMode::Bresenham),
        vk::LineRasterizationModeKHR::RECTANGULAR_SMOOTH => Some(LineMode::Smooth),
        _ => None,
    };
    check_enum(mode_of, "line rasterization mode", mode.as_raw())
}

/// Converts a line stipple; factors out of range are clamped (they are ignored if no line is
/// stippled).
pub fn stipple(factor: u32, pattern: u16) -> Stipple {
    Stipple { factor: factor.clamp(1, 256), pattern }
}

/// Converts a `VkViewport`.
pub fn viewport(v: &vk::Viewport) -> Viewport {
    Viewport { x: v.x, y: v.y, width: v.width, height: v.height, min_depth: v.min_depth, max_depth: v.max_depth }
}

/// Converts a `VkRect2D`, clamped to the range of `i32`.
pub fn scissor(r: &vk::Rect2D) -> [i32; 4] {
    let size = |extent: u32, offset: i32| extent.min((i32::MAX - offset.max(0)) as u32) as i32;
    [r.offset.x, r.offset.y, size(r.extent.width, r.offset.x), size(r.extent.height, r.offset.y)]
}

/// Converts vertex bindings with their divisors.
pub fn bindings(v: &VertexInput<'_>) -> Result<SmallVec4<VertexBinding>, String> {
    let binding = |b: &vk::VertexInputBindingDescription| {
        if b.binding as usize >= MAX_VERTEX_BINDINGS {
            return Err(format!("vertex binding {} is beyond the limit", b.binding));
        }
        let divisor = v.divisors.iter().find(|d| d.binding == b.binding).map_or(1, |d| d.divisor);
        let per_instance = b.input_rate == vk::VertexInputRate::INSTANCE;
        Ok(VertexBinding { binding: b.binding, stride: b.stride, per_instance, divisor })
    };
    v.bindings.iter().map(binding).collect()
}

/// Returns the strides of vertex bindings.
pub fn strides(v: &VertexInput<'_>) -> Strides {
    let mut strides = Strides([0; MAX_VERTEX_BINDINGS]);
    for b in v.bindings {
        if let Some(stride) = strides.0.get_mut(b.binding as usize) {
            *stride = b.stride;
        }
    }
    strides
}

/// Converts vertex attributes.
pub fn attributes(v: &VertexInput<'_>) -> Result<SmallVec4<VertexAttribute>, String> {
    let attribute = |a: &vk::VertexInputAttributeDescription| {
        let format = Format::from_vk(a.format.as_raw() as u32)
            .ok_or_else(|| format!("vertex format {:?} is not supported", a.format))?;
        Ok(VertexAttribute { location: a.location, binding: a.binding, format, offset: a.offset })
    };
    v.attributes.iter().map(attribute).collect()
}

/// Converts pColorAttachmentLocations; attachments behind the end of the list have their own index.
pub fn locations(list: &[u32]) -> Locations {
    let mut locations = IDENTITY_LOCATIONS;
    for (to, &location) in locations.iter_mut().zip(list) {
        let known = (location as usize) < MAX_COLOR_ATTACHMENTS;
        *to = if known { location as u8 } else { NO_LOCATION };
    }
    locations
}

/// Converts the blending of a `VkPipelineColorBlendAttachmentState`, with the parameters of
/// advanced operations.
pub fn blending(
    a: &vk::PipelineColorBlendAttachmentState,
    advanced: Option<&vk::PipelineColorBlendAdvancedStateCreateInfoEXT<'_>>,
) -> Result<Blending, String> {
    let advanced = self::advanced(&vk::ColorBlendAdvancedEXT {
        advanced_blend_op: a.color_blend_op,
        src_premultiplied: advanced.map_or(vk::TRUE, |a| a.src_premultiplied),
        dst_premultiplied: advanced.map_or(vk::TRUE, |a| a.dst_premultiplied),
        blend_overlap: advanced.map_or(vk::BlendOverlapEXT::UNCORRELATED, |a| a.blend_overlap),
        clamp_results: vk::FALSE,
    })?;
    if let Some(advanced) = advanced {
        return Ok(advanced);
    }
    equations(&vk::ColorBlendEquationEXT {
        src_color_blend_factor: a.src_color_blend_factor,
        dst_color_blend_factor: a.dst_color_blend_factor,
        color_blend_op: a.color_blend_op,
        src_alpha_blend_factor: a.src_alpha_blend_factor,
        dst_alpha_blend_factor: a.dst_alpha_blend_factor,
        alpha_blend_op: a.alpha_blend_op,
    })
}

fn advanced_op(op: vk::BlendOp) -> Option<AdvancedBlendOp> {
    AdvancedBlendOp::from_vk(op.as_raw().wrapping_sub(vk::BlendOp::ZERO_EXT.as_raw()))
}

/// Converts a `VkColorBlendAdvancedEXT`; returns `None` if its operation is not an advanced one, so
/// that the structure has no effect.
pub fn advanced(a: &vk::ColorBlendAdvancedEXT) -> Result<Option<Blending>, String> {
    let Some(op) = advanced_op(a.advanced_blend_op) else { return Ok(None) };
    let overlap = a.blend_overlap.as_raw();
    Ok(Some(Blending::Advanced(AdvancedBlend {
        op,
        src_premultiplied: a.src_premultiplied != 0,
        dst_premultiplied: a.dst_premultiplied != 0,
        overlap: check_enum(BlendOverlap::from_vk(overlap), "blend overlap", overlap)?,
        clamp_results: a.clamp_results != 0,
    })))
}

/// Converts a `VkColorBlendEquationEXT`.
pub fn equations(e: &vk::ColorBlendEquationEXT) -> Result<Blending, String> {
    let factor = |f: vk::BlendFactor| check_enum(BlendFactor::from_vk(f.as_raw()), "blend factor", f.as_raw());
    let op = |o: vk::BlendOp| check_enum(BlendOp::from_vk(o.as_raw()), "blend operation", o.as_raw());
    Ok(Blending::Equations(BlendEquations {
        color: (factor(e.src_color_blend_factor)?, factor(e.dst_color_blend_factor)?, op(e.color_blend_op)?),
        alpha: (factor(e.src_alpha_blend_factor)?, factor(e.dst_alpha_blend_factor)?, op(e.alpha_blend_op)?),
    }))
}

/// Flags of pipelines that read depth or stencil in the order of primitives.
pub const ORDERED_DEPTH_STENCIL: vk::PipelineDepthStencilStateCreateFlags =
    vk::PipelineDepthStencilStateCreateFlags::from_raw(
        vk::PipelineDepthStencilStateCreateFlags::RASTERIZATION_ORDER_ATTACHMENT_DEPTH_ACCESS_EXT.as_raw()
            | vk::PipelineDepthStencilStateCreateFlags::RASTERIZATION_ORDER_ATTACHMENT_STENCIL_ACCESS_EXT.as_raw(),
    );

/// Returns the attachments that may be read as images, by their aspects.
pub fn loops(aspects: vk::ImageAspectFlags) -> AttachmentLoops {
    AttachmentLoops {
        color: aspects.contains(vk::ImageAspectFlags::COLOR),
        depth_stencil: aspects.intersects(vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks some values from the middle and the last ones: the others are in order between them.
    #[test]
    fn enumerations_keep_vulkan_numbers() {
        let last = vk::PrimitiveTopology::PATCH_LIST;
        assert_eq!(topology(last), Ok(Topology::PatchList));
        assert_eq!(topology(vk::PrimitiveTopology::TRIANGLE_FAN), Ok(Topology::TriangleFan));
        assert!(topology(vk::PrimitiveTopology::from_raw(last.as_raw() + 1)).is_err());
        assert_eq!(polygon_mode(vk::PolygonMode::POINT), Ok(PolygonMode::Point));
        assert_eq!(compare_op(vk::CompareOp::GREATER), Ok(CompareOp::Greater));
        assert_eq!(compare_op(vk::CompareOp::ALWAYS), Ok(CompareOp::Always));
        assert!(compare_op(vk::CompareOp::from_raw(8)).is_err() && compare_op(vk::CompareOp::from_raw(-1)).is_err());
        assert_eq!(stencil_op(vk::StencilOp::INVERT), Ok(StencilOp::Invert));
        assert_eq!(stencil_op(vk::StencilOp::DECREMENT_AND_WRAP), Ok(StencilOp::DecrementAndWrap));
        assert_eq!(logic_op(vk::LogicOp::XOR), Ok(LogicOp::Xor));
        assert_eq!(logic_op(vk::LogicOp::SET), Ok(LogicOp::Set));
        assert_eq!(BlendOp::from_vk(vk::BlendOp::MAX.as_raw()), Some(BlendOp::Max));
        assert_eq!(advanced_op(vk::BlendOp::ZERO_EXT), Some(AdvancedBlendOp::Zero));
        assert_eq!(advanced_op(vk::BlendOp::HSL_HUE_EXT), Some(AdvancedBlendOp::HslHue));
        assert_eq!(advanced_op(vk::BlendOp::BLUE_EXT), Some(AdvancedBlendOp::Blue));
        assert_eq!(
            [vk::BlendOp::MAX, vk::BlendOp::from_raw(vk::BlendOp::BLUE_EXT.as_raw() + 1)].map(advanced_op),
            [None; 2]
        );
        assert_eq!(BlendOverlap::from_vk(vk::BlendOverlapEXT::CONJOINT.as_raw()), Some(BlendOverlap::Conjoint));
        let factor = |f: vk::BlendFactor| BlendFactor::from_vk(f.as_raw());
        assert_eq!(factor(vk::BlendFactor::CONSTANT_ALPHA), Some(BlendFactor::ConstantAlpha));
        assert_eq!(factor(vk::BlendFactor::ONE_MINUS_SRC1_ALPHA), Some(BlendFactor::OneMinusSrc1Alpha));
    }

    #[test]
    fn scissors_do_not_overflow() {
        let rect =
            vk::Rect2D { offset: vk::Offset2D { x: 5, y: 0 }, extent: vk::Extent2D { width: u32::MAX, height: 7 } };
        assert_eq!(scissor(&rect), [5, 0, i32::MAX - 5, 7]);
    }
}
