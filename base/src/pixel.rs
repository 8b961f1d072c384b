//! What becomes of a fragment behind its stage: tests, blending, writes.
//!
//! [`PixelState`] is what the application says, in Vulkan's terms. [`PixelKey`] is what that means for the attachments it meets: state that
//! can't matter there has one form in the key, so draws with equal keys do the same, and plans and code can be kept by it. Numbers that such
//! code reads while it runs (constants, references, masks of stencil, bounds) are [`PixelValues`] and no part of the key.

#![forbid(unsafe_code)]

use crate::abi::MAX_SAMPLES;
use crate::format::{ChannelType, Format};
use crate::numbered;

/// Most colour attachments.
pub const MAX_COLOR_ATTACHMENTS: usize = 8;

/// The locations of the fragment stage's outputs that colour attachments take, by attachment number; [`NO_LOCATION`]: none.
pub type Locations = [u8; MAX_COLOR_ATTACHMENTS];
/// See [`Locations`].
pub const NO_LOCATION: u8 = u8::MAX;
/// Every attachment takes the location of its own number.
pub const OWN_LOCATIONS: Locations = [0, 1, 2, 3, 4, 5, 6, 7];

numbered! {
    /// `VkCompareOp`.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum CompareOp { Never, Less, Equal, LessOrEqual, Greater, NotEqual, GreaterOrEqual, Always }
}

numbered! {
    /// `VkStencilOp`.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum StencilOp {
        Keep, Zero, Replace, IncrementAndClamp, DecrementAndClamp, Invert, IncrementAndWrap, DecrementAndWrap,
    }
}

numbered! {
    /// `VkBlendFactor`.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum BlendFactor {
        Zero, One,
        SrcColor, OneMinusSrcColor, DstColor, OneMinusDstColor,
        SrcAlpha, OneMinusSrcAlpha, DstAlpha, OneMinusDstAlpha,
        ConstantColor, OneMinusConstantColor, ConstantAlpha, OneMinusConstantAlpha,
        SrcAlphaSaturate,
        Src1Color, OneMinusSrc1Color, Src1Alpha, OneMinusSrc1Alpha,
    }
}

numbered! {
    /// `VkBlendOp` (core).
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum BlendOp { Add, Subtract, ReverseSubtract, Min, Max }
}

numbered! {
    /// The advanced blend operations: `VkBlendOp` from `VK_BLEND_OP_ZERO_EXT` on.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum AdvancedBlendOp {
        Zero, Src, Dst, SrcOver, DstOver, SrcIn, DstIn, SrcOut, DstOut, SrcAtop, DstAtop, Xor,
        Multiply, Screen, Overlay, Darken, Lighten, Colordodge, Colorburn, Hardlight, Softlight, Difference, Exclusion,
        Invert, InvertRgb, Lineardodge, Linearburn, Vividlight, Linearlight, Pinlight, Hardmix,
        HslHue, HslSaturation, HslColor, HslLuminosity,
        Plus, PlusClamped, PlusClampedAlpha, PlusDarker, Minus, MinusClamped, Contrast, InvertOvg, Red, Green, Blue,
    }
}

numbered! {
    /// `VkBlendOverlapEXT`.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum BlendOverlap { Uncorrelated, Disjoint, Conjoint }
}

numbered! {
    /// `VkLogicOp`.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum LogicOp {
        Clear, And, AndReverse, Copy, AndInverted, NoOp, Xor, Or,
        Nor, Equivalent, Invert, OrReverse, CopyInverted, OrInverted, Nand, Set,
    }
}

/// The operations of a `VkStencilOpState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StencilOps {
    /// Stencil test fails.
    pub fail: StencilOp,
    /// Both pass.
    pub pass: StencilOp,
    /// Depth test fails.
    pub depth_fail: StencilOp,
    /// Comparison of (reference & mask) with (stored & mask).
    pub compare: CompareOp,
}

impl StencilOps {
    /// Passes and keeps.
    pub const IDLE: StencilOps = StencilOps::keep(CompareOp::Always);

    const fn keep(compare: CompareOp) -> StencilOps {
        StencilOps { fail: StencilOp::Keep, pass: StencilOp::Keep, depth_fail: StencilOp::Keep, compare }
    }

    /// Some outcome changes what is stored.
    pub fn writes(&self) -> bool {
        [self.fail, self.pass, self.depth_fail].iter().any(|&op| op != StencilOp::Keep)
    }
}

/// The numbers of a `VkStencilOpState`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StencilValues {
    /// Compare mask.
    pub compare_mask: u32,
    /// Write mask.
    pub write_mask: u32,
    /// Reference.
    pub reference: u32,
}

