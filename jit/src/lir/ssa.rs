//! What construction of SSA from variables knows ([`super::variables`]).

#![forbid(unsafe_code)]

use super::{Block, Type, Value};
use base::hash::WordMap;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use smallvec::SmallVec;

/// A mutable place while a function is built.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable(u32);
entity_impl!(Variable, "var");

/// How a block is come to.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    /// Block, and which of its targets.
    pub(super) preds: SmallVec<[(Block, u32); 2]>,
    /// No more of them will come.
    pub(super) sealed: bool,
    /// Parameters of variables whose arguments nobody knows yet.
    pub(super) incomplete: Vec<(Variable, Value)>,
}

/// State of the construction.
#[derive(Default)]
pub struct Ssa {
    pub(super) types: PrimaryMap<Variable, Type>,
    /// What a variable holds at the end of a block, as far as it is known.
    pub(super) defs: WordMap<(Variable, Block), Value>,
    pub(super) entries: SecondaryMap<Block, Entries>,
}

impl Ssa {
    /// Notes an edge.
    pub fn edge(&mut self, from: Block, target: usize, to: Block) {
        let entries = &mut self.entries[to];
        assert!(!entries.sealed, "an edge to {to}, which is sealed");
        entries.preds.push((from, target as u32));
    }
    /// Is everything known that comes to the block?
    pub fn is_sealed(&self, block: Block) -> bool {
        self.entries[block].sealed
    }
    /// Blocks that come to a block, as far as they are known.
    pub fn preds(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        self.entries[block].preds.iter().map(|p| p.0)
    }
}
