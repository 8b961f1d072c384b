//! Host addresses of device memory: one reserved range per heap, from which allocations are cut.
//!
//! Reserving costs nothing: pages ([`super::backing`]) are committed by the kernel when they are touched and given back when an allocation
//! is freed. What is not allocated cannot be accessed. The range exists so that a shader's physical pointers can be
//! checked by a table of granules ([`AddressSpace`]). Pages of a file can lie at several places of it ([`sparse`],
//! and pieces that import one); they go when the last place goes.
//!
//! Where the process's address space is limited (RLIMIT_AS counts what is reserved), the arena takes no more than its heap needs, and the
//! heap is told to be as large as half of what is left allows (`caps::heap_size`). All heaps of the process share one arena then. Nothing is
//! reserved before the first allocation.
//!
//! Who captures a program to run it again wants its addresses again, in another process (bufferDeviceAddressCaptureReplay): then the range is asked for
//! at a place that hardly anything else lies at ([`SAME`]), and what is to be found again lies apart from what is not ([`Addresses`]), so that
//! neither depends on how much of the other there is. Nobody else's range is where it can be guessed.

mod sparse;

pub use sparse::SparsePiece;

use super::backing::{Backing, Given, Pages, Refused};
use ash::vk;
use base::abi::{ADDRESS_GRANULE_BITS, ADDRESS_TAIL, AddressSpace};
use base::mem::MemoryRange;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

/// What is bound and looked up as one.
pub const GRANULE: usize = 1 << ADDRESS_GRANULE_BITS;
/// Allocations of this size and more begin at a multiple of it: the kernel can use huge pages.
const HUGE_PAGE: usize = 2 << 20;
/// Reserved addresses per byte of the heap, against fragmentation; and the bounds of a reservation.
const RESERVED_PER_BYTE: u64 = 4;
const LEAST: usize = 64 << 30;
const MOST: usize = 4 << 40;
/// Where addresses are scarce: a reservation has one part in so many more than its heap, for guards and whole granules.
const TIGHT_PART: u64 = 16;

/// Where a range begins that is to begin there in every process: the first of these places that is free. Half of what 47 bits of address reach; loaders, stacks and
/// `mmap` begin at the ends.
const SAME: [usize; 4] = [0x2000_0000_0000, 0x2800_0000_0000, 0x3000_0000_0000, 0x3800_0000_0000];
/// Granules before those of what is to be found again: half of the smallest range where addresses are not scarce.
const AGAIN: usize = LEAST / 2 / GRANULE;

/// The addresses of a new piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Whatever is free.
    Any,
    /// The same will be asked for, by [`Addresses::At`].
    Again,
    /// From this one on.
    At(u64),
}

impl Addresses {
    /// What an opaque capture address asks for, 0 being none; `again`: the flag that goes with them.
    pub fn captured(again: bool, opaque: u64) -> Addresses {
        match opaque {
            0 if again => Addresses::Again,
            0 => Addresses::Any,
            address => Addresses::At(address),
        }
    }

    /// What it means that there are none.
    pub fn refusal(self) -> vk::Result {
        match self {
            Addresses::At(_) => vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS,
            Addresses::Any | Addresses::Again => vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
        }
    }
}

/// Granules behind those of a piece that are mapped and not live. What begins in the piece and ends behind it, a shader's access through a pointer
/// or the tail that a descriptor promises, touches these private pages, which are part of no piece.
const GUARD: usize = 1;
const _: () = assert!(GUARD * GRANULE >= ADDRESS_TAIL);

/// Live granules of a piece of `bytes` bytes; None where they and the guard would be more than there are addresses.
fn granules_of(bytes: usize) -> Option<usize> {
    let granules = bytes.max(1).div_ceil(GRANULE);
    (granules.checked_add(GUARD)?.checked_mul(GRANULE)? > 0).then_some(granules)
}

