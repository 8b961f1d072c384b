//! Tests of integers of 8, 16 and 64 bits, in every kind of memory, against the same computations
//! in Rust.

use crate::spirv_common::*;
use base::random::XorshiftStar as Rng;
use jit::spirv::{Accept, Module, Specialization, translate};
use jit_test_support::interp::Memory;

const LANES: usize = 16;

/// An item of `integers.comp`, in scalar layout: 24 bytes.
#[derive(Clone, Copy)]
struct Item {
    b: [u8; 4],
    s: [i16; 2],
    l: u64,
    m: i64,
}

impl Item {
    fn bytes(self) -> Vec<u8> {
        let s = self.s.iter().flat_map(|s| s.to_le_bytes());
        self.b.into_iter().chain(s).chain(self.l.to_le_bytes()).chain(self.m.to_le_bytes()).collect()
    }
}

/// Contents of the uniform block and the push constants.
struct Blocks {
    u8: [u8; 16],
    u16: [[i16; 3]; 16],
    u64: [u64; 2],
    p8: [i8; 3],
    p16: u16,
    p64: u64,
}

struct Specs {
    s16: i16,
    s64: u64,
    wide: i64,
}

fn hash(x: u64) -> u32 {
    x as u32 ^ (x >> 32) as u32
}

/// Computes OpSMod of widened numbers.
fn modulo(a: i128, b: i128) -> i128 {
    (a % b + b) % b
}

fn sum(terms: &[(u32, u32)]) -> u32 {
    terms.iter().fold(0, |sum, &(factor, x)| sum.wrapping_add(factor.wrapping_mul(x)))
}

/// Converts a signed number as the shader's `uint(int(x))` does.
fn int(x: impl Into<i32>) -> u32 {
    x.into() as u32
}

