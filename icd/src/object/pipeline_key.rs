//! Keys of pipelines (`vkGetPipelineKeyKHR`): equal keys are those of pipelines with equal
//! binaries.

use super::pipeline::{Pipeline, StageCreateInfo};
use super::pipeline_binary::Key;
use super::pipeline_layout::PipelineLayout;
use crate::shader_compiler::compile::ForwardingHasher;
use crate::shader_compiler::identifier::Identifier;
use crate::shader_compiler::sealed;
use crate::shader_compiler::tiered::Policy;
use jit::code::serialize::Serialize;
use std::hash::Hash;
use std::sync::Arc;

/// Returns the key that applies to all pipelines: data of a device with another one is refused. It
/// depends on the key of user and build, on the processor, and on the tier that is used.
pub fn global_key(policy: Policy) -> Key {
    let mut bytes = Vec::new();
    jit::host::cpu_features().write(&mut bytes);
    (policy.first() as u32).write(&mut bytes);
    sealed::fingerprint(&bytes)
}

/// Returns the key of a pipeline of its own stages and of those of libraries: equal keys are those
/// of pipelines with equal binaries. The words of an own stage are those of its module's identifier
/// ([`identifier_words`]).
pub fn pipeline_key<'a>(
    policy: Policy,
    stages: impl Iterator<Item = &'a StageCreateInfo>,
    layout: &PipelineLayout,
    libraries: &[Arc<Pipeline>],
) -> Key {
    let mut bytes = global_key(policy).to_vec();
    for info in stages {
        let StageCreateInfo { stage, words, module: _, entry, specialization, heap, origin: _ } = info;
        (stage, words, entry, specialization, &layout.info.sets, heap)
            .hash(&mut ForwardingHasher::into_bytes(&mut bytes));
        if heap.is_some() {
            layout.embedded_samplers(*stage).write(&mut bytes);
        }
    }
    for library in libraries {
        for code in library.code() {
            let request = code.request();
            (code.key().words(), code.key().parameters()).hash(&mut ForwardingHasher::into_bytes(&mut bytes));
            if let (Some(_), Some(layout)) = (&request.layout.heap, library.layout()) {
                layout.embedded_samplers(request.stage).write(&mut bytes);
            }
        }
    }
    *blake3::hash(&bytes).as_bytes()
}

/// Returns the bytes of an identifier as words, which take the place of a module's words in the
/// description of a stage from which only a key is made.
pub fn identifier_words(identifier: &Identifier) -> Arc<[u32]> {
    identifier.0.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}
