//! Fetches, stores and atomics: integer coordinates, which are checked against the level.
//! Out-of-bounds reads give zeros (alpha is 1 if the format has no alpha); out-of-bounds writes are
//! dropped.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::memory::{TexelMemory, ValidView};
use super::slice::Slice;
use super::swizzle::map_lanes;
use super::texel::Texels;
use super::words::row;
use base::abi::{AtomicOp, Dim, ImageArgs, MAX_LANES};
use base::format::Format;
use base::format::float::{f32_to_half, half_to_f32};
use base::format::pack::ONE;
use base::host::{Host, Ints};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

const NONE: [i32; MAX_LANES] = [0; MAX_LANES];

/// An iterator over the slices of the view, with the lanes that access each.
struct SliceIterator<'a> {
    view: ValidView<'a>,
    level: &'a [i32; MAX_LANES],
    sample: &'a [i32; MAX_LANES],
    /// Columns, rows, depth slices and layers.
    coord: [&'a [i32; MAX_LANES]; 4],
    rest: u32,
}

impl<'a> SliceIterator<'a> {
    /// Starts with the coordinates, levels and samples of a call's arguments.
    #[inline(always)]
    fn new(view: ValidView<'a>, args: &'a ImageArgs) -> SliceIterator<'a> {
        let [x, y, z] = &args.icoord;
        let coord = match (view.dim, view.arrayed != 0) {
            (Dim::Buffer, _) | (Dim::D1, false) => [x, &NONE, &NONE, &NONE],
            (Dim::D1, true) => [x, &NONE, &NONE, y],
            (Dim::D2, false) => [x, y, &NONE, &NONE],
            (Dim::D2, true) | (Dim::Cube, _) => [x, y, &NONE, z],
            (Dim::D3, _) => [x, y, z, &NONE],
        };
        let rest = args.mask & ((1 << MAX_LANES) - 1);
        SliceIterator { view, level: &args.level, sample: &args.sample, coord, rest }
    }

    /// Returns the slice of the next lane, which is empty if the view has no such slice. Its mask
    /// has all lanes that access the slice.
    #[inline(always)]
    fn next<H: Host>(&mut self, host: H) -> Option<Slice<'a>> {
        if self.rest == 0 {
            return None;
        }
        let view = self.view;
        if view.dim == Dim::Buffer {
            let mask = std::mem::take(&mut self.rest);
            return Some(Slice { memory: view.memory(0), pitch: 0, size: [view.texels, 1], mask });
        }
        let lane = self.rest.trailing_zeros() as usize % MAX_LANES;
        let rows = [self.level, self.sample, self.coord[2], self.coord[3]];
        let zero = H::Ints::splat(0);
        let (mut differs, mut at) = (zero, [0; 4]);
        for (at, lanes) in at.iter_mut().zip(rows) {
            *at = lanes[lane] as u32;
            differs = differs | (row(host, lanes) ^ H::Ints::splat(*at));
        }
        let mask = self.rest & differs.equal(zero).movemask();
        self.rest &= !mask;
        let [level, sample, z, layer] = at;
        // An input attachment of one sample has the same value for all samples of a multisampled
        // pass.
        let sample = if view.samples == 1 { 0 } else { sample };
        let exists =
            level < view.levels && level >= view.min_lod as u32 && sample < view.samples && layer < view.layers;
        if !exists || z >= view.level[level as usize].depth {
            return Some(Slice { memory: view.memory(0), pitch: 0, size: [0; 2], mask });
        }
        let l = &view.level[level as usize];
        let offset = l.offset
            + u64::from(layer) * view.layer_stride
            + u64::from(sample) * view.sample_stride
            + u64::from(z) * l.slice_pitch;
        // Rows are at most 2^14 texels of 16 bytes, so a row pitch has 32 bits.
        Some(Slice { memory: view.memory(offset), pitch: l.row_pitch as u32, size: [l.width, l.height], mask })
    }

    /// Returns the lanes of a slice that lie inside of it.
    #[inline(always)]
    fn inside<H: Host>(&self, host: H, slice: &Slice<'a>) -> InsideLanes<'a, H> {
        let [width, height] = slice.size;
        let (x, y) = (row(host, self.coord[0]), row(host, self.coord[1]));
        let (right, bottom) = (H::Ints::splat(width) - H::Ints::splat(1), H::Ints::splat(height) - H::Ints::splat(1));
        // The sign is set if a coordinate is negative, or lies after the last texel.
        let outside = (x | y | (right - x) | (bottom - y)).sar(31);
        let lanes = H::Ints::from_mask(slice.mask) & outside.equal(H::Ints::splat(0));
        let slice = Slice { mask: lanes.movemask(), ..*slice };
        InsideLanes { slice, lanes, x: x & lanes, y: y & lanes }
    }
}

