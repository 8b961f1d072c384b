//! Random structured compute and ray generation shaders, for tests of passes (interpreted before
//! and after) and of generated code.
//!
//! A program reads words of buffer (0, 0) chosen by its GlobalInvocationId. It computes through
//! nested Ifs, Scopes and bounded Loops with divergent breaks, variables, private arrays and
//! results, and stores to buffer (0, 1). Invocations influence each other only through
//! [`Options::barriers`], and every loop ends. Integer and float data stay apart, so that a NaN's
//! payload never reaches an integer; outputs are compared with [`Program::same`].

#![forbid(unsafe_code)]

mod barriers;
mod forms;

use crate::interp::{self, Memory, Outcome};
pub use base::random::XorshiftStar as Rng;
use base::shader::{Interpolation, Slot, SlotKind, SlotType, Stage, StageSpecificInfo, WorkgroupInfo};
use forms::Group;
use jit::ir::{
    Binary, Builder, Builtin, Cmp, Convert, FloatFlags, Inst, InterpolateAt, Label, Op, Shader, Space, Term, Ty, Value,
    Var,
};

/// Constructs that a program may contain.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of invocations per workgroup.
    pub local_size: u32,
    /// Approximate number of instructions.
    pub size: u32,
    /// True if state is kept in variables, as the front end does.
    pub vars: bool,
    /// True if structured nodes have results and params, as after mem2reg.
    pub results: bool,
    /// Flags of float arithmetic. With [`FloatFlags::NO_CONTRACTION`], `contract` preserves the
    /// bits.
    pub float: FloatFlags,
    /// True if Sin, Exp, Pow and similar operations may occur.
    pub transcendental: bool,
    /// True if FRem and FMod may occur, which `lower_math` may fuse.
    pub float_rem: bool,
    /// True if there are early returns, and exchanges through workgroup memory in control flow
    /// whose uniformity cannot be seen.
    pub barriers: bool,
    /// True if the shader is a ray generation shader, with calls of callable shaders
    /// ([`call_shader`]) and early ends.
    pub calls: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            local_size: 16,
            size: 80,
            vars: true,
            results: true,
            float: FloatFlags::NO_CONTRACTION,
            transcendental: false,
            float_rem: false,
            barriers: false,
            calls: false,
        }
    }
}

/// Number of input words per invocation.
pub const INPUT_WORDS: u32 = 8;
/// Number of output words per invocation. Even ones are I32, odd ones F32.
pub const OUTPUT_WORDS: u32 = 8;

/// A generated shader with the parameters of its run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The generated shader.
    pub shader: Shader,
    /// Number of workgroups in x.
    pub workgroups: u32,
    seed: u64,
    /// Number of invocations per workgroup.
    invocations: u32,
}

impl Program {
    /// Returns memory with inputs and a cleared output buffer.
    pub fn memory(&self) -> Memory {
        let mut rng = Rng::new(self.seed ^ 0x5eed);
        let invocations = self.workgroups * self.invocations;
        let words = (0..invocations * INPUT_WORDS).map(|i| {
            if i % 2 == 1 {
                return match rng.below(12) {
                    0 => rng.pick(&[0.0f32, -0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40, 3e38]),
                    _ => (rng.below(4000) as f32 - 2000.0) / 64.0,
                }
                .to_bits();
            }
            match rng.below(4) {
                0 => rng.next() as u32,
                1 => rng.pick(&[0, 1, u32::MAX, 0x8000_0000, 0x7fff_ffff]),
                _ => rng.below(16) as u32,
            }
        });
        let input = words.flat_map(u32::to_le_bytes).collect();
        let output = vec![0; (invocations * OUTPUT_WORDS * 4) as usize];
        Memory { buffers: vec![((0, 0), input), ((0, 1), output)], ..Memory::default() }
    }

    /// Interprets a version of the shader and returns the output buffer.
    pub fn interpret(&self, shader: &Shader) -> Vec<u8> {
        self.try_interpret(shader, None).unwrap_or_else(|e| panic!("seed {}: {e:?}", self.seed)).0
    }

