//! One colour for all pixels of a primitive: stored or blended by rows, without quads.
//!
//! The colour is packed once. Then a row is bytes that repeat, in pieces of 32 and what is left of them: a store, a store through a mask,
//! or the integers of `bytes`. Blending in floats, advanced operations and logic operations are left to the quads.

use super::bytes::{self, Bytes, Texels as Eight};
use super::plan::{Access, ColorPlan};
use super::quad::LANES;
use crate::prim::SquareRows;
use crate::stage::NO_SLOT;
use crate::tile::shaded::ShadedQuads;
use base::format::kernels;
use base::format::pack::ONE;
use base::host::{Host, Level};
use base::pixel::BlendEquations;
use core::marker::PhantomData;

/// What is done with the bytes that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    Store,
    /// Some channels stay.
    Merge,
    /// And then merged, if channels are masked.
    Blend,
    /// A colour that changes nothing.
    Nothing,
}

/// One colour for all pixels of a primitive, ready to be stored or blended.
#[derive(Clone, Copy, Debug)]
pub struct FlatColor {
    /// Its texels, as many as there is room for.
    texels: Eight,
    /// Those of the second source.
    texels1: Eight,
    /// Bits that are written.
    mask: Eight,
    write: Write,
}

/// 32 bytes of texels.
fn repeated(texel: [u8; 16], size: usize) -> Eight {
    if size == 4 {
        return [u32::from_ne_bytes([texel[0], texel[1], texel[2], texel[3]]); LANES];
    }
    let byte = |at: usize| texel[at % size % 16];
    core::array::from_fn(|word| u32::from_ne_bytes(core::array::from_fn(|i| byte(4 * word + i))))
}

impl ColorPlan {
    /// From lane 0 of quad 0 of a batch; `None` where this plan can't do it by rows (then quads are shaded).
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
            None if self.masked => Write::Merge,
            None => Write::Store,
            Some(_) if unorm8 => Write::Blend,
            Some(_) => return None,
        };
        let texels = |slots: &[u16; 4]| {
            let mut color = slots.map(|slot| batch.outputs.quad(0, slot)[0]);
            if batch.alpha_to_one {
                color[3] = ONE;
            }
            repeated((kernels(self.surface.format).pack_one)(color), self.surface.bytes)
        };
        let color = texels(&self.slots);
        let second = if self.slots1 == [NO_SLOT; 4] { [0; LANES] } else { texels(&self.slots1) };
        if let Some(blend) = &self.blend {
            // Over, in all of its forms: all of the source, or nothing.
            write = match (bytes::number(blend), color[0].to_le_bytes()) {
                (0..=2, [.., 255]) if self.masked => Write::Merge,
                (0..=2, [.., 255]) => Write::Store,
                (0 | 1, [.., 0]) | (2, [0, 0, 0, 0]) => Write::Nothing,
                _ => write,
            };
        }
        let mask = self.write.map(u32::to_ne_bytes);
        let mask = repeated(core::array::from_fn(|i| mask[i / 4][i % 4]), self.surface.bytes);
        Some(FlatColor { texels: color, texels1: second, mask, write })
    }

    /// Stores or blends the colour into `width`×`height` pixels at (x, y) of a layer: all covered, one sample.
    ///
    /// # Safety
    /// They lie inside of the surface, and no other thread touches them.
    pub unsafe fn write_rect(&self, color: &FlatColor, layer: u32, x: u32, y: u32, width: u32, height: u32) {
        let at = self.surface.at(layer, 0, x, y);
        // SAFETY: the host's own level; otherwise the caller's contract.
        unsafe { rect_of(Level::here())(self, color, at, width, height) };
    }

    /// The pixels of a 4×4 block at (x, y): bit `4*j + i` is pixel (i, j).
    ///
    /// # Safety
    /// As for [`ColorPlan::write_rect`], of the pixels in `mask`.
    pub unsafe fn write_block(&self, color: &FlatColor, layer: u32, x: u32, y: u32, mask: u32) {
        let at = self.surface.at(layer, 0, x, y);
        // SAFETY: the host's own level; otherwise the caller's contract.
        unsafe { block_of(Level::here())(self, color, at, mask) };
    }

    /// Pixels of the 16×16 square at (x, y).
    ///
    /// # Safety
    /// As for [`ColorPlan::write_rect`], of those pixels.
    pub unsafe fn write_rows(&self, color: &FlatColor, layer: u32, [x, y]: [u32; 2], rows: &SquareRows) {
        let at = self.surface.at(layer, 0, x, y);
        // SAFETY: the host's own level; otherwise the caller's contract.
        unsafe { rows_of(Level::here())(self, color, at, rows) };
    }

    /// Gives `target` what becomes of its texels.
    ///
    /// # Safety
    /// As for the target's; on a host of level `H`.
    #[inline(always)]
    unsafe fn flatly<H: Host>(&self, color: &FlatColor, target: &impl Target) {
        let size = self.surface.bytes;
        // SAFETY: the caller's contract, in all of them.
        unsafe {
            match (color.write, &self.blend) {
                (Write::Nothing, _) => {}
                (Write::Store, _) => target.write(size, &Store(color.texels)),
                (Write::Blend, Some(blend)) => {
                    let swap = matches!(self.access, Access::Unorm8 { swap: true });
                    let constants = [self.constant_bytes(swap); LANES];
                    let from = Bytes { s: color.texels, s1: color.texels1, constants };
                    let mask = self.masked.then_some(&color.mask);
                    bytes::with_equation!(blend, NUMBER => {
                        target.write(4, &Blended::<H, NUMBER> { blend, from, mask, level: PhantomData });
                    });
                }
                (Write::Merge | Write::Blend, _) => {
                    target.write(size, &Merge { texels: color.texels, mask: &color.mask });
                }
            }
        }
    }
}

