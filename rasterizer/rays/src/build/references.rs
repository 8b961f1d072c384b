//! References to the active primitives of the input, with their bounds.

#![forbid(unsafe_code)]

use super::request::{BuildError, BuildInput, ensure};
use crate::input::{Geometry, GeometryData, TriangleReader};
use crate::instance::{build_instance, finite, position};
use crate::layout::{Bounds, HEADER_BYTES, INSTANCE_BYTES, bytes_of};
use crate::leaf::{Primitive, Readers, VectorBounds};
use crate::parallel::Workers;
use base::mem::DeviceMemory;

/// A box as eight floats: the lower bounds, a word of its own, the negated upper bounds, and
/// another word. A minimum of two of them is the box around both.
#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
pub struct Box8(pub [u32; 8]);

impl Box8 {
    /// The box without a point.
    pub const EMPTY: Box8 = Box8([f32::INFINITY.to_bits(); 8]);

    /// Makes a box of lower and negated upper bounds with the words 0.
    pub fn new(bounds: &Bounds) -> Box8 {
        let [a, b, c] = bounds.min.map(f32::to_bits);
        let [d, e, f] = bounds.max.map(|bound| (-bound).to_bits());
        Box8([a, b, c, 0, d, e, f, 0])
    }

    /// Returns the box around both.
    #[inline(always)]
    pub fn union(self, other: Box8) -> Box8 {
        let mut union = self;
        for (lane, &word) in union.0.iter_mut().zip(&other.0) {
            let (a, b) = (f32::from_bits(*lane), f32::from_bits(word));
            *lane = if a < b { *lane } else { word };
        }
        union
    }

    /// Returns the lower bound of an axis.
    #[inline(always)]
    pub fn min(&self, axis: usize) -> f32 {
        f32::from_bits(self.0[axis])
    }

    /// Returns the upper bound of an axis.
    #[inline(always)]
    pub fn max(&self, axis: usize) -> f32 {
        -f32::from_bits(self.0[axis + 4])
    }

    /// Returns half of the surface area.
    #[inline(always)]
    pub fn half_area(&self) -> f32 {
        let (x, y, z) = (self.max(0) - self.min(0), self.max(1) - self.min(1), self.max(2) - self.min(2));
        x * y + y * z + z * x
    }
}

/// A reference to a primitive: its bounds, with the primitive's and the geometry's index in the
/// two words.
pub type PrimitiveRef = Box8;

impl PrimitiveRef {
    /// Returns the primitive.
    #[inline(always)]
    pub fn primitive(&self) -> Primitive {
        Primitive { geometry: self.0[7], index: self.0[3] }
    }
}

/// The active primitives of the input.
pub struct Active {
    /// Number of references.
    pub count: usize,
    /// Bounds of all.
    pub bounds: Box8,
    /// Bounds of the centres of their boxes.
    pub centroids: Box8,
}

/// Number of primitives that one item of work reads.
const CHUNK: usize = 4096;

/// Some primitives of a geometry, and the memory for their references.
struct Chunk<'a, 'g> {
    geometry: &'a Geometry<'g>,
    index: u32,
    first: u32,
    to: &'a mut [PrimitiveRef],
}

