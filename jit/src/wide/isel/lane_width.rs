//! Conversions of registers between widths of lanes: of numbers, and of masks.

use super::builder::InstructionBuilder;
use super::{Parts, Rm};
use crate::lir::{Elem, Type};
use crate::wide::inst::{Op as M, Size};
use crate::wide::table::Vex;
use regalloc2::{Operand, VReg};
use smallvec::smallvec;

impl InstructionBuilder {
    /// Converts a mask of a type's own width into one of words.
    pub(super) fn mask_of(&mut self, ty: Type, parts: Parts) -> Parts {
        if self.avx512 {
            return self.masks_of(ty, parts);
        }
        match ty.lane_bytes() {
            8 => self.halve(&parts, ty.bytes() as usize, |e, w, a, b| e.two_imm(Vex::Vshufps, w, a, b, 0x88)),
            4 => parts,
            2 => self.widen(&parts, Vex::Vpmovsxwd, 2, ty.lanes()),
            _ => self.widen(&parts, Vex::Vpmovsxbd, 4, ty.lanes()),
        }
    }

    /// Converts a mask of words into one of a type's width.
    pub(super) fn mask_for(&mut self, ty: Type, mask: Parts) -> Parts {
        if self.avx512 {
            return self.masks_for(ty, &mask);
        }
        let words = |e: &mut Self| e.halve(&mask, 4 * ty.lanes(), |e, w, a, b| e.two(Vex::Vpackssdw, w, a, b));
        match ty.lane_bytes() {
            8 => self.widen(&mask, Vex::Vpmovsxdq, 2, ty.lanes()),
            4 => mask,
            2 => words(self),
            _ => {
                let shorts = words(self);
                self.halve(&shorts, 2 * ty.lanes(), |e, w, a, b| e.two(Vex::Vpacksswb, w, a, b))
            }
        }
    }

    /// Halves the bytes of lanes of registers of 256 bits by an instruction that packs the lanes of
    /// two registers within each 128-bit half.
    fn halve(&mut self, parts: &[VReg], bytes: usize, pack: impl Fn(&mut Self, bool, VReg, VReg) -> VReg) -> Parts {
        match bytes {
            0..=16 => smallvec![pack(self, false, parts[0], parts[0])],
            32 => {
                let high = self.upper(parts[0]);
                smallvec![pack(self, false, parts[0], high)]
            }
            _ => parts
                .chunks(2)
                .map(|pair| {
                    let both = pack(self, true, pair[0], pair[1]);
                    self.one_imm(Vex::Vpermq, true, both, 0xd8)
                })
                .collect(),
        }
    }

    /// Widens the lanes of registers to `times` as many bytes.
    pub(super) fn widen(&mut self, parts: &[VReg], op: Vex, times: usize, lanes: usize) -> Parts {
        let to = lanes * self.widened_bytes(op);
        self.widen_from(to, times, op, |e, byte| Rm::Reg(e.slice(parts, byte, e.part / times)))
    }

    /// Returns the bytes of the lanes that a widening instruction makes.
    fn widened_bytes(&self, op: Vex) -> usize {
        use Vex::*;
        match op {
            Vpmovsxbw | Vpmovzxbw => 2,
            Vpmovsxbd | Vpmovzxbd | Vpmovsxwd | Vpmovzxwd => 4,
            _ => 8,
        }
    }

    /// Widens lanes to `bytes` bytes in total, from operands that `source` provides in registers or
    /// memory.
    pub(super) fn widen_from(
        &mut self,
        bytes: usize,
        times: usize,
        op: Vex,
        source: impl Fn(&mut Self, usize) -> Rm,
    ) -> Parts {
        let w = self.size_of(bytes);
        (0..bytes.div_ceil(self.part))
            .map(|i| {
                let from = source(self, i * self.part / times);
                self.one(op, w, from)
            })
            .collect()
    }

    /// Returns a register whose low bytes, up to `bytes` of them, are those from a byte on.
    pub(super) fn slice(&mut self, parts: &[VReg], byte: usize, bytes: usize) -> VReg {
        let (part, byte) = (parts[byte / self.part], byte % self.part);
        if bytes > 16 && byte != 0 {
            return self.one_imm(Vex::Vextractf64x4, Size::W512, part, 1);
        }
        let quarter = self.quarter(part, byte / 16);
        match byte % 16 {
            0 => quarter,
            8 => self.one_imm(Vex::Vpshufd, false, quarter, 0xee),
            by => self.one_imm(Vex::VpsrldqImm, false, quarter, by as u8),
        }
    }

    /// Takes the low bits of lanes.
    pub(super) fn narrow(&mut self, parts: &[VReg], from: Elem, lanes: usize, to: Elem) -> Parts {
        if self.avx512 {
            return self.narrow_each(parts, from, lanes, to);
        }
        let mut parts = Parts::from_slice(parts);
        let mut bits = from.bits();
        if bits == 64 {
            parts = self.halve(&parts, 8 * lanes, |e, w, a, b| e.two_imm(Vex::Vshufps, w, a, b, 0x88));
            bits = 32;
        }
        if to.bits() >= bits {
            return parts;
        }
        // The high bits are cleared first, so that the saturating instructions do not change the
        // value.
        let w = self.size_of(lanes * bits as usize / 8);
        let low = if bits == 16 { 0x00ff_00ff } else { to.mask() as u32 };
        let low = self.words(low);
        parts.iter_mut().for_each(|p| *p = self.two(Vex::Vpand, w, *p, low));
        if bits == 32 {
            parts = self.halve(&parts, 4 * lanes, |e, w, a, b| e.two(Vex::Vpackusdw, w, a, b));
        }
        if to.bits() == 8 {
            parts = self.halve(&parts, 2 * lanes, |e, w, a, b| e.two(Vex::Vpackuswb, w, a, b));
        }
        parts
    }

    /// Takes the low bits of lanes by the truncating instructions of AVX-512.
    fn narrow_each(&mut self, parts: &[VReg], from: Elem, lanes: usize, to: Elem) -> Parts {
        let (from, to) = (from.bits() as usize / 8, to.bits() as usize / 8);
        let op = match (from, to) {
            (8, 4) => Vex::Vpmovqd,
            (8, 2) => Vex::Vpmovqw,
            (8, _) => Vex::Vpmovqb,
            (4, 2) => Vex::Vpmovdw,
            (4, 1) => Vex::Vpmovdb,
            (2, 1) => Vex::Vpmovwb,
            _ => return Parts::from_slice(parts),
        };
        let w = self.size_of(lanes * from);
        let pieces = parts.iter().map(|&part| self.one(op, w, part)).collect();
        self.join_all(pieces, self.part * to / from)
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
    fn masks_for(&mut self, ty: Type, masks: &[VReg]) -> Parts {
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
    fn masks_of(&mut self, ty: Type, masks: Parts) -> Parts {
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
