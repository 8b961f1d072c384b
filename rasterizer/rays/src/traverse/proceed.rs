//! The loop of a traversal, compiled for each processor level ([`base::multiversion!`]).

use super::hit::HitKind;
use super::instances::Found;
use super::leaves::{Step, leaf};
use super::members::{self, Members};
use super::packet::{self, Decide, Deciding, PacketResult};
use super::state::{Scene, Traversal};
use super::walk::Entry;
use crate::layout::Contents;
use crate::pack::Pack;
use base::abi::MAX_LANES;
use core::sync::atomic::Ordering;

/// Largest number of rays whose visits take turns.
pub const MAX_RAYS: usize = 16;

base::multiversion! {
    for Avx512 unsafe fn proceed_variant(
        rays: &mut [Option<&mut Traversal>],
        scene: &Scene,
        deciding: Deciding<'_, '_>,
        found: &mut u32,
    ) {
        *found = run::<H>(rays, scene, deciding);
    }

    // Vectors have eight lanes on all levels: a variant for AVX-512 would add 50 KB for its masks.
    unsafe fn packet_variant[const N: usize] [N](
        rays: &mut [Option<&mut Traversal>],
        members: Members,
        scene: &Scene,
        deciding: Deciding<'_, '_>,
        result: &mut PacketResult,
    ) {
        *result = packet::trace::<H, N>(rays, members, scene, deciding);
    }
}

impl Traversal {
    /// Continues until a candidate needs a decision (`OpRayQueryProceedKHR`); returns false when
    /// the traversal has ended. Opaque triangles are committed without one.
    #[inline]
    pub fn proceed(&mut self, scene: &Scene) -> bool {
        Traversal::proceed_all(&mut [Some(self)], scene) != 0
    }

    /// Continues with up to 32 rays as [`Traversal::proceed`] does; returns a bit for each ray that
    /// has a candidate. Several rays take less time together than one after the other, because
    /// their visits take turns. Rays beyond the 32nd continue, but have no bits.
    pub fn proceed_all(rays: &mut [Option<&mut Traversal>], scene: &Scene) -> u32 {
        Traversal::proceed_with(rays, scene, None)
    }

    /// Continues with any number of rays as [`Traversal::proceed`] does, but calls `decide` for the
    /// candidates of rays that walk together, which then continue. Candidates of the other rays
    /// remain.
    pub fn proceed_and_decide(rays: &mut [Option<&mut Traversal>], scene: &Scene, decide: &mut Decide<'_>) {
        Traversal::proceed_with(rays, scene, Some(decide));
    }

    fn proceed_with(rays: &mut [Option<&mut Traversal>], scene: &Scene, mut decide: Option<&mut Decide<'_>>) -> u32 {
        let mut all = 0;
        for (i, rays) in rays.chunks_mut(MAX_RAYS).enumerate() {
            let mut found = 0;
            let first = i * MAX_RAYS;
            let deciding = Deciding { first: first as u32, decide: decide.as_deref_mut() };
            // SAFETY: the host has the level, because `HostLevel` names no other.
            unsafe { proceed_variant(scene.level.get())(rays, scene, deciding, &mut found) };
            all |= found.checked_shl(first as u32).unwrap_or(0);
        }
        all
    }
}

/// Continues with up to [`MAX_RAYS`] rays, some of which walk together, and returns bits of those
/// that have a candidate.
#[inline(always)]
fn run<H: Pack>(rays: &mut [Option<&mut Traversal>], scene: &Scene, mut deciding: Deciding<'_, '_>) -> u32 {
    let (mut waiting, mut fresh, mut found) = (0u32, 0u32, 0u32);
    for (i, state) in rays.iter_mut().enumerate().take(MAX_RAYS) {
        let Some(state) = state else { continue };
        state.candidate.kind = HitKind::None;
        fresh |= core::mem::take(&mut state.is_fresh) << i;
        let step = match state.pending_lanes {
            _ if state.active == 0 => Step::End,
            0 => Step::Continue,
            _ => leaf(state, scene),
        };
        found |= u32::from(step == Step::Candidate) << i;
        waiting |= u32::from(step == Step::Continue) << i;
        state.active &= u32::from(step != Step::End);
    }
    fresh &= waiting;
    let mut alone = fresh;
    fresh = members::frequent(rays, fresh);
    while fresh.count_ones() >= members::MIN_RAYS {
        let together = members::members(rays, fresh);
        fresh &= !together.rays;
        if together.are_enough() {
            // The baseline has only wide packets, to keep the library small.
            let is_wide = H::IS_BASELINE || together.rays.count_ones() > MAX_LANES as u32;
            let trace = if is_wide { packet_variant::<2>(H::LEVEL) } else { packet_variant::<1>(H::LEVEL) };
            let mut result = PacketResult { candidates: 0, remaining: 0 };
            // SAFETY: the host has the level, which is that of this function or a lower one.
            unsafe { trace(rays, together, scene, deciding.again(), &mut result) };
            found |= result.candidates;
            waiting &= !together.rays | result.remaining;
            alone &= !together.rays;
        }
    }
    for (_, state) in rays.iter_mut().enumerate().filter(|(i, _)| alone >> i & 1 != 0) {
        state.iter_mut().for_each(|state| state.start());
    }
    let mut turns = Turns::default();
    for i in (0..MAX_RAYS).filter(|i| waiting >> i & 1 != 0) {
        if let Some(Some(state)) = rays.get_mut(i) {
            // A packet, or the decision about a candidate, may have ended the interval.
            state.walk.drop_behind::<H>(state.t_max);
            turns.add(i, state.walk.next_is_leaf());
        }
    }
    found | turns.take::<H>(rays, scene)
}

