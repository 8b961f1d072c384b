//! Copies whose regions, including addresses, are in device memory (VK_KHR_copy_memory_indirect),
//! and conversions of matrices at addresses (VK_NV_cooperative_vector).
//! Memory that is not live is not accessed, and a message reports it to the application.

#![forbid(unsafe_code)]

use super::Executor;
use crate::command::cooperative_vector::MatrixConversion;
use crate::command::{BufferOrAddress, IndirectCommands, bounds, transfer};
use crate::object::image::Image;
use ash::vk;
use base::abi::Dim;
use base::mem::{DeviceMemory, MemoryRange};

/// Size of a `VkCopyMemoryIndirectCommandKHR` in bytes.
const COPY: usize = 24;
/// Size of a `VkCopyMemoryToImageIndirectCommandKHR` in bytes.
const COPY_TO_IMAGE: usize = 56;

/// Reads a little-endian number of 32 bits from a command in memory.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
}

/// Reads a little-endian number of 64 bits from a command in memory.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

/// Converts layers of a volume to slices: the application names slices as layers, because it knows
/// the image when it records.
fn slices_of_layers(region: &mut vk::BufferImageCopy, image: &Image) {
    let s = &mut region.image_subresource;
    let all = image.layout.desc.extent[2].checked_shr(s.mip_level).unwrap_or(0).max(1);
    let rest = all.saturating_sub(s.base_array_layer);
    region.image_offset.z = i32::try_from(s.base_array_layer).unwrap_or(i32::MAX);
    region.image_extent.depth = if s.layer_count == vk::REMAINING_ARRAY_LAYERS { rest } else { s.layer_count };
    (s.base_array_layer, s.layer_count) = (0, 1);
}

impl Executor<'_> {
    /// Returns the bytes at an address, if all of them are live.
    fn at(&self, command: &str, i: u32, address: u64, bytes: u64) -> Option<MemoryRange> {
        let range = self.exact(&BufferOrAddress::Addresses, address, bytes);
        self.report_dead(range.is_none(), command, i, address, bytes);
        range
    }

    /// Returns the memory at an address, if all of it is live.
    fn accessible_at(&self, command: &str, i: u32, address: u64, bytes: u64) -> Option<DeviceMemory> {
        let memory = self.exact_memory(&BufferOrAddress::Addresses, address, bytes);
        self.report_dead(memory.is_none(), command, i, address, bytes);
        memory
    }

    /// Reports a command that accesses memory that is not live.
    fn report_dead(&self, dead: bool, command: &str, i: u32, address: u64, bytes: u64) {
        if dead {
            self.device.report_invalid_usage(&format!(
                "{command}: command {i} reads or writes {bytes} bytes at {address:#x}, where no memory is"
            ));
        }
    }

    /// Calls `perform` with the parameters of each command, until the device is lost.
    fn each<const N: usize>(&self, name: &str, commands: &IndirectCommands, mut perform: impl FnMut(u32, [u8; N])) {
        for i in 0..commands.count {
            if self.device.is_losing() {
                return;
            }
            let address = commands.address.wrapping_add(u64::from(i).wrapping_mul(commands.stride));
            if let Some(place) = self.at(name, i, address, N as u64) {
                perform(i, transfer::parameters(place));
            }
        }
    }

    pub(super) fn convert_cooperative_vector_matrix(&mut self, all: &[Result<MatrixConversion, &'static str>]) {
        const COMMAND: &str = "vkCmdConvertCooperativeVectorMatrixNV";
        for (i, conversion) in (0..).zip(all) {
            if self.device.is_losing() {
                return;
            }
            let conversion = match conversion {
                Ok(conversion) => conversion,
                Err(why) => {
                    self.device.report_invalid_usage(&format!("{COMMAND}: conversion {i}: {why}"));
                    continue;
                }
            };
            let [src, dst] = conversion.sizes();
            let src = self.accessible_at(COMMAND, i, conversion.src, src);
            let dst = self.accessible_at(COMMAND, i, conversion.dst, dst);
            if let (Some(src), Some(dst)) = (src, dst) {
                conversion.convert(src, dst);
            }
        }
    }

    pub(super) fn copy_memory_indirect(&mut self, commands: &IndirectCommands) {
        const COMMAND: &str = "vkCmdCopyMemoryIndirectKHR";
        self.each(COMMAND, commands, |i, bytes: [u8; COPY]| {
            let [from, to, size] = [0, 8, 16].map(|at| u64_at(&bytes, at));
            if size == 0 {
                return;
            }
            if let (Some(from), Some(to)) = (self.at(COMMAND, i, from, size), self.at(COMMAND, i, to, size)) {
                transfer::copy_buffer(self.device, &[(from, to)]);
            }
        });
    }

    pub(super) fn copy_memory_to_image_indirect(&mut self, commands: &IndirectCommands, image: &Image) {
        const COMMAND: &str = "vkCmdCopyMemoryToImageIndirectKHR";
        let Some(to) = self.bound(COMMAND, image) else { return };
        self.each(COMMAND, commands, |i, bytes: [u8; COPY_TO_IMAGE]| {
            let [aspects, mip_level, base_array_layer, layer_count] = [16, 20, 24, 28].map(|at| word(&bytes, at));
            let aspect_mask = vk::ImageAspectFlags::from_raw(aspects);
            let [x, y, z] = [32, 36, 40].map(|at| word(&bytes, at) as i32);
            let [width, height, depth] = [44, 48, 52].map(|at| word(&bytes, at));
            let mut region = vk::BufferImageCopy {
                buffer_offset: 0,
                buffer_row_length: word(&bytes, 8),
                buffer_image_height: word(&bytes, 12),
                image_subresource: vk::ImageSubresourceLayers { aspect_mask, mip_level, base_array_layer, layer_count },
                image_offset: vk::Offset3D { x, y, z },
                image_extent: vk::Extent3D { width, height, depth },
            };
            if image.layout.desc.dim == Dim::D3 {
                slices_of_layers(&mut region, image);
            }
            let inside =
                bounds::has_box(&image.layout, &region.image_subresource, region.image_offset, region.image_extent);
            self.fits(COMMAND, i as usize, inside);
            let size = bounds::rows_bytes(&image.layout, &region);
            if size == 0 {
                return;
            }
            if let Some(from) = self.at(COMMAND, i, u64_at(&bytes, 0), size) {
                transfer::copy_buffer_to_image(self.device, from, &to, &region);
            }
        });
    }
}
