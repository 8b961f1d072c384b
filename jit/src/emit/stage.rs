//! The code around a shader's body: the function, the chunk loop, the start and the end of a chunk
//! of each stage.

use super::array::Arrays;
use super::deferred_atomics::DeferrableAtomics;
use super::inputs::InterpolatedInputs;
use super::interface::StageSlots;
use super::licm::{HoistLevel, HoistLevels};
use super::load_vectorizer::VectorizedLoads;
use super::memory::{read_only, trusted};
use super::memory_poison::MemoryPoison;
use super::rectangle::RectangleState;
use super::region_info::RegionInfos;
use super::sample_batching::SampleBatches;
use super::sample_hoisting::HoistedSamples;
use super::ssa_variable::SsaVariable;
use super::suspend::SuspensionState;
use super::value_rep::ValueRep;
use super::{EmitOptions, Emitter};
use crate::error::{Error, Result};
use crate::ir::{Shader, Ty};
use crate::lir::{AccessReason, Block, Builder, Function, IntCond, Type, Value as C};
use crate::passes::{Divergence, Steps, Suspension};
use base::abi::{
    AddressSpace, BatchHeader, BatchKind, ComputeBatch, EvaluationBatch, FragmentBatch, InvocationBatch,
    PrimitiveBatch, ShaderContext, VertexBatch,
};
use base::shader::{PipelineLayoutInfo, WorkgroupInfo};
use core::mem::offset_of;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// A chunk of vertices, or of a stage that takes primitives.
pub struct VertexState {
    /// Mask of the lanes whose index is below the batch's count.
    valid: C,
}

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
    let entry = b.current();
    let (ctx, batch) = (b.params(entry)[0], b.params(entry)[1]);
    let exit = b.create_block();
    let pointer =
        |b: &mut Builder, base, offset: usize| b.load(Type::I64, read_only(AccessReason::Field, offset as i32), base);
    let scratch = pointer(&mut b, batch, offset_of!(BatchHeader, scratch));
    let sink = pointer(&mut b, batch, offset_of!(BatchHeader, sink));
    let zeros = pointer(&mut b, ctx, offset_of!(ShaderContext, addresses) + offset_of!(AddressSpace, zeros));
    let abort = pointer(&mut b, ctx, offset_of!(ShaderContext, abort));
    let workgroup = shader.stage_info.workgroup();
    let shared = if workgroup.is_some() { pointer(&mut b, batch, offset_of!(ComputeBatch, shared)) } else { sink };
    let invocations = workgroup.map_or(1, WorkgroupInfo::invocations);
    let chunks = u32::try_from(invocations.div_ceil(u64::from(lanes))).map_err(|_| Error::limit("workgroup size"))?;
    let region_infos = RegionInfos::new(shader, div);
    let hoist_levels = HoistLevels::compute(shader, div);
    let plan = Suspension::analyze(shader, &|v| hoist_levels.level(v) != HoistLevel::Chunk)?;
    let suspension = SuspensionState::new(plan);
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
        lanes,
        row_lanes,
        value_reps,
        targets: Vec::new(),
        exec: SsaVariable { ty: Ty::B1, form: super::ssa_variable::RepForm::Vector, parts_storage: SmallVec::new() },
        full: true,
        suspension,
        free_variables: Vec::new(),
        ctx,
        batch,
        scratch,
        sink,
        zeros,
        abort,
        shared,
        chunk: ctx,
        chunks,
        workgroup_state: None,
        entry_block: entry,
        chunk_slots: scratch,
        resume_address: scratch,
        slots_start: (chunks * 4).next_multiple_of(32),
        latch: None,
        exit,
        arrays: Arrays::default(),
        slots: StageSlots::default(),
        fragment: None,
        rectangles,
        vertex: None,
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
        u64::from(e.slots_start) + u64::from(e.suspension.chunk_frame.bytes) * u64::from(e.chunks)
    } else {
        u64::from(e.arrays.bytes) + e.inputs.bytes() + e.hoisted_samples.bytes() + e.deferred_bytes()
    };
    Ok((e.b.finish(), scratch))
}

