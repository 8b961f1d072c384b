//! Common subexpression elimination by value numbering scoped to regions.
//!
//! A pure instruction that was computed in this region or one around it is not computed again.
//! Loads count as pure if the memory cannot change during the stage.

use super::util::{Renames, for_each_inst};
use crate::ir::{Inst, Node, Op, Region, Shader, Term};
use base::hash::{WordHasher, WordMap};
use std::hash::{Hash, Hasher};

/// Upper bound of the instructions for which the table has room from the beginning. It is small
/// enough for memory that the allocator has at hand.
const CAPACITY: usize = 1024;

/// Runs the pass.
pub fn cse(shader: &mut Shader) {
    let mut root = std::mem::take(&mut shader.root.body);
    let mut constant_memory = true;
    for_each_inst(&root, &mut |inst| constant_memory &= !shader.insts[inst].op.effects().changes_memory());
    let known = WordMap::with_capacity_and_hasher(shader.insts.len().min(CAPACITY), Default::default());
    let renames = Renames::default();
    let mut cse = Cse { shader, renames, known, log: Vec::new(), constant_memory };
    cse.region(&mut root);
    shader.root.body = root;
}

struct Cse<'a> {
    shader: &'a mut Shader,
    renames: Renames,
    /// Latest visible instruction with a hash; a collision only loses an opportunity.
    known: WordMap<u64, Inst>,
    log: Vec<(u64, Option<Inst>)>,
    /// True if nothing in the shader changes memory.
    constant_memory: bool,
}

impl Cse<'_> {
    fn region(&mut self, region: &mut Region) {
        let mark = self.log.len();
        let mut nodes = std::mem::take(&mut region.nodes);
        nodes.retain_mut(|node| match node {
            Node::Inst(inst) => self.inst(*inst),
            Node::If(n) => {
                n.cond = self.renames.resolve(n.cond);
                self.region(&mut n.then);
                self.region(&mut n.else_);
                true
            }
            Node::Loop(n) => {
                self.renames.apply(&mut n.inits);
                self.region(&mut n.body);
                true
            }
            Node::Scope(n) => {
                self.region(&mut n.body);
                true
            }
        });
        region.nodes = nodes;
        if let Term::Yield(args) | Term::Break(_, args) = &mut region.term {
            self.renames.apply(args);
        }
        for (hash, old) in self.log.drain(mark..).rev() {
            match old {
                Some(inst) => self.known.insert(hash, inst),
                None => self.known.remove(&hash),
            };
        }
    }

    /// Returns false if the instruction is removed.
    fn inst(&mut self, inst: Inst) -> bool {
        let data = &mut self.shader.insts[inst];
        self.renames.apply(&mut data.args);
        if data.result_count == 0 || !data.op.effects().is_pure(self.constant_memory) {
            return true;
        }
        if let Op::Binary(op) = data.op
            && op.commutes()
            && data.args[1] < data.args[0]
        {
            // Constants stay on the right. Once folded, they are the first values of the shader, or
            // nearly so.
            let right_is_const = self.shader.as_const(self.shader.insts[inst].args[1]).is_some();
            if !right_is_const {
                self.shader.insts[inst].args.swap(0, 1);
            }
        }
        let data = &self.shader.insts[inst];
        let mut hasher = WordHasher::default();
        data.op.hash(&mut hasher);
        data.args.hash(&mut hasher);
        let hash = hasher.finish();
        if let Some(&known) = self.known.get(&hash)
            && self.same(known, inst)
        {
            let (from, to) = (data.results(), self.shader.insts[known].results());
            for (from, to) in from.zip(to) {
                self.renames.set(from, to);
            }
            let float = data.float;
            self.shader.insts[known].float |= float;
            return false;
        }
        self.log.push((hash, self.known.insert(hash, inst)));
        true
    }

    fn same(&self, a: Inst, b: Inst) -> bool {
        let (x, y) = (&self.shader.insts[a], &self.shader.insts[b]);
        x.op == y.op
            && x.args == y.args
            && x.float.changes() == y.float.changes()
            && x.result_count == y.result_count
            && x.results().zip(y.results()).all(|(p, q)| self.shader.ty(p) == self.shader.ty(q))
    }
}
