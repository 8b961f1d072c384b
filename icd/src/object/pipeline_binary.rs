//! Pipeline binaries: the stored code of one stage each.
//!
//! A binary contains everything that the stage depends on: its words, the rest of its key, its
//! mappings to descriptor heaps with their samplers, and the code that is made first, which is the
//! same for all equal stages. Outside of the driver it is a sealed blob ([`sealed`]): what another
//! build, user or driver made, and what was changed since, is refused when a binary is created
//! from it. The key of a binary is the hash of its contents.

use super::pipeline_layout::PipelineLayout;
use crate::caps::newer as vk;
use crate::fallible;
use crate::shader_compiler::compile::StageRequest;
use crate::shader_compiler::compiler::Compiler;
use crate::shader_compiler::heap_resources::HeapResources;
use crate::shader_compiler::sealed::{self, Purpose};
use crate::shader_compiler::stage_entry::{self, StageEntry};
use crate::shader_compiler::tiered::TieredCode;
use base::shader::Stage;
use jit::code::serialize::Serialize;
use std::sync::Arc;

/// Key of a binary or of a pipeline.
pub type Key = [u8; vk::MAX_PIPELINE_BINARY_KEY_SIZE_KHR];

/// Object behind a `VkPipelineBinaryKHR`.
pub struct PipelineBinary {
    /// The contents in stored form: [`Head`], then the entry of the stage.
    payload: Vec<u8>,
    key: Key,
}

/// Reason why data is no pipeline binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadBinary {
    /// The data is damaged, forged, or of another build or user.
    NotAuthentic,
    /// The given key is not that of the data.
    WrongKey,
    /// The code is for another processor.
    OtherProcessor,
}

impl std::fmt::Display for BadBinary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BadBinary::NotAuthentic => "the data is damaged, or of another build or user",
            BadBinary::WrongKey => "the key is not that of the data",
            BadBinary::OtherProcessor => "the code is for another processor",
        })
    }
}

/// The part of a binary before the stage's entry.
struct Head {
    stage: Stage,
    heap: Option<HeapResources>,
}

impl Head {
    fn write(&self, to: &mut Vec<u8>) {
        self.stage.row().execution_model.write(to);
        self.heap.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Head> {
        let stage = Stage::from_execution_model(u32::read(from)?)?;
        Some(Head { stage, heap: Serialize::read(from)? })
    }
}

impl PipelineBinary {
    /// Makes the binary of a stage of a pipeline with this layout; waits for its code. `None` means
    /// that there is no memory or will be no code.
    pub fn of_stage(code: &TieredCode, layout: &PipelineLayout) -> Option<PipelineBinary> {
        let stage = code.request().stage;
        let heap = layout.heap_resources(code.request());
        let bytes = code.first_bytes()?;
        let mut payload = Vec::new();
        Head { stage, heap }.write(&mut payload);
        fallible::reserve(&mut payload, stage_entry::size(code.key(), &bytes)).ok()?;
        stage_entry::append(code.key(), &bytes, &mut payload);
        Some(PipelineBinary::of_payload(payload))
    }

    fn of_payload(payload: Vec<u8>) -> PipelineBinary {
        let key = *blake3::hash(&payload).as_bytes();
        PipelineBinary { payload, key }
    }

    /// Makes a binary of data that [`PipelineBinary::data`] has returned with this key.
    ///
    /// # Errors
    /// The reasons are those of [`BadBinary`].
    pub fn of_data(key: &[u8], data: &[u8]) -> Result<PipelineBinary, BadBinary> {
        let payload = sealed::open(Purpose::PipelineBinary, data).ok_or(BadBinary::NotAuthentic)?;
        let binary = PipelineBinary::of_payload(payload);
        if binary.key != key {
            return Err(BadBinary::WrongKey);
        }
        let (_, entry) = binary.parts().ok_or(BadBinary::NotAuthentic)?;
        jit::load_stored(entry.code).ok_or(BadBinary::OtherProcessor)?;
        Ok(binary)
    }

    fn parts(&self) -> Option<(Head, StageEntry<'_>)> {
        let mut from = &self.payload[..];
        let head = Head::read(&mut from)?;
        let (entry, []) = StageEntry::split(from)? else { return None };
        Some((head, entry))
    }

    /// Returns the key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the number of bytes of [`PipelineBinary::data`].
    pub fn size(&self) -> usize {
        sealed::PAYLOAD + self.payload.len()
    }

    /// Returns the data for the application; `None` if there is no memory or no key of the user.
    pub fn data(&self) -> Option<Vec<u8>> {
        sealed::seal(Purpose::PipelineBinary, &self.payload)
    }

