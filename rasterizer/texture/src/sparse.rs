//! Views of images whose levels are cut into cells (`base::image::SparseGrid`): those with sparse
//! residency.
//!
//! They have separate kernels, so that no other view's kernels depend on cells. The general kernel
//! of a class with cells ([`SparseClass`]) filters texel by texel. Operations on single texels go
//! cell by cell: the lanes that have their texels in a cell see the cell's slice as a separate
//! image. They use the kernel for views of images in one piece.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

#[cfg(target_arch = "x86_64")]
use super::avx512::image_texels::ImageTexels;
use super::compressed::AnyCompressed;
use super::memory::{TexelMemory, ValidView};
use super::scalar;
use super::slice::Slice;
use super::sparse_block::SparseBlock;
use super::texel::{AnyClass, Texels};
use base::abi::{Dim, ImageArgs, ImageLevel, ImageView, MAX_LANES, SampleOp, Sampler, TexelRows};
use base::format::lanes::Lanes;
use base::format::pack::ONE;
use base::format::{Format, Texel};
use base::host::Ints;
use base::limits::MAX_LEVELS;

/// The texel class of any format in an image with cells.
pub struct SparseClass;

impl Texels for SparseClass {
    #[cfg(target_arch = "x86_64")]
    type TexelSource = ImageTexels;
    type Shared = Self;

    const IS_SPARSE: bool = true;

    #[inline(always)]
    fn texel(view: ValidView<'_>, slice: TexelMemory<'_>, row_pitch: u64, x: u32, y: u32) -> Texel {
        match Format(view.format as u16).is_compressed() {
            true => AnyCompressed::texel(view, slice, row_pitch, x, y),
            false => AnyClass::texel(view, slice, row_pitch, x, y),
        }
    }

    /// Does nothing, because the kernels of views in one piece store to cells.
    #[inline(always)]
    fn store<V: Ints>(_: ValidView<'_>, _: &Slice<'_>, _: V, _: V, _: &Lanes) {}
}

/// Calls the kernel (a number below `KERNEL_SAMPLE`) of a view in one piece, once for each cell
/// that has texels of some lanes.
pub fn access<const KERNEL: usize>(view: ValidView<'_>, args: &mut ImageArgs) {
    let mut rest = args.mask & ((1 << MAX_LANES) - 1);
    let (mask, coords, level) = (args.mask, args.icoord, args.level);
    let place = |lane: usize| place(&view, level[lane], coords.map(|c| c[lane]));
    let (mut result, mut high) = ([[0; MAX_LANES]; 4], [[0; MAX_LANES]; 4]);
    while rest != 0 {
        let first = place(rest.trailing_zeros() as usize);
        args.mask = 0;
        for lane in 0..MAX_LANES {
            if rest >> lane & 1 != 0 && place(lane).map(|(cell, _)| cell) == first.map(|(cell, _)| cell) {
                args.mask |= 1 << lane;
                if let Some((cell, _)) = first {
                    let [x, y] = cell.inside(coords[0][lane] as u32, coords[1][lane] as u32);
                    (args.icoord[0][lane], args.icoord[1][lane]) = (x as i32, y as i32);
                }
            }
        }
        args.level = [0; MAX_LANES];
        let alone = alone(view, first);
        // SAFETY: the view has a part of the memory of a valid view, and that view's format.
        let piece = unsafe { ValidView::new(&raw const alone) };
        piece.kernel_of_piece(KERNEL).call(piece, None, args);
        for lane in (0..MAX_LANES).filter(|lane| args.mask >> lane & 1 != 0) {
            for c in 0..4 {
                (result[c][lane], high[c][lane]) = (args.result[c][lane], args.result_high[c][lane]);
            }
        }
        rest &= !args.mask;
        (args.icoord, args.level) = (coords, level);
    }
    (args.mask, args.result, args.result_high) = (mask, result, high);
}

/// The texel class whose texels are 1 in all components if they are bound to memory, and 0
/// otherwise, in any format.
struct ResidencyClass;

impl Texels for ResidencyClass {
    #[cfg(target_arch = "x86_64")]
    type TexelSource = ImageTexels;
    type Shared = Self;

    const IS_SPARSE: bool = true;
    const IS_MAPPED: bool = false;

    #[inline(always)]
    fn texel(view: ValidView<'_>, slice: TexelMemory<'_>, row_pitch: u64, x: u32, y: u32) -> Texel {
        let info = Format(view.format as u16).info();
        let at = u64::from(y / u32::from(info.block.1)) * row_pitch
            + u64::from(x / u32::from(info.block.0)) * u64::from(info.block_bytes);
        let from_base = (slice.range().0.addr() - view.base.addr()) as u64;
        let bound = view.is_bound(from_base + at);
        [if bound { ONE } else { 0 }; 4]
    }

