//! Stacks on demand: work that may need more stack than its thread has left (recursive passes,
//! large frames of generated code) runs on a new stack, whichever thread it is. This way neither an
//! application's small stack nor a deep shader ends the process.

#![forbid(unsafe_code)]

use crate::os;
use corosensei::stack::DefaultStack;
use std::cell::{Cell, RefCell};

/// Number of bytes that are left to Rust code around the work, besides the bytes that were
/// requested.
const STACK_MARGIN: usize = 64 << 10;
/// Largest number of bytes of a stack that a thread keeps for its next use.
const MAX_SPARE_BYTES: usize = 16 << 20;

thread_local! {
    /// Lowest usable address of the stack on which this thread runs; 0 if it is not known yet.
    static STACK_LIMIT: Cell<usize> = const { Cell::new(0) };
    /// The last used stack, kept for the next use.
    static SPARE: RefCell<Option<(usize, DefaultStack)>> = const { RefCell::new(None) };
}

/// The error that the system has no memory for a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackAllocationError;

impl core::fmt::Display for StackAllocationError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no memory for a stack")
    }
}
impl core::error::Error for StackAllocationError {}

/// Runs `f` with at least `bytes` bytes of stack: on this stack if it has as much, else on another
/// one. In both cases a panic is passed to the caller.
///
/// # Errors
/// [`StackAllocationError`] means that there is no memory for a stack, and that `f` was not run.
pub fn with<R>(bytes: usize, f: impl FnOnce() -> R) -> Result<R, StackAllocationError> {
    let wanted = bytes.checked_add(STACK_MARGIN).ok_or(StackAllocationError)?;
    if left() >= wanted {
        return Ok(f());
    }
    on_new_stack(wanted, f)
}

/// Returns the number of bytes of stack that are left to the caller.
pub fn left() -> usize {
    let here = 0u8;
    let lowest = STACK_LIMIT.get();
    let lowest = if lowest == 0 { query_stack_limit() } else { lowest };
    (&raw const here as usize).saturating_sub(lowest)
}

#[cold]
fn on_new_stack<R>(bytes: usize, f: impl FnOnce() -> R) -> Result<R, StackAllocationError> {
    let spare = SPARE.take().filter(|(size, _)| *size >= bytes);
    let (size, mut stack) = match spare {
        Some(spare) => spare,
        None => (bytes, DefaultStack::new(bytes).map_err(|_| StackAllocationError)?),
    };
    // `on_stack` starts at the top; the guard page lies below the requested bytes.
    let top = corosensei::stack::Stack::base(&stack).get();
    let _lowest = RestoreStackLimit { before: STACK_LIMIT.replace(top - size) };
    let result = corosensei::on_stack(&mut stack, f);
    if size <= MAX_SPARE_BYTES {
        SPARE.set(Some((size, stack)));
    }
    Ok(result)
}

/// A guard that restores [`STACK_LIMIT`], after a panic too.
struct RestoreStackLimit {
    before: usize,
}

impl Drop for RestoreStackLimit {
    fn drop(&mut self) {
        STACK_LIMIT.set(self.before);
    }
}

/// Queries the system, once per thread. An unknown stack counts as full.
#[cold]
fn query_stack_limit() -> usize {
    let lowest = os::stack_limit();
    STACK_LIMIT.set(lowest);
    lowest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses about `bytes` bytes of stack.
    #[inline(never)]
    fn deep(bytes: usize) -> usize {
        let block = std::hint::black_box([1u8; 1024]);
        if bytes <= block.len() { usize::from(block[7]) } else { deep(bytes - 1024) + usize::from(block[3]) }
    }

    #[test]
    fn deep_recursion_runs_on_a_small_thread() {
        const STACK: usize = 128 << 10;
        // The C library may give the thread the stack of one that has ended, if that has at most
        // four times the size. Wine's threads have a mebibyte at least.
        let is_small = || left() < if cfg!(windows) { 9 * STACK } else { 4 * STACK };
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
            assert!(is_small());
            for bytes in [1 << 20, 8 << 20, 2 << 20, 64 << 20] {
                assert_eq!(with(2 * bytes, || deep(bytes)), Ok(bytes >> 10));
                // The outer stack is large enough for a nested call.
                let nested = with(4 * bytes, || with(2 * bytes, || (left(), deep(bytes))));
                assert!(matches!(nested, Ok(Ok((left, _))) if left >= 3 * bytes && left < 5 * bytes));
            }
            assert!(is_small(), "the thread's own stack counts again");
        });
        thread.expect("a thread").join().expect("no panic");
    }

    #[test]
    fn panic_propagates_from_new_stack() {
        let before = left();
        let caught = std::panic::catch_unwind(|| with(512 << 20, || panic!("inside")));
        assert_eq!(caught.err().and_then(|p| p.downcast_ref::<&str>().copied()), Some("inside"));
        assert!(left().abs_diff(before) < 64 << 10);
        assert_eq!(with(usize::MAX, || ()), Err(StackAllocationError));
        assert_eq!(with(usize::MAX / 4, || ()), Err(StackAllocationError));
    }
}
