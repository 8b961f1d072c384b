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
use super::chunk_batch::{ChunkRows, kernel_of};
use super::kernels::{no_pair, plain_kernels, sampling_kernels};
use super::memory::ValidView;
use super::view::{ViewRequest, default_sampler, image_view, new_sampler, over_plane, set_residency};
use super::words::{Coords, Results};
use base::abi::{ImageArgs, ImageView, KERNEL_RESIDENT, KERNEL_SAMPLE, MAX_LANES, SampleOp, Sampler};
use base::format::pack::ONE;
use base::format::parts;
use base::host::{Floats, Host, Ints, SimdLevel};
use std::cell::Cell;
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

/// Returns the state of a view with a conversion.
#[inline(always)]
fn state_of(view: ValidView<'_>) -> Option<&ConversionState> {
    // SAFETY: the pointer is null, or that of a state that lives as long as the view.
    unsafe { view.conversion.cast::<ConversionState>().as_ref() }
}

impl PartView {
    /// Returns the view of the part.
    #[inline(always)]
    fn valid(&self) -> ValidView<'_> {
        // SAFETY: the part's view is valid while the view with the conversion is, in whose state it
        // lies.
        unsafe { ValidView::new(&raw const self.view) }
    }
}

sampling_kernels! {
    /// Samples with any sampler.
    pub fn converted (host, view, sampler, args) {
        if let Some(parts) = state_of(view) {
            sample(host, parts, sampler, args);
        }
    }
}

base::multiversion! {
    /// Takes plain samples of many chunks.
    pub(super) unsafe extern "code" fn converted_chunks
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs, coords: *const f32, results: *mut u32, chunks: u32) {
        let rows = ChunkRows::new(coords, results, chunks, (*args).row_lanes);
        convert_chunks(HOST, ValidView::new(view), &*sampler, &mut *args, rows);
    }
}

/// Samples many chunks.
#[inline(always)]
fn convert_chunks<H: Host>(
    host: H,
    view: ValidView<'_>,
    sampler: &Sampler,
    args: &mut ImageArgs,
    mut rows: ChunkRows<'_>,
) {
    let Some(parts) = state_of(view).filter(|_| args.op == SampleOp::Sample) else {
        return rows.one_by_one(view, sampler, args, kernel_of(view, sampler));
    };
    if let Some((coords, results)) = rows.in_order() {
        for (coords, results) in coords.chunks(CHUNKS).zip(results.chunks(CHUNKS)) {
            convert(host, parts, sampler, args, coords, results);
        }
        return;
    }
    let (mut coords, results) = ([Coords::default(); CHUNKS], [const { Cell::new([[0; MAX_LANES]; 4]) }; CHUNKS]);
    while let Some(first) = rows.next() {
        let mut chunks = [first; CHUNKS];
        let mut count = 1;
        while count < CHUNKS
            && let Some(next) = rows.next()
        {
            chunks[count] = next;
            count += 1;
        }
        coords.iter_mut().zip(&chunks[..count]).for_each(|(coords, chunk)| *coords = chunk.read());
        convert(host, parts, sampler, args, &coords[..count], &results[..count]);
        results.iter().zip(&chunks[..count]).for_each(|(results, chunk)| chunk.write(&results.get()));
    }
}

plain_kernels! {
    /// Reports the residency of views of sparse images (`KERNEL_RESIDENT`); a sample accesses all
    /// parts.
    fn resident (view, sampler, args) {
        let Some(parts) = state_of(view) else { return };
        let (place, mut all) = (args.coord, [1; MAX_LANES]);
        for (i, source) in parts.sources.iter().enumerate() {
            for ((to, from), offset) in args.coord.iter_mut().zip(place).zip(source.offset) {
                *to = from.map(|coord| coord + offset);
            }
            let sampler = if i == 0 { sampler } else { Some(&parts.sampler) };
            source.valid().kernel(KERNEL_RESIDENT).call(source.valid(), sampler, args);
            all.iter_mut().zip(args.result[0]).for_each(|(all, one)| *all &= one);
        }
        (args.coord, args.result[0]) = (place, all);
    }
}

#[inline(always)]
fn sample<H: Host>(host: H, parts: &ConversionState, sampler: &Sampler, args: &mut ImageArgs) {
    match args.op {
        SampleOp::Sample => {
            let place: Coords = [args.coord[0], args.coord[1]].map(|axis| axis.map(f32::to_bits));
            let result = [Cell::new([[0; MAX_LANES]; 4])];
            convert(host, parts, sampler, args, &[place], &result);
            args.result = result[0].get();
        }
        SampleOp::QueryLod => {
            let luma = parts.sources[0].valid();
            kernel_of(luma, sampler).call(luma, Some(sampler), args);
        }
        // Valid programs use no other operation.
        _ => args.result = [[0; MAX_LANES]; 4],
    }
}

/// Samples at most [`CHUNKS`] chunks part by part, then converts all. It sets the arguments' first
/// two coordinates to those of the last chunk, if any; the arguments' results have no meaning.
#[inline(always)]
fn convert<H: Host>(
    _: H,
    parts: &ConversionState,
    sampler: &Sampler,
    args: &mut ImageArgs,
    coords: &[Coords],
    results: &[Cell<Results>],
) {
    let coords = &coords[..coords.len().min(CHUNKS)];
    let mut texels: [[MaybeUninit<Results>; CHUNKS]; MAX_PARTS] =
        [const { [const { MaybeUninit::uninit() }; CHUNKS] }; MAX_PARTS];
    for (i, (source, texels)) in parts.sources.iter().zip(&mut texels).enumerate() {
        let mut moved;
        let mut from = coords;
        if source.offset.iter().any(|&offset| offset != 0.0) {
            moved = [Coords::default(); CHUNKS];
            for (at, coords) in moved.iter_mut().zip(coords) {
                *at = *coords;
                for (axis, offset) in at.iter_mut().zip(source.offset) {
                    for lane in 0..MAX_LANES {
                        axis[lane] = (f32::from_bits(axis[lane]) + offset).to_bits();
                    }
                }
            }
            from = &moved[..coords.len()];
        }
        let sampler = if i == 0 { sampler } else { &parts.sampler };
        source.valid().sample_chunks(sampler, args, from, texels);
    }
    if let Some([x, y]) = coords.last() {
        (args.coord[0], args.coord[1]) = (x.map(f32::from_bits), y.map(f32::from_bits));
    }
    let constants = parts.components.map(|component| [component.err().unwrap_or(0); MAX_LANES]);
    for (chunk, to) in results.iter().enumerate().take(coords.len()) {
        let component = |c: usize| match parts.components[c] {
            // SAFETY: the part exists, and its kernel has written the chunk.
            Ok([part, component]) => unsafe { &texels[part][chunk].assume_init_ref()[component] },
            Err(_) => &constants[c],
        };
        let [r, g, b] = [component(0), component(1), component(2)];
        let [r, g, b] = [
            H::Ints::from_array(*r).as_floats(),
            H::Ints::from_array(*g).as_floats(),
            H::Ints::from_array(*b).as_floats(),
        ];
        let mut components = [[0; MAX_LANES]; 4];
        for c in 0..3 {
            let [red, green, blue, offset] = parts.affine[c];
            let [red, green] = [H::Floats::splat(red), H::Floats::splat(green)];
            let [blue, offset] = [H::Floats::splat(blue), H::Floats::splat(offset)];
            components[c] = (green * g + offset + red * r + blue * b).bits().to_array();
        }
        components[3] = *component(3);
        to.set(components);
    }
}
