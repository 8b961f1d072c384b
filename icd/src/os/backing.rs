//! Kinds of pages behind device memory, and what may happen when they are mapped. The pages
//! themselves are those of the system ([`Pages`]).

#![forbid(unsafe_code)]

pub use super::pages::Pages;

use std::sync::OnceLock;

/// Kind of pages of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// Private memory of this process.
    Anonymous,
    /// A file without a name, which can be mapped again.
    Memfd,
}

impl Backing {
    /// Returns the kind for allocations that have no reason to be a file. `GRUS_MEMORY=memfd` makes
    /// every allocation a file, for tests and measurements.
    pub fn default_kind() -> Backing {
        static DEFAULT: OnceLock<Backing> = OnceLock::new();
        *DEFAULT.get_or_init(|| match std::env::var("GRUS_MEMORY").as_deref() {
            Ok("memfd") => Backing::Memfd,
            _ => Backing::Anonymous,
        })
    }
}

/// A mapping that the kernel refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapError {
    /// The previous content of the addresses is still there.
    Unchanged,
    /// The addresses may be unmapped, or hold a mapping of another part of the process.
    Lost,
}
