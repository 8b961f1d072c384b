//! Reading texels: one type per texel class, so that kernels are straight code for the common formats.
//!
//! A load never checks: callers pass coordinates inside the level. What is read may change under us (the application shares the
//! memory), so every load is a copy of the texel's bytes and any bytes are a valid texel.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use base::abi::{ImageView, MAX_LANES};
use base::format::float::half_to_f32;
use base::format::pack::ONE;
use base::format::srgb::srgb_to_linear;
use base::format::{Format, Texel, decode_block, kernels};
use std::cell::RefCell;

/// Components of texels of all lanes, component first.
pub type LaneTexels = [[f32; MAX_LANES]; 4];

/// The slices that the lanes read.
pub struct Places {
    /// Bytes from the view's base to the slice.
    pub slice: [u64; MAX_LANES],
    /// Bytes between its rows (of blocks).
    pub pitch: [u32; MAX_LANES],
    /// Lanes whose texels are wanted; the others may be skipped.
    pub mask: u32,
}

impl Places {
    /// The texels of `N` bytes at (x, y).
    ///
    /// # Safety
    /// (x, y) lie inside their lanes' slices (all lanes, active or not), whose texels have `N` bytes.
    #[inline(always)]
    unsafe fn read<const N: usize>(
        &self,
        view: &ImageView,
        x: &[i32; MAX_LANES],
        y: &[i32; MAX_LANES],
    ) -> [[u8; N]; MAX_LANES] {
        let mut offset = [0u64; MAX_LANES];
        for i in 0..MAX_LANES {
            offset[i] =
                self.slice[i] + u64::from(y[i] as u32) * u64::from(self.pitch[i]) + u64::from(x[i] as u32 * N as u32);
        }
        let mut out = [[0; N]; MAX_LANES];
        for i in 0..MAX_LANES {
            // SAFETY: inside the slice; byte arrays have no alignment.
            out[i] = unsafe { view.base.add(offset[i] as usize).cast::<[u8; N]>().read_unaligned() };
        }
        out
    }
}

/// A texel class.
pub trait Texels {
    /// What a loaded component has to be divided by; filters divide once, at the end.
    const SCALE: f32 = 1.0;

    /// The texel at (x, y) of the slice that begins at `slice`, as bits; floats are multiplied by `SCALE`.
    ///
    /// # Safety
    /// (x, y) lies inside the slice, whose rows are `row_pitch` bytes apart, and the view's format belongs to the class.
    unsafe fn load(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel;

    /// The texels of all lanes as floats, multiplied by `SCALE`. For classes of float texels.
    ///
    /// # Safety
    /// (x, y) lie inside their lanes' slices (all lanes, active or not), and the view's format belongs to the class.
    #[inline(always)]
    unsafe fn load_lanes(
        view: &ImageView,
        places: &Places,
        x: &[i32; MAX_LANES],
        y: &[i32; MAX_LANES],
        out: &mut LaneTexels,
    ) {
        for i in 0..MAX_LANES {
            if places.mask >> i & 1 == 0 {
                continue;
            }
            // SAFETY: the caller's promise.
            let t = unsafe {
                let slice = view.base.add(places.slice[i] as usize).cast_const();
                Self::load(view, slice, u64::from(places.pitch[i]), x[i] as u32, y[i] as u32)
            };
            for c in 0..4 {
                out[c][i] = f32::from_bits(t[c]);
            }
        }
    }

    /// The texel without scaling.
    ///
    /// # Safety
    /// As for `load`.
    #[inline(always)]
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        // SAFETY: the caller's promise.
        let t = unsafe { Self::load(view, slice, row_pitch, x, y) };
        if Self::SCALE == 1.0 { t } else { t.map(|c| (f32::from_bits(c) / Self::SCALE).to_bits()) }
    }
}

/// Copies `N` bytes of a texel.
///
/// # Safety
/// As for [`Texels::load`], for texels of `N` bytes.
#[inline(always)]
unsafe fn read<const N: usize>(slice: *const u8, row_pitch: u64, x: u32, y: u32) -> [u8; N] {
    let offset = u64::from(y) * row_pitch + u64::from(x) * N as u64;
    // SAFETY: inside the slice; byte arrays have no alignment.
    unsafe { slice.add(offset as usize).cast::<[u8; N]>().read_unaligned() }
}

