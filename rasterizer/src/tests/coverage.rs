//! Tests of coverage against a naive rasterizer, of watertightness, and of lines and points.

use super::*;

/// Returns the snapped screen position of a vertex with w = 1.
pub fn snap(v: &V, w: u32, h: u32) -> [i64; 2] {
    let at = |c: f32, n: u32| {
        let half = n as f32 * 0.5;
        (f64::from(c * half + half) * 256.0).round_ties_even() as i64
    };
    [at(v.position[0], w), at(v.position[1], h)]
}

/// Returns true if a point (in 1/256 pixels) is inside a triangle, by the top-left rule.
pub fn inside(t: [[i64; 2]; 3], p: [i64; 2]) -> bool {
    let cross = |a: [i64; 2], b: [i64; 2], c: [i64; 2]| (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]);
    let area = cross(t[0], t[1], t[2]);
    let t = if area < 0 { [t[0], t[2], t[1]] } else { t };
    area != 0
        && (0..3).all(|i| {
            let (a, b) = (t[i], t[(i + 1) % 3]);
            let e = cross(a, b, p);
            let top_left = b[1] < a[1] || (a[1] == b[1] && b[0] > a[0]);
            e > 0 || (e == 0 && top_left)
        })
}

/// Returns the standard sample locations, in 1/256 pixels, written as the specification has them.
pub fn positions(samples: u32) -> Vec<[i64; 2]> {
    let list: &[[f64; 2]] = match samples {
        1 => &[[0.5, 0.5]],
        2 => &[[0.75, 0.75], [0.25, 0.25]],
        4 => &[[0.375, 0.125], [0.875, 0.375], [0.125, 0.625], [0.625, 0.875]],
        8 => &[
            [0.5625, 0.3125],
            [0.4375, 0.6875],
            [0.8125, 0.5625],
            [0.3125, 0.1875],
            [0.1875, 0.8125],
            [0.0625, 0.4375],
            [0.6875, 0.9375],
            [0.9375, 0.0625],
        ],
        _ => &[
            [0.5625, 0.5625],
            [0.4375, 0.3125],
            [0.3125, 0.625],
            [0.75, 0.4375],
            [0.1875, 0.375],
            [0.625, 0.8125],
            [0.8125, 0.6875],
            [0.6875, 0.1875],
            [0.375, 0.875],
            [0.5, 0.0625],
            [0.25, 0.125],
            [0.125, 0.75],
            [0.0, 0.5],
            [0.9375, 0.25],
            [0.875, 0.9375],
            [0.0625, 0.0],
        ],
    };
    list.iter().map(|p| p.map(|c| (c * 256.0) as i64)).collect()
}

fn random_triangles(rng: &mut Rng, n: usize) -> Vec<V> {
    let mut out = Vec::new();
    for _ in 0..n {
        let scale = [0.02, 0.2, 1.0, 3.0][rng.below(4) as usize];
        let (cx, cy) = (rng.unit(), rng.unit());
        for _ in 0..3 {
            // A coarse grid makes vertices and edges coincide with sample positions.
            let grid = |c: f32| (c * 64.0).round() / 64.0;
            let (x, y) = (cx + rng.unit() * scale, cy + rng.unit() * scale);
            let (x, y) = if rng.below(2) == 0 { (grid(x), grid(y)) } else { (x, y) };
            out.push(v(x, y, 0.5, WHITE));
        }
    }
    out
}

/// Compares the sums of additively drawn triangles in all samples of a picture with a naive
/// rasterizer.
fn compare(image: &Image, [w, h]: [u32; 2], samples: u32, vertices: &[V]) {
    let triangles: Vec<_> = vertices.chunks(3).map(|t| [0, 1, 2].map(|i| snap(&t[i], w, h))).collect();
    let positions = positions(samples);
    for y in 0..h {
        for x in 0..w {
            for sample in 0..samples {
                let [sx, sy] = positions[sample as usize];
                let p = [i64::from(x) * 256 + sx, i64::from(y) * 256 + sy];
                let want = triangles.iter().filter(|&&t| inside(t, p)).count();
                let got: f32 = image.texel(Aspect::Color, x, y, sample, 0);
                assert_eq!(got, want as f32, "pixel {x} {y} sample {sample} of {samples}");
            }
        }
    }
}

