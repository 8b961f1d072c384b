//! The path of a primitive's covered blocks: early tests, then quads, up to a batch.

use super::cover;
use super::depth::{self, DepthBlock, RowsTest};
use super::flat::{Pixels, is_worth_filling};
use super::fragment;
use super::job::TileJob;
use super::quads::{QuadRow, quads_of};
use super::shaded::SPREAD;
use crate::api::statistic;
use crate::prim::{EdgeFunction, Prim, SquareRows, TILE_SHIFT, intersect, sample_offsets};
use base::abi::{FragmentBatch, FragmentQuad, SampleGroups};
use base::host::prefetch;
use std::sync::atomic::Ordering;

/// A sink that passes the covered blocks of a primitive to the job. With `P`, the draw has its own
/// sample positions.
struct BlockSink<'a, 'b, const P: bool> {
    job: &'a mut TileJob<'b>,
    prim: &'a Prim,
}

impl<const S: usize, const P: bool> cover::CoverageSink<S> for BlockSink<'_, '_, P> {
    #[inline(always)]
    fn offsets(&self) -> [[i32; 2]; S] {
        self.job.offsets::<S, P>()
    }
    #[inline(always)]
    fn visible(&mut self, rect: [i32; 4]) -> bool {
        self.job.hi_z.as_ref().is_none_or(|hi_z| hi_z.visible::<S, P>(self.prim, rect))
    }
    #[inline(always)]
    fn small_visible(&mut self, rect: [i32; 4]) -> bool {
        self.job.hi_z.as_ref().is_none_or(|hi_z| hi_z.record_write(rect) || hi_z.visible::<S, P>(self.prim, rect))
    }
    #[inline(always)]
    fn takes_rows(&self) -> bool {
        S == 1 && self.job.takes_rows
    }
    #[inline(always)]
    fn takes_quads(&self) -> bool {
        S == 1 && self.job.plain
    }
    #[inline(always)]
    fn rows(&mut self, x: i32, y: i32, rows: &SquareRows) -> bool {
        match self.job.rows {
            Some(test) => self.job.tested_rows(self.prim, [x, y], rows, test),
            None => return self.job.rows(self.prim, x, y, rows),
        }
        true
    }
    #[inline(always)]
    fn covered(&mut self, x: i32, y: i32) {
        if let Some(hi_z) = &self.job.hi_z {
            hi_z.covered::<S, P>(self.prim, x, y);
        }
    }
    #[inline(always)]
    fn square(&mut self, x: i32, y: i32) -> bool {
        S == 1 && self.job.square(self.prim, x, y)
    }
    #[inline(always)]
    fn block(&mut self, x: i32, y: i32, masks: [u32; S]) {
        self.job.block::<S, P>(self.prim, x, y, masks);
    }
}

