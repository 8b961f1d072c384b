//! Machine code after emission: executable memory ([`memory`]), its bytes inside and outside of it
//! ([`bytes`]), the stored form ([`blob`], `serialize`), and the call. `coherence` does what some
//! processors require of writer and caller.
//!
//! Code has no relocations, because helpers are called through the context, so that a blob's bytes
//! run at any address.

pub mod blob;
pub mod bytes;
mod call;
mod coherence;
pub mod memory;
pub mod serialize;

pub use blob::{CodeBlob, LoadedCode};
pub use bytes::CodeBytes;
pub use call::call;
pub use memory::{ExecutableCode, can_execute};
