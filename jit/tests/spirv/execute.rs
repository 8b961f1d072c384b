//! Tests of translated shaders on the interpreter against the same computations in Rust.

use crate::spirv_common::*;
use base::random::XorshiftStar as Rng;
use jit::error::ErrorKind;
use jit::spirv::Specialization;
use jit_test_support::interp::Memory;

fn early(mut x: u32) -> u32 {
    if x > 40 {
        return x * 3;
    }
    for i in 0..10 {
        if i == x {
            return i + 100;
        }
        if i > 7 {
            break;
        }
        if i & 1 == 0 {
            continue;
        }
        x += 2;
    }
    x
}

fn switch(x: u32) -> u32 {
    let mut r = 1u32;
    let c = x % 9;
    if c == 0 {
        return 10;
    }
    if c == 6 {
        return 77;
    }
    if c == 5 {
        return r + 1;
    }
    if c == 1 {
        r += 20;
    }
    if matches!(c, 1 | 2) {
        r += 30;
    }
    if matches!(c, 1 | 2 | 7) {
        return if x > 30 { r } else { r + 5 };
    }
    if c == 3 {
        for i in 0..4 {
            if i == x % 4 {
                break;
            }
            r += i * 7;
        }
    }
    (r ^ 0x55) + 1
}

fn nested(x: u32) -> u32 {
    let mut s = 0u32;
    for i in 0..x % 7 {
        let mut j = 0u32;
        loop {
            if j > i {
                break;
            }
            s += i * j + 1;
            if s > 50 {
                s -= 17;
                j += 1;
                continue;
            }
            j += 1 + (s & 1);
        }
        loop {
            s ^= j;
            j = j.wrapping_sub(1);
            if !(j > 2 && j < 100) {
                break;
            }
        }
        if i == 4 {
            break;
        }
    }
    s
}

fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn fib(n: u32) -> u32 {
    (0..n).fold((0u32, 1u32), |(a, b), _| (b, a + b)).0
}

fn logic(x: u32) -> u32 {
    let mut c = x;
    let mut side = || {
        c += 1;
        c & 1 == 1
    };
    let r = (x > 3 && side()) || (x < 60 && side());
    c * 2 + u32::from(r)
}

#[test]
fn control_flow() {
    let a: Vec<u32> = (0..64).map(|i| if i < 48 { i } else { i * 37 % 101 }).collect();
    let memory = Memory { buffers: vec![((0, 0), bytes(&a)), ((0, 1), vec![0; 64 * 32])], ..Memory::default() };
    let out = read(&execute(&shader("control.comp"), &memory, 8, true), 0, 1);
    for (i, &x) in a.iter().enumerate() {
        let mut want = [early(x), switch(x), nested(x), gcd(x, i as u32 + 1), fib(x % 20), logic(x), 0, 0];
        if x != 13 {
            want[6] = if x > 5 { if x > 9 { 1 } else { 2 } } else { 3 };
            want[7] = 99;
        }
        assert_eq!(out[i * 8..i * 8 + 8], want, "input {x}");
    }
}

