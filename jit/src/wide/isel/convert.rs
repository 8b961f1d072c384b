//! Conversions between types.

use super::compare::load_of;
use super::{InstructionSelector, Parts, Rm, in_vector, malformed};
use crate::error::Result;
use crate::lir::{self, Elem, InstData, Op, Type};
use crate::wide::inst::{Alu, Cc, Op as M, Shift, Size};
use crate::wide::table::Vex;
use regalloc2::{Operand, VReg};
use smallvec::smallvec;

impl InstructionSelector<'_> {
    pub(super) fn convert(&mut self, data: &InstData) -> Result<Parts> {
        let (op, to, a) = (data.op, data.ty, data.args[0]);
        let from = self.lir.ty(a);
        let vector = to.is_vector();
        Ok(match op {
            Op::Bitcast => self.bitcast(from, to, a),
            Op::Sext | Op::Zext if from.elem == Elem::B => self.truth_to_int(op, to, a),
            Op::Sext | Op::Zext if vector => self.widened(op == Op::Sext, from, to, a),
            Op::Sext => smallvec![self.sign_extended(from, to, a)],
            Op::Zext if from.elem == Elem::I32 => smallvec![self.clean(a)],
            Op::Zext => smallvec![self.extended(a, false)],
            Op::Narrow if vector => {
                let parts = self.regs(a);
                self.b.narrow(&parts, from.elem, from.lanes(), to.elem)
            }
            Op::Narrow => smallvec![self.reg(a, 0)],
            Op::Fwiden if vector => self.widened_by(a, to, Vex::Vcvtps2pd, 2),
            Op::Fwiden => smallvec![self.scalar_float(Vex::Vcvtss2sd, a)],
            Op::Fnarrow if vector => self.doubles(a, to, |e, w, d| e.b.one(Vex::Vcvtpd2ps, w, d)),
            Op::Fnarrow => smallvec![self.scalar_float(Vex::Vcvtsd2ss, a)],
            Op::HalfToFloat if vector => self.widened_by(a, to, Vex::Vcvtph2ps, 2),
            Op::HalfToFloat => {
                let half = self.reg(a, 0);
                let half = self.b.one(Vex::VmovdTo, false, half);
                smallvec![self.b.one(Vex::Vcvtph2ps, false, half)]
            }
            Op::FloatToHalf => self.float_to_half(to, a),
            Op::SintToFloat | Op::UintToFloat => self.int_to_float(data, from, a),
            Op::FloatToSint | Op::FloatToUint => self.float_to_int(data, from, a),
            _ => return Err(malformed(data)),
        })
    }

    fn bitcast(&mut self, from: Type, to: Type, a: lir::Value) -> Parts {
        match (in_vector(from), in_vector(to)) {
            (true, true) | (false, false) => self.regs(a),
            (true, false) => {
                let a = self.reg(a, 0);
                let op = if to == Type::I64 { Vex::VmovqFrom } else { Vex::VmovdFrom };
                smallvec![self.b.one_int(op, false, a, 0)]
            }
            (false, true) => {
                let a = self.rm(a, 0);
                let op = if from == Type::I64 { Vex::VmovqTo } else { Vex::VmovdTo };
                smallvec![self.b.one(op, false, a)]
            }
        }
    }

    /// Converts truth values into integers: 0 and 1, or 0 and all ones.
    fn truth_to_int(&mut self, op: Op, to: Type, a: lir::Value) -> Parts {
        let parts = self.regs(a);
        if to.is_vector() {
            let (mask, w) = (self.b.mask_for(to, parts), self.b.size(to));
            let bytes = 1u64.to_le_bytes();
            let one = self.b.repeat(&bytes[..to.lane_bytes() as usize]);
            return match (self.b.avx512, op) {
                (false, Op::Sext) => mask,
                (false, _) => mask.into_iter().map(|m| self.b.two(Vex::Vpand, w, m, one)).collect(),
                (true, Op::Sext) => mask.into_iter().map(|m| self.b.one(spread_of(to), w, m)).collect(),
                (true, _) => mask.into_iter().map(|m| self.b.one_masked(load_of(to), w, m, one)).collect(),
            };
        }
        if op == Op::Zext {
            return parts;
        }
        smallvec![self.b.int_imm(M::Neg, true, parts[0], 0)]
    }

    fn sign_extended(&mut self, from: Type, to: Type, a: lir::Value) -> VReg {
        let w = to == Type::I64;
        let a = self.reg(a, 0);
        match from.elem {
            Elem::I8 => self.b.int_one(M::Movsx8, w, a),
            Elem::I16 => self.b.int_one(M::Movsx16, w, a),
            _ => self.b.int_one(M::Movsx32, true, a),
        }
    }

    fn widened(&mut self, signed: bool, from: Type, to: Type, a: lir::Value) -> Parts {
        use Vex::*;
        let (op, times) = match (from.elem.bits(), to.elem.bits(), signed) {
            (8, 16, true) => (Vpmovsxbw, 2),
            (8, 32, true) => (Vpmovsxbd, 4),
            (8, _, true) => (Vpmovsxbq, 8),
            (16, 32, true) => (Vpmovsxwd, 2),
            (16, _, true) => (Vpmovsxwq, 4),
            (_, _, true) => (Vpmovsxdq, 2),
            (8, 16, false) => (Vpmovzxbw, 2),
            (8, 32, false) => (Vpmovzxbd, 4),
            (8, _, false) => (Vpmovzxbq, 8),
            (16, 32, false) => (Vpmovzxwd, 2),
            (16, _, false) => (Vpmovzxwq, 4),
            (_, _, false) => (Vpmovzxdq, 2),
        };
        self.widened_by(a, to, op, times)
    }

    /// Widens lanes, from registers or from memory.
    fn widened_by(&mut self, a: lir::Value, to: Type, op: Vex, times: usize) -> Parts {
        let bytes = to.bytes() as usize;
        if let Some(at) = self.source(a, 0) {
            return self.b.widen_from(bytes, times, op, |_, byte| at.plus(byte));
        }
        let parts = self.regs(a);
        self.b.widen_from(bytes, times, op, |e, byte| Rm::Reg(e.slice(&parts, byte, e.part / times)))
    }

    /// Converts a scalar float; the upper lanes are undefined.
    fn scalar_float(&mut self, op: Vex, a: lir::Value) -> VReg {
        let a = self.reg(a, 0);
        self.b.two(op, false, a, a)
    }

    /// Converts lanes of 64 bits into words, one register at a time, and joins the words.
    fn doubles(&mut self, a: lir::Value, to: Type, f: impl Fn(&mut Self, Size, Rm) -> VReg) -> Parts {
        let w = self.b.size(self.lir.ty(a));
        let words = self.each_one(a, |e, a| f(e, w, a));
        self.words_of_longs(to, words)
    }

    /// Joins registers that each hold half a register of words.
    fn words_of_longs(&mut self, to: Type, words: Parts) -> Parts {
        if self.b.size(to) == Size::W128 { words } else { self.b.join_all(words, self.b.part / 2) }
    }

    /// Converts single to half precision. The processor would keep part of a NaN's payload, so it
    /// is removed.
    fn float_to_half(&mut self, to: Type, a: lir::Value) -> Parts {
        let from = self.lir.ty(a);
        let w = self.b.size(from);
        let parts = self.regs(a);
        let halves: Parts = parts
            .into_iter()
            .map(|a| {
                let a = if self.b.avx512 { self.without_payload(w, a) } else { a };
                self.b.one(Vex::Vcvtps2ph, w, a)
            })
            .collect();
        let halves = if to.is_vector() { self.b.join_all(halves, self.b.part / 2) } else { halves };
        let w = self.b.size(to);
        let quiet: Parts =
            if self.b.avx512 { halves } else { halves.into_iter().map(|half| self.quiet(w, half)).collect() };
        if to.is_vector() {
            return quiet;
        }
        smallvec![self.b.one_int(Vex::VmovdFrom, false, quiet[0], 0)]
    }

    /// Removes the payload of NaNs of halves.
    fn quiet(&mut self, w: Size, half: VReg) -> VReg {
        let (magnitude, infinity) = (self.b.words(0x7fff_7fff), self.b.words(0x7c00_7c00));
        let payload = self.b.words(0x01ff_01ff);
        let magnitude = self.b.two(Vex::Vpand, w, half, magnitude);
        let nan = self.b.two(Vex::Vpcmpgtw, w, magnitude, infinity);
        let drop = self.b.two(Vex::Vpand, w, nan, payload);
        self.b.two(Vex::Vpandn, w, drop, half)
    }

    /// Makes NaNs of singles quiet and removes their payload.
    fn without_payload(&mut self, w: Size, a: VReg) -> VReg {
        let nan = self.b.compare_two(Vex::KVcmpps, w, a, Rm::Reg(a), 0x03);
        let (quiet, kept) = (self.b.words(0x7fc0_0000), self.b.words(0xffc0_0000));
        let quiet = self.b.two_masked(Vex::Vorps, w, nan, a, quiet, a);
        self.b.two_masked(Vex::Vandps, w, nan, quiet, kept, quiet)
    }

    fn int_to_float(&mut self, data: &InstData, from: Type, a: lir::Value) -> Parts {
        let (to, signed) = (data.ty, data.op == Op::SintToFloat);
        let single = to.elem == Elem::F32;
        if !to.is_vector() {
            let a = if signed || from == Type::I64 { self.reg(a, 0) } else { self.clean(a) };
            let long = from == Type::I64 || !signed;
            return smallvec![if from == Type::I64 && !signed {
                if self.b.avx512 { self.unsigned_to_float(single, a) } else { self.long_to_float(single, a) }
            } else {
                self.scalar_to_float(single, long, a)
            }];
        }
        let w = self.b.size(to);
        match (from.elem, single, signed) {
            (Elem::I32, true, true) => self.each_one(a, |e, a| e.b.one(Vex::Vcvtdq2ps, w, a)),
            (Elem::I32, true, false) if self.b.avx512 => self.each_one(a, |e, a| e.b.one(Vex::Vcvtudq2ps, w, a)),
            (Elem::I32, true, false) => self.each_one(a, |e, a| {
                let a = e.b.in_register(w, a);
                e.unsigned_to_single(w, a)
            }),
            (Elem::I32, false, false) if self.b.avx512 => self.widened_by(a, to, Vex::Vcvtudq2pd, 2),
            (Elem::I64, true, _) if self.b.avx512 => {
                let op = if signed { Vex::Vcvtqq2ps } else { Vex::Vcvtuqq2ps };
                self.doubles(a, to, |e, w, a| e.b.one(op, w, a))
            }
            (Elem::I64, false, _) if self.b.avx512 => {
                let op = if signed { Vex::Vcvtqq2pd } else { Vex::Vcvtuqq2pd };
                self.each_one(a, |e, a| e.b.one(op, w, a))
            }
            (Elem::I32, false, true) => self.widened_by(a, to, Vex::Vcvtdq2pd, 2),
            (Elem::I32, false, false) => {
                let parts = self.regs(a);
                let bytes = to.bytes() as usize;
                (0..bytes.div_ceil(self.b.part))
                    .map(|i| {
                        let four = self.b.slice(&parts, i * self.b.part / 2, self.b.part / 2);
                        self.unsigned_to_double(four)
                    })
                    .collect()
            }
            _ => self.by_lane(data, move |e, lanes| {
                if signed { e.scalar_to_float(single, true, lanes[0]) } else { e.long_to_float(single, lanes[0]) }
            }),
        }
    }

    fn scalar_to_float(&mut self, single: bool, long: bool, a: VReg) -> VReg {
        let op = if single { Vex::Vcvtsi2ss } else { Vex::Vcvtsi2sd };
        // The upper lanes come from a constant, so that the instruction does not depend on an
        // earlier value.
        let zero = self.b.zero();
        self.b.two(op, long, zero, a)
    }

    fn unsigned_to_float(&mut self, single: bool, a: VReg) -> VReg {
        let zero = self.b.zero();
        self.b.two(if single { Vex::Vcvtusi2ss } else { Vex::Vcvtusi2sd }, true, zero, a)
    }

    /// Converts an unsigned number of 64 bits. One above the signed range is halved first, with its
    /// lowest bit kept for rounding, and the result is doubled.
    fn long_to_float(&mut self, single: bool, a: VReg) -> VReg {
        let half = self.b.int_imm(M::Shift(Shift::Shr), true, a, 1);
        let lowest = self.b.int_imm(M::AluImm(Alu::And), true, a, 1);
        let half = self.b.int_two(M::Alu(Alu::Or), true, half, lowest);
        self.b.push(M::Test, true, 0, &[Operand::reg_use(a)], Some(Rm::Reg(a)));
        // `test` clears the overflow flag, so that "less" means that the sign is set.
        let number = self.b.int_two(M::Cmov(Cc::L), true, a, half);
        let float = self.scalar_to_float(single, true, number);
        let op = if single { Vex::Vaddss } else { Vex::Vaddsd };
        let twice = self.b.two(op, false, float, float);
        let sign = self.b.int_imm(M::Shift(Shift::Sar), true, a, 63);
        let mask = self.b.one(Vex::VmovqTo, false, sign);
        let blend = if single { Vex::Vblendvps } else { Vex::Vblendvpd };
        self.b.blend(blend, false, mask, twice, float)
    }

    /// Converts unsigned words: low and high halves become floats of a known exponent, and a single
    /// addition rounds.
    fn unsigned_to_single(&mut self, w: Size, a: VReg) -> VReg {
        let (low_bias, high_bias) = (self.b.words(0x4b00_0000), self.b.words(0x5300_0000));
        let low = self.b.two_imm(Vex::Vpblendw, w, a, low_bias, 0xaa);
        let high = self.b.one_imm(Vex::VpsrldImm, w, a, 16);
        let high = self.b.two_imm(Vex::Vpblendw, w, high, high_bias, 0xaa);
        let both = self.b.words(0x5300_0080);
        let high = self.b.two(Vex::Vsubps, w, high, both);
        self.b.two(Vex::Vaddps, w, low, high)
    }

    fn float_to_int(&mut self, data: &InstData, from: Type, a: lir::Value) -> Parts {
        let (to, signed) = (data.ty, data.op == Op::FloatToSint);
        let single = from.elem == Elem::F32;
        if to.elem == Elem::I64 {
            if !to.is_vector() {
                let a = self.reg(a, 0);
                return smallvec![self.float_to_long(signed, single, a)];
            }
            if self.b.avx512 {
                return self.floats_to_longs(signed, single, to, a);
            }
            return self.by_lane(data, move |e, lanes| e.float_to_long(signed, single, lanes[0]));
        }
        // Scalars are in the low lane; the lanes beside it are undefined.
        let w = self.b.size(from);
        let parts = self.regs(a);
        let words: Parts = parts
            .into_iter()
            .map(|a| match (single, signed) {
                (true, true) if self.b.avx512 => self.single_to_signed_masked(w, a),
                (true, false) if self.b.avx512 => {
                    // Values that are too large are converted to all ones.
                    let a = self.not_negative(Vex::Vmaxps, w, a);
                    self.b.one(Vex::Vcvttps2udq, w, a)
                }
                (true, true) => self.single_to_signed(w, a),
                (true, false) => self.single_to_unsigned(w, a),
                (false, _) => self.double_to_words(signed, w, a),
            })
            .collect();
        if !to.is_vector() {
            return smallvec![self.b.one_int(Vex::VmovdFrom, false, words[0], 0)];
        }
        if single { words } else { self.words_of_longs(to, words) }
    }

    /// Replaces negative values and NaNs by 0: `max` returns its second operand if one is a NaN.
    fn not_negative(&mut self, max: Vex, w: Size, a: VReg) -> VReg {
        let zero = self.b.zero();
        self.b.two(max, w, a, zero)
    }

    /// Converts singles to signed words with masks; see [`Self::single_to_signed`].
    fn single_to_signed_masked(&mut self, w: Size, a: VReg) -> VReg {
        let limit = self.b.words((2f32.powi(31)).to_bits());
        let large = self.b.compare_two(Vex::KVcmpps, w, a, limit, 0x1d);
        let number = self.b.compare_two(Vex::KVcmpps, w, a, Rm::Reg(a), 0x07);
        let word = self.b.one_masked(Vex::Vcvttps2dq, w, number, a);
        let max_value = self.b.words(i32::MAX as u32);
        self.b.blend(Vex::Vblendmps, w, large, max_value, word)
    }

    /// Converts floats to lanes of 64 bits. The instruction gives MIN for signed values that are
    /// too large, which become MAX, and all ones for unsigned ones. NaNs become 0.
    fn floats_to_longs(&mut self, signed: bool, single: bool, to: Type, a: lir::Value) -> Parts {
        let w = self.b.size(to);
        let op = match (single, signed) {
            (true, true) => Vex::Vcvttps2qq,
            (true, false) => Vex::Vcvttps2uqq,
            (false, true) => Vex::Vcvttpd2qq,
            (false, false) => Vex::Vcvttpd2uqq,
        };
        let parts = self.regs(a);
        (0..self.b.part_count(to))
            .map(|i| {
                // A register of results needs half a register of singles.
                let a = if single { self.b.slice(&parts, i * self.b.part / 2, self.b.part / 2) } else { parts[i] };
                let from = match w {
                    Size::W512 if single => Size::W256,
                    Size::W256 if single => Size::W128,
                    w => w,
                };
                if !signed {
                    let a = self.not_negative(if single { Vex::Vmaxps } else { Vex::Vmaxpd }, from, a);
                    return self.b.one(op, w, a);
                }
                let (compare, limit) = if single {
                    (Vex::KVcmpps, self.b.words(2f32.powi(63).to_bits()))
                } else {
                    (Vex::KVcmppd, Rm::Repeated(2f64.powi(63).to_bits()))
                };
                let large = self.b.compare_two(compare, from, a, limit, 0x1d);
                let number = self.b.compare_two(compare, from, a, Rm::Reg(a), 0x07);
                let long = self.b.one_masked(op, w, number, a);
                self.b.blend(Vex::Vblendmpd, w, large, Rm::Repeated(i64::MAX as u64), long)
            })
            .collect()
    }

    /// Converts singles to signed words. The instruction gives MIN for values that are too large
    /// and for NaNs; they become MAX and 0.
    fn single_to_signed(&mut self, w: Size, a: VReg) -> VReg {
        let limit = self.b.words((2f32.powi(31)).to_bits());
        let large = self.b.two_imm(Vex::Vcmpps, w, a, limit, 0x1d);
        let number = self.b.two_imm(Vex::Vcmpps, w, a, a, 0x07);
        let word = self.b.one(Vex::Vcvttps2dq, w, a);
        let word = self.b.two(Vex::Vpxor, w, word, large);
        self.b.two(Vex::Vpand, w, word, number)
    }

    /// Converts singles to unsigned words: those below 2^31 directly, others after subtraction of
    /// 2^31.
    fn single_to_unsigned(&mut self, w: Size, a: VReg) -> VReg {
        let zero = self.b.zero();
        // `max` returns its second operand if one is a NaN.
        let a = self.b.two(Vex::Vmaxps, w, a, zero);
        let (half, limit) = (self.b.words((2f32.powi(31)).to_bits()), self.b.words((2f32.powi(32)).to_bits()));
        let small = self.b.one(Vex::Vcvttps2dq, w, a);
        let rest = self.b.two(Vex::Vsubps, w, a, half);
        let rest = self.b.one(Vex::Vcvttps2dq, w, rest);
        let too_large = self.b.one_imm(Vex::VpsradImm, w, small, 31);
        let rest = self.b.two(Vex::Vpand, w, rest, too_large);
        let word = self.b.two(Vex::Vpor, w, small, rest);
        let beyond = self.b.two_imm(Vex::Vcmpps, w, a, limit, 0x1d);
        self.b.two(Vex::Vpor, w, word, beyond)
    }

    /// Converts binary64 to words. Every word is a binary64, so values that are out of range are
    /// clamped first.
    fn double_to_words(&mut self, signed: bool, w: Size, a: VReg) -> VReg {
        let all = |limit: f64| Rm::Repeated(limit.to_bits());
        if !signed && self.b.avx512 {
            let a = self.not_negative(Vex::Vmaxpd, w, a);
            return self.b.one(Vex::Vcvttpd2udq, w, a);
        }
        if !signed {
            let zero = self.b.zero();
            let a = self.b.two(Vex::Vmaxpd, w, a, zero);
            let max_value = all(u32::MAX.into());
            let a = self.b.two(Vex::Vminpd, w, a, max_value);
            return self.double_to_unsigned(a);
        }
        let a = if self.b.avx512 {
            let number = self.b.compare_two(Vex::KVcmppd, w, a, Rm::Reg(a), 0x07);
            self.b.one_masked(Vex::Vmovupd, w, number, a)
        } else {
            let number = self.b.two_imm(Vex::Vcmppd, w, a, a, 0x07);
            self.b.two(Vex::Vandps, w, a, number)
        };
        let (max_value, min_value) = (all(i32::MAX.into()), all(i32::MIN.into()));
        let a = self.b.two(Vex::Vminpd, w, a, max_value);
        let a = self.b.two(Vex::Vmaxpd, w, a, min_value);
        self.b.one(Vex::Vcvttpd2dq, w, a)
    }

    fn float_to_long(&mut self, signed: bool, single: bool, a: VReg) -> VReg {
        let (convert, compare) =
            if single { (Vex::Vcvttss2si, Vex::Vucomiss) } else { (Vex::Vcvttsd2si, Vex::Vucomisd) };
        let power = |e: &mut Self, n: i32| {
            if single { e.b.bytes(&2f32.powi(n).to_le_bytes()) } else { e.b.bytes(&2f64.powi(n).to_le_bytes()) }
        };
        let flags = |e: &mut Self, a: VReg, b: Rm| e.b.push(M::Vex(compare), false, 0, &[Operand::reg_use(a)], Some(b));
        if signed {
            // The instruction gives MIN for values that are too large and for NaNs.
            let limit = power(self, 63);
            let number = self.b.one_int(convert, true, a, 0);
            let (max_value, none) = (self.b.int(i64::MAX as u64), self.b.int(0));
            flags(self, a, limit);
            let number = self.b.int_two(M::Cmov(Cc::Ae), true, number, max_value);
            flags(self, a, Rm::Reg(a));
            return self.b.int_two(M::Cmov(Cc::P), true, number, none);
        }
        let zero = self.b.zero();
        let a = self.b.two(if single { Vex::Vmaxps } else { Vex::Vmaxpd }, false, a, zero);
        let (half, limit) = (power(self, 63), power(self, 64));
        let small = self.b.one_int(convert, true, a, 0);
        let rest = self.b.two(if single { Vex::Vsubss } else { Vex::Vsubsd }, false, a, half);
        let rest = self.b.one_int(convert, true, rest, 0);
        let sign = self.b.int(1 << 63);
        let large = self.b.int_two(M::Alu(Alu::Xor), true, rest, sign);
        let max_value = self.b.int(u64::MAX);
        flags(self, a, half);
        let number = self.b.int_two(M::Cmov(Cc::Ae), true, small, large);
        flags(self, a, limit);
        self.b.int_two(M::Cmov(Cc::Ae), true, number, max_value)
    }
}

/// Returns the instruction that sets lanes to all ones by a mask register.
fn spread_of(ty: Type) -> Vex {
    match ty.lane_bytes() {
        8 => Vex::Vpmovm2q,
        4 => Vex::Vpmovm2d,
        2 => Vex::Vpmovm2w,
        _ => Vex::Vpmovm2b,
    }
}
