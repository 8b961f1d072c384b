//! Tests of floats of 16 and 64 bits: a translated shader in the interpreter, compared with the
//! same computations in Rust.

use crate::spirv_common::*;
use base::random::XorshiftStar as Rng;
use jit::ir::{Convert, Op, Ty, eval};
use jit::spirv::{Accept, Module, Specialization, translate};
use jit_test_support::interp::Memory;

const LANES: usize = 16;

fn half(x: f64) -> u16 {
    eval::eval(&Op::Convert(Convert::FToF), Ty::F64, Ty::F16, &[x.to_bits()]).expect("a conversion")[0] as u16
}

fn value(bits: u16) -> f64 {
    eval::to_f64(Ty::F16, bits.into())
}

fn memory(halves: &[u16], doubles: &[f64]) -> Memory {
    let halves = halves.iter().flat_map(|h| h.to_le_bytes()).collect();
    let doubles = doubles.iter().flat_map(|d| d.to_le_bytes()).collect();
    let (r, s) = (vec![0; LANES * 8 * 2], vec![0; LANES * 8 * 8]);
    let buffers = [halves, doubles, r, s].into_iter().enumerate();
    Memory { buffers: buffers.map(|(i, b)| ((0, i as u32), b)).collect(), ..Memory::default() }
}

#[test]
fn halves_and_doubles() {
    let mut random = Rng::new(7);
    for _ in 0..50 {
        // The halves are from denormals to 16, with either sign.
        let halves: Vec<u16> =
            (0..3 * LANES).map(|_| random.below(0x4c00) as u16 | (random.below(2) as u16) << 15).collect();
        let doubles: Vec<f64> = (0..2 * LANES).map(|_| (random.below(1 << 20) as f64 / 1024.0 - 500.0) / 3.0).collect();
        let after = execute(&shader("floats.comp"), &memory(&halves, &doubles), 8, true);
        let out: Vec<u16> =
            after.buffer(0, 2).expect("r").chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
        let wide = after.buffer(0, 3).expect("s").chunks(8);
        let wide: Vec<f64> = wide.map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes"))).collect();
        for i in 0..LANES {
            let [a, b, c] = [0, 1, 2].map(|n| value(halves[3 * i + n]));
            let (x, y) = (doubles[2 * i], doubles[2 * i + 1]);
            let total = (0..i).fold(a, |sum, n| value(half(sum + value(halves[n]))));
            let product = value(half(a * b));
            let fract = half(a - a.floor()).min(0x3bff);
            let radians = half(a * value(half(std::f64::consts::PI / 180.0)));
            let limit = half((-2.5f64).max(a).min(b));
            let want = [
                half(product + c),
                half(a.mul_add(b, c)),
                fract,
                half(x),
                half(total),
                limit,
                half(i as f64 * 5000.0),
                radians,
            ];
            // The minimum or maximum of zeros with different signs may be either of them.
            let got = &out[8 * i..8 * i + 8];
            for n in 0..8 {
                assert!(
                    got[n] == want[n] || value(got[n]) == value(want[n]) && n == 5,
                    "{n} of {a} {b} {c}: {:x} not {:x}",
                    got[n],
                    want[n]
                );
            }
            let e = if x == 0.0 { 0 } else { x.abs().log2().floor() as i32 + 1 };
            let power = i as i32 * 137 - 1100;
            let want = [
                x / 2f64.powi(e),
                f64::from(e),
                // The first product is exact.
                y * 2f64.powi(power / 2) * 2f64.powi(power - power / 2),
                x.mul_add(y, x),
                x - x.floor(),
                1.0 / y.abs().sqrt(),
                f64::from_bits(x.to_bits().rotate_left(32)),
                a * y.round_ties_even(),
            ];
            for n in 0..8 {
                let got = wide[8 * i + n];
                assert!(got.to_bits() == want[n].to_bits(), "{n} of {x} {y}: {got:e} not {:e}", want[n]);
            }
        }
    }
}

/// A type is refused if its capability is not accepted.
#[test]
fn missing_capabilities_are_refused() {
    const CAPABILITIES: [(u32, &str); 3] = [(9, "Float16"), (10, "Float64"), (4433, "StorageBuffer16BitAccess")];
    let module = Module::parse(&words("floats.comp")).expect("a module");
    for (number, name) in CAPABILITIES {
        let mut accept = Accept::all_implemented();
        accept.capabilities.retain(|&c| c != number);
        let refused = translate(&module, stage("floats.comp"), "main", &Specialization::default(), &layout(), &accept);
        let message = refused.expect_err(name).to_string();
        assert!(message.contains(name), "{message}");
    }
}

/// Returns the nearest number with `fraction` bits of fraction, ties to even. Denormals have the
/// exponent `least`.
fn nearest(x: f64, fraction: i32, least: i32) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let exponent = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
    let unit = 2f64.powi(exponent - fraction);
    (x / unit).round_ties_even() * unit
}

