//! Family start.

use super::workload::Spec;

/// The workloads.
pub const SPECS: &[Spec] = &[];
