//! The ownership of a swapchain's images over time: the state behind acquire and present, without
//! Vulkan objects.
//!
//! An image is free (from an instant on), acquired by the application, or queued for presentation.
//! With a period (FIFO), presented images become free one period apart, so that acquisition runs at
//! the display's rate however fast the application is. Without one (IMMEDIATE, MAILBOX) they become
//! free at once.

#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImageState {
    Free { from: Instant },
    Acquired,
    Queued,
}

/// Result of [`FramePacing::acquire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquire {
    /// The application owns this image now.
    Image(usize),
    /// An image becomes free at this instant.
    At(Instant),
    /// No image becomes free by time alone; the caller tries again after a presentation.
    Later,
}

/// The images of one swapchain.
#[derive(Debug)]
pub struct FramePacing {
    images: Vec<ImageState>,
    period: Option<Duration>,
    last_shown: Option<Instant>,
}

impl FramePacing {
    /// Makes a set of free images.
    pub fn new(count: usize, period: Option<Duration>, now: Instant) -> FramePacing {
        FramePacing { images: vec![ImageState::Free { from: now }; count], period, last_shown: None }
    }

    /// Gives the application the image that has been free for longest.
    pub fn acquire(&mut self, now: Instant) -> Acquire {
        let free = self.images.iter().enumerate().filter_map(|(i, state)| match state {
            ImageState::Free { from } => Some((*from, i)),
            _ => None,
        });
        match free.min() {
            Some((from, i)) if from <= now => {
                self.images[i] = ImageState::Acquired;
                Acquire::Image(i)
            }
            Some((from, _)) => Acquire::At(from),
            None => Acquire::Later,
        }
    }

    /// Returns true if [`acquire`](Self::acquire) would find an image, now or at a known instant.
    pub fn has_free(&self) -> bool {
        self.images.iter().any(|state| matches!(state, ImageState::Free { .. }))
    }

    /// Returns true if the application has acquired an image.
    pub fn has_acquired(&self) -> bool {
        self.images.contains(&ImageState::Acquired)
    }

    /// Queues an image for presentation. Returns false if the application has not acquired it.
    pub fn queue(&mut self, image: usize) -> bool {
        let acquired = self.images.get(image) == Some(&ImageState::Acquired);
        if acquired {
            self.images[image] = ImageState::Queued;
        }
        acquired
    }

    /// Frees an image that the application releases without presenting it.
    pub fn release(&mut self, image: usize, now: Instant) {
        if self.images.get(image) == Some(&ImageState::Acquired) {
            self.images[image] = ImageState::Free { from: now };
        }
    }

    /// Changes the present mode, from the next presentation on.
    pub fn set_period(&mut self, period: Option<Duration>) {
        self.period = period;
    }

    /// Frees an image that the presentation has read.
    pub fn release_shown(&mut self, image: usize, now: Instant) {
        let from = match (self.period, self.last_shown) {
            (Some(period), Some(last)) => now.max(last + period),
            _ => now,
        };
        self.last_shown = Some(from);
        if let Some(state) = self.images.get_mut(image) {
            *state = ImageState::Free { from };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(16);

    #[test]
    fn images_are_free_at_once_without_a_period() {
        let t = Instant::now();
        let mut pacing = FramePacing::new(2, None, t);
        assert_eq!(pacing.acquire(t), Acquire::Image(0));
        assert_eq!(pacing.acquire(t), Acquire::Image(1));
        assert_eq!(pacing.acquire(t), Acquire::Later);
        assert!(!pacing.has_free() && pacing.queue(1) && !pacing.queue(1), "an image is presented once");
        pacing.release_shown(1, t);
        assert_eq!(pacing.acquire(t), Acquire::Image(1));
        assert!(!pacing.queue(7), "no such image");
    }

    #[test]
    fn fifo_limits_a_fast_application_to_the_period() {
        let start = Instant::now();
        let (mut now, frames) = (start, 60);
        let mut pacing = FramePacing::new(3, Some(PERIOD), now);
        for _ in 0..frames {
            let image = loop {
                match pacing.acquire(now) {
                    Acquire::Image(image) => break image,
                    Acquire::At(at) => now = at,
                    Acquire::Later => panic!("all images are free or paced"),
                }
            };
            assert!(pacing.queue(image));
            pacing.release_shown(image, now);
        }
        let elapsed = now - start;
        assert!(elapsed >= PERIOD * (frames - 4) && elapsed <= PERIOD * frames, "{elapsed:?}");
    }

    #[test]
    fn released_images_are_free_at_once_and_modes_change() {
        let t = Instant::now();
        let mut pacing = FramePacing::new(2, Some(PERIOD), t);
        assert_eq!((pacing.acquire(t), pacing.acquire(t)), (Acquire::Image(0), Acquire::Image(1)));
        pacing.release(1, t);
        assert_eq!(pacing.acquire(t), Acquire::Image(1));
        assert!(pacing.has_acquired() && pacing.queue(0) && pacing.queue(1) && !pacing.has_acquired());
        pacing.release(0, t);
        assert_eq!(pacing.acquire(t), Acquire::Later, "what is queued is not the application's to release");
        pacing.release_shown(0, t);
        pacing.release_shown(1, t);
        assert_eq!((pacing.acquire(t), pacing.acquire(t)), (Acquire::Image(0), Acquire::At(t + PERIOD)));
        pacing.set_period(None);
        assert!(pacing.queue(0));
        pacing.release_shown(0, t);
        assert_eq!(pacing.acquire(t), Acquire::Image(0));
    }

    #[test]
    fn fifo_does_not_slow_a_slow_application() {
        let mut now = Instant::now();
        let mut pacing = FramePacing::new(2, Some(PERIOD), now);
        for _ in 0..10 {
            let Acquire::Image(image) = pacing.acquire(now) else { panic!("should not wait") };
            now += 3 * PERIOD;
            assert!(pacing.queue(image));
            pacing.release_shown(image, now);
        }
    }
}
