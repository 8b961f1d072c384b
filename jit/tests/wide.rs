//! Tests of the wide tier for cases that random programs rarely reach: large frames, many live
//! values, calls with arguments on the stack.

use jit::cancel::CancelToken;
use jit::code::ExecutableCode;
use jit::lir::{Access, AccessReason, Builder, Elem, Function, IntCond, Type, Value, verify};
use jit::wide::{Settings, VectorLevel, code};
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the settings for code with and without optimisation, at the levels that this processor
/// has.
fn settings() -> impl Iterator<Item = Settings> {
    let levels = VectorLevel::ALL.into_iter().filter(|&level| Some(level) <= VectorLevel::for_host());
    let careful = levels.map(|max_level| Settings { optimise: true, limit: None, max_level });
    careful.chain(
        [Settings { optimise: false, limit: None, max_level: VectorLevel::Avx2 }]
            .into_iter()
            .filter(|_| VectorLevel::for_host().is_some()),
    )
}

/// Compiles a function of an address and a number. Returns its code and the size of its frame.
fn compiled(func: &Function, settings: Settings) -> (ExecutableCode, u32) {
    verify(func).unwrap_or_else(|e| panic!("{e}\n{func}"));
    let code = code(func, &settings, &CancelToken::NEVER, None).expect("code").expect("no limit");
    (ExecutableCode::new(&code.bytes).expect("memory"), code.frame)
}

fn run(code: &ExecutableCode, memory: &mut [u32], n: u64) {
    // SAFETY: the functions of these tests have these parameters and access only `memory`.
    unsafe {
        let function: base::code_type!(unsafe extern "code" fn(*mut u32, u64)) = core::mem::transmute(code.address());
        function(memory.as_mut_ptr(), n);
    }
}

fn builder() -> (Builder, Value, Value) {
    let b = Builder::new(&[Type::I64, Type::I64]);
    let (address, n) = (b.params(b.current())[0], b.params(b.current())[1]);
    (b, address, n)
}

fn at(offset: usize) -> Access {
    Access { offset: offset as i32, ..Access::new(AccessReason::Caller) }
}

#[test]
fn more_values_than_registers() {
    settings().for_each(spill);
}

fn spill(settings: Settings) {
    const COUNT: usize = 60;
    let ty = Elem::I32.by(8);
    let (mut b, address, _) = builder();
    let values: Vec<Value> = (0..COUNT).map(|i| b.load(ty, at(32 * i), address)).collect();
    let scalars: Vec<Value> = (0..COUNT).map(|i| b.load(Type::I32, at(32 * i), address)).collect();
    // All values are live until the last one is stored over the first.
    for (i, &v) in values.iter().rev().enumerate() {
        let more = b.splat(ty, scalars[i]);
        let sum = b.iadd(v, more);
        b.store(at(32 * i), sum, address);
    }
    b.return_();
    let (code, frame) = compiled(&b.finish(), settings);
    let registers = if settings.max_level == VectorLevel::Avx512 { 32 } else { 16 };
    assert!(frame as usize > 32 * (COUNT - registers), "{settings:?} {frame}: nothing is spilled");
    let start: Vec<u32> = (0..8 * COUNT as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let mut memory = start.clone();
    run(&code, &mut memory, 0);
    for i in 0..COUNT {
        for lane in 0..8 {
            let want = start[8 * (COUNT - 1 - i) + lane].wrapping_add(start[8 * i]);
            assert_eq!(memory[8 * i + lane], want, "{i} {lane}");
        }
    }
}

#[test]
fn reported_frame_size_is_exact() {
    settings().for_each(take_large_frames);
}

fn take_large_frames(settings: Settings) {
    for bytes in [16, 4000, 4096, 5000, 100_000, 1 << 20] {
        let (mut b, address, _) = builder();
        let slot = b.create_slot(bytes, 6);
        let (first, last) = (b.stack_address(slot, 0), b.stack_address(slot, bytes as i32 - 4));
        let v = b.load(Type::I32, at(0), address);
        let [ends, addresses] = [at(4), at(8)];
        b.store(Access::new(AccessReason::Caller), v, first);
        b.store(Access::new(AccessReason::Caller), v, last);
        let v = b.load(Type::I32, Access::new(AccessReason::Caller), last);
        b.store(ends, v, address);
        b.store(addresses, first, address);
        b.return_();
        let (code, frame) = compiled(&b.finish(), settings);
        assert!((bytes..bytes + 512).contains(&frame), "{bytes}: {frame}");
        let mut memory = [7, 0, 0, 0];
        base::stack::with(2 << 20, || run(&code, &mut memory, 0)).expect("a stack");
        assert_eq!(memory[1], 7);
        assert_eq!(memory[2] % 64, 0, "alignment");
    }
}

static SEEN: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];

