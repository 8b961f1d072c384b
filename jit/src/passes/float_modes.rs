//! Lowers arithmetic that rounds towards zero or flushes denormals to steps of ordinary arithmetic,
//! which have neither flag; `ir::modes` defines its meaning.
//!
//! This is the first pass, so halves are still present. Nothing depends on a mode of the machine,
//! so a stage may mix modes.
//!
//! * A denormal x is flushed to x * 0.
//! * A sum rounded to nearest has an error that is representable (Knuth's TwoSum): if the error
//!   points back to zero, the result is the previous number. For a product, quotient or root of
//!   binary64, the sign of the remainder serves the same purpose. It is computed by a fused
//!   multiply-add, scaled where the remainder might be too small.
//! * In the format of twice the width, products are exact. Quotients and roots are either numbers
//!   of the narrow format or so far from them that rounding to nearest crosses none: their last
//!   bits are at least 2^-2p apart, with p bits. They are computed there and truncated.
//! * For remainders, powers of two and transcendental functions, whose precision Vulkan leaves
//!   open, only operands and results are flushed.

use super::util::{define_results_from, rewrite_insts, two_sum};
use crate::ir::{Binary, Builder, Cmp, Convert, FloatFlags, Inst, InstData, Node, Op, Shader, Ty, Unary, Value, modes};

/// Runs the pass.
pub fn float_modes(shader: &mut Shader) {
    if shader.insts.values().all(|data| data.float.is_default()) {
        return;
    }
    let mut body = std::mem::take(&mut shader.root.body);
    rewrite_insts(&mut body, &mut |inst, out| match shader.insts[inst].float.is_default() {
        true => out.push(Node::Inst(inst)),
        false => lower(shader, inst, out),
    });
    shader.root.body = body;
}

/// Appends the steps of an instruction, or the instruction itself if its flags change nothing.
fn lower(shader: &mut Shader, inst: Inst, out: &mut Vec<Node>) {
    let data = shader.insts[inst].clone();
    let plain = data.float.without_changes();
    let rule = data.op.info().float;
    let flush = data.float.contains(FloatFlags::FLUSH_DENORMALS) && rule.flushes_results();
    let rounds = data.float.contains(FloatFlags::ROUND_ZERO) && rule.rounds();
    let cut = if rounds { steps(shader, &data) } else { None };
    if !flush && cut.is_none() {
        shader.set_float(inst, plain);
        return out.push(Node::Inst(inst));
    }
    let results: Vec<Ty> = data.results().map(|v| shader.ty(v)).collect();
    let mut b = Builder::new(shader);
    (b.source, b.float) = (data.source, plain | FloatFlags::NO_CONTRACTION);
    b.nodes = std::mem::take(out);
    let mut step = data.clone();
    if flush && rule.flushes_operands() {
        step.args.iter_mut().for_each(|arg| *arg = flushed(&mut b, *arg));
    }
    if cut.is_none() && !results.iter().any(|ty| ty.is_float()) {
        // A comparison has no float result to flush.
        *out = b.nodes;
        shader.insts[inst].args = step.args;
        shader.set_float(inst, plain);
        return out.push(Node::Inst(inst));
    }
    let mut values: Vec<Value> = match cut {
        Some(cut) => vec![cut(&mut b, &step)],
        None => {
            let plain = b.inst(step.op.clone(), &step.args, &results);
            b.shader.insts[plain].results().collect()
        }
    };
    if flush {
        values.iter_mut().for_each(|value| *value = flushed(&mut b, *value));
    }
    *out = b.nodes;
    // Bitcasts to the same type copy the bits.
    define_results_from(shader, &data, Convert::Bitcast, values, out);
}

