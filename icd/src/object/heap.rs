//! The memory heap: addresses for all device memory, and the amount in use.

use super::execution::Executions;
use super::host_memory::HostRanges;
use crate::caps::heap_size;
use crate::caps::limits::SPARSE_ADDRESS_SPACE;
use crate::os::arena::{AddressRequest, Arena, SparsePiece};
use crate::os::memory_limits::addresses_left;
use ash::vk;
use base::abi::{AddressSpace, BUFFER_BYTES};
use base::mem::MemoryRange;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// The memory heap. Its size is [`heap_size`], which is computed only on use, because that reads
/// files.
#[derive(Default)]
pub struct Heap {
    used: AtomicU64,
    /// Number of bytes of the addresses that sparse resources have taken.
    sparse: AtomicU64,
    /// Imported memory of the application.
    pub host_ranges: Arc<HostRanges>,
    /// True if the addresses have to be the same in every process.
    replayable: AtomicBool,
    /// The arena, which exists from the first allocation on; `None` if the process got no
    /// addresses.
    arena: OnceLock<Option<Arc<Arena>>>,
    /// Submissions that may use the heap's memory, and freed memory that waits for their end.
    pub executions: Executions,
}

/// Upper bound of the parts of an address range that are considered. A range that a command names
/// has one part, or few if it reaches into other memory.
const MAX_LIVE_PARTS: usize = 16;

/// Number of bytes in use in all heaps.
static USED: AtomicU64 = AtomicU64::new(0);

/// Returns a heap's arena. It is its own, so that no address of one instance is live in another
/// one. If the addresses of the process are limited, all living heaps share one arena, which the
/// first one that allocates reserves.
fn arena_for(heap: u64, replayable: bool) -> Option<Arc<Arena>> {
    if addresses_left().is_none() {
        return Arena::reserve(heap, replayable).map(Arc::new);
    }
    static SHARED_ARENA: Mutex<Weak<Arena>> = Mutex::new(Weak::new());
    let mut shared_arena = SHARED_ARENA.lock();
    if let Some(arena) = shared_arena.upgrade() {
        return Some(arena);
    }
    let arena = Arc::new(Arena::reserve(heap, replayable)?);
    *shared_arena = Arc::downgrade(&arena);
    Some(arena)
}

impl Heap {
    /// Returns the arena, which the first call reserves.
    pub fn arena(&self) -> Option<&Arc<Arena>> {
        self.arena.get_or_init(|| arena_for(heap_size(), self.replayable.load(Ordering::Relaxed))).as_ref()
    }

    /// Requests the addresses of another process, because a device was made that captures or
    /// replays. It has no effect if addresses are already reserved.
    pub fn request_replay_addresses(&self) {
        self.replayable.store(true, Ordering::Relaxed);
    }

    /// Returns the address space of physical pointers.
    pub fn addresses(&self) -> AddressSpace {
        self.arena.get().and_then(Option::as_ref).map_or(AddressSpace::EMPTY, |arena| arena.addresses())
    }

    /// Returns `bytes` bytes at a device address if all of them are live. They may be read and
    /// written until their memory is freed.
    pub fn range(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        self.live_prefix(address, bytes).filter(|alive| alive.size == bytes)
    }

    /// Returns the number of times that memory ceased to be live, for an address that is not in
    /// imported memory of the application. What was live after the number was read is live while
    /// the number is the same.
    pub fn deaths(&self, address: u64) -> Option<u64> {
        self.arena.get().and_then(Option::as_ref)?.deaths(address)
    }

    /// Returns the live prefix of `bytes` bytes at a device address; `None` if the first byte is
    /// not live.
    pub fn live_prefix(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        if let Some(alive) =
            self.arena.get().and_then(Option::as_ref).and_then(|arena| arena.live_prefix(address, bytes))
        {
            return Some(alive);
        }
        let mut first = None;
        self.host_ranges.live_parts(&(address..address.saturating_add(bytes)), |part| {
            first.get_or_insert(part);
        });
        let size = first.filter(|part| part.start == address).map(|part| part.end - part.start)?;
        Some(MemoryRange { address: address as *mut u8, size })
    }

