//! A render pass instance: draws are cut into chunks and deferred; a flush runs front end, merge
//! and tiles.
//!
//! Chunks are numbered in draw order. A tile runs its primitives by chunk number and, in a chunk,
//! by primitive number.
//!
//! Memory is bounded. After [`ROUND_PRIMITIVES`] primitives, the pending chunks are run, in the
//! middle of a draw if needed. Chunks that find [`ROUND_BYTES`] of outputs wait for the next round.
//! The end of a round does not change what is drawn.
//!
//! A round's tiles share their parallel region with the next round's front end: a worker that finds
//! no more tiles continues with chunks.

mod chunk_groups;
mod output_pool;
mod plans;
mod tile_affinity;

pub(crate) use output_pool::ChunkOutputPool;

use crate::api::{Draw, RenderTargets, SmallVec1, statistic};
use crate::feedback::CaptureSpan;
use crate::front::{self, BATCH_PRIMITIVES, CaptureTarget, DrawChunk, FrontDraw, MAX_PATCHES, MeshDispatchList};
use crate::prim::{BoxedOutput, ChunkOutput};
use crate::surface::{RenderSurface, pack_texel};
use crate::tile::{self, BinRuns, ChunkOrigin, DepthFormat, RenderPass, TileDraw, TilePlan, TileRound};
use chunk_groups::FrontRound;
use execution::{CostHint, StageMemory, WorkerPool, aborted};
use plans::{DrawPlans, PlanTable};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tile_affinity::TileAffinity;

/// Number of primitives that may be pending.
const ROUND_PRIMITIVES: u32 = 16 << 10;
/// No chunk is begun in a round that has left this many bytes for the tiles. (A usual round leaves
/// a few megabytes.)
pub(crate) const ROUND_BYTES: usize = 32 << 20;
/// Largest number of primitives that a chunk may make, unless a single primitive makes them.
const MAX_CHUNK_PRIMITIVES: u32 = 16 << 10;
/// Number of primitives that a chunk usually makes.
const USUAL_CHUNK_PRIMITIVES: u32 = 1024;
/// Number of primitives from which on a chunk is large. Large chunks leave more than fits caches,
/// so rounds are shorter. They also make other threads wait, so they do not begin at the end of a
/// round.
const LARGE_CHUNK_PRIMITIVES: u32 = USUAL_CHUNK_PRIMITIVES / 2;
/// Number of batches of a chunk of a draw that draws nothing. Such a chunk leaves nothing, so
/// larger chunks are cheaper.
const VERTEX_ONLY_CHUNK_BATCHES: u32 = 8;
/// Number of primitives of such a draw that count as one.
const VERTEX_ONLY_DISCOUNT: u32 = 16;
/// Number of chunks per thread that a round has before it is large, up to [`SMALL_ROUND_ITEMS`].
const CHUNKS_PER_THREAD: usize = 3;
/// Largest number of primitives that a chunk of mesh workgroups may make, unless a single workgroup
/// makes them. It is that of batches of other draws, so that outputs are small enough to be kept.
const MAX_MESH_CHUNK_PRIMITIVES: u32 = BATCH_PRIMITIVES;
/// Number of draws that may be pending. Their states and contexts fit a second-level cache.
pub(crate) const ROUND_DRAWS: usize = 1024;
/// Number of segments that the pending draws may have.
const ROUND_SEGMENTS: usize = 1 << 18;
/// Largest number of tiles and of chunks that may be little work.
const SMALL_ROUND_ITEMS: usize = 64;
/// Number of rows of a clear that one worker takes.
const CLEAR_ROWS: u32 = 64;
/// State that a worker keeps for draws and dispatches.
#[derive(Default)]
pub struct DrawScratch {
    stage: StageMemory,
    front: front::FrontScratch,
    tile: tile::TileScratch,
}

impl execution::WorkerScratch for DrawScratch {
    fn trim(&mut self, bytes: usize) {
        self.stage.trim(bytes);
    }
}

impl AsMut<StageMemory> for DrawScratch {
    fn as_mut(&mut self) -> &mut StageMemory {
        &mut self.stage
    }
}

