//! Atomics whose results nobody reads, kept back by the thread that does them: what lanes, chunks and workgroups of a call do to one cell becomes one
//! locked operation, where cells meet at all.
//!
//! Threads that count into the same few cells wait for each other's cache lines at every operation; combined, they hardly ever meet. Which atomics can wait is for
//! the compiler to say (`emit/deferred.rs` in `jit`). All of a table are of one operation that commutes with itself, so what is kept, what is done at once, and in which order
//! makes no difference. Where cells are too many to meet again, the table steps aside for a while and everything is done at once.

use crate::abi::AtomicOp;
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64};

/// Cells that are kept at once: what stays in the nearest cache.
const CELLS: usize = 256;
/// Operations that are looked at before it is decided whether keeping pays, and those that are done at once where it does not.
const TRIAL: u32 = 1024;
const STEP_ASIDE: u32 = 1 << 14;

#[repr(C)]
#[derive(Clone, Copy)]
struct Cell {
    /// 0: nothing is kept.
    address: u64,
    /// In the low bits.
    value: u64,
}

/// The table of a call; its memory is the stage's scratch, which has any contents before [`begin_atomics`].
#[repr(C)]
pub struct DeferredAtomics {
    op: AtomicOp,
    bytes: u32,
    /// Of the present trial.
    looked_at: u32,
    met: u32,
    /// Operations still to be done at once.
    aside: u32,
    _pad: u32,
    cells: [Cell; CELLS],
}

/// Its bytes.
pub const DEFERRED_BYTES: usize = size_of::<DeferredAtomics>();

/// `HelperTable::begin_atomics`.
///
/// # Safety
/// `table` has [`DEFERRED_BYTES`] writable bytes, aligned to 8; `op` is an integer operation ([`AtomicOp`]) that [`combine_atomics`] knows, on cells of 4 or 8 bytes.
pub unsafe extern "C" fn begin_atomics(table: *mut c_void, op: u32, bytes: u32) {
    let op = OPERATIONS.iter().copied().find(|&known| known as u32 == op).unwrap_or(AtomicOp::Add);
    let cells = [Cell { address: 0, value: 0 }; CELLS];
    // SAFETY: the caller's promise.
    unsafe {
        table.cast::<DeferredAtomics>().write(DeferredAtomics {
            op,
            bytes,
            looked_at: 0,
            met: 0,
            aside: 0,
            _pad: 0,
            cells,
        });
    }
}

/// Operations that can be kept back.
pub const OPERATIONS: [AtomicOp; 9] = [
    AtomicOp::Add,
    AtomicOp::Sub,
    AtomicOp::SMin,
    AtomicOp::UMin,
    AtomicOp::SMax,
    AtomicOp::UMax,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
];

/// `HelperTable::combine_atomics`: the operation for all `lanes` (a bit each), by address and value.
///
/// # Safety
/// `table` was begun. Of each lane in `lanes`, `addresses` has the address of a live, aligned cell, and `values` a value, both of the table's width.
pub unsafe extern "C" fn combine_atomics(table: *mut c_void, addresses: *const u64, values: *const c_void, lanes: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        let table = &mut *table.cast::<DeferredAtomics>();
        let lanes = Lanes { addresses, values, left: lanes };
        match table.bytes {
            8 => operate::<Long>(table, Some(lanes)),
            _ => operate::<Word>(table, Some(lanes)),
        }
    }
}

/// `HelperTable::end_atomics`: what was kept is done.
///
/// # Safety
/// `table` was begun; the cells that it was given still live.
pub unsafe extern "C" fn end_atomics(table: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe {
        let table = &mut *table.cast::<DeferredAtomics>();
        match table.bytes {
            8 => operate::<Long>(table, None),
            _ => operate::<Word>(table, None),
        }
    }
}

struct Lanes {
    addresses: *const u64,
    values: *const c_void,
    left: u32,
}

impl Lanes {
    /// Address and value of the next one.
    ///
    /// # Safety
    /// As for [`combine_atomics`], of values of this width.
    #[inline(always)]
    unsafe fn next<W: Width>(&mut self) -> Option<(u64, u64)> {
        if self.left == 0 {
            return None;
        }
        let lane = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        // SAFETY: the caller's promise.
        unsafe { Some((*self.addresses.add(lane), W::widen(*self.values.cast::<W::Value>().add(lane)))) }
    }
}

