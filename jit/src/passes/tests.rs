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
