//! The table of live acceleration structures of a device: from a reference, as an instance, a
//! descriptor or serialized data has it, to the structure's memory.
//!
//! References are device addresses and, in builds on the host, handles. Threads that trace rays
//! look one up for each instance that a ray enters. A lookup therefore takes no lock and writes
//! nothing: it reads a version, the slots of a hash table, and the version again, and starts anew
//! if it has changed. The version is odd while a structure is added or removed.
//!
//! The table has ranges and owns no memory. A lookup asks the heap what is live, so that structures
//! whose memory is freed are not found. The answer holds until a structure is created or destroyed
//! or memory is freed: a slot notes when it was given, because the heap looks at every 64 KiB.

use super::acceleration_structure::AccelerationStructure;
use super::memory::Heap;
use crate::fallible;
use crate::ffi::handle;
use crate::shader_compiler::ray_query::{FoundStructure, StructureTable};
use ash::vk;
use base::mem::MemoryRange;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, OnceLock};

/// Addresses of a structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    address: u64,
    size: u64,
}

/// Key of a slot that was never used.
const FREE: u64 = 0;
/// Key of a slot whose structure is destroyed. No reference is this number.
const REMOVED: u64 = u64::MAX;
/// Number of slots of the smallest array.
const FIRST_SLOTS: usize = 64;
/// Number of arrays, each with twice as many slots as the one before it.
const ARRAYS: usize = 28;

#[derive(Default)]
struct Slot {
    key: AtomicU64,
    address: AtomicU64,
    size: AtomicU64,
    /// The [`stamp`] at which the memory was live.
    checked: AtomicU64,
}

/// A structure that was looked up.
struct Found<'a> {
    place: Place,
    slot: &'a Slot,
    /// Version of the table.
    version: u64,
}

/// Returns a number that changes with the version of the table and with the heap's number of
/// deaths, of which it has 32 bits each.
fn stamp(version: u64, deaths: u64) -> u64 {
    version << 32 | deaths & u64::from(u32::MAX)
}

/// The hash table that lookups read. Arrays are made as they are required, and remain.
#[derive(Default)]
struct Slots {
    arrays: [OnceLock<Box<[Slot]>>; ARRAYS],
    /// Number of the array that is used.
    array: AtomicUsize,
    /// Odd while slots are written.
    version: AtomicU64,
}

/// Returns the slot, of `count`, where the search for a key begins.
fn first_slot(key: u64, count: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & count.wrapping_sub(1)
}

/// Returns the slot that has a key, or the free one that ends the search. `None` if there are no
/// slots, or all have other keys, which the table's bound on used slots excludes.
fn slot_of(slots: &[Slot], key: u64) -> Option<&Slot> {
    let (before, behind) = slots.split_at_checked(first_slot(key, slots.len()))?;
    behind
        .iter()
        .chain(before)
        .find(|slot| matches!(slot.key.load(Ordering::Relaxed), found if found == key || found == FREE))
}

impl Slots {
    fn find(&self, key: u64) -> Option<Found<'_>> {
        if key == FREE || key == REMOVED {
            return None;
        }
        loop {
            let version = self.version.load(Ordering::Acquire);
            if version & 1 == 0 {
                let read = self.read(key);
                // The loads above are complete before the version is read again.
                fence(Ordering::Acquire);
                if self.version.load(Ordering::Relaxed) == version {
                    return read.map(|(place, slot)| Found { place, slot, version });
                }
            }
            std::hint::spin_loop();
        }
    }

    /// Returns the slots that are used: none before the first structure.
    fn current(&self) -> &[Slot] {
        self.arrays.get(self.array.load(Ordering::Relaxed)).and_then(OnceLock::get).map_or(&[], |slots| slots)
    }

    fn read(&self, key: u64) -> Option<(Place, &Slot)> {
        let slot = slot_of(self.current(), key)?;
        let place = Place { address: slot.address.load(Ordering::Relaxed), size: slot.size.load(Ordering::Relaxed) };
        (slot.key.load(Ordering::Relaxed) == key).then_some((place, slot))
    }

    /// Calls a function that writes slots. Only one thread does so at a time.
    fn write(&self, write: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        write();
        self.version.store(version + 2, Ordering::Release);
    }
}

