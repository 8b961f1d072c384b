//! Planes: the parts of an image of a format in memory. Each plane is laid out as an image of a
//! separate format (`base::image`).
//!
//! A colour format has one plane, which is of the format itself. Depth and stencil are a plane
//! each. A multi-planar format has two or three, which may have fewer texels than the image. Only
//! an aspect mask (`VkImageAspectFlags`) selects planes.

#![forbid(unsafe_code)]

use super::{Format, FormatInfo};

/// Largest number of planes of a format.
pub const MAX_PLANES: usize = 3;

/// The bits of `VkImageAspectFlagBits`.
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
    /// Aspects of the planes of a multi-planar format.
    pub const PLANES: [Aspect; MAX_PLANES] = [Aspect::Plane0, Aspect::Plane1, Aspect::Plane2];

    /// Returns the bit in a mask.
    pub const fn bit(self) -> u32 {
        self as u32
    }

    /// Returns the bits that select a plane of this aspect: the colour aspect selects all planes of
    /// a multi-planar format.
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
    /// Aspect of the plane.
    pub aspect: Aspect,
    /// `VkFormat` of its texels: the row's own, or the one that the specification calls compatible
    /// with the plane.
    pub vk: u32,
    /// Number of texels of the image per texel of the plane, horizontally and vertically.
    pub subsampling: (u8, u8),
}

impl Plane {
    /// Makes a plane with as many texels as the image.
    pub(super) const fn new(aspect: Aspect, vk: u32) -> Plane {
        Plane { aspect, vk, subsampling: (1, 1) }
    }

    /// Returns the format of the plane's texels.
    pub fn format(&self) -> Format {
        Format::from_vk(self.vk).unwrap_or_default()
    }

    /// Returns true if a mask of aspect bits selects the plane.
    pub const fn selected_by(&self, aspects: u32) -> bool {
        self.aspect.selectors() & aspects != 0
    }
}

impl FormatInfo {
    /// Returns the planes of an image.
    pub fn planes(&self) -> &[Plane] {
        &self.planes[..usize::from(self.plane_count)]
    }
}

impl Format {
    /// Returns the format in which a view of this format sees an aspect of its image.
    pub fn of_aspect(self, aspect: Aspect) -> Format {
        let plane = self.info().planes().iter().find(|plane| plane.aspect == aspect);
        plane.map_or(self, Plane::format)
    }
}
