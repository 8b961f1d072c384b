//! Machine code after emission: executable memory ([`memory`]), the form it is stored in ([`blob`], `stored`), and the call
//! (with `coherence`, which some processors want of both).
//!
//! Code has no relocations (helpers are called through the context), so a blob's bytes run wherever they are put.

pub mod blob;
mod call;
mod coherence;
pub mod memory;
mod stored;

pub use blob::{CodeBlob, LoadedCode};
pub use call::call;
pub use memory::{ExecutableCode, can_execute};
