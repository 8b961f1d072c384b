//! Object names and private data: the private data of slots, and the names of debug-utils, by
//! handle.
//!
//! A handle is the address of its object, and addresses are reused. So the data of an object are
//! removed with its handle. [`remove`] is called wherever a handle is destroyed ([`super::handle`],
//! and the pool of descriptor sets), before its memory is freed. Live handles are unique in the
//! process, across all devices and kinds, so there is one table.

#![forbid(unsafe_code)]

use ash::vk;
use parking_lot::RwLock;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Data of an object.
#[derive(Default)]
struct ObjectData {
    /// Private data, by the serial numbers of their slots.
    values: SmallVec<[(u64, u64); 2]>,
    name: Option<String>,
}

impl ObjectData {
    fn is_empty(&self) -> bool {
        self.values.is_empty() && self.name.is_none()
    }
}

static TABLE: LazyLock<RwLock<HashMap<u64, ObjectData>>> = LazyLock::new(RwLock::default);
/// Number of objects in the table. Most applications have none, and their handles are destroyed
/// without a look at the table.
static OBJECTS: AtomicUsize = AtomicUsize::new(0);

/// Changes the table and updates the number of objects.
fn update_table<R>(how: impl FnOnce(&mut HashMap<u64, ObjectData>) -> R) -> R {
    let mut table = TABLE.write();
    let result = how(&mut table);
    OBJECTS.store(table.len(), Ordering::Relaxed);
    result
}

/// Removes the data of an object whose handle is destroyed.
pub fn remove(object: u64) {
    // Data of this object are visible here: the thread that destroys it has synchronised with the
    // thread that set them.
    if OBJECTS.load(Ordering::Relaxed) != 0 {
        drop(update_table(|table| table.remove(&object)));
    }
}

/// Implements `vkSetDebugUtilsObjectNameEXT`.
pub fn set_name(object: u64, name: Option<String>) -> Result<(), vk::Result> {
    update_table(|table| {
        base::alloc::without_reserve(|| table.try_reserve(1)).map_err(|_| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
        match name.filter(|name| !name.is_empty()) {
            Some(name) => table.entry(object).or_default().name = Some(name),
            None => {
                if let Some(data) = table.get_mut(&object) {
                    data.name = None;
                    if data.is_empty() {
                        table.remove(&object);
                    }
                }
            }
        }
        Ok(())
    })
}

/// Returns the name that the application gave, or the handle's number.
pub fn name(object: u64) -> String {
    let name = TABLE.read().get(&object).and_then(|data| data.name.clone());
    name.unwrap_or_else(|| format!("{object:#x}"))
}

/// `VkPrivateDataSlot`.
pub struct PrivateDataSlot {
    /// Number of the slot, which is never used again.
    serial: u64,
}

impl Default for PrivateDataSlot {
    fn default() -> PrivateDataSlot {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        PrivateDataSlot { serial: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

impl PrivateDataSlot {
    /// Implements `vkSetPrivateData`.
    pub fn set(&self, object: u64, data: u64) {
        update_table(|table| {
            let values = &mut table.entry(object).or_default().values;
            match values.iter_mut().find(|(serial, _)| *serial == self.serial) {
                Some((_, value)) => *value = data,
                None => values.push((self.serial, data)),
            }
        });
    }

    /// Implements `vkGetPrivateData`; returns 0 if the value was never set.
    pub fn get(&self, object: u64) -> u64 {
        let table = TABLE.read();
        let value = table.get(&object).and_then(|data| data.values.iter().find(|(serial, _)| *serial == self.serial));
        value.map_or(0, |(_, data)| *data)
    }
}

impl Drop for PrivateDataSlot {
    fn drop(&mut self) {
        if OBJECTS.load(Ordering::Relaxed) != 0 {
            update_table(|table| {
                table.retain(|_, data| {
                    data.values.retain(|(serial, _)| *serial != self.serial);
                    !data.is_empty()
                });
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_removed_with_their_object_or_slot() {
        // No handle has these numbers; other tests use the table too.
        let (a, b) = (3, 5);
        let (first, second) = (PrivateDataSlot::default(), PrivateDataSlot::default());
        let all = || [first.get(a), first.get(b), second.get(a), second.get(b)];
        first.set(a, 1);
        first.set(b, 2);
        second.set(a, 3);
        first.set(a, 4);
        assert_eq!(all(), [4, 2, 3, 0]);
        remove(a);
        assert_eq!(all(), [0, 2, 0, 0]);
        second.set(b, 6);
        drop(first);
        assert_eq!((second.get(a), second.get(b)), (0, 6));
        assert_eq!(TABLE.read()[&b].values.len(), 1);
        drop(second);
        assert!(!TABLE.read().contains_key(&a) && !TABLE.read().contains_key(&b));
    }

    #[test]
    fn names_are_removed_with_their_object() {
        let object = 7;
        assert_eq!(name(object), "0x7");
        set_name(object, Some("a name".into())).expect("memory");
        assert_eq!(name(object), "a name");
        set_name(object, Some(String::new())).expect("memory");
        assert!(!TABLE.read().contains_key(&object));
        set_name(object, Some("another".into())).expect("memory");
        remove(object);
        assert_eq!(name(object), "0x7");
    }
}
