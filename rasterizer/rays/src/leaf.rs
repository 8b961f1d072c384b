//! Contents of leaves: the words of up to four triangles or AABBs, and their bounds.

#![forbid(unsafe_code)]

use crate::input::{Aabbs, Geometry, GeometryData, TriangleReader, Vertices};
use crate::instance::finite;
use crate::layout::{
    ACTIVE, Bounds, Contents, GEOMETRY_INDEX, LEAF_SIZE, NO_PRIMITIVE, aabb_row, bytes_of, triangle_row,
};
use crate::vec4::F32x4;
use base::alloc::OutOfMemory;
use base::host::prefetch;
use base::mem::DeviceMemory;

/// Reads the primitives of a geometry.
#[derive(Clone, Copy)]
enum Reader {
    Triangles(TriangleReader),
    Aabbs(Aabbs),
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

impl Primitive {
    /// No primitive.
    pub const NONE: Primitive = Primitive { geometry: 0, index: NO_PRIMITIVE };
}

impl Readers {
    /// Makes the readers of all geometries.
    pub fn new(geometries: &[Geometry]) -> Result<Readers, OutOfMemory> {
        base::alloc::collect(geometries.iter().enumerate().map(|(i, geometry)| {
            let reader = match &geometry.data {
                GeometryData::Triangles(triangles) => Reader::Triangles(TriangleReader::new(triangles)),
                GeometryData::Aabbs(aabbs) => Reader::Aabbs(*aabbs),
                GeometryData::Instances(_) => Reader::None,
            };
            (reader, geometry.word(i))
        }))
        .map(Readers)
    }

    /// Returns the reader of a geometry of triangles.
    #[inline(always)]
    pub fn triangles(&self, geometry: u32) -> Option<&TriangleReader> {
        match self.0.get(geometry as usize) {
            Some((Reader::Triangles(reader), _)) => Some(reader),
            _ => None,
        }
    }

    /// Returns the bounds of an AABB.
    #[inline(always)]
    pub fn aabb(&self, primitive: Primitive) -> Option<Bounds> {
        match self.0.get(primitive.geometry as usize) {
            Some((Reader::Aabbs(aabbs), _)) => aabbs.read(primitive.index),
            _ => None,
        }
    }

    fn word(&self, geometry: u32) -> u32 {
        self.0.get(geometry as usize).map_or(0, |(_, word)| *word)
    }

    /// Prefetches what [`Readers::prefetch_vertices`] reads of a primitive.
    #[inline(always)]
    pub fn prefetch_indices(&self, primitive: Primitive) {
        if let Some(reader) = self.triangles(primitive.geometry) {
            reader.prefetch_indices(primitive.index);
        }
    }

    /// Prefetches the vertices of a triangle, or a box.
    #[inline(always)]
    pub fn prefetch_vertices(&self, primitive: Primitive) {
        match self.0.get(primitive.geometry as usize) {
            Some((Reader::Triangles(reader), _)) => reader.prefetch_vertices(primitive.index),
            Some((Reader::Aabbs(aabbs), _)) => {
                let offset = u64::from(primitive.index).wrapping_mul(aabbs.stride);
                prefetch(aabbs.boxes.address().wrapping_add(offset) as *const u8);
            }
            _ => {}
        }
    }

    /// Writes a leaf of triangles or AABBs, and returns its bounds.
    #[inline(always)]
    pub fn write_leaf(&self, target: DeviceMemory, offset: u64, contents: Contents, lanes: &Lanes) -> VectorBounds {
        if contents == Contents::Triangles {
            let (rows, bounds) = self.triangle_leaf(lanes);
            target.write(offset, &bytes_of_rows::<{ triangle_row::COUNT }, 192>(rows));
            bounds
        } else {
            let (rows, bounds) = self.aabb_leaf(lanes);
            target.write(offset, &bytes_of_rows::<{ aabb_row::COUNT }, 128>(rows));
            bounds
        }
    }

    /// Makes a leaf of triangles. Lanes without a primitive, and those with an infinite
    /// coordinate, cannot be hit and have no bounds.
    #[inline(always)]
    fn triangle_leaf(&self, lanes: &Lanes) -> (TriangleRows, VectorBounds) {
        let zero = F32x4::splat(0.0);
        let (mut words, mut micromap) = ([0; LEAF_SIZE as usize], [0; LEAF_SIZE as usize]);
        let mut corners = [[zero; LEAF_SIZE as usize]; 3];
        let mut bounds = VectorBounds::empty();
        let limit = F32x4::splat(f32::INFINITY);
        for (lane, &primitive) in lanes.iter().enumerate() {
            if primitive.index == NO_PRIMITIVE {
                continue;
            }
            words[lane] = self.word(primitive.geometry);
            let reader = self.triangles(primitive.geometry);
            let vertices = reader.and_then(|reader| reader.read(primitive.index));
            micromap[lane] = reader.map_or(0, |reader| reader.micromap_word(primitive.index));
            words[lane] &= !ACTIVE;
            if let Some([a, b, c]) = vertices {
                let largest = a.abs().max(b.abs()).max(c.abs());
                if limit.greater(largest).bits() & 0b111 == 0b111 {
                    (corners[0][lane], corners[1][lane], corners[2][lane]) = (a, b, c);
                    bounds = bounds.with_triangle(&[a, b, c]);
                    words[lane] |= ACTIVE;
                }
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

/// Returns the bytes of rows, little-endian.
#[inline(always)]
fn bytes_of_rows<const ROWS: usize, const BYTES: usize>(rows: [F32x4; ROWS]) -> [u8; BYTES] {
    const { assert!(ROWS * 16 == BYTES) };
    let mut bytes = [0; BYTES];
    for (row, bytes) in rows.into_iter().zip(bytes.as_chunks_mut::<16>().0) {
        *bytes = bytes_of(&row.to_bits());
    }
    bytes
}

/// Returns the primitives that a leaf names in its rows of primitive indices and geometry words.
pub fn lanes(primitives: [u32; 4], geometries: [u32; 4]) -> Lanes {
    let mut lanes = [Primitive::NONE; LEAF_SIZE as usize];
    for (lane, primitive) in lanes.iter_mut().enumerate() {
        *primitive = Primitive { geometry: geometries[lane] & GEOMETRY_INDEX, index: primitives[lane] };
    }
    lanes
}
