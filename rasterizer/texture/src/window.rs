//! Texels of all lanes from few loads: those of neighbours, as the lanes of quads and rows mostly
//! are.
//!
//! Single texels are loaded directly if those of a quad, or of all lanes, are neighbours. The
//! footprints of texels of one byte are selected from two windows of 4×4 texels, one for each quad
//! of lanes. That is enough for magnification, and for minification to half the size. (For texels
//! of four bytes, windows take eight loads and 24 operations to select in vectors of 256 bits. That
//! is slower than 16 loads, because the latency from coordinates to texels dominates. `wide` has
//! windows of such texels in 512-bit vectors.) If lanes are not such neighbours, the functions
//! return `None`, and the texels are gathered lane by lane; the words are the same either way.
//!
//! Invariant: a window begins at the smallest coordinates of its quad, but is moved so that it ends
//! inside of the slice. Every load thus lies inside, and lanes that are not wanted may select any
//! texel.

use super::slice::Slice;
use super::words::Words;
use base::host::{Host, Ints};

/// Width and height of a window.
pub const SIDE: u32 = 4;

/// Two windows, and the positions of the lanes' texels in the window of their quad.
pub struct Windows<H: Host> {
    /// Offset of the first texel of each window in the slice.
    pub first: [u32; 2],
    /// Columns, below 4 for the wanted lanes.
    pub x: [H::Ints; 2],
    /// Rows, below 4 for the wanted lanes.
    pub y: [H::Ints; 2],
}

impl<H: Host> Windows<H> {
    /// Finds the windows of texels of `N` bytes.
    #[inline(always)]
    pub fn new<const N: usize>(slice: &Slice, x: [H::Ints; 2], y: [H::Ints; 2]) -> Option<Windows<H>> {
        let [width, height] = slice.size;
        if width < SIDE || height < SIDE {
            return None;
        }
        let left = x[0].min_of_quad().min(H::Ints::splat(width - SIDE));
        let top = y[0].min_of_quad().min(H::Ints::splat(height - SIDE));
        let (x, y) = ([x[0] - left, x[1] - left], [y[0] - top, y[1] - top]);
        // All positions are below 4, and not negative.
        let inside = (x[0] | x[1] | y[0] | y[1]).shr(SIDE.trailing_zeros()).equal(H::Ints::splat(0));
        if slice.mask & !inside.movemask() != 0 {
            return None;
        }
        let offset = slice.offsets::<_, N>(left, top).to_array();
        Some(Windows { first: [offset[0], offset[4]], x, y })
    }
}

/// Implements [`Texels::footprint`](super::texel::Texels::footprint) for texels of one byte: one
/// vector has all texels of both windows.
///
/// # Safety
/// The coordinates lie inside of the slice. The host is `H`.
#[inline(always)]
pub unsafe fn footprint<H: Host>(slice: &Slice, x: [H::Ints; 2], y: [H::Ints; 2]) -> Option<[Words<H>; 4]> {
    if !H::PREFERS_WINDOWS {
        return None;
    }
    let windows = Windows::<H>::new::<1>(slice, x, y)?;
    let pitch = slice.pitch as usize;
    // SAFETY: windows lie inside of the slice.
    let [first, second] = windows.first.map(|offset| unsafe { slice.base.add(offset as usize).cast_const() });
    // SAFETY: the four texels are a row of a window, which lies inside of the slice.
    let row = |at: *const u8, y: usize| u32::from_le(unsafe { at.add(y * pitch).cast::<u32>().read_unaligned() });
    let all = H::Ints::from_array([
        row(first, 0),
        row(first, 1),
        row(first, 2),
        row(first, 3),
        row(second, 0),
        row(second, 1),
        row(second, 2),
        row(second, 3),
    ]);
    let ([left, right], [top, bottom]) = (windows.x, [windows.y[0].shl(2), windows.y[1].shl(2)]);
    let texels = |at| [all.shuffle_bytes(at), H::Ints::splat(0), H::Ints::splat(0), H::Ints::splat(0)];
    Some([texels(top | left), texels(top | right), texels(bottom | left), texels(bottom | right)])
}

