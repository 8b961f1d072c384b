//! Outputs of task and mesh stages, which they leave in the memory of their workgroups: the number
//! of mesh workgroups, the payload, vertices and primitives.
//!
//! Everything is in workgroup memory, before the shared variables
//! ([`base::shader::WORKGROUP_HEADER_BYTES`]). Indices, barriers, accesses to parts and accesses by
//! any invocation therefore work as for shared variables. A mesh's outputs are records, one for
//! each vertex and one for each primitive, so that the rasterizer reads them as they are. Every
//! variable is an array with its elements in these records, which is the only special property of
//! its pointers.

use super::io_leaf::{high_word, output_slot};
use super::layout::{natural, push_memory_leaves};
use super::module::{EntryPoint, NO_MEMBER, View};
use super::opcodes::op;
use super::translator::Translator;
use super::types::Type;
use super::validate::count_id;
use super::value::{DriverLayout, Memory, Pointer, PointerTarget};
use super::{builtin, class, deco};
use crate::error::{Error, Result};
use crate::ir::{Builtin, Cmp, MemFlags, Op, Region, Space, Term, Ty};
use base::shader::{OutputPlacement, Records, SlotKind, StageIoKind, WORKGROUP_HEADER_BYTES};
use std::collections::HashSet;

/// Largest number of bytes that a workgroup may leave, several times the amount that the limits
/// allow.
const MAX_BYTES: u32 = 1 << 20;

/// Members of an output's blocks that may be written.
enum WrittenMembers {
    All,
    Members(HashSet<u32>),
}

