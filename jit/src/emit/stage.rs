//! What surrounds a shader's body: the chunk loop, inputs, outputs, built-ins, private arrays, helper invocations.

use super::Emitter;
use super::barrier::Barriers;
use super::cell::Cells;
use super::memory::{read_only, trusted};
use super::rep::{Rep, Vecs, scalar_type, vector_type};
use crate::error::{Error, Result};
use crate::ir::{Builtin, InstData, InterpolateAt, Shader, Ty, Value, Var};
use crate::passes::{Divergence, Shape};
use base::abi::{
    BatchHeader, ComputeBatch, FragmentBatch, FragmentPrimitive, FragmentQuad, ShaderContext, VertexBatch,
};
use base::shader::{Interpolation, PipelineLayoutInfo, Stage};
use core::mem::offset_of;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value as C, types};
use cranelift_entity::SecondaryMap;
use cranelift_frontend::FunctionBuilder;
use smallvec::SmallVec;

/// Private arrays in scratch memory: `[element][lane]`; per chunk in shaders with barriers.
#[derive(Default)]
pub struct Arrays {
    offset: SecondaryMap<Var, u32>,
    /// Bytes of all arrays (of one chunk).
    bytes: u32,
}

/// The quads of a fragment chunk, by group of four lanes.
pub struct FragmentState {
    /// `FragmentPrimitive` pointers.
    primitives: SmallVec<[C; 2]>,
    /// Coverage (I32) and sample (I32).
    coverage: SmallVec<[C; 2]>,
    samples: SmallVec<[C; 2]>,
    /// Integer pixel positions, I32X4.
    pixel: [Vecs; 2],
    /// Sample or centre position inside the pixel, F32X4.
    inside: [Vecs; 2],
    /// Lanes with coverage.
    covered: Vecs,
    /// Lanes neither killed nor demoted.
    alive: Cells,
}

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
    let abort = pointer(&mut b, ctx, offset_of!(ShaderContext, abort));
    let shared =
        if shader.stage == Stage::Compute { pointer(&mut b, batch, offset_of!(ComputeBatch, shared)) } else { sink };
    let invocations = shader.local_size.iter().map(|&n| u64::from(n)).product::<u64>();
    let chunks = u32::try_from(invocations.div_ceil(u64::from(lanes))).map_err(|_| Error::limit("workgroup size"))?;
    let barriers = Barriers::new(shader);
    let has_barriers = barriers.any;
    let mut e = Emitter {
        b,
        shader,
        div,
        layout,
        lanes,
        reps: SecondaryMap::new(),
        targets: Vec::new(),
        exec: Cells { ty: Ty::B1, form: super::cell::Form::Vectors, places: SmallVec::new() },
        full: true,
        barriers,
        ctx,
        batch,
        scratch,
        sink,
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
        fragment: None,
        vertex: None,
        image_args: None,
        lane_buffer: None,
    };
    e.place_arrays()?;
    e.chunk_loop()?;
    e.b.seal_all_blocks();
    let scratch = if has_barriers {
        u64::from(e.slots_start) + u64::from(e.barriers.frame) * u64::from(e.chunks)
    } else {
        u64::from(e.arrays.bytes)
    };
    let isa = super::isa::target(super::Tier::Full)?;
    e.b.finalize(isa.frontend_config());
    Ok((scratch, has_barriers))
}

