//! Frames of invocations, in which values wait while single lanes are suspended.
//!
//! A word of the lanes' frames is gathered from and scattered to the frames that the batch lists
//! ([`base::shader::FrameInfo`]). Only active lanes store, because another lane may have been
//! suspended before in this call.

use super::Emitter;
use super::memory::trusted;
use super::ssa_variable::SsaVariable;
use super::value_rep::{ValueRep, elem};
use crate::error::{Error, Result};
use crate::ir::Ty;
use crate::lir::{Access, AccessReason, Elem, IntCond, Value as C};
use crate::passes::words_of;
use base::shader::FrameInfo;

/// The frames of a chunk's invocations.
pub struct InvocationFrame {
    /// Address of all frames, and byte offsets (I32) of those of the lanes.
    memory: C,
    offsets: C,
    /// The end of the call for each lane ([`InvocationEnd`]).
    ends: SsaVariable,
    /// Mask of the lanes that the batch has. The lanes behind them never become active, because
    /// nothing that they would do ends a loop that waits for memory.
    valid: C,
    /// Variables of the constructs with points that enclose the current instruction.
    open: Vec<SsaVariable>,
}

/// Position of an element of a private array in the lanes' frames.
#[derive(Clone, Copy)]
pub struct FrameElement {
    /// Byte offsets (I32) of the lanes' frames, moved by their indices.
    pub offsets: C,
    /// The first word of the element.
    pub word: u32,
}

impl InvocationFrame {
    /// Returns the frames of a chunk, none of whose constructs is open.
    pub fn new(memory: C, offsets: C, ends: SsaVariable, valid: C) -> InvocationFrame {
        InvocationFrame { memory, offsets, ends, valid, open: Vec::new() }
    }
    /// Returns the variable that has the end of the call for each lane.
    pub fn ends(&self) -> &SsaVariable {
        &self.ends
    }
    /// Returns the mask of the lanes that the batch has.
    pub fn valid(&self) -> C {
        self.valid
    }
    /// Returns the variables of the constructs with points that enclose the current instruction.
    pub fn open(&self) -> &[SsaVariable] {
        &self.open
    }
    /// Returns the byte offsets of the lanes' frames.
    pub fn offsets(&self) -> C {
        self.offsets
    }
}

impl Emitter<'_> {
    pub fn invocation_frame(&self) -> Result<&InvocationFrame> {
        let frame = self.suspension.invocation_frame.as_ref();
        frame.ok_or_else(|| Error::invalid("a frame of an invocation in a stage without them"))
    }

    /// Returns the number of variables of open constructs.
    pub fn open_variables(&self) -> usize {
        self.suspension.invocation_frame.as_ref().map_or(0, |frame| frame.open.len())
    }

    /// Adds a variable of a construct with points.
    pub fn open_variable(&mut self, variable: &SsaVariable) {
        if let Some(frame) = &mut self.suspension.invocation_frame {
            frame.open.push(variable.clone());
        }
    }

    /// Closes the constructs that were opened since there were `count` variables.
    pub fn close_variables(&mut self, count: usize) {
        if let Some(frame) = &mut self.suspension.invocation_frame {
            frame.open.truncate(count);
        }
    }

    /// Stores a value of the active lanes in their frames.
    pub fn store_frame_value(&mut self, word: u32, ty: Ty, rep: &ValueRep) -> Result<()> {
        let c = self.rep_to_vector(ty, rep)?;
        let offsets = self.invocation_frame()?.offsets;
        self.store_frame_element(FrameElement { offsets, word }, ty, c)
    }

    /// Loads a value of all lanes from their frames.
    pub fn load_frame_value(&mut self, word: u32, ty: Ty) -> Result<C> {
        let offsets = self.invocation_frame()?.offsets;
        self.load_frame_element(FrameElement { offsets, word }, ty)
    }

    /// Returns the address of all frames, and the byte offsets (I32) of those of the lanes.
    pub fn frame_memory(&self) -> Result<(C, C)> {
        self.invocation_frame().map(|frame| (frame.memory, frame.offsets))
    }

    pub fn store_frame_element(&mut self, at: FrameElement, ty: Ty, c: C) -> Result<()> {
        let memory = self.invocation_frame()?.memory;
        let mask = match self.side_effect_mask() {
            Some(mask) => mask,
            None => self.mask(true),
        };
        for (word, c) in (at.word..).zip(self.split_into_words(ty, c)) {
            self.b.scatter(frame_access(word), mask, memory, at.offsets, self.function.sink(), &[c]);
        }
        Ok(())
    }

    pub fn load_frame_element(&mut self, at: FrameElement, ty: Ty) -> Result<C> {
        let memory = self.invocation_frame()?.memory;
        let (vector, mask) = (self.vector_type(Ty::I32), self.mask(true));
        let words: Vec<C> = (at.word..at.word + words_of(ty))
            .map(|word| self.b.gather(vector, frame_access(word), 1, mask, memory, at.offsets)[0])
            .collect();
        Ok(self.join_words(ty, &words))
    }

    /// Converts a vector to the words that hold it in a frame, the lowest first.
    pub fn split_into_words(&mut self, ty: Ty, c: C) -> Vec<C> {
        let words = self.vector_type(Ty::I32);
        match ty {
            Ty::I32 => vec![c],
            Ty::F32 => vec![self.b.bitcast(words, c)],
            Ty::B1 => vec![self.b.sext(words, c)],
            Ty::I8 | Ty::I16 => vec![self.b.zext(words, c)],
            Ty::F16 => {
                let bits = self.vector_type(Ty::I16);
                let c = self.b.bitcast(bits, c);
                vec![self.b.zext(words, c)]
            }
            Ty::I64 | Ty::Buf | Ty::Img | Ty::Smp => {
                let high = self.b.lshr_imm(c, 32);
                vec![self.b.narrow(words, c), self.b.narrow(words, high)]
            }
            Ty::F64 => {
                let bits = self.vector_type(Ty::I64);
                let c = self.b.bitcast(bits, c);
                self.split_into_words(Ty::I64, c)
            }
        }
    }

    /// Converts the words of a frame to a vector.
    pub fn join_words(&mut self, ty: Ty, words: &[C]) -> C {
        let vector = elem(ty).by(self.lanes.count() as usize);
        match ty {
            Ty::I32 => words[0],
            Ty::F32 => self.b.bitcast(vector, words[0]),
            Ty::B1 => self.b.icmp_imm(IntCond::Ne, words[0], 0),
            Ty::I8 | Ty::I16 => self.b.narrow(vector, words[0]),
            Ty::F16 => {
                let bits = self.vector_type(Ty::I16);
                let c = self.b.narrow(bits, words[0]);
                self.b.bitcast(vector, c)
            }
            Ty::I64 | Ty::F64 | Ty::Buf | Ty::Img | Ty::Smp => {
                let long = Elem::I64.by(self.lanes.count() as usize);
                let [low, high] = [0, 1].map(|i| self.b.zext(long, words[i]));
                let high = self.b.shl_imm(high, 32);
                let c = self.b.or(low, high);
                if ty == Ty::F64 { self.b.bitcast(vector, c) } else { c }
            }
        }
    }
}

/// Returns an access to a word of a frame, behind the offset of its first word.
fn frame_access(word: u32) -> Access {
    trusted(AccessReason::Element, FrameInfo::word_bytes(word) as i32)
}
