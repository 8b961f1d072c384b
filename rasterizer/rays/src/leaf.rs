//! Contents of leaves: the words of up to four primitives, and their bounds.

#![forbid(unsafe_code)]

use crate::input::{Aabbs, Geometry, GeometryData, TriangleReader, Vertices};
use crate::instance::finite;
use crate::kernels::Kernel;
use crate::layout::{
    ACTIVE, Bounds, Contents, GEOMETRY_INDEX, Header, LEAF_SIZE, NO_PRIMITIVE, aabb_row, bytes_of, motion_row,
    sphere_row, swept_row, triangle_row,
};
use crate::spheres::{SphereReader, SweptSphere};
use crate::vec4::F32x4;
use base::alloc::OutOfMemory;
use base::host::{Host, prefetch};
use base::mem::DeviceMemory;
use core::ops::Range;

/// Reads the primitives of a geometry.
#[derive(Clone, Copy)]
enum Reader {
    Triangles(TriangleReader),
    Aabbs(Aabbs),
    Spheres(SphereReader),
    /// Instances are no primitives of leaves.
    None,
}

/// Reads the primitives of all geometries.
pub struct Readers(Vec<(Reader, u32)>);

/// A primitive by its position in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Primitive {
    /// Index of the geometry.
    pub geometry: u32,
    /// Index in the geometry, or [`NO_PRIMITIVE`].
    pub index: u32,
}

/// The primitives of a leaf.
pub type Lanes = [Primitive; LEAF_SIZE as usize];

/// Rows of a leaf of triangles.
pub type TriangleRows = [F32x4; triangle_row::COUNT];
/// Rows of a leaf of AABBs.
pub type AabbRows = [F32x4; aabb_row::COUNT];

/// Bounds while they are collected: three lanes of numbers without negative zeros. The fourth lanes
/// have no meaning.
#[derive(Clone, Copy)]
pub struct VectorBounds {
    /// Lower bounds.
    pub min: F32x4,
    /// Upper bounds.
    pub max: F32x4,
}

impl VectorBounds {
    /// Returns the bounds of nothing.
    #[inline(always)]
    pub fn empty() -> VectorBounds {
        VectorBounds { min: F32x4::splat(f32::INFINITY), max: F32x4::splat(f32::NEG_INFINITY) }
    }

    /// Returns the smallest bounds with both.
    #[inline(always)]
    pub fn union(self, other: VectorBounds) -> VectorBounds {
        VectorBounds { min: other.min.min(self.min), max: other.max.max(self.max) }
    }

    /// Returns the smallest bounds with a triangle, too; they may have negative zeros.
    #[inline(always)]
    fn with_triangle(self, &[a, b, c]: &Vertices) -> VectorBounds {
        VectorBounds { min: a.min(b).min(c).min(self.min), max: a.max(b).max(c).max(self.max) }
    }

    /// Returns the bounds of a triangle.
    #[inline(always)]
    pub fn of_triangle(vertices: &Vertices) -> VectorBounds {
        VectorBounds::empty().with_triangle(vertices).without_negative_zeros()
    }

    #[inline(always)]
    fn without_negative_zeros(self) -> VectorBounds {
        let zero = F32x4::splat(0.0);
        VectorBounds { min: self.min + zero, max: self.max + zero }
    }

    /// Returns the bounds as arrays.
    #[inline(always)]
    pub fn to_bounds(self) -> Bounds {
        let ([x, y, z, _], [to_x, to_y, to_z, _]) = (self.min.to_array(), self.max.to_array());
        Bounds { min: [x, y, z], max: [to_x, to_y, to_z] }
    }
}

impl From<Bounds> for VectorBounds {
    fn from(bounds: Bounds) -> VectorBounds {
        let Bounds { min: [x, y, z], max: [to_x, to_y, to_z] } = Bounds::EMPTY.union(bounds);
        VectorBounds { min: F32x4::from_array([x, y, z, 0.0]), max: F32x4::from_array([to_x, to_y, to_z, 0.0]) }
    }
}

