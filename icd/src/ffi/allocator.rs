//! The application's allocator (`VkAllocationCallbacks`).
//!
//! It is called on the thread, and during the command, that it was given to or that is about a child of what it was given to; whatever outlives a handle, or is made
//! by other threads, is the driver's own memory.

use ash::vk;
use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::NonNull;

type Allocation = unsafe extern "system" fn(*mut c_void, usize, usize, vk::SystemAllocationScope) -> *mut c_void;
type Free = unsafe extern "system" fn(*mut c_void, *mut c_void);

/// An allocator, which lives as long as what it was given to.
#[derive(Clone, Copy)]
pub struct Callbacks {
    user_data: usize,
    allocation: Allocation,
    free: Free,
}

impl Callbacks {
    /// `None`: there is none, or not all of it, which is invalid.
    ///
    /// # Safety
    /// The structure is null or valid.
    #[inline(always)]
    pub unsafe fn of(callbacks: *const vk::AllocationCallbacks<'_>) -> Option<Callbacks> {
        // SAFETY: the caller's promise.
        let callbacks = unsafe { callbacks.as_ref() }?;
        let (allocation, free) = (callbacks.pfn_allocation?, callbacks.pfn_free?);
        Some(Callbacks { user_data: callbacks.p_user_data as usize, allocation, free })
    }

    /// Memory, or VK_ERROR_OUT_OF_HOST_MEMORY.
    pub fn allocate(&self, layout: Layout, scope: vk::SystemAllocationScope) -> Result<NonNull<u8>, vk::Result> {
        let user_data = self.user_data as *mut c_void;
        // SAFETY: the application gave this function for this purpose.
        let block = base::fp::outside(|| unsafe { (self.allocation)(user_data, layout.size(), layout.align(), scope) });
        NonNull::new(block.cast()).ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY)
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// It is from a compatible allocator and is used no more.
    pub unsafe fn free(&self, block: *mut u8) {
        let user_data = self.user_data as *mut c_void;
        // SAFETY: the caller's promise, and as above.
        base::fp::outside(|| unsafe { (self.free)(user_data, block.cast()) });
    }
}
