//! What the lanes of an access have each: elements side by side.

use crate::ir::Ty;
use crate::passes::Steps;

/// What each lane accesses: `n` elements side by side.
#[derive(Clone, Copy)]
pub struct Run {
    pub ty: Ty,
    pub n: usize,
    /// Bytes that are in range by themselves: an element, or all of them.
    pub unit: u32,
}

impl Run {
    /// Elements that are in range as a whole.
    pub fn whole(ty: Ty, n: usize) -> Run {
        Run { ty, n, unit: ty.bytes() * n as u32 }
    }
    /// Bytes of a lane.
    pub fn bytes(self) -> u32 {
        self.ty.bytes() * self.n as u32
    }
    /// Do the lanes lie side by side, in vectors that can be taken apart?
    pub fn fills(self, steps: Steps, lanes: u32) -> bool {
        steps.is_even(self.bytes() as i32, lanes) && self.n != 3
    }
}