impl Translator<'_> {
    /// Reserves memory for the outputs of the stage's workgroups. Returns their total size in
    /// bytes.
    pub fn reserve_group(&mut self, entry: &EntryPoint) -> Result<u32> {
        if !matches!(self.stage.row().outputs, StageIoKind::Tasks | StageIoKind::Mesh) {
            return Ok(0);
        }
        let payload = self.payload_bytes(entry)?;
        let mut end = (WORKGROUP_HEADER_BYTES + payload).next_multiple_of(16);
        if let Some(info) = self.b.shader.stage_info.task_mut() {
            info.payload_bytes = payload;
        }
        let Some(info) = self.b.shader.stage_info.mesh().copied() else { return Ok(end) };
        let [vertex, primitive] = self.lay_out_records(entry)?;
        let mut records = |stride: u32, count: u32| {
            let first = end.next_multiple_of(16);
            let bytes = stride.checked_mul(count).and_then(|bytes| bytes.checked_add(first));
            end = bytes.filter(|&end| end <= MAX_BYTES).ok_or_else(|| Error::limit("outputs of a mesh"))?;
            Ok::<_, Error>(Records { first, stride })
        };
        let (vertices, primitives) = (records(vertex, info.max_vertices)?, records(primitive, info.max_primitives)?);
        (self.mesh.vertices, self.mesh.primitives) = (vertices, primitives);
        if let Some(info) = self.b.shader.stage_info.mesh_mut() {
            (info.payload_bytes, info.vertices, info.primitives) = (payload, vertices, primitives);
        }
        Ok(end.next_multiple_of(16))
    }

    /// Returns the type of a variable of the entry point's interface, if it is in the storage class
    /// `wanted`.
    fn of_class(&self, variable: u32, wanted: u32) -> Result<Option<u32>> {
        let v = self.m.def(variable)?;
        if v.op != op::OpVariable || v.args.first() != Some(&wanted) {
            return Ok(None);
        }
        match *self.s.ty(v.ty)? {
            Type::Pointer { to, .. } => Ok(Some(to)),
            _ => Err(Error::invalid("variable without a pointer type").with_id(variable)),
        }
    }

    /// Returns the size of the payload in bytes. An entry point may have one payload.
    fn payload_bytes(&self, entry: &EntryPoint) -> Result<u32> {
        let mut bytes = 0;
        for &variable in &entry.interface {
            if let Some(to) = self.of_class(variable, class::TASK_PAYLOAD)? {
                bytes = bytes.max(natural(self.s, to, DriverLayout::Packed)?.0);
            }
        }
        if bytes > MAX_BYTES {
            return Err(Error::limit("payload"));
        }
        Ok(bytes)
    }

    /// Translates OpVariable of class TaskPayloadWorkgroupEXT, which a mesh stage only reads.
    pub fn task_payload(&mut self, v: View<'_>, to: u32) -> Result<Pointer> {
        if !matches!(self.stage.row().outputs, StageIoKind::Tasks | StageIoKind::Mesh) {
            return Err(Error::invalid(format!("payload of a {:?} stage", self.stage)));
        }
        if v.args.len() > 1 {
            return Err(Error::invalid("initialiser of a payload"));
        }
        let mut p = self.block_pointer(Space::Shared, WORKGROUP_HEADER_BYTES, to, Some(DriverLayout::Packed));
        if let PointerTarget::Memory(m) = &mut p.place {
            m.readonly = self.stage.row().outputs == StageIoKind::Mesh;
        }
        Ok(p)
    }

    /// Returns true if a mesh has the variable for each primitive. Its decorations say so, or those
    /// of a block's members.
    fn is_of_primitives(&self, variable: u32, ty: u32) -> Result<bool> {
        let has = |target: u32, member: u32| {
            let built_in = self.m.decoration_value(target, member, deco::BUILT_IN);
            self.m.decoration(target, member, deco::PER_PRIMITIVE).is_some()
                || built_in.is_some_and(builtin::is_of_primitive)
        };
        let block = self.s.without_arrays(ty)?;
        Ok(has(variable, NO_MEMBER) || (matches!(self.s.ty(block)?, Type::Struct(_)) && has(block, 0)))
    }

    /// Returns true if the variable is named or has an initialiser. Other variables are not
    /// created.
    fn is_created(&self, variable: u32) -> bool {
        let used = self.m.dense(variable).is_some_and(|n| self.a.uses[n] > 0);
        used || self.m.def(variable).is_ok_and(|v| v.args.len() > 1)
    }

    /// Assigns offsets in the records to all outputs that are created. Returns the size in bytes of
    /// a vertex's and of a primitive's record.
    fn lay_out_records(&mut self, entry: &EntryPoint) -> Result<[u32; 2]> {
        let (mut bytes, mut align) = ([0u32; 2], [4u32; 2]);
        for &variable in &entry.interface {
            let Some(to) = self.of_class(variable, class::OUTPUT)?.filter(|_| self.is_created(variable)) else {
                continue;
            };
            let &Type::Array { elem, .. } = self.s.ty(to)? else {
                return Err(Error::invalid("output of a mesh is no array").with_id(variable));
            };
            let of_primitives = self.is_of_primitives(variable, elem)?;
            // A type without a layout is skipped. It is unused, or its use is refused.
            let Ok((size, own)) = natural(self.s, elem, DriverLayout::Words) else { continue };
            let (end, align) = (&mut bytes[usize::from(of_primitives)], &mut align[usize::from(of_primitives)]);
            let at = end.next_multiple_of(own);
            *align = own.max(*align);
            self.mesh.places.insert(variable, (at, of_primitives));
            let most = || Error::limit("outputs of a mesh").with_id(variable);
            *end = at.checked_add(size.next_multiple_of(4)).filter(|&end| end <= MAX_BYTES).ok_or_else(most)?;
        }
        Ok([0, 1].map(|i| bytes[i].next_multiple_of(align[i])))
    }

    /// Returns a pointer to an output, which consists of elements of records.
    pub fn mesh_output(&mut self, v: View<'_>, to: u32) -> Result<Pointer> {
        let &(at, of_primitives) =
            self.mesh.places.get(&v.result).ok_or_else(|| Error::invalid("output that is not in the interface"))?;
        let &Type::Array { elem, .. } = self.s.ty(to)? else {
            return Err(Error::invalid("output of a mesh is no array"));
        };
        let records = self.mesh.records(of_primitives);
        let mut p = self.block_pointer(Space::Shared, records.first + at, to, Some(DriverLayout::Words));
        let PointerTarget::Memory(memory) = &mut p.place else {
            return Err(Error::internal("an output that is no memory"));
        };
        memory.stride = Some(records.stride);
        let memory = *memory;
        self.place_records(v.result, elem, &memory, (at, of_primitives))?;
        self.initialise(&p, v)?;
        Ok(p)
    }

    /// Sets the slots of an output whose elements are of a type.
    fn place_records(&mut self, variable: u32, elem: u32, memory: &Memory, place: (u32, bool)) -> Result<()> {
        let (at, of_primitives) = place;
        let written = self.written(variable)?;
        let io = self.io_leaves(variable, elem, StageIoKind::Mesh)?;
        let mut leaves = Vec::with_capacity(io.len());
        push_memory_leaves(self.s, &Memory { stride: None, ..*memory }, elem, at, &mut leaves)?;
        let stride = self.mesh.records(of_primitives).stride;
        let mut members = Vec::with_capacity(io.len());
        match self.s.ty(elem)? {
            Type::Struct(types) => {
                for (member, &ty) in (0..).zip(types) {
                    members.resize(members.len() + self.s.flat_leaves(ty)?, member);
                }
            }
            _ => members.resize(io.len(), 0),
        }
        for ((io, leaf), member) in io.iter().zip(leaves).zip(members) {
            let unwritten = matches!(&written, WrittenMembers::Members(members) if !members.contains(&member));
            let Some(mut slot) = output_slot(io).filter(|_| !unwritten) else { continue };
            if let (SlotKind::User { index, .. }, true) = (&mut slot.kind, of_primitives) {
                *index = SlotKind::NOT_PER_VERTEX;
            }
            self.place_word(slot, OutputPlacement { offset: leaf.offset, stride });
            if leaf.ty.bytes() == 8 {
                self.place_word(high_word(slot), OutputPlacement { offset: leaf.offset + 4, stride });
            }
        }
        Ok(())
    }

    /// Returns the members of an output's blocks that may be written, which are those that access
    /// chains name. A member that is declared but never written must not replace a value that the
    /// stage defines.
    fn written(&self, variable: u32) -> Result<WrittenMembers> {
        let mut members = HashSet::new();
        for function in &self.m.functions {
            for v in function.insts.clone().map(|inst| self.m.view(inst)) {
                match v.op {
                    op::OpAccessChain | op::OpInBoundsAccessChain if v.args.first() == Some(&variable) => {
                        match v.args.get(2).map(|&id| self.s.constant_int(id)) {
                            Some(Some(member)) => _ = members.insert(member as u32),
                            _ => return Ok(WrittenMembers::All),
                        }
                    }
                    op::OpLoad | op::OpStore | op::OpCopyMemory | op::OpFunctionCall | op::OpCopyObject
                        if count_id(self.m, &v, variable) > 0 =>
                    {
                        return Ok(WrittenMembers::All);
                    }
                    _ => {}
                }
            }
        }
        let block = matches!(self.s.ty(self.element(variable)?)?, Type::Struct(_));
        Ok(if block { WrittenMembers::Members(members) } else { WrittenMembers::All })
    }

    /// Returns the type that an output has for each vertex or primitive.
    fn element(&self, variable: u32) -> Result<u32> {
        let to = self.of_class(variable, class::OUTPUT)?;
        match to.map(|to| self.s.ty(to)).transpose()? {
            Some(&Type::Array { elem, .. }) => Ok(elem),
            _ => Err(Error::invalid("output of a mesh is no array").with_id(variable)),
        }
    }

    /// Translates OpSetMeshOutputsEXT, which sets the numbers of vertices and primitives.
    pub fn set_mesh_outputs(&mut self, v: View<'_>) -> Result<()> {
        if self.b.shader.stage_info.mesh().is_none() {
            return Err(Error::invalid(format!("mesh outputs of a {:?} stage", self.stage)));
        }
        self.store_head(&[v.arg(0)?, v.arg(1)?])
    }

    /// Translates OpEmitMeshTasksEXT, which sets the numbers of mesh workgroups.
    pub fn emit_tasks(&mut self, v: View<'_>) -> Result<()> {
        if self.b.shader.stage_info.task().is_none() {
            return Err(Error::invalid(format!("mesh tasks of a {:?} stage", self.stage)));
        }
        self.store_head(&[v.arg(0)?, v.arg(1)?, v.arg(2)?])
    }

    /// Stores words at the beginning of the workgroup's memory. Only the first invocation stores
    /// its words.
    fn store_head(&mut self, words: &[u32]) -> Result<()> {
        let mut args = vec![self.b.i32(0)];
        for &id in words {
            let word = self.scalar(id)?;
            if self.b.ty(word) != Ty::I32 {
                return Err(Error::invalid("number of another type than a word").with_id(id));
            }
            args.push(word);
        }
        let flags = MemFlags { readonly: false, volatile: false, align: 4 };
        let invocation = self.b.val(Op::Builtin(Builtin::LocalInvocationIndex), &[], Ty::I32);
        let first = self.b.cmp(Cmp::IEq, invocation, args[0]);
        self.b.push_region();
        self.b.emit(Op::Store(Space::Shared, flags), &args, &[]);
        let then = self.b.pop_region(Term::default());
        self.b.if_(first, then, Region::default());
        Ok(())
    }
}
