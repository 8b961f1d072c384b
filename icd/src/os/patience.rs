//! Adaptive spinning: spinning before parking when the last wait was short, because sleeping and
//! waking take longer than many a submission.
//!
//! A thread spins for [`AWAKE`] at most, and only if the last wait of its kind was short, so never
//! while nothing happens. It does not yield: on a busy machine that gives the processor away for
//! longer than any wait that this is for.

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest time of spinning.
const AWAKE: Duration = Duration::from_micros(20);
/// A parked wait that was shorter than this, including the wake latency, makes the next wait spin.
const SHORT: Duration = Duration::from_micros(80);
/// Number of checks between two reads of the clock.
const LOOKS: u32 = 8;

/// State of the waits of one kind.
#[derive(Default)]
pub struct Patience {
    /// True if the last wait was short.
    short: AtomicBool,
}

/// A wait that has begun.
pub struct Wait {
    began: Instant,
    awake: bool,
}

impl Patience {
    /// Begins a wait.
    pub fn begin(&self) -> Wait {
        Wait { began: Instant::now(), awake: self.short.load(Ordering::Relaxed) }
    }

    /// Ends a wait successfully and records whether it was short.
    pub fn end(&self, wait: &Wait) {
        let short = was_short(wait.awake, wait.began.elapsed());
        if self.short.load(Ordering::Relaxed) != short {
            self.short.store(short, Ordering::Relaxed);
        }
    }
}

fn was_short(awake: bool, took: Duration) -> bool {
    took < if awake { AWAKE } else { SHORT }
}

impl Wait {
    /// Returns true while the wait should spin.
    pub fn is_awake(&self) -> bool {
        self.awake && self.began.elapsed() < AWAKE
    }

    /// Spins until `news` returns true or it is time to park.
    pub fn until(&self, mut news: impl FnMut() -> bool) {
        while self.is_awake() {
            for _ in 0..LOOKS {
                if news() {
                    return;
                }
                std::hint::spin_loop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_after_a_short_wait_is_the_next_one_awake() {
        let patience = Patience::default();
        assert!(!patience.begin().awake, "nothing is known");
        for (awake, took, expected) in
            [(false, Duration::ZERO, true), (false, SHORT, false), (true, Duration::ZERO, true), (true, AWAKE, false)]
        {
            assert_eq!(was_short(awake, took), expected, "{awake} {took:?}");
        }
        patience.short.store(true, Ordering::Relaxed);
        let mut wait = patience.begin();
        assert!(wait.awake);
        wait.began -= AWAKE;
        patience.end(&wait);
        assert!(!wait.is_awake() && !patience.begin().awake, "the last one awake was in vain");
    }

    #[test]
    fn a_wait_awake_ends_with_news_or_by_itself() {
        let wait = Wait { began: Instant::now(), awake: true };
        let mut looks = 0;
        wait.until(|| {
            looks += 1;
            looks == 3
        });
        assert!(looks == 3 || (looks == 0 && !wait.is_awake()));
        wait.until(|| false);
        assert!(!wait.is_awake());
    }
}
