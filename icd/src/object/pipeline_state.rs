//! Fixed-function state of graphics pipelines, translated once into the rasterizer's terms.
//!
//! State that can be dynamic lives in [`Values`]: a pipeline has its static ones, a command buffer the current ones. Binding a
//! pipeline copies the values that are static in it; a draw joins [`Fixed`](DrawState) and current values.

use crate::entry::shim::{find, slice};
use ash::vk;
use base::format::Format;
use rasterizer::api::{
    BlendAttachment, BlendFactor, BlendOp, CompareOp, DrawState, LineMode, MAX_COLOR_ATTACHMENTS, MAX_VERTEX_BINDINGS,
    MAX_VIEWPORTS, PolygonMode, StencilFace, StencilOp, Stipple, Topology, VertexAttribute, VertexBinding, Viewport,
};

/// Defines [`Dynamic`]: one bit per dynamic state, its Vulkan name, and the fields of [`Values`] it covers.
macro_rules! dynamic_states {
    ($($bit:ident = $vk:path: $($field:ident),+;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the specification's names")]
        #[derive(Clone, Copy)]
        enum Bit { $($bit),* }
        const STATES: &[(vk::DynamicState, u32)] = &[$(($vk, 1 << Bit::$bit as u32)),*];
        impl Values {
            /// Takes over the values that are static in a pipeline.
            pub fn take_static(&mut self, from: &Values, dynamic: Dynamic) {
                $(if dynamic.0 & (1 << Bit::$bit as u32) == 0 { $(self.$field = from.$field.clone();)+ })*
            }
        }
    };
}

dynamic_states! {
    VIEWPORT = vk::DynamicState::VIEWPORT: viewports;
    SCISSOR = vk::DynamicState::SCISSOR: scissors;
    LINE_WIDTH = vk::DynamicState::LINE_WIDTH: line_width;
    DEPTH_BIAS = vk::DynamicState::DEPTH_BIAS: depth_bias;
    BLEND_CONSTANTS = vk::DynamicState::BLEND_CONSTANTS: blend_constants;
    DEPTH_BOUNDS = vk::DynamicState::DEPTH_BOUNDS: depth_bounds;
    STENCIL_COMPARE_MASK = vk::DynamicState::STENCIL_COMPARE_MASK: stencil_compare_mask;
    STENCIL_WRITE_MASK = vk::DynamicState::STENCIL_WRITE_MASK: stencil_write_mask;
    STENCIL_REFERENCE = vk::DynamicState::STENCIL_REFERENCE: stencil_reference;
    CULL_MODE = vk::DynamicState::CULL_MODE: cull_mode;
    FRONT_FACE = vk::DynamicState::FRONT_FACE: front_clockwise;
    PRIMITIVE_TOPOLOGY = vk::DynamicState::PRIMITIVE_TOPOLOGY: topology;
    VERTEX_INPUT_BINDING_STRIDE = vk::DynamicState::VERTEX_INPUT_BINDING_STRIDE: strides;
    DEPTH_TEST_ENABLE = vk::DynamicState::DEPTH_TEST_ENABLE: depth_test;
    DEPTH_WRITE_ENABLE = vk::DynamicState::DEPTH_WRITE_ENABLE: depth_write;
    DEPTH_COMPARE_OP = vk::DynamicState::DEPTH_COMPARE_OP: depth_compare;
    DEPTH_BOUNDS_TEST_ENABLE = vk::DynamicState::DEPTH_BOUNDS_TEST_ENABLE: depth_bounds_test;
    STENCIL_TEST_ENABLE = vk::DynamicState::STENCIL_TEST_ENABLE: stencil_test;
    STENCIL_OP = vk::DynamicState::STENCIL_OP: stencil_ops;
    RASTERIZER_DISCARD_ENABLE = vk::DynamicState::RASTERIZER_DISCARD_ENABLE: rasterizer_discard;
    DEPTH_BIAS_ENABLE = vk::DynamicState::DEPTH_BIAS_ENABLE: depth_bias_enable;
    PRIMITIVE_RESTART_ENABLE = vk::DynamicState::PRIMITIVE_RESTART_ENABLE: primitive_restart;
    LOGIC_OP = vk::DynamicState::LOGIC_OP_EXT: logic_op;
    LINE_STIPPLE = vk::DynamicState::LINE_STIPPLE_KHR: line_stipple;
}

/// Which states are dynamic.
#[derive(Clone, Copy, Default)]
pub struct Dynamic(u32);

impl Dynamic {
    fn new(states: &[vk::DynamicState]) -> Result<Dynamic, String> {
        let mut mask = 0;
        for state in states {
            mask |= match *state {
                // With count: the same values, the count comes with them.
                vk::DynamicState::VIEWPORT_WITH_COUNT => 1 << Bit::VIEWPORT as u32,
                vk::DynamicState::SCISSOR_WITH_COUNT => 1 << Bit::SCISSOR as u32,
                state => match STATES.iter().find(|(vk, _)| *vk == state) {
                    Some((_, bit)) => *bit,
                    None => return Err(format!("dynamic state {state:?} is not supported")),
                },
            };
        }
        Ok(Dynamic(mask))
    }
    /// Is `VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE` among them?
    pub fn rasterizer_discard(self) -> bool {
        self.has(Bit::RASTERIZER_DISCARD_ENABLE)
    }
    fn has(self, bit: Bit) -> bool {
        self.0 & (1 << bit as u32) != 0
    }
}

/// A fixed-capacity list, so that copying values allocates nothing.
pub type List<T> = smallvec::SmallVec<[T; 1]>;

/// What each face does on the stencil outcomes: fail, pass, depth fail, comparison.
pub type StencilOps = (StencilOp, StencilOp, StencilOp, CompareOp);

/// State that can be dynamic.
#[derive(Clone)]
#[allow(missing_docs, reason = "the names of the rasterizer's DrawState and of VkDynamicState")]
pub struct Values {
    pub viewports: List<Viewport>,
    pub scissors: List<[i32; 4]>,
    pub line_width: f32,
    pub depth_bias: [f32; 3],
    pub blend_constants: [f32; 4],
    pub depth_bounds: [f32; 2],
    pub stencil_compare_mask: [u32; 2],
    pub stencil_write_mask: [u32; 2],
    pub stencil_reference: [u32; 2],
    pub cull_mode: u32,
    pub front_clockwise: bool,
    pub topology: Topology,
    pub strides: [u32; MAX_VERTEX_BINDINGS],
    pub depth_test: bool,
    pub depth_write: bool,
    pub depth_compare: CompareOp,
    pub depth_bounds_test: bool,
    pub stencil_test: bool,
    pub stencil_ops: [StencilOps; 2],
    pub rasterizer_discard: bool,
    pub depth_bias_enable: bool,
    pub primitive_restart: bool,
    pub logic_op: u32,
    pub line_stipple: Stipple,
}

impl Default for Values {
    fn default() -> Values {
        let ops = (StencilOp::Keep, StencilOp::Keep, StencilOp::Keep, CompareOp::Always);
        Values {
            viewports: List::new(),
            scissors: List::new(),
            line_width: 1.0,
            depth_bias: [0.0; 3],
            blend_constants: [0.0; 4],
            depth_bounds: [0.0, 1.0],
            stencil_compare_mask: [0; 2],
            stencil_write_mask: [0; 2],
            stencil_reference: [0; 2],
            cull_mode: 0,
            front_clockwise: false,
            topology: Topology::TriangleList,
            strides: [0; MAX_VERTEX_BINDINGS],
            depth_test: false,
            depth_write: false,
            depth_compare: CompareOp::Always,
            depth_bounds_test: false,
            stencil_test: false,
            stencil_ops: [ops; 2],
            rasterizer_discard: false,
            depth_bias_enable: false,
            primitive_restart: false,
            logic_op: 0,
            line_stipple: Stipple { factor: 1, pattern: !0 },
        }
    }
}

impl Values {
    /// Fixed state and these values as one draw state.
    pub fn join(&self, fixed: &DrawState) -> DrawState {
        let mut state = fixed.clone();
        state.viewports = self.viewports.to_vec();
        state.scissors = self.scissors.to_vec();
        state.line_width = self.line_width;
        state.depth_bias = self.depth_bias_enable.then_some(self.depth_bias);
        state.blend_constants = self.blend_constants;
        state.depth_bounds = self.depth_bounds_test.then_some(self.depth_bounds);
        state.cull_mode = self.cull_mode;
        state.front_clockwise = self.front_clockwise;
        state.topology = self.topology;
        state.depth_test = self.depth_test;
        state.depth_write = self.depth_write;
        state.depth_compare = self.depth_compare;
        state.rasterizer_discard = self.rasterizer_discard;
        state.primitive_restart = self.primitive_restart;
        // Whether there is one is static.
        state.logic_op = fixed.logic_op.map(|_| self.logic_op);
        state.line_stipple = fixed.line_stipple.map(|_| self.line_stipple);
        state.stencil = self.stencil_test.then(|| [self.face(0), self.face(1)]);
        for binding in &mut state.bindings {
            binding.stride = self.strides.get(binding.binding as usize).copied().unwrap_or(binding.stride);
        }
        state
    }

    fn face(&self, i: usize) -> StencilFace {
        let (fail, pass, depth_fail, compare) = self.stencil_ops[i];
        StencilFace {
            fail,
            pass,
            depth_fail,
            compare,
            compare_mask: self.stencil_compare_mask[i],
            write_mask: self.stencil_write_mask[i],
            reference: self.stencil_reference[i],
        }
    }
}

/// Everything of a graphics pipeline that is not code.
pub struct GraphicsState {
    /// State that cannot be dynamic.
    pub fixed: DrawState,
    /// Static values of the rest.
    pub values: Values,
    /// Which of them are dynamic.
    pub dynamic: Dynamic,
    /// rasterizationSamples.
    pub samples: u32,
}

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
    let mut state = GraphicsState { fixed: empty_state(), values: Values::default(), dynamic, samples: 1 };
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
        let discards = r.rasterizer_discard_enable != 0 && !dynamic.has(Bit::RASTERIZER_DISCARD_ENABLE);
        // The pointers below may dangle when rasterization is discarded.
        if !discards {
            info.p_viewport_state.as_ref().into_iter().for_each(|v| viewport(v, &mut state));
            info.p_multisample_state.as_ref().into_iter().for_each(|m| multisample(m, &mut state));
            info.p_depth_stencil_state.as_ref().map_or(Ok(()), |d| depth_stencil(d, &mut state))?;
            info.p_color_blend_state.as_ref().map_or(Ok(()), |b| color_blend(b, &mut state))?;
        }
    }
    Ok(state)
}

fn empty_state() -> DrawState {
    let off = BlendAttachment {
        enable: false,
        color: (BlendFactor::One, BlendFactor::Zero, BlendOp::Add),
        alpha: (BlendFactor::One, BlendFactor::Zero, BlendOp::Add),
        write_mask: 0,
    };
    DrawState {
        topology: Topology::TriangleList,
        primitive_restart: false,
        attributes: Vec::new(),
        bindings: Vec::new(),
        viewports: Vec::new(),
        scissors: Vec::new(),
        depth_clamp: false,
        depth_clip: true,
        rasterizer_discard: false,
        polygon_mode: PolygonMode::Fill,
        cull_mode: 0,
        front_clockwise: false,
        depth_bias: None,
        line_width: 1.0,
        line_mode: LineMode::Rectangular,
        line_stipple: None,
        sample_mask: !0,
        sample_shading: false,
        alpha_to_coverage: false,
        alpha_to_one: false,
        depth_test: false,
        depth_write: false,
        depth_compare: CompareOp::Always,
        depth_bounds: None,
        stencil: None,
        logic_op: None,
        blend: [off; MAX_COLOR_ATTACHMENTS],
        blend_constants: [0.0; 4],
    }
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
