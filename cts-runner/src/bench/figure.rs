//! What comes of a workload: figures and what they count, or why there are none.

use crate::vk::Error;
use std::fmt;

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
    /// Triangles drawn.
    Triangle,
    /// Vertices shaded.
    Vertex,
    /// Calls of vkCmdDraw*.
    Draw,
    /// Calls of vkCmdDispatch*.
    Dispatch,
    /// Commands of another kind.
    Command,
    /// Elements of an array.
    Element,
    /// Pipelines created.
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
