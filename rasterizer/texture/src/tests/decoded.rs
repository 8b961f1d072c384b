//! Blocks in a thread's cache: with lanes at any positions, in many slices, and when memory
//! changes.

use super::*;

/// Formats of blocks of 8 and 16 bytes, with one tile or several, whose texels have one word or
/// two.
const NAMES: [&str; 9] = [
    "BC1_RGBA_UNORM_BLOCK",
    "BC1_RGBA_SRGB_BLOCK",
    "BC3_SRGB_BLOCK",
    "BC7_SRGB_BLOCK",
    "BC5_UNORM_BLOCK",
    "BC6H_UFLOAT_BLOCK",
    "ASTC_4x4_SRGB_BLOCK",
    "ASTC_6x5_SRGB_BLOCK",
    "ASTC_10x8_UNORM_BLOCK",
];

/// Fetches random texels of a level by the kernels of every level of the host, and checks them.
fn fetch_anywhere(rng: &mut Rng, image: &TestImage, layer: u32) {
    let view = image.view(Dim::D2, true, false);
    let [width, height, _] = image.memory.layout.desc.extent;
    let mut a = args();
    a.mask = rng.pick(&[0xff, 0xff, 0x5a]);
    for lane in 0..MAX_LANES {
        for (c, at) in [rng.below(width), rng.below(height), layer].into_iter().enumerate() {
            a.icoord[c][lane] = at as i32;
        }
    }
    call(&view, &sampler(), KERNEL_FETCH, &mut a);
    for lane in (0..MAX_LANES).filter(|lane| a.mask >> lane & 1 != 0) {
        let want = image.texel(0, layer, 0, [a.icoord[0][lane] as u32, a.icoord[1][lane] as u32, 0], false);
        assert_eq!([0, 1, 2, 3].map(|c| a.result[c][lane]), want, "{a:?}");
    }
}

/// There are so many blocks that those of one call share places now and then.
#[test]
fn scattered_lanes_get_their_texels() {
    let mut rng = Rng(0xdec0_ded0_b10c_0001);
    for name in NAMES {
        let image = TestImage::new(&mut rng, name, Dim::D2, [1024, 1024, 1], 1, 1, 1);
        for _ in 0..400 {
            fetch_anywhere(&mut rng, &image, 0);
        }
    }
}

/// Filters have the bits of the general kernel, which decodes one texel after the other, for lanes
/// at any positions.
#[test]
fn filters_of_scattered_lanes_match_the_scalar_kernel() {
    let mut rng = Rng(0xdec0_ded0_b10c_0002);
    let [seven, astc] = ["BC7_SRGB_BLOCK", "ASTC_8x5_SRGB_BLOCK"]
        .map(|name| TestImage::new(&mut rng, name, Dim::D2, [1024, 1024, 1], 3, 1, 1));
    let views = [&seven, &astc].map(|image| image.view(Dim::D2, false, false));
    for round in 0..12_000 {
        // Slices get other numbers, on which it depends which of their tiles share a place.
        base::epoch::next_epoch();
        let view = &views[round / 2 % 2];
        let mut s = sampler();
        (s.mag_filter, s.min_filter, s.mipmap_mode) = (1, 1, 1);
        s.max_lod = if round % 2 == 0 { 0.0 } else { 1000.0 };
        let s = new_sampler(s);
        let mut got = args();
        (got.has_offset, got.lod_mode) = (0, LodMode::Explicit);
        got.lod = [rng.float(0.0, 1.9); MAX_LANES];
        (0..2).for_each(|c| got.coord[c] = [0.0; MAX_LANES].map(|_| rng.float(0.0, 1.0)));
        let mut want = got;
        call(view, &s, KERNEL_SAMPLE + s.class as usize, &mut got);
        call(view, &s, KERNEL_SAMPLE + sampler_class::GENERAL as usize, &mut want);
        assert_eq!(got.result, want.result, "{got:?}");
    }
}

/// There are more slices than slice numbers, which are then reused.
#[test]
fn slices_are_told_apart() {
    let mut rng = Rng(0xdec0_ded0_b10c_0003);
    let image = TestImage::new(&mut rng, "BC1_RGBA_UNORM_BLOCK", Dim::D2, [16, 16, 1], 1, 600, 1);
    for round in 0..3000 {
        let layer = if round % 2 == 0 { round / 2 % 600 } else { rng.below(600) };
        fetch_anywhere(&mut rng, &image, layer);
    }
}

/// A change of memory between two pieces of work is visible in the second one.
#[test]
fn memory_may_change_between_pieces_of_work() {
    let mut rng = Rng(0xdec0_ded0_b10c_0004);
    for name in NAMES {
        let image = TestImage::new(&mut rng, name, Dim::D2, [11, 9, 1], 1, 1, 1);
        for _ in 0..50 {
            fetch_anywhere(&mut rng, &image, 0);
            let size = image.memory.layout.size as usize;
            for at in 0..size {
                // SAFETY: the address lies inside of the image's memory, and no kernel reads it
                // now.
                unsafe { image.memory.base.add(at).write(rng.next_u64() as u8) };
            }
            base::epoch::next_epoch();
        }
        fetch_anywhere(&mut rng, &image, 0);
    }
}
