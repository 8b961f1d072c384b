//! Texels in the layout of the image, as a [`Source`]: in windows of quads, in windows of all
//! lanes, or apart.

use super::axes::{Axes, Found, Kind, ROW, Seen, Source};
use super::chunks::SEVERAL;
use super::quads::{COMMON, Shape, by_axis, least_of_both, least_of_quads, within};
use super::slice::Slice;
use super::wide::{chosen, filter};
use super::{narrow, near, several};
use base::abi::ImageView;
use base::format::lanes::Four;
use core::arch::x86_64::*;

/// The source of texels in the layout of the image.
pub struct InImage;

impl Source for InImage {
    const PLANNED: bool = true;

    #[inline(always)]
    unsafe fn find_several<K: Kind<Source = InImage>>(
        axes: &Axes<K>,
        seen: &[Seen; SEVERAL],
        found: &mut [Found; SEVERAL],
        count: usize,
    ) {
        // SAFETY: the requirements of `Source::find` hold for each chunk.
        unsafe { several::in_windows(axes, seen, found, count) }
    }

    #[inline(always)]
    unsafe fn words<K: Kind<Source = InImage>>(
        axes: &Axes<K>,
        texels: [__m512i; 2],
        size: [__m512i; 2],
    ) -> Option<__m512i> {
        let slice = &axes.slices[0];
        // SAFETY: the texels lie inside of the level, as `Source::words` requires.
        unsafe {
            if axes.common.get()
                && let Some(words) = near::window(slice, texels, size)
            {
                return Some(words);
            }
            axes.common.set(false);
            Some(near::apart(slice, texels))
        }
    }

    #[inline(always)]
    unsafe fn new(_: &ImageView, _: &Slice) -> InImage {
        InImage
    }

    #[inline(always)]
    unsafe fn find<K: Kind<Source = InImage>, const LINEAR: bool, const TWO: bool>(
        axes: &Axes<K>,
        [first, second]: [__m512i; 2],
        weight: __m512,
        far: u16,
    ) -> Option<[__m512; 2]> {
        let mask = axes.slices[0].mask;
        if let Four::Few(few) = K::FOUR {
            // No views of such texels are sampled in pairs.
            let windows = narrow::Windows { few, slice: &axes.slices[0], size: axes.grid.size, wide: axes.rows };
            // SAFETY: the texels lie inside of the level, and the host has the 512-bit level, as
            // `Source::find` requires.
            return if TWO { None } else { unsafe { windows.find::<LINEAR>([first, second], weight, far) } };
        }
        // SAFETY: the texels lie inside of the level, as `Source::find` requires, and so do
        // windows.
        unsafe {
            let (windows, numbers) = 'found: {
                let least = least_of_quads(first);
                let both = [least_of_both(least), first, second, axes.grid.size];
                let words = !TWO && K::FOUR.words() == 1;
                // The shape that succeeded last time is tried first.
                if words && axes.in_row.get() {
                    if let Some(seen) = within(ROW, both, far, mask) {
                        break 'found axes.common_window(Shape::Row, seen);
                    }
                    axes.in_row.set(false);
                }
                let seen = [least, first, second, axes.grid.size];
                if let Some(seen) = within(Shape::Square.sides(), seen, far, mask) {
                    break 'found axes.windows::<TWO>(Shape::Square, seen);
                }
                if words && axes.common.get() {
                    if let Some(seen) = within(COMMON, both, far, mask) {
                        break 'found axes.common_window(Shape::Rows, seen);
                    }
                    if axes.long
                        && let Some(seen) = within(ROW, both, far, mask)
                    {
                        axes.in_row.set(true);
                        break 'found axes.common_window(Shape::Row, seen);
                    }
                    // If some chunks lie in such windows and some do not, they cannot be predicted;
                    // a wrong prediction costs more than a right one saves.
                    axes.common.set(false);
                }
                if !words
                    && axes.rows
                    && let Some(seen) = within(Shape::Rows.sides(), seen, far, mask)
                {
                    break 'found axes.windows::<TWO>(Shape::Rows, seen);
                }
                return match TWO {
                    true => axes.apart_in_two::<LINEAR>([first, second], weight, far),
                    false => axes.apart::<LINEAR>([first, second], weight, far),
                };
            };
            Some(match LINEAR {
                true => filter(K::FOUR, &windows, numbers, by_axis(weight)),
                false => chosen(K::FOUR, &windows, numbers[0]),
            })
        }
    }
}
