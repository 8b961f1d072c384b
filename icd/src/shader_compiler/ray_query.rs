//! The helpers of ray queries for a device that has no acceleration structures: every ray misses.

use base::abi::{MAX_LANES, MAX_RAY_COMPONENTS, RayArguments, RayGetter};
use core::ffi::c_void;

/// Initializes ray queries; their bytes stay 0, which is a query that has ended.
pub unsafe extern "C" fn initialize(_: *const c_void, _: *const u64, _: *const RayArguments, _: u32) {}

/// Reports that the traversal of every lane is complete.
pub unsafe extern "C" fn proceed(_: *const c_void, _: *const u64, results: *mut u32, _: u32) {
    // SAFETY: generated code passes results for MAX_LANES lanes.
    unsafe { results.write_bytes(0, MAX_LANES) };
}

/// Leaves queries without candidates as they are (`ray_query_confirm`, `ray_query_terminate`).
pub unsafe extern "C" fn end(_: *const c_void, _: *const u64, _: u32) {}

/// Leaves queries without candidates as they are.
pub unsafe extern "C" fn generate(_: *const c_void, _: *const u64, _: *const f32, _: u32) {}

/// Returns results of 0.
pub unsafe extern "C" fn get(_: *const c_void, _: *const u64, getter: u32, results: *mut u32, _: u32) {
    let components = RayGetter::from_word(getter).map_or(0, |(getter, _)| getter.components().min(MAX_RAY_COMPONENTS));
    // SAFETY: generated code passes results for all components of the getter and MAX_LANES lanes.
    unsafe { results.write_bytes(0, components * MAX_LANES) };
}
