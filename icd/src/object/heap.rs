//! The memory heap: addresses for all device memory, and how much of it is used.

use super::execution::Executions;
use crate::caps::heap_size;
use crate::caps::limits::SPARSE_ADDRESS_SPACE;
use crate::os::arena::{Addresses, Arena, SparsePiece};
use crate::os::memory_limits::addresses_left;
use ash::vk;
use base::abi::AddressSpace;
use base::mem::MemoryRange;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// The memory heap, as large as [`heap_size`] says: asked when it is used, as that reads files.
#[derive(Default)]
pub struct Heap {
    used: AtomicU64,
    /// Bytes of the addresses that sparse resources have taken.
    sparse: AtomicU64,
    /// Its addresses are to be the same in every process.
    same: AtomicBool,
    /// From the first allocation on; None: the process got no addresses.
    arena: OnceLock<Option<Arc<Arena>>>,
    /// Submissions that may use the heap's memory, and freed memory that waits for their end.
    pub executions: Executions,
}

/// What all heaps have used.
static USED: AtomicU64 = AtomicU64::new(0);

/// A heap's arena: its own, so that no address of one instance is alive in another; but where the process's addresses are limited, one that
/// all living heaps share, reserved by the first one that allocates.
fn arena_for(heap: u64, same: bool) -> Option<Arc<Arena>> {
    if addresses_left().is_none() {
        return Arena::reserve(heap, same).map(Arc::new);
    }
    static LIVING: Mutex<Weak<Arena>> = Mutex::new(Weak::new());
    let mut living = LIVING.lock();
    if let Some(arena) = living.upgrade() {
        return Some(arena);
    }
    let arena = Arc::new(Arena::reserve(heap, same)?);
    *living = Arc::downgrade(&arena);
    Some(arena)
}

impl Heap {
    /// Its addresses, reserved by the first call.
    pub fn arena(&self) -> Option<&Arc<Arena>> {
        self.arena.get_or_init(|| arena_for(heap_size(), self.same.load(Ordering::Relaxed))).as_ref()
    }

    /// A device was made that captures or replays: addresses are to be those of another process. Too late where some are reserved.
    pub fn be_the_same(&self) {
        self.same.store(true, Ordering::Relaxed);
    }

    /// Where physical pointers may point.
    pub fn addresses(&self) -> AddressSpace {
        self.arena.get().and_then(Option::as_ref).map_or(AddressSpace::EMPTY, |arena| arena.addresses())
    }

    /// `bytes` bytes at a device address, if memory is alive at all of them: then they may be read and written until it is freed.
    pub fn range(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        self.arena.get()?.as_ref()?.range(address, bytes)
    }

    /// As [`Heap::range`], up to where no memory is alive any more.
    pub fn prefix(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        self.arena.get()?.as_ref()?.prefix(address, bytes)
    }

    /// `heapUsage`: bytes that the process has allocated, by any instance.
    pub fn used_by_process() -> u64 {
        USED.load(Ordering::Relaxed)
    }

    /// Addresses for a sparse resource of `bytes` bytes. VK_ERROR_OUT_OF_DEVICE_MEMORY: there are not so many, or the kernel gives no file.
    /// VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS: those that are asked for are not free.
    pub fn sparse(self: &Arc<Self>, bytes: u64, addresses: Addresses) -> Result<SparseAddresses, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let more = |taken: u64| taken.checked_add(bytes).filter(|&sum| sum <= SPARSE_ADDRESS_SPACE);
        self.sparse.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| out)?;
        let taken = Taken { heap: self.clone(), bytes };
        let size = usize::try_from(bytes).map_err(|_| out)?;
        let piece = self.arena().ok_or(out)?.sparse(size, addresses).ok_or(addresses.refusal())?;
        Ok(SparseAddresses { piece, taken })
    }

    /// Counts `bytes` as used; `None` when there are not so many left.
    pub fn reserve(self: &Arc<Self>, bytes: u64) -> Option<Reserved> {
        let more = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= heap_size());
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        USED.fetch_add(bytes, Ordering::Relaxed);
        Some(Reserved { heap: self.clone(), bytes })
    }
}

/// Bytes of a heap that are counted as used as long as this lives.
pub struct Reserved {
    /// The heap that the bytes are counted against.
    pub heap: Arc<Heap>,
    bytes: u64,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.heap.used.fetch_sub(self.bytes, Ordering::Relaxed);
        USED.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Addresses of a sparse resource, and that they are counted.
pub struct SparseAddresses {
    // Goes first.
    /// The addresses.
    pub piece: SparsePiece,
    taken: Taken,
}

impl SparseAddresses {
    /// The heap that the addresses belong to.
    pub fn heap(&self) -> &Arc<Heap> {
        &self.taken.heap
    }
}

/// Bytes of addresses that are counted as long as this lives.
struct Taken {
    heap: Arc<Heap>,
    bytes: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.heap.sparse.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
