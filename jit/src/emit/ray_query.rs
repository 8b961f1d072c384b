//! Operations on ray queries, which helpers perform for parts of up to [`MAX_LANES`] lanes.
//!
//! The queries of a variable are the bytes of its private array, `[query][lane]`, from the first
//! aligned address in it on.

use super::Emitter;
use super::memory::trusted;
use super::value_rep::ValueRep;
use crate::error::{Error, Result};
use crate::ir::{InstData, RAY_QUERY_PADDING, RAY_QUERY_WORDS, RayQueryOp, Ty, Var};
use crate::lir::{AccessReason, Slot, Type, Value as C};
use base::abi::{Helper, MAX_LANES, MAX_RAY_COMPONENTS, RAY_QUERY_ALIGN, RAY_QUERY_BYTES, RayArguments};
use core::mem::offset_of;

/// Offsets of the arguments of an initialization, in the order of the operands.
const ARGUMENTS: [usize; 11] = {
    let row = size_of::<[f32; MAX_LANES]>();
    let (origin, direction) = (offset_of!(RayArguments, origin), offset_of!(RayArguments, direction));
    [
        offset_of!(RayArguments, structure),
        offset_of!(RayArguments, flags),
        offset_of!(RayArguments, cull_mask),
        origin,
        origin + row,
        origin + 2 * row,
        offset_of!(RayArguments, t_min),
        direction,
        direction + row,
        direction + 2 * row,
        offset_of!(RayArguments, t_max),
    ]
};

/// Stack slots of the calls of an instruction.
struct CallSlots {
    queries: Slot,
    /// Arguments and results.
    data: Slot,
}

impl Emitter<'_> {
    /// Emits `Op::RayQuery`.
    pub fn ray_query(&mut self, var: Var, op: RayQueryOp, data: &InstData) -> Result<()> {
        if self.suspension.has_invocation_points() {
            return Err(Error::unsupported("a ray query in a shader whose invocations are suspended one by one"));
        }
        let results = MAX_RAY_COMPONENTS * MAX_LANES * 4;
        let slots = CallSlots {
            queries: self.b.create_slot((MAX_LANES * 8) as u32, 8),
            data: self.b.create_slot(size_of::<RayArguments>().max(results) as u32, 8),
        };
        let exec = self.exec_mask();
        let lanes = self.mask_bits(exec);
        let mut components: Vec<Vec<C>> = vec![Vec::new(); data.result_count.into()];
        let part = (self.lanes as usize).min(MAX_LANES);
        for first in (0..self.lanes as usize).step_by(part) {
            self.store_queries(var, data, &slots, first..first + part)?;
            for (operand, &value) in data.args[1..].iter().enumerate() {
                let (at, bytes) = match op {
                    RayQueryOp::Initialize => (ARGUMENTS[operand], self.shader.ty(value).bytes()),
                    _ => (0, 4),
                };
                for i in 0..part {
                    let c = self.value_lane(value, first + i)?;
                    let address = self.b.stack_address(slots.data, (at + i * bytes as usize) as i32);
                    self.b.store(trusted(AccessReason::Frame, 0), c, address);
                }
            }
            let own = self.b.lshr_imm(lanes, first as u32);
            let own = self.b.narrow(Type::I32, own);
            let own = self.b.and_imm(own, (1 << part) - 1);
            self.call_ray_query(op, &slots, own);
            for (component, words) in components.iter_mut().enumerate() {
                for i in 0..part {
                    let address = self.b.stack_address(slots.data, ((component * MAX_LANES + i) * 4) as i32);
                    words.push(self.b.load(Type::I32, trusted(AccessReason::Frame, 0), address));
                }
            }
        }
        for (v, words) in data.results().zip(components) {
            let words = self.b.build(&words);
            self.define(v, ValueRep::Varying(words))?;
        }
        Ok(())
    }

    /// Stores the addresses of the queries of some lanes.
    fn store_queries(
        &mut self,
        var: Var,
        data: &InstData,
        slots: &CallSlots,
        lanes: core::ops::Range<usize>,
    ) -> Result<()> {
        let count = (self.shader.vars[var].len - RAY_QUERY_PADDING) / RAY_QUERY_WORDS;
        let (base, _) = self.array(var);
        let base = self.b.iadd_imm(base, RAY_QUERY_ALIGN as i64 - 1);
        let base = self.b.and_imm(base, -(RAY_QUERY_ALIGN as i64));
        for (i, lane) in lanes.enumerate() {
            let index = self.value_lane(data.args[0], lane)?;
            let offset = self.element(index, count, self.lanes * RAY_QUERY_BYTES as u32);
            let query = self.b.iadd(base, offset);
            let query = self.b.iadd_imm(query, (lane * RAY_QUERY_BYTES) as i64);
            let address = self.b.stack_address(slots.queries, (i * 8) as i32);
            self.b.store(trusted(AccessReason::Frame, 0), query, address);
        }
        Ok(())
    }

    /// Calls the helper of an operation.
    fn call_ray_query(&mut self, op: RayQueryOp, slots: &CallSlots, lanes: C) {
        let queries = self.b.stack_address(slots.queries, 0);
        let data = self.b.stack_address(slots.data, 0);
        let context = self.ctx;
        match op {
            RayQueryOp::Initialize => self.call_helper(Helper::RayQueryInitialize, &[context, queries, data, lanes]),
            RayQueryOp::Proceed => self.call_helper(Helper::RayQueryProceed, &[context, queries, data, lanes]),
            RayQueryOp::Confirm => self.call_helper(Helper::RayQueryConfirm, &[context, queries, lanes]),
            RayQueryOp::Generate => self.call_helper(Helper::RayQueryGenerate, &[context, queries, data, lanes]),
            RayQueryOp::Terminate => self.call_helper(Helper::RayQueryTerminate, &[context, queries, lanes]),
            RayQueryOp::Get { getter, committed } => {
                let word = self.constant(Ty::I32, getter.word(committed).into());
                self.call_helper(Helper::RayQueryGet, &[context, queries, word, data, lanes]);
            }
        }
    }
}
