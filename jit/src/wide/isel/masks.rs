//! Masks in mask registers with AVX-512: a bit per lane, in one mask register for each vector
//! register that their words would fill.

use super::{InstructionSelector, Parts, Rm, malformed};
use crate::error::Result;
use crate::lir::{self, Imm, InstData, Op, Type};
use crate::wide::inst::{Alu, Op as M, Shift};
use crate::wide::table::Vex;
use regalloc2::VReg;
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
            (Op::Not, _, Some(a)) => self.regs(a).into_iter().map(|a| self.b.mask_one(Vex::Knotw, a, 0)).collect(),
            (Op::Select, ..) => self.select_masks(data),
            (Op::Any | Op::All, ..) => {
                let cc = self.flags_of(data);
                smallvec![self.b.truth(cc)]
            }
            (Op::MaskBits, _, Some(a)) => smallvec![self.bits_of_mask(ty, a)],
            (Op::BitsMask, _, Some(a)) => self.mask_of_bits(ty, a),
            (Op::Splat, _, Some(a)) => {
                let mask = self.mask_of_truth(a);
                smallvec![mask; self.b.part_count(ty)]
            }
            (Op::Extract, Imm::Lane(lane), Some(a)) => {
                let per = self.b.per_part(ty);
                let part = self.reg(a, usize::from(lane) / per);
                let bits = self.b.one_int(Vex::KmovwFrom, false, part, 0);
                let bit = self.b.int_imm(M::Shift(Shift::Shr), false, bits, (usize::from(lane) % per) as i64);
                smallvec![self.b.int_imm(M::AluImm(Alu::And), false, bit, 1)]
            }
            (Op::Insert, Imm::Lane(lane), Some(a)) => self.insert_truth(ty, a, data.args[1], lane.into()),
            (Op::Build, ..) => {
                let chunks = data.args.chunks(self.b.per_part(ty));
                let words: Parts = chunks
                    .map(|chunk| {
                        let lanes: Parts = chunk.iter().map(|&v| self.reg(v, 0)).collect();
                        self.build(ty, &lanes)
                    })
                    .collect();
                words
                    .into_iter()
                    .map(|v| self.b.compare_two(Vex::Vptestmd, self.b.size(ty), v, Rm::Reg(v), 0))
                    .collect()
            }
            (Op::Shuffle, ..) => {
                let words = self.shuffle(data)?;
                // The result has as many lanes as the pattern.
                let ty = self.lir.ty(data.first);
                self.b.masks_of_words(ty, words)
            }
            (Op::Permute, ..) => {
                let words = self.permute(data)?;
                self.b.masks_of_words(ty, words)
            }
            (Op::ExtractAt, ..) => self.permute(data)?,
            _ => return Err(malformed(data)),
        })
    }

    fn mask_logic(&mut self, op: Vex, a: lir::Value, b: lir::Value) -> Parts {
        let (a, b) = (self.regs(a), self.regs(b));
        a.into_iter().zip(b).map(|(a, b)| self.b.mask_two(op, a, b)).collect()
    }

    fn select_masks(&mut self, data: &InstData) -> Parts {
        let (ty, [cond, yes, no]) = (data.ty, [0, 1, 2].map(|i| data.args[i]));
        let masks = if self.lir.ty(cond).is_vector() { self.regs(cond) } else { smallvec![self.mask_of_truth(cond)] };
        (0..self.b.part_count(ty))
            .map(|i| {
                let (mask, yes, no) = (masks[i.min(masks.len() - 1)], self.reg(yes, i), self.reg(no, i));
                let yes = self.b.mask_two(Vex::Kandw, mask, yes);
                let no = self.b.mask_two(Vex::Kandnw, mask, no);
                self.b.mask_two(Vex::Korw, yes, no)
            })
            .collect()
    }

    /// Returns a bit per lane, for up to 32 lanes.
    fn bits_of_mask(&mut self, ty: Type, v: lir::Value) -> VReg {
        let (parts, lanes) = (self.regs(v), self.b.per_part(ty));
        let op = if lanes > 8 { Vex::KmovwFrom } else { Vex::KmovbFrom };
        let low = self.b.one_int(op, false, parts[0], 0);
        if lanes < 8 {
            return self.b.int_imm(M::AluImm(Alu::And), false, low, (1 << lanes) - 1);
        }
        let Some(&high) = parts.get(1) else { return low };
        let high = self.b.one_int(op, false, high, 0);
        let high = self.b.int_imm(M::Shift(Shift::Shl), false, high, lanes as i64);
        self.b.int_two(M::Alu(Alu::Or), false, low, high)
    }

    fn mask_of_bits(&mut self, ty: Type, v: lir::Value) -> Parts {
        let bits = self.reg(v, 0);
        (0..self.b.part_count(ty))
            .map(|i| {
                let by = (i * self.b.per_part(ty)) as i64;
                let own = if by == 0 { bits } else { self.b.int_imm(M::Shift(Shift::Shr), false, bits, by) };
                self.b.mask_one(Vex::KmovqTo, own, 0)
            })
            .collect()
    }

    fn insert_truth(&mut self, ty: Type, v: lir::Value, truth: lir::Value, lane: usize) -> Parts {
        let (mut parts, truth) = (self.regs(v), self.reg(truth, 0));
        let (part, lane) = (lane / self.b.per_part(ty), lane % self.b.per_part(ty));
        let bits = self.b.one_int(Vex::KmovwFrom, false, parts[part], 0);
        let others = self.b.int_imm(M::AluImm(Alu::And), false, bits, !(1 << lane));
        let own = self.b.int_imm(M::Shift(Shift::Shl), false, truth, lane as i64);
        let bits = self.b.int_two(M::Alu(Alu::Or), false, others, own);
        parts[part] = self.b.mask_one(Vex::KmovqTo, bits, 0);
        parts
    }

    // Conversions between forms of masks.
}
