//! Tests that the memory of a render pass is bounded whatever the primitives cover, and that the
//! bounds change no pixel.

use super::coverage::{inside, positions, snap};
use super::*;
use crate::scene::{ROUND_BYTES, ROUND_DRAWS};

/// Makes a triangle that covers the whole viewport.
fn covering(color: f32) -> [V; 3] {
    let color = [color, 0.0, 0.0, 1.0];
    [v(-1.0, -1.0, 0.5, color), v(3.0, -1.0, 0.5, color), v(-1.0, 3.0, 0.5, color)]
}

/// Makes the largest render area, without attachments.
fn largest() -> RenderTargets {
    RenderTargets { samples: 1, layers: 1, area: [0, 0, 1 << 14, 1 << 14], ..RenderTargets::default() }
}

#[test]
fn primitives_that_cover_every_tile_take_little_memory() {
    let side = 1 << 14;
    let diagonal = |i: f32| {
        let shift = i / 1000.0;
        [v(-1.0 + shift, -1.0, 0.5, WHITE), v(1.0 - shift, 0.99, 0.5, WHITE), v(0.99, 1.0 - shift, 0.5, WHITE)]
    };
    let scenes: [(&str, Vec<V>, u32); 3] = [
        ("full screen", covering(1.0).to_vec(), 16 << 10),
        ("diagonals", (0..256).flat_map(|i| diagonal(i as f32)).collect(), 64),
        ("one draw each", covering(1.0).to_vec(), 1),
    ];
    for (name, vertices, instances) in scenes {
        let engine = Engine::new(2);
        let mut pass = engine.begin_rendering(largest());
        let mut one = draw_with(None, state(Topology::TriangleList, side, side), &vertices);
        one.counts.instances = instances;
        // Tiles of these rounds are never run, because that would take minutes.
        let draws = if instances == 1 { ROUND_DRAWS - 1 } else { 1 };
        (0..draws).for_each(|_| _ = pass.draw(one.clone()));
        if pass.peak_bytes == 0 {
            pass.run_chunks();
        }
        assert!(pass.peak_bytes > 100_000, "{name}: {} bytes", pass.peak_bytes);
        // The area has 65,536 tiles; without the bound, 16,384 primitives took 8.6 GB.
        assert!(pass.peak_bytes < 2 * ROUND_BYTES, "{name}: {} bytes", pass.peak_bytes);
    }
}

#[test]
fn large_and_small_primitives_are_drawn_in_order() {
    // The last target is wide enough for outlines to be listed at larger nodes than tiles.
    for (w, h, samples) in [(730, 520, 1), (330, 350, 4), (330, 350, 16), (2300, 150, 1)] {
        draws_in_order(w, h, samples);
    }
}

fn draws_in_order(w: u32, h: u32, samples: u32) {
    let mut random = Rng(11);
    let triangles: Vec<[V; 3]> = (0..90)
        .map(|i| {
            let color = i as f32 + 1.0;
            if i % 29 == 7 {
                return covering(color);
            }
            let size = [0.05, 0.6, 2.5][i % 3];
            let (x, y) = (random.unit(), random.unit());
            [(); 3].map(|()| v(x + random.unit() * size, y + random.unit() * size, 0.5, [color, 0.0, 0.0, 1.0]))
        })
        .collect();
    let snapped: Vec<_> = triangles.iter().map(|t| t.each_ref().map(|v| snap(v, w, h))).collect();
    let s = Arc::new(state(Topology::TriangleList, w, h));
    let offsets = positions(samples);
    let naive = |x: u32, y: u32, sample: u32| {
        let [dx, dy] = offsets[sample as usize];
        let at = [i64::from(x) * 256 + dx, i64::from(y) * 256 + dy];
        snapped.iter().rposition(|&t| inside(t, at)).map_or(0.0, |i| i as f32 + 1.0)
    };
    // The test examines every seventh pixel, and borders of tiles.
    let seen = |c: u32| c.is_multiple_of(7) || [0, 63].contains(&(c % 64));
    let pixels = || (0..h).filter(|&y| seen(y)).flat_map(|y| (0..w).filter(|&x| seen(x)).map(move |x| (x, y)));
    let want: Vec<f32> =
        pixels().flat_map(|(x, y)| (0..samples).map(move |s| (x, y, s))).map(|(x, y, s)| naive(x, y, s)).collect();
    // The triangles are one draw, or draws of some triangles, in rounds of a few bytes, so that
    // chunks wait and overtake.
    for (threads, per_draw, bytes) in [(1, 90, ROUND_BYTES), (3, 7, ROUND_BYTES), (1, 1, 1), (3, 1, 1), (3, 2, 4000)] {
        let image = Image::new(R32F, w, h, samples, 1);
        let engine = Engine::new(threads);
        let mut pass = engine.begin_rendering(targets(&image, None));
        pass.round_bytes = bytes;
        for some in triangles.chunks(per_draw) {
            let mut d = draw(DrawState::clone(&s), some.as_flattened());
            d.state = s.clone();
            pass.draw(d);
        }
        pass.end();
        let got = pixels().flat_map(|(x, y)| (0..samples).map(move |s| (x, y, s)));
        for ((x, y, sample), &want) in got.zip(&want) {
            let got: f32 = image.texel(Aspect::Color, x, y, sample, 0);
            assert_eq!(got, want, "({x}, {y}) sample {sample}, {threads} threads, {per_draw} per draw, {bytes} bytes");
        }
    }
}

#[test]
fn rounds_that_end_early_keep_stipple_and_statistics() {
    let (w, h) = (640, 480);
    let mut random = Rng(3);
    let corners: Vec<V> = (0..400).map(|_| v(random.unit(), random.unit(), 0.5, WHITE)).collect();
    let mut s = state(Topology::LineStrip, w, h);
    s.line_stipple = Some(Stipple { factor: 3, pattern: 0x3b5c });
    s.pixel.blend[0] = ADDITIVE;
    let run = |threads, bytes| {
        let image = Image::new(R32F, w, h, 1, 1);
        let engine = Engine::new(threads);
        let mut pass = engine.begin_rendering(targets(&image, None));
        pass.round_bytes = bytes;
        let mut d = draw(s.clone(), &corners);
        d.queries.statistics = vec![Arc::default()];
        d.counts.instances = 3;
        pass.draw(d.clone());
        pass.end();
        let counts = d.queries.statistics[0].each_ref().map(|n| n.load(std::sync::atomic::Ordering::Relaxed));
        (image.bytes(), counts)
    };
    let want = run(1, ROUND_BYTES);
    assert!(want.0.iter().any(|&b| b != 0));
    for threads in [1, 3] {
        let got = run(threads, 1);
        assert!(got.0 == want.0, "{threads} threads");
        assert_eq!(got.1, want.1, "{threads} threads");
    }
}

#[test]
fn segments_of_pending_draws_are_bounded() {
    let image = Image::new(R32F, 8, 8, 1, 1);
    let vertices = covering(1.0);
    // The indices are strips of three, cut by the restart index; the triangle is empty.
    let indices: Vec<u16> = (0..1 << 16).map(|i| if i % 4 == 3 { u16::MAX } else { 0 }).collect();
    let mut s = state(Topology::TriangleStrip, 8, 8);
    s.primitive_restart = true;
    let d = indexed(draw(s, &vertices), &indices);
    let engine = Engine::new(1);
    let mut pass = engine.begin_rendering(targets(&image, None));
    for _ in 0..40 {
        pass.draw(d.clone());
        assert!(pass.segments() <= 1 << 18, "{} segments", pass.segments());
    }
    pass.end();
}
