//! The builder, which keeps memory between builds.

use super::emit::{Emitter, Order};
use super::references::{self, PrimitiveRef};
use super::request::{BuildError, BuildInput, Quality, ensure};
use super::tree::Top;
use super::{morton, sah};
use crate::layout::{Contents, Header, LEAF_SIZE, MICROMAP_ADDRESS_BYTES};
use crate::leaf::{Primitive, Readers};
use crate::parallel::Workers;
use crate::sizes::build_sizes;
use base::host::prefetch;
use base::mem::DeviceMemory;

/// Builds structures, and keeps memory between builds.
#[derive(Default)]
pub struct Builder {
    references: Vec<PrimitiveRef>,
    other: Vec<PrimitiveRef>,
    keys: Vec<morton::Key>,
    other_keys: Vec<morton::Key>,
}

impl Builder {
    /// Frees the memory if there are more than `bytes` bytes.
    pub fn trim(&mut self, bytes: usize) {
        let references = (self.references.capacity() + self.other.capacity()) * size_of::<PrimitiveRef>();
        let keys = (self.keys.capacity() + self.other_keys.capacity()) * size_of::<morton::Key>();
        if references + keys > bytes {
            *self = Builder::default();
        }
    }

    /// Builds a structure at the beginning of `target`, and returns its header.
    ///
    /// # Errors
    /// The target is smaller than [`build_sizes`] requires, there is no memory, or the work was
    /// aborted. The target then has arbitrary contents.
    pub fn build(&mut self, target: DeviceMemory, input: &BuildInput, workers: &Workers) -> Result<Header, BuildError> {
        let primitives = input.primitives();
        let list = u64::from(input.micromaps()) * MICROMAP_ADDRESS_BYTES;
        if target.len() < build_sizes(input.contents, primitives).structure + list {
            return Err(BuildError::TargetTooSmall);
        }
        let readers = Readers::new(input.geometries)?;
        let active = references::make(input, &readers, target, workers, &mut self.references)?;
        let leaf_size = if input.contents.is_top_level() { 1 } else { LEAF_SIZE };
        let count = active.count as u32;
        let header = match input.quality {
            // No geometry has triangles of micromaps.
            _ if count == 0 || input.contents == Contents::Micromap => {
                let order = Divided([&[], &[]]);
                Emitter { target, input, readers: &readers, order: &order, workers }.write(&Top::default(), &[], 0)?
            }
            Quality::FastTrace => {
                ensure(&mut self.other, active.count)?;
                let (lists, other) = (&mut self.references[..active.count], &mut self.other[..active.count]);
                let (top, subtrees) = sah::build(lists, other, &active, leaf_size, workers)?;
                let order = Divided([&*lists, &*other]);
                Emitter { target, input, readers: &readers, order: &order, workers }.write(&top, &subtrees, count)?
            }
            Quality::FastBuild => {
                let (top, subtrees) = {
                    let lists = [&mut self.keys, &mut self.other_keys];
                    morton::build(&self.references[..active.count], lists, &active, leaf_size, workers)?
                };
                let format = morton::KeyFormat::new(active.count);
                if !input.contents.is_top_level() && input.geometries.len() == 1 && count == primitives {
                    let order = InputOrder { keys: &self.keys, format };
                    Emitter { target, input, readers: &readers, order: &order, workers }
                        .write(&top, &subtrees, count)?
                } else {
                    let order = Sorted { keys: &self.keys, format, references: &self.references };
                    Emitter { target, input, readers: &readers, order: &order, workers }
                        .write(&top, &subtrees, count)?
                }
            }
        };
        Ok(header)
    }
}

/// References that splits have divided between two lists.
struct Divided<'a>([&'a [PrimitiveRef]; 2]);

impl Order for Divided<'_> {
    #[inline(always)]
    fn primitive(&self, side: usize, at: usize) -> Primitive {
        self.0[side & 1][at].primitive()
    }

    #[inline(always)]
    fn reference(&self, side: usize, at: usize) -> PrimitiveRef {
        self.0[side & 1][at]
    }

    #[inline(always)]
    fn prefetch(&self, side: usize, at: usize) {
        prefetch((&raw const self.0[side & 1][at]).cast());
    }
}

/// References in the order of keys.
struct Sorted<'a> {
    keys: &'a [morton::Key],
    format: morton::KeyFormat,
    references: &'a [PrimitiveRef],
}

impl Order for Sorted<'_> {
    #[inline(always)]
    fn primitive(&self, _: usize, at: usize) -> Primitive {
        self.reference(0, at).primitive()
    }

    #[inline(always)]
    fn reference(&self, _: usize, at: usize) -> PrimitiveRef {
        self.references[self.format.index(self.keys[at])]
    }

    #[inline(always)]
    fn prefetch(&self, _: usize, at: usize) {
        prefetch((&raw const self.references[self.format.index(self.keys[at])]).cast());
    }
}

/// References in the order of keys, if all primitives of the only geometry have one. The positions
/// are then those of the input, and no reference has to be read.
struct InputOrder<'a> {
    keys: &'a [morton::Key],
    format: morton::KeyFormat,
}

impl Order for InputOrder<'_> {
    #[inline(always)]
    fn primitive(&self, _: usize, at: usize) -> Primitive {
        Primitive { geometry: 0, index: self.format.index(self.keys[at]) as u32 }
    }

    #[inline(always)]
    fn reference(&self, side: usize, at: usize) -> PrimitiveRef {
        let Primitive { geometry, index } = self.primitive(side, at);
        PrimitiveRef::EMPTY.with_words(index, geometry)
    }

    #[inline(always)]
    fn prefetch(&self, _: usize, _: usize) {}
}
