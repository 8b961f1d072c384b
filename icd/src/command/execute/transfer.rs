//! Copies, fills, updates, blits, clears and resolves outside of render passes.
//!
//! Nothing outside of a buffer or image is ever accessed; the rasterizer's transfers ensure this. A
//! region that reaches outside is invalid usage: the part inside is transferred, and a message
//! reports the region.

#![forbid(unsafe_code)]

use super::Executor;
use crate::command::{BufferOrAddress, DeviceLocation, ResolveModes, bounds, transfer};
use crate::object::image::Image;
use ash::vk;
use base::alloc::{or_unwind, reserve};
use base::mem::{ImageMemory, MemoryRange};

impl Executor<'_> {
    /// Reports to the application a region that does not fit.
    pub(super) fn fits(&self, command: &str, region: usize, inside: bool) {
        if !inside {
            self.device.report_invalid_usage(&format!(
                "{command}: region {region} reaches outside of its image, its buffer or what is alive at its addresses"
            ));
        }
    }

    pub(super) fn bound(&self, command: &str, image: &Image) -> Option<ImageMemory> {
        let memory = image.memory();
        if memory.is_none() {
            self.device.report_invalid_usage(&format!(
                "{command}: an image has no memory: it was never bound, or has been destroyed"
            ));
        }
        memory
    }

    pub(super) fn copy_buffer(&mut self, src: &BufferOrAddress, dst: &BufferOrAddress, regions: &[vk::BufferCopy]) {
        let mut inside = Vec::new();
        or_unwind(reserve(&mut inside, regions.len()));
        for (i, r) in regions.iter().enumerate() {
            match (self.exact(src, r.src_offset, r.size), self.exact(dst, r.dst_offset, r.size)) {
                (Some(from), Some(to)) => inside.push((from, to)),
                _ => self.fits("vkCmdCopyBuffer", i, r.size == 0),
            }
        }
        transfer::copy_buffer(self.device, &inside);
    }

    pub(super) fn update_buffer(&mut self, (base, offset): &DeviceLocation, data: &[u8]) {
        match self.exact(base, *offset, data.len() as u64) {
            Some(to) => transfer::update_buffer(to, data),
            None => self.fits("vkCmdUpdateBuffer", 0, data.is_empty()),
        }
    }

    pub(super) fn fill_buffer(&mut self, (base, offset): &DeviceLocation, size: u64, data: u32) {
        let mut to = self.range(base, *offset, size);
        self.fits("vkCmdFillBuffer", 0, to.size != 0 && (size == vk::WHOLE_SIZE || to.size == size));
        to.size &= !3;
        transfer::fill_buffer(self.device, to, data);
    }

    pub(super) fn copy_image(&mut self, src: &Image, dst: &Image, regions: &[vk::ImageCopy]) {
        const COMMAND: &str = "vkCmdCopyImage";
        let (Some(from), Some(to)) = (self.bound(COMMAND, src), self.bound(COMMAND, dst)) else { return };
        for (i, r) in regions.iter().enumerate() {
            self.fits(COMMAND, i, bounds::has_copy(src, dst, r));
        }
        transfer::copy_image(self.device, &from, &to, regions);
    }

    pub(super) fn blit_image(&mut self, src: &Image, dst: &Image, regions: &[vk::ImageBlit], filter: vk::Filter) {
        const COMMAND: &str = "vkCmdBlitImage";
        let (Some(from), Some(to)) = (self.bound(COMMAND, src), self.bound(COMMAND, dst)) else { return };
        for (i, r) in regions.iter().enumerate() {
            let inside = bounds::has_corners(&src.layout, &r.src_subresource, &r.src_offsets)
                && bounds::has_corners(&dst.layout, &r.dst_subresource, &r.dst_offsets);
            self.fits(COMMAND, i, inside);
            transfer::blit_image(self.device, &from, &to, r, filter);
        }
    }

    pub(super) fn copy_buffer_to_image(
        &mut self,
        base: &BufferOrAddress,
        image: &Image,
        regions: &[vk::BufferImageCopy],
    ) {
        const COMMAND: &str = "vkCmdCopyBufferToImage";
        let Some(to) = self.bound(COMMAND, image) else { return };
        for (i, r) in regions.iter().enumerate() {
            let from = self.rows(COMMAND, base, image, i, r);
            transfer::copy_buffer_to_image(self.device, from, &to, r);
        }
    }

    pub(super) fn copy_image_to_buffer(
        &mut self,
        image: &Image,
        base: &BufferOrAddress,
        regions: &[vk::BufferImageCopy],
    ) {
        const COMMAND: &str = "vkCmdCopyImageToBuffer";
        let Some(from) = self.bound(COMMAND, image) else { return };
        for (i, r) in regions.iter().enumerate() {
            let to = self.rows(COMMAND, base, image, i, r);
            transfer::copy_image_to_buffer(self.device, &from, to, r);
        }
    }

    /// Returns the buffer's bytes of a copy: the existing part of the region's bytes, from its
    /// offset on.
    fn rows(
        &self,
        command: &str,
        base: &BufferOrAddress,
        image: &Image,
        i: usize,
        r: &vk::BufferImageCopy,
    ) -> MemoryRange {
        let bytes = bounds::rows_bytes(&image.layout, r);
        let range = self.range(base, r.buffer_offset, bytes);
        let inside = bounds::has_box(&image.layout, &r.image_subresource, r.image_offset, r.image_extent);
        self.fits(command, i, inside && range.size == bytes);
        range
    }

    pub(super) fn clear_color_image(&mut self, image: &Image, color: [u32; 4], ranges: &[vk::ImageSubresourceRange]) {
        const COMMAND: &str = "vkCmdClearColorImage";
        let Some(to) = self.bound(COMMAND, image) else { return };
        for (i, r) in ranges.iter().enumerate() {
            self.fits(COMMAND, i, bounds::has_range(&image.layout.desc, r));
            transfer::clear_color_image(self.device, &to, color, r);
        }
    }

    pub(super) fn clear_depth_stencil_image(
        &mut self,
        image: &Image,
        value: vk::ClearDepthStencilValue,
        ranges: &[vk::ImageSubresourceRange],
    ) {
        const COMMAND: &str = "vkCmdClearDepthStencilImage";
        let Some(to) = self.bound(COMMAND, image) else { return };
        for (i, r) in ranges.iter().enumerate() {
            self.fits(COMMAND, i, bounds::has_range(&image.layout.desc, r));
            transfer::clear_depth_stencil_image(self.device, &to, value, r);
        }
    }

    pub(super) fn resolve_image(
        &mut self,
        src: &Image,
        dst: &Image,
        regions: &[vk::ImageResolve],
        modes: ResolveModes,
    ) {
        const COMMAND: &str = "vkCmdResolveImage";
        let (Some(from), Some(to)) = (self.bound(COMMAND, src), self.bound(COMMAND, dst)) else { return };
        for (i, r) in regions.iter().enumerate() {
            let inside = bounds::has_box(&src.layout, &r.src_subresource, r.src_offset, r.extent)
                && bounds::has_box(&dst.layout, &r.dst_subresource, r.dst_offset, r.extent);
            self.fits(COMMAND, i, inside);
            transfer::resolve_image(self.device, &from, &to, r, modes);
        }
    }
}
