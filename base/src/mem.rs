//! Device memory as the driver sees it: an address range that the application may read and write at the same time.
//!
//! No reference to the bytes is ever made; everything is a copy through raw pointers, checked against the range. An access
//! that is not wholly inside does nothing and says so.

/// Where bytes of device memory lie: an address and their number, which say nothing about whether the memory lives. Who accesses what is
/// there makes a promise of its own.
#[derive(Clone, Copy, Debug)]
pub struct MemoryRange {
    /// First byte; null for no memory.
    pub address: *mut u8,
    /// Bytes.
    pub size: u64,
}

// SAFETY: numbers, until somebody accesses what is there.
unsafe impl Send for MemoryRange {}
// SAFETY: as above.
unsafe impl Sync for MemoryRange {}

impl MemoryRange {
    /// No memory.
    pub const NULL: MemoryRange = MemoryRange { address: core::ptr::null_mut(), size: 0 };

    /// The part `offset..offset + size`, cut to what is there; null when nothing is.
    pub fn slice(self, offset: u64, size: u64) -> MemoryRange {
        if self.address.is_null() || offset >= self.size {
            return MemoryRange::NULL;
        }
        MemoryRange { address: self.address.wrapping_add(offset as usize), size: size.min(self.size - offset) }
    }

    /// `size` bytes at `offset`, if all of them are inside.
    #[inline(always)]
    pub fn exact(self, offset: u64, size: u64) -> Option<MemoryRange> {
        let inside = offset.checked_add(size).is_some_and(|end| end <= self.size);
        (inside && !self.address.is_null())
            .then(|| MemoryRange { address: self.address.wrapping_add(offset as usize), size })
    }
}

/// A range of device memory that can be accessed. `Copy`: it is an address; whoever makes one keeps the memory alive while it is used.
#[derive(Clone, Copy, Debug)]
pub struct DeviceMemory(MemoryRange);

impl DeviceMemory {
    /// A range.
    ///
    /// # Safety
    /// Its bytes stay readable and writable as long as the value or a copy of it is used.
    pub unsafe fn new(range: MemoryRange) -> DeviceMemory {
        DeviceMemory(if range.address.is_null() { MemoryRange::NULL } else { range })
    }

    /// Bytes.
    pub fn len(self) -> u64 {
        self.0.size
    }

    /// Number of the first byte's address.
    pub fn address(self) -> u64 {
        self.0.address as u64
    }

    /// No bytes?
    pub fn is_empty(self) -> bool {
        self.0.size == 0
    }

    /// The part `offset..offset + len`, cut to what is there.
    pub fn slice(self, offset: u64, len: u64) -> DeviceMemory {
        DeviceMemory(self.0.slice(offset, len))
    }

    #[inline]
    fn at(self, offset: u64, len: usize) -> Option<*mut u8> {
        self.0.exact(offset, len as u64).map(|range| range.address)
    }

    /// Copies bytes out; false (and `out` untouched) when they are not all inside.
    #[inline]
    pub fn read(self, offset: u64, out: &mut [u8]) -> bool {
        let Some(from) = self.at(offset, out.len()) else { return false };
        // SAFETY: inside the range; `out` is ours and cannot overlap it.
        unsafe { core::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len()) };
        true
    }

    /// Copies bytes in; false (and nothing written) when they do not fit.
    #[inline]
    pub fn write(self, offset: u64, bytes: &[u8]) -> bool {
        let Some(to) = self.at(offset, bytes.len()) else { return false };
        // SAFETY: inside the range; `bytes` is not device memory.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        true
    }

    /// Copies `len` bytes from another range, which may overlap; false when either side is too short.
    pub fn copy_from(self, offset: u64, from: DeviceMemory, from_offset: u64, len: u64) -> bool {
        let Ok(bytes) = usize::try_from(len) else { return false };
        let (Some(to), Some(from)) = (self.at(offset, bytes), from.at(from_offset, bytes)) else { return false };
        // SAFETY: both inside their ranges; `copy` allows overlap.
        unsafe { core::ptr::copy(from, to, bytes) };
        true
    }

    /// [`DeviceMemory::copy_from`] past the caches: for copies of more than they hold, where lines that are fetched only to be written, and others
    /// that they push out, cost more than the bytes.
    pub fn stream_from(self, offset: u64, from: DeviceMemory, from_offset: u64, len: u64) -> bool {
        let Ok(bytes) = usize::try_from(len) else { return false };
        let (Some(to), Some(from)) = (self.at(offset, bytes), from.at(from_offset, bytes)) else { return false };
        // SAFETY: both inside their ranges.
        unsafe { stream(from, to, bytes) };
        true
    }

    /// Repeats `pattern` over `count` places from `offset`; false when they do not fit.
    pub fn fill(self, offset: u64, pattern: &[u8], count: u64) -> bool {
        let Some(bytes) = (pattern.len() as u64).checked_mul(count).and_then(|b| usize::try_from(b).ok()) else {
            return false;
        };
        let Some(to) = self.at(offset, bytes) else { return false };
        if bytes == 0 {
            return true;
        }
        // SAFETY: inside the range.
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

/// Repeats a word over bytes, of which the last may have a part.
///
/// # Safety
/// They are writable.
unsafe fn fill_words(to: *mut u8, word: [u8; 8], bytes: usize) {
    let words = bytes / 8;
    // SAFETY: the caller's promise.
    unsafe {
        // From some hundred bytes on the string instruction is faster than any loop: it owns lines without reading them.
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

/// Repeats a pattern of any length over bytes, a multiple of it.
///
/// # Safety
/// They are writable.
unsafe fn fill_blocks(to: *mut u8, pattern: &[u8], bytes: usize) {
    // SAFETY: the caller's promise; what is read was written before.
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

/// Copies bytes by stores that go past the caches. Ranges that overlap give some mix of their bytes.
///
/// # Safety
/// The ranges are readable and writable.
#[cfg(target_arch = "x86_64")]
unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const LINE: usize = 64;
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    // SAFETY: the caller's promise; from `head` on the destination is aligned.
    unsafe {
        core::ptr::copy(from, to, head);
        for i in 0..lines {
            let (from, to) = (from.add(head + i * LINE).cast::<__m128i>(), to.add(head + i * LINE).cast::<__m128i>());
            let line = [0, 1, 2, 3].map(|k| _mm_loadu_si128(from.add(k)));
            for (k, &quarter) in line.iter().enumerate() {
                _mm_stream_si128(to.add(k), quarter);
            }
        }
        // Whoever learns that the copy is done sees its bytes.
        _mm_sfence();
        let done = head + lines * LINE;
        core::ptr::copy(from.add(done), to.add(done), bytes - done);
    }
}

/// # Safety
/// The ranges are readable and writable.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; `copy` allows overlap.
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
