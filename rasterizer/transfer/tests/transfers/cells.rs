//! Images whose levels are cut into cells against images with the same texels in one piece: copies,
//! clears, blits.

use super::*;
use test_support::image::{CELL_IMAGES, TestImage};

fn layers(image: &ImageMemory, level: u32) -> SubresourceLayers {
    let desc = image.layout.desc;
    SubresourceLayers { aspects: Aspect::Color.bit(), level, base_layer: 0, layer_count: desc.layers }
}

fn whole_level(image: &ImageMemory, level: u32) -> ImageCopy {
    let (of, extent) = (layers(image, level), image.layout.planes()[0].levels[level as usize].extent);
    ImageCopy { src: of, src_offset: [0; 3], dst: of, dst_offset: [0; 3], extent }
}

/// Returns all texels in the layout of a buffer.
fn bytes(image: &ImageMemory) -> Vec<u8> {
    let mut all = Vec::new();
    for level in 0..image.layout.desc.levels {
        let of = &image.layout.planes()[0].levels[level as usize];
        let texels = of.extent.map(|n| n.next_multiple_of(4) as usize).iter().product::<usize>();
        let mut buffer = vec![0u8; texels * 16 * image.layout.desc.layers as usize];
        let range = MemoryRange { address: buffer.as_mut_ptr(), size: buffer.len() as u64 };
        let region = BufferImageCopy {
            buffer_offset: 0,
            buffer_row_length: 0,
            buffer_image_height: 0,
            image: layers(image, level),
            image_offset: [0; 3],
            image_extent: of.extent,
        };
        // SAFETY: the vector outlives the copy.
        copy_image_to_buffer(None, image, unsafe { DeviceMemory::new(range) }, &region);
        all.extend(buffer);
    }
    all
}

#[test]
fn copies_between_layouts_keep_all_texels() {
    let mut rng = Rng(0x1357_9bdf_0246_8ace);
    for of in CELL_IMAGES {
        let [contiguous, _] = TestImage::in_both_layouts(&mut rng, of);
        let [_, cells] = TestImage::in_both_layouts(&mut rng, of);
        for level in 0..of.3 {
            copy_image(None, &contiguous.memory, &cells.memory, &whole_level(&contiguous.memory, level));
        }
        assert!(contiguous.texels() == cells.texels(), "{of:?}");
        assert!(bytes(&contiguous.memory) == bytes(&cells.memory), "{of:?}");
    }
}

#[test]
fn transfers_write_the_same_texels() {
    let mut rng = Rng(0x2468_ace0_1357_9bdf);
    for of in CELL_IMAGES.into_iter().filter(|of| !of.0.starts_with("BC")) {
        let [contiguous, cells] = TestImage::in_both_layouts(&mut rng, of);
        let [other, other_cells] = TestImage::in_both_layouts(&mut rng, of);
        let extent = of.2;
        for round in 0..6 {
            let corner = extent.map(|n| rng.below(n.div_ceil(2)) as i32);
            let size = [0, 1, 2].map(|i| 1 + rng.below(extent[i] - corner[i] as u32));
            let to = [0, 1, 2].map(|i| rng.below(extent[i] - size[i] + 1) as i32);
            let place = layers(&contiguous.memory, 0);
            let region = ImageCopy { src: place, src_offset: corner, dst: place, dst_offset: to, extent: size };
            copy_image(None, &other.memory, &contiguous.memory, &region);
            copy_image(None, if round % 2 == 0 { &other.memory } else { &other_cells.memory }, &cells.memory, &region);
            let end = |from: [i32; 3], size: [u32; 3]| [from, [0, 1, 2].map(|i| from[i] + size[i] as i32)];
            let half = size.map(|n| n.div_ceil(2));
            let blit = ImageBlit {
                src: place,
                src_offsets: end(corner, size),
                dst: place,
                dst_offsets: end([0; 3], if of.1 == Dim::D3 { half } else { [half[0], half[1], 1] }),
            };
            let filter = if of.0.ends_with("UINT") || round % 2 == 0 { Filter::Nearest } else { Filter::Linear };
            blit_image(None, &other.memory, &contiguous.memory, &blit, filter);
            blit_image(None, &other_cells.memory, &cells.memory, &blit, filter);
            assert!(contiguous.texels() == cells.texels(), "{of:?} {region:?}");
        }
        let range = SubresourceRange { aspects: 1, base_level: 0, level_count: of.3, base_layer: 0, layer_count: of.4 };
        for image in [&contiguous, &cells] {
            clear_color_image(None, &image.memory, [0x3f80_0000; 4], &range);
        }
        assert!(contiguous.texels() == cells.texels(), "{of:?}");
    }
}
