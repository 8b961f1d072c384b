//! The functions that generated code calls through its context.

use base::abi::HelperTable;

base::code_fn! {
    /// Computes exact fused multiply-adds of 32 bits on processors without the instruction.
    unsafe extern "code" fn fma_f32(a: *const f32, b: *const f32, c: *const f32, out: *mut f32, n: u32) {
        for i in 0..n as usize {
            // SAFETY: generated code passes `n` elements each.
            unsafe { *out.add(i) = (*a.add(i)).mul_add(*b.add(i), *c.add(i)) };
        }
    }
}

base::code_fn! {
    /// Computes exact fused multiply-adds of 64 bits on processors without the instruction.
    unsafe extern "code" fn fma_f64(a: *const f64, b: *const f64, c: *const f64, out: *mut f64, n: u32) {
        for i in 0..n as usize {
            // SAFETY: generated code passes `n` elements each.
            unsafe { *out.add(i) = (*a.add(i)).mul_add(*b.add(i), *c.add(i)) };
        }
    }
}

base::code_fn! {
    /// Reads a timestamp for shader clocks.
    unsafe extern "code" fn clock(out: *mut u64) {
        // SAFETY: generated code passes the address of a variable.
        unsafe { *out = crate::os::clock::now() };
    }
}

/// Returns the functions that generated code calls.
pub fn helpers() -> HelperTable {
    HelperTable {
        image_divergent: texture::image_divergent,
        fma_f32,
        fma_f64,
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
