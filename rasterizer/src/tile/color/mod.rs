//! Blending and colour writes, in structures of lanes.
//!
//! Load, blend and store are separate, so no code depends on both a format and a blend state.
//! Formats of four 8-bit components have their own path in `unorm8`. Unsigned normalised ones blend
//! in integers (`unorm8_blend`), in `byte_vector`s, and two pairs of quads at once on hosts with
//! the 512-bit level (`avx512`). The other formats use their lane kernels (`lanes`). Advanced blend
//! operations use them for all formats (`advanced`). Write masks and logic operations act on packed
//! bits. `flat` writes primitives that have the same colour in all pixels.

mod advanced;
mod any_format;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod byte_vector;
mod equation;
mod flat;
mod half_float;
mod plan;
mod quad_pairs;
mod quad_texels;
mod source;
mod srgb;
#[cfg(test)]
mod tests;
mod unorm8;
mod unorm8_blend;

pub use flat::FlatColor;
pub use plan::ColorPlan;

use super::shaded::ShadedQuads;
use base::abi::FragmentQuad;
use base::host::{SimdLevel, prefetch};
use plan::Access;
use source::Sources;

impl ColorPlan {
    /// Prefetches the texels of quads that will be written; one quad of two, because they are often
    /// side by side.
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
    /// Covered pixels and samples lie inside the surface's layer, and no other thread accesses
    /// them.
    pub unsafe fn write_batch(&self, batch: &ShadedQuads<'_>) {
        // SAFETY: the level is the host's own; covered pixels lie inside the layer, and no other
        // thread accesses them (`# Safety`).
        unsafe { self.write_at(SimdLevel::detect(), batch) };
    }

    /// # Safety
    /// The requirements of [`ColorPlan::write_batch`] hold, and the host has the level.
    unsafe fn write_at(&self, level: SimdLevel, batch: &ShadedQuads<'_>) {
        let (Some(first), Some(second)) = (Sources::new(batch, self.slots), Sources::new(batch, self.slots1)) else {
            // SAFETY: covered pixels lie inside the layer, no other thread accesses them, and the
            // host has the level (`# Safety`).
            return unsafe { self.write_joined(level, batch) };
        };
        let sources = [first, second];
        if let Some(advanced) = &self.advanced {
            // SAFETY: covered pixels lie inside the layer, no other thread accesses them, and the
            // host has the level (`# Safety`).
            return unsafe { self.write_advanced(level, batch, &sources[0], advanced) };
        }
        match self.access {
            // SAFETY: covered pixels lie inside the layer, no other thread accesses them, and the
            // host has the level (`# Safety`).
            Access::Unorm8 { swap } if self.logic.is_none() => unsafe {
                self.write_unorm8(level, batch, &sources, swap)
            },
            // SAFETY: covered pixels lie inside the layer, no other thread accesses them, and the
            // host has the level (`# Safety`).
            Access::Srgb8 { swap } if !self.masked => unsafe { self.write_srgb8(level, batch, &sources, swap) },
            // SAFETY: covered pixels lie inside the layer, no other thread accesses them, and the
            // host has the level (`# Safety`).
            _ => unsafe { self.write_any(level, batch, &sources) },
        }
    }
}
