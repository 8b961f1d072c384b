//! The memory of images, as kernels access it, and the views that prove that it is there.
//!
//! [`ValidView::new`] is the one place at which a kernel trusts its caller. From there on, the
//! bounds of the memory are known, and no access leaves them whatever its offset is: an offset is
//! limited to the last one at which a value ends inside, or the value is not accessed. Offsets of
//! texels inside of their image are never changed by that. Functions that use these types thus need
//! no promise of their callers.
//!
//! Memory may change during a read (the application shares it), so every load copies bytes, and any
//! bytes are a valid value.

use super::words::{Coords, Results, Words, transpose, two_words};
use base::abi::{ImageArgs, ImageKernel, ImageView, MAX_LANES, Sampler};
use base::format::lanes::Lanes;
#[cfg(target_arch = "x86_64")]
use base::host::Avx512;
use base::host::{Host, Ints, Plain, prefetch};
use base::image::SPARSE_BLOCK_BYTES;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A view that may be accessed for the lifetime `'a`, which ends with the call of a kernel.
#[derive(Clone, Copy)]
pub struct ValidView<'a> {
    view: &'a ImageView,
    /// The lifetime is that of a call, so that the view stays in the call's thread.
    _thread: PhantomData<*const ()>,
}

impl Deref for ValidView<'_> {
    type Target = ImageView;

    #[inline(always)]
    fn deref(&self) -> &ImageView {
        self.view
    }
}

impl<'a> ValidView<'a> {
    /// Trusts that a view is valid.
    ///
    /// # Safety
    /// The view is one that [`super::view`], [`super::ycbcr`] or [`super::sparse`] made: its `size`
    /// bytes from `base` on are readable, and writable if a kernel writes; its table of residency
    /// has a byte for each granule of them, if it has one; its kernels are those of its format and
    /// of this host. All this holds for the lifetime, which ends before the thread does.
    #[inline(always)]
    pub unsafe fn new(view: *const ImageView) -> ValidView<'a> {
        // SAFETY: the view is valid for the lifetime (`# Safety`).
        ValidView { view: unsafe { &*view }, _thread: PhantomData }
    }

    /// Returns the memory of the view from the byte `offset` on.
    #[inline(always)]
    pub fn memory(self, offset: u64) -> TexelMemory<'a> {
        let bytes = self.view.size.saturating_sub(offset) as usize;
        TexelMemory { base: self.view.base.wrapping_add(offset as usize), bytes, _life: PhantomData }
    }

    /// Returns a kernel of the view (`KERNEL_*`).
    #[inline(always)]
    pub fn kernel(self, kernel: usize) -> ViewKernel {
        ViewKernel(self.view.kernels[kernel])
    }

    /// Returns a kernel that the view would have if its levels were in one piece.
    #[inline(always)]
    pub fn kernel_of_piece(self, kernel: usize) -> ViewKernel {
        ViewKernel(self.view.of_piece[kernel])
    }

    /// Samples the first quad of this view and the second quad of another one at once, if both have
    /// one function for this. Returns false if nothing was sampled.
    #[inline(always)]
    pub fn sample_pair(self, second: ValidView<'_>, sampler: &Sampler, args: &mut ImageArgs) -> bool {
        let mut done = false;
        if self.view.pair as usize == second.view.pair as usize {
            let views = [core::ptr::from_ref(self.view), core::ptr::from_ref(second.view)];
            // SAFETY: the views are valid, and the function is that of both.
            unsafe { (self.view.pair)(&views, sampler, args, &mut done) };
        }
        done
    }

    /// Samples chunks of coordinates, of two rows each, by the view's kernel for many chunks, which
    /// sets all results.
    #[inline(always)]
    pub fn sample_chunks(
        self,
        sampler: &Sampler,
        args: &mut ImageArgs,
        coords: &[Coords],
        results: &mut [MaybeUninit<Results>],
    ) {
        args.row_lanes = MAX_LANES as u32;
        let count = coords.len().min(results.len()) as u32;
        let (coords, results) = (coords.as_ptr().cast(), results.as_mut_ptr().cast());
        // SAFETY: the view is valid, and the chunks have rows of their own.
        unsafe { (self.view.chunks)(self.view, sampler, args, coords, results, count) };
    }

    /// Returns true if the memory at the byte `offset` is bound. The view must have a table of
    /// residency; without one, or outside of the memory, nothing is bound.
    #[inline(always)]
    pub fn is_bound(self, offset: u64) -> bool {
        if self.view.residency.is_null() || offset >= self.view.size {
            return false;
        }
        let within = self.view.base.addr() as u64 % SPARSE_BLOCK_BYTES;
        // SAFETY: the table has a byte for each granule of the view's memory.
        let bound =
            unsafe { self.view.residency.add(((within + offset) / SPARSE_BLOCK_BYTES) as usize).read_volatile() };
        bound != 0
    }
}

