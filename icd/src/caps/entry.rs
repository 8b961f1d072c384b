//! The vkGetPhysicalDevice* entry points: from raw structures to the tables and back.

use super::formats::{ImageQuery, external_buffer_properties, external_fence_properties, external_semaphore_properties};
use crate::entry::shim::{shims, write_array};
use crate::entry::table::{CommandRow, V1_0, V1_1, ext, row};
use ash::vk;

const PROPERTIES2: &str = "VK_KHR_get_physical_device_properties2";

/// Rows.
pub const COMMANDS: &[CommandRow] = &[
    row!(
        PhysicalDevice,
        get_physical_device_features as vk::PFN_vkGetPhysicalDeviceFeatures,
        vkGetPhysicalDeviceFeatures: V1_0
    ),
    row!(
        PhysicalDevice,
        get_physical_device_features2 as vk::PFN_vkGetPhysicalDeviceFeatures2,
        vkGetPhysicalDeviceFeatures2: V1_1,
        vkGetPhysicalDeviceFeatures2KHR: ext(PROPERTIES2)
    ),
    row!(
        PhysicalDevice,
        get_physical_device_properties as vk::PFN_vkGetPhysicalDeviceProperties,
        vkGetPhysicalDeviceProperties: V1_0
    ),
    row!(
        PhysicalDevice,
        get_physical_device_properties2 as vk::PFN_vkGetPhysicalDeviceProperties2,
        vkGetPhysicalDeviceProperties2: V1_1,
        vkGetPhysicalDeviceProperties2KHR: ext(PROPERTIES2)
    ),
    row!(
        PhysicalDevice,
        get_physical_device_format_properties as vk::PFN_vkGetPhysicalDeviceFormatProperties,
        vkGetPhysicalDeviceFormatProperties: V1_0
    ),
    row!(
        PhysicalDevice,
        get_physical_device_format_properties2 as vk::PFN_vkGetPhysicalDeviceFormatProperties2,
        vkGetPhysicalDeviceFormatProperties2: V1_1,
        vkGetPhysicalDeviceFormatProperties2KHR: ext(PROPERTIES2)
    ),
    row!(
        PhysicalDevice,
        get_physical_device_image_format_properties as vk::PFN_vkGetPhysicalDeviceImageFormatProperties,
        vkGetPhysicalDeviceImageFormatProperties: V1_0
    ),
    row!(
        PhysicalDevice,
        get_physical_device_image_format_properties2 as vk::PFN_vkGetPhysicalDeviceImageFormatProperties2,
        vkGetPhysicalDeviceImageFormatProperties2: V1_1,
        vkGetPhysicalDeviceImageFormatProperties2KHR: ext(PROPERTIES2)
    ),
    row!(
        PhysicalDevice,
        get_physical_device_queue_family_properties as vk::PFN_vkGetPhysicalDeviceQueueFamilyProperties,
        vkGetPhysicalDeviceQueueFamilyProperties: V1_0
    ),
    row!(
        PhysicalDevice,
        get_physical_device_queue_family_properties2 as vk::PFN_vkGetPhysicalDeviceQueueFamilyProperties2,
        vkGetPhysicalDeviceQueueFamilyProperties2: V1_1,
        vkGetPhysicalDeviceQueueFamilyProperties2KHR: ext(PROPERTIES2)
    ),
    row!(
        PhysicalDevice,
        get_physical_device_memory_properties as vk::PFN_vkGetPhysicalDeviceMemoryProperties,
        vkGetPhysicalDeviceMemoryProperties: V1_0
    ),
    row!(
        PhysicalDevice,
        get_physical_device_memory_properties2 as vk::PFN_vkGetPhysicalDeviceMemoryProperties2,
        vkGetPhysicalDeviceMemoryProperties2: V1_1,
        vkGetPhysicalDeviceMemoryProperties2KHR: ext(PROPERTIES2)
    ),
    row!(
        PhysicalDevice,
        get_physical_device_sparse_image_format_properties as vk::PFN_vkGetPhysicalDeviceSparseImageFormatProperties,
        vkGetPhysicalDeviceSparseImageFormatProperties: V1_0
    ),
    row!(
        PhysicalDevice,
        get_physical_device_sparse_image_format_properties2 as vk::PFN_vkGetPhysicalDeviceSparseImageFormatProperties2,
        vkGetPhysicalDeviceSparseImageFormatProperties2: V1_1,
        vkGetPhysicalDeviceSparseImageFormatProperties2KHR: ext(PROPERTIES2)
    ),
    row!(
        PhysicalDevice,
        get_physical_device_external_buffer_properties as vk::PFN_vkGetPhysicalDeviceExternalBufferProperties,
        vkGetPhysicalDeviceExternalBufferProperties: V1_1,
        vkGetPhysicalDeviceExternalBufferPropertiesKHR: ext("VK_KHR_external_memory_capabilities")
    ),
    row!(
        PhysicalDevice,
        get_physical_device_external_semaphore_properties as vk::PFN_vkGetPhysicalDeviceExternalSemaphoreProperties,
        vkGetPhysicalDeviceExternalSemaphoreProperties: V1_1,
        vkGetPhysicalDeviceExternalSemaphorePropertiesKHR: ext("VK_KHR_external_semaphore_capabilities")
    ),
    row!(
        PhysicalDevice,
        get_physical_device_external_fence_properties as vk::PFN_vkGetPhysicalDeviceExternalFenceProperties,
        vkGetPhysicalDeviceExternalFenceProperties: V1_1,
        vkGetPhysicalDeviceExternalFencePropertiesKHR: ext("VK_KHR_external_fence_capabilities")
    ),
];

