//! Private data: values by object and slot.
//!
//! A handle is the address of its object, and addresses come again. So the values of an object end with its handle:
//! [`forget`] is called wherever a handle ends (`entry/handle.rs`, and the pool of descriptor sets), before its memory is given back. Handles are
//! unique in the process while they live, whatever device or kind they are of; therefore there is one table.

use parking_lot::RwLock;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Values of an object, by their slots' serial numbers.
type Values = SmallVec<[(u64, u64); 2]>;

static TABLE: LazyLock<RwLock<HashMap<u64, Values>>> = LazyLock::new(RwLock::default);
/// Objects in the table: most applications have none, and their handles end without a look at it.
static OBJECTS: AtomicUsize = AtomicUsize::new(0);

/// An object's handle ends.
pub fn forget(object: u64) {
    // An object's own values are seen here: whoever ends it has synchronised with who set them.
    if OBJECTS.load(Ordering::Relaxed) != 0 {
        let mut table = TABLE.write();
        table.remove(&object);
        OBJECTS.store(table.len(), Ordering::Relaxed);
    }
}

/// `VkPrivateDataSlot`.
pub struct PrivateDataSlot {
    /// Never used again.
    serial: u64,
}

impl Default for PrivateDataSlot {
    fn default() -> PrivateDataSlot {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        PrivateDataSlot { serial: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

impl PrivateDataSlot {
    /// `vkSetPrivateData`.
    pub fn set(&self, object: u64, data: u64) {
        let mut table = TABLE.write();
        let values = table.entry(object).or_default();
        match values.iter_mut().find(|(serial, _)| *serial == self.serial) {
            Some((_, value)) => *value = data,
            None => values.push((self.serial, data)),
        }
        OBJECTS.store(table.len(), Ordering::Relaxed);
    }

    /// `vkGetPrivateData`; 0 when never set.
    pub fn get(&self, object: u64) -> u64 {
        let table = TABLE.read();
        let value = table.get(&object).and_then(|values| values.iter().find(|(serial, _)| *serial == self.serial));
        value.map_or(0, |(_, data)| *data)
    }
}

impl Drop for PrivateDataSlot {
    fn drop(&mut self) {
        if OBJECTS.load(Ordering::Relaxed) != 0 {
            let mut table = TABLE.write();
            table.retain(|_, values| {
                values.retain(|(serial, _)| *serial != self.serial);
                !values.is_empty()
            });
            OBJECTS.store(table.len(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_with_their_object_and_with_their_slot() {
        // Numbers that no handle has; other tests use the table too.
        let (a, b) = (3, 5);
        let (first, second) = (PrivateDataSlot::default(), PrivateDataSlot::default());
        let all = || [first.get(a), first.get(b), second.get(a), second.get(b)];
        first.set(a, 1);
        first.set(b, 2);
        second.set(a, 3);
        first.set(a, 4);
        assert_eq!(all(), [4, 2, 3, 0]);
        forget(a);
        assert_eq!(all(), [0, 2, 0, 0]);
        second.set(b, 6);
        drop(first);
        assert_eq!((second.get(a), second.get(b)), (0, 6));
        assert_eq!(TABLE.read()[&b].len(), 1);
        drop(second);
        assert!(!TABLE.read().contains_key(&a) && !TABLE.read().contains_key(&b));
    }
}
