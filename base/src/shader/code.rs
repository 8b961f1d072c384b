//! A stage that can be run.

use super::facts::StageFacts;
use crate::abi::{BatchHeader, ShaderContext, StageFn};
use crate::epilogue::Epilogue;
use std::sync::Arc;

/// The code of a stage, as those who run it see it: it may be made late, and replaced by better code between two batches.
pub trait StageCode: Send + Sync {
    /// Runs a batch. Who runs code has made sure before that there is some; without it nothing is done.
    ///
    /// # Safety
    /// As [`StageFn`]'s.
    unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader);

    /// Bytes of scratch memory that a batch needs (with workgroups: of a whole one); known when there is code.
    fn scratch_bytes(&self) -> usize;

    /// Of a fragment stage: code that takes a [`RectangleBatch`](crate::abi::RectangleBatch) and writes the colours itself, if there is any by now. Who asks often may be given some later.
    fn with_epilogue(&self, _epilogue: &Epilogue) -> Option<Arc<dyn StageCode>> {
        None
    }
}

/// Code that is a plain function, without private memory.
impl StageCode for StageFn {
    unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader) {
        // SAFETY: the caller's promise.
        unsafe { self(context, batch) }
    }

    fn scratch_bytes(&self) -> usize {
        0
    }
}

/// A stage and its code. Cloning shares the code; the code's memory goes back when the last clone is dropped.
#[derive(Clone)]
pub struct CompiledStage {
    /// What is known of it.
    pub facts: StageFacts,
    /// What runs.
    pub code: Arc<dyn StageCode>,
}

impl CompiledStage {
    /// Runs a batch.
    ///
    /// # Safety
    /// `batch` is the stage's own batch struct; both are valid for the call and laid out as the stage's interface says.
    pub unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader) {
        // SAFETY: the caller's promise.
        unsafe { self.code.run(context, batch) }
    }
}

impl core::fmt::Debug for CompiledStage {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CompiledStage").field("facts", &self.facts).finish_non_exhaustive()
    }
}
