//! SPIR-V in, callable code out.
//!
//! [`spirv`] (reader, types, validation: no unsafe) → [`ir`] (structured SIMT SSA) → [`passes`] →
//! [`emit`] → [`lir`] (low SSA on vectors of any width) → a back end, by [`tier`] ([`cranelift`],
//! which only that module knows, or [`wide`]) → [`code`] (executable memory). [`compile()`] is the
//! whole path.

pub mod backend;
mod budget;
pub mod cancel;
pub mod code;
pub mod compile;
pub mod cranelift;
pub mod emit;
pub mod error;
pub mod host;
pub mod ir;
pub mod lir;
pub mod passes;
pub mod regalloc_cost;
pub mod spirv;
pub mod tier;
pub mod warm_up;
pub mod wide;

pub use compile::{
    CompileDescription, CompileRequest, Prepared, PreparedIr, compile, load_stored, prepare, with_prepared_ir,
};
