//! Special lines in a tile: coverage of pixel centres that applies to all samples, stipple, and
//! coverage of smooth lines.
//!
//! Stipple masks coverage before any test: of smooth lines those pixels that it removes whole.
//! Other draws do not use this module.

#![forbid(unsafe_code)]

use super::cover::{self, CoverageSink};
use super::job::TileJob;
use super::path::LinePlan;
use crate::api::{LineMode, Stipple};
use crate::prim::{ChunkOutput, EdgeFunction, LinePrim, Prim, SUBPIXEL, SmoothLine, sample_offsets};

/// A sink that passes the covered blocks of a line to a job of
/// `N` samples, however many samples coverage has. With `P`, the draw has its own sample positions.
struct LineSink<'a, 'b, const N: usize, const P: bool> {
    job: &'a mut TileJob<'b>,
    prim: &'a Prim,
    line: &'a LinePrim,
    stipple: Option<Stipple>,
    before: u32,
}

impl<const S: usize, const N: usize, const P: bool> CoverageSink<S> for LineSink<'_, '_, N, P> {
    fn offsets(&self) -> [[i32; 2]; S] {
        // If coverage has another number of samples, it is that of the pixel centres.
        if S == N { self.job.offsets::<S, P>() } else { sample_offsets::<S>() }
    }
    fn visible(&mut self, rect: [i32; 4]) -> bool {
        self.job.hi_z.as_ref().is_none_or(|hi_z| hi_z.visible::<N, P>(self.prim, rect))
    }
    /// Does not narrow the depth bounds, because the stipple may have gaps.
    fn covered(&mut self, _: i32, _: i32) {}
    fn block(&mut self, x: i32, y: i32, mut masks: [u32; S]) {
        if let Some(smooth) = self.job.smooth.filter(|smooth| smooth.stipple.is_some()) {
            let covered = smooth.covered([x, y]);
            masks.iter_mut().for_each(|mask| *mask &= covered);
        } else if let Some(stipple) = self.stipple {
            for (mask, offset) in masks.iter_mut().zip(CoverageSink::<S>::offsets(self)) {
                let offset = offset.map(|o| f64::from(o) / f64::from(SUBPIXEL));
                *mask &= self.line.stippled(stipple, self.before, [x, y], offset);
            }
        }
        let mut wide = [0; N];
        for (i, mask) in wide.iter_mut().enumerate() {
            *mask = masks[i % S];
        }
        if wide.iter().any(|&m| m != 0) {
            self.job.block::<N, P>(self.prim, x, y, wide);
        }
    }
}

/// Runs the lines of a chunk in the tile at `at`; `before` is the stipple counter at the chunk's
/// start.
#[inline(never)]
pub fn run(
    job: &mut TileJob<'_>,
    plan: &LinePlan,
    output: &ChunkOutput,
    bins: &[u64],
    before: u32,
    [x0, y0]: [i32; 2],
) {
    let stipple = plan.stipple;
    let per_sample = plan.mode == LineMode::Rectangular;
    for &bin in bins {
        job.finish_ordered();
        let (prim, line) = (&output.prims[bin as u32 as usize], &output.lines[bin as u32 as usize]);
        let edges = output.edges_of(prim);
        let smooth = SmoothLine { line: *line, stipple: stipple.map(|stipple| (stipple, before)) };
        job.smooth = (plan.mode == LineMode::Smooth).then_some(smooth);
        let line = TileLine { prim, line, stipple, before, at: [x0, y0] };
        match job.draw.plan.sample_locations {
            None => line.run::<false>(job, edges, per_sample),
            Some(_) => line.run::<true>(job, edges, per_sample),
        }
    }
    job.smooth = None;
}

/// A line in the tile at a position.
#[derive(Clone, Copy)]
struct TileLine<'a> {
    prim: &'a Prim,
    line: &'a LinePrim,
    stipple: Option<Stipple>,
    before: u32,
    at: [i32; 2],
}

impl TileLine<'_> {
    /// Covers the line for the pass's number of samples, testing either each sample or the pixel's
    /// centre for all.
    fn run<const P: bool>(self, job: &mut TileJob<'_>, edges: &[EdgeFunction], per_sample: bool) {
        match (job.pass.grid.samples, per_sample) {
            (2, true) => self.cover::<2, 2, P>(job, edges),
            (2, false) => self.cover::<1, 2, P>(job, edges),
            (4, true) => self.cover::<4, 4, P>(job, edges),
            (4, false) => self.cover::<1, 4, P>(job, edges),
            (8, true) => self.cover::<8, 8, P>(job, edges),
            (8, false) => self.cover::<1, 8, P>(job, edges),
            (16, true) => self.cover::<16, 16, P>(job, edges),
            (16, false) => self.cover::<1, 16, P>(job, edges),
            _ => self.cover::<1, 1, false>(job, edges),
        }
    }

    fn cover<const S: usize, const N: usize, const P: bool>(self, job: &mut TileJob<'_>, edges: &[EdgeFunction]) {
        let TileLine { prim, line, stipple, before, at: [x0, y0] } = self;
        cover::cover::<S>(prim, edges, x0, y0, &mut LineSink::<N, P> { job, prim, line, stipple, before });
    }
}
