//! Primitive assembly: index fetch, restart, and the vertices of primitive `i` of each topology.
//!
//! Restart indices cut a draw's index stream into segments; primitive numbers continue through the
//! segments of an instance (`PrimitiveId`). Every primitive lists its provoking vertex first.

use crate::api::{DrawCounts, DrawState, IndexBuffer, SmallVec1, Topology};
use base::limits::MAX_PATCH_VERTICES;
use base::mem::MemoryRange;

/// A run of the index stream without a restart index.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Position of the first vertex in the draw's vertex or index stream.
    pub first: u32,
    /// Number of primitives.
    pub primitives: u32,
    /// Number of the first primitive within the instance.
    pub base: u32,
}

impl Topology {
    /// Returns the number of whole primitives in `n` vertices; a patch has `patch_vertices`.
    pub fn primitives(self, n: u32, patch_vertices: u32) -> u32 {
        match self {
            Topology::PointList => n,
            Topology::LineList => n / 2,
            Topology::LineStrip => n.saturating_sub(1),
            Topology::TriangleList => n / 3,
            Topology::TriangleStrip | Topology::TriangleFan => n.saturating_sub(2),
            Topology::LineListWithAdjacency => n / 4,
            Topology::LineStripWithAdjacency => n.saturating_sub(3),
            Topology::TriangleListWithAdjacency => n / 6,
            Topology::TriangleStripWithAdjacency => (n / 2).saturating_sub(2),
            Topology::PatchList => n / patch_vertices.max(1),
        }
    }

    /// Returns the stream positions of primitive `i`, relative to the segment, with the provoking
    /// vertex first.
    #[inline]
    pub fn vertices(self, i: u32) -> [u32; 3] {
        let odd = i & 1;
        match self {
            Topology::PointList => [i, i, i],
            // No primitive of a patch list is drawn without tessellation.
            Topology::PatchList => [i, i, i],
            Topology::LineList => [2 * i, 2 * i + 1, 2 * i],
            Topology::LineStrip => [i, i + 1, i],
            Topology::TriangleList => [3 * i, 3 * i + 1, 3 * i + 2],
            Topology::TriangleStrip => [i, i + 1 + odd, i + 2 - odd],
            Topology::TriangleFan => [i + 1, i + 2, 0],
            Topology::LineListWithAdjacency => [4 * i + 1, 4 * i + 2, 4 * i + 1],
            Topology::LineStripWithAdjacency => [i + 1, i + 2, i + 1],
            Topology::TriangleListWithAdjacency => [6 * i, 6 * i + 2, 6 * i + 4],
            Topology::TriangleStripWithAdjacency => [2 * i, 2 * i + 2 + 2 * odd, 2 * i + 4 - 2 * odd],
        }
    }
}

impl Topology {
    /// Returns the number of vertices of a primitive, if primitives neither share vertices nor
    /// leave any out.
    pub fn list(self) -> Option<u32> {
        match self {
            Topology::PointList => Some(1),
            Topology::LineList => Some(2),
            Topology::TriangleList => Some(3),
            _ => None,
        }
    }

    /// Returns [`Topology::vertices`] for the mode in which the last vertex is the provoking one:
    /// triangles are rotated so that it comes first. The ends of a line keep their order, which has
    /// a meaning of its own.
    #[inline]
    pub fn vertices_last_first(self, i: u32) -> [u32; 3] {
        let [a, b, c] = self.vertices(i);
        match self {
            Topology::TriangleList
            | Topology::TriangleListWithAdjacency
            | Topology::TriangleStrip
            | Topology::TriangleStripWithAdjacency
            | Topology::TriangleFan => {
                if self.ends_early(i) {
                    [b, c, a]
                } else {
                    [c, a, b]
                }
            }
            _ => [a, b, c],
        }
    }
}

