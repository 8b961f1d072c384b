//! Tests that `lir::safety` proves all memory accesses in code of every module of the repository,
//! and of mutants of them.

use crate::spirv_common::corpus::modules;
use crate::spirv_common::mutate;
use crate::spirv_common::reflect::layout_of;
use base::abi::DESCRIPTOR_SIZE;
use base::random::XorshiftStar as Rng;
use base::shader::Stage;
use jit::emit::{self, EmitOptions};
use jit::passes::{self, PassOptions};
use jit::spirv::{Accept, Module, Specialization, translate};
use std::time::{Duration, Instant};

/// Emits and verifies all accepted entry points of a module. Returns their number.
fn verify(name: &str, words: &[u32], wrong: &mut Vec<String>) -> usize {
    let Ok(module) = Module::parse(words) else { return 0 };
    let mut layout = layout_of(words);
    // Bindings follow one another, as in the driver's layouts.
    for set in &mut layout.sets {
        let mut at = 0;
        for binding in set {
            binding.offset = at;
            at += binding.count.max(1) * DESCRIPTOR_SIZE as u32;
        }
    }
    let mut count = 0;
    for point in module.entry_points() {
        let Some(stage) = Stage::from_execution_model(point.model) else { continue };
        let made =
            translate(&module, stage, &point.name, &Specialization::default(), &layout, &Accept::all_implemented());
        let Ok(mut shader) = made else { continue };
        if passes::run(&mut shader, &PassOptions::default()).is_err() {
            continue;
        }
        let wide: &[u32] = if matches!(stage, Stage::Compute | Stage::Fragment) { &[16] } else { &[] };
        for &lanes in [4, 8].iter().chain(wide) {
            let divergence = passes::divergence(&shader, lanes);
            let Ok(emission) = emit::build(&shader, &divergence, &layout, &EmitOptions::with_lanes(lanes)) else {
                continue;
            };
            if let Err(e) = emit::verify(&emission, &shader, &layout, false) {
                wrong.push(format!("{name}, {}, {lanes} lanes: {e}", point.name));
                if std::env::var_os("GRUS_LIR").is_some() {
                    eprintln!("{}", emission.lir);
                }
            }
            count += 1;
        }
    }
    count
}

#[test]
fn accesses_of_all_modules_are_proved() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (name, words) in modules(&["jit/tests/data", "icd/tests/data", "cts-runner/src/bench/shaders"]) {
        count += verify(&name, &words, &mut wrong);
    }
    assert!(wrong.is_empty(), "{} of {count}: {wrong:#?}", wrong.len());
    assert!(count > 300, "only {count} emissions");
}

#[test]
fn accesses_of_mutants_are_proved() {
    let mut corpus = modules(&["jit/tests/data", "icd/tests/data"]);
    corpus.retain(|(_, words)| words.len() <= 4 << 10);
    let (mut wrong, began) = (Vec::new(), Instant::now());
    let most = std::env::var("GRUS_SPIRV_MUTATIONS").ok().and_then(|n| n.parse().ok());
    for seed in 1..=most.unwrap_or(2000) {
        let mut rng = Rng::new(seed);
        let (name, words) = &corpus[rng.below(corpus.len())];
        let mutant = mutate::mutant(words, &mut rng);
        verify(&format!("seed {seed} of {name}"), &mutant, &mut wrong);
        if most.is_none() && began.elapsed() > Duration::from_secs(5) {
            break;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
