//! Device memory: pieces of the heap's arena, committed by the kernel when touched, counted against the heap.

use super::arena::{Arena, Piece};
use crate::caps::heap_size;
use crate::caps::memory_limits::addresses_left;
use ash::vk;
use base::abi::AddressSpace;
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
    fn arena(&self) -> Option<&Arena> {
        self.arena.get_or_init(|| arena_for(heap_size())).as_deref()
    }

    /// Where physical pointers may point.
    pub fn addresses(&self) -> AddressSpace {
        self.arena.get().and_then(Option::as_deref).map_or(AddressSpace::EMPTY, Arena::addresses)
    }

    fn reserve(&self, bytes: u64) -> bool {
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|&sum| sum <= heap_size())
            })
            .is_ok()
    }
}

/// `VkDeviceMemory`.
pub struct Memory {
    piece: Piece,
    size: u64,
    heap: Arc<Heap>,
}

// SAFETY: an address range owned by this object; what lies in it is device memory, accessed as such.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Reserves `size` bytes of zeros.
    pub fn allocate(heap: &Arc<Heap>, size: u64) -> Result<Memory, vk::Result> {
        const FAILED: vk::Result = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        if size == 0 || !heap.reserve(size) {
            return Err(FAILED);
        }
        // A descriptor's address promises a few readable bytes: the arena's tail.
        let piece = usize::try_from(size).ok().and_then(|bytes| heap.arena()?.allocate(bytes));
        match piece {
            Some(piece) => Ok(Memory { piece, size, heap: heap.clone() }),
            None => {
                heap.used.fetch_sub(size, Ordering::Relaxed);
                Err(FAILED)
            }
        }
    }

    /// `allocationSize`.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The address of `offset`, if `bytes` bytes from there are inside.
    pub fn range(&self, offset: u64, bytes: u64) -> Option<*mut u8> {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.size);
        inside.then(|| self.piece.address.wrapping_add(offset as usize))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(arena) = self.heap.arena() {
            // SAFETY: from this heap's arena, and nobody holds a reference any more.
            unsafe { arena.free(self.piece) };
        }
        self.heap.used.fetch_sub(self.size, Ordering::Relaxed);
    }
}

/// A resource's binding to memory, set once.
pub struct Binding {
    _memory: Arc<Memory>,
    address: *mut u8,
}
// SAFETY: the address points into the memory that the binding keeps alive.
unsafe impl Send for Binding {}
// SAFETY: as above.
unsafe impl Sync for Binding {}

impl Binding {
    /// Binds `bytes` bytes at `offset`; VK_ERROR_OUT_OF_DEVICE_MEMORY when they are not inside the memory.
    pub fn new(memory: Arc<Memory>, offset: u64, bytes: u64) -> Result<Binding, vk::Result> {
        let address = memory.range(offset, bytes).ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
        Ok(Binding { _memory: memory, address })
    }

    /// First byte.
    pub fn address(&self) -> *mut u8 {
        self.address
    }
}
