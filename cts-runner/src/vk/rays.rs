//! Features of ray tracing: acceleration structures, ray queries and ray tracing pipelines.

use ash::{khr, vk};
use std::ffi::{CStr, c_char};

/// Ray tracing features that a device has and that are enabled. All of them need Vulkan 1.2 and the
/// feature `bufferDeviceAddress`.
#[derive(Clone, Copy, Default, Debug)]
pub struct Rays {
    /// True if the device has the feature `accelerationStructure`.
    pub structures: bool,
    /// True if the device also has the feature `rayQuery`.
    pub queries: bool,
    /// True if the device also has the feature `rayTracingPipeline`.
    pub pipelines: bool,
    /// `maxRayRecursionDepth`; 0 without pipelines.
    pub recursion: u32,
    /// `shaderGroupHandleSize`, `shaderGroupHandleAlignment` and `shaderGroupBaseAlignment`.
    pub(super) handles: [u32; 3],
    /// `minAccelerationStructureScratchOffsetAlignment`.
    pub(super) scratch_alignment: u32,
}

/// The feature structures of [`Rays`].
#[derive(Default)]
pub(super) struct Features {
    structure: vk::PhysicalDeviceAccelerationStructureFeaturesKHR<'static>,
    query: vk::PhysicalDeviceRayQueryFeaturesKHR<'static>,
    pipeline: vk::PhysicalDeviceRayTracingPipelineFeaturesKHR<'static>,
    wanted: Rays,
}

impl Rays {
    /// Queries a device of which the enabled version is at least 1.2 and that has the feature
    /// `bufferDeviceAddress`. `listed` tells whether the
    /// device has an extension.
    pub(super) fn query(
        instance: &ash::Instance,
        physical: vk::PhysicalDevice,
        listed: impl Fn(&CStr) -> bool,
    ) -> Self {
        if !listed(khr::acceleration_structure::NAME) || !listed(khr::deferred_host_operations::NAME) {
            return Self::default();
        }
        let (has_queries, has_pipelines) = (listed(khr::ray_query::NAME), listed(khr::ray_tracing_pipeline::NAME));
        let mut f = Features::default();
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut f.structure);
        let mut structure = vk::PhysicalDeviceAccelerationStructurePropertiesKHR::default();
        let mut pipeline = vk::PhysicalDeviceRayTracingPipelinePropertiesKHR::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut structure);
        if has_queries {
            features = features.push_next(&mut f.query);
        }
        if has_pipelines {
            features = features.push_next(&mut f.pipeline);
            properties = properties.push_next(&mut pipeline);
        }
        // SAFETY: instance and device support Vulkan 1.2. The chained structures belong to
        // extensions that the device has.
        unsafe {
            instance.get_physical_device_features2(physical, &mut features);
            instance.get_physical_device_properties2(physical, &mut properties);
        }
        let structures = f.structure.acceleration_structure == vk::TRUE;
        Self {
            structures,
            queries: structures && f.query.ray_query == vk::TRUE,
            pipelines: structures && f.pipeline.ray_tracing_pipeline == vk::TRUE,
            recursion: pipeline.max_ray_recursion_depth,
            handles: [
                pipeline.shader_group_handle_size,
                pipeline.shader_group_handle_alignment,
                pipeline.shader_group_base_alignment,
            ],
            scratch_alignment: structure.min_acceleration_structure_scratch_offset_alignment,
        }
    }

    /// Returns the structures that enable the features that were found.
    pub(super) fn features(self) -> Features {
        Features {
            structure: vk::PhysicalDeviceAccelerationStructureFeaturesKHR::default().acceleration_structure(true),
            query: vk::PhysicalDeviceRayQueryFeaturesKHR::default().ray_query(true),
            pipeline: vk::PhysicalDeviceRayTracingPipelineFeaturesKHR::default().ray_tracing_pipeline(true),
            wanted: self,
        }
    }

    /// Returns the extensions that the enabled features need.
    pub(super) fn extensions(self) -> impl Iterator<Item = *const c_char> {
        let names = [
            (self.structures, khr::deferred_host_operations::NAME),
            (self.structures, khr::acceleration_structure::NAME),
            (self.queries, khr::ray_query::NAME),
            (self.pipelines, khr::ray_tracing_pipeline::NAME),
        ];
        names.into_iter().filter(|(has, _)| *has).map(|(_, name)| name.as_ptr())
    }
}

impl Features {
    /// Appends the structures to the create info of a device.
    pub(super) fn chain<'a>(&'a mut self, mut info: vk::DeviceCreateInfo<'a>) -> vk::DeviceCreateInfo<'a> {
        if self.wanted.structures {
            info = info.push_next(&mut self.structure);
        }
        if self.wanted.queries {
            info = info.push_next(&mut self.query);
        }
        if self.wanted.pipelines {
            info = info.push_next(&mut self.pipeline);
        }
        info
    }
}
