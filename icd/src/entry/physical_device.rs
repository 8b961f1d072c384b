//! Queries on the physical device; the answers are in `caps`.

use crate::caps::formats::EffectiveFlags;
use crate::caps::{self, newer};
use crate::ffi::pointer::{fill_array, find, find_mut, write_array, write_each};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, V1_0, V1_1, V1_3, ext, row};
use crate::object::memory::Heap;
use ash::vk;

type Physical = vk::PhysicalDevice;

const PROPERTIES2: Requirement = ext("VK_KHR_get_physical_device_properties2");

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(PhysicalDevice, get_physical_device_features as vk::PFN_vkGetPhysicalDeviceFeatures, vkGetPhysicalDeviceFeatures: V1_0),
    row!(PhysicalDevice, get_physical_device_properties as vk::PFN_vkGetPhysicalDeviceProperties, vkGetPhysicalDeviceProperties: V1_0),
    row!(PhysicalDevice, get_physical_device_memory_properties as vk::PFN_vkGetPhysicalDeviceMemoryProperties, vkGetPhysicalDeviceMemoryProperties: V1_0),
    row!(PhysicalDevice, get_physical_device_queue_family_properties as vk::PFN_vkGetPhysicalDeviceQueueFamilyProperties, vkGetPhysicalDeviceQueueFamilyProperties: V1_0),
    row!(PhysicalDevice, get_physical_device_format_properties as vk::PFN_vkGetPhysicalDeviceFormatProperties, vkGetPhysicalDeviceFormatProperties: V1_0),
    row!(PhysicalDevice, get_physical_device_image_format_properties as vk::PFN_vkGetPhysicalDeviceImageFormatProperties, vkGetPhysicalDeviceImageFormatProperties: V1_0),
    row!(PhysicalDevice, get_physical_device_sparse_image_format_properties as vk::PFN_vkGetPhysicalDeviceSparseImageFormatProperties, vkGetPhysicalDeviceSparseImageFormatProperties: V1_0),
    row!(PhysicalDevice, get_physical_device_features2 as vk::PFN_vkGetPhysicalDeviceFeatures2, vkGetPhysicalDeviceFeatures2: V1_1, vkGetPhysicalDeviceFeatures2KHR: PROPERTIES2),
    row!(PhysicalDevice, get_physical_device_properties2 as vk::PFN_vkGetPhysicalDeviceProperties2, vkGetPhysicalDeviceProperties2: V1_1, vkGetPhysicalDeviceProperties2KHR: PROPERTIES2),
    row!(PhysicalDevice, get_physical_device_memory_properties2 as vk::PFN_vkGetPhysicalDeviceMemoryProperties2, vkGetPhysicalDeviceMemoryProperties2: V1_1, vkGetPhysicalDeviceMemoryProperties2KHR: PROPERTIES2),
    row!(PhysicalDevice, get_physical_device_queue_family_properties2 as vk::PFN_vkGetPhysicalDeviceQueueFamilyProperties2, vkGetPhysicalDeviceQueueFamilyProperties2: V1_1, vkGetPhysicalDeviceQueueFamilyProperties2KHR: PROPERTIES2),
    row!(PhysicalDevice, get_physical_device_format_properties2 as vk::PFN_vkGetPhysicalDeviceFormatProperties2, vkGetPhysicalDeviceFormatProperties2: V1_1, vkGetPhysicalDeviceFormatProperties2KHR: PROPERTIES2),
    row!(PhysicalDevice, get_physical_device_image_format_properties2 as vk::PFN_vkGetPhysicalDeviceImageFormatProperties2, vkGetPhysicalDeviceImageFormatProperties2: V1_1, vkGetPhysicalDeviceImageFormatProperties2KHR: PROPERTIES2),
    row!(PhysicalDevice, get_physical_device_sparse_image_format_properties2 as vk::PFN_vkGetPhysicalDeviceSparseImageFormatProperties2, vkGetPhysicalDeviceSparseImageFormatProperties2: V1_1, vkGetPhysicalDeviceSparseImageFormatProperties2KHR: PROPERTIES2),
    row!(PhysicalDevice, get_physical_device_external_buffer_properties as vk::PFN_vkGetPhysicalDeviceExternalBufferProperties, vkGetPhysicalDeviceExternalBufferProperties: V1_1, vkGetPhysicalDeviceExternalBufferPropertiesKHR: ext("VK_KHR_external_memory_capabilities")),
    row!(PhysicalDevice, get_physical_device_external_semaphore_properties as vk::PFN_vkGetPhysicalDeviceExternalSemaphoreProperties, vkGetPhysicalDeviceExternalSemaphoreProperties: V1_1, vkGetPhysicalDeviceExternalSemaphorePropertiesKHR: ext("VK_KHR_external_semaphore_capabilities")),
    row!(PhysicalDevice, get_physical_device_external_fence_properties as vk::PFN_vkGetPhysicalDeviceExternalFenceProperties, vkGetPhysicalDeviceExternalFenceProperties: V1_1, vkGetPhysicalDeviceExternalFencePropertiesKHR: ext("VK_KHR_external_fence_capabilities")),
    row!(PhysicalDevice, get_physical_device_fragment_shading_rates as vk::PFN_vkGetPhysicalDeviceFragmentShadingRatesKHR, vkGetPhysicalDeviceFragmentShadingRatesKHR: ext("VK_KHR_fragment_shading_rate")),
    row!(PhysicalDevice, get_physical_device_multisample_properties as vk::PFN_vkGetPhysicalDeviceMultisamplePropertiesEXT, vkGetPhysicalDeviceMultisamplePropertiesEXT: ext("VK_EXT_sample_locations")),
    row!(PhysicalDevice, get_physical_device_tool_properties as vk::PFN_vkGetPhysicalDeviceToolProperties, vkGetPhysicalDeviceToolProperties: V1_3, vkGetPhysicalDeviceToolPropertiesEXT: ext("VK_EXT_tooling_info")),
    row!(PhysicalDevice, get_physical_device_cooperative_matrix_properties as vk::PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR, vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR: ext("VK_KHR_cooperative_matrix")),
    row!(PhysicalDevice, get_physical_device_cooperative_vector_properties as newer::PFN_vkGetPhysicalDeviceCooperativeVectorPropertiesNV, vkGetPhysicalDeviceCooperativeVectorPropertiesNV: ext("VK_NV_cooperative_vector")),
    row!(PhysicalDevice, get_physical_device_flexible_matrix_properties as newer::PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV, vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV: ext("VK_NV_cooperative_matrix2")),
];

