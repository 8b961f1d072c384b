//! The state of a ray's traversal, with the getters and decisions of ray queries.

#![forbid(unsafe_code)]

use super::hit::{Hit, HitKind, instance_flags, ray_flags};
use super::ray::{BoxRay, Ray, Shear};
use super::walk::{Walk, levels_of_top};
use crate::input::{transform_direction, transform_point};
use crate::instance::{self, InstanceValues, LiveStructures};
use crate::layout::Contents;
use crate::level::HostLevel;
use crate::motion::{instance_at, valid_time};
use crate::view::View;
use base::mem::DeviceMemory;
use core::mem::offset_of;
use core::sync::atomic::AtomicU32;

/// The surroundings of a traversal: all that it needs besides its state.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The structures that instances may refer to.
    pub structures: &'a dyn LiveStructures,
    /// A word that ends traversals when it is not 0.
    pub abort: &'a AtomicU32,
    /// Level of the kernels.
    pub level: HostLevel,
}

/// A top-level structure in which traversals begin. It is opened once for all rays in it.
#[derive(Clone, Copy)]
pub struct TopLevel(Option<View>);

impl TopLevel {
    /// No structure: rays in it hit nothing.
    pub const NONE: TopLevel = TopLevel(None);

    /// Opens the structure in memory; [`TopLevel::NONE`] if it is no top-level structure.
    pub fn open(memory: DeviceMemory) -> TopLevel {
        let view = View::open(memory).map(|(view, _)| view);
        TopLevel(view.filter(|view| view.contents().is_top_level()))
    }

    /// Returns the values of an instance at a time, if the structure has it.
    pub fn instance(&self, index: u32, time: f32) -> Option<InstanceValues> {
        instance_at(&self.0?, index, valid_time(time)).map(|record| instance::values(&record))
    }
}

/// Effect of the flags of the ray and of the current instance on the lanes of a leaf. Each field
/// has one bit per lane, and all bits are equal.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Rules {
    /// Lanes whose geometry decides whether they are opaque.
    pub by_geometry: u8,
    /// Lanes that are opaque in any case.
    pub opaque: u8,
    /// Opaque lanes that are culled.
    pub cull_opaque: u8,
    /// Other lanes that are culled.
    pub cull_no_opaque: u8,
    /// Lanes whose facing is the opposite one.
    pub flip: u8,
    /// Lanes that are culled if the ray hits their front.
    pub cull_front: u8,
    /// Lanes that are culled if the ray hits their back.
    pub cull_back: u8,
    /// 1 if micromaps decide about triangles. Lanes are then culled by their opacity after the hit
    /// only.
    pub micromaps: u8,
}

impl Rules {
    const NONE: Rules = Rules {
        by_geometry: 0,
        opaque: 0,
        cull_opaque: 0,
        cull_no_opaque: 0,
        flip: 0,
        cull_front: 0,
        cull_back: 0,
        micromaps: 0,
    };

    /// Makes the rules for flags of a ray and of an instance.
    #[inline(always)]
    pub fn new(ray: u32, instance: u32) -> Rules {
        let lanes = |flag: bool| if flag { 0xf } else { 0 };
        let of_ray = |flag: u32| lanes(ray & flag != 0);
        let of_instance = |flag: u32| lanes(instance & flag != 0);
        let forced_by_ray = of_ray(ray_flags::OPAQUE | ray_flags::NO_OPAQUE);
        let forced = of_instance(instance_flags::FORCE_OPAQUE | instance_flags::FORCE_NO_OPAQUE);
        let culls = !of_instance(instance_flags::TRIANGLE_FACING_CULL_DISABLE);
        Rules {
            by_geometry: !(forced_by_ray | forced) & 0xf,
            opaque: of_ray(ray_flags::OPAQUE) | of_instance(instance_flags::FORCE_OPAQUE) & !forced_by_ray,
            cull_opaque: of_ray(ray_flags::CULL_OPAQUE),
            cull_no_opaque: of_ray(ray_flags::CULL_NO_OPAQUE),
            flip: of_instance(instance_flags::TRIANGLE_FLIP_FACING),
            cull_front: of_ray(ray_flags::CULL_FRONT_FACING_TRIANGLES) & culls,
            cull_back: of_ray(ray_flags::CULL_BACK_FACING_TRIANGLES) & culls,
            micromaps: 0,
        }
    }

