//! Fetches, stores and atomics: integer coordinates, checked against the level. Out of bounds reads give zeros, writes are dropped.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::levels::{self, Rows};
use super::planar;
use super::texel::{Ints, Places, Texels};
use base::abi::{AtomicOp, Dim, ImageArgs, ImageView, MAX_LANES};
use base::format::Format;
use base::format::pack::ONE;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Where the lanes' texels lie.
struct Located {
    /// Its mask has the active lanes whose texels are inside the view. When there is one, the other lanes' places are inside too.
    places: Places,
    x: Ints,
    y: Ints,
}

/// Finds the texels of the active lanes.
#[inline(always)]
fn locate(view: &ImageView, args: &ImageArgs) -> Located {
    let zero = [0u32; MAX_LANES];
    let coord = args.icoord.map(|row| row.map(|c| c as u32));
    let mut inside = [false; MAX_LANES];
    let mut at = Located {
        places: Places { slice: [0; MAX_LANES], pitch: zero, mask: 0 },
        x: args.icoord[0],
        y: [0; MAX_LANES],
    };
    if view.dim == Dim::Buffer {
        for i in 0..MAX_LANES {
            inside[i] = coord[0][i] < view.texels;
        }
    } else {
        let arrayed = |row| if view.arrayed != 0 { row } else { zero };
        let [x, y, z] = coord;
        let (y, z, layer) = match view.dim {
            Dim::D1 => (zero, zero, arrayed(y)),
            Dim::D2 => (y, zero, arrayed(z)),
            Dim::Cube => (y, zero, z),
            Dim::D3 | Dim::Buffer => (y, z, zero),
        };
        let mut level = [0; MAX_LANES];
        for i in 0..MAX_LANES {
            let exists = ((args.level[i] as u32) < view.levels) & ((args.sample[i] as u32) < view.samples);
            inside[i] = exists;
            level[i] = if exists { args.level[i] as u32 } else { 0 };
        }
        let Rows { width, height, depth, pitch, offset, slice_pitch } = levels::rows(view, &level, args.mask);
        for i in 0..MAX_LANES {
            let in_plane = (x[i] < width[i] as u32) & (y[i] < height[i] as u32);
            inside[i] &= in_plane & (z[i] < depth[i] as u32) & (layer[i] < view.layers);
            at.y[i] = y[i] as i32;
        }
        (at.places.slice, at.places.pitch) = (offset, pitch);
        let slice = &mut at.places.slice;
        // Products of numbers outside mean nothing, and nobody looks at them.
        if view.arrayed != 0 || view.dim == Dim::Cube {
            for i in 0..MAX_LANES {
                slice[i] = slice[i].wrapping_add(u64::from(layer[i]).wrapping_mul(view.layer_stride));
            }
        }
        if view.samples > 1 {
            for i in 0..MAX_LANES {
                let sample = u64::from(args.sample[i] as u32);
                slice[i] = slice[i].wrapping_add(sample.wrapping_mul(view.sample_stride));
            }
        }
        if view.dim == Dim::D3 {
            for i in 0..MAX_LANES {
                slice[i] = slice[i].wrapping_add(u64::from(z[i]).wrapping_mul(slice_pitch[i]));
            }
        }
    }
    clamp(&mut at, &inside, args.mask);
    at
}

/// Moves the lanes outside to the first texel of a slice of a lane inside.
#[inline(always)]
fn clamp(at: &mut Located, inside: &[bool; MAX_LANES], mask: u32) {
    for i in 0..MAX_LANES {
        at.places.mask |= u32::from(inside[i]) << i;
    }
    at.places.mask &= mask;
    if at.places.mask == (1 << MAX_LANES) - 1 {
        return;
    }
    let some = at.places.slice[at.places.mask.trailing_zeros() as usize % MAX_LANES];
    for i in 0..MAX_LANES {
        let inside = at.places.wants(i);
        at.places.slice[i] = if inside { at.places.slice[i] } else { some };
        at.x[i] = if inside { at.x[i] } else { 0 };
        at.y[i] = if inside { at.y[i] } else { 0 };
    }
}

/// `KERNEL_FETCH`.
///
/// # Safety
/// `view` is a valid view whose format belongs to class `T`.
#[inline(always)]
pub unsafe fn fetch<T: Texels>(view: &ImageView, args: &mut ImageArgs) {
    let Located { places, x, y } = locate(view, args);
    if places.mask == 0 {
        args.result = [[0; MAX_LANES]; 4];
        return;
    }
    // SAFETY: inside the view, which has a texel.
    let texels = unsafe { T::lanes::<false>(view, &places, &x, &y) };
    let one = if Format(view.format as u16).is_integer() { 1 } else { ONE };
    planar::write(view, &mut args.result, &texels, one);
    if places.mask != (1 << MAX_LANES) - 1 {
        for c in 0..4 {
            for i in 0..MAX_LANES {
                args.result[c][i] = if places.wants(i) { args.result[c][i] } else { 0 };
            }
        }
    }
}

/// `KERNEL_STORE`.
///
/// # Safety
/// `view` is a valid view whose format belongs to class `T`.
#[inline(always)]
pub unsafe fn store<T: Texels>(view: &ImageView, args: &mut ImageArgs) {
    let Located { places, x, y } = locate(view, args);
    if places.mask != 0 {
        // SAFETY: inside the view.
        unsafe { T::store(view, &places, &x, &y, &args.texel) };
    }
}

/// `KERNEL_ATOMIC`, for formats of one 32-bit component.
///
/// # Safety
/// `view` is a valid view of a 32-bit format, and its memory is aligned to 4 bytes.
#[inline(always)]
pub unsafe fn atomic(view: &ImageView, args: &mut ImageArgs) {
    let Located { places, x, y } = locate(view, args);
    let offset = places.offsets::<4>(&x, &y);
    args.result[0] = [0; MAX_LANES];
    for i in 0..MAX_LANES {
        if !places.wants(i) {
            continue;
        }
        // SAFETY: inside the view, aligned; all access to it here is atomic.
        let cell = unsafe { AtomicU32::from_ptr(view.base.add(offset[i] as usize).cast::<u32>()) };
        args.result[0][i] = apply(cell, args.atomic_op, args.texel[0][i], args.texel[1][i]);
    }
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
