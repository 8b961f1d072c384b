//! References to the active primitives of the input, with their bounds.

use super::request::{BuildError, BuildInput, ensure};
use crate::input::{Geometry, GeometryData, TriangleReader, Vertices};
use crate::instance::finite;
use crate::kernels::{self, Kernel};
use crate::layout::Bounds;
use crate::leaf::{Primitive, Readers, VectorBounds};
use crate::level::HostLevel;
use crate::motion::write_instance;
use crate::parallel::Workers;
use crate::vec4::F32x4;
use base::host::Host;
use base::mem::DeviceMemory;
use core::ops::Range;

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
/// two words, both with the bits of [`NORMAL`] inverted.
pub type PrimitiveRef = Box8;

/// Bits that make an index a normal float: vectors with denormal lanes are slow.
const NORMAL: u32 = 0x4000_0000;

impl PrimitiveRef {
    /// Returns the reference with another primitive's and geometry's index.
    #[inline(always)]
    pub fn with_words(mut self, primitive: u32, geometry: u32) -> PrimitiveRef {
        (self.0[3], self.0[7]) = (primitive ^ NORMAL, geometry ^ NORMAL);
        self
    }

    /// Returns the primitive.
    #[inline(always)]
    pub fn primitive(&self) -> Primitive {
        Primitive { geometry: self.0[7] ^ NORMAL, index: self.0[3] ^ NORMAL }
    }
}

/// Bounds of the references of a range, and those of twice their centres.
#[derive(Clone, Copy)]
pub struct Boxes {
    /// Bounds of the references.
    pub bounds: Box8,
    /// Bounds of twice the centres of the references' boxes.
    pub centroids: Box8,
}

/// The active primitives of the input.
pub struct Active {
    /// Number of references.
    pub count: usize,
    /// Bounds of all.
    pub bounds: Box8,
    /// Bounds of twice the centres of their boxes.
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
    let parts = workers.map(chunks, |chunk| Ok(fill(chunk, input, readers, target, workers.level)))?;
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

/// The references of a chunk.
struct References<'a> {
    to: &'a mut [PrimitiveRef],
    geometry: u32,
    count: usize,
    bounds: VectorBounds,
    centroids: VectorBounds,
}

impl References<'_> {
    #[inline(always)]
    fn push(&mut self, primitive: u32, bounds: VectorBounds) {
        let [a, b, c, _] = bounds.min.to_bits();
        let [d, e, f, _] = (F32x4::splat(-0.0) - bounds.max).to_bits();
        self.to[self.count] = Box8([a, b, c, primitive ^ NORMAL, d, e, f, self.geometry ^ NORMAL]);
        self.count += 1;
        self.bounds = self.bounds.union(bounds);
        let centre = bounds.min + bounds.max;
        self.centroids = self.centroids.union(VectorBounds { min: centre, max: centre });
    }
}

impl References<'_> {
    #[inline(always)]
    fn push_triangles<const PLAIN: bool>(&mut self, reader: &TriangleReader, primitives: Range<u32>) {
        for i in primitives {
            if let Some(indices) = reader.indices::<PLAIN>(i.saturating_add(AHEAD)) {
                reader.prefetch_vertices(indices);
            }
            let indices = reader.indices::<PLAIN>(i);
            if !PLAIN && reader.moves() {
                if let Some(bounds) = indices.and_then(|indices| motion_bounds(reader, indices)) {
                    self.push(i, bounds);
                }
            } else if let Some(vertices) = indices.and_then(|indices| reader.vertices::<PLAIN>(indices)) {
                self.push(i, triangle_bounds(&vertices));
            }
        }
    }
}

/// Adds triangles of a plain format. Others are decoded one by one, without the vectors of a level.
struct PlainTriangles<'a, 'r> {
    references: &'a mut References<'r>,
    reader: &'a TriangleReader,
    primitives: Range<u32>,
}

impl Kernel for PlainTriangles<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<H: Host>(self) {
        self.references.push_triangles::<true>(self.reader, self.primitives);
    }
}

/// Returns the bounds of a triangle that moves. It is inactive if it is at one of the ends.
#[inline(never)]
fn motion_bounds(reader: &TriangleReader, indices: [u32; 3]) -> Option<VectorBounds> {
    let mut bounds = VectorBounds::empty();
    for end in [false, true] {
        bounds = bounds.union(triangle_bounds(&reader.at(end).vertices::<false>(indices)?));
    }
    Some(bounds)
}

/// Number of triangles between that which is read and that whose vertices are prefetched.
const AHEAD: u32 = 16;

/// Reads a chunk.
fn fill(chunk: Chunk, input: &BuildInput, readers: &Readers, target: DeviceMemory, level: HostLevel) -> Active {
    let Chunk { geometry, index, first, to } = chunk;
    let primitives = first..first + to.len() as u32;
    let (bounds, centroids) = (VectorBounds::empty(), VectorBounds::empty());
    let mut references = References { to, geometry: index, count: 0, bounds, centroids };
    match &geometry.data {
        GeometryData::Triangles(_) => {
            if let Some(reader) = readers.triangles(index) {
                match reader.is_plain() {
                    true => kernels::run(level, PlainTriangles { references: &mut references, reader, primitives }),
                    false => references.push_triangles::<false>(reader, primitives),
                }
            }
        }
        GeometryData::Aabbs(_) => {
            for i in primitives {
                if let Some(aabb) = readers.aabb(Primitive { geometry: index, index: i }) {
                    let bounds = Bounds { min: aabb.min.map(finite), max: aabb.max.map(finite) };
                    references.push(i, bounds.into());
                }
            }
        }
        GeometryData::Spheres(_) | GeometryData::SweptSpheres(_) => {
            for i in primitives {
                if let Some(sphere) = readers.sphere(Primitive { geometry: index, index: i }) {
                    references.push(i, sphere.bounds().into());
                }
            }
        }
        GeometryData::Instances(_) | GeometryData::MotionInstances(_) => {
            for i in primitives {
                let written = write_instance(target, i, (&geometry.data, i), input.structures);
                if let Some(bounds) = written.bounds {
                    let anywhere = Bounds { min: written.position, max: written.position };
                    references.push(i, if bounds.is_empty() { anywhere.into() } else { bounds.into() });
                }
            }
        }
    }
    let [bounds, centroids] = [references.bounds, references.centroids].map(|all| Box8::new(&all.to_bounds()));
    Active { count: references.count, bounds, centroids }
}

/// Returns twice the centre of a reference's box.
#[inline(always)]
pub fn centroid(reference: &PrimitiveRef) -> [f32; 3] {
    let [x, y, z, _, to_x, to_y, to_z, _] = reference.0;
    let twice = |lower: u32, negated_upper: u32| f32::from_bits(lower) - f32::from_bits(negated_upper);
    [twice(x, to_x), twice(y, to_y), twice(z, to_z)]
}

/// Returns the bounds by which a triangle is sorted into the tree. A triangle that cannot be hit,
/// because it is infinite, is active all the same: an update may move it.
#[inline(always)]
fn triangle_bounds(vertices: &Vertices) -> VectorBounds {
    let bounds = VectorBounds::of_triangle(vertices);
    let largest = bounds.min.abs().max(bounds.max.abs());
    let zero = F32x4::splat(0.0);
    let is_finite = F32x4::splat(f32::INFINITY).greater(largest).bits() & 0b111 == 0b111;
    if is_finite { bounds } else { VectorBounds { min: zero, max: zero } }
}
