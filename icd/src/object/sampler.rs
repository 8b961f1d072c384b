//! Samplers.

use base::abi;

/// `VkSampler`.
pub struct Sampler {
    /// As shaders see it.
    pub sampler: Box<abi::Sampler>,
}

impl Sampler {
    /// A sampler; its class is chosen here.
    pub fn new(sampler: abi::Sampler) -> Sampler {
        Sampler { sampler: Box::new(rasterizer::sample::new_sampler(sampler)) }
    }
}
