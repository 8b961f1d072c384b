//! Rays that begin together and go about the same way walk together ("packet").
//!
//! Rays of one octant visit the children of every node in the same order, so a walk that visits
//! what any of them hits visits what each would visit on its own, in its order. A packet tests the
//! children of a node once for all rays, and the rays when a child is visited. A ray leaves the
//! packet with the entries that remain for it when it differs from the others in an instance's
//! space, and then walks on its own. A packet waits while candidates are decided about, unless the
//! caller has to do that between two calls: rays with candidates leave it then.

#![forbid(unsafe_code)]

use super::bundle::{Bundle, Lines, Place, only, vector};
use super::bundle_triangle::{Shears, intersect};
use super::hit::HitKind;
use super::instances::Found;
use super::leaves::{Step, TriangleHit, opacity, take, take_aabb};
use super::members::Members;
use super::ray::BoxRay;
use super::state::{Rules, Scene, Traversal};
use super::walk::{STACK, levels_of_top, room};
use crate::layout::{Contents, INDEX, LEAF, aabb_row, triangle_row};
use crate::pack::{Pack, Packed};
use base::abi::MAX_LANES;
use base::host::Floats;
use core::hint::select_unpredictable;
use core::sync::atomic::Ordering;

/// Number of entries that a ray which leaves a packet has beside those of the packet.
const ENDS: u32 = 2;
/// Index in place of the root's parent.
const ROOT: u32 = !0;
/// Number of visits after which a packet is examined again. It ends if at most one ray hits the
/// child that is visited then, twice in a row.
const EXAMINED: u32 = 32;

/// Decides about the candidates of rays that walk together, as shaders do
/// ([`Traversal::confirm_intersection`], [`Traversal::generate_intersection`],
/// [`Traversal::terminate`]), given their positions in the list of rays.
pub type Decide<'a> = dyn FnMut(&[u32], &mut [Option<&mut Traversal>]) + 'a;

/// The way to decide about the candidates of packets of a part of a list of rays.
pub struct Deciding<'a, 'd> {
    /// Position of the part in the list.
    pub first: u32,
    /// Decides while the packet waits. Without it a ray with a candidate leaves the packet.
    pub decide: Option<&'a mut Decide<'d>>,
}

impl<'d> Deciding<'_, 'd> {
    /// Returns the same way for one of several packets.
    #[inline(always)]
    pub fn again(&mut self) -> Deciding<'_, 'd> {
        Deciding { first: self.first, decide: self.decide.as_deref_mut() }
    }
}

/// Result of a packet's walk: rays by their bits. All others have ended.
pub struct PacketResult {
    /// Rays that have a candidate.
    pub candidates: u32,
    /// Rays that walk on their own.
    pub remaining: u32,
}

/// The rays of a packet and the children that remain.
struct Packet<'a, 'd> {
    rays: [Option<&'a mut Traversal>; MAX_LANES],
    /// Lanes that walk, and those that have left.
    active: u32,
    candidates: u32,
    remaining: u32,
    /// Ends of the intervals, and the greatest one of lanes that walk.
    t_max: [f32; MAX_LANES],
    last: f32,
    /// Words of the children that remain.
    children: [u32; STACK],
    /// Indices of their nodes.
    parents: [u32; STACK],
    /// Bits of the hull's distances.
    nears: [u32; STACK],
    /// Lanes that visit the child.
    lanes: [u8; STACK],
    length: usize,
    /// Number of entries that belong to the top-level structure while an instance is walked.
    base: usize,
    /// Number of leaves that are visited, and of their lanes that hit them.
    leaves: u32,
    leaf_lanes: u32,
    /// Positions of the rays in the part of the list that [`Packet::deciding`] is for.
    numbers: [u8; MAX_LANES],
    deciding: Deciding<'a, 'd>,
}

/// A child that is visited.
#[derive(Clone, Copy)]
struct Visit {
    /// The child's word.
    child: u32,
    /// Index of its node.
    parent: u32,
    /// Lanes that visit it.
    lanes: u32,
}

/// The structure above an instance, and the instance.
#[derive(Clone, Copy)]
struct Outer<'a> {
    top: &'a Place,
    found: &'a Found,
}

impl<H: Pack> Inside<'_, H> {
    #[inline(always)]
    fn outer(&self) -> Outer<'_> {
        Outer { top: &self.top.place, found: self.found }
    }
}

