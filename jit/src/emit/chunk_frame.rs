//! Frames of chunks, in which values wait while a chunk has stopped at a barrier.
//!
//! All chunks of a workgroup run in order and keep their lanes, so the frame belongs to the chunk,
//! and values are stored in their machine form. The scratch memory of a workgroup consists of the
//! resume indices (one u32 per chunk, initially zero) and the frames behind them, whose slots are
//! arrays over chunks.

use super::Emitter;
use super::memory::trusted;
use super::ssa_variable::{RepForm, assemble, form_types, parts};
use super::value_rep::ValueRep;
use crate::ir::{Value, Var};
use crate::lir::{AccessReason, Elem, Type, Value as C};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// State of the frames of chunks.
#[derive(Default)]
pub struct ChunkFrame {
    /// Slot and form of values defined so far.
    slots: SecondaryMap<Value, Option<(u32, RepForm)>>,
    /// Slot that keeps the exec mask across barriers.
    exec_slot: Option<u32>,
    /// Number of bytes of the frame that are allocated per chunk.
    bytes: u32,
    /// First byte of the slots in scratch memory.
    slots_start: u32,
    /// Addresses `scratch + 16 * chunk` and `scratch + 4 * chunk`, once a chunk has started.
    addresses: Option<[C; 2]>,
    /// Frame offsets of private arrays.
    arrays: SecondaryMap<Var, Option<u32>>,
}

impl ChunkFrame {
    /// Returns an empty frame in a workgroup of `chunks` chunks, whose resume indices come first.
    pub fn new(chunks: u32) -> ChunkFrame {
        ChunkFrame { slots_start: (chunks * 4).next_multiple_of(32), ..ChunkFrame::default() }
    }
    /// Returns the offset in scratch memory of the first byte of the slots.
    pub fn slots_start(&self) -> u32 {
        self.slots_start
    }
    /// Returns the number of bytes of the frame that are allocated per chunk.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }
    /// Returns the slot and the form of a value that the frame has.
    pub fn slot(&self, v: Value) -> Option<(u32, RepForm)> {
        self.slots[v]
    }
    /// Returns the frame offset of a private array, if it has one yet.
    pub fn array_base(&self, var: Var) -> Option<u32> {
        self.arrays[var]
    }
    /// Sets the frame offset of a private array.
    pub fn set_array_base(&mut self, var: Var, base: u32) {
        self.arrays[var] = Some(base);
    }
}

/// Returns the part of a value of type `ty` that one 16-byte unit of a slot holds.
fn unit_type(ty: Type) -> Type {
    match ty.bytes() {
        ..=16 => ty,
        _ if ty.lane_bytes() == 4 => ty.elem.by(4),
        // A vector cannot have two lanes, and a unit holds more than four narrow lanes; both are
        // stored as four words.
        _ => Elem::I32.by(4),
    }
}

/// Returns true if a value has more words than the largest vector.
fn exceeds_words(ty: Type) -> bool {
    ty.bytes() as usize > 4 * Type::MAX_LANES_PER_VECTOR
}

