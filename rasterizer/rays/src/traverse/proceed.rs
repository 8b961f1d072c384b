//! The loop of a traversal, compiled for each processor level ([`base::multiversion!`]).

use super::hit::HitKind;
use super::instances::Found;
use super::leaves::{Step, leaf};
use super::packet;
use super::state::{Scene, Traversal};
use crate::layout::Contents;
use crate::pack::Pack;
use core::sync::atomic::Ordering;

/// Largest number of rays whose visits take turns.
pub const MAX_RAYS: usize = 16;

base::multiversion! {
    for Avx512 unsafe fn proceed_variant(rays: &mut [Option<&mut Traversal>], scene: &Scene, found: &mut u32) {
        *found = run::<H>(rays, scene);
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
        let mut all = 0;
        for (i, rays) in rays.chunks_mut(MAX_RAYS).enumerate() {
            let mut found = 0;
            // SAFETY: the host has the level, because `HostLevel` names no other.
            unsafe { proceed_variant(scene.level.get())(rays, scene, &mut found) };
            all |= found.checked_shl((i * MAX_RAYS) as u32).unwrap_or(0);
        }
        all
    }
}

/// Continues with up to [`MAX_RAYS`] rays. Each visits one child in turn, so that the processor
/// works on several rays at a time: the next child of one ray depends on the visit before.
#[inline(always)]
fn run<H: Pack>(rays: &mut [Option<&mut Traversal>], scene: &Scene) -> u32 {
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
    while fresh & fresh.wrapping_sub(1) != 0 {
        let members = packet::members(rays, fresh);
        fresh &= !members.rays;
        if members.are_enough() {
            let result = packet::trace::<H>(rays, members, scene);
            found |= result.candidates;
            waiting &= !members.rays | result.remaining;
            alone &= !members.rays;
        }
    }
    for (_, state) in rays.iter_mut().enumerate().filter(|(i, _)| alone >> i & 1 != 0) {
        state.iter_mut().for_each(|state| state.start());
    }
    let mut running = [0u8; MAX_RAYS];
    let mut count = 0;
    while waiting != 0 {
        running[count] = waiting.trailing_zeros() as u8;
        waiting &= waiting - 1;
        count += 1;
    }
    while count > 0 {
        if scene.abort.load(Ordering::Relaxed) != 0 {
            let states = running[..count].iter().filter_map(|&ray| rays[usize::from(ray)].take());
            states.for_each(|state| state.active = 0);
            break;
        }
        let mut place = 0;
        while place < count {
            let ray = usize::from(running[place]);
            let Some(state) = &mut rays[ray] else { break };
            let step = step::<H>(state, scene);
            if step == Step::Continue {
                place += 1;
                continue;
            }
            found |= u32::from(step == Step::Candidate) << ray;
            state.active &= u32::from(step == Step::Candidate);
            count -= 1;
            running[place] = running[count];
        }
    }
    found
}

/// Visits the next child.
#[inline(always)]
fn step<H: Pack>(state: &mut Traversal, scene: &Scene) -> Step {
    let Some(entry) = state.walk.pop(state.t_max) else {
        if state.walk.is_empty() {
            return Step::End;
        }
        state.leave_instance();
        return Step::Continue;
    };
    let Some(index) = entry.leaf() else {
        if state.walk.visit::<H>(entry, state.t_max) {
            state.walk.prefetch_next();
            return Step::Continue;
        }
        return give_up(state);
    };
    if state.walk.view().contents() == Contents::Instances {
        enter_instance(state, scene, index, entry.distance());
        return Step::Continue;
    }
    (state.pending_leaf, state.pending_lanes) = (index, 0xf);
    leaf(state, scene)
}

/// Leaves a structure whose steps are used up: it is not a tree.
#[cold]
fn give_up(state: &mut Traversal) -> Step {
    if state.walk.view().contents() == Contents::Instances || state.walk.is_empty() {
        return Step::End;
    }
    state.leave_instance();
    Step::Continue
}

/// Begins the traversal of an instance, unless the ray passes it by.
#[inline(never)]
fn enter_instance(state: &mut Traversal, scene: &Scene, index: u32, distance: f32) {
    if !state.walk.count_leaf() {
        return;
    }
    let Some(found) = Found::new(&state.top, index, (state.flags, state.cull_mask), scene) else { return };
    let top_steps = state.walk.steps();
    if found.enter(state, distance) {
        state.top_steps = top_steps;
        state.walk.push_root(distance);
    }
}