/// A width of cells. Signed values are their bits.
trait Width {
    /// What a lane's value is read as.
    type Value: Copy;
    fn widen(value: Self::Value) -> u64;
    /// Two values as one.
    fn join(op: AtomicOp, a: u64, b: u64) -> u64;
    /// # Safety
    /// `address` is that of a live, aligned cell.
    unsafe fn apply(op: AtomicOp, address: u64, value: u64);
}

macro_rules! width {
    ($name:ident, $unsigned:ty, $signed:ty, $cell:ty, $signed_cell:ty) => {
        struct $name;

        impl Width for $name {
            type Value = $unsigned;

            fn widen(value: $unsigned) -> u64 {
                value.into()
            }

            #[inline(always)]
            fn join(op: AtomicOp, a: u64, b: u64) -> u64 {
                let (a, b) = (a as $unsigned, b as $unsigned);
                u64::from(match op {
                    AtomicOp::SMin => (a as $signed).min(b as $signed) as $unsigned,
                    AtomicOp::UMin => a.min(b),
                    AtomicOp::SMax => (a as $signed).max(b as $signed) as $unsigned,
                    AtomicOp::UMax => a.max(b),
                    AtomicOp::And => a & b,
                    AtomicOp::Or => a | b,
                    AtomicOp::Xor => a ^ b,
                    // Sums are what is added, or subtracted.
                    _ => a.wrapping_add(b),
                })
            }

            #[inline(always)]
            unsafe fn apply(op: AtomicOp, address: u64, value: u64) {
                let (at, value) = (address as *mut $unsigned, value as $unsigned);
                // SAFETY: the caller's promise; all access to the cell here is atomic.
                let (cell, signed) = unsafe { (<$cell>::from_ptr(at), <$signed_cell>::from_ptr(at.cast())) };
                let signed_value = value as $signed;
                // What changes nothing is not written.
                match op {
                    AtomicOp::Add => _ = cell.fetch_add(value, Relaxed),
                    AtomicOp::Sub => _ = cell.fetch_sub(value, Relaxed),
                    AtomicOp::And => _ = cell.fetch_and(value, Relaxed),
                    AtomicOp::Or => _ = cell.fetch_or(value, Relaxed),
                    AtomicOp::Xor => _ = cell.fetch_xor(value, Relaxed),
                    AtomicOp::SMin if signed_value < signed.load(Relaxed) => {
                        _ = signed.fetch_min(signed_value, Relaxed)
                    }
                    AtomicOp::UMin if value < cell.load(Relaxed) => _ = cell.fetch_min(value, Relaxed),
                    AtomicOp::SMax if signed_value > signed.load(Relaxed) => {
                        _ = signed.fetch_max(signed_value, Relaxed)
                    }
                    AtomicOp::UMax if value > cell.load(Relaxed) => _ = cell.fetch_max(value, Relaxed),
                    _ => {}
                }
            }
        }
    };
}

width!(Word, u32, i32, AtomicU32, AtomicI32);
width!(Long, u64, i64, AtomicU64, AtomicI64);

/// Lanes' operations, or all that are kept: a loop for each operation.
///
/// # Safety
/// As for [`combine_atomics`] and [`end_atomics`].
unsafe fn operate<W: Width>(table: &mut DeferredAtomics, lanes: Option<Lanes>) {
    macro_rules! by_operation {
        ($($op:ident)*) => {
            match (table.op, lanes) {
                // SAFETY: the caller's promise.
                $((AtomicOp::$op, Some(lanes)) => unsafe { combine::<W>(table, lanes, AtomicOp::$op) },)*
                // SAFETY: as above.
                $((AtomicOp::$op, None) => unsafe { finish::<W>(table, AtomicOp::$op) },)*
                _ => {}
            }
        };
    }
    by_operation!(Add Sub SMin UMin SMax UMax And Or Xor);
}

