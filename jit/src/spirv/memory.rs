//! Pointers: access chains, loads, stores, and the layouts that they follow.
//!
//! Memory with a layout is accessed by byte offsets: a dynamic base and a static offset. They come
//! from the module's decorations or, for workgroup memory, from a natural layout of the driver's
//! own. Adjacent components of one access are merged into one [`Op::Load`] or [`Op::Store`] of up
//! to four.

use super::build::address_len;
use super::deco;
use super::layout::{
    MemLeaf, array_stride, member_matrix, member_offset, memory_scalar, natural, natural_member, push_memory_leaves,
};
use super::translator::Translator;
use super::types::Type;
use super::value::{
    Desc, DriverLayout, Flat, Handle, IoLeaf, LocalTarget, Memory, Pointer, PointerTarget, Resource, Val,
};
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, MemFlags, Op, Space, Ty, Value};
use base::limits::MAX_BUFFER_RANGE;
use smallvec::SmallVec;

/// A step of an access chain.
#[derive(Clone, Copy)]
pub(crate) enum Index {
    Const(u32),
    Dynamic(Value),
}

/// Bound of the amount that one index adds to an offset. It exceeds the range a little, so that
/// neighbours of the bound are outside too.
const TERM_LIMIT: u32 = MAX_BUFFER_RANGE + (1 << 26);
/// Bound of a sum before the next term is added. Twice this bound and a term are less than 2^32, so
/// that a sum that wrapped is bounded again. A sum that was bounded stays outside whatever one term
/// adds.
const SUM_LIMIT: u32 = MAX_BUFFER_RANGE + (1 << 28);
const _: () = assert!(2 * SUM_LIMIT as u64 + TERM_LIMIT as u64 <= 1 << 32 && SUM_LIMIT > TERM_LIMIT);

