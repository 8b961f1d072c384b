//! The layout of the 32-bit words of a `[chunk][slot][lane]` array.
//!
//! Such an array has some slots for each of many items: vertices, fragments, patches or primitives.
//! The items are divided into chunks of as many items as a stage has lanes. A slot of a whole chunk
//! is one row.

#![forbid(unsafe_code)]

/// The numbers of slots per item and of items per chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLayout {
    slots: usize,
    /// Base-2 logarithm of the number of lanes.
    shift: u32,
}

/// Number of bytes of a word.
const WORD: usize = size_of::<u32>();

impl SlotLayout {
    /// Makes a layout of `slots` words per item in chunks of `lanes` items (a power of two).
    #[inline(always)]
    pub const fn new(slots: usize, lanes: u32) -> SlotLayout {
        SlotLayout { slots, shift: lanes.trailing_zeros() }
    }

    /// Returns the number of slots per item.
    #[inline(always)]
    pub const fn slots(self) -> usize {
        self.slots
    }

    /// Returns the number of items per chunk, which is the number of words of a row, and the
    /// distance between consecutive slots of an item.
    #[inline(always)]
    pub const fn lanes(self) -> usize {
        1 << self.shift
    }

    /// Returns the chunk of an item.
    #[inline(always)]
    pub const fn chunk(self, item: usize) -> usize {
        item >> self.shift
    }

    /// Returns the lane of an item in its chunk.
    #[inline(always)]
    pub const fn lane(self, item: usize) -> usize {
        item & (self.lanes() - 1)
    }

    /// Returns the number of chunks that `items` items fill.
    #[inline(always)]
    pub const fn chunks(self, items: usize) -> usize {
        (items + self.lanes() - 1) >> self.shift
    }

    /// Returns the number of items after padding to whole chunks.
    #[inline(always)]
    pub const fn padded(self, items: usize) -> usize {
        self.chunks(items) << self.shift
    }

    /// Returns the number of words of `items` items, padded to whole chunks.
    #[inline(always)]
    pub const fn words(self, items: usize) -> usize {
        self.padded(items) * self.slots
    }

    /// Returns the word of slot 0 of an item.
    #[inline(always)]
    pub const fn item(self, item: usize) -> usize {
        ((self.chunk(item) * self.slots) << self.shift) + self.lane(item)
    }

    /// Returns the number of words from slot 0 of an item to another of its slots.
    #[inline(always)]
    pub const fn slot(self, slot: usize) -> usize {
        slot << self.shift
    }

    /// Returns the word of a slot of an item.
    #[inline(always)]
    pub const fn word(self, item: usize, slot: usize) -> usize {
        self.item(item) + self.slot(slot)
    }

    /// Returns the number of the row of a slot in a chunk; rows have [`SlotLayout::lanes`] words.
    #[inline(always)]
    pub const fn row(self, chunk: usize, slot: usize) -> usize {
        chunk * self.slots + slot
    }

    /// Returns the number of bytes from the first word of a chunk to the row of a slot.
    #[inline(always)]
    pub const fn slot_bytes(self, slot: usize) -> usize {
        self.slot(slot) * WORD
    }

    /// Returns the number of bytes of a chunk.
    #[inline(always)]
    pub const fn chunk_bytes(self) -> usize {
        self.slot_bytes(self.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_words_are_a_bijection() {
        for lanes in [1, 4, 8] {
            for slots in 0..5 {
                let layout = SlotLayout::new(slots, lanes);
                let items = 3 * lanes as usize;
                let mut words = vec![false; layout.words(items - layout.lane(items + 1))];
                assert_eq!(words.len(), items * slots);
                for (item, slot) in (0..items).flat_map(|item| (0..slots).map(move |slot| (item, slot))) {
                    let at = layout.word(item, slot);
                    assert!(!std::mem::replace(&mut words[at], true));
                    assert_eq!(at, layout.row(layout.chunk(item), slot) * layout.lanes() + layout.lane(item));
                    let bytes = layout.chunk(item) * layout.chunk_bytes() + layout.slot_bytes(slot);
                    assert_eq!(at, bytes / 4 + layout.lane(item));
                }
                assert!(words.iter().all(|&w| w));
            }
        }
    }
}
