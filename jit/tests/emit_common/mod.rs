//! Harness that runs emitted stages on contexts and batches made by hand.
#![allow(dead_code, reason = "each test binary uses its own part of the harness")]

mod ray_query;

use base::abi::*;
use base::fused::FusedMulAdd;
use base::limits::{MAX_DESCRIPTOR_SETS, MAX_PUSH_CONSTANTS};
use base::shader::*;
use core::cell::Cell;
use core::ffi::c_void;
use core::slice::from_ref;
use jit::code::CodeBlob;
use jit::emit::{self, EmitOptions};
use jit::ir::*;
use jit::passes::{self, PassOptions};
use jit_test_support::interp::{self, Memory};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Returns the layout of set 0 with `n` storage buffers at bindings 0..n.
pub fn buffers_layout(n: u32) -> PipelineLayoutInfo {
    let binding = |b| BindingLayout {
        binding: b,
        kind: DescriptorKind::StorageBuffer,
        offset: b * DESCRIPTOR_SIZE as u32,
        count: 1,
        variable: false,
        dynamic_index: 0,
    };
    PipelineLayoutInfo { sets: vec![(0..n).map(binding).collect()], heap: None }
}

pub use jit::tier::Tier;

/// Numbers of lanes and tiers that must give the same bits in every stage.
pub const CONFIGURATIONS: [(usize, Tier); 6] = {
    let [quick, full, wide] = Tier::ALL;
    [(4, quick), (4, full), (4, wide), (8, quick), (8, full), (8, wide)]
};

/// Numbers of lanes per chunk in stages without vertices.
pub const WIDTHS: [u32; 5] = [4, 8, 16, 32, 64];

/// Returns the numbers of lanes and tiers that must give the same bits in stages without vertices.
pub fn all_configurations() -> impl Iterator<Item = (usize, Tier)> {
    WIDTHS.into_iter().flat_map(|lanes| Tier::ALL.map(|tier| (lanes as usize, tier)))
}

/// Returns some of these configurations, which differ between rounds, for tests that cannot run
/// all.
pub fn wide_configurations(round: u64) -> impl Iterator<Item = (usize, Tier)> {
    let wide = WIDTHS[2 + round as usize % 3] as usize;
    CONFIGURATIONS.into_iter().chain([(wide, Tier::ALL[round as usize / 3 % Tier::ALL.len()])])
}

/// Emits and loads a shader, with the wide tier.
pub fn compile(shader: &Shader, layout: &PipelineLayoutInfo, lanes: u32) -> CompiledStage {
    compile_tier(shader, layout, lanes, Tier::Wide)
}

/// Emits and loads a shader with a tier.
pub fn compile_tier(shader: &Shader, layout: &PipelineLayoutInfo, lanes: u32, tier: Tier) -> CompiledStage {
    try_compile(shader, layout, lanes, tier).unwrap_or_else(|e| panic!("{e}\n{shader}"))
}

/// Emits and loads a shader with a tier, or returns the error.
pub fn try_compile(
    shader: &Shader,
    layout: &PipelineLayoutInfo,
    lanes: u32,
    tier: Tier,
) -> Result<CompiledStage, jit::error::Error> {
    try_compile_rows(shader, layout, EmitOptions::with_lanes(lanes), tier)
}

/// Emits and loads a shader with given options, or returns the error.
pub fn try_compile_rows(
    shader: &Shader,
    layout: &PipelineLayoutInfo,
    options: EmitOptions,
    tier: Tier,
) -> Result<CompiledStage, jit::error::Error> {
    let divergence = passes::divergence(shader, options.lanes);
    let emitted = emit::build(shader, &divergence, layout, &options)?;
    emit::verify(&emitted, shader, layout, false).unwrap_or_else(|e| panic!("{e}\n{}", emitted.lir));
    let lanes = options.row_lanes;
    let (code, tier) = jit::tier::generate(&emitted.lir, tier)?;
    let info = ShaderInfo {
        stage_info: shader.stage_info,
        lanes,
        interface: Arc::new(StageInterface {
            inputs: shader.inputs.clone(),
            outputs: shader.outputs.clone(),
            placements: shader.placements.clone(),
        }),
        capture: shader.capture.clone().map(Arc::new),
        side_effects: shader.side_effects,
        has_loops: false,
        draw_parameters: true,
        frame: emit::frame(shader)?.map(Arc::new),
    };
    let (frame, scratch, cpu_features) = (code.frame, emitted.scratch_bytes, jit::host::cpu_features());
    let blob = CodeBlob { info, code: code.bytes, frame, scratch, tier, cpu_features };
    let code = Arc::new(blob.load().expect("executable memory"));
    Ok(CompiledStage { info: blob.info, code })
}

