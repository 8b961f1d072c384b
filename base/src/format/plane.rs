//! Planes: what an image of a format is made of in memory. Each plane is laid out as an image of a format of its own (`base::image`).
//!
//! A colour format has one plane, which is of the format itself; depth and stencil are a plane each; a multi-planar format has two or
//! three, which may have fewer texels than the image. An aspect mask (`VkImageAspectFlags`) selects planes; nothing else tells them apart.

#![forbid(unsafe_code)]

use super::{Format, FormatInfo};

/// Most planes of a format.
pub const MAX_PLANES: usize = 3;

/// `VkImageAspectFlagBits`, same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[allow(missing_docs, reason = "the specification's names")]
pub enum Aspect {
    Color = 0x1,
    Depth = 0x2,
    Stencil = 0x4,
    Plane0 = 0x10,
    Plane1 = 0x20,
    Plane2 = 0x40,
}

impl Aspect {
    /// Those of a multi-planar format's planes.
    pub const PLANES: [Aspect; MAX_PLANES] = [Aspect::Plane0, Aspect::Plane1, Aspect::Plane2];

    /// The bit in a mask.
    pub const fn bit(self) -> u32 {
        self as u32
    }

    /// The bits that select a plane of this aspect: the colour aspect is all planes of a multi-planar format.
    const fn selectors(self) -> u32 {
        match self {
            Aspect::Color | Aspect::Depth | Aspect::Stencil => self.bit(),
            Aspect::Plane0 | Aspect::Plane1 | Aspect::Plane2 => self.bit() | Aspect::Color.bit(),
        }
    }
}

/// One plane of a format's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// What it is called.
    pub aspect: Aspect,
    /// `VkFormat` of its texels: the row's own, or the one that the specification calls compatible with the plane.
    pub vk: u32,
    /// Texels of the image per texel of the plane, horizontally and vertically.
    pub subsampling: (u8, u8),
}

impl Plane {
    /// A plane with as many texels as the image.
    pub(super) const fn new(aspect: Aspect, vk: u32) -> Plane {
        Plane { aspect, vk, subsampling: (1, 1) }
    }

    /// The format of its texels.
    pub fn format(&self) -> Format {
        Format::from_vk(self.vk).unwrap_or_default()
    }

    /// Is it one of those that a mask of aspect bits names?
    pub const fn selected_by(&self, aspects: u32) -> bool {
        self.aspect.selectors() & aspects != 0
    }
}

impl FormatInfo {
    /// The planes of an image.
    pub fn planes(&self) -> &[Plane] {
        &self.planes[..usize::from(self.plane_count)]
    }
}

impl Format {
    /// The format in which a view of this format sees an aspect of its image.
    pub fn of_aspect(self, aspect: Aspect) -> Format {
        let plane = self.info().planes().iter().find(|plane| plane.aspect == aspect);
        plane.map_or(self, Plane::format)
    }
}
