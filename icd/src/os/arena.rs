//! Host addresses of device memory: one reserved range per heap, from which allocations are cut.
//!
//! Reserving costs nothing: the kernel commits pages ([`super::backing`]) when they are touched,
//! and takes them back when an allocation is freed. Memory that is not allocated cannot be
//! accessed. The range exists so that a shader's physical pointers can be checked by a table of
//! granules ([`AddressSpace`]). Pages of a file can be mapped at several places of the range
//! ([`sparse`], and pieces that import a file). They are freed with the last mapping.
//!
//! If the address space of the process is limited (RLIMIT_AS counts reserved addresses), the arena
//! takes no more than its heap needs. The heap then reports half of what the remaining addresses
//! allow as its size (`caps::heap_size`), and all heaps of the process share one arena. Nothing is
//! reserved before the first allocation.
//!
//! A program that captures and replays another one needs the same addresses in another process
//! (bufferDeviceAddressCaptureReplay). In this case the range is requested at a place that hardly
//! anything else uses ([`REPLAY_BASES`]). Pieces that are to be found again lie apart from other
//! pieces ([`AddressRequest`]), so that neither depends on the number of the other ones. In all
//! other cases the place of the range cannot be guessed.

mod sparse;

pub use sparse::SparsePiece;

use super::backing::{Backing, MapError, Pages};
use super::descriptor::{ExportAttributes, MemoryHandleKind, OwnedHandle, RawHandle};
use super::reservation;
use ash::vk;
use base::abi::{ADDRESS_GRANULE_BITS, ADDRESS_TAIL, AddressSpace};
use base::mem::MemoryRange;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Unit of binding and of address lookup, in bytes.
pub const GRANULE: usize = 1 << ADDRESS_GRANULE_BITS;
/// Alignment of allocations of at least this size, in bytes, so that the kernel can use huge pages.
const HUGE_PAGE: usize = 2 << 20;
/// Reserved addresses per byte of the heap, against fragmentation. The two constants below bound a
/// reservation.
const RESERVED_PER_BYTE: u64 = 4;
const MIN_RESERVATION: usize = 64 << 30;
const MAX_RESERVATION: usize = 4 << 40;
/// Part of the heap's size that a reservation adds for guards and whole granules if addresses are
/// scarce: one part in this number.
const SCARCE_MARGIN_PART: u64 = 16;

/// Places at which a range begins if it has to begin at the same address in every process: the
/// first free one is used. They are in the middle of what 47 bits of address reach, because
/// loaders, stacks and `mmap` begin at the ends.
const REPLAY_BASES: [usize; 4] = [0x2000_0000_0000, 0x2800_0000_0000, 0x3000_0000_0000, 0x3800_0000_0000];
/// Number of granules before the pieces that are to be found again: half of the smallest range that
/// is reserved if addresses are not scarce.
const REPLAY_START: usize = MIN_RESERVATION / 2 / GRANULE;

/// Requested addresses of a new piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressRequest {
    /// Any free addresses.
    Any,
    /// Addresses that a later process will request by [`AddressRequest::Exact`].
    Replayable,
    /// Addresses from this one on.
    Exact(u64),
}

impl AddressRequest {
    /// Returns the request of an opaque capture address, of which 0 means none. `again` is the flag
    /// that accompanies such addresses.
    pub fn from_capture(again: bool, opaque: u64) -> AddressRequest {
        match opaque {
            0 if again => AddressRequest::Replayable,
            0 => AddressRequest::Any,
            address => AddressRequest::Exact(address),
        }
    }

    /// Returns the error for a request that cannot be met.
    pub fn failure(self) -> vk::Result {
        match self {
            AddressRequest::Exact(_) => vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS,
            AddressRequest::Any | AddressRequest::Replayable => vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
        }
    }
}

/// Number of granules behind those of a piece that are mapped and not live. An access that begins
/// in the piece and ends behind it touches these private pages, which are part of no piece. Such an
/// access is a shader's through a pointer, or one of the tail that a descriptor guarantees.
const GUARD: usize = 1;
const _: () = assert!(GUARD * GRANULE >= ADDRESS_TAIL);

/// Returns the number of live granules of a piece of `bytes` bytes; `None` if they and the guard
/// would exceed the addresses that exist.
fn granules_of(bytes: usize) -> Option<usize> {
    let granules = bytes.max(1).div_ceil(GRANULE);
    (granules.checked_add(GUARD)?.checked_mul(GRANULE)? > 0).then_some(granules)
}

