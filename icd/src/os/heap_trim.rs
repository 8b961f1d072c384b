//! Memory that the C library keeps after many compiles.
//!
//! Each thread that compiles allocates from an arena of its own, and what it frees stays in the
//! arena, of which only the end goes back to the system by itself: some hundred megabytes after
//! 2,000 pipelines. When nothing has been compiled for a while after many stages, all arenas give
//! their free pages back ([`memory_limits::trim`]). No setting of the process is changed.

#![forbid(unsafe_code)]

use super::memory_limits;
use parking_lot::Mutex;
use std::time::Duration;

/// Steps of compiles that may leave enough free memory to be worth the time that giving it back
/// takes: some milliseconds for a hundred megabytes. A stage has two steps or three.
const MANY: u64 = 128;
/// The compiles have ended when there was no step for so long.
const CALM: Duration = Duration::from_millis(500);

struct State {
    /// Steps since the last time that memory was given back.
    steps: u64,
    /// A thread waits for the end of the compiles.
    watched: bool,
}

static STATE: Mutex<State> = Mutex::new(State { steps: 0, watched: false });

/// A step of a compile has ended, and has freed what it needed. After many of them a thread waits
/// for the last one, unless the system grants none.
pub fn has_compiled() {
    let mut state = STATE.lock();
    state.steps += 1;
    if state.steps >= MANY && !state.watched {
        state.watched = base::thread::spawn("grus-trim", base::thread::SMALL_STACK, watch).is_ok();
    }
}

fn watch() {
    loop {
        let seen = STATE.lock().steps;
        std::thread::sleep(CALM);
        let mut state = STATE.lock();
        if state.steps == seen {
            *state = State { steps: 0, watched: false };
            break;
        }
    }
    memory_limits::trim();
}
