//! Puts pixels into a window of Windows through GDI.
//!
//! The queue's thread draws into the window by a device context of its own for each frame, so the
//! window's thread takes no part: no message is sent to it, and a thread that does not answer
//! blocks nothing. The frame is a device-independent bitmap in memory, whose rows are B8G8R8X8 from
//! the top down. Sizes are those of the client area in physical pixels, whatever the DPI awareness
//! of the calling thread is.

use super::frame::PixelOrder;
use std::fmt;
use windows_sys::Win32::Foundation::{HWND, RECT};
use windows_sys::Win32::Graphics::Gdi::{
    BI_RGB, BITMAPINFO, BITMAPINFOHEADER, DIB_RGB_COLORS, GdiFlush, GetDC, HDC, ReleaseDC, SetDIBitsToDevice,
};
use windows_sys::Win32::UI::HiDpi::{
    DPI_AWARENESS_CONTEXT, GetWindowDpiAwarenessContext, SetThreadDpiAwarenessContext,
};
use windows_sys::Win32::UI::WindowsAndMessaging::{GetClientRect, IsWindow};

/// Bytes per pixel.
const PIXEL_BYTES: usize = 4;

/// The reason why presenting failed: the window is gone, so that the surface is lost.
#[derive(Debug)]
pub struct Win32Error;

impl fmt::Display for Win32Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the window is gone")
    }
}

impl std::error::Error for Win32Error {}

/// Identity of a window: its `HWND` as a number.
pub struct WindowId(pub isize);

/// A window of this process or another one.
pub struct Win32Window {
    /// The `HWND`. It may become invalid at any time, which every function of the system reports.
    window: isize,
    /// Pixels of the last frame, each of which is a word.
    frame: Vec<u32>,
}

/// The DPI awareness of a window, which the calling thread has until this is dropped. The system
/// would otherwise report and draw sizes in the scale of the thread.
struct DpiScope(DPI_AWARENESS_CONTEXT);

impl DpiScope {
    fn of(window: HWND) -> DpiScope {
        // SAFETY: the calls read no memory; for a window that is gone they change nothing.
        unsafe { DpiScope(SetThreadDpiAwarenessContext(GetWindowDpiAwarenessContext(window))) }
    }
}

impl Drop for DpiScope {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the thread had this context before.
            unsafe { SetThreadDpiAwarenessContext(self.0) };
        }
    }
}

/// A device context for the client area of a window.
struct DeviceContext {
    window: HWND,
    context: HDC,
}

impl DeviceContext {
    /// Returns `None` if the window is gone, or if the system has no context left.
    fn of(window: HWND) -> Option<DeviceContext> {
        // SAFETY: the call only reads the number of the window.
        let context = unsafe { GetDC(window) };
        (!context.is_null()).then_some(DeviceContext { window, context })
    }
}

impl Drop for DeviceContext {
    fn drop(&mut self) {
        // SAFETY: `of` has made the context on this thread, and this is its last use. The flush
        // makes the window show what the thread has drawn.
        unsafe {
            GdiFlush();
            ReleaseDC(self.window, self.context);
        }
    }
}

impl Win32Window {
    /// Opens a window.
    ///
    /// # Errors
    /// There is no such window.
    pub fn open(id: &WindowId) -> Result<Win32Window, Win32Error> {
        let mut window = Win32Window { window: id.0, frame: Vec::new() };
        window.extent()?;
        Ok(window)
    }

    fn handle(&self) -> HWND {
        self.window as HWND
    }

    /// Returns the channel order that [`present`](Self::present) expects.
    pub fn pixel_order(&self) -> PixelOrder {
        PixelOrder::Bgra
    }

    /// Returns the size of the client area in pixels, which is 0 for a minimized window.
    ///
    /// # Errors
    /// The window is gone.
    pub fn extent(&mut self) -> Result<[u32; 2], Win32Error> {
        // The desktop, which the null handle stands for, is no window of an application.
        if self.window == 0 {
            return Err(Win32Error);
        }
        let _scope = DpiScope::of(self.handle());
        let mut area = RECT::default();
        // SAFETY: the call writes the rectangle.
        let is_known = unsafe { GetClientRect(self.handle(), &raw mut area) } != 0;
        let length = |from: i32, to: i32| u32::try_from(to.saturating_sub(from)).unwrap_or(0);
        if is_known { Ok([length(area.left, area.right), length(area.top, area.bottom)]) } else { Err(Win32Error) }
    }

    /// Returns the [`extent`](Self::extent), whose query is fast.
    ///
    /// # Errors
    /// The window is gone.
    pub fn known_extent(&mut self) -> Result<[u32; 2], Win32Error> {
        self.extent()
    }

    /// Shows a frame of the given size in pixels with its upper left corner at `at`, which may lie
    /// outside of the client area. `row(y, out)` writes row `y` in [`PixelOrder`]. Returns when the
    /// system has taken the frame. A frame that cannot be shown (the session is locked) is dropped.
    ///
    /// # Errors
    /// The window is gone.
    pub fn present(
        &mut self,
        at: [i16; 2],
        [width, height]: [u16; 2],
        mut row: impl FnMut(u32, &mut [u8]),
    ) -> Result<(), Win32Error> {
        if width == 0 || height == 0 {
            return Ok(());
        }
        let (columns, rows) = (usize::from(width), usize::from(height));
        self.frame.resize(columns * rows, 0);
        // SAFETY: the words of the frame are initialized, and any bytes are valid words.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(self.frame.as_mut_ptr().cast::<u8>(), self.frame.len() * PIXEL_BYTES)
        };
        for (y, out) in (0..).zip(bytes.chunks_exact_mut(columns * PIXEL_BYTES)) {
            row(y, out);
        }
        let window = self.handle();
        let _scope = DpiScope::of(window);
        let is_shown = DeviceContext::of(window).is_some_and(|target| self.draw(&target, at, [width, height]));
        // SAFETY: the call only reads the number of the window.
        if is_shown || unsafe { IsWindow(window) } != 0 { Ok(()) } else { Err(Win32Error) }
    }

    /// Draws the frame. Returns false if the system refuses.
    fn draw(&self, target: &DeviceContext, at: [i16; 2], [width, height]: [u16; 2]) -> bool {
        let header = BITMAPINFOHEADER {
            biSize: size_of::<BITMAPINFOHEADER>() as u32,
            biWidth: width.into(),
            // A negative height means rows from the top down.
            biHeight: -i32::from(height),
            biPlanes: 1,
            biBitCount: 8 * PIXEL_BYTES as u16,
            biCompression: BI_RGB,
            ..Default::default()
        };
        let info = BITMAPINFO { bmiHeader: header, ..Default::default() };
        let ([x, y], [columns, rows]) = (at.map(i32::from), [width, height].map(u32::from));
        // SAFETY: the call reads the structure, and as many words of the frame as it says.
        let shown = unsafe {
            SetDIBitsToDevice(
                target.context,
                x,
                y,
                columns,
                rows,
                0,
                0,
                0,
                rows,
                self.frame.as_ptr().cast(),
                &raw const info,
                DIB_RGB_COLORS,
            )
        };
        shown != 0
    }
}
