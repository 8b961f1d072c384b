//! Tests of every sample count against a scalar oracle: coverage, masks, alpha to coverage, depth
//! tests and writes, sample by sample.

use super::coverage::{inside, positions, snap};
use super::*;
use base::pixel::SampleLocations;
use std::sync::atomic::{AtomicU64, Ordering};

const COUNTS: [u32; 5] = [1, 2, 4, 8, 16];

/// The kind of fragment stage of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    /// The stage kills columns with an odd number.
    Kills,
    /// The stage writes red as depth.
    Depth,
    /// The stage writes the number of the sample as red.
    PerSample,
    /// The stage writes [`MASK`] as the sample mask.
    Masks,
}

const MASK: u32 = 0b1001_0110_1101_1011;

/// Writes the colour, and [`MASK`].
#[base::code_fn]
unsafe extern "code" fn fs_mask(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the rasterizer calls the stage with a `FragmentBatch`.
    unsafe { fragments(batch, |_, _, c| Some([c[0], c[1], c[2], c[3], MASK])) };
}

impl Kind {
    fn stage(self) -> CompiledStage {
        let none = FragmentInfo::default();
        match self {
            Kind::Plain => fragment_stage(fs_color, &[], none),
            Kind::Kills => fragment_stage(fs_kill, &[], FragmentInfo { kills: true, ..none }),
            Kind::Depth => {
                fragment_stage(fs_depth, &[BuiltinSlot::FragDepth], FragmentInfo { writes_depth: true, ..none })
            }
            Kind::PerSample => fragment_stage(fs_sample, &[], FragmentInfo { sample_shading: true, ..none }),
            Kind::Masks => {
                let info = FragmentInfo { writes_sample_mask: true, ..none };
                fragment_stage(fs_mask, &[BuiltinSlot::SampleMask], info)
            }
        }
    }
}

/// A draw of triangles of one depth and colour each.
struct Case {
    kind: Kind,
    vertices: Vec<V>,
    state: DrawState,
}

impl Case {
    fn new(rng: &mut Rng, samples: u32, [w, h]: [u32; 2]) -> Case {
        let all = [Kind::Plain, Kind::Plain, Kind::Kills, Kind::Depth, Kind::PerSample, Kind::Masks];
        let kind = rng.pick(&all);
        let mut vertices = Vec::new();
        for _ in 0..12 {
            let size = rng.pick(&[0.05, 0.4, 3.0]);
            let (x, y) = (rng.unit(), rng.unit());
            let eighth = |rng: &mut Rng| rng.below(9) as f32 / 8.0;
            let (z, red, alpha) = (eighth(rng), eighth(rng), rng.below(33) as f32 / 32.0);
            for _ in 0..3 {
                vertices.push(v(x + rng.unit() * size, y + rng.unit() * size, z, [red, 0.0, 0.0, alpha]));
            }
        }
        let mut state = state(Topology::TriangleList, w, h);
        state.pixel.blend[0] = ADDITIVE;
        state.pixel.depth_test = rng.below(4) != 0;
        state.pixel.depth_write = rng.below(4) != 0;
        state.pixel.depth_compare = CompareOp::ALL[rng.below(8) as usize];
        if rng.below(3) == 0 && samples > 1 {
            state.pixel_values.sample_mask = rng.next();
        }
        if rng.below(3) == 0 {
            let any: SampleLocations = core::array::from_fn(|_| [rng.below(256) as u8, rng.below(256) as u8]);
            state.pixel_values.sample_locations = Some(any);
        }
        // Additive blending ignores alpha, which thus only acts through coverage.
        state.pixel.alpha_to_coverage = rng.below(4) == 0 && samples > 1 && kind != Kind::PerSample;
        Case { kind, vertices, state }
    }

    /// Returns the position of a sample in its pixel; a pixel's only sample is in the middle,
    /// whatever the draw sets.
    fn place(&self, samples: u32, s: u32) -> [i64; 2] {
        match self.state.pixel_values.sample_locations {
            Some(own) if samples > 1 => own[s as usize].map(i64::from),
            _ => positions(samples)[s as usize],
        }
    }

    /// Returns the samples that remain of a pixel that a triangle with this alpha covers.
    fn mask(&self, samples: u32, x: u32, alpha: f32) -> u32 {
        let mut mask = self.state.pixel_values.sample_mask & ((1 << samples) - 1);
        if self.kind == Kind::Kills && x % 2 == 1 {
            mask = 0;
        }
        if self.kind == Kind::Masks {
            mask &= MASK;
        }
        if self.state.pixel.alpha_to_coverage {
            mask &= (1 << (alpha * samples as f32 + 0.5) as u32) - 1;
        }
        mask
    }

