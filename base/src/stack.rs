//! Stacks on demand: work that may need more stack than its thread has left (recursive passes,
//! large frames of generated code) runs on a new stack, whichever thread it is. This way neither an
//! application's small stack nor a deep shader ends the process.

use corosensei::stack::DefaultStack;
use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;

/// Number of bytes that are left to Rust code around the work, besides the bytes that were
/// requested.
const MARGIN: usize = 64 << 10;
/// Largest number of bytes of a stack that a thread keeps for its next use.
const KEEP: usize = 16 << 20;

thread_local! {
    /// Lowest usable address of the stack on which this thread runs; 0 if it is not known yet.
    static LOWEST: Cell<usize> = const { Cell::new(0) };
    /// The last used stack, kept for the next use.
    static SPARE: RefCell<Option<(usize, DefaultStack)>> = const { RefCell::new(None) };
}

/// The error that the system has no memory for a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoStack;

impl core::fmt::Display for NoStack {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no memory for a stack")
    }
}
impl core::error::Error for NoStack {}

/// Runs `f` with at least `bytes` bytes of stack: on this stack if it has as much, else on another
/// one. In both cases a panic is passed to the caller.
///
/// # Errors
/// [`NoStack`] means that there is no memory for a stack, and that `f` was not run.
pub fn with<R>(bytes: usize, f: impl FnOnce() -> R) -> Result<R, NoStack> {
    let wanted = bytes.checked_add(MARGIN).ok_or(NoStack)?;
    if left() >= wanted {
        return Ok(f());
    }
    on_another(wanted, f)
}

/// Returns the number of bytes of stack that are left to the caller.
pub fn left() -> usize {
    let here = 0u8;
    let lowest = LOWEST.get();
    let lowest = if lowest == 0 { lowest_of_thread() } else { lowest };
    (&raw const here as usize).saturating_sub(lowest)
}

#[cold]
fn on_another<R>(bytes: usize, f: impl FnOnce() -> R) -> Result<R, NoStack> {
    let spare = SPARE.take().filter(|(size, _)| *size >= bytes);
    let (size, mut stack) = match spare {
        Some(spare) => spare,
        None => (bytes, DefaultStack::new(bytes).map_err(|_| NoStack)?),
    };
    // `on_stack` starts at the top; the guard page lies below the requested bytes.
    let top = corosensei::stack::Stack::base(&stack).get();
    let _lowest = Lowest { before: LOWEST.replace(top - size) };
    let result = corosensei::on_stack(&mut stack, f);
    if size <= KEEP {
        SPARE.set(Some((size, stack)));
    }
    Ok(result)
}

/// A guard that restores [`LOWEST`], after a panic too.
struct Lowest {
    before: usize,
}

impl Drop for Lowest {
    fn drop(&mut self) {
        LOWEST.set(self.before);
    }
}

/// Largest number of bytes that is assumed of a main thread's stack, which grows as long as no
/// other mapping is in its way.
const MAIN: usize = 8 << 20;

/// Returns the lowest address of the main thread's stack. Its top is where the kernel has put the
/// program's name, and its size is a limit. (The C library reads all mappings instead.)
fn lowest_of_main() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the first call writes the structure, and the second returns a number.
    let (told, top) =
        unsafe { (libc::getrlimit(libc::RLIMIT_STACK, &mut limit) == 0, libc::getauxval(libc::AT_EXECFN)) };
    let size = usize::try_from(limit.rlim_cur).unwrap_or(MAIN).min(MAIN);
    if told && top != 0 { (top as usize).saturating_sub(size) + MARGIN } else { usize::MAX }
}

/// Queries the system, once per thread. An unknown stack counts as full.
#[cold]
fn lowest_of_thread() -> usize {
    // SAFETY: both calls return a number of this process.
    let is_main = unsafe { libc::gettid() == libc::getpid() };
    let lowest = if is_main { lowest_of_main() } else { lowest_of_other() };
    LOWEST.set(lowest);
    lowest
}

/// Returns the lowest address of another thread's stack, as the C library has created it.
fn lowest_of_other() -> usize {
    let mut attributes = MaybeUninit::uninit();
    let (mut address, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the first call initialises `attributes`, if it succeeds, and they are destroyed after
    // their last use.
    let known = unsafe {
        libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 && {
            let known = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut address, &raw mut size) == 0;
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            known
        }
    };
    if known { address as usize } else { usize::MAX }
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
    fn deep_work_runs_on_a_small_thread() {
        let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(|| {
            let address = |_: ()| left();
            assert!(address(()) < 128 << 10);
            for bytes in [1 << 20, 8 << 20, 2 << 20, 64 << 20] {
                assert_eq!(with(2 * bytes, || deep(bytes)), Ok(bytes >> 10));
                // The outer stack is large enough for a nested call.
                let nested = with(4 * bytes, || with(2 * bytes, || (left(), deep(bytes))));
                assert!(matches!(nested, Ok(Ok((left, _))) if left >= 3 * bytes && left < 5 * bytes));
            }
            assert!(left() < 128 << 10, "the thread's own stack counts again");
        });
        thread.expect("a thread").join().expect("no panic");
    }

    #[test]
    fn panics_come_through_and_leave_the_thread_in_order() {
        let before = left();
        let caught = std::panic::catch_unwind(|| with(512 << 20, || panic!("inside")));
        assert_eq!(caught.err().and_then(|p| p.downcast_ref::<&str>().copied()), Some("inside"));
        assert!(left().abs_diff(before) < 64 << 10);
        assert_eq!(with(usize::MAX, || ()), Err(NoStack));
        assert_eq!(with(usize::MAX / 4, || ()), Err(NoStack));
    }
}
