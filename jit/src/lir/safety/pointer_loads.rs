//! Values that loads give: pointers that structures of the driver contain, and numbers of the
//! driver.

use super::conditions::ProofScope;
use super::definitions::LaneValue;
use super::driver_layout::{self, Array, Element, HEADER, HeapKind, MemoryRegion, StageLayout};
use super::prover::{Offset, Prover, Root};
use crate::lir::{AccessReason, Def, Imm, InstData, Op, Value};
use base::abi::{DESCRIPTOR_SIZE, HeapContext, HeapEntry, ImageView, TexelRows};
use core::mem::offset_of;
use std::collections::HashSet;

impl Prover<'_> {
    /// Returns the pointer that a load gives. Every structure that it may load from must have the
    /// same pointer there.
    pub fn pointer_of_load(&self, v: Value, data: &InstData) -> Option<Root> {
        if let Some(known) = self.roots.borrow()[v] {
            return known;
        }
        self.roots.borrow_mut()[v] = Some(None);
        let root = self.find_root(v, data);
        self.roots.borrow_mut()[v] = Some(root);
        root
    }

    fn find_root(&self, v: Value, data: &InstData) -> Option<Root> {
        let Imm::Access(access) = data.imm else { return None };
        let block = match self.shape().func.values[v].def {
            Def::Inst(inst) => self.flow.home(inst)?.0,
            _ => return None,
        };
        let mut found: Option<Root> = None;
        let each = &mut |root: Root, offset: &Offset, _: &ProofScope| {
            let here = self.pointee(v, root, offset).ok_or("no pointer")?;
            if found.is_some_and(|other| other != here) {
                return Err("different pointers".to_string());
            }
            found = Some(here);
            Ok(())
        };
        let mut scope = ProofScope::of(block);
        // In a block that is never reached, conditions would exclude all pointers. An access that a
        // back end may move is proved there too.
        scope.moved = self.flow.is_impossible(&scope);
        let offset = Offset::at(access.offset.into());
        self.visit((data.args[0], None), &offset, &scope, &mut HashSet::new(), each).ok()?;
        found
    }

    /// Returns the pointer that a load has read from an offset of another pointer.
    fn pointee(&self, v: Value, root: Root, offset: &Offset) -> Option<Root> {
        let Root::Known(base) = root else { return None };
        let at = offset.lo;
        let buffer = Some(Root::Buffer { at: (v, None), readable: true });
        let address = |heap: HeapKind| at == heap.at() + offset_of!(HeapContext, address) as i64;
        match base {
            MemoryRegion::Dynamic(_) if at % DESCRIPTOR_SIZE as i64 == 0 => buffer,
            MemoryRegion::Context if address(HeapKind::Resources) || address(HeapKind::Samplers) => buffer,
            MemoryRegion::View if at == (offset_of!(ImageView, rows) + offset_of!(TexelRows, base)) as i64 => {
                Some(Root::Texels((v, None)))
            }
            MemoryRegion::Set(set) => {
                let multiples = offset.terms.list.iter().all(|t| t.1 % DESCRIPTOR_SIZE as u64 == 0);
                let binding = self.stage_layout.binding(set, at).filter(|_| multiples)?;
                // The use decides what a mutable descriptor is. Address and view are at the same
                // byte, so `at` alone does not distinguish them.
                let first = (at - i64::from(binding.offset)) % DESCRIPTOR_SIZE as i64 == 0;
                let either = binding.kind == base::shader::DescriptorKind::Mutable;
                if driver_layout::is_buffer(binding.kind) && first && (!either || self.is_buffer_address(v)) {
                    return buffer;
                }
                self.stage_layout.pointee(base, at).map(Root::Known)
            }
            MemoryRegion::Array(Array { element, .. }) => {
                let stride = StageLayout::stride(element)?;
                let multiples = offset.terms.list.iter().all(|t| t.1 % stride == 0);
                self.stage_layout.pointee(base, at).filter(|_| multiples).map(Root::Known)
            }
            MemoryRegion::Entries(heap) => {
                let object = at == offset_of!(HeapEntry, object) as i64;
                object.then_some(Root::Object((v, None), heap))
            }
            _ if offset.terms.list.is_empty() => self.stage_layout.pointee(base, at).map(Root::Known),
            _ => None,
        }
    }

    /// Returns the object of an entry if the conditions show that it is the intended entry.
    pub fn object(&self, at: LaneValue, heap: HeapKind, scope: &ProofScope) -> Option<Root> {
        let (from, _) = self.loaded_from(at)?;
        let (entries, _) = self.root_of(&from)?;
        let entry = from.without(entries);
        let what = if heap == HeapKind::Resources { MemoryRegion::View } else { MemoryRegion::Sampler };
        (entry.list.is_empty() || self.is_verified_entry(&entry, scope)).then_some(Root::Known(what))
    }

    /// Returns true if a load gives a number of the driver.
    pub fn loads_untainted_number(&self, data: &InstData) -> bool {
        let (Imm::Access(access) | Imm::Gather(access, _)) = data.imm else { return false };
        let address = if data.op == Op::Gather { data.args[1] } else { data.args[0] };
        let mut number = true;
        let each = &mut |root: Root, offset: &Offset, _: &ProofScope| {
            number &= match root {
                Root::Known(MemoryRegion::Array(Array { element, .. })) => {
                    matches!(
                        element,
                        Element::Number | Element::Quad | Element::Rectangle | Element::Source | Element::FrameOffset
                    )
                }
                Root::Known(MemoryRegion::Set(_)) => HEADER.contains(&offset.lo),
                Root::Known(MemoryRegion::Entries(_)) => true,
                Root::Known(_) => false,
                _ => return Err("no structure".into()),
            };
            Ok(())
        };
        let Def::Inst(inst) = self.shape().func.values[data.first].def else { return false };
        let Some((block, _)) = self.flow.home(inst) else { return false };
        let offset = Offset::at(access.offset.into());
        self.visit((address, None), &offset, &ProofScope::of(block), &mut HashSet::new(), each).is_ok() && number
    }

    /// Records the bounds that structures guarantee for their words as ranges of loads.
    pub fn limit_loads(&mut self) {
        let mut found = Vec::new();
        for data in self.shape().func.insts.values().filter(|data| data.op == Op::Load) {
            let Imm::Access(access) = data.imm else { continue };
            let Def::Inst(inst) = self.shape().func.values[data.first].def else { continue };
            let Some((block, _)) = self.flow.home(inst).filter(|_| access.reason == AccessReason::Field) else {
                continue;
            };
            let mut limit = Some(0u64);
            let each = &mut |root: Root, offset: &Offset, _: &ProofScope| {
                let Root::Known(base) = root else { return Err("no structure".into()) };
                let here = self.stage_layout.limit(base, offset.lo).filter(|_| offset.terms.list.is_empty());
                limit = limit.and_then(|limit| Some(limit.max(here?)));
                Ok(())
            };
            let offset = Offset::at(access.offset.into());
            let all = self.visit((data.args[0], None), &offset, &ProofScope::of(block), &mut HashSet::new(), each);
            found.extend(all.ok().and(limit).map(|limit| (data.first, limit)));
        }
        for (v, limit) in found {
            self.flow.limit_load(v, limit);
        }
    }
}
