//! Removes the variables that no instruction accesses, so that `emit` gives scratch memory only to
//! arrays in use.

use super::util::for_each_inst;
use crate::ir::{Op, Shader, Var};
use cranelift_entity::{PrimaryMap, SecondaryMap};

/// Runs the pass; the remaining variables keep their order and are renumbered.
pub fn compact_vars(shader: &mut Shader) {
    let body = std::mem::take(&mut shader.root.body);
    let mut used: SecondaryMap<Var, bool> = SecondaryMap::new();
    for_each_inst(&body, &mut |inst| {
        if let Op::VarLoad(var) | Op::VarStore(var) | Op::RayQuery(var, _) = shader.insts[inst].op {
            used[var] = true;
        }
    });
    let mut kept = PrimaryMap::new();
    let mut renumbered: SecondaryMap<Var, Option<Var>> = SecondaryMap::new();
    for (var, data) in std::mem::take(&mut shader.vars) {
        if used[var] {
            renumbered[var] = Some(kept.push(data));
        }
    }
    for_each_inst(&body, &mut |inst| {
        if let Op::VarLoad(var) | Op::VarStore(var) | Op::RayQuery(var, _) = &mut shader.insts[inst].op
            && let Some(new) = renumbered[*var]
        {
            *var = new;
        }
    });
    shader.vars = kept;
    shader.root.body = body;
}
