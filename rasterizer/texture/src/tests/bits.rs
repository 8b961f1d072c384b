//! Fast kernels bit by bit: against the general kernel, and against single texels of the layout.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::*;
use base::abi::SAMPLER_CLASSES;
use base::format::{Layout, TABLE, features, unpack};
use std::collections::HashSet;

/// Returns the formats with one of the features. Excluded are formats whose images have no separate
/// 2D optimal layout here (combined formats) and no separate kernels.
fn formats(with: u32) -> impl Iterator<Item = &'static str> {
    let own = |layout: Layout| !matches!(layout, Layout::MultiPlanar | Layout::Packed422);
    TABLE.iter().filter(move |row| row.image_features & with != 0 && own(row.layout)).map(|row| row.name)
}

/// Returns a sampler of one of the fast classes, with a border if `border` is true.
fn fast_sampler(rng: &mut Rng, anisotropic: bool, border: bool) -> Sampler {
    let mut s = sampler();
    s.mag_filter = u32::from(anisotropic) | rng.below(2);
    s.min_filter = s.mag_filter;
    s.mipmap_mode = rng.below(2);
    s.address_mode = [0; 3].map(|_| rng.pick(&[0, 1, 2, if border { 3 } else { 4 }]));
    s.border_color = [0.25, 0.5, 0.75, 0.125].map(f32::to_bits);
    s.lod_bias = rng.pick(&[0.0, 0.75, -0.5]);
    if anisotropic {
        s.max_anisotropy = rng.pick(&[2.0, 3.5, 16.0]);
    }
    new_sampler(s)
}

fn quads(rng: &mut Rng, a: &mut ImageArgs) {
    a.lod_mode = rng.pick(&[LodMode::Implicit, LodMode::Grad]);
    a.mask = rng.pick(&[0xff, 0xff, 0x0f, 0x52]);
    for quad in 0..MAX_LANES / 4 {
        for c in 0..2 {
            let (base, scale) = (rng.float(-1.5, 2.0), rng.pick(&[0.01, 0.1, 0.4]));
            let (dx, dy) = (rng.float(-scale, scale), rng.float(-0.1, 0.1));
            for lane in 4 * quad..4 * quad + 4 {
                a.coord[c][lane] = base + dx * (lane & 1) as f32 + dy * (lane >> 1 & 1) as f32;
                (a.grad_x[c][lane], a.grad_y[c][lane]) = (dx * (1 + lane) as f32 * 0.5, dy);
                a.offset[c][lane] = rng.below(3) as i32 - 1;
            }
        }
    }
    for lane in 0..MAX_LANES {
        a.coord[2][lane] = rng.float(-1.0, 3.5);
        a.lod[lane] = rng.float(-1.0, 1.0);
    }
}

/// Filters of the classes that do not divide at the end, and anisotropic filters of all classes,
/// have the bits of the general kernel.
#[test]
fn fast_kernels_equal_the_general_one() {
    let mut rng = Rng(0x5eed_0bad_cafe_1111);
    let mut classes = HashSet::new();
    for name in formats(features::SAMPLED_IMAGE_FILTER_LINEAR) {
        // A compressed format behaves like the format of its decoded texels.
        let decoded = if format(name).is_compressed() { base::format::plain(format(name)).info().name } else { name };
        let divides = matches!(decoded, "R8_UNORM" | "R8G8B8A8_UNORM" | "B8G8R8A8_UNORM" | "A8B8G8R8_UNORM_PACK32");
        for round in 0..24 {
            let arrayed = rng.below(2) == 1;
            let extent = rng.pick(&[[16, 8, 1], [13, 21, 1], [4, 4, 1], [1, 7, 1]]);
            let levels = rng.pick(&[1, u32::ilog2(extent[0].max(extent[1])) + 1]);
            let layers = if arrayed { 3 } else { 1 };
            let image = TestImage::new(&mut rng, name, Dim::D2, extent, levels, layers, 1);
            let view = image.view(Dim::D2, arrayed, false);
            let border = rng.below(2) == 0;
            let s = fast_sampler(&mut rng, divides || round % 2 == 0, border);
            assert_ne!(s.class, sampler_class::GENERAL);
            classes.insert(s.class);
            let mut a = args();
            quads(&mut rng, &mut a);
            let mut general = a;
            call(&view, &s, KERNEL_SAMPLE + s.class as usize, &mut a);
            call(&view, &s, KERNEL_SAMPLE + sampler_class::GENERAL as usize, &mut general);
            for lane in (0..MAX_LANES).filter(|l| a.mask >> l & 1 != 0) {
                let (got, want) = (lane_of(&a, lane), lane_of(&general, lane));
                assert!(
                    (0..4).all(|c| same(got[c], want[c])),
                    "{name} {lane} {got:x?} {want:x?} {s:?} {extent:?} {a:?}"
                );
            }
        }
    }
    assert_eq!(classes.len(), 3);
    assert!(classes.len() < SAMPLER_CLASSES);
}

