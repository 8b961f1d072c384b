//! Visits of leaves: tests of their primitives, and decisions about the hits.

#![forbid(unsafe_code)]

use super::hit::{Hit, HitKind};
use super::hull::entry;
use super::micromap;
use super::motion;
use super::ray::FAR;
use super::state::{Rules, Scene, Traversal};
use super::triangle::{self, Interval};
use crate::layout::{ACTIVE, FIRST_CAP, GEOMETRY_INDEX, OPAQUE, aabb_row, sphere_row, swept_row, triangle_row};
use crate::spheres::{SweptSphere, extent};
use crate::vec4::F32x4;
use crate::view::{AabbLeaf, LeafRef, TriangleLeaf};

/// Result of a visit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The traversal goes on.
    Continue,
    /// A candidate needs a decision.
    Candidate,
    /// The traversal has ended.
    End,
}

/// Visits the remaining lanes of the current leaf.
#[inline(always)]
pub fn leaf(state: &mut Traversal, scene: &Scene) -> Step {
    let lanes = core::mem::take(&mut state.pending_lanes);
    if !state.walk.count_step() {
        state.walk.give_up();
        return Step::Continue;
    }
    let view = state.walk.view();
    if let Some(leaf) = view.triangle_leaf(state.pending_leaf) {
        triangles(state, scene, leaf, lanes)
    } else if let Some(leaf) = view.aabb_leaf(state.pending_leaf) {
        aabbs(state, leaf, lanes)
    } else {
        rare(state, scene, lanes)
    }
}

/// Lanes of a leaf that are not culled.
pub struct Opacity {
    /// Lanes that are visited.
    pub lanes: u32,
    /// Lanes that are opaque.
    pub opaque: u32,
}

/// Finds the lanes that are active and not culled by their opacity.
#[inline(always)]
pub fn opacity(rules: &Rules, words: [u32; 4], lanes: u32) -> Opacity {
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
        let step = take(state, leaf, &hit);
        if interrupts(state, step, kept) {
            return step;
        }
    }
    Step::Continue
}

/// Returns true if the visit of a leaf does not go on after a lane. A candidate leaves the lanes in
/// `kept` for the next visit.
#[inline(always)]
fn interrupts(state: &mut Traversal, step: Step, kept: u32) -> bool {
    if step == Step::Candidate {
        state.pending_lanes = kept;
    }
    step != Step::Continue
}

/// Returns a hit of no primitive, in the instance that is entered.
#[inline(always)]
fn of_instance(state: &Traversal) -> Hit {
    Hit {
        instance: state.instance,
        custom_index: state.instance_custom_index,
        sbt_offset: state.instance_sbt_and_flags & 0xff_ffff,
        ..Hit::NONE
    }
}

/// A hit of a triangle, not culled.
pub struct TriangleHit {
    /// The triangle's lane in its leaf.
    pub lane: usize,
    /// Distance.
    pub t: f32,
    /// Weights of the second and third vertex.
    pub barycentrics: [f32; 2],
    /// True if the front is hit, as the instance sees it.
    pub is_front: bool,
    /// True if no shader decides about it.
    pub is_opaque: bool,
}

/// Commits a hit if it is opaque and the closest one. Another one becomes the candidate.
#[inline(always)]
pub fn take(state: &mut Traversal, leaf: TriangleLeaf, hit: &TriangleHit) -> Step {
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
        geometry,
        primitive,
        vertices: vertices(leaf, lane),
        ..of_instance(state)
    };
    settle(state, taken)
}

/// Commits a hit that is opaque. Another one becomes the candidate.
#[inline(always)]
pub fn settle(state: &mut Traversal, taken: Hit) -> Step {
    if taken.opaque == 0 {
        state.candidate = taken;
        return Step::Candidate;
    }
    let t = taken.t;
    state.committed = taken;
    state.after_commit(t);
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
        if take_aabb(state, leaf, lane, opacity.opaque >> lane & 1) {
            state.pending_lanes = kept;
            return Step::Candidate;
        }
    }
    Step::Continue
}

/// Makes a box of a leaf the candidate if the ray has a point in it, and returns true if so.
#[inline(always)]
pub fn take_aabb(state: &mut Traversal, leaf: AabbLeaf, lane: usize, opaque: u32) -> bool {
    let row = |row: usize| f32::from_bits(leaf.word(row, lane));
    let min = [0, 1, 2].map(|axis| row(aabb_row::MIN + axis));
    let max = [0, 1, 2].map(|axis| row(aabb_row::MAX + axis));
    let Some(t) = box_distance(state, min, max) else { return false };
    state.candidate = Hit {
        kind: HitKind::Aabb,
        t,
        opaque,
        geometry: leaf.word(aabb_row::GEOMETRY, lane) & GEOMETRY_INDEX,
        primitive: leaf.word(aabb_row::PRIMITIVE, lane),
        ..of_instance(state)
    };
    true
}

