//! Addresses at which sparse resources lie: their granules are bound to memory, and to other memory
//! later, one by one.
//!
//! The processor's page tables are the binding. A bound granule shows the pages of a piece
//! ([`Backing::Memfd`], because they are mapped twice), and accesses to it cost no more than any
//! other access. All granules that are not bound, of all ranges of an arena, show one file
//! repeatedly, the sink. Reads of it give undefined values; writes are lost or are read again
//! elsewhere. No fault results, and no more than [`SINK_BYTES`] bytes of memory are used.
//!
//! residencyNonResidentStrict can therefore not be reported, because it requires zeros, also after
//! a write. The alternatives fail: memory of their own would be written in any amount, and pages
//! without access would raise a signal. Different addresses for stores than for loads would not
//! work for blending, depth and atomics, which load what they store, and would add work to every
//! store of every buffer. Device addresses do better: a granule that is not bound is not live in
//! the table, so shaders' pointers read 0 there and their writes are dropped.

use super::{AddressRequest, Arena, GRANULE, Piece, granules_of};
use crate::os::backing::{Backing, Pages};
use crate::os::pages::SINK_BYTES;
use base::mem::{DeviceMemory, MemoryRange};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// Number of bytes that are copied at a time when pages are moved to a file.
const COPY_BYTES: usize = 4096;

/// Addresses of a sparse resource.
pub struct SparsePiece {
    /// The addresses, whose pages are the sink's.
    piece: Piece,
}

impl Arena {
    /// Returns the sink. It belongs to the arena, so that another instance does not see what is
    /// written to unbound granules (unless the address space is limited: then instances share an
    /// arena). Returns `None` if the kernel currently gives no file.
    fn sink(&self) -> Option<Pages> {
        let mut pages = self.sink.lock();
        if pages.is_none() {
            *pages = Pages::new(Backing::Memfd, SINK_BYTES);
        }
        pages.clone()
    }

    /// Takes addresses for `bytes` bytes, none of which is bound.
    pub fn sparse(self: &Arc<Self>, bytes: usize, addresses: AddressRequest) -> Option<SparsePiece> {
        let (pages, granules) = (self.sink()?, granules_of(bytes)?);
        let start = self.allocate_granules(granules, GRANULE, addresses)?;
        let range = MemoryRange { address: self.base.wrapping_add(start * GRANULE), size: bytes as u64 };
        // From here on dropping `piece` returns the addresses.
        let piece = SparsePiece {
            piece: Piece {
                range,
                granules,
                pages,
                file_pages: Mutex::default(),
                arena: self.clone(),
                reassigned: None,
            },
        };
        // Unbound bytes can be accessed too, through the descriptor of a buffer. SAFETY: the
        // granules were taken above, and nothing uses them yet.
        let guarded = unsafe { self.map_guard(start + granules) }.is_ok();
        let whole = guarded && piece.unbind(0..granules);
        self.set_run(start, granules, whole);
        whole.then_some(piece)
    }
}

impl Piece {
    /// Returns false if the pages have to be moved before a sparse resource can show them.
    pub fn is_shared(&self) -> bool {
        self.pages.can_be_mapped_twice()
    }

    /// Returns pages that can be mapped a second time; `None` if there are none, or the kernel
    /// refuses. The requirements of sparse resources exclude the memory type of anonymous pages,
    /// but clients bind such memory all the same (zink), so its pages are moved to a file. The
    /// addresses stay; what other threads write meanwhile can be lost.
    fn shared_pages(&self) -> Option<Pages> {
        if self.is_shared() {
            return Some(self.pages.clone());
        }
        let mut file_pages = self.file_pages.lock();
        if file_pages.is_none() && self.pages.are_anonymous() {
            *file_pages = self.move_to_file();
        }
        file_pages.clone()
    }

