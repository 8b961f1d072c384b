//! Sample hoisting: samples that every fragment takes, at coordinates that depend on no other
//! sample, are taken for all chunks of a batch before the chunk loop.
//!
//! A sample is one long chain of operations from its coordinates to its result, and it waits for
//! memory. A processor overlaps several samples if little code lies between them, but not if each
//! is followed by the rest of its chunk.
//!
//! So there are two loops. The first computes coordinates, repeating the operations that lead to
//! them. Then a helper calls the kernel for all chunks, and the chunk loop finds the results in
//! rows of the scratch memory.
//!
//! A hoisted sample also stands early in the program: no control flow and no effect comes before
//! it, and nothing that a sample may read is written. The same lanes therefore read the same texels
//! through the same descriptors. Results of lanes that were killed since are not used.

use super::Emitter;
use super::kernel_rows::{KernelRows, ROW};
use super::memory::read_only;
use super::value_rep::ValueRep;
use crate::error::{Error, Result};
use crate::ir::{CostClass, Inst, InstData, Node, Op, Region, SampleInfo, Shader, Space, Ty, Value, ValueDef};
use crate::lir::{AccessReason, Value as C};
use crate::passes::{Divergence, Shape};
use base::abi::{FragmentBatch, LodMode, MAX_LANES, SampleOp};
use cranelift_entity::SecondaryMap;

/// Alignment of rows: two rows of a kernel form one vector.
pub const ROW_ALIGNMENT: u64 = 2 * ROW;
/// Upper bound of the number of chunks.
const CHUNKS: u64 = FragmentBatch::MAX_QUADS as u64 * 4 / MAX_LANES as u64;
/// Number of rows of coordinates per chunk.
pub const COORDINATES: u64 = 2;
/// Number of rows of results per chunk.
pub const RESULTS: u64 = 4;
/// Upper bound of the number of hoisted samples, for which the rows stay in the first-level cache.
const MAX_SAMPLES: usize = 6;
/// Upper bound of the number of operations that compute the coordinates.
const MAX_COORDINATE_OPS: usize = 64;

/// The hoisted samples of a shader.
#[derive(Default)]
pub struct HoistedSamples {
    samples: Vec<Inst>,
    /// Operations that compute the coordinates, in program order.
    coordinate_ops: Vec<Inst>,
    /// Distinct pairs of coordinates; `at` has the index of the pair for each sample.
    coordinates: Vec<[Value; 2]>,
    at: Vec<usize>,
    /// Address of the rows of coordinates, which the rows of results follow.
    rows: Option<C>,
}

impl HoistedSamples {
    /// Finds the samples that can be hoisted, for chunks of `lanes` lanes.
    pub fn find(shader: &Shader, div: &Divergence, lanes: u32) -> HoistedSamples {
        let mut out = HoistedSamples::default();
        if shader.side_effects || (lanes as usize) < MAX_LANES {
            return out;
        }
        let mut hoistable = HoistableValues { shader, div, values: SecondaryMap::new() };
        out.region(&mut hoistable, &shader.root.body);
        let mut needed: SecondaryMap<Value, bool> = SecondaryMap::new();
        out.coordinates.iter().flatten().for_each(|&v| needed[v] = true);
        for &inst in out.coordinate_ops.iter().rev() {
            let data = &shader.insts[inst];
            if data.results().any(|v| needed[v]) {
                data.args.iter().for_each(|&v| needed[v] = true);
            }
        }
        out.coordinate_ops.retain(|&inst| shader.insts[inst].results().any(|v| needed[v]));
        if out.coordinate_ops.len() > MAX_COORDINATE_OPS { HoistedSamples::default() } else { out }
    }

    /// Walks the code that every invocation reaches. Code behind a scope is not certain to be
    /// reached, because a break out of the scope may leave outer scopes too.
    fn region(&mut self, hoistable: &mut HoistableValues<'_>, region: &Region) {
        for node in &region.nodes {
            match node {
                Node::Inst(inst) => self.inst(hoistable, *inst),
                Node::Scope(scope) => return self.region(hoistable, &scope.body),
                Node::If(_) | Node::Loop(_) => return,
            }
        }
    }

