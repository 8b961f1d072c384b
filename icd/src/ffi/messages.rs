//! Messages of the driver and of the application, and their receivers: debug-utils messengers, and
//! callbacks of the older VK_EXT_debug_report.

use super::handle;
use ash::vk;
use parking_lot::RwLock;
use std::ffi::{CStr, CString};
use std::sync::{Arc, OnceLock};

/// The messengers and callbacks of an instance.
#[derive(Default)]
pub struct Messages {
    messengers: RwLock<Vec<Arc<Messenger>>>,
    report_callbacks: RwLock<Vec<Arc<DebugReportCallback>>>,
}

/// A message of VK_EXT_debug_report.
pub struct DebugReport<'a> {
    /// Severity of the message.
    pub flags: vk::DebugReportFlagsEXT,
    /// Object that the message concerns.
    pub object: (vk::DebugReportObjectTypeEXT, u64),
    /// Location in the reporting layer's own numbering.
    pub location: usize,
    /// Number of the message.
    pub code: i32,
    /// Name of the layer that reports.
    pub layer: &'a CStr,
    /// Text of the message.
    pub message: &'a CStr,
}

/// Severities of debug-utils, the most severe first, and their counterparts in VK_EXT_debug_report.
const SEVERITIES: [(vk::DebugUtilsMessageSeverityFlagsEXT, vk::DebugReportFlagsEXT); 4] = [
    (vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, vk::DebugReportFlagsEXT::ERROR),
    (vk::DebugUtilsMessageSeverityFlagsEXT::WARNING, vk::DebugReportFlagsEXT::WARNING),
    (vk::DebugUtilsMessageSeverityFlagsEXT::INFO, vk::DebugReportFlagsEXT::INFORMATION),
    (vk::DebugUtilsMessageSeverityFlagsEXT::VERBOSE, vk::DebugReportFlagsEXT::DEBUG),
];

/// Returns the type of an object in VK_EXT_debug_report. The numbers are equal for the types that
/// it knows, which are those from before extensions had types.
fn reported_type(ty: vk::ObjectType) -> vk::DebugReportObjectTypeEXT {
    let known = vk::ObjectType::UNKNOWN.as_raw()..=vk::ObjectType::COMMAND_POOL.as_raw();
    vk::DebugReportObjectTypeEXT::from_raw(if known.contains(&ty.as_raw()) { ty.as_raw() } else { 0 })
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

    /// Adds a callback of VK_EXT_debug_report.
    pub fn add_report_callback(&self, reporter: Arc<DebugReportCallback>) {
        self.report_callbacks.write().push(reporter);
    }

    /// Removes a callback by its handle.
    pub fn remove_report_callback(&self, reporter: u64) {
        self.report_callbacks.write().retain(|r| handle::raw(r) != reporter);
    }

    /// Implements `vkDebugReportMessageEXT`, for the callbacks of that extension.
    pub fn send_debug_report(&self, report: &DebugReport<'_>) {
        // The list is cloned, because a callback may create or destroy others.
        let report_callbacks = self.report_callbacks.read().clone();
        for reporter in report_callbacks {
            let Some(callback) = reporter.callback else { continue };
            if reporter.flags.intersects(report.flags) {
                let (ty, object) = report.object;
                let (layer, message) = (report.layer.as_ptr(), report.message.as_ptr());
                // SAFETY: the application gave this callback for reports; the texts live during the
                // call.
                base::fp::with_caller_environment(|| unsafe {
                    let data = reporter.user_data as *mut _;
                    callback(report.flags, ty, object, report.location, report.code, layer, message, data);
                });
            }
        }
    }

    /// Sends a message of the driver to every messenger and callback that accepts it (and to stderr
    /// if `GRUS_LOG` is set).
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
        if self.messengers.read().is_empty() && self.report_callbacks.read().is_empty() {
            return;
        }
        let text = |s: &str| CString::new(s.replace('\0', " ")).unwrap_or_default();
        let (id, message) = (text(id), text(message));
        let (object_type, object_handle) = object.unwrap_or((vk::ObjectType::UNKNOWN, 0));
        let flags = SEVERITIES.iter().find(|(of, _)| severity.contains(*of)).map(|(_, flags)| *flags);
        self.send_debug_report(&DebugReport {
            flags: flags.unwrap_or_default(),
            object: (reported_type(object_type), object_handle),
            location: 0,
            code: 0,
            layer: &id,
            message: &message,
        });
        let mut name = vk::DebugUtilsObjectNameInfoEXT { object_type, object_handle, ..Default::default() };
        let objects = std::slice::from_mut(&mut name);
        let data =
            vk::DebugUtilsMessengerCallbackDataEXT::default().message_id_name(&id).message(&message).objects(objects);
        self.submit(severity, vk::DebugUtilsMessageTypeFlagsEXT::GENERAL, &data);
    }

    /// Implements `vkSubmitDebugUtilsMessageEXT`.
    pub fn submit(
        &self,
        severity: vk::DebugUtilsMessageSeverityFlagsEXT,
        types: vk::DebugUtilsMessageTypeFlagsEXT,
        data: &vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    ) {
        // The list is cloned, because a callback may create or destroy messengers.
        let messengers = self.messengers.read().clone();
        for messenger in messengers {
            let Some(callback) = messenger.callback else { continue };
            if messenger.severities.intersects(severity) && messenger.types.intersects(types) {
                // SAFETY: the application gave this callback for messages; the data lives during
                // the call.
                base::fp::with_caller_environment(|| unsafe {
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
    /// Creates a messenger. Without a callback, which is invalid, it receives nothing.
    pub fn new(info: &vk::DebugUtilsMessengerCreateInfoEXT<'_>) -> Messenger {
        Messenger {
            severities: info.message_severity,
            types: info.message_type,
            callback: info.pfn_user_callback,
            user_data: info.p_user_data as usize,
        }
    }
}

/// `VkDebugReportCallbackEXT`.
pub struct DebugReportCallback {
    flags: vk::DebugReportFlagsEXT,
    callback: vk::PFN_vkDebugReportCallbackEXT,
    user_data: usize,
}

impl DebugReportCallback {
    /// Creates a callback. Without a function, which is invalid, it receives nothing.
    pub fn new(info: &vk::DebugReportCallbackCreateInfoEXT<'_>) -> DebugReportCallback {
        DebugReportCallback { flags: info.flags, callback: info.pfn_callback, user_data: info.p_user_data as usize }
    }
}

handle::objects! { Object: Messenger => DebugUtilsMessengerEXT, DebugReportCallback => DebugReportCallbackEXT }
