//! SPIR-V in, callable code out.
//!
//! [`spirv`] (reader, types, validation: no unsafe) → [`ir`] (structured SIMT SSA) → [`passes`] → [`emit`] → [`lir`] (low SSA on vectors
//! of any width) → [`cranelift`] (the only place that knows it) → [`code`] (executable memory). [`compile()`] is the whole road.

mod budget;
pub mod code;
pub mod compile;
pub mod cranelift;
pub mod emit;
pub mod error;
pub mod ir;
pub mod lir;
pub mod passes;
pub mod spirv;

pub use compile::{CompileRequest, Prepared, compile, prepare, stored};
