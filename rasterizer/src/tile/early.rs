//! Tests before the fragment stage: depth and stencil tests of blocks and of rows, and the filter
//! of fragments that are tested late.

use super::depth::{self, DepthBlock, DepthPlan, RowsTest};
use super::job::TileJob;
use crate::prim::{Prim, SquareRows, sample_offsets};

/// The samples of a block: those that are left after the tests, and those that were covered.
pub struct TestedBlock<const S: usize> {
    /// Samples that are left.
    pub masks: [u32; S],
    /// Samples that were covered, without those that the sample mask excludes.
    pub covered: [u32; S],
}

impl<const S: usize> TestedBlock<S> {
    /// Returns the pixels of which any sample is left.
    #[inline(always)]
    pub fn any(&self) -> u32 {
        self.masks.iter().fold(0, |any, mask| any | mask)
    }
}

impl TileJob<'_> {
    /// Tests a covered 4×4 block.
    #[inline(always)]
    pub fn test_block<const S: usize, const P: bool>(
        &mut self,
        prim: &Prim,
        [x, y]: [i32; 2],
        mut masks: [u32; S],
    ) -> TestedBlock<S> {
        let plan = self.draw.plan;
        let early = plan.tests_early();
        let mut covered = masks;
        for (s, mask) in masks.iter_mut().enumerate() {
            if plan.sample_mask & (1 << s) == 0 {
                (*mask, covered[s]) = (0, 0);
            }
            if early && *mask != 0 && !plan.depth.is_no_op() {
                *mask = self.test_sample::<S, P>(prim, [x, y], s, *mask);
            }
            if early && self.counts {
                self.passed += u64::from(mask.count_ones());
            }
        }
        if let Some(filter) = self.filter {
            self.filter_block::<S, P>(prim, filter, [x, y], &mut masks);
        }
        TestedBlock { masks, covered }
    }

    /// Performs the early tests of one sample of a block.
    #[inline(always)]
    fn test_sample<const S: usize, const P: bool>(
        &mut self,
        prim: &Prim,
        [x, y]: [i32; 2],
        s: usize,
        mask: u32,
    ) -> u32 {
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

    /// Removes the pixels of a block of which no sample can pass the late tests; the masks of the
    /// other pixels stay unchanged.
    #[inline(always)]
    fn filter_block<const S: usize, const P: bool>(
        &mut self,
        prim: &Prim,
        filter: &DepthPlan,
        [x, y]: [i32; 2],
        masks: &mut [u32; S],
    ) {
        let Some(test) = filter.plane else { return };
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

    /// Tests the depth of pixels of the square at (x, y); returns those that are left.
    #[inline(always)]
    pub fn test_rows(&mut self, prim: &Prim, [x, y]: [i32; 2], rows: &SquareRows, test: RowsTest) -> SquareRows {
        let [offset] = sample_offsets::<1>().map(|[x, y]| [x as f32 / 256.0, y as f32 / 256.0]);
        let at = self.address(&self.pass.depth, 0, x as u32, y as u32);
        let mut left = *rows;
        // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
        // this worker owns the tile.
        unsafe { test(prim, &at, [x, y], offset, &mut left) };
        left
    }
}
