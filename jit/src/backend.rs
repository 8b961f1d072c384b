//! What all back ends have in common: LIR goes in ([`crate::lir`], verified), [`MachineCode`] comes out.
//!
//! A back end refuses no program: whatever can be wrong with one was found when its LIR was made. It may say that it will not bring
//! a function to code in bounded time; then another tier does ([`crate::tier`]).

#![forbid(unsafe_code)]

use crate::error::{Error, Result};

/// Machine code of a stage.
#[derive(Clone, Debug)]
pub struct MachineCode {
    /// Entry at offset 0, no relocations.
    pub bytes: Vec<u8>,
    /// Bytes of stack that it takes, its return address included. The registers' spills are most of it: one place per value in the
    /// quick tier.
    pub frame: u32,
}

/// Code or what it is made of, as text for people.
#[derive(Clone, Debug)]
pub struct Text {
    /// What it is.
    pub name: &'static str,
    /// In a sentence.
    pub description: &'static str,
    /// The text.
    pub text: String,
}

/// Where texts go, if anybody wants them.
pub type Texts<'a> = Option<&'a mut Vec<Text>>;

/// Asked between the steps of making code: does anybody still want it?
pub type Wanted<'a> = &'a dyn Fn() -> bool;

/// Largest frame of generated code: address space that a thread may have to find in the middle of a draw. The quick tier takes up to 64 bytes
/// for an instruction of the IR, so that one of the front end's full length (2^21) fits by half; a call of `pow` takes about 360.
pub const MAX_FRAME: u32 = 256 << 20;

/// Stack for code generation. Back ends are not recursive in what they compile.
const STACK: usize = 768 << 10;

/// Runs a back end, with the stack it may want. A panic in there is a compiler bug, not the end of the process.
///
/// # Errors
/// Its own; Memory without a stack; Internal for a panic.
pub fn guarded<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    let f = std::panic::AssertUnwindSafe(f);
    match std::panic::catch_unwind(|| base::stack::with(STACK, f)) {
        Ok(Ok(result)) => result,
        Ok(Err(e)) => Err(Error::no_stack(e)),
        Err(_) => Err(Error::internal("panic while generating code")),
    }
}