    #[inline(always)]
    fn store<V: Ints>(_: ValidView<'_>, _: &Slice<'_>, _: V, _: V, _: &Lanes) {}
}

/// Reports the residency of sparse resources (`KERNEL_RESIDENT`). Texels outside of an image are
/// resident, and so is a border.
pub fn resident(view: ValidView<'_>, sampler: Option<&Sampler>, args: &mut ImageArgs) {
    let Some(sampler) = sampler else {
        args.result[0] = std::array::from_fn(|lane| u32::from(is_resident(view, args, lane)));
        return;
    };
    // The minimum over the footprint is 0 if any texel is not bound; comparison is disabled.
    let mut sampler = *sampler;
    (sampler.reduction, sampler.compare_enable, sampler.border_color) = (1, 0, [ONE; 4]);
    let (op, component) = (args.op, args.component);
    let gathers = op == SampleOp::ResidentGather;
    (args.op, args.component) = (if gathers { SampleOp::Gather } else { SampleOp::Sample }, 3);
    scalar::sample::<ResidencyClass>(view, &sampler, args);
    (args.op, args.component) = (op, component);
    for lane in 0..MAX_LANES {
        let seen = [0, 1, 2, 3].map(|c| args.result[c][lane] != 0);
        // The last component of an integer border may be 1, so a border counts as resident by its
        // nonzero bits.
        args.result[0][lane] = u32::from(if gathers { seen == [true; 4] } else { seen[3] });
    }
}

/// Returns true if a fetched texel is bound to memory.
fn is_resident(view: ValidView<'_>, args: &ImageArgs, lane: usize) -> bool {
    let coords = args.icoord.map(|c| c[lane]);
    let (slice, pitch, [x, y]) = if view.dim == Dim::Buffer {
        if coords[0] as u32 >= view.texels {
            return true;
        }
        (view.memory(0), 0, [coords[0] as u32, 0])
    } else {
        let Some((cell, level)) = place(&view, args.level[lane], coords) else { return true };
        (view.memory(cell.offset), level.row_pitch, cell.inside(coords[0] as u32, coords[1] as u32))
    };
    let [bound, ..] = ResidencyClass::texel(view, slice, pitch, x, y);
    bound != 0
}

/// Returns the cell and the level of a texel; `None` if the texel lies outside.
fn place(view: &ImageView, level: i32, [x, y, z]: [i32; 3]) -> Option<(SparseBlock, &ImageLevel)> {
    let (z, layer) = match (view.dim, view.arrayed != 0) {
        (Dim::D2, true) | (Dim::Cube, _) => (0, z as u32),
        (Dim::D3, _) => (z as u32, 0),
        _ => (0, 0),
    };
    let level = usize::try_from(level).ok().filter(|&l| l < view.levels as usize && l >= view.min_lod as usize)?;
    let (l, [x, y]) = (&view.level[level], [x, y].map(|c| c as u32));
    let inside = x < l.width && y < l.height && z < l.depth && layer < view.layers;
    inside.then(|| (SparseBlock::containing(view, l, layer, [x, y, z]), l))
}

/// Returns a view of a cell's slice; without a cell, a view without texels that is otherwise like
/// `view`.
fn alone(view: ValidView<'_>, at: Option<(SparseBlock, &ImageLevel)>) -> ImageView {
    let mut level = [ImageLevel::default(); MAX_LEVELS];
    let mut part = view.memory(0);
    if let Some((cell, of)) = at {
        let rest = |i: usize, all: u32| cell.size[i].min(all - cell.origin[i]);
        let (width, height) = (rest(0, of.width), rest(1, of.height));
        level[0] = ImageLevel { row_pitch: of.row_pitch, width, height, depth: 1, ..ImageLevel::default() };
        part = view.memory(cell.offset);
    }
    let (base, size) = part.range();
    ImageView {
        rows: TexelRows::NONE,
        kernels: view.kernels,
        pair: view.pair,
        chunks: view.chunks,
        taps: view.taps,
        base,
        size,
        layer_stride: 0,
        sample_stride: 0,
        format: view.format,
        dim: Dim::D2,
        arrayed: 0,
        levels: 1,
        layers: 1,
        samples: 1,
        swizzle: view.swizzle,
        stencil_aspect: 0,
        min_lod: 0.0,
        texels: 0,
        outside_alpha: view.outside_alpha,
        residency: std::ptr::null(),
        of_piece: view.of_piece,
        conversion: std::ptr::null(),
        level,
    }
}