/// Returns a counter in place of the time.
#[base::code_fn]
unsafe extern "code" fn clock(out: *mut u64) {
    static TIME: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    // SAFETY: generated code passes a pointer to a writable word of 64 bits.
    unsafe { *out = TIME.fetch_add(1, std::sync::atomic::Ordering::Relaxed) };
}

#[base::code_fn]
unsafe extern "code" fn image_divergent(
    views: *const *const ImageView,
    samplers: *const *const Sampler,
    args: *mut ImageArgs,
) {
    // SAFETY: generated code passes valid arguments, and a valid view and sampler for every
    // active lane.
    unsafe {
        let all = (*args).mask;
        let mut out = (*args).result;
        for lane in 0..base::abi::MAX_LANES {
            if all >> lane & 1 == 0 {
                continue;
            }
            (*args).mask = 1 << lane;
            let view = *views.add(lane);
            let sampler = if samplers.is_null() { core::ptr::null() } else { *samplers.add(lane) };
            ((*view).kernels[(*args).kernel as usize])(view, sampler, args);
            for (row, new) in out.iter_mut().zip(&(*args).result) {
                row[lane] = new[lane];
            }
        }
        (*args).result = out;
        (*args).mask = all;
    }
}

/// Evaluates an input slot at lane `lane` of a quad with the formulas of `FragmentPrimitive`. `at`
/// has the positions inside the pixels.
unsafe fn input(quad: &FragmentQuad, at: &QuadPositions, lane: usize, slot: usize, perspective: bool) -> f32 {
    // SAFETY: the quad has a valid primitive with that slot, because the tests' batches consist of
    // such quads.
    let (p, a) = unsafe { (&*quad.primitive, (*(*quad.primitive).attributes.add(slot)).map(f32::from_bits)) };
    let x = (i32::from(quad.x) - p.origin[0]) as f32 + at.x[lane];
    let y = (i32::from(quad.y) - p.origin[1]) as f32 + at.y[lane];
    let plane = |q: [f32; 3]| q[0].fused_mul_add(x, q[1].fused_mul_add(y, q[2]));
    let (mut w1, mut w2) = (plane(p.b1), plane(p.b2));
    if perspective {
        let w = 1.0 / plane(p.inv_w);
        (w1, w2) = ((w1 * p.inv_w1) * w, (w2 * p.inv_w2) * w);
    }
    w2.fused_mul_add(a[2], w1.fused_mul_add(a[1], a[0]))
}

#[base::code_fn]
unsafe extern "code" fn interpolate(batch: *const c_void, quads: u32, inputs: *const u32, count: u32, rows: *mut f32) {
    // SAFETY: generated code passes its own batch, slots of its interface, and memory for the
    // rows.
    unsafe {
        let batch = batch.cast::<FragmentBatch>();
        assert_eq!(rows.align_offset(32), 0);
        for lane in 0..4 * (*batch).count.next_multiple_of(quads) as usize {
            let quad = &*(*batch).quads.add(lane / 4);
            let at = &(*(*batch).positions)[usize::from(quad.sample)];
            for i in 0..count as usize {
                let word = *inputs.add(i);
                let value = input(quad, at, lane % 4, word as usize / 2, word % 2 != 0);
                *rows.add((lane / 8 * count as usize + i) * 8 + lane % 8) = value;
            }
        }
    }
}

#[base::code_fn]
unsafe extern "code" fn centroids(batch: *const c_void, quads: u32, rows: *mut f32) {
    // SAFETY: generated code passes its own batch, and memory for the rows.
    unsafe {
        let batch = &*batch.cast::<FragmentBatch>();
        assert_eq!(rows.align_offset(32), 0);
        for lane in 0..4 * batch.count.next_multiple_of(quads) as usize {
            let coverage = (*batch.quads.add(lane / 4)).coverage >> (4 * (lane % 4));
            let covered: Vec<_> =
                (0..batch.samples as usize).filter(|s| coverage >> s & 1 != 0).map(|s| (*batch.positions)[s]).collect();
            let centre = covered.is_empty() || covered.len() == batch.samples as usize;
            let mean = |all: f32| if centre { 0.5 } else { all / covered.len() as f32 };
            let [x, y] = [covered.iter().map(|p| p.x[0]).sum(), covered.iter().map(|p| p.y[0]).sum()].map(mean);
            let row = lane / 8 * 16 + lane % 8;
            (*rows.add(row), *rows.add(row + 8)) = (x, y);
        }
    }
}

