//! Fetches, stores and atomics: integer coordinates, checked against the level. Out of bounds reads give zeros (alpha is 1 where
//! the format has none), writes are dropped.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::components::map_lanes;
use super::slice::Slice;
use super::texel::Texels;
use super::words::row;
use base::abi::{AtomicOp, Dim, ImageArgs, ImageView, MAX_LANES};
use base::format::Format;
use base::format::float::{f32_to_half, half_to_f32};
use base::format::pack::ONE;
use base::host::{Host, Ints};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

const NONE: [i32; MAX_LANES] = [0; MAX_LANES];

/// Slices of the view, one after the other, with the lanes that access them.
struct Slices<'a> {
    view: &'a ImageView,
    level: &'a [i32; MAX_LANES],
    sample: &'a [i32; MAX_LANES],
    /// x, y, depth slice, layer.
    coord: [&'a [i32; MAX_LANES]; 4],
    rest: u32,
}

impl<'a> Slices<'a> {
    /// For the coordinates, levels and samples of a call's arguments.
    #[inline(always)]
    fn new(view: &'a ImageView, args: &'a ImageArgs) -> Slices<'a> {
        let [x, y, z] = &args.icoord;
        let coord = match (view.dim, view.arrayed != 0) {
            (Dim::Buffer, _) | (Dim::D1, false) => [x, &NONE, &NONE, &NONE],
            (Dim::D1, true) => [x, &NONE, &NONE, y],
            (Dim::D2, false) => [x, y, &NONE, &NONE],
            (Dim::D2, true) | (Dim::Cube, _) => [x, y, &NONE, z],
            (Dim::D3, _) => [x, y, z, &NONE],
        };
        let rest = args.mask & ((1 << MAX_LANES) - 1);
        Slices { view, level: &args.level, sample: &args.sample, coord, rest }
    }

    /// The slice of the next lane; empty where there is no such slice. Its mask has all lanes that access it.
    #[inline(always)]
    fn next<H: Host>(&mut self) -> Option<Slice> {
        if self.rest == 0 {
            return None;
        }
        let view = self.view;
        if view.dim == Dim::Buffer {
            let mask = std::mem::take(&mut self.rest);
            return Some(Slice { base: view.base, pitch: 0, size: [view.texels, 1], mask });
        }
        let lane = self.rest.trailing_zeros() as usize % MAX_LANES;
        let rows = [self.level, self.sample, self.coord[2], self.coord[3]];
        let zero = H::Ints::splat(0);
        let (mut differs, mut at) = (zero, [0; 4]);
        for (at, lanes) in at.iter_mut().zip(rows) {
            *at = lanes[lane] as u32;
            differs = differs | (row::<H, _>(lanes) ^ H::Ints::splat(*at));
        }
        let mask = self.rest & differs.equal(zero).signs();
        self.rest &= !mask;
        let [level, sample, z, layer] = at;
        // An input attachment of one sample has it for all, where rendering has several.
        let sample = if view.samples == 1 { 0 } else { sample };
        let exists =
            level < view.levels && level >= view.min_lod as u32 && sample < view.samples && layer < view.layers;
        if !exists || z >= view.level[level as usize].depth {
            return Some(Slice { base: view.base, pitch: 0, size: [0; 2], mask });
        }
        let l = &view.level[level as usize];
        let offset = l.offset
            + u64::from(layer) * view.layer_stride
            + u64::from(sample) * view.sample_stride
            + u64::from(z) * l.slice_pitch;
        // Rows are at most 2^14 texels of 16 bytes.
        // SAFETY: inside the image.
        let base = unsafe { view.base.add(offset as usize) };
        Some(Slice { base, pitch: l.row_pitch as u32, size: [l.width, l.height], mask })
    }

    /// Those of a slice's lanes that lie inside of it.
    #[inline(always)]
    fn inside<H: Host>(&self, slice: &Slice) -> Inside<H> {
        let [width, height] = slice.size;
        let (x, y) = (row::<H, _>(self.coord[0]), row::<H, _>(self.coord[1]));
        let (right, bottom) = (H::Ints::splat(width) - H::Ints::splat(1), H::Ints::splat(height) - H::Ints::splat(1));
        // Something is below 0: a coordinate, or what is left to the last texel.
        let outside = (x | y | (right - x) | (bottom - y)).sar(31);
        let lanes = H::Ints::spread(slice.mask) & outside.equal(H::Ints::splat(0));
        let slice = Slice { mask: lanes.signs(), ..*slice };
        Inside { slice, lanes, x: x & lanes, y: y & lanes }
    }
}

/// What lies inside a slice.
struct Inside<H: Host> {
    /// Its mask has the wanted lanes that lie inside.
    slice: Slice,
    /// The same lanes, all ones.
    lanes: H::Ints,
    /// Coordinates; 0 for the other lanes.
    x: H::Ints,
    y: H::Ints,
}

