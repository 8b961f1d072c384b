//! The bytes of an acceleration structure.
//!
//! A structure is one range of memory: a header, nodes, and leaves or instances. It contains no
//! address of its own and is little-endian, so its bytes may be moved, stored, and loaded on
//! another machine. All fields are 32-bit words or pairs of them.
//!
//! ```text
//! header    128 bytes
//! nodes     256 bytes each, in depth-first order; node 0 is the root
//! leaves    triangles: 192 bytes for up to four; AABBs: 128 bytes for up to four;
//!           spheres: 96 bytes for up to four; linear swept spheres: 160 bytes for up to four;
//!           triangles that move: 336 bytes for up to four;
//!           instances: 128 bytes each, in the order of the input, and before the nodes;
//!           instances of structures with motion: 192 bytes each, at the same place;
//!           micromaps: 8 bytes for each triangle, with the states behind all of them
//! micromaps 8 bytes for each geometry, if one of them has a micromap: its address, or 0
//! ```
//!
//! Applications can write to this memory at any time. What is read of it is therefore checked
//! before it is used (see `view`).

#![forbid(unsafe_code)]

/// Version of the format; it changes with the meaning of any byte.
pub const FORMAT_VERSION: u32 = 3;
/// Number of children of a node.
pub const WIDTH: usize = 8;
/// Largest number of primitives of a leaf.
pub const LEAF_SIZE: u32 = 4;
/// Largest number of nodes on a path from the root to a leaf.
pub const MAX_DEPTH: u32 = 31;
/// Number of bytes of the header.
pub const HEADER_BYTES: u64 = 128;
/// Number of bytes of a node.
pub const NODE_BYTES: u64 = 256;
/// Number of bytes of an instance.
pub const INSTANCE_BYTES: u64 = 128;
/// Number of bytes of an instance of a structure with motion.
pub const MOTION_INSTANCE_BYTES: u64 = 192;
/// Number of bytes of a triangle of a micromap, without its states.
pub const MICROMAP_TRIANGLE_BYTES: u64 = 8;
/// Number of bytes of a geometry in the list of micromaps.
pub const MICROMAP_ADDRESS_BYTES: u64 = 8;

/// Bit of a child that marks a leaf.
pub const LEAF: u32 = 1 << 31;
/// Bits of a child that contain the index of a node, a leaf or an instance. A child that is 0 does
/// not exist (the root is no child).
pub const INDEX: u32 = (1 << 30) - 1;

/// Bit of a geometry word: the lane has a primitive that can be hit.
pub const ACTIVE: u32 = 1 << 31;
/// Bit of a geometry word: the geometry is opaque.
pub const OPAQUE: u32 = 1 << 30;
/// Bit of the geometry word of a swept sphere: the first end can be hit.
pub const FIRST_CAP: u32 = 1 << 29;
/// Bit of the geometry word of a swept sphere: the last end can be hit.
pub const LAST_CAP: u32 = 1 << 28;
/// Bits of a geometry word that contain the geometry's index.
pub const GEOMETRY_INDEX: u32 = (1 << 24) - 1;
/// Primitive index of a lane without a primitive.
pub const NO_PRIMITIVE: u32 = !0;

/// Rows of a node: eight words each.
pub mod node_row {
    /// Rows of the lower bounds, by axis.
    pub const MIN: usize = 0;
    /// Rows of the upper bounds, by axis.
    pub const MAX: usize = 3;
    /// Row of the children.
    pub const CHILD: usize = 6;
    /// Row of the orders: the word of each octant of directions has the slots of the children,
    /// three bits each, of which the last one comes first on the way of a ray.
    pub const ORDER: usize = 7;
}

/// Rows of a leaf of triangles: four words each.
pub mod triangle_row {
    /// First row of the vertices: row `3 * vertex + axis` has a coordinate.
    pub const VERTEX: usize = 0;
    /// Row of the primitive indices.
    pub const PRIMITIVE: usize = 9;
    /// Row of the geometry words.
    pub const GEOMETRY: usize = 10;
    /// Row of the micromap words: 0 for none, the unsigned number of a special index, or 1 more
    /// than the index of the micromap's triangle.
    pub const MICROMAP: usize = 11;
    /// Number of rows.
    pub const COUNT: usize = 12;
}

