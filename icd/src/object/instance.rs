//! Instance, physical device and debug-utils messengers.

use crate::caps::ExtensionSet;
use crate::entry::handle;
use ash::vk;
use parking_lot::RwLock;
use std::ffi::CString;
use std::sync::{Arc, OnceLock};

/// `VkInstance`.
pub struct Instance {
    /// `VkApplicationInfo::apiVersion`, at least 1.0.
    pub api_version: u32,
    /// Enabled extensions.
    pub extensions: ExtensionSet,
    messengers: RwLock<Vec<Arc<Messenger>>>,
    physical_device: OnceLock<vk::PhysicalDevice>,
}

/// `VkPhysicalDevice`: there is one, the CPU.
pub struct PhysicalDevice {
    /// Memory heap, shared by all devices of the instance.
    pub heap: Arc<super::memory::Heap>,
    /// The instance owns the handle, so it outlives this pointer's uses.
    instance: std::sync::Weak<Instance>,
}

impl PhysicalDevice {
    /// The instance.
    pub fn instance(&self) -> Option<Arc<Instance>> {
        self.instance.upgrade()
    }
}

impl Instance {
    /// A new instance with its physical device; starts no thread.
    pub fn new(api_version: u32, extensions: ExtensionSet) -> Arc<Instance> {
        let instance = Arc::new(Instance {
            api_version: api_version.max(vk::API_VERSION_1_0),
            extensions,
            messengers: RwLock::default(),
            physical_device: OnceLock::new(),
        });
        let physical = Arc::new(PhysicalDevice { heap: Arc::default(), instance: Arc::downgrade(&instance) });
        let _ = instance.physical_device.set(handle::inner_dispatchable(physical));
        instance
    }

    /// The physical device's handle.
    pub fn physical_device(&self) -> vk::PhysicalDevice {
        self.physical_device.get().copied().unwrap_or_default()
    }

    /// Enabled?
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.has_name(name)
    }

    /// Adds a messenger.
    pub fn add_messenger(&self, messenger: Arc<Messenger>) {
        self.messengers.write().push(messenger);
    }

    /// Removes a messenger by its handle.
    pub fn remove_messenger(&self, messenger: u64) {
        self.messengers.write().retain(|m| handle::raw(m) != messenger);
    }

    /// Sends a message of the driver to every messenger that wants it (and to stderr when `GRUS_LOG` is set).
    pub fn report(
        &self,
        severity: vk::DebugUtilsMessageSeverityFlagsEXT,
        id: &str,
        message: &str,
        object: Option<(vk::ObjectType, u64)>,
    ) {
        static LOG: OnceLock<bool> = OnceLock::new();
        if *LOG.get_or_init(|| std::env::var_os("GRUS_LOG").is_some()) {
            eprintln!("grus: {id}: {message}");
        }
        if self.messengers.read().is_empty() {
            return;
        }
        let text = |s: &str| CString::new(s.replace('\0', " ")).unwrap_or_default();
        let (id, message) = (text(id), text(message));
        let (object_type, object_handle) = object.unwrap_or((vk::ObjectType::UNKNOWN, 0));
        let mut name = vk::DebugUtilsObjectNameInfoEXT { object_type, object_handle, ..Default::default() };
        let objects = std::slice::from_mut(&mut name);
        let data =
            vk::DebugUtilsMessengerCallbackDataEXT::default().message_id_name(&id).message(&message).objects(objects);
        self.submit(severity, vk::DebugUtilsMessageTypeFlagsEXT::GENERAL, &data);
    }

    /// `vkSubmitDebugUtilsMessageEXT`.
    pub fn submit(
        &self,
        severity: vk::DebugUtilsMessageSeverityFlagsEXT,
        types: vk::DebugUtilsMessageTypeFlagsEXT,
        data: &vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    ) {
        // Cloned: a callback may create or destroy messengers.
        let messengers = self.messengers.read().clone();
        for messenger in messengers {
            if messenger.severities.intersects(severity) && messenger.types.intersects(types) {
                // SAFETY: the application gave this callback for this purpose; the data lives during the call.
                base::fp::outside(|| unsafe {
                    (messenger.callback)(severity, types, data, messenger.user_data as *mut _);
                });
            }
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: made in `new`; the application may not use it after vkDestroyInstance.
        drop(unsafe { handle::destroy_dispatchable::<PhysicalDevice>(self.physical_device()) });
    }
}

type Callback = unsafe extern "system" fn(
    vk::DebugUtilsMessageSeverityFlagsEXT,
    vk::DebugUtilsMessageTypeFlagsEXT,
    *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    *mut core::ffi::c_void,
) -> vk::Bool32;

/// `VkDebugUtilsMessengerEXT`.
pub struct Messenger {
    severities: vk::DebugUtilsMessageSeverityFlagsEXT,
    types: vk::DebugUtilsMessageTypeFlagsEXT,
    callback: Callback,
    user_data: usize,
}

impl Messenger {
    /// `None` without a callback.
    pub fn new(info: &vk::DebugUtilsMessengerCreateInfoEXT<'_>) -> Option<Messenger> {
        Some(Messenger {
            severities: info.message_severity,
            types: info.message_type,
            callback: info.pfn_user_callback?,
            user_data: info.p_user_data as usize,
        })
    }
}
