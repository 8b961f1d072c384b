//! Rays that begin together and go about the same way walk together ("packet").
//!
//! Rays of one octant visit the children of every node in the same order, so a walk that visits
//! what any of them hits visits what each would visit on its own, in its order. A packet tests the
//! children of a node once for all rays, and the rays when a child is visited. A ray leaves the
//! packet with the entries that remain for it when it differs from the others in an instance's
//! space, and then walks on its own. A packet waits while candidates are decided about, unless the
//! caller has to do that between two calls: rays with candidates leave it then.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over parts index several arrays")]

use super::bundle::{Bundle, Lines, Place, WIDTH, extremes, only, vector};
use super::bundle_triangle::{Shears, intersect};
use super::instances::Found;
use super::leaves::{Step, TriangleHit, opacity, take, take_aabb};
use super::members::Members;
use super::state::{Rules, Scene, Traversal};
use super::walk::{STACK, levels_of_top, room};
use crate::layout::{Contents, INDEX, LEAF, aabb_row, triangle_row};
use crate::pack::{Pack, Packed};
use crate::view::TriangleLeaf;
use base::abi::MAX_LANES;
use base::host::{Floats, Ints};
use core::hint::select_unpredictable;
use core::sync::atomic::Ordering;

/// Number of entries that a ray which leaves a packet has beside those of the packet.
const ENDS: u32 = 2;
/// Number of entries for which a visit needs room.
const CHILDREN: usize = 8;
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
pub struct Packet<'a, 'd, const N: usize> {
    pub rays: [[Option<&'a mut Traversal>; MAX_LANES]; N],
    /// Lanes that walk, and those that have left.
    pub active: u32,
    pub candidates: u32,
    pub remaining: u32,
    /// Ends of the intervals, and the greatest one of lanes that walk.
    t_max: [[f32; MAX_LANES]; N],
    last: f32,
    /// Words of the children that remain.
    pub children: [u32; STACK],
    /// Indices of their nodes.
    pub parents: [u32; STACK],
    /// Bits of the hull's distances.
    pub nears: [u32; STACK],
    /// Lanes that visit the child.
    pub lanes: [u16; STACK],
    pub length: usize,
    /// Number of entries that belong to the top-level structure while an instance is walked.
    pub base: usize,
    /// Number of leaves that are visited, and of their lanes that hit them.
    leaves: u32,
    leaf_lanes: u32,
    /// Positions of the rays in the part of the list that [`Packet::deciding`] is for.
    pub numbers: [u8; WIDTH],
    pub deciding: Deciding<'a, 'd>,
}

/// A child that is visited.
#[derive(Clone, Copy)]
pub struct Visit {
    /// The child's word.
    pub child: u32,
    /// Index of its node.
    pub parent: u32,
    /// Lanes that visit it.
    pub lanes: u32,
}

/// The structure above an instance, and the instance.
#[derive(Clone, Copy)]
pub struct Outer<'a> {
    pub top: &'a Place,
    pub found: &'a Found,
}

impl<H: Pack, const N: usize> Inside<'_, H, N> {
    #[inline(always)]
    fn outer(&self) -> Outer<'_> {
        Outer { top: &self.top.place, found: self.found }
    }
}

/// The instance that a packet walks through.
struct Inside<'a, H: Pack, const N: usize> {
    /// The structure above.
    top: &'a Bundle<H, N>,
    found: &'a Found,
    rules: Rules,
    shears: [Shears<H>; N],
}

