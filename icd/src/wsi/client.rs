//! The application's own window-system connection, as far as the driver touches it: pending requests are flushed once when the
//! surface is made, so that the server knows the window before the driver's connection asks for it.
//!
//! The client libraries are looked up only if the process has them already; the driver needs none.

use std::ffi::{CStr, c_char, c_int, c_void};

/// A function of a library that is loaded already.
fn loaded_function(library: &CStr, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: RTLD_NOLOAD runs no code; the strings are nul-terminated.
    unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        let function = libc::dlsym(handle, name.as_ptr());
        // Only the count that dlopen raised: the application keeps the library loaded.
        libc::dlclose(handle);
        (!function.is_null()).then_some(function)
    }
}

/// Flushes an `xcb_connection_t`.
///
/// # Safety
/// `connection` is null or the application's live connection.
pub unsafe fn flush_xcb(connection: *mut c_void) {
    let Some(function) = loaded_function(c"libxcb.so.1", c"xcb_flush").filter(|_| !connection.is_null()) else {
        return;
    };
    // SAFETY: libxcb's signature; the connection is live.
    unsafe {
        let flush: unsafe extern "C" fn(*mut c_void) -> c_int = std::mem::transmute(function);
        flush(connection);
    }
}

/// Flushes an Xlib `Display` and says which server it is connected to.
///
/// # Safety
/// `display` is null or the application's live connection.
pub unsafe fn flush_xlib(display: *mut c_void) -> Option<String> {
    if display.is_null() {
        return None;
    }
    let flush = loaded_function(c"libX11.so.6", c"XFlush")?;
    let display_string = loaded_function(c"libX11.so.6", c"XDisplayString")?;
    // SAFETY: libX11's signatures; the display is live, and its name a string of its own.
    unsafe {
        let flush: unsafe extern "C" fn(*mut c_void) -> c_int = std::mem::transmute(flush);
        let display_string: unsafe extern "C" fn(*mut c_void) -> *const c_char = std::mem::transmute(display_string);
        flush(display);
        let name = display_string(display);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_str().ok().map(str::to_owned))?
    }
}
