//! Draws over batches of compiled stages.
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
//! - `stages` (of a pipeline), `feedback` (buffers in which vertices are captured), `shading_rate`
//!   (sizes of fragments), `api` and `surface`: state, and attachments as memory;
//! - `prim`: the definition of a primitive; `tessellate`: the domain's primitives that the
//!   tessellator makes of a patch;
//! - `front` (draws → primitives) and `tile` (primitives → pixels), which do not know each other;
//!   `interpolate` beside them;
//! - `scene`: rounds of both over the pool; it owns the state that workers and passes keep;
//! - `engine`: the entry point.

pub mod api;
pub mod engine;
pub mod scene;
pub mod tessellate;

mod feedback;
mod front;
mod interpolate;
mod prim;
mod shading_rate;
mod stages;
mod surface;
#[cfg(test)]
mod tests;
mod tile;

pub use engine::Engine;
pub use interpolate::{centroids, interpolate};
pub use scene::RenderPassInstance;
