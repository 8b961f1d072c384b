//! Frames and pictures, as window systems get them from swapchains.

#![forbid(unsafe_code)]

/// Receives the events of a swapchain's images.
pub trait Listener: Send + Sync {
    /// Reports that the compositor does not read the image any more.
    fn image_released(&self, image: usize);
    /// Reports that the frame with this number, and all before it, have been shown.
    fn frame_shown(&self, id: u64);
    /// Reports that the surface is lost.
    fn surface_lost(&self);
}

/// A frame to show.
#[derive(Debug)]
pub struct Frame {
    /// Number of the swapchain.
    pub swapchain: u64,
    /// Index of its image.
    pub image: usize,
    /// Rectangles that differ from the frame before; an empty list means anywhere.
    pub damage: Vec<Rectangle>,
    /// Number that is passed to the listener when the frame has been shown; 0 for none.
    pub id: u64,
}

/// Pixels in a file: the arguments of `wl_shm_pool.create_buffer`.
#[derive(Clone, Copy, Debug)]
pub struct ShmBufferInfo {
    /// Size of the file in bytes.
    pub size: u64,
    /// Offset of the first pixel in bytes.
    pub offset: u64,
    /// Number of bytes between rows.
    pub stride: u64,
    /// Width and height in pixels.
    pub extent: [u32; 2],
    /// `wl_shm.format`.
    pub format: u32,
}

/// A rectangle of a picture: x, y, width, height.
pub type Rectangle = [i32; 4];

/// Order of the colour channels in a window's pixels, in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelOrder {
    /// B8G8R8A8.
    Bgra,
    /// R8G8B8A8.
    Rgba,
}