/// Walks with the rays in `members`, at most eight times `N`, until all have ended or left.
#[inline(always)]
pub fn trace<H: Pack, const N: usize>(
    rays: &mut [Option<&mut Traversal>],
    members: Members,
    scene: &Scene,
    deciding: Deciding<'_, '_>,
) -> PacketResult {
    let mut packet = Packet::<N> {
        rays: [const { [const { None }; MAX_LANES] }; N],
        active: 0,
        candidates: 0,
        remaining: 0,
        t_max: [[0.0; MAX_LANES]; N],
        last: 0.0,
        children: [0; STACK],
        parents: [0; STACK],
        nears: [0; STACK],
        lanes: [0; STACK],
        length: 0,
        base: 0,
        leaves: 0,
        leaf_lanes: 0,
        numbers: [0; WIDTH],
        deciding,
    };
    let mut count = 0;
    for (i, state) in rays.iter_mut().enumerate().filter(|(i, _)| members.rays >> i & 1 != 0) {
        if let (Some(state), true) = (state, count < N * MAX_LANES) {
            *packet.t_max_of(count) = state.t_max;
            packet.rays.as_flattened_mut()[count] = Some(state);
            packet.numbers[count] = i as u8;
            packet.active |= 1 << count;
            count += 1;
        }
    }
    packet.limit::<H>();
    packet.walk::<H>(scene);
    for (lane, state) in packet.rays.as_flattened_mut().iter_mut().enumerate() {
        let Some(state) = state else { continue };
        state.active &= packet.remaining >> lane | packet.candidates >> lane;
    }
    let left = packet.remaining | packet.candidates;
    members.count(2 * left.count_ones() < count as u32 && packet.leaf_lanes >= packet.leaves);
    let numbers = packet.numbers;
    let bits = |lanes: u32| (0..count).fold(0, |bits, lane| bits | (lanes >> lane & 1) << numbers[lane]);
    PacketResult { candidates: bits(packet.candidates), remaining: bits(packet.remaining) }
}

impl<const N: usize> Packet<'_, '_, N> {
    /// Number of rays for which there is room.
    pub const LANES: usize = N * MAX_LANES;

    /// Returns the end of a ray's interval.
    #[inline(always)]
    pub fn t_max_of(&mut self, lane: usize) -> &mut f32 {
        &mut self.t_max.as_flattened_mut()[lane % Self::LANES]
    }

    /// Returns the ends of the intervals.
    #[inline(always)]
    fn ends<H: Pack>(&self) -> [H::Floats; N] {
        let mut ends = [H::Floats::splat(0.0); N];
        for part in 0..N {
            ends[part] = vector::<H>(&self.t_max[part]);
        }
        ends
    }

    /// Finds the greatest end of the intervals.
    #[inline(always)]
    fn limit<H: Pack>(&mut self) {
        let mut ends = self.ends::<H>();
        for part in 0..N {
            let active = H::Ints::from_mask(self.active >> (MAX_LANES * part) & 0xff);
            ends[part] = (active & ends[part].bits()).as_floats();
        }
        self.last = extremes(ends)[1];
    }

