//! The quads of a batch, in the order in which they were covered.

use super::shaded::SPREAD;
use base::abi::{FragmentBatch, FragmentPrimitive, FragmentQuad};

/// Largest number of quads of a fragment batch.
pub const BATCH_QUADS: usize = FragmentBatch::MAX_QUADS;

/// Largest number of quads of a chunk, which are 64 lanes.
pub const WIDEST_CHUNK: usize = 16;

/// Largest number of quads of a row that are processed at once.
const ROW: usize = 4;

/// Quads side by side, with one sample in each pixel, as the words with which they begin.
#[derive(Clone, Copy, Default)]
pub struct QuadRow([u64; ROW]);

impl QuadRow {
    /// Makes the quads from (x, y) on, where both are even, with coverage in the columns from
    /// `x0` to before `x1`.
    #[inline(always)]
    pub fn new([x, y]: [i32; 2], [x0, x1]: [i32; 2]) -> QuadRow {
        let mut words = [0; ROW];
        for (word, x) in words.iter_mut().zip((x..).step_by(2)) {
            // The first term is the left two pixels, the second the right two.
            let coverage = if x >= x0 && x < x1 { 0x0101 } else { 0 } | if x + 1 < x1 { 0x1010 } else { 0 };
            *word = u64::from(FragmentBatch::CENTRE) << 48
                | coverage << 32
                | u64::from(y as u16) << 16
                | u64::from(x as u16);
        }
        QuadRow(words)
    }

    /// Returns the quads moved down by `pixels`. (Coordinates are less than 2^16, so the fields do
    /// not overflow.)
    #[inline(always)]
    pub fn below(self, pixels: i32) -> QuadRow {
        QuadRow(self.0.map(|word| word + ((pixels as u64) << 16)))
    }

    /// Returns the quads without the pixels that have no bit in
    /// `pixels` (as in [`FragmentQuad::coverage`]).
    #[inline(always)]
    pub fn masked(self, pixels: u16) -> QuadRow {
        QuadRow(self.0.map(|word| word & !(u64::from(!pixels) << 32)))
    }
}

/// Capacity of the list, which includes the excess of a block and the padding to whole chunks.
const CAPACITY: usize = BATCH_QUADS.next_multiple_of(WIDEST_CHUNK) + 4;

/// A batch that is being filled.
#[derive(Default)]
pub struct Quads {
    /// `CAPACITY` quads after the first `clear`. It is a vector so that moving it out of a job and
    /// back moves a pointer.
    entries: Vec<FragmentQuad>,
    len: usize,
}

/// The pointers of the quads are followed only inside the call that pushed them.
// SAFETY: the list is emptied before a tile ends; no other thread follows a pointer in it.
unsafe impl Send for Quads {}

impl Quads {
    /// Returns the number of quads.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns all quads.
    #[inline(always)]
    pub fn list(&self) -> &[FragmentQuad] {
        &self.entries[..self.len]
    }

    /// Returns all quads.
    #[inline(always)]
    pub fn list_mut(&mut self) -> &mut [FragmentQuad] {
        &mut self.entries[..self.len]
    }

    /// Removes all quads; must be called before any other method.
    #[inline(always)]
    pub fn clear(&mut self) {
        if self.entries.is_empty() {
            let none = FragmentQuad { x: 0, y: 0, coverage: 0, sample: 0, primitive: core::ptr::null() };
            self.entries.resize(CAPACITY, none);
        }
        self.len = 0;
    }

