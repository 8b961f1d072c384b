//! Calls generated code with enough stack: the one place where a stage's function is called.
//!
//! A frame of the quick tier has a slot per value: several megabytes for a long shader, more than a
//! thread has. The frame's size is therefore a property of the code, and code whose frame may not
//! fit runs on a stack made for it.

use super::coherence;
use base::abi::{BatchHeader, ShaderContext, StageFn};

/// Largest frame that, with the helpers that generated code calls, fits every thread of the driver
/// ([`base::thread::STACK`] is 32 times as much).
const SMALL_FRAME: u32 = 64 << 10;

/// Calls a stage's function. Without memory for the stack of a large frame it panics, which loses
/// the device if it happens on the queue.
///
/// # Safety
/// The requirements of [`StageFn`] hold; `frame` is at least what the function takes.
#[inline]
pub unsafe fn call(function: StageFn, frame: u32, context: *const ShaderContext, batch: *mut BatchHeader) {
    coherence::observe();
    if frame <= SMALL_FRAME {
        // SAFETY: `context` and `batch` fulfil the requirements of `StageFn`, as this function's `#
        // Safety` section demands.
        return unsafe { function(context, batch) };
    }
    // SAFETY: the `# Safety` sections of both functions demand the same.
    unsafe { call_large(function, frame, context, batch) }
}

/// Calls a stage's function on a stack that has space for its large frame.
///
/// # Safety
/// The requirements of [`call`] hold.
#[cold]
unsafe fn call_large(function: StageFn, frame: u32, context: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: `context` and `batch` fulfil the requirements of `StageFn`, as [`call`] demands.
    let result = base::stack::with(frame as usize, || unsafe { function(context, batch) });
    if let Err(e) = result {
        panic!("{e}: a shader's frame takes {frame} bytes");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static LEFT: AtomicUsize = AtomicUsize::new(0);

    #[base::code_fn]
    unsafe extern "code" fn check_stack(_: *const ShaderContext, _: *mut BatchHeader) {
        LEFT.store(base::stack::left(), Ordering::Relaxed);
    }

    #[test]
    fn large_frame_runs_on_its_own_stack() {
        let thread = base::thread::spawn("test", base::thread::SMALL_STACK, || {
            let own = base::stack::left();
            for frame in [0, SMALL_FRAME, SMALL_FRAME + 1, 9_400_000, 40 << 20, 1 << 20] {
                // SAFETY: the function uses neither argument.
                unsafe { call(check_stack, frame, core::ptr::null(), core::ptr::null_mut()) };
                let left = LEFT.load(Ordering::Relaxed);
                assert!(left >= frame as usize, "{frame}: {left}");
                // A stack for a small frame would be much smaller than that of the thread.
                let stays = left.abs_diff(own) < SMALL_FRAME as usize;
                assert!(frame > SMALL_FRAME || stays, "small frames stay where they are: {left} of {own}");
            }
        });
        thread.expect("a thread").join().expect("no panic");
    }
}
