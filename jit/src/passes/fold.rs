//! Constant folding and exact algebraic rewrites.
//!
//! Every rewrite gives the same bits, except payloads of NaNs, and products and sums with zero of
//! instructions without any float flag. Kernels of image filters have taps of weight zero, whose
//! samples are not taken thanks to these.
//!
//! Constants are collected at the start of the root body, each once, so that a folded value is
//! visible everywhere. Rewrites change an instruction in place or rename its result; no instruction
//! is added. Transcendental functions are left to `lower_math`, whose expansions fold by
//! themselves. An arithmetic result that is NaN is left to run time, where its payload is
//! determined.

use super::util::{ConstantPool, Renames};
use crate::ir::eval::{self, eval, is_nan};
use crate::ir::{
    Binary, Builtin, Cmp, Convert, Inst, InstData, Node, Op, Region, Shader, Term, Ty, Unary, Value, ValueDef,
};
use base::limits::MAX_WORKGROUP_INVOCATIONS;
use smallvec::{SmallVec, smallvec};

/// Runs the pass.
pub fn fold(shader: &mut Shader) {
    let constants = ConstantPool::new(shader);
    let mut root = std::mem::take(&mut shader.root.body);
    let mut fold = Fold { shader, renames: Renames::default(), constants };
    fold.region(&mut root);
    let constants = fold.constants;
    shader.root.body = root;
    constants.finish(shader);
}

/// Replacement of an instruction.
enum Rewrite {
    /// The result is this value.
    Value(Value),
    /// The result is this constant.
    Const(u64),
    /// The instruction becomes this operation.
    Op(Op, SmallVec<[Value; 4]>),
    /// The instruction becomes this operation of a value and a constant of the value's type.
    WithConst(Binary, Value, u64),
}

fn op1(op: Op, a: Value) -> Option<Rewrite> {
    Some(Rewrite::Op(op, smallvec![a]))
}

fn op2(op: Binary, a: Value, b: Value) -> Option<Rewrite> {
    Some(Rewrite::Op(Op::Binary(op), smallvec![a, b]))
}

struct Fold<'a> {
    shader: &'a mut Shader,
    renames: Renames,
    constants: ConstantPool,
}