/// Lanes that access texels inside of a slice.
struct InsideLanes<'a, H: Host> {
    /// The slice, whose mask has the wanted lanes that lie inside.
    slice: Slice<'a>,
    /// All ones in these lanes, 0 in the others.
    lanes: H::Ints,
    /// Columns; 0 for the other lanes.
    x: H::Ints,
    /// Rows; 0 for the other lanes.
    y: H::Ints,
}

/// Fetches texels (`KERNEL_FETCH`).
#[inline(always)]
pub fn fetch<H: Host, T: Texels>(host: H, view: ValidView<'_>, args: &mut ImageArgs) {
    let mut slices = SliceIterator::new(view, args);
    // A texel outside has no value in any component. A format without alpha then gets alpha 1, and
    // the view's mapping applies.
    let zero = H::Ints::splat(0);
    let mut result = [zero, zero, zero, H::Ints::splat(view.outside_alpha)];
    while let Some(slice) = slices.next(host) {
        if slice.size[0] == 0 {
            continue;
        }
        let InsideLanes { slice, lanes, x, y } = slices.inside(host, &slice);
        let words = T::neighbours(host, view, &slice, x, y);
        let texels = T::components::<H::Ints, false>(&words);
        for c in 0..4 {
            result[c] = lanes.select(texels[c], result[c]);
        }
    }
    let one = if Format(view.format as u16).is_integer() { 1 } else { ONE };
    map_lanes(&view, &mut args.result, result, one);
}

/// Stores texels (`KERNEL_STORE`).
#[inline(always)]
pub fn store<H: Host, T: Texels>(host: H, view: ValidView<'_>, args: &mut ImageArgs) {
    let mut slices = SliceIterator::new(view, args);
    while let Some(slice) = slices.next(host) {
        if slice.size[0] == 0 {
            continue;
        }
        let InsideLanes { slice, x, y, .. } = slices.inside(host, &slice);
        let [r, g, b, a] = &args.texel;
        let texels =
            [row(host, r).to_array(), row(host, g).to_array(), row(host, b).to_array(), row(host, a).to_array()];
        T::store::<H::Ints>(view, &slice, x, y, &texels);
    }
}

