//! The memory of chunks' outputs.

#![forbid(unsafe_code)]

use crate::prim::BoxedOutput;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Largest capacity in bytes of a chunk output that is kept for reuse.
const KEEP_BYTES: usize = 4 << 20;
/// Number of bytes of all outputs that are kept: two usual rounds, of large draws or of hundreds of
/// small ones.
const KEEP_ALL_BYTES: usize = 16 << 20;
/// Number of bytes that are kept for each thread, if there are many threads.
const KEEP_THREAD_BYTES: usize = 1 << 20;

/// Emptied chunk outputs, kept for their capacity, by the processor that wrote them. Memory in
/// another processor's caches takes longer to write than any other.
#[derive(Default)]
pub struct ChunkOutputPool(Mutex<HashMap<usize, FreeList>>);

/// Outputs, and the number of bytes of their capacities.
#[derive(Default)]
struct FreeList {
    outputs: Vec<BoxedOutput>,
    bytes: usize,
}

impl FreeList {
    fn pop(&mut self) -> Option<BoxedOutput> {
        let output = self.outputs.pop()?;
        self.bytes -= output.capacity();
        Some(output)
    }
}

impl ChunkOutputPool {
    /// Returns `count` outputs for a processor.
    pub fn take(&self, processor: usize, count: usize) -> Vec<BoxedOutput> {
        let mut taken = Vec::with_capacity(count);
        if let Some(kept) = self.0.lock().get_mut(&processor) {
            taken.extend(std::iter::from_fn(|| kept.pop()).take(count));
        }
        taken.resize_with(count, BoxedOutput::default);
        taken.iter_mut().for_each(|output| output.processor = processor);
        taken
    }

    /// Empties outputs and keeps as many as are allowed for the number of threads. Processors that
    /// have more than others lose outputs.
    pub fn recycle(&self, outputs: impl Iterator<Item = BoxedOutput>, threads: usize) {
        let max = KEEP_ALL_BYTES.max(threads.saturating_mul(KEEP_THREAD_BYTES));
        let mut all = self.0.lock();
        let mut bytes: usize = all.values().map(|kept| kept.bytes).sum();
        for mut output in outputs {
            let (own, processor) = (output.capacity(), output.processor);
            while bytes + own > max {
                let largest = all.iter_mut().max_by_key(|(_, kept)| kept.bytes);
                let Some(gone) = largest.filter(|(of, _)| **of != processor).and_then(|(_, kept)| kept.pop()) else {
                    break;
                };
                bytes -= gone.capacity();
            }
            if own <= KEEP_BYTES && bytes + own <= max {
                output.clear();
                let kept = all.entry(processor).or_default();
                kept.bytes += own;
                kept.outputs.push(output);
                bytes += own;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prim::ChunkOutput;

    #[test]
    fn outputs_come_back_to_their_processor_and_are_bounded() {
        let output_pool = ChunkOutputPool::default();
        let output = |processor: usize| {
            let bins = Vec::with_capacity(1 << 17);
            BoxedOutput::from(ChunkOutput { bins, processor, ..ChunkOutput::default() })
        };
        // Each output has 1 MiB.
        output_pool.recycle((0..20).map(|_| output(1)), 2);
        assert_eq!(output_pool.0.lock()[&1].outputs.len(), 16);
        output_pool.recycle((0..20).map(|_| output(2)), 2);
        let kept = [1, 2].map(|processor| output_pool.0.lock()[&processor].outputs.len());
        assert!(kept[0] >= 7 && kept[1] >= 7 && kept[0] + kept[1] <= 16, "{kept:?}");
        let taken = output_pool.take(2, kept[1] + 1);
        assert!(taken.iter().all(|output| output.processor == 2));
        assert_eq!(taken.iter().filter(|output| output.bins.capacity() > 0).count(), kept[1]);
        assert_eq!(output_pool.take(3, 1)[0].bins.capacity(), 0);
    }
}