/// Returns single texels of `N` bytes, 4 or 8, if those of each quad are a square of 2×2, or those
/// of all lanes are a row.
///
/// # Safety
/// The coordinates lie inside of the slice. The host is `H`.
#[inline(always)]
pub unsafe fn neighbours<H: Host, const N: usize>(slice: &Slice, x: H::Ints, y: H::Ints) -> Option<Words<H>> {
    if !H::PREFERS_WINDOWS {
        return None;
    }
    let zero = H::Ints::splat(0);
    let first = [x.shuffle_in_quad(zero), y.shuffle_in_quad(zero)];
    let (right, below) = (H::Ints::from_array([0, 1, 0, 1, 0, 1, 0, 1]), H::Ints::from_array([0, 0, 1, 1, 0, 0, 1, 1]));
    let differs = (x ^ (first[0] + right)) | (y ^ (first[1] + below));
    if differs.equal(zero).movemask() == 0xff {
        let offset = slice.offsets::<_, N>(x, y).to_array();
        // SAFETY: the texels lie inside of the slice (`# Safety`).
        return Some(unsafe {
            let at = [0, 2, 4, 6].map(|lane: usize| slice.base.add(offset[lane] as usize).cast_const());
            match N {
                4 => [H::quarters_at(at), zero, zero, zero],
                _ => pairs::<H>(H::halves_at(at[0], at[2]), H::halves_at(at[1], at[3])),
            }
        });
    }
    let (x0, y0) = (x.to_array()[0], y.to_array()[0]);
    let row = H::Ints::from_array([0, 1, 2, 3, 4, 5, 6, 7]) + H::Ints::splat(x0);
    let differs = (x ^ row) | (y ^ H::Ints::splat(y0));
    if differs.equal(zero).movemask() != 0xff {
        return None;
    }
    // SAFETY: the eight texels lie inside of the slice (`# Safety`).
    Some(unsafe {
        let at = slice.base.add(y0 as usize * slice.pitch as usize + x0 as usize * N).cast_const();
        match N {
            4 => [H::halves_at(at, at.add(16)), zero, zero, zero],
            _ => pairs::<H>(H::halves_at(at, at.add(32)), H::halves_at(at.add(16), at.add(48))),
        }
    })
}

/// Returns the words of texels of eight bytes; either vector has two texels of each quad.
#[inline(always)]
fn pairs<H: Host>(a: H::Ints, b: H::Ints) -> Words<H> {
    let ([low, high], zero) = (a.unzip(b), H::Ints::splat(0));
    [low, high, zero, zero]
}

#[cfg(test)]
mod tests {
    use super::super::words::gather;
    use super::*;
    use base::abi::MAX_LANES;
    use base::host::SimdLevel;
    use base::random::Rng;

    type Coordinates = [[u32; MAX_LANES]; 4];
    type Found = Option<[[[u32; MAX_LANES]; 4]; 4]>;

    fn lanes<H: Host>(words: Words<H>) -> [[u32; MAX_LANES]; 4] {
        words.map(Ints::to_array)
    }

    base::multiversion! {
        /// Finds a footprint by windows, and by gathers.
        unsafe fn footprints(slice: &Slice, at: &Coordinates, near: &mut Found, all: &mut Found) {
            let [x0, x1, y0, y1] = at.map(<H as Host>::Ints::from_array);
            *near = footprint::<H>(slice, [x0, x1], [y0, y1]).map(|words| words.map(lanes::<H>));
            let each = |x, y| lanes::<H>(gather::<H, 1>(slice.base, slice.offsets::<_, 1>(x, y)));
            *all = Some([each(x0, y0), each(x1, y0), each(x0, y1), each(x1, y1)]);
        }
        /// Finds single texels of neighbours by wide loads, and by gathers.
        unsafe fn texels [const N: usize] [N] (slice: &Slice, at: &Coordinates, near: &mut Found, all: &mut Found) {
            let (x, y) = (<H as Host>::Ints::from_array(at[0]), <H as Host>::Ints::from_array(at[2]));
            *near = neighbours::<H, N>(slice, x, y).map(|words| [lanes::<H>(words); 4]);
            *all = Some([lanes::<H>(gather::<H, N>(slice.base, slice.offsets::<_, N>(x, y))); 4]);
        }
    }

    type Both = unsafe fn(&Slice, &Coordinates, &mut Found, &mut Found);

