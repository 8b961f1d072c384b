//! The integers that hold bfloat16 and floats of 8 bits; `small_float` converts values.

use crate::ir::Ty;
pub(crate) use base::format::small_float::SmallFloat;

/// Returns the integer type that holds a small float.
pub(crate) fn word_of(small: SmallFloat) -> Ty {
    if small.bits() == 16 { Ty::I16 } else { Ty::I8 }
}
