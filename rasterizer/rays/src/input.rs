//! Descriptions of what a structure is built from, and how primitives are read.
//!
//! All input is device memory, which may change while it is read: each word is read once, and a
//! primitive whose bytes are not all inside its memory is inactive.

#![forbid(unsafe_code)]

use crate::layout::{ACTIVE, Bounds, Contents, GEOMETRY_INDEX, OPAQUE};
use crate::vec4::F32x4;
use base::format::{Format, TexelKernels, kernels};
use base::host::prefetch;
use base::mem::DeviceMemory;

/// Type of indices (`VkIndexType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexType {
    /// No indices: vertices are used in order.
    None,
    /// Indices of 8 bits.
    Uint8,
    /// Indices of 16 bits.
    Uint16,
    /// Indices of 32 bits.
    Uint32,
}

impl IndexType {
    /// Returns the number of bytes of an index; 0 without indices.
    #[inline(always)]
    fn bytes(self) -> usize {
        match self {
            IndexType::None => 0,
            IndexType::Uint8 => 1,
            IndexType::Uint16 => 2,
            IndexType::Uint32 => 4,
        }
    }

    /// Returns the index at a position, which is the position itself without indices; `None` if it
    /// is not in memory. `stride` is the number of bytes between indices.
    pub fn read(self, indices: DeviceMemory, stride: u64, position: u64) -> Option<u64> {
        if self == IndexType::None {
            return Some(position);
        }
        let mut index = [0; 8];
        let is_in_memory = indices.read(position.checked_mul(stride)?, index.get_mut(..self.bytes())?);
        is_in_memory.then(|| u64::from_le_bytes(index))
    }
}

/// Triangles of a geometry (`VkAccelerationStructureGeometryTrianglesDataKHR`).
#[derive(Clone, Copy, Debug)]
pub struct Triangles {
    /// Memory from the vertex with index 0 on.
    pub vertices: DeviceMemory,
    /// Number of bytes between vertices.
    pub stride: u64,
    /// Format of a vertex.
    pub format: Format,
    /// Memory from the first index on; not read without indices.
    pub indices: DeviceMemory,
    /// Type of the indices.
    pub index_type: IndexType,
    /// Transform of the vertices, by rows; `None` for the identity.
    pub transform: Option<[f32; 12]>,
    /// Micromap of the triangles; `None` if the geometry decides whether they are opaque.
    pub micromap: Option<TrianglesMicromap>,
    /// Memory from the vertex with index 0 on at the time 1
    /// (`VkAccelerationStructureGeometryMotionTrianglesDataNV`); `None` if the triangles do not
    /// move.
    pub motion: Option<DeviceMemory>,
}

/// The micromap of a geometry's triangles (`VkAccelerationStructureTrianglesOpacityMicromapEXT`).
#[derive(Clone, Copy, Debug)]
pub struct TrianglesMicromap {
    /// Address by which the structure refers to the micromap; 0 if there are special indices only.
    pub address: u64,
    /// Memory from the index of the first triangle on; not read without indices.
    pub indices: DeviceMemory,
    /// Type of the indices.
    pub index_type: IndexType,
    /// Number of bytes between indices.
    pub stride: u64,
    /// Number that is added to indices, except special ones.
    pub base: u32,
}

/// Unsigned number of the lowest special index (`VkOpacityMicromapSpecialIndexEXT`); higher numbers
/// are the others.
pub const FIRST_SPECIAL_INDEX: u32 = (-4i32) as u32;

impl TrianglesMicromap {
    /// Returns the micromap word of a triangle ([`crate::layout::triangle_row::MICROMAP`]); 0 if
    /// its index is not in memory, or too large.
    pub fn word(&self, primitive: u32) -> u32 {
        match self.index(primitive) {
            Some(special) if special < 0 => special as u32,
            Some(index) => {
                let word = index + i64::from(self.base) + 1;
                if word < i64::from(FIRST_SPECIAL_INDEX) { word as u32 } else { 0 }
            }
            None => 0,
        }
    }

    /// Returns a triangle's index; `None` if it is not in memory. Special indices are negative, and
    /// only what is read can be one.
    fn index(&self, primitive: u32) -> Option<i64> {
        let index = self.index_type.read(self.indices, self.stride, primitive.into())? as i64;
        let signed = index - (1 << (8 * self.index_type.bytes()));
        let is_special = self.index_type != IndexType::None && signed as u32 >= FIRST_SPECIAL_INDEX;
        Some(if is_special { signed } else { index })
    }
}

