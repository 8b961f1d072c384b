//! Deferred atomics: atomics whose results are not used, which the executing thread defers. The
//! operations of lanes, chunks and workgroups of a call on one cell become one locked operation, if
//! they meet in the table.
//!
//! Threads that count into the same few cells wait for each other's cache lines at every operation;
//! combined operations rarely meet. The compiler decides which atomics may be deferred
//! (`emit/deferred_atomics.rs` in `jit`). All operations of a table are of one kind, which commutes
//! with itself. The result is thus the same whatever is deferred or executed at once, and in any
//! order. If there are too many cells for them to meet again, the table is bypassed for a while,
//! and every operation is executed at once.

use crate::abi::AtomicOp;
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64};

/// Number of cells that the table has; they fit the nearest cache.
const TABLE_ENTRIES: usize = 256;
/// Number of operations that are observed before it is decided whether deferring pays.
const TRIAL_OPERATIONS: u32 = 1024;
/// Number of operations that are executed at once if deferring does not pay.
const BYPASSED_OPERATIONS: u32 = 1 << 14;

#[repr(C)]
#[derive(Clone, Copy)]
struct TableEntry {
    /// Address of the cell; 0 if the entry is empty.
    address: u64,
    /// Combined operand, in the low bits.
    value: u64,
}

/// The table of a call. Its memory is the stage's scratch, which has any contents before
/// [`begin_atomics`].
#[repr(C)]
pub struct DeferredAtomics {
    op: AtomicOp,
    bytes: u32,
    /// Number of operations of the present trial.
    observed: u32,
    /// Number of these operations that met an entry of their cell.
    hits: u32,
    /// Number of operations that are still executed at once.
    bypassed: u32,
    _pad: u32,
    entries: [TableEntry; TABLE_ENTRIES],
}

/// Size of the table in bytes.
pub const DEFERRED_BYTES: usize = size_of::<DeferredAtomics>();

/// Initialises a table (`HelperTable::begin_atomics`).
///
/// # Safety
/// `table` has [`DEFERRED_BYTES`] writable bytes, aligned to 8. `op` is an integer operation
/// ([`AtomicOp`]) that [`combine_atomics`] knows, on cells of 4 or 8 bytes.
#[crate::code_fn]
pub unsafe extern "code" fn begin_atomics(table: *mut c_void, op: u32, bytes: u32) {
    let op = OPERATIONS.iter().copied().find(|&known| known as u32 == op).unwrap_or(AtomicOp::Add);
    let entries = [TableEntry { address: 0, value: 0 }; TABLE_ENTRIES];
    // SAFETY: `table` has [`DEFERRED_BYTES`] writable bytes, aligned to 8 (`# Safety`).
    unsafe {
        table.cast::<DeferredAtomics>().write(DeferredAtomics {
            op,
            bytes,
            observed: 0,
            hits: 0,
            bypassed: 0,
            _pad: 0,
            entries,
        });
    }
}

/// Operations that can be deferred.
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

/// Applies the operation for all `lanes` (one bit each), given the address and value of each
/// (`HelperTable::combine_atomics`).
///
/// # Safety
/// [`begin_atomics`] initialised `table`. For each lane in `lanes`, `addresses` has the address
/// of a live, aligned cell, and `values` a value, both of the table's width.
#[crate::code_fn]
pub unsafe extern "code" fn combine_atomics(
    table: *mut c_void,
    addresses: *const u64,
    values: *const c_void,
    lanes: u32,
) {
    // SAFETY: `table` was initialised, and the lanes have live cells of the table's width
    // (`# Safety`).
    unsafe {
        let table = &mut *table.cast::<DeferredAtomics>();
        let lanes = LaneIterator { addresses, values, left: lanes };
        match table.bytes {
            8 => operate::<Long>(table, Some(lanes)),
            _ => operate::<Word>(table, Some(lanes)),
        }
    }
}

