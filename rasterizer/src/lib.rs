//! Draws and dispatches over batches of compiled stages; copies, clears, blits, resolves; sampling kernels.
//!
//! [`api`] is what the icd sees. Nothing here knows Vulkan handles or SPIR-V.

pub mod api;
pub mod sample;
pub mod transfer;
