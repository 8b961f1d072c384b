//! Sampler classes: properties that are known when a sampler is created select one of a view's
//! kernels. The module also has the conditions that kernels for the most frequent samples check
//! first.

#![forbid(unsafe_code)]

use base::abi::{Dim, ImageArgs, ImageView, LodMode, MAX_LANES, SampleOp, Sampler};

/// Class of plain samplers with one filter, which is nearest.
pub const NEAREST: u32 = 0;
/// Class of plain samplers with one filter, which is linear.
pub const LINEAR: u32 = 1;
/// Class of plain samplers with a linear filter and anisotropy.
pub const ANISOTROPIC: u32 = 2;
/// Class of all other samplers. Numbers above it select the same kernel and are free for more fast
/// paths.
pub const GENERAL: u32 = 3;

/// Returns the class of a sampler.
pub fn class_of(s: &Sampler) -> u32 {
    let plain = s.mag_filter == s.min_filter && s.compare_enable == 0 && s.unnormalized == 0 && s.reduction == 0;
    match (plain, s.max_anisotropy > 1.0, s.min_filter) {
        (true, false, 0) => NEAREST,
        (true, false, 1) => LINEAR,
        (true, true, 1) => ANISOTROPIC,
        _ => GENERAL,
    }
}

/// Returns the bias and the lower bound of the level of detail of implicit samples, if all lanes
/// have the same.
#[inline(always)]
pub fn one_of_all(args: &ImageArgs) -> Option<[f32; 2]> {
    let all = [args.lod[0], args.min_lod[0]];
    let same = |lanes: &[f32; MAX_LANES], one: f32| lanes.iter().all(|lane| lane.to_bits() == one.to_bits());
    (args.lod_mode == LodMode::Implicit && same(&args.lod, all[0]) && same(&args.min_lod, all[1])).then_some(all)
}

/// Returns true for a plain sample of a 2D view without a component mapping, with both axes wrapped
/// by the same mode.
#[inline(always)]
pub fn is_common(view: &ImageView, sampler: &Sampler, args: &ImageArgs) -> bool {
    let plain = args.op == SampleOp::Sample && args.has_offset == 0;
    // In a view of one layer, every layer coordinate selects that layer.
    let one = view.arrayed == 0 || view.layers == 1;
    let flat = view.dim == Dim::D2 && one && view.swizzle == [0, 1, 2, 3];
    plain && flat && sampler.address_mode[0] == sampler.address_mode[1]
}

/// Returns true if a level other than the first one can be sampled.
#[inline(always)]
pub fn is_detailed(view: &ImageView, sampler: &Sampler) -> bool {
    view.levels > 1 && (sampler.max_lod > 0.0 || view.min_lod > 0.0)
}