/// Factors of source and destination, and what is done with the products.
pub type BlendEquation = (BlendFactor, BlendFactor, BlendOp);

/// How colours are blended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlendEquations {
    /// Of R, G, B.
    pub color: BlendEquation,
    /// Of A.
    pub alpha: BlendEquation,
}

/// An advanced blend operation: `VkColorBlendAdvancedEXT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdvancedBlend {
    /// advancedBlendOp.
    pub op: AdvancedBlendOp,
    /// srcPremultiplied.
    pub src_premultiplied: bool,
    /// dstPremultiplied.
    pub dst_premultiplied: bool,
    /// blendOverlap.
    pub overlap: BlendOverlap,
    /// clampResults.
    pub clamp_results: bool,
}

/// What blending does where it is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blending {
    /// Factors and operations.
    Equations(BlendEquations),
    /// An advanced operation.
    Advanced(AdvancedBlend),
}

/// Blending of one attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlendAttachment {
    /// blendEnable.
    pub enable: bool,
    /// What it does.
    pub blending: Blending,
    /// `VkColorComponentFlags`: bit 0 R .. bit 3 A.
    pub write_mask: u8,
}

impl BlendAttachment {
    /// Nothing is written.
    pub const OFF: BlendAttachment = BlendAttachment {
        enable: false,
        blending: Blending::Equations(BlendEquations {
            color: (BlendFactor::One, BlendFactor::Zero, BlendOp::Add),
            alpha: (BlendFactor::One, BlendFactor::Zero, BlendOp::Add),
        }),
        write_mask: 0,
    };
}

/// What the application says, in the terms of `VkPipelineDepthStencilStateCreateInfo`, `VkPipelineColorBlendStateCreateInfo` and
/// `VkPipelineMultisampleStateCreateInfo`. State that is not enabled has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PixelState {
    /// sampleShadingEnable and minSampleShading demand one invocation per sample.
    pub sample_shading: bool,
    /// alphaToCoverageEnable.
    pub alpha_to_coverage: bool,
    /// alphaToOneEnable.
    pub alpha_to_one: bool,
    /// depthTestEnable.
    pub depth_test: bool,
    /// depthWriteEnable.
    pub depth_write: bool,
    /// depthCompareOp.
    pub depth_compare: CompareOp,
    /// depthBoundsTestEnable.
    pub depth_bounds_test: bool,
    /// stencilTestEnable.
    pub stencil_test: bool,
    /// front, back.
    pub stencil: [StencilOps; 2],
    /// logicOpEnable.
    pub logic_op_enable: bool,
    /// logicOp.
    pub logic_op: LogicOp,
    /// By colour attachment number.
    pub blend: [BlendAttachment; MAX_COLOR_ATTACHMENTS],
    /// pColorAttachmentLocations.
    pub locations: Locations,
}

impl Default for PixelState {
    fn default() -> PixelState {
        PixelState {
            sample_shading: false,
            alpha_to_coverage: false,
            alpha_to_one: false,
            depth_test: false,
            depth_write: false,
            depth_compare: CompareOp::Always,
            depth_bounds_test: false,
            stencil_test: false,
            stencil: [StencilOps::IDLE; 2],
            logic_op_enable: false,
            logic_op: LogicOp::Copy,
            blend: [BlendAttachment::OFF; MAX_COLOR_ATTACHMENTS],
            locations: OWN_LOCATIONS,
        }
    }
}

/// Positions of samples in 1/256 pixels (`VkSampleLocationsInfoEXT`).
pub type SampleLocations = [[u8; 2]; MAX_SAMPLES];
/// Places along a pixel that a sample can have: fewer than a vertex has, so that a triangle can have one sample for itself.
pub const SAMPLE_LOCATION_STEPS: f32 = 16.0;

/// Numbers beside the state. Equal ones have the same bits.
#[derive(Clone, Copy, Debug)]
pub struct PixelValues {
    /// sampleMask word 0.
    pub sample_mask: u32,
    /// sampleLocationsEnable, with the locations. (Where there is one sample, it stays at the centre.)
    pub sample_locations: Option<SampleLocations>,
    /// minDepthBounds, maxDepthBounds.
    pub depth_bounds: [f32; 2],
    /// front, back.
    pub stencil: [StencilValues; 2],
    /// blendConstants.
    pub blend_constants: [f32; 4],
}

impl Default for PixelValues {
    fn default() -> PixelValues {
        PixelValues {
            sample_mask: !0,
            sample_locations: None,
            depth_bounds: [0.0, 1.0],
            stencil: [StencilValues::default(); 2],
            blend_constants: [0.0; 4],
        }
    }
}

