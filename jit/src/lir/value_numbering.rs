//! Value numbering, which reuses the results of earlier instructions.
//!
//! A result may be reused if its block dominates the current one. Dominance is determined while
//! blocks are built: a block is entered when all its predecessors are known. One exception is the
//! header of a loop, whose back edges come from blocks that it dominates itself; the builder of the
//! loop declares that ([`super::Builder::enter_loop`]). The other one is a block about whose
//! predecessors nothing is known.

#![forbid(unsafe_code)]

use super::{Block, Inst, InstData};
use base::hash::{WordHasher, WordMap};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use std::hash::{Hash, Hasher};

/// A block in the dominator tree.
#[derive(Clone, Copy, Default)]
struct DominatorNode {
    /// Immediate dominator. `jump` is an ancestor further up, so that an ancestor is found in
    /// logarithmic time.
    parent: PackedOption<Block>,
    jump: PackedOption<Block>,
    depth: u32,
    entered: bool,
}

/// An instruction with its block, and the index of the previous one with the same hash.
#[derive(Clone, Copy)]
struct NumberedInst {
    inst: Inst,
    block: Block,
    previous: u32,
}

/// Marks the end of a chain of instructions.
const NONE: u32 = u32::MAX;

/// Instructions computed so far, by hash and block.
#[derive(Default)]
pub struct ValueNumbering {
    nodes: SecondaryMap<Block, DominatorNode>,
    numbered: Vec<NumberedInst>,
    /// Maps a hash to the index in `numbered` of the newest instruction.
    newest: WordMap<u64, u32>,
}

/// Number of instructions of one hash that are examined, newest first. Several exist if different
/// branches compute the same value.
const MAX_CANDIDATES: usize = 4;

impl ValueNumbering {
    /// Enters a block for the first time, with its known predecessors. For the header of a loop
    /// these are the ones before the loop.
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
        let mut node = DominatorNode { entered: true, ..DominatorNode::default() };
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

    /// Enters a block whose predecessors are unknown.
    pub fn enter_unknown(&mut self, block: Block) {
        self.nodes[block] = DominatorNode { entered: true, ..DominatorNode::default() };
    }

    /// Returns the ancestor of a block at a depth.
    fn ancestor(&self, mut block: Block, depth: u32) -> Option<Block> {
        while self.nodes[block].depth > depth {
            let node = self.nodes[block];
            let jump = node.jump.expand().filter(|&j| self.nodes[j].depth >= depth);
            block = jump.or(node.parent.expand())?;
        }
        Some(block)
    }

    /// Returns the nearest block that dominates both.
    fn common(&self, a: Block, b: Block) -> Option<Block> {
        let depth = self.nodes[a].depth.min(self.nodes[b].depth);
        let (mut a, mut b) = (self.ancestor(a, depth)?, self.ancestor(b, depth)?);
        while a != b {
            (a, b) = (self.nodes[a].parent.expand()?, self.nodes[b].parent.expand()?);
        }
        Some(a)
    }

    /// Returns true if `a` dominates `b`.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let depth = self.nodes[a].depth;
        depth <= self.nodes[b].depth && self.ancestor(b, depth) == Some(a)
    }

    /// Returns the hash of a computation.
    pub fn hash(data: &InstData) -> u64 {
        let mut hasher = WordHasher::default();
        (data.op, data.ty, data.imm).hash(&mut hasher);
        data.args.iter().for_each(|v| v.hash(&mut hasher));
        hasher.finish()
    }

    /// Returns an equal instruction whose results can be used in `block`.
    pub fn find(&self, hash: u64, block: Block, same: impl Fn(Inst) -> bool) -> Option<Inst> {
        let mut at = *self.newest.get(&hash)?;
        for _ in 0..MAX_CANDIDATES {
            let numbered = self.numbered.get(at as usize)?;
            if same(numbered.inst) && self.dominates(numbered.block, block) {
                return Some(numbered.inst);
            }
            at = numbered.previous;
        }
        None
    }

    /// Records an instruction.
    pub fn add(&mut self, hash: u64, inst: Inst, block: Block) {
        let place = self.numbered.len() as u32;
        let previous = self.newest.insert(hash, place).unwrap_or(NONE);
        self.numbered.push(NumberedInst { inst, block, previous });
    }
}
