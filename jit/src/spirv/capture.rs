//! Transform feedback: destinations of outputs that are decorated with `Offset` and `XfbBuffer`, in
//! entry points with the mode `Xfb`.
//!
//! The captured data of a variable begins at its offset and is packed: scalars are in order, those
//! of 64 bits at multiples of eight bytes. A structure with 64-bit scalars is aligned likewise and
//! its size is a multiple of eight bytes. This is GLSL's rule, by which compilers choose the
//! offsets of what follows. The members of a block have offsets of their own; an array of blocks
//! has a buffer for each element.

use super::module::{EntryPoint, NO_MEMBER};
use super::opcodes::op;
use super::translator::Translator;
use super::types::Type;
use super::value::{CapturePlace, OutputScalar};
use super::{class, deco};
use crate::error::{Error, Result};
use base::limits::{CAPTURE_BUFFERS, MAX_CAPTURE_STRIDE, STREAMS};

/// Decorations that apply to a part of a variable, collected on the way to its scalars.
#[derive(Clone, Copy)]
struct CaptureState {
    buffer: u32,
    stride: Option<u32>,
    stream: u32,
    /// Next byte, once an offset has been met.
    at: Option<u32>,
}

/// Destination of each scalar, by flat number.
type CapturePlaces = Vec<Option<CapturePlace>>;

const BEYOND: &str = "what is captured reaches beyond XfbStride";

fn aligned(at: u32, align: u32) -> Result<u32> {
    at.checked_next_multiple_of(align).ok_or_else(|| Error::invalid(BEYOND))
}

impl Translator<'_> {
    /// Finds the buffers that the entry point's outputs go to, whether the outputs are written or
    /// not.
    ///
    /// # Errors
    /// Returns an Invalid error if decorations contradict each other, and a Limit error beyond the
    /// limits of a device.
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

    /// Returns the destinations of the scalars of an output variable; the list is empty if the
    /// stage captures nothing.
    pub fn capture_places(&mut self, variable: u32, ty: u32) -> Result<CapturePlaces> {
        let mut places = CapturePlaces::new();
        if self.b.shader.capture.is_some() {
            let none = CaptureState { buffer: 0, stride: None, stream: 0, at: None };
            let state = self.capture_decorations(none, variable, NO_MEMBER);
            self.place_blocks(ty, state, &mut places)?;
        }
        Ok(places)
    }

    fn capture_decorations(&self, before: CaptureState, target: u32, member: u32) -> CaptureState {
        let value = |kind| self.m.decoration_value(target, member, kind);
        CaptureState {
            buffer: value(deco::XFB_BUFFER).unwrap_or(before.buffer),
            stride: value(deco::XFB_STRIDE).or(before.stride),
            stream: value(deco::STREAM).unwrap_or(before.stream),
            at: value(deco::OFFSET).or(before.at),
        }
    }

    /// Places a variable's type, which may be a block or an array of blocks.
    fn place_blocks(&mut self, ty: u32, state: CaptureState, out: &mut CapturePlaces) -> Result<()> {
        let s = self.s;
        match s.ty(ty)? {
            &Type::Array { elem, len } if self.m.decorated(self.s.without_arrays(elem)?, deco::BLOCK) => {
                let each = self.blocks(elem)?;
                for i in 0..len {
                    let buffer = state.buffer.saturating_add(i.saturating_mul(each));
                    self.place_blocks(elem, CaptureState { buffer, ..state }, out)?;
                }
            }
            Type::Struct(members) if self.m.decorated(ty, deco::BLOCK) => {
                for (i, &member) in (0..).zip(members) {
                    let state = self.capture_decorations(CaptureState { at: None, ..state }, ty, i);
                    self.place_whole(member, state, out)?;
                }
            }
            _ => self.place_whole(ty, state, out)?,
        }
        Ok(())
    }

    /// Places a type that has one offset for all of it, or none.
    fn place_whole(&mut self, ty: u32, state: CaptureState, out: &mut CapturePlaces) -> Result<()> {
        match state.at {
            Some(at) if !at.is_multiple_of(4) => Err(Error::invalid("Offset of an output is not a multiple of four")),
            Some(at) => self.place_packed(ty, state, at, out).map(|_| ()),
            None => {
                out.resize(out.len() + self.s.flat_leaves(ty)?, None);
                Ok(())
            }
        }
    }

    /// Returns the number of blocks in a block or a nested array of blocks.
    fn blocks(&self, ty: u32) -> Result<u32> {
        match *self.s.ty(ty)? {
            Type::Array { elem, len } => Ok(len.saturating_mul(self.blocks(elem)?)),
            _ => Ok(1),
        }
    }

    /// Returns true if a type has scalars of 64 bits.
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

    /// Places the scalars of a type one behind the other from a byte on, and returns the byte
    /// behind them.
    fn place_packed(&mut self, ty: u32, state: CaptureState, mut at: u32, out: &mut CapturePlaces) -> Result<u32> {
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

    /// Returns the destination of a scalar at a byte, or at the next byte that is aligned for it.
    fn place(&mut self, bytes: u32, state: CaptureState, at: u32) -> Result<CapturePlace> {
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

    /// Records that the words of an output are in the slots from `first` on, in order.
    pub fn captured(&mut self, leaving: &OutputScalar, first: usize) {
        let shader = &mut self.b.shader;
        if let (Some(place), Some(capture)) = (leaving.capture, &mut shader.capture) {
            let slots = first as u32..shader.outputs.len() as u32;
            slots.zip((place.offset..).step_by(4)).for_each(|(slot, at)| capture.push(place.buffer, at, slot));
        }
    }
}
