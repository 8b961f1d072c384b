//! The kernel for all samples against the general kernel, which samples lane by lane, bit by bit.

use super::*;
use base::format::{Layout, TABLE, features};

/// Returns the formats that are sampled, those with one plane.
fn formats() -> Vec<&'static str> {
    let own = |layout: Layout| !matches!(layout, Layout::MultiPlanar | Layout::Packed422);
    let sampled = TABLE.iter().filter(|row| row.image_features & features::SAMPLED_IMAGE != 0 && own(row.layout));
    sampled.filter(|row| Format(position(row.name)).long_integers() == 0).map(|row| row.name).collect()
}

fn position(name: &str) -> u16 {
    format(name).0
}

/// Returns a sampler of any class.
fn any_sampler(rng: &mut Rng) -> Sampler {
    let mut s = random_sampler(rng);
    (s.min_lod, s.max_lod) = (rng.pick(&[0.0, 0.0, 0.5]), rng.pick(&[0.0, 1.25, 1000.0, 1000.0]));
    s.lod_bias = rng.pick(&[0.0, 0.75, -0.5]);
    s.max_anisotropy = rng.pick(&[1.0, 1.0, 1.0, 3.5, 16.0]);
    s.compare_op = rng.below(8);
    s.non_seamless = rng.below(2);
    s.unnormalized = u32::from(rng.below(8) == 0);
    new_sampler(s)
}

/// Returns coordinates of quads, near and far; some are NaN.
fn any_args(rng: &mut Rng, dim: Dim) -> ImageArgs {
    let mut a = args();
    a.mask = rng.pick(&[0xff, 0xff, 0xff, 0x0f, 0x52, 0x80]);
    a.lod_mode = rng.pick(&[LodMode::Explicit, LodMode::Implicit, LodMode::Grad]);
    a.has_offset = u32::from(dim != Dim::Cube && rng.below(2) == 0);
    let scale = rng.pick(&[0.02, 0.2, 1.0]);
    for c in 0..4 {
        for quad in 0..2 {
            let (base, dx, dy) = (rng.float(-1.5, 2.5), rng.float(-scale, scale), rng.float(-scale, scale));
            for lane in 4 * quad..4 * quad + 4 {
                a.coord[c][lane] = base + dx * (lane & 1) as f32 + dy * (lane >> 1 & 1) as f32;
                if c < 3 {
                    (a.grad_x[c][lane], a.grad_y[c][lane]) = (dx * rng.float(0.5, 1.0), dy);
                    a.offset[c][lane] = if a.has_offset != 0 { rng.below(16) as i32 - 8 } else { 0 };
                }
            }
        }
    }
    for lane in 0..MAX_LANES {
        a.lod[lane] = rng.float(-1.0, 3.0);
        a.dref[lane] = rng.float(-0.25, 1.25);
        if rng.below(64) == 0 {
            a.coord[rng.below(4) as usize][lane] =
                rng.pick(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3e9, -1e30, 1.0, 0.0, -0.0]);
        }
    }
    a
}

/// Sets an operation that a shader may use on such a view.
fn any_op(rng: &mut Rng, dim: Dim, name: &str, a: &mut ImageArgs) {
    let gathers = matches!(dim, Dim::D2 | Dim::Cube);
    let depth = !format(name).is_integer();
    a.op = match rng.below(6) {
        0 if depth => SampleOp::SampleDref,
        1 if depth && gathers => SampleOp::GatherDref,
        2 if gathers => SampleOp::Gather,
        3 => SampleOp::QueryLod,
        _ => SampleOp::Sample,
    };
    a.component = rng.below(4);
    if matches!(a.op, SampleOp::Gather | SampleOp::GatherDref) && dim == Dim::D2 && rng.below(2) == 0 {
        a.has_gather_offsets = 1;
        a.gather_offsets = std::array::from_fn(|_| rng.below(16) as i32 - 8);
    }
}

/// Samples views of a format, and asserts that all levels of the host give the bits of the general
/// kernel.
fn check(rng: &mut Rng, name: &str, dim: Dim, arrayed: bool) {
    let image = random_image(rng, name, dim, arrayed);
    let mut view = image.view(dim, arrayed, false);
    if rng.below(4) == 0 {
        view.swizzle = [2, 5, 0, 4];
    }
    view.min_lod = rng.pick(&[0.0f32, 0.0, 0.0, 0.5, 1.0]).min((view.levels - 1) as f32);
    let own = Format(view.format as u16);
    for _ in 0..12 {
        let s = any_sampler(rng);
        let mut a = any_args(rng, dim);
        any_op(rng, dim, name, &mut a);
        let mut want = a;
        // SAFETY: view, sampler and arguments are valid; the general kernel supports levels in one
        // piece too.
        unsafe { (levels::sparse_kernels(own, SimdLevel::Portable)[KERNEL_SAMPLE])(&view, &s, &mut want) };
        for level in SimdLevel::all_supported() {
            let (set, taps) = levels::kernels_of(own, level);
            view.taps = taps;
            let mut got = a;
            // SAFETY: view, sampler and arguments are valid, and the host has the level.
            unsafe { (set[KERNEL_SAMPLE + sampler_class::GENERAL as usize])(&view, &s, &mut got) };
            for lane in (0..MAX_LANES).filter(|lane| a.mask >> lane & 1 != 0) {
                let (got, want) = (lane_of(&got, lane), lane_of(&want, lane));
                let same = (0..4).all(|c| same(got[c], want[c]));
                let extent = image.memory.layout.desc.extent;
                assert!(same, "{name} {dim:?} {extent:?} {level:?} lane {lane}: {got:x?} {want:x?} {s:?} {a:?}");
            }
        }
    }
}

#[test]
fn all_samples_have_the_bits_of_the_general_kernel() {
    let mut rng = Rng(0x0a11_1a9e_5000_0001);
    for name in formats() {
        let blocks = format(name).is_compressed();
        for (dim, arrayed) in SHAPES {
            // There are no compressed images of one dimension.
            for _ in 0..if blocks && dim == Dim::D1 { 0 } else { 4 } {
                check(&mut rng, name, dim, arrayed);
            }
        }
    }
}
