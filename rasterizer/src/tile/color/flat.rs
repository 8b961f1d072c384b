//! Colours that are the same for all pixels of a primitive: stored or blended by rows, without
//! quads.
//!
//! The colour is packed once. A row is then a sequence of repeated bytes, processed in pieces of 32
//! bytes and a rest. Each piece is a store, a masked store, or integer blending by `unorm8_blend`.
//! Blending in floats, advanced operations and logic operations are left to the quads.

use super::plan::{Access, ColorPlan};
use super::quad_texels::LANES;
use super::unorm8_blend::{self, BlendTexels, EightTexels};
use crate::prim::SquareRows;
use crate::stages::NO_SLOT;
use crate::tile::shaded::{OutputAlpha, ShadedQuads};
use base::format::kernels;
use base::format::pack::ONE;
use base::host::{Host, SimdLevel};
use base::pixel::BlendEquations;
use core::marker::PhantomData;

/// The operation on the bytes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlatWrite {
    Store,
    /// Stores the colour in some channels and keeps the others.
    Merge,
    /// Blends the colour, then merges it if channels are masked.
    Blend,
    /// Does nothing, because the colour changes no texel.
    Nothing,
}

/// A colour for all pixels of a primitive, prepared for storing or blending.
#[derive(Clone, Copy, Debug)]
pub struct FlatColor {
    /// The colour's texels, repeated to fill 32 bytes.
    texels: EightTexels,
    /// Texels of the second source.
    texels1: EightTexels,
    /// Bits that are written.
    mask: EightTexels,
    write: FlatWrite,
}

/// Repeats a texel to fill 32 bytes.
fn repeated(texel: [u8; 16], size: usize) -> EightTexels {
    if size == 4 {
        return [u32::from_ne_bytes([texel[0], texel[1], texel[2], texel[3]]); LANES];
    }
    let byte = |at: usize| texel[at % size % 16];
    core::array::from_fn(|word| u32::from_ne_bytes(core::array::from_fn(|i| byte(4 * word + i))))
}

impl ColorPlan {
    /// Makes the colour from lane 0 of quad 0 of a batch; returns `None` if this plan cannot write
    /// it by rows, so that quads are shaded.
    pub fn flat(&self, batch: &ShadedQuads<'_>) -> Option<FlatColor> {
        if batch.samples != 1
            || self.logic.is_some()
            || self.advanced.is_some()
            || !matches!(self.surface.bytes, 1 | 2 | 4 | 8 | 16)
        {
            return None;
        }
        let unorm8 = matches!(self.access, Access::Unorm8 { .. });
        let mut write = match self.blend {
            None if self.masked => FlatWrite::Merge,
            None => FlatWrite::Store,
            Some(_) if unorm8 => FlatWrite::Blend,
            Some(_) => return None,
        };
        let texels = |slots: &[u16; 4]| {
            let mut color = slots.map(|slot| batch.outputs.quad(0, slot)[0]);
            if batch.alpha == OutputAlpha::One {
                color[3] = ONE;
            }
            repeated((kernels(self.surface.format).pack_one)(color), self.surface.bytes)
        };
        let color = texels(&self.slots);
        let second = if self.slots1 == [NO_SLOT; 4] { [0; LANES] } else { texels(&self.slots1) };
        if let Some(blend) = &self.blend {
            // For every form of the over operation, an alpha of 1 leaves the source, and one of 0
            // leaves the target.
            write = match (unorm8_blend::number(blend), color[0].to_le_bytes()) {
                (0..=2, [.., 255]) if self.masked => FlatWrite::Merge,
                (0..=2, [.., 255]) => FlatWrite::Store,
                (0 | 1, [.., 0]) | (2, [0, 0, 0, 0]) => FlatWrite::Nothing,
                _ => write,
            };
        }
        let mask = self.write.map(u32::to_ne_bytes);
        let mask = repeated(core::array::from_fn(|i| mask[i / 4][i % 4]), self.surface.bytes);
        Some(FlatColor { texels: color, texels1: second, mask, write })
    }

    /// Stores or blends the colour into `width`×`height` pixels at (x, y) of a layer, which are all
    /// covered and have one sample.
    ///
    /// # Safety
    /// The pixels lie inside of the surface, and no other thread accesses them.
    pub unsafe fn write_rect(&self, color: &FlatColor, layer: u32, x: u32, y: u32, width: u32, height: u32) {
        let at = self.surface.at(layer, 0, x, y);
        // SAFETY: the level is the host's own; the pixels lie inside the surface, and no other
        // thread accesses them (`# Safety`).
        unsafe { rect_of(SimdLevel::detect())(self, color, at, width, height) };
    }