/// A deferred draw.
struct SceneDraw {
    draw: Draw,
    front: front::FrontPlan,
    tile: Arc<TilePlan>,
}

impl SceneDraw {
    fn front(&self) -> FrontDraw<'_> {
        FrontDraw { draw: &self.draw, plan: &self.front }
    }

    /// Returns true if the draw is not rasterized and makes only vertices.
    fn makes_only_vertices(&self) -> bool {
        let stages = &self.draw.stages;
        self.draw.rasterized().is_none() && stages.has_known_primitive_count() && stages.mesh().is_none()
    }
}

impl tile::DrawTable for Vec<SceneDraw> {
    fn draw(&self, number: u32) -> TileDraw<'_> {
        let draw = &self[number as usize];
        TileDraw { draw: &draw.draw, plan: &draw.tile, running: draw.draw.running }
    }
}

/// Returns the number of bytes of a chunk's output, with the most that the tiles' runs of it take.
fn output_bytes(output: &ChunkOutput) -> usize {
    output.bytes() + BinRuns::max_bytes(output.bins.len())
}

/// Serial number of the last draw.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// A render pass instance: draws in order, deferred until [`RenderPassInstance::flush`]. Dropping
/// it without [`RenderPassInstance::end`] drops the deferred work (because a panic unwinds, or the
/// device is lost).
pub struct RenderPassInstance<'e> {
    pool: &'e WorkerPool<DrawScratch>,
    output_pool: &'e ChunkOutputPool,
    pass: RenderPass,
    draws: Vec<SceneDraw>,
    /// Number of segments of all draws.
    segments: usize,
    /// Number of bytes that task workgroups have left for all draws.
    mesh_dispatch_bytes: usize,
    chunks: Vec<Pending>,
    /// Number of primitives of `chunks`.
    pending: u32,
    /// Chunks whose front end has run and whose tiles have not.
    sealed: Round,
    plans: PlanTable,
    /// Stipple counter after the chunks that have run.
    stipple: u32,
    /// Bound of a round's bytes: [`ROUND_BYTES`], except in tests.
    pub(crate) round_bytes: usize,
    /// True if captured primitives get their space after shading, as if their number were known
    /// only then.
    #[cfg(test)]
    pub(crate) captures_after_shading: bool,
    /// Largest number of bytes that rounds have had at once.
    #[cfg(test)]
    pub(crate) peak_bytes: usize,
}

/// A chunk whose tiles have not been run.
struct Pending {
    chunk: DrawChunk,
    /// Output of a chunk that overtook a chunk that found its round full.
    output: Option<BoxedOutput>,
}

/// Chunks that went through the front end together.
#[derive(Default)]
struct Round {
    /// Origin of each chunk.
    origins: Vec<ChunkOrigin>,
    outputs: Vec<BoxedOutput>,
    runs: BinRuns,
    tile_affinity: Option<TileAffinity>,
    /// Spans of captured primitives that outputs have kept, by number of the output and stream.
    captured: Vec<(usize, u32, CaptureSpan)>,
}

impl Round {
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.outputs.iter().map(|output| output_bytes(output)).sum()
    }
}