shims! {
    fn get_physical_device_features(_device: Physical, out: *mut vk::PhysicalDeviceFeatures) {
        *out = caps::features();
    }

    fn get_physical_device_features2(_device: Physical, out: *mut vk::PhysicalDeviceFeatures2<'_>) {
        caps::fill_features2(&mut *out);
    }

    fn get_physical_device_properties(_device: Physical, out: *mut vk::PhysicalDeviceProperties) {
        *out = caps::properties();
    }

    fn get_physical_device_properties2(_device: Physical, out: *mut vk::PhysicalDeviceProperties2<'_>) {
        caps::fill_properties2(&mut *out);
    }

    fn get_physical_device_memory_properties(_device: Physical, out: *mut vk::PhysicalDeviceMemoryProperties) {
        *out = caps::memory_properties();
    }

    fn get_physical_device_memory_properties2(_device: Physical, out: *mut vk::PhysicalDeviceMemoryProperties2<'_>) {
        (*out).memory_properties = caps::memory_properties();
        let budget = find_mut::<vk::PhysicalDeviceMemoryBudgetPropertiesEXT<'_>>((*out).p_next);
        if let Some(budget) = budget {
            let used = Heap::used_by_process();
            (budget.heap_budget, budget.heap_usage) = ([0; 16], [0; 16]);
            (budget.heap_budget[0], budget.heap_usage[0]) = (caps::heap_budget(used), used);
        }
    }

    fn get_physical_device_queue_family_properties(_device: Physical, count: *mut u32, out: *mut vk::QueueFamilyProperties) {
        // The command has no VkResult that could be VK_INCOMPLETE.
        let _ = write_array(&caps::QUEUE_FAMILIES, count, out);
    }

    fn get_physical_device_queue_family_properties2(_device: Physical, count: *mut u32, out: *mut vk::QueueFamilyProperties2<'_>) {
        let families = &caps::QUEUE_FAMILIES;
        if out.is_null() {
            *count = families.len() as u32;
            return;
        }
        *count = (*count).min(families.len() as u32);
        for (i, family) in families.iter().enumerate().take(*count as usize) {
            let out = &mut *out.add(i);
            out.queue_family_properties = *family;
            if let Some(owner) = find_mut::<newer::QueueFamilyOwnershipTransferPropertiesKHR<'_>>(out.p_next) {
                owner.optimal_image_transfer_to_queue_families = (1 << families.len()) - 1;
            }
            if let Some(granularity) =
                find_mut::<newer::QueueFamilyOptimalImageTransferGranularityPropertiesKHR<'_>>(out.p_next)
            {
                // A copy's rows may begin and end anywhere.
                granularity.optimal_image_transfer_granularity = vk::Extent3D { width: 1, height: 1, depth: 1 };
            }
            if let Some(global) = find_mut::<vk::QueueFamilyGlobalPriorityPropertiesKHR<'_>>(out.p_next) {
                // Any priority may be requested; the threads are the process's own.
                use vk::QueueGlobalPriorityKHR as P;
                let all = [P::LOW, P::MEDIUM, P::HIGH, P::REALTIME];
                global.priority_count = all.len() as u32;
                global.priorities[..all.len()].copy_from_slice(&all);
            }
        }
    }

    fn get_physical_device_cooperative_matrix_properties(_device: Physical, count: *mut u32, out: *mut vk::CooperativeMatrixPropertiesKHR<'_>) -> VkResult {
        fill_array(&caps::cooperative::cooperative_matrices(), count, out, |to, from| {
            *to = vk::CooperativeMatrixPropertiesKHR { p_next: to.p_next, ..*from };
            Ok(())
        })
    }

    fn get_physical_device_cooperative_vector_properties(_device: Physical, count: *mut u32, out: *mut newer::CooperativeVectorPropertiesNV<'_>) -> VkResult {
        fill_array(&caps::cooperative::cooperative_vectors(), count, out, |to, from| {
            *to = newer::CooperativeVectorPropertiesNV { p_next: to.p_next, ..*from };
            Ok(())
        })
    }

    fn get_physical_device_flexible_matrix_properties(
        _device: Physical,
        count: *mut u32,
        _out: *mut newer::CooperativeMatrixFlexibleDimensionsPropertiesNV<'_>,
    ) -> VkResult {
        // There are none.
        *count = 0;
        Ok(())
    }

    fn get_physical_device_format_properties(_device: Physical, format: vk::Format, out: *mut vk::FormatProperties) {
        *out = caps::format_properties(format);
    }

    fn get_physical_device_format_properties2(_device: Physical, format: vk::Format, out: *mut vk::FormatProperties2<'_>) {
        caps::fill_format_properties2(format, &mut *out);
    }

    fn get_physical_device_image_format_properties(
        _device: Physical,
        format: vk::Format,
        ty: vk::ImageType,
        tiling: vk::ImageTiling,
        usage: vk::ImageUsageFlags,
        flags: vk::ImageCreateFlags,
        out: *mut vk::ImageFormatProperties,
    ) -> VkResult {
        *out = vk::ImageFormatProperties::default();
        *out = caps::image_format_properties(&caps::formats::ImageQuery { format, ty, tiling, usage, flags })?;
        Ok(())
    }

    fn get_physical_device_image_format_properties2(
        _device: Physical,
        info: *const vk::PhysicalDeviceImageFormatInfo2<'_>,
        out: *mut vk::ImageFormatProperties2<'_>,
    ) -> VkResult {
        caps::fill_image_format_properties2(&*info, &mut *out)
    }

    fn get_physical_device_sparse_image_format_properties(
        _device: Physical,
        format: vk::Format,
        ty: vk::ImageType,
        samples: vk::SampleCountFlags,
        usage: vk::ImageUsageFlags,
        tiling: vk::ImageTiling,
        count: *mut u32,
        out: *mut vk::SparseImageFormatProperties,
    ) {
        let query = caps::formats::ImageQuery { format, ty, tiling, usage, flags: vk::ImageCreateFlags::empty() };
        write_each(caps::formats::sparse_image_format_properties(&query, samples), count, out, |out, p| *out = p);
    }

    fn get_physical_device_sparse_image_format_properties2(
        _device: Physical,
        info: *const vk::PhysicalDeviceSparseImageFormatInfo2<'_>,
        count: *mut u32,
        out: *mut vk::SparseImageFormatProperties2<'_>,
    ) {
        let i = &*info;
        let effective = EffectiveFlags::find(vk::ImageCreateFlags::empty(), i.usage, i.p_next);
        let properties = effective.into_iter().flat_map(|EffectiveFlags { flags, usage }| {
            let query = caps::formats::ImageQuery { format: i.format, ty: i.ty, tiling: i.tiling, usage, flags };
            caps::formats::sparse_image_format_properties(&query, i.samples)
        });
        write_each(properties, count, out, |out, p| out.properties = p);
    }

    fn get_physical_device_fragment_shading_rates(
        _device: Physical,
        count: *mut u32,
        out: *mut vk::PhysicalDeviceFragmentShadingRateKHR<'_>,
    ) -> VkResult {
        fill_array(&caps::fragment_shading_rates(), count, out, |to, from| {
            (to.fragment_size, to.sample_counts) = *from;
            Ok(())
        })
    }

    fn get_physical_device_multisample_properties(
        _device: Physical,
        samples: vk::SampleCountFlags,
        out: *mut vk::MultisamplePropertiesEXT<'_>,
    ) {
        (*out).max_sample_location_grid_size = caps::sample_location_grid(samples);
    }

    fn get_physical_device_external_buffer_properties(
        _device: Physical,
        info: *const vk::PhysicalDeviceExternalBufferInfo<'_>,
        out: *mut vk::ExternalBufferProperties<'_>,
    ) {
        caps::external::buffer_properties(&*info, &mut *out);
    }

    fn get_physical_device_external_semaphore_properties(
        _device: Physical,
        info: *const vk::PhysicalDeviceExternalSemaphoreInfo<'_>,
        out: *mut vk::ExternalSemaphoreProperties<'_>,
    ) {
        let kind = find::<vk::SemaphoreTypeCreateInfo<'_>>((*info).p_next);
        let timeline = kind.is_some_and(|kind| kind.semaphore_type == vk::SemaphoreType::TIMELINE);
        caps::external::semaphore_properties((*info).handle_type, timeline, &mut *out);
    }

    fn get_physical_device_external_fence_properties(
        _device: Physical,
        info: *const vk::PhysicalDeviceExternalFenceInfo<'_>,
        out: *mut vk::ExternalFenceProperties<'_>,
    ) {
        caps::external::fence_properties((*info).handle_type, &mut *out);
    }

    fn get_physical_device_tool_properties(
        _device: Physical,
        count: *mut u32,
        out: *mut vk::PhysicalDeviceToolProperties<'_>,
    ) -> VkResult {
        write_array(&[], count, out)
    }
}
