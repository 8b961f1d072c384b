//! Fragments of several pixels (VK_KHR_fragment_shading_rate).
//!
//! Coverage and early tests are those of pixels. In a draw that may have larger fragments, the
//! quads of pixels that are left are gathered, and each pixel gets a lane in a quad of fragments:
//! one for all pixels of a primitive in an aligned square of two by two fragments. These quads are
//! shaded; then the pixels get the outputs of their lanes, and late tests and writes follow as for
//! other draws (`fragment`).
//!
//! The size of a fragment is the same in all pixels of a primitive for which a texel of the shading
//! rate attachment is. Such pixels hold whole quads of fragments of any size, so that quads of
//! different sizes do not share a corner.

use super::quads::{BATCH_QUADS, Quads, WIDEST_CHUNK};
use super::shaded::ShadedOutputs;
use crate::prim::TILE_SHIFT;
use crate::shading_rate::{FragmentSize, RateCombiner, ShadingRate};
use crate::surface::RenderSurface;
use base::abi::{FragmentBatch, FragmentQuad, QuadPositions, SampleGroups, SamplePositions, SlotLayout};
use base::limits::SHADING_RATE_TEXEL;
use execution::AlignedBuf;

/// The sizes of the fragments of a draw.
#[derive(Debug)]
pub struct CoarsePlan {
    rate: ShadingRate,
    /// Attribute row with the rate of the primitive, if it matters.
    primitive_row: Option<usize>,
    /// The shading rate attachment, if it matters.
    attachment: Option<RenderSurface>,
}

impl CoarsePlan {
    /// Makes the plan of a draw whose primitives have their rate in an attribute row, and of a pass
    /// with a shading rate attachment. Returns `None` if all fragments are pixels.
    pub fn new(
        rate: ShadingRate,
        primitive_row: Option<usize>,
        attachment: Option<RenderSurface>,
    ) -> Option<CoarsePlan> {
        let [first, second] = rate.combiners.map(|combiner| combiner != RateCombiner::Keep);
        let (primitive_row, attachment) = (primitive_row.filter(|_| first), attachment.filter(|_| second));
        let plan = CoarsePlan { rate, primitive_row, attachment };
        let varies = plan.primitive_row.is_some() || plan.attachment.is_some();
        let whole = plan.combine(FragmentSize::PIXEL, FragmentSize::PIXEL);
        (varies || whole != FragmentSize::PIXEL).then_some(plan)
    }

    fn combine(&self, primitive: FragmentSize, attachment: FragmentSize) -> FragmentSize {
        let [first, second] = self.rate.combiners;
        second.combine(first.combine(self.rate.size, primitive), attachment)
    }

    /// Returns the size that the pipeline and the primitive of a quad give.
    fn primitive_size(&self, quad: &FragmentQuad) -> FragmentSize {
        // SAFETY: primitives outlive the tile, and those of a draw with such a row have it.
        let word = self.primitive_row.map_or(0, |row| unsafe { (*(*quad.primitive).attributes.add(row))[0] });
        let size = self.rate.combiners[0].combine(self.rate.size, FragmentSize::from_word(word));
        // Without an attachment, the size of its value 0 takes part.
        if self.attachment.is_some() { size } else { self.rate.combiners[1].combine(size, FragmentSize::PIXEL) }
    }
}

/// Returns the size that a shading rate attachment has for a quad of pixels in a layer. Outside of
/// the attachment, it is that of the value 0.
fn texel_size(surface: &RenderSurface, quad: &FragmentQuad, layer: u32) -> FragmentSize {
    let [x, y] = [quad.x, quad.y].map(|c| u32::from(c) / SHADING_RATE_TEXEL);
    let layer = if surface.layers == 1 { 0 } else { layer };
    if x >= surface.extent[0] || y >= surface.extent[1] || layer >= surface.layers {
        return FragmentSize::PIXEL;
    }
    // SAFETY: the texel lies inside of the attachment; no command of the pass writes it.
    FragmentSize::from_word(unsafe { surface.at(layer, 0, x, y).read() }.into())
}

/// The way in which the pixels of a quad lie in fragments of a size.
#[derive(Clone, Copy)]
struct Places {
    log2: [u32; 2],
    /// Differences of the pixels' lanes from that of the first one, a byte each.
    steps: u32,
}

