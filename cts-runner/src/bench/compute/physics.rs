//! Simulations: n-body, Mandelbrot, FFT, particles in two layouts.

use super::{Kernel, SetupResult, Unit, job, spirv, storage, storage_of_floats};
use crate::bench::check::{Random, as_floats, close};
use crate::bench::figure::CheckError;
use crate::vk::{Gpu, Resource};
use std::f64::consts::PI;

const BODIES: usize = 2048;
/// Operations per pair, as conventionally counted for n-body simulations.
const PAIR: f64 = 20.0;

/// Makes an n-body simulation over all pairs.
pub fn nbody(gpu: &Gpu) -> SetupResult {
    let mut random = Random::new(15);
    let bodies: Vec<f32> = (0..BODIES)
        .flat_map(|_| {
            [random.float(-1.0, 1.0), random.float(-1.0, 1.0), random.float(-1.0, 1.0), random.float(0.1, 1.0) / 2048.0]
        })
        .collect();
    let (input, output) = (storage_of_floats(gpu, &bodies)?, storage(gpu, BODIES * 16)?);
    let resources = [input.handle, output.handle].map(Resource::Storage);
    let kernel = Kernel::new(gpu, &spirv!("compute/nbody.comp"), &resources, 1)?;
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[BODIES as u32], [BODIES as u32 / 256, 1, 1]);
    let flops = PAIR * (BODIES * BODIES) as f64;
    job(gpu, (flops, Unit::Flop), work, move |_| {
        let all = as_floats(&output.read());
        for body in (0..BODIES).step_by(101) {
            close(&all[body * 4..body * 4 + 3], &acceleration(&bodies, body), 2e-3)?;
        }
        Ok(())
    })
}

fn acceleration(bodies: &[f32], body: usize) -> [f32; 3] {
    let at = |i: usize, axis: usize| f64::from(bodies[i * 4 + axis]);
    let mut sum = [0.0f64; 3];
    for other in 0..BODIES {
        let d: [f64; 3] = std::array::from_fn(|axis| at(other, axis) - at(body, axis));
        let r2 = d.iter().map(|v| v * v).sum::<f64>() + 1e-3;
        let scale = at(other, 3) / (r2 * r2.sqrt());
        sum.iter_mut().zip(d).for_each(|(s, d)| *s += d * scale);
    }
    sum.map(|v| v as f32)
}

const WIDTH: usize = 1024;
const HEIGHT: usize = 512;

/// Makes a Mandelbrot set, as the number of iterations until escape.
pub fn mandelbrot(gpu: &Gpu) -> SetupResult {
    let output = storage(gpu, WIDTH * HEIGHT * 4)?;
    let kernel = Kernel::new(gpu, &spirv!("compute/mandelbrot.comp"), &[Resource::Storage(output.handle)], 2)?;
    let push = [WIDTH as u32, HEIGHT as u32];
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &push, [push[0] / 8, push[1] / 8, 1]);
    job(gpu, ((WIDTH * HEIGHT) as f64, Unit::Pixel), work, move |_| {
        // Rounding decides the count where the orbit is chaotic, so a few counts may differ.
        let counts = output.read();
        let far = (0..WIDTH * HEIGHT).step_by(3).filter(|&i| counts[i] != escape(i % WIDTH, i / WIDTH)).count();
        let share = far as f64 / (WIDTH * HEIGHT / 3) as f64;
        if share < 0.02 {
            Ok(())
        } else {
            Err(CheckError::Output(format!("{:.1}% of the counts differ", share * 100.0)))
        }
    })
}

fn escape(x: usize, y: usize) -> u32 {
    let (cx, cy) = (x as f32 / WIDTH as f32 * 3.0 - 2.25, y as f32 / HEIGHT as f32 * 2.0 - 1.0);
    let (mut zx, mut zy, mut i) = (0.0f32, 0.0f32, 0);
    while i < 256 && zx * zx + zy * zy <= 4.0 {
        (zx, zy) = (zx * zx - zy * zy + cx, 2.0 * zx * zy + cy);
        i += 1;
    }
    i
}

const POINTS: usize = 1024;
const TRANSFORMS: usize = 1024;

