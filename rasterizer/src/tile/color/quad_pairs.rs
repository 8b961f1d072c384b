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
#[cfg(target_arch = "x86_64")]
use base::host::Avx512;
use base::host::{Host, Ints};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__m512i;

/// An operation on a pair's texels. (The compiler may not inline closures that contain intrinsics.)
pub trait PairWriter<H: Host> {
    /// The colours of a pair.
    type Source: Copy;
    /// True if the result depends on the texels in memory.
    const READS_TARGET: bool;
    /// True if whole pairs get separate code. (Long code is compiled once.)
    const HAS_WHOLE_PAIR_CODE: bool;
    /// Takes the colours of a pair of the batch.
    fn load_source(&self, host: H, pair: usize) -> Self::Source;
    /// True if two pairs of texels of four bytes are written at once on hosts with 512-bit vectors,
    /// by [`PairWriter::apply_512`].
    #[cfg(target_arch = "x86_64")]
    const WRITES_TWO_PAIRS: bool = false;
    /// Returns the texels of two pairs, quad by quad, given the old ones, which have no meaning
    /// without [`PairWriter::READS_TARGET`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn apply_512(&self, _: Avx512, _pair: usize, old: __m512i) -> __m512i {
        old
    }
    /// Returns the words of the texels, given the old ones.
    fn apply(&self, host: H, source: &Self::Source, old: [H::Ints; 4]) -> [H::Ints; 4];
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
    /// The requirements of `ColorPlan::write_batch` hold.
    #[inline(always)]
    pub unsafe fn write_pairs<H: Host, const N: usize, W: PairWriter<H>>(
        &self,
        host: H,
        batch: &ShadedQuads<'_>,
        write: W,
    ) {
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
                && let Some(v) = host.avx512()
                && let Some(four) = rest.first_chunk::<4>()
                && batch.samples == 1
            {
                // SAFETY: the pairs are in the batch; covered pixels lie inside the layer, and no
                // other thread accesses them (`# Safety`).
                if unsafe {
                    two_pairs(
                        v,
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
            let source = write.load_source(host, number);
            for sample in 0..batch.samples {
                let rows = PairRows([[p[0], p[0].wrapping_add(pitch)], [p[1], p[1].wrapping_add(pitch)]]);
                // SAFETY: the `# Safety` section of this function allows access to the covered
                // pixels, and to whole quads if the batch is `whole`.
                unsafe {
                    if W::HAS_WHOLE_PAIR_CODE && coverage == full && p[1] == p[0].wrapping_add(2 * bytes) {
                        let old = if W::READS_TARGET {
                            rows.read_beside::<H, N>(host, bytes)
                        } else {
                            [H::Ints::splat(0); 4]
                        };
                        rows.write_beside::<H, N>(host, bytes, write.apply(host, &source, old));
                    } else {
                        let turns = turns(&p, coverage >> sample & 0x1111_1111);
                        for &coverage in turns.iter().filter(|&&coverage| coverage != 0) {
                            write_some::<H, N, W>(host, bytes, rows, coverage, batch.whole, (&write, &source));
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
/// The requirements of [`ColorPlan::write_pairs`] hold.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn two_pairs<H: Host, W: PairWriter<H>>(
    v: Avx512,
    write: &W,
    number: usize,
    quads: &[FragmentQuad; 4],
    (at, pitch): ([*mut u8; 4], usize),
    whole: bool,
) -> bool {
    let nothing = v._mm512_setzero_si512();
    // SAFETY: covered pixels lie inside the layer (`# Safety`).
    unsafe {
        if let Some(covered) = avx512::row_covered(v, quads) {
            let old = if W::READS_TARGET { avx512::load_row(v, at[0], pitch, covered) } else { nothing };
            avx512::store_row(v, at[0], pitch, write.apply_512(v, number, old), covered);
            return true;
        }
        if let Some(at) = apart(quads, at) {
            let old = if W::READS_TARGET { avx512::load_pairs(v, at, pitch) } else { nothing };
            avx512::store_pairs(v, at, pitch, write.apply_512(v, number, old));
            return true;
        }
        // This case covers small primitives, and the outlines of large ones.
        if whole && let Some(covered) = avx512::covered(v, quads) {
            let old = avx512::load_quads(v, at, pitch);
            let new = write.apply_512(v, number, old);
            avx512::store_quads(v, at, pitch, v._mm512_mask_mov_epi32(old, covered, new));
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
    host: H,
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
        let (old, covered) = (place.read::<H, N>(host, bytes), covered::<H::Ints>(coverage));
        let new = write.apply(host, source, old);
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
