//! Tests of every pass on random programs, compared with the interpreter.

use base::shader::Stage;
use cranelift_entity::SecondaryMap;
use jit::ir::{
    Binary, Builder, Builtin, Cmp, Convert, FloatFlags, Inst, Label, Node, Op, Region, Shader, Term, Ty, Unary, Value,
    ValueDef, Var, eval, verify,
};
use jit::passes::*;
use jit_test_support::interp::{Memory, Observer, run_workgroup};
use jit_test_support::ir_random::{Options, Program, Rng, compute_shader};
use std::cell::{Cell, RefCell};

/// Returns a random program whose size and form depend on the seed.
fn program(seed: u64) -> Program {
    let options = Options {
        vars: !seed.is_multiple_of(5),
        results: seed.is_multiple_of(2),
        size: 30 + (seed % 7) as u32 * 25,
        ..Options::default()
    };
    compute_shader(seed, options)
}

type NamedPass<'a> = (&'a str, &'a dyn Fn(&mut Shader));

/// Compares the interpreted results before and after a list of passes.
fn check(seeds: std::ops::Range<u64>, passes: &[NamedPass<'_>]) {
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
fn simplify_cfg_keeps_results() {
    check(0..400, &[("simplify_cfg", &simplify_cfg)]);
}

#[test]
fn reassociate_keeps_results() {
    check(0..400, &[("reassociate", &reassociate)]);
    check(400..600, &[("fold", &fold), ("reassociate", &reassociate), ("cse", &cse), ("fold", &fold), ("dce", &dce)]);
}

#[test]
fn mem2reg_keeps_results() {
    check(0..400, &[("mem2reg", &mem2reg)]);
    check(400..600, &[("simplify_cfg", &simplify_cfg), ("mem2reg", &mem2reg), ("simplify_cfg", &simplify_cfg)]);
}

#[test]
fn dce_keeps_results() {
    check(0..400, &[("dce", &dce)]);
    check(400..700, &[("mem2reg", &mem2reg), ("dce", &dce), ("simplify_cfg", &simplify_cfg), ("dce", &dce)]);
}

#[test]
fn fold_keeps_results() {
    check(0..400, &[("fold", &fold)]);
    check(
        400..700,
        &[("mem2reg", &mem2reg), ("fold", &fold), ("simplify_cfg", &simplify_cfg), ("fold", &fold), ("dce", &dce)],
    );
}

#[test]
fn cse_keeps_results() {
    check(0..400, &[("cse", &cse)]);
    check(400..600, &[("mem2reg", &mem2reg), ("fold", &fold), ("cse", &cse), ("dce", &dce), ("cse", &cse)]);
}

#[test]
fn opt_if_conversion_keeps_results() {
    check(0..400, &[("opt_if_conversion", &opt_if_conversion)]);
    check(400..600, &[("mem2reg", &mem2reg), ("dce", &dce), ("opt_if_conversion", &opt_if_conversion), ("dce", &dce)]);
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
        &[
            ("fold", &fold),
            ("unroll", &unroll),
            ("fold", &fold),
            ("split_arrays", &split),
            ("simplify_cfg", &simplify_cfg),
        ],
    );
    check(
        300..600,
        &[
            ("simplify_cfg", &simplify_cfg),
            ("mem2reg", &mem2reg),
            ("fold", &fold),
            ("dce", &dce),
            ("unroll", &unroll),
            ("fold", &fold),
            ("simplify_cfg", &simplify_cfg),
            ("dce", &dce),
        ],
    );
}

/// Changes a random program to compute in halves, with conversions at loads and stores of floats.
fn with_halves(shader: &mut Shader) {
    let floats: Vec<Value> = shader.values.iter().filter(|(_, data)| data.ty == Ty::F32).map(|(v, _)| v).collect();
    floats.iter().for_each(|&v| shader.values[v].ty = Ty::F16);
    shader.vars.values_mut().filter(|data| data.ty == Ty::F32).for_each(|data| data.ty = Ty::F16);
    let mut root = std::mem::take(&mut shader.root.body);
    rewrite_insts(&mut root, &mut |inst, out| halves_in(shader, inst, out));
    shader.root.body = root;
}

fn halves_in(shader: &mut Shader, inst: Inst, out: &mut Vec<Node>) {
    let data = shader.insts[inst].clone();
    let convert = |to: Ty| Op::Convert(if to == Ty::F16 { Convert::FToFRtz } else { Convert::FToF });
    match data.op {
        Op::Const(bits) if shader.ty(data.first_result) == Ty::F16 => {
            let half = eval::eval(&Op::Convert(Convert::FToF), Ty::F32, Ty::F16, &[bits]);
            shader.insts[inst].op = Op::Const(half.expect("a conversion")[0]);
        }
        // This operation exists only for 32-bit floats.
        Op::Unary(Unary::RoundHalf) => shader.insts[inst].op = Op::Unary(Unary::FAbs),
        Op::Load(..) if shader.ty(data.first_result) == Ty::F16 => {
            let load = shader.inst(data.op.clone(), &data.args, &vec![Ty::F32; data.result_count.into()], 0);
            out.push(Node::Inst(load));
            let loaded: Vec<Value> = shader.insts[load].results().collect();
            for (result, wide) in data.results().zip(loaded) {
                let narrow = shader.inst(convert(Ty::F16), &[wide], &[Ty::F16], 0);
                shader.insts[narrow].first_result = result;
                shader.values[result].def = ValueDef::Inst(narrow, 0);
                out.push(Node::Inst(narrow));
            }
            return;
        }
        Op::Store(..) => {
            for (n, &arg) in data.args.iter().enumerate().filter(|(_, v)| shader.ty(**v) == Ty::F16).collect::<Vec<_>>()
            {
                let wide = shader.inst(convert(Ty::F32), &[arg], &[Ty::F32], 0);
                out.push(Node::Inst(wide));
                shader.insts[inst].args[n] = shader.insts[wide].first_result;
            }
        }
        _ => {}
    }
    out.push(Node::Inst(inst));
}

#[test]
fn lower_f16_keeps_results() {
    for seed in 0..400 {
        let program = program(seed);
        let mut shader = program.shader.clone();
        with_halves(&mut shader);
        verify(&shader).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{shader}"));
        let expected = program.interpret(&shader);
        let mut widened = shader.clone();
        lower_f16(&mut widened);
        verify(&widened).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{widened}"));
        assert!(program.same(&expected, &program.interpret(&widened)), "seed {seed}\n{shader}\n{widened}");
        run(&mut shader, &PassOptions { verify: true }).unwrap_or_else(|e| panic!("{e}"));
        assert!(program.same(&expected, &program.interpret(&shader)), "seed {seed}, all passes\n{shader}");
    }
}

/// A sum uses the unrounded product, unless contraction is forbidden.
#[test]
fn products_of_halves_are_contracted() {
    for (float, rounded) in [(FloatFlags::NONE, 1), (FloatFlags::NO_CONTRACTION, 2)] {
        let mut shader = Shader::new(Stage::Compute, "test");
        let mut b = Builder::new(&mut shader);
        let buffer = b.buffer(0, 0);
        let at = [0, 4, 8, 12].map(|at| b.i32(at));
        let [x, y, z] = [0, 1, 2].map(|i| {
            let wide = b.load(buffer, at[i], Ty::F32);
            b.convert(Convert::FToF, wide, Ty::F16)
        });
        b.float = float;
        let product = b.binary(Binary::FMul, x, y);
        let sum = b.binary(Binary::FSub, z, product);
        let wide = b.convert(Convert::FToF, sum, Ty::F32);
        b.store(buffer, at[3], wide);
        b.finish();
        lower_f16(&mut shader);
        dce(&mut shader);
        let mut count = 0;
        for_each_inst(&shader.root.body, &mut |inst| {
            count += i32::from(shader.insts[inst].op == Op::Unary(Unary::RoundHalf));
        });
        // The three operands are rounded, too.
        assert_eq!(count, 3 + rounded, "{shader}");
    }
}

/// A tap of weight zero of a filter is not even loaded, unless a flag requires a result that it may
/// influence.
#[test]
fn products_with_zero_are_folded() {
    use FloatFlags as F;
    let kept = [F::NO_CONTRACTION, F::KEEP_SIGNED_ZERO, F::KEEP_INFINITY, F::KEEP_NAN, F::FLUSH_DENORMALS];
    for (float, loads) in [(F::NONE, 1)].into_iter().chain(kept.map(|flag| (flag, 2))) {
        let mut shader = Shader::new(Stage::Compute, "test");
        let mut b = Builder::new(&mut shader);
        let buffer = b.buffer(0, 0);
        let at = [0, 4, 8].map(|at| b.i32(at));
        let [x, y] = [0, 1].map(|i| b.load(buffer, at[i], Ty::F32));
        let zero = b.f32(0.0);
        b.float = float;
        let product = b.binary(Binary::FMul, x, zero);
        let sum = b.binary(Binary::FAdd, product, y);
        b.store(buffer, at[2], sum);
        b.finish();
        fold(&mut shader);
        dce(&mut shader);
        let mut count = 0;
        for_each_inst(&shader.root.body, &mut |inst| {
            count += i32::from(matches!(shader.insts[inst].op, Op::Load(..)));
        });
        assert_eq!(count, loads, "{float} {shader}");
    }
}

#[test]
fn contract_leaves_exact_arithmetic_alone() {
    check(0..200, &[("contract", &contract)]);
}

#[test]
fn pass_pipeline_keeps_results() {
    check(0..600, &[("run", &|s| run(s, &PassOptions { verify: true }).unwrap_or_else(|e| panic!("{e}")))]);
}

/// Observer that checks the claims of a divergence analysis while a shader runs.
struct DivergenceCheck<'a> {
    bounded: SecondaryMap<Value, bool>,
    divergence: &'a Divergence,
    lanes: usize,
    /// Groups of lanes that left since a label was entered, by label and chunk.
    left: RefCell<SecondaryMap<Label, Vec<u32>>>,
    uniform: Cell<u32>,
    affine: Cell<u32>,
    plain_labels: Cell<u32>,
}