/// Makes references to all active primitives in the order of the input. Instances are also written
/// to the target, with inactive ones.
pub fn make(
    input: &BuildInput,
    readers: &Readers,
    target: DeviceMemory,
    workers: &Workers,
    references: &mut Vec<PrimitiveRef>,
) -> Result<Active, BuildError> {
    let primitives = input.primitives() as usize;
    ensure(references, primitives)?;
    let mut chunks = Vec::new();
    base::alloc::reserve(&mut chunks, primitives.div_ceil(CHUNK) + input.geometries.len())?;
    let mut rest = &mut references[..primitives];
    for (index, geometry) in input.geometries.iter().enumerate() {
        let (own, behind) = rest.split_at_mut((geometry.primitives as usize).min(rest.len()));
        rest = behind;
        for (i, to) in own.chunks_mut(CHUNK).enumerate() {
            chunks.push(Chunk { geometry, index: index as u32, first: (i * CHUNK) as u32, to });
        }
    }
    let lengths = base::alloc::collect(chunks.iter().map(|chunk| chunk.to.len()))?;
    let parts = workers.map(chunks, |chunk| Ok(chunk.fill(input, readers, target)))?;
    let (mut from, mut all) = (0, Active { count: 0, bounds: Box8::EMPTY, centroids: Box8::EMPTY });
    for (part, length) in parts.into_iter().zip(lengths) {
        if all.count != from {
            references.copy_within(from..from + part.count, all.count);
        }
        all.count += part.count;
        all.bounds = all.bounds.union(part.bounds);
        all.centroids = all.centroids.union(part.centroids);
        from += length;
    }
    Ok(all)
}

impl Chunk<'_, '_> {
    fn fill(self, input: &BuildInput, readers: &Readers, target: DeviceMemory) -> Active {
        let mut active = Active { count: 0, bounds: Box8::EMPTY, centroids: Box8::EMPTY };
        let (to, geometry, index) = (self.to, self.geometry, self.index);
        let primitives = self.first..self.first + to.len() as u32;
        let mut push = |primitive: u32, bounds: Bounds| {
            let mut reference = Box8::new(&bounds);
            let centre = centroid(&reference);
            active.bounds = active.bounds.union(reference);
            active.centroids = active.centroids.union(Box8::new(&Bounds { min: centre, max: centre }));
            (reference.0[3], reference.0[7]) = (primitive, index);
            to[active.count] = reference;
            active.count += 1;
        };
        match &geometry.data {
            GeometryData::Triangles(_) => {
                if let Some(reader) = readers.triangles(index) {
                    primitives.for_each(|i| triangle_bounds(reader, i).into_iter().for_each(|b| push(i, b)));
                }
            }
            GeometryData::Aabbs(_) => {
                for i in primitives {
                    if let Some(aabb) = readers.aabb(Primitive { geometry: index, index: i }) {
                        push(i, Bounds { min: aabb.min.map(finite), max: aabb.max.map(finite) });
                    }
                }
            }
            GeometryData::Instances(instances) => {
                for i in primitives {
                    let built = build_instance(instances.read(i), input.structures);
                    let point = position(&built.record);
                    target.write(HEADER_BYTES + u64::from(i) * INSTANCE_BYTES, &bytes_of::<32, 128>(&built.record));
                    if let Some(bounds) = built.bounds {
                        let anywhere = Bounds { min: point, max: point };
                        push(i, if bounds.is_empty() { anywhere } else { bounds });
                    }
                }
            }
        }
        active
    }
}

/// Returns the centre of a reference's box.
#[inline(always)]
pub fn centroid(reference: &PrimitiveRef) -> [f32; 3] {
    let [x, y, z, _, to_x, to_y, to_z, _] = reference.0;
    let half = |lower: u32, negated_upper: u32| 0.5 * f32::from_bits(lower) - 0.5 * f32::from_bits(negated_upper);
    [half(x, to_x), half(y, to_y), half(z, to_z)]
}

/// Returns the bounds by which a triangle is sorted into the tree; `None` if it is inactive. A
/// triangle that cannot be hit, because it is infinite, is active all the same: an update may move
/// it.
#[inline(always)]
fn triangle_bounds(reader: &TriangleReader, primitive: u32) -> Option<Bounds> {
    let bounds = VectorBounds::of_triangle(&reader.read(primitive)?).to_bounds();
    let is_finite = bounds.min.iter().chain(&bounds.max).all(|bound| bound.is_finite());
    Some(if is_finite { bounds } else { Bounds { min: [0.0; 3], max: [0.0; 3] } })
}
