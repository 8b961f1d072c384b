//! Instances, layers, extensions, debug-utils messengers, callbacks of VK_EXT_debug_report.

use crate::device::instance::Instance;
use crate::ffi::allocator::Callbacks;
use crate::ffi::handle;
use crate::ffi::messages::{DebugReport, DebugReportCallback, Messenger};
use crate::ffi::pointer::{slice, write_array};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, V1_0, V1_1, ext, row};
use ash::vk;
use core::ffi::{CStr, c_char};
use std::sync::Arc;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Global, get_instance_proc_addr as vk::PFN_vkGetInstanceProcAddr, vkGetInstanceProcAddr: V1_0),
    row!(Global, enumerate_instance_version as vk::PFN_vkEnumerateInstanceVersion, vkEnumerateInstanceVersion: V1_1),
    row!(
        Global,
        enumerate_instance_extension_properties as vk::PFN_vkEnumerateInstanceExtensionProperties,
        vkEnumerateInstanceExtensionProperties: V1_0
    ),
    row!(
        Global,
        enumerate_instance_layer_properties as vk::PFN_vkEnumerateInstanceLayerProperties,
        vkEnumerateInstanceLayerProperties: V1_0
    ),
    row!(Global, create_instance as vk::PFN_vkCreateInstance, vkCreateInstance: V1_0),
    row!(Instance, destroy_instance as vk::PFN_vkDestroyInstance, vkDestroyInstance: V1_0),
    row!(Instance, enumerate_physical_devices as vk::PFN_vkEnumeratePhysicalDevices, vkEnumeratePhysicalDevices: V1_0),
    row!(
        Instance,
        enumerate_physical_device_groups as vk::PFN_vkEnumeratePhysicalDeviceGroups,
        vkEnumeratePhysicalDeviceGroups: V1_1,
        vkEnumeratePhysicalDeviceGroupsKHR: ext("VK_KHR_device_group_creation")
    ),
    row!(
        Instance,
        create_debug_utils_messenger as vk::PFN_vkCreateDebugUtilsMessengerEXT,
        vkCreateDebugUtilsMessengerEXT: ext("VK_EXT_debug_utils")
    ),
    row!(
        Instance,
        destroy_debug_utils_messenger as vk::PFN_vkDestroyDebugUtilsMessengerEXT,
        vkDestroyDebugUtilsMessengerEXT: ext("VK_EXT_debug_utils")
    ),
    row!(
        Instance,
        submit_debug_utils_message as vk::PFN_vkSubmitDebugUtilsMessageEXT,
        vkSubmitDebugUtilsMessageEXT: ext("VK_EXT_debug_utils")
    ),
    row!(
        Instance,
        create_debug_report_callback as vk::PFN_vkCreateDebugReportCallbackEXT,
        vkCreateDebugReportCallbackEXT: ext("VK_EXT_debug_report")
    ),
    row!(
        Instance,
        destroy_debug_report_callback as vk::PFN_vkDestroyDebugReportCallbackEXT,
        vkDestroyDebugReportCallbackEXT: ext("VK_EXT_debug_report")
    ),
    row!(
        Instance,
        debug_report_message as vk::PFN_vkDebugReportMessageEXT,
        vkDebugReportMessageEXT: ext("VK_EXT_debug_report")
    ),
];

