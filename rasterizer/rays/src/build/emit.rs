//! Numbers the nodes and leaves of a tree depth-first, and writes them with their bounds.

use super::node::{Child, write_node};
use super::references::PrimitiveRef;
use super::request::BuildInput;
use super::tree::{LeafRange, Subtree, Top, TopChild};
use crate::kernels::{self, Kernel};
use crate::layout::{Bounds, HEADER_BYTES, Header, LEAF, MICROMAP_ADDRESS_BYTES, NODE_BYTES, WIDTH};
use crate::leaf::{Lanes, LeafSequence, Primitive, Readers, VectorBounds, WriteLeaves};
use crate::parallel::{WorkError, Workers};
use base::alloc::OutOfMemory;
use base::host::Host;
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
    fn new(top: &Top, subtrees: &[Subtree]) -> Result<Numbering, OutOfMemory> {
        let mut numbering = Numbering {
            top: base::alloc::filled((0, [TopWord::None; WIDTH]), top.nodes.len())?,
            tasks: base::alloc::filled(Numbers::default(), subtrees.len())?,
            end: Numbers::default(),
        };
        if top.nodes.is_empty() {
            (0..subtrees.len()).for_each(|task| numbering.task(task, subtrees));
        } else {
            numbering.node(0, top, subtrees);
        }
        Ok(numbering)
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

/// References in the order of leaves.
pub trait Order: Sync {
    /// Returns the primitive at a position of one of the two lists.
    fn primitive(&self, side: usize, at: usize) -> Primitive;
    /// Returns the reference at a position of one of the two lists.
    fn reference(&self, side: usize, at: usize) -> PrimitiveRef;
    /// Prefetches what [`Order::primitive`] reads.
    fn prefetch(&self, side: usize, at: usize);

    /// Returns the primitives of leaves. One call serves many leaves, because it is not direct.
    fn lanes(&self, leaves: &[LeafRange], lanes: &mut [Lanes]) {
        for (leaf, lanes) in leaves.iter().zip(lanes) {
            *lanes = [Primitive::NONE; 4];
            for (lane, at) in lanes.iter_mut().zip(leaf.positions()) {
                *lane = self.primitive(leaf.side as usize, at);
            }
        }
    }

    /// Prefetches what [`Order::lanes`] reads.
    fn prefetch_lanes(&self, leaves: &[LeafRange]) {
        for leaf in leaves {
            for at in leaf.positions() {
                self.prefetch(leaf.side as usize, at);
            }
        }
    }
}

/// Writes the tree of a build.
pub struct Emitter<'a> {
    /// Memory of the structure.
    pub target: DeviceMemory,
    /// Input of the build.
    pub input: &'a BuildInput<'a>,
    /// Readers of the input's geometries.
    pub readers: &'a Readers,
    /// The references.
    pub order: &'a dyn Order,
    /// The means of the build.
    pub workers: &'a Workers<'a>,
}

impl Emitter<'_> {
    /// Writes header, nodes and leaves, and returns the header.
    pub fn write(&self, top: &Top, subtrees: &[Subtree], active: u32) -> Result<Header, WorkError> {
        let numbering = Numbering::new(top, subtrees)?;
        let primitives = self.input.primitives();
        let contents = self.input.contents;
        let nodes = numbering.end.node;
        let micromaps = self.input.micromaps();
        let (nodes_offset, leaves, leaves_offset, size) = if contents.is_top_level() {
            let nodes_offset = HEADER_BYTES + u64::from(primitives) * contents.leaf_bytes();
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
        let work = base::alloc::collect(subtrees.iter().zip(&numbering.tasks))?;
        let level = self.workers.level;
        let tasks = self.workers.map(work, |(subtree, &first)| {
            kernels::run(level, WriteSubtree { emitter: self, subtree, first, header: &header })
        })?;
        header.bounds = match top.nodes.is_empty() {
            true => tasks.first().map_or(Bounds::EMPTY, |bounds| bounds.to_bounds()),
            false => {
                let bounds = base::alloc::filled(VectorBounds::empty(), numbering.top.len())?;
                let kernel = WriteTop { emitter: self, numbering: &numbering, tasks: &tasks, header: &header, bounds };
                kernels::run(level, kernel).to_bounds()
            }
        };
        self.input.write_micromaps(self.target, &header);
        self.target.write(0, &header.encode());
        Ok(header)
    }

    /// Returns the only reference of a leaf of a top-level structure as a child.
    #[inline(always)]
    fn instance(&self, range: LeafRange) -> Child {
        let reference = self.order.reference(range.side as usize, range.first as usize);
        let bounds =
            Bounds { min: [0, 1, 2].map(|axis| reference.min(axis)), max: [0, 1, 2].map(|a| reference.max(a)) };
        Child { word: LEAF | reference.primitive().index, bounds: bounds.into() }
    }

    /// Writes leaves, of which the first one has the number `first`, and their bounds.
    fn write_leaves(&self, header: &Header, first: u32, leaves: &[LeafRange], bounds: &mut [VectorBounds]) {
        let (readers, target, leaves) = (self.readers, self.target, &SubtreeLeaves { order: self.order, leaves });
        kernels::run(self.workers.level, WriteLeaves { readers, target, header, first, leaves, bounds });
    }
}

