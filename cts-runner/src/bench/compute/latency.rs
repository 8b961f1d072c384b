//! Cost of dispatches that do nothing: one per submission, and a thousand with barriers between
//! them.

use super::{Kernel, SetupResult, Unit, between, job, spirv, storage};
use crate::bench::check::equal;
use crate::bench::figure::{Amount, CheckError};
use crate::bench::workload::Workload;
use crate::vk::{Buffer, Error, Gpu, Recorded, Resource, memory_barrier};

const WORD: u32 = 0x1234_5678;

/// Workload in which each iteration is a submission of its own and is waited for.
struct Latency {
    recorded: Recorded,
    output: Buffer,
}

impl Workload for Latency {
    fn amount(&self) -> Amount {
        Amount::new(1.0, Unit::Dispatch)
    }

    fn run(&mut self, gpu: &Gpu, iterations: u32) -> Result<(), Error> {
        self.output.write(0, &[0]);
        (0..iterations).try_for_each(|_| gpu.submit(&self.recorded, 1).map(|_| ()))
    }

    fn check(&mut self, _gpu: &Gpu) -> Result<(), CheckError> {
        equal(&self.output.read(), &[WORD])
    }
}

/// Makes an empty dispatch, which is timed from submission to fence.
pub fn empty_dispatch(gpu: &Gpu) -> SetupResult {
    let output = storage(gpu, 4)?;
    let kernel = Kernel::new(gpu, &spirv!("compute/empty.comp"), &[Resource::Storage(output.handle)], 1)?;
    let recorded = gpu.record(|d, cmd| {
        kernel.dispatch(d, cmd, &[WORD], [1, 1, 1]);
        memory_barrier(d, cmd);
    })?;
    Ok(Box::new(Latency { recorded, output }))
}

const DISPATCHES: u32 = 1000;
const WORDS: usize = 1024;

/// Makes a thousand small dispatches, each of which depends on the previous one.
pub fn many_dispatches(gpu: &Gpu) -> SetupResult {
    let data = storage(gpu, WORDS * 4)?;
    let kernel = Kernel::new(gpu, &spirv!("compute/increment.comp"), &[Resource::Storage(data.handle)], 0)?;
    let work = |d: &ash::Device, cmd| {
        // SAFETY: the buffer has the usage and lives as long as the device.
        unsafe { d.cmd_fill_buffer(cmd, data.handle, 0, ash::vk::WHOLE_SIZE, 0) };
        for _ in 0..DISPATCHES {
            between(d, cmd);
            kernel.dispatch(d, cmd, &[], [WORDS as u32 / 64, 1, 1]);
        }
    };
    job(gpu, (f64::from(DISPATCHES), Unit::Dispatch), work, move |_| equal(&data.read(), &[DISPATCHES; WORDS]))
}
