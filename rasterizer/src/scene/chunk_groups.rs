//! Groups of consecutive chunks, which one worker runs as a whole.
//!
//! A chunk of a small draw takes less than a microsecond. The distribution of single chunks over
//! threads would take longer than that, because each transfers cache lines between processors.

#![forbid(unsafe_code)]

use super::{ChunkOutputPool, Pending, SceneDraw, output_bytes};
use crate::front::{self, DrawChunk, FrontScratch};
use crate::tile::RenderPass;
use base::host::prefetch;
use execution::{StageMemory, Worker};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of groups for each thread, so that threads end at about the same time.
const GROUPS_PER_THREAD: usize = 8;
/// Largest number of chunks of a group.
const MAX_CHUNKS: usize = 16;
/// Largest number of primitives of a group of several chunks.
const MAX_PRIMITIVES: u32 = 128;

/// Divides chunks into groups for `threads` threads. `weight` returns the number of primitives that
/// a chunk will probably make.
pub fn cut(chunks: &mut [Pending], threads: usize, weight: impl Fn(&DrawChunk) -> u32) -> Vec<Mutex<&mut [Pending]>> {
    let max = (chunks.len() / (GROUPS_PER_THREAD * threads)).clamp(1, MAX_CHUNKS);
    let mut groups = Vec::with_capacity(chunks.len().div_ceil(max));
    let mut rest = chunks;
    while !rest.is_empty() {
        let mut primitives = 0u32;
        let fits = |pending: &&Pending| {
            primitives = primitives.saturating_add(weight(&pending.chunk));
            primitives <= MAX_PRIMITIVES
        };
        let count = rest.iter().take(max).take_while(fits).count().max(1);
        let (group, behind) = rest.split_at_mut(count);
        groups.push(Mutex::new(group));
        rest = behind;
    }
    groups
}

/// The front end of a round.
pub struct FrontRound<'a> {
    pass: &'a RenderPass,
    draws: &'a [SceneDraw],
    output_pool: &'a ChunkOutputPool,
    /// Number of bytes that finished groups have left. Once the round is full, it stays full.
    /// Groups are begun in order, so only chunks of groups that other threads have begun meanwhile
    /// may overtake.
    bytes: AtomicUsize,
    /// Number of bytes from which on the round is full.
    max_bytes: usize,
}

impl<'a> FrontRound<'a> {
    /// Makes a round that is full from `max_bytes` bytes of outputs on.
    pub fn new(
        pass: &'a RenderPass,
        draws: &'a [SceneDraw],
        output_pool: &'a ChunkOutputPool,
        max_bytes: usize,
    ) -> FrontRound<'a> {
        FrontRound { pass, draws, output_pool, bytes: AtomicUsize::new(0), max_bytes }
    }

    /// Runs the chunks of a group that have no output, until the round is full. The first chunk of
    /// the first group always runs, so that every round makes progress.
    pub fn run(
        &self,
        group: &mut [Pending],
        is_first: bool,
        worker: &Worker,
        (memory, scratch): (&mut StageMemory, &mut FrontScratch),
    ) {
        let (mut free, mut bytes) = (Vec::new(), 0);
        for i in 0..group.len() {
            if let Some(next) = group.get(i + 1) {
                self.prefetch(&next.chunk);
            }
            let left = group.len() - i;
            let Pending { chunk, output } = &mut group[i];
            let has_room = is_first && i == 0 || self.bytes.load(Ordering::Relaxed) + bytes < self.max_bytes;
            if output.is_none() && has_room {
                if free.is_empty() {
                    free = self.output_pool.take(worker.processor(), left);
                }
                let draw = &self.draws[chunk.draw as usize];
                let output = output.insert(free.pop().unwrap_or_default());
                worker.set_running(draw.draw.running);
                front::run(draw.front(), &self.pass.grid, chunk, memory, scratch, output);
            }
            bytes += output.as_ref().map_or(0, |output| output_bytes(output));
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Prefetches what the front end reads of a chunk's context, which another thread has written.
    fn prefetch(&self, chunk: &DrawChunk) {
        let context = &*self.draws[chunk.draw as usize].draw.context;
        prefetch((&raw const context.abort).cast());
        prefetch((&raw const context.push_constants).cast());
    }
}