shims! {
    fn get_physical_device_features(_device: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceFeatures) {
        *out = super::features();
    }

    fn get_physical_device_features2(_device: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceFeatures2<'_>) {
        super::fill_features2(&mut *out);
    }

    fn get_physical_device_properties(_device: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceProperties) {
        *out = super::properties();
    }

    fn get_physical_device_properties2(_device: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceProperties2<'_>) {
        super::fill_properties2(&mut *out);
    }

    fn get_physical_device_format_properties(
        _device: vk::PhysicalDevice,
        format: vk::Format,
        out: *mut vk::FormatProperties,
    ) {
        *out = super::format_properties(format);
    }

    fn get_physical_device_format_properties2(
        _device: vk::PhysicalDevice,
        format: vk::Format,
        out: *mut vk::FormatProperties2<'_>,
    ) {
        super::fill_format_properties2(format, &mut *out);
    }

    fn get_physical_device_image_format_properties(
        _device: vk::PhysicalDevice,
        format: vk::Format,
        ty: vk::ImageType,
        tiling: vk::ImageTiling,
        usage: vk::ImageUsageFlags,
        flags: vk::ImageCreateFlags,
        out: *mut vk::ImageFormatProperties,
    ) -> VkResult {
        *out = vk::ImageFormatProperties::default();
        *out = super::image_format_properties(&ImageQuery { format, ty, tiling, usage, flags })?;
        Ok(())
    }

    fn get_physical_device_image_format_properties2(
        _device: vk::PhysicalDevice,
        info: *const vk::PhysicalDeviceImageFormatInfo2<'_>,
        out: *mut vk::ImageFormatProperties2<'_>,
    ) -> VkResult {
        super::fill_image_format_properties2(&*info, &mut *out)
    }

    fn get_physical_device_queue_family_properties(
        _device: vk::PhysicalDevice,
        count: *mut u32,
        out: *mut vk::QueueFamilyProperties,
    ) {
        // Without a result to return, a short array is not an error here.
        let _ = write_array(&super::queue_family_properties(), count, out);
    }

    fn get_physical_device_queue_family_properties2(
        _device: vk::PhysicalDevice,
        count: *mut u32,
        out: *mut vk::QueueFamilyProperties2<'_>,
    ) {
        let families = super::queue_family_properties();
        if out.is_null() {
            *count = families.len() as u32;
            return;
        }
        *count = (*count).min(families.len() as u32);
        for (i, family) in families.iter().enumerate().take(*count as usize) {
            (*out.add(i)).queue_family_properties = *family;
        }
    }

    fn get_physical_device_memory_properties(
        _device: vk::PhysicalDevice,
        out: *mut vk::PhysicalDeviceMemoryProperties,
    ) {
        *out = super::memory_properties();
    }

    fn get_physical_device_memory_properties2(
        _device: vk::PhysicalDevice,
        out: *mut vk::PhysicalDeviceMemoryProperties2<'_>,
    ) {
        (*out).memory_properties = super::memory_properties();
    }

    fn get_physical_device_sparse_image_format_properties(
        _device: vk::PhysicalDevice,
        _format: vk::Format,
        _ty: vk::ImageType,
        _samples: vk::SampleCountFlags,
        _usage: vk::ImageUsageFlags,
        _tiling: vk::ImageTiling,
        count: *mut u32,
        _out: *mut vk::SparseImageFormatProperties,
    ) {
        *count = 0;
    }

    fn get_physical_device_sparse_image_format_properties2(
        _device: vk::PhysicalDevice,
        _info: *const vk::PhysicalDeviceSparseImageFormatInfo2<'_>,
        count: *mut u32,
        _out: *mut vk::SparseImageFormatProperties2<'_>,
    ) {
        *count = 0;
    }

    fn get_physical_device_external_buffer_properties(
        _device: vk::PhysicalDevice,
        info: *const vk::PhysicalDeviceExternalBufferInfo<'_>,
        out: *mut vk::ExternalBufferProperties<'_>,
    ) {
        external_buffer_properties(&*info, &mut *out);
    }

    fn get_physical_device_external_semaphore_properties(
        _device: vk::PhysicalDevice,
        _info: *const vk::PhysicalDeviceExternalSemaphoreInfo<'_>,
        out: *mut vk::ExternalSemaphoreProperties<'_>,
    ) {
        external_semaphore_properties(&mut *out);
    }

    fn get_physical_device_external_fence_properties(
        _device: vk::PhysicalDevice,
        _info: *const vk::PhysicalDeviceExternalFenceInfo<'_>,
        out: *mut vk::ExternalFenceProperties<'_>,
    ) {
        external_fence_properties(&mut *out);
    }
}
