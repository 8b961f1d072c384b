//! One sampling operation of many chunks, one after the other, with little in between, so that the processor works on several.
//!
//! Rows of coordinates and of results are a chunk's, or two chunks' (`ImageArgs::row_lanes`).

use super::words::Words;
use base::abi::{ImageArgs, ImageKernel, ImageView, KERNEL_SAMPLE, MAX_LANES, Sampler};
use base::host::{Host, Ints};

/// Rows of coordinates.
const COORDS: usize = 2;
/// Rows of what comes of them.
const RESULTS: usize = 4;

/// A chunk's coordinates.
pub type Coords = [[u32; MAX_LANES]; COORDS];
/// What comes of them.
pub type Results = [[u32; MAX_LANES]; RESULTS];

/// How many chunks have their levels computed at once: their quads are a vector.
pub const SEVERAL: usize = 4;

/// The chunks that are still to be sampled: where their coordinates and results lie.
#[derive(Clone, Copy)]
pub struct ChunkRows {
    next: ChunkAt,
    count: usize,
    /// How far it is to the next chunk's, and from there to the one after it: of coordinates and of results.
    steps: [[usize; 2]; 2],
}

/// A chunk's first rows, and how far apart rows are.
#[derive(Clone, Copy)]
pub struct ChunkAt {
    coords: *const f32,
    results: *mut f32,
    row_lanes: usize,
}

impl ChunkRows {
    /// # Safety
    /// There are as many of both, in rows of so many lanes, as long as this lives.
    #[inline(always)]
    pub unsafe fn new(coords: *const f32, results: *mut u32, count: u32, row_lanes: u32) -> ChunkRows {
        let row_lanes = row_lanes as usize;
        let own = row_lanes == MAX_LANES;
        let steps = [COORDS, RESULTS].map(|rows| if own { rows * MAX_LANES } else { MAX_LANES });
        let two = |rows: usize| 2 * rows * MAX_LANES;
        ChunkRows {
            next: ChunkAt { coords, results: results.cast(), row_lanes },
            count: count as usize,
            steps: [steps, [two(COORDS) - steps[0], two(RESULTS) - steps[1]]],
        }
    }

    /// The next chunk.
    #[inline(always)]
    pub fn next(&mut self) -> Option<ChunkAt> {
        self.count = self.count.checked_sub(1)?;
        let chunk = self.next;
        let [coords, results] = self.steps[0];
        self.next.coords = chunk.coords.wrapping_add(coords);
        self.next.results = chunk.results.wrapping_add(results);
        self.steps.swap(0, 1);
        Some(chunk)
    }

    /// The next two chunks, if there are two.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn two(&mut self) -> Option<[ChunkAt; 2]> {
        if self.count < 2 {
            return None;
        }
        Some([self.next()?, self.next()?])
    }

    /// The next chunks, and how many there are; the last one in place of those that are not.
    #[inline(always)]
    pub fn several(&mut self) -> ([ChunkAt; SEVERAL], usize) {
        let count = self.count.min(SEVERAL);
        let mut last = self.next;
        let chunks = std::array::from_fn(|_| {
            last = self.next().unwrap_or(last);
            last
        });
        (chunks, count)
    }

    /// All by a kernel for one. (A copy, which is not inlined: the next chunk stays in registers where others are sampled.)
    ///
    /// # Safety
    /// The kernel's.
    #[inline(never)]
    pub unsafe fn one_by_one(
        mut self,
        view: *const ImageView,
        sampler: *const Sampler,
        args: *mut ImageArgs,
        kernel: ImageKernel,
    ) {
        while let Some(chunk) = self.next() {
            // SAFETY: the caller's promise.
            unsafe { chunk.sample(view, sampler, args, kernel) };
        }
    }
}

impl ChunkAt {
    /// By a kernel.
    ///
    /// # Safety
    /// The kernel's.
    #[inline(always)]
    pub unsafe fn sample(
        self,
        view: *const ImageView,
        sampler: *const Sampler,
        args: *mut ImageArgs,
        kernel: ImageKernel,
    ) {
        // SAFETY: the caller's promise.
        unsafe { sample_at(self.coords, self.results, self.row_lanes, view, sampler, args, kernel) };
    }

    /// x and y.
    ///
    /// # Safety
    /// As for [`ChunkRows::new`]; the host is `H`.
    #[inline(always)]
    pub unsafe fn coords_of<H: Host>(self) -> [H::Floats; COORDS] {
        // SAFETY: the caller's promise: a row of each.
        let row = |axis: usize| unsafe { self.coords.add(axis * self.row_lanes).cast::<[u32; MAX_LANES]>().read() };
        [H::Ints::of(row(0)).as_floats(), H::Ints::of(row(1)).as_floats()]
    }

