//! How much one stage may become while it is compiled.
//!
//! A small module can ask for very much: calls that call twice, transcendental functions by the thousand, copies of large
//! composites. What is made on the way is counted (never time or bytes, so that each machine decides the same), and a stage that
//! goes beyond ends with a Limit error long before memory is gone. The limits are some ten times above the largest shaders known.

#![forbid(unsafe_code)]

use crate::error::{Error, Result};
use crate::ir::Shader;

/// IR instructions (also dead ones) after any step.
pub(crate) const INSTRUCTIONS: usize = 1 << 21;
/// SPIR-V instructions translated, with all calls inlined, and looked at for that: a second of calls to functions that do nothing. The number
/// is known before the first one is translated (`spirv::analysis`), so that a shader beyond it is refused at once.
pub(crate) const TRANSLATED: u64 = 1 << 22;
/// Private variables (before they become values).
const VARS: usize = 1 << 21;
/// Leaves of composites that are copied or looked at one by one.
pub(crate) const LEAVES: usize = 1 << 25;
/// Depths of all loops, added up: what is live in a loop is live in all that are in it, so that code made fast is in proportion to this number.
/// One nest of 1,023 loops (universal limit) has half of it.
const NESTED: u64 = 1 << 20;
/// Instructions of a machine with 128-bit vectors: seconds and a gigabyte of code generation.
const MACHINE: usize = 3 << 19;

/// Checks what has been made of a shader so far.
///
/// # Errors
/// Limit.
pub(crate) fn ir(shader: &Shader) -> Result<()> {
    if shader.insts.len() > INSTRUCTIONS || shader.vars.len() > VARS {
        return Err(Error::limit(format!("shader is too large: {} instructions", shader.insts.len())));
    }
    Ok(())
}

/// Checks how loops nest in each other.
///
/// # Errors
/// Limit.
pub(crate) fn loops(depths: u64) -> Result<()> {
    if depths > NESTED {
        return Err(Error::limit("control flow is nested too deeply: loops in loops"));
    }
    Ok(())
}

/// Checks the weight of the LIR that there is so far.
///
/// # Errors
/// Limit.
pub(crate) fn lir(weight: usize) -> Result<()> {
    if weight > MACHINE {
        return Err(Error::limit("shader is too large: its code would be"));
    }
    Ok(())
}
