//! What careful register allocation would cost, known before it is tried.
//!
//! The backtracking register allocator is fast where values fit the registers and takes forever where many more are live at
//! once for long: each one is split, evicted and tried again in every register. It cannot be interrupted, so it is only asked for
//! functions where its work is bounded.

#![forbid(unsafe_code)]

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
    pub fn of(program: Program) -> Cost {
        let insts = program.insts;
        let (excess, merges) = program.excess().unwrap_or((u64::MAX, u64::MAX));
        Cost { insts, excess, merges }
    }
}

/// A function as a back end has it: what is used where. Blocks and values are numbers, blocks in the order of memory.
#[derive(Default)]
pub struct Program {
    /// Instructions so far; their numbers go on from block to block.
    pub insts: usize,
    /// Number of a block's first instruction, and of the one behind its last.
    pub ranges: Vec<(u32, u32)>,
    /// A value, a block it is used in, the number behind its last use there.
    pub uses: Vec<(u32, u32, u32)>,
    /// Block and number of each value's definition.
    pub homes: Vec<Option<(u32, u32)>>,
    /// Where a block is come from.
    pub preds: Vec<Vec<u32>>,
    /// Parameters of a block.
    pub params: Vec<u64>,
}

/// No value.
const NONE: u32 = u32::MAX;

impl Program {
    /// Sorts the uses by value. They come in the order of memory, so those of a value stay in that of blocks and numbers.
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

    /// [`Cost::excess`] and [`Cost::merges`], liveness use by use: from where a value is used back to where it is defined. `None` when it is too
    /// much to find out.
    fn excess(mut self) -> Option<(u64, u64)> {
        self.sort_uses();
        // Values that become live and die before each instruction.
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
                    // A whole block, unless it is the first.
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
            // The last blocks.
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
