//! What a workload is: the interface between the engine and the families.
//!
//! Idea: a workload does the same work again and again and says how much it is; the engine decides how often, in which
//! process and on which driver, and takes the time. Its output does not depend on how often it ran, so it can be
//! checked after any number of iterations. What can only be measured once in a process (creating a pipeline with
//! nothing warm, the first pixel) is [`Make::Fresh`] and takes its own time.
//!
//! Invariant: nothing in a workload knows which driver runs it. It asks for features, formats and limits only.

use super::report::Report;
use crate::vk::{Api, Error, Gpu, GpuOptions};
use std::fmt;
use std::path::Path;

/// A group of workloads with a geometric mean of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Family {
    /// Creating pipelines.
    Create,
    /// Dispatches.
    Compute,
    /// Draws.
    Graphics,
    /// Copies, fills, blits, clears, resolves.
    Transfer,
    /// Instance, device, first pixel, memory.
    Start,
}

impl Family {
    /// All families, in the order they are run and shown.
    pub const ALL: [Family; 5] = [Family::Create, Family::Compute, Family::Graphics, Family::Transfer, Family::Start];

    /// The first part of the names of its workloads.
    pub fn name(self) -> &'static str {
        match self {
            Family::Create => "create",
            Family::Compute => "compute",
            Family::Graphics => "graphics",
            Family::Transfer => "transfer",
            Family::Start => "start",
        }
    }
}

/// What an amount counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Floating-point operations; a fused multiply-add is two. Limit: the machine's FMA peak.
    Flop,
    /// Bytes read plus bytes written, as the work asks for them. Limit: what a copy reads plus writes.
    Byte,
    /// Bytes written by work that reads none. Limit: what a fill writes.
    Filled,
    /// Pixels or texels.
    Pixel,
    /// Texture samples.
    Sample,
    /// Triangles.
    Triangle,
    /// Vertices.
    Vertex,
    /// Draws.
    Draw,
    /// Dispatches.
    Dispatch,
    /// Commands of another kind.
    Command,
    /// Elements of an array.
    Element,
    /// Pipelines.
    Pipeline,
}

impl Unit {
    const ALL: [Unit; 12] = [
        Unit::Flop,
        Unit::Byte,
        Unit::Filled,
        Unit::Pixel,
        Unit::Sample,
        Unit::Triangle,
        Unit::Vertex,
        Unit::Draw,
        Unit::Dispatch,
        Unit::Command,
        Unit::Element,
        Unit::Pipeline,
    ];

    /// The name in JSON.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// The unit of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|u| u.name() == name)
    }

    /// The unit after an SI prefix, per second.
    pub fn per_second(self) -> &'static str {
        match self {
            Unit::Flop => "FLOP/s",
            Unit::Byte | Unit::Filled => "B/s",
            Unit::Pixel => "px/s",
            Unit::Sample => "samples/s",
            Unit::Triangle => "tri/s",
            Unit::Vertex => "vert/s",
            Unit::Draw => "draws/s",
            Unit::Dispatch => "disp/s",
            Unit::Command => "cmd/s",
            Unit::Element => "elem/s",
            Unit::Pipeline => "pipe/s",
        }
    }
}

/// What one iteration amounts to, for the rate and the share of the machine's limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: Unit,
}

impl Amount {
    /// An amount.
    pub fn new(value: impl Into<f64>, unit: Unit) -> Self {
        Self { value: value.into(), unit }
    }
}

/// Why a workload could not be made.
#[derive(Debug)]
pub enum MakeError {
    /// The driver lacks a feature, format or limit; it says so itself.
    Unsupported(String),
    /// A command failed that should not have.
    Failed(Error),
}

impl From<Error> for MakeError {
    /// [`Error::Missing`] is the harness's way to say that a driver lacks something.
    fn from(error: Error) -> Self {
        match error {
            Error::Missing(what) => Self::Unsupported(what),
            other => Self::Failed(other),
        }
    }
}

/// The output is not what it should be, or could not be read.
#[derive(Debug)]
pub enum Wrong {
    /// What differs, with the first place where it does.
    Output(String),
    /// Reading the output failed.
    Failed(Error),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Output(what) => f.write_str(what),
            Wrong::Failed(error) => error.fmt(f),
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

/// One figure of a workload; less is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is, such as `cold`; empty for a steady workload, which has one.
    pub name: String,
    /// Seconds (of one iteration), or bytes; a median where there were several samples.
    pub value: f64,
    /// Whether the value is bytes.
    pub bytes: bool,
    /// What the time is for.
    pub amount: Option<Amount>,
}

impl Figure {
    /// A time.
    pub fn seconds(name: &str, value: std::time::Duration) -> Self {
        Self { name: name.into(), value: value.as_secs_f64(), bytes: false, amount: None }
    }

    /// A size in bytes.
    pub fn bytes(name: &str, value: u64) -> Self {
        Self { name: name.into(), value: value as f64, bytes: true, amount: None }
    }
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

/// How a workload is made.
#[derive(Clone, Copy)]
pub enum Make {
    /// Repeatable work on a device the engine made, with all features of Vulkan 1.0 that it has but `robustBufferAccess`.
    Steady(fn(&Gpu) -> Result<Box<dyn Workload>, MakeError>),
    /// Figures taken once per process.
    Fresh(fn(&Fresh<'_>) -> Result<Vec<Figure>, FreshError>),
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
