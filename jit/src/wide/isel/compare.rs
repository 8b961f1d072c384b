//! Comparisons, masks of other widths, and selection.

use super::alu::choice;
use super::builder::by_width;
use super::{InstructionSelector, Parts, Rm, in_vector};
use crate::lir::{self, Def, Elem, FloatCond, Imm, InstData, IntCond, Op, Type};
use crate::wide::inst::{Alu, Cc, Op as M, Size};
use crate::wide::table::Vex;
use regalloc2::{Operand, VReg};
use smallvec::smallvec;

/// Returns the element type that a lane is held as.
pub(super) fn held(ty: Type) -> Elem {
    if ty.elem == Elem::B { Elem::I32 } else { ty.elem }
}

impl InstructionSelector<'_> {
    /// Makes a truth value available as flags and returns the condition that holds if it is true.
    pub(super) fn condition(&mut self, v: lir::Value) -> Cc {
        if let (Def::Inst(inst), true) = (self.lir.values[v].def, self.parts[v].is_empty())
            && self.use_analysis.sunk[inst]
        {
            let lir = self.lir;
            return self.flags_of(&lir.insts[inst]);
        }
        let truth = self.reg(v, 0);
        self.b.test(truth)
    }

    /// Sets the flags of a comparison of scalars, or of a reduction of a mask's lanes.
    pub(super) fn flags_of(&mut self, data: &InstData) -> Cc {
        let v = data.args[0];
        match (data.op, data.imm) {
            (Op::Icmp, Imm::Int(cond)) => self.compare_ints(cond, v, data.args[1]),
            (Op::Fcmp, Imm::Float(cond)) => self.compare_floats(cond, data.ty, v, data.args[1]),
            (Op::Any | Op::All, _) if self.b.avx512 => self.mask_flags(data.op, v),
            (Op::Any, _) => {
                let all = self.joined(v, Vex::Vorps);
                self.b.push(
                    M::Vex(Vex::Vtestps),
                    self.b.size(data.ty),
                    0,
                    &[Operand::reg_use(all)],
                    Some(Rm::Reg(all)),
                );
                Cc::Ne
            }
            _ => {
                let all = self.joined(v, Vex::Vandps);
                let ones = self.b.words(u32::MAX);
                self.b.push(M::Vex(Vex::Vtestps), self.b.size(data.ty), 0, &[Operand::reg_use(all)], Some(ones));
                Cc::B
            }
        }
    }

    /// Combines all registers of a mask into one.
    fn joined(&mut self, v: lir::Value, op: Vex) -> VReg {
        let w = self.b.size(self.lir.ty(v));
        let parts = self.regs(v);
        parts[1..].iter().fold(parts[0], |all, &part| self.b.two(op, w, all, part))
    }

    fn compare_ints(&mut self, cond: IntCond, a: lir::Value, b: lir::Value) -> Cc {
        let ty = self.lir.ty(a);
        let (cond, a, b) = if self.is_constant(a) { (exchanged(cond), b, a) } else { (cond, a, b) };
        let signed = matches!(cond, IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge);
        let w = ty == Type::I64;
        let narrow = matches!(ty.elem, Elem::I8 | Elem::I16);
        let imm = match self.imm(b) {
            Some(imm) if narrow && !signed => Some(imm & ty.elem.mask() as i64),
            imm => imm,
        };
        match imm {
            Some(0) if matches!(cond, IntCond::Eq | IntCond::Ne) && !narrow && !self.parts[a].is_empty() => {
                let a = self.reg(a, 0);
                self.b.push(M::Test, w, 0, &[Operand::reg_use(a)], Some(Rm::Reg(a)));
            }
            Some(imm) => {
                let a = if narrow { Rm::Reg(self.extended(a, signed)) } else { self.rm(a, 0) };
                self.b.push(M::AluImm(Alu::Cmp), w, imm, &[], Some(a));
            }
            None => {
                let (a, b) = if narrow {
                    (self.extended(a, signed), Rm::Reg(self.extended(b, signed)))
                } else {
                    (self.reg(a, 0), self.rm(b, 0))
                };
                self.b.push(M::Alu(Alu::Cmp), w, 0, &[Operand::reg_use(a)], Some(b));
            }
        }
        int_cc(cond)
    }

    fn compare_floats(&mut self, cond: FloatCond, ty: Type, a: lir::Value, b: lir::Value) -> Cc {
        use FloatCond::*;
        let (swap, cc) = match cond {
            Eq | Ne => {
                let mask = self.compare_parts(ty, Imm::Float(cond), a, b)[0];
                if self.b.avx512 {
                    self.b.push(M::Vex(Vex::Kortestb), false, 0, &[Operand::reg_use(mask)], Some(Rm::Reg(mask)));
                    return Cc::Ne;
                }
                let word = self.b.one_int(Vex::VmovdFrom, false, mask, 0);
                return self.b.test(word);
            }
            Gt => (false, Cc::A),
            Ge => (false, Cc::Ae),
            Lt => (true, Cc::A),
            Le => (true, Cc::Ae),
            Ult => (false, Cc::B),
            Ule => (false, Cc::Be),
            Ugt => (true, Cc::B),
            Uge => (true, Cc::Be),
            Ord => (false, Cc::Np),
            Uno => (false, Cc::P),
            One => (false, Cc::Ne),
            Ueq => (false, Cc::E),
        };
        let (a, b) = if swap { (b, a) } else { (a, b) };
        let op = if ty.elem == Elem::F32 { Vex::Vucomiss } else { Vex::Vucomisd };
        let (a, b) = (self.reg(a, 0), self.rm(b, 0));
        self.b.push(M::Vex(op), false, 0, &[Operand::reg_use(a)], Some(b));
        cc
    }

    pub(super) fn comparison(&mut self, data: &InstData) -> Parts {
        let (ty, [a, b]) = (data.ty, [data.args[0], data.args[1]]);
        if ty.is_vector() {
            let parts = self.compare_parts(ty, data.imm, a, b);
            return self.b.mask_of(ty, parts);
        }
        let cc = self.flags_of(data);
        smallvec![self.b.truth(cc)]
    }

    /// Makes a comparison as a mask of the operands' own width, or as one mask register for each of
    /// their registers.
    pub(super) fn compare_parts(&mut self, ty: Type, imm: Imm, a: lir::Value, b: lir::Value) -> Parts {
        self.compare_under(ty, imm, a, b, &[])
    }

    /// Makes a comparison that is restricted to the lanes of `masks`, if there are any.
    pub(super) fn compare_under(&mut self, ty: Type, imm: Imm, a: lir::Value, b: lir::Value, masks: &[VReg]) -> Parts {
        let w = self.b.size(ty);
        let masked = |op, imm| {
            move |e: &mut Self, i: usize, a, b| match masks.get(i) {
                Some(&mask) => e.b.compare_masked(op, w, a, b, imm, mask),
                None => e.b.compare_two(op, w, a, b, imm),
            }
        };
        // The operand that may be memory comes second.
        let exchange = self.is_constant(a) || self.parts[a].is_empty() && !self.parts[b].is_empty();
        match imm {
            Imm::Float(cond) => {
                let (cond, a, b) = if exchange { (exchanged_float(cond), b, a) } else { (cond, a, b) };
                let [vector, mask] = match (ty.elem, ty.is_vector()) {
                    (Elem::F32, true) => [Vex::Vcmpps, Vex::KVcmpps],
                    (Elem::F32, false) => [Vex::Vcmpss, Vex::KVcmpss],
                    (_, true) => [Vex::Vcmppd, Vex::KVcmppd],
                    (_, false) => [Vex::Vcmpsd, Vex::KVcmpsd],
                };
                if self.b.avx512 {
                    return self.each_two_numbered(a, b, masked(mask, predicate(cond)));
                }
                self.each_two(a, b, |e, a, b| e.b.two_imm(vector, w, a, b, predicate(cond)))
            }
            Imm::Int(cond) => {
                let (cond, a, b) = if exchange { (exchanged(cond), b, a) } else { (cond, a, b) };
                let elem = held(ty);
                if self.b.avx512 {
                    let (op, predicate) = mask_comparison(elem, cond);
                    return self.each_two_numbered(a, b, masked(op, predicate));
                }
                self.each_two(a, b, |e, a, b| e.compare_lanes(elem, w, cond, a, b))
            }
            _ => unreachable!("a comparison without condition"),
        }
    }

    fn compare_lanes(&mut self, elem: Elem, w: Size, cond: IntCond, a: VReg, b: Rm) -> VReg {
        use IntCond::*;
        use Vex::*;
        let equal = by_width(elem, [Vpcmpeqb, Vpcmpeqw, Vpcmpeqd, Vpcmpeqq]);
        let unsigned = matches!(cond, Ult | Ule | Ugt | Uge);
        match cond {
            Eq => self.b.two(equal, w, a, b),
            Ne => {
                let same = self.b.two(equal, w, a, b);
                self.not(w, same)
            }
            // The minimum or maximum of both equals the first operand if the condition holds.
            Ule | Uge if elem != Elem::I64 => {
                let op = if cond == Ule { Op::Umin } else { Op::Umax };
                let chosen = self.b.two(choice(op, elem), w, a, b);
                self.b.two(equal, w, chosen, a)
            }
            Sgt | Ugt => self.b.greater(elem, unsigned, w, a, b),
            Sle | Ule => {
                let greater = self.b.greater(elem, unsigned, w, a, b);
                self.not(w, greater)
            }
            Slt | Ult | Sge | Uge => {
                let b = self.b.in_register(w, b);
                let less = self.b.greater(elem, unsigned, w, b, Rm::Reg(a));
                if matches!(cond, Slt | Ult) { less } else { self.not(w, less) }
            }
        }
    }

    fn not(&mut self, w: Size, a: VReg) -> VReg {
        let ones = self.b.words(u32::MAX);
        self.b.two(Vex::Vpxor, w, a, ones)
    }

    pub(super) fn select(&mut self, data: &InstData) -> Parts {
        let (ty, [cond, a, b]) = (data.ty, [0, 1, 2].map(|i| data.args[i]));
        if let Some(parts) = self.extreme(data) {
            return parts;
        }
        if !in_vector(ty) {
            let (no, yes) = (self.reg(b, 0), self.rm(a, 0));
            let cc = self.condition(cond);
            return smallvec![self.b.int_two(M::Cmov(cc), ty == Type::I64, no, yes)];
        }
        let masks = self.masks(data);
        let (op, w) = (self.blend_of(ty), self.b.size(ty));
        let zero = [a, b].map(|v| self.lir.constant(v) == Some(0) && ty.is_vector());
        (0..self.b.part_count(ty))
            .map(|i| {
                let mask = masks[i.min(masks.len() - 1)];
                match zero {
                    [_, true] if self.b.avx512 => {
                        let a = self.rm(a, i);
                        self.b.one_masked(load_of(ty), w, mask, a)
                    }
                    [_, true] => {
                        let a = self.rm(a, i);
                        self.b.two(Vex::Vpand, w, mask, a)
                    }
                    [true, _] if !self.b.avx512 => {
                        let b = self.rm(b, i);
                        self.b.two(Vex::Vpandn, w, mask, b)
                    }
                    _ => {
                        let no = self.reg(b, i);
                        let yes = if ty.is_vector() { self.rm(a, i) } else { Rm::Reg(self.reg(a, i)) };
                        self.b.blend(op, w, mask, yes, no)
                    }
                }
            })
            .collect()
    }

    /// Returns the masks of a selection in the width of its type; a single one for all registers if
    /// the condition is the same for all lanes.
    fn masks(&mut self, data: &InstData) -> Parts {
        let (ty, cond) = (data.ty, data.args[0]);
        let lir = self.lir;
        let later = match lir.values[cond].def {
            Def::Inst(inst) if self.use_analysis.sunk[inst] && self.parts[cond].is_empty() => Some(&lir.insts[inst]),
            _ => None,
        };
        let compared = later.filter(|d| matches!(d.op, Op::Icmp | Op::Fcmp));
        if self.lir.ty(cond).is_vector() {
            if let Some(compare) = compared {
                return self.compare_parts(compare.ty, compare.imm, compare.args[0], compare.args[1]);
            }
            let mask = self.regs(cond);
            return self.b.mask_for(ty, mask);
        }
        if let Some(compare) = compared.filter(|d| d.op == Op::Fcmp && d.ty == ty) {
            return self.compare_parts(compare.ty, compare.imm, compare.args[0], compare.args[1]);
        }
        if self.b.avx512 {
            return smallvec![self.mask_of_truth(cond)];
        }
        let cc = self.condition(cond);
        let truth = self.b.truth(cc);
        let mask = self.b.int_imm(M::Neg, true, truth, 0);
        let mask = self.b.one(Vex::VmovqTo, false, mask);
        smallvec![if ty.is_vector() { self.b.one(Vex::Vbroadcastss, self.b.size(ty), mask) } else { mask }]
    }

    /// Selects the smaller or larger of two floats by one machine instruction, if the selection has
    /// the form that the instruction computes: `a < b ? a : b`.
    fn extreme(&mut self, data: &InstData) -> Option<Parts> {
        use FloatCond::*;
        let (ty, [cond, a, b]) = (data.ty, [0, 1, 2].map(|i| data.args[i]));
        if !matches!(ty.elem, Elem::F32 | Elem::F64) || !self.parts[cond].is_empty() {
            return None;
        }
        let Def::Inst(inst) = self.lir.values[cond].def else { return None };
        let compare = &self.lir.insts[inst];
        let (Op::Fcmp, true, true, Imm::Float(cond)) =
            (compare.op, self.use_analysis.sunk[inst], compare.ty == ty, compare.imm)
        else {
            return None;
        };
        // True if the first compared value is chosen when the condition holds.
        let straight =
            match (compare.args[0] == a && compare.args[1] == b, compare.args[0] == b && compare.args[1] == a) {
                (true, _) => true,
                (_, true) => false,
                _ => return None,
            };
        // For the comparison's first and second operands: whether the smaller one is chosen, and
        // whether the second is chosen where the values are unordered or equal.
        let (less, second) = match (cond, straight) {
            (Lt, true) => (true, true),
            (Gt, true) => (false, true),
            (Lt, false) => (false, false),
            (Gt, false) => (true, false),
            (Uge, false) => (true, true),
            (Ule, false) => (false, true),
            (Uge, true) => (false, false),
            (Ule, true) => (true, false),
            _ => return None,
        };
        let (first, other) = (compare.args[0], compare.args[1]);
        let (first, other) = if second { (first, other) } else { (other, first) };
        let op = match (ty.elem, less) {
            (Elem::F32, true) => Vex::Vminps,
            (Elem::F32, false) => Vex::Vmaxps,
            (_, true) => Vex::Vminpd,
            (_, false) => Vex::Vmaxpd,
        };
        Some(
            (0..self.b.part_count(ty))
                .map(|i| {
                    let a = self.reg(first, i);
                    let b = if ty.is_vector() { self.rm(other, i) } else { Rm::Reg(self.reg(other, i)) };
                    self.b.two(op, self.b.size(ty), a, b)
                })
                .collect(),
        )
    }

    fn blend_of(&self, ty: Type) -> Vex {
        match (ty.lane_bytes(), self.b.avx512) {
            (8, false) => Vex::Vblendvpd,
            (4, false) => Vex::Vblendvps,
            (_, false) => Vex::Vpblendvb,
            (8, true) => Vex::Vblendmpd,
            (4, true) => Vex::Vblendmps,
            (2, true) => Vex::Vpblendmw,
            (_, true) => Vex::Vpblendmb,
        }
    }

    /// Makes a mask with a truth value in every bit.
    pub(super) fn mask_of_truth(&mut self, v: lir::Value) -> VReg {
        let cc = self.condition(v);
        let truth = self.b.truth(cc);
        let bits = self.b.int_imm(M::Neg, true, truth, 0);
        self.b.mask_one(Vex::KmovqTo, bits, 0)
    }

    /// Sets the flags of a reduction of a mask's lanes. A mask with fewer lanes than the test
    /// instruction covers is moved to a general register first.
    pub(super) fn mask_flags(&mut self, op: Op, v: lir::Value) -> Cc {
        let ty = self.lir.ty(v);
        let (any, lanes) = (op == Op::Any, self.b.per_part(ty));
        let parts = self.regs(v);
        let join = if any { Vex::Korw } else { Vex::Kandw };
        let all = parts[1..].iter().fold(parts[0], |all, &part| self.b.mask_two(join, all, part));
        let test = match lanes {
            8 => Vex::Kortestb,
            16 => Vex::Kortestw,
            _ => {
                let bits = self.b.one_int(Vex::KmovbFrom, false, all, 0);
                let bits = self.b.int_imm(M::AluImm(Alu::And), false, bits, (1 << lanes) - 1);
                if any {
                    return self.b.test(bits);
                }
                self.b.push(M::AluImm(Alu::Cmp), false, (1 << lanes) - 1, &[], Some(Rm::Reg(bits)));
                return Cc::E;
            }
        };
        self.b.push(M::Vex(test), false, 0, &[Operand::reg_use(all)], Some(Rm::Reg(all)));
        if any { Cc::Ne } else { Cc::B }
    }
}

