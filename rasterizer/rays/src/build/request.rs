//! The input of a build, and the reasons for which it may fail.

use crate::input::Geometry;
use crate::instance::LiveStructures;
use crate::layout::{Contents, Header, MICROMAP_ADDRESS_BYTES};
use crate::parallel::WorkError;
use base::alloc::OutOfMemory;
use base::mem::DeviceMemory;

/// The reason why a build, an update or a copy fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// The system has no memory for it.
    OutOfMemory,
    /// The caller gave less memory than the structure requires.
    TargetTooSmall,
    /// The source is not a structure of this version, or one that does not match the input.
    InvalidSource,
    /// The flag that ends the work is set.
    Aborted,
}

impl From<WorkError> for BuildError {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::OutOfMemory => BuildError::OutOfMemory,
            WorkError::Aborted => BuildError::Aborted,
        }
    }
}

impl From<OutOfMemory> for BuildError {
    fn from(_: OutOfMemory) -> Self {
        BuildError::OutOfMemory
    }
}

/// The way in which a tree is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// By the surface area heuristic: for structures that are traversed often.
    FastTrace,
    /// By Morton codes: for structures that are built often.
    FastBuild,
}

/// The input of a build. All geometries have the same contents.
#[derive(Clone, Copy)]
pub struct BuildInput<'a> {
    /// Contents of the geometries, which are named because there may be no geometry.
    pub contents: Contents,
    /// The geometries in order.
    pub geometries: &'a [Geometry<'a>],
    /// The way in which the tree is made.
    pub quality: Quality,
    /// Flags that the header keeps.
    pub flags: u32,
    /// The structures to which instances refer.
    pub structures: &'a dyn LiveStructures,
}

impl BuildInput<'_> {
    /// Returns the number of primitives of all geometries.
    pub fn primitives(&self) -> u32 {
        let all: u64 = self.geometries.iter().map(|geometry| u64::from(geometry.primitives)).sum();
        all.min(u64::from(u32::MAX)) as u32
    }

    /// Returns the number of geometries in the list of micromaps: all of them, or none if no
    /// geometry has a micromap.
    pub fn micromaps(&self) -> u32 {
        let has_one = self.geometries.iter().any(|geometry| geometry.micromap().is_some());
        if has_one { self.geometries.len() as u32 } else { 0 }
    }

    /// Writes the list of micromaps of a structure, as far as it has one.
    pub fn write_micromaps(&self, target: DeviceMemory, header: &Header) {
        for (geometry, number) in self.geometries.iter().zip(0..header.micromaps) {
            let address = geometry.micromap().map_or(0, |micromap| micromap.address);
            target.write(header.leaves_end() + u64::from(number) * MICROMAP_ADDRESS_BYTES, &address.to_le_bytes());
        }
    }
}

/// Makes a list at least as long as `length`; new elements have their default values.
pub fn ensure<T: Clone + Default>(list: &mut Vec<T>, length: usize) -> Result<(), OutOfMemory> {
    if list.len() < length {
        base::alloc::reserve(list, length - list.len())?;
        list.resize(length, T::default());
    }
    Ok(())
}
