//! Ray queries whose results are functions of their arguments, in place of a traversal.

use super::{MAX_RAY_LANES, RAY_COMMITTED, RAY_QUERY_ALIGN, RayArguments, RayGetter};
use core::ffi::c_void;

/// The state of a query in memory of generated code.
#[repr(C)]
struct Query {
    structure: u64,
    flags: u32,
    /// Number of candidates that remain.
    remaining: u32,
    t_min: f32,
    t_max: f32,
    origin: [f32; 3],
    direction: [f32; 3],
    /// Kind and distance of the committed intersection.
    committed: u32,
    t: f32,
}

/// Calls a function with the query of each lane in `lanes`.
///
/// # Safety
/// `queries` has addresses of queries of these lanes.
unsafe fn each(queries: *const u64, lanes: u32, mut f: impl FnMut(usize, &mut Query)) {
    assert!(lanes < 1 << MAX_RAY_LANES);
    for lane in (0..MAX_RAY_LANES).filter(|lane| lanes >> lane & 1 != 0) {
        // SAFETY: the caller passes addresses of queries.
        let address = unsafe { *queries.add(lane) };
        assert!(address.is_multiple_of(RAY_QUERY_ALIGN as u64));
        // SAFETY: the query is memory that generated code owns, and any bytes are a query.
        f(lane, unsafe { &mut *(address as *mut Query) });
    }
}

/// Initializes queries with as many candidates as the low 3 bits of the mask say.
#[base::code_fn]
pub unsafe extern "code" fn initialize(
    _: *const c_void,
    queries: *const u64,
    arguments: *const RayArguments,
    lanes: u32,
) {
    // SAFETY: generated code passes arguments and queries of the lanes.
    unsafe {
        let a = &*arguments;
        each(queries, lanes, |lane, q| {
            *q = Query {
                structure: a.structure[lane],
                flags: a.flags[lane],
                remaining: a.cull_mask[lane] & 7,
                t_min: a.t_min[lane],
                t_max: a.t_max[lane],
                origin: a.origin.map(|c| c[lane]),
                direction: a.direction.map(|c| c[lane]),
                committed: 0,
                t: a.t_max[lane],
            };
        });
    }
}

/// Copies queries.
#[base::code_fn]
pub unsafe extern "code" fn copy(_: *const c_void, queries: *const u64, sources: *const u64, lanes: u32) {
    // SAFETY: generated code passes queries of the lanes.
    unsafe {
        each(queries, lanes, |lane, q| *q = (*sources.add(lane) as *const Query).read());
    }
}

/// Consumes a candidate.
#[base::code_fn]
pub unsafe extern "code" fn proceed(_: *const c_void, queries: *const u64, results: *mut u32, lanes: u32) {
    // SAFETY: generated code passes queries of the lanes and results of all lanes.
    unsafe {
        results.write_bytes(0, MAX_RAY_LANES);
        each(queries, lanes, |lane, q| {
            *results.add(lane) = u32::from(q.remaining > 0);
            q.remaining = q.remaining.saturating_sub(1);
        });
    }
}

/// Commits a triangle.
#[base::code_fn]
pub unsafe extern "code" fn confirm(_: *const c_void, queries: *const u64, lanes: u32) {
    // SAFETY: generated code passes queries of the lanes.
    unsafe { each(queries, lanes, |_, q| q.committed = 1) };
}

/// Commits a generated intersection.
#[base::code_fn]
pub unsafe extern "code" fn generate(_: *const c_void, queries: *const u64, t: *const f32, lanes: u32) {
    // SAFETY: generated code passes queries of the lanes and distances of all lanes.
    unsafe { each(queries, lanes, |lane, q| (q.committed, q.t) = (2, *t.add(lane))) };
}

/// Drops the remaining candidates.
#[base::code_fn]
pub unsafe extern "code" fn terminate(_: *const c_void, queries: *const u64, lanes: u32) {
    // SAFETY: generated code passes queries of the lanes.
    unsafe { each(queries, lanes, |_, q| q.remaining = 0) };
}

/// Reads the arguments, or numbers that tell getters and components apart.
#[base::code_fn]
pub unsafe extern "code" fn get(_: *const c_void, queries: *const u64, word: u32, results: *mut u32, lanes: u32) {
    let (getter, committed) = RayGetter::from_word(word).expect("a getter's word");
    assert_eq!(word & RAY_COMMITTED != 0, committed);
    // SAFETY: generated code passes queries of the lanes and results of all components and
    // lanes.
    unsafe {
        results.write_bytes(0, getter.components() * MAX_RAY_LANES);
        each(queries, lanes, |lane, q| {
            for component in 0..getter.components() {
                let value = match getter {
                    RayGetter::IntersectionType if committed => q.committed,
                    RayGetter::RayTMin => q.t_min.to_bits(),
                    RayGetter::RayFlags => q.flags,
                    RayGetter::IntersectionT if committed => q.t.to_bits(),
                    RayGetter::IntersectionT => q.t_max.to_bits(),
                    RayGetter::WorldRayOrigin => q.origin[component].to_bits(),
                    RayGetter::WorldRayDirection => q.direction[component].to_bits(),
                    RayGetter::FrontFace | RayGetter::CandidateAabbOpaque => q.structure as u32 & 1,
                    _ => (word << 8 | component as u32) ^ q.structure as u32,
                };
                *results.add(component * MAX_RAY_LANES + lane) = value;
            }
        });
    }
}
