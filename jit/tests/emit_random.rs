//! Random structured programs: generated code against the interpreter, before and after the passes, at both widths.

mod emit_common;

use jit::ir::random::{Options, compute_shader};
use jit::passes::{self, PassOptions};

fn check(seeds: std::ops::Range<u64>, local_size: u32, with_passes: bool) {
    for seed in seeds {
        let options = Options {
            local_size,
            vars: !seed.is_multiple_of(3),
            results: seed.is_multiple_of(2),
            size: 30 + (seed % 7) as u32 * 25,
            float_rem: !with_passes,
            ..Options::default()
        };
        let program = compute_shader(seed, options);
        let mut shader = program.shader.clone();
        if with_passes {
            passes::run(&mut shader, &PassOptions::default()).expect("passes");
        }
        let expected = program.interpret(&shader);
        for lanes in [4, 8] {
            let mut buffers = emit_common::run_memory(&shader, &program.memory(), lanes, [program.workgroups, 1, 1]);
            let output = buffers.swap_remove(1);
            if !program.same(&expected, &output) {
                let at = expected.chunks(4).zip(output.chunks(4)).position(|(a, b)| a != b);
                panic!("seed {seed}, {lanes} lanes: word {at:?} differs\n{shader}");
            }
        }
    }
}

#[test]
fn random_programs_after_the_passes() {
    check(0..150, 16, true);
}

#[test]
fn random_programs_as_they_are() {
    check(1000..1150, 16, false);
}

#[test]
fn random_programs_with_a_partial_chunk() {
    check(2000..2100, 13, true);
    check(2100..2150, 3, false);
}
