//! Masks in mask registers with AVX-512: a bit per lane, in one mask register for each vector
//! register that their words would fill.

use super::{InstructionSelector, Parts, Rm, malformed};
use crate::error::Result;
use crate::lir::{self, Imm, InstData, Op, Type};
use crate::wide::inst::{Alu, Cc, Masked, Op as M, Shift, Size};
use crate::wide::table::Vex;
use regalloc2::{Operand, VReg};
use smallvec::smallvec;

impl InstructionSelector<'_> {
    /// Selects an operation on masks, or one that makes a mask.
    pub(super) fn mask_operation(&mut self, data: &InstData) -> Result<Parts> {
        let ty = data.ty;
        let a = data.args.first().copied();
        Ok(match (data.op, data.imm, a) {
            (Op::And, _, Some(a)) => match self.masked_comparison(data) {
                Some(parts) => parts,
                None => self.mask_logic(Vex::Kandw, a, data.args[1]),
            },
            (Op::Or, _, Some(a)) => self.mask_logic(Vex::Korw, a, data.args[1]),
            (Op::Xor, _, Some(a)) => self.mask_logic(Vex::Kxorw, a, data.args[1]),
            (Op::AndNot, _, Some(a)) => self.mask_logic(Vex::Kandnw, data.args[1], a),
            (Op::Not, _, Some(a)) => self.regs(a).into_iter().map(|a| self.mask_one(Vex::Knotw, a, 0)).collect(),
            (Op::Select, ..) => self.select_masks(data),
            (Op::Any | Op::All, ..) => {
                let cc = self.flags_of(data);
                smallvec![self.truth(cc)]
            }
            (Op::MaskBits, _, Some(a)) => smallvec![self.bits_of_mask(ty, a)],
            (Op::BitsMask, _, Some(a)) => self.mask_of_bits(ty, a),
            (Op::Splat, _, Some(a)) => {
                let mask = self.mask_of_truth(a);
                smallvec![mask; self.part_count(ty)]
            }
            (Op::Extract, Imm::Lane(lane), Some(a)) => {
                let per = self.per_part(ty);
                let part = self.reg(a, usize::from(lane) / per);
                let bits = self.one_int(Vex::KmovwFrom, false, part, 0);
                let bit = self.int_imm(M::Shift(Shift::Shr), false, bits, (usize::from(lane) % per) as i64);
                smallvec![self.int_imm(M::AluImm(Alu::And), false, bit, 1)]
            }
            (Op::Insert, Imm::Lane(lane), Some(a)) => self.insert_truth(ty, a, data.args[1], lane.into()),
            (Op::Build, ..) => {
                let chunks = data.args.chunks(self.per_part(ty));
                let words: Parts = chunks
                    .map(|chunk| {
                        let lanes: Parts = chunk.iter().map(|&v| self.reg(v, 0)).collect();
                        self.build(ty, &lanes)
                    })
                    .collect();
                words.into_iter().map(|v| self.compare_two(Vex::Vptestmd, self.size(ty), v, Rm::Reg(v), 0)).collect()
            }
            (Op::Shuffle, ..) => {
                let words = self.shuffle(data)?;
                // The result has as many lanes as the pattern.
                let ty = self.lir.ty(data.first);
                self.masks_of_words(ty, words)
            }
            (Op::Permute, ..) => {
                let words = self.permute(data)?;
                self.masks_of_words(ty, words)
            }
            (Op::ExtractAt, ..) => self.permute(data)?,
            _ => return Err(malformed(data)),
        })
    }

    /// Makes a mask from another.
    pub(super) fn mask_one(&mut self, op: Vex, a: VReg, imm: u8) -> VReg {
        let to = self.new_mask();
        self.push(M::Vex(op), false, imm.into(), &[Operand::reg_def(to)], Some(Rm::Reg(a)));
        to
    }
    /// Makes a mask from two others.
    pub(super) fn mask_two(&mut self, op: Vex, a: VReg, b: VReg) -> VReg {
        let to = self.new_mask();
        self.push(M::Vex(op), false, 0, &[Operand::reg_def(to), Operand::reg_use(a)], Some(Rm::Reg(b)));
        to
    }
    /// Makes a mask by a comparison.
    pub(super) fn compare_two(&mut self, op: Vex, w: Size, a: VReg, b: Rm, imm: u8) -> VReg {
        let to = self.new_mask();
        self.push(M::Vex(op), w, imm.into(), &[Operand::reg_def(to), Operand::reg_use(a)], Some(b));
        to
    }

    /// Makes a mask by a comparison that is restricted to the lanes of another mask.
    pub(super) fn compare_masked(&mut self, op: Vex, w: Size, a: VReg, b: Rm, imm: u8, mask: VReg) -> VReg {
        let to = self.new_mask();
        let operands = [Operand::reg_def(to), Operand::reg_use(a), Operand::reg_use(mask)];
        self.push_masked(M::Vex(op), w, imm.into(), &operands, Some(b), Masked::Own);
        to
    }

    fn mask_logic(&mut self, op: Vex, a: lir::Value, b: lir::Value) -> Parts {
        let (a, b) = (self.regs(a), self.regs(b));
        a.into_iter().zip(b).map(|(a, b)| self.mask_two(op, a, b)).collect()
    }

    fn select_masks(&mut self, data: &InstData) -> Parts {
        let (ty, [cond, yes, no]) = (data.ty, [0, 1, 2].map(|i| data.args[i]));
        let masks = if self.lir.ty(cond).is_vector() { self.regs(cond) } else { smallvec![self.mask_of_truth(cond)] };
        (0..self.part_count(ty))
            .map(|i| {
                let (mask, yes, no) = (masks[i.min(masks.len() - 1)], self.reg(yes, i), self.reg(no, i));
                let yes = self.mask_two(Vex::Kandw, mask, yes);
                let no = self.mask_two(Vex::Kandnw, mask, no);
                self.mask_two(Vex::Korw, yes, no)
            })
            .collect()
    }

    /// Makes a mask with a truth value in every bit.
    pub(super) fn mask_of_truth(&mut self, v: lir::Value) -> VReg {
        let cc = self.condition(v);
        let truth = self.truth(cc);
        let bits = self.int_imm(M::Neg, true, truth, 0);
        self.mask_one(Vex::KmovqTo, bits, 0)
    }

    pub(super) fn constant_mask(&mut self, v: lir::Value, part: usize) -> VReg {
        let per = self.per_part(self.lir.ty(v));
        let lanes = self.lir.constant_lanes(v).unwrap_or_default();
        let own = lanes.iter().skip(part * per).take(per);
        let bits = own.enumerate().fold(0, |bits, (i, &lane)| bits | (lane & 1) << i);
        let op = match bits {
            0 => M::NoLanes,
            bits if bits + 1 == 1 << per => M::AllLanes,
            _ => {
                let bits = self.int(bits);
                return self.mask_one(Vex::KmovqTo, bits, 0);
            }
        };
        let to = self.new_mask();
        self.push(op, false, 0, &[Operand::reg_def(to)], None);
        to
    }

    /// Sets the flags of a reduction of a mask's lanes. A mask with fewer lanes than the test
    /// instruction covers is moved to a general register first.
    pub(super) fn mask_flags(&mut self, op: Op, v: lir::Value) -> Cc {
        let ty = self.lir.ty(v);
        let (any, lanes) = (op == Op::Any, self.per_part(ty));
        let parts = self.regs(v);
        let join = if any { Vex::Korw } else { Vex::Kandw };
        let all = parts[1..].iter().fold(parts[0], |all, &part| self.mask_two(join, all, part));
        let test = match lanes {
            8 => Vex::Kortestb,
            16 => Vex::Kortestw,
            _ => {
                let bits = self.one_int(Vex::KmovbFrom, false, all, 0);
                let bits = self.int_imm(M::AluImm(Alu::And), false, bits, (1 << lanes) - 1);
                if any {
                    return self.test(bits);
                }
                self.push(M::AluImm(Alu::Cmp), false, (1 << lanes) - 1, &[], Some(Rm::Reg(bits)));
                return Cc::E;
            }
        };
        self.push(M::Vex(test), false, 0, &[Operand::reg_use(all)], Some(Rm::Reg(all)));
        if any { Cc::Ne } else { Cc::B }
    }

    /// Returns a bit per lane, for up to 32 lanes.
    fn bits_of_mask(&mut self, ty: Type, v: lir::Value) -> VReg {
        let (parts, lanes) = (self.regs(v), self.per_part(ty));
        let op = if lanes > 8 { Vex::KmovwFrom } else { Vex::KmovbFrom };
        let low = self.one_int(op, false, parts[0], 0);
        if lanes < 8 {
            return self.int_imm(M::AluImm(Alu::And), false, low, (1 << lanes) - 1);
        }
        let Some(&high) = parts.get(1) else { return low };
        let high = self.one_int(op, false, high, 0);
        let high = self.int_imm(M::Shift(Shift::Shl), false, high, lanes as i64);
        self.int_two(M::Alu(Alu::Or), false, low, high)
    }

    fn mask_of_bits(&mut self, ty: Type, v: lir::Value) -> Parts {
        let bits = self.reg(v, 0);
        (0..self.part_count(ty))
            .map(|i| {
                let by = (i * self.per_part(ty)) as i64;
                let own = if by == 0 { bits } else { self.int_imm(M::Shift(Shift::Shr), false, bits, by) };
                self.mask_one(Vex::KmovqTo, own, 0)
            })
            .collect()
    }

    fn insert_truth(&mut self, ty: Type, v: lir::Value, truth: lir::Value, lane: usize) -> Parts {
        let (mut parts, truth) = (self.regs(v), self.reg(truth, 0));
        let (part, lane) = (lane / self.per_part(ty), lane % self.per_part(ty));
        let bits = self.one_int(Vex::KmovwFrom, false, parts[part], 0);
        let others = self.int_imm(M::AluImm(Alu::And), false, bits, !(1 << lane));
        let own = self.int_imm(M::Shift(Shift::Shl), false, truth, lane as i64);
        let bits = self.int_two(M::Alu(Alu::Or), false, others, own);
        parts[part] = self.mask_one(Vex::KmovqTo, bits, 0);
        parts
    }

    // Conversions between forms of masks.

    /// Returns a register of a value; for a mask, a register of its words.
    pub(super) fn lane_reg(&mut self, v: lir::Value, part: usize) -> VReg {
        let (ty, reg) = (self.lir.ty(v), self.reg(v, part));
        if self.in_masks(ty) { self.one(Vex::Vpmovm2d, self.size(ty), reg) } else { reg }
    }
    /// Returns all registers of a value; for a mask, those of its words.
    pub(super) fn lane_regs(&mut self, v: lir::Value) -> Parts {
        (0..self.part_count(self.lir.ty(v))).map(|i| self.lane_reg(v, i)).collect()
    }

    /// Makes masks from words of zeros or ones.
    pub(super) fn masks_of_words(&mut self, ty: Type, words: Parts) -> Parts {
        let w = self.size(ty);
        words
            .into_iter()
            .map(|v| {
                let to = self.new_mask();
                self.push(M::Vex(Vex::Vpmovd2m), w, 0, &[Operand::reg_def(to)], Some(Rm::Reg(v)));
                to
            })
            .collect()
    }

    /// Converts masks with one register for each register of words into masks with one for each
    /// register of a type.
    pub(super) fn masks_for(&mut self, ty: Type, masks: &[VReg]) -> Parts {
        let pairs = |e: &mut Self, masks: &[VReg], op| -> Parts {
            let both = masks.chunks(2).map(|pair| match *pair {
                // The high half is the instruction's first operand.
                [low, high] => e.mask_two(op, high, low),
                _ => pair[0],
            });
            both.collect()
        };
        match ty.lane_bytes() {
            8 => (0..self.part_count(ty))
                .map(|i| if i % 2 == 0 { masks[i / 2] } else { self.mask_one(Vex::Kshiftrw, masks[i / 2], 8) })
                .collect(),
            4 => Parts::from_slice(masks),
            2 => pairs(self, masks, Vex::Kunpckwd),
            _ => {
                let masks = pairs(self, masks, Vex::Kunpckwd);
                pairs(self, &masks, Vex::Kunpckdq)
            }
        }
    }

    /// Converts masks with one register for each register of a type into masks with one for each
    /// register of words.
    pub(super) fn masks_of(&mut self, ty: Type, masks: Parts) -> Parts {
        let count = self.part_count(ty.mask());
        let shifted = |e: &mut Self, op, per: usize| {
            let of = |i: usize| (masks[i / per], (16 * (i % per)) as u8);
            let own = (0..count).map(|i| match of(i) {
                (mask, 0) => mask,
                (mask, by) => e.mask_one(op, mask, by),
            });
            own.collect()
        };
        match ty.lane_bytes() {
            8 => masks
                .chunks(2)
                .map(|pair| match *pair {
                    [low, high] => self.mask_two(Vex::Kunpckbw, high, low),
                    _ => pair[0],
                })
                .collect(),
            4 => masks,
            2 => shifted(self, Vex::Kshiftrd, 2),
            _ => shifted(self, Vex::Kshiftrq, 4),
        }
    }
}
