//! What careful register allocation would cost, known before it is tried.
//!
//! Cranelift's backtracking register allocator is fast where values fit the registers and takes forever where many more are live at
//! once for long: each one is split, evicted and tried again in every register. It cannot be interrupted, so it is only asked for
//! functions where its work is bounded.

use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::{Block, Function, Value};
use cranelift_entity::SecondaryMap;

/// Values live at once that cost nothing: about as many as there are registers.
const REGISTERS: i64 = 16;
/// Most (value, block) pairs that are looked at: beyond, the excess is not worth knowing.
const MAX_PAIRS: usize = 1 << 22;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Instructions.
    pub insts: usize,
    /// Values live at an instruction beyond those that fit registers, summed over all instructions. Time is in proportion to this
    /// times the instructions.
    pub excess: u64,
    /// The same at the starts of blocks, times the block's parameters, which are the expensive values: all that flow into one are
    /// allocated as one as far as that goes.
    pub merges: u64,
}

impl Cost {
    /// Up to here the steps of the full tier take a second or two each, with less than 2^16 instructions.
    pub const LIMIT: Cost = Cost { insts: 1 << 16, excess: 1 << 20, merges: 1 << 17 };

    /// Is nothing above the limit? Its excess is for the most instructions; with fewer there may be more.
    pub fn within(self, limit: Cost) -> bool {
        let time = |cost: Cost| u128::from(cost.excess) * cost.insts as u128;
        self.insts <= limit.insts && time(self) <= time(limit) && self.merges <= limit.merges
    }

    /// The cost of a function. Takes time in proportion to its size and to what is live where, cut off at [`MAX_PAIRS`].
    pub fn of(function: &Function) -> Cost {
        let mut walk = Walk::new(function);
        let insts = walk.insts;
        let (excess, merges) = walk.excess().unwrap_or((u64::MAX, u64::MAX));
        Cost { insts, excess, merges }
    }
}

/// Liveness use by use: from where a value is used back to where it is defined.
struct Walk<'a> {
    function: &'a Function,
    /// Number of a block's first instruction, and of the one behind its last, in layout order.
    ranges: SecondaryMap<Block, (u32, u32)>,
    /// A value, a block it is used in, the number behind its last use there.
    uses: Vec<(Value, Block, u32)>,
    /// Block and number of each value's definition.
    homes: SecondaryMap<Value, Option<(Block, u32)>>,
    insts: usize,
}

impl<'a> Walk<'a> {
    fn new(function: &'a Function) -> Self {
        let mut walk =
            Walk { function, ranges: SecondaryMap::new(), uses: Vec::new(), homes: SecondaryMap::new(), insts: 0 };
        let dfg = &function.dfg;
        for block in function.layout.blocks() {
            let first = walk.insts as u32;
            for &param in dfg.block_params(block) {
                walk.homes[param] = Some((block, first));
            }
            for inst in function.layout.block_insts(block) {
                walk.insts += 1;
                let next = walk.insts as u32;
                walk.uses.extend(dfg.inst_values(inst).map(|v| (dfg.resolve_aliases(v), block, next)));
                for &result in dfg.inst_results(inst) {
                    walk.homes[result] = Some((block, next));
                }
            }
            walk.ranges[block] = (first, walk.insts as u32);
        }
        walk.uses.sort_unstable();
        walk
    }

    /// [`Cost::excess`] and [`Cost::merges`]. `None` when it is too much to find out.
    fn excess(&mut self) -> Option<(u64, u64)> {
        let flow = ControlFlowGraph::with_function(self.function);
        // Values that become live and die before each instruction.
        let mut changes = vec![0i32; self.insts + 1];
        let mut live_out: SecondaryMap<Block, Option<Value>> = SecondaryMap::new();
        let mut live_in: SecondaryMap<Block, Option<Value>> = SecondaryMap::new();
        let (mut pairs, mut todo) = (0, Vec::new());
        for uses in self.uses.chunk_by(|a, b| a.0 == b.0) {
            let value = uses[0].0;
            let Some((home, defined)) = self.homes[value] else { continue };
            todo.extend(uses.iter().map(|u| u.1).filter(|&b| b != home));
            while let Some(block) = todo.pop() {
                if live_in[block].replace(value) == Some(value) {
                    continue;
                }
                pairs += 1;
                if pairs > MAX_PAIRS {
                    return None;
                }
                for pred in flow.pred_iter(block) {
                    // A whole block, unless it is the first.
                    if live_out[pred.block].replace(value) != Some(value) {
                        let (first, end) = self.ranges[pred.block];
                        changes[if pred.block == home { defined } else { first } as usize] += 1;
                        changes[end as usize] -= 1;
                    }
                    if pred.block != home {
                        todo.push(pred.block);
                    }
                }
            }
            // The last blocks.
            for used in uses.chunk_by(|a, b| a.1 == b.1) {
                let (_, block, last) = used[used.len() - 1];
                if live_out[block] != Some(value) {
                    changes[if block == home { defined } else { self.ranges[block].0 } as usize] += 1;
                    changes[last as usize] -= 1;
                }
            }
        }
        let blocks = self.function.layout.blocks();
        let mut starts = blocks.map(|b| (self.ranges[b].0, self.function.dfg.num_block_params(b) as u64)).peekable();
        let mut live = 0i64;
        let (mut excess, mut merges) = (0u64, 0u64);
        for (i, change) in (0..).zip(changes) {
            live += i64::from(change);
            let beyond = (live - REGISTERS).max(0) as u64;
            excess += beyond;
            if let Some((_, params)) = starts.next_if(|start| start.0 == i) {
                merges += beyond * params;
            }
        }
        Some((excess, merges))
    }
}
