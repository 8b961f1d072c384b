//! Results of a run of all workloads on all drivers.

use super::limits::Limits;
use super::stats::FigureRow;
use std::path::PathBuf;

/// A driver that is measured.
#[derive(Clone, Debug)]
pub struct MeasuredDriver {
    /// Short unique name.
    pub label: String,
    /// `deviceName` of the driver.
    pub device: String,
    /// `driverVersion` of the driver.
    pub version: String,
    /// `apiVersion` of the driver.
    pub api: String,
    /// `subgroupSize`, which is the number of lanes on which a shader runs at a time; 0 if it is
    /// unknown.
    pub lanes: u64,
    /// Path of the manifest.
    pub manifest: PathBuf,
    /// Environment variables of its children.
    pub environment: Vec<(String, String)>,
}

/// Results of a run.
pub struct Results {
    /// Name of the CPU.
    pub machine: String,
    /// Width of the processor's vectors in bits.
    pub vector_bits: u32,
    /// Limits of the machine, as medians of the rounds.
    pub limits: Limits,
    /// Number of completed rounds.
    pub rounds: usize,
    /// Measured drivers. The others are compared with the first.
    pub drivers: Vec<MeasuredDriver>,
    /// Figures of all workloads.
    pub rows: Vec<FigureRow>,
}
