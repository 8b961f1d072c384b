//! Active transform feedback: its buffers, and how far they are filled.
//!
//! The thread that appends draws reserves space for primitives in draw order, before they are
//! written. A chunk whose number of primitives is known before it is shaded gets its space at once.
//! Other chunks get it when the front end has run all chunks before them. Chunks can thus be
//! written in any order.

#![forbid(unsafe_code)]

use base::limits::{CAPTURE_BUFFERS, STREAMS};
use base::mem::MemoryRange;
use base::shader::Capture;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The space of some consecutive primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureSpan {
    /// Byte offset of the first vertex in each buffer.
    pub at: [u32; CAPTURE_BUFFERS],
    /// Number of primitives that fit all buffers; later ones are not written.
    pub primitives: u32,
}

impl CaptureSpan {
    /// Returns the space after the first `primitives` primitives, of `vertices` vertices each.
    pub fn after(self, capture: &Capture, vertices: u32, primitives: u32) -> CaptureSpan {
        let primitives = primitives.min(self.primitives);
        let mut at = self.at;
        for (byte, stride) in at.iter_mut().zip(capture.strides) {
            // (In buffers of other streams, the offset has no meaning.)
            *byte = byte.wrapping_add(stride.wrapping_mul(vertices).wrapping_mul(primitives));
        }
        CaptureSpan { at, primitives: self.primitives - primitives }
    }
}

/// Transform feedback from the command that makes it active to the one that ends it.
#[derive(Debug)]
pub struct Feedback {
    buffers: [MemoryRange; CAPTURE_BUFFERS],
    filled: Mutex<FillState>,
    /// Number of chunks that have no space yet.
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct FillState {
    /// Byte offset of the next vertex.
    bytes: [u32; CAPTURE_BUFFERS],
    /// True if a primitive of the stream did not fit, after which none is written.
    full: [bool; STREAMS],
}

impl Feedback {
    /// Makes transform feedback for buffers from their binding's offset on (null: not bound), given
    /// the byte in each at which writing begins.
    pub fn new(buffers: [MemoryRange; CAPTURE_BUFFERS], starts: [u32; CAPTURE_BUFFERS]) -> Feedback {
        // Offsets have 32 bits, so a buffer ends there.
        let buffers =
            buffers.map(|MemoryRange { address, size }| MemoryRange { address, size: size.min(u32::MAX.into()) });
        let filled = Mutex::new(FillState { bytes: starts, full: [false; STREAMS] });
        Feedback { buffers, filled, waiting: AtomicUsize::new(0) }
    }

    /// Returns the memory of a buffer; null if nothing is captured in it.
    pub fn buffer(&self, number: u32) -> MemoryRange {
        self.buffers.get(number as usize).copied().unwrap_or(MemoryRange::NULL)
    }

    /// Returns the byte offset in the buffers of the next vertex; it is final only if
    /// [`Feedback::has_all_spans`].
    pub fn bytes(&self) -> [u32; CAPTURE_BUFFERS] {
        self.filled.lock().bytes
    }

    /// Returns true if all primitives of the draws so far have their space.
    pub fn has_all_spans(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }

    /// Records a chunk that gets its space later.
    pub(crate) fn defer_span(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that a waiting chunk has its space now.
    pub(crate) fn finish_deferred_span(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Reserves the space of the next primitives of a stream, of `vertices` vertices each.
    pub(crate) fn reserve(&self, capture: &Capture, stream: u32, vertices: u32, primitives: u32) -> CaptureSpan {
        let mut filled = self.filled.lock();
        let FillState { bytes, full } = &mut *filled;
        let at = *bytes;
        let active =
            |&b: &usize| capture.strides[b] != 0 && capture.streams[b] == stream && !self.buffers[b].address.is_null();
        let mut fit = if full[stream as usize] { 0 } else { primitives };
        for b in (0..CAPTURE_BUFFERS).filter(active) {
            let room = self.buffers[b].size.saturating_sub(at[b].into());
            let max = room / (u64::from(capture.strides[b]) * u64::from(vertices));
            fit = fit.min(max.try_into().unwrap_or(u32::MAX));
        }
        full[stream as usize] |= fit < primitives;
        for b in (0..CAPTURE_BUFFERS).filter(active) {
            bytes[b] += fit * vertices * capture.strides[b];
        }
        CaptureSpan { at, primitives: fit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a buffer with a dummy address, to which nothing is written.
    fn buffer(size: u64) -> MemoryRange {
        MemoryRange { address: core::ptr::dangling_mut(), size }
    }

    fn capture(strides: [u32; CAPTURE_BUFFERS]) -> Capture {
        Capture { strides, ..Capture::default() }
    }

    #[test]
    fn primitives_are_written_only_if_they_fit_all_buffers() {
        let buffers = [buffer(100), buffer(1000), MemoryRange::NULL, buffer(7)];
        let feedback = Feedback::new(buffers, [4, 8, 12, 3]);
        let capture = capture([8, 4, 16, 0]);
        // The buffer has 96 bytes: four triangles of 24 fit; after they are full, no line is
        // written although one would fit.
        assert_eq!(feedback.reserve(&capture, 0, 3, 3), CaptureSpan { at: [4, 8, 12, 3], primitives: 3 });
        assert_eq!(feedback.bytes(), [76, 44, 12, 3], "the third is not bound, nothing goes to the fourth");
        let span = CaptureSpan { at: [4, 8, 12, 3], primitives: 3 };
        assert_eq!(span.after(&capture, 3, 2), CaptureSpan { at: [52, 32, 108, 3], primitives: 1 });
        assert_eq!(span.after(&capture, 3, 9).primitives, 0);
        assert_eq!(feedback.reserve(&capture, 0, 3, 2), CaptureSpan { at: [76, 44, 12, 3], primitives: 1 });
        let feedback = Feedback::new([buffer(28), buffer(1000), buffer(0), buffer(0)], [0; 4]);
        let capture = self::capture([8, 4, 0, 0]);
        assert_eq!(feedback.reserve(&capture, 0, 3, 2).primitives, 1);
        assert_eq!(feedback.bytes(), [24, 12, 0, 0]);
        assert_eq!(feedback.reserve(&capture, 0, 1, 0).primitives, 0);
        let wide = Feedback::new([buffer(36), buffer(1000), buffer(0), buffer(0)], [0; 4]);
        assert_eq!(wide.reserve(&capture, 0, 3, 2).primitives, 1);
        assert_eq!(wide.reserve(&capture, 0, 1, 1).primitives, 0, "a point would fit behind the triangle that did not");
    }

    #[test]
    fn offsets_beyond_a_buffer_leave_no_space() {
        let feedback = Feedback::new([buffer(64); CAPTURE_BUFFERS], [u32::MAX; CAPTURE_BUFFERS]);
        assert_eq!(feedback.reserve(&capture([4; CAPTURE_BUFFERS]), 0, 1, u32::MAX).primitives, 0);
        assert_eq!(feedback.bytes(), [u32::MAX; CAPTURE_BUFFERS]);
        let huge = Feedback::new([buffer(u64::MAX); CAPTURE_BUFFERS], [0; CAPTURE_BUFFERS]);
        assert_eq!(huge.reserve(&capture([2048; CAPTURE_BUFFERS]), 0, 3, u32::MAX).primitives, u32::MAX / 6144);
    }
}
