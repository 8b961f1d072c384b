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

#![forbid(unsafe_code)]

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
    pub fn new<const N: usize>(slice: &Slice<'_>, x: [H::Ints; 2], y: [H::Ints; 2]) -> Option<Windows<H>> {
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
#[inline(always)]
pub fn footprint<H: Host>(host: H, slice: &Slice<'_>, x: [H::Ints; 2], y: [H::Ints; 2]) -> Option<[Words<H>; 4]> {
    if !H::PREFERS_WINDOWS {
        return None;
    }
    let windows = Windows::<H>::new::<1>(slice, x, y)?;
    let [first, second] = [slice.rows::<u32, 4>(windows.first[0]), slice.rows::<u32, 4>(windows.first[1])];
    let all = host.halves(&first, &second);
    let ([left, right], [top, bottom]) = (windows.x, [windows.y[0].shl(2), windows.y[1].shl(2)]);
    let texels = |at| [all.shuffle_bytes(at), H::Ints::splat(0), H::Ints::splat(0), H::Ints::splat(0)];
    Some([texels(top | left), texels(top | right), texels(bottom | left), texels(bottom | right)])
}

/// Returns single texels of `N` bytes, 4 or 8, if those of each quad are a square of 2×2, or those
/// of all lanes are a row.
#[inline(always)]
pub fn neighbours<H: Host, const N: usize>(host: H, slice: &Slice<'_>, x: H::Ints, y: H::Ints) -> Option<Words<H>> {
    if !H::PREFERS_WINDOWS {
        return None;
    }
    let zero = H::Ints::splat(0);
    let first = [x.shuffle_in_quad(zero), y.shuffle_in_quad(zero)];
    let (right, below) = (H::Ints::from_array([0, 1, 0, 1, 0, 1, 0, 1]), H::Ints::from_array([0, 0, 1, 1, 0, 0, 1, 1]));
    let differs = (x ^ (first[0] + right)) | (y ^ (first[1] + below));
    let memory = slice.memory;
    if differs.equal(zero).movemask() == 0xff {
        let offset = slice.offsets::<_, N>(x, y).to_array();
        let at = [offset[0], offset[2], offset[4], offset[6]];
        return Some(match N {
            4 => {
                let pairs: [[u32; 2]; 4] =
                    [memory.read(at[0]), memory.read(at[1]), memory.read(at[2]), memory.read(at[3])];
                [host.quarters(&pairs), zero, zero, zero]
            }
            _ => {
                let pairs: [[u32; 4]; 4] =
                    [memory.read(at[0]), memory.read(at[1]), memory.read(at[2]), memory.read(at[3])];
                two_words::<H>(host.halves(&pairs[0], &pairs[2]), host.halves(&pairs[1], &pairs[3]))
            }
        });
    }
    let (x0, y0) = (x.to_array()[0], y.to_array()[0]);
    let row = H::Ints::from_array([0, 1, 2, 3, 4, 5, 6, 7]) + H::Ints::splat(x0);
    let differs = (x ^ row) | (y ^ H::Ints::splat(y0));
    if differs.equal(zero).movemask() != 0xff {
        return None;
    }
    let row = memory.from(u64::from(y0) * u64::from(slice.pitch) + u64::from(x0) * N as u64);
    Some(match N {
        4 => {
            let [low, high]: [[u32; 4]; 2] = row.read(0);
            [host.halves(&low, &high), zero, zero, zero]
        }
        _ => {
            let [a, b, c, d]: [[u32; 4]; 4] = row.read(0);
            two_words::<H>(host.halves(&a, &c), host.halves(&b, &d))
        }
    })
}

/// Returns the words of texels of eight bytes; either vector has two texels of each quad.
#[inline(always)]
fn two_words<H: Host>(a: H::Ints, b: H::Ints) -> Words<H> {
    let ([low, high], zero) = (a.unzip(b), H::Ints::splat(0));
    [low, high, zero, zero]
}
