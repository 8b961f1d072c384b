//! Interpreter that defines the meaning of LIR. It is used in tests and to fold constants.
//!
//! A value is the bits of its lanes, as many as the element has; a truth value is 0 or 1. [`pure`]
//! defines every operation without effects. [`run`] executes a function on real memory, as its
//! machine code would, on a single thread.

mod memory;
mod pure;
pub mod scalar;

pub use pure::pure;

use super::{Block, Def, Effect, Function, Imm, Inst, Op, Slot, Value};
use cranelift_entity::{EntityRef, SecondaryMap};
use smallvec::{SmallVec, smallvec};

/// A value as the bits of each lane.
pub type Bits = SmallVec<[u64; 16]>;

struct Machine<'a> {
    func: &'a Function,
    values: SecondaryMap<Value, Bits>,
    /// Memory of the stack slots.
    stack: Vec<Vec<u128>>,
}

/// Executes a function. Returns `false` if that takes more than `steps` steps.
///
/// # Safety
/// The function must be verified, the arguments must be those of its first block, and every address
/// that it accesses or calls must be valid for that.
pub unsafe fn run(func: &Function, args: &[u64], mut steps: usize) -> bool {
    let stack = func.slots.values().map(|s| vec![0; (s.bytes as usize).div_ceil(16) + (1 << s.align) / 16]).collect();
    let mut m = Machine { func, values: SecondaryMap::new(), stack };
    let mut block = func.layout[0];
    for (&param, &arg) in func.blocks[block].params.iter().zip(args) {
        m.values[param] = smallvec![arg];
    }
    loop {
        for &inst in &func.blocks[block].insts {
            if steps == 0 {
                return false;
            }
            steps -= 1;
            // SAFETY: the `# Safety` section requires the same as that of `inst`.
            unsafe { m.inst(inst) };
        }
        match m.next(block) {
            Some(to) => block = to,
            None => return true,
        }
    }
}

impl Machine<'_> {
    fn value(&self, v: Value) -> Bits {
        match self.func.values[v].def {
            Def::Const(_) | Def::Lanes(_) => self.func.constant_lanes(v).unwrap_or_default(),
            Def::Inst(_) | Def::Param(_) | Def::Alias(_) => self.values[v].clone(),
        }
    }

    fn slot(&self, slot: Slot, offset: i32) -> u64 {
        let align = 1u64 << self.func.slots[slot].align;
        let start = self.stack[slot.index()].as_ptr() as u64;
        start.next_multiple_of(align).wrapping_add(i64::from(offset) as u64)
    }

    /// # Safety
    /// The requirements of [`run`] must hold.
    unsafe fn inst(&mut self, inst: Inst) {
        let data = &self.func.insts[inst];
        let args: SmallVec<[Bits; 4]> = data.args.iter().map(|&v| self.value(v)).collect();
        let results = match (data.op.row().effect, data.imm) {
            (Effect::Control, _) => return,
            (_, Imm::Slot(slot, offset)) if data.op == Op::StackAddress => vec![smallvec![self.slot(slot, offset)]],
            (Effect::Pure, _) => {
                let types: SmallVec<[_; 4]> = data.args.iter().map(|&v| self.func.ty(v)).collect();
                vec![pure(self.func, data, &types, &args)]
            }
            // SAFETY: the `# Safety` section requires that every accessed or called address is
            // valid.
            (Effect::Read | Effect::Write | Effect::Call, _) => unsafe { memory::access(data, &args) },
        };
        for (v, bits) in data.results().zip(results) {
            self.values[v] = bits;
        }
    }

    /// Returns the block that follows, after setting its parameters.
    fn next(&mut self, block: Block) -> Option<Block> {
        let data = &self.func.blocks[block];
        let last = &self.func.insts[*data.insts.last()?];
        let taken = match last.op {
            Op::Jump => 0,
            Op::Branch => usize::from(self.value(last.args[0])[0] == 0),
            Op::BranchTable => (self.value(last.args[0])[0] as usize).min(data.targets.len() - 1),
            _ => return None,
        };
        let target = &data.targets[taken];
        // All arguments are read before the first parameter is set, because a loop may swap its
        // parameters.
        let args: Vec<Bits> = target.args.iter().map(|&v| self.value(v)).collect();
        for (&param, bits) in self.func.blocks[target.block].params.iter().zip(args) {
            self.values[param] = bits;
        }
        Some(target.block)
    }
}
