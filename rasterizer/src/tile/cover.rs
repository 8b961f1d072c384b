//! Coverage of a primitive in a tile, found by a 64 → 16 → 4 descent with trivial reject and
//! accept; it is exact at every sample. With one sample per pixel, a primitive of a few blocks is
//! passed on as the rows of a square. So is any square if the sink takes rows.
//!
//! An edge is one 32-bit value per sample position (see `prim::coverage`). The guard band keeps
//! |a| + |b| <= 2^24, and an edge that crosses the tile is at most 64 steps from zero, so its value
//! is below 2^31.

#![forbid(unsafe_code)]

use crate::prim::{
    EdgeFunction, Prim, SquareEdge, SquareRows, TILE_SHIFT, cut_rows, edge_at, inside, intersect, mask16,
    sample_offsets,
};

/// An edge that crosses the tile, relative to the tile.
#[derive(Clone, Copy)]
struct TileEdge<const S: usize> {
    a: i32,
    b: i32,
    c: [i32; S],
    low: i32,
    high: i32,
    /// `max(a, 0) + max(b, 0)`, the most that one pixel step can add.
    up: i32,
    /// `min(a, 0) + min(b, 0)`, the least that one pixel step can add.
    down: i32,
}

/// Returns the bits of those squares of a 4×4 arrangement of squares of `1 << shift` pixels at (x,
/// y) that touch a rectangle.
#[inline(always)]
fn rect_mask(rect: [i32; 4], x: i32, y: i32, shift: u32) -> u32 {
    let span = |lo: i32, hi: i32, at: i32| {
        let first = ((lo - at) >> shift).clamp(0, 4) as u32;
        let last = ((hi - 1 - at) >> shift).clamp(-1, 3) + 1;
        (0xfu32 << first) & ((1u32 << last) - 1) & 0xf
    };
    let columns = span(rect[0], rect[2], x);
    let rows = span(rect[1], rect[3], y);
    // Bit j of the rows moves to nibble j.
    let spread = rows & 1 | (rows & 2) << 3 | (rows & 4) << 6 | (rows & 8) << 9;
    columns * spread
}

/// Returns the bits of the 16 pixels from `at` on that lie in `lo..hi`.
#[inline(always)]
fn pixels_in(lo: i32, hi: i32, at: i32) -> u32 {
    let below = |end: i32| (1u32 << (end - at).clamp(0, 16)) - 1;
    below(hi) & !below(lo)
}

/// Returns the pixels of the 4×4 block at (x, y) of a square that lie in the given columns and
/// rows.
#[inline(always)]
fn block_mask(columns: u32, rows: u32, x: i32, y: i32) -> u32 {
    let (columns, rows) = (columns >> x & 0xf, rows >> y & 0xf);
    columns * (rows & 1 | (rows & 2) << 3 | (rows & 4) << 6 | (rows & 8) << 9)
}

/// A receiver of covered blocks. It is a trait and not a closure, because closures cannot be forced
/// to inline.
pub trait CoverageSink<const S: usize> {
    /// Returns the positions of the samples in their pixels, in 1/256 of a pixel.
    #[inline(always)]
    fn offsets(&self) -> [[i32; 2]; S] {
        sample_offsets::<S>()
    }
    /// Returns true if pixels of a region x0, y0, x1, y1 of the primitive may be visible, so that
    /// the descent must continue.
    fn visible(&mut self, rect: [i32; 4]) -> bool;
    /// Returns true if pixels of a region of at most 4×4 pixels may be visible.
    #[inline(always)]
    fn small_visible(&mut self, rect: [i32; 4]) -> bool {
        self.visible(rect)
    }
    /// Returns true if [`CoverageSink::block`] takes blocks that begin at any quad.
    #[inline(always)]
    fn takes_quads(&self) -> bool {
        false
    }
    /// Returns true if [`CoverageSink::rows`] should be called in place of [`CoverageSink::block`]
    /// where possible.
    #[inline(always)]
    fn takes_rows(&self) -> bool {
        false
    }
    /// Takes pixels of the 16×16 square at (x, y), multiples of 4, row by row; bit `i` is the
    /// column, and at least one pixel is covered. Returns false if the pixels must be passed on
    /// block by block.
    #[inline(always)]
    fn rows(&mut self, _x: i32, _y: i32, _rows: &SquareRows) -> bool {
        false
    }
    /// Records that all pixels of the 16×16 square at (x, y) are covered, after they have been
    /// passed on.
    fn covered(&mut self, x: i32, y: i32);
    /// Takes the 16×16 square at (x, y), all of whose pixels are covered, at once; returns false if
    /// it must be passed on block by block.
    #[inline(always)]
    fn square(&mut self, _x: i32, _y: i32) -> bool {
        false
    }
    /// Takes a 4×4 block at (x, y) with a covered sample; mask bit `4*j + i` is pixel (i, j), and
    /// there is one mask per sample.
    fn block(&mut self, x: i32, y: i32, masks: [u32; S]);
}