/// Records its arguments: six are in general registers, then two are on the stack.
#[base::code_fn]
unsafe extern "code" fn eight(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64) {
    [a, b, c, d, e, f, g, h].into_iter().zip(&SEEN).for_each(|(v, seen)| seen.store(v, Ordering::Relaxed));
}

/// Records its arguments, of which the floats are in registers of their own kind.
#[base::code_fn]
unsafe extern "code" fn mixed(a: u64, b: f64, c: u64, d: f32, e: u64, f: u64, g: u64, h: u64) {
    let bits = [a, b.to_bits(), c, d.to_bits().into(), e, f, g, h];
    bits.into_iter().zip(&SEEN).for_each(|(v, seen)| seen.store(v, Ordering::Relaxed));
}

#[test]
fn calls_pass_eight_arguments_and_preserve_live_values() {
    settings().for_each(call);
}

fn call(settings: Settings) {
    let ty = Elem::F32.by(8);
    for floats in [false, true] {
        let (mut b, address, n) = builder();
        let live: Vec<Value> = (0..20).map(|i| b.load(ty, at(32 * i), address)).collect();
        let mut args: Vec<Value> = (0..8).map(|i| b.load(Type::I64, at(8 * i), address)).collect();
        if floats {
            args[1] = b.load(Type::F64, at(8), address);
            args[3] = b.load(Type::F32, at(24), address);
        }
        b.call(n, &args);
        live.iter().enumerate().for_each(|(i, &v)| b.store(at(640 + 32 * i), v, address));
        b.return_();
        let (code, _) = compiled(&b.finish(), settings);
        let mut memory: Vec<u32> = (0..320u32).map(|i| i.wrapping_mul(0x0123_4567)).collect();
        memory[160..].fill(0);
        let function = if floats { mixed as *const () } else { eight as *const () };
        run(&code, &mut memory, function as u64);
        for (i, seen) in SEEN.iter().enumerate() {
            let want = u64::from(memory[2 * i]) | u64::from(memory[2 * i + 1]) << 32;
            let want = if floats && i == 3 { want & 0xffff_ffff } else { want };
            assert_eq!(seen.load(Ordering::Relaxed), want, "{floats} {i}");
        }
        assert_eq!(memory[..160], memory[160..]);
    }
}

/// Changes every register that a function may change.
#[base::code_fn]
unsafe extern "code" fn spoil(words: *mut u32) {
    // SAFETY: `words` points to the memory of the test.
    unsafe { words.write(words.read().wrapping_mul(3)) };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only registers that a function may change are changed. Registers of AVX-512 are
    // changed only if the processor has them.
    unsafe {
        core::arch::asm!(
            "vzeroall",
            "mov rax, -1",
            "mov rcx, -1",
            "mov rdx, -1",
            "mov rsi, -1",
            "mov rdi, -1",
            "mov r8, -1",
            "mov r9, -1",
            "mov r10, -1",
            "mov r11, -1",
            clobber_abi("sysv64")
        );
        if VectorLevel::for_host() == Some(VectorLevel::Avx512) {
            core::arch::asm!(
                "kxorq k0, k0, k0",
                "kxorq k1, k1, k1",
                "kxorq k2, k2, k2",
                "kxorq k3, k3, k3",
                "kxorq k4, k4, k4",
                "kxorq k5, k5, k5",
                "kxorq k6, k6, k6",
                "kxorq k7, k7, k7",
                "vpxord zmm16, zmm16, zmm16",
                "vpxord zmm17, zmm17, zmm17",
                "vpxord zmm18, zmm18, zmm18",
                "vpxord zmm19, zmm19, zmm19",
                "vpxord zmm20, zmm20, zmm20",
                "vpxord zmm21, zmm21, zmm21",
                "vpxord zmm22, zmm22, zmm22",
                "vpxord zmm23, zmm23, zmm23",
                "vpxord zmm24, zmm24, zmm24",
                "vpxord zmm25, zmm25, zmm25",
                "vpxord zmm26, zmm26, zmm26",
                "vpxord zmm27, zmm27, zmm27",
                "vpxord zmm28, zmm28, zmm28",
                "vpxord zmm29, zmm29, zmm29",
                "vpxord zmm30, zmm30, zmm30",
                "vpxord zmm31, zmm31, zmm31",
                clobber_abi("sysv64")
            );
        }
    }
}