/// Makes many transforms of 1024 points.
pub fn fft(gpu: &Gpu) -> SetupResult {
    let x = Random::new(16).floats(POINTS * TRANSFORMS * 2, -1.0, 1.0);
    let turn = |i: usize| -2.0 * PI * i as f64 / POINTS as f64;
    let twiddles: Vec<f32> = (0..POINTS).flat_map(|i| [turn(i).cos() as f32, turn(i).sin() as f32]).collect();
    let (input, output) = (storage_of_floats(gpu, &x)?, storage(gpu, x.len() * 4)?);
    let resources = [input.handle, output.handle, storage_of_floats(gpu, &twiddles)?.handle].map(Resource::Storage);
    let kernel = Kernel::new(gpu, &spirv!("compute/fft.comp"), &resources, 0)?;
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[], [TRANSFORMS as u32, 1, 1]);
    let flops = 5.0 * POINTS as f64 * (POINTS as f64).log2() * TRANSFORMS as f64;
    job(gpu, (flops, Unit::Flop), work, move |_| {
        let all = as_floats(&output.read());
        for transform in (0..TRANSFORMS).step_by(89) {
            let range = transform * POINTS * 2..(transform + 1) * POINTS * 2;
            let (input, output) = (&x[range.clone()], &all[range]);
            for bin in (transform % 13..POINTS).step_by(73) {
                close(&output[bin * 2..bin * 2 + 2], &fourier(input, bin), 1e-3)?;
            }
        }
        Ok(())
    })
}

/// Returns one bin of the transform, computed by its definition.
fn fourier(x: &[f32], bin: usize) -> [f32; 2] {
    let mut sum = [0.0f64; 2];
    for (i, v) in x.chunks_exact(2).enumerate() {
        let angle = -2.0 * PI * ((i * bin) % POINTS) as f64 / POINTS as f64;
        let (re, im) = (f64::from(v[0]), f64::from(v[1]));
        sum[0] += re * angle.cos() - im * angle.sin();
        sum[1] += re * angle.sin() + im * angle.cos();
    }
    sum.map(|v| v as f32)
}

const PARTICLES: usize = 1 << 20;
const FIELDS: usize = 8;
const DT: f32 = 0.01;

/// Makes a particle step over an array of structures.
pub fn particles_aos(gpu: &Gpu) -> SetupResult {
    particles(gpu, &spirv!("compute/particles_aos.comp"), |particle, field| particle * FIELDS + field)
}

/// Makes a particle step over a structure of arrays.
pub fn particles_soa(gpu: &Gpu) -> SetupResult {
    particles(gpu, &spirv!("compute/particles_soa.comp"), |particle, field| field * PARTICLES + particle)
}

fn particles(gpu: &Gpu, code: &[u32], place: fn(usize, usize) -> usize) -> SetupResult {
    // The fields of a particle are position, mass, velocity and age.
    let before = Random::new(17).floats(PARTICLES * FIELDS, 0.0, 1.0);
    let (input, output) = (storage_of_floats(gpu, &before)?, storage(gpu, before.len() * 4)?);
    let kernel = Kernel::new(gpu, code, &[input.handle, output.handle].map(Resource::Storage), 2)?;
    let push = [DT.to_bits(), PARTICLES as u32];
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &push, [PARTICLES as u32 / 64, 1, 1]);
    let bytes = 2.0 * (PARTICLES * FIELDS * 4) as f64;
    job(gpu, (bytes, Unit::Byte), work, move |_| {
        let after = as_floats(&output.read());
        for particle in (0..PARTICLES).step_by(7) {
            let of = |values: &[f32]| std::array::from_fn(|field| values[place(particle, field)]);
            close(&of(&after), &moved(of(&before)), 1e-5)?;
        }
        Ok(())
    })
}

fn moved(mut p: [f32; FIELDS]) -> [f32; FIELDS] {
    for axis in 0..3 {
        p[4 + axis] += -p[axis] * p[3] * DT;
        p[axis] += p[4 + axis] * DT;
    }
    p[7] += DT;
    if p[7] > 1.0 {
        p[7] = 0.0;
    }
    p
}
