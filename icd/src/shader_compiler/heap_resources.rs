//! The mappings of a stage's resources to descriptor heaps, with the samplers that they embed, as
//! binaries contain them: the creation that uses a binary need not give them again.

#![forbid(unsafe_code)]

use base::abi::Sampler;
use base::shader::HeapMapping;
use jit::code::serialize::Serialize;

/// Mappings of a stage's resources to descriptor heaps (VK_EXT_descriptor_heap).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeapResources {
    /// The mappings.
    pub mappings: Vec<HeapMapping>,
    /// The samplers that mappings embed, by the index that these name.
    pub samplers: Vec<Sampler>,
}

impl Serialize for HeapResources {
    fn write(&self, to: &mut Vec<u8>) {
        self.mappings.write(to);
        self.samplers.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<HeapResources> {
        Some(HeapResources { mappings: Serialize::read(from)?, samplers: Serialize::read(from)? })
    }
}
