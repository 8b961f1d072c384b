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

    /// No bytes?
    pub fn is_empty(self) -> bool {
        self.0.size == 0
    }

    /// The part `offset..offset + len`, cut to what is there.
    pub fn slice(self, offset: u64, len: u64) -> DeviceMemory {
        DeviceMemory(self.0.slice(offset, len))
    }

    fn at(self, offset: u64, len: usize) -> Option<*mut u8> {
        self.0.exact(offset, len as u64).map(|range| range.address)
    }

    /// Copies bytes out; false (and `out` untouched) when they are not all inside.
    pub fn read(self, offset: u64, out: &mut [u8]) -> bool {
        let Some(from) = self.at(offset, out.len()) else { return false };
        // SAFETY: inside the range; `out` is ours and cannot overlap it.
        unsafe { core::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len()) };
        true
    }

    /// Copies bytes in; false (and nothing written) when they do not fit.
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
                return true;
            }
            core::ptr::copy_nonoverlapping(pattern.as_ptr(), to, pattern.len());
            let mut done = pattern.len();
            while done < bytes {
                let step = done.min(bytes - done).min(1 << 16);
                core::ptr::copy_nonoverlapping(to, to.add(done), step);
                done += step;
            }
        }
        true
    }
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
}
