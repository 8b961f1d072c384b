//! Family `compute`: dispatches of compute programs and language models, from streaming to sorting.

mod atomics;
mod graph;
mod images;
mod latency;
mod linear;
mod llm;
mod lookup;
mod matvec;
mod physics;
mod prefix;
mod rows;
mod words;

use super::figure::Unit;
use super::kernel::{Kernel, between, job, storage, storage_of, storage_of_floats, zero};
use super::recording::SetupResult;
use super::workload::{Family, Spec, spirv};

const C: Family = Family::Compute;

/// Workloads of the family.
pub const SPECS: &[Spec] = &[
    Spec::quick("compute/saxpy", C, linear::saxpy),
    Spec::full("compute/saxpy-vec4", C, linear::saxpy_vec4),
    Spec::quick("compute/matmul-naive", C, linear::matmul_naive),
    Spec::quick("compute/matmul-tiled", C, linear::matmul_tiled),
    Spec::full("compute/matmul-blocked", C, linear::matmul_blocked),
    Spec::full("compute/matmul-cooperative", C, linear::matmul_cooperative),
    Spec::full("compute/matvec-f32", C, matvec::f32_weights),
    Spec::quick("compute/matvec-f16", C, matvec::f16_weights),
    Spec::full("compute/matvec-f16-storage", C, matvec::f16_storage),
    Spec::full("compute/matvec-q8", C, matvec::q8_weights),
    Spec::full("compute/matvec-q8-storage", C, matvec::q8_storage),
    Spec::quick("compute/matvec-q4", C, matvec::q4_weights),
    Spec::quick("compute/llm-q8_0", C, llm::q8_0_vector),
    Spec::quick("compute/llm-q4_k", C, llm::q4_k_vector),
    Spec::quick("compute/llm-f16", C, llm::f16_vector),
    Spec::quick("compute/llm-f16-matrix", C, llm::f16_matrix),
    Spec::quick("compute/llm-rope", C, llm::rope),
    Spec::quick("compute/llm-flash-attention", C, llm::flash_attention),
    Spec::quick("compute/softmax", C, rows::softmax),
    Spec::full("compute/layer-norm", C, rows::layer_norm),
    Spec::quick("compute/reduce-shared", C, prefix::reduce_shared),
    Spec::full("compute/reduce-subgroup", C, prefix::reduce_subgroup),
    Spec::quick("compute/scan-shared", C, prefix::scan_shared),
    Spec::full("compute/scan-subgroup", C, prefix::scan_subgroup),
    Spec::quick("compute/histogram-shared", C, words::histogram_shared),
    Spec::full("compute/histogram-global", C, words::histogram_global),
    Spec::quick("compute/atomics-contended", C, atomics::contended),
    Spec::quick("compute/atomics-append", C, atomics::append),
    Spec::quick("compute/atomics-divergent", C, atomics::divergent),
    Spec::quick("compute/divergent-buffers", C, atomics::buffers),
    Spec::quick("compute/nbody", C, physics::nbody),
    Spec::quick("compute/mandelbrot", C, physics::mandelbrot),
    Spec::quick("compute/sha256", C, words::sha256),
    Spec::quick("compute/bitonic-sort", C, words::bitonic_sort),
    Spec::quick("compute/fft", C, physics::fft),
    Spec::full("compute/convolve-storage", C, images::convolve_storage),
    Spec::quick("compute/convolve-sampled", C, images::convolve_sampled),
    Spec::full("compute/convolve-shared", C, images::convolve_shared),
    Spec::quick("compute/lookup-1d", C, lookup::one_dimension),
    Spec::quick("compute/lookup-3d", C, lookup::three_dimensions),
    Spec::quick("compute/graph-gather", C, graph::gather),
    Spec::full("compute/graph-bfs", C, graph::breadth_first),
    Spec::quick("compute/particles-aos", C, physics::particles_aos),
    Spec::full("compute/particles-soa", C, physics::particles_soa),
    Spec::quick("compute/empty-dispatch", C, latency::empty_dispatch),
    Spec::quick("compute/dispatches-1000", C, latency::many_dispatches),
];
