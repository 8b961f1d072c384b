//! One sampling operation of many chunks, one after the other, with so little code in between that
//! the processor overlaps several.
//!
//! Rows of coordinates and of results belong to one chunk or to two chunks
//! (`ImageArgs::row_lanes`).

use super::words::Words;
use base::abi::{ImageArgs, ImageKernel, ImageView, KERNEL_SAMPLE, MAX_LANES, Sampler};
use base::host::{Host, Ints};

/// Number of rows of coordinates.
const COORDS: usize = 2;
/// Number of rows of results.
const RESULTS: usize = 4;

/// A chunk's coordinates.
pub type Coords = [[u32; MAX_LANES]; COORDS];
/// A chunk's results, by component.
pub type Results = [[u32; MAX_LANES]; RESULTS];

/// Number of chunks whose levels are computed at once, because their quads fill a vector.
pub const SEVERAL: usize = 4;

/// The chunks that are not yet sampled, as the addresses of their coordinates and results.
#[derive(Clone, Copy)]
pub struct ChunkRows {
    next: ChunkAt,
    count: usize,
    /// Distances to the next chunk's rows, and from there to those of the chunk after it, for
    /// coordinates and for results.
    steps: [[usize; 2]; 2],
}

/// Addresses of a chunk's first rows, and the distance between rows.
#[derive(Clone, Copy)]
pub struct ChunkAt {
    coords: *const f32,
    results: *mut f32,
    row_lanes: usize,
}

impl ChunkRows {
    /// # Safety
    /// There are `count` chunks of coordinates and of results, in rows of `row_lanes` lanes, as
    /// long as this lives and its chunks are used.
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

    /// Returns the next chunk.
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

    /// Returns the next two chunks, if there are two.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn two(&mut self) -> Option<[ChunkAt; 2]> {
        if self.count < 2 {
            return None;
        }
        Some([self.next()?, self.next()?])
    }

    /// Returns the next chunks and their number, or `None` if no chunk is left; missing chunks are
    /// replaced by the last one.
    #[inline(always)]
    pub fn several(&mut self) -> Option<([ChunkAt; SEVERAL], usize)> {
        let count = self.count.min(SEVERAL);
        if count == 0 {
            return None;
        }
        let mut last = self.next;
        let chunks = std::array::from_fn(|_| {
            last = self.next().unwrap_or(last);
            last
        });
        Some((chunks, count))
    }

    /// Samples all chunks by a kernel for one chunk. (The function takes a copy and is not inlined,
    /// so that the next chunk stays in registers in callers that sample in another way.)
    ///
    /// # Safety
    /// The requirements of the kernel hold for every chunk.
    #[inline(never)]
    pub unsafe fn one_by_one(
        mut self,
        view: *const ImageView,
        sampler: *const Sampler,
        args: *mut ImageArgs,
        kernel: ImageKernel,
    ) {
        while let Some(chunk) = self.next() {
            // SAFETY: the requirements of the kernel hold (`# Safety`).
            unsafe { chunk.sample(view, sampler, args, kernel) };
        }
    }
}

impl ChunkAt {
    /// Samples the chunk by a kernel.
    ///
    /// # Safety
    /// The requirements of the kernel hold for the chunk.
    #[inline(always)]
    pub unsafe fn sample(
        self,
        view: *const ImageView,
        sampler: *const Sampler,
        args: *mut ImageArgs,
        kernel: ImageKernel,
    ) {
        // SAFETY: the requirements of the kernel hold (`# Safety`).
        unsafe { sample_at(self.coords, self.results, self.row_lanes, view, sampler, args, kernel) };
    }

    /// Returns x and y.
    #[inline(always)]
    pub fn coords_of<H: Host>(self, _: H) -> [H::Floats; COORDS] {
        // SAFETY: the chunk has a row of each axis, as `ChunkRows::new` requires.
        let row = |axis: usize| unsafe { self.coords.add(axis * self.row_lanes).cast::<[u32; MAX_LANES]>().read() };
        [H::Ints::from_array(row(0)).as_floats(), H::Ints::from_array(row(1)).as_floats()]
    }

    /// Writes the components.
    #[inline(always)]
    pub fn give_words<H: Host>(self, components: Words<H>) {
        for (c, component) in components.into_iter().enumerate() {
            // SAFETY: the chunk has a row for each component, as `ChunkRows::new` requires.
            unsafe { self.results.add(c * self.row_lanes).cast::<[u32; MAX_LANES]>().write(component.to_array()) };
        }
    }

    /// Copies the coordinates row by row, because a load of memory that was written in smaller
    /// parts waits for them.
    ///
    /// # Safety
    /// The chunk satisfies the requirements of [`ChunkRows::new`], and `to` is writable.
    #[inline(always)]
    pub unsafe fn read(self, to: *mut Coords) {
        for axis in 0..COORDS {
            // SAFETY: the chunk has a row of both axes, and `to` is writable (`# Safety`).
            unsafe {
                let row = self.coords.add(axis * self.row_lanes).cast::<[u32; MAX_LANES]>().read();
                to.cast::<[u32; MAX_LANES]>().add(axis).write(row);
            }
        }
    }

