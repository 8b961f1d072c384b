//! Detection of processes that an application forks. A child has the parent's memory and only one
//! thread. Code that needs the driver's other threads would wait there for ever, as would code that
//! needs a lock that such a thread held when the process forked.

#![forbid(unsafe_code)]

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
        // If there is no memory for the registration, forks are not detected.
        REGISTERED.call_once(|| crate::os::call_in_forked_children(in_child));
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