/// Calls a function with every active lane that lies inside, in order, and the memory from its
/// texel of `BYTES` bytes on.
#[inline(always)]
fn for_each_texel<H: Host, const BYTES: usize>(
    host: H,
    view: ValidView<'_>,
    args: &ImageArgs,
    mut function: impl FnMut(usize, TexelMemory<'_>),
) {
    let mut slices = SliceIterator::new(view, args);
    while let Some(slice) = slices.next(host) {
        if slice.size[0] == 0 {
            continue;
        }
        let InsideLanes { slice, x, y, .. } = slices.inside(host, &slice);
        let (x, y) = (x.to_array(), y.to_array());
        for i in (0..MAX_LANES).filter(|&i| slice.wants(i)) {
            // The offset can exceed 32 bits in slices of large texels.
            let offset = u64::from(y[i]) * u64::from(slice.pitch) + u64::from(x[i]) * BYTES as u64;
            function(i, slice.memory.from(offset));
        }
    }
}

/// Fetches texels of `N` 64-bit integers (`KERNEL_FETCH`); results have high words.
#[inline(always)]
pub fn fetch_long<H: Host, const N: usize, const BYTES: usize>(host: H, view: ValidView<'_>, args: &mut ImageArgs) {
    let (mut low, mut high) = ([[0; MAX_LANES]; 4], [[0; MAX_LANES]; 4]);
    low[3] = [view.outside_alpha; MAX_LANES];
    for_each_texel::<H, BYTES>(host, view, args, |i, texel| {
        let texel: [[u32; 2]; N] = texel.read(0);
        low[3][i] = 1;
        for c in 0..N {
            [low[c][i], high[c][i]] = texel[c].map(u32::from_le);
        }
    });
    (args.result, args.result_high) = (low, high);
}

/// Stores texels of `N` 64-bit integers (`KERNEL_STORE`); texels have high words.
#[inline(always)]
pub fn store_long<H: Host, const N: usize, const BYTES: usize>(host: H, view: ValidView<'_>, args: &ImageArgs) {
    for_each_texel::<H, BYTES>(host, view, args, |i, texel| {
        let words: [[u32; 2]; N] = std::array::from_fn(|c| [args.texel[c][i], args.texel_high[c][i]].map(u32::to_le));
        texel.write(words);
    });
}

/// Executes atomics on texels of one 32-bit component (`KERNEL_ATOMIC`).
#[inline(always)]
pub fn atomic<H: Host>(host: H, view: ValidView<'_>, args: &mut ImageArgs) {
    let mut result = [0; MAX_LANES];
    for_each_texel::<H, 4>(host, view, args, |i, texel| {
        let Some(cell) = texel.atomic(0) else { return };
        result[i] = apply(cell, args.atomic_op, args.texel[0][i], args.texel[1][i]);
    });
    args.result[0] = result;
}

/// Executes atomics on texels of one 64-bit integer (`KERNEL_ATOMIC`); operands and result have
/// high words.
#[inline(always)]
pub fn atomic_long<H: Host>(host: H, view: ValidView<'_>, args: &mut ImageArgs) {
    long(host, view, args, apply_long)
}

/// Executes an operation on texels of 64 bits, given cell, operation, value and comparator. The
/// result is the old value.
#[inline(always)]
fn long<H: Host>(
    host: H,
    view: ValidView<'_>,
    args: &mut ImageArgs,
    apply: impl Fn(&AtomicU64, AtomicOp, u64, u64) -> u64,
) {
    let (mut low, mut high) = ([0; MAX_LANES], [0; MAX_LANES]);
    for_each_texel::<H, 8>(host, view, args, |i, texel| {
        let Some(cell) = texel.atomic_long(0) else { return };
        let operand = |n: usize| u64::from(args.texel[n][i]) | u64::from(args.texel_high[n][i]) << 32;
        let old = apply(cell, args.atomic_op, operand(0), operand(1));
        (low[i], high[i]) = (old as u32, (old >> 32) as u32);
    });
    (args.result[0], args.result_high[0]) = (low, high);
}

/// Executes atomics on texels of two halves (`KERNEL_ATOMIC`); operand and result have one word.
#[inline(always)]
pub fn atomic_halves<H: Host>(host: H, view: ValidView<'_>, args: &mut ImageArgs) {
    let mut result = [0; MAX_LANES];
    for_each_texel::<H, 4>(host, view, args, |i, texel| {
        let Some(cell) = texel.atomic(0) else { return };
        let value = args.texel[0][i];
        let update = |old: u32| Some(halves(args.atomic_op, old.into(), value.into()) as u32);
        result[i] = cell.fetch_update(Relaxed, Relaxed, update).unwrap_or_default();
    });
    args.result[0] = result;
}

/// Executes atomics on texels of four halves (`KERNEL_ATOMIC`); operand and result have high words.
#[inline(always)]
pub fn atomic_four_halves<H: Host>(host: H, view: ValidView<'_>, args: &mut ImageArgs) {
    let apply = |cell: &AtomicU64, op, value, _| {
        cell.fetch_update(Relaxed, Relaxed, |old| Some(halves(op, old, value))).unwrap_or_default()
    };
    long(host, view, args, apply)
}

/// Returns the result of an operation on halves: an exchange, or a float operation in binary32 that
/// is rounded once.
#[inline(always)]
fn halves(op: AtomicOp, old: u64, value: u64) -> u64 {
    if op == AtomicOp::Exchange {
        return value;
    }
    let mut new = 0;
    for shift in [0, 16, 32, 48] {
        let [old, value] = [old, value].map(|x| half_to_f32((x >> shift) as u32 & 0xffff));
        new |= u64::from(f32_to_half(float(op, old, value))) << shift;
    }
    new
}

/// Executes an atomic on an integer of any width; the standard library's methods have the same
/// names for all widths.
macro_rules! apply_integer {
    ($cell:expr, $op:expr, $value:expr, $comparator:expr, $signed:ty, $float:expr) => {{
        let (cell, value) = ($cell, $value);
        let signed = |f: fn($signed, $signed) -> $signed| {
            cell.fetch_update(Relaxed, Relaxed, |old| Some(f(old as $signed, value as $signed) as _))
                .unwrap_or_default()
        };
        match $op {
            AtomicOp::Exchange => cell.swap(value, Relaxed),
            AtomicOp::CompareExchange => {
                cell.compare_exchange($comparator, value, Relaxed, Relaxed).unwrap_or_else(|current| current)
            }
            AtomicOp::Add => cell.fetch_add(value, Relaxed),
            AtomicOp::Sub => cell.fetch_sub(value, Relaxed),
            AtomicOp::SMin => signed(<$signed>::min),
            AtomicOp::SMax => signed(<$signed>::max),
            AtomicOp::UMin => cell.fetch_min(value, Relaxed),
            AtomicOp::UMax => cell.fetch_max(value, Relaxed),
            AtomicOp::And => cell.fetch_and(value, Relaxed),
            AtomicOp::Or => cell.fetch_or(value, Relaxed),
            AtomicOp::Xor => cell.fetch_xor(value, Relaxed),
            AtomicOp::Load => cell.load(Relaxed),
            AtomicOp::Store => {
                cell.store(value, Relaxed);
                0
            }
            AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax => $float,
        }
    }};
}

/// Executes one atomic operation and returns the old value (the loaded one for `Load`, 0 for
/// `Store`). Atomics are relaxed, because ordering comes from barriers, as in Vulkan's memory
/// model.
#[inline(always)]
pub fn apply(cell: &AtomicU32, op: AtomicOp, value: u32, comparator: u32) -> u32 {
    apply_integer!(cell, op, value, comparator, i32, {
        let update = |old: u32| Some(float(op, f32::from_bits(old), f32::from_bits(value)).to_bits());
        cell.fetch_update(Relaxed, Relaxed, update).unwrap_or_default()
    })
}

/// Executes [`apply`] on a 64-bit integer, which has no float operations.
#[inline(always)]
pub fn apply_long(cell: &AtomicU64, op: AtomicOp, value: u64, comparator: u64) -> u64 {
    apply_integer!(cell, op, value, comparator, i64, cell.load(Relaxed))
}

/// Returns the value that a float operation writes, with the same rule as generated code: a number
/// takes precedence over a NaN.
#[inline(always)]
fn float(op: AtomicOp, old: f32, value: f32) -> f32 {
    match op {
        AtomicOp::FMin if old.is_nan() || value < old => value,
        AtomicOp::FMax if old.is_nan() || value > old => value,
        AtomicOp::FMin | AtomicOp::FMax => old,
        _ => old + value,
    }
}