/// `R8G8B8A8_UNORM` and `B8G8R8A8_UNORM`.
pub struct Unorm8<const BGRA: bool>;

impl<const BGRA: bool> Texels for Unorm8<BGRA> {
    const SCALE: f32 = 255.0;
    #[inline(always)]
    unsafe fn load(_: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        // SAFETY: the caller's promise.
        let t = unsafe { read::<4>(slice, row_pitch, x, y) }.map(|c| f32::from(c).to_bits());
        if BGRA { [t[2], t[1], t[0], t[3]] } else { t }
    }
    #[inline(always)]
    unsafe fn load_lanes(
        view: &ImageView,
        places: &Places,
        x: &[i32; MAX_LANES],
        y: &[i32; MAX_LANES],
        out: &mut LaneTexels,
    ) {
        // SAFETY: the caller's promise.
        let raw = unsafe { places.read::<4>(view, x, y) };
        for c in 0..4 {
            let shift = 8 * if BGRA && c != 3 { 2 - c } else { c };
            for i in 0..MAX_LANES {
                out[c][i] = (u32::from_le_bytes(raw[i]) >> shift & 0xff) as i32 as f32;
            }
        }
    }
}

/// `R8G8B8A8_SRGB` and `B8G8R8A8_SRGB`.
pub struct Srgb8<const BGRA: bool>;

impl<const BGRA: bool> Texels for Srgb8<BGRA> {
    #[inline(always)]
    unsafe fn load(_: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        // SAFETY: the caller's promise.
        let t = unsafe { read::<4>(slice, row_pitch, x, y) };
        let linear = |c: u8| srgb_to_linear(c).to_bits();
        let (r, b) = if BGRA { (t[2], t[0]) } else { (t[0], t[2]) };
        [linear(r), linear(t[1]), linear(b), (f32::from(t[3]) / 255.0).to_bits()]
    }
    #[inline(always)]
    unsafe fn load_lanes(
        view: &ImageView,
        places: &Places,
        x: &[i32; MAX_LANES],
        y: &[i32; MAX_LANES],
        out: &mut LaneTexels,
    ) {
        // SAFETY: the caller's promise.
        let raw = unsafe { places.read::<4>(view, x, y) };
        for i in 0..MAX_LANES {
            for c in 0..3 {
                out[c][i] = srgb_to_linear(raw[i][if BGRA { 2 - c } else { c }]);
            }
        }
        for i in 0..MAX_LANES {
            out[3][i] = (u32::from_le_bytes(raw[i]) >> 24) as i32 as f32 / 255.0;
        }
    }
}

/// `R8_UNORM`.
pub struct R8;

impl Texels for R8 {
    const SCALE: f32 = 255.0;
    #[inline(always)]
    unsafe fn load(_: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        // SAFETY: the caller's promise.
        let [r] = unsafe { read::<1>(slice, row_pitch, x, y) };
        [f32::from(r).to_bits(), 0, 0, 255f32.to_bits()]
    }
    #[inline(always)]
    unsafe fn load_lanes(
        view: &ImageView,
        places: &Places,
        x: &[i32; MAX_LANES],
        y: &[i32; MAX_LANES],
        out: &mut LaneTexels,
    ) {
        // SAFETY: the caller's promise.
        let raw = unsafe { places.read::<1>(view, x, y) };
        for i in 0..MAX_LANES {
            out[0][i] = f32::from(raw[i][0]);
        }
        out[1] = [0.0; MAX_LANES];
        out[2] = [0.0; MAX_LANES];
        out[3] = [255.0; MAX_LANES];
    }
}

/// `R32_SFLOAT` and `D32_SFLOAT`.
pub struct R32Float;

