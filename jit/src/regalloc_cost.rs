//! The cost of careful register allocation, estimated before it is tried.
//!
//! The backtracking register allocator is fast where values fit the registers. It takes very long
//! where many more are live at once over long stretches: each one is split, evicted and tried again
//! in every register. It cannot be interrupted, so it is only used for functions where its work is
//! bounded.

#![forbid(unsafe_code)]

/// Number of values live at once that cost nothing: about as many as there are registers.
const REGISTERS: i64 = 16;
/// Largest number of (value, block) pairs that are examined; beyond it the excess is not computed.
const MAX_PAIRS: usize = 1 << 22;

/// Estimated cost of register allocation for a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegallocCost {
    /// Number of instructions.
    pub insts: usize,
    /// Number of values live at an instruction beyond those that fit registers, summed over all
    /// instructions. Time is in proportion to this times the number of instructions.
    pub excess: u64,
    /// Excess values at the starts of blocks, times the number of the block's parameters.
    /// Parameters are the expensive values: all values that flow into one are allocated as one
    /// where possible.
    pub merges: u64,
}

impl RegallocCost {
    /// Largest cost at which the steps of the full tier take a second or two each, with less than
    /// 2^16 instructions.
    pub const LIMIT: RegallocCost = RegallocCost { insts: 1 << 16, excess: 1 << 20, merges: 1 << 17 };

    /// Returns true if nothing exceeds the limit. The limit's excess is for its number of
    /// instructions; with fewer instructions there may be more excess.
    pub fn within(self, limit: RegallocCost) -> bool {
        let time = |cost: RegallocCost| u128::from(cost.excess) * cost.insts as u128;
        self.insts <= limit.insts && time(self) <= time(limit) && self.merges <= limit.merges
    }

    /// Estimates the cost of a function. Takes time in proportion to its size and to the number of
    /// live values of blocks, up to [`MAX_PAIRS`].
    pub fn estimate(program: ValueUses) -> RegallocCost {
        let insts = program.insts;
        let (excess, merges) = program.excess().unwrap_or((u64::MAX, u64::MAX));
        RegallocCost { insts, excess, merges }
    }
}

/// A function as a back end has it, reduced to the uses of values. Blocks and values are numbers;
/// blocks are in the order of memory.
#[derive(Default)]
pub struct ValueUses {
    /// Number of instructions so far; their numbers continue from block to block.
    pub insts: usize,
    /// For each block, the number of its first instruction and the number behind its last.
    pub ranges: Vec<(u32, u32)>,
    /// A value, a block that uses it, and the number behind its last use there.
    pub uses: Vec<(u32, u32, u32)>,
    /// Block and number of each value's definition.
    pub homes: Vec<Option<(u32, u32)>>,
    /// Predecessors of each block.
    pub preds: Vec<Vec<u32>>,
    /// Number of parameters of each block.
    pub params: Vec<u64>,
}

/// Marks the absence of a value.
const NONE: u32 = u32::MAX;

impl ValueUses {
    /// Sorts the uses by value. They come in the order of memory, so that the uses of a value
    /// remain in the order of blocks and numbers.
    fn sort_uses(&mut self) {
        let mut starts = vec![0u32; self.homes.len() + 1];
        for &(value, _, _) in &self.uses {
            starts[value as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut sorted = vec![(0, 0, 0); self.uses.len()];
        for &one in &self.uses {
            let start = &mut starts[one.0 as usize];
            sorted[*start as usize] = one;
            *start += 1;
        }
        self.uses = sorted;
    }

    /// Computes [`RegallocCost::excess`] and [`RegallocCost::merges`] by following liveness from
    /// each use back to the definition. Returns `None` if there are too many pairs.
    fn excess(mut self) -> Option<(u64, u64)> {
        self.sort_uses();
        // Number of values that become live minus those that die before each instruction.
        let mut changes = vec![0i32; self.insts + 1];
        let mut live_out = vec![NONE; self.ranges.len()];
        let mut live_in = vec![NONE; self.ranges.len()];
        let (mut pairs, mut todo) = (0, Vec::new());
        for uses in self.uses.chunk_by(|a, b| a.0 == b.0) {
            let value = uses[0].0;
            let Some((home, defined)) = self.homes[value as usize] else { continue };
            todo.extend(uses.iter().map(|u| u.1).filter(|&b| b != home));
            while let Some(block) = todo.pop() {
                if std::mem::replace(&mut live_in[block as usize], value) == value {
                    continue;
                }
                pairs += 1;
                if pairs > MAX_PAIRS {
                    return None;
                }
                for &pred in &self.preds[block as usize] {
                    // The value is live throughout the block, unless the block defines it.
                    if std::mem::replace(&mut live_out[pred as usize], value) != value {
                        let (first, end) = self.ranges[pred as usize];
                        changes[if pred == home { defined } else { first } as usize] += 1;
                        changes[end as usize] -= 1;
                    }
                    if pred != home {
                        todo.push(pred);
                    }
                }
            }
            // These are the blocks in which the value dies.
            for used in uses.chunk_by(|a, b| a.1 == b.1) {
                let (_, block, last) = used[used.len() - 1];
                if live_out[block as usize] != value {
                    changes[if block == home { defined } else { self.ranges[block as usize].0 } as usize] += 1;
                    changes[last as usize] -= 1;
                }
            }
        }
        let starts = self.ranges.iter().zip(&self.params).map(|(range, &params)| (range.0, params));
        let mut starts = starts.peekable();
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
