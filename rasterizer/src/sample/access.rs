//! Fetches, stores and atomics: integer coordinates, checked against the level. Out of bounds reads give zeros, writes are dropped.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::host::Host;
use super::planar::{self, choose, equal};
use super::texel::{Ints, Slice, Texels};
use base::abi::{AtomicOp, Dim, ImageArgs, ImageView, MAX_LANES};
use base::format::Format;
use base::format::lanes::Lanes;
use base::format::pack::ONE;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const NONE: [i32; MAX_LANES] = [0; MAX_LANES];

/// The rows of `icoord` that are y, the depth slice and the layer.
#[inline(always)]
fn rows<'a>(view: &ImageView, args: &'a ImageArgs) -> [&'a Ints; 3] {
    let [_, y, z] = &args.icoord;
    match (view.dim, view.arrayed != 0) {
        (Dim::Buffer, _) | (Dim::D1, false) => [&NONE; 3],
        (Dim::D1, true) => [&NONE, &NONE, y],
        (Dim::D2, false) => [y, &NONE, &NONE],
        (Dim::D2, true) | (Dim::Cube, _) => [y, &NONE, z],
        (Dim::D3, _) => [y, z, &NONE],
    }
}

/// Slices of the view, one after the other, with the lanes that access them.
struct Slices<'a> {
    view: &'a ImageView,
    args: &'a ImageArgs,
    /// x, y, depth slice, layer.
    coord: [&'a Ints; 4],
    rest: u32,
}

impl<'a> Slices<'a> {
    #[inline(always)]
    fn new(view: &'a ImageView, args: &'a ImageArgs) -> Slices<'a> {
        let [y, z, layer] = rows(view, args);
        Slices { view, args, coord: [&args.icoord[0], y, z, layer], rest: args.mask }
    }

    /// The slice of the next lane, its width and height; empty where there is no such slice. Its mask has all lanes that access it.
    #[inline(always)]
    fn next(&mut self) -> Option<(Slice, [u32; 2])> {
        if self.rest == 0 {
            return None;
        }
        let (view, args) = (self.view, self.args);
        if view.dim == Dim::Buffer {
            self.rest = 0;
            return Some((Slice { base: view.base, pitch: 0, mask: args.mask }, [view.texels, 1]));
        }
        let lane = self.rest.trailing_zeros() as usize % MAX_LANES;
        let rows = [&args.level, &args.sample, self.coord[2], self.coord[3]];
        let mut mask = self.rest;
        for row in rows {
            mask &= equal(row, row[lane]);
        }
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

/// The lanes of a slice that lie inside it; the coordinates of the others become 0.
#[inline(always)]
fn inside(slice: &Slice, [x, y]: [&Ints; 2], [width, height]: [u32; 2]) -> (Slice, [Ints; 2]) {
    let (mut at, mut bits) = ([*x, *y], 0);
    for i in 0..MAX_LANES {
        let inside = ((x[i] as u32) < width) & ((y[i] as u32) < height);
        at[0][i] = if inside { x[i] } else { 0 };
        at[1][i] = if inside { y[i] } else { 0 };
        bits |= u32::from(inside) << i;
    }
    (Slice { base: slice.base, pitch: slice.pitch, mask: slice.mask & bits }, at)
}

/// Loads the texels of the wanted lanes that are inside; the other lanes of `out` stay.
///
/// # Safety
/// The slice has (width, height) texels, at least one, of class `T`.
#[inline(always)]
pub unsafe fn load<T: Texels>(view: &ImageView, slice: &Slice, at: [&Ints; 2], size: [u32; 2], out: &mut Lanes) {
    let (slice, [x, y]) = inside(slice, at, size);
    // SAFETY: inside the slice.
    choose(out, &unsafe { T::lanes::<false>(view, &slice, &x, &y) }, slice.mask);
}

/// Stores the texels of the wanted lanes that are inside.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
pub unsafe fn save<T: Texels>(view: &ImageView, slice: &Slice, at: [&Ints; 2], size: [u32; 2], texels: &Lanes) {
    let (slice, [x, y]) = inside(slice, at, size);
    // SAFETY: inside the slice.
    unsafe { T::store(view, &slice, &x, &y, texels) };
}

/// `KERNEL_FETCH`.
///
/// # Safety
/// `view` is a valid view whose format belongs to class `T`.
#[inline(always)]
pub unsafe fn fetch<H: Host, T: Texels>(view: &ImageView, args: &mut ImageArgs) {
    let mut result = [[0; MAX_LANES]; 4];
    let mut slices = Slices::new(view, args);
    let at = [slices.coord[0], slices.coord[1]];
    while let Some((slice, size)) = slices.next() {
        if size[0] != 0 {
            // SAFETY: a slice of the view that has a texel.
            unsafe { H::load::<T>(view, &slice, at, size, &mut result) };
        }
    }
    if view.swizzle == [0, 1, 2, 3] {
        args.result = result;
        return;
    }
    // A constant 1 is one of texels only: outside the result is 0.
    let mut ones = Slices::new(view, args);
    let mut lanes = 0;
    while let Some((slice, size)) = ones.next() {
        lanes |= inside(&slice, at, size).0.mask;
    }
    let one = if Format(view.format as u16).is_integer() { 1 } else { ONE };
    let mut swizzled = [[0; MAX_LANES]; 4];
    planar::write(view, &mut swizzled, &result, one);
    args.result = [[0; MAX_LANES]; 4];
    choose(&mut args.result, &swizzled, lanes);
}

/// `KERNEL_STORE`.
///
/// # Safety
/// `view` is a valid view whose format belongs to class `T`.
#[inline(always)]
pub unsafe fn store<H: Host, T: Texels>(view: &ImageView, args: &mut ImageArgs) {
    let mut slices = Slices::new(view, args);
    let at = [slices.coord[0], slices.coord[1]];
    while let Some((slice, size)) = slices.next() {
        if size[0] != 0 {
            // SAFETY: a slice of the view that has a texel.
            unsafe { H::save::<T>(view, &slice, at, size, &args.texel) };
        }
    }
}

/// `KERNEL_ATOMIC`, for formats of one 32-bit component.
///
/// # Safety
/// `view` is a valid view of a 32-bit format, and its memory is aligned to 4 bytes.
#[inline(always)]
pub unsafe fn atomic(view: &ImageView, args: &mut ImageArgs) {
    let mut result = [0; MAX_LANES];
    let mut slices = Slices::new(view, args);
    let at = [slices.coord[0], slices.coord[1]];
    while let Some((slice, size)) = slices.next() {
        let (slice, [x, y]) = inside(&slice, at, size);
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
