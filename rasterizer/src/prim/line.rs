//! Lines that are more than a rectangle: Bresenham coverage, stipple and smooth coverage.
//!
//! A line stays one primitive. Bresenham lines are two half planes and an exact range in the major
//! direction ([`BresenhamLine`]). Tiles also need the position of a pixel along the line and its
//! distance from the line. These data are in a [`LinePrim`], one per primitive of a draw that
//! [`crate::api::DrawState::has_special_lines`], in the same order. Other draws have none.
//!
//! Stipple counters of a strip continue from chunk to chunk. A chunk counts from zero;
//! [`StipplePhase::then`] joins chunks in order afterwards, so results depend neither on threads
//! nor on the number of rounds. Counters are 1/65536 fragments modulo the pattern's period, so sums
//! are exact.

#![forbid(unsafe_code)]

use super::coverage::EdgeFunction;
use super::screen::{SUBPIXEL, ScreenVertex};
use crate::api::{LineMode, Stipple};
use base::limits::SUBPIXEL_BITS;

/// Value of one fragment in a stipple counter.
const FRAGMENT: f64 = 65536.0;
/// Half a pixel in fixed point.
const HALF: i64 = SUBPIXEL as i64 / 2;

impl Stipple {
    /// Returns the number of counter values after which the pattern repeats.
    fn period(self) -> u32 {
        self.factor.clamp(1, 256) * 16 * FRAGMENT as u32
    }
    /// Returns true if a fragment at a counter is drawn.
    fn draws(self, counter: f64) -> bool {
        self.pattern >> (counter as u64 / u64::from(self.factor.clamp(1, 256)) % 16) & 1 == 1
    }
}

/// The stipple counter at the end of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StipplePhase {
    /// Value counted from the last strip's start in the chunk, or from the chunk's start.
    pub value: u32,
    /// True if no strip started in the chunk, so that the value before the chunk is added.
    pub continued: bool,
}

impl StipplePhase {
    /// The phase if nothing is counted.
    pub const NONE: StipplePhase = StipplePhase { value: 0, continued: false };

    /// Returns the counter after a chunk that begins at `before`.
    pub fn then(self, before: u32, stipple: Option<Stipple>) -> u32 {
        let sum = self.value + if self.continued { before } else { 0 };
        stipple.map_or(0, |s| sum % s.period())
    }

    /// Counts fragments; not-a-number and infinity count nothing.
    pub fn advance(&mut self, fragments: f64, stipple: Stipple) {
        let steps = (fragments * FRAGMENT + 0.5) as u64 % u64::from(stipple.period());
        self.value = (self.value + steps as u32) % stipple.period();
    }
}

/// Data of a special line that tiles need besides its primitive.
#[derive(Clone, Copy, Debug)]
pub struct LinePrim {
    /// Distance in pixels from the start along the line: d/dx, d/dy, value at the framebuffer's
    /// origin.
    along: [f64; 3],
    /// Signed distance in pixels from the line, in the form of `along`.
    across: [f64; 3],
    length: f64,
    half_width: f64,
    /// Stipple counter at the start.
    phase: StipplePhase,
}

/// Returns the affine function with this gradient and value 0 at a screen position.
fn affine(d: [f64; 2], at: &ScreenVertex) -> [f64; 3] {
    let unit = f64::from(SUBPIXEL);
    [d[0], d[1], -(d[0] * f64::from(at.x) + d[1] * f64::from(at.y)) / unit]
}

/// Returns the length in pixels.
fn length(v: &[ScreenVertex; 2]) -> f64 {
    let d = [f64::from(v[1].x - v[0].x), f64::from(v[1].y - v[0].y)];
    (d[0] * d[0] + d[1] * d[1]).sqrt() / f64::from(SUBPIXEL)
}

/// Returns the number of fragments by which a line advances a stipple counter.
pub fn counted(v: &[ScreenVertex; 2], mode: LineMode, width: f32) -> f64 {
    match mode {
        LineMode::Bresenham => BresenhamLine::new(v, width).map_or(0.0, |d| f64::from(d.last - d.first + 1)),
        LineMode::Rectangular | LineMode::Smooth => length(v),
    }
}