/// Vectors, masks and numbers stay live across a rare call, and across the iterations of a loop
/// that contains it.
#[test]
fn rare_calls_preserve_live_values() {
    settings().for_each(|settings| [8, 16].into_iter().for_each(|lanes| rare_call(settings, lanes)));
}

fn rare_call(settings: Settings, lanes: usize) {
    const ROUNDS: usize = 9;
    const LIVE: usize = 12;
    let ty = Elem::I32.by(lanes);
    let row = 4 * lanes;
    let (mut b, address, n) = builder();
    let vectors: Vec<Value> = (0..LIVE).map(|i| b.load(ty, at(64 + row * i), address)).collect();
    let masks: Vec<Value> = vectors[..4].iter().map(|&v| b.icmp_imm(IntCond::Slt, v, 0)).collect();
    let numbers: Vec<Value> = (0..LIVE).map(|i| b.load(Type::I64, at(64 + 8 * i), address)).collect();
    let [header, rare, joined, done] = [(); 4].map(|()| b.create_block());
    b.set_cold_block(rare);
    let (left, sum) = (b.append_param(header, Type::I64), b.append_param(header, ty));
    let found = b.append_param(joined, ty);
    let rounds = b.iconst(Type::I64, ROUNDS as i64);
    b.jump(header, &[rounds, vectors[0]]);
    b.enter_loop(header);
    let bits = b.and(left, n);
    let calls = b.icmp_imm(IntCond::Ne, bits, 0);
    b.branch(calls, rare, &[], joined, &[sum]);
    b.seal_block(rare);
    b.switch_to_block(rare);
    let function = b.load(Type::I64, at(8), address);
    b.call(function, &[address]);
    let word = b.load(Type::I32, at(0), address);
    let more = b.splat(ty, word);
    let more = b.iadd(sum, more);
    b.jump(joined, &[more]);
    b.seal_block(joined);
    b.switch_to_block(joined);
    let mut next = found;
    for (i, &v) in vectors.iter().enumerate() {
        let number = b.narrow(Type::I32, numbers[i]);
        let number = b.splat(ty, number);
        let other = b.iadd(v, number);
        let more = b.select(masks[i % 4], other, v);
        let turned = b.shl_imm(next, 1);
        next = b.xor(turned, more);
    }
    let left_then = b.iadd_imm(left, -1);
    let more = b.icmp_imm(IntCond::Ne, left_then, 0);
    b.branch(more, header, &[left_then, next], done, &[]);
    b.seal_block(header);
    b.seal_block(done);
    b.switch_to_block(done);
    b.store(at(64), next, address);
    b.return_();
    let (code, _) = compiled(&b.finish(), settings);
    for n in [0, 1, 2, 5, 15] {
        let mut memory: Vec<u32> = (0..(16 + LIVE * lanes) as u32).map(|i| (i + 7).wrapping_mul(0x9e37_79b9)).collect();
        let function = spoil as *const () as u64;
        (memory[2], memory[3]) = (function as u32, (function >> 32) as u32);
        let start = memory.clone();
        run(&code, &mut memory, n);
        let mut word = start[0];
        let mut sum: Vec<u32> = start[16..][..lanes].to_vec();
        for left in (1..=ROUNDS as u64).rev() {
            if left & n != 0 {
                word = word.wrapping_mul(3);
                sum.iter_mut().for_each(|x| *x = x.wrapping_add(word));
            }
            for i in 0..LIVE {
                for (lane, x) in sum.iter_mut().enumerate() {
                    let v = start[16 + lanes * i + lane];
                    let chosen = (start[16 + lanes * (i % 4) + lane] as i32) < 0;
                    let other = if chosen { v.wrapping_add(start[16 + 2 * i]) } else { v };
                    *x = (*x << 1) ^ other;
                }
            }
        }
        assert_eq!(memory[16..][..lanes], sum, "{settings:?} {lanes} {n}");
        assert_eq!(memory[0], word);
    }
}

