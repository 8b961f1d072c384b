//! Suspension: an invocation stops at a point of its stage while its thread runs something else,
//! and a later call continues it behind that point.
//!
//! A point is a reason and a number. What lives across a point waits in a *frame*. The reason
//! determines the layout of frames ([`FrameLayout`]). A frame of an invocation and the numbers of
//! points follow from the stage alone, and not from the number of lanes or the tier of its code, so
//! that any code of the stage may continue an invocation.

#![forbid(unsafe_code)]

use super::{HitObjectField, InstanceWord};

/// Layout of the frames of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameLayout {
    /// All lanes of a chunk stop and continue together. A frame belongs to the chunk and is
    /// accessed with vectors.
    Chunk,
    /// Each lane stops on its own and may continue beside lanes of other chunks. A frame belongs to
    /// the invocation ([`FrameInfo`]).
    Invocation,
}

/// Reason why invocations are suspended; the operation table names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SuspendReason {
    /// The other invocations of the workgroup have to reach a barrier (`OpControlBarrier`).
    Barrier,
    /// A callable shader has to run (`OpExecuteCallableKHR`). The operands are those of
    /// [`ExecuteCallableOperand`](super::ExecuteCallableOperand) and the data, which the shader
    /// changes.
    ExecuteCallable,
    /// A ray has to be traced, with the shaders that it runs (`OpTraceRayKHR`). The operands are
    /// those of [`TraceRayOperand`](super::TraceRayOperand) and the payload, which the shaders
    /// change.
    TraceRay,
    /// An any-hit shader may have to decide about an intersection (`OpReportIntersectionKHR`). The
    /// operands are the hit attribute and those of
    /// [`ReportIntersectionOperand`](super::ReportIntersectionOperand).
    ReportIntersection,
    /// A ray has to be traced as for `TraceRay`, but its closest-hit or miss shader does not run.
    /// The words of the hit object are results behind the payload (`OpHitObjectTraceRayEXT`).
    TraceHitObject,
    /// The closest-hit or miss shader of a hit object has to run (`OpHitObjectExecuteShaderEXT`).
    /// The operands are the hit object's words and the payload, which the shader changes.
    ExecuteHitObject,
    /// Invocations that do similar work are to continue together (`OpReorderThreadWithHintEXT`).
    /// The operands are those of [`ReorderOperand`](super::ReorderOperand).
    Reorder,
    /// An instance of a structure is asked for (`OpHitObjectRecordHitNV`). The operands are those
    /// of [`ReadInstanceOperand`](super::ReadInstanceOperand), and the results the words of
    /// [`InstanceWord`](super::InstanceWord).
    ReadInstance,
}

impl SuspendReason {
    /// Returns the layout of the frames of stages that are suspended for this reason.
    pub const fn frame_layout(self) -> FrameLayout {
        match self {
            SuspendReason::Barrier => FrameLayout::Chunk,
            SuspendReason::ExecuteCallable | SuspendReason::TraceRay => FrameLayout::Invocation,
            SuspendReason::ReportIntersection | SuspendReason::TraceHitObject => FrameLayout::Invocation,
            SuspendReason::ExecuteHitObject | SuspendReason::Reorder => FrameLayout::Invocation,
            SuspendReason::ReadInstance => FrameLayout::Invocation,
        }
    }

    /// Returns the number of results that are no operands; they follow the operands' words.
    pub const fn new_words(self) -> u32 {
        match self {
            SuspendReason::TraceHitObject => HitObjectField::WORDS,
            SuspendReason::ReadInstance => InstanceWord::COUNT,
            SuspendReason::Barrier | SuspendReason::ExecuteCallable | SuspendReason::TraceRay => 0,
            SuspendReason::ReportIntersection | SuspendReason::ExecuteHitObject | SuspendReason::Reorder => 0,
        }
    }
}

/// A point at which single invocations are suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspensionPoint {
    /// Reason of the suspension.
    pub reason: SuspendReason,
    /// Number of the first words of the frame that hold operands while the invocation waits, and
    /// of the words for new results behind them ([`SuspendReason::new_words`]).
    pub operands: u32,
    /// Number of the last of these words that must hold results when the invocation continues.
    pub results: u32,
    /// True if the invocation has no effect behind the point, so that it need not continue.
    pub is_last: bool,
}

impl SuspensionPoint {
    /// Returns the number of words that the shader that is called reads and changes. They are the
    /// first results.
    pub const fn data_words(&self) -> u32 {
        self.results.saturating_sub(self.reason.new_words())
    }
}

