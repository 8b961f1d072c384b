//! Tests of generated code against the interpreter on random structured compute shaders, for 4 and
//! 8 lanes and both tiers, and a wider chunk.

use crate::emit_common::{HELPERS, buffers_layout, compile_tier, wide_configurations};
use base::abi::{AddressSpace, BatchHeader, BufferDescriptor, ComputeBatch, ShaderContext};
use base::limits::{MAX_DESCRIPTOR_SETS, MAX_PUSH_CONSTANTS};
use base::shader::CompiledStage;
use jit::ir::FloatFlags;
use jit::passes;
use jit_test_support::ir_random::{Options, Program, compute_shader};
use std::sync::atomic::AtomicU32;

static ABORT: AtomicU32 = AtomicU32::new(0);

/// Runs the program's workgroups and returns the output buffer.
fn execute(program: &Program, stage: &CompiledStage) -> Vec<u8> {
    let mut memory = program.memory();
    // The buffers are longer than their ranges, because a descriptor guarantees 16 readable bytes.
    memory.buffers.iter_mut().for_each(|(_, bytes)| bytes.reserve(16));
    let descriptors: Vec<BufferDescriptor> = memory
        .buffers
        .iter_mut()
        .map(|(_, bytes)| BufferDescriptor { address: bytes.as_mut_ptr(), range: bytes.len() as u64 })
        .collect();
    let mut context = ShaderContext {
        sets: [std::ptr::null(); MAX_DESCRIPTOR_SETS],
        dynamic_buffers: base::abi::DynamicBuffers::NONE,
        push_constants: [0; MAX_PUSH_CONSTANTS],
        num_workgroups: [program.workgroups, 1, 1],
        base_vertex: 0,
        base_instance: 0,
        draw_index: 0,
        view_index: 0,
        device_index: 0,
        addresses: AddressSpace::EMPTY,
        heaps: base::abi::Heaps::NONE,
        structures: std::ptr::null(),
        abort: &ABORT,
        helpers: &HELPERS,
    };
    context.sets[0] = descriptors.as_ptr().cast();
    let workgroup = stage.info.stage_info.workgroup().expect("a compute stage");
    let mut scratch = vec![0x5a5a_u128 << 50; stage.code.scratch_bytes() / 16 + 4];
    let mut sink = [0u128; 4];
    let mut shared = vec![0x77_u128 << 9; workgroup.shared_bytes as usize / 16 + 4];
    // Workgroups must clear scratch and shared memory themselves, so both begin with other
    // contents.
    let header = BatchHeader { scratch: scratch.as_mut_ptr().cast(), sink: sink.as_mut_ptr().cast() };
    let mut batch = ComputeBatch {
        header,
        base: [0; 3],
        groups: [program.workgroups, 1],
        first: [0; 3],
        count: program.workgroups,
        _pad: 0,
        shared: shared.as_mut_ptr().cast(),
    };
    // SAFETY: the stage was emitted for this context and batch; all memory is alive and long
    // enough.
    unsafe { stage.run(&context, (&raw mut batch).cast()) };
    memory.buffers.swap_remove(1).1
}

fn check(seed: u64, options: Options, optimise: bool) {
    let program = compute_shader(seed, options);
    let mut shader = program.shader.clone();
    if optimise {
        passes::run(&mut shader, &passes::PassOptions::default()).expect("passes");
    }
    let want = program.interpret(&shader);
    for (lanes, tier) in wide_configurations(seed) {
        let got = execute(&program, &compile_tier(&shader, &buffers_layout(2), lanes as u32, tier));
        if !program.same(&want, &got) {
            let word =
                |bytes: &[u8], i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().expect("4 bytes"));
            let differ: Vec<String> = (0..want.len() / 4)
                .filter(|&i| word(&want, i) != word(&got, i))
                .map(|i| format!("{}.{}: {:08x} not {:08x}", i / 8, i % 8, word(&got, i), word(&want, i)))
                .collect();
            panic!(
                "seed {seed}, {lanes} lanes, {tier:?}, {options:?}, optimised {optimise}\n{shader}\n{}",
                differ.join("\n")
            );
        }
    }
}

fn seeds() -> std::ops::Range<u64> {
    let n = std::env::var("GRUS_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(80);
    let from = std::env::var("GRUS_SEED_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    from..from + n
}

#[test]
fn optimised_programs_match_the_interpreter() {
    for seed in seeds() {
        check(seed, Options::default(), true);
    }
}

/// Checks that programs under float modes keep their meaning when the passes turn rounding towards
/// zero and flushing into steps of other arithmetic.
#[test]
fn programs_under_float_modes_keep_their_meaning() {
    use FloatFlags as F;
    for (seed, modes) in
        seeds().zip([F::ROUND_ZERO, F::FLUSH_DENORMALS, F::ROUND_ZERO | F::FLUSH_DENORMALS].into_iter().cycle())
    {
        let options = Options { float: F::NO_CONTRACTION | modes, ..Options::default() };
        let program = compute_shader(seed, options);
        let mut shader = program.shader.clone();
        passes::run(&mut shader, &passes::PassOptions::default()).expect("passes");
        let (before, after) = (program.interpret(&program.shader), program.interpret(&shader));
        assert!(program.same(&before, &after), "seed {seed}, {modes}\n{}\n{shader}", program.shader);
        check(seed, options, true);
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
        check(
            seed,
            Options { local_size: 1 + (seed % 21 * [1, 5][seed as usize % 2]) as u32, size: 40, ..Options::default() },
            seed % 2 == 0,
        );
    }
}

#[test]
fn transcendental_programs_match_the_interpreter() {
    for seed in seeds() {
        check(seed, Options { transcendental: true, size: 30, ..Options::default() }, true);
    }
}

/// Checks barriers in arms and loops that the text does not show to be uniform, behind returns of
/// some lanes.
#[test]
fn programs_with_barriers_match_the_interpreter() {
    for seed in seeds() {
        let local_size = [16, 24, 5, 8, 33, 70, 128][seed as usize % 7];
        let options = Options { local_size, barriers: true, size: 60 + (seed % 60) as u32, ..Options::default() };
        check(seed, options, seed % 3 != 0);
    }
}
