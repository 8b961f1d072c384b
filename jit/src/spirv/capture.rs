//! Transform feedback: where outputs go that `Offset` and `XfbBuffer` stand on, in entry points with the mode `Xfb`.
//!
//! What is captured of a variable begins at its offset and is packed: scalars in order, those of 64 bits at multiples of eight bytes, and so
//! structures that have any, whose size is such a multiple too (GLSL's rule, by which compilers choose the offsets of what follows). The
//! members of a block have offsets of their own; an array of blocks has a buffer for each element.

use super::body::Translator;
use super::module::{EntryPoint, NO_MEMBER};
use super::opcodes::op;
use super::types::Type;
use super::value::{CapturePlace, Leaving};
use super::{class, deco};
use crate::error::{Error, Result};
use base::shader::{CAPTURE_BUFFERS, MAX_CAPTURE_STRIDE, STREAMS};

/// What decorations say on the way from a variable to its scalars.
#[derive(Clone, Copy)]
struct State {
    buffer: u32,
    stride: Option<u32>,
    stream: u32,
    /// The next byte, once an offset has been met.
    at: Option<u32>,
}

/// A scalar's place by flat number.
type Places = Vec<Option<CapturePlace>>;

const BEYOND: &str = "what is captured reaches beyond XfbStride";

fn aligned(at: u32, align: u32) -> Result<u32> {
    at.checked_next_multiple_of(align).ok_or_else(|| Error::invalid(BEYOND))
}

