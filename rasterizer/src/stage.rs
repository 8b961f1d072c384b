//! Calls of compiled stages: the memory of their batches, slots, and the abort flag.

use crate::mem::AlignedBuf;
use base::abi::{BatchHeader, ShaderContext};
use base::shader::CompiledStage;
use std::sync::atomic::Ordering;

/// No slot of an interface.
pub const NO_SLOT: u16 = u16::MAX;

/// Bytes at `BatchHeader::sink`.
const SINK_BYTES: usize = 64;

/// What a worker has for the stages it calls.
#[derive(Default)]
pub struct StageMemory {
    scratch: AlignedBuf,
    sink: AlignedBuf,
    /// Workgroup memory.
    pub shared: AlignedBuf,
}

impl StageMemory {
    /// The header of a batch, with the scratch memory that the stage asks for.
    pub fn header(&mut self, stage: &CompiledStage) -> BatchHeader {
        let scratch = self.scratch.ensure(stage.code.scratch_bytes());
        BatchHeader { scratch, sink: self.sink.ensure(SINK_BYTES) }
    }

    /// Gives memory back where more than `bytes` are kept.
    pub fn trim(&mut self, bytes: usize) {
        self.scratch.trim(bytes);
        self.shared.trim(bytes);
    }
}

/// The context's abort flag is set: the device is lost or the shader's budget spent.
pub fn aborted(context: &ShaderContext) -> bool {
    // SAFETY: `abort` is never null and lives as long as the context (its contract).
    unsafe { (*context.abort).load(Ordering::Relaxed) != 0 }
}
