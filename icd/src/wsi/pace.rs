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
enum Slot {
    Free { from: Instant },
    Acquired,
    Queued,
}

/// Result of [`Pace::acquire`].
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
pub struct Pace {
    slots: Vec<Slot>,
    period: Option<Duration>,
    last_shown: Option<Instant>,
}

impl Pace {
    /// Makes a set of free images.
    pub fn new(images: usize, period: Option<Duration>, now: Instant) -> Pace {
        Pace { slots: vec![Slot::Free { from: now }; images], period, last_shown: None }
    }

    /// Gives the application the image that has been free for longest.
    pub fn acquire(&mut self, now: Instant) -> Acquire {
        let free = self.slots.iter().enumerate().filter_map(|(i, slot)| match slot {
            Slot::Free { from } => Some((*from, i)),
            _ => None,
        });
        match free.min() {
            Some((from, i)) if from <= now => {
                self.slots[i] = Slot::Acquired;
                Acquire::Image(i)
            }
            Some((from, _)) => Acquire::At(from),
            None => Acquire::Later,
        }
    }

    /// Returns true if [`acquire`](Self::acquire) would find an image, now or at a known instant.
    pub fn has_free(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Free { .. }))
    }

    /// Returns true if the application has acquired an image.
    pub fn has_acquired(&self) -> bool {
        self.slots.contains(&Slot::Acquired)
    }

    /// Queues an image for presentation. Returns false if the application has not acquired it.
    pub fn queue(&mut self, image: usize) -> bool {
        let acquired = self.slots.get(image) == Some(&Slot::Acquired);
        if acquired {
            self.slots[image] = Slot::Queued;
        }
        acquired
    }

    /// Frees an image that the application releases without presenting it.
    pub fn release(&mut self, image: usize, now: Instant) {
        if self.slots.get(image) == Some(&Slot::Acquired) {
            self.slots[image] = Slot::Free { from: now };
        }
    }

    /// Changes the present mode, from the next presentation on.
    pub fn set_period(&mut self, period: Option<Duration>) {
        self.period = period;
    }

    /// Frees an image that the presentation has read.
    pub fn shown(&mut self, image: usize, now: Instant) {
        let from = match (self.period, self.last_shown) {
            (Some(period), Some(last)) => now.max(last + period),
            _ => now,
        };
        self.last_shown = Some(from);
        if let Some(slot) = self.slots.get_mut(image) {
            *slot = Slot::Free { from };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(16);

    #[test]
    fn without_a_period_images_come_back_at_once() {
        let t = Instant::now();
        let mut pace = Pace::new(2, None, t);
        assert_eq!(pace.acquire(t), Acquire::Image(0));
        assert_eq!(pace.acquire(t), Acquire::Image(1));
        assert_eq!(pace.acquire(t), Acquire::Later);
        assert!(!pace.has_free() && pace.queue(1) && !pace.queue(1), "an image is presented once");
        pace.shown(1, t);
        assert_eq!(pace.acquire(t), Acquire::Image(1));
        assert!(!pace.queue(7), "no such image");
    }

    #[test]
    fn fifo_runs_at_the_period_however_fast_the_application_is() {
        let start = Instant::now();
        let (mut now, frames) = (start, 60);
        let mut pace = Pace::new(3, Some(PERIOD), now);
        for _ in 0..frames {
            let image = loop {
                match pace.acquire(now) {
                    Acquire::Image(image) => break image,
                    Acquire::At(at) => now = at,
                    Acquire::Later => panic!("all images are free or paced"),
                }
            };
            assert!(pace.queue(image));
            pace.shown(image, now);
        }
        let elapsed = now - start;
        assert!(elapsed >= PERIOD * (frames - 4) && elapsed <= PERIOD * frames, "{elapsed:?}");
    }

    #[test]
    fn released_images_are_free_at_once_and_modes_change() {
        let t = Instant::now();
        let mut pace = Pace::new(2, Some(PERIOD), t);
        assert_eq!((pace.acquire(t), pace.acquire(t)), (Acquire::Image(0), Acquire::Image(1)));
        pace.release(1, t);
        assert_eq!(pace.acquire(t), Acquire::Image(1));
        assert!(pace.has_acquired() && pace.queue(0) && pace.queue(1) && !pace.has_acquired());
        pace.release(0, t);
        assert_eq!(pace.acquire(t), Acquire::Later, "what is queued is not the application's to release");
        pace.shown(0, t);
        pace.shown(1, t);
        assert_eq!((pace.acquire(t), pace.acquire(t)), (Acquire::Image(0), Acquire::At(t + PERIOD)));
        pace.set_period(None);
        assert!(pace.queue(0));
        pace.shown(0, t);
        assert_eq!(pace.acquire(t), Acquire::Image(0));
    }

    #[test]
    fn fifo_does_not_slow_a_slow_application() {
        let mut now = Instant::now();
        let mut pace = Pace::new(2, Some(PERIOD), now);
        for _ in 0..10 {
            let Acquire::Image(image) = pace.acquire(now) else { panic!("should not wait") };
            now += 3 * PERIOD;
            assert!(pace.queue(image));
            pace.shown(image, now);
        }
    }
}