/// The frame of an invocation of a stage, and the points at which the invocation may be suspended.
///
/// Frames lie in groups of [`FrameInfo::GROUP`]: a group has a row for each word, with the word of
/// each of its frames. The words are, in this order: operands and results of a point, inputs of the
/// stage, values that live across points, private arrays, ray queries. When an invocation begins,
/// its inputs must be set and the words between them and [`FrameInfo::queries`] must be 0.
///
/// The words of a variable of ray queries are not those of one frame: the bytes of its rows in a
/// group are divided among the group's frames, so that a query is one piece of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameInfo {
    /// Number of words of a frame, at most [`MAX_FRAME_WORDS`](crate::limits::MAX_FRAME_WORDS).
    pub words: u32,
    /// Word of the first input slot, which the others follow.
    pub inputs: u32,
    /// Number of the words before ray queries. Only generated code may access those behind them.
    pub queries: u32,
    /// The points; that of number n is at n - 1, because 0 is the start of the stage.
    pub points: Vec<SuspensionPoint>,
}

impl FrameInfo {
    /// Number of frames of a group. A row of words is as long as a cache line.
    pub const GROUP: u32 = 16;

    /// Returns the number of bytes from the first word of a frame to the word `word`.
    #[inline]
    pub const fn word_bytes(word: u32) -> u32 {
        word * Self::GROUP * size_of::<u32>() as u32
    }

    /// Returns the number of bytes from the first to behind the last byte of a frame.
    pub const fn span(words: u32) -> u32 {
        Self::word_bytes(words.saturating_sub(1)) + size_of::<u32>() as u32
    }

    /// Returns the number of bytes of a number of frames.
    #[inline]
    pub fn memory_bytes(&self, frames: u32) -> usize {
        frames.div_ceil(Self::GROUP) as usize * Self::word_bytes(self.words) as usize
    }

    /// Returns the byte offset of the first word of a frame.
    #[inline]
    pub const fn offset(&self, frame: u32) -> u32 {
        frame / Self::GROUP * Self::word_bytes(self.words) + frame % Self::GROUP * size_of::<u32>() as u32
    }
}

/// The way in which a call has ended for an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvocationEnd {
    /// The invocation has returned from its entry point.
    Returned,
    /// The invocation has ended its ray (`OpTerminateRayKHR`).
    Terminated,
    /// The invocation has ignored its intersection (`OpIgnoreIntersectionKHR`).
    Ignored,
    /// The invocation waits at the point with this number, which is not 0.
    Suspended(u32),
}

impl InvocationEnd {
    /// Returns the word that code writes.
    pub const fn word(self) -> u32 {
        match self {
            InvocationEnd::Returned => 0,
            InvocationEnd::Terminated => u32::MAX,
            InvocationEnd::Ignored => u32::MAX - 1,
            InvocationEnd::Suspended(point) => point,
        }
    }

    /// Returns the meaning of a word that code has written.
    #[inline]
    pub const fn from_word(word: u32) -> InvocationEnd {
        const IGNORED: u32 = InvocationEnd::Ignored.word();
        match word {
            0 => InvocationEnd::Returned,
            u32::MAX => InvocationEnd::Terminated,
            IGNORED => InvocationEnd::Ignored,
            point => InvocationEnd::Suspended(point),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn frames_do_not_overlap_and_fill_their_memory() {
        let info = FrameInfo { words: 5, ..FrameInfo::default() };
        let words = |frame| (0..info.words).map(move |word| (frame, word));
        let bytes: HashSet<u32> = (0..2 * FrameInfo::GROUP)
            .flat_map(words)
            .map(|(frame, word)| info.offset(frame) + FrameInfo::word_bytes(word))
            .collect();
        assert_eq!(bytes.len() * 4, info.memory_bytes(2 * FrameInfo::GROUP));
        assert_eq!(bytes.iter().max().map(|last| *last as usize + 4), Some(info.memory_bytes(FrameInfo::GROUP + 1)));
        let last = info.offset(3) + FrameInfo::word_bytes(4) + 4;
        assert_eq!(info.offset(3) + FrameInfo::span(5), last);
    }

    #[test]
    fn ends_are_words() {
        let ends = [InvocationEnd::Returned, InvocationEnd::Terminated, InvocationEnd::Ignored];
        for end in ends.into_iter().chain([InvocationEnd::Suspended(7)]) {
            assert_eq!(InvocationEnd::from_word(end.word()), end);
        }
    }
}