    /// Draws one sample of a pixel; returns true if it passed.
    fn sample(&self, t: &[V], [x, s]: [u32; 2], samples: u32, (color, depth): (&mut f32, &mut f32)) -> bool {
        let [red, _, _, alpha] = t[0].color;
        if self.mask(samples, x, alpha) >> s & 1 == 0 {
            return false;
        }
        let z = if self.kind == Kind::Depth { red } else { t[0].position[2] };
        let passes = match self.state.pixel.depth_compare {
            _ if !self.state.pixel.depth_test => true,
            CompareOp::Never => false,
            CompareOp::Less => z < *depth,
            CompareOp::Equal => z == *depth,
            CompareOp::LessOrEqual => z <= *depth,
            CompareOp::Greater => z > *depth,
            CompareOp::NotEqual => z != *depth,
            CompareOp::GreaterOrEqual => z >= *depth,
            CompareOp::Always => true,
        };
        if passes {
            *color += if self.kind == Kind::PerSample && samples > 1 { s as f32 } else { self.red(red) };
            if self.state.pixel.depth_test && self.state.pixel.depth_write {
                *depth = z;
            }
        }
        passes
    }

    /// Returns the red component of a fragment of a pipeline with one sample, or shaded once.
    fn red(&self, red: f32) -> f32 {
        if self.kind == Kind::PerSample { f32::from(FragmentBatch::CENTRE) } else { red }
    }
}

#[test]
fn draws_are_those_of_a_scalar_oracle() {
    let [w, h] = [70, 37];
    for seed in 0..60u64 {
        let rng = &mut Rng(seed * 0x9e37_79b9_7f4a + 1);
        let samples = COUNTS[seed as usize % 5];
        let cases: Vec<Case> = (0..5).map(|_| Case::new(rng, samples, [w, h])).collect();
        let (color, depth) = (Image::new(R32F, w, h, samples, 1), Image::new(D32F, w, h, samples, 1));
        let counts: Vec<Arc<AtomicU64>> = cases.iter().map(|_| Arc::default()).collect();
        let engine = Engine::new(1 + seed as usize % 2);
        let mut pass = engine.begin_rendering(targets(&color, Some(&depth)));
        pass.clear_depth_stencil(Some(0.5), None, [0, 0, w, h], 0, 1);
        for (case, count) in cases.iter().zip(&counts) {
            let mut draw = draw_with(Some(case.kind.stage()), case.state.clone(), &case.vertices);
            draw.queries.occlusion = Some(count.clone());
            pass.draw(draw);
        }
        pass.end();
        let mut want_counts = vec![0; cases.len()];
        for (y, x, s) in (0..h).flat_map(|y| (0..w).flat_map(move |x| (0..samples).map(move |s| (y, x, s)))) {
            let (mut want, mut z) = (0.0, 0.5);
            for (case, count) in cases.iter().zip(&mut want_counts) {
                let [sx, sy] = case.place(samples, s);
                let p = [i64::from(x) * 256 + sx, i64::from(y) * 256 + sy];
                for t in case.vertices.chunks(3) {
                    if inside([0, 1, 2].map(|i| snap(&t[i], w, h)), p) {
                        *count += u64::from(case.sample(t, [x, s], samples, (&mut want, &mut z)));
                    }
                }
            }
            let got: [f32; 2] = [color.texel(Aspect::Color, x, y, s, 0), depth.texel(Aspect::Depth, x, y, s, 0)];
            let kinds: Vec<_> = cases.iter().map(|case| case.kind).collect();
            assert_eq!(got, [want, z], "seed {seed}: pixel {x} {y} sample {s} of {samples}, {kinds:?}");
        }
        let counts: Vec<u64> = counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        assert_eq!(counts, want_counts, "seed {seed}: {samples} samples");
    }
}

/// Tests that lines that are not rectangular, and stippled ones, cover all samples of a pixel or
/// none.
#[test]
fn lines_of_pixels_have_all_samples() {
    for samples in COUNTS {
        let image = Image::new(R32F, 64, 64, samples, 1);
        let mut s = state(Topology::LineList, 64, 64);
        (s.line_mode, s.line_stipple) = (LineMode::Bresenham, Some(Stipple { factor: 2, pattern: 0xaaaa }));
        render(2, targets(&image, None), [draw(s, &[v(-0.9, -0.8, 0.5, WHITE), v(0.8, 0.3, 0.5, WHITE)])]);
        let mut covered = 0;
        for (x, y) in (0..64).flat_map(|y| (0..64).map(move |x| (x, y))) {
            let seen: Vec<f32> = (0..samples).map(|s| image.texel(Aspect::Color, x, y, s, 0)).collect();
            assert!(seen.iter().all(|&sample| sample == seen[0]), "{samples}: {x} {y} {seen:?}");
            covered += u32::from(seen[0] == 1.0);
        }
        assert!((25..=29).contains(&covered), "{samples}: {covered}");
    }
}

/// Tests that the positions of all counts are the specification's: distinct along both axes, and
/// equal to those that shaders read.
#[test]
fn positions_are_those_of_the_standard() {
    for samples in COUNTS {
        let table = crate::prim::sample_positions(samples);
        let list = positions(samples);
        for (s, [x, y]) in list.iter().enumerate() {
            assert_eq!([table[s].x[0], table[s].y[0]], [*x as f32 / 256.0, *y as f32 / 256.0]);
            assert!(list[..s].iter().all(|[a, b]| a != x && b != y), "{samples}: {s}");
        }
        assert_eq!([table[16].x[3], table[16].y[3]], [1.5; 2]);
    }
}
