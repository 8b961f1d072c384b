//! Descriptors in heaps ([`base::abi::HeapEntry`]): they are read from the application's memory,
//! and are trusted only as far as wrong contents do no harm.

use super::Emitter;
use super::memory::{read_only, trusted};
use super::value_rep::{BufferRange, ValueRep};
use crate::error::Result;
use crate::ir::{HEAP_DATA, InstData, Op, SAMPLER_HEAP, SAMPLER_HEAP_DATA};
use crate::lir::{AccessReason, IntCond, Type, Value as C};
use base::abi::{
    ADDRESS_GRANULE_BITS, AccelerationStructureDescriptor, AddressSpace, BufferDescriptor, DESCRIPTOR_SIZE,
    HEAP_INDEX_BITS, HeapContext, HeapEntry, Heaps, ShaderContext,
};
use base::limits::MAX_HEAP_RANGE;
use core::mem::offset_of;
use smallvec::SmallVec;

/// Values that all descriptors of a heap share.
struct HeapValues {
    /// Address of the heap, and offset of the last byte at which a descriptor can begin (I64).
    address: C,
    last: C,
    /// Byte offset of the heap in the context.
    at: usize,
}

impl Emitter<'_> {
    /// Emits `Op::BufferDesc`, `Op::ImageDesc`, `Op::SamplerDesc` or `Op::StructureDesc` of a heap;
    /// it needs no further block.
    pub fn heap_descriptor(&mut self, set: u32, data: &InstData) -> Result<()> {
        let own = if matches!(set, SAMPLER_HEAP | SAMPLER_HEAP_DATA) {
            offset_of!(Heaps, samplers)
        } else {
            offset_of!(Heaps, resources)
        };
        let at = offset_of!(ShaderContext, heaps) + own;
        let address = self.heap_field(at + offset_of!(HeapContext, address));
        let size = self.heap_field(at + offset_of!(HeapContext, size));
        if matches!(set, HEAP_DATA | SAMPLER_HEAP_DATA) {
            return self.define(data.result(), ValueRep::Buffer(BufferRange { address, range: size }));
        }
        let heap = HeapValues { address, last: self.b.iadd_imm(size, -(DESCRIPTOR_SIZE as i64)), at };
        let offsets: SmallVec<[C; 8]> = match self.value_rep(data.args[0])? {
            ValueRep::Uniform(offset) => [offset].into_iter().collect(),
            _ => (0..self.lanes.count() as usize)
                .map(|lane| self.value_lane(data.args[0], lane))
                .collect::<Result<_>>()?,
        };
        let rep = match data.op {
            Op::BufferDesc { .. } => {
                let pairs: SmallVec<[BufferRange; 8]> = offsets.iter().map(|&at| self.heap_buffer(&heap, at)).collect();
                if let [pair] = pairs[..] { ValueRep::Buffer(pair) } else { ValueRep::Buffers(pairs) }
            }
            Op::StructureDesc { .. } => {
                let addresses: SmallVec<[C; 8]> = offsets.iter().map(|&at| self.heap_structure(&heap, at)).collect();
                self.structure_addresses(&addresses)
            }
            _ => {
                let objects: SmallVec<[C; 8]> = offsets.iter().map(|&at| self.heap_object(&heap, at)).collect();
                if let [object] = objects[..] { ValueRep::Uniform(object) } else { ValueRep::Pointers(objects) }
            }
        };
        self.define(data.result(), rep)
    }

    fn heap_field(&mut self, at: usize) -> C {
        self.b.load(Type::I64, read_only(AccessReason::Field, at as i32), self.function.ctx())
    }

    /// Returns the address of the descriptor at a byte offset (I32), or of zeros if that is outside
    /// of the heap.
    fn heap_slot(&mut self, heap: &HeapValues, offset: C) -> C {
        let offset = self.b.zext(Type::I64, offset);
        let address = self.b.iadd(heap.address, offset);
        let outside = self.b.icmp(IntCond::Ult, heap.last, offset);
        self.b.select(outside, self.function.zeros(), address)
    }

    /// Returns the live part of a descriptor's buffer.
    fn heap_buffer(&mut self, heap: &HeapValues, offset: C) -> BufferRange {
        let slot = self.heap_slot(heap, offset);
        let address =
            self.b.load(Type::I64, trusted(AccessReason::Checked, offset_of!(BufferDescriptor, address) as i32), slot);
        let range =
            self.b.load(Type::I64, trusted(AccessReason::Checked, offset_of!(BufferDescriptor, range) as i32), slot);
        let space = offset_of!(ShaderContext, addresses);
        let [base, last, runs] =
            [offset_of!(AddressSpace, base), offset_of!(AddressSpace, last), offset_of!(AddressSpace, runs)]
                .map(|field| self.heap_field(space + field));
        let offset = self.b.isub(address, base);
        let granule = self.b.lshr_imm(offset, ADDRESS_GRANULE_BITS);
        let granule = self.b.umin(granule, last);
        let run = self.b.shl_imm(granule, size_of::<u32>().trailing_zeros());
        let run = self.b.iadd(runs, run);
        let run = self.b.load(Type::I32, trusted(AccessReason::Live, 0), run);
        let run = self.b.zext(Type::I64, run);
        let alive = self.b.shl_imm(run, ADDRESS_GRANULE_BITS);
        // The run is counted from the start of its first granule, so the bytes of that granule
        // before the buffer are subtracted.
        let within = self.b.iconst(Type::I64, (1 << ADDRESS_GRANULE_BITS) - 1);
        let before = self.b.and(offset, within);
        let left = self.b.isub(alive, before);
        let some = self.b.icmp(IntCond::Ult, before, alive);
        let none = self.b.iconst(Type::I64, 0);
        let left = self.b.select(some, left, none);
        let range = self.b.umin(range, left);
        let max_value = self.b.iconst(Type::I64, MAX_HEAP_RANGE as i64);
        let range = self.b.umin(range, max_value);
        let null = self.heap_field(offset_of!(ShaderContext, heaps) + offset_of!(Heaps, null_buffer));
        BufferRange { address: self.b.select(some, address, null), range }
    }

    /// Returns the address in a descriptor of an acceleration structure. It may be any number.
    fn heap_structure(&mut self, heap: &HeapValues, offset: C) -> C {
        let slot = self.heap_slot(heap, offset);
        let field = offset_of!(AccelerationStructureDescriptor, address);
        self.b.load(Type::I64, trusted(AccessReason::Checked, field as i32), slot)
    }

    /// Returns the view or the sampler of a descriptor: that of its entry if the entry has the same
    /// word, otherwise that of the first entry.
    fn heap_object(&mut self, heap: &HeapValues, offset: C) -> C {
        let slot = self.heap_slot(heap, offset);
        let word = self.b.load(Type::I64, trusted(AccessReason::Checked, 0), slot);
        let entries = self.heap_field(heap.at + offset_of!(HeapContext, entries));
        let last = self.heap_field(heap.at + offset_of!(HeapContext, last));
        let mask = self.b.iconst(Type::I64, (1 << HEAP_INDEX_BITS) - 1);
        let index = self.b.and(word, mask);
        let index = self.b.umin(index, last);
        let index = self.b.shl_imm(index, size_of::<HeapEntry>().trailing_zeros());
        let entry = self.b.iadd(entries, index);
        let own = self.b.load(Type::I64, trusted(AccessReason::Element, offset_of!(HeapEntry, word) as i32), entry);
        let object =
            self.b.load(Type::I64, trusted(AccessReason::Element, offset_of!(HeapEntry, object) as i32), entry);
        let null =
            self.b.load(Type::I64, trusted(AccessReason::Element, offset_of!(HeapEntry, object) as i32), entries);
        let same = self.b.icmp(IntCond::Eq, own, word);
        self.b.select(same, object, null)
    }
}
