//! Tests of transform feedback: the words of captured vertices, for every topology, against lists
//! that are taken from the specification's figures.

use super::*;
use base::limits::CAPTURE_BUFFERS;
use base::shader::{Capture, Captured};
use std::sync::atomic::{AtomicU64, Ordering};

const UNTOUCHED: u32 = 0xdead_beef;

/// Describes a capture. Buffer 0 has y and z of the position, a gap, all of the colour, and a gap;
/// buffer 1 has a gap and the position; buffer 3 has six slots.
fn capture() -> Capture {
    let run = |buffer, offset, slot, words| Captured { buffer, offset, slot, words };
    let outputs = vec![run(0, 0, 1, 2), run(0, 12, 4, 4), run(1, 4, 0, 4), run(3, 0, 3, 6)];
    Capture { strides: [32, 20, 0, 24], outputs, ..Capture::default() }
}

/// Makes a vertex whose position and colour are numbers derived from `n`.
fn vertex(n: u32) -> V {
    let four = |from: u32| [0, 1, 2, 3].map(|c| (100 * n + from + c) as f32);
    V { position: four(0), color: four(10), extra: four(20) }
}

struct Buffers([Vec<u32>; CAPTURE_BUFFERS]);

impl Buffers {
    fn new(words: [usize; CAPTURE_BUFFERS]) -> Buffers {
        Buffers(words.map(|n| vec![UNTOUCHED; n]))
    }
    fn feedback(&self, starts: [u32; CAPTURE_BUFFERS]) -> Arc<Feedback> {
        let range = |b: usize| if self.0[b].is_empty() { MemoryRange::NULL } else { range_of(&self.0[b]) };
        Arc::new(Feedback::new(core::array::from_fn(range), starts))
    }
    /// Makes the buffers as if these vertices had been captured from word 0 on.
    fn holding(words: [usize; CAPTURE_BUFFERS], vertices: &[u32]) -> Buffers {
        let mut buffers = Buffers::new(words);
        let capture = capture();
        for (i, &n) in vertices.iter().enumerate() {
            let v = vertex(n);
            let slots: Vec<f32> = [v.position, v.color, v.extra].concat();
            for run in &capture.outputs {
                let b = run.buffer as usize;
                for w in 0..run.words as usize {
                    let at = i * capture.strides[b] as usize / 4 + run.offset as usize / 4 + w;
                    if let Some(word) = buffers.0[b].get_mut(at) {
                        *word = slots[run.slot as usize + w].to_bits();
                    }
                }
            }
        }
        buffers
    }
}

/// Makes a draw that captures, with rasterization turned off.
fn capturing(state: DrawState, vertices: &[V], feedback: &Arc<Feedback>) -> Draw {
    let mut stage = vertex_stage();
    stage.info.capture = Some(Arc::new(capture()));
    let state = DrawState { rasterizer_discard: true, ..state };
    Draw { feedback: Some(feedback.clone()), ..draw_of(stages(stage, None), state, vertices) }
}

fn run(threads: usize, later: bool, round_bytes: Option<usize>, draws: Vec<Draw>) {
    let engine = Engine::new(threads);
    let mut pass = engine.begin_rendering(RenderTargets { samples: 1, layers: 1, ..RenderTargets::default() });
    pass.captures_after_shading = later;
    pass.round_bytes = round_bytes.unwrap_or(pass.round_bytes);
    draws.into_iter().for_each(|d| _ = pass.draw(d));
    pass.end();
}

/// Vertices of the first primitives, as the figures of "Primitive Topologies" number them; then
/// with the last vertex provoking.
#[rustfmt::skip]
static FIGURES: &[(Topology, u32, &[u32], &[u32])] = &[
    (Topology::PointList, 3, &[0, 1, 2], &[0, 1, 2]),
    (Topology::LineList, 5, &[0, 1, 2, 3], &[0, 1, 2, 3]),
    (Topology::LineStrip, 4, &[0, 1, 1, 2, 2, 3], &[0, 1, 1, 2, 2, 3]),
    (Topology::TriangleList, 8, &[0, 1, 2, 3, 4, 5], &[0, 1, 2, 3, 4, 5]),
    (Topology::TriangleStrip, 5, &[0, 1, 2, 1, 3, 2, 2, 3, 4], &[0, 1, 2, 2, 1, 3, 2, 3, 4]),
    (Topology::TriangleFan, 5, &[1, 2, 0, 2, 3, 0, 3, 4, 0], &[0, 1, 2, 0, 2, 3, 0, 3, 4]),
    (Topology::LineListWithAdjacency, 9, &[1, 2, 5, 6], &[1, 2, 5, 6]),
    (Topology::LineStripWithAdjacency, 5, &[1, 2, 2, 3], &[1, 2, 2, 3]),
    (Topology::TriangleListWithAdjacency, 13, &[0, 2, 4, 6, 8, 10], &[0, 2, 4, 6, 8, 10]),
    (Topology::TriangleStripWithAdjacency, 10, &[0, 2, 4, 2, 6, 4, 4, 6, 8], &[0, 2, 4, 4, 2, 6, 4, 6, 8]),
];