/// Boxes of a geometry (`VkAccelerationStructureGeometryAabbsDataKHR`).
#[derive(Clone, Copy, Debug)]
pub struct Aabbs {
    /// Memory from the first box on.
    pub boxes: DeviceMemory,
    /// Number of bytes between boxes.
    pub stride: u64,
}

/// Centres and radii of a geometry (`VkAccelerationStructureGeometrySpheresDataNV`).
#[derive(Clone, Copy, Debug)]
pub struct Spheres {
    /// Memory from the centre with index 0 on.
    pub vertices: DeviceMemory,
    /// Number of bytes between centres.
    pub stride: u64,
    /// Format of a centre.
    pub format: Format,
    /// Memory from the radius with index 0 on.
    pub radii: DeviceMemory,
    /// Number of bytes between radii.
    pub radius_stride: u64,
    /// Format of a radius.
    pub radius_format: Format,
    /// Memory from the first index on; not read without indices.
    pub indices: DeviceMemory,
    /// Type of the indices.
    pub index_type: IndexType,
    /// Number of bytes between indices.
    pub index_stride: u64,
}

/// Linear swept spheres of a geometry
/// (`VkAccelerationStructureGeometryLinearSweptSpheresDataNV`).
#[derive(Clone, Copy, Debug)]
pub struct SweptSpheres {
    /// The ends.
    pub ends: Spheres,
    /// Ends of a primitive.
    pub indexing: Indexing,
    /// Ends that can be hit.
    pub caps: Caps,
}

/// The ends of a primitive (`VkRayTracingLssIndexingModeNV`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// Two indices of a primitive name its ends.
    List,
    /// An index of a primitive names the first end, and the next number the other one.
    Successive,
}

/// The ends that can be hit (`VkRayTracingLssPrimitiveEndCapsModeNV`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caps {
    /// None of them.
    None,
    /// All of them; with [`Indexing::Successive`], not the first end of a primitive that continues
    /// the one before it.
    Chained,
}

/// Memory that addresses in other memory refer to.
pub trait AddressSpace: Sync {
    /// Returns `size` bytes at the address, if all of them are memory.
    fn memory(&self, address: u64, size: u64) -> Option<DeviceMemory>;
}

/// Instances of a geometry (`VkAccelerationStructureGeometryInstancesDataKHR`). In a structure with
/// motion, elements of an array are `VkAccelerationStructureMotionInstanceNV`, and the lowest four
/// bits of an address are the type of the instance.
#[derive(Clone, Copy)]
pub enum Instances<'a> {
    /// An array of instances.
    Array(DeviceMemory),
    /// An array of addresses of instances.
    Pointers(DeviceMemory, &'a dyn AddressSpace),
}

/// Primitives of a geometry.
#[derive(Clone, Copy)]
pub enum GeometryData<'a> {
    /// Triangles.
    Triangles(Triangles),
    /// Axis-aligned boxes.
    Aabbs(Aabbs),
    /// Instances of bottom-level structures.
    Instances(Instances<'a>),
    /// Spheres.
    Spheres(Spheres),
    /// Linear swept spheres.
    SweptSpheres(SweptSpheres),
    /// Instances of bottom-level structures, of which some move.
    MotionInstances(Instances<'a>),
}

/// A geometry with the range of its primitives (`VkAccelerationStructureBuildRangeInfoKHR`), whose
/// offsets are part of the memory's beginning.
#[derive(Clone, Copy)]
pub struct Geometry<'a> {
    /// Memory of the primitives.
    pub data: GeometryData<'a>,
    /// Number of primitives.
    pub primitives: u32,
    /// True if no shader decides about hits (`VK_GEOMETRY_OPAQUE_BIT_KHR`).
    pub opaque: bool,
}

impl Geometry<'_> {
    /// Returns what a structure of such geometries contains. Triangles of a structure move if those
    /// of one of its geometries do.
    pub fn contents(&self) -> Contents {
        match self.data {
            GeometryData::Triangles(Triangles { motion: Some(_), .. }) => Contents::MotionTriangles,
            GeometryData::Triangles(_) => Contents::Triangles,
            GeometryData::Aabbs(_) => Contents::Aabbs,
            GeometryData::Instances(_) => Contents::Instances,
            GeometryData::Spheres(_) => Contents::Spheres,
            GeometryData::SweptSpheres(_) => Contents::SweptSpheres,
            GeometryData::MotionInstances(_) => Contents::MotionInstances,
        }
    }

    /// Returns the micromap of its triangles.
    pub fn micromap(&self) -> Option<&TrianglesMicromap> {
        match &self.data {
            GeometryData::Triangles(triangles) => triangles.micromap.as_ref(),
            _ => None,
        }
    }

    /// Returns the geometry word of its primitives.
    pub fn word(&self, index: usize) -> u32 {
        index as u32 & GEOMETRY_INDEX | if self.opaque { OPAQUE } else { 0 } | ACTIVE
    }
}

