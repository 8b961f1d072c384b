//! The driver's functions, without a loader.

use icd::{vk_icdGetInstanceProcAddr, vk_icdNegotiateLoaderICDInterfaceVersion};

/// Version of the loader–driver interface whose rules this crate follows in place of the loader.
const INTERFACE_VERSION: u32 = 7;

/// Returns `vkGetInstanceProcAddr` of the driver, for `ash::Entry::from_static_fn` and for
/// libraries that take the function.
pub fn static_fn() -> ash::StaticFn {
    let mut version = INTERFACE_VERSION;
    // SAFETY: `version` is valid for the call. The driver lowers it, or returns an error for
    // versions that it does not support; it supports this one.
    let _ = unsafe { vk_icdNegotiateLoaderICDInterfaceVersion(&mut version) };
    ash::StaticFn { get_instance_proc_addr: vk_icdGetInstanceProcAddr }
}

/// Returns the entry points of the driver. Layers are not available, because the loader provides
/// them.
pub fn entry() -> ash::Entry {
    // SAFETY: the function is linked into the program, and implements `vkGetInstanceProcAddr`.
    unsafe { ash::Entry::from_static_fn(static_fn()) }
}