/// Leaves that are written one after the other.
pub trait LeafSequence {
    /// Returns the primitives of leaves from a place in the sequence on, which all exist.
    fn lanes(&self, first: usize, lanes: &mut [Lanes]);
    /// Prefetches what [`LeafSequence::lanes`] reads; nothing for leaves that do not exist.
    fn prefetch_lanes(&self, leaves: Range<usize>);
}

/// Number of leaves whose primitives, indices and vertices are read one after the other. Primitives
/// of a leaf lie anywhere in the input, so each step prefetches what the next one reads.
const BATCH: usize = 16;

/// The leaves that are written, and the structure to which they belong.
struct LeafWriter<'a> {
    target: DeviceMemory,
    header: &'a Header,
    leaves: &'a dyn LeafSequence,
}

/// The indices of the vertices of a leaf's triangles.
type LaneIndices = [Option<[u32; 3]>; LEAF_SIZE as usize];

impl LeafWriter<'_> {
    /// Writes leaves with the reader of each geometry ([`TriangleReader::indices`] describes
    /// `PLAIN`), and the word of its primitives.
    #[inline(always)]
    fn write_triangles<'r, const PLAIN: bool>(
        &self,
        first: u32,
        reader_of: impl Fn(u32) -> Option<(&'r TriangleReader, u32)>,
        bounds: &mut [VectorBounds],
    ) {
        let (target, offset) = (self.target, self.header.leaf_offset(first));
        let mut lanes = [[Primitive::NONE; LEAF_SIZE as usize]; BATCH];
        let mut indices: [LaneIndices; BATCH] = [[None; LEAF_SIZE as usize]; BATCH];
        for (batch, bounds) in bounds.chunks_mut(BATCH).enumerate() {
            let begin = batch * BATCH;
            self.leaves.prefetch_lanes(begin + BATCH..begin + 2 * BATCH);
            self.leaves.lanes(begin, &mut lanes[..bounds.len()]);
            for primitive in lanes[..bounds.len()].as_flattened() {
                if let Some((reader, _)) = reader_of(primitive.geometry) {
                    reader.prefetch_indices::<PLAIN>(primitive.index);
                }
            }
            for (lanes, indices) in lanes[..bounds.len()].iter().zip(&mut indices) {
                for (primitive, indices) in lanes.iter().zip(indices) {
                    *indices = None;
                    if let Some((reader, _)) = reader_of(primitive.geometry)
                        && let Some(found) = reader.indices::<PLAIN>(primitive.index)
                    {
                        reader.prefetch_vertices(found);
                        *indices = Some(found);
                    }
                }
            }
            for (i, bounds) in bounds.iter_mut().enumerate() {
                let (rows, all) = triangle_leaf::<PLAIN>(&lanes[i], &indices[i], &reader_of);
                write_rows(target, offset + (begin + i) as u64 * Contents::Triangles.leaf_bytes(), &rows);
                *bounds = all;
            }
        }
    }
}

/// Makes a leaf of triangles. Lanes without a primitive, and those with an infinite coordinate,
/// cannot be hit and have no bounds.
#[inline(always)]
fn triangle_leaf<'r, const PLAIN: bool>(
    lanes: &Lanes,
    indices: &LaneIndices,
    reader_of: &impl Fn(u32) -> Option<(&'r TriangleReader, u32)>,
) -> (TriangleRows, VectorBounds) {
    let zero = F32x4::splat(0.0);
    let (mut words, mut micromap) = ([0; LEAF_SIZE as usize], [0; LEAF_SIZE as usize]);
    let mut corners = [[zero; LEAF_SIZE as usize]; 3];
    let mut bounds = VectorBounds::empty();
    let limit = F32x4::splat(f32::INFINITY);
    for (lane, (&primitive, &indices)) in lanes.iter().zip(indices).enumerate() {
        if primitive.index == NO_PRIMITIVE {
            continue;
        }
        let Some((reader, word)) = reader_of(primitive.geometry) else { continue };
        words[lane] = word & !ACTIVE;
        micromap[lane] = reader.micromap_word::<PLAIN>(primitive.index);
        let Some([a, b, c]) = indices.and_then(|indices| reader.vertices::<PLAIN>(indices)) else { continue };
        let largest = a.abs().max(b.abs()).max(c.abs());
        if limit.greater(largest).bits() & 0b111 == 0b111 {
            (corners[0][lane], corners[1][lane], corners[2][lane]) = (a, b, c);
            bounds = bounds.with_triangle(&[a, b, c]);
            words[lane] |= ACTIVE;
        }
    }
    let mut rows = [zero; triangle_row::COUNT];
    for (vertex, lanes) in corners.into_iter().enumerate() {
        let [x, y, z, _] = F32x4::transpose(lanes);
        rows[triangle_row::VERTEX + 3 * vertex] = x;
        rows[triangle_row::VERTEX + 3 * vertex + 1] = y;
        rows[triangle_row::VERTEX + 3 * vertex + 2] = z;
    }
    rows[triangle_row::PRIMITIVE] = F32x4::from_bits(lanes.map(|lane| lane.index));
    rows[triangle_row::GEOMETRY] = F32x4::from_bits(words);
    rows[triangle_row::MICROMAP] = F32x4::from_bits(micromap);
    (rows, bounds.without_negative_zeros())
}