impl<'e> RenderPassInstance<'e> {
    pub(crate) fn new(
        pool: &'e WorkerPool<DrawScratch>,
        output_pool: &'e ChunkOutputPool,
        targets: RenderTargets,
    ) -> RenderPassInstance<'e> {
        RenderPassInstance {
            pool,
            output_pool,
            pass: RenderPass::new(&targets),
            draws: Vec::new(),
            segments: 0,
            mesh_dispatch_bytes: 0,
            chunks: Vec::new(),
            pending: 0,
            sealed: Round::default(),
            plans: PlanTable::default(),
            stipple: 0,
            round_bytes: ROUND_BYTES,
            #[cfg(test)]
            captures_after_shading: false,
            #[cfg(test)]
            peak_bytes: 0,
        }
    }

    /// Turns Hi-Z off, for comparison in tests.
    #[cfg(test)]
    pub(crate) fn without_hi_z(&mut self) {
        self.pass.hi_z = None;
    }

    /// Turns the visibility buffer and occlusion culling off, for comparison in tests.
    #[cfg(test)]
    pub(crate) fn without_hidden_surface_removal(&mut self) {
        self.pass.removes_hidden_surfaces = false;
    }

    /// Returns the number of segments of the pending draws.
    #[cfg(test)]
    pub(crate) fn segments(&self) -> usize {
        self.draws.iter().map(|d| d.front.segments.len()).sum()
    }

    /// Appends a draw in order; may defer it. Returns how many of its task workgroups requested
    /// more mesh workgroups than a task may (`maxMeshWorkGroupTotalCount`); each of them got that
    /// number.
    pub fn draw(&mut self, draw: Draw) -> u64 {
        if draw.stages.mesh().is_some() {
            return self.draw_meshes(draw);
        }
        let counts = draw.counts;
        if counts.count == 0 || counts.instances == 0 || aborted(&draw.context) {
            return 0;
        }
        draw.queries.count(statistic::VERTICES, u64::from(counts.count) * u64::from(counts.instances));
        self.append(draw, None);
        0
    }

    /// Appends a draw with a mesh stage, in parts of as many tasks as are kept together.
    fn draw_meshes(&mut self, draw: Draw) -> u64 {
        let Some((stage, info)) = draw.stages.task() else {
            let mesh_dispatches = MeshDispatchList::from_draw(draw.groups);
            self.append(draw, Some(mesh_dispatches));
            return 0;
        };
        let tasks = draw.groups.iter().fold(1u64, |product, &n| product.saturating_mul(n.into()));
        let (mut first, mut excessive) = (0, 0);
        while first < tasks && !aborted(&draw.context) {
            let count = front::tasks_per_batch(info, tasks - first);
            let mesh_dispatches =
                MeshDispatchList::from_tasks((self.pool, draw.running), &draw, (stage, info), first, count);
            first += count;
            excessive += u64::from(mesh_dispatches.excessive());
            self.append(draw.clone(), Some(mesh_dispatches));
        }
        excessive
    }

    /// Appends a draw, or a part of one.
    fn append(&mut self, draw: Draw, mesh_dispatches: Option<MeshDispatchList>) {
        if mesh_dispatches.as_ref().is_some_and(|mesh_dispatches| mesh_dispatches.total() == 0)
            || aborted(&draw.context)
        {
            return;
        }
        let instances = if mesh_dispatches.is_some() { 1 } else { draw.counts.instances };
        let mesh_dispatch_bytes = mesh_dispatches.as_ref().map_or(0, MeshDispatchList::bytes);
        let DrawPlans { fetch, tile, viewports } = self.plans.find(&draw, &self.pass);
        let depth_unit = self.pass.depth.and_then(|s| DepthFormat::from_format(s.format)).and_then(DepthFormat::unit);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed) + 1;
        let segments = if mesh_dispatches.is_some() { SmallVec1::new() } else { front::cut(&draw) };
        let (topology, mesh_dispatches) = (draw.stages.topology(draw.state.topology), mesh_dispatches.map(Arc::new));
        let front = front::FrontPlan { fetch, viewports, topology, depth_unit, segments, serial, mesh_dispatches };
        let primitives = front.primitives();
        if primitives == 0 {
            return;
        }
        self.segments += front.segments.len();
        self.mesh_dispatch_bytes += mesh_dispatch_bytes;
        self.draws.push(SceneDraw { front, tile, draw });
        self.cut(primitives, instances);
        let full = self.segments >= ROUND_SEGMENTS || self.mesh_dispatch_bytes >= ROUND_BYTES;
        if self.draws.len() >= ROUND_DRAWS || full {
            self.flush();
        }
    }

    /// Cuts the last draw into chunks.
    fn cut(&mut self, primitives: u32, instances: u32) {
        let draw = self.draws.len() as u32 - 1;
        let stages = &self.draws[draw as usize].draw.stages;
        let max_made = stages.max_primitives_per_input();
        // A chunk has few patches, because many primitives may be made of each.
        let batch = if stages.tessellation().is_some() { MAX_PATCHES } else { BATCH_PRIMITIVES };
        // A workgroup is more work than a primitive, and the few workgroups of a few meshes must be
        // distributed over the threads.
        let (room, weight) = if stages.mesh().is_some() {
            (MAX_MESH_CHUNK_PRIMITIVES, max_made.max(1))
        } else {
            (MAX_CHUNK_PRIMITIVES, 1)
        };
        let usual = USUAL_CHUNK_PRIMITIVES / stages.estimate_primitives(1).max(1);
        let max = if self.draws[draw as usize].makes_only_vertices() {
            // (A chunk has at most the primitives of an instance, so these chunks have one
            // instance, or one batch.)
            BATCH_PRIMITIVES
                * (primitives / self.primitives_for_all_threads(BATCH_PRIMITIVES)).clamp(1, VERTEX_ONLY_CHUNK_BATCHES)
        } else {
            (room / max_made.max(1)).min(usual).clamp(1, batch)
        };
        let instances_per_chunk = (max / primitives).max(1);
        let mut instance = 0;
        while instance < instances {
            let take = instances_per_chunk.min(instances - instance);
            let mut primitive = 0;
            while primitive < primitives {
                let n = max.min(primitives - primitive);
                let capture_target =
                    front::capture_target(&self.draws[draw as usize].draw, n * take, self.captures_after_shading(draw));
                let chunk =
                    DrawChunk { draw, instance, instances: take, primitive, primitives: n, weight, capture_target };
                self.chunks.push(Pending { chunk, output: None });
                primitive += n;
                self.pending += self.weight(&chunk);
                while self.is_round_full() {
                    self.run_chunks();
                    // A draw of billions of primitives must end when the device is lost.
                    if self.draws.last().is_none_or(|d| aborted(&d.draw.context)) {
                        return;
                    }
                }
            }
            instance += take;
        }
    }

    /// Returns the number of primitives in pieces of `piece` primitives that are enough for each
    /// thread.
    fn primitives_for_all_threads(&self, piece: u32) -> u32 {
        piece.saturating_mul(u32::try_from(2 * CHUNKS_PER_THREAD * self.pool.threads()).unwrap_or(u32::MAX))
    }

    /// Returns the number of primitives that a chunk will probably make, or that it takes.
    fn weight(&self, chunk: &DrawChunk) -> u32 {
        let taken = chunk.primitives * chunk.instances * chunk.weight;
        let draw = &self.draws[chunk.draw as usize];
        if draw.makes_only_vertices() {
            return taken.div_ceil(VERTEX_ONLY_DISCOUNT);
        }
        draw.draw.stages.estimate_primitives(taken).min(ROUND_PRIMITIVES).max(taken)
    }

    /// Returns true if the pending chunks are enough work for all threads, and much for the caches.
    fn is_round_full(&self) -> bool {
        let few = (CHUNKS_PER_THREAD * self.pool.threads()).min(SMALL_ROUND_ITEMS);
        let max = if self.has_large_chunks() { ROUND_PRIMITIVES / 2 } else { ROUND_PRIMITIVES };
        self.pending >= max && (self.chunks.len() >= few || self.pending >= 8 * ROUND_PRIMITIVES)
    }

    /// Returns true if the pending chunks are few large ones.
    fn has_large_chunks(&self) -> bool {
        self.chunks.len() <= SMALL_ROUND_ITEMS && self.pending >= LARGE_CHUNK_PRIMITIVES * self.chunks.len() as u32
    }

    /// Returns true if the space of a draw's captured primitives is known only after shading.
    fn captures_after_shading(&self, draw: u32) -> bool {
        #[cfg(test)]
        if self.captures_after_shading {
            return true;
        }
        !self.draws[draw as usize].draw.stages.has_known_primitive_count()
    }

    /// Runs all deferred work: at barriers, at the end of the pass, and before results are read.
    pub fn flush(&mut self) {
        while !self.chunks.is_empty() || !self.sealed.outputs.is_empty() {
            self.run_chunks();
        }
        self.draws.clear();
        (self.segments, self.mesh_dispatch_bytes) = (0, 0);
    }

    /// Flushes and ends the instance.
    pub fn end(mut self) {
        self.flush();
    }

    /// Runs the tiles of the sealed round and the front end of the pending chunks. Chunks that fit
    /// become the sealed round.
    pub(crate) fn run_chunks(&mut self) {
        let large = self.has_large_chunks();
        let mut chunks = core::mem::take(&mut self.chunks);
        let sealed = core::mem::take(&mut self.sealed);
        let (pool, pass, draws) = (self.pool, &self.pass, &self.draws);
        let front_round = FrontRound::new(pass, draws, self.output_pool, self.round_bytes);
        let count = chunks.len();
        let groups = chunk_groups::cut(&mut chunks, pool.threads(), |chunk| self.weight(chunk));
        let scene = TileRound { pass, draws, origins: &sealed.origins, outputs: &sealed.outputs, runs: &sealed.runs };
        let captured = sealed.captured.len();
        let tiles = captured + sealed.runs.tiles();
        // One or two tiles do not justify waking another thread; a few do if they did the last
        // time, with such a draw.
        let cost_hint = match (count, tiles) {
            (0, ..=2) => CostHint::Small,
            (..=SMALL_ROUND_ITEMS, ..=SMALL_ROUND_ITEMS) => {
                CostHint::keyed((count, tiles, draws.len(), draws.last().map(|d| d.draw.running.pipeline)))
            }
            _ => CostHint::Large,
        };
        // Large chunks are begun first, so that no thread waits long for the last one. (Otherwise
        // tiles are begun first, before caches evict their data.)
        let (first_tile, first_group) = if large { (groups.len(), 0) } else { (0, tiles) };
        pool.for_each(tiles + groups.len(), cost_hint, |worker, scratch, i| {
            let DrawScratch { stage, front, tile: tile_scratch } = scratch;
            let Some(group) = i.checked_sub(first_group).and_then(|i| groups.get(i)) else {
                let i = i - first_tile;
                if let Some(&(output, stream, span)) = sealed.captured.get(i) {
                    let draw = &draws[sealed.origins[output].draw as usize];
                    worker.set_running(draw.draw.running);
                    return front::write_captured(&draw.draw, &sealed.outputs[output], stream, span);
                }
                let cached_tile = |tile_affinity: &TileAffinity| tile_affinity.next(worker.processor());
                let Some(tile) = sealed.tile_affinity.as_ref().map_or(Some(i - captured), cached_tile) else { return };
                return tile::run(&scene, tile, worker, stage, tile_scratch);
            };
            front_round.run(&mut group.lock(), i == first_group, worker, (stage, front));
        });
        drop(groups);
        let round = self.seal(&mut chunks);
        if self.chunks.is_empty() {
            // The next round uses the list's memory.
            self.chunks = chunks;
        }
        #[cfg(test)]
        {
            let overtaken =
                self.chunks.iter().filter_map(|p| p.output.as_ref()).map(|o| output_bytes(o)).sum::<usize>();
            self.peak_bytes = self.peak_bytes.max(sealed.bytes() + round.bytes() + overtaken);
        }
        self.sealed = round;
        self.output_pool.recycle(sealed.outputs.into_iter(), self.pool.threads());
    }

    /// Makes a round of the chunks up to the first one that has not run; the others are pending
    /// again.
    fn seal(&mut self, chunks: &mut Vec<Pending>) -> Round {
        let (origins, outputs) = (Vec::with_capacity(chunks.len()), Vec::with_capacity(chunks.len()));
        let mut round = Round { origins, outputs, ..Round::default() };
        self.pending = 0;
        for Pending { chunk, output } in chunks.drain(..) {
            let output = match output {
                Some(output) if self.chunks.is_empty() => output,
                output => {
                    self.pending += self.weight(&chunk);
                    self.chunks.push(Pending { chunk, output });
                    continue;
                }
            };
            let draw = &self.draws[chunk.draw as usize].draw;
            if let CaptureTarget::AfterShading = chunk.capture_target {
                let number = round.outputs.len();
                let spans = (0..).zip(front::reserve_captured(draw, &output).into_iter().flatten());
                let spans = spans.filter(|(_, span)| span.primitives != 0);
                round.captured.extend(spans.map(|(stream, span)| (number, stream, span)));
            }
            draw.stages.record_amplification(chunk.primitives * chunk.instances, output.taken);
            round.origins.push(ChunkOrigin { draw: chunk.draw, stipple: self.stipple });
            self.stipple = output.phase.then(self.stipple, draw.state.line_stipple);
            round.outputs.push(output);
        }
        round.runs = BinRuns::new(&round.outputs, &self.pass.grid);
        round.tile_affinity = TileAffinity::new(&round.runs, &round.outputs);
        round
    }

    /// Clears a rectangle (x, y, width, height) of layers of a colour attachment, after all draws
    /// so far. `value` are bits of f32 or integers by the format's class.
    pub fn clear_color(&mut self, attachment: usize, value: [u32; 4], rect: [u32; 4], base_layer: u32, layers: u32) {
        self.flush();
        if let Some(surface) = self.pass.color.get(attachment).copied().flatten() {
            self.fill(&surface, pack_texel(surface.format, value), rect, base_layer, layers);
        }
    }

    /// Clears depth and/or stencil, after all draws so far.
    pub fn clear_depth_stencil(
        &mut self,
        depth: Option<f32>,
        stencil: Option<u32>,
        rect: [u32; 4],
        base_layer: u32,
        layers: u32,
    ) {
        self.flush();
        let texel = |bits: u32| {
            let mut raw = [0; 16];
            raw[..4].copy_from_slice(&bits.to_le_bytes());
            raw
        };
        if let (Some(surface), Some(value)) = (self.pass.depth, depth)
            && let Some(format) = DepthFormat::from_format(surface.format)
        {
            let bits = format.encode(value);
            if let Some((rect, layers)) = self.fill(&surface, texel(bits), rect, base_layer, layers)
                && let Some(hi_z) = &self.pass.hi_z
            {
                layers.for_each(|layer| hi_z.fill(layer, rect, format.value(bits)));
            }
        }
        if let (Some(surface), Some(value)) = (self.pass.stencil, stencil) {
            self.fill(&surface, texel(value & 0xff), rect, base_layer, layers);
        }
    }

    /// Fills a rectangle of layers, cut to the render area and the surface, in all samples; returns
    /// the remaining rectangle.
    fn fill(
        &self,
        surface: &RenderSurface,
        texel: [u8; 16],
        [x, y, w, h]: [u32; 4],
        base_layer: u32,
        layers: u32,
    ) -> Option<([u32; 4], core::ops::Range<u32>)> {
        let [ax0, ay0, ax1, ay1] = self.pass.area.map(|v| v as u32);
        let (x0, x1) = (x.max(ax0), x.saturating_add(w).min(ax1));
        let (y0, y1) = (y.max(ay0), y.saturating_add(h).min(ay1));
        let end_layer = base_layer.saturating_add(layers).min(surface.layers);
        if x0 >= x1 || y0 >= y1 || base_layer >= end_layer {
            return None;
        }
        let bytes = surface.bytes;
        let row: Vec<u8> = texel[..bytes].iter().copied().cycle().take(bytes * (x1 - x0) as usize).collect();
        let bands = (y1 - y0).div_ceil(CLEAR_ROWS);
        let items = (end_layer - base_layer) * surface.samples * bands;
        let small = row.len() * (y1 - y0) as usize <= 1 << 16;
        let cost_hint = if small { CostHint::Small } else { CostHint::Large };
        self.pool.for_each(items as usize, cost_hint, |_, _, i| {
            let i = i as u32;
            let (band, sub) = (i % bands, i / bands);
            let (sample, layer) = (sub % surface.samples, base_layer + sub / surface.samples);
            let first = y0 + band * CLEAR_ROWS;
            for y in first..(first + CLEAR_ROWS).min(y1) {
                for piece in surface.pieces(x0, x1) {
                    let to = surface.at(layer, sample, piece.start, y);
                    // SAFETY: rectangle, layer and sample lie inside the surface, and items are
                    // disjoint.
                    unsafe { core::ptr::copy_nonoverlapping(row.as_ptr(), to, piece.len() * bytes) };
                }
            }
        });
        Some(([x0, y0, x1, y1], base_layer..end_layer))
    }
}
