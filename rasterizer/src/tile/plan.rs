//! The meaning of stages and a pixel key for the tiles of a pass: test order, depth plan, colour
//! plans.

#![forbid(unsafe_code)]

use super::color::ColorPlan;
use super::depth::{DepthPlan, RowsTest};
use super::pass::RenderPass;
use crate::api::{AttachmentLoops, Draw, DrawState, GraphicsStages, LineMode, Stipple, Topology};
use crate::prim::{CustomSampleLocations, sample_positions};
use crate::stages::NO_SLOT;
use base::abi::SamplePositions;
use base::pixel::{PixelKey, PixelValues};
use base::shader::{BuiltinSlot, CompiledStage, SlotKind, SlotType, StageInterface};
use execution::RunningCommand;

/// The special lines of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePlan {
    /// The rasterization mode of the lines.
    pub mode: LineMode,
    /// The stipple, which leaves out pixels along a line.
    pub stipple: Option<Stipple>,
}

/// The state on which a plan depends besides stages and attachments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileState {
    key: PixelKey,
    values: PixelValues,
    /// Plan of lines that are more than rectangles.
    lines: Option<LinePlan>,
    loops: AttachmentLoops,
    ordered: bool,
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

/// The plan by which tiles process a draw.
#[derive(Debug)]
pub struct TilePlan {
    /// True if tests run before the fragment stage (and nothing after it can change coverage).
    pub early: bool,
    /// True if the fragments of a pixel are shaded one after the other in the order of primitives,
    /// and so are its samples. The stage requests it, or it reads an attachment that it writes.
    /// (Without a flag of VK_EXT_rasterization_order_attachment_access, the specification
    /// guarantees no order for such reads. Other drivers have one, and applications rely on it.)
    pub ordered: bool,
    /// True if the fragment stage sees the coverage before early tests, for pixels of which any
    /// sample is left.
    pub sees_all: bool,
    /// True if nothing after the fragment stage changes coverage.
    pub coverage_is_final: bool,
    /// True if there is one invocation per sample.
    pub per_sample: bool,
    /// Depth and stencil tests.
    pub depth: DepthPlan,
    /// Test that fragments that are tested late must pass before they are shaded, if shading a
    /// failing fragment has no effect.
    pub filter: Option<DepthPlan>,
    /// Colour writes.
    pub colors: Vec<ColorPlan>,
    /// True if the fragment stage must run, because it writes something or has effects.
    pub shades: bool,
    /// True if covered pixels are only shaded: there are no tests, one sample and no special lines.
    pub plain: bool,
    /// Attachments (a bit each) whose components fragments overwrite completely, if that is their
    /// only effect after early tests.
    pub overwrites: Option<u8>,
    /// Attachments (a bit each) whose pixels may change, if fragments have no other effect.
    pub colors_only: Option<u8>,
    /// Code of the fragment stage that takes rectangles and writes its colours itself, if that is
    /// the only effect of fragments and the code exists.
    pub epilogue: Option<CompiledStage>,
    /// True if all fragments of a primitive have the same colours, and no other effect; one is
    /// shaded for all, if the colour plans support it.
    pub flat: bool,
    /// Slot of FragDepth, unless early tests make it irrelevant.
    pub frag_depth: u16,
    /// Slot of FragStencilRef.
    pub frag_stencil: u16,
    /// Slot of the SampleMask output.
    pub sample_mask_output: u16,
    /// Slot of the alpha of colour output 0, for alpha to coverage.
    pub coverage_alpha: Option<u16>,
    /// Value of alphaToOne.
    pub alpha_to_one: bool,
    /// Value of pSampleMask, cut to the pass's samples.
    pub sample_mask: u32,
    /// Sample positions that the draw sets.
    pub sample_locations: Option<Box<CustomSampleLocations>>,
    /// Plan of the lines, if the primitives are lines that are more than rectangles.
    pub lines: Option<LinePlan>,
    /// Slot of the alpha of colour output 0, which smooth lines multiply.
    pub smooth_alpha: Option<u16>,
}

fn color_slots(interface: &StageInterface, location: u32, index: u8) -> [u16; 4] {
    core::array::from_fn(|c| {
        let kind = SlotKind::User { location, component: c as u8, index };
        interface.output(kind).map_or(NO_SLOT, |i| i as u16)
    })
}

