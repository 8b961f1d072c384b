//! The attachments of a render pass instance.

#![forbid(unsafe_code)]

use super::hi_z::HiZ;
use crate::api::{AttachmentLoops, RenderTargets};
use crate::prim::{TILE_SHIFT, TileGrid};
use crate::surface::RenderSurface;
use base::format::Aspect;
use base::limits::{MAX_COLOR_ATTACHMENTS, MAX_SAMPLES};
use base::pixel::TargetFormats;
use std::sync::Arc;

/// Number of bytes of colour attachments that are assumed to fit a processor's own caches.
const CACHED_COLOR_BYTES: usize = 1 << 20;

/// The attachments of a render pass instance and its tile grid.
#[derive(Clone, Debug)]
pub struct RenderPass {
    /// Colour attachments by number.
    pub color: [Option<RenderSurface>; MAX_COLOR_ATTACHMENTS],
    /// Depth attachment.
    pub depth: Option<RenderSurface>,
    /// Stencil attachment.
    pub stencil: Option<RenderSurface>,
    /// Shading rate attachment.
    pub shading_rate: Option<RenderSurface>,
    /// Hi-Z bounds of `depth`.
    pub hi_z: Option<Arc<HiZ>>,
    /// Render area x0, y0, x1, y1, inside every attachment.
    pub area: [i32; 4],
    /// True if the colours exceed a processor's own caches.
    pub exceeds_caches: bool,
    /// Grid that divides the pixels into tiles.
    pub grid: TileGrid,
    /// True if fragments that later ones hide are not shaded.
    pub removes_hidden_surfaces: bool,
    /// Attachments that input attachments may be.
    pub inputs: AttachmentLoops,
    /// Formats of the attachments, for keys of the pixel state.
    pub formats: TargetFormats,
}

impl RenderPass {
    /// Returns true if each quad that has a pixel in the render area, in the tile around a pixel,
    /// lies in the render area.
    pub fn whole_quads(&self, pixel: [u16; 2]) -> bool {
        (0..2).all(|axis| {
            let corner = i32::from(pixel[axis]) >> TILE_SHIFT << TILE_SHIFT;
            let (first, end) = (self.area[axis], self.area[axis + 2]);
            (first % 2 == 0 || first <= corner) && (end % 2 == 0 || corner + (1 << TILE_SHIFT) <= end)
        })
    }

    /// Makes a pass, with area, layers and samples cut to those of the attachments.
    pub fn new(targets: &RenderTargets) -> RenderPass {
        let color: [Option<RenderSurface>; MAX_COLOR_ATTACHMENTS] =
            core::array::from_fn(|i| targets.color[i].as_ref().and_then(|a| RenderSurface::new(a, Aspect::Color)));
        let depth = targets.depth.as_ref().and_then(|a| RenderSurface::new(a, Aspect::Depth));
        let stencil = targets.stencil.as_ref().and_then(|a| RenderSurface::new(a, Aspect::Stencil));
        let all = || color.iter().chain([&depth, &stencil]).flatten();
        // The number is cut to one that exists: 1, 2, 4, 8 or 16.
        let mut samples = 1 << targets.samples.clamp(1, MAX_SAMPLES as u32).ilog2();
        let [x, y, w, h] = targets.area;
        let mut end = [x.saturating_add(w).min(1 << 14), y.saturating_add(h).min(1 << 14)];
        for s in all() {
            end = [end[0].min(s.extent[0]), end[1].min(s.extent[1])];
            samples = samples.min(s.samples);
        }
        let layers = all().map(|s| s.layers).min().unwrap_or(targets.layers.max(1));
        let area = [x.min(end[0]), y.min(end[1]), end[0], end[1]].map(|v| v as i32);
        let tiles = [end[0], end[1]].map(|n| n.div_ceil(1 << TILE_SHIFT).max(1));
        let hi_z = depth.as_ref().and_then(HiZ::new).map(Arc::new);
        let formats = TargetFormats {
            color: color.map(|s| s.map(|s| s.format)),
            depth: depth.map(|s| s.format),
            stencil: stencil.is_some(),
            samples,
        };
        let grid = TileGrid { tiles, layers, samples };
        let bytes =
            color.iter().flatten().map(|s| s.bytes * s.extent[0] as usize * s.extent[1] as usize).sum::<usize>();
        let exceeds_caches = bytes > CACHED_COLOR_BYTES;
        let inputs = targets.inputs;
        RenderPass {
            color,
            depth,
            stencil,
            shading_rate: targets.shading_rate.as_ref().and_then(|a| RenderSurface::new(a, Aspect::Color)),
            hi_z,
            area,
            exceeds_caches,
            grid,
            removes_hidden_surfaces: true,
            inputs,
            formats,
        }
    }
}
