//! Tests of line modes and stipple, by the pixels of draws.

use super::*;
use base::limits::LINE_WIDTH_RANGE;

fn at(x: f32, y: f32) -> V {
    v(x / 32.0 - 1.0, y / 32.0 - 1.0, 0.5, WHITE)
}

fn lines(topology: Topology, mode: LineMode, stipple: Option<(u32, u16)>) -> DrawState {
    let mut s = state(topology, 64, 64);
    s.line_mode = mode;
    s.line_stipple = stipple.map(|(factor, pattern)| Stipple { factor, pattern });
    s.pixel.blend[0] = ADDITIVE;
    s
}

/// Returns the red component of the 64×64 image, row by row.
fn red(threads: usize, s: DrawState, vertices: &[V]) -> Vec<f32> {
    let image = Image::new(R32F, 64, 64, 1, 1);
    render(threads, targets(&image, None), [draw(s, vertices)]);
    (0..64 * 64).map(|i| image.color(i % 64, i / 64)).collect()
}

#[test]
fn bresenham_lines_are_half_open_chains() {
    // The line is a closed star of segments between pixel centres: every end belongs to only one of
    // them.
    let ends = [(32.5, 32.5), (60.5, 40.5), (50.5, 50.5), (36.5, 60.5), (32.5, 32.5)];
    let strip: Vec<V> = ends.iter().map(|&(x, y)| at(x, y)).collect();
    let got = red(1, lines(Topology::LineStrip, LineMode::Bresenham, None), &strip);
    for (x, y) in ends {
        assert_eq!(got[y as usize * 64 + x as usize], 1.0, "{x} {y}");
    }
    let steps = |(a, b): ((f32, f32), (f32, f32))| (a.0 - b.0).abs().max((a.1 - b.1).abs());
    let fragments: f32 = ends.windows(2).map(|w| steps((w[0], w[1]))).sum();
    assert_eq!(got.iter().sum::<f32>(), fragments);
}

#[test]
fn bresenham_lines_cover_all_samples() {
    let image = Image::new(R32F, 64, 64, 4, 1);
    let s = lines(Topology::LineList, LineMode::Bresenham, None);
    render(2, targets(&image, None), [draw(s, &[at(3.2, 5.1), at(40.9, 20.7)])]);
    let mut covered = 0;
    for (x, y) in (0..64).flat_map(|y| (0..64).map(move |x| (x, y))) {
        let samples: [f32; 4] = core::array::from_fn(|s| image.texel(Aspect::Color, x, y, s as u32, 0));
        assert!(samples == [0.0; 4] || samples == [1.0; 4], "{x} {y} {samples:?}");
        covered += u32::from(samples[0] == 1.0);
    }
    assert!((37..=38).contains(&covered), "{covered}");
}

#[test]
fn stipple_counts_along_a_line() {
    for mode in [LineMode::Rectangular, LineMode::Bresenham] {
        for backward in [false, true] {
            let mut ends = [at(4.0, 10.5), at(44.0, 10.5)];
            if mode == LineMode::Bresenham {
                ends = [at(4.5, 10.5), at(44.5, 10.5)];
            }
            if backward {
                ends.swap(0, 1);
            }
            let got = red(1, lines(Topology::LineList, mode, Some((3, 0b0101_1100_0011_0101))), &ends);
            for x in 0..64u32 {
                let first = if mode == LineMode::Bresenham && backward { 5 } else { 4 };
                let s = if backward { first + 39 - x as i32 } else { x as i32 - first };
                let hit = (0..40).contains(&s) && 0b0101_1100_0011_0101 >> (s / 3 % 16) & 1 == 1;
                assert_eq!(got[640 + x as usize], f32::from(u8::from(hit)), "{mode:?} {backward} {x}");
            }
        }
    }
}

/// Makes 2,000 short segments along the rows of the image.
fn long_strip() -> Vec<V> {
    (0..=2000).map(|i| at((i % 60) as f32 + 2.5, (i / 60) as f32 + 0.5)).collect()
}

#[test]
fn stipple_runs_through_a_strip_and_starts_again_in_a_list() {
    let pattern = 0b0011_1010_0110_1101;
    let strip = long_strip();
    let s = lines(Topology::LineStrip, LineMode::Bresenham, Some((5, pattern)));
    let one = red(1, s.clone(), &strip);
    assert_eq!(one, red(3, s, &strip), "no thread is seen");
    // Row 20 lies several chunks after the start; a row is 59 fragments and 59 back (one of them of
    // the y step).
    let oracle = |i: u32| pattern >> (i / 5 % 16) & 1;
    let mut counter = 0;
    let mut want = vec![0.0; 64 * 64];
    for i in 0..2000i32 {
        let (x0, y0, x1, y1) = (i % 60 + 2, i / 60, (i + 1) % 60 + 2, (i + 1) / 60);
        let steps = (x1 - x0).abs().max((y1 - y0).abs());
        for k in 0..steps {
            let (x, y) = if steps == 1 { (x0, y0) } else { (x0 - k, y0 + i32::from(2 * k > steps)) };
            want[(y * 64 + x) as usize] += f32::from(oracle(counter));
            counter += 1;
        }
    }
    assert_eq!(one, want);
    // Segments have one fragment each, so a list draws all of them or none.
    let list: Vec<V> = strip.windows(2).filter(|w| w[0].position[1] == w[1].position[1]).flatten().copied().collect();
    let sum =
        |bit: u16| red(2, lines(Topology::LineList, LineMode::Bresenham, Some((1, bit))), &list).iter().sum::<f32>();
    assert_eq!((sum(1), sum(0xfffe)), (list.len() as f32 / 2.0, 0.0));
}