    /// Returns the rules for a structure with micromaps, unless the instance disables them.
    pub fn with_micromaps(self, instance: u32) -> Rules {
        match instance & instance_flags::DISABLE_OPACITY_MICROMAPS {
            0 => Rules { cull_opaque: 0, cull_no_opaque: 0, micromaps: 1, ..self },
            _ => self,
        }
    }
}

/// The state of a ray's traversal.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Traversal {
    pub(super) walk: Walk,
    /// Distance of the closest committed hit, or the end of the ray's interval.
    pub(super) t_max: f32,
    /// 1 until the traversal ends.
    pub(super) active: u32,
    /// 1 until the traversal continues for the first time.
    pub(super) is_fresh: u32,
    pub(super) rules: Rules,
    pub(super) shear: Shear,
    pub(super) ray: Ray,
    /// Flags of the ray ([`ray_flags`]).
    pub(super) flags: u32,
    pub(super) cull_mask: u32,
    /// Time at which structures with motion are traversed, from 0 to 1.
    pub(super) time: f32,
    /// Leaf whose lanes are visited, and the lanes that remain.
    pub(super) pending_leaf: u32,
    pub(super) pending_lanes: u32,
    pub(super) top: View,
    /// Number of nodes and instances of the top-level structure that may still be visited.
    pub(super) top_steps: u64,
    pub(super) object_origin: [f32; 3],
    pub(super) object_direction: [f32; 3],
    /// Index, custom index, and flags with shader binding table offset of the current instance.
    pub(super) instance: u32,
    pub(super) instance_custom_index: u32,
    pub(super) instance_sbt_and_flags: u32,
    pub(super) candidate: Hit,
    pub(super) committed: Hit,
}

impl Traversal {
    /// The state of a ray query that is not initialized: it has ended and has found nothing.
    pub const ENDED: Traversal = Traversal {
        walk: Walk::NONE,
        t_max: 0.0,
        active: 0,
        is_fresh: 0,
        rules: Rules::NONE,
        shear: Shear { axes: [0; 3], origin: [0.0; 3], factors: [0.0; 3] },
        ray: Ray { origin: [0.0; 3], t_min: 0.0, direction: [0.0; 3], t_max: 0.0 },
        flags: 0,
        cull_mask: 0,
        time: 0.0,
        pending_leaf: 0,
        pending_lanes: 0,
        top: View::EMPTY,
        top_steps: 0,
        object_origin: [0.0; 3],
        object_direction: [0.0; 3],
        instance: 0,
        instance_custom_index: 0,
        instance_sbt_and_flags: 0,
        candidate: Hit::NONE,
        committed: Hit::NONE,
    };

    /// Number of bytes from the first one on that may have any contents when a traversal begins.
    pub const STACK_BYTES: usize = offset_of!(Traversal, walk) + Walk::STACK_BYTES;

    /// Begins the traversal of a top-level structure at the time 0 (`OpRayQueryInitializeKHR`,
    /// `OpTraceRayKHR`). A ray with infinite components or an empty interval hits nothing.
    #[inline(always)]
    pub fn begin(&mut self, structure: &TopLevel, flags: u32, cull_mask: u32, ray: &Ray) {
        self.begin_at(structure, flags, cull_mask, ray, 0.0);
    }

    /// Begins the traversal of a top-level structure at a time (`OpTraceRayMotionNV`). The nearest
    /// valid time counts, and 0 for what is no number.
    ///
    /// This is inlined, because a call would load vectors from numbers that its caller has just
    /// stored one by one, and wait for these stores.
    #[inline(always)]
    pub fn begin_at(&mut self, structure: &TopLevel, flags: u32, cull_mask: u32, ray: &Ray, time: f32) {
        self.ray = *ray;
        // A negative zero would not order as other distances do.
        self.ray.t_min = if ray.t_min > 0.0 { ray.t_min } else { 0.0 };
        (self.flags, self.cull_mask, self.time) = (flags, cull_mask & 0xff, valid_time(time));
        (self.t_max, self.pending_lanes) = (ray.t_max, 0);
        (self.candidate, self.committed) = (Hit::NONE, Hit::NONE);
        (self.active, self.is_fresh, self.top) = (0, 0, View::EMPTY);
        self.walk.clear();
        if let Some(view) = structure.0.filter(|_| self.ray.is_valid() && !ray.t_min.is_nan()) {
            (self.active, self.is_fresh, self.top) = (1, 1, view);
            if view.contents() == Contents::MotionInstances {
                // Only rays that have not begun to walk on their own become packets.
                self.is_fresh = 0;
                self.start_alone();
            }
        }
    }

