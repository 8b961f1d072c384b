//! The loop of a traversal, compiled for each processor level ([`base::multiversion!`]).

use super::hit::{Hit, HitKind, ray_flags};
use super::micromap;
use super::packet;
use super::ray::{BoxRay, FAR, Shear, are_finite};
use super::state::{Rules, Scene, Traversal};
use super::triangle::{self, Interval};
use crate::input::{transform_direction, transform_point};
use crate::instance::{
    CUSTOM_INDEX_AND_MASK, InstanceRecord, SBT_OFFSET_AND_FLAGS, WORLD_TO_OBJECT, reference, transform,
};
use crate::layout::{ACTIVE, Contents, GEOMETRY_INDEX, Header, OPAQUE, aabb_row, triangle_row};
use crate::pack::Pack;
use crate::vec4::{F32x4, Mask4};
use crate::view::{AabbLeaf, TriangleLeaf, View};
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

/// Result of a visit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The traversal goes on.
    Continue,
    /// A candidate needs a decision.
    Candidate,
    /// The traversal has ended.
    End,
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

/// An instance that a ray may enter.
pub(super) struct Found {
    /// Index of the instance.
    index: u32,
    record: InstanceRecord,
    /// The instance's structure.
    pub(super) view: View,
    pub(super) header: Header,
}

impl Found {
    /// Finds an instance of a top-level structure, unless rays with these flags and mask pass it
    /// by.
    #[inline(always)]
    pub(super) fn new(top: &View, index: u32, (flags, cull_mask): (u32, u32), scene: &Scene) -> Option<Found> {
        let record = top.instance(index)?;
        if record[CUSTOM_INDEX_AND_MASK] >> 24 & cull_mask == 0 {
            return None;
        }
        let found = scene.structures.find(reference(&record))?;
        let (view, header) = View::open(found.memory)?;
        let skipped = match view.contents() {
            Contents::Triangles => ray_flags::SKIP_TRIANGLES,
            Contents::Aabbs => ray_flags::SKIP_AABBS,
            // A reference to a top-level structure or a micromap is an overwritten one.
            Contents::Instances | Contents::Micromap => return None,
        };
        (flags & skipped == 0).then_some(Found { index, record, view, header })
    }

    /// Returns the transform into the instance's space.
    #[inline(always)]
    pub(super) fn world_to_object(&self) -> [f32; 12] {
        transform(&self.record, WORLD_TO_OBJECT)
    }

    /// Returns the rules in the instance for flags of a ray.
    #[inline(always)]
    pub(super) fn rules(&self, flags: u32) -> Rules {
        let instance = self.record[SBT_OFFSET_AND_FLAGS] >> 24;
        let rules = Rules::new(flags, instance);
        if self.view.has_micromaps() { rules.with_micromaps(instance) } else { rules }
    }

    /// Makes the instance that of a ray's hits.
    #[inline(always)]
    pub(super) fn set(&self, state: &mut Traversal) {
        state.instance = self.index;
        state.instance_custom_index = self.record[CUSTOM_INDEX_AND_MASK] & 0xff_ffff;
        state.instance_sbt_and_flags = self.record[SBT_OFFSET_AND_FLAGS];
    }

