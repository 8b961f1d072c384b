//! Addresses whose granules are bound to memory, and to other memory, one by one: what sparse resources lie at.
//!
//! The processor's page tables are the binding: a granule that is bound shows the pages of a piece ([`Backing::Memfd`], as they are mapped twice), and
//! accesses to it cost what any other do. All granules that are not bound, of all ranges of an
//! arena, show one file, the sink, over and over: what is
//! read there is something or other, what is written is lost or read again elsewhere, and neither a fault nor more than [`SINK`] bytes of memory
//! come of it. (So residencyNonResidentStrict cannot be told: it wants zeros, also behind a write. Memory of their own would be written in any amount; pages
//! without access would be a signal; and other addresses for stores than for loads would do for neither blending, depth nor atomics, which load what they store, and
//! would be an addition to every store of every buffer.) Device addresses do better: a granule that is not bound is not live in the table, so shaders' pointers read 0 there
//! and their writes are dropped.
//!
//! [`Backing::Memfd`]: crate::os::backing::Backing::Memfd

use super::{Addresses, Arena, GRANULE, Piece, granules_of};
use crate::os::backing::{Pages, memfd};
use base::mem::MemoryRange;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of the sink. The kernel merges its mappings where they follow each other in the file; a range has one of them for each so many bytes, of some
/// 65,000 that a process may have.
const SINK: usize = 64 << 20;

/// See the module header.
pub struct SparsePiece {
    /// Its pages are the sink's.
    piece: Piece,
}

impl Arena {
    /// The sink. It is the arena's, so that what is written to unbound granules is not seen by
    /// another instance (unless the address space is limited, where instances share an arena).
    /// None: the kernel gives no file (now).
    fn sink(&self) -> Option<Pages> {
        let mut pages = self.sink.lock();
        if pages.is_none() {
            *pages = memfd(SINK as u64).map(|file| Pages::File(Arc::new(file)));
        }
        pages.clone()
    }

    /// Addresses for `bytes` bytes, nothing of which is bound.
    pub fn sparse(self: &Arc<Self>, bytes: usize, addresses: Addresses) -> Option<SparsePiece> {
        let (pages, granules) = (self.sink()?, granules_of(bytes)?);
        let start = self.take(granules, GRANULE, addresses)?;
        let range = MemoryRange { address: self.base.wrapping_add(start * GRANULE), size: bytes as u64 };
        // From here on it goes back when it is dropped.
        let piece = SparsePiece { piece: Piece { range, granules, pages, arena: self.clone(), given: None } };
        // What is not bound can be accessed too: a descriptor's buffer has it.
        // SAFETY: taken above, and given to nobody yet.
        let guarded = unsafe { self.map_guard(start + granules) }.is_ok();
        let whole = guarded && piece.unbind(0..granules);
        self.note_run(start, granules, whole);
        whole.then_some(piece)
    }
}

impl SparsePiece {
    /// Its bytes. They begin with a granule.
    pub fn range(&self) -> MemoryRange {
        self.piece.range
    }

    /// Hides the granules from lookups of addresses, as [`Piece::hide`] does.
    pub fn hide(&self) {
        self.piece.hide();
    }

    /// The table's bytes of its granules, from the one that holds byte `offset` on: 0 where one is
    /// not bound. Valid as long as the arena.
    pub fn residency(&self, offset: u64) -> *const u8 {
        let start = (self.piece.range.address as usize - self.piece.arena.base as usize + offset as usize) / GRANULE;
        self.piece.arena.live.wrapping_add(start)
    }

    /// Shows memory from `offset` on, a multiple of [`GRANULE`], in some granules; false, and nothing has changed, where the memory has no such bytes
    /// or cannot be mapped twice, or the kernel refuses.
    ///
    /// Nobody accesses the granules meanwhile: rules of Vulkan's synchronisation.
    #[must_use]
    pub fn bind(&self, granules: Range<usize>, memory: &Piece, offset: usize) -> bool {
        let bytes = granules.len() * GRANULE;
        // The memory's last granule is whole, whatever its size.
        let holds = offset.is_multiple_of(GRANULE)
            && offset
                .checked_add(bytes)
                .is_some_and(|end| end <= (memory.range.size as usize).next_multiple_of(GRANULE));
        holds
            && memory.pages.can_be_mapped_twice()
            && self.show(&memory.pages, granules.clone(), offset)
            && self.mark(granules, 1)
    }

