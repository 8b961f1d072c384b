//! The driver's threads. Every thread is started here. It has a name, a stack of known size and the
//! driver's floating-point environment ([`crate::fp`]), and receives no signal of the application.
//!
//! Threads of the standard library allocate memory that cannot fail, and end the process when there
//! is none. These threads are created by [`crate::os`], which reports failure.

#![forbid(unsafe_code)]

use crate::{fp, os};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

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
    let name = name.to_owned();
    let result = Arc::new(Mutex::new(None));
    let out = result.clone();
    let work: os::ThreadWork = Box::new(move || {
        os::name_thread(&name);
        // The caller's floating-point environment is inherited too, so it must be replaced.
        let _environment = fp::FpEnvironment::enter();
        let value = catch_unwind(AssertUnwindSafe(f));
        *out.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    });
    Ok(JoinHandle { thread: os::start_thread(stack, work)?, result })
}

/// A thread that can be joined; if the handle is dropped, the thread continues alone.
pub struct JoinHandle<T> {
    thread: os::Thread,
    result: Arc<Mutex<Option<std::thread::Result<T>>>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread's end.
    ///
    /// # Errors
    /// The error is the payload of the thread's panic.
    pub fn join(self) -> std::thread::Result<T> {
        self.thread.join();
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        result.take().unwrap_or_else(|| Err(Box::new("the thread ended early")))
    }

    /// Returns true if the thread has finished its work.
    pub fn is_finished(&self) -> bool {
        self.result.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_the_environment_of_the_driver() {
        let environment = fp::control();
        fp::set_control(fp::DEFAULT ^ 0x2000);
        let inside = spawn("test", SMALL_STACK, fp::control);
        fp::set_control(environment);
        assert_eq!(inside.expect("a thread").join().expect("no panic"), fp::DEFAULT);
    }
}
