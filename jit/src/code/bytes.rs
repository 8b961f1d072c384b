//! The bytes of machine code, before and after they are placed in executable memory.

#![forbid(unsafe_code)]

use super::memory::ExecutableCode;
use std::ops::Deref;
use std::sync::Arc;

/// Machine code, with the entry at offset 0 and no relocations. Code is equal if its bytes are.
#[derive(Clone, Debug)]
pub enum CodeBytes {
    /// Bytes outside of executable memory: code of the wide back end, and stored code.
    Unplaced(Vec<u8>),
    /// Bytes in executable memory: code of the Cranelift back end, and code that was loaded.
    Placed(Arc<ExecutableCode>),
}

impl CodeBytes {
    /// Returns the code in executable memory, and copies it there if it is not; `None` if there is
    /// no memory.
    pub fn place(&self) -> Option<Arc<ExecutableCode>> {
        match self {
            CodeBytes::Unplaced(bytes) => ExecutableCode::new(bytes).map(Arc::new),
            CodeBytes::Placed(code) => Some(code.clone()),
        }
    }
}

impl Deref for CodeBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            CodeBytes::Unplaced(bytes) => bytes,
            CodeBytes::Placed(code) => code.bytes(),
        }
    }
}

impl From<Vec<u8>> for CodeBytes {
    fn from(bytes: Vec<u8>) -> CodeBytes {
        CodeBytes::Unplaced(bytes)
    }
}

impl From<ExecutableCode> for CodeBytes {
    fn from(code: ExecutableCode) -> CodeBytes {
        CodeBytes::Placed(Arc::new(code))
    }
}

impl PartialEq for CodeBytes {
    fn eq(&self, other: &CodeBytes) -> bool {
        **self == **other
    }
}

impl Eq for CodeBytes {}