/// The bytes of an instance (`VkAccelerationStructureInstanceKHR`) as words.
pub type InstanceWords = [u32; 16];

/// Returns words that device memory has at an offset.
#[inline(always)]
fn words<const N: usize, const BYTES: usize>(memory: DeviceMemory, offset: u64) -> Option<[u32; N]> {
    let mut bytes = [0; BYTES];
    memory.read(offset, &mut bytes).then(|| crate::layout::words_of(&bytes))
}

impl Instances<'_> {
    /// Returns an instance; `None` if it is not in memory.
    pub fn read(&self, index: u32) -> Option<InstanceWords> {
        let index = u64::from(index);
        match *self {
            Instances::Array(memory) => words::<16, 64>(memory, index * 64),
            Instances::Pointers(memory, space) => {
                let [low, high] = words::<2, 8>(memory, index * 8)?;
                words::<16, 64>(space.memory(u64::from(low) | u64::from(high) << 32, 64)?, 0)
            }
        }
    }

    /// Returns an instance of a structure with motion; `None` if it is not in memory, or of an
    /// unknown type.
    pub fn read_motion(&self, index: u32) -> Option<MotionInstanceWords> {
        let index = u64::from(index);
        let mut bytes = [0; size_of::<[u32; MOTION_INSTANCE_WORDS]>()];
        let motion = match *self {
            Instances::Array(memory) => {
                let at = index * MOTION_INSTANCE_STRIDE;
                let [ty] = words::<1, 4>(memory, at)?;
                let motion = InstanceMotion::new(ty)?;
                memory.read(at + MOTION_INSTANCE_DATA, bytes.get_mut(..motion.bytes())?).then_some(motion)?
            }
            Instances::Pointers(memory, space) => {
                let [low, high] = words::<2, 8>(memory, index * 8)?;
                let motion = InstanceMotion::new(low & POINTER_TYPE)?;
                let address = u64::from(low & !POINTER_TYPE) | u64::from(high) << 32;
                let own = bytes.get_mut(..motion.bytes())?;
                space.memory(address, own.len() as u64)?.read(0, own).then_some(motion)?
            }
        };
        Some(MotionInstanceWords { motion, words: crate::layout::words_of(&bytes) })
    }
}

/// Number of bytes between instances in an array of `VkAccelerationStructureMotionInstanceNV`.
pub const MOTION_INSTANCE_STRIDE: u64 = 160;
/// Offset of the data in `VkAccelerationStructureMotionInstanceNV`.
const MOTION_INSTANCE_DATA: u64 = 8;
/// Number of words of the longest kind of instance.
const MOTION_INSTANCE_WORDS: usize = 36;
/// Bits of an address of an instance that are its type.
const POINTER_TYPE: u32 = 0xf;

/// The way in which an instance moves (`VkAccelerationStructureMotionInstanceTypeNV`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceMotion {
    /// The instance does not move (`VkAccelerationStructureInstanceKHR`).
    Static,
    /// The instance moves between two matrices
    /// (`VkAccelerationStructureMatrixMotionInstanceNV`).
    Matrix,
    /// The instance moves between two transforms in SRT decomposition
    /// (`VkAccelerationStructureSRTMotionInstanceNV`).
    Srt,
}

impl InstanceMotion {
    /// Returns the motion of a type of instances.
    fn new(ty: u32) -> Option<InstanceMotion> {
        [InstanceMotion::Static, InstanceMotion::Matrix, InstanceMotion::Srt].get(ty as usize).copied()
    }

    /// Returns the first words of the transforms at the times 0 and 1, and of what follows them.
    pub fn layout(self) -> [usize; 3] {
        match self {
            InstanceMotion::Static => [0, 0, 12],
            InstanceMotion::Matrix => [0, 12, 24],
            InstanceMotion::Srt => [0, 16, 32],
        }
    }

    fn bytes(self) -> usize {
        4 * (self.layout()[2] + 4)
    }
}

/// An instance of a structure with motion, as words.
pub struct MotionInstanceWords {
    /// The kind of the instance.
    pub motion: InstanceMotion,
    /// Words of the instance; those behind it are 0.
    pub words: [u32; MOTION_INSTANCE_WORDS],
}

