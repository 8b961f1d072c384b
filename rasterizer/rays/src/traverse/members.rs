//! Rays that begin together and are alike, and whether packets of them pay.
//!
//! A packet tests the children of a node once for all of its rays, but visits each child that one
//! of them may hit. That takes less time than separate walks if most rays hit the same children.

#![forbid(unsafe_code)]

use super::bundle::WIDTH;
use super::hit::ray_flags;
use super::state::Traversal;
use crate::vec4::F32x4;
use base::abi::MAX_LANES;
use core::cell::Cell;

/// Smallest number of rays of a packet.
pub const MIN_RAYS: u32 = 6;
/// Number of kinds of packets.
const KINDS: usize = 16;
/// Number that a packet that has not paid adds to the losses of its kind.
const LOSS: u8 = 2;
/// Number that a packet that has paid takes from the losses of its kind.
const GAIN: u8 = 2;
/// Losses at which packets of a kind pause.
const LIMIT: u8 = 32;
/// Losses of a kind after a pause.
const LATER: u8 = 24;
/// Value of a kind that pauses. A value above it is greater by the number of packets that are still
/// to be left out.
const PAUSED: u8 = 64;
/// Number of packets that a pause leaves out.
const PAUSE: u8 = 31;

/// Largest difference of the directions of a packet's rays, as a part of the direction.
const SPREAD: f32 = 0.1875;

thread_local! {
    /// Losses of each kind of packets. What rays find does not depend on it, because a packet finds
    /// what its rays find on their own.
    static LOSSES: Cell<[u8; KINDS]> = const { Cell::new([0; KINDS]) };
}

/// Losses of each kind when a thread has forgotten its packets.
const FORGOTTEN: u8 = LIMIT / 2;

impl Traversal {
    /// Forgets which packets have paid on this thread. The rays that walk together afterwards, and
    /// whose candidates are decided about together, depend on nothing before.
    pub fn forget_packets() {
        LOSSES.set([FORGOTTEN; KINDS]);
    }
}

/// Rays that can walk together.
#[derive(Clone, Copy)]
pub struct Members {
    /// The rays as bits.
    pub rays: u32,
    kind: usize,
}

impl Members {
    /// Returns true if the rays are to walk together.
    #[inline(always)]
    pub fn are_enough(&self) -> bool {
        if self.rays.count_ones() < MIN_RAYS {
            return false;
        }
        let mut losses = LOSSES.get();
        let of_kind = &mut losses[self.kind % KINDS];
        if *of_kind < PAUSED {
            return true;
        }
        *of_kind = if *of_kind > PAUSED { *of_kind - 1 } else { LATER };
        LOSSES.set(losses);
        false
    }

    /// Counts a packet that has paid or not.
    #[inline(always)]
    pub fn count(&self, has_paid: bool) {
        let mut losses = LOSSES.get();
        let of_kind = &mut losses[self.kind % KINDS];
        *of_kind = match has_paid {
            true => of_kind.saturating_sub(GAIN),
            false if *of_kind + LOSS < LIMIT => *of_kind + LOSS,
            false => PAUSED + PAUSE,
        };
        LOSSES.set(losses);
    }
}

/// Returns the rays in `among` whose octant is that of enough rays for a packet. Random directions
/// rarely have one, and are not compared with each other then.
#[inline(always)]
pub fn frequent(rays: &[Option<&mut Traversal>], among: u32) -> u32 {
    if among.count_ones() < MIN_RAYS {
        return 0;
    }
    let mut octants = [0u32; 8];
    for (i, state) in rays.iter().enumerate() {
        if let Some(state) = state {
            let [x, y, z] = state.ray.direction;
            octants[F32x4::from_array([x, y, z, 0.0]).sign_bits() as usize % 8] |= 1 << (i % 32);
        }
    }
    octants
        .into_iter()
        .map(|rays| rays & among)
        .filter(|rays| rays.count_ones() >= MIN_RAYS)
        .fold(0, |all, of| all | of)
}

/// Returns up to [`WIDTH`] of the rays in `among` that can walk with the first one, but not more
/// than eight unless their directions differ little: otherwise a wide packet would visit many nodes
/// that few of its rays hit.
#[inline(always)]
pub fn members(rays: &[Option<&mut Traversal>], among: u32) -> Members {
    let first = among.trailing_zeros() as usize;
    let Some(Some(leader)) = rays.get(first) else { return Members { rays: among, kind: 0 } };
    let direction = |state: &Traversal| {
        let [x, y, z] = state.ray.direction;
        F32x4::from_array([x, y, z, 0.0])
    };
    let along = direction(leader);
    let [x, y, z, _] = along.abs().to_array();
    let limit = F32x4::splat(SPREAD * x.max(y).max(z));
    let narrow = F32x4::splat(SPREAD / 4.0 * x.max(y).max(z));
    let mut is_narrow = true;
    let (mut found, mut rest) = (0u32, among);
    while rest != 0 && found.count_ones() < WIDTH as u32 {
        let i = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let Some(Some(state)) = rays.get(i) else { continue };
        let is_alike = direction(state).sign_bits() == along.sign_bits()
            && (state.flags, state.cull_mask) == (leader.flags, leader.cull_mask)
            && state.top.is(&leader.top)
            && limit.greater_or_equal((direction(state) - along).abs()).bits() == 0xf;
        found |= u32::from(is_alike) << i;
        is_narrow &= !is_alike || narrow.greater_or_equal((direction(state) - along).abs()).bits() == 0xf;
    }
    if !is_narrow {
        while found.count_ones() > MAX_LANES as u32 {
            found &= !(1 << found.ilog2());
        }
    }
    let ends = leader.flags & ray_flags::TERMINATE_ON_FIRST_HIT != 0;
    let is_opaque = leader.flags & ray_flags::OPAQUE != 0;
    let is_short = leader.t_max < 1e4;
    let kind =
        usize::from(is_narrow) | usize::from(ends) << 1 | usize::from(is_opaque) << 2 | usize::from(is_short) << 3;
    Members { rays: found | 1 << first, kind }
}
