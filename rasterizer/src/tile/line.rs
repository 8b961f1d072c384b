//! Special lines in a tile: coverage of pixel centres spread to all samples, stipple, coverage of smooth lines.
//!
//! Stipple masks coverage before any test sees it. The other draws never come here.

#![forbid(unsafe_code)]

use super::cover::{self, Sink};
use super::job::TileJob;
use super::plan::LinePlan;
use crate::api::{LineMode, Stipple};
use crate::prim::{ChunkOutput, LinePrim, Prim, SUBPIXEL, sample_offsets};

/// The covered blocks of a line go to a job of `N` samples, whatever samples coverage has.
struct Blocks<'a, 'b, const N: usize> {
    job: &'a mut TileJob<'b>,
    prim: &'a Prim,
    line: &'a LinePrim,
    stipple: Option<Stipple>,
    before: u32,
}

impl<const S: usize, const N: usize> Sink<S> for Blocks<'_, '_, N> {
    fn visible(&mut self, rect: [i32; 4]) -> bool {
        self.job.reject.as_ref().is_none_or(|reject| reject.visible::<N>(self.prim, rect))
    }
    /// Says nothing about depth: the stipple may have gaps.
    fn covered(&mut self, _: i32, _: i32) {}
    fn block(&mut self, x: i32, y: i32, mut masks: [u32; S]) {
        if let Some(stipple) = self.stipple {
            for (mask, offset) in masks.iter_mut().zip(sample_offsets::<S>()) {
                let offset = offset.map(|o| f64::from(o) / f64::from(SUBPIXEL));
                *mask &= self.line.stippled(stipple, self.before, [x, y], offset);
            }
        }
        let mut wide = [0; N];
        for (i, mask) in wide.iter_mut().enumerate() {
            *mask = masks[i % S];
        }
        if wide.iter().any(|&m| m != 0) {
            self.job.block(self.prim, x, y, wide);
        }
    }
}

/// Runs the lines of a chunk in the tile at `at`; `before` is the stipple counter at the chunk's start.
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
        let (prim, line) = (&output.prims[bin as u32 as usize], &output.lines[bin as u32 as usize]);
        job.smooth = (plan.mode == LineMode::Smooth).then_some(*line);
        match (job.pass.grid.samples, per_sample) {
            (2, true) => cover::cover::<2>(prim, x0, y0, &mut Blocks::<2> { job, prim, line, stipple, before }),
            (2, false) => cover::cover::<1>(prim, x0, y0, &mut Blocks::<2> { job, prim, line, stipple, before }),
            (4, true) => cover::cover::<4>(prim, x0, y0, &mut Blocks::<4> { job, prim, line, stipple, before }),
            (4, false) => cover::cover::<1>(prim, x0, y0, &mut Blocks::<4> { job, prim, line, stipple, before }),
            (8, true) => cover::cover::<8>(prim, x0, y0, &mut Blocks::<8> { job, prim, line, stipple, before }),
            (8, false) => cover::cover::<1>(prim, x0, y0, &mut Blocks::<8> { job, prim, line, stipple, before }),
            (16, true) => cover::cover::<16>(prim, x0, y0, &mut Blocks::<16> { job, prim, line, stipple, before }),
            (16, false) => cover::cover::<1>(prim, x0, y0, &mut Blocks::<16> { job, prim, line, stipple, before }),
            _ => cover::cover::<1>(prim, x0, y0, &mut Blocks::<1> { job, prim, line, stipple, before }),
        }
    }
    job.smooth = None;
}
