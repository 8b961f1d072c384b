//! Operations on floats that take more than one machine instruction: extremes, fused multiply-add, exponents.

use super::rep::Rep;
use super::Emitter;
use crate::cranelift::isa;
use crate::error::{Error, Result};
use crate::ir::{InstData, Ty, Value};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value as C, types};

impl Emitter<'_> {
    /// A constant that is not NaN.
    pub fn is_number(&self, v: Value) -> bool {
        let ty = self.shader.ty(v);
        self.constant_bits(v).is_some_and(|bits| match ty {
            Ty::F32 => !f32::from_bits(bits as u32).is_nan(),
            Ty::F64 => !f64::from_bits(bits).is_nan(),
            _ => false,
        })
    }

    /// `b cc a || a is NaN ? b : a`.
    pub fn float_extreme(&mut self, cc: FloatCC, a: C, b: C) -> C {
        let better = self.b.ins().fcmp(cc, b, a);
        let nan = self.b.ins().fcmp(FloatCC::Unordered, a, a);
        let take = self.b.ins().bor(better, nan);
        self.float_select(take, b, a)
    }

    /// `b cc a ? b : a`.
    pub fn float_choice(&mut self, cc: FloatCC, a: C, b: C) -> C {
        let take = self.b.ins().fcmp(cc, b, a);
        self.float_select(take, b, a)
    }

    fn float_select(&mut self, take: C, x: C, y: C) -> C {
        let ty = self.b.func.dfg.value_type(x);
        if ty.is_vector() {
            let take = self.bitcast(ty, take);
            self.b.ins().bitselect(take, x, y)
        } else {
            self.b.ins().select(take, x, y)
        }
    }

    pub fn fma(&mut self, data: &InstData) -> Result<()> {
        if self.shader.ty(data.args[0]) != Ty::F32 && !isa::has_fma() {
            return Err(Error::unsupported("64-bit fma on a CPU without FMA").with_id(data.source));
        }
        self.map(data, |e, a| e.fused(a[0], a[1], a[2]))
    }

    /// a*b + c with one rounding, F32 or F32X4 (F64 where the CPU has the instruction).
    pub fn fused(&mut self, a: C, b: C, c: C) -> C {
        if isa::has_fma() { self.b.ins().fma(a, b, c) } else { self.fma_helper([a, b, c]) }
    }

    pub fn ldexp(&mut self, data: &InstData) -> Result<()> {
        if self.shader.ty(data.args[0]) != Ty::F32 {
            return Err(Error::unsupported("64-bit ldexp").with_id(data.source));
        }
        // Exact in binary64, then one rounding.
        self.per_lane(data, &mut |e, a| {
            let wide = e.b.ins().fpromote(types::F64, a[0]);
            let low = e.b.ins().iconst(types::I32, i64::from(-400i32 as u32));
            let high = e.b.ins().iconst(types::I32, 400);
            let n = e.b.ins().smax(a[1], low);
            let n = e.b.ins().smin(n, high);
            let n = e.b.ins().sextend(types::I64, n);
            let n = e.b.ins().iadd_imm_s(n, 1023);
            let n = e.b.ins().ishl_imm_u(n, 52);
            let factor = e.bitcast(types::F64, n);
            let r = e.b.ins().fmul(wide, factor);
            e.b.ins().fdemote(types::F32, r)
        })
    }

    /// (significand, exponent), lane by lane on the bits.
    pub fn frexp(&mut self, data: &InstData) -> Result<()> {
        if self.shader.ty(data.args[0]) != Ty::F32 {
            return Err(Error::unsupported("64-bit frexp").with_id(data.source));
        }
        let x = data.args[0];
        let lanes = if self.all_uniform(&[x])? { 1 } else { self.lanes as usize };
        let (mut significands, mut exponents) = (Vec::new(), Vec::new());
        for lane in 0..lanes {
            let a = self.value_lane(x, lane)?;
            let (s, e) = self.frexp_scalar(a);
            significands.push(s);
            exponents.push(e);
        }
        let results: Vec<Value> = data.results().collect();
        for (result, list) in results.into_iter().zip([significands, exponents]) {
            let ty = self.shader.ty(result);
            let rep = if lanes == 1 { Rep::Uniform(list[0]) } else { Rep::Varying(self.gather_lanes(ty, &list)) };
            self.define(result, rep)?;
        }
        Ok(())
    }

    fn frexp_scalar(&mut self, a: C) -> (C, C) {
        let bits = self.bitcast(types::I32, a);
        let field = |e: &mut Self, bits: C| {
            let x = e.b.ins().ushr_imm_u(bits, 23);
            e.b.ins().band_imm_u(x, 0xff)
        };
        let exponent = field(self, bits);
        let denormal = self.b.ins().icmp_imm_u(IntCC::Equal, exponent, 0);
        let special = self.b.ins().icmp_imm_u(IntCC::Equal, exponent, 255);
        let up = self.constant(Ty::F32, u64::from(8_388_608f32.to_bits()));
        let scaled = self.b.ins().fmul(a, up);
        let scaled = self.bitcast(types::I32, scaled);
        let bits = self.b.ins().select(denormal, scaled, bits);
        let exponent = field(self, bits);
        let zero = self.b.ins().icmp_imm_u(IntCC::Equal, exponent, 0);
        let none = self.b.ins().bor(zero, special);
        let kept = self.b.ins().band_imm_u(bits, 0x807f_ffff);
        let significand = self.b.ins().bor_imm_u(kept, 126 << 23);
        let significand = self.bitcast(types::F32, significand);
        let significand = self.b.ins().select(none, a, significand);
        let normal = self.b.ins().iadd_imm_s(exponent, -126);
        let lower = self.b.ins().iadd_imm_s(exponent, -126 - 23);
        let e = self.b.ins().select(denormal, lower, normal);
        let nothing = self.b.ins().iconst(types::I32, 0);
        (significand, self.b.ins().select(none, nothing, e))
    }
}
