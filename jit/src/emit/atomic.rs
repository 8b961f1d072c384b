//! Atomics: one locked operation per active lane, in lane order.

use super::Emitter;
use super::rep::{Rep, scalar_type};
use crate::error::{Error, Result};
use crate::ir::{InstData, Space, Ty};
use crate::lir::{FloatCond, IntCond, Rmw, Type, Value as C};
use smallvec::SmallVec;

impl Emitter<'_> {
    /// `Op::Atomic`: one locked operation per active lane, in lane order.
    pub fn atomic(&mut self, space: Space, op: base::abi::AtomicOp, data: &InstData) -> Result<()> {
        let (address, used) = self.address(space, &data.args)?;
        let operands = data.args[used..].to_vec();
        let result = (data.result_count == 1).then(|| data.result());
        let ty = match (result, operands.first()) {
            (Some(r), _) => self.shader.ty(r),
            (None, Some(&v)) => self.shader.ty(v),
            _ => return Err(Error::internal("an atomic without a type")),
        };
        if !matches!(ty, Ty::I32 | Ty::F32) {
            return Err(Error::unsupported("64-bit atomics").with_id(data.source));
        }
        let bits = self.effect_lanes();
        let mut olds = Vec::new();
        for lane in 0..self.lanes as usize {
            let (at, ok) = self.lane_address(&address, lane, 4)?;
            let go = match (&bits, ok) {
                (Some(bits), Some(ok)) => Some(self.b.and(bits[lane], ok)),
                (Some(bits), None) => Some(bits[lane]),
                (None, ok) => ok,
            };
            // A lane without effect works on the sink: the loop of a compare-and-swap ends there too.
            let at = go.map_or(at, |go| self.b.select(go, at, self.sink));
            let values = operands.iter().map(|&v| self.value_lane(v, lane)).collect::<Result<SmallVec<[C; 2]>>>()?;
            let old = self.atomic_lane(op, ty, at, &values)?;
            olds.push(match go {
                Some(go) => {
                    let none = self.constant(ty, 0);
                    self.b.select(go, old, none)
                }
                None => old,
            });
        }
        match result {
            Some(result) => {
                let vecs = self.b.build(&olds);
                self.define(result, Rep::Varying(vecs))
            }
            None => Ok(()),
        }
    }

    fn atomic_lane(&mut self, op: base::abi::AtomicOp, ty: Ty, at: C, values: &[C]) -> Result<C> {
        use Rmw as R;
        use base::abi::AtomicOp as A;
        let words: SmallVec<[C; 2]> = values.iter().map(|&v| self.b.bitcast(Type::I32, v)).collect();
        let rmw = match op {
            A::Exchange => R::Exchange,
            A::Add => R::Add,
            A::Sub => R::Sub,
            A::SMin => R::Smin,
            A::UMin => R::Umin,
            A::SMax => R::Smax,
            A::UMax => R::Umax,
            A::And => R::And,
            A::Or => R::Or,
            A::Xor => R::Xor,
            A::CompareExchange => {
                let old = self.b.atomic_cas(at, words[1], words[0]);
                return Ok(self.b.bitcast(scalar_type(ty), old));
            }
            A::Load => {
                let old = self.b.atomic_load(Type::I32, at);
                return Ok(self.b.bitcast(scalar_type(ty), old));
            }
            A::Store => {
                self.b.atomic_store(words[0], at);
                return Ok(values[0]);
            }
            A::FAdd => return Ok(self.atomic_float(at, |e, old| e.b.fadd(old, values[0]))),
            A::FMin => return Ok(self.atomic_float(at, |e, old| e.float_extreme(FloatCond::Lt, old, values[0]))),
            A::FMax => return Ok(self.atomic_float(at, |e, old| e.float_extreme(FloatCond::Gt, old, values[0]))),
        };
        let old = self.b.atomic_rmw(rmw, at, words[0]);
        Ok(self.b.bitcast(scalar_type(ty), old))
    }

    /// Compare-and-swap loop around a function of the old value.
    fn atomic_float(&mut self, at: C, new: impl FnOnce(&mut Self, C) -> C) -> C {
        let (retry, done) = (self.b.create_block(), self.b.create_block());
        let old = self.b.append_param(retry, Type::I32);
        let first = self.b.atomic_load(Type::I32, at);
        self.b.jump(retry, &[first]);
        self.b.enter_loop(retry);
        let old_float = self.b.bitcast(Type::F32, old);
        let new = new(self, old_float);
        let new = self.b.bitcast(Type::I32, new);
        let seen = self.b.atomic_cas(at, old, new);
        let same = self.b.icmp(IntCond::Eq, seen, old);
        self.b.branch(same, done, &[], retry, &[seen]);
        if !self.barriers.any {
            self.b.seal_block(retry);
        }
        self.enter(done);
        self.b.bitcast(Type::F32, old)
    }
}
