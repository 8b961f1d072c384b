//! Limits on the size that one stage may reach while it is compiled.
//!
//! A small module can ask for a very large amount of work: calls that call twice, transcendental
//! functions by the thousand, copies of large composites. The compiler counts what it makes. It
//! counts neither time nor bytes, so that each machine decides alike.
//!
//! A stage that exceeds a limit ends with a Limit error long before memory runs out. The limits are
//! some ten times above the largest known shaders.

#![forbid(unsafe_code)]

use crate::error::{Error, Result};
use crate::ir::Shader;

/// Upper bound of the IR instructions after any step, including dead ones.
pub(crate) const INSTRUCTIONS: usize = 1 << 21;
/// Upper bound of the SPIR-V instructions that are translated, with all calls inlined, and of those
/// that are visited for that: a second of calls to functions that do nothing. The number is known
/// before the first one is translated (`spirv::analysis`), so that a shader beyond the limit is
/// refused at once.
pub(crate) const TRANSLATED: u64 = 1 << 22;
/// Upper bound of the private variables, before they become values.
const VARS: usize = 1 << 21;
/// Upper bound of the leaves of composites that are copied or visited one by one.
const LEAVES: usize = 1 << 25;
/// Upper bound of the sum of the depths of all loops. A value that is live in a loop is live in all
/// loops inside it, so the size of quickly made code is proportional to this sum. One nest of 1,023
/// loops (the universal limit) reaches half of it.
const NESTED: u64 = 1 << 20;
/// Upper bound of the instructions of a machine with 128-bit vectors: seconds and a gigabyte of
/// code generation.
const MACHINE: usize = 3 << 19;

/// Number of leaves of composites that a translation has copied or visited one by one.
#[derive(Default)]
pub(crate) struct LeafCount(usize);

impl LeafCount {
    /// Counts further leaves.
    ///
    /// # Errors
    /// Limit: the total is too large.
    pub(crate) fn spend(&mut self, leaves: usize) -> Result<()> {
        self.0 = self.0.saturating_add(leaves);
        if self.0 > LEAVES {
            return Err(Error::limit("too much is done with large composites"));
        }
        Ok(())
    }
}

/// Checks the size of a shader's IR.
///
/// # Errors
/// Limit: too many instructions or variables.
pub(crate) fn ir(shader: &Shader) -> Result<()> {
    if shader.insts.len() > INSTRUCTIONS || shader.vars.len() > VARS {
        return Err(Error::limit(format!("shader is too large: {} instructions", shader.insts.len())));
    }
    Ok(())
}

/// Checks the sum of the depths of all loops.
///
/// # Errors
/// Limit: loops are nested too deeply.
pub(crate) fn loops(depths: u64) -> Result<()> {
    if depths > NESTED {
        return Err(Error::limit("control flow is nested too deeply: loops in loops"));
    }
    Ok(())
}

/// Checks the weight of the LIR that has been made so far.
///
/// # Errors
/// Limit: the machine code would be too large.
pub(crate) fn lir(weight: usize) -> Result<()> {
    if weight > MACHINE {
        return Err(Error::limit("shader is too large: its code would be"));
    }
    Ok(())
}