impl LinePrim {
    /// Makes the data of a line in a mode other than Bresenham; `v` are its ends, before clipping
    /// if they are on the screen.
    pub fn rectangle(v: &[ScreenVertex; 2], width: f32, phase: StipplePhase) -> LinePrim {
        let length = length(v);
        let unit = |d: i32| if length > 0.0 { f64::from(d) / (f64::from(SUBPIXEL) * length) } else { 0.0 };
        let (dx, dy) = (unit(v[1].x - v[0].x), unit(v[1].y - v[0].y));
        let half_width = f64::from(width) * 0.5;
        LinePrim { along: affine([dx, dy], &v[0]), across: affine([-dy, dx], &v[0]), length, half_width, phase }
    }

    /// Makes the data of a Bresenham line: a step along it is a column (row) of fragments.
    pub fn diamonds(d: &BresenhamLine, phase: StipplePhase) -> LinePrim {
        let step = if d.forward { 1.0 } else { -1.0 };
        let start = f64::from(if d.forward { d.first } else { d.last + 1 });
        let gradient = if d.x_major { [step, 0.0] } else { [0.0, step] };
        LinePrim {
            along: [gradient[0], gradient[1], -step * start],
            across: [0.0; 3],
            length: f64::from(d.last - d.first + 1),
            half_width: 0.0,
            phase,
        }
    }

    /// Returns the pixels of the 4×4 block at (x, y) that the stipple draws, at
    /// `offset` in the pixels; `before` is the counter at the start of the chunk.
    pub fn stippled(&self, stipple: Stipple, before: u32, [x, y]: [i32; 2], offset: [f64; 2]) -> u32 {
        let start = f64::from(self.phase.then(before, Some(stipple))) / FRAGMENT;
        // The rectangle's corners are rounded, so a position slightly outside belongs to the first
        // or last fragment.
        let end = (self.length - 1.0 / 512.0).max(0.0);
        (0..16).fold(0, |mask, i| {
            let (px, py) = (f64::from(x + (i & 3)) + offset[0], f64::from(y + (i >> 2)) + offset[1]);
            let along = (self.along[0] * px + self.along[1] * py + self.along[2]).max(0.0).min(end);
            mask | u32::from(stipple.draws(start + along)) << i
        })
    }
}

/// A smooth line, with its stipple and the stipple counter at the start of its chunk.
#[derive(Clone, Copy, Debug)]
pub struct SmoothLine {
    pub line: LinePrim,
    pub stipple: Option<(Stipple, u32)>,
}

impl SmoothLine {
    /// Returns the part of a pixel square that the line covers. It is the product of the overlaps
    /// of a unit interval around the centre with the line's extent across it, and with the parts of
    /// its length that the stipple draws.
    pub fn coverage(&self, x: i32, y: i32) -> f32 {
        let line = &self.line;
        let (px, py) = (f64::from(x) + 0.5, f64::from(y) + 0.5);
        let at = |p: &[f64; 3]| p[0] * px + p[1] * py + p[2];
        let common = |low: f64, high: f64, c: f64| [low.max(c - 0.5), high.min(c + 0.5)];
        let [low, high] = common(-line.half_width, line.half_width, at(&line.across));
        ((high - low).max(0.0) * self.drawn(common(0.0, line.length, at(&line.along)))) as f32
    }

    /// Returns the length of the parts of an interval along the line that the stipple draws. The
    /// interval has at most the length of one of the rectangles into which a stipple divides a line
    /// (Vulkan, "Line Stipple"), so that it meets two of them at most.
    fn drawn(&self, [low, high]: [f64; 2]) -> f64 {
        let length = (high - low).max(0.0);
        let Some((stipple, before)) = self.stipple.filter(|_| length > 0.0) else { return length };
        let start = f64::from(self.line.phase.then(before, Some(stipple))) / FRAGMENT;
        let (low, high) = (start + low, start + high);
        let border = (low.floor() + 1.0).min(high);
        let part = |from: f64, to: f64| if stipple.draws(from) { to - from } else { 0.0 };
        part(low, border) + part(border, high)
    }

    /// Returns the pixels of the 4×4 block at (x, y) of which the line covers a part.
    pub fn covered(&self, [x, y]: [i32; 2]) -> u32 {
        (0..16).fold(0, |mask, i| mask | u32::from(self.coverage(x + (i & 3), y + (i >> 2)) > 0.0) << i)
    }

