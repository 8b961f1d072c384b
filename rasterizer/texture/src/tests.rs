//! Kernels against the oracle of `base::sample`, over random images, views, samplers and
//! coordinates.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use crate::sampler_class;
use base::abi::{
    AtomicOp, Dim, ImageArgs, ImageView, KERNEL_ATOMIC, KERNEL_COUNT, KERNEL_FETCH, KERNEL_SAMPLE, KERNEL_STORE,
    LodMode, MAX_LANES, SampleOp, Sampler, TexelKind,
};
use base::format::{Aspect, Format, Texel};
use base::host::SimdLevel;
use base::mem::MemoryRange;
use base::random::Rng;
use base::sample as oracle;
use test_support::image::{TestImage, aspect_of, format};
// The library of this package, whose kernels are compiled already.
use texture::*;

#[cfg(target_arch = "x86_64")]
mod anisotropic;
mod bits;
mod cells;
mod chunks;
mod decoded;
mod descriptors;
mod guard;
mod vector;
mod views;
#[cfg(target_arch = "x86_64")]
mod wide;
mod windows;
mod wrap;
mod ycbcr;

/// Returns the value of a texel outside of an image: 0 in every component that the format has; a
/// missing alpha is 1.
fn outside(format: Format) -> Texel {
    let one = if format.is_integer() { 1 } else { 1f32.to_bits() };
    [0, 0, 0, if format.has_alpha() { 0 } else { one }]
}

/// Views of test images.
trait Views {
    /// Returns a view of the whole image.
    fn view(&self, dim: Dim, arrayed: bool, stencil: bool) -> ImageView;
    /// Returns the request of a view of the whole image.
    fn request(&self, dim: Dim, arrayed: bool, aspect: Aspect) -> ViewRequest<'_>;
}

impl Views for TestImage {
    fn view(&self, dim: Dim, arrayed: bool, stencil: bool) -> ImageView {
        image_view(&self.request(dim, arrayed, aspect_of(self.memory.layout.desc.format, stencil)))
    }

    fn request(&self, dim: Dim, arrayed: bool, aspect: Aspect) -> ViewRequest<'_> {
        let desc = &self.memory.layout.desc;
        ViewRequest {
            memory: &self.memory,
            format: desc.format,
            dim,
            arrayed,
            slices: false,
            levels: (0, desc.levels),
            layers: (0, desc.layers),
            aspect,
            swizzle: [0, 1, 2, 3],
            min_lod: 0.0,
        }
    }
}

fn sampler() -> Sampler {
    Sampler { max_lod: 1000.0, ..*default_sampler() }
}

fn args() -> ImageArgs {
    ImageArgs {
        coord: [[0.0; MAX_LANES]; 4],
        dref: [0.0; MAX_LANES],
        lod: [0.0; MAX_LANES],
        min_lod: [0.0; MAX_LANES],
        grad_x: [[0.0; MAX_LANES]; 3],
        grad_y: [[0.0; MAX_LANES]; 3],
        offset: [[0; MAX_LANES]; 3],
        gather_offsets: [0; 8],
        icoord: [[0; MAX_LANES]; 3],
        level: [0; MAX_LANES],
        sample: [0; MAX_LANES],
        texel: [[0; MAX_LANES]; 4],
        result: [[0; MAX_LANES]; 4],
        mask: 0xff,
        kernel: 0,
        op: SampleOp::Sample,
        lod_mode: LodMode::Explicit,
        component: 0,
        has_gather_offsets: 0,
        atomic_op: AtomicOp::Add,
        has_offset: 1,
        texel_high: [[0; MAX_LANES]; 4],
        result_high: [[0; MAX_LANES]; 4],
        row_lanes: 0,
    }
}

/// Calls a kernel in the variants of all levels that the host has, and asserts that they give the
/// same bits.
fn call(view: &ImageView, sampler: &Sampler, kernel: usize, args: &mut ImageArgs) {
    let before = *args;
    // SAFETY: view, sampler and arguments are valid.
    unsafe { (view.kernels[kernel])(view, sampler, args) };
    for level in SimdLevel::all_supported() {
        let mut other = before;
        // SAFETY: view, sampler and arguments are valid, and the host has the level.
        unsafe { (levels::kernels_of(Format(view.format as u16), level).0[kernel])(view, sampler, &mut other) };
        for lane in (0..MAX_LANES).filter(|l| args.mask >> l & 1 != 0) {
            for c in 0..4 {
                let (a, b) = (args.result[c][lane], other.result[c][lane]);
                assert!(same(a, b), "{level:?} differs: {a:x} {b:x}");
            }
        }
    }
}

