//! The pixels that a primitive contains, for stages that read FullyCoveredEXT. The half planes that
//! contain the centres of such pixels lie behind the attribute rows of the primitive.

#![forbid(unsafe_code)]

use super::coverage::EdgeFunction;

/// Number of attribute rows with the half planes of a shape: four, of four words each.
pub const INNER_ROWS: usize = 16usize.div_ceil(3);

/// Returns the rows with these half planes. One of zeros contains everything.
pub fn inner_rows(edges: &[EdgeFunction; 4]) -> [[u32; 3]; INNER_ROWS] {
    let mut rows = [[0; 3]; INNER_ROWS];
    for (to, edge) in rows.as_flattened_mut().as_chunks_mut::<4>().0.iter_mut().zip(edges) {
        *to = [edge.a as u32, edge.b as u32, edge.c as u32, (edge.c >> 32) as u32];
    }
    rows
}

/// Returns the pixels of the quad at (x, y), a bit each, whose centres lie inside of the half
/// planes of these rows.
pub fn contained_pixels(rows: &[[u32; 3]; INNER_ROWS], [x, y]: [u16; 2]) -> u16 {
    let edges = rows.as_flattened().as_chunks::<4>().0;
    (0..4).fold(0, |pixels, pixel| {
        let [x, y] = [i32::from(x) + (pixel & 1), i32::from(y) + (pixel >> 1)];
        let inside = edges.iter().all(|&[a, b, low, high]| {
            let c = (u64::from(high) << 32 | u64::from(low)) as i64;
            !EdgeFunction { a: a as i32, b: b as i32, c }.excludes([x, y, x + 1, y + 1])
        });
        pixels | u16::from(inside) << pixel
    })
}
