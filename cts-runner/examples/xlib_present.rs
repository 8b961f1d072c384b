//! Presents frames to an Xlib window and reads the last one back from the X server.
//!
//! Debian 12 has no unmodified program that presents through `VK_KHR_xlib_surface` (its vkcube only
//! supports xcb), so this program does it. Xlib is opened at run time. The loader's environment
//! variables select driver and layers.

#[path = "present_common/mod.rs"]
mod present_common;

use ash::{khr, vk};
use cts_runner::vk::Api;
use present_common::{Outcome, SIZE};
use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

/// The functions of Xlib that are used.
struct Xlib {
    display: *mut vk::Display,
    window: c_ulong,
    get_image:
        unsafe extern "C" fn(*mut vk::Display, c_ulong, c_int, c_int, c_uint, c_uint, c_ulong, c_int) -> *mut c_void,
    get_pixel: unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_ulong,
}

impl Xlib {
    fn open() -> Outcome<Self> {
        type OpenDisplay = unsafe extern "C" fn(*const c_char) -> *mut vk::Display;
        type RootWindow = unsafe extern "C" fn(*mut vk::Display) -> c_ulong;
        type CreateWindow = unsafe extern "C" fn(
            *mut vk::Display,
            c_ulong,
            c_int,
            c_int,
            c_uint,
            c_uint,
            c_uint,
            c_ulong,
            c_ulong,
        ) -> c_ulong;
        type MapWindow = unsafe extern "C" fn(*mut vk::Display, c_ulong) -> c_int;
        type Sync = unsafe extern "C" fn(*mut vk::Display, c_int) -> c_int;
        // SAFETY: the symbols have these types in every libX11.so.6, and the library is never
        // unloaded.
        unsafe {
            let library = Box::leak(Box::new(libloading::Library::new("libX11.so.6")?));
            let display = library.get::<OpenDisplay>(b"XOpenDisplay\0")?(std::ptr::null());
            if display.is_null() {
                return Err("no X display".into());
            }
            let root = library.get::<RootWindow>(b"XDefaultRootWindow\0")?(display);
            let create = library.get::<CreateWindow>(b"XCreateSimpleWindow\0")?;
            let window = create(display, root, 0, 0, SIZE, SIZE, 0, 0, 0);
            library.get::<MapWindow>(b"XMapWindow\0")?(display, window);
            library.get::<Sync>(b"XSync\0")?(display, 0);
            let get_image = *library.get(b"XGetImage\0")?;
            let get_pixel = *library.get(b"XGetPixel\0")?;
            Ok(Self { display, window, get_image, get_pixel })
        }
    }

    /// Returns the colour in the middle of a quarter of the window.
    fn middle(&self, quarter: usize) -> Option<[u8; 3]> {
        const ALL_PLANES: c_ulong = !0;
        const Z_PIXMAP: c_int = 2;
        let [x, y] = present_common::middle(quarter).map(|at| at as c_int);
        // SAFETY: display and window are alive, and the 1×1 image lies inside the mapped window.
        let pixel = unsafe {
            let image = (self.get_image)(self.display, self.window, x, y, 1, 1, ALL_PLANES, Z_PIXMAP);
            if image.is_null() {
                return None;
            }
            (self.get_pixel)(image, 0, 0)
        };
        Some([(pixel >> 16) as u8, (pixel >> 8) as u8, pixel as u8])
    }
}

fn main() -> Outcome<()> {
    let xlib = Xlib::open()?;
    let api = Api::open_loader()?;
    let make_surface = |instance: &ash::Instance| {
        let info = vk::XlibSurfaceCreateInfoKHR::default().dpy(xlib.display).window(xlib.window);
        // SAFETY: display and window are alive, and the program has only one thread of its own.
        Ok(unsafe { khr::xlib_surface::Instance::new(&api.entry, instance).create_xlib_surface(&info, None)? })
    };
    let check = || present_common::wait_for_last(|quarter| xlib.middle(quarter));
    // SAFETY: the surface is that of the window, which has this size.
    unsafe { present_common::present(&api, khr::xlib_surface::NAME, make_surface, check) }
}