impl Emitter<'_> {
    fn place_arrays(&mut self) -> Result<()> {
        let copies = if self.barriers.any { u64::from(self.chunks) } else { 1 };
        let mut bytes = 0u64;
        for (var, data) in self.shader.vars.iter() {
            if matches!(data.ty, Ty::I8 | Ty::I16 | Ty::F16 | Ty::Buf | Ty::Img | Ty::Smp) {
                return Err(Error::unsupported(format!("private variable {} of {:?}", data.name, data.ty)));
            }
            let size = u64::from(data.len) * u64::from(self.lanes) * u64::from(scalar_bytes(data.ty));
            self.arrays.offset[var] = bytes as u32;
            bytes += size;
            if bytes * copies > super::MAX_SCRATCH {
                return Err(Error::limit("private memory"));
            }
        }
        self.arrays.bytes = bytes as u32;
        Ok(())
    }

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
    fn first_lane(&mut self) -> C {
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

    fn start_fragment(&mut self, ones: &Vecs) {
        self.set_exec(ones, true);
        let groups = self.lanes as usize / 4;
        let quads = self.b.ins().load(types::I64, read_only(), self.batch, offset_of!(FragmentBatch, quads) as i32);
        let size = size_of::<FragmentQuad>() as i64;
        let chunk = self.b.ins().uextend(types::I64, self.chunk);
        let start = self.b.ins().imul_imm_s(chunk, size * groups as i64);
        let quads = self.b.ins().iadd(quads, start);
        let mut state = FragmentState {
            primitives: SmallVec::new(),
            coverage: SmallVec::new(),
            samples: SmallVec::new(),
            pixel: [Vecs::new(), Vecs::new()],
            inside: [Vecs::new(), Vecs::new()],
            covered: Vecs::new(),
            alive: self.vector_cells(Ty::B1, false),
        };
        for g in 0..groups {
            let at = |field: usize| (g * size as usize + field) as i32;
            let half = |e: &mut Self, field: usize| e.b.ins().uload16(types::I32, read_only(), quads, at(field));
            let primitive = self.b.ins().load(types::I64, read_only(), quads, at(offset_of!(FragmentQuad, primitive)));
            state.primitives.push(primitive);
            let coverage = half(self, offset_of!(FragmentQuad, coverage));
            state.coverage.push(coverage);
            let sample = half(self, offset_of!(FragmentQuad, sample));
            state.samples.push(sample);
            for (axis, (field, steps)) in
                [(offset_of!(FragmentQuad, x), [0, 1, 0, 1]), (offset_of!(FragmentQuad, y), [0, 0, 1, 1])]
                    .into_iter()
                    .enumerate()
            {
                let p = half(self, field);
                let p = self.b.ins().splat(types::I32X4, p);
                let steps = self.vector_constant(steps);
                let p = self.b.ins().iadd(p, steps);
                state.pixel[axis].push(p);
                let inside = self.sample_inside(sample, axis);
                state.inside[axis].push(inside);
            }
            let bits = self.b.ins().splat(types::I32X4, coverage);
            let nibbles = self.vector_constant([0xf, 0xf0, 0xf00, 0xf000]);
            let bits = self.b.ins().band(bits, nibbles);
            let zero = self.vector_constant([0; 4]);
            let covered = self.b.ins().icmp(IntCC::NotEqual, bits, zero);
            state.covered.push(covered);
        }
        let alive = state.alive.clone();
        self.set_cell_vectors(&alive, ones);
        self.fragment = Some(state);
    }

    /// Position inside the pixel along an axis: the sample's, or 0.5 for per-pixel shading. F32X4.
    fn sample_inside(&mut self, sample: C, axis: usize) -> C {
        let per_pixel = self.b.ins().icmp_imm_u(IntCC::Equal, sample, 0xffff);
        let position = self.sample_position(sample, axis);
        let half = self.constant(Ty::F32, u64::from(0.5f32.to_bits()));
        let position = self.b.ins().select(per_pixel, half, position);
        self.b.ins().splat(types::F32X4, position)
    }

    /// F32: position of a sample (any index; clamped).
    fn sample_position(&mut self, sample: C, axis: usize) -> C {
        let last = self.b.ins().iconst(types::I32, 3);
        let index = self.b.ins().umin(sample, last);
        let index = self.b.ins().uextend(types::I64, index);
        let offset = self.b.ins().ishl_imm_u(index, 3);
        let address = self.b.ins().iadd(self.batch, offset);
        let field = offset_of!(FragmentBatch, sample_positions) + axis * 4;
        self.b.ins().load(types::F32, read_only(), address, field as i32)
    }

    fn fragment(&self) -> Result<&FragmentState> {
        self.fragment.as_ref().ok_or_else(|| Error::invalid("a fragment operation outside of a fragment stage"))
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

    /// `Op::Demote`.
    pub fn demote(&mut self) -> Result<()> {
        let alive = self.fragment()?.alive.clone();
        let exec = self.exec_mask();
        let old = self.cell_vectors(&alive);
        let new = self.mask_and_not(&old, &exec);
        self.set_cell_vectors(&alive, &new);
        Ok(())
    }

    /// `Op::IsHelper`.
    pub fn is_helper(&mut self, data: &InstData) -> Result<()> {
        let (covered, alive) = (self.fragment()?.covered.clone(), self.fragment()?.alive.clone());
        let alive = self.cell_vectors(&alive);
        let working = self.mask_and(&covered, &alive);
        let helper = working.iter().map(|&m| self.b.ins().bnot(m)).collect();
        self.define(data.result(), Rep::Varying(helper))
    }

    /// Address of slot `slot` of the current chunk in an `[chunk][slot][lane]` array.
    fn slot_base(&mut self, array: usize, slots: usize, slot: u32) -> (C, i32) {
        let list = self.b.ins().load(types::I64, read_only(), self.batch, array as i32);
        let chunk = self.b.ins().uextend(types::I64, self.chunk);
        let bytes = i64::from(self.lanes) * 4;
        let offset = self.b.ins().imul_imm_s(chunk, slots as i64 * bytes);
        (self.b.ins().iadd(list, offset), (i64::from(slot) * bytes) as i32)
    }

    /// Vectors of a slot.
    fn load_slot_vectors(&mut self, array: usize, slots: usize, slot: u32, ty: Ty) -> Vecs {
        let (base, at) = self.slot_base(array, slots, slot);
        (0..self.vector_count(ty))
            .map(|i| self.b.ins().load(vector_type(ty), read_only(), base, at + 16 * i as i32))
            .collect()
    }

    /// `Op::LoadInput`.
    pub fn load_input(&mut self, slot: u32, at: InterpolateAt, data: &InstData) -> Result<()> {
        let ty = self.shader.ty(data.result());
        let vecs = match self.shader.stage {
            Stage::Vertex => {
                self.load_slot_vectors(offset_of!(VertexBatch, inputs), self.shader.inputs.len(), slot, ty)
            }
            Stage::Fragment => self.interpolate(slot, at, ty, data)?,
            Stage::Compute => return Err(Error::invalid("a compute stage has no inputs")),
        };
        self.define(data.result(), Rep::Varying(vecs))
    }

    /// `Op::StoreOutput`.
    pub fn store_output(&mut self, slot: u32, data: &InstData) -> Result<()> {
        let array = match self.shader.stage {
            Stage::Vertex => offset_of!(VertexBatch, outputs),
            Stage::Fragment => offset_of!(FragmentBatch, outputs),
            Stage::Compute => return Err(Error::invalid("a compute stage has no outputs")),
        };
        let mut vecs = self.vectors(data.args[0])?;
        let (base, at) = self.slot_base(array, self.shader.outputs.len(), slot);
        if !self.full {
            // The batch's outputs are this thread's own: reading and writing the others' lanes back is harmless.
            let ty = self.shader.ty(data.args[0]);
            let load = |e: &mut Self, i| e.b.ins().load(vector_type(ty), trusted(), base, at + 16 * i as i32);
            let old = (0..vecs.len()).map(|i| load(self, i)).collect();
            let mask = self.exec_mask();
            vecs = self.select_vectors(ty, &mask, &vecs, &old);
        }
        for (i, &v) in vecs.iter().enumerate() {
            self.b.ins().store(trusted(), v, base, at + 16 * i as i32);
        }
        Ok(())
    }

    /// Plane `[dx, dy, c]` of a primitive at positions relative to its origin.
    fn plane(&mut self, primitive: C, field: usize, x: C, y: C) -> C {
        let [dx, dy, c] = [0, 4, 8].map(|o| self.primitive_f32(primitive, field + o));
        let px = self.b.ins().fmul(dx, x);
        let py = self.b.ins().fmul(dy, y);
        let sum = self.b.ins().fadd(px, py);
        self.b.ins().fadd(sum, c)
    }

    fn primitive_f32(&mut self, primitive: C, field: usize) -> C {
        let c = self.b.ins().load(types::F32, read_only(), primitive, field as i32);
        self.b.ins().splat(types::F32X4, c)
    }

    /// Position relative to the primitive's origin: pixel + inside - origin, F32X4.
    fn relative(&mut self, g: usize, axis: usize, inside: C) -> Result<C> {
        let f = self.fragment()?;
        let (primitive, pixel) = (f.primitives[g], f.pixel[axis][g]);
        let field = offset_of!(FragmentPrimitive, origin) + 4 * axis;
        let origin = self.b.ins().load(types::I32, read_only(), primitive, field as i32);
        let origin = self.b.ins().splat(types::I32X4, origin);
        let delta = self.b.ins().isub(pixel, origin);
        let delta = self.b.ins().fcvt_from_sint(types::F32X4, delta);
        Ok(self.b.ins().fadd(delta, inside))
    }

    /// (weight of vertex 1, weight of vertex 2) at a position inside the pixel.
    fn barycentrics(&mut self, g: usize, inside: [C; 2], perspective: bool) -> Result<[C; 2]> {
        let primitive = self.fragment()?.primitives[g];
        let x = self.relative(g, 0, inside[0])?;
        let y = self.relative(g, 1, inside[1])?;
        let l1 = self.plane(primitive, offset_of!(FragmentPrimitive, b1), x, y);
        let l2 = self.plane(primitive, offset_of!(FragmentPrimitive, b2), x, y);
        if !perspective {
            return Ok([l1, l2]);
        }
        let inv_w = self.plane(primitive, offset_of!(FragmentPrimitive, inv_w), x, y);
        let one = self.constant(Ty::F32, u64::from(1f32.to_bits()));
        let one = self.b.ins().splat(types::F32X4, one);
        let w = self.b.ins().fdiv(one, inv_w);
        Ok([(l1, offset_of!(FragmentPrimitive, inv_w1)), (l2, offset_of!(FragmentPrimitive, inv_w2))].map(
            |(l, field)| {
                let scale = self.primitive_f32(primitive, field);
                let p = self.b.ins().fmul(l, scale);
                self.b.ins().fmul(p, w)
            },
        ))
    }

    fn interpolate(&mut self, slot: u32, at: InterpolateAt, ty: Ty, data: &InstData) -> Result<Vecs> {
        let interpolation = self.shader.inputs[slot as usize].interpolation;
        let mut out = Vecs::new();
        for g in 0..self.lanes as usize / 4 {
            let primitive = self.fragment()?.primitives[g];
            let list =
                self.b.ins().load(types::I64, read_only(), primitive, offset_of!(FragmentPrimitive, attributes) as i32);
            let field = slot as i32 * 12;
            if interpolation == Interpolation::Flat {
                let c = self.b.ins().load(scalar_type(ty), read_only(), list, field);
                out.push(self.b.ins().splat(vector_type(ty), c));
                continue;
            }
            let inside = self.location(g, at, data)?;
            let weights = self.barycentrics(g, inside, interpolation == Interpolation::Smooth)?;
            let [a0, d1, d2] = [0, 4, 8].map(|o| {
                let c = self.b.ins().load(types::F32, read_only(), list, field + o);
                self.b.ins().splat(types::F32X4, c)
            });
            let first = self.b.ins().fmul(weights[0], d1);
            let second = self.b.ins().fmul(weights[1], d2);
            let sum = self.b.ins().fadd(a0, first);
            let v = self.b.ins().fadd(sum, second);
            out.push(self.bitcast(vector_type(ty), v));
        }
        Ok(out)
    }

    /// Position inside the pixel where an input is evaluated, F32X4 each.
    fn location(&mut self, g: usize, at: InterpolateAt, data: &InstData) -> Result<[C; 2]> {
        match at {
            InterpolateAt::Default | InterpolateAt::Sample => {
                let f = self.fragment()?;
                Ok([f.inside[0][g], f.inside[1][g]])
            }
            InterpolateAt::Centroid => self.centroid(g),
            InterpolateAt::Offset => {
                let half = self.constant(Ty::F32, u64::from(0.5f32.to_bits()));
                let half = self.b.ins().splat(types::F32X4, half);
                let x = self.vectors(data.args[0])?[g];
                let y = self.vectors(data.args[1])?[g];
                Ok([self.b.ins().fadd(x, half), self.b.ins().fadd(y, half)])
            }
            InterpolateAt::AtSample => {
                let mut lanes: [Vec<C>; 2] = [Vec::new(), Vec::new()];
                for lane in 0..4 {
                    let sample = self.value_lane(data.args[0], g * 4 + lane)?;
                    for (axis, list) in lanes.iter_mut().enumerate() {
                        list.push(self.sample_or_centre(sample, axis));
                    }
                }
                Ok(lanes.map(|l| self.gather_lanes(Ty::F32, &l)[0]))
            }
        }
    }

    /// Position of a sample, the centre when the pipeline has one sample.
    fn sample_or_centre(&mut self, sample: C, axis: usize) -> C {
        let samples = self.b.ins().load(types::I32, read_only(), self.batch, offset_of!(FragmentBatch, samples) as i32);
        let single = self.b.ins().icmp_imm_u(IntCC::Equal, samples, 1);
        let half = self.constant(Ty::F32, u64::from(0.5f32.to_bits()));
        let position = self.sample_position(sample, axis);
        self.b.ins().select(single, half, position)
    }

    /// I32X4 masks of sample `s` in each pixel of the quad.
    fn sample_covered(&mut self, g: usize, s: usize) -> Result<C> {
        let coverage = self.fragment()?.coverage[g];
        let bits = self.b.ins().splat(types::I32X4, coverage);
        let want = self.vector_constant([1 << s, 1 << (4 + s), 1 << (8 + s), 1 << (12 + s)]);
        let bits = self.b.ins().band(bits, want);
        Ok(self.b.ins().icmp(IntCC::Equal, bits, want))
    }

    /// The centre of a pixel with all samples (or none) covered, else the mean of the covered samples' positions.
    fn centroid(&mut self, g: usize) -> Result<[C; 2]> {
        let samples = self.b.ins().load(types::I32, read_only(), self.batch, offset_of!(FragmentBatch, samples) as i32);
        let single = self.b.ins().icmp_imm_u(IntCC::Equal, samples, 1);
        let one = self.constant(Ty::F32, u64::from(1f32.to_bits()));
        let one = self.b.ins().splat(types::F32X4, one);
        let zero = self.zero(types::F32X4);
        let (mut count, mut sums) = (zero, [zero; 2]);
        for s in 0..4 {
            let covered = self.sample_covered(g, s)?;
            let covered = self.bitcast(types::F32X4, covered);
            let weight = self.b.ins().band(covered, one);
            count = self.b.ins().fadd(count, weight);
            for (axis, sum) in sums.iter_mut().enumerate() {
                let field = offset_of!(FragmentBatch, sample_positions) + s * 8 + axis * 4;
                let p = self.b.ins().load(types::F32, read_only(), self.batch, field as i32);
                let p = self.b.ins().splat(types::F32X4, p);
                let p = self.b.ins().band(covered, p);
                *sum = self.b.ins().fadd(*sum, p);
            }
        }
        let four = self.constant(Ty::F32, u64::from(4f32.to_bits()));
        let four = self.b.ins().splat(types::F32X4, four);
        use cranelift_codegen::ir::condcodes::FloatCC;
        let full = self.b.ins().fcmp(FloatCC::Equal, count, four);
        let none = self.b.ins().fcmp(FloatCC::Equal, count, zero);
        let centre = self.b.ins().bor(full, none);
        let centre = self.bitcast(types::F32X4, centre);
        let half = self.constant(Ty::F32, u64::from(0.5f32.to_bits()));
        let half = self.b.ins().splat(types::F32X4, half);
        let inside = [self.fragment()?.inside[0][g], self.fragment()?.inside[1][g]];
        let mut out = inside;
        for axis in 0..2 {
            let mean = self.b.ins().fdiv(sums[axis], count);
            let p = self.b.ins().bitselect(centre, half, mean);
            out[axis] = self.b.ins().select(single, half, p);
        }
        Ok(out)
    }

    /// `Op::Builtin`.
    pub fn builtin(&mut self, builtin: Builtin, data: &InstData) -> Result<()> {
        use Builtin as B;
        let result = data.result();
        // The batch of another stage has other fields at these offsets.
        let stage = match builtin {
            B::VertexIndex | B::InstanceIndex => Some(Stage::Vertex),
            B::WorkgroupId(_) | B::LocalInvocationIndex | B::LocalInvocationId(_) | B::GlobalInvocationId(_) => {
                Some(Stage::Compute)
            }
            _ => None,
        };
        if stage.is_some_and(|s| s != self.shader.stage) {
            return Err(Error::invalid(format!("{builtin:?} in a {:?} stage", self.shader.stage)));
        }
        let rep = match builtin {
            Builtin::VertexIndex => self.vertex_word(offset_of!(VertexBatch, vertex_index)),
            Builtin::InstanceIndex => self.vertex_word(offset_of!(VertexBatch, instance_index)),
            Builtin::BaseVertex => self.context_word(offset_of!(ShaderContext, base_vertex)),
            Builtin::BaseInstance => self.context_word(offset_of!(ShaderContext, base_instance)),
            Builtin::DrawIndex => self.context_word(offset_of!(ShaderContext, draw_index)),
            Builtin::ViewIndex => self.context_word(offset_of!(ShaderContext, view_index)),
            Builtin::DeviceIndex => self.context_word(offset_of!(ShaderContext, device_index)),
            Builtin::NumWorkgroups(c) => {
                self.context_word(offset_of!(ShaderContext, num_workgroups) + 4 * usize::from(c))
            }
            Builtin::WorkgroupId(c) => Rep::Uniform(self.workgroup_id(c)),
            Builtin::LocalInvocationIndex => Rep::Affine(self.first_lane(), 1),
            Builtin::LocalInvocationId(c) => self.local_id(c, self.shape(result))?,
            Builtin::GlobalInvocationId(c) => self.global_id(c, self.shape(result))?,
            Builtin::SubgroupInvocation => Rep::Affine(self.b.ins().iconst(types::I32, 0), 1),
            Builtin::SubgroupSize => Rep::Uniform(self.constant(Ty::I32, u64::from(self.lanes))),
            Builtin::SubgroupId => Rep::Uniform(self.chunk),
            Builtin::NumSubgroups => Rep::Uniform(self.constant(Ty::I32, u64::from(self.chunks))),
            other => return self.fragment_builtin(other, result),
        };
        self.define(result, rep)
    }

    fn vertex_word(&mut self, array: usize) -> Rep {
        Rep::Varying(self.load_slot_vectors(array, 1, 0, Ty::I32))
    }

    fn context_word(&mut self, field: usize) -> Rep {
        Rep::Uniform(self.b.ins().load(types::I32, read_only(), self.ctx, field as i32))
    }

    fn workgroup_id(&mut self, c: u8) -> C {
        let field = offset_of!(ComputeBatch, workgroup_id) + 4 * usize::from(c);
        self.b.ins().load(types::I32, read_only(), self.batch, field as i32)
    }

    /// Component `c` of the invocation with linear index `index`.
    fn local_component(&mut self, c: u8, index: C) -> C {
        let [x, y, _] = self.shader.local_size;
        let (divide, modulo) = match c {
            0 => (1, x),
            1 => (x, y),
            _ => (x * y, u32::MAX),
        };
        let quotient = if divide == 1 { index } else { self.b.ins().udiv_imm_u(index, i64::from(divide)) };
        if modulo == u32::MAX { quotient } else { self.b.ins().urem_imm_u(quotient, i64::from(modulo)) }
    }

    fn local_id(&mut self, c: u8, shape: Shape) -> Result<Rep> {
        let first = self.first_lane();
        Ok(match shape {
            Shape::Uniform => Rep::Uniform(self.local_component(c, first)),
            Shape::Affine(stride) => Rep::Affine(self.local_component(c, first), stride),
            Shape::Varying => {
                let lanes: Vec<C> = (0..i64::from(self.lanes))
                    .map(|lane| {
                        let index = self.b.ins().iadd_imm_s(first, lane);
                        self.local_component(c, index)
                    })
                    .collect();
                Rep::Varying(self.gather_lanes(Ty::I32, &lanes))
            }
        })
    }

    fn global_id(&mut self, c: u8, shape: Shape) -> Result<Rep> {
        let group = self.workgroup_id(c);
        let start = self.b.ins().imul_imm_s(group, i64::from(self.shader.local_size[usize::from(c)]));
        Ok(match self.local_id(c, shape)? {
            Rep::Uniform(local) => Rep::Uniform(self.b.ins().iadd(start, local)),
            Rep::Affine(local, stride) => Rep::Affine(self.b.ins().iadd(start, local), stride),
            rep => {
                let start = self.b.ins().splat(types::I32X4, start);
                let vecs = self.rep_vectors(Ty::I32, &rep)?;
                Rep::Varying(vecs.iter().map(|&v| self.b.ins().iadd(v, start)).collect())
            }
        })
    }

    fn fragment_builtin(&mut self, builtin: Builtin, result: Value) -> Result<()> {
        let mut out = Vecs::new();
        for g in 0..self.lanes as usize / 4 {
            let f = self.fragment()?;
            let (primitive, sample) = (f.primitives[g], f.samples[g]);
            let inside = [f.inside[0][g], f.inside[1][g]];
            let covered = f.covered[g];
            out.push(match builtin {
                Builtin::FragCoord(c @ (0 | 1)) => self.frag_xy(g, usize::from(c))?,
                Builtin::FragCoord(c) => {
                    let (x, y) = (self.relative(g, 0, inside[0])?, self.relative(g, 1, inside[1])?);
                    let field =
                        if c == 2 { offset_of!(FragmentPrimitive, z) } else { offset_of!(FragmentPrimitive, inv_w) };
                    self.plane(primitive, field, x, y)
                }
                Builtin::PointCoord(c) => {
                    let axis = usize::from(c.min(1));
                    let p = self.frag_xy(g, axis)?;
                    let origin = self.primitive_f32(primitive, offset_of!(FragmentPrimitive, point_origin) + 4 * axis);
                    let scale = self.primitive_f32(primitive, offset_of!(FragmentPrimitive, point_inv_size));
                    let d = self.b.ins().fsub(p, origin);
                    self.b.ins().fmul(d, scale)
                }
                Builtin::FrontFacing => {
                    let field = offset_of!(FragmentPrimitive, front_facing);
                    let v = self.primitive_word(primitive, field);
                    let zero = self.vector_constant([0; 4]);
                    self.b.ins().icmp(IntCC::NotEqual, v, zero)
                }
                Builtin::PrimitiveId => self.primitive_word(primitive, offset_of!(FragmentPrimitive, primitive_id)),
                Builtin::Layer => self.primitive_word(primitive, offset_of!(FragmentPrimitive, layer)),
                Builtin::ViewportIndex => self.primitive_word(primitive, offset_of!(FragmentPrimitive, viewport_index)),
                Builtin::SampleId => {
                    let id = self.sample_id(sample);
                    self.b.ins().splat(types::I32X4, id)
                }
                Builtin::SamplePosition(c) => {
                    let id = self.sample_id(sample);
                    let p = self.sample_or_centre(id, usize::from(c.min(1)));
                    self.b.ins().splat(types::F32X4, p)
                }
                Builtin::SampleMaskIn => {
                    let mut bits = self.vector_constant([0; 4]);
                    for s in 0..4 {
                        let on = self.sample_covered(g, s)?;
                        let bit = self.vector_constant([1 << s; 4]);
                        let bit = self.b.ins().band(on, bit);
                        bits = self.b.ins().bor(bits, bit);
                    }
                    bits
                }
                Builtin::HelperInvocation => self.b.ins().bnot(covered),
                other => return Err(Error::invalid(format!("{other:?} in a fragment stage"))),
            });
        }
        self.define(result, Rep::Varying(out))
    }

    /// Framebuffer coordinate of the fragment along an axis.
    fn frag_xy(&mut self, g: usize, axis: usize) -> Result<C> {
        let f = self.fragment()?;
        let (pixel, inside) = (f.pixel[axis][g], f.inside[axis][g]);
        let p = self.b.ins().fcvt_from_sint(types::F32X4, pixel);
        Ok(self.b.ins().fadd(p, inside))
    }

    fn primitive_word(&mut self, primitive: C, field: usize) -> C {
        let c = self.b.ins().load(types::I32, read_only(), primitive, field as i32);
        self.b.ins().splat(types::I32X4, c)
    }

    fn sample_id(&mut self, sample: C) -> C {
        let per_pixel = self.b.ins().icmp_imm_u(IntCC::Equal, sample, 0xffff);
        let zero = self.b.ins().iconst(types::I32, 0);
        self.b.ins().select(per_pixel, zero, sample)
    }

    /// Address of a private array, and its element stride in bytes.
    fn array(&mut self, var: Var) -> (C, u32) {
        let data = &self.shader.vars[var];
        let stride = self.lanes * scalar_bytes(data.ty);
        let offset = self.arrays.offset[var];
        if !self.barriers.any {
            return (self.b.ins().iadd_imm_s(self.scratch, i64::from(offset)), stride);
        }
        // Behind the slots' region nothing is known yet of the frame's size: arrays are slots of their own, allocated at first use
        // with one block per chunk.
        let base = match self.barriers.array_base(var) {
            Some(base) => base,
            None => {
                let bytes = (data.len * stride).next_multiple_of(16);
                let base = self.new_bytes(bytes);
                self.barriers.set_array_base(var, base);
                base
            }
        };
        let bytes = (data.len * stride).next_multiple_of(16);
        let fixed = i64::from(self.slots_start) + i64::from(base / 16) * i64::from(self.chunks) * 16;
        let chunk = self.b.ins().uextend(types::I64, self.chunk);
        let own = self.b.ins().imul_imm_s(chunk, i64::from(bytes));
        let start = self.b.ins().iadd(self.scratch, own);
        (self.b.ins().iadd_imm_s(start, fixed), stride)
    }

    /// Zeroes the private arrays of the chunk: what a program reads before it writes is the same on every machine.
    fn clear_arrays(&mut self) {
        for (var, data) in self.shader.vars.iter() {
            // Scalar variables are promoted; one that is left has a few bytes.
            let (base, stride) = self.array(var);
            self.clear_bytes(base, data.len * stride);
        }
    }

    /// Zeroes `bytes` (a multiple of 16) from an address.
    fn clear_bytes(&mut self, base: C, bytes: u32) {
        const UNROLLED: u32 = 16;
        let zero = self.vector_constant([0; 4]);
        let vectors = bytes / 16;
        if vectors <= UNROLLED {
            for i in 0..vectors {
                self.b.ins().store(trusted(), zero, base, 16 * i as i32);
            }
            return;
        }
        let (header, done) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(header, types::I64);
        self.b.ins().jump(header, &[BlockArg::Value(base)]);
        self.b.switch_to_block(header);
        let at = self.b.block_params(header)[0];
        self.b.ins().store(trusted(), zero, at, 0);
        let next = self.b.ins().iadd_imm_s(at, 16);
        let end = self.b.ins().iadd_imm_s(base, i64::from(bytes));
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, next, end);
        self.b.ins().brif(more, header, &[BlockArg::Value(next)], done, &[]);
        if !self.barriers.any {
            self.b.seal_block(header);
        }
        self.enter(done);
    }

    /// I64 byte offset of an element, clamped to the array.
    fn element(&mut self, index: C, len: u32, stride: u32) -> C {
        let last = self.b.ins().iconst(types::I32, i64::from(len.max(1) - 1));
        let index = self.b.ins().umin(index, last);
        let index = self.b.ins().uextend(types::I64, index);
        self.b.ins().imul_imm_s(index, i64::from(stride))
    }

    /// `Op::VarLoad`.
    pub fn var_load(&mut self, var: Var, data: &InstData) -> Result<()> {
        let (ty, len) = (self.shader.vars[var].ty, self.shader.vars[var].len);
        let (base, stride) = self.array(var);
        let index = match data.args.first() {
            Some(&v) => self.rep(v)?,
            None => Rep::Uniform(self.constant(Ty::I32, 0)),
        };
        let vecs = if let Rep::Uniform(index) = index {
            let offset = self.element(index, len, stride);
            let address = self.b.ins().iadd(base, offset);
            (0..self.vector_count(ty))
                .map(|i| self.b.ins().load(vector_type(ty), trusted(), address, 16 * i as i32))
                .collect()
        } else {
            let mut lanes = Vec::new();
            for lane in 0..self.lanes as usize {
                let index = self.value_lane(data.args[0], lane)?;
                let offset = self.element(index, len, stride);
                let address = self.b.ins().iadd(base, offset);
                let at = lane as i32 * scalar_bytes(ty) as i32;
                lanes.push(self.b.ins().load(element_type(ty), trusted(), address, at));
            }
            self.gather_lanes(ty, &lanes)
        };
        self.define(data.result(), Rep::Varying(vecs))
    }

    /// `Op::VarStore`.
    pub fn var_store(&mut self, var: Var, data: &InstData) -> Result<()> {
        let (ty, len) = (self.shader.vars[var].ty, self.shader.vars[var].len);
        let (base, stride) = self.array(var);
        let value = data.args[data.args.len() - 1];
        let index = match data.args.len() {
            1 => Rep::Uniform(self.constant(Ty::I32, 0)),
            _ => self.rep(data.args[0])?,
        };
        let mask = (!self.full).then(|| self.exec_mask());
        if let Rep::Uniform(index) = index {
            let offset = self.element(index, len, stride);
            let address = self.b.ins().iadd(base, offset);
            let mut vecs = self.vectors(value)?;
            if let Some(mask) = mask {
                let old = (0..vecs.len())
                    .map(|i| self.b.ins().load(vector_type(ty), trusted(), address, 16 * i as i32))
                    .collect();
                vecs = self.select_vectors(ty, &mask, &vecs, &old);
            }
            for (i, &v) in vecs.iter().enumerate() {
                self.b.ins().store(trusted(), v, address, 16 * i as i32);
            }
            return Ok(());
        }
        let vecs = self.vectors(value)?;
        for lane in 0..self.lanes as usize {
            let index = self.value_lane(data.args[0], lane)?;
            let offset = self.element(index, len, stride);
            let address = self.b.ins().iadd(base, offset);
            let mut address = self.b.ins().iadd_imm_s(address, lane as i64 * i64::from(scalar_bytes(ty)));
            if let Some(mask) = &mask {
                let bit = self.lane(Ty::B1, mask, lane);
                address = self.b.ins().select(bit, address, self.sink);
            }
            let c = self.lane(ty, &vecs, lane);
            self.b.ins().store(trusted(), c, address, 0);
        }
        Ok(())
    }
}

/// Bytes of an element per lane (booleans are 32-bit masks).
fn scalar_bytes(ty: Ty) -> u32 {
    if ty == Ty::B1 { 4 } else { ty.bytes() }
}

fn element_type(ty: Ty) -> cranelift_codegen::ir::Type {
    if ty == Ty::B1 { types::I32 } else { scalar_type(ty) }
}