impl Texels for R32Float {
    #[inline(always)]
    unsafe fn load(_: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        // SAFETY: the caller's promise.
        let r = unsafe { read::<4>(slice, row_pitch, x, y) };
        [u32::from_le_bytes(r), 0, 0, ONE]
    }
    #[inline(always)]
    unsafe fn load_lanes(
        view: &ImageView,
        places: &Places,
        x: &[i32; MAX_LANES],
        y: &[i32; MAX_LANES],
        out: &mut LaneTexels,
    ) {
        // SAFETY: the caller's promise.
        let raw = unsafe { places.read::<4>(view, x, y) };
        for i in 0..MAX_LANES {
            out[0][i] = f32::from_le_bytes(raw[i]);
        }
        out[1] = [0.0; MAX_LANES];
        out[2] = [0.0; MAX_LANES];
        out[3] = [1.0; MAX_LANES];
    }
}

/// Four 32-bit components of any type.
pub struct Rgba32;

impl Texels for Rgba32 {
    #[inline(always)]
    unsafe fn load(_: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        // SAFETY: the caller's promise.
        let t = unsafe { read::<16>(slice, row_pitch, x, y) };
        std::array::from_fn(|c| u32::from_le_bytes([t[4 * c], t[4 * c + 1], t[4 * c + 2], t[4 * c + 3]]))
    }
}

/// `R16G16B16A16_SFLOAT`.
pub struct Rgba16Float;

impl Texels for Rgba16Float {
    #[inline(always)]
    unsafe fn load(_: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        // SAFETY: the caller's promise.
        let t = unsafe { read::<8>(slice, row_pitch, x, y) };
        std::array::from_fn(|c| half_to_f32(u32::from(t[2 * c]) | u32::from(t[2 * c + 1]) << 8).to_bits())
    }
}

/// Any format of one-texel blocks, through its unpack function.
pub struct Any;

impl Texels for Any {
    #[inline(always)]
    unsafe fn load(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        let kernels = kernels(Format(view.format as u16));
        let offset = u64::from(y) * row_pitch + u64::from(x) * kernels.bytes as u64;
        let mut block = [0; 16];
        // SAFETY: a texel of `bytes` (at most 16) bytes inside the slice.
        unsafe { slice.add(offset as usize).copy_to_nonoverlapping(block.as_mut_ptr(), kernels.bytes) };
        (kernels.unpack_one)(&block)
    }
}

/// Block-compressed formats: blocks are decoded whole into a small cache per thread, keyed by their bytes (so it cannot
/// go stale when the memory changes).
pub struct Blocks;

const CACHED_BLOCKS: usize = 64;

struct CachedBlock {
    key: u128,
    format: u32,
    texels: [Texel; 16],
}

thread_local! {
    static CACHE: RefCell<Vec<CachedBlock>> = const { RefCell::new(Vec::new()) };
}

fn cached_texel(format: u32, key: u128, texel: usize) -> Texel {
    CACHE.with_borrow_mut(|cache| {
        if cache.is_empty() {
            // Format 0 is no compressed format: nothing matches.
            cache.resize_with(CACHED_BLOCKS, || CachedBlock { key: 0, format: 0, texels: [[0; 4]; 16] });
        }
        let mixed = (key as u64 ^ (key >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entry = &mut cache[(mixed >> 58) as usize % CACHED_BLOCKS];
        if entry.key != key || entry.format != format {
            entry.texels = decode_block(Format(format as u16), &key.to_le_bytes());
            entry.key = key;
            entry.format = format;
        }
        entry.texels[texel]
    })
}

impl Texels for Blocks {
    #[inline(always)]
    unsafe fn load(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        let info = Format(view.format as u16).info();
        let bytes = usize::from(info.block_bytes);
        let offset = u64::from(y / 4) * row_pitch + u64::from(x / 4) * bytes as u64;
        let mut block = [0; 16];
        // SAFETY: a block of 8 or 16 bytes inside the slice (4×4 texels a block in every format of this class).
        unsafe { slice.add(offset as usize).copy_to_nonoverlapping(block.as_mut_ptr(), bytes) };
        cached_texel(view.format, u128::from_le_bytes(block), (y % 4 * 4 + x % 4) as usize)
    }
}
