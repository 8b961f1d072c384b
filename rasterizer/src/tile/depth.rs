//! Depth bounds, stencil and depth tests of a W×W block of pixels, one sample at a time.
//!
//! W = 4 for early tests (a coverage block), W = 2 for late ones (a quad). Arrays have 16 entries, `W*W` used, pixel
//! (i, j) at `W*j + i`; masks have the same bits. Rows without a covered pixel are not touched; in a row, pixels that are
//! not covered are written back as they were (a tile has one writer, and a row is padded to 16 bytes).

#![allow(clippy::needless_range_loop, reason = "loops over pixels index several arrays of pixels")]

#[cfg(target_arch = "x86_64")]
mod rows;

use crate::api::{CompareOp, StencilFace, StencilOp};

/// Storage of depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthFormat {
    /// 16-bit normalised.
    D16,
    /// 24-bit normalised in the low bits of 32.
    D24,
    /// 32-bit float.
    F32,
}

impl DepthFormat {
    /// By the depth channel's width.
    pub fn of(format: base::format::Format) -> Option<DepthFormat> {
        let info = format.info();
        let channels = &info.channels[..usize::from(info.channel_count)];
        let depth = channels.iter().find(|c| c.name == base::format::ChannelName::D)?;
        match depth.bits {
            16 => Some(DepthFormat::D16),
            24 => Some(DepthFormat::D24),
            32 => Some(DepthFormat::F32),
            _ => None,
        }
    }

    /// Least resolvable difference for the depth bias; `None` for float.
    pub fn unit(self) -> Option<f32> {
        match self {
            DepthFormat::D16 => Some(1.0 / 65536.0),
            DepthFormat::D24 => Some(1.0 / 16_777_216.0),
            DepthFormat::F32 => None,
        }
    }

    /// Stored bits of a depth.
    pub fn encode(self, z: f32) -> u32 {
        match self {
            DepthFormat::D16 => u32::from(D16::quantize(z)),
            DepthFormat::D24 => D24::quantize(z),
            DepthFormat::F32 => z.to_bits(),
        }
    }

    /// What stored bits are worth.
    #[inline(always)]
    pub fn value(self, raw: u32) -> f32 {
        match self {
            DepthFormat::D16 => D16::value(raw as u16),
            DepthFormat::D24 => D24::value(raw),
            DepthFormat::F32 => f32::from_bits(raw),
        }
    }

    /// Widens `low..=high` by `count` texels from `p` on; to nothing when one is not a number.
    ///
    /// # Safety
    /// The texels are readable, aligned, and nobody writes them.
    pub unsafe fn row_range(self, p: *const u8, count: usize, low: &mut f32, high: &mut f32) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                DepthFormat::D16 => range_of::<D16>(p.cast(), count, low, high),
                DepthFormat::D24 => range_of::<D24>(p.cast(), count, low, high),
                DepthFormat::F32 => range_of::<F32>(p.cast(), count, low, high),
            }
        }
    }

    /// Bytes of a texel.
    pub fn bytes(self) -> usize {
        if self == DepthFormat::D16 { 2 } else { 4 }
    }
}

/// One stored depth format.
trait Texel {
    type Raw: Copy + PartialOrd + Default;
    fn quantize(z: f32) -> Self::Raw;
    fn value(raw: Self::Raw) -> f32;
}

struct D16;
struct D24;
struct F32;

/// See [`DepthFormat::row_range`].
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn range_of<T: Texel>(p: *const T::Raw, count: usize, low: &mut f32, high: &mut f32) {
    for i in 0..count {
        // SAFETY: the caller's promise.
        let value = T::value(unsafe { *p.add(i) });
        // Written so that not-a-number stays.
        *low = if *low <= value { *low } else { value };
        *high = if *high >= value { *high } else { value };
    }
}

/// Nearest integer to `z * max`, ties to even; the product is exact in f64. Not-a-number gives 0.
#[inline(always)]
fn nearest(z: f32, max: f64) -> u32 {
    // 1.5 * 2^52 leaves the nearest integer in the low bits of the sum.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let z = if z > 0.0 { z } else { 0.0 };
    let z = if z < 1.0 { z } else { 1.0 };
    (f64::from(z) * max + MAGIC).to_bits() as u32
}

