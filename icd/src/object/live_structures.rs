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
use base::hash::WordMap;
use base::mem::MemoryRange;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
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

/// Number of keys of a structure: its address and its handle.
const KEYS: usize = 2;

/// Stores the keys of a structure at an address where the largest one has `largest` bytes. Returns
/// how many free slots were used.
fn set_keys(slots: &[Slot], address: u64, entered: Entered, largest: u64) -> usize {
    [(address, largest), (entered.handle, entered.size)]
        .into_iter()
        .map(|(key, size)| set(slots, key, Place { address, size }))
        .sum()
}

/// Stores a place of a key, and returns 1 if a free slot was used. Numbers that are no references
/// have none.
fn set(slots: &[Slot], key: u64, place: Place) -> usize {
    if key == FREE || key == REMOVED {
        return 0;
    }
    let Some(slot) = slot_of(slots, key) else { return 0 };
    let was_free = slot.key.load(Ordering::Relaxed) == FREE;
    store(slot, key, place);
    usize::from(was_free)
}

/// A structure in the table.
#[derive(Clone, Copy)]
struct Entered {
    /// The object's number ([`handle::raw`]).
    owner: u64,
    /// The handle's number.
    handle: u64,
    /// Number of bytes.
    size: u64,
}

/// Structures by address. Structures rarely share one.
#[derive(Default)]
struct Owned {
    /// One structure of each address.
    first: WordMap<u64, Entered>,
    /// Further structures of addresses, by address and owner.
    others: BTreeMap<(u64, u64), Entered>,
    /// Number of slots that are not free, with those of destroyed structures.
    used: usize,
}

impl Owned {
    /// Returns the further structures at an address.
    fn others_at(&self, address: u64) -> impl Iterator<Item = Entered> {
        self.others.range((address, 0)..=(address, u64::MAX)).map(|(_, other)| *other)
    }

    /// Returns the largest structure at an address whose memory is live, or else the largest one.
    /// The buffer of a structure may have been destroyed before it, and another one may be in its
    /// place.
    fn largest(&self, address: u64, heap: &Heap) -> Option<Entered> {
        let first = *self.first.get(&address)?;
        let mut others = self.others_at(address).peekable();
        if others.peek().is_none() {
            return Some(first);
        }
        others.chain([first]).max_by_key(|entered| (heap.range(address, entered.size).is_some(), entered.size))
    }

    fn insert(&mut self, address: u64, entered: Entered) -> Result<(), vk::Result> {
        fallible::check()?;
        self.first.try_reserve(1).map_err(|_| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
        match self.first.entry(address) {
            Entry::Vacant(place) => _ = place.insert(entered),
            Entry::Occupied(_) => _ = self.others.insert((address, entered.owner), entered),
        }
        Ok(())
    }

    /// Removes a structure. Another one at the address may become the first one.
    fn remove(&mut self, address: u64, owner: u64) {
        if self.others.remove(&(address, owner)).is_some() {
            return;
        }
        let next = self.others_at(address).next();
        if let Some(other) = next {
            self.others.remove(&(address, other.owner));
            self.first.insert(address, other);
        } else {
            self.first.remove(&address);
        }
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
            let mut owned = self.owned.lock();
            if structure.was_entered() {
                return Ok(place.address);
            }
            let entered = Entered { owner: handle::raw(structure), handle: structure.handle(), size: place.size };
            self.insert(&mut owned, place.address, entered)?;
            structure.note_entry(place.address);
        }
        Ok(place.address)
    }