/// The leaves of a subtree.
struct SubtreeLeaves<'a> {
    order: &'a dyn Order,
    leaves: &'a [LeafRange],
}

impl LeafSequence for SubtreeLeaves<'_> {
    fn lanes(&self, first: usize, lanes: &mut [Lanes]) {
        self.order.lanes(self.leaves.get(first..).unwrap_or(&[]), lanes);
    }

    fn prefetch_lanes(&self, leaves: core::ops::Range<usize>) {
        let end = leaves.end.min(self.leaves.len());
        self.order.prefetch_lanes(self.leaves.get(leaves.start..end).unwrap_or(&[]));
    }
}

/// Writes a subtree.
struct WriteSubtree<'a, 'e> {
    emitter: &'a Emitter<'e>,
    subtree: &'a Subtree,
    first: Numbers,
    header: &'a Header,
}

impl Kernel for WriteSubtree<'_, '_> {
    type Output = Result<VectorBounds, WorkError>;

    #[inline(always)]
    fn run<H: Host>(self) -> Self::Output {
        let WriteSubtree { emitter, subtree, first, header } = self;
        let of_instances = header.contents.is_top_level();
        let mut leaves = Vec::new();
        if !of_instances {
            leaves = base::alloc::filled(VectorBounds::empty(), subtree.leaves.len())?;
            emitter.write_leaves(header, first.leaf, &subtree.leaves, &mut leaves);
        }
        let mut bounds = base::alloc::filled(VectorBounds::empty(), subtree.nodes.len())?;
        for (node, words) in subtree.nodes.iter().enumerate().rev() {
            let mut children = [Child::none(); WIDTH];
            for (child, &word) in children.iter_mut().zip(words) {
                *child = match word {
                    0 => break,
                    _ if word & LEAF == 0 => Child { word: first.node + word, bounds: bounds[word as usize] },
                    _ if of_instances => emitter.instance(subtree.leaves[(word & !LEAF) as usize]),
                    _ => Child { word: first.leaf + word, bounds: leaves[(word & !LEAF) as usize] },
                };
            }
            let offset = header.nodes_offset + (u64::from(first.node) + node as u64) * NODE_BYTES;
            bounds[node] = write_node::<H>(emitter.target, offset, &children);
        }
        Ok(bounds.first().copied().unwrap_or(VectorBounds::empty()))
    }
}

/// Writes the nodes above the subtrees, and their leaves.
struct WriteTop<'a, 'e> {
    emitter: &'a Emitter<'e>,
    numbering: &'a Numbering,
    /// Bounds of the subtrees.
    tasks: &'a [VectorBounds],
    header: &'a Header,
    /// Bounds of the nodes.
    bounds: Vec<VectorBounds>,
}

impl Kernel for WriteTop<'_, '_> {
    type Output = VectorBounds;

    #[inline(always)]
    fn run<H: Host>(self) -> VectorBounds {
        let WriteTop { emitter, numbering, tasks, header, mut bounds } = self;
        // Nodes have higher numbers than those above them.
        for (node, (number, words)) in numbering.top.iter().enumerate().rev() {
            let mut children = [Child::none(); WIDTH];
            for (child, &word) in children.iter_mut().zip(words) {
                *child = match word {
                    TopWord::None => break,
                    TopWord::Node(child) => {
                        Child { word: numbering.top[child as usize].0, bounds: bounds[child as usize] }
                    }
                    TopWord::Task(task) => {
                        Child { word: numbering.tasks[task as usize].node, bounds: tasks[task as usize] }
                    }
                    TopWord::Leaf(_, range) if header.contents.is_top_level() => emitter.instance(range),
                    TopWord::Leaf(number, range) => {
                        let mut bounds = [VectorBounds::empty()];
                        emitter.write_leaves(header, number, &[range], &mut bounds);
                        Child { word: LEAF | number, bounds: bounds[0] }
                    }
                };
            }
            let offset = header.nodes_offset + u64::from(*number) * NODE_BYTES;
            bounds[node] = write_node::<H>(emitter.target, offset, &children);
        }
        bounds[0]
    }
}
