//! Structures in memory, read with checked positions.
//!
//! The bytes may be anything at any time. A view is opened once per use: it knows how many nodes
//! and leaves lie inside the memory, and gives a reference only to those. Words are copied out, and
//! no Rust reference to the memory is made. Hosts are little-endian, as the bytes are.

use crate::layout::{
    Contents, HEADER_BYTES, Header, INDEX, INSTANCE_BYTES, LEAF, LEAF_SIZE, MICROMAP_ADDRESS_BYTES,
    MOTION_INSTANCE_BYTES, NODE_BYTES, aabb_row, motion_row, node_row, sphere_row, swept_row, triangle_row,
};
use crate::vec4::F32x4;
use base::host::{Floats, Host, Ints, prefetch};
use base::mem::DeviceMemory;
use core::marker::PhantomData;

const _: () = assert!(cfg!(target_endian = "little"));

/// A structure whose nodes and leaves lie inside of readable memory. The memory stays readable
/// while a view is used, as [`DeviceMemory::new`] requires of the code that made it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct View {
    /// Addresses of the nodes and of the leaves.
    first: [u64; 2],
    node_count: u32,
    leaf_count: u32,
    /// Number of geometries in the list of micromaps.
    micromap_count: u32,
    /// The structure's contents, with its depth in the upper half.
    contents_and_depth: u32,
}

/// A node of a view.
#[derive(Clone, Copy)]
pub struct NodeRef(*const u8);

/// A row of a node, as its offset.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct NodeRow(u8);

impl NodeRow {
    /// Returns the row with a number, which is taken modulo 8.
    #[inline(always)]
    pub const fn new(row: usize) -> NodeRow {
        NodeRow((row as u8 & 7) * 32)
    }
}

/// A leaf that has a number of rows: [`TriangleLeaf`], [`AabbLeaf`], [`SphereLeaf`], [`SweptLeaf`]
/// or [`MotionLeaf`]. It is one of a view, or one that was made for a ray.
#[derive(Clone, Copy)]
pub struct LeafRef<'a, const ROWS: usize>(*const u8, PhantomData<&'a [u32; 4]>);

/// A leaf of triangles.
pub type TriangleLeaf<'a> = LeafRef<'a, { triangle_row::COUNT }>;
/// A leaf of AABBs.
pub type AabbLeaf<'a> = LeafRef<'a, { aabb_row::COUNT }>;
/// A leaf of spheres.
pub type SphereLeaf<'a> = LeafRef<'a, { sphere_row::COUNT }>;
/// A leaf of linear swept spheres.
pub type SweptLeaf<'a> = LeafRef<'a, { swept_row::COUNT }>;
/// A leaf of triangles that move.
pub type MotionLeaf<'a> = LeafRef<'a, { motion_row::COUNT }>;

impl View {
    /// The view of no structure.
    pub const EMPTY: View =
        View { first: [0; 2], node_count: 0, leaf_count: 0, micromap_count: 0, contents_and_depth: 0 };

    /// Reads the header in front of `memory`; `None` if it does not describe a structure that lies
    /// inside the memory.
    #[inline]
    pub fn open(memory: DeviceMemory) -> Option<(View, Header)> {
        let mut bytes = [0; HEADER_BYTES as usize];
        let header = memory.read(0, &mut bytes).then(|| Header::decode(&bytes)).flatten()?;
        if !header.fits(memory.len()) {
            return None;
        }
        let view = View {
            first: [header.nodes_offset, header.leaves_offset].map(|offset| memory.address() + offset),
            node_count: header.nodes,
            leaf_count: header.leaves,
            micromap_count: header.micromaps,
            contents_and_depth: header.contents as u32 | header.depth << 16,
        };
        Some((view, header))
    }

    /// Returns what the leaves contain.
    #[inline(always)]
    pub fn contents(&self) -> Contents {
        Contents::from_word(self.contents_and_depth & 0xffff).unwrap_or(Contents::Instances)
    }

    /// Returns true if both are views of the same structure.
    #[inline(always)]
    pub fn is(&self, other: &View) -> bool {
        self.first == other.first && self.node_count == other.node_count
    }

    /// Returns the number of nodes on the longest path, according to the header.
    #[inline(always)]
    pub fn depth(&self) -> u32 {
        self.contents_and_depth >> 16
    }

