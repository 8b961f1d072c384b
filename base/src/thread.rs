//! The driver's threads. Every one is started here: it has a name, a stack of known size, the driver's floating-point environment
//! ([`crate::fp`]), and no signal of the application is delivered on it.

use crate::fp;
use std::io;
use std::mem::MaybeUninit;
use std::thread::JoinHandle;

/// Signals that a fault of the thread itself raises: blocking them would end the process without its handlers.
const SYNCHRONOUS: [i32; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];

/// Stack of a thread that runs driver code but no generated code and nothing recursive.
pub const SMALL_STACK: usize = 256 << 10;
/// Stack of a thread that runs generated code (larger frames get one of their own: [`crate::stack`]).
pub const STACK: usize = 2 << 20;

/// Starts a thread with `stack` bytes of stack.
///
/// # Errors
/// The system grants no thread (limits, seccomp, memory).
pub fn spawn<T: Send + 'static>(
    name: &str,
    stack: usize,
    f: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(stack);
    // The new thread inherits the mask.
    let _blocked = BlockedSignals::new();
    builder.spawn(move || {
        // The caller's is inherited too.
        let _environment = fp::Environment::enter();
        f()
    })
}

/// Asynchronous signals are blocked in this thread while the value lives.
struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    fn new() -> BlockedSignals {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: `sigfillset` initialises `all` before it is read, `pthread_sigmask` initialises `before` (it can't fail
        // with these arguments).
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            SYNCHRONOUS.iter().for_each(|&signal| {
                libc::sigdelset(all.as_mut_ptr(), signal);
            });
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            BlockedSignals { before: before.assume_init() }
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the mask of before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_blocked(signal: i32) -> bool {
        let mut mask = MaybeUninit::uninit();
        // SAFETY: `pthread_sigmask` without a new mask only initialises `mask`.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
            libc::sigismember(mask.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn threads_take_no_signals_and_no_environment() {
        let (terminate, environment) = (is_blocked(libc::SIGTERM), fp::control());
        fp::set_control(fp::DEFAULT ^ 0x2000);
        let inside = spawn("test", SMALL_STACK, || {
            let name = std::thread::current().name().map(str::to_owned);
            (name, is_blocked(libc::SIGTERM), is_blocked(libc::SIGPROF), is_blocked(libc::SIGSEGV), fp::control())
        });
        fp::set_control(environment);
        let inside = inside.expect("a thread").join().expect("no panic");
        assert_eq!(inside, (Some("test".to_owned()), true, true, false, fp::DEFAULT));
        assert_eq!(is_blocked(libc::SIGTERM), terminate, "the caller's mask is as it was");
    }
}
