//! Reading and writing texels: one type per texel class, so that kernels are straight code for the common formats.
//!
//! Loads and stores never check: callers pass coordinates inside the level. What is read may change under us (the application
//! shares the memory), so every load is a copy of the texel's bytes and any bytes are a valid texel.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::words;
use base::abi::{ImageView, MAX_LANES};
use base::format::lanes::Lanes;
use base::format::{Format, Row, Texel, kernels};
use base::host::Host;

/// One integer per lane.
pub type Ints = [i32; MAX_LANES];

/// A two-dimensional piece of an image: one level, layer, sample and depth. (Of a texel buffer: everything, as one row.)
pub struct Slice {
    /// The first texel.
    pub base: *mut u8,
    /// Bytes between rows (of blocks).
    pub pitch: u32,
    /// Lanes whose texels are wanted; those of the others may be skipped, but lie inside too.
    pub mask: u32,
}

impl Slice {
    /// Bytes from `base` to the texels of `N` bytes at (x, y). A slice has at most 2^32: 2^14 rows of 2^14 texels of 16 bytes.
    #[inline(always)]
    pub fn offsets<const N: usize>(&self, x: &Ints, y: &Ints) -> [u32; MAX_LANES] {
        let mut offset = [0; MAX_LANES];
        for i in 0..MAX_LANES {
            offset[i] = (y[i] as u32).wrapping_mul(self.pitch).wrapping_add((x[i] as u32).wrapping_mul(N as u32));
        }
        offset
    }

    /// Is the lane's texel wanted?
    #[inline(always)]
    pub fn wants(&self, lane: usize) -> bool {
        self.mask >> lane & 1 != 0
    }
}

/// A texel class.
pub trait Texels {
    /// What a component of `lanes::<true>` has to be divided by; filters divide once, at the end.
    const SCALE: f32 = 1.0;

    /// The texel at (x, y) of the slice that begins at `slice`.
    ///
    /// # Safety
    /// (x, y) lies inside the slice, whose rows are `row_pitch` bytes apart, and the view's format belongs to the class.
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel;

    /// The texels of all lanes, with `SCALED` multiplied by `SCALE`. Of lanes that are not wanted: anything.
    ///
    /// # Safety
    /// (x, y) lie inside the slice (all lanes, wanted or not), and the view's format belongs to the class.
    #[inline(always)]
    unsafe fn lanes<H: Host, const SCALED: bool>(view: &ImageView, slice: &Slice, x: &Ints, y: &Ints) -> Lanes {
        let mut out = [[0; MAX_LANES]; 4];
        for i in 0..MAX_LANES {
            if !slice.wants(i) {
                continue;
            }
            // SAFETY: the caller's promise.
            let t = unsafe { Self::texel(view, slice.base, u64::from(slice.pitch), x[i] as u32, y[i] as u32) };
            for c in 0..4 {
                out[c][i] = t[c];
            }
        }
        out
    }

    /// The texels at (x, y) and (second, y). `ADJACENT`: `second` is `x + 1` in all lanes.
    ///
    /// # Safety
    /// As for `lanes`, for both.
    #[inline(always)]
    unsafe fn pairs<H: Host, const SCALED: bool, const ADJACENT: bool>(
        view: &ImageView,
        slice: &Slice,
        [x, second]: [&Ints; 2],
        y: &Ints,
    ) -> [Lanes; 2] {
        // SAFETY: the caller's promise.
        unsafe { [Self::lanes::<H, SCALED>(view, slice, x, y), Self::lanes::<H, SCALED>(view, slice, second, y)] }
    }

    /// Writes the texels of the wanted lanes.
    ///
    /// # Safety
    /// As for `lanes`, and the view's memory may be written.
    unsafe fn store(view: &ImageView, slice: &Slice, x: &Ints, y: &Ints, texels: &Lanes);
}

/// Row `ROW` of the format table, and rows of the same bits. With `RAW` filters work on the integers that are stored.
pub struct Plain<const ROW: usize, const RAW: bool>;

impl<const ROW: usize, const RAW: bool> Plain<ROW, RAW> {
    /// # Safety
    /// On a host of level `H`.
    #[inline(always)]
    unsafe fn unpack<H: Host, const SCALED: bool>(words: &Lanes) -> Lanes {
        // SAFETY: the caller's promise.
        let host = unsafe { H::here() };
        if RAW && SCALED { Row::<ROW>::unpack_lanes_raw(host, words) } else { Row::<ROW>::unpack_lanes(host, words) }
    }

    /// Texels of `N` bytes.
    #[inline(always)]
    unsafe fn load<H: Host, const N: usize, const SCALED: bool>(slice: &Slice, x: &Ints, y: &Ints) -> Lanes {
        // SAFETY: the caller's promise: inside the view.
        unsafe { Self::unpack::<H, SCALED>(&words::read::<H, N>(slice.base, &slice.offsets::<N>(x, y))) }
    }

    /// Neighbours of `N` bytes each, read as one.
    #[inline(always)]
    unsafe fn load_pairs<H: Host, const N: usize, const TWICE: usize, const SCALED: bool>(
        slice: &Slice,
        x: &Ints,
        y: &Ints,
    ) -> [Lanes; 2] {
        // SAFETY: the caller's promise: both inside the view, in one row.
        let both = unsafe { words::read::<H, TWICE>(slice.base, &slice.offsets::<N>(x, y)) };
        let [first, second] = words::split::<N>(&both);
        // SAFETY: the caller's promise.
        unsafe { [Self::unpack::<H, SCALED>(&first), Self::unpack::<H, SCALED>(&second)] }
    }