impl Primitive {
    /// No primitive.
    pub const NONE: Primitive = Primitive { geometry: 0, index: NO_PRIMITIVE };
}

/// Writes consecutive leaves, and their bounds. Only the code for triangles of one plain geometry
/// is compiled for each processor level: vertices of other formats, and other primitives, are
/// decoded one by one.
pub struct WriteLeaves<'a> {
    /// The readers of the input.
    pub readers: &'a Readers,
    /// Memory of the structure.
    pub target: DeviceMemory,
    /// Header of the structure.
    pub header: &'a Header,
    /// Number of the first leaf.
    pub first: u32,
    /// The leaves.
    pub leaves: &'a dyn LeafSequence,
    /// Bounds of the leaves.
    pub bounds: &'a mut [VectorBounds],
}

impl Kernel for WriteLeaves<'_> {
    type Output = ();

    #[inline(always)]
    fn run<H: Host>(self) {
        let WriteLeaves { readers, target, header, first, leaves, bounds } = self;
        let writer = LeafWriter { target, header, leaves };
        match &readers.0[..] {
            [(Reader::Triangles(reader), word)] if header.contents == Contents::Triangles && reader.is_plain() => {
                let only = |geometry: u32| (geometry == 0).then_some((reader, *word));
                writer.write_triangles::<true>(first, only, bounds);
            }
            _ => readers.write_any_leaves(&writer, first, bounds),
        }
    }
}

impl Readers {
    /// Makes the readers of all geometries.
    pub fn new(geometries: &[Geometry]) -> Result<Readers, OutOfMemory> {
        base::alloc::collect(geometries.iter().enumerate().map(|(i, geometry)| {
            let reader = match &geometry.data {
                GeometryData::Triangles(triangles) => Reader::Triangles(TriangleReader::new(triangles)),
                GeometryData::Aabbs(aabbs) => Reader::Aabbs(*aabbs),
                GeometryData::Spheres(spheres) => Reader::Spheres(SphereReader::of_spheres(spheres)),
                GeometryData::SweptSpheres(swept) => Reader::Spheres(SphereReader::of_swept_spheres(swept)),
                GeometryData::Instances(_) | GeometryData::MotionInstances(_) => Reader::None,
            };
            (reader, geometry.word(i))
        }))
        .map(Readers)
    }

    /// Returns the reader of a geometry of triangles.
    #[inline(always)]
    pub fn triangles(&self, geometry: u32) -> Option<&TriangleReader> {
        Some(self.triangles_and_word(geometry)?.0)
    }

    /// Returns the bounds of an AABB.
    #[inline(always)]
    pub fn aabb(&self, primitive: Primitive) -> Option<Bounds> {
        match self.0.get(primitive.geometry as usize) {
            Some((Reader::Aabbs(aabbs), _)) => aabbs.read(primitive.index),
            _ => None,
        }
    }

