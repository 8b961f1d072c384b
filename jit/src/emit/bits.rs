//! Carries, shifts by varying amounts, and bit fields.

use super::Emitter;
use super::value_rep::ValueRep;
use crate::error::Result;
use crate::ir::{Binary, InstData, Op, Ty, Value, ValueDef};
use crate::lir::{Elem, IntCond, Type, Value as C};

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
            self.define(result, if uniform { ValueRep::Uniform(c) } else { ValueRep::Varying(c) })?;
        }
        Ok(())
    }

    /// Returns the bits that may be set in a value, as far as the last `depth` operations show.
    pub fn possible_bits(&self, v: Value, depth: u32) -> u64 {
        let ValueDef::Inst(inst, 0) = self.shader.values[v].def else { return u64::MAX };
        let data = &self.shader.insts[inst];
        let bits = |n: usize| self.possible_bits(data.args[n], depth - 1);
        let by = |n: usize| self.constant_bits(data.args[n]).filter(|&by| by < 32);
        match data.op {
            Op::Const(bits) => bits,
            Op::Binary(_) if depth == 0 => u64::MAX,
            Op::Binary(Binary::And) => bits(0) & bits(1),
            Op::Binary(Binary::Or | Binary::Xor) => bits(0) | bits(1),
            Op::Binary(Binary::Shl) => by(1).map_or(u64::MAX, |by| bits(0) << by),
            _ => u64::MAX,
        }
    }

    /// Shifts each lane by its own amount; only the bits of the mask `bits` may be set in an
    /// amount.
    pub fn shift_lanes(&mut self, op: Binary, value: C, amount: C, bits: u64) -> C {
        const MAX_SHIFTS: u32 = 3;
        let bits = bits & 31;
        if self.b.ty(value).elem == Elem::I32 && bits.count_ones() <= MAX_SHIFTS {
            // Each possible bit of the amount becomes a sign, which selects the lanes that shift by
            // it.
            return (0..5).filter(|bit| bits >> bit & 1 != 0).fold(value, |value, bit| {
                let by = self.b.iconst(Type::I32, 1 << bit);
                let shifted = self.binary_machine(op, value, by);
                let sign = self.b.shl_imm(amount, 31 - bit);
                let set = self.b.icmp_imm(IntCond::Slt, sign, 0);
                self.b.select(set, shifted, value)
            });
        }
        match op {
            Binary::Shl => self.b.shlv(value, amount),
            Binary::LShr => self.b.lshrv(value, amount),
            _ => self.b.ashrv(value, amount),
        }
    }

    /// Emits a bit field operation. Offset and count are nearly always uniform, so that vector
    /// shifts by one amount are used; with varying offsets each lane shifts by its own.
    pub fn bitfield(&mut self, data: &InstData) -> Result<()> {
        let insert = data.op == Op::BitfieldInsert;
        let signed = data.op == Op::BitfieldSExtract;
        let ty = self.shader.ty(data.args[0]);
        let parameters = if insert { [data.args[2], data.args[3]] } else { [data.args[1], data.args[2]] };
        let known = parameters.map(|v| self.constant_bits(v));
        if let (Ty::I32, false, [Some(offset), Some(count)]) = (ty, insert, known)
            && let (1.., Some(above)) = (count, 32u64.checked_sub(offset.saturating_add(count)))
        {
            return self.constant_field(data, offset as u32, above as u32, signed);
        }
        let bits = self.possible_bits(parameters[0], 4);
        let operation = |e: &mut Emitter<'_>, values: &[C], offset: C, count: C| {
            if insert {
                e.bitfield_insert(ty, values[0], values[1], (offset, bits), count)
            } else {
                e.bitfield_extract(ty, values[0], (offset, bits), count, signed)
            }
        };
        let width = if insert { 2 } else { 1 };
        // An offset is a word for every type of field; its vector fits only the vectors of words.
        let offsets = ty == Ty::I32 || self.all_uniform(&parameters[..1])?;
        if offsets && self.all_uniform(&parameters[1..])? && !self.all_uniform(&data.args)? {
            let count = self.scalar(parameters[1])?;
            let offset = match self.value_rep(parameters[0])? {
                ValueRep::Uniform(offset) => offset,
                _ => self.vector(parameters[0])?,
            };
            let values = data.args[..width].iter().map(|&v| self.vector(v)).collect::<Result<Vec<C>>>()?;
            let out = operation(self, &values, offset, count);
            return self.define(data.result(), ValueRep::Varying(out));
        }
        self.per_lane(data, &mut |e, a| operation(e, &a[..width], a[width], a[width + 1]))
    }

    /// Extracts a field of a word, with constant numbers of bits below and above it.
    fn constant_field(&mut self, data: &InstData, below: u32, above: u32, signed: bool) -> Result<()> {
        let uniform = self.all_uniform(&data.args)?;
        let word = if uniform { self.scalar(data.args[0])? } else { self.vector(data.args[0])? };
        let field = if signed {
            let high = if above == 0 { word } else { self.b.shl_imm(word, above) };
            if below + above == 0 { high } else { self.b.ashr_imm(high, below + above) }
        } else {
            let low = if below == 0 { word } else { self.b.lshr_imm(word, below) };
            if above == 0 { low } else { self.b.and_imm(low, (1i64 << (32 - below - above)) - 1) }
        };
        self.define(data.result(), if uniform { ValueRep::Uniform(field) } else { ValueRep::Varying(field) })
    }

    /// Returns a scalar with the low `count` bits set; `count` may be the whole width.
    fn low_bits(&mut self, ty: Ty, count: C) -> C {
        let width = i64::from(ty.bytes() * 8);
        let one = self.constant(ty, 1);
        let power = self.b.shl(one, count);
        let mask = self.b.iadd_imm(power, -1);
        let full = self.b.icmp_imm(IntCond::Uge, count, width);
        let ones = self.constant(ty, u64::MAX);
        self.b.select(full, ones, mask)
    }

    /// Shifts all lanes by one amount, or each lane by its own.
    fn shift_field(&mut self, op: Binary, value: C, (amount, bits): (C, u64)) -> C {
        if self.b.ty(amount).is_vector() {
            self.shift_lanes(op, value, amount, bits)
        } else {
            self.binary_machine(op, value, amount)
        }
    }

    /// Returns a scalar in the form of `like`: unchanged, or splatted to a vector.
    fn splat_like(&mut self, like: C, scalar: C) -> C {
        let ty = self.b.ty(like);
        if ty.is_vector() && !self.b.ty(scalar).is_vector() { self.b.splat(ty, scalar) } else { scalar }
    }

    fn bitfield_insert(&mut self, ty: Ty, base: C, insert: C, offset: (C, u64), count: C) -> C {
        let mask = self.low_bits(ty, count);
        let mask = if self.b.ty(offset.0).is_vector() { self.splat_like(base, mask) } else { mask };
        let mask = self.shift_field(Binary::Shl, mask, offset);
        let mask = self.splat_like(base, mask);
        let moved = self.shift_field(Binary::Shl, insert, offset);
        let moved = self.b.and(moved, mask);
        let kept = self.b.and_not(base, mask);
        self.b.or(kept, moved)
    }

    fn bitfield_extract(&mut self, ty: Ty, base: C, offset: (C, u64), count: C, signed: bool) -> C {
        let mask = self.low_bits(ty, count);
        let mask = self.splat_like(base, mask);
        let field = self.shift_field(Binary::LShr, base, offset);
        let field = self.b.and(field, mask);
        if !signed {
            return field;
        }
        // Sign extension is (field ^ sign) - sign, where `sign` is the top bit of the field.
        let one = self.constant(ty, 1);
        let top = self.b.iadd_imm(count, -1);
        let sign = self.b.shl(one, top);
        let empty = self.b.icmp_imm(IntCond::Eq, count, 0);
        let none = self.constant(ty, 0);
        let sign = self.b.select(empty, none, sign);
        let sign = self.splat_like(base, sign);
        let flipped = self.b.xor(field, sign);
        self.b.isub(flipped, sign)
    }
}
