//! The memory heap: addresses for all device memory, and how much of it is used.

use super::execution::Executions;
use super::host_memory::HostRanges;
use crate::caps::heap_size;
use crate::caps::limits::SPARSE_ADDRESS_SPACE;
use crate::os::arena::{Addresses, Arena, SparsePiece};
use crate::os::memory_limits::addresses_left;
use ash::vk;
use base::abi::{AddressSpace, BUFFER_BYTES};
use base::mem::MemoryRange;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// The memory heap, as large as [`heap_size`] says: asked when it is used, as that reads files.
#[derive(Default)]
pub struct Heap {
    used: AtomicU64,
    /// Bytes of the addresses that sparse resources have taken.
    sparse: AtomicU64,
    /// Memory of the application's that was imported.
    pub hosts: HostRanges,
    /// Its addresses are to be the same in every process.
    same: AtomicBool,
    /// From the first allocation on; None: the process got no addresses.
    arena: OnceLock<Option<Arc<Arena>>>,
    /// Submissions that may use the heap's memory, and freed memory that waits for their end.
    pub executions: Executions,
}

/// Parts of a range of addresses that are looked at: a range that a command means has one, or few where it reaches into other memory.
const MOST_PARTS: usize = 16;

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
        self.prefix(address, bytes).filter(|alive| alive.size == bytes)
    }

    /// What is alive of `bytes` bytes at a device address, up to where no memory is alive any more; None where the first byte is not alive.
    pub fn prefix(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        if let Some(alive) = self.arena.get().and_then(Option::as_ref).and_then(|arena| arena.prefix(address, bytes)) {
            return Some(alive);
        }
        let mut first = None;
        self.hosts.parts(&(address..address.saturating_add(bytes)), |part| {
            first.get_or_insert(part);
        });
        let size = first.filter(|part| part.start == address).map(|part| part.end - part.start)?;
        Some(MemoryRange { address: address as *mut u8, size })
    }

    /// As [`Heap::prefix`], for a descriptor: behind its address there are [`BUFFER_BYTES`] bytes that may be touched, whatever the size is.
    pub fn described(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        let alive = self.prefix(address, bytes).filter(|alive| alive.size > 0);
        // Only behind memory of the application's there need not be anything.
        alive.filter(|alive| {
            alive.size >= BUFFER_BYTES || !self.is_imported(address) || self.range(address, BUFFER_BYTES).is_some()
        })
    }

    /// The address is one of imported memory of the application's.
    pub fn is_imported(&self, address: u64) -> bool {
        let mut found = false;
        self.hosts.parts(&(address..address.saturating_add(1)), |_| found = true);
        found
    }

    /// What is alive of `bytes` bytes from a device address on, as offsets in their order; at most [`MOST_PARTS`] parts.
    pub fn parts(&self, address: u64, bytes: u64) -> SmallVec<[Range<u64>; 2]> {
        let mut parts: SmallVec<[Range<u64>; 2]> = SmallVec::new();
        let addresses = address..address.saturating_add(bytes);
        let mut add = |part: Range<u64>| parts.push(part.start - address..part.end - address);
        if let Some(arena) = self.arena.get().and_then(Option::as_ref) {
            arena.parts(&addresses, MOST_PARTS, &mut add);
        }
        self.hosts.parts(&addresses, add);
        parts.sort_unstable_by_key(|part| part.start);
        parts.truncate(MOST_PARTS);
        parts
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