fn store(slot: &Slot, key: u64, place: Place) {
    slot.address.store(place.address, Ordering::Relaxed);
    slot.size.store(place.size, Ordering::Relaxed);
    slot.key.store(key, Ordering::Relaxed);
}

/// A structure in the table.
#[derive(Clone, Copy)]
struct Entered {
    place: Place,
    handle: u64,
}

/// Structures by reference and owner. Structures that share an address have the same key.
#[derive(Default)]
struct Owned {
    structures: BTreeMap<(u64, u64), Entered>,
    /// Number of slots that are not free, with those of destroyed structures.
    used: usize,
}

impl Owned {
    /// Returns the largest structure of a key whose memory is live, or else the largest one. The
    /// buffer of a structure may have been destroyed before it, and another one be in its place.
    fn largest(&self, key: u64, heap: &Heap) -> Option<Entered> {
        let all = self.structures.range((key, 0)..=(key, u64::MAX)).map(|(_, entered)| *entered);
        all.max_by_key(|Entered { place, .. }| (heap.range(place.address, place.size).is_some(), place.size))
    }
}

/// The live structures of a device.
pub struct LiveStructures {
    heap: Arc<Heap>,
    slots: Slots,
    owned: Mutex<Owned>,
}

impl LiveStructures {
    /// Creates an empty table.
    pub fn new(heap: Arc<Heap>) -> LiveStructures {
        LiveStructures { heap, slots: Slots::default(), owned: Mutex::default() }
    }

    /// Adds a structure whose buffer has memory; a structure that is in the table keeps its place.
    /// Returns the device address: 0 if the buffer has no memory.
    ///
    /// # Errors
    /// VK_ERROR_OUT_OF_HOST_MEMORY.
    pub fn add(&self, structure: &Arc<AccelerationStructure>) -> Result<u64, vk::Result> {
        let memory = structure.memory();
        let place = Place { address: memory.address as u64, size: memory.size };
        if place.address == 0 {
            return Ok(0);
        }
        if !structure.was_entered() {
            let owner = handle::raw(structure);
            let mut owned = self.owned.lock();
            if structure.was_entered() {
                return Ok(place.address);
            }
            let entered = Entered { place, handle: structure.handle() };
            self.insert(&mut owned, (place.address, owner), entered)?;
            self.insert(&mut owned, (entered.handle, owner), entered)?;
            structure.note_as_entered();
        }
        Ok(place.address)
    }

    /// Removes a structure whose handle is destroyed. It is not added again.
    pub fn remove(&self, structure: &Arc<AccelerationStructure>) {
        let owner = handle::raw(structure);
        let mut owned = self.owned.lock();
        structure.note_as_entered();
        let Some(entered) = owned.structures.get(&(structure.handle(), owner)).copied() else { return };
        for key in [entered.place.address, entered.handle] {
            owned.structures.remove(&(key, owner));
            let found = slot_of(self.slots.current(), key);
            let Some(slot) = found.filter(|slot| slot.key.load(Ordering::Relaxed) == key) else { continue };
            self.slots.write(|| match owned.largest(key, &self.heap) {
                Some(other) => store(slot, key, other.place),
                None => store(slot, REMOVED, Place::default()),
            });
        }
    }

    fn insert(&self, owned: &mut Owned, key: (u64, u64), entered: Entered) -> Result<(), vk::Result> {
        if key.0 == FREE || key.0 == REMOVED {
            return Ok(());
        }
        fallible::check()?;
        owned.structures.insert(key, entered);
        let slots = self.slots.current();
        if owned.used >= slots.len() / 2 {
            return self.rebuild(owned);
        }
        if let (Some(slot), Some(Entered { place, .. })) = (slot_of(slots, key.0), owned.largest(key.0, &self.heap)) {
            owned.used += usize::from(slot.key.load(Ordering::Relaxed) == FREE);
            self.slots.write(|| store(slot, key.0, place));
        }
        Ok(())
    }