/// `KERNEL_FETCH`.
///
/// # Safety
/// `view` is a valid view whose format belongs to class `T`. The host is `H`.
#[inline(always)]
pub unsafe fn fetch<H: Host, T: Texels>(view: &ImageView, args: &mut ImageArgs) {
    let mut slices = Slices::new(view, args);
    // What lies outside has no value in any component; then a format without alpha is given one, and the view's mapping follows.
    let zero = H::Ints::splat(0);
    let mut result = [zero, zero, zero, H::Ints::splat(view.outside_alpha)];
    while let Some(slice) = slices.next::<H>() {
        if slice.size[0] == 0 {
            continue;
        }
        let Inside { slice, lanes, x, y } = slices.inside::<H>(&slice);
        // SAFETY: inside a slice of the view that has a texel.
        let words = unsafe { T::neighbours::<H>(view, &slice, x, y) };
        let texels = T::components::<H::Ints, false>(&words);
        for c in 0..4 {
            result[c] = lanes.select(texels[c], result[c]);
        }
    }
    let one = if Format(view.format as u16).is_integer() { 1 } else { ONE };
    map_lanes(view, &mut args.result, result, one);
}

/// `KERNEL_STORE`.
///
/// # Safety
/// `view` is a valid view whose format belongs to class `T`. The host is `H`.
#[inline(always)]
pub unsafe fn store<H: Host, T: Texels>(view: &ImageView, args: &mut ImageArgs) {
    let mut slices = Slices::new(view, args);
    while let Some(slice) = slices.next::<H>() {
        if slice.size[0] == 0 {
            continue;
        }
        let Inside { slice, x, y, .. } = slices.inside::<H>(&slice);
        let [r, g, b, a] = &args.texel;
        let texels = [row::<H, _>(r).lanes(), row::<H, _>(g).lanes(), row::<H, _>(b).lanes(), row::<H, _>(a).lanes()];
        // SAFETY: inside a slice of the view that has a texel.
        unsafe { T::store::<H::Ints>(view, &slice, x, y, &texels) };
    }
}

/// Calls a function with every active lane that lies inside, in order, and its texel of some bytes.
#[inline(always)]
fn for_each_texel<H: Host, const BYTES: usize>(
    view: &ImageView,
    args: &ImageArgs,
    mut function: impl FnMut(usize, *mut u8),
) {
    let mut slices = Slices::new(view, args);
    while let Some(slice) = slices.next::<H>() {
        if slice.size[0] == 0 {
            continue;
        }
        let Inside { slice, x, y, .. } = slices.inside::<H>(&slice);
        let (x, y) = (x.lanes(), y.lanes());
        for i in (0..MAX_LANES).filter(|&i| slice.wants(i)) {
            // Large texels' slices have more bytes than 32 bits count.
            let offset = y[i] as usize * slice.pitch as usize + x[i] as usize * BYTES;
            function(i, slice.base.wrapping_add(offset));
        }
    }
}

/// `KERNEL_FETCH`, for formats of `N` 64-bit integers: results have high words.
///
/// # Safety
/// `view` is a valid view of such a format.
#[inline(always)]
pub unsafe fn fetch_long<H: Host, const N: usize, const BYTES: usize>(view: &ImageView, args: &mut ImageArgs) {
    let (mut low, mut high) = ([[0; MAX_LANES]; 4], [[0; MAX_LANES]; 4]);
    low[3] = [view.outside_alpha; MAX_LANES];
    for_each_texel::<H, BYTES>(view, args, |i, texel| {
        // SAFETY: inside the view; the application's memory may change, and any bytes are integers.
        let texel = unsafe { texel.cast::<[[u32; 2]; N]>().read_unaligned() };
        low[3][i] = 1;
        for c in 0..N {
            [low[c][i], high[c][i]] = texel[c].map(u32::from_le);
        }
    });
    (args.result, args.result_high) = (low, high);
}

/// `KERNEL_STORE`, for formats of `N` 64-bit integers: texels have high words.
///
/// # Safety
/// `view` is a valid view of such a format, whose memory may be written.
#[inline(always)]
pub unsafe fn store_long<H: Host, const N: usize, const BYTES: usize>(view: &ImageView, args: &ImageArgs) {
    for_each_texel::<H, BYTES>(view, args, |i, texel| {
        let words: [[u32; 2]; N] = std::array::from_fn(|c| [args.texel[c][i], args.texel_high[c][i]].map(u32::to_le));
        // SAFETY: inside the view.
        unsafe { texel.cast::<[[u32; 2]; N]>().write_unaligned(words) };
    });
}

