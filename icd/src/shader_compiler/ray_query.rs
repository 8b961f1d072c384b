//! The helpers of ray queries, and the table of structures that they read.

use base::abi::{
    MAX_RAY_COMPONENTS, MAX_RAY_LANES, RAY_QUERY_ALIGN, RAY_QUERY_BYTES, RayArguments, RayGetter, ShaderContext,
};
use base::mem::{DeviceMemory, MemoryRange};
use base::shader::{RADIUS_WORD, matrix_columns};
use core::ffi::c_void;
use rays::{Hit, HitKind, HostLevel, LiveStructure, Ray, Scene, TopLevel, Traversal};

// Generated code gives a query this memory.
const _: () = assert!(size_of::<Traversal>() <= RAY_QUERY_BYTES && align_of::<Traversal>() <= RAY_QUERY_ALIGN);

/// A live structure.
#[derive(Clone, Copy, Debug)]
pub struct FoundStructure {
    /// Device address of the structure.
    pub address: u64,
    /// Memory of the structure.
    pub memory: MemoryRange,
}

/// The live structures of a device.
pub trait StructureTable: Send + Sync {
    /// Returns the structure with a device address or a handle, if its memory is live now.
    fn find(&self, reference: u64) -> Option<FoundStructure>;
}

/// The part of a device that traversals need; `ShaderContext::structures` points to it.
pub struct Structures {
    table: std::sync::Arc<dyn StructureTable>,
    level: HostLevel,
}

/// Live structures that may be accessed.
#[derive(Clone, Copy)]
pub struct AccessibleStructures<'a>(&'a dyn StructureTable);

impl rays::LiveStructures for AccessibleStructures<'_> {
    fn find(&self, reference: u64) -> Option<LiveStructure> {
        let FoundStructure { address, memory } = self.0.find(reference)?;
        // SAFETY: the table has found live memory, which stays so while an execution that had begun
        // before goes on, as `Structures::access` demands.
        Some(LiveStructure { address, memory: unsafe { DeviceMemory::new(memory) } })
    }
}

impl Structures {
    /// Makes a table's structures available.
    pub fn new(table: std::sync::Arc<dyn StructureTable>) -> Structures {
        Structures { table, level: HostLevel::detect() }
    }

    /// Returns the structures for access.
    ///
    /// # Safety
    /// An execution that keeps device memory alive (`object::execution`) goes on as long as the
    /// result, or memory that it has found, is used.
    pub unsafe fn access(&self) -> AccessibleStructures<'_> {
        AccessibleStructures(&*self.table)
    }
}

/// Puts the queries of the lanes at the lanes' places.
///
/// # Safety
/// `queries` has the addresses of initialized ray queries of generated code for the lanes of the
/// mask.
unsafe fn collect(rays: &mut [Option<&mut Traversal>; MAX_RAY_LANES], queries: *const u64, lanes: u32) {
    for lane in lanes_of(lanes) {
        // SAFETY: the lane's query has `RAY_QUERY_BYTES` bytes aligned to `RAY_QUERY_ALIGN`, which
        // no other lane and no other code uses meanwhile. They are a traversal, because
        // `initialize` stored one.
        rays[lane] = Some(unsafe { &mut *(*queries.add(lane) as *mut Traversal) });
    }
}

/// Calls a function with each lane's number and query.
///
/// # Safety
/// `queries` has the addresses of initialized ray queries of generated code for the lanes of the
/// mask.
unsafe fn each(queries: *const u64, lanes: u32, mut f: impl FnMut(usize, &mut Traversal)) {
    let mut rays: [Option<&mut Traversal>; MAX_RAY_LANES] = [const { None }; MAX_RAY_LANES];
    // SAFETY: the addresses are those of queries (`# Safety`).
    unsafe { collect(&mut rays, queries, lanes) };
    rays.into_iter().enumerate().for_each(|(lane, ray)| ray.into_iter().for_each(|ray| f(lane, ray)));
}