/// Conversions to bfloat16, E4M3 and E5M2 give the nearest number. Beyond the greatest number they
/// give infinities or NaN, or the greatest number. Signs of zeros are kept.
#[test]
fn small_floats_are_rounded_once() {
    let mut random = Rng::new(11);
    let shader = shader("small_floats.comp");
    for round in 0..400 {
        let number = |random: &mut Rng| match random.below(6) {
            // The input is a number of E4M3 or E5M2, or lies between two of them.
            0 => f32::from_bits(((random.below(0x300) as u32) << 19) + 0x3a00_0000 + random.below(3) as u32 - 1),
            1 => random.pick(&[
                0.0,
                448.0,
                464.0,
                465.0,
                480.0,
                57344.0,
                61440.0,
                61439.0,
                f32::INFINITY,
                f32::NAN,
                1e-40,
            ]),
            2 => f32::from_bits((random.next() as u32 & 0x7fff_0000) | 0x8000),
            _ => f32::from_bits(random.next() as u32 & 0x7fff_ffff),
        };
        let numbers: Vec<f32> =
            (0..8).map(|_| if random.chance(50) { number(&mut random) } else { -number(&mut random) }).collect();
        let input = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let memory = Memory { buffers: vec![((0, 0), input), ((0, 1), vec![0; 8 * 32])], ..Memory::default() };
        let after = execute(&shader, &memory, 8, round % 2 == 0);
        let out: Vec<f32> = (after.buffer(0, 1).expect("results").chunks(4))
            .map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes")))
            .collect();
        for (i, &x) in numbers.iter().enumerate() {
            let beyond = |x: f64, greatest: f64, other: f64| if x.abs() > greatest { other.copysign(x) } else { x };
            let wide = f64::from(x);
            let brain = |x: f64| beyond(nearest(x, 7, -126), f64::from(f32::from_bits(0x7f7f_0000)), f64::INFINITY);
            let (three, two) = (nearest(wide, 3, -6), nearest(wide, 2, -14));
            let (a, b) = (brain(wide), brain(wide * (1.0 / 3.0)));
            let want = [
                a,
                beyond(three, 448.0, f64::NAN),
                beyond(two, 57344.0, f64::INFINITY),
                beyond(three, 448.0, 448.0),
                beyond(two, 57344.0, 57344.0),
                b,
                brain(f64::from((a as f32) * (a as f32) + (b as f32) * (b as f32))),
            ];
            for (n, want) in want.into_iter().enumerate() {
                let got = out[8 * i + n];
                let same = got.to_bits() == (want as f32).to_bits() || got.is_nan() && want.is_nan();
                assert!(same, "{n} of {x:e} ({:x}): {got:e} not {want:e}", x.to_bits());
            }
        }
    }
}

/// Returns the value of a small float with these numbers of bits. With `infinity`, the greatest
/// exponent stands for infinities and NaN, else only its last number is NaN.
fn small(bits: u32, exponent_bits: u32, fraction_bits: u32, infinity: bool) -> f32 {
    let sign = if bits >> (exponent_bits + fraction_bits) & 1 != 0 { -1.0 } else { 1.0 };
    let (fraction, all) = (bits & ((1 << fraction_bits) - 1), (1 << exponent_bits) - 1);
    let exponent = (bits >> fraction_bits & all) as i32;
    let magnitude = bits & ((1 << (exponent_bits + fraction_bits)) - 1);
    let nan = if infinity {
        exponent == all as i32 && fraction != 0
    } else {
        magnitude == all << fraction_bits | fraction && fraction == 7 && exponent == all as i32
    };
    if nan {
        return f32::NAN;
    }
    if infinity && exponent == all as i32 {
        return sign * f32::INFINITY;
    }
    let hidden = if exponent == 0 { 0 } else { 1 << fraction_bits };
    let scale = exponent.max(1) - ((all as i32 >> 1) + fraction_bits as i32);
    sign * (f64::from(hidden + fraction) * 2f64.powi(scale)) as f32
}

/// Products are added to the accumulator in binary32, in order, each with one rounding. A result of
/// 16 bits is rounded once more.
#[test]
fn mixed_dot_products() {
    let mut random = Rng::new(23);
    let shader = shader("mixed_dot.comp");
    for _ in 0..200 {
        let words: Vec<u32> = (0..8)
            .flat_map(|_| {
                let any = random.next() as u32;
                // Most operands have similar magnitudes, so that no product dominates the sum.
                let near = |x: u64| (x as u32 & 0x83ff_83ff) | 0x3c00_3c00;
                let [a, b] = [(); 2].map(|()| if any & 7 != 0 { near(random.next()) } else { random.next() as u32 });
                [a, b, (random.below(2000) as f32 / 7.0 - 100.0).to_bits(), random.next() as u32 & 0xbfff]
            })
            .collect();
        let memory = Memory { buffers: vec![((0, 0), bytes(&words)), ((0, 1), vec![0; 8 * 24])], ..Memory::default() };
        let out = read(&execute(&shader, &memory, 8, true), 0, 1);
        for (input, out) in words.chunks_exact(4).zip(out.chunks_exact(6)) {
            let parts = |word: u32, n: u32| (0..n).map(move |i| word >> (32 / n * i) & (u32::MAX >> (32 - 32 / n)));
            let dot = |n: u32, decode: &dyn Fn(u32) -> f32, sum: f32| {
                parts(input[0], n).zip(parts(input[1], n)).fold(sum, |sum, (x, y)| decode(x).mul_add(decode(y), sum))
            };
            let sum = f32::from_bits(input[2]);
            let of_half = |bits: u32| value(bits as u16) as f32;
            let of_brain = |bits: u32| f32::from_bits(bits << 16);
            let low = input[3] & 0xffff;
            let narrow = |x: f32| {
                let bits = x.to_bits();
                f32::from_bits(bits.wrapping_add(0x7fff + (bits >> 16 & 1)) & 0xffff_0000)
            };
            let want = [
                dot(2, &of_half, sum),
                of_half(half(dot(2, &of_half, of_half(low)).into()).into()),
                dot(2, &of_brain, sum),
                narrow(dot(2, &of_brain, of_brain(low))),
                dot(4, &|bits| small(bits, 4, 3, false), sum),
                dot(4, &|bits| small(bits, 5, 2, true), sum),
            ];
            for (n, (want, got)) in want.into_iter().zip(out).enumerate() {
                let got = f32::from_bits(*got);
                let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(same, "{n} of {input:x?}: {got:e} not {want:e}");
            }
        }
    }
}
