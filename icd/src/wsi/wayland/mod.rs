//! Shows a swapchain's images on a Wayland surface, over the application's own connection, which
//! alone can reach its surface.
//!
//! Nothing is copied: an image lies in a file without a name (`os::pages`), which the compositor
//! gets. An image is therefore free again when the compositor releases it (`wl_buffer.release`).
//! [`window`] has the frames that wait ([`frame_queue`]) and a thread that listens while there is a
//! swapchain. [`connection`] has the used part of libwayland-client, which [`library`] opens.

pub mod connection;
mod frame_queue;
mod library;
pub mod window;

#[cfg(test)]
mod compositor;
#[cfg(test)]
mod tests;