    /// Returns the rays in `lanes`; other lanes have the first one.
    #[inline(always)]
    fn states(&self, lanes: u32) -> Option<[[&Traversal; MAX_LANES]; N]> {
        let rays = self.rays.as_flattened();
        let first = rays.get(lanes.trailing_zeros() as usize)?.as_deref()?;
        let mut states = [[first; MAX_LANES]; N];
        for (lane, state) in states.as_flattened_mut().iter_mut().enumerate() {
            if let (Some(ray), true) = (&rays[lane], lanes >> lane & 1 != 0) {
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
        let view = states[0][0].top;
        let lines = Lines::<H, N>::of(&states);
        let mut first = [H::Floats::splat(0.0); N];
        for part in 0..N {
            first[part] = vector::<H>(&states[part].map(|state| state.ray.t_min));
        }
        let bundle = Bundle::new(&lines, &lines.margin_of_instances(), first, (view, levels_of_top(&view)));
        let Some(mut top) = bundle else {
            self.rays.as_flattened_mut().iter_mut().flatten().for_each(|state| state.start());
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
        (self.nears[at], self.lanes[at]) = (near.to_bits(), lanes as u16);
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

    /// Adds the children of a node that the hull hits, and in an instance those of the node that
    /// the entry below stands for, if it does. Neither depends on the other, so the processor works
    /// on both at a time. The children of the first node are above the others, which is the order
    /// of two visits. `inside` is the instance that is walked.
    #[inline(always)]
    fn nodes<H: Pack>(&mut self, bundle: &mut Bundle<H, N>, inside: Option<&Inside<H, N>>, visit: &Visit) {
        let index = visit.child & INDEX;
        let Some(node) = bundle.place.view.node(index) else { return };
        let (at, room) = (self.length, room(bundle.place.depth + ENDS) as usize);
        if at + CHILDREN > room {
            self.leave(&bundle.place, inside.map(Inside::outer), self.active, visit);
            return;
        }
        let below = at.wrapping_sub(1) % STACK;
        let (child, lanes) = (self.children[below], u32::from(self.lanes[below]) & self.active);
        let other = bundle.place.view.node(child & INDEX);
        let are_two = inside.is_some()
            & (at > self.base)
            & (child & LEAF == 0)
            & (lanes != 0)
            & (f32::from_bits(self.nears[below]) <= self.last)
            & (at + 2 * CHILDREN <= room)
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
            to.copy_from_slice(&[lanes as u16; 8]);
        }
        at + count as usize
    }

    /// Walks through an instance.
    #[inline(always)]
    fn instance<H: Pack>(&mut self, top: &mut Bundle<H, N>, lines: &Lines<H, N>, visit: &Visit, scene: &Scene) {
        let (near, hit) = Self::distances(top, visit, self.ends::<H>());
        let visit = &Visit { lanes: visit.lanes & hit, ..*visit };
        let first = visit.lanes.trailing_zeros() as usize;
        let Some(Some(leader)) = self.rays.as_flattened().get(first) else { return };
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
        let leader = lanes.trailing_zeros() as usize % Self::LANES;
        let different = lanes & !object.alike(leader);
        if different != 0 {
            self.leave(&top.place, None, different, visit);
        }
        let lanes = lanes & !different;
        let object = object.only(lanes, leader);
        let mut shears = [Shears::<H>::new(&object.0[0]); N];
        for part in 1..N {
            shears[part] = Shears::new(&object.0[part]);
        }
        let no_margin = [[H::Floats::splat(0.0); 3]; N];
        let margin = if are_boxes { no_margin } else { object.margin_of_triangles(&found.header.bounds) };
        let near = only::<H, N>(near, lanes, leader);
        let Some(mut bundle) = Bundle::new(&object, &margin, near, (view, view.depth())) else {
            self.leave(&top.place, None, lanes, visit);
            return;
        };
        for (part, states) in self.rays.iter_mut().enumerate() {
            let [[x, y, z], [dx, dy, dz]] = object.0[part].components();
            for (lane, state) in states.iter_mut().enumerate() {
                if let (Some(state), true) = (state, lanes >> (MAX_LANES * part + lane) & 1 != 0) {
                    found.set(state);
                    // Only boxes are tested with the rays in the space of the instance.
                    if are_boxes {
                        state.object_origin = [x[lane], y[lane], z[lane]];
                        state.object_direction = [dx[lane], dy[lane], dz[lane]];
                    }
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
            let (is_leaf, is_examined) = (visit.child & LEAF != 0, visits.is_multiple_of(EXAMINED));
            let mut lanes = visit.lanes;
            if is_leaf || is_examined {
                lanes &= Self::distances(&bundle, &visit, self.ends::<H>()).1;
            }
            if is_examined {
                let is_sparse = lanes.count_ones() < 2;
                if is_sparse && was_sparse {
                    self.leave(&bundle.place, Some(inside.outer()), self.active, &visit);
                    break;
                }
                was_sparse = is_sparse;
            }
            // The entry below is visited when all below this one has been.
            bundle.place.view.prefetch(self.children[self.length.wrapping_sub(1) % STACK]);
            if !is_leaf {
                self.nodes::<H>(&mut bundle, Some(&inside), &visit);
                continue;
            }
            if scene.abort.load(Ordering::Relaxed) != 0 {
                self.active = 0;
            }
            self.leaf::<H>(&bundle, &inside, &Visit { lanes, ..visit });
        }
        self.base = base;
    }

    /// Returns the distances of a child for all rays, and bits of those that hit it.
    #[inline(always)]
    fn distances<H: Pack>(bundle: &Bundle<H, N>, visit: &Visit, t_max: [H::Floats; N]) -> ([H::Floats; N], u32) {
        match bundle.place.view.node(visit.parent) {
            Some(node) => bundle.test_child(node, node.slot::<H>(visit.child), t_max),
            None => (bundle.t_min(), !0),
        }
    }

    /// Visits a leaf with the rays that hit its box.
    #[inline(always)]
    fn leaf<H: Pack>(&mut self, bundle: &Bundle<H, N>, inside: &Inside<H, N>, visit: &Visit) {
        self.leaves = self.leaves.wrapping_add(1);
        self.leaf_lanes = self.leaf_lanes.wrapping_add(visit.lanes.count_ones());
        if visit.lanes == 0 {
            return;
        }
        let index = visit.child & INDEX;
        let Some(leaf) = bundle.place.view.triangle_leaf(index) else {
            return self.boxes(bundle, inside, visit);
        };
        let opacity = opacity(&inside.rules, leaf.words(triangle_row::GEOMETRY), 0xf);
        let mut triangles = opacity.lanes & bundle.test_triangles(leaf, self.last);
        while triangles != 0 {
            let triangle = triangles.trailing_zeros() as usize % 4;
            triangles &= triangles - 1;
            let is_opaque = opacity.opaque >> triangle & 1 != 0;
            let (mut has_hit, mut candidates) = (false, 0);
            for part in 0..N {
                let lanes = (visit.lanes & self.active) >> (MAX_LANES * part) & 0xff;
                if N == 1 || lanes != 0 {
                    let found = self.triangle((bundle, inside), (leaf, triangle), (part, lanes), is_opaque);
                    has_hit |= found.is_some();
                    candidates |= found.unwrap_or(0) << (MAX_LANES * part);
                }
            }
            if candidates != 0 {
                self.decide(&bundle.place, inside.outer(), candidates, (index, triangles));
            }
            if has_hit {
                self.limit::<H>();
            }
        }
    }

    /// Intersects eight rays with a triangle of a leaf. Returns those that have a candidate; `None`
    /// if no ray hits the triangle.
    #[inline(always)]
    fn triangle<H: Pack>(
        &mut self,
        (bundle, inside): (&Bundle<H, N>, &Inside<H, N>),
        (leaf, triangle): (TriangleLeaf, usize),
        (part, lanes): (usize, u32),
        is_opaque: bool,
    ) -> Option<u32> {
        let rules = &inside.rules;
        let rays = (&bundle.parts[part], bundle.octant());
        let interval = [inside.top.parts[part].t_min, vector::<H>(&self.t_max[part])];
        let hits = intersect((leaf, triangle), lanes, &inside.shears[part], rays, interval)?;
        let flip = |bits: u8| if bits != 0 { 0xff } else { 0 };
        let front = hits.front ^ flip(rules.flip);
        let mut kept = hits.lanes & !(front & flip(rules.cull_front) | !front & flip(rules.cull_back));
        if kept == 0 {
            return None;
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
                is_opaque,
            };
            let Some(state) = &mut self.rays[part][lane] else { continue };
            let step = take(state, leaf, &hit);
            self.t_max[part][lane] = state.t_max;
            self.active &= !(u32::from(step == Step::End) << (MAX_LANES * part + lane));
            candidates |= u32::from(step == Step::Candidate) << lane;
        }
        Some(candidates)
    }

    /// Visits a leaf of AABBs.
    #[inline(always)]
    fn boxes<H: Pack>(&mut self, bundle: &Bundle<H, N>, inside: &Inside<H, N>, visit: &Visit) {
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
                let lane = lanes.trailing_zeros() as usize % Self::LANES;
                lanes &= lanes - 1;
                let Some(state) = &mut self.rays.as_flattened_mut()[lane] else { continue };
                let is_candidate = take_aabb(state, leaf, number, opacity.opaque >> number & 1);
                candidates |= u32::from(is_candidate) << lane;
            }
            if candidates != 0 {
                self.decide(&bundle.place, inside.outer(), candidates, (index, boxes));
                self.limit::<H>();
            }
        }
    }
}