/// `KERNEL_ATOMIC`, for formats of one 32-bit component.
///
/// # Safety
/// `view` is a valid view of a 32-bit format, and its memory is aligned to 4 bytes.
#[inline(always)]
pub unsafe fn atomic<H: Host>(view: &ImageView, args: &mut ImageArgs) {
    let mut result = [0; MAX_LANES];
    for_each_texel::<H, 4>(view, args, |i, texel| {
        // SAFETY: inside the view, aligned; all access to it here is atomic.
        let cell = unsafe { AtomicU32::from_ptr(texel.cast::<u32>()) };
        result[i] = apply(cell, args.atomic_op, args.texel[0][i], args.texel[1][i]);
    });
    args.result[0] = result;
}

/// `KERNEL_ATOMIC`, for formats of one 64-bit integer: operands and result have high words.
///
/// # Safety
/// `view` is a valid view of a 64-bit format, and its memory is aligned to 8 bytes.
#[inline(always)]
pub unsafe fn atomic_long<H: Host>(view: &ImageView, args: &mut ImageArgs) {
    // SAFETY: the caller's promise.
    unsafe { long::<H>(view, args, apply_long) }
}

/// An operation on texels of 64 bits, by cell, operation, value and comparator; its result is what was there.
///
/// # Safety
/// As for [`atomic_long`].
#[inline(always)]
unsafe fn long<H: Host>(view: &ImageView, args: &mut ImageArgs, apply: impl Fn(&AtomicU64, AtomicOp, u64, u64) -> u64) {
    let (mut low, mut high) = ([0; MAX_LANES], [0; MAX_LANES]);
    for_each_texel::<H, 8>(view, args, |i, texel| {
        // SAFETY: inside the view, aligned; all access to it here is atomic.
        let cell = unsafe { AtomicU64::from_ptr(texel.cast::<u64>()) };
        let operand = |n: usize| u64::from(args.texel[n][i]) | u64::from(args.texel_high[n][i]) << 32;
        let old = apply(cell, args.atomic_op, operand(0), operand(1));
        (low[i], high[i]) = (old as u32, (old >> 32) as u32);
    });
    (args.result[0], args.result_high[0]) = (low, high);
}

/// `KERNEL_ATOMIC`, for formats of two halves: operand and result are a word.
///
/// # Safety
/// As for [`atomic`].
#[inline(always)]
pub unsafe fn atomic_halves<H: Host>(view: &ImageView, args: &mut ImageArgs) {
    let mut result = [0; MAX_LANES];
    for_each_texel::<H, 4>(view, args, |i, texel| {
        // SAFETY: inside the view, aligned; all access to it here is atomic.
        let cell = unsafe { AtomicU32::from_ptr(texel.cast::<u32>()) };
        let value = args.texel[0][i];
        let update = |old: u32| Some(halves(args.atomic_op, old.into(), value.into()) as u32);
        result[i] = cell.fetch_update(Relaxed, Relaxed, update).unwrap_or_default();
    });
    args.result[0] = result;
}

/// `KERNEL_ATOMIC`, for formats of four halves: operand and result have high words.
///
/// # Safety
/// As for [`atomic_long`].
#[inline(always)]
pub unsafe fn atomic_four_halves<H: Host>(view: &ImageView, args: &mut ImageArgs) {
    let apply = |cell: &AtomicU64, op, value, _| {
        cell.fetch_update(Relaxed, Relaxed, |old| Some(halves(op, old, value))).unwrap_or_default()
    };
    // SAFETY: the caller's promise.
    unsafe { long::<H>(view, args, apply) }
}

/// What an operation makes of halves: an exchange, or a float operation in binary32 that is rounded once.
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

/// Integer operations of an atomic of any width, by the names of the standard library's methods.
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

/// One atomic operation; the old value (the loaded one for `Load`, 0 for `Store`). Atomics are relaxed: ordering comes from
/// barriers, as in Vulkan's memory model.
#[inline(always)]
pub fn apply(cell: &AtomicU32, op: AtomicOp, value: u32, comparator: u32) -> u32 {
    apply_integer!(cell, op, value, comparator, i32, {
        let update = |old: u32| Some(float(op, f32::from_bits(old), f32::from_bits(value)).to_bits());
        cell.fetch_update(Relaxed, Relaxed, update).unwrap_or_default()
    })
}

/// [`apply`] to an integer of 64 bits, of which there are no float operations.
#[inline(always)]
pub fn apply_long(cell: &AtomicU64, op: AtomicOp, value: u64, comparator: u64) -> u64 {
    apply_integer!(cell, op, value, comparator, i64, cell.load(Relaxed))
}

/// What a float operation writes, as generated code does it: a number goes before a NaN.
#[inline(always)]
fn float(op: AtomicOp, old: f32, value: f32) -> f32 {
    match op {
        AtomicOp::FMin if old.is_nan() || value < old => value,
        AtomicOp::FMax if old.is_nan() || value > old => value,
        AtomicOp::FMin | AtomicOp::FMax => old,
        _ => old + value,
    }
}
