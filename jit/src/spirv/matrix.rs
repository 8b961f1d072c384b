//! Matrices: products, determinant, inverse. A matrix is its columns one after another.

use super::encoding::word_of;
use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::value::Flat;
use crate::error::{Error, Result};
use crate::ir::{Binary, Convert, Ty, Unary, Value};

impl Translator<'_> {
    // Products are sums from the left: ((a0*b0 + a1*b1) + a2*b2) + ...

    /// Returns rows, columns and component type of a matrix operand, whose value has rows × columns
    /// leaves.
    pub fn matrix_shape(&mut self, v: View<'_>, i: usize) -> Result<(usize, usize, Ty)> {
        let id = v.arg(i)?;
        self.s.matrix(self.type_of(id)?)
    }

    /// Returns the dot product of two lists of equal length.
    pub fn dot(&mut self, a: &[Value], b: &[Value]) -> Value {
        let mut sum = None;
        for (&x, &y) in a.iter().zip(b) {
            let p = self.b.bin(Binary::FMul, x, y);
            sum = Some(match sum {
                None => p,
                Some(s) => self.b.bin(Binary::FAdd, s, p),
            });
        }
        sum.unwrap_or_else(|| self.b.float(Ty::F32, 0.0))
    }

    pub fn matrix_op(&mut self, v: View<'_>) -> Result<Flat> {
        let (a, b) = (self.operand(v, 0)?, self.operand(v, 1)?);
        if let (op::OpDot, Some(small)) = (v.op, self.small_float_type(v.ty)?) {
            if a.len() != b.len() || a.iter().chain(&b).any(|&x| self.b.ty(x) != word_of(small)) {
                return Err(Error::invalid("operands of different size"));
            }
            return Ok(Flat::from_slice(&[self.dot_small(&a, &b, small)]));
        }
        let fit = |ok: bool| if ok { Ok(()) } else { Err(Error::invalid("operands of different size")) };
        let row = |m: &Flat, rows: usize, r: usize| m.iter().skip(r).step_by(rows).copied().collect::<Flat>();
        Ok(match v.op {
            op::OpVectorTimesScalar | op::OpMatrixTimesScalar => {
                fit(b.len() == 1)?;
                let multiply = if self.b.ty(b[0]).is_float() { Binary::FMul } else { Binary::IMul };
                a.iter().map(|&x| self.b.bin(multiply, x, b[0])).collect()
            }
            op::OpVectorTimesMatrix => {
                let (rows, _, _) = self.matrix_shape(v, 1)?;
                fit(a.len() == rows)?;
                b.chunks_exact(rows).map(|col| self.dot(&a, col)).collect()
            }
            op::OpMatrixTimesVector => {
                let (rows, cols, _) = self.matrix_shape(v, 0)?;
                fit(b.len() == cols)?;
                (0..rows).map(|r| self.dot(&row(&a, rows, r), &b)).collect()
            }
            op::OpMatrixTimesMatrix => {
                let (rows, inner, _) = self.matrix_shape(v, 0)?;
                let (rows_b, _, _) = self.matrix_shape(v, 1)?;
                fit(inner == rows_b)?;
                let mut out = Flat::new();
                for col in b.chunks_exact(inner) {
                    for r in 0..rows {
                        let v = self.dot(&row(&a, rows, r), col);
                        out.push(v);
                    }
                }
                out
            }
            op::OpOuterProduct => {
                let mut out = Flat::new();
                for &y in &b {
                    for &x in &a {
                        out.push(self.b.bin(Binary::FMul, x, y));
                    }
                }
                out
            }
            _ => {
                fit(a.len() == b.len())?;
                Flat::from_slice(&[self.dot(&a, &b)])
            }
        })
    }

    // Square matrices, by cofactors.

    fn square(&mut self, v: View<'_>) -> Result<(Flat, usize)> {
        let (rows, cols, _) = self.matrix_shape(v, 0)?;
        let m = self.operand_n(v, 0, rows * cols)?;
        if rows != cols { Err(Error::invalid("matrix is not square")) } else { Ok((m, rows)) }
    }

    /// Returns the determinant of the minor of the given rows and columns (column-major `m` of `n`
    /// rows).
    fn minor(&mut self, m: &[Value], n: usize, rows: &[usize], cols: &[usize]) -> Value {
        if let ([r], [c]) = (rows, cols) {
            return m[c * n + r];
        }
        let mut sum: Option<Value> = None;
        for (i, &c) in cols.iter().enumerate() {
            let rest: Vec<usize> = cols.iter().copied().filter(|&x| x != c).collect();
            let sub = self.minor(m, n, &rows[1..], &rest);
            let p = self.b.bin(Binary::FMul, m[c * n + rows[0]], sub);
            sum = Some(match sum {
                None => p,
                Some(s) => self.b.bin(if i % 2 == 0 { Binary::FAdd } else { Binary::FSub }, s, p),
            });
        }
        sum.unwrap_or(m[0])
    }

    pub fn determinant(&mut self, v: View<'_>) -> Result<Value> {
        let (m, n) = self.square(v)?;
        let ty = self.b.ty(m[0]);
        let m = self.widened(&m);
        let all: Vec<usize> = (0..n).collect();
        let determinant = self.minor(&m, n, &all, &all);
        Ok(self.b.cvt(Convert::FToF, determinant, ty))
    }

    pub fn inverse(&mut self, v: View<'_>) -> Result<Flat> {
        let (m, n) = self.square(v)?;
        let ty = self.b.ty(m[0]);
        let m = self.widened(&m);
        let without = |x: usize| (0..n).filter(|&i| i != x).collect::<Vec<_>>();
        // The cofactor of (row r, column c) goes to (row c, column r), so the column-major result
        // is ordered by r, then c.
        let mut adjugate = Flat::new();
        for r in 0..n {
            for c in 0..n {
                let minor = self.minor(&m, n, &without(r), &without(c));
                adjugate.push(if (r + c) % 2 == 0 { minor } else { self.b.un(Unary::FNeg, minor) });
            }
        }
        // The expansion along row 0 uses the cofactors that are already computed.
        let first_row: Flat = (0..n).map(|c| m[c * n]).collect();
        let det = self.dot(&first_row, &adjugate[..n]);
        let one = |&x: &Value| {
            let quotient = self.b.bin(Binary::FDiv, x, det);
            self.b.cvt(Convert::FToF, quotient, ty)
        };
        Ok(adjugate.iter().map(one).collect())
    }

    /// Widens halves to binary32, because their sums of products cancel and the rounding errors
    /// would dominate the result.
    fn widened(&mut self, m: &[Value]) -> Flat {
        let half = self.b.ty(m[0]) == Ty::F16;
        m.iter().map(|&x| if half { self.b.cvt(Convert::FToF, x, Ty::F32) } else { x }).collect()
    }
}