/// Rows of a leaf of triangles that move: four words each. The first ones are those of a leaf of
/// triangles ([`triangle_row`]) with the vertices at the time 0.
pub mod motion_row {
    /// First row of the vertices at the time 1, in the order of [`super::triangle_row::VERTEX`].
    pub const END_VERTEX: usize = super::triangle_row::COUNT;
    /// Number of rows.
    pub const COUNT: usize = END_VERTEX + 9;
}

/// Rows of a leaf of AABBs: four words each.
pub mod aabb_row {
    /// Rows of the lower bounds, by axis.
    pub const MIN: usize = 0;
    /// Rows of the upper bounds, by axis.
    pub const MAX: usize = 3;
    /// Row of the primitive indices.
    pub const PRIMITIVE: usize = 6;
    /// Row of the geometry words.
    pub const GEOMETRY: usize = 7;
    /// Number of rows.
    pub const COUNT: usize = 8;
}

/// Rows of a leaf of spheres: four words each. The first four are the centre's coordinates and the
/// radius.
pub mod sphere_row {
    /// Row of the primitive indices.
    pub const PRIMITIVE: usize = 4;
    /// Row of the geometry words.
    pub const GEOMETRY: usize = 5;
    /// Number of rows.
    pub const COUNT: usize = 6;
}

/// Rows of a leaf of linear swept spheres: four words each. The first four are the coordinates and
/// the radius of the first end, the next four those of the last one.
pub mod swept_row {
    /// Row of the primitive indices.
    pub const PRIMITIVE: usize = 8;
    /// Row of the geometry words.
    pub const GEOMETRY: usize = 9;
    /// Number of rows.
    pub const COUNT: usize = 10;
}

/// The kind of a structure's leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Contents {
    /// Triangles of a bottom-level structure.
    Triangles,
    /// Axis-aligned bounding boxes of a bottom-level structure.
    Aabbs,
    /// Instances of a top-level structure.
    Instances,
    /// Triangles of a micromap, with their states.
    Micromap,
    /// Spheres of a bottom-level structure.
    Spheres,
    /// Linear swept spheres of a bottom-level structure.
    SweptSpheres,
    /// Triangles of a bottom-level structure, of which some move.
    MotionTriangles,
    /// Instances of a top-level structure with motion.
    MotionInstances,
}

impl Contents {
    /// Returns the contents of a number in a header.
    #[inline(always)]
    pub fn from_word(word: u32) -> Option<Contents> {
        const TRIANGLES: u32 = Contents::Triangles as u32;
        const AABBS: u32 = Contents::Aabbs as u32;
        const INSTANCES: u32 = Contents::Instances as u32;
        const MICROMAP: u32 = Contents::Micromap as u32;
        const SPHERES: u32 = Contents::Spheres as u32;
        const SWEPT_SPHERES: u32 = Contents::SweptSpheres as u32;
        const MOTION_TRIANGLES: u32 = Contents::MotionTriangles as u32;
        const MOTION_INSTANCES: u32 = Contents::MotionInstances as u32;
        match word {
            TRIANGLES => Some(Contents::Triangles),
            AABBS => Some(Contents::Aabbs),
            INSTANCES => Some(Contents::Instances),
            MICROMAP => Some(Contents::Micromap),
            SPHERES => Some(Contents::Spheres),
            SWEPT_SPHERES => Some(Contents::SweptSpheres),
            MOTION_TRIANGLES => Some(Contents::MotionTriangles),
            MOTION_INSTANCES => Some(Contents::MotionInstances),
            _ => None,
        }
    }