/// Returns the values computed from a `Bound`, which are affine only inside the bound.
fn bounded(shader: &Shader) -> SecondaryMap<Value, bool> {
    let mut out = SecondaryMap::new();
    for data in shader.insts.values() {
        let is = data.op == Op::Binary(Binary::Bound) || data.args.iter().any(|&a| out[a]);
        data.results().for_each(|v| out[v] = is && matches!(data.op, Op::Binary(_)));
    }
    out
}

impl<'a> DivergenceCheck<'a> {
    fn new(shader: &Shader, divergence: &'a Divergence, lanes: usize) -> Self {
        DivergenceCheck {
            bounded: bounded(shader),
            divergence,
            lanes,
            left: RefCell::default(),
            uniform: Cell::new(0),
            affine: Cell::new(0),
            plain_labels: Cell::new(0),
        }
    }

    /// Returns the active lanes of each chunk that has any.
    fn chunks(&self, mask: u128) -> impl Iterator<Item = (usize, Vec<usize>)> {
        let lanes = self.lanes;
        (0..128 / lanes).filter_map(move |chunk| {
            let active: Vec<usize> = (chunk * lanes..(chunk + 1) * lanes).filter(|&l| mask >> l & 1 == 1).collect();
            (!active.is_empty()).then_some((chunk, active))
        })
    }
}

