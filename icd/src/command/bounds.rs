//! Checks whether the regions of a transfer are inside their buffers and images.
//!
//! The rasterizer accesses nothing outside in any case; these checks serve to report skipped parts
//! to the application.

#![forbid(unsafe_code)]

use crate::object::image::Image;
use ash::vk;
use base::abi::Dim;
use base::image::{ImageDesc, ImageLayout, PlaneLayout};

/// Returns true if `first..first + count` is in `0..all`; `count` may be the constant for "the
/// rest".
fn within(first: u32, count: u32, all: u32) -> bool {
    let count = if count == u32::MAX { all.saturating_sub(first) } else { count };
    first.checked_add(count).is_some_and(|end| end <= all)
}

/// Returns the plane of the image that a copy accesses.
fn plane<'a>(layout: &'a ImageLayout, s: &vk::ImageSubresourceLayers) -> &'a PlaneLayout {
    &layout.planes()[layout.plane_of(s.aspect_mask.as_raw())]
}

/// Returns the extent of a plane's level in texels, rounded up to whole blocks; zero for a level
/// that does not exist.
fn level_extent(layout: &ImageLayout, s: &vk::ImageSubresourceLayers) -> [u32; 3] {
    let plane = plane(layout, s);
    let [width, height, depth] = plane.levels.get(s.mip_level as usize).map_or([0; 3], |level| level.extent);
    [width.next_multiple_of(plane.block[0]), height.next_multiple_of(plane.block[1]), depth]
}

fn has_subresource(desc: &ImageDesc, s: &vk::ImageSubresourceLayers) -> bool {
    s.mip_level < desc.levels && (desc.dim == Dim::D3 || within(s.base_array_layer, s.layer_count, desc.layers))
}

/// Returns true if a box is inside an image. The third axis only counts in volumes (elsewhere a
/// copy's depth may name layers).
pub fn has_box(layout: &ImageLayout, s: &vk::ImageSubresourceLayers, o: vk::Offset3D, e: vk::Extent3D) -> bool {
    let (desc, size) = (&layout.desc, level_extent(layout, s));
    let axes = [(o.x, e.width), (o.y, e.height), (o.z, e.depth)];
    let inside = |axis: usize| {
        let (at, count) = axes[axis];
        u32::try_from(at).is_ok_and(|at| at.checked_add(count).is_some_and(|end| end <= size[axis]))
    };
    has_subresource(desc, s) && inside(0) && inside(1) && (desc.dim != Dim::D3 || inside(2))
}

/// Returns true if the corners of one side of a blit are inside the image.
pub fn has_corners(layout: &ImageLayout, s: &vk::ImageSubresourceLayers, corners: &[vk::Offset3D; 2]) -> bool {
    let (desc, size) = (&layout.desc, level_extent(layout, s));
    let inside = |at: i32, axis: usize| u32::try_from(at).is_ok_and(|at| at <= size[axis]);
    has_subresource(desc, s)
        && corners.iter().all(|c| inside(c.x, 0) && inside(c.y, 1) && (desc.dim != Dim::D3 || inside(c.z, 2)))
}

/// Returns true if the image has the range of levels and layers.
pub fn has_range(desc: &ImageDesc, r: &vk::ImageSubresourceRange) -> bool {
    r.base_mip_level < desc.levels
        && within(r.base_mip_level, r.level_count, desc.levels)
        && (desc.dim == Dim::D3 || within(r.base_array_layer, r.layer_count, desc.layers))
}

/// Returns true if both sides of a copy are inside their images. The extent counts texels of the
/// source's plane; blocks of the two planes correspond.
pub fn has_copy(src: &Image, dst: &Image, r: &vk::ImageCopy) -> bool {
    let (x, y) = (plane(&src.layout, &r.src_subresource).block, plane(&dst.layout, &r.dst_subresource).block);
    let scaled = |n: u32, axis: usize| n.div_ceil(x[axis]).saturating_mul(y[axis]);
    let (width, height) = (scaled(r.extent.width, 0), scaled(r.extent.height, 1));
    has_box(&src.layout, &r.src_subresource, r.src_offset, r.extent)
        && has_box(&dst.layout, &r.dst_subresource, r.dst_offset, vk::Extent3D { width, height, ..r.extent })
}

