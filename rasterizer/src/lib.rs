//! Draws and dispatches over batches of compiled stages; copies, clears, blits, resolves; sampling
//! kernels.
//!
//! The module [`api`] is the interface to the icd. No module knows Vulkan handles or SPIR-V.
//!
//! A draw goes through three steps. The module `scene` cuts it into chunks of about 256 primitives.
//! One call of `front` runs a chunk: index fetch, vertex shading with reuse, clipping, setup,
//! binning, into the chunk's own arena. The module `tile` merges the bins by chunk number, with one
//! worker per tile of 64×64 pixels: coverage, depth and stencil, fragment batches, blending.
//! Scheduling decides nothing on which a result depends.
//!
//! The layers are below. A module imports only modules of its own layer and of the layers above it
//! in this list, and no imports form a cycle:
//!
//! - `stages` (of a pipeline), `feedback` (buffers in which vertices are captured), `api`, `mem`
//!   and `surface`: state, and memory as words;
//! - `stage`: calls of compiled code; `team`: threads, for any kind of work and several owners of
//!   work; `pool`: state that participating threads keep;
//! - `prim`: the definition of a primitive; `tessellate`: the domain's primitives that the
//!   tessellator makes of a patch;
//! - `front` (draws → primitives) and `tile` (primitives → pixels), which do not know each other;
//!   `sample`, `interpolate` and `transfer` beside them;
//! - `scene` and `compute`: rounds and batches over the pool; `scene` owns the state that workers
//!   and passes keep;
//! - `engine`: the entry point.

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
