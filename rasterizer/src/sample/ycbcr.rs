//! Views with a sampler Y'CbCr conversion (specification: "Chroma Reconstruction", "Sampler Y'CbCr Conversion").
//!
//! Each part of such a format (`base::format::parts`) has a view of its own, of a plain format, whose kernels sample and filter it: chroma is reconstructed
//! implicitly, at the coordinates of luma and with a filter of its own. What comes of the parts is mapped, and range expansion and model
//! conversion are one affine map, so that nothing is decided per texel.
//!
//! Invariant: such formats have one level, and whole texels of chroma, so one normalised coordinate names the same place in every part; a cosited sample lies
//! a quarter of its texel further up or left.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::address::mode;
use super::chunks::{ChunkRows, Coords, Results, kernel_of};
use super::kernels::{no_pair, one_by_one};
use super::view::{ViewRequest, default_sampler, image_view, new_sampler, over_plane, tell_residency};
use base::abi::{ImageArgs, ImageView, KERNEL_RESIDENT, KERNEL_SAMPLE, MAX_LANES, SampleOp, Sampler};
use base::format::pack::ONE;
use base::format::parts;
use base::host::{Floats, Host, Ints, Level};
use std::mem::MaybeUninit;

/// `VkSamplerYcbcrModelConversion`, same values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the specification's names")]
pub enum Model {
    RgbIdentity,
    YcbcrIdentity,
    Ycbcr709,
    Ycbcr601,
    Ycbcr2020,
}

impl Model {
    /// All, by their value.
    pub const ALL: [Model; 5] =
        [Model::RgbIdentity, Model::YcbcrIdentity, Model::Ycbcr709, Model::Ycbcr601, Model::Ycbcr2020];

    /// What red and blue weigh in luma (Khronos Data Format Specification, "Color conversions").
    fn weights(self) -> Option<[f64; 2]> {
        match self {
            Model::RgbIdentity | Model::YcbcrIdentity => None,
            Model::Ycbcr709 => Some([0.2126, 0.0722]),
            Model::Ycbcr601 => Some([0.299, 0.114]),
            Model::Ycbcr2020 => Some([0.2627, 0.0593]),
        }
    }
}

/// `VkSamplerYcbcrConversion`, but for the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// `ycbcrModel`.
    pub model: Model,
    /// `ycbcrRange` is ITU_NARROW.
    pub narrow: bool,
    /// `components`, as a view's swizzle.
    pub components: [u8; 4],
    /// `xChromaOffset` and `yChromaOffset` are COSITED_EVEN.
    pub cosited: [bool; 2],
    /// `chromaFilter` is LINEAR.
    pub linear: bool,
}

/// Red, green and blue, each as the sum of red, green, blue and 1 with these weights.
type Affine = [[f32; 4]; 3];

