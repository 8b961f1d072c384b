//! Stages whose code is written in Rust, and contexts for them.

use base::abi::*;
use base::limits::{MAX_DESCRIPTOR_SETS, MAX_PUSH_CONSTANTS};
use base::shader::{CompiledStage, ShaderInfo, StageInterface, StageSpecificInfo};
use core::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Returns a stage that runs `entry` with chunks of `lanes` lanes.
pub fn stage(stage_info: StageSpecificInfo, entry: StageFn, lanes: u32, interface: StageInterface) -> CompiledStage {
    let info = ShaderInfo {
        stage_info,
        lanes,
        interface: Arc::new(interface),
        capture: None,
        side_effects: false,
        has_loops: false,
        draw_parameters: true,
        frame: None,
    };
    CompiledStage { info, code: Arc::new(entry) }
}

static NEVER: AtomicU32 = AtomicU32::new(0);

/// Defines helpers that end the process: stages written in Rust call none.
macro_rules! uncalled {
    ($($name:ident $([$generic:ident])? ($($argument:ty),*);)*) => {
        $(#[base::code_fn]
        unsafe extern "code" fn $name$(<$generic>)?($(_: $argument),*) {
            unreachable!("stages written in Rust call no helper")
        })*
    };
}

uncalled! {
    no_image(*const *const ImageView, *const *const Sampler, *mut ImageArgs);
    no_fma[F](*const F, *const F, *const F, *mut F, u32);
    no_interpolate(*const c_void, u32, *const u32, u32, *mut f32);
    no_centroids(*const c_void, u32, *mut f32);
    no_chunks(*const ImageView, *const Sampler, *mut ImageArgs, *const f32, *mut u32, u32);
    no_clock(*mut u64);
    no_ray_query_initialize(*const c_void, *const u64, *const RayArguments, u32);
    no_ray_query_copy(*const c_void, *const u64, *const u64, u32);
    no_ray_query_proceed(*const c_void, *const u64, *mut u32, u32);
    no_ray_query_end(*const c_void, *const u64, u32);
    no_ray_query_generate(*const c_void, *const u64, *const f32, u32);
    no_ray_query_get(*const c_void, *const u64, u32, *mut u32, u32);
}

static HELPERS: HelperTable = HelperTable {
    image_divergent: no_image,
    fma_f32: no_fma,
    fma_f64: no_fma,
    interpolate: no_interpolate,
    centroids: no_centroids,
    sample_chunks: no_chunks,
    begin_atomics: base::deferred_atomics::begin_atomics,
    combine_atomics: base::deferred_atomics::combine_atomics,
    end_atomics: base::deferred_atomics::end_atomics,
    clock: no_clock,
    ray_query_initialize: no_ray_query_initialize,
    ray_query_copy: no_ray_query_copy,
    ray_query_proceed: no_ray_query_proceed,
    ray_query_confirm: no_ray_query_end,
    ray_query_generate: no_ray_query_generate,
    ray_query_terminate: no_ray_query_end,
    ray_query_get: no_ray_query_get,
};

/// Returns a context without resources, with this abort flag.
pub fn context_with(abort: &'static AtomicU32) -> Arc<ShaderContext> {
    Arc::new(ShaderContext {
        sets: [core::ptr::null(); MAX_DESCRIPTOR_SETS],
        dynamic_buffers: base::abi::DynamicBuffers::NONE,
        push_constants: [0; MAX_PUSH_CONSTANTS],
        num_workgroups: [1; 3],
        base_vertex: 0,
        base_instance: 0,
        draw_index: 0,
        view_index: 0,
        device_index: 0,
        addresses: AddressSpace::EMPTY,
        heaps: base::abi::Heaps::NONE,
        structures: core::ptr::null(),
        abort,
        helpers: &HELPERS,
    })
}

/// Returns a context without resources that is never aborted.
pub fn context() -> Arc<ShaderContext> {
    context_with(&NEVER)
}
