//! Cooperative vectors (SPV_NV_cooperative_vector): loads, stores, products of a matrix in memory
//! and a vector, and sums in memory (training).
//!
//! The type is a long vector, whose other instructions are those of vectors. The rows of a matrix
//! are multiplied by loops of generated code, a few rows and a block of columns per iteration: an
//! element is loaded once for all lanes if its address is equal in all of them, and multiplied by
//! the component of each lane.
//!
//! Both optimal layouts are row-major without space between rows. Floats accumulate in binary32, in
//! the order of the columns, beginning with the bias; each product and sum has one rounding
//! (`Op::Fma`), and the result is rounded once. Integers wrap.

use super::encoding::SmallFloat;
use super::layout::MemLeaf;
use super::memory::Index;
use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::types::Type;
use super::value::{DriverLayout, Flat, Memory, PointerTarget};
use crate::budget;
use crate::error::{Error, Result};
use crate::ir::{Binary, Convert, Op, Ty, Unary, Value, Var};
use base::abi::AtomicOp;

/// Number of rows whose sums one iteration of a loop computes.
const ROWS: u32 = 4;
/// Largest number of columns that one iteration multiplies.
const COLUMNS: u32 = 128;
/// Number of elements that one iteration of a loop adds to memory.
const SUMS: u32 = 8;
/// Bit of the cooperative matrix operands that makes sums saturate.
const SATURATING: u32 = 16;

/// Component type of an interpretation (`VkComponentTypeKHR`).
#[derive(Clone, Copy, PartialEq)]
struct Component {
    number: u64,
    /// Type in memory.
    ty: Ty,
    small: Option<SmallFloat>,
    signed: bool,
    /// Number of components in one of a vector.
    packed: u32,
}

impl Component {
    const fn new(number: u64, ty: Ty, signed: bool) -> Component {
        Component { number, ty, small: None, signed, packed: 1 }
    }

    fn is_float(self) -> bool {
        self.small.is_some() || self.ty.is_float()
    }

    fn bytes(self) -> u32 {
        self.ty.bytes()
    }

    /// Returns the component type if sums in memory can have it.
    fn summed(self) -> Result<Component> {
        match self.ty.is_float() {
            true => Ok(self),
            false => Err(Error::unsupported("sums in memory of this type")),
        }
    }
}

static COMPONENTS: &[Component] = &[
    Component::new(0, Ty::F16, true),
    Component::new(1, Ty::F32, true),
    Component::new(3, Ty::I8, true),
    Component::new(4, Ty::I16, true),
    Component::new(5, Ty::I32, true),
    Component::new(7, Ty::I8, false),
    Component::new(8, Ty::I16, false),
    Component::new(9, Ty::I32, false),
    Component { packed: 4, ..Component::new(1_000_491_000, Ty::I8, true) },
    Component { packed: 4, ..Component::new(1_000_491_001, Ty::I8, false) },
    Component { small: Some(SmallFloat::E4M3), ..Component::new(1_000_491_002, Ty::I8, true) },
    Component { small: Some(SmallFloat::E5M2), ..Component::new(1_000_491_003, Ty::I8, true) },
];

/// Distance between rows or columns in bytes.
#[derive(Clone, Copy)]
enum Stride {
    Bytes(u32),
    Dynamic(Value),
}

/// A matrix in memory.
struct MatrixInMemory {
    memory: Memory,
    component: Component,
    /// Bytes from one row or column to the next.
    stride: Stride,
    /// True if the elements of a column are adjacent.
    column_major: bool,
}

/// The components of a vector that is multiplied, as numbers of the sum's type.
enum Factors {
    Values(Flat),
    /// A private array, from which a loop reads blocks.
    Array(Var),
}

