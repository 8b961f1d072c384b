//! Row tests of arbitrary depths, for comparison with the general test, and tests of squares on all
//! levels.

use super::super::block::DepthBlock;
use super::super::plan::DepthPlan;
use super::*;
use crate::prim::SquareRows;

/// A list of arbitrary depths.
struct Listed<'a>(&'a [f32; 16]);

impl Depths for Listed<'_> {
    fn row(&self, row: usize) -> __m128 {
        Sse2._mm_castsi128_ps(Sse2.load_128(&self.0.as_chunks::<4>().0[row]))
    }
}

unsafe fn listed_test<R: DepthRow, const C: u32, const WRITE: bool>(z: &[f32; 16], at: BlockAddress, mask: u32) -> u32 {
    // SAFETY: the texels of the block are addressable, as `depth::test` requires.
    unsafe { block::<R, C, WRITE>(&Listed(z), at, mask) }
}

unsafe fn listed_quad_test<R: DepthRow, const C: u32, const WRITE: bool>(
    z: &[f32; 16],
    at: BlockAddress,
    mask: u32,
) -> u32 {
    let z = Sse2._mm_setr_ps(z[0], z[1], z[4], z[5]);
    // SAFETY: the texels of the block are addressable, as `depth::test` requires.
    unsafe { super::test_quad::<R, C, WRITE>(z, at.base, at.pitch, mask) }
}

/// Tests a quad as a plane's test does, but with arbitrary depths: pixels 0, 1, 4 and 5.
///
/// # Safety
/// The requirements of `depth::test` hold.
pub unsafe fn test_quad(format: DepthFormat, plan: &DepthPlan, block: &DepthBlock<'_>) -> u32 {
    let test: unsafe fn(&[f32; 16], BlockAddress, u32) -> u32 =
        select!(listed_quad_test, format, plan.compare, plan.write);
    // SAFETY: rows of the mask have four texels (`# Safety`).
    unsafe { test(block.z, block.depth, block.mask) }
}

#[test]
fn a_quads_depths_are_those_of_rows() {
    let mut rng = base::random::Rng(0x0dd_ba11);
    for _ in 0..3000 {
        let mut prim = crate::front::UNSET_PRIM;
        prim.shade.z = [0; 3].map(|_| rng.float(-1.0, 1.0));
        prim.depth_range = [-0.5, 0.5];
        prim.shade.origin = [0; 2].map(|_| rng.below(500) as i32);
        let place = [0; 2].map(|_| 2 * rng.below(250) as i32);
        let offset = [0; 2].map(|_| rng.below(16) as f32 / 16.0);
        let plane = PlaneDepths::new(&prim, place, offset);
        let rows = Sse2._mm_movelh_ps(plane.row(0), plane.row(1));
        let [quad, rows] = [quad_depths(&prim, place, offset), rows].map(|z| {
            let mut bits = [0u32; 4];
            Sse2.store_128(&mut bits, Sse2._mm_castps_si128(z));
            bits
        });
        assert_eq!(quad, rows, "{prim:?} {place:?} {offset:?}");
    }
}

#[test]
fn rows_of_squares_are_tested_alike_on_all_levels() {
    use crate::front::UNSET_PRIM;
    let mut rng = base::random::Rng(0x0dec_ade5);
    for round in 0..3000u32 {
        let format = [DepthFormat::D16, DepthFormat::D24, DepthFormat::F32][round as usize % 3];
        let (compare, write) = (CompareOp::ALL[rng.below(8) as usize], rng.below(4) != 0);
        let mut prim = UNSET_PRIM;
        // Depths are coarse, so that they are often equal.
        let mut near = |scale: i32| (rng.below(17) as i32 - 8) as f32 / (8 * scale) as f32;
        prim.shade.z = if round % 50 == 0 { [f32::NAN, 0.5, 0.0] } else { [near(16), near(16), near(1) + 0.5] };
        prim.depth_range = [0.0, if round % 7 == 0 { 0.75 } else { 1.0 }];
        prim.shade.origin = [rng.below(9) as i32, rng.below(9) as i32];
        let place = [rng.below(16) as i32 * 4, rng.below(16) as i32 * 4];
        let rows: SquareRows = core::array::from_fn(|_| rng.next_u64() & rng.next_u64());
        let first: [u32; 256] = core::array::from_fn(|_| format.encode(rng.below(17) as f32 / 16.0));
        let of: fn(SimdLevel) -> RowsTest = select!(plane_rows_test, format, compare, write);
        let mut seen: Option<([u32; 256], SquareRows)> = None;
        for level in SimdLevel::all_supported() {
            let mut memory = [0u8; 1024];
            let bytes = format.bytes();
            for (i, texel) in first.iter().enumerate() {
                memory[i * bytes..][..bytes].copy_from_slice(&texel.to_le_bytes()[..bytes]);
            }
            let at = BlockAddress { base: memory.as_mut_ptr(), pitch: 16 * bytes, whole: true };
            let mut left = rows;
            // Single blocks are tested too, in separate memory.
            let mut others = memory;
            for block in 0..16 {
                let (column, row) = (block % 4 * 4, block / 4 * 4);
                let mask = (0..16).fold(0, |mask, bit| {
                    let at = (row + bit / 4) * 16 + column + bit % 4;
                    mask | ((rows[at / 64] >> (at % 64)) as u32 & 1) << bit
                });
                let base = others[(row * 16 + column) * bytes..].as_mut_ptr();
                let at = BlockAddress { base, pitch: 16 * bytes, whole: true };
                let place = [place[0] + column as i32, place[1] + row as i32];
                // SAFETY: the block has four rows of four texels.
                let passed = unsafe { plane_test_of(format, compare, write)(&prim, &at, place, [0.5; 2], mask) };
                for bit in (0..16).filter(|bit| passed >> bit & 1 == 0) {
                    let at = (row + bit / 4) * 16 + column + bit % 4;
                    left[at / 64] &= !(1 << (at % 64));
                }
            }
            let want = core::mem::replace(&mut left, rows);
            // SAFETY: the host has the level, and the square has sixteen rows of sixteen texels.
            unsafe { of(level)(&prim, &at, place, [0.5; 2], &mut left) };
            assert_eq!(left, want, "{level:?} {format:?} {compare:?} {prim:?}");
            assert_eq!(memory, others, "{level:?} {format:?} {compare:?} {prim:?}");
            let texels: [u32; 256] = core::array::from_fn(|i| {
                let mut word = [0; 4];
                word[..bytes].copy_from_slice(&memory[i * bytes..][..bytes]);
                u32::from_le_bytes(word)
            });
            for (i, (new, old)) in texels.iter().zip(&first).enumerate() {
                assert!(new == old || write && rows[i / 64] >> (i % 64) & 1 != 0, "{level:?} {compare:?} {i}");
            }
            assert_eq!(
                *seen.get_or_insert((texels, left)),
                (texels, left),
                "{level:?} {format:?} {compare:?} {prim:?}"
            );
        }
    }
}

/// Tests a block as a plane's test does, but with arbitrary depths.
///
/// # Safety
/// The requirements of `depth::test` hold.
pub unsafe fn test(format: DepthFormat, plan: &DepthPlan, block: &DepthBlock<'_>) -> u32 {
    let test: unsafe fn(&[f32; 16], BlockAddress, u32) -> u32 = select!(listed_test, format, plan.compare, plan.write);
    // SAFETY: rows of the mask have four texels (`# Safety`).
    unsafe { test(block.z, block.depth, block.mask) }
}
