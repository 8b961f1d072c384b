//! One sampling operation of many chunks, one after the other, with so little code in between that
//! the processor overlaps several.
//!
//! Rows of coordinates and of results belong to one chunk or to two chunks
//! (`ImageArgs::row_lanes`).

use super::memory::{ValidView, ViewKernel};
use super::words::{COORDS, Coords, RESULTS, Results, Words};
use base::abi::{ImageArgs, ImageView, KERNEL_SAMPLE, MAX_LANES, Sampler};
use base::host::{Host, Ints, Plain};
use core::cell::Cell;
use core::marker::PhantomData;

/// Number of bytes of a chunk's row.
const ROW_BYTES: usize = size_of::<[f32; MAX_LANES]>();

/// Number of chunks whose levels are computed at once, because their quads fill a vector.
pub const SEVERAL: usize = 4;

/// The chunks that are not yet sampled, as the addresses of their coordinates and results.
#[derive(Clone, Copy)]
pub struct ChunkRows<'a> {
    next: ChunkAt<'a>,
    count: usize,
    /// Distances to the next chunk's rows, and from there to those of the chunk after it, for
    /// coordinates and for results.
    steps: [[usize; 2]; 2],
}

/// Addresses of a chunk's first rows, and the distance between rows.
#[derive(Clone, Copy)]
pub struct ChunkAt<'a> {
    coords: *const f32,
    results: *mut f32,
    row_lanes: usize,
    _rows: PhantomData<&'a Cell<f32>>,
}

impl<'a> ChunkRows<'a> {
    /// # Safety
    /// There are `count` chunks of coordinates and of results, in rows of `row_lanes` lanes, for
    /// the lifetime.
    #[inline(always)]
    pub unsafe fn new(coords: *const f32, results: *mut u32, count: u32, row_lanes: u32) -> ChunkRows<'a> {
        let row_lanes = row_lanes as usize;
        let own = row_lanes == MAX_LANES;
        let steps = [COORDS, RESULTS].map(|rows| if own { rows * MAX_LANES } else { MAX_LANES });
        let two = |rows: usize| 2 * rows * MAX_LANES;
        ChunkRows {
            next: ChunkAt { coords, results: results.cast(), row_lanes, _rows: PhantomData },
            count: count as usize,
            steps: [steps, [two(COORDS) - steps[0], two(RESULTS) - steps[1]]],
        }
    }

    /// Returns the next chunk.
    #[inline(always)]
    pub fn next(&mut self) -> Option<ChunkAt<'a>> {
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
    pub fn two(&mut self) -> Option<[ChunkAt<'a>; 2]> {
        if self.count < 2 {
            return None;
        }
        Some([self.next()?, self.next()?])
    }

    /// Returns the next chunks and their number, or `None` if no chunk is left; missing chunks are
    /// replaced by the last one.
    #[inline(always)]
    pub fn several(&mut self) -> Option<([ChunkAt<'a>; SEVERAL], usize)> {
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

    /// Returns the coordinates and results of all chunks, if the rows of each lie together.
    #[inline(always)]
    pub fn in_order(&self) -> Option<(&'a [Coords], &'a [Cell<Results>])> {
        if self.next.row_lanes != MAX_LANES {
            return None;
        }
        // SAFETY: the chunks have their rows for the lifetime, one after the other, as
        // `ChunkRows::new` requires.
        Some(unsafe {
            let coords = core::slice::from_raw_parts(self.next.coords.cast(), self.count);
            (coords, core::slice::from_raw_parts(self.next.results.cast(), self.count))
        })
    }

    /// Samples all chunks by a kernel for one chunk. (The function takes a copy and is not inlined,
    /// so that the next chunk stays in registers in callers that sample in another way.)
    #[inline(never)]
    pub fn one_by_one(mut self, view: ValidView<'_>, sampler: &Sampler, args: &mut ImageArgs, kernel: ViewKernel) {
        while let Some(chunk) = self.next() {
            chunk.sample(view, sampler, args, kernel);
        }
    }
}

impl ChunkAt<'_> {
    /// Samples the chunk by a kernel. The function is not inlined, because it is seldom needed.
    #[inline(always)]
    pub fn sample(self, view: ValidView<'_>, sampler: &Sampler, args: &mut ImageArgs, kernel: ViewKernel) {
        sample_at(self.coords, self.results, self.row_lanes, self._rows, view, sampler, args, kernel);
    }

    /// Loads a row of coordinates.
    #[inline(always)]
    fn coord_row<T: Plain>(self, axis: usize) -> T {
        const { assert!(size_of::<T>() == ROW_BYTES) };
        // SAFETY: the chunk has a row of each axis, as `ChunkRows::new` requires.
        unsafe { self.coords.add(axis % COORDS * self.row_lanes).cast::<T>().read_unaligned() }
    }

    /// Stores a row of results.
    #[inline(always)]
    fn put_row<T: Plain>(self, component: usize, row: T) {
        const { assert!(size_of::<T>() == ROW_BYTES) };
        // SAFETY: the chunk has a row for each component, as `ChunkRows::new` requires.
        unsafe { self.results.add(component % RESULTS * self.row_lanes).cast::<T>().write_unaligned(row) };
    }

    /// Returns x and y.
    #[inline(always)]
    pub fn coords_of<H: Host>(self, _: H) -> [H::Floats; COORDS] {
        let [x, y] = self.read();
        [H::Ints::from_array(x).as_floats(), H::Ints::from_array(y).as_floats()]
    }

    /// Writes the components.
    #[inline(always)]
    pub fn give_words<H: Host>(self, components: Words<H>) {
        for (c, component) in components.into_iter().enumerate() {
            self.put_row(c, component.to_array());
        }
    }

    /// Returns the coordinates, which are copied row by row, because a load of memory that was
    /// written in smaller parts waits for them.
    #[inline(always)]
    pub fn read<T: Plain>(self) -> [T; COORDS] {
        [self.coord_row(0), self.coord_row(1)]
    }

    /// Writes the results.
    #[inline(always)]
    pub fn write(self, results: &Results) {
        for (c, row) in results.iter().enumerate() {
            self.put_row(c, *row);
        }
    }
}

