//! What a workload is: the interface between the engine and the families.
//!
//! Idea: a workload does the same work again and again and says how much it is; the engine decides how often, in which
//! process and on which driver, and takes the time. Its output does not depend on how often it ran, so it can be
//! checked after any number of iterations. What can only be measured once in a process (creating a pipeline with
//! nothing warm, the first pixel) is [`Make::Fresh`] and takes its own time.
//!
//! Invariant: nothing in a workload knows which driver runs it. It asks for features, formats and limits only.

use super::figure::{Amount, Figure, MakeError, Wrong};
use super::report::Report;
use crate::vk::{Api, Error, Gpu, GpuOptions};
use std::path::{Path, PathBuf};

/// A group of workloads with a geometric mean of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Family {
    /// Creating pipelines.
    Create,
    /// Dispatches on one queue.
    Compute,
    /// Draws into images.
    Graphics,
    /// Copies, fills, blits, clears, resolves.
    Transfer,
    /// Instance, device, first pixel, memory.
    Start,
    /// First use of the modules of a folder.
    Corpus,
}

impl Family {
    /// All families, in the order they are run and shown.
    pub const ALL: [Family; 6] =
        [Family::Create, Family::Compute, Family::Graphics, Family::Transfer, Family::Start, Family::Corpus];

    /// The first part of the names of its workloads.
    pub fn name(self) -> &'static str {
        match self {
            Family::Create => "create",
            Family::Compute => "compute",
            Family::Graphics => "graphics",
            Family::Transfer => "transfer",
            Family::Start => "start",
            Family::Corpus => "corpus",
        }
    }
}

/// Work that can be repeated.
pub trait Workload {
    /// What one iteration amounts to.
    fn amount(&self) -> Amount;

    /// Submits `iterations` times the work (at least one) and waits for all of it. The engine takes the time of the call.
    fn run(&mut self, gpu: &Gpu, iterations: u32) -> Result<(), Error>;

    /// Checks the last run's output against a reference computed on the CPU or an invariant that only right output has.
    fn check(&mut self, gpu: &Gpu) -> Result<(), Wrong>;
}

/// Where a [`Make::Fresh`] workload finds itself: a new process in which nothing of Vulkan was called.
pub struct Fresh<'a> {
    /// The driver's entry points.
    pub api: &'a Api,
    /// How long opening the driver's library took.
    pub opened: std::time::Duration,
    /// How to make devices.
    pub options: GpuOptions,
    /// An empty folder of its own.
    pub scratch: &'a Path,
    /// Runs the same workload in a second new process on the same driver, which sees the same `scratch` and this text as
    /// `stage`.
    pub again: &'a dyn Fn(&str) -> Result<Vec<Figure>, FreshError>,
    /// Empty in the first process.
    pub stage: &'a str,
}

impl Fresh<'_> {
    /// Ends a device; under the validation layer, its messages are an error.
    pub fn close(&self, gpu: Gpu) -> Result<(), FreshError> {
        gpu.release_to(0);
        match gpu.validation_messages() {
            0 => Ok(()),
            count => Err(FreshError::Other(Box::new(Report::invalid(count)))),
        }
    }
}

/// Why a [`Make::Fresh`] workload has no figures.
#[derive(Debug)]
pub enum FreshError {
    /// It could not be made.
    Make(MakeError),
    /// It made something wrong.
    Wrong(Wrong),
    /// The second process ended like this.
    Other(Box<Report>),
}

impl From<Error> for FreshError {
    fn from(error: Error) -> Self {
        Self::Make(error.into())
    }
}

impl From<Wrong> for FreshError {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

impl From<FreshError> for Report {
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
    /// The modules' files, and the number of the entry point in each.
    pub stages: Vec<(PathBuf, usize)>,
}

/// How a workload is made.
#[derive(Clone, Copy)]
pub enum Make {
    /// Repeatable work on a device the engine made, with all features of Vulkan 1.0 that it has but `robustBufferAccess`.
    Steady(fn(&Gpu) -> Result<Box<dyn Workload>, MakeError>),
    /// Figures taken once per process.
    Fresh(fn(&Fresh<'_>) -> Result<Vec<Figure>, FreshError>),
    /// As that, of a pipeline of the corpus.
    Module(&'static Case),
}

/// A workload by name.
#[derive(Clone, Copy)]
pub struct Spec {
    /// Such as `compute/saxpy`; unique.
    pub name: &'static str,
    /// Its family.
    pub family: Family,
    /// Part of `--quick`.
    pub quick: bool,
    /// How to make it.
    pub make: Make,
}

impl Spec {
    /// A workload of the quick and the full run.
    pub const fn quick(
        name: &'static str,
        family: Family,
        make: fn(&Gpu) -> Result<Box<dyn Workload>, MakeError>,
    ) -> Self {
        Self { name, family, quick: true, make: Make::Steady(make) }
    }

    /// A workload of the full run only.
    pub const fn full(
        name: &'static str,
        family: Family,
        make: fn(&Gpu) -> Result<Box<dyn Workload>, MakeError>,
    ) -> Self {
        Self { name, family, quick: false, make: Make::Steady(make) }
    }
}

/// The words of a committed SPIR-V file below `src/bench/shaders`: `spirv!("compute/saxpy.comp")`; parts are joined.
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
