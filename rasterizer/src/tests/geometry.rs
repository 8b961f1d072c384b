//! Topologies, restart, vertex fetch, clip distances, layers, viewports, interpolation.

use super::*;
use base::partial_range::PartialRange;

fn at(x: f32, y: f32) -> V {
    v(x / 32.0 - 1.0, y / 32.0 - 1.0, 0.5, WHITE)
}

fn additive(topology: Topology) -> DrawState {
    let mut s = state(topology, 64, 64);
    s.pixel.blend[0] = ADDITIVE;
    s
}

fn image() -> Image {
    Image::new(R32F, 64, 64, 1, 1)
}

/// Returns a column of quads as strip vertices: x alternates, y grows.
fn strip(n: usize) -> Vec<V> {
    (0..n).map(|i| at(if i % 2 == 0 { 8.0 } else { 24.0 }, 8.0 + 4.0 * (i / 2) as f32)).collect()
}

#[test]
fn strips_and_fans_equal_their_lists() {
    let vertices = strip(12);
    let culled = |topology| {
        let mut s = additive(topology);
        // All triangles of a strip have the same orientation: (8,8) (24,8) (8,12) is clockwise on
        // the screen.
        s.cull_mode = 2;
        s.front_clockwise = true;
        s
    };
    let a = image();
    render(1, targets(&a, None), [draw(culled(Topology::TriangleStrip), &vertices)]);
    for (y, x) in (0..64u32).flat_map(|y| (0..64u32).map(move |x| (y, x))) {
        let hit = (8..24).contains(&x) && (8..28).contains(&y);
        assert_eq!(a.color::<f32>(x, y), f32::from(u8::from(hit)), "{x} {y}");
    }
    let fan = [at(4.0, 4.0), at(60.0, 4.0), at(60.0, 60.0), at(4.0, 60.0)];
    let b = image();
    render(1, targets(&b, None), [draw(culled(Topology::TriangleFan), &fan)]);
    assert_eq!((b.color::<f32>(4, 4), b.color::<f32>(59, 59), b.color::<f32>(60, 59)), (1.0, 1.0, 0.0));
    // With adjacency, only every other vertex is drawn.
    let doubled: Vec<V> = vertices.iter().flat_map(|&v| [v, at(60.0, 60.0)]).collect();
    let c = image();
    render(1, targets(&c, None), [draw(culled(Topology::TriangleStripWithAdjacency), &doubled)]);
    assert_eq!(a.bytes(), c.bytes());
}

#[test]
fn restart_cuts_strips_and_keeps_parity() {
    let vertices = strip(8);
    let indices = [0u16, 1, 2, 3, 0xffff, 4, 5, 6, 7, 0xffff, 0xffff, 1];
    let a = image();
    let mut s = additive(Topology::TriangleStrip);
    s.primitive_restart = true;
    s.cull_mode = 2;
    s.front_clockwise = true;
    render(1, targets(&a, None), [indexed(draw(s.clone(), &vertices), &indices)]);
    for y in 0..32 {
        let hit = (8..12).contains(&y) || (16..20).contains(&y);
        assert_eq!(a.color::<f32>(15, y), f32::from(u8::from(hit)), "row {y}");
    }
    // Another index restarts primitives; indices after the buffer read as 0.
    let with = |indices: &[u16], restart: Option<u32>, count: u32| {
        let image = image();
        let mut d = indexed(draw(s.clone(), &vertices), indices);
        d.index_buffer.iter_mut().for_each(|buffer| buffer.restart = restart);
        d.counts.count = count;
        render(1, targets(&image, None), [d]);
        image.bytes()
    };
    let renamed = indices.map(|i| if i == 0xffff { 9 } else { i });
    assert_eq!(with(&renamed, Some(9), 12), a.bytes());
    assert_ne!(with(&indices, Some(9), 12), a.bytes());
    assert_eq!(with(&[4, 5, 6, 7], Some(0), 4000), with(&[4, 5, 6, 7], None, 4));
    assert_eq!(with(&[4, 5, 6, 7], Some(0x1_0000), 4), with(&[4, 5, 6, 7], None, 4));
}

