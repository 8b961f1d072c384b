//! Outputs of a tessellation control stage: memory of the patch, which all its invocations read and
//! write.
//!
//! A patch is a workgroup, and its outputs are workgroup memory in a natural layout of the driver's
//! own, variable behind variable. For the next stage, every slot has its offset there. Indices,
//! barriers and accesses to parts therefore work as for shared variables.

use super::io_leaf::{high_word, output_slot};
use super::layout::{array_stride, natural, push_memory_leaves};
use super::module::View;
use super::translator::Translator;
use super::types::Type;
use super::value::{DriverLayout, Pointer, PointerTarget};
use crate::error::{Error, Result};
use crate::ir::{Builtin, Cmp, Op, Region, Space, Term, Ty};
use base::shader::{OutputPlacement, Slot, StageIoKind, WorkgroupInfo};

/// Largest number of bytes of a patch: far more than the limits of components allow.
const MAX_BYTES: u32 = 1 << 18;

impl Translator<'_> {
    /// Returns true if a patch's invocations are all in one chunk, so that none waits for another.
    pub fn is_patch_of_one_chunk(&self) -> bool {
        let invocations = self.b.shader.stage_info.workgroup().map_or(0, WorkgroupInfo::invocations);
        self.stage.row().outputs == StageIoKind::Patch && invocations <= self.s.lanes.into()
    }

    /// Allocates an output behind the `shared` bytes of the outputs before it.
    pub fn patch_output(&mut self, v: View<'_>, to: u32, shared: &mut u32) -> Result<Pointer> {
        let (size, align) = natural(self.s, to, DriverLayout::Packed)?;
        let at = shared.next_multiple_of(align.max(4));
        let end = at.checked_add(size).filter(|&end| end <= MAX_BYTES);
        *shared = end.ok_or_else(|| Error::limit("outputs of a patch"))?;
        let p = self.block_pointer(Space::Shared, at, to, Some(DriverLayout::Packed));
        self.place_output(v.result, to, at, &p)?;
        if v.args.len() > 1 {
            // The first invocation initialises for all, before any of them continues.
            let (id, first) = (self.b.val(Op::Builtin(Builtin::InvocationId), &[], Ty::I32), self.b.i32(0));
            let first = self.b.cmp(Cmp::IEq, id, first);
            self.b.push_region();
            self.initialise(&p, v)?;
            let then = self.b.pop_region(Term::default());
            self.b.if_(first, then, Region::default());
        }
        Ok(p)
    }

    /// Records the slots of an output at a byte offset.
    fn place_output(&mut self, var: u32, to: u32, at: u32, p: &Pointer) -> Result<()> {
        let arrayed = self.is_arrayed(var, to, StageIoKind::Patch);
        let (of, stride) = match (self.s.ty(to)?, arrayed) {
            (&Type::Array { elem, .. }, true) => (elem, array_stride(self.s, to, elem, Some(DriverLayout::Packed))?),
            (_, true) => return Err(Error::invalid("output of a patch's vertices is no array")),
            (_, false) => (to, 0),
        };
        let PointerTarget::Memory(memory) = &p.place else {
            return Err(Error::internal("an output that is no memory"));
        };
        let io = self.io_leaves(var, of, StageIoKind::Patch)?;
        let mut leaves = Vec::with_capacity(io.len());
        push_memory_leaves(self.s, memory, of, at, &mut leaves)?;
        for (io, leaf) in io.iter().zip(leaves) {
            let Some(slot) = output_slot(io) else { continue };
            self.place_word(slot, OutputPlacement { offset: leaf.offset, stride });
            if leaf.ty.bytes() == 8 {
                self.place_word(high_word(slot), OutputPlacement { offset: leaf.offset + 4, stride });
            }
        }
        Ok(())
    }

    pub fn place_word(&mut self, slot: Slot, place: OutputPlacement) {
        self.b.shader.outputs.push(slot);
        self.b.shader.placements.push(place);
    }
}