impl Places {
    #[inline(always)]
    fn new(size: FragmentSize) -> Places {
        let log2 = size.log2();
        // Pixels have the same lane along axes on which fragments are larger.
        let right = if log2[0] == 0 { 0x0100_0100 } else { 0 };
        let below = if log2[1] == 0 { 0x0202_0000 } else { 0 };
        Places { log2, steps: right | below }
    }

    /// Returns the lanes of the pixels of a quad, and the coverage of the fragments by them.
    #[inline(always)]
    fn find(self, quad: &FragmentQuad) -> ([u8; 4], u16) {
        let [width, height] = self.log2;
        let first = u32::from(quad.x >> width & 1 | (quad.y >> height & 1) << 1);
        let covered = quad.coverage | quad.coverage >> 2;
        let mut covered = (covered | covered >> 1) & 0x1111;
        if width != 0 {
            covered = (covered | covered >> 4) & 0x0101;
        }
        if height != 0 {
            covered = (covered | covered >> 8) & 0x0011;
        }
        ((first * 0x0101_0101 + self.steps).to_le_bytes(), covered << (4 * first))
    }
}

/// The lanes of a quad's pixels in quads of fragments.
#[derive(Clone, Copy)]
struct PixelLanes {
    /// Number of the quad of fragments.
    number: u16,
    /// Lanes of the pixels in it.
    lanes: [u8; 4],
}

/// A batch of quads of pixels.
#[derive(Default)]
pub struct PixelBatch {
    /// The quads.
    pub quads: Quads,
    /// Coverage of the quads by samples in groups, if a pixel has more than four.
    pub groups: Vec<SampleGroups>,
    /// Coverage of the quads by smooth lines.
    pub coverage: Vec<[f32; 4]>,
    lanes: Vec<PixelLanes>,
}

impl PixelBatch {
    /// Removes all quads.
    fn clear(&mut self) {
        self.quads.clear();
        self.groups.clear();
        self.coverage.clear();
        self.lanes.clear();
    }

    /// Splits off the quads from `at` on.
    pub fn split_off(&mut self, at: usize) -> PixelBatch {
        let mut rest = PixelBatch::default();
        rest.quads.clear();
        self.quads.list()[at..].iter().for_each(|quad| rest.quads.push(*quad));
        self.quads.truncate(at);
        let part = at.min(self.groups.len());
        rest.groups = self.groups.split_off(part);
        let part = at.min(self.coverage.len());
        rest.coverage = self.coverage.split_off(part);
        rest
    }
}

/// Quads of pixels that wait, and the quads of fragments to which they belong.
#[derive(Default)]
pub struct CoarseQuads {
    /// Quads of fragments in batches, of which all but the last are full.
    pub fragments: Vec<Quads>,
    /// Outputs of the fragments, batch by batch.
    pub outputs: AlignedBuf,
    /// Live lanes of the fragments, batch by batch.
    pub alive: AlignedBuf,
    /// Positions of the fragments' `Centroid` inputs, batch by batch, if they are read.
    pub centroids: Vec<QuadPositions>,
    /// Quads of pixels in batches.
    pub pixels: Vec<PixelBatch>,
    /// Empty batches, whose memory is used again.
    spare: Vec<PixelBatch>,
    /// Number of quads of fragments.
    count: usize,
    /// Coverage of the quads of fragments.
    coverage: Vec<u16>,
    /// Number of the quad of fragments with a corner, counted from 1, by the corner's place in the
    /// tile. Numbers up to `first` are those of earlier primitives.
    numbers: Vec<u16>,
    first: u16,
    /// Address of the current primitive, and the size that pipeline and primitive give.
    primitive: usize,
    size: FragmentSize,
}

/// Base-2 logarithm of the number of quads of pixels along a side of a tile.
const QUADS_SHIFT: u32 = TILE_SHIFT - 1;

impl CoarseQuads {
    /// Removes all quads.
    pub fn clear(&mut self) {
        if self.count != 0 {
            self.numbers.fill(0);
        }
        (self.count, self.primitive) = (0, 0);
        self.coverage.clear();
        self.pixels.clear();
    }

    /// Returns true if no quads wait.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of batches of quads of fragments.
    pub fn fragment_batches(&self) -> usize {
        self.count.div_ceil(BATCH_QUADS)
    }

