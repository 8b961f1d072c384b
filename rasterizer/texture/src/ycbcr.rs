//! Views with a sampler Y'CbCr conversion (specification: "Chroma Reconstruction", "Sampler Y'CbCr
//! Conversion").
//!
//! Each part of such a format (`base::format::parts`) has its own view of a plain format, whose
//! kernels sample and filter it. Chroma is reconstructed implicitly, at the coordinates of luma and
//! with its own filter. The results of the parts are mapped. Range expansion and model conversion
//! are one affine map, so that nothing is decided per texel.
//!
//! Invariant: such formats have one level, and whole texels of chroma, so that one normalised
//! coordinate names the same place in every part. A cosited sample lies a quarter of its texel
//! further up or left.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::address::mode;
use super::chunk_batch::{ChunkRows, Coords, Results, kernel_of};
use super::kernels::{no_pair, one_by_one};
use super::view::{ViewRequest, default_sampler, image_view, new_sampler, over_plane, set_residency};
use base::abi::{ImageArgs, ImageView, KERNEL_RESIDENT, KERNEL_SAMPLE, MAX_LANES, SampleOp, Sampler};
use base::format::pack::ONE;
use base::format::parts;
use base::host::{Floats, Host, Ints, SimdLevel};
use std::mem::MaybeUninit;

/// Model conversions (`VkSamplerYcbcrModelConversion`, with the same values).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the specification's names")]
pub enum YcbcrModel {
    RgbIdentity,
    YcbcrIdentity,
    Ycbcr709,
    Ycbcr601,
    Ycbcr2020,
}

impl YcbcrModel {
    /// All models by their value.
    pub const ALL: [YcbcrModel; 5] = [
        YcbcrModel::RgbIdentity,
        YcbcrModel::YcbcrIdentity,
        YcbcrModel::Ycbcr709,
        YcbcrModel::Ycbcr601,
        YcbcrModel::Ycbcr2020,
    ];

    /// Returns the weights of red and blue in luma (Khronos Data Format Specification, "Color
    /// conversions").
    fn weights(self) -> Option<[f64; 2]> {
        match self {
            YcbcrModel::RgbIdentity | YcbcrModel::YcbcrIdentity => None,
            YcbcrModel::Ycbcr709 => Some([0.2126, 0.0722]),
            YcbcrModel::Ycbcr601 => Some([0.299, 0.114]),
            YcbcrModel::Ycbcr2020 => Some([0.2627, 0.0593]),
        }
    }
}

/// The parameters of a `VkSamplerYcbcrConversion`, except the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YcbcrConversion {
    /// Model (`ycbcrModel`).
    pub model: YcbcrModel,
    /// True if the range (`ycbcrRange`) is ITU_NARROW.
    pub narrow: bool,
    /// Component mapping (`components`) in the form of a view's swizzle.
    pub components: [u8; 4],
    /// True for x and y if the chroma offset (`xChromaOffset`, `yChromaOffset`) is COSITED_EVEN.
    pub cosited: [bool; 2],
    /// True if `chromaFilter` is LINEAR.
    pub linear: bool,
}

/// An affine map: red, green and blue, each as the sum of red, green, blue and 1 with these
/// weights.
type AffineMap = [[f32; 4]; 3];

