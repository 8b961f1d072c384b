//! Errors of the JIT, classified by whose fault they are.

#![forbid(unsafe_code)]

use std::fmt;

/// Class of an error: whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The module or the request breaks a rule of SPIR-V or Vulkan.
    Invalid,
    /// The module is legal, but uses something that is not implemented or not accepted by the
    /// device.
    Unsupported,
    /// The module is legal, but larger or deeper than an implementation limit.
    Limit,
    /// The system has no memory for the compile.
    Memory,
    /// Grus itself has a bug.
    Internal,
}

/// The reason why a shader was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Class of the error.
    pub kind: ErrorKind,
    /// Number and name of the opcode of the instruction at fault, if there is one.
    pub opcode: Option<(u16, &'static str)>,
    /// SPIR-V id at fault, or 0 if it is unknown.
    pub id: u32,
    /// Description of the error in one line.
    pub message: String,
}

/// Result of a fallible function of the JIT.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Makes an error without an instruction and without an id.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, opcode: None, id: 0, message: message.into() }
    }
    /// Makes an error of kind [`ErrorKind::Invalid`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }
    /// Makes an error of kind [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }
    /// Makes an error of kind [`ErrorKind::Limit`].
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }
    /// Makes an error of kind [`ErrorKind::Memory`], because there is no memory for a stack.
    pub fn no_stack(error: base::stack::StackAllocationError) -> Self {
        Self::new(ErrorKind::Memory, error.to_string())
    }
    /// Makes an error of kind [`ErrorKind::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }
    /// Sets the instruction at fault, unless a more exact place is known already.
    pub fn at(mut self, opcode: (u16, &'static str), id: u32) -> Self {
        if self.opcode.is_none() {
            self.opcode = Some(opcode);
            self.id = if self.id == 0 { id } else { self.id };
        }
        self
    }
    /// Sets the id at fault, unless one is known already.
    pub fn with_id(mut self, id: u32) -> Self {
        if self.id == 0 {
            self.id = id;
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.opcode {
            Some((number, "Op?")) => write!(f, "opcode {number}")?,
            Some((_, name)) => f.write_str(name)?,
            None => {}
        }
        if self.id != 0 {
            let space = if self.opcode.is_some() { " " } else { "" };
            write!(f, "{space}%{}", self.id)?;
        }
        let colon = if self.opcode.is_some() || self.id != 0 { ": " } else { "" };
        write!(f, "{colon}{}", self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_names_opcode_and_id() {
        let e = Error::unsupported("not implemented").at((61, "OpLoad"), 7);
        assert_eq!(e.to_string(), "OpLoad %7: not implemented");
        assert_eq!(Error::invalid("x").to_string(), "x");
        assert_eq!(Error::invalid("x").with_id(3).to_string(), "%3: x");
        assert_eq!(e.clone().at((62, "OpStore"), 8), e);
    }
}
