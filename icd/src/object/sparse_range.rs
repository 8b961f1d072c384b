//! Addresses that a sparse resource has for its lifetime, and the memory that is currently behind
//! them (`sparse` changes it).

use super::heap::{Heap, SparseAddresses};
use crate::os::arena::{AddressRequest, SparsePiece};
use ash::vk;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Addresses of a sparse resource, with the memory behind them.
pub struct SparseRange {
    addresses: SparseAddresses,
    /// Runs of granules that show one memory: first → (count, memory). They do not overlap.
    pub bound: Mutex<BTreeMap<usize, (usize, usize)>>,
}

impl SparseRange {
    /// Takes addresses for `bytes` bytes, unbound. Fails as [`Heap::sparse`] does.
    pub fn new(heap: &Arc<Heap>, bytes: u64, addresses: AddressRequest) -> Result<Arc<SparseRange>, vk::Result> {
        Ok(Arc::new(SparseRange { addresses: heap.sparse(bytes, addresses)?, bound: Mutex::default() }))
    }

    /// Returns the addresses.
    pub fn piece(&self) -> &SparsePiece {
        &self.addresses.piece
    }

    /// Ends the range because the handle of its resource is destroyed: its addresses are returned
    /// when no submission can use them any more.
    pub fn end(this: Arc<SparseRange>) {
        let Some(range) = Arc::into_inner(this) else { return };
        range.piece().mark_dead();
        let heap = range.addresses.heap().clone();
        heap.executions.retire(range);
    }

    /// Removes the memory `removed` from the range.
    pub fn remove_memory(&self, removed: usize) {
        let mut bound = self.bound.lock();
        bound.retain(|&first, &mut (count, memory)| {
            // If the kernel refuses to exchange the mapping, the pages stay, and nothing else gets
            // them.
            memory != removed || !self.piece().unbind(first..first + count)
        });
    }

    /// Removes some granules from the runs.
    pub fn clear(bound: &mut BTreeMap<usize, (usize, usize)>, granules: &Range<usize>) {
        let before = bound.range(..granules.start).next_back().map(|(&first, &run)| (first, run));
        let inside: Vec<_> = bound.range(granules.clone()).map(|(&first, &run)| (first, run)).collect();
        for (first, (count, memory)) in before.into_iter().chain(inside) {
            let end = first + count;
            if end <= granules.start {
                continue;
            }
            bound.remove(&first);
            if first < granules.start {
                bound.insert(first, (granules.start - first, memory));
            }
            if end > granules.end {
                bound.insert(granules.end, (end - granules.end, memory));
            }
        }
    }
}
