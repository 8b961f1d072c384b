//! Reading of inputs: slots of the interface and built-ins.

use super::builtin;
use super::io_leaf::high_word;
use super::mode::ComputeQuads;
use super::ray_frame::type_of_words;
use super::translator::Translator;
use super::value::{IoKind, IoLeaf};
use crate::ir::{Convert, InterpolateAt, Op, Ty, Value};
use base::shader::{BuiltinSlot, Interpolation, RayValue, RayWord, Slot, SlotKind, SlotType, StageIoKind};

impl Translator<'_> {
    /// Returns the number of an input slot, which is created at its first use.
    pub fn input_slot(&mut self, slot: Slot) -> u32 {
        let inputs = &mut self.b.shader.inputs;
        *self.input_slots.entry(slot.kind).or_insert_with(|| {
            inputs.push(slot);
            inputs.len() as u32 - 1
        })
    }

    /// Reads an input scalar. For an arrayed input, it is that of `vertex`.
    pub fn load_input(&mut self, io: &IoLeaf, vertex: Option<Value>) -> Value {
        match (io.kind, vertex) {
            (IoKind::Slot, _) => self.load_words(io, io.at, vertex.as_slice()),
            (IoKind::Builtin(..), Some(_)) if matches!(io.slot.kind, SlotKind::Builtin(_)) => {
                self.load_words(io, io.at, vertex.as_slice())
            }
            (IoKind::Builtin(number, c), _) => self.load_builtin(io, number, c),
            (IoKind::Unused, _) => self.b.konst(io.ty, 0),
        }
    }

    /// Loads a scalar from its slots. A slot is a word: narrow scalars are converted, and wide ones
    /// are made of two words.
    fn load_words(&mut self, io: &IoLeaf, at: InterpolateAt, args: &[Value]) -> Value {
        let word = |t: &mut Self, slot: Slot| {
            let ty = if slot.ty == SlotType::Float { Ty::F32 } else { Ty::I32 };
            let slot = t.input_slot(slot);
            match (t.stage.row().inputs, args) {
                (StageIoKind::Primitives, _) | (StageIoKind::Patch, &[_]) => t.b.val(Op::LoadVertex(slot), args, ty),
                (StageIoKind::Patch, _) => {
                    let any = t.b.i32(0);
                    t.b.val(Op::LoadVertex(slot), &[any], ty)
                }
                _ => t.b.val(Op::LoadInput(slot, at), args, ty),
            }
        };
        if self.stage.row().inputs == StageIoKind::Patch && io.ty.bytes() == 2 {
            // Inputs from a patch hold 16 bits as they are, not converted to a word.
            let bits = word(self, Slot { ty: SlotType::Uint, ..io.slot });
            let bits = self.b.cvt(Convert::UToU, bits, Ty::I16);
            return if io.ty == Ty::F16 { self.b.cvt(Convert::Bitcast, bits, Ty::F16) } else { bits };
        }
        let low = word(self, io.slot);
        match io.ty {
            Ty::I16 => self.b.cvt(Convert::UToU, low, io.ty),
            Ty::F16 => self.b.cvt(Convert::FToF, low, io.ty),
            Ty::I64 | Ty::F64 => {
                let high = word(self, high_word(io.slot));
                self.b.join(&[low, high], io.ty)
            }
            _ => low,
        }
    }

    /// Reads an input scalar at another position than its decorations define. Built-ins without a
    /// slot have no such position.
    pub fn load_input_at(&mut self, io: &IoLeaf, at: InterpolateAt, args: &[Value]) -> Value {
        match (io.kind, io.slot.kind) {
            (IoKind::Slot, _) | (IoKind::Builtin(..), SlotKind::Builtin(_))
                if io.slot.interpolation != Interpolation::Flat =>
            {
                self.load_words(io, at, args)
            }
            _ => self.load_input(io, None),
        }
    }

    fn load_builtin(&mut self, io: &IoLeaf, number: u32, c: u32) -> Value {
        if let SlotKind::Builtin(BuiltinSlot::Ray(RayWord { value, .. })) = io.slot.kind {
            let ty = type_of_words(value);
            if !self.stage.reads_ray_value(value) || io.ty != ty {
                self.b.fault = Some("built-in is not an input of this stage, or not of this type");
                return self.b.konst(io.ty, 0);
            }
            if let (RayValue::RayTmax, Some(var)) = (value, self.ray.t_max) {
                return self.b.load_var(var, None);
            }
        }
        if let SlotKind::Builtin(_) = io.slot.kind {
            let word = self.load_words(io, io.at, &[]);
            return if io.ty == Ty::B1 { self.b.bit_to_bool(word) } else { word };
        }
        if (builtin::SUBGROUP_EQ_MASK..=builtin::SUBGROUP_LT_MASK).contains(&number) {
            return self.subgroup_mask(number, c);
        }
        if let (Some(ComputeQuads::Square), builtin::LOCAL_INVOCATION_ID..=builtin::LOCAL_INVOCATION_INDEX) =
            (self.compute_quads, number)
            && c < 3
        {
            return self.square_position(number, c);
        }
        if number == builtin::HELPER_INVOCATION && io.volatile && self.stage.has_quads() {
            return self.b.val(Op::IsHelper, &[], Ty::B1);
        }
        let number = match number {
            builtin::VIEW_INDEX if self.s.view_index_from_device_index => builtin::DEVICE_INDEX,
            number => number,
        };
        let Some((b, ty)) = builtin::input(self.stage, number, c) else {
            if number == builtin::SAMPLE_MASK && self.stage.has_quads() {
                return self.b.i32(0);
            }
            self.b.fault = Some("built-in is not an input of this stage (or not implemented)");
            return self.b.konst(io.ty, 0);
        };
        self.b.shader.uses_subgroup |= builtin::is_subgroup(number);
        let v = self.b.val(Op::Builtin(b), &[], ty);
        if ty != io.ty {
            self.b.fault = Some("built-in of an unexpected type");
        }
        v
    }
}