    /// Returns an empty batch.
    pub fn empty_batch(&mut self) -> PixelBatch {
        let mut batch = self.spare.pop().unwrap_or_default();
        batch.clear();
        batch
    }

    /// Takes a batch back that is not used any more.
    pub fn recycle(&mut self, batch: PixelBatch) {
        self.spare.push(batch);
    }

    /// Returns true if as many quads of fragments wait as a batch has.
    fn is_full(&self) -> bool {
        self.count >= BATCH_QUADS
    }

    /// Gathers a batch of quads of pixels of a layer. If there are many quads of fragments before
    /// one of its primitives, which is not the last one's, the quads from there on are returned:
    /// those that wait must be shaded first.
    #[inline(never)]
    pub fn gather(&mut self, plan: &CoarsePlan, layer: u32, mut batch: PixelBatch) -> Option<PixelBatch> {
        self.numbers.resize(1 << (2 * QUADS_SHIFT), 0);
        let quads = core::mem::take(&mut batch.quads);
        let (mut at, mut rest) = (0, None);
        for run in quads.list().chunk_by(|a, b| a.primitive == b.primitive) {
            if self.primitive != run[0].primitive.addr() {
                if self.is_full() {
                    rest = Some(at);
                    break;
                }
                self.primitive = run[0].primitive.addr();
                self.first = self.count as u16;
                self.size = plan.primitive_size(&run[0]);
            }
            match &plan.attachment {
                None => self.run(run, self.size, &mut batch.lanes),
                Some(surface) => run.iter().for_each(|quad| {
                    let size = plan.rate.combiners[1].combine(self.size, texel_size(surface, quad, layer));
                    self.run(core::slice::from_ref(quad), size, &mut batch.lanes);
                }),
            }
            at += run.len();
        }
        batch.quads = quads;
        if at == 0 {
            return Some(batch);
        }
        let rest = rest.map(|at| batch.split_off(at));
        self.pixels.push(batch);
        rest
    }

    /// Finds the lanes of the pixels of quads of the current primitive whose fragments have a size.
    #[inline(always)]
    fn run(&mut self, quads: &[FragmentQuad], size: FragmentSize, lanes: &mut Vec<PixelLanes>) {
        const SIDE: u16 = 1 << TILE_SHIFT;
        let corners = size.log2().map(|log2| (SIDE - 1) & !0u16 << (log2 + 1));
        let places = Places::new(size);
        lanes.extend(quads.iter().map(|quad| {
            // Quads without coverage pad rows of quads.
            if quad.coverage == 0 {
                return PixelLanes { number: 0, lanes: [0; 4] };
            }
            // The corner's place in the tile, in quads.
            let at = (quad.y & corners[1]) << (QUADS_SHIFT - 1) | (quad.x & corners[0]) >> 1;
            let number = match self.numbers.get(usize::from(at)) {
                Some(&number) if number > self.first => number - 1,
                _ => self.append(quad, size, at),
            };
            let (lanes, covered) = places.find(quad);
            if let Some(coverage) = self.coverage.get_mut(usize::from(number)) {
                *coverage |= covered;
            }
            PixelLanes { number, lanes }
        }));
    }

    /// Appends the quad of fragments to which a quad of pixels belongs, whose corner is at a place
    /// in the tile.
    #[inline(never)]
    fn append(&mut self, quad: &FragmentQuad, size: FragmentSize, at: u16) -> u16 {
        let number = self.count;
        self.count += 1;
        self.numbers[usize::from(at)] = self.count as u16;
        self.coverage.push(0);
        if self.fragments.len() < self.fragment_batches() {
            self.fragments.push(Quads::default());
        }
        let batch = &mut self.fragments[number / BATCH_QUADS];
        if number.is_multiple_of(BATCH_QUADS) {
            batch.clear();
        }
        let [x, y] =
            [(quad.x, size.log2()[0]), (quad.y, size.log2()[1])].map(|(c, log2)| c >> (log2 + 1) << (log2 + 1));
        let sample = FragmentBatch::CENTRE + size.word();
        batch.push(FragmentQuad { x, y, coverage: 0, sample, primitive: quad.primitive });
        number as u16
    }

    /// Stores the coverage of the quads of fragments in them.
    pub fn finish(&mut self) {
        let quads = self.fragments.iter_mut().flat_map(|batch| batch.list_mut());
        quads.zip(&self.coverage).for_each(|(quad, coverage)| quad.coverage = *coverage);
    }

