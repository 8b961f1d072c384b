//! Device memory as the driver sees it: an address range that the application may read and write at
//! the same time.
//!
//! No reference to the bytes is ever made. Every access is a copy through raw pointers that is
//! checked against the range. An access that is not wholly inside does nothing and reports this.

use crate::image::ImageLayout;
use std::sync::Arc;

/// The location of bytes of device memory: an address and a size. It does not imply that the memory
/// is alive; code that accesses the bytes needs a separate guarantee.
#[derive(Clone, Copy, Debug)]
pub struct MemoryRange {
    /// Address of the first byte; null for no memory.
    pub address: *mut u8,
    /// Number of bytes.
    pub size: u64,
}

// SAFETY: the type holds numbers, and accesses to the memory are unsafe.
unsafe impl Send for MemoryRange {}
// SAFETY: the type holds numbers, and accesses to the memory are unsafe.
unsafe impl Sync for MemoryRange {}

impl MemoryRange {
    /// The range of no memory.
    pub const NULL: MemoryRange = MemoryRange { address: core::ptr::null_mut(), size: 0 };

    /// Returns the part `offset..offset + size`, cut to the range; null if nothing remains.
    pub fn slice(self, offset: u64, size: u64) -> MemoryRange {
        if self.address.is_null() || offset >= self.size {
            return MemoryRange::NULL;
        }
        MemoryRange { address: self.address.wrapping_add(offset as usize), size: size.min(self.size - offset) }
    }

    /// Returns `size` bytes at `offset`, if all of them are inside.
    #[inline(always)]
    pub fn exact(self, offset: u64, size: u64) -> Option<MemoryRange> {
        let inside = offset.checked_add(size).is_some_and(|end| end <= self.size);
        (inside && !self.address.is_null())
            .then(|| MemoryRange { address: self.address.wrapping_add(offset as usize), size })
    }
}

/// The memory of an image: its address and layout. The icd keeps it alive while a submission uses
/// it.
#[derive(Clone, Debug)]
pub struct ImageMemory {
    /// First byte; valid for `layout.size` bytes, aligned to [`crate::image::IMAGE_ALIGNMENT`].
    pub base: *mut u8,
    /// Places of the texels in the memory.
    pub layout: Arc<ImageLayout>,
}
// SAFETY: the type is an address and an immutable layout; all accesses go through checked kernels.
unsafe impl Send for ImageMemory {}
// SAFETY: the type is an address and an immutable layout; all accesses go through checked kernels.
unsafe impl Sync for ImageMemory {}

/// A range of device memory that can be accessed. It is `Copy`, because it is an address; the code
/// that makes one keeps the memory alive while it is used.
#[derive(Clone, Copy, Debug)]
pub struct DeviceMemory(MemoryRange);

impl DeviceMemory {
    /// Makes an accessible range.
    ///
    /// # Safety
    /// The bytes of the range stay readable and writable as long as the value or a copy of it is
    /// used.
    pub unsafe fn new(range: MemoryRange) -> DeviceMemory {
        DeviceMemory(if range.address.is_null() { MemoryRange::NULL } else { range })
    }

    /// Returns the number of bytes.
    #[inline]
    pub fn len(self) -> u64 {
        self.0.size
    }

    /// Returns the first byte's address as a number.
    #[inline]
    pub fn address(self) -> u64 {
        self.0.address as u64
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(self) -> bool {
        self.0.size == 0
    }

    /// Returns the part `offset..offset + len`, cut to the range.
    pub fn slice(self, offset: u64, len: u64) -> DeviceMemory {
        DeviceMemory(self.0.slice(offset, len))
    }

    #[inline]
    fn at(self, offset: u64, len: usize) -> Option<*mut u8> {
        self.0.exact(offset, len as u64).map(|range| range.address)
    }

    /// Copies bytes out; returns false, and leaves `out` unchanged, if they are not all inside.
    #[inline]
    pub fn read(self, offset: u64, out: &mut [u8]) -> bool {
        let Some(from) = self.at(offset, out.len()) else { return false };
        // SAFETY: the bytes are inside the range, and `out` is Rust memory, which cannot overlap
        // it.
        unsafe { core::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len()) };
        true
    }

