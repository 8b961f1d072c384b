//! Results of a workload: figures and their units, or the reason why there are none.

use crate::vk::Error;
use std::fmt;

/// Unit of an amount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Floating-point operations, where a fused multiply-add counts as two. The limit is the
    /// machine's FMA peak.
    Flop,
    /// Bytes read plus bytes written, as the work requests them. The limit is the read plus write
    /// rate of a copy.
    Byte,
    /// Bytes written by work that reads none. The limit is the rate of a fill.
    Filled,
    /// Pixels or texels.
    Pixel,
    /// Texture samples.
    Sample,
    /// Triangles that are drawn, or of which an acceleration structure is made.
    Triangle,
    /// Vertices that are shaded.
    Vertex,
    /// Calls of `vkCmdDraw*`.
    Draw,
    /// Calls of `vkCmdDispatch*`.
    Dispatch,
    /// Commands of another kind.
    Command,
    /// Elements of an array.
    Element,
    /// Pipelines that are created.
    Pipeline,
    /// Rays that are traced.
    Ray,
}

impl Unit {
    const ALL: [Unit; 13] = [
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
        Unit::Ray,
    ];

    /// Returns the name in JSON.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Returns the unit with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|u| u.name() == name)
    }

    /// Returns the text of the unit per second, which follows an SI prefix.
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
            Unit::Ray => "rays/s",
        }
    }
}

/// Amount of work of one iteration, for the rate and the share of the machine's limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// Number of units.
    pub value: f64,
    /// Unit of the value.
    pub unit: Unit,
}

impl Amount {
    /// Creates an amount.
    pub fn new(value: impl Into<f64>, unit: Unit) -> Self {
        Self { value: value.into(), unit }
    }
}

/// Reason why a workload could not be made.
#[derive(Debug)]
pub enum SetupError {
    /// The driver reports that it lacks a feature, a format or a limit.
    Unsupported(String),
    /// A command failed unexpectedly.
    Failed(Error),
}

impl From<Error> for SetupError {
    /// Converts [`Error::Missing`], by which the harness reports that a driver lacks something.
    fn from(error: Error) -> Self {
        match error {
            Error::Missing(what) => Self::Unsupported(what),
            other => Self::Failed(other),
        }
    }
}

/// Reason why the output of a workload was not accepted.
#[derive(Debug)]
pub enum CheckError {
    /// Description of the difference, with the first position where it occurs.
    Output(String),
    /// Reading the output failed.
    Failed(Error),
}

impl From<Error> for CheckError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Output(what) => f.write_str(what),
            CheckError::Failed(error) => error.fmt(f),
        }
    }
}

/// One figure of a workload. Smaller values are better.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of the figure, such as `cold`. It is empty for a steady workload, which has one figure.
    pub name: String,
    /// Seconds of one iteration, or bytes. It is a median if there were several samples.
    pub value: f64,
    /// True if the value is in bytes.
    pub bytes: bool,
    /// Amount of work to which the time belongs.
    pub amount: Option<Amount>,
}

impl Figure {
    /// Creates a figure from a time.
    pub fn seconds(name: &str, value: std::time::Duration) -> Self {
        Self { name: name.into(), value: value.as_secs_f64(), bytes: false, amount: None }
    }

    /// Creates a figure from a size in bytes.
    pub fn bytes(name: &str, value: u64) -> Self {
        Self { name: name.into(), value: value as f64, bytes: true, amount: None }
    }
}
