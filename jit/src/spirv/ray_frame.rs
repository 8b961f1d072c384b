//! Words of the frame of a stage of ray tracing, which are inputs and outputs of the stage.

use super::translator::Translator;
use super::value::Flat;
use crate::error::Result;
use crate::ir::{InterpolateAt, Op, Ty, Value};
use base::shader::{BuiltinSlot, Interpolation, RayValue, RayWord, RayWordType, Slot, SlotKind, SlotType};

/// Returns the slot of a word of the payload or of the callable data.
pub(super) fn data_slot(word: u32) -> Slot {
    let kind = SlotKind::User { location: word, component: 0, index: 0 };
    Slot { kind, ty: SlotType::Uint, interpolation: Interpolation::Flat }
}

/// Returns the slot of a word of a value.
pub(super) fn ray_slot(value: RayValue, word: u32) -> Slot {
    let kind = SlotKind::Builtin(BuiltinSlot::Ray(RayWord { value, word: word as u8 }));
    Slot { kind, ty: SlotType::Uint, interpolation: Interpolation::Flat }
}

/// Returns the type of a value's scalars.
pub(super) fn type_of_words(value: RayValue) -> Ty {
    match value.word_type() {
        RayWordType::Uint => Ty::I32,
        RayWordType::Float => Ty::F32,
        RayWordType::Bool => Ty::B1,
    }
}

impl Translator<'_> {
    /// Returns the words of a value.
    pub fn load_ray_value(&mut self, value: RayValue) -> Flat {
        self.load_frame_words(value.words(), |word| ray_slot(value, word))
    }

    /// Returns the address of the shader record's data, plus an offset.
    pub fn record_address(&mut self, offset: u32) -> Result<Value> {
        if !self.stage.reads_ray_value(RayValue::ShaderRecord) {
            return Err(self.misplaced("mapping to the shader record"));
        }
        let words = self.load_frame_words(2, |word| ray_slot(RayValue::ShaderRecord, word));
        let address = self.b.join(&words, Ty::I64);
        let offset = self.b.konst(Ty::I64, offset.into());
        Ok(self.b.add(address, offset))
    }

    pub fn load_frame_words(&mut self, words: u32, slot: impl Fn(u32) -> Slot) -> Flat {
        let load = |word| {
            let slot = self.input_slot(slot(word));
            self.b.val(Op::LoadInput(slot, InterpolateAt::Default), &[], Ty::I32)
        };
        (0..words).map(load).collect()
    }
}
