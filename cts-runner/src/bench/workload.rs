//! Workloads: the interface between the engine and the families.
//!
//! Idea: a workload repeats the same work and reports its amount. The engine decides how often, in
//! which process and on which driver it runs, and measures the time. The output does not depend on
//! the number of runs, so it can be checked after any number of iterations. Work that can only be
//! measured once in a process (a pipeline created with cold caches, the first pixel) is
//! [`Make::Fresh`] and measures its own time.
//!
//! Invariant: a workload does not know which driver runs it. It only queries features, formats and
//! limits.

use super::figure::{Amount, CheckError, Figure, SetupError};
use super::report::ChildReport;
use crate::vk::{Api, Error, Gpu, GpuOptions};
use std::path::{Path, PathBuf};

/// A group of workloads with a geometric mean of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Family {
    /// Pipeline creation.
    Create,
    /// Dispatches on one queue.
    Compute,
    /// Draws into images.
    Graphics,
    /// Copies, fills, blits, clears and resolves.
    Transfer,
    /// Creation of instance and device, first pixel, memory.
    Start,
    /// Ways to make and to choose what a draw executes.
    Programs,
    /// First use of the modules of a folder.
    Corpus,
    /// Ray tracing, and builds of acceleration structures.
    Rays,
}

impl Family {
    /// All families, in the order in which they run and are shown.
    pub const ALL: [Family; 8] = [
        Family::Create,
        Family::Compute,
        Family::Graphics,
        Family::Transfer,
        Family::Start,
        Family::Programs,
        Family::Corpus,
        Family::Rays,
    ];

    /// Returns the first part of the names of the family's workloads.
    pub fn name(self) -> &'static str {
        match self {
            Family::Create => "create",
            Family::Compute => "compute",
            Family::Graphics => "graphics",
            Family::Transfer => "transfer",
            Family::Start => "start",
            Family::Programs => "programs",
            Family::Corpus => "corpus",
            Family::Rays => "rays",
        }
    }
}

/// Work that can be repeated.
pub trait Workload {
    /// Returns the amount of work of one iteration.
    fn amount(&self) -> Amount;

    /// Submits the work `iterations` times (at least once) and waits for all of it. The engine
    /// measures the time of the call.
    fn run(&mut self, gpu: &Gpu, iterations: u32) -> Result<(), Error>;

    /// Checks the output of the last run against a reference computed on the CPU, or against an
    /// invariant that only correct output has.
    fn check(&mut self, gpu: &Gpu) -> Result<(), CheckError>;
}

/// Environment of a [`Make::Fresh`] workload: a new process in which no Vulkan command was called.
pub struct Fresh<'a> {
    /// Entry points of the driver.
    pub api: &'a Api,
    /// Time that opening the driver's library took.
    pub opened: std::time::Duration,
    /// Options for making devices.
    pub options: GpuOptions,
    /// An empty folder for this workload.
    pub scratch: &'a Path,
    /// Runs the workload in a second new process on the same driver. The process sees the same
    /// `scratch`, and this text as `stage`.
    pub again: &'a dyn Fn(&str) -> Result<Vec<Figure>, FreshError>,
    /// Stage of the workload, which is empty in the first process.
    pub stage: &'a str,
}

impl Fresh<'_> {
    /// Destroys a device. Messages of the validation layer are an error.
    pub fn close(&self, gpu: Gpu) -> Result<(), FreshError> {
        gpu.release_to(0);
        match gpu.validation_messages() {
            0 => Ok(()),
            count => Err(FreshError::Other(Box::new(ChildReport::invalid(count)))),
        }
    }
}

/// Reason why a [`Make::Fresh`] workload has no figures.
#[derive(Debug)]
pub enum FreshError {
    /// The workload could not be made.
    Make(SetupError),
    /// The output was wrong.
    Wrong(CheckError),
    /// The second process ended with this report.
    Other(Box<ChildReport>),
}

impl From<Error> for FreshError {
    fn from(error: Error) -> Self {
        Self::Make(error.into())
    }
}

impl From<CheckError> for FreshError {
    fn from(wrong: CheckError) -> Self {
        Self::Wrong(wrong)
    }
}

impl From<FreshError> for ChildReport {
    fn from(error: FreshError) -> Self {
        match error {
            FreshError::Make(error) => error.into(),
            FreshError::Wrong(wrong) => wrong.into(),
            FreshError::Other(report) => *report,
        }
    }
}

/// A pipeline of the corpus.
#[derive(Debug, PartialEq)]
pub struct Case {
    /// Files of the modules, and the index of the entry point in each.
    pub stages: Vec<(PathBuf, usize)>,
}

/// Function that makes a workload.
#[derive(Clone, Copy)]
pub enum Make {
    /// Repeatable work on a device that the engine made. The device has all supported features of
    /// Vulkan 1.0 except `robustBufferAccess`.
    Steady(fn(&Gpu) -> Result<Box<dyn Workload>, SetupError>),
    /// Figures that are measured once per process.
    Fresh(fn(&Fresh<'_>) -> Result<Vec<Figure>, FreshError>),
    /// Figures of a pipeline of the corpus, measured once per process.
    Module(&'static Case),
}

/// A named workload.
#[derive(Clone, Copy)]
pub struct Spec {
    /// Unique name, such as `compute/saxpy`.
    pub name: &'static str,
    /// Family of the workload.
    pub family: Family,
    /// True if the workload is part of `--quick`.
    pub quick: bool,
    /// Function that makes the workload.
    pub make: Make,
}

impl Spec {
    /// Returns a workload of both the quick and the full run.
    pub const fn quick(
        name: &'static str,
        family: Family,
        make: fn(&Gpu) -> Result<Box<dyn Workload>, SetupError>,
    ) -> Self {
        Self { name, family, quick: true, make: Make::Steady(make) }
    }

    /// Returns a workload of the full run only.
    pub const fn full(
        name: &'static str,
        family: Family,
        make: fn(&Gpu) -> Result<Box<dyn Workload>, SetupError>,
    ) -> Self {
        Self { name, family, quick: false, make: Make::Steady(make) }
    }
}

/// Expands to the words of a committed SPIR-V file below `src/bench/shaders`:
/// `spirv!("compute/saxpy.comp")`. The parts of the name are joined.
macro_rules! spirv {
    ($($path:literal),+) => {
        crate::vk::spirv_words(include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/bench/shaders/",
            $($path,)+
            ".spv"
        )))
    };
}
pub(crate) use spirv;