impl Translator<'_> {
    pub fn cooperative_vector_op(&mut self, v: View<'_>) -> Result<()> {
        match v.op {
            op::OpCooperativeVectorLoadNV => {
                let at = self.bytes_at(v, 0)?;
                let volatile = v.args.get(2).is_some_and(|mask| mask & 1 != 0);
                let flat = self.load_memory(&at, v.ty, volatile)?;
                self.result(v, flat)
            }
            op::OpCooperativeVectorStoreNV => {
                let at = self.bytes_at(v, 0)?;
                let volatile = v.args.get(3).is_some_and(|mask| mask & 1 != 0);
                let (ty, flat) = (self.type_of(v.arg(2)?)?, self.operand(v, 2)?);
                self.store_memory(&at, ty, flat, volatile)
            }
            op::OpCooperativeVectorOuterProductAccumulateNV => self.add_outer_product(v),
            op::OpCooperativeVectorReduceSumAccumulateNV => self.add_vector(v),
            _ => {
                let flat = self.multiply_vector(v)?;
                self.result(v, flat)
            }
        }
    }

    // Memory.

    /// Returns the location that a pointer to an array, operand `i`, and the offset in bytes behind
    /// it describe.
    fn bytes_at(&mut self, v: View<'_>, i: usize) -> Result<Memory> {
        let p = self.pointer(v.arg(i)?)?;
        let PointerTarget::Memory(m) = p.place else {
            return Err(Error::unsupported("cooperative vector in this storage class"));
        };
        if m.driver_layout == Some(DriverLayout::Words) {
            return Err(Error::unsupported("cooperative vector in this storage class"));
        }
        let mut at = Memory { matrix: None, comp_stride: None, stride: None, ..m };
        let offset = self.index(v.arg(i + 1)?)?;
        self.advance(&mut at, offset, 1)?;
        Ok(at)
    }

    /// Moves a location by `i` strides.
    fn step(&mut self, at: &mut Memory, i: Index, stride: Stride) -> Result<()> {
        let by = match (i, stride) {
            (_, Stride::Bytes(bytes)) => return self.advance(at, i, bytes),
            (Index::Const(0), _) => return Ok(()),
            (Index::Const(i), Stride::Dynamic(stride)) => self.b.mul(stride, i.into()),
            (Index::Dynamic(i), Stride::Dynamic(stride)) => self.b.bin(Binary::IMul, i, stride),
        };
        self.advance(at, Index::Dynamic(by), 1)
    }

    /// Returns the stride of operand `i`, or the one of an optimal layout.
    fn stride(&mut self, v: View<'_>, i: usize, optimal: Option<u32>) -> Result<Stride> {
        if let Some(bytes) = optimal {
            return Ok(Stride::Bytes(bytes));
        }
        let id = *v.args.get(i).ok_or_else(|| Error::invalid("matrix without a stride"))?;
        Ok(match self.index(id)? {
            Index::Const(bytes) => Stride::Bytes(bytes),
            Index::Dynamic(bytes) => {
                let bytes = self.b.int_as(bytes, Ty::I32);
                // The bound keeps products with the number of any row or column from wrapping.
                Stride::Dynamic(self.b.bound(bytes, (1 << 31) / base::limits::MAX_VECTOR_COMPONENTS))
            }
        })
    }

    // Interpretations.

    fn component(&self, id: u32) -> Result<Component> {
        let number = self.s.constant_bits(id)?;
        let row = COMPONENTS.iter().find(|row| row.number == number);
        row.copied().ok_or_else(|| Error::unsupported(format!("component type {number}")))
    }

    /// Returns the row of a type's components.
    fn component_of(&self, ty: u32) -> Result<Component> {
        let (elem, _) = self.s.vector(ty)?;
        let (scalar, small) = (self.s.scalar(elem)?, self.small_float_type(elem)?);
        let signed = scalar.is_float() || small.is_some() || matches!(self.s.ty(elem)?, Type::Int { signed: true, .. });
        let row =
            COMPONENTS.iter().find(|row| row.packed == 1 && (row.ty, row.small, row.signed) == (scalar, small, signed));
        row.copied().ok_or_else(|| Error::unsupported("component type of a cooperative vector"))
    }

    /// Converts a number in memory to the type of sums.
    fn wide_number(&mut self, x: Value, from: Component, wide: Ty) -> Value {
        match (from.small, wide) {
            (Some(small), _) => self.widen_small(x, small),
            (None, Ty::F32) => self.b.cvt(Convert::FToF, x, wide),
            (None, _) => self.b.cvt(if from.signed { Convert::SToS } else { Convert::UToU }, x, wide),
        }
    }

    /// Converts the components of a vector to an interpretation, in the type of sums: floats are
    /// rounded, integers are clamped to the range of the interpretation.
    fn interpreted(&mut self, x: &[Value], from: Component, to: Component, wide: Ty) -> Result<Flat> {
        if to.packed > 1 {
            return self.unpacked(x, from, to);
        }
        let mut out = Flat::new();
        for &x in x {
            out.push(match (from.is_float(), to.is_float()) {
                _ if from == to => self.wide_number(x, from, wide),
                (true, true) => {
                    let number = self.wide_number(x, from, Ty::F32);
                    self.rounded_to(number, to)
                }
                (false, true) => {
                    let convert = if from.signed { Convert::SToF } else { Convert::UToF };
                    let number = self.b.cvt(convert, x, Ty::F32);
                    self.rounded_to(number, to)
                }
                (true, false) => self.integer_of(x, from, to),
                (false, false) => self.clamped(x, from, to),
            });
        }
        Ok(out)
    }

    /// Returns the packed integers of words, lowest first.
    fn unpacked(&mut self, x: &[Value], from: Component, to: Component) -> Result<Flat> {
        if from.ty != Ty::I32 {
            return Err(Error::invalid("packed components in another type than words"));
        }
        let extract = if to.signed { Op::BitfieldSExtract } else { Op::BitfieldUExtract };
        let bits = self.b.i32(32 / to.packed);
        let mut out = Flat::new();
        for &word in x {
            for i in 0..to.packed {
                let at = self.b.i32(i * 32 / to.packed);
                out.push(self.b.val(extract.clone(), &[word, at, bits], Ty::I32));
            }
        }
        Ok(out)
    }

    /// Rounds a binary32 number to a float of an interpretation.
    fn rounded_to(&mut self, x: Value, to: Component) -> Value {
        match to.small {
            Some(small) => {
                let narrow = self.narrow_small(x, small, true);
                self.widen_small(narrow, small)
            }
            None => {
                let narrow = self.b.cvt(Convert::FToF, x, to.ty);
                self.b.cvt(Convert::FToF, narrow, Ty::F32)
            }
        }
    }

    /// Returns the least and the greatest integer of a component type.
    fn range(to: Component) -> [i64; 2] {
        let bits = to.bytes() * 8;
        if to.signed { [-(1 << (bits - 1)), (1 << (bits - 1)) - 1] } else { [0, (1 << bits) - 1] }
    }

    /// Rounds a float to the nearest integer, in the range of an interpretation.
    fn integer_of(&mut self, x: Value, from: Component, to: Component) -> Value {
        let [least, most] = Self::range(to).map(|limit| limit as f32);
        let (least, most) = (self.b.float(Ty::F32, least), self.b.float(Ty::F32, most));
        let number = self.wide_number(x, from, Ty::F32);
        let number = self.b.un(Unary::RoundEven, number);
        let number = self.b.bin(Binary::FMax, number, least);
        let number = self.b.bin(Binary::FMin, number, most);
        self.b.cvt(if to.signed { Convert::FToS } else { Convert::FToU }, number, Ty::I32)
    }

    /// Clamps an integer to the range of an interpretation.
    fn clamped(&mut self, x: Value, from: Component, to: Component) -> Value {
        let ([least, most], [from_least, from_most]) = (Self::range(to), Self::range(from));
        let mut x = self.wide_number(x, from, Ty::I32);
        if from_least < least {
            let least = self.b.i32(least as u32);
            x = self.b.bin(Binary::SMax, x, least);
        }
        if from_most > most {
            let most = self.b.i32(most as u32);
            x = self.b.bin(if from.signed { Binary::SMin } else { Binary::UMin }, x, most);
        }
        x
    }

    /// Converts a sum to the component type of a result.
    fn narrowed(&mut self, sum: Value, to: Component) -> Value {
        match to.small {
            Some(small) => self.narrow_small(sum, small, false),
            None if to.is_float() => self.b.cvt(Convert::FToF, sum, to.ty),
            None => sum,
        }
    }

    // Products.

    fn multiply_vector(&mut self, v: View<'_>) -> Result<Flat> {
        let biased = v.op == op::OpCooperativeVectorMatrixMulAddNV;
        let rest = if biased { 8 } else { 5 };
        let number = |i: usize| self.s.constant_bits(v.arg(i)?);
        let (rows, columns, layout, transposed) =
            (number(rest)?, number(rest + 1)?, number(rest + 2)?, number(rest + 3)? != 0);
        let most = base::limits::MAX_VECTOR_COMPONENTS.into();
        if rows == 0 || columns == 0 || rows > most || columns > most {
            return Err(Error::limit(format!("matrix of {rows}×{columns}")));
        }
        if v.args.get(rest + 5).is_some_and(|mask| mask & SATURATING != 0) {
            return Err(Error::unsupported("saturating product of a cooperative vector"));
        }
        let (rows, columns) = (rows as u32, columns as u32);
        let component = self.component(v.arg(4)?)?;
        let (to, input) = (self.component_of(v.ty)?, self.component(v.arg(1)?)?);
        let wide = if component.is_float() { Ty::F32 } else { Ty::I32 };
        let equal = [input, to].iter().all(|other| other.is_float() == component.is_float());
        if !equal || component.packed > 1 || (wide == Ty::I32 && to.ty != wide) {
            return Err(Error::unsupported("product of a cooperative vector of these types"));
        }
        let from = self.component_of(self.type_of(v.arg(0)?)?)?;
        let x = self.operand(v, 0)?;
        let mut x = self.interpreted(&x, from, input, wide)?;
        let fits = x.len() == columns as usize || (input.packed > 1 && x.len() > columns as usize);
        if !fits || self.s.flat_leaves(v.ty)? != rows as usize {
            return Err(Error::invalid("cooperative vectors of sizes that do not fit the matrix"));
        }
        x.truncate(columns as usize);
        let optimal = layout > 1;
        let row_bytes = component.bytes() * if transposed { rows } else { columns };
        let stride = self.stride(v, rest + 4, optimal.then_some(row_bytes))?;
        let memory = self.bytes_at(v, 2)?;
        let column_major = (layout == 1) != transposed;
        let matrix = MatrixInMemory { memory, component, stride, column_major };
        let bias = match biased {
            true => Some((self.bytes_at(v, 5)?, self.component(v.arg(7)?)?)),
            false => None,
        };
        if bias.is_some_and(|(_, bias)| bias.is_float() != component.is_float() || bias.packed > 1) {
            return Err(Error::unsupported("bias of this type"));
        }
        budget::ir(&self.b.shader)?;
        self.spend((rows + ROWS * columns.min(COLUMNS)) as usize)?;
        let sums = self.products(&matrix, bias.as_ref(), [rows, columns], x, wide)?;
        Ok(sums.iter().map(|&sum| self.narrowed(sum, to)).collect())
    }

    /// Returns the sums of all rows.
    fn products(
        &mut self,
        matrix: &MatrixInMemory,
        bias: Option<&(Memory, Component)>,
        [rows, columns]: [u32; 2],
        x: Flat,
        wide: Ty,
    ) -> Result<Flat> {
        let factors = match columns > COLUMNS {
            true => Factors::Array(self.array_of(&x, wide)),
            false => Factors::Values(x),
        };
        let together = rows - rows % ROWS;
        let mut sums = Flat::new();
        if together > ROWS {
            let out = self.b.var(wide, together, "");
            self.each_block([together, ROWS], &mut |t, first| {
                let Index::Dynamic(number) = first else { return Err(Error::invalid("row")) };
                let all = t.rows_from(matrix, bias, (first, ROWS), columns, &factors, wide)?;
                for (i, &sum) in (0..).zip(&all) {
                    let i = t.b.i32(i);
                    let at = t.b.add(number, i);
                    t.b.store_var(out, Some(at), sum);
                }
                Ok(())
            })?;
            for i in 0..together {
                let i = self.b.i32(i);
                sums.push(self.b.load_var(out, Some(i)));
            }
        }
        while (sums.len() as u32) < rows {
            let first = sums.len() as u32;
            let count = (rows - first).min(ROWS);
            sums.extend(self.rows_from(matrix, bias, (Index::Const(first), count), columns, &factors, wide)?);
        }
        Ok(sums)
    }

    /// Makes a private array of numbers.
    fn array_of(&mut self, x: &[Value], ty: Ty) -> Var {
        let array = self.b.var(ty, x.len() as u32, "");
        for (i, &x) in (0..).zip(x) {
            let i = self.b.i32(i);
            self.b.store_var(array, Some(i), x);
        }
        array
    }

    /// Returns the sums of `count` rows from a row on.
    fn rows_from(
        &mut self,
        matrix: &MatrixInMemory,
        bias: Option<&(Memory, Component)>,
        rows: (Index, u32),
        columns: u32,
        factors: &Factors,
        wide: Ty,
    ) -> Result<Flat> {
        let mut sums = self.initial_sums(bias, rows, wide)?;
        let array = match factors {
            Factors::Values(x) => {
                self.add_products(matrix, rows, Index::Const(0), x, &mut sums)?;
                return Ok(sums);
            }
            Factors::Array(array) => *array,
        };
        let kept = self.array_of(&sums, wide);
        let places: Vec<Value> = (0..rows.1).map(|i| self.b.i32(i)).collect();
        let block = |t: &mut Self, first: Index, count: u32| {
            let mut sums: Flat = places.iter().map(|&i| t.b.load_var(kept, Some(i))).collect();
            let start = match first {
                Index::Const(first) => t.b.i32(first),
                Index::Dynamic(first) => first,
            };
            let mut x = Flat::new();
            for i in 0..count {
                let i = t.b.i32(i);
                let at = t.b.add(start, i);
                x.push(t.b.load_var(array, Some(at)));
            }
            t.add_products(matrix, rows, first, &x, &mut sums)?;
            places.iter().zip(&sums).for_each(|(&i, &sum)| t.b.store_var(kept, Some(i), sum));
            Ok(())
        };
        let together = columns - columns % COLUMNS;
        self.each_block([together, COLUMNS], &mut |t, first| block(t, first, COLUMNS))?;
        if together < columns {
            block(self, Index::Const(together), columns - together)?;
        }
        Ok(places.iter().map(|&i| self.b.load_var(kept, Some(i))).collect())
    }

    fn initial_sums(&mut self, bias: Option<&(Memory, Component)>, rows: (Index, u32), wide: Ty) -> Result<Flat> {
        let Some(&(mut at, component)) = bias else {
            let zero = self.b.konst(wide, 0);
            return Ok((0..rows.1).map(|_| zero).collect());
        };
        self.advance(&mut at, rows.0, component.bytes())?;
        let leaves = adjacent(component, rows.1);
        let loaded = self.load_leaves(&at, &leaves, false)?;
        Ok(loaded.iter().map(|&x| self.wide_number(x, component, wide)).collect())
    }

    /// Adds the products of adjacent columns, from `first` on, to the sums of adjacent rows.
    fn add_products(
        &mut self,
        matrix: &MatrixInMemory,
        (row, rows): (Index, u32),
        first: Index,
        x: &[Value],
        sums: &mut [Value],
    ) -> Result<()> {
        let bytes = matrix.component.bytes();
        let (across, along) = match matrix.column_major {
            false => ((row, rows), (first, x.len() as u32)),
            true => ((first, x.len() as u32), (row, rows)),
        };
        let mut start = matrix.memory;
        self.step(&mut start, across.0, matrix.stride)?;
        self.advance(&mut start, along.0, bytes)?;
        let mut lines = Vec::new();
        for i in 0..across.1 {
            let mut at = start;
            self.step(&mut at, Index::Const(i), matrix.stride)?;
            let leaves = adjacent(matrix.component, along.1);
            lines.push(self.load_leaves(&at, &leaves, false)?);
        }
        for (column, &factor) in x.iter().enumerate() {
            for (row, sum) in sums.iter_mut().enumerate() {
                let element = if matrix.column_major { lines[column][row] } else { lines[row][column] };
                let element = self.wide_number(element, matrix.component, self.b.ty(factor));
                *sum = self.add_product(element, factor, *sum);
            }
        }
        Ok(())
    }

    // Sums in memory.

    /// Adds a number to the one at a location.
    fn add_at(&mut self, at: Memory, x: Value) -> Result<()> {
        let (op, mut args) = self.atomic_place(AtomicOp::FAdd, &PointerTarget::Memory(at))?;
        args.push(x);
        self.b.val(op, &args, self.b.ty(x));
        Ok(())
    }

    /// Calls `one` with the first number of each block of `step` below `end`, in a loop if there
    /// are several.
    fn each_block(&mut self, [end, step]: [u32; 2], one: &mut dyn FnMut(&mut Self, Index) -> Result<()>) -> Result<()> {
        // One iteration needs no loop.
        match end / step {
            0 => Ok(()),
            1 => one(self, Index::Const(0)),
            _ => {
                let counter = [end / step, 1];
                self.rounds(counter, &mut |t, i| {
                    let Index::Dynamic(i) = i else { return Err(Error::invalid("block")) };
                    let first = t.b.mul(i, step.into());
                    one(t, Index::Dynamic(first))
                })
            }
        }
    }

    fn add_vector(&mut self, v: View<'_>) -> Result<()> {
        let at = self.bytes_at(v, 0)?;
        let component = self.component_of(self.type_of(v.arg(2)?)?)?.summed()?;
        for (i, x) in (0..).zip(self.operand(v, 2)?) {
            let mut at = at;
            self.advance(&mut at, Index::Const(i), component.bytes())?;
            self.add_at(at, x)?;
        }
        Ok(())
    }

    /// Adds the product of each pair of components to the element of a matrix.
    fn add_outer_product(&mut self, v: View<'_>) -> Result<()> {
        let at = self.bytes_at(v, 0)?;
        let component = self.component(v.arg(5)?)?.summed()?;
        let layout = self.s.constant_bits(v.arg(4)?)?;
        let mut vectors = Vec::new();
        for i in [2, 3] {
            let from = self.component_of(self.type_of(v.arg(i)?)?)?.summed()?;
            let x = self.operand(v, i)?;
            vectors.push(self.interpreted(&x, from, from, Ty::F32)?);
        }
        let [mut rows, mut columns] = [0, 1].map(|i| vectors[i].len() as u32);
        let [mut a, mut b] = [0, 1].map(|i| self.array_of(&vectors[i], Ty::F32));
        let stride = self.stride(v, 6, (layout > 1).then_some(columns * component.bytes()))?;
        if layout == 1 {
            (rows, columns, a, b) = (columns, rows, b, a);
        }
        let mut line = |t: &mut Self, row: Index| {
            let Index::Dynamic(number) = row else { return Err(Error::invalid("row")) };
            let mut at = at;
            t.step(&mut at, row, stride)?;
            let x = t.b.load_var(a, Some(number));
            let mut one = |t: &mut Self, column: Index| {
                let column_number = match column {
                    Index::Const(column) => t.b.i32(column),
                    Index::Dynamic(column) => column,
                };
                let y = t.b.load_var(b, Some(column_number));
                let product = t.b.bin(Binary::FMul, x, y);
                let product = t.b.cvt(Convert::FToF, product, component.ty);
                let mut at = at;
                t.advance(&mut at, column, component.bytes())?;
                t.add_at(at, product)
            };
            let together = columns - columns % SUMS;
            if together > 0 {
                t.rounds([together, SUMS], &mut one)?;
            }
            (together..columns).try_for_each(|column| one(t, Index::Const(column)))
        };
        self.rounds([rows, 1], &mut line)
    }
}

/// Returns the places of adjacent elements.
fn adjacent(component: Component, count: u32) -> Vec<MemLeaf> {
    (0..count).map(|i| MemLeaf { offset: i * component.bytes(), ty: component.ty }).collect()
}
