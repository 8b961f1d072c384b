//! Numbers the nodes and leaves of a tree depth-first, and writes them with their bounds.

#![forbid(unsafe_code)]

use super::references::PrimitiveRef;
use super::request::BuildInput;
use super::tree::{LeafRange, Subtree, Top, TopChild};
use crate::layout::{
    Bounds, Contents, HEADER_BYTES, Header, INSTANCE_BYTES, LEAF, MICROMAP_ADDRESS_BYTES, NODE_BYTES, WIDTH, bytes_of,
    node_row,
};
use crate::leaf::{Lanes, Primitive, Readers};
use crate::parallel::{HelperThreads, map};
use base::mem::DeviceMemory;

/// First numbers of a subtree, or of the parts of a tree that are numbered next.
#[derive(Clone, Copy, Default)]
struct Numbers {
    node: u32,
    leaf: u32,
}

/// Numbers of a tree's parts.
struct Numbering {
    /// Number and children of each node above the subtrees; leaves have their numbers.
    top: Vec<(u32, [TopWord; WIDTH])>,
    tasks: Vec<Numbers>,
    end: Numbers,
}

/// A numbered child of a node above the subtrees.
#[derive(Clone, Copy)]
enum TopWord {
    None,
    Node(u32),
    Task(u32),
    Leaf(u32, LeafRange),
}

impl Numbering {
    fn new(top: &Top, subtrees: &[Subtree]) -> Numbering {
        let mut numbering = Numbering {
            top: vec![(0, [TopWord::None; WIDTH]); top.nodes.len()],
            tasks: vec![Numbers::default(); subtrees.len()],
            end: Numbers::default(),
        };
        if top.nodes.is_empty() {
            (0..subtrees.len()).for_each(|task| numbering.task(task, subtrees));
        } else {
            numbering.node(0, top, subtrees);
        }
        numbering
    }

    fn task(&mut self, task: usize, subtrees: &[Subtree]) {
        self.tasks[task] = self.end;
        self.end.node += subtrees[task].nodes.len() as u32;
        self.end.leaf += subtrees[task].leaves.len() as u32;
    }

    fn node(&mut self, node: usize, top: &Top, subtrees: &[Subtree]) {
        self.top[node].0 = self.end.node;
        self.end.node += 1;
        for (slot, child) in top.nodes[node].iter().enumerate() {
            self.top[node].1[slot] = match *child {
                None => TopWord::None,
                Some(TopChild::Node(child)) => {
                    self.node(child as usize, top, subtrees);
                    TopWord::Node(child)
                }
                Some(TopChild::Task(task)) => {
                    self.task(task as usize, subtrees);
                    TopWord::Task(task)
                }
                Some(TopChild::Leaf(range)) => {
                    self.end.leaf += 1;
                    TopWord::Leaf(self.end.leaf - 1, range)
                }
            };
        }
    }
}

/// A child of a node that is written.
#[derive(Clone, Copy)]
pub struct Child {
    /// The child's word in the node; 0 for none.
    pub word: u32,
    /// Bounds of the child.
    pub bounds: Bounds,
}

impl Child {
    /// No child.
    pub const NONE: Child = Child { word: 0, bounds: Bounds::EMPTY };
}

/// Returns the row of orders of a node: for each octant, the slots by descending distance of the
/// boxes' centres along the octant's diagonal.
fn visiting_orders(children: &[Child; WIDTH]) -> [u32; WIDTH] {
    let mut orders = [0; WIDTH];
    for octant in 0..4 {
        // Keys are different from each other, and order as the distances do.
        let keys = children.each_ref().map(|Child { bounds, .. }| {
            let [x, y, z] = [0, 1, 2].map(|axis| {
                let sum = bounds.min[axis] + bounds.max[axis];
                if octant >> axis & 1 != 0 { -sum } else { sum }
            });
            // Not-a-number has different bits on different processors.
            let distance = x + y + z;
            let distance = if distance.is_nan() { f32::NEG_INFINITY } else { distance };
            let bits = distance.to_bits() as i32;
            bits ^ (bits >> 31 & i32::MAX)
        });
        let mut places = [0u32; WIDTH];
        for other in 0..WIDTH {
            for slot in 0..WIDTH {
                let is_behind = keys[other] > keys[slot] || keys[other] == keys[slot] && other < slot;
                places[slot] += u32::from(is_behind);
            }
        }
        for (slot, place) in places.into_iter().enumerate() {
            orders[octant] |= (slot as u32) << (3 * place);
            orders[7 - octant] |= (slot as u32) << (3 * (7 - place));
        }
    }
    orders
}

/// Writes a node, and returns the bounds of its children.
pub fn write_node(target: DeviceMemory, offset: u64, children: &[Child; WIDTH]) -> Bounds {
    let mut words = [0; NODE_BYTES as usize / 4];
    let mut union = Bounds::EMPTY;
    for (slot, child) in children.iter().enumerate() {
        for axis in 0..3 {
            words[(node_row::MIN + axis) * WIDTH + slot] = child.bounds.min[axis].to_bits();
            words[(node_row::MAX + axis) * WIDTH + slot] = child.bounds.max[axis].to_bits();
        }
        words[node_row::CHILD * WIDTH + slot] = child.word;
        union = union.union(child.bounds);
    }
    let orders = &mut words[node_row::ORDER * WIDTH..];
    orders.copy_from_slice(&visiting_orders(children));
    target.write(offset, &bytes_of::<64, 256>(&words));
    union
}