const SHAPES: [(Dim, bool); 7] = [
    (Dim::D1, false),
    (Dim::D1, true),
    (Dim::D2, false),
    (Dim::D2, true),
    (Dim::D3, false),
    (Dim::Cube, false),
    (Dim::Cube, true),
];

const FORMATS: [&str; 18] = [
    "R8G8B8A8_UNORM",
    "B8G8R8A8_UNORM",
    "R8G8B8A8_SRGB",
    "B8G8R8A8_SRGB",
    "R8_UNORM",
    "R8G8_SNORM",
    "R32_SFLOAT",
    "R32G32B32A32_SFLOAT",
    "R16G16B16A16_SFLOAT",
    "R5G6B5_UNORM_PACK16",
    "A2B10G10R10_UNORM_PACK32",
    "R16_UNORM",
    "BC1_RGB_UNORM_BLOCK",
    "BC7_SRGB_BLOCK",
    "ETC2_R8G8B8A8_SRGB_BLOCK",
    "EAC_R11G11_SNORM_BLOCK",
    "D16_UNORM",
    "D24_UNORM_S8_UINT",
];

fn random_image(rng: &mut Rng, name: &str, dim: Dim, arrayed: bool) -> TestImage {
    let size = [1, 2, 3, 5, 8, 13];
    let w = rng.pick(&size);
    let extent = match dim {
        Dim::D1 | Dim::Buffer => [w, 1, 1],
        Dim::D2 => [w, rng.pick(&size), 1],
        Dim::D3 => [w, rng.pick(&size), rng.pick(&size)],
        Dim::Cube => [w, w, 1],
    };
    let max = u32::ilog2(extent.into_iter().max().unwrap()) + 1;
    let layers = match (dim, arrayed) {
        (Dim::Cube, false) => 6,
        (Dim::Cube, true) => 12,
        (_, true) => 3,
        _ => 1,
    };
    let levels = 1 + rng.below(max);
    TestImage::new(rng, name, dim, extent, levels, layers, 1)
}

fn random_sampler(rng: &mut Rng) -> Sampler {
    let mut s = sampler();
    s.mag_filter = rng.below(2);
    s.min_filter = if rng.below(2) == 0 { s.mag_filter } else { rng.below(2) };
    s.mipmap_mode = rng.below(2);
    s.address_mode = [rng.below(5), rng.below(5), rng.below(5)];
    s.border_color = [0.25, 0.5, 0.75, 0.125].map(f32::to_bits);
    if rng.below(4) == 0 {
        s.reduction = 1 + rng.below(2);
    }
    new_sampler(s)
}

