//! Depth bounds, stencil and depth tests of a W×W block of pixels, one sample at a time.
//!
//! W is 4 for early tests (a coverage block) and 2 for late ones (a quad). Arrays have 16 entries,
//! of which `W*W` are used; pixel (i, j) is at `W*j + i`, and masks have the same bits. Rows
//! without a covered pixel are not accessed. Pixels of a row that are not covered are written back
//! unchanged, because a tile has one writer and a row is padded to 16 bytes.

mod block;
mod format;
mod general;
mod plan;
#[cfg(target_arch = "x86_64")]
mod rows;

pub use block::{BlockAddress, DepthBlock, QuadTest, RowsTest};
pub use format::DepthFormat;
pub use plan::DepthPlan;

use base::host::SimdLevel;
use general::test_any;

/// Tests a block and updates depth and stencil; returns the pixels that pass.
///
/// # Safety
/// In every attachment that the plan uses, rows with a bit in `block.mask` (all four rows of whole
/// blocks) have W addressable texels, row padding included. No other thread writes them.
pub unsafe fn test<const W: usize>(plan: &DepthPlan, block: &DepthBlock<'_>) -> u32 {
    let mut passed = 0;
    // SAFETY: the level is the host's own, and rows of the mask have texels that no other thread
    // writes (`# Safety`).
    unsafe { test_of::<W>(SimdLevel::detect())(plan, block, &mut passed) };
    passed
}

base::multiversion! {
    unsafe fn test_of [const W: usize] [W] (plan: &DepthPlan, block: &DepthBlock<'_>, passed: &mut u32) {
        *passed = test_any::<W>(plan, block);
    }
}

#[cfg(test)]
mod tests {
    use super::format::{D16, D24, DepthTexel};
    use super::plan::StencilFace;
    use super::*;
    use base::pixel::{CompareOp, StencilOp, StencilOps, StencilValues};

    /// Compares the row tests with the general test, on random blocks with special values.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn plain_tests_are_the_general_ones() {
        let mut rng = base::random::Rng(0x2545_f491_4f6c_dd1d);
        let mut next = || rng.next();
        let special = [0.0, -0.0, 1.0, 0.5, f32::NAN, f32::INFINITY, -1.0, 1.0 / 65535.0, 0.5 / 65535.0, 1e-40, 2.0];
        for round in 0..20_000 {
            let format = [DepthFormat::D16, DepthFormat::D24, DepthFormat::F32][round % 3];
            let z: [f32; 16] = core::array::from_fn(|_| match next() % 4 {
                0 => special[next() as usize % special.len()],
                _ => (next() % 4096) as f32 / 4095.0,
            });
            // The new depth often equals the old one, so that equality matters.
            let old: [f32; 16] =
                core::array::from_fn(|i| if next() % 2 == 0 { z[i] } else { (next() % 4096) as f32 / 4095.0 });
            let compare = CompareOp::ALL[next() as usize % 8];
            let plan = DepthPlan {
                plane: None,
                rows: None,
                quad: None,
                quads: None,
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
                    // The bits of D24 above its 24 bits have no meaning.
                    let junk = if format == DepthFormat::D24 { (next() % 256) << 24 } else { 0 };
                    let code = (format.encode(depth) | junk).to_le_bytes();
                    // SAFETY: the memory holds sixteen texels of at most four bytes.
                    unsafe {
                        core::ptr::copy_nonoverlapping(
                            code.as_ptr(),
                            memory.as_mut_ptr().cast::<u8>().add(i * bytes),
                            bytes,
                        )
                    };
                }
            }
            let seen = |texels: &[u32; 16]| match format {
                DepthFormat::D24 => texels.map(|texel| texel & 0xff_ffff),
                _ => *texels,
            };
            let mask = next() & 0xffff;
            let passed = [0, 1].map(|way| {
                let base = texels[way].as_mut_ptr().cast();
                let at = BlockAddress { base, pitch: 4 * bytes, whole: round % 2 == 0 };
                let none = BlockAddress { base: core::ptr::null_mut(), pitch: 0, whole: false };
                let block = DepthBlock { depth: at, stencil: none, z: &z, mask, front: true, references: None };
                // SAFETY: the memory holds four rows of four texels.
                unsafe {
                    if way == 0 { rows::tests::test(format, &plan, &block) } else { test_any::<4>(&plan, &block) }
                }
            });
            assert_eq!(passed[0], passed[1], "{plan:?} {z:?} {old:?}");
            assert_eq!(seen(&texels[0]), seen(&texels[1]), "{plan:?} {z:?} {old:?}");
            let passed = [0, 1].map(|way| {
                let base = texels[way].as_mut_ptr().cast();
                let at = BlockAddress { base, pitch: 4 * bytes, whole: false };
                let none = BlockAddress { base: core::ptr::null_mut(), pitch: 0, whole: false };
                let (z, mask) = ([z[0], z[1], z[4], z[5]], mask >> 5 & 0xf);
                let mut quad = [0.0; 16];
                // The general test has the quad's pixels side by side.
                let places = if way == 0 { [0, 1, 4, 5] } else { [0, 1, 2, 3] };
                places.into_iter().zip(z).for_each(|(i, z)| quad[i] = z);
                let block = DepthBlock { depth: at, stencil: none, z: &quad, mask, front: true, references: None };
                // SAFETY: the memory holds four rows of four texels.
                unsafe {
                    if way == 0 { rows::tests::test_quad(format, &plan, &block) } else { test_any::<2>(&plan, &block) }
                }
            });
            assert_eq!(passed[0], passed[1], "quad {plan:?} {z:?} {old:?}");
            assert_eq!(seen(&texels[0]), seen(&texels[1]), "quad {plan:?} {z:?} {old:?}");
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
            assert_eq!(DepthFormat::from_format(format), Some(d));
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
        let ops = StencilOps {
            fail: StencilOp::IncrementAndClamp,
            pass: StencilOp::Replace,
            depth_fail: StencilOp::Invert,
            compare: CompareOp::LessOrEqual,
        };
        let face = StencilFace { ops, values: StencilValues { compare_mask: 0x0f, write_mask: 0xf3, reference: 0x25 } };
        let plan = DepthPlan {
            plane: None,
            rows: None,
            quad: None,
            quads: None,
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
        let block = DepthBlock {
            depth: BlockAddress { base: depth.as_mut_ptr().cast(), pitch: 16, whole: true },
            stencil: BlockAddress { base: stencil.as_mut_ptr(), pitch: 4, whole: true },
            z: &z,
            mask,
            front: true,
            references: None,
        };
        // SAFETY: both buffers have 4×4 texels, and only this thread uses them.
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