#[test]
fn layouts() {
    // Every float of a buffer is a number that identifies its offset.
    let numbered = |from: f32, n: usize| (0..n).map(|i| from + i as f32).collect::<Vec<_>>();
    // std140: f[4] at 0 (stride 16), cm at 64, rm (row major: 2 rows of 3) at 112, s at 144 of
    // stride 112: p, w, m at 16 (columns of 16), k at 48 (stride 16).
    let mut u = numbered(1000.0, 92);
    for s in 0..2 {
        for i in 0..3 {
            u[36 + s * 24 + 12 + i * 4] = f32::from_bits((10 * s + i) as u32 + 3);
        }
    }
    // std430: m at 0, S of stride 64 at 64 (p, w, m at 16, k at 48), tail at 256 of stride 8.
    let mut b = numbered(2000.0, 64 + 2 * 7);
    for s in 0..3 {
        for i in 0..3 {
            b[16 + s * 16 + 12 + i] = f32::from_bits((100 * s + i) as u32);
        }
    }
    let push: Vec<u32> = [3, 0, 0, 0].into_iter().chain([7.5f32, 8.5, 9.5, 10.5].map(f32::to_bits)).collect();
    let memory = Memory {
        buffers: vec![((0, 0), float_bytes(&b)), ((0, 1), vec![0; 4 * 64]), ((1, 0), float_bytes(&u))],
        push: bytes(&push),
        ..Memory::default()
    };
    let after = execute(&shader("layout.comp"), &memory, 4, true);
    let out: Vec<f32> = read(&after, 0, 1).into_iter().map(f32::from_bits).collect();
    let stored: Vec<f32> = read(&after, 0, 0).into_iter().map(f32::from_bits).collect();
    let cm = |c: usize, r: usize| u[16 + c * 4 + r];
    for i in 0..4 {
        let o = &out[i * 16..];
        assert_eq!(o[0], u[i * 4]);
        assert_eq!(o[1], cm(i % 3, (i + 1) % 3));
        assert_eq!(o[2], u[28 + (i % 2) * 4 + i % 3], "row-major element");
        let k = 10.0 + (i % 3) as f32 + 3.0;
        assert_eq!(o[3], u[36 + (i % 2) * 24 + 4 + 4 + 1] + k);
        assert_eq!((o[4], o[5]), (b[i], b[12 + i]));
        let s = 16 + (i % 3) * 16;
        assert_eq!(o[6], b[s + 2] + b[s + 3]);
        assert_eq!(o[7], b[s + 4 + (i % 2) * 4 + 2]);
        assert_eq!(o[8], 7.0);
        assert_eq!(o[9], b[64 + i * 2 + 1]);
        assert_eq!(o[10], 7.5 + i as f32 + 3.0);
        assert_eq!(stored[2 * 4 + i], i as f32 + 0.5, "store to a row-major column");
        let sq = |i: usize| (i * i) as f32;
        assert_eq!(o[11], sq(i) + 0.25 + sq((i + 1) % 5));
        let mut q = [0, 1, 2].map(|r| cm(r, 0) + cm(r, 1) * 2.0 + cm(r, 2) * 3.0);
        q[i % 3] = 7.0;
        assert_eq!(o[12], q[0] + q[1] * 10.0 + q[2] * 100.0);
        let k = if i % 3 == 2 { 5.0 } else { (100 * (i % 3) + i % 3) as f32 };
        let px = if i % 3 == 0 { -1.0 } else { b[s] };
        assert_eq!(o[13], k + px);
        assert_eq!(o[14], [[2.0, 4.0], [6.0, 8.0]][i & 1][i >> 1]);
    }
    // Two lanes write the same S; its last column holds (lane, 2, 3) of one of them.
    assert!(stored[16 + 8] == 0.0 || stored[16 + 8] == 3.0);
    assert_eq!(stored[16 + 9..16 + 11], [2.0, 3.0]);
}

/// Constant folding relies on the limit, so that a larger workgroup is refused.
#[test]
fn a_workgroup_has_at_most_the_reported_number_of_invocations() {
    let error = |x: u32| {
        let spec = Specialization { entries: vec![(0, x.to_le_bytes().to_vec())], ..Specialization::default() };
        compile(&words("shared.comp"), stage("shared.comp"), &spec).err().map(|e| e.kind)
    };
    let half = base::limits::MAX_WORKGROUP_INVOCATIONS / 2;
    assert_eq!((error(half), error(half + 1)), (None, Some(ErrorKind::Limit)));
}

