//! Lowers binary16 values to binary32 values that binary16 can represent: after this pass,
//! arithmetic, control flow and private variables have no halves.
//!
//! It is the second pass. A half remains where memory, the stage's interface or an integer with its
//! bits requires one, between a [`Convert::FToF`] and that operation.
//!
//! The rule of an operation is in its row ([`F16Rule`]). A result is rounded by
//! [`Unary::RoundHalf`], unless it is a half anyway (a negation, a minimum or maximum, a whole
//! number). A sum, difference, product, quotient or root that is computed in
//! binary32 and rounded again is correctly rounded, because 24 >= 2 * 11 + 2 (Figueroa). The other
//! operations:
//!
//! * A fused multiply-add has a product of 22 bits, which is exact, and a sum whose last bit is
//!   made odd where it was rounded ([`sum_rounded_to_odd`]). Such a number is on no boundary of
//!   halves, so the second rounding sees on which side of a boundary the sum lies.
//! * A conversion from binary64 makes the last bit odd likewise ([`narrow_rounded_to_odd`]).
//! * A sum takes a product that may be contracted before it is rounded, because it is exact.
//! * Integers beyond the 24 bits of binary32 are beyond the largest half.
//! * Vulkan requires less precision of a remainder and of transcendental functions: they are
//!   computed in binary32 and rounded once.

use super::util::{define_results_from, for_each_inst, rewrite_insts, two_sum};
use crate::ir::{
    Binary, Builder, Cmp, Convert, F16Rule, FloatFlags, Inst, InstData, Node, Op, Shader, Subgroup, Ty, Unary, Value,
    eval,
};
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::smallvec;

/// Runs the pass.
pub fn lower_f16(shader: &mut Shader) {
    let mut halves = EntitySet::new();
    for (v, data) in shader.values.iter_mut().filter(|(_, data)| data.ty == Ty::F16) {
        data.ty = Ty::F32;
        halves.insert(v);
    }
    shader.vars.values_mut().filter(|data| data.ty == Ty::F16).for_each(|data| data.ty = Ty::F32);
    if halves.is_empty() {
        return;
    }
    let mut root = std::mem::take(&mut shader.root.body);
    let mut uses = SecondaryMap::with_capacity(shader.values.len());
    for_each_inst(&root, &mut |inst| shader.insts[inst].args.iter().for_each(|&v| uses[v] += 1));
    let mut pass = LowerF16 { shader, halves, uses, products: SecondaryMap::new(), constants: SecondaryMap::new() };
    rewrite_insts(&mut root, &mut |inst, out| pass.inst(inst, out));
    shader.root.body = root;
}

/// Builds the result of an instruction in binary32, before it is rounded.
type Expansion = fn(&mut Builder<'_>, &InstData) -> Value;

/// Returns the rule by which an operation is lowered, after the choices that depend on its operands
/// and results: `from_half` and `to_half` are true if one of them is a half.
fn rule(op: &Op, from_half: bool, to_half: bool) -> F16Rule {
    match (op.info().f16, op) {
        (F16Rule::Converted, _) if from_half => F16Rule::Single,
        (F16Rule::Converted, _) => F16Rule::Expanded,
        (F16Rule::Bits, _) if from_half && to_half => F16Rule::Single,
        (F16Rule::Bits, _) => F16Rule::Kept,
        (F16Rule::Combined, Op::Subgroup(Subgroup::Arithmetic(binary, _))) if binary.info().f16 == F16Rule::Single => {
            F16Rule::Single
        }
        (F16Rule::Combined, _) => F16Rule::Kept,
        (rule, _) => rule,
    }
}

/// Returns the expansion of an operation that has one. A test checks that each row with
/// [`F16Rule::Expanded`] does.
fn expansion(op: &Op, from: Ty) -> Option<Expansion> {
    Some(match op {
        Op::Fma => fused,
        Op::Convert(Convert::FToF) if from == Ty::F64 => |b, data| narrow_rounded_to_odd(b, data.args[0]),
        Op::Convert(Convert::FToF) => |_, data| data.args[0],
        Op::Convert(Convert::FToFRtz) => towards_zero,
        _ => return None,
    })
}

struct LowerF16<'a> {
    shader: &'a mut Shader,
    /// The values that were binary16.
    halves: EntitySet<Value>,
    /// Number of instructions that use a value.
    uses: SecondaryMap<Value, u32>,
    /// Unrounded values of products that are used once, with their flags.
    products: SecondaryMap<Value, Option<(Value, FloatFlags)>>,
    /// Bits of constants. A constant that is only stored keeps the bits of a NaN.
    constants: SecondaryMap<Value, Option<u64>>,
}

