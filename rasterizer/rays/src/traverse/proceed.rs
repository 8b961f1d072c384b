//! The loop of a traversal, compiled for each processor level ([`base::multiversion!`]).

use super::hit::{Hit, HitKind, ray_flags};
use super::micromap;
use super::ray::{BoxRay, Shear, are_finite};
use super::state::{Rules, Scene, Traversal};
use super::triangle::{self, Interval};
use crate::input::{transform_direction, transform_point};
use crate::instance::{CUSTOM_INDEX_AND_MASK, SBT_OFFSET_AND_FLAGS, WORLD_TO_OBJECT, reference, transform};
use crate::layout::{ACTIVE, Contents, GEOMETRY_INDEX, OPAQUE, aabb_row, triangle_row};
use crate::pack::Pack;
use crate::vec4::F32x4;
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
enum Step {
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
    let mut running = [0u8; MAX_RAYS];
    let (mut count, mut found) = (0, 0);
    for (i, state) in rays.iter_mut().enumerate() {
        let Some(state) = state else { continue };
        state.candidate.kind = HitKind::None;
        let step = match state.pending_lanes {
            _ if state.active == 0 => Step::End,
            0 => Step::Continue,
            _ => leaf(state, scene),
        };
        found |= u32::from(step == Step::Candidate) << i;
        if step == Step::Continue {
            running[count] = i as u8;
            count += 1;
        }
        state.active &= u32::from(step != Step::End);
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
    let Some(record) = state.top.instance(index) else { return };
    if record[CUSTOM_INDEX_AND_MASK] >> 24 & state.cull_mask == 0 {
        return;
    }
    let Some((view, header)) = scene.structures.find(reference(&record)).and_then(|found| View::open(found.memory))
    else {
        return;
    };
    let skipped = match view.contents() {
        Contents::Triangles => ray_flags::SKIP_TRIANGLES,
        Contents::Aabbs => ray_flags::SKIP_AABBS,
        // A reference to a top-level structure or a micromap is an overwritten one.
        Contents::Instances | Contents::Micromap => !0,
    };
    if skipped == !0 || state.flags & skipped != 0 {
        return;
    }
    let rows = transform(&record, WORLD_TO_OBJECT);
    let origin = transform_point(&rows, state.ray.origin);
    let direction = transform_direction(&rows, state.ray.direction);
    if !are_finite(origin, direction) {
        return;
    }
    let boxes = if view.contents() == Contents::Triangles {
        state.shear = Shear::new(origin, direction);
        BoxRay::for_triangles(origin, direction, &header.bounds)
    } else {
        (state.object_origin, state.object_direction) = (origin, direction);
        BoxRay::new(origin, direction, F32x4::splat(0.0))
    };
    state.instance = index;
    state.instance_custom_index = record[CUSTOM_INDEX_AND_MASK] & 0xff_ffff;
    state.instance_sbt_and_flags = record[SBT_OFFSET_AND_FLAGS];
    state.rules = Rules::new(state.flags, state.instance_sbt_and_flags >> 24);
    if view.has_micromaps() {
        state.rules = state.rules.with_micromaps(state.instance_sbt_and_flags >> 24);
    }
    state.top_steps = state.walk.steps();
    state.walk.enter(view, boxes, distance, view.depth(), view.steps());
    state.walk.push_root(distance);
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
struct Opacity {
    /// Lanes that are visited.
    lanes: u32,
    /// Lanes that are opaque.
    opaque: u32,
}

/// Finds the lanes that are active and not culled by their opacity.
#[inline(always)]
fn opacity(rules: &Rules, words: [u32; 4], lanes: u32) -> Opacity {
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
    let primitives = leaf.words(triangle_row::PRIMITIVE);
    while kept != 0 {
        let lane = kept.trailing_zeros() as usize % 4;
        kept &= kept - 1;
        let t = hits.t[lane];
        let order = (state.instance, words[lane] & GEOMETRY_INDEX, primitives[lane]);
        // At the distance of the committed hit the lower primitive wins; the end of the ray's own
        // interval does not belong to it.
        let at_end = state.committed.kind == HitKind::None || order >= state.committed.order();
        if t > state.t_max || t == state.t_max && at_end {
            continue;
        }
        let is_opaque = opacity.opaque >> lane & 1;
        let (_, geometry, primitive) = order;
        state.candidate = Hit {
            kind: HitKind::Triangle,
            t,
            barycentrics: [hits.u[lane], hits.v[lane]],
            front_facing: front >> lane & 1,
            opaque: is_opaque,
            instance: state.instance,
            custom_index: state.instance_custom_index,
            sbt_offset: state.instance_sbt_and_flags & 0xff_ffff,
            geometry,
            primitive,
            vertices: vertices(leaf, lane),
        };
        if is_opaque == 0 {
            state.pending_lanes = kept;
            return Step::Candidate;
        }
        state.commit();
        state.candidate.kind = HitKind::None;
        if state.active == 0 {
            return Step::End;
        }
    }
    Step::Continue
}

/// Returns the vertices of a triangle of a leaf.
#[inline(always)]
fn vertices(leaf: TriangleLeaf, lane: usize) -> [[f32; 3]; 3] {
    let mut vertices = [[0.0; 3]; 3];
    for (vertex, coordinates) in vertices.iter_mut().enumerate() {
        for (axis, coordinate) in coordinates.iter_mut().enumerate() {
            *coordinate = f32::from_bits(leaf.words(triangle_row::VERTEX + 3 * vertex + axis)[lane % 4]);
        }
    }
    vertices
}

#[inline(always)]
fn aabbs(state: &mut Traversal, leaf: AabbLeaf, lanes: u32) -> Step {
    let words = leaf.words(aabb_row::GEOMETRY);
    let opacity = opacity(&state.rules, words, lanes);
    let mut kept = opacity.lanes;
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