    /// Removes the quads from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Returns true if four more quads do not fit.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len + 4 > BATCH_QUADS
    }

    /// Appends a quad, which must fit.
    #[inline(always)]
    pub fn push(&mut self, quad: FragmentQuad) {
        self.entries[self.len] = quad;
        self.len += 1;
    }

    /// Appends the first `count` (at most [`ROW`]) quads of a row, all of which must fit.
    #[inline(always)]
    pub fn push_row(&mut self, primitive: *const FragmentPrimitive, row: &QuadRow, count: usize) {
        let Some(room) = self.entries[self.len..].first_chunk_mut::<ROW>() else { return };
        for (quad, word) in room.iter_mut().zip(row.0) {
            quad.primitive = primitive;
            // SAFETY: a quad begins with four fields of 16 bits (the first one lowest), and is
            // aligned for pointers.
            unsafe { (&raw mut *quad).cast::<u64>().write(word) };
        }
        self.len += count;
    }

    /// Appends copies of the last quad without coverage, so that rows of [`ROW`] quads are aligned
    /// with the vectors that process several quads.
    #[inline(always)]
    pub fn align(&mut self) {
        if !self.len.is_multiple_of(ROW) {
            let (at, end) = (self.len, self.len.next_multiple_of(ROW));
            let last = self.entries[at - 1];
            self.entries[at..end].fill(FragmentQuad { coverage: 0, ..last });
            self.len = end;
        }
    }

    /// Appends those of the four quads that have coverage; all must fit. There is no branch,
    /// because a branch predictor cannot guess which quads of a small primitive have pixels.
    #[inline(always)]
    pub fn push_covered(&mut self, quads: [FragmentQuad; 4]) {
        let Some(room) = self.entries[self.len..].first_chunk_mut::<4>() else { return };
        let mut count = 0;
        for quad in quads {
            // `count` is at most 3 here; the mask proves it to the compiler.
            room[count & 3] = quad;
            count += usize::from(quad.coverage != 0);
        }
        self.len += count;
    }

    /// Appends the four quads of a block at (x, y) all of whose pixels are covered, with one sample
    /// each; they must fit.
    #[inline(always)]
    pub fn push_block(&mut self, primitive: *const FragmentPrimitive, x: u16, y: u16) {
        let Some(room) = self.entries[self.len..].first_chunk_mut::<4>() else { return };
        // The word consists of x, y, coverage and sample; coordinates are less than 2^16 - 2, so
        // the fields do not overflow.
        const WHOLE: u64 = (FragmentBatch::CENTRE as u64) << 48 | 0x1111 << 32;
        let first = WHOLE | u64::from(y) << 16 | u64::from(x);
        for (quad, step) in room.iter_mut().zip([0, 2, 2 << 16, 2 << 16 | 2]) {
            quad.primitive = primitive;
            // SAFETY: a quad begins with four fields of 16 bits (the first one lowest), and is
            // aligned for pointers.
            unsafe { (&raw mut *quad).cast::<u64>().write(first + step) };
        }
        self.len += 4;
    }

    /// Returns the quads, followed by copies of the last one without coverage up to a multiple of
    /// `chunk`, which is at most [`WIDEST_CHUNK`].
    pub fn padded(&mut self, chunk: usize) -> *const FragmentQuad {
        if let Some(&last) = self.list().last() {
            let end = self.len.next_multiple_of(chunk);
            self.entries[self.len..end].fill(FragmentQuad { coverage: 0, ..last });
        }
        self.entries.as_ptr()
    }
}

/// Returns the quads of the pixels of a block at (x, y), with one sample each.
#[inline(always)]
pub fn quads_of(primitive: *const FragmentPrimitive, x: u16, y: u16, pixels: u32) -> [FragmentQuad; 4] {
    // The order changes from row-major to quad by quad: the second and third bit of the pixels'
    // numbers are exchanged.
    let moved = (pixels ^ pixels >> 2) & 0x0c0c;
    let pixels = pixels ^ moved ^ moved << 2;
    let quad = |x, y, number: u32| {
        let coverage = SPREAD[(pixels >> (4 * number) & 15) as usize];
        FragmentQuad { x, y, coverage, sample: FragmentBatch::CENTRE, primitive }
    };
    [quad(x, y, 0), quad(x + 2, y, 1), quad(x, y + 2, 2), quad(x + 2, y + 2, 3)]
}
