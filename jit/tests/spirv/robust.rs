//! Tests of invalid input: truncations and mutations of real modules give an error or IR that
//! verifies, never a panic or an endless loop.

use crate::spirv_common::*;
use base::random::XorshiftStar as Rng;
use base::shader::Stage;
use jit::error::ErrorKind;
use jit::spirv::{Accept, Module, Specialization, translate};
use jit::tier::Tier;
use std::time::{Duration, Instant};

const NAMES: [&str; 11] = [
    "control.comp",
    "layout.comp",
    "shared.comp",
    "glsl.comp",
    "subgroup.comp",
    "subgroup_arithmetic.comp",
    "dot.comp",
    "nonuniform.comp",
    "scene.vert",
    "scene.frag",
    "subpass.frag",
];

fn attempt(words: &[u32], stage: Stage) {
    let start = Instant::now();
    match compile(words, stage, &Specialization::default()) {
        // An accepted module must also go through the passes.
        Ok(mut s) => {
            if let Err(e) = jit::passes::run(&mut s, &jit::passes::PassOptions { verify: true }) {
                assert_ne!(e.kind, ErrorKind::Internal, "{e}");
            }
        }
        Err(e) => {
            assert_ne!(e.kind, ErrorKind::Internal, "{e}");
            assert!(!e.message.is_empty());
        }
    }
    assert!(start.elapsed() < Duration::from_secs(20), "takes too long");
}

#[test]
fn every_truncation() {
    for name in ["shared.comp", "subpass.frag", "scene.vert"] {
        let all = words(name);
        for n in 0..all.len() {
            attempt(&all[..n], stage(name));
        }
    }
}

