//! Pointers that loads of a function's own memory may read, which `own_stores` finds.

use crate::lir::{Block, Def, Function, Inst, InstData, Value};
use cranelift_entity::SecondaryMap;

/// Values that each load of an address may read, with the blocks of their stores.
#[derive(Default)]
pub struct StoredPointers(SecondaryMap<Inst, Option<Vec<(Value, Block)>>>);

impl StoredPointers {
    /// Sets the values that a load may read; `None` if they are unknown.
    pub fn set(&mut self, load: Inst, values: Option<Vec<(Value, Block)>>) {
        self.0[load] = values;
    }

    /// Returns the values that a load may read, with the blocks of their stores.
    pub fn stored(&self, func: &Function, load: &InstData) -> Option<Vec<(Value, Block)>> {
        let Def::Inst(inst) = func.values[load.first].def else { return None };
        self.0[inst].clone()
    }
}
