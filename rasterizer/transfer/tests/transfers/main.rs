//! Tests that compare transfers with naive loops over single texels, on random sizes.

use base::abi::Dim;
use base::format::{self, Aspect, Format};
use base::image::{ImageDesc, ImageLayout};
use base::mem::ImageMemory;
use base::mem::{DeviceMemory, MemoryRange};
use base::random::Rng;
use std::sync::Arc;
use transfer::*;

mod blits;
mod cells;
mod guard;

/// An image with its own memory.
struct Owned {
    image: ImageMemory,
    _bytes: Vec<u64>,
}

fn image(vk: u32, dim: Dim, extent: [u32; 3], levels: u32, layers: u32, samples: u32) -> Owned {
    let format = Format::from_vk(vk).expect("format");
    let layout = ImageLayout::new(ImageDesc { format, dim, extent, levels, layers, samples }).expect("layout");
    let mut bytes = vec![0u64; layout.size as usize / 8 + 8];
    let image = ImageMemory { base: bytes.as_mut_ptr().cast(), layout: Arc::new(layout) };
    Owned { image, _bytes: bytes }
}

fn randomize(o: &Owned, rng: &mut Rng) {
    let memory = memory_of(&o.image);
    for i in 0..memory.len() {
        memory.write(i, &[rng.next() as u8]);
    }
}

fn texel(o: &Owned, level: u32, layer: u32, sample: u32, at: [u32; 3]) -> Vec<u8> {
    let mut out = vec![0; o.image.layout.planes()[0].block_bytes as usize];
    assert!(memory_of(&o.image).read(o.image.layout.offset(0, level, layer, sample, at), &mut out));
    out
}

fn color(level: u32, base_layer: u32, layer_count: u32) -> SubresourceLayers {
    SubresourceLayers { aspects: Aspect::Color.bit(), level, base_layer, layer_count }
}

fn buffer(bytes: &mut [u8]) -> DeviceMemory {
    // SAFETY: the slice outlives the uses in each test.
    unsafe { DeviceMemory::new(MemoryRange { address: bytes.as_mut_ptr(), size: bytes.len() as u64 }) }
}

const RGBA8: u32 = 37;
const RGBA8_SRGB: u32 = 43;
const RGBA32F: u32 = 109;
const R8_UINT: u32 = 13;
const R16_SINT: u32 = 75;
const R32_SINT: u32 = 99;
const BC1: u32 = 131;
const D32_S8: u32 = 130;

