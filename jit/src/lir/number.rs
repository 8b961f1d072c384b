//! Value numbering: what was computed before is not computed again.
//!
//! A result may be used again where its block dominates the current one. Which blocks do is known while they are made: a block is entered
//! when all that come to it are known, except for the header of a loop, whose back edges come from blocks that it dominates itself
//! (who builds the loop says so: [`super::Builder::enter_loop`]), and others that nobody knows anything about.

#![forbid(unsafe_code)]

use super::{Block, Inst, InstData};
use base::hash::{WordHasher, WordMap};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use std::hash::{Hash, Hasher};

/// A block in the tree of dominators.
#[derive(Clone, Copy, Default)]
struct Node {
    /// Its immediate dominator, and one further up, so that an ancestor is found in logarithmic time.
    parent: PackedOption<Block>,
    jump: PackedOption<Block>,
    depth: u32,
    entered: bool,
}

/// An instruction and its block, and the one of the same hash before it.
#[derive(Clone, Copy)]
struct Known {
    inst: Inst,
    block: Block,
    before: u32,
}

/// No instruction before.
const NONE: u32 = u32::MAX;

/// What has been computed where.
#[derive(Default)]
pub struct Numbering {
    nodes: SecondaryMap<Block, Node>,
    known: Vec<Known>,
    /// By hash: the newest instruction, by its place in `known`.
    newest: WordMap<u64, u32>,
}

/// How many instructions of one hash are looked at, the newest first: the same computation in different branches.
const KEPT: usize = 4;

impl Numbering {
    /// Enters a block for the first time, whose predecessors are known (of a loop's header those before the loop).
    pub fn enter(&mut self, block: Block, preds: impl Iterator<Item = Block>) {
        let mut common = None;
        for pred in preds.filter(|&p| self.nodes[p].entered) {
            common = match common {
                None => Some(pred),
                Some(other) => self.common(other, pred),
            };
            if common.is_none() {
                break;
            }
        }
        let mut node = Node { entered: true, ..Node::default() };
        if let Some(parent) = common {
            let (p, jump) = (self.nodes[parent], self.nodes[parent].jump.expand());
            let far = jump.map(|j| self.nodes[j]);
            node.parent = parent.into();
            node.depth = p.depth + 1;
            node.jump = match (jump, far) {
                (Some(j), Some(f))
                    if p.depth - f.depth == f.depth - f.jump.expand().map_or(0, |k| self.nodes[k].depth) =>
                {
                    f.jump.expand().or(Some(j)).into()
                }
                _ => parent.into(),
            };
        }
        self.nodes[block] = node;
    }

    /// Enters a block of which nobody knows where it is come from.
    pub fn enter_unknown(&mut self, block: Block) {
        self.nodes[block] = Node { entered: true, ..Node::default() };
    }

    /// The ancestor of a block at a depth.
    fn ancestor(&self, mut block: Block, depth: u32) -> Option<Block> {
        while self.nodes[block].depth > depth {
            let node = self.nodes[block];
            let jump = node.jump.expand().filter(|&j| self.nodes[j].depth >= depth);
            block = jump.or(node.parent.expand())?;
        }
        Some(block)
    }

    /// The nearest block that dominates both.
    fn common(&self, a: Block, b: Block) -> Option<Block> {
        let depth = self.nodes[a].depth.min(self.nodes[b].depth);
        let (mut a, mut b) = (self.ancestor(a, depth)?, self.ancestor(b, depth)?);
        while a != b {
            (a, b) = (self.nodes[a].parent.expand()?, self.nodes[b].parent.expand()?);
        }
        Some(a)
    }

    /// Does `a` dominate `b`?
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let depth = self.nodes[a].depth;
        depth <= self.nodes[b].depth && self.ancestor(b, depth) == Some(a)
    }

    /// The hash of a computation.
    pub fn hash(data: &InstData) -> u64 {
        let mut hasher = WordHasher::default();
        (data.op, data.ty, data.imm).hash(&mut hasher);
        data.args.iter().for_each(|v| v.hash(&mut hasher));
        hasher.finish()
    }

    /// An instruction that is the same and whose results can be used in `block`.
    pub fn find(&self, hash: u64, block: Block, same: impl Fn(Inst) -> bool) -> Option<Inst> {
        let mut at = *self.newest.get(&hash)?;
        for _ in 0..KEPT {
            let known = self.known.get(at as usize)?;
            if same(known.inst) && self.dominates(known.block, block) {
                return Some(known.inst);
            }
            at = known.before;
        }
        None
    }

    /// Remembers an instruction.
    pub fn add(&mut self, hash: u64, inst: Inst, block: Block) {
        let place = self.known.len() as u32;
        let before = self.newest.insert(hash, place).unwrap_or(NONE);
        self.known.push(Known { inst, block, before });
    }
}
