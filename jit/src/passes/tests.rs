//! Every pass against the interpreter, on random programs.

use super::*;
use crate::ir::random::{Options, Program, compute_shader};
use crate::ir::{Shader, verify};

/// Program sizes and forms, by seed.
fn program(seed: u64) -> Program {
    let options = Options {
        vars: seed % 5 != 0,
        results: seed % 2 == 0,
        size: 30 + (seed % 7) as u32 * 25,
        ..Options::default()
    };
    compute_shader(seed, options)
}

/// Interprets before and after a list of passes.
fn check(seeds: std::ops::Range<u64>, passes: &[(&str, &dyn Fn(&mut Shader))]) {
    for seed in seeds {
        let program = program(seed);
        let expected = program.interpret(&program.shader);
        let mut shader = program.shader.clone();
        for (name, pass) in passes {
            let before = shader.to_string();
            pass(&mut shader);
            if let Err(e) = verify(&shader) {
                panic!("seed {seed}: after {name}: {e}\n{before}\n{shader}");
            }
            let output = program.interpret(&shader);
            assert!(program.same(&expected, &output), "seed {seed}: {name} changed results\n{before}\n{shader}");
        }
    }
}

#[test]
fn structure_keeps_results() {
    check(0..400, &[("structure", &structure)]);
}

#[test]
fn mem2reg_keeps_results() {
    check(0..400, &[("mem2reg", &mem2reg)]);
    check(400..600, &[("structure", &structure), ("mem2reg", &mem2reg), ("structure", &structure)]);
}

#[test]
fn dce_keeps_results() {
    check(0..400, &[("dce", &dce)]);
    check(400..700, &[("mem2reg", &mem2reg), ("dce", &dce), ("structure", &structure), ("dce", &dce)]);
}

#[test]
fn fold_keeps_results() {
    check(0..400, &[("fold", &fold)]);
    check(
        400..700,
        &[("mem2reg", &mem2reg), ("fold", &fold), ("structure", &structure), ("fold", &fold), ("dce", &dce)],
    );
}

#[test]
fn cse_keeps_results() {
    check(0..400, &[("cse", &cse)]);
    check(400..600, &[("mem2reg", &mem2reg), ("fold", &fold), ("cse", &cse), ("dce", &dce), ("cse", &cse)]);
}

#[test]
fn flatten_keeps_results() {
    check(0..400, &[("flatten", &flatten)]);
    check(400..600, &[("mem2reg", &mem2reg), ("dce", &dce), ("flatten", &flatten), ("dce", &dce)]);
}

#[test]
fn unroll_and_split_arrays_keep_results() {
    let unroll = |s: &mut Shader| {
        unroll(s);
    };
    let split = |s: &mut Shader| {
        split_arrays(s);
    };
    check(
        0..300,
        &[("fold", &fold), ("unroll", &unroll), ("fold", &fold), ("split_arrays", &split), ("structure", &structure)],
    );
    check(
        300..600,
        &[
            ("structure", &structure),
            ("mem2reg", &mem2reg),
            ("fold", &fold),
            ("dce", &dce),
            ("unroll", &unroll),
            ("fold", &fold),
            ("structure", &structure),
            ("dce", &dce),
        ],
    );
}

#[test]
fn contract_leaves_exact_arithmetic_alone() {
    check(0..200, &[("contract", &contract)]);
}

#[test]
fn the_whole_list_keeps_results() {
    check(0..600, &[("run", &|s| run(s, &PassOptions { verify: true }).unwrap_or_else(|e| panic!("{e}")))]);
}
