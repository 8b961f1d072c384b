//! Private arrays: indexed variables that stay in memory.

use super::Emitter;
use super::memory::trusted;
use super::value_rep::{ValueRep, scalar_type};
use crate::error::{Error, Result};
use crate::ir::{InstData, Ty, Var};
use crate::lir::{AccessReason, Elem, IntCond, Type, Value as C};
use crate::passes::query_variables;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Private arrays in scratch memory, laid out as `[element][lane]`. Shaders with barriers have one
/// copy per chunk. (If single lanes are suspended, arrays are in the frames of the invocations.)
#[derive(Default)]
pub struct Arrays {
    offset: SecondaryMap<Var, u32>,
    /// Number of bytes of all arrays of one chunk.
    pub bytes: u32,
    /// Arrays of ray queries.
    queries: EntitySet<Var>,
}

impl Emitter<'_> {
    /// Assigns an offset in scratch memory to every private array.
    pub fn place_arrays(&mut self) -> Result<()> {
        let copies = if self.suspension.has_chunk_frame() { u64::from(self.function.chunks()) } else { 1 };
        let mut bytes = 0u64;
        for (var, data) in self.shader.vars.iter() {
            if matches!(data.ty, Ty::Buf | Ty::Img | Ty::Smp) {
                return Err(Error::unsupported(format!("private variable {} of {:?}", data.name, data.ty)));
            }
            if self.suspension.has_invocation_points() {
                continue;
            }
            let size = u64::from(data.len) * u64::from(self.lanes.count()) * u64::from(scalar_bytes(data.ty));
            self.arrays.offset[var] = bytes as u32;
            bytes += size.next_multiple_of(16);
            if bytes * copies > super::MAX_SCRATCH {
                return Err(Error::limit("private memory"));
            }
        }
        self.arrays.bytes = bytes as u32;
        self.arrays.queries = query_variables(self.shader);
        Ok(())
    }

    /// Returns the address of a private array, and the distance of its elements in bytes.
    pub fn array(&mut self, var: Var) -> (C, u32) {
        let data = &self.shader.vars[var];
        let stride = self.lanes.count() * scalar_bytes(data.ty);
        let offset = self.arrays.offset[var];
        if !self.suspension.has_chunk_frame() {
            return (self.b.iadd_imm(self.function.scratch(), i64::from(offset)), stride);
        }
        // The frame's size is not known yet, so that arrays cannot lie behind the region of the
        // slots. They are slots of their own, with one block per chunk, allocated at first use.
        let base = match self.suspension.chunk_frame.array_base(var) {
            Some(base) => base,
            None => {
                let bytes = (data.len * stride).next_multiple_of(16);
                let base = self.new_bytes(bytes);
                self.suspension.chunk_frame.set_array_base(var, base);
                base
            }
        };
        let bytes = (data.len * stride).next_multiple_of(16);
        let fixed = i64::from(self.suspension.chunk_frame.slots_start())
            + i64::from(base / 16) * i64::from(self.function.chunks()) * 16;
        let chunk = self.b.zext(Type::I64, self.function.chunk());
        let own = self.b.imul_imm(chunk, i64::from(bytes));
        let start = self.b.iadd(self.function.scratch(), own);
        (self.b.iadd_imm(start, fixed), stride)
    }

    /// Zeroes the private arrays of the chunk, so that a program that reads before it writes
    /// behaves identically on every machine. Ray queries are initialized before they are used.
    pub fn clear_arrays(&mut self) {
        // A new frame of an invocation is zero.
        if self.suspension.has_invocation_points() {
            return;
        }
        let shader = self.shader;
        for (var, data) in shader.vars.iter() {
            if self.arrays.queries.contains(var) {
                continue;
            }
            // Scalar variables have been promoted to values; a remaining one has only a few bytes.
            let (base, stride) = self.array(var);
            self.clear_bytes(AccessReason::Scratch, base, (data.len * stride).next_multiple_of(16));
        }
    }

    /// Zeroes `bytes` bytes (a multiple of 16) from address `base` on.
    pub fn clear_bytes(&mut self, reason: AccessReason, base: C, bytes: u32) {
        self.fill_bytes(reason, base, bytes, 0);
    }

    /// Fills `bytes` bytes (a multiple of 16) from address `base` on with a word.
    pub fn fill_bytes(&mut self, reason: AccessReason, base: C, bytes: u32, word: u32) {
        // Number of bytes that are filled without a loop, and number that one iteration of the loop
        // fills.
        const UNROLL_LIMIT: u32 = 256;
        const STEP: u32 = 128;
        if bytes <= UNROLL_LIMIT {
            return self.fill_unrolled(reason, base, bytes, word);
        }
        let looped = bytes / STEP * STEP;
        let end = self.b.iadd_imm(base, i64::from(looped));
        let (header, done) = (self.b.create_block(), self.b.create_block());
        let at = self.b.append_param(header, Type::I64);
        self.b.jump(header, &[base]);
        self.b.enter_loop(header);
        self.fill_unrolled(reason, at, STEP, word);
        let next = self.b.iadd_imm(at, i64::from(STEP));
        let more = self.b.icmp(IntCond::Ult, next, end);
        self.b.branch(more, header, &[next], done, &[]);
        self.b.seal_block(header);
        self.enter(done);
        self.fill_unrolled(reason, end, bytes - looped, word);
    }

    /// Fills `bytes` bytes (a multiple of 16) without a loop.
    fn fill_unrolled(&mut self, reason: AccessReason, base: C, bytes: u32, word: u32) {
        const VECTOR_BYTES: u32 = 32;
        let vector = self.b.constant(Elem::I32.by(8), word.into());
        for at in (0..bytes / VECTOR_BYTES * VECTOR_BYTES).step_by(VECTOR_BYTES as usize) {
            self.b.store(trusted(reason, at as i32), vector, base);
        }
        if !bytes.is_multiple_of(VECTOR_BYTES) {
            let half = self.b.constant(Elem::I32.by(4), word.into());
            self.b.store(trusted(reason, (bytes / VECTOR_BYTES * VECTOR_BYTES) as i32), half, base);
        }
    }

    /// Returns the byte offset (I64) of an element, with the index clamped to the array.
    fn element(&mut self, index: C, len: u32, stride: u32) -> C {
        let last = self.b.iconst(Type::I32, i64::from(len.max(1) - 1));
        let index = self.b.umin(index, last);
        let index = self.b.zext(Type::I64, index);
        self.b.imul_imm(index, i64::from(stride))
    }

    /// Emits `Op::VarLoad`.
    pub fn var_load(&mut self, var: Var, data: &InstData) -> Result<()> {
        if self.load_frame_array(var, data)? {
            return Ok(());
        }
        let (ty, len) = (self.shader.vars[var].ty, self.shader.vars[var].len);
        let (base, stride) = self.array(var);
        let index = match data.args.first() {
            Some(&v) => self.value_rep(v)?,
            None => ValueRep::Uniform(self.constant(Ty::I32, 0)),
        };
        let all = if let ValueRep::Uniform(index) = index {
            let offset = self.element(index, len, stride);
            let address = self.b.iadd(base, offset);
            let vector = self.vector_type(ty);
            self.b.load(vector, trusted(AccessReason::Scratch, 0), address)
        } else {
            let mut lanes = Vec::new();
            for lane in 0..self.lanes.count() as usize {
                let index = self.value_lane(data.args[0], lane)?;
                let offset = self.element(index, len, stride);
                let address = self.b.iadd(base, offset);
                let at = lane as i32 * scalar_bytes(ty) as i32;
                lanes.push(self.b.load(element_type(ty), trusted(AccessReason::Scratch, at), address));
            }
            let words = self.b.build(&lanes);
            if ty == Ty::B1 { self.b.icmp_imm(IntCond::Ne, words, 0) } else { words }
        };
        self.define(data.result(), ValueRep::Varying(all))
    }

    /// Emits `Op::VarStore`.
    pub fn var_store(&mut self, var: Var, data: &InstData) -> Result<()> {
        if self.store_frame_array(var, data)? {
            return Ok(());
        }
        let (ty, len) = (self.shader.vars[var].ty, self.shader.vars[var].len);
        let (base, stride) = self.array(var);
        let value = data.args[data.args.len() - 1];
        let index = match data.args.len() {
            1 => ValueRep::Uniform(self.constant(Ty::I32, 0)),
            _ => self.value_rep(data.args[0])?,
        };
        let mask = (!self.lanes.is_full()).then(|| self.exec_mask());
        if let ValueRep::Uniform(index) = index {
            let offset = self.element(index, len, stride);
            let address = self.b.iadd(base, offset);
            let mut c = self.vector(value)?;
            if let Some(mask) = mask {
                let vector = self.vector_type(ty);
                let old = self.b.load(vector, trusted(AccessReason::Scratch, 0), address);
                c = self.b.select(mask, c, old);
            }
            self.b.store(trusted(AccessReason::Scratch, 0), c, address);
            return Ok(());
        }
        let mut all = self.vector(value)?;
        if ty == Ty::B1 {
            let words = self.vector_type(Ty::I32);
            all = self.b.sext(words, all);
        }
        for lane in 0..self.lanes.count() as usize {
            let index = self.value_lane(data.args[0], lane)?;
            let offset = self.element(index, len, stride);
            let address = self.b.iadd(base, offset);
            let mut address = self.b.iadd_imm(address, lane as i64 * i64::from(scalar_bytes(ty)));
            if let Some(mask) = mask {
                let bit = self.b.extract(mask, lane);
                address = self.b.select(bit, address, self.function.sink());
            }
            let c = self.b.extract(all, lane);
            self.b.store(trusted(AccessReason::Scratch, 0), c, address);
        }
        Ok(())
    }
}

/// Returns the number of bytes of an element per lane; booleans are stored as 32-bit masks.
fn scalar_bytes(ty: Ty) -> u32 {
    if ty == Ty::B1 { 4 } else { ty.bytes() }
}

fn element_type(ty: Ty) -> Type {
    if ty == Ty::B1 { Type::I32 } else { scalar_type(ty) }
}