impl Observer for DivergenceCheck<'_> {
    fn value(&self, value: Value, bits: &[u64], mask: u128) {
        let shape = self.divergence.shape[value];
        for (_, active) in self.chunks(mask) {
            let first = active[0];
            for &lane in &active {
                let expected = match shape {
                    Shape::Uniform => bits[first],
                    Shape::Affine(_) if self.bounded[value] => continue,
                    Shape::Affine(steps) => {
                        let [from, to] = [first, lane].map(|l| steps.at(l % self.lanes) as u32);
                        u64::from((bits[first] as u32).wrapping_sub(from).wrapping_add(to))
                    }
                    Shape::Varying => continue,
                };
                assert_eq!(bits[lane], expected, "{value} is not {shape:?}: {bits:x?}, lanes {active:?}");
            }
            let counter = if shape == Shape::Uniform { &self.uniform } else { &self.affine };
            counter.set(counter.get() + u32::from(shape != Shape::Varying && active.len() > 1));
        }
    }
    fn enter(&self, label: Label, mask: u128) {
        let mut left = self.left.borrow_mut();
        left[label].resize(128, 0);
        for (chunk, _) in self.chunks(mask) {
            left[label][chunk] = 0;
        }
    }
    fn leave(&self, label: Label, mask: u128) {
        if self.divergence.is_divergent_label(label) {
            return;
        }
        for (chunk, _) in self.chunks(mask) {
            let left = &mut self.left.borrow_mut()[label][chunk];
            *left += 1;
            assert_eq!(*left, 1, "{label} is left more than once by chunk {chunk}");
            self.plain_labels.set(self.plain_labels.get() + 1);
        }
    }
}

