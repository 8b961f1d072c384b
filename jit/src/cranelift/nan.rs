//! NaNs as x86-64 makes them, on AArch64.
//!
//! Bits are part of the contract: an operation on floats gives its first operand that is a NaN, made quiet, and without one the NaN with its sign
//! set, which x86 calls the indefinite number (`lir::build` folds so). AArch64 keeps NaNs alike, but its own has no sign. So code for it has
//! every NaN with the other sign in registers: its own is right then, and a number of operations as large as one likes costs nothing more. What comes from memory,
//! or from other bits, is turned, and turned back on its way there.
//!
//! Of a fused multiply-add x86 gives the NaN of the second factor, the first one, the addend; AArch64 the addend's first, and beside a NaN its own
//! where the product has none. There the operands are looked at, unless the addend is known to be a number.
//! (Of two NaNs of which the second one signals AArch64 gives that one. It stays so.)

use super::Lower;
use crate::lir::{self, Def, Elem, Op};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

/// Does the machine make other NaNs than x86?
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

/// A constant lane as it is in registers.
pub(super) fn turn_constant(elem: Elem, bits: u64) -> u64 {
    if TURNS && is_nan(elem, bits) { bits ^ 1 << (elem.bits() - 1) } else { bits }
}

impl Lower<'_> {
    /// A part of a value, from how it is in memory to how it is in registers or the other way; of other types nothing happens.
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

    /// The parts of a value as they are in memory.
    pub(super) fn in_memory(&mut self, v: lir::Value) -> super::Parts {
        let parts = self.get(v);
        if !TURNS || !is_float(self.lir.ty(v).elem) || self.is_number(v) {
            return parts;
        }
        parts.into_iter().map(|part| self.turn(part)).collect()
    }

    /// Is no lane known to be a NaN, by what makes the value?
    fn is_number(&self, v: lir::Value) -> bool {
        let elem = self.lir.ty(v).elem;
        match self.lir.values[v].def {
            Def::Const(bits) => !is_nan(elem, bits),
            Def::Lanes(list) => self.lir.lists[list].iter().all(|&bits| !is_nan(elem, bits)),
            Def::Inst(inst) => matches!(self.lir.insts[inst].op, Op::SintToFloat | Op::UintToFloat),
            Def::Param(_) | Def::Alias(_) => false,
        }
    }

    /// Can a product have an operand's NaN and the machine's own at once? Not that of numbers of which one is neither 0 nor infinite.
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

    /// Does a fused multiply-add of these give x86's NaN as it is?
    pub(super) fn fuses(&self, [a, b, c]: [lir::Value; 3]) -> bool {
        !TURNS || self.is_number(c) || self.is_plain_product([a, b])
    }

    /// a * b + c, with x86's NaN of those that there are.
    pub(super) fn fused(&mut self, [a, b, c]: [Value; 3], as_it_is: bool) -> Value {
        if !TURNS {
            return self.ins().fma(a, b, c);
        }
        let sum = self.ins().fma(b, a, c);
        if as_it_is {
            return sum;
        }
        // A number, or the first NaN.
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