impl Texel for D16 {
    type Raw = u16;
    #[inline(always)]
    fn quantize(z: f32) -> u16 {
        nearest(z, 65535.0) as u16
    }
    #[inline(always)]
    fn value(raw: u16) -> f32 {
        f32::from(raw) / 65535.0
    }
}
impl Texel for D24 {
    type Raw = u32;
    #[inline(always)]
    fn quantize(z: f32) -> u32 {
        nearest(z, 16_777_215.0)
    }
    #[inline(always)]
    fn value(raw: u32) -> f32 {
        (f64::from(raw & 0xff_ffff) / 16_777_215.0) as f32
    }
}
impl Texel for F32 {
    type Raw = f32;
    #[inline(always)]
    fn quantize(z: f32) -> f32 {
        z
    }
    #[inline(always)]
    fn value(raw: f32) -> f32 {
        raw
    }
}

/// The tests of a draw.
#[derive(Clone, Copy, Debug)]
pub struct DepthPlan {
    /// Format of the depth attachment; `None` without one.
    pub format: Option<DepthFormat>,
    /// depthTestEnable with an attachment.
    pub test: bool,
    /// Depth is written where the test passes.
    pub write: bool,
    /// Comparison.
    pub compare: CompareOp,
    /// Depth bounds.
    pub bounds: Option<[f32; 2]>,
    /// Stencil faces (front, back) with an attachment.
    pub stencil: Option<[StencilFace; 2]>,
}

impl DepthPlan {
    /// Something is written.
    pub fn writes(&self) -> bool {
        let writes = |face: &StencilFace| {
            face.write_mask != 0 && [face.fail, face.pass, face.depth_fail].iter().any(|&op| op != StencilOp::Keep)
        };
        self.write || self.stencil.iter().flatten().any(writes)
    }

    /// A depth test and nothing else.
    #[inline(always)]
    fn plain(&self) -> bool {
        self.test && self.bounds.is_none() && self.stencil.is_none()
    }

    /// Nothing to test and nothing to write.
    pub fn idle(&self) -> bool {
        !self.test && self.bounds.is_none() && self.stencil.is_none()
    }
}

/// Address of a block's first texel and the bytes between its rows; null without an attachment.
#[derive(Clone, Copy, Debug)]
pub struct BlockAddress {
    /// First texel.
    pub base: *mut u8,
    /// Bytes.
    pub pitch: usize,
    /// All four rows of a 4×4 block lie in the attachment.
    pub whole: bool,
}

/// A block to test.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Depth texels.
    pub depth: BlockAddress,
    /// Stencil texels.
    pub stencil: BlockAddress,
    /// Fragment depth, clamped.
    pub z: &'a [f32; 16],
    /// Covered pixels.
    pub mask: u32,
    /// Front-facing.
    pub front: bool,
    /// Stencil references written by the fragment stage.
    pub references: Option<&'a [u8; 16]>,
}

/// Tests a block and updates depth and stencil; returns the pixels that pass.
///
/// # Safety
/// Rows with a bit in `block.mask`, and all four rows of whole ones, must have W addressable texels (row padding included) in every
/// attachment the plan uses, and no other thread may write them.
#[inline(always)]
pub unsafe fn test<const W: usize>(plan: &DepthPlan, block: &Block<'_>) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let Some(format) = plan.format.filter(|_| W == 4 && plan.plain()) {
        // SAFETY: the caller's contract.
        return unsafe { rows::test(format, plan, block) };
    }
    // SAFETY: the caller's contract.
    unsafe { test_any::<W>(plan, block) }
}

/// Every plan.
///
/// # Safety
/// As for [`test`].
#[inline(always)]
unsafe fn test_any<const W: usize>(plan: &DepthPlan, block: &Block<'_>) -> u32 {
    match plan.format {
        // SAFETY: the caller's contract.
        Some(DepthFormat::D16) => unsafe { test_as::<D16, W>(plan, block) },
        // SAFETY: the caller's contract.
        Some(DepthFormat::D24) => unsafe { test_as::<D24, W>(plan, block) },
        // SAFETY: the caller's contract. Without a depth attachment the plan neither tests nor writes depth.
        Some(DepthFormat::F32) | None => unsafe { test_as::<F32, W>(plan, block) },
    }
}

