//! Blending and colour writes, in structures of lanes.
//!
//! Load, blend and store are separate: a format never meets a blend state. 8-bit formats have their own path (`eight`), the rest
//! goes through the format's lane kernels (`lanes`). Write masks and logic operations act on packed bits.

mod eight;
mod equation;
mod lanes;
mod pair;
mod plan;

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
        let plain = !self.masked && self.logic.is_none();
        match self.access {
            // SAFETY: the caller's contract, in all four.
            Access::Unorm8 { swap: false } if plain => unsafe { self.write8::<false, false>(batch) },
            // SAFETY: see above.
            Access::Unorm8 { swap: true } if plain => unsafe { self.write8::<false, true>(batch) },
            // SAFETY: see above.
            Access::Srgb8 { swap: false } if plain => unsafe { self.write8::<true, false>(batch) },
            // SAFETY: see above.
            Access::Srgb8 { swap: true } if plain => unsafe { self.write8::<true, true>(batch) },
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