    /// Returns the number of bytes of a leaf, of an instance, or of a micromap's triangle.
    pub const fn leaf_bytes(self) -> u64 {
        match self {
            Contents::Triangles => triangle_row::COUNT as u64 * 16,
            Contents::Aabbs => aabb_row::COUNT as u64 * 16,
            Contents::Instances => INSTANCE_BYTES,
            Contents::Micromap => MICROMAP_TRIANGLE_BYTES,
            Contents::Spheres => sphere_row::COUNT as u64 * 16,
            Contents::SweptSpheres => swept_row::COUNT as u64 * 16,
            Contents::MotionTriangles => motion_row::COUNT as u64 * 16,
            Contents::MotionInstances => MOTION_INSTANCE_BYTES,
        }
    }

    /// Returns true if the structure is a top-level one.
    #[inline(always)]
    pub const fn is_top_level(self) -> bool {
        matches!(self, Contents::Instances | Contents::MotionInstances)
    }

    /// Returns the row of the primitive indices of a leaf, which that of the geometry words
    /// follows; `None` if the leaves have no such rows.
    pub const fn primitive_row(self) -> Option<usize> {
        const { assert!(triangle_row::GEOMETRY == triangle_row::PRIMITIVE + 1) };
        const { assert!(aabb_row::GEOMETRY == aabb_row::PRIMITIVE + 1) };
        const { assert!(sphere_row::GEOMETRY == sphere_row::PRIMITIVE + 1) };
        const { assert!(swept_row::GEOMETRY == swept_row::PRIMITIVE + 1) };
        match self {
            Contents::Triangles | Contents::MotionTriangles => Some(triangle_row::PRIMITIVE),
            Contents::Aabbs => Some(aabb_row::PRIMITIVE),
            Contents::Spheres => Some(sphere_row::PRIMITIVE),
            Contents::SweptSpheres => Some(swept_row::PRIMITIVE),
            Contents::Instances | Contents::MotionInstances | Contents::Micromap => None,
        }
    }
}

/// An axis-aligned box. The empty box has infinite bounds on the wrong sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lower bounds.
    pub min: [f32; 3],
    /// Upper bounds.
    pub max: [f32; 3],
}

impl Bounds {
    /// The box without a point.
    pub const EMPTY: Bounds = Bounds { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };

    /// Returns the smallest box with both. Coordinates that are not numbers do not count, and the
    /// result has no negative zero, so that it does not depend on the order of unions.
    #[inline(always)]
    pub fn union(self, other: Bounds) -> Bounds {
        let mut union = self;
        for axis in 0..3 {
            let (min, max) = (other.min[axis] + 0.0, other.max[axis] + 0.0);
            union.min[axis] = if min < self.min[axis] { min } else { self.min[axis] };
            union.max[axis] = if max > self.max[axis] { max } else { self.max[axis] };
        }
        union
    }

    /// Returns the smallest box with the point, too.
    #[inline(always)]
    pub fn with_point(self, point: [f32; 3]) -> Bounds {
        self.union(Bounds { min: point, max: point })
    }

    /// Returns true if the box contains no point.
    pub fn is_empty(&self) -> bool {
        !(0..3).all(|axis| self.min[axis] <= self.max[axis])
    }
}

/// The header of a structure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Kind of the leaves.
    pub contents: Contents,
    /// Flags of the build (`VkBuildAccelerationStructureFlagsKHR`), which the format only keeps.
    pub flags: u32,
    /// Number of bytes of the whole structure.
    pub size: u64,
    /// Number of primitives of the input, with inactive ones.
    pub primitives: u32,
    /// Number of primitives in the tree.
    pub active: u32,
    /// Number of nodes; 0 if there is no active primitive.
    pub nodes: u32,
    /// Number of leaves, of instances with inactive ones, or of triangles of a micromap.
    pub leaves: u32,
    /// Number of geometries in the list of micromaps, which lies behind the leaves; 0 if no
    /// geometry has a micromap.
    pub micromaps: u32,
    /// Offset of the nodes.
    pub nodes_offset: u64,
    /// Offset of the leaves.
    pub leaves_offset: u64,
    /// Number of nodes on the longest path.
    pub depth: u32,
    /// Bounds of everything that can be hit.
    pub bounds: Bounds,
}

const MAGIC: u32 = u32::from_le_bytes(*b"Grry");

