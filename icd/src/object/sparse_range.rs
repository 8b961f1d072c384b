//! Addresses that a sparse resource has for life, and the memory that is behind them now (`sparse` changes it).

use super::heap::{Heap, SparseAddresses};
use crate::os::arena::{Addresses, SparsePiece};
use ash::vk;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The addresses of a sparse resource, and which memory is behind them.
pub struct SparseRange {
    addresses: SparseAddresses,
    /// Runs of granules that one memory is behind: first → count, memory. They do not overlap.
    pub bound: Mutex<BTreeMap<usize, (usize, usize)>>,
}

impl SparseRange {
    /// Addresses for `bytes` bytes, unbound. As [`Heap::sparse`].
    pub fn new(heap: &Arc<Heap>, bytes: u64, addresses: Addresses) -> Result<Arc<SparseRange>, vk::Result> {
        Ok(Arc::new(SparseRange { addresses: heap.sparse(bytes, addresses)?, bound: Mutex::default() }))
    }

    /// The addresses.
    pub fn piece(&self) -> &SparsePiece {
        &self.addresses.piece
    }

    /// The handle of its resource ends: its addresses go back when no submission can use them any
    /// more.
    pub fn end(this: Arc<SparseRange>) {
        let Some(range) = Arc::into_inner(this) else { return };
        range.piece().hide();
        let heap = range.addresses.heap().clone();
        heap.executions.retire(range);
    }

    /// Memory `gone` is not to be seen any more.
    pub fn forget(&self, gone: usize) {
        let mut bound = self.bound.lock();
        bound.retain(|&first, &mut (count, memory)| {
            // What the kernel does not take back, nobody else gets: the pages stay.
            memory != gone || !self.piece().unbind(first..first + count)
        });
    }

    /// Takes what lies in some granules out of the runs.
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