/// Returns the lanes of a leaf whose boxes the ray may meet in its interval: those that
/// [`box_distance`] finds, and few others.
#[inline(always)]
fn near_boxes(state: &Traversal, leaf: AabbLeaf) -> u32 {
    let [min, max] = [aabb_row::MIN, aabb_row::MAX].map(|row| [0, 1, 2].map(|axis| leaf.row(row + axis)));
    // Near distances have the same roundings as far ones, for which they are multiplied.
    let interval = [state.ray.t_min, state.t_max * FAR].map(F32x4::splat);
    let [near, far] = state.walk.ray().clip(interval, min, max);
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

/// Visits lanes of the current leaf if it has spheres, swept spheres or triangles that move, and
/// otherwise the current instance of a structure with motion. The code is compiled once and not for
/// each processor level, because few structures have such leaves.
#[inline(never)]
fn rare(state: &mut Traversal, scene: &Scene, lanes: u32) -> Step {
    let view = state.walk.view();
    if let Some(leaf) = view.sphere_leaf(state.pending_leaf) {
        swept_spheres::<1, { sphere_row::COUNT }>(state, leaf, lanes)
    } else if let Some(leaf) = view.swept_leaf(state.pending_leaf) {
        swept_spheres::<2, { swept_row::COUNT }>(state, leaf, lanes)
    } else if let Some(leaf) = view.motion_leaf(state.pending_leaf) {
        triangles(state, scene, LeafRef::new(&motion::leaf_at(leaf, state.time)), lanes)
    } else {
        motion::enter_instance(state, scene);
        Step::Continue
    }
}

/// Visits lanes of a leaf of primitives with a number of ends. Each end has four rows, which those
/// of the primitive indices and of the geometry words follow. As for triangles, a hit counts only
/// if the ray hits the primitive's own box with the arithmetic of nodes, and it is not nearer than
/// that box, so that the closest hit does not depend on the tree.
#[inline(always)]
fn swept_spheres<const ENDS: usize, const ROWS: usize>(state: &mut Traversal, leaf: LeafRef<ROWS>, lanes: u32) -> Step {
    const { assert!(ROWS == 4 * ENDS + 2 && ENDS <= 2) };
    let words = leaf.words(4 * ENDS + 1);
    let opacity = opacity(&state.rules, words, lanes);
    let (near, hit) = sphere_boxes::<ENDS, ROWS>(state, leaf);
    let (near, mut kept) = (near.to_array(), opacity.lanes & hit);
    while kept != 0 {
        let lane = kept.trailing_zeros() as usize % 4;
        kept &= kept - 1;
        let is_opaque = opacity.opaque >> lane & 1 != 0;
        let Some(hit) = sphere_hit::<ENDS, ROWS>(state, leaf, (lane, near[lane], is_opaque)) else { continue };
        let step = settle(state, hit);
        if interrupts(state, step, kept) {
            return step;
        }
    }
    Step::Continue
}

/// Returns the hit of a primitive with a number of ends, whose box begins at a distance; `None` if
/// it is not hit in the ray's interval, or not before the committed hit.
#[inline(always)]
fn sphere_hit<const ENDS: usize, const ROWS: usize>(
    state: &Traversal,
    leaf: LeafRef<ROWS>,
    (lane, near, is_opaque): (usize, f32, bool),
) -> Option<Hit> {
    let end = |first: usize| [0, 1, 2, 3].map(|row| f32::from_bits(leaf.word(first + row, lane)));
    let (first, last, word) = (end(0), end(4 * (ENDS - 1)), leaf.word(4 * ENDS + 1, lane));
    let caps = if ENDS == 1 { FIRST_CAP } else { word };
    let [origin, direction] = [state.object_origin, state.object_direction].map(|vector| vector.map(f64::from));
    let entry = entry(origin, direction, &SweptSphere { ends: [first, last], caps })?;
    let computed = entry.t as f32;
    let t = if computed > near { computed } else { near };
    let order = (state.instance, word & GEOMETRY_INDEX, leaf.word(4 * ENDS, lane));
    // The ends of the interval belong to it. At the distance of the committed hit the lower
    // primitive wins.
    let is_later = state.committed.kind != HitKind::None && order >= state.committed.order();
    let is_inside = computed >= state.ray.t_min && t <= state.t_max && !(t == state.t_max && is_later);
    let ([x, y, z, radius], [to_x, to_y, to_z, to_radius]) = (first, last);
    is_inside.then_some(Hit {
        kind: if ENDS == 1 { HitKind::Sphere } else { HitKind::Lss },
        t,
        barycentrics: [entry.u, 0.0],
        opaque: u32::from(is_opaque),
        geometry: order.1,
        primitive: order.2,
        vertices: [[x, y, z], [to_x, to_y, to_z], [radius, to_radius, 0.0]],
        ..of_instance(state)
    })
}

/// Returns where the ray meets the boxes of a leaf's primitives, and the lanes whose boxes it meets
/// before the end of its interval.
#[inline(always)]
fn sphere_boxes<const ENDS: usize, const ROWS: usize>(state: &Traversal, leaf: LeafRef<ROWS>) -> (F32x4, u32) {
    let [mut min, mut max] = [[F32x4::splat(0.0); 3]; 2];
    for axis in 0..3 {
        (min[axis], max[axis]) = extent(leaf.row(axis), leaf.row(3));
        if ENDS == 2 {
            let (low, high) = extent(leaf.row(4 + axis), leaf.row(7));
            (min[axis], max[axis]) = (low.min(min[axis]), high.max(max[axis]));
        }
    }
    let interval = [state.walk.t_min(), f32::INFINITY].map(F32x4::splat);
    let [near, far] = state.walk.ray().clip(interval, min, max);
    let inside = far.greater_or_equal(near).and(F32x4::splat(state.t_max).greater_or_equal(near));
    (near, inside.bits())
}