impl Fold<'_> {
    fn region(&mut self, region: &mut Region) {
        let mut nodes = std::mem::take(&mut region.nodes);
        nodes.retain_mut(|node| match node {
            Node::Inst(inst) => self.inst(*inst),
            Node::If(n) => {
                n.cond = self.renames.resolve(n.cond);
                // A negated condition swaps the arms.
                if let Some(Op::Unary(Unary::Not)) = self.op(n.cond) {
                    n.cond = self.arg(n.cond, 0);
                    std::mem::swap(&mut n.then, &mut n.else_);
                }
                self.region(&mut n.then);
                self.region(&mut n.else_);
                true
            }
            Node::Loop(n) => {
                self.renames.apply(&mut n.inits);
                self.region(&mut n.body);
                true
            }
            Node::Scope(n) => {
                self.region(&mut n.body);
                true
            }
        });
        region.nodes = nodes;
        if let Term::Yield(args) | Term::Break(_, args) = &mut region.term {
            self.renames.apply(args);
        }
    }

    /// Folds an instruction. Returns false if it is removed.
    fn inst(&mut self, inst: Inst) -> bool {
        self.renames.apply(&mut self.shader.insts[inst].args);
        if let Op::Const(bits) = self.shader.insts[inst].op {
            let result = self.shader.insts[inst].first_result;
            return !self.replace_const(result, bits);
        }
        if self.evaluate(inst) {
            return false;
        }
        // A rewritten instruction may allow another rewrite; chains are short.
        for _ in 0..4 {
            let data = &self.shader.insts[inst];
            if data.result_count != 1 || !data.float.is_default() {
                return true;
            }
            let result = data.first_result;
            match self.rewrite(data) {
                None => return true,
                Some(Rewrite::Value(v)) => {
                    self.renames.set(result, v);
                    return false;
                }
                Some(Rewrite::Const(bits)) => return !self.replace_const(result, bits),
                Some(Rewrite::Op(op, args)) => self.replace_op(inst, op, args),
                Some(Rewrite::WithConst(op, a, bits)) => {
                    let ty = self.shader.ty(a);
                    let constant = self.constants.get(self.shader, ty, bits);
                    self.replace_op(inst, Op::Binary(op), smallvec![a, constant]);
                }
            }
            if self.evaluate(inst) {
                return false;
            }
        }
        true
    }

    /// Changes operation and operands of an instruction in place.
    fn replace_op(&mut self, inst: Inst, op: Op, args: SmallVec<[Value; 4]>) {
        let data = &mut self.shader.insts[inst];
        (data.op, data.args) = (op, args);
        let float = data.float;
        self.shader.set_float(inst, float);
    }

    /// Renames a value to a constant of the pool. Returns false if it is the pool's constant
    /// itself.
    fn replace_const(&mut self, value: Value, bits: u64) -> bool {
        let ty = self.shader.ty(value);
        let constant = self.constants.get(self.shader, ty, bits);
        if constant != value {
            self.renames.set(value, constant);
        }
        constant != value
    }

    /// Computes an instruction with constant operands. Returns true if that succeeds.
    fn evaluate(&mut self, inst: Inst) -> bool {
        let data = &self.shader.insts[inst];
        if data.args.is_empty() {
            return false;
        }
        let mut args: SmallVec<[u64; 4]> = SmallVec::new();
        for &arg in &data.args {
            let Some(bits) = self.shader.as_const(arg) else { return false };
            args.push(bits);
        }
        let Some(bits) = eval::fold(self.shader, data, &args) else { return false };
        let results: SmallVec<[Value; 2]> = data.results().collect();
        if results.iter().zip(bits).any(|(&r, b)| is_nan(self.shader.ty(r), b)) {
            return false;
        }
        for (&result, bits) in results.iter().zip(bits) {
            self.replace_const(result, bits);
        }
        true
    }

    fn data(&self, v: Value) -> Option<&InstData> {
        match self.shader.values[v].def {
            ValueDef::Inst(inst, 0) => Some(&self.shader.insts[inst]),
            _ => None,
        }
    }

    fn op(&self, v: Value) -> Option<&Op> {
        self.data(v).map(|d| &d.op)
    }

    /// Returns operand `n` of the instruction that defines `v`.
    fn arg(&self, v: Value, n: usize) -> Value {
        self.data(v).map_or(v, |d| self.renames.resolve(d.args[n]))
    }

    fn constant(&self, v: Value) -> Option<u64> {
        self.shader.as_const(v)
    }

    fn rewrite(&self, data: &InstData) -> Option<Rewrite> {
        let args = &data.args;
        match &data.op {
            Op::Unary(op) => self.unary(*op, args[0]),
            Op::Binary(op) => {
                let (a, b) = (args[0], args[1]);
                if op.commutes() && self.constant(a).is_some() && self.constant(b).is_none() {
                    return op2(*op, b, a);
                }
                match self.shader.ty(a).is_float() {
                    true => self.float(*op, a, b, data.float.is_empty()),
                    false => self.integer(*op, a, b),
                }
            }
            Op::Cmp(op) => self.compare(*op, args[0], args[1]),
            Op::Convert(op) => self.convert(*op, args[0], self.shader.ty(data.first_result)),
            Op::Select => self.select(args[0], args[1], args[2]),
            Op::Builtin(b) => self.builtin(*b),
            _ => None,
        }
    }

    fn unary(&self, op: Unary, a: Value) -> Option<Rewrite> {
        match (op, self.op(a)?) {
            (Unary::Not, Op::Unary(Unary::Not))
            | (Unary::INeg, Op::Unary(Unary::INeg))
            | (Unary::BitReverse, Op::Unary(Unary::BitReverse))
            | (Unary::FNeg, Op::Unary(Unary::FNeg)) => Some(Rewrite::Value(self.arg(a, 0))),
            (Unary::FAbs, Op::Unary(Unary::FNeg | Unary::FAbs)) => op1(Op::Unary(op), self.arg(a, 0)),
            (Unary::Not, &Op::Cmp(cmp)) => {
                let (inverse, swap) = inverse(cmp);
                let (x, y) = (self.arg(a, 0), self.arg(a, 1));
                let args = if swap { smallvec![y, x] } else { smallvec![x, y] };
                Some(Rewrite::Op(Op::Cmp(inverse), args))
            }
            (Unary::RoundHalf, _) if self.is_half(a, 4) => Some(Rewrite::Value(a)),
            (Unary::Floor | Unary::Ceil | Unary::Trunc | Unary::RoundEven, Op::Unary(inner)) => {
                let integral = matches!(inner, Unary::Floor | Unary::Ceil | Unary::Trunc | Unary::RoundEven);
                integral.then_some(Rewrite::Value(a))
            }
            _ => None,
        }
    }

    /// Returns true if binary16 can represent the number, as far as `depth` operations show.
    fn is_half(&self, v: Value, depth: u32) -> bool {
        let both = |m: usize, n: usize| depth > 0 && [m, n].iter().all(|&n| self.is_half(self.arg(v, n), depth - 1));
        match self.op(v) {
            Some(Op::Unary(Unary::RoundHalf)) => true,
            Some(&Op::Const(bits)) => {
                eval(&Op::Unary(Unary::RoundHalf), Ty::F32, Ty::F32, &[bits]).is_some_and(|rounded| rounded[0] == bits)
            }
            Some(Op::Convert(Convert::FToF)) => self.shader.ty(self.arg(v, 0)) == Ty::F16,
            Some(Op::Unary(Unary::FNeg | Unary::FAbs)) => both(0, 0),
            Some(Op::Binary(Binary::FMin | Binary::FMax)) => both(0, 1),
            Some(Op::Select) => both(1, 2),
            _ => false,
        }
    }

    /// Returns an upper bound of an unsigned number, looking through `depth` operations.
    fn upper_bound(&self, v: Value, depth: u32) -> u64 {
        let wide = |e: &Self, n: usize| e.upper_bound(e.arg(v, n), depth - 1);
        let invocations = u64::from(MAX_WORKGROUP_INVOCATIONS);
        let workgroups = u64::from(self.shader.stage().max_workgroups());
        let ty = self.shader.ty(v);
        let all = ones(ty);
        // Operations that use `both` give at least each operand's bound. If one operand is
        // unbounded, the other is not visited, else trees of such operations would always be
        // followed to the full depth.
        let both =
            |e: &Self, n: usize| Some(wide(e, n)).filter(|&first| first < all).map(|first| [first, wide(e, n + 1)]);
        // A bound that may have wrapped is dropped.
        let small = |bound: Option<u64>| bound.filter(|&bound| bound <= all).unwrap_or(all);
        let shift = |n: u64| n as u32 & (8 * ty.bytes()).wrapping_sub(1);
        match self.op(v) {
            Some(Op::Const(bits)) => *bits,
            Some(Op::Builtin(b)) => match b {
                Builtin::LocalInvocationIndex | Builtin::SubgroupInvocation | Builtin::LocalInvocationId(_) => {
                    invocations
                }
                Builtin::WorkgroupId(_) | Builtin::NumWorkgroups(_) => workgroups,
                Builtin::GlobalInvocationId(_) => workgroups * invocations,
                _ => all,
            },
            _ if depth == 0 => all,
            Some(Op::Binary(Binary::And | Binary::UMin)) => wide(self, 0).min(wide(self, 1)),
            Some(Op::Binary(Binary::UMod)) => match self.constant(self.arg(v, 1)) {
                None | Some(0) => all,
                Some(c) => c - 1,
            },
            Some(Op::Binary(Binary::UDiv)) => match self.constant(self.arg(v, 1)) {
                None | Some(0) => all,
                Some(c) => wide(self, 0) / c,
            },
            Some(Op::Binary(Binary::UMax)) | Some(Op::Select) => {
                let first = usize::from(matches!(self.op(v), Some(Op::Select)));
                both(self, first).map_or(all, |[a, b]| a.max(b))
            }
            Some(Op::Binary(Binary::Or | Binary::Xor)) => {
                both(self, 0).map_or(all, |[a, b]| u64::MAX.checked_shr(a.max(b).leading_zeros()).unwrap_or(0))
            }
            Some(Op::Convert(Convert::BToI)) => 1,
            Some(Op::Convert(Convert::UToU)) => small(Some(wide(self, 0))),
            Some(Op::Binary(Binary::LShr)) => self.constant(self.arg(v, 1)).map_or(all, |c| wide(self, 0) >> shift(c)),
            Some(Op::Binary(Binary::IAdd)) => both(self, 0).map_or(all, |[a, b]| small(a.checked_add(b))),
            Some(Op::Binary(Binary::IMul)) => small(wide(self, 0).checked_mul(wide(self, 1))),
            Some(Op::Binary(Binary::Shl)) => self.constant(self.arg(v, 1)).map_or(all, |c| {
                small(1u64.checked_shl(shift(c)).and_then(|factor| wide(self, 0).checked_mul(factor)))
            }),
            _ => all,
        }
    }

    /// Returns true if a word is the same number with and without a sign.
    fn is_positive(&self, v: Value) -> bool {
        self.shader.ty(v) == Ty::I32 && self.upper_bound(v, 4) <= i32::MAX as u64
    }

    fn integer(&self, op: Binary, a: Value, b: Value) -> Option<Rewrite> {
        use Binary::*;
        let ty = self.shader.ty(a);
        let ones = ones(ty);
        if a == b {
            return match op {
                And | Or | SMin | SMax | UMin | UMax => Some(Rewrite::Value(a)),
                Xor | ISub => Some(Rewrite::Const(0)),
                _ => None,
            };
        }
        let c = self.constant(b)?;
        match op {
            IAdd | ISub | Or | Xor | Shl | LShr | AShr if c == 0 => Some(Rewrite::Value(a)),
            IMul | SDiv | UDiv if c == 1 => Some(Rewrite::Value(a)),
            And | UMin if c == ones => Some(Rewrite::Value(a)),
            UMax if c == 0 => Some(Rewrite::Value(a)),
            Bound if self.upper_bound(a, 4) <= c => Some(Rewrite::Value(a)),
            LShr if self.upper_bound(a, 4) >> (c & u64::from(8 * ty.bytes() - 1)) == 0 => Some(Rewrite::Const(0)),
            Or if c == ones => Some(Rewrite::Const(ones)),
            Xor if c == ones => op1(Op::Unary(Unary::Not), a),
            IMul | And | UMin if c == 0 => Some(Rewrite::Const(0)),
            And if matches!(self.op(a), Some(Op::Binary(And))) => {
                let inner = self.constant(self.arg(a, 1))?;
                Some(Rewrite::WithConst(And, self.arg(a, 0), inner & c))
            }
            // A difference `a - c` becomes `a + (-c)`, so that sums have one form.
            ISub => Some(Rewrite::WithConst(IAdd, a, ones & c.wrapping_neg())),
            IMul if c.is_power_of_two() => Some(Rewrite::WithConst(Shl, a, u64::from(c.trailing_zeros()))),
            UDiv if c.is_power_of_two() => Some(Rewrite::WithConst(LShr, a, u64::from(c.trailing_zeros()))),
            UMod if c.is_power_of_two() => Some(Rewrite::WithConst(And, a, c - 1)),
            // The form is `(x + c1) + c2`.
            IAdd if matches!(self.op(a), Some(Op::Binary(IAdd))) => {
                let inner = self.constant(self.arg(a, 1))?;
                Some(Rewrite::WithConst(IAdd, self.arg(a, 0), ones & inner.wrapping_add(c)))
            }
            _ => None,
        }
    }

    /// Rewrites a float operation with a constant operand. With `free`, the sign of a zero and the
    /// results of infinities and NaNs need not be preserved. That is the case in the
    /// specification's "Precision and Operation of SPIR-V Instructions" without execution modes of
    /// SPV_KHR_float_controls and without NoContraction.
    fn float(&self, op: Binary, a: Value, b: Value, free: bool) -> Option<Rewrite> {
        let ty = self.shader.ty(a);
        if a == b && matches!(op, Binary::FMin | Binary::FMax) {
            return Some(Rewrite::Value(a));
        }
        let value = |v: Value| match ty {
            Ty::F32 => self.constant(v).map(|c| f64::from(f32::from_bits(c as u32))),
            Ty::F64 => self.constant(v).map(f64::from_bits),
            _ => None,
        };
        if op == Binary::FSub
            && let Some(x) = value(a)
            && x == 0.0
            && x.is_sign_negative()
        {
            return op1(Op::Unary(Unary::FNeg), b);
        }
        let c = value(b)?;
        match op {
            Binary::FMul if free && c == 0.0 => Some(Rewrite::Const(0)),
            Binary::FAdd | Binary::FSub if free && c == 0.0 => Some(Rewrite::Value(a)),
            Binary::FMul | Binary::FDiv if c == 1.0 => Some(Rewrite::Value(a)),
            Binary::FMul | Binary::FDiv if c == -1.0 => op1(Op::Unary(Unary::FNeg), a),
            // For a power of two whose reciprocal is normal, both operations scale exactly and
            // round once.
            Binary::FDiv if ty == Ty::F32 && reciprocal(c as f32).is_some() => {
                reciprocal(c as f32).map(|r| Rewrite::WithConst(Binary::FMul, a, u64::from(r.to_bits())))
            }
            Binary::FAdd if c == 0.0 && c.is_sign_negative() => Some(Rewrite::Value(a)),
            Binary::FSub if c == 0.0 && !c.is_sign_negative() => Some(Rewrite::Value(a)),
            _ => None,
        }
    }

    fn compare(&self, op: Cmp, a: Value, b: Value) -> Option<Rewrite> {
        let ty = self.shader.ty(a);
        if a == b && !ty.is_float() {
            return Some(Rewrite::Const(u64::from(matches!(op, Cmp::IEq | Cmp::SLe | Cmp::ULe))));
        }
        if matches!(op, Cmp::IEq | Cmp::INe) && self.constant(a).is_some() && self.constant(b).is_none() {
            return Some(Rewrite::Op(Op::Cmp(op), smallvec![b, a]));
        }
        if op == Cmp::ULt && self.constant(b) == Some(0) {
            return Some(Rewrite::Const(0));
        }
        // Processors have instructions for signed comparisons of vectors, but often not for
        // unsigned ones.
        if let Cmp::ULt | Cmp::ULe = op
            && self.is_positive(a)
            && self.is_positive(b)
        {
            let signed = if op == Cmp::ULt { Cmp::SLt } else { Cmp::SLe };
            return Some(Rewrite::Op(Op::Cmp(signed), smallvec![a, b]));
        }
        let c = self.constant(b)?;
        // For `x == true`, `BToI(x) != 0`, `(x ? 1 : 0) == 0` and the like, the comparison is
        // evaluated for each value of the boolean.
        let (boolean, when_true, when_false) = match self.op(a) {
            _ if ty == Ty::B1 => (a, 1, 0),
            Some(Op::Convert(Convert::BToI)) => (self.arg(a, 0), 1, 0),
            Some(Op::Select) => (self.arg(a, 0), self.constant(self.arg(a, 1))?, self.constant(self.arg(a, 2))?),
            _ => return None,
        };
        let answer = |x: u64| eval(&Op::Cmp(op), ty, Ty::B1, &[x, c]).map(|r| r[0]);
        match (answer(when_true)?, answer(when_false)?) {
            (1, 0) => Some(Rewrite::Value(boolean)),
            (0, 1) => op1(Op::Unary(Unary::Not), boolean),
            (same, _) => Some(Rewrite::Const(same)),
        }
    }

    fn convert(&self, op: Convert, a: Value, to: Ty) -> Option<Rewrite> {
        let from = self.shader.ty(a);
        if from == to
            && matches!(op, Convert::Bitcast | Convert::UToU | Convert::SToS | Convert::FToF | Convert::FToFRtz)
        {
            return Some(Rewrite::Value(a));
        }
        // Processors have instructions for conversions of signed vectors, but often not of unsigned
        // ones.
        if op == Convert::UToF && self.is_positive(a) {
            return op1(Op::Convert(Convert::SToF), a);
        }
        match (op, self.op(a)?) {
            (Convert::Bitcast, Op::Convert(Convert::Bitcast)) => op1(Op::Convert(op), self.arg(a, 0)),
            // Rounding to half twice is the same as once, and a widened half is exact.
            (Convert::FToF, Op::Unary(Unary::RoundHalf)) if to == Ty::F16 => op1(Op::Convert(op), self.arg(a, 0)),
            (Convert::FToF, Op::Convert(Convert::FToF)) if to == Ty::F16 && self.shader.ty(self.arg(a, 0)) == to => {
                Some(Rewrite::Value(self.arg(a, 0)))
            }
            (Convert::UToU | Convert::SToS, &Op::Convert(inner @ (Convert::UToU | Convert::SToS))) => {
                let x = self.arg(a, 0);
                let (start, middle, end) = (self.shader.ty(x).bytes(), from.bytes(), to.bytes());
                match () {
                    // A widened value is narrowed back, or to a width in between.
                    _ if start < middle && end == start => Some(Rewrite::Value(x)),
                    _ if start < middle && end < middle => op1(Op::Convert(inner), x),
                    // Two extensions become one, because an extension with zeros has a zero as
                    // sign.
                    _ if start < middle && (op == inner || inner == Convert::UToU) => op1(Op::Convert(inner), x),
                    // A narrowed value is narrowed further.
                    _ if start >= middle && end <= middle => op1(Op::Convert(op), x),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn select(&self, c: Value, a: Value, b: Value) -> Option<Rewrite> {
        if a == b {
            return Some(Rewrite::Value(a));
        }
        if let Some(c) = self.constant(c) {
            return Some(Rewrite::Value(if c != 0 { a } else { b }));
        }
        if let Some(Op::Unary(Unary::Not)) = self.op(c) {
            return Some(Rewrite::Op(Op::Select, smallvec![self.arg(c, 0), b, a]));
        }
        let boolean = self.shader.ty(a) == Ty::B1;
        match (self.constant(a), self.constant(b)) {
            (Some(1), Some(0)) if boolean => Some(Rewrite::Value(c)),
            (Some(0), Some(1)) if boolean => op1(Op::Unary(Unary::Not), c),
            (Some(1), None) if boolean => op2(Binary::Or, c, b),
            (None, Some(0)) if boolean => op2(Binary::And, c, a),
            (Some(1), Some(0)) if self.shader.ty(a) == Ty::I32 => op1(Op::Convert(Convert::BToI), c),
            _ => None,
        }
    }

    fn builtin(&self, b: Builtin) -> Option<Rewrite> {
        let size = self.shader.stage_info.workgroup().map(|w| w.local_size);
        let single = |c: u8| size.and_then(|size| size.get(c as usize).copied()) == Some(1);
        match b {
            Builtin::LocalInvocationId(c) if single(c) => Some(Rewrite::Const(0)),
            Builtin::GlobalInvocationId(c) if single(c) => {
                Some(Rewrite::Op(Op::Builtin(Builtin::WorkgroupId(c)), SmallVec::new()))
            }
            Builtin::DeviceIndex => Some(Rewrite::Const(0)),
            _ => None,
        }
    }
}

/// Returns `1 / c` if that is exact and normal.
fn reciprocal(c: f32) -> Option<f32> {
    let power_of_two = c.is_normal() && c.to_bits() & 0x007f_ffff == 0;
    let r = 1.0 / c;
    (power_of_two && r.is_normal()).then_some(r)
}

/// Returns all bits of a number, or a true truth value.
fn ones(ty: Ty) -> u64 {
    match ty.bytes() {
        0 => 1,
        bytes => u64::MAX >> (64 - 8 * bytes),
    }
}

/// Returns the comparison that is true if `op` is false, and whether its operands are swapped.
fn inverse(op: Cmp) -> (Cmp, bool) {
    match op {
        Cmp::IEq => (Cmp::INe, false),
        Cmp::INe => (Cmp::IEq, false),
        Cmp::SLt => (Cmp::SLe, true),
        Cmp::SLe => (Cmp::SLt, true),
        Cmp::ULt => (Cmp::ULe, true),
        Cmp::ULe => (Cmp::ULt, true),
        Cmp::FOrdEq => (Cmp::FUnoNe, false),
        Cmp::FUnoNe => (Cmp::FOrdEq, false),
        Cmp::FOrdNe => (Cmp::FUnoEq, false),
        Cmp::FUnoEq => (Cmp::FOrdNe, false),
        Cmp::FOrdLt => (Cmp::FUnoLe, true),
        Cmp::FUnoLe => (Cmp::FOrdLt, true),
        Cmp::FOrdLe => (Cmp::FUnoLt, true),
        Cmp::FUnoLt => (Cmp::FOrdLe, true),
    }
}