    /// Shows the sink again; false if the kernel refuses.
    #[must_use]
    pub fn unbind(&self, granules: Range<usize>) -> bool {
        self.mark(granules.clone(), 0);
        let mut at = granules.start;
        while at < granules.end {
            // A granule has its place in the sink, so that neighbours are one mapping.
            let first = at * GRANULE % SINK;
            let end = granules.end.min(at + (SINK - first) / GRANULE);
            if !self.show(&self.piece.pages, at..end, first) {
                return false;
            }
            at = end;
        }
        true
    }

    fn show(&self, pages: &Pages, granules: Range<usize>, offset: usize) -> bool {
        if granules.is_empty() || granules.end > self.piece.granules {
            return granules.is_empty();
        }
        let address = self.piece.range.address.wrapping_add(granules.start * GRANULE);
        // SAFETY: whole granules of this piece.
        unsafe { pages.map(address, offset, granules.len() * GRANULE) }.is_ok()
    }

    fn mark(&self, granules: Range<usize>, live: u8) -> bool {
        let start = (self.piece.range.address as usize - self.piece.arena.base as usize) / GRANULE;
        let granules = granules.start.min(self.piece.granules)..granules.end.min(self.piece.granules);
        self.piece.arena.mark(start + granules.start, granules.len(), live);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::backing::Backing;

    fn at(range: MemoryRange, offset: usize) -> *mut u8 {
        range.address.wrapping_add(offset)
    }

    #[test]
    fn granules_show_what_they_are_bound_to() {
        let arena = Arc::new(Arena::reserve(1 << 30, false).expect("addresses"));
        let whole = arena.free.lock().clone();
        let memory = arena.allocate(3 * GRANULE, Backing::Memfd, Addresses::Any).expect("memory");
        let sparse = arena.sparse(SINK + 4 * GRANULE, Addresses::Any).expect("addresses");
        let (m, s) = (memory.range(), sparse.range());
        let live = |granule: usize| arena.range(at(s, granule * GRANULE) as u64, 1).is_some();
        // Every byte can be touched from the first to the guard's first, bound or not.
        // SAFETY: (all here) bytes of pieces.
        unsafe { (0..=SINK + 4 * GRANULE).step_by(GRANULE).for_each(|i| *at(s, i) = 1) };
        assert!(!live(0) && !live(1));
        assert!(sparse.bind(1..3, &memory, GRANULE));
        assert_eq!([0, 1, 2, 3].map(live), [false, true, true, false]);
        // SAFETY: as above.
        unsafe {
            (*at(s, GRANULE + 5), *at(m, 2 * GRANULE + 7)) = (5, 7);
            assert_eq!([*at(m, GRANULE + 5), *at(s, 2 * GRANULE + 7)], [5, 7]);
        }
        // The same memory twice, over the end of the sink, and elsewhere instead.
        assert!(sparse.bind(SINK / GRANULE - 1..SINK / GRANULE + 1, &memory, GRANULE) && sparse.bind(1..2, &memory, 0));
        // SAFETY: as above.
        unsafe { assert_eq!([*at(s, SINK - GRANULE + 5), *at(s, SINK + 7), *at(s, GRANULE + 5)], [5, 7, 0]) };
        assert!(sparse.unbind(0..SINK / GRANULE + 4));
        assert!((0..8).all(|i| !live(i)));
        // SAFETY: as above.
        unsafe {
            *at(s, GRANULE + 5) = 9;
            assert_eq!(*at(m, 5), 0);
        }
        // What is not there: memory's bytes, granules, a second mapping.
        assert!(!sparse.bind(0..2, &memory, 2 * GRANULE) && !sparse.bind(0..1, &memory, 1));
        assert!(!sparse.bind(0..1, &memory, usize::MAX & !0xffff));
        assert!(!sparse.bind(SINK / GRANULE + 4..SINK / GRANULE + 6, &memory, 0));
        let anonymous = arena.allocate(3 * GRANULE, Backing::Anonymous, Addresses::Any).expect("memory");
        assert!(!sparse.bind(0..1, &anonymous, 0));
        // Bound pages outlive their piece; addresses come back.
        assert!(sparse.bind(0..1, &memory, GRANULE));
        drop((memory, anonymous));
        // SAFETY: as above.
        assert_eq!(unsafe { *at(s, 5) }, 5);
        drop(sparse);
        assert_eq!(*arena.free.lock(), whole);
        assert!(arena.range(s.address as u64, 1).is_none());
    }
}