/// Returns the number of covered pixels of a square.
#[inline(always)]
fn pixels_of(rows: &SquareRows) -> u64 {
    rows.iter().map(|row| u64::from(row.count_ones())).sum()
}

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
    /// Shades the waiting quads before the next line, where fragments are ordered. Filled
    /// primitives wait for each other only where they meet ([`TileJob::keep_order`]).
    #[inline(always)]
    pub fn finish_ordered(&mut self) {
        if self.draw.plan.ordered && self.scratch.quads.len() != 0 {
            fragment::shade(self);
        }
    }

    /// Covers a filled primitive within the tile.
    #[inline(always)]
    pub fn primitive(&mut self, prim: &Prim, edges: &[EdgeFunction], x0: i32, y0: i32) {
        (self.owner, self.colored) = (0, false);
        let side = 1 << TILE_SHIFT;
        let rect = intersect(prim.rect(), [x0, y0, x0 + side, y0 + side]);
        if self.draw.plan.ordered {
            self.keep_order(rect);
        }
        self.flat_here = self.flat && is_worth_filling(rect);
        let is_rectangle = prim.edge_count == 0 && prim.pixels == 0;
        if self.flat_here && self.fills && is_rectangle && self.fill_rectangle(prim, rect) {
            return;
        }
        self.plain = self.all_plain && !self.flat_here;
        self.takes_rows = self.rows.is_some() || self.plain || self.flat_here && self.fills;
        if self.plain && is_rectangle {
            if !self.takes_rectangle(prim, rect) {
                self.flush_rectangles();
                self.rectangle(prim, rect);
            }
            return;
        }
        self.flush_rectangles();
        match self.pass.grid.samples {
            1 => cover::cover::<1>(prim, edges, x0, y0, &mut BlockSink::<false> { job: self, prim }),
            4 if self.draw.plan.sample_locations.is_none() => {
                cover::cover::<4>(prim, edges, x0, y0, &mut BlockSink::<false> { job: self, prim });
            }
            _ if self.draw.plan.sample_locations.is_none() => self.rare_sample_count::<false>(prim, edges, x0, y0),
            _ => self.rare_sample_count::<true>(prim, edges, x0, y0),
        }
    }

    /// Shades the waiting quads if the next primitive, whose pixels lie in `rect`, may share a
    /// pixel with them, because the fragments of a batch run at once.
    #[inline(never)]
    fn keep_order(&mut self, rect: [i32; 4]) {
        let [x0, y0, x1, y1] = intersect(self.waiting, rect);
        if self.scratch.quads.len() != 0 && x0 < x1 && y0 < y1 {
            fragment::shade(self);
        }
        self.waiting = match self.scratch.quads.len() {
            0 => rect,
            _ => core::array::from_fn(
                |i| if i < 2 { self.waiting[i].min(rect[i]) } else { self.waiting[i].max(rect[i]) },
            ),
        };
    }

    /// Covers a primitive with a rare number of samples, or with the draw's own positions. (It is
    /// not inlined, so that the code of common cases stays small.)
    #[inline(never)]
    fn rare_sample_count<const P: bool>(&mut self, prim: &Prim, edges: &[EdgeFunction], x0: i32, y0: i32) {
        match self.pass.grid.samples {
            2 => cover::cover::<2>(prim, edges, x0, y0, &mut BlockSink::<P> { job: self, prim }),
            4 => cover::cover::<4>(prim, edges, x0, y0, &mut BlockSink::<P> { job: self, prim }),
            8 => cover::cover::<8>(prim, edges, x0, y0, &mut BlockSink::<P> { job: self, prim }),
            _ => cover::cover::<16>(prim, edges, x0, y0, &mut BlockSink::<P> { job: self, prim }),
        }
    }

    /// Returns the positions of samples in their pixels, in 1/256; with `P`, those that the draw
    /// sets.
    #[inline(always)]
    pub fn offsets<const S: usize, const P: bool>(&self) -> [[i32; 2]; S] {
        match &self.draw.plan.sample_locations {
            Some(places) if P => core::array::from_fn(|s| places.offsets[s]),
            _ => sample_offsets::<S>(),
        }
    }

    /// Makes the quads of a primitive that covers a rectangle, first in rows of four, then those of
    /// the remaining columns. There is nothing to test.
    #[inline(always)]
    fn rectangle(&mut self, prim: &Prim, [x0, y0, x1, y1]: [i32; 4]) {
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

    /// Processes a covered 4×4 block: early tests, then its quads.
    #[inline(always)]
    pub fn block<const S: usize, const P: bool>(&mut self, prim: &Prim, x: i32, y: i32, mut masks: [u32; S]) {
        if S == 1 && self.plain {
            if self.counts {
                self.passed += u64::from(masks[0].count_ones());
            }
            return self.push_pixels(prim, x, y, masks[0]);
        }
        let plan = self.draw.plan;
        let mut covered = masks;
        for (s, mask) in masks.iter_mut().enumerate() {
            if plan.sample_mask & (1 << s) == 0 {
                (*mask, covered[s]) = (0, 0);
            }
            if plan.early && *mask != 0 && !plan.depth.is_no_op() {
                *mask = self.early::<S, P>(prim, x, y, s, *mask);
            }
            if plan.early && self.counts {
                self.passed += u64::from(mask.count_ones());
            }
        }
        if self.filters {
            self.filter::<S, P>(prim, x, y, &mut masks);
        }
        let any = masks.iter().fold(0, |a, m| a | m);
        if any == 0 {
            return;
        }
        if plan.early && !plan.shades {
            // Running the stage would have no effect except on the count of its invocations.
            self.invocations += u64::from(any.count_ones() * u32::from(self.draw.draw.stages.fragment().is_some()));
            return;
        }
        if S == 1 && self.deferred {
            let owner = self.owner(prim);
            return self.scratch.visibility.block(owner, x, y, any);
        }
        if S == 1 && self.flat_here && self.color(prim, x, y) {
            // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
            // this worker owns the tile.
            return unsafe { self.fill([x, y], Pixels::Block(any)) };
        }
        if S == 1 && !plan.per_sample && self.smooth.is_none() {
            return self.push_pixels(prim, x, y, any);
        }
        let seen = || covered.map(|mask| mask & any);
        for q in 0..4 {
            let (qx, qy) = ((x + (q & 1) * 2) as u16, (y + (q >> 1) * 2) as u16);
            if S > 4 {
                self.push_groups(prim, [qx, qy], quad_groups(&masks, q), quad_groups(&seen(), q));
                continue;
            }
            let coverage = quad_coverage(&masks, q);
            if coverage == 0 {
                continue;
            }
            if plan.sees_all {
                self.scratch.passing.push([coverage, 0, 0, 0]);
                self.push(prim, qx, qy, quad_coverage(&seen(), q));
            } else {
                self.push(prim, qx, qy, coverage);
            }
        }
    }

    /// Removes the pixels of a block of which no sample can pass the late tests; the masks of the
    /// other pixels stay unchanged.
    #[inline(always)]
    fn filter<const S: usize, const P: bool>(&mut self, prim: &Prim, x: i32, y: i32, masks: &mut [u32; S]) {
        let Some(test) = self.draw.plan.filter.and_then(|filter| filter.plane) else { return };
        let mut pass = 0;
        for (s, &mask) in masks.iter().enumerate().filter(|(_, mask)| **mask != 0) {
            let offset = self.offsets::<S, P>()[s].map(|o| o as f32 / 256.0);
            let at = self.address(&self.pass.depth, s as u32, x as u32, y as u32);
            // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
            // this worker owns the tile.
            pass |= unsafe { test(prim, &at, [x, y], offset, mask) };
        }
        masks.iter_mut().for_each(|mask| *mask &= pass);
    }

    /// Performs the early tests of one sample of a block.
    #[inline(always)]
    fn early<const S: usize, const P: bool>(&mut self, prim: &Prim, x: i32, y: i32, s: usize, mask: u32) -> u32 {
        let offset = self.offsets::<S, P>()[s].map(|o| o as f32 / 256.0);
        let at = self.address(&self.pass.depth, s as u32, x as u32, y as u32);
        if let Some(test) = self.draw.plan.depth.plane {
            // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
            // this worker owns the tile.
            return unsafe { test(prim, &at, [x, y], offset, mask) };
        }
        let block = DepthBlock {
            depth: at,
            stencil: self.address(&self.pass.stencil, s as u32, x as u32, y as u32),
            z: &prim.plane_z::<4>(x, y, offset),
            mask,
            front: prim.shade.front_facing != 0,
            references: None,
        };
        // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
        // this worker owns the tile.
        unsafe { depth::test::<4>(&self.draw.plan.depth, &block) }
    }

    #[inline(always)]
    fn push(&mut self, prim: &Prim, x: u16, y: u16, coverage: u16) {
        let primitive = (&raw const *prim).cast();
        let per_sample = self.draw.plan.per_sample;
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
    /// the stage sees with [`TilePlan::sees_all`](super::TilePlan).
    fn push_groups(&mut self, prim: &Prim, at: [u16; 2], groups: SampleGroups, seen: SampleGroups) {
        let plan = self.draw.plan;
        if groups == SampleGroups::default() {
            return;
        }
        if plan.sees_all {
            self.scratch.passing.push(groups);
        }
        if !plan.per_sample {
            return self.push_group_quad(prim, at, if plan.sees_all { seen } else { groups }, FragmentBatch::CENTRE);
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
    fn push_pixels(&mut self, prim: &Prim, x: i32, y: i32, pixels: u32) {
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

    /// Returns the primitive's number as an owner of pixels.
    #[inline(always)]
    fn owner(&mut self, prim: &Prim) -> u16 {
        if self.owner == 0 {
            self.owner = self.scratch.visibility.add_primitive(prim, self.flat_here);
        }
        self.owner
    }

    /// Processes pixels of the square at (x, y) of a draw that tests only depth.
    #[inline(always)]
    fn tested_rows(&mut self, prim: &Prim, [x, y]: [i32; 2], rows: &SquareRows, test: RowsTest) {
        let [offset] = sample_offsets::<1>().map(|[x, y]| [x as f32 / 256.0, y as f32 / 256.0]);
        let at = self.address(&self.pass.depth, 0, x as u32, y as u32);
        let mut left = *rows;
        // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
        // this worker owns the tile.
        unsafe { test(prim, &at, [x, y], offset, &mut left) };
        if !self.draw.plan.shades {
            return;
        }
        if self.counts && self.draw.plan.early {
            self.passed += pixels_of(&left);
        }
        if left == [0; 4] {
            return;
        }
        if self.deferred {
            let owner = self.owner(prim);
            cover::for_each_block(&left, [x, y], |x, y, mask| self.scratch.visibility.block(owner, x, y, mask));
        } else if self.flat_here && self.color(prim, x, y) {
            // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
            // this worker owns the tile.
            unsafe { self.fill([x, y], Pixels::Rows(&left)) };
        } else {
            cover::for_each_block(&left, [x, y], |x, y, mask| self.push_pixels(prim, x, y, mask));
        }
    }

    /// Processes pixels of the square at (x, y) of a draw without tests, row by row; returns false
    /// if they must be passed on by blocks.
    #[inline(always)]
    fn rows(&mut self, prim: &Prim, x: i32, y: i32, rows: &SquareRows) -> bool {
        if self.counts && (self.plain || self.color(prim, x, y)) {
            self.passed += pixels_of(rows);
        }
        if self.plain {
            cover::for_each_block(rows, [x, y], |x, y, mask| self.push_pixels(prim, x, y, mask));
            return true;
        }
        let colored = self.color(prim, x, y);
        if colored {
            // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
            // this worker owns the tile.
            unsafe { self.fill([x, y], if *rows == [u64::MAX; 4] { Pixels::SQUARE } else { Pixels::Rows(rows) }) };
        }
        colored
    }

    /// Processes a covered 16×16 square of a draw without tests whose fragments are not shaded one
    /// by one; returns false if the draw is not of this kind.
    #[inline(always)]
    fn square(&mut self, prim: &Prim, x: i32, y: i32) -> bool {
        if self.plain {
            for block in 0..16 {
                self.push_pixels(prim, x + block % 4 * 4, y + block / 4 * 4, 0xffff);
            }
            self.passed += 256;
            return true;
        }
        let plan = self.draw.plan;
        if !(self.deferred || self.flat_here) || !plan.depth.is_no_op() || plan.sample_mask & 1 == 0 {
            return false;
        }
        if self.deferred {
            let owner = self.owner(prim);
            self.scratch.visibility.square(owner, x, y);
        } else if self.color(prim, x, y) {
            // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
            // this worker owns the tile.
            unsafe { self.fill([x, y], Pixels::SQUARE) };
        } else {
            return false;
        }
        self.passed += 256;
        true
    }

    /// Ends the draw in this tile.
    pub fn finish(&mut self) {
        if self.scratch.quads.len() > 0 {
            fragment::shade(self);
        }
        self.flush_rectangles();
        let draw = self.draw.draw;
        if let Some(occlusion) = draw.queries.occlusion.as_ref().filter(|_| self.passed > 0) {
            occlusion.fetch_add(self.passed, Ordering::Relaxed);
        }
        draw.queries.count(statistic::FRAGMENT_INVOCATIONS, self.invocations);
    }
}
