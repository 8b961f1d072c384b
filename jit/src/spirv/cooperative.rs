//! Cooperative matrices (SPV_KHR_cooperative_matrix), spread over the lanes of a subgroup, which is
//! a chunk.
//!
//! A matrix is an array of rows × columns / lanes components in every invocation, so that it
//! supports every operation of composites. Elements are numbered row by row and distributed in that
//! order: lane `l` has in component `i` number `i * lanes + l`, for every use of the matrix. A
//! component of all lanes is a piece of a row, or several rows if these are shorter than the
//! subgroup. Multiply-add is then, in the order of k, an element of A in all lanes of a row times a
//! row of B.
//!
//! Floats accumulate in binary32, beginning with C. Each product and sum has one rounding
//! (`Op::Fma`; a product of halves is exact anyway). A result of halves, bfloat16 or floats of 8
//! bits is rounded once, at the end. Integers wrap, or saturate in the sum with C.

use super::layout::memory_scalar;
use super::memory::Index;
use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::types::{Cooperative, UNTYPED};
use super::value::{Flat, Memory, PointerTarget};
use crate::error::{Error, Result};
use crate::ir::{Binary, Builtin, Cmp, Convert, MemFlags, Op, Subgroup, Ty, Value};

/// Cooperative matrix operands: A, B and the result are signed; the sum saturates.
const A_SIGNED: u32 = 1;
const B_SIGNED: u32 = 2;
const RESULT_SIGNED: u32 = 8;
const SATURATING: u32 = 16;

/// Location of a matrix in memory.
struct MatrixLayout {
    memory: Memory,
    /// Bytes from one row to the next, or from one column to the next if it is column-major.
    stride: Value,
    column_major: bool,
    volatile: bool,
}

