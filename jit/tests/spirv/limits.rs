//! Tests of modules at the universal limits of SPIR-V (2.17), and beyond limits for quantities that
//! have none. They are compiled to code and run.

use crate::emit_common::{buffers_layout, run_compiled};
use crate::spirv_common::bytes;
use base::shader::{CompiledStage, Stage};
use jit::CompileRequest;
use jit::error::{Error, ErrorKind};
use jit::spirv::{Accept, Module, Specialization};
use jit::tier::Tier;
use jit_test_support::interp::Memory;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MAIN: u32 = 1;
const VOID: u32 = 2;
const BOOL: u32 = 3;
const UINT: u32 = 4;
const ENTRY_TYPE: u32 = 5;
const CALLEE_TYPE: u32 = 6;
const BUFFER: u32 = 7;
const INDEX: u32 = 8;
const WORD: u32 = 9;
const LOCAL: u32 = 10;
const PRIVATE: u32 = 11;
/// Id of the constant 0. The constants 1, 2, … follow.
const NUMBERS: u32 = 1000;
/// Number of these constants.
const MOST: u32 = 1100;
const LANES: usize = 8;

/// A compute module over words. The buffer has the results of lanes 0 to 7, then the input of each
/// lane.
struct Asm {
    decorations: Vec<u32>,
    globals: Vec<u32>,
    functions: Vec<u32>,
    body: Vec<u32>,
    variables: Vec<u32>,
    next: u32,
}

fn put(to: &mut Vec<u32>, op: u32, args: &[u32]) {
    to.push((args.len() as u32 + 1) << 16 | op);
    to.extend_from_slice(args);
}

impl Asm {
    fn new() -> Asm {
        let (mut decorations, mut globals) = (Vec::new(), Vec::new());
        for args in [&[12, 6, 4][..], &[13, 2], &[BUFFER, 34, 0], &[BUFFER, 33, 0], &[INDEX, 11, 29]] {
            put(&mut decorations, 71, args);
        }
        put(&mut decorations, 72, &[13, 0, 35, 0]);
        let types: [(u32, &[u32]); 13] = [
            (19, &[VOID]),
            (20, &[BOOL]),
            (21, &[UINT, 32, 0]),
            (33, &[ENTRY_TYPE, VOID]),
            (33, &[CALLEE_TYPE, UINT, UINT]),
            (29, &[12, UINT]),
            (30, &[13, 12]),
            (32, &[14, 12, 13]),
            (59, &[14, BUFFER, 12]),
            (32, &[WORD, 12, UINT]),
            (32, &[LOCAL, 7, UINT]),
            (32, &[PRIVATE, 6, UINT]),
            (32, &[15, 1, UINT]),
        ];
        types.iter().for_each(|(op, args)| put(&mut globals, *op, args));
        put(&mut globals, 59, &[15, INDEX, 1]);
        (0..MOST).for_each(|n| put(&mut globals, 43, &[UINT, NUMBERS + n, n]));
        let (functions, body, variables) = Default::default();
        Asm { decorations, globals, functions, body, variables, next: NUMBERS + MOST }
    }

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn global(&mut self, op: u32, args: &[u32]) -> u32 {
        let id = self.id();
        put(&mut self.globals, op, &[&[id], args].concat());
        id
    }

    fn number(&mut self, n: u32) -> u32 {
        let id = self.id();
        put(&mut self.globals, 43, &[UINT, id, n]);
        id
    }

    fn i(&mut self, op: u32, args: &[u32]) {
        put(&mut self.body, op, args);
    }

    fn r(&mut self, op: u32, ty: u32, args: &[u32]) -> u32 {
        let id = self.id();
        self.i(op, &[&[ty, id], args].concat());
        id
    }

    /// Declares a variable of `main`.
    fn local(&mut self, pointer: u32) -> u32 {
        let id = self.id();
        put(&mut self.variables, 59, &[pointer, id, 7]);
        id
    }

    /// Loads the lane's input.
    fn input(&mut self) -> u32 {
        let lane = self.r(61, UINT, &[INDEX]);
        let at = self.r(128, UINT, &[lane, NUMBERS + LANES as u32]);
        let place = self.r(65, WORD, &[BUFFER, NUMBERS, at]);
        self.r(61, UINT, &[place])
    }

