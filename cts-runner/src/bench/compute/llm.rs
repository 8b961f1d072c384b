//! Kernels of language models in the shapes that inference programs use: quantized and f16 matrices
//! times a vector (one token) and times a matrix (a prompt), rotary positions, attention. All
//! kernels read words and need no feature.

use super::matvec::{exact_halves, half, pack_halves};
use super::{Kernel, SetupResult, Unit, job, spirv, storage, storage_of, storage_of_floats};
use crate::bench::check::{Random, as_floats, close};
use crate::vk::{Buffer, Gpu, Resource};

/// Number of rows of a matrix that is multiplied by a vector; the number of columns follows.
const ROWS: usize = 1024;
const COLUMNS: usize = 4096;
/// Distance between results that are checked.
const CHECKED: usize = 31;

/// Weights as they lie in files, and their values.
struct Weights {
    words: Vec<u32>,
    value: Box<dyn Fn(usize) -> f32>,
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Returns a scale that is exact as a half.
fn scale(random: &mut Random) -> f32 {
    (random.word() % 15 + 1) as f32 / 256.0
}

fn half_bytes(value: f32) -> [u8; 2] {
    (half(value) as u16).to_le_bytes()
}

/// Makes Q8_0 blocks: a half and 32 bytes each.
fn q8_0() -> Weights {
    let mut random = Random::new(61);
    let (mut bytes, mut values) = (Vec::new(), Vec::new());
    for _ in 0..ROWS * COLUMNS / 32 {
        let scale = scale(&mut random);
        bytes.extend(half_bytes(scale));
        for quant in random.words(8).into_iter().flat_map(u32::to_le_bytes) {
            bytes.push(quant);
            values.push(f32::from(quant as i8) * scale);
        }
    }
    Weights { words: words_of(&bytes), value: Box::new(move |i| values[i]) }
}

/// Returns the scale and the least value of a part, of six bits each, from a block's 12 bytes.
fn part_of(packed: &[u8], part: usize) -> [u8; 2] {
    match part {
        0..4 => [packed[part] & 63, packed[part + 4] & 63],
        _ => {
            let low = packed[part + 4];
            [low & 15 | packed[part - 4] >> 6 << 4, low >> 4 | packed[part] >> 6 << 4]
        }
    }
}

/// Makes Q4_K blocks: two halves, 12 bytes of scales and least values, and 128 bytes of nibbles
/// each. Any bits are a valid block.
fn q4_k() -> Weights {
    let mut random = Random::new(62);
    let (mut bytes, mut values) = (Vec::new(), Vec::with_capacity(ROWS * COLUMNS));
    for _ in 0..ROWS * COLUMNS / 256 {
        let (scale, least) = (scale(&mut random) / 16.0, scale(&mut random) / 4.0);
        let block: Vec<u8> = random.words(35).into_iter().flat_map(u32::to_le_bytes).collect();
        let (packed, nibbles) = block.split_at(12);
        for i in 0..256 {
            let (part, within) = (i / 32, i % 32);
            let quant = nibbles[part / 2 * 32 + within] >> (4 * (part % 2)) & 15;
            let [s, m] = part_of(packed, part);
            values.push(scale * f32::from(s) * f32::from(quant) - least * f32::from(m));
        }
        bytes.extend([half_bytes(scale), half_bytes(least)].concat());
        bytes.extend(block);
    }
    Weights { words: words_of(&bytes), value: Box::new(move |i| values[i]) }
}

fn f16() -> Weights {
    let values = exact_halves(ROWS * COLUMNS);
    Weights { words: pack_halves(&values), value: Box::new(move |i| values[i]) }
}

/// Checks that the words of a buffer of floats at every [`CHECKED`]th place are near their expected
/// values.
fn spot_check(
    actual: Buffer,
    tolerance: f32,
    expected: impl Fn(usize) -> f64,
) -> Result<(), super::super::figure::CheckError> {
    let all = as_floats(&actual.read());
    let picks = (0..all.len()).step_by(CHECKED);
    let found: Vec<f32> = picks.clone().map(|i| all[i]).collect();
    close(&found, &picks.map(|i| expected(i) as f32).collect::<Vec<_>>(), tolerance)
}

/// Multiplies a matrix by a vector.
fn product(gpu: &Gpu, code: &[u32], weights: Weights) -> SetupResult {
    let x = Random::new(63).floats(COLUMNS, -1.0, 1.0);
    let y = storage(gpu, ROWS * 4)?;
    let buffers = [storage_of(gpu, &weights.words)?, storage_of_floats(gpu, &x)?, y];
    let kernel = Kernel::new(gpu, code, &buffers.map(|b| Resource::Storage(b.handle)), 1)?;
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[COLUMNS as u32], [ROWS as u32, 1, 1]);
    job(gpu, (2.0 * (ROWS * COLUMNS) as f64, Unit::Flop), work, move |_| {
        let term = |row: usize, k: usize| f64::from((weights.value)(row * COLUMNS + k)) * f64::from(x[k]);
        spot_check(y, 1e-3, |row| (0..COLUMNS).map(|k| term(row, k)).sum())
    })
}

