//! Presents frames to a window of Windows, and reads the last one back. The window then stays for
//! the seconds of the second argument, for a screenshot. The first argument is the manifest of the
//! driver, which is opened without the loader.

#[cfg(windows)]
#[path = "present_common/mod.rs"]
mod present_common;

#[cfg(not(windows))]
fn main() {
    eprintln!("this system has no such windows");
}

#[cfg(windows)]
fn main() -> present_common::Outcome<()> {
    windows::main()
}

#[cfg(windows)]
mod windows {
    use crate::present_common::{self, Outcome, SIZE};
    use ash::{khr, vk};
    use cts_runner::vk::{Api, Manifest};
    use std::ptr::{null, null_mut};
    use std::time::{Duration, Instant};
    use windows_sys::Win32::Foundation::{HWND, RECT};
    use windows_sys::Win32::Graphics::Gdi::{GetDC, GetPixel, ReleaseDC};
    use windows_sys::Win32::System::LibraryLoader::GetModuleHandleW;
    use windows_sys::Win32::UI::WindowsAndMessaging::{
        AdjustWindowRect, CreateWindowExW, DefWindowProcW, DispatchMessageW, MSG, PM_REMOVE, PeekMessageW,
        RegisterClassW, WNDCLASSW, WS_OVERLAPPEDWINDOW, WS_VISIBLE,
    };

    struct Window(HWND);

    impl Window {
        fn open() -> Outcome<Window> {
            let name: Vec<u16> = "Grus presents\0".encode_utf16().collect();
            let mut area = RECT { left: 0, top: 0, right: SIZE as i32, bottom: SIZE as i32 };
            // SAFETY: the class and the window are new, and all pointers are valid.
            let window = unsafe {
                let class = WNDCLASSW {
                    lpfnWndProc: Some(DefWindowProcW),
                    hInstance: GetModuleHandleW(null()),
                    lpszClassName: name.as_ptr(),
                    ..Default::default()
                };
                RegisterClassW(&raw const class);
                AdjustWindowRect(&raw mut area, WS_OVERLAPPEDWINDOW, 0);
                CreateWindowExW(
                    0,
                    name.as_ptr(),
                    name.as_ptr(),
                    WS_OVERLAPPEDWINDOW | WS_VISIBLE,
                    100,
                    100,
                    area.right - area.left,
                    area.bottom - area.top,
                    null_mut(),
                    null_mut(),
                    class.hInstance,
                    null(),
                )
            };
            if window.is_null() {
                return Err("no display".into());
            }
            let window = Window(window);
            window.process_messages();
            Ok(window)
        }

        fn process_messages(&self) {
            let mut message = MSG::default();
            // SAFETY: the call writes the structure.
            unsafe {
                while PeekMessageW(&raw mut message, null_mut(), 0, 0, PM_REMOVE) != 0 {
                    DispatchMessageW(&raw const message);
                }
            }
        }

        /// Returns the colour in the middle of a quarter of the window.
        fn middle(&self, quarter: usize) -> Option<[u8; 3]> {
            self.process_messages();
            let [x, y] = present_common::middle(quarter).map(|at| at as i32);
            // SAFETY: the context is new, and is released after its last use.
            let pixel = unsafe {
                let context = GetDC(self.0);
                let pixel = GetPixel(context, x, y);
                ReleaseDC(self.0, context);
                pixel
            };
            let [r, g, b, error] = pixel.to_le_bytes();
            (error == 0).then_some([r, g, b])
        }
    }

    pub fn main() -> Outcome<()> {
        let mut arguments = std::env::args().skip(1);
        let manifest = arguments.next().ok_or("usage: win32_present MANIFEST [SECONDS]")?;
        let seconds = arguments.next().map_or(Ok(0), |text| text.parse())?;
        let window = Window::open()?;
        let api = Api::open_icd(&Manifest::read(manifest.as_ref())?)?;
        let make_surface = |instance: &ash::Instance| {
            // SAFETY: the window is alive, and the program has only one thread of its own.
            unsafe {
                let info = vk::Win32SurfaceCreateInfoKHR::default()
                    .hinstance(GetModuleHandleW(null()) as vk::HINSTANCE)
                    .hwnd(window.0 as vk::HWND);
                Ok(khr::win32_surface::Instance::new(&api.entry, instance).create_win32_surface(&info, None)?)
            }
        };
        let check = || {
            present_common::wait_for_last(|quarter| window.middle(quarter))?;
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(seconds) {
                window.process_messages();
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(())
        };
        // SAFETY: the surface is that of the window, which has this size.
        unsafe { present_common::present(&api, khr::win32_surface::NAME, make_surface, check) }
    }
}
