//! Writing of outputs: the scalars of output variables, word by word.

use super::io_leaf::{high_word, output_slot};
use super::translator::Translator;
use super::value::{Local, OutputScalar};
use crate::error::Result;
use crate::ir::{Convert, Op, Ty, Value};
use base::shader::{BuiltinSlot, Slot, SlotKind, SlotType};

impl Translator<'_> {
    /// Calls `f` with every scalar that is written, always in the same order.
    pub fn each_output(&mut self, f: &mut dyn FnMut(&mut Self, &OutputScalar)) -> Result<()> {
        for local in self.outputs.clone() {
            let Local { ty, vars, io, .. } = self.locals[local].clone();
            let mut flat = 0;
            let zero = self.b.i32(0);
            self.visit_local(local, ty, 0, zero, &mut |t, leaf, index| {
                let io = io[flat];
                flat += 1;
                if let Some(slot) = output_slot(&io) {
                    f(t, &OutputScalar { slot, var: vars[leaf], index, capture: io.capture });
                }
            })?;
            self.check_fault()?;
        }
        Ok(())
    }

    /// Passes each word of a scalar to `store` with its slot, the low word first. It is the
    /// counterpart of `load_words`.
    pub fn output_words(&mut self, slot: Slot, v: Value, store: &mut dyn FnMut(&mut Self, Slot, Value)) {
        let v = match (self.b.ty(v), slot.ty) {
            (Ty::I16, SlotType::Sint) => self.b.cvt(Convert::SToS, v, Ty::I32),
            (Ty::I16, _) => self.b.cvt(Convert::UToU, v, Ty::I32),
            (Ty::F16, _) => self.b.cvt(Convert::FToF, v, Ty::F32),
            (Ty::I64 | Ty::F64, _) => {
                let words = self.b.split(v, Ty::I32, 2);
                store(self, slot, words[0]);
                store(self, high_word(slot), words[1]);
                return;
            }
            _ => v,
        };
        store(self, slot, v);
    }

    /// Stores a word in a new output slot.
    pub fn store_output(&mut self, slot: Slot, v: Value) {
        let sh = &mut self.b.shader;
        let number = sh.outputs.len() as u32;
        sh.outputs.push(slot);
        if let (SlotKind::Builtin(builtin), Some(info)) = (slot.kind, sh.stage_info.fragment_mut()) {
            info.writes_stencil |= builtin == BuiltinSlot::FragStencilRef;
            info.writes_sample_mask |= builtin == BuiltinSlot::SampleMask;
        }
        self.b.emit(Op::StoreOutput(number), &[v], &[]);
    }
}
