//! The functions that generated code calls through its context.

use base::abi::HelperTable;

/// Reads a timestamp for shader clocks.
#[base::code_fn]
unsafe extern "code" fn clock(out: *mut u64) {
    // SAFETY: generated code passes the address of a variable.
    unsafe { *out = crate::os::clock::now() };
}

/// Returns the functions that generated code calls.
pub fn helpers() -> HelperTable {
    HelperTable {
        image_divergent: texture::image_divergent,
        fma_f32: base::fma::fma_f32,
        fma_f64: base::fma::fma_f64,
        interpolate: rasterizer::interpolate,
        centroids: rasterizer::centroids,
        sample_chunks: texture::sample_chunks,
        begin_atomics: base::deferred_atomics::begin_atomics,
        combine_atomics: base::deferred_atomics::combine_atomics,
        end_atomics: base::deferred_atomics::end_atomics,
        clock,
        ray_query_initialize: super::ray_query::initialize,
        ray_query_copy: super::ray_query::copy,
        ray_query_proceed: super::ray_query::proceed,
        ray_query_confirm: super::ray_query::confirm,
        ray_query_generate: super::ray_query::generate,
        ray_query_terminate: super::ray_query::terminate,
        ray_query_get: super::ray_query::get,
    }
}
