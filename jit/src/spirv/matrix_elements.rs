//! Operations of SPV_NV_cooperative_matrix2 on the elements of cooperative matrices: functions of
//! each element, reductions, and conversions to another use.
//!
//! The use of a matrix does not affect how it is distributed (`cooperative`), so only a
//! transposition moves elements.
//!
//! Functions are called, as all functions are, by being inlined: once for a component, which is an
//! element in each lane. The module guarantees that a reduction's function is commutative and
//! associative. Elements are combined in ascending order of components, then across lanes with
//! doubling distance.

use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::types::{Cooperative, Type};
use super::value::{Flat, Val};
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, Op, Subgroup, Value};

/// Modes of cooperative matrix reductions.
const ROW: u32 = 1;
const COLUMN: u32 = 2;
const TWO_BY_TWO: u32 = 4;

impl Translator<'_> {
    pub fn matrix_elements_op(&mut self, v: View<'_>) -> Result<()> {
        let flat = match v.op {
            op::OpCooperativeMatrixPerElementOpNV => self.per_element(v)?,
            op::OpCooperativeMatrixReduceNV => self.reduce(v)?,
            op::OpCooperativeMatrixTransposeNV => self.transposed(v)?,
            // A conversion to another use.
            _ => {
                self.same_shape(self.matrix_of(v, 0)?, self.cooperative(v.ty)?)?;
                self.operand(v, 0)?
            }
        };
        self.result(v, flat)
    }

    fn matrix_of(&self, v: View<'_>, i: usize) -> Result<Cooperative> {
        self.cooperative(self.type_of(v.arg(i)?)?)
    }

    fn same_shape(&self, a: Cooperative, b: Cooperative) -> Result<()> {
        match (a.rows, a.columns) == (b.rows, b.columns) {
            true => Ok(()),
            false => Err(Error::invalid("cooperative matrices of shapes that do not fit")),
        }
    }

    /// Returns the result of a function for these arguments.
    fn call_on(&mut self, function: u32, args: &[Val]) -> Result<Value> {
        let callee = self.m.function(function).ok_or_else(|| Error::invalid("callee is not a function"))?;
        match self.inline(callee, args)? {
            Some(Val::Flat(flat)) if flat.len() == 1 => Ok(flat[0]),
            _ => Err(Error::invalid("function of an element that does not give back one")),
        }
    }

    /// Returns the row and the column of a component's elements.
    fn place_of_component(&mut self, m: Cooperative, component: u32) -> [Value; 2] {
        let lane = self.b.lane();
        if m.lanes > m.columns {
            let [row, column] = self.place_of_lane(m, lane);
            let before = self.b.i32(component * (m.lanes / m.columns));
            return [self.b.bin(Binary::IAdd, row, before), column];
        }
        let first = component * m.lanes;
        let (row, before) = (self.b.i32(first / m.columns), self.b.i32(first % m.columns));
        [row, self.b.bin(Binary::IAdd, lane, before)]
    }

    fn per_element(&mut self, v: View<'_>) -> Result<Flat> {
        let (m, function) = (self.matrix_of(v, 0)?, v.arg(1)?);
        let x = self.operand(v, 0)?;
        // The elements of the other matrices are passed together with those of this one.
        let mut more = Vec::new();
        for &id in v.args.get(2..).unwrap_or_default() {
            more.push(match self.s.cooperative.get(&self.type_of(id)?).copied() {
                None => (self.get(id)?, None),
                Some(other) => {
                    self.same_shape(m, other)?;
                    (self.get(id)?, Some(self.flat(id)?))
                }
            });
        }
        let mut out = Flat::new();
        for (i, &element) in (0..).zip(&x) {
            let mut args: Vec<Val> = self.place_of_component(m, i).map(Val::one).into();
            args.push(Val::one(element));
            args.extend(more.iter().map(|(val, elements)| match elements {
                None => val.clone(),
                Some(elements) => Val::one(elements[i as usize]),
            }));
            out.push(self.call_on(function, &args)?);
        }
        Ok(out)
    }

    // Reductions.

    fn combine(&mut self, function: u32, a: Value, b: Value) -> Result<Value> {
        self.call_on(function, &[Val::one(a), Val::one(b)])
    }

    /// Combines values one after the other.
    fn combine_all(&mut self, function: u32, values: impl IntoIterator<Item = Value>) -> Result<Value> {
        let mut all = None;
        for value in values {
            all = Some(match all {
                None => value,
                Some(before) => self.combine(function, before, value)?,
            });
        }
        all.ok_or_else(|| Error::invalid("reduction of nothing"))
    }

    /// Combines the values of the lanes whose numbers differ in these bits; all of them get the
    /// result.
    fn combine_lanes(&mut self, function: u32, mut x: Value, bits: std::ops::Range<u32>) -> Result<Value> {
        for bit in bits {
            let other = self.lane_across(x, 1 << bit);
            // The lower lane's value comes first in both lanes, so that they compute the same.
            let (lane, at) = (self.b.lane(), self.b.i32(1 << bit));
            let own = self.b.bin(Binary::And, lane, at);
            let zero = self.b.i32(0);
            let lower = self.b.cmp(Cmp::IEq, own, zero);
            let (a, b) = (self.b.select(lower, x, other), self.b.select(lower, other, x));
            x = self.combine(function, a, b)?;
        }
        Ok(x)
    }

    /// Returns the value of the lane whose number differs in one bit.
    fn lane_across(&mut self, x: Value, bit: u32) -> Value {
        let (lane, bit) = (self.b.lane(), self.b.i32(bit));
        let from = self.b.bin(Binary::Xor, lane, bit);
        self.b.val(Op::Subgroup(Subgroup::Shuffle), &[x, from], self.b.ty(x))
    }

    fn reduce(&mut self, v: View<'_>) -> Result<Flat> {
        let (m, to) = (self.matrix_of(v, 0)?, self.cooperative(v.ty)?);
        let (mode, function) = (v.arg(1)?, v.arg(2)?);
        self.b.shader.uses_subgroup = true;
        let x = self.operand(v, 0)?;
        let fits = match mode {
            ROW => to.rows == m.rows,
            COLUMN => to.columns == m.columns,
            TWO_BY_TWO => (to.rows * 2, to.columns * 2) == (m.rows, m.columns),
            _ => mode == ROW | COLUMN,
        };
        if !fits {
            return Err(Error::invalid("reduction to a matrix of this shape"));
        }
        if mode == TWO_BY_TWO {
            return self.reduce_squares(m, to, function, &x);
        }
        let mut all = x;
        if mode & ROW != 0 {
            all = self.reduce_rows(m, function, &all)?;
        }
        if mode & COLUMN != 0 {
            all = self.reduce_columns(m, function, &all)?;
        }
        self.spread(m, to, &all)
    }

    /// Combines every row's elements; all of them get the result.
    fn reduce_rows(&mut self, m: Cooperative, function: u32, x: &[Value]) -> Result<Flat> {
        let pieces = (m.columns / m.lanes).max(1) as usize;
        let mut out = Flat::new();
        for row in x.chunks(pieces) {
            let sum = self.combine_all(function, row.iter().copied())?;
            let sum = self.combine_lanes(function, sum, 0..m.columns.min(m.lanes).ilog2())?;
            out.extend(row.iter().map(|_| sum));
        }
        Ok(out)
    }

    /// Combines every column's elements; all of them get the result.
    fn reduce_columns(&mut self, m: Cooperative, function: u32, x: &[Value]) -> Result<Flat> {
        let pieces = (m.columns / m.lanes).max(1) as usize;
        let mut out = Flat::from_slice(x);
        for piece in 0..pieces {
            let sum = self.combine_all(function, x.iter().copied().skip(piece).step_by(pieces))?;
            let sum = self.combine_lanes(function, sum, m.columns.min(m.lanes).ilog2()..m.lanes.ilog2())?;
            out.iter_mut().skip(piece).step_by(pieces).for_each(|x| *x = sum);
        }
        Ok(out)
    }

    /// Spreads a matrix with equal elements over another number of rows or columns.
    fn spread(&mut self, m: Cooperative, to: Cooperative, x: &[Value]) -> Result<Flat> {
        if (m.rows, m.columns) == (to.rows, to.columns) {
            return Ok(Flat::from_slice(x));
        }
        (0..to.length())
            .map(|i| {
                let [row, column] = self.place_of_component(to, i);
                let [first, last] = [0, to.lanes - 1].map(|lane| {
                    let number = i * to.lanes + lane;
                    (number / to.columns % m.rows) * m.columns
                });
                let (rows, columns) = (to.rows == m.rows, to.columns == m.columns);
                let zero = self.b.i32(0);
                let row = if rows { row } else { zero };
                let column = if columns { column } else { zero };
                let number = self.b.mul(row, m.columns.into());
                let number = self.b.bin(Binary::IAdd, number, column);
                let [first, last] = if rows { [first, last] } else { [0, 0] };
                // The elements of a row: the first of its columns, or all.
                let last = if columns { last + m.columns - 1 } else { last };
                Ok(self.elements(m, x, number, [first, last]))
            })
            .collect()
    }

    /// Combines 2×2 elements into one.
    fn reduce_squares(&mut self, m: Cooperative, to: Cooperative, function: u32, x: &[Value]) -> Result<Flat> {
        let number_of = |number: u32| number / to.columns * 2 * m.columns + number % to.columns * 2;
        let mut out = Flat::new();
        for i in 0..to.length() {
            let [row, column] = self.place_of_component(to, i);
            let row = self.b.mul(row, (2 * m.columns).into());
            let column = self.b.mul(column, 2);
            let corner = self.b.bin(Binary::IAdd, row, column);
            let [first, last] = [i * to.lanes, (i + 1) * to.lanes - 1].map(number_of);
            let mut square = Flat::new();
            for next in [0, 1, m.columns, m.columns + 1] {
                let offset = self.b.i32(next);
                let number = self.b.bin(Binary::IAdd, corner, offset);
                square.push(self.elements(m, x, number, [first + next, last + next]));
            }
            out.push(self.combine_all(function, square)?);
        }
        Ok(out)
    }

    // Transpositions.

    fn transposed(&mut self, v: View<'_>) -> Result<Flat> {
        let (m, to) = (self.matrix_of(v, 0)?, self.cooperative(v.ty)?);
        if (m.rows, m.columns) != (to.columns, to.rows) {
            return Err(Error::invalid("cooperative matrices of shapes that do not fit"));
        }
        let x = self.operand(v, 0)?;
        let x = self.converted(&x, m.elem, to.elem)?;
        Ok(self.transpose(m, to, &x))
    }

    /// Converts numbers to another type.
    fn converted(&mut self, x: &[Value], from: u32, to: u32) -> Result<Flat> {
        if from == to {
            return Ok(Flat::from_slice(x));
        }
        let signed = |t: &Self, ty: u32| Ok(matches!(t.s.ty(ty)?, Type::Int { signed: true, .. }));
        let (small_from, small) = (self.small_float_type(from)?, self.small_float_type(to)?);
        let is_float = |t: &Self, ty: u32, small: bool| Ok(small || t.s.scalar(ty)?.is_float());
        let convert = match (is_float(self, from, small_from.is_some())?, is_float(self, to, small.is_some())?) {
            (true, true) => Convert::FToF,
            (true, false) if signed(self, to)? => Convert::FToS,
            (true, false) => Convert::FToU,
            (false, true) if signed(self, from)? => Convert::SToF,
            (false, true) => Convert::UToF,
            (false, false) if signed(self, from)? => Convert::SToS,
            (false, false) => Convert::UToU,
        };
        let ty = self.s.scalar(to)?;
        let one = |t: &mut Self, x: Value| match (small_from, small) {
            (None, None) => Ok(t.b.cvt(convert, x, ty)),
            _ => t.convert_small(convert, x, small_from, (ty, small), false),
        };
        x.iter().map(|&x| one(self, x)).collect()
    }

    /// Returns the elements of a matrix with rows and columns exchanged.
    pub fn transpose(&mut self, m: Cooperative, to: Cooperative, x: &[Value]) -> Flat {
        self.b.shader.uses_subgroup = true;
        if m.columns.is_multiple_of(m.lanes) && m.rows.is_multiple_of(m.lanes) {
            return self.transpose_tiles(m, to, x);
        }
        let mut out = Flat::new();
        for i in 0..to.length() {
            let [row, column] = self.place_of_component(to, i);
            let number = self.b.mul(column, m.columns.into());
            let number = self.b.bin(Binary::IAdd, number, row);
            // Numbers of all elements in those rows and columns.
            let numbers = (i * to.lanes..(i + 1) * to.lanes).map(|n| n % to.columns * m.columns + n / to.columns);
            let first = numbers.clone().min().unwrap_or(0);
            let last = numbers.max().unwrap_or(0);
            out.push(self.elements(m, x, number, [first, last]));
        }
        out
    }

    /// Transposes in squares of as many rows and columns as there are lanes: elements whose row and
    /// column differ in a bit change places, bit by bit.
    fn transpose_tiles(&mut self, m: Cooperative, to: Cooperative, x: &[Value]) -> Flat {
        let lanes = m.lanes;
        let mut out = Flat::from_slice(x);
        for (row, column) in (0..m.rows)
            .step_by(lanes as usize)
            .flat_map(|row| (0..m.columns).step_by(lanes as usize).map(move |column| (row, column)))
        {
            let mut tile: Vec<Value> = (0..lanes).map(|i| x[m.component(row + i, column)]).collect();
            for bit in (0..lanes.ilog2()).map(|n| 1 << n) {
                let (lane, at, zero) = (self.b.lane(), self.b.i32(bit), self.b.i32(0));
                let own = self.b.bin(Binary::And, lane, at);
                let lower = self.b.cmp(Cmp::IEq, own, zero);
                for i in (0..lanes).filter(|i| i & bit == 0) {
                    let (a, b) = (tile[i as usize], tile[(i | bit) as usize]);
                    let (a_across, b_across) = (self.lane_across(a, bit), self.lane_across(b, bit));
                    tile[i as usize] = self.b.select(lower, a, b_across);
                    tile[(i | bit) as usize] = self.b.select(lower, a_across, b);
                }
            }
            for (i, value) in (0..).zip(tile) {
                out[to.component(column + i, row)] = value;
            }
        }
        out
    }
}
