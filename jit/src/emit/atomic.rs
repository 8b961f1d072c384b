//! Atomics: one locked operation per active lane, in lane order.

use super::Emitter;
use super::memory::trusted;
use super::rep::{Rep, scalar_type};
use crate::error::{Error, Result};
use crate::ir::{InstData, Space, Ty};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value as C, types};
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
                (Some(bits), Some(ok)) => Some(self.b.ins().band(bits[lane], ok)),
                (Some(bits), None) => Some(bits[lane]),
                (None, ok) => ok,
            };
            // A lane without effect works on the sink: the loop of a compare-and-swap ends there too.
            let at = go.map_or(at, |go| self.b.ins().select(go, at, self.sink));
            let values = operands.iter().map(|&v| self.value_lane(v, lane)).collect::<Result<SmallVec<[C; 2]>>>()?;
            let old = self.atomic_lane(op, ty, at, &values)?;
            olds.push(match go {
                Some(go) => {
                    let none = self.zero(scalar_type(ty));
                    self.b.ins().select(go, old, none)
                }
                None => old,
            });
        }
        match result {
            Some(result) => {
                let vecs = self.gather_lanes(ty, &olds);
                self.define(result, Rep::Varying(vecs))
            }
            None => Ok(()),
        }
    }

    fn atomic_lane(&mut self, op: base::abi::AtomicOp, ty: Ty, at: C, values: &[C]) -> Result<C> {
        use base::abi::AtomicOp as A;
        use cranelift_codegen::ir::AtomicRmwOp as R;
        let flags = trusted();
        let words: SmallVec<[C; 2]> = values.iter().map(|&v| self.bitcast(types::I32, v)).collect();
        let rmw = match op {
            A::Exchange => R::Xchg,
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
                let old = self.b.ins().atomic_cas(flags, at, words[1], words[0]);
                return Ok(self.bitcast(scalar_type(ty), old));
            }
            A::Load => {
                let old = self.b.ins().atomic_load(types::I32, flags, at);
                return Ok(self.bitcast(scalar_type(ty), old));
            }
            A::Store => {
                self.b.ins().atomic_store(flags, words[0], at);
                return Ok(values[0]);
            }
            A::FAdd => return Ok(self.atomic_float(at, |e, old| e.b.ins().fadd(old, values[0]))),
            A::FMin => return Ok(self.atomic_float(at, |e, old| e.float_extreme(FloatCC::LessThan, old, values[0]))),
            A::FMax => return Ok(self.atomic_float(at, |e, old| e.float_extreme(FloatCC::GreaterThan, old, values[0]))),
        };
        let old = self.b.ins().atomic_rmw(types::I32, flags, rmw, at, words[0]);
        Ok(self.bitcast(scalar_type(ty), old))
    }

    /// Compare-and-swap loop around a function of the old value.
    fn atomic_float(&mut self, at: C, new: impl FnOnce(&mut Self, C) -> C) -> C {
        let flags = trusted();
        let (retry, done) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(retry, types::I32);
        let first = self.b.ins().atomic_load(types::I32, flags, at);
        self.b.ins().jump(retry, &[cranelift_codegen::ir::BlockArg::Value(first)]);
        self.b.switch_to_block(retry);
        let old = self.b.block_params(retry)[0];
        let old_float = self.bitcast(types::F32, old);
        let new = new(self, old_float);
        let new = self.bitcast(types::I32, new);
        let seen = self.b.ins().atomic_cas(flags, at, old, new);
        let same = self.b.ins().icmp(IntCC::Equal, seen, old);
        self.b.ins().brif(same, done, &[], retry, &[cranelift_codegen::ir::BlockArg::Value(seen)]);
        if !self.barriers.any {
            self.b.seal_block(retry);
        }
        self.enter(done);
        self.bitcast(types::F32, old)
    }
}