/// Number of waiting rays from which on their nodes are visited before the leaves of others. A few
/// rays would wait for each other, because the next node of a ray depends on its visit before.
const FEW: u32 = 4;
/// Largest number of nodes that are visited before the abort flag is read again.
const MAX_VISITS: u32 = 256;

/// Numbers of rays in the order in which they were added; there is room for [`MAX_RAYS`].
#[derive(Default)]
struct Queue {
    rays: [u8; MAX_RAYS],
    first: u32,
    end: u32,
}

impl Queue {
    #[inline(always)]
    fn len(&self) -> u32 {
        self.end.wrapping_sub(self.first)
    }

    /// Adds a ray if `condition` is true, without a branch.
    #[inline(always)]
    fn add_if(&mut self, condition: bool, ray: usize) {
        self.rays[self.end as usize % MAX_RAYS] = ray as u8;
        self.end = self.end.wrapping_add(u32::from(condition));
    }

    /// Removes the first ray, if there is one; otherwise the result is arbitrary.
    #[inline(always)]
    fn remove(&mut self) -> usize {
        let ray = self.rays[self.first as usize % MAX_RAYS];
        self.first = self.first.wrapping_add(1);
        usize::from(ray)
    }
}

/// Rays that take turns, by the kind of their next entry. The processor works on several visits at
/// a time, because those of different rays do not depend on each other, and no branch depends on
/// the kind of an entry, which cannot be predicted.
#[derive(Default)]
struct Turns {
    nodes: Queue,
    leaves: Queue,
}

impl Turns {
    /// Adds a ray, given whether its next entry is a leaf or another one that is no node.
    #[inline(always)]
    fn add(&mut self, ray: usize, is_leaf: bool) {
        self.nodes.add_if(!is_leaf, ray);
        self.leaves.add_if(is_leaf, ray);
    }

    /// Visits the next entry of the ray that has waited for a node for the longest time, and
    /// returns the ray.
    #[inline(always)]
    fn visit_node<H: Pack>(&mut self, rays: &mut [Option<&mut Traversal>]) -> usize {
        let ray = self.nodes.remove();
        if let Some(Some(state)) = rays.get_mut(ray) {
            state.walk.visit::<H>(state.t_max);
        }
        ray
    }

    /// Adds a ray whose node has been visited, and prefetches its next entry.
    #[inline(always)]
    fn look_ahead(&mut self, rays: &[Option<&mut Traversal>], ray: usize) {
        if let Some(Some(state)) = rays.get(ray) {
            self.add(ray, state.walk.prefetch_next());
        }
    }

    /// Continues with all rays until they have ended or have a candidate, and returns bits of those
    /// that have one.
    #[inline(always)]
    fn take<H: Pack>(&mut self, rays: &mut [Option<&mut Traversal>], scene: &Scene) -> u32 {
        let mut found = 0;
        let mut last = None;
        while self.nodes.len() + self.leaves.len() != 0 {
            if scene.abort.load(Ordering::Relaxed) != 0 {
                rays.iter_mut().flatten().for_each(|state| state.active = 0);
                break;
            }
            let least = if self.leaves.len() == 0 { 1 } else { FEW };
            if self.nodes.len() >= least {
                // The next entry of a ray is looked at after the visit of another one, because it
                // takes some time until it is known, and visits are executed in parallel.
                let mut last = self.visit_node::<H>(rays);
                for _ in 0..MAX_VISITS {
                    if self.nodes.len() < least {
                        break;
                    }
                    let ray = self.visit_node::<H>(rays);
                    self.look_ahead(rays, last);
                    last = ray;
                }
                self.look_ahead(rays, last);
            }
            for _ in 0..self.leaves.len() {
                let ray = self.leaves.remove();
                let Some(Some(state)) = rays.get_mut(ray) else { continue };
                match visit_leaf::<H>(state, scene, &mut last) {
                    Step::Continue => self.add(ray, state.walk.prefetch_next()),
                    Step::Candidate => found |= 1 << ray,
                    Step::End => state.active = 0,
                }
            }
        }
        found
    }
}

/// Visits the next entry, which is no node.
#[inline(always)]
fn visit_leaf<H: Pack>(state: &mut Traversal, scene: &Scene, last: &mut Option<Found>) -> Step {
    let (index, distance) = match state.walk.pop() {
        Entry::Leaf(index, distance) => (index, distance),
        Entry::LastEnd => return Step::End,
        Entry::End => {
            state.leave_instance();
            return Step::Continue;
        }
    };
    if state.walk.view().contents() == Contents::Instances {
        enter_instance(state, scene, last, (index, distance));
        return Step::Continue;
    }
    (state.pending_leaf, state.pending_lanes) = (index, 0xf);
    let t_max = state.t_max;
    let step = leaf(state, scene);
    if state.t_max != t_max {
        state.walk.drop_behind::<H>(state.t_max);
    }
    step
}

/// Begins the traversal of an instance, unless the ray passes it by. The instance that was found
/// last is kept in `last`, because the rays of a call usually enter the same one.
#[inline(always)]
fn enter_instance(state: &mut Traversal, scene: &Scene, last: &mut Option<Found>, (index, distance): (u32, f32)) {
    if !state.walk.count_step() {
        return state.walk.give_up();
    }
    let (flags, cull_mask) = (state.flags, state.cull_mask);
    if !last.as_ref().is_some_and(|found| found.is(&state.top, index)) {
        *last = Found::new(&state.top, index, (flags, cull_mask), scene);
    }
    let Some(found) = last.as_ref().filter(|found| found.admits(flags, cull_mask)) else { return };
    found.descend(state, distance);
}
