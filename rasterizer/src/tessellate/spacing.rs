//! The division of an edge (Vulkan, "Tessellator Spacing").

#![forbid(unsafe_code)]

use base::limits::MAX_TESSELLATION_LEVEL;
pub use base::shader::Spacing;

/// The [`Coordinate`] of 1.0.
pub const ONE: Coordinate = 1 << 16;

/// A tessellation coordinate in units of 2⁻¹⁶, 0 to [`ONE`]. It and one minus it are exact as
/// floats.
pub type Coordinate = u32;

/// Least length of the shortest segment. Inside of a triangle a third of it is not 0, so that no
/// inner vertex lies on an edge of the patch.
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
    /// A division is between that into `segments - 2` equal segments and that into `segments`
    /// equal ones, by how far its level is from the one to the other. The two additional segments
    /// begin with no length at a vertex of the former ([`Division::split`]).
    pub fn vertex(self, i: u32) -> Coordinate {
        if 2 * i > self.segments {
            return ONE - self.vertex(self.segments - i);
        }
        if i == 0 {
            return 0;
        }
        let n = f64::from(self.segments);
        let fewer = self.segments.saturating_sub(2);
        // The share of the division into more segments: 1 for equal spacing.
        let mut share = (f64::from(self.level) - f64::from(fewer)) / 2.0;
        if share > 0.0 {
            share = share.max(n * f64::from(MIN_SEGMENT) / f64::from(ONE));
        }
        let before = if i > self.split() { i - 1 } else { i };
        let place = (1.0 - share) * f64::from(before) / f64::from(fewer.max(1)) + share * f64::from(i) / n;
        // Rounds to nearest: no value is negative.
        (place * f64::from(ONE) + 0.5) as Coordinate
    }

    /// Returns the vertex of half of the division into two segments less, at which a segment
    /// begins. The specification leaves its choice open; this is the one of Direct3D 11, which
    /// hardware makes and of which the CTS has images. Growing levels insert vertices as evenly as
    /// binary fractions are spread: behind the last vertex that has not been split since their
    /// number was a power of two.
    fn split(self) -> u32 {
        let fewer = self.segments.saturating_sub(2);
        // The number of segments of a half, without one in the middle.
        let half = fewer / 2;
        match half.checked_ilog2() {
            // One segment becomes three, which grow from both ends.
            None if fewer == 1 => 0,
            None => 1,
            Some(power) => 2 * (half ^ 1 << power) + 1,
        }
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

    /// Tests that all segments except two are equally long, and that those two are no longer, lie
    /// symmetrically, and shrink as the level falls.
    #[test]
    fn two_segments_are_shorter() {
        for spacing in ALL {
            let mut before: Option<(u32, f64)> = None;
            for level in levels().take(66 * 8) {
                let division = Division::new(level, spacing);
                let all: Vec<_> = division.vertices().map(f64::from).collect();
                let lengths: Vec<_> = all.windows(2).map(|w| w[1] - w[0]).collect();
                let n = lengths.len();
                let short = division.split() as usize;
                if n < 3 {
                    continue;
                }
                let mirrored = n - 1 - short;
                assert!(short < mirrored && lengths[short] == lengths[mirrored], "{spacing:?} {level}");
                let others: Vec<_> = (0..n).filter(|i| ![short, mirrored].contains(i)).map(|i| lengths[i]).collect();
                for length in &others {
                    assert!((length - others[0]).abs() <= 2.0, "{spacing:?} {level}");
                    assert!(lengths[short] <= length + 2.0, "{spacing:?} {level}");
                }
                let relative = lengths[short] / others[0];
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

    /// Tests the vertices that split, and positions between two divisions.
    #[test]
    fn segments_begin_where_those_of_direct3d_11_do() {
        let split = |segments| Division { segments, level: segments as f32 }.split();
        assert_eq!([4, 6, 8, 10, 12, 14, 16, 18].map(split), [1, 1, 3, 1, 3, 5, 7, 1]);
        assert_eq!([3, 5, 7, 9, 11, 13, 15, 17].map(split), [0, 1, 1, 3, 1, 3, 5, 7]);
        // A quarter of the way from 4 to 6 segments, and from 3 to 5.
        let positions = |level, spacing| -> Vec<f32> {
            Division::new(level, spacing).vertices().map(|x| x as f32 / ONE as f32).collect()
        };
        let near = |found: Vec<f32>, expected: &[f32]| {
            let is_near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4);
            assert!(is_near && found.len() == expected.len(), "{found:?} {expected:?}");
        };
        let long = 0.75 / 4.0 + 0.25 / 6.0;
        let short = 0.25 / 6.0;
        let even = [0.0, long, long + short, 0.5, 1.0 - long - short, 1.0 - long, 1.0];
        near(positions(4.5, Spacing::FractionalEven), &even);
        let (long, short) = (0.75 / 3.0 + 0.25 / 5.0, 0.25 / 5.0);
        near(positions(3.5, Spacing::FractionalOdd), &[0.0, long, long + short, 1.0 - long - short, 1.0 - long, 1.0]);
    }
}
