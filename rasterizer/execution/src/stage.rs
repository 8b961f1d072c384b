//! Calls of compiled stages: the memory of their batches, and the abort flag.

use crate::mem::AlignedBuf;
use base::abi::{BatchHeader, ShaderContext};
use base::shader::CompiledStage;
use std::sync::atomic::Ordering;

/// Number of bytes at `BatchHeader::sink`.
const SINK_BYTES: usize = 64;

/// Memory of a worker for the stages that it calls.
#[derive(Default)]
pub struct StageMemory {
    scratch: AlignedBuf,
    sink: AlignedBuf,
    /// Workgroup memory.
    pub shared: AlignedBuf,
}

impl StageMemory {
    /// Returns the header of a batch, with the scratch memory that the stage requires.
    #[inline]
    pub fn header(&mut self, stage: &CompiledStage) -> BatchHeader {
        let scratch = self.scratch.ensure(stage.code.scratch_bytes());
        BatchHeader { scratch, sink: self.sink.ensure(SINK_BYTES) }
    }

    /// Frees memory if more than `bytes` bytes are kept.
    pub fn trim(&mut self, bytes: usize) {
        self.scratch.trim(bytes);
        self.shared.trim(bytes);
    }
}

/// Returns true if the context's abort flag is set: the device is lost or the shader's budget is
/// spent.
#[inline]
pub fn aborted(context: &ShaderContext) -> bool {
    // SAFETY: `abort` is never null and lives as long as the context, as `ShaderContext` requires.
    unsafe { (*context.abort).load(Ordering::Relaxed) != 0 }
}
