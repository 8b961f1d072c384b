//! The driver's only use of the application's window-system connection: one round trip when the
//! surface is made, so that the server knows the window before the driver's connection uses it. (A
//! flush is not enough: a server serves its connections in any order.)
//!
//! The client libraries are only used if the process has loaded them already; the driver needs
//! none.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute;

/// A library that the process has loaded already.
struct LoadedLibrary(*mut c_void);

impl LoadedLibrary {
    fn find(library: &CStr) -> Option<LoadedLibrary> {
        // SAFETY: RTLD_NOLOAD runs no code; the string is nul-terminated.
        let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then(|| LoadedLibrary(handle))
    }

    fn function(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is open, and the string is nul-terminated.
        let function = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!function.is_null()).then_some(function)
    }
}

impl Drop for LoadedLibrary {
    fn drop(&mut self) {
        // SAFETY: `find` opened the handle; the application keeps the library loaded.
        unsafe { libc::dlclose(self.0) };
    }
}

/// `xcb_get_input_focus_cookie_t`.
#[repr(C)]
struct Cookie {
    sequence: c_uint,
}

/// Runs `call` so that a write to a connection whose server is gone raises no SIGPIPE. The
/// libraries write without MSG_NOSIGNAL, and the signal's disposition belongs to the application.
/// The signal is blocked for this thread, and consumed if it was raised meanwhile.
fn without_sigpipe<R>(call: impl FnOnce() -> R) -> R {
    // SAFETY: all pointers are to valid sets on this stack; mask and pending signals are those of
    // this thread.
    unsafe {
        let [mut pipe, mut before, mut pending]: [libc::sigset_t; 3] = std::mem::zeroed();
        libc::sigemptyset(&raw mut pipe);
        libc::sigaddset(&raw mut pipe, libc::SIGPIPE);
        libc::sigpending(&raw mut pending);
        let was_pending = libc::sigismember(&raw const pending, libc::SIGPIPE) == 1;
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const pipe, &raw mut before);
        let result = call();
        let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        if !was_pending {
            libc::sigtimedwait(&raw const pipe, std::ptr::null_mut(), &raw const none);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}

/// Makes a round trip on an `xcb_connection_t`.
///
/// # Safety
/// `connection` is null or the application's live connection.
pub unsafe fn sync_xcb(connection: *mut c_void) -> Option<()> {
    let library = LoadedLibrary::find(c"libxcb.so.1").filter(|_| !connection.is_null())?;
    let request = library.function(c"xcb_get_input_focus")?;
    let reply = library.function(c"xcb_get_input_focus_reply")?;
    // SAFETY: the functions have libxcb's signatures; the connection is live, and libxcb locks it.
    // The caller owns the reply and frees it.
    unsafe {
        let request: unsafe extern "C" fn(*mut c_void) -> Cookie = transmute(request);
        let reply: unsafe extern "C" fn(*mut c_void, Cookie, *mut *mut c_void) -> *mut c_void = transmute(reply);
        without_sigpipe(|| libc::free(reply(connection, request(connection), std::ptr::null_mut())));
    }
    Some(())
}

/// Makes a round trip on an Xlib `Display`; returns the name of its server.
///
/// # Safety
/// `display` is null or the application's live connection.
pub unsafe fn sync_xlib(display: *mut c_void) -> Option<String> {
    let library = LoadedLibrary::find(c"libX11.so.6").filter(|_| !display.is_null())?;
    let sync = library.function(c"XSync")?;
    let display_string = library.function(c"XDisplayString")?;
    // SAFETY: the functions have libX11's signatures; the display is live and owns its name.
    unsafe {
        let sync: unsafe extern "C" fn(*mut c_void, c_int) -> c_int = transmute(sync);
        let display_string: unsafe extern "C" fn(*mut c_void) -> *const c_char = transmute(display_string);
        without_sigpipe(|| sync(display, 0));
        let name = display_string(display);
        if name.is_null() { None } else { CStr::from_ptr(name).to_str().ok().map(str::to_owned) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wsi::x11::tests::where_sigpipe_kills;
    use std::io::Write;

    #[test]
    fn a_broken_pipe_is_no_signal() {
        where_sigpipe_kills("wsi::client::tests::a_broken_pipe_is_no_signal", || {
            let (reader, mut writer) = std::io::pipe().unwrap();
            drop(reader);
            let error = without_sigpipe(|| writer.write_all(b"request")).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
            // A signal that was pending before is the application's and stays.
            // SAFETY: this process runs only this test.
            unsafe {
                let [mut pipe, mut pending]: [libc::sigset_t; 2] = std::mem::zeroed();
                libc::sigaddset(&raw mut pipe, libc::SIGPIPE);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const pipe, std::ptr::null_mut());
                libc::pthread_kill(libc::pthread_self(), libc::SIGPIPE);
                without_sigpipe(|| ());
                libc::sigpending(&raw mut pending);
                assert_eq!(libc::sigismember(&raw const pending, libc::SIGPIPE), 1);
            }
        });
    }
}