    /// Begins the traversal of the instance, whose box begins at a distance. Returns false if the
    /// ray is not finite in the instance's space.
    #[inline(always)]
    pub(super) fn enter(&self, state: &mut Traversal, distance: f32) -> bool {
        let Found { view, header, .. } = self;
        let rows = self.world_to_object();
        let origin = transform_point(&rows, state.ray.origin);
        let direction = transform_direction(&rows, state.ray.direction);
        if !are_finite(origin, direction) {
            return false;
        }
        let boxes = if view.contents() == Contents::Triangles {
            state.shear = Shear::new(origin, direction);
            BoxRay::for_triangles(origin, direction, &header.bounds)
        } else {
            (state.object_origin, state.object_direction) = (origin, direction);
            BoxRay::new(origin, direction, F32x4::splat(0.0))
        };
        self.set(state);
        state.rules = self.rules(state.flags);
        state.walk.enter(*view, boxes, distance, view.depth(), view.steps());
        true
    }
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

/// Visits the remaining lanes of the current leaf.
#[inline(always)]
fn leaf(state: &mut Traversal, scene: &Scene) -> Step {
    let lanes = core::mem::take(&mut state.pending_lanes);
    if !state.walk.count_leaf() {
        return Step::Continue;
    }
    let view = state.walk.view();
    if let Some(leaf) = view.triangle_leaf(state.pending_leaf) {
        triangles(state, scene, leaf, lanes)
    } else if let Some(leaf) = view.aabb_leaf(state.pending_leaf) {
        aabbs(state, leaf, lanes)
    } else {
        Step::Continue
    }
}

/// Lanes of a leaf that are not culled.
pub(super) struct Opacity {
    /// Lanes that are visited.
    pub(super) lanes: u32,
    /// Lanes that are opaque.
    pub(super) opaque: u32,
}

/// Finds the lanes that are active and not culled by their opacity.
#[inline(always)]
pub(super) fn opacity(rules: &Rules, words: [u32; 4], lanes: u32) -> Opacity {
    const { assert!(OPAQUE == 1 << 30 && ACTIVE == 1 << 31) };
    let [a, b, c, d] = words;
    let of_geometries = F32x4::from_bits([a << 1, b << 1, c << 1, d << 1]).sign_bits();
    let opaque = of_geometries & u32::from(rules.by_geometry) | u32::from(rules.opaque);
    let culled = opaque & u32::from(rules.cull_opaque) | !opaque & u32::from(rules.cull_no_opaque);
    Opacity { lanes: F32x4::from_bits(words).sign_bits() & lanes & !culled, opaque }
}

#[inline(always)]
fn triangles(state: &mut Traversal, scene: &Scene, leaf: TriangleLeaf, lanes: u32) -> Step {
    let words = leaf.words(triangle_row::GEOMETRY);
    let mut opacity = opacity(&state.rules, words, lanes);
    let interval = Interval { min: state.ray.t_min, max: state.t_max, floor: state.walk.t_min() };
    let mut hits = triangle::intersect(leaf, opacity.lanes, &state.shear, state.walk.ray(), &interval);
    if hits.lanes == 0 {
        return Step::Continue;
    }
    if state.rules.micromaps != 0 {
        let lanes = micromap::decide(state, scene, leaf, &hits);
        (hits.lanes, opacity.opaque) = (lanes.hit, lanes.opaque);
    }
    let front = hits.front ^ u32::from(state.rules.flip);
    let culled = front & u32::from(state.rules.cull_front) | !front & u32::from(state.rules.cull_back);
    let mut kept = hits.lanes & !culled;
    while kept != 0 {
        let lane = kept.trailing_zeros() as usize % 4;
        kept &= kept - 1;
        let hit = TriangleHit {
            lane,
            t: hits.t[lane],
            barycentrics: [hits.u[lane], hits.v[lane]],
            is_front: front >> lane & 1 != 0,
            is_opaque: opacity.opaque >> lane & 1 != 0,
        };
        match take(state, leaf, &hit) {
            Step::Continue => {}
            Step::Candidate => {
                state.pending_lanes = kept;
                return Step::Candidate;
            }
            Step::End => return Step::End,
        }
    }
    Step::Continue
}

/// A hit of a triangle, not culled.
pub(super) struct TriangleHit {
    /// The triangle's lane in its leaf.
    pub(super) lane: usize,
    /// Distance.
    pub(super) t: f32,
    /// Weights of the second and third vertex.
    pub(super) barycentrics: [f32; 2],
    /// True if the front is hit, as the instance sees it.
    pub(super) is_front: bool,
    /// True if no shader decides about it.
    pub(super) is_opaque: bool,
}

/// Commits a hit if it is opaque and the closest one. Another one becomes the candidate.
#[inline(always)]
pub(super) fn take(state: &mut Traversal, leaf: TriangleLeaf, hit: &TriangleHit) -> Step {
    let lane = hit.lane;
    let geometry = leaf.word(triangle_row::GEOMETRY, lane) & GEOMETRY_INDEX;
    let primitive = leaf.word(triangle_row::PRIMITIVE, lane);
    // At the distance of the committed hit the lower primitive wins; the end of the ray's own
    // interval does not belong to it.
    let is_later = || {
        let order = (state.instance, geometry, primitive);
        state.committed.kind == HitKind::None || order >= state.committed.order()
    };
    if hit.t > state.t_max || hit.t == state.t_max && is_later() {
        return Step::Continue;
    }
    let taken = Hit {
        kind: HitKind::Triangle,
        t: hit.t,
        barycentrics: hit.barycentrics,
        front_facing: u32::from(hit.is_front),
        opaque: u32::from(hit.is_opaque),
        instance: state.instance,
        custom_index: state.instance_custom_index,
        sbt_offset: state.instance_sbt_and_flags & 0xff_ffff,
        geometry,
        primitive,
        vertices: vertices(leaf, lane),
    };
    if !hit.is_opaque {
        state.candidate = taken;
        return Step::Candidate;
    }
    state.committed = taken;
    state.after_commit(hit.t);
    if state.active == 0 { Step::End } else { Step::Continue }
}

/// Returns the vertices of a triangle of a leaf.
#[inline(always)]
fn vertices(leaf: TriangleLeaf, lane: usize) -> [[f32; 3]; 3] {
    let mut vertices = [[0.0; 3]; 3];
    for (vertex, coordinates) in vertices.iter_mut().enumerate() {
        for (axis, coordinate) in coordinates.iter_mut().enumerate() {
            *coordinate = f32::from_bits(leaf.word(triangle_row::VERTEX + 3 * vertex + axis, lane));
        }
    }
    vertices
}

#[inline(always)]
fn aabbs(state: &mut Traversal, leaf: AabbLeaf, lanes: u32) -> Step {
    let words = leaf.words(aabb_row::GEOMETRY);
    let opacity = opacity(&state.rules, words, lanes);
    let mut kept = opacity.lanes & near_boxes(state, leaf);
    while kept != 0 {
        let lane = kept.trailing_zeros() as usize % 4;
        kept &= kept - 1;
        let row = |row: usize| f32::from_bits(leaf.words(row)[lane]);
        let min = [0, 1, 2].map(|axis| row(aabb_row::MIN + axis));
        let max = [0, 1, 2].map(|axis| row(aabb_row::MAX + axis));
        let Some(t) = box_distance(state, min, max) else { continue };
        state.candidate = Hit {
            kind: HitKind::Aabb,
            t,
            opaque: opacity.opaque >> lane & 1,
            instance: state.instance,
            custom_index: state.instance_custom_index,
            sbt_offset: state.instance_sbt_and_flags & 0xff_ffff,
            geometry: words[lane] & GEOMETRY_INDEX,
            primitive: leaf.words(aabb_row::PRIMITIVE)[lane],
            ..Hit::NONE
        };
        state.pending_lanes = kept;
        return Step::Candidate;
    }
    Step::Continue
}

/// Returns the lanes of a leaf whose boxes the ray may meet in its interval: those that
/// [`box_distance`] finds, and few others.
#[inline(always)]
fn near_boxes(state: &Traversal, leaf: AabbLeaf) -> u32 {
    let boxes = state.walk.ray();
    let mut near = F32x4::splat(state.ray.t_min);
    // Near distances have the same roundings as far ones, for which they are multiplied.
    let mut far = F32x4::splat(state.t_max * FAR);
    for axis in 0..3 {
        let (min, max) = (leaf.row(aabb_row::MIN + axis), leaf.row(aabb_row::MAX + axis));
        let mask = Mask4::splat(boxes.near_inverse[axis].is_sign_negative());
        let (near_plane, far_plane) = (mask.select(max, min), mask.select(min, max));
        let distance = (near_plane - F32x4::splat(boxes.near_origin[axis])) * F32x4::splat(boxes.near_inverse[axis]);
        near = distance.max(near);
        let distance = (far_plane - F32x4::splat(boxes.far_origin[axis])) * F32x4::splat(boxes.far_inverse[axis]);
        far = distance.min(far);
    }
    far.greater_or_equal(near).bits()
}

/// Returns where the ray enters a box, or the beginning of its interval inside of it; `None` if
/// they have no point in common. The interval's ends belong to it.
fn box_distance(state: &Traversal, min: [f32; 3], max: [f32; 3]) -> Option<f32> {
    let (mut near, mut far) = (f64::from(state.ray.t_min), f64::from(state.t_max));
    for axis in 0..3 {
        let (origin, direction) = (f64::from(state.object_origin[axis]), f64::from(state.object_direction[axis]));
        let [min, max] = [min[axis], max[axis]].map(f64::from);
        if direction == 0.0 {
            if origin < min || origin > max {
                return None;
            }
            continue;
        }
        let [a, b] = [(min - origin) / direction, (max - origin) / direction];
        near = near.max(a.min(b));
        far = far.min(a.max(b));
    }
    (near <= far).then_some(near as f32)
}
