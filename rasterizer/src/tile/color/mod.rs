//! Blending and colour writes, in structures of lanes.
//!
//! Load, blend and store are separate: a format never meets a blend state. Formats of four 8-bit components have their own path
//! (`eight`; unsigned normalised ones blend in integers: `bytes`, by `vector`s, two pairs of quads at once where those are `wide`), the rest goes through the format's lane kernels (`lanes`), as advanced blend operations do for all formats (`advanced`). Write masks
//! and logic operations act on packed bits. What a primitive writes that has one colour for all of its pixels is in `flat`.

mod advanced;
mod bytes;
mod eight;
mod equation;
mod flat;
mod half;
mod lanes;
mod pair;
mod plan;
mod quad;
mod source;
mod srgb;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vector;
#[cfg(target_arch = "x86_64")]
mod wide;

pub use flat::FlatColor;
pub use plan::ColorPlan;

use super::shaded::ShadedQuads;
use base::abi::FragmentQuad;
use base::host::{Level, prefetch};
use plan::Access;
use source::Sources;

impl ColorPlan {
    /// Asks for the texels of quads that are going to be written, of each two: often they are side by side.
    pub fn prefetch(&self, layer: u32, quads: &[FragmentQuad]) {
        for quad in quads.iter().step_by(2) {
            let top = self.surface.at(layer, 0, u32::from(quad.x), u32::from(quad.y));
            prefetch(top);
            prefetch(top.wrapping_add(self.surface.row_pitch));
        }
    }

    /// Writes all quads of a batch, in order.
    ///
    /// # Safety
    /// Covered pixels and samples lie inside the surface's layer and no other thread touches them.
    pub unsafe fn write_batch(&self, batch: &ShadedQuads<'_>) {
        // SAFETY: the host's own level; otherwise the caller's contract.
        unsafe { self.write_at(Level::here(), batch) };
    }

    /// # Safety
    /// As for [`ColorPlan::write_batch`]; the host has the level.
    unsafe fn write_at(&self, level: Level, batch: &ShadedQuads<'_>) {
        let (Some(first), Some(second)) = (Sources::new(batch, self.slots), Sources::new(batch, self.slots1)) else {
            // SAFETY: the caller's contract.
            return unsafe { self.write_joined(level, batch) };
        };
        let sources = [first, second];
        if let Some(advanced) = &self.advanced {
            // SAFETY: the caller's contract.
            return unsafe { self.write_advanced(level, batch, &sources[0], advanced) };
        }
        match self.access {
            // SAFETY: the caller's contract, in all three.
            Access::Unorm8 { swap } if self.logic.is_none() => unsafe {
                self.write_unorm8(level, batch, &sources, swap)
            },
            // SAFETY: see above.
            Access::Srgb8 { swap } if !self.masked => unsafe { self.write_srgb8(level, batch, &sources, swap) },
            // SAFETY: see above.
            _ => unsafe { self.write_any(level, batch, &sources) },
        }
    }
}
