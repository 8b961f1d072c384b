//! The code around a shader's body: the function, the chunk loop, the start and the end of a chunk
//! of each stage.

use super::array::Arrays;
use super::deferred_atomics::DeferrableAtomics;
use super::effect_lanes::EffectLanes;
use super::function_frame::FunctionFrame;
use super::inputs::InterpolatedInputs;
use super::interface::StageSlots;
use super::lane_state::LaneState;
use super::licm::{HoistLevel, HoistLevels};
use super::load_vectorizer::VectorizedLoads;
use super::memory::{read_only, trusted};
use super::memory_poison::MemoryPoison;
use super::rectangle::RectangleState;
use super::region_info::RegionInfos;
use super::sample_batching::SampleBatches;
use super::sample_hoisting::HoistedSamples;
use super::suspend::SuspensionState;
use super::variable_pool::VariablePool;
use super::{EmitOptions, Emitter};
use crate::error::{Error, Result};
use crate::ir::Shader;
use crate::lir::{AccessReason, Block, Builder, Function, Type, Value as C};
use crate::passes::{Divergence, Suspension};
use base::abi::{BatchKind, EvaluationBatch, FragmentBatch, VertexBatch};
use base::shader::{PipelineLayoutInfo, WorkgroupInfo};
use core::mem::offset_of;
use cranelift_entity::SecondaryMap;

/// Builds the whole function and determines the size of its scratch memory.
pub fn function(
    shader: &Shader,
    div: &Divergence,
    layout: &PipelineLayoutInfo,
    &EmitOptions { lanes, row_lanes }: &EmitOptions,
    rectangles: Option<RectangleState>,
    poison: Option<MemoryPoison>,
) -> Result<(Function, u64)> {
    let mut b = Builder::new(&[Type::I64; 2]);
    let workgroup = shader.stage_info.workgroup();
    let invocations = workgroup.map_or(1, WorkgroupInfo::invocations);
    let chunks = u32::try_from(invocations.div_ceil(u64::from(lanes))).map_err(|_| Error::limit("workgroup size"))?;
    let function = FunctionFrame::new(&mut b, workgroup.is_some(), chunks);
    let exit = function.exit();
    let region_infos = RegionInfos::new(shader, div);
    let hoist_levels = HoistLevels::compute(shader, div);
    let plan = Suspension::analyze(shader, &|v| hoist_levels.level(v) != HoistLevel::Chunk)?;
    let suspension = SuspensionState::new(plan, chunks, |e, inst| e.inst_here(inst));
    let mut value_reps = SecondaryMap::new();
    value_reps.resize(shader.values.len());
    let mut e = Emitter {
        b,
        shader,
        div,
        region_infos,
        hoist_levels,
        vectorized_loads: VectorizedLoads::plan(shader, div, lanes),
        layout,
        lanes: LaneState::new(lanes, row_lanes),
        value_reps,
        targets: Vec::new(),
        suspension,
        variables: VariablePool::default(),
        function,
        arrays: Arrays::default(),
        slots: StageSlots::default(),
        fragment: None,
        rectangles,
        effects: EffectLanes::default(),
        primitives: None,
        inputs: InterpolatedInputs::default(),
        hoisted_samples: HoistedSamples::default(),
        deferred: None,
        sample_batches: SampleBatches::default(),
        image_args: None,
        texels: 0,
        lane_rows: None,
        ray_query_slots: None,
        poison,
    };
    e.poison_scratch();
    e.place_arrays()?;
    e.start_images();
    if shader.stage().row().batch == BatchKind::Quads {
        e.hoisted_samples = HoistedSamples::find(shader, div, lanes);
    }
    e.sample_batches = SampleBatches::find(shader, div, lanes, |inst| e.hoisted_samples.has(inst));
    e.deferred = DeferrableAtomics::find(shader, div, lanes, |v| e.region_infos.is_used(v));
    e.begin_deferred();
    match shader.stage().row().batch {
        BatchKind::Workgroup | BatchKind::Patches | BatchKind::Mesh => e.workgroup_loop()?,
        BatchKind::Vertices | BatchKind::Domain | BatchKind::Primitives | BatchKind::Invocations => {
            e.chunk_loop(exit)?;
        }
        BatchKind::Quads if e.rectangles.is_some() => e.rectangles(exit)?,
        BatchKind::Quads => {
            e.start_inputs();
            e.emit_hoisted_samples()?;
            e.chunk_loop(exit)?;
        }
    }
    e.enter(exit);
    e.end_deferred();
    e.b.return_();
    let scratch = if e.suspension.has_chunk_frame() {
        u64::from(e.suspension.chunk_frame.slots_start())
            + u64::from(e.suspension.chunk_frame.bytes()) * u64::from(e.function.chunks())
    } else {
        u64::from(e.arrays.bytes) + e.inputs.bytes() + e.hoisted_samples.bytes() + e.deferred_bytes()
    };
    Ok((e.b.finish(), scratch))
}