/// What becomes of 32 bytes of texels. (Closures with intrinsics in them may not be inlined.)
trait Texels {
    fn over(&self, old: Eight) -> Eight;
}

struct Store(Eight);

impl Texels for Store {
    #[inline(always)]
    fn over(&self, _: Eight) -> Eight {
        self.0
    }
}

struct Merge<'a> {
    texels: Eight,
    mask: &'a Eight,
}

impl Texels for Merge<'_> {
    #[inline(always)]
    fn over(&self, old: Eight) -> Eight {
        let mut texels = self.texels;
        for i in 0..LANES {
            texels[i] = texels[i] & self.mask[i] | old[i] & !self.mask[i];
        }
        texels
    }
}

struct Blended<'a, H, const NUMBER: usize> {
    blend: &'a BlendEquations,
    from: Bytes,
    mask: Option<&'a Eight>,
    level: PhantomData<H>,
}

impl<H: Host, const NUMBER: usize> Texels for Blended<'_, H, NUMBER> {
    #[inline(always)]
    fn over(&self, old: Eight) -> Eight {
        let texels = bytes::blend::<H>(bytes::equations::<NUMBER>(self.blend), &self.from, &old);
        self.mask.map_or(texels, |mask| Merge { texels, mask }.over(old))
    }
}

base::compiled! {
    unsafe fn rect_of(plan: &ColorPlan, color: &FlatColor, at: *mut u8, width: u32, height: u32) {
        plan.flatly::<H>(color, &Rect { at, pitch: plan.surface.row_pitch, width, height });
    }
    for Avx512 unsafe fn rows_of(plan: &ColorPlan, color: &FlatColor, at: *mut u8, rows: &SquareRows) {
        plan.flatly::<H>(color, &Rows::<H> { at, pitch: plan.surface.row_pitch, rows, level: PhantomData });
    }
    unsafe fn block_of(plan: &ColorPlan, color: &FlatColor, at: *mut u8, mask: u32) {
        plan.flatly::<H>(color, &Block { at, pitch: plan.surface.row_pitch, mask });
    }
}

/// Where texels go.
trait Target {
    /// Writes texels of `bytes` (1, 2, 4, 8 or 16). What `old` is where nothing is written does not matter.
    ///
    /// # Safety
    /// The texels are those of a surface, and no other thread touches them.
    unsafe fn write(&self, bytes: usize, new: &impl Texels);
}

struct Rect {
    at: *mut u8,
    pitch: usize,
    width: u32,
    height: u32,
}

impl Target for Rect {
    #[inline(always)]
    unsafe fn write(&self, bytes: usize, new: &impl Texels) {
        let length = self.width as usize * bytes;
        let (whole, rest) = (length / 32, length % 32);
        let mut row = self.at;
        for _ in 0..self.height {
            for piece in 0..whole {
                let p = row.wrapping_add(32 * piece).cast::<Eight>();
                // SAFETY: 32 bytes of the row.
                unsafe { p.write_unaligned(new.over(p.read_unaligned())) };
            }
            row = row.wrapping_add(self.pitch);
        }
        if rest == 0 {
            return;
        }
        let mut row = self.at.wrapping_add(32 * whole);
        for _ in 0..self.height {
            // SAFETY: the bytes behind them.
            unsafe { write_rest(row, rest, new) };
            row = row.wrapping_add(self.pitch);
        }
    }
}

/// Writes fewer than 32 bytes, a number of whole texels.
///
/// # Safety
/// They are a surface's, and no other thread touches them.
#[inline(always)]
unsafe fn write_rest(p: *mut u8, length: usize, new: &impl Texels) {
    let mut texels: Eight = [0; LANES];
    // SAFETY: each step's bytes are a part of the caller's, and of the texels' 32.
    unsafe {
        steps(p, texels.as_mut_ptr().cast(), length);
        texels = new.over(texels);
        steps(texels.as_ptr().cast(), p, length);
    }
}