/// Integers are not filtered with any sampler; they are mapped, and may lie beside a border.
#[test]
fn integers_are_sampled_as_by_the_general_kernel() {
    let mut rng = Rng(0x1274_e6e2_5a3b_0007);
    let integers = formats(features::SAMPLED_IMAGE).filter(|name| format(name).is_integer());
    let mut count = 0;
    for name in integers {
        count += 1;
        for _ in 0..24 {
            let arrayed = rng.below(2) == 1;
            let image = TestImage::new(&mut rng, name, Dim::D2, [13, 6, 1], 3, if arrayed { 3 } else { 1 }, 1);
            let mut view = image.view(Dim::D2, arrayed, false);
            if rng.below(2) == 0 {
                view.swizzle = [3, 5, 4, 0];
            }
            let s = fast_sampler(&mut rng, false, true);
            let mut a = args();
            quads(&mut rng, &mut a);
            let mut general = a;
            call(&view, &s, KERNEL_SAMPLE + s.class as usize, &mut a);
            call(&view, &s, KERNEL_SAMPLE + sampler_class::GENERAL as usize, &mut general);
            for lane in (0..MAX_LANES).filter(|l| a.mask >> l & 1 != 0) {
                assert_eq!(lane_of(&a, lane), lane_of(&general, lane), "{name} {lane} {s:?} {a:?}");
            }
        }
    }
    assert!(count > 10, "{count}");
}

fn coordinates(rng: &mut Rng, a: &mut ImageArgs, spread: u32) {
    for lane in 0..MAX_LANES {
        for c in 0..3 {
            a.icoord[c][lane] = rng.below(spread) as i32 - 1;
        }
        a.icoord[2][lane] = rng.below(4) as i32 - 1;
        a.level[lane] = rng.pick(&[0, 0, 0, 1, 2, -1]);
        a.sample[lane] = rng.pick(&[0, 0, 0, 1]);
    }
    a.mask = rng.pick(&[0xff, 0xff, 0x0f, 0xa4, 0]);
}

#[test]
fn every_format_is_fetched() {
    let mut rng = Rng(0x0f37_c4ed_1234_4321);
    for name in formats(features::SAMPLED_IMAGE) {
        for arrayed in [false, true, false, true] {
            let layers = if arrayed { 3 } else { 1 };
            let image = TestImage::new(&mut rng, name, Dim::D2, [9, 6, 1], 2, layers, 1);
            let mut view = image.view(Dim::D2, arrayed, false);
            if rng.below(2) == 0 {
                view.swizzle = [3, 5, 4, 0];
            }
            let format = Format(view.format as u16);
            let mut a = args();
            coordinates(&mut rng, &mut a, 12);
            call(&view, default_sampler(), KERNEL_FETCH, &mut a);
            for lane in (0..MAX_LANES).filter(|l| a.mask >> l & 1 != 0) {
                let [x, y, z] = std::array::from_fn(|c| a.icoord[c][lane] as u32);
                let layer = if arrayed { z } else { 0 };
                let level = a.level[lane] as usize;
                let extent = [[9, 6], [4, 3]].get(level).copied().unwrap_or([0; 2]);
                // An image of one sample has the same value for all samples.
                let inside = x < extent[0] && y < extent[1] && layer < layers;
                let t = if inside { image.texel(level, layer, 0, [x, y, 0], false) } else { outside(format) };
                let one = if format.is_integer() { 1 } else { 1f32.to_bits() };
                let want = view.swizzle.map(|s| [t[0], t[1], t[2], t[3], 0, one][usize::from(s)]);
                let got = lane_of(&a, lane);
                assert!((0..4).all(|c| same(got[c], want[c])), "{name} {got:x?} {want:x?}");
            }
        }
    }
}

/// Writes a lane's texel as the format's packing does; 64-bit integers keep all of their bits.
fn store_lane(format: Format, a: &ImageArgs, lane: usize, to: &mut [u8]) {
    if format.long_integers() == 0 {
        return base::format::pack(format, std::array::from_fn(|c| a.texel[c][lane]), to);
    }
    for (c, bytes) in to.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *bytes = (u64::from(a.texel[c][lane]) | u64::from(a.texel_high[c][lane]) << 32).to_le_bytes();
    }
}

/// Returns the low words and the high words of a fetched texel.
fn fetched(format: Format, bytes: &[u8]) -> [[u32; 4]; 2] {
    if format.long_integers() == 0 {
        return [unpack(format, bytes), [0; 4]];
    }
    let (mut low, mut high) = ([0, 0, 0, 1], [0; 4]);
    for (c, bytes) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let long = u64::from_le_bytes(*bytes);
        (low[c], high[c]) = (long as u32, (long >> 32) as u32);
    }
    [low, high]
}