    /// Copies bytes in; returns false, and writes nothing, if they do not fit.
    #[inline]
    pub fn write(self, offset: u64, bytes: &[u8]) -> bool {
        let Some(to) = self.at(offset, bytes.len()) else { return false };
        // SAFETY: the bytes are inside the range, and `bytes` is not device memory.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        true
    }

    /// Copies `len` bytes from another range, which may overlap; returns false if either side is
    /// too short.
    pub fn copy_from(self, offset: u64, from: DeviceMemory, from_offset: u64, len: u64) -> bool {
        let Ok(bytes) = usize::try_from(len) else { return false };
        let (Some(to), Some(from)) = (self.at(offset, bytes), from.at(from_offset, bytes)) else { return false };
        // SAFETY: both parts are inside their ranges, and `copy` allows overlap.
        unsafe { core::ptr::copy(from, to, bytes) };
        true
    }

    /// Copies as [`DeviceMemory::copy_from`] does, but with non-temporal stores. It is for copies
    /// that are larger than the caches, in which fetching lines that are only written, and evicting
    /// others, takes longer than the copy itself.
    pub fn stream_from(self, offset: u64, from: DeviceMemory, from_offset: u64, len: u64) -> bool {
        let Ok(bytes) = usize::try_from(len) else { return false };
        let (Some(to), Some(from)) = (self.at(offset, bytes), from.at(from_offset, bytes)) else { return false };
        // SAFETY: both parts are inside their ranges.
        unsafe { stream(from, to, bytes) };
        true
    }

    /// Repeats `pattern` `count` times from `offset` on; returns false if the copies do not fit.
    pub fn fill(self, offset: u64, pattern: &[u8], count: u64) -> bool {
        let Some(bytes) = (pattern.len() as u64).checked_mul(count).and_then(|b| usize::try_from(b).ok()) else {
            return false;
        };
        let Some(to) = self.at(offset, bytes) else { return false };
        if bytes == 0 {
            return true;
        }
        // SAFETY: the bytes are inside the range.
        unsafe {
            if pattern.iter().all(|&b| b == pattern[0]) {
                core::ptr::write_bytes(to, pattern[0], bytes);
            } else if matches!(pattern.len(), 2 | 4 | 8) {
                let word = core::array::from_fn(|i| pattern[i % pattern.len()]);
                fill_words(to, word, bytes);
            } else {
                fill_blocks(to, pattern, bytes);
            }
        }
        true
    }
}

/// Repeats a word over bytes, the last of which may have a part of it.
///
/// # Safety
/// `bytes` bytes at `to` are writable.
unsafe fn fill_words(to: *mut u8, word: [u8; 8], bytes: usize) {
    let words = bytes / 8;
    // SAFETY: the bytes are writable (`# Safety`).
    unsafe {
        // From some hundred bytes on, the string instruction is faster than any loop, because it
        // owns cache lines without reading them.
        #[cfg(target_arch = "x86_64")]
        if bytes >= 1024 {
            let value = u64::from_le_bytes(word);
            core::arch::asm!(
                "rep stosq", inout("rdi") to => _, inout("rcx") words => _, in("rax") value,
                options(nostack, preserves_flags)
            );
            core::ptr::copy_nonoverlapping(word.as_ptr(), to.add(words * 8), bytes % 8);
            return;
        }
        for i in 0..words {
            to.add(i * 8).cast::<[u8; 8]>().write(word);
        }
        core::ptr::copy_nonoverlapping(word.as_ptr(), to.add(words * 8), bytes % 8);
    }
}

/// Repeats a pattern of any length over bytes, whose number is a multiple of it.
///
/// # Safety
/// `bytes` bytes at `to` are writable.
unsafe fn fill_blocks(to: *mut u8, pattern: &[u8], bytes: usize) {
    // SAFETY: the bytes are writable (`# Safety`), and each byte that is read was written before.
    unsafe {
        core::ptr::copy_nonoverlapping(pattern.as_ptr(), to, pattern.len());
        let mut done = pattern.len();
        while done < bytes {
            let step = done.min(bytes - done).min(1 << 14) / pattern.len() * pattern.len();
            core::ptr::copy_nonoverlapping(to, to.add(done), step);
            done += step;
        }
    }
}