#[test]
fn reads_beyond_a_vertex_buffer_give_zero() {
    let vertices = [at(0.0, 0.0), at(64.0, 0.0), at(0.0, 64.0)];
    let a = image();
    let mut d = draw(additive(Topology::TriangleList), &vertices);
    // Vertex 2 lies beyond the buffer: its position is (0, 0, 0, 0), and nothing is drawn. Reads of
    // indices beyond the buffer give index 0.
    d.vertex_buffers[0] = MemoryRange { size: range_of(&vertices).size - 40, ..range_of(&vertices) }.into();
    render(1, targets(&a, None), [d]);
    assert!(a.bytes().iter().all(|&b| b == 0));
    let mut d = indexed(draw(additive(Topology::TriangleList), &vertices), &[0, 1, 2, 0, 1, 2]);
    if let Some(indices) = &mut d.index_buffer {
        indices.range.size = 6;
    }
    render(1, targets(&a, None), [d]);
    assert_eq!(a.color::<f32>(5, 5), 1.0);
}

/// A buffer's address can lie before its memory: elements with memory are drawn, in whole chunks
/// and one by one, with and without indices.
#[test]
fn buffers_begin_before_their_memory() {
    let vertices = [at(0.0, 0.0), at(64.0, 0.0), at(0.0, 64.0)];
    let missing = 5 * size_of_val(&vertices[0]) as u64;
    let memory = range_of(&vertices);
    let (address, end) = (memory.address as u64 - missing, missing + memory.size);
    // The parts are the memory alone, with other memory and a gap before it, and cut at its end.
    let (whole, cut) = ([0..16, missing..end], [0..16, missing..end - 40]);
    for (parts, drawn) in [(&whole[1..], true), (&whole[..], true), (&cut[1..], false)] {
        let a = image();
        let mut d = draw(additive(Topology::TriangleList), &vertices);
        d.vertex_buffers[0] = PartialRange::new(address, parts);
        d.counts.first = 5;
        render(1, targets(&a, None), [d]);
        assert_eq!(a.color::<f32>(5, 5), f32::from(u8::from(drawn)), "{parts:?}");
    }
    // Index 0 of the memory is index 7 of the buffer; those before it read as 0.
    let indices = [5u16, 6, 7];
    let a = image();
    let mut d = indexed(draw(additive(Topology::TriangleList), &vertices), &indices);
    d.vertex_buffers[0] = PartialRange::new(address, &whole[1..]);
    d.counts.first = 4;
    d.counts.count = 6;
    d.index_buffer.iter_mut().for_each(|buffer| buffer.before = 14);
    render(1, targets(&a, None), [d]);
    assert_eq!(a.color::<f32>(5, 5), 1.0);
}

#[test]
fn instances_step_their_attributes() {
    let vertices = [at(0.0, 0.0), at(64.0, 0.0), at(0.0, 64.0)];
    let colors: Vec<[u8; 4]> = (0..8).map(|i| [i * 10, 0, 0, 255]).collect();
    for (divisor, first, want) in [(1, 2, 20 + 30 + 40), (2, 2, 20 + 20 + 30), (0, 3, 90)] {
        let a = Image::new(RGBA8, 64, 64, 1, 1);
        let mut s = additive(Topology::TriangleList);
        s.bindings.push(VertexBinding { binding: 3, stride: 4, per_instance: true, divisor });
        let format = Format::from_vk(RGBA8).expect("format");
        s.attributes[1] = VertexAttribute { location: 1, binding: 3, format, offset: 0 };
        let mut d = draw(s, &vertices);
        d.vertex_buffers.resize(4, PartialRange::NULL);
        d.vertex_buffers[3] = MemoryRange { size: 32, ..range_of(&colors) }.into();
        d.counts.instances = 3;
        d.counts.first_instance = first;
        render(1, targets(&a, None), [d]);
        assert_eq!(a.color::<[u8; 4]>(3, 3)[0], want, "divisor {divisor}");
    }
}

