//! Tests of two triangles that form a rectangle and are set up as one: the pixels and the values
//! are the same, and no quad is shaded twice.

use super::*;
use base::epilogue::Epilogue;
use std::sync::atomic::{AtomicU64, Ordering};

const SIDE: u32 = 64;

/// Number of quads with which [`fs_counted`] was called; tests that read it hold [`COUNTING`].
static QUADS: AtomicU64 = AtomicU64::new(0);
static COUNTING: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[base::code_fn]
unsafe extern "code" fn fs_counted(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: called with a `FragmentBatch`.
    unsafe {
        QUADS.fetch_add(u64::from((*batch.cast::<FragmentBatch>()).count), Ordering::Relaxed);
        fragments(batch, |_, _, c| Some(c));
    }
}

/// Makes a fragment stage that counts its quads; triangles are not paired for a stage that reads
/// primitive numbers.
fn counted(pairs: bool, interpolation: Interpolation) -> CompiledStage {
    let info = FragmentInfo { reads_primitive_id: !pairs, ..FragmentInfo::default() };
    let inputs = (0..4).map(|c| slot(user(0, c), interpolation)).collect();
    let outputs = (0..4).map(|c| slot(user(0, c), Interpolation::Smooth)).collect();
    stage(StageSpecificInfo::Fragment(info), fs_counted, 8, StageInterface { inputs, outputs, placements: Vec::new() })
}

/// Makes the vertex stage of the other tests, without a layer and a viewport.
fn plain_vertex_stage() -> CompiledStage {
    let mut vertex = vertex_stage();
    let mut interface = (*vertex.info.interface).clone();
    for (i, output) in interface.outputs[8..].iter_mut().enumerate() {
        output.kind = user(1, i as u8);
    }
    vertex.info.interface = Arc::new(interface);
    vertex
}

/// Makes a vertex at fixed-point coordinates.
fn at([x, y]: [i32; 2], color: [f32; 4]) -> V {
    let ndc = |c: i32| c as f32 / (128.0 * SIDE as f32) - 1.0;
    v(ndc(x), ndc(y), 0.5, color)
}

/// Makes the corners of a rectangle x0, y0, x1, y1, numbered `x | y << 1`, with values of a plane
/// in which sums are exact.
fn corners(random: &mut Rng, rect: [i32; 4]) -> [V; 4] {
    let mut eighths = || [0; 4].map(|_: i32| random.below(64) as f32 / 8.0);
    let (first, across, down) = (eighths(), eighths(), eighths());
    core::array::from_fn(|i| {
        let (x, y) = (i & 1, i >> 1);
        let value = |c: usize| first[c] + across[c] * x as f32 + down[c] * y as f32;
        at([rect[2 * x], rect[2 * y + 1]], core::array::from_fn(value))
    })
}

/// Splits the rectangle into two triangles, with a random diagonal and random first vertices.
fn split(random: &mut Rng, corners: &[V; 4]) -> [V; 6] {
    let order = if random.below(2) == 0 { [0, 1, 2, 3, 2, 1] } else { [1, 3, 0, 2, 0, 3] };
    let (first, second) = (random.below(3) as usize, random.below(3) as usize);
    core::array::from_fn(|i| corners[if i < 3 { order[(i + first) % 3] } else { order[3 + (i + second) % 3] }])
}

/// Returns the picture of a list of triangles, and how many quads were shaded.
fn picture(samples: u32, vertices: &[V], stage: CompiledStage) -> (Image, u64) {
    let image = Image::new(RGBA32F, SIDE, SIDE, samples, 1);
    let mut state = state(Topology::TriangleList, SIDE, SIDE);
    state.pixel.blend[0] = ADDITIVE;
    QUADS.store(0, Ordering::Relaxed);
    let stages = stages(plain_vertex_stage(), Some(stage));
    render(1, targets(&image, None), [draw_of(stages, state, vertices)]);
    (image, QUADS.load(Ordering::Relaxed))
}

#[test]
fn rectangles_cover_what_their_triangles_do() {
    let _counting = COUNTING.lock();
    let random = &mut Rng(0x7ec7);
    let mut spared = 0;
    for round in 0..300 {
        let samples = if round % 3 == 0 { 4 } else { 1 };
        // Sizes are from a fraction of a pixel to most of the target; some rectangles reach beyond
        // its edge.
        let max = [300, 2000, 12000][random.below(3) as usize];
        let rects: Vec<[i32; 4]> = (0..1 + random.below(4))
            .map(|_| {
                let [x, y] = [0; 2].map(|_| random.below(SIDE * 256) as i32 - 512);
                [x, y, x + 1 + random.below(max) as i32, y + 1 + random.below(max) as i32]
            })
            .collect();
        let mut vertices = Vec::new();
        for rect in rects {
            let corners = corners(random, rect);
            vertices.extend(split(random, &corners));
        }
        let (want, many) = picture(samples, &vertices, counted(false, Interpolation::Smooth));
        let (got, few) = picture(samples, &vertices, counted(true, Interpolation::Smooth));
        assert!(few <= many);
        spared += many - few;
        for (y, x) in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (y, x))) {
            for sample in 0..samples {
                let of = |image: &Image| image.texel::<[f32; 4]>(Aspect::Color, x, y, sample, 0);
                let (a, b) = (of(&want), of(&got));
                // Values are up to 24 per rectangle, and there are at most four.
                assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4), "round {round} ({x}, {y}): {a:?} {b:?}");
                assert_eq!(a == [0.0; 4], b == [0.0; 4], "round {round} ({x}, {y})");
            }
        }
    }
    assert!(spared > 1000, "{spared}");
}

