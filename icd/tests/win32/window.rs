//! Presentation in windows through GDI.

use super::common::{Context, info};
use ash::vk;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};
use windows_sys::Win32::Foundation::HWND;
use windows_sys::Win32::Graphics::Gdi::{
    BI_RGB, BITMAPINFO, BITMAPINFOHEADER, BitBlt, CreateCompatibleDC, CreateDIBSection, DIB_RGB_COLORS, DeleteDC,
    DeleteObject, GdiFlush, GetDC, ReleaseDC, SRCCOPY, SelectObject,
};
use windows_sys::Win32::System::LibraryLoader::GetModuleHandleW;
use windows_sys::Win32::UI::WindowsAndMessaging::{
    CreateWindowExW, DefWindowProcW, DestroyWindow, DispatchMessageW, MSG, PM_REMOVE, PeekMessageW, RegisterClassW,
    SW_SHOWNA, SWP_NOMOVE, SWP_NOZORDER, SetWindowPos, ShowWindow, WNDCLASSW, WS_POPUP,
};

/// A window of the test without borders, whose content only the driver draws.
struct Window(HWND);

impl Window {
    /// Opens a window; returns `None` with a message if the system has no display.
    fn open(width: i32, height: i32) -> Option<Window> {
        let name: Vec<u16> = "grus-test\0".encode_utf16().collect();
        // SAFETY: the class and the window are new, and all pointers are valid.
        let window = unsafe {
            let class = WNDCLASSW {
                lpfnWndProc: Some(DefWindowProcW),
                hInstance: GetModuleHandleW(null()),
                lpszClassName: name.as_ptr(),
                ..Default::default()
            };
            // Another test may have registered the class.
            RegisterClassW(&raw const class);
            let (name, instance) = (name.as_ptr(), class.hInstance);
            CreateWindowExW(0, name, name, WS_POPUP, 20, 30, width, height, null_mut(), null_mut(), instance, null())
        };
        if window.is_null() {
            eprintln!("skipped: no display");
            return None;
        }
        // SAFETY: the window exists.
        unsafe { ShowWindow(window, SW_SHOWNA) };
        let window = Window(window);
        window.process_messages();
        Some(window)
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

    fn resize(&self, width: i32, height: i32) {
        // SAFETY: the window exists.
        unsafe { SetWindowPos(self.0, null_mut(), 0, 0, width, height, SWP_NOMOVE | SWP_NOZORDER) };
        self.process_messages();
    }

    /// Returns the pixels of the client area: blue, green and red.
    fn pixels(&self, width: i32, height: i32) -> Vec<[u8; 3]> {
        self.process_messages();
        let header = BITMAPINFOHEADER {
            biSize: size_of::<BITMAPINFOHEADER>() as u32,
            biWidth: width,
            biHeight: -height,
            biPlanes: 1,
            biBitCount: 32,
            biCompression: BI_RGB,
            ..Default::default()
        };
        let info = BITMAPINFO { bmiHeader: header, ..Default::default() };
        // SAFETY: all objects are new, and are destroyed after their last use.
        unsafe {
            let (from, mut bits) = (GetDC(self.0), null_mut());
            let to = CreateCompatibleDC(from);
            let bitmap = CreateDIBSection(from, &raw const info, DIB_RGB_COLORS, &raw mut bits, null_mut(), 0);
            let before = SelectObject(to, bitmap);
            assert_ne!(BitBlt(to, 0, 0, width, height, from, 0, 0, SRCCOPY), 0);
            GdiFlush();
            let bytes = std::slice::from_raw_parts(bits.cast::<u8>(), (width * height * 4) as usize);
            let pixels = bytes.as_chunks::<4>().0.iter().map(|p| [p[0], p[1], p[2]]).collect();
            SelectObject(to, before);
            DeleteObject(bitmap);
            DeleteDC(to);
            ReleaseDC(self.0, from);
            pixels
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: a window that is gone is refused.
        unsafe { DestroyWindow(self.0) };
    }
}

/// A device with a surface of a window.
struct Presenter {
    c: Context,
    surfaces: ash::khr::surface::Instance,
    functions: ash::khr::swapchain::Device,
    surface: vk::SurfaceKHR,
}

impl Presenter {
    fn new(window: &Window) -> Presenter {
        let c = Context::new(&[c"VK_KHR_surface", c"VK_KHR_win32_surface"], &[c"VK_KHR_swapchain"]);
        let surfaces = ash::khr::surface::Instance::new(&c.entry, &c.instance);
        let functions = ash::khr::swapchain::Device::new(&c.instance, &c.device);
        let win32 = ash::khr::win32_surface::Instance::new(&c.entry, &c.instance);
        // SAFETY: valid usage.
        let surface = unsafe {
            assert!(win32.get_physical_device_win32_presentation_support(c.physical, 0));
            let info = vk::Win32SurfaceCreateInfoKHR::default()
                .hinstance(GetModuleHandleW(null()) as vk::HINSTANCE)
                .hwnd(window.0 as vk::HWND);
            win32.create_win32_surface(&info, None).expect("a surface")
        };
        Presenter { c, surfaces, functions, surface }
    }

    fn extent(&self) -> Result<[u32; 2], vk::Result> {
        // SAFETY: valid usage.
        let limits = unsafe { self.surfaces.get_physical_device_surface_capabilities(self.c.physical, self.surface) }?;
        let vk::Extent2D { width, height } = limits.current_extent;
        Ok([width, height])
    }

    fn swapchain(
        &self,
        [width, height]: [u32; 2],
        mode: vk::PresentModeKHR,
        old: vk::SwapchainKHR,
    ) -> vk::SwapchainKHR {
        // SAFETY: valid usage.
        unsafe {
            let formats = self.surfaces.get_physical_device_surface_formats(self.c.physical, self.surface);
            let format = formats.expect("formats")[0];
            assert_eq!(format.format, vk::Format::B8G8R8A8_UNORM, "the order of GDI comes first");
            let info = info::swapchain(self.surface, format, 3, width, vk::ImageUsageFlags::TRANSFER_DST)
                .image_extent(vk::Extent2D { width, height })
                .present_mode(mode)
                .old_swapchain(old);
            self.functions.create_swapchain(&info, None).expect("a swapchain")
        }
    }

    /// Presents a picture whose pixels have the given blue, green and red.
    fn present(
        &self,
        swapchain: vk::SwapchainKHR,
        [width, height]: [u32; 2],
        pixel: impl Fn(u32, u32) -> [u8; 3],
    ) -> Result<bool, vk::Result> {
        let (c, d) = (&self.c, &self.c.device);
        let source = c.buffer(u64::from(width * height * 4));
        // SAFETY: valid usage; the buffer is mapped and has these bytes.
        unsafe {
            let bytes = std::slice::from_raw_parts_mut(source.pointer, (width * height * 4) as usize);
            for (i, out) in (0..).zip(bytes.as_chunks_mut::<4>().0) {
                let [b, g, r] = pixel(i % width, i / width);
                *out = [b, g, r, 0];
            }
            let fence = d.create_fence(&Default::default(), None).expect("a fence");
            let acquired = self.functions.acquire_next_image(swapchain, u64::MAX, vk::Semaphore::null(), fence);
            let presented = acquired.and_then(|(index, _)| {
                d.wait_for_fences(&[fence], true, u64::MAX).expect("a signal");
                let image = self.functions.get_swapchain_images(swapchain).expect("images")[index as usize];
                let region = info::region(vk::ImageAspectFlags::COLOR, [width, height]);
                c.run(|b| {
                    let to = vk::ImageLayout::GENERAL;
                    let barrier = |from, to| {
                        vk::ImageMemoryBarrier::default()
                            .image(image)
                            .old_layout(from)
                            .new_layout(to)
                            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
                            .dst_access_mask(vk::AccessFlags::MEMORY_WRITE)
                            .subresource_range(info::range(vk::ImageAspectFlags::COLOR, 1))
                    };
                    let (all, none) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::DependencyFlags::empty());
                    let before = [barrier(vk::ImageLayout::UNDEFINED, to)];
                    d.cmd_pipeline_barrier(b, all, all, none, &[], &[], &before);
                    d.cmd_copy_buffer_to_image(b, source.buffer, image, to, &[region]);
                    let after = [barrier(to, vk::ImageLayout::PRESENT_SRC_KHR)];
                    d.cmd_pipeline_barrier(b, all, all, none, &[], &[], &after);
                })
                .expect("a copy");
                let (swapchains, indices) = ([swapchain], [index]);
                let info = vk::PresentInfoKHR::default().swapchains(&swapchains).image_indices(&indices);
                self.functions.queue_present(c.queue, &info)
            });
            d.device_wait_idle().expect("no work");
            d.destroy_fence(fence, None);
            c.free(source);
            presented
        }
    }
}

impl Drop for Presenter {
    fn drop(&mut self) {
        // SAFETY: valid usage.
        unsafe { self.surfaces.destroy_surface(self.surface, None) };
    }
}

/// Returns blue, green and red of a pixel of the test's picture, which is different in each row and
/// column.
fn pixel(frame: u32, x: u32, y: u32) -> [u8; 3] {
    [(x + 50 * frame) as u8, (3 * y) as u8, (x ^ y) as u8]
}

#[test]
fn a_window_shows_what_was_presented() {
    const SIZE: [u32; 2] = [123, 77];
    let Some(window) = Window::open(SIZE[0] as i32, SIZE[1] as i32) else { return };
    let presenter = Presenter::new(&window);
    assert_eq!(presenter.extent(), Ok(SIZE));
    let mut swapchain = vk::SwapchainKHR::null();
    for (frame, mode) in
        (0..).zip([vk::PresentModeKHR::FIFO, vk::PresentModeKHR::MAILBOX, vk::PresentModeKHR::IMMEDIATE])
    {
        let old = swapchain;
        swapchain = presenter.swapchain(SIZE, mode, old);
        // SAFETY: valid usage.
        unsafe { presenter.functions.destroy_swapchain(old, None) };
        assert_eq!(presenter.present(swapchain, SIZE, |x, y| pixel(frame, x, y)), Ok(false));
        let shown = window.pixels(SIZE[0] as i32, SIZE[1] as i32);
        for (i, got) in (0..).zip(shown) {
            let (x, y) = (i % SIZE[0], i / SIZE[0]);
            assert_eq!(got, pixel(frame, x, y), "frame {frame}, {x}, {y}");
        }
    }
    // FIFO limits the rate to 60 Hz.
    let paced = presenter.swapchain(SIZE, vk::PresentModeKHR::FIFO, swapchain);
    let began = Instant::now();
    (0..9).for_each(|frame| assert_eq!(presenter.present(paced, SIZE, |x, y| pixel(frame, x, y)), Ok(false)));
    assert!(began.elapsed() >= Duration::from_millis(5 * 16), "{:?}", began.elapsed());
    // SAFETY: valid usage.
    unsafe { [swapchain, paced].into_iter().for_each(|s| presenter.functions.destroy_swapchain(s, None)) };
}

#[test]
fn a_resized_window_needs_a_new_swapchain() {
    let Some(window) = Window::open(100, 80) else { return };
    let presenter = Presenter::new(&window);
    let swapchain = presenter.swapchain([100, 80], vk::PresentModeKHR::FIFO, vk::SwapchainKHR::null());
    assert_eq!(presenter.present(swapchain, [100, 80], |x, y| pixel(0, x, y)), Ok(false));
    window.resize(140, 60);
    assert_eq!(presenter.extent(), Ok([140, 60]));
    let late = presenter.present(swapchain, [100, 80], |x, y| pixel(1, x, y));
    assert_eq!(late, Err(vk::Result::ERROR_OUT_OF_DATE_KHR));
    let next = presenter.swapchain([140, 60], vk::PresentModeKHR::FIFO, swapchain);
    assert_eq!(presenter.present(next, [140, 60], |x, y| pixel(2, x, y)), Ok(false));
    assert_eq!(window.pixels(140, 60)[140 * 59 + 139], pixel(2, 139, 59));
    // A window without a client area (one that is minimized) has no swapchain, and is not lost.
    window.resize(0, 0);
    assert_eq!(presenter.extent().map(|[width, height]| width * height), Ok(0));
    // SAFETY: valid usage.
    unsafe { [swapchain, next].into_iter().for_each(|s| presenter.functions.destroy_swapchain(s, None)) };
}

#[test]
fn a_window_that_is_gone_is_a_lost_surface() {
    let Some(window) = Window::open(64, 64) else { return };
    let presenter = Presenter::new(&window);
    let swapchain = presenter.swapchain([64, 64], vk::PresentModeKHR::FIFO, vk::SwapchainKHR::null());
    assert_eq!(presenter.present(swapchain, [64, 64], |x, y| pixel(0, x, y)), Ok(false));
    drop(window);
    let lost = vk::Result::ERROR_SURFACE_LOST_KHR;
    assert_eq!(presenter.present(swapchain, [64, 64], |x, y| pixel(1, x, y)), Err(lost));
    assert_eq!(presenter.extent(), Err(lost));
    // SAFETY: valid usage.
    unsafe { presenter.functions.destroy_swapchain(swapchain, None) };
    let none = Presenter::new(&Window(null_mut()));
    assert_eq!(none.extent(), Err(lost), "the desktop is no window");
}