/// See the module header.
pub struct Arena {
    base: *mut u8,
    granules: usize,
    /// A mapping with a byte per granule. The first and last are never live.
    live: *mut u8,
    /// Another one: how many granules follow of the same piece, itself among them.
    runs: *mut u8,
    /// There are addresses to waste on alignment.
    roomy: bool,
    /// Free granules: start → count.
    free: Mutex<BTreeMap<usize, usize>>,
    /// Pieces to be found again whose handles are gone, though something still refers to them: start → granules, and where they learn that another
    /// one lies there now.
    left: Mutex<BTreeMap<usize, (usize, Arc<AtomicBool>)>>,
    /// What unbound granules of sparse resources show ([`sparse`]).
    sink: Mutex<Option<Pages>>,
}

// SAFETY: an address range owned by this object, handed out in pieces that do not overlap.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

/// A piece of an arena, which it goes back to.
pub struct Piece {
    range: MemoryRange,
    /// Live ones; [`GUARD`] more are taken.
    granules: usize,
    /// Go after the mapping.
    pages: Pages,
    arena: Arc<Arena>,
    /// Of one that is to be found again: its addresses are another piece's.
    given: Option<Arc<AtomicBool>>,
}

impl Piece {
    /// Nobody has a handle of it: who asks for its addresses gets them, whatever still refers to it (and is not used any more).
    pub fn leave(&self) {
        if let Some(given) = &self.given {
            self.arena.left.lock().insert(self.start(), (self.granules, given.clone()));
        }
    }

    /// Takes its granules out of the table, so that no address in it is found any more. What has
    /// found one before may use it until the piece is dropped.
    pub fn hide(&self) {
        let _left = self.arena.left.lock();
        // Its addresses are another piece's, which is alive.
        if self.given.as_ref().is_none_or(|given| !given.load(Ordering::Relaxed)) {
            self.arena.mark(self.start(), self.granules, 0);
            self.arena.note_run(self.start(), self.granules, false);
        }
    }

    fn start(&self) -> usize {
        (self.range.address as usize - self.arena.base as usize) / GRANULE
    }

    /// Its bytes.
    pub fn range(&self) -> MemoryRange {
        self.range
    }

    /// A descriptor of its pages, which show it from their beginning on; as [`Pages::export`].
    pub fn export(&self, kind: Given) -> Option<File> {
        self.pages.export(kind)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if let Some(given) = &self.given {
            let mut left = self.arena.left.lock();
            if given.load(Ordering::Relaxed) {
                return;
            }
            left.remove(&self.start());
        }
        self.arena.free(self.range.address, self.granules);
    }
}

/// Addresses without pages, or with a table's.
fn reserve(address: *mut u8, bytes: usize, access: i32, fixed: i32) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    // SAFETY: a new anonymous mapping, at a place of the kernel's choice or over a part of a reservation that its caller owns.
    let p = unsafe { libc::mmap(address.cast(), bytes, access, flags, -1, 0) };
    (p != libc::MAP_FAILED).then_some(p.cast())
}

impl Arena {
    /// Bytes of the heap that a reservation of `bytes` is good for.
    pub fn holds(bytes: u64) -> u64 {
        (bytes / (TIGHT_PART + 1) * TIGHT_PART).saturating_sub(4 * GRANULE as u64)
    }

    /// Reserves addresses for a heap: many, or where the process may not have so many, what the heap needs, or as many as there are; `same`: those of
    /// other processes that say so, if they are free.
    pub fn reserve(heap: u64, same: bool) -> Option<Arena> {
        Self::reserve_within(heap, crate::os::memory_limits::addresses_left().unwrap_or(u64::MAX), same)
    }