/// All variants write what the format's packing gives, and only at active lanes that lie inside.
#[test]
fn every_storage_format_is_stored() {
    let mut rng = Rng(0x5708_ed12_3412_3477);
    for name in formats(features::STORAGE_IMAGE) {
        for level in SimdLevel::all_supported() {
            let image = TestImage::new(&mut rng, name, Dim::D2, [7, 5, 1], 1, 3, 1);
            let view = image.view(Dim::D2, true, false);
            let format = format(name);
            let bytes = usize::from(format.info().block_bytes);
            let mut want = image.bytes();
            for _ in 0..8 {
                let mut a = args();
                coordinates(&mut rng, &mut a, 9);
                (a.level, a.sample) = ([0; MAX_LANES], [0; MAX_LANES]);
                a.texel = [[0; MAX_LANES]; 4].map(|row| row.map(|_| rng.float(-0.5, 1.5).to_bits()));
                a.texel_high = [[0; MAX_LANES]; 4].map(|row| row.map(|_| rng.next_u64() as u32));
                for lane in (0..MAX_LANES).filter(|l| a.mask >> l & 1 != 0) {
                    let [x, y, z] = std::array::from_fn(|c| a.icoord[c][lane] as u32);
                    if x < 7 && y < 5 && z < 3 {
                        let at = image.memory.layout.offset(0, 0, z, 0, [x, y, 0]) as usize;
                        store_lane(format, &a, lane, &mut want[at..at + bytes]);
                    }
                }
                // SAFETY: view and arguments are valid, and the host has the level.
                unsafe { (levels::kernels_of(format, level).0[KERNEL_STORE])(&view, std::ptr::null(), &mut a) };
            }
            assert!(image.bytes() == want, "{name} {level:?}");
        }
    }
}

#[test]
fn texel_buffers_are_fetched_and_stored() {
    let mut rng = Rng(0xb0ff_e12d_0000_0001);
    for row in TABLE.iter().filter(|row| row.buffer_features & features::STORAGE_TEXEL_BUFFER != 0) {
        let (format, bytes) = (format(row.name), usize::from(row.block_bytes));
        let mut memory: Vec<u8> = (0..21 * bytes + bytes / 2).map(|_| rng.next_u64() as u8).collect();
        let mut want = memory.clone();
        let view = buffer_view(MemoryRange { address: memory.as_mut_ptr(), size: memory.len() as u64 }, format);
        let mut a = args();
        a.icoord[0] = [0, 20, 21, -1, 7, 8, 3, i32::MAX];
        a.texel = [[0; MAX_LANES]; 4].map(|row| row.map(|_| rng.float(0.0, 1.0).to_bits()));
        a.texel_high = [[0; MAX_LANES]; 4].map(|row| row.map(|_| rng.next_u64() as u32));
        for lane in [0, 1, 4, 5, 6] {
            let at = a.icoord[0][lane] as usize * bytes;
            store_lane(format, &a, lane, &mut want[at..at + bytes]);
        }
        // SAFETY: view and arguments are valid.
        unsafe { (view.kernels[KERNEL_STORE])(&view, std::ptr::null(), &mut a) };
        call(&view, default_sampler(), KERNEL_FETCH, &mut a);
        for lane in 0..MAX_LANES {
            let at = a.icoord[0][lane] as u32 as usize;
            let inside = || fetched(format, &want[at * bytes..(at + 1) * bytes]);
            let [texel, high] = if at < 21 { inside() } else { [outside(format), [0; 4]] };
            let got = lane_of(&a, lane);
            assert!((0..4).all(|c| same(got[c], texel[c])), "{} {got:x?} {texel:x?}", row.name);
            let got = a.result_high.map(|row| row[lane]);
            assert!(format.long_integers() == 0 || got == high, "{} {got:x?} {high:x?}", row.name);
        }
        assert!(memory == want, "{}", row.name);
    }
}

/// High words of lanes come from their own views; those of a null view are zeros.
#[test]
fn long_integers_of_several_views() {
    let words: Vec<u32> = (0..64u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let range = |first: usize| MemoryRange { address: words.as_ptr().cast_mut().wrapping_add(first).cast(), size: 128 };
    let views = [buffer_view(range(0), format("R64G64B64A64_UINT")), buffer_view(range(32), format("R64G64_UINT"))];
    let of_lane: [*const ImageView; MAX_LANES] =
        [0, 1, 0, 1, 0, 2, 1, 0].map(|i| views.get(i).map_or(std::ptr::from_ref(null_view()), std::ptr::from_ref));
    let mut a = args();
    (a.mask, a.kernel) = (0x7f, KERNEL_FETCH as u32);
    a.icoord[0] = [0, 0, 3, 7, 4, 0, 1, 0];
    // SAFETY: views and arguments are valid.
    unsafe { image_divergent(of_lane.as_ptr(), std::ptr::null(), &mut a) };
    let long = |lane: usize| [0, 1, 2, 3].map(|c| [a.result[c][lane], a.result_high[c][lane]]);
    let at = |i: usize| [words[i], words[i + 1]];
    assert_eq!(long(0), [0, 2, 4, 6].map(at));
    assert_eq!(long(1), [at(32), at(34), [0; 2], [1, 0]]);
    assert_eq!(long(2), [24, 26, 28, 30].map(at));
    assert_eq!(long(3), [at(60), at(62), [0; 2], [1, 0]]);
    assert_eq!([long(4), long(5)], [[[0; 2]; 4]; 2], "outside, and nothing");
    assert_eq!(long(6), [at(36), at(38), [0; 2], [1, 0]]);
}
