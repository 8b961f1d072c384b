//! Proves that every memory access lies in the memory that its
//! [`AccessReason`](super::AccessReason) names.
//!
//! An access claims a reason. The proof goes from its address back to a pointer of the driver
//! (`driver_layout` has their table), through sums, selections, block parameters and values that
//! were stored in memory. It collects the conditions that hold on that path: those of selections,
//! and of the branches that dominate the access. At the pointer, the offset must be inside. The
//! range shows that (`conditions`), or a comparison with the size that belongs to the pointer
//! (`bounds`). For arrays whose length only the driver knows, the index must not contain anything
//! that the application chooses (`taint`). An access that the proof does not understand is an
//! error.
//!
//! An access that a back end may move (read-only and not guarded) is proved by selections alone,
//! because it may be moved above its branch.
//!
//! The verifier trusts the table of driver structures and the callers of the code, and no part of
//! the emitter. It does not examine helpers and kernels. It runs on all compiles of tests, debug
//! builds and under `GRUS_VERIFY=1`.

#![forbid(unsafe_code)]

mod bounds;
mod conditions;
mod definitions;
pub mod driver_layout;
mod heap;
mod live_memory;
mod own_stores;
mod pointer_loads;
mod prover;
mod stored_pointers;
mod taint;
mod texels;

use crate::lir::Function;
pub use driver_layout::StageLayout;

/// Proves all accesses of a function that [`crate::lir::verify`] has accepted.
///
/// # Errors
/// Returns the first access whose claim could not be proved, with the reason.
pub fn verify(func: &Function, stage_layout: &StageLayout<'_>) -> Result<(), String> {
    prover::verify(func, stage_layout, own_stores::stored_pointers)
}

/// Returns true if all compiles are verified: in debug builds, or if `GRUS_VERIFY` is set.
pub fn is_verification_enabled() -> bool {
    static ENABLED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ENABLED.get_or_init(|| cfg!(debug_assertions) || std::env::var_os("GRUS_VERIFY").is_some())
}
