//! A batch of quads: the fragment stage, the coverage that it changes, late tests and colour
//! writes.

use super::coarse::{CoarseQuads, PixelBatch, size_of};
use super::depth::{self, DepthBlock, DepthFormat};
use super::job::TileJob;
use super::path::{FragmentOrder, Invocations, LateCoverage, TestOrder};
use super::plan::TilePlan;
use super::quads::{BATCH_QUADS, Quads, WIDEST_CHUNK};
use super::shaded::{SPREAD, ShadedOutputs, ShadedQuads, pixels};
use crate::prim::{INNER_ROWS, Prim, contained_pixels};
use crate::stages::NO_SLOT;
use base::abi::{FragmentBatch, FragmentQuad, QuadPositions, SampleGroups, SlotLayout};
use base::shader::CompiledStage;

/// Number of samples of a group.
const GROUP: u32 = 4;

/// Returns the pixels that have any sample.
fn any_sample(coverage: u16) -> u32 {
    (0..4).fold(0, |m, s| m | pixels(coverage, s))
}

/// Shades, tests and writes the quads collected so far, and clears the batch.
pub fn shade(job: &mut TileJob<'_>) {
    let plan = job.draw.plan;
    match (plan.order, plan.invocations) {
        _ if plan.coarse.is_some() => gather(job),
        (FragmentOrder::Primitives, Invocations::Sample) => shade_by_samples(job),
        _ => shade_all(job),
    }
}

/// Shades, tests and writes all quads that wait.
pub fn finish(job: &mut TileJob<'_>) {
    if job.scratch.quads.len() != 0 {
        shade(job);
    }
    if !job.scratch.coarse.is_empty() {
        shade_fragments(job);
    }
}

/// Gathers quads of pixels whose fragments may have several pixels, and shades the fragments of
/// whole primitives if there are many.
fn gather(job: &mut TileJob<'_>) {
    let Some(plan) = &job.draw.plan.coarse else { return };
    let mut batch = job.scratch.coarse.empty_batch();
    exchange(job, &mut batch);
    while let Some(rest) = job.scratch.coarse.gather(plan, job.layer, batch) {
        shade_fragments(job);
        batch = rest;
    }
}

/// Exchanges the quads collected so far, with their coverage, for those of a batch.
fn exchange(job: &mut TileJob<'_>, batch: &mut PixelBatch) {
    core::mem::swap(&mut job.scratch.quads, &mut batch.quads);
    core::mem::swap(&mut job.scratch.groups, &mut batch.groups);
    core::mem::swap(&mut job.scratch.coverage, &mut batch.coverage);
}

/// Shades the fragments of the gathered pixels, and tests and writes these.
fn shade_fragments(job: &mut TileJob<'_>) {
    let Some(stage) = job.draw.draw.stages.fragment() else { return };
    let mut coarse = core::mem::take(&mut job.scratch.coarse);
    let layout = SlotLayout::new(stage.info.interface.outputs.len(), stage.info.lanes);
    let kills = stage.info.stage_info.fragment().is_some_and(|info| info.kills);
    coarse.finish();
    run_fragments(job, stage, layout, &mut coarse);
    for mut batch in core::mem::take(&mut coarse.pixels) {
        exchange(job, &mut batch);
        shaded_by(job, |_, words, alive| coarse.copy_outputs(&batch, (layout, kills), words, alive), write_colors);
        exchange(job, &mut batch);
        coarse.recycle(batch);
    }
    coarse.clear();
    job.scratch.coarse = coarse;
}

