//! The steps of a filled primitive in a tile: its covered pixels are tested (`early`), and those
//! that are left go to a destination (`destination`).

#![forbid(unsafe_code)]

use super::cover;
use super::flat::is_worth_filling;
use super::fragment;
use super::job::TileJob;
use super::path::{Destination, EarlyTest, FragmentOrder, Invocations, PrimitiveColors};
use crate::api::statistic;
use crate::prim::{EdgeFunction, Prim, SquareRows, TILE_SHIFT, intersect, sample_offsets};
use std::sync::atomic::Ordering;

/// A sink that passes the covered blocks of a primitive to the job. With `P`, the draw may have its
/// own sample positions, or cover pixels as a whole.
struct BlockSink<'a, 'b, const P: bool> {
    job: &'a mut TileJob<'b>,
    prim: &'a Prim,
}

impl<const S: usize, const P: bool> cover::CoverageSink<S> for BlockSink<'_, '_, P> {
    #[inline(always)]
    fn offsets(&self) -> [[i32; 2]; S] {
        if P && self.job.draw.plan.covers_whole_pixels {
            let [centre] = sample_offsets::<1>();
            return [centre; S];
        }
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
        S == 1
            && match (self.job.early, self.job.destination) {
                (EarlyTest::Rows(_), _) => true,
                // Whole squares of owners are one piece of memory.
                (EarlyTest::None, destination) => destination != Destination::VisibilityBuffer,
                (EarlyTest::Blocks, _) => false,
            }
    }
    #[inline(always)]
    fn takes_quads(&self) -> bool {
        S == 1 && matches!(self.job.early, EarlyTest::None) && self.job.destination == Destination::Quads
    }
    #[inline(always)]
    fn rows(&mut self, x: i32, y: i32, rows: &SquareRows) -> bool {
        self.job.rows(self.prim, [x, y], rows)
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

impl TileJob<'_> {
    /// Shades the waiting quads before the next line, where fragments are ordered. Filled
    /// primitives wait for each other only where they meet ([`TileJob::keep_order`]).
    #[inline(always)]
    pub fn finish_ordered(&mut self) {
        if self.draw.plan.order == FragmentOrder::Primitives {
            fragment::finish(self);
        }
    }

    /// Covers a filled primitive within the tile.
    #[inline(always)]
    pub fn primitive(&mut self, prim: &Prim, edges: &[EdgeFunction], x0: i32, y0: i32) {
        (self.owner, self.colored) = (0, false);
        let side = 1 << TILE_SHIFT;
        let rect = intersect(prim.rect(), [x0, y0, x0 + side, y0 + side]);
        if self.draw.plan.order == FragmentOrder::Primitives {
            self.keep_order(rect);
        }
        let is_flat = self.colors == PrimitiveColors::Flat && is_worth_filling(rect);
        self.flat_owner = is_flat;
        self.destination = match self.draw_destination {
            Destination::Quads if is_flat => Destination::Fill,
            destination => destination,
        };
        let is_rectangle = prim.edge_count == 0 && prim.pixels == 0;
        if is_rectangle && matches!(self.early, EarlyTest::None) && self.put_rectangle(prim, rect) {
            return;
        }
        self.flush_rectangles();
        let is_usual = self.draw.plan.sample_locations.is_none() && !self.draw.plan.covers_whole_pixels;
        match self.pass.grid.samples {
            1 => cover::cover::<1>(prim, edges, x0, y0, &mut BlockSink::<false> { job: self, prim }),
            4 if is_usual => cover::cover::<4>(prim, edges, x0, y0, &mut BlockSink::<false> { job: self, prim }),
            _ if is_usual => self.rare_sample_count::<false>(prim, edges, x0, y0),
            _ => self.rare_sample_count::<true>(prim, edges, x0, y0),
        }
    }

    /// Passes on a primitive that covers a rectangle and whose pixels are not tested. Returns false
    /// if they must be passed on by squares and blocks.
    #[inline(always)]
    fn put_rectangle(&mut self, prim: &Prim, rect: [i32; 4]) -> bool {
        if self.destination == Destination::Fill && self.fill_rectangle(prim, rect) {
            return true;
        }
        if self.destination != Destination::Quads {
            return false;
        }
        if !self.takes_rectangle(prim, rect) {
            self.flush_rectangles();
            self.rectangle(prim, rect);
        }
        true
    }

    /// Shades the waiting quads if the next primitive, whose pixels lie in `rect`, may share a
    /// pixel with them, because the fragments of a batch run at once.
    #[inline(never)]
    fn keep_order(&mut self, rect: [i32; 4]) {
        let [x0, y0, x1, y1] = intersect(self.waiting, rect);
        // Fragments of several pixels may meet where the primitives' pixels do not.
        if x0 < x1 && y0 < y1 || self.draw.plan.coarse.is_some() {
            fragment::finish(self);
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

    /// Processes a covered 4×4 block.
    #[inline(always)]
    pub fn block<const S: usize, const P: bool>(&mut self, prim: &Prim, x: i32, y: i32, masks: [u32; S]) {
        if S == 1 && matches!(self.early, EarlyTest::None) {
            if self.counts {
                self.passed += u64::from(masks[0].count_ones());
            }
            return self.put_block(prim, x, y, masks[0]);
        }
        let plan = self.draw.plan;
        let block = self.test_block::<S, P>(prim, [x, y], masks);
        let any = block.any();
        if any == 0 {
            return;
        }
        if plan.tests_early() && !plan.shades() {
            // Running the stage would have no effect except on the count of its invocations.
            self.invocations += u64::from(any.count_ones() * u32::from(self.draw.draw.stages.fragment().is_some()));
            return;
        }
        if S == 1 && plan.invocations != Invocations::Sample && self.smooth.is_none() {
            return self.put_block(prim, x, y, any);
        }
        self.push_samples(prim, x, y, &block);
    }

    /// Processes pixels of the square at (x, y), row by row; returns false if they must be passed
    /// on by blocks.
    #[inline(always)]
    fn rows(&mut self, prim: &Prim, [x, y]: [i32; 2], rows: &SquareRows) -> bool {
        match self.early {
            EarlyTest::Rows(test) => {
                let left = self.test_rows(prim, [x, y], rows, test);
                let plan = self.draw.plan;
                if !plan.shades() {
                    return true;
                }
                if self.counts && plan.tests_early() {
                    self.passed += pixels_of(&left);
                }
                if left != [0; 4] {
                    self.put_rows(prim, [x, y], &left);
                }
            }
            EarlyTest::None => {
                if self.counts {
                    self.passed += pixels_of(rows);
                }
                self.put_rows(prim, [x, y], rows);
            }
            EarlyTest::Blocks => return false,
        }
        true
    }

    /// Processes a covered 16×16 square; returns false if it must be passed on by blocks.
    #[inline(always)]
    fn square(&mut self, prim: &Prim, x: i32, y: i32) -> bool {
        let is_untested = matches!(self.early, EarlyTest::None);
        if is_untested {
            self.passed += 256;
            self.put_square(prim, x, y);
        }
        is_untested
    }

    /// Ends the draw in this tile.
    pub fn finish(&mut self) {
        fragment::finish(self);
        self.flush_rectangles();
        let draw = self.draw.draw;
        if let Some(occlusion) = draw.queries.occlusion.as_ref().filter(|_| self.passed > 0) {
            occlusion.fetch_add(self.passed, Ordering::Relaxed);
        }
        draw.queries.count(statistic::FRAGMENT_INVOCATIONS, self.invocations);
    }
}
