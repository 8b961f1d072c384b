//! Copies, fills, clears, blits and resolves over image and buffer memory.
//!
//! Everything is reduced to rows: a region is walked layer by layer, slice by slice, row by row, and rows are spread over
//! the thread pool when there is enough to do. All memory goes through [`DeviceMemory`], so a region that
//! reaches outside its image or buffer is cut or skipped, never followed. Names are those of the specification's
//! structures (`VkBufferImageCopy` → [`BufferImageCopy`]).

mod blit;
mod buffer;
mod clear;
mod image_copy;
mod region;
mod resolve;
mod texel;

#[cfg(test)]
mod tests;

pub use blit::{Filter, ImageBlit, blit_image};
pub use buffer::{BufferCopy, copy_buffer, fill_buffer, update_buffer};
pub use clear::{SubresourceRange, clear_color_image, clear_depth_stencil_image};
pub use image_copy::{BufferImageCopy, ImageCopy, copy_buffer_to_image, copy_image, copy_image_to_buffer};
pub use region::{ASPECT_COLOR, ASPECT_DEPTH, ASPECT_STENCIL, SubresourceLayers};
pub use resolve::{ImageResolve, ResolveMode, resolve_image};

use crate::api::ImageMemory;
use base::mem::DeviceMemory;

/// The memory of an image.
fn memory_of(image: &ImageMemory) -> DeviceMemory {
    // SAFETY: an `ImageMemory` promises `layout.size` bytes at `base`, alive while it is used.
    unsafe { DeviceMemory::new(image.base, image.layout.size) }
}

/// Runs `row(i)` for every i in 0..rows, on the pool's threads when the caller is one of them (else there is no pool, or it is not worth
/// waking it: rayon would start one of its own) and `bytes` in total make it worth it.
fn for_rows(rows: u64, bytes: u64, row: impl Fn(u64) + Sync) {
    use rayon::prelude::*;
    /// A task's overhead is a few microseconds: the time to copy some tens of kilobytes.
    const BYTES_PER_TASK: u64 = 128 << 10;
    if rows <= 1 || bytes <= 2 * BYTES_PER_TASK || rayon::current_thread_index().is_none() {
        (0..rows).for_each(row);
        return;
    }
    let per_task = (rows * BYTES_PER_TASK / bytes).max(1);
    let tasks = rows.div_ceil(per_task);
    (0..tasks).into_par_iter().for_each(|task| {
        let first = task * per_task;
        (first..rows.min(first + per_task)).for_each(&row);
    });
}
