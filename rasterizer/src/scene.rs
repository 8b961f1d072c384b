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

mod arenas;
mod homes;

pub(crate) use arenas::Arenas;

use crate::api::{Draw, DrawState, GraphicsStages, One, RenderTargets, statistic};
use crate::feedback::Span;
use crate::front::{self, Asked, BATCH_PRIMITIVES, Chunk, Feed, FetchPlan, FrontDraw, MOST_PATCHES, Transform};
use crate::prim::ChunkOutput;
use crate::surface::{Surface, pack_texel};
use crate::tile::{self, ChunkOrigin, DepthFormat, Pass, Runs, Scene, TileDraw, TilePlan, TileState};
use execution::{Effort, Pool, StageMemory, aborted};
use homes::Homes;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Number of primitives that may be pending.
const ROUND_PRIMITIVES: u32 = 16 << 10;
/// No chunk is begun in a round that has left this many bytes for the tiles. (A usual round leaves
/// a few megabytes.)
pub(crate) const ROUND_BYTES: usize = 32 << 20;
/// Largest number of primitives that a chunk may make, unless a single primitive makes them.
const CHUNK_PRIMITIVES: u32 = 16 << 10;
/// Number of primitives that a chunk usually makes.
const CHUNK_USUAL: u32 = 1024;
/// Number of primitives from which on a chunk is large. Large chunks leave more than fits caches,
/// so rounds are shorter. They also make other threads wait, so they do not begin at the end of a
/// round.
const CHUNK_LARGE: u32 = CHUNK_USUAL / 2;
/// Number of batches of a chunk of a draw that draws nothing. Such a chunk leaves nothing, so
/// larger chunks are cheaper.
const CHUNK_BATCHES: u32 = 8;
/// Number of primitives of such a draw that count as one.
const UNDRAWN: u32 = 16;
/// Number of chunks per thread that a round has before it is large, up to [`FEW`].
const THREAD_CHUNKS: usize = 3;
/// Largest number of primitives that a chunk of mesh workgroups may make, unless a single workgroup
/// makes them. It is that of batches of other draws, so that outputs are small enough to be kept.
const CHUNK_MESHES: u32 = BATCH_PRIMITIVES;
/// Number of draws that may be pending.
const ROUND_DRAWS: usize = 4096;
/// Number of segments that the pending draws may have.
const ROUND_SEGMENTS: usize = 1 << 18;
/// Largest number of tiles and of chunks that may be little work.
const FEW: usize = 64;
/// Number of rows of a clear that one worker takes.
const CLEAR_ROWS: u32 = 64;
/// State that a worker keeps for draws and dispatches.
#[derive(Default)]
pub struct Scratch {
    stage: StageMemory,
    front: front::Scratch,
    tile: tile::Scratch,
}

impl execution::Scratch for Scratch {
    fn trim(&mut self, bytes: usize) {
        self.stage.trim(bytes);
    }
}

impl AsMut<StageMemory> for Scratch {
    fn as_mut(&mut self) -> &mut StageMemory {
        &mut self.stage
    }
}

/// The plans of stages and state in this pass.
struct Plans {
    stages: Arc<GraphicsStages>,
    state: Arc<DrawState>,
    fetch: Arc<FetchPlan>,
    tile_state: TileState,
    tile: Arc<TilePlan>,
    viewports: Arc<[Transform]>,
}

impl Plans {
    /// Returns the parts that draws keep.
    fn shared(&self) -> (Arc<FetchPlan>, Arc<TilePlan>, Arc<[Transform]>) {
        (self.fetch.clone(), self.tile.clone(), self.viewports.clone())
    }
}

/// A deferred draw.
struct SceneDraw {
    draw: Draw,
    front: front::Plan,
    tile: Arc<TilePlan>,
}

impl SceneDraw {
    fn front(&self) -> FrontDraw<'_> {
        FrontDraw { draw: &self.draw, plan: &self.front }
    }

    /// Returns true if the draw is not rasterized and makes only vertices.
    fn leaves_nothing(&self) -> bool {
        let stages = &self.draw.stages;
        self.draw.rasterized().is_none() && stages.foretell_primitives() && stages.mesh().is_none()
    }
}

