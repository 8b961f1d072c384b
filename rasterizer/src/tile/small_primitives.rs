//! Primitives of a few pixels, which the front end has found: tessellated and distant meshes, and
//! short lines, consist of them.
//!
//! Each is one or two quads, so the decisions for squares and blocks of other primitives take
//! longer than testing and listing the quads. This module handles draws whose fragments are only
//! tested by depth before they are shaded, or not at all. A separate function keeps all that it
//! needs in registers.
use super::fragment;
use super::job::{SmallPrimitivePath, TileJob};
use super::path::{Destination, EarlyTest, FragmentOrder, TilePath};
use super::runs::{PREFETCH, prefetch_prim};
use super::shaded::SPREAD;
use crate::prim::{ChunkOutput, TILE_SHIFT};
use base::abi::{FragmentBatch, FragmentQuad};
use base::host::SimdLevel;

impl TileJob<'_> {
    /// Determines whether small primitives of the draw are for [`TileJob::small_primitives`] in the
    /// tile at (x, y). All other fields of the job must be set before.
    pub fn find_small_path(&mut self, [x, y]: [i32; 2]) {
        let (pass, plan) = (self.pass, self.draw.plan);
        let other = pass.grid.samples != 1
            || plan.sample_locations.is_some()
            || matches!(plan.path, TilePath::Lines(_))
            || plan.order == FragmentOrder::Primitives
            || plan.sample_mask & 1 == 0
            || !plan.tests_early()
            || self.draw_destination == Destination::VisibilityBuffer
            || self.filter.is_some();
        let untested = SmallPrimitivePath { test: None, depth: core::ptr::null_mut(), pitch: 0, bytes: 0 };
        self.small_path = match (plan.depth.quad, &pass.depth) {
            _ if other => None,
            _ if matches!(self.early, EarlyTest::None) => Some(untested),
            // Both rows of all quads lie in the attachment.
            (test @ Some(_), Some(surface)) if y + (1 << TILE_SHIFT) <= surface.extent[1] as i32 => {
                let depth = surface.at(self.layer, 0, x as u32, y as u32);
                Some(SmallPrimitivePath { test, depth, pitch: surface.row_pitch, bytes: surface.bytes })
            }
            _ => None,
        };
    }

    /// Takes the primitives of a chunk from bin `from` on, as long as they are small and lie inside
    /// of the tile at (x, y). Returns the bin of the first one that does not.
    #[inline(always)]
    pub fn small_primitives(&mut self, output: &ChunkOutput, bins: &[u64], from: usize, tile: [i32; 2]) -> usize {
        let Some(small_path) = self.small_path.filter(|_| output.prims[bins[from] as u32 as usize].pixels != 0) else {
            return from;
        };
        self.flush_rectangles();
        let mut at = from;
        // SAFETY: the level is the host's own.
        unsafe { small_at_level(SimdLevel::detect())(self, small_path, output, bins, tile, &mut at) };
        at
    }
}

base::multiversion! {
    unsafe fn small_at_level(job: &mut TileJob<'_>, small_path: SmallPrimitivePath, output: &ChunkOutput, bins: &[u64], tile: [i32; 2], at: &mut usize) {
        *at = small_primitives(job, small_path, output, bins, tile, *at);
    }
}

/// Takes small primitives; implements [`TileJob::small_primitives`] at a processor level.
#[inline(always)]
fn small_primitives(
    job: &mut TileJob<'_>,
    small_path: SmallPrimitivePath,
    output: &ChunkOutput,
    bins: &[u64],
    [x0, y0]: [i32; 2],
    from: usize,
) -> usize {
    let (hi_z, counts, shades) = (job.hi_z, job.counts, job.draw.plan.shades());
    let (x1, y1) = (x0 + (1 << TILE_SHIFT), y0 + (1 << TILE_SHIFT));
    for (i, &bin) in bins.iter().enumerate().skip(from) {
        if let Some(&ahead) = bins.get(i + PREFETCH) {
            prefetch_prim(&output.prims[ahead as u32 as usize]);
        }
        let prim = &output.prims[bin as u32 as usize];
        let rect @ [left, top, right, bottom] = prim.rect();
        let (x, y) = (left & !1, top & !1);
        let around = (left < x0) | (top < y0) | (right > x1) | (bottom > y1);
        if prim.pixels == 0 || around | (right - x > 4) | (bottom - y > 4) {
            return i;
        }
        if hi_z.is_some_and(|hi_z| !hi_z.record_write(rect) && !hi_z.visible::<1, false>(prim, rect)) {
            continue;
        }
        // The order changes from row-major to quad by quad: the second and third bit of the pixels'
        // numbers are exchanged.
        let pixels = u32::from(prim.pixels) << ((left & 1) + 4 * (top & 1));
        let moved = (pixels ^ pixels >> 2) & 0x0c0c;
        let mut rest = pixels ^ moved ^ moved << 2;
        while rest != 0 {
            let bit = rest.trailing_zeros() & !3;
            let mut covered = rest >> bit & 0xf;
            rest &= !(0xf << bit);
            let place = [x + (bit >> 1 & 2) as i32, y + (bit >> 2 & 2) as i32];
            if let Some(test) = small_path.test {
                let (column, row) = ((place[0] - x0) as usize, (place[1] - y0) as usize);
                let at = small_path.depth.wrapping_add(row * small_path.pitch + column * small_path.bytes);
                // SAFETY: covered pixels lie inside the render area, which lies inside the
                // attachments, as do both rows of their quads; this worker owns the tile.
                covered = unsafe { test(prim, at, small_path.pitch, place, covered) };
            }
            if counts {
                job.passed += u64::from(covered.count_ones());
            }
            if !shades {
                // Running the stage would have no effect except on the count of its invocations.
                job.invocations +=
                    u64::from(covered.count_ones() * u32::from(job.draw.draw.stages.fragment().is_some()));
            } else if covered != 0 {
                let (coverage, primitive) = (SPREAD[covered as usize], (&raw const *prim).cast());
                let [x, y] = place.map(|c| c as u16);
                let quads = &mut job.scratch.quads;
                quads.push(FragmentQuad { x, y, coverage, sample: FragmentBatch::CENTRE, primitive });
                if quads.is_full() {
                    fragment::shade(job);
                }
            }
        }
    }
    bins.len()
}
