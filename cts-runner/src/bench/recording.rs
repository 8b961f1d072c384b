//! The workload that most are: a command buffer recorded once, an amount, and a check of what it leaves.

use super::figure::{Amount, MakeError, Wrong};
use super::workload::Workload;
use crate::vk::{Error, Gpu, Recorded, Recorder};
use ash::vk;

/// Checks what a recording leaves.
pub type Check = Box<dyn Fn(&Gpu) -> Result<(), Wrong>>;

/// A recorded command buffer as a workload.
pub struct Recording {
    recorded: Recorded,
    amount: Amount,
    check: Check,
}

/// What makes a workload.
pub type Made = Result<Box<dyn Workload>, MakeError>;

impl Recording {
    /// Records. What is recorded leaves the same however often it runs, and orders itself after its last run.
    pub fn make(
        gpu: &Gpu,
        amount: Amount,
        record: impl FnOnce(Recorder<'_>),
        check: impl Fn(&Gpu) -> Result<(), Wrong> + 'static,
    ) -> Made {
        Ok(Self::of(gpu.recorded(record)?, amount, check))
    }

    /// From a command buffer that was recorded already, under the same rules.
    pub fn of(
        recorded: Recorded,
        amount: Amount,
        check: impl Fn(&Gpu) -> Result<(), Wrong> + 'static,
    ) -> Box<dyn Workload> {
        Box::new(Self { recorded, amount, check: Box::new(check) })
    }
}

impl Workload for Recording {
    fn amount(&self) -> Amount {
        self.amount
    }

    fn run(&mut self, gpu: &Gpu, iterations: u32) -> Result<(), Error> {
        gpu.submit(&self.recorded, iterations).map(|_| ())
    }

    fn check(&mut self, gpu: &Gpu) -> Result<(), Wrong> {
        // What a check makes to read images lives no longer than it.
        let mark = gpu.mark();
        let outcome = (self.check)(gpu);
        gpu.release_to(mark);
        outcome
    }
}

/// Says that a device lacks a feature.
pub fn need(has: vk::Bool32, feature: &str) -> Result<(), MakeError> {
    if has == vk::TRUE { Ok(()) } else { Err(MakeError::Unsupported(feature.into())) }
}

/// Says that a device's limit is too low.
pub fn need_limit(has: bool, limit: &str) -> Result<(), MakeError> {
    if has { Ok(()) } else { Err(MakeError::Unsupported(format!("limit {limit}"))) }
}

/// Says that a format lacks features (optimal tiling).
pub fn need_format(gpu: &Gpu, format: vk::Format, features: vk::FormatFeatureFlags) -> Result<(), MakeError> {
    let missing = features & !gpu.optimal_features(format);
    if missing.is_empty() { Ok(()) } else { Err(MakeError::Unsupported(format!("{format:?} with {missing:?}"))) }
}
