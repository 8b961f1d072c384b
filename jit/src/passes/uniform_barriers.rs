//! Makes control flow around barriers uniform in the text: an If that contains a barrier, or that decides over leaving a
//! loop with a barrier, branches on the value of the first active lane.
//!
//! Valid programs do not notice, because their conditions agree there. The divergence analysis does: the broadcast is uniform, so
//! no construct with a barrier inside is ever linearised. An early return in front of a barrier stays divergent: those lanes are gone.

use super::util::for_each_inst;
use crate::ir::{Label, Node, Op, Region, Shader, Subgroup, Term, Ty};
use base::shader::Stage;
use cranelift_entity::SecondaryMap;

/// Runs the pass.
pub fn uniform_barriers(shader: &mut Shader) {
    let mut root = std::mem::take(&mut shader.root.body);
    let mut barriers = false;
    for_each_inst(&root, &mut |inst| barriers |= shader.insts[inst].op == Op::Barrier);
    if barriers && shader.stage == Stage::Compute {
        let mut pass = Pass { shader, depth: SecondaryMap::new(), loops: SecondaryMap::new() };
        pass.find(&root);
        pass.region(&mut root, 0, None);
    }
    shader.root.body = root;
}

struct Pass<'a> {
    shader: &'a mut Shader,
    /// Nesting of a label's node.
    depth: SecondaryMap<Label, u32>,
    /// Loops with a barrier inside.
    loops: SecondaryMap<Label, bool>,
}

/// What a region does.
#[derive(Clone, Copy, Default)]
struct Facts {
    barrier: bool,
    /// Nesting of the outermost label it breaks to.
    leaves: Option<u32>,
}

impl Facts {
    fn join(&mut self, other: Facts) {
        self.barrier |= other.barrier;
        self.leaves = match (self.leaves, other.leaves) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

impl Pass<'_> {
    /// Finds the loops with barriers.
    fn find(&mut self, region: &Region) -> bool {
        let mut any = false;
        for node in &region.nodes {
            any |= match node {
                Node::Inst(inst) => self.shader.insts[*inst].op == Op::Barrier,
                Node::If(n) => {
                    let then = self.find(&n.then);
                    self.find(&n.else_) || then
                }
                Node::Scope(n) => self.find(&n.body),
                Node::Loop(n) => {
                    self.loops[n.label] = self.find(&n.body);
                    self.loops[n.label]
                }
            };
        }
        any
    }

    /// `inner_loop`: nesting of the innermost loop around with a barrier.
    fn region(&mut self, region: &mut Region, depth: u32, inner_loop: Option<u32>) -> Facts {
        let mut facts = Facts::default();
        let mut out = Vec::with_capacity(region.nodes.len());
        for mut node in std::mem::take(&mut region.nodes) {
            match &mut node {
                Node::Inst(inst) => facts.barrier |= self.shader.insts[*inst].op == Op::Barrier,
                Node::If(n) => {
                    let mut inside = self.region(&mut n.then, depth + 1, inner_loop);
                    inside.join(self.region(&mut n.else_, depth + 1, inner_loop));
                    let leaves = matches!((inside.leaves, inner_loop), (Some(to), Some(l)) if to <= l);
                    if (inside.barrier || leaves) && self.shader.as_const(n.cond).is_none() {
                        let op = Op::Subgroup(Subgroup::BroadcastFirst);
                        let inst = self.shader.inst(op, &[n.cond], &[Ty::B1], 0);
                        n.cond = self.shader.insts[inst].first_result;
                        out.push(Node::Inst(inst));
                    }
                    facts.join(inside);
                }
                Node::Scope(n) => {
                    self.depth[n.label] = depth;
                    facts.join(self.region(&mut n.body, depth + 1, inner_loop));
                }
                Node::Loop(n) => {
                    self.depth[n.label] = depth;
                    let inner = if self.loops[n.label] { Some(depth) } else { inner_loop };
                    facts.join(self.region(&mut n.body, depth + 1, inner));
                }
            }
            out.push(node);
        }
        region.nodes = out;
        if let Term::Break(label, _) = &region.term {
            facts.join(Facts { barrier: false, leaves: Some(self.depth[*label]) });
        }
        facts
    }
}
