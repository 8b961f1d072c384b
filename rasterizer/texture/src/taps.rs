//! The texels that a sample reads through its view's kernel ([`Taps`]): their places, then their
//! components.
//!
//! The arrays are not filled with zeros, because most samples read few texels; the buffer counts
//! the elements that have values.

use super::memory::ValidView;
use super::words::Words;
use base::abi::{MAX_LANES, TAPS, Taps};
use base::host::{Host, Ints};
use core::mem::MaybeUninit;
use core::ops::Range;

/// The argument of a view's kernel that reads texels.
pub struct TapBuffer {
    taps: Taps,
    /// Number of texels that have places.
    placed: usize,
    /// Number of texels that have components.
    read: usize,
}

/// The slice in which texels lie.
#[derive(Clone, Copy)]
pub struct TapSlice {
    /// Number of bytes from the view's first byte.
    pub offset: u64,
    /// Number of bytes between rows.
    pub pitch: u32,
    /// Width and height in texels.
    pub size: [u32; 2],
    /// Lanes whose texels are read.
    pub mask: u32,
}

impl TapBuffer {
    /// Returns a buffer without texels.
    #[inline(always)]
    pub fn new() -> TapBuffer {
        let (at, texels) = ([const { MaybeUninit::uninit() }; TAPS], [const { MaybeUninit::uninit() }; TAPS]);
        TapBuffer {
            taps: Taps { at, texels, offset: 0, pitch: 0, size: [0; 2], mask: 0, varying: 0 },
            placed: 0,
            read: 0,
        }
    }

    /// Sets column and row of a texel, which is at most the one after those that have places.
    #[inline(always)]
    pub fn place(&mut self, i: usize, place: [[u32; MAX_LANES]; 2]) {
        self.taps.at[i % TAPS].write(place);
        if i == self.placed && i < TAPS {
            self.placed = i + 1;
        }
    }

    /// Returns the rows of a texel.
    #[inline(always)]
    pub fn rows(&self, i: usize) -> [u32; MAX_LANES] {
        if i >= self.placed {
            return [0; MAX_LANES];
        }
        // SAFETY: the texel has a place.
        unsafe { self.taps.at[i % TAPS].assume_init_ref()[1] }
    }

    /// Sets the rows of a texel that has a place.
    #[inline(always)]
    pub fn set_rows(&mut self, i: usize, rows: [u32; MAX_LANES]) {
        if i < self.placed {
            // SAFETY: the texel has a place.
            unsafe { self.taps.at[i % TAPS].assume_init_mut()[1] = rows };
        }
    }

    /// Reads texels that have places.
    #[inline(always)]
    pub fn read(&mut self, view: ValidView<'_>, slice: TapSlice, range: Range<usize>) {
        let taps = &mut self.taps;
        (taps.offset, taps.pitch, taps.size, taps.mask) = (slice.offset, slice.pitch, slice.size, slice.mask);
        let range = range.start..range.end.min(self.placed);
        // SAFETY: the view is valid, and its kernel checks its accesses of memory; the texels have
        // places.
        unsafe { (view.taps)(&raw const *view, taps, range.start as u32, range.len() as u32) };
        if range.start <= self.read {
            self.read = self.read.max(range.end);
        }
    }

    /// Returns the components that are not the same in all texels of the format, one bit each.
    #[inline(always)]
    pub fn varying(&self) -> u32 {
        self.taps.varying
    }

    /// Returns a component of a texel that was read.
    #[inline(always)]
    pub fn texel<V: Ints>(&self, i: usize, c: usize) -> V {
        V::from_array(self.component(i, c))
    }

    /// Returns a component of a texel that was read, lane by lane.
    #[inline(always)]
    pub fn component(&self, i: usize, c: usize) -> [u32; MAX_LANES] {
        if i >= self.read {
            return [0; MAX_LANES];
        }
        // SAFETY: the texel was read.
        unsafe { self.taps.texels[i % TAPS].assume_init_ref()[c] }
    }

    /// Replaces a component of a texel that was read.
    #[inline(always)]
    pub fn put<V: Ints>(&mut self, i: usize, c: usize, component: V) {
        self.set_component(i, c, component.to_array());
    }

    /// Replaces a component of a texel that was read, lane by lane.
    #[inline(always)]
    pub fn set_component(&mut self, i: usize, c: usize, component: [u32; MAX_LANES]) {
        if i < self.read {
            // SAFETY: the texel was read.
            unsafe { self.taps.texels[i % TAPS].assume_init_mut()[c] = component };
        }
    }

    /// Replaces all components of a texel.
    #[inline(always)]
    pub fn replace(&mut self, i: usize, components: [[u32; MAX_LANES]; 4]) {
        self.taps.texels[i % TAPS].write(components);
    }
}

/// The texels that a kernel is called to read.
pub struct TapRequest<'a> {
    taps: &'a mut Taps,
    range: Range<usize>,
}

impl<'a> TapRequest<'a> {
    /// Trusts the arguments of a kernel.
    ///
    /// # Safety
    /// The structure may be written for the lifetime, and the texels of the range have places.
    #[inline(always)]
    pub unsafe fn new(taps: *mut Taps, first: u32, count: u32) -> TapRequest<'a> {
        let (first, end) = ((first as usize).min(TAPS), (first as usize + count as usize).min(TAPS));
        // SAFETY: the structure may be written (`# Safety`).
        TapRequest { taps: unsafe { &mut *taps }, range: first..end }
    }

    /// Returns the numbers of the texels.
    #[inline(always)]
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Returns the slice in which the texels lie.
    #[inline(always)]
    pub fn slice(&self) -> TapSlice {
        let Taps { offset, pitch, size, mask, .. } = *self.taps;
        TapSlice { offset, pitch, size, mask }
    }

    /// Returns column and row of a texel.
    #[inline(always)]
    pub fn place<H: Host>(&self, i: usize) -> [H::Ints; 2] {
        if !self.range.contains(&i) {
            return [H::Ints::splat(0); 2];
        }
        // SAFETY: the texels of the range have places.
        let [x, y] = unsafe { self.taps.at[i % TAPS].assume_init() };
        [H::Ints::from_array(x), H::Ints::from_array(y)]
    }

    /// Writes the components of a texel.
    #[inline(always)]
    pub fn give<H: Host>(&mut self, i: usize, components: Words<H>) {
        let [r, g, b, a] = components;
        self.taps.texels[i % TAPS].write([r.to_array(), g.to_array(), b.to_array(), a.to_array()]);
    }

    /// Sets the components that are not the same in all texels of the format, one bit each.
    #[inline(always)]
    pub fn set_varying(&mut self, varying: u32) {
        self.taps.varying = varying;
    }
}