/// The instance that a packet walks through.
struct Inside<'a, H: Pack> {
    /// The structure above.
    top: &'a Bundle<H>,
    found: &'a Found,
    rules: Rules,
    shears: Shears<H>,
}

/// Walks with the rays in `members`, at most eight, until all have ended or left.
#[inline(always)]
pub fn trace<H: Pack>(
    rays: &mut [Option<&mut Traversal>],
    members: Members,
    scene: &Scene,
    deciding: Deciding<'_, '_>,
) -> PacketResult {
    let mut packet = Packet {
        rays: [const { None }; MAX_LANES],
        active: 0,
        candidates: 0,
        remaining: 0,
        t_max: [0.0; MAX_LANES],
        last: 0.0,
        children: [0; STACK],
        parents: [0; STACK],
        nears: [0; STACK],
        lanes: [0; STACK],
        length: 0,
        base: 0,
        leaves: 0,
        leaf_lanes: 0,
        numbers: [0; MAX_LANES],
        deciding,
    };
    let mut count = 0;
    for (i, state) in rays.iter_mut().enumerate().filter(|(i, _)| members.rays >> i & 1 != 0) {
        if let (Some(state), true) = (state, count < MAX_LANES) {
            packet.t_max[count] = state.t_max;
            packet.rays[count] = Some(state);
            packet.numbers[count] = i as u8;
            packet.active |= 1 << count;
            count += 1;
        }
    }
    packet.limit();
    packet.walk::<H>(scene);
    for (lane, state) in packet.rays.iter_mut().enumerate() {
        let Some(state) = state else { continue };
        state.active &= packet.remaining >> lane | packet.candidates >> lane;
    }
    let left = packet.remaining | packet.candidates;
    members.count(2 * left.count_ones() < count as u32 && packet.leaf_lanes >= packet.leaves);
    let numbers = packet.numbers;
    let bits = |lanes: u32| (0..count).fold(0, |bits, lane| bits | (lanes >> lane & 1) << numbers[lane]);
    PacketResult { candidates: bits(packet.candidates), remaining: bits(packet.remaining) }
}

impl Packet<'_, '_> {
    /// Finds the greatest end of the intervals.
    #[inline(always)]
    fn limit(&mut self) {
        let mut last = 0.0;
        for (lane, t_max) in self.t_max.iter().enumerate() {
            let t_max = if self.active >> lane & 1 != 0 { *t_max } else { 0.0 };
            last = if t_max > last { t_max } else { last };
        }
        self.last = last;
    }

    /// Returns the rays in `lanes`; other lanes have the first one.
    #[inline(always)]
    fn states(&self, lanes: u32) -> Option<[&Traversal; MAX_LANES]> {
        let first = self.rays.get(lanes.trailing_zeros() as usize)?.as_deref()?;
        let mut states = [first; MAX_LANES];
        for (lane, state) in states.iter_mut().enumerate() {
            if let (Some(ray), true) = (&self.rays[lane], lanes >> lane & 1 != 0) {
                *state = ray;
            }
        }
        Some(states)
    }

    /// Walks through the top-level structure.
    #[inline(always)]
    fn walk<H: Pack>(&mut self, scene: &Scene) {
        let lanes = self.active;
        let Some(states) = self.states(lanes) else { return };
        let view = states[0].top;
        let lines = Lines::<H>::of(&states);
        let first = vector::<H>(&states.map(|state| state.ray.t_min));
        let bundle = Bundle::<H>::new(&lines, lines.margin_of_instances(), first, (view, levels_of_top(&view)));
        let Some(mut top) = bundle else {
            self.rays.iter_mut().flatten().for_each(|state| state.start());
            self.remaining = lanes;
            return;
        };
        self.push_root(0.0, lanes);
        while let Some(visit) = self.next() {
            if scene.abort.load(Ordering::Relaxed) != 0 || !top.count_step() {
                return;
            }
            if visit.child & LEAF != 0 {
                self.instance::<H>(&mut top, &lines, &visit, scene);
            } else {
                self.nodes::<H>(&mut top, None, &visit);
            }
        }
    }

    /// Adds the root as an entry.
    #[inline(always)]
    fn push_root(&mut self, near: f32, lanes: u32) {
        let at = self.length % STACK;
        (self.children[at], self.parents[at]) = (0, ROOT);
        (self.nears[at], self.lanes[at]) = (near.to_bits(), lanes as u8);
        self.length = at + 1;
    }