impl Header {
    /// Returns the bytes of the header.
    pub fn encode(&self) -> [u8; HEADER_BYTES as usize] {
        let mut words = [0u32; HEADER_BYTES as usize / 4];
        words[..4].copy_from_slice(&[MAGIC, FORMAT_VERSION, self.contents as u32, self.flags]);
        words[4..6].copy_from_slice(&[self.size as u32, (self.size >> 32) as u32]);
        words[6..10].copy_from_slice(&[self.primitives, self.active, self.nodes, self.leaves]);
        words[10..12].copy_from_slice(&[self.nodes_offset as u32, (self.nodes_offset >> 32) as u32]);
        words[12..14].copy_from_slice(&[self.leaves_offset as u32, (self.leaves_offset >> 32) as u32]);
        (words[14], words[15]) = (self.depth, self.micromaps);
        words[16..19].copy_from_slice(&self.bounds.min.map(f32::to_bits));
        words[19..22].copy_from_slice(&self.bounds.max.map(f32::to_bits));
        bytes_of(&words)
    }

    /// Reads a header from its bytes; `None` if they are not those of a structure of this version.
    /// Counts and offsets are not checked.
    #[inline]
    pub fn decode(bytes: &[u8; HEADER_BYTES as usize]) -> Option<Header> {
        let word = |i: usize| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]);
        let long = |i: usize| u64::from(word(i)) | u64::from(word(i + 1)) << 32;
        let floats = |i: usize| [i, i + 1, i + 2].map(|i| f32::from_bits(word(i)));
        if word(0) != MAGIC || word(1) != FORMAT_VERSION {
            return None;
        }
        Some(Header {
            contents: Contents::from_word(word(2))?,
            flags: word(3),
            size: long(4),
            primitives: word(6),
            active: word(7),
            nodes: word(8),
            leaves: word(9),
            micromaps: word(15),
            nodes_offset: long(10),
            leaves_offset: long(12),
            depth: word(14),
            bounds: Bounds { min: floats(16), max: floats(19) },
        })
    }

    /// Returns the offset of a leaf.
    #[inline(always)]
    pub fn leaf_offset(&self, leaf: u32) -> u64 {
        self.leaves_offset.wrapping_add(u64::from(leaf) * self.contents.leaf_bytes())
    }

    /// Returns the offset of the list of micromaps, which is also that of a micromap's states.
    pub fn leaves_end(&self) -> u64 {
        self.leaves_offset.saturating_add(u64::from(self.leaves) * self.contents.leaf_bytes())
    }

    /// Returns true if all that the header describes lies inside of `size` bytes.
    #[inline]
    pub fn fits(&self, size: u64) -> bool {
        let size = size.min(self.size);
        let lies_inside = |offset: u64, count: u32, bytes: u64| {
            let end = offset.checked_add(u64::from(count) * bytes);
            count <= INDEX && offset.is_multiple_of(64) && end.is_some_and(|end| end <= size)
        };
        self.depth <= MAX_DEPTH
            && lies_inside(self.nodes_offset, self.nodes, NODE_BYTES)
            && lies_inside(self.leaves_offset, self.leaves, self.contents.leaf_bytes())
            && self.leaves_end().saturating_add(u64::from(self.micromaps) * MICROMAP_ADDRESS_BYTES) <= size
    }
}

/// Returns the bytes of words, little-endian.
#[inline(always)]
pub fn bytes_of<const WORDS: usize, const BYTES: usize>(words: &[u32; WORDS]) -> [u8; BYTES] {
    const { assert!(WORDS * 4 == BYTES) };
    let mut bytes = [0; BYTES];
    for (i, word) in words.iter().enumerate() {
        bytes[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Returns the words of bytes, little-endian.
#[inline(always)]
pub fn words_of<const BYTES: usize, const WORDS: usize>(bytes: &[u8; BYTES]) -> [u32; WORDS] {
    const { assert!(WORDS * 4 == BYTES) };
    let mut words = [0; WORDS];
    for (i, word) in words.iter_mut().enumerate() {
        *word = u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]);
    }
    words
}
