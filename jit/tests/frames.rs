//! Tests of large frames, large private arrays and deep nesting, in every tier, for callers with
//! small stacks.

mod emit_common;
#[path = "spirv_common/modules.rs"]
mod modules;
mod spirv_common;

use base::shader::{CompiledStage, Stage};
use emit_common::run_compiled;
use jit::code::CodeBlob;
use jit::error::{Error, ErrorKind};
use jit::spirv::{Accept, Module, Specialization};
use jit::tier::Tier;
use jit_test_support::interp::Memory;
use modules::{arrays, arrays_result, chain, copies, nest};
use spirv_common::{bytes, execute, float_bytes, read};
use std::sync::Arc;

/// Size in bytes of a stack that an application may give its threads.
const SMALL: usize = 64 << 10;

fn build(words: &[u32], tier: Tier) -> Result<CodeBlob, Error> {
    let request = jit::CompileRequest {
        module: &Module::parse(words)?,
        stage: Stage::Compute,
        entry: "main",
        specialization: &Specialization::default(),
        layout: &emit_common::buffers_layout(1),
        accept: &Accept::all_implemented(),
    };
    jit::compile(&request, tier)
}

/// Runs `f` on `n` threads with small stacks at once.
fn on_small_threads<T: Send + 'static>(n: usize, f: impl Fn() -> T + Send + Sync + 'static) -> Vec<T> {
    let f = Arc::new(f);
    let spawn = |_| {
        let f = f.clone();
        std::thread::Builder::new().stack_size(SMALL).spawn(move || f()).expect("a thread")
    };
    let threads: Vec<_> = (0..n).map(spawn).collect();
    threads.into_iter().map(|t| t.join().expect("no panic")).collect()
}

fn memory(values: &[f32]) -> Memory {
    Memory { buffers: vec![((0, 0), float_bytes(values))], ..Memory::default() }
}

/// Runs a workgroup of loaded code on four small threads at once. Returns the buffer, which must be
/// the same on all of them.
fn run(blob: CodeBlob, values: Vec<f32>) -> Vec<u8> {
    let mut all = on_small_threads(4, move || {
        // The code is stored and loaded, as in a cache.
        let blob = jit::load_stored(&blob.to_bytes()).expect("the stored form");
        let stage = CompiledStage { info: blob.info.clone(), code: Arc::new(blob.load().expect("executable memory")) };
        let mut after = run_compiled(&stage, &memory(&values), [1; 3]);
        after.remove(0)
    });
    all.dedup();
    assert_eq!(all.len(), 1, "threads differ");
    all.remove(0)
}

/// Returns the interpreter's result.
fn want(words: &[u32], values: &[f32]) -> Vec<u8> {
    let shader = spirv_common::compile(words, Stage::Compute, &Specialization::default()).expect("translation");
    bytes(&read(&execute(&shader, &memory(values), 8, false), 0, 0))
}

#[test]
fn large_frames_run_on_small_threads() {
    let words = chain(1200);
    let values: Vec<f32> = (0..64).map(|i| 0.25 + i as f32 / 32.0).collect();
    let want = want(&words, &values);
    let blob = build(&words, Tier::Quick).expect("code");
    assert!(blob.frame as usize > 2 * SMALL, "{}: not what the test is for", blob.frame);
    assert_eq!(jit::load_stored(&blob.to_bytes()).expect("the stored form").frame, blob.frame);
    assert_eq!(run(blob, values.clone()), want);
    for tier in Tier::ALL {
        let better = build(&words, tier).expect("code");
        assert!(better.frame > 0);
        assert_eq!(run(better, values.clone()), want);
    }
}

#[test]
fn copies_of_large_arrays_are_loops() {
    let values: Vec<f32> = (0..64).map(|i| i as f32 + 0.5).collect();
    for tier in Tier::ALL {
        let blob = build(&copies(1 << 16, 4), tier).expect("code");
        assert!(blob.frame < 32 << 10 && blob.code.len() < 32 << 10, "{} {}", blob.frame, blob.code.len());
        assert_eq!(run(blob, values.clone()), float_bytes(&values));
    }
}

#[test]
fn large_array_values_are_copied() {
    let values: Vec<f32> = (0..64).map(|i| i as f32 + 1.0).collect();
    let results: Vec<f32> = (0..).zip(&values).map(|(x, &v)| arrays_result(x, v)).collect();
    // The array is in scalars, in memory, or in memory with elements that remain after the last
    // iteration of a loop.
    for len in [200, 1024, 1003] {
        assert_eq!(want(&arrays(len), &values), float_bytes(&results), "{len}");
        for tier in Tier::ALL {
            let blob = build(&arrays(len), tier).expect("code");
            assert!(len == 200 || blob.frame < 32 << 10, "{}", blob.frame);
            assert_eq!(run(blob, values.clone()), float_bytes(&results), "{len}");
        }
    }
}

#[test]
fn deep_nesting_uses_its_own_stack() {
    for result in on_small_threads(2, || Tier::ALL.map(|tier| build(&nest(1023), tier))) {
        for blob in result {
            let values = vec![1.0; 64];
            let more = (0..64).map(|x| if x > 9 { 2.0 } else { 1.0 });
            assert_eq!(run(blob.expect("code"), values), float_bytes(&more.collect::<Vec<f32>>()));
        }
    }
    for kind in on_small_threads(1, || [9000, 20_000].map(|n| build(&nest(n), Tier::Quick).map_err(|e| e.kind).err())) {
        assert_eq!(kind, [Some(ErrorKind::Limit); 2]);
    }
}
