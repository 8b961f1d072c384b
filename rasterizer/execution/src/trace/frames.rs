//! Frames of a shader's invocations, and calls of its code.

use super::launch::TraceError;
use crate::mem::AlignedBuf;
use crate::stage::StageMemory;
use base::abi::{InvocationBatch, ShaderContext};
use base::shader::{CompiledStage, FrameInfo, SuspensionPoint};
use core::ops::Range;
use std::sync::Arc;

/// Largest number of bytes of a shader's frames in a tile.
const MAX_FRAME_BYTES: usize = 1 << 29;

/// The frames of a shader's invocations. A frame is known by its byte offset
/// ([`FrameInfo::offset`]).
pub struct Frames {
    info: Arc<FrameInfo>,
    /// The words that are 0 when an invocation begins.
    zeros: Range<u32>,
    memory: AlignedBuf,
    /// Frames that are free, and the number of frames that have ever been in use.
    free: Vec<u32>,
    count: u32,
    /// Byte offsets of the frames of a call.
    offsets: Vec<u32>,
}

/// Words of frames of a shader, from word `first` of each frame on.
#[derive(Clone, Copy)]
pub struct FrameWords<'a> {
    /// Number of the shader.
    pub shader: u32,
    /// The frames.
    pub frames: &'a [u32],
    /// The first of the words.
    pub first: u32,
}

impl FrameWords<'_> {
    /// Returns the index of a word, behind the first one, of frame number `i` of the list.
    #[inline]
    fn index(&self, i: usize, word: u32) -> usize {
        index(self.frames[i], self.first + word)
    }
}

/// Returns the index of a word of a frame among the words of all frames.
#[inline]
fn index(frame: u32, word: u32) -> usize {
    (frame + FrameInfo::word_bytes(word)) as usize / size_of::<u32>()
}

impl Frames {
    /// Makes the frames of a stage; there are none yet.
    pub fn new(stage: &CompiledStage) -> Result<Frames, TraceError> {
        let info = stage.info.frame.clone().ok_or(TraceError::Internal)?;
        let zeros = info.inputs + stage.info.interface.inputs.len() as u32..info.queries;
        Ok(Frames { info, zeros, memory: AlignedBuf::default(), free: Vec::new(), count: 0, offsets: Vec::new() })
    }

    /// Appends `count` frames to a list, of which the words between inputs and ray queries are 0.
    pub fn take(&mut self, count: usize, frames: &mut Vec<u32>) -> Result<(), TraceError> {
        let first = frames.len();
        base::alloc::or_unwind(base::alloc::reserve(frames, count));
        let used_again = count.min(self.free.len());
        frames.extend(self.free.drain(self.free.len() - used_again..).rev());
        let new = (count - used_again) as u32;
        if self.info.memory_bytes(self.count + new) > MAX_FRAME_BYTES {
            return Err(TraceError::FrameMemory);
        }
        frames.extend((self.count..self.count + new).map(|number| self.info.offset(number)));
        self.count += new;
        self.zero(&frames[first..], self.zeros.clone());
        Ok(())
    }

    /// Makes a list of the first `count` frames, as [`Frames::take`] does. They are not released.
    /// No other frame may be in use.
    pub fn take_first(&mut self, count: usize, frames: &mut Vec<u32>) -> Result<(), TraceError> {
        self.clear();
        frames.clear();
        self.take(count, frames)
    }

    /// Sets the words of a range to 0.
    pub fn zero(&mut self, frames: &[u32], zeros: Range<u32>) {
        let words = self.words();
        for word in zeros {
            frames.iter().for_each(|&frame| words[index(frame, word)] = 0);
        }
    }

    /// Returns a frame that was taken.
    #[inline]
    pub fn release(&mut self, frame: u32) {
        base::alloc::or_unwind(base::alloc::push(&mut self.free, frame));
    }

    /// Returns the description of the point with a number.
    #[inline]
    pub fn point(&self, number: u32) -> Result<SuspensionPoint, TraceError> {
        let point = (number as usize).checked_sub(1).and_then(|i| self.info.points.get(i));
        point.copied().ok_or(TraceError::Internal)
    }