/// Runs the stage for the fragments of gathered pixels.
fn run_fragments(job: &mut TileJob<'_>, stage: &CompiledStage, layout: SlotLayout, coarse: &mut CoarseQuads) {
    let (batches, words) = (coarse.fragment_batches(), layout.words(4 * BATCH_QUADS));
    let reads_centroids = stage.info.stage_info.fragment().is_some_and(|info| info.reads_centroids);
    if reads_centroids {
        let samples = job.pass.grid.samples;
        coarse.find_centroids(job.draw.plan.positions(samples), samples);
    }
    for number in 0..batches {
        let centroids = match reads_centroids {
            true => coarse.centroids[number * BATCH_QUADS..].as_ptr(),
            false => core::ptr::null(),
        };
        let outputs = &mut coarse.outputs.words(batches * words)[number * words..][..words];
        let alive = &mut coarse.alive.words(batches * BATCH_QUADS)[number * BATCH_QUADS..][..BATCH_QUADS];
        let more = MoreInputs { groups: FragmentBatch::NO_GROUPS.as_ptr(), centroids };
        call_stage(job, stage, (&mut coarse.fragments[number], more), outputs, alive);
    }
}

/// Shades quads whose samples are invocations that are ordered: all quads of the first sample, then
/// those of the next one. No two invocations of a batch share a pixel, because waiting primitives
/// do not meet ([`TileJob::keep_order`]), and those of a pixel come in the order of their samples.
#[inline(never)]
fn shade_by_samples(job: &mut TileJob<'_>) {
    let scratch = &mut *job.scratch;
    let (quads, coverage) = (scratch.quads.list().to_vec(), core::mem::take(&mut scratch.coverage));
    let groups = core::mem::take(&mut scratch.groups);
    for sample in 0..job.pass.grid.samples as u16 {
        let scratch = &mut *job.scratch;
        scratch.quads.clear();
        for (i, quad) in quads.iter().enumerate().filter(|(_, quad)| quad.sample == sample) {
            scratch.quads.push(*quad);
            scratch.coverage.extend(coverage.get(i));
            scratch.groups.extend(groups.get(i));
        }
        if scratch.quads.len() != 0 {
            shade_all(job);
        }
    }
    job.scratch.quads.clear();
}

/// Shades the quads as one batch.
fn shade_all(job: &mut TileJob<'_>) {
    shaded_by(job, run_quads, write_colors);
}

/// Writes the colours of shaded quads.
#[inline(always)]
fn write_colors(plan: &TilePlan, shaded: &ShadedQuads<'_>) {
    for color in &plan.colors {
        // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
        // this worker owns the tile.
        unsafe { color.write_batch(shaded) };
    }
}

/// Shades and tests the quads collected so far, passes them to `write` (each group of samples
/// separately), and clears the batch.
#[inline(always)]
pub fn shaded(job: &mut TileJob<'_>, mut write: impl FnMut(&ShadedQuads<'_>)) {
    shaded_by(job, run_quads, |_, shaded| write(shaded));
}

/// Runs the stage for the quads collected so far; fills in their outputs and live lanes.
#[inline(always)]
fn run_quads(job: &mut TileJob<'_>, outputs: &mut [u32], alive: &mut [u32]) {
    let stage = job.draw.draw.stages.fragment();
    let Some(stage) = stage.filter(|_| job.draw.plan.shades()) else { return alive.fill(u32::MAX) };
    let mut quads = core::mem::take(&mut job.scratch.quads);
    let mut groups = FragmentBatch::NO_GROUPS.as_ptr();
    if job.pass.grid.samples > GROUP {
        job.scratch.groups.resize(BATCH_QUADS_PADDED, SampleGroups::default());
        groups = job.scratch.groups.as_ptr();
    }
    let more = MoreInputs { groups, centroids: core::ptr::null() };
    call_stage(job, stage, (&mut quads, more), outputs, alive);
    job.scratch.quads = quads;
}

