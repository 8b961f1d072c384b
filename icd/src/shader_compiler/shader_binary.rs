//! Binaries of shader objects: the request of a stage with its code, sealed ([`super::sealed`]).
//!
//! A binary has everything on which the stage's code depends, except its set layouts. These come
//! from the creation that uses the binary, and the code is used only if the key of the whole
//! request ([`StageRequest::key`]) has the parameters that the binary names: code that finds
//! descriptors by one layout must not run with sets of another. A stage that uses descriptor heaps
//! has no set layouts; its binary has its mappings and embedded samplers.
//!
//! The code is that of the first tier, so that a binary does not depend on how long the stage has
//! run.

#![forbid(unsafe_code)]

use super::compile::{StageKey, StageRequest};
use super::heap_resources::HeapResources;
use super::sealed::{Purpose, open, seal};
use super::stage_entry::{self, StageEntry};
use super::tiered::TieredCode;
use crate::fallible;
use base::shader::{PipelineLayoutInfo, Stage};
use jit::code::serialize::Serialize;
use jit::spirv::Specialization;
use std::sync::Arc;

/// An opened binary.
#[derive(Debug, PartialEq)]
pub struct ShaderBinary {
    entry: String,
    specialization: Specialization,
    heap: Option<HeapResources>,
    /// Key of the request, which includes its layout.
    key: StageKey,
    /// Stored form of the code.
    code: Vec<u8>,
}

/// The stage of a binary, for a layout.
pub struct BinaryStage {
    /// Key of the request.
    pub key: StageKey,
    /// Request of the stage.
    pub request: StageRequest,
    /// Stored form of the code.
    pub code: Vec<u8>,
}

impl ShaderBinary {
    /// Returns the binary of a stage with these mappings to descriptor heaps, if it uses those;
    /// waits for its code. `None` means that there is no memory, no code, or no key to seal it
    /// with.
    pub fn of(stage: &TieredCode, heap: Option<HeapResources>) -> Option<Vec<u8>> {
        let request = stage.request();
        let binary = ShaderBinary {
            entry: request.entry.clone(),
            specialization: request.specialization.clone(),
            heap,
            key: stage.key().clone(),
            code: stage.first_bytes()?,
        };
        seal(Purpose::ShaderBinary, &binary.to_bytes()?)
    }

    /// Opens a binary. `None` means that it was not made by this build for this user, or is
    /// damaged, or that there is no memory.
    pub fn open(data: &[u8]) -> Option<ShaderBinary> {
        ShaderBinary::from_bytes(&open(Purpose::ShaderBinary, data)?)
    }

    /// Returns true if a creation with these mappings to descriptor heaps may use the binary;
    /// `None` is a creation that uses no heaps. Mappings that the creation gives must be those of
    /// the binary, and it may give none.
    pub fn fits(&self, given: Option<&HeapResources>) -> bool {
        match (given, &self.heap) {
            (None, None) => true,
            (Some(given), Some(own)) => *given == HeapResources::default() || given == own,
            _ => false,
        }
    }

    /// Returns the mappings to descriptor heaps, if the stage uses those.
    pub fn heap(&self) -> Option<&HeapResources> {
        self.heap.as_ref()
    }

    /// Returns the stage with its code; `None` if the binary is of another stage, or of another
    /// layout.
    pub fn into_stage(self, stage: Stage, layout: Arc<PipelineLayoutInfo>) -> Option<BinaryStage> {
        let ShaderBinary { entry, specialization, heap: _, key, code } = self;
        let words = key.words().clone();
        let request = StageRequest { words, stage, entry, specialization, layout, is_validated: true };
        (request.key() == key).then_some(BinaryStage { key, request, code })
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut to = Vec::new();
        self.specialization.write(&mut to);
        self.entry.write(&mut to);
        self.heap.write(&mut to);
        fallible::reserve(&mut to, stage_entry::size(&self.key, &self.code)).ok()?;
        stage_entry::append(&self.key, &self.code, &mut to);
        Some(to)
    }

