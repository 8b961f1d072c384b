//! Trees of eight children, made of splits into two.
//!
//! A node begins with one range, and splits the most expensive of its ranges until there are eight
//! or all are leaves. A range whose leaves fit into one node ([`bottom_size`]) is split only by
//! that node: eight nodes of two leaves would be more to visit than two nodes of eight. Large
//! ranges are made into nodes first, by the caller's thread; the ranges that remain are subtrees,
//! which are made independently.

use crate::layout::{LEAF, MAX_DEPTH, WIDTH};
use crate::parallel::WorkError;
use base::alloc::{OutOfMemory, push, reserve};

/// Largest number of primitives of a subtree.
pub const SUBTREE: u32 = 4096;

/// Returns the largest number of references of a range that a node above it does not split: full
/// leaves of as many references are the children of one node.
const fn bottom_size(leaf_size: u32) -> u32 {
    WIDTH as u32 * leaf_size
}

/// Depth from which ranges are halved, so that no path exceeds [`MAX_DEPTH`]: eight parts of 2^29
/// primitives have at most ten further levels.
const HALVING_DEPTH: u32 = MAX_DEPTH - 11;

/// A range of references.
#[derive(Clone, Copy)]
pub struct Range<B> {
    /// Position of the first one.
    pub first: u32,
    /// Number of references.
    pub count: u32,
    /// Number of the list that has them: the first or the second.
    pub side: u32,
    /// Properties of the references that the splitter needs.
    pub boxes: B,
}

/// A way to split ranges.
pub trait Splitter {
    /// Properties of the references of a range.
    type Boxes: Copy;
    /// Returns how urgent it is to split a range; the first one of the most urgent ranges of a node
    /// is split next.
    fn priority(&self, range: &Range<Self::Boxes>) -> f32;
    /// Splits a large range into up to eight ranges at once, of which none with up to `smallest`
    /// references is split further; `None` if it is to be split in two.
    fn split_at_once(
        &mut self,
        range: &Range<Self::Boxes>,
        smallest: u32,
    ) -> Result<Option<Children<Self::Boxes>>, WorkError>;
    /// Splits a range of more than a leaf in two. If the number of references is even, those of
    /// both parts are.
    fn split(&mut self, range: &Range<Self::Boxes>) -> Result<[Range<Self::Boxes>; 2], WorkError>;
    /// Splits a range in two parts of about the same size; see [`half`].
    fn halve(&mut self, range: &Range<Self::Boxes>) -> [Range<Self::Boxes>; 2];
}

/// Returns the size of the left half of `count` references: a multiple of the leaf's size, or any
/// number if leaves have one primitive.
pub fn half(count: u32, leaf_size: u32) -> u32 {
    (count / 2).next_multiple_of(leaf_size).clamp(1, count - 1)
}

/// References of a leaf.
#[derive(Clone, Copy)]
pub struct LeafRange {
    /// Position of the first one.
    pub first: u32,
    /// Number of references.
    pub count: u8,
    /// Number of the list that has them.
    pub side: u8,
}

impl LeafRange {
    /// Returns the positions of the references.
    #[inline(always)]
    pub fn positions(&self) -> core::ops::Range<usize> {
        self.first as usize..self.first as usize + self.count as usize
    }
}

/// A subtree. Children are 0, [`LEAF`] with a leaf's index, or a node's index in it.
#[derive(Default)]
pub struct Subtree {
    /// Nodes in depth-first order.
    pub nodes: Vec<[u32; WIDTH]>,
    /// Leaves in depth-first order.
    pub leaves: Vec<LeafRange>,
    /// Number of nodes on the longest path from the tree's root.
    pub depth: u32,
}

/// A range that becomes a subtree.
#[derive(Clone, Copy)]
pub struct Task<B> {
    /// The range.
    pub range: Range<B>,
    /// Number of nodes above.
    pub depth: u32,
}

/// A child of a node above the subtrees.
#[derive(Clone, Copy)]
pub enum TopChild {
    /// A node above the subtrees.
    Node(u32),
    /// A subtree.
    Task(u32),
    /// A leaf.
    Leaf(LeafRange),
}

/// A node above the subtrees.
pub type TopNode = [Option<TopChild>; WIDTH];

/// The nodes above the subtrees, in depth-first order.
#[derive(Default)]
pub struct Top {
    /// Nodes; the first one is the root.
    pub nodes: Vec<TopNode>,
}

/// The ranges of a node's children, and their number.
pub type Children<B> = ([Range<B>; WIDTH], usize);

/// Splits a range into the ranges of a node's children.
#[inline(always)]
fn children<S: Splitter>(
    splitter: &mut S,
    range: &Range<S::Boxes>,
    depth: u32,
    leaf_size: u32,
) -> Result<Children<S::Boxes>, WorkError> {
    let mut priorities = [0.0; WIDTH];
    let bottom_size = bottom_size(leaf_size);
    let smallest = if range.count <= bottom_size { leaf_size } else { bottom_size };
    let at_once = if depth < HALVING_DEPTH { splitter.split_at_once(range, smallest)? } else { None };
    let (mut parts, mut count) = at_once.unwrap_or(([*range; WIDTH], 1));
    for (priority, part) in priorities.iter_mut().zip(&parts[..count]) {
        *priority = splitter.priority(part);
    }
    while count < WIDTH {
        let mut next = None;
        for (slot, part) in parts[..count].iter().enumerate() {
            let priority = if depth < HALVING_DEPTH { priorities[slot] } else { part.count as f32 };
            if part.count > smallest && next.is_none_or(|(_, max)| priority > max) {
                next = Some((slot, priority));
            }
        }
        let Some((slot, _)) = next else { break };
        let [left, right] = match depth < HALVING_DEPTH {
            true => splitter.split(&parts[slot])?,
            false => splitter.halve(&parts[slot]),
        };
        (priorities[slot], priorities[count]) = (splitter.priority(&left), splitter.priority(&right));
        (parts[slot], parts[count]) = (left, right);
        count += 1;
    }
    Ok((parts, count))
}

