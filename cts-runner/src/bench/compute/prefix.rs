//! Reduction and scan, through shared memory and by subgroup operations.

use super::{Kernel, SetupResult, Unit, between, job, spirv, storage, storage_of, storage_of_floats};
use crate::bench::check::{Random, as_floats, close, equal};
use crate::bench::figure::SetupError;
use crate::vk::{Error, Gpu, Resource};
use ash::vk;

const REDUCED: usize = 4 << 20;
const PER_GROUP: usize = 2048;
const SCANNED: usize = 1 << 20;
const BLOCK: usize = 1024;

/// Makes a reduction by a tree in shared memory.
pub fn reduce_shared(gpu: &Gpu) -> SetupResult {
    reduce(gpu, &spirv!("compute/reduce_shared.comp"))
}

/// Makes a reduction by subgroup operations.
pub fn reduce_subgroup(gpu: &Gpu) -> SetupResult {
    need_arithmetic(gpu)?;
    reduce(gpu, &spirv!("compute/reduce_subgroup.comp"))
}

fn need_arithmetic(gpu: &Gpu) -> Result<(), SetupError> {
    let has = gpu.optional.subgroup_operations.contains(vk::SubgroupFeatureFlags::ARITHMETIC);
    if has { Ok(()) } else { Err(Error::Missing("subgroup arithmetic in compute shaders".into()).into()) }
}

fn reduce(gpu: &Gpu, code: &[u32]) -> SetupResult {
    // The values are small multiples of 1/8, so every order of summation is exact.
    let mut random = Random::new(10);
    let x: Vec<f32> = (0..REDUCED).map(|_| (random.word() >> 29) as f32 / 8.0).collect();
    let (groups, second) = (REDUCED / PER_GROUP, REDUCED / PER_GROUP / PER_GROUP);
    let (partial, total) = (storage(gpu, groups * 4)?, storage(gpu, second * 4)?);
    let input = storage_of_floats(gpu, &x)?;
    let make =
        |from: vk::Buffer, to: vk::Buffer| Kernel::new(gpu, code, &[Resource::Storage(from), Resource::Storage(to)], 0);
    let (first, last) = (make(input.handle, partial.handle)?, make(partial.handle, total.handle)?);
    let work = |d: &ash::Device, cmd| {
        first.dispatch(d, cmd, &[], [groups as u32, 1, 1]);
        between(d, cmd);
        last.dispatch(d, cmd, &[], [second as u32, 1, 1]);
    };
    job(gpu, (4.0 * REDUCED as f64, Unit::Byte), work, move |_| {
        let expected: Vec<f32> =
            x.chunks(REDUCED / second).map(|c| c.iter().map(|&v| f64::from(v)).sum::<f64>() as f32).collect();
        close(&as_floats(&total.read()), &expected, 0.0)
    })
}

/// Makes a scan of blocks by the method of Hillis and Steele in shared memory.
pub fn scan_shared(gpu: &Gpu) -> SetupResult {
    scan(gpu, &spirv!("compute/scan_shared.comp"))
}

/// Makes a scan of blocks by subgroup operations.
pub fn scan_subgroup(gpu: &Gpu) -> SetupResult {
    need_arithmetic(gpu)?;
    scan(gpu, &spirv!("compute/scan_subgroup.comp"))
}

fn scan(gpu: &Gpu, code: &[u32]) -> SetupResult {
    let x = Random::new(11).words(SCANNED);
    let blocks = SCANNED / BLOCK;
    let input = storage_of(gpu, &x)?;
    let [output, totals, sums] = [storage(gpu, SCANNED * 4)?, storage(gpu, blocks * 4)?, storage(gpu, blocks * 4)?];
    let unused = storage(gpu, 4)?;
    let of = |buffers: [vk::Buffer; 3]| Kernel::new(gpu, code, &buffers.map(Resource::Storage), 0);
    let in_blocks = of([input.handle, output.handle, totals.handle])?;
    let of_totals = of([totals.handle, sums.handle, unused.handle])?;
    let resources = [sums.handle, output.handle].map(Resource::Storage);
    let add = Kernel::new(gpu, &spirv!("compute/scan_add.comp"), &resources, 0)?;
    let work = |d: &ash::Device, cmd| {
        in_blocks.dispatch(d, cmd, &[], [blocks as u32, 1, 1]);
        between(d, cmd);
        of_totals.dispatch(d, cmd, &[], [1, 1, 1]);
        between(d, cmd);
        add.dispatch(d, cmd, &[], [blocks as u32, 1, 1]);
    };
    job(gpu, (SCANNED as f64, Unit::Element), work, move |_| {
        let mut sum = 0u32;
        let expected: Vec<u32> = x
            .iter()
            .map(|v| {
                sum = sum.wrapping_add(*v);
                sum
            })
            .collect();
        equal(&output.read(), &expected)
    })
}