    /// Writes all structures to an array in which at most a quarter of the slots is used: the
    /// current one, if it is large enough, or a larger one.
    fn rebuild(&self, owned: &mut Owned) -> Result<(), vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
        let fits = |number: &usize| owned.structures.len() <= (FIRST_SLOTS << number) / 4;
        let current = self.slots.array.load(Ordering::Relaxed);
        let number = (current..ARRAYS).find(fits).ok_or(out)?;
        if self.slots.arrays[number].get().is_none() {
            let slots = fallible::collect((0..FIRST_SLOTS << number).map(|_| Slot::default()))?;
            let _ = self.slots.arrays[number].set(slots.into());
        }
        let Some(slots) = self.slots.arrays[number].get() else { return Err(out) };
        self.slots.write(|| {
            slots.iter().for_each(|slot| store(slot, FREE, Place::default()));
            owned.used = 0;
            for (key, _) in owned.structures.keys() {
                let found = slot_of(slots, *key).filter(|slot| slot.key.load(Ordering::Relaxed) == FREE);
                if let (Some(slot), Some(Entered { place, .. })) = (found, owned.largest(*key, &self.heap)) {
                    owned.used += 1;
                    store(slot, *key, place);
                }
            }
            self.slots.array.store(number, Ordering::Relaxed);
        });
        Ok(())
    }

    /// Returns the handle of a structure at an address, which serialization on the host writes.
    pub fn handle_at(&self, address: u64) -> Option<u64> {
        self.owned.lock().largest(address, &self.heap).map(|entered| entered.handle)
    }
}

impl StructureTable for LiveStructures {
    fn find(&self, reference: u64) -> Option<FoundStructure> {
        let Found { place: Place { address, size }, slot, version } = self.slots.find(reference)?;
        let now = self.heap.deaths(address).map(|deaths| stamp(version, deaths));
        if now.is_some_and(|now| slot.checked.load(Ordering::Relaxed) == now) {
            return Some(FoundStructure { address, memory: MemoryRange { address: address as *mut u8, size } });
        }
        let memory = self.heap.range(address, size)?;
        if let Some(now) = now {
            slot.checked.store(now, Ordering::Relaxed);
        }
        Some(FoundStructure { address, memory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> LiveStructures {
        LiveStructures::new(Arc::default())
    }

    fn insert(table: &LiveStructures, key: u64, owner: u64, size: u64) {
        let entered = Entered { place: Place { address: key, size }, handle: 0 };
        table.insert(&mut table.owned.lock(), (key, owner), entered).expect("memory");
    }

    fn found(table: &LiveStructures, key: u64) -> Option<Place> {
        table.slots.find(key).map(|found| found.place)
    }

    #[test]
    fn what_was_inserted_is_found_and_nothing_else() {
        let table = table();
        assert_eq!(found(&table, 256), None);
        for i in 1..=10_000u64 {
            insert(&table, 256 * i, i, i);
        }
        for i in 1..=10_000u64 {
            assert_eq!(found(&table, 256 * i), Some(Place { address: 256 * i, size: i }));
            assert_eq!(found(&table, 256 * i + 1), None);
        }
        assert_eq!((found(&table, FREE), found(&table, REMOVED)), (None, None));
    }

    #[test]
    fn the_largest_structure_at_an_address_is_found() {
        let table = table();
        for (owner, size) in [(1, 20), (2, 50), (3, 30)] {
            insert(&table, 512, owner, size);
        }
        assert_eq!(found(&table, 512).map(|place| place.size), Some(50));
    }

    #[test]
    fn lookups_see_whole_entries_while_others_change() {
        let table = table();
        insert(&table, 1 << 20, 1, 7);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 1..20_000u64 {
                    insert(&table, 256 * (1 + i % 3000), i, 256 * (1 + i % 3000));
                }
            });
            for i in 0..200_000u64 {
                assert_eq!(found(&table, 1 << 20), Some(Place { address: 1 << 20, size: 7 }));
                let key = 256 * (1 + i % 3000);
                assert!(found(&table, key).is_none_or(|place| place == Place { address: key, size: key }));
            }
        });
    }
}