/// A reserved range of addresses from which device memory is allocated.
pub struct Arena {
    base: *mut u8,
    granules: usize,
    /// A mapping with a byte per granule. The first and the last byte are never live.
    live: *mut u8,
    /// A mapping with a word per granule: the number of granules from this one to the end of its
    /// piece.
    runs: *mut u8,
    /// True if there are enough addresses to spend some on alignment.
    has_spare_addresses: bool,
    /// Free granules, as start → count.
    free: Mutex<BTreeMap<usize, usize>>,
    /// Pieces that are to be found again, and whose handles are destroyed although something still
    /// refers to them: start → number of granules, and the flag that is set when another piece
    /// takes the addresses.
    orphaned: Mutex<BTreeMap<usize, (usize, Arc<AtomicBool>)>>,
    /// Pages that unbound granules of sparse resources show ([`sparse`]).
    sink: Mutex<Option<Pages>>,
    /// Number of times that granules ceased to be live.
    deaths: AtomicU64,
}

// SAFETY: the address range is owned by this object, which hands it out in pieces that do not
// overlap.
unsafe impl Send for Arena {}
// SAFETY: all state that changes is behind locks or consists of atomics.
unsafe impl Sync for Arena {}

/// A piece of an arena. Dropping it returns its addresses to the arena.
pub struct Piece {
    range: MemoryRange,
    /// Number of live granules; [`GUARD`] more are taken.
    granules: usize,
    /// Pages that the piece shows. They are dropped after the mapping.
    pages: Pages,
    /// The file to which anonymous pages were moved because a sparse resource shows them.
    file_pages: Mutex<Option<Pages>>,
    arena: Arc<Arena>,
    /// Flag of a piece that is to be found again: its addresses belong to another piece now.
    reassigned: Option<Arc<AtomicBool>>,
}

impl Piece {
    /// Notes that the handle of the piece is destroyed. A request for its addresses gets them, even
    /// if something that is not used any more still refers to the piece.
    pub fn allow_address_reuse(&self) {
        if let Some(reassigned) = &self.reassigned {
            self.arena.orphaned.lock().insert(self.start(), (self.granules, reassigned.clone()));
        }
    }

    /// Takes the granules of the piece out of the table, so that no address in it is found any
    /// more. An address that was found before may be used until the piece is dropped.
    pub fn mark_dead(&self) {
        let _orphaned = self.arena.orphaned.lock();
        // If the flag is set, the addresses belong to another piece, which is alive.
        if self.reassigned.as_ref().is_none_or(|reassigned| !reassigned.load(Ordering::Relaxed)) {
            self.arena.set_live(self.start(), self.granules, 0);
            self.arena.set_run(self.start(), self.granules, false);
        }
    }

    fn start(&self) -> usize {
        (self.range.address as usize - self.arena.base as usize) / GRANULE
    }

    /// Returns the bytes of the piece.
    pub fn range(&self) -> MemoryRange {
        self.range
    }

    /// Returns a handle of the pages, which shows them from their beginning on, as
    /// [`Pages::export`] does.
    pub fn export(&self, kind: MemoryHandleKind) -> Option<OwnedHandle> {
        self.pages.export(kind)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if let Some(reassigned) = &self.reassigned {
            let mut orphaned = self.arena.orphaned.lock();
            if reassigned.load(Ordering::Relaxed) {
                return;
            }
            orphaned.remove(&self.start());
        }
        self.arena.free(self.range.address, self.granules);
    }
}

impl Arena {
    /// Returns the number of bytes of the heap for which a reservation of `bytes` suffices.
    pub fn heap_bytes_for(bytes: u64) -> u64 {
        (bytes / (SCARCE_MARGIN_PART + 1) * SCARCE_MARGIN_PART).saturating_sub(4 * GRANULE as u64)
    }

    /// Reserves addresses for a heap. Takes many of them, or if the process may not have so many,
    /// what the heap needs or as many as there are. With `replayable`, the range is one of
    /// [`REPLAY_BASES`] if one is free.
    pub fn reserve(heap: u64, replayable: bool) -> Option<Arena> {
        Self::reserve_within(heap, crate::os::memory_limits::addresses_left().unwrap_or(u64::MAX), replayable)
    }

