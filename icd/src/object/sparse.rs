//! Sparse resources: addresses that exist from the creation on, and memory that vkQueueBindSparse
//! binds to them, granule by granule.
//!
//! A buffer or an image keeps its addresses for life, so descriptors, views and device addresses
//! work as for other resources. The sparse block size is the arena's granule, for all resources.
//!
//! Bindings name memory by number and not by reference. Freed memory leaves the resources that show
//! it, so that its pages are freed at once; a later access meets the sink.

use super::memory::Memory;
pub use super::sparse_range::SparseRange;
use crate::os::arena::GRANULE;
use ash::vk;
use std::ops::Range;
use std::sync::Arc;

/// Number of bytes of alignment, and granularity of bindings.
pub const SPARSE_BLOCK: u64 = GRANULE as u64;

/// One binding of vkQueueBindSparse: bytes of a resource, and the memory and offset for them, or
/// nothing.
pub struct SparseBind {
    /// Addresses of the resource.
    pub range: Arc<SparseRange>,
    /// Offset from the resource's start in bytes.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Memory and offset in it; `None` to unbind.
    pub memory: Option<(Arc<Memory>, u64)>,
}

impl SparseBind {
    /// Returns the granules of a binding, if it consists of whole blocks inside its resource. The
    /// last block may be cut by the resource's end.
    pub fn granules(&self) -> Option<Range<usize>> {
        let (size, end) = (self.range.piece().range().size, self.offset.checked_add(self.bytes)?);
        let whole = self.offset.is_multiple_of(SPARSE_BLOCK) && (end.is_multiple_of(SPARSE_BLOCK) || end == size);
        let last = end.div_ceil(SPARSE_BLOCK);
        let inside = whole && last <= size.div_ceil(SPARSE_BLOCK);
        inside.then_some((self.offset / SPARSE_BLOCK) as usize..last as usize)
    }

    /// Executes the binding; no other access to the bytes may happen meanwhile. Fails with the
    /// errors of [`Memory::map_into`] (VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY),
    /// or with the latter if it does not consist of whole blocks.
    pub fn execute(&self) -> Result<(), vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let granules = self.granules().ok_or(out)?;
        if granules.is_empty() {
            return Ok(());
        }
        let mut bound = self.range.bound.lock();
        match &self.memory {
            Some((memory, offset)) => {
                let memory = memory.map_into(&self.range, granules.clone(), *offset)?;
                SparseRange::clear(&mut bound, &granules);
                bound.insert(granules.start, (granules.len(), memory));
            }
            None => {
                if !self.range.piece().unbind(granules.clone()) {
                    return Err(out);
                }
                SparseRange::clear(&mut bound, &granules);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::heap::Heap;
    use super::*;
    use crate::os::arena::AddressRequest;
    use crate::os::backing::Backing;

    /// Checks the runs of bound granules; `command/aliasing_tests.rs` checks the bytes.
    #[test]
    fn later_bindings_cut_earlier_runs() {
        let heap = Arc::new(Heap::default());
        let memory = || {
            Arc::new(Memory::allocate(&heap, 4 * SPARSE_BLOCK, Backing::Memfd, AddressRequest::Any).expect("memory"))
        };
        let (a, b) = (memory(), memory());
        let range = SparseRange::new(&heap, 8 * SPARSE_BLOCK, AddressRequest::Any).expect("addresses");
        let bind = |granules: Range<u64>, memory: Option<(&Arc<Memory>, u64)>| {
            let memory = memory.map(|(memory, granule)| (memory.clone(), granule * SPARSE_BLOCK));
            let bytes = (granules.end - granules.start) * SPARSE_BLOCK;
            SparseBind { range: range.clone(), offset: granules.start * SPARSE_BLOCK, bytes, memory }.execute()
        };
        let runs = || range.bound.lock().iter().map(|(&first, &(count, _))| (first, count)).collect::<Vec<_>>();
        bind(0..4, Some((&a, 0))).expect("bound");
        bind(4..8, Some((&a, 0))).expect("bound");
        bind(3..5, Some((&b, 2))).expect("bound");
        bind(1..2, None).expect("unbound");
        assert_eq!(runs(), [(0, 1), (2, 1), (3, 2), (5, 3)]);
        // An invalid binding changes nothing.
        for (granules, memory) in [(7..9, Some((&a, 0))), (0..2, Some((&a, 3)))] {
            assert_eq!(bind(granules, memory), Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        }
        for (offset, bytes) in [(1, SPARSE_BLOCK), (0, 1), (u64::MAX, 1), (8 * SPARSE_BLOCK, SPARSE_BLOCK)] {
            let bind = SparseBind { range: range.clone(), offset, bytes, memory: None };
            assert!(bind.execute().is_err(), "{bytes} at {offset}");
        }
        assert_eq!(runs(), [(0, 1), (2, 1), (3, 2), (5, 3)]);
        // Freed memory is removed from the resource; the other memory stays.
        drop(a);
        assert_eq!(runs(), [(3, 2)]);
        let end = SparseBind { range: range.clone(), offset: 8 * SPARSE_BLOCK, bytes: 0, memory: None };
        assert_eq!((end.execute(), end.granules()), (Ok(()), Some(8..8)));
    }

    /// Checks a resource whose size is not a multiple of a block: its last block is bound by its
    /// remaining bytes, or as a whole.
    #[test]
    fn the_last_block_may_be_cut() {
        let heap = Arc::new(Heap::default());
        let range = SparseRange::new(&heap, SPARSE_BLOCK + 5, AddressRequest::Any).expect("addresses");
        let granules = |offset, bytes| SparseBind { range: range.clone(), offset, bytes, memory: None }.granules();
        assert_eq!(granules(SPARSE_BLOCK, 5), Some(1..2));
        assert_eq!(granules(0, 2 * SPARSE_BLOCK), Some(0..2));
        assert_eq!((granules(0, SPARSE_BLOCK + 4), granules(0, 3 * SPARSE_BLOCK)), (None, None));
    }

    #[test]
    fn addresses_are_counted() {
        let heap = Arc::new(Heap::default());
        let most = crate::caps::limits::SPARSE_ADDRESS_SPACE;
        let all = SparseRange::new(&heap, most, AddressRequest::Any).expect("addresses");
        assert_eq!(SparseRange::new(&heap, 1, AddressRequest::Any).err(), Some(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        drop(all);
        assert!(SparseRange::new(&heap, 1, AddressRequest::Any).is_ok());
    }
}