    /// Copies anonymous pages to a new file and maps it at their addresses. Pages of zeros are not
    /// copied, so that memory that was never touched stays unused.
    fn move_to_file(&self) -> Option<Pages> {
        let size = self.granules * GRANULE;
        let pages = Pages::new(Backing::Memfd, size)?;
        // SAFETY: all granules of the piece are mapped as long as the piece exists.
        let memory = unsafe { DeviceMemory::new(MemoryRange { address: self.range.address, size: size as u64 }) };
        let mut page = [0; COPY_BYTES];
        for at in (0..size as u64).step_by(COPY_BYTES) {
            if memory.read(at, &mut page) && page != [0; COPY_BYTES] && !pages.write(at, &page) {
                return None;
            }
        }
        // SAFETY: the granules belong to this piece, and invalid use is the only cause of accesses
        // by other threads, which meet the old or the new pages.
        unsafe { pages.map(self.range.address, 0, size) }.ok()?;
        Some(pages)
    }
}

impl SparsePiece {
    /// Returns the bytes of the range, which begins at a granule.
    pub fn range(&self) -> MemoryRange {
        self.piece.range
    }

    /// Hides the granules from lookups of addresses, as [`Piece::mark_dead`] does.
    pub fn mark_dead(&self) {
        self.piece.mark_dead();
    }

    /// Returns a pointer to the table's bytes of its granules, from the granule that contains byte
    /// `offset` on. A byte is 0 if the granule is not bound. The pointer is valid as long as the
    /// arena.
    pub fn residency(&self, offset: u64) -> *const u8 {
        let start = (self.piece.range.address as usize - self.piece.arena.base as usize + offset as usize) / GRANULE;
        self.piece.arena.live.wrapping_add(start)
    }

    /// Shows memory from `offset` on, a multiple of [`GRANULE`], in some granules. Returns false
    /// without any change if the memory has no such bytes or cannot be mapped twice, or if the
    /// kernel refuses. Anonymous memory is moved to a file first ([`Piece::shared_pages`]).
    ///
    /// Nothing accesses the granules meanwhile, as Vulkan's synchronization rules require.
    #[must_use]
    pub fn bind(&self, granules: Range<usize>, memory: &Piece, offset: usize) -> bool {
        let bytes = granules.len() * GRANULE;
        // The memory's last granule is whole for any size.
        let holds = offset.is_multiple_of(GRANULE)
            && offset
                .checked_add(bytes)
                .is_some_and(|end| end <= (memory.range.size as usize).next_multiple_of(GRANULE));
        holds
            && memory.shared_pages().is_some_and(|pages| self.map_granules(&pages, granules.clone(), offset))
            && self.set_live(granules, 1)
    }

    /// Shows the sink in some granules again; returns false if the kernel refuses.
    #[must_use]
    pub fn unbind(&self, granules: Range<usize>) -> bool {
        self.set_live(granules.clone(), 0);
        let mut at = granules.start;
        while at < granules.end {
            // Each granule has a fixed place in the sink, so that neighbours are one mapping.
            let first = at * GRANULE % SINK_BYTES;
            let end = granules.end.min(at + (SINK_BYTES - first) / GRANULE);
            if !self.map_granules(&self.piece.pages, at..end, first) {
                return false;
            }
            at = end;
        }
        true
    }

    fn map_granules(&self, pages: &Pages, granules: Range<usize>, offset: usize) -> bool {
        if granules.is_empty() || granules.end > self.piece.granules {
            return granules.is_empty();
        }
        let address = self.piece.range.address.wrapping_add(granules.start * GRANULE);
        // SAFETY: the addresses are whole granules of this piece.
        unsafe { pages.map_granules(address, offset, granules.len() * GRANULE) }.is_ok()
    }

