//! Conversions between types.

use super::{Lower, Parts, malformed, part_type};
use crate::error::Result;
use crate::lir::{self, Elem, InstData, Op};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use smallvec::smallvec;

impl Lower<'_> {
    pub(super) fn convert(&mut self, data: &InstData) -> Result<Parts> {
        let (op, to) = (data.op, data.ty);
        let from = self.lir.ty(data.args[0]);
        let (machine, vector) = (part_type(to), to.is_vector());
        let scalar = part_type(to.scalar());
        let a = match op {
            Op::FloatToHalf | Op::Bitcast => self.in_memory(data.args[0]),
            _ => self.get(data.args[0]),
        };
        let made: Parts = match op {
            Op::Sext | Op::Zext if from.elem == Elem::B => self.truth_to_int(op, to, a),
            Op::Sext if !vector => smallvec![self.ins().sextend(machine, a[0])],
            Op::Zext if !vector => smallvec![self.ins().uextend(machine, a[0])],
            Op::Sext | Op::Zext => self.widen_lanes(a, from.lane_bytes(), to.lane_bytes(), op == Op::Sext, to.lanes()),
            Op::Narrow if !vector => smallvec![self.ins().ireduce(machine, a[0])],
            Op::Narrow => self.narrow_lanes(&a, from.lane_bytes(), to.lane_bytes(), machine),
            Op::Fwiden if !vector => smallvec![self.ins().fpromote(machine, a[0])],
            Op::Fwiden => a.iter().flat_map(|&a| self.widen_floats(a)).collect(),
            Op::Fnarrow if !vector => smallvec![self.ins().fdemote(machine, a[0])],
            Op::Fnarrow => a.chunks(2).map(|pair| self.narrow_floats(pair)).collect(),
            Op::HalfToFloat if !vector => {
                let a = self.ins().sextend(types::I32, a[0]);
                smallvec![self.half_to_float(a)]
            }
            Op::HalfToFloat => {
                let words = self.widen_lanes(a, 2, 4, true, to.lanes());
                words.into_iter().map(|w| self.half_to_float(w)).collect()
            }
            Op::FloatToHalf => {
                let words: Parts = a.into_iter().map(|a| self.float_to_half(a)).collect();
                if vector {
                    self.narrow_lanes(&words, 4, 2, machine)
                } else {
                    smallvec![self.ins().ireduce(types::I16, words[0])]
                }
            }
            // The processor converts whole vectors of 32 bits.
            _ if vector && (from.elem.bits(), to.elem.bits()) == (32, 32) && op != Op::Bitcast => {
                a.into_iter().map(|a| self.number(op, machine, a)).collect()
            }
            Op::SintToFloat | Op::UintToFloat | Op::FloatToSint | Op::FloatToUint => {
                self.by_lane(data, to, move |e, a| e.number(op, scalar, a[0]))
            }
            Op::Bitcast => a.into_iter().map(|a| self.bitcast(machine, a)).collect(),
            _ => return Err(malformed(data)),
        };
        Ok(match op {
            Op::HalfToFloat | Op::Bitcast => made.into_iter().map(|part| self.turn(part)).collect(),
            _ => made,
        })
    }

    fn number(&mut self, op: Op, to: Type, a: Value) -> Value {
        match op {
            Op::SintToFloat => self.ins().fcvt_from_sint(to, a),
            Op::UintToFloat => self.ins().fcvt_from_uint(to, a),
            Op::FloatToSint => self.ins().fcvt_to_sint_sat(to, a),
            _ => self.ins().fcvt_to_uint_sat(to, a),
        }
    }

    /// Converts truth values into integers: 0 and 1, or 0 and all ones.
    fn truth_to_int(&mut self, op: Op, to: lir::Type, a: Parts) -> Parts {
        if to.is_vector() {
            let mask = self.mask_for(to, a);
            if op == Op::Sext {
                return mask;
            }
            let one = self.constant(to, 1);
            return mask.into_iter().map(|m| self.ins().band(m, one)).collect();
        }
        let machine = part_type(to);
        let wide = if machine == types::I8 { a[0] } else { self.ins().uextend(machine, a[0]) };
        smallvec![if op == Op::Sext { self.ins().ineg(wide) } else { wide }]
    }

    /// Widens lanes to more bytes.
    pub(super) fn widen_lanes(&mut self, mut parts: Parts, from: u32, to: u32, signed: bool, lanes: usize) -> Parts {
        let mut bytes = from;
        while bytes < to {
            bytes *= 2;
            let count = (lanes * bytes as usize).div_ceil(16);
            let mut wide = Parts::new();
            for part in parts {
                for high in [false, true] {
                    if wide.len() < count {
                        wide.push(match (signed, high) {
                            (true, false) => self.ins().swiden_low(part),
                            (true, true) => self.ins().swiden_high(part),
                            (false, false) => self.ins().uwiden_low(part),
                            (false, true) => self.ins().uwiden_high(part),
                        });
                    }
                }
            }
            parts = wide;
        }
        parts
    }

    /// Takes the low bytes of lanes.
    pub(super) fn narrow_lanes(&mut self, parts: &Parts, from: u32, to: u32, machine: Type) -> Parts {
        let (mut parts, mut bytes) = (parts.clone(), from as u8);
        while u32::from(bytes) > to {
            bytes /= 2;
            let pattern: [u8; 16] = std::array::from_fn(|i| {
                let i = i as u8;
                i / bytes * 2 * bytes + i % bytes
            });
            parts = parts.chunks(2).map(|pair| self.shuffle_bytes(pair[0], pair[pair.len() - 1], pattern)).collect();
        }
        parts.into_iter().map(|p| self.bitcast(machine, p)).collect()
    }

    fn widen_floats(&mut self, a: Value) -> [Value; 2] {
        let high = self.shuffle_words(a, a, [2, 3, 2, 3]);
        [self.ins().fvpromote_low(a), self.ins().fvpromote_low(high)]
    }

    fn narrow_floats(&mut self, pair: &[Value]) -> Value {
        let (low, high) = (self.ins().fvdemote(pair[0]), self.ins().fvdemote(pair[1]));
        self.shuffle_words(low, high, [0, 1, 4, 5])
    }

    /// Returns a word in the form of a machine value: itself, or in every lane.
    fn like(&mut self, like: Value, word: u32) -> Value {
        match self.machine_type(like) {
            types::I32X4 => self.words([word; 4]),
            types::F32X4 => {
                let bytes: [u8; 16] = std::array::from_fn(|i| word.to_le_bytes()[i % 4]);
                self.vector_constant(types::F32X4, bytes)
            }
            types::F32 => self.constant(lir::Type::F32, word.into()),
            _ => self.constant(lir::Type::I32, word.into()),
        }
    }

    /// Returns the word where the condition holds, else 0.
    fn word_where(&mut self, cond: Value, word: u32) -> Value {
        if self.machine_type(cond).is_vector() {
            let word = self.like(cond, word);
            self.ins().band(cond, word)
        } else {
            let (word, zero) = (self.constant(lir::Type::I32, word.into()), self.constant(lir::Type::I32, 0));
            self.ins().select(cond, word, zero)
        }
    }

    fn float_type(&self, words: Value) -> Type {
        if self.machine_type(words).is_vector() { types::F32X4 } else { types::F32 }
    }

    /// Implements [`lir::eval::scalar::half_to_float`] for one or four words, which have the half's
    /// sign extended above it.
    fn half_to_float(&mut self, h: Value) -> Value {
        let float = self.float_type(h);
        let thirteen = self.constant(lir::Type::I32, 13);
        let moved = self.ins().ishl(h, thirteen);
        let own = self.like(h, 0x8fff_e000);
        let moved = self.ins().band(moved, own);
        // The exponent is 112 too low, also for denormals.
        let number = self.bitcast(float, moved);
        let scale = self.like(number, (127 + 112) << 23);
        let number = self.ins().fmul(number, scale);
        let words = self.machine_type(h);
        let number = self.bitcast(words, number);
        let special = self.like(h, 0x0f80_0000);
        let exponent = self.ins().band(moved, special);
        let is_special = self.ins().icmp(IntCC::Equal, exponent, special);
        let more = self.word_where(is_special, 0x7f80_0000);
        let number = self.ins().bor(number, more);
        self.bitcast(float, number)
    }

    /// Implements [`lir::eval::scalar::float_to_half`]; the result is words with the half in the
    /// low bits. No step makes a denormal, which is slow on some processors.
    fn float_to_half(&mut self, f: Value) -> Value {
        let float = self.machine_type(f);
        let words = if float.is_vector() { types::I32X4 } else { types::I32 };
        let f = self.bitcast(words, f);
        let k = |e: &mut Self, word| e.like(f, word);
        let shift = |e: &mut Self, n| e.constant(lir::Type::I32, n);
        let (sixteen, thirteen) = (shift(self, 16), shift(self, 13));
        let magnitude = k(self, 0x7fff_ffff);
        let magnitude = self.ins().band(f, magnitude);
        let sign = self.ins().bxor(f, magnitude);
        let sign = self.ins().ushr(sign, sixteen);
        // The addend makes the last bit of this sum the last bit of a half with the number's
        // exponent; for denormals of halves the exponent is -14.
        let infinity = k(self, 0x7f80_0000);
        let exponent = self.ins().band(f, infinity);
        let (least, most) = (k(self, (127 - 14) << 23), k(self, (127 + 16) << 23));
        let exponent = self.ins().smax(exponent, least);
        let exponent = self.ins().smin(exponent, most);
        let up = k(self, 13 << 23);
        let large = self.ins().iadd(exponent, up);
        let (number, addend) = (self.bitcast(float, magnitude), self.bitcast(float, large));
        let sum = self.ins().fadd(number, addend);
        let sum = self.bitcast(words, sum);
        // The significand includes the bit above the fraction, which adds one to the exponent.
        let significand = self.ins().isub(sum, large);
        let bias = k(self, (127 - 14) << 23);
        let exponent = self.ins().isub(exponent, bias);
        let exponent = self.ins().ushr(exponent, thirteen);
        let half = self.ins().iadd(exponent, significand);
        let most = k(self, 0x7c00);
        let half = self.ins().smin(half, most);
        let is_nan = self.ins().icmp(IntCC::SignedGreaterThan, magnitude, infinity);
        let quiet = self.word_where(is_nan, 0x200);
        let half = self.ins().bor(half, quiet);
        self.ins().bor(half, sign)
    }
}
