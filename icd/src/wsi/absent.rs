//! The windows of Wayland on a system that has none: the types have no values.

#![forbid(unsafe_code)]

/// Surfaces of Wayland.
pub mod wayland {
    /// Connections to compositors.
    pub mod connection {
        /// The reason why presenting failed.
        #[derive(Clone, Copy, Debug)]
        pub struct WaylandError;
    }

    /// Windows of compositors.
    pub mod window {
        use super::connection::WaylandError;
        use crate::os::descriptor::OwnedHandle;
        use crate::wsi::frame::{Frame, Listener, ShmBufferInfo};
        use std::sync::Arc;
        use std::time::Duration;

        /// A window of a compositor; there is none.
        pub enum Window {}

        impl Window {
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
                _images: &[(OwnedHandle, ShmBufferInfo)],
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
