//! Fetches, stores and atomics: integer coordinates, checked against the level. Out of bounds reads give zeros, writes are dropped.

use super::general::swizzle;
use super::texel::Texels;
use base::abi::{AtomicOp, Dim, ImageArgs, ImageView, MAX_LANES};
use base::format::{Format, kernels};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Where a lane's texel lies: byte offset of its slice, row pitch, column, row. `None` out of bounds.
#[inline(always)]
fn locate(view: &ImageView, args: &ImageArgs, i: usize) -> Option<(u64, u64, u32, u32)> {
    let [x, y, z] = [args.icoord[0][i] as u32, args.icoord[1][i] as u32, args.icoord[2][i] as u32];
    if view.dim == Dim::Buffer {
        return (x < view.texels).then_some((0, 0, x, 0));
    }
    let (level, sample) = (args.level[i] as u32, args.sample[i] as u32);
    if level >= view.levels || sample >= view.samples {
        return None;
    }
    let l = &view.level[level as usize];
    let (y, z, layer) = match view.dim {
        Dim::D1 => (0, 0, if view.arrayed != 0 { y } else { 0 }),
        Dim::D2 => (y, 0, if view.arrayed != 0 { z } else { 0 }),
        Dim::Cube => (y, 0, z),
        Dim::D3 | Dim::Buffer => (y, z, 0),
    };
    let inside = x < l.width && y < l.height && z < l.depth && layer < view.layers;
    let slice = l.offset
        + u64::from(layer) * view.layer_stride
        + u64::from(sample) * view.sample_stride
        + u64::from(z) * l.slice_pitch;
    inside.then_some((slice, l.row_pitch, x, y))
}

/// `KERNEL_FETCH`.
///
/// # Safety
/// `view` is a valid view whose format belongs to class `T`.
#[inline(always)]
pub unsafe fn fetch<T: Texels>(view: &ImageView, args: &mut ImageArgs) {
    let integer = Format(view.format as u16).is_integer();
    for i in 0..MAX_LANES {
        if args.mask >> i & 1 == 0 {
            continue;
        }
        let texel = match locate(view, args, i) {
            None => [0; 4],
            // SAFETY: inside the view.
            Some((slice, pitch, x, y)) => unsafe {
                swizzle(view, T::texel(view, view.base.add(slice as usize), pitch, x, y), integer)
            },
        };
        for (c, v) in texel.into_iter().enumerate() {
            args.result[c][i] = v;
        }
    }
}

/// `KERNEL_STORE`, for every format of one-texel blocks.
///
/// # Safety
/// `view` is a valid view.
#[inline(always)]
pub unsafe fn store(view: &ImageView, args: &mut ImageArgs) {
    let kernels = kernels(Format(view.format as u16));
    for i in 0..MAX_LANES {
        if args.mask >> i & 1 == 0 {
            continue;
        }
        let Some((slice, pitch, x, y)) = locate(view, args, i) else { continue };
        let offset = slice + u64::from(y) * pitch + u64::from(x) * kernels.bytes as u64;
        let block = (kernels.pack_one)([args.texel[0][i], args.texel[1][i], args.texel[2][i], args.texel[3][i]]);
        // SAFETY: the texel's `bytes` (at most 16) bytes are inside the view. Shaders may race on a texel; then its
        // bytes are some mix, as the specification allows.
        unsafe { view.base.add(offset as usize).copy_from_nonoverlapping(block.as_ptr(), kernels.bytes) };
    }
}

/// `KERNEL_ATOMIC`, for formats of one 32-bit component.
///
/// # Safety
/// `view` is a valid view of a 32-bit format, and its memory is aligned to 4 bytes.
#[inline(always)]
pub unsafe fn atomic(view: &ImageView, args: &mut ImageArgs) {
    for i in 0..MAX_LANES {
        if args.mask >> i & 1 == 0 {
            continue;
        }
        args.result[0][i] = match locate(view, args, i) {
            None => 0,
            Some((slice, pitch, x, y)) => {
                let offset = slice + u64::from(y) * pitch + u64::from(x) * 4;
                // SAFETY: inside the view, aligned; all access to it here is atomic.
                let cell = unsafe { AtomicU32::from_ptr(view.base.add(offset as usize).cast::<u32>()) };
                apply(cell, args.atomic_op, args.texel[0][i], args.texel[1][i])
            }
        };
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
