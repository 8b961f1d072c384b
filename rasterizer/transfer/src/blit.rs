//! `vkCmdBlitImage`: scaled, filtered, converted copies.
//!
//! The centre of a destination texel is mapped to source coordinates (specification: "Image Copies
//! With Scaling"), per axis, once per region ([`job`]). The remaining work is rows, tables of
//! texels and weights, and bands of rows for threads. Coordinates outside the source are clamped to
//! its edge. [`nearest`] copies texels by index, also those of depth and stencil, plane by plane.
//! [`linear`] filters.

#![forbid(unsafe_code)]

mod job;
mod linear;
mod nearest;

use super::contiguous::ContiguousLevel;
use super::image_copy::ImageCopy;
use super::region::level_of;
use super::rows::HelperThreads;
use base::format::Aspect;
use base::mem::ImageMemory;
use job::BlitJob;
pub use job::{Filter, ImageBlit};

/// Blits one region. Formats may differ within a class; the linear filter becomes nearest for
/// integer formats, depth and stencil.
pub fn blit_image(threads: HelperThreads, src: &ImageMemory, dst: &ImageMemory, region: &ImageBlit, filter: Filter) {
    if let Some(copy) = as_copy(src, dst, region) {
        return super::image_copy::copy_image(threads, src, dst, &copy);
    }
    let [from, to] =
        [(src, &region.src), (dst, &region.dst)].map(|(image, of)| ContiguousLevel::new(threads, image, of));
    if from.is_some() || to.is_some() {
        let mut contiguous = *region;
        from.iter().for_each(|from| contiguous.src = from.place);
        to.iter().for_each(|to| contiguous.dst = to.place);
        let [src, into] = [(&from, src), (&to, dst)].map(|(s, image)| s.as_ref().map_or(image, |s| &s.image));
        blit_image(threads, src, into, &contiguous, filter);
        return to.iter().for_each(|to| to.put_back(threads, dst));
    }
    let dst_planes = dst.layout.select(region.dst.aspects);
    for (src_plane, dst_plane) in src.layout.select(region.src.aspects).zip(dst_planes) {
        let plane = &src.layout.planes()[src_plane];
        let color = !matches!(plane.aspect, Aspect::Depth | Aspect::Stencil);
        let filter = if color && !plane.format.is_integer() { filter } else { Filter::Nearest };
        let packed = plane.format.has_parts();
        if packed || dst.layout.planes()[dst_plane].format.info().block != (1, 1) {
            // No such format has the feature, so the driver refused it.
            return;
        }
        let Some(job) = BlitJob::new((src, src_plane), (dst, dst_plane), region, filter) else { return };
        match filter {
            Filter::Linear => linear::blit(threads, &job),
            Filter::Nearest => nearest::blit(threads, &job, color),
        }
    }
}

/// Returns the copy that a blit amounts to if it neither scales, mirrors, converts nor leaves an
/// image.
fn as_copy(src: &ImageMemory, dst: &ImageMemory, region: &ImageBlit) -> Option<ImageCopy> {
    let size = |o: &[[i32; 3]; 2]| [0, 1, 2].map(|i| o[1][i].checked_sub(o[0][i]).filter(|&n| n > 0));
    let extent = size(&region.src_offsets);
    let [Some(width), Some(height), Some(depth)] = extent else { return None };
    let inside = |image: &ImageMemory, o: &[[i32; 3]; 2], level| {
        image.layout.desc.format == src.layout.desc.format
            && image.layout.select(region.src.aspects).all(|plane| {
                level_of(image, plane, level)
                    .is_some_and(|l| (0..3).all(|i| o[0][i] >= 0 && o[1][i] as u32 <= l.extent[i]))
            })
    };
    let copies = size(&region.dst_offsets) == extent
        && region.src.aspects == region.dst.aspects
        && src.layout.desc.dim == dst.layout.desc.dim
        && inside(src, &region.src_offsets, region.src.level)
        && inside(dst, &region.dst_offsets, region.dst.level);
    copies.then_some(ImageCopy {
        src: region.src,
        src_offset: region.src_offsets[0],
        dst: region.dst,
        dst_offset: region.dst_offsets[0],
        extent: [width, height, depth].map(|n| n as u32),
    })
}