#[test]
fn every_topology_is_captured_as_lists() {
    let sizes = [200, 100, 0, 150];
    let vertices: Vec<V> = (0..16).map(vertex).collect();
    for &(topology, count, first, last) in FIGURES {
        for (provoking_last, want) in [(false, first), (true, last)] {
            for later in [false, true] {
                let got = Buffers::new(sizes);
                let feedback = got.feedback([0; CAPTURE_BUFFERS]);
                let state = DrawState { provoking_last, ..state(topology, 1, 1) };
                let mut d = capturing(state, &vertices, &feedback);
                d.counts.count = count;
                run(1, later, None, vec![d]);
                assert!(got.0 == Buffers::holding(sizes, want).0, "{topology:?} {provoking_last} {later}");
                let n = want.len() as u32;
                assert_eq!(feedback.bytes(), [32 * n, 20 * n, 0, 24 * n], "{topology:?}");
                assert!(feedback.has_all_spans());
            }
        }
    }
}

/// Tests indices, restarts and instances in strips, several draws, and more chunks than a round has
/// bytes for. The words are the same for any number of threads, and if the space is known late.
#[test]
fn order_is_that_of_the_draws() {
    let count = 5000u32;
    let vertices: Vec<V> = (0..4096).map(vertex).collect();
    let indices: Vec<u16> =
        (0..count).map(|i| if i % 701 == 700 { 0xffff } else { (i.wrapping_mul(37) % 4096) as u16 }).collect();
    let mut want = Vec::new();
    for _instance in 0..3 {
        for piece in indices.split(|&i| i == 0xffff) {
            for i in 0..piece.len() - 2 {
                let [a, b, c] = if i % 2 == 0 { [i, i + 1, i + 2] } else { [i, i + 2, i + 1] };
                want.extend([a, b, c].map(|k| u32::from(piece[k])));
            }
        }
    }
    let strip = want.len();
    want.extend(0..4096);
    let sizes = [want.len() * 8 + 3, want.len() * 5, 0, want.len() * 6];
    let expected = Buffers::holding(sizes, &want);
    let draws = |feedback: &Arc<Feedback>, sinks: &QuerySinks| {
        let restart = DrawState { primitive_restart: true, ..state(Topology::TriangleStrip, 1, 1) };
        let mut a = indexed(capturing(restart, &vertices, feedback), &indices);
        a.counts.instances = 3;
        let b = capturing(state(Topology::PointList, 1, 1), &vertices, feedback);
        [a, b].map(|d| Draw { queries: sinks.clone(), ..d }).to_vec()
    };
    for (threads, later, bytes) in [
        (1, false, None),
        (2, false, None),
        (8, false, None),
        (1, true, None),
        (2, true, Some(4096)),
        (8, true, Some(100_000)),
    ] {
        let got = Buffers::new(sizes);
        let sinks = QuerySinks {
            feedback: [Some(Arc::new([AtomicU64::new(0), AtomicU64::new(0)])), None, None, None],
            generated: [Some(Arc::new(AtomicU64::new(0))), None, None, None],
            ..QuerySinks::default()
        };
        run(threads, later, bytes, draws(&got.feedback([0; CAPTURE_BUFFERS]), &sinks));
        assert!(got.0 == expected.0, "{threads} {later} {bytes:?}");
        let primitives = strip as u64 / 3 + 4096;
        let counts = sinks.feedback[0].as_ref().expect("given").each_ref().map(|n| n.load(Ordering::Relaxed));
        assert_eq!(counts, [primitives; 2]);
        assert_eq!(sinks.generated[0].as_ref().expect("given").load(Ordering::Relaxed), primitives);
    }
}

