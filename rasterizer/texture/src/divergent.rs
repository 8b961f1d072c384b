//! Image operations whose view or sampler differs between lanes: one kernel call per distinct pair,
//! each by the kernel of its view.
//!
//! At the edges of objects, descriptors often differ from quad to quad; two views of one format are
//! then sampled together (`PairKernel`).

use super::words::row;
use base::abi::{ImageArgs, ImageView, KERNEL_SAMPLE, MAX_LANES, Sampler};
use base::host::{Host, Ints, SimdLevel};

base::multiversion! {
    /// Calls [`waterfall`] with results of the width that the kernel needs.
    unsafe extern "code" fn divergent
        (views: *const *const ImageView, samplers: *const *const Sampler, args: *mut ImageArgs) {
        match (*args).kernel as usize >= KERNEL_SAMPLE {
            true => waterfall::<H, false>(views, samplers, args),
            false => waterfall::<H, true>(views, samplers, args),
        }
    }
}

/// Executes an image operation with divergent descriptors (`HelperTable::image_divergent`).
///
/// # Safety
/// The requirements of the helper hold. `views` (and `samplers`, unless null) have
/// [`MAX_LANES`] entries, valid for the lanes of `args.mask`. `args` is a filled argument block
/// whose `kernel` is a kernel index.
#[base::code_fn]
pub unsafe extern "code" fn image_divergent(
    views: *const *const ImageView,
    samplers: *const *const Sampler,
    args: *mut ImageArgs,
) {
    // SAFETY: the requirements of the helper hold (`# Safety`), and the level is the host's
    // own.
    unsafe { divergent(SimdLevel::detect())(views, samplers, args) }
}

/// Returns the lanes whose pointer is `one`.
///
/// There are no branches, because the lanes that agree cannot be predicted. Each pointer is read
/// alone and volatile, because generated code has just stored them one by one: the compiler's
/// vector loads would wait for the stores.
///
/// # Safety
/// The pointers are readable.
#[inline(always)]
unsafe fn equal<T>(all: *const *const T, one: *const T) -> u32 {
    let mut same = 0;
    for lane in 0..MAX_LANES {
        // SAFETY: the pointers are readable (`# Safety`).
        same |= u32::from(unsafe { all.add(lane).read_volatile() } == one) << lane;
    }
    same
}

/// Returns true if all lanes of each quad have the pointer of the quad's first lane.
///
/// # Safety
/// The pointers are readable.
#[inline(always)]
unsafe fn by_quads<T>(all: *const *const T) -> bool {
    let mut differs = 0;
    for lane in [1, 2, 3, 5, 6, 7] {
        // SAFETY: the pointers are readable (`# Safety`). They are read volatile for the reason
        // given at `equal`.
        differs |= unsafe { all.add(lane).read_volatile().addr() ^ all.add(lane & 4).read_volatile().addr() };
    }
    differs == 0
}

/// Samples two quads with one view each and one sampler at once, and returns true, if the lanes
/// have such descriptors. (Both views may be the same, which avoids a branch that cannot be
/// predicted.)
///
/// # Safety
/// The requirements of [`image_divergent`] hold.
#[inline(always)]
unsafe fn pair(views: *const *const ImageView, samplers: *const *const Sampler, args: *mut ImageArgs) -> bool {
    let mut done = false;
    // SAFETY: both quads have wanted lanes, whose pointers are valid (`# Safety`).
    unsafe {
        let mask = (*args).mask;
        let sampled = (*args).kernel as usize == KERNEL_SAMPLE && !samplers.is_null();
        if !sampled || mask & 0x0f == 0 || mask & 0xf0 == 0 || !by_quads(views) || !by_quads(samplers) {
            return false;
        }
        let (both, sampler) = ([*views, *views.add(4)], *samplers);
        let one_function = (*both[0]).pair as usize == (*both[1]).pair as usize;
        if sampler == *samplers.add(4) && one_function {
            ((*both[0]).pair)(&both, sampler, args, &mut done);
        }
    }
    done
}

/// Makes one call per distinct pair. With `LONG`, results may be 64-bit integers, which samples
/// never return.
///
/// # Safety
/// The requirements of [`image_divergent`] hold; the host is `H`.
#[inline(always)]
unsafe fn waterfall<H: Host, const LONG: bool>(
    views: *const *const ImageView,
    samplers: *const *const Sampler,
    args: *mut ImageArgs,
) {
    // SAFETY: the requirements of `image_divergent` hold (`# Safety`). Pointers of lanes outside
    // the mask are read, but not dereferenced.
    unsafe {
        if pair(views, samplers, args) {
            return;
        }
        let mask = (*args).mask & ((1 << MAX_LANES) - 1);
        // A kernel may write results of lanes outside its mask.
        let mut result = [H::Ints::splat(0); 4];
        let mut high = [[0; MAX_LANES]; 4];
        let mut left = mask;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            let (view, mut sampler) = (*views.add(lane), std::ptr::null());
            let mut same = equal(views, view) & left;
            if !samplers.is_null() {
                sampler = *samplers.add(lane);
                same &= equal(samplers, sampler);
            }
            let mut kernel = (*args).kernel as usize;
            if kernel == KERNEL_SAMPLE && !sampler.is_null() {
                kernel += (*sampler).class as usize;
            }
            (*args).mask = same;
            ((*view).kernels[kernel])(view, sampler, args);
            let lanes = H::Ints::from_mask(same);
            for (all, new) in result.iter_mut().zip(&(*args).result) {
                *all = lanes.select(row::<H, _>(new), *all);
            }
            if LONG {
                for (all, new) in high.iter_mut().zip(&(*args).result_high) {
                    *all = lanes.select(row::<H, _>(new), H::Ints::from_array(*all)).to_array();
                }
            }
            left &= !same;
        }
        for (to, lanes) in (*args).result.iter_mut().zip(result) {
            *to = lanes.to_array();
        }
        if LONG {
            (*args).result_high = high;
        }
        (*args).mask = mask;
    }
}
