//! Updates: new vertices, boxes and instances in the tree of an earlier build.
//!
//! Leaves are read again from the input, and nodes get new bounds from the last to the first,
//! because children have higher numbers than their parents. Both are done in parallel: a part of
//! the nodes leaves out those that have a node of another part below them, and they are written at
//! the end. The tree is read from memory that may contain anything: what does not lie inside of the
//! structure is left out.

#![forbid(unsafe_code)]

use crate::build::{BuildError, BuildInput, Child, write_node};
use crate::copy::copy_structure;
use crate::kernels::{Kernel, run};
use crate::layout::{Bounds, Contents, Header, INDEX, LEAF, NODE_BYTES, WIDTH, node_row, words_of};
use crate::leaf::{self, Lanes, LeafSequence, Primitive, Readers, VectorBounds, WriteLeaves};
use crate::motion::write_instance;
use crate::parallel::{WorkError, Workers};
use base::host::{Host, prefetch};
use base::mem::DeviceMemory;
use core::ops::Range;

/// Number of leaves that one item of work reads.
const LEAVES: usize = 1024;
/// Number of nodes that one item of work writes.
const NODES: usize = 512;
/// Number of instances that one item of work reads.
const INSTANCES: u32 = 1024;

/// Updates `source` into `target`, which may be the same structure, and returns the header. The
/// input has as many primitives as that of the build, of which the same ones are active.
///
/// # Errors
/// The source is no structure of this version, or does not match the input; the target is smaller;
/// there is no memory; or the work was aborted. The target then has arbitrary contents.
pub fn update(
    target: DeviceMemory,
    source: DeviceMemory,
    input: &BuildInput,
    workers: &Workers,
) -> Result<Header, BuildError> {
    let mut header = copy_structure(target, source)?;
    if header.contents != input.contents || header.primitives != input.primitives() {
        return Err(BuildError::InvalidSource);
    }
    let readers = Readers::new(input.geometries)?;
    let tree = Tree { target, header: &header, readers: &readers };
    let leaves = match header.contents {
        Contents::Instances | Contents::MotionInstances => update_instances(target, input, workers)?,
        Contents::Triangles
        | Contents::MotionTriangles
        | Contents::Aabbs
        | Contents::Spheres
        | Contents::SweptSpheres => tree.update_leaves(workers)?,
        Contents::Micromap => Vec::new(),
    };
    let bounds = tree.update_nodes(&leaves, workers)?;
    header.bounds = bounds.map_or(Bounds::EMPTY, VectorBounds::to_bounds);
    input.write_micromaps(target, &header);
    target.write(0, &header.encode());
    Ok(header)
}

/// Writes all instances again, and returns their bounds.
fn update_instances(
    target: DeviceMemory,
    input: &BuildInput,
    workers: &Workers,
) -> Result<Vec<VectorBounds>, WorkError> {
    let mut all = base::alloc::filled(VectorBounds::empty(), input.primitives() as usize)?;
    let (mut work, mut rest, mut number) = (Vec::new(), &mut all[..], 0);
    for geometry in input.geometries {
        let (own, behind) = rest.split_at_mut((geometry.primitives as usize).min(rest.len()));
        rest = behind;
        for (i, to) in own.chunks_mut(INSTANCES as usize).enumerate() {
            base::alloc::push(&mut work, (geometry, i as u32 * INSTANCES, number + i as u32 * INSTANCES, to))?;
        }
        number += geometry.primitives;
    }
    workers.map(work, |(geometry, first, number, to)| {
        for (bounds, i) in to.iter_mut().zip(0..) {
            let written = write_instance(target, number + i, (&geometry.data, first + i), input.structures);
            *bounds = written.bounds.unwrap_or(Bounds::EMPTY).into();
        }
        Ok(())
    })?;
    Ok(all)
}

/// The tree that is updated.
struct Tree<'a> {
    target: DeviceMemory,
    header: &'a Header,
    readers: &'a Readers,
}

/// Bounds of a node; `None` until they are known.
type NodeBounds = Option<VectorBounds>;

/// A part of the nodes, and where their bounds are to be written.
struct UpdateNodes<'a> {
    tree: &'a Tree<'a>,
    leaves: &'a [VectorBounds],
    first: u32,
    bounds: &'a mut [NodeBounds],
}