/// Returns the lanes of a mask.
#[inline]
fn lanes_of(lanes: u32) -> impl Iterator<Item = usize> {
    let rest = |lanes: u32| (lanes != 0).then_some(lanes);
    let all = lanes & (u32::MAX >> (u32::BITS as usize - MAX_RAY_LANES));
    std::iter::successors(rest(all), move |lanes| rest(lanes & (lanes - 1)))
        .map(|lanes| lanes.trailing_zeros() as usize)
}

/// Calls a function with the device's structures and the surroundings of traversals, if the device
/// has structures.
///
/// # Safety
/// `context` is the context of a shader that is executed.
unsafe fn with_scene(context: *const c_void, f: impl FnOnce(&Scene<'_>)) {
    // SAFETY: generated code passes its own context, and the device that is behind `structures`
    // outlives what it executes. The abort flag is never null.
    let (structures, abort) = unsafe {
        let context = &*context.cast::<ShaderContext>();
        (context.structures.cast::<Structures>().as_ref(), &*context.abort)
    };
    if let Some(structures) = structures {
        // SAFETY: the shader belongs to a submission, which goes on until the helper has returned.
        let accessible = unsafe { structures.access() };
        f(&Scene { structures: &accessible, abort, level: structures.level });
    }
}

/// A query that has ended, which others are copied from.
static ENDED: Traversal = Traversal::ENDED;

/// Initializes ray queries (`OpRayQueryInitializeKHR`). A ray that is traced in what is not a
/// live structure hits nothing.
#[base::code_fn]
pub unsafe extern "code" fn initialize(
    context: *const c_void,
    queries: *const u64,
    arguments: *const RayArguments,
    lanes: u32,
) {
    // SAFETY: generated code passes valid arguments and its own context and queries. Each query
    // has `RAY_QUERY_BYTES` bytes, which a traversal fits into; those that are not written are
    // entries of its stack, which may have any contents.
    unsafe {
        let a = &*arguments;
        for lane in lanes_of(lanes) {
            const WRITTEN: usize = size_of::<Traversal>() - Traversal::STACK_BYTES;
            let ended = (&raw const ENDED).cast::<u8>().add(Traversal::STACK_BYTES);
            (*queries.add(lane) as *mut u8).add(Traversal::STACK_BYTES).copy_from_nonoverlapping(ended, WRITTEN);
        }
        with_scene(context, |scene| {
            let mut last = (0, TopLevel::NONE);
            each(queries, lanes, |lane, query| {
                let structure = a.structure[lane];
                // The lanes of a call usually have one structure.
                if structure != last.0 {
                    let found = scene.structures.find(structure);
                    last = (structure, found.map_or(TopLevel::NONE, |found| TopLevel::open(found.memory)));
                }
                let component = |of: &[[f32; MAX_RAY_LANES]; 3]| [of[0][lane], of[1][lane], of[2][lane]];
                let ray = Ray {
                    origin: component(&a.origin),
                    t_min: a.t_min[lane],
                    direction: component(&a.direction),
                    t_max: a.t_max[lane],
                };
                query.begin(&last.1, a.flags[lane], a.cull_mask[lane], &ray);
            });
        });
    }
}

/// Copies ray queries, whose values `OpLoad` and `OpStore` move.
#[base::code_fn]
pub unsafe extern "code" fn copy(_: *const c_void, queries: *const u64, sources: *const u64, lanes: u32) {
    for lane in lanes_of(lanes) {
        // SAFETY: generated code passes its own queries, of which the sources are initialized.
        unsafe { (*sources.add(lane) as *const Traversal).copy_to(*queries.add(lane) as *mut Traversal, 1) };
    }
}

/// Proceeds with ray queries (`OpRayQueryProceedKHR`).
#[base::code_fn]
pub unsafe extern "code" fn proceed(context: *const c_void, queries: *const u64, results: *mut u32, lanes: u32) {
    // SAFETY: generated code passes results for MAX_RAY_LANES lanes, and its own context and
    // queries.
    unsafe {
        results.write_bytes(0, MAX_RAY_LANES);
        with_scene(context, |scene| {
            let mut rays: [Option<&mut Traversal>; MAX_RAY_LANES] = [const { None }; MAX_RAY_LANES];
            collect(&mut rays, queries, lanes);
            let found = Traversal::proceed_all(&mut rays, scene);
            (0..MAX_RAY_LANES).for_each(|lane| *results.add(lane) = found >> lane & 1);
        });
    }
}

/// Commits candidate triangles (`OpRayQueryConfirmIntersectionKHR`).
#[base::code_fn]
pub unsafe extern "code" fn confirm(_: *const c_void, queries: *const u64, lanes: u32) {
    // SAFETY: generated code passes its own queries.
    unsafe { each(queries, lanes, |_, query| query.confirm_intersection()) };
}

/// Commits intersections with candidate boxes (`OpRayQueryGenerateIntersectionKHR`).
#[base::code_fn]
pub unsafe extern "code" fn generate(_: *const c_void, queries: *const u64, t: *const f32, lanes: u32) {
    // SAFETY: generated code passes its own queries, and distances for MAX_RAY_LANES lanes.
    unsafe {
        each(queries, lanes, |lane, query| {
            query.generate_intersection(*t.add(lane));
        });
    }
}

/// Ends traversals (`OpRayQueryTerminateKHR`).
#[base::code_fn]
pub unsafe extern "code" fn terminate(_: *const c_void, queries: *const u64, lanes: u32) {
    // SAFETY: generated code passes its own queries.
    unsafe { each(queries, lanes, |_, query| query.terminate()) };
}

/// Reads from ray queries (`OpRayQueryGet…KHR`).
#[base::code_fn]
pub unsafe extern "code" fn get(_: *const c_void, queries: *const u64, getter: u32, results: *mut u32, lanes: u32) {
    use RayGetter as G;
    let Some((getter, committed)) = RayGetter::from_word(getter) else { return };
    // SAFETY: generated code passes its own queries, and results for all components of the
    // getter and MAX_RAY_LANES lanes.
    let results = unsafe {
        results.write_bytes(0, getter.components().min(MAX_RAY_COMPONENTS) * MAX_RAY_LANES);
        Results { queries, results, lanes, committed }
    };
    match getter {
        G::IntersectionType => results.of_hit(|hit| [kind_word(hit.kind, committed)]),
        G::RayTMin => results.of_query(|query| [query.ray().t_min.to_bits()]),
        G::RayFlags => results.of_query(|query| [query.flags()]),
        // Without a committed intersection it is the end of the ray's interval.
        G::IntersectionT if committed => results.of_query(|query| [query.t_max().to_bits()]),
        G::IntersectionT => results.of_hit(|hit| [hit.t.to_bits()]),
        G::InstanceCustomIndex => results.of_hit(|hit| [hit.custom_index]),
        G::InstanceId => results.of_hit(|hit| [hit.instance]),
        G::InstanceShaderBindingTableRecordOffset => results.of_hit(|hit| [hit.sbt_offset]),
        G::GeometryIndex => results.of_hit(|hit| [hit.geometry]),
        G::PrimitiveIndex => results.of_hit(|hit| [hit.primitive]),
        G::Barycentrics => results.of_hit(|hit| bits(hit.barycentrics)),
        G::FrontFace => results.of_hit(|hit| [hit.front_facing]),
        G::CandidateAabbOpaque => results.of_hit(|hit| [hit.opaque]),
        G::ObjectRayDirection => results.of_both(|query, hit| bits(query.object_ray_direction(hit))),
        G::ObjectRayOrigin => results.of_both(|query, hit| bits(query.object_ray_origin(hit))),
        G::WorldRayDirection => results.of_query(|query| bits(query.ray().direction)),
        G::WorldRayOrigin => results.of_query(|query| bits(query.ray().origin)),
        G::ObjectToWorld => results.of_both(|query, hit| bits(matrix_columns(&query.object_to_world(hit)))),
        G::WorldToObject => results.of_both(|query, hit| bits(matrix_columns(&query.world_to_object(hit)))),
        G::TriangleVertexPositions => results.of_hit(|hit| primitive::<9>(hit, 0)),
        G::IsSphere => results.of_hit(|hit| [u32::from(hit.kind == HitKind::Sphere)]),
        G::IsLss => results.of_hit(|hit| [u32::from(hit.kind == HitKind::Lss)]),
        G::SpherePosition => results.of_hit(|hit| primitive::<3>(hit, 0)),
        G::SphereRadius => results.of_hit(|hit| primitive::<1>(hit, RADIUS_WORD as usize)),
        G::LssPositions => results.of_hit(|hit| primitive::<6>(hit, 0)),
        G::LssRadii => results.of_hit(|hit| primitive::<2>(hit, RADIUS_WORD as usize)),
        G::LssHitValue => results.of_hit(|hit| bits([hit.barycentrics[0]])),
        G::CullMask => results.of_query(|query| [query.cull_mask()]),
    }
}

/// The results of a getter for the queries of a call.
struct Results {
    /// Addresses of the lanes' queries.
    queries: *const u64,
    /// `[component][lane]`, with all components of the getter.
    results: *mut u32,
    lanes: u32,
    committed: bool,
}

impl Results {
    /// Stores the words that a function returns for each lane's query.
    #[inline]
    fn of_query<const N: usize>(&self, words: impl Fn(&Traversal) -> [u32; N]) {
        for lane in lanes_of(self.lanes) {
            // SAFETY: only `get` makes results, and calls this function once with as many
            // components as the getter has. The query is initialized, and nothing else uses it
            // meanwhile, as in `collect`.
            unsafe {
                let query = &*(*self.queries.add(lane) as *const Traversal);
                for (component, word) in words(query).into_iter().enumerate() {
                    *self.results.add(component * MAX_RAY_LANES + lane) = word;
                }
            }
        }
    }

    /// Stores words of each lane's query and intersection.
    #[inline]
    fn of_both<const N: usize>(&self, words: impl Fn(&Traversal, &Hit) -> [u32; N]) {
        self.of_query(|query| words(query, if self.committed { query.committed() } else { query.candidate() }));
    }

    /// Stores words of each lane's intersection.
    #[inline]
    fn of_hit<const N: usize>(&self, words: impl Fn(&Hit) -> [u32; N]) {
        self.of_both(|_, hit| words(hit));
    }
}

/// Returns the bits of floats.
fn bits<const N: usize>(values: [f32; N]) -> [u32; N] {
    values.map(f32::to_bits)
}

/// Returns consecutive words of the built-in primitive that is hit.
fn primitive<const N: usize>(hit: &Hit, first: usize) -> [u32; N] {
    bits(std::array::from_fn(|i| hit.vertices.as_flattened()[first + i]))
}

/// Returns a kind in the encoding of SPIR-V: that of committed intersections has none, triangle and
/// generated; that of candidates has triangle and box. Spheres have the kind of triangles.
fn kind_word(kind: HitKind, committed: bool) -> u32 {
    use HitKind::{Aabb, Lss, None, Sphere, Triangle};
    match (kind, committed) {
        (None, _) | (Triangle | Sphere | Lss, false) => 0,
        (Triangle | Sphere | Lss, true) | (Aabb, false) => 1,
        (HitKind::Aabb, true) => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_matrices_are_those_of_spirv() {
        assert_eq!([HitKind::None, HitKind::Triangle, HitKind::Aabb].map(|kind| kind_word(kind, true)), [0, 1, 2]);
        assert_eq!([HitKind::Triangle, HitKind::Aabb].map(|kind| kind_word(kind, false)), [0, 1]);
        let rows = std::array::from_fn(|i| i as f32);
        assert_eq!(matrix_columns(&rows), [0.0, 4.0, 8.0, 1.0, 5.0, 9.0, 2.0, 6.0, 10.0, 3.0, 7.0, 11.0]);
    }
}
