//! Adaptive spinning: spinning before parking when the last wait was short, because sleeping and
//! waking take longer than many a submission.
//!
//! A thread spins for [`SPIN_TIME`] at most, and only if the last wait of its kind was short, so
//! never while nothing happens. It does not yield: on a busy machine that gives the processor away
//! for longer than any wait that this is for.

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest time of spinning.
const SPIN_TIME: Duration = Duration::from_micros(20);
/// A parked wait that was shorter than this, including the wake latency, makes the next wait spin.
const SHORT_WAIT: Duration = Duration::from_micros(80);
/// Number of checks between two reads of the clock.
const CHECKS_PER_CLOCK_READ: u32 = 8;

/// State of the waits of one kind.
#[derive(Default)]
pub struct AdaptiveSpin {
    /// True if the last wait was short.
    last_was_short: AtomicBool,
}

/// A wait that has begun.
pub struct SpinWait {
    began: Instant,
    spins: bool,
}

impl AdaptiveSpin {
    /// Begins a wait.
    pub fn begin(&self) -> SpinWait {
        SpinWait { began: Instant::now(), spins: self.last_was_short.load(Ordering::Relaxed) }
    }

    /// Ends a wait successfully and records whether it was short.
    pub fn end(&self, wait: &SpinWait) {
        let last_was_short = was_short(wait.spins, wait.began.elapsed());
        if self.last_was_short.load(Ordering::Relaxed) != last_was_short {
            self.last_was_short.store(last_was_short, Ordering::Relaxed);
        }
    }
}

fn was_short(spins: bool, took: Duration) -> bool {
    took < if spins { SPIN_TIME } else { SHORT_WAIT }
}

impl SpinWait {
    /// Returns true while the wait should spin.
    pub fn should_spin(&self) -> bool {
        self.spins && self.began.elapsed() < SPIN_TIME
    }

    /// Spins until `is_ready` returns true or it is time to park.
    pub fn spin_until(&self, mut is_ready: impl FnMut() -> bool) {
        while self.should_spin() {
            for _ in 0..CHECKS_PER_CLOCK_READ {
                if is_ready() {
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
    fn only_a_short_wait_makes_the_next_one_spin() {
        let spin = AdaptiveSpin::default();
        assert!(!spin.begin().spins, "nothing is known");
        for (spins, took, expected) in [
            (false, Duration::ZERO, true),
            (false, SHORT_WAIT, false),
            (true, Duration::ZERO, true),
            (true, SPIN_TIME, false),
        ] {
            assert_eq!(was_short(spins, took), expected, "{spins} {took:?}");
        }
        spin.last_was_short.store(true, Ordering::Relaxed);
        let mut wait = spin.begin();
        assert!(wait.spins);
        wait.began -= SPIN_TIME;
        spin.end(&wait);
        assert!(!wait.should_spin() && !spin.begin().spins, "spinning was in vain");
    }

    #[test]
    fn spinning_ends_when_ready_or_at_its_limit() {
        let wait = SpinWait { began: Instant::now(), spins: true };
        let mut checks = 0;
        wait.spin_until(|| {
            checks += 1;
            checks == 3
        });
        assert!(checks == 3 || (checks == 0 && !wait.should_spin()));
        wait.spin_until(|| false);
        assert!(!wait.should_spin());
    }
}