#[test]
fn primitives_that_do_not_fit_are_dropped_and_counted() {
    // 301 triangles fit buffer 1, which begins one word in; the others are large enough.
    let vertices: Vec<V> = (0..12000).map(vertex).collect();
    let sizes = [32 * 1000, 1 + 5 * 903 + 14, 0, 32 * 1000];
    let all: Vec<u32> = (0..903).collect();
    // (One thread has chunks of several batches, in one of which the buffer ends.)
    for (threads, later) in [(1, false), (2, false), (2, true)] {
        let got = Buffers::new(sizes);
        let written = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let feedback = got.feedback([0, 4, 0, 0]);
        let mut d = capturing(state(Topology::TriangleList, 1, 1), &vertices, &feedback);
        d.queries.feedback[0] = Some(written.clone());
        // A point would fit, but must not be written.
        let points = Draw {
            state: Arc::new(DrawState { rasterizer_discard: true, ..state(Topology::PointList, 1, 1) }),
            ..d.clone()
        };
        run(threads, later, None, vec![d, points]);
        let mut want = Buffers::holding(sizes, &all).0;
        want[1].rotate_right(1);
        assert!(got.0 == want, "{threads} {later}");
        assert_eq!(written.each_ref().map(|n| n.load(Ordering::Relaxed)), [301, 4000 + 12000]);
        assert_eq!(feedback.bytes(), [32 * 903, 4 + 20 * 903, 0, 24 * 903]);
    }
}

/// Tests captures that are large enough for non-temporal stores, of vertices without gaps, and from
/// a word on where such stores are not possible. The last chunk of lanes is not full.
#[test]
fn many_bytes_are_the_same_words() {
    let count = (16 << 20) / 32 + 5;
    let vertices: Vec<V> = (0..count).map(vertex).collect();
    let outputs = vec![Captured { buffer: 0, offset: 0, slot: 0, words: 8 }];
    let capture = Arc::new(Capture { strides: [32, 0, 0, 0], outputs, ..Capture::default() });
    let words = |v: &V| [v.position, v.color].concat().into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let want: Vec<u32> = vertices.iter().flat_map(words).collect();
    for (threads, first) in [(1, 0), (2, 0), (2, 1)] {
        let got = Buffers::new([want.len() + 5, 0, 0, 0]);
        let mut stage = vertex_stage();
        stage.info.capture = Some(capture.clone());
        let state = DrawState { rasterizer_discard: true, ..state(Topology::PointList, 1, 1) };
        let mut d = draw_of(stages(stage, None), state, &vertices);
        d.feedback = Some(got.feedback([4 * first as u32, 0, 0, 0]));
        run(threads, false, None, vec![d]);
        assert!(got.0[0][first..][..want.len()] == want, "{threads} {first}");
        let untouched = |words: &[u32]| words.iter().all(|&word| word == UNTOUCHED);
        assert!(untouched(&got.0[0][..first]) && untouched(&got.0[0][first + want.len()..]));
    }
}

/// Tests that captured primitives are drawn too.
#[test]
fn captured_primitives_are_rasterized() {
    let vertices = [v(-1.0, -1.0, 0.5, [0.25; 4]), v(3.0, -1.0, 0.5, [0.25; 4]), v(-1.0, 3.0, 0.5, [0.25; 4])];
    for later in [false, true] {
        let got = Buffers::new([24, 0, 0, 0]);
        let image = Image::new(R32F, 16, 16, 1, 1);
        let mut stage = vertex_stage();
        stage.info.capture = Some(Arc::new(capture()));
        let fragment = fragment_stage(fs_color, &[], FragmentInfo::default());
        let mut d = draw_of(stages(stage, Some(fragment)), state(Topology::TriangleList, 16, 16), &vertices);
        d.feedback = Some(got.feedback([0; CAPTURE_BUFFERS]));
        let engine = Engine::new(2);
        let mut pass = engine.begin_rendering(targets(&image, None));
        pass.captures_after_shading = later;
        pass.draw(d);
        pass.end();
        assert_eq!((image.color::<f32>(0, 0), image.color::<f32>(15, 15)), (0.25, 0.25));
        let of = |i: usize| got.0[0][8 * i..][..7].iter().map(|&w| f32::from_bits(w)).collect::<Vec<_>>();
        assert_eq!(of(1)[..2], [-1.0, 0.5]);
        assert_eq!(of(2)[3..], [0.25; 4]);
        assert_eq!(got.0[0][8 + 2], UNTOUCHED);
    }
}
