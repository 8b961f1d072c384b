//! Parts that the code of a function shares: its arguments, its blocks, the loop over chunks.

use super::Emitter;
use super::memory::read_only;
use crate::error::{Error, Result};
use crate::lir::{AccessReason, Block, IntCond, Type, Value as C, Variable};
use base::abi::{BatchKind, EvaluationBatch, FragmentBatch, InvocationBatch, PrimitiveBatch, VertexBatch};
use core::mem::offset_of;

/// The current workgroup.
#[derive(Clone, Copy)]
pub struct WorkgroupState {
    /// The `WorkgroupId` of the workgroup.
    pub id: [C; 3],
    /// First block of the workgroup, which stays open for code that runs once per workgroup.
    pub block: Block,
    /// Number of chunks that have stopped in this pass.
    pub stopped_chunks: Variable,
}

impl Emitter<'_> {
    /// Jumps to the function's exit.
    pub fn leave(&mut self) {
        let exit = self.exit;
        self.b.jump(exit, &[]);
    }

    /// Emits a poll of the abort flag, which leaves the function if the device is lost or the
    /// budget is spent.
    pub fn poll_abort(&mut self) {
        let flag = self.abort;
        // The load is atomic, so that it is never merged with an earlier poll.
        let stop = self.b.atomic_load(Type::I32, flag);
        let go_on = self.b.create_block();
        let stop = self.b.icmp_imm(IntCond::Ne, stop, 0);
        let exit = self.exit;
        self.b.branch(stop, exit, &[], go_on, &[]);
        self.enter(go_on);
    }

    /// Loads a pointer of the batch.
    pub fn batch_pointer(&mut self, field: usize) -> C {
        self.b.load(Type::I64, read_only(AccessReason::Field, field as i32), self.batch)
    }

    /// Returns the address of the chunk's words in an array with `rows` rows of words per chunk.
    pub fn chunk_words(&mut self, field: usize, rows: u32) -> C {
        let list = self.batch_pointer(field);
        let chunk = self.b.zext(Type::I64, self.chunk);
        let offset = self.b.imul_imm(chunk, i64::from(4 * self.lanes.count() * rows));
        self.b.iadd(list, offset)
    }

    pub fn chunk_count(&mut self) -> C {
        let per_call = |e: &mut Self, offset: usize, shift: u32| {
            let n = e.b.load(Type::I32, read_only(AccessReason::Field, offset as i32), e.batch);
            let n = e.b.shl_imm(n, shift);
            let n = e.b.iadd_imm(n, i64::from(e.lanes.count()) - 1);
            e.b.lshr_imm(n, e.lanes.count().trailing_zeros())
        };
        match self.shader.stage().row().batch {
            BatchKind::Workgroup | BatchKind::Patches | BatchKind::Mesh => {
                self.b.iconst(Type::I32, i64::from(self.chunks))
            }
            BatchKind::Vertices => per_call(self, offset_of!(VertexBatch, count), 0),
            BatchKind::Domain => per_call(self, offset_of!(EvaluationBatch, count), 0),
            BatchKind::Primitives => per_call(self, offset_of!(PrimitiveBatch, count), 0),
            BatchKind::Invocations => per_call(self, offset_of!(InvocationBatch, count), 0),
            BatchKind::Quads => per_call(self, offset_of!(FragmentBatch, count), 2),
        }
    }

    /// Emits a loop over `count` chunks, with `each` as its body, and then a jump to `done`.
    pub fn for_chunks(&mut self, count: C, done: Block, each: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let (header, body) = (self.b.create_block(), self.b.create_block());
        let zero = self.b.iconst(Type::I32, 0);
        self.chunk = self.b.append_param(header, Type::I32);
        self.b.jump(header, &[zero]);
        self.b.enter_loop(header);
        let more = self.b.icmp(IntCond::Ult, self.chunk, count);
        self.b.branch(more, body, &[], done, &[]);
        self.enter(body);
        each(self)?;
        let next = self.b.iadd_imm(self.chunk, 1);
        self.b.jump(header, &[next]);
        self.b.seal_block(header);
        Ok(())
    }

    /// Returns the current workgroup.
    pub fn workgroup_state(&self) -> Result<WorkgroupState> {
        self.shader.workgroup()?;
        self.workgroup_state.ok_or_else(|| Error::internal("a workgroup outside of the loop over them"))
    }
}
