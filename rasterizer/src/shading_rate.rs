//! Rates of fragment shading (VK_KHR_fragment_shading_rate): sizes of fragments, and the way in
//! which those of pipeline, primitive and attachment combine. Every size up to four by four pixels
//! is supported with every number of samples, so a larger one is cut along each axis.

#![forbid(unsafe_code)]

use base::limits::MAX_FRAGMENT_SIZE_LOG2;
use base::vk_enum;

/// The size of a fragment: the base-2 logarithms of its width and height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentSize([u8; 2]);

impl FragmentSize {
    /// The size of fragments that are pixels.
    pub const PIXEL: FragmentSize = FragmentSize([0; 2]);

    /// Returns the largest supported size that is not larger along any axis.
    fn at_most(log2: [u32; 2]) -> FragmentSize {
        FragmentSize(log2.map(|log2| log2.min(MAX_FRAGMENT_SIZE_LOG2) as u8))
    }

    /// Returns the size of so many pixels.
    pub fn new(width: u32, height: u32) -> FragmentSize {
        FragmentSize::at_most([width, height].map(|pixels| pixels.max(1).ilog2()))
    }

    /// Returns the size that a value of PrimitiveShadingRateKHR or a texel of an attachment names.
    pub fn from_word(word: u32) -> FragmentSize {
        FragmentSize::at_most([word >> 2 & 3, word & 3])
    }

    /// Returns the value of ShadingRateKHR.
    pub fn word(self) -> u16 {
        let [width, height] = self.0.map(u16::from);
        width << 2 | height
    }

    /// Returns the base-2 logarithms of width and height.
    pub fn log2(self) -> [u32; 2] {
        self.0.map(u32::from)
    }
}

vk_enum! {
    /// `VkFragmentShadingRateCombinerOpKHR`.
    pub enum RateCombiner {
        /// The first size.
        Keep,
        /// The second size.
        Replace,
        /// The smaller width and the smaller height.
        Min,
        /// The larger width and the larger height.
        Max,
        /// The products of the widths and of the heights.
        Mul,
    }
}

impl RateCombiner {
    /// Combines two sizes.
    pub fn combine(self, first: FragmentSize, second: FragmentSize) -> FragmentSize {
        let (a, b) = (first.log2(), second.log2());
        let each = |one: fn(u32, u32) -> u32| FragmentSize::at_most([one(a[0], b[0]), one(a[1], b[1])]);
        match self {
            RateCombiner::Keep => first,
            RateCombiner::Replace => second,
            RateCombiner::Min => each(u32::min),
            RateCombiner::Max => each(u32::max),
            RateCombiner::Mul => each(|a, b| a + b),
        }
    }
}

/// The shading rate of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShadingRate {
    /// The size that the pipeline sets.
    pub size: FragmentSize,
    /// Combination of this size with that of the primitive, and of the result with that of the
    /// attachment.
    pub combiners: [RateCombiner; 2],
}

impl ShadingRate {
    /// The rate without fragments of several pixels.
    pub const PIXEL: ShadingRate = ShadingRate { size: FragmentSize::PIXEL, combiners: [RateCombiner::Keep; 2] };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_combine_along_each_axis_and_are_cut() {
        use RateCombiner::{Keep, Max, Min, Mul, Replace};
        let sizes = [(1, 1), (1, 2), (2, 4), (4, 1), (4, 4)];
        for (a, b) in sizes.into_iter().flat_map(|a| sizes.map(|b| (a, b))) {
            let want = [
                (Keep, a),
                (Replace, b),
                (Min, (a.0.min(b.0), a.1.min(b.1))),
                (Max, (a.0.max(b.0), a.1.max(b.1))),
                (Mul, ((a.0 * b.0).min(4), (a.1 * b.1).min(4))),
            ];
            let size = |(width, height)| FragmentSize::new(width, height);
            for (combiner, want) in want {
                assert_eq!(combiner.combine(size(a), size(b)), size(want), "{a:?} {combiner:?} {b:?}");
            }
        }
        for (word, size) in [(0, (1, 1)), (1, (1, 2)), (4, (2, 1)), (6, (2, 4)), (0xa, (4, 4)), (0xf, (4, 4))] {
            let size = FragmentSize::new(size.0, size.1);
            assert_eq!(FragmentSize::from_word(word), size);
            assert_eq!(FragmentSize::from_word(size.word().into()), size);
        }
        assert_eq!(FragmentSize::new(3, 64), FragmentSize::new(2, 4));
    }
}
