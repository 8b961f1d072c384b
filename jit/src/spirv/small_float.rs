//! Floats that support only storage, moves, conversions and products: bfloat16 (SPV_KHR_bfloat16),
//! E4M3 and E5M2 (SPV_EXT_float8).
//!
//! A value is an integer with its bits. A conversion goes through binary32, which can represent all
//! of them, and rounds once, to the nearest even number.

use super::encoding::{SmallFloat, word_of};
use super::translator::Translator;
use super::types::Type;
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, FloatFlags, Ty, Unary, Value};

impl Translator<'_> {
    /// Returns the small float format of a value's components, by its id.
    pub fn small_float(&self, id: u32) -> Result<Option<SmallFloat>> {
        let ty = self.m.def(id)?.ty;
        self.small_float_type(ty)
    }

    /// Returns the small float format of a type's components, also for cooperative matrices.
    pub fn small_float_type(&self, ty: u32) -> Result<Option<SmallFloat>> {
        let elem = match (self.s.cooperative.get(&ty), self.s.ty(ty)?) {
            (Some(matrix), _) => matrix.elem,
            (None, &Type::Vector { elem, .. }) => elem,
            (None, _) => ty,
        };
        Ok(match *self.s.ty(elem)? {
            Type::Small(small) => Some(small),
            _ => None,
        })
    }

    /// Converts numbers from or to small floats; `saturate` replaces results beyond the largest
    /// number by it.
    pub fn convert_small(
        &mut self,
        op: Convert,
        x: Value,
        from: Option<SmallFloat>,
        to: (Ty, Option<SmallFloat>),
        saturate: bool,
    ) -> Result<Value> {
        if !matches!(
            op,
            Convert::FToF | Convert::FToFRtz | Convert::FToS | Convert::FToU | Convert::SToF | Convert::UToF
        ) {
            return Err(Error::invalid("conversion of a float of this encoding"));
        }
        // These are steps on bits, to which the modes of the entry point's arithmetic do not apply.
        let modes = std::mem::take(&mut self.b.modes);
        let float = std::mem::replace(&mut self.b.float, FloatFlags::NO_CONTRACTION);
        let x = match from {
            Some(small) => self.widen_small(x, small),
            None => x,
        };
        let result = match (to.1, op) {
            (None, Convert::FToFRtz) => self.b.cvt(Convert::FToF, x, to.0),
            (None, _) => self.b.cvt(op, x, to.0),
            (Some(small), Convert::SToF | Convert::UToF) => {
                let x = self.b.cvt(op, x, Ty::F64);
                self.narrow_small(x, small, saturate)
            }
            (Some(small), _) => self.narrow_small(x, small, saturate),
        };
        (self.b.modes, self.b.float) = (modes, float);
        Ok(result)
    }

    /// Returns the binary32 number of a small float's bits.
    pub fn widen_small(&mut self, x: Value, small: SmallFloat) -> Value {
        match small {
            SmallFloat::BFloat16 => {
                let (word, by) = (self.b.cvt(Convert::UToU, x, Ty::I32), self.b.i32(16));
                let bits = self.b.bin(Binary::Shl, word, by);
                self.b.cvt(Convert::Bitcast, bits, Ty::F32)
            }
            SmallFloat::E5M2 => {
                let (word, by) = (self.b.cvt(Convert::UToU, x, Ty::I16), self.b.konst(Ty::I16, 8));
                let bits = self.b.bin(Binary::Shl, word, by);
                let half = self.b.cvt(Convert::Bitcast, bits, Ty::F16);
                self.b.cvt(Convert::FToF, half, Ty::F32)
            }
            SmallFloat::E4M3 => {
                let word = self.b.cvt(Convert::UToU, x, Ty::I32);
                let (mask, by) = (self.b.i32(0x7f), self.b.i32(20));
                let magnitude = self.b.bin(Binary::And, word, mask);
                let bits = self.b.bin(Binary::Shl, magnitude, by);
                // The exponents are those of binary32 less 120, so the product is exact, also for
                // denormals.
                let number = self.b.cvt(Convert::Bitcast, bits, Ty::F32);
                let factor = self.b.konst(Ty::F32, u64::from(2f32.powi(120).to_bits()));
                let number = self.b.bin(Binary::FMul, number, factor);
                let nan = self.b.konst(Ty::F32, u64::from(f32::NAN.to_bits()));
                let is_nan = self.b.cmp(Cmp::IEq, magnitude, mask);
                let number = self.b.select(is_nan, nan, number);
                let (sign, by) = (self.b.i32(0x80), self.b.i32(24));
                let sign = self.b.bin(Binary::And, word, sign);
                let sign = self.b.bin(Binary::Shl, sign, by);
                let number = self.b.cvt(Convert::Bitcast, number, Ty::I32);
                let number = self.b.bin(Binary::Or, number, sign);
                self.b.cvt(Convert::Bitcast, number, Ty::F32)
            }
        }
    }

    /// Returns the bits of the small float nearest to a number of any float type.
    pub fn narrow_small(&mut self, x: Value, small: SmallFloat, saturate: bool) -> Value {
        let x = if self.b.ty(x) == Ty::F64 { self.odd(x) } else { self.b.cvt(Convert::FToF, x, Ty::F32) };
        let bits = self.b.cvt(Convert::Bitcast, x, Ty::I32);
        let mask = self.b.i32(0x7fff_ffff);
        let magnitude = self.b.bin(Binary::And, bits, mask);
        let number = self.b.un(Unary::FAbs, x);
        let nan = self.b.cmp(Cmp::FUnoNe, x, x);
        let narrow = match small {
            SmallFloat::BFloat16 => {
                let (by, one, almost) = (self.b.i32(16), self.b.i32(1), self.b.i32(0x7fff));
                let low = self.b.bin(Binary::LShr, magnitude, by);
                let odd = self.b.bin(Binary::And, low, one);
                let up = self.b.bin(Binary::IAdd, magnitude, almost);
                let up = self.b.bin(Binary::IAdd, up, odd);
                let rounded = self.b.bin(Binary::LShr, up, by);
                let quiet = self.b.i32(0x7fc0);
                self.b.select(nan, quiet, rounded)
            }
            SmallFloat::E5M2 => {
                let rounded = self.rounded(number, 2, -14);
                let half = self.b.cvt(Convert::FToF, rounded, Ty::F16);
                let bits = self.b.cvt(Convert::Bitcast, half, Ty::I16);
                let (bits, by) = (self.b.cvt(Convert::UToU, bits, Ty::I32), self.b.i32(8));
                let bits = self.b.bin(Binary::LShr, bits, by);
                let quiet = self.b.i32(0x7e);
                self.b.select(nan, quiet, bits)
            }
            SmallFloat::E4M3 => {
                let rounded = self.rounded(number, 3, -6);
                let factor = self.b.konst(Ty::F32, u64::from(2f32.powi(-120).to_bits()));
                let scaled = self.b.bin(Binary::FMul, rounded, factor);
                let (bits, by) = (self.b.cvt(Convert::Bitcast, scaled, Ty::I32), self.b.i32(20));
                let bits = self.b.bin(Binary::LShr, bits, by);
                // Numbers beyond the largest one, and NaNs, become NaN.
                let largest = self.b.float(Ty::F32, small.largest());
                let within = self.b.cmp(Cmp::FOrdLe, rounded, largest);
                let nan = self.b.i32(0x7f);
                self.b.select(within, bits, nan)
            }
        };
        let narrow = if saturate { self.saturated(number, narrow, small) } else { narrow };
        let (sign, by) = (self.b.i32(1 << 31), self.b.i32(32 - small.bits()));
        let sign = self.b.bin(Binary::And, bits, sign);
        let sign = self.b.bin(Binary::LShr, sign, by);
        let narrow = self.b.bin(Binary::Or, narrow, sign);
        self.b.cvt(Convert::UToU, narrow, word_of(small))
    }

    /// Returns `narrow`, or the bits of the largest number if `number` is beyond it.
    fn saturated(&mut self, number: Value, narrow: Value, small: SmallFloat) -> Value {
        let largest = self.b.float(Ty::F32, small.largest());
        let bits = self.b.i32(match small {
            SmallFloat::BFloat16 => 0x7f7f,
            SmallFloat::E4M3 => 0x7e,
            SmallFloat::E5M2 => 0x7b,
        });
        let beyond = self.b.cmp(Cmp::FOrdLt, largest, number);
        self.b.select(beyond, bits, narrow)
    }

    /// Rounds a magnitude to this many bits of fraction; denormals to those of the smallest
    /// exponent. A sum with a number whose last bit is the wanted one drops all lower bits.
    fn rounded(&mut self, x: Value, fraction: u32, least: i32) -> Value {
        let bits = self.b.cvt(Convert::Bitcast, x, Ty::I32);
        let exponent = self.b.i32(0x7f80_0000);
        let exponent = self.b.bin(Binary::And, bits, exponent);
        let (least, most) = (self.b.i32(((127 + least) as u32) << 23), self.b.i32((127 + 17) << 23));
        let exponent = self.b.bin(Binary::UMax, exponent, least);
        let exponent = self.b.bin(Binary::UMin, exponent, most);
        let up = self.b.i32((23 - fraction) << 23);
        let large = self.b.bin(Binary::IAdd, exponent, up);
        let large = self.b.cvt(Convert::Bitcast, large, Ty::F32);
        let sum = self.b.bin(Binary::FAdd, x, large);
        self.b.bin(Binary::FSub, sum, large)
    }

    /// Converts binary64 to binary32: truncated, with an odd last bit if the conversion is inexact,
    /// so that another rounding sees it.
    fn odd(&mut self, x: Value) -> Value {
        let cut = self.b.cvt(Convert::FToFRtz, x, Ty::F32);
        let back = self.b.cvt(Convert::FToF, cut, Ty::F64);
        let inexact = self.b.cmp(Cmp::FOrdNe, back, x);
        let inexact = self.b.cvt(Convert::BToI, inexact, Ty::I32);
        let bits = self.b.cvt(Convert::Bitcast, cut, Ty::I32);
        let bits = self.b.bin(Binary::Or, bits, inexact);
        self.b.cvt(Convert::Bitcast, bits, Ty::F32)
    }

    /// Returns the sum of products of small floats, rounded once.
    pub fn dot_small(&mut self, x: &[Value], y: &[Value], small: SmallFloat) -> Value {
        let modes = std::mem::take(&mut self.b.modes);
        let products: Vec<Value> = x
            .iter()
            .zip(y)
            .map(|(&x, &y)| {
                let (x, y) = (self.widen_small(x, small), self.widen_small(y, small));
                self.b.bin(Binary::FMul, x, y)
            })
            .collect();
        let sum = products.into_iter().reduce(|sum, product| self.b.bin(Binary::FAdd, sum, product));
        let sum = sum.unwrap_or_else(|| self.b.float(Ty::F32, 0.0));
        let result = self.narrow_small(sum, small, false);
        self.b.modes = modes;
        result
    }
}
