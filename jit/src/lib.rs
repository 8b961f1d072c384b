//! SPIR-V in, callable code out.
//!
//! [`spirv`] (reader, types, validation: no unsafe) → [`ir`] (structured SIMT SSA) → [`passes`] →
//! [`emit`] → [`lir`] (low SSA on vectors of any width) → a back end, by [`tier`] ([`cranelift`],
//! which only that module knows, or [`wide`]) → [`code`] (executable memory). [`compile()`] is the
//! whole path.

pub mod backend;
mod budget;
pub mod code;
pub mod compile;
pub mod cost;
pub mod cranelift;
pub mod emit;
pub mod error;
pub mod host;
pub mod ir;
pub mod lir;
pub mod passes;
pub mod rehearsal;
pub mod spirv;
pub mod tier;
pub mod wide;

pub use compile::{CompileRequest, Described, Prepared, compile, describe, prepare, stored, with_epilogue};