fn expected(i: usize, items: &[Item; LANES], u: &Blocks, spec: &Specs) -> ([u32; 24], Vec<u8>) {
    let Item { b: v, s: ss, l, m } = items[i];
    let [b, c, ..] = v;
    let (ib, ic) = (v[2] as i8, (v[3] | 1) as i8);
    let (s, t) = (ss[0], ss[1] | 1);
    let (us, ut) = (s as u16, t as u16);
    let o = l >> 33 | 1;
    let n = i64::from(ic).wrapping_mul(1_000_000_007);
    let mut r = [0u32; 24];
    let small = [b.wrapping_add(c), b.wrapping_mul(c), b.wrapping_sub(c), !b];
    r[0] = u32::from_le_bytes(small);
    r[1] = int(ib.wrapping_div(ic)) ^ (modulo(ib.into(), ic.into()) as u32) << 16;
    r[2] = int(s.wrapping_mul(t)) ^ u32::from(us / ut) << 7 ^ u32::from(us % ut) << 19;
    let shifted = us.wrapping_shl((c & 15).into());
    r[3] = sum(&[(1, int(s.wrapping_div(t))), (3, int(s >> (b & 15))), (5, shifted.into())]);
    r[4] = hash(l.wrapping_mul(m as u64));
    r[5] = sum(&[(1, hash(l / o)), (3, hash(l % o))]);
    r[6] = sum(&[(1, hash(m.wrapping_div(n) as u64)), (3, hash(modulo(m.into(), n.into()) as u64))]);
    r[7] = sum(&[(1, hash(l << (b & 63))), (3, hash(l >> (c & 63))), (5, hash((m >> (b & 63)) as u64))]);
    let (most, least) = (b.max(c), us.min(ut));
    r[8] = sum(&[(1, most.into()), (256, least.into()), (3, int(s.max(t))), (5, hash(l.max(m as u64)))]);
    r[9] = sum(&[
        (1, int(ib.wrapping_abs())),
        (3, int(s.signum())),
        (5, hash(m.wrapping_abs() as u64)),
        (7, hash(m.signum() as u64)),
    ]);
    r[10] = sum(&[(1, int(s.clamp(-500, 700))), (3, hash(m.min(n) as u64))]);
    let pair = u32::from(u16::from_le_bytes([v[2], v[0]]));
    r[11] = sum(&[(1, u32::from_be_bytes(v)), (3, pair)]);
    let two = u64::from(r[3]) << 32 | u64::from(r[0]);
    let four = [us, ut, us, b.into()].iter().rev().fold(0, |x, &h| x << 16 | u64::from(h));
    r[12] = sum(&[(1, hash(two)), (3, hash(four))]);
    let bytes = r[4].to_le_bytes();
    r[13] = sum(&[(1, bytes[0].into()), (3, bytes[3].into()), (5, int(m as i16)), (7, int((m >> 48) as i16))]);
    r[14] = sum(&[
        (1, u32::from(l as u8)),
        (3, int(m as i8)),
        (5, int(m as i16)),
        (7, hash(s as u64)),
        (11, hash(us.into())),
        (13, hash(ib as u64)),
    ]);
    let tests = [b < c, ib < ic, us <= ut, s > t, l < o, m < n, m == l as i64];
    r[15] = tests.iter().rev().fold(0, |bits, &x| bits << 1 | u32::from(x));
    let mut array = [b, c, ib as u8, ic as u8, 7];
    array[usize::from(b) % 5] = array[usize::from(b) % 5].wrapping_add(9);
    let mut longs = [l, m as u64, o];
    longs[usize::from(c) % 3] ^= 0xff_ffff_fff0;
    r[16] = sum(&[(1, array[usize::from(c) % 5].into()), (3, hash(longs[usize::from(b) % 3]))]);
    let derived16 = spec.s16.wrapping_mul(spec.s16).wrapping_div(2);
    let derived = (spec.s64 as i64).wrapping_mul(3).wrapping_sub(spec.wide << 3);
    r[17] = sum(&[(1, int(derived16)), (3, hash(derived as u64)), (5, hash(spec.s64))]);
    r[18] = sum(&[
        (1, u.u8[i].into()),
        (3, int(u.u16[15 - i][1])),
        (5, hash(u.u64[i & 1])),
        (7, int(u.p8[i % 3])),
        (11, u.p16.into()),
        (13, hash(u.p64)),
    ]);
    r[19] = sum(&[(1, items[i ^ 5].b[0].into()), (3, int(items[15 - i].s[1] | 1)), (5, int(items[i ^ 3].s[0]))]);
    let mut phi = if c > b { t.wrapping_add(s) } else { s };
    for k in 0..i16::from(b & 7) {
        phi ^= k.wrapping_shl(s as u32);
    }
    r[20] = sum(&[(1, hash(if b < c { l } else { m as u64 })), (3, int(phi))]);
    r[21] = sum(&[
        (1, int(s.wrapping_neg())),
        (3, hash(m.wrapping_neg() as u64)),
        (5, hash(l & o)),
        (7, hash(l ^ m as u64)),
        (11, hash(!l | o)),
    ]);
    let other = items[usize::from(b) & 15].b[usize::from(c & 3)];
    r[22] = sum(&[(1, other.into()), (3, hash(items[usize::from(v[3] & 15)].l))]);
    let any = u32::from(v.iter().any(|&x| x < 100));
    r[23] = sum(&[(1, hash(l.wrapping_add(o))), (3, hash(m.wrapping_sub(n) as u64)), (5, any)]);

    let mut packed = vec![0xccu8; 24];
    packed[0] = b;
    for (at, h) in [(2, s), (4, t), (6, phi)] {
        packed[at..at + 2].copy_from_slice(&h.to_le_bytes());
    }
    (packed[8], packed[9]) = (ib as u8, ic as u8);
    packed[16..].copy_from_slice(&l.to_le_bytes());
    (r, packed)
}

