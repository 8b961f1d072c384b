//! The application's allocator (`VkAllocationCallbacks`).
//!
//! It is called only on the thread, and during the command, that received it or that concerns a
//! child of the object that it was given to. Memory that outlives a handle, or that other threads
//! allocate, is the driver's own.

use ash::vk;
use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::NonNull;

type Allocation = unsafe extern "system" fn(*mut c_void, usize, usize, vk::SystemAllocationScope) -> *mut c_void;
type Free = unsafe extern "system" fn(*mut c_void, *mut c_void);

/// An allocator, which lives as long as the object that it was given to.
#[derive(Clone, Copy)]
pub struct Callbacks {
    user_data: usize,
    allocation: Allocation,
    free: Free,
}

impl Callbacks {
    /// Returns the allocator, or `None` if there is none or it is incomplete, which is invalid.
    ///
    /// # Safety
    /// The structure is null or valid.
    #[inline(always)]
    pub unsafe fn from_raw(callbacks: *const vk::AllocationCallbacks<'_>) -> Option<Callbacks> {
        // SAFETY: the structure is null or valid, as the `# Safety` section demands.
        let callbacks = unsafe { callbacks.as_ref() }?;
        let (allocation, free) = (callbacks.pfn_allocation?, callbacks.pfn_free?);
        Some(Callbacks { user_data: callbacks.p_user_data as usize, allocation, free })
    }

    /// Allocates memory; fails with VK_ERROR_OUT_OF_HOST_MEMORY.
    pub fn allocate(&self, layout: Layout, scope: vk::SystemAllocationScope) -> Result<NonNull<u8>, vk::Result> {
        let user_data = self.user_data as *mut c_void;
        // SAFETY: the application gave this function for allocations with these arguments.
        let block = base::fp::with_caller_environment(|| unsafe {
            (self.allocation)(user_data, layout.size(), layout.align(), scope)
        });
        NonNull::new(block.cast()).ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY)
    }

    /// Frees memory.
    ///
    /// # Safety
    /// The memory is from a compatible allocator and is not used any more.
    pub unsafe fn free(&self, block: *mut u8) {
        let user_data = self.user_data as *mut c_void;
        // SAFETY: the application gave this function for memory of a compatible allocator, which
        // the `# Safety` section demands.
        base::fp::with_caller_environment(|| unsafe { (self.free)(user_data, block.cast()) });
    }
}
