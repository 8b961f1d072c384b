//! Descriptor heaps: SPV_EXT_descriptor_heap, and mappings of `DescriptorSet` and `Binding` to
//! heaps.
//!
//! A descriptor in a heap is one of a set whose number no module uses, at an index that is its byte
//! offset in the heap. A pointer to descriptors is a pointer to such a byte. A variable with set
//! and binding keeps those, and the index of its element, until it is used. Then its mapping gives
//! the address of the descriptor. A mapping may also give the address of the data itself, without a
//! descriptor.

use super::module::{NO_MEMBER, View};
use super::translator::Translator;
use super::types::{Type, UNTYPED};
use super::value::{Desc, Handle, Memory, Origin, Pointer, PointerTarget, Resource};
use super::{builtin, class, deco};
use crate::error::{Error, Result};
use crate::ir::{Binary, Convert, MemFlags, Op, Space, Ty, Value};
use base::shader::{HeapIndex, HeapMapping, HeapPlace, MappingSource};

pub(crate) use crate::ir::{HEAP_DATA, RESOURCE_HEAP, SAMPLER_HEAP, SAMPLER_HEAP_DATA};

/// Layout of combined indices: number of bits of the resource's index, its mask, and the mask of
/// the sampler's index.
const COMBINED: (u32, u32, u32) = (20, 0xf_ffff, 0xfff);

/// Returns true for the sets that stand for heaps.
pub(crate) fn is_heap(set: u32) -> bool {
    matches!(set, RESOURCE_HEAP | SAMPLER_HEAP)
}