/// Returns the number of bytes of the buffer that a copy between a buffer and an image accesses,
/// from the region's offset on.
pub fn rows_bytes(layout: &ImageLayout, r: &vk::BufferImageCopy) -> u64 {
    let (desc, plane) = (&layout.desc, plane(layout, &r.image_subresource));
    let ([bw, bh], e) = (plane.block, r.image_extent);
    let or = |length: u32, tight: u32| if length == 0 { tight } else { length };
    let columns = u64::from(e.width.div_ceil(bw));
    let rows = u64::from(e.height.div_ceil(bh));
    let row = u64::from(or(r.buffer_row_length, e.width).div_ceil(bw));
    let slice = row.saturating_mul(or(r.buffer_image_height, e.height).div_ceil(bh).into());
    let layers = match r.image_subresource.layer_count {
        vk::REMAINING_ARRAY_LAYERS => desc.layers.saturating_sub(r.image_subresource.base_array_layer),
        count => count,
    };
    let slices = u64::from(if desc.dim == Dim::D3 { e.depth } else { layers });
    if columns == 0 || rows == 0 || slices == 0 {
        return 0;
    }
    let blocks = slice.saturating_mul(slices - 1).saturating_add(row * (rows - 1)).saturating_add(columns);
    blocks.saturating_mul(plane.block_bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::format::Format;

    fn layout(format: vk::Format, dim: Dim, extent: [u32; 3], levels: u32, layers: u32) -> ImageLayout {
        let format = Format::from_vk(format.as_raw() as u32).expect("format");
        ImageLayout::new(ImageDesc { format, dim, extent, levels, layers, samples: 1 }).expect("layout")
    }

    fn at(level: u32, layer: u32, layers: u32) -> vk::ImageSubresourceLayers {
        vk::ImageSubresourceLayers {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            mip_level: level,
            base_array_layer: layer,
            layer_count: layers,
        }
    }

    #[test]
    fn boxes() {
        let image = layout(vk::Format::R8G8B8A8_UNORM, Dim::D2, [20, 10, 1], 3, 2);
        let fits = |s, o: [i32; 3], e: [u32; 3]| {
            let [x, y, z] = o;
            let [width, height, depth] = e;
            has_box(&image, &s, vk::Offset3D { x, y, z }, vk::Extent3D { width, height, depth })
        };
        assert!(fits(at(0, 0, 2), [0, 0, 0], [20, 10, 1]) && fits(at(2, 1, u32::MAX), [4, 1, 0], [1, 1, 1]));
        for (s, o, e) in [
            (at(0, 0, 1), [1, 0, 0], [20, 10, 1]),
            (at(0, 0, 1), [-1, 0, 0], [2, 2, 1]),
            (at(0, 0, 1), [0, 2, 0], [1, u32::MAX, 1]),
            (at(3, 0, 1), [0; 3], [1; 3]),
            (at(40, 0, 1), [0; 3], [1; 3]),
            (at(0, 1, 2), [0; 3], [1; 3]),
            (at(0, 3, u32::MAX), [0; 3], [1; 3]),
        ] {
            assert!(!fits(s, o, e), "{s:?} {o:?} {e:?}");
        }
        let blocks = layout(vk::Format::BC1_RGB_UNORM_BLOCK, Dim::D2, [10, 10, 1], 1, 1);
        let whole = |width| vk::Extent3D { width, height: 12, depth: 1 };
        assert!(has_box(&blocks, &at(0, 0, 1), vk::Offset3D::default(), whole(12)));
        assert!(!has_box(&blocks, &at(0, 0, 1), vk::Offset3D::default(), whole(16)));
    }

    #[test]
    fn rows_of_a_buffer() {
        let image = layout(vk::Format::R8G8B8A8_UNORM, Dim::D2, [8, 8, 1], 1, 4);
        let region = vk::BufferImageCopy {
            buffer_offset: 16,
            buffer_row_length: 10,
            buffer_image_height: 9,
            image_subresource: at(0, 1, 3),
            image_offset: vk::Offset3D::default(),
            image_extent: vk::Extent3D { width: 8, height: 8, depth: 1 },
        };
        assert_eq!(rows_bytes(&image, &region), 4 * (2 * 90 + 7 * 10 + 8));
    }
}