    /// Returns an upper bound of the steps that a traversal of a tree takes. A node is visited up
    /// to once for each child, and a leaf again after each of its candidates.
    #[inline(always)]
    pub fn steps(&self) -> u64 {
        8 * u64::from(self.node_count) + u64::from(LEAF_SIZE + 1) * u64::from(self.leaf_count) + 8
    }

    /// Returns a node.
    #[inline(always)]
    pub fn node(&self, index: u32) -> Option<NodeRef> {
        let at = self.first[0] + u64::from(index) * NODE_BYTES;
        (index < self.node_count).then_some(NodeRef(at as *const u8))
    }

    /// Returns a leaf of triangles; `None` in a structure of other contents.
    #[inline(always)]
    pub fn triangle_leaf(&self, index: u32) -> Option<TriangleLeaf<'static>> {
        self.leaf(index, Contents::Triangles)
    }

    /// Returns a leaf of AABBs; `None` in a structure of other contents.
    #[inline(always)]
    pub fn aabb_leaf(&self, index: u32) -> Option<AabbLeaf<'static>> {
        self.leaf(index, Contents::Aabbs)
    }

    /// Returns a leaf of spheres; `None` in a structure of other contents.
    #[inline(always)]
    pub fn sphere_leaf(&self, index: u32) -> Option<SphereLeaf<'static>> {
        self.leaf(index, Contents::Spheres)
    }

    /// Returns a leaf of linear swept spheres; `None` in a structure of other contents.
    #[inline(always)]
    pub fn swept_leaf(&self, index: u32) -> Option<SweptLeaf<'static>> {
        self.leaf(index, Contents::SweptSpheres)
    }

    /// Returns a leaf of triangles that move; `None` in a structure of other contents.
    #[inline(always)]
    pub fn motion_leaf(&self, index: u32) -> Option<MotionLeaf<'static>> {
        self.leaf(index, Contents::MotionTriangles)
    }

    #[inline(always)]
    fn leaf<const ROWS: usize>(&self, index: u32, contents: Contents) -> Option<LeafRef<'static, ROWS>> {
        let bytes = ROWS as u64 * 16;
        let inside = index < self.leaf_count && self.contents() == contents && bytes == contents.leaf_bytes();
        inside.then_some(LeafRef((self.first[1] + u64::from(index) * bytes) as *const u8, PhantomData))
    }

    /// Prefetches a node, or a leaf of a bottom-level structure: without a branch, because which of
    /// both it is depends on the visit before, and cannot be predicted.
    #[inline(always)]
    pub fn prefetch(&self, child: u32) {
        const BYTES: [u64; 2] = [NODE_BYTES, Contents::Triangles.leaf_bytes()];
        const LINE: u64 = 64;
        let is_leaf = (child >> 31) as usize;
        let at = (self.first[is_leaf] + u64::from(child & INDEX) * BYTES[is_leaf]) as *const u8;
        for line in 0..BYTES[0] / LINE {
            prefetch(at.wrapping_add((LINE * line) as usize));
        }
    }

    /// Returns true if a geometry has a micromap.
    #[inline(always)]
    pub fn has_micromaps(&self) -> bool {
        self.micromap_count != 0
    }

    /// Returns the address of the micromap of a geometry; 0 for none.
    pub fn micromap(&self, geometry: u32) -> u64 {
        if geometry >= self.micromap_count {
            return 0;
        }
        let list = self.first[1] + u64::from(self.leaf_count) * self.contents().leaf_bytes();
        let at = (list + u64::from(geometry) * MICROMAP_ADDRESS_BYTES) as *const u64;
        // SAFETY: the address lies inside the view's memory, because the geometry's index is below
        // the length of the list that `open` has checked.
        unsafe { at.read_unaligned() }
    }

    /// Returns the words of an instance of a top-level structure; `None` in one with motion.
    #[inline(always)]
    pub fn instance(&self, index: u32) -> Option<[u32; INSTANCE_BYTES as usize / 4]> {
        self.leaf_words(index, Contents::Instances)
    }

    /// Returns the words of an instance of a top-level structure with motion.
    #[inline(always)]
    pub fn motion_instance(&self, index: u32) -> Option<[u32; MOTION_INSTANCE_BYTES as usize / 4]> {
        self.leaf_words(index, Contents::MotionInstances)
    }

    #[inline(always)]
    fn leaf_words<const WORDS: usize>(&self, index: u32, contents: Contents) -> Option<[u32; WORDS]> {
        let bytes = WORDS as u64 * 4;
        if index >= self.leaf_count || self.contents() != contents || bytes != contents.leaf_bytes() {
            return None;
        }
        let at = (self.first[1] + u64::from(index) * bytes) as *const [u32; WORDS];
        // SAFETY: the instance lies inside the view's memory, because its index is below the number
        // of instances that `open` has checked.
        Some(unsafe { at.read_unaligned() })
    }
}