/// A kernel that may be called with any valid view, because it checks its accesses of memory, and
/// whose level the host has.
#[derive(Clone, Copy)]
pub struct ViewKernel(ImageKernel);

impl ViewKernel {
    /// Trusts a kernel.
    ///
    /// # Safety
    /// The kernel is one of this crate, and the host has its level.
    #[inline(always)]
    pub unsafe fn new(kernel: ImageKernel) -> ViewKernel {
        ViewKernel(kernel)
    }

    /// Calls the kernel.
    #[inline(always)]
    pub fn call(self, view: ValidView<'_>, sampler: Option<&Sampler>, args: &mut ImageArgs) {
        let sampler = sampler.map_or(core::ptr::null(), core::ptr::from_ref);
        // SAFETY: the host has the kernel's level, and the view is valid. Kernels that need a
        // sampler do nothing without one.
        unsafe { (self.0)(view.view, sampler, args) }
    }
}

/// Memory from a byte on, up to the end of an image or of an array.
#[derive(Clone, Copy)]
pub struct TexelMemory<'a> {
    base: *mut u8,
    bytes: usize,
    _life: PhantomData<&'a Cell<u8>>,
}

impl<'a> TexelMemory<'a> {
    /// Returns the memory of an array.
    #[inline(always)]
    pub fn of<T: Plain>(cells: &'a [Cell<T>]) -> TexelMemory<'a> {
        let base = cells.as_ptr().cast_mut().cast();
        TexelMemory { base, bytes: size_of_val(cells), _life: PhantomData }
    }

    /// Returns the memory from the byte `offset` on.
    #[inline(always)]
    pub fn from(self, offset: u64) -> TexelMemory<'a> {
        let bytes = self.bytes.saturating_sub(offset as usize);
        TexelMemory { base: self.base.wrapping_add(offset as usize), bytes, _life: PhantomData }
    }

    /// Returns the address and the number of bytes.
    #[inline(always)]
    pub fn range(self) -> (*mut u8, u64) {
        (self.base, self.bytes as u64)
    }

    /// Prefetches the memory at the byte `offset`.
    #[inline(always)]
    pub fn prefetch(self, offset: usize) {
        prefetch(self.base.wrapping_add(offset));
    }

    /// Returns the largest offset of `size` bytes that vectors may use, in units of `SCALE` bytes;
    /// `None` if there are not as many bytes. Vectors have unsigned offsets of `BITS` bits.
    #[inline(always)]
    fn last<const BITS: u32>(self, size: usize, scale: usize) -> Option<u32> {
        // A number that is too small becomes a large one, so that one comparison is enough.
        let (last, max) = (self.bytes.wrapping_sub(size) / scale, (1 << BITS) - 1);
        if last > max {
            unlikely();
            return (self.bytes >= size).then_some(max as u32);
        }
        Some(last as u32)
    }

    /// Loads the values at `N` offsets that are `pitch` bytes apart; all are zeros if one of them
    /// does not lie inside.
    #[inline(always)]
    pub fn rows<T: Plain, const N: usize>(self, first: u32, pitch: u32) -> [T; N] {
        let mut rows = [T::ZERO; N];
        let (first, pitch) = (first as usize, pitch as usize);
        if first + ((N - 1) * pitch + size_of::<T>()) > self.bytes {
            unlikely();
            return rows;
        }
        for (i, row) in rows.iter_mut().enumerate() {
            // SAFETY: the value ends before the last one does, which lies inside.
            *row = unsafe { self.base.add(first + i * pitch).cast::<T>().read_unaligned() };
        }
        rows
    }

    /// Loads the value at an offset; it is zero if it does not lie inside.
    #[inline(always)]
    pub fn read<T: Plain>(self, offset: u32) -> T {
        let [value] = self.rows(offset, 0);
        value
    }

    /// Stores a value at the first byte, if there is room for it.
    #[inline(always)]
    pub fn write<T: Plain>(self, value: T) {
        if size_of::<T>() <= self.bytes {
            // SAFETY: the value lies inside.
            unsafe { self.base.cast::<T>().write_unaligned(value) };
        }
    }