impl tile::Draws for Vec<SceneDraw> {
    fn draw(&self, number: u32) -> TileDraw<'_> {
        let draw = &self[number as usize];
        TileDraw { draw: &draw.draw, plan: &draw.tile, running: draw.draw.running }
    }
}

/// Returns the number of bytes of a chunk's output, with the most that the tiles' runs of it take.
fn bytes_of(output: &ChunkOutput) -> usize {
    output.bytes() + Runs::most_bytes(output.bins.len())
}

/// Serial number of the last draw.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// A render pass instance: draws in order, deferred until [`RenderPassInstance::flush`]. Dropping
/// it without [`RenderPassInstance::end`] drops the deferred work (because a panic unwinds, or the
/// device is lost).
pub struct RenderPassInstance<'e> {
    pool: &'e Pool<Scratch>,
    arenas: &'e Arenas,
    pass: Pass,
    draws: Vec<SceneDraw>,
    /// Number of segments of all draws.
    segments: usize,
    /// Number of bytes that task workgroups have left for all draws.
    asked_bytes: usize,
    chunks: Vec<Pending>,
    /// Number of primitives of `chunks`.
    pending: u32,
    /// Chunks whose front end has run and whose tiles have not.
    sealed: Round,
    plans: Option<Plans>,
    /// Stipple counter after the chunks that have run.
    stipple: u32,
    /// Bound of a round's bytes: [`ROUND_BYTES`], except in tests.
    pub(crate) round_bytes: usize,
    /// True if captured primitives get their space after shading, as if their number were known
    /// only then.
    #[cfg(test)]
    pub(crate) captures_later: bool,
    /// Largest number of bytes that rounds have had at once.
    #[cfg(test)]
    pub(crate) most_bytes: usize,
}

/// A chunk whose tiles have not been run.
struct Pending {
    chunk: Chunk,
    /// Output of a chunk that overtook a chunk that found its round full.
    output: Option<ChunkOutput>,
}

/// Chunks that went through the front end together.
#[derive(Default)]
struct Round {
    /// Origin of each chunk.
    origins: Vec<ChunkOrigin>,
    outputs: Vec<ChunkOutput>,
    runs: Runs,
    homes: Option<Homes>,
    /// Spans of captured primitives that outputs have kept, by number of the output and stream.
    captured: Vec<(usize, u32, Span)>,
}

impl Round {
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.outputs.iter().map(bytes_of).sum()
    }
}

