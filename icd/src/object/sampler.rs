//! Samplers, and sampler Y'CbCr conversions.

use base::abi;
use base::format::{Format, features};
use texture::YcbcrConversion;

/// `VkSampler`.
pub struct Sampler {
    /// Sampler in the form that shaders use.
    pub sampler: Box<abi::Sampler>,
}

impl Sampler {
    /// Creates a sampler and chooses its class.
    pub fn new(sampler: abi::Sampler) -> Sampler {
        Sampler { sampler: Box::new(texture::new_sampler(sampler)) }
    }
}

/// `VkSamplerYcbcrConversion`. A sampler with a conversion is like any other: the view, which has
/// the same conversion, performs it.
pub struct SamplerYcbcrConversion {
    /// All parameters but the format.
    pub conversion: YcbcrConversion,
}

impl SamplerYcbcrConversion {
    /// Returns true if images of a format can be converted.
    pub fn has(format: Format) -> bool {
        format.info().image_features & (features::MIDPOINT_CHROMA_SAMPLES | features::COSITED_CHROMA_SAMPLES) != 0
    }
}