impl Emitter<'_> {
    /// Computes the addresses of the chunk's slots and of its resume index.
    pub fn place_chunk_frame(&mut self) {
        let chunk = self.b.zext(Type::I64, self.function.chunk());
        let scaled = self.b.shl_imm(chunk, 4);
        let slots = self.b.iadd(self.function.scratch(), scaled);
        let words = self.b.shl_imm(chunk, 2);
        let resume = self.b.iadd(self.function.scratch(), words);
        self.suspension.chunk_frame.addresses = Some([slots, resume]);
    }

    /// Returns an address of the chunk: that of its slots (0) or that of its resume index (1).
    fn frame_address(&self, index: usize) -> C {
        self.suspension.chunk_frame.addresses.map_or(self.function.scratch(), |addresses| addresses[index])
    }

    /// Stores a value to a new slot.
    pub fn store_chunk_value(&mut self, v: Value, rep: &ValueRep) {
        let (form, values) = parts(rep);
        let types = form_types(self.shader.ty(v), form, self.lanes.count() as usize);
        let size: u32 = types.iter().map(|t| t.bytes().next_multiple_of(16)).sum();
        let base = self.new_bytes(size);
        let mut offset = base;
        for (&c, t) in values.iter().zip(&types) {
            self.store_slot(offset, c);
            offset += t.bytes().next_multiple_of(16);
        }
        self.suspension.chunk_frame.slots[v] = Some((base, form));
    }

    /// Loads a value from its slot.
    pub fn load_chunk_value(&mut self, v: Value, base: u32, form: RepForm) -> ValueRep {
        let mut offset = base;
        let mut values = Vec::new();
        for t in form_types(self.shader.ty(v), form, self.lanes.count() as usize) {
            values.push(self.load_slot(offset, t));
            offset += t.bytes().next_multiple_of(16);
        }
        assemble(form, &values)
    }

    /// Allocates a slot for a machine type and returns its frame offset.
    pub fn new_slot(&mut self, ty: Type) -> u32 {
        self.new_bytes(ty.bytes())
    }

    /// Allocates bytes of the chunk's frame, rounded up to a multiple of 16, and returns their
    /// offset.
    pub fn new_bytes(&mut self, bytes: u32) -> u32 {
        let offset = self.suspension.chunk_frame.bytes;
        // A frame that overflows is refused when the function is finished.
        self.suspension.chunk_frame.bytes =
            self.suspension.chunk_frame.bytes.saturating_add(bytes.next_multiple_of(16));
        offset
    }

    /// Returns the address of a frame offset of the current chunk. Slots lie chunk-major inside
    /// 16-byte units: unit u of chunk c is at (u * chunks + c) * 16. The address therefore does not
    /// depend on the final frame size.
    pub fn slot_address(&mut self, offset: u32) -> (C, i32) {
        let fixed = (offset / 16)
            .wrapping_mul(self.function.chunks() * 16)
            .wrapping_add(self.suspension.chunk_frame.slots_start());
        (self.frame_address(0), fixed as i32)
    }

    /// Stores a value to a frame slot.
    pub fn store_slot(&mut self, offset: u32, c: C) {
        let ty = self.b.ty(c);
        if ty.bytes() <= 16 {
            let (base, fixed) = self.slot_address(offset);
            return self.b.store(trusted(AccessReason::Scratch, fixed), c, base);
        }
        if exceeds_words(ty) {
            let half = ty.lanes() / 2;
            for (first, offset) in [(0, offset), (half, offset + ty.bytes() / 2)] {
                let part = self.b.slice(c, first, half);
                self.store_slot(offset, part);
            }
            return;
        }
        // The 16-byte units of a slot are not adjacent.
        let words = unit_type(ty).elem.by(ty.bytes() as usize / 4);
        let c = self.b.bitcast(words, c);
        for unit in 0..words.lanes() / 4 {
            let part = self.b.slice(c, 4 * unit, 4);
            let (base, fixed) = self.slot_address(offset + 16 * unit as u32);
            self.b.store(trusted(AccessReason::Scratch, fixed), part, base);
        }
    }

    /// Loads a value from a frame slot.
    pub fn load_slot(&mut self, offset: u32, ty: Type) -> C {
        if exceeds_words(ty) {
            let half = ty.elem.by(ty.lanes() / 2);
            let parts = [offset, offset + ty.bytes() / 2].map(|offset| self.load_slot(offset, half));
            return self.concat(&parts);
        }
        let mut parts: SmallVec<[C; 4]> = SmallVec::new();
        for unit in 0..ty.bytes().div_ceil(16) {
            let (base, fixed) = self.slot_address(offset + 16 * unit);
            parts.push(self.b.load(unit_type(ty), trusted(AccessReason::Scratch, fixed), base));
        }
        let all = self.concat(&parts);
        self.b.bitcast(ty, all)
    }

    /// Stores the resume index at which the chunk continues in the next call.
    pub fn set_resume(&mut self, index: u32) {
        let value = self.b.iconst(Type::I32, i64::from(index));
        self.b.store(trusted(AccessReason::Scratch, 0), value, self.frame_address(1));
    }

    /// Loads the resume index.
    pub fn load_resume(&mut self) -> C {
        self.b.load(Type::I32, trusted(AccessReason::Scratch, 0), self.frame_address(1))
    }

    /// Stores the exec mask in the slot that keeps it across barriers, and returns that slot.
    pub fn save_exec(&mut self) -> u32 {
        let exec = self.exec_mask();
        let slot = match self.suspension.chunk_frame.exec_slot {
            Some(slot) => slot,
            None => self.new_slot(self.b.ty(exec)),
        };
        self.suspension.chunk_frame.exec_slot = Some(slot);
        self.store_slot(slot, exec);
        slot
    }
}