    /// Removes the next entry; `None` if the structure has no further one.
    #[inline(always)]
    fn next(&mut self) -> Option<Visit> {
        while self.length > self.base {
            self.length -= 1;
            let at = self.length % STACK;
            let lanes = u32::from(self.lanes[at]) & self.active;
            if lanes != 0 && f32::from_bits(self.nears[at]) <= self.last {
                return Some(Visit { child: self.children[at], parent: self.parents[at], lanes });
            }
        }
        None
    }

    /// Adds the children of a node that the hull hits, and those of the node that the entry below
    /// stands for, if it does. Neither depends on the other, so the processor works on both at a
    /// time. The children of the first node are above the others, which is the order of two
    /// visits. `inside` is the instance that is walked.
    #[inline(always)]
    fn nodes<H: Pack>(&mut self, bundle: &mut Bundle<H>, inside: Option<&Inside<H>>, visit: &Visit) {
        let index = visit.child & INDEX;
        let Some(node) = bundle.place.view.node(index) else { return };
        let (at, room) = (self.length, room(bundle.place.depth + ENDS) as usize);
        if at + MAX_LANES > room {
            self.leave(&bundle.place, inside.map(Inside::outer), self.active, visit);
            return;
        }
        let below = at.wrapping_sub(1) % STACK;
        let (child, lanes) = (self.children[below], u32::from(self.lanes[below]) & self.active);
        let other = bundle.place.view.node(child & INDEX);
        let are_two = (at > self.base)
            & (child & LEAF == 0)
            & (lanes != 0)
            & (f32::from_bits(self.nears[below]) <= self.last)
            & (at + 2 * MAX_LANES <= room)
            & (bundle.place.steps != 0)
            & other.is_some();
        bundle.place.steps -= u64::from(are_two);
        // No branch depends on the kind of the entry below, which cannot be predicted. If it is no
        // node, the first node takes its place, and is written twice.
        let other = select_unpredictable(are_two, other.unwrap_or(node), node);
        let (other_near, other_far) = bundle.test_hull(other, self.last);
        let (near, far) = bundle.test_hull(node, self.last);
        let packed = H::pack(other_near, other_far, other.children::<H>(), bundle.order(other));
        let end = self.store(select_unpredictable(are_two, below, at), packed, child & INDEX, lanes);
        let packed = H::pack(near, far, node.children::<H>(), bundle.order(node));
        self.length = self.store(select_unpredictable(are_two, end, at), packed, index, visit.lanes);
    }

    /// Stores children of the node with an index as entries, and returns the place behind them.
    /// Places from there on have no meaning.
    #[inline(always)]
    fn store(&mut self, at: usize, Packed { children, distances, count }: Packed, index: u32, lanes: u32) -> usize {
        if let Some(to) = self.children.get_mut(at..at + 8) {
            to.copy_from_slice(&children);
        }
        if let Some(to) = self.nears.get_mut(at..at + 8) {
            to.copy_from_slice(&distances);
        }
        if let Some(to) = self.parents.get_mut(at..at + 8) {
            to.copy_from_slice(&[index; 8]);
        }
        if let Some(to) = self.lanes.get_mut(at..at + 8) {
            to.copy_from_slice(&[lanes as u8; 8]);
        }
        at + count as usize
    }

