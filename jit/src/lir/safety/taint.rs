//! Taint analysis: untainted numbers are those that do not depend on the application, or that such
//! a number limits. Only they may index arrays of unknown length.

use super::definitions::Definitions;
use crate::lir::{AccessReason, Def, Imm, InstData, Op, Value};
use cranelift_entity::SecondaryMap;

/// Finds the untainted values. `loaded` returns true if a load from an array or a descriptor gives
/// a number of the driver.
pub fn untainted_values(shape: Definitions<'_>, loaded: impl Fn(&InstData) -> bool) -> SecondaryMap<Value, bool> {
    let func = shape.func;
    let mut untainted: SecondaryMap<Value, bool> = SecondaryMap::with_default(true);
    let from_memory: SecondaryMap<Value, bool> = {
        let mut out = SecondaryMap::new();
        for data in
            func.insts.values().filter(|data| matches!(data.op, Op::Load | Op::LoadU8 | Op::LoadU16 | Op::Gather))
        {
            let of_driver = match data.imm {
                Imm::Access(access) | Imm::Gather(access, _) => match access.reason {
                    AccessReason::Field | AccessReason::Live => true,
                    AccessReason::Element | AccessReason::Descriptor => loaded(data),
                    _ => false,
                },
                _ => false,
            };
            data.results().for_each(|v| out[v] = of_driver);
        }
        out
    };
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &func.layout {
            let data = &func.blocks[block];
            for &inst in &data.insts {
                let data = &func.insts[inst];
                for v in data.results() {
                    let now = untainted[v] && result_is_untainted(data, v, &untainted, &from_memory);
                    changed |= now != untainted[v];
                    untainted[v] = now;
                }
            }
            for target in &data.targets {
                for (&param, &arg) in func.blocks[target.block].params.iter().zip(&target.args) {
                    let now = untainted[param] && is_untainted(shape, arg, &untainted);
                    changed |= now != untainted[param];
                    untainted[param] = now;
                }
            }
        }
    }
    untainted
}

fn is_untainted(shape: Definitions<'_>, v: Value, untainted: &SecondaryMap<Value, bool>) -> bool {
    matches!(shape.func.values[v].def, Def::Const(_) | Def::Lanes(_)) || untainted[v]
}

fn result_is_untainted(
    data: &InstData,
    v: Value,
    untainted: &SecondaryMap<Value, bool>,
    from_memory: &SecondaryMap<Value, bool>,
) -> bool {
    let mut args = data.args.iter().map(|&arg| untainted[arg]);
    match data.op {
        Op::Load | Op::LoadU8 | Op::LoadU16 | Op::Gather => from_memory[v],
        Op::AtomicRmw | Op::AtomicCas | Op::AtomicLoad => false,
        // The result does not exceed either operand, so one untainted operand is enough.
        Op::Umin | Op::And => args.any(|untainted| untainted),
        Op::Urem => untainted[data.args[1]],
        Op::Select => args.skip(1).all(|untainted| untainted),
        // The result is bounded by the number of bits or lanes.
        Op::Ctz | Op::Clz | Op::Popcnt | Op::MaskBits => true,
        _ => args.all(|untainted| untainted),
    }
}