impl Tree<'_> {
    /// Writes all leaves again, and returns their bounds.
    fn update_leaves(&self, workers: &Workers) -> Result<Vec<VectorBounds>, WorkError> {
        let mut all = base::alloc::filled(VectorBounds::empty(), self.header.leaves as usize)?;
        let parts = base::alloc::collect(all.chunks_mut(LEAVES).enumerate())?;
        workers.map(parts, |(i, bounds)| {
            let Tree { target, header, readers } = *self;
            let first = (i * LEAVES) as u32;
            let leaves = &LeavesFrom::new(self, first);
            run(workers.level, WriteLeaves { readers, target, header, first, leaves, bounds });
            Ok(())
        })?;
        Ok(all)
    }

    /// Writes all nodes again, and returns the bounds of the first one.
    fn update_nodes(&self, leaves: &[VectorBounds], workers: &Workers) -> Result<NodeBounds, WorkError> {
        let mut all: Vec<NodeBounds> = base::alloc::filled(None, self.header.nodes as usize)?;
        let parts = base::alloc::collect(all.chunks_mut(NODES).enumerate())?;
        workers.map(parts, |(i, bounds)| {
            run(workers.level, UpdateNodes { tree: self, leaves, first: (i * NODES) as u32, bounds });
            Ok(())
        })?;
        workers.check()?;
        run(workers.level, UpdateNodes { tree: self, leaves, first: 0, bounds: &mut all });
        Ok(all.first().copied().flatten())
    }
}

/// The leaves of a tree from one on.
struct LeavesFrom<'a> {
    tree: &'a Tree<'a>,
    first: u32,
    /// Offset of the primitive indices of the first leaf, which the geometry words follow.
    offset: u64,
    leaf_bytes: u64,
}

impl<'a> LeavesFrom<'a> {
    fn new(tree: &'a Tree<'a>, first: u32) -> LeavesFrom<'a> {
        let contents = tree.header.contents;
        let row = contents.primitive_row().unwrap_or(0) as u64 * 16;
        LeavesFrom { tree, first, offset: tree.header.leaf_offset(first) + row, leaf_bytes: contents.leaf_bytes() }
    }
}

impl LeafSequence for LeavesFrom<'_> {
    /// Returns no primitives for leaves that are not in memory.
    fn lanes(&self, first: usize, lanes: &mut [Lanes]) {
        let Tree { target, header, .. } = self.tree;
        for (leaf, lanes) in (first..).zip(lanes) {
            let mut bytes = [0; 32];
            let is_inside = leaf < (header.leaves - self.first) as usize;
            *lanes = [Primitive::NONE; 4];
            if is_inside && target.read(self.offset + leaf as u64 * self.leaf_bytes, &mut bytes) {
                let [a, b, c, d, e, f, g, h] = words_of(&bytes);
                *lanes = leaf::lanes([a, b, c, d], [e, f, g, h]);
            }
        }
    }

    fn prefetch_lanes(&self, leaves: Range<usize>) {
        for leaf in leaves {
            let row = self.offset + leaf as u64 * self.leaf_bytes;
            prefetch(self.tree.target.address().wrapping_add(row) as *const u8);
        }
    }
}

impl Kernel for UpdateNodes<'_> {
    type Output = ();

    /// Writes the nodes whose bounds are not known and can be computed.
    #[inline(always)]
    fn run<H: Host>(self) {
        let UpdateNodes { tree, leaves, first, bounds } = self;
        for i in (0..bounds.len()).rev() {
            if bounds[i].is_some() {
                continue;
            }
            let node = first + i as u32;
            let offset = tree.header.nodes_offset + u64::from(node) * NODE_BYTES;
            let mut bytes = [0; WIDTH * 4];
            // No child exists if the node is not in memory.
            tree.target.read(offset + (node_row::CHILD * WIDTH * 4) as u64, &mut bytes);
            let words: [u32; WIDTH] = words_of(&bytes);
            let mut children = [Child::none(); WIDTH];
            let mut are_known = true;
            for (child, word) in children.iter_mut().zip(words) {
                let index = word & INDEX;
                let below = if word & LEAF != 0 {
                    leaves.get(index as usize).copied()
                } else if index > node && index < tree.header.nodes {
                    let below = bounds.get((index - first) as usize).copied().flatten();
                    are_known &= below.is_some();
                    below
                } else {
                    None
                };
                *child = Child { word, bounds: below.unwrap_or(VectorBounds::empty()) };
            }
            if are_known {
                bounds[i] = Some(write_node::<H>(tree.target, offset, &children));
            }
        }
    }
}
