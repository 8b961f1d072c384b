//! The outputs of a stage that transform feedback captures: facts that are stored with the stage's
//! code.
//!
//! In each buffer, a captured primitive becomes one vertex of [`Capture::strides`] bytes for each
//! of its vertices. Bytes between the outputs stay unchanged.

#![forbid(unsafe_code)]

use crate::limits::CAPTURE_BUFFERS;
use crate::text::FromText;

/// Outputs in consecutive slots that are written to consecutive words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromText)]
pub struct Captured {
    /// Number of the buffer, below [`CAPTURE_BUFFERS`] (`XfbBuffer`).
    pub buffer: u32,
    /// Number of bytes from the vertex's beginning in the buffer, a multiple of four (`Offset`).
    pub offset: u32,
    /// First output slot.
    pub slot: u32,
    /// Number of slots, each of which is a word. They end inside of the buffer's stride.
    pub words: u32,
}

/// The declarations of a stage's execution mode `Xfb` and the decorations of its outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, FromText)]
pub struct Capture {
    /// Number of bytes from vertex to vertex, a multiple of four (`XfbStride`); 0 if nothing is
    /// written to a buffer.
    pub strides: [u32; CAPTURE_BUFFERS],
    /// Stream of a buffer's vertices, below [`STREAMS`](crate::limits::STREAMS).
    pub streams: [u32; CAPTURE_BUFFERS],
    /// Outputs that the stage writes. A captured output that is not written leaves the buffer
    /// unchanged, because its value is undefined.
    pub outputs: Vec<Captured>,
}

impl Capture {
    /// Returns true if any output of a stream is written to a buffer.
    pub fn has(&self, stream: u32) -> bool {
        (0..CAPTURE_BUFFERS).any(|b| self.strides[b] != 0 && self.streams[b] == stream)
    }

    /// Returns the captured outputs of a stream's vertices.
    pub fn outputs_of_stream(&self, stream: u32) -> impl Iterator<Item = &Captured> {
        self.outputs.iter().filter(move |run| self.streams[run.buffer as usize] == stream)
    }

    /// Adds a word to which a slot is written.
    pub fn push(&mut self, buffer: u32, offset: u32, slot: u32) {
        let goes_on = |last: &&mut Captured| {
            last.buffer == buffer && last.offset + 4 * last.words == offset && last.slot + last.words == slot
        };
        match self.outputs.last_mut().filter(goes_on) {
            Some(last) => last.words += 1,
            None => self.outputs.push(Captured { buffer, offset, slot, words: 1 }),
        }
    }

    /// Renumbers slots, and removes those that get no number.
    pub fn keep(&mut self, number: impl Fn(u32) -> Option<u32>) {
        for run in core::mem::take(&mut self.outputs) {
            for i in 0..run.words {
                if let Some(slot) = number(run.slot + i) {
                    self.push(run.buffer, run.offset + 4 * i, slot);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capture_buffer_has_one_stream() {
        let mut capture = Capture { strides: [4, 8, 0, 4], streams: [0, 2, 1, 2], outputs: Vec::new() };
        for (buffer, slot) in [(1, 7), (0, 0), (3, 5)] {
            capture.push(buffer, 0, slot);
        }
        let slots = |stream: u32| capture.outputs_of_stream(stream).map(|run| run.slot).collect::<Vec<_>>();
        assert_eq!([0, 1, 2, 3].map(slots), [vec![0], vec![], vec![7, 5], vec![]]);
        assert_eq!([0, 1, 2, 3].map(|stream| capture.has(stream)), [true, false, true, false]);
    }

    #[test]
    fn adjacent_captured_words_are_joined() {
        let mut capture = Capture::default();
        for (buffer, offset, slot) in [(0, 0, 4), (0, 4, 5), (0, 12, 6), (1, 16, 7), (1, 20, 9), (1, 24, 10)] {
            capture.push(buffer, offset, slot);
        }
        let run = |buffer, offset, slot, words| Captured { buffer, offset, slot, words };
        assert_eq!(capture.outputs, [run(0, 0, 4, 2), run(0, 12, 6, 1), run(1, 16, 7, 1), run(1, 20, 9, 2)]);
        capture.keep(|slot| [4, 7, 9].into_iter().position(|kept| kept == slot).map(|number| number as u32));
        assert_eq!(capture.outputs, [run(0, 0, 0, 1), run(1, 16, 1, 2)], "what is beside each other now");
    }
}
