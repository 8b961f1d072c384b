//! Frames on their way to the compositor: which one is shown when. Free of Wayland's objects.
//!
//! FIFO: the next frame is shown when the compositor says that it is time (`wl_surface.frame`), or after [`HIDDEN`], because it says
//! nothing of surfaces that nobody sees. MAILBOX: at once, in the place of what has been shown; but not of a frame of FIFO that is not yet due to go.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Time between frames of a surface that the compositor says nothing about.
pub const HIDDEN: Duration = Duration::from_millis(100);

/// Frames in order.
#[derive(Debug)]
pub struct Line<F> {
    waiting: VecDeque<(F, bool)>,
    /// Since when the last frame is shown, if that one stays until its time is over.
    stays: Option<Instant>,
}

impl<F> Default for Line<F> {
    fn default() -> Line<F> {
        Line { waiting: VecDeque::new(), stays: None }
    }
}

impl<F> Line<F> {
    /// Appends a frame, which stays until its time is over (FIFO) or not.
    pub fn push(&mut self, frame: F, stays: bool) {
        self.waiting.push_back((frame, stays));
    }

    /// The frame to show now, and whether its end is to be asked for.
    pub fn next(&mut self, now: Instant) -> Option<(F, bool)> {
        if self.stays.is_some_and(|since| now < since + HIDDEN) {
            return None;
        }
        let (frame, stays) = self.waiting.pop_front()?;
        self.stays = stays.then_some(now);
        Some((frame, stays))
    }

    /// The time of the last frame is over.
    pub fn done(&mut self) {
        self.stays = None;
    }

    /// When to ask for the [`next`](Self::next) frame, if nothing happens.
    pub fn due(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then(|| self.stays.map(|since| since + HIDDEN)).flatten()
    }

    /// Only these stay.
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
