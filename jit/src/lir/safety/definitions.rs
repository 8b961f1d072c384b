//! Definitions of values, lane by lane: the view of a function on which all proofs work.
//!
//! Vector operations that only move lanes (splat, extract, insert, build, shuffle) are transparent,
//! so that a scalar and a lane of a vector that holds it are the same [`LaneValue`]. A sum is split
//! into [`LinearSum`], which are exact modulo 2^64.

use crate::lir::{Def, Function, Imm, InstData, IntCond, Op, Value};
use smallvec::{SmallVec, smallvec};

/// A value and the lane of a vector. Without a lane, a vector stands for any one lane, which is the
/// same throughout a proof.
pub type LaneValue = (Value, Option<u8>);

/// A sum modulo 2^64: distinct terms with their factors, in order, and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinearSum {
    /// Terms with their factors. Terms are unsigned and have their zero extensions removed.
    pub list: SmallVec<[(LaneValue, u64); 4]>,
    /// Constant of the sum.
    pub plus: i64,
}

impl LinearSum {
    /// Adds a multiple of a term.
    pub fn add(&mut self, at: LaneValue, times: u64) {
        match self.list.binary_search_by_key(&at, |t| t.0) {
            Ok(i) => {
                self.list[i].1 = self.list[i].1.wrapping_add(times);
                if self.list[i].1 == 0 {
                    self.list.remove(i);
                }
            }
            Err(i) => self.list.insert(i, (at, times)),
        }
    }

    /// Returns the sum without one of its terms.
    pub fn without(&self, at: LaneValue) -> LinearSum {
        LinearSum { list: self.list.iter().copied().filter(|t| t.0 != at).collect(), plus: self.plus }
    }
}

/// Largest depth to which expressions are followed.
pub const DEPTH: u32 = 24;

/// View of the definitions of a function.
#[derive(Clone, Copy)]
pub struct Definitions<'a> {
    /// The function.
    pub func: &'a Function,
}

impl<'a> Definitions<'a> {
    /// Returns the value behind operations that only move lanes.
    pub fn see_through_lane_moves(self, (mut v, mut lane): LaneValue) -> LaneValue {
        for _ in 0..DEPTH {
            if !self.func.ty(v).is_vector() {
                lane = None;
            }
            let Some(data) = self.func.definition(v) else { break };
            (v, lane) = match (data.op, data.imm, lane) {
                (Op::Splat, ..) => (data.args[0], None),
                (Op::Extract, Imm::Lane(l), _) => (data.args[0], Some(l)),
                (Op::Build, _, Some(l)) => (data.args[usize::from(l)], None),
                (Op::Insert, Imm::Lane(l), Some(want)) if l == want => (data.args[1], None),
                (Op::Insert, _, Some(_)) => (data.args[0], lane),
                (Op::Shuffle, Imm::Pattern(list), Some(l)) => {
                    let lanes = self.func.ty(data.args[0]).lanes();
                    let from = self.func.lists[list][usize::from(l)] as usize;
                    (data.args[from / lanes], Some((from % lanes) as u8))
                }
                _ => break,
            };
        }
        if !self.func.ty(v).is_vector() {
            lane = None;
        }
        (v, lane)
    }

