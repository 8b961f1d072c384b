//! Errors of the JIT, by whose fault they are.

#![forbid(unsafe_code)]

use std::fmt;

/// Whose fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The module or the request breaks a rule of SPIR-V or Vulkan.
    Invalid,
    /// Legal, but not implemented (or not accepted by the device).
    Unsupported,
    /// Legal, but larger or deeper than an implementation limit.
    Limit,
    /// The system has no memory for the compile.
    Memory,
    /// A mistake of Grus.
    Internal,
}

/// Why a shader was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Whose fault.
    pub kind: ErrorKind,
    /// Opcode number and name of the instruction at fault, if there is one.
    pub opcode: Option<(u16, &'static str)>,
    /// SPIR-V id at fault; 0 when unknown.
    pub id: u32,
    /// What is wrong, one line.
    pub message: String,
}

/// Result of the JIT's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error without a place.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, opcode: None, id: 0, message: message.into() }
    }
    /// [`ErrorKind::Invalid`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }
    /// [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }
    /// [`ErrorKind::Limit`].
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }
    /// [`ErrorKind::Memory`], for want of a stack.
    pub fn no_stack(error: base::stack::NoStack) -> Self {
        Self::new(ErrorKind::Memory, error.to_string())
    }
    /// [`ErrorKind::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }
    /// Names the instruction at fault, unless a more exact place is known already.
    pub fn at(mut self, opcode: (u16, &'static str), id: u32) -> Self {
        if self.opcode.is_none() {
            self.opcode = Some(opcode);
            self.id = if self.id == 0 { id } else { self.id };
        }
        self
    }
    /// Names the id at fault, unless one is known already.
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
