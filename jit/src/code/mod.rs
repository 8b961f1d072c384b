//! Machine code after emission: executable memory ([`memory`]), the form it is stored in ([`blob`], `stored`), and the call.
//!
//! Code has no relocations (helpers are called through the context), so a blob's bytes run wherever they are put.

pub mod blob;
mod call;
pub mod memory;
mod stored;

pub use blob::{CodeBlob, LoadedCode};
pub use call::call;
pub use memory::{ExecutableCode, can_execute};