    /// Does the work of [`Arena::reserve`] if `left` bytes of address space are left.
    fn reserve_within(heap: u64, left: u64, replayable: bool) -> Option<Arena> {
        let wanted = usize::try_from(heap.saturating_mul(RESERVED_PER_BYTE)).unwrap_or(MAX_RESERVATION);
        let wanted = wanted.clamp(MIN_RESERVATION, MAX_RESERVATION).next_power_of_two() as u64;
        let needed = (heap + heap / SCARCE_MARGIN_PART).saturating_add(8 * GRANULE as u64);
        // The heap's size was reported when a little more was left than now.
        let fair = (left / 2).max(needed.min(left / 4 * 3));
        let bytes = if wanted <= left / 2 { wanted } else { needed.min(fair) };
        let mut granules = usize::try_from(bytes).ok()? / GRANULE;
        while granules * GRANULE >= HUGE_PAGE {
            if let Some(arena) = Arena::map(granules, granules as u64 * GRANULE as u64 / 2 >= heap, replayable) {
                return Some(arena);
            }
            granules = granules / 4 * 3;
        }
        None
    }

    /// Maps the range and its table.
    fn map(granules: usize, has_spare_addresses: bool, replayable: bool) -> Option<Arena> {
        let bytes = granules * GRANULE;
        let found =
            REPLAY_BASES.into_iter().filter(|_| replayable).find_map(|base| reservation::reserve_at(base, bytes));
        let base = found.or_else(|| reservation::reserve(bytes))?;
        let Some(live) = reservation::make_table(granules) else {
            // SAFETY: the range was reserved above, and nothing uses it.
            unsafe { reservation::release(base, bytes) };
            return None;
        };
        let table = granules * size_of::<u32>();
        let Some(runs) = reservation::make_table(table) else {
            // SAFETY: both were made above, and nothing uses them.
            unsafe {
                reservation::release(base, bytes);
                reservation::release_table(live, granules);
            }
            return None;
        };
        Some(Arena {
            base,
            granules,
            live,
            runs,
            has_spare_addresses,
            free: Mutex::new(BTreeMap::from([(1, granules - 2)])),
            orphaned: Mutex::default(),
            sink: Mutex::default(),
            deaths: AtomicU64::new(0),
        })
    }

    /// Returns the table with a byte per granule.
    fn live(&self) -> &[AtomicU8] {
        // SAFETY: the mapping has this number of bytes and lives as long as the arena; any byte is
        // a valid AtomicU8.
        unsafe { std::slice::from_raw_parts(self.live.cast(), self.granules) }
    }

    /// Notes that some granules are a piece, or are not any more.
    fn set_run(&self, start: usize, granules: usize, alive: bool) {
        // SAFETY: the mapping has this number of words and lives as long as the arena; any word is
        // a valid AtomicU32.
        let runs: &[AtomicU32] = unsafe { std::slice::from_raw_parts(self.runs.cast(), self.granules) };
        for (i, run) in runs[start..start + granules].iter().enumerate() {
            run.store(if alive { (granules - i) as u32 } else { 0 }, Ordering::Release);
        }
    }

    /// Returns the address space for shaders. It is valid as long as the arena.
    pub fn addresses(&self) -> AddressSpace {
        AddressSpace::new(self.base, self.granules, self.live, self.runs.cast())
    }

    /// Returns `bytes` bytes at an address if all of their granules are live.
    #[cfg(test)]
    fn range(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        self.live_prefix(address, bytes).filter(|alive| alive.size == bytes)
    }

    /// Returns the live prefix of `bytes` bytes at an address, which ends at the first granule that
    /// is not live; `None` if the first granule is not live.
    pub fn live_prefix(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        let first = usize::try_from(address.checked_sub(self.base as u64)?).ok()?;
        let live = self.live().get(first / GRANULE..)?;
        let needed = usize::try_from(bytes.div_ceil(GRANULE as u64)).unwrap_or(usize::MAX).saturating_add(1);
        let alive = live.iter().take(needed).take_while(|granule| granule.load(Ordering::Acquire) != 0).count();
        let left = ((first / GRANULE + alive) * GRANULE).checked_sub(first).filter(|_| alive > 0)?;
        Some(MemoryRange { address: self.base.wrapping_add(first), size: bytes.min(left as u64) })
    }

