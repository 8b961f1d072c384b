//! Questions about regions that decide how control flow is emitted.

use crate::ir::{Label, Node, Op, Region, Shader, Term};
use crate::passes::Divergence;

/// Calls `f` for every region nested in `region`, itself first; stops when it answers true.
fn any_region(region: &Region, f: &mut dyn FnMut(&Region) -> bool) -> bool {
    f(region)
        || region.nodes.iter().any(|node| match node {
            Node::Inst(_) => false,
            Node::If(n) => any_region(&n.then, f) || any_region(&n.else_, f),
            Node::Loop(n) => any_region(&n.body, f),
            Node::Scope(n) => any_region(&n.body, f),
        })
}

/// Contains a barrier?
pub fn has_barrier(shader: &Shader, region: &Region) -> bool {
    nodes_have_barrier(shader, &region.nodes)
}

/// As [`has_barrier`], for the rest of a region.
pub fn nodes_have_barrier(shader: &Shader, nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Inst(i) => shader.insts[*i].op == Op::Barrier,
        Node::If(n) => has_barrier(shader, &n.then) || has_barrier(shader, &n.else_),
        Node::Loop(n) => has_barrier(shader, &n.body),
        Node::Scope(n) => has_barrier(shader, &n.body),
    })
}

/// Labels defined inside.
fn labels(region: &Region) -> Vec<Label> {
    let mut out = Vec::new();
    any_region(region, &mut |r| {
        for node in &r.nodes {
            match node {
                Node::Loop(n) => out.push(n.label),
                Node::Scope(n) => out.push(n.label),
                _ => {}
            }
        }
        false
    });
    out
}

/// Can some lanes leave the region (the body of `own`, if it is one) for a label outside, while others go on? Breaks to labels
/// that are not divergent take all active lanes along: who passes the region's end has met none.
pub fn escapes(region: &Region, own: Option<Label>, div: &Divergence) -> bool {
    let mut inner: Option<Vec<Label>> = None;
    any_region(region, &mut |r| match &r.term {
        Term::Break(label, _) => {
            div.is_divergent_label(*label)
                && Some(*label) != own
                && !inner.get_or_insert_with(|| labels(region)).contains(label)
        }
        _ => false,
    })
}

/// Instructions of a divergent arm from which an any-lane-active branch pays.
const SKIP_FROM: usize = 8;

/// Is the region big enough, or has it effects, calls or loops, so that a branch around it pays?
pub fn worth_skipping(shader: &Shader, region: &Region) -> bool {
    nodes_worth_skipping(shader, &region.nodes)
}

/// As [`worth_skipping`], for the rest of a region.
pub fn nodes_worth_skipping(shader: &Shader, nodes: &[Node]) -> bool {
    weigh(shader, nodes, &mut 0)
}

fn weigh(shader: &Shader, nodes: &[Node], count: &mut usize) -> bool {
    nodes.iter().any(|node| match node {
        Node::Inst(i) => {
            *count += 1;
            *count >= SKIP_FROM || is_heavy(&shader.insts[*i].op)
        }
        Node::Loop(_) => true,
        Node::If(n) => weigh(shader, &n.then.nodes, count) || weigh(shader, &n.else_.nodes, count),
        Node::Scope(n) => weigh(shader, &n.body.nodes, count),
    })
}

fn is_heavy(op: &Op) -> bool {
    matches!(
        op,
        Op::Load(..)
            | Op::Store(..)
            | Op::Atomic(..)
            | Op::Sample(_)
            | Op::ImageFetch { .. }
            | Op::ImageStore { .. }
            | Op::ImageAtomic { .. }
            | Op::VarStore(_)
            // Nobody waits at a barrier that none of its lanes reaches.
            | Op::Barrier
    )
}
