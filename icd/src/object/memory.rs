//! Device memory: pieces of the heap's arena, committed by the kernel when touched, counted against the heap.

use crate::caps::heap_size;
use crate::os::arena::{Arena, Piece};
use crate::os::backing::Backing;
use crate::os::memory_limits::addresses_left;
use ash::vk;
use base::abi::AddressSpace;
use base::mem::MemoryRange;
use parking_lot::Mutex;
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
pub struct Memory {
    // Goes first: what is counted as free can be allocated.
    piece: Piece,
    reserved: Arc<Reserved>,
}

impl Memory {
    /// Reserves `size` bytes of zeros.
    pub fn allocate(heap: &Arc<Heap>, size: u64, backing: Backing) -> Result<Memory, vk::Result> {
        let allocate = || {
            let reserved = heap.reserve(size).filter(|_| size != 0)?;
            // A descriptor's address promises a few readable bytes: the arena's tail.
            let piece = heap.arena()?.allocate(usize::try_from(size).ok()?, backing)?;
            Some(Memory { piece, reserved: Arc::new(reserved) })
        };
        allocate().ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
    }

    /// The bytes from `offset` on, a multiple of the arena's granule, a second time; they count against the heap once, as long as one of
    /// the two lives. Refused where the memory is not a file ([`Backing::Memfd`]).
    #[cfg_attr(not(test), expect(dead_code, reason = "the way for sparse bindings, which no feature has yet"))]
    pub fn map_again(&self, offset: u64, bytes: u64) -> Result<Memory, vk::Result> {
        let again = || {
            let (offset, bytes) = (usize::try_from(offset).ok()?, usize::try_from(bytes).ok()?);
            let piece = self.reserved.heap.arena()?.map_again(&self.piece, offset, bytes)?;
            Some(Memory { piece, reserved: self.reserved.clone() })
        };
        again().ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
    }

    /// `allocationSize`.
    pub fn size(&self) -> u64 {
        self.piece.range().size
    }

    /// `bytes` bytes at `offset`, if they are inside.
    pub fn range(&self, offset: u64, bytes: u64) -> Option<MemoryRange> {
        self.piece.range().exact(offset, bytes)
    }
}

/// A resource's binding to memory, set once.
pub struct Binding {
    _memory: Arc<Memory>,
    range: MemoryRange,
}

impl Binding {
    /// Binds `bytes` bytes at `offset`; VK_ERROR_OUT_OF_DEVICE_MEMORY when they are not inside the memory.
    pub fn new(memory: Arc<Memory>, offset: u64, bytes: u64) -> Result<Binding, vk::Result> {
        let range = memory.range(offset, bytes).ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
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
}
