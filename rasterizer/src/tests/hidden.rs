//! Tests that neither hidden-surface removal nor flat primitives change a bit.

use super::*;

/// Makes triangles from a few pixels to all of the target.
fn triangles(random: &mut Rng, count: u32) -> Vec<V> {
    let mut out = Vec::new();
    for _ in 0..count {
        let size = [0.05, 0.3, 4.0][random.below(3) as usize];
        let (x, y) = (random.unit(), random.unit());
        let z0 = random.below(9) as f32 / 8.0;
        let color = [random.unit(), random.unit(), random.unit(), [0.0, 0.5, 1.0][random.below(3) as usize]];
        for _ in 0..3 {
            let z = if random.below(2) == 0 { z0 } else { random.unit() };
            out.push(v(x - size / 2.0 + random.unit() * size, y + (random.unit() - 0.5) * size, z, color));
        }
    }
    out
}

/// Makes two triangles that cover the whole target.
fn cover(z: f32, color: [f32; 4]) -> Vec<V> {
    let corner = |x, y| v(x, y, z, color);
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]].map(|[x, y]| corner(x, y)).into()
}

/// The way in which a picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RenderMode {
    removes_hidden_surfaces: bool,
    flat: bool,
}

/// A random scene.
struct SceneOf {
    vertices: Vec<Vec<V>>,
    states: Vec<(u32, DrawState)>,
    color: u32,
    samples: u32,
}

/// Number of kinds of fragment stages in a scene.
const STAGES: u32 = 4;

impl SceneOf {
    fn new(seed: u32, (w, h): (u32, u32)) -> SceneOf {
        let random = &mut Rng(u64::from(seed) * 0x9e37_79b9_7f4a);
        let color = [RGBA8, BGRA8, RGBA32F, R32F][random.below(4) as usize];
        let samples = if random.below(6) == 0 { random.pick(&[2, 4, 4, 8, 16]) } else { 1 };
        let (mut vertices, mut states) = (Vec::new(), Vec::new());
        for _ in 0..14 {
            vertices.push(match random.below(4) {
                0 => cover(random.unit(), [random.unit(), random.unit(), 0.5, 1.0]),
                _ => {
                    let count = 1 + random.below(60);
                    triangles(random, count)
                }
            });
            let mut state = state(Topology::TriangleList, w, h);
            state.pixel.depth_test = random.below(3) != 0;
            state.pixel.depth_write = random.below(4) != 0;
            state.pixel.depth_compare =
                CompareOp::ALL[[1, 1, 3, 4, random.below(8)][random.below(5) as usize] as usize];
            state.pixel.blend[0] = match random.below(8) {
                0 => SRC_ALPHA,
                1 => ADDITIVE,
                2 => BlendAttachment { write_mask: random.below(16) as u8, ..OPAQUE },
                _ => OPAQUE,
            };
            if random.below(8) == 0 {
                state.scissors = [[7, 5, w as i32 / 2, h as i32 / 2]].into();
            }
            states.push((random.below(STAGES + 3), state));
        }
        SceneOf { vertices, states, color, samples }
    }

    fn stage(&self, number: u32, mode: RenderMode) -> CompiledStage {
        let none = FragmentInfo::default();
        match number {
            0 => fragment_stage(fs_kill, &[], FragmentInfo { kills: true, ..none }),
            1 => fragment_stage(fs_depth, &[BuiltinSlot::FragDepth], FragmentInfo { writes_depth: true, ..none }),
            2 | 3 => fragment_stage(fs_color, &[], none),
            _ => fragment_stage(fs_flat, &[], FragmentInfo { flat: mode.flat, ..none }),
        }
    }

    /// Returns all bytes of colour and depth, and the number of samples that passed.
    fn draw(&self, (w, h): (u32, u32), mode: RenderMode) -> (Vec<u8>, Vec<u8>, u64) {
        let (color, depth) = (Image::new(self.color, w, h, self.samples, 1), Image::new(D32F, w, h, self.samples, 1));
        let engine = Engine::new(2);
        let mut pass = engine.begin_rendering(targets(&color, Some(&depth)));
        if !mode.removes_hidden_surfaces {
            pass.without_hidden_surface_removal();
        }
        let passed = Arc::new(std::sync::atomic::AtomicU64::new(0));
        pass.clear_depth_stencil(Some(0.75), None, [0, 0, w, h], 0, 1);
        for (vertices, (stage, state)) in self.vertices.iter().zip(&self.states) {
            let mut draw = draw_with(Some(self.stage(*stage, mode)), state.clone(), vertices);
            draw.queries.occlusion = Some(passed.clone());
            pass.draw(draw);
        }
        pass.end();
        (color.bytes(), depth.bytes(), passed.load(std::sync::atomic::Ordering::Relaxed))
    }
}

#[test]
fn neither_hidden_nor_flat_surfaces_change_a_bit() {
    let size = (150, 90);
    for seed in 1..60 {
        let scene = SceneOf::new(seed, size);
        let want = scene.draw(size, RenderMode { removes_hidden_surfaces: false, flat: false });
        assert!(want.0.iter().any(|&byte| byte != 0), "seed {seed} draws nothing");
        for (removes_hidden_surfaces, flat) in [(true, false), (false, true), (true, true)] {
            let mode = RenderMode { removes_hidden_surfaces, flat };
            let got = scene.draw(size, mode);
            let first = |a: &[u8], b: &[u8]| a.iter().zip(b).position(|(a, b)| a != b);
            let differs = (first(&want.0, &got.0), first(&want.1, &got.1), want.2 == got.2);
            assert_eq!(differs, (None, None, true), "seed {seed} {mode:?}");
        }
    }
}

#[test]
fn more_owners_than_numbers_and_more_draws_than_batches() {
    let (w, h) = (64, 64);
    // Each primitive covers everything, so that it owns all pixels.
    let covers: Vec<V> = (0..40_000).flat_map(|i| cover(0.5, [(i % 251) as f32 / 255.0, 0.0, 1.0, 1.0])).collect();
    let few: Vec<Vec<V>> = (0..100).map(|i| cover(0.5, [0.0, i as f32 / 255.0, 0.0, 1.0])).collect();
    let picture = |vertices: &[&[V]]| {
        let color = Image::new(RGBA8, w, h, 1, 1);
        render(1, targets(&color, None), vertices.iter().map(|v| draw(state(Topology::TriangleList, w, h), v)));
        [color.color::<u32>(0, 0), color.color::<u32>(63, 63)]
    };
    let last = 39_999 % 251;
    assert_eq!(picture(&[&covers]), [0xffff_0000 | last; 2]);
    let few: Vec<&[V]> = few.iter().map(Vec::as_slice).collect();
    assert_eq!(picture(&few), [0xff00_0000 | 99 << 8; 2]);
}