#[test]
fn arithmetic_and_memory_of_every_width() {
    let mut rng = Rng::new(3);
    for case in 0..40 {
        let mut wide = || match rng.below(4) {
            0 => rng.pick(&[0, 1, u64::MAX, 1 << 63, u64::MAX >> 1, 0x8080_8080_7fff_8000]),
            1 => rng.next() >> 40,
            _ => rng.next(),
        };
        let items: [Item; LANES] = std::array::from_fn(|_| {
            let (b, s) = (wide(), wide());
            Item { b: (b as u32).to_le_bytes(), s: [s as i16, (s >> 32) as i16], l: wide(), m: wide() as i64 }
        });
        let u = Blocks {
            u8: std::array::from_fn(|_| wide() as u8),
            u16: std::array::from_fn(|_| std::array::from_fn(|_| wide() as i16)),
            u64: [wide(), wide()],
            p8: std::array::from_fn(|_| wide() as i8),
            p16: wide() as u16,
            p64: wide(),
        };
        let (mut specs, mut entries) = (Specs { s16: -3, s64: 0x1234_5678_9abc_def0, wide: -5 }, Vec::new());
        if case % 2 == 1 {
            specs = Specs { s16: wide() as i16, s64: wide(), wide: wide() as i64 };
            entries.push((0, specs.s16.to_le_bytes().to_vec()));
            entries.push((1, specs.s64.to_le_bytes().to_vec()));
            entries.push((2, specs.wide.to_le_bytes().to_vec()));
        }
        let uniform: Vec<u8> =
            u.u8.iter().copied().chain(u.u16.iter().flatten().flat_map(|h| h.to_le_bytes())).collect();
        let uniform = [uniform, u.u64.iter().flat_map(|l| l.to_le_bytes()).collect()].concat();
        let p8 = u.p8.map(|p| p as u8);
        let push = [&p8[..], &[0], &u.p16.to_le_bytes(), &[0; 2], &u.p64.to_le_bytes()].concat();
        let memory = Memory {
            buffers: vec![
                ((0, 0), items.iter().flat_map(|item| item.bytes()).collect()),
                ((0, 1), vec![0; LANES * 24 * 4]),
                ((0, 2), vec![0xcc; LANES * 24]),
                ((1, 0), uniform),
            ],
            push,
            ..Memory::default()
        };
        let shader = compile(
            &words("integers.comp"),
            stage("integers.comp"),
            &Specialization { entries, ..Specialization::default() },
        );
        let after = execute(&shader.expect("translates"), &memory, 8, true);
        let out = read(&after, 0, 1);
        let packed = after.buffer(0, 2).expect("buffer");
        for i in 0..LANES {
            let (want, bytes) = expected(i, &items, &u, &specs);
            assert_eq!(out[i * 24..(i + 1) * 24], want, "case {case}, invocation {i}");
            assert_eq!(packed[i * 24..(i + 1) * 24], bytes, "case {case}, invocation {i}");
        }
    }
}

#[test]
fn switches_and_carries_of_every_width() {
    let edge = [0, 1, u32::MAX, 0x80, 0x7f, 0xff, 0xff80, 0x8000, 0xffff_8000, 0x1_0000, 0x7f00, 0x8000_0000];
    let x: Vec<u32> = (0..LANES as u32).map(|i| edge.get(i as usize).copied().unwrap_or(i << 28 | i)).collect();
    let memory = Memory { buffers: vec![((0, 0), bytes(&x)), ((0, 1), vec![0; LANES * 16])], ..Memory::default() };
    let out = read(&execute(&shader("switches.comp"), &memory, 8, true), 0, 1);
    for (i, &x) in x.iter().enumerate() {
        let r8 = match x as i8 {
            -1 => 10,
            i8::MIN | i8::MAX => 20,
            _ => 30,
        };
        let r16 = match x as i16 {
            -1 => 10,
            i16::MIN | 255 => 20,
            _ => 30,
        };
        let long = u64::from(x) << 32 | 1;
        let r64 = match x {
            0 => 10,
            0x7f => 20,
            u32::MAX => 40,
            _ => 30,
        };
        let carry = u64::from(long.checked_add(long).is_none());
        let borrow = u64::from((1 << 63 | 1) < long);
        let unsigned = (u128::from(long) * u128::from(long)) >> 64;
        let signed = (i128::from(long as i64) * i128::from(long as i64)) >> 64;
        let high = (carry + borrow).wrapping_add(unsigned as u64 ^ signed as u64);
        assert_eq!(out[i * 4..i * 4 + 4], [r8, r16, r64, hash(high)], "{x:#x}");
    }
}

