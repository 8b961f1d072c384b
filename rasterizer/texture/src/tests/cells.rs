//! Images whose levels are cut into cells against images with the same texels in one piece:
//! samples, fetches, stores, atomics. (`transfer` tests copies, clears and blits.)

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::*;
use base::image::SPARSE_BLOCK_BYTES;
use test_support::image::CELL_IMAGES;

#[test]
fn samples_and_fetches_see_the_same() {
    let mut rng = Rng(0x0bad_5eed_1234_9876);
    for of in CELL_IMAGES {
        let [straight, cells] = TestImage::in_both_layouts(&mut rng, of);
        let arrayed = of.4 > 1;
        let views = [&straight, &cells].map(|image| image.view(of.1, arrayed, false));
        for round in 0..150 {
            let mut s = sampler();
            (s.mag_filter, s.min_filter, s.mipmap_mode) = (rng.below(2), rng.below(2), rng.below(2));
            s.address_mode = [0; 3].map(|_| rng.below(5));
            let s = new_sampler(s);
            let mut a = args();
            a.mask = rng.pick(&[0xff, 0x5a, 0x01]);
            a.op = if of.1 == Dim::D2 && round % 3 == 0 { SampleOp::Gather } else { SampleOp::Sample };
            for lane in 0..MAX_LANES {
                (0..3)
                    .for_each(|c| a.coord[c][lane] = rng.float(-0.5, 1.5) * if c == 2 && arrayed { 3.0 } else { 1.0 });
                (0..3).for_each(|c| a.icoord[c][lane] = rng.below(of.2[c] + 2) as i32 - 1);
                a.icoord[2][lane] = rng.below(if arrayed { of.4 } else { of.2[2] } + 1) as i32;
                a.lod[lane] = rng.float(0.0, of.3 as f32);
                a.level[lane] = rng.below(of.3 + 1) as i32;
            }
            for kernel in [KERNEL_FETCH, KERNEL_SAMPLE + sampler_class::GENERAL as usize] {
                let [want, got] = views.each_ref().map(|view| {
                    let mut a = a;
                    // SAFETY: view, sampler and arguments are valid.
                    unsafe { (view.kernels[kernel])(view, &raw const s, &raw mut a) };
                    a
                });
                for lane in (0..MAX_LANES).filter(|lane| a.mask >> lane & 1 != 0) {
                    let lane_of = |a: &ImageArgs| [0, 1, 2, 3].map(|c| a.result[c][lane]);
                    assert_eq!(lane_of(&want), lane_of(&got), "{of:?} kernel {kernel} lane {lane}");
                }
            }
        }
    }
}

/// A view of one slice of a volume supports fetches, samples and stores at every level.
#[test]
fn slices_are_images() {
    let mut rng = Rng(0x51ce_51ce_0000_0009);
    for of in CELL_IMAGES.into_iter().filter(|of| of.1 == Dim::D3) {
        let [straight, cells] = TestImage::in_both_layouts(&mut rng, of);
        for level in 0..of.3 {
            let depth = straight.memory.layout.planes()[0].levels[level as usize].extent[2];
            for slice in [0, 1, 7, 15, 16, 31, depth - 1].into_iter().filter(|&slice| slice < depth) {
                let views = [&straight, &cells].map(|image| {
                    let request = image.request(Dim::D2, false, Aspect::Color);
                    image_view(&ViewRequest { slices: true, levels: (level, 1), layers: (slice, 1), ..request })
                });
                for kernel in [KERNEL_FETCH, KERNEL_SAMPLE + sampler_class::GENERAL as usize, KERNEL_STORE] {
                    let s = new_sampler(Sampler { mag_filter: 1, ..sampler() });
                    let mut a = args();
                    for lane in 0..MAX_LANES {
                        (0..2).for_each(|c| a.coord[c][lane] = rng.float(0.0, 1.0));
                        (0..2).for_each(|c| a.icoord[c][lane] = rng.below(of.2[c]) as i32);
                        (0..4).for_each(|c| a.texel[c][lane] = rng.float(0.0, 1.0).to_bits());
                    }
                    let [want, got] = views.each_ref().map(|view| {
                        let mut a = a;
                        // SAFETY: view, sampler and arguments are valid.
                        unsafe { (view.kernels[kernel])(view, &raw const s, &raw mut a) };
                        a.result
                    });
                    assert_eq!(want, got, "{of:?} level {level} slice {slice} kernel {kernel}");
                }
            }
        }
        assert!(straight.texels() == cells.texels(), "{of:?}");
    }
}

