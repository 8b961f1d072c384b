//! Waiting awake for what comes soon: to sleep and to be woken takes longer than many a submission.
//!
//! A thread waits awake, for [`AWAKE`] at most, when the last wait of its kind was short, and so never while nothing happens. It does not
//! yield: on a busy machine that gives the processor away for longer than any wait that is meant here.

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest wait awake.
const AWAKE: Duration = Duration::from_micros(20);
/// A wait asleep that was shorter, being woken included, is worth the next one awake.
const SHORT: Duration = Duration::from_micros(80);
/// Looks between two at the clock.
const LOOKS: u32 = 8;

/// What is known of waits of a kind.
#[derive(Default)]
pub struct Patience {
    /// The last one was short.
    short: AtomicBool,
}

/// A wait.
pub struct Wait {
    began: Instant,
    awake: bool,
}

impl Patience {
    /// A wait begins.
    pub fn begin(&self) -> Wait {
        Wait { began: Instant::now(), awake: self.short.load(Ordering::Relaxed) }
    }

    /// It has brought what was waited for.
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
    /// The wait goes on awake.
    pub fn is_awake(&self) -> bool {
        self.awake && self.began.elapsed() < AWAKE
    }

    /// Returns once there is something new, or when it is time to sleep.
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