    fn inst(&mut self, hoistable: &mut HoistableValues<'_>, inst: Inst) {
        let data = &hoistable.shader.insts[inst];
        match &data.op {
            Op::Sample(info) if self.samples.len() < MAX_SAMPLES && hoistable.is_hoistable_sample(info, data) => {
                let coordinates = [data.args[2], data.args[3]];
                let found = self.coordinates.iter().position(|&other| other == coordinates);
                self.at.push(found.unwrap_or(self.coordinates.len()));
                if found.is_none() {
                    self.coordinates.push(coordinates);
                }
                self.samples.push(inst);
            }
            op if hoistable.is_hoistable(op, data) => {
                data.results().for_each(|v| hoistable.values[v] = true);
                self.coordinate_ops.push(inst);
            }
            _ => {}
        }
    }

    /// Returns the number of scratch bytes: alignment padding and the rows.
    pub fn bytes(&self) -> u64 {
        match self.samples.len() as u64 {
            0 => 0,
            count => ROW_ALIGNMENT + CHUNKS * ROW * (COORDINATES * self.coordinates.len() as u64 + RESULTS * count),
        }
    }

    /// Returns true if a sample is hoisted.
    pub fn has(&self, inst: Inst) -> bool {
        self.samples.contains(&inst)
    }

    /// Returns the offset of the rows of a sample's results for all chunks, relative to the first
    /// row of coordinates.
    fn results_offset(&self, sample: usize) -> i64 {
        (CHUNKS * ROW * (COORDINATES * self.coordinates.len() as u64 + RESULTS * sample as u64)) as i64
    }
}

/// Values that can be computed before all other code.
struct HoistableValues<'a> {
    shader: &'a Shader,
    div: &'a Divergence,
    values: SecondaryMap<Value, bool>,
}

impl HoistableValues<'_> {
    fn has(&self, v: Value) -> bool {
        self.values[v] || self.is_defined_by(v, |op, _| matches!(op, Op::Const(_)))
    }

    fn is_defined_by(&self, v: Value, is: impl Fn(&Op, &InstData) -> bool) -> bool {
        match self.shader.values[v].def {
            ValueDef::Inst(inst, _) => is(&self.shader.insts[inst].op, &self.shader.insts[inst]),
            ValueDef::Region => false,
        }
    }

    /// Returns true if an operation may lead to coordinates and may be repeated.
    fn is_hoistable(&self, op: &Op, data: &InstData) -> bool {
        let uniform = |v: Value| self.div.shape[v] == Shape::Uniform;
        let pure = match op {
            Op::LoadInput(..) | Op::Builtin(_) | Op::BufferDesc { .. } => true,
            // Loads at varying addresses are excluded, because they may be loaded together with
            // their neighbours.
            Op::Load(Space::Push | Space::Buffer, flags) => !flags.volatile && data.args.iter().all(|&v| uniform(v)),
            Op::Unary(_) | Op::Binary(_) | Op::Cmp(_) | Op::Convert(_) | Op::Select | Op::Fma => {
                op.info().cost != CostClass::Call
            }
            _ => false,
        };
        pure && data.args.iter().all(|&v| self.has(v))
    }

    /// Returns true for a plain sample through descriptors of constant indices, at known
    /// coordinates.
    fn is_hoistable_sample(&self, info: &SampleInfo, data: &InstData) -> bool {
        let constant = |v: Value| is_constant(self.shader, v);
        let fixed = |v: Value| {
            self.is_defined_by(v, |op, data| match op {
                Op::ImageDesc { .. } | Op::SamplerDesc { .. } => data.args.iter().all(|&v| constant(v)),
                _ => false,
            })
        };
        is_plain_sample(self.shader, info, data)
            && data.args[..2].iter().all(|&v| fixed(v))
            && data.args[2..][..COORDINATES as usize].iter().all(|&v| self.has(v))
    }
}

/// Returns true for a sample at two coordinates, of a level that the coordinates or a constant
/// choose.
pub fn is_plain_sample(shader: &Shader, info: &SampleInfo, data: &InstData) -> bool {
    let plain = SampleInfo {
        op: SampleOp::Sample,
        lod_mode: info.lod_mode,
        coords: COORDINATES as u8,
        dref: false,
        lod: info.lod_mode == LodMode::Explicit,
        grad: 0,
        offset: 0,
        min_lod: false,
        component: info.component,
        gather_offsets: None,
    };
    *info == plain
        && info.lod_mode != LodMode::Grad
        && data.args[2 + COORDINATES as usize..].iter().all(|&v| is_constant(shader, v))
        && data.results().all(|v| matches!(shader.ty(v), Ty::I32 | Ty::F32))
}

