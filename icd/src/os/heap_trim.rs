//! Trimming of memory that the C library keeps after many compiles.
//!
//! Each thread that compiles allocates from an arena of its own. Freed memory stays in the arena,
//! and only the arena's end returns to the system by itself: some hundred megabytes stay after
//! 2,000 pipelines. When nothing has been compiled for a while after many stages, all arenas return
//! their free pages ([`memory_limits::trim`]). No setting of the process is changed.

#![forbid(unsafe_code)]

use super::memory_limits;
use parking_lot::Mutex;
use std::time::Duration;

/// Number of compile steps that may leave enough free memory to be worth the time of trimming: some
/// milliseconds for a hundred megabytes. A stage has two or three steps.
const STEPS_BEFORE_TRIM: u64 = 128;
/// Time without a step after which the compiles count as ended.
const QUIET_TIME: Duration = Duration::from_millis(500);

struct TrimState {
    /// Number of steps since memory was last returned.
    steps: u64,
    /// True while a thread waits for the end of the compiles.
    is_watched: bool,
}

static STATE: Mutex<TrimState> = Mutex::new(TrimState { steps: 0, is_watched: false });

/// Notes that a step of a compile has ended and freed its memory. After many steps a thread waits
/// for the last one, unless the system grants no thread.
pub fn note_compile_step() {
    let mut state = STATE.lock();
    state.steps += 1;
    if state.steps >= STEPS_BEFORE_TRIM && !state.is_watched {
        state.is_watched = base::thread::spawn("grus-trim", base::thread::SMALL_STACK, trim_when_quiet).is_ok();
    }
}

fn trim_when_quiet() {
    loop {
        let seen = STATE.lock().steps;
        std::thread::sleep(QUIET_TIME);
        let mut state = STATE.lock();
        if state.steps == seen {
            *state = TrimState { steps: 0, is_watched: false };
            break;
        }
    }
    memory_limits::trim();
}