impl YcbcrConversion {
    /// Returns range expansion and model conversion of components of `bits` bits.
    fn affine(&self, bits: u8) -> AffineMap {
        if self.model == YcbcrModel::RgbIdentity {
            return [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
        }
        let (max, step) = ((1u64 << bits) as f64 - 1.0, (1u64 << (bits - 8)) as f64);
        // Scale and offset of luma, and of chroma.
        let [luma, chroma] = match self.narrow {
            false => [[1.0, 0.0], [1.0, -128.0 * step / max]],
            true => [[max / (219.0 * step), -16.0 / 219.0], [max / (224.0 * step), -128.0 / 224.0]],
        };
        // The rows have the weights of Cr, Y, Cb.
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

/// A part that is sampled by one view.
struct PartView {
    view: ImageView,
    /// Offset that is added to the coordinates; -0.0 changes nothing.
    offset: [f32; 2],
}

/// The state of a view's conversion, for its kernels.
pub struct ConversionState {
    /// Parts, of which luma is the first one.
    sources: Vec<PartView>,
    /// Sampler of the parts after the first one.
    sampler: Sampler,
    /// Source of R, G, B, A after the mapping: a part and its component, or the bits of a constant.
    components: [Result<[usize; 2], u32>; 4],
    affine: AffineMap,
}

/// Largest number of parts of a format.
const MAX_PARTS: usize = 3;

/// Number of chunks that are sampled before they are converted, so that the results of their parts
/// stay in the nearest cache.
const CHUNKS: usize = 16;

/// A view with the state to which it points.
pub struct ConvertedView {
    /// The view for generated code.
    pub view: Box<ImageView>,
    /// State of the conversion, to which the view points.
    parts: Option<Box<ConversionState>>,
}

impl ConvertedView {
    /// Gives the view a table of resident memory, as [`set_residency`] does.
    pub fn set_residency(&mut self, residency: *const u8) {
        let Some(parts) = &mut self.parts else { return };
        parts.sources.iter_mut().for_each(|source| set_residency(&mut source.view, residency));
        self.view.conversion = (&raw const **parts).cast();
        self.view.kernels[KERNEL_RESIDENT] = resident;
    }
}

/// Makes a view of all of an image's planes with a conversion. The request's aspect and swizzle are
/// ignored. A request that does not fit its image gives a view whose kernels return zeros.
pub fn converted_view(request: &ViewRequest<'_>, conversion: &YcbcrConversion) -> ConvertedView {
    match try_converted_view(request, conversion) {
        Some((mut view, parts)) => {
            let parts = Box::new(parts);
            view.conversion = (&raw const *parts).cast();
            ConvertedView { view: Box::new(view), parts: Some(parts) }
        }
        // A request without levels gives an empty view.
        None => ConvertedView { view: Box::new(image_view(&ViewRequest { levels: (0, 0), ..*request })), parts: None },
    }
}

fn try_converted_view(request: &ViewRequest<'_>, conversion: &YcbcrConversion) -> Option<(ImageView, ConversionState)> {
    let layout = &*request.memory.layout;
    let request = ViewRequest { swizzle: [0, 1, 2, 3], ..*request };
    let size = layout.desc.extent;
    let mut sources = Vec::new();
    // A component that no part has is 0, or 1 for alpha.
    let mut components = [Err(0), Err(0), Err(0), Err(ONE)];
    for (i, part) in parts(request.format).into_iter().enumerate().take(MAX_PARTS) {
        let (plane, row) = (layout.planes().get(part.plane)?, request.format.info().planes().get(part.plane)?);
        // The plane's texels are those of the part; in a packed format they are the image's.
        let [width, height] = [part.subsampling.0, part.subsampling.1].map(u32::from);
        let per_texel = [width / u32::from(row.subsampling.0), height / u32::from(row.subsampling.1)];
        let view = over_plane(&request, plane, part.format, per_texel)?;
        let cosited = |axis: usize, subsampling: u32| match subsampling > 1 && conversion.cosited[axis] {
            true => 0.5 / size[axis] as f32,
            false => -0.0,
        };
        sources.push(PartView { view, offset: [cosited(0, width), cosited(1, height)] });
        for (to, from) in components.iter_mut().zip(part.components) {
            if let Some(component) = from {
                *to = Ok([i, usize::from(component & 3)]);
            }
        }
    }
    let mut view = over_plane(&request, layout.planes().first()?, request.format, [1; 2])?;
    view.kernels[KERNEL_SAMPLE..].fill(converted(SimdLevel::detect()));
    (view.pair, view.chunks) = (no_pair, converted_chunks(SimdLevel::detect()));
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
    Some((view, ConversionState { sources, sampler: new_sampler(sampler), components, affine }))
}

base::multiversion! {
    /// Samples with any sampler.
    pub unsafe extern "code" fn converted (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
        sample::<H>(&*(*view).conversion.cast::<ConversionState>(), &*sampler, &mut *args);
    }
    /// Takes plain samples of many chunks.
    pub(super) unsafe extern "code" fn converted_chunks
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs, coords: *const f32, results: *mut u32, chunks: u32) {
        let parts = &*(*view).conversion.cast::<ConversionState>();
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

/// Reports the residency of views of sparse images (`KERNEL_RESIDENT`); a sample accesses all
/// parts.
#[base::code_fn]
unsafe extern "code" fn resident(view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: a kernel is called with a valid view and a filled argument block; this view has a
    // conversion.
    unsafe {
        let (parts, args) = (&*(*view).conversion.cast::<ConversionState>(), &mut *args);
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
unsafe fn sample<H: Host>(parts: &ConversionState, sampler: &Sampler, args: &mut ImageArgs) {
    let luma = &parts.sources[0].view;
    match args.op {
        SampleOp::Sample => {
            let place: Coords = [args.coord[0], args.coord[1]].map(|axis| axis.map(f32::to_bits));
            let mut result = [[[0; MAX_LANES]; 4]];
            // SAFETY: the host is `H`, and the views are valid (`# Safety`).
            unsafe { convert::<H>(parts, sampler, args, &[place], &mut result) };
            [args.result] = result;
        }
        // SAFETY: view and sampler are valid, and the kernel is one of the view.
        SampleOp::QueryLod => unsafe { kernel_of(luma, sampler)(luma, sampler, args) },
        // Valid programs use no other operation.
        _ => args.result = [[0; MAX_LANES]; 4],
    }
}

/// Samples at most [`CHUNKS`] chunks part by part, then converts all. It sets the arguments' first
/// two coordinates to those of the last chunk, if any; the arguments' results have no meaning.
///
/// # Safety
/// The host is `H`; the views are valid.
#[inline(always)]
unsafe fn convert<H: Host>(
    parts: &ConversionState,
    sampler: &Sampler,
    args: &mut ImageArgs,
    coords: &[Coords],
    results: &mut [Results],
) {
    let mut moved: [MaybeUninit<Coords>; CHUNKS] = [const { MaybeUninit::uninit() }; CHUNKS];
    let mut texels: [[MaybeUninit<Results>; CHUNKS]; MAX_PARTS] =
        [const { [const { MaybeUninit::uninit() }; CHUNKS] }; MAX_PARTS];
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
        // SAFETY: the view is valid, the kernel is its own, and there are as many rows of
        // coordinates as of results.
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
            // SAFETY: the part's kernel has written the chunk.
            Ok([part, component]) => unsafe { &texels[part][chunk].assume_init_ref()[component] },
            Err(_) => &constants[c],
        };
        let [r, g, b] = [component(0), component(1), component(2)];
        let [r, g, b] = [
            H::Ints::from_array(*r).as_floats(),
            H::Ints::from_array(*g).as_floats(),
            H::Ints::from_array(*b).as_floats(),
        ];
        for c in 0..3 {
            let [red, green, blue, offset] = parts.affine[c];
            let [red, green] = [H::Floats::splat(red), H::Floats::splat(green)];
            let [blue, offset] = [H::Floats::splat(blue), H::Floats::splat(offset)];
            to[c] = (green * g + offset + red * r + blue * b).bits().to_array();
        }
        to[3] = *component(3);
    }
}
