//! Variables of the LIR builder, which are used again when their construct has ended.

use super::Emitter;
use crate::ir::Ty;
use crate::lir::{Builder, Type, Variable};

/// Variables that no construct uses.
#[derive(Default)]
pub struct VariablePool {
    free: Vec<(Type, Variable)>,
}

impl VariablePool {
    /// Returns a variable of type `ty`: a released one, if there is one.
    pub fn take(&mut self, b: &mut Builder, ty: Type) -> Variable {
        let free = self.free.iter().rposition(|&(t, _)| t == ty);
        free.map_or_else(|| b.declare_var(ty), |i| self.free.swap_remove(i).1)
    }

    /// Releases a variable of type `ty`. The next owner must set it first.
    pub fn release(&mut self, ty: Type, variable: Variable) {
        self.free.push((ty, variable));
    }
}

impl Emitter<'_> {
    /// Makes a LIR variable for a mask that is used between suspension points only.
    pub fn new_mask(&mut self) -> Variable {
        let ty = self.vector_type(Ty::B1);
        self.variables.take(&mut self.b, ty)
    }
}
