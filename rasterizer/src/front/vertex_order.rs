//! The order of a primitive's vertices in the specification, for transform feedback, and for
//! fragments that read values of each vertex or barycentric coordinates.

#![forbid(unsafe_code)]

use crate::api::TopologyClass;

/// Returns the vertices of a primitive in the order of the specification ("Barycentric
/// Interpolation", "Transform Feedback"), as positions in
/// [`Assembled`](super::stream::Assembled).
#[inline(always)]
pub fn vertex_order(class: TopologyClass, provoking_last: bool) -> &'static [usize] {
    match class {
        TopologyClass::Point => &[0],
        TopologyClass::Line => &[0, 1],
        // The provoking vertex is the first one in `Assembled`.
        TopologyClass::Triangle if provoking_last => &[1, 2, 0],
        TopologyClass::Triangle => &[0, 1, 2],
    }
}

/// The vertices of a whole primitive in the order of the specification, which is found only for a
/// row that depends on it.
#[derive(Clone, Copy, Debug)]
pub struct OrderedVertices {
    /// Local vertex numbers of the whole primitive, as it was assembled.
    ids: [u32; 3],
    class: TopologyClass,
    provoking_last: bool,
    /// Positions in `ids` of the corners of the primitive, or of a piece of it.
    piece: [u8; 3],
}

impl OrderedVertices {
    /// Makes the vertices of an assembled primitive.
    #[inline(always)]
    pub fn new(ids: [u32; 3], class: TopologyClass, provoking_last: bool) -> OrderedVertices {
        OrderedVertices { ids, class, provoking_last, piece: [0, 1, 2] }
    }

    /// Returns the same vertices for a piece with these corners of the primitive.
    pub fn of_piece(&self, corners: [usize; 3]) -> OrderedVertices {
        OrderedVertices { piece: corners.map(|corner| corner as u8), ..*self }
    }

    fn order(&self) -> &'static [usize] {
        vertex_order(self.class, self.provoking_last)
    }

    /// Returns the vertex at a position in the order. The last one of a primitive with fewer than
    /// three vertices is at all later positions.
    pub fn get(&self, position: u8) -> u32 {
        let order = self.order();
        self.ids[order[usize::from(position).min(order.len() - 1)]]
    }

    /// Returns the barycentric coordinate of the vertex at a position, at the corners.
    pub fn coordinate(&self, position: u16) -> [f32; 3] {
        let vertex = self.order().get(usize::from(position)).copied();
        self.piece.map(|corner| if vertex == Some(usize::from(corner)) { 1.0 } else { 0.0 })
    }
}
