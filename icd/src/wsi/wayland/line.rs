//! The queue of frames for the compositor, which decides when each is shown, without Wayland's
//! objects.
//!
//! In FIFO mode the next frame is shown when the compositor requests it (`wl_surface.frame`), or
//! after [`HIDDEN`], because it requests none for an invisible surface. In MAILBOX mode a frame is
//! shown at once and replaces the shown one, unless that is a FIFO frame whose time is not over.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Time between frames of a surface for which the compositor requests none.
pub const HIDDEN: Duration = Duration::from_millis(100);

/// Frames in order.
#[derive(Debug)]
pub struct Line<F> {
    waiting: VecDeque<(F, bool)>,
    /// Instant since which the last frame is shown, if it stays until its time is over.
    stays: Option<Instant>,
}

impl<F> Default for Line<F> {
    fn default() -> Line<F> {
        Line { waiting: VecDeque::new(), stays: None }
    }
}

impl<F> Line<F> {
    /// Appends a frame; `stays` means that it is shown until its time is over (FIFO).
    pub fn push(&mut self, frame: F, stays: bool) {
        self.waiting.push_back((frame, stays));
    }

    /// Returns the frame to show now, and whether the compositor is to report the end of its time.
    pub fn next(&mut self, now: Instant) -> Option<(F, bool)> {
        if self.stays.is_some_and(|since| now < since + HIDDEN) {
            return None;
        }
        let (frame, stays) = self.waiting.pop_front()?;
        self.stays = stays.then_some(now);
        Some((frame, stays))
    }

    /// Ends the time of the last frame.
    pub fn done(&mut self) {
        self.stays = None;
    }

    /// Returns the instant at which to request the [`next`](Self::next) frame if the compositor
    /// reports nothing.
    pub fn due(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then(|| self.stays.map(|since| since + HIDDEN)).flatten()
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
    fn frames_of_fifo_wait_for_their_time() {
        let t = Instant::now();
        let mut line = Line::default();
        (1..=3).for_each(|frame| line.push(frame, true));
        assert_eq!(line.next(t), Some((1, true)));
        assert_eq!((line.next(t), line.due()), (None, Some(t + HIDDEN)));
        line.done();
        assert_eq!((line.next(t), line.next(t)), (Some((2, true)), None));
        assert_eq!(line.next(t + HIDDEN), Some((3, true)), "nobody sees it");
        assert_eq!((line.next(t + 3 * HIDDEN), line.due()), (None, None));
    }

    #[test]
    fn frames_of_mailbox_take_the_place_of_others() {
        let t = Instant::now();
        let mut line = Line::default();
        line.push(1, true);
        (2..=4).for_each(|frame| line.push(frame, false));
        assert_eq!((line.next(t), line.next(t)), (Some((1, true)), None), "it has not been seen");
        line.done();
        line.retain(|frame| *frame != 3);
        assert_eq!((line.next(t), line.next(t), line.next(t)), (Some((2, false)), Some((4, false)), None));
    }
}
