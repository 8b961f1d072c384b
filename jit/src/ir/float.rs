//! Requirements on an instruction's float arithmetic.
//!
//! Arithmetic without flags is that of `ir::eval`, which rounds to the nearest even number and
//! keeps denormals, signed zeros, infinities and NaNs, except that `contract` may fuse it. Most
//! flags require what holds anyway, or forbid fusing: a pass must not give up what they name. The
//! others change results ([`FloatFlags::changes`]) as `ir::modes` defines. `passes::float_modes`
//! lowers them to steps without such flags; code that does not handle them refuses the instruction
//! ([`FloatFlags::is_default`]).

use std::fmt::{self, Display, Formatter};
use std::ops::{BitOr, BitOrAssign};

/// A set of flags. Only instructions with a float among operands and results have flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FloatFlags(u16);

impl FloatFlags {
    /// No flag.
    pub const NONE: FloatFlags = FloatFlags(0);
    /// The operation is never fused with another instruction (NoContraction).
    pub const NO_CONTRACTION: FloatFlags = FloatFlags(1);
    /// The operation rounds to the nearest even number (RoundingModeRTE).
    pub const ROUND_EVEN: FloatFlags = FloatFlags(1 << 1);
    /// The operation keeps denormals (DenormPreserve).
    pub const KEEP_DENORMALS: FloatFlags = FloatFlags(1 << 2);
    /// The operation keeps the sign of zero (a part of SignedZeroInfNanPreserve).
    pub const KEEP_SIGNED_ZERO: FloatFlags = FloatFlags(1 << 3);
    /// The operation keeps infinities (a part of SignedZeroInfNanPreserve).
    pub const KEEP_INFINITY: FloatFlags = FloatFlags(1 << 4);
    /// The operation keeps NaNs (a part of SignedZeroInfNanPreserve).
    pub const KEEP_NAN: FloatFlags = FloatFlags(1 << 5);
    /// Changes results: the operation rounds towards zero (RoundingModeRTZ).
    pub const ROUND_ZERO: FloatFlags = FloatFlags(1 << 6);
    /// Changes results: denormal operands and results are zeros (DenormFlushToZero).
    pub const FLUSH_DENORMALS: FloatFlags = FloatFlags(1 << 7);

    /// A division must not become a multiplication by a reciprocal (FPFastMathMode without
    /// AllowRecip).
    pub const NO_RECIPROCAL: FloatFlags = FloatFlags(1 << 8);

    const NAMES: [(FloatFlags, &str); 9] = [
        (FloatFlags::NO_CONTRACTION, "no_contraction"),
        (FloatFlags::ROUND_EVEN, "round_even"),
        (FloatFlags::KEEP_DENORMALS, "keep_denormals"),
        (FloatFlags::KEEP_SIGNED_ZERO, "keep_signed_zero"),
        (FloatFlags::KEEP_INFINITY, "keep_infinity"),
        (FloatFlags::KEEP_NAN, "keep_nan"),
        (FloatFlags::ROUND_ZERO, "round_zero"),
        (FloatFlags::FLUSH_DENORMALS, "flush_denormals"),
        (FloatFlags::NO_RECIPROCAL, "no_reciprocal"),
    ];
    /// Returns the flag with a name ([`Display`]).
    pub fn from_name(name: &str) -> Option<FloatFlags> {
        FloatFlags::NAMES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    const CHANGES: FloatFlags = FloatFlags(FloatFlags::ROUND_ZERO.0 | FloatFlags::FLUSH_DENORMALS.0);

    /// Returns true if this set has all flags of another set.
    pub const fn contains(self, flags: FloatFlags) -> bool {
        self.0 & flags.0 == flags.0
    }
    /// Returns the union of two sets.
    pub const fn and(self, flags: FloatFlags) -> FloatFlags {
        FloatFlags(self.0 | flags.0)
    }
    /// Returns true if there is no flag.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Returns true if results are those of `ir::eval`, which is the arithmetic without flags.
    pub const fn is_default(self) -> bool {
        self.changes().is_empty()
    }
    /// Returns the flags that change results: two instructions are equal only if these are.
    pub const fn changes(self) -> FloatFlags {
        FloatFlags(self.0 & FloatFlags::CHANGES.0)
    }
    /// Returns the flags that are not in another set.
    pub const fn without(self, flags: FloatFlags) -> FloatFlags {
        FloatFlags(self.0 & !flags.0)
    }
    /// Returns the flags that leave results as they are.
    pub const fn without_changes(self) -> FloatFlags {
        self.without(FloatFlags::CHANGES)
    }
    /// Returns true if an instruction with these flags may be fused with one that has the flags
    /// `other`.
    pub const fn may_contract(self, other: FloatFlags) -> bool {
        !self.and(other).contains(FloatFlags::NO_CONTRACTION) && self.changes().0 == other.changes().0
    }
    /// Returns true if no flag contradicts another.
    pub const fn is_consistent(self) -> bool {
        !self.contains(FloatFlags::ROUND_EVEN.and(FloatFlags::ROUND_ZERO))
            && !self.contains(FloatFlags::KEEP_DENORMALS.and(FloatFlags::FLUSH_DENORMALS))
    }
}

impl BitOr for FloatFlags {
    type Output = FloatFlags;
    fn bitor(self, other: FloatFlags) -> FloatFlags {
        self.and(other)
    }
}

impl BitOrAssign for FloatFlags {
    fn bitor_assign(&mut self, other: FloatFlags) {
        *self = self.and(other);
    }
}

/// Writes each flag's name behind a blank.
impl Display for FloatFlags {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        FloatFlags::NAMES.iter().filter(|n| self.contains(n.0)).try_for_each(|n| write!(f, " {}", n.1))
    }
}

#[cfg(test)]
mod tests {
    use super::FloatFlags as F;

    #[test]
    fn flags_that_change_results_stay_apart() {
        assert!(F::NONE.may_contract(F::KEEP_NAN) && !F::NONE.may_contract(F::NO_CONTRACTION));
        assert!(!F::NONE.may_contract(F::FLUSH_DENORMALS) && F::ROUND_ZERO.may_contract(F::ROUND_ZERO));
        assert!(F::KEEP_DENORMALS.is_default() && !F::FLUSH_DENORMALS.is_default());
        assert!(!(F::KEEP_DENORMALS | F::FLUSH_DENORMALS).is_consistent());
        assert!(!(F::ROUND_EVEN | F::ROUND_ZERO).is_consistent());
    }

    #[test]
    fn every_flag_has_a_name() {
        let all = F::NAMES.iter().fold(F::NONE, |all, n| all | n.0);
        assert_eq!(all, F((1 << F::NAMES.len()) - 1));
        assert_eq!((F::NO_CONTRACTION | F::KEEP_NAN).to_string(), " no_contraction keep_nan");
    }
}
