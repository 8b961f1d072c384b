//! Proofs that go from an address back to the pointers that it may be derived from.

use super::conditions::{Flow, ProofScope};
use super::definitions::{DEPTH, Definitions, LaneValue, LinearSum};
use super::driver_layout::{Element, HeapKind, MemoryRegion, PUSH, READABLE, StageLayout, WRITTEN_FIELD};
use super::stored_pointers::StoredPointers;
use super::taint::untainted_values;
use crate::lir::{Access, AccessReason, Block, Def, Function, Imm, Inst, InstData, Op, Slot, Type, Value};
use base::abi::ADDRESS_TAIL;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::HashSet;

/// Proves all accesses of a function that [`crate::lir::verify`] has accepted. `find_stored` finds
/// the pointers that the function keeps in its own memory; it needs the proofs of addresses.
///
/// # Errors
/// Returns the first access whose claim could not be proved, with the reason.
pub fn verify(
    func: &Function,
    stage_layout: &StageLayout<'_>,
    find_stored: impl FnOnce(&Prover<'_>) -> StoredPointers,
) -> Result<(), String> {
    let mut flow = Flow::of(func)?;
    let entry = *func.layout.first().ok_or("no blocks")?;
    let [context, batch] = func.blocks[entry].params[..] else { return Err("no parameters of a stage".into()) };
    flow.find_ranges();
    let mut prover = Prover {
        flow,
        stage_layout: *stage_layout,
        params: [context, batch],
        untainted: SecondaryMap::new(),
        roots: RefCell::default(),
        stored: StoredPointers::default(),
    };
    prover.limit_loads();
    prover.flow.find_ranges();
    prover.stored = find_stored(&prover);
    // Cached roots are dropped, because pointers stored in memory were not known when they were
    // found.
    prover.roots = RefCell::default();
    prover.untainted = untainted_values(Definitions { func }, |data| prover.loads_untainted_number(data));
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            prover
                .access(block, inst, data)
                .map_err(|e| format!("{block}: {} of {:?}: {e}", data.op.row().name, data.args))?;
        }
    }
    Ok(())
}

/// Kind of memory that a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// Memory of the driver.
    Known(MemoryRegion),
    /// A stack slot.
    Stack(Slot),
    /// The first byte of a buffer, whose size belongs to the pointer.
    Buffer {
        /// The pointer to the first byte.
        at: LaneValue,
        /// True if the pointer is loaded directly from a descriptor, behind which [`READABLE`]
        /// bytes are always readable.
        readable: bool,
    },
    /// The first texel of a view.
    Texels(LaneValue),
    /// Memory that a look-up has shown to be alive from this address on.
    Alive,
    /// The object of a heap's entry. It is valid only if the entry has the word that it was looked
    /// up by.
    Object(LaneValue, HeapKind),
}

/// A pointer among the terms of a sum.
enum PointerTerm {
    Root(Root),
    /// One of several pointers, or one that was stored in memory.
    Choice,
}

/// Offset from a pointer: a sum of terms, whose own constant is 0, plus a constant from a range.
#[derive(Clone, Debug, Default)]
pub struct Offset {
    /// Sum of the variable terms.
    pub terms: LinearSum,
    /// Least constant.
    pub lo: i64,
    /// Greatest constant.
    pub hi: i64,
}

impl Offset {
    /// Returns a constant offset.
    pub(super) fn at(byte: i64) -> Offset {
        Offset { lo: byte, hi: byte, ..Offset::default() }
    }

    fn plus(&self, more: &LinearSum) -> Offset {
        let mut out = self.clone();
        more.list.iter().for_each(|&(at, times)| out.terms.add(at, times));
        out.lo = out.lo.wrapping_add(more.plus);
        out.hi = out.hi.wrapping_add(more.plus);
        out
    }
}

/// An access to prove.
#[derive(Clone, Copy)]
pub struct Obligation {
    /// Reason that the access claims.
    pub reason: AccessReason,
    /// Number of bytes accessed.
    pub bytes: i64,
    /// True if the access writes.
    pub write: bool,
}