impl Aabbs {
    /// Returns a box; `None` if it is inactive or not in memory.
    #[inline(always)]
    pub fn read(&self, index: u32) -> Option<Bounds> {
        let at = u64::from(index).checked_mul(self.stride)?;
        let [x, y, z, to_x, to_y, to_z] = words::<6, 24>(self.boxes, at)?.map(f32::from_bits);
        let bounds = Bounds { min: [x, y, z], max: [to_x, to_y, to_z] };
        (!bounds.min.iter().chain(&bounds.max).any(|value| value.is_nan())).then_some(bounds)
    }
}

/// A triangle's vertices; the fourth lanes have no meaning.
pub type Vertices = [F32x4; 3];

/// The way in which coordinates are decoded.
#[derive(Clone, Copy)]
pub enum Decoder {
    /// Three floats, maybe with a fourth.
    Floats,
    /// Floats of 64 bits, of which this many are coordinates.
    Doubles(usize),
    /// Any other format.
    Other(&'static TexelKernels),
}

impl Decoder {
    /// Returns the way for a format.
    pub fn new(format: Format) -> Decoder {
        match format.info().name {
            "R32G32B32_SFLOAT" | "R32G32B32A32_SFLOAT" => Decoder::Floats,
            "R64G64_SFLOAT" => Decoder::Doubles(2),
            "R64G64B64_SFLOAT" | "R64G64B64A64_SFLOAT" => Decoder::Doubles(3),
            _ => Decoder::Other(kernels(format)),
        }
    }

    /// Returns the coordinates at an offset; `None` if they are not in memory.
    pub fn decode(self, vertices: DeviceMemory, at: u64) -> Option<[f32; 3]> {
        match self {
            Decoder::Floats => Some(words::<3, 12>(vertices, at)?.map(f32::from_bits)),
            Decoder::Doubles(count) => {
                let mut vertex = [0.0; 3];
                for (axis, coordinate) in vertex.iter_mut().enumerate().take(count) {
                    let [low, high] = words::<2, 8>(vertices, at.checked_add(8 * axis as u64)?)?;
                    *coordinate = f64::from_bits(u64::from(low) | u64::from(high) << 32) as f32;
                }
                Some(vertex)
            }
            Decoder::Other(kernels) => {
                let mut block = [0; 16];
                let bytes = block.get_mut(..kernels.bytes)?;
                let known = !bytes.is_empty() && vertices.read(at, bytes);
                let [x, y, z, _] = (kernels.unpack_one)(&block);
                known.then_some([x, y, z].map(f32::from_bits))
            }
        }
    }
}

/// Reads the triangles of one geometry.
#[derive(Clone, Copy)]
pub struct TriangleReader {
    triangles: Triangles,
    decoder: Decoder,
}

impl TriangleReader {
    /// Makes a reader of triangles.
    pub fn new(triangles: &Triangles) -> TriangleReader {
        TriangleReader { triangles: *triangles, decoder: Decoder::new(triangles.format) }
    }

    /// Returns the micromap word of a triangle.
    #[inline(always)]
    pub fn micromap_word<const PLAIN: bool>(&self, primitive: u32) -> u32 {
        if PLAIN {
            return 0;
        }
        self.triangles.micromap.as_ref().map_or(0, |micromap| micromap.word(primitive))
    }

    /// Returns true if a plain reader ([`TriangleReader::indices`]) gives the same triangles.
    pub fn is_plain(&self) -> bool {
        let Triangles { index_type, stride, transform, micromap, motion, .. } = &self.triangles;
        let has_floats = matches!(self.decoder, Decoder::Floats) && *stride <= u32::MAX.into();
        let is_simple = transform.is_none() && micromap.is_none() && motion.is_none();
        has_floats && *index_type == IndexType::Uint32 && is_simple
    }

    /// Returns true if the triangles move.
    #[inline(always)]
    pub fn moves(&self) -> bool {
        self.triangles.motion.is_some()
    }

    /// Returns a reader of the triangles as they are at the end or the beginning of their motion.
    pub fn at(&self, end: bool) -> TriangleReader {
        let Triangles { vertices, motion, .. } = self.triangles;
        let vertices = motion.filter(|_| end).unwrap_or(vertices);
        TriangleReader { triangles: Triangles { vertices, ..self.triangles }, ..*self }
    }

