//! Softmax and layer norm over the rows of a matrix.

use super::{Kernel, SetupResult, Unit, job, spirv, storage, storage_of_floats};
use crate::bench::check::{Random, as_floats, close};
use crate::vk::{Buffer, Gpu, Resource};

const ROWS: usize = 512;
const COLUMNS: usize = 4096;
/// Step between the rows that the check compares.
const STRIDE: usize = 37;

/// Function that computes a row on the CPU. The `scale` that `rows` gets with it brings the values
/// to about 1, because the tolerance of `close` is relative from there.
type Reference = Box<dyn Fn(&[f32]) -> Vec<f32>>;

fn rows(gpu: &Gpu, code: &[u32], more: Option<Buffer>, scale: f32, reference: Reference) -> SetupResult {
    let x = Random::new(8).floats(ROWS * COLUMNS, -4.0, 4.0);
    let y = storage(gpu, ROWS * COLUMNS * 4)?;
    let mut buffers = vec![storage_of_floats(gpu, &x)?, y];
    buffers.extend(more);
    let resources: Vec<_> = buffers.iter().map(|b| Resource::Storage(b.handle)).collect();
    let kernel = Kernel::new(gpu, code, &resources, 1)?;
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[COLUMNS as u32], [ROWS as u32, 1, 1]);
    job(gpu, (8.0 * (ROWS * COLUMNS) as f64, Unit::Byte), work, move |_| {
        let all = as_floats(&y.read());
        for row in (0..ROWS).step_by(STRIDE) {
            let range = row * COLUMNS..(row + 1) * COLUMNS;
            let scaled = |values: &[f32]| values.iter().map(|v| v * scale).collect::<Vec<_>>();
            close(&scaled(&all[range.clone()]), &scaled(&reference(&x[range])), 1e-3)?;
        }
        Ok(())
    })
}

/// Makes a softmax.
pub fn softmax(gpu: &Gpu) -> SetupResult {
    let reference = |row: &[f32]| {
        let most = row.iter().copied().fold(f32::MIN, f32::max);
        let powers: Vec<f64> = row.iter().map(|v| f64::from(v - most).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.iter().map(|p| (p / sum) as f32).collect()
    };
    rows(gpu, &spirv!("compute/softmax.comp"), None, COLUMNS as f32, Box::new(reference))
}

/// Makes a layer norm with gain and bias.
pub fn layer_norm(gpu: &Gpu) -> SetupResult {
    let gain_bias = Random::new(9).floats(COLUMNS * 2, -2.0, 2.0);
    let buffer = storage_of_floats(gpu, &gain_bias)?;
    let reference = move |row: &[f32]| {
        let n = row.len() as f64;
        let mean = row.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
        let variance = row.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
        let scale = 1.0 / (variance + 1e-5).sqrt();
        let one = |(v, gb): (&f32, &[f32])| ((f64::from(*v) - mean) * scale) as f32 * gb[0] + gb[1];
        row.iter().zip(gain_bias.chunks_exact(2)).map(one).collect()
    };
    rows(gpu, &spirv!("compute/layer_norm.comp"), Some(buffer), 1.0, Box::new(reference))
}
