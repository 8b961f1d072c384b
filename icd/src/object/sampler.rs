//! Samplers, and sampler Y'CbCr conversions.

use base::abi;
use base::format::{Format, features};
use rasterizer::sample::Conversion;

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

/// `VkSamplerYcbcrConversion`. A sampler with one is as any other: it is the view that converts, which has the same one.
pub struct YcbcrConversion {
    /// Everything but the format.
    pub conversion: Conversion,
}

impl YcbcrConversion {
    /// May images of a format be converted?
    pub fn has(format: Format) -> bool {
        format.info().image_features & (features::MIDPOINT_CHROMA_SAMPLES | features::COSITED_CHROMA_SAMPLES) != 0
    }
}
