//! Operations on ray queries, which helpers perform for parts of up to [`MAX_RAY_LANES`] lanes.
//!
//! The queries of a variable are the bytes of its private array, `[query][lane]`, from the first
//! aligned address in it on. In frames of invocations they are those of its rows in a group of
//! frames, `[query][frame]`.

use super::Emitter;
use super::memory::trusted;
use super::value_rep::ValueRep;
use crate::error::Result;
use crate::ir::{InstData, RAY_QUERY_PADDING, RAY_QUERY_WORDS, RayQueryOp, Ty, Value, Var};
use crate::lir::{AccessReason, Elem, Slot, Value as C};
use base::abi::{Helper, MAX_RAY_COMPONENTS, MAX_RAY_LANES, RAY_QUERY_ALIGN, RAY_QUERY_BYTES, RayArguments};
use base::shader::FrameInfo;
use core::mem::offset_of;

/// Number of bytes of a row: one word for each lane of a call.
const ROW: usize = MAX_RAY_LANES * 4;

/// Offsets of the arguments of an initialization, in the order of the operands.
const ARGUMENTS: [usize; 11] = {
    let (origin, direction) = (offset_of!(RayArguments, origin), offset_of!(RayArguments, direction));
    [
        offset_of!(RayArguments, structure),
        offset_of!(RayArguments, flags),
        offset_of!(RayArguments, cull_mask),
        origin,
        origin + ROW,
        origin + 2 * ROW,
        offset_of!(RayArguments, t_min),
        direction,
        direction + ROW,
        direction + 2 * ROW,
        offset_of!(RayArguments, t_max),
    ]
};

/// Stack slots that all operations of a function share.
#[derive(Clone, Copy)]
pub struct RayQuerySlots {
    /// Addresses of queries, and of those that are copied.
    queries: [Slot; 2],
    /// Arguments and results.
    data: Slot,
}

/// The lanes of one call.
struct QueryCall {
    /// Addresses of the arrays of addresses, and of arguments and results.
    queries: [C; 2],
    data: C,
    /// Mask of the lanes that take part (I32).
    lanes: C,
}

