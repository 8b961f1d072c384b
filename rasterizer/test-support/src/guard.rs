//! Buffers, attachments and images that end, or begin, at a page without access: an access beyond
//! them ends the test's process.
//!
//! A kernel may access the bytes that its contract names: the bytes of a buffer range, or
//! `layout.size` bytes of an image. On the side without such a page, the rest of the page is
//! checked when the memory is released.

use base::format::{Format, TABLE};
use base::image::{ImageDesc, ImageLayout};
use base::mem::{DeviceMemory, ImageMemory, MemoryRange};
use base::os;
use base::random::Rng;
use std::ptr::NonNull;
use std::sync::Arc;

const PAGE: usize = 4096;
const UNTOUCHED: u8 = 0xa5;

/// The side of a [`Guarded`] range on which the page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The page lies before the range.
    Before,
    /// The page lies behind the range.
    Behind,
}
/// Both sides.
pub const SIDES: [Side; 2] = [Side::Before, Side::Behind];

/// Memory that adjoins a page without access.
pub struct Guarded {
    map: *mut u8,
    pages: usize,
    base: *mut u8,
    size: usize,
}

impl Guarded {
    /// Makes memory of `size` bytes, which are not initialised to anything in particular.
    pub fn new(size: usize, side: Side) -> Guarded {
        let pages = size.next_multiple_of(PAGE).max(PAGE);
        let map = os::reserve_pages(pages + 2 * PAGE).expect("addresses");
        // SAFETY: the reservation is new; the pages between its first and last become accessible.
        unsafe {
            assert!(os::commit_pages(map.add(PAGE), pages));
            map.add(PAGE).write_bytes(UNTOUCHED, pages);
        }
        let map = map.as_ptr();
        let slack = if side == Side::Behind { pages - size } else { 0 };
        Guarded { map, pages, base: map.wrapping_add(PAGE + slack), size }
    }

    /// Makes memory with the bytes of some values.
    pub fn of<T: Copy>(values: &[T], side: Side) -> Guarded {
        let guarded = Guarded::new(size_of_val(values), side);
        // SAFETY: the memory has as many bytes as the values.
        unsafe { core::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), guarded.base, guarded.size) };
        guarded
    }

    /// Makes memory with random bytes.
    pub fn random(size: usize, side: Side, random: &mut Rng) -> Guarded {
        Guarded::of(&(0..size).map(|_| random.next() as u8).collect::<Vec<_>>(), side)
    }

    /// Makes an image of random bytes.
    pub fn image(desc: ImageDesc, side: Side, random: &mut Rng) -> (Guarded, ImageMemory) {
        let layout = Arc::new(ImageLayout::new(desc).expect("small"));
        let guarded = Guarded::random(layout.size as usize, side, random);
        assert_eq!(guarded.base as usize % 64, 0, "images are aligned, and their sizes are");
        let base = guarded.base;
        (guarded, ImageMemory { base, layout })
    }

    /// Returns the location of the memory.
    pub fn range(&self) -> MemoryRange {
        MemoryRange { address: self.base, size: self.size as u64 }
    }

    /// Returns the memory, which may not be used after `self` is dropped.
    pub fn memory(&self) -> DeviceMemory {
        // SAFETY: tests drop the guarded memory after its last use.
        unsafe { DeviceMemory::new(self.range()) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let first = self.base as usize - self.map as usize - PAGE;
        // SAFETY: the slice is the accessible pages of the mapping, which are no longer used.
        let pages = unsafe { core::slice::from_raw_parts(self.map.add(PAGE), self.pages) };
        let outside = pages[..first].iter().chain(&pages[first + self.size..]);
        let touched = outside.copied().any(|b| b != UNTOUCHED);
        // SAFETY: the range is the whole mapping, which is unmapped once.
        unsafe { NonNull::new(self.map).map(|map| os::release_pages(map, self.pages + 2 * PAGE)) };
        assert!(!touched || std::thread::panicking(), "bytes around {} were written", self.size);
    }
}

/// Returns the formats of the table whose row `wanted` accepts.
pub fn formats(wanted: impl Fn(&base::format::FormatInfo) -> bool) -> impl Iterator<Item = Format> {
    TABLE.iter().enumerate().filter(move |(_, row)| row.block_bytes > 0 && wanted(row)).map(|(i, _)| Format(i as u16))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_around_cannot_be_touched() {
        let mut pipe = [0; 2];
        // SAFETY: the array holds two descriptors; the kernel of the system checks the address from
        // which it reads.
        let (written, refused) = unsafe {
            assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
            let (behind, before) = (Guarded::new(100, Side::Behind), Guarded::new(100, Side::Before));
            let write = |at: *const u8| libc::write(pipe[1], at.cast(), 1);
            let inside = [behind.base.add(99), before.base].map(|p| write(p));
            let outside = [behind.base.add(100), before.base.wrapping_sub(1)].map(|p| write(p));
            for fd in pipe {
                libc::close(fd);
            }
            (inside, outside)
        };
        assert_eq!((written, refused), ([1, 1], [-1, -1]));
    }
}