impl Conversion {
    /// Range expansion and model conversion of components of `bits` bits.
    fn affine(&self, bits: u8) -> Affine {
        if self.model == Model::RgbIdentity {
            return [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
        }
        let (most, step) = ((1u64 << bits) as f64 - 1.0, (1u64 << (bits - 8)) as f64);
        // Scale and offset of luma, and of chroma.
        let [luma, chroma] = match self.narrow {
            false => [[1.0, 0.0], [1.0, -128.0 * step / most]],
            true => [[most / (219.0 * step), -16.0 / 219.0], [most / (224.0 * step), -128.0 / 224.0]],
        };
        // Of Cr, Y, Cb.
        let model = match self.model.weights() {
            None => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            Some([red, blue]) => {
                let (green, cr, cb) = (1.0 - red - blue, 2.0 * (1.0 - red), 2.0 * (1.0 - blue));
                [[cr, 1.0, 0.0], [-red * cr / green, 1.0, -blue * cb / green], [0.0, 1.0, cb]]
            }
        };
        model.map(|[cr, y, cb]: [f64; 3]| {
            let offset = y * luma[1] + (cr + cb) * chroma[1];
            [cr * chroma[0], y * luma[0], cb * chroma[0], offset].map(|weight| weight as f32)
        })
    }
}

/// What is sampled at once.
struct Source {
    view: ImageView,
    /// What is added to the coordinates; -0.0 changes nothing.
    offset: [f32; 2],
}

/// What the kernels of a view know of its conversion.
pub struct Parts {
    /// Luma first.
    sources: Vec<Source>,
    /// Of those behind the first.
    sampler: Sampler,
    /// For R, G, B, A, mapped: the part that has it and its component there, or the bits that it always has.
    components: [Result<[usize; 2], u32>; 4],
    affine: Affine,
}

/// Most parts of a format.
const MOST: usize = 3;

/// How many chunks are sampled before they are converted: what comes of their parts stays in the nearest cache.
const CHUNKS: usize = 16;

/// A view, and what it points to.
pub struct ConvertedView {
    /// As generated code sees it.
    pub view: Box<ImageView>,
    /// What that points to.
    parts: Option<Box<Parts>>,
}

impl ConvertedView {
    /// As [`tell_residency`].
    pub fn tell_residency(&mut self, residency: *const u8) {
        let Some(parts) = &mut self.parts else { return };
        parts.sources.iter_mut().for_each(|source| tell_residency(&mut source.view, residency));
        self.view.conversion = (&raw const **parts).cast();
        self.view.kernels[KERNEL_RESIDENT] = resident;
    }
}

/// A view of all of an image's planes with a conversion. The request's aspect and swizzle mean nothing. A request that does not fit its image
/// gives a view whose kernels give zeros.
pub fn converted_view(request: &ViewRequest<'_>, conversion: &Conversion) -> ConvertedView {
    match try_converted_view(request, conversion) {
        Some((mut view, parts)) => {
            let parts = Box::new(parts);
            view.conversion = (&raw const *parts).cast();
            ConvertedView { view: Box::new(view), parts: Some(parts) }
        }
        // No plane has this aspect.
        None => ConvertedView { view: Box::new(image_view(&ViewRequest { levels: (0, 0), ..*request })), parts: None },
    }
}

fn try_converted_view(request: &ViewRequest<'_>, conversion: &Conversion) -> Option<(ImageView, Parts)> {
    let layout = &*request.memory.layout;
    let request = ViewRequest { swizzle: [0, 1, 2, 3], ..*request };
    let size = layout.desc.extent;
    let mut sources = Vec::new();
    // A component that no part has is 0, and alpha 1.
    let mut components = [Err(0), Err(0), Err(0), Err(ONE)];
    for (i, part) in parts(request.format).into_iter().enumerate().take(MOST) {
        let (plane, row) = (layout.planes().get(part.plane)?, request.format.info().planes().get(part.plane)?);
        // A plane's texels are the part's, but of a packed format the image's.
        let [width, height] = [part.subsampling.0, part.subsampling.1].map(u32::from);
        let per_texel = [width / u32::from(row.subsampling.0), height / u32::from(row.subsampling.1)];
        let view = over_plane(&request, plane, part.format, per_texel)?;
        let cosited = |axis: usize, subsampling: u32| match subsampling > 1 && conversion.cosited[axis] {
            true => 0.5 / size[axis] as f32,
            false => -0.0,
        };
        sources.push(Source { view, offset: [cosited(0, width), cosited(1, height)] });
        for (to, from) in components.iter_mut().zip(part.components) {
            if let Some(component) = from {
                *to = Ok([i, usize::from(component & 3)]);
            }
        }
    }
    let mut view = over_plane(&request, layout.planes().first()?, request.format, [1; 2])?;
    view.kernels[KERNEL_SAMPLE..].fill(converted(Level::here()));
    (view.pair, view.chunks) = (no_pair, converted_chunks(Level::here()));
    let filter = u32::from(conversion.linear);
    let sampler = Sampler {
        mag_filter: filter,
        min_filter: filter,
        address_mode: [mode::CLAMP_TO_EDGE; 3],
        ..*default_sampler()
    };
    let affine = conversion.affine(request.format.component_bits());
    let components = conversion.components.map(|source| match source {
        0..=3 => components[usize::from(source)],
        5 => Err(ONE),
        _ => Err(0),
    });
    Some((view, Parts { sources, sampler: new_sampler(sampler), components, affine }))
}

base::compiled! {
    /// Samples of any sampler.
    pub(super) unsafe extern "C" fn converted (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
        sample::<H>(&*(*view).conversion.cast::<Parts>(), &*sampler, &mut *args);
    }
    /// Plain ones of many chunks.
    pub(super) unsafe extern "C" fn converted_chunks
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs, coords: *const f32, results: *mut u32, chunks: u32) {
        let parts = &*(*view).conversion.cast::<Parts>();
        if (*args).op != SampleOp::Sample {
            return one_by_one(view, sampler, args, coords, results, chunks);
        }
        let row_lanes = (*args).row_lanes;
        if row_lanes == MAX_LANES as u32 {
            let coords = core::slice::from_raw_parts(coords.cast::<Coords>(), chunks as usize);
            let results = core::slice::from_raw_parts_mut(results.cast::<Results>(), chunks as usize);
            for (coords, results) in coords.chunks(CHUNKS).zip(results.chunks_mut(CHUNKS)) {
                convert::<H>(parts, &*sampler, &mut *args, coords, results);
            }
            return;
        }
        let mut rows = ChunkRows::new(coords, results, chunks, row_lanes);
        let (mut coords, mut results) = ([Coords::default(); CHUNKS], [Results::default(); CHUNKS]);
        while let Some(first) = rows.next() {
            let mut chunks = [first; CHUNKS];
            let mut count = 1;
            while count < CHUNKS && let Some(next) = rows.next() {
                chunks[count] = next;
                count += 1;
            }
            coords.iter_mut().zip(&chunks[..count]).for_each(|(coords, chunk)| chunk.read(coords));
            convert::<H>(parts, &*sampler, &mut *args, &coords[..count], &mut results[..count]);
            results.iter().zip(&chunks[..count]).for_each(|(results, chunk)| chunk.write(results));
        }
    }
}