/// Returns the load or move of lanes by a mask.
pub(super) fn load_of(ty: Type) -> Vex {
    match ty.lane_bytes() {
        8 => Vex::Vmovupd,
        4 => Vex::Vmovups,
        2 => Vex::Vmovdqu16,
        _ => Vex::Vmovdqu8,
    }
}

/// Returns the comparison of integers that makes a mask, and its predicate for the condition.
fn mask_comparison(elem: Elem, cond: IntCond) -> (Vex, u8) {
    use IntCond::*;
    use Vex::*;
    let signed = !matches!(cond, Ult | Ule | Ugt | Uge);
    let ops = if signed { [Vpcmpb, Vpcmpw, Vpcmpd, Vpcmpq] } else { [Vpcmpub, Vpcmpuw, Vpcmpud, Vpcmpuq] };
    let predicate = match cond {
        Eq => 0,
        Slt | Ult => 1,
        Sle | Ule => 2,
        Ne => 4,
        Sge | Uge => 5,
        Sgt | Ugt => 6,
    };
    (by_width(elem, ops), predicate)
}

/// Returns the condition for exchanged operands.
fn exchanged(cond: IntCond) -> IntCond {
    use IntCond::*;
    match cond {
        Eq => Eq,
        Ne => Ne,
        Slt => Sgt,
        Sle => Sge,
        Sgt => Slt,
        Sge => Sle,
        Ult => Ugt,
        Ule => Uge,
        Ugt => Ult,
        Uge => Ule,
    }
}

