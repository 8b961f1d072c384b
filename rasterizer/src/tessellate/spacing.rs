//! The division of an edge (Vulkan, "Tessellator Spacing").

#![forbid(unsafe_code)]

use base::limits::MAX_TESSELLATION_LEVEL;
pub use base::shader::Spacing;

/// The [`Coordinate`] of 1.0.
pub const ONE: Coordinate = 1 << 16;

/// A tessellation coordinate in units of 2⁻¹⁶, 0 to [`ONE`]. It and one minus it are exact as
/// floats.
pub type Coordinate = u32;

/// Length of the shortest segment. Inside of a triangle a third of it is not 0, so that no inner
/// vertex lies on an edge of the patch.
const MIN_SEGMENT: Coordinate = 2;

/// The division of an edge. Two divisions with the same fields have the same vertices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Division {
    /// Number of segments, 1 to [`MAX_TESSELLATION_LEVEL`].
    pub segments: u32,
    /// The clamped level; for equal spacing the number of segments.
    level: f32,
}

impl Division {
    /// Makes the division of an edge by a level. A NaN is clamped to the minimum.
    pub fn new(level: f32, spacing: Spacing) -> Division {
        let max = MAX_TESSELLATION_LEVEL as f32;
        let (min, max) = match spacing {
            Spacing::Equal => (1.0, max),
            Spacing::FractionalEven => (2.0, max),
            Spacing::FractionalOdd => (1.0, max - 1.0),
        };
        let level = level.max(min).min(max);
        let up = level.ceil() as u32;
        match spacing {
            Spacing::Equal => Division { segments: up, level: up as f32 },
            Spacing::FractionalEven => Division { segments: up + up % 2, level },
            Spacing::FractionalOdd => Division { segments: up | 1, level },
        }
    }

    /// Returns the division of an inner level that must have more than one segment: that of a level
    /// slightly above 1.
    pub fn at_least_two(self, spacing: Spacing) -> Division {
        if self.segments > 1 { self } else { Division::new(1.0 + f32::EPSILON, spacing) }
    }

    /// Returns the division of an inner level if all inner levels are minimal. If the spacing
    /// allows, its vertices are then the corners, as those of a patch that is not divided, so that
    /// the triangles inside depend on the inner levels alone.
    pub fn closed(self, spacing: Spacing) -> Division {
        match spacing {
            Spacing::FractionalOdd if self.segments == 1 => Division { segments: 3, ..self },
            _ => self.at_least_two(spacing),
        }
    }

    /// Returns the position of vertex `i` of 0 to `segments`; vertex `segments - i` lies at one
    /// minus that.
    ///
    /// The first and last segments are the shorter ones: `f` segments of length 1 / `f` would fill
    /// the edge, `segments - 2` of them exist, and the two share the rest. As the specification
    /// demands, their length falls as `segments - f` grows, from 1 / `f` to (almost) nothing at 2.
    pub fn vertex(self, i: u32) -> Coordinate {
        if 2 * i > self.segments {
            return ONE - self.vertex(self.segments - i);
        }
        if i == 0 {
            return 0;
        }
        let (n, f) = (f64::from(self.segments), f64::from(self.level));
        let first = (1.0 - (n - 2.0) / f) / 2.0;
        // Rounds to nearest: no value is negative, and a segment that would be too short becomes
        // the shortest.
        let place = ((first + f64::from(i - 1) / f) * f64::from(ONE) + 0.5) as Coordinate;
        if self.level > 1.0 { place.max(MIN_SEGMENT) } else { place }
    }

    /// Returns the positions of all vertices.
    pub fn vertices(self) -> impl Iterator<Item = Coordinate> {
        (0..=self.segments).map(move |i| self.vertex(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Spacing; 3] = [Spacing::Equal, Spacing::FractionalEven, Spacing::FractionalOdd];

    fn levels() -> impl Iterator<Item = f32> {
        (0..=66 * 8).map(|i| i as f32 / 8.0).chain([-1.0, 1.0 + f32::EPSILON, 2.0 - f32::EPSILON, 1e9])
    }

    #[test]
    fn levels_are_clamped_and_rounded_as_the_specification_says() {
        let segments = |level, spacing| Division::new(level, spacing).segments;
        for (level, expected) in [
            (-3.0, [1, 2, 1]),
            (f32::NAN, [1, 2, 1]),
            (1.0, [1, 2, 1]),
            (1.5, [2, 2, 3]),
            (2.0, [2, 2, 3]),
            (2.5, [3, 4, 3]),
            (3.0, [3, 4, 3]),
            (3.01, [4, 4, 5]),
            (63.0, [63, 64, 63]),
            (63.5, [64, 64, 63]),
            (f32::INFINITY, [64, 64, 63]),
        ] {
            assert_eq!(ALL.map(|s| segments(level, s)), expected, "{level}");
        }
        assert_eq!(ALL.map(|s| Division::new(1.0, s).at_least_two(s).segments), [2, 2, 3]);
    }

    #[test]
    fn vertices_are_symmetric_and_in_order() {
        for (spacing, level) in ALL.into_iter().flat_map(|s| levels().map(move |l| (s, l))) {
            let division = Division::new(level, spacing);
            let all: Vec<_> = division.vertices().collect();
            assert_eq!((all[0], all[division.segments as usize]), (0, ONE), "{spacing:?} {level}");
            assert!(all.is_sorted(), "{spacing:?} {level}: {all:?}");
            let mirrored: Vec<_> = all.iter().rev().map(|x| ONE - x).collect();
            assert_eq!(all, mirrored, "{spacing:?} {level}");
            for x in all {
                let x = x as f32 / ONE as f32;
                assert_eq!(1.0 - (1.0 - x), x);
            }
        }
    }

    /// Tests that all segments except the first and the last are equally long, and that those two
    /// are no longer and shrink as the level falls.
    #[test]
    fn two_segments_are_shorter() {
        for spacing in ALL {
            let mut before: Option<(u32, f64)> = None;
            for level in levels().take(66 * 8) {
                let division = Division::new(level, spacing);
                let all: Vec<_> = division.vertices().map(f64::from).collect();
                let lengths: Vec<_> = all.windows(2).map(|w| w[1] - w[0]).collect();
                let n = lengths.len();
                assert!((lengths[0] - lengths[n - 1]).abs() <= 1.0, "{spacing:?} {level}");
                if n < 3 {
                    continue;
                }
                for length in &lengths[1..n - 1] {
                    assert!((length - lengths[1]).abs() <= 2.0 && lengths[0] <= length + 2.0, "{spacing:?} {level}");
                }
                let relative = lengths[0] / lengths[1];
                if let Some((segments, smaller)) = before.filter(|b| b.0 == division.segments) {
                    assert!(relative >= smaller - 1e-2, "{spacing:?} {level}: {relative} of {segments}");
                }
                before = Some((division.segments, relative));
                if spacing == Spacing::Equal || level as u32 as f32 == level && level as u32 == division.segments {
                    assert!((relative - 1.0).abs() < 1e-2, "{spacing:?} {level}: {relative}");
                }
            }
        }
    }
}
