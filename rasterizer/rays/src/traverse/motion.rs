//! Motion: the triangles and instances of structures with motion at the time of a ray.
//!
//! Both are interpolated when a ray meets them, and are then what a structure without motion has.
//! Rays in a structure with motion do not walk in packets.

#![forbid(unsafe_code)]

use super::instances::Found;
use super::state::{Scene, Traversal};
use crate::layout::{motion_row, triangle_row};
use crate::motion::{interpolate, record_at};
use crate::vec4::F32x4;
use crate::view::MotionLeaf;

/// Rows of a leaf of triangles.
type Rows = [[u32; 4]; triangle_row::COUNT];

/// Returns the leaf of triangles that a leaf with motion is at a time. Vertices that triangles
/// share remain the same.
#[inline(always)]
pub fn leaf_at(leaf: MotionLeaf, time: f32) -> Rows {
    let mut rows = [[0; 4]; triangle_row::COUNT];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = leaf.words(i);
    }
    for i in 0..motion_row::COUNT - motion_row::END_VERTEX {
        let row = &mut rows[triangle_row::VERTEX + i];
        *row = interpolate(F32x4::from_bits(*row), leaf.row(motion_row::END_VERTEX + i), time).to_bits();
    }
    rows
}

/// Begins the traversal of the current instance of a structure with motion, unless the ray passes
/// it by.
pub fn enter_instance(state: &mut Traversal, scene: &Scene) {
    let index = state.pending_leaf;
    let Some(motion) = state.walk.view().motion_instance(index) else { return };
    let record = record_at(&motion, state.time);
    let distance = state.walk.popped_distance();
    if let Some(found) = Found::of(record, (&state.top, index), (state.flags, state.cull_mask), scene) {
        found.descend(state, distance);
    }
}
