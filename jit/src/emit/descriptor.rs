//! Descriptors: the lookup of buffers, images, samplers and acceleration structures.

use super::Emitter;
use super::memory::read_only;
use super::value_rep::{BufferRange, ValueRep};
use crate::error::{Error, Result};
use crate::ir::{HEAP_DATA, InstData, Op, RESOURCE_HEAP, SAMPLER_HEAP, SAMPLER_HEAP_DATA, Value};
use crate::lir::{AccessReason, Type, Value as C};
use smallvec::{SmallVec, smallvec};

impl Emitter<'_> {
    /// Returns the buffer of a lane.
    pub fn buffer_lane(&mut self, v: Value, lane: usize) -> Result<BufferRange> {
        match self.value_rep(v)? {
            ValueRep::Buffer(pair) => Ok(pair),
            ValueRep::Buffers(list) => Ok(list[lane]),
            _ => Err(Error::internal("not a buffer")),
        }
    }

    /// Emits `Op::BufferDesc`, `Op::ImageDesc`, `Op::SamplerDesc` or `Op::StructureDesc`.
    pub fn descriptor(&mut self, set: u32, binding: u32, data: &InstData) -> Result<()> {
        use base::shader::DescriptorKind as K;
        if let RESOURCE_HEAP | SAMPLER_HEAP | HEAP_DATA | SAMPLER_HEAP_DATA = set {
            return self.heap_descriptor(set, data);
        }
        let layout = *self.layout.find(set, binding).ok_or_else(|| {
            Error::invalid(format!("set {set} binding {binding} is not in the pipeline layout")).with_id(data.source)
        })?;
        let (base, start, inline) = match layout.kind {
            K::UniformBufferDynamic | K::StorageBufferDynamic if layout.count > 0 => {
                let first = layout.dynamic_index as i32 * base::abi::DESCRIPTOR_SIZE as i32;
                let sets = core::mem::offset_of!(base::abi::ShaderContext, dynamic_buffers)
                    + core::mem::offset_of!(base::abi::DynamicBuffers, sets);
                (self.pointer_of_set(sets, set), first, false)
            }
            kind => {
                let sets = core::mem::offset_of!(base::abi::ShaderContext, sets);
                (self.pointer_of_set(sets, set), layout.offset as i32, kind == K::InlineUniformBlock)
            }
        };
        if inline && !matches!(data.op, Op::BufferDesc { .. }) {
            return Err(Error::invalid("an inline uniform block is a buffer only").with_id(data.source));
        }
        if inline {
            let address = self.b.iadd_imm(base, i64::from(start));
            let range = match layout.variable {
                true => {
                    let own = self.variable_count(base);
                    self.b.zext(Type::I64, own)
                }
                false => self.b.iconst(Type::I64, i64::from(layout.count)),
            };
            return self.define(data.result(), ValueRep::Buffer(BufferRange { address, range }));
        }
        // A null descriptor follows the last descriptor of a variable count.
        let last = match layout.variable {
            true => self.variable_count(base),
            false => self.b.iconst(Type::I32, i64::from(layout.count.max(1) - 1)),
        };
        let rep = match self.value_rep(data.args[0])? {
            ValueRep::Uniform(index) => {
                let at = self.descriptor_address(base, index, last);
                self.read_descriptor(data, &[at], start)
            }
            _ => {
                let mut addresses: SmallVec<[C; 8]> = smallvec![];
                for lane in 0..self.lanes.count() as usize {
                    let index = self.value_lane(data.args[0], lane)?;
                    addresses.push(self.descriptor_address(base, index, last));
                }
                self.read_descriptor(data, &addresses, start)
            }
        };
        self.define(data.result(), rep)
    }

    /// Loads a set's pointer from the context's array of pointers at byte `array`.
    fn pointer_of_set(&mut self, array: usize, set: u32) -> C {
        let at = array + set as usize * size_of::<*const u8>();
        self.b.load(Type::I64, read_only(AccessReason::Field, at as i32), self.function.ctx())
    }

    /// Loads the descriptor count of a set's variable-sized binding.
    fn variable_count(&mut self, set: C) -> C {
        let at = base::abi::SET_HEADER + core::mem::offset_of!(base::abi::SetHeader, variable_count) as i32;
        self.b.load(Type::I32, read_only(AccessReason::Descriptor, at), set)
    }

    /// Returns `base + 16 * min(index, last)`.
    fn descriptor_address(&mut self, base: C, index: C, last: C) -> C {
        let index = self.b.umin(index, last);
        let index = self.b.zext(Type::I64, index);
        let offset = self.b.shl_imm(index, base::abi::DESCRIPTOR_SIZE.trailing_zeros());
        self.b.iadd(base, offset)
    }

    fn read_descriptor(&mut self, data: &InstData, addresses: &[C], start: i32) -> ValueRep {
        use base::abi::{AccelerationStructureDescriptor, BufferDescriptor, ImageDescriptor};
        let at = |field: usize| start + field as i32;
        let load =
            |e: &mut Self, a: C, field: usize| e.b.load(Type::I64, read_only(AccessReason::Descriptor, at(field)), a);
        match data.op {
            Op::BufferDesc { .. } => {
                let pairs: SmallVec<[BufferRange; 8]> = addresses
                    .iter()
                    .map(|&a| BufferRange {
                        address: load(self, a, core::mem::offset_of!(BufferDescriptor, address)),
                        range: load(self, a, core::mem::offset_of!(BufferDescriptor, range)),
                    })
                    .collect();
                if pairs.len() == 1 { ValueRep::Buffer(pairs[0]) } else { ValueRep::Buffers(pairs) }
            }
            Op::StructureDesc { .. } => {
                let field = core::mem::offset_of!(AccelerationStructureDescriptor, address);
                let numbers: SmallVec<[C; 8]> = addresses.iter().map(|&a| load(self, a, field)).collect();
                self.structure_addresses(&numbers)
            }
            _ => {
                let field = if matches!(data.op, Op::SamplerDesc { .. }) {
                    core::mem::offset_of!(ImageDescriptor, sampler)
                } else {
                    core::mem::offset_of!(ImageDescriptor, view)
                };
                let pointers: SmallVec<[C; 8]> = addresses.iter().map(|&a| load(self, a, field)).collect();
                if pointers.len() == 1 { ValueRep::Uniform(pointers[0]) } else { ValueRep::Pointers(pointers) }
            }
        }
    }

    /// Returns the addresses of acceleration structures, which are one for all lanes or one a lane.
    pub fn structure_addresses(&mut self, addresses: &[C]) -> ValueRep {
        match *addresses {
            [address] => ValueRep::Uniform(address),
            _ => ValueRep::Varying(self.b.build(addresses)),
        }
    }

    /// Emits `Op::BufferSize`: the size in bytes, saturated to 32 bits.
    pub fn buffer_size(&mut self, data: &InstData) -> Result<()> {
        let size = |e: &mut Self, pair: BufferRange| {
            let max_value = e.b.iconst(Type::I64, 0xffff_ffff);
            let n = e.b.umin(pair.range, max_value);
            e.b.narrow(Type::I32, n)
        };
        let rep = match self.value_rep(data.args[0])? {
            ValueRep::Buffer(pair) => ValueRep::Uniform(size(self, pair)),
            ValueRep::Buffers(list) => {
                let lanes: Vec<C> = list.iter().map(|&p| size(self, p)).collect();
                ValueRep::Varying(self.b.build(&lanes))
            }
            _ => return Err(Error::internal("the size of something that is no buffer")),
        };
        self.define(data.result(), rep)
    }
}
