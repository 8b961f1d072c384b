//! Workgroup barriers without fibers: a barrier ends the call for a chunk, which records in its
//! resume index where to continue, the number of the point. (The general part is in
//! [`super::suspend`], the frames are in [`super::chunk_frame`].)

use super::Emitter;
use crate::error::{Error, Result};
use crate::ir::Inst;
use crate::lir::Elem;

impl Emitter<'_> {
    /// Emits `Op::Barrier`: the end of one segment and the start of the next.
    pub fn barrier(&mut self, inst: Inst) -> Result<()> {
        let (number, resume) = self.new_point(inst)?;
        self.set_resume(number);
        let kept = (!self.lanes.is_full()).then(|| self.save_exec());
        let stopped_chunks = self.workgroup_state()?.stopped_chunks;
        let count = self.b.use_var(stopped_chunks);
        let count = self.b.iadd_imm(count, 1);
        self.b.def_var(stopped_chunks, count);
        let latch = self.function.latch().ok_or_else(|| Error::invalid("a barrier outside of a compute stage"))?;
        self.b.jump(latch, &[]);
        self.resume_behind(inst, resume)?;
        let mask = match kept {
            Some(slot) => self.load_slot(slot, Elem::B.by(self.lanes.count() as usize)),
            None => self.mask(true),
        };
        let full = self.lanes.is_full();
        self.set_exec(mask, full);
        Ok(())
    }
}
