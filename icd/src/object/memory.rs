//! Device memory: anonymous mappings, committed by the kernel when touched, counted against one heap.

use ash::vk;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that stay mapped behind every allocation, because a descriptor's address promises a few readable bytes.
const TAIL: usize = 64;
const PAGE: usize = 4096;
/// Allocations from this size on begin at a multiple of it, and the kernel may back them with pages of it: one page fault instead of 512.
const HUGE_PAGE: usize = 2 << 20;

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
    _mapping: Mapping,
    heap: Arc<Heap>,
}

/// An anonymous mapping of zeros, committed when touched.
struct Mapping {
    start: *mut libc::c_void,
    bytes: usize,
}

impl Mapping {
    fn new(bytes: usize) -> Option<Mapping> {
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a new anonymous mapping.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        (start != libc::MAP_FAILED).then_some(Mapping { start, bytes })
    }

    /// `bytes` bytes that begin at a multiple of [`HUGE_PAGE`], and lie on huge pages where they fill them.
    fn huge(bytes: usize) -> Option<(Mapping, *mut u8)> {
        let mapping = Mapping::new(bytes.checked_add(HUGE_PAGE)?)?;
        let base = mapping.start.cast::<u8>();
        let base = base.wrapping_add(base.align_offset(HUGE_PAGE));
        // SAFETY: a range of the mapping. Advice: a kernel without huge pages declines.
        unsafe { libc::madvise(base.cast(), bytes / HUGE_PAGE * HUGE_PAGE, libc::MADV_HUGEPAGE) };
        Some((mapping, base))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nobody holds a reference any more.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
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
        let mapped = bytes.and_then(|bytes| {
            if bytes >= HUGE_PAGE {
                Mapping::huge(bytes)
            } else {
                Mapping::new(bytes).map(|mapping| {
                    let base = mapping.start.cast();
                    (mapping, base)
                })
            }
        });
        match mapped {
            Some((mapping, base)) => Ok(Memory { base, size, _mapping: mapping, heap: heap.clone() }),
            None => {
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
