//! Calls of the helpers in the table of `base::abi`.

use super::Emitter;
use super::memory::read_only;
use crate::lir::{AccessReason, Type, Value as C};
use base::abi::{ArgumentKind, Helper, ShaderContext};
use core::mem::offset_of;

/// Returns the LIR type of an argument.
fn type_of(argument: ArgumentKind) -> Type {
    match argument {
        ArgumentKind::Pointer => Type::I64,
        ArgumentKind::Word => Type::I32,
    }
}

impl Emitter<'_> {
    /// Calls a helper through the context.
    pub fn call_helper(&mut self, helper: Helper, args: &[C]) {
        let row = helper.row();
        let types = || row.arguments.iter().map(|&a| type_of(a));
        debug_assert!(types().eq(args.iter().map(|&c| self.b.ty(c))), "{}({})", row.name, row.signature);
        let table = self.b.load(
            Type::I64,
            read_only(AccessReason::Field, offset_of!(ShaderContext, helpers) as i32),
            self.function.ctx(),
        );
        let function = self.b.load(Type::I64, read_only(AccessReason::Field, row.offset as i32), table);
        self.b.call(function, args);
    }
}
