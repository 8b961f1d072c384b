//! Filters in 512-bit vectors: every lane has the result of the portable kernels, for quads at any
//! positions.

use super::chunks::in_chunks;
use super::*;
use crate::compressed::CompressedClass;
use crate::memory::ValidView;
use crate::texel::{PlainClass, Texels};
use base::format::lanes::{FilterTexel, NarrowTexel, row};

base::multiversion! {
    /// Takes the sample of [`Texels::sample`], if the class has it.
    for Avx512 unsafe fn plain [T: Texels] [T]
        (view: &ImageView, sampler: &Sampler, args: &mut ImageArgs, done: &mut [bool; 2]) {
        *done = match (sampler.min_filter, sampler.max_anisotropy > 1.0) {
            (0, _) => [
                T::sample::<H, false, false>(HOST, ValidView::new(view), sampler, args),
                T::sample::<H, false, true>(HOST, ValidView::new(view), sampler, args),
            ],
            (_, false) => [
                T::sample::<H, true, false>(HOST, ValidView::new(view), sampler, args),
                T::sample::<H, true, true>(HOST, ValidView::new(view), sampler, args),
            ],
            (_, true) => [false, T::anisotropic::<H>(HOST, ValidView::new(view), sampler, args)],
        };
    }
}

/// Returns quads, or four lanes in a row, that are magnified, minified or turned, near and far, and
/// on the edges.
fn random_quads(rng: &mut Rng, size: [u32; 2]) -> ImageArgs {
    let mut a = args();
    (a.has_offset, a.lod_mode) = (0, LodMode::Implicit);
    a.mask = rng.pick(&[0xff, 0xff, 0xff, 0x0f, 0xf0, 0x52]);
    let in_row = rng.below(3) == 0;
    for quad in 0..2 {
        let step: [[f32; 2]; 2] = [0; 2].map(|_| [0; 2].map(|_| rng.float(-2.2, 2.2) * rng.pick(&[0.1, 0.5, 1.0])));
        for c in 0..2 {
            let (inside, anywhere) = (rng.float(0.0, 1.0), rng.float(-1.5, 2.5));
            let first = rng.pick(&[inside, anywhere, 0.0, 1.0]);
            for lane in 0..4 {
                let (x, y) = if in_row { (lane as f32, 0.0) } else { ((lane & 1) as f32, (lane >> 1) as f32) };
                a.coord[c][4 * quad + lane] = first + (step[0][c] * x + step[1][c] * y) / size[c] as f32;
            }
        }
    }
    if rng.below(16) == 0 {
        a.coord[0][rng.below(8) as usize] = rng.pick(&[f32::NAN, f32::INFINITY, -1e30, 3e9]);
    }
    a
}

/// Returns an image of a random size and the view of the whole image.
fn random_view(rng: &mut Rng, name: &str) -> ([u32; 2], TestImage, ImageView) {
    let size: [u32; 2] = [0; 2].map(|_| rng.pick(&[3, 4, 5, 8, 16, 21, 64, 300]));
    let levels = 1 + rng.below(3).min(size[0].max(size[1]).ilog2());
    let image = TestImage::new(rng, name, Dim::D2, [size[0], size[1], 1], levels, 1, 1);
    let mut view = image.view(Dim::D2, false, false);
    if rng.below(8) == 0 {
        view.swizzle = [2, 1, 0, 5];
    }
    (size, image, view)
}

/// Returns the number of plain samples, of plain samples of several levels, and of other samples.
fn check<T: Texels>(name: &str) -> [u32; 3] {
    let mut rng = Rng(0x3d1f_f17e_0000_0000 + u64::from(format(name).0));
    let mut found = [0; 3];
    for _ in 0..600 {
        let (size, _image, view) = random_view(&mut rng, name);
        let s = random_sampler(&mut rng, name);
        let kernel = KERNEL_SAMPLE + s.class as usize;
        for _ in 0..20 {
            let mut want = random_quads(&mut rng, size);
            let mut got = want;
            call(&view, &s, kernel, &mut { want });
            // SAFETY: view, sampler and arguments are valid, and the host has the levels.
            let done = unsafe {
                (levels::kernels_of(Format(view.format as u16), SimdLevel::Portable).0[kernel])(&view, &s, &mut want);
                let mut done = [false; 2];
                plain::<T>(SimdLevel::detect())(&view, &s, &mut got, &mut done);
                done
            };
            assert!(done != [true; 2]);
            found[done.iter().position(|&done| done).unwrap_or(2)] += 1;
            let done = done != [false; 2];
            for lane in (0..MAX_LANES).filter(|lane| done && want.mask >> lane & 1 != 0) {
                let (got, want_of) = (lane_of(&got, lane), lane_of(&want, lane));
                let all = got.iter().zip(&want_of).all(|(&a, &b)| same(a, b));
                assert!(all, "{name} {size:?} {lane} {s:?} {got:x?} {want_of:x?} {want:?}");
            }
        }
    }
    found
}

