//! The traversal of the rays that shaders of ray tracing pipelines trace.

#![forbid(unsafe_code)]

use super::ray_query::AccessibleStructures;
use core::sync::atomic::AtomicU32;
use execution::trace::{Decide, Instance, Intersection, IntersectionKind, RayArguments, Tracer};
use rays::{Hit, HitKind, HostLevel, InstanceValues, LiveStructures, Ray, Scene, TopLevel, Traversal};

/// The live structures of a device, for the rays of a launch.
pub struct SceneTracer<'a> {
    structures: AccessibleStructures<'a>,
    abort: &'a AtomicU32,
    level: HostLevel,
    /// `RayFlags` that the pipeline adds to those of each ray. Shaders do not see them.
    flags: u32,
}

impl<'a> SceneTracer<'a> {
    /// Makes structures available to rays. The word `abort` ends traversals when it is not 0.
    pub fn new(structures: AccessibleStructures<'a>, abort: &'a AtomicU32, flags: u32) -> SceneTracer<'a> {
        SceneTracer { structures, abort, level: HostLevel::detect(), flags }
    }
}

impl Tracer for SceneTracer<'_> {
    type Structure = TopLevel;
    type Traversal = Traversal;

    fn open(&self, address: u64) -> TopLevel {
        self.structures.find(address).map_or(TopLevel::NONE, |found| TopLevel::open(found.memory))
    }

    fn ended(&self) -> Traversal {
        Traversal::ENDED
    }

    fn begin(&self, traversal: &mut Traversal, structure: &TopLevel, ray: &RayArguments) {
        let RayArguments { origin, t_min, direction, t_max, time, .. } = *ray;
        let flags = ray.flags | self.flags;
        traversal.begin_at(structure, flags, ray.cull_mask, &Ray { origin, t_min, direction, t_max }, time);
    }

    fn begin_tile(&self) {
        Traversal::forget_packets();
    }

    fn proceed(&self, rays: &mut [Option<&mut Traversal>], decide: &mut Decide<'_, Traversal>) {
        let scene = Scene { structures: &self.structures, abort: self.abort, level: self.level };
        Traversal::proceed_and_decide(rays, &scene, decide);
    }

    fn candidate(&self, traversal: &Traversal) -> Option<Intersection> {
        intersection(traversal.candidate())
    }

    fn confirm(&self, traversal: &mut Traversal) {
        traversal.confirm_intersection();
    }

    fn generate(&self, traversal: &mut Traversal, t: f32) -> bool {
        traversal.generate_intersection(t)
    }

    fn terminate(&self, traversal: &mut Traversal) {
        traversal.terminate();
    }

    fn t_max(&self, traversal: &Traversal) -> f32 {
        traversal.t_max()
    }

    fn committed(&self, traversal: &Traversal) -> Option<Intersection> {
        intersection(traversal.committed())
    }

    fn instance(&self, structure: &TopLevel, index: u32, time: f32) -> Option<Instance> {
        let InstanceValues { custom_index, sbt_offset, object_to_world, world_to_object } =
            structure.instance(index, time)?;
        Some(Instance { custom_index, sbt_offset, object_to_world, world_to_object })
    }
}

/// Returns a hit as the scheduler takes it; `None` if there is none.
fn intersection(hit: &Hit) -> Option<Intersection> {
    let kind = match hit.kind {
        HitKind::None => return None,
        HitKind::Triangle => IntersectionKind::Triangle,
        HitKind::Sphere => IntersectionKind::Sphere,
        HitKind::Lss => IntersectionKind::Lss,
        HitKind::Aabb => IntersectionKind::Aabb,
    };
    Some(Intersection {
        kind,
        t: hit.t,
        barycentrics: hit.barycentrics,
        front_facing: hit.front_facing != 0,
        opaque: hit.opaque != 0,
        instance: hit.instance,
        custom_index: hit.custom_index,
        sbt_offset: hit.sbt_offset,
        geometry: hit.geometry,
        primitive: hit.primitive,
        vertices: hit.vertices,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intersections_are_those_of_hits() {
        assert_eq!(intersection(&Hit::NONE), None);
        let hit = Hit { kind: HitKind::Aabb, opaque: 1, instance: 3, custom_index: 4, sbt_offset: 5, ..Hit::NONE };
        let at = intersection(&hit).expect("a box");
        assert_eq!((at.kind, at.opaque, at.front_facing), (IntersectionKind::Aabb, true, false));
        assert_eq!((at.instance, at.custom_index, at.sbt_offset), (3, 4, 5));
    }
}
