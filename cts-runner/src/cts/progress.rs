//! Shows counts, rate and remaining time during a run: a bar on a terminal, a periodic line
//! elsewhere, and nothing with `--json`.

use super::status::{Counts, Outcome};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval between lines if there is no terminal.
const PERIOD: Duration = Duration::from_secs(60);

/// Progress of one phase of a run.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    total: usize,
    quiet: bool,
    state: Mutex<ProgressState>,
}

#[derive(Debug)]
struct ProgressState {
    counts: Counts,
    start: Instant,
    last_line: Instant,
}

impl Progress {
    /// Creates the display for `total` cases. Nothing is shown if `quiet` is set.
    pub fn new(what: &str, total: usize, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(total as u64);
            let template = "{prefix} {bar:30} {pos}/{len}  {per_sec:.0}  {eta} left  {wide_msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_prefix(what.to_string());
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        let now = Instant::now();
        let state = ProgressState { counts: Counts::default(), start: now, last_line: now };
        Self { bar, total, quiet, state: Mutex::new(state) }
    }

    /// Counts a case.
    pub fn add(&self, outcome: Outcome) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.counts.add(outcome);
        if let Some(bar) = &self.bar {
            bar.set_message(state.counts.to_string());
            bar.inc(1);
        } else if !self.quiet && state.last_line.elapsed() >= PERIOD {
            state.last_line = Instant::now();
            eprintln!("{}", line(&state.counts, self.total, state.start.elapsed()));
        }
    }

    /// Prints a line beside the bar.
    pub fn print_line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None if !self.quiet => eprintln!("{text}"),
            None => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn line(counts: &Counts, total: usize, elapsed: Duration) -> String {
    let done = counts.total();
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-3);
    let left = Duration::from_secs_f64((total.saturating_sub(done)) as f64 / rate.max(1e-3));
    format!("{done}/{total}  {rate:.1}/s  {} left  {counts}", clock(left))
}

/// Formats a time for display.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02} h", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cts::status::Status;

    #[test]
    fn a_line_says_rate_and_remaining_time() {
        let counts: Counts = (0..50).map(|i| if i == 0 { Outcome::Flake } else { Outcome::Is(Status::Pass) }).collect();
        let text = line(&counts, 200, Duration::from_secs(10));
        assert_eq!(text, "50/200  5.0/s  30.0 s left  Pass 49  Flake 1");
        assert_eq!(clock(Duration::from_secs(75)), "1:15 min");
        assert_eq!(clock(Duration::from_secs(3 * 3600 + 120)), "3:02 h");
    }
}
