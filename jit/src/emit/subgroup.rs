//! Operations between lanes: subgroups are chunks, quads are groups of four lanes.

use super::Emitter;
use super::value_rep::{ValueRep, elem};
use crate::error::{Error, Result};
use crate::ir::{Binary, InstData, Scan, Subgroup, Ty, Value, eval};
use crate::lir::{Elem, FloatCond, IntCond, Type, Value as C};

impl Emitter<'_> {
    /// Emits `Op::Ddx` or `Op::Ddy`: the shuffle by the first pattern minus the shuffle by the
    /// second.
    pub fn derivative(&mut self, data: &InstData, [plus, minus]: [[u8; 4]; 2]) -> Result<()> {
        if self.shader.ty(data.args[0]) != Ty::F32 {
            return Err(Error::unsupported("derivatives of other types than 32-bit float"));
        }
        if let ValueRep::Uniform(_) = self.value_rep(data.args[0])? {
            let zero = self.constant(Ty::F32, 0);
            return self.define(data.result(), ValueRep::Uniform(zero));
        }
        let v = self.vector(data.args[0])?;
        let (a, b) = (self.shuffle_quads(v, plus), self.shuffle_quads(v, minus));
        let out = self.b.fsub(a, b);
        self.define(data.result(), ValueRep::Varying(out))
    }

    /// Emits `Op::Subgroup`.
    pub fn subgroup(&mut self, op: Subgroup, data: &InstData) -> Result<()> {
        let result = data.result();
        let rep = match op {
            Subgroup::Elect => ValueRep::Varying(self.elect()),
            Subgroup::All => {
                let (v, exec) = (self.vector(data.args[0])?, self.exec_mask());
                let missing = self.b.and_not(exec, v);
                let any = self.b.any(missing);
                ValueRep::Uniform(self.b.not(any))
            }
            Subgroup::Any => {
                let (v, exec) = (self.vector(data.args[0])?, self.exec_mask());
                let both = self.b.and(exec, v);
                ValueRep::Uniform(self.b.any(both))
            }
            Subgroup::AllEqual => self.all_equal(data.args[0])?,
            Subgroup::Ballot(word) => {
                let (v, exec) = (self.vector(data.args[0])?, self.exec_mask());
                let both = self.b.and(exec, v);
                let words = self.mask_words(both, self.lanes.count());
                let none = self.constant(Ty::I32, 0);
                ValueRep::Uniform(words.get(usize::from(word)).copied().unwrap_or(none))
            }
            Subgroup::BroadcastFirst => self.broadcast_first(data.args[0])?,
            Subgroup::Broadcast => {
                let lane = self.scalar(data.args[1])?;
                self.broadcast(data.args[0], lane)?
            }
            Subgroup::Shuffle => self.shuffle_lanes(data)?,
            Subgroup::QuadBroadcast => {
                let lane = self
                    .shader
                    .as_const(data.args[1])
                    .ok_or_else(|| Error::unsupported("quad broadcast from a lane that is not constant"))?;
                self.quad(data.args[0], [lane as u8 & 3; 4])?
            }
            Subgroup::QuadSwapHorizontal => self.quad(data.args[0], [1, 0, 3, 2])?,
            Subgroup::QuadSwapVertical => self.quad(data.args[0], [2, 3, 0, 1])?,
            Subgroup::QuadSwapDiagonal => self.quad(data.args[0], [3, 2, 1, 0])?,
            Subgroup::Arithmetic(op, scan) => self.arithmetic(op, scan, data.args[0])?,
        };
        self.define(result, rep)
    }

    /// Returns the mask of the lowest active lane.
    fn elect(&mut self) -> C {
        let exec = self.exec_mask();
        let words = self.vector_type(Ty::I32);
        if let [bits] = self.mask_words(exec, self.lanes.count())[..] {
            let negated = self.b.ineg(bits);
            let lowest = self.b.and(bits, negated);
            let lowest = self.b.splat(words, lowest);
            let own = self.words(|l| 1 << l);
            return self.b.icmp(IntCond::Eq, own, lowest);
        }
        // The result does not matter if no lane is active.
        let first = self.first_active();
        let first = self.b.splat(words, first);
        let own = self.words(|l| l as i32);
        self.b.icmp(IntCond::Eq, own, first)
    }

    /// Returns the value of the lowest active lane.
    pub fn broadcast_first(&mut self, v: Value) -> Result<ValueRep> {
        match self.value_rep(v)? {
            ValueRep::Varying(_) | ValueRep::Affine(..) => {
                let lane = if self.lanes.is_full() { self.b.iconst(Type::I32, 0) } else { self.first_active() };
                self.broadcast(v, lane)
            }
            rep => Ok(rep),
        }
    }

    fn broadcast(&mut self, v: Value, lane: C) -> Result<ValueRep> {
        if let rep @ ValueRep::Uniform(_) = self.value_rep(v)? {
            return Ok(rep);
        }
        let v = self.vector(v)?;
        Ok(ValueRep::Uniform(self.b.extract_at(v, lane)))
    }

    fn shuffle_lanes(&mut self, data: &InstData) -> Result<ValueRep> {
        if let Some(lane) = self.shader.as_const(data.args[1]) {
            let (v, lane) = (self.vector(data.args[0])?, lane as usize % self.lanes.count() as usize);
            return Ok(ValueRep::Varying(self.pick(v, v, |_| Some(lane))));
        }
        let (v, lanes) = (self.vector(data.args[0])?, self.vector(data.args[1])?);
        Ok(ValueRep::Varying(match self.b.func().constant_lanes(lanes) {
            // The lanes are computed from constants and lane numbers, so the shuffle is constant.
            Some(known) => self.pick(v, v, |l| Some(known[l] as usize % known.len())),
            None => self.b.permute(v, lanes),
        }))
    }

    fn all_equal(&mut self, v: Value) -> Result<ValueRep> {
        let ty = self.shader.ty(v);
        let ValueRep::Uniform(first) = self.broadcast_first(v)? else {
            return Err(Error::internal("a broadcast is uniform"));
        };
        let v = self.vector(v)?;
        let first = self.b.splat(self.b.ty(v), first);
        let differ = match elem(ty) {
            Elem::B => self.b.xor(v, first),
            _ if ty.is_float() => self.b.fcmp(FloatCond::Ne, v, first),
            _ => self.b.icmp(IntCond::Ne, v, first),
        };
        let exec = self.exec_mask();
        let differ = self.b.and(differ, exec);
        let any = self.b.any(differ);
        Ok(ValueRep::Uniform(self.b.not(any)))
    }

    /// Emits `Subgroup::Arithmetic`.
    fn arithmetic(&mut self, op: Binary, scan: Scan, v: Value) -> Result<ValueRep> {
        let half = self.shader.ty(v) == Ty::F16;
        let ty = if half { Ty::F32 } else { self.shader.ty(v) };
        let bits = |b: Option<u64>| b.ok_or_else(|| Error::internal(format!("{op:?} has no identity")));
        let (identity, first) = (bits(eval::identity(op, ty))?, bits(eval::exclusive_first(op, ty))?);
        let fill = self.splat_constant(ty, identity);
        let mut x = self.vector(v)?;
        if half {
            x = self.b.half_to_float(self.vector_type(ty), x);
        }
        if !self.lanes.is_full() {
            let exec = self.exec_mask();
            x = self.b.select(exec, x, fill);
        }
        x = self.scan(scan, x, fill, |e, low, high| {
            let x = e.binary_machine(op, low, high);
            if half { e.round_half(x) } else { x }
        });
        if scan == Scan::Exclusive {
            let first = self.splat_constant(ty, first);
            x = self.pick(x, first, |l| l.checked_sub(1));
        }
        if half {
            x = self.b.float_to_half(self.vector_type(Ty::F16), x);
        }
        Ok(if scan == Scan::Reduce { ValueRep::Uniform(self.b.extract(x, 0)) } else { ValueRep::Varying(x) })
    }

    /// Combines lanes in log2(lanes) rounds of shuffles and operations; `fill` is the identity of
    /// the operation. An exclusive scan is computed here as an inclusive one.
    pub fn scan(&mut self, scan: Scan, mut x: C, fill: C, step: impl Fn(&mut Self, C, C) -> C) -> C {
        let lanes = match scan {
            Scan::Cluster(n) => u32::from(n).min(self.lanes.count()) as usize,
            Scan::Reduce | Scan::Inclusive | Scan::Exclusive => self.lanes.count() as usize,
        };
        for distance in (0..).map(|i| 1usize << i).take_while(|&distance| distance < lanes) {
            let (low, high) = match scan {
                Scan::Reduce | Scan::Cluster(_) => {
                    (self.pick(x, fill, |l| Some(l & !distance)), self.pick(x, fill, |l| Some(l | distance)))
                }
                Scan::Inclusive | Scan::Exclusive => (self.pick(x, fill, |l| l.checked_sub(distance)), x),
            };
            x = step(self, low, high);
        }
        x
    }

    fn quad(&mut self, v: Value, words: [u8; 4]) -> Result<ValueRep> {
        if let rep @ ValueRep::Uniform(_) = self.value_rep(v)? {
            return Ok(rep);
        }
        let v = self.vector(v)?;
        Ok(ValueRep::Varying(self.shuffle_quads(v, words)))
    }
}