#[test]
fn buffer_copies_fills_and_updates_stay_inside() {
    let mut rng = Rng(7);
    for _ in 0..200 {
        let (mut a, mut b) = (vec![0u8; 4096], vec![0xaau8; 3000]);
        a.iter_mut().for_each(|x| *x = rng.next() as u8);
        let before = b.clone();
        let region = BufferCopy {
            src_offset: rng.below(5000).into(),
            dst_offset: rng.below(3500).into(),
            size: rng.below(5000).into(),
        };
        copy_buffer(None, buffer(&mut a), buffer(&mut b), &region);
        for i in 0..3000u64 {
            let copied = i >= region.dst_offset && i - region.dst_offset < region.size;
            let from = (i.wrapping_sub(region.dst_offset)).wrapping_add(region.src_offset);
            let want = if copied && from < 4096 { a[from as usize] } else { before[i as usize] };
            assert_eq!(b[i as usize], want, "{region:?} at {i}");
        }
    }
    let mut c = vec![0u8; 64];
    fill_buffer(None, buffer(&mut c), 8, u64::MAX, 0x0403_0201);
    assert_eq!(&c[..12], &[0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
    assert_eq!(&c[60..], &[1, 2, 3, 4]);
    update_buffer(buffer(&mut c), 62, &[9, 9, 9, 9]);
    assert_eq!(&c[60..], &[1, 2, 9, 9]);
}

#[test]
fn copy_buffer_to_image_and_back_is_the_identity() {
    let mut rng = Rng(11);
    for (vk, block) in [(RGBA8, 1), (R8_UINT, 1), (RGBA32F, 1), (BC1, 4)] {
        for _ in 0..20 {
            let (w, h, layers) = (1 + rng.below(70), 1 + rng.below(40), 1 + rng.below(3));
            let a = image(vk, Dim::D2, [w, h, 1], 2, layers, 1);
            let b = image(vk, Dim::D2, [w, h, 1], 2, layers, 1);
            randomize(&a, &mut rng);
            let level = rng.below(2);
            let extent = a.image.layout.planes()[0].levels[level as usize].extent;
            let region = BufferImageCopy {
                buffer_offset: 16,
                buffer_row_length: if rng.below(2) == 0 { 0 } else { (extent[0] + 5).next_multiple_of(block) },
                buffer_image_height: if rng.below(2) == 0 { 0 } else { (extent[1] + 3).next_multiple_of(block) },
                image: color(level, 0, layers),
                image_offset: [0; 3],
                image_extent: extent,
            };
            let mut bytes = vec![0u8; 1 << 20];
            copy_image_to_buffer(None, &a.image, buffer(&mut bytes), &region);
            copy_buffer_to_image(None, buffer(&mut bytes), &b.image, &region);
            for layer in 0..layers {
                for y in (0..extent[1]).step_by(block as usize) {
                    for x in (0..extent[0]).step_by(block as usize) {
                        let at = [x, y, 0];
                        assert_eq!(texel(&a, level, layer, 0, at), texel(&b, level, layer, 0, at));
                    }
                }
            }
        }
    }
}

#[test]
fn buffer_rows_lie_where_the_specification_says() {
    let a = image(R8_UINT, Dim::D3, [4, 3, 2], 1, 1, 1);
    let mut bytes: Vec<u8> = (0..=255).collect();
    let region = BufferImageCopy {
        buffer_offset: 3,
        buffer_row_length: 10,
        buffer_image_height: 5,
        image: color(0, 0, 1),
        image_offset: [1, 1, 0],
        image_extent: [2, 2, 2],
    };
    copy_buffer_to_image(None, buffer(&mut bytes), &a.image, &region);
    for z in 0..2 {
        for y in 0..3 {
            for x in 0..4 {
                let inside = (1..3).contains(&x) && y >= 1;
                let want = if inside { 3 + z * 50 + (y - 1) * 10 + (x - 1) } else { 0 };
                assert_eq!(texel(&a, 0, 0, 0, [x, y, z]), [want as u8], "{x} {y} {z}");
            }
        }
    }
}

#[test]
fn copy_image_between_layers_and_slices() {
    let mut rng = Rng(3);
    let array = image(RGBA8, Dim::D2, [20, 10, 1], 1, 6, 1);
    let volume = image(RGBA8, Dim::D3, [20, 10, 6], 1, 1, 1);
    randomize(&array, &mut rng);
    let region = ImageCopy {
        src: color(0, 2, 3),
        src_offset: [4, 2, 0],
        dst: color(0, 0, 1),
        dst_offset: [1, 0, 1],
        extent: [10, 8, 1],
    };
    copy_image(None, &array.image, &volume.image, &region);
    for slice in 0..3 {
        for (x, y) in (0..80).map(|i| (i % 10, i / 10)) {
            let got = texel(&volume, 0, 0, 0, [1 + x, y, 1 + slice]);
            assert_eq!(got, texel(&array, 0, 2 + slice, 0, [4 + x, 2 + y, 0]));
        }
    }
    assert_eq!(texel(&volume, 0, 0, 0, [0, 0, 1]), [0; 4], "left of the region");
    assert_eq!(texel(&volume, 0, 0, 0, [1, 0, 4]), [0; 4], "behind the region");
}

#[test]
fn clears_write_every_texel_of_the_range_and_no_other() {
    let a = image(RGBA8, Dim::D2, [37, 19, 1], 3, 4, 4);
    let half = 0.5f32.to_bits();
    let range =
        SubresourceRange { aspects: Aspect::Color.bit(), base_level: 1, level_count: 1, base_layer: 1, layer_count: 2 };
    clear_color_image(None, &a.image, [half, 0, 1f32.to_bits(), 1f32.to_bits()], &range);
    for level in 0..3 {
        let [w, h, _] = a.image.layout.planes()[0].levels[level as usize].extent;
        for layer in 0..4 {
            for sample in 0..4 {
                for (x, y) in (0..w * h).map(|i| (i % w, i / w)) {
                    let inside = level == 1 && (1..3).contains(&layer);
                    let want = if inside { [128, 0, 255, 255] } else { [0; 4] };
                    assert_eq!(texel(&a, level, layer, sample, [x, y, 0]), want);
                }
            }
        }
    }
    let d = image(D32_S8, Dim::D2, [9, 9, 1], 1, 1, 1);
    let both = Aspect::Depth.bit() | Aspect::Stencil.bit();
    let range = SubresourceRange { aspects: both, base_level: 0, level_count: 1, base_layer: 0, layer_count: 1 };
    clear_depth_stencil_image(None, &d.image, 0.25, 0x1ff, &range);
    assert_eq!(texel(&d, 0, 0, 0, [8, 8, 0]), 0.25f32.to_le_bytes());
    let mut s = [0];
    memory_of(&d.image).read(d.image.layout.offset(1, 0, 0, 0, [8, 8, 0]), &mut s);
    assert_eq!(s, [0xff]);
}

#[test]
fn resolve_averages_in_linear_space_and_takes_sample_zero_of_integers() {
    let mut rng = Rng(5);
    for (vk, integer) in [(RGBA8, false), (RGBA8_SRGB, false), (RGBA32F, false), (R16_SINT, true)] {
        let format = Format::from_vk(vk).expect("format");
        let a = image(vk, Dim::D2, [13, 7, 1], 1, 2, 4);
        let b = image(vk, Dim::D2, [13, 7, 1], 1, 2, 1);
        let at = |x, y| [x, y, 0];
        for i in 0..13 * 7 * 4 * 2 {
            let (x, y, s, l) = (i % 13, i / 13 % 7, i / 91 % 4, i / 364);
            let texel: [u32; 4] =
                if integer { [rng.next(); 4] } else { [0; 4].map(|_| (rng.below(1000) as f32 / 1000.0).to_bits()) };
            let mut bytes = vec![0; usize::from(format.info().block_bytes)];
            format::pack_row(format, &[texel], &mut bytes);
            memory_of(&a.image).write(a.image.layout.offset(0, 0, l, s, at(x, y)), &bytes);
        }
        let region = ImageResolve {
            src: color(0, 0, 2),
            src_offset: [1, 2, 0],
            dst: color(0, 0, 2),
            dst_offset: [0, 1, 0],
            extent: [12, 5, 1],
        };
        resolve_image(None, &a.image, &b.image, format, &region, ResolveMode::Average);
        for i in 0..12 * 5 * 2 {
            let (x, y, l) = (i % 12, i / 12 % 5, i / 60);
            let sample = |s| format::unpack(format, &texel(&a, 0, l, s, at(x + 1, y + 2)));
            let want: [u32; 4] = if integer {
                sample(0)
            } else {
                let mean = |c: usize| (0..4).fold(0.0, |sum, s| sum + f32::from_bits(sample(s)[c])) / 4.0;
                // The mean of 8-bit codes is exact, ties to even.
                let exact =
                    |v: f32| if vk == RGBA8 { ((v * 1020.0).round() / 4.0).round_ties_even() / 255.0 } else { v };
                std::array::from_fn(|c| exact(mean(c)).to_bits())
            };
            let mut bytes = vec![0; usize::from(format.info().block_bytes)];
            format::pack_row(format, &[want], &mut bytes);
            assert_eq!(texel(&b, 0, l, 0, at(x, y + 1)), bytes, "{vk} {x} {y}");
        }
        assert!(texel(&b, 0, 0, 0, at(0, 0)).iter().all(|&v| v == 0));
    }
}

#[test]
fn resolve_writes_the_requested_slice_of_a_volume() {
    let mut rng = Rng(7);
    let format = Format::from_vk(RGBA8).expect("format");
    let a = image(RGBA8, Dim::D2, [5, 4, 1], 1, 1, 4);
    randomize(&a, &mut rng);
    let b = image(RGBA8, Dim::D3, [5, 4, 3], 1, 1, 1);
    let region = |slice| ImageResolve {
        src: color(0, 0, 1),
        src_offset: [0; 3],
        dst: color(0, 0, 1),
        dst_offset: [0, 0, slice],
        extent: [5, 4, 1],
    };
    resolve_image(None, &a.image, &b.image, format, &region(2), ResolveMode::SampleZero);
    let before = bytes_of(&b);
    resolve_image(None, &a.image, &b.image, format, &region(3), ResolveMode::SampleZero);
    assert_eq!(bytes_of(&b), before, "there is no such slice");
    for i in 0..5 * 4 * 3 {
        let at = [i % 5, i / 5 % 4, i / 20];
        let want = if at[2] == 2 { texel(&a, 0, 0, 0, [at[0], at[1], 0]) } else { vec![0; 4] };
        assert_eq!(texel(&b, 0, 0, 0, at), want, "{at:?}");
    }
}

#[test]
fn blit_halves_flips_and_converts() {
    let a = image(RGBA8, Dim::D2, [8, 8, 1], 1, 1, 1);
    let mut rng = Rng(9);
    randomize(&a, &mut rng);
    let corners = |w: i32, h: i32| [[0, 0, 0], [w, h, 1]];
    // Halving gives the mean of four texels.
    let half = image(RGBA32F, Dim::D2, [4, 4, 1], 1, 1, 1);
    let region =
        ImageBlit { src: color(0, 0, 1), src_offsets: corners(8, 8), dst: color(0, 0, 1), dst_offsets: corners(4, 4) };
    blit_image(None, &a.image, &half.image, &region, Filter::Linear);
    let (from, to) = (Format::from_vk(RGBA8).expect("format"), Format::from_vk(RGBA32F).expect("format"));
    for (x, y) in (0..16).map(|i| (i % 4, i / 4)) {
        let got = format::unpack(to, &texel(&half, 0, 0, 0, [x, y, 0]));
        #[allow(clippy::needless_range_loop, reason = "indexes two arrays")]
        for c in 0..4 {
            let t = |dx, dy| f32::from_bits(format::unpack(from, &texel(&a, 0, 0, 0, [2 * x + dx, 2 * y + dy, 0]))[c]);
            let want = (t(0, 0) + t(1, 0) + t(0, 1) + t(1, 1)) / 4.0;
            assert!((f32::from_bits(got[c]) - want).abs() < 1e-6);
        }
    }
    // This blit is mirrored in x, nearest, twice as large, and cut by the destination's edge.
    let big = image(RGBA8, Dim::D2, [12, 16, 1], 1, 1, 1);
    let region = ImageBlit { dst_offsets: [[14, 0, 0], [-2, 16, 1]], ..region };
    blit_image(None, &a.image, &big.image, &region, Filter::Nearest);
    for (x, y) in (0..192).map(|i| (i % 12, i / 12)) {
        assert_eq!(texel(&big, 0, 0, 0, [x, y, 0]), texel(&a, 0, 0, 0, [(13 - x) / 2, y / 2, 0]), "{x} {y}");
    }
    // Integers are clamped.
    let wide = image(R32_SINT, Dim::D2, [3, 1, 1], 1, 1, 1);
    for (x, v) in [-5i32, 100_000, 77].into_iter().enumerate() {
        memory_of(&wide.image).write(wide.image.layout.offset(0, 0, 0, 0, [x as u32, 0, 0]), &v.to_le_bytes());
    }
    let narrow = image(R16_SINT, Dim::D2, [3, 1, 1], 1, 1, 1);
    let region =
        ImageBlit { src: color(0, 0, 1), src_offsets: corners(3, 1), dst: color(0, 0, 1), dst_offsets: corners(3, 1) };
    blit_image(None, &wide.image, &narrow.image, &region, Filter::Linear);
    let got = [0, 1, 2].map(|x| texel(&narrow, 0, 0, 0, [x, 0, 0]));
    assert_eq!(got, [(-5i16).to_le_bytes(), 32767i16.to_le_bytes(), 77i16.to_le_bytes()]);
}

#[test]
fn blits_of_volumes_weigh_eight_texels() {
    let src = image(RGBA32F, Dim::D3, [4, 4, 4], 1, 1, 1);
    let value = |x: u32, y: u32, z: u32| (x * x + 10 * y * y + 100 * z * z) as f32;
    for (x, y, z) in (0..64).map(|i| (i % 4, i / 4 % 4, i / 16)) {
        let bytes = [value(x, y, z).to_bits(), 0, 0, 0].map(u32::to_le_bytes).concat();
        memory_of(&src.image).write(src.image.layout.offset(0, 0, 0, 0, [x, y, z]), &bytes);
    }
    // The sizes are enlarged, enlarged and mirrored, reduced, and doubled: rows repeat, in any
    // order.
    for (size, mirrored) in [(11, false), (11, true), (3, false), (8, false)] {
        let dst = image(RGBA32F, Dim::D3, [size; 3], 1, 1, 1);
        let n = size as i32;
        let dst_offsets = if mirrored { [[n; 3], [0; 3]] } else { [[0; 3], [n; 3]] };
        let region = ImageBlit { src: color(0, 0, 1), src_offsets: [[0; 3], [4; 3]], dst: color(0, 0, 1), dst_offsets };
        blit_image(None, &src.image, &dst.image, &region, Filter::Linear);
        let tap = |d: u32| {
            let u = (d as f32 + 0.5) * 4.0 / size as f32 - 0.5;
            let u = (if mirrored { 3.0 - u } else { u }).clamp(0.0, 3.0);
            (u as u32, (u as u32 + 1).min(3), u.fract())
        };
        for (x, y, z) in (0..size.pow(3)).map(|i| (i % size, i / size % size, i / size / size)) {
            let (x_tap, y_tap, z_tap) = (tap(x), tap(y), tap(z));
            let lerp =
                |(first, second, w): (u32, u32, f32), f: &dyn Fn(u32) -> f32| f(first) * (1.0 - w) + f(second) * w;
            let want = lerp(z_tap, &|z| lerp(y_tap, &|y| lerp(x_tap, &|x| value(x, y, z))));
            let got = f32::from_le_bytes(texel(&dst, 0, 0, 0, [x, y, z])[..4].try_into().expect("four bytes"));
            assert!((got - want).abs() < 1e-2, "{size} {mirrored} {x} {y} {z}: {got} {want}");
        }
    }
}

#[test]
fn small_regions_are_done_in_their_order_by_any_number_of_threads() {
    let mut rng = Rng(29);
    let work_sharing = execution::work_sharing::WorkSharingPool::new(3);
    for (dim, layers) in [(Dim::D2, 3), (Dim::D3, 1)] {
        let extent = [64, 61, if dim == Dim::D3 { 3 } else { 1 }];
        let [a, one, many] = core::array::from_fn(|_| image(RGBA8, dim, extent, 3, layers, 1));
        randomize(&a, &mut rng);
        let mut below = |n| rng.below(n);
        // The regions overlap, and reach outside.
        let regions: Vec<ImageCopy> = (0..300)
            .map(|_| ImageCopy {
                src: color(below(2), below(layers), 1 + below(2)),
                src_offset: [below(60) as i32, below(60) as i32, below(extent[2]) as i32],
                dst: color(below(3), below(layers), 1 + below(2)),
                dst_offset: [below(60) as i32, below(60) as i32, below(extent[2]) as i32],
                extent: [1 + below(20), 1 + below(20), 1 + below(2)],
            })
            .collect();
        for region in &regions {
            copy_image(None, &a.image, &one.image, region);
        }
        copy_image_regions(Some(&work_sharing), &a.image, &many.image, &regions);
        assert!(bytes_of(&one) == bytes_of(&many), "{dim:?}");
    }
    let bytes: Vec<u8> = (0..10_000).map(|_| rng.next() as u8).collect();
    let [mut from, mut one, mut many] = [bytes.clone(), vec![0; 5000], vec![0; 5000]];
    let at: Vec<[u64; 3]> = (0..500).map(|_| [9000, 4000, 900].map(|n| rng.below(n).into())).collect();
    let pairs = |from: &mut [u8], to: &mut [u8]| -> Vec<_> {
        let (from, to) = (buffer(from), buffer(to));
        at.iter().map(|&[src, dst, size]| (from.slice(src, size), to.slice(dst, size))).collect()
    };
    for (from, to) in pairs(&mut from, &mut one) {
        to.copy_from(0, from, 0, to.len());
    }
    copy_buffer_regions(Some(&work_sharing), &pairs(&mut from, &mut many));
    assert!(one == many && one.iter().any(|&b| b != 0));
}

/// Returns all bytes of an image.
fn bytes_of(o: &Owned) -> Vec<u8> {
    let mut out = vec![0; o.image.layout.size as usize];
    assert!(memory_of(&o.image).read(0, &mut out));
    out
}

#[test]
fn regions_are_cut_to_the_image_and_the_buffer() {
    let mut rng = Rng(17);
    let a = image(RGBA8, Dim::D2, [8, 8, 1], 1, 1, 1);
    randomize(&a, &mut rng);
    for offset in [-5, 7, 8, i32::MAX, i32::MIN] {
        let b = image(RGBA8, Dim::D2, [8, 8, 1], 1, 1, 1);
        randomize(&b, &mut rng);
        let before = bytes_of(&b);
        // A region that begins left of 0 is cut to begin at 0.
        let first = offset.max(0) as u32;
        let region = ImageCopy {
            src: color(0, 0, 9),
            src_offset: [offset, 0, 0],
            dst: color(0, 0, 9),
            dst_offset: [0, offset, 0],
            extent: [u32::MAX; 3],
        };
        copy_image(None, &a.image, &b.image, &ImageCopy { src: color(5, 0, 1), ..region });
        copy_image(None, &a.image, &b.image, &ImageCopy { dst: color(5, 0, 1), ..region });
        copy_image(None, &a.image, &b.image, &ImageCopy { dst: color(0, 1, 1), ..region });
        assert!(bytes_of(&b) == before, "{offset}: no such level or layer");
        let old: Vec<Vec<u8>> = (0..64).map(|i| texel(&b, 0, 0, 0, [i % 8, i / 8, 0])).collect();
        copy_image(None, &a.image, &b.image, &region);
        for (x, y) in (0..64).map(|i| (i % 8, i / 8)) {
            let copied = first < 8 && y >= first && x < 8 - first;
            let want =
                if copied { texel(&a, 0, 0, 0, [x + first, y - first, 0]) } else { old[(y * 8 + x) as usize].clone() };
            assert_eq!(texel(&b, 0, 0, 0, [x, y, 0]), want, "{offset}: {x} {y}");
        }
        // The buffer has ten bytes behind the offset, so no row of more than two texels fits.
        let mut bytes = vec![0xa5u8; 100];
        let region = BufferImageCopy {
            buffer_offset: 90,
            buffer_row_length: 0,
            buffer_image_height: 0,
            image: color(0, 0, 3),
            image_offset: [offset, offset, offset],
            image_extent: [u32::MAX; 3],
        };
        copy_image_to_buffer(None, &a.image, buffer(&mut bytes), &region);
        let mut want = vec![0xa5u8; 100];
        if first == 7 {
            want[90..94].copy_from_slice(&texel(&a, 0, 0, 0, [7, 7, 0]));
        }
        assert_eq!(bytes, want, "{offset}");
        // A blit from or to an empty range writes nothing; otherwise every texel is one of the
        // source's.
        let before = bytes_of(&b);
        let offsets = [[offset, offset, 0], [3, 3, 1]];
        let region = ImageBlit { src: color(0, 0, 1), src_offsets: offsets, dst: color(0, 0, 1), dst_offsets: offsets };
        blit_image(None, &a.image, &b.image, &ImageBlit { src: color(5, 0, 1), ..region }, Filter::Nearest);
        blit_image(None, &a.image, &b.image, &ImageBlit { dst: color(5, 0, 1), ..region }, Filter::Nearest);
        assert!(bytes_of(&b) == before, "{offset}: no such level");
        let old: Vec<Vec<u8>> = (0..64).map(|i| texel(&b, 0, 0, 0, [i % 8, i / 8, 0])).collect();
        blit_image(None, &a.image, &b.image, &region, Filter::Nearest);
        let range = offset.min(3)..offset.max(3);
        for (x, y) in (0..64).map(|i| (i % 8, i / 8)) {
            let inside = range.contains(&(x as i32)) && range.contains(&(y as i32));
            let want = if inside { texel(&a, 0, 0, 0, [x, y, 0]) } else { old[(y * 8 + x) as usize].clone() };
            assert_eq!(texel(&b, 0, 0, 0, [x, y, 0]), want, "blit {offset}: {x} {y}");
        }
    }
}

#[test]
fn blit_decodes_compressed_sources() {
    const BC3: u32 = 137;
    let mut rng = Rng(31);
    let src = image(BC3, Dim::D2, [11, 9, 1], 1, 1, 1);
    randomize(&src, &mut rng);
    let dst = image(RGBA8, Dim::D2, [11, 9, 1], 1, 1, 1);
    let region = ImageBlit {
        src: color(0, 0, 1),
        src_offsets: [[2, 1, 0], [11, 9, 1]],
        dst: color(0, 0, 1),
        dst_offsets: [[2, 1, 0], [11, 9, 1]],
    };
    blit_image(None, &src.image, &dst.image, &region, Filter::Nearest);
    for y in 1..9 {
        for x in 2..11 {
            let block: [u8; 16] = texel(&src, 0, 0, 0, [x, y, 0]).try_into().expect("a block");
            let want = format::decode_texel(Format::from_vk(BC3).expect("format"), &block, [x, y]);
            let mut bytes = [0; 4];
            format::pack(Format::from_vk(RGBA8).expect("format"), want, &mut bytes);
            assert_eq!(texel(&dst, 0, 0, 0, [x, y, 0]), bytes, "{x} {y}");
        }
    }
}