    /// Returns a sphere or a swept sphere.
    #[inline(always)]
    pub fn sphere(&self, primitive: Primitive) -> Option<SweptSphere> {
        match self.0.get(primitive.geometry as usize) {
            Some((Reader::Spheres(reader), _)) => reader.read(primitive.index),
            _ => None,
        }
    }

    fn word(&self, geometry: u32) -> u32 {
        self.0.get(geometry as usize).map_or(0, |(_, word)| *word)
    }

    #[inline(never)]
    fn write_any_leaves(&self, writer: &LeafWriter, first: u32, bounds: &mut [VectorBounds]) {
        match writer.header.contents {
            Contents::Triangles => {
                writer.write_triangles::<false>(first, |geometry| self.triangles_and_word(geometry), bounds);
            }
            Contents::Spheres => {
                self.write_others(writer, first, bounds, Self::sphere_leaf::<1, { sphere_row::COUNT }>);
            }
            Contents::SweptSpheres => {
                self.write_others(writer, first, bounds, Self::sphere_leaf::<2, { swept_row::COUNT }>);
            }
            Contents::MotionTriangles => self.write_others(writer, first, bounds, Self::motion_leaf),
            _ => self.write_others(writer, first, bounds, Self::aabb_leaf),
        }
    }

    /// Writes leaves of other primitives than triangles at rest, each of which `make` makes.
    fn write_others<const ROWS: usize>(
        &self,
        writer: &LeafWriter,
        first: u32,
        bounds: &mut [VectorBounds],
        make: fn(&Self, &Lanes) -> ([F32x4; ROWS], VectorBounds),
    ) {
        let mut lanes = [[Primitive::NONE; LEAF_SIZE as usize]; BATCH];
        for (batch, bounds) in bounds.chunks_mut(BATCH).enumerate() {
            let begin = batch * BATCH;
            writer.leaves.prefetch_lanes(begin + BATCH..begin + 2 * BATCH);
            writer.leaves.lanes(begin, &mut lanes[..bounds.len()]);
            lanes[..bounds.len()].as_flattened().iter().for_each(|&primitive| self.prefetch_aabb(primitive));
            for (i, bounds) in bounds.iter_mut().enumerate() {
                let (rows, all) = make(self, &lanes[i]);
                write_rows(writer.target, writer.header.leaf_offset(first + (begin + i) as u32), &rows);
                *bounds = all;
            }
        }
    }

    /// Returns the reader of a geometry of triangles, and the word of its primitives.
    #[inline(always)]
    fn triangles_and_word(&self, geometry: u32) -> Option<(&TriangleReader, u32)> {
        match self.0.get(geometry as usize) {
            Some((Reader::Triangles(reader), word)) => Some((reader, *word)),
            _ => None,
        }
    }

    /// Prefetches a box; nothing for primitives of other kinds.
    #[inline(always)]
    fn prefetch_aabb(&self, primitive: Primitive) {
        if let Some((Reader::Aabbs(aabbs), _)) = self.0.get(primitive.geometry as usize) {
            let offset = u64::from(primitive.index).wrapping_mul(aabbs.stride);
            prefetch(aabbs.boxes.address().wrapping_add(offset) as *const u8);
        }
    }

    /// Makes a leaf of primitives with a number of ends. Lanes without a primitive, and those that
    /// are infinite, cannot be hit and have no bounds.
    fn sphere_leaf<const ENDS: usize, const ROWS: usize>(&self, lanes: &Lanes) -> ([F32x4; ROWS], VectorBounds) {
        const { assert!(ROWS == 4 * ENDS + 2 && ENDS <= 2) };
        let mut words = [[0; LEAF_SIZE as usize]; ROWS];
        let mut bounds = Bounds::EMPTY;
        words[4 * ENDS] = lanes.map(|lane| lane.index);
        for (lane, &primitive) in lanes.iter().enumerate() {
            if primitive.index == NO_PRIMITIVE {
                continue;
            }
            words[4 * ENDS + 1][lane] = self.word(primitive.geometry) & !ACTIVE;
            let Some(sphere) = self.sphere(primitive).filter(SweptSphere::is_finite) else { continue };
            for (row, value) in sphere.ends.as_flattened().iter().enumerate().take(4 * ENDS) {
                words[row][lane] = value.to_bits();
            }
            words[4 * ENDS + 1][lane] |= ACTIVE | sphere.caps;
            bounds = bounds.union(sphere.bounds());
        }
        (words.map(F32x4::from_bits), bounds.into())
    }

