//! Blending and colour writes, in structures of lanes.
//!
//! Load, blend and store are separate: a format never meets a blend state. Formats of four 8-bit components have their own path
//! (`eight`; unsigned normalised ones blend in integers: `bytes`), the rest goes through the format's lane kernels (`lanes`). Write masks
//! and logic operations act on packed bits. What a primitive writes that has one colour for all of its pixels is in `flat`.

mod bytes;
mod eight;
mod equation;
#[allow(dead_code, reason = "the tiles do not call it yet")]
mod flat;
mod lanes;
mod pair;
mod plan;
#[cfg(test)]
mod tests;

#[allow(unused_imports, reason = "see `flat`")]
pub use flat::FlatColor;
pub use plan::ColorPlan;

use super::shaded::ShadedQuads;
use base::host::{Host, Level};
use plan::Access;

impl ColorPlan {
    /// Writes all quads of a batch, in order.
    ///
    /// # Safety
    /// Covered pixels and samples lie inside the surface's layer and no other thread touches them.
    pub unsafe fn write_batch(&self, batch: &ShadedQuads<'_>) {
        // SAFETY: the host's own level; otherwise the caller's contract.
        unsafe { write_of(Level::here())(self, batch) };
    }

    /// # Safety
    /// As for [`ColorPlan::write_batch`]; on a host of level `H`.
    #[inline(always)]
    unsafe fn write<H: Host>(&self, batch: &ShadedQuads<'_>) {
        match self.access {
            // SAFETY: the caller's contract, in all four.
            Access::Unorm8 { swap } if self.logic.is_none() => unsafe { self.write_unorm8::<H>(batch, swap) },
            // SAFETY: see above.
            Access::Srgb8 { swap: false } if !self.masked => unsafe { self.write_srgb8::<H, false>(batch) },
            // SAFETY: see above.
            Access::Srgb8 { swap: true } if !self.masked => unsafe { self.write_srgb8::<H, true>(batch) },
            // SAFETY: the caller's contract.
            _ => unsafe { self.write_lanes::<H>(batch) },
        }
    }
}

base::compiled! {
    unsafe fn write_of(plan: &ColorPlan, batch: &ShadedQuads<'_>) {
        plan.write::<H>(batch);
    }
}