    /// Returns the number of times that granules ceased to be live; `None` if the address is not in
    /// the arena. What was live after the number was read is live while the number is the same.
    pub fn deaths(&self, address: u64) -> Option<u64> {
        let offset = usize::try_from(address.checked_sub(self.base as u64)?).ok()?;
        (offset / GRANULE < self.granules).then(|| self.deaths.load(Ordering::Acquire))
    }

    /// Calls `add` with each live part of some addresses, in ascending order, but for at most
    /// `most` parts.
    pub fn live_parts(&self, addresses: &Range<u64>, most: usize, add: &mut impl FnMut(Range<u64>)) {
        let (base, live) = (self.base as u64, self.live());
        let end = addresses.end.min(base.saturating_add((self.granules * GRANULE) as u64));
        let is_live = |granule: usize| live[granule].load(Ordering::Acquire) != 0;
        let granule_of = |address: u64| ((address - base) / GRANULE as u64) as usize;
        let begin_of = |granule: usize| base + (granule * GRANULE) as u64;
        let (mut at, mut found) = (addresses.start.max(base), 0);
        while at < end && found < most {
            let granules = granule_of(at)..granule_of(end - 1) + 1;
            let Some(first) = granules.clone().find(|&granule| is_live(granule)) else { return };
            let behind = (first..granules.end).find(|&granule| !is_live(granule)).unwrap_or(granules.end);
            let part = at.max(begin_of(first))..end.min(begin_of(behind));
            at = part.end;
            found += 1;
            add(part);
        }
    }

    /// Allocates zeroed memory of `bytes` bytes.
    pub fn allocate(self: &Arc<Self>, bytes: usize, backing: Backing, addresses: AddressRequest) -> Option<Piece> {
        let pages = Pages::new(backing, granules_of(bytes)? * GRANULE)?;
        self.map_pages(&pages, bytes, addresses)
    }

    /// Allocates zeroed memory of `bytes` bytes that can be exported.
    pub fn allocate_for_export(
        self: &Arc<Self>,
        bytes: usize,
        attributes: &ExportAttributes,
        addresses: AddressRequest,
    ) -> Option<Piece> {
        let pages = Pages::for_export(granules_of(bytes)? * GRANULE, attributes)?;
        self.map_pages(&pages, bytes, addresses)
    }

    /// Maps what a handle shows that [`Piece::export`] returned, in this process or another one, or
    /// a foreign dma-buf, as a piece of `bytes` bytes. Returns `None` if the handle does not have
    /// this number of bytes.
    pub fn import(
        self: &Arc<Self>,
        handle: RawHandle,
        kind: MemoryHandleKind,
        bytes: usize,
        addresses: AddressRequest,
    ) -> Option<Piece> {
        self.map_pages(&Pages::import(handle, kind, bytes)?, bytes, addresses)
    }

    /// Maps pages at addresses that are taken for them.
    fn map_pages(self: &Arc<Self>, pages: &Pages, bytes: usize, addresses: AddressRequest) -> Option<Piece> {
        let granules = granules_of(bytes)?;
        let align = if bytes >= HUGE_PAGE && self.has_spare_addresses { HUGE_PAGE } else { GRANULE };
        let start =
            self.allocate_granules(granules, align, addresses).or_else(|| self.take_orphaned(granules, addresses))?;
        let address = self.base.wrapping_add(start * GRANULE);
        let mapped = if pages.are_anonymous() {
            // The guard is more anonymous memory. SAFETY: the addresses were taken from the arena,
            // and nothing uses them yet.
            unsafe { pages.map(address, 0, (granules + GUARD) * GRANULE) }
        } else {
            // SAFETY: the addresses, guard included, were taken from the arena, and nothing uses
            // them yet.
            unsafe { pages.map(address, 0, granules * GRANULE).and_then(|()| self.map_guard(start + granules)) }
        };
        if let Err(error) = mapped {
            self.reclaim(start, granules, error);
            return None;
        }
        if bytes >= HUGE_PAGE {
            // This gives one page fault instead of 512 where a piece fills huge pages. SAFETY: the
            // range lies in the piece.
            unsafe { reservation::prefer_huge_pages(address, bytes / HUGE_PAGE * HUGE_PAGE) };
        }
        self.set_live(start, granules, 1);
        self.set_run(start, granules, true);
        let range = MemoryRange { address, size: bytes as u64 };
        let reassigned = (addresses != AddressRequest::Any).then(Arc::default);
        Some(Piece {
            range,
            granules,
            pages: pages.clone(),
            file_pages: Mutex::default(),
            arena: self.clone(),
            reassigned,
        })
    }

