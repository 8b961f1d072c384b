//! Detection of processes that an application forks. A child has the parent's memory and only one
//! thread. Code that needs the driver's other threads would wait there for ever, as would code that
//! needs a lock that such a thread held when the process forked.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of forks between the first process and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The process in which a value was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginProcess(u64);

impl OriginProcess {
    /// Returns the process of the caller.
    pub fn current() -> OriginProcess {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| {
            // SAFETY: the handler only adds to a number. If there is no memory for it, forks are
            // not detected.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        });
        OriginProcess(FORKS.load(Ordering::Relaxed))
    }

    /// Returns true if the caller runs in this process.
    #[inline]
    pub fn is_current(self) -> bool {
        FORKS.load(Ordering::Relaxed) == self.0
    }
}

impl Default for OriginProcess {
    fn default() -> OriginProcess {
        OriginProcess::current()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_is_another_process() {
        let home = OriginProcess::current();
        assert!(home.is_current());
        // SAFETY: the child only reads a number and exits.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::_exit(if home.is_current() { 1 } else { 7 });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert_eq!(libc::WEXITSTATUS(status), 7);
        }
        assert!(home.is_current());
    }
}
