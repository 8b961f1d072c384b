//! Kernels at the ends of mapped memory (see `test_support::guard`), with all formats and shapes:
//! no arguments lead to an address outside of the image.

use super::*;
use base::abi::KERNEL_COUNT;
use base::image::ImageDesc;
use test_support::guard::{Guarded, SIDES, Side, formats};

/// Runs a kernel in the variants of all levels.
fn run(view: &ImageView, sampler: &Sampler, kernel: usize, args: &mut ImageArgs) {
    // A view may have no kernel although its format has one.
    let nothing = view.kernels[kernel] as usize == levels::nothing as *const () as usize;
    for level in SimdLevel::all_supported().take(if nothing { 0 } else { SimdLevel::COUNT }) {
        let kernel = levels::kernels_of(Format(view.format as u16), level).0[kernel];
        // SAFETY: view, sampler and arguments are valid, and the host has the level.
        unsafe { kernel(view, sampler, args) };
    }
}

/// Returns coordinates around and on the borders, and extreme values.
fn wild(rng: &mut Rng) -> f32 {
    match rng.below(8) {
        0 => rng.pick(&[f32::NAN, f32::INFINITY, -f32::INFINITY, 1e30, -1e30, 2147483648.0, 16777217.0]),
        1 => rng.pick(&[0.0, 1.0, -0.0, 0.999_999_94, 1.000_000_1, 0.5]),
        _ => rng.float(-2.0, 3.0),
    }
}

fn near(rng: &mut Rng, extent: u32) -> i32 {
    match rng.below(8) {
        0 => rng.pick(&[-1, extent as i32, i32::MIN, i32::MAX, 1 << 14, -(1 << 20)]),
        1 => extent as i32 - 1,
        2 => 0,
        _ => rng.below(extent) as i32,
    }
}

fn random_args(rng: &mut Rng, extent: [u32; 3]) -> ImageArgs {
    let mut a = args();
    for lane in 0..MAX_LANES {
        for c in 0..4 {
            a.coord[c][lane] = wild(rng);
            a.texel[c][lane] = rng.next_u64() as u32;
        }
        for c in 0..3 {
            a.icoord[c][lane] = near(rng, extent[c]);
            a.grad_x[c][lane] = wild(rng);
            a.grad_y[c][lane] = wild(rng);
            a.offset[c][lane] = rng.below(64) as i32 - 32;
        }
        a.lod[lane] = wild(rng) * 4.0;
        a.min_lod[lane] = wild(rng);
        a.dref[lane] = wild(rng);
        a.level[lane] = near(rng, 3);
        a.sample[lane] = near(rng, 2);
    }
    if rng.below(2) == 0 {
        (a.has_offset, a.offset) = (0, [[0; MAX_LANES]; 3]);
    }
    a.mask = if rng.below(3) == 0 { rng.below(256) } else { 0xff };
    a.op = rng.pick(&[
        SampleOp::Sample,
        SampleOp::Sample,
        SampleOp::SampleDref,
        SampleOp::Gather,
        SampleOp::GatherDref,
        SampleOp::QueryLod,
    ]);
    a.lod_mode = rng.pick(&[LodMode::Implicit, LodMode::Explicit, LodMode::Grad]);
    a.component = rng.below(4);
    a.atomic_op = rng.pick(&[AtomicOp::Add, AtomicOp::Exchange, AtomicOp::CompareExchange, AtomicOp::UMax]);
    a
}

/// Runs every operation of a view with every class of samplers.
fn exercise(rng: &mut Rng, view: &ImageView, extent: [u32; 3]) {
    for kernel in [KERNEL_FETCH, KERNEL_STORE] {
        run(view, default_sampler(), kernel, &mut random_args(rng, extent));
    }
    let one_word = base::format::kernels(Format(view.format as u16)).bytes == 4;
    if one_word {
        let mut a = random_args(rng, extent);
        // SAFETY: view, sampler and arguments are valid.
        unsafe { (view.kernels[KERNEL_ATOMIC])(view, default_sampler(), &mut a) };
    }
    if view.dim == Dim::Buffer {
        return;
    }
    for class in 0..(KERNEL_COUNT - KERNEL_SAMPLE) as u32 {
        let mut s = random_sampler(rng);
        match class {
            sampler_class::ANISOTROPIC => {
                s = Sampler { max_anisotropy: 16.0, mag_filter: 1, min_filter: 1, reduction: 0, ..s };
            }
            c if c < sampler_class::GENERAL => {
                s = Sampler { mag_filter: c, min_filter: c, reduction: 0, ..s };
            }
            _ => {
                s.compare_enable = rng.below(2);
                s.compare_op = rng.below(8);
                s.max_anisotropy = rng.pick(&[1.0, 1.0, 4.0]);
            }
        }
        s.lod_bias = rng.pick(&[0.0, 0.0, -3.5, 7.0]);
        let s = new_sampler(s);
        run(view, &s, KERNEL_SAMPLE + s.class as usize, &mut random_args(rng, extent));
    }
}

