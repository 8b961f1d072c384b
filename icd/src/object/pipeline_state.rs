//! Fixed-function state of graphics pipelines, in the rasterizer's terms.
//!
//! State that can be dynamic lives in [`Values`]: a pipeline has its static ones, a command buffer the current ones. Binding a
//! pipeline copies the values that are static in it; a draw joins [`Fixed`](DrawState) and current values.

use ash::vk;
use rasterizer::api::{
    BlendAttachment, BlendFactor, BlendOp, CompareOp, DrawState, LineMode, MAX_COLOR_ATTACHMENTS, MAX_VERTEX_BINDINGS,
    PolygonMode, StencilFace, StencilOp, Stipple, Topology, Viewport,
};

/// Defines [`Dynamic`]: one bit per dynamic state, its Vulkan name, and the fields of [`Values`] it covers.
macro_rules! dynamic_states {
    ($($bit:ident = $vk:path: $($field:ident),+;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the specification's names")]
        #[derive(Clone, Copy)]
        pub enum Bit { $($bit),* }
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
    /// These.
    pub fn new(states: &[vk::DynamicState]) -> Result<Dynamic, String> {
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
    /// Is this one among them?
    pub fn has(self, bit: Bit) -> bool {
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

impl GraphicsState {
    /// Where nothing is said.
    pub fn new(dynamic: Dynamic) -> GraphicsState {
        GraphicsState { fixed: empty_state(), values: Values::default(), dynamic, samples: 1 }
    }

    /// Nothing is rasterized, whatever a command buffer says.
    pub fn discards(&self) -> bool {
        self.values.rasterizer_discard && !self.dynamic.has(Bit::RASTERIZER_DISCARD_ENABLE)
    }
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
