//! Samples of several chunks with a linear filter, step by step for all of them: first the
//! addresses of texels, then their values, then the filter. A step's chain of operations is short,
//! so that the processor overlaps several chunks. There is one copy of the code for each kind.

use super::super::chunk_batch::SEVERAL;
use super::super::slice::Slice;
use super::bilinear::{filter, windows_of};
use super::level::{
    FilteredTexels, LevelGrid, LevelSampler, LocatedTexels, SampleKind, TexelSource, numbers, one_by_one,
};
use super::quad_windows::{WindowShape, by_axis, is_wanted, min_of_quads, placed, second_window, windows_at};
use base::host::Avx512;
use core::arch::x86_64::*;

/// Offsets of the windows of a chunk's quads, and the numbers of its texels in them.
type QuadWindows = ([u32; 2], [__m512i; 2]);

base::avx512_fn! {
    /// Calls [`LevelSampler::sample`] for several chunks with a linear filter; results after the
    /// first `count` have no meaning.
    pub(crate) fn several [K: SampleKind] [K]
        (v: Avx512, axes: &LevelSampler<'_, K>, coords: &[__m512; SEVERAL], found: &mut [FilteredTexels; SEVERAL], count: usize) {
        let mut seen = [([v._mm512_setzero_si512(); 2], v._mm512_setzero_ps(), 0); SEVERAL];
        seen_at(v, &axes.grid, coords, &mut seen);
        K::TexelSource::find_several::<K>(v, axes, &seen, found, count);

    }
}

base::avx512_fn! {
    /// Finds the texels at coordinates.
    fn seen_at
        (v: Avx512, grid: &LevelGrid, coords: &[__m512; SEVERAL], seen: &mut [LocatedTexels; SEVERAL]) {
        for (seen, coord) in seen.iter_mut().zip(coords) {
            *seen = grid.seen::<true>(v, *coord);
        }

    }
}

base::avx512_fn! {
    /// Finds windows of 4×4 texels of four bytes, and the lanes that need texels outside of them.
    fn windows_of_quads
        (v: Avx512, grid: &LevelGrid, slice: &Slice<'_>, seen: &[LocatedTexels; SEVERAL], windows: &mut [QuadWindows; SEVERAL], outside: &mut u16) {
        for (window, &([first, second], _, far)) in windows.iter_mut().zip(seen) {
            let (place, others) = placed(v, WindowShape::Square.sides(), [min_of_quads(v, first), first, second, grid.size]);
            let at = windows_at::<2>(v, place[0], [slice.pitch; 2]);
            slice.prefetch_after::<4>(at);
            *window = (at, numbers(v, WindowShape::Square, [place[1], place[2]], second_window(v)));
            *outside |= others | far;
        }

    }
}

/// Implements [`TexelSource::find_several`] for texels in windows of quads; other texels are found
/// chunk by chunk.
#[inline(always)]
pub(crate) fn in_windows<K: SampleKind>(
    v: Avx512,
    axes: &LevelSampler<'_, K>,
    seen: &[LocatedTexels; SEVERAL],
    found: &mut [FilteredTexels; SEVERAL],
    count: usize,
) {
    if axes.in_row.get() || !axes.near.expected() {
        return one_by_one(v, axes, seen, found, count);
    }
    let slice = &axes.slices[0];
    let (mut windows, mut outside) = ([([0; 2], [v._mm512_setzero_si512(); 2]); SEVERAL], 0);
    windows_of_quads(v, &axes.grid, slice, seen, &mut windows, &mut outside);
    if is_wanted(outside, slice.mask) {
        axes.near.failed();
        return one_by_one(v, axes, seen, found, count);
    }
    axes.near.succeeded();
    for i in 0..count {
        let ((at, numbers), (_, weight, _)) = (windows[i % SEVERAL], seen[i % SEVERAL]);
        let windows = windows_of(v, K::FOUR, WindowShape::Square, [slice; 2], at);
        found[i % SEVERAL] = Some(filter(v, K::FOUR, &windows, numbers, by_axis(v, weight)));
    }
}