    /// Makes a leaf of triangles that move, with bounds around both of their ends. Lanes that
    /// cannot be hit at one of the ends cannot be hit at all.
    fn motion_leaf(&self, lanes: &Lanes) -> ([F32x4; motion_row::COUNT], VectorBounds) {
        let [(start, start_bounds), (end, end_bounds)] = [false, true].map(|at_end| self.end_of_motion(lanes, at_end));
        let mut rows = [F32x4::splat(0.0); motion_row::COUNT];
        rows[..triangle_row::COUNT].copy_from_slice(&start);
        rows[motion_row::END_VERTEX..].copy_from_slice(&end[triangle_row::VERTEX..][..9]);
        let [a, b] = [start, end].map(|rows| rows[triangle_row::GEOMETRY].to_bits());
        rows[triangle_row::GEOMETRY] = F32x4::from_bits([0, 1, 2, 3].map(|lane| a[lane] & b[lane]));
        (rows, start_bounds.union(end_bounds))
    }

    /// Makes a leaf of triangles at the time 0 or 1.
    #[inline(never)]
    fn end_of_motion(&self, lanes: &Lanes, at_end: bool) -> (TriangleRows, VectorBounds) {
        let readers = lanes.map(|lane| {
            let (reader, word) = self.triangles_and_word(lane.geometry)?;
            Some((reader.at(at_end), word))
        });
        let indices = lanes.map(|lane| self.triangles(lane.geometry)?.indices::<false>(lane.index));
        let reader_of = |geometry: u32| {
            let lane = lanes.iter().position(|lane| lane.geometry == geometry)?;
            readers[lane].as_ref().map(|(reader, word)| (reader, *word))
        };
        triangle_leaf::<false>(lanes, &indices, &reader_of)
    }

    /// Makes a leaf of AABBs. Lanes without a primitive cannot be hit and have no bounds.
    #[inline(always)]
    fn aabb_leaf(&self, lanes: &Lanes) -> (AabbRows, VectorBounds) {
        let mut words = [[0; LEAF_SIZE as usize]; aabb_row::COUNT];
        let mut bounds = Bounds::EMPTY;
        words[aabb_row::PRIMITIVE] = lanes.map(|lane| lane.index);
        for (lane, &primitive) in lanes.iter().enumerate() {
            if primitive.index == NO_PRIMITIVE {
                continue;
            }
            let mut word = self.word(primitive.geometry);
            if let Some(aabb) = self.aabb(primitive) {
                for axis in 0..3 {
                    words[aabb_row::MIN + axis][lane] = aabb.min[axis].to_bits();
                    words[aabb_row::MAX + axis][lane] = aabb.max[axis].to_bits();
                }
                bounds = bounds.union(Bounds { min: aabb.min.map(finite), max: aabb.max.map(finite) });
            } else {
                word &= !ACTIVE;
            }
            words[aabb_row::GEOMETRY][lane] = word;
        }
        (words.map(F32x4::from_bits), bounds.into())
    }
}

/// Writes rows, little-endian.
#[inline(always)]
fn write_rows(target: DeviceMemory, offset: u64, rows: &[F32x4]) {
    for (row, at) in rows.iter().zip((offset..).step_by(16)) {
        target.write(at, &bytes_of::<4, 16>(&row.to_bits()));
    }
}

/// Returns the primitives that a leaf names in its rows of primitive indices and geometry words.
pub fn lanes(primitives: [u32; 4], geometries: [u32; 4]) -> Lanes {
    let mut lanes = [Primitive::NONE; LEAF_SIZE as usize];
    for (lane, primitive) in lanes.iter_mut().enumerate() {
        *primitive = Primitive { geometry: geometries[lane] & GEOMETRY_INDEX, index: primitives[lane] };
    }
    lanes
}