/// # Safety
/// As for [`combine_atomics`].
#[inline(always)]
unsafe fn combine<W: Width>(table: &mut DeferredAtomics, mut lanes: Lanes, op: AtomicOp) {
    let count = lanes.left.count_ones();
    if table.aside != 0 {
        table.aside = table.aside.saturating_sub(count);
        // SAFETY: the caller's promise.
        while let Some((address, value)) = unsafe { lanes.next::<W>() } {
            // SAFETY: as above.
            unsafe { W::apply(op, address, value) };
        }
        return;
    }
    let mut met = 0;
    // SAFETY: the caller's promise.
    while let Some((address, value)) = unsafe { lanes.next::<W>() } {
        let cell = &mut table.cells[place(address, table.bytes)];
        if cell.address == address {
            cell.value = W::join(op, cell.value, value);
            met += 1;
            continue;
        }
        let before = core::mem::replace(cell, Cell { address, value });
        if before.address != 0 {
            // SAFETY: the caller's promise, of then.
            unsafe { W::apply(op, before.address, before.value) };
        }
    }
    table.met += met;
    table.looked_at += count;
    if table.looked_at >= TRIAL {
        table.aside = if table.met < table.looked_at / 4 { STEP_ASIDE } else { 0 };
        (table.looked_at, table.met) = (0, 0);
    }
}

/// # Safety
/// As for [`end_atomics`].
#[inline(always)]
unsafe fn finish<W: Width>(table: &mut DeferredAtomics, op: AtomicOp) {
    for cell in table.cells.iter().filter(|cell| cell.address != 0) {
        // SAFETY: the caller's promise.
        unsafe { W::apply(op, cell.address, cell.value) };
    }
}

/// Neighbours have places of their own.
fn place(address: u64, bytes: u32) -> usize {
    let number = address >> bytes.trailing_zeros();
    (number ^ number >> 8) as usize % CELLS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    /// What an operation makes of a cell.
    fn reference<W: Width>(op: AtomicOp, cell: u64, value: u64) -> u64 {
        let value = if op == AtomicOp::Sub { value.wrapping_neg() } else { value };
        W::join(op, cell, value)
    }

    /// As [`reference`] by a table, through calls of up to eight lanes, on cells in the low ends of words.
    fn by_table(op: AtomicOp, bytes: u32, cells: &mut [u64], steps: &[(usize, u64)]) -> DeferredAtomics {
        let mut table = core::mem::MaybeUninit::<DeferredAtomics>::uninit();
        let at = table.as_mut_ptr().cast::<c_void>();
        let start = cells.as_mut_ptr();
        // SAFETY: a table that was begun; cells inside of the slice.
        unsafe {
            begin_atomics(at, op as u32, bytes);
            for (i, lanes) in steps.chunks(8).enumerate() {
                let (mut addresses, mut long, mut short) = ([0; 8], [0; 8], [0; 8]);
                for (lane, &(cell, value)) in lanes.iter().enumerate() {
                    addresses[lane] = start.wrapping_add(cell) as u64;
                    (long[lane], short[lane]) = (value, value as u32);
                }
                let values = if bytes == 8 { long.as_ptr().cast::<c_void>() } else { short.as_ptr().cast() };
                let there = ((1u64 << lanes.len()) - 1) as u32;
                let some = if i % 3 == 0 { 0xff } else { 0x6d };
                combine_atomics(at, addresses.as_ptr(), values, some & there);
                combine_atomics(at, addresses.as_ptr(), values, !some & there);
            }
            end_atomics(at);
            table.assume_init()
        }
    }

    fn check<W: Width>(bytes: u32) {
        let mut rng = Rng(bytes.into());
        let mask = if bytes == 8 { u64::MAX } else { u32::MAX.into() };
        // Few cells, more than are kept, and so many that the table steps aside.
        for (count, aside) in [(3, false), (300, false), (20_000, true)] {
            for op in OPERATIONS {
                let mut want: Vec<u64> = (0..count).map(|_| rng.wide() & mask).collect();
                let steps: Vec<(usize, u64)> =
                    (0..5000).map(|i| (rng.below(count) as usize, (rng.wide() & mask) >> (i % 29))).collect();
                let mut found = want.clone();
                let table = by_table(op, bytes, &mut found, &steps);
                assert_eq!(table.aside != 0, aside, "{op:?} {count}");
                for &(cell, value) in &steps {
                    want[cell] = reference::<W>(op, want[cell], value);
                }
                assert!(found == want, "{op:?} on {count} cells of {bytes} bytes");
            }
        }
    }

    #[test]
    fn what_is_kept_back_is_what_would_have_been_done() {
        check::<Word>(4);
        check::<Long>(8);
    }
}