thread_local! {
    /// Number of calls on this thread that defer atomics.
    pub static TABLES_BEGUN: Cell<usize> = const { Cell::new(0) };
}

/// Counts its calls and forwards to the helper.
#[base::code_fn]
unsafe extern "code" fn begin_atomics(table: *mut c_void, op: u32, bytes: u32) {
    TABLES_BEGUN.set(TABLES_BEGUN.get() + 1);
    // SAFETY: generated code passes a valid table.
    unsafe { base::deferred_atomics::begin_atomics(table, op, bytes) }
}

thread_local! {
    /// Chunks that this thread's calls of `HelperTable::sample_chunks` sampled.
    pub static CHUNKS_SAMPLED: Cell<usize> = const { Cell::new(0) };
}

/// Samples chunks lane by lane, without a kernel of the view, and counts the chunks.
#[base::code_fn]
pub unsafe extern "code" fn sample_chunks(
    view: *const ImageView,
    sampler: *const Sampler,
    args: *mut ImageArgs,
    coords: *const f32,
    results: *mut u32,
    chunks: u32,
) {
    CHUNKS_SAMPLED.set(CHUNKS_SAMPLED.get() + chunks as usize);
    // SAFETY: generated code passes rows of `chunks` chunks, and valid arguments of a kernel.
    unsafe {
        let row_lanes = (*args).row_lanes as usize;
        let per = row_lanes / MAX_LANES;
        assert!(matches!(per, 1 | 2) && coords.align_offset(32) == 0 && results.align_offset(32) == 0);
        let place = |chunk: usize, rows: usize, c: usize, lane: usize| {
            (chunk / per * rows + c) * row_lanes + chunk % per * MAX_LANES + lane
        };
        for chunk in 0..chunks as usize {
            for lane in 0..MAX_LANES {
                for c in 0..2 {
                    (*args).coord[c][lane] = *coords.add(place(chunk, 2, c, lane));
                }
            }
            ((*view).kernels[KERNEL_SAMPLE + (*sampler).class as usize])(view, sampler, args);
            for lane in 0..MAX_LANES {
                for c in 0..4 {
                    *results.add(place(chunk, 4, c, lane)) = (*args).result[c][lane];
                }
            }
        }
    }
}

/// Helpers with the interface of those of the rasterizer.
pub static HELPERS: HelperTable = HelperTable {
    image_divergent,
    fma_f32: base::fma::fma_f32,
    fma_f64: base::fma::fma_f64,
    interpolate,
    centroids,
    sample_chunks,
    begin_atomics,
    combine_atomics: base::deferred_atomics::combine_atomics,
    end_atomics: base::deferred_atomics::end_atomics,
    clock,
    ray_query_initialize: ray_query::initialize,
    ray_query_copy: ray_query::copy,
    ray_query_proceed: ray_query::proceed,
    ray_query_confirm: ray_query::confirm,
    ray_query_generate: ray_query::generate,
    ray_query_terminate: ray_query::terminate,
    ray_query_get: ray_query::get,
};

/// Memory aligned to 64 bytes.
pub struct Aligned {
    words: Vec<[u64; 8]>,
}

impl Aligned {
    /// Allocates memory filled with a byte.
    pub fn new(bytes: usize, fill: u8) -> Self {
        // One more unit allows the start to be aligned.
        Aligned { words: vec![[u64::from_ne_bytes([fill; 8]); 8]; bytes.div_ceil(64) + 2] }
    }
    /// Returns a pointer to the first aligned byte.
    pub fn ptr(&mut self) -> *mut u8 {
        let p = self.words.as_mut_ptr().cast::<u8>();
        p.wrapping_add(p.align_offset(64))
    }
    /// Returns the first `n` bytes.
    pub fn bytes(&mut self, n: usize) -> &mut [u8] {
        let p = self.ptr();
        // SAFETY: `new` allocated more than a unit beyond the size, and `n` is limited to the
        // memory behind the first aligned byte.
        unsafe { core::slice::from_raw_parts_mut(p, n.min((self.words.len() - 1) * 64)) }
    }
}

/// A context with its descriptor memory.
pub struct Environment {
    /// Context that is passed to the stage.
    pub context: Box<ShaderContext>,
    /// Flag that makes code return early.
    pub abort: Box<AtomicU32>,
    descriptors: Vec<BufferDescriptor>,
    /// Buffers, each followed by 64 guard bytes.
    pub buffers: Vec<Aligned>,
    lengths: Vec<usize>,
}

const GUARD: usize = 64;

