//! Chunks of a stage that takes primitives: loads from their vertices, and the vertices that lanes
//! make.
//!
//! Inputs are read where the previous stage has written them: a lane has a byte offset for each
//! vertex of its primitive, and a slot has an offset behind that.
//!
//! Vertices that lanes make lie in rows: the vertex of a lane with a given number lies in the row
//! of that number ([`PrimitiveBatch`]). If all lanes make a vertex together, which is the usual
//! case, a row is stored as a vector.

use super::Emitter;
use super::memory::{read_only, trusted};
use super::value_rep::ValueRep;
use crate::error::{Error, Result};
use crate::ir::{InstData, Scan, Ty};
use crate::lir::{AccessReason, Type, Value as C};
use base::abi::{BatchKind, InputSource, PrimitiveBatch, SlotLayout};
use base::shader::GeometryInfo;
use core::mem::offset_of;

/// Addresses of the data of a chunk of primitives.
#[derive(Clone, Copy)]
pub struct PrimitiveState {
    /// Address of the lanes' offsets of vertex 0.
    vertices: C,
    /// Address of the first row.
    rows: C,
    /// Number of the first row.
    first_row: C,
    /// Address of the lanes' vertex counts.
    counts: C,
}

/// The fields of an [`InputSource`], loaded.
#[derive(Clone, Copy)]
pub struct LoadedInputSource {
    pub offset: C,
    pub written: C,
    pub stride: C,
}

/// Constants of the stage that takes primitives.
#[derive(Clone, Copy)]
struct VertexLimits {
    /// Number of vertices of a primitive.
    input: u32,
    /// Upper bound of the vertices that an invocation makes.
    output: u32,
}