#[test]
fn only_exact_rectangles_are_set_up_as_one() {
    let _counting = COUNTING.lock();
    let random = &mut Rng(0x9a1e);
    let rect = [8 << 8, 8 << 8, 40 << 8, 24 << 8];
    let all = (32 / 2) * (16 / 2);
    let whole = corners(random, rect);
    let two = [0, 1, 2, 3, 2, 1].map(|i| whole[i]);
    let smooth = || counted(true, Interpolation::Smooth);
    let quads = |vertices: &[V]| picture(1, vertices, smooth()).1;
    assert_eq!(quads(&two), all);
    // The diagonal runs through quads of both triangles.
    assert!(picture(1, &two, counted(false, Interpolation::Smooth)).1 > all);
    let changed = |change: fn(&mut [V; 6])| {
        let mut vertices = two;
        change(&mut vertices);
        vertices
    };
    // A shader with side effects is executed for the samples of each triangle.
    let effects = || {
        let mut stage = smooth();
        stage.info.side_effects = true;
        stage
    };
    assert_eq!(picture(1, &two, effects()).1, all);
    assert_eq!(picture(4, &two, smooth()).1, all);
    assert!(picture(4, &two, effects()).1 > all);
    let apart: [(&str, [V; 6]); 7] = [
        ("depth", changed(|v| v[3].position[2] = 0.75)),
        ("distance", changed(|v| v[3].position = v[3].position.map(|c| c * 2.0))),
        ("no plane", changed(|v| v[3].color[1] += 1.0)),
        ("two values at a corner", changed(|v| v[4].color[2] += 1.0)),
        ("turned the other way", changed(|v| v.swap(4, 5))),
        ("no rectangle", changed(|v| v[3].position[0] += 1.0 / 32.0)),
        ("the same half twice", changed(|v| (v[3], v[4], v[5]) = (v[0], v[1], v[2]))),
    ];
    for (why, vertices) in apart {
        assert!(quads(&vertices) > all, "{why}");
    }
    // These are the second triangle of a pair, and the first of the next one.
    let aside = at([0; 2], WHITE);
    let mut odd = vec![aside; 3];
    odd.extend(two);
    assert!(quads(&odd) > all);
    // Flat values are those of the provoking vertices.
    let flat = |vertices: &[V]| picture(1, vertices, counted(true, Interpolation::Flat)).1;
    assert!(flat(&two) > all);
    assert_eq!(flat(&two.map(|v| V { color: WHITE, ..v })), all);
}

/// Tests that two pipelines that pass different sets of values to fragments agree about the values
/// that both pass.
#[test]
fn attribute_bits_do_not_depend_on_other_attributes() {
    let _counting = COUNTING.lock();
    let random = &mut Rng(0xb175);
    for _ in 0..100 {
        let rect = [random.below(4000) as i32, random.below(4000) as i32, 8000, 9000];
        let mut values = corners(random, rect);
        // The gradients, one along each axis, are not representable as floats.
        for (i, corner) in values.iter_mut().enumerate() {
            (corner.color[0], corner.color[1]) = ([0.1, 0.7][i & 1], [-1.3, 9.9][i >> 1]);
        }
        let together = split(random, &values);
        let mut apart = together;
        apart[3].color[3] += 1.0;
        let [(a, few), (b, many)] = [together, apart].map(|v| picture(1, &v, counted(true, Interpolation::Smooth)));
        assert!(few < many);
        for (y, x) in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (y, x))) {
            let [a, b] = [&a, &b].map(|image| image.color::<[u32; 4]>(x, y));
            assert_eq!(a[..3], b[..3], "({x}, {y}) of {rect:?}");
        }
    }
}

/// Number of rectangles that [`Painter`] was given.
static RECTANGLES: AtomicU64 = AtomicU64::new(0);

/// Code of [`fs_color`] that writes rectangles itself: colours are stored, or added to the target.
#[derive(Clone, Copy)]
struct Painter(Option<Epilogue>);