impl Emitter<'_> {
    /// Emits a loop over all chunks, with the body inside, and then a jump to `done`.
    pub fn chunk_loop(&mut self, done: Block) -> Result<()> {
        let latch = self.b.create_block();
        self.function.set_latch(latch);
        if self.function.chunks() == 1 && self.shader.stage().has_workgroups() {
            self.function.set_chunk(self.b.iconst(Type::I32, 0));
            self.chunk_body(latch)?;
            self.b.jump(done, &[]);
            return Ok(());
        }
        let count = self.chunk_count();
        self.for_chunks(count, done, |e| e.chunk_body(latch))
    }

    /// Emits the work of a chunk, from the current block to a jump to the block `latch`.
    fn chunk_body(&mut self, latch: Block) -> Result<()> {
        self.body()?;
        if !self.suspension.any() {
            self.finish_chunk()?;
            self.b.jump(latch, &[]);
        }
        self.enter(latch);
        Ok(())
    }

    /// Emits a chunk's instructions.
    pub fn body(&mut self) -> Result<()> {
        let exec = self.new_mask();
        self.lanes.start_chunk(exec);
        let ones = self.mask(true);
        self.lanes.set_full(true);
        if self.shader.stage().row().batch == BatchKind::Invocations {
            // The lanes are the same for the start and for all points.
            self.start_invocations()?;
        }
        let dispatch = self.start_segments();
        match self.shader.stage().row().batch {
            BatchKind::Workgroup | BatchKind::Patches | BatchKind::Mesh => self.start_workgroup(ones)?,
            BatchKind::Vertices => self.start_lanes(offset_of!(VertexBatch, count), ones)?,
            BatchKind::Domain => self.start_lanes(offset_of!(EvaluationBatch, count), ones)?,
            BatchKind::Primitives => self.start_primitives(ones)?,
            BatchKind::Invocations => {}
            BatchKind::Quads => match self.chunk_position() {
                Some(chunk_position) => self.start_rectangle(&chunk_position, ones),
                None => self.start_fragment(ones),
            },
        }
        self.place_slots();
        let root = &self.shader.root;
        self.clear_arrays();
        self.scope(root)?;
        match dispatch {
            Some(dispatch) if self.suspension.has_chunk_frame() => {
                let done = self.suspension.done();
                self.set_resume(done);
                self.finish_segments(dispatch, Self::load_resume);
            }
            Some(dispatch) => {
                self.finish_chunk()?;
                self.finish_segments(dispatch, Self::load_point);
            }
            None => {}
        }
        Ok(())
    }

    fn start_workgroup(&mut self, ones: C) -> Result<()> {
        let invocations = self.shader.workgroup()?.invocations();
        if invocations.is_multiple_of(u64::from(self.lanes.count())) {
            self.set_exec(ones, true);
            return Ok(());
        }
        let count = self.b.iconst(Type::I32, invocations as i64);
        let mask = self.lanes_below(count);
        self.set_exec(mask, false);
        Ok(())
    }

    /// Emits the end of a chunk's work.
    fn finish_chunk(&mut self) -> Result<()> {
        self.store_ends();
        if self.primitives.is_some() {
            return self.finish_primitives();
        }
        if self.fragment.is_none() {
            return Ok(());
        }
        let alive = self.alive()?;
        let words = self.mask_words(alive, self.lanes.row());
        let list = self.b.load(
            Type::I64,
            read_only(AccessReason::Field, offset_of!(FragmentBatch, alive) as i32),
            self.function.batch(),
        );
        let chunk = self.b.zext(Type::I64, self.function.chunk());
        let offset = self.b.shl_imm(chunk, words.len().ilog2() + 2);
        let address = self.b.iadd(list, offset);
        for (i, &bits) in words.iter().enumerate() {
            self.b.store(trusted(AccessReason::Element, 4 * i as i32), bits, address);
        }
        Ok(())
    }
}
