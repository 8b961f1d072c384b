//! Sizes of structures, known from counts alone.
//!
//! A split by surface areas never leaves two odd halves of an even number, so a tree over n
//! primitives has at most ⌈n / 2⌉ leaves: each half of a split keeps the bound. A tree of Morton
//! codes is made again of equal halves if it has more leaves.
//!
//! A tree of m leaves has N ≤ (4 m − 1) / 7 nodes. Let its slack be 4 m − 1 − 7 N, which must not
//! be negative. It is 3 for a leaf, and 4 m − 8 for a node whose m ≥ 2 children are leaves. That of
//! a node above k trees is the sum of theirs, less 8 − k, so eight children lose none. A node has
//! fewer than eight, besides leaves alone, only if no part has more than 32 references
//! (`tree::bottom_size`; 8 if leaves have one primitive). Then the range that was split last had
//! more, hence at least 9 leaves. It is enough that its two parts have a slack of 6. Parts that are
//! single nodes have 4 · 9 − 16, and a leaf and a node at least 3 + 6. A part of up to 32
//! references with nodes below its root has eight children, of which at most six are nodes, since
//! each of them has more than four references. Its slack is thus at least 2 · 3.

#![forbid(unsafe_code)]

use crate::layout::{Contents, HEADER_BYTES, NODE_BYTES};

/// Sizes of a build, as `VkAccelerationStructureBuildSizesInfoKHR` reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildSizes {
    /// Upper bound of the structure's bytes, however its primitives lie.
    pub structure: u64,
    /// Number of scratch bytes of a build.
    pub build_scratch: u64,
    /// Number of scratch bytes of an update.
    pub update_scratch: u64,
}

/// Number of scratch bytes that are requested for any build. Builds work in memory of the driver,
/// because the application could change scratch memory while its contents are relied on. The size
/// is not 0, because applications make a buffer of it.
const SCRATCH: u64 = 64;

/// Returns the largest number of leaves of a tree, or of its instances.
pub fn max_leaves(contents: Contents, primitives: u32) -> u32 {
    match contents {
        Contents::Triangles
        | Contents::MotionTriangles
        | Contents::Aabbs
        | Contents::Spheres
        | Contents::SweptSpheres => primitives.div_ceil(2),
        Contents::Instances | Contents::MotionInstances | Contents::Micromap => primitives,
    }
}

/// Returns the largest number of nodes of a tree with that many leaves.
pub fn max_nodes(leaves: u32) -> u32 {
    match leaves {
        0 => 0,
        _ => ((4 * u64::from(leaves) - 1) / 7).max(1) as u32,
    }
}

/// Returns the sizes of structures of up to `primitives` primitives in all their geometries.
pub fn build_sizes(contents: Contents, primitives: u32) -> BuildSizes {
    let leaves = max_leaves(contents, primitives);
    let nodes = u64::from(max_nodes(leaves)) * NODE_BYTES;
    let structure = HEADER_BYTES + nodes + u64::from(leaves) * contents.leaf_bytes();
    BuildSizes { structure, build_scratch: SCRATCH, update_scratch: SCRATCH }
}
