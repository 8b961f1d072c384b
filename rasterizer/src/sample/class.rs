//! Sampler classes: what is known of a sampler when it is created picks one of a view's kernels.

#![forbid(unsafe_code)]

use base::abi::Sampler;

/// One filter for everything, plain: nearest.
pub const NEAREST: u32 = 0;
/// Linear.
pub const LINEAR: u32 = 1;
/// Linear, anisotropic.
pub const ANISOTROPIC: u32 = 2;
/// Everything else; those above are the same kernel, free for more fast paths.
pub const GENERAL: u32 = 3;

/// The class of a sampler.
pub fn class_of(s: &Sampler) -> u32 {
    let plain = s.mag_filter == s.min_filter && s.compare_enable == 0 && s.unnormalized == 0 && s.reduction == 0;
    match (plain, s.max_anisotropy > 1.0, s.min_filter) {
        (true, false, 0) => NEAREST,
        (true, false, 1) => LINEAR,
        (true, true, 1) => ANISOTROPIC,
        _ => GENERAL,
    }
}
