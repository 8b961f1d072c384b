//! Carries and bit fields.

use super::Emitter;
use super::rep::Rep;
use crate::error::Result;
use crate::ir::{InstData, Op, Ty, Value};
use crate::lir::{IntCond, Value as C};

impl Emitter<'_> {
    pub fn carry(&mut self, data: &InstData) -> Result<()> {
        let add = data.op == Op::IAddCarry;
        let results: Vec<Value> = data.results().collect();
        let uniform = self.all_uniform(&data.args)?;
        let [a, b] = [0, 1].map(|i| if uniform { self.scalar(data.args[i]) } else { self.vector(data.args[i]) });
        let (a, b) = (a?, b?);
        let value = if add { self.b.iadd(a, b) } else { self.b.isub(a, b) };
        let (low, high) = if add { (value, a) } else { (a, b) };
        let carry = self.b.icmp(IntCond::Ult, low, high);
        let carry = self.b.zext(self.b.ty(value), carry);
        for (result, c) in results.into_iter().zip([value, carry]) {
            self.define(result, if uniform { Rep::Uniform(c) } else { Rep::Varying(c) })?;
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
            let values = data.args[..width].iter().map(|&v| self.vector(v)).collect::<Result<Vec<C>>>()?;
            let out = operation(self, &values, offset, count);
            return self.define(data.result(), Rep::Varying(out));
        }
        self.per_lane(data, &mut |e, a| operation(e, &a[..width], a[width], a[width + 1]))
    }

    /// The low `count` bits set, as a scalar; `count` may be the whole width.
    fn low_bits(&mut self, ty: Ty, count: C) -> C {
        let width = i64::from(ty.bytes() * 8);
        let one = self.constant(ty, 1);
        let power = self.b.shl(one, count);
        let mask = self.b.iadd_imm(power, -1);
        let full = self.b.icmp_imm(IntCond::Uge, count, width);
        let ones = self.constant(ty, u64::MAX);
        self.b.select(full, ones, mask)
    }

    /// A scalar in the form of `like`: itself or splatted.
    fn like(&mut self, like: C, scalar: C) -> C {
        let ty = self.b.ty(like);
        if ty.is_vector() { self.b.splat(ty, scalar) } else { scalar }
    }

    fn bitfield_insert(&mut self, ty: Ty, base: C, insert: C, offset: C, count: C) -> C {
        let mask = self.low_bits(ty, count);
        let mask = self.b.shl(mask, offset);
        let mask = self.like(base, mask);
        let moved = self.b.shl(insert, offset);
        let moved = self.b.and(moved, mask);
        let kept = self.b.and_not(base, mask);
        self.b.or(kept, moved)
    }

    fn bitfield_extract(&mut self, ty: Ty, base: C, offset: C, count: C, signed: bool) -> C {
        let mask = self.low_bits(ty, count);
        let mask = self.like(base, mask);
        let field = self.b.lshr(base, offset);
        let field = self.b.and(field, mask);
        if !signed {
            return field;
        }
        // (field ^ sign) - sign, where sign is the field's top bit.
        let one = self.constant(ty, 1);
        let top = self.b.iadd_imm(count, -1);
        let sign = self.b.shl(one, top);
        let empty = self.b.icmp_imm(IntCond::Eq, count, 0);
        let none = self.constant(ty, 0);
        let sign = self.b.select(empty, none, sign);
        let sign = self.like(base, sign);
        let flipped = self.b.xor(field, sign);
        self.b.isub(flipped, sign)
    }
}
