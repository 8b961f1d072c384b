//! Device memory: anonymous mappings, committed by the kernel when touched, counted against one heap.

use ash::vk;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that stay mapped behind every allocation, because a descriptor's address promises a few readable bytes.
const TAIL: usize = 64;
const PAGE: usize = 4096;

/// The memory heap.
pub struct Heap {
    /// Bytes.
    pub size: u64,
    used: AtomicU64,
}

impl Heap {
    /// `GRUS_HEAP_MB`, or three quarters of the machine's memory (what a cgroup allows, if less).
    pub fn from_machine() -> Heap {
        Heap { size: crate::caps::heap_size(), used: AtomicU64::new(0) }
    }

    fn reserve(&self, bytes: u64) -> bool {
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|&sum| sum <= self.size)
            })
            .is_ok()
    }
}

/// `VkDeviceMemory`.
pub struct Memory {
    base: *mut u8,
    size: u64,
    mapped: usize,
    heap: Arc<Heap>,
}

// SAFETY: an address range owned by this object; what lies in it is device memory, accessed as such.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Reserves `size` bytes of zeros.
    pub fn allocate(heap: &Arc<Heap>, size: u64) -> Result<Memory, vk::Result> {
        const FAILED: vk::Result = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        if size == 0 || !heap.reserve(size) {
            return Err(FAILED);
        }
        let bytes =
            usize::try_from(size).ok().and_then(|s| s.checked_add(TAIL)).and_then(|s| s.checked_next_multiple_of(PAGE));
        let base = bytes.map(|bytes| {
            let (access, flags) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
            // SAFETY: a new anonymous mapping.
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) }
        });
        match (base, bytes) {
            (Some(base), Some(mapped)) if base != libc::MAP_FAILED => {
                Ok(Memory { base: base.cast(), size, mapped, heap: heap.clone() })
            }
            _ => {
                heap.used.fetch_sub(size, Ordering::Relaxed);
                Err(FAILED)
            }
        }
    }

    /// `allocationSize`.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The address of `offset`, if `bytes` bytes from there are inside.
    pub fn range(&self, offset: u64, bytes: u64) -> Option<*mut u8> {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.size);
        inside.then(|| self.base.wrapping_add(offset as usize))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `allocate`, and nobody holds a reference any more.
        unsafe { libc::munmap(self.base.cast(), self.mapped) };
        self.heap.used.fetch_sub(self.size, Ordering::Relaxed);
    }
}

/// A resource's binding to memory, set once.
pub struct Binding {
    _memory: Arc<Memory>,
    address: *mut u8,
}
// SAFETY: the address points into the memory that the binding keeps alive.
unsafe impl Send for Binding {}
// SAFETY: as above.
unsafe impl Sync for Binding {}

impl Binding {
    /// Binds `bytes` bytes at `offset`; VK_ERROR_OUT_OF_DEVICE_MEMORY when they are not inside the memory.
    pub fn new(memory: Arc<Memory>, offset: u64, bytes: u64) -> Result<Binding, vk::Result> {
        let address = memory.range(offset, bytes).ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
        Ok(Binding { _memory: memory, address })
    }

    /// First byte.
    pub fn address(&self) -> *mut u8 {
        self.address
    }
}
