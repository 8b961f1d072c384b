//! Computes the [`RegallocCost`] of a function in Cranelift's IR.

use crate::regalloc_cost::{RegallocCost, ValueUses};
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::Function;
use cranelift_entity::{EntityRef, SecondaryMap};

/// Estimates the cost of a function.
pub fn cost_of(function: &Function) -> RegallocCost {
    let mut program = ValueUses::default();
    let dfg = &function.dfg;
    program.homes.resize(dfg.num_values(), None);
    let mut numbers = SecondaryMap::new();
    for (number, block) in (0u32..).zip(function.layout.blocks()) {
        numbers[block] = number;
        let first = program.insts as u32;
        for &param in dfg.block_params(block) {
            program.homes[param.index()] = Some((number, first));
        }
        for inst in function.layout.block_insts(block) {
            program.insts += 1;
            let next = program.insts as u32;
            let used = dfg.inst_values(inst).map(|v| (dfg.resolve_aliases(v).as_u32(), number, next));
            program.uses.extend(used);
            for &result in dfg.inst_results(inst) {
                program.homes[result.index()] = Some((number, next));
            }
        }
        program.ranges.push((first, program.insts as u32));
        program.params.push(dfg.num_block_params(block) as u64);
    }
    let flow = ControlFlowGraph::with_function(function);
    let preds = function.layout.blocks().map(|b| flow.pred_iter(b).map(|pred| numbers[pred.block]).collect());
    program.preds = preds.collect();
    RegallocCost::estimate(program)
}
