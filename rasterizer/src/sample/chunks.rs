//! One sampling operation of many chunks: the kernel is called for one after the other, with little in between, so that the processor works on several.

use base::abi::{ImageArgs, ImageView, KERNEL_SAMPLE, MAX_LANES, Sampler};
use base::host::Level;

type Row = [u32; MAX_LANES];

base::compiled! {
    unsafe extern "C" fn chunks_of
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs, coords: *const f32, results: *mut u32, chunks: u32) {
        let kernel = (*view).kernels[KERNEL_SAMPLE + (*sampler).class as usize];
        let (coords, results) = (coords.cast::<[Row; 2]>(), results.cast::<[Row; 4]>());
        for chunk in 0..chunks as usize {
            (&raw mut (*args).coord).cast::<[Row; 2]>().write(coords.add(chunk).read());
            kernel(view, sampler, args);
            results.add(chunk).write((*args).result);
        }
    }
}

/// `HelperTable::sample_chunks`.
///
/// # Safety
/// As for the helper: a valid view and sampler, filled arguments, and as many chunks of coordinates and results.
pub unsafe extern "C" fn sample_chunks(
    view: *const ImageView,
    sampler: *const Sampler,
    args: *mut ImageArgs,
    coords: *const f32,
    results: *mut u32,
    chunks: u32,
) {
    // SAFETY: the caller's promise; the host's level.
    unsafe { chunks_of(Level::here())(view, sampler, args, coords, results, chunks) }
}