    /// Stores or blends the colour into pixels of the 4×4 block at (x, y): bit `4*j + i` of the
    /// mask is pixel (i, j).
    ///
    /// # Safety
    /// The pixels in `mask` lie inside of the surface, and no other thread accesses them.
    pub unsafe fn write_block(&self, color: &FlatColor, layer: u32, x: u32, y: u32, mask: u32) {
        let at = self.surface.at(layer, 0, x, y);
        // SAFETY: the level is the host's own; the pixels lie inside the surface, and no other
        // thread accesses them (`# Safety`).
        unsafe { block_of(SimdLevel::detect())(self, color, at, mask) };
    }

    /// Stores or blends the colour into the covered pixels of the 16×16 square at (x, y).
    ///
    /// # Safety
    /// The covered pixels lie inside of the surface, and no other thread accesses them.
    pub unsafe fn write_rows(&self, color: &FlatColor, layer: u32, [x, y]: [u32; 2], rows: &SquareRows) {
        let at = self.surface.at(layer, 0, x, y);
        // SAFETY: the level is the host's own; the pixels lie inside the surface, and no other
        // thread accesses them (`# Safety`).
        unsafe { rows_of(SimdLevel::detect())(self, color, at, rows) };
    }

    /// Writes the colour to the texels of `target` by the operation that the plan needs.
    ///
    /// # Safety
    /// The requirements of `TexelTarget::write` hold for the target.
    #[inline(always)]
    unsafe fn write_to<H: Host>(&self, host: H, color: &FlatColor, target: &impl TexelTarget) {
        let size = self.surface.bytes;
        // SAFETY: the target's texels belong to a surface, no other thread accesses them, and the
        // host has level `H` (`# Safety`).
        unsafe {
            match (color.write, &self.blend) {
                (FlatWrite::Nothing, _) => {}
                (FlatWrite::Store, _) => target.write(size, &FlatStore(color.texels)),
                (FlatWrite::Blend, Some(blend)) => {
                    let swap = matches!(self.access, Access::Unorm8 { swap: true });
                    let constants = [self.constant_bytes(swap); LANES];
                    let from = BlendTexels { s: color.texels, s1: color.texels1, constants };
                    let mask = self.masked.then_some(&color.mask);
                    unorm8_blend::with_equation!(blend, NUMBER => {
                        target.write(4, &FlatBlended::<H, NUMBER> { blend, from, mask, host });
                    });
                }
                (FlatWrite::Merge | FlatWrite::Blend, _) => {
                    target.write(size, &FlatMerge { texels: color.texels, mask: &color.mask });
                }
            }
        }
    }
}

/// An operation on 32 bytes of texels. (The compiler may not inline closures that contain
/// intrinsics.)
trait TexelOperation {
    fn apply(&self, old: EightTexels) -> EightTexels;
}

struct FlatStore(EightTexels);

impl TexelOperation for FlatStore {
    #[inline(always)]
    fn apply(&self, _: EightTexels) -> EightTexels {
        self.0
    }
}

struct FlatMerge<'a> {
    texels: EightTexels,
    mask: &'a EightTexels,
}

impl TexelOperation for FlatMerge<'_> {
    #[inline(always)]
    fn apply(&self, old: EightTexels) -> EightTexels {
        let mut texels = self.texels;
        for i in 0..LANES {
            texels[i] = texels[i] & self.mask[i] | old[i] & !self.mask[i];
        }
        texels
    }
}

struct FlatBlended<'a, H, const NUMBER: usize> {
    blend: &'a BlendEquations,
    from: BlendTexels,
    mask: Option<&'a EightTexels>,
    host: H,
}

impl<H: Host, const NUMBER: usize> TexelOperation for FlatBlended<'_, H, NUMBER> {
    #[inline(always)]
    fn apply(&self, old: EightTexels) -> EightTexels {
        let texels = unorm8_blend::blend(self.host, unorm8_blend::equations::<NUMBER>(self.blend), &self.from, &old);
        self.mask.map_or(texels, |mask| FlatMerge { texels, mask }.apply(old))
    }
}

