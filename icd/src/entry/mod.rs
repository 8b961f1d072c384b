//! Entry points. Unsafe code is here: shims turn handles into references and pointers into slices,
//! walk pNext chains, and catch panics.
//!
//! A command's name can be searched at every hop: its row in a table → the shim (`vkCmdCopyBuffer`
//! → `cmd_copy_buffer`) → `Command::CopyBuffer` → `execute/…copy_buffer`. Handles are in the
//! application's memory if it gives an allocator (`ffi::handle`).

pub mod acceleration_structure;
pub mod calibration;
pub mod cmd_address;
pub mod cmd_draw;
pub mod cmd_extended_state;
pub mod cmd_state;
pub mod cmd_transfer;
pub mod cmd_transform_feedback;
pub mod command_buffer;
pub mod cooperative_vector;
pub mod deferred_operation;
pub mod descriptor;
pub mod descriptor_buffer;
pub mod descriptor_heap;
mod descriptor_write;
pub mod device;
pub mod device_fault;
mod display;
mod external;
#[cfg(unix)]
mod external_fd;
mod external_handle;
#[cfg(windows)]
mod external_win32;
pub mod generated_commands;
pub mod host_image_copy;
pub mod instance;
pub mod micromap;
mod micromap_input;
pub mod physical_device;
pub mod pipeline;
pub mod pipeline_binary;
pub mod pipeline_executable;
mod pipeline_info;
mod pipeline_state;
pub mod ray_tracing;
pub mod recording;
pub mod render_pass;
pub mod resource;
mod sampler;
pub mod shader_object;
pub mod sparse;
mod sphere_input;
pub mod stage_source;
pub mod sync;
pub mod table;
pub mod validation_cache;

use crate::ffi::allocator::Callbacks;
use crate::ffi::handle;
use crate::ffi::pointer::c_string;
use crate::ffi::shim::guard;
use crate::ffi::table::{DispatchLevel, Requirement};
use ash::vk::{self, Handle};
use core::ffi::{CStr, c_char};

/// Highest loader-driver interface version that this driver supports.
const INTERFACE_VERSION: u32 = 7;

/// Negotiates the loader-driver interface version.
///
/// The code that runs from here to the first instance is in one section, `.text_start`, so that one
/// page fault brings it into memory: it does a microsecond's work, and each page fault takes two or
/// three. The compiler places the allocator's code elsewhere, so that code is run once here, while
/// the driver is loaded.
///
/// # Safety
/// `version` is null or valid.
// SAFETY: (the attributes) no other symbol has this name; this is code in a section of code.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text_start")]
#[allow(non_snake_case, reason = "the loader looks for this name")]
pub unsafe extern "system" fn vk_icdNegotiateLoaderICDInterfaceVersion(version: *mut u32) -> vk::Result {
    guard(|| {
        // SAFETY: `version` is null or valid, as the `# Safety` section demands.
        let Some(version) = (unsafe { version.as_mut() }) else { return vk::Result::ERROR_INITIALIZATION_FAILED };
        *version = (*version).min(INTERFACE_VERSION);
        drop(std::hint::black_box(Box::new(0u8)));
        // Before version 3 the loader expects surfaces that it makes itself.
        if *version < 3 { vk::Result::ERROR_INCOMPATIBLE_DRIVER } else { vk::Result::SUCCESS }
    })
}

/// Implements `vkGetInstanceProcAddr`, under the name that the loader looks for.
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
    // SAFETY: `instance` is null or live and `name` a C string, as the `# Safety` section demands.
    guard(|| unsafe { instance_function(instance, c_string(name)?, |_| true) })
}

/// Returns physical-device commands, for the loader's support of unknown extensions.
///
/// # Safety
/// `instance` is null or live, `name` is a C string.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the loader looks for this name")]
pub unsafe extern "system" fn vk_icdGetPhysicalDeviceProcAddr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: `instance` is null or live and `name` a C string, as the `# Safety` section demands.
    guard(|| unsafe { instance_function(instance, c_string(name)?, |level| level == DispatchLevel::PhysicalDevice) })
}

/// Returns the allocator for a child of a device: the one that its command received, else the
/// device's; `None` stands for the driver's own memory.
///
/// # Safety
/// The device is live; the callbacks are null or valid.
unsafe fn memory_of(device: vk::Device, given: *const vk::AllocationCallbacks<'_>) -> Option<Callbacks> {
    // SAFETY: the device is live and the callbacks null or valid, as the `# Safety` section
    // demands.
    unsafe { handle::memory::<crate::device::Device>(device, given) }
}

/// Returns a function by name, as an instance sees it.
///
/// # Safety
/// `instance` is null or live.
unsafe fn instance_function(
    instance: vk::Instance,
    name: &CStr,
    wanted: impl Fn(DispatchLevel) -> bool,
) -> vk::PFN_vkVoidFunction {
    let (row, need) = table::find(name.to_bytes())?;
    let visible = match row.level {
        DispatchLevel::Global => matches!(need, Requirement::Core(version) if version <= crate::caps::API_VERSION),
        _ if instance.is_null() => false,
        level => {
            // SAFETY: commands of this level need an instance, so `instance` is live.
            let instance = unsafe { handle::dispatchable::<crate::device::instance::Instance>(instance) };
            match need {
                // Device commands of a newer core version may still be enabled on the device.
                Requirement::Core(version) => {
                    version <= instance.api_version
                        || (level == DispatchLevel::Device && version <= crate::caps::API_VERSION)
                }
                Requirement::Extension(_) | Requirement::AnyExtension(_) => need.extensions().iter().any(|extension| {
                    instance.has_extension(extension)
                        || (level != DispatchLevel::Instance && crate::caps::has_device_extension(extension))
                }),
            }
        }
    };
    (visible && wanted(row.level)).then_some(row.function)
}
