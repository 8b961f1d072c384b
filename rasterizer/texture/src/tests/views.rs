//! Cubes whose faces are filtered as separate images, and views that exclude the finest levels.

use super::*;
use crate::cube;

/// A non-seamless sampler gives on a cube the result that it gives on a face as a layer of an
/// array.
#[test]
fn faces_that_are_not_seamless_are_layers() {
    let mut rng = Rng(0x5eed_cafe);
    let mut edges = 0;
    for round in 0..400 {
        let name = FORMATS[round % FORMATS.len()];
        let image = random_image(&mut rng, name, Dim::Cube, false);
        let (whole, layers) = (image.view(Dim::Cube, false, false), image.view(Dim::D2, true, false));
        let s = Sampler { mag_filter: 1, ..random_sampler(&mut rng) };
        let s = new_sampler(Sampler { min_filter: s.mag_filter, ..s });
        let own = new_sampler(Sampler { non_seamless: 1, ..s });
        let mut a = args();
        for lane in 0..MAX_LANES {
            random_coord(&mut rng, Dim::Cube, &mut a, lane);
            a.lod[lane] = rng.float(-1.0, 3.0);
        }
        a.op = rng.pick(&[SampleOp::Sample, SampleOp::Gather]);
        let (mut faces, mut seamless) = (a, a);
        for lane in 0..MAX_LANES {
            let (face, [u, v]) = cube::project([a.coord[0][lane], a.coord[1][lane], a.coord[2][lane]]);
            (faces.coord[0][lane], faces.coord[1][lane], faces.coord[2][lane]) = (u, v, face as f32);
        }
        call(&whole, &own, KERNEL_SAMPLE + own.class as usize, &mut a);
        call(&layers, &s, KERNEL_SAMPLE + s.class as usize, &mut faces);
        call(&whole, &s, KERNEL_SAMPLE + s.class as usize, &mut seamless);
        for lane in 0..MAX_LANES {
            // The kernels of layers may add in another order.
            let want = lane_of(&faces, lane).map(|bits| f64::from(f32::from_bits(bits)));
            assert_close(lane_of(&a, lane), want, &(round, name, lane, own));
        }
        edges += usize::from(a.result != seamless.result);
    }
    assert!(edges > 100, "{edges} differ from seamless ones");
}

#[test]
fn levels_below_the_least_are_not_accessed() {
    let mut rng = Rng(0x0bad_1e7e1);
    let image = TestImage::new(&mut rng, "R8G8B8A8_UNORM", Dim::D2, [16, 16, 1], 5, 1, 1);
    let plain = image.view(Dim::D2, false, false);
    for min_lod in [0.0, 0.75, 1.0, 2.5] {
        let view = ImageView { min_lod, ..image.view(Dim::D2, false, false) };
        for round in 0..16 {
            let s = new_sampler(Sampler { mipmap_mode: round & 1, mag_filter: 1, min_filter: 1, ..sampler() });
            let mut a = args();
            for lane in 0..MAX_LANES {
                random_coord(&mut rng, Dim::D2, &mut a, lane);
                a.lod[lane] = rng.float(-1.0, 4.0);
            }
            let mut raised = a;
            raised.lod = a.lod.map(|lod| lod.max(min_lod));
            call(&view, &s, KERNEL_SAMPLE + s.class as usize, &mut a);
            call(&plain, &s, KERNEL_SAMPLE + s.class as usize, &mut raised);
            assert_eq!(a.result, raised.result, "{min_lod}");
        }
        // The sampler's level decides whether a sample is magnified, whatever level is accessed.
        let s = new_sampler(Sampler { mag_filter: 1, min_filter: 0, mipmap_mode: 0, ..sampler() });
        let linear = new_sampler(Sampler { min_filter: 1, ..s });
        let mut a = args();
        (0..MAX_LANES).for_each(|lane| _ = random_coord(&mut rng, Dim::D2, &mut a, lane));
        let mut want = a;
        want.lod = [min_lod; MAX_LANES];
        call(&view, &s, KERNEL_SAMPLE + s.class as usize, &mut a);
        call(&plain, &linear, KERNEL_SAMPLE + linear.class as usize, &mut want);
        for lane in 0..MAX_LANES {
            let want = lane_of(&want, lane).map(|bits| f64::from(f32::from_bits(bits)));
            assert_close(lane_of(&a, lane), want, &min_lod);
        }
        let mut a = args();
        a.level = std::array::from_fn(|lane| lane as i32 % 6);
        let mut all = a;
        call(&view, &s, KERNEL_FETCH, &mut a);
        call(&plain, &s, KERNEL_FETCH, &mut all);
        for lane in 0..MAX_LANES {
            let there = a.level[lane] >= min_lod as i32;
            assert_eq!(lane_of(&a, lane), if there { lane_of(&all, lane) } else { [0; 4] }, "{min_lod}, {lane}");
        }
        let mut a = ImageArgs { op: SampleOp::Gather, ..args() };
        call(&view, &s, KERNEL_SAMPLE + s.class as usize, &mut a);
        assert_eq!(a.result == [[0; MAX_LANES]; 4], min_lod >= 1.0, "gathered with {min_lod}");
    }
}