impl Translator<'_> {
    /// Finds the buffers that the entry point's outputs go to, written or not.
    ///
    /// # Errors
    /// Invalid where decorations contradict each other, Limit beyond what a device has.
    pub fn declare_captures(&mut self, entry: &EntryPoint) -> Result<()> {
        let m = self.m;
        for v in m.globals.clone().map(|inst| m.view(inst)) {
            if v.op == op::OpVariable && v.args[0] == class::OUTPUT && entry.interface.contains(&v.result) {
                let &Type::Pointer { to, .. } = self.s.ty(v.ty)? else {
                    return Err(Error::invalid("variable without a pointer type").at(v.opcode(), v.result));
                };
                self.capture_places(v.result, to).map_err(|e| e.at(v.opcode(), v.result))?;
            }
        }
        Ok(())
    }

    /// Where the scalars of an output variable go; nothing where the stage captures nothing.
    pub fn capture_places(&mut self, variable: u32, ty: u32) -> Result<Places> {
        let mut places = Places::new();
        if self.b.shader.capture.is_some() {
            let none = State { buffer: 0, stride: None, stream: 0, at: None };
            let state = self.capture_decorations(none, variable, NO_MEMBER);
            self.place_blocks(ty, state, &mut places)?;
        }
        Ok(places)
    }

    fn capture_decorations(&self, before: State, target: u32, member: u32) -> State {
        let value = |kind| self.m.decoration_value(target, member, kind);
        State {
            buffer: value(deco::XFB_BUFFER).unwrap_or(before.buffer),
            stride: value(deco::XFB_STRIDE).or(before.stride),
            stream: value(deco::STREAM).unwrap_or(before.stream),
            at: value(deco::OFFSET).or(before.at),
        }
    }

    /// A variable's type: a block, an array of them, or anything else.
    fn place_blocks(&mut self, ty: u32, state: State, out: &mut Places) -> Result<()> {
        let s = self.s;
        match s.ty(ty)? {
            &Type::Array { elem, len } if self.m.decorated(self.without_arrays(elem)?, deco::BLOCK) => {
                let each = self.blocks(elem)?;
                for i in 0..len {
                    let buffer = state.buffer.saturating_add(i.saturating_mul(each));
                    self.place_blocks(elem, State { buffer, ..state }, out)?;
                }
            }
            Type::Struct(members) if self.m.decorated(ty, deco::BLOCK) => {
                for (i, &member) in (0..).zip(members) {
                    let state = self.capture_decorations(State { at: None, ..state }, ty, i);
                    self.place_whole(member, state, out)?;
                }
            }
            _ => self.place_whole(ty, state, out)?,
        }
        Ok(())
    }

    /// What has an offset of its own, or none.
    fn place_whole(&mut self, ty: u32, state: State, out: &mut Places) -> Result<()> {
        match state.at {
            Some(at) if !at.is_multiple_of(4) => Err(Error::invalid("Offset of an output is not a multiple of four")),
            Some(at) => self.place_packed(ty, state, at, out).map(|_| ()),
            None => {
                out.resize(out.len() + self.s.flat_leaves(ty)?, None);
                Ok(())
            }
        }
    }

    /// How many a block or an array of blocks, or of arrays of them, is.
    fn blocks(&self, ty: u32) -> Result<u32> {
        match *self.s.ty(ty)? {
            Type::Array { elem, len } => Ok(len.saturating_mul(self.blocks(elem)?)),
            _ => Ok(1),
        }
    }

    /// Has it scalars of 64 bits?
    fn is_wide(&self, ty: u32) -> Result<bool> {
        Ok(match self.s.ty(ty)? {
            Type::Struct(members) => {
                for &member in members {
                    if self.is_wide(member)? {
                        return Ok(true);
                    }
                }
                false
            }
            &Type::Array { elem, .. } | &Type::Matrix { col: elem, .. } => self.is_wide(elem)?,
            _ => self.s.scalar(self.s.vector(ty)?.0)?.bytes() == 8,
        })
    }

    /// Scalars one behind the other from a byte on; gives back the byte behind them.
    fn place_packed(&mut self, ty: u32, state: State, mut at: u32, out: &mut Places) -> Result<u32> {
        let s = self.s;
        match s.ty(ty)? {
            Type::Struct(members) => {
                let align = if self.is_wide(ty)? { 8 } else { 4 };
                at = aligned(at, align)?;
                for &member in members {
                    at = self.place_packed(member, state, at, out)?;
                }
                aligned(at, align)
            }
            &Type::Array { elem, len } | &Type::Matrix { col: elem, n: len } => {
                for _ in 0..len {
                    at = self.place_packed(elem, state, at, out)?;
                }
                Ok(at)
            }
            _ => {
                let (elem, n) = s.vector(ty)?;
                let bytes = s.scalar(elem)?.bytes();
                for _ in 0..n {
                    out.push(Some(self.place(bytes, state, at)?));
                    at = aligned(at, bytes)? + bytes;
                }
                Ok(at)
            }
        }
    }

    /// The place of a scalar at a byte, or at the next that it may lie at.
    fn place(&mut self, bytes: u32, state: State, at: u32) -> Result<CapturePlace> {
        if !matches!(bytes, 4 | 8) {
            return Err(Error::invalid("what is captured has components of 32 or 64 bits"));
        }
        let stride = state.stride.ok_or_else(|| Error::invalid("Offset of an output without XfbStride"))?;
        if !stride.is_multiple_of(4) {
            return Err(Error::invalid("XfbStride is not a multiple of four"));
        }
        if state.buffer >= CAPTURE_BUFFERS as u32 || state.stream >= STREAMS as u32 || stride > MAX_CAPTURE_STRIDE {
            return Err(Error::limit("transform feedback buffer, stream or stride"));
        }
        let offset = aligned(at, bytes)?;
        if offset >= stride || stride - offset < bytes {
            return Err(Error::invalid(BEYOND));
        }
        let Some(capture) = &mut self.b.shader.capture else { return Err(Error::internal("nothing is captured")) };
        let number = state.buffer as usize;
        let before = (capture.strides[number], capture.streams[number]);
        if before.0 != 0 && before != (stride, state.stream) {
            return Err(Error::invalid("outputs to one buffer with different strides or streams"));
        }
        (capture.strides[number], capture.streams[number]) = (stride, state.stream);
        Ok(CapturePlace { buffer: state.buffer, offset })
    }

    /// Notes that the words of an output are in the slots from `first` on, in order.
    pub fn captured(&mut self, leaving: &Leaving, first: usize) {
        let shader = &mut self.b.shader;
        if let (Some(place), Some(capture)) = (leaving.capture, &mut shader.capture) {
            let slots = first as u32..shader.outputs.len() as u32;
            slots.zip((place.offset..).step_by(4)).for_each(|(slot, at)| capture.push(place.buffer, at, slot));
        }
    }
}