    /// Walks through an instance.
    #[inline(always)]
    fn instance<H: Pack>(&mut self, top: &mut Bundle<H>, lines: &Lines<H>, visit: &Visit, scene: &Scene) {
        let (near, hit) = Self::distances(top, visit, vector::<H>(&self.t_max));
        let visit = &Visit { lanes: visit.lanes & hit, ..*visit };
        let Some(Some(leader)) = self.rays.get(visit.lanes.trailing_zeros() as usize) else { return };
        let (flags, index) = ((leader.flags, leader.cull_mask), visit.child & INDEX);
        let Some(found) = Found::new(&top.place.view, index, flags, scene) else { return };
        let view = found.view;
        let are_boxes = view.contents() == Contents::Aabbs && self.deciding.decide.is_some();
        if !(view.contents() == Contents::Triangles || are_boxes) || view.has_micromaps() {
            self.leave(&top.place, None, visit.lanes, visit);
            return;
        }
        let object = lines.transformed(&found.world_to_object());
        let lanes = visit.lanes & object.finite();
        if lanes == 0 {
            return;
        }
        let leader = lanes.trailing_zeros() as usize % MAX_LANES;
        let different = lanes & !object.alike(leader);
        if different != 0 {
            self.leave(&top.place, None, different, visit);
        }
        let lanes = lanes & !different;
        let object = object.only(lanes, leader);
        let shears = Shears::<H>::new(&object);
        let no_margin = [H::Floats::splat(0.0); 3];
        let margin = if are_boxes { no_margin } else { object.margin_of_triangles(&found.header.bounds) };
        let near = only::<H>(near, lanes, leader);
        let Some(mut bundle) = Bundle::<H>::new(&object, margin, near, (view, view.depth())) else {
            self.leave(&top.place, None, lanes, visit);
            return;
        };
        // Only boxes are tested with the rays in the space of the instance.
        let components = if are_boxes { Some(object.components()) } else { None };
        for (lane, state) in self.rays.iter_mut().enumerate() {
            if let (Some(state), true) = (state, lanes >> lane & 1 != 0) {
                found.set(state);
                if let Some([[x, y, z], [dx, dy, dz]]) = &components {
                    state.object_origin = [x[lane], y[lane], z[lane]];
                    state.object_direction = [dx[lane], dy[lane], dz[lane]];
                }
            }
        }
        let inside = Inside { top, found: &found, rules: found.rules(flags.0), shears };
        let base = core::mem::replace(&mut self.base, self.length);
        self.push_root(0.0, lanes);
        let (mut visits, mut was_sparse) = (0u32, false);
        while let Some(visit) = self.next() {
            if !bundle.count_step() {
                self.length = self.base;
                break;
            }
            visits = visits.wrapping_add(1);
            if visits.is_multiple_of(EXAMINED) {
                let (_, hit) = Self::distances(&bundle, &visit, vector::<H>(&self.t_max));
                let is_sparse = (visit.lanes & hit).count_ones() < 2;
                if is_sparse && was_sparse {
                    self.leave(&bundle.place, Some(inside.outer()), self.active, &visit);
                    break;
                }
                was_sparse = is_sparse;
            }
            // The entry below is visited when all below this one has been.
            bundle.place.view.prefetch(self.children[self.length.wrapping_sub(1) % STACK]);
            if visit.child & LEAF == 0 {
                self.nodes::<H>(&mut bundle, Some(&inside), &visit);
                continue;
            }
            if scene.abort.load(Ordering::Relaxed) != 0 {
                self.active = 0;
            }
            self.leaf::<H>(&bundle, &inside, &visit);
        }
        self.base = base;
    }

    /// Returns the distances of a child for all rays, and bits of those that hit it.
    #[inline(always)]
    fn distances<H: Pack>(bundle: &Bundle<H>, visit: &Visit, t_max: H::Floats) -> (H::Floats, u32) {
        match bundle.place.view.node(visit.parent) {
            Some(node) => bundle.test_child(node, node.slot::<H>(visit.child), t_max),
            None => (bundle.t_min, !0),
        }
    }

    /// Visits a leaf.
    #[inline(always)]
    fn leaf<H: Pack>(&mut self, bundle: &Bundle<H>, inside: &Inside<H>, visit: &Visit) {
        let (_, hit) = Self::distances(bundle, visit, vector::<H>(&self.t_max));
        let visit = &Visit { lanes: visit.lanes & hit, ..*visit };
        self.leaves = self.leaves.wrapping_add(1);
        self.leaf_lanes = self.leaf_lanes.wrapping_add(visit.lanes.count_ones());
        if visit.lanes == 0 {
            return;
        }
        let index = visit.child & INDEX;
        let Some(leaf) = bundle.place.view.triangle_leaf(index) else {
            return self.boxes(bundle, inside, visit);
        };
        let rules = &inside.rules;
        let opacity = opacity(rules, leaf.words(triangle_row::GEOMETRY), 0xf);
        let mut triangles = opacity.lanes & bundle.test_triangles(leaf, self.last);
        while triangles != 0 {
            let triangle = triangles.trailing_zeros() as usize % 4;
            triangles &= triangles - 1;
            let lanes = visit.lanes & self.active;
            let interval = [inside.top.t_min, vector::<H>(&self.t_max)];
            let Some(hits) = intersect((leaf, triangle), lanes, &inside.shears, bundle, interval) else { continue };
            let flip = |bits: u8| if bits != 0 { 0xff } else { 0 };
            let front = hits.front ^ flip(rules.flip);
            let mut kept = hits.lanes & !(front & flip(rules.cull_front) | !front & flip(rules.cull_back));
            if kept == 0 {
                continue;
            }
            let mut candidates = 0;
            while kept != 0 {
                let lane = kept.trailing_zeros() as usize % MAX_LANES;
                kept &= kept - 1;
                let hit = TriangleHit {
                    lane: triangle,
                    t: hits.t[lane],
                    barycentrics: [hits.u[lane], hits.v[lane]],
                    is_front: front >> lane & 1 != 0,
                    is_opaque: opacity.opaque >> triangle & 1 != 0,
                };
                let Some(state) = &mut self.rays[lane] else { continue };
                let step = take(state, leaf, &hit);
                self.t_max[lane] = state.t_max;
                self.active &= !(u32::from(step == Step::End) << lane);
                candidates |= u32::from(step == Step::Candidate) << lane;
            }
            if candidates != 0 {
                self.decide(&bundle.place, inside.outer(), candidates, (index, triangles));
            }
            self.limit();
        }
    }

