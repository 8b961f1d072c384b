//! Descriptors in heaps. The application can write any bytes there, so only pointers that the
//! tables of the driver confirm are followed.

use super::conditions::ProofScope;
use super::definitions::{LaneValue, LinearSum};
use super::driver_layout::{HeapKind, MemoryRegion};
use super::live_memory::granule_of;
use super::prover::{Offset, Prover, Root};
use crate::lir::{AccessReason, Imm, IntCond, Op, Value};
use base::abi::{ADDRESS_GRANULE_BITS, HeapContext, HeapEntry};
use core::mem::offset_of;

impl Prover<'_> {
    /// Returns a lower bound of a size. Heaps have at least 16 bytes, because code that uses a heap
    /// needs one descriptor.
    pub fn min_size(&self, size: LaneValue) -> i64 {
        let of = |heap: HeapKind| self.is_context_word(size, heap.at() + offset_of!(HeapContext, size) as i64);
        if of(HeapKind::Resources) || of(HeapKind::Samplers) { 16 } else { 0 }
    }

    /// Returns true if an address and a size are those of a descriptor in a heap, where the size is
    /// clamped to the live memory behind the address.
    pub fn is_heap_buffer(&self, address: LaneValue, size: LaneValue) -> bool {
        let shape = self.shape();
        let Some(&[some, own, null]) = shape.operands_of(address, Op::Select).as_deref() else { return false };
        let is_null = self.root_of(&shape.terms(null)).is_some_and(|r| r.1 == Root::Known(MemoryRegion::NullBuffer));
        let Some((before, alive)) = self.compared_below(some) else { return false };
        // `alive` is the size of the run of live granules. `before` is the part of the first
        // granule that precedes the address. Behind the run there is a guard, which accesses that
        // begin inside may touch.
        let alive_terms = shape.terms(alive);
        let [(run, factor)] = alive_terms.list[..] else { return false };
        let is_run = factor == 1 << ADDRESS_GRANULE_BITS && alive_terms.plus == 0 && self.is_run_of(run, own);
        let before_terms = shape.terms(before);
        let [(within, 1)] = before_terms.list[..] else { return false };
        let is_within = before_terms.plus >= 0 && self.is_within_granule(within, own);
        let left = |at: LaneValue| {
            let Some(&[cond, left, none]) = shape.operands_of(at, Op::Select).as_deref() else { return false };
            let mut rest = shape.terms(alive);
            let taken = shape.terms(before);
            taken.list.iter().for_each(|&(at, times)| rest.add(at, times.wrapping_neg()));
            rest.plus -= taken.plus;
            cond == some && shape.constant(none) == Some(0) && shape.terms(left) == rest
        };
        is_null && is_run && is_within && self.is_min_of(size, &left, 8)
    }

    /// Returns true if a value is a minimum of values one of which satisfies `is`.
    fn is_min_of(&self, at: LaneValue, is: &dyn Fn(LaneValue) -> bool, depth: u32) -> bool {
        let parts = self.shape().operands_of(at, Op::Umin).filter(|_| depth > 0);
        is(at) || parts.is_some_and(|parts| parts.iter().any(|&part| self.is_min_of(part, is, depth - 1)))
    }

    /// Returns the operands of a strict unsigned comparison.
    fn compared_below(&self, at: LaneValue) -> Option<(LaneValue, LaneValue)> {
        let (cond, a, b) = self.shape().compared(super::definitions::Condition { at, truth: true })?;
        (cond == IntCond::Ult).then_some((a, b))
    }

    /// Returns true if a word is the length of the run of live granules at an address.
    fn is_run_of(&self, run: LaneValue, address: LaneValue) -> bool {
        let Some((from, AccessReason::Live)) = self.loaded_from(run) else { return false };
        let Some((pointer, Root::Known(MemoryRegion::Live(4)))) = self.root_of(&from) else { return false };
        let rest = from.without(pointer);
        let [(index, 4)] = rest.list[..] else { return false };
        granule_of(self, index).is_some_and(|of| of == self.shape().terms(address)) && rest.plus == 0
    }

    /// Returns true if a value is the offset of an address in its granule.
    fn is_within_granule(&self, within: LaneValue, address: LaneValue) -> bool {
        let shape = self.shape();
        let Some(&[offset, mask]) = shape.operands_of(within, Op::And).as_deref() else { return false };
        let mut terms = shape.terms(offset);
        let is_mask = shape.constant(mask) == Some((1 << ADDRESS_GRANULE_BITS) - 1);
        if super::live_memory::take_base(self, &mut terms).is_none() {
            return false;
        }

        is_mask && terms == shape.terms(address)
    }

    /// Returns true if an offset is that of an entry whose index is limited to the table.
    pub fn is_entry(&self, base: MemoryRegion, offset: &Offset) -> bool {
        let MemoryRegion::Entries(heap) = base else { return false };
        let last = heap.at() + offset_of!(HeapContext, last) as i64;
        match offset.terms.list[..] {
            [] => true,
            [(index, times)] => {
                let limits = self.shape().operands_of(index, Op::Umin);
                times == size_of::<HeapEntry>() as u64
                    && limits.is_some_and(|parts| parts.iter().any(|&part| self.is_context_word(part, last)))
            }
            _ => false,
        }
    }

    /// Returns true if the conditions include that an entry has the word of the descriptor. Without
    /// that comparison, the entry's object may be another one or none.
    pub fn is_verified_entry(&self, entry: &LinearSum, scope: &ProofScope) -> bool {
        let shape = self.shape();
        self.flow.conditions(scope).iter().filter_map(|&atom| shape.compared(atom)).any(|(cond, a, b)| {
            let is_word = |at: LaneValue| {
                let Some((from, AccessReason::Element)) = self.loaded_from(at) else { return false };
                let Some((pointer, Root::Known(MemoryRegion::Entries(_)))) = self.root_of(&from) else { return false };
                let rest = from.without(pointer);
                rest.list == entry.list && rest.plus == offset_of!(HeapEntry, word) as i64
            };
            cond == IntCond::Eq && (is_word(a) || is_word(b))
        })
    }

    /// Returns true if a mutable descriptor's word is used as an address, because the code also
    /// loads the size that belongs to it.
    pub fn is_buffer_address(&self, v: Value) -> bool {
        let Some((from, _)) = self.loaded_from((v, None)) else { return false };
        self.shape().func.insts.values().any(|data| {
            let Imm::Access(access) = data.imm else { return false };
            if data.op != Op::Load || access.reason != AccessReason::Descriptor {
                return false;
            }
            let mut terms = self.shape().terms((data.args[0], None));
            terms.plus += i64::from(access.offset);
            terms.list == from.list && terms.plus == from.plus + 8
        })
    }
}
