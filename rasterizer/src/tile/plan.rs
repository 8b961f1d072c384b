//! The meaning of stages and a pixel key for the tiles of a pass: the path of the draw, the order
//! of its steps, depth plan, colour plans.

#![forbid(unsafe_code)]

use super::coarse::CoarsePlan;
use super::color::ColorPlan;
use super::depth::DepthPlan;
use super::pass::RenderPass;
use super::path::{
    EarlyTest, FragmentOrder, Invocations, LateCoverage, LinePlan, PrimitiveColors, TestOrder, TilePath,
};
use super::shaded::OutputAlpha;
use crate::api::{AttachmentLoops, ConservativeMode, Draw, DrawState, GraphicsStages, LineMode, ShadingRate, Topology};
use crate::prim::{CustomSampleLocations, sample_positions};
use crate::stages::NO_SLOT;
use base::abi::SamplePositions;
use base::epilogue::Epilogue;
use base::pixel::{PixelKey, PixelValues};
use base::shader::{BuiltinSlot, CompiledStage, SlotKind, SlotType, StageInterface};
use execution::RunningCommand;

/// The state on which a plan depends besides stages and attachments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileState {
    key: PixelKey,
    values: PixelValues,
    /// Plan of lines that are more than rectangles.
    lines: Option<LinePlan>,
    loops: AttachmentLoops,
    ordered: bool,
    /// True if pixels are covered as a whole.
    whole_pixels: bool,
    rate: ShadingRate,
}

impl TileState {
    /// Makes the state of a draw in a pass; `topology` is that of the primitives that come to the
    /// rasterizer.
    pub fn new(state: &DrawState, topology: Topology, pass: &RenderPass) -> TileState {
        let lines = LinePlan { mode: state.line_mode, stipple: state.line_stipple };
        TileState {
            key: PixelKey::new(&state.pixel, &state.pixel_values, &pass.formats),
            values: state.pixel_values,
            lines: state.has_special_lines(topology).then_some(lines),
            loops: state.loops,
            ordered: state.ordered,
            whole_pixels: state.conservative != ConservativeMode::Disabled,
            rate: state.shading_rate,
        }
    }
}

/// A draw as the tiles see it.
#[derive(Clone, Copy)]
pub struct TileDraw<'a> {
    /// The draw.
    pub draw: &'a Draw,
    /// The plan of the draw.
    pub plan: &'a TilePlan,
    /// The command that a worker reports while it works for the draw.
    pub running: RunningCommand,
}

impl<'a> TileDraw<'a> {
    /// Returns the test that fragments that are tested late must pass before they are shaded, if
    /// the draw has one in a pass. (Queries of invocations count fragments that fail.)
    pub fn late_filter(&self, pass: &RenderPass) -> Option<&'a DepthPlan> {
        let TestOrder::Late { filter, .. } = &self.plan.tests else { return None };
        filter.as_ref().filter(|_| self.draw.queries.statistics.is_empty() && pass.removes_hidden_surfaces)
    }
}

/// The plan by which tiles process a draw.
#[derive(Debug)]
pub struct TilePlan {
    /// The path of the primitives.
    pub path: TilePath,
    /// The time of tests.
    pub tests: TestOrder,
    /// The invocations of the fragment stage.
    pub invocations: Invocations,
    /// The sizes of fragments, if they may have several pixels.
    pub coarse: Option<CoarsePlan>,
    /// The order of fragments.
    pub order: FragmentOrder,
    /// The coverage after the fragment stage.
    pub late_coverage: LateCoverage,
    /// The colours of a primitive's fragments.
    pub primitive_colors: PrimitiveColors,
    /// Depth and stencil tests.
    pub depth: DepthPlan,
    /// Colour writes.
    pub colors: Vec<ColorPlan>,
    /// Attachments (a bit each) whose components fragments overwrite completely, if that is their
    /// only effect after early tests.
    pub overwrites: Option<u8>,
    /// Attachments (a bit each) whose pixels may change, if fragments have no other effect.
    pub colors_only: Option<u8>,
    /// Alpha of colour outputs.
    pub alpha: OutputAlpha,
    /// Value of pSampleMask, cut to the pass's samples.
    pub sample_mask: u32,
    /// True if pixels are covered as a whole: if their centres lie inside of the half planes.
    pub covers_whole_pixels: bool,
    /// Sample positions that the draw sets.
    pub sample_locations: Option<Box<CustomSampleLocations>>,
    /// Slot of the alpha of colour output 0, which smooth lines multiply.
    pub smooth_alpha: Option<u16>,
}

