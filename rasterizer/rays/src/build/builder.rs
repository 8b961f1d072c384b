//! The builder, which keeps memory between builds.

#![forbid(unsafe_code)]

use super::emit::Emitter;
use super::references::{self, PrimitiveRef};
use super::request::{BuildError, BuildInput, Quality, ensure};
use super::tree::Top;
use super::{morton, sah};
use crate::layout::{Contents, Header, LEAF_SIZE, MICROMAP_ADDRESS_BYTES};
use crate::leaf::Readers;
use crate::level::HostLevel;
use crate::parallel::HelperThreads;
use crate::sizes::build_sizes;
use base::mem::DeviceMemory;

/// Builds structures, and keeps memory between builds.
#[derive(Default)]
pub struct Builder {
    /// Level of the kernels.
    level: HostLevel,
    references: Vec<PrimitiveRef>,
    other: Vec<PrimitiveRef>,
    keys: Vec<morton::Key>,
    other_keys: Vec<morton::Key>,
}

impl Builder {
    /// Makes a builder that uses the kernels of a level.
    pub fn new(level: HostLevel) -> Builder {
        Builder { level, ..Builder::default() }
    }

    /// Frees the memory if there are more than `bytes` bytes.
    pub fn trim(&mut self, bytes: usize) {
        let references = (self.references.capacity() + self.other.capacity()) * size_of::<PrimitiveRef>();
        let keys = (self.keys.capacity() + self.other_keys.capacity()) * size_of::<morton::Key>();
        if references + keys > bytes {
            *self = Builder::new(self.level);
        }
    }

    /// Builds a structure at the beginning of `target`, and returns its header.
    ///
    /// # Errors
    /// The target is smaller than [`build_sizes`] requires, or there is no memory.
    pub fn build(
        &mut self,
        target: DeviceMemory,
        input: &BuildInput,
        threads: HelperThreads,
    ) -> Result<Header, BuildError> {
        let primitives = input.primitives();
        let list = u64::from(input.micromaps()) * MICROMAP_ADDRESS_BYTES;
        if target.len() < build_sizes(input.contents, primitives).structure + list {
            return Err(BuildError::TargetTooSmall);
        }
        let readers = Readers::new(input.geometries)?;
        let active = references::make(input, &readers, target, threads, &mut self.references)?;
        let leaf_size = if input.contents == Contents::Instances { 1 } else { LEAF_SIZE };
        let count = active.count as u32;
        let header = match input.quality {
            // No geometry has triangles of micromaps.
            _ if count == 0 || input.contents == Contents::Micromap => {
                let reference = |_, _| PrimitiveRef::default();
                Emitter { target, input, readers: &readers, reference, threads }.write(&Top::default(), &[], 0)
            }
            Quality::FastTrace => {
                ensure(&mut self.other, active.count)?;
                let (lists, other) = (&mut self.references[..active.count], &mut self.other[..active.count]);
                let (top, subtrees) = sah::build(lists, other, &active, leaf_size, (threads, self.level))?;
                let lists = [&*lists, &*other];
                let reference = |side: usize, at: usize| lists[side & 1][at];
                Emitter { target, input, readers: &readers, reference, threads }.write(&top, &subtrees, count)
            }
            Quality::FastBuild => {
                let (top, subtrees) = {
                    let lists = [&mut self.keys, &mut self.other_keys];
                    morton::build(&self.references[..active.count], lists, &active, leaf_size, threads)?
                };
                let (keys, references) = (&self.keys, &self.references);
                let reference = |_: usize, at: usize| references[keys[at].index as usize];
                Emitter { target, input, readers: &readers, reference, threads }.write(&top, &subtrees, count)
            }
        };
        Ok(header)
    }
}
