//! Clean numbers: those that do not depend on the application, or that such a number limits. Only
//! they may index arrays of unknown length.

use super::shape::Shape;
use crate::lir::{Def, Imm, InstData, Op, Reason, Value};
use cranelift_entity::SecondaryMap;

/// Finds the clean values. `loaded` returns true if a load from an array or a descriptor gives a
/// number of the driver.
pub fn clean(shape: Shape<'_>, loaded: impl Fn(&InstData) -> bool) -> SecondaryMap<Value, bool> {
    let func = shape.func;
    let mut clean: SecondaryMap<Value, bool> = SecondaryMap::with_default(true);
    let from_memory: SecondaryMap<Value, bool> = {
        let mut out = SecondaryMap::new();
        for data in
            func.insts.values().filter(|data| matches!(data.op, Op::Load | Op::LoadU8 | Op::LoadU16 | Op::Gather))
        {
            let of_driver = match data.imm {
                Imm::Access(access) | Imm::Gather(access, _) => match access.reason {
                    Reason::Field | Reason::Live => true,
                    Reason::Element | Reason::Descriptor => loaded(data),
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
                    let now = clean[v] && made_clean(data, v, &clean, &from_memory);
                    changed |= now != clean[v];
                    clean[v] = now;
                }
            }
            for target in &data.targets {
                for (&param, &arg) in func.blocks[target.block].params.iter().zip(&target.args) {
                    let now = clean[param] && is_clean(shape, arg, &clean);
                    changed |= now != clean[param];
                    clean[param] = now;
                }
            }
        }
    }
    clean
}

fn is_clean(shape: Shape<'_>, v: Value, clean: &SecondaryMap<Value, bool>) -> bool {
    matches!(shape.func.values[v].def, Def::Const(_) | Def::Lanes(_)) || clean[v]
}

fn made_clean(
    data: &InstData,
    v: Value,
    clean: &SecondaryMap<Value, bool>,
    from_memory: &SecondaryMap<Value, bool>,
) -> bool {
    let mut args = data.args.iter().map(|&arg| clean[arg]);
    match data.op {
        Op::Load | Op::LoadU8 | Op::LoadU16 | Op::Gather => from_memory[v],
        Op::AtomicRmw | Op::AtomicCas | Op::AtomicLoad => false,
        // The result does not exceed either operand, so one clean operand is enough.
        Op::Umin | Op::And => args.any(|clean| clean),
        Op::Urem => clean[data.args[1]],
        Op::Select => args.skip(1).all(|clean| clean),
        // The result is bounded by the number of bits or lanes.
        Op::Ctz | Op::Clz | Op::Popcnt | Op::MaskBits => true,
        _ => args.all(|clean| clean),
    }
}
