//! The loop over the workgroups of a call, and over the passes of a workgroup with barriers.
//!
//! A pass goes through all chunks, each of which runs until it is done or has stopped at a barrier.
//! If any chunk has stopped, another pass follows. The abort flag is polled before every workgroup
//! and every further pass.

use super::Emitter;
use super::function_frame::WorkgroupState;
use super::memory::{read_only, trusted};
use crate::error::Result;
use crate::lir::{AccessReason, Block, IntCond, Type, Value as C};
use base::abi::ComputeBatch;
use core::mem::offset_of;

impl Emitter<'_> {
    /// Loads the words of a field of the batch.
    fn batch_words<const N: usize>(&mut self, field: usize) -> [C; N] {
        core::array::from_fn(|i| {
            self.b.load(Type::I32, read_only(AccessReason::Field, (field + 4 * i) as i32), self.function.batch())
        })
    }

    /// Emits the loop over the workgroups of the batch, whose body is the passes.
    pub fn workgroup_loop(&mut self) -> Result<()> {
        let entry = self.function.entry_block();
        let base: [C; 3] = self.batch_words(offset_of!(ComputeBatch, base));
        let groups: [C; 2] = self.batch_words(offset_of!(ComputeBatch, groups));
        let first: [C; 3] = self.batch_words(offset_of!(ComputeBatch, first));
        let [count]: [C; 1] = self.batch_words(offset_of!(ComputeBatch, count));
        let (header, done) = (self.b.create_block(), self.b.create_block());
        // Position of the workgroup, and the number of workgroups that are left.
        let [x, y, z, left] = [(); 4].map(|()| self.b.append_param(header, Type::I32));
        self.b.enter_dominated_by(header, entry);
        self.poll_abort();
        let id = core::array::from_fn(|i| self.b.iadd(base[i], [x, y, z][i]));
        self.start_workgroup_state([count, left])?;
        let block = self.b.current();
        let stopped_chunks = self.b.declare_var(Type::I32);
        self.function.set_workgroup_state(WorkgroupState { id, block, stopped_chunks });
        self.passes(done)?;
        self.enter(done);
        let next = self.next_workgroup([x, y, z], groups);
        let left_then = self.b.iadd_imm(left, -1);
        let exit = self.function.exit();
        let more = self.b.icmp_imm(IntCond::Ne, left_then, 0);
        let [x, y, z] = next;
        self.b.branch(more, header, &[x, y, z, left_then], exit, &[]);
        self.b.resume_block(entry);
        let [x, y, z] = first;
        self.b.jump(header, &[x, y, z, count]);
        self.b.seal_block(header);
        Ok(())
    }

    /// Returns the position that follows a position; x runs fastest.
    fn next_workgroup(&mut self, [x, y, z]: [C; 3], [width, height]: [C; 2]) -> [C; 3] {
        let zero = self.b.iconst(Type::I32, 0);
        let step = |e: &mut Self, at: C, end: C| {
            let next = e.b.iadd_imm(at, 1);
            let wraps = e.b.icmp(IntCond::Eq, next, end);
            (e.b.select(wraps, zero, next), wraps)
        };
        let (next_x, row_ends) = step(self, x, width);
        let (next_y, slice_ends) = step(self, y, height);
        let next_y = self.b.select(row_ends, next_y, y);
        let both = self.b.and(row_ends, slice_ends);
        let further = self.b.iadd_imm(z, 1);
        let next_z = self.b.select(both, further, z);
        [next_x, next_y, next_z]
    }

    /// Emits the initial state of a workgroup. The call has `count` workgroups, of which `left` are
    /// left.
    ///
    /// No chunk has started, and workgroup memory is zero, whether the shader asks for that or not.
    /// A workgroup must not see data of other dispatches, of whatever device, and a value must not
    /// depend on the worker that runs the workgroup.
    fn start_workgroup_state(&mut self, [count, left]: [C; 2]) -> Result<()> {
        let workgroup = *self.shader.workgroup()?;
        if self.shader.stage().has_workgroup_outputs() {
            // Each workgroup has its own memory, which is zero except for its input data.
            let number = self.b.isub(count, left);
            let number = self.b.zext(Type::I64, number);
            let offset = self.b.imul_imm(number, i64::from(workgroup.workgroup_stride()));
            self.function.set_shared(self.b.iadd(self.function.shared(), offset));
        } else {
            let (bytes, shared) = (workgroup.shared_bytes, self.function.shared());
            self.clear_bytes(AccessReason::Shared, shared, bytes & !15);
            // The last bytes, which may be fewer than a word: an array of bytes has any length.
            let words = bytes & !3;
            let zero = self.b.iconst(Type::I32, 0);
            for at in (bytes & !15..words).step_by(4) {
                self.b.store(trusted(AccessReason::Shared, at as i32), zero, shared);
            }
            let zero = self.b.iconst(Type::I8, 0);
            for at in words..bytes {
                self.b.store(trusted(AccessReason::Shared, at as i32), zero, shared);
            }
        }
        if self.suspension.any() {
            let (bytes, scratch) = (self.suspension.chunk_frame.slots_start(), self.function.scratch());
            self.clear_bytes(AccessReason::Scratch, scratch, bytes);
        }
        Ok(())
    }

    /// Emits passes until no chunk has stopped, and then a jump to `done`.
    fn passes(&mut self, done: Block) -> Result<()> {
        // The first block of the workgroup stays open.
        let (start, pass) = (self.b.current(), self.b.create_block());
        self.b.enter_dominated_by(pass, start);
        if !self.suspension.any() {
            self.chunk_loop(done)?;
        } else {
            let stopped_chunks = self.workgroup_state()?.stopped_chunks;
            let zero = self.b.iconst(Type::I32, 0);
            self.b.def_var(stopped_chunks, zero);
            let end = self.b.create_block();
            self.chunk_loop(end)?;
            self.enter(end);
            let count = self.b.use_var(stopped_chunks);
            let again = self.b.create_block();
            let more = self.b.icmp_imm(IntCond::Ne, count, 0);
            self.b.branch(more, again, &[], done, &[]);
            self.enter(again);
            self.poll_abort();
            self.b.jump(pass, &[]);
        }
        self.b.resume_block(start);
        self.b.jump(pass, &[]);
        self.b.seal_block(pass);
        Ok(())
    }
}