impl Translator<'_> {
    fn index_value(&mut self, i: Index, ty: Ty) -> Value {
        match i {
            Index::Const(c) => self.b.konst(ty, c.into()),
            Index::Dynamic(v) => self.b.int_as(v, ty),
        }
    }

    /// Returns a pointer to a part of the pointee of `p`.
    pub fn part_pointer(&mut self, p: Pointer, i: Index) -> Result<Pointer> {
        let count = self.s.part_count(p.ty).unwrap_or(u32::MAX);
        let is_struct = matches!(self.s.ty(p.ty)?, Type::Struct(_));
        let i = match i {
            Index::Dynamic(_) if is_struct => return Err(Error::invalid("member index is not a constant")),
            // An index out of range in an array is undefined; here it selects the last element.
            // Memory has its own bounds.
            Index::Const(c) if !is_struct && !matches!(p.place, PointerTarget::Memory(_)) => {
                Index::Const(c.min(count.saturating_sub(1)))
            }
            i => i,
        };
        let part = match i {
            Index::Const(c) if is_struct => self.s.part(p.ty, c)?,
            _ => self.s.part(p.ty, 0)?,
        };
        let place = match p.place {
            PointerTarget::Local(l) => PointerTarget::Local(self.local_part(l, p.ty, part, i)?),
            PointerTarget::Memory(m) => PointerTarget::Memory(self.memory_part(m, p.ty, part, i)?),
            PointerTarget::Resource(r) => {
                let own = self.index_value(i, Ty::I32);
                let scaled = self.b.mul(r.desc.index, count.into());
                let index = self.b.add(scaled, own);
                return self.resource_pointer(Resource { desc: Desc { index, ..r.desc }, ..r }, part);
            }
            PointerTarget::Texel { .. } => return Err(Error::invalid("access chain into a texel")),
        };
        Ok(Pointer { ty: part, place })
    }

    fn local_part(&mut self, l: LocalTarget, ty: u32, part: u32, i: Index) -> Result<LocalTarget> {
        let root = self.locals[l.local].root;
        if let Some((_, len)) = self.s.array_like(ty)?
            && self.kept(root, ty, len)
        {
            let own = self.index_value(i, Ty::I32);
            let scaled = self.b.mul(l.index, len.into());
            return Ok(LocalTarget { index: self.b.add(scaled, own), ..l });
        }
        match self.s.ty(ty)? {
            Type::Struct(members) => {
                let Index::Const(c) = i else { return Err(Error::invalid("member index is not a constant")) };
                let before = members[..c as usize].iter().map(|&m| self.var_count(root, m)).sum::<Result<usize>>()?;
                Ok(LocalTarget { first: l.first + before, ..l })
            }
            &Type::Vector { n, .. } => match i {
                Index::Const(c) => Ok(LocalTarget { first: l.first + c as usize, ..l }),
                Index::Dynamic(v) => Ok(LocalTarget { comp: Some((self.b.int_as(v, Ty::I32), n)), ..l }),
            },
            _ => match i {
                Index::Const(c) => Ok(LocalTarget { first: l.first + c as usize * self.var_count(root, part)?, ..l }),
                Index::Dynamic(_) => Err(Error::unsupported("dynamic index through this pointer")),
            },
        }
    }

    fn memory_part(&mut self, m: Memory, ty: u32, part: u32, i: Index) -> Result<Memory> {
        let s = self.s;
        let mut out = Memory { comp_stride: None, stride: None, ..m };
        let stride = match s.ty(ty)? {
            Type::Struct(_) => {
                let Index::Const(c) = i else { return Err(Error::invalid("member index is not a constant")) };
                let offset =
                    m.driver_layout.map_or_else(|| member_offset(s, ty, c), |own| natural_member(s, ty, c, own))?;
                out.offset = out.offset.checked_add(offset).ok_or_else(|| Error::limit("offset beyond 4 GiB"))?;
                out.matrix = member_matrix(s, ty, c);
                out.volatile |= s.m.decoration(ty, c, deco::VOLATILE).is_some();
                return Ok(out);
            }
            Type::Matrix { .. } => {
                let (elem, _) = s.vector(part)?;
                let size = memory_scalar(s, elem, m.driver_layout)?.bytes();
                match m.matrix {
                    Some((stride, true)) => {
                        out.comp_stride = Some(stride);
                        size
                    }
                    Some((stride, false)) => stride,
                    None => natural(s, part, m.driver_layout.unwrap_or(DriverLayout::Packed))?.0,
                }
            }
            Type::Vector { elem, .. } => {
                m.comp_stride.map_or_else(|| memory_scalar(s, *elem, m.driver_layout).map(Ty::bytes), Ok)?
            }
            _ => m.stride.map_or_else(|| array_stride(s, ty, part, m.driver_layout), Ok)?,
        };
        self.advance(&mut out, i, stride)?;
        Ok(out)
    }

    /// Moves an address by `i * stride`. Offsets into buffers are 32-bit numbers that do not wrap:
    /// an index that is out of every buffer's bounds is bounded before it is multiplied, and so is
    /// a sum before a term is added to it.
    pub fn advance(&mut self, m: &mut Memory, i: Index, stride: u32) -> Result<()> {
        match i {
            // An offset beyond every buffer stays there.
            Index::Const(c) if m.space == Space::Buffer => {
                m.offset = c.saturating_mul(stride).saturating_add(m.offset).min(MAX_BUFFER_RANGE);
            }
            Index::Const(c) => {
                let by = c.checked_mul(stride).and_then(|by| m.offset.checked_add(by));
                m.offset = by.ok_or_else(|| Error::limit("offset beyond 4 GiB"))?;
            }
            Index::Dynamic(v) if m.space == Space::Buffer => {
                let v = self.word_index(v);
                if self.b.shader.as_const(m.base).is_none() {
                    m.base = self.b.bound(m.base, SUM_LIMIT);
                }
                let v = self.b.bound(v, TERM_LIMIT / stride.max(1) + 1);
                let by = self.b.mul(v, stride.into());
                m.base = self.b.add(m.base, by);
            }
            Index::Dynamic(v) => {
                let ty = if m.space == Space::Global { Ty::I64 } else { Ty::I32 };
                let v = self.b.int_as(v, ty);
                let by = self.b.mul(v, stride.into());
                m.base = self.b.add(m.base, by);
            }
        }
        Ok(())
    }

    /// Returns an index as a word. An index that does not fit a word becomes one outside every
    /// buffer, as a negative one is.
    fn word_index(&mut self, v: Value) -> Value {
        if self.b.ty(v) != Ty::I64 || self.b.shader.as_const(v).is_some() {
            return self.b.int_as(v, Ty::I32);
        }
        let by = self.b.konst(Ty::I64, 32);
        let high = self.b.bin(Binary::LShr, v, by);
        let [low, high] = [v, high].map(|v| self.b.cvt(Convert::UToU, v, Ty::I32));
        let (none, outside) = (self.b.i32(0), self.b.i32(1 << 31));
        let beyond = self.b.cmp(Cmp::INe, high, none);
        self.b.select(beyond, outside, low)
    }

    /// Returns a pointer whose static offset is part of its dynamic base, so that two such pointers
    /// differ only in values.
    pub fn normal(&mut self, val: Val) -> Result<Val> {
        let Val::Ptr(Pointer { ty, place: PointerTarget::Memory(m) }) = val else { return Ok(val) };
        let base = self.memory_offset(&m);
        if m.space == Space::Global {
            return Ok(Val::one(base));
        }
        Ok(Val::Ptr(Pointer { ty, place: PointerTarget::Memory(Memory { base, offset: 0, ..m }) }))
    }

    /// Returns the address operands of an access; `buffer` is what [`Translator::access_buffer`]
    /// returns.
    pub fn address_args(&mut self, m: &Memory, buffer: Option<Value>, extra: u32) -> SmallVec<[Value; 8]> {
        let mut args: SmallVec<[Value; 8]> = buffer.into_iter().collect();
        let at = Memory { offset: m.offset.wrapping_add(extra), ..*m };
        args.push(self.memory_offset(&at));
        debug_assert_eq!(args.len(), address_len(m.space));
        args
    }

    /// Returns the buffer of accesses to the pointee of `m`.
    pub fn access_buffer(&mut self, m: &Memory) -> Result<Option<Value>> {
        m.origin.map(|origin| self.buffer(origin)).transpose()
    }

    /// Returns the address operands of an atomic on the pointee of `m`.
    pub fn atomic_address(&mut self, m: &Memory) -> Result<SmallVec<[Value; 8]>> {
        let buffer = self.access_buffer(m)?;
        Ok(self.address_args(m, buffer, 0))
    }

    fn memory_leaves(&self, m: &Memory, ty: u32) -> Result<Vec<MemLeaf>> {
        let mut out = Vec::with_capacity(self.s.flat_leaves(ty)?);
        push_memory_leaves(self.s, m, ty, 0, &mut out)?;
        Ok(out)
    }

    /// Returns the runs of leaves that one access covers, as (first, count).
    fn runs(m: &Memory, leaves: &[MemLeaf]) -> Vec<(usize, usize)> {
        let most = if m.by_component { 1 } else { 4 };
        let mut out: Vec<(usize, usize)> = Vec::new();
        for (i, leaf) in leaves.iter().enumerate() {
            if let Some((first, n)) = out.last_mut() {
                let head = &leaves[*first];
                let next = head.offset.wrapping_add(*n as u32 * head.ty.bytes());
                if *n < most && head.ty == leaf.ty && leaf.offset == next {
                    *n += 1;
                    continue;
                }
            }
            out.push((i, 1));
        }
        out
    }

    /// Loads the pointee of `p`.
    pub fn load(&mut self, p: &Pointer, volatile: bool) -> Result<Val> {
        match &p.place {
            PointerTarget::Local(l) => self.load_local(l, p.ty, volatile).map(Val::Flat),
            PointerTarget::Memory(m) => self.load_memory(m, p.ty, volatile).map(Val::Flat),
            PointerTarget::Resource(r) => match self.heap_data(r, p.ty)? {
                Some(m) => self.load_memory(&m, p.ty, volatile).map(Val::Flat),
                None if matches!(self.s.ty(p.ty)?, Type::AccelerationStructure) => self.load_structure(r, p.ty),
                None => self.load_handle(r, p.ty).map(Val::Handle),
            },
            PointerTarget::Texel { .. } => Err(Error::invalid("load through a texel pointer")),
        }
    }

    /// Loads a value of a type at a location.
    pub fn load_memory(&mut self, m: &Memory, ty: u32, volatile: bool) -> Result<Flat> {
        let leaves = self.memory_leaves(m, ty)?;
        let kinds = self.s.leaf_types(ty)?;
        let mut out = self.load_leaves(m, &leaves, volatile)?;
        for (v, &kind) in out.iter_mut().zip(&kinds) {
            *v = match (kind, self.b.ty(*v)) {
                (Ty::B1, _) => self.b.bit_to_bool(*v),
                (Ty::I16, Ty::I32) => self.b.cvt(Convert::UToU, *v, kind),
                (Ty::F16, Ty::F32) => self.b.cvt(Convert::FToF, *v, kind),
                _ => *v,
            };
        }
        Ok(out)
    }

    /// Loads scalars at their offsets.
    pub fn load_leaves(&mut self, m: &Memory, leaves: &[MemLeaf], volatile: bool) -> Result<Flat> {
        let buffer = self.access_buffer(m)?;
        let mut out = Flat::new();
        for (first, n) in Self::runs(m, leaves) {
            let head = leaves[first];
            let args = self.address_args(m, buffer, head.offset);
            let flags =
                MemFlags { readonly: m.readonly, volatile: volatile || m.volatile, align: head.ty.bytes() as u8 };
            let tys = [head.ty; 4];
            out.extend(self.b.vals(Op::Load(m.space, flags), &args, &tys[..n]));
        }
        Ok(out)
    }

    /// Stores to the pointee of `p`.
    pub fn store(&mut self, p: &Pointer, val: Flat, volatile: bool) -> Result<()> {
        let kinds = self.s.leaf_types(p.ty)?;
        if kinds.len() != val.len() || kinds.iter().zip(&val).any(|(&t, &v)| t != self.b.ty(v)) {
            return Err(Error::invalid("stored value does not have the pointer's type"));
        }
        match &p.place {
            PointerTarget::Local(l) => self.store_local(l, p.ty, &val),
            PointerTarget::Memory(m) => self.store_memory(m, p.ty, val, volatile),
            PointerTarget::Resource(_) | PointerTarget::Texel { .. } => Err(Error::invalid("store to a descriptor")),
        }
    }

    /// Stores a value of a type at a location.
    pub fn store_memory(&mut self, m: &Memory, ty: u32, mut val: Flat, volatile: bool) -> Result<()> {
        let leaves = self.memory_leaves(m, ty)?;
        for (v, leaf) in val.iter_mut().zip(&leaves) {
            *v = match (self.b.ty(*v), leaf.ty) {
                (Ty::B1, to) => self.b.cvt(Convert::BToI, *v, to),
                (Ty::I16, to @ Ty::I32) => self.b.cvt(Convert::SToS, *v, to),
                (Ty::F16, to @ Ty::F32) => self.b.cvt(Convert::FToF, *v, to),
                _ => *v,
            };
        }
        self.store_leaves(m, &leaves, &val, volatile)
    }

    /// Stores scalars at their offsets.
    pub fn store_leaves(&mut self, m: &Memory, leaves: &[MemLeaf], val: &[Value], volatile: bool) -> Result<()> {
        if m.readonly || m.space == Space::Push {
            return Err(Error::invalid("store to read-only memory"));
        }
        let buffer = self.access_buffer(m)?;
        for (first, n) in Self::runs(m, leaves) {
            let head = leaves[first];
            let mut args = self.address_args(m, buffer, head.offset);
            args.extend_from_slice(&val[first..first + n]);
            let flags = MemFlags { readonly: false, volatile: volatile || m.volatile, align: head.ty.bytes() as u8 };
            self.b.emit(Op::Store(m.space, flags), &args, &[]);
        }
        self.b.shader.side_effects |= m.space != Space::Shared;
        Ok(())
    }

    // Variables that are held in scalars.

    fn load_local(&mut self, l: &LocalTarget, ty: u32, volatile: bool) -> Result<Flat> {
        let mut out = Flat::new();
        self.visit_local(l.local, ty, l.first, l.index, &mut |t, leaf, index| {
            let v = match l.comp {
                None => t.load_leaf(l.local, leaf, index, volatile),
                Some((comp, n)) => {
                    let all: Flat = (0..n as usize).map(|c| t.load_leaf(l.local, leaf + c, index, volatile)).collect();
                    t.b.pick(&all, comp)
                }
            };
            out.push(v);
        })?;
        Ok(out)
    }

    fn store_local(&mut self, l: &LocalTarget, ty: u32, val: &Flat) -> Result<()> {
        if self.locals[l.local].vars.is_empty() && !val.is_empty() {
            return Err(Error::invalid("store to an input"));
        }
        let mut values = val.iter().copied();
        self.visit_local(l.local, ty, l.first, l.index, &mut |t, leaf, index| {
            let Some(v) = values.next() else { return };
            let Some((comp, n)) = l.comp else { return t.store_leaf(l.local, leaf, index, v) };
            for c in 0..n {
                let old = t.load_leaf(l.local, leaf + c as usize, index, false);
                let which = t.b.i32(c);
                let hit = t.b.cmp(Cmp::IEq, comp, which);
                let new = t.b.select(hit, v, old);
                t.store_leaf(l.local, leaf + c as usize, index, new);
            }
        })
    }

    /// Calls `f` with leaf and element of every scalar of a part of a local, in flat order.
    pub fn visit_local(
        &mut self,
        local: usize,
        ty: u32,
        first: usize,
        index: Value,
        f: &mut dyn FnMut(&mut Self, usize, Value),
    ) -> Result<()> {
        let s = self.s;
        let root = self.locals[local].root;
        s.flat_leaves(ty)?;
        if let Some((part, n)) = s.array_like(ty)? {
            let kept = self.kept(root, ty, n);
            let step = self.var_count(root, part)?;
            for i in 0..n {
                if kept {
                    let own = self.b.i32(i);
                    let scaled = self.b.mul(index, n.into());
                    let element = self.b.add(scaled, own);
                    self.visit_local(local, part, first, element, f)?;
                } else {
                    self.visit_local(local, part, first + i as usize * step, index, f)?;
                }
            }
            return Ok(());
        }
        match s.ty(ty)? {
            &Type::Vector { n, .. } => (first..first + n as usize).for_each(|leaf| f(self, leaf, index)),
            Type::Struct(members) => {
                let mut first = first;
                for &m in members {
                    self.visit_local(local, m, first, index, f)?;
                    first += self.var_count(root, m)?;
                }
            }
            Type::RayQuery => return Err(Error::invalid("load or store of a ray query").with_id(root)),
            Type::HitObject => return Err(Error::invalid("load or store of a hit object").with_id(root)),
            _ => f(self, first, index),
        }
        Ok(())
    }

    /// Loads a leaf of a local. `volatile` makes the access volatile regardless of the variable's
    /// decorations (Vulkan memory model).
    fn load_leaf(&mut self, local: usize, leaf: usize, index: Value, volatile: bool) -> Value {
        let l = &self.locals[local];
        match (l.vars.get(leaf).copied(), l.io.get(leaf).copied()) {
            (Some(var), _) => self.b.load_var(var, Some(index)),
            (None, Some(io)) => {
                let vertex = self.arrayed.contains(&(l.root, l.ty)).then_some(index);
                self.load_input(&IoLeaf { volatile: volatile || io.volatile, ..io }, vertex)
            }
            (None, None) => {
                self.b.fault = Some("leaf outside its variable");
                self.b.i32(0)
            }
        }
    }

    fn store_leaf(&mut self, local: usize, leaf: usize, index: Value, v: Value) {
        if let Some(&var) = self.locals[local].vars.get(leaf) {
            self.touched.insert(var);
            self.b.store_var(var, Some(index), v);
        }
    }

    // Descriptors.

    /// Returns a pointer to a resource: blocks become memory, everything else stays a descriptor.
    pub fn resource_pointer(&mut self, r: Resource, ty: u32) -> Result<Pointer> {
        let s = self.s;
        let place = match s.ty(ty)? {
            Type::Struct(_) if self.layout.heap.is_some() => self.mapped_block(r, ty)?,
            Type::Struct(_) => {
                let readonly = self.is_read_only(r.variable, ty)?;
                let volatile = s.m.decorated(r.variable, deco::VOLATILE);
                PointerTarget::Memory(self.block_of(r.desc, readonly, volatile))
            }
            _ => PointerTarget::Resource(r),
        };
        Ok(Pointer { ty, place })
    }

    fn load_handle(&mut self, r: &Resource, ty: u32) -> Result<Handle> {
        if self.layout.heap.is_some() {
            return self.heap_handle(r, ty);
        }
        Ok(match *self.s.ty(ty)? {
            Type::Image(_) => Handle { image: Some((r.desc, ty)), sampler: None },
            Type::Sampler => Handle { image: None, sampler: Some(r.desc) },
            Type::SampledImage(image) => Handle { image: Some((r.desc, image)), sampler: Some(r.desc) },
            _ => return Err(Error::invalid("load of an array of descriptors")),
        })
    }

    /// Loads the address of an acceleration structure.
    fn load_structure(&mut self, r: &Resource, ty: u32) -> Result<Val> {
        if self.layout.heap.is_some() {
            return self.heap_structure(r, ty).map(Val::one);
        }
        Ok(Val::one(self.structure_of(r.desc)))
    }

    /// Translates OpArrayLength: the number of elements of the runtime array that ends a block.
    pub fn array_length(&mut self, p: Pointer, member: u32) -> Result<Value> {
        let PointerTarget::Memory(m) = p.place else { return Err(Error::invalid("not a pointer to a block")) };
        let (Some(origin), Type::Struct(members)) = (m.origin, self.s.ty(p.ty)?) else {
            return Err(Error::invalid("not a pointer to a block"));
        };
        let array = *members.get(member as usize).ok_or_else(|| Error::invalid("member"))?;
        let &Type::RuntimeArray { elem } = self.s.ty(array)? else { return Err(Error::invalid("not a runtime array")) };
        let stride = array_stride(self.s, array, elem, None)?.max(1);
        let offset = member_offset(self.s, p.ty, member)?;
        let buf = self.buffer(origin)?;
        let size = self.b.val(Op::BufferSize, &[buf], Ty::I32);
        let (offset, stride, zero) = (self.b.i32(offset), self.b.i32(stride), self.b.i32(0));
        let rest = self.b.bin(Binary::ISub, size, offset);
        let n = self.b.bin(Binary::UDiv, rest, stride);
        let short = self.b.cmp(Cmp::ULt, size, offset);
        Ok(self.b.select(short, zero, n))
    }
}