/// State of a proof.
pub struct Prover<'a> {
    /// The function with its control flow.
    pub flow: Flow<'a>,
    /// Inputs of the stage.
    pub stage_layout: StageLayout<'a>,
    pub(super) params: [Value; 2],
    untainted: SecondaryMap<Value, bool>,
    /// Cached results of [`Prover::pointer_of_load`].
    pub(super) roots: RefCell<SecondaryMap<Value, Option<Option<Root>>>>,
    /// Pointers that are stored in the function's own memory.
    pub stored: StoredPointers,
}

/// Callback for each pointer that an address may be derived from.
type PointerVisitor<'f> = &'f mut dyn FnMut(Root, &Offset, &ProofScope) -> Result<(), String>;

impl<'a> Prover<'a> {
    /// Returns the view of the function's definitions.
    pub fn shape(&self) -> Definitions<'a> {
        self.flow.shape
    }

    /// Proves the access of an instruction.
    fn access(&self, block: Block, inst: Inst, data: &InstData) -> Result<(), String> {
        let scope = |access: Option<Access>| {
            let moved = access.is_some_and(|a| {
                a.readonly && !a.guarded && matches!(a.reason, AccessReason::Checked | AccessReason::Texels)
            });
            ProofScope { moved, ..ProofScope::of(block) }
        };
        let one = |access: Access, bytes: u32, write| {
            let obligation = Obligation { reason: access.reason, bytes: bytes.into(), write };
            self.prove((data.args[0], None), &Offset::at(access.offset.into()), obligation, &scope(Some(access)))
        };
        match (data.op, data.imm) {
            (Op::Load, Imm::Access(access)) => one(access, data.ty.bytes(), false),
            (Op::LoadU8, Imm::Access(access)) => one(access, 1, false),
            (Op::LoadU16, Imm::Access(access)) => one(access, 2, false),
            (Op::Store, Imm::Access(access)) => one(access, data.ty.bytes(), true),
            (Op::Gather, Imm::Gather(access, n)) => {
                let obligation = Obligation {
                    reason: access.reason,
                    bytes: i64::from(n) * i64::from(data.ty.lane_bytes()),
                    write: false,
                };
                self.lanes(data, access, obligation, &scope(Some(access)))?;
                // Inactive lanes read at the address without their offsets.
                if self.shape().constant((data.args[0], None)).is_some_and(|bits| bits == 1) {
                    return Ok(());
                }
                self.prove((data.args[1], None), &Offset::at(access.offset.into()), obligation, &scope(Some(access)))
                    .map_err(|e| format!("where no lane is active: {e}"))
            }
            (Op::Scatter, Imm::Gather(access, n)) => {
                let obligation = Obligation {
                    reason: access.reason,
                    bytes: i64::from(n) * i64::from(data.ty.lane_bytes()),
                    write: true,
                };
                self.lanes(data, access, obligation, &scope(Some(access)))?;
                let sink = Obligation { reason: AccessReason::Checked, ..obligation };
                self.prove((data.args[3], None), &Offset::at(0), sink, &scope(None))
            }
            (Op::AtomicLoad | Op::AtomicRmw | Op::AtomicCas, _) => {
                let write = data.op != Op::AtomicLoad;
                let obligation = Obligation { reason: AccessReason::Checked, bytes: data.ty.bytes().into(), write };
                self.prove((data.args[0], None), &Offset::at(0), obligation, &scope(None))
            }
            _ => match data.imm {
                Imm::Access(_) | Imm::Gather(..) => Err("an access that the verifier does not know".into()),
                _ => Ok(()),
            },
        }
        .map_err(|e| format!("{inst}: {e}"))
    }

    /// Proves the lanes of a gather or scatter.
    fn lanes(&self, data: &InstData, access: Access, obligation: Obligation, scope: &ProofScope) -> Result<(), String> {
        let lanes = data.ty.lanes() as u8;
        let one = |lane: Option<u8>| {
            let mut scope = scope.clone();
            self.shape().atoms((data.args[0], lane), true, &mut scope.more);
            let mut offset = Offset::at(access.offset.into());
            let own = self.shape().see_through_lane_moves((data.args[2], lane));
            match self.shape().constant(own) {
                Some(bits) => (offset.lo, offset.hi) = (offset.lo + bits as i64, offset.hi + bits as i64),
                None => offset.terms.add(own, 1),
            }
            self.prove((data.args[1], None), &offset, obligation, &scope)
        };
        one(None).or_else(|_| (0..lanes).try_for_each(|lane| one(Some(lane))))
    }

    /// Proves that an access at an offset from an address lies in the memory that its reason names.
    pub fn prove(
        &self,
        at: LaneValue,
        offset: &Offset,
        obligation: Obligation,
        scope: &ProofScope,
    ) -> Result<(), String> {
        self.visit(at, offset, scope, &mut HashSet::new(), &mut |root, offset, scope| {
            self.inside(root, offset, obligation, scope).map_err(|e| {
                format!("{e}: {root:?} + {offset:?}, {} bytes as {:?}", obligation.bytes, obligation.reason)
            })
        })
    }

    /// Visits all pointers that an address may be derived from.
    pub(super) fn visit(
        &self,
        at: LaneValue,
        offset: &Offset,
        scope: &ProofScope,
        seen: &mut HashSet<(LaneValue, LinearSum, i64, i64)>,
        each: PointerVisitor<'_>,
    ) -> Result<(), String> {
        if self.flow.is_impossible(scope) {
            return Ok(());
        }
        let offset = offset.plus(&self.shape().terms(at));
        if let Some(start) = self.alive(&offset.terms, scope) {
            let rest = Offset { terms: LinearSum::default(), lo: offset.lo - start, hi: offset.hi - start };
            return each(Root::Alive, &rest, scope);
        }
        let pointers = offset.terms.list.iter().filter(|t| t.1 == 1);
        let found = pointers.filter_map(|&(at, _)| Some((at, self.pointer(at, DEPTH)?))).next();
        let Some((pointer, what)) = found else { return Err(format!("no pointer in {offset:?}")) };
        let rest = Offset { terms: offset.terms.without(pointer), ..offset };
        match what {
            PointerTerm::Root(root) => {
                let first = match (root, self.shape().def(pointer).map(|data| data.imm)) {
                    (Root::Stack(_), Some(Imm::Slot(_, first))) => i64::from(first),
                    _ => 0,
                };
                let root = match root {
                    Root::Object(at, heap) => self.object(at, heap, scope).ok_or("an entry that may be another's")?,
                    root => root,
                };
                each(root, &Offset { lo: rest.lo + first, hi: rest.hi + first, ..rest }, scope)
            }
            PointerTerm::Choice => {
                if !seen.insert((pointer, rest.terms.clone(), rest.lo, rest.hi)) {
                    return Ok(());
                }
                if seen.len() > 4096 {
                    return Err(format!("too many ways to {pointer:?}"));
                }
                // The choice as a whole may be a buffer whose size is chosen with it.
                if each(Root::Buffer { at: pointer, readable: false }, &rest, scope).is_ok() {
                    return Ok(());
                }
                self.choices(pointer, &rest, scope, seen, each)
            }
        }
    }

    fn choices(
        &self,
        pointer: LaneValue,
        rest: &Offset,
        scope: &ProofScope,
        seen: &mut HashSet<(LaneValue, LinearSum, i64, i64)>,
        each: PointerVisitor<'_>,
    ) -> Result<(), String> {
        let shape = self.shape();
        if let Def::Param(block) = shape.func.values[pointer.0].def {
            if let Some((first, most)) = self.counted(pointer, block) {
                let rest = Offset { hi: rest.hi + most, ..rest.clone() };
                return self.visit(first.0, &rest, &first.1, seen, each);
            }
            let number = shape.func.blocks[block].params.iter().position(|&p| p == pointer.0).ok_or("no parameter")?;
            for &(from, target) in self.flow.preds(block) {
                let arg = shape.func.blocks[from].targets[target].args[number];
                self.visit((arg, pointer.1), rest, &self.flow.edge((from, target)), seen, each)?;
            }
            return Ok(());
        }
        let data = shape.def(pointer).ok_or("a constant as an address")?;
        let arg = |i| shape.arg(pointer, data, i);
        match data.op {
            Op::Select => {
                for (i, truth) in [(1, true), (2, false)] {
                    let mut scope = scope.clone();
                    shape.atoms(arg(0), truth, &mut scope.more);
                    self.visit(arg(i), rest, &scope, seen, each)?;
                }
                Ok(())
            }
            // The pointer is rounded down to a multiple of a power of two.
            Op::And => {
                let less = self.mask(pointer, data).ok_or("a masked pointer")?;
                self.visit(arg(0), &Offset { lo: rest.lo - less, ..rest.clone() }, scope, seen, each)
            }
            Op::Load => {
                let stored = self.stored.stored(self.shape().func, data).ok_or("a pointer from memory")?;
                for (v, block) in stored {
                    let lanes = shape.func.ty(v).lanes() as u8;
                    let one = ProofScope::of(block);
                    if lanes == 1 {
                        self.visit((v, None), rest, &one, seen, each)?;
                    }
                    for lane in (0..lanes).filter(|_| lanes > 1) {
                        self.visit((v, Some(lane)), rest, &one, seen, each)?;
                    }
                }
                Ok(())
            }
            _ => Err(format!("a pointer from {}", data.op.row().name)),
        }
    }

    /// Returns first value, scope and distance of a pointer that a loop increments from its first
    /// value up to a fixed distance.
    fn counted(&self, param: LaneValue, block: Block) -> Option<((LaneValue, ProofScope), i64)> {
        let shape = self.shape();
        let number = shape.func.blocks[block].params.iter().position(|&p| p == param.0)?;
        let [first, next] = self.flow.preds(block) else { return None };
        let arg = |&(from, target): &(Block, usize)| (shape.func.blocks[from].targets[target].args[number], None);
        let step = shape.terms(arg(next));
        let ([(of, 1)], 1..) = (&step.list[..], step.plus) else { return None };
        if *of != param {
            return None;
        }
        let start = shape.terms(arg(first));
        let scope = self.flow.edge(*next);
        let ends = scope.more.iter().flat_map(|&atom| shape.below(atom)).filter_map(|below| {
            let (a, b) = (shape.terms(below.a), shape.terms(below.b));
            let length = b.plus - start.plus;
            let counted = a == step && b.list == start.list && below.strict && length > 0 && length % step.plus == 0;
            counted.then_some(length - step.plus)
        });
        let most = ends.min()?;
        Some(((arg(first), self.flow.edge(*first)), most))
    }

    /// Returns the largest amount by which masking reduces a value.
    fn mask(&self, at: LaneValue, data: &InstData) -> Option<i64> {
        let mask = self.shape().constant(self.shape().arg(at, data, 1))?;
        mask.wrapping_neg().is_power_of_two().then(|| (mask.wrapping_neg() - 1) as i64)
    }

    /// Returns the kind of pointer that a term of an address is, if it is one.
    fn pointer(&self, at: LaneValue, depth: u32) -> Option<PointerTerm> {
        let shape = self.shape();
        let depth = depth.checked_sub(1)?;
        if shape.func.ty(at.0).elem != Type::I64.elem {
            return None;
        }
        if let Def::Param(block) = shape.func.values[at.0].def {
            let [context, batch] = self.params;
            if at.0 == context || at.0 == batch {
                let base = if at.0 == context { MemoryRegion::Context } else { MemoryRegion::Batch };
                return Some(PointerTerm::Root(Root::Known(base)));
            }
            let number = shape.func.blocks[block].params.iter().position(|&p| p == at.0)?;
            let mut edges = self.flow.preds(block).iter();
            let any = edges.any(|&(from, target)| {
                let arg = shape.func.blocks[from].targets[target].args[number];
                self.has_pointer((arg, at.1), depth.min(4))
            });
            return any.then_some(PointerTerm::Choice);
        }
        let data = shape.def(at)?;
        let arg = |i| shape.arg(at, data, i);
        match (data.op, data.imm) {
            (Op::StackAddress, Imm::Slot(slot, _)) => Some(PointerTerm::Root(Root::Stack(slot))),
            (Op::Select, _) => [1, 2].iter().any(|&i| self.has_pointer(arg(i), depth)).then_some(PointerTerm::Choice),
            (Op::And, _) => {
                (self.mask(at, data).is_some() && self.has_pointer(arg(0), depth)).then_some(PointerTerm::Choice)
            }
            (Op::Load, Imm::Access(access)) if matches!(access.reason, AccessReason::Scratch | AccessReason::Frame) => {
                let stored = self.stored.stored(self.shape().func, data)?;
                let any = stored.iter().any(|&(v, _)| self.has_pointer((v, Some(0)), depth));
                any.then_some(PointerTerm::Choice)
            }
            (Op::Load, Imm::Access(_)) => self.pointer_of_load(at.0, data).map(PointerTerm::Root),
            _ => None,
        }
    }

    fn has_pointer(&self, at: LaneValue, depth: u32) -> bool {
        let terms = self.shape().terms(self.shape().see_through_lane_moves(at));
        terms.list.iter().any(|&(at, times)| times == 1 && self.pointer(at, depth).is_some())
    }

    /// Checks that bytes at an offset from a pointer lie inside the memory that it points to.
    fn inside(&self, root: Root, offset: &Offset, obligation: Obligation, scope: &ProofScope) -> Result<(), String> {
        let ok = |ok: bool, what: &str| if ok { Ok(()) } else { Err(what.to_string()) };
        let constant = offset.terms.list.is_empty();
        match root {
            Root::Alive => {
                ok(obligation.reason == AccessReason::Checked, "live memory by another reason")?;
                ok(offset.lo >= 0 && offset.hi + obligation.bytes <= ADDRESS_TAIL as i64, "beyond the tail")
            }
            Root::Stack(slot) => {
                ok(obligation.reason == AccessReason::Frame, "a stack slot by another reason")?;
                let bytes = i64::from(self.shape().func.slots[slot].bytes);
                ok(self.is_between(offset, obligation.bytes, (0, bytes), scope), "not inside of the slot")
            }
            Root::Buffer { at, readable } => {
                ok(obligation.reason == AccessReason::Checked, "a buffer by another reason")?;
                let always = readable && constant && offset.lo >= 0 && offset.hi + obligation.bytes <= READABLE;
                ok(
                    always || self.is_in_buffer(at, offset, obligation.bytes, scope),
                    "no comparison with the buffer's size",
                )
            }
            Root::Object(..) => Err("an entry".into()),
            Root::Texels(at) => {
                ok(obligation.reason == AccessReason::Texels, "texels by another reason")?;
                self.is_in_view(at, offset, obligation.bytes, scope)
            }
            Root::Known(base) => self.inside_region(base, offset, obligation, scope),
        }
    }

    fn inside_region(
        &self,
        base: MemoryRegion,
        offset: &Offset,
        obligation: Obligation,
        scope: &ProofScope,
    ) -> Result<(), String> {
        use AccessReason as R;
        let between = |(from, to): (i64, i64)| self.is_between(offset, obligation.bytes, (from, to), scope);
        let untainted = || offset.terms.list.iter().all(|t| self.is_untainted(t.0));
        let constant = offset.terms.list.is_empty();
        let read = !obligation.write;
        let extent = || self.stage_layout.extent(base).is_some_and(between);
        let right = match (base, obligation.reason) {
            (MemoryRegion::Context, R::Field) => read && extent(),
            (MemoryRegion::Context, R::Checked) => {
                let push = Offset { lo: offset.lo - PUSH.start, hi: offset.hi - PUSH.start, ..offset.clone() };
                read && self.is_below(&push, obligation.bytes, (PUSH.end - PUSH.start) as u64, scope)
            }
            (MemoryRegion::Batch, R::Field) => (read || constant && offset.lo == WRITTEN_FIELD) && extent(),
            (
                MemoryRegion::Helpers | MemoryRegion::Primitive | MemoryRegion::View | MemoryRegion::Sampler,
                R::Field,
            ) => read && extent(),
            (MemoryRegion::Array(array), R::Element) => {
                let inside = match (self.stage_layout.extent(base), &offset.terms.list[..]) {
                    (Some(extent), _) => between(extent),
                    // An access to a part of one element must end before the next element.
                    (None, &[(_, stride @ 2..)]) if array.element != Element::Data => {
                        offset.lo >= 0 && offset.hi + obligation.bytes <= stride as i64
                    }
                    (None, _) => offset.lo >= 0,
                };
                (read || array.written) && untainted() && inside
            }
            (MemoryRegion::Entries(_), R::Element) => {
                read && self.is_entry(base, offset) && offset.lo >= 0 && offset.hi + obligation.bytes <= 16
            }
            (MemoryRegion::Live(bytes), R::Live) => {
                read && self.is_granule(offset, bytes) && obligation.bytes == bytes as i64
            }
            (MemoryRegion::Set(set), R::Descriptor) => read && self.is_descriptor(set, offset, obligation.bytes, scope),
            (MemoryRegion::Set(set), R::Checked) => read && self.is_in_block(set, offset, obligation.bytes, scope),
            (MemoryRegion::Dynamic(set), R::Descriptor) => read && between((0, self.stage_layout.dynamic_bytes(set))),
            (MemoryRegion::Zeros, R::Checked) => read && extent(),
            (MemoryRegion::Abort, R::Checked) => read && extent(),
            (MemoryRegion::NullBuffer, R::Checked) => extent(),
            (MemoryRegion::Sink, R::Checked | R::Scratch) => extent(),
            (MemoryRegion::Scratch, R::Scratch) => extent(),
            (MemoryRegion::Frames, R::Element) => self.is_in_frame(offset, obligation.bytes, scope),
            (MemoryRegion::Shared, R::Shared | R::Checked) => self.is_in_group(offset, obligation.bytes, scope),
            _ => return Err("the reason is another one's".into()),
        };
        if right { Ok(()) } else { Err("not inside".into()) }
    }

    /// Returns true if a number is one of the driver or limited by one.
    pub fn is_untainted(&self, at: LaneValue) -> bool {
        self.shape().constant(at).is_some() || self.untainted[at.0]
    }

    /// Returns true if the range of an offset lies between two bytes.
    pub fn is_between(&self, offset: &Offset, bytes: i64, (from, to): (i64, i64), scope: &ProofScope) -> bool {
        let Some((lo, hi)) = self.sum(&offset.terms, scope) else { return false };
        lo + i128::from(offset.lo) >= i128::from(from)
            && hi + i128::from(offset.hi) + i128::from(bytes) <= i128::from(to)
    }

    /// Returns the least and the greatest value of a sum of terms.
    pub fn sum(&self, terms: &LinearSum, scope: &ProofScope) -> Option<(i128, i128)> {
        terms.list.iter().try_fold((0i128, 0i128), |(lo, hi), &(at, times)| {
            let range = self.flow.range(at, scope);
            let by = |n: u64| i128::from(n).checked_mul(i128::from(times));
            Some((lo.checked_add(by(range.lo)?)?, hi.checked_add(by(range.hi)?)?))
        })
    }

    /// Returns true if a value is loaded from a field of the context.
    pub fn is_context_word(&self, at: LaneValue, field: i64) -> bool {
        let Some(data) = self.shape().def(at).filter(|data| data.op == Op::Load) else { return false };
        let Imm::Access(access) = data.imm else { return false };
        let address = self.shape().terms((data.args[0], None));
        address.list[..] == [((self.params[0], None), 1)] && address.plus + i64::from(access.offset) == field
    }

    /// Returns the address of a load as terms including its offset, and the load's reason.
    pub fn loaded_from(&self, at: LaneValue) -> Option<(LinearSum, AccessReason)> {
        let data = self.shape().def(at).filter(|data| data.op == Op::Load)?;
        let Imm::Access(access) = data.imm else { return None };
        let mut terms = self.shape().terms((data.args[0], at.1));
        terms.plus += i64::from(access.offset);
        Some((terms, access.reason))
    }

    /// Returns the first known pointer among the terms of a sum, which must have the factor 1.
    pub fn root_of(&self, terms: &LinearSum) -> Option<(LaneValue, Root)> {
        terms.list.iter().filter(|t| t.1 == 1).find_map(|&(at, _)| match self.pointer(at, DEPTH)? {
            PointerTerm::Root(root) => Some((at, root)),
            PointerTerm::Choice => None,
        })
    }
}

/// Returns all stores of a function with their block and position.
pub fn stores(func: &Function) -> SmallVec<[(Block, u32, Inst); 16]> {
    let all = func
        .layout
        .iter()
        .flat_map(|&block| func.blocks[block].insts.iter().enumerate().map(move |(i, &inst)| (block, i as u32, inst)));
    all.filter(|&(.., inst)| func.insts[inst].op == Op::Store).collect()
}