    /// Returns [`SmoothLine::coverage`] of a quad's pixels.
    pub fn quad_coverage(&self, x: u16, y: u16) -> [f32; 4] {
        core::array::from_fn(|i| self.coverage(i32::from(x) + (i as i32 & 1), i32::from(y) + (i as i32 >> 1)))
    }
}

/// A Bresenham line: the fragments whose diamonds it exits (diamond-exit rule, with ends moved by
/// (-ε, -ε²)), at the line's width.
///
/// In a column of an x-major line, the line meets exactly one diamond at the column's centre: that
/// of the pixel whose centre is nearest. This gives two half planes. Only in the columns of the
/// ends must the code test whether the line meets and leaves the diamond.
#[derive(Clone, Copy, Debug)]
pub struct BresenhamLine {
    x_major: bool,
    /// True if the line runs towards greater coordinates in the major direction.
    forward: bool,
    /// First column (row of a y-major line); `last` is the last one.
    first: i32,
    last: i32,
    /// Pixels x0, y0, x1, y1.
    pub bounds: [i32; 4],
    /// The half planes of the line, of which two bound its minor direction.
    pub edges: [EdgeFunction; 4],
}

/// A line in (major, minor) coordinates.
#[derive(Clone, Copy)]
struct MajorAxisLine {
    /// Start of the line.
    at: [i64; 2],
    /// Vector to the end, reversed if needed so that the major part is positive.
    d: [i64; 2],
    x_major: bool,
    /// True if the ε moves the line to the greater one of two pixels on whose boundary it lies.
    up: bool,
}

impl MajorAxisLine {
    /// Returns the row of the pixel that the line meets at a column's centre.
    fn row(&self, column: i64) -> i64 {
        let centre = column * 2 * HALF + HALF;
        let n = self.at[1] * self.d[0] + self.d[1] * (centre - self.at[0]);
        (n - i64::from(!self.up)).div_euclid(2 * HALF * self.d[0])
    }

    /// Returns the column of an end.
    fn column(&self, end: [i64; 2]) -> i64 {
        (end[0] - 1).div_euclid(2 * HALF)
    }

    /// Returns whether an end lies after the centre of its column, and whether it is inside of the
    /// diamond that the line meets there.
    fn place(&self, end: [i64; 2]) -> (bool, bool) {
        let column = self.column(end);
        let u = end[0] - (column * 2 * HALF + HALF);
        let v = end[1] - (self.row(column) * 2 * HALF + HALF);
        let x = if self.x_major { u } else { v };
        let inside = u.abs() + v.abs() < HALF || (u.abs() + v.abs() == HALF && x > 0);
        // If the end is on the centre, ε moves it below.
        (u > 0, inside)
    }
}

impl BresenhamLine {
    /// Returns `None` if the line leaves no diamond.
    pub fn new(v: &[ScreenVertex; 2], width: f32) -> Option<BresenhamLine> {
        let [p, q] = [&v[0], &v[1]].map(|s| [i64::from(s.x), i64::from(s.y)]);
        let (dx, dy) = (q[0] - p[0], q[1] - p[1]);
        if dx == 0 && dy == 0 {
            return None;
        }
        let x_major = dx.abs() >= dy.abs();
        let rows = i64::from(((width + 0.5).floor() as i32).max(1));
        let turn = |[x, y]: [i64; 2]| if x_major { [x, y] } else { [y, x] };
        let shift = |[major, minor]: [i64; 2]| [major, minor - (rows - 1) * HALF];
        let (start, end) = (shift(turn(p)), shift(turn(q)));
        let forward = end[0] > start[0];
        let sign = if forward { 1 } else { -1 };
        let d = [sign * (end[0] - start[0]), sign * (end[1] - start[1])];
        // An x-major line moves by ε along x, which is up or down by its slope; a y-major one moves
        // by ε along the minor direction, down.
        let line = MajorAxisLine { at: start, d, x_major, up: x_major && d[1] > 0 };
        let ((start_after, start_in), (end_after, end_in)) = (line.place(start), line.place(end));
        let begins = start_in || start_after != forward;
        let ends = !end_in && end_after == forward;
        let (begin, stop) = (line.column(start), line.column(end));
        let (first, last) = if forward {
            (begin + i64::from(!begins), stop - i64::from(!ends))
        } else {
            (stop + i64::from(!ends), begin - i64::from(!begins))
        };
        (first <= last).then(|| line.outline(first, last, rows, forward))
    }
}