/// A function that builds an instruction's result, truncated to its type.
type LoweringFn = fn(&mut Builder<'_>, &InstData) -> Value;

/// Returns the steps of an operation that [rounds](crate::ir::FloatRule::rounds), or `None` if it
/// is exact for the types of the instruction. A test checks that each such operation has steps.
fn steps(shader: &Shader, data: &InstData) -> Option<LoweringFn> {
    let from = shader.ty(*data.args.first()?);
    let to = if data.result_count == 1 { shader.ty(data.first_result) } else { return None };
    Some(match &data.op {
        Op::Binary(Binary::FAdd | Binary::FSub) if to == Ty::F16 => |b, data| {
            let [x, y] = widen_operands(b, data, Ty::F32);
            let Op::Binary(op) = data.op else { return x };
            let sum = sum(b, op, x, y);
            cut_to(b, sum, Ty::F16)
        },
        Op::Binary(Binary::FAdd | Binary::FSub) => |b, data| match data.op {
            Op::Binary(op) => sum(b, op, data.args[0], data.args[1]),
            _ => data.args[0],
        },
        Op::Binary(Binary::FMul) if to == Ty::F64 => |b, data| product(b, data.args[0], data.args[1]),
        Op::Binary(Binary::FDiv) if to == Ty::F64 => |b, data| quotient(b, data.args[0], data.args[1]),
        Op::Binary(Binary::FMul | Binary::FDiv) => |b, data| {
            let [x, y] = widen_operands(b, data, wider(b.shader.ty(data.args[0])));
            let exact = b.op(data.op.clone(), &[x, y], b.shader.ty(x));
            cut_to(b, exact, b.shader.ty(data.first_result))
        },
        Op::Unary(Unary::Sqrt) if to == Ty::F64 => |b, data| root(b, data.args[0]),
        Op::Unary(Unary::Sqrt) => |b, data| {
            let [x] = widen_operands(b, data, wider(b.shader.ty(data.args[0])));
            let root = b.unary(Unary::Sqrt, x);
            cut_to(b, root, b.shader.ty(data.first_result))
        },
        Op::Fma if to == Ty::F64 => |b, data| {
            let product = product(b, data.args[0], data.args[1]);
            sum(b, Binary::FAdd, product, data.args[2])
        },
        Op::Fma => |b, data| {
            let [x, y, z] = widen_operands(b, data, wider(b.shader.ty(data.args[0])));
            let product = b.binary(Binary::FMul, x, y);
            let sum = sum(b, Binary::FAdd, product, z);
            cut_to(b, sum, b.shader.ty(data.first_result))
        },
        Op::Convert(Convert::FToF) if to.bytes() < from.bytes() => {
            |b, data| cut_to(b, data.args[0], b.shader.ty(data.first_result))
        }
        Op::Convert(convert @ (Convert::SToF | Convert::UToF)) if from.bytes() >= to.bytes() => match convert {
            Convert::SToF => |b, data| from_integer(b, data, Convert::SToF),
            _ => |b, data| from_integer(b, data, Convert::UToF),
        },
        _ => return None,
    })
}

fn wider(ty: Ty) -> Ty {
    if ty == Ty::F16 { Ty::F32 } else { Ty::F64 }
}

/// Converts an instruction's operands to a wider format.
fn widen_operands<const N: usize>(b: &mut Builder<'_>, data: &InstData, ty: Ty) -> [Value; N] {
    std::array::from_fn(|i| b.convert(Convert::FToF, data.args[i], ty))
}

fn cut_to(b: &mut Builder<'_>, x: Value, ty: Ty) -> Value {
    b.convert(Convert::FToFRtz, x, ty)
}

/// Returns a float constant that binary16 or binary64 can represent.
fn float(b: &mut Builder<'_>, ty: Ty, x: f64) -> Value {
    let bits = crate::ir::eval::eval(&Op::Convert(Convert::FToF), Ty::F64, ty, &[x.to_bits()]);
    b.constant(ty, bits.map_or(0, |bits| bits[0]))
}

/// Flushes a float; a value of another type stays as it is.
fn flushed(b: &mut Builder<'_>, x: Value) -> Value {
    let ty = b.shader.ty(x);
    if !ty.is_float() {
        return x;
    }
    let (least, zero) = (float(b, ty, modes::smallest_normal(ty)), float(b, ty, 0.0));
    let magnitude = b.unary(Unary::FAbs, x);
    let denormal = b.cmp(Cmp::FOrdLt, magnitude, least);
    let nothing = b.binary(Binary::FMul, x, zero);
    b.select(denormal, nothing, x)
}

/// Returns whether two numbers of a type have different signs.
fn signs_differ(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let words = b.shader.ty(x).integer();
    let [x, y] = [x, y].map(|x| b.convert(Convert::Bitcast, x, words));
    let signs = b.binary(Binary::Xor, x, y);
    let zero = b.constant(words, 0);
    b.cmp(Cmp::SLt, signs, zero)
}

/// Returns the number before x, on the side of zero, if `away` is true. The number before infinity
/// is the largest finite one.
fn before(b: &mut Builder<'_>, x: Value, away: Value) -> Value {
    let (ty, words) = (b.shader.ty(x), b.shader.ty(x).integer());
    let bits = b.convert(Convert::Bitcast, x, words);
    let one = b.convert(Convert::BToI, away, Ty::I32);
    let one = if words == Ty::I64 { b.convert(Convert::UToU, one, words) } else { one };
    let bits = b.binary(Binary::ISub, bits, one);
    b.convert(Convert::Bitcast, bits, ty)
}

/// Returns x, or the number before it if the remainder `left` of the exact value points back to
/// zero: it is not zero and its sign differs from that of `like`.
fn towards(b: &mut Builder<'_>, x: Value, left: Value, like: Value) -> Value {
    let zero = float(b, b.shader.ty(x), 0.0);
    let inexact = b.cmp(Cmp::FOrdNe, left, zero);
    let back = signs_differ(b, left, like);
    let away = b.binary(Binary::And, inexact, back);
    before(b, x, away)
}

/// Returns a sum or difference of binary32 or binary64, rounded towards zero.
fn sum(b: &mut Builder<'_>, op: Binary, x: Value, y: Value) -> Value {
    let y = if op == Binary::FSub { b.unary(Unary::FNeg, y) } else { y };
    let ty = b.shader.ty(x);
    let [sum, lost] = two_sum(b, x, y);
    let cut = towards(b, sum, lost, sum);
    // An infinity that results from two finite numbers.
    let infinity = float(b, ty, f64::INFINITY);
    let [x, y, magnitude] = [x, y, sum].map(|x| b.unary(Unary::FAbs, x));
    let greater = b.binary(Binary::FMax, x, y);
    let numbers = b.cmp(Cmp::FOrdLt, greater, infinity);
    let infinite = b.cmp(Cmp::FOrdEq, magnitude, infinity);
    let overflow = b.binary(Binary::And, numbers, infinite);
    let greatest = before(b, sum, overflow);
    b.select(infinite, greatest, cut)
}

/// Returns `factor` if the magnitude of x is below 2^exponent, else 1.
fn scale(b: &mut Builder<'_>, x: Value, exponent: i32, factor: f64) -> Value {
    let (limit, factor, one) =
        (float(b, Ty::F64, 2f64.powi(exponent)), float(b, Ty::F64, factor), float(b, Ty::F64, 1.0));
    let magnitude = b.unary(Unary::FAbs, x);
    let small = b.cmp(Cmp::FOrdLt, magnitude, limit);
    b.select(small, factor, one)
}

/// Returns a product of binary64, rounded towards zero. If it is small, so is one of its factors,
/// which is scaled with it.
fn product(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let product = b.binary(Binary::FMul, x, y);
    let factor = scale(b, product, -900, 2f64.powi(200));
    let [x_size, y_size] = [x, y].map(|x| b.unary(Unary::FAbs, x));
    let x_less = b.cmp(Cmp::FOrdLt, x_size, y_size);
    let (small, large) = (b.select(x_less, x, y), b.select(x_less, y, x));
    let small = b.binary(Binary::FMul, small, factor);
    let scaled = b.binary(Binary::FMul, product, factor);
    let minus = b.unary(Unary::FNeg, scaled);
    let left = b.fma(small, large, minus);
    towards(b, product, left, product)
}

/// Returns a quotient of binary64, rounded towards zero.
fn quotient(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let quotient = b.binary(Binary::FDiv, x, y);
    let factor = scale(b, x, -800, 2f64.powi(200));
    let scaled = b.binary(Binary::FMul, x, factor);
    let by = b.binary(Binary::FMul, quotient, factor);
    let minus = b.unary(Unary::FNeg, by);
    let left = b.fma(minus, y, scaled);
    towards(b, quotient, left, x)
}

/// Returns a square root of binary64, rounded towards zero.
fn root(b: &mut Builder<'_>, x: Value) -> Value {
    let (up, down) = (scale(b, x, -500, 2f64.powi(600)), scale(b, x, -500, 2f64.powi(-300)));
    let x = b.binary(Binary::FMul, x, up);
    let root = b.unary(Unary::Sqrt, x);
    let minus = b.unary(Unary::FNeg, root);
    let left = b.fma(minus, root, x);
    let root = towards(b, root, left, root);
    b.binary(Binary::FMul, root, down)
}

/// Converts an integer that the type may not represent: binary64 represents words and, truncated,
/// sums of two.
fn from_integer(b: &mut Builder<'_>, data: &InstData, convert: Convert) -> Value {
    let (x, to) = (data.args[0], b.shader.ty(data.first_result));
    let number = if b.shader.ty(x) == Ty::I64 {
        let by = b.constant(Ty::I64, 32);
        let high = b.binary(if convert == Convert::SToF { Binary::AShr } else { Binary::LShr }, x, by);
        let high = b.convert(convert, high, Ty::F64);
        let unit = float(b, Ty::F64, 2f64.powi(32));
        let high = b.binary(Binary::FMul, high, unit);
        let mask = b.constant(Ty::I64, 0xffff_ffff);
        let low = b.binary(Binary::And, x, mask);
        let low = b.convert(Convert::UToF, low, Ty::F64);
        sum(b, Binary::FAdd, high, low)
    } else {
        b.convert(convert, x, Ty::F64)
    };
    if to == Ty::F64 { number } else { cut_to(b, number, to) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::shader::Stage;

    /// Checks that each operation that rounds has steps for some types, and that no other operation
    /// has any.
    #[test]
    fn exactly_the_rounding_operations_have_steps() {
        for op in Op::examples() {
            let has_steps = |(args, results): (Vec<Ty>, Vec<Ty>)| {
                let mut shader = Shader::new(Stage::Compute, "steps");
                let mut b = Builder::new(&mut shader);
                let args: Vec<Value> = args.into_iter().map(|ty| b.constant(ty, 1)).collect();
                b.inst(op.clone(), &args, &results);
                b.finish();
                let data = shader.insts.values().next_back();
                data.is_some_and(|data| data.op == op && steps(&shader, data).is_some())
            };
            let found = op.info().signature.instances().into_iter().any(has_steps);
            assert_eq!(found, op.info().float.rounds(), "{}", op.info().name);
        }
    }
}