#[test]
fn triangles_match_a_naive_rasterizer() {
    let (w, h) = (150, 133);
    let mut rng = Rng(7);
    for samples in [1, 4, 2, 8, 16] {
        let vertices = random_triangles(&mut rng, 300);
        let image = Image::new(R32F, w, h, samples, 1);
        let mut s = state(Topology::TriangleList, w, h);
        s.pixel.blend[0] = ADDITIVE;
        render(2, targets(&image, None), [draw(s, &vertices)]);
        compare(&image, [w, h], samples, &vertices);
    }
}

/// Tests small triangles, whose coverage the front end computes; the engine has drawn others
/// before, with other sample counts.
#[test]
fn small_triangles_match_a_naive_rasterizer() {
    let (w, h) = (40, 33);
    let mut rng = Rng(8);
    let engine = Engine::new(1);
    for samples in [1, 4, 1, 4, 2, 8, 16] {
        let mut vertices = Vec::new();
        for _ in 0..300 {
            let (x, y) = (rng.unit() * 1.1, rng.unit() * 1.1);
            for _ in 0..3 {
                vertices.push(v(x + rng.unit() * 0.07, y + rng.unit() * 0.07, 0.5, WHITE));
            }
        }
        let image = Image::new(R32F, w, h, samples, 1);
        let mut s = state(Topology::TriangleList, w, h);
        s.pixel.blend[0] = ADDITIVE;
        let mut pass = engine.begin_rendering(targets(&image, None));
        pass.draw(draw(s, &vertices));
        pass.end();
        compare(&image, [w, h], samples, &vertices);
    }
}

/// Tests that a mesh over more than the viewport, with random w and vertices behind the eye, covers
/// each pixel once.
#[test]
fn shared_edges_neither_overlap_nor_gap() {
    let (w, h) = (200, 170);
    let mut rng = Rng(99);
    for round in 0..6 {
        let n = 9;
        let mut grid = Vec::new();
        for j in 0..=n {
            for i in 0..=n {
                let edge = i == 0 || j == 0 || i == n || j == n;
                let at = |k: i32| k as f32 / n as f32 * 2.0 - 1.0;
                let jitter = if edge { 0.0 } else { 0.09 };
                let reach = [1.0, 4.0, 200.0, 1e4][round % 4];
                let (x, y) = (at(i) * reach + rng.unit() * jitter, at(j) * reach + rng.unit() * jitter);
                let w = 1.0 + 0.5 * rng.unit();
                grid.push(V { position: [x * w, y * w, 0.5 * w, w], color: WHITE, extra: [1.0, 0.0, 0.0, 1.0] });
            }
        }
        let mut indices: Vec<u16> = Vec::new();
        for j in 0..n as u16 {
            for i in 0..n as u16 {
                let a = j * (n as u16 + 1) + i;
                let b = a + n as u16 + 1;
                if rng.below(2) == 0 {
                    indices.extend([a, a + 1, b, b, a + 1, b + 1]);
                } else {
                    indices.extend([a, a + 1, b + 1, b + 1, b, a]);
                }
            }
        }
        for samples in [1, 2, 4, 8, 16] {
            let image = Image::new(R32F, w, h, samples, 1);
            let mut s = state(Topology::TriangleList, w, h);
            s.pixel.blend[0] = ADDITIVE;
            render(1, targets(&image, None), [indexed(draw(s, &grid), &indices)]);
            for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
                for sample in 0..samples {
                    let got: f32 = image.texel(Aspect::Color, x, y, sample, 0);
                    assert_eq!(got, 1.0, "round {round} pixel {x} {y} sample {sample}");
                }
            }
        }
    }
}

