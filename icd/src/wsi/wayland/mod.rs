//! Shows a swapchain's images on a Wayland surface, over the application's own connection, which is the only one its surface can be reached
//! by.
//!
//! Nothing is copied: an image lies in a file without a name (`os::backing`), and the compositor is given the file. So an image comes
//! back when the compositor says so (`wl_buffer.release`). [`window`] has the frames that wait for their turn ([`line`]) and a thread that
//! listens while there is a swapchain; [`connection`] is what is used of libwayland-client, which [`library`] opens.

pub mod connection;
mod library;
mod line;
pub mod window;

#[cfg(test)]
mod compositor;
#[cfg(test)]
mod tests;