impl Environment {
    /// Builds set 0 with the buffers, at bindings from 0.
    pub fn new(buffers: &[Vec<u8>], push: &[u8]) -> Self {
        let mut memory = Vec::new();
        let mut descriptors = Vec::new();
        for b in buffers {
            let mut m = Aligned::new(b.len() + GUARD, 0xa5);
            m.bytes(b.len()).copy_from_slice(b);
            descriptors.push(BufferDescriptor { address: m.ptr(), range: b.len() as u64 });
            memory.push(m);
        }
        let abort = Box::new(AtomicU32::new(0));
        let mut context = Box::new(ShaderContext {
            sets: [core::ptr::null(); MAX_DESCRIPTOR_SETS],
            dynamic_buffers: base::abi::DynamicBuffers::NONE,
            push_constants: [0; MAX_PUSH_CONSTANTS],
            num_workgroups: [1; 3],
            base_vertex: 100,
            base_instance: 200,
            draw_index: 300,
            view_index: 400,
            device_index: 0,
            addresses: AddressSpace::EMPTY,
            heaps: base::abi::Heaps::NONE,
            structures: core::ptr::null(),
            abort: &*abort,
            helpers: &HELPERS,
        });
        context.sets[0] = descriptors.as_ptr().cast();
        context.push_constants[..push.len()].copy_from_slice(push);
        Environment { context, abort, descriptors, buffers: memory, lengths: buffers.iter().map(Vec::len).collect() }
    }

    /// Returns the contents of a buffer, and checks that the guard behind it is intact.
    pub fn buffer(&mut self, i: usize) -> Vec<u8> {
        let n = self.lengths[i];
        let all = self.buffers[i].bytes(n + GUARD);
        assert!(all[n..].iter().all(|&b| b == 0xa5), "a write behind buffer {i}");
        all[..n].to_vec()
    }
}

/// Runs a dispatch, in batches of one workgroup or more. Workgroup memory has other data when the
/// first one begins: the stage clears it.
pub fn dispatch(stage: &CompiledStage, env: &mut Environment, groups: [u32; 3]) {
    env.context.num_workgroups = groups;
    let info = &stage.info;
    let workgroup = info.stage_info.workgroup().expect("a stage with workgroups");
    let (shared_bytes, scratch_bytes) = (workgroup.shared_bytes as usize, stage.code.scratch_bytes());
    let mut scratch = Aligned::new(scratch_bytes, 0x5a);
    let mut sink = Aligned::new(64, 0x77);
    let mut shared = Aligned::new(shared_bytes, 0x3c);
    let total = groups.iter().product::<u32>();
    let mut at = 0;
    while at < total {
        let count = (at % 5 + 1).min(total - at);
        let mut batch = ComputeBatch {
            header: BatchHeader { scratch: scratch.ptr(), sink: sink.ptr() },
            base: [0; 3],
            groups: [groups[0], groups[1]],
            first: [at % groups[0], at / groups[0] % groups[1], at / (groups[0] * groups[1])],
            count,
            _pad: 0,
            shared: shared.ptr(),
        };
        // SAFETY: context and batch have the layout of the stage's interface.
        unsafe { stage.run(&env.context, (&raw mut batch).cast()) };
        at += count;
    }
    assert!(scratch.bytes(scratch_bytes + 32)[scratch_bytes..].iter().all(|&b| b == 0x5a));
}

/// Runs a compute shader over an interpreter's memory in all tiers, whose results must be equal.
/// Returns the buffers.
pub fn run_memory(shader: &Shader, memory: &Memory, lanes: u32, groups: [u32; 3]) -> Vec<Vec<u8>> {
    run_memories(shader, from_ref(memory), lanes, groups).pop().expect("one")
}

/// Runs a compute shader in all tiers over several memories with equal numbers of buffers. Returns
/// the buffers of each.
fn run_memories(shader: &Shader, memories: &[Memory], lanes: u32, groups: [u32; 3]) -> Vec<Vec<Vec<u8>>> {
    let layout = buffers_layout(memories[0].buffers.len() as u32);
    let [quick, others @ ..] = Tier::ALL.map(|tier| {
        let stage = compile_tier(shader, &layout, lanes, tier);
        memories.iter().map(|memory| run_compiled(&stage, memory, groups)).collect::<Vec<_>>()
    });
    others.iter().for_each(|other| assert_eq!(&quick, other, "the tiers differ, {lanes} lanes\n{shader}"));
    quick
}

/// Runs a compiled stage over an interpreter's memory. Returns the buffers.
pub fn run_compiled(stage: &CompiledStage, memory: &Memory, groups: [u32; 3]) -> Vec<Vec<u8>> {
    let buffers: Vec<Vec<u8>> = memory.buffers.iter().map(|b| b.1.clone()).collect();
    let mut env = Environment::new(&buffers, &memory.push);
    dispatch(stage, &mut env, groups);
    (0..buffers.len()).map(|i| env.buffer(i)).collect()
}

