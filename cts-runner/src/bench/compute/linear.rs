//! Dense linear algebra in f32: saxpy and four kinds of matrix multiplication.

use super::{Kernel, SetupResult, Unit, job, spirv, storage, storage_of_floats};
use crate::bench::check::{Random, as_floats, close};
use crate::vk::{Error, Gpu, Resource};

const SAXPY: usize = 4 << 20;
/// Number of rows of the square matrices.
const N: usize = 256;

/// Makes a saxpy with one element per invocation.
pub fn saxpy(gpu: &Gpu) -> SetupResult {
    saxpy_with(gpu, &spirv!("compute/saxpy.comp"), SAXPY as u32 / 256)
}

/// Makes a saxpy with four elements per invocation.
pub fn saxpy_vec4(gpu: &Gpu) -> SetupResult {
    saxpy_with(gpu, &spirv!("compute/saxpy_vec4.comp"), SAXPY as u32 / 256)
}

fn saxpy_with(gpu: &Gpu, code: &[u32], groups: u32) -> SetupResult {
    const A: f32 = 1.5;
    let mut random = Random::new(1);
    // The values are multiples of 2⁻¹² below 8, so products and sums are exact with or without
    // fused multiply-adds.
    let mut grid = || (0..SAXPY).map(|_| (random.word() >> 17) as f32 / 4096.0).collect::<Vec<f32>>();
    let (x, y) = (grid(), grid());
    let [x_buffer, y_buffer] = [storage_of_floats(gpu, &x)?, storage_of_floats(gpu, &y)?];
    let z = storage(gpu, SAXPY * 4)?;
    let resources = [x_buffer, y_buffer, z].map(|b| Resource::Storage(b.handle));
    let kernel = Kernel::new(gpu, code, &resources, 2)?;
    let push = [A.to_bits(), SAXPY as u32];
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &push, [groups, 1, 1]);
    job(gpu, (12.0 * SAXPY as f64, Unit::Byte), work, move |_| {
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| A * x + y).collect();
        close(&as_floats(&z.read()), &expected, 0.0)
    })
}

/// Makes a multiplication with one element per invocation and no reuse.
pub fn matmul_naive(gpu: &Gpu) -> SetupResult {
    matmul(gpu, &spirv!("compute/matmul_naive.comp"), [16, 16])
}

/// Makes a multiplication with tiles in shared memory.
pub fn matmul_tiled(gpu: &Gpu) -> SetupResult {
    matmul(gpu, &spirv!("compute/matmul_tiled.comp"), [16, 16])
}

/// Makes a multiplication with tiles in shared memory and 4×4 elements in registers.
pub fn matmul_blocked(gpu: &Gpu) -> SetupResult {
    matmul(gpu, &spirv!("compute/matmul_blocked.comp"), [64, 64])
}

/// Makes a multiplication with cooperative matrices, eight for each subgroup.
pub fn matmul_cooperative(gpu: &Gpu) -> SetupResult {
    if !gpu.optional.cooperative {
        return Err(Error::Missing("cooperativeMatrix".into()).into());
    }
    matmul(gpu, &spirv!("compute/matmul_cooperative.comp"), [16, 32])
}

/// Makes a matrix multiplication. `tile` is the number of columns and rows of the result that a
/// workgroup computes.
fn matmul(gpu: &Gpu, code: &[u32], tile: [u32; 2]) -> SetupResult {
    let mut random = Random::new(2);
    let (a, b) = (random.floats(N * N, -1.0, 1.0), random.floats(N * N, -1.0, 1.0));
    let c = storage(gpu, N * N * 4)?;
    let buffers = [storage_of_floats(gpu, &a)?, storage_of_floats(gpu, &b)?, c];
    let kernel = Kernel::new(gpu, code, &buffers.map(|b| Resource::Storage(b.handle)), 1)?;
    let [x, y] = tile.map(|tile| N as u32 / tile);
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[N as u32], [x, y, 1]);
    let flops = 2.0 * (N * N * N) as f64;
    job(gpu, (flops, Unit::Flop), work, move |_| {
        // The check compares every 61st element, because this stride meets all rows and columns of
        // a tile.
        let all = as_floats(&c.read());
        let picks = (0..N * N).step_by(61);
        let actual: Vec<f32> = picks.clone().map(|i| all[i]).collect();
        let exact = |i: usize| -> f64 {
            let (row, column) = (i / N, i % N);
            (0..N).map(|k| f64::from(a[row * N + k]) * f64::from(b[k * N + column])).sum()
        };
        close(&actual, &picks.map(|i| exact(i) as f32).collect::<Vec<_>>(), 1e-4)
    })
}