/// Returns the number of mutations per module, which `GRUS_SPIRV_MUTATIONS` overrides for longer
/// runs.
fn mutations(default: usize) -> usize {
    std::env::var("GRUS_SPIRV_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Damages one to five words.
fn mutate(all: &[u32], rng: &mut Rng) -> Vec<u32> {
    let mut bad = all.to_vec();
    for _ in 0..=rng.below(4) {
        let at = rng.below(bad.len());
        match rng.below(6) {
            0 => bad[at] = rng.next() as u32,
            1 => bad[at] ^= 1 << rng.below(32),
            // The word becomes another id or literal.
            2 => bad[at] = rng.below(all[3] as usize) as u32,
            // The opcode changes, but not the length.
            3 => bad[at] = bad[at] & 0xffff_0000 | rng.below(450) as u32,
            4 => bad[at] = all[rng.below(all.len())],
            _ => drop(bad.remove(at)),
        }
    }
    bad
}

#[test]
fn random_mutations() {
    let mut rng = Rng::new(0x1234_5678_9abc);
    for name in NAMES {
        let all = words(name);
        for _ in 0..mutations(400) {
            attempt(&mutate(&all, &mut rng), stage(name));
        }
    }
}

/// Compiles a module to machine code.
fn build(words: &[u32], stage: Stage, tier: Tier) -> Result<jit::code::CodeBlob, jit::error::Error> {
    let module = Module::parse(words)?;
    let request = jit::CompileRequest {
        module: &module,
        stage,
        entry: "main",
        specialization: &Specialization::default(),
        layout: &layout(),
        accept: &Accept::all_implemented(),
    };
    jit::compile(&request, tier)
}

#[test]
fn mutated_modules_compile_to_code_or_are_refused() {
    let mut rng = Rng::new(0xfeed_5678_9abc);
    let start = Instant::now();
    let long = std::env::var_os("GRUS_SPIRV_MUTATIONS").is_some();
    let mut built = 0;
    for _ in 0..mutations(100) {
        for name in NAMES {
            let bad = mutate(&words(name), &mut rng);
            let began = Instant::now();
            let tier = Tier::ALL[rng.below(Tier::ALL.len())];
            match build(&bad, stage(name), tier) {
                Ok(_) => built += 1,
                Err(e) => assert_ne!(e.kind, ErrorKind::Internal, "{name}: {e}"),
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{name} takes too long");
        }
        if !long && start.elapsed() > Duration::from_secs(1) {
            break;
        }
    }
    assert!(built > 0, "no mutation was harmless: the test mutates too much");
}

/// Assembles a module from instructions `(opcode, operands)`.
fn assemble(bound: u32, insts: &[(u16, &[u32])]) -> Vec<u32> {
    let mut out = vec![0x0723_0203, 0x0001_0000, 0, bound, 0];
    for (op, args) in insts {
        out.push((args.len() as u32 + 1) << 16 | u32::from(*op));
        out.extend_from_slice(args);
    }
    out
}

/// Returns `OpEntryPoint GLCompute %1 "main"`, a workgroup size of one, void, bool, true and a
/// function type.
fn head() -> Vec<(u16, &'static [u32])> {
    vec![
        (17, &[1]),
        (14, &[0, 1]),
        (15, &[5, 1, 0x6e69_616d, 0]),
        (16, &[1, 17, 1, 1, 1]),
        (19, &[2]),
        (20, &[3]),
        (41, &[3, 4]),
        (33, &[5, 2]),
    ]
}

fn kind(words: &[u32]) -> Option<ErrorKind> {
    compile(words, Stage::Compute, &Specialization::default()).err().map(|e| e.kind)
}

#[test]
fn recursion_is_refused() {
    let mut insts = head();
    insts.extend([(54u16, &[2u32, 1, 0, 5][..]), (248, &[6]), (57, &[2, 7, 1]), (253, &[]), (56, &[])]);
    assert_eq!(kind(&assemble(8, &insts)), Some(ErrorKind::Invalid));
}

#[test]
fn calls_that_double_hit_the_limit() {
    // Each `f(i)` calls `f(i+1)` twice, in 40 levels.
    let mut body: Vec<(u16, Vec<u32>)> = Vec::new();
    for i in 0..40u32 {
        let f = if i == 0 { 1 } else { 100 + i };
        body.push((54, vec![2, f, 0, 5]));
        body.push((248, vec![200 + i]));
        if i < 39 {
            body.push((57, vec![2, 300 + 2 * i, 101 + i]));
            body.push((57, vec![2, 301 + 2 * i, 101 + i]));
        }
        body.push((253, vec![]));
        body.push((56, vec![]));
    }
    let mut insts = head();
    insts.extend(body.iter().map(|(op, args)| (*op, args.as_slice())));
    assert_eq!(kind(&assemble(400, &insts)), Some(ErrorKind::Limit));
}

/// Returns a module with `n` nested selections.
fn nested_ifs(n: u32) -> Vec<u32> {
    let mut body: Vec<(u16, Vec<u32>)> = vec![(54, vec![2, 1, 0, 5]), (248, vec![1000])];
    // Block i (1000 + i) selects block i+1 or its merge block (100000 + i).
    for i in 0..n {
        body.push((247, vec![100_000 + i, 0]));
        body.push((250, vec![4, 1001 + i, 100_000 + i]));
        body.push((248, vec![1001 + i]));
    }
    for i in (0..n).rev() {
        body.push((249, vec![100_000 + i]));
        body.push((248, vec![100_000 + i]));
    }
    body.push((253, vec![]));
    body.push((56, vec![]));
    let mut insts = head();
    insts.extend(body.iter().map(|(op, args)| (*op, args.as_slice())));
    assemble(200_000, &insts)
}

#[test]
fn deep_nesting() {
    assert_eq!(kind(&nested_ifs(20)), None);
    assert_eq!(kind(&nested_ifs(300)), None);
    assert_eq!(kind(&nested_ifs(1023)), None);
    assert_eq!(kind(&nested_ifs(9000)), Some(ErrorKind::Limit));
    assert_eq!(kind(&nested_ifs(50_000)), Some(ErrorKind::Limit));
}

#[test]
fn huge_types_hit_limits() {
    // The module has `float x[2^20][2^20]` in a Function variable.
    let mut insts = head();
    insts.extend([
        (22u16, &[10u32, 32][..]),
        (21, &[11, 32, 0]),
        (43, &[11, 12, 1 << 20]),
        (28, &[13, 10, 12]),
        (28, &[14, 13, 12]),
        (32, &[15, 7, 14]),
        (54, &[2, 1, 0, 5]),
        (248, &[6]),
        (59, &[15, 16, 7]),
        (253, &[]),
        (56, &[]),
    ]);
    assert_eq!(kind(&assemble(20, &insts)), Some(ErrorKind::Limit));
}

#[test]
fn messages_name_opcode_and_id() {
    // OpSignBitSet (`%u32 %9`) exists, but is not implemented.
    let mut insts = head();
    insts.extend([
        (21u16, &[10u32, 32, 0][..]),
        (43, &[10, 11, 3]),
        (54, &[2, 1, 0, 5]),
        (248, &[6]),
        (160, &[10, 9, 11]),
        (253, &[]),
        (56, &[]),
    ]);
    let e = compile(&assemble(20, &insts), Stage::Compute, &Specialization::default()).expect_err("refused");
    assert_eq!((e.kind, e.id), (ErrorKind::Unsupported, 9));
    assert_eq!(e.to_string(), "OpSignBitSet %9: not implemented (capability Kernel)");
}

#[test]
fn unaccepted_capabilities_are_refused() {
    let module = Module::parse(&words("scene.frag")).expect("parse");
    let run = |accept: &Accept, layout: &base::shader::PipelineLayoutInfo| {
        translate(&module, Stage::Fragment, "main", &Specialization::default(), layout, accept)
    };
    let all = Accept::all_implemented();
    assert!(run(&all, &layout()).is_ok());
    let no_query =
        Accept { capabilities: all.capabilities.iter().copied().filter(|&c| c != 50).collect(), ..all.clone() };
    let e = run(&no_query, &layout()).expect_err("ImageQuery");
    assert_eq!(e.kind, ErrorKind::Unsupported);
    assert!(e.to_string().contains("ImageQuery"), "{e}");
    // A binding is missing from the layout, and another one has a different kind.
    let mut less = layout();
    less.sets[2].remove(0);
    assert_eq!(run(&all, &less).expect_err("no binding").kind, ErrorKind::Invalid);
    let mut other = layout();
    other.sets[5][0].kind = base::shader::DescriptorKind::SampledImage;
    assert_eq!(run(&all, &other).expect_err("kind").kind, ErrorKind::Invalid);
    // The entry point's name is wrong, and then its stage.
    let e = translate(&module, Stage::Fragment, "other", &Specialization::default(), &layout(), &all);
    assert_eq!(e.expect_err("name").kind, ErrorKind::Invalid);
    let e = translate(&module, Stage::Vertex, "main", &Specialization::default(), &layout(), &all);
    assert_eq!(e.expect_err("stage").kind, ErrorKind::Invalid);
}