    /// Returns the number of bytes of a frame.
    pub fn frame_bytes(&self) -> usize {
        self.info.words as usize * size_of::<u32>()
    }

    /// Frees all frames, and keeps the memory.
    pub fn clear(&mut self) {
        self.free.clear();
        self.count = 0;
    }

    /// Returns the words of all frames.
    #[inline]
    fn words(&mut self) -> &mut [u32] {
        // Growing keeps what the buffer has. Behind the frames there is room for the words of any
        // offset below their end.
        let bytes = self.info.memory_bytes(self.count) + self.info.memory_bytes(1) + FrameInfo::word_bytes(1) as usize;
        self.memory.words(bytes.div_ceil(size_of::<u32>()))
    }

    /// Reads words of a frame from one on.
    #[inline]
    pub fn read(&mut self, frame: u32, first: u32, to: &mut [u32]) {
        let words = self.words();
        (first..).zip(to).for_each(|(word, to)| *to = words[index(frame, word)]);
    }

    /// Returns a word of a frame.
    #[inline]
    pub fn get(&mut self, frame: u32, word: u32) -> u32 {
        self.words()[index(frame, word)]
    }

    /// Sets words of frames, from word `own` on, to `count` of the words that a function returns
    /// for each frame, from the one with number `first` on.
    #[inline]
    pub fn set_each<const N: usize>(
        &mut self,
        frames: &[u32],
        (own, first, count): (u32, u32, u32),
        words_of: impl Fn(usize) -> [u32; N],
    ) -> Result<(), TraceError> {
        let (first, count) = (first as usize, count as usize);
        if first + count > N {
            return Err(TraceError::Internal);
        }
        let words = self.words();
        for (i, &frame) in frames.iter().enumerate() {
            let values = words_of(i);
            (own..).zip(&values[first..first + count]).for_each(|(word, value)| words[index(frame, word)] = *value);
        }
        Ok(())
    }

    /// Runs invocations with these frames, which begin or continue behind a point. The first of
    /// `ends` become the ways in which the call has ended for them.
    pub fn call(
        &mut self,
        stage: &CompiledStage,
        context: &ShaderContext,
        scratch: &mut StageMemory,
        point: u32,
        frames: &[u32],
        ends: &mut Vec<u32>,
    ) -> Result<(), TraceError> {
        // Offsets differ even if frames have no words.
        let end = self.info.memory_bytes(self.count).max(FrameInfo::word_bytes(1) as usize);
        if frames.iter().any(|&frame| frame as usize >= end || !frame.is_multiple_of(4)) {
            return Err(TraceError::Internal);
        }
        let count = frames.len();
        let padded = count.next_multiple_of(stage.info.lanes.max(1) as usize);
        self.offsets.clear();
        ends.clear();
        base::alloc::or_unwind(base::alloc::reserve(&mut self.offsets, padded));
        base::alloc::or_unwind(base::alloc::reserve(ends, padded));
        self.offsets.extend_from_slice(frames);
        self.offsets.extend(frames.iter().cycle().take(padded - count));
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
            // launch ends. `frames` and `ends` have `padded` elements. Every offset is below the
            // end of the frames, and `words` has made `memory` long enough for the words of a frame
            // at any such offset; only this thread uses them.
            unsafe { stage.run(context, (&raw mut batch).cast()) };
        }
        Ok(())
    }
}

/// Copies `count` words of each frame of a list to the frame of another list that is at the same
/// place.
pub fn copy_words(all: &mut [Frames], from: FrameWords<'_>, to: FrameWords<'_>, count: u32) -> Result<(), TraceError> {
    let (source, target) = (from.shader as usize, to.shader as usize);
    if source == target {
        let words = all.get_mut(source).ok_or(TraceError::Internal)?.words();
        for word in 0..count {
            (0..to.frames.len()).for_each(|i| words[to.index(i, word)] = words[from.index(i, word)]);
        }
        return Ok(());
    }
    let [source, target] = all.get_disjoint_mut([source, target]).map_err(|_| TraceError::Internal)?;
    let (source, target) = (source.words(), target.words());
    for word in 0..count {
        (0..to.frames.len()).for_each(|i| target[to.index(i, word)] = source[from.index(i, word)]);
    }
    Ok(())
}