base::multiversion! {
    unsafe fn rect_of(plan: &ColorPlan, color: &FlatColor, at: *mut u8, width: u32, height: u32) {
        plan.write_to(HOST, color, &RectTarget { at, pitch: plan.surface.row_pitch, width, height });
    }
    for Avx512 unsafe fn rows_of(plan: &ColorPlan, color: &FlatColor, at: *mut u8, rows: &SquareRows) {
        plan.write_to(HOST, color, &RowsTarget::<H> { at, pitch: plan.surface.row_pitch, rows, level: PhantomData });
    }
    unsafe fn block_of(plan: &ColorPlan, color: &FlatColor, at: *mut u8, mask: u32) {
        plan.write_to(HOST, color, &BlockTarget { at, pitch: plan.surface.row_pitch, mask });
    }
}

/// A set of texels in memory.
trait TexelTarget {
    /// Writes texels of `bytes` bytes (1, 2, 4, 8 or 16). Where nothing is written, the `old`
    /// texels that `new` receives may be anything.
    ///
    /// # Safety
    /// The texels belong to a surface, and no other thread accesses them.
    unsafe fn write(&self, bytes: usize, new: &impl TexelOperation);
}

struct RectTarget {
    at: *mut u8,
    pitch: usize,
    width: u32,
    height: u32,
}

impl TexelTarget for RectTarget {
    #[inline(always)]
    unsafe fn write(&self, bytes: usize, new: &impl TexelOperation) {
        let length = self.width as usize * bytes;
        let (whole, rest) = (length / 32, length % 32);
        let mut row = self.at;
        for _ in 0..self.height {
            for piece in 0..whole {
                let p = row.wrapping_add(32 * piece).cast::<EightTexels>();
                // SAFETY: the 32 bytes lie in the row.
                unsafe { p.write_unaligned(new.apply(p.read_unaligned())) };
            }
            row = row.wrapping_add(self.pitch);
        }
        if rest == 0 {
            return;
        }
        let mut row = self.at.wrapping_add(32 * whole);
        for _ in 0..self.height {
            // SAFETY: the rest lies in the row, after its pieces of 32 bytes.
            unsafe { write_rest(row, rest, new) };
            row = row.wrapping_add(self.pitch);
        }
    }
}

/// Writes fewer than 32 bytes, which are whole texels.
///
/// # Safety
/// The bytes belong to a surface, and no other thread accesses them.
#[inline(always)]
unsafe fn write_rest(p: *mut u8, length: usize, new: &impl TexelOperation) {
    let mut texels: EightTexels = [0; LANES];
    // SAFETY: each step's bytes are a part of the bytes at `p`, which `#
    // Safety` allows, and of the 32 bytes of `texels`.
    unsafe {
        steps(p, texels.as_mut_ptr().cast(), length);
        texels = new.apply(texels);
        steps(texels.as_ptr().cast(), p, length);
    }
}

/// Copies fewer than 32 bytes.
///
/// # Safety
/// `length` bytes are readable at `from` and writable at `to`.
#[inline(always)]
unsafe fn steps(from: *const u8, to: *mut u8, length: usize) {
    let mut at = 0;
    macro_rules! step {
        ($($size:literal)*) => {
            $(if length & $size != 0 {
                // SAFETY: the step lies in the `length` bytes that the `# Safety` section requires.
                unsafe {
                    let bytes = from.add(at).cast::<[u8; $size]>().read_unaligned();
                    to.add(at).cast::<[u8; $size]>().write_unaligned(bytes);
                }
                at += $size;
            })*
        };
    }
    step!(16 8 4 2 1);
    let _ = at;
}

struct RowsTarget<'a, H> {
    at: *mut u8,
    pitch: usize,
    rows: &'a SquareRows,
    level: PhantomData<H>,
}

