//! Carries and bit fields.

use super::Emitter;
use super::rep::{Rep, Vecs};
use crate::error::Result;
use crate::ir::{InstData, Op, Ty, Value};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value as C, types};

impl Emitter<'_> {
    pub fn carry(&mut self, data: &InstData) -> Result<()> {
        let add = data.op == Op::IAddCarry;
        let results: Vec<Value> = data.results().collect();
        let uniform = self.all_uniform(&data.args)?;
        let (a, b): (Vecs, Vecs) = if uniform {
            let (a, b) = (self.scalar(data.args[0])?, self.scalar(data.args[1])?);
            (smallvec::smallvec![a], smallvec::smallvec![b])
        } else {
            (self.vectors(data.args[0])?, self.vectors(data.args[1])?)
        };
        let (mut values, mut carries) = (Vecs::new(), Vecs::new());
        for (&a, &b) in a.iter().zip(&b) {
            let v = if add { self.b.ins().iadd(a, b) } else { self.b.ins().isub(a, b) };
            let (low, high) = if add { (v, a) } else { (a, b) };
            let c = self.b.ins().icmp(IntCC::UnsignedLessThan, low, high);
            let c = if uniform {
                self.b.ins().uextend(types::I32, c)
            } else {
                let ones = self.vector_constant([1; 4]);
                self.b.ins().band(c, ones)
            };
            values.push(v);
            carries.push(c);
        }
        for (result, vecs) in results.into_iter().zip([values, carries]) {
            let rep = if uniform { Rep::Uniform(vecs[0]) } else { Rep::Varying(vecs) };
            self.define(result, rep)?;
        }
        Ok(())
    }

    /// Bit fields: offset and count are nearly always uniform, so the shifts are vector shifts.
    pub fn bitfield(&mut self, data: &InstData) -> Result<()> {
        let insert = data.op == Op::BitfieldInsert;
        let signed = data.op == Op::BitfieldSExtract;
        let ty = self.shader.ty(data.args[0]);
        let parameters = if insert { [data.args[2], data.args[3]] } else { [data.args[1], data.args[2]] };
        let operation = |e: &mut Emitter<'_>, values: &[C], offset: C, count: C| {
            if insert {
                e.bitfield_insert(ty, values[0], values[1], offset, count)
            } else {
                e.bitfield_extract(ty, values[0], offset, count, signed)
            }
        };
        let width = if insert { 2 } else { 1 };
        if self.all_uniform(&parameters)? && !self.all_uniform(&data.args[..width])? {
            let (offset, count) = (self.scalar(parameters[0])?, self.scalar(parameters[1])?);
            let values = data.args[..width].iter().map(|&v| self.vectors(v)).collect::<Result<Vec<Vecs>>>()?;
            let out = (0..values[0].len())
                .map(|i| {
                    let row: Vec<C> = values.iter().map(|v| v[i]).collect();
                    operation(self, &row, offset, count)
                })
                .collect();
            return self.define(data.result(), Rep::Varying(out));
        }
        self.per_lane(data, &mut |e, a| operation(e, &a[..width], a[width], a[width + 1]))
    }

    /// The low `count` bits set, as a scalar; `count` may be the whole width.
    fn low_bits(&mut self, ty: Ty, count: C) -> C {
        let width = i64::from(ty.bytes() * 8);
        let one = self.constant(ty, 1);
        let power = self.b.ins().ishl(one, count);
        let mask = self.b.ins().iadd_imm_s(power, -1);
        let full = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, count, width);
        let ones = self.constant(ty, u64::MAX);
        self.b.ins().select(full, ones, mask)
    }

    /// A scalar in the form of `like`: itself or splatted.
    fn like(&mut self, like: C, scalar: C) -> C {
        let ty = self.b.func.dfg.value_type(like);
        if ty.is_vector() { self.b.ins().splat(ty, scalar) } else { scalar }
    }

    fn bitfield_insert(&mut self, ty: Ty, base: C, insert: C, offset: C, count: C) -> C {
        let mask = self.low_bits(ty, count);
        let mask = self.b.ins().ishl(mask, offset);
        let mask = self.like(base, mask);
        let moved = self.b.ins().ishl(insert, offset);
        let moved = self.b.ins().band(moved, mask);
        let kept = self.b.ins().band_not(base, mask);
        self.b.ins().bor(kept, moved)
    }

    fn bitfield_extract(&mut self, ty: Ty, base: C, offset: C, count: C, signed: bool) -> C {
        let mask = self.low_bits(ty, count);
        let mask = self.like(base, mask);
        let field = self.b.ins().ushr(base, offset);
        let field = self.b.ins().band(field, mask);
        if !signed {
            return field;
        }
        // (field ^ sign) - sign, where sign is the field's top bit.
        let one = self.constant(ty, 1);
        let top = self.b.ins().iadd_imm_s(count, -1);
        let sign = self.b.ins().ishl(one, top);
        let empty = self.b.ins().icmp_imm_u(IntCC::Equal, count, 0);
        let none = self.constant(ty, 0);
        let sign = self.b.ins().select(empty, none, sign);
        let sign = self.like(base, sign);
        let flipped = self.b.ins().bxor(field, sign);
        self.b.ins().isub(flipped, sign)
    }
}
