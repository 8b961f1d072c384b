//! Tests of the rows of a square of a plane: sixteen pixels at once on hosts with 512-bit vectors,
//! else four.

use super::{BlockAddress, DepthRow, Depths, PlaneDepths, test_row};
use crate::prim::{Prim, SquareRows};
use base::host::{Avx512, Host};

/// Replaces the pixels of each row that has some by the result of a function.
#[inline(always)]
fn leave(rows: &mut SquareRows, mut passed: impl FnMut(usize, u16) -> u16) {
    for (number, four) in rows.iter_mut().enumerate() {
        let mut left = 0;
        for row in 0..4 {
            let covered = (*four >> (16 * row)) as u16;
            if covered != 0 {
                left |= u64::from(passed(4 * number + row, covered)) << (16 * row);
            }
        }
        *four = left;
    }
}

base::multiversion! {
    /// Tests pixels of a square, and clears those that fail: a
    /// [`RowsTest`](super::super::block::RowsTest).
    pub for Avx512 unsafe fn plane_rows_test [R: DepthRow, const C: u32, const WRITE: bool] [R, C, WRITE]
        (prim: &Prim, at: &BlockAddress, place: [i32; 2], offset: [f32; 2], rows: &mut SquareRows) {
        if let Some(v) = HOST.avx512() {
            rows_512::<R, C, WRITE>(v, prim, at, place, offset, rows);
        } else {
            rows_by_fours::<R, C, WRITE>(prim, at, place, offset, rows);
        }
    }
}

/// # Safety
/// The requirements of [`plane_rows_test`] hold.
#[inline(always)]
unsafe fn rows_512<R: DepthRow, const C: u32, const WRITE: bool>(
    v: Avx512,
    prim: &Prim,
    at: &BlockAddress,
    [x, y]: [i32; 2],
    offset: [f32; 2],
    rows: &mut SquareRows,
) {
    let [dx, dy, constant] = prim.shade.z;
    let [ox, oy] = prim.shade.origin;
    let [low, high] = prim.depth_range.map(|end| v._mm512_set1_ps(end));
    let columns = v._mm512_cvtepi32_ps(v._mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    let x = v._mm512_add_ps(v._mm512_set1_ps((x - ox) as f32), columns);
    let across = v._mm512_mul_ps(v._mm512_set1_ps(dx), v._mm512_add_ps(x, v._mm512_set1_ps(offset[0])));
    leave(rows, |row, covered| {
        let p = at.base.wrapping_add(row * at.pitch);
        let down = dy * ((y - oy) as f32 + row as f32 + offset[1]) + constant;
        let z = v._mm512_add_ps(across, v._mm512_set1_ps(down));
        // If an operand is not a number, the result is the second operand.
        let new = R::quantize_512(v, v._mm512_min_ps(v._mm512_max_ps(z, low), high));
        // SAFETY: covered pixels have texels (`# Safety`).
        let passed = R::passes_512::<C>(v, covered, new, unsafe { R::load_512(v, p, covered) });
        if WRITE && passed != 0 {
            // SAFETY: covered pixels have texels (`# Safety`).
            unsafe { R::store_512(v, p, passed, new) };
        }
        passed
    });
}

/// # Safety
/// The requirements of [`plane_rows_test`] hold.
#[inline(always)]
unsafe fn rows_by_fours<R: DepthRow, const C: u32, const WRITE: bool>(
    prim: &Prim,
    at: &BlockAddress,
    [x, y]: [i32; 2],
    offset: [f32; 2],
    rows: &mut SquareRows,
) {
    // Each of the planes has four pixels of a row.
    let columns = [0, 4, 8, 12].map(|column| PlaneDepths::new(prim, [x + column, y], offset));
    leave(rows, |row, covered| {
        let p = at.base.wrapping_add(row * at.pitch);
        let mut passed = 0;
        for (i, plane) in columns.iter().enumerate() {
            let covered = covered >> (4 * i) & 0xf;
            if covered == 0 {
                continue;
            }
            // SAFETY: covered pixels have texels, and rows are padded to four (`# Safety`).
            let four = unsafe {
                let p = p.add(4 * i * size_of::<R::Texel>());
                test_row::<R, C, WRITE>(plane.row(row), p, covered.into())
            };
            passed |= (four as u16) << (4 * i);
        }
        passed
    });
}
