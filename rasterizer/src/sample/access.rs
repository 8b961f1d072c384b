//! Fetches, stores and atomics: integer coordinates, checked against the level. Out of bounds reads give zeros, writes are dropped.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::components::map_lanes;
use super::texel::{Ints, Slice, Texels};
use super::words::{merge, row, spread};
use base::abi::{AtomicOp, Dim, ImageArgs, ImageView, MAX_LANES};
use base::format::Format;
use base::format::lanes::Lanes;
use base::format::pack::ONE;
use base::host::Host;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const NONE: [i32; MAX_LANES] = [0; MAX_LANES];

// Functions of their own: see `planar`.
base::compiled! {
    /// [`load`].
    unsafe fn load_of [T: Texels] [T]
        (view: &ImageView, slice: &Slice, at: [&Ints; 2], size: [u32; 2], keep: u32, out: &mut Lanes) {
        load::<H, T>(view, slice, at, size, keep, out);
    }
    /// [`save`].
    unsafe fn save_of [T: Texels] [T]
        (view: &ImageView, slice: &Slice, at: [&Ints; 2], size: [u32; 2], texels: &Lanes) {
        save::<H, T>(view, slice, at, size, texels);
    }
}

/// Slices of the view, one after the other, with the lanes that access them.
struct Slices<'a> {
    view: &'a ImageView,
    level: &'a Ints,
    sample: &'a Ints,
    /// x, y, depth slice, layer.
    coord: [&'a Ints; 4],
    rest: u32,
}

