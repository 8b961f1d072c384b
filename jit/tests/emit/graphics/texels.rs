//! Tests that texels that generated code reads and writes itself equal those of the kernels.
//!
//! The results of a shader with a view whose rows generated code may use are compared with those of
//! the same view without them, at all widths and on all tiers.

use super::*;
use base::limits::MAX_LEVELS;
use core::cell::Cell;
use jit_test_support::ir_random::Rng;

const EXTENT: [u32; 3] = [37, 9, 3];
const KINDS: [TexelKind; 4] = [TexelKind::Unorm8, TexelKind::Float, TexelKind::Word, TexelKind::Words];

thread_local! {
    /// Number of kernel calls by this thread.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// An image of three slices in a page of the heap that ends with it.
struct Image {
    texels: Vec<u32>,
    rows: TexelRows,
}

impl Image {
    fn new(kind: TexelKind, seed: u64) -> Image {
        let words = if kind == TexelKind::Words { 4 } else { 1 };
        let row_words = EXTENT[0] as usize * words + 3;
        let mut rng = Rng::new(seed);
        let count = row_words * (EXTENT[1] * EXTENT[2]) as usize - 3;
        let mut texels: Vec<u32> = (0..count).map(|_| rng.next() as u32).collect();
        let rows = TexelRows {
            base: texels.as_mut_ptr().cast(),
            slice_pitch: u64::from(EXTENT[1]) * row_words as u64 * 4,
            row_pitch: row_words as u32 * 4,
            kind,
            width: EXTENT[0],
            height: EXTENT[1],
            slices: EXTENT[2],
            eights: EXTENT[0] - 7,
        };
        Image { texels, rows }
    }

    /// Returns a view with rows for generated code, of this kind, or only for the kernels, which
    /// find the image's properties in their own fields.
    fn view(&self, shown: TexelKind) -> ImageView {
        ImageView {
            rows: TexelRows { kind: shown, ..self.rows },
            kernels: {
                let mut kernels: [ImageKernel; KERNEL_COUNT] = [fetch; KERNEL_COUNT];
                kernels[KERNEL_STORE] = store;
                kernels
            },
            base: self.rows.base,
            format: self.rows.kind as u32,
            dim: Dim::D3,
            arrayed: 0,
            levels: 1,
            of_piece: [fetch; KERNEL_SAMPLE],
            level: [ImageLevel {
                slice_pitch: self.rows.slice_pitch,
                row_pitch: self.rows.row_pitch.into(),
                ..ImageLevel::default()
            }; MAX_LEVELS],
            ..super::view(1)
        }
    }
}

/// Calls a function with each active lane and its texel, if there is one.
fn each_lane(view: &ImageView, args: &mut ImageArgs, mut f: impl FnMut(&mut ImageArgs, usize, Option<*mut u32>)) {
    CALLS.set(CALLS.get() + 1);
    let mask = args.mask;
    for lane in (0..MAX_LANES).filter(|lane| mask >> lane & 1 != 0) {
        assert_eq!([args.level[lane], args.sample[lane]], [0; 2]);
        let at = [0, 1, 2].map(|c: usize| args.icoord[c][lane] as u32);
        let inside = at.iter().zip(EXTENT).all(|(c, extent)| *c < extent);
        let words = if view.format == TexelKind::Words as u32 { 4 } else { 1 };
        let [x, y, z] = at.map(u64::from);
        let offset =
            (x * words * 4).wrapping_add((y * view.level[0].row_pitch).wrapping_add(z * view.level[0].slice_pitch));
        f(args, lane, inside.then(|| view.base.wrapping_add(offset as usize).cast()));
    }
}

#[base::code_fn]
unsafe extern "code" fn fetch(view: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: generated code calls this kernel with valid pointers to the view and the
    // arguments.
    let (view, args) = unsafe { (&*view, &mut *args) };
    let words = |p: *mut u32, n: usize| -> [u32; 4] {
        // SAFETY: `p` points to a texel inside the image, which has at least `n` words.
        std::array::from_fn(|i| if i < n { unsafe { p.add(i).read() } } else { 0 })
    };
    each_lane(view, args, |args, lane, texel| {
        let texel = texel.map_or([0; 4], |p| match view.format {
            1 => words(p, 1)[0].to_le_bytes().map(|byte| (f32::from(byte) / 255.0).to_bits()),
            2 => [words(p, 1)[0], 0, 0, 1f32.to_bits()],
            3 => [words(p, 1)[0], 0, 0, 1],
            _ => words(p, 4),
        });
        (0..4).for_each(|c| args.result[c][lane] = texel[c]);
    });
}

#[base::code_fn]
unsafe extern "code" fn store(view: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: generated code calls this kernel with valid pointers to the view and the
    // arguments.
    let (view, args) = unsafe { (&*view, &mut *args) };
    each_lane(view, args, |args, lane, texel| {
        let Some(p) = texel else { return };
        let words = [0, 1, 2, 3].map(|c: usize| args.texel[c][lane]);
        // A NaN becomes 0.
        let unorm = |bits: u32| (f32::from_bits(bits).clamp(0.0, 1.0) * 255.0).round_ties_even() as u32;
        // SAFETY: `p` points to a texel inside the image, whose format has this many words.
        unsafe {
            match view.format {
                1 => p.write(words.iter().rev().fold(0, |all, &c| all << 8 | unorm(c))),
                2 | 3 => p.write(words[0]),
                _ => p.cast::<[u32; 4]>().write(words),
            }
        }
    });
}

/// Returns the layout of two images behind four buffers.
fn layout() -> PipelineLayoutInfo {
    let mut layout = buffers_layout(4);
    layout.sets.push(vec![]);
    for binding in 0..2 {
        let offset = binding * DESCRIPTOR_SIZE as u32;
        let kind = DescriptorKind::StorageImage;
        layout.sets[1].push(BindingLayout { binding, kind, offset, count: 1, variable: false, dynamic_index: 0 });
    }
    layout
}

fn texel_ty(kind: TexelKind) -> Ty {
    if kind == TexelKind::Word { Ty::I32 } else { Ty::F32 }
}

fn fetched(b: &mut Builder<'_>, kind: TexelKind, binding: u32, coords: &[Value]) -> Vec<Value> {
    let zero = b.u32(0);
    let image = b.op(Op::ImageDesc { set: 1, binding }, &[zero], Ty::Img);
    let op = Op::ImageFetch { coords: coords.len() as u8, level: false, sample: false, kind };
    let args: Vec<Value> = [image].iter().chain(coords).copied().collect();
    let inst = b.inst(op, &args, &[texel_ty(kind); 4]);
    b.shader.insts[inst].results().collect()
}

/// Form of the coordinates of a test's shader.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Coordinates from buffers, each lane with its own.
    Varying,
    /// x from a buffer, y equal for all lanes.
    Row,
    /// x is the number of the invocation plus an offset; y is equal for all lanes.
    Affine,
    /// Coordinates are the invocation's position in a workgroup of eight columns, plus an offset.
    Tile,
}

