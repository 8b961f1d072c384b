//! Tiles: one worker runs all primitives of a 64×64 tile in draw order.
//!
//! Coverage comes in 4×4 blocks; early tests work on blocks; survivors become quads; up to [`BATCH_QUADS`] quads of one
//! draw are shaded in one call, then tested (late) and written in order. Everything a pixel sees happens on this worker,
//! in primitive order.

pub mod bounds;
pub mod color;
pub mod cover;
pub mod depth;
mod fragment;
mod line;
pub mod plan;
mod quads;
pub mod runs;

use crate::engine::Worker;
use crate::front::line::LinePrim;
use crate::front::{self, ChunkOutput, Prim, TILE_SHIFT, statistic};
use crate::mem::AlignedBuf;
use crate::scene::SceneDraw;
use crate::surface::{Pass, Surface};
use base::abi::{FragmentBatch, FragmentQuad};
use base::host::Level;
use bounds::DepthReject;
use depth::{Block, BlockAddress};
pub use quads::BATCH_QUADS;
use quads::Quads;
use runs::{Run, Runs, joined_bins};
use std::sync::atomic::Ordering;

/// Tile memory of a worker.
#[derive(Default)]
pub struct Scratch {
    quads: Quads,
    /// Smooth lines: coverage of the quads' pixels.
    coverage: Vec<[f32; 4]>,
    outputs: AlignedBuf,
    alive: AlignedBuf,
    /// Runs and bins of a tile that lies in large primitives, joined.
    runs: Vec<Run>,
    bins: Vec<u64>,
}

/// Where a chunk comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Number of its draw.
    pub draw: u32,
    /// Stipple counter at its start.
    pub stipple: u32,
}

/// What the tiles of a round work on.
pub struct Scene<'a> {
    /// Attachments.
    pub pass: &'a Pass,
    /// Draws, by number.
    pub draws: &'a [SceneDraw],
    /// Where each chunk comes from.
    pub origins: &'a [Origin],
    /// What each chunk's front end left.
    pub outputs: &'a [ChunkOutput],
    /// What each tile has to do.
    pub runs: &'a Runs,
}

/// A tile at work for one draw.
struct TileJob<'a> {
    pass: &'a Pass,
    draw: &'a SceneDraw,
    layer: u32,
    worker: &'a mut Worker,
    /// Hierarchical depth, where it may be used.
    reject: Option<DepthReject<'a>>,
    /// The smooth line at work.
    smooth: Option<LinePrim>,
    /// Samples that passed.
    passed: u64,
    /// Fragment invocations.
    invocations: u64,
}

/// Runs tile `i` of those that have something to do.
pub fn run(scene: &Scene<'_>, i: usize, worker: &mut Worker) {
    // SAFETY: the host's own level.
    unsafe { run_of(Level::here())(scene, i, worker) };
}

base::compiled! {
    unsafe fn run_of(scene: &Scene<'_>, i: usize, worker: &mut Worker) {
        run_any(scene, i, worker);
    }
}

#[inline(always)]
fn run_any(scene: &Scene<'_>, i: usize, worker: &mut Worker) {
    let Scene { pass, draws, origins, outputs, runs } = *scene;
    let (mut joined, mut bins) = (core::mem::take(&mut worker.tile.runs), core::mem::take(&mut worker.tile.bins));
    let (tile, runs) = runs.of(i, &pass.grid, &mut joined);
    let (layer, [x0, y0]) = pass.grid.tile_at(tile);
    let [x0, y0] = [x0, y0].map(|c| (c << TILE_SHIFT) as i32);
    let same_draw = |a: &Run, b: &Run| origins[a.chunk as usize].draw == origins[b.chunk as usize].draw;
    let same_chunk = |a: &Run, b: &Run| a.chunk == b.chunk;
    for group in runs.chunk_by(same_draw) {
        let draw = &draws[origins[group[0].chunk as usize].draw as usize];
        worker.tile.quads.clear();
        worker.tile.coverage.clear();
        let plan = &*draw.plan;
        let all_samples = plan.sample_mask == (1 << pass.grid.samples) - 1;
        let reject = if plan.early {
            DepthReject::new(pass.depth_bounds.as_deref(), pass.depth.as_ref(), &plan.depth, layer, all_samples)
        } else {
            None
        };
        if plan.depth.write && reject.is_none() {
            // Depth changes without the bounds' knowledge.
            if let Some(bounds) = &pass.depth_bounds {
                bounds.forget(layer, [x0, y0, x0 + (1 << TILE_SHIFT), y0 + (1 << TILE_SHIFT)]);
            }
        }
        worker.runs(draw.running());
        let mut job = TileJob { pass, draw, layer, worker, reject, smooth: None, passed: 0, invocations: 0 };
        for run in group.chunk_by(same_chunk) {
            if crate::aborted(&draw.draw.context) {
                job.worker.tile.quads.clear();
                return;
            }
            let chunk = run[0].chunk as usize;
            let output = &outputs[chunk];
            let bins = joined_bins(run, output, &mut bins);
            if let Some(lines) = &plan.lines {
                line::run(&mut job, lines, output, bins, origins[chunk].stipple, [x0, y0]);
                continue;
            }
            for (i, &bin) in bins.iter().enumerate() {
                if let Some(&ahead) = bins.get(i + PREFETCH) {
                    prefetch(&output.prims[ahead as u32 as usize]);
                }
                job.primitive(&output.prims[bin as u32 as usize], x0, y0);
            }
        }
        job.finish();
    }
    (worker.tile.runs, worker.tile.bins) = (joined, bins);
}