impl NodeRef {
    /// Returns a row of the node.
    #[inline(always)]
    pub fn row_at<H: Host>(self, row: NodeRow) -> H::Floats {
        // SAFETY: a reference is made for a whole node inside the view's memory, and a `NodeRow` is
        // the offset of one of its rows of 32 bytes.
        let words = unsafe { self.0.add(usize::from(row.0)).cast::<[u32; 8]>().read_unaligned() };
        H::Ints::from_array(words).as_floats()
    }

    /// Returns a word of a row of the node; the slot is taken modulo 8.
    #[inline(always)]
    pub fn word_at(self, row: NodeRow, slot: u32) -> u32 {
        let at = usize::from(row.0) + (slot as usize & 7) * 4;
        // SAFETY: a reference is made for a whole node inside the view's memory, and a `NodeRow` is
        // the offset of one of its rows of 8 words.
        unsafe { self.0.add(at).cast::<u32>().read_unaligned() }
    }

    /// Returns the words of the children, without bits that the format does not define.
    #[inline(always)]
    pub fn children<H: Host>(self) -> H::Ints {
        self.row_at::<H>(NodeRow::new(node_row::CHILD)).bits() & H::Ints::splat(LEAF | INDEX)
    }

    /// Returns the word of a child; the slot is taken modulo 8.
    #[inline(always)]
    pub fn child(self, slot: u32) -> u32 {
        self.word_at(NodeRow::new(node_row::CHILD), slot)
    }

    /// Returns the slot of the child with a word; that of the last one if there is none.
    #[inline(always)]
    pub fn slot<H: Host>(self, child: u32) -> u32 {
        let equal = self.children::<H>().equal(H::Ints::splat(child));
        (equal.movemask() | 1 << 7).trailing_zeros()
    }

    /// Returns the order of the children for an octant, whose number is taken modulo 8.
    #[inline(always)]
    pub fn order(self, octant: u32) -> u32 {
        let octant = octant as usize & 7;
        // SAFETY: a reference is made for a whole node inside the view's memory, and the row of
        // orders has 8 words.
        unsafe { self.0.add(node_row::ORDER * 32 + octant * 4).cast::<u32>().read_unaligned() }
    }
}

impl<'a, const ROWS: usize> LeafRef<'a, ROWS> {
    /// Makes a leaf of rows.
    #[inline(always)]
    pub fn new(rows: &'a [[u32; 4]; ROWS]) -> LeafRef<'a, ROWS> {
        LeafRef(rows.as_ptr().cast(), PhantomData)
    }

    /// Returns a row of the leaf as words; a row that does not exist is the first one.
    #[inline(always)]
    pub fn words(self, row: usize) -> [u32; 4] {
        let row = if row < ROWS { row } else { 0 };
        // SAFETY: a reference is made for a whole leaf, inside the view's memory or of borrowed
        // rows, and has `ROWS` rows of 16 bytes.
        unsafe { self.0.add(row * 16).cast::<[u32; 4]>().read_unaligned() }
    }

    /// Returns a word of a row of the leaf, with both numbers limited to those that exist.
    #[inline(always)]
    pub fn word(self, row: usize, lane: usize) -> u32 {
        let row = if row < ROWS { row } else { 0 };
        // SAFETY: a reference is made for a whole leaf, inside the view's memory or of borrowed
        // rows, and has `ROWS` rows of 4 words.
        unsafe { self.0.add(row * 16 + (lane & 3) * 4).cast::<u32>().read_unaligned() }
    }

    /// Returns a row of the leaf as floats; a row that does not exist is the first one.
    #[inline(always)]
    pub fn row(self, row: usize) -> F32x4 {
        F32x4::from_bits(self.words(row))
    }
}