    /// Visits a leaf of AABBs.
    #[inline(always)]
    fn boxes<H: Pack>(&mut self, bundle: &Bundle<H>, inside: &Inside<H>, visit: &Visit) {
        let index = visit.child & INDEX;
        let Some(leaf) = bundle.place.view.aabb_leaf(index) else { return };
        let opacity = opacity(&inside.rules, leaf.words(aabb_row::GEOMETRY), 0xf);
        let mut boxes = opacity.lanes & bundle.test_aabbs(leaf, inside.top.first(), self.last);
        while boxes != 0 {
            let number = boxes.trailing_zeros() as usize % 4;
            boxes &= boxes - 1;
            let mut lanes = visit.lanes & self.active;
            let mut candidates = 0;
            while lanes != 0 {
                let lane = lanes.trailing_zeros() as usize % MAX_LANES;
                lanes &= lanes - 1;
                let Some(state) = &mut self.rays[lane] else { continue };
                let is_candidate = take_aabb(state, leaf, number, opacity.opaque >> number & 1);
                candidates |= u32::from(is_candidate) << lane;
            }
            if candidates != 0 {
                self.decide(&bundle.place, inside.outer(), candidates, (index, boxes));
                self.limit();
            }
        }
    }

    /// Lets the candidates of rays be decided about. Without a way to do so at once, the rays
    /// leave, of which some lanes of a leaf are pending.
    #[inline(never)]
    fn decide(&mut self, place: &Place, outer: Outer, lanes: u32, (leaf, pending): (u32, u32)) {
        let each = (0..MAX_LANES).filter(|lane| lanes >> lane & 1 != 0);
        let Deciding { first, decide } = self.deciding.again();
        let Some(decide) = decide else {
            for lane in each {
                self.separate(place, Some(outer), lane);
                self.remaining &= !(1 << lane);
                self.candidates |= 1 << lane;
                if let Some(state) = &mut self.rays[lane] {
                    (state.pending_leaf, state.pending_lanes) = (leaf, pending);
                }
            }
            return;
        };
        let mut rays = [const { None }; MAX_LANES];
        let mut positions = [0; MAX_LANES];
        let mut count = 0;
        for (lane, state) in self.rays.iter_mut().enumerate().filter(|(lane, _)| lanes >> lane & 1 != 0) {
            (rays[count], positions[count]) = (state.as_deref_mut(), first + u32::from(self.numbers[lane]));
            count += 1;
        }
        decide(&positions[..count], &mut rays[..count]);
        for lane in each {
            let Some(state) = &mut self.rays[lane] else { continue };
            state.candidate.kind = HitKind::None;
            self.t_max[lane] = state.t_max;
            self.active &= !(u32::from(state.active == 0) << lane);
        }
    }

    /// Lets rays leave the packet before a child is visited, which those of its lanes still visit.
    #[cold]
    fn leave(&mut self, place: &Place, outer: Option<Outer>, lanes: u32, visit: &Visit) {
        let lanes = lanes & self.active;
        for lane in (0..MAX_LANES).filter(|lane| lanes >> lane & 1 != 0) {
            self.separate(place, outer, lane);
            if let (Some(state), true) = (&mut self.rays[lane], visit.lanes >> lane & 1 != 0) {
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
        let Some(state) = &mut self.rays[lane] else { return };
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
