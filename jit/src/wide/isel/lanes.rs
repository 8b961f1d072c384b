//! Single lanes: insertion into vectors, extraction from vectors, and operations that exist for
//! scalars only.

use super::alu::CHOOSE;
use super::{InstructionSelector, Parts, QUARTER, Rm, in_vector, malformed};
use crate::error::Result;
use crate::lir::{self, Elem, Imm, InstData, Op, Type};
use crate::wide::inst::{Alu, Op as M, Shift, Size};
use crate::wide::table::Vex;
use regalloc2::VReg;
use smallvec::{SmallVec, smallvec};

impl InstructionSelector<'_> {
    pub(super) fn lanes(&mut self, data: &InstData) -> Result<Parts> {
        let ty = data.ty;
        Ok(match (data.op, data.imm) {
            (Op::Splat, _) => self.splat(ty, data.args[0]),
            (Op::Extract, Imm::Lane(lane)) => {
                let (lane, per) = (usize::from(lane), self.b.per_part(ty));
                let part = self.reg(data.args[0], lane / per);
                smallvec![self.lane(ty, part, lane % per)]
            }
            (Op::Insert, Imm::Lane(lane)) => self.insert(ty, data.args[0], data.args[1], lane.into()),
            (Op::Build, _) => {
                let chunks = data.args.chunks(self.b.per_part(ty));
                chunks
                    .map(|chunk| {
                        let lanes: SmallVec<[VReg; 16]> = chunk.iter().map(|&v| self.reg(v, 0)).collect();
                        let part = self.build(ty, &lanes);
                        if ty.elem == Elem::B { self.negated_words(self.b.size(ty), part) } else { part }
                    })
                    .collect()
            }
            (Op::MaskBits, _) => smallvec![self.mask_bits(ty, data.args[0])],
            (Op::BitsMask, _) => self.bits_mask(ty, data.args[0]),
            _ => return Err(malformed(data)),
        })
    }

    /// Converts 0 or 1 to 0 or all ones.
    fn negated_words(&mut self, w: Size, a: VReg) -> VReg {
        let zero = self.b.zero();
        self.b.two(Vex::Vpsubd, w, zero, a)
    }

    fn splat(&mut self, ty: Type, v: lir::Value) -> Parts {
        let w = self.b.size(ty);
        let double = if w.is_wide() { Vex::Vbroadcastsd } else { Vex::Vmovddup };
        let one = match (self.source(v, 0), ty.elem) {
            (Some(at), Elem::I8) => self.b.one(Vex::Vpbroadcastb, w, at),
            (Some(at), Elem::I16 | Elem::F16) => self.b.one(Vex::Vpbroadcastw, w, at),
            (Some(at), Elem::I32 | Elem::F32) => self.b.one(Vex::Vbroadcastss, w, at),
            (Some(at), Elem::I64 | Elem::F64) => self.b.one(double, w, at),
            _ => {
                let scalar = self.reg(v, 0);
                self.splat_reg(ty, scalar)
            }
        };
        smallvec![one; self.b.part_count(ty)]
    }

    /// Returns a register with a scalar in every lane.
    fn splat_reg(&mut self, ty: Type, scalar: VReg) -> VReg {
        let w = self.b.size(ty);
        if self.b.avx512 && !in_vector(ty.scalar()) {
            let op = match ty.elem {
                Elem::I8 => Vex::VpbroadcastbGpr,
                Elem::I16 | Elem::F16 => Vex::VpbroadcastwGpr,
                Elem::I64 => Vex::VpbroadcastqGpr,
                _ => Vex::VpbroadcastdGpr,
            };
            return self.b.one(op, w, scalar);
        }
        let low = match ty.elem {
            Elem::F32 | Elem::F64 => scalar,
            Elem::I64 => self.b.one(Vex::VmovqTo, false, scalar),
            Elem::B => {
                let word = self.b.int_imm(M::Neg, false, scalar, 0);
                self.b.one(Vex::VmovdTo, false, word)
            }
            _ => self.b.one(Vex::VmovdTo, false, scalar),
        };
        match ty.elem {
            Elem::I8 => self.b.one(Vex::Vpbroadcastb, w, low),
            Elem::I16 | Elem::F16 => self.b.one(Vex::Vpbroadcastw, w, low),
            Elem::I64 => self.b.one(Vex::Vpbroadcastq, w, low),
            Elem::F64 => self.b.one(if w.is_wide() { Vex::Vbroadcastsd } else { Vex::Vmovddup }, w, low),
            Elem::F32 => self.b.one(Vex::Vbroadcastss, w, low),
            _ => self.b.one(Vex::Vpbroadcastd, w, low),
        }
    }

    /// Returns a lane of a register as a scalar.
    pub(super) fn lane(&mut self, ty: Type, part: VReg, lane: usize) -> VReg {
        let bytes = ty.lane_bytes() as usize;
        let at = lane * bytes;
        let half = self.b.quarter(part, at / QUARTER);
        let lane = (at % QUARTER / bytes) as u8;
        match ty.elem {
            Elem::F32 | Elem::F64 if lane == 0 => half,
            Elem::F32 => self.b.one_imm(Vex::Vpshufd, false, half, lane),
            Elem::F64 => self.b.one_imm(Vex::Vpshufd, false, half, 0xee),
            Elem::I8 => self.b.one_int(Vex::Vpextrb, false, half, lane),
            Elem::I16 | Elem::F16 => self.b.one_int(Vex::Vpextrw, false, half, lane),
            Elem::I64 if lane == 0 => self.b.one_int(Vex::VmovqFrom, false, half, 0),
            Elem::I64 => self.b.one_int(Vex::Vpextrq, false, half, lane),
            Elem::I32 | Elem::B => {
                let word = if lane == 0 {
                    self.b.one_int(Vex::VmovdFrom, false, half, 0)
                } else {
                    self.b.one_int(Vex::Vpextrd, false, half, lane)
                };
                if ty.elem == Elem::B { self.b.int_imm(M::AluImm(Alu::And), false, word, 1) } else { word }
            }
        }
    }

    /// Builds a register from scalars; truth values give words of 0 and 1.
    pub(super) fn build(&mut self, ty: Type, lanes: &[VReg]) -> VReg {
        let bytes = ty.lane_bytes() as usize;
        let quarters = lanes.chunks(QUARTER / bytes).map(|chunk| self.build_quarter(ty, chunk)).collect();
        self.b.join_all(quarters, QUARTER)[0]
    }

    fn build_quarter(&mut self, ty: Type, lanes: &[VReg]) -> VReg {
        let mut v = match ty.elem {
            Elem::F32 | Elem::F64 => lanes[0],
            Elem::I64 => self.b.one(Vex::VmovqTo, false, lanes[0]),
            _ => self.b.one(Vex::VmovdTo, false, lanes[0]),
        };
        for (i, &lane) in (0u8..).zip(lanes).skip(1) {
            v = match ty.elem {
                Elem::F32 => self.b.two_imm(Vex::Vinsertps, false, v, lane, i << 4),
                Elem::F64 => self.b.two(Vex::Vunpcklpd, false, v, lane),
                Elem::I64 => self.b.two_imm(Vex::Vpinsrq, false, v, lane, i),
                Elem::I8 => self.b.two_imm(Vex::Vpinsrb, false, v, lane, i),
                Elem::I16 | Elem::F16 => self.b.two_imm(Vex::Vpinsrw, false, v, lane, i),
                Elem::I32 | Elem::B => self.b.two_imm(Vex::Vpinsrd, false, v, lane, i),
            };
        }
        v
    }

    fn insert(&mut self, ty: Type, v: lir::Value, scalar: lir::Value, lane: usize) -> Parts {
        let (mut parts, scalar) = (self.regs(v), self.reg(scalar, 0));
        let (part, lane) = (lane / self.b.per_part(ty), lane % self.b.per_part(ty));
        let all = self.splat_reg(ty, scalar);
        let (w, bytes) = (self.b.size(ty), ty.lane_bytes() as usize);
        let mut mask = vec![0; w.bytes()];
        mask[lane * bytes..][..bytes].fill(0xff);
        parts[part] = if self.b.avx512 {
            let mask = self.b.bytes(&mask);
            self.b.three(Vex::Vpternlogd, w, [all, parts[part]], mask, CHOOSE)
        } else if bytes >= 4 {
            let words = ((1u16 << (bytes / 4)) - 1) << (lane * bytes / 4);
            self.b.two_imm(Vex::Vblendps, w, parts[part], all, words as u8)
        } else {
            let mask = self.b.bytes(&mask);
            let mask = self.b.in_register(w, mask);
            self.b.blend(Vex::Vpblendvb, w, mask, all, parts[part])
        };
        parts
    }

    fn mask_bits(&mut self, ty: Type, v: lir::Value) -> VReg {
        let parts = self.regs(v);
        let mut bits = self.b.one_int(Vex::Vmovmskps, self.b.size(ty), parts[0], 0);
        for (i, &part) in parts.iter().enumerate().skip(1) {
            let more = self.b.one_int(Vex::Vmovmskps, true, part, 0);
            let more = self.b.int_imm(M::Shift(Shift::Shl), false, more, 8 * i as i64);
            bits = self.b.int_two(M::Alu(Alu::Or), false, bits, more);
        }
        bits
    }

    fn bits_mask(&mut self, ty: Type, v: lir::Value) -> Parts {
        let w = self.b.size(ty);
        let bits = self.splat(ty.with(Elem::I32), v);
        (0..self.b.part_count(ty))
            .map(|i| {
                let own: Vec<u8> = (0..self.b.per_part(ty)).flat_map(|l| (1u32 << (8 * i + l)).to_le_bytes()).collect();
                let own = self.b.bytes(&own);
                let on = self.b.two(Vex::Vpand, w, bits[i], own);
                self.b.two(Vex::Vpcmpeqd, w, on, own)
            })
            .collect()
    }

    /// Applies a scalar operation to each lane. Operands that are scalars are the same for every
    /// lane.
    pub(super) fn by_lane(&mut self, data: &InstData, f: impl Fn(&mut Self, &[VReg]) -> VReg) -> Parts {
        let ty = data.ty;
        let per = self.b.per_part(ty);
        (0..self.b.part_count(ty))
            .map(|part| {
                let lanes: SmallVec<[VReg; 16]> = (part * per..(part + 1) * per)
                    .map(|lane| {
                        let row: Parts = data.args.iter().map(|&v| self.lane_of(v, lane)).collect();
                        f(self, &row)
                    })
                    .collect();
                self.build(ty, &lanes)
            })
            .collect()
    }

    /// Returns a lane of a value.
    pub(super) fn lane_of(&mut self, v: lir::Value, lane: usize) -> VReg {
        let ty = self.lir.ty(v);
        if !ty.is_vector() {
            return self.reg(v, 0);
        }
        if let Some(bits) = self.lir.constant(v).filter(|_| !in_vector(ty.scalar())) {
            return self.b.int(bits);
        }
        let part = self.reg(v, lane / self.b.per_part(ty));
        self.lane(ty, part, lane % self.b.per_part(ty))
    }

    /// Builds a register from lanes at the given addresses.
    pub(super) fn build_from(&mut self, ty: Type, lanes: &[Rm]) -> VReg {
        let bytes = ty.lane_bytes() as usize;
        let quarters: Parts = lanes
            .chunks(QUARTER / bytes)
            .map(|chunk| {
                let mut v = match bytes {
                    8 => self.b.one(Vex::VmovsdLoad, false, chunk[0]),
                    4 => self.b.one(Vex::VmovssLoad, false, chunk[0]),
                    2 => {
                        let first = self.b.int_one(M::Movzx16, false, chunk[0]);
                        self.b.one(Vex::VmovdTo, false, first)
                    }
                    _ => {
                        let first = self.b.int_one(M::Movzx8, false, chunk[0]);
                        self.b.one(Vex::VmovdTo, false, first)
                    }
                };
                for (i, &at) in (0u8..).zip(chunk).skip(1) {
                    v = match bytes {
                        8 => self.b.two(Vex::VmovhpsLoad, false, v, at),
                        4 => self.b.two_imm(Vex::Vinsertps, false, v, at, i << 4),
                        2 => self.b.two_imm(Vex::Vpinsrw, false, v, at, i),
                        _ => self.b.two_imm(Vex::Vpinsrb, false, v, at, i),
                    };
                }
                v
            })
            .collect();
        self.b.join_all(quarters, QUARTER)[0]
    }
}