    /// Maps the guard of the piece that ends before a granule. Next to anonymous memory it is part
    /// of the same mapping of the kernel, and it costs no memory until it is touched.
    ///
    /// # Safety
    /// The guard's granules are taken, and nothing accesses them.
    unsafe fn map_guard(&self, first: usize) -> Result<(), MapError> {
        // SAFETY: the guard's granules are taken and nothing accesses them, as the `# Safety`
        // section of this function requires.
        unsafe { Pages::Anonymous.map(self.base.wrapping_add(first * GRANULE), 0, GUARD * GRANULE) }
    }

    /// Takes a piece back.
    fn free(&self, address: *mut u8, granules: usize) {
        let start = (address as usize - self.base as usize) / GRANULE;
        self.set_live(start, granules, 0);
        self.set_run(start, granules, false);
        self.reclaim(start, granules, MapError::Unchanged);
    }

    /// Reserves the addresses of some granules, which are not live any more, and of their guard,
    /// and makes them free. If they could not all be reserved, or if other parts of the process may
    /// have mapped something there, they stay taken for good.
    fn reclaim(&self, start: usize, granules: usize, now: MapError) {
        let (address, granules) = (self.base.wrapping_add(start * GRANULE), granules + GUARD);
        // SAFETY: the addresses are a part of the reservation, and nothing uses them.
        if now == MapError::Unchanged && unsafe { reservation::reset(address, granules * GRANULE) } {
            self.free_granules(start, granules);
        }
    }

    fn set_live(&self, start: usize, granules: usize, live: u8) {
        self.live()[start..start + granules].iter().for_each(|g| g.store(live, Ordering::Release));
        // A thread that reads the new number finds that the granules are not live.
        if live == 0 {
            self.deaths.fetch_add(1, Ordering::Release);
        }
    }

    /// Takes some granules and a guard from a free run and returns the first one. The run is the
    /// first one that is long enough, unless the request names addresses.
    fn allocate_granules(&self, granules: usize, align: usize, addresses: AddressRequest) -> Option<usize> {
        let granules = granules.checked_add(GUARD)?;
        let mut free = self.free.lock();
        let aligned = |start: usize| {
            let address = self.base as usize + start * GRANULE;
            start + (address.next_multiple_of(align) - address) / GRANULE
        };
        let first_from = |from: usize| {
            free.iter().find_map(|(&start, &count)| {
                let first = aligned(start.max(from));
                (first.checked_add(granules)? <= start + count).then_some((start, count, first))
            })
        };
        let (start, count, first) = match addresses {
            AddressRequest::Any => first_from(0),
            AddressRequest::Replayable => first_from(REPLAY_START).or_else(|| first_from(0)),
            AddressRequest::Exact(address) => {
                let offset = usize::try_from(address).ok()?.checked_sub(self.base as usize)?;
                let first = Some(offset / GRANULE).filter(|_| offset.is_multiple_of(GRANULE))?;
                let (&start, &count) = free.range(..=first).next_back()?;
                (first.checked_add(granules)? <= start + count).then_some((start, count, first))
            }
        }?;
        free.remove(&start);
        let runs = [(start, first - start), (first + granules, start + count - first - granules)];
        free.extend(runs.into_iter().filter(|&(_, count)| count > 0));
        Some(first)
    }

    /// Takes over the addresses of an orphaned piece, if it has this number of granules and the
    /// request names its address. Returns its first granule.
    fn take_orphaned(&self, granules: usize, addresses: AddressRequest) -> Option<usize> {
        let AddressRequest::Exact(address) = addresses else { return None };
        let start = usize::try_from(address).ok()?.checked_sub(self.base as usize)? / GRANULE;
        let mut orphaned = self.orphaned.lock();
        let replayable = self.base as u64 + (start * GRANULE) as u64 == address;
        orphaned.get(&start).filter(|&&(count, _)| replayable && count == granules)?;
        let (_, reassigned) = orphaned.remove(&start)?;
        reassigned.store(true, Ordering::Relaxed);
        Some(start)
    }

