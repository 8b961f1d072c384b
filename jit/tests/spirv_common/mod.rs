//! Code shared by the `spirv_*` tests: modules from `tests/data`, the pipeline layout of their
//! convention, runs on the interpreter.
#![allow(dead_code, reason = "each test binary uses a part")]

pub mod corpus;
pub mod mutate;
pub mod reflect;

use base::shader::{BindingLayout, DescriptorKind, PipelineLayoutInfo, Stage};
use jit::error::Error;
use jit::ir::Shader;
use jit::ir::verify;
use jit::passes::{PassOptions, dce, lower_math, mem2reg, run};
use jit::spirv::{Accept, Module, Specialization, translate};
use jit_test_support::interp::{Memory, run_workgroup};

/// Returns the words of a module in `tests/data`.
pub fn words(name: &str) -> Vec<u32> {
    let path = format!("{}/tests/data/{name}.spv", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Returns the layout that all test shaders use: the kind of a descriptor follows from its set.
pub fn layout() -> PipelineLayoutInfo {
    use DescriptorKind as K;
    let kinds = [
        K::StorageBuffer,
        K::UniformBuffer,
        K::CombinedImageSampler,
        K::SampledImage,
        K::Sampler,
        K::StorageImage,
        K::UniformTexelBuffer,
        K::StorageTexelBuffer,
        K::InputAttachment,
    ];
    let set = |kind| {
        let binding = |binding| BindingLayout {
            binding,
            kind,
            offset: binding * 64,
            count: 4,
            variable: false,
            dynamic_index: 0,
        };
        (0..4).map(binding).collect()
    };
    PipelineLayoutInfo { sets: kinds.into_iter().map(set).collect(), heap: None }
}

/// Returns the stage by file name.
pub fn stage(name: &str) -> Stage {
    match name.rsplit('.').next() {
        Some("vert") => Stage::Vertex,
        Some("geom") => Stage::Geometry,
        Some("frag") => Stage::Fragment,
        _ => Stage::Compute,
    }
}

/// Parses and translates `main`; the result must verify.
pub fn compile(words: &[u32], stage: Stage, spec: &Specialization) -> Result<Shader, Error> {
    let module = Module::parse(words)?;
    let shader = translate(&module, stage, "main", spec, &layout(), &Accept::all_implemented())?;
    if let Err(e) = verify(&shader) {
        panic!("the verifier refuses the translation: {e}\n{shader}");
    }
    Ok(shader)
}

/// Translates a module of `tests/data`.
pub fn shader(name: &str) -> Shader {
    compile(&words(name), stage(name), &Specialization::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Returns the bytes of words.
pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Returns the bytes of floats.
pub fn float_bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Returns the words of a buffer.
pub fn read(memory: &Memory, set: u32, binding: u32) -> Vec<u32> {
    let b = memory.buffer(set, binding).expect("buffer");
    b.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Runs workgroup (0, 0, 0) as translated (transcendental functions expanded), in SSA form (which
/// must give the same bits), and through all passes. With `exact` the last gives the same bits too;
/// otherwise multiplications and additions may have been contracted.
pub fn execute(shader: &Shader, memory: &Memory, subgroup: usize, exact: bool) -> Memory {
    let once = |s: &Shader| {
        let mut m = memory.clone();
        run_workgroup(s, &mut m, [0; 3], [1; 3], subgroup, None).expect("run");
        m
    };
    let mut expanded = shader.clone();
    lower_math(&mut expanded).expect("transcendental functions of binary32");
    let plain = once(&expanded);
    let mut ssa = expanded;
    mem2reg(&mut ssa);
    dce(&mut ssa);
    verify(&ssa).expect("verify after mem2reg");
    assert_eq!(plain.buffers, once(&ssa).buffers, "mem2reg changes results");
    let mut full = shader.clone();
    run(&mut full, &PassOptions { verify: true }).expect("passes");
    let last = once(&full);
    if exact {
        assert_eq!(plain.buffers, last.buffers, "passes change results");
    }
    last
}
