//! Dot products of numbers that are smaller than their sum. Operands are integers
//! (SPV_KHR_integer_dot_product: vectors, or four bytes packed into a word), or halves, bfloat16
//! and floats of 8 bits (SPV_VALVE_mixed_float_dot_product).

use super::encoding::SmallFloat;
use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::value::Flat;
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, Op, Ty, Value};

/// Value of `PackedVectorFormat4x8Bit`.
const PACKED_4X8: u32 = 0;

/// Returns whether the components of the first and of the second vector are signed.
fn signs(number: u16) -> (bool, bool) {
    match number {
        op::OpSDot | op::OpSDotAccSat => (true, true),
        op::OpUDot | op::OpUDotAccSat => (false, false),
        _ => (true, false),
    }
}

impl Translator<'_> {
    /// Translates OpSDot, OpUDot and OpSUDot, with or without a saturating accumulator.
    pub fn integer_dot(&mut self, v: View<'_>) -> Result<Flat> {
        let accumulates = v.op >= op::OpSDotAccSat;
        let to = self.s.scalar(v.ty)?;
        let format = v.args.get(2 + usize::from(accumulates)).copied();
        let (signed_a, signed_b) = signs(v.op);
        let a = self.dot_operand(v, 0, format, signed_a, to)?;
        let b = self.dot_operand(v, 1, format, signed_b, to)?;
        if a.len() != b.len() || a.is_empty() {
            return Err(Error::invalid("operands of different size"));
        }
        let products = a.iter().zip(&b).map(|(&a, &b)| self.b.bin(Binary::IMul, a, b)).collect::<Flat>();
        let sum = products.into_iter().reduce(|x, y| self.b.bin(Binary::IAdd, x, y));
        let sum = sum.ok_or_else(|| Error::invalid("dot product of nothing"))?;
        if !accumulates {
            return Ok(Flat::from_slice(&[sum]));
        }
        let accumulator = self.operand1(v, 2)?;
        if self.b.ty(accumulator) != to {
            return Err(Error::invalid("accumulator does not have the result type"));
        }
        // The sum is signed if any operand is.
        let total = if signed_a { self.add_signed(sum, accumulator) } else { self.add_unsigned(sum, accumulator) };
        Ok(Flat::from_slice(&[total]))
    }

    /// Translates OpFDot2MixAcc32VALVE, OpFDot2MixAcc16VALVE and OpFDot4MixAcc32VALVE. Order and
    /// precision are implementation-defined. Products are added to the accumulator in binary32, in
    /// the order of the components, each product and sum with one rounding as in a cooperative
    /// matrix. A result of 16 bits is rounded once more.
    pub fn mixed_dot(&mut self, v: View<'_>) -> Result<Flat> {
        let (a, b) = self.pair(v, 0, 1)?;
        let accumulator = self.operand1(v, 2)?;
        let encodings = [0, 1].map(|i| self.small_float(v.args[i]));
        let [of_a, of_b] = [encodings[0].clone()?, encodings[1].clone()?];
        let of_sum = self.small_float(v.args[2])?;
        let ty = |e: &Self, x: Value, small: Option<SmallFloat>| small.map_or(Some(e.b.ty(x)), |_| None);
        let (ty_a, ty_b) = (ty(self, a[0], of_a), ty(self, b[0], of_b));
        let wide = v.op != op::OpFDot2MixAcc16VALVE;
        let small = match of_a {
            None => ty_a == Some(Ty::F16) && a.len() == 2,
            Some(SmallFloat::BFloat16) => a.len() == 2,
            Some(SmallFloat::E4M3 | SmallFloat::E5M2) => a.len() == 4,
        };
        let eight = matches!(of_a, Some(SmallFloat::E4M3 | SmallFloat::E5M2));
        let sum = match wide {
            true => of_sum.is_none() && self.b.ty(accumulator) == Ty::F32,
            false => of_sum == of_a && (of_sum.is_some() || self.b.ty(accumulator) == Ty::F16),
        };
        if !small || !sum || (of_a, ty_a) != (of_b, ty_b) || eight != (v.op == op::OpFDot4MixAcc32VALVE) {
            return Err(Error::invalid("dot product of vectors of these types"));
        }
        // Conversions of small floats operate on bits, so the entry point's float modes do not
        // apply.
        let modes = std::mem::take(&mut self.b.modes);
        let widen = |e: &mut Self, x: Value| match of_a {
            Some(small) => e.widen_small(x, small),
            None => e.b.cvt(Convert::FToF, x, Ty::F32),
        };
        let mut total = if wide { accumulator } else { widen(self, accumulator) };
        for (&x, &y) in a.iter().zip(&b) {
            let (x, y) = (widen(self, x), widen(self, y));
            total = self.b.fma(x, y, total);
        }
        let result = match of_sum {
            Some(small) => self.narrow_small(total, small, false),
            None if wide => total,
            None => self.b.cvt(Convert::FToF, total, Ty::F16),
        };
        self.b.modes = modes;
        Ok(Flat::from_slice(&[result]))
    }

    /// Returns the components of an operand in the result's width.
    fn dot_operand(&mut self, v: View<'_>, i: usize, format: Option<u32>, signed: bool, to: Ty) -> Result<Flat> {
        let components = self.operand(v, i)?;
        let components = match (format, components[..].first()) {
            (Some(PACKED_4X8), Some(&word)) if components.len() == 1 && self.b.ty(word) == Ty::I32 => {
                let extract = if signed { Op::BitfieldSExtract } else { Op::BitfieldUExtract };
                let eight = self.b.i32(8);
                let part = |n: u32| {
                    let at = self.b.i32(8 * n);
                    self.b.val(extract.clone(), &[word, at, eight], Ty::I32)
                };
                (0..4).map(part).collect()
            }
            (None, _) => components,
            _ => return Err(Error::unsupported("packed vector format")),
        };
        let widen = if signed { Convert::SToS } else { Convert::UToU };
        if components.iter().any(|&c| !self.b.ty(c).is_int()) || !to.is_int() {
            return Err(Error::invalid("integer dot product of other types"));
        }
        Ok(components.iter().map(|&c| self.b.cvt(widen, c, to)).collect())
    }

    /// Adds unsigned numbers and saturates at the greatest value.
    fn add_unsigned(&mut self, a: Value, b: Value) -> Value {
        let ty = self.b.ty(a);
        let sum = self.b.bin(Binary::IAdd, a, b);
        let over = self.b.cmp(Cmp::ULt, sum, a);
        let max_value = self.b.konst(ty, u64::MAX >> (64 - ty.bytes() * 8));
        self.b.select(over, max_value, sum)
    }

    /// Adds signed numbers and saturates towards the sign of the operands.
    fn add_signed(&mut self, a: Value, b: Value) -> Value {
        let ty = self.b.ty(a);
        let bits = ty.bytes() * 8;
        let sum = self.b.bin(Binary::IAdd, a, b);
        let (x, y) = (self.b.bin(Binary::Xor, a, sum), self.b.bin(Binary::Xor, b, sum));
        let both = self.b.bin(Binary::And, x, y);
        let zero = self.b.konst(ty, 0);
        let over = self.b.cmp(Cmp::SLt, both, zero);
        let max_value = self.b.konst(ty, u64::MAX >> (65 - bits));
        let shift = self.b.konst(ty, u64::from(bits - 1));
        let sign = self.b.bin(Binary::AShr, a, shift);
        // The limit is MAX, or its complement MIN.
        let limit = self.b.bin(Binary::Xor, sign, max_value);
        self.b.select(over, limit, sum)
    }
}
