//! The operations on a fragment after its stage: tests, blending, writes.
//!
//! [`PixelState`] is the application's state, in Vulkan's terms. [`PixelKey`] is its meaning for
//! the attachments of a pass. State that cannot matter there has one form in the key, so draws with
//! equal keys do the same, and plans and code can be cached by it. [`PixelValues`] are the numbers
//! that such code reads while it runs (constants, references, stencil masks, bounds), which are not
//! part of the key.

#![forbid(unsafe_code)]

use crate::format::{ChannelType, Format};
use crate::limits::{MAX_COLOR_ATTACHMENTS, MAX_SAMPLES};
use crate::vk_enum;

/// The locations of the fragment stage's outputs that colour attachments use, by attachment number;
/// [`NO_LOCATION`] means none.
pub type Locations = [u8; MAX_COLOR_ATTACHMENTS];
/// Value in [`Locations`] of an attachment that uses no output.
pub const NO_LOCATION: u8 = u8::MAX;
/// The locations if every attachment uses the location of its own number.
pub const IDENTITY_LOCATIONS: Locations = [0, 1, 2, 3, 4, 5, 6, 7];

vk_enum! {
    /// Values of `VkCompareOp`.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum CompareOp { Never, Less, Equal, LessOrEqual, Greater, NotEqual, GreaterOrEqual, Always }
}

vk_enum! {
    /// Values of `VkStencilOp`.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum StencilOp {
        Keep, Zero, Replace, IncrementAndClamp, DecrementAndClamp, Invert, IncrementAndWrap, DecrementAndWrap,
    }
}

vk_enum! {
    /// Values of `VkBlendFactor`.
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

vk_enum! {
    /// Values of `VkBlendOp` (core).
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum BlendOp { Add, Subtract, ReverseSubtract, Min, Max }
}

vk_enum! {
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

vk_enum! {
    /// Values of `VkBlendOverlapEXT`.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum BlendOverlap { Uncorrelated, Disjoint, Conjoint }
}

vk_enum! {
    /// Values of `VkLogicOp`.
    #[allow(missing_docs, reason = "the specification's names")]
    pub enum LogicOp {
        Clear, And, AndReverse, Copy, AndInverted, NoOp, Xor, Or,
        Nor, Equivalent, Invert, OrReverse, CopyInverted, OrInverted, Nand, Set,
    }
}

/// The operations of a `VkStencilOpState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StencilOps {
    /// Operation if the stencil test fails.
    pub fail: StencilOp,
    /// Operation if both tests pass.
    pub pass: StencilOp,
    /// Operation if only the depth test fails.
    pub depth_fail: StencilOp,
    /// Comparison of (reference & mask) with (stored & mask).
    pub compare: CompareOp,
}

impl StencilOps {
    /// Operations of a test that always passes and keeps the stored value.
    pub const PASS_AND_KEEP: StencilOps = StencilOps::keep(CompareOp::Always);

    const fn keep(compare: CompareOp) -> StencilOps {
        StencilOps { fail: StencilOp::Keep, pass: StencilOp::Keep, depth_fail: StencilOp::Keep, compare }
    }

    /// Returns true if some outcome changes the stored value.
    pub fn writes(&self) -> bool {
        [self.fail, self.pass, self.depth_fail].iter().any(|&op| op != StencilOp::Keep)
    }
}

/// The numbers of a `VkStencilOpState`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StencilValues {
    /// Mask of the comparison.
    pub compare_mask: u32,
    /// Mask of the written bits.
    pub write_mask: u32,
    /// Reference value.
    pub reference: u32,
}

/// The factors of source and destination, and the operation on the products.
pub type BlendEquation = (BlendFactor, BlendFactor, BlendOp);

/// The blend equations of an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlendEquations {
    /// Equation of R, G and B.
    pub color: BlendEquation,
    /// Equation of A.
    pub alpha: BlendEquation,
}

/// An advanced blend operation: `VkColorBlendAdvancedEXT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdvancedBlend {
    /// Value of advancedBlendOp.
    pub op: AdvancedBlendOp,
    /// Value of srcPremultiplied.
    pub src_premultiplied: bool,
    /// Value of dstPremultiplied.
    pub dst_premultiplied: bool,
    /// Value of blendOverlap.
    pub overlap: BlendOverlap,
    /// Value of clampResults.
    pub clamp_results: bool,
}

/// The kind of enabled blending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blending {
    /// Blending by factors and operations.
    Equations(BlendEquations),
    /// Blending by an advanced operation.
    Advanced(AdvancedBlend),
}

