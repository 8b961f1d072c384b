//! Draws and dispatches over batches of compiled stages; copies, clears, blits, resolves; sampling kernels.
//!
//! [`api`] is what the icd sees. Nothing here knows Vulkan handles or SPIR-V.
//!
//! A draw goes through three steps. `scene` cuts it into chunks of about 256 primitives. `front` takes a chunk whole:
//! index fetch, vertex shading with reuse, clipping, setup, binning, into the chunk's own arena. `tile` merges the bins by
//! chunk number, one worker per 64×64 tile: coverage, depth and stencil, fragment batches, blending. Nothing a
//! result depends on is decided by scheduling.
//!
//! The floors, each on those above it in this list only; no module of the crate imports one that imports it:
//!
//! - `stages` (of a pipeline), `feedback` (buffers that vertices are captured in), `api`, `mem` and `surface`: state and memory as words;
//! - `stage`: calls of compiled code; `team`: threads, for any kind of work and several owners of work; `pool`: what those that take part keep;
//! - `prim`: what a primitive is; `tessellate`: what the tessellator makes of a patch;
//! - `front` (draws → primitives) and `tile` (primitives → pixels), which do not know each other; `sample`, `interpolate` and `transfer` beside them;
//! - `scene` and `compute`: rounds and batches over the pool; `scene` owns what workers and passes keep;
//! - `engine`: the door.

pub mod api;
pub mod engine;
pub mod sample;
pub mod scene;
pub mod team;
pub mod tessellate;
pub mod transfer;

mod compute;
mod feedback;
mod front;
mod interpolate;
mod mem;
mod pool;
mod prim;
mod stage;
mod stages;
mod surface;
#[cfg(test)]
mod tests;
mod tile;

pub use engine::Engine;
pub use interpolate::{centroids, interpolate};
pub use scene::RenderPassInstance;
