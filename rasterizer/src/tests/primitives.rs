//! Tests of stages that make primitives of others: strips, streams, numbers.

use super::*;
use base::limits::STREAMS;
use std::sync::atomic::{AtomicU64, Ordering};

const LANES: usize = 4;
/// Number of slots of a made vertex: position, colour, PrimitiveId and the mark.
const SLOTS: usize = 10;
const BEGINS: u32 = VertexMark::BEGINS;

/// Runs a stage of points: `f` returns position and mark of vertex `k` of an invocation whose point
/// is at (x, y).
///
/// # Safety
/// `batch` is a `PrimitiveBatch` of such a stage after [`vertex_stage`].
unsafe fn make(batch: *mut BatchHeader, count: usize, f: impl Fn([f32; 2], u32, usize) -> ([f32; 2], u32)) {
    // SAFETY: `batch` is a `PrimitiveBatch` (`# Safety`), whose arrays are padded to whole chunks.
    unsafe {
        let b = &mut *batch.cast::<PrimitiveBatch>();
        let layout = SlotLayout::new(SLOTS, LANES as u32);
        for lane in 0..(b.count as usize).next_multiple_of(LANES) {
            if lane % LANES == 0 {
                *b.first_rows.add(lane / LANES) = b.rows;
                b.rows += count as u32;
            }
            let word = |slot: usize| {
                let source = *b.sources.add(slot);
                assert_eq!(source.mask, if slot == 2 { 0 } else { u32::MAX });
                let offset = *b.vertices.add(lane) + source.offset;
                *b.inputs.byte_add(offset as usize)
            };
            let at = [word(0), word(1)].map(f32::from_bits);
            let first = *b.first_rows.add(lane / LANES) as usize;
            *b.counts.add(lane) = count as u32;
            for k in 0..count {
                let ([x, y], mark) = f(at, *b.invocation_id.add(lane), k);
                let item = layout.item((first + k) * LANES + lane % LANES);
                let words = [x, y, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0].map(f32::to_bits);
                let all = words.into_iter().chain([1000 + *b.primitive_id.add(lane), mark]);
                for (slot, word) in all.enumerate() {
                    *b.outputs.add(item + layout.slot(slot)) = word;
                }
            }
        }
    }
}

/// Makes two consecutive lines, of one strip or of two.
#[base::code_fn]
unsafe extern "code" fn corners(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the rasterizer calls the stage with a `PrimitiveBatch`.
    unsafe { make(batch, 3, |[x, y], _, k| ([x + 0.1 * k as f32, y + if k == 2 { 0.05 } else { 0.0 }], 0)) };
}

/// Makes a triangle of stream 0, among whose vertices there are some of other streams; then one
/// that is cut off.
#[base::code_fn]
unsafe extern "code" fn streams(_: *const ShaderContext, batch: *mut BatchHeader) {
    const MARKS: [u32; 10] = [0, 1, 0, 1, 1, 0, 3, BEGINS, 1 | BEGINS, 0];
    // SAFETY: the rasterizer calls the stage with a `PrimitiveBatch`.
    unsafe {
        make(batch, MARKS.len(), |_, invocation, k| {
            let rasterized = |mark: u32| VertexMark(mark).stream() == 0;
            let of = MARKS[..k].iter().filter(|&&mark| rasterized(mark)).count();
            let corner = [[-1.0, -1.0], [3.0, -1.0], [-1.0, 3.0], [-1.0, -1.0], [3.0, 3.0]][of];
            // The position of a vertex of another stream has no effect.
            (if invocation == 0 && rasterized(MARKS[k]) { corner } else { [0.0, 0.0] }, MARKS[k])
        });
    };
}

fn geometry_stage(entry: StageFn, info: GeometryInfo) -> CompiledStage {
    let kinds = [SlotKind::Builtin(BuiltinSlot::Position(0)), SlotKind::Builtin(BuiltinSlot::Position(1)), user(7, 0)];
    let inputs = kinds.map(|kind| slot(kind, Interpolation::Smooth)).into();
    let kind = |i: usize| match i {
        0..4 => SlotKind::Builtin(BuiltinSlot::Position(i as u8)),
        4..8 => user(0, (i - 4) as u8),
        8 => SlotKind::Builtin(BuiltinSlot::PrimitiveId),
        _ => SlotKind::Builtin(BuiltinSlot::VertexMark),
    };
    let outputs = (0..SLOTS).map(|i| slot(kind(i), Interpolation::Smooth)).collect();
    stage(
        StageSpecificInfo::Geometry(info),
        entry,
        LANES as u32,
        StageInterface { inputs, outputs, placements: Vec::new() },
    )
}

fn info(output: OutputPrimitive, max_vertices: u32, invocations: u32) -> GeometryInfo {
    GeometryInfo { input: InputPrimitive::Points, output, max_vertices, invocations }
}

/// Makes a draw of points through a stage.
fn made(entry: StageFn, info: GeometryInfo, mut state: DrawState, points: &[V]) -> Draw {
    state.topology = Topology::PointList;
    let all = [vertex_stage(), geometry_stage(entry, info), fragment_stage(fs_color, &[], FragmentInfo::default())];
    let stages = Arc::new(GraphicsStages::new(all).expect("a pipeline"));
    Draw { stages, ..draw(state, points) }
}

