//! Device memory as the driver sees it: an address range that the application may read and write at the same time.
//!
//! No reference to the bytes is ever made; everything is a copy through raw pointers, checked against the range. An access
//! that is not wholly inside does nothing and says so.

/// A range of device memory. `Copy`: it is an address; whoever makes one keeps the memory alive while it is used.
#[derive(Clone, Copy, Debug)]
pub struct DeviceMemory {
    base: *mut u8,
    len: u64,
}

// SAFETY: an address range; what is there is shared with the application by nature.
unsafe impl Send for DeviceMemory {}
// SAFETY: as above.
unsafe impl Sync for DeviceMemory {}

impl DeviceMemory {
    /// A range.
    ///
    /// # Safety
    /// `base..base + len` stays readable and writable as long as the value or a copy of it is used.
    pub unsafe fn new(base: *mut u8, len: u64) -> DeviceMemory {
        DeviceMemory { base, len: if base.is_null() { 0 } else { len } }
    }

    /// Bytes.
    pub fn len(self) -> u64 {
        self.len
    }

    /// No bytes?
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The part `offset..offset + len`, cut to what is there.
    pub fn slice(self, offset: u64, len: u64) -> DeviceMemory {
        let offset = offset.min(self.len);
        DeviceMemory { base: self.base.wrapping_add(offset as usize), len: len.min(self.len - offset) }
    }

    fn at(self, offset: u64, len: usize) -> Option<*mut u8> {
        let inside = offset.checked_add(len as u64).is_some_and(|end| end <= self.len);
        inside.then(|| self.base.wrapping_add(offset as usize))
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
        let memory = unsafe { DeviceMemory::new(bytes.as_mut_ptr(), 48) };
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
