//! The instance and the physical device.

use crate::caps::ExtensionSet;
use crate::ffi::allocator::Callbacks;
use crate::ffi::handle::OwnedDispatchable;
use crate::ffi::messages::Messages;
use crate::object::memory::Heap;
use ash::vk;
use std::sync::Arc;

/// `VkInstance`.
pub struct Instance {
    /// `VkApplicationInfo::apiVersion`, at least 1.0.
    pub api_version: u32,
    /// Enabled extensions.
    pub extensions: ExtensionSet,
    /// Debug-utils messengers.
    pub messages: Arc<Messages>,
    physical_device: OwnedDispatchable<PhysicalDevice>,
}

/// `VkPhysicalDevice`. There is one, the CPU.
pub struct PhysicalDevice {
    /// Memory heap, shared by all devices of the instance.
    pub heap: Arc<Heap>,
    /// The instance owns the handle, so it outlives this pointer's uses.
    instance: std::sync::Weak<Instance>,
}

impl PhysicalDevice {
    /// Returns the instance, unless it is being destroyed.
    pub fn instance(&self) -> Option<Arc<Instance>> {
        self.instance.upgrade()
    }
}

impl Instance {
    /// Makes an instance with its physical device, whose children may use this allocator; starts no
    /// thread.
    ///
    /// It is inlined into its caller, so that it lies beside the other code that runs at the start
    /// (`vk_icdNegotiateLoaderICDInterfaceVersion`).
    #[inline(always)]
    pub fn new(api_version: u32, extensions: ExtensionSet, memory: Option<Callbacks>) -> Arc<Instance> {
        Arc::new_cyclic(|instance| {
            let physical = PhysicalDevice { heap: Arc::default(), instance: instance.clone() };
            Instance {
                api_version: api_version.max(vk::API_VERSION_1_0),
                extensions,
                messages: Arc::default(),
                physical_device: OwnedDispatchable::new(Arc::new(physical), memory),
            }
        })
    }

    /// Returns the physical device's handle.
    pub fn physical_device(&self) -> vk::PhysicalDevice {
        self.physical_device.get()
    }

    /// Returns the physical device.
    #[cfg(test)]
    pub fn physical(&self) -> Arc<PhysicalDevice> {
        self.physical_device.object().clone()
    }

    /// Returns true if the extension is enabled.
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.has_name(name)
    }

    /// Sends a message of the driver to the application.
    pub fn report(&self, severity: vk::DebugUtilsMessageSeverityFlagsEXT, id: &str, message: &str) {
        self.messages.report(severity, id, message, None);
    }
}