impl<'a> Slices<'a> {
    /// For the coordinates, levels and samples of a call's arguments.
    #[inline(always)]
    fn new(view: &'a ImageView, [x, y, z]: &'a [Ints; 3], [level, sample]: [&'a Ints; 2], mask: u32) -> Slices<'a> {
        let coord = match (view.dim, view.arrayed != 0) {
            (Dim::Buffer, _) | (Dim::D1, false) => [x, &NONE, &NONE, &NONE],
            (Dim::D1, true) => [x, &NONE, &NONE, y],
            (Dim::D2, false) => [x, y, &NONE, &NONE],
            (Dim::D2, true) | (Dim::Cube, _) => [x, y, &NONE, z],
            (Dim::D3, _) => [x, y, z, &NONE],
        };
        Slices { view, level, sample, coord, rest: mask }
    }

    /// The slice of the next lane, its width and height; empty where there is no such slice. Its mask has all lanes that access it.
    #[inline(always)]
    fn next<H: Host>(&mut self) -> Option<(Slice, [u32; 2])> {
        if self.rest == 0 {
            return None;
        }
        let view = self.view;
        if view.dim == Dim::Buffer {
            let mask = std::mem::take(&mut self.rest);
            return Some((Slice { base: view.base, pitch: 0, mask }, [view.texels, 1]));
        }
        let lane = self.rest.trailing_zeros() as usize % MAX_LANES;
        let rows = [self.level, self.sample, self.coord[2], self.coord[3]];
        let mut differs = [0; MAX_LANES];
        for lanes in rows {
            let (one, lanes) = (lanes[lane], row::<H, _>(lanes));
            for i in 0..MAX_LANES {
                differs[i] |= (lanes[i] ^ one) as u32;
            }
        }
        // SAFETY: the kernel's host.
        let mask = self.rest & unsafe { H::zeros(&differs) };
        self.rest &= !mask;
        let [level, sample, z, layer] = rows.map(|row| row[lane] as u32);
        let exists = level < view.levels && sample < view.samples && layer < view.layers;
        if !exists || z >= view.level[level as usize].depth {
            return Some((Slice { base: view.base, pitch: 0, mask }, [0; 2]));
        }
        let l = &view.level[level as usize];
        let offset = l.offset
            + u64::from(layer) * view.layer_stride
            + u64::from(sample) * view.sample_stride
            + u64::from(z) * l.slice_pitch;
        // Rows are at most 2^14 texels of 16 bytes.
        // SAFETY: inside the image.
        let base = unsafe { view.base.add(offset as usize) };
        Some((Slice { base, pitch: l.row_pitch as u32, mask }, [l.width, l.height]))
    }
}

/// What lies inside a slice.
struct Inside {
    /// Its mask has the wanted lanes that lie inside.
    slice: Slice,
    /// The same lanes, all ones.
    lanes: [u32; MAX_LANES],
    /// Coordinates; 0 for the other lanes.
    x: Ints,
    y: Ints,
}

#[inline(always)]
fn inside<H: Host>(slice: &Slice, [x, y]: [&Ints; 2], [width, height]: [u32; 2]) -> Inside {
    let (mut x, mut y, mut lanes) = (row::<H, _>(x), row::<H, _>(y), spread(slice.mask));
    let (right, bottom) = (width as i32 - 1, height as i32 - 1);
    let mut outside = [0; MAX_LANES];
    for i in 0..MAX_LANES {
        // Something is below 0: a coordinate, or what is left to the last texel.
        let sign = x[i] | y[i] | right.wrapping_sub(x[i]) | bottom.wrapping_sub(y[i]);
        lanes[i] &= !(sign >> 31) as u32;
        x[i] &= lanes[i] as i32;
        y[i] &= lanes[i] as i32;
        outside[i] = !lanes[i];
    }
    // SAFETY: the kernel's host.
    let mask = unsafe { H::zeros(&outside) };
    Inside { slice: Slice { base: slice.base, pitch: slice.pitch, mask }, lanes, x, y }
}

/// Loads the texels of the wanted lanes that are inside, through the view's component mapping; the other lanes of `out` stay or
/// become 0, by `keep`.
///
/// # Safety
/// The slice has (width, height) texels, at least one, of class `T`.
#[inline(always)]
unsafe fn load<H: Host, T: Texels>(
    view: &ImageView,
    slice: &Slice,
    at: [&Ints; 2],
    size: [u32; 2],
    keep: u32,
    out: &mut Lanes,
) {
    let Inside { slice, lanes, x, y } = inside::<H>(slice, at, size);
    // SAFETY: inside the slice.
    let texels = unsafe { T::lanes::<H, false>(view, &slice, &x, &y) };
    if view.swizzle == [0, 1, 2, 3] {
        merge::<H>(out, &texels, &lanes, keep);
    } else {
        let one = if Format(view.format as u16).is_integer() { 1 } else { ONE };
        let mut mapped = [[0; MAX_LANES]; 4];
        map_lanes(view, &mut mapped, &texels, one);
        merge::<H>(out, &mapped, &lanes, keep);
    }
}

/// Stores the texels of the wanted lanes that are inside.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
unsafe fn save<H: Host, T: Texels>(view: &ImageView, slice: &Slice, at: [&Ints; 2], size: [u32; 2], texels: &Lanes) {
    let Inside { slice, x, y, .. } = inside::<H>(slice, at, size);
    let [r, g, b, a] = texels;
    // SAFETY: inside the slice.
    unsafe { T::store(view, &slice, &x, &y, &[row::<H, _>(r), row::<H, _>(g), row::<H, _>(b), row::<H, _>(a)]) };
}

/// `KERNEL_FETCH`.
///
/// # Safety
/// `view` is a valid view whose format belongs to class `T`.
#[inline(always)]
pub unsafe fn fetch<H: Host, T: Texels>(view: &ImageView, args: &mut ImageArgs) {
    let ImageArgs { icoord, level, sample, mask, result, .. } = args;
    let mut slices = Slices::new(view, icoord, [level, sample], *mask);
    let at = [slices.coord[0], slices.coord[1]];
    let mut keep = 0;
    while let Some((slice, size)) = slices.next::<H>() {
        if size[0] != 0 {
            // SAFETY: a slice of the view that has a texel.
            unsafe { load_of::<T>(H::LEVEL)(view, &slice, at, size, keep, result) };
            keep = u32::MAX;
        }
    }
    if keep == 0 {
        *result = [[0; MAX_LANES]; 4];
    }
}

/// `KERNEL_STORE`.
///
/// # Safety
/// `view` is a valid view whose format belongs to class `T`.
#[inline(always)]
pub unsafe fn store<H: Host, T: Texels>(view: &ImageView, args: &mut ImageArgs) {
    let mut slices = Slices::new(view, &args.icoord, [&args.level, &args.sample], args.mask);
    let at = [slices.coord[0], slices.coord[1]];
    while let Some((slice, size)) = slices.next::<H>() {
        if size[0] != 0 {
            // SAFETY: a slice of the view that has a texel.
            unsafe { save_of::<T>(H::LEVEL)(view, &slice, at, size, &args.texel) };
        }
    }
}

/// `KERNEL_ATOMIC`, for formats of one 32-bit component.
///
/// # Safety
/// `view` is a valid view of a 32-bit format, and its memory is aligned to 4 bytes.
#[inline(always)]
pub unsafe fn atomic<H: Host>(view: &ImageView, args: &mut ImageArgs) {
    let mut result = [0; MAX_LANES];
    let mut slices = Slices::new(view, &args.icoord, [&args.level, &args.sample], args.mask);
    let at = [slices.coord[0], slices.coord[1]];
    while let Some((slice, size)) = slices.next::<H>() {
        let Inside { slice, x, y, .. } = inside::<H>(&slice, at, size);
        let offset = slice.offsets::<4>(&x, &y);
        for i in 0..MAX_LANES {
            if !slice.wants(i) {
                continue;
            }
            // SAFETY: inside the view, aligned; all access to it here is atomic.
            let cell = unsafe { AtomicU32::from_ptr(slice.base.add(offset[i] as usize).cast::<u32>()) };
            result[i] = apply(cell, args.atomic_op, args.texel[0][i], args.texel[1][i]);
        }
    }
    args.result[0] = result;
}

/// One atomic operation; the old value (the loaded one for `Load`, 0 for `Store`). Atomics are relaxed: ordering comes from
/// barriers, as in Vulkan's memory model.
#[inline(always)]
pub fn apply(cell: &AtomicU32, op: AtomicOp, value: u32, comparator: u32) -> u32 {
    let float = |f: fn(f32, f32) -> f32| {
        let update = |old: u32| Some(f(f32::from_bits(old), f32::from_bits(value)).to_bits());
        cell.fetch_update(Relaxed, Relaxed, update).unwrap_or_default()
    };
    let signed = |f: fn(i32, i32) -> i32| {
        cell.fetch_update(Relaxed, Relaxed, |old| Some(f(old as i32, value as i32) as u32)).unwrap_or_default()
    };
    match op {
        AtomicOp::Exchange => cell.swap(value, Relaxed),
        AtomicOp::CompareExchange => {
            cell.compare_exchange(comparator, value, Relaxed, Relaxed).unwrap_or_else(|current| current)
        }
        AtomicOp::Add => cell.fetch_add(value, Relaxed),
        AtomicOp::Sub => cell.fetch_sub(value, Relaxed),
        AtomicOp::SMin => signed(i32::min),
        AtomicOp::SMax => signed(i32::max),
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
        AtomicOp::FAdd => float(|a, b| a + b),
        AtomicOp::FMin => float(|a, b| if b < a { b } else { a }),
        AtomicOp::FMax => float(|a, b| if b > a { b } else { a }),
    }
}
