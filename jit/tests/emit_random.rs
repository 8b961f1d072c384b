//! Random structured compute shaders: generated code against the interpreter, for 4 and 8 lanes.

use base::abi::{
    AddressSpace, BatchHeader, BufferDescriptor, ComputeBatch, HelperTable, ImageArgs, ImageView, MAX_DESCRIPTOR_SETS,
    MAX_DYNAMIC_BUFFERS, MAX_PUSH_CONSTANTS, Sampler, ShaderContext,
};
use base::shader::{BindingLayout, CompiledStage, DescriptorKind, PipelineLayoutInfo};
use jit::code::CodeBlob;
use jit::emit::{EmitOptions, emit};
use jit::ir::Shader;
use jit::ir::random::{Options, Program, compute_shader};
use jit::passes;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

unsafe extern "C" fn no_images(_: *const *const ImageView, _: *const *const Sampler, _: *mut ImageArgs) {}

unsafe extern "C" fn fma(a: *const f32, b: *const f32, c: *const f32, out: *mut f32, n: u32) {
    for i in 0..n as usize {
        // SAFETY: generated code passes four arrays of n elements.
        unsafe { *out.add(i) = (*a.add(i)).mul_add(*b.add(i), *c.add(i)) };
    }
}

static HELPERS: HelperTable = HelperTable { image_divergent: no_images, fma_f32: fma };
static ABORT: AtomicU32 = AtomicU32::new(0);

fn layout() -> PipelineLayoutInfo {
    let binding = |binding| BindingLayout {
        binding,
        kind: DescriptorKind::StorageBuffer,
        offset: binding * 16,
        count: 1,
        dynamic_index: 0,
    };
    PipelineLayoutInfo { sets: vec![vec![binding(0), binding(1)]] }
}

fn build(shader: &Shader, lanes: u32) -> CompiledStage {
    let divergence = passes::divergence(shader, lanes);
    let emitted = emit(shader, &divergence, &layout(), &EmitOptions { lanes }).expect("emission");
    let blob = CodeBlob {
        code: emitted.code,
        cpu_features: jit::emit::cpu_features(),
        stage: shader.stage,
        lanes,
        interface: Arc::default(),
        flags: shader.flags,
        local_size: shader.local_size,
        shared_bytes: shader.shared_bytes,
        zero_shared: shader.zero_shared,
        scratch_bytes: emitted.scratch_bytes,
        has_barriers: emitted.has_barriers,
    };
    blob.load().expect("executable memory")
}

/// Runs the program's workgroups; the output buffer.
fn execute(program: &Program, stage: &CompiledStage) -> Vec<u8> {
    let mut memory = program.memory();
    // Longer than their ranges: a descriptor promises 16 readable bytes.
    memory.buffers.iter_mut().for_each(|(_, bytes)| bytes.reserve(16));
    let descriptors: Vec<BufferDescriptor> = memory
        .buffers
        .iter_mut()
        .map(|(_, bytes)| BufferDescriptor { address: bytes.as_mut_ptr(), range: bytes.len() as u64 })
        .collect();
    let mut context = ShaderContext {
        sets: [std::ptr::null(); MAX_DESCRIPTOR_SETS],
        dynamic_buffers: [descriptors[0]; MAX_DYNAMIC_BUFFERS],
        push_constants: [0; MAX_PUSH_CONSTANTS],
        num_workgroups: [program.workgroups, 1, 1],
        base_vertex: 0,
        base_instance: 0,
        draw_index: 0,
        view_index: 0,
        device_index: 0,
        addresses: AddressSpace::EMPTY,
        abort: &ABORT,
        helpers: &HELPERS,
    };
    context.sets[0] = descriptors.as_ptr().cast();
    let mut scratch = vec![0u128; stage.scratch_bytes as usize / 16 + 4];
    let mut sink = [0u128; 4];
    let mut shared = vec![0u128; stage.shared_bytes as usize / 16 + 4];
    for group in 0..program.workgroups {
        scratch.fill(0);
        shared.fill(0);
        let header = BatchHeader { scratch: scratch.as_mut_ptr().cast(), sink: sink.as_mut_ptr().cast() };
        let mut batch =
            ComputeBatch { header, workgroup_id: [group, 0, 0], pending: 0, shared: shared.as_mut_ptr().cast() };
        loop {
            // SAFETY: the stage was emitted for this context and batch; all memory is alive and long enough.
            unsafe { (stage.entry)(&context, (&raw mut batch).cast()) };
            if batch.pending == 0 {
                break;
            }
        }
    }
    memory.buffers.swap_remove(1).1
}

fn check(seed: u64, options: Options, optimise: bool) {
    let program = compute_shader(seed, options);
    let mut shader = program.shader.clone();
    if optimise {
        passes::run(&mut shader, &passes::PassOptions::default()).expect("passes");
    }
    let want = program.interpret(&shader);
    for lanes in [4, 8] {
        let got = execute(&program, &build(&shader, lanes));
        if !program.same(&want, &got) {
            let word =
                |bytes: &[u8], i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().expect("4 bytes"));
            let differ: Vec<String> = (0..want.len() / 4)
                .filter(|&i| word(&want, i) != word(&got, i))
                .map(|i| format!("{}.{}: {:08x} not {:08x}", i / 8, i % 8, word(&got, i), word(&want, i)))
                .collect();
            panic!("seed {seed}, {lanes} lanes, {options:?}, optimised {optimise}\n{shader}\n{}", differ.join("\n"));
        }
    }
}

fn seeds() -> std::ops::Range<u64> {
    let n = std::env::var("GRUS_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let from = std::env::var("GRUS_SEED_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    from..from + n
}

#[test]
fn optimised_programs_match_the_interpreter() {
    for seed in seeds() {
        check(seed, Options::default(), true);
    }
}

#[test]
fn raw_programs_match_the_interpreter() {
    for seed in seeds() {
        check(seed, Options { float_rem: true, ..Options::default() }, false);
    }
}

#[test]
fn odd_workgroup_sizes_match_the_interpreter() {
    for seed in seeds() {
        check(seed, Options { local_size: 1 + (seed % 21) as u32, size: 40, ..Options::default() }, seed % 2 == 0);
    }
}

#[test]
fn transcendental_programs_match_the_interpreter() {
    for seed in seeds() {
        check(seed, Options { transcendental: true, size: 30, ..Options::default() }, true);
    }
}

/// Barriers in arms and loops that the text does not show to be uniform, behind returns of some lanes.
#[test]
fn programs_with_barriers_match_the_interpreter() {
    for seed in seeds() {
        let local_size = [16, 24, 5, 8, 33][seed as usize % 5];
        let options = Options { local_size, barriers: true, size: 60 + (seed % 60) as u32, ..Options::default() };
        check(seed, options, seed % 3 != 0);
    }
}
