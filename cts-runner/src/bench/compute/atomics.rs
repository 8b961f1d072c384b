//! Atomics and descriptors that differ between lanes: one word for all invocations, a list to which
//! all append, a table of many words, and buffers that differ between invocations.

use super::{Kernel, SetupResult, Unit, between, job, spirv, storage, storage_of, zero};
use crate::bench::check::{Random, equal};
use crate::bench::figure::CheckError;
use crate::bench::recording::need_limit;
use crate::vk::{Buffer, Error, Gpu, Resource};

const WORDS: usize = 1 << 19;
/// Number of words in each half of the table.
const TABLE: usize = 1 << 16;
const PARTS: usize = 16;
/// Number of words in a buffer of the array.
const PART: usize = 1024;

/// Makes a workload in which each invocation reads a word of `x`, after the output was set to 0.
fn atomics(
    gpu: &Gpu,
    code: &[u32],
    x: &[u32],
    output: Buffer,
    check: impl Fn(&[u32]) -> Result<(), CheckError> + 'static,
) -> SetupResult {
    let input = storage_of(gpu, x)?;
    let kernel = Kernel::new(gpu, code, &[input.handle, output.handle].map(Resource::Storage), 0)?;
    let work = |d: &ash::Device, cmd| {
        zero(d, cmd, &output);
        between(d, cmd);
        kernel.dispatch(d, cmd, &[], [WORDS as u32 / 64, 1, 1]);
    };
    job(gpu, (WORDS as f64, Unit::Element), work, move |_| check(&output.read()))
}

/// Makes a workload in which all invocations change the same two words.
pub fn contended(gpu: &Gpu) -> SetupResult {
    let x = Random::new(31).words(WORDS);
    let sum = x.iter().fold(0u32, |sum, v| sum.wrapping_add(v & 255));
    let most = x.iter().copied().max().unwrap_or(0);
    let check = move |words: &[u32]| equal(words, &[sum, most]);
    atomics(gpu, &spirv!("compute/atomics_contended.comp"), &x, storage(gpu, 8)?, check)
}

/// Makes a workload that appends to a list whose length is an atomic.
pub fn append(gpu: &Gpu) -> SetupResult {
    let x = Random::new(32).words(WORDS);
    let mut expected: Vec<u32> = x.iter().copied().filter(|v| v & 3 == 0).collect();
    expected.sort_unstable();
    let check = move |words: &[u32]| {
        equal(&words[..1], &[expected.len() as u32])?;
        let mut list = words[1..=expected.len()].to_vec();
        list.sort_unstable();
        equal(&list, &expected)
    };
    atomics(gpu, &spirv!("compute/atomics_append.comp"), &x, storage(gpu, (WORDS + 1) * 4)?, check)
}

/// Makes a workload in which each lane changes its own word, in two branches.
pub fn divergent(gpu: &Gpu) -> SetupResult {
    let x = Random::new(33).words(WORDS);
    let mut expected = vec![0u32; 2 * TABLE];
    for &value in &x {
        let slot = (value >> 16) as usize;
        match value & 1 {
            0 => expected[slot] = expected[slot].wrapping_add(value & 0xffff),
            _ => expected[TABLE + slot] ^= value,
        }
    }
    let check = move |words: &[u32]| equal(words, &expected);
    atomics(gpu, &spirv!("compute/atomics_divergent.comp"), &x, storage(gpu, 2 * TABLE * 4)?, check)
}

/// Makes a workload that loads from an array of buffers, with a different buffer for each lane.
pub fn buffers(gpu: &Gpu) -> SetupResult {
    if !gpu.optional.divergent_buffers {
        return Err(Error::Missing("shaderStorageBufferArrayNonUniformIndexing".into()).into());
    }
    let most = gpu.properties.limits.max_per_stage_descriptor_storage_buffers as usize;
    need_limit(most >= PARTS + 2, "maxPerStageDescriptorStorageBuffers")?;
    let mut random = Random::new(34);
    let x = random.words(WORDS);
    let parts: Vec<Vec<u32>> = (0..PARTS).map(|_| random.words(PART)).collect();
    let array = parts
        .iter()
        .map(|part| Ok(Resource::Storage(storage_of(gpu, part)?.handle)))
        .collect::<Result<Vec<_>, Error>>()?;
    let y = storage(gpu, WORDS * 4)?;
    let resources = [storage_of(gpu, &x)?, y].map(|b| Resource::Storage(b.handle));
    let kernel = Kernel::with_array(gpu, &spirv!("compute/divergent_buffers.comp"), &resources, &array, 0)?;
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[], [WORDS as u32 / 64, 1, 1]);
    job(gpu, (4.0 * WORDS as f64, Unit::Element), work, move |_| {
        let sum = |&value: &u32| {
            let (part, at) = (&parts[value as usize % PARTS], value as usize >> 22);
            (0..4).fold(0u32, |sum, k| sum.wrapping_mul(3).wrapping_add(part[(at + k * 67) % PART]))
        };
        equal(&y.read(), &x.iter().map(sum).collect::<Vec<_>>())
    })
}
