//! Matrix–vector products as language models use them: f32, f16, and 8- and 4-bit weights in blocks
//! of 32 with a scale.
//!
//! The packed variants need no feature beyond Vulkan 1.0. The variants in 16- and 8-bit storage
//! report a missing feature if a device does not support it.

use super::{Kernel, SetupResult, Unit, job, spirv, storage, storage_of, storage_of_floats};
use crate::bench::check::{Random, as_floats, close};
use crate::bench::figure::SetupError;
use crate::vk::{Error, Gpu, Resource};

/// Number of rows and of columns.
const N: usize = 2048;
/// Number of weights in a block.
const BLOCK: usize = 32;
/// Distance between rows that are checked.
const CHECKED: usize = 31;

/// Weights as the device stores them, and their values.
struct Weights {
    words: Vec<u32>,
    scales: Option<Vec<u32>>,
    value: Box<dyn Fn(usize) -> f32>,
}

/// Converts a float that is exact as a half: sign, power of two from 2⁻¹⁴ on, ten bits.
pub(super) fn half(value: f32) -> u32 {
    let bits = value.to_bits();
    if value == 0.0 {
        return bits >> 16;
    }
    (bits >> 16 & 0x8000) | (((bits >> 23 & 0xff) + 15 - 127) << 10) | (bits >> 13 & 0x3ff)
}

/// Returns random multiples of 2⁻¹⁰ in ±1, which are exact as halves.
pub(super) fn exact_halves(count: usize) -> Vec<f32> {
    let mut random = Random::new(3);
    (0..count).map(|_| ((random.word() >> 21) as f32 - 1024.0) / 1024.0).collect()
}

/// Packs two halves in a word.
pub(super) fn pack_halves(values: &[f32]) -> Vec<u32> {
    values.chunks_exact(2).map(|p| half(p[0]) | half(p[1]) << 16).collect()
}

fn scales(count: usize) -> Vec<f32> {
    let mut random = Random::new(4);
    (0..count).map(|_| (random.word() % 15 + 1) as f32 / 256.0).collect()
}

fn f32_of() -> Weights {
    let values = exact_halves(N * N);
    let words = values.iter().map(|v| v.to_bits()).collect();
    Weights { words, scales: None, value: Box::new(move |i| values[i]) }
}

fn f16_of() -> Weights {
    let values = exact_halves(N * N);
    Weights { words: pack_halves(&values), scales: None, value: Box::new(move |i| values[i]) }
}

fn q8_of() -> Weights {
    let words = Random::new(5).words(N * N / 4);
    let scales = scales(N * N / BLOCK);
    let (packed, quants) = (pack_halves(&scales), words.clone());
    let value = move |i: usize| f32::from((quants[i / 4] >> (8 * (i % 4))) as u8 as i8) * scales[i / BLOCK];
    Weights { words, scales: Some(packed), value: Box::new(value) }
}

fn q4_of() -> Weights {
    let words = Random::new(6).words(N * N / 8);
    let scales = scales(N * N / BLOCK);
    let (packed, quants) = (pack_halves(&scales), words.clone());
    let value = move |i: usize| {
        let (block, within) = (i / BLOCK, i % BLOCK);
        let (byte, shift) = (within % 16, within / 16 * 4);
        let nibble = quants[block * 4 + byte / 4] >> (8 * (byte % 4) + shift) & 15;
        (nibble as f32 - 8.0) * scales[block]
    };
    Weights { words, scales: Some(packed), value: Box::new(value) }
}

/// Returns blocks as they lie in files: a half, then 32 bytes.
fn q8_blocks_of() -> Weights {
    let mut weights = q8_of();
    let scales = weights.scales.take().unwrap_or_default();
    let scale = |block: usize| (scales[block / 2] >> (16 * (block % 2))) as u16;
    let quants = weights.words.chunks_exact(BLOCK / 4);
    let bytes: Vec<u8> = quants
        .enumerate()
        .flat_map(|(i, block)| scale(i).to_le_bytes().into_iter().chain(block.iter().flat_map(|w| w.to_le_bytes())))
        .collect();
    weights.words = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    weights
}

fn product(gpu: &Gpu, code: &[u32], weights: Weights) -> SetupResult {
    let x = Random::new(7).floats(N, -1.0, 1.0);
    let y = storage(gpu, N * 4)?;
    let mut buffers = vec![storage_of(gpu, &weights.words)?, storage_of_floats(gpu, &x)?, y];
    if let Some(scales) = &weights.scales {
        buffers.push(storage_of(gpu, scales)?);
    }
    let resources: Vec<_> = buffers.iter().map(|b| Resource::Storage(b.handle)).collect();
    let kernel = Kernel::new(gpu, code, &resources, 1)?;
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[N as u32], [N as u32, 1, 1]);
    job(gpu, (2.0 * (N * N) as f64, Unit::Flop), work, move |_| {
        let all = as_floats(&y.read());
        let picks = (0..N).step_by(CHECKED);
        let actual: Vec<f32> = picks.clone().map(|row| all[row]).collect();
        let exact =
            |row: usize| (0..N).map(|k| f64::from((weights.value)(row * N + k)) * f64::from(x[k])).sum::<f64>() as f32;
        close(&actual, &picks.map(exact).collect::<Vec<_>>(), 1e-3)
    })
}

fn need(has: bool, what: &str) -> Result<(), SetupError> {
    if has { Ok(()) } else { Err(Error::Missing(what.into()).into()) }
}

/// Multiplies by f32 weights.
pub fn f32_weights(gpu: &Gpu) -> SetupResult {
    product(gpu, &spirv!("compute/matvec_f32.comp"), f32_of())
}

/// Multiplies by f16 weights, two in a word.
pub fn f16_weights(gpu: &Gpu) -> SetupResult {
    product(gpu, &spirv!("compute/matvec_f16.comp"), f16_of())
}

/// Multiplies by f16 weights in 16-bit storage.
pub fn f16_storage(gpu: &Gpu) -> SetupResult {
    need(gpu.optional.storage16, "storageBuffer16BitAccess")?;
    product(gpu, &spirv!("compute/matvec_f16_storage.comp"), f16_of())
}

/// Multiplies by 8-bit weights, four in a word.
pub fn q8_weights(gpu: &Gpu) -> SetupResult {
    product(gpu, &spirv!("compute/matvec_q8.comp"), q8_of())
}

/// Multiplies by 8-bit weights in 8-bit storage.
pub fn q8_storage(gpu: &Gpu) -> SetupResult {
    need(gpu.optional.storage16, "storageBuffer16BitAccess")?;
    need(gpu.optional.storage8, "storageBuffer8BitAccess")?;
    product(gpu, &spirv!("compute/matvec_q8_storage.comp"), q8_blocks_of())
}

/// Multiplies by 4-bit weights, eight in a word.
pub fn q4_weights(gpu: &Gpu) -> SetupResult {
    product(gpu, &spirv!("compute/matvec_q4.comp"), q4_of())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        for (value, bits) in
            [(0.0, 0), (1.0, 0x3c00), (-1.0, 0xbc00), (0.5, 0x3800), (1.0 / 1024.0, 0x1400), (1.5, 0x3e00)]
        {
            assert_eq!(half(value), bits, "{value}");
        }
    }
}
