//! Debug-utils messengers, and messages to them.

use super::handle;
use ash::vk;
use parking_lot::RwLock;
use std::ffi::CString;
use std::sync::{Arc, OnceLock};

/// An instance's messengers.
#[derive(Default)]
pub struct Messages {
    messengers: RwLock<Vec<Arc<Messenger>>>,
}

impl Messages {
    /// Adds a messenger.
    pub fn add(&self, messenger: Arc<Messenger>) {
        self.messengers.write().push(messenger);
    }

    /// Removes a messenger by its handle.
    pub fn remove(&self, messenger: u64) {
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
            let Some(callback) = messenger.callback else { continue };
            if messenger.severities.intersects(severity) && messenger.types.intersects(types) {
                // SAFETY: the application gave this callback for this purpose; the data lives during the call.
                base::fp::outside(|| unsafe {
                    callback(severity, types, data, messenger.user_data as *mut _);
                });
            }
        }
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
    callback: Option<Callback>,
    user_data: usize,
}

impl Messenger {
    /// Without a callback, which is invalid, nobody is told anything.
    pub fn new(info: &vk::DebugUtilsMessengerCreateInfoEXT<'_>) -> Messenger {
        Messenger {
            severities: info.message_severity,
            types: info.message_type,
            callback: info.pfn_user_callback,
            user_data: info.p_user_data as usize,
        }
    }
}

handle::objects! { Object: Messenger => DebugUtilsMessengerEXT }