fn is_constant(shader: &Shader, v: Value) -> bool {
    match shader.values[v].def {
        ValueDef::Inst(inst, _) => matches!(shader.insts[inst].op, Op::Const(_)),
        ValueDef::Region => false,
    }
}

impl Emitter<'_> {
    /// Emits the hoisted samples of all chunks, if there are any, before the chunk loop.
    pub fn emit_hoisted_samples(&mut self) -> Result<()> {
        if self.hoisted_samples.samples.is_empty() {
            return Ok(());
        }
        let hoisted_samples = core::mem::take(&mut self.hoisted_samples);
        let start = (u64::from(self.arrays.bytes) + self.inputs.bytes()).next_multiple_of(ROW_ALIGNMENT);
        let rows = self.b.iadd_imm(self.function.scratch(), start as i64);
        let count = self.chunk_count();
        self.coordinate_loop(&hoisted_samples, rows, count)?;
        let count = self.b.imul_imm(count, self.kernel_parts() as i64);
        let shader = self.shader;
        let samples = hoisted_samples.samples.iter().zip(&hoisted_samples.at).enumerate();
        for (i, (&sample, &at)) in samples {
            let data = &shader.insts[sample];
            let Op::Sample(info) = &data.op else { return Err(Error::internal("an early sample that is none")) };
            for &v in &data.args[..2] {
                if let ValueDef::Inst(descriptor, _) = shader.values[v].def {
                    self.inst_here(descriptor)?;
                }
            }
            let coordinates = self.b.iadd_imm(rows, at as i64 * (CHUNKS * ROW * COORDINATES) as i64);
            let results = self.b.iadd_imm(rows, hoisted_samples.results_offset(i));
            self.sample_chunks(info, data, [coordinates, results, count])?;
        }
        self.hoisted_samples = HoistedSamples { rows: Some(rows), ..hoisted_samples };
        Ok(())
    }

    /// Emits the loop that computes the coordinates of all chunks.
    fn coordinate_loop(&mut self, hoisted_samples: &HoistedSamples, rows: C, count: C) -> Result<()> {
        let done = self.b.create_block();
        self.for_chunks(count, done, |e| e.store_coordinates(hoisted_samples, rows))?;
        self.enter(done);
        // The chunk loop computes these values again.
        for &inst in &hoisted_samples.coordinate_ops {
            self.shader.insts[inst].results().for_each(|v| self.value_reps[v] = None);
        }
        self.fragment = None;
        self.effects.end_fragments();
        Ok(())
    }

    /// Emits the computation and the stores of one chunk's coordinates.
    fn store_coordinates(&mut self, hoisted_samples: &HoistedSamples, rows: C) -> Result<()> {
        let exec = self.new_mask();
        self.lanes.start_chunk(exec);
        let ones = self.mask(true);
        self.start_fragment(ones);
        for &inst in &hoisted_samples.coordinate_ops {
            self.inst_here(inst)?;
        }
        let at = self.hoisted_row(rows, COORDINATES);
        for (i, &coordinates) in hoisted_samples.coordinates.iter().enumerate() {
            for (c, v) in coordinates.into_iter().enumerate() {
                let v = self.vector(v)?;
                let first = i as u64 * CHUNKS * COORDINATES * ROW;
                let rows = KernelRows { first, per_chunk: COORDINATES, row: c as u64 };
                self.store_kernel_rows(v, at, rows, AccessReason::Scratch);
            }
        }
        Ok(())
    }

    /// Defines the results of a hoisted sample; returns false if the sample is not hoisted.
    pub fn take_hoisted_sample(&mut self, inst: Inst) -> Result<bool> {
        let Some(rows) = self.hoisted_samples.rows else { return Ok(false) };
        let Some(sample) = self.hoisted_samples.samples.iter().position(|&sample| sample == inst) else {
            return Ok(false);
        };
        let data = &self.shader.insts[inst];
        let first = self.b.iadd_imm(rows, self.hoisted_samples.results_offset(sample));
        let at = self.hoisted_row(first, RESULTS);
        for (i, v) in data.results().enumerate() {
            let rows = KernelRows { first: 0, per_chunk: RESULTS, row: i as u64 };
            // The rows do not change while chunks run.
            let c = self.load_kernel_rows(self.shader.ty(v), at, rows, read_only(AccessReason::Scratch, 0));
            self.define(v, ValueRep::Varying(c))?;
        }
        Ok(true)
    }
}