fn leaf<B>(range: &Range<B>) -> LeafRange {
    LeafRange { first: range.first, count: range.count as u8, side: range.side as u8 }
}

/// A range that is a child of a node, or the root.
#[derive(Clone, Copy)]
struct Part<B> {
    range: Range<B>,
    /// Number of nodes above.
    depth: u32,
    /// Index of the parent and slot in it; `None` for the root.
    parent: Option<(u32, u32)>,
}

/// Parts that have no node yet, the next one last.
struct Parts<B>(Vec<Part<B>>);

impl<B: Copy> Parts<B> {
    fn new(range: Range<B>, depth: u32) -> Result<Parts<B>, OutOfMemory> {
        let mut parts = Vec::new();
        base::alloc::reserve(&mut parts, 4 * WIDTH)?;
        parts.push(Part { range, depth, parent: None });
        Ok(Parts(parts))
    }

    /// Appends the children of a node so that the first one is next.
    #[inline(always)]
    fn push(&mut self, ranges: &[Range<B>], depth: u32, parent: u32) -> Result<(), OutOfMemory> {
        base::alloc::reserve(&mut self.0, ranges.len())?;
        for (slot, &range) in ranges.iter().enumerate().rev() {
            self.0.push(Part { range, depth, parent: Some((parent, slot as u32)) });
        }
        Ok(())
    }
}

/// The nodes above the subtrees, and the ranges of the subtrees in depth-first order.
pub type TopAndTasks<B> = (Top, Vec<Task<B>>);

/// Makes the nodes above the subtrees of up to `limit` references, and the ranges of the subtrees
/// in depth-first order; a small range is one subtree.
pub fn make_top<S: Splitter>(
    splitter: &mut S,
    task: &Task<S::Boxes>,
    leaf_size: u32,
    limit: u32,
) -> Result<TopAndTasks<S::Boxes>, WorkError> {
    let (mut top, mut tasks) = (Top::default(), Vec::new());
    let mut parts = Parts::new(task.range, task.depth)?;
    while let Some(Part { range, depth, parent }) = parts.0.pop() {
        let child = if range.count <= limit {
            if parent.is_some() && range.count <= leaf_size {
                TopChild::Leaf(leaf(&range))
            } else {
                push(&mut tasks, Task { range, depth })?;
                TopChild::Task(tasks.len() as u32 - 1)
            }
        } else {
            let node = top.nodes.len() as u32;
            push(&mut top.nodes, [None; WIDTH])?;
            let (children, count) = children(splitter, &range, depth, leaf_size)?;
            parts.push(&children[..count], depth + 1, node)?;
            TopChild::Node(node)
        };
        if let Some((node, slot)) = parent {
            top.nodes[node as usize][slot as usize] = Some(child);
        }
    }
    Ok((top, tasks))
}

impl Top {
    /// Replaces subtrees by trees of their own, and returns the ranges of the subtrees that these
    /// have.
    pub fn insert<B>(&mut self, parts: Vec<TopAndTasks<B>>) -> Result<Vec<Task<B>>, OutOfMemory> {
        let (mut all, mut roots) = (Vec::new(), Vec::new());
        let own = self.nodes.len();
        for (top, tasks) in parts {
            let (first_node, first_task) = (self.nodes.len() as u32, all.len() as u32);
            push(
                &mut roots,
                if top.nodes.is_empty() { TopChild::Task(first_task) } else { TopChild::Node(first_node) },
            )?;
            reserve(&mut self.nodes, top.nodes.len())?;
            self.nodes.extend(top.nodes.iter().map(|node| {
                node.map(|child| match child? {
                    TopChild::Node(node) => Some(TopChild::Node(first_node + node)),
                    TopChild::Task(task) => Some(TopChild::Task(first_task + task)),
                    TopChild::Leaf(leaf) => Some(TopChild::Leaf(leaf)),
                })
            }));
            reserve(&mut all, tasks.len())?;
            all.extend(tasks);
        }
        for child in self.nodes[..own].iter_mut().flatten().flatten() {
            if let TopChild::Task(task) = *child {
                *child = roots[task as usize];
            }
        }
        Ok(all)
    }
}

/// Makes a subtree.
#[inline(always)]
pub fn make_subtree<S: Splitter>(
    splitter: &mut S,
    task: &Task<S::Boxes>,
    leaf_size: u32,
) -> Result<Subtree, WorkError> {
    let mut subtree = Subtree::default();
    reserve(&mut subtree.nodes, (task.range.count / 8) as usize + 1)?;
    reserve(&mut subtree.leaves, task.range.count.div_ceil(leaf_size) as usize)?;
    let mut parts = Parts::new(task.range, task.depth)?;
    while let Some(Part { range, depth, parent }) = parts.0.pop() {
        let word = if parent.is_some() && range.count <= leaf_size {
            push(&mut subtree.leaves, leaf(&range))?;
            LEAF | (subtree.leaves.len() as u32 - 1)
        } else {
            let node = subtree.nodes.len() as u32;
            push(&mut subtree.nodes, [0; WIDTH])?;
            subtree.depth = subtree.depth.max(depth + 1);
            let (children, count) = children(splitter, &range, depth, leaf_size)?;
            parts.push(&children[..count], depth + 1, node)?;
            node
        };
        if let Some((node, slot)) = parent {
            subtree.nodes[node as usize][slot as usize] = word;
        }
    }
    Ok(subtree)
}
