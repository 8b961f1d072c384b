//! Every feature that Vulkan 1.1 to 1.3 made part of the core, for who runs programs that were not written here.

use ash::vk;

/// What a device has of them, all of which is enabled.
#[derive(Clone, Copy, Default)]
pub struct Core {
    /// Of Vulkan 1.1.
    pub v11: vk::PhysicalDeviceVulkan11Features<'static>,
    /// Of Vulkan 1.2.
    pub v12: vk::PhysicalDeviceVulkan12Features<'static>,
    /// Of Vulkan 1.3.
    pub v13: vk::PhysicalDeviceVulkan13Features<'static>,
}

impl Core {
    /// Asks a device whose version (the lower of instance and device) is `version`; none below 1.3.
    pub(super) fn query(instance: &ash::Instance, physical: vk::PhysicalDevice, version: u32) -> Option<Self> {
        if version < vk::API_VERSION_1_3 {
            return None;
        }
        let mut core = Self::default();
        let mut all = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut core.v11)
            .push_next(&mut core.v12)
            .push_next(&mut core.v13);
        // SAFETY: instance and device know Vulkan 1.3, to which the chained structures belong.
        unsafe { instance.get_physical_device_features2(physical, &mut all) };
        let end = std::ptr::null_mut();
        (core.v11.p_next, core.v12.p_next, core.v13.p_next) = (end, end, end);
        Some(core)
    }

    /// Appends the structures to a device's creation.
    pub(super) fn chain<'a>(&'a mut self, info: vk::DeviceCreateInfo<'a>) -> vk::DeviceCreateInfo<'a> {
        info.push_next(&mut self.v11).push_next(&mut self.v12).push_next(&mut self.v13)
    }
}
