//! What a run of all workloads on all drivers found out.

use super::limits::Limits;
use super::stats::Row;
use std::path::PathBuf;

/// A driver that takes part.
#[derive(Clone, Debug)]
pub struct Driver {
    /// Short name, unique.
    pub label: String,
    /// `deviceName`.
    pub device: String,
    /// `driverVersion`.
    pub version: String,
    /// `apiVersion`.
    pub api: String,
    /// `subgroupSize`, the lanes that it runs a shader on at a time; 0 when unknown.
    pub lanes: u64,
    /// Its manifest.
    pub manifest: PathBuf,
    /// Variables of its children.
    pub environment: Vec<(String, String)>,
}

/// What a run found out.
pub struct Results {
    /// The CPU's name.
    pub machine: String,
    /// Bits of the processor's vectors.
    pub vector_bits: u32,
    /// The machine's limits; medians of the rounds.
    pub limits: Limits,
    /// Rounds done.
    pub rounds: usize,
    /// Who took part; the first is what the others are compared with.
    pub drivers: Vec<Driver>,
    /// The figures.
    pub rows: Vec<Row>,
}
