//! Tables that `cargo xtask generate` writes from the grammar of SPIR-V.

pub mod capabilities;
pub(crate) mod opcodes;
pub(crate) mod operands;
