//! Tests that the text forms of IR and LIR are read back as what was printed.

use jit::{ir, lir};
use jit_test_support::ir_random::{Options, compute_shader, ray_generation_shader};
use jit_test_support::lir_random::{self, program};

#[test]
fn random_shaders_are_read_back_with_their_meaning() {
    for seed in 0..60 {
        let options = Options::default();
        let program = if seed % 4 == 0 { ray_generation_shader(seed, options) } else { compute_shader(seed, options) };
        let shader = ir::parse(&program.shader.to_string()).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        ir::verify(&shader).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let text = shader.to_string();
        assert_eq!(ir::parse(&text).map(|shader| shader.to_string()), Ok(text), "seed {seed}");
        assert_eq!(program.interpret(&shader), program.interpret(&program.shader), "seed {seed}");
    }
}

#[test]
fn random_functions_are_read_back() {
    for seed in 0..100 {
        let func = program(seed, lir_random::Options { size: 60, only: None, fma: true });
        let read = lir::parse(&func.to_string()).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        lir::verify(&read).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let text = read.to_string();
        assert_eq!(lir::parse(&text).map(|func| func.to_string()), Ok(text), "seed {seed}");
    }
}