#[test]
fn loop_may_swap_its_parameters() {
    settings().for_each(exchange);
}

fn exchange(settings: Settings) {
    let ty = Elem::I32.by(8);
    let (mut b, address, n) = builder();
    let [header, body, exit] = [0, 1, 2].map(|_| b.create_block());
    let count = b.append_param(header, Type::I64);
    let [x, y] = [0, 1].map(|_| b.append_param(header, ty));
    let [first, second] = [0, 32].map(|offset| b.load(ty, at(offset), address));
    b.jump(header, &[n, first, second]);
    b.enter_loop(header);
    let more = b.icmp_imm(IntCond::Ne, count, 0);
    b.branch(more, body, &[], exit, &[]);
    b.seal_block(body);
    b.seal_block(exit);
    b.switch_to_block(body);
    let next = b.iadd_imm(count, -1);
    b.jump(header, &[next, y, x]);
    b.seal_block(header);
    b.switch_to_block(exit);
    b.store(at(0), x, address);
    b.store(at(32), y, address);
    b.return_();
    let (code, _) = compiled(&b.finish(), settings);
    for n in 0..4 {
        let mut memory: Vec<u32> = (0..16).collect();
        run(&code, &mut memory, n);
        assert_eq!(memory[0], if n % 2 == 0 { 0 } else { 8 });
        assert_eq!(memory[8], if n % 2 == 0 { 8 } else { 0 });
    }
}

#[test]
fn logic_trees_and_rotations_match_eval() {
    settings().for_each(compute_logic);
}

fn compute_logic(settings: Settings) {
    let mut rng = base::random::Rng(0x1234_5678_9abc_def1);
    for lanes in [4, 8, 16] {
        let ty = Elem::I32.by(lanes);
        for _ in 0..200 {
            let (mut b, address, _) = builder();
            let mut own: Vec<(Value, [u32; 16])> =
                (0..4).map(|i| (b.load(ty, at(64 * i), address), std::array::from_fn(|lane| word(i, lane)))).collect();
            own.push((b.constant(ty, 0x0f0f_1234), [0x0f0f_1234; 16]));
            // Most values are used once.
            for _ in 0..8 {
                let mut pick = || own[rng.next() as usize % own.len()];
                let ((x, xs), (y, ys)) = (pick(), pick());
                let by = 1 + rng.next() % 31;
                let (v, f): (Value, Box<dyn Fn(u32, u32) -> u32>) = match rng.next() % 6 {
                    0 => (b.and(x, y), Box::new(|x, y| x & y)),
                    1 => (b.or(x, y), Box::new(|x, y| x | y)),
                    2 => (b.xor(x, y), Box::new(|x, y| x ^ y)),
                    3 => (b.and_not(x, y), Box::new(|x, y| x & !y)),
                    4 => (b.not(x), Box::new(|x, _| !x)),
                    _ => {
                        let amounts = [by, 32 - by].map(|n| b.constant(Type::I32, n.into()));
                        let (up, down) = (b.shl(x, amounts[0]), b.lshr(x, amounts[1]));
                        (b.or(up, down), Box::new(move |x, _| x.rotate_left(by)))
                    }
                };
                own.push((v, std::array::from_fn(|lane| f(xs[lane], ys[lane]))));
            }
            let (v, expected) = own[own.len() - 1];
            b.store(at(256), v, address);
            b.return_();
            let func = b.finish();
            let (code, _) = compiled(&func, settings);
            let mut memory = [0; 80];
            (0..64).for_each(|i| memory[i] = word(i / 16, i % 16));
            run(&code, &mut memory, 0);
            assert_eq!(memory[64..64 + lanes], expected[..lanes], "{settings:?}\n{func}");
        }
    }
}

fn word(i: usize, lane: usize) -> u32 {
    (16 * i as u32 + lane as u32 + 1).wrapping_mul(0x9e37_79b9)
}