#[test]
fn divergence_is_sound() {
    let (mut uniform, mut affine, mut plain) = (0, 0, 0);
    for seed in 0..500 {
        let program = program(seed);
        for lowered in [false, true] {
            let mut shader = program.shader.clone();
            if lowered {
                mem2reg(&mut shader);
                dce(&mut shader);
                fold(&mut shader);
            }
            for lanes in [4, 8] {
                let found = divergence(&shader, lanes);
                let check = DivergenceCheck::new(&shader, &found, lanes as usize);
                program.try_interpret(&shader, Some(&check)).unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{shader}"));
                uniform += check.uniform.get();
                affine += check.affine.get();
                plain += check.plain_labels.get();
            }
        }
    }
    // The counts ensure that enough claims were checked.
    assert!(uniform > 20_000 && affine > 5_000 && plain > 1_000, "{uniform} {affine} {plain}");
}

/// Returns the numbers of instructions, Ifs, loops and scopes.
fn census(region: &Region) -> [usize; 4] {
    let mut sum = [0; 4];
    for node in &region.nodes {
        let (kind, inner) = match node {
            Node::Inst(_) => (0, vec![]),
            Node::If(n) => (1, vec![&n.then, &n.else_]),
            Node::Loop(n) => (2, vec![&n.body]),
            Node::Scope(n) => (3, vec![&n.body]),
        };
        sum[kind] += 1;
        for region in inner {
            sum.iter_mut().zip(census(region)).for_each(|(s, i)| *s += i);
        }
    }
    sum
}