    /// Defines function `id`, whose body `make` builds.
    fn function(&mut self, id: u32, make: impl FnOnce(&mut Asm, u32) -> u32) {
        let main = std::mem::take(&mut self.body);
        let (x, label) = (self.id(), self.id());
        self.i(54, &[UINT, id, 0, CALLEE_TYPE]);
        self.i(55, &[UINT, x]);
        self.i(248, &[label]);
        let result = make(self, x);
        self.i(254, &[result]);
        self.i(56, &[]);
        let made = std::mem::replace(&mut self.body, main);
        self.functions.extend(made);
    }

    /// Returns the module, which stores `result`.
    fn finish(mut self, result: u32) -> Vec<u32> {
        let lane = self.r(61, UINT, &[INDEX]);
        let place = self.r(65, WORD, &[BUFFER, NUMBERS, lane]);
        self.i(62, &[place, result]);
        let label = self.id();
        let mut words = vec![0x0723_0203, 0x0001_0300, 0, self.next + 1, 0];
        put(&mut words, 17, &[1]);
        put(&mut words, 14, &[0, 1]);
        put(&mut words, 15, &[5, MAIN, 0x6e69_616d, 0, INDEX]);
        put(&mut words, 16, &[MAIN, 17, LANES as u32, 1, 1]);
        words.extend([self.decorations, self.globals, self.functions].concat());
        put(&mut words, 54, &[VOID, MAIN, 0, ENTRY_TYPE]);
        put(&mut words, 248, &[label]);
        words.extend([self.variables, self.body].concat());
        put(&mut words, 253, &[]);
        put(&mut words, 56, &[]);
        words
    }
}

/// Returns a module with `n` nested selections. Its result is the number of levels below the lane's
/// input.
fn selections(n: u32) -> Vec<u32> {
    let mut a = Asm::new();
    let (count, x) = (a.local(LOCAL), a.input());
    a.i(62, &[count, NUMBERS]);
    let mut merges = Vec::new();
    for level in 0..n {
        let level = if level < MOST { NUMBERS + level } else { a.number(level) };
        let (taken, then, merge) = (a.r(172, BOOL, &[x, level]), a.id(), a.id());
        a.i(247, &[merge, 0]);
        a.i(250, &[taken, then, merge]);
        a.i(248, &[then]);
        step(&mut a, count);
        merges.push(merge);
    }
    for merge in merges.into_iter().rev() {
        a.i(249, &[merge]);
        a.i(248, &[merge]);
    }
    let result = a.r(61, UINT, &[count]);
    a.finish(result)
}

/// Adds one to a variable.
fn step(a: &mut Asm, count: u32) {
    let before = a.r(61, UINT, &[count]);
    let after = a.r(128, UINT, &[before, NUMBERS + 1]);
    a.i(62, &[count, after]);
}

/// Returns a module with `n` nested loops. The innermost continues until there were as many
/// iterations as the lane's input.
fn loops(n: u32) -> Vec<u32> {
    let mut a = Asm::new();
    let (count, x) = (a.local(LOCAL), a.input());
    a.i(62, &[count, NUMBERS]);
    let mut open = Vec::new();
    for _ in 0..n {
        let [header, body, cont, merge] = [(); 4].map(|()| a.id());
        a.i(249, &[header]);
        a.i(248, &[header]);
        a.i(246, &[merge, cont, 0]);
        a.i(249, &[body]);
        a.i(248, &[body]);
        step(&mut a, count);
        open.push([header, cont, merge]);
    }
    for [header, cont, merge] in open.into_iter().rev() {
        a.i(249, &[cont]);
        a.i(248, &[cont]);
        let rounds = a.r(61, UINT, &[count]);
        let again = a.r(176, BOOL, &[rounds, x]);
        a.i(250, &[again, header, merge]);
        a.i(248, &[merge]);
    }
    let result = a.r(61, UINT, &[count]);
    a.finish(result)
}

/// Returns a module with a variable of `n` nested structures or arrays, each with one part. A value
/// stored in the innermost is extracted from the whole.
fn types(n: u32, arrays: bool) -> Vec<u32> {
    let mut a = Asm::new();
    let ty =
        (0..n).fold(UINT, |inner, _| if arrays { a.global(28, &[inner, NUMBERS + 1]) } else { a.global(30, &[inner]) });
    let pointer = a.global(32, &[6, ty]);
    let variable = a.id();
    put(&mut a.globals, 59, &[pointer, variable, 6]);
    let x = a.input();
    let place = a.r(65, PRIVATE, &[&[variable][..], &vec![NUMBERS; n as usize]].concat());
    a.i(62, &[place, x]);
    let whole = a.r(61, ty, &[variable]);
    let result = a.r(81, UINT, &[&[whole][..], &vec![0; n as usize]].concat());
    a.finish(result)
}

