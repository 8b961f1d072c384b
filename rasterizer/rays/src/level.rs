//! A processor level that the host is known to have.

#![forbid(unsafe_code)]

use base::host::SimdLevel;

/// A level that the host has, so that functions of it may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLevel(SimdLevel);

impl HostLevel {
    /// Returns the highest level that the host has.
    pub fn detect() -> HostLevel {
        HostLevel(SimdLevel::detect())
    }

    /// Returns all levels that the host has.
    pub fn all() -> impl Iterator<Item = HostLevel> {
        SimdLevel::all_supported().map(HostLevel)
    }

    /// Returns the level.
    #[inline(always)]
    pub fn get(self) -> SimdLevel {
        self.0
    }
}

impl Default for HostLevel {
    fn default() -> HostLevel {
        HostLevel::detect()
    }
}
