//! Machine code after emission: executable memory ([`memory`]) and the form it is stored in ([`blob`]).
//!
//! Code has no relocations (helpers are called through the context), so a blob's bytes run wherever they are put.

pub mod blob;
pub mod memory;

pub use blob::{CodeBlob, LoadedCode};
pub use memory::{ExecutableCode, can_execute};
