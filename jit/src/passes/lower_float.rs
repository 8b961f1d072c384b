//! Lowers float operations that machines do in several steps: powers of two and exponents of
//! binary64, conversions that round towards zero, and conversions between floats and integers of 8
//! and 16 bits.
//!
//! `lower_f16` has removed binary16 before. The last step defines the instruction's result, so no
//! value is renamed.

use super::lower_f16::narrow_towards_zero;
use super::util::{define_results_from, rewrite_insts};
use crate::ir::{Binary, Builder, Cmp, Convert, FloatFlags, Inst, InstData, Node, Op, Shader, Ty, Unary, Value};

/// Runs the pass.
pub fn lower_float(shader: &mut Shader) {
    if !shader.insts.values().any(|data| steps(shader, data).is_some()) {
        return;
    }
    let mut body = std::mem::take(&mut shader.root.body);
    rewrite_insts(&mut body, &mut |inst, out| match steps(shader, &shader.insts[inst]) {
        Some(steps) => lower(shader, inst, steps, out),
        None => out.push(Node::Inst(inst)),
    });
    shader.root.body = body;
}

/// A function that builds an instruction's results.
type LoweringFn = fn(&mut Builder<'_>, &InstData) -> Vec<Value>;

/// Returns the steps of an instruction, or `None` if it is not lowered.
fn steps(shader: &Shader, data: &InstData) -> Option<LoweringFn> {
    let from = shader.ty(*data.args.first()?);
    let to = if data.result_count == 0 { return None } else { shader.ty(data.first_result) };
    let narrow = |ty: Ty| matches!(ty, Ty::I8 | Ty::I16);
    Some(match &data.op {
        Op::Ldexp if to == Ty::F64 => |b, data| vec![ldexp(b, data.args[0], data.args[1])],
        Op::Frexp if from == Ty::F64 => |b, data| frexp(b, data.args[0]).to_vec(),
        Op::Convert(Convert::FToFRtz) if (from, to) == (Ty::F64, Ty::F32) => {
            |b, data| vec![narrow_towards_zero(b, data.args[0]).0]
        }
        Op::Convert(Convert::FToS) if narrow(to) => |b, data| vec![to_narrow(b, data, true)],
        Op::Convert(Convert::FToU) if narrow(to) => |b, data| vec![to_narrow(b, data, false)],
        Op::Convert(Convert::SToF) if narrow(from) => |b, data| vec![from_narrow(b, data, Convert::SToS)],
        Op::Convert(Convert::UToF) if narrow(from) => |b, data| vec![from_narrow(b, data, Convert::UToU)],
        _ => return None,
    })
}

/// Appends the steps of an instruction, whose results are defined by the last steps.
fn lower(shader: &mut Shader, inst: Inst, steps: LoweringFn, out: &mut Vec<Node>) {
    let data = shader.insts[inst].clone();
    let mut b = Builder::new(shader);
    // The steps contain an fma where fusing is wanted.
    (b.source, b.float) = (data.source, data.float | FloatFlags::NO_CONTRACTION);
    b.nodes = std::mem::take(out);
    let values = steps(&mut b, &data);
    *out = b.nodes;
    // Bitcasts to the same type copy the bits.
    define_results_from(shader, &data, Convert::Bitcast, values, out);
}

/// Converts a float to an integer of 8 or 16 bits: first to a word, then clamped to the range.
fn to_narrow(b: &mut Builder<'_>, data: &InstData, signed: bool) -> Value {
    let to = b.shader.ty(data.first_result);
    let bits = to.bytes() * 8;
    let word = b.convert(if signed { Convert::FToS } else { Convert::FToU }, data.args[0], Ty::I32);
    let cut = if signed {
        let (min_value, max_value) = (b.i32(-1 << (bits - 1)), b.i32((1 << (bits - 1)) - 1));
        let word = b.binary(Binary::SMax, word, min_value);
        b.binary(Binary::SMin, word, max_value)
    } else {
        let max_value = b.u32((1 << bits) - 1);
        b.binary(Binary::UMin, word, max_value)
    };
    b.convert(Convert::UToU, cut, to)
}

/// Converts an integer of 8 or 16 bits to a float.
fn from_narrow(b: &mut Builder<'_>, data: &InstData, widen: Convert) -> Value {
    let word = b.convert(widen, data.args[0], Ty::I32);
    b.convert(Convert::SToF, word, b.shader.ty(data.first_result))
}

fn f64(b: &mut Builder<'_>, x: f64) -> Value {
    b.constant(Ty::F64, x.to_bits())
}

/// Returns 2^e for exponents of normal numbers.
fn power(b: &mut Builder<'_>, e: Value) -> Value {
    let bias = b.i32(1023);
    let e = b.binary(Binary::IAdd, e, bias);
    let e = b.convert(Convert::UToU, e, Ty::I64);
    let by = b.constant(Ty::I64, 52);
    let bits = b.binary(Binary::Shl, e, by);
    b.convert(Convert::Bitcast, bits, Ty::F64)
}

/// Returns x * 2^e. At most two steps bring e into the range in which one product does the rest and
/// rounds. Steps upwards are exact; a step downwards that is inexact leads to numbers that become
/// zero in the end.
fn ldexp(b: &mut Builder<'_>, x: Value, e: Value) -> Value {
    let (min_value, max_value) = (b.i32(-2200), b.i32(2200));
    let e = b.binary(Binary::SMax, e, min_value);
    let mut e = b.binary(Binary::SMin, e, max_value);
    let mut x = x;
    for _ in 0..2 {
        let (low, high, zero) = (b.i32(-960), b.i32(1000), b.i32(0));
        let below = b.cmp(Cmp::SLt, e, low);
        let above = b.cmp(Cmp::SLt, high, e);
        let down = b.i32(-960 + 53);
        let step = b.select(above, high, zero);
        let step = b.select(below, down, step);
        let factor = power(b, step);
        x = b.binary(Binary::FMul, x, factor);
        e = b.binary(Binary::ISub, e, step);
    }
    let factor = power(b, e);
    b.binary(Binary::FMul, x, factor)
}

/// Returns significand and exponent: the fields of the bits, which for denormals are read after a
/// multiplication.
fn frexp(b: &mut Builder<'_>, x: Value) -> [Value; 2] {
    let magnitude = b.unary(Unary::FAbs, x);
    let (min_value, infinity, zero) = (f64(b, f64::MIN_POSITIVE), f64(b, f64::INFINITY), f64(b, 0.0));
    let denormal = b.cmp(Cmp::FOrdLt, magnitude, min_value);
    let up = f64(b, 18_014_398_509_481_984.0);
    let scaled = b.binary(Binary::FMul, x, up);
    let number = b.select(denormal, scaled, x);
    let bits = b.convert(Convert::Bitcast, number, Ty::I64);
    let by = b.constant(Ty::I64, 52);
    let field = b.binary(Binary::LShr, bits, by);
    let field = b.convert(Convert::UToU, field, Ty::I32);
    let mask = b.i32(0x7ff);
    let field = b.binary(Binary::And, field, mask);
    let (bias, bias_denormal) = (b.i32(1022), b.i32(1022 + 54));
    let bias = b.select(denormal, bias_denormal, bias);
    let exponent = b.binary(Binary::ISub, field, bias);
    let (fraction, half) = (b.constant(Ty::I64, !(0x7ff << 52)), b.constant(Ty::I64, 1022 << 52));
    let bits = b.binary(Binary::And, bits, fraction);
    let bits = b.binary(Binary::Or, bits, half);
    let significand = b.convert(Convert::Bitcast, bits, Ty::F64);
    // Zeros, infinities and NaNs have no exponent.
    let some = b.cmp(Cmp::FOrdLt, zero, magnitude);
    let finite = b.cmp(Cmp::FOrdLt, magnitude, infinity);
    let both = b.binary(Binary::And, some, finite);
    let none = b.i32(0);
    [b.select(both, significand, x), b.select(both, exponent, none)]
}