/// Returns a module with `n` functions, each of which calls the next one `times` times. The last
/// one adds one.
fn calls(n: u32, times: u32) -> Vec<u32> {
    let mut a = Asm::new();
    let x = a.input();
    let functions: Vec<u32> = (0..n).map(|_| a.id()).collect();
    let result = a.r(57, UINT, &[functions[0], x]);
    for (i, &f) in functions.iter().enumerate() {
        a.function(f, |a, x| match functions.get(i + 1) {
            Some(&next) => (0..times).fold(x, |x, _| a.r(57, UINT, &[next, x])),
            None => a.r(128, UINT, &[x, NUMBERS + 1]),
        });
    }
    a.finish(result)
}

/// Returns a module with a private array of `n` words. One word is written and read, and the word
/// before it is read, which is zero.
fn private_array(n: u32) -> Vec<u32> {
    let mut a = Asm::new();
    let len = a.number(n);
    let array = a.global(28, &[UINT, len]);
    let pointer = a.global(32, &[7, array]);
    let null = a.id();
    put(&mut a.globals, 46, &[array, null]);
    let variable = a.id();
    put(&mut a.variables, 59, &[pointer, variable, 7, null]);
    let x = a.input();
    let large = a.number(n / 7);
    let index = a.r(132, UINT, &[x, large]);
    let index = a.r(137, UINT, &[index, len]);
    let place = a.r(65, LOCAL, &[variable, index]);
    a.i(62, &[place, x]);
    let before = a.r(130, UINT, &[index, NUMBERS + 1]);
    let before = a.r(137, UINT, &[before, len]);
    let before = a.r(65, LOCAL, &[variable, before]);
    let [zero, own] = [before, place].map(|place| a.r(61, UINT, &[place]));
    let result = a.r(128, UINT, &[own, zero]);
    a.finish(result)
}

/// Returns a module that copies a whole array of a buffer: from binding 1 to binding 2, or with
/// `within` the second half of binding 1 to its first half.
fn copy(n: u32, within: bool) -> Vec<u32> {
    let mut a = Asm::new();
    let len = a.number(n);
    let array = a.global(28, &[UINT, len]);
    let halves = a.global(28, &[array, NUMBERS + 2]);
    let block = a.global(30, &[halves]);
    put(&mut a.decorations, 71, &[array, 6, 4]);
    put(&mut a.decorations, 71, &[halves, 6, 4 * n]);
    put(&mut a.decorations, 71, &[block, 2]);
    put(&mut a.decorations, 72, &[block, 0, 35, 0]);
    let (pointer, whole) = (a.global(32, &[12, block]), a.global(32, &[12, array]));
    let buffers = [1, 2].map(|binding| {
        let id = a.id();
        put(&mut a.globals, 59, &[pointer, id, 12]);
        put(&mut a.decorations, 71, &[id, 34, 0]);
        put(&mut a.decorations, 71, &[id, 33, binding]);
        id
    });
    let x = a.input();
    let from = a.r(65, whole, &[buffers[0], NUMBERS, NUMBERS + 1]);
    let to = a.r(65, whole, &[buffers[usize::from(!within)], NUMBERS, NUMBERS]);
    let all = a.r(61, array, &[from]);
    a.i(62, &[to, all]);
    a.finish(x)
}

fn code(words: &[u32], tier: Tier) -> Result<CompiledStage, Error> {
    let module = Module::parse(words)?;
    let request = CompileRequest {
        module: &module,
        stage: Stage::Compute,
        entry: "main",
        specialization: &Specialization::default(),
        layout: &buffers_layout(3),
        accept: &Accept::all_implemented(),
    };
    let blob = jit::compile(&request, tier)?;
    Ok(CompiledStage { code: Arc::new(blob.load().expect("executable memory")), info: blob.info })
}

const INPUT: [u32; LANES] = [0, 1, 2, 5, 77, 398, 1000, 100_000];