/// Tests the quads collected so far, whose outputs and live lanes `shade` fills in, passes them to
/// `write` (each group of samples separately), and clears the batch.
#[inline(always)]
fn shaded_by(
    job: &mut TileJob<'_>,
    shade: impl FnOnce(&mut TileJob<'_>, &mut [u32], &mut [u32]),
    mut write: impl FnMut(&TilePlan, &ShadedQuads<'_>),
) {
    let mut outputs = (core::mem::take(&mut job.scratch.outputs), core::mem::take(&mut job.scratch.alive));
    let stage = job.draw.draw.stages.fragment();
    let layout = stage.map_or(SlotLayout::new(0, 4), |s| SlotLayout::new(s.info.interface.outputs.len(), s.info.lanes));
    let words = layout.words(BATCH_QUADS_PADDED * 4);
    if job.pass.exceeds_caches {
        let quads = job.scratch.quads.list();
        job.draw.plan.colors.iter().for_each(|color| color.prefetch(job.layer, quads));
    }
    shade(job, outputs.0.words(words), outputs.1.words(BATCH_QUADS_PADDED));
    if let Some(alpha) = job.draw.plan.smooth_alpha.filter(|_| job.draw.plan.shades()) {
        multiply(outputs.0.words(words), layout, alpha, &job.scratch.coverage);
    }
    let view =
        ShadedOutputs { words: outputs.0.as_words(words), layout, alive: outputs.1.as_words(BATCH_QUADS_PADDED) };
    let mut quads = core::mem::take(&mut job.scratch.quads);
    let plan = job.draw.plan;
    let samples = job.pass.grid.samples;
    let whole = quads.list().first().is_some_and(|quad| job.pass.whole_quads([quad.x, quad.y]));
    for group in 0..samples.div_ceil(GROUP) {
        if samples > GROUP {
            // Samples are independent, so each group is processed as if the pixel had only a few
            // samples.
            let all = quads.list_mut().iter_mut().zip(&job.scratch.groups);
            all.for_each(|(quad, groups)| quad.coverage = groups[group as usize]);
        }
        if let LateCoverage::Changes { sample_mask, alpha } = plan.late_coverage {
            remove_samples(job, quads.list_mut(), view, group, (sample_mask, alpha));
            if let TestOrder::Late { frag_depth, frag_stencil, .. } = plan.tests {
                late_tests(job, quads.list_mut(), view, group, (frag_depth, frag_stencil));
            }
        }
        let shaded = ShadedQuads {
            quads: quads.list(),
            outputs: view,
            alpha: plan.alpha,
            layer: job.layer,
            first_sample: group * GROUP,
            samples: samples.min(GROUP),
            whole,
        };
        write(plan, &shaded);
    }
    job.scratch.quads = quads;
    job.scratch.quads.clear();
    job.scratch.coverage.clear();
    job.scratch.groups.clear();
    job.scratch.passing.clear();
    (job.scratch.outputs, job.scratch.alive) = outputs;
}

/// Multiplies a slot of shaded quads by factors.
fn multiply(words: &mut [u32], layout: SlotLayout, slot: u16, factors: &[[f32; 4]]) {
    for (lane, factor) in factors.iter().flatten().enumerate() {
        let at = layout.word(lane, usize::from(slot));
        words[at] = (f32::from_bits(words[at]) * factor).to_bits();
    }
}

/// Number of quads of a batch with the padding of its last chunk.
const BATCH_QUADS_PADDED: usize = BATCH_QUADS.next_multiple_of(WIDEST_CHUNK);

/// Inputs of a batch besides its quads, padded as they are.
struct MoreInputs {
    groups: *const SampleGroups,
    centroids: *const QuadPositions,
}

fn call_stage(
    job: &mut TileJob<'_>,
    stage: &CompiledStage,
    (quads, more): (&mut Quads, MoreInputs),
    outputs: &mut [u32],
    alive: &mut [u32],
) {
    let count = quads.len();
    if !job.draw.draw.queries.statistics.is_empty() {
        job.invocations += quads.list().iter().map(|q| u64::from(any_sample(q.coverage).count_ones())).sum::<u64>();
    }
    let per_chunk = (stage.info.lanes as usize / 4).max(FragmentBatch::PADDING);
    let samples = job.pass.grid.samples;
    // A stage that reads FullyCoveredEXT gets the pixels that the primitives contain.
    let reads_contained = stage.info.stage_info.fragment().is_some_and(|info| info.reads_fully_covered);
    let mut contained = if reads_contained { vec![0; BATCH_QUADS_PADDED] } else { Vec::new() };
    let rows = job.draw.draw.stages.linkage().rows;
    alive.fill(u32::MAX);
    let mut batch = FragmentBatch {
        header: job.memory.header(stage),
        count: count as u32,
        samples,
        quads: quads.padded(per_chunk),
        outputs: outputs.as_mut_ptr(),
        alive: alive.as_mut_ptr(),
        positions: job.draw.plan.positions(samples),
        groups: more.groups,
        contained: contained.as_ptr(),
        centroids: more.centroids,
    };
    // SAFETY: quads and groups are padded to whole chunks, and outputs and alive hold every chunk
    // of a full batch. The primitives outlive the tile; behind the rows of a stage's inputs they
    // have those of inner half planes if it reads what these decide. The icd guarantees that stage
    // and context match.
    unsafe {
        for (pixels, quad) in contained.iter_mut().zip(quads.list()) {
            let inner = &*(*quad.primitive).attributes.add(rows).cast();
            *pixels = contained_fragments(inner, quad);
        }
        batch.contained = contained.as_ptr();
        stage.run(&job.draw.draw.context, (&raw mut batch).cast());
    }
}

/// Returns the fragments of a quad, a bit each, all of whose pixels lie inside of the half planes
/// of these rows.
fn contained_fragments(rows: &[[u32; 3]; INNER_ROWS], quad: &FragmentQuad) -> u16 {
    let [width, height] = size_of(quad);
    let mut contained = 0xf;
    for (x, y) in (0..1u16 << height).flat_map(|y| (0..1u16 << width).map(move |x| (2 * x, 2 * y))) {
        let pixels = contained_pixels(rows, [quad.x + x, quad.y + y]);
        for pixel in (0..4).filter(|pixel| pixels >> pixel & 1 == 0) {
            let lane = (x + (pixel & 1)) >> width | ((y + (pixel >> 1)) >> height) << 1;
            contained &= !(1 << lane);
        }
    }
    contained
}

/// Applies the stage's results to the quads' coverage by a group of samples; `slots` are those of
/// the SampleMask output and of the alpha for alpha to coverage.
fn remove_samples(
    job: &TileJob<'_>,
    quads: &mut [FragmentQuad],
    outputs: ShadedOutputs<'_>,
    group: u32,
    slots: (u16, Option<u16>),
) {
    for (quad, passing) in quads.iter_mut().zip(&job.scratch.passing) {
        quad.coverage &= passing[group as usize];
    }
    for (i, quad) in quads.iter_mut().enumerate() {
        quad.coverage &= SPREAD[outputs.alive(i) as usize] * 0xf;
    }
    if slots != (NO_SLOT, None) {
        apply_sample_mask(job, quads, outputs, group, slots);
    }
}

/// Performs the tests after the fragment stage for a group of samples; `slots` are those of
/// FragDepth and FragStencilRef.
fn late_tests(
    job: &mut TileJob<'_>,
    quads: &mut [FragmentQuad],
    outputs: ShadedOutputs<'_>,
    group: u32,
    slots: (u16, u16),
) {
    let plan = job.draw.plan;
    if plan.depth.is_no_op() {
        job.passed += quads.iter().map(|quad| u64::from(quad.coverage.count_ones())).sum::<u64>();
        return;
    }
    // If the number of rows is even, both rows of every quad lie in the attachment.
    let even = job.pass.depth.is_some_and(|surface| surface.extent[1] % 2 == 0);
    if let Some(test) = plan.depth.quads.filter(|_| slots.0 == NO_SLOT && even) {
        for (bit, sample) in samples_of(job, group) {
            let at = job.address(&job.pass.depth, sample, 0, 0);
            // SAFETY: covered pixels lie inside the attachment, whose rows are padded; both rows of
            // a quad are inside. This worker owns the tile, and the primitives outlive it.
            job.passed += unsafe { test(quads, &at, bit, sample_offset(job, sample)) };
        }
        return;
    }
    for (i, quad) in quads.iter_mut().enumerate().filter(|(_, quad)| quad.coverage != 0) {
        quad.coverage = late_test(job, quad, i, (outputs, group), slots);
    }
}

/// Returns the samples of a group: their bits in coverage, and their numbers.
fn samples_of(job: &TileJob<'_>, group: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
    (0..job.pass.grid.samples.min(GROUP)).map(move |bit| (bit, group * GROUP + bit))
}

/// Returns the position of a sample in its pixel.
fn sample_offset(job: &TileJob<'_>, sample: u32) -> [f32; 2] {
    let first = &job.draw.plan.positions(job.pass.grid.samples)[sample as usize];
    [first.x[0], first.y[0]]
}

/// Removes the samples of a group that the stage's sample mask or its alpha excludes.
fn apply_sample_mask(
    job: &TileJob<'_>,
    quads: &mut [FragmentQuad],
    outputs: ShadedOutputs<'_>,
    group: u32,
    (sample_mask, alpha): (u16, Option<u16>),
) {
    let samples = job.pass.grid.samples;
    let own = |mask: u32| (mask >> (group * GROUP)) as u16;
    for (i, quad) in quads.iter_mut().enumerate() {
        if sample_mask != NO_SLOT {
            quad.coverage &= pixel_bits(outputs.quad(i, sample_mask).map(own));
        }
        if let Some(slot) = alpha {
            let mask = |alpha: u32| {
                let n = (f32::from_bits(alpha).clamp(0.0, 1.0) * samples as f32 + 0.5) as u32;
                own((1 << n.min(samples)) - 1)
            };
            quad.coverage &= pixel_bits(outputs.quad(i, slot).map(mask));
        }
    }
}

/// Returns coverage with four bits per pixel.
fn pixel_bits(masks: [u16; 4]) -> u16 {
    masks.iter().enumerate().fold(0, |c, (p, &m)| c | (m & 0xf) << (4 * p))
}

/// Performs the tests of a quad after the fragment stage for a group of samples; returns the
/// remaining coverage.
fn late_test(
    job: &mut TileJob<'_>,
    quad: &FragmentQuad,
    index: usize,
    (outputs, group): (ShadedOutputs<'_>, u32),
    (frag_depth, frag_stencil): (u16, u16),
) -> u16 {
    let plan = job.draw.plan;
    // SAFETY: the quad was pushed with a pointer to the first field of a `Prim` that outlives the
    // tile.
    let prim = unsafe { &*quad.primitive.cast::<Prim>() };
    let mut left = 0;
    let mut references = [0u8; 16];
    if frag_stencil != NO_SLOT {
        let written = outputs.quad(index, frag_stencil);
        (0..4).for_each(|i| references[i] = written[i] as u8);
    }
    for (bit, s) in samples_of(job, group) {
        let mask = pixels(quad.coverage, bit);
        if mask == 0 {
            continue;
        }
        let mut z = prim.plane_z::<2>(i32::from(quad.x), i32::from(quad.y), sample_offset(job, s));
        if frag_depth != NO_SLOT {
            let written = outputs.quad(index, frag_depth);
            // Float depth that is not clamped to the viewport's range has no other range
            // (VK_EXT_depth_range_unrestricted).
            let free = plan.depth.format == Some(DepthFormat::F32) && !job.draw.draw.state.depth_clamp;
            for (z, depth) in z.iter_mut().zip(written.map(f32::from_bits)) {
                *z = if free && !depth.is_nan() { depth } else { prim.clamp_depth(depth) };
            }
        }
        let (x, y) = (u32::from(quad.x), u32::from(quad.y));
        let block = DepthBlock {
            depth: job.address(&job.pass.depth, s, x, y),
            stencil: job.address(&job.pass.stencil, s, x, y),
            z: &z,
            mask,
            front: prim.shade.front_facing != 0,
            references: (frag_stencil != NO_SLOT).then_some(&references),
        };
        // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
        // this worker owns the tile.
        let passed = unsafe { depth::test::<2>(&plan.depth, &block) };
        job.passed += u64::from(passed.count_ones());
        left |= SPREAD[passed as usize] << bit;
    }
    left
}