/// Builds a shader that fetches at coordinates, stores the texel to a buffer and a computed texel
/// to the other image. With `some`, some lanes do so only if a buffer says so.
fn compute(kind: TexelKind, form: Form, coords: usize, some: bool) -> Shader {
    crate::emit_common::shader([8, 4, 1], |b| {
        let at = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let uniform = |b: &mut Builder<'_>, i: u32| {
            let i = b.u32(i);
            get(b, 2, i, Ty::I32)
        };
        let moved = |b: &mut Builder<'_>, c: u8, by: Value| {
            let c = b.builtin(Builtin::LocalInvocationId(c), Ty::I32);
            b.binary(Binary::IAdd, c, by)
        };
        let [more, row, slice] = [0, 1, 2].map(|i| uniform(b, i));
        let x = match form {
            Form::Affine => b.binary(Binary::IAdd, at, more),
            Form::Tile => moved(b, 0, more),
            Form::Varying | Form::Row => get(b, 0, at, Ty::I32),
        };
        let y = match form {
            Form::Varying => get(b, 1, at, Ty::I32),
            Form::Tile => moved(b, 1, row),
            Form::Row | Form::Affine => row,
        };
        let at_least = b.u32(5);
        let active = b.cmp(Cmp::ULt, at_least, at);
        let all = b.bool(true);
        let active = if some { active } else { all };
        b.if_(
            active,
            &[],
            |b| {
                let coords = &[x, y, slice][..coords];
                let texel = fetched(b, kind, 0, coords);
                let four = b.u32(4);
                let first = b.binary(Binary::IMul, at, four);
                for (i, &c) in texel.iter().enumerate() {
                    let i = b.u32(i as u32);
                    let to = b.binary(Binary::IAdd, first, i);
                    put(b, 3, to, c);
                }
                let zero = b.u32(0);
                let image = b.op(Op::ImageDesc { set: 1, binding: 1 }, &[zero], Ty::Img);
                let changed: Vec<Value> = match kind {
                    TexelKind::Unorm8 => {
                        // Some of them are beyond all bounds, or NaN.
                        let words = get(b, 0, at, Ty::F32);
                        let by = b.f32(1.7);
                        let less = b.f32(-0.3);
                        let mut all: Vec<Value> =
                            texel.iter().map(|&c| b.op(Op::Fma, &[c, by, less], Ty::F32)).collect();
                        all[1] = words;
                        all
                    }
                    _ => vec![texel[3], texel[0], texel[1], texel[0]],
                };
                let op = Op::ImageStore { coords: coords.len() as u8, sample: false, kind };
                let args: Vec<Value> = [image].iter().chain(coords).chain(&changed).copied().collect();
                b.inst(op, &args, &[]);
                Term::default()
            },
            |_| Term::default(),
        );
    })
}