    /// Returns granules to the free runs and joins them with their neighbours.
    fn free_granules(&self, mut start: usize, mut granules: usize) {
        let mut free = self.free.lock();
        if let Some((&before, &count)) = free.range(..start).next_back()
            && before + count == start
        {
            free.remove(&before);
            (start, granules) = (before, granules + count);
        }
        if let Some(count) = free.remove(&(start + granules)) {
            granules += count;
        }
        free.insert(start, granules);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: `map` made the ranges. Every piece has been given back, as each holds the
        // arena.
        unsafe {
            reservation::release(self.base, self.granules * GRANULE);
            reservation::release_table(self.live, self.granules);
            reservation::release_table(self.runs, self.granules * size_of::<u32>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_live(arena: &Arena, address: *const u8) -> bool {
        let space = arena.addresses();
        let granule = ((address as u64).wrapping_sub(space.base) >> ADDRESS_GRANULE_BITS).min(space.last);
        arena.live()[granule as usize].load(Ordering::Relaxed) != 0
    }

    #[test]
    fn freed_pieces_join_their_neighbours() {
        [Backing::Anonymous, Backing::Memfd].into_iter().for_each(check_allocation_and_freeing);
    }

    fn check_allocation_and_freeing(backing: Backing) {
        let arena = Arc::new(Arena::reserve(1 << 30, false).expect("addresses"));
        let whole = arena.free.lock().clone();
        let sizes = [1, GRANULE, GRANULE + 1, 3 * HUGE_PAGE, 5 * GRANULE];
        let mut pieces: Vec<Option<Piece>> =
            sizes.iter().map(|&s| arena.allocate(s, backing, AddressRequest::Any)).collect();
        let address = |piece: &Option<Piece>| piece.as_ref().expect("memory").range().address;
        assert_eq!(pieces.iter().flatten().map(|p| p.granules).collect::<Vec<_>>()[..3], [1, 1, 2]);
        assert_eq!(address(&pieces[3]) as usize % HUGE_PAGE, 0);
        for (piece, size) in pieces.iter().zip(sizes) {
            let last = address(piece).wrapping_add(size - 1);
            assert!(is_live(&arena, address(piece)) && is_live(&arena, last));
            let end = address(piece).wrapping_add(size.next_multiple_of(GRANULE));
            assert!(!is_live(&arena, end));
            // SAFETY: the bytes are the piece's own and those of its guard.
            unsafe {
                assert_eq!([*last, *end.sub(1), *end, *end.add(ADDRESS_TAIL - 1)], [0; 4]);
                last.write(1);
                end.sub(4).cast::<[u8; 8]>().write([7; 8]);
            }
        }
        // Bytes that were written behind the pieces are in none of them.
        for (piece, size) in pieces.iter().zip(sizes).filter(|(_, size)| size % GRANULE == 0) {
            // SAFETY: the bytes are the piece's own.
            let bytes = unsafe { std::slice::from_raw_parts(address(piece), size - 4) };
            assert!(bytes.iter().all(|&byte| byte == 0));
        }
        assert!(!is_live(&arena, std::ptr::null()) && !is_live(&arena, usize::MAX as *const u8));
        assert!(!is_live(&arena, arena.base) && !is_live(&arena, arena.base.wrapping_sub(1)));
        let at = |i: usize, bytes| arena.range(address(&pieces[i]) as u64, bytes).map(|range| range.address);
        assert_eq!(at(3, sizes[3] as u64), Some(address(&pieces[3])));
        assert!(at(3, 1 << 40).is_none() && at(3, u64::MAX).is_none() && arena.range(0, 1).is_none());
        assert!(arena.range(u64::MAX, 1).is_none() && arena.range(arena.base as u64, 1).is_none());
        for i in [1, 3, 0, 4, 2] {
            let freed = address(&pieces[i]);
            pieces[i] = None;
            assert!(!is_live(&arena, freed));
        }
        assert_eq!(*arena.free.lock(), whole);
        let again = arena.allocate(1, backing, AddressRequest::Any).expect("memory");
        // SAFETY: the byte is the piece's own.
        let byte = unsafe { *again.range().address.add(ADDRESS_TAIL) };
        assert_eq!(byte, 0, "memory that was written before is zero again");
    }

    #[test]
    fn replayable_pieces_lie_apart_and_can_be_requested_again() {
        let arena = Arc::new(Arena::reserve(1 << 30, true).expect("addresses"));
        let allocate = |addresses| arena.allocate(3 * GRANULE, Backing::Anonymous, addresses);
        let address = |piece: &Piece| piece.range().address as u64;
        let first = allocate(AddressRequest::Replayable).expect("memory");
        let place = address(&first);
        assert_eq!(place - arena.base as u64, (REPLAY_START * GRANULE) as u64);
        assert!(allocate(AddressRequest::Exact(place)).is_none(), "it is taken");
        drop(first);
        // Other pieces are not placed there.
        let others: Vec<Piece> = (0..9).map(|_| allocate(AddressRequest::Any).expect("memory")).collect();
        assert!(others.iter().all(|piece| address(piece) < place));
        let before = allocate(AddressRequest::Exact(place - 4 * GRANULE as u64)).expect("memory");
        let again = allocate(AddressRequest::Exact(place)).expect("memory");
        assert_eq!((address(&before), address(&again)), (place - 4 * GRANULE as u64, place));
        // A piece whose handle is destroyed gives up its addresses, and takes nothing away when it
        // is dropped.
        before.allow_address_reuse();
        let new = allocate(AddressRequest::Exact(address(&before))).expect("memory");
        drop(before);
        let before = new;
        assert!(is_live(&arena, before.range().address));
        // These are no places for a piece: partly taken, not aligned to granules, outside, or
        // without a piece's length behind them.
        let end = arena.base as u64 + (arena.granules * GRANULE) as u64;
        let granule = GRANULE as u64;
        for wrong in [place + granule, place - granule, place + 99, 1, arena.base as u64, end, end - granule, u64::MAX]
        {
            assert!(allocate(AddressRequest::Exact(wrong)).is_none(), "{wrong:#x}");
        }
        assert_eq!(arena.sparse(GRANULE, AddressRequest::Exact(place)).map(|piece| piece.range().size), None);
        drop((others, before, again));
        assert_eq!(
            arena.sparse(GRANULE, AddressRequest::Exact(place)).expect("addresses").range().address as u64,
            place
        );
    }

    #[test]
    fn a_replayable_range_has_the_same_base_in_another_process() {
        let base = |replayable| Arena::reserve(1 << 30, replayable).expect("addresses").base as usize;
        // Other tests may have taken one of the places.
        assert!(REPLAY_BASES.contains(&base(true)) && !REPLAY_BASES.contains(&base(false)));
        let arenas = [(); 5].map(|()| Arena::reserve(1 << 30, true).expect("addresses"));
        assert!(!REPLAY_BASES.contains(&(arenas[4].base as usize)), "there are four places");
    }

    /// Checks that a forked child shares a file's bytes with its parent and has a copy of other
    /// memory, and that it takes nothing away when it frees pieces.
    #[test]
    #[cfg(unix)] // Windows does not fork processes.
    fn children_share_files() {
        let arena = Arc::new(Arena::reserve(1 << 30, false).expect("addresses"));
        let [private, shared] = [Backing::Anonymous, Backing::Memfd]
            .map(|backing| arena.allocate(GRANULE, backing, AddressRequest::Any).expect("memory"));
        // SAFETY: the bytes are those of pieces. The child writes two of them, drops the pieces and
        // ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                *private.range().address = 5;
                *shared.range().address = 5;
                for piece in [&private, &shared] {
                    reservation::reset(piece.range().address, GRANULE);
                }
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!((libc::waitpid(child, &raw mut status, 0), status), (child, 0));
            assert_eq!([*private.range().address, *shared.range().address], [0, 5]);
        }
    }

    #[test]
    fn deaths_are_counted_for_addresses_of_the_arena() {
        let arena = Arc::new(Arena::reserve(1 << 30, false).expect("addresses"));
        let allocate = || arena.allocate(3 << 20, Backing::Anonymous, AddressRequest::Any).expect("memory");
        let (first, second) = (allocate(), allocate());
        let address = first.range().address as u64;
        let number = arena.deaths(address);
        assert_eq!((number, arena.deaths(second.range().address as u64)), (Some(0), Some(0)));
        drop(second);
        assert_eq!(arena.deaths(address), Some(1));
        assert_eq!([0, arena.base as u64 - 1, u64::MAX].map(|outside| arena.deaths(outside)), [None; 3]);
        drop(first);
        assert!(arena.deaths(address) > Some(1));
    }

    /// Checks that files which cannot be mapped, or which the kernel would map beyond the piece,
    /// are refused. Neither the pieces around them nor the reservation change.
    #[test]
    #[cfg(unix)] // Windows has no file descriptors.
    fn refused_imports_do_not_change_the_arena() {
        let arena = Arc::new(Arena::reserve(1 << 30, false).expect("addresses"));
        let allocate = |bytes| arena.allocate(bytes, Backing::Anonymous, AddressRequest::Any).expect("memory");
        let (hole, behind) = (allocate(3 << 20), allocate(3 << 20));
        let (place, neighbour) = (hole.range().address, behind.range());
        // SAFETY: the bytes are those of a piece.
        unsafe { neighbour.address.write_bytes(0x77, neighbour.size as usize) };
        drop(hole);
        let free = arena.free.lock().clone();
        for (flags, seals) in [(libc::MFD_HUGETLB, 0), (0, libc::F_SEAL_FUTURE_WRITE), (0, libc::F_SEAL_WRITE)] {
            // SAFETY: this makes a descriptor, changes its size and its seals, and closes it, and
            // queries pages of the arena.
            unsafe {
                let fd = libc::memfd_create(c"grus-test".as_ptr(), flags | libc::MFD_ALLOW_SEALING);
                if fd < 0 {
                    assert_eq!(flags, libc::MFD_HUGETLB, "kernels without huge pages have no such files");
                    continue;
                }
                assert_eq!(libc::ftruncate(fd, 8 << 20), 0);
                assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, seals | libc::F_SEAL_SHRINK), 0);
                for (kind, bytes) in [
                    (MemoryHandleKind::Opaque, 3 << 20),
                    (MemoryHandleKind::DmaBuf, 3 << 20),
                    (MemoryHandleKind::Opaque, GRANULE),
                ] {
                    assert!(
                        arena.import(fd, kind, bytes, AddressRequest::Any).is_none(),
                        "{flags:#x} {seals:#x} {bytes}"
                    );
                    assert_eq!(*arena.free.lock(), free);
                    let mut there = [0; (3 << 20) / 4096];
                    assert_eq!(libc::mincore(place.cast(), 3 << 20, there.as_mut_ptr()), 0, "addresses are reserved");
                }
                libc::close(fd);
            }
        }
        // SAFETY: the bytes are those of a piece.
        let kept = unsafe { std::slice::from_raw_parts(neighbour.address, neighbour.size as usize) };
        assert!(kept.iter().all(|&byte| byte == 0x77));
    }