/// Copies bytes with non-temporal stores. Overlapping ranges give some mix of their bytes.
///
/// # Safety
/// `bytes` bytes are readable at `from` and writable at `to`.
#[cfg(target_arch = "x86_64")]
unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const LINE: usize = 64;
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    // SAFETY: the ranges are accessible (`# Safety`), and the destination is aligned from `head`
    // on.
    unsafe {
        core::ptr::copy(from, to, head);
        for i in 0..lines {
            let (from, to) = (from.add(head + i * LINE).cast::<__m128i>(), to.add(head + i * LINE).cast::<__m128i>());
            let line = [0, 1, 2, 3].map(|k| _mm_loadu_si128(from.add(k)));
            for (k, &quarter) in line.iter().enumerate() {
                _mm_stream_si128(to.add(k), quarter);
            }
        }
        // The fence orders the stores before all later ones, so a thread that sees that the copy is
        // done sees its bytes.
        _mm_sfence();
        let done = head + lines * LINE;
        core::ptr::copy(from.add(done), to.add(done), bytes - done);
    }
}

/// # Safety
/// `bytes` bytes are readable at `from` and writable at `to`.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the ranges are accessible (`# Safety`), and `copy` allows overlap.
    unsafe { core::ptr::copy(from, to, bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_goes_beyond_the_range() {
        let mut bytes = vec![0u8; 64];
        // SAFETY: the vector outlives the value.
        let memory = unsafe { DeviceMemory::new(MemoryRange { address: bytes.as_mut_ptr(), size: 48 }) };
        assert!(memory.fill(0, &[1, 2, 3], 16));
        assert!(!memory.fill(1, &[1, 2, 3], 16));
        assert!(!memory.write(47, &[9, 9]) && !memory.write(u64::MAX, &[9]));
        let mut out = [0u8; 4];
        assert!(memory.read(44, &mut out) && !memory.read(45, &mut out));
        assert_eq!(out, [3, 1, 2, 3]);
        assert!(memory.copy_from(1, memory, 0, 47) && !memory.copy_from(1, memory, 0, 48));
        assert_eq!(&bytes[..8], &[1, 1, 2, 3, 1, 2, 3, 1]);
        assert!(bytes[48..].iter().all(|&b| b == 0));
    }

    #[test]
    fn fills_and_streams_write_every_byte_and_no_other() {
        let mut bytes = vec![0u8; 6000];
        let range = MemoryRange { address: bytes.as_mut_ptr(), size: bytes.len() as u64 };
        // SAFETY: the vector outlives the value.
        let memory = unsafe { DeviceMemory::new(range) };
        let pattern: Vec<u8> = (1..17).collect();
        for length in [1, 2, 3, 4, 6, 8, 12, 16] {
            for (offset, count) in [(0, 1), (1, 5), (3, 31), (7, 128), (2, 255), (5, 350)] {
                bytes.fill(0);
                assert!(memory.fill(offset, &pattern[..length], count));
                let (from, to) = (offset as usize, offset as usize + length * count as usize);
                let want = |i: usize| if (from..to).contains(&i) { pattern[(i - from) % length] } else { 0 };
                assert!(bytes.iter().enumerate().all(|(i, &b)| b == want(i)), "{length} {offset} {count}");
            }
        }
        for (offset, from, len) in [(3000, 0, 2999), (3001, 7, 1), (3010, 5, 63), (2999, 64, 200), (3063, 1, 129)] {
            for (i, b) in bytes.iter_mut().enumerate() {
                *b = if i < 2999 { (i * 7 % 251) as u8 } else { 255 };
            }
            assert!(memory.stream_from(offset, memory, from, len));
            let inside = |i: usize| (offset..offset + len).contains(&(i as u64)).then(|| i - (offset - from) as usize);
            for (i, &b) in bytes.iter().enumerate().skip(2999) {
                assert_eq!(b, inside(i).map_or(255, |i| (i * 7 % 251) as u8), "{offset} {from} {len} {i}");
            }
        }
        assert!(!memory.stream_from(5999, memory, 0, 2) && !memory.stream_from(0, memory, u64::MAX, 2));
    }
}