/// Runs a module. Returns the result of each lane, and the buffers of bindings 1 and 2.
fn run(words: &[u32], tier: Tier, buffers: [Vec<u32>; 2]) -> (Vec<u32>, [Vec<u32>; 2]) {
    let began = Instant::now();
    let stage = code(words, tier).unwrap_or_else(|e| panic!("{tier:?}: {e}"));
    let compiled = began.elapsed();
    let lanes = [vec![0; LANES], INPUT.to_vec()].concat();
    let all = [&lanes, &buffers[0], &buffers[1]].map(|words| bytes(words));
    let memory = Memory { buffers: (0..).zip(all).map(|(i, b)| ((0, i), b)).collect(), ..Memory::default() };
    let after = run_compiled(&stage, &memory, [1; 3]);
    println!("{tier:?}: {compiled:?}, run {:?}", began.elapsed() - compiled);
    let words =
        |b: &Vec<u8>| b.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect::<Vec<_>>();
    (words(&after[0])[..LANES].to_vec(), [words(&after[1]), words(&after[2])])
}

fn results(words: &[u32], tier: Tier) -> Vec<u32> {
    run(words, tier, [vec![0; 4], vec![0; 4]]).0
}

/// Returns the tiers that this machine supports.
fn tiers() -> impl Iterator<Item = Tier> {
    Tier::ALL.into_iter().filter(|tier| tier.row().backend().is_some())
}

#[test]
fn control_flow_may_nest_1023_deep() {
    for tier in tiers() {
        assert_eq!(results(&selections(1023), tier), INPUT.map(|x| x.min(1023)), "{tier:?}");
        assert_eq!(results(&loops(200), tier), INPUT.map(|x| x.max(200)), "{tier:?}");
    }
    // Better tiers leave such a nest to the first tier.
    assert_eq!(results(&loops(1023), Tier::FIRST), INPUT.map(|x| x.max(1023)));
}

#[test]
fn structures_may_nest_255_deep_and_arrays_deeper() {
    for tier in tiers() {
        for words in [types(255, false), types(255, true), types(1000, true)] {
            assert_eq!(results(&words, tier), INPUT, "{tier:?}");
        }
    }
}

#[test]
fn calls_may_be_many() {
    for tier in tiers() {
        assert_eq!(results(&calls(1000, 1), tier), INPUT.map(|x| x + 1), "{tier:?}");
    }
    // The innermost function is called 2^17 times, of 2^18 calls in total.
    assert_eq!(results(&calls(18, 2), Tier::FIRST), INPUT.map(|x| x + (1 << 17)));
}

#[test]
fn private_arrays_fill_the_scratch_memory() {
    for tier in tiers() {
        for n in [(1 << 18) + 1, (1 << 21) - 64] {
            assert_eq!(results(&private_array(n), tier), INPUT, "{tier:?} {n}");
        }
    }
    let error = code(&private_array((1 << 21) + 1), Tier::FIRST).expect_err("refused");
    assert_eq!(error.kind, ErrorKind::Limit, "{error}");
}

#[test]
fn memory_copy_needs_no_private_variable() {
    for n in [(1 << 18) + 1, 3 << 19] {
        let numbers: Vec<u32> = (0..2 * n).map(|i| i * 3 + 1).collect();
        let other = vec![0; 2 * n as usize];
        let half = n as usize;
        for within in [false, true] {
            let (_, [from, to]) = run(&copy(n, within), Tier::FIRST, [numbers.clone(), other.clone()]);
            let target = if within { &from } else { &to };
            assert!(target[..half] == numbers[half..] && from[half..] == numbers[half..], "{n} {within}");
        }
    }
}

/// Modules beyond the limits are refused early, before they are compiled.
#[test]
fn deeper_nesting_is_refused() {
    for (name, words) in [
        ("selections", selections(9000)),
        ("loops", loops(9000)),
        ("loops, fewer of them", loops(1600)),
        ("structures", types(1100, false)),
        ("calls", calls(5000, 1)),
        ("a tree of calls", calls(30, 2)),
        ("a wide tree of calls", calls(10, 10)),
        ("a tree beyond all numbers", calls(200, 3)),
    ] {
        let began = Instant::now();
        let error = code(&words, Tier::FIRST).err().unwrap_or_else(|| panic!("{name} are taken"));
        assert_eq!(error.kind, ErrorKind::Limit, "{name}: {error}");
        assert!(began.elapsed() < Duration::from_secs(2), "{name}: {:?}", began.elapsed());
    }
}
