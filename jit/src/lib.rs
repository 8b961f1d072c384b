//! SPIR-V in, callable code out.
//!
//! `spirv` (reader, types, validation: no unsafe) → [`ir`] (structured SIMT SSA) → `passes` → `emit` (the only place that
//! knows Cranelift) → `code` (executable memory).

pub mod code;
pub mod error;
pub mod ir;
pub mod passes;
pub mod spirv;
