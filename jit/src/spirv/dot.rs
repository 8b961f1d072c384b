//! Integer dot products (SPV_KHR_integer_dot_product): vectors of integers, or four bytes packed into a word.

use super::body::Translator;
use super::module::View;
use super::opcodes::op;
use super::value::Flat;
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, Op, Ty, Value};

/// `PackedVectorFormat4x8Bit`.
const PACKED_4X8: u32 = 0;

/// Are the components of the first and of the second vector signed?
fn signs(number: u16) -> (bool, bool) {
    match number {
        op::OpSDot | op::OpSDotAccSat => (true, true),
        op::OpUDot | op::OpUDotAccSat => (false, false),
        _ => (true, false),
    }
}

impl Translator<'_> {
    /// OpSDot, OpUDot, OpSUDot, and the same with a saturating accumulator.
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
        // Signed if any operand is.
        let total = if signed_a { self.add_signed(sum, accumulator) } else { self.add_unsigned(sum, accumulator) };
        Ok(Flat::from_slice(&[total]))
    }

    /// Components of an operand in the result's width.
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

    /// Saturates at the greatest value.
    fn add_unsigned(&mut self, a: Value, b: Value) -> Value {
        let ty = self.b.ty(a);
        let sum = self.b.bin(Binary::IAdd, a, b);
        let over = self.b.cmp(Cmp::ULt, sum, a);
        let greatest = self.b.konst(ty, u64::MAX >> (64 - ty.bytes() * 8));
        self.b.select(over, greatest, sum)
    }

    /// Saturates towards the sign of the operands.
    fn add_signed(&mut self, a: Value, b: Value) -> Value {
        let ty = self.b.ty(a);
        let bits = ty.bytes() * 8;
        let sum = self.b.bin(Binary::IAdd, a, b);
        let (x, y) = (self.b.bin(Binary::Xor, a, sum), self.b.bin(Binary::Xor, b, sum));
        let both = self.b.bin(Binary::And, x, y);
        let zero = self.b.konst(ty, 0);
        let over = self.b.cmp(Cmp::SLt, both, zero);
        let greatest = self.b.konst(ty, u64::MAX >> (65 - bits));
        let shift = self.b.konst(ty, u64::from(bits - 1));
        let sign = self.b.bin(Binary::AShr, a, shift);
        // MAX, or its complement MIN.
        let limit = self.b.bin(Binary::Xor, sign, greatest);
        self.b.select(over, limit, sum)
    }
}
