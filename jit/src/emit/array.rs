//! Private arrays: indexed variables that stay in memory.

use super::Emitter;
use super::memory::trusted;
use super::rep::{Rep, scalar_type, vector_type};
use crate::error::{Error, Result};
use crate::ir::{InstData, Ty, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value as C, types};
use cranelift_entity::SecondaryMap;

/// Private arrays in scratch memory: `[element][lane]`; per chunk in shaders with barriers.
#[derive(Default)]
pub struct Arrays {
    offset: SecondaryMap<Var, u32>,
    /// Bytes of all arrays (of one chunk).
    pub bytes: u32,
}

impl Emitter<'_> {
    /// Gives every private array its place.
    pub fn place_arrays(&mut self) -> Result<()> {
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
    pub fn clear_arrays(&mut self) {
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