    /// As [`Arena::reserve`], where `left` bytes of address space are.
    fn reserve_within(heap: u64, left: u64, same: bool) -> Option<Arena> {
        let wanted = usize::try_from(heap.saturating_mul(RESERVED_PER_BYTE)).unwrap_or(MOST);
        let wanted = wanted.clamp(LEAST, MOST).next_power_of_two() as u64;
        let needed = (heap + heap / TIGHT_PART).saturating_add(8 * GRANULE as u64);
        // The heap's size was told when a little more was left than now.
        let fair = (left / 2).max(needed.min(left / 4 * 3));
        let bytes = if wanted <= left / 2 { wanted } else { needed.min(fair) };
        let mut granules = usize::try_from(bytes).ok()? / GRANULE;
        while granules * GRANULE >= HUGE_PAGE {
            if let Some(arena) = Arena::map(granules, granules as u64 * GRANULE as u64 / 2 >= heap, same) {
                return Some(arena);
            }
            granules = granules / 4 * 3;
        }
        None
    }

    /// Maps the range and its table.
    fn map(granules: usize, roomy: bool, same: bool) -> Option<Arena> {
        let bytes = granules * GRANULE;
        let at = |address: usize| {
            let place = reserve(address as *mut u8, bytes, libc::PROT_NONE, libc::MAP_FIXED_NOREPLACE)?;
            if place as usize == address {
                return Some(place);
            }
            // Kernels that don't know the flag take an address as a wish.
            // SAFETY: mapped just now, and used by nobody.
            unsafe { libc::munmap(place.cast(), bytes) };
            None
        };
        let found = SAME.into_iter().filter(|_| same).find_map(at);
        let base = found.or_else(|| reserve(std::ptr::null_mut(), bytes, libc::PROT_NONE, 0))?;
        let Some(live) = reserve(std::ptr::null_mut(), granules, libc::PROT_READ | libc::PROT_WRITE, 0) else {
            // SAFETY: mapped above, and used by nobody.
            unsafe { libc::munmap(base.cast(), granules * GRANULE) };
            return None;
        };
        let table = granules * size_of::<u32>();
        let Some(runs) = reserve(std::ptr::null_mut(), table, libc::PROT_READ | libc::PROT_WRITE, 0) else {
            // SAFETY: mapped above, and used by nobody.
            unsafe {
                libc::munmap(base.cast(), granules * GRANULE);
                libc::munmap(live.cast(), granules);
            }
            return None;
        };
        Some(Arena {
            base,
            granules,
            live,
            runs,
            roomy,
            free: Mutex::new(BTreeMap::from([(1, granules - 2)])),
            left: Mutex::default(),
            sink: Mutex::default(),
        })
    }

    /// A byte per granule.
    fn live(&self) -> &[AtomicU8] {
        // SAFETY: the mapping of so many bytes, zero at first, which is a valid AtomicU8; it lives as long as the arena.
        unsafe { std::slice::from_raw_parts(self.live.cast(), self.granules) }
    }

    /// Says of some granules that they are a piece, or none any more.
    fn note_run(&self, start: usize, granules: usize, alive: bool) {
        // SAFETY: the mapping of so many numbers, zero at first, which is a valid AtomicU32; it lives as long as the arena.
        let runs: &[AtomicU32] = unsafe { std::slice::from_raw_parts(self.runs.cast(), self.granules) };
        for (i, run) in runs[start..start + granules].iter().enumerate() {
            run.store(if alive { (granules - i) as u32 } else { 0 }, Ordering::Release);
        }
    }

    /// For shaders. Valid as long as the arena.
    pub fn addresses(&self) -> AddressSpace {
        AddressSpace::new(self.base, self.granules, self.live, self.runs.cast())
    }

    /// `bytes` bytes at an address, if all of their granules are alive.
    #[cfg(test)]
    fn range(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        self.prefix(address, bytes).filter(|alive| alive.size == bytes)
    }

