//! The formats that a sampler Y'CbCr conversion reads, as images of plain formats that are sampled.
//!
//! The parts of a multi-planar format are its planes. A packed 4:2:2 format has two parts. In one,
//! every texel is half of a block, which has two components, one of them luma. In the other, a
//! block is one texel of four components, two of which are chroma.

#![forbid(unsafe_code)]

use super::row::row;
use super::{ChannelName, Format, Layout, features};

/// A part of a format's texels, which is in memory as an image of a plain format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatPart {
    /// Plane that has the part.
    pub plane: usize,
    /// Format as which the part is sampled.
    pub format: Format,
    /// Number of texels of the image per texel of the part, horizontally and vertically.
    pub subsampling: (u8, u8),
    /// Components of `format` for R, G, B and A; `None` if another part has the component.
    pub components: [Option<u8>; 4],
}

/// Returns the parts of a format, beginning with the one that has luma.
pub fn parts(format: Format) -> Vec<FormatPart> {
    let info = format.info();
    let part = |plane, format, subsampling, components| FormatPart { plane, format, subsampling, components };
    match info.layout {
        Layout::MultiPlanar => {
            let components = |plane: usize| match (plane, info.plane_count) {
                (0, _) => [None, Some(0), None, None],
                (_, 2) => [Some(1), None, Some(0), None],
                (1, _) => [None, None, Some(0), None],
                _ => [Some(0), None, None, None],
            };
            let planes = info.planes().iter().enumerate();
            planes.map(|(i, plane)| part(i, plane.format(), plane.subsampling, components(i))).collect()
        }
        Layout::Packed422 => {
            let (two, four) = match info.channels[0].bits {
                8 => (const { row("R8G8_UNORM") }, const { row("R8G8B8A8_UNORM") }),
                10 => (const { row("R10X6G10X6_UNORM_2PACK16") }, const { row("R10X6G10X6B10X6A10X6_UNORM_4PACK16") }),
                12 => (const { row("R12X4G12X4_UNORM_2PACK16") }, const { row("R12X4G12X4B12X4A12X4_UNORM_4PACK16") }),
                _ => (const { row("R16G16_UNORM") }, const { row("R16G16B16A16_UNORM") }),
            };
            // Luma is every other channel, and B comes before R.
            let luma = u8::from(info.channels[0].name != ChannelName::G);
            vec![
                part(0, Format(two as u16), (1, 1), [None, Some(luma), None, None]),
                part(0, Format(four as u16), (2, 1), [Some(3 - luma), None, Some(1 - luma), None]),
            ]
        }
        _ => vec![part(0, format, (1, 1), [Some(0), Some(1), Some(2), Some(3)])],
    }
}

impl Format {
    /// Returns true if views of the colour aspect can only be sampled by a sampler Y'CbCr
    /// conversion, and not used otherwise.
    pub fn needs_conversion(self) -> bool {
        let features = self.info().image_features;
        features & features::MIDPOINT_CHROMA_SAMPLES != 0 && features & features::BLIT_SRC == 0
    }

    /// Returns true if the format's texels are not texels of one plain format.
    pub fn has_parts(self) -> bool {
        matches!(self.info().layout, Layout::MultiPlanar | Layout::Packed422)
    }

    /// Returns the number of bits of each component.
    pub fn component_bits(self) -> u8 {
        self.info().planes[0].format().info().channels[0].bits
    }
}

#[cfg(test)]
mod tests {
    use super::super::TABLE;
    use super::*;

    #[test]
    fn parts_have_every_component_once_and_fit_their_planes() {
        for (i, info) in TABLE.iter().enumerate() {
            let format = Format(i as u16);
            if info.image_features & features::COSITED_CHROMA_SAMPLES == 0 {
                assert!(!format.needs_conversion() && !format.has_parts(), "{}", info.name);
                continue;
            }
            let parts = parts(format);
            for c in 0..if format.has_parts() { 3 } else { 4 } {
                assert_eq!(parts.iter().filter(|part| part.components[c].is_some()).count(), 1, "{}", info.name);
            }
            assert!(parts[0].components[1].is_some() && parts[0].subsampling == (1, 1), "{}", info.name);
            for part in parts {
                let (own, plane) = (part.format.info(), &info.planes()[part.plane]);
                // A row of blocks of the plane is a row of texels of the part.
                let per_block = plane.format().info().block.0 / part.subsampling.0.max(plane.subsampling.0);
                let per_block = if info.layout == Layout::Packed422 { per_block } else { 1 };
                assert_eq!(own.block_bytes * per_block, plane.format().info().block_bytes, "{}", info.name);
                assert_eq!(own.channels[0].bits, format.component_bits(), "{}", info.name);
            }
        }
    }

    #[test]
    fn packed_texels_share_their_chroma() {
        let named = |name: &str| Format(TABLE.iter().position(|row| row.name == name).unwrap() as u16);
        let components = |name| parts(named(name)).iter().map(|part| part.components).collect::<Vec<_>>();
        let luma = |c| [None, Some(c), None, None];
        assert_eq!(components("G8B8G8R8_422_UNORM"), [luma(0), [Some(3), None, Some(1), None]]);
        assert_eq!(components("B16G16R16G16_422_UNORM"), [luma(1), [Some(2), None, Some(0), None]]);
        assert_eq!(parts(named("G10X6B10X6G10X6R10X6_422_UNORM_4PACK16"))[1].format.component_bits(), 10);
    }
}
