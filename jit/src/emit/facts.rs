//! Questions about regions that decide how control flow is emitted.

use crate::ir::{Label, Node, Op, Region, Shader, Term};

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
    any_region(region, &mut |r| {
        r.nodes.iter().any(|n| matches!(n, Node::Inst(i) if shader.insts[*i].op == Op::Barrier))
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

/// Breaks to a label outside of the region?
pub fn escapes(region: &Region) -> bool {
    let mut inner: Option<Vec<Label>> = None;
    any_region(region, &mut |r| match &r.term {
        Term::Break(label, _) => !inner.get_or_insert_with(|| labels(region)).contains(label),
        _ => false,
    })
}

/// The body of `own` breaks to a label outside of it?
pub fn leaves(region: &Region, own: Label) -> bool {
    let mut inner: Option<Vec<Label>> = None;
    any_region(region, &mut |r| match &r.term {
        Term::Break(label, _) => *label != own && !inner.get_or_insert_with(|| labels(region)).contains(label),
        _ => false,
    })
}

/// Instructions of a divergent arm from which an any-lane-active branch pays.
const SKIP_FROM: usize = 8;

/// Is the region big enough, or has it effects, calls or loops, so that a branch around it pays?
pub fn worth_skipping(shader: &Shader, region: &Region) -> bool {
    let mut count = 0;
    any_region(region, &mut |r| {
        r.nodes.iter().any(|node| match node {
            Node::Inst(i) => {
                count += 1;
                count >= SKIP_FROM || is_heavy(&shader.insts[*i].op)
            }
            Node::Loop(_) => true,
            _ => false,
        })
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
    )
}
