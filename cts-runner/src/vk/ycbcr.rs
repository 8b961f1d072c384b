//! Video frames, which are images of two planes that a sampler converts.

use super::error::{Context, Result};
use super::gpu::{Gpu, Owned};
use super::memory::ImageDesc;
use super::submit::image_barrier;
use ash::vk;

/// Format of a frame, with a luma plane and a chroma plane of half the width and height.
pub const FRAME: vk::Format = vk::Format::G8_B8R8_2PLANE_420_UNORM;

impl Gpu {
    /// Makes a frame from these bytes (whole words), in `SHADER_READ_ONLY_OPTIMAL`, and its
    /// sampler. The conversion is BT.709 with narrow range, cosited chroma and linear filters.
    pub fn frame(&self, size: [u32; 2], luma: &[u8], chroma: &[u8]) -> Result<(vk::ImageView, vk::Sampler)> {
        let info = vk::SamplerYcbcrConversionCreateInfo::default()
            .format(FRAME)
            .ycbcr_model(vk::SamplerYcbcrModelConversion::YCBCR_709)
            .ycbcr_range(vk::SamplerYcbcrRange::ITU_NARROW)
            .x_chroma_offset(vk::ChromaLocation::COSITED_EVEN)
            .y_chroma_offset(vk::ChromaLocation::COSITED_EVEN)
            .chroma_filter(vk::Filter::LINEAR);
        // SAFETY: `info` is valid.
        let conversion = unsafe { self.device.create_sampler_ycbcr_conversion(&info, None) };
        let conversion = conversion.context("vkCreateSamplerYcbcrConversion")?;
        self.own(Owned::Conversion(conversion));
        let mut own = vk::SamplerYcbcrConversionInfo::default().conversion(conversion);
        let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
        let info = vk::SamplerCreateInfo::default()
            .mag_filter(vk::Filter::LINEAR)
            .min_filter(vk::Filter::LINEAR)
            .address_mode_u(edge)
            .address_mode_v(edge)
            .address_mode_w(edge)
            .push_next(&mut own);
        let sampler = self.sampler(&info)?;
        // The frame is only copied to and sampled. It has no usual view, because its view needs the
        // conversion.
        let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
        let image = self.image_without_view(&ImageDesc::d2(FRAME, size[0], size[1], usage))?;
        let staging = self.buffer(luma.len() + chroma.len(), vk::BufferUsageFlags::TRANSFER_SRC)?;
        let bytes = [luma, chroma].concat();
        let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        staging.write(0, &words);
        let region = |aspect, offset: usize, halved: u32| {
            vk::BufferImageCopy::default()
                .buffer_offset(offset as u64)
                .image_subresource(vk::ImageSubresourceLayers::default().aspect_mask(aspect).layer_count(1))
                .image_extent(vk::Extent3D { width: size[0] / halved, height: size[1] / halved, depth: 1 })
        };
        let regions =
            [region(vk::ImageAspectFlags::PLANE_0, 0, 1), region(vk::ImageAspectFlags::PLANE_1, luma.len(), 2)];
        let (full, to) = (image.full_range(), vk::ImageLayout::TRANSFER_DST_OPTIMAL);
        self.run(|d, cmd| {
            image_barrier(d, cmd, &image, full, vk::ImageLayout::UNDEFINED, to);
            // SAFETY: the regions lie inside buffer and image; the image is in the layout `to`.
            unsafe { d.cmd_copy_buffer_to_image(cmd, staging.handle, image.handle, to, &regions) };
            image_barrier(d, cmd, &image, full, to, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL);
        })?;
        let mut own = vk::SamplerYcbcrConversionInfo::default().conversion(conversion);
        let info = vk::ImageViewCreateInfo::default()
            .image(image.handle)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(FRAME)
            .subresource_range(full)
            .push_next(&mut own);
        // SAFETY: `info` is valid and the image bound.
        let view = unsafe { self.device.create_image_view(&info, None) }.context("vkCreateImageView")?;
        self.own(Owned::ImageView(view));
        Ok((view, sampler))
    }
}