    /// Interprets a version of a ray generation shader. Returns the output buffer and the outcome.
    fn interpret_invocations(&self, shader: &Shader) -> Result<(Vec<u8>, Outcome), interp::Stop> {
        let mut memory = self.memory();
        let group = interp::Group {
            lanes: self.invocations as usize,
            subgroup: 1,
            builtin: &|_, _| 0,
            inputs: vec![(0..self.invocations).collect()],
            budget: 100_000_000,
            callable: Some(&call_shader),
            observer: None,
        };
        let outcome = interp::run(shader, &mut memory, &group)?;
        Ok((memory.buffers.swap_remove(1).1, outcome))
    }

    /// Interprets a version of the shader. Returns the output buffer and the last workgroup's
    /// outcome, or the reason why a workgroup stopped.
    pub fn try_interpret(
        &self,
        shader: &Shader,
        observer: Option<&dyn interp::Observer>,
    ) -> Result<(Vec<u8>, Outcome), interp::Stop> {
        if shader.stage() == Stage::RayGeneration {
            return self.interpret_invocations(shader);
        }
        let mut memory = self.memory();
        let mut outcome = None;
        for group in 0..self.workgroups {
            let groups = [self.workgroups, 1, 1];
            outcome = Some(interp::run_workgroup(shader, &mut memory, [group, 0, 0], groups, 8, observer)?);
        }
        let output = memory.buffers.swap_remove(1).1;
        outcome.map(|o| (output, o)).ok_or(interp::Stop::Budget)
    }

    /// Returns true if two output buffers are equal. In float words, any NaN equals any NaN.
    pub fn same(&self, a: &[u8], b: &[u8]) -> bool {
        let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |&w: &[u8; 4]| u32::from_le_bytes(w));
        a.len() == b.len()
            && a.chunks(4).zip(b.chunks(4)).enumerate().all(|(i, (x, y))| {
                let (x, y) = (word(x), word(y));
                x == y || (i % 2 == 1 && f32::from_bits(x).is_nan() && f32::from_bits(y).is_nan())
            })
    }
}

/// The callable shaders of random programs: changes the words of data, of which even ones are I32
/// and odd ones F32.
pub fn call_shader(shader: u32, data: &mut [u32]) {
    let sum = data.iter().step_by(2).fold(shader, |sum, word| sum.rotate_left(5) ^ word);
    for (i, word) in data.iter_mut().enumerate() {
        *word = if i % 2 == 0 { word.wrapping_mul(0x9e37_79b9) ^ sum } else { *word ^ 0x8000_0000 };
    }
}

/// Generates a ray generation program, whose input slot 0 is the number of the invocation.
pub fn ray_generation_shader(seed: u64, options: Options) -> Program {
    let mut shader = Shader::new(Stage::RayGeneration, "random");
    let kind = SlotKind::User { location: 0, component: 0, index: 0 };
    shader.inputs.push(Slot { kind, ty: SlotType::Uint, interpolation: Interpolation::Flat });
    shader.side_effects = true;
    generate(&mut shader, seed, Options { calls: true, ..options });
    Program { shader, workgroups: 1, seed, invocations: options.local_size }
}

/// Generates a compute program.
pub fn compute_shader(seed: u64, options: Options) -> Program {
    let mut shader = Shader::new(Stage::Compute, "random");
    let shared_bytes = if options.barriers { options.local_size * 4 } else { 0 };
    let local_size = [options.local_size, 1, 1];
    shader.stage_info = StageSpecificInfo::Compute(WorkgroupInfo { local_size, shared_bytes, reserved_bytes: 0 });
    shader.side_effects = true;
    generate(&mut shader, seed, options);
    Program { shader, workgroups: 2, seed, invocations: options.local_size }
}