impl MajorAxisLine {
    fn outline(&self, first: i64, last: i64, rows: i64, forward: bool) -> BresenhamLine {
        let (r0, r1) = (self.row(first), self.row(last));
        let minor = [r0.min(r1), r0.max(r1) + rows];
        let bounds = [first, minor[0], last + 1, minor[1]].map(|v| v as i32);
        let [a, b] = self.d;
        // The minor distance times `a` at (major, minor) is a*minor - b*major - at.
        let at = a * self.at[1] - b * self.at[0];
        let (strict_low, strict_high) = (i64::from(self.up), i64::from(!self.up));
        let edge = |sign: i64, c: i64| {
            let (major, minor) = ((-sign * b) as i32, (sign * a) as i32);
            let (a, b) = if self.x_major { (major, minor) } else { (minor, major) };
            EdgeFunction { a, b, c }
        };
        let low = edge(1, -at + HALF * a - strict_low);
        let high = edge(-1, at + (HALF + (rows - 1) * 2 * HALF) * a - strict_high);
        let bounds = if self.x_major { bounds } else { [bounds[1], bounds[0], bounds[3], bounds[2]] };
        let none = EdgeFunction::default();
        let (first, last) = (first as i32, last as i32);
        BresenhamLine { x_major: self.x_major, forward, first, last, bounds, edges: [low, high, none, none] }
    }
}