/// Copies fewer than 32 bytes.
///
/// # Safety
/// They are readable here and writable there.
#[inline(always)]
unsafe fn steps(from: *const u8, to: *mut u8, length: usize) {
    let mut at = 0;
    macro_rules! step {
        ($($size:literal)*) => {
            $(if length & $size != 0 {
                // SAFETY: the caller's contract.
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

struct Rows<'a, H> {
    at: *mut u8,
    pitch: usize,
    rows: &'a SquareRows,
    level: PhantomData<H>,
}

impl<H: Host> Target for Rows<'_, H> {
    #[inline(always)]
    unsafe fn write(&self, bytes: usize, new: &impl Texels) {
        let mut at = self.at;
        for row in self.rows.iter().flat_map(|word| [0, 16, 32, 48].map(|shift| (word >> shift) as u16)) {
            #[cfg(target_arch = "x86_64")]
            if bytes == 4 && H::LEVEL != Level::Portable {
                for (half, at) in [(u32::from(row) & 0xff, at), (u32::from(row) >> 8, at.wrapping_add(32))] {
                    if half != 0 {
                        // SAFETY: texels of the row; the host has the level.
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
                    // SAFETY: 32 bytes of the row's texels.
                    unsafe { p.cast::<Eight>().write_unaligned(new.over(p.cast::<Eight>().read_unaligned())) };
                    (p, length) = (p.wrapping_add(32), length - 32);
                }
                if length != 0 {
                    // SAFETY: what is left of them.
                    unsafe { write_rest(p, length, new) };
                }
            }
            at = at.wrapping_add(self.pitch);
        }
    }
}

/// Eight texels of four bytes in a row: those in the mask, no others are touched.
///
/// # Safety
/// As for [`Target::write`]; the host has level `H`, AVX2 at least.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn eight_texels<H: Host>(p: *mut i32, mask: u32, new: &impl Texels) {
    use core::arch::x86_64::*;
    // SAFETY: the caller's contract: texels in the mask only; arrays and vectors of the same size.
    unsafe {
        if mask == 0xff {
            let at = p.cast::<Eight>();
            at.write_unaligned(new.over(at.read_unaligned()));
        } else if H::WIDE {
            let old = core::mem::transmute::<__m256i, Eight>(_mm256_maskz_loadu_epi32(mask as u8, p));
            _mm256_mask_storeu_epi32(p, mask as u8, core::mem::transmute::<Eight, __m256i>(new.over(old)));
        } else {
            let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let lanes = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(mask as i32), bits), bits);
            let old = core::mem::transmute::<__m256i, Eight>(_mm256_maskload_epi32(p, lanes));
            _mm256_maskstore_epi32(p, lanes, core::mem::transmute::<Eight, __m256i>(new.over(old)));
        }
    }
}

struct Block {
    at: *mut u8,
    pitch: usize,
    mask: u32,
}

impl Target for Block {
    #[inline(always)]
    unsafe fn write(&self, bytes: usize, new: &impl Texels) {
        let row = |y: usize| self.at.wrapping_add(y * self.pitch);
        if bytes == 4 {
            for half in [0, 2] {
                // SAFETY: the caller's contract.
                unsafe { two_rows([row(half).cast(), row(half + 1).cast()], self.mask >> (4 * half) & 0xff, new) };
            }
            return;
        }
        for y in 0..4 {
            for x in 0..4 {
                if self.mask >> (4 * y + x) & 1 != 0 {
                    // SAFETY: a texel of the mask.
                    unsafe { write_rest(row(y).wrapping_add(x * bytes), bytes, new) };
                }
            }
        }
    }
}

/// Two rows of four texels of four bytes: those in the mask.
///
/// # Safety
/// As for [`Target::write`].
#[inline(always)]
unsafe fn two_rows(p: [*mut [u32; 4]; 2], mask: u32, new: &impl Texels) {
    let texel = |i: usize| p[i / 4].cast::<u32>().wrapping_add(i % 4);
    let mut texels: Eight = [0; LANES];
    // SAFETY: the caller's contract: texels in the mask only; arrays of the same size.
    unsafe {
        if mask == 0xff {
            texels = core::mem::transmute::<[[u32; 4]; 2], Eight>([p[0].read_unaligned(), p[1].read_unaligned()]);
            let [top, bottom] = core::mem::transmute::<Eight, [[u32; 4]; 2]>(new.over(texels));
            p[0].write_unaligned(top);
            p[1].write_unaligned(bottom);
            return;
        }
        for (i, to) in texels.iter_mut().enumerate() {
            if mask >> i & 1 != 0 {
                *to = texel(i).read();
            }
        }
        for (i, new) in new.over(texels).into_iter().enumerate() {
            if mask >> i & 1 != 0 {
                texel(i).write(new);
            }
        }
    }
}
