//! The most common kind of workload: a command buffer that is recorded once, an amount, and a check
//! of its result.

use super::figure::{Amount, CheckError, SetupError};
use super::workload::Workload;
use crate::vk::{Error, Gpu, Recorded, Recorder};
use ash::vk;

/// Function that checks the result of a recording.
pub type Check = Box<dyn Fn(&Gpu) -> Result<(), CheckError>>;

/// A recorded command buffer as a workload.
pub struct Recording {
    recorded: Recorded,
    amount: Amount,
    check: Check,
}

/// Result of making a workload.
pub type SetupResult = Result<Box<dyn Workload>, SetupError>;

impl Recording {
    /// Records a workload. The commands must give the same result regardless of the number of runs,
    /// and must wait for their previous run.
    pub fn make(
        gpu: &Gpu,
        amount: Amount,
        record: impl FnOnce(Recorder<'_>),
        check: impl Fn(&Gpu) -> Result<(), CheckError> + 'static,
    ) -> SetupResult {
        Ok(Self::from_recorded(gpu.recorded(record)?, amount, check))
    }

    /// Makes a workload from a recorded command buffer, under the rules of [`Self::make`].
    pub fn from_recorded(
        recorded: Recorded,
        amount: Amount,
        check: impl Fn(&Gpu) -> Result<(), CheckError> + 'static,
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

    fn check(&mut self, gpu: &Gpu) -> Result<(), CheckError> {
        // The objects that a check makes to read images are destroyed after the check.
        let mark = gpu.mark();
        let outcome = (self.check)(gpu);
        gpu.release_to(mark);
        outcome
    }
}

/// Returns an error if a device lacks a feature.
pub fn need(has: vk::Bool32, feature: &str) -> Result<(), SetupError> {
    if has == vk::TRUE { Ok(()) } else { Err(SetupError::Unsupported(feature.into())) }
}

/// Returns an error if a limit of a device is too low.
pub fn need_limit(has: bool, limit: &str) -> Result<(), SetupError> {
    if has { Ok(()) } else { Err(SetupError::Unsupported(format!("limit {limit}"))) }
}

/// Returns an error if a format lacks features with optimal tiling.
pub fn need_format(gpu: &Gpu, format: vk::Format, features: vk::FormatFeatureFlags) -> Result<(), SetupError> {
    let missing = features & !gpu.optimal_features(format);
    if missing.is_empty() { Ok(()) } else { Err(SetupError::Unsupported(format!("{format:?} with {missing:?}"))) }
}
