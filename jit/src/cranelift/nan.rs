//! Makes AArch64 produce the same NaNs as x86-64.
//!
//! Bits are part of the contract. An operation on floats returns its first operand that is a NaN,
//! made quiet. Without one it returns the NaN with its sign set, which x86 calls the indefinite
//! number (`lir::build` folds so). AArch64 propagates NaNs in the same way, but its own NaN has no
//! sign. Code for it therefore has every NaN with the other sign in registers: its own NaN is then
//! right, and sequences of operations of any length cost nothing more. Values from memory or from
//! other bits are converted, and converted back when they are stored.
//!
//! A fused multiply-add of x86 returns the NaN of the second factor, then the first, then the
//! addend. AArch64 returns the addend's first, and its own if the product is invalid although the
//! addend is a NaN. There the operands are checked, unless the addend is known to be a number. (Of
//! two NaNs of which the second is a signaling one, AArch64 returns that one. This difference is
//! accepted.)

use super::Lower;
use crate::lir::{self, Def, Elem, Op};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

/// The processor makes other NaNs than x86.
const TURNS: bool = cfg!(target_arch = "aarch64");

fn is_float(elem: Elem) -> bool {
    matches!(elem, Elem::F32 | Elem::F64)
}

fn is_nan(elem: Elem, bits: u64) -> bool {
    match elem {
        Elem::F32 => f32::from_bits(bits as u32).is_nan(),
        Elem::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

/// Returns a constant lane in its form in registers.
pub(super) fn turn_constant(elem: Elem, bits: u64) -> u64 {
    if TURNS && is_nan(elem, bits) { bits ^ 1 << (elem.bits() - 1) } else { bits }
}

impl Lower<'_> {
    /// Converts a part of a value between its form in memory and its form in registers, in either
    /// direction; other types than floats are unchanged.
    pub(super) fn turn(&mut self, part: Value) -> Value {
        let ty = self.machine_type(part);
        if !TURNS || !ty.lane_type().is_float() {
            return part;
        }
        match self.turned.get(&part) {
            Some(&(block, other)) if block == self.current => return other,
            _ => {}
        }
        let other = if ty.is_vector() {
            let (words, lane) = if ty == types::F32X4 { (types::I32X4, 4) } else { (types::I64X2, 8) };
            let sign = std::array::from_fn(|i| if i % lane == lane - 1 { 0x80 } else { 0 });
            let sign = self.vector_constant(words, sign);
            let number = self.ins().fcmp(FloatCC::Equal, part, part);
            let flip = self.ins().band_not(sign, number);
            let bits = self.bitcast(words, part);
            let bits = self.ins().bxor(bits, flip);
            self.bitcast(ty, bits)
        } else {
            let (float, sign) = if ty == types::F32 { (lir::Type::F32, 1 << 31) } else { (lir::Type::F64, 1 << 63) };
            let sign = self.constant(float, sign);
            let flipped = self.ins().bxor(part, sign);
            let nan = self.ins().fcmp(FloatCC::Unordered, part, part);
            self.ins().select(nan, flipped, part)
        };
        self.turned.insert(part, (self.current, other));
        self.turned.insert(other, (self.current, part));
        other
    }

    /// Returns the parts of a value in their form in memory.
    pub(super) fn in_memory(&mut self, v: lir::Value) -> super::Parts {
        let parts = self.get(v);
        if !TURNS || !is_float(self.lir.ty(v).elem) || self.is_number(v) {
            return parts;
        }
        parts.into_iter().map(|part| self.turn(part)).collect()
    }

    /// Returns true if the value's definition shows that no lane is a NaN.
    fn is_number(&self, v: lir::Value) -> bool {
        let elem = self.lir.ty(v).elem;
        match self.lir.values[v].def {
            Def::Const(bits) => !is_nan(elem, bits),
            Def::Lanes(list) => self.lir.lists[list].iter().all(|&bits| !is_nan(elem, bits)),
            Def::Inst(inst) => matches!(self.lir.insts[inst].op, Op::SintToFloat | Op::UintToFloat),
            Def::Param(_) | Def::Alias(_) => false,
        }
    }

    /// Returns true if a product cannot be invalid, and its operands are no NaNs: both are numbers,
    /// and one is neither 0, nor denormal, nor infinite.
    fn is_plain_product(&self, factors: [lir::Value; 2]) -> bool {
        let plain = |v: lir::Value| {
            let Some(bits) = self.lir.constant(v) else { return false };
            match self.lir.ty(v).elem {
                Elem::F32 => f32::from_bits(bits as u32).is_normal(),
                _ => f64::from_bits(bits).is_normal(),
            }
        };
        factors.iter().all(|&v| self.is_number(v)) && factors.iter().any(|&v| plain(v))
    }

    /// Returns true if a fused multiply-add of these values returns x86's NaN without further
    /// steps.
    pub(super) fn fuses(&self, [a, b, c]: [lir::Value; 3]) -> bool {
        !TURNS || self.is_number(c) || self.is_plain_product([a, b])
    }

    /// Computes a * b + c, with the NaN that x86 returns.
    pub(super) fn fused(&mut self, [a, b, c]: [Value; 3], as_it_is: bool) -> Value {
        if !TURNS {
            return self.ins().fma(a, b, c);
        }
        let sum = self.ins().fma(b, a, c);
        if as_it_is {
            return sum;
        }
        // This is a number, or the first NaN.
        let factors = self.ins().fmax(b, a);
        let any = self.ins().fmax(factors, c);
        let numbers = self.ins().fcmp(FloatCC::Equal, any, any);
        let ty = self.machine_type(sum);
        if ty.is_vector() {
            let numbers = self.bitcast(ty, numbers);
            self.ins().bitselect(numbers, sum, any)
        } else {
            self.ins().select(numbers, sum, any)
        }
    }
}