impl Emitter<'_> {
    fn vertex_limits(&self) -> Result<VertexLimits> {
        let info: Option<&GeometryInfo> = self.shader.stage_info.geometry();
        info.map(|info| VertexLimits { input: info.input.vertices(), output: info.max_vertices })
            .ok_or_else(|| Error::invalid("vertices in a stage that makes none"))
    }

    fn primitives(&self) -> Result<PrimitiveState> {
        self.primitives.ok_or_else(|| Error::invalid("vertices in a stage that makes none"))
    }

    /// Computes the addresses of the chunk's rows, which follow those of the chunk before it; no
    /// lane has made a vertex yet. Lanes behind the last invocation are handled as in a chunk of
    /// vertices.
    pub fn start_primitives(&mut self, ones: C) -> Result<()> {
        self.start_lanes(offset_of!(PrimitiveBatch, count), ones)?;
        let limits = self.vertex_limits()?;
        let vertices = self.chunk_words(offset_of!(PrimitiveBatch, vertices), limits.input);
        let counts = self.chunk_words(offset_of!(PrimitiveBatch, counts), 1);
        let none = self.word(0);
        self.b.store(trusted(AccessReason::Element, 0), none, counts);
        let first_row = self.b.load(
            Type::I32,
            trusted(AccessReason::Field, offset_of!(PrimitiveBatch, rows) as i32),
            self.function.batch(),
        );
        let list = self.batch_pointer(offset_of!(PrimitiveBatch, first_rows));
        let chunk = self.b.zext(Type::I64, self.function.chunk());
        let offset = self.b.shl_imm(chunk, 2);
        let place = self.b.iadd(list, offset);
        self.b.store(trusted(AccessReason::Element, 0), first_row, place);
        let outputs = self.batch_pointer(offset_of!(PrimitiveBatch, outputs));
        let row = self.b.zext(Type::I64, first_row);
        let offset = self.b.imul_imm(row, self.row_layout().chunk_bytes() as i64);
        let rows = self.b.iadd(outputs, offset);
        self.primitives = Some(PrimitiveState { vertices, rows, first_row, counts });
        Ok(())
    }

    /// Advances the first row, so that the next chunk's rows begin behind this one's.
    pub fn finish_primitives(&mut self) -> Result<()> {
        let (VertexLimits { output, .. }, PrimitiveState { first_row, counts, .. }) =
            (self.vertex_limits()?, self.primitives()?);
        let vector = self.vector_type(Ty::I32);
        let counts = self.b.load(vector, trusted(AccessReason::Element, 0), counts);
        let (most, none) = (self.word(output as i32), self.word(0));
        let counts = self.b.umin(counts, most);
        let rows = self.scan(Scan::Reduce, counts, none, |e, a, b| e.b.umax(a, b));
        let rows = self.b.extract(rows, 0);
        let rows = self.b.iadd(first_row, rows);
        self.b.store(
            trusted(AccessReason::Field, offset_of!(PrimitiveBatch, rows) as i32),
            rows,
            self.function.batch(),
        );
        Ok(())
    }

    /// Returns the layout of a row.
    fn row_layout(&self) -> SlotLayout {
        SlotLayout::new(self.shader.outputs.len(), self.lanes.count())
    }

    /// Emits `Op::LoadVertex`.
    pub fn load_vertex(&mut self, slot: u32, data: &InstData) -> Result<()> {
        match self.shader.stage().row().batch {
            BatchKind::Patches => return self.load_control_point(slot, data),
            BatchKind::Domain => return self.load_patch(slot, data),
            _ => {}
        }
        let offsets = self.vertex_offsets(data)?;
        let source = self.input_source(offset_of!(PrimitiveBatch, sources), slot);
        let inputs = self.batch_pointer(offset_of!(PrimitiveBatch, inputs));
        self.gather_input(inputs, offsets, source, data)
    }

    /// Loads the source of an input slot.
    pub fn input_source(&mut self, field: usize, slot: u32) -> LoadedInputSource {
        let sources = self.batch_pointer(field);
        let record = slot as usize * size_of::<InputSource>();
        let [offset, written, stride] =
            [offset_of!(InputSource, offset), offset_of!(InputSource, mask), offset_of!(InputSource, stride)].map(
                |field| self.b.load(Type::I32, read_only(AccessReason::Element, (record + field) as i32), sources),
            );
        LoadedInputSource { offset, written, stride }
    }

    /// Defines the result of an instruction: the lanes' words of a slot, at byte offsets behind it.
    pub fn gather_input(&mut self, inputs: C, offsets: C, source: LoadedInputSource, data: &InstData) -> Result<()> {
        let offset = self.b.zext(Type::I64, source.offset);
        let address = self.b.iadd(inputs, offset);
        let all = self.mask(true);
        // The memory of the batch does not change while the stage runs, so any lane may read it.
        let words = self.vector_type(Ty::I32);
        let c = self.b.gather(words, read_only(AccessReason::Element, 0), 1, all, address, offsets)[0];
        self.define_input(c, source.written, data)
    }

    /// Defines the result of an instruction: words, or 0 if the previous stage does not write the
    /// slot.
    pub fn define_input(&mut self, c: C, written: C, data: &InstData) -> Result<()> {
        let (words, ty) = (self.vector_type(Ty::I32), self.vector_type(self.shader.ty(data.result())));
        let written = self.b.splat(words, written);
        let c = self.b.and(c, written);
        let c = self.b.bitcast(ty, c);
        self.define(data.result(), ValueRep::Varying(c))
    }

    /// Returns the byte offsets of slot 0 of the vertices with a given number.
    fn vertex_offsets(&mut self, data: &InstData) -> Result<C> {
        let (VertexLimits { input, .. }, PrimitiveState { vertices, .. }) = (self.vertex_limits()?, self.primitives()?);
        let row_bytes = i64::from(4 * self.lanes.count());
        let words = self.vector_type(Ty::I32);
        if let ValueRep::Uniform(vertex) = self.value_rep(data.args[0])? {
            let last = self.b.iconst(Type::I32, i64::from(input - 1));
            let vertex = self.b.umin(vertex, last);
            let vertex = self.b.zext(Type::I64, vertex);
            let offset = self.b.imul_imm(vertex, row_bytes);
            let row = self.b.iadd(vertices, offset);
            return Ok(self.b.load(words, read_only(AccessReason::Element, 0), row));
        }
        let (vertex, last) = (self.vector(data.args[0])?, self.word(input as i32 - 1));
        let vertex = self.b.umin(vertex, last);
        let rows = self.b.imul_imm(vertex, row_bytes);
        let lanes = self.words(|lane| 4 * lane as i32);
        let offsets = self.b.iadd(rows, lanes);
        let all = self.mask(true);
        Ok(self.b.gather(words, read_only(AccessReason::Element, 0), 1, all, vertices, offsets)[0])
    }

    /// Emits `Op::StoreVertex`.
    pub fn store_vertex(&mut self, slot: u32, data: &InstData) -> Result<()> {
        let (VertexLimits { output, .. }, PrimitiveState { rows, .. }) = (self.vertex_limits()?, self.primitives()?);
        let layout = self.row_layout();
        let (row_bytes, at) = (layout.chunk_bytes() as i64, layout.slot_bytes(slot as usize));
        let c = self.vector(data.args[1])?;
        if let ValueRep::Uniform(number) = self.value_rep(data.args[0])? {
            // A row follows the last one that the chunk may have: the next chunk's, or an unused
            // one.
            let behind = self.b.iconst(Type::I32, i64::from(output));
            let number = self.b.umin(number, behind);
            let number = self.b.zext(Type::I64, number);
            let offset = self.b.imul_imm(number, row_bytes);
            let row = self.b.iadd(rows, offset);
            self.store_masked(c, &[at as i32], row);
            return Ok(());
        }
        let (number, behind) = (self.vector(data.args[0])?, self.word(output as i32));
        let number = self.b.umin(number, behind);
        let offsets = self.b.imul_imm(number, row_bytes);
        let lanes = self.words(|lane| (at + 4 * lane) as i32);
        let offsets = self.b.iadd(offsets, lanes);
        let mask = if self.lanes.is_full() { self.mask(true) } else { self.exec_mask() };
        self.b.scatter(trusted(AccessReason::Element, 0), mask, rows, offsets, self.function.sink(), &[c]);
        Ok(())
    }

    /// Emits `Op::StoreVertexCount`.
    pub fn store_vertex_count(&mut self, data: &InstData) -> Result<()> {
        let counts = self.primitives()?.counts;
        let c = self.vector(data.args[0])?;
        self.store_masked(c, &[0], counts);
        Ok(())
    }
}