/// Rows for generated code have the texels that kernels fetch inside of the image; views with a
/// mapping or other exceptions have no rows.
#[test]
fn rows_are_what_fetches_give() {
    let mut rng = Rng(0x0bad_0f5e_77e1);
    let names = ["R8G8B8A8_UNORM", "R32_SFLOAT", "R32_UINT", "R32G32B32A32_SINT", "B8G8R8A8_UNORM", "D32_SFLOAT"];
    let dims = [
        (Dim::D1, false),
        (Dim::D1, true),
        (Dim::D2, false),
        (Dim::D2, true),
        (Dim::Cube, false),
        (Dim::Cube, true),
        (Dim::D3, false),
    ];
    let mut found = 0;
    for round in 0..420 {
        let ((dim, arrayed), name) = (dims[round % dims.len()], names[round / dims.len() % names.len()]);
        let image = random_image(&mut rng, name, dim, arrayed);
        let mut view = image.view(dim, arrayed, false);
        let rows = view.rows;
        if name == "B8G8R8A8_UNORM" {
            assert_eq!(rows.kind, TexelKind::None);
            continue;
        }
        assert_ne!(rows.kind, TexelKind::None, "{name} {dim:?}");
        found += 1;
        let bytes = if rows.kind == TexelKind::Words { 16 } else { 4 };
        let mut a = args();
        for lane in 0..MAX_LANES {
            for (c, extent) in [rows.width, rows.height, rows.slices].into_iter().enumerate() {
                a.icoord[c][lane] = rng.below(extent) as i32;
            }
        }
        if (dim, arrayed) == (Dim::D3, false) {
            assert_eq!(rows.slices, image.memory.layout.desc.extent[2]);
        }
        let at = a.icoord;
        call(&view, &sampler(), KERNEL_FETCH, &mut a);
        for lane in 0..MAX_LANES {
            let [x, y, z] = [0, 1, 2].map(|c: usize| at[c][lane] as u64);
            let offset = z * rows.slice_pitch + y * u64::from(rows.row_pitch) + x * bytes;
            let mut block = [0; 16];
            // SAFETY: the texel lies inside of the image, as the kernel's does.
            unsafe { rows.base.add(offset as usize).copy_to_nonoverlapping(block.as_mut_ptr(), bytes as usize) };
            let word =
                |i: usize| u32::from_le_bytes([block[4 * i], block[4 * i + 1], block[4 * i + 2], block[4 * i + 3]]);
            let want = match rows.kind {
                TexelKind::None => unreachable!("asserted"),
                TexelKind::Unorm8 => [0, 1, 2, 3].map(|c: usize| (f32::from(block[c]) / 255.0).to_bits()),
                TexelKind::Float => [word(0), 0, 0, 1f32.to_bits()],
                TexelKind::Word => [word(0), 0, 0, 1],
                TexelKind::Words => [0, 1, 2, 3].map(word),
            };
            assert_eq!(lane_of(&a, lane), want, "{name} {dim:?} {:?}", [x, y, z]);
        }
        assert_eq!(rows.eights, rows.width.saturating_sub(7));
        // These changes affect texels, or remove the level.
        let mut changed = |change: &dyn Fn(&mut ImageView)| {
            let before = (view.swizzle, view.min_lod, view.samples, view.level[0].cell);
            change(&mut view);
            assert_eq!(rows_of(&view).kind, TexelKind::None);
            (view.swizzle, view.min_lod, view.samples, view.level[0].cell) = before;
        };
        changed(&|view| view.swizzle = [0, 1, 2, 5]);
        changed(&|view| view.min_lod = 1.0);
        changed(&|view| view.samples = 4);
        changed(&|view| view.level[0].cell = 1 << 24);
    }
    assert!(found > 300, "{found}");
}