impl LowerF16<'_> {
    /// Appends the lowered form of an instruction.
    fn inst(&mut self, inst: Inst, out: &mut Vec<Node>) {
        let data = &self.shader.insts[inst];
        let from_half = data.args.iter().any(|&v| self.halves.contains(v));
        let to_half = data.results().any(|v| self.halves.contains(v));
        if !from_half && !to_half {
            return out.push(Node::Inst(inst));
        }
        if let Op::Const(bits) = data.op {
            let wide = eval::eval(&Op::Convert(Convert::FToF), Ty::F16, Ty::F32, &[bits]).map_or(0, |wide| wide[0]);
            self.constants[data.first_result] = Some(bits);
            self.shader.insts[inst].op = Op::Const(wide);
            return out.push(Node::Inst(inst));
        }
        let from = data.args.first().map_or(Ty::F32, |&v| self.shader.ty(v));
        match (rule(&data.op, from_half, to_half), expansion(&data.op, from)) {
            (F16Rule::Single, _) => out.push(Node::Inst(inst)),
            (F16Rule::Rounded, _) => {
                let mut data = data.clone();
                if let Op::Binary(Binary::FAdd | Binary::FSub) = data.op {
                    self.contract(&mut data);
                }
                let wide = builder(self.shader, &data, out, |b| b.op(data.op.clone(), &data.args, Ty::F32));
                if data.op == Op::Binary(Binary::FMul) && self.uses[data.first_result] == 1 {
                    self.products[data.first_result] = Some((wide, data.float));
                }
                self.round(inst, wide, out);
            }
            (F16Rule::Expanded, Some(expand)) => {
                let data = data.clone();
                let wide = builder(self.shader, &data, out, |b| {
                    b.float |= FloatFlags::NO_CONTRACTION;
                    expand(b, &data)
                });
                self.round(inst, wide, out);
            }
            (F16Rule::None | F16Rule::Kept | F16Rule::Expanded, _) => self.keep(inst, out),
            (F16Rule::Converted | F16Rule::Bits | F16Rule::Combined, _) => self.keep(inst, out),
        }
    }

    /// Lets a sum take a product unrounded. If both operands are products, the left one is taken,
    /// as in `contract`.
    fn contract(&self, data: &mut InstData) {
        let exact = data.args.iter().position(|&v| self.products[v].is_some_and(|p| p.1.may_contract(data.float)));
        if let Some(i) = exact
            && let Some((product, float)) = self.products[data.args[i]]
        {
            data.args[i] = product;
            data.float |= float;
        }
    }

    /// Turns the instruction into the rounding of a value.
    fn round(&mut self, inst: Inst, wide: Value, out: &mut Vec<Node>) {
        let target = &mut self.shader.insts[inst];
        (target.op, target.args) = (Op::Unary(Unary::RoundHalf), smallvec![wide]);
        out.push(Node::Inst(inst));
    }

    /// Keeps the instruction and puts conversions around it.
    fn keep(&mut self, inst: Inst, out: &mut Vec<Node>) {
        let data = self.shader.insts[inst].clone();
        let mut kept = data.clone();
        builder(self.shader, &data, out, |b| {
            for arg in kept.args.iter_mut().filter(|arg| self.halves.contains(**arg)) {
                *arg = match self.constants[*arg] {
                    Some(bits) => b.op(Op::Const(bits), &[], Ty::F16),
                    None => b.convert(Convert::FToF, *arg, Ty::F16),
                };
            }
        });
        if !data.results().any(|v| self.halves.contains(v)) {
            self.shader.insts[inst].args = kept.args;
            return out.push(Node::Inst(inst));
        }
        let types = vec![Ty::F16; data.result_count.into()];
        let inner = self.shader.inst(kept.op, &kept.args, &types, data.source);
        self.shader.set_float(inner, data.float);
        out.push(Node::Inst(inner));
        let results: Vec<Value> = self.shader.insts[inner].results().collect();
        define_results_from(self.shader, &data, Convert::FToF, results, out);
    }
}