/// Executes the deferred operations (`HelperTable::end_atomics`).
///
/// # Safety
/// [`begin_atomics`] initialised `table`; the cells that it was given are still alive.
#[crate::code_fn]
pub unsafe extern "code" fn end_atomics(table: *mut c_void) {
    // SAFETY: `table` was initialised, and its cells are alive (`# Safety`).
    unsafe {
        let table = &mut *table.cast::<DeferredAtomics>();
        match table.bytes {
            8 => operate::<Long>(table, None),
            _ => operate::<Word>(table, None),
        }
    }
}

struct LaneIterator {
    addresses: *const u64,
    values: *const c_void,
    left: u32,
}

impl LaneIterator {
    /// Returns address and value of the next lane.
    ///
    /// # Safety
    /// The lanes satisfy the requirements of [`combine_atomics`], with values of this width.
    #[inline(always)]
    unsafe fn next<W: AtomicWidth>(&mut self) -> Option<(u64, u64)> {
        if self.left == 0 {
            return None;
        }
        let lane = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        // SAFETY: the arrays have an address and a value of this width for each lane that is left
        // (`# Safety`).
        unsafe { Some((*self.addresses.add(lane), W::widen(*self.values.cast::<W::Value>().add(lane)))) }
    }
}

/// A width of cells. Signed values are represented by their bits.
trait AtomicWidth {
    /// Type of a lane's value in memory.
    type Value: Copy;
    fn widen(value: Self::Value) -> u64;
    /// Returns the operand of one operation that has the effect of two.
    fn join(op: AtomicOp, a: u64, b: u64) -> u64;
    /// # Safety
    /// `address` is the address of a live, aligned cell.
    unsafe fn apply(op: AtomicOp, address: u64, value: u64);
}

