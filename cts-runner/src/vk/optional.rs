//! Features beyond Vulkan 1.0 that a workload may use: small types, descriptor indexing, subgroup
//! operations, transform feedback, Y'CbCr conversions, mesh shaders, fragment shading rates, kinds
//! of programs, ray tracing.

use super::programs::{self, Programs};
use super::rays::{self, Rays};
use ash::{ext, khr, vk};
use std::ffi::{CStr, c_char};

/// Extensions that are part of Vulkan 1.2.
const EXTENSIONS: [&CStr; 3] =
    [khr::_8bit_storage::NAME, khr::shader_float16_int8::NAME, ext::descriptor_indexing::NAME];

/// Features that were found and are enabled. All of them are absent on a Vulkan 1.0 device.
#[derive(Clone, Copy, Default, Debug)]
pub struct Optional {
    /// True if the device has the feature `storageBuffer16BitAccess`.
    pub storage16: bool,
    /// True if the device has the feature `storageBuffer8BitAccess`.
    pub storage8: bool,
    /// True if the device has the feature `shaderFloat16`.
    pub float16: bool,
    /// True if the device has the feature `shaderInt8`.
    pub int8: bool,
    /// `subgroupSize`; 0 if it is unknown.
    pub subgroup_size: u32,
    /// Subgroup operations that compute shaders support.
    pub subgroup_operations: vk::SubgroupFeatureFlags,
    /// True if the device has the feature `shaderSampledImageArrayNonUniformIndexing`.
    pub divergent_images: bool,
    /// True if the device has the feature `shaderStorageBufferArrayNonUniformIndexing`.
    pub divergent_buffers: bool,
    /// True if the device has the features `cooperativeMatrix` and `vulkanMemoryModel`.
    pub cooperative: bool,
    /// True if the device has the feature `transformFeedback`.
    pub transform_feedback: bool,
    /// True if the device has the feature `samplerYcbcrConversion`.
    pub conversion: bool,
    /// True if the device has the features `meshShader` and `taskShader`.
    pub mesh_shader: bool,
    /// True if the device has the feature `pipelineFragmentShadingRate`.
    pub shading_rate: bool,
    /// True if the device has the feature `bufferDeviceAddress`.
    pub addresses: bool,
    /// Kinds of programs that the device has.
    pub programs: Programs,
    /// Features of ray tracing that the device has.
    pub rays: Rays,
    /// For each of [`EXTENSIONS`], whether the device has it.
    has: [bool; EXTENSIONS.len()],
}

/// The feature structures that enable an [`Optional`].
#[derive(Default)]
pub(super) struct Features {
    storage16: vk::PhysicalDevice16BitStorageFeatures<'static>,
    storage8: vk::PhysicalDevice8BitStorageFeatures<'static>,
    small: vk::PhysicalDeviceShaderFloat16Int8Features<'static>,
    indexing: vk::PhysicalDeviceDescriptorIndexingFeatures<'static>,
    memory_model: vk::PhysicalDeviceVulkanMemoryModelFeatures<'static>,
    cooperative: vk::PhysicalDeviceCooperativeMatrixFeaturesKHR<'static>,
    feedback: vk::PhysicalDeviceTransformFeedbackFeaturesEXT<'static>,
    conversion: vk::PhysicalDeviceSamplerYcbcrConversionFeatures<'static>,
    mesh: vk::PhysicalDeviceMeshShaderFeaturesEXT<'static>,
    rate: vk::PhysicalDeviceFragmentShadingRateFeaturesKHR<'static>,
    address: vk::PhysicalDeviceBufferDeviceAddressFeatures<'static>,
    programs: programs::Features,
    rays: rays::Features,
    wanted: [bool; 10],
}

