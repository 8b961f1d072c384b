//! Window system integration: surfaces (X11 through xcb and xlib, Wayland, Windows, headless) and
//! swapchains.
//!
//! A swapchain's images are ordinary images in the driver's memory. Presentation is work in queue
//! order: after its semaphores, the queue copies the image to the window, over the driver's own X11
//! connection (`x11`) or through GDI (`win32`), and releases the image. FIFO needs no thread and no
//! sleep on the queue. A presented image becomes available again at the next tick of a 60 Hz clock
//! ([`pacing`]), so that only vkAcquireNextImageKHR waits. Present modes differ in nothing else, so
//! each is compatible with all. Nothing here touches a window system before a surface is made.
//!
//! On Wayland (`wayland`) the compositor gets the images' own memory, and reports when it has
//! released an image and when it is time for the next frame.
//!
//! Each system has the commands for its own windows (`unix_entry`, `win32_entry`). Windows has no
//! Wayland: the types of its windows have no values there (`absent`).

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
mod unix_entry;
#[cfg(unix)]
mod wayland;
#[cfg(windows)]
pub mod win32;
#[cfg(windows)]
mod win32_entry;
#[cfg(unix)]
pub mod x11;
#[cfg(unix)]
mod x11_stream;

#[cfg(windows)]
use absent::wayland;
pub use entry::COMMANDS;
pub use swapchain::swapchain_image_memory;
#[cfg(unix)]
pub use unix_entry::COMMANDS as WINDOW_COMMANDS;
#[cfg(windows)]
pub use win32_entry::COMMANDS as WINDOW_COMMANDS;

#[cfg(test)]
#[cfg(unix)]
mod tests;