/// # Safety
/// As for [`test`].
#[inline(always)]
unsafe fn test_as<T: Texel, const W: usize>(plan: &DepthPlan, block: &Block<'_>) -> u32 {
    let mut mask = block.mask;
    let mut new = [T::Raw::default(); 16];
    for (new, &z) in new.iter_mut().zip(&block.z[..W * W]) {
        *new = T::quantize(z);
    }
    let mut old = [T::Raw::default(); 16];
    if plan.test || plan.bounds.is_some() {
        // SAFETY: the caller's contract.
        unsafe { load_rows::<_, W>(block.depth, mask, &mut old) };
    }
    if let Some([low, high]) = plan.bounds {
        let mut inside = [false; 16];
        for (inside, &d) in inside.iter_mut().zip(&old) {
            let d = T::value(d);
            *inside = (d >= low) & (d <= high);
        }
        mask &= bits(inside);
    }
    let depth_pass = if plan.test { compare(plan.compare, &new, &old) } else { u32::MAX };
    let mut pass = mask & depth_pass;
    if let Some(faces) = &plan.stencil {
        let face = &faces[usize::from(!block.front)];
        // SAFETY: the caller's contract.
        let stencil_pass = unsafe { stencil::<W>(face, block, mask, depth_pass) };
        pass &= stencil_pass;
    }
    if plan.write && pass != 0 {
        for (i, old) in old.iter_mut().enumerate() {
            *old = if pass & (1 << i) != 0 { new[i] } else { *old };
        }
        // SAFETY: the caller's contract.
        unsafe { store_rows::<_, W>(block.depth, pass, &old) };
    }
    pass
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn bits(b: [bool; 16]) -> u32 {
    use core::arch::x86_64::*;
    // SAFETY: sixteen bytes of 0 or 1; SSE2 is part of x86-64.
    unsafe {
        let bytes = _mm_loadu_si128(b.as_ptr().cast());
        // Bit 0 of every byte becomes its sign.
        _mm_movemask_epi8(_mm_slli_epi16::<7>(bytes)) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn bits(b: [bool; 16]) -> u32 {
    b.iter().enumerate().fold(0, |m, (i, &b)| m | u32::from(b) << i)
}

#[inline(always)]
fn compare<T: PartialOrd + Copy>(op: CompareOp, a: &[T; 16], b: &[T; 16]) -> u32 {
    #[inline(always)]
    fn each<T: Copy>(a: &[T; 16], b: &[T; 16], f: impl Fn(T, T) -> bool) -> u32 {
        let mut passes = [false; 16];
        for i in 0..16 {
            passes[i] = f(a[i], b[i]);
        }
        bits(passes)
    }
    match op {
        CompareOp::Never => 0,
        CompareOp::Less => each(a, b, |a, b| a < b),
        CompareOp::Equal => each(a, b, |a, b| a == b),
        CompareOp::LessOrEqual => each(a, b, |a, b| a <= b),
        CompareOp::Greater => each(a, b, |a, b| a > b),
        CompareOp::NotEqual => each(a, b, |a, b| a != b),
        CompareOp::GreaterOrEqual => each(a, b, |a, b| a >= b),
        CompareOp::Always => 0xffff,
    }
}

/// Stencil test and update; returns the pixels that pass the stencil test.
///
/// # Safety
/// As for [`test`].
unsafe fn stencil<const W: usize>(face: &StencilFace, block: &Block<'_>, mask: u32, depth_pass: u32) -> u32 {
    let mut old = [0u8; 16];
    // SAFETY: the caller's contract.
    unsafe { load_rows::<_, W>(block.stencil, mask, &mut old) };
    let references = block.references.copied().unwrap_or([face.reference as u8; 16]);
    let compare_mask = face.compare_mask as u8;
    let pass = compare(face.compare, &references.map(|r| r & compare_mask), &old.map(|s| s & compare_mask));
    let mut new = old;
    for i in 0..W * W {
        let op = match (pass >> i & 1, depth_pass >> i & 1) {
            (0, _) => face.fail,
            (_, 0) => face.depth_fail,
            _ => face.pass,
        };
        let write_mask = if mask & (1 << i) == 0 { 0 } else { face.write_mask as u8 };
        new[i] = old[i] & !write_mask | apply(op, old[i], references[i]) & write_mask;
    }
    if new != old {
        // SAFETY: the caller's contract.
        unsafe { store_rows::<_, W>(block.stencil, mask, &new) };
    }
    pass
}

/// A stencil operation.
pub fn apply(op: StencilOp, value: u8, reference: u8) -> u8 {
    match op {
        StencilOp::Keep => value,
        StencilOp::Zero => 0,
        StencilOp::Replace => reference,
        StencilOp::IncrementAndClamp => value.saturating_add(1),
        StencilOp::DecrementAndClamp => value.saturating_sub(1),
        StencilOp::Invert => !value,
        StencilOp::IncrementAndWrap => value.wrapping_add(1),
        StencilOp::DecrementAndWrap => value.wrapping_sub(1),
    }
}

/// # Safety
/// As for [`test`].
#[inline(always)]
unsafe fn load_rows<T: Copy, const W: usize>(at: BlockAddress, mask: u32, out: &mut [T; 16]) {
    for row in 0..W {
        if mask >> (row * W) & ((1 << W) - 1) != 0 {
            // SAFETY: the row has W texels (caller); texels are naturally aligned, `out` has W entries per row.
            unsafe {
                let p = at.base.add(row * at.pitch).cast::<T>();
                core::ptr::copy_nonoverlapping(p, out.as_mut_ptr().add(row * W), W);
            }
        }
    }
}

/// # Safety
/// As for [`test`].
#[inline(always)]
unsafe fn store_rows<T: Copy, const W: usize>(at: BlockAddress, mask: u32, from: &[T; 16]) {
    for row in 0..W {
        if mask >> (row * W) & ((1 << W) - 1) != 0 {
            // SAFETY: as in `load_rows`.
            unsafe {
                let p = at.base.add(row * at.pitch).cast::<T>();
                core::ptr::copy_nonoverlapping(from.as_ptr().add(row * W), p, W);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows' way against the general one, on random blocks with special values.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn plain_tests_are_the_general_ones() {
        let mut rng = crate::tests::Rng(0x2545_f491_4f6c_dd1d);
        let mut next = || rng.next();
        let special = [0.0, -0.0, 1.0, 0.5, f32::NAN, f32::INFINITY, -1.0, 1.0 / 65535.0, 0.5 / 65535.0, 1e-40, 2.0];
        for round in 0..20_000 {
            let format = [DepthFormat::D16, DepthFormat::D24, DepthFormat::F32][round % 3];
            let z: [f32; 16] = core::array::from_fn(|_| match next() % 4 {
                0 => special[next() as usize % special.len()],
                _ => (next() % 4096) as f32 / 4095.0,
            });
            // Often the same depth, so that equality matters.
            let old: [f32; 16] =
                core::array::from_fn(|i| if next() % 2 == 0 { z[i] } else { (next() % 4096) as f32 / 4095.0 });
            let compare = CompareOp::ALL[next() as usize % 8];
            let plan = DepthPlan {
                format: Some(format),
                test: true,
                write: next() % 4 != 0,
                compare,
                bounds: None,
                stencil: None,
            };
            let mut texels = [[0u32; 16]; 2];
            let bytes = format.bytes();
            for memory in &mut texels {
                for (i, &depth) in old.iter().enumerate() {
                    let code = format.encode(depth).to_le_bytes();
                    // SAFETY: sixteen texels of at most four bytes.
                    unsafe {
                        core::ptr::copy_nonoverlapping(
                            code.as_ptr(),
                            memory.as_mut_ptr().cast::<u8>().add(i * bytes),
                            bytes,
                        )
                    };
                }
            }
            let mask = next() & 0xffff;
            let passed = [0, 1].map(|way| {
                let base = texels[way].as_mut_ptr().cast();
                let at = BlockAddress { base, pitch: 4 * bytes, whole: round % 2 == 0 };
                let none = BlockAddress { base: core::ptr::null_mut(), pitch: 0, whole: false };
                let block = Block { depth: at, stencil: none, z: &z, mask, front: true, references: None };
                // SAFETY: four rows of four texels.
                unsafe { if way == 0 { rows::test(format, &plan, &block) } else { test_any::<4>(&plan, &block) } }
            });
            assert_eq!(passed[0], passed[1], "{plan:?} {z:?} {old:?}");
            assert_eq!(texels[0], texels[1], "{plan:?} {z:?} {old:?}");
        }
    }

    #[test]
    fn quantisation_is_exact_at_the_ends_and_round_trips() {
        for d in [DepthFormat::D16, DepthFormat::D24] {
            assert_eq!(d.encode(0.0), 0);
            assert_eq!(d.encode(1.0), if d == DepthFormat::D16 { 0xffff } else { 0xff_ffff });
        }
        for raw in 0..=u16::MAX {
            assert_eq!(D16::quantize(D16::value(raw)), raw);
        }
        for raw in (0..1 << 24).step_by(251) {
            assert_eq!(D24::quantize(D24::value(raw)), raw);
        }
    }

    #[test]
    fn depth_is_encoded_as_transfers_encode_it() {
        for (vk, d) in [(124, DepthFormat::D16), (129, DepthFormat::D24), (126, DepthFormat::F32)] {
            let format = base::format::Format::from_vk(vk).expect("format");
            assert_eq!(DepthFormat::of(format), Some(d));
            for i in 0..100_000u32 {
                let z = f32::from_bits(i.wrapping_mul(0x9e37_79b9) % 0x3f80_0001);
                let mut raw = [0; 4];
                base::format::pack::pack_depth(format, z, &mut raw);
                assert_eq!(u32::from_le_bytes(raw), d.encode(z), "{d:?} {z}");
            }
        }
    }

    #[test]
    fn only_covered_passing_pixels_change() {
        let face = StencilFace {
            fail: StencilOp::IncrementAndClamp,
            pass: StencilOp::Replace,
            depth_fail: StencilOp::Invert,
            compare: CompareOp::LessOrEqual,
            compare_mask: 0x0f,
            write_mask: 0xf3,
            reference: 0x25,
        };
        let plan = DepthPlan {
            format: Some(DepthFormat::F32),
            test: true,
            write: true,
            compare: CompareOp::Less,
            bounds: Some([0.1, 0.9]),
            stencil: Some([face; 2]),
        };
        let mut depth: [f32; 16] = core::array::from_fn(|i| i as f32 / 15.0);
        let mut stencil: [u8; 16] = core::array::from_fn(|i| (i * 17) as u8);
        let (depth0, stencil0) = (depth, stencil);
        let z = [0.5; 16];
        let mask = 0xbeef;
        let block = Block {
            depth: BlockAddress { base: depth.as_mut_ptr().cast(), pitch: 16, whole: true },
            stencil: BlockAddress { base: stencil.as_mut_ptr(), pitch: 4, whole: true },
            z: &z,
            mask,
            front: true,
            references: None,
        };
        // SAFETY: 4×4 texels each, only used here.
        let pass = unsafe { test::<4>(&plan, &block) };
        for i in 0..16 {
            let (mut d, mut s, mut p) = (depth0[i], stencil0[i], false);
            if mask & (1 << i) != 0 && (0.1..=0.9).contains(&d) {
                let (stencil_ok, depth_ok) = ((0x25 & 0x0f) <= (s & 0x0f), 0.5 < d);
                let op = if !stencil_ok {
                    s.saturating_add(1)
                } else if !depth_ok {
                    !s
                } else {
                    0x25
                };
                s = s & !0xf3 | op & 0xf3;
                p = stencil_ok && depth_ok;
                d = if p { 0.5 } else { d };
            }
            assert_eq!((depth[i], stencil[i], pass >> i & 1 == 1), (d, s, p), "pixel {i}");
        }
    }
}
