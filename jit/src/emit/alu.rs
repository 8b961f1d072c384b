//! Pure scalar operations. Uniform operands give one scalar instruction; otherwise one per vector, or, where the machine
//! has no vector form, one per lane.
//!
//! The bits are those of `ir::eval`, operation by operation.

use super::Emitter;
use super::rep::{Rep, Vecs, scalar_type, vector_type};
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, InstData, Op, Ty, Unary, Value};
use crate::passes::Shape;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value as C, types};

/// A scalar operation on machine values of one lane.
pub type PerLane<'a> = &'a mut dyn FnMut(&mut Emitter<'_>, &[C]) -> C;

impl Emitter<'_> {
    /// Emits arithmetic, of values that are not affine by `emit`.
    pub fn alu(&mut self, data: &InstData, emit: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        for &v in data.args.iter() {
            self.check_type(v)?;
        }
        if self.affine(data)? { Ok(()) } else { emit(self) }
    }

    /// Types whose vectors are not 32 or 64 bits per lane are not emitted yet.
    fn check_type(&self, v: Value) -> Result<()> {
        match self.shader.ty(v) {
            Ty::I8 | Ty::I16 | Ty::F16 => Err(Error::unsupported("8- and 16-bit arithmetic")),
            _ => Ok(()),
        }
    }

    /// Integer arithmetic on affine values stays a base and a stride.
    fn affine(&mut self, data: &InstData) -> Result<bool> {
        let (Op::Binary(op), 1) = (&data.op, data.result_count) else { return Ok(false) };
        let Shape::Affine(stride) = self.shape(data.result()) else { return Ok(false) };
        let (a, b) = (self.scalar(data.args[0])?, self.scalar(data.args[1])?);
        let base = self.binary_scalar(*op, Ty::I32, a, b);
        self.define(data.result(), Rep::Affine(base, stride))?;
        Ok(true)
    }

    /// True when every argument is one scalar for all lanes.
    pub fn all_uniform(&mut self, args: &[Value]) -> Result<bool> {
        for &v in args {
            if !matches!(self.rep(v)?, Rep::Uniform(_)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Applies `f` to scalars or vector by vector; for operations whose machine instruction takes both.
    pub fn map(&mut self, data: &InstData, mut f: impl FnMut(&mut Self, &[C]) -> C) -> Result<()> {
        let rep = if self.all_uniform(&data.args)? {
            let args = data.args.iter().map(|&v| self.scalar(v)).collect::<Result<Vec<C>>>()?;
            Rep::Uniform(f(self, &args))
        } else {
            let args = data.args.iter().map(|&v| self.vectors(v)).collect::<Result<Vec<Vecs>>>()?;
            let count = args[0].len();
            let mut out = Vecs::new();
            for i in 0..count {
                let row: Vec<C> = args.iter().map(|a| a[i]).collect();
                out.push(f(self, &row));
            }
            Rep::Varying(out)
        };
        self.define(data.result(), rep)
    }

    /// Applies a scalar operation lane by lane.
    pub fn per_lane(&mut self, data: &InstData, f: PerLane<'_>) -> Result<()> {
        if self.all_uniform(&data.args)? {
            let args = data.args.iter().map(|&v| self.scalar(v)).collect::<Result<Vec<C>>>()?;
            let c = f(self, &args);
            return self.define(data.result(), Rep::Uniform(c));
        }
        let mut lanes = Vec::new();
        for lane in 0..self.lanes as usize {
            let args = data.args.iter().map(|&v| self.value_lane(v, lane)).collect::<Result<Vec<C>>>()?;
            lanes.push(f(self, &args));
        }
        let vecs = self.gather_lanes(self.shader.ty(data.result()), &lanes);
        self.define(data.result(), Rep::Varying(vecs))
    }

    pub fn unary(&mut self, op: Unary, data: &InstData) -> Result<()> {
        let ty = self.shader.ty(data.args[0]);
        match op {
            Unary::INeg => self.map(data, |e, a| e.b.ins().ineg(a[0])),
            Unary::Not => self.map(data, |e, a| e.not(a[0])),
            Unary::FNeg => self.map(data, |e, a| e.b.ins().fneg(a[0])),
            Unary::FAbs => self.map(data, |e, a| e.b.ins().fabs(a[0])),
            Unary::Floor => self.map(data, |e, a| e.b.ins().floor(a[0])),
            Unary::Ceil => self.map(data, |e, a| e.b.ins().ceil(a[0])),
            Unary::Trunc => self.map(data, |e, a| e.b.ins().trunc(a[0])),
            Unary::RoundEven => self.map(data, |e, a| e.b.ins().nearest(a[0])),
            Unary::Sqrt => self.map(data, |e, a| e.b.ins().sqrt(a[0])),
            Unary::BitReverse => self.per_lane(data, &mut |e, a| e.b.ins().bitrev(a[0])),
            Unary::BitCount => self.per_lane(data, &mut |e, a| {
                let n = e.b.ins().popcnt(a[0]);
                if ty == Ty::I64 { e.b.ins().ireduce(types::I32, n) } else { n }
            }),
            Unary::FindLsb => self.per_lane(data, &mut |e, a| {
                let n = e.b.ins().ctz(a[0]);
                let minus = e.constant(ty, u64::MAX);
                let zero = e.b.ins().icmp_imm_u(IntCC::Equal, a[0], 0);
                e.b.ins().select(zero, minus, n)
            }),
            Unary::FindUMsb => self.per_lane(data, &mut |e, a| e.msb(ty, a[0])),
            Unary::FindSMsb => self.per_lane(data, &mut |e, a| {
                let sign = e.b.ins().sshr_imm_u(a[0], i64::from(ty.bytes() * 8 - 1));
                let x = e.b.ins().bxor(a[0], sign);
                e.msb(ty, x)
            }),
            Unary::InverseSqrt | Unary::Exp | Unary::Log | Unary::Exp2 | Unary::Log2 => self.not_expanded(data),
            Unary::Sin | Unary::Cos | Unary::Tan | Unary::Asin | Unary::Acos | Unary::Atan => self.not_expanded(data),
            Unary::Sinh | Unary::Cosh | Unary::Tanh | Unary::Asinh | Unary::Acosh | Unary::Atanh => {
                self.not_expanded(data)
            }
        }
    }

    /// What `lower_math` leaves to nobody.
    fn not_expanded(&self, data: &InstData) -> Result<()> {
        Err(Error::internal(format!("{:?} was not lowered", data.op)).with_id(data.source))
    }

    /// Index of the highest one bit, -1 for 0.
    fn msb(&mut self, ty: Ty, x: C) -> C {
        let zeros = self.b.ins().clz(x);
        let top = self.constant(ty, u64::from(ty.bytes() * 8 - 1));
        self.b.ins().isub(top, zeros)
    }

    /// Complement of an integer, a truth value (I8) or a mask.
    pub fn not(&mut self, c: C) -> C {
        if self.b.func.dfg.value_type(c) == types::I8 { self.b.ins().bxor_imm_u(c, 1) } else { self.b.ins().bnot(c) }
    }

    pub fn binary(&mut self, op: Binary, data: &InstData) -> Result<()> {
        use Binary::*;
        let ty = self.shader.ty(data.args[0]);
        match op {
            Shl | LShr | AShr => self.shift(op, data),
            Bound => {
                let limit = self.constant_bits(data.args[1]).unwrap_or(0) as u32;
                self.map(data, |e, a| e.bound(a[0], limit))
            }
            SDiv | UDiv | SRem | SMod | UMod | SMulHi | UMulHi => {
                self.per_lane(data, &mut |e, a| e.binary_scalar(op, ty, a[0], a[1]))
            }
            SMin | UMin | SMax | UMax if ty == Ty::I64 => {
                self.per_lane(data, &mut |e, a| e.binary_scalar(op, ty, a[0], a[1]))
            }
            FRem | FMod => self.map(data, |e, a| {
                let q = e.b.ins().fdiv(a[0], a[1]);
                let q = if op == FRem { e.b.ins().trunc(q) } else { e.b.ins().floor(q) };
                let p = e.b.ins().fmul(a[1], q);
                e.b.ins().fsub(a[0], p)
            }),
            FMin | FMax => {
                let number = [0, 1].map(|i| self.is_number(data.args[i]));
                let (ordered, unordered) = match op {
                    FMin => (FloatCC::LessThan, FloatCC::UnorderedOrLessThan),
                    _ => (FloatCC::GreaterThan, FloatCC::UnorderedOrGreaterThan),
                };
                self.map(data, |e, a| match number {
                    [true, _] => e.float_choice(ordered, a[0], a[1]),
                    [_, true] => e.float_choice(unordered, a[0], a[1]),
                    _ => e.float_extreme(ordered, a[0], a[1]),
                })
            }
            Pow | Atan2 => self.not_expanded(data),
            IAdd | ISub | IMul | And | Or | Xor | SMin | UMin | SMax | UMax | FAdd | FSub | FMul | FDiv => {
                self.map(data, |e, a| e.binary_scalar(op, ty, a[0], a[1]))
            }
        }
    }

    /// [`Binary::Bound`] of a scalar or a vector to a constant.
    fn bound(&mut self, a: C, limit: u32) -> C {
        let vector = self.b.func.dfg.value_type(a).is_vector();
        let [least, most] = [limit.wrapping_neg(), limit].map(|bits| {
            if vector { self.vector_constant([bits as i32; 4]) } else { self.constant(Ty::I32, bits.into()) }
        });
        let a = self.b.ins().smax(a, least);
        self.b.ins().smin(a, most)
    }

    /// A binary operation on scalars, and on vectors where the machine has it.
    pub fn binary_scalar(&mut self, op: Binary, ty: Ty, a: C, b: C) -> C {
        use Binary::*;
        match op {
            IAdd => self.b.ins().iadd(a, b),
            ISub => self.b.ins().isub(a, b),
            IMul => self.b.ins().imul(a, b),
            And => self.b.ins().band(a, b),
            Or => self.b.ins().bor(a, b),
            Xor => self.b.ins().bxor(a, b),
            Shl => self.b.ins().ishl(a, b),
            LShr => self.b.ins().ushr(a, b),
            AShr => self.b.ins().sshr(a, b),
            SMin => self.b.ins().smin(a, b),
            UMin => self.b.ins().umin(a, b),
            SMax => self.b.ins().smax(a, b),
            UMax => self.b.ins().umax(a, b),
            Bound => {
                let least = self.b.ins().ineg(b);
                let a = self.b.ins().smax(a, least);
                self.b.ins().smin(a, b)
            }
            FAdd => self.b.ins().fadd(a, b),
            FSub => self.b.ins().fsub(a, b),
            FMul => self.b.ins().fmul(a, b),
            FDiv => self.b.ins().fdiv(a, b),
            SDiv | UDiv | SRem | SMod | UMod => self.divide(op, ty, a, b),
            SMulHi => self.b.ins().smulhi(a, b),
            UMulHi => self.b.ins().umulhi(a, b),
            FMin => self.float_extreme(FloatCC::LessThan, a, b),
            FMax => self.float_extreme(FloatCC::GreaterThan, a, b),
            // `binary` has its own code for these.
            FRem | FMod | Pow | Atan2 => a,
        }
    }

    /// Division that never traps.
    fn divide(&mut self, op: Binary, ty: Ty, a: C, b: C) -> C {
        use Binary::*;
        let zero = self.b.ins().icmp_imm_u(IntCC::Equal, b, 0);
        let one = self.constant(ty, 1);
        if matches!(op, UDiv | UMod) {
            let safe = self.b.ins().select(zero, one, b);
            if op == UDiv {
                let q = self.b.ins().udiv(a, safe);
                let ones = self.constant(ty, u64::MAX);
                return self.b.ins().select(zero, ones, q);
            }
            let r = self.b.ins().urem(a, safe);
            return self.b.ins().select(zero, a, r);
        }
        // MIN / -1 overflows: divide by 1 instead, the quotient is -a.
        let minus_one = self.b.ins().icmp_imm_s(IntCC::Equal, b, -1);
        let special = self.b.ins().bor(zero, minus_one);
        let safe = self.b.ins().select(special, one, b);
        if op == SDiv {
            let q = self.b.ins().sdiv(a, safe);
            let negated = self.b.ins().ineg(a);
            let q = self.b.ins().select(minus_one, negated, q);
            let ones = self.constant(ty, u64::MAX);
            return self.b.ins().select(zero, ones, q);
        }
        let r = self.b.ins().srem(a, safe);
        let none = self.constant(ty, 0);
        let r = self.b.ins().select(special, none, r);
        let r = if op == SMod {
            let signs = self.b.ins().bxor(r, b);
            let differ = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
            let nonzero = self.b.ins().icmp_imm_u(IntCC::NotEqual, r, 0);
            let adjust = self.b.ins().band(differ, nonzero);
            let moved = self.b.ins().iadd(r, b);
            self.b.ins().select(adjust, moved, r)
        } else {
            r
        };
        self.b.ins().select(zero, a, r)
    }

    /// Vector shifts take one amount for all lanes; others go lane by lane.
    fn shift(&mut self, op: Binary, data: &InstData) -> Result<()> {
        let ty = self.shader.ty(data.args[0]);
        let amount_uniform = matches!(self.rep(data.args[1])?, Rep::Uniform(_));
        let value_uniform = matches!(self.rep(data.args[0])?, Rep::Uniform(_));
        if !amount_uniform || value_uniform {
            return self.per_lane(data, &mut |e, a| e.binary_scalar(op, ty, a[0], a[1]));
        }
        let amount = self.scalar(data.args[1])?;
        let value = self.vectors(data.args[0])?;
        let out = value.iter().map(|&v| self.binary_scalar(op, ty, v, amount)).collect();
        self.define(data.result(), Rep::Varying(out))
    }

    pub fn compare(&mut self, op: Cmp, data: &InstData) -> Result<()> {
        let ty = self.shader.ty(data.args[0]);
        if self.all_uniform(&data.args)? {
            let (a, b) = (self.scalar(data.args[0])?, self.scalar(data.args[1])?);
            let c = self.compare_machine(op, a, b);
            return self.define(data.result(), Rep::Uniform(c));
        }
        let (a, b) = (self.vectors(data.args[0])?, self.vectors(data.args[1])?);
        let masks: Vecs = a.iter().zip(&b).map(|(&a, &b)| self.compare_machine(op, a, b)).collect();
        let masks = if vector_type(ty).lane_count() == 2 { self.narrow_mask(&masks) } else { masks };
        self.define(data.result(), Rep::Varying(masks))
    }

    fn compare_machine(&mut self, op: Cmp, a: C, b: C) -> C {
        let int = |cc| (Some(cc), FloatCC::Equal);
        let float = |cc| (None, cc);
        let (icc, fcc) = match op {
            Cmp::IEq => int(IntCC::Equal),
            Cmp::INe => int(IntCC::NotEqual),
            Cmp::SLt => int(IntCC::SignedLessThan),
            Cmp::SLe => int(IntCC::SignedLessThanOrEqual),
            Cmp::ULt => int(IntCC::UnsignedLessThan),
            Cmp::ULe => int(IntCC::UnsignedLessThanOrEqual),
            Cmp::FOrdEq => float(FloatCC::Equal),
            Cmp::FOrdNe => float(FloatCC::OrderedNotEqual),
            Cmp::FOrdLt => float(FloatCC::LessThan),
            Cmp::FOrdLe => float(FloatCC::LessThanOrEqual),
            Cmp::FUnoEq => float(FloatCC::UnorderedOrEqual),
            Cmp::FUnoNe => float(FloatCC::NotEqual),
            Cmp::FUnoLt => float(FloatCC::UnorderedOrLessThan),
            Cmp::FUnoLe => float(FloatCC::UnorderedOrLessThanOrEqual),
        };
        match (icc, fcc) {
            (Some(cc), _) => self.b.ins().icmp(cc, a, b),
            // x86 has no vector form of these two.
            (None, FloatCC::OrderedNotEqual | FloatCC::UnorderedOrEqual)
                if self.b.func.dfg.value_type(a).is_vector() =>
            {
                let less = self.b.ins().fcmp(FloatCC::LessThan, a, b);
                let greater = self.b.ins().fcmp(FloatCC::GreaterThan, a, b);
                let differ = self.b.ins().bor(less, greater);
                if fcc == FloatCC::OrderedNotEqual { differ } else { self.b.ins().bnot(differ) }
            }
            (None, cc) => self.b.ins().fcmp(cc, a, b),
        }
    }

    pub fn convert(&mut self, op: Convert, data: &InstData) -> Result<()> {
        let from = self.shader.ty(data.args[0]);
        let to = self.shader.ty(data.result());
        if matches!(to, Ty::I8 | Ty::I16 | Ty::F16) {
            return Err(Error::unsupported("8- and 16-bit arithmetic").with_id(data.source));
        }
        let (st, vt) = (scalar_type(to), vector_type(to));
        let same_width = from.bytes() == to.bytes();
        match op {
            Convert::Bitcast => self.map(data, |e, a| {
                let vector = e.b.func.dfg.value_type(a[0]).is_vector();
                e.bitcast(if vector { vt } else { st }, a[0])
            }),
            Convert::BToI => self.map(data, |e, a| {
                if e.b.func.dfg.value_type(a[0]).is_vector() {
                    let ones = e.vector_constant([1; 4]);
                    e.b.ins().band(a[0], ones)
                } else {
                    e.b.ins().uextend(st, a[0])
                }
            }),
            Convert::UToU | Convert::SToS if same_width => self.map(data, |_, a| a[0]),
            Convert::FToF | Convert::FToFRtz if same_width => self.map(data, |_, a| a[0]),
            Convert::FToS | Convert::FToU | Convert::SToF | Convert::UToF if from.bytes() == 4 && same_width => self
                .map(data, |e, a| {
                    let vector = e.b.func.dfg.value_type(a[0]).is_vector();
                    e.number(op, if vector { vt } else { st }, a[0])
                }),
            Convert::FToFRtz => Err(Error::unsupported("conversion with rounding towards zero").with_id(data.source)),
            Convert::FToS | Convert::FToU | Convert::SToF | Convert::UToF => {
                self.per_lane(data, &mut |e, a| e.number(op, st, a[0]))
            }
            Convert::FToF | Convert::UToU | Convert::SToS => self.per_lane(data, &mut |e, a| e.number(op, st, a[0])),
        }
    }

    /// A numeric conversion of a scalar (or of a vector with as many lanes).
    fn number(&mut self, op: Convert, to: cranelift_codegen::ir::Type, a: C) -> C {
        let from = self.b.func.dfg.value_type(a);
        match op {
            Convert::FToS => self.b.ins().fcvt_to_sint_sat(to, a),
            Convert::FToU => self.b.ins().fcvt_to_uint_sat(to, a),
            Convert::SToF => self.b.ins().fcvt_from_sint(to, a),
            Convert::UToF => self.b.ins().fcvt_from_uint(to, a),
            Convert::FToF if to.bits() > from.bits() => self.b.ins().fpromote(to, a),
            Convert::FToF => self.b.ins().fdemote(to, a),
            Convert::UToU if to.bits() > from.bits() => self.b.ins().uextend(to, a),
            Convert::SToS if to.bits() > from.bits() => self.b.ins().sextend(to, a),
            Convert::UToU | Convert::SToS => self.b.ins().ireduce(to, a),
            Convert::FToFRtz | Convert::Bitcast | Convert::BToI => a,
        }
    }

    pub fn select(&mut self, data: &InstData) -> Result<()> {
        let (cond, a, b) = (data.args[0], data.args[1], data.args[2]);
        let ty = self.shader.ty(a);
        let (ra, rb) = (self.rep(a)?, self.rep(b)?);
        if let Rep::Uniform(c) = self.rep(cond)? {
            let rep = match (&ra, &rb) {
                (Rep::Uniform(x), Rep::Uniform(y)) => Rep::Uniform(self.b.ins().select(c, *x, *y)),
                (Rep::Affine(x, s), Rep::Affine(y, t)) if s == t => Rep::Affine(self.b.ins().select(c, *x, *y), *s),
                (Rep::Buffer(x), Rep::Buffer(y)) => {
                    let address = self.b.ins().select(c, x.address, y.address);
                    let range = self.b.ins().select(c, x.range, y.range);
                    Rep::Buffer(super::rep::BufPair { address, range })
                }
                (Rep::Buffer(_) | Rep::Buffers(_) | Rep::Pointers(_), _) => return self.select_descriptors(data, ty),
                _ => {
                    let (x, y) = (self.rep_vectors(ty, &ra)?, self.rep_vectors(ty, &rb)?);
                    Rep::Varying(x.iter().zip(&y).map(|(&x, &y)| self.b.ins().select(c, x, y)).collect())
                }
            };
            return self.define(data.result(), rep);
        }
        if matches!(ty, Ty::Buf | Ty::Img | Ty::Smp) {
            return self.select_descriptors(data, ty);
        }
        let mask = self.vectors(cond)?;
        let (x, y) = (self.rep_vectors(ty, &ra)?, self.rep_vectors(ty, &rb)?);
        let out = self.select_vectors(ty, &mask, &x, &y);
        self.define(data.result(), Rep::Varying(out))
    }

    /// Descriptors selected per lane.
    fn select_descriptors(&mut self, data: &InstData, ty: Ty) -> Result<()> {
        let mut buffers = smallvec::SmallVec::new();
        let mut pointers = smallvec::SmallVec::new();
        for lane in 0..self.lanes as usize {
            let c = self.value_lane(data.args[0], lane)?;
            if ty == Ty::Buf {
                let (x, y) = (self.buffer_lane(data.args[1], lane)?, self.buffer_lane(data.args[2], lane)?);
                let address = self.b.ins().select(c, x.address, y.address);
                let range = self.b.ins().select(c, x.range, y.range);
                buffers.push(super::rep::BufPair { address, range });
            } else {
                let (x, y) = (self.value_lane(data.args[1], lane)?, self.value_lane(data.args[2], lane)?);
                pointers.push(self.b.ins().select(c, x, y));
            }
        }
        let rep = if ty == Ty::Buf { Rep::Buffers(buffers) } else { Rep::Pointers(pointers) };
        self.define(data.result(), rep)
    }
}
