//! libwayland-client, opened when a surface is made. It is the library that made the application's
//! `wl_display`, because a process has only one of its soname. It stays open.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::sync::OnceLock;

/// `wl_proxy`; `wl_display` and `wl_surface` are proxies too.
pub enum Proxy {}
/// `wl_event_queue`.
pub enum Queue {}
/// `wl_interface`.
pub enum Interface {}

/// `wl_argument`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Argument {
    pub int: i32,
    pub uint: u32,
    pub string: *const c_char,
    pub object: *mut Proxy,
}

macro_rules! library {
    (interfaces($($interface:ident)*); $($function:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The used functions and interfaces of the library, by their names there.
        pub struct Library {
            $(pub $function: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            $(pub $interface: *const Interface,)*
        }

        impl Library {
            /// Finds all symbols; returns `None` if one is missing.
            ///
            /// # Safety
            /// `library` is an open libwayland-client that stays open.
            unsafe fn load(library: *mut c_void) -> Option<Library> {
                // SAFETY: `library` stays open, as the `# Safety` section of this function demands;
                // these are the functions' types in `wayland-client-core.h`.
                unsafe {
                    Some(Library {
                        $($function: transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(
                            symbol(library, concat!(stringify!($function), "\0"))?,
                        ),)*
                        $($interface: symbol(library, concat!(stringify!($interface), "\0"))?.cast(),)*
                    })
                }
            }
        }
    };
}

library! {
    interfaces(wl_registry_interface wl_callback_interface wl_shm_interface wl_shm_pool_interface wl_buffer_interface);
    wl_display_create_queue: fn(*mut Proxy) -> *mut Queue;
    wl_event_queue_destroy: fn(*mut Queue);
    wl_proxy_create_wrapper: fn(*mut Proxy) -> *mut Proxy;
    wl_proxy_wrapper_destroy: fn(*mut Proxy);
    wl_proxy_set_queue: fn(*mut Proxy, *mut Queue);
    wl_proxy_get_version: fn(*mut Proxy) -> u32;
    wl_proxy_add_listener: fn(*mut Proxy, *const c_void, *mut c_void) -> c_int;
    wl_proxy_marshal_array: fn(*mut Proxy, u32, *mut Argument);
    wl_proxy_marshal_array_constructor_versioned: fn(*mut Proxy, u32, *mut Argument, *const Interface, u32) -> *mut Proxy;
    wl_proxy_destroy: fn(*mut Proxy);
    wl_display_prepare_read_queue: fn(*mut Proxy, *mut Queue) -> c_int;
    wl_display_read_events: fn(*mut Proxy) -> c_int;
    wl_display_cancel_read: fn(*mut Proxy);
    wl_display_dispatch_queue_pending: fn(*mut Proxy, *mut Queue) -> c_int;
    wl_display_flush: fn(*mut Proxy) -> c_int;
    wl_display_get_fd: fn(*mut Proxy) -> c_int;
    wl_display_get_error: fn(*mut Proxy) -> c_int;
}

// SAFETY: the members are functions that any thread may call, and constants.
unsafe impl Send for Library {}
// SAFETY: the members are functions that any thread may call, and constants.
unsafe impl Sync for Library {}

/// Returns the address of a symbol.
///
/// # Safety
/// `library` is open, and `name` ends with a zero.
unsafe fn symbol(library: *mut c_void, name: &'static str) -> Option<*mut c_void> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).ok()?;
    // SAFETY: `library` is open, as the `# Safety` section of this function demands, and `name` is
    // a C string.
    let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!symbol.is_null()).then_some(symbol)
}

/// Returns the library; `None` if there is none, or one older than 1.11 (2016).
pub fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let open = || {
        // SAFETY: the library's constructors have no requirements; it is not closed again.
        unsafe {
            let library = libc::dlopen(c"libwayland-client.so.0".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if library.is_null() { None } else { Library::load(library) }
        }
    };
    LIBRARY.get_or_init(open).as_ref()
}