/// Tests blocks inside of a wide line, which are whole and take another path than those at its
/// edge.
#[test]
fn wide_smooth_lines_are_opaque_inside() {
    let image = Image::new(RGBA32F, 64, 64, 1, 1);
    let mut s = lines(Topology::LineList, LineMode::Smooth, None);
    (s.line_width, s.pixel.blend[0]) = (20.5, OPAQUE);
    render(1, targets(&image, None), [draw(s, &[at(4.0, 20.0), at(60.0, 20.0)])]);
    for y in 0..40 {
        let texel: [f32; 4] = image.texel(Aspect::Color, 30, y, 0, 0);
        let alpha = [(9, 0.25), (30, 0.25)].iter().find(|e| e.0 == y).map_or(1.0, |e| e.1);
        let alpha = if (9..=30).contains(&y) { alpha } else { 0.0 };
        assert_eq!(texel[3], alpha, "row {y}");
    }
}

/// Tests a line of the largest width (and not more), and one that is wider by a small step, of
/// which each side has half.
#[test]
fn widths_reach_the_limit_in_small_steps() {
    let max = LINE_WIDTH_RANGE[1];
    let image = Image::new(RGBA32F, 16, 300, 1, 1);
    let mut s = lines(Topology::LineList, LineMode::Rectangular, None);
    s.viewports = [Viewport { x: 0.0, y: 0.0, width: 16.0, height: 300.0, min_depth: 0.0, max_depth: 1.0 }].into();
    s.scissors = [[0, 0, 16, 300]].into();
    s.line_width = 2.0 * max;
    let across = [v(-1.0, 0.0, 0.5, [1.0; 4]), v(1.0, 0.0, 0.5, [1.0; 4])];
    render(1, targets(&image, None), [draw(s, &across)]);
    let covered = |y| image.texel::<[f32; 4]>(Aspect::Color, 8, y, 0, 0)[0] == 1.0;
    let rows: Vec<u32> = (0..300).filter(|&y| covered(y)).collect();
    assert_eq!(rows, (150 - max as u32 / 2..150 + max as u32 / 2).collect::<Vec<_>>());
    // The width of a smooth line is measured by its coverage.
    let image = Image::new(RGBA32F, 64, 64, 1, 1);
    let mut s = lines(Topology::LineList, LineMode::Smooth, None);
    (s.line_width, s.pixel.blend[0]) = (2.0 + 1.0 / 64.0, OPAQUE);
    render(1, targets(&image, None), [draw(s, &[at(4.0, 20.0), at(60.0, 20.0)])]);
    let alpha = |y| image.texel::<[f32; 4]>(Aspect::Color, 30, y, 0, 0)[3];
    assert_eq!([18, 19, 20, 21].map(alpha), [1.0 / 128.0, 1.0, 1.0, 1.0 / 128.0]);
}

#[test]
fn smooth_lines_multiply_alpha() {
    for samples in [1, 2, 4, 8, 16] {
        let image = Image::new(RGBA32F, 64, 64, samples, 1);
        let mut s = lines(Topology::LineList, LineMode::Smooth, None);
        s.pixel.blend[0] = OPAQUE;
        render(1, targets(&image, None), [draw(s, &[at(4.0, 10.75), at(20.0, 10.75)])]);
        for (y, alpha) in [(9, 0.0), (10, 0.75), (11, 0.25), (12, 0.0)] {
            let texel: [f32; 4] = image.texel(Aspect::Color, 10, y, samples - 1, 0);
            let color = if (10..12).contains(&y) { 1.0 } else { 0.0 };
            assert_eq!(texel, [color, color, color, alpha], "row {y}");
        }
    }
}

/// A stipple removes a part of a pixel of a smooth line: its centre does not decide.
#[test]
fn stippled_smooth_lines_cover_parts_of_pixels() {
    for samples in [1, 4] {
        let image = Image::new(RGBA32F, 64, 64, samples, 1);
        let mut s = lines(Topology::LineList, LineMode::Smooth, Some((1, 0x5555)));
        s.pixel.blend[0] = OPAQUE;
        render(1, targets(&image, None), [draw(s, &[at(4.25, 10.5), at(20.25, 10.5)])]);
        let alpha = |x| image.texel::<[f32; 4]>(Aspect::Color, x, 10, samples - 1, 0)[3];
        assert_eq!([3, 4, 5, 6, 7, 19, 20].map(alpha), [0.0, 0.75, 0.25, 0.75, 0.25, 0.25, 0.0]);
    }
}
