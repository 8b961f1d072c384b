//! The target to which most workloads draw, and meshes that they share.

use crate::vk::{Attachment, Buffer, Error, Gpu, Image, ImageDesc, Pass};
use ash::vk;

/// Width and height of the target in pixels.
pub const SIZE: u32 = 1024;

/// Format of the target.
pub const COLOR: vk::Format = vk::Format::R8G8B8A8_UNORM;
/// Format of depth attachments.
pub const DEPTH: vk::Format = vk::Format::D32_SFLOAT;

/// A colour image, an optional depth image, and the pass that clears them and draws to them.
pub struct Target {
    /// Colour image, which the pass leaves ready to be copied from.
    pub color: Image,
    /// Pass that clears and draws.
    pub pass: Pass,
}

/// Makes an image that is a render target and is read as the usage `usage` states.
pub fn attachment(gpu: &Gpu, format: vk::Format, size: u32, usage: vk::ImageUsageFlags) -> Result<Image, Error> {
    let drawn = match format {
        DEPTH => vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
        _ => vk::ImageUsageFlags::COLOR_ATTACHMENT,
    };
    gpu.image(&ImageDesc::d2(format, size, size, drawn | usage))
}

/// Makes a cleared depth image of the target's size.
pub fn depth(gpu: &Gpu) -> Result<Attachment, Error> {
    Ok(Attachment::depth(attachment(gpu, DEPTH, SIZE, vk::ImageUsageFlags::empty())?))
}

impl Target {
    /// Makes a target that is cleared to a colour.
    pub fn flat(gpu: &Gpu, clear: [f32; 4]) -> Result<Self, Error> {
        Self::square(gpu, SIZE, clear)
    }

    /// Makes a target of another size that is cleared to a colour.
    pub fn square(gpu: &Gpu, size: u32, clear: [f32; 4]) -> Result<Self, Error> {
        let color = attachment(gpu, COLOR, size, vk::ImageUsageFlags::TRANSFER_SRC)?;
        let pass = gpu.pass(&[Attachment::color(color, clear)])?;
        Ok(Self { color, pass })
    }

    /// Makes a target of which every pixel is written.
    pub fn covered(gpu: &Gpu, size: u32) -> Result<Self, Error> {
        let color = attachment(gpu, COLOR, size, vk::ImageUsageFlags::TRANSFER_SRC)?;
        let whole = Attachment { clear: None, ..Attachment::color(color, [0.0; 4]) };
        let pass = gpu.pass(&[whole])?;
        Ok(Self { color, pass })
    }

    /// Makes a target with depth.
    pub fn deep(gpu: &Gpu, clear: [f32; 4]) -> Result<Self, Error> {
        let color = attachment(gpu, COLOR, SIZE, vk::ImageUsageFlags::TRANSFER_SRC)?;
        let pass = gpu.pass(&[Attachment::color(color, clear), depth(gpu)?])?;
        Ok(Self { color, pass })
    }
}

/// Makes a vertex buffer of floats.
pub fn float_vertices(gpu: &Gpu, values: &[f32]) -> Result<Buffer, Error> {
    let words: Vec<u32> = values.iter().map(|v| v.to_bits()).collect();
    gpu.buffer_with(&words, vk::BufferUsageFlags::VERTEX_BUFFER)
}

/// Makes the indices of a grid of `cells`×`cells` quads over (`cells`+1)² vertices. The triangle at
/// the top left comes first. The first (provoking) vertex of each triangle is the one at its right
/// angle.
pub fn grid_indices(gpu: &Gpu, cells: u32) -> Result<Buffer, Error> {
    let row = cells + 1;
    let quad = |i: u32| {
        let a = i / cells * row + i % cells;
        [a, a + 1, a + row, a + row + 1, a + row, a + 1]
    };
    let indices: Vec<u32> = (0..cells * cells).flat_map(quad).collect();
    gpu.buffer_with(&indices, vk::BufferUsageFlags::INDEX_BUFFER)
}

/// Packs components of 8 bits into one word.
pub fn packed(color: [u8; 4]) -> u32 {
    u32::from_le_bytes(color)
}