impl PartialEq for PixelValues {
    fn eq(&self, other: &PixelValues) -> bool {
        let bits = |v: &PixelValues| (v.depth_bounds.map(f32::to_bits), v.blend_constants.map(f32::to_bits));
        self.sample_mask == other.sample_mask
            && self.sample_locations == other.sample_locations
            && self.stencil == other.stencil
            && bits(self) == bits(other)
    }
}

impl Eq for PixelValues {}

/// The attachments that fragments meet, as far as formats go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TargetFormats {
    /// By colour attachment number.
    pub color: [Option<Format>; MAX_COLOR_ATTACHMENTS],
    /// Of the depth attachment.
    pub depth: Option<Format>,
    /// There is a stencil attachment.
    pub stencil: bool,
    /// Rasterization samples.
    pub samples: u32,
}

/// Tests of depth. There is at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DepthKey {
    /// Format of the attachment.
    pub format: Format,
    /// The depth test; `None` without.
    pub test: Option<CompareOp>,
    /// Depth is written where the test passes.
    pub write: bool,
    /// The depth bounds test.
    pub bounds: bool,
}

/// What is done with the components that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColorOp {
    /// They are stored.
    Store,
    /// They are blended with what is there.
    Blend(BlendEquations),
    /// An advanced blend operation with what is there.
    Advanced(AdvancedBlend),
    /// A logic operation with what is there.
    Logic(LogicOp),
}

/// Writes to one colour attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColorKey {
    /// Format of the attachment.
    pub format: Format,
    /// Location of the output that is written.
    pub location: u8,
    /// Components that are written, as in [`BlendAttachment`]; not 0.
    pub write_mask: u8,
    /// What is done.
    pub op: ColorOp,
}

impl ColorKey {
    fn new(format: Format, blend: &BlendAttachment, location: u8, logic_op: Option<LogicOp>) -> Option<ColorKey> {
        let ty = format.info().channels.first().filter(|_| format.info().channel_count > 0)?.ty;
        let write_mask = blend.write_mask & 0xf;
        let float = matches!(ty, ChannelType::Sfloat | ChannelType::Ufloat);
        let op = match logic_op {
            // Neither happens where floats meet logic operations.
            Some(_) if float || ty == ChannelType::Srgb => ColorOp::Store,
            Some(op) => ColorOp::Logic(op),
            None if blend.enable && !format.is_integer() => match blend.blending {
                Blending::Equations(equations) => ColorOp::Blend(equations),
                Blending::Advanced(advanced) => ColorOp::Advanced(advanced),
            },
            None => ColorOp::Store,
        };
        (write_mask != 0 && location != NO_LOCATION).then_some(ColorKey { format, location, write_mask, op })
    }
}

/// What becomes of the fragments of a draw. See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PixelKey {
    /// Rasterization samples.
    pub samples: u32,
    /// The state demands one invocation for each of several samples.
    pub sample_shading: bool,
    /// alphaToCoverageEnable.
    pub alpha_to_coverage: bool,
    /// alphaToOneEnable.
    pub alpha_to_one: bool,
    /// Tests of depth, if there are any.
    pub depth: Option<DepthKey>,
    /// The stencil test, if there is one: front, back.
    pub stencil: Option<[StencilOps; 2]>,
    /// By colour attachment number; `None`: nothing is written.
    pub color: [Option<ColorKey>; MAX_COLOR_ATTACHMENTS],
}