#[test]
fn a_floor_through_the_near_plane_stays_watertight() {
    let (w, h) = (128, 128);
    // The plane lies below the eye and extends from behind it to far away, as perspective projects
    // it: w = z.
    let n = 16;
    let mut grid = Vec::new();
    for j in 0..=n {
        for i in 0..=n {
            let (x, z) = (i as f32 * 4.0 - 32.0, j as f32 * 2.0 - 8.0);
            grid.push(V { position: [x, 1.0, z - 0.1, z], color: WHITE, extra: [1.0, 0.0, 0.0, 1.0] });
        }
    }
    let mut indices: Vec<u16> = Vec::new();
    for j in 0..n as u16 {
        for i in 0..n as u16 {
            let a = j * (n as u16 + 1) + i;
            let b = a + n as u16 + 1;
            indices.extend([a, a + 1, b, b, a + 1, b + 1]);
        }
    }
    let image = Image::new(R32F, w, h, 1, 1);
    let mut s = state(Topology::TriangleList, w, h);
    s.pixel.blend[0] = ADDITIVE;
    render(2, targets(&image, None), [indexed(draw(s, &grid), &indices)]);
    let mut covered = 0;
    for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
        let got: f32 = image.color(x, y);
        // The plane is visible from y = 1/24 (its far end) to the bottom; z = 1/y.
        let ndc = (y as f32 + 0.5) / 64.0 - 1.0;
        if ndc > 1.0 / 24.0 + 0.02 {
            assert_eq!(got, 1.0, "pixel {x} {y}");
        } else if ndc < 1.0 / 24.0 - 0.02 {
            assert_eq!(got, 0.0, "pixel {x} {y}");
        }
        covered += u32::from(got == 1.0);
    }
    assert!(covered > 128 * 55);
}

#[test]
fn points_cover_their_squares() {
    let image = Image::new(R32F, 64, 64, 1, 1);
    let mut s = state(Topology::PointList, 64, 64);
    s.pixel.blend[0] = ADDITIVE;
    let at =
        |x: f32, y: f32, size: f32| V { extra: [size, 0.0, 0.0, 1.0], ..v(x / 32.0 - 1.0, y / 32.0 - 1.0, 0.5, WHITE) };
    // The last point's centre lies outside the view volume, so it draws nothing.
    let points = [at(10.5, 10.5, 1.0), at(30.0, 20.0, 4.0), at(63.5, 40.0, 8.0), at(64.5, 60.0, 16.0)];
    render(1, targets(&image, None), [draw(s, &points)]);
    for (y, x) in (0..64).flat_map(|y| (0..64u32).map(move |x| (y, x))) {
        let hit = (x == 10 && y == 10)
            || ((28..32).contains(&x) && (18..22).contains(&y))
            || (x >= 59 && (36..44).contains(&y));
        assert_eq!(image.color::<f32>(x, y), f32::from(u8::from(hit)), "{x} {y}");
    }
}

/// Tests squares, and triangles of which two edges are a rectangle's, with corners at quarters of
/// pixels.
#[test]
fn rectangles_match_a_naive_rasterizer() {
    let mut rng = Rng(11);
    for (w, h) in [(150, 133), (128, 64), (97, 200)] {
        let place = |x: u32, y: u32| [x as f32 / (2.0 * w as f32) - 1.0, y as f32 / (2.0 * h as f32) - 1.0];
        let at = |x, y, size: f32| {
            let [x, y] = place(x, y);
            V { extra: [size, 0.0, 0.0, 1.0], ..v(x, y, 0.5, WHITE) }
        };
        let mut corner = || [rng.below(4 * w + 1), rng.below(4 * h + 1)];
        let mut triangles = Vec::new();
        for _ in 0..100 {
            let ([x0, y0], [x1, y1]) = (corner(), corner());
            triangles.extend([at(x0, y0, 1.0), at(x1, y0, 1.0), at(x0, y1, 1.0)]);
        }
        let points: Vec<V> = (0..150)
            .map(|_| at(rng.below(4 * w + 1), rng.below(4 * h + 1), (2 + rng.below(90)) as f32 / 2.0))
            .collect();
        let scissor =
            [rng.below(20) as i32, rng.below(20) as i32, 70 + rng.below(99) as i32, 45 + rng.below(99) as i32];
        for (topology, vertices) in [(Topology::PointList, &points), (Topology::TriangleList, &triangles)] {
            let image = Image::new(R32F, w, h, 1, 1);
            let mut s = state(topology, w, h);
            s.pixel.blend[0] = ADDITIVE;
            s.scissors = [scissor].into();
            let scissor = [scissor[0], scissor[1], scissor[0] + scissor[2], scissor[1] + scissor[3]].map(|c| c as u32);
            render(2, targets(&image, None), [draw(s, vertices)]);
            for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
                let p = [i64::from(x) * 256 + 128, i64::from(y) * 256 + 128];
                let square = |v: &V| {
                    let (at, half) = (snap(v, w, h), (v.extra[0] * 128.0) as i64);
                    (0..2).all(|axis| at[axis] - half <= p[axis] && p[axis] < at[axis] + half)
                };
                let count = match topology {
                    Topology::PointList => vertices.iter().filter(|v| square(v)).count(),
                    _ => vertices.chunks(3).filter(|t| inside([0, 1, 2].map(|i| snap(&t[i], w, h)), p)).count(),
                };
                let visible = (scissor[0]..scissor[2]).contains(&x) && (scissor[1]..scissor[3]).contains(&y);
                let want = if visible { count as f32 } else { 0.0 };
                assert_eq!(image.color::<f32>(x, y), want, "{topology:?} of {w}x{h}, pixel {x} {y}");
            }
        }
    }
}