/// Primitives that are fetched ahead: they were written by another worker, some time ago.
const PREFETCH: usize = 3;

/// Asks for a primitive's cache lines.
#[inline(always)]
fn prefetch(prim: &Prim) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of::<Prim>()).step_by(64) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is no access.
        unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *prim).cast::<i8>().wrapping_add(offset)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = prim;
}

/// Spreads pixel bits p to bits 4*p.
const SPREAD: [u16; 16] = {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        table[i] = (i as u16 & 1) | (i as u16 & 2) << 3 | (i as u16 & 4) << 6 | (i as u16 & 8) << 9;
        i += 1;
    }
    table
};

/// The covered blocks of a primitive go to the job.
struct Blocks<'a, 'b> {
    job: &'a mut TileJob<'b>,
    prim: &'a Prim,
}

impl<const S: usize> cover::Sink<S> for Blocks<'_, '_> {
    #[inline(always)]
    fn visible(&mut self, rect: [i32; 4]) -> bool {
        self.job.reject.as_ref().is_none_or(|reject| reject.visible::<S>(self.prim, rect))
    }
    #[inline(always)]
    fn covered(&mut self, x: i32, y: i32) {
        if let Some(reject) = &self.job.reject {
            reject.covered::<S>(self.prim, x, y);
        }
    }
    #[inline(always)]
    fn block(&mut self, x: i32, y: i32, masks: [u32; S]) {
        self.job.block(self.prim, x, y, masks);
    }
}

