//! Device memory: pieces of the heap's arena, committed by the kernel when touched, counted against the heap; or memory of the application's.
//!
//! What lies in the arena has a tail of a few bytes that may be read ([`ADDRESS_TAIL`]). Memory of the application's has none: there the resources'
//! requirements have one ([`Binding::new`] sees to it that it is inside).

use crate::caps::heap_size;
use crate::os::arena::{Arena, Piece};
use crate::os::backing::Backing;
use crate::os::memory_limits::addresses_left;
use ash::vk;
use base::abi::{ADDRESS_TAIL, AddressSpace};
use base::mem::MemoryRange;
use parking_lot::Mutex;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// The memory heap, as large as [`heap_size`] says: asked when it is used, as that reads files.
#[derive(Default)]
pub struct Heap {
    used: AtomicU64,
    /// From the first allocation on; None: the process got no addresses.
    arena: OnceLock<Option<Arc<Arena>>>,
}

/// What all heaps have used.
static USED: AtomicU64 = AtomicU64::new(0);

/// A heap's arena: its own, so that no address of one instance is alive in another; but where the process's addresses are limited, one that
/// all living heaps share, reserved by the first one that allocates.
fn arena_for(heap: u64) -> Option<Arc<Arena>> {
    if addresses_left().is_none() {
        return Arena::reserve(heap).map(Arc::new);
    }
    static LIVING: Mutex<Weak<Arena>> = Mutex::new(Weak::new());
    let mut living = LIVING.lock();
    if let Some(arena) = living.upgrade() {
        return Some(arena);
    }
    let arena = Arc::new(Arena::reserve(heap)?);
    *living = Arc::downgrade(&arena);
    Some(arena)
}

impl Heap {
    fn arena(&self) -> Option<&Arc<Arena>> {
        self.arena.get_or_init(|| arena_for(heap_size())).as_ref()
    }

    /// Where physical pointers may point.
    pub fn addresses(&self) -> AddressSpace {
        self.arena.get().and_then(Option::as_ref).map_or(AddressSpace::EMPTY, |arena| arena.addresses())
    }

    /// `bytes` bytes at a device address, if memory is alive at all of them: then they may be read and written until it is freed.
    pub fn range(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        self.arena.get()?.as_ref()?.range(address, bytes)
    }

    /// `heapUsage`: bytes that the process has allocated, by any instance.
    pub fn used_by_process() -> u64 {
        USED.load(Ordering::Relaxed)
    }

    /// Counts `bytes` as used; `None` when there are not so many left.
    fn reserve(self: &Arc<Self>, bytes: u64) -> Option<Reserved> {
        let more = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= heap_size());
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        USED.fetch_add(bytes, Ordering::Relaxed);
        Some(Reserved { heap: self.clone(), bytes })
    }
}

/// Bytes of a heap that are counted as used as long as this lives.
struct Reserved {
    heap: Arc<Heap>,
    bytes: u64,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.heap.used.fetch_sub(self.bytes, Ordering::Relaxed);
        USED.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// `VkDeviceMemory`.
pub struct Memory(Place);

enum Place {
    Arena {
        // Goes first: what is counted as free can be allocated.
        piece: Piece,
        reserved: Arc<Reserved>,
    },
    /// The application's, which keeps it alive as long as this.
    Host(MemoryRange),
}

impl Memory {
    /// Reserves `size` bytes of zeros. VK_ERROR_OUT_OF_DEVICE_MEMORY.
    pub fn allocate(heap: &Arc<Heap>, size: u64, backing: Backing) -> Result<Memory, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        // A descriptor's address promises a few readable bytes: the arena's tail.
        Memory::place(heap, size, |arena, bytes| arena.allocate(bytes, backing).ok_or(out))
    }

    /// `size` bytes that [`Memory::export`] gave away, here or in another process; the descriptor is duplicated.
    /// VK_ERROR_INVALID_EXTERNAL_HANDLE: it is not one of so many bytes.
    pub fn import(heap: &Arc<Heap>, size: u64, fd: i32) -> Result<Memory, vk::Result> {
        let invalid = vk::Result::ERROR_INVALID_EXTERNAL_HANDLE;
        Memory::place(heap, size, |arena, bytes| arena.import(fd, bytes).ok_or(invalid))
    }