/// Returns the condition for exchanged operands of floats.
fn exchanged_float(cond: FloatCond) -> FloatCond {
    use FloatCond::*;
    match cond {
        Lt => Gt,
        Le => Ge,
        Gt => Lt,
        Ge => Le,
        Ult => Ugt,
        Ule => Uge,
        Ugt => Ult,
        Uge => Ule,
        Eq | One | Ord | Uno | Ueq | Ne => cond,
    }
}

fn int_cc(cond: IntCond) -> Cc {
    match cond {
        IntCond::Eq => Cc::E,
        IntCond::Ne => Cc::Ne,
        IntCond::Slt => Cc::L,
        IntCond::Sle => Cc::Le,
        IntCond::Sgt => Cc::G,
        IntCond::Sge => Cc::Ge,
        IntCond::Ult => Cc::B,
        IntCond::Ule => Cc::Be,
        IntCond::Ugt => Cc::A,
        IntCond::Uge => Cc::Ae,
    }
}

/// Returns the processor's number of a comparison; all are quiet.
fn predicate(cond: FloatCond) -> u8 {
    match cond {
        FloatCond::Eq => 0x00,
        FloatCond::One => 0x0c,
        FloatCond::Lt => 0x11,
        FloatCond::Le => 0x12,
        FloatCond::Gt => 0x1e,
        FloatCond::Ge => 0x1d,
        FloatCond::Ord => 0x07,
        FloatCond::Uno => 0x03,
        FloatCond::Ueq => 0x08,
        FloatCond::Ne => 0x04,
        FloatCond::Ult => 0x19,
        FloatCond::Ule => 0x1a,
        FloatCond::Ugt => 0x16,
        FloatCond::Uge => 0x15,
    }
}
