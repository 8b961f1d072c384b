//! Views with the properties of their descriptors, and operations whose descriptors differ between
//! lanes.

use super::*;

#[test]
fn swizzle_slices_and_divergence() {
    let mut rng = Rng(99);
    let volume = TestImage::new(&mut rng, "R8G8B8A8_UNORM", Dim::D3, [4, 4, 6], 1, 1, 1);
    let flat = TestImage::new(&mut rng, "R8G8B8A8_UNORM", Dim::D2, [4, 4, 1], 1, 1, 1);
    let slices = image_view(&ViewRequest {
        slices: true,
        layers: (2, 3),
        swizzle: [2, 5, 4, 0],
        ..volume.request(Dim::D2, true, Aspect::Color)
    });
    let plain = flat.view(Dim::D2, false, false);
    let mut a = args();
    a.mask = 0x7f;
    a.kernel = KERNEL_FETCH as u32;
    a.icoord[0] = [0, 1, 2, 3, 0, 1, 2, 3];
    a.icoord[2] = [0, 1, 2, 3, 0, 1, 2, 3];
    let views: [*const ImageView; MAX_LANES] =
        std::array::from_fn(|i| if i % 2 == 0 { &raw const slices } else { &raw const plain });
    // SAFETY: views and arguments are valid.
    unsafe { image_divergent(views.as_ptr(), std::ptr::null(), &mut a) };
    for lane in 0..7 {
        let x = a.icoord[0][lane] as u32;
        let z = a.icoord[2][lane] as u32;
        let want = if lane % 2 == 0 {
            let t = volume.texel(0, 0, 0, [x, 0, z + 2], false);
            [t[2], 1f32.to_bits(), 0, t[0]]
        } else {
            flat.texel(0, 0, 0, [x, 0, 0], false)
        };
        assert_eq!(lane_of(&a, lane), want, "{lane}");
    }
    assert_eq!(a.mask, 0x7f);
}

/// The helper gives each lane the result of its own view and sampler.
#[test]
fn divergent_lanes_have_what_their_descriptors_give() {
    let mut rng = Rng(0xd17e_46e2_0000_0007);
    let images: [TestImage; 3] = ["R8G8B8A8_UNORM", "R8_UNORM", "R16G16B16A16_SFLOAT"]
        .map(|name| TestImage::new(&mut rng, name, Dim::D2, [16, 16, 1], 3, 1, 1));
    let views = images.each_ref().map(|image| image.view(Dim::D2, false, false));
    let samplers: [Sampler; 3] = std::array::from_fn(|_| random_sampler(&mut rng));
    for round in 0..500 {
        let mut a = args();
        for lane in 0..MAX_LANES {
            random_coord(&mut rng, Dim::D2, &mut a, lane);
        }
        a.mask = rng.pick(&[0xff, 0x0f, 0x3c, 0x41, 0x80]);
        a.kernel = KERNEL_SAMPLE as u32;
        let chosen: [[usize; 2]; MAX_LANES] = std::array::from_fn(|lane| match round % 3 {
            0 => [lane / 4, 0],
            _ => [rng.below(3) as usize, rng.below(3) as usize],
        });
        let mut all = a;
        let (of_view, of_sampler) = (chosen.map(|c| &raw const views[c[0]]), chosen.map(|c| &raw const samplers[c[1]]));
        // SAFETY: views, samplers and arguments are valid.
        unsafe { image_divergent(of_view.as_ptr(), of_sampler.as_ptr(), &mut all) };
        for lane in (0..MAX_LANES).filter(|lane| a.mask >> lane & 1 != 0) {
            let mut one = a;
            let (view, s) = (&views[chosen[lane][0]], &samplers[chosen[lane][1]]);
            call(view, s, KERNEL_SAMPLE + s.class as usize, &mut one);
            assert_eq!(lane_of(&all, lane), lane_of(&one, lane), "{lane} {chosen:?}");
        }
        assert_eq!(all.mask, a.mask);
    }
}

/// Two views of a format, one for each quad, are sampled at once if each sample alone is a plain
/// one.
#[test]
fn pairs_of_views_are_sampled_as_each_alone() {
    let mut rng = Rng(0x9a12_5f01_0000_0003);
    let mut pairs = [0; 2];
    for name in
        ["R8G8B8A8_UNORM", "B8G8R8A8_UNORM", "R8G8B8A8_SRGB", "B8G8R8A8_SRGB", "R16G16B16A16_SFLOAT", "R8_UNORM"]
    {
        let size = |rng: &mut Rng| rng.pick(&[3, 4, 8, 13, 64]);
        for _ in 0..150 {
            let images: [TestImage; 2] = std::array::from_fn(|_| {
                let (extent, levels) = ([size(&mut rng), size(&mut rng), 1], 1 + rng.below(2));
                TestImage::new(&mut rng, name, Dim::D2, extent, levels, 1, 1)
            });
            let views = images.each_ref().map(|image| image.view(Dim::D2, false, false));
            let filter = rng.below(2);
            let max_lod = rng.pick(&[0.0, 0.0, 1000.0]);
            let s = Sampler {
                mag_filter: filter,
                min_filter: filter,
                max_lod,
                address_mode: [rng.below(3); 3],
                ..sampler()
            };
            let s = new_sampler(s);
            let mut a = args();
            (a.has_offset, a.kernel) = (0, KERNEL_SAMPLE as u32);
            a.mask = rng.pick(&[0xff, 0xff, 0x72]);
            for lane in 0..MAX_LANES {
                for c in 0..2 {
                    let first = if lane % 4 == 0 { rng.float(-0.2, 1.2) } else { a.coord[c][lane & 4] };
                    let extent = images[lane / 4].memory.layout.desc.extent[c];
                    a.coord[c][lane] = first + (lane >> c & 1) as f32 * rng.float(0.0, 1.2) / extent as f32;
                }
            }
            let order: [&ImageView; MAX_LANES] = std::array::from_fn(|lane| &views[lane / 4]);
            let mut all = a;
            // SAFETY: views, samplers and arguments are valid.
            let done = unsafe {
                image_divergent(
                    order.map(|view| &raw const *view).as_ptr(),
                    [&raw const s; MAX_LANES].as_ptr(),
                    &mut all,
                );
                let mut done = false;
                (views[0].pair)(&[&raw const views[0], &raw const views[1]], &s, &mut { a }, &mut done);
                done
            };
            pairs[usize::from(done)] += 1;
            for lane in (0..MAX_LANES).filter(|lane| a.mask >> lane & 1 != 0) {
                let mut one = a;
                call(order[lane], &s, KERNEL_SAMPLE + s.class as usize, &mut one);
                assert_eq!(lane_of(&all, lane), lane_of(&one, lane), "{name} {lane} {s:?} {a:?}");
            }
            assert_eq!(all.mask, a.mask);
        }
    }
    assert!(pairs[0] > 200 && if SimdLevel::detect().has_512() { pairs[1] > 50 } else { pairs[1] == 0 }, "{pairs:?}");
}
