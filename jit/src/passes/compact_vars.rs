//! Removes the variables that no instruction accesses, so that `emit` gives scratch memory only to
//! arrays in use.

use super::util::for_each_inst;
use crate::ir::{Op, RayQueryOp, Region, Shader, Var};
use cranelift_entity::{PrimaryMap, SecondaryMap};

/// Runs the pass; the remaining variables keep their order and are renumbered.
pub fn compact_vars(shader: &mut Shader) {
    let body = std::mem::take(&mut shader.root.body);
    let mut used: SecondaryMap<Var, bool> = SecondaryMap::new();
    for_each_inst(&body, &mut |inst| {
        for var in variables(&mut shader.insts[inst].op) {
            used[*var] = true;
        }
    });
    if shader.vars.keys().any(|var| !used[var]) {
        renumber(shader, &body, &used);
    }
    shader.root.body = body;
}

/// Removes the variables that are not used, and renumbers those of the instructions.
fn renumber(shader: &mut Shader, body: &Region, used: &SecondaryMap<Var, bool>) {
    let mut kept = PrimaryMap::new();
    let mut renumbered: SecondaryMap<Var, Option<Var>> = SecondaryMap::new();
    for (var, data) in std::mem::take(&mut shader.vars) {
        if used[var] {
            renumbered[var] = Some(kept.push(data));
        }
    }
    shader.vars = kept;
    if shader.vars.is_empty() {
        return;
    }
    for_each_inst(body, &mut |inst| {
        for var in variables(&mut shader.insts[inst].op) {
            if let Some(new) = renumbered[*var] {
                *var = new;
            }
        }
    });
}

/// Returns the variables that an operation accesses.
fn variables(op: &mut Op) -> impl Iterator<Item = &mut Var> {
    let (own, source) = match op {
        Op::VarLoad(var) | Op::VarStore(var) => (Some(var), None),
        Op::RayQuery(var, RayQueryOp::Copy(source)) => (Some(var), Some(source)),
        Op::RayQuery(var, _) => (Some(var), None),
        _ => (None, None),
    };
    own.into_iter().chain(source)
}
