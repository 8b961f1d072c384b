//! Feature structures of Vulkan 1.1 to 1.3, for tools that run programs from outside this
//! repository.

use ash::vk;

/// Features of Vulkan 1.1 to 1.3 that a device supports, all of which are enabled.
#[derive(Clone, Copy, Default)]
pub struct Core {
    /// Features of Vulkan 1.1.
    pub v11: vk::PhysicalDeviceVulkan11Features<'static>,
    /// Features of Vulkan 1.2.
    pub v12: vk::PhysicalDeviceVulkan12Features<'static>,
    /// Features of Vulkan 1.3.
    pub v13: vk::PhysicalDeviceVulkan13Features<'static>,
}

impl Core {
    /// Queries the features of a device. `version` is the lower of the instance and device
    /// versions. Returns `None` below Vulkan 1.3.
    pub(super) fn query(instance: &ash::Instance, physical: vk::PhysicalDevice, version: u32) -> Option<Self> {
        if version < vk::API_VERSION_1_3 {
            return None;
        }
        let mut core = Self::default();
        let mut all = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut core.v11)
            .push_next(&mut core.v12)
            .push_next(&mut core.v13);
        // SAFETY: instance and device support Vulkan 1.3, to which the chained structures belong.
        unsafe { instance.get_physical_device_features2(physical, &mut all) };
        let end = std::ptr::null_mut();
        (core.v11.p_next, core.v12.p_next, core.v13.p_next) = (end, end, end);
        Some(core)
    }

    /// Appends the structures to the create info of a device.
    pub(super) fn chain<'a>(&'a mut self, info: vk::DeviceCreateInfo<'a>) -> vk::DeviceCreateInfo<'a> {
        info.push_next(&mut self.v11).push_next(&mut self.v12).push_next(&mut self.v13)
    }
}
