//! Parts that the code of a function shares: its arguments, its blocks, the loop over chunks.

use super::Emitter;
use super::memory::read_only;
use crate::error::{Error, Result};
use crate::lir::{AccessReason, Block, Builder, IntCond, Type, Value as C, Variable};
use base::abi::{
    AddressSpace, BatchHeader, BatchKind, ComputeBatch, EvaluationBatch, FragmentBatch, InvocationBatch,
    PrimitiveBatch, ShaderContext, VertexBatch,
};
use core::mem::offset_of;

/// The arguments of a function, what its entry block loads, and its blocks.
pub struct FunctionFrame {
    ctx: C,
    batch: C,
    scratch: C,
    sink: C,
    /// Address of zero bytes, at least as many as the largest access reads.
    zeros: C,
    abort: C,
    shared: C,
    /// Chunk index (I32), and the number of chunks of a workgroup (1 in stages without workgroups).
    chunk: C,
    chunks: u32,
    /// The workgroup; `None` in stages without workgroups.
    workgroup_state: Option<WorkgroupState>,
    /// The function's first block, which stays open for code that runs once per call.
    entry_block: Block,
    /// End of a chunk, and end of the function.
    latch: Option<Block>,
    exit: Block,
}

impl FunctionFrame {
    /// Loads the addresses that code needs, in the entry block. Workgroups have `chunks` chunks.
    pub fn new(b: &mut Builder, has_workgroup: bool, chunks: u32) -> FunctionFrame {
        let entry_block = b.current();
        let (ctx, batch) = (b.params(entry_block)[0], b.params(entry_block)[1]);
        let exit = b.create_block();
        let mut pointer = |base, offset: usize| b.load(Type::I64, read_only(AccessReason::Field, offset as i32), base);
        let scratch = pointer(batch, offset_of!(BatchHeader, scratch));
        let sink = pointer(batch, offset_of!(BatchHeader, sink));
        let zeros = pointer(ctx, offset_of!(ShaderContext, addresses) + offset_of!(AddressSpace, zeros));
        let abort = pointer(ctx, offset_of!(ShaderContext, abort));
        let shared = if has_workgroup { pointer(batch, offset_of!(ComputeBatch, shared)) } else { sink };
        FunctionFrame {
            ctx,
            batch,
            scratch,
            sink,
            zeros,
            abort,
            shared,
            chunk: ctx,
            chunks,
            workgroup_state: None,
            entry_block,
            latch: None,
            exit,
        }
    }

    /// Returns the address of the context.
    pub fn ctx(&self) -> C {
        self.ctx
    }

    /// Returns the address of the batch.
    pub fn batch(&self) -> C {
        self.batch
    }

    /// Returns the address of the scratch memory.
    pub fn scratch(&self) -> C {
        self.scratch
    }

    /// Returns the address of memory that takes the stores of inactive lanes.
    pub fn sink(&self) -> C {
        self.sink
    }

    /// Returns the address of zero bytes, at least as many as the largest access reads.
    pub fn zeros(&self) -> C {
        self.zeros
    }

    /// Returns the address of the workgroup's memory.
    pub fn shared(&self) -> C {
        self.shared
    }

    /// Sets the address of the workgroup's memory, if every workgroup of the call has its own.
    pub fn set_shared(&mut self, shared: C) {
        self.shared = shared;
    }

    /// Returns the index of the chunk (I32).
    pub fn chunk(&self) -> C {
        self.chunk
    }

    /// Sets the index of the chunk whose code follows.
    pub fn set_chunk(&mut self, chunk: C) {
        self.chunk = chunk;
    }

    /// Returns the number of chunks of a workgroup (1 in stages without workgroups).
    pub fn chunks(&self) -> u32 {
        self.chunks
    }

    /// Returns the first block of the function, which stays open for code that runs once per call.
    pub fn entry_block(&self) -> Block {
        self.entry_block
    }

    /// Sets the block that stays open, if the code that comes first needed several blocks.
    pub fn set_entry_block(&mut self, block: Block) {
        self.entry_block = block;
    }

    /// Returns the first block of the workgroup, if the stage has workgroups.
    pub fn workgroup_block(&self) -> Option<Block> {
        self.workgroup_state.map(|workgroup_state| workgroup_state.block)
    }

    /// Sets the workgroup whose code follows.
    pub fn set_workgroup_state(&mut self, workgroup_state: WorkgroupState) {
        self.workgroup_state = Some(workgroup_state);
    }

    /// Returns the end of a chunk.
    pub fn latch(&self) -> Option<Block> {
        self.latch
    }

    /// Sets the end of the chunk whose code follows.
    pub fn set_latch(&mut self, latch: Block) {
        self.latch = Some(latch);
    }

    /// Returns the end of the function.
    pub fn exit(&self) -> Block {
        self.exit
    }
}

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
        let exit = self.function.exit();
        self.b.jump(exit, &[]);
    }

    /// Emits a poll of the abort flag, which leaves the function if the device is lost or the
    /// budget is spent.
    pub fn poll_abort(&mut self) {
        let flag = self.function.abort;
        // The load is atomic, so that it is never merged with an earlier poll.
        let stop = self.b.atomic_load(Type::I32, flag);
        let go_on = self.b.create_block();
        let stop = self.b.icmp_imm(IntCond::Ne, stop, 0);
        let exit = self.function.exit();
        self.b.branch(stop, exit, &[], go_on, &[]);
        self.enter(go_on);
    }

    /// Loads a pointer of the batch.
    pub fn batch_pointer(&mut self, field: usize) -> C {
        self.b.load(Type::I64, read_only(AccessReason::Field, field as i32), self.function.batch())
    }

    /// Returns the address of the chunk's words in an array with `rows` rows of words per chunk.
    pub fn chunk_words(&mut self, field: usize, rows: u32) -> C {
        let list = self.batch_pointer(field);
        let chunk = self.b.zext(Type::I64, self.function.chunk());
        let offset = self.b.imul_imm(chunk, i64::from(4 * self.lanes.count() * rows));
        self.b.iadd(list, offset)
    }

    pub fn chunk_count(&mut self) -> C {
        let per_call = |e: &mut Self, offset: usize, shift: u32| {
            let n = e.b.load(Type::I32, read_only(AccessReason::Field, offset as i32), e.function.batch());
            let n = e.b.shl_imm(n, shift);
            let n = e.b.iadd_imm(n, i64::from(e.lanes.count()) - 1);
            e.b.lshr_imm(n, e.lanes.count().trailing_zeros())
        };
        match self.shader.stage().row().batch {
            BatchKind::Workgroup | BatchKind::Patches | BatchKind::Mesh => {
                self.b.iconst(Type::I32, i64::from(self.function.chunks()))
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
        self.function.set_chunk(self.b.append_param(header, Type::I32));
        self.b.jump(header, &[zero]);
        self.b.enter_loop(header);
        let more = self.b.icmp(IntCond::Ult, self.function.chunk(), count);
        self.b.branch(more, body, &[], done, &[]);
        self.enter(body);
        each(self)?;
        let next = self.b.iadd_imm(self.function.chunk(), 1);
        self.b.jump(header, &[next]);
        self.b.seal_block(header);
        Ok(())
    }

    /// Returns the current workgroup.
    pub fn workgroup_state(&self) -> Result<WorkgroupState> {
        self.shader.workgroup()?;
        self.function.workgroup_state.ok_or_else(|| Error::internal("a workgroup outside of the loop over them"))
    }
}
