//! Instructions on composites: their construction, parts, shuffles, and selections.

use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::value::{Flat, Val};
use crate::error::{Error, Result};
use crate::ir::{Cmp, Ty};

impl Translator<'_> {
    /// Translates an instruction on composites.
    pub fn composite_op(&mut self, v: View<'_>) -> Result<()> {
        match v.op {
            op::OpSelect => return self.select(v),
            op::OpCopyObject => match self.get(v.arg(0)?)? {
                val @ (Val::Ptr(_) | Val::Handle(_)) => return self.set(v.result, val),
                val @ (Val::Shared(_) | Val::Kept(_)) if self.type_of(v.arg(0)?)? == v.ty => {
                    return self.set(v.result, val);
                }
                _ => {}
            },
            op::OpCompositeInsert => {
                let whole = v.arg(1)?;
                if let Val::Shared(shared) = self.get(whole)?
                    && self.type_of(whole)? == v.ty
                {
                    let (part, at) = self.inserted(v)?;
                    let with = shared.with(at, &part).ok_or_else(outside)?;
                    return self.set(v.result, Val::Shared(with));
                }
            }
            _ => {}
        }
        let flat = match v.op {
            op::OpVectorExtractDynamic => {
                let (all, i) = (self.operand(v, 0)?, self.operand1(v, 1)?);
                Flat::from_slice(&[self.b.pick(&all, i)])
            }
            op::OpVectorInsertDynamic => {
                let (mut all, new, i) = (self.operand(v, 0)?, self.operand1(v, 1)?, self.operand1(v, 2)?);
                let i = self.b.int_as(i, Ty::I32);
                for (c, x) in (0..).zip(&mut all) {
                    let which = self.b.i32(c);
                    let hit = self.b.cmp(Cmp::IEq, i, which);
                    *x = self.b.select(hit, new, *x);
                }
                all
            }
            op::OpVectorShuffle => {
                let mut all = self.operand(v, 0)?;
                all.extend(self.operand(v, 1)?);
                let first = *all.first().ok_or_else(|| Error::invalid("shuffle of nothing"))?;
                let undef = self.b.konst(self.b.ty(first), 0);
                let pick = |&i: &u32| match i {
                    u32::MAX => Ok(undef),
                    i => all.get(i as usize).copied().ok_or_else(|| Error::invalid("component is out of range")),
                };
                v.args[2..].iter().map(pick).collect::<Result<Flat>>()?
            }
            op::OpCompositeConstruct if self.s.cooperative.contains_key(&v.ty) => {
                let x = self.operand1(v, 0)?;
                std::iter::repeat_n(x, self.s.flat_leaves(v.ty)?).collect()
            }
            op::OpCompositeConstruct => {
                let mut out = Flat::new();
                let most = self.s.flat_leaves(v.ty)?;
                for &id in v.args {
                    out.extend(self.flat(id)?);
                    if out.len() > most {
                        return Err(Error::invalid("too many constituents"));
                    }
                }
                out
            }
            op::OpCompositeConstructReplicateEXT => {
                let part = self.operand(v, 0)?;
                let (total, parts) = (self.s.flat_leaves(v.ty)?, self.s.part_count(v.ty)? as usize);
                if part.len() * parts != total {
                    return Err(Error::invalid("operand is not a constituent"));
                }
                Flat::from_vec(part.repeat(parts))
            }
            op::OpCompositeExtract => {
                if let Some(whole) = self.kept_value(v.arg(0)?) {
                    return self.extract_kept(v, whole, &v.args[1..]);
                }
                let (ty, at) = self.s.walk(self.type_of(v.arg(0)?)?, &v.args[1..])?;
                let n = self.s.flat_leaves(ty)?;
                self.spend(n)?;
                match self.get(v.arg(0)?)? {
                    Val::Shared(whole) => whole.part(at, n).ok_or_else(outside)?,
                    _ => Flat::from_slice(self.operand(v, 0)?.get(at..at + n).ok_or_else(outside)?),
                }
            }
            op::OpCompositeInsert => {
                let mut whole = self.operand(v, 1)?;
                let (part, at) = self.inserted(v)?;
                whole.get_mut(at..at + part.len()).ok_or_else(outside)?.copy_from_slice(&part);
                whole
            }
            op::OpTranspose => {
                let m = self.operand(v, 0)?;
                let (rows, cols, _) = self.matrix_shape(v, 0)?;
                (0..rows * cols).map(|i| m[(i % cols) * rows + i / cols]).collect()
            }
            op::OpCopyObject | op::OpCopyLogical | op::OpExpectKHR => self.operand(v, 0)?,
            _ => return Err(Error::unsupported("not implemented")),
        };
        self.result(v, flat)
    }

    /// Returns the object of an OpCompositeInsert, and the first leaf that it replaces.
    fn inserted(&mut self, v: View<'_>) -> Result<(Flat, usize)> {
        let part = self.operand(v, 0)?;
        let (ty, at) = self.s.walk(v.ty, &v.args[2..])?;
        if self.s.flat_leaves(ty)? != part.len() {
            return Err(Error::invalid("object does not have the part's type"));
        }
        Ok((part, at))
    }

    fn select(&mut self, v: View<'_>) -> Result<()> {
        let cond = self.operand(v, 0)?;
        let get = |t: &mut Self, id| match t.get(id)? {
            Val::Kept(p) => t.load_scalars(&p, false),
            val => t.normal(val),
        };
        let (mut a, mut b) = (get(self, v.arg(1)?)?, get(self, v.arg(2)?)?);
        if a.shape() != b.shape() {
            (a, b) = (self.variable(a, v.ty)?, self.variable(b, v.ty)?);
        }
        if a.shape() != b.shape() {
            return Err(match a {
                Val::Flat(_) | Val::Shared(_) => Error::invalid("operands of different size"),
                _ => Error::unsupported("selection between pointers of different origin"),
            });
        }
        let mut others = Vec::new();
        b.each(&mut |x| others.push(*x));
        if cond.len() != 1 && cond.len() != others.len() {
            return Err(Error::invalid("condition of another size"));
        }
        let mut i = 0;
        a.each(&mut |x| {
            *x = self.b.select(cond[if cond.len() == 1 { 0 } else { i }], *x, others[i]);
            i += 1;
        });
        self.result_val(v, a)
    }
}

fn outside() -> Error {
    Error::invalid("part outside the composite")
}