#[test]
fn wide_samples_are_the_portable_ones() {
    for [plain, mips, other] in [
        check::<PlainClass<{ row("R8G8B8A8_UNORM") }, true>>("R8G8B8A8_UNORM"),
        check::<PlainClass<{ row("B8G8R8A8_UNORM") }, true>>("B8G8R8A8_UNORM"),
        check::<PlainClass<{ row("R8G8B8A8_SRGB") }, false>>("R8G8B8A8_SRGB"),
        check::<PlainClass<{ row("B8G8R8A8_SRGB") }, false>>("B8G8R8A8_SRGB"),
        check::<PlainClass<{ row("R16G16B16A16_SFLOAT") }, false>>("R16G16B16A16_SFLOAT"),
        check::<CompressedClass<{ row("R8G8B8A8_UNORM") }, 1, true>>("BC3_UNORM_BLOCK"),
        check::<CompressedClass<{ row("R8G8B8A8_SRGB") }, 1, false>>("BC7_SRGB_BLOCK"),
        check::<CompressedClass<{ row("R8G8B8A8_UNORM") }, 1, true>>("BC1_RGBA_UNORM_BLOCK"),
        check::<CompressedClass<{ row("R16G16B16A16_SFLOAT") }, 2, false>>("BC1_RGB_SRGB_BLOCK"),
        check::<PlainClass<{ row("B10G11R11_UFLOAT_PACK32") }, false>>("B10G11R11_UFLOAT_PACK32"),
        check::<CompressedClass<{ row("R16G16B16A16_SFLOAT") }, 2, false>>("ASTC_5x5_SFLOAT_BLOCK"),
        check::<PlainClass<{ row("R8_UNORM") }, true>>("R8_UNORM"),
        check::<PlainClass<{ row("R8G8_UNORM") }, false>>("R8G8_UNORM"),
        check::<PlainClass<{ row("R16_UNORM") }, false>>("R16_UNORM"),
        check::<PlainClass<{ row("R16G16_UNORM") }, false>>("R16G16_UNORM"),
        check::<PlainClass<{ row("R10X6_UNORM_PACK16") }, false>>("R10X6_UNORM_PACK16"),
        check::<PlainClass<{ row("R12X4G12X4_UNORM_2PACK16") }, false>>("R12X4G12X4_UNORM_2PACK16"),
    ] {
        let wide = if SimdLevel::detect().has_512() { plain > 400 && mips > 400 } else { plain + mips == 0 };
        assert!(wide && other > 1500, "{plain} {mips} {other}");
    }
}

/// Returns a random sampler of any class with separate kernels, according to the format's filters.
fn random_sampler(rng: &mut Rng, name: &str) -> Sampler {
    let mut s = sampler();
    let filter = u32::from(rng.below(3) > 0 || name.ends_with("SFLOAT"));
    (s.mag_filter, s.min_filter, s.mipmap_mode) = (filter, filter, rng.below(2));
    s.max_anisotropy = if filter == 1 { rng.pick(&[1.0, 1.0, 4.0, 16.0]) } else { 1.0 };
    s.lod_bias = rng.pick(&[0.0, 0.6, -0.7]);
    s.max_lod = rng.pick(&[0.0, 0.0, 1000.0]);
    s.address_mode = [rng.pick(&[0, 0, 1, 2, 2, 4]), rng.below(5), 0];
    s.address_mode[1] = rng.pick(&[s.address_mode[0], s.address_mode[0], s.address_mode[1]]);
    new_sampler(s)
}