    /// Removes a structure whose handle is destroyed. It is not added again.
    pub fn remove(&self, structure: &Arc<AccelerationStructure>) {
        let mut owned = self.owned.lock();
        let Some(address) = structure.note_removal() else { return };
        owned.remove(address, handle::raw(structure));
        for key in [address, structure.handle()] {
            let found = slot_of(self.slots.current(), key);
            // Memory that the application had imported may have become a handle's.
            let is_own =
                |slot: &&Slot| [&slot.key, &slot.address].map(|word| word.load(Ordering::Relaxed)) == [key, address];
            let Some(slot) = found.filter(is_own) else { continue };
            self.slots.write(|| match owned.largest(key, &self.heap) {
                Some(other) => store(slot, key, Place { address: key, size: other.size }),
                None => store(slot, REMOVED, Place::default()),
            });
        }
    }

    /// Adds a structure at an address, or nothing if there is no memory.
    fn insert(&self, owned: &mut Owned, address: u64, entered: Entered) -> Result<(), vk::Result> {
        owned.insert(address, entered)?;
        let slots = self.slots.current();
        if owned.used + KEYS > slots.len() / 2 {
            return self.rebuild(owned).inspect_err(|_| owned.remove(address, entered.owner));
        }
        let largest = owned.largest(address, &self.heap).unwrap_or(entered);
        self.slots.write(|| owned.used += set_keys(slots, address, entered, largest.size));
        Ok(())
    }

    /// Writes all structures to an array in which at most a quarter of the slots is used: the
    /// current one, if it is large enough, or a larger one.
    fn rebuild(&self, owned: &mut Owned) -> Result<(), vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
        let keys = KEYS * (owned.first.len() + owned.others.len());
        let current = self.slots.array.load(Ordering::Relaxed);
        let number = (current..ARRAYS).find(|number| keys <= (FIRST_SLOTS << number) / 4).ok_or(out)?;
        if self.slots.arrays[number].get().is_none() {
            let slots = fallible::collect((0..FIRST_SLOTS << number).map(|_| Slot::default()))?;
            let _ = self.slots.arrays[number].set(slots.into());
        }
        let Some(slots) = self.slots.arrays[number].get() else { return Err(out) };
        self.slots.write(|| {
            if number == current {
                slots.iter().for_each(|slot| store(slot, FREE, Place::default()));
            }
            let first = owned.first.iter().map(|(&address, &entered)| (address, entered));
            let others = owned.others.iter().map(|(&(address, _), &entered)| (address, entered));
            let mut used = 0;
            for (address, entered) in first.chain(others) {
                let largest = owned.largest(address, &self.heap).unwrap_or(entered);
                used += set_keys(slots, address, entered, largest.size);
            }
            owned.used = used;
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
        table.insert(&mut table.owned.lock(), key, Entered { owner, handle: 0, size }).expect("memory");
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
    fn structures_that_share_an_address_are_removed_one_by_one() {
        let table = table();
        let structures: Vec<Arc<AccelerationStructure>> = (1..=3u64)
            .map(|i| {
                let structure = AccelerationStructure::at_address(4096, 256 * i, 0).expect("a structure");
                structure.set_handle(0x7000_0000 + i);
                Arc::new(structure)
            })
            .collect();
        let sizes =
            |keys: &[u64]| keys.iter().map(|&key| found(&table, key).map(|place| place.size)).collect::<Vec<_>>();
        let keys = [4096, 0x7000_0001, 0x7000_0002, 0x7000_0003];
        structures.iter().for_each(|structure| assert_eq!(table.add(structure), Ok(4096)));
        assert_eq!(sizes(&keys), [Some(768), Some(256), Some(512), Some(768)]);
        assert_eq!(table.handle_at(4096), Some(0x7000_0003));
        table.remove(&structures[2]);
        assert_eq!(sizes(&keys), [Some(512), Some(256), Some(512), None]);
        table.remove(&structures[0]);
        assert_eq!(sizes(&keys), [Some(512), None, Some(512), None]);
        table.remove(&structures[1]);
        assert_eq!(sizes(&keys), [None; 4]);
        // What is destroyed is not added again.
        assert_eq!(table.add(&structures[1]), Ok(4096));
        assert_eq!((sizes(&keys), table.handle_at(4096)), (vec![None; 4], None));
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