    /// Gives the components.
    ///
    /// # Safety
    /// As for [`ChunkRows::new`]; the host is `H`.
    #[inline(always)]
    pub unsafe fn give_words<H: Host>(self, components: Words<H>) {
        for (c, component) in components.into_iter().enumerate() {
            // SAFETY: the caller's promise: a row of each component.
            unsafe { self.results.add(c * self.row_lanes).cast::<[u32; MAX_LANES]>().write(component.lanes()) };
        }
    }

    /// Copies its coordinates, row by row: what is put together in memory has to wait for its parts.
    ///
    /// # Safety
    /// As for [`ChunkRows::new`], and there is room.
    #[inline(always)]
    pub unsafe fn read(self, to: *mut Coords) {
        for axis in 0..COORDS {
            // SAFETY: the caller's promise: a row of both.
            unsafe {
                let row = self.coords.add(axis * self.row_lanes).cast::<[u32; MAX_LANES]>().read();
                to.cast::<[u32; MAX_LANES]>().add(axis).write(row);
            }
        }
    }

    /// Gives its results.
    ///
    /// # Safety
    /// As for [`ChunkRows::new`].
    #[inline(always)]
    pub unsafe fn write(self, results: &Results) {
        for (c, row) in results.iter().enumerate() {
            // SAFETY: the caller's promise: a row of each component.
            unsafe { self.results.add(c * self.row_lanes).cast::<[u32; MAX_LANES]>().write(*row) };
        }
    }
}

/// [`ChunkAt::sample`], which is not inlined: it is seldom needed. (Without references, so that chunks stay in registers.)
///
/// # Safety
/// The kernel's.
#[inline(never)]
unsafe fn sample_at(
    coords: *const f32,
    results: *mut f32,
    row_lanes: usize,
    view: *const ImageView,
    sampler: *const Sampler,
    args: *mut ImageArgs,
    kernel: ImageKernel,
) {
    let chunk = ChunkAt { coords, results, row_lanes };
    // SAFETY: the caller's promise.
    unsafe {
        chunk.read((&raw mut (*args).coord).cast());
        kernel(view, sampler, args);
        chunk.write(&(*args).result);
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::ChunkAt;
    use base::abi::MAX_LANES;
    use core::arch::x86_64::*;

    impl ChunkAt {
        /// x in the lower half, y in the upper one.
        ///
        /// # Safety
        /// The chunk is one; the host is wide.
        #[inline(always)]
        pub unsafe fn coords(self) -> __m512 {
            // SAFETY: the caller's promise.
            unsafe {
                if self.row_lanes == MAX_LANES {
                    return _mm512_loadu_ps(self.coords);
                }
                let y = _mm256_loadu_ps(self.coords.add(self.row_lanes));
                _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm256_loadu_ps(self.coords)), y)
            }
        }

        /// Gives the components, two at a time.
        ///
        /// # Safety
        /// As for [`ChunkAt::coords`].
        #[inline(always)]
        pub unsafe fn give(self, components: [__m512; 2]) {
            // SAFETY: the caller's promise.
            unsafe {
                for (i, two) in components.into_iter().enumerate() {
                    let row = self.results.add(2 * i * self.row_lanes);
                    if self.row_lanes == MAX_LANES {
                        _mm512_storeu_ps(row, two);
                    } else {
                        _mm256_storeu_ps(row, _mm512_castps512_ps256(two));
                        _mm256_storeu_ps(row.add(self.row_lanes), _mm512_extractf32x8_ps::<1>(two));
                    }
                }
            }
        }

        /// x and y of two chunks, of which this is the first one.
        ///
        /// # Safety
        /// As for [`ChunkAt::coords`], of both.
        #[inline(always)]
        pub unsafe fn coords_of_two(self, second: ChunkAt) -> [__m512; 2] {
            // SAFETY: the caller's promise.
            unsafe {
                if self.row_lanes != MAX_LANES {
                    return [_mm512_loadu_ps(self.coords), _mm512_loadu_ps(self.coords.add(self.row_lanes))];
                }
                let (first, second) = (self.coords(), second.coords());
                [_mm512_shuffle_f32x4::<0x44>(first, second), _mm512_shuffle_f32x4::<0xee>(first, second)]
            }
        }

        /// Gives the components of both.
        ///
        /// # Safety
        /// As for [`ChunkAt::coords_of_two`].
        #[inline(always)]
        pub unsafe fn give_two(self, second: ChunkAt, [a, b, c, d]: [__m512; 4]) {
            // SAFETY: the caller's promise.
            unsafe {
                if self.row_lanes != MAX_LANES {
                    for (i, component) in [a, b, c, d].into_iter().enumerate() {
                        _mm512_storeu_ps(self.results.add(i * self.row_lanes), component);
                    }
                    return;
                }
                self.give([_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0x44>(c, d)]);
                second.give([_mm512_shuffle_f32x4::<0xee>(a, b), _mm512_shuffle_f32x4::<0xee>(c, d)]);
            }
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