impl Translator<'_> {
    /// Returns a pointer to the beginning of a heap, if a variable is a heap.
    pub fn heap(&mut self, v: View<'_>) -> Result<Option<Pointer>> {
        let set = match self.m.decoration_value(v.result, NO_MEMBER, deco::BUILT_IN) {
            Some(builtin::RESOURCE_HEAP) => RESOURCE_HEAP,
            Some(builtin::SAMPLER_HEAP) => SAMPLER_HEAP,
            _ => return Ok(None),
        };
        if v.args[0] != class::UNIFORM_CONSTANT {
            return Err(Error::invalid("heap of another storage class than UniformConstant"));
        }
        if self.layout.heap.is_none() {
            return Err(Error::invalid(
                "descriptor heap in a pipeline without VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT",
            ));
        }
        let desc = Desc { set, binding: 0, index: self.b.i32(0) };
        let place = PointerTarget::Resource(Resource { variable: v.result, desc });
        Ok(Some(Pointer { ty: UNTYPED, place }))
    }

    /// Returns the memory of data in a heap that is not a descriptor.
    pub fn heap_data(&mut self, r: &Resource, ty: u32) -> Result<Option<Memory>> {
        let opaque = matches!(
            self.s.ty(ty)?,
            Type::Image(_) | Type::Sampler | Type::SampledImage(_) | Type::Buffer | Type::AccelerationStructure
        );
        if !is_heap(r.desc.set) || opaque {
            return Ok(None);
        }
        let set = if r.desc.set == SAMPLER_HEAP { SAMPLER_HEAP_DATA } else { HEAP_DATA };
        let desc = Desc { set, binding: 0, index: self.b.i32(0) };
        Ok(Some(Memory { base: r.desc.index, ..self.block_of(desc, true, false) }))
    }

    /// Returns the sum of a value and a constant.
    pub fn plus(&mut self, at: Value, by: u32) -> Value {
        let by = self.b.i32(by);
        self.b.add(at, by)
    }

    /// Returns the `VkSpirvResourceTypeFlagsEXT` of a variable of descriptors of type `ty`.
    fn resource_type(&self, variable: u32, ty: u32) -> Result<u32> {
        let m = self.m;
        Ok(match *self.s.ty(ty)? {
            Type::Sampler => 1,
            Type::Image(t) if t.sampled == 1 => 1 << 1,
            // An input attachment is never written, so it matches both kinds of image.
            Type::Image(t) if t.dim == 6 => 1 << 2 | 1 << 3,
            Type::Image(_) if m.decorated(variable, deco::NON_WRITABLE) => 1 << 2,
            Type::Image(_) => 1 << 3,
            Type::SampledImage(_) => 1 << 4,
            Type::AccelerationStructure => 1 << 8,
            _ => {
                let storage = m.def(variable)?.args[0] == class::STORAGE_BUFFER || m.decorated(ty, deco::BUFFER_BLOCK);
                match (storage, self.never_written(variable, ty)) {
                    (false, _) => 1 << 5,
                    (true, true) => 1 << 6,
                    (true, false) => 1 << 7,
                }
            }
        })
    }

    /// Returns true if a block, or each of its members, is NonWritable.
    fn never_written(&self, variable: u32, ty: u32) -> bool {
        let m = self.m;
        let members = m.def(ty).map_or(0, |t| t.args.len() as u32);
        let all = || members > 0 && (0..members).all(|i| m.decoration(ty, i, deco::NON_WRITABLE).is_some());
        m.decorated(variable, deco::NON_WRITABLE) || all()
    }

    /// Returns the mapping of a variable of descriptors of type `ty`.
    pub fn mapping(&self, r: &Resource, ty: u32) -> Result<&HeapMapping> {
        let resource = self.resource_type(r.variable, ty)?;
        let mut mappings = self.layout.heap.iter().flatten();
        let Desc { set, binding, .. } = r.desc;
        mappings
            .find(|mapping| mapping.has(set, binding, resource))
            .ok_or_else(|| Error::invalid(format!("set {set}, binding {binding} is not mapped")))
    }

    /// Returns the memory of a mapped block.
    pub fn mapped_block(&mut self, r: Resource, ty: u32) -> Result<PointerTarget> {
        let (readonly, volatile) = (self.is_read_only(r.variable, ty)?, self.m.decorated(r.variable, deco::VOLATILE));
        let (first, source) = {
            let mapping = self.mapping(&r, ty)?;
            (mapping.first_binding, mapping.source)
        };
        let zero = self.b.i32(0);
        let desc = Desc { set: RESOURCE_HEAP, binding: 0, index: zero };
        let block = self.block_of(desc, readonly, volatile);
        Ok(PointerTarget::Memory(match source {
            MappingSource::Heap { resource, combined, .. } => {
                let (index, _) = self.heap_offset(&r, first, (&resource, combined))?;
                Memory { origin: Some(Origin::Desc(Desc { index, ..desc })), ..block }
            }
            MappingSource::HeapData { offset, push } => {
                let index = self.push_word(push);
                let base = self.plus(index, offset);
                Memory { origin: Some(Origin::Desc(Desc { set: HEAP_DATA, ..desc })), base, ..block }
            }
            MappingSource::PushData(offset) => {
                Memory { space: Space::Push, origin: None, offset, readonly: true, ..block }
            }
            MappingSource::PushAddress(push) => {
                Memory { space: Space::Global, origin: None, base: self.push_address(push), ..block }
            }
            MappingSource::IndirectAddress { push, offset } => {
                let base = self.indirect(push, offset, None, Ty::I64);
                Memory { space: Space::Global, origin: None, base, ..block }
            }
            MappingSource::RecordData(offset) => {
                let base = self.record_address(offset)?;
                Memory { space: Space::Global, origin: None, base, readonly: true, ..block }
            }
            MappingSource::RecordAddress(offset) => {
                let base = self.record_value(offset, Ty::I64)?;
                Memory { space: Space::Global, origin: None, base, ..block }
            }
        }))
    }

    /// Returns the image descriptor of a resource.
    pub fn image_of(&mut self, r: &Resource, ty: u32) -> Result<Desc> {
        if self.layout.heap.is_none() {
            return Ok(r.desc);
        }
        let handle = self.heap_handle(r, ty)?;
        handle.image.map(|(desc, _)| desc).ok_or_else(|| Error::invalid("not an image"))
    }

    /// Loads a handle from a heap or from a mapped variable.
    pub fn heap_handle(&mut self, r: &Resource, ty: u32) -> Result<Handle> {
        let (image, sampled) = match *self.s.ty(ty)? {
            Type::Image(_) => (Some(ty), false),
            Type::Sampler => (None, true),
            Type::SampledImage(image) => (Some(image), true),
            _ => return Err(Error::invalid("load of an array of descriptors")),
        };
        if let Some(image) = image
            && matches!(self.s.ty(image)?, Type::Image(t) if t.dim == 6)
        {
            self.b.shader.fragment_mut()?.reads_input_attachments = true;
        }
        if is_heap(r.desc.set) {
            return match (image, sampled, r.desc.set) {
                (Some(image), false, RESOURCE_HEAP) => Ok(Handle { image: Some((r.desc, image)), sampler: None }),
                (None, true, SAMPLER_HEAP) => Ok(Handle { image: None, sampler: Some(r.desc) }),
                _ => Err(Error::invalid("load of something that is not in this heap")),
            };
        }
        let mapping = self.mapping(r, ty)?;
        let first = mapping.first_binding;
        let MappingSource::Heap { resource, embedded, sampler, combined } = mapping.source else {
            return Err(Error::invalid("image or sampler that is mapped to something else than a heap"));
        };
        let combined = combined && image.is_some() && sampled;
        let mut other = None;
        let image = match image {
            Some(ty) => {
                let (index, high) = self.heap_offset(r, first, (&resource, combined))?;
                other = high;
                Some((Desc { set: RESOURCE_HEAP, binding: 0, index }, ty))
            }
            None => None,
        };
        let sampler = match (sampled, embedded) {
            (false, _) => None,
            (true, Some(own)) => Some(Desc { set: own.set, binding: 0, index: self.b.i32(own.index) }),
            (true, None) => {
                let place = if image.is_some() { &sampler } else { &resource };
                let index = match other {
                    Some(index) => self.at_index(r, first, place, Some(index)),
                    None => self.heap_offset(r, first, (place, false))?.0,
                };
                Some(Desc { set: SAMPLER_HEAP, binding: 0, index })
            }
        };
        Ok(Handle { image, sampler })
    }

    /// Loads the address of an acceleration structure from a heap or a mapped variable.
    pub fn heap_structure(&mut self, r: &Resource, ty: u32) -> Result<Value> {
        match r.desc.set {
            RESOURCE_HEAP => return Ok(self.structure_of(r.desc)),
            SAMPLER_HEAP => return Err(Error::invalid("load of something that is not in this heap")),
            _ => {}
        }
        let (first, source) = {
            let mapping = self.mapping(r, ty)?;
            (mapping.first_binding, mapping.source)
        };
        Ok(match source {
            MappingSource::Heap { resource, .. } => {
                let (index, _) = self.heap_offset(r, first, (&resource, false))?;
                self.structure_of(Desc { set: RESOURCE_HEAP, binding: 0, index })
            }
            MappingSource::PushAddress(push) => self.push_address(push),
            MappingSource::IndirectAddress { push, offset } => self.indirect(push, offset, None, Ty::I64),
            MappingSource::RecordAddress(offset) => self.record_value(offset, Ty::I64)?,
            MappingSource::HeapData { .. } | MappingSource::PushData(_) | MappingSource::RecordData(_) => {
                return Err(Error::invalid("acceleration structure that is mapped to data"));
            }
        })
    }

    /// Returns the byte offset of a descriptor. For a combined index it also returns the sampler's
    /// part.
    fn heap_offset(
        &mut self,
        r: &Resource,
        first: u32,
        (place, combined): (&HeapPlace, bool),
    ) -> Result<(Value, Option<Value>)> {
        let element = self.plus(r.desc.index, r.desc.binding - first);
        let mut index = match place.index {
            HeapIndex::None => None,
            HeapIndex::Push(push) => Some(self.push_word(push)),
            HeapIndex::Indirect { push, offset } => Some(self.indirect(push, offset, None, Ty::I32)),
            HeapIndex::IndirectArray { push, offset } => Some(self.indirect(push, offset, Some(element), Ty::I32)),
            HeapIndex::Record(offset) => Some(self.record_value(offset, Ty::I32)?),
        };
        let mut sampler = None;
        if let (Some(both), true) = (index, combined) {
            let (bits, low, high) = COMBINED;
            let [bits, low, high] = [bits, low, high].map(|n| self.b.i32(n));
            let upper = self.b.bin(Binary::LShr, both, bits);
            sampler = Some(self.b.bin(Binary::And, upper, high));
            index = Some(self.b.bin(Binary::And, both, low));
        }
        Ok((self.at_index(r, first, place, index), sampler))
    }

    fn at_index(&mut self, r: &Resource, first: u32, place: &HeapPlace, index: Option<Value>) -> Value {
        let element = self.plus(r.desc.index, r.desc.binding - first);
        let by = self.b.mul(element, place.array_stride.into());
        let mut at = self.plus(by, place.offset);
        if let Some(index) = index {
            let by = self.b.mul(index, place.index_stride.into());
            at = self.b.add(at, by);
        }
        at
    }

    // Values that mappings read.

    fn push_word(&mut self, push: u32) -> Value {
        self.push_load(push, Ty::I32)
    }

    fn push_address(&mut self, push: u32) -> Value {
        let [low, high] = [push, push + 4].map(|at| {
            let word = self.push_load(at, Ty::I32);
            self.b.cvt(Convert::UToU, word, Ty::I64)
        });
        let by = self.b.konst(Ty::I64, 32);
        let high = self.b.bin(Binary::Shl, high, by);
        self.b.bin(Binary::Or, high, low)
    }

    fn push_load(&mut self, push: u32, ty: Ty) -> Value {
        let at = self.b.i32(push);
        self.b.val(Op::Load(Space::Push, constant(ty)), &[at], ty)
    }

    /// Loads a value of the shader record.
    fn record_value(&mut self, offset: u32, ty: Ty) -> Result<Value> {
        let address = self.record_address(offset)?;
        Ok(self.b.val(Op::Load(Space::Global, constant(ty)), &[address], ty))
    }

    /// Loads a value at an address in push data plus `offset` plus an optional element's offset.
    fn indirect(&mut self, push: u32, offset: u32, element: Option<Value>, ty: Ty) -> Value {
        let mut address = self.push_address(push);
        let offset = self.b.konst(Ty::I64, offset.into());
        address = self.b.add(address, offset);
        if let Some(element) = element {
            let element = self.b.cvt(Convert::UToU, element, Ty::I64);
            let by = self.b.mul(element, ty.bytes().into());
            address = self.b.add(address, by);
        }
        self.b.val(Op::Load(Space::Global, constant(ty)), &[address], ty)
    }
}

/// Returns the flags of memory that does not change while the shader runs.
fn constant(ty: Ty) -> MemFlags {
    MemFlags { readonly: true, volatile: false, align: ty.bytes() as u8 }
}