    /// Compares both ways over random slices and the coordinates that `at` returns. Returns how
    /// many were found in windows.
    fn check(both: Both, bytes: u32, at: impl Fn(&mut Rng, [u32; 2]) -> Coordinates) -> u32 {
        let mut rng = Rng(0x7e8e_15ca_9e00_0001 + u64::from(bytes));
        let mut found = 0;
        for _ in 0..20_000 {
            let size = [0; 2].map(|_| rng.pick(&[1, 2, 3, 4, 5, 8, 11, 16, 64]));
            let pitch = size[0] * bytes + rng.pick(&[0, 0, 4, 16]);
            // The memory has exactly the slice's size, so that an address sanitizer detects
            // accesses outside.
            let mut memory: Vec<u8> = (0..pitch * (size[1] - 1) + size[0] * bytes).map(|_| rng.next() as u8).collect();
            let mask = rng.pick(&[0xff, 0xff, 0x0f, 0x80, 0xa7]);
            let slice = Slice { base: memory.as_mut_ptr(), pitch, size, mask };
            let at = at(&mut rng, size);
            let (mut near, mut all) = (None, None);
            // SAFETY: the host has the level, and the coordinates lie inside of the slice.
            unsafe { both(&slice, &at, &mut near, &mut all) };
            let (Some(near), Some(all)) = (near, all) else { continue };
            found += 1;
            for lane in (0..MAX_LANES).filter(|lane| mask >> lane & 1 != 0) {
                for (near, all) in near.iter().flatten().zip(all.iter().flatten()) {
                    assert_eq!(near[lane], all[lane], "{lane} {size:?} {at:?}");
                }
            }
        }
        found
    }

    /// Returns the coordinates of two quads at random places, in steps of up to two texels; some
    /// wrap, and some have one lane elsewhere.
    fn quads(rng: &mut Rng, size: [u32; 2]) -> Coordinates {
        let mut at = [[0; MAX_LANES]; 4];
        let step = rng.pick(&[0.3, 1.0, 1.9, 2.5]);
        for quad in 0..2 {
            let first = [rng.float(0.0, 1.0) * size[0] as f32, rng.float(0.0, 1.0) * size[1] as f32];
            for lane in 0..4 {
                for c in 0..2 {
                    let moved = first[c] + step * (lane >> c & 1) as f32;
                    let (texel, wraps) = (moved as u32, rng.below(8) == 0);
                    let inside = |texel: u32| if wraps { texel % size[c] } else { texel.min(size[c] - 1) };
                    at[2 * c][4 * quad + lane] = inside(texel);
                    at[2 * c + 1][4 * quad + lane] = inside(texel + 1);
                }
            }
        }
        if rng.below(4) == 0 {
            let lane = rng.below(8) as usize;
            at[0][lane] = rng.below(size[0]);
            at[3][lane] = rng.below(size[1]);
        }
        at
    }

    /// Returns 2×2 texels for each quad or eight in a row, with small deviations.
    fn squares(rng: &mut Rng, size: [u32; 2]) -> Coordinates {
        let mut at = [[0; MAX_LANES]; 4];
        let row = rng.below(2) == 0;
        let first: [[u32; 2]; 2] = [0; 2].map(|_| [rng.below(size[0]), rng.below(size[1])]);
        for lane in 0..MAX_LANES {
            let [x, y] = first[if row { 0 } else { lane / 4 }];
            let (right, below) = if row { (lane as u32, 0) } else { (lane as u32 & 1, lane as u32 >> 1 & 1) };
            (at[0][lane], at[2][lane]) = ((x + right).min(size[0] - 1), (y + below).min(size[1] - 1));
        }
        if rng.below(4) == 0 {
            at[2 * rng.below(2) as usize][rng.below(8) as usize] = 0;
        }
        at
    }

    #[test]
    fn windows_have_the_texels_that_are_gathered() {
        for level in SimdLevel::all_supported() {
            let found = [
                check(footprints(level), 1, quads),
                check(texels::<4>(level), 4, squares),
                check(texels::<8>(level), 8, squares),
            ];
            let windows = level != SimdLevel::Portable;
            assert!(found.iter().all(|&found| if windows { found > 4000 } else { found == 0 }), "{level:?} {found:?}");
        }
    }
}
