//! Cancellation of a compile whose code is no longer needed.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that the owner of a compile's result sets when the result is no longer needed. Every
/// compile reads it between two steps, so that the owner waits for at most one step. Clones are the
/// same flag. A child token is cancelled with its parent, too.
#[derive(Clone, Debug)]
pub struct CancelToken(Option<Arc<Flag>>);

#[derive(Debug)]
struct Flag {
    is_set: AtomicBool,
    parent: CancelToken,
}

impl CancelToken {
    /// The token of compiles whose result is always needed: nothing cancels it.
    pub const NEVER: CancelToken = CancelToken(None);

    /// Creates a token that only [`CancelToken::cancel`] cancels.
    #[must_use]
    pub fn new() -> CancelToken {
        CancelToken::NEVER.child()
    }

    /// Creates a token that is cancelled alone or together with this one.
    #[must_use]
    pub fn child(&self) -> CancelToken {
        CancelToken(Some(Arc::new(Flag { is_set: AtomicBool::new(false), parent: self.clone() })))
    }

    /// Cancels the compiles that read this token or one of its children.
    pub fn cancel(&self) {
        if let Some(flag) = &self.0 {
            // The flag protects no other data: a compile that reads it late only ends later.
            flag.is_set.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if the result is no longer needed.
    pub fn is_cancelled(&self) -> bool {
        let mut token = self;
        while let Some(flag) = &token.0 {
            if flag.is_set.load(Ordering::Relaxed) {
                return true;
            }
            token = &flag.parent;
        }
        false
    }
}

impl Default for CancelToken {
    fn default() -> CancelToken {
        CancelToken::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_cancelled_alone_or_with_its_parent() {
        let parent = CancelToken::new();
        let [alone, together] = [parent.child(), parent.child()];
        alone.clone().cancel();
        assert!(alone.is_cancelled() && !together.is_cancelled() && !parent.is_cancelled());
        parent.cancel();
        assert!(together.is_cancelled() && together.child().is_cancelled());
        CancelToken::NEVER.cancel();
        assert!(!CancelToken::NEVER.is_cancelled());
    }
}
