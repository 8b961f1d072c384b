//! Writing of pairs of quads, which are eight lanes.
//!
//! A pair of two quads side by side is read, changed and written as a whole. This includes pairs
//! with pixels that are not covered: those are written back unchanged, because a tile has one
//! writer. If such a pixel may lie outside of the render area, a copy of the covered pixels
//! replaces the texels in memory. Two quads of a pair may be the same pixels, of two primitives.
//! They are then written one after the other, and the lanes of the other quad go to a copy that is
//! discarded.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::equation::ColorLanes;
use super::plan::ColorPlan;
use super::quad_texels::{LANES, PairRows, PairTexels};
use crate::tile::shaded::ShadedQuads;
use base::abi::FragmentQuad;
use base::host::{Host, Ints};

/// An operation on a pair's texels. (The compiler may not inline closures that contain intrinsics.)
pub trait PairWriter<H: Host> {
    /// The colours of a pair.
    type Source: Copy;
    /// True if the result depends on the texels in memory.
    const READS_TARGET: bool;
    /// True if whole pairs get separate code. (Long code is compiled once.)
    const HAS_WHOLE_PAIR_CODE: bool;
    /// Takes the colours of a pair.
    ///
    /// # Safety
    /// The batch has the pair.
    unsafe fn load_source(&self, pair: usize) -> Self::Source;
    /// True if two whole pairs that do not overlap are written at once, by
    /// [`PairWriter::write_two_pairs`].
    #[cfg(target_arch = "x86_64")]
    const WRITES_TWO_PAIRS: bool = false;
    /// Writes two pairs of texels of four bytes that begin at `at`.
    ///
    /// # Safety
    /// The batch has both pairs; all their texels may be written.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_two_pairs(&self, _pair: usize, _at: [*mut u8; 2], _pitch: usize) {}
    /// Writes the covered pixels (as lanes) of two pairs whose quads begin at
    /// `at` and do not overlap. Called only with [`PairWriter::WRITES_TWO_PAIRS`].
    ///
    /// # Safety
    /// The batch has both pairs; all texels of their quads may be read and written.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_four_quads(&self, _pair: usize, _at: [*mut u8; 4], _pitch: usize, _covered: u16) {}
    /// Writes the covered pixels of two pairs whose quads lie side by side from `at` on; `covered`
    /// has eight bits of the upper row, then eight of the lower one. Called only with
    /// [`PairWriter::WRITES_TWO_PAIRS`].
    ///
    /// # Safety
    /// The batch has both pairs; the covered texels may be read and written.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_row(&self, _pair: usize, _at: *mut u8, _pitch: usize, _covered: u16) {}
    /// Returns the words of the texels, given the old ones.
    fn apply(&self, source: &Self::Source, old: [H::Ints; 4]) -> [H::Ints; 4];
}

/// Returns a mask of the lanes of the covered pixels: bits 0, 4, 8 and so on of a pair's coverage.
#[inline(always)]
fn covered<I: Ints>(coverage: u32) -> I {
    let bits = I::from_array([0, 4, 8, 12, 16, 20, 24, 28].map(|bit| 1 << bit));
    (I::splat(coverage) & bits).equal(bits)
}

impl ColorPlan {
    /// Writes all quads of a batch, in order, to texels of
    /// `N` bytes, or of the surface's size if `N` is 0.
    ///
    /// # Safety
    /// The requirements of `ColorPlan::write_batch` hold, and the host has the level.
    #[inline(always)]
    pub unsafe fn write_pairs<H: Host, const N: usize, W: PairWriter<H>>(&self, batch: &ShadedQuads<'_>, write: W) {
        let (bytes, pitch) = (if N == 0 { self.surface.bytes } else { N }, self.surface.row_pitch);
        let full = 0x1111_1111 * ((1 << batch.samples) - 1);
        let first = batch.first_sample as usize * self.surface.sample_stride;
        // All quads of a batch belong to one tile.
        let base = batch.quads.first().map_or(core::ptr::null_mut(), |quad| {
            self.surface.origin(batch.layer, u32::from(quad.x), u32::from(quad.y)).wrapping_add(first)
        });
        let at = |quad: &FragmentQuad| base.wrapping_add(usize::from(quad.y) * pitch + usize::from(quad.x) * bytes);
        let mut rest = batch.quads;
        let mut number = 0;
        while !rest.is_empty() {
            #[cfg(target_arch = "x86_64")]
            if W::WRITES_TWO_PAIRS
                && let Some(four) = rest.first_chunk::<4>()
                && batch.samples == 1
            {
                // SAFETY: the pairs are in the batch; covered pixels lie inside the layer, and no
                // other thread accesses them (`# Safety`).
                if unsafe {
                    two_pairs(
                        &write,
                        number,
                        four,
                        ([at(&four[0]), at(&four[1]), at(&four[2]), at(&four[3])], pitch),
                        batch.whole,
                    )
                } {
                    (rest, number) = (&rest[4..], number + 2);
                    continue;
                }
            }
            let quads;
            (quads, rest) = rest.split_at(rest.len().min(2));
            let mut p = [at(&quads[0]); 2];
            let mut coverage = u32::from(quads[0].coverage);
            if let Some(second) = quads.get(1) {
                p[1] = at(second);
                coverage |= u32::from(second.coverage) << 16;
            }
            // SAFETY: the pair is in the batch.
            let source = unsafe { write.load_source(number) };
            for sample in 0..batch.samples {
                let rows = PairRows([[p[0], p[0].wrapping_add(pitch)], [p[1], p[1].wrapping_add(pitch)]]);
                // SAFETY: the `# Safety` section of this function allows access to the covered
                // pixels, and to whole quads if the batch is `whole`.
                unsafe {
                    if W::HAS_WHOLE_PAIR_CODE && coverage == full && p[1] == p[0].wrapping_add(2 * bytes) {
                        let old =
                            if W::READS_TARGET { rows.read_beside::<H, N>(bytes) } else { [H::Ints::splat(0); 4] };
                        rows.write_beside::<H, N>(bytes, write.apply(&source, old));
                    } else {
                        let turns = turns(&p, coverage >> sample & 0x1111_1111);
                        for &coverage in turns.iter().filter(|&&coverage| coverage != 0) {
                            write_some::<H, N, W>(bytes, rows, coverage, batch.whole, (&write, &source));
                        }
                    }
                }
                p = [p[0].wrapping_add(self.surface.sample_stride), p[1].wrapping_add(self.surface.sample_stride)];
            }
            number += 1;
        }
    }
}

