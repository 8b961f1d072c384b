//! Logic of three operands and rotations with AVX-512: a tree of operations of one block, each used
//! once, becomes one instruction.

use super::{InstructionSelector, Parts, Rm};
use crate::lir::{self, Elem, Function, InstData, Op, Type};
use crate::wide::table::Vex;
use regalloc2::VReg;
use smallvec::SmallVec;

/// Operands of a tree.
type Leaves = SmallVec<[lir::Value; 4]>;

/// Largest number of operands of a tree.
const MAX_LEAVES: usize = 3;

/// Truth tables of the instruction's operands themselves.
const TABLES: [u8; MAX_LEAVES] = [0xf0, 0xcc, 0xaa];

/// Returns true if an operation is bitwise logic on vectors of numbers.
pub(super) fn is_logic(data: &InstData) -> bool {
    data.ty.is_vector()
        && data.ty.elem != Elem::B
        && matches!(data.op, Op::And | Op::Or | Op::Xor | Op::AndNot | Op::Not)
}

/// Returns the vector and the amount of a rotation to the left, if an operation combines the bits
/// of two shifts in that way.
pub(super) fn rotation(lir: &Function, data: &InstData) -> Option<(lir::Value, u8)> {
    let bits = u64::from(data.ty.elem.bits());
    if !data.ty.is_vector() || bits < 32 || !matches!(data.op, Op::Or | Op::Xor | Op::Iadd) {
        return None;
    }
    let shift = |v: lir::Value, op: Op| {
        let shift = lir.definition(v).filter(|d| d.op == op)?;
        Some((shift.args[0], lir.constant(shift.args[1])? % bits))
    };
    let of = |up: lir::Value, down: lir::Value| {
        let ((a, up), (b, down)) = (shift(up, Op::Shl)?, shift(down, Op::Lshr)?);
        (a == b && up != 0 && up + down == bits).then_some((a, up as u8))
    };
    of(data.args[0], data.args[1]).or_else(|| of(data.args[1], data.args[0]))
}

impl InstructionSelector<'_> {
    pub(super) fn rotate(&mut self, data: &InstData) -> Option<Parts> {
        let (a, by) = rotation(self.lir, data).filter(|_| self.b.avx512)?;
        let (w, op) = (self.b.size(data.ty), if data.ty.elem == Elem::I32 { Vex::VproldImm } else { Vex::VprolqImm });
        Some(self.each_one(a, |e, a| e.b.one_imm(op, w, a, by)))
    }

    /// Makes a tree of logic of up to three operands.
    pub(super) fn logic(&mut self, data: &InstData) -> Option<Parts> {
        if !self.b.avx512 || !is_logic(data) {
            return None;
        }
        let mut leaves: Leaves = SmallVec::new();
        let mut all = Leaves::new();
        data.args.iter().for_each(|&v| {
            add(&mut leaves, v);
            self.all_leaves(v, &mut all);
        });
        let few = |e: &Self, leaves: &Leaves| {
            leaves.len() <= MAX_LEAVES && leaves.iter().filter(|&&v| e.is_constant(v)).count() <= 1
        };
        if few(self, &all) {
            leaves = all;
        } else {
            while let Some(more) = self.one_more(&leaves).filter(|more| few(self, more)) {
                leaves = more;
            }
        }
        if leaves.iter().all(|v| data.args.contains(v)) {
            return None;
        }
        // The result replaces the first operand; the last may be memory.
        let rank = |v: lir::Value| match self.is_constant(v) || self.parts[v].is_empty() {
            true => 2,
            false => u32::from(self.use_analysis.uses[v] > 1),
        };
        let leaves: Leaves = (0..3).flat_map(|r| leaves.iter().copied().filter(move |&v| rank(v) == r)).collect();
        let table = self.table(data, &leaves);
        let (w, ty) = (self.b.size(data.ty), data.ty);
        let last = leaves.len() - 1;
        let [a, b, c] = [leaves[0], leaves[last.min(1)], leaves[last]];
        Some(self.three_parts(ty, [a, b], c, |e, [a, b], c| e.b.three(Vex::Vpternlogd, w, [a, b], c, table)))
    }

    fn three_parts(
        &mut self,
        ty: Type,
        [a, b]: [lir::Value; 2],
        c: lir::Value,
        f: impl Fn(&mut Self, [VReg; 2], Rm) -> VReg,
    ) -> Parts {
        (0..self.b.part_count(ty))
            .map(|i| {
                let (a, b) = (self.reg(a, i), self.reg(b, i));
                let c = self.rm(c, i);
                f(self, [a, b], c)
            })
            .collect()
    }

    /// Returns the logic that makes a value, if it is made only for its user.
    fn inner(&self, v: lir::Value) -> Option<&InstData> {
        let lir::Def::Inst(inst) = self.lir.values[v].def else { return None };
        let data = &self.lir.insts[inst];
        let here = self.use_analysis.sunk[inst] && self.parts[v].is_empty();
        (here && is_logic(data) && rotation(self.lir, data).is_none()).then_some(data)
    }

    fn all_leaves(&self, v: lir::Value, leaves: &mut Leaves) {
        match self.inner(v).filter(|_| leaves.len() <= MAX_LEAVES) {
            Some(data) => data.args.iter().for_each(|&v| self.all_leaves(v, leaves)),
            None => add(leaves, v),
        }
    }

    /// Replaces one operand by its own operands, if there are then not too many.
    fn one_more(&self, leaves: &Leaves) -> Option<Leaves> {
        leaves.iter().enumerate().find_map(|(i, &v)| {
            let mut more = leaves.clone();
            more.remove(i);
            self.inner(v)?.args.iter().for_each(|&v| add(&mut more, v));
            (more.len() <= MAX_LEAVES).then_some(more)
        })
    }

    /// Returns the truth table of the tree over its operands.
    fn table(&self, data: &InstData, leaves: &Leaves) -> u8 {
        let of = |v: &lir::Value| match (leaves.iter().position(|leaf| leaf == v), self.inner(*v)) {
            (Some(i), _) => TABLES[i],
            (None, Some(inner)) => self.table(inner, leaves),
            (None, None) => unreachable!("an operand that is none"),
        };
        let args: SmallVec<[u8; 2]> = data.args.iter().map(of).collect();
        match (data.op, &args[..]) {
            (Op::And, &[a, b]) => a & b,
            (Op::Or, &[a, b]) => a | b,
            (Op::Xor, &[a, b]) => a ^ b,
            (Op::AndNot, &[a, b]) => a & !b,
            (_, args) => !args[0],
        }
    }

    /// Makes the conjunction of a mask and of a comparison that only it uses as one masked
    /// comparison.
    pub(super) fn masked_comparison(&mut self, data: &InstData) -> Option<Parts> {
        let compares = |e: &Self, v: lir::Value| {
            let lir::Def::Inst(inst) = e.lir.values[v].def else { return false };
            e.use_analysis.sunk[inst] && e.parts[v].is_empty() && matches!(e.lir.insts[inst].op, Op::Icmp | Op::Fcmp)
        };
        let [a, b] = [data.args[0], data.args[1]];
        let (mask, comparison) = match (compares(self, a), compares(self, b)) {
            (_, true) => (a, b),
            (true, false) => (b, a),
            _ => return None,
        };
        let masks = self.regs(mask);
        let compare = self.lir.definition(comparison)?;
        let made = self.compare_under(compare.ty, compare.imm, compare.args[0], compare.args[1], &masks);
        Some(made)
    }
}

fn add(leaves: &mut Leaves, v: lir::Value) {
    if !leaves.contains(&v) {
        leaves.push(v);
    }
}
