//! Sampler classes: what is known of a sampler when it is created picks one of a view's kernels.

#![forbid(unsafe_code)]

use base::abi::Sampler;

/// One filter for everything, plain: nearest, linear; with mips chosen or blended.
pub const NEAREST: u32 = 0;
/// Linear, one level.
pub const LINEAR: u32 = 1;
/// Nearest, two levels blended.
pub const NEAREST_MIP_LINEAR: u32 = 2;
/// Linear, two levels blended.
pub const LINEAR_MIP_LINEAR: u32 = 3;
/// Everything else; 6, 7 are the same kernel, free for more fast paths.
pub const GENERAL: u32 = 4;
/// Linear, anisotropic; levels chosen or blended.
pub const ANISOTROPIC: u32 = 5;

/// The class of a sampler.
pub fn class_of(s: &Sampler) -> u32 {
    let plain = s.mag_filter == s.min_filter && s.compare_enable == 0 && s.unnormalized == 0 && s.reduction == 0;
    match (plain, s.max_anisotropy > 1.0, s.min_filter, s.mipmap_mode) {
        (true, false, 0, 0) => NEAREST,
        (true, false, 1, 0) => LINEAR,
        (true, false, 0, 1) => NEAREST_MIP_LINEAR,
        (true, false, 1, 1) => LINEAR_MIP_LINEAR,
        (true, true, 1, _) => ANISOTROPIC,
        _ => GENERAL,
    }
}