/// Calls `f` with the oracle's form of an image.
fn with_oracle<R>(image: &TestImage, dim: Dim, arrayed: bool, f: impl FnOnce(&oracle::OracleImage<'_>) -> R) -> R {
    let desc = &image.memory.layout.desc;
    let levels = &image.memory.layout.planes()[0].levels;
    let extents: Vec<_> = levels[..desc.levels as usize].iter().map(|l| l.extent).collect();
    let fetch = |level: usize, layer: u32, at: [u32; 3]| {
        image.texel(level, layer, 0, at, false).map(|c| f64::from(f32::from_bits(c)))
    };
    let mut border = [0.0, 0.0, 0.0, 1.0];
    let present = desc.format.info().channel_count.min(if desc.format.has_depth() { 1 } else { 4 });
    border[..usize::from(present)].copy_from_slice(&[0.25, 0.5, 0.75, 0.125][..usize::from(present)]);
    f(&oracle::OracleImage { dim, arrayed, extents: &extents, layers: desc.layers, fetch: &fetch, border })
}

fn random_coord(rng: &mut Rng, dim: Dim, args: &mut ImageArgs, lane: usize) -> [f64; 4] {
    let range = rng.pick(&[1.0, 2.5]);
    for c in 0..4 {
        args.coord[c][lane] = if dim == Dim::Cube && c < 3 {
            rng.float(-1.0, 1.0)
        } else if c >= 1 && dim == Dim::D1 || c >= 2 && dim == Dim::D2 || c == 3 {
            rng.float(-1.0, 4.0)
        } else {
            rng.float(1.0 - range, range)
        };
    }
    std::array::from_fn(|c| f64::from(args.coord[c][lane]))
}

fn assert_close(got: [u32; 4], want: [f64; 4], what: &dyn std::fmt::Debug) {
    for c in 0..4 {
        let g = f64::from(f32::from_bits(got[c]));
        assert!((g - want[c]).abs() <= 2e-4, "component {c}: {g} instead of {:?}; {what:?}", want);
    }
}

/// Returns true if both have the same bits, or if both are NaN, because filters do not specify
/// which NaN.
fn same(a: u32, b: u32) -> bool {
    a == b || f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
}

fn lane_of(args: &ImageArgs, lane: usize) -> [u32; 4] {
    std::array::from_fn(|c| args.result[c][lane])
}

const DECISIVE: f64 = 1e-3;

#[test]
fn explicit_lod_matches_the_oracle() {
    let mut rng = Rng(0x1234_5678_9abc_def1);
    let mut checked = 0;
    for round in 0..1500 {
        let (dim, arrayed) = SHAPES[round % SHAPES.len()];
        let name = FORMATS[round / SHAPES.len() % FORMATS.len()];
        let image = random_image(&mut rng, name, dim, arrayed);
        let view = image.view(dim, arrayed, false);
        let s = random_sampler(&mut rng);
        let mut a = args();
        let coords: Vec<_> = (0..MAX_LANES).map(|i| random_coord(&mut rng, dim, &mut a, i)).collect();
        for lane in 0..MAX_LANES {
            a.lod[lane] = rng.float(-1.0, 4.0);
            for c in 0..3 {
                a.offset[c][lane] = if dim == Dim::Cube { 0 } else { rng.below(16) as i32 - 8 };
            }
        }
        call(&view, &s, KERNEL_SAMPLE + s.class as usize, &mut a);
        for lane in 0..MAX_LANES {
            let offset = std::array::from_fn(|c| i64::from(a.offset[c][lane]));
            let lambda = f64::from(a.lod[lane]).max(f64::from(s.min_lod));
            let want = with_oracle(&image, dim, arrayed, |o| o.sample(&s, coords[lane], offset, lambda, None));
            let layer_axis = match dim {
                Dim::D1 => 1,
                Dim::Cube => 3,
                _ => 2,
            };
            let layer = coords[lane][layer_axis];
            let near_layer = arrayed && (layer - layer.floor() - 0.5).abs() < DECISIVE;
            if want.margin > DECISIVE && !near_layer {
                checked += 1;
                let extent = image.memory.layout.desc.extent;
                assert_close(lane_of(&a, lane), want.texel, &(name, dim, arrayed, extent, s, coords[lane], lambda));
            }
        }
    }
    assert!(checked > 1500 * MAX_LANES * 3 / 4, "{checked}");
}

#[test]
fn comparisons_and_gathers_match_the_oracle() {
    let mut rng = Rng(0xfeed_beef_1234_4321);
    for round in 0..800 {
        let (dim, arrayed) = [(Dim::D2, false), (Dim::D2, true), (Dim::Cube, false)][round % 3];
        let name = ["D16_UNORM", "D32_SFLOAT", "X8_D24_UNORM_PACK32", "R8G8B8A8_UNORM"][round / 3 % 4];
        let image = random_image(&mut rng, name, dim, arrayed);
        let view = image.view(dim, arrayed, false);
        let mut s = Sampler { reduction: 0, compare_enable: 1, compare_op: rng.below(8), ..random_sampler(&mut rng) };
        s = new_sampler(s);
        let mut a = args();
        a.op = rng.pick(&[SampleOp::SampleDref, SampleOp::GatherDref, SampleOp::Gather]);
        a.component = rng.below(4);
        let coords: Vec<_> = (0..MAX_LANES).map(|i| random_coord(&mut rng, dim, &mut a, i)).collect();
        a.dref = std::array::from_fn(|_| rng.float(0.0, 1.0));
        call(&view, &s, KERNEL_SAMPLE + s.class as usize, &mut a);
        for lane in 0..MAX_LANES {
            let coord = coords[lane];
            if arrayed && (coord[2] - coord[2].floor() - 0.5).abs() < DECISIVE {
                continue;
            }
            let compare = Some((f64::from(a.dref[lane]), s.compare_op));
            let (want, margin, components) = with_oracle(&image, dim, arrayed, |o| match a.op {
                SampleOp::SampleDref => {
                    let r = o.sample(&s, coord, [0; 3], 0.0, compare);
                    (r.texel, r.margin, 1)
                }
                op => {
                    let dref = op == SampleOp::GatherDref;
                    let component = if dref { 0 } else { a.component as usize };
                    let (t, m) = o.gather(&s, coord, [0; 3], component, compare.filter(|_| dref));
                    (t, m, 4)
                }
            });
            if margin > DECISIVE {
                let mut got = lane_of(&a, lane);
                for c in components..4 {
                    got[c] = (want[c] as f32).to_bits();
                }
                assert_close(got, want, &(name, dim, a.op, s, coord));
            }
        }
    }
}

#[test]
fn implicit_lod_and_anisotropy_match_the_oracle() {
    let mut rng = Rng(0x0ddb_a11c_0ffe_e123);
    for round in 0..400 {
        let (dim, arrayed) = [(Dim::D2, false), (Dim::D3, false), (Dim::D1, false)][round % 3];
        let extent = [[64, 32, 1], [16, 8, 8], [64, 1, 1]][round % 3];
        let levels = [7, 5, 7][round % 3];
        let image = TestImage::new(&mut rng, "R8G8B8A8_UNORM", dim, extent, levels, 1, 1);
        let view = image.view(dim, arrayed, false);
        let mut s = random_sampler(&mut rng);
        s.reduction = 0;
        s.lod_bias = rng.pick(&[0.0, 0.75]);
        let anisotropic = dim == Dim::D2 && rng.below(2) == 0;
        if anisotropic {
            (s.max_anisotropy, s.lod_bias) = (rng.pick(&[2.0, 4.0, 16.0]), 0.0);
        }
        s = new_sampler(s);
        let mut a = args();
        a.lod_mode = LodMode::Implicit;
        let d: [[[f32; 3]; 2]; 2] =
            std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| rng.float(-0.1, 0.1))));
        for lane in 0..MAX_LANES {
            for c in 0..3 {
                let q = &d[lane / 4];
                let base = [0.3, 0.4, 0.55][c];
                let (x, y) = ((lane & 1) as f32, (lane >> 1 & 1) as f32);
                a.coord[c][lane] = base + q[0][c] * x + q[1][c] * y;
            }
            a.lod[lane] = if anisotropic { 0.0 } else { 0.125 };
        }
        call(&view, &s, KERNEL_SAMPLE + s.class as usize, &mut a);
        for lane in 0..MAX_LANES {
            let coord: [f64; 4] = std::array::from_fn(|c| f64::from(a.coord[c][lane]));
            let quad = lane & !3;
            let derivative = |other: usize| {
                std::array::from_fn(|c| f64::from(a.coord[c][quad + other]) - f64::from(a.coord[c][quad]))
            };
            let derivatives = [derivative(1), derivative(2)];
            let want = with_oracle(&image, dim, arrayed, |o| {
                if anisotropic {
                    return o.anisotropic(&s, coord, derivatives);
                }
                let lambda = o.lambda_base(derivatives) + f64::from(s.lod_bias) + 0.125;
                o.sample(&s, coord, [0; 3], lambda.max(0.0), None)
            });
            if want.margin > DECISIVE {
                assert_close(lane_of(&a, lane), want.texel, &(dim, anisotropic, s, coord, derivatives));
            }
        }
        a.op = SampleOp::QueryLod;
        call(&view, &s, KERNEL_SAMPLE + s.class as usize, &mut a);
        assert!(f32::from_bits(a.result[0][0]) <= (levels - 1) as f32);
    }
}

