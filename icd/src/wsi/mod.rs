//! Window system integration: surfaces (X11 through xcb and xlib, Wayland, headless) and
//! swapchains.
//!
//! A swapchain's images are ordinary images in the driver's memory. Presentation is work in queue
//! order: after its semaphores, the queue copies the image to the window over the driver's own X11
//! connection ([`x11`]) and releases the image. FIFO needs no thread and no sleep on the queue. A
//! presented image becomes available again at the next tick of a 60 Hz clock ([`pace`]), so that
//! only vkAcquireNextImageKHR waits. Present modes differ in nothing else, so each is compatible
//! with all. Nothing here touches a window system before a surface is made.
//!
//! On Wayland ([`wayland`]) the compositor gets the images' own memory, and reports when it has
//! released an image and when it is time for the next frame.
//!
//! Windows has neither X11 nor Wayland: the extensions are not advertised there, and the types of
//! their windows have no values (`absent`).

#[cfg(windows)]
mod absent;
#[cfg(unix)]
mod client;
mod entry;
mod frame;
pub mod pacing;
pub mod scaling;
pub mod surface;
pub mod swapchain;
#[cfg(unix)]
mod wayland;
#[cfg(unix)]
pub mod x11;
#[cfg(unix)]
mod x11_stream;

#[cfg(windows)]
use absent::{client, wayland, x11};
pub use entry::COMMANDS;
pub use swapchain::swapchain_image_memory;

#[cfg(test)]
#[cfg(unix)]
mod tests;
