//! Frames of a shader's invocations, and calls of its code.

use super::launch::TraceError;
use crate::mem::AlignedBuf;
use crate::stage::StageMemory;
use base::abi::{InvocationBatch, ShaderContext};
use base::shader::{CompiledStage, FrameInfo, SuspensionPoint};
use std::sync::Arc;

/// Largest number of bytes of a shader's frames in a tile.
const MAX_FRAME_BYTES: usize = 1 << 29;

/// The frames of a shader's invocations. A frame is addressed by its number.
pub struct Frames {
    info: Arc<FrameInfo>,
    memory: AlignedBuf,
    /// Frames that are free, and the number of frames that have ever been in use.
    free: Vec<u32>,
    count: u32,
    /// Byte offsets of the frames of a call.
    offsets: Vec<u32>,
}

impl Frames {
    /// Makes the frames of a stage; there are none yet.
    pub fn new(stage: &CompiledStage) -> Result<Frames, TraceError> {
        let info = stage.info.frame.clone().ok_or(TraceError::Internal)?;
        Ok(Frames { info, memory: AlignedBuf::default(), free: Vec::new(), count: 0, offsets: Vec::new() })
    }

    /// Takes a frame, whose words before ray queries are 0.
    pub fn take(&mut self) -> Result<u32, TraceError> {
        let frame = match self.free.pop() {
            Some(frame) => frame,
            None => {
                if self.info.memory_bytes(self.count + 1) > MAX_FRAME_BYTES {
                    return Err(TraceError::FrameMemory);
                }
                self.count += 1;
                self.count - 1
            }
        };
        let queries = self.info.queries as usize;
        self.row(frame, 0).take(queries).for_each(|word| *word = 0);
        Ok(frame)
    }

    /// Returns a frame that was taken.
    pub fn release(&mut self, frame: u32) {
        base::alloc::or_unwind(base::alloc::push(&mut self.free, frame));
    }

    /// Returns the description of the point with a number.
    pub fn point(&self, number: u32) -> Result<SuspensionPoint, TraceError> {
        let point = (number as usize).checked_sub(1).and_then(|i| self.info.points.get(i));
        point.copied().ok_or(TraceError::Internal)
    }

    /// Returns the number of bytes of a frame.
    pub fn frame_bytes(&self) -> usize {
        self.info.words as usize * size_of::<u32>()
    }

    /// Returns the words of all frames.
    fn words(&mut self) -> &mut [u32] {
        // Growing keeps what the buffer has.
        let bytes = self.info.memory_bytes(self.count.max(1)).max(1);
        self.memory.words(bytes.div_ceil(size_of::<u32>()))
    }

    /// Returns the words of a frame from one on.
    fn row(&mut self, frame: u32, first: u32) -> impl Iterator<Item = &mut u32> {
        let at = self.index(frame, first);
        let words = self.words().get_mut(at..).unwrap_or_default();
        words.iter_mut().step_by(FrameInfo::GROUP as usize)
    }

    /// Reads words of a frame from one on.
    pub fn read(&mut self, frame: u32, first: u32, to: &mut [u32]) {
        to.iter_mut().zip(self.row(frame, first)).for_each(|(to, word)| *to = *word);
    }

    /// Writes words of a frame from one on.
    pub fn write(&mut self, frame: u32, first: u32, from: &[u32]) {
        self.row(frame, first).zip(from).for_each(|(word, from)| *word = *from);
    }

    /// Frees all frames, and keeps the memory.
    pub fn clear(&mut self) {
        self.free.clear();
        self.count = 0;
    }

    fn index(&self, frame: u32, word: u32) -> usize {
        (self.info.offset(frame) + FrameInfo::word_bytes(word)) as usize / size_of::<u32>()
    }

    /// Returns a word of a frame.
    pub fn get(&mut self, frame: u32, word: u32) -> u32 {
        let at = self.index(frame, word);
        self.words()[at]
    }

    /// Sets a word of a frame.
    pub fn set(&mut self, frame: u32, word: u32, bits: u32) {
        let at = self.index(frame, word);
        self.words()[at] = bits;
    }

    /// Runs invocations with these frames, which begin or continue behind a point. The first of
    /// `ends` become the ways in which the call has ended for them.
    pub fn call(
        &mut self,
        stage: &CompiledStage,
        context: &ShaderContext,
        scratch: &mut StageMemory,
        point: u32,
        frames: impl ExactSizeIterator<Item = u32> + Clone,
        ends: &mut Vec<u32>,
    ) {
        let count = frames.len();
        let padded = count.next_multiple_of(stage.info.lanes.max(1) as usize);
        self.offsets.clear();
        ends.clear();
        base::alloc::or_unwind(base::alloc::reserve(&mut self.offsets, padded));
        base::alloc::or_unwind(base::alloc::reserve(ends, padded));
        self.offsets.extend(frames.cycle().take(padded).map(|frame| self.info.offset(frame)));
        ends.resize(padded, 0);
        let memory = self.words().as_mut_ptr().cast();
        let mut batch = InvocationBatch {
            header: scratch.header(stage),
            count: count as u32,
            point,
            frames: self.offsets.as_ptr(),
            memory,
            ends: ends.as_mut_ptr(),
        };
        if count != 0 {
            // SAFETY: the icd guarantees that stage and context belong together and live until the
            // launch ends. `frames` and `ends` have `padded` elements. Every offset is that of a
            // frame below `self.count`, and `memory` has all of these frames, as the stage's
            // `FrameInfo` lays them out; only this thread uses them.
            unsafe { stage.run(context, (&raw mut batch).cast()) };
        }
    }
}