impl<H: Host> TexelTarget for RowsTarget<'_, H> {
    #[inline(always)]
    unsafe fn write(&self, bytes: usize, new: &impl TexelOperation) {
        let mut at = self.at;
        for row in self.rows.iter().flat_map(|word| [0, 16, 32, 48].map(|shift| (word >> shift) as u16)) {
            #[cfg(target_arch = "x86_64")]
            if bytes == 4 && H::LEVEL != SimdLevel::Portable {
                for (half, at) in [(u32::from(row) & 0xff, at), (u32::from(row) >> 8, at.wrapping_add(32))] {
                    if half != 0 {
                        // SAFETY: the texels of the mask lie in the row, and the host has the
                        // level.
                        unsafe { eight_texels::<H>(at.cast(), half, new) };
                    }
                }
                at = at.wrapping_add(self.pitch);
                continue;
            }
            let mut left = row;
            while left != 0 {
                let first = left.trailing_zeros();
                let count = (!(left >> first)).trailing_zeros();
                left &= (u32::from(u16::MAX) << (first + count)) as u16;
                let (mut p, mut length) = (at.wrapping_add(first as usize * bytes), count as usize * bytes);
                while length >= 32 {
                    // SAFETY: the 32 bytes are texels of the row.
                    unsafe {
                        p.cast::<EightTexels>().write_unaligned(new.apply(p.cast::<EightTexels>().read_unaligned()))
                    };
                    (p, length) = (p.wrapping_add(32), length - 32);
                }
                if length != 0 {
                    // SAFETY: the rest are texels of the row.
                    unsafe { write_rest(p, length, new) };
                }
            }
            at = at.wrapping_add(self.pitch);
        }
    }
}

/// Writes those of eight texels of four bytes in a row that are in the mask, and touches no others.
///
/// # Safety
/// The requirements of [`TexelTarget::write`] hold; the host has level `H`, which has at least
/// AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn eight_texels<H: Host>(p: *mut i32, mask: u32, new: &impl TexelOperation) {
    use core::arch::x86_64::*;
    // SAFETY: only texels in the mask are accessed, as `# Safety` requires; arrays and vectors have
    // the same size.
    unsafe {
        if mask == 0xff {
            let at = p.cast::<EightTexels>();
            at.write_unaligned(new.apply(at.read_unaligned()));
        } else if H::HAS_512 {
            let old = core::mem::transmute::<__m256i, EightTexels>(_mm256_maskz_loadu_epi32(mask as u8, p));
            _mm256_mask_storeu_epi32(p, mask as u8, core::mem::transmute::<EightTexels, __m256i>(new.apply(old)));
        } else {
            let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let lanes = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(mask as i32), bits), bits);
            let old = core::mem::transmute::<__m256i, EightTexels>(_mm256_maskload_epi32(p, lanes));
            _mm256_maskstore_epi32(p, lanes, core::mem::transmute::<EightTexels, __m256i>(new.apply(old)));
        }
    }
}

struct BlockTarget {
    at: *mut u8,
    pitch: usize,
    mask: u32,
}

impl TexelTarget for BlockTarget {
    #[inline(always)]
    unsafe fn write(&self, bytes: usize, new: &impl TexelOperation) {
        let row = |y: usize| self.at.wrapping_add(y * self.pitch);
        if bytes == 4 {
            for half in [0, 2] {
                // SAFETY: the texels are in the mask, and `TexelTarget::write` allows access to
                // them.
                unsafe { two_rows([row(half).cast(), row(half + 1).cast()], self.mask >> (4 * half) & 0xff, new) };
            }
            return;
        }
        for y in 0..4 {
            for x in 0..4 {
                if self.mask >> (4 * y + x) & 1 != 0 {
                    // SAFETY: the texels are in the mask, and `TexelTarget::write` allows access to
                    // them.
                    unsafe { write_rest(row(y).wrapping_add(x * bytes), bytes, new) };
                }
            }
        }
    }
}

/// Writes those of two rows of four texels of four bytes that are in the mask.
///
/// # Safety
/// The requirements of [`TexelTarget::write`] hold for the texels in the mask.
#[inline(always)]
unsafe fn two_rows(p: [*mut [u32; 4]; 2], mask: u32, new: &impl TexelOperation) {
    let texel = |i: usize| p[i / 4].cast::<u32>().wrapping_add(i % 4);
    let mut texels: EightTexels = [0; LANES];
    // SAFETY: only texels in the mask are accessed, as `# Safety` requires; the arrays have the
    // same size.
    unsafe {
        if mask == 0xff {
            texels = core::mem::transmute::<[[u32; 4]; 2], EightTexels>([p[0].read_unaligned(), p[1].read_unaligned()]);
            let [top, bottom] = core::mem::transmute::<EightTexels, [[u32; 4]; 2]>(new.apply(texels));
            p[0].write_unaligned(top);
            p[1].write_unaligned(bottom);
            return;
        }
        for (i, to) in texels.iter_mut().enumerate() {
            if mask >> i & 1 != 0 {
                *to = texel(i).read();
            }
        }
        for (i, new) in new.apply(texels).into_iter().enumerate() {
            if mask >> i & 1 != 0 {
                texel(i).write(new);
            }
        }
    }
}