#[test]
fn blocks_of_workgroup_memory_alias_and_atomics_of_64_bits() {
    let mut rng = Rng::new(9);
    let x: Vec<u32> = (0..LANES).map(|_| rng.next() as u32).collect();
    let (total, least) = (0xffff_ffff_0000_0000u64, -5i64);
    let long = [total.to_le_bytes().to_vec(), least.to_le_bytes().to_vec(), vec![0; 8 * LANES]].concat();
    let memory = Memory {
        buffers: vec![((0, 0), bytes(&x)), ((0, 1), vec![0; LANES * 24]), ((0, 2), long)],
        ..Memory::default()
    };
    let after = execute(&shader("blocks.comp"), &memory, 8, true);
    let out = read(&after, 0, 1);
    let mut shared = bytes(&x);
    let long = |b: &[u8], at: usize| u64::from_le_bytes(b[at..at + 8].try_into().expect("8 bytes"));
    let at = |b: &[u8], at: usize, n: usize| b[at..at + n].iter().rev().fold(0u32, |x, &b| x << 8 | u32::from(b));
    let mine: Vec<u64> = (0..LANES).map(|i| u64::from(x[i]) << 20 | i as u64).collect();
    let mut want = vec![[0u32; 6]; LANES];
    for (i, row) in want.iter_mut().enumerate() {
        row[0] = at(&shared, (i * 4 + 5) % 64, 1) | at(&shared, 0, 1) << 8 | at(&shared, 6 + i % 9 * 6 + 2, 2) << 16;
        row[1] = (long(&shared, (i & 7) * 8) >> 24) as u32;
        row[2] = at(&shared, i % 3 * 16 + (i & 1) * 4, 4);
    }
    shared.iter_mut().zip(&x).for_each(|(byte, x)| *byte = (x >> 8) as u8);
    let xor = mine.iter().fold(long(&shared, 8), |a, b| a ^ b);
    let most = mine.iter().fold(long(&shared, 16), |a, &b| a.max(b));
    for (i, row) in want.iter_mut().enumerate() {
        (row[3], row[4], row[5]) = (at(&shared, 4 * i, 4), hash(xor), hash(most));
        assert_eq!(out[i * 6..i * 6 + 6], *row, "invocation {i}");
    }
    let longs = after.buffer(0, 2).expect("buffer");
    let mut sum = total;
    for (i, &mine) in mine.iter().enumerate() {
        assert_eq!(long(longs, 16 + 8 * i), sum, "invocation {i}");
        sum = sum.wrapping_add(mine);
    }
    let smallest = mine.iter().fold(least, |a, &b| a.min((b as i64).wrapping_neg()));
    assert_eq!((long(longs, 0), long(longs, 8) as i64), (sum, smallest));
}

/// Checks that what a module declares has to be accepted, each capability and extension by itself.
#[test]
fn each_capability_is_accepted_by_itself() {
    let mut seen = Vec::new();
    for name in ["integers.comp", "switches.comp", "blocks.comp"] {
        let module = Module::parse(&words(name)).expect("parses");
        let try_with = |accept: &Accept| {
            translate(&module, stage(name), "main", &Specialization::default(), &layout(), accept).map(|_| ())
        };
        let all = Accept::all_implemented();
        assert_eq!(try_with(&all).err(), None, "{name}");
        let declared: Vec<u32> = words(name)[5..].windows(2).filter(|w| w[0] == 2 << 16 | 17).map(|w| w[1]).collect();
        for capability in declared {
            let without = all.capabilities.iter().copied().filter(|&c| c != capability).collect();
            let refused = try_with(&Accept { capabilities: without, ..all.clone() }).expect_err("refused");
            assert!(refused.to_string().contains("not accepted"), "{name}: {refused}");
            seen.push(capability);
        }
    }
    // Shader, Int64, Int64Atomics, Int16, Int8, 16- and 8-bit storage, workgroup memory.
    for capability in [1, 11, 12, 22, 39, 4433, 4434, 4435, 4448, 4449, 4450, 4428, 4429, 4430] {
        assert!(seen.contains(&capability), "capability {capability} is in no module");
    }
}
