//! What surrounds a shader's body: the function, the chunk loop, the start and end of a chunk of each stage.

use super::Emitter;
use super::array::Arrays;
use super::barrier::Barriers;
use super::cell::Cells;
use super::facts::Facts;
use super::interface::Slots;
use super::memory::{read_only, trusted};
use super::rep::{Memo, Rep, Vecs};
use crate::error::{Error, Result};
use crate::ir::{Shader, Ty};
use crate::passes::Divergence;
use base::abi::{AddressSpace, BatchHeader, ComputeBatch, FragmentBatch, ShaderContext, VertexBatch};
use base::shader::{PipelineLayoutInfo, Stage};
use core::mem::offset_of;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value as C, types};
use cranelift_entity::SecondaryMap;
use cranelift_frontend::FunctionBuilder;
use smallvec::SmallVec;

/// A vertex chunk.
pub struct VertexState {
    /// Lanes below the batch's count.
    valid: Vecs,
}

/// Builds the whole function; (scratch bytes, has barriers).
pub fn function(
    mut b: FunctionBuilder<'_>,
    shader: &Shader,
    div: &Divergence,
    layout: &PipelineLayoutInfo,
    lanes: u32,
) -> Result<(u64, bool)> {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let (ctx, batch) = (b.block_params(entry)[0], b.block_params(entry)[1]);
    let exit = b.create_block();
    let pointer =
        |b: &mut FunctionBuilder<'_>, base, offset: usize| b.ins().load(types::I64, read_only(), base, offset as i32);
    let scratch = pointer(&mut b, batch, offset_of!(BatchHeader, scratch));
    let sink = pointer(&mut b, batch, offset_of!(BatchHeader, sink));
    let zeros = pointer(&mut b, ctx, offset_of!(ShaderContext, addresses) + offset_of!(AddressSpace, zeros));
    let abort = pointer(&mut b, ctx, offset_of!(ShaderContext, abort));
    let shared =
        if shader.stage == Stage::Compute { pointer(&mut b, batch, offset_of!(ComputeBatch, shared)) } else { sink };
    let invocations = shader.local_size.iter().map(|&n| u64::from(n)).product::<u64>();
    let chunks = u32::try_from(invocations.div_ceil(u64::from(lanes))).map_err(|_| Error::limit("workgroup size"))?;
    let facts = Facts::new(shader, div);
    let barriers = Barriers::new(shader, &facts);
    let has_barriers = barriers.any;
    let mut e = Emitter {
        b,
        shader,
        div,
        facts,
        layout,
        lanes,
        reps: SecondaryMap::new(),
        targets: Vec::new(),
        exec: Cells { ty: Ty::B1, form: super::cell::Form::Vectors, places: SmallVec::new() },
        full: true,
        barriers,
        free_variables: Vec::new(),
        ctx,
        batch,
        scratch,
        sink,
        zeros,
        abort,
        shared,
        chunk: ctx,
        chunks: if shader.stage == Stage::Compute { chunks } else { 1 },
        chunk_slots: scratch,
        resume_address: scratch,
        slots_start: (chunks * 4).next_multiple_of(32),
        latch: None,
        exit,
        arrays: Arrays::default(),
        memo: Memo::default(),
        slots: Slots::default(),
        fragment: None,
        vertex: None,
        image_args: None,
        lane_buffer: None,
        lane_rows: None,
    };
    e.place_arrays()?;
    e.chunk_loop()?;
    e.b.seal_all_blocks();
    let scratch = if has_barriers {
        u64::from(e.slots_start) + u64::from(e.barriers.frame) * u64::from(e.chunks)
    } else {
        u64::from(e.arrays.bytes)
    };
    let isa = crate::cranelift::isa::target(crate::cranelift::isa::Step::SinglePass)?;
    e.b.finalize(isa.frontend_config());
    Ok((scratch, has_barriers))
}