    fn place(
        heap: &Arc<Heap>,
        size: u64,
        place: impl FnOnce(&Arc<Arena>, usize) -> Result<Piece, vk::Result>,
    ) -> Result<Memory, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let reserved = Arc::new(heap.reserve(size).filter(|_| size != 0).ok_or(out)?);
        let bytes = usize::try_from(size).map_err(|_| out)?;
        let piece = place(heap.arena().ok_or(out)?, bytes)?;
        Ok(Memory(Place::Arena { piece, reserved }))
    }

    /// Memory of the application's: it may be read and written as long as this lives.
    pub fn of_host(range: MemoryRange) -> Memory {
        Memory(Place::Host(range))
    }

    /// A descriptor of the memory, which was allocated to be given away. VK_ERROR_TOO_MANY_OBJECTS: the process may have no more of them;
    /// or the memory is not of that kind.
    pub fn export(&self) -> Result<File, vk::Result> {
        let file = match &self.0 {
            Place::Arena { piece, .. } => piece.export(),
            Place::Host(_) => None,
        };
        file.ok_or(vk::Result::ERROR_TOO_MANY_OBJECTS)
    }

    /// The bytes from `offset` on, a multiple of the arena's granule, a second time; they count against the heap once, as long as one of
    /// the two lives. Refused where the memory is not a file ([`Backing::Memfd`]).
    #[cfg_attr(not(test), expect(dead_code, reason = "the way for sparse bindings, which no feature has yet"))]
    pub fn map_again(&self, offset: u64, bytes: u64) -> Result<Memory, vk::Result> {
        let again = || {
            let Place::Arena { piece, reserved } = &self.0 else { return None };
            let (offset, bytes) = (usize::try_from(offset).ok()?, usize::try_from(bytes).ok()?);
            let piece = reserved.heap.arena()?.map_again(piece, offset, bytes)?;
            Some(Memory(Place::Arena { piece, reserved: reserved.clone() }))
        };
        again().ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
    }

    /// All bytes.
    fn all(&self) -> MemoryRange {
        match &self.0 {
            Place::Arena { piece, .. } => piece.range(),
            Place::Host(range) => *range,
        }
    }

    /// `allocationSize`.
    pub fn size(&self) -> u64 {
        self.all().size
    }

    /// `bytes` bytes at `offset`, if they are inside.
    pub fn range(&self, offset: u64, bytes: u64) -> Option<MemoryRange> {
        self.all().exact(offset, bytes)
    }

    /// Bytes behind a resource that must be inside of the memory too.
    fn tail(&self) -> u64 {
        match self.0 {
            Place::Arena { .. } => 0,
            Place::Host(_) => ADDRESS_TAIL as u64,
        }
    }
}

/// A resource's binding to memory, set once.
pub struct Binding {
    _memory: Arc<Memory>,
    range: MemoryRange,
}

impl Binding {
    /// Binds `bytes` bytes at `offset`; VK_ERROR_OUT_OF_DEVICE_MEMORY when they, with a tail where the memory has none, are not inside it.
    pub fn new(memory: Arc<Memory>, offset: u64, bytes: u64) -> Result<Binding, vk::Result> {
        let range = memory.range(offset, bytes.saturating_add(memory.tail())).and_then(|range| range.exact(0, bytes));
        let range = range.ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
        Ok(Binding { _memory: memory, range })
    }

    /// The bytes.
    pub fn range(&self) -> MemoryRange {
        self.range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_mapping_counts_once() {
        let heap = Arc::new(Heap::default());
        let used = || heap.used.load(Ordering::Relaxed);
        let memory = Memory::allocate(&heap, 1 << 20, Backing::Memfd).expect("memory");
        let again = memory.map_again(1 << 16, 1 << 17).expect("a second mapping");
        assert_eq!((again.size(), used()), (1 << 17, 1 << 20));
        assert_ne!(again.range(0, 1).map(|r| r.address), memory.range(1 << 16, 1).map(|r| r.address));
        drop(memory);
        assert_eq!(used(), 1 << 20);
        drop(again);
        assert_eq!(used(), 0);
        let anonymous = Memory::allocate(&heap, 1 << 20, Backing::Anonymous).expect("memory");
        assert_eq!(anonymous.map_again(0, 1).err(), Some(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
    }

    #[test]
    fn memory_of_the_host_holds_a_resource_with_its_tail() {
        let mut bytes = [0u8; 256];
        let mut memory = || Arc::new(Memory::of_host(MemoryRange { address: bytes.as_mut_ptr(), size: 256 }));
        let tail = ADDRESS_TAIL as u64;
        let bound = [(0, 256 - tail), (64, 192 - tail), (0, 256 - tail + 1), (256, 0), (0, u64::MAX)]
            .map(|(offset, size)| Binding::new(memory(), offset, size).is_ok());
        assert_eq!(bound, [true, true, false, false, false]);
        assert_eq!(memory().export().err(), Some(vk::Result::ERROR_TOO_MANY_OBJECTS));
    }
}