#[test]
fn image_kernels_of_all_formats_stay_inside() {
    let mut rng = Rng(0x0dd_ba11_5eed_0001);
    let all: Vec<Format> = formats(|row| row.image_features != 0).collect();
    assert!(all.len() > 60, "{}", all.len());
    for round in 0..all.len() * SHAPES.len() * 4 {
        let format = all[round % all.len()];
        let (dim, arrayed) = SHAPES[round / all.len() % SHAPES.len()];
        let side = SIDES[round / all.len() / SHAPES.len() % 2];
        let mut size = || rng.pick(&[1, 1, 2, 3, 4, 5, 7, 9, 16, 17]);
        let (w, h, d) = (size(), size(), size().min(4));
        let extent = match dim {
            Dim::D1 | Dim::Buffer => [w, 1, 1],
            Dim::D2 => [w, h, 1],
            Dim::D3 => [w, h, d],
            Dim::Cube => [w, w, 1],
        };
        let samples = if dim == Dim::D2 && rng.below(5) == 0 { 4 } else { 1 };
        let max = if samples == 4 { 1 } else { u32::ilog2(extent.into_iter().max().unwrap()) + 1 };
        let levels = 1 + rng.below(max);
        let each = if dim == Dim::Cube { 6 } else { 1 };
        let view_layers = each * if arrayed { 1 + rng.below(2) } else { 1 };
        let before = rng.below(2);
        let layers = if dim == Dim::D3 { 1 } else { view_layers + before };
        let image_dim = if dim == Dim::Cube { Dim::D2 } else { dim };
        let desc = ImageDesc { format, dim: image_dim, extent, levels, layers, samples };
        let mut random = Rng(rng.next_u64() | 1);
        let (_guarded, memory) = Guarded::image(desc, side, &mut random);
        let base_level = rng.below(levels);
        for plane in format.info().planes() {
            let view = image_view(&ViewRequest {
                memory: &memory,
                format,
                dim,
                arrayed,
                slices: false,
                levels: (base_level, levels - base_level),
                layers: (layers - view_layers.min(layers), view_layers.min(layers)),
                aspect: plane.aspect,
                swizzle: rng.pick(&[[0, 1, 2, 3], [3, 2, 1, 0], [4, 5, 0, 0]]),
                min_lod: rng.pick(&[0.0, 0.0, 1.5]),
            });
            assert!(view.levels > 0, "the view is one");
            let extent = [view.level[0].width, view.level[0].height, view.level[0].depth.max(view.layers)];
            exercise(&mut rng, &view, extent);
        }
    }
}

#[test]
fn texel_buffers_of_all_formats_stay_inside() {
    let mut rng = Rng(0x0dd_ba11_5eed_0002);
    let all: Vec<Format> = formats(|row| row.buffer_features != 0).collect();
    assert!(all.len() > 30, "{}", all.len());
    for round in 0..all.len() * 40 {
        let (format, side): (Format, Side) = (all[round % all.len()], SIDES[round / all.len() % 2]);
        // The buffer has whole texels, or a few bytes more that belong to no texel.
        let size = usize::from(format.info().block_bytes) * rng.below(12) as usize + rng.below(3) as usize;
        let mut random = Rng(rng.next_u64() | 1);
        let guarded = Guarded::random(size, side, &mut random);
        let view = buffer_view(guarded.range(), format);
        exercise(&mut rng, &view, [view.texels.max(1), 1, 1]);
    }
}