impl Optional {
    /// Queries a device. `version` is the lower of the instance and device versions. `young` also
    /// queries structures that are newer than the validation layers, which report them as invalid.
    pub(super) fn query(instance: &ash::Instance, physical: vk::PhysicalDevice, version: u32, young: bool) -> Self {
        if version < vk::API_VERSION_1_1 {
            return Self::default();
        }
        // SAFETY: `physical` belongs to `instance`; the command is a query without preconditions.
        let extensions = unsafe { instance.enumerate_device_extension_properties(physical) }.unwrap_or_default();
        let listed = |name: &CStr| extensions.iter().any(|e| e.extension_name_as_c_str() == Ok(name));
        let core = version >= vk::API_VERSION_1_2;
        let has = EXTENSIONS.map(|name| core || listed(name));
        let mut storage16 = vk::PhysicalDevice16BitStorageFeatures::default();
        let mut storage8 = vk::PhysicalDevice8BitStorageFeatures::default();
        let mut small = vk::PhysicalDeviceShaderFloat16Int8Features::default();
        let mut indexing = vk::PhysicalDeviceDescriptorIndexingFeatures::default();
        let mut conversion = vk::PhysicalDeviceSamplerYcbcrConversionFeatures::default();
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut storage16).push_next(&mut conversion);
        if has[0] {
            features = features.push_next(&mut storage8);
        }
        if has[1] {
            features = features.push_next(&mut small);
        }
        if has[2] {
            features = features.push_next(&mut indexing);
        }
        let mut memory_model = vk::PhysicalDeviceVulkanMemoryModelFeatures::default();
        let mut cooperative = vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default();
        if young && core && listed(khr::cooperative_matrix::NAME) {
            features = features.push_next(&mut memory_model).push_next(&mut cooperative);
        }
        let mut feedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        if listed(ext::transform_feedback::NAME) {
            features = features.push_next(&mut feedback);
        }
        let mut mesh = vk::PhysicalDeviceMeshShaderFeaturesEXT::default();
        if core && listed(ext::mesh_shader::NAME) {
            features = features.push_next(&mut mesh);
        }
        let mut rate = vk::PhysicalDeviceFragmentShadingRateFeaturesKHR::default();
        if core && listed(khr::fragment_shading_rate::NAME) {
            features = features.push_next(&mut rate);
        }
        let mut address = vk::PhysicalDeviceBufferDeviceAddressFeatures::default();
        if core {
            features = features.push_next(&mut address);
        }
        let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut subgroup);
        // SAFETY: instance and device support Vulkan 1.1. The chained structures belong to it or to
        // extensions and versions that the device supports.
        unsafe {
            instance.get_physical_device_features2(physical, &mut features);
            instance.get_physical_device_properties2(physical, &mut properties);
        }
        let addresses = address.buffer_device_address == vk::TRUE;
        let programs = match young && version >= vk::API_VERSION_1_3 {
            true => Programs::query(instance, physical, listed, addresses),
            false => Programs::default(),
        };
        let rays = if addresses { Rays::query(instance, physical, listed) } else { Rays::default() };
        let computes = subgroup.supported_stages.contains(vk::ShaderStageFlags::COMPUTE);
        Self {
            storage16: storage16.storage_buffer16_bit_access == vk::TRUE,
            storage8: storage8.storage_buffer8_bit_access == vk::TRUE,
            float16: small.shader_float16 == vk::TRUE,
            int8: small.shader_int8 == vk::TRUE,
            subgroup_size: subgroup.subgroup_size,
            subgroup_operations: if computes { subgroup.supported_operations } else { Default::default() },
            divergent_images: indexing.shader_sampled_image_array_non_uniform_indexing == vk::TRUE,
            divergent_buffers: indexing.shader_storage_buffer_array_non_uniform_indexing == vk::TRUE,
            cooperative: cooperative.cooperative_matrix == vk::TRUE && memory_model.vulkan_memory_model == vk::TRUE,
            transform_feedback: feedback.transform_feedback == vk::TRUE,
            conversion: conversion.sampler_ycbcr_conversion == vk::TRUE,
            mesh_shader: mesh.mesh_shader == vk::TRUE && mesh.task_shader == vk::TRUE,
            shading_rate: rate.pipeline_fragment_shading_rate == vk::TRUE,
            addresses,
            programs,
            rays,
            has,
        }
    }

    /// Returns the structures that enable the features that were found.
    pub(super) fn features(&self) -> Features {
        let small = vk::PhysicalDeviceShaderFloat16Int8Features::default();
        let indexing = vk::PhysicalDeviceDescriptorIndexingFeatures::default()
            .shader_sampled_image_array_non_uniform_indexing(self.divergent_images)
            .shader_storage_buffer_array_non_uniform_indexing(self.divergent_buffers);
        Features {
            storage16: vk::PhysicalDevice16BitStorageFeatures::default().storage_buffer16_bit_access(self.storage16),
            storage8: vk::PhysicalDevice8BitStorageFeatures::default().storage_buffer8_bit_access(self.storage8),
            small: small.shader_float16(self.float16).shader_int8(self.int8),
            indexing,
            memory_model: vk::PhysicalDeviceVulkanMemoryModelFeatures::default().vulkan_memory_model(self.cooperative),
            cooperative: vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default().cooperative_matrix(self.cooperative),
            feedback: vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default()
                .transform_feedback(self.transform_feedback),
            conversion: vk::PhysicalDeviceSamplerYcbcrConversionFeatures::default()
                .sampler_ycbcr_conversion(self.conversion),
            mesh: vk::PhysicalDeviceMeshShaderFeaturesEXT::default()
                .mesh_shader(self.mesh_shader)
                .task_shader(self.mesh_shader),
            rate: vk::PhysicalDeviceFragmentShadingRateFeaturesKHR::default()
                .pipeline_fragment_shading_rate(self.shading_rate),
            address: vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(self.addresses),
            programs: self.programs.features(),
            rays: self.rays.features(),
            wanted: [
                self.storage16,
                self.storage8,
                self.float16 || self.int8,
                self.divergent_images || self.divergent_buffers,
                self.cooperative,
                self.transform_feedback,
                self.conversion,
                self.mesh_shader,
                self.addresses,
                self.shading_rate,
            ],
        }
    }

    /// Returns the extensions that a device of this version needs for the enabled features.
    pub(super) fn extensions(&self, version: u32) -> Vec<*const c_char> {
        let below = version < vk::API_VERSION_1_2;
        let missing = EXTENSIONS.iter().zip(self.has).filter(|&(_, has)| has && below).map(|(name, _)| name.as_ptr());
        let more = [
            (self.cooperative, khr::cooperative_matrix::NAME),
            (self.transform_feedback, ext::transform_feedback::NAME),
            (self.mesh_shader, ext::mesh_shader::NAME),
            (self.shading_rate, khr::fragment_shading_rate::NAME),
        ];
        let more = more.into_iter().filter(|(has, _)| *has).map(|(_, name)| name.as_ptr());
        missing.chain(more).chain(self.programs.extensions()).chain(self.rays.extensions()).collect()
    }
}

impl Features {
    /// Appends the structures to the create info of a device.
    pub(super) fn chain<'a>(&'a mut self, mut info: vk::DeviceCreateInfo<'a>) -> vk::DeviceCreateInfo<'a> {
        if self.wanted[0] {
            info = info.push_next(&mut self.storage16);
        }
        if self.wanted[1] {
            info = info.push_next(&mut self.storage8);
        }
        if self.wanted[2] {
            info = info.push_next(&mut self.small);
        }
        if self.wanted[3] {
            info = info.push_next(&mut self.indexing);
        }
        if self.wanted[4] {
            info = info.push_next(&mut self.memory_model).push_next(&mut self.cooperative);
        }
        if self.wanted[5] {
            info = info.push_next(&mut self.feedback);
        }
        if self.wanted[6] {
            info = info.push_next(&mut self.conversion);
        }
        if self.wanted[7] {
            info = info.push_next(&mut self.mesh);
        }
        if self.wanted[8] {
            info = info.push_next(&mut self.address);
        }
        if self.wanted[9] {
            info = info.push_next(&mut self.rate);
        }
        self.rays.chain(self.programs.chain(info))
    }
}