impl TileJob<'_> {
    #[inline(always)]
    fn primitive(&mut self, prim: &Prim, x0: i32, y0: i32) {
        if self.pass.grid.samples == 4 {
            cover::cover::<4>(prim, x0, y0, &mut Blocks { job: self, prim });
        } else {
            cover::cover::<1>(prim, x0, y0, &mut Blocks { job: self, prim });
        }
    }

    /// A covered 4×4 block: early tests, then its quads.
    #[inline(always)]
    fn block<const S: usize>(&mut self, prim: &Prim, x: i32, y: i32, mut masks: [u32; S]) {
        let plan = &*self.draw.plan;
        for (s, mask) in masks.iter_mut().enumerate() {
            if plan.sample_mask & (1 << s) == 0 {
                *mask = 0;
            }
            if plan.early && *mask != 0 && !plan.depth.idle() {
                *mask = self.early::<S>(prim, x, y, s, *mask);
            }
            if plan.early {
                self.passed += u64::from(mask.count_ones());
            }
        }
        let any = masks.iter().fold(0, |a, m| a | m);
        if any == 0 {
            return;
        }
        if plan.early && !plan.shades {
            // Nothing would see the stage run, except who counts its invocations.
            self.invocations += u64::from(any.count_ones() * u32::from(self.draw.draw.stages.fragment.is_some()));
            return;
        }
        if S == 1 && !plan.per_sample && self.smooth.is_none() {
            return self.push_pixels(prim, x, y, any);
        }
        for q in 0..4 {
            let shift = (q & 1) * 2 + (q >> 1) * 8;
            let mut coverage = 0;
            for (s, mask) in masks.iter().enumerate() {
                let pixels = mask >> shift & 3 | (mask >> (shift + 4) & 3) << 2;
                coverage |= SPREAD[pixels as usize] << s;
            }
            if coverage != 0 {
                let (qx, qy) = (x + (q & 1) * 2, y + (q >> 1) * 2);
                self.push(prim, qx as u16, qy as u16, coverage);
            }
        }
    }

    /// Early tests of one sample of a block.
    #[inline(always)]
    fn early<const S: usize>(&mut self, prim: &Prim, x: i32, y: i32, s: usize, mask: u32) -> u32 {
        let [sx, sy] = cover::sample_offsets::<S>()[s].map(|o| o as f32 / 256.0);
        let z = plane_z::<4>(prim, x, y, [sx, sy]);
        let (bx, by) = (x as u32, y as u32);
        let block = Block {
            depth: self.address(&self.pass.depth, s as u32, bx, by),
            stencil: self.address(&self.pass.stencil, s as u32, bx, by),
            z: &z,
            mask,
            front: prim.shade.front_facing != 0,
            references: None,
        };
        // SAFETY: covered pixels lie inside the render area, which lies inside the attachments; this worker owns the tile.
        unsafe { depth::test::<4>(&self.draw.plan.depth, &block) }
    }

    #[inline(always)]
    fn address(&self, surface: &Option<Surface>, sample: u32, x: u32, y: u32) -> BlockAddress {
        let none = BlockAddress { base: core::ptr::null_mut(), pitch: 0, whole: false };
        surface.as_ref().map_or(none, |s| BlockAddress {
            base: s.at(self.layer, sample, x, y),
            pitch: s.row_pitch,
            whole: y + 4 <= s.extent[1],
        })
    }

    #[inline(always)]
    fn push(&mut self, prim: &Prim, x: u16, y: u16, coverage: u16) {
        let primitive = (&raw const *prim).cast();
        let per_sample = self.draw.plan.per_sample;
        for s in 0..if per_sample { 4 } else { 1 } {
            let (coverage, sample) =
                if per_sample { (coverage & (0x1111 << s), s) } else { (coverage, FragmentBatch::CENTRE) };
            if coverage != 0 {
                self.worker.tile.quads.push(FragmentQuad { x, y, coverage, sample, primitive });
                if let Some(line) = &self.smooth {
                    self.worker.tile.coverage.push(line::quad_coverage(line, x, y));
                }
                if self.worker.tile.quads.is_full() {
                    fragment::shade(self);
                }
            }
        }
    }

    /// The quads of a block's pixels, with one sample each.
    #[inline(always)]
    fn push_pixels(&mut self, prim: &Prim, x: i32, y: i32, pixels: u32) {
        let primitive = (&raw const *prim).cast();
        let (x, y) = (x as u16, y as u16);
        // Row-major to quad by quad: the second and third bit of the pixels' numbers change places.
        let moved = (pixels ^ pixels >> 2) & 0x0c0c;
        let pixels = pixels ^ moved ^ moved << 2;
        let quad = |x, y, number: u32| {
            let coverage = SPREAD[(pixels >> (4 * number) & 15) as usize];
            FragmentQuad { x, y, coverage, sample: FragmentBatch::CENTRE, primitive }
        };
        let quads = &mut self.worker.tile.quads;
        quads.push_covered([quad(x, y, 0), quad(x + 2, y, 1), quad(x, y + 2, 2), quad(x + 2, y + 2, 3)]);
        if quads.is_full() {
            fragment::shade(self);
        }
    }

    /// The draw has ended in this tile.
    fn finish(&mut self) {
        if self.worker.tile.quads.len() > 0 {
            fragment::shade(self);
        }
        let draw = &self.draw.draw;
        if let Some(occlusion) = draw.queries.occlusion.as_ref().filter(|_| self.passed > 0) {
            occlusion.fetch_add(self.passed, Ordering::Relaxed);
        }
        front::count(draw, statistic::FRAGMENT_INVOCATIONS, self.invocations);
    }
}

/// Clamped plane depth of a W×W block at (x, y), at `offset` in the pixels.
#[inline(always)]
fn plane_z<const W: usize>(prim: &Prim, x: i32, y: i32, offset: [f32; 2]) -> [f32; 16] {
    let [zx, zy, zc] = prim.shade.z;
    let (x, y) = ((x - prim.shade.origin[0]) as f32, (y - prim.shade.origin[1]) as f32);
    let mut z = [0.0; 16];
    for (i, z) in z.iter_mut().enumerate().take(W * W) {
        let (px, py) = (x + (i % W) as f32 + offset[0], y + (i / W) as f32 + offset[1]);
        *z = clamp_depth(prim, zx * px + (zy * py + zc));
    }
    z
}

/// Clamps to the primitive's depth range; not-a-number becomes the low end.
#[inline(always)]
fn clamp_depth(prim: &Prim, z: f32) -> f32 {
    let [low, high] = prim.depth_range;
    let z = if z > low { z } else { low };
    if z < high { z } else { high }
}
