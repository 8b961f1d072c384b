//! Image operations whose view or sampler differs between lanes: one kernel call per distinct pair, each by its own view's kernel.
//!
//! Where descriptors differ from quad to quad, as they do at the edges of objects, two views of one format are sampled together (`PairKernel`).

use super::words::row;
use base::abi::{ImageArgs, ImageView, KERNEL_SAMPLE, MAX_LANES, Sampler};
use base::host::{Host, Ints, Level};

base::compiled! {
    /// [`waterfall`].
    unsafe extern "C" fn divergent
        (views: *const *const ImageView, samplers: *const *const Sampler, args: *mut ImageArgs) {
        match (*args).kernel as usize >= KERNEL_SAMPLE {
            true => waterfall::<H, false>(views, samplers, args),
            false => waterfall::<H, true>(views, samplers, args),
        }
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

/// The lanes whose pointer is `one`.
///
/// Without branches, as which lanes agree is a riddle; and pointer by pointer, volatile, because generated code has just stored them so: the
/// compiler's vectors would wait for the stores.
///
/// # Safety
/// The pointers are readable.
#[inline(always)]
unsafe fn equal<T>(all: *const *const T, one: *const T) -> u32 {
    let mut same = 0;
    for lane in 0..MAX_LANES {
        // SAFETY: the caller's promise.
        same |= u32::from(unsafe { all.add(lane).read_volatile() } == one) << lane;
    }
    same
}

/// Do all lanes of each quad have the pointer of its first one?
///
/// # Safety
/// The pointers are readable.
#[inline(always)]
unsafe fn by_quads<T>(all: *const *const T) -> bool {
    let mut differs = 0;
    for lane in [1, 2, 3, 5, 6, 7] {
        // SAFETY: the caller's promise. Volatile: see `equal`.
        differs |= unsafe { all.add(lane).read_volatile().addr() ^ all.add(lane & 4).read_volatile().addr() };
    }
    differs == 0
}

/// Samples two quads with a view each (which may be one: that is no branch to be guessed) and one sampler at once, if that is what they are.
///
/// # Safety
/// As for [`image_divergent`].
#[inline(always)]
unsafe fn pair(views: *const *const ImageView, samplers: *const *const Sampler, args: *mut ImageArgs) -> bool {
    let mut done = false;
    // SAFETY: the caller's promise: both quads have wanted lanes, whose pointers are valid.
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

/// One call per distinct pair. `LONG`: results may be integers of 64 bits, as no sample's are.
///
/// # Safety
/// As for [`image_divergent`]; the host is `H`.
#[inline(always)]
unsafe fn waterfall<H: Host, const LONG: bool>(
    views: *const *const ImageView,
    samplers: *const *const Sampler,
    args: *mut ImageArgs,
) {
    // SAFETY: the caller's promise. Pointers of lanes outside the mask are read, but not followed.
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
            let lanes = H::Ints::spread(same);
            for (all, new) in result.iter_mut().zip(&(*args).result) {
                *all = lanes.select(row::<H, _>(new), *all);
            }
            if LONG {
                for (all, new) in high.iter_mut().zip(&(*args).result_high) {
                    *all = lanes.select(row::<H, _>(new), H::Ints::of(*all)).lanes();
                }
            }
            left &= !same;
        }
        for (to, lanes) in (*args).result.iter_mut().zip(result) {
            *to = lanes.lanes();
        }
        if LONG {
            (*args).result_high = high;
        }
        (*args).mask = mask;
    }
}