    /// Begins the walk of a ray that cannot be one of a packet.
    #[cold]
    fn start_alone(&mut self) {
        self.start();
    }

    /// Begins the walk of a ray on its own.
    #[inline(always)]
    pub(super) fn start(&mut self) {
        let (view, boxes) = (self.top, BoxRay::for_instances(self.ray.origin, self.ray.direction));
        self.walk.resume(view, boxes, self.ray.t_min, levels_of_top(&view), view.steps());
        self.walk.push_root(self.ray.t_min);
    }

    /// Returns from an instance to the top-level structure.
    pub(super) fn leave_instance(&mut self) {
        let boxes = BoxRay::for_instances(self.ray.origin, self.ray.direction);
        self.walk.enter(self.top, boxes, self.ray.t_min, levels_of_top(&self.top), self.top_steps);
    }

    /// Ends the traversal (`OpRayQueryTerminateKHR`).
    pub fn terminate(&mut self) {
        self.active = 0;
    }

    /// Commits the candidate, which is a built-in primitive (`OpRayQueryConfirmIntersectionKHR`).
    pub fn confirm_intersection(&mut self) {
        if matches!(self.candidate.kind, HitKind::Triangle | HitKind::Sphere | HitKind::Lss) {
            self.commit();
        }
    }

    /// Commits an intersection in the candidate's box at a distance
    /// (`OpRayQueryGenerateIntersectionKHR`, `OpReportIntersectionKHR`); returns false if it lies
    /// outside of the ray's interval or behind the committed one.
    pub fn generate_intersection(&mut self, t: f32) -> bool {
        let wins_tie = self.committed.kind == HitKind::None || self.candidate.order() <= self.committed.order();
        let inside = t >= self.ray.t_min && (t < self.t_max || t == self.t_max && wins_tie);
        let accepted = self.candidate.kind == HitKind::Aabb && inside;
        if accepted {
            self.candidate.t = t;
            self.commit();
        }
        accepted
    }

    /// Commits the candidate.
    pub(super) fn commit(&mut self) {
        self.committed = self.candidate;
        self.after_commit(self.committed.t);
    }

    /// Ends the ray's interval at the committed hit, and the traversal if it is to end there.
    #[inline(always)]
    pub(super) fn after_commit(&mut self, t: f32) {
        self.t_max = t;
        if self.flags & ray_flags::TERMINATE_ON_FIRST_HIT != 0 {
            self.active = 0;
        }
    }

    /// Returns the ray in the world, with its whole interval.
    pub fn ray(&self) -> &Ray {
        &self.ray
    }

    /// Returns the ray's flags.
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// Returns the mask of the instances that the ray can hit.
    pub fn cull_mask(&self) -> u32 {
        self.cull_mask
    }

    /// Returns the end of the interval that remains: the distance of the committed hit, if there is
    /// one.
    pub fn t_max(&self) -> f32 {
        self.t_max
    }

    /// Returns the candidate; its kind is [`HitKind::None`] unless `proceed` has returned true.
    pub fn candidate(&self) -> &Hit {
        &self.candidate
    }

    /// Returns the closest committed hit.
    pub fn committed(&self) -> &Hit {
        &self.committed
    }

    /// Returns the transform of a hit's instance from object to world, by rows; 0 if the top-level
    /// structure has been overwritten.
    pub fn object_to_world(&self, hit: &Hit) -> [f32; 12] {
        self.transform(hit, instance::OBJECT_TO_WORLD)
    }

    /// Returns the transform of a hit's instance from world to object, by rows.
    pub fn world_to_object(&self, hit: &Hit) -> [f32; 12] {
        self.transform(hit, instance::WORLD_TO_OBJECT)
    }

    fn transform(&self, hit: &Hit, first: usize) -> [f32; 12] {
        instance_at(&self.top, hit.instance, self.time).map_or([0.0; 12], |record| instance::transform(&record, first))
    }

    /// Returns the ray's origin in the object space of a hit's instance.
    pub fn object_ray_origin(&self, hit: &Hit) -> [f32; 3] {
        transform_point(&self.world_to_object(hit), self.ray.origin)
    }

    /// Returns the ray's direction in the object space of a hit's instance.
    pub fn object_ray_direction(&self, hit: &Hit) -> [f32; 3] {
        transform_direction(&self.world_to_object(hit), self.ray.direction)
    }
}
