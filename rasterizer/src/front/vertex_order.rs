//! The order of a primitive's vertices for fragments that read values of each vertex, or
//! barycentric coordinates.

#![forbid(unsafe_code)]

/// The vertices of a whole primitive in the order of the specification ("Barycentric
/// Interpolation").
#[derive(Clone, Copy, Debug)]
pub struct OrderedVertices {
    /// Local vertex numbers of the whole primitive, the provoking vertex of a triangle first.
    ids: [u32; 3],
    /// Positions in the order of the vertices in `ids`, which are not looked up unless a row
    /// depends on the order.
    numbers: &'static [u8; 3],
    /// Positions in `ids` of the corners of the primitive, or of a piece of it.
    piece: [u8; 3],
}

impl OrderedVertices {
    /// Orders the vertices of a primitive with a number of corners. The provoking vertex of a
    /// triangle comes first, which is the last one in the order if `last` is set.
    #[inline(always)]
    pub fn new(ids: [u32; 3], corners: usize, last: bool) -> OrderedVertices {
        let numbers = match corners {
            3 if last => &[2, 0, 1],
            3 => &[0, 1, 2],
            2 => &[0, 1, 1],
            _ => &[0; 3],
        };
        OrderedVertices { ids, numbers, piece: [0, 1, 2] }
    }

    /// Returns the same vertices for a piece with these corners of the primitive.
    pub fn of_piece(&self, corners: [usize; 3]) -> OrderedVertices {
        OrderedVertices { piece: corners.map(|corner| corner as u8), ..*self }
    }

    /// Returns the vertex at a position in the order. The last one of a primitive with fewer than
    /// three vertices is at all later positions.
    pub fn get(&self, position: u8) -> u32 {
        let last = self.numbers.iter().max().map_or(0, |max| position.min(*max));
        self.numbers.iter().zip(self.ids).find(|(number, _)| **number == last).map_or(self.ids[0], |(_, id)| id)
    }

    /// Returns the barycentric coordinate of the vertex at a position, at the corners.
    pub fn coordinate(&self, position: u16) -> [f32; 3] {
        self.piece.map(|corner| if u16::from(self.numbers[usize::from(corner) % 3]) == position { 1.0 } else { 0.0 })
    }
}