    /// What is alive of `bytes` bytes at an address, up to where no granule is alive any more; None where the first one is not.
    pub fn prefix(&self, address: u64, bytes: u64) -> Option<MemoryRange> {
        let first = usize::try_from(address.checked_sub(self.base as u64)?).ok()?;
        let live = self.live().get(first / GRANULE..)?;
        let needed = usize::try_from(bytes.div_ceil(GRANULE as u64)).unwrap_or(usize::MAX).saturating_add(1);
        let alive = live.iter().take(needed).take_while(|granule| granule.load(Ordering::Acquire) != 0).count();
        let left = ((first / GRANULE + alive) * GRANULE).checked_sub(first).filter(|_| alive > 0)?;
        Some(MemoryRange { address: self.base.wrapping_add(first), size: bytes.min(left as u64) })
    }

    /// Calls `add` with each part of some addresses that is alive, in their order, but for no more than `most`.
    pub fn parts(&self, addresses: &Range<u64>, most: usize, add: &mut impl FnMut(Range<u64>)) {
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

    /// Zeroed memory for `bytes` bytes.
    pub fn allocate(self: &Arc<Self>, bytes: usize, backing: Backing, addresses: Addresses) -> Option<Piece> {
        let pages = Pages::new(backing, granules_of(bytes)? * GRANULE)?;
        self.map_pages(&pages, bytes, addresses)
    }

    /// A mapping of what [`Piece::export`] gave away, here or in another process, or of somebody's dma-buf: a piece of `bytes` bytes. None if the descriptor is
    /// not one of so many.
    pub fn import(self: &Arc<Self>, fd: i32, kind: Given, bytes: usize, addresses: Addresses) -> Option<Piece> {
        self.map_pages(&Pages::import(fd, kind, bytes)?, bytes, addresses)
    }

    /// Pages at addresses of their own.
    fn map_pages(self: &Arc<Self>, pages: &Pages, bytes: usize, addresses: Addresses) -> Option<Piece> {
        let granules = granules_of(bytes)?;
        let align = if bytes >= HUGE_PAGE && self.roomy { HUGE_PAGE } else { GRANULE };
        let start = self.take(granules, align, addresses).or_else(|| self.take_over(granules, addresses))?;
        let address = self.base.wrapping_add(start * GRANULE);
        let mapped = match pages {
            // The guard is more of the same.
            // SAFETY: taken from the arena, and given to nobody yet.
            Pages::Anonymous => unsafe { pages.map(address, 0, (granules + GUARD) * GRANULE) },
            Pages::File(_) | Pages::Foreign(_) => {
                // SAFETY: as above.
                unsafe { pages.map(address, 0, granules * GRANULE).and_then(|()| self.map_guard(start + granules)) }
            }
        };
        if let Err(refused) = mapped {
            self.take_back(start, granules, refused);
            return None;
        }
        if bytes >= HUGE_PAGE {
            // One page fault instead of 512, where a piece fills huge pages.
            // SAFETY: a range of the piece. Advice: a kernel without huge pages declines.
            unsafe { libc::madvise(address.cast(), bytes / HUGE_PAGE * HUGE_PAGE, libc::MADV_HUGEPAGE) };
        }
        self.mark(start, granules, 1);
        self.note_run(start, granules, true);
        let range = MemoryRange { address, size: bytes as u64 };
        let given = (addresses != Addresses::Any).then(Arc::default);
        Some(Piece { range, granules, pages: pages.clone(), arena: self.clone(), given })
    }

    /// Maps the guard of the piece that ends before a granule. Next to anonymous memory it is part of the same mapping of the kernel's, and it costs no memory until
    /// it is touched.
    ///
    /// # Safety
    /// The guard's granules are taken, and nobody accesses them.
    unsafe fn map_guard(&self, first: usize) -> Result<(), Refused> {
        // SAFETY: the caller's promise.
        unsafe { Pages::Anonymous.map(self.base.wrapping_add(first * GRANULE), 0, GUARD * GRANULE) }
    }

    /// Takes a piece back.
    fn free(&self, address: *mut u8, granules: usize) {
        let start = (address as usize - self.base as usize) / GRANULE;
        self.mark(start, granules, 0);
        self.note_run(start, granules, false);
        self.take_back(start, granules, Refused::Unchanged);
    }

    /// Reserves the addresses of some granules that are not live again, and of their guard, and makes them free. Where they could not all be reserved, or other parts of the process may
    /// have mapped something there, they stay taken for good.
    fn take_back(&self, start: usize, granules: usize, now: Refused) {
        let (address, granules) = (self.base.wrapping_add(start * GRANULE), granules + GUARD);
        if now == Refused::Unchanged && reserve(address, granules * GRANULE, libc::PROT_NONE, libc::MAP_FIXED).is_some()
        {
            self.give(start, granules);
        }
    }

    fn mark(&self, start: usize, granules: usize, live: u8) {
        self.live()[start..start + granules].iter().for_each(|g| g.store(live, Ordering::Release));
    }

    /// The beginning of so many granules and a guard in a free run: of the first one that is long enough, unless the addresses say more.
    fn take(&self, granules: usize, align: usize, addresses: Addresses) -> Option<usize> {
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
            Addresses::Any => first_from(0),
            Addresses::Again => first_from(AGAIN).or_else(|| first_from(0)),
            Addresses::At(address) => {
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

    /// The beginning of a piece that was left, of so many granules, where one is asked for there.
    fn take_over(&self, granules: usize, addresses: Addresses) -> Option<usize> {
        let Addresses::At(address) = addresses else { return None };
        let start = usize::try_from(address).ok()?.checked_sub(self.base as usize)? / GRANULE;
        let mut left = self.left.lock();
        let same = self.base as u64 + (start * GRANULE) as u64 == address;
        left.get(&start).filter(|&&(count, _)| same && count == granules)?;
        let (_, given) = left.remove(&start)?;
        given.store(true, Ordering::Relaxed);
        Some(start)
    }

    /// Back to the free runs, joined with its neighbours.
    fn give(&self, mut start: usize, mut granules: usize) {
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
        // SAFETY: mapped by `map`; every piece has been given back, as each holds the arena.
        unsafe {
            libc::munmap(self.base.cast(), self.granules * GRANULE);
            libc::munmap(self.live.cast(), self.granules);
            libc::munmap(self.runs.cast(), self.granules * size_of::<u32>());
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
    fn pieces_come_and_go_and_runs_join() {
        [Backing::Anonymous, Backing::Memfd].into_iter().for_each(come_and_go);
    }

    fn come_and_go(backing: Backing) {
        let arena = Arc::new(Arena::reserve(1 << 30, false).expect("addresses"));
        let whole = arena.free.lock().clone();
        let sizes = [1, GRANULE, GRANULE + 1, 3 * HUGE_PAGE, 5 * GRANULE];
        let mut pieces: Vec<Option<Piece>> =
            sizes.iter().map(|&s| arena.allocate(s, backing, Addresses::Any)).collect();
        let address = |piece: &Option<Piece>| piece.as_ref().expect("memory").range().address;
        assert_eq!(pieces.iter().flatten().map(|p| p.granules).collect::<Vec<_>>()[..3], [1, 1, 2]);
        assert_eq!(address(&pieces[3]) as usize % HUGE_PAGE, 0);
        for (piece, size) in pieces.iter().zip(sizes) {
            let last = address(piece).wrapping_add(size - 1);
            assert!(is_live(&arena, address(piece)) && is_live(&arena, last));
            let end = address(piece).wrapping_add(size.next_multiple_of(GRANULE));
            assert!(!is_live(&arena, end));
            // SAFETY: the piece's own bytes, and its guard's.
            unsafe {
                assert_eq!([*last, *end.sub(1), *end, *end.add(ADDRESS_TAIL - 1)], [0; 4]);
                last.write(1);
                end.sub(4).cast::<[u8; 8]>().write([7; 8]);
            }
        }
        // What was written behind the pieces is in none of them.
        for (piece, size) in pieces.iter().zip(sizes).filter(|(_, size)| size % GRANULE == 0) {
            // SAFETY: the piece's own bytes.
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
        let again = arena.allocate(1, backing, Addresses::Any).expect("memory");
        // SAFETY: the piece's own bytes.
        let byte = unsafe { *again.range().address.add(ADDRESS_TAIL) };
        assert_eq!(byte, 0, "memory that was written before is zero again");
    }

    #[test]
    fn what_is_to_be_found_again_lies_apart_and_is_found() {
        let arena = Arc::new(Arena::reserve(1 << 30, true).expect("addresses"));
        let allocate = |addresses| arena.allocate(3 * GRANULE, Backing::Anonymous, addresses);
        let address = |piece: &Piece| piece.range().address as u64;
        let first = allocate(Addresses::Again).expect("memory");
        let place = address(&first);
        assert_eq!(place - arena.base as u64, (AGAIN * GRANULE) as u64);
        assert!(allocate(Addresses::At(place)).is_none(), "it is taken");
        drop(first);
        // Other pieces do not get in the way.
        let others: Vec<Piece> = (0..9).map(|_| allocate(Addresses::Any).expect("memory")).collect();
        assert!(others.iter().all(|piece| address(piece) < place));
        let before = allocate(Addresses::At(place - 4 * GRANULE as u64)).expect("memory");
        let again = allocate(Addresses::At(place)).expect("memory");
        assert_eq!((address(&before), address(&again)), (place - 4 * GRANULE as u64, place));
        // One whose handle is gone makes room, and takes nothing away when it goes.
        before.leave();
        let new = allocate(Addresses::At(address(&before))).expect("memory");
        drop(before);
        let before = new;
        assert!(is_live(&arena, before.range().address));
        // What is no place of a piece: taken in part, not whole granules, outside, as long as all there is.
        let end = arena.base as u64 + (arena.granules * GRANULE) as u64;
        let granule = GRANULE as u64;
        for wrong in [place + granule, place - granule, place + 99, 1, arena.base as u64, end, end - granule, u64::MAX]
        {
            assert!(allocate(Addresses::At(wrong)).is_none(), "{wrong:#x}");
        }
        assert_eq!(arena.sparse(GRANULE, Addresses::At(place)).map(|piece| piece.range().size), None);
        drop((others, before, again));
        assert_eq!(arena.sparse(GRANULE, Addresses::At(place)).expect("addresses").range().address as u64, place);
    }

    #[test]
    fn a_range_is_where_it_was_in_another_process() {
        let base = |same| Arena::reserve(1 << 30, same).expect("addresses").base as usize;
        // (Other tests may have one.)
        assert!(SAME.contains(&base(true)) && !SAME.contains(&base(false)));
        let arenas = [(); 5].map(|()| Arena::reserve(1 << 30, true).expect("addresses"));
        assert!(!SAME.contains(&(arenas[4].base as usize)), "there are four places");
    }

    /// A forked child shares a file's bytes with its parent, has a copy of other memory, and takes nothing away when it gives back.
    #[test]
    fn children_share_files() {
        let arena = Arc::new(Arena::reserve(1 << 30, false).expect("addresses"));
        let [private, shared] = [Backing::Anonymous, Backing::Memfd]
            .map(|backing| arena.allocate(GRANULE, backing, Addresses::Any).expect("memory"));
        // SAFETY: bytes of pieces; the child writes two of them, gives the pieces back and ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                *private.range().address = 5;
                *shared.range().address = 5;
                for piece in [&private, &shared] {
                    reserve(piece.range().address, GRANULE, libc::PROT_NONE, libc::MAP_FIXED);
                }
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!((libc::waitpid(child, &raw mut status, 0), status), (child, 0));
            assert_eq!([*private.range().address, *shared.range().address], [0, 5]);
        }
    }

    /// Files that cannot be mapped or that the kernel would map beyond the piece are refused, and neither the pieces around them nor the reservation change.
    #[test]
    fn imports_that_are_refused_leave_the_arena_as_it_was() {
        let arena = Arc::new(Arena::reserve(1 << 30, false).expect("addresses"));
        let allocate = |bytes| arena.allocate(bytes, Backing::Anonymous, Addresses::Any).expect("memory");
        let (hole, behind) = (allocate(3 << 20), allocate(3 << 20));
        let (place, neighbour) = (hole.range().address, behind.range());
        // SAFETY: bytes of a piece.
        unsafe { neighbour.address.write_bytes(0x77, neighbour.size as usize) };
        drop(hole);
        let free = arena.free.lock().clone();
        for (flags, seals) in [(libc::MFD_HUGETLB, 0), (0, libc::F_SEAL_FUTURE_WRITE), (0, libc::F_SEAL_WRITE)] {
            // SAFETY: makes a descriptor, changes its size and its seals, and closes it; asks about pages of the arena.
            unsafe {
                let fd = libc::memfd_create(c"grus-test".as_ptr(), flags | libc::MFD_ALLOW_SEALING);
                if fd < 0 {
                    assert_eq!(flags, libc::MFD_HUGETLB, "kernels without huge pages have no such files");
                    continue;
                }
                assert_eq!(libc::ftruncate(fd, 8 << 20), 0);
                assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, seals | libc::F_SEAL_SHRINK), 0);
                for (kind, bytes) in [(Given::File, 3 << 20), (Given::DmaBuf, 3 << 20), (Given::File, GRANULE)] {
                    assert!(arena.import(fd, kind, bytes, Addresses::Any).is_none(), "{flags:#x} {seals:#x} {bytes}");
                    assert_eq!(*arena.free.lock(), free);
                    let mut there = [0; (3 << 20) / 4096];
                    assert_eq!(libc::mincore(place.cast(), 3 << 20, there.as_mut_ptr()), 0, "addresses are reserved");
                }
                libc::close(fd);
            }
        }
        // SAFETY: bytes of a piece.
        let kept = unsafe { std::slice::from_raw_parts(neighbour.address, neighbour.size as usize) };
        assert!(kept.iter().all(|&byte| byte == 0x77));
    }

    /// As many pieces as fit, of a size; the sum of their sizes.
    fn fill(arena: &Arc<Arena>, size: usize) -> u64 {
        let pieces: Vec<Piece> =
            std::iter::from_fn(|| arena.allocate(size, Backing::Anonymous, Addresses::Any)).collect();
        (pieces.len() * size) as u64
    }

    #[test]
    fn where_addresses_are_scarce_the_heap_fits_and_no_more_is_taken() {
        for left in [64u64 << 20, 200 << 20, 4 << 30] {
            let heap = Arena::holds(left / 2) & !0xf_ffff;
            assert!(heap > left / 2 / 10 * 8, "{heap} of {left}");
            let arena = Arc::new(Arena::reserve_within(heap, left - left / 100, false).expect("addresses"));
            let bytes = (arena.granules * GRANULE) as u64;
            assert!(bytes <= left / 100 * 52, "{bytes} of {left}");
            for size in [1 << 20, 2 << 20, 3 << 20, 16 << 20] {
                let sum = fill(&arena, size) + size as u64;
                assert!(sum >= heap, "{sum} of {heap} in pieces of {size}");
            }
        }
        // Less is left than when the heap's size was told: three quarters of it at the most.
        let arena = Arena::reserve_within(1 << 30, 200 << 20, false).expect("addresses");
        assert_eq!(arena.granules * GRANULE, 150 << 20);
        assert!(Arena::reserve_within(1 << 30, 1 << 20, false).is_none());
        // And where nothing is scarce, there is room.
        let arena = Arena::reserve_within(1 << 30, u64::MAX, false).expect("addresses");
        assert_eq!((arena.granules * GRANULE, arena.roomy), (LEAST, true));
    }
}