shims! {
    fn get_instance_proc_addr(instance: vk::Instance, name: *const c_char) -> vk::PFN_vkVoidFunction {
        super::vk_icdGetInstanceProcAddr(instance, name)
    }

    fn enumerate_instance_version(version: *mut u32) -> VkResult {
        *version = crate::caps::API_VERSION;
        Ok(())
    }

    fn enumerate_instance_extension_properties(layer: *const c_char, count: *mut u32, data: *mut vk::ExtensionProperties) -> VkResult {
        if !layer.is_null() {
            return Err(vk::Result::ERROR_LAYER_NOT_PRESENT);
        }
        write_array(crate::caps::instance_extensions(), count, data)
    }

    fn enumerate_instance_layer_properties(count: *mut u32, data: *mut vk::LayerProperties) -> VkResult {
        write_array(&[], count, data)
    }

    // SAFETY: (the attribute) this is code in a section of code; see
    // `vk_icdNegotiateLoaderICDInterfaceVersion`.
    #[unsafe(link_section = ".text_start")]
    fn create_instance(
        info: *const vk::InstanceCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        instance: *mut vk::Instance,
    ) -> VkResult {
        let info = &*info;
        if info.enabled_layer_count != 0 {
            return Err(vk::Result::ERROR_LAYER_NOT_PRESENT);
        }
        let api_version = info.p_application_info.as_ref().map_or(0, |a| a.api_version);
        // A 1.0 driver must refuse newer applications; a 1.1 driver accepts all.
        if crate::caps::API_VERSION < vk::API_VERSION_1_1 && api_version >= vk::API_VERSION_1_1 {
            return Err(vk::Result::ERROR_INCOMPATIBLE_DRIVER);
        }
        let names = slice(info.pp_enabled_extension_names, info.enabled_extension_count);
        let extensions = crate::caps::enable_instance(names.iter().map(|n| CStr::from_ptr(*n)))?;
        let memory = Callbacks::from_raw(allocator);
        let new = Instance::new(api_version, extensions, memory);
        *instance = handle::create_dispatchable(new, memory)?;
        Ok(())
    }

    fn destroy_instance(instance: vk::Instance, allocator: *const vk::AllocationCallbacks<'_>) {
        drop(handle::destroy_dispatchable::<Instance>(instance, Callbacks::from_raw(allocator)));
    }

    fn enumerate_physical_devices(instance: vk::Instance, count: *mut u32, data: *mut vk::PhysicalDevice) -> VkResult {
        write_array(&[handle::dispatchable::<Instance>(instance).physical_device()], count, data)
    }

    fn enumerate_physical_device_groups(instance: vk::Instance, count: *mut u32, data: *mut vk::PhysicalDeviceGroupProperties<'_>) -> VkResult {
        if data.is_null() {
            *count = 1;
            return Ok(());
        }
        if *count == 0 {
            return Err(vk::Result::INCOMPLETE);
        }
        *count = 1;
        let group = &mut *data;
        group.physical_device_count = 1;
        group.physical_devices = [vk::PhysicalDevice::null(); vk::MAX_DEVICE_GROUP_SIZE];
        group.physical_devices[0] = handle::dispatchable::<Instance>(instance).physical_device();
        group.subset_allocation = vk::FALSE;
        Ok(())
    }

    fn create_debug_utils_messenger(
        instance: vk::Instance,
        info: *const vk::DebugUtilsMessengerCreateInfoEXT<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        messenger: *mut vk::DebugUtilsMessengerEXT,
    ) -> VkResult {
        let object = Arc::new(Messenger::new(&*info));
        *messenger = handle::create(object.clone(), handle::memory::<Instance>(instance, allocator))?;
        handle::dispatchable::<Instance>(instance).messages.add(object);
        Ok(())
    }

    fn destroy_debug_utils_messenger(
        instance: vk::Instance,
        messenger: vk::DebugUtilsMessengerEXT,
        allocator: *const vk::AllocationCallbacks<'_>,
    ) {
        handle::dispatchable::<Instance>(instance).messages.remove(handle::address(vk::Handle::as_raw(messenger)));
        handle::destroy::<Messenger>(messenger, handle::memory::<Instance>(instance, allocator));
    }

    fn submit_debug_utils_message(
        instance: vk::Instance,
        severity: vk::DebugUtilsMessageSeverityFlagsEXT,
        types: vk::DebugUtilsMessageTypeFlagsEXT,
        data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    ) {
        handle::dispatchable::<Instance>(instance).messages.submit(severity, types, &*data);
    }

    fn create_debug_report_callback(
        instance: vk::Instance,
        info: *const vk::DebugReportCallbackCreateInfoEXT<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        callback: *mut vk::DebugReportCallbackEXT,
    ) -> VkResult {
        let object = Arc::new(DebugReportCallback::new(&*info));
        *callback = handle::create(object.clone(), handle::memory::<Instance>(instance, allocator))?;
        handle::dispatchable::<Instance>(instance).messages.add_report_callback(object);
        Ok(())
    }

    fn destroy_debug_report_callback(
        instance: vk::Instance,
        callback: vk::DebugReportCallbackEXT,
        allocator: *const vk::AllocationCallbacks<'_>,
    ) {
        handle::dispatchable::<Instance>(instance).messages.remove_report_callback(handle::address(vk::Handle::as_raw(callback)));
        handle::destroy::<DebugReportCallback>(callback, handle::memory::<Instance>(instance, allocator));
    }

    fn debug_report_message(
        instance: vk::Instance,
        flags: vk::DebugReportFlagsEXT,
        ty: vk::DebugReportObjectTypeEXT,
        object: u64,
        location: usize,
        code: i32,
        layer: *const c_char,
        message: *const c_char,
    ) {
        let [layer, message] = [layer, message].map(|text| if text.is_null() { c"" } else { CStr::from_ptr(text) });
        let report = DebugReport { flags, object: (ty, object), location, code, layer, message };
        handle::dispatchable::<Instance>(instance).messages.send_debug_report(&report);
    }
}
