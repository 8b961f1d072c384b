//! One sampling operation of many chunks, one after the other, with little in between, so that the processor works on several.

use base::abi::{ImageArgs, ImageKernel, ImageView, KERNEL_SAMPLE, MAX_LANES, Sampler};

/// Two coordinates of a chunk.
pub type Coords = [[u32; MAX_LANES]; 2];
/// What comes of them.
pub type Results = [[u32; MAX_LANES]; 4];

/// How many chunks have their levels computed at once: their quads are a vector.
#[cfg(target_arch = "x86_64")]
pub const SEVERAL: usize = 4;

/// The chunks that are still to be sampled: where their coordinates and results lie.
pub struct ChunkRows {
    coords: *const Coords,
    results: *mut Results,
    count: usize,
}

impl ChunkRows {
    /// # Safety
    /// There are as many of both, as long as this lives.
    #[inline(always)]
    pub unsafe fn new(coords: *const f32, results: *mut u32, count: u32) -> ChunkRows {
        ChunkRows { coords: coords.cast(), results: results.cast(), count: count as usize }
    }

    /// The rows of the next chunk.
    #[inline(always)]
    pub fn next(&mut self) -> Option<(*const Coords, *mut Results)> {
        self.count = self.count.checked_sub(1)?;
        let rows = (self.coords, self.results);
        (self.coords, self.results) = (rows.0.wrapping_add(1), rows.1.wrapping_add(1));
        Some(rows)
    }

    /// The rows of the next two chunks, if there are two.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn two(&mut self) -> Option<[(*const Coords, *mut Results); 2]> {
        if self.count < 2 {
            return None;
        }
        Some([self.next()?, self.next()?])
    }

    /// The coordinates of the chunk that is the next one.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn first(&self) -> Option<*const Coords> {
        (self.count > 0).then_some(self.coords)
    }

    /// The rows of the next chunks, and how many there are; the last one's in place of those that are not.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn several(&mut self) -> ([(*const Coords, *mut Results); SEVERAL], usize) {
        let count = self.count.min(SEVERAL);
        let rows = std::array::from_fn(|i| {
            let i = i.min(count.saturating_sub(1));
            (self.coords.wrapping_add(i), self.results.wrapping_add(i))
        });
        self.count -= count;
        (self.coords, self.results) = (self.coords.wrapping_add(count), self.results.wrapping_add(count));
        (rows, count)
    }

    /// All by a kernel for one.
    ///
    /// # Safety
    /// The kernel's.
    #[inline(always)]
    pub unsafe fn one_by_one(
        &mut self,
        view: *const ImageView,
        sampler: *const Sampler,
        args: *mut ImageArgs,
        kernel: ImageKernel,
    ) {
        while let Some(rows) = self.next() {
            // SAFETY: the caller's promise.
            unsafe { chunk(view, sampler, args, kernel, rows) };
        }
    }
}

/// A chunk by a kernel.
///
/// # Safety
/// The kernel's; the rows are of a chunk.
#[inline(always)]
pub unsafe fn chunk(
    view: *const ImageView,
    sampler: *const Sampler,
    args: *mut ImageArgs,
    kernel: ImageKernel,
    (coords, results): (*const Coords, *mut Results),
) {
    // SAFETY: the caller's promise.
    unsafe {
        (&raw mut (*args).coord).cast::<Coords>().write(coords.read());
        kernel(view, sampler, args);
        results.write((*args).result);
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
    // SAFETY: the caller's promise.
    unsafe { ((*view).chunks)(view, sampler, args, coords, results, chunks) }
}

/// The kernel of the sampler's class.
///
/// # Safety
/// Both are valid.
#[inline(always)]
pub unsafe fn kernel_of(view: *const ImageView, sampler: *const Sampler) -> ImageKernel {
    // SAFETY: the caller's promise.
    unsafe { (*view).kernels[KERNEL_SAMPLE + (*sampler).class as usize] }
}