    /// Writes the results.
    #[inline(always)]
    pub fn write(self, results: &Results) {
        for (c, row) in results.iter().enumerate() {
            // SAFETY: the chunk has a row for each component, as `ChunkRows::new` requires.
            unsafe { self.results.add(c * self.row_lanes).cast::<[u32; MAX_LANES]>().write(*row) };
        }
    }
}

/// Implements [`ChunkAt::sample`]. It is not inlined, because it is seldom needed. (It takes no
/// references, so that chunks stay in registers.)
///
/// # Safety
/// The requirements of the kernel and of [`ChunkRows::new`] hold.
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
    // SAFETY: the requirements of the kernel and of `ChunkRows::new` hold (`# Safety`).
    unsafe {
        chunk.read((&raw mut (*args).coord).cast());
        kernel(view, sampler, args);
        chunk.write(&(*args).result);
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::ChunkAt;
    use base::abi::MAX_LANES;
    use base::host::Avx512;
    use core::arch::x86_64::*;

    impl ChunkAt {
        /// Returns x in the lower half and y in the upper one.
        #[inline(always)]
        pub fn coords(self, v: Avx512) -> __m512 {
            // SAFETY: the chunk has a row of each axis, as
            // [`ChunkRows::new`](super::ChunkRows::new) requires, and the host has the level
            // because the token exists.
            unsafe {
                if self.row_lanes == MAX_LANES {
                    return _mm512_loadu_ps(self.coords);
                }
                let y = _mm256_loadu_ps(self.coords.add(self.row_lanes));
                v._mm512_insertf32x8::<1>(v._mm512_castps256_ps512(_mm256_loadu_ps(self.coords)), y)
            }
        }

        /// Writes the components, two per vector.
        #[inline(always)]
        pub fn give(self, v: Avx512, components: [__m512; 2]) {
            // SAFETY: the chunk has a row for each component, as
            // [`ChunkRows::new`](super::ChunkRows::new) requires, and the host has the level
            // because the token exists.
            unsafe {
                for (i, two) in components.into_iter().enumerate() {
                    let row = self.results.add(2 * i * self.row_lanes);
                    if self.row_lanes == MAX_LANES {
                        _mm512_storeu_ps(row, two);
                    } else {
                        _mm256_storeu_ps(row, v._mm512_castps512_ps256(two));
                        _mm256_storeu_ps(row.add(self.row_lanes), v._mm512_extractf32x8_ps::<1>(two));
                    }
                }
            }
        }

        /// Returns x and y of two chunks, of which `self` is the first one.
        #[inline(always)]
        pub fn coords_of_two(self, v: Avx512, second: ChunkAt) -> [__m512; 2] {
            // SAFETY: both chunks have a row of each axis, as
            // [`ChunkRows::new`](super::ChunkRows::new) requires, and the host has the level
            // because the token exists.
            unsafe {
                if self.row_lanes != MAX_LANES {
                    return [_mm512_loadu_ps(self.coords), _mm512_loadu_ps(self.coords.add(self.row_lanes))];
                }
                let (first, second) = (self.coords(v), second.coords(v));
                [v._mm512_shuffle_f32x4::<0x44>(first, second), v._mm512_shuffle_f32x4::<0xee>(first, second)]
            }
        }

        /// Writes the components of two chunks, of which `self` is the first one.
        #[inline(always)]
        pub fn give_two(self, v: Avx512, second: ChunkAt, [a, b, c, d]: [__m512; 4]) {
            // SAFETY: both chunks have a row for each component, as
            // [`ChunkRows::new`](super::ChunkRows::new) requires, and the host has the level
            // because the token exists.
            unsafe {
                if self.row_lanes != MAX_LANES {
                    for (i, component) in [a, b, c, d].into_iter().enumerate() {
                        _mm512_storeu_ps(self.results.add(i * self.row_lanes), component);
                    }
                    return;
                }
                self.give(v, [v._mm512_shuffle_f32x4::<0x44>(a, b), v._mm512_shuffle_f32x4::<0x44>(c, d)]);
                second.give(v, [v._mm512_shuffle_f32x4::<0xee>(a, b), v._mm512_shuffle_f32x4::<0xee>(c, d)]);
            }
        }
    }
}

/// Samples many chunks (`HelperTable::sample_chunks`).
///
/// # Safety
/// The requirements of the helper hold: view and sampler are valid, the arguments are filled,
/// and there are `chunks` chunks of coordinates and results.
#[base::code_fn]
pub unsafe extern "code" fn sample_chunks(
    view: *const ImageView,
    sampler: *const Sampler,
    args: *mut ImageArgs,
    coords: *const f32,
    results: *mut u32,
    chunks: u32,
) {
    // SAFETY: the requirements of the helper hold (`# Safety`).
    unsafe { ((*view).chunks)(view, sampler, args, coords, results, chunks) }
}

/// Returns the view's kernel for the sampler's class.
///
/// # Safety
/// The view and the sampler are valid.
#[inline(always)]
pub unsafe fn kernel_of(view: *const ImageView, sampler: *const Sampler) -> ImageKernel {
    // SAFETY: the view and the sampler are valid (`# Safety`).
    unsafe { (*view).kernels[KERNEL_SAMPLE + (*sampler).class as usize] }
}
