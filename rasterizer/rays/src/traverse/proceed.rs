//! The loop of a traversal, compiled for each processor level ([`base::multiversion!`]).

use super::hit::{Hit, HitKind, instance_flags, ray_flags};
use super::ray::{BoxRay, Shear};
use super::state::{IN_TOP, Scene, Traversal};
use super::triangle::{self, Interval};
use super::walk::{Entry, Level, STACK, next_leaf};
use crate::input::{transform_direction, transform_point};
use crate::instance::{CUSTOM_INDEX_AND_MASK, SBT_OFFSET_AND_FLAGS, WORLD_TO_OBJECT, reference, transform};
use crate::layout::{Contents, GEOMETRY_INDEX, INDEX, MAX_DEPTH, OPAQUE, aabb_row, triangle_row};
use crate::vec4::F32x4;
use crate::view::{AabbLeaf, TriangleLeaf, View};
use base::host::Host;
use core::sync::atomic::Ordering;

base::multiversion! {
    unsafe fn proceed_variant(state: &mut Traversal, scene: &Scene, found: &mut bool) {
        *found = run::<H>(state, scene);
    }
}

impl Traversal {
    /// Continues until a candidate needs a decision (`OpRayQueryProceedKHR`); returns false when
    /// the traversal has ended. Opaque triangles are committed without one.
    #[inline]
    pub fn proceed(&mut self, scene: &Scene) -> bool {
        self.candidate.kind = HitKind::None;
        let mut found = false;
        if self.active != 0 {
            // SAFETY: the host has the level, because `HostLevel` names no other.
            unsafe { proceed_variant(scene.level.get())(self, scene, &mut found) };
        }
        found
    }
}

/// Result of the lanes of a leaf.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// All lanes have been visited.
    Continue,
    /// A candidate needs a decision.
    Candidate,
    /// The traversal has ended.
    End,
}

#[inline(always)]
fn run<H: Host>(state: &mut Traversal, scene: &Scene) -> bool {
    loop {
        if state.pending_lanes != 0 {
            match leaf(state) {
                Step::Continue => {}
                Step::Candidate => return true,
                Step::End => break,
            }
        }
        if state.active == 0 || scene.abort.load(Ordering::Relaxed) != 0 {
            break;
        }
        let in_top = state.bottom_base == IN_TOP;
        let level = if in_top {
            let room = STACK as u32 - MAX_DEPTH - state.top.depth();
            Level { view: &state.top, ray: &state.world, base: 0, room, t_min: state.ray.t_min }
        } else {
            let room = STACK as u32 - state.bottom.depth();
            let (base, t_min) = (state.bottom_base, state.floor);
            Level { view: &state.bottom, ray: &state.object, base, room, t_min }
        };
        let steps = if in_top { &mut state.top_steps } else { &mut state.bottom_steps };
        match next_leaf::<H>(&level, &mut state.stack, state.t_max, steps) {
            Some(entry) if in_top => enter_instance(state, scene, entry),
            Some(entry) => (state.pending_leaf, state.pending_lanes) = (entry.child() & INDEX, 0xf),
            None if in_top => break,
            None => {
                state.stack.truncate(state.bottom_base);
                (state.bottom_base, state.floor) = (IN_TOP, state.ray.t_min);
            }
        }
    }
    state.active = 0;
    false
}

/// Begins the traversal of an instance, unless the ray passes it by.
#[inline(always)]
fn enter_instance(state: &mut Traversal, scene: &Scene, entry: Entry) {
    let index = entry.child() & INDEX;
    let Some(steps) = state.top_steps.checked_sub(1) else { return };
    state.top_steps = steps;
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
        // A reference to a top-level structure is an overwritten one.
        Contents::Instances => !0,
    };
    if skipped == !0 || state.flags & skipped != 0 {
        return;
    }
    let rows = transform(&record, WORLD_TO_OBJECT);
    let origin = transform_point(&rows, state.ray.origin);
    let direction = transform_direction(&rows, state.ray.direction);
    if !origin.iter().chain(&direction).all(|value| value.is_finite()) {
        return;
    }
    if view.contents() == Contents::Triangles {
        state.object = BoxRay::for_triangles(origin, direction, &header.bounds);
        state.shear = Shear::new(origin, direction);
    } else {
        state.object = BoxRay::new(origin, direction, [0.0; 3]);
    }
    (state.object_origin, state.object_direction) = (origin, direction);
    (state.bottom, state.bottom_steps) = (view, view.steps());
    (state.bottom_base, state.floor) = (state.stack.len(), entry.distance());
    state.instance = index;
    state.instance_custom_index = record[CUSTOM_INDEX_AND_MASK] & 0xff_ffff;
    state.instance_sbt_and_flags = record[SBT_OFFSET_AND_FLAGS];
    state.stack.push(Entry::new(0, entry.distance()));
}

/// Visits the remaining lanes of the current leaf.
#[inline(always)]
fn leaf(state: &mut Traversal) -> Step {
    let lanes = core::mem::take(&mut state.pending_lanes);
    let Some(steps) = state.bottom_steps.checked_sub(1) else { return Step::Continue };
    state.bottom_steps = steps;
    if let Some(leaf) = state.bottom.triangle_leaf(state.pending_leaf) {
        triangles(state, leaf, lanes)
    } else if let Some(leaf) = state.bottom.aabb_leaf(state.pending_leaf) {
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
fn opacity(state: &Traversal, words: [u32; 4], lanes: u32) -> Opacity {
    let instance = state.instance_sbt_and_flags >> 24;
    let opaque = if state.flags & ray_flags::OPAQUE != 0 {
        0xf
    } else if state.flags & ray_flags::NO_OPAQUE != 0 {
        0
    } else if instance & instance_flags::FORCE_OPAQUE != 0 {
        0xf
    } else if instance & instance_flags::FORCE_NO_OPAQUE != 0 {
        0
    } else {
        const { assert!(OPAQUE == 1 << 30) };
        let [a, b, c, d] = words;
        F32x4::from_bits([a << 1, b << 1, c << 1, d << 1]).sign_bits()
    };
    let mut kept = F32x4::from_bits(words).sign_bits() & lanes;
    if state.flags & ray_flags::CULL_OPAQUE != 0 {
        kept &= !opaque;
    }
    if state.flags & ray_flags::CULL_NO_OPAQUE != 0 {
        kept &= opaque;
    }
    Opacity { lanes: kept, opaque }
}

#[inline(always)]
fn triangles(state: &mut Traversal, leaf: TriangleLeaf, lanes: u32) -> Step {
    let words = leaf.words(triangle_row::GEOMETRY);
    let opacity = opacity(state, words, lanes);
    let interval = Interval { min: state.ray.t_min, max: state.t_max, floor: state.floor };
    let hits = triangle::intersect(leaf, opacity.lanes, &state.shear, &state.object, &interval);
    if hits.lanes == 0 {
        return Step::Continue;
    }
    let instance = state.instance_sbt_and_flags >> 24;
    let front = if instance & instance_flags::TRIANGLE_FLIP_FACING != 0 { !hits.front } else { hits.front };
    let mut kept = hits.lanes;
    if instance & instance_flags::TRIANGLE_FACING_CULL_DISABLE == 0 {
        if state.flags & ray_flags::CULL_BACK_FACING_TRIANGLES != 0 {
            kept &= front;
        }
        if state.flags & ray_flags::CULL_FRONT_FACING_TRIANGLES != 0 {
            kept &= !front;
        }
    }
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
    let opacity = opacity(state, words, lanes);
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
