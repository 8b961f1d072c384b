//! Private variables that are held in scalars, and inputs that are read like them: how a type is
//! split into variables of the shader.

use super::translator::Translator;
use super::types::Type;
use super::value::{IoLeaf, Local, LocalTarget, Pointer, PointerTarget};
use crate::error::{Error, Result};
use crate::ir::{Op, RAY_QUERY_PADDING, RAY_QUERY_WORDS, RayQueryOp, Ty, Value, Var};
use base::shader::HitObjectField;

/// Array length above which an array is kept even if every index is constant.
const SPLIT_LIMIT: u32 = 64;

/// Largest number of scalars of one invocation's private variable. Words of them fill the scratch
/// memory of eight lanes (`emit::MAX_SCRATCH`, which counts all variables of a stage).
pub(super) const MAX_PRIVATE: u64 = 1 << 21;

/// Number of variables of a ray query: its words, and whether it is initialized.
const QUERY_VARS: u64 = 2;

/// A ray query of a variable.
#[derive(Clone, Copy)]
pub(super) struct RayQuery {
    pub words: Var,
    pub initialized: Var,
    pub index: Value,
}

impl Translator<'_> {
    /// Returns true if an array or matrix level of a variable is kept as an array.
    pub fn kept(&self, root: u32, ty: u32, len: u32) -> bool {
        len > SPLIT_LIMIT
            || self.a.dynamic.contains(&(root, ty))
            || self.a.dynamic.contains(&(0, ty))
            || self.arrayed.contains(&(root, ty))
    }

    /// Returns the number of leaves of a part of a local, where a kept level counts once.
    pub fn var_count(&self, root: u32, ty: u32) -> Result<usize> {
        let n = self.count(root, ty)?;
        usize::try_from(n)
            .ok()
            .filter(|&n| n <= 1 << 16)
            .ok_or_else(|| Error::limit("variable has too many members").with_id(root))
    }

    fn count(&self, root: u32, ty: u32) -> Result<u64> {
        if let Some((part, n)) = self.s.array_like(ty)? {
            let one = self.count(root, part)?;
            return Ok(if self.kept(root, ty, n) { one } else { one.saturating_mul(n.into()) });
        }
        Ok(match self.s.ty(ty)? {
            Type::Vector { n, .. } => u64::from(*n),
            Type::Struct(members) => {
                members.iter().try_fold(0u64, |sum, &m| Ok::<_, Error>(sum.saturating_add(self.count(root, m)?)))?
            }
            Type::RayQuery => QUERY_VARS,
            Type::HitObject => HitObjectField::WORDS.into(),
            _ => self.s.scalar(ty).map(|_| 1)?,
        })
    }

    pub fn any_kept(&self, root: u32, ty: u32) -> Result<bool> {
        if let Some((part, n)) = self.s.array_like(ty)? {
            return Ok(self.kept(root, ty, n) || self.any_kept(root, part)?);
        }
        Ok(match self.s.ty(ty)? {
            Type::Struct(members) => {
                for &m in members {
                    if self.any_kept(root, m)? {
                        return Ok(true);
                    }
                }
                false
            }
            _ => false,
        })
    }

    /// Creates the variables of a local.
    fn make_vars(&mut self, root: u32, ty: u32, len: u32, name: &str, out: &mut Vec<Var>) -> Result<()> {
        let s = self.s;
        if let Some((part, n)) = s.array_like(ty)? {
            let (times, len) = if self.kept(root, ty, n) { (1, len.saturating_mul(n)) } else { (n, len) };
            return (0..times).try_for_each(|_| self.make_vars(root, part, len, name, out));
        }
        match s.ty(ty)? {
            &Type::Vector { elem, n } => {
                let t = s.scalar(elem)?;
                out.extend((0..n).map(|_| self.b.var(t, len, name)));
            }
            Type::Struct(members) => {
                for &m in members {
                    self.make_vars(root, m, len, name, out)?;
                }
            }
            Type::RayQuery => {
                let words = len.checked_mul(RAY_QUERY_WORDS).and_then(|n| n.checked_add(RAY_QUERY_PADDING));
                out.push(self.b.var(Ty::I32, words.ok_or_else(|| Error::limit("private memory"))?, name));
                out.push(self.b.var(Ty::B1, len, name));
            }
            Type::HitObject => out.extend((0..HitObjectField::WORDS).map(|_| self.b.var(Ty::I32, len, name))),
            _ => out.push(self.b.var(s.scalar(ty)?, len, name)),
        }
        Ok(())
    }

    /// Creates a private variable and returns a pointer to it.
    pub fn make_local(&mut self, root: u32, ty: u32, io: Vec<IoLeaf>) -> Result<Pointer> {
        if self.s.leaves(ty)? > MAX_PRIVATE {
            return Err(Error::limit("private variable is too large").with_id(root));
        }
        self.var_count(root, ty)?;
        let name = self.m.name(root);
        let mut vars = Vec::new();
        self.make_vars(root, ty, 1, &name, &mut vars)?;
        self.locals.push(Local { ty, root, vars, io });
        let place = LocalTarget { local: self.locals.len() - 1, first: 0, index: self.b.i32(0), comp: None };
        Ok(Pointer { ty, place: PointerTarget::Local(place) })
    }

    /// Returns the ray query that a pointer points to.
    pub fn ray_query(&self, p: &Pointer) -> Result<RayQuery> {
        let none = || Error::invalid("operand does not point to a ray query");
        let PointerTarget::Local(l) = &p.place else { return Err(none()) };
        match (self.s.ty(p.ty)?, self.locals[l.local].vars.get(l.first..)) {
            (Type::RayQuery, Some(&[words, initialized, ..])) => Ok(RayQuery { words, initialized, index: l.index }),
            _ => Err(none()),
        }
    }

    /// Copies a ray query to another one.
    pub fn copy_query(&mut self, to: &Pointer, from: &Pointer) -> Result<()> {
        let (to, from) = (self.ray_query(to)?, self.ray_query(from)?);
        let initialized = self.b.load_var(from.initialized, Some(from.index));
        let args = [to.index, initialized, from.index];
        self.b.vals(Op::RayQuery(to.words, RayQueryOp::Copy(from.words)), &args, &[]);
        self.b.store_var(to.initialized, Some(to.index), initialized);
        Ok(())
    }
}
