//! Tests that every command of an advertised extension is in the command table (vk.xml's `require`
//! blocks, for the rows of the extension table).

use super::extensions::Extension as E;
use super::{V1_1, V1_2, V1_3, V1_4};
use crate::entry::table;
use crate::ffi::table::Requirement;

#[rustfmt::skip]
static COMMANDS: &[(E, &[&str])] = &[
    (E::VK_KHR_get_physical_device_properties2, &["vkGetPhysicalDeviceFeatures2KHR", "vkGetPhysicalDeviceProperties2KHR", "vkGetPhysicalDeviceFormatProperties2KHR", "vkGetPhysicalDeviceImageFormatProperties2KHR", "vkGetPhysicalDeviceQueueFamilyProperties2KHR", "vkGetPhysicalDeviceMemoryProperties2KHR", "vkGetPhysicalDeviceSparseImageFormatProperties2KHR"]),
    (E::VK_KHR_surface, &["vkDestroySurfaceKHR", "vkGetPhysicalDeviceSurfaceSupportKHR", "vkGetPhysicalDeviceSurfaceCapabilitiesKHR", "vkGetPhysicalDeviceSurfaceFormatsKHR", "vkGetPhysicalDeviceSurfacePresentModesKHR"]),
    (E::VK_KHR_get_surface_capabilities2, &["vkGetPhysicalDeviceSurfaceCapabilities2KHR", "vkGetPhysicalDeviceSurfaceFormats2KHR"]),
    (E::VK_KHR_xcb_surface, &["vkCreateXcbSurfaceKHR", "vkGetPhysicalDeviceXcbPresentationSupportKHR"]),
    (E::VK_KHR_xlib_surface, &["vkCreateXlibSurfaceKHR", "vkGetPhysicalDeviceXlibPresentationSupportKHR"]),
    (E::VK_KHR_wayland_surface, &["vkCreateWaylandSurfaceKHR", "vkGetPhysicalDeviceWaylandPresentationSupportKHR"]),
    (E::VK_EXT_headless_surface, &["vkCreateHeadlessSurfaceEXT"]),
    (E::VK_EXT_debug_utils, &["vkSetDebugUtilsObjectNameEXT", "vkSetDebugUtilsObjectTagEXT", "vkQueueBeginDebugUtilsLabelEXT", "vkQueueEndDebugUtilsLabelEXT", "vkQueueInsertDebugUtilsLabelEXT", "vkCmdBeginDebugUtilsLabelEXT", "vkCmdEndDebugUtilsLabelEXT", "vkCmdInsertDebugUtilsLabelEXT", "vkCreateDebugUtilsMessengerEXT", "vkDestroyDebugUtilsMessengerEXT", "vkSubmitDebugUtilsMessageEXT"]),
    (E::VK_EXT_debug_report, &["vkCreateDebugReportCallbackEXT", "vkDestroyDebugReportCallbackEXT", "vkDebugReportMessageEXT"]),
    (E::VK_EXT_debug_marker, &["vkDebugMarkerSetObjectTagEXT", "vkDebugMarkerSetObjectNameEXT", "vkCmdDebugMarkerBeginEXT", "vkCmdDebugMarkerEndEXT", "vkCmdDebugMarkerInsertEXT"]),
    (E::VK_KHR_device_group_creation, &["vkEnumeratePhysicalDeviceGroupsKHR"]),
    (E::VK_KHR_external_memory_capabilities, &["vkGetPhysicalDeviceExternalBufferPropertiesKHR"]),
    (E::VK_KHR_external_semaphore_capabilities, &["vkGetPhysicalDeviceExternalSemaphorePropertiesKHR"]),
    (E::VK_KHR_external_fence_capabilities, &["vkGetPhysicalDeviceExternalFencePropertiesKHR"]),
    (E::VK_KHR_external_memory_fd, &["vkGetMemoryFdKHR", "vkGetMemoryFdPropertiesKHR"]),
    (E::VK_KHR_external_semaphore_fd, &["vkImportSemaphoreFdKHR", "vkGetSemaphoreFdKHR"]),
    (E::VK_KHR_external_fence_fd, &["vkImportFenceFdKHR", "vkGetFenceFdKHR"]),
    (E::VK_EXT_external_memory_host, &["vkGetMemoryHostPointerPropertiesEXT"]),
    (E::VK_KHR_swapchain, &["vkCreateSwapchainKHR", "vkDestroySwapchainKHR", "vkGetSwapchainImagesKHR", "vkAcquireNextImageKHR", "vkQueuePresentKHR"]),
    (E::VK_KHR_present_wait, &["vkWaitForPresentKHR"]),
    (E::VK_KHR_present_wait2, &["vkWaitForPresent2KHR"]),
    (E::VK_KHR_maintenance1, &["vkTrimCommandPoolKHR"]),
    (E::VK_KHR_maintenance3, &["vkGetDescriptorSetLayoutSupportKHR"]),
    (E::VK_KHR_maintenance4, &["vkGetDeviceBufferMemoryRequirementsKHR", "vkGetDeviceImageMemoryRequirementsKHR", "vkGetDeviceImageSparseMemoryRequirementsKHR"]),
    (E::VK_KHR_maintenance5, &["vkCmdBindIndexBuffer2KHR", "vkGetRenderingAreaGranularityKHR", "vkGetDeviceImageSubresourceLayoutKHR", "vkGetImageSubresourceLayout2KHR"]),
    (E::VK_KHR_maintenance10, &["vkCmdEndRendering2KHR"]),
    (E::VK_KHR_bind_memory2, &["vkBindBufferMemory2KHR", "vkBindImageMemory2KHR"]),
    (E::VK_KHR_get_memory_requirements2, &["vkGetImageMemoryRequirements2KHR", "vkGetBufferMemoryRequirements2KHR", "vkGetImageSparseMemoryRequirements2KHR"]),
    (E::VK_KHR_descriptor_update_template, &["vkCreateDescriptorUpdateTemplateKHR", "vkDestroyDescriptorUpdateTemplateKHR", "vkUpdateDescriptorSetWithTemplateKHR", "vkCmdPushDescriptorSetWithTemplateKHR"]),
    (E::VK_KHR_push_descriptor, &["vkCmdPushDescriptorSetKHR", "vkCmdPushDescriptorSetWithTemplateKHR"]),
    (E::VK_KHR_device_group, &["vkGetDeviceGroupPeerMemoryFeaturesKHR", "vkCmdSetDeviceMaskKHR", "vkCmdDispatchBaseKHR", "vkGetDeviceGroupPresentCapabilitiesKHR", "vkGetDeviceGroupSurfacePresentModesKHR", "vkGetPhysicalDevicePresentRectanglesKHR", "vkAcquireNextImage2KHR"]),
    (E::VK_KHR_create_renderpass2, &["vkCreateRenderPass2KHR", "vkCmdBeginRenderPass2KHR", "vkCmdNextSubpass2KHR", "vkCmdEndRenderPass2KHR"]),
    (E::VK_KHR_dynamic_rendering, &["vkCmdBeginRenderingKHR", "vkCmdEndRenderingKHR"]),
    (E::VK_KHR_dynamic_rendering_local_read, &["vkCmdSetRenderingAttachmentLocationsKHR", "vkCmdSetRenderingInputAttachmentIndicesKHR"]),
    (E::VK_EXT_host_image_copy, &["vkCopyMemoryToImageEXT", "vkCopyImageToMemoryEXT", "vkCopyImageToImageEXT", "vkTransitionImageLayoutEXT", "vkGetImageSubresourceLayout2EXT"]),
    (E::VK_KHR_synchronization2, &["vkCmdSetEvent2KHR", "vkCmdResetEvent2KHR", "vkCmdWaitEvents2KHR", "vkCmdPipelineBarrier2KHR", "vkCmdWriteTimestamp2KHR", "vkQueueSubmit2KHR"]),
    (E::VK_KHR_timeline_semaphore, &["vkGetSemaphoreCounterValueKHR", "vkWaitSemaphoresKHR", "vkSignalSemaphoreKHR"]),
    (E::VK_KHR_copy_commands2, &["vkCmdCopyBuffer2KHR", "vkCmdCopyImage2KHR", "vkCmdCopyBufferToImage2KHR", "vkCmdCopyImageToBuffer2KHR", "vkCmdBlitImage2KHR", "vkCmdResolveImage2KHR"]),
    (E::VK_KHR_buffer_device_address, &["vkGetBufferDeviceAddressKHR", "vkGetBufferOpaqueCaptureAddressKHR", "vkGetDeviceMemoryOpaqueCaptureAddressKHR"]),
    (E::VK_EXT_buffer_device_address, &["vkGetBufferDeviceAddressEXT"]),
    (E::VK_KHR_draw_indirect_count, &["vkCmdDrawIndirectCountKHR", "vkCmdDrawIndexedIndirectCountKHR"]),
    (E::VK_KHR_sampler_ycbcr_conversion, &["vkCreateSamplerYcbcrConversionKHR", "vkDestroySamplerYcbcrConversionKHR"]),
    (E::VK_KHR_map_memory2, &["vkMapMemory2KHR", "vkUnmapMemory2KHR"]),
    (E::VK_KHR_line_rasterization, &["vkCmdSetLineStippleKHR"]),
    (E::VK_EXT_line_rasterization, &["vkCmdSetLineStippleEXT"]),
    (E::VK_EXT_host_query_reset, &["vkResetQueryPoolEXT"]),
    (E::VK_EXT_private_data, &["vkCreatePrivateDataSlotEXT", "vkDestroyPrivateDataSlotEXT", "vkSetPrivateDataEXT", "vkGetPrivateDataEXT"]),
    (E::VK_EXT_extended_dynamic_state, &["vkCmdSetCullModeEXT", "vkCmdSetFrontFaceEXT", "vkCmdSetPrimitiveTopologyEXT", "vkCmdSetViewportWithCountEXT", "vkCmdSetScissorWithCountEXT", "vkCmdBindVertexBuffers2EXT", "vkCmdSetDepthTestEnableEXT", "vkCmdSetDepthWriteEnableEXT", "vkCmdSetDepthCompareOpEXT", "vkCmdSetDepthBoundsTestEnableEXT", "vkCmdSetStencilTestEnableEXT", "vkCmdSetStencilOpEXT"]),
    (E::VK_EXT_extended_dynamic_state2, &["vkCmdSetPatchControlPointsEXT", "vkCmdSetRasterizerDiscardEnableEXT", "vkCmdSetDepthBiasEnableEXT", "vkCmdSetLogicOpEXT", "vkCmdSetPrimitiveRestartEnableEXT"]),
    (E::VK_EXT_extended_dynamic_state3, &["vkCmdSetDepthClampEnableEXT", "vkCmdSetPolygonModeEXT", "vkCmdSetRasterizationSamplesEXT", "vkCmdSetSampleMaskEXT", "vkCmdSetAlphaToCoverageEnableEXT", "vkCmdSetAlphaToOneEnableEXT", "vkCmdSetLogicOpEnableEXT", "vkCmdSetColorBlendEnableEXT", "vkCmdSetColorBlendEquationEXT", "vkCmdSetColorBlendAdvancedEXT", "vkCmdSetColorWriteMaskEXT", "vkCmdSetTessellationDomainOriginEXT", "vkCmdSetDepthClipEnableEXT", "vkCmdSetDepthClipNegativeOneToOneEXT", "vkCmdSetProvokingVertexModeEXT", "vkCmdSetLineRasterizationModeEXT", "vkCmdSetLineStippleEnableEXT", "vkCmdSetRasterizationStreamEXT", "vkCmdSetSampleLocationsEnableEXT"]),
    (E::VK_EXT_multi_draw, &["vkCmdDrawMultiEXT", "vkCmdDrawMultiIndexedEXT"]),
    (E::VK_KHR_calibrated_timestamps, &["vkGetPhysicalDeviceCalibrateableTimeDomainsKHR", "vkGetCalibratedTimestampsKHR"]),
    (E::VK_EXT_calibrated_timestamps, &["vkGetPhysicalDeviceCalibrateableTimeDomainsEXT", "vkGetCalibratedTimestampsEXT"]),
    (E::VK_EXT_color_write_enable, &["vkCmdSetColorWriteEnableEXT"]),
    (E::VK_EXT_vertex_input_dynamic_state, &["vkCmdSetVertexInputEXT"]),
    (E::VK_EXT_conditional_rendering, &["vkCmdBeginConditionalRenderingEXT", "vkCmdEndConditionalRenderingEXT"]),
    (E::VK_EXT_transform_feedback, &["vkCmdBindTransformFeedbackBuffersEXT", "vkCmdBeginTransformFeedbackEXT", "vkCmdEndTransformFeedbackEXT", "vkCmdBeginQueryIndexedEXT", "vkCmdEndQueryIndexedEXT", "vkCmdDrawIndirectByteCountEXT"]),
    (E::VK_KHR_device_address_commands, &["vkCmdBindIndexBuffer3KHR", "vkCmdBindVertexBuffers3KHR", "vkCmdDrawIndirect2KHR", "vkCmdDrawIndexedIndirect2KHR", "vkCmdDispatchIndirect2KHR", "vkCmdCopyMemoryKHR", "vkCmdCopyMemoryToImageKHR", "vkCmdCopyImageToMemoryKHR", "vkCmdUpdateMemoryKHR", "vkCmdFillMemoryKHR", "vkCmdCopyQueryPoolResultsToMemoryKHR", "vkCmdDrawIndirectCount2KHR", "vkCmdDrawIndexedIndirectCount2KHR", "vkCmdBeginConditionalRendering2EXT", "vkCmdBindTransformFeedbackBuffers2EXT", "vkCmdBeginTransformFeedback2EXT", "vkCmdEndTransformFeedback2EXT", "vkCmdDrawIndirectByteCount2EXT", "vkCmdDrawMeshTasksIndirect2EXT", "vkCmdDrawMeshTasksIndirectCount2EXT"]),
    (E::VK_KHR_copy_memory_indirect, &["vkCmdCopyMemoryIndirectKHR", "vkCmdCopyMemoryToImageIndirectKHR"]),
    (E::VK_EXT_hdr_metadata, &["vkSetHdrMetadataEXT"]),
    (E::VK_EXT_primitive_restart_index, &["vkCmdSetPrimitiveRestartIndexEXT"]),
    (E::VK_EXT_attachment_feedback_loop_dynamic_state, &["vkCmdSetAttachmentFeedbackLoopEnableEXT"]),
    (E::VK_EXT_mesh_shader, &["vkCmdDrawMeshTasksEXT", "vkCmdDrawMeshTasksIndirectEXT", "vkCmdDrawMeshTasksIndirectCountEXT"]),
    (E::VK_EXT_sample_locations, &["vkCmdSetSampleLocationsEXT", "vkGetPhysicalDeviceMultisamplePropertiesEXT"]),
    (E::VK_EXT_tooling_info, &["vkGetPhysicalDeviceToolPropertiesEXT"]),
];