/// Implements [`ChunkAt::sample`]. (It takes no chunk, so that chunks stay in registers.)
#[allow(clippy::too_many_arguments, reason = "a chunk is passed in registers")]
#[inline(never)]
fn sample_at(
    coords: *const f32,
    results: *mut f32,
    row_lanes: usize,
    _rows: PhantomData<&Cell<f32>>,
    view: ValidView<'_>,
    sampler: &Sampler,
    args: &mut ImageArgs,
    kernel: ViewKernel,
) {
    let chunk = ChunkAt { coords, results, row_lanes, _rows };
    [args.coord[0], args.coord[1]] = chunk.read();
    kernel.call(view, Some(sampler), args);
    chunk.write(&args.result);
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{COORDS, ChunkAt, RESULTS};
    use base::abi::MAX_LANES;
    use base::host::Avx512;
    use core::arch::x86_64::*;

    impl ChunkAt<'_> {
        /// Loads both rows of coordinates, if one follows the other.
        #[inline(always)]
        fn own_coords(self, _: Avx512) -> Option<__m512> {
            if self.row_lanes != MAX_LANES {
                return None;
            }
            // SAFETY: the chunk has two rows, as `ChunkRows::new` requires.
            Some(unsafe { self.coords.cast::<__m512>().read_unaligned() })
        }

        /// Stores rows `first` and `first + 1` of the results, if one follows the other. Returns
        /// false otherwise.
        #[inline(always)]
        fn put_own(self, v: Avx512, first: usize, rows: __m512) -> bool {
            if self.row_lanes != MAX_LANES {
                return false;
            }
            let row = self.results.wrapping_add(first % (RESULTS - 1) * self.row_lanes);
            // SAFETY: the chunk has the rows, as `ChunkRows::new` requires.
            v.store_ps(unsafe { &mut *row.cast::<[f32; 16]>() }, rows);
            true
        }

        /// Loads a row of coordinates of two chunks, if that of `second` follows that of `self`.
        #[inline(always)]
        fn common_coords(self, _: Avx512, second: ChunkAt<'_>, axis: usize) -> Option<__m512> {
            if self.row_lanes == MAX_LANES || second.coords != self.coords.wrapping_add(MAX_LANES) {
                return None;
            }
            let row = self.coords.wrapping_add(axis % COORDS * self.row_lanes);
            // SAFETY: both chunks have the row, as [`ChunkRows::new`](super::ChunkRows::new)
            // requires.
            Some(unsafe { row.cast::<__m512>().read_unaligned() })
        }

        /// Stores a row of results of two chunks, if that of `second` follows that of `self`.
        /// Returns false otherwise.
        #[inline(always)]
        fn put_common(self, v: Avx512, second: ChunkAt<'_>, component: usize, row: __m512) -> bool {
            if self.row_lanes == MAX_LANES || second.results != self.results.wrapping_add(MAX_LANES) {
                return false;
            }
            let to = self.results.wrapping_add(component % RESULTS * self.row_lanes);
            // SAFETY: both chunks have the row, as [`ChunkRows::new`](super::ChunkRows::new)
            // requires.
            v.store_ps(unsafe { &mut *to.cast::<[f32; 16]>() }, row);
            true
        }

        /// Returns x in the lower half and y in the upper one.
        #[inline(always)]
        pub fn coords(self, v: Avx512) -> __m512 {
            if let Some(both) = self.own_coords(v) {
                return both;
            }
            let (x, y) = (self.coord_row::<__m256i>(0), self.coord_row::<__m256i>(1));
            v._mm512_castsi512_ps(v._mm512_inserti64x4::<1>(v._mm512_castsi256_si512(x), y))
        }

        /// Writes the components, two per vector.
        #[inline(always)]
        pub fn give(self, v: Avx512, components: [__m512; 2]) {
            for (i, two) in components.into_iter().enumerate() {
                if !self.put_own(v, 2 * i, two) {
                    let two = v._mm512_castps_si512(two);
                    self.put_row(2 * i, v._mm512_castsi512_si256(two));
                    self.put_row(2 * i + 1, v._mm512_extracti64x4_epi64::<1>(two));
                }
            }
        }

        /// Returns x and y of two chunks, of which `self` is the first one.
        #[inline(always)]
        pub fn coords_of_two(self, v: Avx512, second: ChunkAt<'_>) -> [__m512; 2] {
            if let (Some(x), Some(y)) = (self.common_coords(v, second, 0), self.common_coords(v, second, 1)) {
                return [x, y];
            }
            let (first, second) = (self.coords(v), second.coords(v));
            [v._mm512_shuffle_f32x4::<0x44>(first, second), v._mm512_shuffle_f32x4::<0xee>(first, second)]
        }

        /// Writes the components of two chunks, of which `self` is the first one.
        #[inline(always)]
        pub fn give_two(self, v: Avx512, second: ChunkAt<'_>, [a, b, c, d]: [__m512; 4]) {
            if self.put_common(v, second, 0, a) {
                self.put_common(v, second, 1, b);
                self.put_common(v, second, 2, c);
                self.put_common(v, second, 3, d);
                return;
            }
            self.give(v, [v._mm512_shuffle_f32x4::<0x44>(a, b), v._mm512_shuffle_f32x4::<0x44>(c, d)]);
            second.give(v, [v._mm512_shuffle_f32x4::<0xee>(a, b), v._mm512_shuffle_f32x4::<0xee>(c, d)]);
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
#[inline(always)]
pub fn kernel_of(view: ValidView<'_>, sampler: &Sampler) -> ViewKernel {
    view.kernel(KERNEL_SAMPLE + sampler.class as usize)
}