fn color_slots(interface: &StageInterface, location: u32, index: u8) -> [u16; 4] {
    core::array::from_fn(|c| {
        let kind = SlotKind::User { location, component: c as u8, index };
        interface.output(kind).map_or(NO_SLOT, |i| i as u16)
    })
}

/// Returns the plans of the attachments to which fragments write, and a mask of these attachments.
fn color_plans(
    key: &PixelKey,
    values: &PixelValues,
    pass: &RenderPass,
    interface: &StageInterface,
) -> (Vec<ColorPlan>, u8) {
    let (mut colors, mut written) = (Vec::new(), 0);
    for (i, (key, surface)) in key.color.iter().zip(&pass.color).enumerate() {
        let plan = key.as_ref().zip(*surface).and_then(|(key, surface)| {
            let slots = [0, 1].map(|index| color_slots(interface, key.location.into(), index));
            ColorPlan::new(key, surface, slots, values.blend_constants)
        });
        written |= u8::from(plan.is_some()) << i;
        colors.extend(plan);
    }
    (colors, written)
}

/// Returns a fragment stage with an epilogue, once its code exists.
fn with_epilogue(stage: &CompiledStage, epilogue: &Epilogue) -> Option<CompiledStage> {
    Some(CompiledStage { info: stage.info.clone(), code: stage.code.with_epilogue(epilogue)? })
}

impl TilePlan {
    /// Returns the test before the fragment stage. With late tests, it is `filter`. With early
    /// tests, it is the draw's test; a draw that shades nothing is tested by rows only with
    /// `alone`, which means that no query counts fragments.
    pub fn early_test(&self, alone: bool, filter: Option<&DepthPlan>) -> EarlyTest {
        let test = match (&self.path, &self.tests) {
            (TilePath::Untested { .. }, _) => return EarlyTest::None,
            (TilePath::Lines(_), _) => return EarlyTest::Blocks,
            (TilePath::Tested, TestOrder::Late { .. }) => filter,
            (TilePath::Tested, _) => Some(&self.depth).filter(|_| self.shades() || alone),
        };
        let rows = test.and_then(|test| test.rows).filter(|_| self.sample_mask == 1);
        rows.map_or(EarlyTest::Blocks, EarlyTest::Rows)
    }

    /// Returns true if tests run before the fragment stage.
    #[inline(always)]
    pub fn tests_early(&self) -> bool {
        !matches!(self.tests, TestOrder::Late { .. })
    }

    /// Returns true if the fragment stage must run.
    #[inline(always)]
    pub fn shades(&self) -> bool {
        self.invocations != Invocations::None
    }

    /// Returns the attachments that a primitive overwrites completely in its pixels.
    pub fn opaque_attachments(&self) -> Option<u8> {
        self.overwrites.filter(|_| self.depth.is_no_op() && self.sample_mask != 0)
    }

    /// Returns the positions of `samples` samples.
    pub fn positions(&self, samples: u32) -> &SamplePositions {
        self.sample_locations.as_ref().map_or_else(|| sample_positions(samples), |places| &places.positions)
    }