#[test]
fn fetches_see_every_texel_and_nothing_else() {
    let mut rng = Rng(0xabcd_ef01_2345_6789);
    for round in 0..600 {
        let (dim, arrayed) = SHAPES[round % SHAPES.len()];
        let name = rng.pick(&[
            "R8G8B8A8_UINT",
            "R32G32B32A32_SINT",
            "R16G16_SFLOAT",
            "BC4_SNORM_BLOCK",
            "D32_SFLOAT_S8_UINT",
            "B10G11R11_UFLOAT_PACK32",
        ]);
        let image = random_image(&mut rng, name, dim, arrayed);
        let stencil = name.contains("S8") && rng.below(2) == 0;
        let view = image.view(dim, arrayed, stencil);
        let desc = image.memory.layout.desc;
        let mut a = args();
        for lane in 0..MAX_LANES {
            for c in 0..3 {
                a.icoord[c][lane] = rng.below(16) as i32 - 1;
            }
            a.level[lane] = rng.below(4) as i32 - 1;
        }
        call(&view, default_sampler(), KERNEL_FETCH, &mut a);
        for lane in 0..MAX_LANES {
            let [x, y, z] = std::array::from_fn(|c| a.icoord[c][lane] as u32);
            let (at, layer) = match (dim, arrayed) {
                (Dim::D1, false) => ([x, 0, 0], 0),
                (Dim::D1, true) => ([x, 0, 0], y),
                (Dim::D2, false) => ([x, y, 0], 0),
                (Dim::D3, _) => ([x, y, z], 0),
                _ => ([x, y, 0], z),
            };
            let level = a.level[lane] as usize;
            let extent = image.memory.layout.planes()[0].levels.get(level).map_or([0; 3], |l| l.extent);
            let inside = level < desc.levels as usize && layer < desc.layers && (0..3).all(|c| at[c] < extent[c]);
            let want =
                if inside { image.texel(level, layer, 0, at, stencil) } else { outside(Format(view.format as u16)) };
            assert_eq!(lane_of(&a, lane), want, "{name} {dim:?} {at:?} {layer} {level}");
        }
    }
}

