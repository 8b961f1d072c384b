//! Stages that can be run.

use super::info::ShaderInfo;
use crate::abi::{BatchHeader, ShaderContext, StageFn};
use crate::epilogue::Epilogue;
use std::sync::Arc;

/// The code of a stage from the view of its callers: it may be made late, and replaced by better
/// code between two batches.
pub trait StageCode: Send + Sync {
    /// Runs a batch. The caller must have ensured that there is code; without it, nothing is done.
    ///
    /// # Safety
    /// The requirements of [`StageFn`] hold.
    unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader);

    /// Returns the number of bytes of scratch memory that a batch needs (with workgroups, that of a
    /// whole one); it is known when there is code.
    fn scratch_bytes(&self) -> usize;

    /// Returns code of a fragment stage that takes a [`RectangleBatch`](crate::abi::RectangleBatch)
    /// and writes the colours itself, if it exists yet. Repeated calls may cause it to be compiled.
    fn with_epilogue(&self, _epilogue: &Epilogue) -> Option<Arc<dyn StageCode>> {
        None
    }
}

/// The code of a plain function, without private memory.
impl StageCode for StageFn {
    unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader) {
        // SAFETY: context and batch are valid for the call and laid out as [`StageFn`] requires,
        // which [`StageCode::run`] demands.
        unsafe { self(context, batch) }
    }

    fn scratch_bytes(&self) -> usize {
        0
    }
}

/// A stage and its code. Cloning shares the code, whose memory is freed when the last clone is
/// dropped.
#[derive(Clone)]
pub struct CompiledStage {
    /// Properties of the stage.
    pub info: ShaderInfo,
    /// The code that runs.
    pub code: Arc<dyn StageCode>,
}

impl CompiledStage {
    /// Runs a batch.
    ///
    /// # Safety
    /// `batch` is the stage's own batch struct; both arguments are valid for the call and laid out
    /// as the stage's interface specifies.
    pub unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader) {
        // SAFETY: `batch` is the stage's own batch struct, and both arguments are valid for the
        // call (`# Safety`).
        unsafe { self.code.run(context, batch) }
    }
}

impl core::fmt::Debug for CompiledStage {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CompiledStage").field("info", &self.info).finish_non_exhaustive()
    }
}
