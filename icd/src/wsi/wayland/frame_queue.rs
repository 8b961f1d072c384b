//! The queue of frames for the compositor, which decides when each is shown, without Wayland's
//! objects.
//!
//! In FIFO mode the next frame is shown when the compositor requests it (`wl_surface.frame`), or
//! after [`HIDDEN_FRAME_INTERVAL`], because it requests none for an invisible surface. In MAILBOX
//! mode a frame is shown at once and replaces the shown one, unless that is a FIFO frame whose time
//! is not over.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Time between frames of a surface for which the compositor requests none.
pub const HIDDEN_FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// Frames in order.
#[derive(Debug)]
pub struct FrameQueue<F> {
    waiting: VecDeque<(F, bool)>,
    /// Instant since which the last frame is shown, if it stays until its time is over.
    shown_since: Option<Instant>,
}

impl<F> Default for FrameQueue<F> {
    fn default() -> FrameQueue<F> {
        FrameQueue { waiting: VecDeque::new(), shown_since: None }
    }
}

impl<F> FrameQueue<F> {
    /// Appends a frame; `is_fifo` means that it is shown until its time is over (FIFO).
    pub fn push(&mut self, frame: F, is_fifo: bool) {
        self.waiting.push_back((frame, is_fifo));
    }

    /// Returns the frame to show now, and whether the compositor is to report the end of its time.
    pub fn next(&mut self, now: Instant) -> Option<(F, bool)> {
        if self.shown_since.is_some_and(|since| now < since + HIDDEN_FRAME_INTERVAL) {
            return None;
        }
        let (frame, is_fifo) = self.waiting.pop_front()?;
        self.shown_since = is_fifo.then_some(now);
        Some((frame, is_fifo))
    }

    /// Ends the time of the last frame.
    pub fn done(&mut self) {
        self.shown_since = None;
    }

    /// Returns the instant at which to request the [`next`](Self::next) frame if the compositor
    /// reports nothing.
    pub fn due(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then(|| self.shown_since.map(|since| since + HIDDEN_FRAME_INTERVAL)).flatten()
    }

    /// Removes the frames for which `keep` returns false.
    pub fn retain(&mut self, mut keep: impl FnMut(&F) -> bool) {
        self.waiting.retain(|(frame, _)| keep(frame));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifo_frames_wait_for_their_time() {
        let t = Instant::now();
        let mut queue = FrameQueue::default();
        (1..=3).for_each(|frame| queue.push(frame, true));
        assert_eq!(queue.next(t), Some((1, true)));
        assert_eq!((queue.next(t), queue.due()), (None, Some(t + HIDDEN_FRAME_INTERVAL)));
        queue.done();
        assert_eq!((queue.next(t), queue.next(t)), (Some((2, true)), None));
        assert_eq!(queue.next(t + HIDDEN_FRAME_INTERVAL), Some((3, true)), "nobody sees it");
        assert_eq!((queue.next(t + 3 * HIDDEN_FRAME_INTERVAL), queue.due()), (None, None));
    }

    #[test]
    fn mailbox_frames_replace_waiting_ones() {
        let t = Instant::now();
        let mut queue = FrameQueue::default();
        queue.push(1, true);
        (2..=4).for_each(|frame| queue.push(frame, false));
        assert_eq!((queue.next(t), queue.next(t)), (Some((1, true)), None), "it has not been seen");
        queue.done();
        queue.retain(|frame| *frame != 3);
        assert_eq!((queue.next(t), queue.next(t), queue.next(t)), (Some((2, false)), Some((4, false)), None));
    }
}