    /// Copies the outputs and live lanes of fragments to those of a batch of pixels. All lanes are
    /// live unless the stage `kills`.
    pub fn copy_outputs(
        &self,
        batch: &PixelBatch,
        (layout, kills): (SlotLayout, bool),
        words: &mut [u32],
        alive: &mut [u32],
    ) {
        // Batches are whole chunks, so their outputs have the layout of one batch.
        let from = self.outputs.as_words(layout.words(4 * BATCH_QUADS) * self.fragment_batches());
        let (slots, step) = (layout.slots(), layout.lanes());
        for (i, PixelLanes { number, lanes }) in batch.lanes.iter().enumerate() {
            let (mut at, mut to) = (layout.word(4 * usize::from(*number), 0), layout.word(4 * i, 0));
            let is_one_fragment = lanes[0] == lanes[1] && lanes[0] == lanes[2] && lanes[1] == lanes[3];
            for _ in 0..slots {
                let (Some(values), Some(copies)) = (from[at..].first_chunk::<4>(), words[to..].first_chunk_mut::<4>())
                else {
                    return;
                };
                *copies = match is_one_fragment {
                    true => [values[usize::from(lanes[0] & 3)]; 4],
                    false => lanes.map(|lane| values[usize::from(lane & 3)]),
                };
                (at, to) = (at + step, to + step);
            }
        }
        alive.fill(if kills { 0 } else { u32::MAX });
        if kills {
            self.copy_live_lanes(batch, layout, alive);
        }
    }

    fn copy_live_lanes(&self, batch: &PixelBatch, layout: SlotLayout, alive: &mut [u32]) {
        let (from, per_word) = (self.alive.as_words(BATCH_QUADS * self.fragment_batches()), layout.lanes().min(32));
        for (i, PixelLanes { number, lanes }) in batch.lanes.iter().enumerate() {
            let (source, quad) = (usize::from(*number) / BATCH_QUADS, usize::from(*number) % BATCH_QUADS);
            let live = ShadedOutputs { words: &[], layout, alive: &from[source * BATCH_QUADS..] }.alive(quad);
            let bits = lanes.iter().enumerate().fold(0, |bits, (pixel, lane)| bits | (live >> lane & 1) << pixel);
            alive[4 * i / per_word] |= bits << (4 * i % per_word);
        }
    }

    /// Finds the mean of the positions of the covered samples of each fragment, relative to its
    /// corner; the centre of one of which all are covered.
    pub fn find_centroids(&mut self, positions: &SamplePositions, samples: u32) {
        let mut sums = vec![[([0.0f32; 2], 0u32); 4]; self.count];
        for batch in &self.pixels {
            for (i, (quad, lanes)) in batch.quads.list().iter().zip(&batch.lanes).enumerate() {
                let log2 = size_of(
                    &self.fragments[usize::from(lanes.number) / BATCH_QUADS].list()
                        [usize::from(lanes.number) % BATCH_QUADS],
                );
                for pixel in 0..4u16 {
                    let (sum, count) =
                        &mut sums[usize::from(lanes.number)][usize::from(lanes.lanes[usize::from(pixel)])];
                    let at = [(quad.x + (pixel & 1), log2[0]), (quad.y + (pixel >> 1), log2[1])]
                        .map(|(c, log2)| f32::from(c & ((1 << log2) - 1)));
                    for sample in (0..samples as usize).filter(|sample| batch.covers(i, pixel, *sample)) {
                        let position = &positions[sample];
                        *sum = [sum[0] + at[0] + position.x[0], sum[1] + at[1] + position.y[0]];
                        *count += 1;
                    }
                }
            }
        }
        self.centroids.clear();
        let quads = self.fragments[..self.fragment_batches()].iter().flat_map(Quads::list);
        for (quad, sums) in quads.zip(&sums) {
            let log2 = size_of(quad);
            let all = samples << (log2[0] + log2[1]);
            let mean = |lane: usize, axis: usize| match sums[lane] {
                (_, count) if count == 0 || count == all => (1 << log2[axis]) as f32 / 2.0,
                (sum, count) => sum[axis] / count as f32,
            };
            self.centroids
                .push(QuadPositions { x: [0, 1, 2, 3].map(|i| mean(i, 0)), y: [0, 1, 2, 3].map(|i| mean(i, 1)) });
        }
        // The entries of quads that pad the last chunk are read.
        let padding = QuadPositions { x: [0.0; 4], y: [0.0; 4] };
        self.centroids.resize(self.fragment_batches() * BATCH_QUADS + WIDEST_CHUNK, padding);
    }
}

