//! Features of programs beside whole pipelines: shader objects, pipeline libraries, generated
//! commands, and the dynamic state that pipelines share with shader objects.

use super::generated_api;
use ash::{ext, khr, vk};
use std::ffi::{CStr, c_char};

/// Kinds of programs that a device supports and that are enabled. All of them need Vulkan 1.3.
#[derive(Clone, Copy, Default, Debug)]
pub struct Programs {
    /// True if the device has the features `shaderObject` and `dynamicRendering`.
    pub shader_object: bool,
    /// True if the device has the feature `graphicsPipelineLibrary`.
    pub pipeline_library: bool,
    /// True if the device has the features `extendedDynamicState3ColorBlendEnable`,
    /// `extendedDynamicState3ColorBlendEquation` and `extendedDynamicState3ColorWriteMask`.
    pub dynamic_blend: bool,
    /// True if the device has the features `deviceGeneratedCommands`, `maintenance5` and
    /// `bufferDeviceAddress`.
    pub generated_commands: bool,
}

/// The feature structures of [`Programs`].
#[derive(Default)]
pub(super) struct Features {
    rendering: vk::PhysicalDeviceDynamicRenderingFeatures<'static>,
    object: vk::PhysicalDeviceShaderObjectFeaturesEXT<'static>,
    library: vk::PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT<'static>,
    state: vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT<'static>,
    maintenance: vk::PhysicalDeviceMaintenance5FeaturesKHR<'static>,
    generated: generated_api::Features,
    wanted: Programs,
}

impl Programs {
    /// Queries a device of which the enabled version is at least 1.3. `listed` tells whether the
    /// device has an extension, and `addresses` whether it has the feature `bufferDeviceAddress`.
    pub(super) fn query(
        instance: &ash::Instance,
        physical: vk::PhysicalDevice,
        listed: impl Fn(&CStr) -> bool,
        addresses: bool,
    ) -> Self {
        let has = Self {
            shader_object: listed(ext::shader_object::NAME),
            pipeline_library: listed(ext::graphics_pipeline_library::NAME),
            dynamic_blend: listed(ext::extended_dynamic_state3::NAME),
            generated_commands: listed(generated_api::NAME) && listed(khr::maintenance5::NAME),
        };
        let mut f = Features { wanted: has, ..Features::default() };
        let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut f.rendering);
        if has.shader_object {
            all = all.push_next(&mut f.object);
        }
        if has.pipeline_library {
            all = all.push_next(&mut f.library);
        }
        if has.dynamic_blend {
            all = all.push_next(&mut f.state);
        }
        if has.generated_commands {
            all = all.push_next(&mut f.maintenance).push_next(&mut f.generated);
        }
        // SAFETY: instance and device support Vulkan 1.3. The chained structures belong to it or to
        // extensions that the device has.
        unsafe { instance.get_physical_device_features2(physical, &mut all) };
        let all = |features: &[vk::Bool32]| features.iter().all(|feature| *feature == vk::TRUE);
        let s = &f.state;
        Self {
            shader_object: all(&[f.object.shader_object, f.rendering.dynamic_rendering]),
            pipeline_library: all(&[f.library.graphics_pipeline_library]),
            dynamic_blend: all(&[
                s.extended_dynamic_state3_color_blend_enable,
                s.extended_dynamic_state3_color_blend_equation,
                s.extended_dynamic_state3_color_write_mask,
            ]),
            generated_commands: addresses && all(&[f.generated.device_generated_commands, f.maintenance.maintenance5]),
        }
    }

    /// Returns the structures that enable the features that were found.
    pub(super) fn features(self) -> Features {
        Features {
            rendering: vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true),
            object: vk::PhysicalDeviceShaderObjectFeaturesEXT::default().shader_object(true),
            library: vk::PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT::default().graphics_pipeline_library(true),
            state: vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT::default()
                .extended_dynamic_state3_color_blend_enable(true)
                .extended_dynamic_state3_color_blend_equation(true)
                .extended_dynamic_state3_color_write_mask(true),
            maintenance: vk::PhysicalDeviceMaintenance5FeaturesKHR::default().maintenance5(true),
            generated: generated_api::Features::enabled(),
            wanted: self,
        }
    }

    /// Returns the extensions that the enabled features need.
    pub(super) fn extensions(self) -> impl Iterator<Item = *const c_char> {
        let names = [
            (self.shader_object, ext::shader_object::NAME),
            (self.pipeline_library, khr::pipeline_library::NAME),
            (self.pipeline_library, ext::graphics_pipeline_library::NAME),
            (self.dynamic_blend, ext::extended_dynamic_state3::NAME),
            (self.generated_commands, khr::maintenance5::NAME),
            (self.generated_commands, generated_api::NAME),
        ];
        names.into_iter().filter(|(has, _)| *has).map(|(_, name)| name.as_ptr())
    }
}

impl Features {
    /// Appends the structures to the create info of a device.
    pub(super) fn chain<'a>(&'a mut self, mut info: vk::DeviceCreateInfo<'a>) -> vk::DeviceCreateInfo<'a> {
        if self.wanted.shader_object {
            info = info.push_next(&mut self.rendering).push_next(&mut self.object);
        }
        if self.wanted.pipeline_library {
            info = info.push_next(&mut self.library);
        }
        if self.wanted.dynamic_blend {
            info = info.push_next(&mut self.state);
        }
        if self.wanted.generated_commands {
            info = info.push_next(&mut self.maintenance).push_next(&mut self.generated);
        }
        info
    }
}
