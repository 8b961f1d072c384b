//! Processes that an application forks: a child has the parent's memory and one thread. What needs the driver's other threads, or a lock
//! that one of them may have held at that moment, would wait for ever there.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// Forks between the first process and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The process that a value was made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home(u64);

impl Home {
    /// The process of the caller.
    pub fn here() -> Home {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| {
            // SAFETY: the handler only adds to a number. Without memory for it nothing is noticed.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        });
        Home(FORKS.load(Ordering::Relaxed))
    }

    /// Is this the process?
    #[inline]
    pub fn is_here(self) -> bool {
        FORKS.load(Ordering::Relaxed) == self.0
    }
}

impl Default for Home {
    fn default() -> Home {
        Home::here()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_not_the_home() {
        let home = Home::here();
        assert!(home.is_here());
        // SAFETY: the child does nothing but read a number and end.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::_exit(if home.is_here() { 1 } else { 7 });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert_eq!(libc::WEXITSTATUS(status), 7);
        }
        assert!(home.is_here());
    }
}