    /// Returns the stage.
    pub fn stage(&self) -> Option<Stage> {
        Head::read(&mut &self.payload[..]).map(|head| head.stage)
    }

    /// Returns the words of the stage's module.
    pub fn words(&self) -> Option<Arc<[u32]>> {
        self.parts().map(|(_, entry)| entry.copy_words())
    }

    /// Returns the stage's mappings to descriptor heaps, if it uses those.
    pub fn heap(&self) -> Option<HeapResources> {
        self.parts()?.0.heap
    }

    /// Returns the stage of a request, which has the words of the binary. `None` means that the
    /// binary is that of another stage, or that there is no executable memory.
    pub fn code(&self, compiler: &Arc<Compiler>, request: StageRequest) -> Option<Arc<TieredCode>> {
        let (_, entry) = self.parts()?;
        let key = request.key();
        if key.parameters() != entry.parameters {
            return None;
        }
        compiler.stored_stage(key, request, entry.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shader_compiler::compile::StageKey;
    use base::random::XorshiftStar;
    use base::shader::{EmbeddedSampler, HeapIndex, HeapMapping, HeapPlace, MappingSource};

    /// Returns the contents of a binary with mappings of all kinds.
    fn payload() -> Vec<u8> {
        let place = |index| HeapPlace { offset: 1, array_stride: 2, index, index_stride: 3 };
        let heap = |resource, sampler| MappingSource::Heap {
            resource: place(resource),
            embedded: Some(EmbeddedSampler { set: 4, index: 5 }),
            sampler: place(sampler),
            combined: true,
        };
        let sources = [
            heap(HeapIndex::None, HeapIndex::Push(6)),
            heap(HeapIndex::Indirect { push: 7, offset: 8 }, HeapIndex::IndirectArray { push: 9, offset: 10 }),
            MappingSource::HeapData { offset: 11, push: 12 },
            MappingSource::PushData(13),
            MappingSource::PushAddress(14),
            MappingSource::IndirectAddress { push: 15, offset: 16 },
            heap(HeapIndex::Record(17), HeapIndex::None),
            MappingSource::RecordData(18),
            MappingSource::RecordAddress(19),
        ];
        let mapping = |source| HeapMapping { set: 1, first_binding: 2, binding_count: 3, resource_mask: 4, source };
        let sampler = base::abi::Sampler { lod_bias: 0.5, max_lod: 7.25, compare_op: 3, ..*texture::default_sampler() };
        let heap = HeapResources { mappings: sources.map(mapping).into(), samplers: vec![sampler] };
        let mut payload = Vec::new();
        Head { stage: Stage::Fragment, heap: Some(heap) }.write(&mut payload);
        stage_entry::append(&StageKey::new([1, 2].into(), [3; 4].into()), &[5; 6], &mut payload);
        payload
    }

    #[test]
    fn contents_round_trip() {
        let binary = PipelineBinary::of_payload(payload());
        assert_eq!((binary.stage(), binary.words().as_deref()), (Some(Stage::Fragment), Some(&[1, 2][..])));
        let heap = binary.heap().expect("mappings");
        assert_eq!((heap.mappings.len(), heap.samplers[0].max_lod), (9, 7.25));
        let mut again = Vec::new();
        Head { stage: Stage::Fragment, heap: Some(heap) }.write(&mut again);
        assert!(payload().starts_with(&again));
        // Authentic data is that of a binary whose code runs here.
        let data = binary.data().expect("a key");
        assert_eq!(data.len(), binary.size());
        assert_eq!(PipelineBinary::of_data(&binary.key, &data).err(), Some(BadBinary::OtherProcessor));
        assert_eq!(PipelineBinary::of_data(&[], &data).err(), Some(BadBinary::WrongKey));
        assert_eq!(PipelineBinary::of_data(&binary.key, &data[1..]).err(), Some(BadBinary::NotAuthentic));
    }

    /// Checks that reading is total, although authentic contents are well formed.
    #[test]
    fn malformed_contents_are_refused() {
        let good = payload();
        for length in 0..good.len() {
            assert!(PipelineBinary::of_payload(good[..length].to_vec()).words().is_none(), "{length}");
        }
        let mut rng = XorshiftStar::new(1);
        for _ in 0..20_000 {
            let mut bad = good.clone();
            for _ in 0..1 + rng.below(3) {
                let at = rng.below(bad.len());
                bad[at] = rng.next() as u8;
            }
            let binary = PipelineBinary::of_payload(bad);
            let _ = (binary.stage(), binary.words(), binary.heap());
        }
    }
}
