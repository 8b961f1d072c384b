//! Vertices that a stage of primitives makes: OpEmitVertex, OpEndPrimitive, and their forms for
//! streams.
//!
//! An invocation counts its vertices in a private variable, which mostly becomes a constant at each
//! emission. A vertex consists of the values of the output variables: all of them are stored at
//! every emission, and those that are never written are removed at the end. The next vertex of a
//! stream marks where a strip ends ([`VertexMark`]), so an emission never looks back.

use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::value::EmittedVertices;
use crate::error::{Error, Result};
use crate::ir::{Binary, Op, Ty, Value, Var};
use base::limits::STREAMS;
use base::shader::{BuiltinSlot, Interpolation, Slot, SlotKind, SlotType, VertexMark};
use std::collections::HashSet;

impl Translator<'_> {
    /// Translates OpEmitVertex, OpEndPrimitive, OpEmitStreamVertex and OpEndStreamPrimitive.
    pub fn make_vertices(&mut self, v: View<'_>) -> Result<()> {
        let stream = match v.op {
            op::OpEmitStreamVertex | op::OpEndStreamPrimitive => self.s.constant_bits(v.arg(0)?)? as u32,
            _ => 0,
        };
        if self.b.shader.stage_info.geometry().is_none() {
            return Err(Error::invalid(format!("vertices made in a {:?} stage", self.stage)));
        }
        if stream >= STREAMS as u32 {
            return Err(Error::invalid("stream beyond the last"));
        }
        if self.emitted_vertices.is_none() {
            let [count, begins] = ["vertices", "begins"].map(|name| self.b.var(Ty::I32, 1, name));
            self.emitted_vertices = Some(EmittedVertices { count, begins, marked: false, sources: Vec::new() });
        }
        match v.op {
            op::OpEmitVertex | op::OpEmitStreamVertex => self.emit_vertex(stream),
            _ => self.end_primitive(stream),
        }
    }

    fn emitted_vertices(&mut self) -> Result<&mut EmittedVertices> {
        self.emitted_vertices.as_mut().ok_or_else(|| Error::internal("no vertices"))
    }

    /// Emits a vertex. Vertices beyond the shader's maximum are counted, but not made.
    fn emit_vertex(&mut self, stream: u32) -> Result<()> {
        let (count, begins) = (self.emitted_vertices()?.count, self.emitted_vertices()?.begins);
        let number = self.b.load_var(count, None);
        let mut slots = Vec::new();
        self.each_output(&mut |t, leaving| {
            let first = slots.len();
            let known = first < t.b.shader.outputs.len();
            let v = t.b.load_var(leaving.var, Some(leaving.index));
            t.output_words(leaving.slot, v, &mut |t, slot, word| {
                t.store_vertex(&mut slots, slot, Some(leaving.var), number, word);
            });
            if !known {
                t.captured(leaving, first);
            }
        })?;
        let bits = self.b.load_var(begins, None);
        let mark = self.mark(bits, stream);
        let kind = SlotKind::Builtin(BuiltinSlot::VertexMark);
        let slot = Slot { kind, ty: SlotType::Uint, interpolation: Interpolation::Smooth };
        self.store_vertex(&mut slots, slot, None, number, mark);
        let others = self.b.i32(!(VertexMark::BEGINS << stream));
        let bits = self.b.bin(Binary::And, bits, others);
        self.b.store_var(begins, None, bits);
        let next = self.b.i32(1);
        let next = self.b.bin(Binary::IAdd, number, next);
        self.b.store_var(count, None, next);
        let emitted_vertices = self.emitted_vertices()?;
        emitted_vertices.marked |= stream != 0;
        emitted_vertices.sources = slots;
        Ok(())
    }

    /// Returns the mark of the next vertex of a stream.
    fn mark(&mut self, begins: Value, stream: u32) -> Value {
        let by = self.b.i32(stream);
        let bits = self.b.bin(Binary::LShr, begins, by);
        let bit = self.b.i32(VertexMark::BEGINS);
        let bit = self.b.bin(Binary::And, bits, bit);
        self.b.bin(Binary::Or, bit, by)
    }

    /// Stores a word of a vertex. Every emission has the same slots, which the first one creates.
    fn store_vertex(&mut self, slots: &mut Vec<Option<Var>>, slot: Slot, var: Option<Var>, number: Value, word: Value) {
        if slots.len() == self.b.shader.outputs.len() {
            self.b.shader.outputs.push(slot);
        }
        self.b.emit(Op::StoreVertex(slots.len() as u32), &[number, word], &[]);
        slots.push(var);
    }

    fn end_primitive(&mut self, stream: u32) -> Result<()> {
        let emitted_vertices = self.emitted_vertices()?;
        emitted_vertices.marked = true;
        let begins = emitted_vertices.begins;
        let bits = self.b.load_var(begins, None);
        let bit = self.b.i32(VertexMark::BEGINS << stream);
        let bits = self.b.bin(Binary::Or, bits, bit);
        self.b.store_var(begins, None, bits);
        Ok(())
    }

    /// Stores the number of vertices at the end of the entry point.
    pub fn store_vertex_count(&mut self) -> Result<()> {
        let Some(emitted_vertices) = self.emitted_vertices.take() else { return Ok(()) };
        let count = self.b.load_var(emitted_vertices.count, None);
        self.b.emit(Op::StoreVertexCount, &[count], &[]);
        self.unwritten(&emitted_vertices);
        self.check_fault()
    }

    /// Selects the outputs to keep when the shader is complete: slots of variables that are never
    /// written are removed, and the mark if no strip ends early.
    fn unwritten(&mut self, emitted_vertices: &EmittedVertices) {
        let touched: &HashSet<Var> = &self.touched;
        let keep = emitted_vertices
            .sources
            .iter()
            .map(|source| source.map_or(emitted_vertices.marked, |var| touched.contains(&var)));
        self.kept_outputs = keep.collect();
    }
}