    /// Returns the indices of a triangle's vertices; `None` if they are not in memory. All methods
    /// with the parameter have a variant for the most frequent input: three floats for a vertex,
    /// indices of 32 bits, and neither a transform, a micromap nor motion.
    #[inline(always)]
    pub fn indices<const PLAIN: bool>(&self, primitive: u32) -> Option<[u32; 3]> {
        let first = 3 * u64::from(primitive);
        match self.triangles.index_type {
            _ if PLAIN => words::<3, 12>(self.triangles.indices, first * 4),
            IndexType::None => Some([first as u32, (first + 1) as u32, (first + 2) as u32]),
            IndexType::Uint32 => words::<3, 12>(self.triangles.indices, first * 4),
            IndexType::Uint16 => {
                let mut bytes = [0; 6];
                let found = self.triangles.indices.read(first * 2, &mut bytes);
                found.then(|| [0, 1, 2].map(|i| u32::from(u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]))))
            }
            IndexType::Uint8 => {
                let mut bytes = [0; 3];
                self.triangles.indices.read(first, &mut bytes).then(|| bytes.map(u32::from))
            }
        }
    }

    #[inline(always)]
    fn vertex<const PLAIN: bool>(&self, index: u32) -> Option<F32x4> {
        let vertices = self.triangles.vertices;
        let at = match PLAIN {
            true => u64::from(index).wrapping_mul(self.triangles.stride),
            false => u64::from(index).checked_mul(self.triangles.stride)?,
        };
        if PLAIN || matches!(self.decoder, Decoder::Floats) {
            // Where the memory ends with the vertex, there are no bytes for a fourth lane.
            return words::<4, 16>(vertices, at).map(F32x4::from_bits).or_else(|| {
                let [x, y, z] = words::<3, 12>(vertices, at)?;
                Some(F32x4::from_bits([x, y, z, 0]))
            });
        }
        let [x, y, z] = self.decoder.decode(vertices, at)?;
        Some(F32x4::from_array([x, y, z, 0.0]))
    }

    /// Returns the vertices of a triangle with the given indices, transformed; `None` if it is
    /// inactive or not in memory.
    #[inline(always)]
    pub fn vertices<const PLAIN: bool>(&self, [a, b, c]: [u32; 3]) -> Option<Vertices> {
        let vertices = [self.vertex::<PLAIN>(a)?, self.vertex::<PLAIN>(b)?, self.vertex::<PLAIN>(c)?];
        let [a, b, c] = vertices;
        let are_numbers = a.greater_or_equal(a).and(b.greater_or_equal(b)).and(c.greater_or_equal(c));
        if are_numbers.bits() & 0b111 != 0b111 {
            return None;
        }
        Some(match &self.triangles.transform {
            Some(transform) if !PLAIN => vertices.map(|vertex| {
                let [x, y, z, _] = vertex.to_array();
                let [x, y, z] = transform_point(transform, [x, y, z]);
                F32x4::from_array([x, y, z, 0.0])
            }),
            _ => vertices,
        })
    }

    /// Prefetches a triangle's indices.
    #[inline(always)]
    pub fn prefetch_indices<const PLAIN: bool>(&self, primitive: u32) {
        let index_type = if PLAIN { IndexType::Uint32 } else { self.triangles.index_type };
        if index_type != IndexType::None {
            let offset = u64::from(primitive) * 3 * index_type.bytes() as u64;
            prefetch(self.triangles.indices.address().wrapping_add(offset) as *const u8);
        }
    }

    /// Prefetches the vertices with the given indices.
    #[inline(always)]
    pub fn prefetch_vertices(&self, indices: [u32; 3]) {
        for index in indices {
            self.prefetch_vertex(index);
        }
    }

    #[inline(always)]
    fn prefetch_vertex(&self, index: u32) {
        let offset = u64::from(index).wrapping_mul(self.triangles.stride);
        prefetch(self.triangles.vertices.address().wrapping_add(offset) as *const u8);
    }
}

/// Applies an affine transform, given by rows, to a point.
#[inline(always)]
pub fn transform_point(rows: &[f32; 12], point: [f32; 3]) -> [f32; 3] {
    let [x, y, z] = transform_direction(rows, point);
    [x + rows[3], y + rows[7], z + rows[11]]
}

/// Applies the linear part of an affine transform to a direction.
#[inline(always)]
pub fn transform_direction(rows: &[f32; 12], [x, y, z]: [f32; 3]) -> [f32; 3] {
    [
        rows[0] * x + rows[1] * y + rows[2] * z,
        rows[4] * x + rows[5] * y + rows[6] * z,
        rows[8] * x + rows[9] * y + rows[10] * z,
    ]
}
