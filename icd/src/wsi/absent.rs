//! The windows of X11 and Wayland on a system that has neither. The extensions that make them are
//! not advertised, and a surface that an application makes in spite of this is lost.

#![forbid(unsafe_code)]

/// Connections of the application.
pub mod client {
    use std::ffi::c_void;

    /// Makes a round trip on an `xcb_connection_t`; there is none.
    pub fn sync_xcb(_connection: *mut c_void) -> Option<()> {
        None
    }

    /// Makes a round trip on an Xlib `Display`; there is none.
    pub fn sync_xlib(_display: *mut c_void) -> Option<String> {
        None
    }
}

/// Windows on X servers.
pub mod x11 {
    use crate::wsi::frame::PixelOrder;

    /// The reason why presenting failed.
    #[derive(Debug)]
    pub struct X11Error;

    impl std::fmt::Display for X11Error {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the driver has no X11 on this system")
        }
    }

    impl std::error::Error for X11Error {}

    /// A window on an X server; there is none.
    pub enum X11Window {}

    impl X11Window {
        /// Opens a window.
        ///
        /// # Errors
        /// There is no server.
        pub fn open(_display: Option<&str>, _window: u32) -> Result<X11Window, X11Error> {
            Err(X11Error)
        }

        /// Returns the order of the window's pixels.
        pub fn pixel_order(&self) -> PixelOrder {
            match *self {}
        }

        /// Returns the window's size.
        ///
        /// # Errors
        /// There is no server.
        pub fn extent(&mut self) -> Result<[u32; 2], X11Error> {
            match *self {}
        }

        /// Returns the window's size as it is known without a query.
        ///
        /// # Errors
        /// There is no server.
        pub fn known_extent(&mut self) -> Result<[u32; 2], X11Error> {
            match *self {}
        }

        /// Shows a frame.
        ///
        /// # Errors
        /// There is no server.
        pub fn present(
            &mut self,
            _at: [i16; 2],
            _size: [u16; 2],
            _row: impl FnMut(u32, &mut [u8]),
        ) -> Result<(), X11Error> {
            match *self {}
        }
    }
}

/// Surfaces of Wayland.
pub mod wayland {
    /// Connections to compositors.
    pub mod connection {
        use std::ffi::c_void;

        /// The reason why presenting failed.
        #[derive(Clone, Copy, Debug)]
        pub struct WaylandError;

        /// An application's surface; there is none.
        pub struct WaylandTarget;

        impl WaylandTarget {
            /// Makes a target, which has no window.
            pub fn new(_display: *mut c_void, _surface: *mut c_void) -> WaylandTarget {
                WaylandTarget
            }
        }
    }

    /// Windows of compositors.
    pub mod window {
        use super::connection::{WaylandError, WaylandTarget};
        use crate::wsi::frame::{Frame, Listener, ShmBufferInfo};
        use std::fs::File;
        use std::sync::Arc;
        use std::time::Duration;

        /// A window of a compositor; there is none.
        pub enum Window {}

        impl Window {
            /// Makes a window; there is none.
            pub fn new(_target: WaylandTarget) -> Option<Window> {
                None
            }

            /// Returns the formats that the compositor accepts.
            ///
            /// # Errors
            /// There is no compositor.
            pub fn formats(&self) -> Result<Vec<u32>, WaylandError> {
                match *self {}
            }

            /// Checks that the compositor can be reached.
            ///
            /// # Errors
            /// There is no compositor.
            pub fn ping(&self) -> Result<(), WaylandError> {
                match *self {}
            }

            /// Checks that the surface is not known to be lost.
            ///
            /// # Errors
            /// There is no compositor.
            pub fn check(&self) -> Result<(), WaylandError> {
                match *self {}
            }

            /// Gives the compositor the images of a swapchain.
            ///
            /// # Errors
            /// There is no compositor.
            pub fn add(
                &self,
                _swapchain: u64,
                _images: &[(File, ShmBufferInfo)],
                _listener: Arc<dyn Listener>,
            ) -> Result<bool, WaylandError> {
                match *self {}
            }

            /// Removes a swapchain.
            pub fn remove(&self, _swapchain: u64) {
                match *self {}
            }

            /// Shows a frame.
            ///
            /// # Errors
            /// There is no compositor.
            pub fn present(&self, _frame: Frame, _is_fifo: bool) -> Result<(), WaylandError> {
                match *self {}
            }

            /// Reports a compositor that does not answer.
            pub fn check_responding(&self) {
                match *self {}
            }

            /// Returns the time between two of these checks.
            pub fn interval(&self) -> Duration {
                match *self {}
            }

            /// Ends the use of the application's connection.
            pub fn close(&self) {
                match *self {}
            }
        }
    }
}
