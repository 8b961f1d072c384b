//! Splits private arrays that are only indexed by constants into single variables, which mem2reg
//! then removes.

use crate::ir::{Op, Region, Shader, Var, VarData};
use cranelift_entity::SecondaryMap;

use super::util::for_each_inst;

/// Length of the longest array that is split.
const MAX_LEN: u32 = 256;

/// Runs the pass and returns true if an array was split.
pub fn split_arrays(shader: &mut Shader) -> bool {
    if shader.vars.values().all(|v| v.len == 1) {
        return false;
    }
    let body = std::mem::take(&mut shader.root.body);
    let split = split(shader, &body);
    shader.root.body = body;
    split
}

fn split(shader: &mut Shader, body: &Region) -> bool {
    let mut used: SecondaryMap<Var, bool> = SecondaryMap::new();
    let mut keep: SecondaryMap<Var, bool> = SecondaryMap::new();
    for_each_inst(body, &mut |inst| {
        let data = &shader.insts[inst];
        data.op.query_variables().for_each(|var| keep[var] = true);
        if let Op::VarLoad(var) | Op::VarStore(var) = data.op {
            used[var] = true;
            let len = shader.vars[var].len;
            if len == 1 || len > MAX_LEN || shader.as_const(data.args[0]).is_none() {
                keep[var] = true;
            }
        }
    });
    // First new variable of each array; there is one variable per element.
    let mut first: SecondaryMap<Var, Option<Var>> = SecondaryMap::new();
    let arrays: Vec<Var> = shader.vars.keys().filter(|&v| used[v] && !keep[v]).collect();
    for &array in &arrays {
        let VarData { ty, len, name } = shader.vars[array].clone();
        for i in 0..len {
            let element = shader.vars.push(VarData { ty, len: 1, name: format!("{name}[{i}]") });
            first[array].get_or_insert(element);
        }
    }
    if arrays.is_empty() {
        return false;
    }
    for_each_inst(body, &mut |inst| {
        let (Op::VarLoad(var) | Op::VarStore(var)) = shader.insts[inst].op else { return };
        let Some(first) = first[var] else { return };
        // Out-of-bounds indices are clamped.
        let index = shader.as_const(shader.insts[inst].args[0]).unwrap_or(0).min(u64::from(shader.vars[var].len - 1));
        let element = Var::from_u32(first.as_u32() + index as u32);
        let data = &mut shader.insts[inst];
        data.args.remove(0);
        data.op = if matches!(data.op, Op::VarLoad(_)) { Op::VarLoad(element) } else { Op::VarStore(element) };
    });
    true
}
