//! Binaries of shader objects: the request of a stage with its code, sealed ([`super::sealed`]).
//!
//! A binary has everything on which the stage's code depends, except its layout. The layout comes
//! from the creation that uses the binary, and the code is used only if the key of the whole
//! request ([`StageRequest::key`]) has the parameters that the binary names: code that finds
//! descriptors by one layout must not run with sets of another.
//!
//! The code is that of the first tier, so that a binary does not depend on how long the stage has
//! run.

#![forbid(unsafe_code)]

use super::compile::StageRequest;
use super::sealed::{Purpose, open, seal};
use super::tiered::TieredCode;
use crate::fallible;
use base::shader::{PipelineLayoutInfo, Stage};
use jit::spirv::Specialization;
use std::sync::Arc;

/// An opened binary.
#[derive(Debug, PartialEq, Eq)]
pub struct ShaderBinary {
    words: Arc<[u32]>,
    entry: String,
    specialization: Specialization,
    /// [`StageKey::parameters`](super::compile::StageKey::parameters) of the request.
    parameters: Vec<u8>,
    /// Stored form of the code.
    code: Vec<u8>,
}

impl ShaderBinary {
    /// Returns the binary of a stage; waits for its code. `None` means that there is no memory, no
    /// code, or no key to seal it with.
    pub fn of(stage: &TieredCode) -> Option<Vec<u8>> {
        let request = stage.request();
        let binary = ShaderBinary {
            words: request.words.clone(),
            entry: request.entry.clone(),
            specialization: request.specialization.clone(),
            parameters: stage.key().parameters().to_vec(),
            code: stage.first_bytes()?,
        };
        seal(Purpose::ShaderBinary, &binary.to_bytes()?)
    }

    /// Opens a binary. `None` means that it was not made by this build for this user, or is
    /// damaged, or that there is no memory.
    pub fn open(data: &[u8]) -> Option<ShaderBinary> {
        ShaderBinary::from_bytes(&open(Purpose::ShaderBinary, data)?)
    }

    /// Returns the request of the stage and the stored form of its code; `None` if the binary is of
    /// another stage, or of another layout.
    pub fn into_request(self, stage: Stage, layout: Arc<PipelineLayoutInfo>) -> Option<(StageRequest, Vec<u8>)> {
        let ShaderBinary { words, entry, specialization, parameters, code } = self;
        let request = StageRequest { words, stage, entry, specialization, layout, is_validated: true };
        (request.key().parameters() == parameters).then_some((request, code))
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        let Specialization { entries, subgroup_size, patch_vertices, view_index_from_device_index } =
            &self.specialization;
        let values: usize = entries.iter().map(|(_, value)| 2 * NUMBER + value.len()).sum();
        let lists = self.entry.len() + self.parameters.len() + self.code.len() + size_of_val(&*self.words);
        let mut to = Vec::new();
        fallible::reserve(&mut to, 8 * NUMBER + values + lists).ok()?;
        put_number(u64::from(*subgroup_size), &mut to);
        put_number(u64::from(*patch_vertices), &mut to);
        put_number(u64::from(*view_index_from_device_index), &mut to);
        put_number(entries.len() as u64, &mut to);
        for (id, value) in entries {
            put_number(u64::from(*id), &mut to);
            put_bytes(value, &mut to);
        }
        put_bytes(self.entry.as_bytes(), &mut to);
        put_bytes(&self.parameters, &mut to);
        put_bytes(&self.code, &mut to);
        put_number(self.words.len() as u64, &mut to);
        self.words.iter().for_each(|word| to.extend_from_slice(&word.to_le_bytes()));
        Some(to)
    }

    /// Reads what [`ShaderBinary::to_bytes`] returns. `None` means that the bytes are something
    /// else, or that there is no memory.
    fn from_bytes(bytes: &[u8]) -> Option<ShaderBinary> {
        let from = &mut &*bytes;
        let subgroup_size = u32::try_from(take_number(from)?).ok()?;
        let patch_vertices = u32::try_from(take_number(from)?).ok()?;
        let view_index_from_device_index = match take_number(from)? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let count = usize::try_from(take_number(from)?).ok()?;
        // Each entry has at least two numbers, so a false count cannot make a long list.
        fallible::available(count.min(from.len() / (2 * NUMBER)).checked_mul(size_of::<(u32, Vec<u8>)>())?).ok()?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let id = u32::try_from(take_number(from)?).ok()?;
            entries.push((id, take_bytes(from)?));
        }
        let entry = String::from_utf8(take_bytes(from)?).ok()?;
        let (parameters, code) = (take_bytes(from)?, take_bytes(from)?);
        let count = usize::try_from(take_number(from)?).ok()?;
        if count.checked_mul(size_of::<u32>())? != from.len() {
            return None;
        }
        fallible::available(from.len()).ok()?;
        let words = from.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let specialization = Specialization { entries, subgroup_size, patch_vertices, view_index_from_device_index };
        Some(ShaderBinary { words, entry, specialization, parameters, code })
    }
}

/// Number of bytes of a number.
const NUMBER: usize = size_of::<u64>();

fn put_number(number: u64, to: &mut Vec<u8>) {
    to.extend_from_slice(&number.to_le_bytes());
}

fn put_bytes(bytes: &[u8], to: &mut Vec<u8>) {
    put_number(bytes.len() as u64, to);
    to.extend_from_slice(bytes);
}

fn take_number(from: &mut &[u8]) -> Option<u64> {
    let (number, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(u64::from_le_bytes(*number))
}

fn take_bytes(from: &mut &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(take_number(from)?).ok()?;
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    fallible::to_vec(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary() -> ShaderBinary {
        ShaderBinary {
            words: [1, 2, u32::MAX].into(),
            entry: "main".into(),
            specialization: Specialization {
                entries: vec![(3, vec![4, 5]), (u32::MAX, Vec::new())],
                subgroup_size: 16,
                patch_vertices: 3,
                view_index_from_device_index: true,
            },
            parameters: vec![6; 7],
            code: vec![8; 9],
        }
    }

    #[test]
    fn a_binary_round_trips() {
        let binaries = [binary(), ShaderBinary { words: Arc::default(), code: Vec::new(), ..binary() }];
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
        for at in (0..bytes.len() - NUMBER).step_by(4) {
            for number in [u64::MAX, 1 << 63, 1 << 32, 1 << 20] {
                let mut changed = bytes.clone();
                changed[at..at + NUMBER].copy_from_slice(&number.to_le_bytes());
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
            let ShaderBinary { words, entry, specialization, .. } = binary();
            let layout = layout.clone();
            let request = StageRequest { words, stage, entry, specialization, layout, is_validated: true };
            ShaderBinary { parameters: request.key().parameters().to_vec(), ..binary() }
        };
        let usable = |stage, layout: &Arc<PipelineLayoutInfo>| {
            let (request, code) = of(Stage::Vertex, &other).into_request(stage, layout.clone())?;
            Some((request.entry, code))
        };
        assert_eq!(usable(Stage::Vertex, &other), Some(("main".into(), vec![8; 9])));
        assert_eq!(usable(Stage::Fragment, &other), None);
        assert_eq!(usable(Stage::Vertex, &layout), None);
    }
}
