//! The loops over rectangles, their rows and chunks, for a fragment stage that writes its colours
//! itself (`rectangle`).

use super::Emitter;
use super::memory::read_only;
use super::rectangle::ChunkPosition;
use super::ssa_variable::SsaVariable;
use crate::error::Result;
use crate::ir::Ty;
use crate::lir::{AccessReason, Block, IntCond, Type, Value as C};
use base::abi::{FragmentPrimitive, Rectangle, RectangleBatch};
use core::mem::offset_of;

impl Emitter<'_> {
    /// Emits loops over all rectangles, rows and chunks, with the body and the epilogue inside, and
    /// then a jump to `done`.
    pub fn rectangles(&mut self, done: Block) -> Result<()> {
        let field = |e: &mut Self, ty, offset: usize| {
            e.b.load(ty, read_only(AccessReason::Field, offset as i32), e.function.batch())
        };
        let count = field(self, Type::I32, offset_of!(RectangleBatch, count));
        let end = field(self, Type::I32, offset_of!(RectangleBatch, end));
        let list = field(self, Type::I64, offset_of!(RectangleBatch, rectangles));
        let target = field(self, Type::I64, offset_of!(RectangleBatch, target));
        let pitch = field(self, Type::I64, offset_of!(RectangleBatch, pitch));
        let zero = self.b.iconst(Type::I32, 0);
        let last = self.b.iadd_imm(end, -i64::from(self.lanes.count()));
        self.function.set_chunk(zero);
        self.count_up([zero, count], 1, done, |e, number| {
            let number = e.b.zext(Type::I64, number);
            let offset = e.b.imul_imm(number, size_of::<Rectangle>() as i64);
            let at = e.b.iadd(list, offset);
            let half = |e: &mut Self, offset: usize| {
                e.b.load_u16(Type::I32, read_only(AccessReason::Element, offset as i32), at)
            };
            let x = [half(e, offset_of!(Rectangle, x0)), half(e, offset_of!(Rectangle, x1))];
            // First column of the last whole chunk.
            let whole = e.b.iadd_imm(x[1], -i64::from(e.lanes.count()));
            let whole = e.b.smin(whole, last);
            let y = [half(e, offset_of!(Rectangle, y0)), half(e, offset_of!(Rectangle, y1))];
            let primitive =
                e.b.load(Type::I64, read_only(AccessReason::Element, offset_of!(Rectangle, primitive) as i32), at);
            let field = |e: &mut Self, ty, offset: usize| {
                e.b.load(ty, read_only(AccessReason::Field, offset as i32), primitive)
            };
            let attributes = field(e, Type::I64, offset_of!(FragmentPrimitive, attributes));
            let [left, top] = [0, 4].map(|axis| field(e, Type::I32, offset_of!(FragmentPrimitive, origin) + axis));
            e.start_primitive(primitive, attributes);
            let rows_done = e.b.create_block();
            e.count_up(y, 1, rows_done, |e, y| {
                let (line, below) = (e.b.zext(Type::I64, y), e.b.isub(y, top));
                let offset = e.b.imul(line, pitch);
                let row = e.b.iadd(target, offset);
                let y = [y, below].map(|y| e.pixel_center(y));
                e.start_row(primitive, y[1]);
                let chunk_position =
                    ChunkPosition { primitive, attributes, y, origin: left, row, columns: [zero; 3], partial: zero };
                let chunks_done = e.b.create_block();
                let lanes = i64::from(e.lanes.count());
                e.count_up(x, lanes, chunks_done, |e, first| {
                    let begin = e.b.smin(first, last);
                    let partial = e.b.icmp(IntCond::Sgt, first, whole);
                    e.rectangle_chunk(ChunkPosition { columns: [first, x[1], begin], partial, ..chunk_position })
                })?;
                e.enter(chunks_done);
                Ok(())
            })?;
            e.enter(rows_done);
            Ok(())
        })
    }

    /// Emits a loop from the first number to before the second, by a step, and then a jump to
    /// `done`.
    pub fn count_up(
        &mut self,
        [first, end]: [C; 2],
        step: i64,
        done: Block,
        each: impl FnOnce(&mut Self, C) -> Result<()>,
    ) -> Result<()> {
        let (header, body) = (self.b.create_block(), self.b.create_block());
        let number = self.b.append_param(header, Type::I32);
        self.b.jump(header, &[first]);
        self.b.enter_loop(header);
        let more = self.b.icmp(IntCond::Ult, number, end);
        self.b.branch(more, body, &[], done, &[]);
        self.enter(body);
        each(self, number)?;
        let next = self.b.iadd_imm(number, step);
        self.b.jump(header, &[next]);
        self.b.seal_block(header);
        Ok(())
    }

    pub fn rectangle_chunk(&mut self, chunk_position: ChunkPosition) -> Result<()> {
        let slots = self.rectangles.as_ref().map(|r| r.epilogue.slots).unwrap_or_default();
        let mut outputs: Vec<Option<SsaVariable>> = self.shader.outputs.iter().map(|_| None).collect();
        for slot in slots.into_iter().flatten() {
            let cells = self.new_vector_variable(Ty::F32);
            self.zero_variable(&cells);
            outputs[usize::from(slot)] = Some(cells);
        }
        if let Some(rectangles) = &mut self.rectangles {
            (rectangles.outputs, rectangles.chunk_position) = (outputs, Some(chunk_position));
        }
        let latch = self.b.create_block();
        self.function.set_latch(latch);
        self.body()?;
        self.write_colors(&chunk_position);
        self.b.jump(latch, &[]);
        self.enter(latch);
        Ok(())
    }
}