/// Blending of one attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlendAttachment {
    /// Value of blendEnable.
    pub enable: bool,
    /// Kind of blending, if it is enabled.
    pub blending: Blending,
    /// Mask of `VkColorComponentFlags`: bit 0 is R, bit 3 is A.
    pub write_mask: u8,
}

impl BlendAttachment {
    /// State in which nothing is written.
    pub const DISABLED: BlendAttachment = BlendAttachment {
        enable: false,
        blending: Blending::Equations(BlendEquations {
            color: (BlendFactor::One, BlendFactor::Zero, BlendOp::Add),
            alpha: (BlendFactor::One, BlendFactor::Zero, BlendOp::Add),
        }),
        write_mask: 0,
    };
}

/// The application's state, in the terms of `VkPipelineDepthStencilStateCreateInfo`,
/// `VkPipelineColorBlendStateCreateInfo` and `VkPipelineMultisampleStateCreateInfo`. State that is
/// not enabled has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PixelState {
    /// True if sampleShadingEnable and minSampleShading demand one invocation per sample.
    pub sample_shading: bool,
    /// Value of alphaToCoverageEnable.
    pub alpha_to_coverage: bool,
    /// Value of alphaToOneEnable.
    pub alpha_to_one: bool,
    /// Value of depthTestEnable.
    pub depth_test: bool,
    /// Value of depthWriteEnable.
    pub depth_write: bool,
    /// Value of depthCompareOp.
    pub depth_compare: CompareOp,
    /// Value of depthBoundsTestEnable.
    pub depth_bounds_test: bool,
    /// Value of stencilTestEnable.
    pub stencil_test: bool,
    /// Stencil operations of front and back faces.
    pub stencil: [StencilOps; 2],
    /// Value of logicOpEnable.
    pub logic_op_enable: bool,
    /// Value of logicOp.
    pub logic_op: LogicOp,
    /// Blending by colour attachment number.
    pub blend: [BlendAttachment; MAX_COLOR_ATTACHMENTS],
    /// Value of pColorAttachmentLocations.
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
            stencil: [StencilOps::PASS_AND_KEEP; 2],
            logic_op_enable: false,
            logic_op: LogicOp::Copy,
            blend: [BlendAttachment::DISABLED; MAX_COLOR_ATTACHMENTS],
            locations: IDENTITY_LOCATIONS,
        }
    }
}

/// Positions of samples in 1/256 pixels (`VkSampleLocationsInfoEXT`).
pub type SampleLocations = [[u8; 2]; MAX_SAMPLES];
/// Number of positions that a sample can have along a pixel. It is smaller than that of vertices,
/// so that a triangle can cover a single sample.
pub const SAMPLE_LOCATION_STEPS: f32 = 16.0;

/// Numbers beside the state. Two of them are equal if their bits are.
#[derive(Clone, Copy, Debug)]
pub struct PixelValues {
    /// Word 0 of sampleMask.
    pub sample_mask: u32,
    /// Sample locations, if sampleLocationsEnable is set. (A single sample stays at the centre.)
    pub sample_locations: Option<SampleLocations>,
    /// Values of minDepthBounds and maxDepthBounds.
    pub depth_bounds: [f32; 2],
    /// Stencil values of front and back faces.
    pub stencil: [StencilValues; 2],
    /// Value of blendConstants.
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

/// The formats of the attachments of a draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TargetFormats {
    /// Formats by colour attachment number.
    pub color: [Option<Format>; MAX_COLOR_ATTACHMENTS],
    /// Format of the depth attachment.
    pub depth: Option<Format>,
    /// True if there is a stencil attachment.
    pub stencil: bool,
    /// Number of rasterization samples.
    pub samples: u32,
}

/// The tests of depth, of which at least one is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DepthKey {
    /// Format of the attachment.
    pub format: Format,
    /// Comparison of the depth test; `None` if it is disabled.
    pub test: Option<CompareOp>,
    /// True if depth is written where the test passes.
    pub write: bool,
    /// True if the depth bounds test is enabled.
    pub bounds: bool,
}

/// The operation on the components that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColorOp {
    /// The components are stored.
    Store,
    /// The components are blended with the attachment.
    Blend(BlendEquations),
    /// The components and the attachment are combined by an advanced blend operation.
    Advanced(AdvancedBlend),
    /// The components and the attachment are combined by a logic operation.
    Logic(LogicOp),
}

/// The writes to one colour attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColorKey {
    /// Format of the attachment.
    pub format: Format,
    /// Location of the output that is written.
    pub location: u8,
    /// Components that are written, as in [`BlendAttachment`]; not 0.
    pub write_mask: u8,
    /// Operation on the components.
    pub op: ColorOp,
}