impl<'e> RenderPassInstance<'e> {
    pub(crate) fn new(pool: &'e Pool<Scratch>, arenas: &'e Arenas, targets: RenderTargets) -> RenderPassInstance<'e> {
        RenderPassInstance {
            pool,
            arenas,
            pass: Pass::new(&targets),
            draws: Vec::new(),
            segments: 0,
            asked_bytes: 0,
            chunks: Vec::new(),
            pending: 0,
            sealed: Round::default(),
            plans: None,
            stipple: 0,
            round_bytes: ROUND_BYTES,
            #[cfg(test)]
            captures_later: false,
            #[cfg(test)]
            most_bytes: 0,
        }
    }

    /// Turns Hi-Z off, for comparison in tests.
    #[cfg(test)]
    pub(crate) fn without_depth_bounds(&mut self) {
        self.pass.depth_bounds = None;
    }

    /// Turns the visibility buffer and occlusion culling off, for comparison in tests.
    #[cfg(test)]
    pub(crate) fn without_hiding(&mut self) {
        self.pass.hides = false;
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
        let Some((stage, facts)) = draw.stages.task() else {
            let asked = Asked::by_draw(draw.groups);
            self.append(draw, Some(asked));
            return 0;
        };
        let tasks = draw.groups.iter().fold(1u64, |product, &n| product.saturating_mul(n.into()));
        let (mut first, mut excessive) = (0, 0);
        while first < tasks && !aborted(&draw.context) {
            let count = front::together(facts, tasks - first);
            let asked = Asked::by_tasks((self.pool, draw.running), &draw, (stage, facts), first, count);
            first += count;
            excessive += u64::from(asked.excessive());
            self.append(draw.clone(), Some(asked));
        }
        excessive
    }

    /// Appends a draw, or a part of one.
    fn append(&mut self, draw: Draw, asked: Option<Asked>) {
        if asked.as_ref().is_some_and(|asked| asked.total() == 0) || aborted(&draw.context) {
            return;
        }
        let instances = if asked.is_some() { 1 } else { draw.counts.instances };
        let asked_bytes = asked.as_ref().map_or(0, Asked::bytes);
        let (fetch, tile, viewports) = self.plans_of(&draw);
        let depth_unit = self.pass.depth.and_then(|s| DepthFormat::of(s.format)).and_then(DepthFormat::unit);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed) + 1;
        let segments = if asked.is_some() { One::new() } else { front::cut(&draw) };
        let (topology, asked) = (draw.stages.topology(draw.state.topology), asked.map(Arc::new));
        let front = front::Plan { fetch, viewports, topology, depth_unit, segments, serial, asked };
        let primitives = front.primitives();
        if primitives == 0 {
            return;
        }
        self.segments += front.segments.len();
        self.asked_bytes += asked_bytes;
        self.draws.push(SceneDraw { front, tile, draw });
        self.cut(primitives, instances);
        let full = self.segments >= ROUND_SEGMENTS || self.asked_bytes >= ROUND_BYTES;
        if self.draws.len() >= ROUND_DRAWS || full {
            self.flush();
        }
    }

    /// Cuts the last draw into chunks.
    fn cut(&mut self, primitives: u32, instances: u32) {
        let draw = self.draws.len() as u32 - 1;
        let stages = &self.draws[draw as usize].draw.stages;
        let most_made = stages.most_made();
        // A chunk has few patches, because many primitives may be made of each.
        let batch = if stages.tessellation().is_some() { MOST_PATCHES } else { BATCH_PRIMITIVES };
        // A workgroup is more work than a primitive, and the few workgroups of a few meshes must be
        // distributed over the threads.
        let (room, weight) =
            if stages.mesh().is_some() { (CHUNK_MESHES, most_made.max(1)) } else { (CHUNK_PRIMITIVES, 1) };
        let usual = CHUNK_USUAL / stages.probably_made(1).max(1);
        let most = if self.draws[draw as usize].leaves_nothing() {
            // (A chunk has at most the primitives of an instance, so these chunks have one
            // instance, or one batch.)
            BATCH_PRIMITIVES * (primitives / self.evenly(BATCH_PRIMITIVES)).clamp(1, CHUNK_BATCHES)
        } else {
            (room / most_made.max(1)).min(usual).clamp(1, batch)
        };
        let instances_per_chunk = (most / primitives).max(1);
        let mut instance = 0;
        while instance < instances {
            let take = instances_per_chunk.min(instances - instance);
            let mut primitive = 0;
            while primitive < primitives {
                let n = most.min(primitives - primitive);
                let feed = front::feed(&self.draws[draw as usize].draw, n * take, self.captures_later(draw));
                let chunk = Chunk { draw, instance, instances: take, primitive, primitives: n, weight, feed };
                self.chunks.push(Pending { chunk, output: None });
                primitive += n;
                self.pending += self.weight(&chunk);
                while self.is_round() {
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
    fn evenly(&self, piece: u32) -> u32 {
        piece.saturating_mul(u32::try_from(2 * THREAD_CHUNKS * self.pool.threads()).unwrap_or(u32::MAX))
    }

    /// Returns the number of primitives that a chunk will probably make, or that it takes.
    fn weight(&self, chunk: &Chunk) -> u32 {
        let taken = chunk.primitives * chunk.instances * chunk.weight;
        let draw = &self.draws[chunk.draw as usize];
        if draw.leaves_nothing() {
            return taken.div_ceil(UNDRAWN);
        }
        draw.draw.stages.probably_made(taken).min(ROUND_PRIMITIVES).max(taken)
    }

    /// Returns true if the pending chunks are enough work for all threads, and much for the caches.
    fn is_round(&self) -> bool {
        let few = (THREAD_CHUNKS * self.pool.threads()).min(FEW);
        let most = if self.are_large() { ROUND_PRIMITIVES / 2 } else { ROUND_PRIMITIVES };
        self.pending >= most && (self.chunks.len() >= few || self.pending >= 8 * ROUND_PRIMITIVES)
    }

    /// Returns true if the pending chunks are few large ones.
    fn are_large(&self) -> bool {
        self.chunks.len() <= FEW && self.pending >= CHUNK_LARGE * self.chunks.len() as u32
    }

    /// Returns true if the space of a draw's captured primitives is known only after shading.
    fn captures_later(&self, draw: u32) -> bool {
        #[cfg(test)]
        if self.captures_later {
            return true;
        }
        !self.draws[draw as usize].draw.stages.foretell_primitives()
    }

    /// Returns the plans of a draw, reusing the last draw's if stages and state are the same objects.
    fn plans_of(&mut self, draw: &Draw) -> (Arc<FetchPlan>, Arc<TilePlan>, Arc<[Transform]>) {
        let same = |p: &&Plans| Arc::ptr_eq(&p.stages, &draw.stages) && Arc::ptr_eq(&p.state, &draw.state);
        if let Some(p) = self.plans.as_ref().filter(same) {
            return p.shared();
        }
        let (state, first) = (&*draw.state, &draw.stages.first().facts);
        // Each plan is reused if all that it depends on is equal.
        let last = self.plans.as_ref().filter(|p| Arc::ptr_eq(&p.stages, &draw.stages));
        let fetch = last.filter(|p| p.state.attributes == state.attributes && p.state.bindings == state.bindings);
        let tile_state = TileState::new(state, draw.stages.topology(state.topology), &self.pass);
        let tile = last.filter(|p| p.tile_state == tile_state).map(|p| p.tile.clone());
        let plans = Plans {
            fetch: fetch.map_or_else(|| Arc::new(FetchPlan::new(&first.interface, state)), |p| p.fetch.clone()),
            tile: tile.unwrap_or_else(|| Arc::new(TilePlan::new(&draw.stages, &tile_state, &self.pass))),
            tile_state,
            viewports: front::viewports(state, self.pass.area, self.pass.grid.samples),
            stages: draw.stages.clone(),
            state: draw.state.clone(),
        };
        self.plans.insert(plans).shared()
    }

    /// Runs all deferred work: at barriers, at the end of the pass, and before results are read.
    pub fn flush(&mut self) {
        while !self.chunks.is_empty() || !self.sealed.outputs.is_empty() {
            self.run_chunks();
        }
        self.draws.clear();
        (self.segments, self.asked_bytes) = (0, 0);
    }

    /// Flushes and ends the instance.
    pub fn end(mut self) {
        self.flush();
    }

    /// Runs the tiles of the sealed round and the front end of the pending chunks. Chunks that fit
    /// become the sealed round.
    pub(crate) fn run_chunks(&mut self) {
        let large = self.are_large();
        let chunks = core::mem::take(&mut self.chunks);
        let sealed = core::mem::take(&mut self.sealed);
        let (pool, pass, draws, round_bytes) = (self.pool, &self.pass, &self.draws, self.round_bytes);
        let arenas = self.arenas;
        // Once the round is full, it stays full. Chunks are begun in order, so only those that
        // other threads have begun meanwhile may overtake.
        let bytes = AtomicUsize::new(0);
        let work: Vec<(Chunk, Mutex<Option<ChunkOutput>>)> =
            chunks.into_iter().map(|Pending { chunk, output }| (chunk, Mutex::new(output))).collect();
        let scene = Scene { pass, draws, origins: &sealed.origins, outputs: &sealed.outputs, runs: &sealed.runs };
        let captured = sealed.captured.len();
        let tiles = captured + sealed.runs.tiles();
        // One or two tiles do not justify waking another thread; a few do if they did the last
        // time, with such a draw.
        let effort = match (work.len(), tiles) {
            (0, ..=2) => Effort::Small,
            (..=FEW, ..=FEW) => {
                Effort::like((work.len(), tiles, draws.len(), draws.last().map(|d| d.draw.running.pipeline)))
            }
            _ => Effort::Large,
        };
        // Large chunks are begun first, so that no thread waits long for the last one. (Otherwise
        // tiles are begun first, before caches evict their data.)
        let (first_tile, first_chunk) = if large { (work.len(), 0) } else { (0, tiles) };
        pool.for_each(tiles + work.len(), effort, |worker, scratch, i| {
            let Scratch { stage, front, tile: tile_scratch } = scratch;
            let Some((chunk, slot)) = i.checked_sub(first_chunk).and_then(|i| work.get(i)) else {
                let i = i - first_tile;
                if let Some(&(output, stream, span)) = sealed.captured.get(i) {
                    let draw = &draws[sealed.origins[output].draw as usize];
                    worker.runs(draw.draw.running);
                    return front::place(&draw.draw, &sealed.outputs[output], stream, span);
                }
                let at_home = |homes: &Homes| homes.next(worker.processor());
                let Some(tile) = sealed.homes.as_ref().map_or(Some(i - captured), at_home) else { return };
                return tile::run(&scene, tile, worker, stage, tile_scratch);
            };
            let done = slot.lock().take();
            let begins = done.is_none() && (i == first_chunk || bytes.load(Ordering::Relaxed) < round_bytes);
            // The output is local while it is filled, so that it is not next to those that other
            // threads fill.
            let output = done.or_else(|| {
                let mut output = begins.then(|| arenas.take(worker.processor()))?;
                let draw = &draws[chunk.draw as usize];
                worker.runs(draw.draw.running);
                front::run(draw.front(), &pass.grid, chunk, stage, front, &mut output);
                Some(output)
            });
            bytes.fetch_add(output.as_ref().map_or(0, bytes_of), Ordering::Relaxed);
            *slot.lock() = output;
        });
        let round = self.seal(work);
        #[cfg(test)]
        {
            let overtaken = self.chunks.iter().filter_map(|p| p.output.as_ref()).map(bytes_of).sum::<usize>();
            self.most_bytes = self.most_bytes.max(sealed.bytes() + round.bytes() + overtaken);
        }
        self.sealed = round;
        self.arenas.give(sealed.outputs.into_iter(), self.pool.threads());
    }

    /// Makes a round of the chunks up to the first one that has not run; the others are pending
    /// again.
    fn seal(&mut self, work: Vec<(Chunk, Mutex<Option<ChunkOutput>>)>) -> Round {
        let mut round = Round::default();
        self.pending = 0;
        for (chunk, output) in work {
            let output = match output.into_inner() {
                Some(output) if self.chunks.is_empty() => output,
                output => {
                    self.pending += self.weight(&chunk);
                    self.chunks.push(Pending { chunk, output });
                    continue;
                }
            };
            let draw = &self.draws[chunk.draw as usize].draw;
            if let Feed::Later = chunk.feed {
                let number = round.outputs.len();
                let spans = (0..).zip(front::settle(draw, &output).into_iter().flatten());
                let spans = spans.filter(|(_, span)| span.primitives != 0);
                round.captured.extend(spans.map(|(stream, span)| (number, stream, span)));
            }
            draw.stages.record_amplification(chunk.primitives * chunk.instances, output.taken);
            round.origins.push(ChunkOrigin { draw: chunk.draw, stipple: self.stipple });
            self.stipple = output.phase.then(self.stipple, draw.state.line_stipple);
            round.outputs.push(output);
        }
        round.runs = Runs::new(&round.outputs, &self.pass.grid);
        round.homes = Homes::new(&round.runs, &round.outputs);
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
            && let Some(format) = DepthFormat::of(surface.format)
        {
            let bits = format.encode(value);
            if let Some((rect, layers)) = self.fill(&surface, texel(bits), rect, base_layer, layers)
                && let Some(bounds) = &self.pass.depth_bounds
            {
                layers.for_each(|layer| bounds.fill(layer, rect, format.value(bits)));
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
        surface: &Surface,
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
        let effort = if small { Effort::Small } else { Effort::Large };
        self.pool.for_each(items as usize, effort, |_, _, i| {
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
