//! The quads of covered pixels, which are shaded in batches.

#![forbid(unsafe_code)]

use super::early::TestedBlock;
use super::fragment;
use super::job::TileJob;
use super::path::{Invocations, TestOrder};
use super::quads::{QuadRow, quads_of};
use super::shaded::SPREAD;
use crate::prim::{Prim, TILE_SHIFT};
use base::abi::{FragmentBatch, FragmentQuad, SampleGroups};
use base::host::prefetch;

/// Returns the coverage of a quad of a block, for at most four samples with one mask each, in the
/// form of [`FragmentQuad::coverage`].
#[inline(always)]
fn quad_coverage(masks: &[u32], q: i32) -> u16 {
    let shift = (q & 1) * 2 + (q >> 1) * 8;
    masks.iter().enumerate().fold(0, |coverage, (s, mask)| {
        let pixels = mask >> shift & 3 | (mask >> (shift + 4) & 3) << 2;
        coverage | SPREAD[pixels as usize] << s
    })
}

/// Returns the coverage of a quad of a block by groups of samples, for any number of samples.
#[inline(always)]
fn quad_groups(masks: &[u32], q: i32) -> SampleGroups {
    let mut groups = SampleGroups::default();
    for (group, masks) in groups.iter_mut().zip(masks.chunks(4)) {
        *group = quad_coverage(masks, q);
    }
    groups
}

impl TileJob<'_> {
    /// Makes the quads of a primitive that covers a rectangle, first in rows of four, then those of
    /// the remaining columns. There is nothing to test.
    #[inline(always)]
    pub fn rectangle(&mut self, prim: &Prim, [x0, y0, x1, y1]: [i32; 4]) {
        if x0 >= x1 || y0 >= y1 {
            return;
        }
        self.passed += ((x1 - x0) * (y1 - y0)) as u64;
        // Another worker has made the attributes, and they are read when the batch is full.
        prefetch(prim.shade.attributes.cast());
        let (left, top) = (x0 & !1, y0 & !1);
        let quads = (x1 - left + 1) / 2;
        let rest = left + (quads & !3) * 2;
        if quads >= 4 && y1 - top > 2 {
            self.scratch.quads.align();
        }
        // The rows of four have the positions of the first row of pixels, by number; the rest
        // follows.
        let columns = [x0, x1];
        let mut fours = [QuadRow::default(); (1 << TILE_SHIFT) / 8];
        let fours = &mut fours[..(quads / 4) as usize];
        for (row, x) in fours.iter_mut().zip((left..).step_by(8)) {
            *row = QuadRow::new([x, top], columns);
        }
        for y in (top..y1).step_by(2) {
            for row in fours.iter() {
                self.quad_row(prim, row.below(y - top), 4, [y, y0, y1]);
            }
        }
        if quads & 3 != 0 {
            let row = QuadRow::new([rest, top], columns);
            for y in (top..y1).step_by(2) {
                self.quad_row(prim, row.below(y - top), (quads & 3) as usize, [y, y0, y1]);
            }
        }
    }

    /// Appends `count` quads of a row at `y`, of which the pixels from `y0` to before `y1` are
    /// covered.
    #[inline(always)]
    fn quad_row(&mut self, prim: &Prim, row: QuadRow, count: usize, [y, y0, y1]: [i32; 3]) {
        // The first term is the upper two pixels, the second the lower two.
        let rows = if y >= y0 { 0x0011 } else { 0 } | if y + 1 < y1 { 0x1100 } else { 0 };
        self.scratch.quads.push_row((&raw const *prim).cast(), &row.masked(rows), count);
        if self.scratch.quads.is_full() {
            fragment::shade(self);
        }
    }

    /// Appends the quads of a block with any number of samples, or with an invocation per sample.
    #[inline(always)]
    pub fn push_samples<const S: usize>(&mut self, prim: &Prim, x: i32, y: i32, block: &TestedBlock<S>) {
        let any = block.any();
        let seen = || block.covered.map(|mask| mask & any);
        for q in 0..4 {
            let (qx, qy) = ((x + (q & 1) * 2) as u16, (y + (q >> 1) * 2) as u16);
            if S > 4 {
                self.push_groups(prim, [qx, qy], quad_groups(&block.masks, q), quad_groups(&seen(), q));
                continue;
            }
            let coverage = quad_coverage(&block.masks, q);
            if coverage == 0 {
                continue;
            }
            if let TestOrder::EarlyUnseen = self.draw.plan.tests {
                self.scratch.passing.push([coverage, 0, 0, 0]);
                self.push(prim, qx, qy, quad_coverage(&seen(), q));
            } else {
                self.push(prim, qx, qy, coverage);
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, prim: &Prim, x: u16, y: u16, coverage: u16) {
        let primitive = (&raw const *prim).cast();
        let per_sample = self.draw.plan.invocations == Invocations::Sample;
        for s in 0..if per_sample { 4 } else { 1 } {
            let (coverage, sample) =
                if per_sample { (coverage & (0x1111 << s), s) } else { (coverage, FragmentBatch::CENTRE) };
            if coverage != 0 {
                self.scratch.quads.push(FragmentQuad { x, y, coverage, sample, primitive });
                if let Some(line) = &self.smooth {
                    self.scratch.coverage.push(line.quad_coverage(x, y));
                }
                if self.scratch.quads.is_full() {
                    fragment::shade(self);
                }
            }
        }
    }

    /// Appends a quad of more than four samples, if any sample is left; `seen` are the samples that
    /// the stage sees with [`TestOrder::EarlyUnseen`].
    fn push_groups(&mut self, prim: &Prim, at: [u16; 2], groups: SampleGroups, seen: SampleGroups) {
        let plan = self.draw.plan;
        if groups == SampleGroups::default() {
            return;
        }
        let unseen = matches!(plan.tests, TestOrder::EarlyUnseen);
        if unseen {
            self.scratch.passing.push(groups);
        }
        if plan.invocations != Invocations::Sample {
            return self.push_group_quad(prim, at, if unseen { seen } else { groups }, FragmentBatch::CENTRE);
        }
        for sample in 0..self.pass.grid.samples as usize {
            let mut own = SampleGroups::default();
            own[sample / 4] = groups[sample / 4] & 0x1111 << (sample % 4);
            if own != SampleGroups::default() {
                self.push_group_quad(prim, at, own, sample as u16);
            }
        }
    }

    /// Appends one invocation of a quad of more than four samples.
    fn push_group_quad(&mut self, prim: &Prim, [x, y]: [u16; 2], groups: SampleGroups, sample: u16) {
        let (primitive, coverage) = ((&raw const *prim).cast(), groups.iter().fold(0, |all, group| all | group));
        self.scratch.quads.push(FragmentQuad { x, y, coverage, sample, primitive });
        self.scratch.groups.push(groups);
        if let Some(line) = &self.smooth {
            self.scratch.coverage.push(line.quad_coverage(x, y));
        }
        if self.scratch.quads.is_full() {
            fragment::shade(self);
        }
    }

    /// Appends the quads of a block's pixels, with one sample each.
    #[inline(always)]
    pub fn push_pixels(&mut self, prim: &Prim, x: i32, y: i32, pixels: u32) {
        let quads = &mut self.scratch.quads;
        let (primitive, x, y) = ((&raw const *prim).cast(), x as u16, y as u16);
        if pixels == 0xffff {
            quads.push_block(primitive, x, y);
        } else {
            quads.push_covered(quads_of(primitive, x, y, pixels));
        }
        if quads.is_full() {
            fragment::shade(self);
        }
    }
}