/// Returns coordinates of 32 lanes: rows, nearly rows, and any.
fn coordinates(rng: &mut Rng) -> [Vec<u32>; 2] {
    let mut out = [vec![], vec![]];
    for _ in 0..4 {
        let row = !rng.next().is_multiple_of(4);
        let first = [(rng.next() % 36) as i32 - 4, (rng.next() % 11) as i32 - 1];
        for lane in 0..8 {
            let at = match row {
                true => [first[0] + lane, first[1]],
                false => [(rng.next() % 44) as i32 - 3, (rng.next() % 12) as i32 - 1],
            };
            out.iter_mut().zip(at).for_each(|(list, c)| list.push(c as u32));
        }
    }
    if rng.next().is_multiple_of(3) {
        let lane = rng.next() as usize % 32;
        let wild = [0, 1 << 31, u32::MAX, 1 << 30, 36, 0x7fc0_0000][rng.next() as usize % 6];
        out[rng.next() as usize % 2][lane] = wild;
    }
    out
}

/// Returns the results of a dispatch (the buffer and the written image), and the number of kernel
/// calls.
fn dispatched(
    stage: &base::shader::CompiledStage,
    buffers: &[Vec<u8>],
    kind: TexelKind,
    shown: TexelKind,
) -> (Vec<u8>, Vec<u32>, usize) {
    let (from, to) = (Image::new(kind, 1), Image::new(kind, 2));
    let views = [from.view(shown), to.view(shown)];
    let descriptors = [0, 1].map(|i: usize| ImageDescriptor { view: &views[i], sampler: std::ptr::null() });
    let mut env = Environment::new(buffers, &[]);
    env.context.sets[1] = descriptors.as_ptr().cast();
    CALLS.set(0);
    dispatch(stage, &mut env, [1, 1, 1]);
    (env.buffer(3), to.texels.clone(), CALLS.get())
}

/// Returns [`CONFIGURATIONS`], and chunks of two rows.
fn with_two_rows() -> impl Iterator<Item = (usize, Tier)> {
    CONFIGURATIONS.into_iter().chain(Tier::ALL.map(|tier| (2 * MAX_LANES, tier)))
}

