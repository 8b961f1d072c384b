//! Tests of VK_EXT_debug_report and VK_EXT_debug_marker: the receivers of messages, and markers
//! without effect.

use crate::common::Context;
use ash::vk;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Mutex;

type Message = Mutex<Vec<(vk::DebugReportFlagsEXT, u64, usize, i32, String, String)>>;

unsafe extern "system" fn callback(
    flags: vk::DebugReportFlagsEXT,
    _: vk::DebugReportObjectTypeEXT,
    object: u64,
    location: usize,
    code: i32,
    layer: *const c_char,
    message: *const c_char,
    reported: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the pointers are the test's list and two strings.
    let (reported, [layer, message]) =
        unsafe { (&*reported.cast::<Message>(), [layer, message].map(|s| CStr::from_ptr(s))) };
    let text = |s: &CStr| s.to_str().unwrap().to_owned();
    reported.lock().unwrap().push((flags, object, location, code, text(layer), text(message)));
    vk::FALSE
}

#[test]
fn reports_reach_matching_callbacks_only() {
    use vk::DebugReportFlagsEXT as F;
    let c = Context::new(&[c"VK_EXT_debug_report"], &[]);
    let functions = ash::ext::debug_report::Instance::new(&c.entry, &c.instance);
    let (functions, instance) = (functions.fp(), functions.instance());
    let lists: [Message; 2] = Default::default();
    let wants = [F::ERROR | F::WARNING, F::INFORMATION];
    let callbacks = [0, 1].map(|i| {
        let info = vk::DebugReportCallbackCreateInfoEXT::default().flags(wants[i]).pfn_callback(Some(callback));
        let info = info.user_data((&raw const lists[i]).cast_mut().cast());
        let mut made = vk::DebugReportCallbackEXT::null();
        // SAFETY: valid usage.
        unsafe { (functions.create_debug_report_callback_ext)(instance, &info, std::ptr::null(), &mut made) }
            .result()
            .unwrap();
        made
    });
    let report = |flags, message| {
        let ty = vk::DebugReportObjectTypeEXT::BUFFER;
        // SAFETY: valid usage.
        unsafe {
            let text = [c"who", message].map(CStr::as_ptr);
            (functions.debug_report_message_ext)(instance, flags, ty, 77, 5, -3, text[0], text[1]);
        }
    };
    report(F::WARNING, c"one");
    report(F::INFORMATION, c"two");
    report(F::DEBUG, c"three");
    // SAFETY: valid usage.
    unsafe { (functions.destroy_debug_report_callback_ext)(instance, callbacks[0], std::ptr::null()) };
    report(F::ERROR | F::INFORMATION, c"four");
    // SAFETY: valid usage.
    unsafe { (functions.destroy_debug_report_callback_ext)(instance, callbacks[1], std::ptr::null()) };
    let seen = lists.map(|list| list.into_inner().unwrap());
    let row = |flags, message: &str| (flags, 77, 5, -3, "who".to_owned(), message.to_owned());
    assert_eq!(seen[0], [row(F::WARNING, "one")]);
    assert_eq!(seen[1], [row(F::INFORMATION, "two"), row(F::ERROR | F::INFORMATION, "four")]);
}

/// Checks that names can be set and removed, and that markers are recorded.
#[test]
fn markers_change_nothing() {
    let c = Context::new(&[c"VK_EXT_debug_report"], &[c"VK_EXT_debug_marker"]);
    let functions = ash::ext::debug_marker::Device::new(&c.instance, &c.device);
    let (functions, device) = (functions.fp(), functions.device());
    let mut buffer = c.buffer(64);
    let ty = vk::DebugReportObjectTypeEXT::BUFFER;
    let object = vk::Handle::as_raw(buffer.buffer);
    let name = vk::DebugMarkerObjectNameInfoEXT { object_type: ty, object, ..Default::default() };
    let tag = vk::DebugMarkerObjectTagInfoEXT { object_type: ty, object, tag_name: 1, ..Default::default() };
    let marker = vk::DebugMarkerMarkerInfoEXT::default().marker_name(c"a part");
    // SAFETY: valid usage.
    unsafe {
        (functions.debug_marker_set_object_name_ext)(device, &name.object_name(c"numbers")).result().unwrap();
        (functions.debug_marker_set_object_tag_ext)(device, &tag.tag(&[1, 2, 3])).result().unwrap();
        (functions.debug_marker_set_object_name_ext)(device, &name).result().unwrap();
        c.run(|b| {
            (functions.cmd_debug_marker_begin_ext)(b, &marker);
            (functions.cmd_debug_marker_insert_ext)(b, &marker);
            c.device.cmd_fill_buffer(b, buffer.buffer, 0, vk::WHOLE_SIZE, 9);
            (functions.cmd_debug_marker_end_ext)(b);
        })
        .unwrap();
    }
    assert!(buffer.words().iter().all(|&word| word == 9));
    buffer.fill_words(|_| 0);
    c.free(buffer);
}