/// Writes two pairs of a batch with one sample at once and returns true, if possible.
/// `at` are the addresses of their quads. `whole` means that all pixels of quads lie in the render
/// area.
///
/// # Safety
/// The requirements of [`ColorPlan::write_pairs`] hold, and `W::WRITES_TWO_PAIRS` is true.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn two_pairs<H: Host, W: PairWriter<H>>(
    write: &W,
    number: usize,
    quads: &[FragmentQuad; 4],
    (at, pitch): ([*mut u8; 4], usize),
    whole: bool,
) -> bool {
    // SAFETY: covered pixels lie inside the layer (`# Safety`); hosts that write two pairs at once
    // have the 512-bit level.
    unsafe {
        if let Some(covered) = avx512::row_covered(quads) {
            write.write_row(number, at[0], pitch, covered);
            return true;
        }
        if let Some(at) = apart(quads, at) {
            write.write_two_pairs(number, at, pitch);
            return true;
        }
        // This case covers small primitives, and the outlines of large ones.
        if whole && let Some(covered) = avx512::covered(quads) {
            write.write_four_quads(number, at, pitch, covered);
            return true;
        }
    }
    false
}

/// Returns the addresses of two pairs of whole quads if the quads of each are side by side and the
/// pairs have no texel (of four bytes) in common.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn apart(quads: &[FragmentQuad; 4], p: [*mut u8; 4]) -> Option<[*mut u8; 2]> {
    let coverage = quads[0].coverage & quads[1].coverage & quads[2].coverage & quads[3].coverage;
    let beside = |a: *mut u8, b: *mut u8| (b.addr().wrapping_sub(a.addr()) ^ 8) as u64;
    // Pairs in the same rows do not overlap if they begin far enough apart; pairs in different rows
    // never do.
    let near = p[2].addr().wrapping_sub(p[0].addr()).wrapping_add(15) < 31;
    let whole = coverage == 0x1111 && beside(p[0], p[1]) | beside(p[2], p[3]) == 0 && !near;
    whole.then_some([p[0], p[2]])
}

/// Returns the coverage that is written together: quads that are the same pixels are written one
/// after the other.
#[inline(always)]
fn turns(p: &[*mut u8; 2], coverage: u32) -> [u32; 2] {
    let (first, second) = (coverage & 0xffff, coverage & 0xffff_0000);
    if p[0] == p[1] { [first, second] } else { [coverage, 0] }
}

/// Writes the covered pixels of a sample of a pair.
///
/// # Safety
/// The requirements of [`ColorPlan::write_pairs`] hold.
#[inline(always)]
unsafe fn write_some<H: Host, const N: usize, W: PairWriter<H>>(
    bytes: usize,
    rows: PairRows,
    coverage: u32,
    whole: bool,
    (write, source): (&W, &W::Source),
) {
    let mut copy = PairTexels::default();
    let mut place = copy.rows();
    let partial = |quad: u32| !matches!(coverage >> (16 * quad) & 0xffff, 0 | 0x1111);
    let whole = whole || !partial(0) && !partial(1);
    // SAFETY: only covered pixels are accessed, and uncovered ones of a covered quad only if the
    // batch is `whole` or the quad is not partial.
    unsafe {
        if whole {
            for quad in 0..2 {
                if coverage >> (16 * quad) & 0xffff != 0 {
                    place.0[quad] = rows.0[quad];
                }
            }
        } else {
            rows.exchange(bytes, coverage, &mut copy, false);
        }
        let (old, covered) = (place.read::<H, N>(bytes), covered::<H::Ints>(coverage));
        let new = write.apply(source, old);
        let mut words = old;
        for w in 0..4 {
            words[w] = covered.select(new[w], old[w]);
        }
        place.write::<H, N>(bytes, words);
        if !whole {
            rows.exchange(bytes, coverage, &mut copy, true);
        }
    }
}

/// Converts bits to floats.
#[inline(always)]
pub fn floats(bits: &[[u32; LANES]; 4]) -> ColorLanes<LANES> {
    let mut out = [[0.0; LANES]; 4];
    for c in 0..4 {
        for i in 0..LANES {
            out[c][i] = f32::from_bits(bits[c][i]);
        }
    }
    out
}