#[test]
fn clip_distance_cuts_along_its_zero() {
    let a = image();
    let mut quad = [at(0.0, 0.0), at(64.0, 0.0), at(0.0, 64.0), at(64.0, 64.0)];
    // The distance is zero at x = 20.
    for vertex in &mut quad {
        vertex.extra[3] = (vertex.position[0] + 1.0) * 32.0 - 20.0;
    }
    render(1, targets(&a, None), [draw(additive(Topology::TriangleStrip), &quad)]);
    for (y, x) in (0..64u32).flat_map(|y| (0..64u32).map(move |x| (y, x))) {
        assert_eq!(a.color::<f32>(x, y), f32::from(u8::from(x >= 20)), "{x} {y}");
    }
}

#[test]
fn layers_and_viewports_come_from_the_vertex_stage() {
    let a = Image::new(R32F, 64, 64, 1, 3);
    let mut s = additive(Topology::TriangleList);
    s.viewports.push(Viewport { x: 32.0, y: 64.0, width: 32.0, height: -32.0, min_depth: 0.0, max_depth: 1.0 });
    s.scissors.push([32, 0, 30, 64]);
    let tagged = |layer: u32, viewport: u32| {
        [at(0.0, 0.0), at(64.0, 0.0), at(0.0, 64.0)]
            .map(|v| V { extra: [1.0, f32::from_bits(layer), f32::from_bits(viewport), 1.0], ..v })
    };
    // Layer 3 and viewport 2 do not exist.
    let vertices: Vec<V> = [(0, 0), (2, 1), (3, 0), (1, 2)].into_iter().flat_map(|(l, v)| tagged(l, v)).collect();
    render(2, targets(&a, None), [draw(s, &vertices)]);
    let get = |x, y, layer| a.texel::<f32>(Aspect::Color, x, y, 0, layer);
    assert_eq!((get(1, 1, 0), get(62, 62, 0), get(1, 1, 2)), (1.0, 0.0, 0.0));
    // The triangle is flipped in the lower right quarter, and cut by its scissor at x = 62.
    assert_eq!(
        (get(33, 62, 2), get(33, 31, 2), get(61, 63, 2), get(62, 63, 2), get(40, 35, 2)),
        (1.0, 0.0, 1.0, 0.0, 0.0)
    );
    assert!((0..64).all(|x| get(x, 20, 1) == 0.0));
    // A target without further layers takes all primitives.
    let flat = Image::new(R32F, 64, 64, 1, 1);
    let s = additive(Topology::TriangleList);
    render(2, targets(&flat, None), [draw(s, &tagged(3, 0))]);
    assert_eq!(flat.color::<f32>(1, 1), 1.0);
}

#[test]
fn interpolation_is_perspective_correct() {
    let (w, h) = (64, 64);
    let a = Image::new(RGBA32F, w, h, 1, 1);
    let corner = |x: f32, y: f32, w: f32, c: f32| V {
        position: [x * w, y * w, 0.5 * w, w],
        color: [c, 1.0, 0.0, 1.0],
        extra: [1.0, 0.0, 0.0, 1.0],
    };
    let vertices = [corner(-1.0, -1.0, 1.0, 0.0), corner(1.0, -1.0, 4.0, 1.0), corner(-1.0, 1.0, 1.0, 0.0)];
    let mut s = state(Topology::TriangleList, w, h);
    // The second iteration clips an edge, which must not move any pixel.
    for far in [1.0, 30.0] {
        s.viewports[0].width = w as f32;
        let mut vertices = vertices;
        vertices[2].extra[3] = -far + 1.0;
        render(1, targets(&a, None), [draw(s.clone(), &vertices)]);
        for (y, x) in (0..20u32).flat_map(|y| (0..20u32).map(move |x| (y, x))) {
            let l1 = (f64::from(x) + 0.5) / 64.0;
            let want = l1 * 0.25 / ((1.0 - l1) + l1 * 0.25);
            let got: [f32; 4] = a.color(x, y);
            assert!((f64::from(got[0]) - want).abs() < 1e-5 && got[1] == 1.0, "{x} {y}: {got:?} {want}");
        }
    }
}

