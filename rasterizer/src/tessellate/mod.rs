//! The tessellator, the fixed-function stage between the two tessellation stages, which divides a
//! patch according to its levels (Vulkan, "Tessellation Primitive Generator").
//!
//! A [`TessellationPattern`] has vertices in the domain and the primitives between them; it depends
//! only on a [`TessellationMode`] and the levels. Coordinates are multiples of 2⁻¹⁶ ([`spacing`]),
//! computed for one half of an edge and mirrored, so that the invariance rules hold exactly. An
//! outer edge's vertices depend on its level alone (rules 2, 4), are symmetric (3), and one minus
//! each is exact (8). The triangles at an edge depend on the levels on their two sides (7), those
//! inside on the inner levels (6). The other orientation has the same triangles in the opposite
//! order of vertices (5).

#![forbid(unsafe_code)]

mod quads;
pub mod spacing;
mod strip;
mod triangles;

pub use base::shader::Domain;
use spacing::{Coordinate, Division, Spacing};

/// The tessellation state of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TessellationMode {
    /// The domain that is divided.
    pub domain: Domain,
    /// The spacing of the division.
    pub spacing: Spacing,
    /// Triangles are oriented so that twice their signed area, `u0 v1 - u1 v0 + …`, is positive:
    /// `VertexOrderCw` with the origin in the upper left, `VertexOrderCcw` with the origin in the
    /// lower left.
    pub positive: bool,
    /// `PointMode`: a point per vertex, and no other primitives.
    pub points: bool,
}

/// `TessLevelOuter` and `TessLevelInner`; levels that the domain does not use are ignored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TessellationLevels {
    /// Levels of the edges.
    pub outer: [f32; 4],
    /// Levels of the inside.
    pub inner: [f32; 2],
}

/// A divided patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TessellationPattern {
    /// u and v of the vertices, each once. In triangles w = [`ONE`](spacing::ONE) - u - v.
    pub vertices: Vec<[Coordinate; 2]>,
    /// Vertex numbers of the primitives in sequence, [`TessellationMode::corners`] for each.
    pub primitives: Vec<u32>,
}

impl TessellationMode {
    /// Returns the number of vertices of a primitive.
    pub fn corners(self) -> usize {
        match self.domain {
            _ if self.points => 1,
            Domain::Isolines => 2,
            Domain::Triangles | Domain::Quads => 3,
        }
    }
}

impl TessellationPattern {
    /// Divides a patch and replaces the pattern. A discarded patch has no vertices.
    pub fn make(&mut self, mode: TessellationMode, levels: &TessellationLevels) {
        self.vertices.clear();
        self.primitives.clear();
        let outer = &levels.outer[..mode.domain.outer_levels()];
        if outer.iter().any(|&level| level.is_nan() || level <= 0.0) {
            return;
        }
        match mode.domain {
            Domain::Triangles => triangles::divide(self, mode.spacing, levels),
            Domain::Quads => quads::divide(self, mode.spacing, levels),
            Domain::Isolines => self.isolines(mode.spacing, levels),
        }
        if mode.points {
            self.primitives.clear();
            self.primitives.extend(0..self.vertices.len() as u32);
        } else if mode.domain != Domain::Isolines && !mode.positive {
            self.primitives.as_chunks_mut::<3>().0.iter_mut().for_each(|corners| corners.swap(1, 2));
        }
    }

    /// Adds a vertex and returns its number.
    fn vertex(&mut self, at: [Coordinate; 2]) -> u32 {
        self.vertices.push(at);
        self.vertices.len() as u32 - 1
    }

    fn isolines(&mut self, spacing: Spacing, levels: &TessellationLevels) {
        let [lines, along] = [(0, Spacing::Equal), (1, spacing)].map(|(i, s)| Division::new(levels.outer[i], s));
        for line in 0..lines.segments {
            let v = lines.vertex(line);
            let first = self.vertices.len() as u32;
            self.vertices.extend(along.vertices().map(|u| [u, v]));
            self.primitives.extend((first..first + along.segments).flat_map(|i| [i, i + 1]));
        }
    }
}

#[cfg(test)]
mod tests;