/// Builds a compute shader.
pub fn shader(local_size: [u32; 3], build: impl FnOnce(&mut Builder<'_>)) -> Shader {
    let mut shader = Shader::new(Stage::Compute, "test");
    shader.workgroup_mut().expect("workgroups").local_size = local_size;
    shader.side_effects = true;
    let mut b = Builder::new(&mut shader);
    build(&mut b);
    b.finish();
    if let Err(e) = verify(&shader) {
        panic!("{e}\n{shader}");
    }
    shader
}

/// Converts words to bytes.
pub fn words(list: impl IntoIterator<Item = u32>) -> Vec<u8> {
    list.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Converts bytes to words.
pub fn as_words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// Returns memory with these buffers in set 0.
pub fn memory(buffers: Vec<Vec<u8>>) -> Memory {
    Memory { buffers: buffers.into_iter().enumerate().map(|(i, b)| ((0, i as u32), b)).collect(), ..Memory::default() }
}

/// Checks that generated code equals the interpreter, with and without the passes, at the widths of
/// all stages. After the passes it is also checked at a wider width, which differs between the
/// shaders of a test. Returns the interpreter's buffers.
pub fn check(shader: &Shader, memory: &Memory, groups: [u32; 3]) -> Vec<Vec<u8>> {
    check_all(shader, from_ref(memory), groups).pop().expect("one")
}

/// Runs [`check`] over several memories with equal numbers of buffers, and compiles the code once.
pub fn check_all(shader: &Shader, memories: &[Memory], groups: [u32; 3]) -> Vec<Vec<Vec<u8>>> {
    thread_local!(static ROUND: Cell<usize> = const { Cell::new(0) });
    let wide = WIDTHS[2 + ROUND.replace(ROUND.get() + 1) % 3];
    let mut last = Vec::new();
    for optimise in [false, true] {
        let mut shader = shader.clone();
        if optimise {
            passes::run(&mut shader, &PassOptions::default()).expect("passes");
        }
        for lanes in [4, 8].into_iter().chain(optimise.then_some(wide)) {
            let wanted = memories.iter().map(|memory| interpreted(&shader, memory, groups, lanes));
            last = wanted.collect::<Vec<_>>();
            for (want, got) in last.iter().zip(run_memories(&shader, memories, lanes, groups)) {
                assert_same(want, &got, || format!("{lanes} lanes, optimised {optimise}\n{shader}"));
            }
        }
    }
    last
}

/// Returns the buffers after the interpreter has run the shader.
fn interpreted(shader: &Shader, memory: &Memory, groups: [u32; 3], lanes: u32) -> Vec<Vec<u8>> {
    let mut expected = memory.clone();
    for z in 0..groups[2] {
        for y in 0..groups[1] {
            for x in 0..groups[0] {
                interp::run_workgroup(shader, &mut expected, [x, y, z], groups, lanes as usize, None)
                    .unwrap_or_else(|e| panic!("{e:?}\n{shader}"));
            }
        }
    }
    expected.buffers.into_iter().map(|b| b.1).collect()
}

/// Compares buffers, and reports the words that differ.
fn assert_same(want: &[Vec<u8>], got: &[Vec<u8>], what: impl Fn() -> String) {
    for (i, (want, got)) in want.iter().zip(got).enumerate() {
        let words = as_words(want).into_iter().zip(as_words(got)).enumerate();
        let differ: Vec<String> = words
            .filter(|(_, (want, got))| want != got)
            .map(|(at, (want, got))| format!("[{at}] {got:08x}, not {want:08x}"))
            .collect();
        assert!(want == got, "buffer {i}, {}\n{}", what(), differ.join("\n"));
    }
}

/// Returns `index * 4`.
pub fn byte_offset(b: &mut Builder<'_>, index: Value) -> Value {
    let four = b.i32(4);
    b.binary(Binary::IMul, index, four)
}

/// Stores a word to a buffer.
pub fn put(b: &mut Builder<'_>, binding: u32, index: Value, value: Value) {
    let buf = b.buffer(0, binding);
    let at = byte_offset(b, index);
    b.store(buf, at, value);
}

/// Loads a word from a buffer.
pub fn get(b: &mut Builder<'_>, binding: u32, index: Value, ty: Ty) -> Value {
    let buf = b.buffer(0, binding);
    let at = byte_offset(b, index);
    b.load(buf, at, ty)
}

/// Flags of plain accesses.
pub const FLAGS: MemFlags = MemFlags { readonly: false, volatile: false, align: 4 };