    /// Loads `size` bytes at an offset, at most `N`; the other bytes are zeros, and all are if they
    /// do not lie inside.
    #[inline(always)]
    pub fn read_bytes<const N: usize>(self, offset: u64, size: usize) -> [u8; N] {
        let mut bytes = [0; N];
        let inside = offset.checked_add(size as u64).is_some_and(|end| end <= self.bytes as u64);
        if inside && size <= N {
            // SAFETY: the bytes lie inside, and there is room for them.
            unsafe { self.base.add(offset as usize).copy_to_nonoverlapping(bytes.as_mut_ptr(), size) };
        }
        bytes
    }

    /// Stores the first `size` bytes at an offset, if they lie inside.
    #[inline(always)]
    pub fn write_bytes<const N: usize>(self, offset: u64, bytes: &[u8; N], size: usize) {
        let inside = offset.checked_add(size as u64).is_some_and(|end| end <= self.bytes as u64);
        if inside && size <= N {
            // SAFETY: the bytes lie inside, and `bytes` has as many.
            unsafe { self.base.add(offset as usize).copy_from_nonoverlapping(bytes.as_ptr(), size) };
        }
    }

    /// Returns the word at an offset for atomic accesses, if it lies inside and is aligned.
    #[inline(always)]
    pub fn atomic(self, offset: u64) -> Option<&'a AtomicU32> {
        let at = self.aligned::<u32>(offset)?;
        // SAFETY: the word lies inside and is aligned; threads that access it at the same time do
        // so atomically, or they race in a way that the application must exclude.
        Some(unsafe { AtomicU32::from_ptr(at) })
    }

    /// Returns the two words at an offset for atomic accesses, if they lie inside and are aligned.
    #[inline(always)]
    pub fn atomic_long(self, offset: u64) -> Option<&'a AtomicU64> {
        let at = self.aligned::<u64>(offset)?;
        // SAFETY: the words lie inside and are aligned; threads that access them at the same time
        // do so atomically, or they race in a way that the application must exclude.
        Some(unsafe { AtomicU64::from_ptr(at) })
    }

    #[inline(always)]
    fn aligned<T>(self, offset: u64) -> Option<*mut T> {
        let inside = offset.checked_add(size_of::<T>() as u64).is_some_and(|end| end <= self.bytes as u64);
        let at = self.base.wrapping_add(offset as usize).cast::<T>();
        (inside && at.is_aligned()).then_some(at)
    }

    /// Returns the words of texels of `N` bytes (1, 2, 4, 8 or 16) at the offsets.
    #[inline(always)]
    pub fn gather<H: Host, const N: usize>(self, host: H, offset: H::Ints) -> Words<H> {
        const { assert!(N.is_power_of_two() && N <= 16) };
        let mut words = [H::Ints::splat(0); 4];
        let Some(last) = self.last::<32>(N, 1) else { return words };
        let at = &offset.min_unsigned(H::Ints::splat(last)).to_array();
        // SAFETY: offsets are at most that of the last texel of `N` bytes.
        unsafe {
            match N {
                1 => words[0] = single::<H>(|i| u32::from(self.at::<u8>(at[i]))),
                2 => words[0] = single::<H>(|i| u32::from(u16::from_le(self.at::<u16>(at[i])))),
                4 => words[0] = single::<H>(|i| u32::from_le(self.at::<u32>(at[i]))),
                8 => [words[0], words[1]] = two_words(host, &eight(|i| self.at::<[u32; 2]>(at[i]))),
                _ => words = transpose(host, &eight(|i| self.at::<[u32; 4]>(at[i]))),
            }
        }
        words
    }

    /// Loads a value.
    ///
    /// # Safety
    /// The value lies inside.
    #[inline(always)]
    unsafe fn at<T: Plain>(self, offset: u32) -> T {
        // SAFETY: the value lies inside (`# Safety`), and any bits are a valid `T`.
        unsafe { self.base.add(offset as usize).cast::<T>().read_unaligned() }
    }

    /// Writes the first `N` bytes (1, 2, 4, 8 or 16) of the words of the lanes in `mask`.
    ///
    /// If shaders race on a texel, its bytes become a mix, as the specification allows.
    #[inline(always)]
    pub fn scatter<V: Ints, const N: usize>(self, offset: V, words: &Lanes, mask: u32) {
        const { assert!(N.is_power_of_two() && N <= 16) };
        let Some(last) = self.last::<32>(N, 1) else { return };
        let offset = offset.min_unsigned(V::splat(last)).to_array();
        for i in (0..MAX_LANES).filter(|i| mask >> i & 1 != 0) {
            let word = |w: usize| words[w][i];
            let pair = |w: usize| (u64::from(word(w)) | u64::from(word(w + 1)) << 32).to_le();
            // SAFETY: the offset is at most that of the last texel of `N` bytes. Each texel is one
            // store, because a later load would wait for bytes that were stored separately.
            unsafe {
                let p = self.base.add(offset[i] as usize);
                match N {
                    1 => p.write(word(0) as u8),
                    2 => p.cast::<u16>().write_unaligned((word(0) as u16).to_le()),
                    4 => p.cast::<u32>().write_unaligned(word(0).to_le()),
                    8 => p.cast::<u64>().write_unaligned(pair(0)),
                    _ => p.cast::<[u64; 2]>().write_unaligned([pair(0), pair(2)]),
                }
            }
        }
    }
}