#[test]
fn multisampled_fetch_store_and_atomic() {
    let mut rng = Rng(77);
    let image = TestImage::new(&mut rng, "R32_UINT", Dim::D2, [5, 3, 1], 1, 2, 4);
    let view = image.view(Dim::D2, true, false);
    let mut a = args();
    for lane in 0..MAX_LANES {
        a.icoord[0][lane] = (lane % 5) as i32;
        a.icoord[1][lane] = (lane % 3) as i32;
        a.icoord[2][lane] = (lane & 1) as i32;
        a.sample[lane] = (lane % 5) as i32;
        a.texel[0][lane] = 1000 + lane as u32;
    }
    // SAFETY: the view and the arguments are valid.
    unsafe { (view.kernels[KERNEL_STORE])(&view, std::ptr::null(), &mut a) };
    call(&view, default_sampler(), KERNEL_FETCH, &mut a);
    for lane in 0..MAX_LANES {
        let inside = lane % 5 < 4;
        assert_eq!(lane_of(&a, lane), [if inside { 1000 + lane as u32 } else { 0 }, 0, 0, 1]);
    }
    a.texel[0] = [5; MAX_LANES];
    for (op, want) in [(AtomicOp::Add, 1005u32), (AtomicOp::Sub, 1000), (AtomicOp::SMin, 5), (AtomicOp::Xor, 0)] {
        a.atomic_op = op;
        a.mask = 1;
        // SAFETY: the view and the arguments are valid.
        unsafe { (view.kernels[KERNEL_ATOMIC])(&view, std::ptr::null(), &mut a) };
        assert_eq!(image.texel(0, 0, 0, [0, 0, 0], false)[0], want, "{op:?}");
    }
}

#[test]
fn buffers_null_views_and_bad_requests() {
    let mut bytes = vec![7u32; 10];
    let view = buffer_view(MemoryRange { address: bytes.as_mut_ptr().cast(), size: 39 }, format("R32_UINT"));
    let mut a = args();
    a.icoord[0] = [0, 8, 9, 10, -1, i32::MAX, 3, 4];
    call(&view, default_sampler(), KERNEL_FETCH, &mut a);
    assert_eq!(a.result[0], [7, 7, 0, 0, 0, 0, 7, 7]);
    assert_eq!(
        a.result[1..],
        [[0; MAX_LANES], [0; MAX_LANES], [1; MAX_LANES]],
        "no such components, inside and outside"
    );
    let mut rng = Rng(5);
    let image = TestImage::new(&mut rng, "R8_UNORM", Dim::D2, [4, 4, 1], 1, 1, 1);
    let bad = ViewRequest { format: format("R32_UINT"), ..image.request(Dim::D2, false, Aspect::Color) };
    for view in [
        &image_view(&bad),
        &image_view(&ViewRequest { format: format("R8_UNORM"), levels: (40, 1), ..bad }),
        null_view(),
    ] {
        for kernel in 0..KERNEL_COUNT {
            (a.result, a.result_high) = ([[9; MAX_LANES]; 4], [[9; MAX_LANES]; 4]);
            // SAFETY: the view and the arguments are valid.
            unsafe { (view.kernels[kernel])(view, default_sampler(), &mut a) };
            assert_eq!((a.result, a.result_high), ([[0; MAX_LANES]; 4], [[0; MAX_LANES]; 4]));
        }
    }
}
