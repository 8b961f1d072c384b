//! Runs: the adjacent elements that each lane of an access has.

use crate::ir::Ty;
use crate::passes::Steps;

/// The `n` adjacent elements that each lane accesses.
#[derive(Clone, Copy)]
pub struct ElementRun {
    pub ty: Ty,
    pub n: usize,
    /// Number of bytes that are checked together: one element, or all of them.
    pub unit: u32,
}

impl ElementRun {
    /// Returns a run whose elements are checked together.
    pub fn checked_together(ty: Ty, n: usize) -> ElementRun {
        ElementRun { ty, n, unit: ty.bytes() * n as u32 }
    }
    /// Returns the number of bytes of a lane.
    pub fn bytes(self) -> u32 {
        self.ty.bytes() * self.n as u32
    }
    /// Returns true if the lanes lie side by side, in vectors that can be deinterleaved.
    pub fn is_contiguous(self, steps: Steps, lanes: u32) -> bool {
        steps.is_even(self.bytes() as i32, lanes) && self.n != 3
    }
}
