//! Tests of variable pointers (`data/pointers.comp.spvasm`): interpreter and machine code against
//! the same computations in Rust.

use crate::emit_common::{CONFIGURATIONS, compile_tier, run_compiled};
use crate::spirv_common::{bytes, execute, read, words};
use base::shader::{BindingLayout, DescriptorKind, PipelineLayoutInfo};
use jit::ir::{Shader, verify};
use jit::passes::{PassOptions, run};
use jit::spirv::{Accept, Module, Specialization, translate};
use jit_test_support::interp::Memory;

/// Returns the layout of set 0: storage buffers 0, 1, three at 2, and 3, one after another in
/// memory.
fn layout() -> PipelineLayoutInfo {
    let binding = |binding: u32, at: u32, count| BindingLayout {
        binding,
        kind: DescriptorKind::StorageBuffer,
        offset: at * base::abi::DESCRIPTOR_SIZE as u32,
        count,
        variable: false,
        dynamic_index: 0,
    };
    PipelineLayoutInfo {
        sets: vec![vec![binding(0, 0, 1), binding(1, 1, 1), binding(2, 2, 3), binding(3, 5, 1)]],
        heap: None,
    }
}

fn translated(name: &str) -> Shader {
    let module = Module::parse(&words(name)).expect("module");
    let stage = spirv_common::stage(name);
    let accept = Accept::all_implemented();
    let shader = translate(&module, stage, "main", &Specialization::default(), &layout(), &accept);
    let shader = shader.unwrap_or_else(|e| panic!("{name}: {e}"));
    verify(&shader).unwrap_or_else(|e| panic!("{e}\n{shader}"));
    shader
}

/// Returns the buffers after a workgroup, run in every way.
fn all_ways(shader: &Shader, memory: &Memory) -> Vec<Vec<u8>> {
    let want: Vec<Vec<u8>> = execute(shader, memory, 8, true).buffers.into_iter().map(|b| b.1).collect();
    let mut optimised = shader.clone();
    run(&mut optimised, &PassOptions { verify: true }).expect("passes");
    for shader in [shader, &optimised] {
        for (lanes, tier) in CONFIGURATIONS {
            let code = compile_tier(shader, &layout(), lanes as u32, tier);
            assert_eq!(run_compiled(&code, memory, [1; 3]), want, "{lanes} lanes, {tier:?}");
        }
    }
    want
}

#[test]
fn variable_pointers() {
    let numbered = |from: u32| (from..from + 32).collect::<Vec<u32>>();
    let (a, b) = (numbered(100), numbered(200));
    let c: Vec<Vec<u32>> = [1000, 2000, 3000].map(numbered).into();
    let mut buffers = vec![((0, 0), bytes(&a)), ((0, 1), bytes(&b))];
    buffers.extend(c.iter().map(|c| ((0, 2), bytes(c))));
    buffers.push(((0, 3), vec![0; 16 * 16 * 4]));
    let memory = Memory { buffers, ..Memory::default() };
    let after = all_ways(&translated("pointers.comp"), &memory);
    let after = Memory { buffers: memory.buffers.iter().map(|b| b.0).zip(after).collect(), ..Memory::default() };
    let out = read(&after, 0, 3);
    for i in 0..16usize {
        let (odd, n, i3) = (i % 2 == 1, i as u32, i % 3);
        let walk = a[..3].iter().chain(&b).take(i + 1).sum::<u32>();
        let want = [
            if odd { a[i] } else { b[i] },
            b[i],
            if i < 5 { b[2] } else { c[i3][i] },
            if odd { a[i] } else { c[i3][i] },
            if odd { c[1][4 + i3] } else { a[3 + i3] },
            if i < 5 { 5 } else { n * 10 + if odd { 0 } else { 1000 } },
            if i < 8 { 1000 } else { a[i] },
            u32::from(i3 == 1) | 2 | u32::from(odd) << 2,
            (n.wrapping_sub(1)).wrapping_add(100u32.wrapping_mul(3u32.wrapping_sub(n))),
            walk,
            77,
            if i < 8 { 0 } else { 77 },
        ];
        assert_eq!(out[i * 16..i * 16 + want.len()], want, "invocation {i}");
    }
    let touched = |before: &[u32], at: usize, binding: usize| {
        let mut want = before.to_vec();
        want[at] += 8;
        assert_eq!(after.buffers[binding].1, bytes(&want), "atomics through a pointer");
    };
    touched(&b, 15, 1);
    touched(&c[2], 0, 4);
    assert_eq!((&after.buffers[0].1, &after.buffers[2].1), (&bytes(&a), &bytes(&c[0])));
}

#[test]
fn single_target_selections_and_void_results() {
    // A number too small for a normalized half becomes a zero of its sign.
    let least = 6.103_515_6e-5;
    let floats = [least * 0.999_999, -least * 0.5, -least, 65520.0, 1.000_488_3, 1.000_488_4, 1e-30, -0.0f32];
    let halves = [0.0, -0.0, -least, f32::INFINITY, 1.0, 1.000_976_6, 0.0, -0.0f32];
    let mut words = vec![0; 16];
    words.extend(floats.map(f32::to_bits));
    let memory = Memory { buffers: vec![((0, 0), bytes(&words))], ..Memory::default() };
    let out = all_ways(&translated("edges.comp"), &memory).remove(0);
    let mut want: Vec<u32> = (0..8).map(|i| i * 10 + if i < 3 { 1 } else { 5 } + u32::from(i % 2 == 0)).collect();
    want.extend(halves.map(f32::to_bits));
    want.extend(floats.map(f32::to_bits));
    assert_eq!(out, bytes(&want));
}

#[test]
fn arms_meet_before_the_merge_block() {
    let memory = Memory { buffers: vec![((0, 0), bytes(&[0; 16]))], ..Memory::default() };
    let out = all_ways(&translated("joins.comp"), &memory).remove(0);
    let want = (0..16u32).map(|i| {
        let (c0, c1, c2) = (i & 1 != 0, i & 2 != 0, i & 4 != 0);
        let x = if c0 { 1 } else { 2 };
        let w = if !c1 {
            4
        } else if c2 {
            1
        } else {
            8
        };
        let sum: u32 = if c2 { (1..8).sum() } else { (4..8).sum() };
        x * 100 + if c0 { 2 * w } else { w } + sum * 1000
    });
    assert_eq!(out, bytes(&want.collect::<Vec<_>>()));
}

use crate::spirv_common;
