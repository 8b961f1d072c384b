//! Tests of transfers at the ends of mapped memory (see `test_support::guard`), for all formats.

use super::*;
use base::abi::Dim;
use test_support::guard::{Guarded, SIDES, formats};

/// Dimension, extent, levels, layers and samples of an image.
type Shape = (Dim, [u32; 3], u32, u32, u32);

fn shape(rng: &mut Rng) -> Shape {
    let sizes = [1, 2, 3, 5, 9, 17, 33];
    let mut size = || sizes[rng.below(7) as usize];
    let (w, h, d) = (size(), size(), size().min(5));
    let max = |n: u32| n.ilog2() + 1;
    match rng.below(5) {
        0 => (Dim::D1, [w, 1, 1], 1 + rng.below(max(w)), 1 + rng.below(3), 1),
        1 => (Dim::D3, [w, h, d], 1 + rng.below(max(w.max(h).max(d))), 1, 1),
        2 => (Dim::D2, [w, w, 1], 1 + rng.below(max(w)), 6, 1),
        3 => (Dim::D2, [w, h, 1], 1, 1 + rng.below(2), 4),
        _ => (Dim::D2, [w, h, 1], 1 + rng.below(max(w.max(h))), 1 + rng.below(3), 1),
    }
}

fn desc(format: Format, (dim, extent, levels, layers, samples): Shape) -> ImageDesc {
    ImageDesc { format, dim, extent, levels, layers, samples }
}

fn random_of(rng: &mut Rng) -> Rng {
    Rng(u64::from(rng.next()) << 20 | 1)
}

/// Returns the last level with all layers and the aspects of a format, and its extent.
fn last_level(image: &ImageMemory, one_aspect: bool) -> (SubresourceLayers, [u32; 3]) {
    let d = &image.layout.desc;
    let planes = image.layout.planes();
    let planes = if one_aspect { &planes[planes.len() - 1..] } else { planes };
    let aspects = planes.iter().fold(0, |all, plane| all | plane.aspect.bit());
    let level = d.levels - 1;
    let extent = image.layout.planes()[0].levels[level as usize].extent;
    (SubresourceLayers { aspects, level, base_layer: 0, layer_count: d.layers }, extent)
}

#[test]
fn transfers_of_all_formats_touch_nothing_beyond() {
    let mut rng = Rng(0x5eed_5eed_1234);
    let all: Vec<Format> = formats(|row| row.image_features != 0).collect();
    assert!(all.len() > 60, "{}", all.len());
    for round in 0..all.len() * 8 {
        let (format, side) = (all[round % all.len()], SIDES[round / all.len() % 2]);
        let (a_shape, b_shape) = (shape(&mut rng), shape(&mut rng));
        let mut random = random_of(&mut rng);
        let (_a, a) = Guarded::image(desc(format, a_shape), side, &mut random);
        let (_b, b) = Guarded::image(desc(format, b_shape), side, &mut random);
        let ((from, from_extent), (to, to_extent)) = (last_level(&a, false), last_level(&b, false));
        if !format.is_compressed() {
            let range = SubresourceRange {
                aspects: to.aspects,
                base_level: 0,
                level_count: b.layout.desc.levels,
                base_layer: 0,
                layer_count: to.layer_count,
            };
            clear_color_image(None, &b, [1, 2, 3, rng.next()], &range);
            clear_depth_stencil_image(None, &b, 0.5, 7, &range);
        }
        // The first round copies all of the last level; the second copies boxes that do not fit,
        // which are cut.
        for beyond in [0, rng.below(9)] {
            let extent = from_extent.map(|n| n + beyond);
            let offset = [0; 3].map(|_| if beyond == 0 { 0 } else { rng.below(5) as i32 });
            copy_image(None, &a, &b, &ImageCopy { src: from, src_offset: offset, dst: to, dst_offset: [0; 3], extent });
            let region = ImageCopy { src: from, src_offset: [0; 3], dst: to, dst_offset: offset, extent };
            copy_image(None, &a, &b, &region);
        }
        buffers(&a, side, &mut rng);
        let same_samples = a.layout.desc.samples == 1 && b.layout.desc.samples == 1;
        if same_samples && !format.is_compressed() {
            let end = |e: [u32; 3]| e.map(|n| n as i32);
            let filter = if format.is_integer() || rng.below(2) == 0 { Filter::Nearest } else { Filter::Linear };
            let mirrored = rng.below(2) == 0;
            let src_offsets = if mirrored { [end(from_extent), [0; 3]] } else { [[0; 3], end(from_extent)] };
            let blit = ImageBlit { src: from, src_offsets, dst: to, dst_offsets: [[0; 3], end(to_extent)] };
            blit_image(None, &a, &b, &blit, filter);
        }
        if a.layout.desc.samples == 4 && !format.is_compressed() {
            let (dim, extent, _, layers, _) = a_shape;
            let (_c, c) = Guarded::image(desc(format, (dim, extent, 1, layers, 1)), side, &mut random);
            let (dst, _) = last_level(&c, false);
            let region = ImageResolve { src: from, src_offset: [0; 3], dst, dst_offset: [0; 3], extent };
            for mode in [ResolveMode::SampleZero, ResolveMode::Average, ResolveMode::Min, ResolveMode::Max] {
                resolve_image(None, &a, &c, format, &region, mode);
            }
        }
    }
}

/// Copies between an image and a buffer that has exactly the needed bytes, or too few.
fn buffers(image: &ImageMemory, side: test_support::guard::Side, rng: &mut Rng) {
    let (subresource, extent) = last_level(image, true);
    let plane = image.layout.planes().last().expect("a plane");
    let ([bw, bh], bytes) = ([plane.block[0], plane.block[1]], plane.block_bytes);
    let (row, rows) = (extent[0].div_ceil(bw), extent[1].div_ceil(bh));
    let slices = if image.layout.desc.dim == Dim::D3 { extent[2] } else { subresource.layer_count };
    let whole = row * rows * slices * bytes;
    for missing in [0, 1, bytes] {
        let mut random = random_of(rng);
        let buffer = Guarded::random(whole.saturating_sub(missing) as usize, side, &mut random);
        let region = BufferImageCopy {
            buffer_offset: 0,
            buffer_row_length: 0,
            buffer_image_height: 0,
            image: subresource,
            image_offset: [0; 3],
            image_extent: extent,
        };
        copy_buffer_to_image(None, buffer.memory(), image, &region);
        copy_image_to_buffer(None, image, buffer.memory(), &region);
        let other = Guarded::random(1 + rng.below(5000) as usize, side, &mut random);
        let (src_offset, dst_offset) = (u64::from(rng.below(99)), u64::from(rng.below(99)));
        let copy = BufferCopy { src_offset, dst_offset, size: u64::from(rng.below(6000)) };
        copy_buffer(None, buffer.memory(), other.memory(), &copy);
        fill_buffer(None, other.memory(), u64::from(rng.below(3000) & !3), u64::MAX, 5);
        update_buffer(other.memory(), u64::from(rng.below(3000)), &[7; 65]);
    }
}
