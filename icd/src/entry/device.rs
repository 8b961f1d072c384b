//! Devices, queues, private data, debug names and labels.

use super::memory_of;
use super::table;
use crate::caps::features::{Feature, FeatureSet};
use crate::caps::newer as vk;
use crate::caps::newer::DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED;
use crate::device::instance::{Instance, PhysicalDevice};
use crate::device::{Device, QueueRequest};
use crate::fallible;
use crate::ffi::allocator::Callbacks;
use crate::ffi::handle::{self, dispatchable};
use crate::ffi::object_data::{self, PrivateDataSlot};
use crate::ffi::pointer::{c_string, find, slice, string, write_array};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, DispatchLevel, Requirement, V1_0, V1_1, V1_3, ext, row};
use core::ffi::{CStr, c_char};
use std::sync::Arc;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, get_device_proc_addr as vk::PFN_vkGetDeviceProcAddr, vkGetDeviceProcAddr: V1_0),
    row!(PhysicalDevice, create_device as vk::PFN_vkCreateDevice, vkCreateDevice: V1_0),
    row!(Device, destroy_device as vk::PFN_vkDestroyDevice, vkDestroyDevice: V1_0),
    row!(
        PhysicalDevice,
        enumerate_device_extension_properties as vk::PFN_vkEnumerateDeviceExtensionProperties,
        vkEnumerateDeviceExtensionProperties: V1_0
    ),
    row!(
        PhysicalDevice,
        enumerate_device_layer_properties as vk::PFN_vkEnumerateDeviceLayerProperties,
        vkEnumerateDeviceLayerProperties: V1_0
    ),
    row!(Device, get_device_queue as vk::PFN_vkGetDeviceQueue, vkGetDeviceQueue: V1_0),
    row!(Device, get_device_queue2 as vk::PFN_vkGetDeviceQueue2, vkGetDeviceQueue2: V1_1),
    row!(Device, device_wait_idle as vk::PFN_vkDeviceWaitIdle, vkDeviceWaitIdle: V1_0),
    row!(
        Device,
        get_device_group_peer_memory_features as vk::PFN_vkGetDeviceGroupPeerMemoryFeatures,
        vkGetDeviceGroupPeerMemoryFeatures: V1_1,
        vkGetDeviceGroupPeerMemoryFeaturesKHR: ext("VK_KHR_device_group")
    ),
    row!(
        Device,
        create_private_data_slot as vk::PFN_vkCreatePrivateDataSlot,
        vkCreatePrivateDataSlot: V1_3,
        vkCreatePrivateDataSlotEXT: ext("VK_EXT_private_data")
    ),
    row!(
        Device,
        destroy_private_data_slot as vk::PFN_vkDestroyPrivateDataSlot,
        vkDestroyPrivateDataSlot: V1_3,
        vkDestroyPrivateDataSlotEXT: ext("VK_EXT_private_data")
    ),
    row!(
        Device,
        set_private_data as vk::PFN_vkSetPrivateData,
        vkSetPrivateData: V1_3,
        vkSetPrivateDataEXT: ext("VK_EXT_private_data")
    ),
    row!(
        Device,
        get_private_data as vk::PFN_vkGetPrivateData,
        vkGetPrivateData: V1_3,
        vkGetPrivateDataEXT: ext("VK_EXT_private_data")
    ),
    row!(
        Device,
        set_debug_utils_object_name as vk::PFN_vkSetDebugUtilsObjectNameEXT,
        vkSetDebugUtilsObjectNameEXT: ext("VK_EXT_debug_utils")
    ),
    row!(
        Device,
        set_debug_utils_object_tag as vk::PFN_vkSetDebugUtilsObjectTagEXT,
        vkSetDebugUtilsObjectTagEXT: ext("VK_EXT_debug_utils")
    ),
    row!(
        Device,
        queue_begin_debug_utils_label as vk::PFN_vkQueueBeginDebugUtilsLabelEXT,
        vkQueueBeginDebugUtilsLabelEXT: ext("VK_EXT_debug_utils")
    ),
    row!(
        Device,
        queue_end_debug_utils_label as vk::PFN_vkQueueEndDebugUtilsLabelEXT,
        vkQueueEndDebugUtilsLabelEXT: ext("VK_EXT_debug_utils")
    ),
    row!(
        Device,
        queue_insert_debug_utils_label as vk::PFN_vkQueueInsertDebugUtilsLabelEXT,
        vkQueueInsertDebugUtilsLabelEXT: ext("VK_EXT_debug_utils")
    ),
    row!(
        Device,
        debug_marker_set_object_name as vk::PFN_vkDebugMarkerSetObjectNameEXT,
        vkDebugMarkerSetObjectNameEXT: ext("VK_EXT_debug_marker")
    ),
    row!(
        Device,
        debug_marker_set_object_tag as vk::PFN_vkDebugMarkerSetObjectTagEXT,
        vkDebugMarkerSetObjectTagEXT: ext("VK_EXT_debug_marker")
    ),
];

