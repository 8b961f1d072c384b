//! The float modes of an entry point: the flags that instructions get by their type.

use crate::error::{Error, Result};
use crate::ir::{FloatFlags, Ty};

/// Float modes of an entry point for one width.
#[derive(Clone, Copy, Default)]
struct FloatMode {
    flags: FloatFlags,
    /// FPFastMathDefault, which is the FPFastMathMode of instructions without one.
    fast: Option<u32>,
}

/// Bit of a FPFastMathMode: the sign of a zero does not matter.
pub(super) const NSZ: u32 = 4;
/// Bit of a FPFastMathMode: a division may be a product with a reciprocal.
const ALLOW_RECIPROCAL: u32 = 8;
/// Bit of a FPFastMathMode: two operations may be fused. Other permissions are not used.
const ALLOW_CONTRACT: u32 = 0x1_0000;

/// Flag of an instruction whose FPFastMathMode lacks a bit: NotNaN, NotInf, NSZ, AllowRecip,
/// AllowContract.
const KEPT: [(u32, FloatFlags); 5] = [
    (1, FloatFlags::KEEP_NAN),
    (2, FloatFlags::KEEP_INFINITY),
    (NSZ, FloatFlags::KEEP_SIGNED_ZERO),
    (ALLOW_RECIPROCAL, FloatFlags::NO_RECIPROCAL),
    (ALLOW_CONTRACT, FloatFlags::NO_CONTRACTION),
];

/// Float modes of an entry point by width: 16, 32 and 64 bits.
#[derive(Clone, Copy, Default)]
pub(crate) struct FloatModes([FloatMode; 3]);

impl FloatModes {
    fn index(ty: Ty) -> Option<usize> {
        [Ty::F16, Ty::F32, Ty::F64].iter().position(|&t| t == ty)
    }

    /// Sets the FPFastMathDefault of a type.
    pub fn set_fast(&mut self, ty: Ty, allowed: u32) -> Result<()> {
        let i = FloatModes::index(ty).ok_or_else(|| Error::invalid("FPFastMathDefault of a type that is no float"))?;
        self.0[i].fast = Some(allowed);
        Ok(())
    }

    /// Adds flags for a width in bits. Fails if they contradict those that the width has: an entry
    /// point has one rounding mode and one treatment of denormals per width (SPIR-V, "Execution
    /// Mode").
    pub fn add(&mut self, width: u32, flags: FloatFlags) -> Result<()> {
        let float = [Ty::F16, Ty::F32, Ty::F64].into_iter().find(|ty| ty.bytes() * 8 == width);
        if let Some(i) = float.and_then(FloatModes::index) {
            self.0[i].flags |= flags;
            if !self.0[i].flags.is_consistent() {
                return Err(Error::invalid("contradictory float execution modes of one width"));
            }
        }
        Ok(())
    }

    /// Returns the FPFastMathDefault of a type, if there is one.
    pub fn fast(self, ty: Ty) -> Option<u32> {
        FloatModes::index(ty).and_then(|i| self.0[i].fast)
    }

    /// Returns the flags of a float type.
    pub fn flags(self, ty: Ty) -> FloatFlags {
        FloatModes::index(ty).map_or(FloatFlags::NONE, |i| self.0[i].flags)
    }

    /// Returns true if no mode is set.
    pub fn is_empty(self) -> bool {
        self.0.iter().all(|mode| mode.flags.is_empty() && mode.fast.is_none())
    }

    /// Returns the flags of an instruction by its type: the result's if it is a float, else that of
    /// the first operand that is one. The instruction's own FPFastMathMode has precedence over the
    /// entry point's.
    pub fn of<'a>(self, mut types: impl Iterator<Item = &'a Ty>, own: Option<u32>) -> FloatFlags {
        let Some(mode) = types.find_map(|&ty| FloatModes::index(ty)).map(|i| self.0[i]) else {
            return FloatFlags::NONE;
        };
        let Some(allowed) = own.or(mode.fast) else { return mode.flags };
        let kept = KEPT.iter().filter(|(bit, _)| allowed & bit == 0);
        kept.fold(mode.flags, |flags, (_, flag)| flags | *flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictory_modes_are_refused() {
        let pairs = [
            (FloatFlags::ROUND_EVEN, FloatFlags::ROUND_ZERO),
            (FloatFlags::KEEP_DENORMALS, FloatFlags::FLUSH_DENORMALS),
        ];
        for (a, b) in pairs {
            for (first, second) in [(a, b), (b, a)] {
                let mut modes = FloatModes::default();
                assert!(modes.add(32, first).is_ok() && modes.add(32, first).is_ok());
                // Each width has modes of its own.
                assert!(modes.add(16, second).is_ok());
                let error = modes.add(32, second).expect_err("contradictory");
                assert_eq!(error.kind, crate::error::ErrorKind::Invalid);
            }
        }
    }
}
