//! Sampler classes: what is known of a sampler when it is created picks one of a view's kernels; and what kernels for the commonest samples ask first.

#![forbid(unsafe_code)]

use base::abi::{Dim, ImageArgs, ImageView, LodMode, MAX_LANES, SampleOp, Sampler};

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

/// The bias and the least level of detail of implicit samples, if all lanes have the same.
#[inline(always)]
pub fn one_of_all(args: &ImageArgs) -> Option<[f32; 2]> {
    let all = [args.lod[0], args.min_lod[0]];
    let same = |lanes: &[f32; MAX_LANES], one: f32| lanes.iter().all(|lane| lane.to_bits() == one.to_bits());
    (args.lod_mode == LodMode::Implicit && same(&args.lod, all[0]) && same(&args.min_lod, all[1])).then_some(all)
}

/// A sample of a 2D view as it is, with both axes wrapped by the same mode?
#[inline(always)]
pub fn is_common(view: &ImageView, sampler: &Sampler, args: &ImageArgs) -> bool {
    let plain = args.op == SampleOp::Sample && args.has_offset == 0;
    // (Of one layer every coordinate is.)
    let one = view.arrayed == 0 || view.layers == 1;
    let flat = view.dim == Dim::D2 && one && view.swizzle == [0, 1, 2, 3];
    plain && flat && sampler.address_mode[0] == sampler.address_mode[1]
}

/// Does another level than the first one matter?
#[inline(always)]
pub fn is_detailed(view: &ImageView, sampler: &Sampler) -> bool {
    view.levels > 1 && (sampler.max_lod > 0.0 || view.min_lod > 0.0)
}