    /// Returns the live prefix, as [`Heap::live_prefix`] does, for a descriptor: at least
    /// [`BUFFER_BYTES`] bytes from its address on may be accessed, regardless of the size.
    pub fn live_prefix_for_descriptor(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        let alive = self.live_prefix(address, bytes).filter(|alive| alive.size > 0);
        // Only imported memory of the application may lack bytes behind its end.
        alive.filter(|alive| {
            alive.size >= BUFFER_BYTES || !self.is_imported(address) || self.range(address, BUFFER_BYTES).is_some()
        })
    }

    /// Returns true if the address is in imported memory of the application.
    pub fn is_imported(&self, address: u64) -> bool {
        let mut found = false;
        self.host_ranges.live_parts(&(address..address.saturating_add(1)), |_| found = true);
        found
    }

    /// Returns the live parts of `bytes` bytes from a device address on, as offsets in ascending
    /// order; at most [`MAX_LIVE_PARTS`] parts.
    pub fn live_parts(&self, address: u64, bytes: u64) -> SmallVec<[Range<u64>; 2]> {
        let mut parts: SmallVec<[Range<u64>; 2]> = SmallVec::new();
        let addresses = address..address.saturating_add(bytes);
        let mut add = |part: Range<u64>| parts.push(part.start - address..part.end - address);
        if let Some(arena) = self.arena.get().and_then(Option::as_ref) {
            arena.live_parts(&addresses, MAX_LIVE_PARTS, &mut add);
        }
        self.host_ranges.live_parts(&addresses, add);
        parts.sort_unstable_by_key(|part| part.start);
        parts.truncate(MAX_LIVE_PARTS);
        parts
    }

    /// Returns `heapUsage`: the number of bytes that all instances of the process have allocated.
    pub fn used_by_process() -> u64 {
        USED.load(Ordering::Relaxed)
    }

    /// Takes addresses for a sparse resource of `bytes` bytes. Fails with
    /// VK_ERROR_OUT_OF_DEVICE_MEMORY if there are too few, or if the kernel gives no file. Fails
    /// with VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS if the requested addresses are not free.
    pub fn sparse(self: &Arc<Self>, bytes: u64, addresses: AddressRequest) -> Result<SparseAddresses, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let more = |taken: u64| taken.checked_add(bytes).filter(|&sum| sum <= SPARSE_ADDRESS_SPACE);
        self.sparse.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| out)?;
        let reservation = SparseReservation { heap: self.clone(), bytes };
        let size = usize::try_from(bytes).map_err(|_| out)?;
        let piece = self.arena().ok_or(out)?.sparse(size, addresses).ok_or(addresses.failure())?;
        Ok(SparseAddresses { piece, reservation })
    }

    /// Counts `bytes` as used; `None` if too few are left.
    pub fn reserve(self: &Arc<Self>, bytes: u64) -> Option<HeapReservation> {
        let more = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= heap_size());
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        USED.fetch_add(bytes, Ordering::Relaxed);
        Some(HeapReservation { heap: self.clone(), bytes })
    }
}

/// Bytes of a heap that count as used as long as this lives.
pub struct HeapReservation {
    /// The heap in which the bytes are counted.
    pub heap: Arc<Heap>,
    bytes: u64,
}

impl Drop for HeapReservation {
    fn drop(&mut self) {
        self.heap.used.fetch_sub(self.bytes, Ordering::Relaxed);
        USED.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Addresses of a sparse resource, with their count.
pub struct SparseAddresses {
    // This field is dropped first.
    /// The addresses.
    pub piece: SparsePiece,
    reservation: SparseReservation,
}

impl SparseAddresses {
    /// Returns the heap of the addresses.
    pub fn heap(&self) -> &Arc<Heap> {
        &self.reservation.heap
    }
}

/// Bytes of addresses that are counted as long as this lives.
struct SparseReservation {
    heap: Arc<Heap>,
    bytes: u64,
}

impl Drop for SparseReservation {
    fn drop(&mut self) {
        self.heap.sparse.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