/// Multiplies a Q8_0 matrix by the vector of a token.
pub fn q8_0_vector(gpu: &Gpu) -> SetupResult {
    product(gpu, &spirv!("compute/llm_q8_0.comp"), q8_0())
}

/// Multiplies a Q4_K matrix by the vector of a token.
pub fn q4_k_vector(gpu: &Gpu) -> SetupResult {
    product(gpu, &spirv!("compute/llm_q4_k.comp"), q4_k())
}

/// Multiplies an f16 matrix by the vector of a token.
pub fn f16_vector(gpu: &Gpu) -> SetupResult {
    product(gpu, &spirv!("compute/llm_f16.comp"), f16())
}

/// Multiplies an f16 matrix by the matrix of a prompt.
pub fn f16_matrix(gpu: &Gpu) -> SetupResult {
    const M: usize = 256;
    const K: usize = 512;
    const TOKENS: usize = 128;
    let (a, b) = (exact_halves(M * K), Random::new(64).floats(TOKENS * K, -1.0, 1.0));
    let c = storage(gpu, M * TOKENS * 4)?;
    let buffers = [storage_of(gpu, &pack_halves(&a))?, storage_of_floats(gpu, &b)?, c];
    let resources = buffers.map(|b| Resource::Storage(b.handle));
    let kernel = Kernel::new(gpu, &spirv!("compute/llm_f16_matmul.comp"), &resources, 2)?;
    let groups = [M as u32 / 64, TOKENS as u32 / 32, 1];
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[M as u32, K as u32], groups);
    job(gpu, (2.0 * (M * K * TOKENS) as f64, Unit::Flop), work, move |_| {
        spot_check(c, 1e-3, |i| {
            let (token, row) = (i / M, i % M);
            (0..K).map(|k| f64::from(a[row * K + k]) * f64::from(b[token * K + k])).sum()
        })
    })
}

/// Applies rotary positions.
pub fn rope(gpu: &Gpu) -> SetupResult {
    const HEAD: usize = 128;
    const HEADS: usize = 32;
    const TOKENS: usize = 128;
    let x = Random::new(65).floats(TOKENS * HEADS * HEAD, -1.0, 1.0);
    let y = storage(gpu, x.len() * 4)?;
    let resources = [storage_of_floats(gpu, &x)?, y].map(|b| Resource::Storage(b.handle));
    let kernel = Kernel::new(gpu, &spirv!("compute/llm_rope.comp"), &resources, 0)?;
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[], [(TOKENS * HEADS) as u32, 1, 1]);
    job(gpu, (8.0 * x.len() as f64, Unit::Byte), work, move |_| {
        // Vulkan's sine and cosine have an accuracy of 2⁻¹¹.
        spot_check(y, 2e-3, |i| {
            let (token, within) = (i / (HEAD * HEADS), i % HEAD);
            let (pair, first) = (within % (HEAD / 2), i - within);
            let angle = token as f64 * 10000f64.powf(-2.0 * pair as f64 / HEAD as f64);
            let [a, b] = [pair, pair + HEAD / 2].map(|k| f64::from(x[first + k]));
            if within < HEAD / 2 { a * angle.cos() - b * angle.sin() } else { a * angle.sin() + b * angle.cos() }
        })
    })
}

const HEADS: usize = 8;
const QUERIES: usize = 64;
const KEYS: usize = 256;
/// Number of components of a query, a key and a value.
const DIM: usize = 64;

/// Computes attention.
pub fn flash_attention(gpu: &Gpu) -> SetupResult {
    let q = Random::new(66).floats(HEADS * QUERIES * DIM, -2.0, 2.0);
    // The values use other multiples of 2⁻¹⁰ than the keys.
    let k = exact_halves(HEADS * KEYS * DIM);
    let v: Vec<f32> = k.iter().rev().copied().collect();
    let o = storage(gpu, q.len() * 4)?;
    let halves = |values: &[f32]| storage_of(gpu, &pack_halves(values));
    let buffers = [storage_of_floats(gpu, &q)?, halves(&k)?, halves(&v)?, o];
    let resources = buffers.map(|b| Resource::Storage(b.handle));
    let kernel = Kernel::new(gpu, &spirv!("compute/llm_flash.comp"), &resources, 2)?;
    let groups = [QUERIES as u32 / 16, HEADS as u32, 1];
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[QUERIES as u32, KEYS as u32], groups);
    let flops = 4.0 * (HEADS * QUERIES * KEYS * DIM) as f64;
    job(gpu, (flops, Unit::Flop), work, move |_| {
        spot_check(o, 1e-3, |i| {
            let (row, d) = (i / DIM, i % DIM);
            let first = row / QUERIES * KEYS;
            let score = |key: usize| -> f64 {
                let term = |n: usize| f64::from(q[row * DIM + n]) * f64::from(k[(first + key) * DIM + n]);
                (0..DIM).map(term).sum::<f64>() * 0.125
            };
            let scores: Vec<f64> = (0..KEYS).map(score).collect();
            let most = scores.iter().copied().fold(f64::MIN, f64::max);
            let (mut sum, mut total) = (0.0, 0.0);
            for (key, score) in scores.into_iter().enumerate() {
                let weight = (score - most).exp();
                total += weight;
                sum += weight * f64::from(v[(first + key) * DIM + d]);
            }
            sum / total
        })
    })
}