impl PixelBatch {
    /// Returns true if a sample of a pixel of quad `i` is covered.
    fn covers(&self, i: usize, pixel: u16, sample: usize) -> bool {
        let coverage = self.groups.get(i).map_or(self.quads.list()[i].coverage, |groups| groups[sample / 4]);
        coverage >> (4 * pixel + sample as u16 % 4) & 1 != 0
    }
}

/// Returns the base-2 logarithms of the width and height of a quad's fragments in pixels.
pub fn size_of(quad: &FragmentQuad) -> [u32; 2] {
    FragmentSize::from_word(quad.sample.saturating_sub(FragmentBatch::CENTRE).into()).log2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::random::Rng;

    /// Gathers random quads of pixels of two primitives, and checks the lanes of each pixel.
    #[test]
    fn pixels_of_a_fragment_have_its_lane() {
        let mut rng = Rng(0xc0a5_e000);
        let primitives = [1usize, 2].map(|address| core::ptr::without_provenance(64 * address));
        for size in [(1, 1), (2, 1), (1, 2), (2, 2), (4, 2), (1, 4), (4, 4)] {
            let rate = ShadingRate { size: FragmentSize::new(size.0, size.1), ..ShadingRate::PIXEL };
            let plan = CoarsePlan { rate, primitive_row: None, attachment: None };
            let mut coarse = CoarseQuads::default();
            let (mut pixels, mut batch) = (Vec::new(), PixelBatch::default());
            batch.quads.clear();
            for (owner, primitive) in primitives.into_iter().enumerate() {
                for place in 0..1024u16 {
                    let coverage = rng.below(1 << 16) as u16 & 0x1111;
                    let (x, y) = (128 + place % 32 * 2, 64 + place / 32 * 2);
                    // The first primitive does not fill a batch, so that the other's quads join.
                    let part = owner == 1 || x < 144 && y < 80;
                    if part && coverage != 0 && rng.below(3) == 0 {
                        let quad = FragmentQuad { x, y, coverage, sample: FragmentBatch::CENTRE, primitive };
                        batch.quads.push(quad);
                        pixels.push((owner, quad));
                    }
                    if batch.quads.is_full() || place == 1023 && owner == 1 {
                        assert!(coarse.gather(&plan, 0, core::mem::take(&mut batch)).is_none());
                        batch.quads.clear();
                    }
                }
            }
            coarse.finish();
            let list = coarse.pixels.iter().flat_map(|batch| batch.quads.list().iter().zip(&batch.lanes));
            let mut lanes = std::collections::BTreeMap::new();
            let mut covered = std::collections::BTreeSet::new();
            for ((quad, PixelLanes { number, lanes: of }), (owner, want)) in list.zip(&pixels) {
                assert_eq!((quad.x, quad.y, quad.coverage), (want.x, want.y, want.coverage));
                for pixel in 0..4u16 {
                    let (x, y) = (quad.x + (pixel & 1), quad.y + (pixel >> 1));
                    let fragment = (*owner, x / size.0 as u16, y / size.1 as u16);
                    let lane = (*number, of[usize::from(pixel)]);
                    assert_eq!(*lanes.entry(fragment).or_insert(lane), lane, "{size:?} {x} {y}");
                    if quad.coverage >> (4 * pixel) & 1 != 0 {
                        covered.insert(lane);
                    }
                }
            }
            let distinct: std::collections::BTreeSet<_> = lanes.values().collect();
            assert_eq!(distinct.len(), lanes.len(), "{size:?}");
            let quads = coarse.fragments[..coarse.fragment_batches()].iter().flat_map(Quads::list);
            for (number, quad) in quads.enumerate() {
                for lane in 0..4u8 {
                    let is_covered = quad.coverage >> (4 * lane) & 0xf != 0;
                    assert_eq!(is_covered, covered.contains(&(number as u16, lane)), "{size:?}");
                }
            }
        }
    }
}