#[test]
fn a_geometry_stage_stands_between_vertices_and_setup() {
    let info = info(OutputPrimitive::LineStrip, 5, 3);
    let fragment = fragment_stage(fs_color, &[], FragmentInfo::default());
    let stages = GraphicsStages::new([fragment, geometry_stage(corners, info), vertex_stage()]).expect("a pipeline");
    let names: Vec<Stage> = stages.iter().map(|s| s.info.stage()).collect();
    assert_eq!(names, [Stage::Vertex, Stage::Geometry, Stage::Fragment]);
    assert_eq!(stages.before_rasterizer().info.stage(), Stage::Geometry);
    assert_eq!(stages.topology(Topology::TriangleList), Topology::LineStrip);
    assert_eq!(stages.max_primitives_per_input(), 12);
    assert_eq!(stages.geometry().map(|(_, info)| *info), Some(info));
}

#[test]
fn chunks_are_sized_by_the_measured_amplification() {
    let plain = GraphicsStages::new([vertex_stage()]).expect("a pipeline");
    plain.record_amplification(1, 100);
    assert_eq!(plain.estimate_primitives(7), 7, "nothing makes primitives of others");
    let info = info(OutputPrimitive::LineStrip, 5, 3);
    let stages = GraphicsStages::new([vertex_stage(), geometry_stage(corners, info)]).expect("a pipeline");
    assert_eq!(stages.estimate_primitives(10), 120, "the most, at first");
    stages.record_amplification(100, 5000);
    assert_eq!(stages.estimate_primitives(10), 500, "more at once");
    stages.record_amplification(100, 100);
    let less = stages.estimate_primitives(100);
    assert!((3000..4500).contains(&less), "{less}");
    (0..50).for_each(|_| stages.record_amplification(100, 25));
    assert_eq!((stages.estimate_primitives(100), stages.estimate_primitives(1)), (25, 0));
    stages.record_amplification(0, u32::MAX);
    assert_eq!(stages.estimate_primitives(u32::MAX), u32::MAX);
}

/// Tests that strips never continue from one invocation to the next, whatever batches, calls and
/// chunks there are: they are stippled as strips between restarts.
#[test]
fn line_strips_are_stippled_each_from_its_start() {
    let start = |i: u32| v((i % 64) as f32 / 32.0 - 1.0, (i / 64) as f32 / 8.0 - 0.95, 0.5, WHITE);
    let points: Vec<V> = (0..900).map(start).collect();
    let mut state = state(Topology::LineStrip, 64, 64);
    state.line_stipple = Some(Stipple { factor: 1, pattern: 0b0011_0111_0001_0110 });
    state.pixel.blend[0] = ADDITIVE;
    let picture = |threads: usize, draw: Draw| {
        let image = Image::new(R32F, 64, 64, 1, 1);
        render(threads, targets(&image, None), [draw]);
        image.bytes()
    };
    let strip = |i: u32| {
        let [x, y] = [0, 1].map(|c| points[i as usize].position[c]);
        (0..3).map(move |k| v(x + 0.1 * k as f32, y + if k == 2 { 0.05 } else { 0.0 }, 0.5, WHITE))
    };
    let vertices: Vec<V> = (0..900).flat_map(strip).collect();
    let indices: Vec<u16> = (0..900u16).flat_map(|i| [3 * i, 3 * i + 1, 3 * i + 2, u16::MAX]).collect();
    let restarting = DrawState { primitive_restart: true, ..state.clone() };
    let want = picture(1, indexed(draw(restarting, &vertices), &indices));
    assert!(want.iter().any(|&byte| byte != 0));
    for threads in [1, 2, 3] {
        let draw = made(corners, info(OutputPrimitive::LineStrip, 3, 1), state.clone(), &points);
        assert!(picture(threads, draw) == want, "{threads} threads");
    }
}

#[test]
fn one_stream_is_rasterized_and_all_are_counted() {
    for (stream, discard, seen, clipped) in
        [(0, false, 37.0, 74), (1, false, 0.0, 74), (3, false, 0.0, 0), (0, true, 0.0, 0)]
    {
        let image = Image::new(R32F, 64, 64, 1, 1);
        let mut state = state(Topology::PointList, 64, 64);
        state.pixel.blend[0] = ADDITIVE;
        (state.rasterization_stream, state.rasterizer_discard) = (stream, discard);
        let points = vec![v(0.0, 0.0, 0.5, WHITE); 37];
        let mut draw = made(streams, info(OutputPrimitive::TriangleStrip, 10, 2), state, &points);
        let counters: Arc<Statistics> = Arc::new(core::array::from_fn(|_| AtomicU64::new(0)));
        draw.queries.statistics = vec![counters.clone()];
        let generated: [Option<Arc<AtomicU64>>; STREAMS] = core::array::from_fn(|_| Some(Arc::default()));
        draw.queries.generated = generated.clone();
        render(2, targets(&image, None), [draw]);
        assert!((0..64 * 64).all(|i| image.color::<f32>(i % 64, i / 64) == seen), "{stream} {discard}");
        let count = |bit: usize| counters[bit].load(Ordering::Relaxed);
        assert_eq!(count(statistic::GEOMETRY_INVOCATIONS), 74);
        // Each invocation makes one primitive of stream 0, and one of stream 1, whose second strip
        // is too short.
        assert_eq!(count(statistic::GEOMETRY_PRIMITIVES), 2 * 74);
        assert_eq!(count(statistic::CLIPPING_INVOCATIONS), clipped, "{stream} {discard}");
        assert_eq!(generated.map(|n| n.map(|n| n.load(Ordering::Relaxed))), [74, 74, 0, 0].map(Some));
    }
}