/// Calls `f` with states of all topology classes and polygon modes, with and without depth
/// clipping.
fn all_kinds(mut f: impl FnMut(DrawState)) {
    for topology in [Topology::TriangleList, Topology::LineList, Topology::PointList] {
        for mode in [PolygonMode::Fill, PolygonMode::Line, PolygonMode::Point] {
            for depth_clip in [false, true] {
                let depth_bias = Some(DepthBias { constant: 1.0, slope: 1.0, ..DepthBias::default() });
                f(DrawState { polygon_mode: mode, depth_clip, depth_bias, ..additive(topology) });
            }
        }
    }
}

#[test]
fn primitives_without_a_position_draw_nothing() {
    let a = image();
    let mut rng = Rng(6);
    // Every second vertex has a coordinate that is NaN, and so one vertex of each primitive; for
    // points all vertices have one.
    let mut vertices = |all: bool| -> Vec<V> {
        let vertex = |i: usize, rng: &mut Rng| {
            let mut vertex = at(rng.below(64) as f32, rng.below(64) as f32);
            if all || i.is_multiple_of(2) {
                vertex.position[rng.below(4) as usize] = f32::NAN;
            }
            vertex
        };
        (0..600).map(|i| vertex(i, &mut rng)).collect()
    };
    let (some, every) = (vertices(false), vertices(true));
    all_kinds(|s| {
        let vertices = if s.topology == Topology::PointList { &every } else { &some };
        let kind = (s.topology, s.polygon_mode, s.depth_clip);
        render(1, targets(&a, None), [draw(s, vertices)]);
        assert!(a.bytes().iter().all(|&b| b == 0), "{kind:?}");
    });
}

#[test]
fn infinite_positions_do_no_harm() {
    let mut rng = Rng(5);
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e38, -1e38, 1e-40, 1.0];
    let vertices: Vec<V> = (0..3000)
        .map(|_| V {
            position: [0; 4].map(|_| odd[rng.below(9) as usize]),
            color: WHITE,
            extra: [odd[rng.below(9) as usize], 0.0, 0.0, odd[rng.below(9) as usize]],
        })
        .collect();
    let triangle = [at(0.0, 0.0), at(64.0, 0.0), at(0.0, 64.0)];
    all_kinds(|s| {
        let (a, b) = (image(), image());
        let kind = (s.topology, s.polygon_mode, s.depth_clip);
        let sound = || draw(additive(Topology::TriangleList), &triangle);
        // The image is the same for any number of threads, and later draws are not affected.
        render(1, targets(&a, None), [draw(s.clone(), &vertices)]);
        let before: Vec<f32> = (0..64 * 64).map(|i| a.color(i % 64, i / 64)).collect();
        render(3, targets(&b, None), [draw(s, &vertices), sound()]);
        for (i, before) in (0..).zip(before) {
            let (x, y) = (i % 64, i / 64);
            let drawn = f32::from(u8::from(x + y < 63));
            let got: f32 = b.color(x, y);
            let on_the_edge = x + y == 63;
            // Values that are interpolated between infinite positions may be NaN, for any number of
            // threads.
            let same = got == before + drawn || got.is_nan() && before.is_nan();
            assert!(on_the_edge || same, "{kind:?} {x} {y}: {got} {before}");
        }
    });
}