#[test]
fn stores_and_atomics_go_to_the_same_texels() {
    let mut rng = Rng(0x7777_1111_aaaa_3333);
    for of in CELL_IMAGES.into_iter().filter(|of| !of.0.starts_with("BC")) {
        let [straight, cells] = TestImage::in_both_layouts(&mut rng, of);
        let views = [&straight, &cells].map(|image| image.view(of.1, of.4 > 1, false));
        for _ in 0..100 {
            let mut a = args();
            a.mask = rng.pick(&[0xff, 0xa5]);
            for lane in 0..MAX_LANES {
                (0..3).for_each(|c| a.icoord[c][lane] = rng.below(of.2[c] + 2) as i32 - 1);
                a.icoord[2][lane] = rng.below(if of.4 > 1 { of.4 } else { of.2[2] } + 1) as i32;
                (0..4).for_each(|c| a.texel[c][lane] = rng.float(0.0, 1.0).to_bits());
            }
            let kernel = if of.0 == "R32_UINT" { rng.pick(&[KERNEL_STORE, KERNEL_ATOMIC]) } else { KERNEL_STORE };
            let results = views.each_ref().map(|view| {
                let mut a = a;
                // SAFETY: view and arguments are valid.
                unsafe { (view.kernels[kernel])(view, std::ptr::null(), &raw mut a) };
                (0..MAX_LANES).filter(|lane| a.mask >> lane & 1 != 0).map(|lane| a.result[0][lane]).collect::<Vec<_>>()
            });
            if kernel == KERNEL_ATOMIC {
                assert_eq!(results[0], results[1]);
            }
        }
        assert!(straight.texels() == cells.texels(), "{of:?}");
    }
}

/// The residency code is 1 exactly if all texels with a weight are bound; every second cell is not.
#[test]
fn residency_is_that_of_the_texels_that_are_accessed() {
    let mut rng = Rng(0x4242_1717_9e37_79b9);
    for of in [CELL_IMAGES[2], CELL_IMAGES[6]] {
        let [_, cells] = TestImage::in_both_layouts(&mut rng, of);
        let layout = &cells.memory.layout;
        let table: Vec<u8> = (0..layout.size / SPARSE_BLOCK_BYTES).map(|i| u8::from(i % 2 == 0)).collect();
        // Like a sparse image's memory, the view begins with a granule.
        let mut view = cells.view(of.1, of.4 > 1, false);
        let first = view.base.addr() & !(SPARSE_BLOCK_BYTES as usize - 1);
        let bound = |offset: u64| {
            table[((view.base.addr() + offset as usize - first) / SPARSE_BLOCK_BYTES as usize).min(table.len() - 1)]
        };
        let shifted: Vec<u8> = table.iter().copied().chain([*table.last().unwrap()]).collect();
        let is_bound = |level: u32, layer: u32, at: [u32; 3]| bound(layout.offset(0, level, layer, 0, at)) != 0;
        let texels = |rng: &mut Rng| {
            let level = rng.below(of.3);
            let extent = layout.planes()[0].levels[level as usize].extent;
            (level, rng.below(of.4), extent, extent.map(|n| rng.below(n)))
        };
        let mut codes = [0; 2];
        let mut wanted = Vec::new();
        for _ in 0..400 {
            let (level, layer, extent, at) = texels(&mut rng);
            let mut a = args();
            a.mask = 1;
            a.level[0] = level as i32;
            (0..3).for_each(|c| a.icoord[c][0] = at[c] as i32);
            // The coordinate is the middle of a texel, so that a linear filter samples it alone, or
            // lies between two texels along x.
            let between = u32::from(at[0] + 1 < extent[0]) & rng.below(2);
            (0..3).for_each(|c| a.coord[c][0] = (at[c] as f32 + 0.5) / extent[c] as f32);
            a.coord[0][0] += between as f32 * 0.5 / extent[0] as f32;
            if of.4 > 1 {
                (a.icoord[2][0], a.coord[2][0]) = (layer as i32, layer as f32);
            }
            a.lod[0] = level as f32;
            wanted.push((
                a,
                is_bound(level, layer, at),
                between == 1 && !is_bound(level, layer, [at[0] + 1, at[1], at[2]]),
            ));
        }
        set_residency(&mut view, shifted.as_ptr());
        for (a, fetched, other_is_missing) in wanted {
            let code = |sampler: Option<&Sampler>, op| {
                let mut a = ImageArgs::clone(&a);
                a.op = op;
                let sampler = sampler.map_or(std::ptr::null(), std::ptr::from_ref);
                // SAFETY: view, sampler and arguments are valid.
                unsafe { (view.kernels[base::abi::KERNEL_RESIDENT])(&raw const view, sampler, &raw mut a) };
                a.result[0][0] != 0
            };
            assert_eq!(code(None, SampleOp::Resident), fetched, "{of:?}");
            codes[usize::from(fetched)] += 1;
            let linear = new_sampler(Sampler { mag_filter: 1, min_filter: 1, ..sampler() });
            // Coordinates are rounded, so a texel whose weight is almost 0 may count as not
            // sampled.
            let sampled = code(Some(&linear), SampleOp::Resident);
            assert!(!sampled || fetched && !other_is_missing, "{of:?}: a texel is missing that a sample has seen");
        }
        assert!(codes.iter().all(|&n| n > 50), "{codes:?}");
        // The view has all of its memory.
        let whole = cells.view(of.1, of.4 > 1, false);
        let mut a = args();
        // SAFETY: view and arguments are valid.
        unsafe { (whole.kernels[base::abi::KERNEL_RESIDENT])(&raw const whole, std::ptr::null(), &raw mut a) };
        assert_eq!(a.result[0], [1; MAX_LANES]);
    }
}