/// Samples chunks in one call, and each chunk alone. Calls the check with the chunk's arguments and
/// results of each wanted lane.
fn together(
    view: &ImageView,
    s: &Sampler,
    mask: u32,
    coords: &[[[f32; MAX_LANES]; 2]],
) -> Vec<(ImageArgs, usize, [u32; 4])> {
    let mut alone = args();
    (alone.has_offset, alone.lod_mode, alone.mask) = (0, LodMode::Implicit, mask);
    let results = in_chunks(view, s, &alone, coords);
    let mut lanes = Vec::new();
    for (coords, result) in coords.iter().zip(&results) {
        let mut one = alone;
        one.coord[..2].copy_from_slice(coords);
        call(view, s, KERNEL_SAMPLE + s.class as usize, &mut one);
        for lane in (0..MAX_LANES).filter(|lane| one.mask >> lane & 1 != 0) {
            lanes.push((one, lane, [0, 1, 2, 3].map(|c| result[c][lane])));
        }
    }
    lanes
}

/// The chunks of a batch in one call have the results of single chunks.
#[test]
fn chunks_are_sampled_as_each_alone() {
    let mut rng = Rng(0xc4a2_0000_51de_0001);
    for name in [
        "R8G8B8A8_UNORM",
        "B8G8R8A8_UNORM",
        "R8G8B8A8_SRGB",
        "B8G8R8A8_SRGB",
        "R16G16B16A16_SFLOAT",
        "R8_UNORM",
        "R8G8_UNORM",
        "R16G16_UNORM",
        "R10X6_UNORM_PACK16",
        "R8G8_SNORM",
        "BC1_RGB_UNORM_BLOCK",
        "BC7_SRGB_BLOCK",
        "BC5_SNORM_BLOCK",
        "BC6H_UFLOAT_BLOCK",
        "ASTC_4x4_UNORM_BLOCK",
        "B10G11R11_UFLOAT_PACK32",
    ] {
        for _ in 0..100 {
            let (size, _image, view) = random_view(&mut rng, name);
            let s = random_sampler(&mut rng, name);
            let chunks: Vec<ImageArgs> = (0..rng.below(34)).map(|_| random_quads(&mut rng, size)).collect();
            let coords: Vec<[[f32; MAX_LANES]; 2]> = chunks.iter().map(|a| [a.coord[0], a.coord[1]]).collect();
            let mask = rng.pick(&[0xff, 0xff, 0x72]);
            for (one, lane, got) in together(&view, &s, mask, &coords) {
                assert_eq!(got, lane_of(&one, lane), "{name} {size:?} {lane} {s:?} {one:?}");
            }
        }
    }
}

/// The taps of an image filter, call by call, have the results of single chunks. The batches cover
/// an image whose texels change between two pieces of work.
#[test]
fn taps_are_sampled_as_each_alone() {
    let mut rng = Rng(0xc4a2_0000_51de_0002);
    for name in [
        "R8G8B8A8_SRGB",
        "B8G8R8A8_SRGB",
        "R8G8B8A8_UNORM",
        "B8G8R8A8_UNORM",
        "R16G16B16A16_SFLOAT",
        "B10G11R11_UFLOAT_PACK32",
        "BC1_RGBA_UNORM_BLOCK",
        "BC1_RGB_SRGB_BLOCK",
    ] {
        for round in 0..40 {
            let size: [u32; 2] = [0; 2].map(|_| rng.pick(&[4, 32, 33, 40, 64, 200]));
            let image = TestImage::new(&mut rng, name, Dim::D2, [size[0], size[1], 1], 1, 2, 1);
            let views = [0, 1].map(|layer| {
                image_view(&ViewRequest { layers: (layer, 1), ..image.request(Dim::D2, false, Aspect::Color) })
            });
            let mut s = sampler();
            let filter = rng.below(2);
            (s.mag_filter, s.min_filter) = (filter, filter);
            s.address_mode = [rng.below(3); 3];
            let s = new_sampler(s);
            let step = rng.pick(&[0.1, 0.3, 1.0, 1.0, 1.7, 3.0]);
            let turned = rng.pick(&[0.0, 0.0, 0.3]);
            for batch in 0..6 {
                let begin = [0, 1].map(|c| if c == 0 { 16.0 * step * batch as f32 } else { rng.float(-3.0, 20.0) });
                for tap in 0..rng.pick(&[1, 2, 9]) {
                    let moved = [begin[0] + (tap % 3) as f32 - 1.0, begin[1] + (tap / 3) as f32 - 1.0];
                    // The batch has eight rows of four chunks of 4×2 pixels.
                    let coords: Vec<[[f32; MAX_LANES]; 2]> = (0..32)
                        .map(|chunk| {
                            let mut coord = [[0.0; MAX_LANES]; 2];
                            for lane in 0..MAX_LANES {
                                let x = (chunk % 4 * 4 + lane / 4 * 2 + lane % 2) as f32 * step;
                                let y = (chunk / 4 * 2 + lane / 2 % 2) as f32 * step;
                                coord[0][lane] = (moved[0] + x + turned * y) / size[0] as f32;
                                coord[1][lane] = (moved[1] + y - turned * x) / size[1] as f32;
                            }
                            coord
                        })
                        .collect();
                    let view = &views[usize::from(rng.below(8) == 0)];
                    let mask = rng.pick(&[0xff, 0xff, 0x72]);
                    for (one, lane, got) in together(view, &s, mask, &coords) {
                        let want = lane_of(&one, lane);
                        assert!(
                            got.iter().zip(&want).all(|(&a, &b)| same(a, b)),
                            "{name} {round} {batch} {tap} {size:?} {step} {lane} {got:x?} {want:x?} {one:?}"
                        );
                    }
                }
                if rng.below(3) == 0 {
                    for at in 0..image.memory.layout.size as usize {
                        // SAFETY: the address lies inside of the image's memory, and no kernel
                        // reads it now.
                        unsafe { image.memory.base.add(at).write(rng.next_u64() as u8) };
                    }
                    base::epoch::next_epoch();
                }
            }
        }
    }
}

