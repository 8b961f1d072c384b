//! Private variables of modules and functions, and initialisers of variables.

use super::module::View;
use super::translator::Translator;
use super::types::Type;
use super::value::{Pointer, Val};
use crate::error::{Error, Result};

impl Translator<'_> {
    /// Translates OpVariable of class Function or Private: a new variable, initialised.
    pub fn private_variable(&mut self, v: View<'_>) -> Result<()> {
        let &Type::Pointer { to, .. } = self.s.ty(v.ty)? else {
            return Err(Error::invalid("variable without a pointer type"));
        };
        let p = self.make_local(v.result, to, Vec::new())?;
        self.initialise(&p, v)?;
        self.set(v.result, Val::Ptr(p))
    }

    /// Stores the initialiser of a variable, if it has one.
    pub fn initialise(&mut self, p: &Pointer, v: View<'_>) -> Result<()> {
        if let Some(&init) = v.args.get(1) {
            if self.is_large_null(init)? {
                return self.clear(p);
            }
            let val = self.flat(init)?;
            self.store(p, val, false)?;
        }
        Ok(())
    }
}