/// Appends to `out` the nodes that a function builds in place of an instruction.
fn builder<R>(
    shader: &mut Shader,
    data: &InstData,
    out: &mut Vec<Node>,
    build: impl FnOnce(&mut Builder<'_>) -> R,
) -> R {
    let mut b = Builder::new(shader);
    (b.source, b.float) = (data.source, data.float);
    b.nodes = std::mem::take(out);
    let result = build(&mut b);
    *out = b.nodes;
    result
}

/// Builds a * b + c of halves, rounded to odd, which is on a boundary between halves only if the
/// exact sum is.
fn fused(b: &mut Builder<'_>, data: &InstData) -> Value {
    let product = b.binary(Binary::FMul, data.args[0], data.args[1]);
    sum_rounded_to_odd(b, product, data.args[2])
}

/// Builds a sum of binary32, rounded to odd: the sum if it is exact, else the one of its two
/// neighbours whose last bit is one.
fn sum_rounded_to_odd(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let [sum, lost] = two_sum(b, x, y);
    let zero = b.f32(0.0);
    let inexact = b.cmp(Cmp::FOrdNe, lost, zero);
    // The sum was rounded away from zero if the lost part has the other sign.
    let (bits, lost) = (b.convert(Convert::Bitcast, sum, Ty::I32), b.convert(Convert::Bitcast, lost, Ty::I32));
    let signs = b.binary(Binary::Xor, bits, lost);
    let by = b.u32(31);
    let away = b.binary(Binary::LShr, signs, by);
    let lower = b.binary(Binary::ISub, bits, away);
    let one = b.u32(1);
    let odd = b.binary(Binary::Or, lower, one);
    let bits = b.select(inexact, odd, bits);
    b.convert(Convert::Bitcast, bits, Ty::F32)
}

/// Converts binary64 to binary32, rounded to odd.
fn narrow_rounded_to_odd(b: &mut Builder<'_>, x: Value) -> Value {
    let (truncated, inexact) = narrow_towards_zero(b, x);
    let bits = b.convert(Convert::Bitcast, truncated, Ty::I32);
    let inexact = b.convert(Convert::BToI, inexact, Ty::I32);
    let odd = b.binary(Binary::Or, bits, inexact);
    b.convert(Convert::Bitcast, odd, Ty::F32)
}

/// Converts binary64 to binary32, rounded towards zero, and returns whether it was rounded.
pub(super) fn narrow_towards_zero(b: &mut Builder<'_>, x: Value) -> (Value, Value) {
    let near = b.convert(Convert::FToF, x, Ty::F32);
    let back = b.convert(Convert::FToF, near, Ty::F64);
    let inexact = b.cmp(Cmp::FOrdNe, back, x);
    let (magnitude, limit) = (b.unary(Unary::FAbs, back), b.unary(Unary::FAbs, x));
    let away = b.cmp(Cmp::FOrdLt, limit, magnitude);
    let bits = b.convert(Convert::Bitcast, near, Ty::I32);
    let away = b.convert(Convert::BToI, away, Ty::I32);
    let bits = b.binary(Binary::ISub, bits, away);
    (b.convert(Convert::Bitcast, bits, Ty::F32), inexact)
}

/// Builds `Convert::FToFRtz` to a half.
fn towards_zero(b: &mut Builder<'_>, data: &InstData) -> Value {
    let x = data.args[0];
    // Two roundings towards zero are equal to one.
    let x = if b.shader.ty(x) == Ty::F64 { narrow_towards_zero(b, x).0 } else { x };
    truncate(b, x)
}

/// Returns the half next to a binary32 number on the side of zero.
pub(super) fn truncate(b: &mut Builder<'_>, x: Value) -> Value {
    let near = b.unary(Unary::RoundHalf, x);
    let (magnitude, limit) = (b.unary(Unary::FAbs, near), b.unary(Unary::FAbs, x));
    let away = b.cmp(Cmp::FOrdLt, limit, magnitude);
    // The half below is a step of 2^-24 away among denormals; else the number minus one unit is
    // truncated to a half. The half below infinity is the largest finite one.
    let step = b.f32(1.0 / 16_777_216.0);
    let below_small = b.binary(Binary::FSub, magnitude, step);
    let bits = b.convert(Convert::Bitcast, magnitude, Ty::I32);
    let (minus, mask) = (b.i32(-1), b.i32(!0x1fff));
    let bits = b.binary(Binary::IAdd, bits, minus);
    let bits = b.binary(Binary::And, bits, mask);
    let below = b.convert(Convert::Bitcast, bits, Ty::F32);
    let greatest = b.f32(65504.0);
    let below = b.binary(Binary::FMin, below, greatest);
    let least_normal = b.f32(1.0 / 16384.0);
    let small = b.cmp(Cmp::FOrdLe, magnitude, least_normal);
    let below = b.select(small, below_small, below);
    let below = copy_sign(b, below, x);
    b.select(away, below, near)
}

/// Returns a magnitude with the sign of another number.
fn copy_sign(b: &mut Builder<'_>, magnitude: Value, sign: Value) -> Value {
    let (bits, sign) = (b.convert(Convert::Bitcast, magnitude, Ty::I32), b.convert(Convert::Bitcast, sign, Ty::I32));
    let mask = b.i32(i32::MIN);
    let sign = b.binary(Binary::And, sign, mask);
    let bits = b.binary(Binary::Or, bits, sign);
    b.convert(Convert::Bitcast, bits, Ty::F32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_expanded_operations_have_an_expansion() {
        for op in Op::examples() {
            let expanded = matches!(op.info().f16, F16Rule::Expanded | F16Rule::Converted);
            for from in [Ty::F32, Ty::F64] {
                assert_eq!(expansion(&op, from).is_some(), expanded, "{}", op.info().name);
            }
        }
    }
}
