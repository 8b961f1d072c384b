//! Deferred atomics: a compute shader's atomics whose results are unused, such as those of a
//! histogram, are collected in a table of the call (`base::deferred_atomics`). They must stand at
//! the end of the shader.
//!
//! The delay is unobservable under two conditions. No other access to buffers or images follows the
//! atomics. No invocation waits for another: there is no barrier, no fence, no other atomic, no
//! volatile access, and no loop that reads memory that may change.
//!
//! The workgroups of a call run one after the other on one thread. A workgroup that reads what an
//! earlier one has counted would not find it. In these shaders no workgroup reads it, or none may
//! rely on finding it.

use super::Emitter;
use super::memory::Address;
use crate::error::Result;
use crate::ir::{Effects, Inst, MemFlags, Node, Op, Region, Shader, Space, Ty, Value};
use crate::lir::Type;
use crate::passes::{Divergence, Shape};
use base::abi::{AtomicOp, BatchKind, Helper};
use base::deferred_atomics::{DEFERRED_BYTES, OPERATIONS};

/// Number of lanes of a chunk for which atomics are deferred; the bits of their mask fit one word.
const MASK_LANES: u32 = 8;

/// Operation and type of a shader's atomics, which are all alike and can all be deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeferrableAtomics {
    op: AtomicOp,
    ty: Ty,
}

struct DeferrableFinder<'a> {
    shader: &'a Shader,
    div: &'a Divergence,
    used: &'a dyn Fn(Value) -> bool,
    found: Option<DeferrableAtomics>,
}

impl DeferrableAtomics {
    /// Analyses a shader. `used` returns true if a value is an operand of any instruction.
    pub fn find(
        shader: &Shader,
        div: &Divergence,
        lanes: u32,
        used: impl Fn(Value) -> bool,
    ) -> Option<DeferrableAtomics> {
        if shader.stage().row().batch != BatchKind::Workgroup || lanes != MASK_LANES {
            return None;
        }
        let mut finder = DeferrableFinder { shader, div, used: &used, found: None };
        finder.region(&shader.root.body, false)?;
        finder.found
    }
}

impl DeferrableFinder<'_> {
    /// Analyses a region; returns `None` if something forbids the deferral.
    fn region(&mut self, region: &Region, repeated: bool) -> Option<()> {
        for node in &region.nodes {
            match node {
                Node::Inst(inst) => self.inst(*inst, repeated)?,
                Node::If(n) => {
                    self.region(&n.then, repeated)?;
                    self.region(&n.else_, repeated)?;
                }
                Node::Loop(n) => self.region(&n.body, true)?,
                Node::Scope(n) => self.region(&n.body, repeated)?,
            }
        }
        Some(())
    }

    fn inst(&mut self, inst: Inst, repeated: bool) -> Option<()> {
        let data = &self.shader.insts[inst];
        let effects = data.op.effects();
        match data.op {
            Op::Load(Space::Push | Space::Shared, flags) | Op::Store(Space::Shared, flags) if !flags.volatile => {
                Some(())
            }
            Op::Load(_, MemFlags { readonly: true, volatile: false, .. }) if self.found.is_none() => Some(()),
            Op::Atomic(space @ (Space::Buffer | Space::Global), op) if !repeated && OPERATIONS.contains(&op) => {
                let offset = data.args[usize::from(space == Space::Buffer)];
                let value = data.args[usize::from(space == Space::Buffer) + 1];
                let this = DeferrableAtomics { op, ty: self.shader.ty(value) };
                let alike = self.found.is_none_or(|other| other == this);
                // An atomic of all lanes on one cell is a single operation already.
                let apart = self.div.shape[offset] != Shape::Uniform;
                if !alike || !apart || data.results().any(|r| (self.used)(r)) {
                    return None;
                }
                self.found = Some(this);
                Some(())
            }
            _ if effects.intersects(Effects::ORDERS | Effects::VOLATILE) || data.op.suspends().is_some() => None,
            Op::Atomic(..) | Op::ImageAtomic { .. } => None,
            _ if effects.intersects(Effects::READS) && (repeated || self.found.is_some()) => None,
            _ if effects.intersects(Effects::WRITES) && self.found.is_some() => None,
            _ => Some(()),
        }
    }
}

impl Emitter<'_> {
    /// Returns the number of bytes of the table, including the padding between the private arrays
    /// and the table.
    pub fn deferred_bytes(&self) -> u64 {
        if self.deferred.is_some() {
            self.deferred_start() - u64::from(self.arrays.bytes) + DEFERRED_BYTES as u64
        } else {
            0
        }
    }

    fn deferred_start(&self) -> u64 {
        u64::from(self.arrays.bytes).next_multiple_of(64)
    }

    fn deferred_table(&mut self) -> crate::lir::Value {
        let start = self.deferred_start() as i64;
        self.b.iadd_imm(self.function.scratch(), start)
    }

    /// Emits the initialisation of the table, at the call's start.
    pub fn begin_deferred(&mut self) {
        let Some(DeferrableAtomics { op, ty }) = self.deferred else { return };
        let table = self.deferred_table();
        let [op, bytes] = [op as u32, ty.bytes()].map(|word| self.b.iconst(Type::I32, i64::from(word)));
        self.call_helper(Helper::BeginAtomics, &[table, op, bytes]);
    }

    /// Emits one of the deferred atomics.
    pub fn deferred_atomic(&mut self, address: &Address, value: Value) -> Result<()> {
        let (rows, go) = self.store_lane_operands(self.shader.ty(value), address, &[value])?;
        let values = self.b.iadd_imm(rows, self.row_bytes().into());
        let lanes = self.b.mask_bits(go);
        let table = self.deferred_table();
        self.call_helper(Helper::CombineAtomics, &[table, rows, values, lanes]);
        Ok(())
    }

    /// Emits the application of the table to memory, at the call's end.
    pub fn end_deferred(&mut self) {
        if self.deferred.is_some() {
            let table = self.deferred_table();
            self.call_helper(Helper::EndAtomics, &[table]);
        }
    }
}
