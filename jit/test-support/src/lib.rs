//! Support for tests of the shader compiler: an interpreter of the IR, which is the oracle of
//! generated code, and random programs in both forms, IR and LIR.
//!
//! Unit tests of `jit` see another instance of its types than this crate does. They exchange
//! programs with it as text, which both forms read back.

pub mod interp;
pub mod ir_random;
pub mod lir_random;