impl Emitter<'_> {
    /// Emits a loop over all chunks, with the body inside, and then a jump to `done`.
    pub fn chunk_loop(&mut self, done: Block) -> Result<()> {
        let latch = self.b.create_block();
        self.latch = Some(latch);
        if self.chunks == 1 && self.shader.stage().has_workgroups() {
            self.chunk = self.b.iconst(Type::I32, 0);
            self.chunk_body(latch)?;
            self.b.jump(done, &[]);
            return Ok(());
        }
        let count = self.chunk_count();
        self.for_chunks(count, done, |e| e.chunk_body(latch))
    }

    /// Emits a loop over `count` chunks, with `each` as its body, and then a jump to `done`.
    pub fn for_chunks(&mut self, count: C, done: Block, each: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let (header, body) = (self.b.create_block(), self.b.create_block());
        let zero = self.b.iconst(Type::I32, 0);
        self.chunk = self.b.append_param(header, Type::I32);
        self.b.jump(header, &[zero]);
        self.b.enter_loop(header);
        let more = self.b.icmp(IntCond::Ult, self.chunk, count);
        self.b.branch(more, body, &[], done, &[]);
        self.enter(body);
        each(self)?;
        let next = self.b.iadd_imm(self.chunk, 1);
        self.b.jump(header, &[next]);
        self.b.seal_block(header);
        Ok(())
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

    pub fn chunk_count(&mut self) -> C {
        let per_call = |e: &mut Self, offset: usize, shift: u32| {
            let n = e.b.load(Type::I32, read_only(AccessReason::Field, offset as i32), e.batch);
            let n = e.b.shl_imm(n, shift);
            let n = e.b.iadd_imm(n, i64::from(e.lanes) - 1);
            e.b.lshr_imm(n, e.lanes.trailing_zeros())
        };
        match self.shader.stage().row().batch {
            BatchKind::Workgroup | BatchKind::Patches | BatchKind::Mesh => {
                self.b.iconst(Type::I32, i64::from(self.chunks))
            }
            BatchKind::Vertices => per_call(self, offset_of!(VertexBatch, count), 0),
            BatchKind::Domain => per_call(self, offset_of!(EvaluationBatch, count), 0),
            BatchKind::Primitives => per_call(self, offset_of!(PrimitiveBatch, count), 0),
            BatchKind::Invocations => per_call(self, offset_of!(InvocationBatch, count), 0),
            BatchKind::Quads => per_call(self, offset_of!(FragmentBatch, count), 2),
        }
    }

    /// Emits a chunk's instructions.
    pub fn body(&mut self) -> Result<()> {
        self.exec = self.new_mask_variable(false);
        let ones = self.mask(true);
        self.full = true;
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

    /// Returns `chunk * lanes`, I32.
    pub fn first_lane(&mut self) -> C {
        self.b.shl_imm(self.chunk, self.lanes.trailing_zeros())
    }

    /// Returns the mask of the lanes whose index in the batch is below `count`.
    pub fn lanes_below(&mut self, count: C) -> Result<C> {
        let first = self.first_lane();
        let index = self.rep_to_vector(Ty::I32, &ValueRep::Affine(first, Steps::even(1, self.lanes)))?;
        let count = self.rep_to_vector(Ty::I32, &ValueRep::Uniform(count))?;
        Ok(self.b.icmp(IntCond::Ult, index, count))
    }

    fn start_workgroup(&mut self, ones: C) -> Result<()> {
        let invocations = self.shader.workgroup()?.invocations();
        if invocations.is_multiple_of(u64::from(self.lanes)) {
            self.set_exec(ones, true);
            return Ok(());
        }
        let count = self.b.iconst(Type::I32, invocations as i64);
        let mask = self.lanes_below(count)?;
        self.set_exec(mask, false);
        Ok(())
    }

    /// Sets up the lanes of a chunk; `field` is the offset of the number of invocations in the
    /// batch. Lanes behind the last invocation execute the same code but write no memory. If
    /// invocations see each other through subgroup operations, these lanes are inactive.
    pub fn start_lanes(&mut self, field: usize, ones: C) -> Result<()> {
        let count = self.b.load(Type::I32, read_only(AccessReason::Field, field as i32), self.batch);
        let valid = self.lanes_below(count)?;
        if self.shader.uses_subgroup {
            self.set_exec(valid, false);
        } else {
            self.set_exec(ones, true);
            self.vertex = Some(VertexState { valid });
        }
        Ok(())
    }

    /// Emits the end of a chunk's work.
    fn finish_chunk(&mut self) -> Result<()> {
        self.store_ends();
        if self.primitives.is_some() {
            return self.finish_primitives();
        }
        let Some(alive) = self.fragment.as_ref().map(|f| f.alive.clone()) else { return Ok(()) };
        let alive = self.read_single(&alive);
        let words = self.mask_words(alive, self.row_lanes);
        let list =
            self.b.load(Type::I64, read_only(AccessReason::Field, offset_of!(FragmentBatch, alive) as i32), self.batch);
        let chunk = self.b.zext(Type::I64, self.chunk);
        let offset = self.b.shl_imm(chunk, words.len().ilog2() + 2);
        let address = self.b.iadd(list, offset);
        for (i, &bits) in words.iter().enumerate() {
            self.b.store(trusted(AccessReason::Element, 4 * i as i32), bits, address);
        }
        Ok(())
    }

    /// Returns the mask of lanes that may write memory, or `None` for all lanes.
    pub fn side_effect_mask(&mut self) -> Option<C> {
        let mut mask = (!self.full).then(|| self.exec_mask());
        let mut limit = |e: &mut Self, m: C| {
            mask = Some(match mask {
                Some(old) => e.b.and(old, m),
                None => m,
            });
        };
        if let Some(valid) = self.vertex.as_ref().map(|v| v.valid) {
            limit(self, valid);
        }
        if let Some((covered, alive)) = self.fragment.as_ref().map(|f| (f.covered, f.alive.clone())) {
            let alive = self.read_single(&alive);
            limit(self, covered);
            limit(self, alive);
        }
        mask
    }
}