/// Calls [`CoverageSink::block`] for every 4×4 block (framebuffer position) of the tile at (x0, y0)
/// with a covered sample.
#[inline(always)]
pub fn cover<const S: usize>(prim: &Prim, edges: &[EdgeFunction], x0: i32, y0: i32, sink: &mut impl CoverageSink<S>) {
    let size = 1 << TILE_SHIFT;
    let rect = intersect(prim.rect(), [x0, y0, x0 + size, y0 + size]);
    if S == 1 && prim.pixels != 0 {
        return known(prim, rect, x0, y0, sink);
    }
    // Most triangles are small.
    if S == 1 && is_small(rect, 16) {
        return square(edges, rect, sink);
    }
    if S > 1 && is_small(rect, 8) {
        return small(edges, rect, sink);
    }
    let mut storage = [TileEdge { a: 0, b: 0, c: [0; S], low: 0, high: 0, up: 0, down: 0 }; 4];
    let mut len = 0;
    for edge in edges {
        let at = sink.offsets().map(|[sx, sy]| {
            let x = (i64::from(x0) << 8) + i64::from(sx);
            let y = (i64::from(y0) << 8) + i64::from(sy);
            (i64::from(edge.a) * x + i64::from(edge.b) * y + edge.c) >> 8
        });
        let (low, high) = at.iter().fold((i64::MAX, i64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
        let (up, down) = (edge.a.max(0) + edge.b.max(0), edge.a.min(0) + edge.b.min(0));
        let reach = i64::from(size - 1);
        if high + reach * i64::from(up) < 0 {
            return;
        }
        if low + reach * i64::from(down) >= 0 {
            continue;
        }
        let c = at.map(|v| v as i32);
        storage[len] = TileEdge { a: edge.a, b: edge.b, c, low: low as i32, high: high as i32, up, down };
        len += 1;
    }
    descend(&storage[..len], rect, x0, y0, sink);
}

/// Returns true if a primitive covers all pixels of a rectangle, which have one sample each.
#[inline(always)]
pub fn covers_all(prim: &Prim, edges: &[EdgeFunction], rect: [i32; 4]) -> bool {
    let [[sx, sy]] = sample_offsets::<1>().map(|offset| offset.map(i64::from));
    let [x0, y0, x1, y1] = rect.map(i64::from);
    let inside = |e: &EdgeFunction| {
        let (x, y) = (if e.a < 0 { x1 - 1 } else { x0 }, if e.b < 0 { y1 - 1 } else { y0 });
        (i64::from(e.a) * ((x << 8) + sx) + i64::from(e.b) * ((y << 8) + sy) + e.c) >> 8 >= 0
    };
    prim.pixels == 0 && intersect(prim.rect(), rect) == rect && edges.iter().all(inside)
}

/// Returns true if a rectangle touches only the blocks of a square with sides of `side` pixels.
#[inline(always)]
fn is_small(rect: [i32; 4], side: i32) -> bool {
    rect[2] - (rect[0] & !3) <= side && rect[3] - (rect[1] & !3) <= side
}

/// Returns the positions of the 2×2 blocks from a rectangle's first block on.
#[inline(always)]
fn two_by_two(rect: [i32; 4]) -> [[i32; 2]; 4] {
    let (x, y) = (rect[0] & !3, rect[1] & !3);
    [[x, y], [x + 4, y], [x, y + 4], [x + 4, y + 4]]
}

/// Returns the masks of the 2×2 blocks from that of a rectangle's corner on, for pixels from the
/// corner on.
#[inline(always)]
fn blocks_of(pixels: u32, corner: [i32; 2]) -> [u32; 4] {
    // Nibbles (rows of four) become bytes (rows of eight), and move to their place in the blocks.
    let rows = u64::from((pixels & 0xff) | (pixels & 0xff00) << 8);
    let rows = (rows & 0x000f_000f) | (rows & 0x00f0_00f0) << 4;
    let grid = rows << ((corner[0] & 3) + 8 * (corner[1] & 3));
    let nibbles = |bytes: u64| {
        let pairs = (bytes & 0x000f_000f) | (bytes & 0x0f00_0f00) >> 4;
        ((pairs & 0xff) | (pairs >> 8 & 0xff00)) as u32
    };
    [nibbles(grid), nibbles(grid >> 4), nibbles(grid >> 32), nibbles(grid >> 36)]
}

/// Passes on a primitive whose pixels the front end has computed; `rect` is the part in the tile.
#[inline(always)]
fn known<const S: usize>(prim: &Prim, rect: [i32; 4], x0: i32, y0: i32, sink: &mut impl CoverageSink<S>) {
    if !sink.small_visible(rect) {
        return;
    }
    let [left, top, right, bottom] = prim.rect();
    // Most of these primitives lie in two by two quads, which are passed on at once in any case.
    if sink.takes_quads() && right - (left & !1) <= 4 && bottom - (top & !1) <= 4 {
        let mut pixels = u32::from(prim.pixels) << ((left & 1) + 4 * (top & 1));
        if rect != prim.rect() {
            pixels &= rect_mask(rect, left & !1, top & !1, 0);
        }
        if pixels != 0 {
            sink.block(left & !1, top & !1, [pixels; S]);
        }
        return;
    }
    // Most of the others lie in one block.
    if right - (left & !3) <= 4 && bottom - (top & !3) <= 4 {
        return sink.block(left & !3, top & !3, [u32::from(prim.pixels) << ((left & 3) + 4 * (top & 3)); S]);
    }
    let masks = blocks_of(prim.pixels.into(), [left, top]);
    for ([x, y], mask) in two_by_two(prim.rect()).into_iter().zip(masks) {
        if mask != 0 && (x ^ x0 | y ^ y0) >> TILE_SHIFT == 0 {
            sink.block(x, y, [mask; S]);
        }
    }
}

/// Passes on the covered pixels of a rectangle of at most 2×2 blocks, without descent.
#[inline(always)]
fn small<const S: usize>(edges: &[EdgeFunction], rect: [i32; 4], sink: &mut impl CoverageSink<S>) {
    if !sink.visible(rect) {
        return;
    }
    for [x, y] in two_by_two(rect) {
        if x >= rect[2] || y >= rect[3] {
            continue;
        }
        let pixels = rect_mask(rect, x, y, 0);
        let masks = sink.offsets().map(|offset| pixels & inside(edges, x, y, offset));
        if masks.iter().any(|&m| m != 0) {
            sink.block(x, y, masks);
        }
    }
}

/// Passes on the covered pixels of a rectangle in a square of 4×4 blocks, without descent.
#[inline(always)]
fn square<const S: usize>(edges: &[EdgeFunction], rect: [i32; 4], sink: &mut impl CoverageSink<S>) {
    if !sink.visible(rect) {
        return;
    }
    let (x, y) = (rect[0] & !3, rect[1] & !3);
    let offset = sink.offsets()[0];
    let rows = rows_inside(rect, [x, y], edges.iter().map(|edge| [edge_at(edge, x, y, offset), edge.a, edge.b]));
    if sink.takes_rows() && (rows == [0; 4] || sink.rows(x, y, &rows)) {
        return;
    }
    for_each_block(&rows, [x, y], |x, y, mask| sink.block(x, y, [mask; S]));
}

/// Calls a function with the position and the pixels of each 4×4 block of the square at (x, y) that
/// has covered pixels.
#[inline(always)]
pub fn for_each_block(rows: &SquareRows, [x, y]: [i32; 2], mut function: impl FnMut(i32, i32, u32)) {
    for number in 0..4 {
        if rows[number] == 0 {
            continue;
        }
        for (column, mask) in (0..).zip(blocks_in(rows, number)) {
            if mask != 0 {
                function(x + 4 * column, y + 4 * number as i32, mask);
            }
        }
    }
}

/// Returns the pixels of the four 4×4 blocks in row `number` of a square's blocks.
#[inline(always)]
fn blocks_in(rows: &SquareRows, number: usize) -> [u32; 4] {
    let four = rows[number & 3];
    let block = |column: u32| {
        let rows = four >> (4 * column) & 0x000f_000f_000f_000f;
        let pairs = (rows | rows >> 12) & 0x0000_00ff_0000_00ff;
        (pairs | pairs >> 24) as u32 & 0xffff
    };
    [block(0), block(1), block(2), block(3)]
}

/// Returns the pixels of a rectangle in the 16×16 square at (x, y), as rows of bits.
#[inline(always)]
fn rows_in(rect: [i32; 4], x: i32, y: i32) -> SquareRows {
    let (columns, lines) = (u64::from(pixels_in(rect[0], rect[2], x)), u64::from(pixels_in(rect[1], rect[3], y)));
    let word = |number: u32| {
        let lines = lines >> (4 * number);
        columns * (lines & 1 | (lines & 2) << 15 | (lines & 4) << 30 | (lines & 8) << 45)
    };
    [word(0), word(1), word(2), word(3)]
}

/// Descends from the tile to squares of 16×16 pixels and to blocks of 4×4 pixels.
#[inline(always)]
fn descend<const S: usize>(edges: &[TileEdge<S>], rect: [i32; 4], x0: i32, y0: i32, sink: &mut impl CoverageSink<S>) {
    let mut squares = rect_mask(rect, x0, y0, 4);
    let single = squares & squares.wrapping_sub(1) == 0;
    if !single {
        for e in edges {
            squares &= mask16(e.high + 15 * e.up, e.a * 16, e.b * 16);
        }
    }
    while squares != 0 {
        let k = squares.trailing_zeros() as i32;
        squares &= squares - 1;
        let (sx, sy) = ((k & 3) * 16, (k >> 2) * 16);
        let (x, y) = (x0 + sx, y0 + sy);
        let by_rows = S == 1 && sink.takes_rows();
        if by_rows {
            let here = edges.iter().map(|e| [e.c[0] + e.a * sx + e.b * sy, e.a, e.b]);
            let rows = rows_inside(rect, [x, y], here);
            if rows == [0; 4] || !sink.visible(intersect(rect, [x, y, x + 16, y + 16])) {
                continue;
            }
            if sink.rows(x, y, &rows) {
                if rows == [u64::MAX; 4] {
                    sink.covered(x, y);
                }
                continue;
            }
        }
        let mut blocks = rect_mask(rect, x, y, 2);
        let mut full = 0xffff;
        for e in edges {
            let step = e.a * sx + e.b * sy;
            blocks &= mask16(e.high + step + 3 * e.up, e.a * 4, e.b * 4);
            full &= mask16(e.low + step + 3 * e.down, e.a * 4, e.b * 4);
        }
        if blocks == 0 || !by_rows && !sink.visible(intersect(rect, [x, y, x + 16, y + 16])) {
            continue;
        }
        let whole = blocks & full == 0xffff && x >= rect[0] && y >= rect[1] && x + 16 <= rect[2] && y + 16 <= rect[3];
        if whole {
            if !sink.square(x, y) {
                for k in 0..16 {
                    sink.block(x + (k & 3) * 4, y + (k >> 2) * 4, [0xffff; S]);
                }
            }
            sink.covered(x, y);
            continue;
        }
        let (columns, rows) = (pixels_in(rect[0], rect[2], x), pixels_in(rect[1], rect[3], y));
        while blocks != 0 {
            let k = blocks.trailing_zeros() as i32;
            blocks &= blocks - 1;
            let (bx, by) = ((k & 3) * 4, (k >> 2) * 4);
            let mut masks = [block_mask(columns, rows, bx, by); S];
            if full & (1 << k) == 0 {
                for e in edges {
                    let step = e.a * (sx + bx) + e.b * (sy + by);
                    for (mask, c) in masks.iter_mut().zip(e.c) {
                        *mask &= mask16(c + step, e.a, e.b);
                    }
                }
            }
            if masks.iter().any(|&m| m != 0) {
                sink.block(x + bx, y + by, masks);
            }
        }
    }
}

/// Returns the pixels of a rectangle that lie inside of all edges (at most four), in the 16×16
/// square at (x, y), as rows of bits.
#[inline(always)]
fn rows_inside(rect: [i32; 4], [x, y]: [i32; 2], edges: impl ExactSizeIterator<Item = SquareEdge>) -> SquareRows {
    let count = edges.len().min(4);
    let mut here: [SquareEdge; 4] = [[0; 3]; 4];
    for (here, edge) in here.iter_mut().zip(edges) {
        *here = edge;
    }
    let mut rows = rows_in(rect, x, y);
    cut_rows(&here[..count], &mut rows);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_from_a_corner_are_those_of_its_blocks() {
        for pixels in 0..=0xffff_u32 {
            let corner = [(pixels % 7) as i32, (pixels % 5) as i32];
            let mut want = [0; 4];
            for bit in (0..16).filter(|bit| pixels >> bit & 1 != 0) {
                let (x, y) = ((corner[0] & 3) + bit % 4, (corner[1] & 3) + bit / 4);
                want[(x / 4 + y / 4 * 2) as usize] |= 1 << (x % 4 + y % 4 * 4);
            }
            assert_eq!(blocks_of(pixels, corner), want, "{pixels:#x} at {corner:?}");
        }
    }

    #[test]
    fn masks_are_signs_and_rectangles() {
        let mut random = base::random::Rng(1);
        let mut next = || (random.next_u64() >> 32) as i32;
        for _ in 0..10_000 {
            let (e, dx, dy) = (next() >> 3, next() >> 6, next() >> 6);
            let want = (0..16).fold(0, |m, k| m | u32::from(e + dx * (k & 3) + dy * (k >> 2) >= 0) << k);
            assert_eq!(mask16(e, dx, dy), want);
            let r = [next() & 15, next() & 15, next() & 15, next() & 15];
            let (x, y) = (next() & 12, next() & 12);
            let inside = |px: i32, py: i32| px >= r[0] && px < r[2] && py >= r[1] && py < r[3];
            let want = (0..16).fold(0, |m, k| m | u32::from(inside(x + (k & 3), y + (k >> 2))) << k);
            assert_eq!(rect_mask(r, x, y, 0), want);
        }
    }
}
