//! Anisotropic samples of batches: every lane has the result of the portable kernels, for
//! footprints in any direction.

use super::chunks::in_chunks;
use super::*;

/// Returns a row of chunks of 4×2 pixels, given the first pixel's coordinates and the steps to the
/// right and down, in texels.
fn chunks_of_a_row([first, right, down]: [[f32; 2]; 3], size: [u32; 2], count: usize) -> Vec<[[f32; MAX_LANES]; 2]> {
    let at = |chunk: usize, lane: usize, c: usize| {
        let (x, y) = (chunk * 4 + lane / 4 * 2 + lane % 2, lane / 2 % 2);
        (first[c] + right[c] * x as f32 + down[c] * y as f32) / size[c] as f32
    };
    (0..count).map(|chunk| [0, 1].map(|c| std::array::from_fn(|lane| at(chunk, lane, c)))).collect()
}

/// Returns the steps of footprints that are long in x, in y or aslant, or not long, of up to 40
/// texels.
fn random_steps(rng: &mut Rng) -> [[f32; 2]; 2] {
    let (long, short) = (rng.pick(&[1.0, 2.3, 5.0, 14.0, 40.0]), rng.pick(&[0.3, 0.9, 1.0, 1.8]));
    let turned = rng.pick(&[0.0, 0.0, 0.1, 0.7, 1.571]);
    let (sine, cosine) = (f32::sin(turned), f32::cos(turned));
    let steps = [[short * cosine, short * sine], [-long * sine, long * cosine]];
    if rng.below(2) == 0 { steps } else { [steps[1], steps[0]] }
}

#[test]
fn chunks_are_sampled_as_by_the_portable_kernels() {
    let mut rng = Rng(0xa215_0000_51de_0001);
    for name in [
        "R8G8B8A8_UNORM",
        "B8G8R8A8_SRGB",
        "B10G11R11_UFLOAT_PACK32",
        "R16G16B16A16_SFLOAT",
        "R8G8_UNORM",
        "BC1_RGB_UNORM_BLOCK",
        "ASTC_5x5_UNORM_BLOCK",
    ] {
        for round in 0..150 {
            let size: [u32; 2] = [0; 2].map(|_| rng.pick(&[1, 2, 4, 21, 64, 64, 300]));
            let levels = 1 + rng.below(size[0].max(size[1]).ilog2() + 1);
            let image = TestImage::new(&mut rng, name, Dim::D2, [size[0], size[1], 1], levels, 1, 1);
            let view = image.view(Dim::D2, false, false);
            let mut s = sampler();
            (s.mag_filter, s.min_filter, s.mipmap_mode) = (1, 1, rng.below(2));
            s.max_anisotropy = rng.pick(&[2.0, 5.0, 16.0, 16.0]);
            s.lod_bias = rng.pick(&[0.0, 0.0, 0.6]);
            s.address_mode = [rng.pick(&[0, 0, 1, 2, 3, 4]); 3];
            let s = new_sampler(s);
            let first = [0, 1].map(|c| rng.float(-0.3, 1.0) * size[c] as f32);
            let [right, down] = random_steps(&mut rng);
            let mut coords = chunks_of_a_row([first, right, down], size, 1 + rng.below(9) as usize);
            if rng.below(8) == 0 {
                coords[0][rng.below(2) as usize][rng.below(8) as usize] = rng.pick(&[f32::NAN, f32::INFINITY, 3e9]);
            }
            let mut one = args();
            (one.has_offset, one.lod_mode, one.mask) = (0, LodMode::Implicit, rng.pick(&[0xff, 0xff, 0x0f, 0x72]));
            let kernel =
                levels::kernels_of(Format(view.format as u16), SimdLevel::Portable).0[KERNEL_SAMPLE + s.class as usize];
            for (coords, got) in coords.iter().zip(in_chunks(&view, &s, &one, &coords)) {
                one.coord[..2].copy_from_slice(coords);
                let mut want = one;
                // SAFETY: view, sampler and arguments are valid.
                unsafe { kernel(&view, &s, &mut want) };
                for lane in (0..MAX_LANES).filter(|lane| one.mask >> lane & 1 != 0) {
                    let (got, want) = (got.map(|row| row[lane]), lane_of(&want, lane));
                    let all = got.iter().zip(&want).all(|(&a, &b)| same(a, b));
                    assert!(
                        all,
                        "{name} {round} {size:?} {lane} {s:?} {got:x?} {want:x?} {right:?} {down:?} {coords:?}"
                    );
                }
            }
        }
    }
}