    /// Allocates as many pieces of a size as fit and returns the sum of their sizes.
    fn fill(arena: &Arc<Arena>, size: usize) -> u64 {
        let pieces: Vec<Piece> =
            std::iter::from_fn(|| arena.allocate(size, Backing::Anonymous, AddressRequest::Any)).collect();
        (pieces.len() * size) as u64
    }

    #[test]
    fn scarce_addresses_are_reserved_for_the_heap_only() {
        for left in [64u64 << 20, 200 << 20, 4 << 30] {
            let heap = Arena::heap_bytes_for(left / 2) & !0xf_ffff;
            assert!(heap > left / 2 / 10 * 8, "{heap} of {left}");
            let arena = Arc::new(Arena::reserve_within(heap, left - left / 100, false).expect("addresses"));
            let bytes = (arena.granules * GRANULE) as u64;
            assert!(bytes <= left / 100 * 52, "{bytes} of {left}");
            for size in [1 << 20, 2 << 20, 3 << 20, 16 << 20] {
                let sum = fill(&arena, size) + size as u64;
                assert!(sum >= heap, "{sum} of {heap} in pieces of {size}");
            }
        }
        // Less is left than when the heap's size was reported: at most three quarters of it are
        // taken.
        let arena = Arena::reserve_within(1 << 30, 200 << 20, false).expect("addresses");
        assert_eq!(arena.granules * GRANULE, 150 << 20);
        assert!(Arena::reserve_within(1 << 30, 1 << 20, false).is_none());
        // If nothing is scarce, the largest alignment can be used.
        let arena = Arena::reserve_within(1 << 30, u64::MAX, false).expect("addresses");
        assert_eq!((arena.granules * GRANULE, arena.has_spare_addresses), (MIN_RESERVATION, true));
    }
}