#[test]
fn shared_memory_and_specialisation() {
    for (n, add, scale, x) in [(4u32, true, 1.5f32, 8u32), (7, false, 3.25, 4)] {
        let spec = Specialization {
            entries: vec![
                (0, x.to_le_bytes().to_vec()),
                (3, n.to_le_bytes().to_vec()),
                (4, u32::from(add).to_le_bytes().to_vec()),
                (5, scale.to_le_bytes().to_vec()),
            ],
            ..Specialization::default()
        };
        let s = compile(&words("shared.comp"), stage("shared.comp"), &spec).expect("translate");
        let info = s.workgroup().expect("workgroups");
        assert_eq!(info.local_size, [x, 2, 1]);
        assert!(info.shared_bytes >= 64 * 4 + 2 * 16 + 4 && s.side_effects);
        let count = x * 2;
        let a: Vec<u32> = (0..count).map(|i| i * i + 1).collect();
        let counters = [0u32, 0, 0, 0, 0, 0, 5];
        let memory = Memory {
            buffers: vec![((0, 0), bytes(&a)), ((0, 1), vec![0; count as usize * 4]), ((0, 2), bytes(&counters))],
            ..Memory::default()
        };
        let after = execute(&s, &memory, 8, true);
        let base = a.iter().sum::<u32>()
            + if add { count * (count - 1) / 2 } else { 0 }
            + n * 2
            + 1
            + (n as f32 * scale) as u32;
        let want: Vec<u32> = (0..count).map(|i| base + if i & 1 == 0 { 1002 } else { 4 }).collect();
        assert_eq!(read(&after, 0, 1), want);
        let q = count / 4;
        assert_eq!(read(&after, 0, 2), [q, q, q, q, (1 - count as i32) as u32, count - 1, 6]);
    }
}

#[test]
fn subgroups() {
    let a: Vec<u32> = (0..16).map(|i| (i * 7 + 3) % 16).collect();
    let memory = Memory { buffers: vec![((0, 0), bytes(&a)), ((0, 1), vec![0; 16 * 64])], ..Memory::default() };
    let s = shader("subgroup.comp");
    assert!(s.uses_subgroup);
    let out = read(&execute(&s, &memory, 8, true), 0, 1);
    for i in 0..16usize {
        let (lane, first) = (i % 8, i / 8 * 8);
        let x = &a[first..first + 8];
        let b = (0..8).fold(0u32, |b, l| b | (x[l] & 1) << l);
        let below = (1u32 << lane) - 1;
        let o = &out[i * 16..];
        assert_eq!(o[0], b);
        assert_eq!(o[1], b.count_ones());
        assert_eq!(o[2], (b & below).count_ones());
        assert_eq!(o[3], (b & (below << 1 | 1)).count_ones());
        assert_eq!(o[4], b.trailing_zeros() + 100 * (31 - b.leading_zeros()));
        assert_eq!(o[5], (b >> lane & 1) + 2 * (b >> 3 & 1));
        assert_eq!((o[6], o[7], o[8]), (x[0], x[2], x[lane ^ 1]));
        assert_eq!(o[9], u32::from(lane == 0) + 2 + 4 * u32::from(x.contains(&3)));
        assert_eq!(o[10], x[lane ^ 1] + 256 * x[lane ^ 2]);
        assert_eq!(o[11], x[lane ^ 3] + 256 * x[lane | 3]);
        assert_eq!(o[12], below + 65536 * (0xff & !below));
        assert_eq!(o[13], 8 + 100 * lane as u32);
        assert_eq!(o[14], (1 << lane) + 65536 * 0xff);
    }
}