/// Generates the body of a shader.
fn generate(shader: &mut Shader, seed: u64, options: Options) {
    let mut builder = Builder::new(shader);
    builder.float = options.float;
    let input = builder.buffer(0, 0);
    let output = builder.buffer(0, 1);
    let id = if options.calls {
        builder.op(Op::LoadInput(0, InterpolateAt::Default), &[], Ty::I32)
    } else {
        builder.builtin(Builtin::GlobalInvocationId(0), Ty::I32)
    };
    let mut g = Generator {
        b: builder,
        rng: Rng::new(seed),
        options,
        budget: options.size as i32,
        depth: 0,
        loops: 0,
        input,
        output,
        id,
        pools: Default::default(),
        vars: Vec::new(),
        labels: Vec::new(),
        together: barriers::Together::default(),
    };
    g.program();
    g.b.finish();
}

/// Types of values. The first three occur more often.
const TYPES: [Ty; 6] = [Ty::I32, Ty::F32, Ty::B1, Ty::I8, Ty::I16, Ty::I64];
/// Integer types except words.
const OTHER_INTS: [Ty; 3] = [Ty::I8, Ty::I16, Ty::I64];

struct Generator<'a> {
    b: Builder<'a>,
    rng: Rng,
    options: Options,
    /// Number of instructions that may still be generated.
    budget: i32,
    depth: u32,
    loops: u32,
    input: Value,
    output: Value,
    id: Value,
    /// Visible values by type, in the order of [`TYPES`].
    pools: [Vec<Value>; TYPES.len()],
    vars: Vec<Var>,
    /// Enclosing labels with their result types.
    labels: Vec<(Label, Vec<Ty>)>,
    together: barriers::Together,
}

fn pool_index(ty: Ty) -> usize {
    TYPES.iter().position(|&t| t == ty).unwrap_or(0)
}

