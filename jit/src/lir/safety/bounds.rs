//! Comparisons of offsets with sizes, and the relation between addresses and their sizes.

use super::conditions::ProofScope;
use super::definitions::{Condition, LaneValue, LinearSum};
use super::driver_layout::{Array, Element, HEADER, MemoryRegion};
use super::prover::{Offset, Prover, Root};
use crate::lir::{AccessReason, Block, Def, IntCond, Op};
use base::abi::DESCRIPTOR_SIZE;
use base::shader::DescriptorKind;
use std::collections::HashSet;

/// A bound on a size that follows from an atom: `terms + bytes <= size`, where the sum does not
/// wrap.
struct SizeBound {
    /// Terms of the sum; empty if the size is compared with a constant.
    terms: LinearSum,
    bytes: i64,
    size: LaneValue,
}

impl Prover<'_> {
    /// Returns true if bytes behind a buffer's address are compared with the size of that buffer.
    pub fn is_in_buffer(&self, address: LaneValue, offset: &Offset, bytes: i64, scope: &ProofScope) -> bool {
        self.is_limited(offset, bytes, scope, &|size| self.is_pair(address, size))
    }

    /// Returns true if bytes at an offset are below a size.
    fn is_limited(&self, offset: &Offset, bytes: i64, scope: &ProofScope, is_size: &dyn Fn(LaneValue) -> bool) -> bool {
        let Some((lo, hi)) = self.sum(&offset.terms, scope) else { return false };
        let atoms = self.flow.conditions(scope);
        let wraps = |most: i128| most > i128::from(u64::MAX);
        // The access must not start before the buffer. Either the range shows that, or a comparison
        // with the number that the offset subtracts.
        let starts = lo + i128::from(offset.lo) >= 0
            || atoms.iter().flat_map(|&atom| self.shape().below(atom)).any(|below| {
                let least = self.shape().constant(below.a).map(|c| i128::from(c) + i128::from(below.strict));
                let same = self.shape().terms(below.b);
                same.list == offset.terms.list
                    && same.plus == 0
                    && !wraps(hi)
                    && least.is_some_and(|least| least + i128::from(offset.lo) >= 0)
            });
        let end = offset.hi.saturating_add(bytes);
        starts
            && atoms.iter().any(|&atom| {
                self.limits(atom, &atoms).into_iter().any(|limit| {
                    let by_range = limit.terms.list.is_empty()
                        && hi + i128::from(end) <= i128::from(limit.terms.plus) + i128::from(limit.bytes);
                    let by_terms = self.reaches(&offset.terms, end, &limit, hi);
                    (by_range || by_terms) && is_size(limit.size)
                })
            })
    }

    /// Returns true if the terms of a limit are those of an offset that ends no later.
    fn reaches(&self, terms: &LinearSum, end: i64, limit: &SizeBound, hi: i128) -> bool {
        let fits = |plus: i64| end.checked_add(plus).is_some_and(|end| end <= limit.bytes + limit.terms.plus);
        if limit.terms.list == terms.list {
            return fits(0) && hi + i128::from(limit.bytes) + i128::from(limit.terms.plus) <= i128::from(u64::MAX);
        }
        // The offset is the sum of a word and a constant. If that sum wraps, it is less than the
        // constant, and so in range by itself.
        if let ([(sum, 1)], [(word, 1)]) = (&terms.list[..], &limit.terms.list[..])
            && let Some(parts) = self.shape().operands_of(*sum, Op::Iadd)
            && limit.terms.plus == 0
        {
            let constant = |i: usize| self.shape().constant(parts[i]).filter(|&c| c < 1 << 31);
            return parts[0] == *word && constant(1).is_some_and(|c| fits(c as i64))
                || parts[1] == *word && constant(0).is_some_and(|c| fits(c as i64));
        }
        false
    }

    /// Returns the bounds on sizes that follow from an atom.
    fn limits(&self, atom: Condition, atoms: &[Condition]) -> Vec<SizeBound> {
        let shape = self.shape();
        let mut out = Vec::new();
        for below in shape.below(atom) {
            let strict = i64::from(below.strict);
            let mut terms = shape.terms(below.a);
            if shape.func.ty(below.a.0).elem == crate::lir::Elem::I64 {
                if terms.plus >= 0 {
                    let bytes = terms.plus.saturating_add(strict);
                    terms.plus = 0;
                    let end = shape.terms(below.b);
                    // The limit is `x <= size - c`, where the size is never less than `c`.
                    match end.list[..] {
                        [(size, 1)] if end.plus < 0 && self.min_size(size) >= -end.plus => {
                            out.push(SizeBound { terms, bytes: bytes.saturating_sub(end.plus), size });
                        }
                        _ => out.push(SizeBound { terms, bytes, size: below.b }),
                    }
                }
            } else if let Some((size, bytes)) = self.saturated(below.b, atoms) {
                out.push(SizeBound { terms, bytes: bytes + strict, size });
            }
        }
        out
    }

    /// Returns size and bytes of a limit of 32 bits: the size minus some bytes, which is not
    /// negative, saturated to 32 bits.
    fn saturated(&self, limit: LaneValue, atoms: &[Condition]) -> Option<(LaneValue, i64)> {
        let shape = self.shape();
        let [wide] = shape.operands_of(limit, Op::Narrow)?[..] else { return None };
        let [a, b] = shape.operands_of(wide, Op::Umin)?[..] else { return None };
        let least = [(a, b), (b, a)].into_iter().find(|&(_, c)| shape.constant(c) == Some(0xffff_ffff))?.0;
        let terms = shape.terms(least);
        let [(size, 1)] = terms.list[..] else { return None };
        let positive = atoms.iter().any(|&atom| {
            let compared = shape.compared(atom);
            compared.is_some_and(|(cond, a, b)| cond == IntCond::Sge && a == least && shape.constant(b) == Some(0))
        });
        (positive && terms.plus <= 0).then_some((size, -terms.plus))
    }

    /// Returns true if a size is that of the buffer at an address.
    fn is_pair(&self, address: LaneValue, size: LaneValue) -> bool {
        self.pairs(address, size, &mut HashSet::new())
    }

    fn pairs(&self, address: LaneValue, size: LaneValue, seen: &mut HashSet<(LaneValue, LaneValue)>) -> bool {
        let shape = self.shape();
        let (address, size) = (shape.see_through_lane_moves(address), shape.see_through_lane_moves(size));
        if !seen.insert((address, size)) {
            return true;
        }
        // A buffer of size 0 contains no bytes, so any address matches it.
        if shape.constant(size) == Some(0) {
            return true;
        }
        if self.is_heap_buffer(address, size) {
            return true;
        }
        if let (Def::Param(block), Def::Param(other)) =
            (shape.func.values[address.0].def, shape.func.values[size.0].def)
        {
            return block == other && self.pairs_of_params((address, size), block, seen);
        }
        let (Some(a), Some(b)) = (shape.def(address), shape.def(size)) else { return false };
        match (a.op, b.op) {
            (Op::Select, Op::Select) => {
                let arg = |at, data, i| shape.arg(at, data, i);
                arg(address, a, 0) == arg(size, b, 0)
                    && [1, 2].iter().all(|&i| self.pairs(arg(address, a, i), arg(size, b, i), seen))
            }
            (Op::Load, Op::Load) => {
                if let (Some(kept), Some(sizes)) =
                    (self.stored.stored(self.shape().func, a), self.stored.stored(self.shape().func, b))
                {
                    let own = |block: Block| sizes.iter().find(|(_, home)| *home == block).map(|s| s.0);
                    return kept
                        .iter()
                        .all(|&(v, block)| own(block).is_some_and(|size| self.pairs((v, None), (size, None), seen)));
                }
                let (Some(from), Some(size_from)) = (self.loaded_from(address), self.loaded_from(size)) else {
                    return false;
                };
                let behind = from.0.list == size_from.0.list && size_from.0.plus == from.0.plus + 8;
                behind && matches!(self.pointer_of_load(address.0, a), Some(Root::Buffer { .. }))
            }
            _ => false,
        }
    }

    fn pairs_of_params(
        &self,
        (address, size): (LaneValue, LaneValue),
        block: Block,
        seen: &mut HashSet<(LaneValue, LaneValue)>,
    ) -> bool {
        let func = self.shape().func;
        let number = |at: LaneValue| func.blocks[block].params.iter().position(|&p| p == at.0);
        let (Some(i), Some(j)) = (number(address), number(size)) else { return false };
        self.flow.preds(block).iter().all(|&(from, target)| {
            let args = &func.blocks[from].targets[target].args;
            self.pairs((args[i], None), (args[j], None), seen)
        })
    }

    /// Returns true if a descriptor or the header of a set contains these bytes.
    pub fn is_descriptor(&self, set: usize, offset: &Offset, bytes: i64, scope: &ProofScope) -> bool {
        if HEADER.contains(&offset.lo) {
            return offset.terms.list.is_empty() && offset.hi + bytes <= HEADER.end;
        }
        let Some(binding) = self.stage_layout.binding(set, offset.lo) else { return false };
        let first = i64::from(binding.offset);
        let descriptor = DESCRIPTOR_SIZE as i64;
        let own = (offset.lo - first) % descriptor + offset.hi - offset.lo + bytes <= descriptor;
        if binding.variable {
            // The index is limited by the set's own count, which does not exceed the layout's.
            let limited = offset.terms.list.iter().all(|t| self.is_untainted(t.0) && t.1 == DESCRIPTOR_SIZE as u64);
            return own && limited && offset.lo - first < descriptor;
        }
        let end = first + i64::from(binding.count.max(1)) * descriptor;
        binding.kind != DescriptorKind::InlineUniformBlock && own && self.is_between(offset, bytes, (first, end), scope)
    }

    /// Returns true if an inline uniform block of a set contains these bytes.
    pub fn is_in_block(&self, set: usize, offset: &Offset, bytes: i64, scope: &ProofScope) -> bool {
        let blocks = self.stage_layout.layout.sets.get(set).into_iter().flatten();
        blocks.filter(|b| b.kind == DescriptorKind::InlineUniformBlock).any(|binding| {
            let first = i64::from(binding.offset);
            if binding.variable {
                let inside = Offset { lo: offset.lo - first, hi: offset.hi - first, ..offset.clone() };
                return self.is_limited(&inside, bytes, scope, &|size| self.is_set_count(set, size));
            }
            let inside = Offset { lo: offset.lo - first, hi: offset.hi - first, ..offset.clone() };
            self.is_below(&inside, bytes, binding.count.into(), scope)
        })
    }

    /// Returns true if a number is the count in a set's header.
    fn is_set_count(&self, set: usize, size: LaneValue) -> bool {
        let Some([word]) = self.shape().operands_of(size, Op::Zext).as_deref().map(|list| [list[0]]) else {
            return false;
        };
        let Some((from, reason)) = self.loaded_from(word) else { return false };
        let root = self.root_of(&from).map(|found| found.1);
        reason == AccessReason::Descriptor
            && root == Some(Root::Known(MemoryRegion::Set(set)))
            && from.list.len() == 1
            && from.plus == HEADER.start
    }

    /// Returns true if the workgroup memory contains these bytes. Each workgroup of a chunk may
    /// have its own, and the bytes must lie in one of them.
    pub fn is_in_group(&self, offset: &Offset, bytes: i64, scope: &ProofScope) -> bool {
        let mut offset = offset.clone();
        if let Some(group) = self.stage_layout.workgroup_stride {
            let numbers = |t: &&(LaneValue, u64)| t.1 == group && self.is_untainted(t.0);
            if let Some(&(number, _)) = offset.terms.list.iter().find(numbers) {
                offset.terms = offset.terms.without(number);
            }
        }
        self.is_below(&offset, bytes, self.stage_layout.shared, scope)
    }

    /// Returns true if a frame of an invocation contains these bytes: they begin at the offset of a
    /// frame plus a distance that is less than the frame's size. (Frames lie below 2 GiB, so that
    /// this sum of words does not wrap.)
    pub fn is_in_frame(&self, offset: &Offset, bytes: i64, scope: &ProofScope) -> bool {
        let &[(at, 1)] = &offset.terms.list[..] else { return false };
        let inside = |distance: Option<LaneValue>| {
            let mut terms = LinearSum::default();
            distance.into_iter().for_each(|at| terms.add(at, 1));
            let distance = Offset { terms, lo: offset.lo, hi: offset.hi };
            self.is_between(&distance, bytes, (0, self.stage_layout.frame_span()), scope)
        };
        match self.shape().operands_of(at, Op::Iadd).as_deref() {
            Some(&[a, b]) => self.is_frame_offset(a) && inside(Some(b)) || self.is_frame_offset(b) && inside(Some(a)),
            _ => self.is_frame_offset(at) && inside(None),
        }
    }

    /// Returns true if a value is the offset of a frame that the batch lists.
    fn is_frame_offset(&self, at: LaneValue) -> bool {
        let Some((from, AccessReason::Element)) = self.loaded_from(at) else { return false };
        let offsets = Array { element: Element::FrameOffset, written: false };
        self.root_of(&from).is_some_and(|found| found.1 == Root::Known(MemoryRegion::Array(offsets)))
    }

    /// Returns true if bytes at an offset lie below a constant: by their range, or by a comparison
    /// with a constant that is not greater.
    pub fn is_below(&self, offset: &Offset, bytes: i64, size: u64, scope: &ProofScope) -> bool {
        let constant = |at: LaneValue| self.shape().constant(at).is_some_and(|c| c <= size);
        self.is_between(offset, bytes, (0, size as i64), scope) || self.is_limited(offset, bytes, scope, &constant)
    }
}
