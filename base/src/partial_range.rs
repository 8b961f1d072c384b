//! Ranges of addresses of which only parts are device memory.
//!
//! A command can name a range that begins before its memory, ends after it or has a gap. Accesses
//! inside of one part are executed, and an access that does not lie wholly inside one part is out
//! of bounds.

#![forbid(unsafe_code)]

use crate::mem::MemoryRange;
use core::ops::Range;
use std::sync::Arc;

/// A range of addresses with the parts of it that are memory.
#[derive(Clone, Debug)]
pub struct PartialRange {
    /// Range from the first address to the end of the last part.
    range: MemoryRange,
    /// Parts as offsets, ascending and not empty; `None` if all of the range is one part.
    parts: Option<Arc<[Range<u64>]>>,
}

impl PartialRange {
    /// The range without memory.
    pub const NULL: PartialRange = PartialRange { range: MemoryRange::NULL, parts: None };

    /// Makes the range that begins at `address`, of which `parts` (ascending offsets) are memory.
    pub fn new(address: u64, parts: &[Range<u64>]) -> PartialRange {
        let Some(last) = parts.last() else { return PartialRange::NULL };
        let range = MemoryRange { address: address as *mut u8, size: last.end };
        let whole = parts.len() == 1 && parts[0].start == 0;
        PartialRange { range, parts: (!whole).then(|| parts.into()) }
    }

    /// Returns the first address, which may lie before the memory; null if there is no memory.
    #[inline(always)]
    pub fn address(&self) -> *mut u8 {
        self.range.address
    }

    /// Returns `size` bytes at `offset`, if all of them lie inside of one part.
    #[inline(always)]
    pub fn exact(&self, offset: u64, size: u64) -> Option<MemoryRange> {
        let bytes = self.range.exact(offset, size)?;
        if self.parts.is_some() && !self.part_contains(offset, offset + size) {
            return None;
        }
        Some(bytes)
    }

    /// Returns true if all bytes from the offset that `first` returns up to `end` lie inside of one
    /// part. `first` is called only if there may be no memory at the range's beginning.
    #[inline(always)]
    pub fn contains_bytes(&self, first: impl FnOnce() -> u64, end: u64) -> bool {
        let inside = !self.range.address.is_null() && end <= self.range.size;
        inside && (self.parts.is_none() || self.part_contains(first(), end))
    }

    #[cold]
    fn part_contains(&self, start: u64, end: u64) -> bool {
        self.parts.iter().flat_map(|parts| parts.iter()).any(|part| part.start <= start && end <= part.end)
    }
}

impl From<MemoryRange> for PartialRange {
    fn from(range: MemoryRange) -> PartialRange {
        PartialRange { range, parts: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_inside_of_one_part_or_out_of_bounds() {
        let range = PartialRange::new(0x1000, &[32..64, 64..80, 100..110]);
        let is = |offset, size| range.exact(offset, size).map(|bytes| (bytes.address as u64, bytes.size));
        assert_eq!(
            [is(32, 32), is(31, 2), is(60, 8), is(100, 10)],
            [Some((0x1020, 32)), None, None, Some((0x1064, 10))]
        );
        assert_eq!([is(0, 1), is(100, 11), is(u64::MAX, 2), is(80, 1)], [None; 4]);
        assert!(range.contains_bytes(|| 40, 64) && !range.contains_bytes(|| 0, 64) && !range.contains_bytes(|| 40, 70));
        // A range of a single part does not call `first`.
        let whole = PartialRange::new(0x1000, std::slice::from_ref(&(0..64)));
        assert!(whole.exact(0, 64).is_some() && whole.exact(1, 64).is_none());
        assert!(whole.contains_bytes(|| unreachable!(), 64) && !whole.contains_bytes(|| unreachable!(), 65));
        for null in [PartialRange::NULL, PartialRange::new(0x1000, &[]), MemoryRange::NULL.into()] {
            assert!(null.exact(0, 0).is_none() && !null.contains_bytes(|| 0, 0));
        }
    }
}
