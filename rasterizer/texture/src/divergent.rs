//! Image operations whose view or sampler differs between lanes: one kernel call per distinct pair,
//! each by the kernel of its view.
//!
//! At the edges of objects, descriptors often differ from quad to quad; two views of one format are
//! then sampled together (`PairKernel`).

use super::memory::ValidView;
use super::words::row;
use base::abi::{ImageArgs, ImageView, KERNEL_SAMPLE, MAX_LANES, Sampler};
use base::host::{Host, Ints, SimdLevel};

base::multiversion! {
    /// Calls [`waterfall`] with results of the width that the kernel needs.
    unsafe extern "code" fn divergent
        (views: *const *const ImageView, samplers: *const *const Sampler, args: *mut ImageArgs) {
        let (all, args) = (Descriptors::new(views, samplers, (*args).mask), &mut *args);
        match args.kernel as usize >= KERNEL_SAMPLE {
            true => waterfall::<H, false>(HOST, all, args),
            false => waterfall::<H, true>(HOST, all, args),
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

/// The descriptors of all lanes: addresses, of which those of the lanes of a call's mask are valid.
struct LanePointers<'a, T>(&'a [*const T; MAX_LANES]);

impl<T> Clone for LanePointers<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for LanePointers<'_, T> {}

impl<T> LanePointers<'_, T> {
    /// Returns the pointer of a lane.
    ///
    /// It is read volatile, because generated code has just stored pointers one by one: the
    /// compiler's vector loads would wait for the stores.
    #[inline(always)]
    fn of(self, lane: usize) -> *const T {
        // SAFETY: a reference is readable.
        unsafe { core::ptr::from_ref(&self.0[lane % MAX_LANES]).read_volatile() }
    }

    /// Returns the lanes whose pointer is `one`. There are no branches, because the lanes that
    /// agree cannot be predicted.
    #[inline(always)]
    fn equal(self, one: *const T) -> u32 {
        let mut same = 0;
        for lane in 0..MAX_LANES {
            same |= u32::from(self.of(lane) == one) << lane;
        }
        same
    }

    /// Returns true if all lanes of each quad have the pointer of the quad's first lane.
    #[inline(always)]
    fn by_quads(self) -> bool {
        let mut differs = 0;
        for lane in [1, 2, 3, 5, 6, 7] {
            differs |= self.of(lane).addr() ^ self.of(lane & 4).addr();
        }
        differs == 0
    }
}

/// The descriptors of a call.
#[derive(Clone, Copy)]
struct Descriptors<'a> {
    views: LanePointers<'a, ImageView>,
    samplers: Option<LanePointers<'a, Sampler>>,
    /// Lanes whose descriptors are valid.
    mask: u32,
}

impl<'a> Descriptors<'a> {
    /// # Safety
    /// Both arrays have [`MAX_LANES`] entries, unless that of samplers is null. Those of the lanes
    /// in `mask` are valid for the lifetime, in the way that [`ValidView::new`] states.
    #[inline(always)]
    unsafe fn new(views: *const *const ImageView, samplers: *const *const Sampler, mask: u32) -> Descriptors<'a> {
        // SAFETY: the arrays have as many entries (`# Safety`).
        let (views, samplers) = unsafe { (&*views.cast(), samplers.cast::<[*const Sampler; MAX_LANES]>().as_ref()) };
        let (views, samplers) = (LanePointers(views), samplers.map(LanePointers));
        Descriptors { views, samplers, mask: mask & ((1 << MAX_LANES) - 1) }
    }

    /// Returns the descriptors of a lane in the mask.
    #[inline(always)]
    fn of(self, lane: usize) -> Option<(ValidView<'a>, Option<&'a Sampler>)> {
        if self.mask >> lane & 1 == 0 {
            return None;
        }
        let sampler = self.samplers.map_or(core::ptr::null(), |samplers| samplers.of(lane));
        // SAFETY: the lane's descriptors are valid, because it is in the mask.
        Some(unsafe { (ValidView::new(self.views.of(lane)), sampler.as_ref()) })
    }
}

/// Samples two quads with one view each and one sampler at once, and returns true, if the lanes
/// have such descriptors. (Both views may be the same, which avoids a branch that cannot be
/// predicted.)
#[inline(always)]
fn pair(all: Descriptors<'_>, args: &mut ImageArgs) -> bool {
    let Some(samplers) = all.samplers.filter(|_| args.kernel as usize == KERNEL_SAMPLE) else { return false };
    let mask = all.mask;
    if mask & 0x0f == 0 || mask & 0xf0 == 0 || !all.views.by_quads() || !samplers.by_quads() {
        return false;
    }
    // All lanes of a quad have the descriptors of one that is in the mask.
    let lanes = [mask.trailing_zeros() as usize, 31 - mask.leading_zeros() as usize];
    let (Some((first, Some(sampler))), Some((second, Some(other)))) = (all.of(lanes[0]), all.of(lanes[1])) else {
        return false;
    };
    core::ptr::eq(sampler, other) && first.sample_pair(second, sampler, args)
}

/// Makes one call per distinct pair. With `LONG`, results may be 64-bit integers, which samples
/// never return.
#[inline(always)]
fn waterfall<H: Host, const LONG: bool>(host: H, all: Descriptors<'_>, args: &mut ImageArgs) {
    if pair(all, args) {
        return;
    }
    // A kernel may write results of lanes outside its mask.
    let mask = args.mask;
    let mut result = [H::Ints::splat(0); 4];
    let mut high = [[0; MAX_LANES]; 4];
    let mut left = all.mask;
    while left != 0 {
        let Some((view, sampler)) = all.of(left.trailing_zeros() as usize) else { break };
        let mut same = all.views.equal(&raw const *view) & left;
        if let Some((samplers, sampler)) = all.samplers.zip(sampler) {
            same &= samplers.equal(sampler);
        }
        let mut kernel = args.kernel as usize;
        if let Some(sampler) = sampler.filter(|_| kernel == KERNEL_SAMPLE) {
            kernel += sampler.class as usize;
        }
        args.mask = same;
        view.kernel(kernel).call(view, sampler, args);
        let lanes = H::Ints::from_mask(same);
        for (all, new) in result.iter_mut().zip(&args.result) {
            *all = lanes.select(row(host, new), *all);
        }
        if LONG {
            for (all, new) in high.iter_mut().zip(&args.result_high) {
                *all = lanes.select(row(host, new), H::Ints::from_array(*all)).to_array();
            }
        }
        left &= !same;
    }
    for (to, lanes) in args.result.iter_mut().zip(result) {
        *to = lanes.to_array();
    }
    if LONG {
        args.result_high = high;
    }
    args.mask = mask;
}