impl Translator<'_> {
    pub fn cooperative(&self, ty: u32) -> Result<Cooperative> {
        let matrix = self.s.cooperative.get(&ty).copied();
        matrix.ok_or_else(|| Error::invalid("not a cooperative matrix").with_id(ty))
    }

    pub fn cooperative_op(&mut self, v: View<'_>) -> Result<()> {
        match v.op {
            op::OpCooperativeMatrixLoadKHR => self.load_matrix(v),
            op::OpCooperativeMatrixStoreKHR => self.store_matrix(v),
            op::OpCooperativeMatrixMulAddKHR => {
                let flat = self.multiply_add(v)?;
                self.result(v, flat)
            }
            _ => {
                let length = self.cooperative(v.arg(0)?)?.length();
                let length = self.b.i32(length);
                self.result(v, Flat::from_slice(&[length]))
            }
        }
    }

    // Loads and stores.

    /// Returns the location that the operands pointer, layout, stride and mask describe.
    fn matrix_layout(&mut self, m: Cooperative, pointer: u32, rest: &[u32]) -> Result<MatrixLayout> {
        let p = self.pointer(pointer)?;
        let &[layout, stride, ..] = rest else { return Err(Error::unsupported("cooperative matrix without a stride")) };
        let column_major = match self.s.constant_bits(layout)? {
            0 => false,
            1 => true,
            _ => return Err(Error::unsupported("layout of a cooperative matrix")),
        };
        // The stride of an untyped pointer is in bytes.
        let bytes = if p.ty == UNTYPED || self.is_untyped(pointer)? {
            1
        } else {
            let (elem, n) = self.s.vector(p.ty)?;
            memory_scalar(self.s, elem, None)?.bytes() * n
        };
        let PointerTarget::Memory(memory) = p.place else {
            return Err(Error::unsupported("cooperative matrix in this storage class"));
        };
        let stride = self.scalar(stride)?;
        let stride = if memory.space == crate::ir::Space::Global {
            self.b.int_as(stride, Ty::I64)
        } else {
            // The bound keeps the largest stride from wrapping when it is multiplied by the number
            // of steps between components.
            let steps = m.lanes.min(m.columns).max(m.lanes / m.columns).next_power_of_two().max(8);
            let stride = self.b.int_as(stride, Ty::I32);
            self.b.bound(stride, (1 << (32 - steps.ilog2())) / bytes)
        };
        let stride = self.b.mul(stride, bytes.into());
        let volatile = rest.get(2).is_some_and(|mask| mask & 1 != 0);
        let memory = Memory { matrix: None, comp_stride: None, ..memory };
        Ok(MatrixLayout { memory, stride, column_major, volatile })
    }

    /// Returns the location of every component, in the order of components.
    fn matrix_places(&mut self, m: Cooperative, layout: &MatrixLayout) -> Result<Vec<Memory>> {
        let size = self.s.scalar(m.elem)?.bytes();
        let lane = self.b.val(Op::Builtin(Builtin::SubgroupInvocation), &[], Ty::I32);
        self.b.shader.uses_subgroup = true;
        if m.lanes > m.columns {
            return self.places_of_rows(m, layout, lane, size);
        }
        let mut places = vec![layout.memory; m.length() as usize];
        if layout.column_major {
            // A lane has a column; the next piece is as many strides further as there are lanes.
            let own = self.b.int_as(lane, self.b.ty(layout.stride));
            let own = self.b.bin(Binary::IMul, own, layout.stride);
            let next = self.b.mul(layout.stride, m.lanes.into());
            let mut first = layout.memory;
            for column in (0..m.columns).step_by(m.lanes as usize) {
                let mut at = first;
                self.advance(&mut at, Index::Dynamic(own), 1)?;
                for row in 0..m.rows {
                    let mut at = at;
                    self.advance(&mut at, Index::Const(row), size)?;
                    places[m.component(row, column)] = at;
                }
                self.advance(&mut first, Index::Dynamic(next), 1)?;
            }
            return Ok(places);
        }
        let mut first = layout.memory;
        for row in 0..m.rows {
            let mut at = first;
            self.advance(&mut at, Index::Dynamic(lane), size)?;
            for column in (0..m.columns).step_by(m.lanes as usize) {
                let mut at = at;
                self.advance(&mut at, Index::Const(column), size)?;
                places[m.component(row, column)] = at;
            }
            self.advance(&mut first, Index::Dynamic(layout.stride), 1)?;
        }
        Ok(places)
    }

    /// Returns the row of the lane's element within a component, and its column, if components have
    /// several rows.
    pub fn place_of_lane(&mut self, m: Cooperative, lane: Value) -> [Value; 2] {
        let (shift, mask) = (self.b.i32(m.columns.ilog2()), self.b.i32(m.columns - 1));
        [self.b.bin(Binary::LShr, lane, shift), self.b.bin(Binary::And, lane, mask)]
    }

    /// Returns the location of every component, if each of them has several rows.
    fn places_of_rows(&mut self, m: Cooperative, layout: &MatrixLayout, lane: Value, size: u32) -> Result<Vec<Memory>> {
        let [row, column] = self.place_of_lane(m, lane);
        let (far, near) = if layout.column_major { (column, row) } else { (row, column) };
        let far = self.b.int_as(far, self.b.ty(layout.stride));
        let far = self.b.bin(Binary::IMul, far, layout.stride);
        let mut at = layout.memory;
        self.advance(&mut at, Index::Dynamic(far), 1)?;
        self.advance(&mut at, Index::Dynamic(near), size)?;
        let rows = m.lanes / m.columns;
        let next = self.b.mul(layout.stride, rows.into());
        let mut places = Vec::new();
        for _ in 0..m.length() {
            places.push(at);
            match layout.column_major {
                true => self.advance(&mut at, Index::Const(rows), size)?,
                false => self.advance(&mut at, Index::Dynamic(next), 1)?,
            }
        }
        Ok(places)
    }

    fn load_matrix(&mut self, v: View<'_>) -> Result<()> {
        let m = self.cooperative(v.ty)?;
        let layout = self.matrix_layout(m, v.arg(0)?, &v.args[1..])?;
        let ty = self.s.scalar(m.elem)?;
        let buffer = self.access_buffer(&layout.memory)?;
        let mut out = Flat::new();
        for at in self.matrix_places(m, &layout)? {
            let args = self.address_args(&at, buffer, 0);
            let volatile = layout.volatile || at.volatile;
            let flags = MemFlags { readonly: at.readonly, volatile, align: ty.bytes() as u8 };
            out.push(self.b.val(Op::Load(at.space, flags), &args, ty));
        }
        self.result(v, out)
    }

    fn store_matrix(&mut self, v: View<'_>) -> Result<()> {
        let m = self.cooperative(self.type_of(v.arg(1)?)?)?;
        let layout = self.matrix_layout(m, v.arg(0)?, &v.args[2..])?;
        if layout.memory.readonly || layout.memory.space == crate::ir::Space::Push {
            return Err(Error::invalid("store to read-only memory"));
        }
        let ty = self.s.scalar(m.elem)?;
        let values = self.operand(v, 1)?;
        let buffer = self.access_buffer(&layout.memory)?;
        for (at, value) in self.matrix_places(m, &layout)?.into_iter().zip(values) {
            let mut args = self.address_args(&at, buffer, 0);
            args.push(value);
            let volatile = layout.volatile || at.volatile;
            self.b.emit(
                Op::Store(at.space, MemFlags { readonly: false, volatile, align: ty.bytes() as u8 }),
                &args,
                &[],
            );
        }
        self.b.shader.side_effects |= layout.memory.space != crate::ir::Space::Shared;
        Ok(())
    }

    // Arithmetic.

    /// Broadcasts the component of a lane to all lanes.
    fn in_all_lanes(&mut self, x: Value, lane: u32) -> Value {
        let lane = self.b.i32(lane);
        self.b.val(Op::Subgroup(Subgroup::Shuffle), &[x, lane], self.b.ty(x))
    }

    fn multiply_add(&mut self, v: View<'_>) -> Result<Flat> {
        let mut types = [v.ty; 4];
        for (i, ty) in types.iter_mut().take(3).enumerate() {
            *ty = self.type_of(v.arg(i)?)?;
        }
        let [a, b, c, result] = types.map(|ty| self.cooperative(ty));
        let (a, b, c, result) = (a?, b?, c?, result?);
        let shapes = a.columns == b.rows
            && (a.rows, b.columns) == (c.rows, c.columns)
            && (c.rows, c.columns) == (result.rows, result.columns);
        if !shapes {
            return Err(Error::invalid("cooperative matrices of shapes that do not fit"));
        }
        self.spend((a.columns * c.length()) as usize)?;
        let operands = v.args.get(3).copied().unwrap_or(0);
        let (to, small) = (self.s.scalar(result.elem)?, self.small_float_type(result.elem)?);
        let mut floats = [false; 4];
        for (float, m) in floats.iter_mut().zip([result, a, b, c]) {
            *float = self.s.scalar(m.elem)?.is_float() || self.small_float_type(m.elem)?.is_some();
        }
        let is_float = floats[0];
        let wide = if is_float { Ty::F32 } else { to };
        if floats != [is_float; 4] || to == Ty::F64 {
            return Err(Error::unsupported("multiply-add of matrices of these types"));
        }
        let x = self.widened_matrix(v, 0, wide, operands & A_SIGNED != 0)?;
        let y = self.widened_matrix(v, 1, wide, operands & B_SIGNED != 0)?;
        let z = self.widened_matrix(v, 2, wide, true)?;
        let saturating = !is_float && operands & SATURATING != 0;
        let zero = self.b.konst(wide, 0);
        let mut sums = if saturating { z.iter().map(|_| zero).collect() } else { z.clone() };
        if c.lanes > c.columns {
            self.multiply_rows([a, b, c], &x, &y, &mut sums);
        } else {
            for row in 0..a.rows {
                for k in 0..a.columns {
                    let factor = self.in_all_lanes(x[a.component(row, k)], a.lane(row, k));
                    for column in (0..b.columns).step_by(b.lanes as usize) {
                        let sum = &mut sums[c.component(row, column)];
                        *sum = self.add_product(factor, y[b.component(k, column)], *sum);
                    }
                }
            }
        }
        if saturating {
            let signed = operands & RESULT_SIGNED != 0;
            return Ok(sums.iter().zip(&z).map(|(&a, &b)| self.saturated_sum(a, b, signed)).collect());
        }
        let narrow = |e: &mut Self, x: Value| match small {
            Some(_) => e.convert_small(Convert::FToF, x, None, (to, small), false),
            None if is_float => Ok(e.b.cvt(Convert::FToF, x, to)),
            None => Ok(x),
        };
        sums.iter().map(|&x| narrow(self, x)).collect()
    }

    /// Adds the product of two numbers to a sum: floats with one rounding, integers wrap.
    pub fn add_product(&mut self, a: Value, b: Value, sum: Value) -> Value {
        if self.b.ty(sum).is_float() {
            return self.b.fma(a, b, sum);
        }
        let product = self.b.bin(Binary::IMul, a, b);
        self.b.bin(Binary::IAdd, sum, product)
    }

    /// Adds the products if components have several rows: each lane takes its row's element of A
    /// and its column's element of B.
    fn multiply_rows(&mut self, [a, b, c]: [Cooperative; 3], x: &[Value], y: &[Value], sums: &mut [Value]) {
        let lane = self.b.lane();
        let [row, column] = self.place_of_lane(c, lane);
        let before = self.b.mul(row, a.columns.into());
        let rows = c.lanes / c.columns;
        for k in 0..a.columns {
            let start = self.b.i32(k * b.columns);
            let number = self.b.bin(Binary::IAdd, column, start);
            let other = self.elements(b, y, number, [k * b.columns, (k + 1) * b.columns - 1]);
            for (i, sum) in (0..).zip(sums.iter_mut()) {
                let (first, last) = (i * rows * a.columns + k, (i * rows + rows - 1) * a.columns + k);
                let start = self.b.i32(first);
                let number = self.b.bin(Binary::IAdd, before, start);
                let factor = self.elements(a, x, number, [first, last]);
                *sum = self.add_product(factor, other, *sum);
            }
        }
    }

    /// Returns the elements of a matrix with the given numbers, which are between `first` and
    /// `last`.
    pub fn elements(&mut self, m: Cooperative, x: &[Value], number: Value, [first, last]: [u32; 2]) -> Value {
        let ty = self.b.ty(x[0]);
        let mut found = None;
        for component in (first / m.lanes..=last / m.lanes).rev() {
            // The shuffle takes the number modulo the number of lanes, which is the lane that has
            // the element.
            let here = self.b.val(Op::Subgroup(Subgroup::Shuffle), &[x[component as usize], number], ty);
            found = Some(match found {
                None => here,
                Some(later) => {
                    let end = self.b.i32((component + 1) * m.lanes);
                    let inside = self.b.cmp(Cmp::ULt, number, end);
                    self.b.select(inside, here, later)
                }
            });
        }
        found.unwrap_or(x[0])
    }

    /// Returns the components of an operand, converted to the type of the computation.
    fn widened_matrix(&mut self, v: View<'_>, i: usize, to: Ty, signed: bool) -> Result<Flat> {
        let convert = match (to.is_float(), signed) {
            (true, _) => Convert::FToF,
            (false, true) => Convert::SToS,
            (false, false) => Convert::UToU,
        };
        let (small, values) = (self.small_float(v.arg(i)?)?, self.operand(v, i)?);
        let widen = |e: &mut Self, x: Value| match small {
            Some(_) => e.convert_small(convert, x, small, (to, None), false),
            None => Ok(e.b.cvt(convert, x, to)),
        };
        values.iter().map(|&x| widen(self, x)).collect()
    }

    fn saturated_sum(&mut self, a: Value, b: Value, signed: bool) -> Value {
        let ty = self.b.ty(a);
        let sum = self.b.bin(Binary::IAdd, a, b);
        if !signed {
            let over = self.b.cmp(crate::ir::Cmp::ULt, sum, a);
            let max_value = self.b.konst(ty, super::types::mask(ty.bytes() * 8));
            return self.b.select(over, max_value, sum);
        }
        // The sum overflowed if both operands have the sign that the sum has not; the sign of `a`
        // then gives the direction.
        let (x, y) = (self.b.bin(Binary::Xor, sum, a), self.b.bin(Binary::Xor, sum, b));
        let beyond = self.b.bin(Binary::And, x, y);
        let zero = self.b.konst(ty, 0);
        let beyond = self.b.cmp(crate::ir::Cmp::SLt, beyond, zero);
        let sign = self.b.konst(ty, (ty.bytes() * 8 - 1).into());
        let limit = self.b.bin(Binary::AShr, a, sign);
        let max_value = self.b.konst(ty, super::types::mask(ty.bytes() * 8 - 1));
        let limit = self.b.bin(Binary::Xor, limit, max_value);
        self.b.select(beyond, limit, sum)
    }
}