impl Generator<'_> {
    fn program(&mut self) {
        let words = self.b.u32(INPUT_WORDS * 4);
        let base = self.b.binary(Binary::IMul, self.id, words);
        for i in 0..4 {
            let at = self.b.i32(i * 8);
            let at = self.b.binary(Binary::IAdd, base, at);
            let int = self.b.load(self.input, at, Ty::I32);
            let four = self.b.i32(4);
            let at = self.b.binary(Binary::IAdd, at, four);
            let float = self.b.load(self.input, at, Ty::F32);
            self.add(int);
            self.add(float);
        }
        for (i, ty) in (0..).zip(OTHER_INTS) {
            let at = self.b.i32(8 * i);
            let at = self.b.binary(Binary::IAdd, base, at);
            let value = self.b.load(self.input, at, ty);
            self.add(value);
        }
        self.add(self.id);
        let yes = self.b.bool(true);
        self.add(yes);
        if self.options.vars {
            for i in 0..6 {
                let len = if i < 4 { 1 } else { 4 + self.rng.below(4) as u32 };
                let var = self.b.var(TYPES[i % 3], len, "");
                self.vars.push(var);
            }
            for ty in OTHER_INTS {
                let len = self.rng.pick(&[1, 5]);
                let var = self.b.var(ty, len, "");
                self.vars.push(var);
            }
        }
        if self.options.barriers {
            self.start_together();
        }
        while self.budget > 0 {
            self.statement();
        }
        for word in 0..OUTPUT_WORDS {
            self.store_output(word);
        }
    }

    fn add(&mut self, value: Value) {
        self.pools[pool_index(self.b.shader.ty(value))].push(value);
    }

    /// Returns a visible value, preferably a recent one, or a constant.
    fn value(&mut self, ty: Ty) -> Value {
        if ty == Ty::Buf {
            return self.rng.pick(&[self.input, self.output]);
        }
        let pool = &self.pools[pool_index(ty)];
        if pool.is_empty() || self.rng.chance(12) {
            return self.constant(ty);
        }
        let n = pool.len();
        let i = if self.rng.chance(60) { n - 1 - self.rng.below(n.min(6)) } else { self.rng.below(n) };
        self.pools[pool_index(ty)][i]
    }

    fn constant(&mut self, ty: Ty) -> Value {
        match ty {
            Ty::B1 => {
                let v = self.rng.chance(50);
                self.b.bool(v)
            }
            Ty::F32 => {
                let v = self.rng.pick(&[0.0f32, -0.0, 1.0, -1.0, 0.5, 2.0, 3.25, -7.0, 1e9, 1e-42]);
                self.b.f32(v)
            }
            Ty::I32 => {
                let v = self.rng.pick(&[0i32, 1, 2, 3, 4, 7, 8, -1, 31, 32, 100, i32::MIN, i32::MAX]);
                self.b.i32(v)
            }
            _ => {
                let ones = u64::MAX >> (64 - 8 * ty.bytes());
                let v = self.rng.pick(&[0, 1, 2, 3, 5, 8, 15, 31, 63, ones, ones >> 1, ones ^ ones >> 1, ones - 1]);
                self.b.constant(ty, v)
            }
        }
    }

    /// Returns an integer type, half of the time a word.
    fn int(&mut self) -> Ty {
        if self.rng.chance(50) { Ty::I32 } else { self.rng.pick(&OTHER_INTS) }
    }

    /// Returns a random type.
    fn ty(&mut self) -> Ty {
        if self.rng.chance(70) { self.rng.pick(&TYPES[..3]) } else { self.rng.pick(&TYPES) }
    }

    fn values(&mut self, types: &[Ty]) -> Vec<Value> {
        types.iter().map(|&ty| self.value(ty)).collect()
    }

    fn statement(&mut self) {
        self.budget -= 1;
        let structured = self.depth < 5 && self.budget > 4;
        match self.rng.below(100) {
            0..10 if structured => self.if_(),
            10..16 if structured => self.scope(),
            16..22 if structured && self.loops < 3 => self.loop_(),
            22..25 => {
                let word = self.rng.below(OUTPUT_WORDS as usize) as u32;
                self.store_output(word);
            }
            25..40 if !self.vars.is_empty() => self.access_var(),
            40..44 => self.load(),
            44..54 if self.is_together() => self.exchange(),
            54 if self.options.barriers => self.early_return(),
            54..64 if self.options.calls => self.call(),
            64 if self.options.calls => self.end_some(),
            _ => self.arithmetic(),
        }
    }

    fn arithmetic(&mut self) {
        let group = match self.rng.below(18) {
            0 => Group::IntUnary,
            1 => Group::FloatUnary,
            2..6 => Group::IntBinary,
            6..9 => Group::FloatBinary,
            9 => Group::BoolBinary,
            10 => Group::IntCmp,
            11 => Group::FloatCmp,
            12 => Group::Convert,
            13 => Group::Select,
            14 => Group::Other,
            15 if self.options.calls => Group::Other,
            15 => Group::Builtin,
            16 => return self.frexp(),
            _ => return self.bitfield(),
        };
        let candidate = self.rng.pick(&forms::candidates(group, &self.options));
        let op = forms::component(&candidate.op, self.rng.below(3) as u8);
        let args = self.values(&candidate.args);
        let inst = self.b.inst(op, &args, &candidate.results);
        self.add_results(inst);
    }

    /// Builds a call of a callable shader with up to four words of data.
    fn call(&mut self) {
        let types: Vec<Ty> = (0..self.rng.below(5)).map(|i| [Ty::I32, Ty::F32][i % 2]).collect();
        let args = [vec![Ty::I32], types.clone()].concat();
        let args = self.values(&args);
        let inst = self.b.inst(Op::ExecuteCallable, &args, &types);
        self.add_results(inst);
    }

    /// Builds the end of some invocations, which return or end their ray.
    fn end_some(&mut self) {
        let cond = self.value(Ty::B1);
        let (root, terminate) = (self.b.shader.root.label, self.rng.chance(50));
        let then = self.nested(|g| {
            if terminate {
                g.b.inst(Op::TerminateRay, &[], &[]);
            }
            Term::Break(root, Vec::new())
        });
        let else_ = jit::ir::Region::default();
        self.b.nodes.push(jit::ir::Node::If(Box::new(jit::ir::If { cond, then, else_, results: Vec::new() })));
    }

    fn add_results(&mut self, inst: Inst) {
        let results: Vec<Value> = self.b.shader.insts[inst].results().collect();
        results.into_iter().for_each(|r| self.add(r));
    }

    /// Builds a Frexp of a finite number, because the exponent of an infinity or NaN is
    /// unspecified.
    fn frexp(&mut self) {
        let x = self.value(Ty::I32);
        let x = self.b.convert(Convert::SToF, x, Ty::F32);
        let inst = self.b.inst(Op::Frexp, &[x], &[Ty::F32, Ty::I32]);
        self.add_results(inst);
    }

    /// Builds a bit-field operation whose offset and count are inside the number.
    fn bitfield(&mut self) {
        let ty = self.int();
        let (base, insert) = (self.value(ty), self.value(ty));
        let half = self.b.i32(4 * ty.bytes() as i32 - 1);
        let (offset, count) = (self.value(Ty::I32), self.value(Ty::I32));
        let offset = self.b.binary(Binary::And, offset, half);
        let count = self.b.binary(Binary::And, count, half);
        let value = match self.rng.below(3) {
            0 => self.b.op(Op::BitfieldInsert, &[base, insert, offset, count], ty),
            1 => self.b.op(Op::BitfieldSExtract, &[base, offset, count], ty),
            _ => self.b.op(Op::BitfieldUExtract, &[base, offset, count], ty),
        };
        self.add(value);
    }

    fn access_var(&mut self) {
        let var = self.rng.pick(&self.vars.clone());
        let (ty, len) = (self.b.shader.vars[var].ty, self.b.shader.vars[var].len);
        let index = (len > 1).then(|| {
            if self.rng.chance(50) {
                let i = self.rng.below(len as usize + 1) as i32;
                return self.b.i32(i);
            }
            let v = self.value(Ty::I32);
            let mask = self.b.i32(7);
            if self.rng.chance(80) { self.b.binary(Binary::And, v, mask) } else { v }
        });
        if self.rng.chance(50) {
            let value = self.value(ty);
            self.b.var_store(var, index, value);
        } else {
            let value = self.b.var_load(var, index);
            self.add(value);
        }
    }

    /// Builds a load of one to four values from anywhere in the input and beyond. Integer and float
    /// loads start at words of their type.
    fn load(&mut self) {
        let mut at = self.value(Ty::I32);
        if self.rng.chance(80) {
            let mask = self.b.i32(63);
            at = self.b.binary(Binary::And, at, mask);
        } else if self.rng.chance(70) {
            // The index may be far outside. Without a bound, its offset wraps.
            let limit = self.b.u32((1 << 27) + (1 << 23) + 1);
            at = self.b.binary(Binary::Bound, at, limit);
        }
        let float = self.rng.chance(40);
        let (eight, shift) = (self.b.i32(if float { 4 } else { 0 }), self.b.i32(3));
        let at = self.b.binary(Binary::Shl, at, shift);
        let at = self.b.binary(Binary::IAdd, at, eight);
        let flags = forms::load_flags(self.rng.chance(10));
        let ty = if float { Ty::F32 } else { self.int() };
        let count = 1 + self.rng.below(4);
        let inst = self.b.inst(Op::Load(Space::Buffer, flags), &[self.input, at], &vec![ty; count]);
        // The odd results of an integer load may be payloads of NaNs read as integers. Loads are
        // exact, so these bits are the same in all implementations.
        self.add_results(inst);
    }

    fn store_output(&mut self, word: u32) {
        let ty = if word.is_multiple_of(2) { self.int() } else { Ty::F32 };
        let mut value = self.value(ty);
        if ty == Ty::I64 {
            let (high, by) = (value, self.b.constant(ty, 32));
            let high = self.b.binary(Binary::LShr, high, by);
            value = self.b.binary(Binary::Xor, value, high);
        }
        if ty.is_int() && ty != Ty::I32 {
            let convert = self.rng.pick(&[Convert::SToS, Convert::UToU]);
            value = self.b.convert(convert, value, Ty::I32);
        }
        let size = self.b.u32(OUTPUT_WORDS * 4);
        let base = self.b.binary(Binary::IMul, self.id, size);
        let offset = self.b.u32(word * 4);
        let at = self.b.binary(Binary::IAdd, base, offset);
        self.b.store(self.output, at, value);
    }

    fn result_types(&mut self) -> Vec<Ty> {
        let n = if self.options.results { self.rng.below(4) } else { 0 };
        (0..n).map(|_| self.ty()).collect()
    }

    /// Builds the statements of a nested region and its terminator. Values defined inside are not
    /// visible afterwards.
    fn body(&mut self, yields: &[Ty], can_break: bool) -> Term {
        let marks = self.pools.each_ref().map(Vec::len);
        self.depth += 1;
        for _ in 0..1 + self.rng.below(6) {
            self.statement();
        }
        self.depth -= 1;
        let target =
            if can_break && !self.labels.is_empty() && self.rng.chance(35) { self.break_target() } else { None };
        let term = match target {
            Some(target) => {
                let (label, types) = self.labels[target].clone();
                Term::Break(label, self.values(&types))
            }
            None => Term::Yield(self.values(yields)),
        };
        for (pool, mark) in self.pools.iter_mut().zip(marks) {
            pool.truncate(mark);
        }
        term
    }

    /// Runs a closure that builds a new region with the generator's state.
    fn nested(&mut self, fill: impl FnOnce(&mut Self) -> Term) -> jit::ir::Region {
        let outer = std::mem::take(&mut self.b.nodes);
        let term = fill(self);
        let nodes = std::mem::replace(&mut self.b.nodes, outer);
        jit::ir::Region { nodes, term }
    }

    fn region_values(&mut self, types: &[Ty]) -> Vec<Value> {
        types.iter().map(|&ty| self.b.shader.region_value(ty)).collect()
    }

    fn if_(&mut self) {
        let common = self.common_condition();
        let parts = u32::from(common.is_none());
        let cond = common.unwrap_or_else(|| self.value(Ty::B1));
        let types = self.result_types();
        self.together.parted_ifs += parts;
        let then = self.nested(|g| g.body(&types, true));
        let else_ = if types.is_empty() && self.rng.chance(50) {
            jit::ir::Region::default()
        } else {
            self.nested(|g| g.body(&types, true))
        };
        self.together.parted_ifs -= parts;
        let results = self.region_values(&types);
        results.iter().for_each(|&r| self.add(r));
        self.b.nodes.push(jit::ir::Node::If(Box::new(jit::ir::If { cond, then, else_, results })));
    }

    fn scope(&mut self) {
        let types = self.result_types();
        let label = self.b.shader.new_label();
        self.push_label(label, types.clone(), false);
        let body = self.nested(|g| g.body(&types, true));
        self.pop_label();
        let results = self.region_values(&types);
        results.iter().for_each(|&r| self.add(r));
        self.b.nodes.push(jit::ir::Node::Scope(Box::new(jit::ir::Scope { label, body, results })));
    }

    /// Builds `loop { if counter >= limit break; scope continue { … } counter += 1 }`, where the
    /// counter is a param or a variable.
    fn loop_(&mut self) {
        self.loops += 1;
        let label = self.b.shader.new_label();
        let types = self.result_types();
        let carried = self.result_types();
        let kept = self.is_together() && self.rng.chance(60);
        let limit = if kept && self.rng.chance(70) {
            let (v, mask) = (self.common(), self.b.i32(3));
            self.b.binary(Binary::And, v, mask)
        } else if kept || self.rng.chance(60) {
            let n = 1 + self.rng.below(5) as i32;
            self.b.i32(n)
        } else {
            let (v, mask) = (self.value(Ty::I32), self.b.i32(7));
            self.b.binary(Binary::And, v, mask)
        };
        let zero = self.b.i32(0);
        let counter_var = if self.options.results { None } else { Some(self.b.var(Ty::I32, 1, "counter")) };
        let mut inits = Vec::new();
        match counter_var {
            Some(var) => self.b.var_store(var, None, zero),
            None => inits.push(zero),
        }
        let types_of_params: Vec<Ty> = inits.iter().map(|_| Ty::I32).chain(carried.iter().copied()).collect();
        if self.options.results {
            inits.extend(self.values(&carried));
        }
        let types_of_params = if self.options.results { types_of_params } else { Vec::new() };
        let params = self.region_values(&types_of_params);
        let marks = self.pools.each_ref().map(Vec::len);
        let fenced = self.together.fenced;
        if kept {
            // The loop's own label is fenced, too. The inner scope of an iteration is not.
            self.together.fenced = self.labels.len() + 1;
        }
        // In a loop that is not kept, lanes may have left before an iteration starts.
        let body = self.nested(|g| g.loop_body(label, &types, &params, &carried, (limit, counter_var), !kept));
        self.together.fenced = fenced;
        for (pool, mark) in self.pools.iter_mut().zip(marks) {
            pool.truncate(mark);
        }
        let results = self.region_values(&types);
        results.iter().for_each(|&r| self.add(r));
        self.b.nodes.push(jit::ir::Node::Loop(Box::new(jit::ir::Loop { label, params, inits, body, results })));
        self.loops -= 1;
    }

    fn loop_body(
        &mut self,
        label: Label,
        types: &[Ty],
        params: &[Value],
        carried: &[Ty],
        (limit, counter_var): (Value, Option<Var>),
        parting: bool,
    ) -> Term {
        params.iter().for_each(|&p| self.add(p));
        let counter = match counter_var {
            Some(var) => self.b.var_load(var, None),
            None => params[0],
        };
        let more = self.b.cmp(Cmp::SLt, counter, limit);
        let results = self.values(types);
        let exit = self.nested(|_| Term::Break(label, results));
        let stay = jit::ir::Region::default();
        self.b.nodes.push(jit::ir::Node::If(Box::new(jit::ir::If {
            cond: more,
            then: stay,
            else_: exit,
            results: vec![],
        })));
        self.push_label(label, types.to_vec(), parting);
        let continue_types = if self.options.results { carried.to_vec() } else { Vec::new() };
        let continue_label = self.b.shader.new_label();
        self.push_label(continue_label, continue_types.clone(), false);
        let body = self.nested(|g| g.body(&continue_types, true));
        self.pop_label();
        self.pop_label();
        let next = self.region_values(&continue_types);
        let scope = jit::ir::Scope { label: continue_label, body, results: next.clone() };
        self.b.nodes.push(jit::ir::Node::Scope(Box::new(scope)));
        let one = self.b.i32(1);
        let counter = self.b.binary(Binary::IAdd, counter, one);
        match counter_var {
            Some(var) => {
                self.b.var_store(var, None, counter);
                Term::default()
            }
            None => Term::Yield(std::iter::once(counter).chain(next).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_verify_and_run() {
        let mut divergent = 0;
        for seed in 0..200 {
            let options = Options { vars: seed % 3 != 0, results: seed % 2 == 0, ..Options::default() };
            let program = compute_shader(seed, options);
            jit::ir::verify(&program.shader).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", program.shader));
            let output = program.interpret(&program.shader);
            assert_eq!(output, program.interpret(&program.shader), "seed {seed}");
            divergent += usize::from(output[..32] != output[32..64]);
        }
        assert!(divergent > 150);
    }

    #[test]
    fn outputs_are_the_same_up_to_the_payload_of_floats() {
        let program = compute_shader(0, Options::default());
        let words = |int: u32, float: u32| [int.to_le_bytes(), float.to_le_bytes()].concat();
        let (nan, other) = (f32::NAN.to_bits(), f32::NAN.to_bits() ^ 1);
        assert!(program.same(&words(7, nan), &words(7, other)));
        assert!(!program.same(&words(nan, 0), &words(other, 0)));
        assert!(!program.same(&words(0, 0), &words(0, 0x8000_0000)) && !program.same(&words(0, 0), &words(0, 0)[..4]));
    }
}
