//! Draws and dispatches over batches of compiled stages; copies, clears, blits, resolves; sampling kernels.
//!
//! [`api`] is what the icd sees. Nothing here knows Vulkan handles or SPIR-V.
//!
//! A draw goes through three steps. `scene` cuts it into chunks of about 256 primitives. `front` takes a chunk whole:
//! index fetch, vertex shading with reuse, clipping, setup, binning, into the chunk's own arena. `tile` merges the bins by
//! chunk number, one worker per 64×64 tile: coverage, depth and stencil, fragment batches, blending. Nothing a
//! result depends on is decided by scheduling.

pub mod api;
pub mod engine;
pub mod sample;
pub mod scene;
pub mod transfer;

mod compute;
mod front;
mod mem;
mod surface;
mod tile;

#[cfg(test)]
mod tests;

pub use engine::{Engine, Running};
pub use scene::RenderPass;

/// The context's abort flag is set: the device is lost or the shader's budget spent.
fn aborted(context: &base::abi::ShaderContext) -> bool {
    // SAFETY: `abort` is never null and lives as long as the context (its contract).
    unsafe { (*context.abort).load(std::sync::atomic::Ordering::Relaxed) != 0 }
}
