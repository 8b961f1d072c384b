//! The general test of a block, which handles every plan, on arrays of pixels.

#![allow(clippy::needless_range_loop, reason = "loops over pixels index several arrays of pixels")]

use super::block::{BlockAddress, DepthBlock};
use super::format::{D16, D24, DepthFormat, DepthTexel, F32};
use super::plan::{DepthPlan, StencilFace};
use base::pixel::{CompareOp, StencilOp};

/// Tests a block by any plan.
///
/// # Safety
/// The requirements of [`super::test`] hold.
#[inline(always)]
pub unsafe fn test_any<const W: usize>(plan: &DepthPlan, block: &DepthBlock<'_>) -> u32 {
    match plan.format {
        // SAFETY: rows of the mask have texels in the attachments that the plan uses (`# Safety`).
        Some(DepthFormat::D16) => unsafe { test_as::<D16, W>(plan, block) },
        // SAFETY: rows of the mask have texels in the attachments that the plan uses (`# Safety`).
        Some(DepthFormat::D24) => unsafe { test_as::<D24, W>(plan, block) },
        // SAFETY: rows of the mask have texels in the attachments that the plan uses (`# Safety`).
        // Without a depth attachment, the plan neither tests nor writes depth.
        Some(DepthFormat::F32) | None => unsafe { test_as::<F32, W>(plan, block) },
    }
}

/// # Safety
/// The requirements of [`super::test`] hold.
#[inline(always)]
unsafe fn test_as<T: DepthTexel, const W: usize>(plan: &DepthPlan, block: &DepthBlock<'_>) -> u32 {
    let mut mask = block.mask;
    let mut new = [T::Raw::default(); 16];
    for (new, &z) in new.iter_mut().zip(&block.z[..W * W]) {
        *new = T::quantize(z);
    }
    let mut old = [T::Raw::default(); 16];
    if plan.test || plan.bounds.is_some() {
        // SAFETY: rows of the mask have texels in the depth attachment, which the plan uses
        // (`# Safety`).
        unsafe { load_rows::<_, W>(block.depth, mask, &mut old) };
        for old in &mut old {
            *old = T::known(*old);
        }
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
        // SAFETY: the plan uses the stencil attachment, in which rows of the mask have texels
        // (`# Safety`).
        let stencil_pass = unsafe { stencil::<W>(face, block, mask, depth_pass) };
        pass &= stencil_pass;
    }
    if plan.write && pass != 0 {
        for (i, old) in old.iter_mut().enumerate() {
            *old = if pass & (1 << i) != 0 { new[i] } else { *old };
        }
        // SAFETY: rows of the mask have texels in the depth attachment, which the plan uses
        // (`# Safety`).
        unsafe { store_rows::<_, W>(block.depth, pass, &old) };
    }
    pass
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn bits(b: [bool; 16]) -> u32 {
    use base::host::Sse2;
    let bytes = Sse2.load_128(&b.map(u8::from));
    // The shift moves bit 0 of every byte to its sign.
    Sse2._mm_movemask_epi8(Sse2._mm_slli_epi16::<7>(bytes)) as u32
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

/// Performs the stencil test and update; returns the pixels that pass the stencil test.
///
/// # Safety
/// The requirements of [`super::test`] hold.
unsafe fn stencil<const W: usize>(face: &StencilFace, block: &DepthBlock<'_>, mask: u32, depth_pass: u32) -> u32 {
    let mut old = [0u8; 16];
    // SAFETY: rows of the mask have texels in the stencil attachment (`# Safety`).
    unsafe { load_rows::<_, W>(block.stencil, mask, &mut old) };
    let references = block.references.copied().unwrap_or([face.values.reference as u8; 16]);
    let compare_mask = face.values.compare_mask as u8;
    let pass = compare(face.ops.compare, &references.map(|r| r & compare_mask), &old.map(|s| s & compare_mask));
    let mut new = old;
    for i in 0..W * W {
        let op = match (pass >> i & 1, depth_pass >> i & 1) {
            (0, _) => face.ops.fail,
            (_, 0) => face.ops.depth_fail,
            _ => face.ops.pass,
        };
        let write_mask = if mask & (1 << i) == 0 { 0 } else { face.values.write_mask as u8 };
        new[i] = old[i] & !write_mask | apply(op, old[i], references[i]) & write_mask;
    }
    if new != old {
        // SAFETY: rows of the mask have texels in the stencil attachment (`# Safety`).
        unsafe { store_rows::<_, W>(block.stencil, mask, &new) };
    }
    pass
}

/// Applies a stencil operation to a value.
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
/// The requirements of [`super::test`] hold.
#[inline(always)]
unsafe fn load_rows<T: Copy, const W: usize>(at: BlockAddress, mask: u32, out: &mut [T; 16]) {
    for row in 0..W {
        if mask >> (row * W) & ((1 << W) - 1) != 0 {
            // SAFETY: the row has W texels (`# Safety`), texels are naturally aligned, and `out`
            // has W entries per row.
            unsafe {
                let p = at.base.add(row * at.pitch).cast::<T>();
                core::ptr::copy_nonoverlapping(p, out.as_mut_ptr().add(row * W), W);
            }
        }
    }
}

/// # Safety
/// The requirements of [`super::test`] hold.
#[inline(always)]
unsafe fn store_rows<T: Copy, const W: usize>(at: BlockAddress, mask: u32, from: &[T; 16]) {
    for row in 0..W {
        if mask >> (row * W) & ((1 << W) - 1) != 0 {
            // SAFETY: the row has W texels (`# Safety`), texels are naturally aligned, and `from`
            // has W entries per row.
            unsafe {
                let p = at.base.add(row * at.pitch).cast::<T>();
                core::ptr::copy_nonoverlapping(from.as_ptr().add(row * W), p, W);
            }
        }
    }
}
