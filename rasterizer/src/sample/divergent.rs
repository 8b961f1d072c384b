//! Image operations whose view or sampler differs between lanes: one kernel call per distinct pair.

use base::abi::{ImageArgs, ImageView, KERNEL_SAMPLE, MAX_LANES, Sampler};

/// The waterfall: `HelperTable::image_divergent`.
///
/// # Safety
/// As for the helper: `views` (and `samplers`, unless null) have [`MAX_LANES`] entries, valid for the lanes of `args.mask`; `args`
/// is a filled argument block whose `kernel` is a kernel index.
pub unsafe extern "C" fn image_divergent(
    views: *const *const ImageView,
    samplers: *const *const Sampler,
    args: *mut ImageArgs,
) {
    // SAFETY: the caller's promise. Lanes outside the mask are not read.
    unsafe {
        let mask = (*args).mask & ((1 << MAX_LANES) - 1);
        let pair = |lane: usize| {
            let sampler = if samplers.is_null() { std::ptr::null() } else { *samplers.add(lane) };
            (*views.add(lane), sampler)
        };
        // A kernel may write results of lanes outside its mask; collect them lane by lane.
        let mut result = (*args).result;
        let mut left = mask;
        while left != 0 {
            let (view, sampler) = pair(left.trailing_zeros() as usize);
            let mut same = 0;
            for lane in (0..MAX_LANES).filter(|lane| left >> lane & 1 != 0) {
                same |= u32::from(pair(lane) == (view, sampler)) << lane;
            }
            let mut kernel = (*args).kernel as usize;
            if kernel == KERNEL_SAMPLE && !sampler.is_null() {
                kernel += (*sampler).class as usize;
            }
            (*args).mask = same;
            ((*view).kernels[kernel])(view, sampler, args);
            for (all, new) in result.iter_mut().zip(&(*args).result) {
                for lane in (0..MAX_LANES).filter(|lane| same >> lane & 1 != 0) {
                    all[lane] = new[lane];
                }
            }
            left &= !same;
        }
        (*args).result = result;
        (*args).mask = mask;
    }
}
