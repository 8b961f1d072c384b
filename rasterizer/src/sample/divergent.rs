//! Image operations whose view or sampler differs between lanes: one kernel call per distinct pair, each by its own view's kernel.

use super::words::row;
use base::abi::{ImageArgs, ImageView, KERNEL_SAMPLE, MAX_LANES, Sampler};
use base::host::{Host, Ints, Level};

base::compiled! {
    /// [`waterfall`].
    unsafe extern "C" fn divergent
        (views: *const *const ImageView, samplers: *const *const Sampler, args: *mut ImageArgs) {
        waterfall::<H>(views, samplers, args);
    }
}

/// `HelperTable::image_divergent`.
///
/// # Safety
/// As for the helper: `views` (and `samplers`, unless null) have [`MAX_LANES`] entries, valid for the lanes of `args.mask`; `args`
/// is a filled argument block whose `kernel` is a kernel index.
pub unsafe extern "C" fn image_divergent(
    views: *const *const ImageView,
    samplers: *const *const Sampler,
    args: *mut ImageArgs,
) {
    // SAFETY: the caller's promise; the host's level.
    unsafe { divergent(Level::here())(views, samplers, args) }
}

/// The words of eight pointers.
///
/// # Safety
/// They are readable; the host is `H`.
#[inline(always)]
unsafe fn pointers<H: Host, T>(all: *const *const T) -> [H::Ints; 2] {
    const { assert!(size_of::<*const T>() == 8) };
    let at = |lane: usize| all.wrapping_add(lane).cast::<u8>();
    // SAFETY: the caller's promise.
    unsafe { H::halves_at(at(0), at(4)).unzip(H::halves_at(at(2), at(6))) }
}

/// 0 in the lanes whose pointer it is.
#[inline(always)]
fn differs<H: Host, T>(all: [H::Ints; 2], one: *const T) -> H::Ints {
    let bits = one as u64;
    (all[0] ^ H::Ints::splat(bits as u32)) | (all[1] ^ H::Ints::splat((bits >> 32) as u32))
}

/// # Safety
/// As for [`image_divergent`]; the host is `H`.
#[inline(always)]
unsafe fn waterfall<H: Host>(views: *const *const ImageView, samplers: *const *const Sampler, args: *mut ImageArgs) {
    // SAFETY: the caller's promise. Pointers of lanes outside the mask are read, but not followed.
    unsafe {
        let mask = (*args).mask & ((1 << MAX_LANES) - 1);
        let zero = H::Ints::splat(0);
        let all_views = pointers::<H, _>(views);
        let all_samplers = if samplers.is_null() { [zero; 2] } else { pointers::<H, _>(samplers) };
        // A kernel may write results of lanes outside its mask.
        let mut result = [zero; 4];
        let mut left = mask;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            let view = *views.add(lane);
            let sampler = if samplers.is_null() { std::ptr::null() } else { *samplers.add(lane) };
            let differs = differs::<H, _>(all_views, view) | differs::<H, _>(all_samplers, sampler);
            let same = differs.equal(zero).signs() & left;
            let mut kernel = (*args).kernel as usize;
            if kernel == KERNEL_SAMPLE && !sampler.is_null() {
                kernel += (*sampler).class as usize;
            }
            (*args).mask = same;
            ((*view).kernels[kernel])(view, sampler, args);
            let lanes = H::Ints::spread(same);
            for (all, new) in result.iter_mut().zip(&(*args).result) {
                *all = lanes.select(row::<H, _>(new), *all);
            }
            left &= !same;
        }
        for (to, lanes) in (*args).result.iter_mut().zip(result) {
            *to = lanes.lanes();
        }
        (*args).mask = mask;
    }
}
