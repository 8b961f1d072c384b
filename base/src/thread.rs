//! The driver's threads. Every thread is started here. It has a name, a stack of known size and the
//! driver's floating-point environment ([`crate::fp`]), and receives no signal of the application.
//!
//! Threads of the standard library allocate memory that cannot fail, and end the process when there
//! is none. These threads are created by the C library, which reports failure.

use crate::fp;
use core::ffi::c_void;
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// Signals that a fault of the thread itself raises; blocking them would end the process without
/// its handlers.
const SYNCHRONOUS: [i32; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];

/// Number of bytes of the stack of a thread that runs driver code but no generated code and nothing
/// recursive.
pub const SMALL_STACK: usize = 256 << 10;
/// Number of bytes of the stack of a thread that runs generated code (larger frames get a separate
/// stack: [`crate::stack`]).
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
    // The kernel keeps 15 bytes of the name.
    let name = CString::new(&name[..name.len().min(15)])?;
    let result = Arc::new(Mutex::new(None));
    let out = result.clone();
    let work: Work = Box::new(move || {
        // SAFETY: the arguments are this thread and a string.
        unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
        // The caller's floating-point environment is inherited too, so it must be replaced.
        let _environment = fp::FpEnvironment::enter();
        let value = catch_unwind(AssertUnwindSafe(f));
        *out.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    });
    // The new thread inherits the signal mask.
    let _blocked = BlockedSignals::new();
    Ok(JoinHandle { thread: start(stack, work)?, result })
}

type Work = Box<dyn FnOnce() + Send>;

extern "C" fn run(work: *mut c_void) -> *mut c_void {
    // SAFETY: `start` made the pointer by `Box::into_raw`, for this thread alone.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    work();
    std::ptr::null_mut()
}

fn start(stack: usize, work: Work) -> io::Result<libc::pthread_t> {
    let argument = Box::into_raw(Box::new(work));
    // SAFETY: attributes are initialised before they are used. The argument belongs to the new
    // thread, or to this function if no thread was created.
    unsafe {
        let (mut attributes, mut thread) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let mut error = libc::pthread_attr_init(attributes.as_mut_ptr());
        if error == 0 {
            error = libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack);
            if error == 0 {
                error = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, argument.cast());
            }
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
        if error != 0 {
            drop(Box::from_raw(argument));
            return Err(io::Error::from_raw_os_error(error));
        }
        Ok(thread.assume_init())
    }
}

/// A thread that can be joined; if the handle is dropped, the thread continues alone.
pub struct JoinHandle<T> {
    thread: libc::pthread_t,
    result: Arc<Mutex<Option<std::thread::Result<T>>>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread's end.
    ///
    /// # Errors
    /// The error is the payload of the thread's panic.
    pub fn join(self) -> std::thread::Result<T> {
        let result = self.result.clone();
        // SAFETY: the thread is neither joined nor detached yet, and `drop`, which would detach it,
        // does not run.
        unsafe { libc::pthread_join(self.thread, std::ptr::null_mut()) };
        let finished = std::mem::ManuallyDrop::new(self);
        // SAFETY: the value is not dropped, so this is its last use.
        drop(unsafe { std::ptr::read(&raw const finished.result) });
        let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
        result.take().unwrap_or_else(|| Err(Box::new("the thread ended early")))
    }

    /// Returns true if the thread has finished its work.
    pub fn is_finished(&self) -> bool {
        self.result.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // SAFETY: the thread is not joined, because `join` does not drop the value.
        unsafe { libc::pthread_detach(self.thread) };
    }
}

/// A guard that blocks asynchronous signals in this thread while it is alive.
struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    fn new() -> BlockedSignals {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: `sigfillset` initialises `all` before it is read, and
        // `pthread_sigmask` initialises `before` (it cannot fail with these arguments).
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
        // SAFETY: the mask was initialised when signals were blocked.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_blocked(signal: i32) -> bool {
        let mut mask = MaybeUninit::uninit();
        // SAFETY: without a new mask, `pthread_sigmask` only initialises `mask`.
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
            let mut name = [0u8; 16];
            // SAFETY: the arguments are this thread and a buffer that is large enough for any name.
            unsafe { libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len()) };
            (
                name[..5] == *b"test\0",
                is_blocked(libc::SIGTERM),
                is_blocked(libc::SIGPROF),
                is_blocked(libc::SIGSEGV),
                fp::control(),
            )
        });
        fp::set_control(environment);
        let inside = inside.expect("a thread").join().expect("no panic");
        assert_eq!(inside, (true, true, true, false, fp::DEFAULT));
        assert_eq!(is_blocked(libc::SIGTERM), terminate, "the caller's mask is as it was");
    }
}
