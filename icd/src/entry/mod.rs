//! Entry points. Unsafe lives here: shims turn handles into references and pointers into slices, walk pNext, catch panics.
//!
//! A command's name is greppable at every hop: its row in a table → the shim (`vkCmdCopyBuffer` → `cmd_copy_buffer`) →
//! `Command::CopyBuffer` → `execute/…copy_buffer`. Handles lie in memory of the
//! application's where it gives an allocator (`ffi::handle`).

pub mod calibration;
pub mod cmd_address;
pub mod cmd_draw;
pub mod cmd_extended_state;
pub mod cmd_state;
pub mod cmd_transfer;
pub mod cmd_transform_feedback;
pub mod command_buffer;
pub mod descriptor;
pub mod descriptor_buffer;
pub mod descriptor_heap;
mod descriptor_write;
pub mod device;
pub mod device_fault;
mod external;
pub mod host_image_copy;
pub mod instance;
pub mod physical_device;
pub mod pipeline;
pub mod pipeline_executable;
mod pipeline_info;
mod pipeline_state;
pub mod recording;
pub mod render_pass;
pub mod resource;
mod sampler;
pub mod sparse;
pub mod sync;
pub mod table;

use crate::ffi::allocator::Callbacks;
use crate::ffi::handle;
use crate::ffi::pointer::c_string;
use crate::ffi::shim::guard;
use crate::ffi::table::{Level, Need};
use ash::vk::{self, Handle};
use core::ffi::{CStr, c_char};

/// Highest loader-driver interface version this driver speaks.
const INTERFACE_VERSION: u32 = 7;

/// Loader-driver interface negotiation.
///
/// What runs from here to the first instance stands in one section, `.text_start`, so that it comes into memory as one piece: it is a microsecond's work, and each
/// page fault takes two or three. The allocator's way is the compiler's to place: it is gone once here, when the driver is loaded.
///
/// # Safety
/// `version` is valid.
// SAFETY: (the attributes) nobody else has this name; code, in a section of code.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text_start")]
#[allow(non_snake_case, reason = "the loader looks for this name")]
pub unsafe extern "system" fn vk_icdNegotiateLoaderICDInterfaceVersion(version: *mut u32) -> vk::Result {
    guard(|| {
        // SAFETY: the caller's promise.
        let Some(version) = (unsafe { version.as_mut() }) else { return vk::Result::ERROR_INITIALIZATION_FAILED };
        *version = (*version).min(INTERFACE_VERSION);
        drop(std::hint::black_box(Box::new(0u8)));
        // Before version 3 the loader expects surfaces of its own making.
        if *version < 3 { vk::Result::ERROR_INCOMPATIBLE_DRIVER } else { vk::Result::SUCCESS }
    })
}

/// `vkGetInstanceProcAddr`, under the name that the loader looks for.
///
/// # Safety
/// `instance` is null or live, `name` is a C string.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text_start")]
#[allow(non_snake_case, reason = "the loader looks for this name")]
pub unsafe extern "system" fn vk_icdGetInstanceProcAddr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: the caller's promise.
    guard(|| unsafe { instance_function(instance, c_string(name)?, |_| true) })
}

/// Physical-device commands, for the loader's unknown-extension support.
///
/// # Safety
/// As [`vk_icdGetInstanceProcAddr`].
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the loader looks for this name")]
pub unsafe extern "system" fn vk_icdGetPhysicalDeviceProcAddr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: the caller's promise.
    guard(|| unsafe { instance_function(instance, c_string(name)?, |level| level == Level::PhysicalDevice) })
}

/// Whose memory a child of a device lies in: of the allocator that its command has, else of the device's, else it is the driver's.
///
/// # Safety
/// The device is live; the callbacks are null or valid.
unsafe fn memory_of(device: vk::Device, given: *const vk::AllocationCallbacks<'_>) -> Option<Callbacks> {
    // SAFETY: the caller's promise.
    unsafe { handle::memory::<crate::device::Device>(device, given) }
}

/// A function by name, as an instance sees it.
///
/// # Safety
/// `instance` is null or live.
unsafe fn instance_function(
    instance: vk::Instance,
    name: &CStr,
    wanted: impl Fn(Level) -> bool,
) -> vk::PFN_vkVoidFunction {
    let (row, need) = table::find(name.to_bytes())?;
    let visible = match row.level {
        Level::Global => matches!(need, Need::Core(version) if version <= crate::caps::API_VERSION),
        _ if instance.is_null() => false,
        level => {
            // SAFETY: the caller's promise.
            let instance = unsafe { handle::dispatchable::<crate::device::instance::Instance>(instance) };
            match need {
                // Device commands of a newer core version may still be enabled on the device.
                Need::Core(version) => {
                    version <= instance.api_version || (level == Level::Device && version <= crate::caps::API_VERSION)
                }
                Need::Extension(extension) => {
                    instance.has_extension(extension)
                        || (level != Level::Instance && crate::caps::has_device_extension(extension))
                }
            }
        }
    };
    (visible && wanted(row.level)).then_some(row.function)
}
