//! What the full tier would cost, known before it is tried.
//!
//! Cranelift's backtracking register allocator is fast where values fit the registers and takes forever where many more are live
//! across many blocks: each one is split, evicted and tried again in every register. It cannot be interrupted, so it is only asked for
//! functions where the work is bounded: few instructions, and not many values too many live at the blocks' starts.

use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::{Block, Function, Value, ValueDef};
use cranelift_entity::SecondaryMap;

/// Values live at a block's start that cost nothing: about as many as there are registers.
const REGISTERS: u64 = 16;
/// Most instructions.
const MAX_INSTS: usize = 1 << 16;
/// Most values too many, summed over all blocks.
const MAX_EXCESS: u64 = 1 << 12;
/// Most (value, block) pairs that are looked at: beyond, the excess is not worth knowing.
const MAX_PAIRS: u64 = 1 << 22;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Instructions.
    pub insts: usize,
    /// Values live at the start of a block beyond those that fit registers, summed over all blocks.
    pub excess: u64,
}

impl Cost {
    /// Is the full tier's time bounded?
    pub fn bounded(self) -> bool {
        self.insts <= MAX_INSTS && self.excess <= MAX_EXCESS
    }

    /// The cost of a function. Takes time in proportion to its size and to what is live where, cut off at [`MAX_PAIRS`].
    pub fn of(function: &Function) -> Cost {
        let insts = function.dfg.num_insts();
        let excess = if insts > MAX_INSTS { u64::MAX } else { excess(function) };
        Cost { insts, excess }
    }
}

/// Liveness use by use: from where a value is used back to where it is defined.
fn excess(function: &Function) -> u64 {
    let dfg = &function.dfg;
    let flow = ControlFlowGraph::with_function(function);
    let mut uses: Vec<(Value, Block)> = Vec::new();
    for block in function.layout.blocks() {
        for inst in function.layout.block_insts(block) {
            for value in dfg.inst_values(inst) {
                let value = dfg.resolve_aliases(value);
                if home(function, value) != Some(block) {
                    uses.push((value, block));
                }
            }
        }
    }
    uses.sort_unstable();
    uses.dedup();
    let mut seen: SecondaryMap<Block, Option<Value>> = SecondaryMap::new();
    let mut live: SecondaryMap<Block, u64> = SecondaryMap::new();
    let mut pairs = 0;
    let mut todo = Vec::new();
    for &(value, block) in &uses {
        let home = home(function, value);
        todo.push(block);
        while let Some(block) = todo.pop() {
            if seen[block] == Some(value) {
                continue;
            }
            seen[block] = Some(value);
            live[block] += 1;
            pairs += 1;
            if pairs > MAX_PAIRS {
                return u64::MAX;
            }
            todo.extend(flow.pred_iter(block).map(|p| p.block).filter(|&p| Some(p) != home));
        }
    }
    // Parameters are live at the start too.
    let at = |block: Block| live[block] + dfg.num_block_params(block) as u64;
    function.layout.blocks().map(|b| at(b).saturating_sub(REGISTERS)).sum()
}

/// The block a value is defined in.
fn home(function: &Function, value: Value) -> Option<Block> {
    match function.dfg.value_def(value) {
        ValueDef::Result(inst, _) => function.layout.inst_block(inst),
        ValueDef::Param(block, _) => Some(block),
        ValueDef::Union(..) => None,
    }
}