impl Emitter<'_> {
    /// Emits `Op::RayQuery`.
    pub fn ray_query(&mut self, var: Var, op: RayQueryOp, data: &InstData) -> Result<()> {
        let slots = self.ray_query_slots();
        let initializes = op == RayQueryOp::Initialize;
        let operands = &data.args[if initializes { 1 } else { 2 }..];
        let initialized = data.args.get(1).copied().filter(|_| !initializes);
        let exec = self.query_lanes(initialized)?;
        let addresses = self.query_addresses(var, data.args[0])?;
        let sources = op.source().map(|source| self.query_addresses(source, operands[0])).transpose()?;
        let part = (self.lanes.count() as usize).min(MAX_RAY_LANES);
        let mut results: Vec<Vec<C>> = vec![Vec::new(); data.result_count.into()];
        for first in (0..self.lanes.count() as usize).step_by(part) {
            let own = self.b.slice(exec, first, part);
            let call = QueryCall {
                queries: slots.queries.map(|slot| self.b.stack_address(slot, 0)),
                data: self.b.stack_address(slots.data, 0),
                lanes: self.b.mask_bits(own),
            };
            for (list, &slot) in [Some(addresses), sources].into_iter().zip(&call.queries) {
                if let Some(list) = list {
                    let list = self.b.slice(list, first, part);
                    self.b.store(trusted(AccessReason::Frame, 0), list, slot);
                }
            }
            match op {
                RayQueryOp::Initialize => {
                    for (&at, &value) in ARGUMENTS.iter().zip(operands) {
                        self.store_query_row(&call, at, value, (first, part))?;
                    }
                }
                RayQueryOp::Generate => self.store_query_row(&call, 0, operands[0], (first, part))?,
                _ => {}
            }
            self.call_ray_query(op, &call);
            for (component, parts) in results.iter_mut().enumerate() {
                let at = trusted(AccessReason::Frame, (component * ROW) as i32);
                parts.push(self.b.load(Elem::I32.by(part), at, call.data));
            }
        }
        for (v, parts) in data.results().zip(results) {
            let words = self.concat(&parts);
            self.define(v, ValueRep::Varying(words))?;
        }
        Ok(())
    }

    fn ray_query_slots(&mut self) -> RayQuerySlots {
        if let Some(slots) = self.ray_query_slots {
            return slots;
        }
        let results = MAX_RAY_COMPONENTS * ROW;
        let slots = RayQuerySlots {
            queries: [(); 2].map(|()| self.b.create_slot((MAX_RAY_LANES * 8) as u32, 8)),
            data: self.b.create_slot(size_of::<RayArguments>().max(results) as u32, 8),
        };
        self.ray_query_slots = Some(slots);
        slots
    }

    /// Returns the mask of the lanes that take part in an operation.
    fn query_lanes(&mut self, initialized: Option<Value>) -> Result<C> {
        let exec = self.exec_mask();
        match initialized.map(|v| (v, self.constant_bits(v))) {
            None | Some((_, Some(1))) => Ok(exec),
            Some((v, _)) => {
                let own = self.vector(v)?;
                Ok(self.b.and(exec, own))
            }
        }
    }

    /// Returns the addresses of the queries of all lanes.
    fn query_addresses(&mut self, var: Var, index: Value) -> Result<C> {
        let count = (self.shader.vars[var].len - RAY_QUERY_PADDING) / RAY_QUERY_WORDS;
        let (starts, stride) = match self.suspension.plan.array_word(var) {
            Some(word) => (self.frame_queries(word)?, FrameInfo::GROUP),
            None => {
                let (base, _) = self.array(var);
                let base = self.aligned_query(base);
                let numbers: Vec<u64> =
                    (0..u64::from(self.lanes.count())).map(|lane| lane * RAY_QUERY_BYTES as u64).collect();
                let offsets = self.b.constant_lanes(Elem::I64, &numbers);
                let base = self.b.splat(Elem::I64.by(self.lanes.count() as usize), base);
                (self.b.iadd(base, offsets), self.lanes.count())
            }
        };
        if count == 1 {
            return Ok(starts);
        }
        let (index, last) = (self.vector(index)?, self.word(count as i32 - 1));
        let index = self.b.umin(index, last);
        let bytes = self.b.imul_imm(index, i64::from(stride) * RAY_QUERY_BYTES as i64);
        let bytes = self.b.zext(Elem::I64.by(self.lanes.count() as usize), bytes);
        Ok(self.b.iadd(starts, bytes))
    }

    /// Returns the addresses of the first queries of a variable that is in the lanes' frames.
    fn frame_queries(&mut self, word: u32) -> Result<C> {
        const LINE: i64 = FrameInfo::word_bytes(1) as i64;
        const { assert!(FrameInfo::word_bytes(1) as usize == RAY_QUERY_ALIGN) };
        let (memory, offsets) = self.frame_memory()?;
        let memory = self.b.iadd_imm(memory, FrameInfo::word_bytes(word).into());
        let memory = self.aligned_query(memory);
        let own = self.b.and_imm(offsets, LINE - 1);
        let group = self.b.isub(offsets, own);
        let own = self.b.imul_imm(own, RAY_QUERY_BYTES as i64 / 4);
        let offset = self.b.iadd(group, own);
        let long = Elem::I64.by(self.lanes.count() as usize);
        let (offset, memory) = (self.b.zext(long, offset), self.b.splat(long, memory));
        Ok(self.b.iadd(memory, offset))
    }

    fn aligned_query(&mut self, address: C) -> C {
        let address = self.b.iadd_imm(address, RAY_QUERY_ALIGN as i64 - 1);
        self.b.and_imm(address, -(RAY_QUERY_ALIGN as i64))
    }

    /// Stores the lanes of a value that take part in a call.
    fn store_query_row(&mut self, call: &QueryCall, at: usize, v: Value, (first, part): (usize, usize)) -> Result<()> {
        let c = self.vector(v)?;
        let c = self.b.slice(c, first, part);
        self.b.store(trusted(AccessReason::Frame, at as i32), c, call.data);
        Ok(())
    }

    /// Calls the helper of an operation.
    fn call_ray_query(&mut self, op: RayQueryOp, call: &QueryCall) {
        let (context, &QueryCall { queries: [queries, sources], data, lanes }) = (self.function.ctx(), call);
        match op {
            RayQueryOp::Initialize => self.call_helper(Helper::RayQueryInitialize, &[context, queries, data, lanes]),
            RayQueryOp::Copy(_) => self.call_helper(Helper::RayQueryCopy, &[context, queries, sources, lanes]),
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