    fn set_live(&self, granules: Range<usize>, live: u8) -> bool {
        let start = (self.piece.range.address as usize - self.piece.arena.base as usize) / GRANULE;
        let granules = granules.start.min(self.piece.granules)..granules.end.min(self.piece.granules);
        self.piece.arena.set_live(start + granules.start, granules.len(), live);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address_at(range: MemoryRange, offset: usize) -> *mut u8 {
        range.address.wrapping_add(offset)
    }

    /// An end of a sink behind the granules that the test binds first. The sink of Linux has many
    /// granules, that of Windows has one.
    const EDGE: usize = if SINK_BYTES < 4 * GRANULE { 4 * GRANULE } else { SINK_BYTES };

    #[test]
    fn bound_granules_map_their_memory() {
        let arena = Arc::new(Arena::reserve(1 << 30, false).expect("addresses"));
        let whole = arena.free.lock().clone();
        let memory = arena.allocate(3 * GRANULE, Backing::Memfd, AddressRequest::Any).expect("memory");
        let sparse = arena.sparse(EDGE + 4 * GRANULE, AddressRequest::Any).expect("addresses");
        let (m, s) = (memory.range(), sparse.range());
        let live = |granule: usize| arena.range(address_at(s, granule * GRANULE) as u64, 1).is_some();
        // Every byte from the first one to the guard's first one can be touched, bound or not.
        // SAFETY: all unsafe blocks of this test access bytes of live pieces.
        unsafe { (0..=EDGE + 4 * GRANULE).step_by(GRANULE).for_each(|i| *address_at(s, i) = 1) };
        assert!(!live(0) && !live(1));
        assert!(sparse.bind(1..3, &memory, GRANULE));
        assert_eq!([0, 1, 2, 3].map(live), [false, true, true, false]);
        // SAFETY: the bytes lie in the two live pieces.
        unsafe {
            (*address_at(s, GRANULE + 5), *address_at(m, 2 * GRANULE + 7)) = (5, 7);
            assert_eq!([*address_at(m, GRANULE + 5), *address_at(s, 2 * GRANULE + 7)], [5, 7]);
        }
        // One memory is bound twice, over an end of the sink, and then other memory in its
        // place.
        assert!(sparse.bind(EDGE / GRANULE - 1..EDGE / GRANULE + 1, &memory, GRANULE) && sparse.bind(1..2, &memory, 0));
        // SAFETY: the bytes lie in the live piece.
        unsafe {
            assert_eq!(
                [*address_at(s, EDGE - GRANULE + 5), *address_at(s, EDGE + 7), *address_at(s, GRANULE + 5)],
                [5, 7, 0]
            )
        };
        assert!(sparse.unbind(0..EDGE / GRANULE + 4));
        assert!((0..8).all(|i| !live(i)));
        // SAFETY: the bytes lie in the two live pieces.
        unsafe {
            *address_at(s, GRANULE + 5) = 9;
            assert_eq!(*address_at(m, 5), 0);
        }
        // Binding fails for bytes that the memory lacks, for granules that do not exist, and for
        // memory that cannot be mapped twice.
        assert!(!sparse.bind(0..2, &memory, 2 * GRANULE) && !sparse.bind(0..1, &memory, 1));
        assert!(!sparse.bind(0..1, &memory, usize::MAX & !0xffff));
        assert!(!sparse.bind(EDGE / GRANULE + 4..EDGE / GRANULE + 6, &memory, 0));
        // Anonymous pages are moved to a file, with their bytes.
        let anonymous = arena.allocate(3 * GRANULE, Backing::Anonymous, AddressRequest::Any).expect("memory");
        let a = anonymous.range();
        // SAFETY: as above.
        unsafe { *address_at(a, GRANULE + 5) = 3 };
        assert!(sparse.bind(0..1, &anonymous, GRANULE) && sparse.bind(1..2, &anonymous, GRANULE));
        // SAFETY: as above.
        unsafe {
            assert_eq!([*address_at(s, 5), *address_at(s, GRANULE + 5), *address_at(a, GRANULE + 5)], [3; 3]);
            *address_at(s, 6) = 4;
            assert_eq!([*address_at(s, GRANULE + 6), *address_at(a, GRANULE + 6)], [4; 2]);
        }
        // Bound pages outlive their piece, and the addresses return to the arena.
        assert!(sparse.bind(0..1, &memory, GRANULE));
        drop((memory, anonymous));
        // SAFETY: the byte lies in the live sparse piece.
        assert_eq!(unsafe { *address_at(s, 5) }, 5);
        drop(sparse);
        assert_eq!(*arena.free.lock(), whole);
        assert!(arena.range(s.address as u64, 1).is_none());
    }
}