/// Writes the tree of a build.
pub struct Emitter<'a, R> {
    /// Memory of the structure.
    pub target: DeviceMemory,
    /// Input of the build.
    pub input: &'a BuildInput<'a>,
    /// Readers of the input's geometries.
    pub readers: &'a Readers,
    /// Returns the reference at a position of one of the two lists.
    pub reference: R,
    /// The threads that may help.
    pub threads: HelperThreads<'a>,
}

impl<R: Fn(usize, usize) -> PrimitiveRef + Sync> Emitter<'_, R> {
    /// Writes header, nodes and leaves, and returns the header.
    pub fn write(&self, top: &Top, subtrees: &[Subtree], active: u32) -> Header {
        let numbering = Numbering::new(top, subtrees);
        let primitives = self.input.primitives();
        let contents = self.input.contents;
        let nodes = numbering.end.node;
        let micromaps = self.input.micromaps();
        let (nodes_offset, leaves, leaves_offset, size) = if contents == Contents::Instances {
            let nodes_offset = HEADER_BYTES + u64::from(primitives) * INSTANCE_BYTES;
            (nodes_offset, primitives, HEADER_BYTES, nodes_offset + u64::from(nodes) * NODE_BYTES)
        } else {
            let leaves_offset = HEADER_BYTES + u64::from(nodes) * NODE_BYTES;
            let leaves = numbering.end.leaf;
            let leaves_end = leaves_offset + u64::from(leaves) * contents.leaf_bytes();
            (HEADER_BYTES, leaves, leaves_offset, leaves_end + u64::from(micromaps) * MICROMAP_ADDRESS_BYTES)
        };
        let mut header = Header {
            contents,
            flags: self.input.flags,
            size,
            primitives,
            active,
            nodes,
            leaves,
            micromaps,
            nodes_offset,
            leaves_offset,
            depth: subtrees.iter().map(|subtree| subtree.depth).max().unwrap_or(0),
            bounds: Bounds::EMPTY,
        };
        let work: Vec<_> = subtrees.iter().zip(&numbering.tasks).collect();
        let tasks = map(self.threads, work, |(subtree, numbers)| self.write_subtree(subtree, *numbers, &header));
        header.bounds = match top.nodes.is_empty() {
            true => tasks.first().copied().unwrap_or(Bounds::EMPTY),
            false => self.write_top(&numbering, &tasks, &header),
        };
        self.input.write_micromaps(self.target, &header);
        self.target.write(0, &header.encode());
        header
    }

    fn write_top(&self, numbering: &Numbering, tasks: &[Bounds], header: &Header) -> Bounds {
        let mut bounds = vec![Bounds::EMPTY; numbering.top.len()];
        // Nodes have higher numbers than those above them.
        for (node, (number, words)) in numbering.top.iter().enumerate().rev() {
            let children = words.map(|word| match word {
                TopWord::None => Child::NONE,
                TopWord::Node(child) => Child { word: numbering.top[child as usize].0, bounds: bounds[child as usize] },
                TopWord::Task(task) => {
                    Child { word: numbering.tasks[task as usize].node, bounds: tasks[task as usize] }
                }
                TopWord::Leaf(number, range) => self.write_leaf(range, number, header),
            });
            bounds[node] = write_node(self.target, header.nodes_offset + u64::from(*number) * NODE_BYTES, &children);
        }
        bounds[0]
    }

    fn write_subtree(&self, subtree: &Subtree, first: Numbers, header: &Header) -> Bounds {
        let mut bounds = vec![Bounds::EMPTY; subtree.nodes.len()];
        for (node, words) in subtree.nodes.iter().enumerate().rev() {
            let children = words.map(|word| match word {
                0 => Child::NONE,
                _ if word & LEAF != 0 => {
                    let leaf = word & !LEAF;
                    self.write_leaf(subtree.leaves[leaf as usize], first.leaf + leaf, header)
                }
                _ => Child { word: first.node + word, bounds: bounds[word as usize] },
            });
            let number = u64::from(first.node) + node as u64;
            bounds[node] = write_node(self.target, header.nodes_offset + number * NODE_BYTES, &children);
        }
        bounds.first().copied().unwrap_or(Bounds::EMPTY)
    }

    #[inline(always)]
    fn write_leaf(&self, range: LeafRange, number: u32, header: &Header) -> Child {
        let reference = |i: usize| (self.reference)(range.side as usize, range.first as usize + i);
        if header.contents == Contents::Instances {
            let reference = reference(0);
            let bounds =
                Bounds { min: [0, 1, 2].map(|axis| reference.min(axis)), max: [0, 1, 2].map(|a| reference.max(a)) };
            return Child { word: LEAF | reference.primitive().index, bounds: Bounds::EMPTY.union(bounds) };
        }
        let mut lanes: Lanes = [Primitive::NONE; 4];
        for (i, lane) in lanes[..range.count as usize].iter_mut().enumerate() {
            *lane = reference(i).primitive();
        }
        let offset = header.leaves_offset + u64::from(number) * header.contents.leaf_bytes();
        Child { word: LEAF | number, bounds: write_leaf(self.target, offset, self.readers, header.contents, &lanes) }
    }
}

/// Writes a leaf of triangles or AABBs, and returns its bounds.
#[inline(always)]
pub fn write_leaf(target: DeviceMemory, offset: u64, readers: &Readers, contents: Contents, lanes: &Lanes) -> Bounds {
    if contents == Contents::Triangles {
        let (words, bounds) = readers.triangle_leaf(lanes);
        target.write(offset, &bytes_of::<48, 192>(&words));
        bounds
    } else {
        let (words, bounds) = readers.aabb_leaf(lanes);
        target.write(offset, &bytes_of::<32, 128>(&words));
        bounds
    }
}