#[test]
fn subgroup_arithmetic() {
    let a: Vec<u32> = (0..16).map(|i| (i * 7 + 3) % 16).collect();
    let memory = Memory { buffers: vec![((0, 0), bytes(&a)), ((0, 1), vec![0; 16 * 128])], ..Memory::default() };
    let out = read(&execute(&shader("subgroup_arithmetic.comp"), &memory, 8, true), 0, 1);
    for i in 0..16usize {
        let (lane, first) = (i % 8, i / 8 * 8);
        let x = &a[first..first + 8];
        let s: Vec<i32> = x.iter().map(|&x| x as i32 - 8).collect();
        let (own, below) = (x[lane], &x[..lane]);
        let quad = &x[lane & !3..][..4];
        let float = |v: i32| (v as f32).to_bits();
        let o = &out[i * 32..][..32];
        assert_eq!(o[0], x.iter().sum::<u32>());
        assert_eq!(o[1] as i32, *s.iter().min().unwrap());
        assert_eq!(o[2], *x.iter().max().unwrap());
        assert_eq!(o[3], x.iter().fold(0, |a, b| a ^ b));
        assert_eq!((o[4], o[5]), (float(s.iter().sum()), 256f32.to_bits()));
        assert_eq!((o[6], o[7]), (below.iter().sum::<u32>() + own, below.iter().sum()));
        assert_eq!(o[8] as i32, *s[..=lane].iter().max().unwrap());
        assert_eq!(o[9] as i32, *s[..lane].iter().max().unwrap_or(&i32::MIN));
        assert_eq!(o[10], float(s[..lane].iter().sum()), "the first lane has 0.0, not -0.0");
        assert_eq!(o[11], s[..lane].iter().fold(f32::INFINITY, |a, &b| a.min(b as f32)).to_bits());
        assert_eq!((o[12], o[13]), (quad.iter().sum(), own | x[lane ^ 1]));
        let (all, any) = (x.iter().all(|&x| x > 2), x.iter().any(|&x| x > 14));
        let parity = x.iter().filter(|&&x| x > 7).count() as u32 % 2;
        assert_eq!(o[14], u32::from(all) + 2 * u32::from(any) + 4 * parity);
        assert_eq!(o[15], u32::from(below.iter().all(|&x| x > 2)));
        let odd = |list: &[u32]| list.iter().copied().filter(|x| x & 1 == 1).collect::<Vec<u32>>();
        let expected = [
            odd(x).iter().sum(),
            odd(below).iter().product(),
            *odd(x).iter().min().unwrap(),
            odd(&x[..=lane]).iter().fold(!0, |a, b| a & b),
            odd(x).len() as u32,
            odd(quad).len() as u32,
        ];
        assert_eq!(o[16..22], if own & 1 == 1 { expected } else { [0; 6] });
        assert_eq!(o[22], quad[2]);
    }
}

#[test]
fn integer_dot_products() {
    let mut rng = Rng::new(77);
    let extremes = [0x8080_8080, 0x7f7f_7f7f, 0xffff_ffff, 0, i32::MAX as u32, i32::MIN as u32, 1, u32::MAX - 1];
    for _ in 0..50 {
        let pick = |rng: &mut Rng| if rng.below(2) == 0 { extremes[rng.below(8)] } else { rng.next() as u32 };
        let input: Vec<u32> = (0..48).map(|_| pick(&mut rng)).collect();
        let memory = Memory { buffers: vec![((0, 0), bytes(&input)), ((0, 1), vec![0; 16 * 28])], ..Memory::default() };
        let out = read(&execute(&shader("dot.comp"), &memory, 8, true), 0, 1);
        for (row, o) in input.chunks(3).zip(out.chunks(7)) {
            let (a, b, c) = (row[0], row[1], row[2]);
            let u = |x: u32| x.to_le_bytes().map(i64::from);
            let s = |x: u32| x.to_le_bytes().map(|b| i64::from(b as i8));
            let dot = |a: [i64; 4], b: [i64; 4]| (0..4).map(|i| a[i] * b[i]).sum::<i64>();
            let signed = |x: i64| x.clamp(i32::MIN.into(), i32::MAX.into()) as u32;
            let ci = i64::from(c as i32);
            assert_eq!(o[0], dot(s(a), s(b)) as u32);
            assert_eq!(o[1], dot(u(a), u(b)) as u32);
            assert_eq!(o[2], dot(s(a), u(b)) as u32);
            assert_eq!(o[3], signed(dot(s(a), s(b)) + ci), "{a:x} {b:x} {c:x}");
            assert_eq!(o[4], (dot(u(a), u(b)) + i64::from(c)).min(u32::MAX.into()) as u32);
            assert_eq!(o[5], signed(dot(s(a), u(b)) + ci));
            assert_eq!(o[6], a.wrapping_mul(b).wrapping_add(c.wrapping_mul(a)));
        }
    }
}