impl TilePlan {
    /// Returns the row test before the fragment stage, if it tests only depth with one sample per
    /// pixel. With late tests, it is the filter, if `filters` is set. With early tests, it is the
    /// draw's test; a draw that shades nothing has it only with `alone`, which means that no query
    /// counts fragments.
    pub fn depth_rows(&self, alone: bool, filters: bool) -> Option<RowsTest> {
        let test = match self.early {
            true => Some(&self.depth).filter(|_| self.shades || alone),
            false => self.filter.as_ref().filter(|_| filters),
        };
        test.and_then(|test| test.rows).filter(|_| self.sample_mask == 1 && self.lines.is_none())
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
        let TileState { key, values, lines, loops, ordered } = *state;
        let none = StageInterface::default();
        let info = stages.fragment().map(|f| &f.info);
        let interface = info.map_or(&none, |f| &f.interface);
        let fragment = info.and_then(|f| f.stage_info.fragment()).copied().unwrap_or_default();
        let builtin = |b| interface.output(SlotKind::Builtin(b)).map_or(NO_SLOT, |i| i as u16);
        let (mut colors, mut written) = (Vec::new(), 0);
        for (i, (key, surface)) in key.color.iter().zip(&pass.color).enumerate() {
            let plan = key.as_ref().zip(*surface).and_then(|(key, surface)| {
                let slots = [0, 1].map(|index| color_slots(interface, key.location.into(), index));
                ColorPlan::new(key, surface, slots, values.blend_constants)
            });
            written |= u8::from(plan.is_some()) << i;
            colors.extend(plan);
        }
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
        let (frag_depth, frag_stencil) = if early {
            (NO_SLOT, NO_SLOT)
        } else {
            (builtin(BuiltinSlot::FragDepth), builtin(BuiltinSlot::FragStencilRef))
        };
        let smooth = lines.is_some_and(|l| l.mode == LineMode::Smooth);
        let float = |&slot: &u16| interface.outputs.get(usize::from(slot)).is_some_and(|o| o.ty == SlotType::Float);
        let per_sample = key.samples > 1 && (fragment.sample_shading || key.sample_shading);
        let all_matters = fragment.reads_sample_mask && !fragment.post_depth_coverage;
        let sees_all = early && all_matters && key.samples > 1 && !per_sample && !depth.is_no_op();
        let coverage_is_final =
            early && !sees_all && !fragment.kills && !fragment.writes_sample_mask && !key.alpha_to_coverage;
        let writes_colors = coverage_is_final
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
        let epilogue = epilogue.zip(stages.fragment()).and_then(|(epilogue, stage)| {
            Some(CompiledStage { info: stage.info.clone(), code: stage.code.with_epilogue(&epilogue)? })
        });
        // If the test fails, the stage runs without effect; stages that only discard fragments
        // cannot observe whether they run.
        let leaves_out = (fragment.kills || fragment.writes_sample_mask || key.alpha_to_coverage)
            && !fragment.writes_depth
            && !fragment.writes_stencil
            && !info.is_some_and(|f| f.side_effects)
            && !sees_writes;
        let filter = if !early && leaves_out { depth.filter() } else { None };
        let shades = info.is_some() && (!colors.is_empty() || changes);
        let reads = |inputs: bool, loops: bool| loops || inputs && fragment.reads_input_attachments;
        let reads_own = reads(pass.inputs.color, loops.color) && written != 0
            || reads(pass.inputs.depth_stencil, loops.depth_stencil) && depth.writes();
        let sample_mask = values.sample_mask & ((1 << key.samples) - 1);
        TilePlan {
            early,
            sees_all,
            ordered: fragment.ordered
                || reads_own
                || ordered && (fragment.reads_input_attachments || loops.color || loops.depth_stencil),
            filter,
            plain: early && shades && depth.is_no_op() && key.samples == 1 && sample_mask != 0 && lines.is_none(),
            coverage_is_final,
            epilogue,
            flat: fragment.flat && coverage_is_final && key.samples == 1 && lines.is_none() && written != 0,
            colors_only: Some(written).filter(|_| !info.is_some_and(|f| f.side_effects) && !depth.writes()),
            overwrites: Some(written).filter(|&written| overwrites && written != 0),
            per_sample,
            depth,
            shades,
            colors,
            frag_depth,
            frag_stencil,
            sample_mask_output: builtin(BuiltinSlot::SampleMask),
            coverage_alpha: key.alpha_to_coverage.then(|| color_slots(interface, 0, 0)[3]).filter(|&s| s != NO_SLOT),
            alpha_to_one: key.alpha_to_one,
            sample_mask,
            sample_locations: (values.sample_locations.as_ref().filter(|_| key.samples > 1))
                .map(|locations| Box::new(CustomSampleLocations::new(locations, key.samples))),
            lines,
            smooth_alpha: smooth.then(|| color_slots(interface, 0, 0)[3]).filter(float),
        }
    }
}
