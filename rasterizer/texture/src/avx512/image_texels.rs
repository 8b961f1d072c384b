//! Texels in the layout of the image, as a [`TexelSource`]: in windows of quads, in windows of all
//! lanes, or apart.

use super::super::chunk_batch::SEVERAL;
use super::super::memory::ValidView;
use super::super::slice::Slice;
use super::bilinear::{chosen, filter};
use super::level::{FilteredTexels, LevelSampler, LocatedTexels, ROW, SampleKind, TexelSource};
use super::quad_windows::{COMMON, WindowShape, by_axis, min_of_both, min_of_quads, within};
use super::{bilinear_batch, bilinear_narrow, nearest_texels};
use base::format::lanes::FilterTexel;
use base::host::Avx512;
use core::arch::x86_64::*;

/// The source of texels in the layout of the image.
pub struct ImageTexels;

impl TexelSource for ImageTexels {
    type Level<'a> = ();

    const PLANNED: bool = true;

    #[inline(always)]
    fn find_several<K: SampleKind<TexelSource = ImageTexels>>(
        v: Avx512,
        axes: &LevelSampler<'_, K>,
        seen: &[LocatedTexels; SEVERAL],
        found: &mut [FilteredTexels; SEVERAL],
        count: usize,
    ) {
        bilinear_batch::in_windows(v, axes, seen, found, count)
    }

    #[inline(always)]
    fn words<K: SampleKind<TexelSource = ImageTexels>>(
        v: Avx512,
        axes: &LevelSampler<'_, K>,
        texels: [__m512i; 2],
        size: [__m512i; 2],
    ) -> Option<__m512i> {
        let slice = &axes.slices[0];
        if axes.common.get()
            && let Some(words) = nearest_texels::window(v, slice, texels, size)
        {
            return Some(words);
        }
        axes.common.set(false);
        Some(nearest_texels::apart(v, slice, texels))
    }

    #[inline(always)]
    fn new<'a>(_: ValidView<'a>, _: &Slice<'a>) {}

    #[inline(always)]
    fn find<K: SampleKind<TexelSource = ImageTexels>, const LINEAR: bool, const TWO: bool>(
        v: Avx512,
        axes: &LevelSampler<'_, K>,
        [first, second]: [__m512i; 2],
        weight: __m512,
        far: u16,
    ) -> Option<[__m512; 2]> {
        let mask = axes.slices[0].mask;
        if let FilterTexel::Narrow(few) = K::FOUR {
            // No views of such texels are sampled in pairs.
            let windows = bilinear_narrow::NarrowWindows {
                few,
                slice: &axes.slices[0],
                size: axes.grid.size,
                fits_all_lanes: axes.rows,
            };
            return if TWO { None } else { windows.find::<LINEAR>(v, [first, second], weight, far) };
        }
        let (windows, numbers) = 'found: {
            let min = min_of_quads(v, first);
            let both = [min_of_both(v, min), first, second, axes.grid.size];
            let words = !TWO && K::FOUR.words() == 1;
            // The shape that succeeded last time is tried first.
            if words && axes.in_row.get() {
                if let Some(seen) = within(v, ROW, both, far, mask) {
                    break 'found axes.common_window(v, WindowShape::FormatRow, seen);
                }
                axes.in_row.set(false);
            }
            let seen = [min, first, second, axes.grid.size];
            if let Some(seen) = within(v, WindowShape::Square.sides(), seen, far, mask) {
                break 'found axes.windows::<TWO>(v, WindowShape::Square, seen);
            }
            if words && axes.common.get() {
                if let Some(seen) = within(v, COMMON, both, far, mask) {
                    break 'found axes.common_window(v, WindowShape::Rows, seen);
                }
                if axes.long
                    && let Some(seen) = within(v, ROW, both, far, mask)
                {
                    axes.in_row.set(true);
                    break 'found axes.common_window(v, WindowShape::FormatRow, seen);
                }
                // If some chunks lie in such windows and some do not, they cannot be predicted;
                // a wrong prediction costs more than a right one saves.
                axes.common.set(false);
            }
            if !words
                && axes.rows
                && let Some(seen) = within(v, WindowShape::Rows.sides(), seen, far, mask)
            {
                break 'found axes.windows::<TWO>(v, WindowShape::Rows, seen);
            }
            return match TWO {
                true => axes.apart_in_two::<LINEAR>(v, [first, second], weight, far),
                false => axes.apart::<LINEAR>(v, [first, second], weight, far),
            };
        };
        Some(match LINEAR {
            true => filter(v, K::FOUR, &windows, numbers, by_axis(v, weight)),
            false => chosen(v, K::FOUR, &windows, numbers[0]),
        })
    }
}
