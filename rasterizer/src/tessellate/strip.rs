//! Triangles between two chains of vertices that follow an edge side by side.

#![forbid(unsafe_code)]

use super::TessellationPattern;
use super::spacing::Coordinate;

/// A vertex of a chain: its position along the edge, and its number.
pub type ChainVertex = (Coordinate, u32);

impl TessellationPattern {
    /// Fills the strip between two chains, which begin and end at corners of their rings. Each has
    /// at least one vertex. The inner chain is to the left of the outer one, so that the triangles'
    /// area is positive.
    ///
    /// The next triangle contains that of the next segments of both chains whose middle is nearer
    /// to the beginning; if they are equally near, that of the inner chain, as in the tessellator
    /// of Direct3D 11, of which the CTS has images. Only positions along the edge are considered,
    /// so that the result depends on the divisions of both chains alone.
    pub fn strip(&mut self, outer: &[ChainVertex], inner: &[ChainVertex]) {
        let (mut i, mut j) = (0, 0);
        while i + 1 < outer.len() || j + 1 < inner.len() {
            let middle = |chain: &[ChainVertex], at: usize| Some(chain[at].0 + chain.get(at + 1)?.0);
            let outside = match (middle(outer, i), middle(inner, j)) {
                (Some(a), Some(b)) => a < b,
                (next, _) => next.is_some(),
            };
            let (a, b) = (outer[i].1, inner[j].1);
            if outside {
                i += 1;
                self.primitives.extend([a, outer[i].1, b]);
            } else {
                j += 1;
                self.primitives.extend([inner[j].1, b, a]);
            }
        }
    }
}