/// Loads of hosts with the 512-bit level. Offsets are in units of `SCALE` bytes, below 2^31 units.
#[cfg(target_arch = "x86_64")]
impl TexelMemory<'_> {
    /// Loads the words at sixteen offsets.
    #[inline(always)]
    pub fn sixteen_words<const SCALE: i32>(self, v: Avx512, at: __m512i) -> __m512i {
        let Some(last) = self.last::<31>(4, SCALE as usize) else { return v._mm512_setzero_si512() };
        let at = v._mm512_min_epu32(at, v._mm512_set1_epi32(last as i32));
        // SAFETY: the host has the level, because the token exists, and the words lie inside.
        unsafe { _mm512_i32gather_epi32::<SCALE>(at, self.base.cast()) }
    }

    /// Loads the words at eight offsets.
    #[inline(always)]
    pub fn eight_words<const SCALE: i32>(self, v: Avx512, at: __m256i) -> __m256i {
        let Some(last) = self.last::<31>(4, SCALE as usize) else { return v._mm256_setzero_si256() };
        let at = v._mm256_min_epu32(at, v._mm256_set1_epi32(last as i32));
        // SAFETY: the host has the level, because the token exists, and the words lie inside.
        unsafe { _mm256_i32gather_epi32::<SCALE>(self.base.cast(), at) }
    }

    /// Loads two words at each of eight offsets.
    #[inline(always)]
    pub fn eight_pairs<const SCALE: i32>(self, v: Avx512, at: __m256i) -> __m512i {
        let Some(last) = self.last::<31>(8, SCALE as usize) else { return v._mm512_setzero_si512() };
        let at = v._mm256_min_epu32(at, v._mm256_set1_epi32(last as i32));
        // SAFETY: the host has the level, because the token exists, and the words lie inside.
        unsafe { _mm512_i32gather_epi64::<SCALE>(at, self.base.cast()) }
    }

    /// Loads the words at four offsets in bytes of this memory, and at four offsets of another one.
    #[inline(always)]
    pub fn words_of_two(self, v: Avx512, other: Self, at: __m256i) -> __m256i {
        let (Some(last), Some(of_other)) = (self.last::<31>(4, 1), other.last::<31>(4, 1)) else {
            return v._mm256_setzero_si256();
        };
        let last = v._mm256_set_m128i(v._mm_set1_epi32(of_other as i32), v._mm_set1_epi32(last as i32));
        let (base, of_other) = (self.base as i64, other.base as i64);
        let bases = v._mm512_setr_epi64(base, base, base, base, of_other, of_other, of_other, of_other);
        let offsets = v._mm512_cvtepu32_epi64(v._mm256_min_epu32(at, last));
        // SAFETY: the host has the level, because the token exists, and the words lie inside.
        unsafe { _mm512_i64gather_epi32::<1>(v._mm512_add_epi64(bases, offsets), core::ptr::null()) }
    }
}

#[cold]
fn unlikely() {}

#[inline(always)]
fn eight<T>(each: impl Fn(usize) -> T) -> [T; MAX_LANES] {
    [each(0), each(1), each(2), each(3), each(4), each(5), each(6), each(7)]
}

#[inline(always)]
fn single<H: Host>(word: impl Fn(usize) -> u32) -> H::Ints {
    H::Ints::from_array(eight(word))
}