impl Painter {
    /// # Safety
    /// `p` has attributes for all slots of the epilogue.
    unsafe fn paint(epilogue: &Epilogue, p: &FragmentPrimitive, [x, y]: [u16; 2], texel: &mut [u8; 4]) {
        for (c, slot) in epilogue.slots.into_iter().enumerate() {
            let slot = usize::from(slot.expect("four components"));
            let (x, y) = (f32::from(x) + 0.5, f32::from(y) + 0.5);
            // SAFETY: the stage's inputs are its outputs, so the primitive has the slot.
            let value = f32::from_bits(unsafe { interpolate(p, slot, x, y, Interpolation::Smooth) });
            let byte = (value.clamp(0.0, 1.0) * 255.0).round_ties_even() as u8;
            let texel = &mut texel[if epilogue.swap && c < 3 { 2 - c } else { c }];
            *texel = if epilogue.blend.is_some() { texel.saturating_add(byte) } else { byte };
        }
    }
}

impl StageCode for Painter {
    unsafe fn run(&self, context: &ShaderContext, batch: *mut BatchHeader) {
        let Some(epilogue) = &self.0 else {
            // SAFETY: the rasterizer calls the stage with a batch of its fragments.
            return unsafe { fs_color(context, batch) };
        };
        // SAFETY: the rasterizer calls this with a batch of rectangles, whose texels no other
        // thread accesses.
        unsafe {
            let batch = &*batch.cast::<RectangleBatch>();
            for r in core::slice::from_raw_parts(batch.rectangles, batch.count as usize) {
                RECTANGLES.fetch_add(1, Ordering::Relaxed);
                let p = &*r.primitive;
                assert!(p.affine != 0 && r.x0 < r.x1 && u32::from(r.x1) <= batch.end && r.y0 < r.y1);
                // The tile owns as many columns before the end as a chunk has lanes.
                assert!(
                    batch.end as usize - usize::from(r.x0) / 64 * 64 >= MAX_LANES
                        && batch.end.div_ceil(64) == (u32::from(r.x1)).div_ceil(64)
                );
                for (y, x) in (r.y0..r.y1).flat_map(|y| (r.x0..r.x1).map(move |x| (y, x))) {
                    let offset = usize::from(y) * batch.pitch as usize + 4 * usize::from(x);
                    Painter::paint(epilogue, p, [x, y], &mut *batch.target.add(offset).cast());
                }
            }
        }
    }
    fn scratch_bytes(&self) -> usize {
        0
    }
    fn with_epilogue(&self, epilogue: &Epilogue) -> Option<Arc<dyn StageCode>> {
        Some(Arc::new(Painter(Some(*epilogue))))
    }
}

/// Tests that the pixels that stages write themselves equal those of quads, in the same order,
/// whatever lies between.
#[test]
fn rectangles_with_an_epilogue_are_the_pixels_of_quads() {
    let random = &mut Rng(0x3917_0e0f);
    // In one of the sizes, the last columns are a tile that is narrower than a chunk.
    for (round, size) in (0..120).zip([[150, 90], [132, 70]].into_iter().cycle()) {
        let [w, h] = size;
        let mut vertices = Vec::new();
        for _ in 0..1 + random.below(40) {
            let max = [6, 20, 120][random.below(3) as usize];
            let whole = random.below(3) != 0;
            let mut place =
                |max: u32| if whole { 256 * random.below(max) as i32 } else { random.below(256 * max) as i32 };
            let [x, y] = [place(w), place(h)];
            let rect = [x, y, x + 256 + place(max), y + 256 + place(max)];
            // The values are those of a plane in which sums are exact.
            let mut part = || [0; 4].map(|_: i32| random.below(64) as f32 / 64.0 - 0.25);
            let (first, across, down) = (part(), part(), part());
            let corner = |i: usize| {
                let ndc = |c: i32, side: u32| c as f32 / (128.0 * side as f32) - 1.0;
                let color = |c: usize| first[c] + across[c] * (i & 1) as f32 + down[c] * (i >> 1) as f32;
                let (x, y) = (ndc(rect[2 * (i & 1)], w), ndc(rect[2 * (i >> 1) + 1], h));
                v(x, y, 0.5, core::array::from_fn(color))
            };
            let corners = [0, 1, 2, 3].map(corner);
            let two = split(random, &corners);
            // Some rectangles are only one triangle, whose quads lie between rectangles.
            vertices.extend_from_slice(if random.below(5) == 0 { &two[..3] } else { &two });
        }
        let mut state = state(Topology::TriangleList, w, h);
        state.pixel.blend[0] = if round % 2 == 0 { OPAQUE } else { ADDITIVE };
        if random.below(4) == 0 {
            state.scissors = [[7, 5, w as i32 / 2, h as i32 / 2]].into();
        }
        let picture = |code: Arc<dyn StageCode>| {
            let image = Image::new(RGBA8, w, h, 1, 1);
            let stage = CompiledStage { code, ..fragment_stage(fs_color, &[], FragmentInfo::default()) };
            render(
                1,
                targets(&image, None),
                [draw_of(stages(plain_vertex_stage(), Some(stage)), state.clone(), &vertices)],
            );
            image.bytes()
        };
        let general: Arc<dyn StageCode> = Arc::new(fs_color as StageFn);
        assert!(picture(general) == picture(Arc::new(Painter(None))), "round {round}");
    }
    assert!(RECTANGLES.load(Ordering::Relaxed) > 500);
}