    #[inline(always)]
    unsafe fn put<const N: usize>(slice: &Slice, x: &Ints, y: &Ints, texels: &Lanes) {
        let (offset, words) = (slice.offsets::<N>(x, y), Row::<ROW>::pack_lanes(texels));
        // SAFETY: the caller's promise.
        unsafe { words::write::<N>(slice.base, &offset, &words, slice.mask) };
    }
}

impl<const ROW: usize, const RAW: bool> Texels for Plain<ROW, RAW> {
    const SCALE: f32 = if RAW { Row::<ROW>::SCALE } else { 1.0 };

    #[inline(always)]
    unsafe fn texel(_: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        let bytes = Row::<ROW>::BYTES;
        let mut block = [0; 16];
        let offset = u64::from(y) * row_pitch + u64::from(x) * bytes as u64;
        // SAFETY: a texel of `bytes` (at most 16) bytes inside the slice.
        unsafe { slice.add(offset as usize).copy_to_nonoverlapping(block.as_mut_ptr(), bytes) };
        Row::<ROW>::unpack_slice(&block)
    }

    #[inline(always)]
    unsafe fn lanes<H: Host, const SCALED: bool>(_: &ImageView, slice: &Slice, x: &Ints, y: &Ints) -> Lanes {
        // SAFETY: the caller's promise; the texels have that many bytes.
        unsafe {
            match Row::<ROW>::BYTES {
                1 => Self::load::<H, 1, SCALED>(slice, x, y),
                2 => Self::load::<H, 2, SCALED>(slice, x, y),
                4 => Self::load::<H, 4, SCALED>(slice, x, y),
                8 => Self::load::<H, 8, SCALED>(slice, x, y),
                16 => Self::load::<H, 16, SCALED>(slice, x, y),
                _ => const { panic_unless_common(Row::<ROW>::BYTES) },
            }
        }
    }

    #[inline(always)]
    unsafe fn pairs<H: Host, const SCALED: bool, const ADJACENT: bool>(
        view: &ImageView,
        slice: &Slice,
        [x, second]: [&Ints; 2],
        y: &Ints,
    ) -> [Lanes; 2] {
        // SAFETY: the caller's promise; the texels have that many bytes.
        unsafe {
            match Row::<ROW>::BYTES {
                2 if ADJACENT => Self::load_pairs::<H, 2, 4, SCALED>(slice, x, y),
                4 if ADJACENT => Self::load_pairs::<H, 4, 8, SCALED>(slice, x, y),
                8 if ADJACENT => Self::load_pairs::<H, 8, 16, SCALED>(slice, x, y),
                _ => [Self::lanes::<H, SCALED>(view, slice, x, y), Self::lanes::<H, SCALED>(view, slice, second, y)],
            }
        }
    }

    #[inline(always)]
    unsafe fn store(_: &ImageView, slice: &Slice, x: &Ints, y: &Ints, texels: &Lanes) {
        // SAFETY: the caller's promise; the texels have that many bytes.
        unsafe {
            match Row::<ROW>::BYTES {
                1 => Self::put::<1>(slice, x, y, texels),
                2 => Self::put::<2>(slice, x, y, texels),
                4 => Self::put::<4>(slice, x, y, texels),
                8 => Self::put::<8>(slice, x, y, texels),
                16 => Self::put::<16>(slice, x, y, texels),
                _ => {}
            }
        }
    }
}

/// Rows of other sizes are of class [`Any`].
const fn panic_unless_common(bytes: usize) -> Lanes {
    assert!(bytes.is_power_of_two() && bytes <= 16);
    [[0; MAX_LANES]; 4]
}

/// Any format of one-texel blocks, through its unpack function.
pub struct Any;

impl Texels for Any {
    #[inline(always)]
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        let kernels = kernels(Format(view.format as u16));
        let offset = u64::from(y) * row_pitch + u64::from(x) * kernels.bytes as u64;
        let mut block = [0; 16];
        // SAFETY: a texel of `bytes` (at most 16) bytes inside the slice.
        unsafe { slice.add(offset as usize).copy_to_nonoverlapping(block.as_mut_ptr(), kernels.bytes) };
        (kernels.unpack_one)(&block)
    }

    #[inline(always)]
    unsafe fn store(view: &ImageView, slice: &Slice, x: &Ints, y: &Ints, texels: &Lanes) {
        let kernels = kernels(Format(view.format as u16));
        for i in 0..MAX_LANES {
            if !slice.wants(i) {
                continue;
            }
            let row = u64::from(y[i] as u32) * u64::from(slice.pitch);
            let offset = row + u64::from(x[i] as u32) * kernels.bytes as u64;
            let block = (kernels.pack_one)([texels[0][i], texels[1][i], texels[2][i], texels[3][i]]);
            // SAFETY: the texel's `bytes` (at most 16) bytes are inside the view.
            unsafe { slice.base.add(offset as usize).copy_from_nonoverlapping(block.as_ptr(), kernels.bytes) };
        }
    }
}