/// Returns true if a name is usable on a device. Instance extensions with device commands (debug
/// utils) count too.
fn enabled(device: &Device, need: Requirement) -> bool {
    match need {
        Requirement::Core(version) => {
            version <= crate::caps::API_VERSION.min(device.instance.api_version.max(vk::API_VERSION_1_0))
        }
        Requirement::Extension(_) | Requirement::AnyExtension(_) => {
            need.extensions().iter().any(|name| device.has_extension(name) || device.instance.has_extension(name))
        }
    }
}

/// Reports to the application what its vkCreateDevice requested and the driver does not have.
fn report_missing(instance: &Instance, missing: impl std::fmt::Display + Into<vk::Result>) -> vk::Result {
    let message = format!("vkCreateDevice: {missing}");
    instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, "GRUS-unsupported", &message);
    missing.into()
}

/// Returns the requested queues. Priorities have no effect, nor has
/// VK_DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED_BIT_KHR: all queues are synchronized.
fn queues_of(
    infos: &[vk::DeviceQueueCreateInfo<'_>],
    features: FeatureSet,
) -> Result<Vec<QueueRequest>, (&'static str, vk::Result)> {
    let known = match features.has(Feature::internallySynchronizedQueues) {
        true => DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED,
        false => vk::DeviceQueueCreateFlags::empty(),
    };
    let mut left = crate::caps::QUEUE_FAMILIES.map(|family| family.queue_count);
    let one = |info: &vk::DeviceQueueCreateInfo<'_>| {
        let (family, flags, count) = (info.queue_family_index, info.flags, info.queue_count);
        if !known.contains(flags) {
            let message = "vkCreateDevice: queues of protected memory, or with flags that no enabled feature allows";
            return Err((message, vk::Result::ERROR_FEATURE_NOT_PRESENT));
        }
        let rest = left.get_mut(family as usize).and_then(|left| Some((left.checked_sub(count)?, left)));
        let Some((rest, left)) = rest else {
            return Err(("vkCreateDevice: queues that there are not", vk::Result::ERROR_INITIALIZATION_FAILED));
        };
        *left = rest;
        Ok(QueueRequest { family, flags, count })
    };
    infos.iter().map(one).collect()
}

/// Returns the reason why no code could run, if there is one.
fn missing_code_support() -> Option<&'static str> {
    if !jit::host::is_known() {
        return Some("vkCreateDevice: the driver needs an AArch64 processor, or an x86-64 one with SSE4.1");
    }
    let executable = jit::code::can_execute();
    (!executable).then_some(
        "vkCreateDevice: this process may not make executable memory (PR_SET_MDWE, SELinux's execmem or the like)",
    )
}

/// Names an object; null removes its name.
///
/// # Safety
/// The name is null or a C string; the object is live.
unsafe fn set_name(object: u64, name: *const c_char) -> Result<(), vk::Result> {
    if !name.is_null() {
        // An invalid UTF-8 byte becomes three bytes. SAFETY: the name is not null, so it is a C
        // string.
        fallible::available(3 * unsafe { CStr::from_ptr(name) }.count_bytes())?;
    }
    // SAFETY: the object is live and the name null or a C string, as the `# Safety` section
    // demands.
    unsafe { object_data::set_name(handle::address(object), string(name)) }
}