/// Only rows of four components of one size, rows of few unsigned normalised components, and packed
/// floats have such filters.
#[test]
fn classes_are_wide_by_their_rows() {
    for (wide, want) in [
        (PlainClass::<{ row("B8G8R8A8_SRGB") }, false>::FOUR, Some(FilterTexel::Srgb([2, 1, 0, 3]))),
        (PlainClass::<{ row("B8G8R8A8_UNORM") }, true>::FOUR, Some(FilterTexel::Integers([2, 1, 0, 3]))),
        (PlainClass::<{ row("R16G16B16A16_SFLOAT") }, false>::FOUR, Some(FilterTexel::Half)),
        (PlainClass::<{ row("B10G11R11_UFLOAT_PACK32") }, false>::FOUR, Some(FilterTexel::Packed)),
        (CompressedClass::<{ row("R8G8B8A8_SRGB") }, 1, false>::FOUR, Some(FilterTexel::Srgb([0, 1, 2, 3]))),
        (CompressedClass::<{ row("R16G16B16A16_SFLOAT") }, 2, false>::FOUR, Some(FilterTexel::Half)),
        (PlainClass::<{ row("E5B9G9R9_UFLOAT_PACK32") }, false>::FOUR, None),
        (PlainClass::<{ row("R8G8B8A8_SNORM") }, false>::FOUR, None),
        (PlainClass::<{ row("R8G8B8A8_UINT") }, false>::FOUR, None),
        (
            PlainClass::<{ row("R8_UNORM") }, true>::FOUR,
            Some(FilterTexel::Narrow(NarrowTexel { components: 1, bits: 8, raw: true })),
        ),
        (
            PlainClass::<{ row("R8G8_UNORM") }, false>::FOUR,
            Some(FilterTexel::Narrow(NarrowTexel { components: 2, bits: 8, raw: false })),
        ),
        (
            PlainClass::<{ row("R12X4G12X4_UNORM_2PACK16") }, false>::FOUR,
            Some(FilterTexel::Narrow(NarrowTexel { components: 2, bits: 12, raw: false })),
        ),
        (PlainClass::<{ row("R8G8_SNORM") }, false>::FOUR, None),
        (PlainClass::<{ row("R5G6B5_UNORM_PACK16") }, false>::FOUR, None),
        (PlainClass::<{ row("R32_SFLOAT") }, false>::FOUR, None),
        (PlainClass::<{ row("R16G16B16A16_UNORM") }, false>::FOUR, None),
        (PlainClass::<{ row("R32G32_SFLOAT") }, false>::FOUR, None),
        (PlainClass::<{ row("A2B10G10R10_UNORM_PACK32") }, false>::FOUR, None),
    ] {
        assert_eq!(wide, want);
    }
}
