//! Proves that every access to memory is where its [`Reason`](super::Reason) says.
//!
//! An access claims a reason; the proof goes from its address back to a pointer of the driver (`anchor` has their table), through
//! sums, selections, parameters of blocks and what was kept in memory, and collects the conditions that hold on the way: those of
//! selections, and of the branches that dominate the access. At the pointer, the offset must be inside: by its range (`scope`), by a
//! comparison with the size that belongs to the pointer (`bounds`), or, in arrays whose length the driver alone knows, because
//! nothing that the application chooses is part of the index (`clean`). Whatever the proof does not understand is an error.
//!
//! An access that a back end may move (read-only and not guarded) is proved by selections alone, because a branch would not hold it.
//!
//! The verifier trusts the table of anchors and the callers of the code, and no part of the emitter. It does not look at what helpers
//! and kernels do. It runs on all compiles of tests, debug builds and under `GRUS_VERIFY=1`.

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
mod texels;

pub use anchor::World;
pub use prove::verify;

/// Whether all compiles are verified: in debug builds, and where `GRUS_VERIFY` is set.
pub fn is_wanted() -> bool {
    static WANTED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *WANTED.get_or_init(|| cfg!(debug_assertions) || std::env::var_os("GRUS_VERIFY").is_some())
}