fn half(x: f32) -> u32 {
    // The definition: the nearest of all halves, the even one for ties.
    let value = |h: u32| match h >> 10 {
        0 => f64::from(h) * 2f64.powi(-24),
        e => (1.0 + f64::from(h & 0x3ff) / 1024.0) * 2f64.powi(e as i32 - 15),
    };
    let a = f64::from(x.abs());
    let best = (0..0x7c01u32).min_by(|&p, &q| {
        let (dp, dq) = ((value(p) - a).abs(), (value(q) - a).abs());
        dp.total_cmp(&dq).then((p & 1).cmp(&(q & 1)))
    });
    best.unwrap_or(0) | (x.to_bits() >> 16 & 0x8000)
}

#[test]
fn glsl_std_450() {
    let mut rng = Rng::new(42);
    let special = [0.0f32, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 65504.0, 1e-7, 3e-5, -6.2e-5];
    let a: Vec<f32> =
        (0..64).map(|i| if i % 6 == 5 { special[i / 6] } else { (rng.below(8001) as f32 - 4000.0) / 1000.0 }).collect();
    let memory = Memory {
        buffers: vec![((0, 0), float_bytes(&a)), ((0, 1), vec![0; 16 * 256]), ((0, 2), vec![0; 16 * 256])],
        ..Memory::default()
    };
    let after = execute(&shader("glsl.comp"), &memory, 8, false);
    let o: Vec<f32> = read(&after, 0, 1).into_iter().map(f32::from_bits).collect();
    let ou = read(&after, 0, 2);
    let near = |a: f32, b: f32, what: &str| assert!((a - b).abs() <= 2e-5 * b.abs().max(1.0), "{what}: {a} {b}");
    for i in 0..16 {
        let x: [f32; 4] = a[i * 4..i * 4 + 4].try_into().expect("four");
        let j = (i + 1) % 16;
        let y: [f32; 4] = a[j * 4..j * 4 + 4].try_into().expect("four");
        let row = |n: usize| &o[(i * 16 + n) * 4..(i * 16 + n) * 4 + 4];
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        for c in 0..4 {
            assert_eq!(row(0)[c], if x[c] == 0.0 { 0.0 } else { x[c].signum() });
            near(row(1)[c], (x[c] - x[c].floor()).min(0.999_999_94), "fract");
            assert_eq!(row(2)[c], x[c].clamp(-1.0, 1.0));
            near(row(3)[c], x[c] * 0.75 + y[c] * 0.25, "mix");
            assert_eq!(row(4)[c], if y[c] < x[c] { 0.0 } else { 1.0 });
            let t = ((x[c] + 2.0) / 4.0).clamp(0.0, 1.0);
            near(row(5)[c], t * t * (3.0 - 2.0 * t), "smoothstep");
            near(row(11)[c], (x[c] * 0.25 * 127.0).clamp(-127.0, 127.0).round_ties_even() / 127.0, "snorm");
        }
        near(row(6)[0], x[1] * y[2] - x[2] * y[1], "cross");
        near(row(6)[1], x[2] * y[0] - x[0] * y[2], "cross");
        near(row(6)[3], dot(&x, &y), "dot");
        near(row(7)[1], x[1] - 2.0 * dot(&y[..3], &x[..3]) * y[1], "reflect");
        near(row(7)[3], dot(&x, &x).sqrt(), "length");
        let front = dot(&x[2..], &y[..2]) < 0.0;
        assert_eq!(row(8)[0], if front { x[0] } else { -x[0] });
        near(row(8)[3], x[0].to_degrees(), "degrees");
        assert_eq!(row(9)[2], x[0], "ldexp(frexp)");
        assert!(x[0] == 0.0 || (0.5..1.0).contains(&row(9)[0].abs()));
        assert_eq!(row(9)[3], x[1].round_ties_even());
        assert_eq!((row(10)[0] + row(10)[1], row(10)[1]), (x[2], x[2].trunc()));
        for (n, want) in [1.0, 0.0, 0.0, 1.0].into_iter().enumerate() {
            // The matrix may be badly conditioned, but only moderately.
            let det = (x[0] + 8.0) * (y[1] + 8.0) - x[1] * y[0];
            assert!(det.abs() < 1.0 || (row(12)[n] - want).abs() < 1e-3, "inverse of 2×2: {:?}", row(12));
        }
        if x.iter().chain(&y).all(|v| v.abs() < 10.0) {
            assert!((row(14)[0] - 1.0).abs() < 1e-3 && row(14)[1].abs() < 1e-3 && (row(14)[2] - 1.0).abs() < 1e-3);
        }
        assert_eq!(row(15)[..2], [0.0, 0.0]);
        assert_eq!(row(15)[2], f32::from(x.iter().zip(&y).any(|(a, b)| a < b)));
        assert_eq!(row(15)[3], f32::from(x.iter().zip(&y).all(|(a, b)| a >= b)));

        let b = x.map(f32::to_bits);
        let u = |n: usize| &ou[(i * 16 + n) * 4..(i * 16 + n) * 4 + 4];
        let product = u64::from(b[0]) * u64::from(b[1]);
        let (sum, carry) = b[0].overflowing_add(b[1]);
        assert_eq!(u(0), [product as u32, (product >> 32) as u32, sum, carry.into()]);
        let lsb = if b[1] == 0 { u32::MAX } else { b[1].trailing_zeros() };
        assert_eq!(u(1), [b[0].count_ones(), lsb, 31u32.wrapping_sub(b[2].leading_zeros()), b[3].reverse_bits()]);
        let sbits = ((b[1] << 18) as i32 >> 23) as u32;
        let insert = b[2] & !0xff0 | (b[3] & 0xff) << 4;
        assert_eq!(u(2), [b[0] >> 3 & 0x7f, sbits, insert, half(x[0]) | half(x[1]) << 16]);
        let unorm = (0..4).fold(0, |w, c| w | ((x[c].clamp(0.0, 1.0) * 255.0).round_ties_even() as u32) << (8 * c));
        let snorm = |v: f32| (v.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i32 as u32 & 0xffff;
        let abs = (b[0] as i32).unsigned_abs();
        assert_eq!(u(3), [unorm, snorm(x[0]) | snorm(x[1]) << 16, abs, (b[1] as i32).signum() as u32]);
    }
}

#[test]
fn unpacked_halves_are_exact() {
    let words = (0..65536u32).map(|h| h | (h ^ 0x5555) << 16);
    let input: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let memory = Memory { buffers: vec![((0, 0), input), ((0, 1), vec![0; 8 << 16])], ..Memory::default() };
    let out = read(&execute(&shader("halves.comp"), &memory, 8, true), 0, 1);
    let value = |h: u32| match (h >> 10 & 31, h & 0x3ff) {
        // The payload of a NaN keeps its position.
        (31, payload) => 0x7f80_0000 | payload << 13,
        (0, m) => (m as f32 * 2f32.powi(-24)).to_bits(),
        (e, m) => ((1.0 + m as f32 / 1024.0) * 2f32.powi(e as i32 - 15)).to_bits(),
    };
    for h in 0..65536u32 {
        let want = [h, h ^ 0x5555].map(|h| value(h) | (h & 0x8000) << 16);
        assert_eq!(out[2 * h as usize..][..2], want, "{h:04x}");
    }
}