/// Commands of each core version after 1.0 (vk.xml's `feature` blocks). Rows of a version that is
/// not advertised yet have no effect.
#[rustfmt::skip]
static CORE: &[(u32, &[&str])] = &[
    (V1_1, &["vkEnumerateInstanceVersion", "vkBindBufferMemory2", "vkBindImageMemory2", "vkGetDeviceGroupPeerMemoryFeatures", "vkCmdSetDeviceMask", "vkEnumeratePhysicalDeviceGroups", "vkGetImageMemoryRequirements2", "vkGetBufferMemoryRequirements2", "vkGetImageSparseMemoryRequirements2", "vkGetPhysicalDeviceFeatures2", "vkGetPhysicalDeviceProperties2", "vkGetPhysicalDeviceFormatProperties2", "vkGetPhysicalDeviceImageFormatProperties2", "vkGetPhysicalDeviceQueueFamilyProperties2", "vkGetPhysicalDeviceMemoryProperties2", "vkGetPhysicalDeviceSparseImageFormatProperties2", "vkTrimCommandPool", "vkGetDeviceQueue2", "vkGetPhysicalDeviceExternalBufferProperties", "vkGetPhysicalDeviceExternalFenceProperties", "vkGetPhysicalDeviceExternalSemaphoreProperties", "vkCmdDispatchBase", "vkCreateDescriptorUpdateTemplate", "vkDestroyDescriptorUpdateTemplate", "vkUpdateDescriptorSetWithTemplate", "vkGetDescriptorSetLayoutSupport", "vkCreateSamplerYcbcrConversion", "vkDestroySamplerYcbcrConversion"]),
    (V1_2, &["vkResetQueryPool", "vkGetSemaphoreCounterValue", "vkWaitSemaphores", "vkSignalSemaphore", "vkGetBufferDeviceAddress", "vkGetBufferOpaqueCaptureAddress", "vkGetDeviceMemoryOpaqueCaptureAddress", "vkCmdDrawIndirectCount", "vkCmdDrawIndexedIndirectCount", "vkCreateRenderPass2", "vkCmdBeginRenderPass2", "vkCmdNextSubpass2", "vkCmdEndRenderPass2"]),
    (V1_3, &["vkGetPhysicalDeviceToolProperties", "vkCreatePrivateDataSlot", "vkDestroyPrivateDataSlot", "vkSetPrivateData", "vkGetPrivateData", "vkCmdPipelineBarrier2", "vkCmdWriteTimestamp2", "vkQueueSubmit2", "vkCmdCopyBuffer2", "vkCmdCopyImage2", "vkCmdCopyBufferToImage2", "vkCmdCopyImageToBuffer2", "vkGetDeviceBufferMemoryRequirements", "vkGetDeviceImageMemoryRequirements", "vkGetDeviceImageSparseMemoryRequirements", "vkCmdSetEvent2", "vkCmdResetEvent2", "vkCmdWaitEvents2", "vkCmdBlitImage2", "vkCmdResolveImage2", "vkCmdBeginRendering", "vkCmdEndRendering", "vkCmdSetCullMode", "vkCmdSetFrontFace", "vkCmdSetPrimitiveTopology", "vkCmdSetViewportWithCount", "vkCmdSetScissorWithCount", "vkCmdBindVertexBuffers2", "vkCmdSetDepthTestEnable", "vkCmdSetDepthWriteEnable", "vkCmdSetDepthCompareOp", "vkCmdSetDepthBoundsTestEnable", "vkCmdSetStencilTestEnable", "vkCmdSetStencilOp", "vkCmdSetRasterizerDiscardEnable", "vkCmdSetDepthBiasEnable", "vkCmdSetPrimitiveRestartEnable"]),
    (V1_4, &["vkMapMemory2", "vkUnmapMemory2", "vkGetDeviceImageSubresourceLayout", "vkGetImageSubresourceLayout2", "vkCopyMemoryToImage", "vkCopyImageToMemory", "vkCopyImageToImage", "vkTransitionImageLayout", "vkCmdPushDescriptorSet", "vkCmdPushDescriptorSetWithTemplate", "vkCmdBindDescriptorSets2", "vkCmdPushConstants2", "vkCmdPushDescriptorSet2", "vkCmdPushDescriptorSetWithTemplate2", "vkCmdSetLineStipple", "vkCmdBindIndexBuffer2", "vkGetRenderingAreaGranularity", "vkCmdSetRenderingAttachmentLocations", "vkCmdSetRenderingInputAttachmentIndices"]),
];

#[test]
fn core_versions_have_their_commands() {
    for (version, commands) in CORE {
        for command in *commands {
            let need = table::find(command.as_bytes()).map(|(_, need)| need);
            assert_eq!(need, Some(Requirement::Core(*version)), "{command}");
        }
    }
}

#[test]
fn advertised_extensions_have_their_commands() {
    for (extension, commands) in COMMANDS.iter().filter(|(e, _)| e.is_advertised()) {
        for command in *commands {
            assert!(table::find(command.as_bytes()).is_some(), "{} without {command}", extension.row().name);
        }
    }
}

#[test]
fn table_names_only_known_extensions() {
    for row in table::TABLES.into_iter().flatten() {
        for (name, need) in row.names {
            if let Requirement::Extension(extension) = need {
                let known = super::extensions::EXTENSIONS.iter().any(|e| e.name == *extension);
                assert!(known, "{name} needs {extension}, which has no row");
            }
        }
    }
}
