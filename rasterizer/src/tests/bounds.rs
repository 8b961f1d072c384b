//! Tests that neither Hi-Z nor the cells of targets change a bit.

use super::*;

/// Makes triangles from a few pixels to all of the target, with depths on a coarse grid (so that
/// equal ones occur) and beyond the range.
fn triangles(random: &mut Rng, count: u32) -> Vec<V> {
    let mut out = Vec::new();
    for i in 0..count {
        let size = [0.05, 0.3, 4.0][random.below(3) as usize];
        let (x, y) = (random.unit(), random.unit());
        let flat = random.below(2) == 0;
        let z0 = random.below(9) as f32 / 8.0;
        for _ in 0..3 {
            let z = if flat { z0 } else { random.unit() * 0.6 + 0.5 };
            let color = [i as f32 + 1.0, 0.0, 0.0, 1.0];
            out.push(v(x + random.unit() * size, y + random.unit() * size, z, color));
        }
    }
    out
}

#[test]
fn hierarchical_depth_changes_no_bit() {
    let (w, h) = (150, 90);
    for seed in 1..40u32 {
        let random = &mut Rng(u64::from(seed) * 0x9e37_79b9_7f4a);
        let format = [D32F, D16, D24S8][random.below(3) as usize];
        let samples = [1, 4, 1, 4, 2, 8, 16][random.below(7) as usize];
        use CompareOp::{Greater, GreaterOrEqual, Less, LessOrEqual};
        let favourite = [Less, LessOrEqual, Greater, GreaterOrEqual][random.below(4) as usize];
        let vertices: Vec<Vec<V>> = (0..12)
            .map(|_| {
                let count = 1 + random.below(40);
                triangles(random, count)
            })
            .collect();
        // The draws point into the vertices.
        let draws: Vec<Draw> = vertices
            .iter()
            .map(|vertices| {
                let compare = if random.below(4) == 0 { CompareOp::ALL[random.below(8) as usize] } else { favourite };
                let mut state = state(Topology::TriangleList, w, h);
                state.pixel.depth_test = true;
                state.pixel.depth_write = random.below(5) != 0;
                state.pixel.depth_compare = compare;
                state.depth_clamp = random.below(4) == 0;
                state.depth_clip = !state.depth_clamp;
                state.depth_bias = (random.below(4) == 0).then(|| DepthBias {
                    constant: random.unit() * 100.0,
                    slope: random.unit(),
                    ..DepthBias::default()
                });
                if samples != 1 && random.below(4) == 0 {
                    state.pixel_values.sample_mask = 0b0101;
                }
                draw(state, vertices)
            })
            .collect();
        let clears: Vec<(f32, [u32; 4])> =
            (0..3).map(|_| (random.below(9) as f32 / 8.0, [random.below(100), random.below(60), 40, 35])).collect();
        let run = |with: bool| {
            let (color, depth) = (Image::new(R32F, w, h, samples, 1), Image::new(format, w, h, samples, 1));
            let engine = Engine::new(1);
            let mut p = engine.begin_rendering(targets(&color, Some(&depth)));
            if !with {
                p.without_hi_z();
            }
            let start = if matches!(favourite, CompareOp::Less | CompareOp::LessOrEqual) { 1.0 } else { 0.0 };
            p.clear_depth_stencil(Some(start), None, [0, 0, w, h], 0, 1);
            for (i, d) in draws.iter().enumerate() {
                p.draw(d.clone());
                if i % 4 == 3 {
                    let (z, rect) = clears[i / 4];
                    p.clear_depth_stencil(Some(z), None, rect, 0, 1);
                }
            }
            p.end();
            let mut bits = Vec::new();
            for (y, x, s) in (0..h).flat_map(|y| (0..w).flat_map(move |x| (0..samples).map(move |s| (y, x, s)))) {
                let z = if format == D16 {
                    u32::from(depth.texel::<u16>(Aspect::Depth, x, y, s, 0))
                } else {
                    depth.texel::<u32>(Aspect::Depth, x, y, s, 0)
                };
                bits.push((color.texel::<u32>(Aspect::Color, x, y, s, 0), z));
            }
            bits
        };
        let (want, got) = (run(false), run(true));
        let first = want.iter().zip(&got).position(|(a, b)| a != b);
        assert_eq!(
            first,
            None,
            "seed {seed} {format} x{samples} {favourite:?}: {:?}",
            first.map(|i| (i, want[i], got[i]))
        );
        assert!(want.iter().any(|&(color, _)| color != 0), "seed {seed} draws nothing");
    }
}

#[test]
fn cells_change_no_bit() {
    let (w, h) = (300, 270);
    for format in [D32F, D16, D24S8] {
        let vertices = triangles(&mut Rng(u64::from(format) * 0x9e37_79b9_7f4a), 200);
        let mut state = state(Topology::TriangleList, w, h);
        (state.pixel.depth_test, state.pixel.depth_write) = (true, true);
        state.pixel.depth_compare = CompareOp::Less;
        let drawn = |[color, depth]: [Image; 2]| {
            let engine = Engine::new(1);
            let mut pass = engine.begin_rendering(targets(&color, Some(&depth)));
            pass.clear_depth_stencil(Some(1.0), Some(0xab), [0, 0, w, h], 0, 1);
            pass.clear_depth_stencil(None, Some(0xcd), [70, 60, 200, 201], 0, 1);
            pass.draw(draw(state.clone(), &vertices));
            pass.end();
            let texel = |x, y| {
                let z = match format {
                    D16 => u32::from(depth.texel::<u16>(Aspect::Depth, x, y, 0, 0)),
                    _ => depth.texel::<u32>(Aspect::Depth, x, y, 0, 0),
                };
                let stencil = if format == D24S8 { depth.texel::<u8>(Aspect::Stencil, x, y, 0, 0) } else { 0 };
                (color.color::<[u32; 3]>(x, y), z, stencil)
            };
            (0..h).flat_map(|y| (0..w).map(move |x| (x, y))).map(|(x, y)| texel(x, y)).collect::<Vec<_>>()
        };
        let want = drawn([RGB32F, format].map(|format| Image::new(format, w, h, 1, 1)));
        let got = drawn([RGB32F, format].map(|format| Image::in_cells(format, w, h)));
        assert!(want == got, "{format}");
        assert!(want.iter().any(|(color, ..)| color[0] != 0) && want.iter().any(|&(_, z, _)| z != want[0].1));
    }
}
