//! Tests of the rows of a square of a plane: sixteen pixels at once on hosts with 512-bit vectors,
//! else four.

use super::{BlockAddress, DepthRow, Depths, LANES, PlaneDepths, passes};
use crate::prim::{Prim, SquareRows};
use base::host::Host;
use core::arch::x86_64::*;

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
        if H::HAS_512 {
            rows_512::<R, C, WRITE>(prim, at, place, offset, rows);
        } else {
            rows_by_fours::<R, C, WRITE>(prim, at, place, offset, rows);
        }
    }
}

/// # Safety
/// The requirements of [`plane_rows_test`] hold, and the host has the 512-bit level.
#[inline(always)]
unsafe fn rows_512<R: DepthRow, const C: u32, const WRITE: bool>(
    prim: &Prim,
    at: &BlockAddress,
    [x, y]: [i32; 2],
    offset: [f32; 2],
    rows: &mut SquareRows,
) {
    let [dx, dy, constant] = prim.shade.z;
    let [ox, oy] = prim.shade.origin;
    // SAFETY: covered pixels have texels (`# Safety`). If an operand is not a number, the result is
    // the second operand.
    unsafe {
        let [low, high] = prim.depth_range.map(|end| _mm512_set1_ps(end));
        let columns = _mm512_cvtepi32_ps(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        let x = _mm512_add_ps(_mm512_set1_ps((x - ox) as f32), columns);
        let across = _mm512_mul_ps(_mm512_set1_ps(dx), _mm512_add_ps(x, _mm512_set1_ps(offset[0])));
        leave(rows, |row, covered| {
            let p = at.base.wrapping_add(row * at.pitch);
            let down = dy * ((y - oy) as f32 + row as f32 + offset[1]) + constant;
            let z = _mm512_add_ps(across, _mm512_set1_ps(down));
            let new = R::quantize_512(_mm512_min_ps(_mm512_max_ps(z, low), high));
            let passed = R::passes_512::<C>(covered, new, R::load_512(p, covered));
            if WRITE && passed != 0 {
                R::store_512(p, passed, new);
            }
            passed
        });
    }
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
            // SAFETY: covered pixels have texels, and rows are padded to four (`# Safety`); SSE2 is
            // part of x86-64.
            unsafe {
                let p = p.add(4 * i * R::BYTES);
                let (new, old) = (R::quantize(plane.row(row)), R::load(p));
                let lanes = _mm_load_si128(LANES[covered as usize].0.as_ptr().cast());
                let inside = _mm_and_si128(passes::<R, C>(new, old), lanes);
                if WRITE {
                    R::store(p, _mm_or_si128(_mm_and_si128(inside, new), _mm_andnot_si128(inside, old)));
                }
                passed |= (_mm_movemask_ps(_mm_castsi128_ps(inside)) as u16) << (4 * i);
            }
        }
        passed
    });
}