    /// Returns the operation that defines a peeled value.
    pub fn def(self, at: LaneValue) -> Option<&'a InstData> {
        self.func.definition(at.0)
    }

    /// Returns an operand of that operation, in the same lane.
    pub fn arg(self, at: LaneValue, data: &InstData, i: usize) -> LaneValue {
        self.see_through_lane_moves((data.args[i], at.1))
    }

    /// Returns the operands of a value if `op` defines it.
    pub fn operands_of(self, at: LaneValue, op: Op) -> Option<SmallVec<[LaneValue; 3]>> {
        let data = self.def(at).filter(|data| data.op == op)?;
        Some((0..data.args.len()).map(|i| self.arg(at, data, i)).collect())
    }

    /// Returns the bits of a constant.
    pub fn constant(self, at: LaneValue) -> Option<u64> {
        match (self.func.values[at.0].def, at.1) {
            (Def::Const(bits), _) => Some(bits),
            (Def::Lanes(list), Some(lane)) => Some(self.func.lists[list][usize::from(lane)]),
            _ => None,
        }
    }

    /// Splits a sum of I64 into its terms.
    pub fn terms(self, at: LaneValue) -> LinearSum {
        let mut out = LinearSum::default();
        self.collect(at, 1, &mut out, DEPTH);
        out
    }

    fn collect(self, at: LaneValue, times: u64, out: &mut LinearSum, depth: u32) {
        let at = self.see_through_lane_moves(at);
        if let Some(bits) = self.constant(at) {
            out.plus = out.plus.wrapping_add(bits.wrapping_mul(times) as i64);
            return;
        }
        let wide = self.func.ty(at.0).lane_bytes() == 8;
        if let Some(data) = self.def(at).filter(|_| depth > 0 && wide) {
            let arg = |i| self.arg(at, data, i);
            match data.op {
                Op::Iadd => {
                    self.collect(arg(0), times, out, depth - 1);
                    return self.collect(arg(1), times, out, depth - 1);
                }
                Op::Isub => {
                    self.collect(arg(0), times, out, depth - 1);
                    return self.collect(arg(1), times.wrapping_neg(), out, depth - 1);
                }
                Op::Imul => {
                    for (a, b) in [(arg(0), arg(1)), (arg(1), arg(0))] {
                        if let Some(factor) = self.constant(b) {
                            return self.collect(a, times.wrapping_mul(factor), out, depth - 1);
                        }
                    }
                }
                Op::Shl => {
                    if let Some(by) = self.constant(arg(1)) {
                        return self.collect(arg(0), times.wrapping_shl(by as u32 & 63), out, depth - 1);
                    }
                }
                Op::Zext => {
                    let inner = arg(0);
                    match self.constant(inner) {
                        Some(bits) => out.plus = out.plus.wrapping_add(bits.wrapping_mul(times) as i64),
                        None => out.add(inner, times),
                    }
                    return;
                }
                _ => {}
            }
        }
        out.add(at, times);
    }
}

/// A truth value with the value that it is known to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The truth value.
    pub at: LaneValue,
    /// The known value.
    pub truth: bool,
}

/// A relation of unsigned integers: `a <= b` or, if strict, `a < b`.
#[derive(Clone, Copy, Debug)]
pub struct LessThan {
    /// The smaller operand.
    pub a: LaneValue,
    /// The greater operand.
    pub b: LaneValue,
    /// True if the operands are not equal.
    pub strict: bool,
}

impl Definitions<'_> {
    /// Splits a condition at its conjunctions and collects the atoms that it implies.
    pub fn atoms(self, at: LaneValue, truth: bool, out: &mut SmallVec<[Condition; 8]>) {
        let at = self.see_through_lane_moves(at);
        if let Some(data) = self.def(at) {
            let arg = |i| self.arg(at, data, i);
            match (data.op, truth) {
                (Op::And, true) | (Op::Or, false) => {
                    self.atoms(arg(0), truth, out);
                    return self.atoms(arg(1), truth, out);
                }
                (Op::AndNot, true) => {
                    self.atoms(arg(0), true, out);
                    return self.atoms(arg(1), false, out);
                }
                (Op::Not, _) => return self.atoms(arg(0), !truth, out),
                _ => {}
            }
        }
        out.push(Condition { at, truth });
    }

    /// Returns the comparison of integers that an atom states.
    pub fn compared(self, atom: Condition) -> Option<(IntCond, LaneValue, LaneValue)> {
        let data = self.def(atom.at).filter(|data| data.op == Op::Icmp)?;
        let Imm::Int(cond) = data.imm else { return None };
        let cond = if atom.truth { cond } else { negated(cond) };
        Some((cond, self.arg(atom.at, data, 0), self.arg(atom.at, data, 1)))
    }

    /// Returns the relations of unsigned integers that follow from an atom.
    pub fn below(self, atom: Condition) -> SmallVec<[LessThan; 2]> {
        use IntCond::*;
        let Some((cond, a, b)) = self.compared(atom) else { return SmallVec::new() };
        match cond {
            Ule => smallvec![LessThan { a, b, strict: false }],
            Ult => smallvec![LessThan { a, b, strict: true }],
            Uge => smallvec![LessThan { a: b, b: a, strict: false }],
            Ugt => smallvec![LessThan { a: b, b: a, strict: true }],
            Eq => smallvec![LessThan { a, b, strict: false }, LessThan { a: b, b: a, strict: false }],
            Ne | Slt | Sle | Sgt | Sge => SmallVec::new(),
        }
    }
}

fn negated(cond: IntCond) -> IntCond {
    use IntCond::*;
    match cond {
        Eq => Ne,
        Ne => Eq,
        Slt => Sge,
        Sle => Sgt,
        Sgt => Sle,
        Sge => Slt,
        Ult => Uge,
        Ule => Ugt,
        Ugt => Ule,
        Uge => Ult,
    }
}