#[test]
fn lines_are_rectangles() {
    for (width, rows) in [(1.0, 10..11), (3.0, 9..12)] {
        let image = Image::new(R32F, 64, 64, 1, 1);
        let mut s = state(Topology::LineList, 64, 64);
        s.line_width = width;
        s.pixel.blend[0] = ADDITIVE;
        let at = |x: f32, y: f32| v(x / 32.0 - 1.0, y / 32.0 - 1.0, 0.5, WHITE);
        render(1, targets(&image, None), [draw(s, &[at(4.0, 10.5), at(20.0, 10.5)])]);
        for (y, x) in (0..64u32).flat_map(|y| (0..64u32).map(move |x| (y, x))) {
            let hit = (4..20).contains(&x) && rows.contains(&y);
            assert_eq!(image.color::<f32>(x, y), f32::from(u8::from(hit)), "{x} {y}");
        }
    }
}

#[test]
fn polygon_mode_line_draws_the_outline_only() {
    let image = Image::new(R32F, 64, 64, 1, 1);
    let mut s = state(Topology::TriangleList, 64, 64);
    s.polygon_mode = PolygonMode::Line;
    let at = |x: f32, y: f32| v(x / 32.0 - 1.0, y / 32.0 - 1.0, 0.5, WHITE);
    render(1, targets(&image, None), [draw(s, &[at(8.5, 8.5), at(48.5, 8.5), at(8.5, 48.5)])]);
    assert_eq!(image.color::<f32>(20, 8), 1.0);
    assert_eq!(image.color::<f32>(8, 20), 1.0);
    assert_eq!(image.color::<f32>(20, 20), 0.0);
}

/// Tests that the pixels are the same for any number of threads, with overlapping blended and
/// depth-tested triangles.
#[test]
fn thread_count_changes_nothing() {
    let (w, h) = (260, 190);
    let mut rng = Rng(3);
    let mut vertices = random_triangles(&mut rng, 3000);
    for vertex in &mut vertices {
        vertex.color = [rng.unit().abs(), rng.unit().abs(), rng.unit().abs(), rng.unit().abs()];
        vertex.position[2] = rng.unit().abs();
    }
    let mut reference: Option<(Vec<u8>, Vec<u8>)> = None;
    for (threads, samples) in [(1, 1), (2, 1), (8, 1), (1, 4), (8, 4), (1, 16), (8, 16)] {
        if threads == 1 {
            reference = None;
        }
        let (color, depth) = (Image::new(RGBA8, w, h, samples, 1), Image::new(D32F, w, h, samples, 1));
        let mut s = state(Topology::TriangleList, w, h);
        s.pixel.blend[0] = SRC_ALPHA;
        s.pixel.depth_test = true;
        s.pixel.depth_write = true;
        s.pixel.depth_compare = CompareOp::GreaterOrEqual;
        let halves = vertices.split_at(4500);
        render(threads, targets(&color, Some(&depth)), [draw(s.clone(), halves.0), draw(s, halves.1)]);
        let got = (color.bytes(), depth.bytes());
        assert!(got.0.iter().any(|&b| b != 0));
        assert!(*reference.get_or_insert_with(|| got.clone()) == got, "{threads} threads, {samples} samples");
    }
}