    /// Makes the plan for a pass.
    pub fn new(stages: &GraphicsStages, state: &TileState, pass: &RenderPass) -> TilePlan {
        let TileState { key, values, lines, loops, ordered, whole_pixels, rate } = *state;
        let none = StageInterface::default();
        let info = stages.fragment().map(|f| &f.info);
        let interface = info.map_or(&none, |f| &f.interface);
        let fragment = info.and_then(|f| f.stage_info.fragment()).copied().unwrap_or_default();
        let builtin = |b| interface.output(SlotKind::Builtin(b)).map_or(NO_SLOT, |i| i as u16);
        let (colors, written) = color_plans(&key, &values, pass, interface);
        let depth = DepthPlan::new(&key, &values);
        let changes = fragment.kills
            || info.is_some_and(|f| f.side_effects)
            || fragment.writes_sample_mask
            || fragment.writes_stencil
            || fragment.writes_depth
            || key.alpha_to_coverage;
        // A stage that reads input attachments, or attachments as images, may read the pass's own
        // depth or stencil. It must see them without its own fragment's writes.
        let sees_writes = (fragment.reads_input_attachments || loops.depth_stencil) && depth.writes();
        let early = fragment.early_fragment_tests || fragment.post_depth_coverage || !(changes || sees_writes);
        let smooth = lines.is_some_and(|l| l.mode == LineMode::Smooth);
        let float = |&slot: &u16| interface.outputs.get(usize::from(slot)).is_some_and(|o| o.ty == SlotType::Float);
        let per_sample = key.samples > 1 && (fragment.sample_shading || key.sample_shading);
        let all_matters = fragment.reads_sample_mask && !fragment.post_depth_coverage;
        let sees_all = early && all_matters && key.samples > 1 && !per_sample && !depth.is_no_op();
        let coverage_is_final =
            early && !sees_all && !fragment.kills && !fragment.writes_sample_mask && !key.alpha_to_coverage;
        let shades = info.is_some() && (!colors.is_empty() || changes);
        let is_flat = fragment.flat && coverage_is_final && key.samples == 1 && lines.is_none() && written != 0;
        // A fragment of several pixels has no sample mask that the stage could read or write.
        // Fragments of one colour need not be shaded together.
        let may_be_coarse = shades
            && !(per_sample || fragment.sample_shading || is_flat)
            && !(fragment.reads_sample_mask || fragment.writes_sample_mask);
        let coarse = Some(rate)
            .filter(|_| may_be_coarse)
            .and_then(|rate| CoarsePlan::new(rate, stages.linkage().rate_row, pass.shading_rate));
        let writes_colors = coverage_is_final
            && coarse.is_none()
            && key.samples == 1
            && lines.is_none()
            && !info.is_some_and(|f| f.side_effects)
            && !fragment.reads_input_attachments
            && !loops.color;
        let overwrites = writes_colors && colors.iter().all(ColorPlan::overwrites);
        let epilogue = match &colors[..] {
            [color] if writes_colors && depth.is_no_op() && !fragment.ordered && !key.alpha_to_one => color.epilogue(),
            _ => None,
        };
        let epilogue = epilogue.zip(stages.fragment()).and_then(|(epilogue, stage)| with_epilogue(stage, &epilogue));
        // If the test fails, the stage runs without effect; stages that only discard fragments
        // cannot observe whether they run.
        let leaves_out = (fragment.kills || fragment.writes_sample_mask || key.alpha_to_coverage)
            && !fragment.writes_depth
            && !fragment.writes_stencil
            && !info.is_some_and(|f| f.side_effects)
            && !sees_writes;
        let tests = match early {
            true if sees_all => TestOrder::EarlyUnseen,
            true => TestOrder::Early,
            false => TestOrder::Late {
                filter: if leaves_out { depth.filter() } else { None },
                frag_depth: builtin(BuiltinSlot::FragDepth),
                frag_stencil: builtin(BuiltinSlot::FragStencilRef),
            },
        };
        let reads = |inputs: bool, loops: bool| loops || inputs && fragment.reads_input_attachments;
        let reads_own = reads(pass.inputs.color, loops.color) && written != 0
            || reads(pass.inputs.depth_stencil, loops.depth_stencil) && depth.writes();
        let reads_any = fragment.reads_input_attachments || loops.color || loops.depth_stencil;
        let is_ordered = fragment.ordered || reads_own || ordered && reads_any;
        let sample_mask = values.sample_mask & ((1 << key.samples) - 1);
        let is_untested = early && shades && depth.is_no_op() && key.samples == 1 && sample_mask != 0;
        let coverage_alpha = key.alpha_to_coverage.then(|| color_slots(interface, 0, 0)[3]);
        TilePlan {
            path: match lines {
                Some(lines) => TilePath::Lines(lines),
                None if is_untested => TilePath::Untested { epilogue },
                None => TilePath::Tested,
            },
            tests,
            invocations: match (shades, per_sample) {
                (false, _) => Invocations::None,
                (true, false) => Invocations::Pixel,
                (true, true) => Invocations::Sample,
            },
            coarse,
            order: if is_ordered { FragmentOrder::Primitives } else { FragmentOrder::Any },
            late_coverage: match coverage_is_final {
                true => LateCoverage::Final,
                false => LateCoverage::Changes {
                    sample_mask: builtin(BuiltinSlot::SampleMask),
                    alpha: coverage_alpha.filter(|&slot| slot != NO_SLOT),
                },
            },
            primitive_colors: if is_flat { PrimitiveColors::Flat } else { PrimitiveColors::Varying },
            colors_only: Some(written).filter(|_| !info.is_some_and(|f| f.side_effects) && !depth.writes()),
            overwrites: Some(written).filter(|&written| overwrites && written != 0),
            depth,
            colors,
            alpha: if key.alpha_to_one { OutputAlpha::One } else { OutputAlpha::Stage },
            sample_mask,
            covers_whole_pixels: whole_pixels && key.samples > 1,
            sample_locations: (values.sample_locations.as_ref().filter(|_| key.samples > 1))
                .map(|locations| Box::new(CustomSampleLocations::new(locations, key.samples))),
            smooth_alpha: smooth.then(|| color_slots(interface, 0, 0)[3]).filter(float),
        }
    }
}
