//! Instances that rays enter.

#![forbid(unsafe_code)]

use super::hit::ray_flags;
use super::ray::{BoxRay, Shear, are_finite};
use super::state::{Rules, Scene, Traversal};
use crate::input::{transform_direction, transform_point};
use crate::instance::{
    CUSTOM_INDEX_AND_MASK, InstanceRecord, SBT_OFFSET_AND_FLAGS, WORLD_TO_OBJECT, reference, transform,
};
use crate::layout::{Contents, Header};
use crate::vec4::F32x4;
use crate::view::View;

/// An instance that a ray may enter.
pub struct Found {
    /// The top-level structure, and the instance's index in it.
    top: View,
    index: u32,
    record: InstanceRecord,
    /// The instance's structure.
    pub view: View,
    pub header: Header,
}

impl Found {
    /// Finds an instance of a top-level structure, unless rays with these flags and mask pass it
    /// by.
    #[inline(always)]
    pub fn new(top: &View, index: u32, (flags, cull_mask): (u32, u32), scene: &Scene) -> Option<Found> {
        Found::of(top.instance(index)?, (top, index), (flags, cull_mask), scene)
    }

    /// Finds the structure of an instance with a record, unless rays with these flags and mask pass
    /// it by.
    #[inline(always)]
    pub fn of(
        record: InstanceRecord,
        (top, index): (&View, u32),
        (flags, cull_mask): (u32, u32),
        scene: &Scene,
    ) -> Option<Found> {
        if record[CUSTOM_INDEX_AND_MASK] >> 24 & cull_mask == 0 {
            return None;
        }
        let found = scene.structures.find(reference(&record))?;
        let (view, header) = View::open(found.memory)?;
        let found = Found { top: *top, index, record, view, header };
        found.admits(flags, cull_mask).then_some(found)
    }

    /// Returns true unless rays with these flags and mask pass the instance by.
    #[inline(always)]
    pub fn admits(&self, flags: u32, cull_mask: u32) -> bool {
        let skipped = match self.view.contents() {
            Contents::Triangles | Contents::MotionTriangles | Contents::Spheres | Contents::SweptSpheres => {
                ray_flags::SKIP_TRIANGLES
            }
            Contents::Aabbs => ray_flags::SKIP_AABBS,
            // A reference to a top-level structure or a micromap is an overwritten one.
            Contents::Instances | Contents::MotionInstances | Contents::Micromap => return false,
        };
        flags & skipped == 0 && self.record[CUSTOM_INDEX_AND_MASK] >> 24 & cull_mask != 0
    }

    /// Returns true if this is an instance of a top-level structure.
    #[inline(always)]
    pub fn is(&self, top: &View, index: u32) -> bool {
        self.index == index && self.top.is(top)
    }

    /// Returns the transform into the instance's space.
    #[inline(always)]
    pub fn world_to_object(&self) -> [f32; 12] {
        transform(&self.record, WORLD_TO_OBJECT)
    }

    /// Returns the rules in the instance for flags of a ray.
    #[inline(always)]
    pub fn rules(&self, flags: u32) -> Rules {
        let instance = self.record[SBT_OFFSET_AND_FLAGS] >> 24;
        let rules = Rules::new(flags, instance);
        if self.view.has_micromaps() { rules.with_micromaps(instance) } else { rules }
    }

    /// Makes the instance that of a ray's hits.
    #[inline(always)]
    pub fn set(&self, state: &mut Traversal) {
        state.instance = self.index;
        state.instance_custom_index = self.record[CUSTOM_INDEX_AND_MASK] & 0xff_ffff;
        state.instance_sbt_and_flags = self.record[SBT_OFFSET_AND_FLAGS];
    }

    /// Begins the traversal of the instance, whose box begins at a distance, unless the ray is not
    /// finite in the instance's space.
    #[inline(always)]
    pub fn descend(&self, state: &mut Traversal, distance: f32) {
        let top_steps = state.walk.steps();
        if self.enter(state, distance) {
            state.top_steps = top_steps;
            state.walk.push_end();
            state.walk.push_root(distance);
        }
    }

    /// Makes the instance the structure that is walked. Returns false if the ray is not finite in
    /// the instance's space.
    #[inline(always)]
    pub fn enter(&self, state: &mut Traversal, distance: f32) -> bool {
        let Found { view, header, .. } = self;
        let rows = self.world_to_object();
        let origin = transform_point(&rows, state.ray.origin);
        let direction = transform_direction(&rows, state.ray.direction);
        if !are_finite(origin, direction) {
            return false;
        }
        let boxes = if let Contents::Triangles | Contents::MotionTriangles = view.contents() {
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
