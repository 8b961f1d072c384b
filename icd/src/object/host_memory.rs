//! Imported memory of the application, and its ranges, so that commands find it by addresses as
//! they find memory of the arena.

#![forbid(unsafe_code)]

use base::mem::MemoryRange;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Ranges of living imported memory, by first address and end, with the number of imports of each.
/// They can overlap.
#[derive(Default)]
pub struct HostRanges(RwLock<BTreeMap<(u64, u64), usize>>);

/// Imported memory of the application, which a heap knows as long as this lives.
pub struct HostMemory {
    ranges: Arc<HostRanges>,
    range: MemoryRange,
}

fn key(range: MemoryRange) -> (u64, u64) {
    let first = range.address as u64;
    (first, first.saturating_add(range.size))
}

impl HostMemory {
    /// Registers memory that may be read and written as long as the object lives.
    pub fn new(ranges: &Arc<HostRanges>, range: MemoryRange) -> HostMemory {
        *ranges.0.write().entry(key(range)).or_default() += 1;
        HostMemory { ranges: ranges.clone(), range }
    }

    /// Returns the bytes of the memory.
    pub fn range(&self) -> MemoryRange {
        self.range
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        let mut ranges = self.ranges.0.write();
        let key = key(self.range);
        if let Some(count) = ranges.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                ranges.remove(&key);
            }
        }
    }
}

impl HostRanges {
    /// Calls `add` with each part of some addresses that is imported memory, in ascending order.
    /// Ranges that overlap or touch each other are one part.
    pub fn live_parts(&self, addresses: &Range<u64>, mut add: impl FnMut(Range<u64>)) {
        let ranges = self.0.read();
        let mut open: Option<Range<u64>> = None;
        for &(first, end) in ranges.keys().take_while(|&&(first, _)| first < addresses.end) {
            let part = first.max(addresses.start)..end.min(addresses.end);
            if part.is_empty() {
                continue;
            }
            match &mut open {
                Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
                _ => open.replace(part).into_iter().for_each(&mut add),
            }
        }
        open.into_iter().for_each(add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imported_memory_is_found_until_it_is_dropped() {
        let ranges = Arc::new(HostRanges::default());
        let new = |first: u64, size| HostMemory::new(&ranges, MemoryRange { address: first as *mut u8, size });
        let parts = |addresses: Range<u64>| {
            let mut parts = Vec::new();
            ranges.live_parts(&addresses, |part| parts.push(part));
            parts
        };
        assert!(parts(0..u64::MAX).is_empty());
        let memories = [new(0x3000, 0x1000), new(0x1000, 0x1000), new(0x1000, 0x1000), new(0x3800, 0x1800)];
        assert_eq!(parts(0..u64::MAX), [0x1000..0x2000, 0x3000..0x5000]);
        assert_eq!(parts(0x1800..0x3900), [0x1800..0x2000, 0x3000..0x3900]);
        assert!(parts(0x2000..0x3000).is_empty() && parts(0x5000..0x6000).is_empty());
        let [a, b, c, d] = memories;
        drop((a, b));
        assert_eq!(parts(0..u64::MAX), [0x1000..0x2000, 0x3800..0x5000]);
        drop((c, d));
        assert!(parts(0..u64::MAX).is_empty());
    }
}
