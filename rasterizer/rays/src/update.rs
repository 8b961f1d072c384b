//! Updates: new vertices, boxes and instances in the tree of an earlier build.
//!
//! Leaves are read again from the input, in parallel, and nodes get new bounds from the last to the
//! first, because children have higher numbers than their parents. The tree is read from memory
//! that may contain anything: what does not lie inside of the structure is left out.

#![forbid(unsafe_code)]

use crate::build::{BuildError, BuildInput, Child, write_leaf, write_node};
use crate::copy::copy_structure;
use crate::input::GeometryData;
use crate::instance::build_instance;
use crate::layout::{
    Bounds, Contents, HEADER_BYTES, Header, INDEX, INSTANCE_BYTES, LEAF, NODE_BYTES, WIDTH, aabb_row, bytes_of,
    node_row, triangle_row, words_of,
};
use crate::leaf::{self, Readers};
use crate::parallel::{HelperThreads, map};
use base::mem::DeviceMemory;

/// Number of nodes whose leaves one item of work reads.
const CHUNK: u32 = 256;
/// Number of instances that one item of work reads.
const INSTANCES: u32 = 1024;

/// Updates `source` into `target`, which may be the same structure, and returns the header. The
/// input has as many primitives as that of the build, of which the same ones are active.
///
/// # Errors
/// The source is no structure of this version, or does not match the input; the target is smaller;
/// or there is no memory.
pub fn update(
    target: DeviceMemory,
    source: DeviceMemory,
    input: &BuildInput,
    threads: HelperThreads,
) -> Result<Header, BuildError> {
    let mut header = copy_structure(target, source)?;
    if header.contents != input.contents || header.primitives != input.primitives() {
        return Err(BuildError::InvalidSource);
    }
    let readers = Readers::new(input.geometries)?;
    let mut instances = Vec::new();
    if header.contents == Contents::Instances {
        instances = update_instances(target, input, threads)?;
    }
    let mut first_nodes = base::alloc::filled(0, header.nodes.div_ceil(CHUNK) as usize)?;
    for (i, first) in first_nodes.iter_mut().enumerate() {
        *first = i as u32 * CHUNK;
    }
    let tree = Tree { target, header: &header, readers: &readers, instances: &instances };
    map(threads, first_nodes, |first| {
        (first..header.nodes.min(first + CHUNK)).for_each(|node| tree.update_leaves(node))
    });
    let mut bounds = base::alloc::filled(Bounds::EMPTY, header.nodes as usize)?;
    for node in (0..header.nodes).rev() {
        bounds[node as usize] = tree.update_node(node, &bounds);
    }
    header.bounds = bounds.first().copied().unwrap_or(Bounds::EMPTY);
    input.write_micromaps(target, &header);
    target.write(0, &header.encode());
    Ok(header)
}

/// Writes all instances again, and returns their bounds.
fn update_instances(
    target: DeviceMemory,
    input: &BuildInput,
    threads: HelperThreads,
) -> Result<Vec<Bounds>, BuildError> {
    let mut all = base::alloc::filled(Bounds::EMPTY, input.primitives() as usize)?;
    let (mut work, mut rest, mut number) = (Vec::new(), &mut all[..], 0);
    for geometry in input.geometries {
        let (own, behind) = rest.split_at_mut((geometry.primitives as usize).min(rest.len()));
        rest = behind;
        for (i, to) in own.chunks_mut(INSTANCES as usize).enumerate() {
            work.push((geometry, i as u32 * INSTANCES, number + i as u32 * INSTANCES, to));
        }
        number += geometry.primitives;
    }
    map(threads, work, |(geometry, first, number, to)| {
        let GeometryData::Instances(instances) = &geometry.data else { return };
        for (i, bounds) in to.iter_mut().enumerate() {
            let built = build_instance(instances.read(first + i as u32), input.structures);
            let offset = HEADER_BYTES + u64::from(number + i as u32) * INSTANCE_BYTES;
            target.write(offset, &bytes_of::<32, 128>(&built.record));
            *bounds = built.bounds.unwrap_or(Bounds::EMPTY);
        }
    });
    Ok(all)
}

/// The tree that is updated.
struct Tree<'a> {
    target: DeviceMemory,
    header: &'a Header,
    readers: &'a Readers,
    instances: &'a [Bounds],
}

impl Tree<'_> {
    fn node_offset(&self, node: u32) -> u64 {
        self.header.nodes_offset + u64::from(node) * NODE_BYTES
    }

    /// Reads a node's words; none of its children exist if it is not in memory.
    fn node(&self, node: u32) -> [u32; NODE_BYTES as usize / 4] {
        let mut bytes = [0; NODE_BYTES as usize];
        self.target.read(self.node_offset(node), &mut bytes);
        words_of(&bytes)
    }

    /// Writes the leaves of a node again, and their bounds into the node.
    fn update_leaves(&self, node: u32) {
        let words = self.node(node);
        let mut children = [Child::NONE; WIDTH];
        for (slot, child) in children.iter_mut().enumerate() {
            let word = words[node_row::CHILD * WIDTH + slot];
            let bounds = if word & LEAF != 0 { self.leaf(word & INDEX) } else { Bounds::EMPTY };
            *child = Child { word, bounds };
        }
        write_node(self.target, self.node_offset(node), &children);
    }

    fn leaf(&self, index: u32) -> Bounds {
        let contents = self.header.contents;
        if index >= self.header.leaves {
            return Bounds::EMPTY;
        }
        let offset = self.header.leaves_offset + u64::from(index) * contents.leaf_bytes();
        let row = |row: usize| {
            let mut bytes = [0; 16];
            self.target.read(offset + row as u64 * 16, &mut bytes);
            words_of::<16, 4>(&bytes)
        };
        let lanes = match contents {
            Contents::Instances => return self.instances.get(index as usize).copied().unwrap_or(Bounds::EMPTY),
            Contents::Micromap => return Bounds::EMPTY,
            Contents::Triangles => leaf::lanes(row(triangle_row::PRIMITIVE), row(triangle_row::GEOMETRY)),
            Contents::Aabbs => leaf::lanes(row(aabb_row::PRIMITIVE), row(aabb_row::GEOMETRY)),
        };
        write_leaf(self.target, offset, self.readers, contents, &lanes)
    }

    /// Gives the inner children of a node the bounds of their nodes, and returns those of the node.
    fn update_node(&self, node: u32, bounds: &[Bounds]) -> Bounds {
        let words = self.node(node);
        let mut children = [Child::NONE; WIDTH];
        for (slot, child) in children.iter_mut().enumerate() {
            let word = words[node_row::CHILD * WIDTH + slot];
            let lanes = |row: usize| [0, 1, 2].map(|axis| f32::from_bits(words[(row + axis) * WIDTH + slot]));
            let own = Bounds { min: lanes(node_row::MIN), max: lanes(node_row::MAX) };
            let is_inner = word != 0 && word & LEAF == 0;
            let below = bounds.get((word & INDEX) as usize).copied().unwrap_or(Bounds::EMPTY);
            *child = Child { word, bounds: if is_inner { below } else { own } };
        }
        write_node(self.target, self.node_offset(node), &children)
    }
}
