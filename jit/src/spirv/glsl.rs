//! GLSL.std.450: one row per instruction; most are one IR operation per component, the rest are
//! lowered here.
//!
//! Transcendental functions stay operations, which a later pass expands.

use super::module::View;
use super::translator::Translator;
use super::value::{Flat, Pointer, PointerTarget};
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, FloatFlags, InterpolateAt, Op, Ty, Unary, Value};

/// Function from the operands of one component to its result.
type LaneFn = fn(&mut Translator<'_>, &[Value]) -> Value;

/// Lowering of an instruction.
#[derive(Clone, Copy)]
enum Lowering {
    /// One unary operation.
    Un(Unary),
    /// One binary operation.
    Bin(Binary),
    /// A function of `n` operands per component.
    Each(u8, LaneFn),
    /// A function of whole operands.
    Whole,
}

use Lowering::{Bin, Each, Un, Whole};

macro_rules! instructions {
    ($($number:literal $name:ident = $row:expr;)*) => {
        /// Instruction numbers by their specification names.
        #[allow(non_upper_case_globals, dead_code, reason = "the specification's names; the table is complete, its use need not be")]
        mod glsl {
            $(pub(super) const $name: u32 = $number;)*
        }
        static TABLE: &[(u32, Lowering)] = &[$(($number, $row)),*];
    };
}

/// Returns the row of an instruction.
fn row(number: u32) -> Option<Lowering> {
    TABLE.binary_search_by_key(&number, |row| row.0).ok().map(|i| TABLE[i].1)
}

instructions! {
    1 Round = Un(Unary::RoundEven);
    2 RoundEven = Un(Unary::RoundEven);
    3 Trunc = Un(Unary::Trunc);
    4 FAbs = Un(Unary::FAbs);
    5 SAbs = Each(1, s_abs);
    6 FSign = Each(1, f_sign);
    7 SSign = Each(1, s_sign);
    8 Floor = Un(Unary::Floor);
    9 Ceil = Un(Unary::Ceil);
    10 Fract = Each(1, fract);
    // The factors are π/180 and 180/π.
    11 Radians = Each(1, |t, a| t.scale(a[0], 0x3c8e_fa35));
    12 Degrees = Each(1, |t, a| t.scale(a[0], 0x4265_2ee1));
    13 Sin = Un(Unary::Sin);
    14 Cos = Un(Unary::Cos);
    15 Tan = Un(Unary::Tan);
    16 Asin = Un(Unary::Asin);
    17 Acos = Un(Unary::Acos);
    18 Atan = Un(Unary::Atan);
    19 Sinh = Un(Unary::Sinh);
    20 Cosh = Un(Unary::Cosh);
    21 Tanh = Un(Unary::Tanh);
    22 Asinh = Un(Unary::Asinh);
    23 Acosh = Un(Unary::Acosh);
    24 Atanh = Un(Unary::Atanh);
    25 Atan2 = Bin(Binary::Atan2);
    26 Pow = Bin(Binary::Pow);
    27 Exp = Un(Unary::Exp);
    28 Log = Un(Unary::Log);
    29 Exp2 = Un(Unary::Exp2);
    30 Log2 = Un(Unary::Log2);
    31 Sqrt = Un(Unary::Sqrt);
    32 InverseSqrt = Un(Unary::InverseSqrt);
    33 Determinant = Whole;
    34 MatrixInverse = Whole;
    35 Modf = Whole;
    36 ModfStruct = Whole;
    37 FMin = Each(2, |t, a| t.b.extreme(Binary::FMin, a[0], a[1]));
    38 UMin = Bin(Binary::UMin);
    39 SMin = Bin(Binary::SMin);
    40 FMax = Each(2, |t, a| t.b.extreme(Binary::FMax, a[0], a[1]));
    41 UMax = Bin(Binary::UMax);
    42 SMax = Bin(Binary::SMax);
    43 FClamp = Each(3, f_clamp);
    44 UClamp = Each(3, |t, a| clamp(t, a, Binary::UMax, Binary::UMin));
    45 SClamp = Each(3, |t, a| clamp(t, a, Binary::SMax, Binary::SMin));
    46 FMix = Each(3, f_mix);
    // Number 47, IMix, was removed.
    48 Step = Each(2, step);
    49 SmoothStep = Each(3, smooth_step);
    50 Fma = Each(3, |t, a| t.b.fma(a[0], a[1], a[2]));
    51 Frexp = Whole;
    52 FrexpStruct = Whole;
    53 Ldexp = Each(2, ldexp);
    54 PackSnorm4x8 = Whole;
    55 PackUnorm4x8 = Whole;
    56 PackSnorm2x16 = Whole;
    57 PackUnorm2x16 = Whole;
    58 PackHalf2x16 = Whole;
    59 PackDouble2x32 = Whole;
    60 UnpackSnorm2x16 = Whole;
    61 UnpackUnorm2x16 = Whole;
    62 UnpackHalf2x16 = Whole;
    63 UnpackSnorm4x8 = Whole;
    64 UnpackUnorm4x8 = Whole;
    65 UnpackDouble2x32 = Whole;
    66 Length = Whole;
    67 Distance = Whole;
    68 Cross = Whole;
    69 Normalize = Whole;
    70 FaceForward = Whole;
    71 Reflect = Whole;
    72 Refract = Whole;
    73 FindILsb = Un(Unary::FindLsb);
    74 FindSMsb = Un(Unary::FindSMsb);
    75 FindUMsb = Un(Unary::FindUMsb);
    76 InterpolateAtCentroid = Whole;
    77 InterpolateAtSample = Whole;
    78 InterpolateAtOffset = Whole;
    79 NMin = Each(2, |t, a| t.b.extreme(Binary::FMin, a[0], a[1]));
    80 NMax = Each(2, |t, a| t.b.extreme(Binary::FMax, a[0], a[1]));
    81 NClamp = Each(3, f_clamp);
}

fn s_abs(t: &mut Translator<'_>, a: &[Value]) -> Value {
    let negative = t.b.un(Unary::INeg, a[0]);
    t.b.bin(Binary::SMax, a[0], negative)
}

fn s_sign(t: &mut Translator<'_>, a: &[Value]) -> Value {
    let ty = t.b.ty(a[0]);
    let ones = super::types::mask(ty.bytes().max(1) * 8);
    let (one, minus) = (t.b.konst(ty, 1), t.b.konst(ty, ones));
    let low = t.b.bin(Binary::SMin, a[0], one);
    t.b.bin(Binary::SMax, low, minus)
}

fn f_sign(t: &mut Translator<'_>, a: &[Value]) -> Value {
    let ty = t.b.ty(a[0]);
    let (zero, one, minus) = (t.b.float(ty, 0.0), t.b.float(ty, 1.0), t.b.float(ty, -1.0));
    let positive = t.b.cmp(Cmp::FOrdLt, zero, a[0]);
    let negative = t.b.cmp(Cmp::FOrdLt, a[0], zero);
    let other = t.b.select(negative, minus, zero);
    t.b.select(positive, one, other)
}

/// Returns x - floor(x), kept below 1 for tiny negative x.
fn fract(t: &mut Translator<'_>, a: &[Value]) -> Value {
    let ty = t.b.ty(a[0]);
    let floor = t.b.un(Unary::Floor, a[0]);
    let f = t.b.bin(Binary::FSub, a[0], floor);
    let below_one = match ty {
        Ty::F16 => 0x3bff,
        Ty::F64 => 0x3fef_ffff_ffff_ffff,
        _ => 0x3f7f_ffff,
    };
    let below_one = t.b.konst(ty, below_one);
    let over = t.b.cmp(Cmp::FOrdLt, below_one, f);
    t.b.select(over, below_one, f)
}

fn clamp(t: &mut Translator<'_>, a: &[Value], max: Binary, min: Binary) -> Value {
    let low = t.b.bin(max, a[0], a[1]);
    t.b.bin(min, low, a[2])
}

fn f_clamp(t: &mut Translator<'_>, a: &[Value]) -> Value {
    let low = t.b.extreme(Binary::FMax, a[0], a[1]);
    t.b.extreme(Binary::FMin, low, a[2])
}

/// Returns x*(1-a) + y*a.
fn f_mix(t: &mut Translator<'_>, a: &[Value]) -> Value {
    let one = t.b.float(t.b.ty(a[2]), 1.0);
    let rest = t.b.bin(Binary::FSub, one, a[2]);
    let x = t.b.bin(Binary::FMul, a[0], rest);
    let y = t.b.bin(Binary::FMul, a[1], a[2]);
    t.b.bin(Binary::FAdd, x, y)
}

fn step(t: &mut Translator<'_>, a: &[Value]) -> Value {
    let ty = t.b.ty(a[0]);
    let (zero, one) = (t.b.float(ty, 0.0), t.b.float(ty, 1.0));
    let below = t.b.cmp(Cmp::FOrdLt, a[1], a[0]);
    t.b.select(below, zero, one)
}

fn smooth_step(t: &mut Translator<'_>, a: &[Value]) -> Value {
    let ty = t.b.ty(a[0]);
    let (zero, one, two, three) = (t.b.float(ty, 0.0), t.b.float(ty, 1.0), t.b.float(ty, 2.0), t.b.float(ty, 3.0));
    let x = t.b.bin(Binary::FSub, a[2], a[0]);
    let width = t.b.bin(Binary::FSub, a[1], a[0]);
    let ratio = t.b.bin(Binary::FDiv, x, width);
    let r = f_clamp(t, &[ratio, zero, one]);
    let twice = t.b.bin(Binary::FMul, two, r);
    let slope = t.b.bin(Binary::FSub, three, twice);
    let square = t.b.bin(Binary::FMul, r, r);
    t.b.bin(Binary::FMul, square, slope)
}

fn ldexp(t: &mut Translator<'_>, a: &[Value]) -> Value {
    // The exponent is a long: larger magnitudes than this change nothing.
    let e = match t.b.ty(a[1]) {
        Ty::I64 => {
            let (least, most) = (t.b.konst(Ty::I64, -0xffffi64 as u64), t.b.konst(Ty::I64, 0xffff));
            clamp(t, &[a[1], least, most], Binary::SMax, Binary::SMin)
        }
        _ => a[1],
    };
    let e = t.b.int_as(e, Ty::I32);
    t.b.val(Op::Ldexp, &[a[0], e], t.b.ty(a[0]))
}

/// Returns the layout of a packed format: components, bits of each, scale, and whether it is
/// signed.
fn packing(number: u32) -> Option<(u32, u32, f32, bool)> {
    Some(match number {
        glsl::PackSnorm4x8 | glsl::UnpackSnorm4x8 => (4, 8, 127.0, true),
        glsl::PackUnorm4x8 | glsl::UnpackUnorm4x8 => (4, 8, 255.0, false),
        glsl::PackSnorm2x16 | glsl::UnpackSnorm2x16 => (2, 16, 32767.0, true),
        glsl::PackUnorm2x16 | glsl::UnpackUnorm2x16 => (2, 16, 65535.0, false),
        _ => return None,
    })
}

impl Translator<'_> {
    /// Translates one GLSL.std.450 instruction.
    pub fn glsl(&mut self, v: View<'_>) -> Result<()> {
        let number = v.arg(1)?;
        let v = View { args: &v.args[2..], ..v };
        let Some(row) = row(number) else {
            return Err(Error::unsupported(format!("GLSL.std.450 instruction {number}")));
        };
        let flat = match row {
            Un(op) => self.operand(v, 0)?.iter().map(|&a| self.b.un(op, a)).collect(),
            Bin(op) => {
                let (a, b) = self.pair(v, 0, 1)?;
                a.iter().zip(&b).map(|(&a, &b)| self.b.bin(op, a, b)).collect()
            }
            Each(n, f) => {
                let operands = (0..n as usize).map(|i| self.operand(v, i)).collect::<Result<Vec<_>>>()?;
                if operands.iter().any(|o| o.len() != operands[0].len()) {
                    return Err(Error::invalid("operands of different size"));
                }
                let lane = |i: usize| {
                    let args: Flat = operands.iter().map(|o| o[i]).collect();
                    f(self, &args)
                };
                (0..operands[0].len()).map(lane).collect()
            }
            Whole => self.whole(v, number)?,
        };
        self.result(v, flat)
    }

    fn whole(&mut self, v: View<'_>, number: u32) -> Result<Flat> {
        Ok(match number {
            glsl::Determinant => Flat::from_slice(&[self.determinant(v)?]),
            glsl::MatrixInverse => self.inverse(v)?,
            glsl::Modf | glsl::ModfStruct | glsl::Frexp | glsl::FrexpStruct => return self.two_parts(v, number),
            glsl::PackSnorm4x8 | glsl::PackUnorm4x8 | glsl::PackSnorm2x16 | glsl::PackUnorm2x16 => {
                Flat::from_slice(&[self.pack_norm(v, number)?])
            }
            glsl::PackHalf2x16 => {
                let a = self.operand_n(v, 0, 2)?;
                let (low, high) = (self.half_bits(a[0]), self.half_bits(a[1]));
                let by = self.b.i32(16);
                let high = self.b.bin(Binary::Shl, high, by);
                Flat::from_slice(&[self.b.bin(Binary::Or, low, high)])
            }
            glsl::PackDouble2x32 => {
                let a = self.operand_n(v, 0, 2)?;
                Flat::from_slice(&[self.b.join(&a, Ty::F64)])
            }
            glsl::UnpackSnorm2x16 | glsl::UnpackUnorm2x16 | glsl::UnpackSnorm4x8 | glsl::UnpackUnorm4x8 => {
                self.unpack_norm(v, number)?
            }
            glsl::UnpackHalf2x16 => {
                let a = self.operand1(v, 0)?;
                let by = self.b.i32(16);
                let low = self.b.bin(Binary::Shl, a, by);
                Flat::from_slice(&[self.half_value(low), self.half_value(a)])
            }
            glsl::UnpackDouble2x32 => {
                let a = self.operand1(v, 0)?;
                if self.b.ty(a) != Ty::F64 {
                    return Err(Error::invalid("operand is not a double"));
                }
                self.b.split(a, Ty::I32, 2)
            }
            glsl::Length..=glsl::Refract => return self.geometric(v, number),
            glsl::InterpolateAtCentroid..=glsl::InterpolateAtOffset => return self.interpolate(v, number),
            _ => return Err(Error::unsupported(format!("GLSL.std.450 instruction {number}"))),
        })
    }

    /// Returns x times an f32 constant given by its bits, which is rounded to a half for halves.
    fn scale(&mut self, x: Value, bits: u32) -> Value {
        let by = self.b.float(self.b.ty(x), f32::from_bits(bits));
        self.b.bin(Binary::FMul, x, by)
    }

    /// Translates Modf and Frexp, which return the whole part or exponent through a pointer or as
    /// second member.
    fn two_parts(&mut self, v: View<'_>, number: u32) -> Result<Flat> {
        let x = self.operand(v, 0)?;
        let (mut first, mut second) = (Flat::new(), Flat::new());
        for &x in &x {
            let ty = self.b.ty(x);
            if matches!(number, glsl::Modf | glsl::ModfStruct) {
                let whole = self.b.un(Unary::Trunc, x);
                let rest = self.b.bin(Binary::FSub, x, whole);
                // Infinity minus itself is NaN, but the fraction of infinity is 0, with the sign of
                // x.
                let abs = self.b.un(Unary::FAbs, x);
                let inf = self.b.float(ty, f32::INFINITY);
                let infinite = self.b.cmp(Cmp::FOrdEq, abs, inf);
                let zero = self.b.float(ty, 0.0);
                let rest = self.b.select(infinite, zero, rest);
                first.push(if self.b.signs_zeros(ty) { self.b.sign_zero(rest, x) } else { rest });
                second.push(whole);
            } else {
                let r = self.b.vals(Op::Frexp, &[x], &[ty, Ty::I32]);
                first.push(r[0]);
                second.push(r[1]);
            }
        }
        if matches!(number, glsl::ModfStruct | glsl::FrexpStruct) {
            first.extend(second);
            return Ok(first);
        }
        let p = self.pointer_to(v.arg(1)?, v.ty)?;
        let want = self.s.leaf_types(p.ty)?;
        let second =
            second.iter().zip(&want).map(|(&x, &t)| if t.is_int() { self.b.int_as(x, t) } else { x }).collect();
        self.store(&p, second, false)?;
        Ok(first)
    }

    // Packing.

    fn pack_norm(&mut self, v: View<'_>, number: u32) -> Result<Value> {
        let Some((n, bits, scale, signed)) = packing(number) else { return Err(Error::internal("packing")) };
        let a = self.operand_n(v, 0, n as usize)?;
        let mut word = self.b.i32(0);
        for (i, &x) in (0..).zip(&a) {
            let (low, one) = (self.b.float(Ty::F32, if signed { -1.0 } else { 0.0 }), self.b.float(Ty::F32, 1.0));
            let x = f_clamp(self, &[x, low, one]);
            let x = self.scale(x, scale.to_bits());
            let x = self.b.un(Unary::RoundEven, x);
            let x = self.b.cvt(Convert::FToS, x, Ty::I32);
            let mask = self.b.i32((1 << bits) - 1);
            let x = self.b.bin(Binary::And, x, mask);
            let by = self.b.i32(i * bits);
            let x = self.b.bin(Binary::Shl, x, by);
            word = self.b.bin(Binary::Or, word, x);
        }
        Ok(word)
    }

    fn unpack_norm(&mut self, v: View<'_>, number: u32) -> Result<Flat> {
        let Some((n, bits, scale, signed)) = packing(number) else { return Err(Error::internal("packing")) };
        let word = self.operand1(v, 0)?;
        let extract = if signed { Op::BitfieldSExtract } else { Op::BitfieldUExtract };
        let one = |i: u32| {
            let (offset, count) = (self.b.i32(i * bits), self.b.i32(bits));
            let x = self.b.val(extract.clone(), &[word, offset, count], Ty::I32);
            let x = self.b.cvt(if signed { Convert::SToF } else { Convert::UToF }, x, Ty::F32);
            let by = self.b.float(Ty::F32, scale);
            let x = self.b.bin(Binary::FDiv, x, by);
            let (minus, one) = (self.b.float(Ty::F32, -1.0), self.b.float(Ty::F32, 1.0));
            if signed { f_clamp(self, &[x, minus, one]) } else { x }
        };
        Ok((0..n).map(one).collect())
    }

    /// Converts f32 to the bits of the nearest half, by integer operations so that no back end
    /// needs halves.
    fn half_bits(&mut self, x: Value) -> Value {
        let bits = self.b.cvt(Convert::Bitcast, x, Ty::I32);
        let c = |t: &mut Self, v: u32| t.b.i32(v);
        let (abs_mask, sign_mask, sixteen) = (c(self, 0x7fff_ffff), c(self, 0x8000), c(self, 16));
        let a = self.b.bin(Binary::And, bits, abs_mask);
        let sign = self.b.bin(Binary::LShr, bits, sixteen);
        let sign = self.b.bin(Binary::And, sign, sign_mask);
        // Normal halves: the mantissa is rounded to 10 bits, ties to even, and the exponent's bias
        // is changed.
        let (thirteen, one, half, bias, inf) =
            (c(self, 13), c(self, 1), c(self, 0xfff), c(self, 112 << 10), c(self, 0x7c00));
        let low = self.b.bin(Binary::LShr, a, thirteen);
        let odd = self.b.bin(Binary::And, low, one);
        let r = self.b.bin(Binary::IAdd, a, half);
        let r = self.b.bin(Binary::IAdd, r, odd);
        let r = self.b.bin(Binary::LShr, r, thirteen);
        let r = self.b.bin(Binary::ISub, r, bias);
        let normal = self.b.bin(Binary::UMin, r, inf);
        // Denormal halves: adding 0.5 rounds to their step, 2^-24.
        let (magic, magic_bits) = (self.b.float(Ty::F32, 0.5), c(self, 0x3f00_0000));
        let af = self.b.cvt(Convert::Bitcast, a, Ty::F32);
        let d = self.b.bin(Binary::FAdd, af, magic);
        let d = self.b.cvt(Convert::Bitcast, d, Ty::I32);
        let denormal = self.b.bin(Binary::ISub, d, magic_bits);
        let (least, f32_inf, nan) = (c(self, 0x3880_0000), c(self, 0x7f80_0000), c(self, 0x7e00));
        let small = self.b.cmp(Cmp::SLt, a, least);
        let is_nan = self.b.cmp(Cmp::SLt, f32_inf, a);
        let r = self.b.select(small, denormal, normal);
        let r = self.b.select(is_nan, nan, r);
        self.b.bin(Binary::Or, r, sign)
    }

    /// Converts the bits of a half, in the upper half of a word, to f32 exactly.
    fn half_value(&mut self, word: Value) -> Value {
        let c = |t: &mut Self, v: u32| t.b.i32(v);
        let (mask, sign_mask, three) = (c(self, 0x7fff_0000), c(self, 0x8000_0000), c(self, 3));
        let a = self.b.bin(Binary::And, word, mask);
        let sign = self.b.bin(Binary::And, word, sign_mask);
        let shifted = self.b.bin(Binary::LShr, a, three);
        let (bias, step) = (c(self, 112 << 23), c(self, 1 << 23));
        let normal = self.b.bin(Binary::IAdd, shifted, bias);
        let infinite = self.b.bin(Binary::IAdd, normal, bias);
        // Denormals: their bits are added to 2^-14, which is then subtracted.
        let tiny = self.b.bin(Binary::IAdd, normal, step);
        let tiny = self.b.cvt(Convert::Bitcast, tiny, Ty::F32);
        let least_normal = self.b.float(Ty::F32, 1.0 / 16384.0);
        let tiny = self.b.bin(Binary::FSub, tiny, least_normal);
        let tiny = self.b.cvt(Convert::Bitcast, tiny, Ty::I32);
        let (least, most) = (c(self, 0x0400_0000), c(self, 0x7bff_0000));
        let small = self.b.cmp(Cmp::SLt, a, least);
        let big = self.b.cmp(Cmp::SLt, most, a);
        // If the mode of either type flushes denormals, these become zero.
        let flush = [Ty::F16, Ty::F32].iter().any(|&ty| self.b.modes.flags(ty).contains(FloatFlags::FLUSH_DENORMALS));
        let tiny = if flush { c(self, 0) } else { tiny };
        let r = self.b.select(small, tiny, normal);
        let r = self.b.select(big, infinite, r);
        let r = self.b.bin(Binary::Or, r, sign);
        self.b.cvt(Convert::Bitcast, r, Ty::F32)
    }

    /// Translates OpQuantizeToF16: numbers too small for a normalized half become zero.
    pub fn quantize(&mut self, x: Value) -> Value {
        let h = self.half_bits(x);
        let bits = self.b.cvt(Convert::Bitcast, x, Ty::I32);
        let (sign_mask, mask, least) = (self.b.i32(0x8000), self.b.i32(0x7fff_ffff), self.b.i32(0x3880_0000));
        let magnitude = self.b.bin(Binary::And, bits, mask);
        let small = self.b.cmp(Cmp::SLt, magnitude, least);
        let zero = self.b.bin(Binary::And, h, sign_mask);
        let h = self.b.select(small, zero, h);
        let by = self.b.i32(16);
        let word = self.b.bin(Binary::Shl, h, by);
        self.half_value(word)
    }

    // Vectors.

    fn length(&mut self, x: &[Value]) -> Value {
        if let [x] = *x {
            return self.b.un(Unary::FAbs, x);
        }
        let square = self.dot(x, x);
        self.b.un(Unary::Sqrt, square)
    }

    fn geometric(&mut self, v: View<'_>, number: u32) -> Result<Flat> {
        let x = self.operand(v, 0)?;
        if x.iter().any(|&c| !self.b.ty(c).is_float()) || x.is_empty() {
            return Err(Error::invalid("operand is not a float vector"));
        }
        let ty = self.b.ty(x[0]);
        let other = |t: &mut Self, i: usize| t.operand_n(v, i, x.len());
        let zip = |t: &mut Self, op: Binary, a: &[Value], b: &[Value]| -> Flat {
            a.iter().zip(b).map(|(&a, &b)| t.b.bin(op, a, b)).collect()
        };
        Ok(match number {
            glsl::Length => Flat::from_slice(&[self.length(&x)]),
            glsl::Distance => {
                let y = other(self, 1)?;
                let d = zip(self, Binary::FSub, &x, &y);
                Flat::from_slice(&[self.length(&d)])
            }
            glsl::Cross => {
                let y = other(self, 1)?;
                if x.len() != 3 {
                    return Err(Error::invalid("operand of another size"));
                }
                let term = |(i, j): (usize, usize)| {
                    let (p, q) = (self.b.bin(Binary::FMul, x[i], y[j]), self.b.bin(Binary::FMul, x[j], y[i]));
                    self.b.bin(Binary::FSub, p, q)
                };
                [(1, 2), (2, 0), (0, 1)].into_iter().map(term).collect()
            }
            glsl::Normalize => {
                let length = self.length(&x);
                x.iter().map(|&c| self.b.bin(Binary::FDiv, c, length)).collect()
            }
            glsl::FaceForward => {
                let (i, nref) = (other(self, 1)?, other(self, 2)?);
                let d = self.dot(&nref, &i);
                let zero = self.b.float(ty, 0.0);
                let front = self.b.cmp(Cmp::FOrdLt, d, zero);
                let one = |&c: &Value| {
                    let back = self.b.un(Unary::FNeg, c);
                    self.b.select(front, c, back)
                };
                x.iter().map(one).collect()
            }
            glsl::Reflect => {
                // I - 2 * dot(N, I) * N
                let n = other(self, 1)?;
                let d = self.dot(&n, &x);
                let two = self.b.float(ty, 2.0);
                let d = self.b.bin(Binary::FMul, two, d);
                let by: Flat = n.iter().map(|&c| self.b.bin(Binary::FMul, d, c)).collect();
                zip(self, Binary::FSub, &x, &by)
            }
            _ => {
                let n = other(self, 1)?;
                let eta = self.operand1(v, 2)?;
                self.refract(&x, &n, eta)
            }
        })
    }

    /// Computes k = 1 - eta²(1 - dot(N, I)²); k < 0 ? 0 : eta*I - (eta*dot(N, I) + sqrt(k)) * N.
    fn refract(&mut self, i: &[Value], n: &[Value], eta: Value) -> Flat {
        let ty = self.b.ty(i[0]);
        let (zero, one) = (self.b.float(ty, 0.0), self.b.float(ty, 1.0));
        let d = self.dot(n, i);
        let dd = self.b.bin(Binary::FMul, d, d);
        let rest = self.b.bin(Binary::FSub, one, dd);
        let e2 = self.b.bin(Binary::FMul, eta, eta);
        let k = self.b.bin(Binary::FMul, e2, rest);
        let k = self.b.bin(Binary::FSub, one, k);
        let total = self.b.cmp(Cmp::FOrdLt, k, zero);
        let root = self.b.un(Unary::Sqrt, k);
        let ed = self.b.bin(Binary::FMul, eta, d);
        let f = self.b.bin(Binary::FAdd, ed, root);
        let lane = |(&i, &n): (&Value, &Value)| {
            let (a, b) = (self.b.bin(Binary::FMul, eta, i), self.b.bin(Binary::FMul, f, n));
            let r = self.b.bin(Binary::FSub, a, b);
            self.b.select(total, zero, r)
        };
        i.iter().zip(n).map(lane).collect()
    }

    // Interpolation.

    fn interpolate(&mut self, v: View<'_>, number: u32) -> Result<Flat> {
        let Pointer { ty, place: PointerTarget::Local(l) } = self.pointer(v.arg(0)?)? else {
            return Err(Error::invalid("interpolant is not an input"));
        };
        let (at, args) = match number {
            glsl::InterpolateAtCentroid => (InterpolateAt::Centroid, Flat::new()),
            glsl::InterpolateAtSample => (InterpolateAt::AtSample, Flat::from_slice(&[self.operand1(v, 1)?])),
            _ => (InterpolateAt::Offset, self.operand_n(v, 1, 2)?),
        };
        let want = if at == InterpolateAt::Offset { Ty::F32 } else { Ty::I32 };
        if args.iter().any(|&a| self.b.ty(a) != want) {
            return Err(Error::invalid("operand type"));
        }
        let local = self.locals[l.local].clone();
        if local.io.is_empty() || self.stage.row().inputs != base::shader::StageIoKind::Interpolated {
            return Err(Error::invalid("interpolant is not an input"));
        }
        // In place, the pointer's leaves are those of the variable. A copy (indexed dynamically)
        // has its own numbering.
        if !local.vars.is_empty() {
            return self.interpolate_copy(&local, l, ty, at, &args);
        }
        let n = self.s.flat_leaves(ty)?;
        let read = |t: &mut Self, i: usize| local.io.get(i).map(|io| t.load_input_at(io, at, &args));
        let outside = || Error::invalid("interpolant outside its variable");
        match l.comp {
            None => (l.first..l.first + n).map(|i| read(self, i).ok_or_else(outside)).collect(),
            Some((comp, n)) => {
                let all: Option<Flat> = (l.first..l.first + n as usize).map(|i| read(self, i)).collect();
                Ok(Flat::from_slice(&[self.b.pick(&all.ok_or_else(outside)?, comp)]))
            }
        }
    }

    /// Translates interpolants of a variable that is indexed dynamically: the whole variable is
    /// read into a new copy.
    fn interpolate_copy(
        &mut self,
        local: &super::value::Local,
        l: super::value::LocalTarget,
        ty: u32,
        at: InterpolateAt,
        args: &[Value],
    ) -> Result<Flat> {
        let mut copy = local.clone();
        for var in &mut copy.vars {
            let data = self.b.shader.vars[*var].clone();
            *var = self.b.shader.vars.push(data);
        }
        self.locals.push(copy);
        let number = self.locals.len() - 1;
        let val = local.io.iter().map(|io| self.load_input_at(io, at, args)).collect();
        let whole = super::value::LocalTarget { local: number, first: 0, index: self.b.i32(0), comp: None };
        self.store(&Pointer { ty: local.ty, place: PointerTarget::Local(whole) }, val, false)?;
        let part = Pointer { ty, place: PointerTarget::Local(super::value::LocalTarget { local: number, ..l }) };
        match self.load(&part, false)? {
            super::value::Val::Flat(flat) => Ok(flat),
            _ => Err(Error::internal("interpolant")),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn instructions_are_sorted() {
        assert!(super::TABLE.windows(2).all(|w| w[0].0 < w[1].0));
    }
}