impl PixelKey {
    /// What state means for attachments. Of the values only this matters: with a write mask of 0 stencil operations keep.
    pub fn new(state: &PixelState, values: &PixelValues, targets: &TargetFormats) -> PixelKey {
        let test = state.depth_test.then_some(state.depth_compare);
        let (write, bounds) = (state.depth_test && state.depth_write, state.depth_bounds_test);
        let tests = test.is_some() || bounds;
        let stencil = |i: usize| match values.stencil[i].write_mask {
            0 => StencilOps::keep(state.stencil[i].compare),
            _ => state.stencil[i],
        };
        let logic_op = state.logic_op_enable.then_some(state.logic_op);
        let mut color = [None; MAX_COLOR_ATTACHMENTS];
        for (i, color) in color.iter_mut().enumerate() {
            let (blend, location) = (&state.blend[i], state.locations[i]);
            *color = targets.color[i].and_then(|format| ColorKey::new(format, blend, location, logic_op));
        }
        PixelKey {
            samples: targets.samples,
            sample_shading: state.sample_shading && targets.samples > 1,
            alpha_to_coverage: state.alpha_to_coverage,
            alpha_to_one: state.alpha_to_one,
            depth: targets.depth.filter(|_| tests).map(|format| DepthKey { format, test, write, bounds }),
            stencil: (state.stencil_test && targets.stencil).then(|| [stencil(0), stencil(1)]),
            color,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(vk: u32) -> Option<Format> {
        Some(Format::from_vk(vk).expect("a format"))
    }

    /// RGBA8 unorm, R32 uint, RGBA32 float and RGBA8 sRGB with D16 and stencil.
    fn targets() -> TargetFormats {
        let mut targets = TargetFormats { depth: format(124), stencil: true, samples: 4, ..TargetFormats::default() };
        for (to, vk) in targets.color.iter_mut().zip([37, 98, 109, 43]) {
            *to = format(vk);
        }
        targets
    }

    #[test]
    fn what_cannot_matter_is_not_in_the_key() {
        let (idle, values) = (PixelState::default(), PixelValues::default());
        let key = PixelKey::new(&idle, &values, &targets());
        let unused = PixelState {
            depth_write: true,
            depth_compare: CompareOp::Less,
            stencil: [StencilOps { pass: StencilOp::Invert, ..StencilOps::IDLE }; 2],
            logic_op: LogicOp::Xor,
            ..idle
        };
        assert_eq!(PixelKey::new(&unused, &values, &targets()), key);
        let enabled = PixelState { depth_test: true, depth_bounds_test: true, stencil_test: true, ..unused };
        let none = TargetFormats { samples: 4, ..TargetFormats::default() };
        assert_eq!(PixelKey::new(&enabled, &values, &none), PixelKey::new(&idle, &values, &none));
        // Masked stencil operations keep.
        let key = PixelKey::new(&enabled, &values, &targets());
        assert_eq!(key.stencil, Some([StencilOps::IDLE; 2]));
        assert_eq!(key.depth.map(|d| (d.test, d.write, d.bounds)), Some((Some(CompareOp::Less), true, true)));
    }

    #[test]
    fn blending_and_logic_operations_by_format() {
        let blend = BlendAttachment { enable: true, write_mask: 0xf, ..BlendAttachment::OFF };
        let Blending::Equations(equations) = blend.blending else { panic!("equations") };
        let mut state = PixelState { blend: [blend; MAX_COLOR_ATTACHMENTS], ..PixelState::default() };
        let ops = |state: &PixelState| {
            PixelKey::new(state, &PixelValues::default(), &targets()).color.map(|color| color.map(|color| color.op))
        };
        let (store, over) = (Some(ColorOp::Store), Some(ColorOp::Blend(equations)));
        assert_eq!(ops(&state)[..5], [over, store, over, over, None]);
        (state.logic_op_enable, state.logic_op) = (true, LogicOp::Nand);
        let logic = Some(ColorOp::Logic(LogicOp::Nand));
        assert_eq!(ops(&state)[..5], [logic, logic, store, store, None]);
        state.blend[1].write_mask = 0;
        assert_eq!(ops(&state)[..2], [logic, None]);
    }

    /// Formats and blending stay with the attachment, whatever output it takes.
    #[test]
    fn attachments_take_the_outputs_of_their_locations() {
        let blend = BlendAttachment { enable: true, write_mask: 0xf, ..BlendAttachment::OFF };
        let Blending::Equations(equations) = blend.blending else { panic!("equations") };
        let mut state = PixelState { blend: [blend; MAX_COLOR_ATTACHMENTS], ..PixelState::default() };
        state.blend[0].enable = false;
        state.locations = [2, NO_LOCATION, 0, 3, 4, 5, 6, 7];
        let color = PixelKey::new(&state, &PixelValues::default(), &targets()).color;
        let found = color.map(|color| color.map(|color| (color.location, color.op)));
        let (store, over) = (ColorOp::Store, ColorOp::Blend(equations));
        assert_eq!(found[..5], [Some((2, store)), None, Some((0, over)), Some((3, over)), None]);
        let own = PixelKey::new(&PixelState { locations: OWN_LOCATIONS, ..state }, &PixelValues::default(), &targets());
        assert_eq!(own.color.map(|color| color.map(|color| color.location))[..3], [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn values_are_equal_by_bits() {
        let with = |c: f32| PixelValues { blend_constants: [c; 4], ..PixelValues::default() };
        assert_eq!(with(f32::NAN), with(f32::NAN));
        assert_ne!(with(0.0), with(-0.0));
    }
}
