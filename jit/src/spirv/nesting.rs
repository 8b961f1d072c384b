//! Nesting depth of a module: of regions over all calls, and of types. All recursion over them runs
//! on a stack of the size that follows, and deeper nesting is refused.
//!
//! A construct is nested in those whose headers dominate its header. The depth of a function's tree
//! therefore follows from its dominators, before the tree exists. A module with few blocks does not
//! need that analysis, because its number of blocks is a bound.

use super::declare::MAX_TYPE_DEPTH;
use super::flow::BlockIx;
use super::module::{End, Function, Merge, Module, Nesting};
use super::opcodes::op;
use super::validate::dominance::flow;

/// Deepest nesting of regions over all inlined calls. Control flow may nest 1,023 deep (universal
/// limit, SPIR-V 2.17). A loop is up to five nested regions, and a call adds two.
const MAX_REGIONS: u32 = 8192;
/// Nesting that is always allowed. Most modules are below it, so that their nesting is not
/// computed.
const FEW: u32 = 400;
/// Number of nested regions of a construct, without those where its arms meet. A loop has itself,
/// its continue target, the part before that, and a conditional branch out of it. A switch has a
/// case, its condition, its scope and the switch.
const CONSTRUCT: u32 = 5;
/// Number of nested regions of a conditional branch without a construct.
const BRANCH: u32 = 2;
/// Number of nested regions of a call.
const CALL: u32 = 2;

impl Module {
    /// Returns the nesting depth, which is computed once.
    pub(crate) fn nesting(&self) -> Nesting {
        *self.nesting.get_or_init(|| {
            let blocks: usize = self.functions.iter().map(|f| 3 * f.blocks.len() + 2).sum();
            let few = blocks <= FEW as usize;
            let regions = if few { blocks as u32 } else { over_calls(self).clamp(FEW, MAX_REGIONS) };
            Nesting { regions, types: self.type_depth() }
        })
    }

    fn type_depth(&self) -> u32 {
        let mut depths = vec![0u32; self.def_count()];
        let mut deepest = 0;
        for inst in self.globals.clone() {
            let v = self.view(inst);
            let parts = match v.op {
                op::OpTypeVector | op::OpTypeMatrix | op::OpTypeArray | op::OpTypeRuntimeArray => v.args.get(..1),
                op::OpTypeStruct => Some(v.args),
                _ => None,
            };
            let (Some(parts), Some(n)) = (parts, self.dense(v.result)) else { continue };
            let inner = parts.iter().filter_map(|&id| self.dense(id)).map(|part| depths[part]).max();
            depths[n] = inner.unwrap_or(0) + 1;
            deepest = deepest.max(depths[n]);
        }
        deepest.min(MAX_TYPE_DEPTH + 1)
    }
}

/// Returns the largest nesting of all chains of calls. Recursion, which is refused, ends a chain.
fn over_calls(m: &Module) -> u32 {
    let count = m.functions.len();
    let mut deepest = vec![None; count];
    let mut active = vec![false; count];
    for first in 0..count {
        if deepest[first].is_some() {
            continue;
        }
        active[first] = true;
        // The stack has the function, the calls left to visit, and the depth of the deepest callee.
        let mut stack = vec![(first, callees(m, first), 0u32)];
        while let Some((f, calls, below)) = stack.last_mut() {
            let f = *f;
            match calls.pop() {
                Some(callee) if active[callee] => {}
                Some(callee) => match deepest[callee] {
                    Some(known) => *below = (*below).max(known),
                    None => {
                        active[callee] = true;
                        stack.push((callee, callees(m, callee), 0));
                    }
                },
                None => {
                    let own = of_function(m, &m.functions[f]).saturating_add(CALL).saturating_add(*below);
                    (deepest[f], active[f]) = (Some(own), false);
                    stack.pop();
                    if let Some((_, _, below)) = stack.last_mut() {
                        *below = (*below).max(own);
                    }
                }
            }
        }
    }
    deepest.into_iter().flatten().max().unwrap_or(0)
}

fn callees(m: &Module, f: usize) -> Vec<usize> {
    let callee = |inst| {
        let v = m.view(inst);
        let at = match v.op {
            op::OpFunctionCall => 0,
            op::OpCooperativeMatrixPerElementOpNV => 1,
            op::OpCooperativeMatrixReduceNV => 2,
            _ => return None,
        };
        m.function(*v.args.get(at)?)
    };
    m.functions[f].insts.clone().filter_map(callee).collect()
}

/// Returns the number of nested regions of a function's tree.
fn of_function(m: &Module, f: &Function) -> u32 {
    let count = f.blocks.len();
    if count <= 1 {
        return 1;
    }
    let of_blocks = (3 * count + 2).min(MAX_REGIONS as usize) as u32;
    let Ok(flow) = flow(m, f) else { return of_blocks };
    let mut own: Vec<u32> = f
        .blocks
        .iter()
        .map(|block| match (block.merge, block.end) {
            (Merge::Loop { .. }, End::Cond(..)) => CONSTRUCT + BRANCH,
            (Merge::Selection(_) | Merge::Loop { .. }, _) => CONSTRUCT,
            (Merge::None, End::Cond(..)) => BRANCH,
            (Merge::None, _) => 0,
        })
        .collect();
    // A block where arms meet adds a scope to the selection that dominates it.
    for b in (1..count as BlockIx).filter(|&b| flow.is_reachable(b) && flow.predecessors(b).len() > 1) {
        own[flow.dominator(b) as usize] += 1;
    }
    let mut deepest = 0;
    let mut depths = vec![0u32; count];
    for b in 0..count as BlockIx {
        if !flow.is_reachable(b) {
            continue;
        }
        let above = if b == 0 { 0 } else { flow.dominator(b) };
        // Blocks follow their dominators. Other orders were refused before.
        if above > b {
            return of_blocks;
        }
        let outer = if b == 0 { 1 } else { depths[above as usize] };
        depths[b as usize] = outer.saturating_add(own[b as usize]);
        deepest = deepest.max(depths[b as usize]);
    }
    deepest.saturating_add(1).min(of_blocks)
}