shims! {
    fn get_device_proc_addr(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
        let (row, need) = table::find(c_string(name)?.to_bytes())?;
        (row.level == DispatchLevel::Device && enabled(dispatchable::<Device>(device), need)).then_some(row.function)
    }

    fn create_device(
        physical_device: vk::PhysicalDevice,
        info: *const vk::DeviceCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        device: *mut vk::Device,
    ) -> VkResult {
        let info = &*info;
        let physical = dispatchable::<PhysicalDevice>(physical_device);
        let names = slice(info.pp_enabled_extension_names, info.enabled_extension_count);
        let instance = physical.instance().ok_or(vk::Result::ERROR_INITIALIZATION_FAILED)?;
        // This is not reported when the instance is made: no messenger exists yet, and reading the
        // environment takes longer than all the rest.
        if let Some(message) = crate::caps::conformance::ignored_reason() {
            instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::WARNING, "GRUS-environment", message);
        }
        let extensions = crate::caps::enable_device(names.iter().map(|n| CStr::from_ptr(*n)));
        let extensions = extensions.map_err(|missing| report_missing(&instance, missing))?;
        let features = crate::caps::enable_features(info).map_err(|missing| report_missing(&instance, missing))?;
        let replays = [Feature::bufferDeviceAddressCaptureReplay, Feature::descriptorBufferCaptureReplay];
        if replays.into_iter().any(|feature| features.has(feature)) {
            physical.heap.request_replay_addresses();
        }
        let infos = slice(info.p_queue_create_infos, info.queue_create_info_count);
        let queues = queues_of(infos, features).map_err(|(message, error)| {
            instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, "GRUS-unsupported", message);
            error
        })?;
        if let Some(message) = missing_code_support() {
            instance.report(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, "GRUS-unsupported", message);
            return Err(vk::Result::ERROR_INITIALIZATION_FAILED);
        }
        let memory = handle::memory::<PhysicalDevice>(physical_device, allocator);
        let made = Device::new(instance, physical, extensions, &queues)?;
        let control = find::<vk::DevicePipelineBinaryInternalCacheControlKHR<'_>>(info.p_next);
        if control.is_some_and(|control| control.disable_internal_cache != 0) {
            made.compiler.disable_sharing();
        }
        *device = handle::create_dispatchable(made, memory)?;
        Ok(())
    }

    fn destroy_device(device: vk::Device, allocator: *const vk::AllocationCallbacks<'_>) {
        if let Some(device) = handle::destroy_dispatchable::<Device>(device, Callbacks::from_raw(allocator)) {
            if !device.sync.is_in_own_process() {
                // In a child of the device's process the device's threads do not exist, so that
                // they cannot be joined; the memory ends with the child.
                return core::mem::forget(device);
            }
            device.stop();
        }
    }

    fn enumerate_device_extension_properties(
        _physical_device: vk::PhysicalDevice,
        layer: *const c_char,
        count: *mut u32,
        data: *mut vk::ExtensionProperties,
    ) -> VkResult {
        if !layer.is_null() {
            return Err(vk::Result::ERROR_LAYER_NOT_PRESENT);
        }
        write_array(crate::caps::device_extensions(), count, data)
    }

    fn enumerate_device_layer_properties(_physical_device: vk::PhysicalDevice, count: *mut u32, data: *mut vk::LayerProperties) -> VkResult {
        write_array(&[], count, data)
    }

    fn get_device_queue(device: vk::Device, family: u32, index: u32, queue: *mut vk::Queue) {
        *queue = dispatchable::<Device>(device).queue_handle(family, vk::DeviceQueueCreateFlags::empty(), index);
    }

    fn get_device_queue2(device: vk::Device, info: *const vk::DeviceQueueInfo2<'_>, queue: *mut vk::Queue) {
        let info = &*info;
        let (family, flags, index) = (info.queue_family_index, info.flags, info.queue_index);
        *queue = dispatchable::<Device>(device).queue_handle(family, flags, index);
    }

    fn device_wait_idle(device: vk::Device) -> VkResult {
        let device = dispatchable::<Device>(device);
        device.wait_idle()
    }

    fn get_device_group_peer_memory_features(
        _device: vk::Device,
        _heap: u32,
        _local: u32,
        _remote: u32,
        features: *mut vk::PeerMemoryFeatureFlags,
    ) {
        *features = vk::PeerMemoryFeatureFlags::COPY_SRC | vk::PeerMemoryFeatureFlags::COPY_DST;
    }

    fn create_private_data_slot(
        device: vk::Device,
        _info: *const vk::PrivateDataSlotCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        slot: *mut vk::PrivateDataSlot,
    ) -> VkResult {
        *slot = handle::create(Arc::new(PrivateDataSlot::default()), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_private_data_slot(device: vk::Device, slot: vk::PrivateDataSlot, allocator: *const vk::AllocationCallbacks<'_>) {
        handle::destroy::<PrivateDataSlot>(slot, memory_of(device, allocator));
    }

    fn set_private_data(_device: vk::Device, _ty: vk::ObjectType, object: u64, slot: vk::PrivateDataSlot, data: u64) -> VkResult {
        handle::get::<PrivateDataSlot>(slot).set(handle::address(object), data);
        Ok(())
    }

    fn get_private_data(_device: vk::Device, _ty: vk::ObjectType, object: u64, slot: vk::PrivateDataSlot, data: *mut u64) {
        *data = handle::get::<PrivateDataSlot>(slot).get(handle::address(object));
    }

    fn set_debug_utils_object_name(_device: vk::Device, info: *const vk::DebugUtilsObjectNameInfoEXT<'_>) -> VkResult {
        set_name((*info).object_handle, (*info).p_object_name)
    }

    fn set_debug_utils_object_tag(_device: vk::Device, _info: *const vk::DebugUtilsObjectTagInfoEXT<'_>) -> VkResult {
        Ok(())
    }

    fn debug_marker_set_object_name(_device: vk::Device, info: *const vk::DebugMarkerObjectNameInfoEXT<'_>) -> VkResult {
        set_name((*info).object, (*info).p_object_name)
    }

    fn debug_marker_set_object_tag(_device: vk::Device, _info: *const vk::DebugMarkerObjectTagInfoEXT<'_>) -> VkResult {
        Ok(())
    }

    fn queue_begin_debug_utils_label(_queue: vk::Queue, _info: *const vk::DebugUtilsLabelEXT<'_>) {}

    fn queue_end_debug_utils_label(_queue: vk::Queue) {}

    fn queue_insert_debug_utils_label(_queue: vk::Queue, _info: *const vk::DebugUtilsLabelEXT<'_>) {}
}
