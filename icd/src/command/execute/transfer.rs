//! Copies, fills, blits, clears and resolves outside of render passes. Ranges are checked here or in the rasterizer's transfers:
//! nothing outside of a buffer or image is touched.

use super::Executor;
use crate::backend::transfer;
use crate::object::buffer::Buffer;
use crate::object::image::Image;
use ash::vk;

impl Executor<'_> {
    pub(super) fn copy_buffer(&mut self, src: &Buffer, dst: &Buffer, regions: &[vk::BufferCopy]) {
        for r in regions {
            if let (Some(from), Some(to)) = (src.exact(r.src_offset, r.size), dst.exact(r.dst_offset, r.size)) {
                transfer::copy_buffer(self.device, from, to);
            }
        }
    }

    pub(super) fn update_buffer(&mut self, dst: &Buffer, offset: u64, data: &[u8]) {
        if let Some(to) = dst.exact(offset, data.len() as u64) {
            transfer::update_buffer(to, data);
        }
    }

    pub(super) fn fill_buffer(&mut self, dst: &Buffer, offset: u64, size: u64, data: u32) {
        let mut to = dst.range(offset, size);
        to.size &= !3;
        transfer::fill_buffer(self.device, to, data);
    }

    pub(super) fn copy_image(&mut self, src: &Image, dst: &Image, regions: &[vk::ImageCopy]) {
        if let (Some(from), Some(to)) = (src.memory(), dst.memory()) {
            regions.iter().for_each(|r| transfer::copy_image(self.device, &from, &to, r));
        }
    }

    pub(super) fn blit_image(&mut self, src: &Image, dst: &Image, regions: &[vk::ImageBlit], filter: vk::Filter) {
        if let (Some(from), Some(to)) = (src.memory(), dst.memory()) {
            regions.iter().for_each(|r| transfer::blit_image(self.device, &from, &to, r, filter));
        }
    }

    pub(super) fn copy_buffer_to_image(&mut self, buffer: &Buffer, image: &Image, regions: &[vk::BufferImageCopy]) {
        if let Some(to) = image.memory() {
            regions.iter().for_each(|r| {
                transfer::copy_buffer_to_image(self.device, buffer.range(r.buffer_offset, vk::WHOLE_SIZE), &to, r)
            });
        }
    }

    pub(super) fn copy_image_to_buffer(&mut self, image: &Image, buffer: &Buffer, regions: &[vk::BufferImageCopy]) {
        if let Some(from) = image.memory() {
            regions.iter().for_each(|r| {
                transfer::copy_image_to_buffer(self.device, &from, buffer.range(r.buffer_offset, vk::WHOLE_SIZE), r)
            });
        }
    }

    pub(super) fn clear_color_image(&mut self, image: &Image, color: [u32; 4], ranges: &[vk::ImageSubresourceRange]) {
        if let Some(to) = image.memory() {
            ranges.iter().for_each(|r| transfer::clear_color_image(self.device, &to, color, r));
        }
    }

    pub(super) fn clear_depth_stencil_image(
        &mut self,
        image: &Image,
        value: vk::ClearDepthStencilValue,
        ranges: &[vk::ImageSubresourceRange],
    ) {
        if let Some(to) = image.memory() {
            ranges.iter().for_each(|r| transfer::clear_depth_stencil_image(self.device, &to, value, r));
        }
    }

    pub(super) fn resolve_image(&mut self, src: &Image, dst: &Image, regions: &[vk::ImageResolve]) {
        if let (Some(from), Some(to)) = (src.memory(), dst.memory()) {
            regions.iter().for_each(|r| transfer::resolve_image(self.device, &from, &to, r));
        }
    }
}