impl Topology {
    /// Returns all vertices of primitive `i` of `n` in the order in which a geometry stage receives
    /// them, followed by copies of the first one. The provoking vertex is the first of the
    /// primitive's own (non-adjacency) vertices, or with `last` the last one (specification,
    /// "Primitive Topologies" and `VkProvokingVertexModeEXT`). The vertices of a triangle are
    /// rotated for that, which keeps its winding order.
    #[inline]
    pub fn all_vertices(self, i: u32, n: u32, last: bool) -> [u32; 6] {
        let few = |v: [u32; 3]| [v[0], v[1], v[2], v[0], v[0], v[0]];
        let run = |first: u32| core::array::from_fn(|k| first + k as u32);
        match self {
            Topology::PointList
            | Topology::PatchList
            | Topology::LineList
            | Topology::LineStrip
            | Topology::TriangleList => few(self.vertices(i)),
            Topology::TriangleStrip | Topology::TriangleFan => {
                let [a, b, c] = self.vertices(i);
                few(if last && self.ends_early(i) { [c, a, b] } else { [a, b, c] })
            }
            Topology::LineListWithAdjacency => [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3, 4 * i, 4 * i],
            Topology::LineStripWithAdjacency => [i, i + 1, i + 2, i + 3, i, i],
            Topology::TriangleListWithAdjacency => run(6 * i),
            Topology::TriangleStripWithAdjacency => {
                let before = if i == 0 { 1 } else { 2 * i - 2 };
                let behind = 2 * i + if i + 1 == n { 5 } else { 6 };
                let [a, b, c] = self.vertices(i);
                if !self.ends_early(i) {
                    [a, before, b, behind, c, 2 * i + 3]
                } else if last {
                    [c, before, a, 2 * i + 3, b, behind]
                } else {
                    [a, 2 * i + 3, b, behind, c, before]
                }
            }
        }
    }

    /// Returns true if the provoking vertex of the last-vertex mode is the second one of
    /// [`Topology::vertices`], and not the third. In a fan the common vertex is the third one, and
    /// every other triangle of a strip has the last two exchanged.
    #[inline]
    fn ends_early(self, i: u32) -> bool {
        match self {
            Topology::TriangleStrip | Topology::TriangleStripWithAdjacency => i & 1 == 1,
            Topology::TriangleFan => true,
            _ => false,
        }
    }
}

/// The vertices of a primitive in the form that a stage receives: three, six or a patch.
pub trait PrimitiveVertices: Copy + AsMut<[u32]> {
    /// Returns the stream positions of primitive `i` of the `n` primitives of a segment, relative
    /// to the segment.
    fn from_topology(state: &DrawState, i: u32, n: u32) -> Self;
}

/// The vertices for setup, with the provoking vertex first.
impl PrimitiveVertices for [u32; 3] {
    #[inline(always)]
    fn from_topology(state: &DrawState, i: u32, _n: u32) -> Self {
        let topology = state.topology;
        if state.provoking_last { topology.vertices_last_first(i) } else { topology.vertices(i) }
    }
}

/// All vertices for a geometry stage, in the order that the provoking mode defines.
impl PrimitiveVertices for [u32; 6] {
    #[inline(always)]
    fn from_topology(state: &DrawState, i: u32, n: u32) -> Self {
        state.topology.all_vertices(i, n, state.provoking_last)
    }
}

/// The vertices of a patch.
#[derive(Clone, Copy)]
pub struct Patch {
    vertices: [u32; Patch::MAX_VERTICES],
    count: u32,
}

impl Patch {
    /// Largest number of vertices (`maxTessellationPatchSize`).
    pub const MAX_VERTICES: usize = MAX_PATCH_VERTICES as usize;

    /// Returns the vertices, of which there is at least one.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices[..self.count as usize]
    }
}

impl AsMut<[u32]> for Patch {
    fn as_mut(&mut self) -> &mut [u32] {
        &mut self.vertices[..self.count as usize]
    }
}

/// The consecutive vertices of a patch, as many as the state has per patch.
impl PrimitiveVertices for Patch {
    fn from_topology(state: &DrawState, i: u32, _n: u32) -> Self {
        let count = state.patch_vertices.clamp(1, Patch::MAX_VERTICES as u32);
        let mut vertices = [0; Patch::MAX_VERTICES];
        for (vertex, at) in vertices[..count as usize].iter_mut().zip(0..) {
            *vertex = i.wrapping_mul(count).wrapping_add(at);
        }
        Patch { vertices, count }
    }
}

