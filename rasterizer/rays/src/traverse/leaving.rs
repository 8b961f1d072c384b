//! Candidates that are decided about while a packet waits, and rays that leave their packet.

#![forbid(unsafe_code)]

use super::bundle::{Place, WIDTH};
use super::hit::HitKind;
use super::packet::{Deciding, Outer, Packet, Visit};
use super::ray::BoxRay;
use super::walk::STACK;

impl<const N: usize> Packet<'_, '_, N> {
    /// Lets the candidates of rays be decided about. Without a way to do so at once, the rays
    /// leave, of which some lanes of a leaf are pending.
    #[inline(never)]
    pub fn decide(&mut self, place: &Place, outer: Outer, lanes: u32, (leaf, pending): (u32, u32)) {
        let each = (0..Self::LANES).filter(|lane| lanes >> lane & 1 != 0);
        let Deciding { first, decide } = self.deciding.again();
        let Some(decide) = decide else {
            for lane in each {
                self.separate(place, Some(outer), lane);
                self.remaining &= !(1 << lane);
                self.candidates |= 1 << lane;
                if let Some(state) = &mut self.rays.as_flattened_mut()[lane] {
                    (state.pending_leaf, state.pending_lanes) = (leaf, pending);
                }
            }
            return;
        };
        let mut rays = [const { None }; WIDTH];
        let mut positions = [0; WIDTH];
        let mut count = 0;
        for (lane, state) in
            self.rays.as_flattened_mut().iter_mut().enumerate().filter(|(lane, _)| lanes >> lane & 1 != 0)
        {
            (rays[count], positions[count]) = (state.as_deref_mut(), first + u32::from(self.numbers[lane]));
            count += 1;
        }
        decide(&positions[..count], &mut rays[..count]);
        for lane in each {
            let Some(state) = &mut self.rays.as_flattened_mut()[lane] else { continue };
            state.candidate.kind = HitKind::None;
            let is_done = state.active == 0;
            *self.t_max_of(lane) = state.t_max;
            self.active &= !(u32::from(is_done) << lane);
        }
    }

    /// Lets rays leave the packet before a child is visited, which those of its lanes still visit.
    #[cold]
    pub fn leave(&mut self, place: &Place, outer: Option<Outer>, lanes: u32, visit: &Visit) {
        let lanes = lanes & self.active;
        for lane in (0..Self::LANES).filter(|lane| lanes >> lane & 1 != 0) {
            self.separate(place, outer, lane);
            if let (Some(state), true) = (&mut self.rays.as_flattened_mut()[lane], visit.lanes >> lane & 1 != 0) {
                let distance = match outer {
                    Some(_) => place.t_min[lane],
                    None => distance(state.walk.ray(), place, visit.parent, visit.child, lane),
                };
                state.walk.push_child(visit.child, distance);
            }
        }
    }

    /// Gives a ray the entries that remain for it.
    #[inline(never)]
    fn separate(&mut self, place: &Place, outer: Option<Outer>, lane: usize) {
        self.active &= !(1 << lane);
        self.remaining |= 1 << lane;
        let Some(state) = &mut self.rays.as_flattened_mut()[lane] else { return };
        let top_ray = BoxRay::for_instances(state.ray.origin, state.ray.direction);
        let mut ray = top_ray;
        if let Some(outer) = outer {
            // A ray that does not visit the instance has no entries of it.
            if outer.found.enter(state, place.t_min[lane]) {
                ray = *state.walk.ray();
            }
            state.top_steps = outer.top.steps;
        }
        state.walk.resume(place.view, ray, place.t_min[lane], place.depth, place.steps);
        for at in 0..self.length.min(STACK) {
            if at == self.base {
                state.walk.push_end();
            }
            if self.lanes[at] >> lane & 1 == 0 {
                continue;
            }
            let child = self.children[at];
            // In the top-level structure distances are those of the ray, because instances begin
            // there.
            let distance = match outer {
                Some(outer) if at < self.base => distance(&top_ray, outer.top, self.parents[at], child, lane),
                Some(_) => f32::from_bits(self.nears[at]),
                None => distance(&top_ray, place, self.parents[at], child, lane),
            };
            state.walk.push_child(child, distance);
        }
        if self.length == self.base {
            state.walk.push_end();
        }
    }
}

/// Returns the distance of a child of a node for one ray.
fn distance(ray: &BoxRay, place: &Place, parent: u32, child: u32, lane: usize) -> f32 {
    let mut near = place.t_min[lane];
    let Some(node) = place.view.node(parent) else { return near };
    let slot = (0..7).find(|&slot| node.child(slot) == child).unwrap_or(7);
    let ([rows, _], _) = ray.rows_and_octant();
    for (axis, row) in rows.into_iter().enumerate().take(3) {
        let plane = f32::from_bits(node.word_at(row, slot));
        let distance = (plane - ray.near_origin[axis]) * ray.near_inverse[axis];
        near = if distance > near { distance } else { near };
    }
    near
}
