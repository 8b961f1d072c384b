//! Contents of leaves: the words of up to four triangles or AABBs, and their bounds.

#![forbid(unsafe_code)]

use crate::input::{Aabbs, Geometry, GeometryData, TriangleReader};
use crate::instance::finite;
use crate::layout::{ACTIVE, Bounds, GEOMETRY_INDEX, LEAF_SIZE, NO_PRIMITIVE, aabb_row, triangle_row};
use base::alloc::OutOfMemory;

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

/// Words of a leaf of triangles.
pub type TriangleWords = [u32; triangle_row::COUNT * 4];
/// Words of a leaf of AABBs.
pub type AabbWords = [u32; aabb_row::COUNT * 4];

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

    /// Makes a leaf of triangles. Lanes without a primitive, and those with an infinite
    /// coordinate, cannot be hit and have no bounds.
    #[inline(always)]
    pub fn triangle_leaf(&self, lanes: &Lanes) -> (TriangleWords, Bounds) {
        let mut words = [0; triangle_row::COUNT * 4];
        let mut bounds = Bounds::EMPTY;
        for (lane, &primitive) in lanes.iter().enumerate() {
            words[triangle_row::PRIMITIVE * 4 + lane] = primitive.index;
            if primitive.index == NO_PRIMITIVE {
                continue;
            }
            let mut word = self.word(primitive.geometry);
            let reader = self.triangles(primitive.geometry);
            let vertices = reader.and_then(|reader| reader.read(primitive.index));
            words[triangle_row::MICROMAP * 4 + lane] = reader.map_or(0, |reader| reader.micromap_word(primitive.index));
            let finite = vertices.filter(|v| v.as_flattened().iter().all(|value| value.is_finite()));
            if let Some(vertices) = finite {
                for (row, value) in vertices.as_flattened().iter().enumerate() {
                    words[(triangle_row::VERTEX + row) * 4 + lane] = value.to_bits();
                }
                bounds = bounds.with_point(vertices[0]).with_point(vertices[1]).with_point(vertices[2]);
            } else {
                word &= !ACTIVE;
            }
            words[triangle_row::GEOMETRY * 4 + lane] = word;
        }
        (words, bounds)
    }

    /// Makes a leaf of AABBs. Lanes without a primitive cannot be hit and have no bounds.
    #[inline(always)]
    pub fn aabb_leaf(&self, lanes: &Lanes) -> (AabbWords, Bounds) {
        let mut words = [0; aabb_row::COUNT * 4];
        let mut bounds = Bounds::EMPTY;
        for (lane, &primitive) in lanes.iter().enumerate() {
            words[aabb_row::PRIMITIVE * 4 + lane] = primitive.index;
            if primitive.index == NO_PRIMITIVE {
                continue;
            }
            let mut word = self.word(primitive.geometry);
            if let Some(aabb) = self.aabb(primitive) {
                for axis in 0..3 {
                    words[(aabb_row::MIN + axis) * 4 + lane] = aabb.min[axis].to_bits();
                    words[(aabb_row::MAX + axis) * 4 + lane] = aabb.max[axis].to_bits();
                }
                bounds = bounds.union(Bounds { min: aabb.min.map(finite), max: aabb.max.map(finite) });
            } else {
                word &= !ACTIVE;
            }
            words[aabb_row::GEOMETRY * 4 + lane] = word;
        }
        (words, bounds)
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
