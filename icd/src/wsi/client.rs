//! The application's own window-system connection, as far as the driver touches it: one round trip when the surface is made, so
//! that the server knows the window before the driver's connection asks for it. (A flush is not enough: a server serves its
//! connections in any order.)
//!
//! The client libraries are looked up only if the process has them already; the driver needs none.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute;

/// A library that the process has loaded already.
struct Loaded(*mut c_void);

impl Loaded {
    fn find(library: &CStr) -> Option<Loaded> {
        // SAFETY: RTLD_NOLOAD runs no code; the string is nul-terminated.
        let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then(|| Loaded(handle))
    }

    fn function(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is open, the string nul-terminated.
        let function = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!function.is_null()).then_some(function)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: opened by `find`; the application keeps the library loaded.
        unsafe { libc::dlclose(self.0) };
    }
}

/// `xcb_get_input_focus_cookie_t`.
#[repr(C)]
struct Cookie {
    sequence: c_uint,
}

/// A round trip on an `xcb_connection_t`.
///
/// # Safety
/// `connection` is null or the application's live connection.
pub unsafe fn sync_xcb(connection: *mut c_void) -> Option<()> {
    let library = Loaded::find(c"libxcb.so.1").filter(|_| !connection.is_null())?;
    let request = library.function(c"xcb_get_input_focus")?;
    let reply = library.function(c"xcb_get_input_focus_reply")?;
    // SAFETY: libxcb's signatures; the connection is live, and libxcb locks it. A reply is the caller's to free.
    unsafe {
        let request: unsafe extern "C" fn(*mut c_void) -> Cookie = transmute(request);
        let reply: unsafe extern "C" fn(*mut c_void, Cookie, *mut *mut c_void) -> *mut c_void = transmute(reply);
        libc::free(reply(connection, request(connection), std::ptr::null_mut()));
    }
    Some(())
}

/// A round trip on an Xlib `Display`; says which server it is connected to.
///
/// # Safety
/// `display` is null or the application's live connection.
pub unsafe fn sync_xlib(display: *mut c_void) -> Option<String> {
    let library = Loaded::find(c"libX11.so.6").filter(|_| !display.is_null())?;
    let sync = library.function(c"XSync")?;
    let display_string = library.function(c"XDisplayString")?;
    // SAFETY: libX11's signatures; the display is live, and its name a string of its own.
    unsafe {
        let sync: unsafe extern "C" fn(*mut c_void, c_int) -> c_int = transmute(sync);
        let display_string: unsafe extern "C" fn(*mut c_void) -> *const c_char = transmute(display_string);
        sync(display, 0);
        let name = display_string(display);
        if name.is_null() { None } else { CStr::from_ptr(name).to_str().ok().map(str::to_owned) }
    }
}