#[test]
fn workgroup_rows_equal_kernel_results() {
    let mut rng = Rng::new(77);
    let forms = [
        (Form::Varying, 2),
        (Form::Row, 2),
        (Form::Row, 3),
        (Form::Affine, 1),
        (Form::Affine, 2),
        (Form::Affine, 3),
        (Form::Tile, 2),
        (Form::Tile, 3),
    ];
    let mut calls = [[0; 2]; 2];
    for kind in KINDS {
        for (i, (form, coords)) in forms.into_iter().enumerate() {
            let some = i % 2 == 1;
            let s = compute(kind, form, coords, some);
            for (lanes, tier) in with_two_rows() {
                let stage = compile_tier(&s, &layout(), lanes as u32, tier);
                for _ in 0..12 {
                    let [x, y] = coordinates(&mut rng);
                    let uniform =
                        [(rng.next() % 40) as u32 - 20, (rng.next() % 12) as u32 - 1, (rng.next() % 5) as u32 - 1]
                            .map(|c| if rng.next().is_multiple_of(3) { 1 } else { c });
                    let buffers = [words(x), words(y), words(uniform), vec![0; 32 * 16]];
                    let want = dispatched(&stage, &buffers, kind, TexelKind::None);
                    let got = dispatched(&stage, &buffers, kind, kind);
                    let what = (kind, form, coords, some, lanes, tier, uniform);
                    assert_eq!(as_words(&got.0), as_words(&want.0), "fetched, {what:?}");
                    assert_eq!(got.1, want.1, "stored, {what:?}");
                    assert!(got.2 <= want.2);
                    if lanes >= 8 && tier == Tier::Full {
                        let [all, left] = &mut calls[usize::from(lanes > 8)];
                        (*all, *left) = (*all + want.2, *left + got.2);
                    }
                    // A view of another kind is not read by generated code itself.
                    let other = KINDS[(kind as usize) % KINDS.len()];
                    let other = dispatched(&stage, &buffers, kind, other);
                    assert_eq!(other, want, "another kind, {what:?}");
                }
            }
        }
    }
    assert!(calls.iter().all(|[all, left]| *left < all * 3 / 4), "calls with and without rows: {calls:?}");
}

/// Checks texels at the positions of the fragments, and beside them.
#[test]
fn fragment_quads_equal_kernel_results() {
    for kind in KINDS {
        let s = shader(Stage::Fragment, &[], 12, |b| {
            let [x, y] = [0, 1].map(|c| {
                let c = b.builtin(Builtin::FragCoord(c), Ty::F32);
                b.convert(Convert::FToS, c, Ty::I32)
            });
            let [right, below] = [(0, x), (1, y)].map(|(i, c)| {
                let i = b.u32(i);
                let by = get(b, 2, i, Ty::I32);
                b.binary(Binary::IAdd, c, by)
            });
            // In the first columns there are no squares.
            let most = b.i32(9);
            let clamped = b.binary(Binary::SMax, x, most);
            let turned = b.binary(Binary::IAdd, y, clamped);
            for (slot, coords) in [(0, [right, below]), (4, [clamped, y]), (8, [clamped, turned])] {
                let texel = fetched(b, kind, 0, &coords);
                texel.iter().zip(slot..).for_each(|(&c, slot)| out(b, slot, c));
            }
        });
        let mut calls = [[0; 2]; 2];
        for (lanes, tier) in with_two_rows() {
            let stage = compile_tier(&s, &layout(), lanes as u32, tier);
            for by in [[0i32, 0], [3, -1], [-2, 1], [30, 2]] {
                let run = |shown: TexelKind| {
                    let image = Image::new(kind, 5);
                    let views = [image.view(shown), image.view(shown)];
                    let descriptors =
                        [0, 1].map(|i: usize| ImageDescriptor { view: &views[i], sampler: std::ptr::null() });
                    let mut env =
                        Environment::new(&[vec![0; 4], vec![0; 4], words(by.map(|c| c as u32)), vec![0; 4]], &[]);
                    env.context.sets[1] = descriptors.as_ptr().cast();
                    let list = [[0u32; 3]];
                    let primitive = primitive(&list, 2);
                    let quads: Vec<FragmentQuad> = (0..21u16)
                        .map(|q| FragmentQuad {
                            x: 2 * (q % 7),
                            y: 2 * (q / 7),
                            coverage: 0x1111,
                            sample: FragmentBatch::CENTRE,
                            primitive: &primitive,
                        })
                        .collect();
                    CALLS.set(0);
                    (run_stage(&stage, &mut env, &quads, 1), CALLS.get())
                };
                let (want, got) = (run(TexelKind::None), run(kind));
                assert_eq!(got.0, want.0, "{kind:?}, {lanes} lanes, {tier:?}, {by:?}");
                if lanes >= 8 && tier == Tier::Full {
                    let [all, left] = &mut calls[usize::from(lanes > 8)];
                    (*all, *left) = (*all + want.1, *left + got.1);
                }
            }
        }
        assert!(calls.iter().all(|[all, left]| *left < all * 9 / 10), "calls with and without rows: {calls:?}");
    }
}
