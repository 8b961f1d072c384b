//! Operations between lanes: subgroups are chunks, quads are groups of four lanes.

use super::Emitter;
use super::memory::trusted;
use super::rep::{Rep, Vecs, scalar_type, vector_type};
use crate::error::{Error, Result};
use crate::ir::{Binary, InstData, Scan, Subgroup, Ty, Value, eval};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value as C, types};

impl Emitter<'_> {
    /// `Op::Ddx`, `Op::Ddy`: shuffle by the first pattern minus shuffle by the second.
    pub fn derivative(&mut self, data: &InstData, [plus, minus]: [[u8; 4]; 2]) -> Result<()> {
        if self.shader.ty(data.args[0]) != Ty::F32 {
            return Err(Error::unsupported("derivatives of other types than 32-bit float"));
        }
        if let Rep::Uniform(_) = self.rep(data.args[0])? {
            let zero = self.constant(Ty::F32, 0);
            return self.define(data.result(), Rep::Uniform(zero));
        }
        let vecs = self.vectors(data.args[0])?;
        let out = vecs
            .iter()
            .map(|&v| {
                let (a, b) = (self.shuffle_words(v, v, plus), self.shuffle_words(v, v, minus));
                self.b.ins().fsub(a, b)
            })
            .collect();
        self.define(data.result(), Rep::Varying(out))
    }

    /// `Op::Subgroup`.
    pub fn subgroup(&mut self, op: Subgroup, data: &InstData) -> Result<()> {
        let result = data.result();
        let rep = match op {
            Subgroup::Elect => Rep::Varying(self.elect()),
            Subgroup::All => {
                let (v, exec) = (self.vectors(data.args[0])?, self.exec_mask());
                let missing = self.mask_and_not(&exec, &v);
                let any = self.any(&missing);
                Rep::Uniform(self.not(any))
            }
            Subgroup::Any => {
                let (v, exec) = (self.vectors(data.args[0])?, self.exec_mask());
                let both = self.mask_and(&exec, &v);
                Rep::Uniform(self.any(&both))
            }
            Subgroup::AllEqual => self.all_equal(data.args[0])?,
            Subgroup::Ballot => {
                let (v, exec) = (self.vectors(data.args[0])?, self.exec_mask());
                let both = self.mask_and(&exec, &v);
                Rep::Uniform(self.mask_bits(&both))
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

    /// The lowest active lane, as a mask.
    fn elect(&mut self) -> Vecs {
        let exec = self.exec_mask();
        let bits = self.mask_bits(&exec);
        let negated = self.b.ins().ineg(bits);
        let lowest = self.b.ins().band(bits, negated);
        let lowest = self.b.ins().splat(types::I32X4, lowest);
        (0..exec.len())
            .map(|i| {
                let own = self.vector_constant([0, 1, 2, 3].map(|l| 1 << (4 * i + l)));
                self.b.ins().icmp(IntCC::Equal, own, lowest)
            })
            .collect()
    }

    fn first_active(&mut self) -> C {
        let exec = self.exec_mask();
        let bits = self.mask_bits(&exec);
        let lane = self.b.ins().ctz(bits);
        // No lane active: any lane will do.
        self.b.ins().band_imm_u(lane, i64::from(self.lanes) - 1)
    }

    /// Element of the lowest active lane, as a scalar.
    pub fn first_of(&mut self, ty: Ty, vecs: &Vecs) -> C {
        let c = if self.full {
            self.lane(ty, vecs, 0)
        } else {
            let lane = self.first_active();
            let address = self.spread(vecs);
            self.read_lane(ty, address, lane)
        };
        if ty == Ty::B1 { self.mask_word_to_bool(c) } else { c }
    }

    /// Base of integers that step by `stride` over the active lanes.
    pub fn affine_base(&mut self, vecs: &Vecs, stride: i32) -> C {
        let first = self.first_of(Ty::I32, vecs);
        if self.full {
            return first;
        }
        let lane = self.first_active();
        let steps = self.b.ins().imul_imm_s(lane, i64::from(stride));
        self.b.ins().isub(first, steps)
    }

    /// Value of the lowest active lane.
    pub fn broadcast_first(&mut self, v: Value) -> Result<Rep> {
        match self.rep(v)? {
            Rep::Varying(_) | Rep::Affine(..) => {
                let lane = if self.full { self.b.ins().iconst(types::I32, 0) } else { self.first_active() };
                self.broadcast(v, lane)
            }
            rep => Ok(rep),
        }
    }

    fn broadcast(&mut self, v: Value, lane: C) -> Result<Rep> {
        let ty = self.shader.ty(v);
        if let rep @ Rep::Uniform(_) = self.rep(v)? {
            return Ok(rep);
        }
        let vecs = self.vectors(v)?;
        let address = self.spread(&vecs);
        let c = self.read_lane(ty, address, lane);
        Ok(Rep::Uniform(if ty == Ty::B1 { self.mask_word_to_bool(c) } else { c }))
    }

    /// Stores vectors to the lane buffer; its address.
    fn spread(&mut self, vecs: &Vecs) -> C {
        let bytes = self.lanes * 8;
        let slot = *self.lane_buffer.get_or_insert_with(|| {
            self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4))
        });
        let address = self.b.ins().stack_addr(types::I64, slot, 0);
        for (i, &v) in vecs.iter().enumerate() {
            self.b.ins().store(trusted(), v, address, 16 * i as i32);
        }
        address
    }

    fn read_lane(&mut self, ty: Ty, address: C, lane: C) -> C {
        let bytes = if ty == Ty::B1 { 4 } else { ty.bytes() };
        let lane = self.b.ins().band_imm_u(lane, i64::from(self.lanes) - 1);
        let lane = self.b.ins().uextend(types::I64, lane);
        let offset = self.b.ins().imul_imm_s(lane, i64::from(bytes));
        let address = self.b.ins().iadd(address, offset);
        let machine = if ty == Ty::B1 { types::I32 } else { scalar_type(ty) };
        self.b.ins().load(machine, trusted(), address, 0)
    }

    fn shuffle_lanes(&mut self, data: &InstData) -> Result<Rep> {
        let ty = self.shader.ty(data.args[0]);
        let vecs = self.vectors(data.args[0])?;
        let address = self.spread(&vecs);
        let mut lanes = Vec::new();
        for lane in 0..self.lanes as usize {
            let index = self.value_lane(data.args[1], lane)?;
            lanes.push(self.read_lane(ty, address, index));
        }
        Ok(Rep::Varying(self.gather_lanes(ty, &lanes)))
    }

    fn all_equal(&mut self, v: Value) -> Result<Rep> {
        let ty = self.shader.ty(v);
        let Rep::Uniform(first) = self.broadcast_first(v)? else {
            return Err(Error::internal("a broadcast is uniform"));
        };
        let first = self.splat(ty, first);
        let vecs = self.vectors(v)?;
        let mut differ = Vecs::new();
        for (&a, &b) in vecs.iter().zip(&first) {
            differ.push(if ty.is_float() {
                self.b.ins().fcmp(FloatCC::NotEqual, a, b)
            } else {
                self.b.ins().icmp(IntCC::NotEqual, a, b)
            });
        }
        if vector_type(ty).lane_count() == 2 {
            differ = self.narrow_mask(&differ);
        }
        let exec = self.exec_mask();
        let differ = self.mask_and(&differ, &exec);
        let any = self.any(&differ);
        Ok(Rep::Uniform(self.not(any)))
    }

    /// `Subgroup::Arithmetic`: log2(lanes) rounds of shuffles and operations. 64-bit values go lane by lane.
    fn arithmetic(&mut self, op: Binary, scan: Scan, v: Value) -> Result<Rep> {
        let ty = self.shader.ty(v);
        let bits = |b: Option<u64>| b.ok_or_else(|| Error::internal(format!("{op:?} has no identity")));
        let (identity, first) = (bits(eval::identity(op, ty))?, bits(eval::exclusive_first(op, ty))?);
        let identity = self.constant(ty, identity);
        let fill = self.splat(ty, identity);
        let mut x = self.vectors(v)?;
        if !self.full {
            let exec = self.exec_mask();
            x = self.select_vectors(ty, &exec, &x, &fill);
        }
        let by_lane = vector_type(ty).lane_count() != 4;
        let fill = if by_lane { identity } else { fill[0] };
        if by_lane {
            x = (0..self.lanes as usize).map(|l| self.lane(ty, &x, l)).collect();
        }
        let lanes = match scan {
            Scan::Cluster(n) => u32::from(n).min(self.lanes) as usize,
            Scan::Reduce | Scan::Inclusive | Scan::Exclusive => self.lanes as usize,
        };
        for step in (0..).map(|i| 1usize << i).take_while(|&step| step < lanes) {
            let (low, high) = match scan {
                Scan::Reduce | Scan::Cluster(_) => {
                    (self.pick(&x, fill, |l| Some(l & !step)), self.pick(&x, fill, |l| Some(l | step)))
                }
                Scan::Inclusive | Scan::Exclusive => (self.pick(&x, fill, |l| l.checked_sub(step)), x),
            };
            x = low.iter().zip(&high).map(|(&a, &b)| self.binary_scalar(op, ty, a, b)).collect();
        }
        if scan == Scan::Exclusive {
            let first = self.constant(ty, first);
            let first = if by_lane { first } else { self.b.ins().splat(vector_type(ty), first) };
            x = self.pick(&x, first, |l| l.checked_sub(1));
        }
        if scan == Scan::Reduce {
            return Ok(Rep::Uniform(if by_lane { x[0] } else { self.lane(ty, &x, 0) }));
        }
        Ok(Rep::Varying(if by_lane { self.gather_lanes(ty, &x) } else { x }))
    }

    /// Lane `l` of the result is lane `from(l)` of `x`, or `fill`'s. `x` has vectors of four lanes, or one scalar per lane.
    fn pick(&mut self, x: &Vecs, fill: C, from: impl Fn(usize) -> Option<usize>) -> Vecs {
        let per = self.lanes as usize / x.len();
        let mut out = Vecs::new();
        for i in 0..x.len() {
            let sources = [0, 1, 2, 3].map(|l| from(i * per + l % per));
            let vector = |lane: Option<usize>| lane.map_or(fill, |lane| x[lane / per]);
            // Patterns take from two vectors at most: the first lane's and the last one's.
            let (a, b) = (vector(sources[0]), vector(sources[3]));
            let own = per == 1 || (0..per).all(|l| sources[l] == Some(i * per + l));
            if own {
                out.push(a);
                continue;
            }
            let words = [0, 1, 2, 3].map(|l: usize| {
                let word = sources[l].map_or(0, |lane| lane % per) as u8;
                if vector(sources[l]) == a { word } else { 4 + word }
            });
            out.push(if words == [0, 1, 2, 3] { a } else { self.shuffle_words(a, b, words) });
        }
        out
    }

    fn quad(&mut self, v: Value, words: [u8; 4]) -> Result<Rep> {
        if self.shader.ty(v).bytes() == 8 {
            return Err(Error::unsupported("quad operations on 64-bit values"));
        }
        if let rep @ Rep::Uniform(_) = self.rep(v)? {
            return Ok(rep);
        }
        let vecs = self.vectors(v)?;
        Ok(Rep::Varying(vecs.iter().map(|&v| self.shuffle_words(v, v, words)).collect()))
    }

    /// a*b + c of F32 or F32X4 on a CPU without FMA: through the context's helper, which rounds once.
    pub fn fma_helper(&mut self, operands: [C; 3]) -> C {
        use base::abi::{HelperTable, ShaderContext};
        let ty = self.b.func.dfg.value_type(operands[0]);
        let bytes = ty.bytes();
        let slot = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes * 4, 4));
        let addresses = [0, 1, 2, 3].map(|i| self.b.ins().stack_addr(types::I64, slot, (i * bytes) as i32));
        for (operand, &address) in operands.into_iter().zip(&addresses) {
            self.b.ins().store(trusted(), operand, address, 0);
        }
        let signature = self.signature(&[types::I64, types::I64, types::I64, types::I64, types::I32]);
        let table = core::mem::offset_of!(ShaderContext, helpers) as i32;
        let table = self.b.ins().load(types::I64, super::memory::read_only(), self.ctx, table);
        let function = core::mem::offset_of!(HelperTable, fma_f32) as i32;
        let function = self.b.ins().load(types::I64, super::memory::read_only(), table, function);
        let count = self.b.ins().iconst(types::I32, i64::from(ty.lane_count()));
        let [a, b, c, out] = addresses;
        self.b.ins().call_indirect(signature, function, &[a, b, c, out, count]);
        self.b.ins().load(ty, trusted(), out, 0)
    }
}
