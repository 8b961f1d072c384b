//! Definitions that all back ends share. A back end takes verified LIR ([`crate::lir`]) and gives
//! [`MachineCode`].
//!
//! A back end refuses no program, because all errors of a program are found when its LIR is made.
//! It may decline a function that it cannot compile in bounded time; another tier then does
//! ([`crate::tier`]).

#![forbid(unsafe_code)]

use crate::code::bytes::CodeBytes;
use crate::error::{Error, Result};

/// Machine code of a stage.
#[derive(Clone, Debug)]
pub struct MachineCode {
    /// The bytes of the code, with the entry at offset 0 and no relocations.
    pub bytes: CodeBytes,
    /// Number of bytes of stack that the code takes, including its return address. Most of it are
    /// spilled registers: the quick tier has one place per value.
    pub frame: u32,
}

/// Code, or a form from which it is made, as readable text.
#[derive(Clone, Debug)]
pub struct Text {
    /// Name of the form.
    pub name: &'static str,
    /// Description of the form, one sentence.
    pub description: &'static str,
    /// The text itself.
    pub text: String,
}

/// Destination of texts; `None` if no texts are requested.
pub type Texts<'a> = Option<&'a mut Vec<Text>>;

/// Upper bound of the frame of generated code: address space that a thread may have to find in the
/// middle of a draw.
///
/// The quick tier takes up to 64 bytes per instruction of the IR. A function of the front end's
/// maximum length (2^21) takes half of the bound. A call of `pow` takes about 360 bytes.
pub const MAX_FRAME: u32 = 256 << 20;

/// Number of bytes of stack for code generation. Back ends do not recurse over the code that they
/// compile.
const STACK: usize = 768 << 10;

/// Runs a back end with the stack that it may need. A panic in the back end is a compiler bug and
/// becomes an error, so that the process continues.
///
/// # Errors
/// The errors of `f`. Memory: there is no memory for a stack. Internal: `f` panicked.
pub fn guarded<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    let f = std::panic::AssertUnwindSafe(f);
    match std::panic::catch_unwind(|| base::stack::with(STACK, f)) {
        Ok(Ok(result)) => result,
        Ok(Err(e)) => Err(Error::no_stack(e)),
        Err(_) => Err(Error::internal("panic while generating code")),
    }
}
