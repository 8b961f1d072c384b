//! Pure scalar operations.
//!
//! Uniform operands give one scalar instruction; others give one instruction per vector, or one per
//! lane if the machine has no vector form.
//!
//! The bits of each operation are those of `ir::eval`.

use super::Emitter;
use super::value_rep::{ValueRep, elem};
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, InstData, Op, Ty, Unary, Value};
use crate::lir::{Elem, FloatCond, IntCond, Type, Value as C};
use crate::passes::Shape;
use smallvec::SmallVec;

/// A scalar operation on machine values of one lane.
pub type PerLane<'a> = &'a mut dyn FnMut(&mut Emitter<'_>, &[C]) -> C;

impl Emitter<'_> {
    /// Emits arithmetic; `emit` does it if the values are not affine.
    pub fn alu(&mut self, data: &InstData, emit: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        // `passes::lower_f16` has lowered all arithmetic on halves.
        if !matches!(data.op, Op::Convert(_)) && data.args.iter().any(|&v| self.shader.ty(v) == Ty::F16) {
            return self.not_lowered(data);
        }
        if self.affine(data)? { Ok(()) } else { emit(self) }
    }

    /// Emits integer arithmetic on affine values, whose result is a base and steps again.
    fn affine(&mut self, data: &InstData) -> Result<bool> {
        let (Op::Binary(op), 1) = (&data.op, data.result_count) else { return Ok(false) };
        let steps = match self.shape(data.result()) {
            Shape::Affine(steps) => Some(steps),
            // The result is made of bits in which the lanes of a chunk do not differ.
            Shape::Uniform if matches!(self.value_rep(data.args[0])?, ValueRep::Affine(..)) => None,
            Shape::Uniform | Shape::Varying => return Ok(false),
        };
        let (a, b) = (self.scalar(data.args[0])?, self.scalar(data.args[1])?);
        let base = self.binary_machine(*op, a, b);
        self.define(data.result(), steps.map_or(ValueRep::Uniform(base), |steps| ValueRep::Affine(base, steps)))?;
        Ok(true)
    }

    /// Returns true if every argument is one scalar for all lanes.
    pub fn all_uniform(&mut self, args: &[Value]) -> Result<bool> {
        for &v in args {
            if !matches!(self.value_rep(v)?, ValueRep::Uniform(_)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Applies `f`, which must accept scalars and vectors, to the arguments.
    pub fn map(&mut self, data: &InstData, mut f: impl FnMut(&mut Self, &[C]) -> C) -> Result<()> {
        let rep = if self.all_uniform(&data.args)? {
            let args = data.args.iter().map(|&v| self.scalar(v)).collect::<Result<SmallVec<[C; 4]>>>()?;
            ValueRep::Uniform(f(self, &args))
        } else {
            let args = data.args.iter().map(|&v| self.vector(v)).collect::<Result<SmallVec<[C; 4]>>>()?;
            ValueRep::Varying(f(self, &args))
        };
        self.define(data.result(), rep)
    }

    /// Applies a scalar operation lane by lane.
    pub fn per_lane(&mut self, data: &InstData, f: PerLane<'_>) -> Result<()> {
        if self.all_uniform(&data.args)? {
            let args = data.args.iter().map(|&v| self.scalar(v)).collect::<Result<Vec<C>>>()?;
            let c = f(self, &args);
            return self.define(data.result(), ValueRep::Uniform(c));
        }
        let mut lanes = Vec::new();
        for lane in 0..self.lanes.count() as usize {
            let args = data.args.iter().map(|&v| self.value_lane(v, lane)).collect::<Result<Vec<C>>>()?;
            lanes.push(f(self, &args));
        }
        let all = self.b.build(&lanes);
        self.define(data.result(), ValueRep::Varying(all))
    }

    pub fn unary(&mut self, op: Unary, data: &InstData) -> Result<()> {
        let ty = self.shader.ty(data.args[0]);
        match op {
            Unary::INeg => self.map(data, |e, a| e.b.ineg(a[0])),
            Unary::Not => self.map(data, |e, a| e.b.not(a[0])),
            Unary::FNeg => self.map(data, |e, a| e.b.fneg(a[0])),
            Unary::FAbs => self.map(data, |e, a| e.b.fabs(a[0])),
            Unary::Floor => self.map(data, |e, a| e.b.floor(a[0])),
            Unary::Ceil => self.map(data, |e, a| e.b.ceil(a[0])),
            Unary::Trunc => self.map(data, |e, a| e.b.trunc(a[0])),
            Unary::RoundEven => self.map(data, |e, a| e.b.nearest(a[0])),
            Unary::Sqrt => self.map(data, |e, a| e.b.sqrt(a[0])),
            Unary::RoundHalf => self.map(data, |e, a| e.round_half(a[0])),
            Unary::BitReverse => self.map(data, |e, a| e.b.bit_reverse(a[0])),
            Unary::BitCount => self.map(data, |e, a| {
                let n = e.b.popcnt(a[0]);
                let words = e.b.ty(n).with(Elem::I32);
                e.number(Convert::UToU, words, n)
            }),
            Unary::FindLsb => self.map(data, |e, a| {
                let n = e.b.ctz(a[0]);
                let minus = e.b.iconst(e.b.ty(n), -1);
                let zero = e.b.icmp_imm(IntCond::Eq, a[0], 0);
                e.b.select(zero, minus, n)
            }),
            Unary::FindUMsb => self.map(data, |e, a| e.msb(ty, a[0])),
            Unary::FindSMsb => self.map(data, |e, a| {
                let sign = e.b.ashr_imm(a[0], ty.bytes() * 8 - 1);
                let x = e.b.xor(a[0], sign);
                e.msb(ty, x)
            }),
            Unary::InverseSqrt | Unary::Exp | Unary::Log | Unary::Exp2 | Unary::Log2 => self.not_lowered(data),
            Unary::Sin | Unary::Cos | Unary::Tan | Unary::Asin | Unary::Acos | Unary::Atan => self.not_lowered(data),
            Unary::Sinh | Unary::Cosh | Unary::Tanh | Unary::Asinh | Unary::Acosh | Unary::Atanh => {
                self.not_lowered(data)
            }
        }
    }

    /// Returns the error for an operation that `lower_math` and `lower_float` should have lowered.
    pub fn not_lowered(&self, data: &InstData) -> Result<()> {
        Err(Error::internal(format!("{:?} was not lowered", data.op)).with_id(data.source))
    }

    /// Returns the index of the highest one bit, or -1 for 0.
    fn msb(&mut self, ty: Ty, x: C) -> C {
        let zeros = self.b.clz(x);
        let top = self.b.iconst(self.b.ty(x), i64::from(ty.bytes() * 8 - 1));
        self.b.isub(top, zeros)
    }

    pub fn binary(&mut self, op: Binary, data: &InstData) -> Result<()> {
        use Binary::*;
        match op {
            Shl | LShr | AShr => self.shift(op, data),
            Bound => {
                let limit = self.constant_bits(data.args[1]).unwrap_or(0) as u32;
                self.map(data, |e, a| e.bound(a[0], limit))
            }
            FRem | FMod => self.map(data, |e, a| {
                let q = e.b.fdiv(a[0], a[1]);
                let q = if op == FRem { e.b.trunc(q) } else { e.b.floor(q) };
                let p = e.b.fmul(a[1], q);
                e.b.fsub(a[0], p)
            }),
            FMin | FMax => self.constant_min_max(data, op == FMax),
            Pow | Atan2 => self.not_lowered(data),
            IAdd | ISub | IMul | And | Or | Xor | SMin | UMin | SMax | UMax | SDiv | UDiv | SRem | SMod | UMod
            | SMulHi | UMulHi | FAdd | FSub | FMul | FDiv => self.map(data, |e, a| e.binary_machine(op, a[0], a[1])),
        }
    }

    /// Emits [`Binary::Bound`] of a scalar or a vector with a constant limit.
    fn bound(&mut self, a: C, limit: u32) -> C {
        let ty = self.b.ty(a);
        let [min_value, max_value] = [limit.wrapping_neg(), limit].map(|bits| self.b.constant(ty, bits.into()));
        let a = self.b.smax(a, min_value);
        self.b.smin(a, max_value)
    }

    /// Emits a binary operation on scalars or vectors.
    pub fn binary_machine(&mut self, op: Binary, a: C, b: C) -> C {
        use Binary::*;
        match op {
            IAdd => self.b.iadd(a, b),
            ISub => self.b.isub(a, b),
            IMul => self.b.imul(a, b),
            And => self.b.and(a, b),
            Or => self.b.or(a, b),
            Xor => self.b.xor(a, b),
            Shl => self.b.shl(a, b),
            LShr => self.b.lshr(a, b),
            AShr => self.b.ashr(a, b),
            SMin => self.b.smin(a, b),
            UMin => self.b.umin(a, b),
            SMax => self.b.smax(a, b),
            UMax => self.b.umax(a, b),
            Bound => {
                let min_value = self.b.ineg(b);
                let a = self.b.smax(a, min_value);
                self.b.smin(a, b)
            }
            FAdd => self.b.fadd(a, b),
            FSub => self.b.fsub(a, b),
            FMul => self.b.fmul(a, b),
            FDiv => self.b.fdiv(a, b),
            SDiv => self.b.sdiv(a, b),
            UDiv => self.b.udiv(a, b),
            SRem => self.b.srem(a, b),
            UMod => self.b.urem(a, b),
            SMod => self.modulo(a, b),
            SMulHi => self.high_half(a, b, Convert::SToS),
            UMulHi => self.high_half(a, b, Convert::UToU),
            FMin => self.float_min_max(false, a, b),
            FMax => self.float_min_max(true, a, b),
            // `binary` emits these operations itself and never passes them here.
            FRem | FMod | Pow | Atan2 => a,
        }
    }

    /// Returns the high half of a product. `widen` is the conversion to a wider type; machines have
    /// the operation only for words and wider numbers, so that narrower ones are widened.
    fn high_half(&mut self, a: C, b: C, widen: Convert) -> C {
        let ty = self.b.ty(a);
        if ty.elem.bits() < 32 {
            let words = ty.with(Elem::I32);
            let (a, b) = (self.number(widen, words, a), self.number(widen, words, b));
            let product = self.b.imul(a, b);
            let high = self.b.lshr_imm(product, ty.elem.bits());
            return self.b.narrow(ty, high);
        }
        if widen == Convert::SToS { self.b.smul_high(a, b) } else { self.b.umul_high(a, b) }
    }

    /// Returns the remainder with the sign of the divisor, or the dividend if the divisor is 0.
    fn modulo(&mut self, a: C, b: C) -> C {
        let none = self.b.iconst(self.b.ty(b), 0);
        let zero = self.b.icmp(IntCond::Eq, b, none);
        let r = self.b.srem(a, b);
        let signs = self.b.xor(r, b);
        let differ = self.b.icmp(IntCond::Slt, signs, none);
        let nonzero = self.b.icmp(IntCond::Ne, r, none);
        let adjust = self.b.and(differ, nonzero);
        let moved = self.b.iadd(r, b);
        let r = self.b.select(adjust, moved, r);
        self.b.select(zero, a, r)
    }

    /// Emits a shift; the machine has a cheaper instruction if all lanes shift by one amount.
    fn shift(&mut self, op: Binary, data: &InstData) -> Result<()> {
        let amount_uniform = matches!(self.value_rep(data.args[1])?, ValueRep::Uniform(_));
        let value_uniform = matches!(self.value_rep(data.args[0])?, ValueRep::Uniform(_));
        if amount_uniform {
            let amount = self.scalar(data.args[1])?;
            let value = if value_uniform { self.scalar(data.args[0])? } else { self.vector(data.args[0])? };
            let out = self.binary_machine(op, value, amount);
            return self
                .define(data.result(), if value_uniform { ValueRep::Uniform(out) } else { ValueRep::Varying(out) });
        }
        let (value, amount) = (self.vector(data.args[0])?, self.vector(data.args[1])?);
        let bits = self.possible_bits(data.args[1], 4);
        let out = self.shift_lanes(op, value, amount, bits);
        self.define(data.result(), ValueRep::Varying(out))
    }

    pub fn compare(&mut self, op: Cmp, data: &InstData) -> Result<()> {
        self.map(data, |e, a| e.compare_machine(op, a[0], a[1]))
    }

    fn compare_machine(&mut self, op: Cmp, a: C, b: C) -> C {
        let int = |cond| (Some(cond), FloatCond::Eq);
        let float = |cond| (None, cond);
        let (int, float) = match op {
            Cmp::IEq => int(IntCond::Eq),
            Cmp::INe => int(IntCond::Ne),
            Cmp::SLt => int(IntCond::Slt),
            Cmp::SLe => int(IntCond::Sle),
            Cmp::ULt => int(IntCond::Ult),
            Cmp::ULe => int(IntCond::Ule),
            Cmp::FOrdEq => float(FloatCond::Eq),
            Cmp::FOrdNe => float(FloatCond::One),
            Cmp::FOrdLt => float(FloatCond::Lt),
            Cmp::FOrdLe => float(FloatCond::Le),
            Cmp::FUnoEq => float(FloatCond::Ueq),
            Cmp::FUnoNe => float(FloatCond::Ne),
            Cmp::FUnoLt => float(FloatCond::Ult),
            Cmp::FUnoLe => float(FloatCond::Ule),
        };
        match int {
            // Truth values are not numbers, so they are compared with an exclusive or.
            Some(cond) if self.b.ty(a).elem == Elem::B => {
                let differs = self.b.xor(a, b);
                if cond == IntCond::Eq { self.b.not(differs) } else { differs }
            }
            Some(cond) => self.b.icmp(cond, a, b),
            None => self.b.fcmp(float, a, b),
        }
    }

    pub fn convert(&mut self, op: Convert, data: &InstData) -> Result<()> {
        let from = self.shader.ty(data.args[0]);
        let to = self.shader.ty(data.result());
        let same_width = from.bytes() == to.bytes();
        // A wider float represents every number of a narrower one, so there is no rounding.
        let op = if op == Convert::FToFRtz && from.bytes() < to.bytes() { Convert::FToF } else { op };
        match op {
            Convert::UToU | Convert::SToS if same_width => self.map(data, |_, a| a[0]),
            Convert::FToF | Convert::FToFRtz if same_width => self.map(data, |_, a| a[0]),
            Convert::FToFRtz => self.not_lowered(data),
            Convert::FToS
            | Convert::FToU
            | Convert::SToF
            | Convert::UToF
            | Convert::FToF
            | Convert::UToU
            | Convert::SToS
            | Convert::Bitcast
            | Convert::BToI => self.map(data, |e, a| {
                let to = e.b.ty(a[0]).with(elem(to));
                e.number(op, to, a[0])
            }),
        }
    }

    /// Emits a conversion of a scalar or a vector.
    fn number(&mut self, op: Convert, to: Type, a: C) -> C {
        let from = self.b.ty(a);
        match op {
            Convert::FToS => self.b.float_to_sint(to, a),
            Convert::FToU => self.b.float_to_uint(to, a),
            Convert::SToF => self.b.sint_to_float(to, a),
            Convert::UToF => self.b.uint_to_float(to, a),
            Convert::FToF if from.elem == Elem::F16 => self.b.half_to_float(to, a),
            Convert::FToF if to.elem == Elem::F16 => self.b.float_to_half(to, a),
            Convert::FToF if to.bits() > from.bits() => self.b.fwiden(to, a),
            Convert::FToF => self.b.fnarrow(to, a),
            Convert::UToU | Convert::SToS if to == from => a,
            Convert::UToU if to.bits() > from.bits() => self.b.zext(to, a),
            Convert::SToS if to.bits() > from.bits() => self.b.sext(to, a),
            Convert::UToU | Convert::SToS => self.b.narrow(to, a),
            Convert::Bitcast => self.b.bitcast(to, a),
            Convert::BToI => self.b.zext(to, a),
            Convert::FToFRtz => a,
        }
    }

    pub fn select(&mut self, data: &InstData) -> Result<()> {
        let (cond, a, b) = (data.args[0], data.args[1], data.args[2]);
        let ty = self.shader.ty(a);
        let (ra, rb) = (self.value_rep(a)?, self.value_rep(b)?);
        if let ValueRep::Uniform(c) = self.value_rep(cond)? {
            let rep = match (&ra, &rb) {
                (ValueRep::Uniform(x), ValueRep::Uniform(y)) => ValueRep::Uniform(self.b.select(c, *x, *y)),
                (ValueRep::Affine(x, s), ValueRep::Affine(y, t)) if s == t => {
                    ValueRep::Affine(self.b.select(c, *x, *y), *s)
                }
                (ValueRep::Buffer(x), ValueRep::Buffer(y)) => {
                    let address = self.b.select(c, x.address, y.address);
                    let range = self.b.select(c, x.range, y.range);
                    ValueRep::Buffer(super::value_rep::BufferRange { address, range })
                }
                (ValueRep::Buffer(_) | ValueRep::Buffers(_) | ValueRep::Pointers(_), _) => {
                    return self.select_descriptors(data, ty);
                }
                _ => {
                    let (x, y) = (self.rep_to_vector(ty, &ra)?, self.rep_to_vector(ty, &rb)?);
                    ValueRep::Varying(self.b.select(c, x, y))
                }
            };
            return self.define(data.result(), rep);
        }
        if matches!(ty, Ty::Buf | Ty::Img | Ty::Smp) {
            return self.select_descriptors(data, ty);
        }
        let mask = self.vector(cond)?;
        let (x, y) = (self.rep_to_vector(ty, &ra)?, self.rep_to_vector(ty, &rb)?);
        let out = self.b.select(mask, x, y);
        self.define(data.result(), ValueRep::Varying(out))
    }

    /// Selects descriptors lane by lane.
    fn select_descriptors(&mut self, data: &InstData, ty: Ty) -> Result<()> {
        let mut buffers = smallvec::SmallVec::new();
        let mut pointers = smallvec::SmallVec::new();
        for lane in 0..self.lanes.count() as usize {
            let c = self.value_lane(data.args[0], lane)?;
            if ty == Ty::Buf {
                let (x, y) = (self.buffer_lane(data.args[1], lane)?, self.buffer_lane(data.args[2], lane)?);
                let address = self.b.select(c, x.address, y.address);
                let range = self.b.select(c, x.range, y.range);
                buffers.push(super::value_rep::BufferRange { address, range });
            } else {
                let (x, y) = (self.value_lane(data.args[1], lane)?, self.value_lane(data.args[2], lane)?);
                pointers.push(self.b.select(c, x, y));
            }
        }
        let rep = if ty == Ty::Buf { ValueRep::Buffers(buffers) } else { ValueRep::Pointers(pointers) };
        self.define(data.result(), rep)
    }
}
