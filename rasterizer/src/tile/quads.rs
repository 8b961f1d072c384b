//! The quads of a batch, in the order they were covered.

use super::shaded::SPREAD;
use base::abi::{FragmentBatch, FragmentPrimitive, FragmentQuad};

/// Most quads of a fragment batch.
pub const BATCH_QUADS: usize = FragmentBatch::MOST_QUADS;

/// Most quads of a chunk: 64 lanes.
pub const WIDEST_CHUNK: usize = 16;

/// Room for what a block can have more, and for the padding to whole chunks.
const CAPACITY: usize = BATCH_QUADS.next_multiple_of(WIDEST_CHUNK) + 4;

/// A batch that is being filled.
#[derive(Default)]
pub struct Quads {
    /// `CAPACITY` of them, after the first `clear`: what is taken out of a job and put back is a pointer.
    entries: Vec<FragmentQuad>,
    len: usize,
}

/// The quads' pointers are only followed inside the call that pushed them.
// SAFETY: the list is emptied before a tile ends; no pointer in it is followed by another thread.
unsafe impl Send for Quads {}

impl Quads {
    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// All of them.
    #[inline(always)]
    pub fn list(&self) -> &[FragmentQuad] {
        &self.entries[..self.len]
    }

    /// See `list`.
    #[inline(always)]
    pub fn list_mut(&mut self) -> &mut [FragmentQuad] {
        &mut self.entries[..self.len]
    }

    /// Forgets them. Comes first.
    #[inline(always)]
    pub fn clear(&mut self) {
        if self.entries.is_empty() {
            let none = FragmentQuad { x: 0, y: 0, coverage: 0, sample: 0, primitive: core::ptr::null() };
            self.entries.resize(CAPACITY, none);
        }
        self.len = 0;
    }

    /// Is there no room for four more?
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len + 4 > BATCH_QUADS
    }

    /// Appends one; there is room.
    #[inline(always)]
    pub fn push(&mut self, quad: FragmentQuad) {
        self.entries[self.len] = quad;
        self.len += 1;
    }

    /// Appends quads of a row from (x, y) on, with one sample in each of those pixels that lie in the columns from `x0` to before `x1` and have a bit in `rows` (as
    /// [`FragmentQuad::coverage`]), until there is no room or none left; returns the x behind the last one. There must be one, and room for it.
    #[inline(always)]
    pub fn push_row(
        &mut self,
        primitive: *const FragmentPrimitive,
        [x0, x1]: [i32; 2],
        [first, y]: [i32; 2],
        rows: u16,
    ) -> i32 {
        let room = self.entries.get_mut(self.len..BATCH_QUADS).unwrap_or_default();
        let count = room.len().min((x1 - first + 1) as usize / 2);
        let Some(room @ [_, ..]) = room.get_mut(..count) else { return first };
        let mut word = u64::from(FragmentBatch::CENTRE) << 48
            | u64::from(rows) << 32
            | u64::from(y as u16) << 16
            | u64::from(first as u16);
        for quad in room.iter_mut() {
            quad.primitive = primitive;
            // SAFETY: a quad begins with four fields of 16 bits (the first one lowest), at an address for pointers.
            unsafe { (&raw mut *quad).cast::<u64>().write(word) };
            word += 2;
        }
        // The left pixels of the first one, the right ones of the last one may lie outside.
        if first < x0 {
            room[0].coverage &= 0x1010;
        }
        let x = first + 2 * count as i32;
        if x > x1 {
            room[count - 1].coverage &= 0x0101;
        }
        self.len += count;
        x
    }

    /// Appends those of the four that have coverage; there is room. No branch: which of a small primitive's quads have pixels is a riddle.
    #[inline(always)]
    pub fn push_covered(&mut self, quads: [FragmentQuad; 4]) {
        let Some(room) = self.entries[self.len..].first_chunk_mut::<4>() else { return };
        let mut count = 0;
        for quad in quads {
            // `count` is at most 3 here; the mask says so.
            room[count & 3] = quad;
            count += usize::from(quad.coverage != 0);
        }
        self.len += count;
    }

    /// Appends the four of a block at (x, y) of which all pixels are covered, with one sample each; there is room.
    #[inline(always)]
    pub fn push_block(&mut self, primitive: *const FragmentPrimitive, x: u16, y: u16) {
        let Some(room) = self.entries[self.len..].first_chunk_mut::<4>() else { return };
        // x, y, coverage and sample as one word; coordinates are less than 2^16 - 2, so that sums stay apart.
        const WHOLE: u64 = (FragmentBatch::CENTRE as u64) << 48 | 0x1111 << 32;
        let first = WHOLE | u64::from(y) << 16 | u64::from(x);
        for (quad, step) in room.iter_mut().zip([0, 2, 2 << 16, 2 << 16 | 2]) {
            quad.primitive = primitive;
            // SAFETY: a quad begins with four fields of 16 bits (the first one lowest), at an address for pointers.
            unsafe { (&raw mut *quad).cast::<u64>().write(first + step) };
        }
        self.len += 4;
    }

    /// The quads and, behind them, the last one without coverage until there is a multiple of `chunk`, at most [`WIDEST_CHUNK`].
    pub fn padded(&mut self, chunk: usize) -> *const FragmentQuad {
        if let Some(&last) = self.list().last() {
            let end = self.len.next_multiple_of(chunk);
            self.entries[self.len..end].fill(FragmentQuad { coverage: 0, ..last });
        }
        self.entries.as_ptr()
    }
}

/// The quads of the pixels of a block at (x, y), with one sample each.
#[inline(always)]
pub fn quads_of(primitive: *const FragmentPrimitive, x: u16, y: u16, pixels: u32) -> [FragmentQuad; 4] {
    // Row-major to quad by quad: the second and third bit of the pixels' numbers change places.
    let moved = (pixels ^ pixels >> 2) & 0x0c0c;
    let pixels = pixels ^ moved ^ moved << 2;
    let quad = |x, y, number: u32| {
        let coverage = SPREAD[(pixels >> (4 * number) & 15) as usize];
        FragmentQuad { x, y, coverage, sample: FragmentBatch::CENTRE, primitive }
    };
    [quad(x, y, 0), quad(x + 2, y, 1), quad(x, y + 2, 2), quad(x + 2, y + 2, 3)]
}