/// `KERNEL_RESIDENT` of views of sparse images: a sample accesses all parts.
unsafe extern "C" fn resident(view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: the kernel's contract; the view has a conversion.
    unsafe {
        let (parts, args) = (&*(*view).conversion.cast::<Parts>(), &mut *args);
        let (place, mut all) = (args.coord, [1; MAX_LANES]);
        for (i, source) in parts.sources.iter().enumerate() {
            for ((to, from), offset) in args.coord.iter_mut().zip(place).zip(source.offset) {
                *to = from.map(|coord| coord + offset);
            }
            let sampler = if i == 0 { sampler } else { &raw const parts.sampler };
            (source.view.kernels[KERNEL_RESIDENT])(&raw const source.view, sampler, args);
            all.iter_mut().zip(args.result[0]).for_each(|(all, one)| *all &= one);
        }
        (args.coord, args.result[0]) = (place, all);
    }
}

/// # Safety
/// The host is `H`; the views are valid.
#[inline(always)]
unsafe fn sample<H: Host>(parts: &Parts, sampler: &Sampler, args: &mut ImageArgs) {
    let luma = &parts.sources[0].view;
    match args.op {
        SampleOp::Sample => {
            let place: Coords = [args.coord[0], args.coord[1]].map(|axis| axis.map(f32::to_bits));
            let mut result = [[[0; MAX_LANES]; 4]];
            // SAFETY: the caller's promise.
            unsafe { convert::<H>(parts, sampler, args, &[place], &mut result) };
            [args.result] = result;
        }
        // SAFETY: a view and its kernel.
        SampleOp::QueryLod => unsafe { kernel_of(luma, sampler)(luma, sampler, args) },
        // No valid program has others.
        _ => args.result = [[0; MAX_LANES]; 4],
    }
}

/// Samples chunks, at most [`CHUNKS`]: part by part, then all are converted. The arguments' first two coordinates are the last chunk's, if any, and results anything.
///
/// # Safety
/// The host is `H`; the views are valid.
#[inline(always)]
unsafe fn convert<H: Host>(
    parts: &Parts,
    sampler: &Sampler,
    args: &mut ImageArgs,
    coords: &[Coords],
    results: &mut [Results],
) {
    let mut moved: [MaybeUninit<Coords>; CHUNKS] = [const { MaybeUninit::uninit() }; CHUNKS];
    let mut texels: [[MaybeUninit<Results>; CHUNKS]; MOST] =
        [const { [const { MaybeUninit::uninit() }; CHUNKS] }; MOST];
    let chunks = coords.len().min(CHUNKS);
    args.row_lanes = MAX_LANES as u32;
    for (i, (source, texels)) in parts.sources.iter().zip(&mut texels).enumerate() {
        let mut from = coords.as_ptr();
        if source.offset.iter().any(|&offset| offset != 0.0) {
            for (to, coords) in moved.iter_mut().zip(coords) {
                let mut at = *coords;
                for (axis, offset) in at.iter_mut().zip(source.offset) {
                    for lane in 0..MAX_LANES {
                        axis[lane] = (f32::from_bits(axis[lane]) + offset).to_bits();
                    }
                }
                to.write(at);
            }
            from = moved.as_ptr().cast();
        }
        let sampler = if i == 0 { sampler } else { &parts.sampler };
        // SAFETY: a view and its kernel; as many rows of both.
        unsafe {
            (source.view.chunks)(&source.view, sampler, args, from.cast(), texels.as_mut_ptr().cast(), chunks as u32)
        };
    }
    if let Some([x, y]) = coords.last() {
        (args.coord[0], args.coord[1]) = (x.map(f32::from_bits), y.map(f32::from_bits));
    }
    let constants = parts.components.map(|component| [component.err().unwrap_or(0); MAX_LANES]);
    for (chunk, to) in results.iter_mut().enumerate() {
        let component = |c: usize| match parts.components[c] {
            // SAFETY: the part's kernel has written it.
            Ok([part, component]) => unsafe { &texels[part][chunk].assume_init_ref()[component] },
            Err(_) => &constants[c],
        };
        let [r, g, b] = [component(0), component(1), component(2)];
        let [r, g, b] = [H::Ints::of(*r).as_floats(), H::Ints::of(*g).as_floats(), H::Ints::of(*b).as_floats()];
        for c in 0..3 {
            let [red, green, blue, offset] = parts.affine[c];
            let [red, green] = [H::Floats::splat(red), H::Floats::splat(green)];
            let [blue, offset] = [H::Floats::splat(blue), H::Floats::splat(offset)];
            to[c] = (green * g + offset + red * r + blue * b).bits().lanes();
        }
        to[3] = *component(3);
    }
}
