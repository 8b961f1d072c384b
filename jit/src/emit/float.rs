//! Operations on floats that take more than one machine instruction: minimum and maximum, fused
//! multiply-add, exponents.

use super::Emitter;
use super::memory::trusted;
use super::value_rep::ValueRep;
use crate::error::Result;
use crate::host;
use crate::ir::{InstData, Ty, Value};
use crate::lir::{AccessReason, Elem, FloatCond, IntCond, Type, Value as C};
use base::abi::Helper;

impl Emitter<'_> {
    /// Returns true if the value is a constant that is neither NaN nor zero.
    fn is_ordinary(&self, v: Value) -> bool {
        self.is_number(v)
            && self.constant_bits(v).is_some_and(|bits| bits << (64 - 8 * self.shader.ty(v).bytes()) << 1 != 0)
    }

    /// Emits `Binary::FMin` or `Binary::FMax`, with fewer operations if an operand is a constant.
    pub fn constant_min_max(&mut self, data: &InstData, is_max: bool) -> Result<()> {
        let [first, second] = [0, 1].map(|i| data.args[i]);
        // A number never yields to a NaN, and no number other than zero equals one with different
        // bits.
        match (self.is_number(first), self.is_ordinary(second)) {
            (true, _) => self.map(data, |e, a| e.select_min_max(is_max, a[1], a[0])),
            (_, true) => self.map(data, |e, a| e.select_min_max(is_max, a[0], a[1])),
            _ => self.map(data, |e, a| e.float_min_max(is_max, a[0], a[1])),
        }
    }

    /// Returns true if the value is a constant that is not NaN.
    pub fn is_number(&self, v: Value) -> bool {
        let ty = self.shader.ty(v);
        self.constant_bits(v).is_some_and(|bits| match ty {
            Ty::F32 => !f32::from_bits(bits as u32).is_nan(),
            Ty::F64 => !f64::from_bits(bits).is_nan(),
            _ => false,
        })
    }

    /// Returns `b < a || a is NaN ? b : a`; with `is_max`, the comparison is `b > a`.
    pub fn float_min_max(&mut self, is_max: bool, a: C, b: C) -> C {
        let extreme = self.select_min_max(is_max, b, a);
        let nan = self.b.fcmp(FloatCond::Uno, a, a);
        self.b.select(nan, b, extreme)
    }

    /// Returns `a < b ? a : b`; with `is_max`, the comparison is `a > b`. Back ends recognise
    /// this form as a minimum or maximum.
    pub fn select_min_max(&mut self, is_max: bool, a: C, b: C) -> C {
        let (low, high) = if is_max { (b, a) } else { (a, b) };
        let take = self.b.fcmp(FloatCond::Lt, low, high);
        self.b.select(take, a, b)
    }

    /// Emits [`Unary::RoundHalf`](crate::ir::Unary::RoundHalf) of a scalar or a vector.
    pub fn round_half(&mut self, a: C) -> C {
        let ty = self.b.ty(a);
        let words = ty.with(Elem::I32);
        let word = |e: &mut Self, bits: u32| e.b.constant(words, bits.into());
        let bits = self.b.bitcast(words, a);
        // `exponent` becomes a number whose last bit is that of a half with the exponent of `a`;
        // halves are denormal below exponent -14.
        let exponent = word(self, 0x7f80_0000);
        let exponent = self.b.and(bits, exponent);
        let (least, most) = (word(self, (127 - 14) << 23), word(self, (127 + 16) << 23));
        let exponent = self.b.smax(exponent, least);
        let exponent = self.b.smin(exponent, most);
        let up = word(self, 13 << 23 | 1 << 22);
        let large = self.b.iadd(exponent, up);
        let large = self.b.bitcast(ty, large);
        let sum = self.b.fadd(a, large);
        let rounded = self.b.fsub(sum, large);
        // Numbers from 2^16 on overflow to infinity.
        let (up, down) = (self.b.constant(ty, (127 + 112) << 23), self.b.constant(ty, (127 - 112) << 23));
        let rounded = self.b.fmul(rounded, up);
        let rounded = self.b.fmul(rounded, down);
        // A zero has lost its sign, which is copied back.
        let sign = word(self, 0x8000_0000);
        let sign = self.b.and(bits, sign);
        let rounded = self.b.bitcast(words, rounded);
        let rounded = self.b.or(rounded, sign);
        self.b.bitcast(ty, rounded)
    }

    pub fn fma(&mut self, data: &InstData) -> Result<()> {
        self.map(data, |e, a| e.fused(a[0], a[1], a[2]))
    }

    /// Returns `a * b + c` with one rounding.
    pub fn fused(&mut self, a: C, b: C, c: C) -> C {
        if host::has_fma() { self.b.fma(a, b, c) } else { self.fma_helper([a, b, c]) }
    }

    pub fn ldexp(&mut self, data: &InstData) -> Result<()> {
        if self.shader.ty(data.args[0]) != Ty::F32 {
            return self.not_lowered(data);
        }
        // The scaling is exact in binary64, so that only the final conversion rounds.
        self.per_lane(data, &mut |e, a| {
            let wide = e.b.fwiden(Type::F64, a[0]);
            let low = e.b.iconst(Type::I32, -400);
            let high = e.b.iconst(Type::I32, 400);
            let n = e.b.smax(a[1], low);
            let n = e.b.smin(n, high);
            let n = e.b.sext(Type::I64, n);
            let n = e.b.iadd_imm(n, 1023);
            let n = e.b.shl_imm(n, 52);
            let factor = e.b.bitcast(Type::F64, n);
            let r = e.b.fmul(wide, factor);
            e.b.fnarrow(Type::F32, r)
        })
    }

    /// Emits the significand and the exponent, lane by lane on the bits.
    pub fn frexp(&mut self, data: &InstData) -> Result<()> {
        if self.shader.ty(data.args[0]) != Ty::F32 {
            return self.not_lowered(data);
        }
        let x = data.args[0];
        let lanes = if self.all_uniform(&[x])? { 1 } else { self.lanes.count() as usize };
        let (mut significands, mut exponents) = (Vec::new(), Vec::new());
        for lane in 0..lanes {
            let a = self.value_lane(x, lane)?;
            let (s, e) = self.frexp_scalar(a);
            significands.push(s);
            exponents.push(e);
        }
        let results: Vec<Value> = data.results().collect();
        for (result, list) in results.into_iter().zip([significands, exponents]) {
            let rep = if lanes == 1 { ValueRep::Uniform(list[0]) } else { ValueRep::Varying(self.b.build(&list)) };
            self.define(result, rep)?;
        }
        Ok(())
    }

    fn frexp_scalar(&mut self, a: C) -> (C, C) {
        let bits = self.b.bitcast(Type::I32, a);
        let field = |e: &mut Self, bits: C| {
            let x = e.b.lshr_imm(bits, 23);
            e.b.and_imm(x, 0xff)
        };
        let exponent = field(self, bits);
        let denormal = self.b.icmp_imm(IntCond::Eq, exponent, 0);
        let special = self.b.icmp_imm(IntCond::Eq, exponent, 255);
        let up = self.constant(Ty::F32, u64::from(8_388_608f32.to_bits()));
        let scaled = self.b.fmul(a, up);
        let scaled = self.b.bitcast(Type::I32, scaled);
        let bits = self.b.select(denormal, scaled, bits);
        let exponent = field(self, bits);
        let zero = self.b.icmp_imm(IntCond::Eq, exponent, 0);
        let none = self.b.or(zero, special);
        let kept = self.b.and_imm(bits, 0x807f_ffff);
        let significand = self.b.or_imm(kept, 126 << 23);
        let significand = self.b.bitcast(Type::F32, significand);
        let significand = self.b.select(none, a, significand);
        let normal = self.b.iadd_imm(exponent, -126);
        let lower = self.b.iadd_imm(exponent, -126 - 23);
        let e = self.b.select(denormal, lower, normal);
        let nothing = self.b.iconst(Type::I32, 0);
        (significand, self.b.select(none, nothing, e))
    }

    /// Computes `a * b + c` on a CPU without FMA, with the context's helper, which rounds once.
    pub fn fma_helper(&mut self, operands: [C; 3]) -> C {
        let ty = self.b.ty(operands[0]);
        let bytes = ty.bytes();
        let slot = self.b.create_slot(bytes * 4, 8);
        let addresses = [0, 1, 2, 3].map(|i| self.b.stack_address(slot, (i * bytes) as i32));
        for (operand, &address) in operands.into_iter().zip(&addresses) {
            self.b.store(trusted(AccessReason::Frame, 0), operand, address);
        }
        let count = self.b.iconst(Type::I32, ty.lanes() as i64);
        let [a, b, c, out] = addresses;
        let helper = if ty.elem == Elem::F64 { Helper::FmaF64 } else { Helper::FmaF32 };
        self.call_helper(helper, &[a, b, c, out, count]);
        self.b.load(ty, trusted(AccessReason::Frame, 0), out)
    }
}