impl Emitter<'_> {
    /// for chunk in 0..chunks { body }
    fn chunk_loop(&mut self) -> Result<()> {
        let (header, body, latch) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.latch = Some(latch);
        let count = self.chunk_count();
        let zero = self.b.ins().iconst(types::I32, 0);
        if self.shader.stage == Stage::Compute && self.barriers.any {
            let pending = offset_of!(ComputeBatch, pending) as i32;
            self.b.ins().store(trusted(), zero, self.batch, pending);
        }
        self.b.append_block_param(header, types::I32);
        self.b.ins().jump(header, &[BlockArg::Value(zero)]);
        self.b.switch_to_block(header);
        self.chunk = self.b.block_params(header)[0];
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, self.chunk, count);
        let exit = self.exit;
        self.b.ins().brif(more, body, &[], exit, &[]);
        self.enter(body);
        self.body()?;
        if !self.barriers.any {
            self.finish_chunk();
            self.b.ins().jump(latch, &[]);
        }
        self.enter(latch);
        let next = self.b.ins().iadd_imm_s(self.chunk, 1);
        self.b.ins().jump(header, &[BlockArg::Value(next)]);
        if !self.barriers.any {
            self.b.seal_block(header);
        }
        self.enter(exit);
        self.b.ins().return_(&[]);
        Ok(())
    }

    fn chunk_count(&mut self) -> C {
        let per_call = |e: &mut Self, offset: usize, shift: i64| {
            let n = e.b.ins().load(types::I32, read_only(), e.batch, offset as i32);
            let n = e.b.ins().ishl_imm_u(n, shift);
            let n = e.b.ins().iadd_imm_s(n, i64::from(e.lanes) - 1);
            e.b.ins().ushr_imm_u(n, i64::from(e.lanes.trailing_zeros()))
        };
        match self.shader.stage {
            Stage::Compute => self.b.ins().iconst(types::I32, i64::from(self.chunks)),
            Stage::Vertex => per_call(self, offset_of!(VertexBatch, count), 0),
            Stage::Fragment => per_call(self, offset_of!(FragmentBatch, count), 2),
        }
    }

    fn body(&mut self) -> Result<()> {
        self.exec = self.mask_cells_for_exec();
        let ones = {
            self.full = true;
            self.exec_mask()
        };
        let dispatch = self.start_regions();
        match self.shader.stage {
            Stage::Compute => self.start_compute(&ones),
            Stage::Vertex => self.start_vertex(&ones),
            Stage::Fragment => self.start_fragment(&ones),
        }
        self.place_slots();
        let root = &self.shader.root;
        self.clear_arrays();
        self.scope(root)?;
        if let Some(dispatch) = dispatch {
            self.finish_regions(dispatch);
        }
        Ok(())
    }

    /// In a shader with barriers: a block that will jump to the resume point, and the block of the start.
    fn start_regions(&mut self) -> Option<Block> {
        if !self.barriers.any {
            return None;
        }
        let chunk = self.b.ins().uextend(types::I64, self.chunk);
        let scaled = self.b.ins().ishl_imm_u(chunk, 4);
        self.chunk_slots = self.b.ins().iadd(self.scratch, scaled);
        let words = self.b.ins().ishl_imm_u(chunk, 2);
        self.resume_address = self.b.ins().iadd(self.scratch, words);
        let (dispatch, start) = (self.b.create_block(), self.b.create_block());
        self.b.ins().jump(dispatch, &[]);
        self.barriers.resume.push(start);
        self.b.switch_to_block(start);
        Some(dispatch)
    }

    /// The chunk is done; and the dispatch over resume points, now that all are known.
    fn finish_regions(&mut self, dispatch: Block) {
        let latch = self.latch.unwrap_or(self.exit);
        let done = self.barriers.resume.len() as u32;
        self.set_resume(done);
        self.b.ins().jump(latch, &[]);
        self.b.switch_to_block(dispatch);
        let index = self.b.ins().load(types::I32, trusted(), self.resume_address, 0);
        let blocks: Vec<_> = self.barriers.resume.iter().map(|&r| self.b.func.dfg.block_call(r, &[])).collect();
        // Anything else means done.
        let default = self.b.func.dfg.block_call(latch, &[]);
        let table = cranelift_codegen::ir::JumpTableData::new(default, &blocks);
        let table = self.b.create_jump_table(table);
        self.b.ins().br_table(index, table);
    }

    fn mask_cells_for_exec(&mut self) -> Cells {
        let in_slots = self.barriers.any;
        self.vector_cells(Ty::B1, in_slots)
    }

    /// chunk * lanes, I32.
    pub fn first_lane(&mut self) -> C {
        self.b.ins().ishl_imm_u(self.chunk, i64::from(self.lanes.trailing_zeros()))
    }

    /// Lanes whose index in the batch is below `count`.
    fn lanes_below(&mut self, count: C) -> Result<Vecs> {
        let first = self.first_lane();
        let index = self.rep_vectors(Ty::I32, &Rep::Affine(first, 1))?;
        let count = self.b.ins().splat(types::I32X4, count);
        Ok(index.iter().map(|&i| self.b.ins().icmp(IntCC::UnsignedLessThan, i, count)).collect())
    }

    fn start_compute(&mut self, ones: &Vecs) {
        let invocations: u32 = self.shader.local_size.iter().product();
        if invocations.is_multiple_of(self.lanes) {
            self.set_exec(ones, true);
            return;
        }
        let count = self.b.ins().iconst(types::I32, i64::from(invocations));
        if let Ok(mask) = self.lanes_below(count) {
            self.set_exec(&mask, false);
        }
    }

    fn start_vertex(&mut self, ones: &Vecs) {
        self.set_exec(ones, true);
        let count = self.b.ins().load(types::I32, read_only(), self.batch, offset_of!(VertexBatch, count) as i32);
        if let Ok(valid) = self.lanes_below(count) {
            self.vertex = Some(VertexState { valid });
        }
    }

    /// The end of a chunk's work.
    fn finish_chunk(&mut self) {
        let Some(alive) = self.fragment.as_ref().map(|f| f.alive.clone()) else { return };
        let alive = self.cell_vectors(&alive);
        let bits = self.mask_bits(&alive);
        let list = self.b.ins().load(types::I64, read_only(), self.batch, offset_of!(FragmentBatch, alive) as i32);
        let chunk = self.b.ins().uextend(types::I64, self.chunk);
        let offset = self.b.ins().ishl_imm_u(chunk, 2);
        let address = self.b.ins().iadd(list, offset);
        self.b.ins().store(trusted(), bits, address, 0);
    }

    /// I32 with a bit per lane.
    pub fn mask_bits(&mut self, mask: &Vecs) -> C {
        let mut bits = self.b.ins().vhigh_bits(types::I32, mask[0]);
        for (i, &m) in mask.iter().enumerate().skip(1) {
            let more = self.b.ins().vhigh_bits(types::I32, m);
            let more = self.b.ins().ishl_imm_u(more, 4 * i as i64);
            bits = self.b.ins().bor(bits, more);
        }
        bits
    }

    /// Lanes that may write memory; None: all of them.
    pub fn side_effect_mask(&mut self) -> Option<Vecs> {
        let mut mask = (!self.full).then(|| self.exec_mask());
        let mut limit = |e: &mut Self, m: Vecs| {
            mask = Some(match mask.take() {
                Some(old) => e.mask_and(&old, &m),
                None => m,
            });
        };
        if let Some(valid) = self.vertex.as_ref().map(|v| v.valid.clone()) {
            limit(self, valid);
        }
        if let Some((covered, alive)) = self.fragment.as_ref().map(|f| (f.covered.clone(), f.alive.clone())) {
            let alive = self.cell_vectors(&alive);
            limit(self, covered);
            limit(self, alive);
        }
        mask
    }
}