impl ColorKey {
    fn new(format: Format, blend: &BlendAttachment, location: u8, logic_op: Option<LogicOp>) -> Option<ColorKey> {
        let ty = format.info().channels.first().filter(|_| format.info().channel_count > 0)?.ty;
        let write_mask = blend.write_mask & 0xf;
        let float = matches!(ty, ChannelType::Sfloat | ChannelType::Ufloat);
        let op = match logic_op {
            // With logic operations, float formats are neither blended nor combined.
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

/// The operations on the fragments of a draw, as far as they matter for its attachments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PixelKey {
    /// Number of rasterization samples.
    pub samples: u32,
    /// True if the state demands one invocation for each of several samples.
    pub sample_shading: bool,
    /// Value of alphaToCoverageEnable.
    pub alpha_to_coverage: bool,
    /// Value of alphaToOneEnable.
    pub alpha_to_one: bool,
    /// Tests of depth, if there are any.
    pub depth: Option<DepthKey>,
    /// Stencil operations of front and back faces, if there is a stencil test.
    pub stencil: Option<[StencilOps; 2]>,
    /// Writes by colour attachment number; `None` if nothing is written.
    pub color: [Option<ColorKey>; MAX_COLOR_ATTACHMENTS],
}

impl PixelKey {
    /// Returns the meaning of state for attachments. The only effect of the values is that stencil
    /// operations keep if the write mask is 0.
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

    /// Returns RGBA8 unorm, R32 uint, RGBA32 float and RGBA8 sRGB with D16 and stencil.
    fn targets() -> TargetFormats {
        let mut targets = TargetFormats { depth: format(124), stencil: true, samples: 4, ..TargetFormats::default() };
        for (to, vk) in targets.color.iter_mut().zip([37, 98, 109, 43]) {
            *to = format(vk);
        }
        targets
    }

    #[test]
    fn irrelevant_state_is_not_in_the_key() {
        let (idle, values) = (PixelState::default(), PixelValues::default());
        let key = PixelKey::new(&idle, &values, &targets());
        let unused = PixelState {
            depth_write: true,
            depth_compare: CompareOp::Less,
            stencil: [StencilOps { pass: StencilOp::Invert, ..StencilOps::PASS_AND_KEEP }; 2],
            logic_op: LogicOp::Xor,
            ..idle
        };
        assert_eq!(PixelKey::new(&unused, &values, &targets()), key);
        let enabled = PixelState { depth_test: true, depth_bounds_test: true, stencil_test: true, ..unused };
        let none = TargetFormats { samples: 4, ..TargetFormats::default() };
        assert_eq!(PixelKey::new(&enabled, &values, &none), PixelKey::new(&idle, &values, &none));
        // Masked stencil operations keep the stored value.
        let key = PixelKey::new(&enabled, &values, &targets());
        assert_eq!(key.stencil, Some([StencilOps::PASS_AND_KEEP; 2]));
        assert_eq!(key.depth.map(|d| (d.test, d.write, d.bounds)), Some((Some(CompareOp::Less), true, true)));
    }

    #[test]
    fn blending_and_logic_operations_by_format() {
        let blend = BlendAttachment { enable: true, write_mask: 0xf, ..BlendAttachment::DISABLED };
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

    /// Tests that formats and blending belong to the attachment, whichever output it uses.
    #[test]
    fn attachments_take_the_outputs_of_their_locations() {
        let blend = BlendAttachment { enable: true, write_mask: 0xf, ..BlendAttachment::DISABLED };
        let Blending::Equations(equations) = blend.blending else { panic!("equations") };
        let mut state = PixelState { blend: [blend; MAX_COLOR_ATTACHMENTS], ..PixelState::default() };
        state.blend[0].enable = false;
        state.locations = [2, NO_LOCATION, 0, 3, 4, 5, 6, 7];
        let color = PixelKey::new(&state, &PixelValues::default(), &targets()).color;
        let found = color.map(|color| color.map(|color| (color.location, color.op)));
        let (store, over) = (ColorOp::Store, ColorOp::Blend(equations));
        assert_eq!(found[..5], [Some((2, store)), None, Some((0, over)), Some((3, over)), None]);
        let own =
            PixelKey::new(&PixelState { locations: IDENTITY_LOCATIONS, ..state }, &PixelValues::default(), &targets());
        assert_eq!(own.color.map(|color| color.map(|color| color.location))[..3], [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn values_are_equal_by_bits() {
        let with = |c: f32| PixelValues { blend_constants: [c; 4], ..PixelValues::default() };
        assert_eq!(with(f32::NAN), with(f32::NAN));
        assert_ne!(with(0.0), with(-0.0));
    }
}
