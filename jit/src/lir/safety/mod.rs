//! Proves that every memory access lies in the memory that its [`Reason`](super::Reason) names.
//!
//! An access claims a reason. The proof goes from its address back to a pointer of the driver
//! (`anchor` has their table), through sums, selections, block parameters and values that were
//! stored in memory. It collects the conditions that hold on that path: those of selections, and of
//! the branches that dominate the access. At the pointer, the offset must be inside. The range
//! shows that (`scope`), or a comparison with the size that belongs to the pointer (`bounds`). For
//! arrays whose length only the driver knows, the index must not contain anything that the
//! application chooses (`clean`). An access that the proof does not understand is an error.
//!
//! An access that a back end may move (read-only and not guarded) is proved by selections alone,
//! because it may be moved above its branch.
//!
//! The verifier trusts the table of anchors and the callers of the code, and no part of the
//! emitter. It does not examine helpers and kernels. It runs on all compiles of tests, debug builds
//! and under `GRUS_VERIFY=1`.

#![forbid(unsafe_code)]

pub mod anchor;
mod bounds;
mod clean;
mod heap;
mod kept;
mod live;
mod loaded;
mod prove;
mod scope;
mod shape;
mod stored;
mod texels;

use crate::lir::Function;
pub use anchor::World;

/// Proves all accesses of a function that [`crate::lir::verify`] has accepted.
///
/// # Errors
/// Returns the first access whose claim could not be proved, with the reason.
pub fn verify(func: &Function, world: &World<'_>) -> Result<(), String> {
    prove::verify(func, world, kept::stored_pointers)
}

/// Returns true if all compiles are verified: in debug builds, or if `GRUS_VERIFY` is set.
pub fn is_wanted() -> bool {
    static WANTED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *WANTED.get_or_init(|| cfg!(debug_assertions) || std::env::var_os("GRUS_VERIFY").is_some())
}
