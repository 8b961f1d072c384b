//! State of the construction of SSA from variables ([`super::variables`]).

#![forbid(unsafe_code)]

use super::{Block, Type, Value};
use base::hash::WordMap;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use smallvec::SmallVec;

/// A mutable variable that exists while a function is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable(u32);
entity_impl!(Variable, "var");

/// Incoming edges of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    /// Predecessors, each with the index of its edge.
    pub(super) preds: SmallVec<[(Block, u32); 2]>,
    /// True if no more edges will be added.
    pub(super) sealed: bool,
    /// Parameters of variables whose arguments are not known yet.
    pub(super) incomplete: Vec<(Variable, Value)>,
}

/// State of the construction.
#[derive(Default)]
pub struct Ssa {
    pub(super) types: PrimaryMap<Variable, Type>,
    /// Value that a variable has at the end of a block, if it is known.
    pub(super) defs: WordMap<(Variable, Block), Value>,
    pub(super) entries: SecondaryMap<Block, Entries>,
}

impl Ssa {
    /// Records an edge.
    pub fn edge(&mut self, from: Block, target: usize, to: Block) {
        let entries = &mut self.entries[to];
        assert!(!entries.sealed, "an edge to {to}, which is sealed");
        entries.preds.push((from, target as u32));
    }
    /// Returns true if all edges to the block are known.
    pub fn is_sealed(&self, block: Block) -> bool {
        self.entries[block].sealed
    }
    /// Returns the predecessors of a block that are known so far.
    pub fn preds(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        self.entries[block].preds.iter().map(|p| p.0)
    }
}
