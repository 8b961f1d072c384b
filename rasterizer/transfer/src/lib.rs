//! Copies, fills, clears, blits and resolves of image and buffer memory.
//!
//! All operations are reduced to rows: a region is processed layer by layer, slice by slice, row by
//! row. If there is enough work, rows are distributed over the pool's threads and the caller's
//! (`rows`). Operations on values work on rows of words (`texel`, `conversion`, `kernels`). All
//! memory is accessed through [`base::mem::DeviceMemory`], so that a region that reaches outside
//! its image or buffer is cut or skipped. Names are those of the specification's structures
//! (`VkBufferImageCopy` → [`BufferImageCopy`]).

mod blit;
mod buffer;
mod clear;
mod contiguous;
mod conversion;
mod image_copy;
mod kernels;
mod region;
mod resolve;
mod rows;
mod texel;

pub use blit::{Filter, ImageBlit, blit_image};
pub use buffer::{BufferCopy, copy_buffer, copy_buffer_regions, fill_buffer, update_buffer};
pub use clear::{SubresourceRange, clear_color_image, clear_depth_stencil_image};
pub use image_copy::{
    BufferImageCopy, ImageCopy, copy_buffer_to_image, copy_image, copy_image_regions, copy_image_to_buffer,
};
pub use region::SubresourceLayers;
pub use resolve::{ImageResolve, ResolveMode, resolve_image};
pub use rows::{HelperThreads, memory_of};
pub use texel::clamp_integer;