    /// Reads what [`ShaderBinary::to_bytes`] returns. `None` means that the bytes are something
    /// else, or that there is no memory.
    fn from_bytes(bytes: &[u8]) -> Option<ShaderBinary> {
        // All parts are copied.
        fallible::available(bytes.len()).ok()?;
        let from = &mut &*bytes;
        let specialization = Specialization::read(from)?;
        let entry = String::read(from)?;
        let heap = Serialize::read(from)?;
        let (stage, []) = StageEntry::split(from)? else { return None };
        let key = StageKey::new(stage.copy_words(), stage.parameters.into());
        Some(ShaderBinary { entry, specialization, heap, key, code: stage.code.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary() -> ShaderBinary {
        ShaderBinary {
            entry: "main".into(),
            specialization: Specialization {
                entries: vec![(3, vec![4, 5]), (u32::MAX, Vec::new())],
                subgroup_size: 16,
                patch_vertices: 3,
                view_index_from_device_index: true,
            },
            heap: Some(HeapResources { mappings: Vec::new(), samplers: vec![*texture::default_sampler()] }),
            key: StageKey::new([1, 2, u32::MAX].into(), [6; 7].into()),
            code: vec![8; 9],
        }
    }

    #[test]
    fn a_binary_round_trips() {
        let empty = StageKey::new(Arc::default(), [6; 7].into());
        let binaries = [binary(), ShaderBinary { heap: None, key: empty, code: Vec::new(), ..binary() }];
        for binary in binaries {
            let bytes = binary.to_bytes().expect("memory");
            assert_eq!(ShaderBinary::from_bytes(&bytes), Some(binary));
        }
    }

    /// Checks that bytes without a seal are read within their bounds, and that nothing else than
    /// a binary as a whole is one.
    #[test]
    fn other_bytes_are_no_binary() {
        let bytes = binary().to_bytes().expect("memory");
        for length in 0..bytes.len() {
            assert_eq!(ShaderBinary::from_bytes(&bytes[..length]), None, "truncated to {length}");
        }
        assert_eq!(ShaderBinary::from_bytes(&[&bytes[..], &[0]].concat()), None, "a byte more");
        for at in (0..bytes.len() - size_of::<u64>()).step_by(4) {
            for number in [u64::MAX, 1 << 63, 1 << 32, 1 << 20] {
                let mut changed = bytes.clone();
                changed[at..at + size_of::<u64>()].copy_from_slice(&number.to_le_bytes());
                if let Some(other) = ShaderBinary::from_bytes(&changed) {
                    assert_eq!(other.to_bytes(), Some(changed), "at {at}");
                }
            }
        }
    }

    #[test]
    fn only_the_same_stage_and_layout_use_a_binary() {
        let layout: Arc<PipelineLayoutInfo> = Arc::default();
        let other = Arc::new(PipelineLayoutInfo { sets: vec![Vec::new()], heap: None });
        let of = |stage, layout: &Arc<PipelineLayoutInfo>| {
            let ShaderBinary { entry, specialization, key, .. } = binary();
            let (words, layout) = (key.words().clone(), layout.clone());
            let request = StageRequest { words, stage, entry, specialization, layout, is_validated: true };
            ShaderBinary { key: request.key(), ..binary() }
        };
        let usable = |stage, layout: &Arc<PipelineLayoutInfo>| {
            let BinaryStage { request, code, .. } = of(Stage::Vertex, &other).into_stage(stage, layout.clone())?;
            Some((request.entry, code))
        };
        assert_eq!(usable(Stage::Vertex, &other), Some(("main".into(), vec![8; 9])));
        assert_eq!(usable(Stage::Fragment, &other), None);
        assert_eq!(usable(Stage::Vertex, &layout), None);
    }
}
