//! Buffer copies, fills and updates.

use super::super::check::equal;
use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult};
use super::super::workload::{Family, Spec};
use super::{noise, staging};
use crate::vk::{Gpu, Recorder};
use ash::vk;

const FAMILY: Family = Family::Transfer;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[
    Spec::quick("transfer/copy-buffer", FAMILY, copy),
    Spec::full("transfer/copy-buffer-regions", FAMILY, copy_regions),
    Spec::quick("transfer/fill-buffer", FAMILY, fill),
    Spec::quick("transfer/update-buffer", FAMILY, update),
];

/// Number of words of a buffer, which has 32 MiB.
const WORDS: u32 = 8 << 20;

fn copy(gpu: &Gpu) -> SetupResult {
    let words = noise(WORDS);
    let (from, to) = (staging(gpu, &words)?, staging(gpu, &vec![0; words.len()])?);
    let record = |r: Recorder<'_>| {
        r.copy_buffer(&from, &to, &[vk::BufferCopy::default().size(u64::from(WORDS) * 4)]);
        r.barrier();
    };
    Recording::make(gpu, Amount::new(2 * WORDS * 4, Unit::Byte), record, move |_| equal(&to.read(), &words))
}

/// Number of words of a region. `REGIONS` is the number of regions.
const REGION: u32 = 256;
const REGIONS: u32 = WORDS / 4 / REGION;

/// Returns the destination of a region. An odd factor permutes the numbers below a power of two.
fn place(region: u32) -> u32 {
    region * 1031 % REGIONS
}

fn copy_regions(gpu: &Gpu) -> SetupResult {
    let words = noise(REGION * REGIONS);
    let (from, to) = (staging(gpu, &words)?, staging(gpu, &vec![0; words.len()])?);
    let bytes = u64::from(REGION) * 4;
    let region = |i: u32| {
        let (from, to) = (u64::from(i) * bytes, u64::from(place(i)) * bytes);
        vk::BufferCopy::default().src_offset(from).dst_offset(to).size(bytes)
    };
    let regions: Vec<_> = (0..REGIONS).map(region).collect();
    let record = |r: Recorder<'_>| {
        r.copy_buffer(&from, &to, &regions);
        r.barrier();
    };
    Recording::make(gpu, Amount::new(2 * REGION * REGIONS * 4, Unit::Byte), record, move |_| {
        let mut expected = vec![0; words.len()];
        for (i, region) in (0..).zip(words.chunks(REGION as usize)) {
            expected[(place(i) * REGION) as usize..][..REGION as usize].copy_from_slice(region);
        }
        equal(&to.read(), &expected)
    })
}

fn fill(gpu: &Gpu) -> SetupResult {
    const WORD: u32 = 0x1234_5678;
    let to = staging(gpu, &vec![0; WORDS as usize])?;
    let record = |r: Recorder<'_>| {
        r.fill_buffer(&to, WORD);
        r.barrier();
    };
    Recording::make(gpu, Amount::new(WORDS * 4, Unit::Filled), record, move |_| {
        equal(&to.read(), &vec![WORD; WORDS as usize])
    })
}

/// Maximum number of words for `vkCmdUpdateBuffer`. `UPDATES` is the number of updates, of 8 MiB in
/// total.
const UPDATE: u32 = 65_536 / 4;
const UPDATES: u32 = 128;

fn update(gpu: &Gpu) -> SetupResult {
    let words = noise(UPDATE * UPDATES);
    let to = staging(gpu, &vec![0; words.len()])?;
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
    let record = |r: Recorder<'_>| {
        for (i, bytes) in (0u64..).zip(bytes.chunks(UPDATE as usize * 4)) {
            r.update_buffer(&to, i * u64::from(UPDATE) * 4, bytes);
        }
        r.barrier();
    };
    let amount = Amount::new(2 * UPDATE * UPDATES * 4, Unit::Byte);
    Recording::make(gpu, amount, record, move |_| equal(&to.read(), &words))
}