macro_rules! width {
    ($name:ident, $unsigned:ty, $signed:ty, $cell:ty, $signed_cell:ty) => {
        struct $name;

        impl AtomicWidth for $name {
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
                    // Both `Add` and `Sub` combine by adding their operands.
                    _ => a.wrapping_add(b),
                })
            }

            #[inline(always)]
            unsafe fn apply(op: AtomicOp, address: u64, value: u64) {
                let (at, value) = (address as *mut $unsigned, value as $unsigned);
                // SAFETY: `address` is that of a live, aligned cell, as `AtomicWidth::apply`
                // requires; all accesses to the cell here are atomic.
                let (cell, signed) = unsafe { (<$cell>::from_ptr(at), <$signed_cell>::from_ptr(at.cast())) };
                let signed_value = value as $signed;
                // A minimum or maximum that would change nothing writes nothing.
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

/// Applies the operations of lanes, or all deferred ones, with a loop for each operation.
///
/// # Safety
/// The requirements of [`combine_atomics`] hold for `lanes`; without lanes, those of
/// [`end_atomics`] hold.
unsafe fn operate<W: AtomicWidth>(table: &mut DeferredAtomics, lanes: Option<LaneIterator>) {
    macro_rules! by_operation {
        ($($op:ident)*) => {
            match (table.op, lanes) {
                // SAFETY: the requirements of `combine_atomics` hold (`# Safety`).
                $((AtomicOp::$op, Some(lanes)) => unsafe { combine::<W>(table, lanes, AtomicOp::$op) },)*
                // SAFETY: the requirements of `end_atomics` hold (`# Safety`).
                $((AtomicOp::$op, None) => unsafe { finish::<W>(table, AtomicOp::$op) },)*
                _ => {}
            }
        };
    }
    by_operation!(Add Sub SMin UMin SMax UMax And Or Xor);
}

/// # Safety
/// The requirements of [`combine_atomics`] hold.
#[inline(always)]
unsafe fn combine<W: AtomicWidth>(table: &mut DeferredAtomics, mut lanes: LaneIterator, op: AtomicOp) {
    let count = lanes.left.count_ones();
    if table.bypassed != 0 {
        table.bypassed = table.bypassed.saturating_sub(count);
        // SAFETY: the requirements of `combine_atomics` hold (`# Safety`).
        while let Some((address, value)) = unsafe { lanes.next::<W>() } {
            // SAFETY: the lane's cell is live and aligned (`# Safety`).
            unsafe { W::apply(op, address, value) };
        }
        return;
    }
    let mut hits = 0;
    // SAFETY: the requirements of `combine_atomics` hold (`# Safety`).
    while let Some((address, value)) = unsafe { lanes.next::<W>() } {
        let cell = &mut table.entries[entry_index(address, table.bytes)];
        if cell.address == address {
            cell.value = W::join(op, cell.value, value);
            hits += 1;
            continue;
        }
        let before = core::mem::replace(cell, TableEntry { address, value });
        if before.address != 0 {
            // SAFETY: the cell was live and aligned when it was added, and lives until
            // `end_atomics`, which requires that.
            unsafe { W::apply(op, before.address, before.value) };
        }
    }
    table.hits += hits;
    table.observed += count;
    if table.observed >= TRIAL_OPERATIONS {
        table.bypassed = if table.hits < table.observed / 4 { BYPASSED_OPERATIONS } else { 0 };
        (table.observed, table.hits) = (0, 0);
    }
}

/// # Safety
/// The requirements of [`end_atomics`] hold.
#[inline(always)]
unsafe fn finish<W: AtomicWidth>(table: &mut DeferredAtomics, op: AtomicOp) {
    for cell in table.entries.iter().filter(|cell| cell.address != 0) {
        // SAFETY: the cells of the table are still alive (`# Safety`).
        unsafe { W::apply(op, cell.address, cell.value) };
    }
}

/// Returns the number of a cell's entry. Neighbouring cells have different entries.
fn entry_index(address: u64, bytes: u32) -> usize {
    let number = address >> bytes.trailing_zeros();
    (number ^ number >> 8) as usize % TABLE_ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    /// Returns the value of a cell after an operation.
    fn reference<W: AtomicWidth>(op: AtomicOp, cell: u64, value: u64) -> u64 {
        let value = if op == AtomicOp::Sub { value.wrapping_neg() } else { value };
        W::join(op, cell, value)
    }

    /// Applies operations as [`reference`] does, with a table, through calls of up to eight lanes,
    /// on cells in the low ends of words.
    fn apply_by_table(op: AtomicOp, bytes: u32, entries: &mut [u64], steps: &[(usize, u64)]) -> DeferredAtomics {
        let mut table = core::mem::MaybeUninit::<DeferredAtomics>::uninit();
        let at = table.as_mut_ptr().cast::<c_void>();
        let start = entries.as_mut_ptr();
        // SAFETY: the table is initialised, and cells lie inside of the slice.
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

    fn check<W: AtomicWidth>(bytes: u32) {
        let mut rng = Rng(bytes.into());
        let mask = if bytes == 8 { u64::MAX } else { u32::MAX.into() };
        // The numbers of cells are few, more than the table has, and so many that it is bypassed.
        for (count, bypassed) in [(3, false), (300, false), (20_000, true)] {
            for op in OPERATIONS {
                let mut want: Vec<u64> = (0..count).map(|_| rng.next_u64() & mask).collect();
                let steps: Vec<(usize, u64)> =
                    (0..5000).map(|i| (rng.below(count) as usize, (rng.next_u64() & mask) >> (i % 29))).collect();
                let mut found = want.clone();
                let table = apply_by_table(op, bytes, &mut found, &steps);
                assert_eq!(table.bypassed != 0, bypassed, "{op:?} {count}");
                for &(cell, value) in &steps {
                    want[cell] = reference::<W>(op, want[cell], value);
                }
                assert!(found == want, "{op:?} on {count} cells of {bytes} bytes");
            }
        }
    }

    #[test]
    fn deferred_atomics_equal_immediate_atomics() {
        check::<Word>(4);
        check::<Long>(8);
    }
}
