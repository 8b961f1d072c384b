//! Builders of acceleration structures, which keep memory between builds.

use crate::fallible;
use parking_lot::Mutex;
use rays::Builder;

/// Number of bytes that an idle builder keeps.
const KEPT_BYTES: usize = 64 << 20;

/// Builders that no thread uses.
#[derive(Default)]
pub struct IdleBuilders(Mutex<Vec<Builder>>);

impl IdleBuilders {
    /// Takes a builder, or makes one.
    pub fn take(&self) -> Builder {
        self.0.lock().pop().unwrap_or_default()
    }

    /// Keeps a builder for the next build, if there is memory for it.
    pub fn keep(&self, mut builder: Builder) {
        builder.trim(KEPT_BYTES);
        // Without memory the builder is dropped.
        let _ = fallible::push(&mut self.0.lock(), builder);
    }
}