const _: () = assert!(SUBPIXEL_BITS == 8, "a stipple counter's 1/65536 holds sums of lengths to the sub-pixel");

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluates the diamond-exit rule literally: ends are moved by (-ε, -ε²) with an ε of 2^-20
    /// units, in exact arithmetic.
    fn exits(a: [i64; 2], b: [i64; 2], centre: [i64; 2]) -> bool {
        const E: i128 = 1 << 20;
        let moved =
            |p: [i64; 2]| [i128::from(p[0] - centre[0]) * (E * E) - E, i128::from(p[1] - centre[1]) * (E * E) - 1];
        let (a, b) = (moved(a), moved(b));
        let r = i128::from(HALF) * (E * E);
        let inside = |p: [i128; 2]| p[0].abs() + p[1].abs() < r;
        // The sum |x| + |y| is convex along the segment, so it is least at an end or where a
        // coordinate is zero.
        let crosses = |i: usize| {
            let (p, q, o) = (a[i], b[i], 1 - i);
            let other = a[o] * (p - q) + p * (b[o] - a[o]);
            (p < 0) != (q < 0) && other.abs() < r * (p - q).abs()
        };
        !inside(b) && (inside(a) || crosses(0) || crosses(1))
    }

    fn screen(p: [i64; 2]) -> ScreenVertex {
        ScreenVertex { x: p[0] as i32, y: p[1] as i32, z: 0.0, inv_w: 1.0 }
    }

    fn covered(d: &Option<BresenhamLine>, x: i64, y: i64) -> bool {
        d.as_ref().is_some_and(|d| {
            let (cx, cy) = (x * 2 * HALF + HALF, y * 2 * HALF + HALF);
            let inside = |e: &EdgeFunction| i64::from(e.a) * cx + i64::from(e.b) * cy + e.c >= 0;
            let [x0, y0, x1, y1] = d.bounds.map(i64::from);
            d.edges[..2].iter().all(inside) && (x0..x1).contains(&x) && (y0..y1).contains(&y)
        })
    }

    #[test]
    fn bresenham_is_the_diamond_exit_rule() {
        let mut rng = base::random::Rng(7);
        let mut fragments = 0;
        for round in 0..4000 {
            // Coarse positions produce the ties: corners and edges of diamonds, pixel boundaries,
            // slopes of one.
            let step = [1, 32, 64, 128][round % 4];
            let mut at = || [0, 1].map(|_: i64| i64::from(rng.below(2048)) / step * step);
            let (a, b) = (at(), at());
            let d = BresenhamLine::new(&[screen(a), screen(b)], 1.0);
            for (x, y) in (-1..9).flat_map(|y| (-1..9).map(move |x| (x, y))) {
                let want = a != b && exits(a, b, [x * 2 * HALF + HALF, y * 2 * HALF + HALF]);
                assert_eq!(covered(&d, x, y), want, "{a:?} {b:?} pixel {x} {y}");
                fragments += u32::from(want);
            }
        }
        assert!(fragments > 10_000);
    }

    #[test]
    fn wide_bresenham_lines_are_columns() {
        let (a, b) = (screen([128, 128 + 512]), screen([128 + 6 * 256, 128 + 3 * 256]));
        let (one, three) = (BresenhamLine::new(&[a, b], 1.0), BresenhamLine::new(&[a, b], 3.4));
        for (x, y) in (-1..9).flat_map(|y| (-1..9).map(move |x| (x, y))) {
            let want = (-1..=1).any(|o| covered(&one, x, y + o));
            assert_eq!(covered(&three, x, y), want, "{x} {y}");
        }
    }

    #[test]
    fn phases_join_in_any_cut() {
        let stipple = Stipple { factor: 3, pattern: 0x0f0f };
        let lengths = [10.25, 3.7, 0.0, 100.0, 7.123, 51.5];
        let whole = {
            let mut p = StipplePhase::NONE;
            lengths.iter().for_each(|&l| p.advance(l, stipple));
            p.then(0, Some(stipple))
        };
        for cut in 1..lengths.len() {
            let part = |l: &[f64], continued| {
                let mut p = StipplePhase { value: 0, continued };
                l.iter().for_each(|&l| p.advance(l, stipple));
                p
            };
            let first = part(&lengths[..cut], false).then(77, Some(stipple));
            assert_eq!(part(&lengths[cut..], true).then(first, Some(stipple)), whole);
        }
    }

    /// Returns a smooth line between two positions, which are multiples of the sub-pixel.
    fn smooth(from: [i64; 2], to: [i64; 2], stipple: Option<Stipple>) -> SmoothLine {
        let line = LinePrim::rectangle(&[screen(from), screen(to)], 1.0, StipplePhase::NONE);
        SmoothLine { line, stipple: stipple.map(|stipple| (stipple, 0)) }
    }

    #[test]
    fn smooth_coverage_is_area_for_straight_lines() {
        let line = smooth([0, 128], [2560, 128], None);
        assert_eq!(line.coverage(4, 0), 1.0);
        assert_eq!(line.coverage(4, 1), 0.0);
        let line = smooth([64, 192], [2560, 192], None);
        assert_eq!((line.coverage(4, 0), line.coverage(4, 1)), (0.75, 0.25));
        assert_eq!(line.coverage(0, 0), 0.75 * 0.75);
    }

    /// A stipple removes rectangles of unit length, which begin at the start of the line and not at
    /// the borders of pixels.
    #[test]
    fn a_stipple_removes_parts_of_pixels_from_smooth_lines() {
        let coverage = |pattern, x| smooth([64, 128], [2560, 128], Some(Stipple { factor: 1, pattern })).coverage(x, 0);
        // Pixel 4 has a quarter of rectangle 3 and three quarters of rectangle 4.
        assert_eq!([1 << 3, 1 << 4, 3 << 3, !(3 << 3)].map(|pattern| coverage(pattern, 4)), [0.25, 0.75, 1.0, 0.0]);
        assert_eq!((coverage(1, 0), coverage(!1, 0)), (0.75, 0.0));
        // The last rectangle is shorter.
        assert_eq!((coverage(1 << 9, 9), coverage(1 << 9, 10)), (0.75, 0.0));
        let mut rng = base::random::Rng(3);
        for _ in 0..1000 {
            let mut at = || [0, 1].map(|_| i64::from(rng.below(4096)));
            let (from, to) = (at(), at());
            let stipple = Stipple { factor: 1 + rng.below(4), pattern: rng.below(1 << 16) as u16 };
            let inverse = Stipple { pattern: !stipple.pattern, ..stipple };
            let [drawn, others, all] = [Some(stipple), Some(inverse), None].map(|stipple| smooth(from, to, stipple));
            for (x, y) in (0..16).flat_map(|y| (0..16).map(move |x| (x, y))) {
                let [drawn, others, all] = [drawn, others, all].map(|line| line.coverage(x, y));
                assert!((drawn + others - all).abs() < 1e-6, "{drawn} {others} {all}");
            }
        }
    }
}