fn optimised(build: impl FnOnce(&mut Builder<'_>)) -> Shader {
    let mut shader = Shader::new(Stage::Compute, "test");
    shader.workgroup_mut().expect("workgroups").local_size = [8, 1, 1];
    let mut b = Builder::new(&mut shader);
    build(&mut b);
    b.finish();
    run(&mut shader, &PassOptions { verify: true }).unwrap_or_else(|e| panic!("{e}"));
    shader
}

/// The test covers that compute stages have at most 65,535 workgroups in a dimension, and task and
/// mesh stages 65,536 (`maxTaskWorkGroupCount`).
#[test]
fn workgroup_count_bound_depends_on_stage() {
    for (stage, known) in [(Stage::Compute, true), (Stage::Task, false), (Stage::Mesh, false)] {
        let mut shader = Shader::new(stage, "test");
        let mut b = Builder::new(&mut shader);
        let (count, sixteen) = (b.builtin(Builtin::NumWorkgroups(1), Ty::I32), b.i32(16));
        let high = b.binary(Binary::LShr, count, sixteen);
        let result = b.var(Ty::I32, 1, "result");
        b.var_store(result, None, high);
        b.finish();
        fold(&mut shader);
        let mut shifts = 0;
        for_each_inst(&shader.root.body, &mut |inst| {
            shifts += u32::from(shader.insts[inst].op == Op::Binary(Binary::LShr));
        });
        assert_eq!(shifts == 0, known, "{stage:?}\n{shader}");
    }
}

/// A switch in the front end's form (a scope, tests of the selector, breaks) becomes selects.
#[test]
fn switch_becomes_selects() {
    let shader = optimised(|b| {
        let id = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let result = b.var(Ty::I32, 1, "result");
        b.scope(&[], |b, merge| {
            for case in 0..4 {
                let k = b.i32(case);
                let hit = b.cmp(Cmp::IEq, id, k);
                b.if_(
                    hit,
                    &[],
                    |b| {
                        let value = b.i32(100 + case);
                        b.var_store(result, None, value);
                        Term::Break(merge, vec![])
                    },
                    |_| Term::default(),
                );
            }
            let value = b.i32(-1);
            b.var_store(result, None, value);
            Term::Break(merge, vec![])
        });
        let (buf, value) = (b.buffer(0, 1), b.var_load(result, None));
        let four = b.i32(4);
        let at = b.binary(Binary::IMul, id, four);
        b.store(buf, at, value);
    });
    assert_eq!(census(&shader.root.body)[1..], [0, 0, 0], "{shader}");
    let mut memory = Memory { buffers: vec![((0, 1), vec![0; 32])], ..Memory::default() };
    run_workgroup(&shader, &mut memory, [0; 3], [1; 3], 8, None).unwrap();
    let words: Vec<i32> = memory.buffers[0].1.chunks(4).map(|c| i32::from_le_bytes(c.try_into().unwrap())).collect();
    assert_eq!(words, [100, 101, 102, 103, -1, -1, -1, -1]);
}

/// The loop `for (i = 0; i < 4; i++) sum += a[i];` over a private array disappears completely.
#[test]
fn counted_loop_over_private_array_folds() {
    let shader = optimised(|b| {
        let array = b.var(Ty::I32, 4, "a");
        let (i, sum) = (b.var(Ty::I32, 1, "i"), b.var(Ty::I32, 1, "sum"));
        let (zero, one, four) = (b.i32(0), b.i32(1), b.i32(4));
        for k in 0..4 {
            let (index, value) = (b.i32(k), b.i32(10 * k));
            b.var_store(array, Some(index), value);
        }
        b.var_store(i, None, zero);
        b.var_store(sum, None, zero);
        b.loop_(&[], &[], |b, label, _| {
            b.scope(&[], |b, next| {
                let index = b.var_load(i, None);
                let more = b.cmp(Cmp::SLt, index, four);
                b.if_(more, &[], |_| Term::default(), |_| Term::Break(label, vec![]));
                let (value, old) = (b.var_load(array, Some(index)), b.var_load(sum, None));
                let new = b.binary(Binary::IAdd, old, value);
                b.var_store(sum, None, new);
                Term::Break(next, vec![])
            });
            let index = b.var_load(i, None);
            let next = b.binary(Binary::IAdd, index, one);
            b.var_store(i, None, next);
            Term::default()
        });
        let (buf, value) = (b.buffer(0, 0), b.var_load(sum, None));
        b.store(buf, zero, value);
    });
    let [insts, ifs, loops, scopes] = census(&shader.root.body);
    assert_eq!((ifs, loops, scopes), (0, 0, 0), "{shader}");
    assert!(shader.vars.is_empty());
    // The remaining instructions are two constants, the descriptor and the store.
    assert_eq!(insts, 4, "{shader}");
}

#[test]
fn single_use_multiplication_is_fused() {
    let build = |exact: bool| {
        optimised(move |b| {
            let (buf, zero, four) = (b.buffer(0, 0), b.i32(0), b.i32(4));
            let (x, y) = (b.load(buf, zero, Ty::F32), b.load(buf, four, Ty::F32));
            let once = b.binary(Binary::FMul, x, y);
            b.float = if exact { FloatFlags::NO_CONTRACTION } else { FloatFlags::NONE };
            let sum = b.binary(Binary::FSub, x, once);
            b.float = FloatFlags::NONE;
            let twice = b.binary(Binary::FMul, y, y);
            let a = b.binary(Binary::FAdd, twice, x);
            let c = b.binary(Binary::FAdd, twice, a);
            b.store(buf, zero, sum);
            b.store(buf, four, c);
        })
    };
    let count = |shader: &Shader, op: Op| {
        let mut n = 0;
        for_each_inst(&shader.root.body, &mut |i| n += usize::from(shader.insts[i].op == op));
        n
    };
    let fused = build(false);
    assert_eq!((count(&fused, Op::Fma), count(&fused, Op::Binary(Binary::FMul))), (1, 1), "{fused}");
    let exact = build(true);
    assert_eq!((count(&exact, Op::Fma), count(&exact, Op::Binary(Binary::FMul))), (0, 2), "{exact}");
}

/// The expansions in IR give the same bits as their counterparts in Rust.
#[test]
fn expansions_equal_their_rust_counterparts() {
    type Counterpart = fn(&mut math::Eval, f32) -> f32;
    let twins: [(Unary, Counterpart); 16] = [
        (Unary::Sin, math::sin),
        (Unary::Cos, math::cos),
        (Unary::Tan, math::tan),
        (Unary::Asin, math::asin),
        (Unary::Acos, math::acos),
        (Unary::Atan, math::atan),
        (Unary::Sinh, math::sinh),
        (Unary::Cosh, math::cosh),
        (Unary::Tanh, math::tanh),
        (Unary::Asinh, math::asinh),
        (Unary::Acosh, math::acosh),
        (Unary::Atanh, math::atanh),
        (Unary::Exp, math::exp),
        (Unary::Log, math::log),
        (Unary::Exp2, math::exp2),
        (Unary::Log2, math::log2),
    ];
    let mut rng = Rng::new(7);
    for (op, twin) in twins {
        let mut shader = optimised(|b| {
            let (buf, four) = (b.buffer(0, 0), b.i32(4));
            let id = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
            let at = b.binary(Binary::IMul, id, four);
            let x = b.load(buf, at, Ty::F32);
            let y = b.unary(op, x);
            b.store(buf, at, y);
        });
        shader.workgroup_mut().expect("workgroups").local_size = [128, 1, 1];
        for round in 0..20 {
            let inputs: Vec<f32> = (0..128)
                .map(|_| match round % 3 {
                    0 => f32::from_bits(rng.next() as u32),
                    1 => (rng.below(1 << 20) as f32 - 524_288.0) / 1024.0,
                    _ => (rng.below(1 << 20) as f32 - 524_288.0) / 524_288.0,
                })
                .collect();
            let bytes = inputs.iter().flat_map(|x| x.to_le_bytes()).collect();
            let mut memory = Memory { buffers: vec![((0, 0), bytes)], ..Memory::default() };
            run_workgroup(&shader, &mut memory, [0; 3], [1; 3], 8, None).unwrap();
            for (x, got) in inputs.iter().zip(memory.buffers[0].1.chunks(4)) {
                let got = f32::from_le_bytes(got.try_into().unwrap());
                let expected = twin(&mut math::Eval, *x);
                assert!(
                    got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(),
                    "{op:?}({x:e}): {got:e}, not {expected:e}"
                );
            }
        }
    }
}

/// The deepest nesting that the front end accepts, and long sequences of early exits, need no more
/// than the stack of an ordinary thread.
#[test]
fn deep_and_long_shaders_fit_a_small_stack() {
    fn nest(b: &mut Builder<'_>, var: Var, depth: u32) {
        if depth == 0 {
            return;
        }
        let (v, k) = (b.var_load(var, None), b.u32(depth));
        let cond = b.cmp(Cmp::ULt, v, k);
        let next = b.binary(Binary::IAdd, v, k);
        let arm = |b: &mut Builder<'_>| {
            b.var_store(var, None, next);
            nest(b, var, depth - 1);
            Term::default()
        };
        b.if_(cond, &[], arm, |_| Term::default());
    }
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        let build = |row: bool| {
            optimised(move |b| {
                let (buf, zero) = (b.buffer(0, 0), b.i32(0));
                let var = b.var(Ty::I32, 1, "v");
                let start = b.load(buf, zero, Ty::I32);
                b.var_store(var, None, start);
                if row {
                    b.scope(&[], |b, label| {
                        for i in 0..2000 {
                            let (v, k) = (b.var_load(var, None), b.i32(i + 3));
                            let hit = b.cmp(Cmp::IEq, v, k);
                            b.break_if(hit, label, &[]);
                            let next = b.binary(Binary::IMul, v, k);
                            b.var_store(var, None, next);
                        }
                        Term::default()
                    });
                } else {
                    nest(b, var, 400);
                }
                let end = b.var_load(var, None);
                b.store(buf, zero, end);
            })
        };
        (census(&build(false).root.body), census(&build(true).root.body))
    });
    let (nested, row) = thread.unwrap().join().unwrap();
    assert!(nested[1] > 300 && row[1] > 1000, "{nested:?} {row:?}");
}
