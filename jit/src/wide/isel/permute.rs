//! Selection of lanes by numbers that are known only at run time.

use super::{InstructionSelector, Parts, Rm, malformed};
use crate::error::Result;
use crate::lir::{Elem, InstData, Op, Type};
use crate::wide::inst::{Alu, Op as M, Size};
use crate::wide::table::Vex;
use regalloc2::VReg;
use smallvec::{SmallVec, smallvec};

impl InstructionSelector<'_> {
    pub(super) fn permute(&mut self, data: &InstData) -> Result<Parts> {
        let (ty, [a, n]) = (data.ty, [data.args[0], data.args[1]]);
        let words = ty.lane_bytes() == 4 && ty.bytes() as usize <= self.b.part;
        match data.op {
            Op::ExtractAt => {
                let n = self.reg(n, 0);
                let a = self.lane_regs(a);
                let address = self.spread(0, self.b.size(ty), &a)?;
                let n = self.b.int_imm(M::AluImm(Alu::And), false, n, ty.lanes() as i64 - 1);
                Ok(smallvec![self.load_lane(ty, address, n)])
            }
            Op::Permute if words => {
                let (a, n, w) = (self.lane_reg(a, 0), self.reg(n, 0), self.b.size(ty));
                Ok(smallvec![if w.is_wide() {
                    self.b.two(Vex::Vpermps, w, n, a)
                } else {
                    self.b.two(Vex::Vpermilps, false, a, n)
                }])
            }
            Op::Permute if ty.lane_bytes() == 4 => {
                let (a, n) = (self.lane_regs(a), self.regs(n));
                Ok(n.into_iter().map(|n| self.permute_words(&a, n)).collect())
            }
            Op::Permute => {
                let (a, n) = (self.lane_regs(a), self.regs(n));
                let (last, w) = (self.b.words(ty.lanes() as u32 - 1), self.b.size(ty.with(Elem::I32)));
                let n: Parts = n.iter().map(|&n| self.b.two(Vex::Vpand, w, n, last)).collect();
                let (from, numbers) = (self.spread(0, self.b.size(ty), &a)?, self.spread(1, w, &n)?);
                let per = self.b.per_part(ty);
                let part = |e: &mut Self, part: usize| {
                    let lanes: SmallVec<[Rm; 16]> = (part * per..(part + 1) * per)
                        .map(|lane| {
                            let n = e.b.int_one(M::Mov, false, numbers.plus(4 * lane));
                            indexed(ty, from, n)
                        })
                        .collect();
                    e.build_from(ty, &lanes)
                };
                Ok((0..self.b.part_count(ty)).map(|i| part(self, i)).collect())
            }
            _ => Err(malformed(data)),
        }
    }

    /// Looks up words in several registers: chooses between two by the number's lowest bit above a
    /// register's index, and so on.
    fn permute_words(&mut self, parts: &[VReg], n: VReg) -> VReg {
        if self.b.avx512 {
            return self.permute_pairs(parts, n);
        }
        let mut found: SmallVec<[VReg; 8]> =
            parts.iter().map(|&part| self.b.two(Vex::Vpermps, true, n, part)).collect();
        let mut bit = 3;
        while found.len() > 1 {
            let sign = self.b.one_imm(Vex::VpslldImm, true, n, 31 - bit);
            found = found.chunks(2).map(|pair| self.b.blend(Vex::Vblendvps, true, sign, pair[1], pair[0])).collect();
            bit += 1;
        }
        found[0]
    }

    /// Looks up words in registers of 512 bits: one instruction for two registers, and a choice by
    /// the next higher bit.
    fn permute_pairs(&mut self, parts: &[VReg], n: VReg) -> VReg {
        let pairs: SmallVec<[VReg; 2]> =
            parts.chunks(2).map(|pair| self.b.three(Vex::Vpermi2ps, Size::W512, [n, pair[0]], pair[1], 0)).collect();
        let [low, high] = pairs[..] else { return pairs[0] };
        let bit = self.b.words(32);
        let upper = self.b.compare_two(Vex::Vptestmd, Size::W512, n, bit, 0);
        self.b.blend(Vex::Vblendmps, Size::W512, upper, high, low)
    }

    /// Stores registers to the buffer where lanes are looked up: that of values, or that of
    /// numbers.
    pub(super) fn spread(&mut self, which: usize, w: Size, parts: &[VReg]) -> Result<Rm> {
        let bytes = (self.b.part * parts.len()) as u32;
        let offset = match self.buffers[which] {
            Some((offset, has)) if has >= bytes => offset,
            _ => {
                let offset = self.b.reserve(bytes, self.b.part.trailing_zeros() as u8)?;
                self.buffers[which] = Some((offset, bytes));
                offset
            }
        };
        let at = Rm::At { base: None, index: None, disp: offset };
        for (i, &part) in parts.iter().enumerate() {
            self.b.put(Vex::VmovupsStore, w, part, at.plus(self.b.part * i), 0);
        }
        Ok(at)
    }

    /// Loads the lane of a number that is below their count; a mask's lane becomes a truth value.
    fn load_lane(&mut self, ty: Type, address: Rm, n: VReg) -> VReg {
        let at = indexed(ty, address, n);
        match ty.elem {
            Elem::F32 => self.b.one(Vex::VmovssLoad, false, at),
            Elem::F64 => self.b.one(Vex::VmovsdLoad, false, at),
            Elem::I8 => self.b.int_one(M::Movzx8, false, at),
            Elem::I16 | Elem::F16 => self.b.int_one(M::Movzx16, false, at),
            Elem::I64 => self.b.int_one(M::Mov, true, at),
            Elem::I32 => self.b.int_one(M::Mov, false, at),
            Elem::B => {
                let word = self.b.int_one(M::Mov, false, at);
                self.b.int_imm(M::AluImm(Alu::And), false, word, 1)
            }
        }
    }
}

/// Returns the memory operand of a numbered lane at an address without registers.
fn indexed(ty: Type, address: Rm, n: VReg) -> Rm {
    match address {
        Rm::At { base, disp, .. } => Rm::At { base, index: Some((n, ty.lane_bytes().trailing_zeros() as u8)), disp },
        other => other,
    }
}