/// Reads one index; a read outside of the buffer's memory gives 0 (robust buffer access).
#[inline(always)]
pub fn read_index(buffer: &IndexBuffer, position: u64) -> u32 {
    // A position before the memory wraps to so large an offset that any length added to it
    // overflows.
    let at = |bytes: u64| (position * bytes).wrapping_sub(buffer.before);
    match buffer.index_bytes {
        1 => u32::from(read::<1>(&buffer.range, at(1))[0]),
        2 => u32::from(u16::from_le_bytes(read(&buffer.range, at(2)))),
        _ => u32::from_le_bytes(read(&buffer.range, at(4))),
    }
}

/// Returns `N` bytes at an offset if all of them lie inside, and zeros otherwise.
#[inline(always)]
fn read<const N: usize>(range: &MemoryRange, offset: u64) -> [u8; N] {
    match range.exact(offset, N as u64) {
        // SAFETY: the icd guarantees the range, and `exact` checked that the bytes lie inside of
        // it.
        Some(bytes) => unsafe { bytes.address.cast::<[u8; N]>().read_unaligned() },
        None => [0; N],
    }
}

/// Returns the segments into which restart indices cut a draw.
pub fn segments(state: &DrawState, counts: &DrawCounts, indices: Option<&IndexBuffer>) -> SmallVec1<Segment> {
    let (mut out, mut base) = (SmallVec1::new(), 0u32);
    let mut push = |first: u32, count: u32| {
        let primitives = state.topology.primitives(count, state.patch_vertices);
        if primitives > 0 {
            out.push(Segment { first, primitives, base });
            base = base.wrapping_add(primitives);
        }
    };
    let Some(indices) = indices.filter(|_| state.primitive_restart) else {
        push(0, counts.count);
        return out;
    };
    let max = (u64::MAX >> (64 - 8 * indices.index_bytes.clamp(1, 4))) as u32;
    let restart_index = indices.restart.unwrap_or(max);
    // Every index after the buffer's end reads as 0, so either none of them restarts or all do.
    let end = indices.before.saturating_add(indices.range.size);
    let inside = (end / u64::from(indices.index_bytes.clamp(1, 4))).saturating_sub(counts.first.into());
    let mut start = 0;
    for i in 0..u64::from(counts.count).min(inside) as u32 {
        if read_index(indices, u64::from(counts.first) + u64::from(i)) == restart_index {
            push(start, i - start);
            start = i + 1;
        }
    }
    let end = if restart_index == 0 { u64::from(counts.count).min(inside) as u32 } else { counts.count };
    push(start, end.saturating_sub(start));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vertices of consecutive primitives, each as a stage receives them.
    type Order = &'static [&'static [u32]];

    /// The vertices of the first primitives of every topology, from the equations of the
    /// specification ("Primitive Topologies"), with the first vertex provoking and with the last
    /// one. The equations hold for the first mode. In the other one the list is rotated so that the
    /// vertex that the specification calls provoking is "the last non-adjacency vertex in the list
    /// of vertices" (`VkProvokingVertexModeEXT`).
    #[rustfmt::skip]
    static ORDERS: &[(Topology, Order, Order)] = &[
        (Topology::PointList, &[&[0], &[1], &[2]], &[&[0], &[1], &[2]]),
        (Topology::LineList, &[&[0, 1], &[2, 3]], &[&[0, 1], &[2, 3]]),
        (Topology::LineStrip, &[&[0, 1], &[1, 2], &[2, 3]], &[&[0, 1], &[1, 2], &[2, 3]]),
        (Topology::TriangleList, &[&[0, 1, 2], &[3, 4, 5]], &[&[0, 1, 2], &[3, 4, 5]]),
        (Topology::TriangleStrip,
            &[&[0, 1, 2], &[1, 3, 2], &[2, 3, 4], &[3, 5, 4]],
            &[&[0, 1, 2], &[2, 1, 3], &[2, 3, 4], &[4, 3, 5]]),
        (Topology::TriangleFan,
            &[&[1, 2, 0], &[2, 3, 0], &[3, 4, 0]],
            &[&[0, 1, 2], &[0, 2, 3], &[0, 3, 4]]),
        (Topology::LineListWithAdjacency, &[&[0, 1, 2, 3], &[4, 5, 6, 7]], &[&[0, 1, 2, 3], &[4, 5, 6, 7]]),
        (Topology::LineStripWithAdjacency,
            &[&[0, 1, 2, 3], &[1, 2, 3, 4], &[2, 3, 4, 5]],
            &[&[0, 1, 2, 3], &[1, 2, 3, 4], &[2, 3, 4, 5]]),
        (Topology::TriangleListWithAdjacency,
            &[&[0, 1, 2, 3, 4, 5], &[6, 7, 8, 9, 10, 11]],
            &[&[0, 1, 2, 3, 4, 5], &[6, 7, 8, 9, 10, 11]]),
        (Topology::TriangleStripWithAdjacency, &[&[0, 1, 2, 5, 4, 3]], &[&[0, 1, 2, 5, 4, 3]]),
        (Topology::TriangleStripWithAdjacency,
            &[&[0, 1, 2, 6, 4, 3], &[2, 5, 6, 7, 4, 0]],
            &[&[0, 1, 2, 6, 4, 3], &[4, 0, 2, 5, 6, 7]]),
        (Topology::TriangleStripWithAdjacency,
            &[&[0, 1, 2, 6, 4, 3], &[2, 5, 6, 8, 4, 0], &[4, 2, 6, 9, 8, 7]],
            &[&[0, 1, 2, 6, 4, 3], &[4, 0, 2, 5, 6, 8], &[4, 2, 6, 9, 8, 7]]),
        (Topology::TriangleStripWithAdjacency,
            &[&[0, 1, 2, 6, 4, 3], &[2, 5, 6, 8, 4, 0], &[4, 2, 6, 10, 8, 7], &[6, 9, 10, 11, 8, 4]],
            &[&[0, 1, 2, 6, 4, 3], &[4, 0, 2, 5, 6, 8], &[4, 2, 6, 10, 8, 7], &[8, 4, 6, 9, 10, 11]]),
    ];

    /// The positions of a primitive's own vertices among those that a stage receives.
    fn own(received: &[u32]) -> Vec<u32> {
        match *received {
            [_, b, c, _] => vec![b, c],
            [a, _, b, _, c, _] => vec![a, b, c],
            ref all => all.to_vec(),
        }
    }

    #[test]
    fn stages_receive_vertices_in_the_order_of_the_specification() {
        for &(topology, first, last) in ORDERS {
            for (provoking_last, order) in [(false, first), (true, last)] {
                for (i, &want) in (0..).zip(order) {
                    let got = topology.all_vertices(i, order.len() as u32, provoking_last);
                    assert_eq!(&got[..want.len()], want, "{topology:?} {i}, last: {provoking_last}");
                    assert!(got[want.len()..].iter().all(|&v| v == want[0]), "the others are the first one");
                }
            }
        }
    }

    /// Setup receives the provoking vertex first; a triangle keeps the winding order of the
    /// specification, and a line keeps the order of its ends.
    #[test]
    fn setup_receives_the_provoking_vertex_first() {
        for &(topology, first, last) in ORDERS {
            for (i, (first, last)) in (0..).zip(first.iter().zip(last)) {
                let [first, last] = [own(first), own(last)];
                let n = first.len();
                assert_eq!(topology.vertices(i)[..n], first[..], "{topology:?} {i}");
                let mut turned = topology.vertices_last_first(i);
                if n == 3 {
                    turned.rotate_left(1);
                }
                assert_eq!(turned[..n], last[..], "{topology:?} {i}");
            }
        }
    }
}
