//! Rust functions that generated code calls through its context, so that its bytes hold no relocation: one row each.

use super::image::{ImageArgs, ImageView, Sampler};
use super::layout::{Hash, Layout};
use core::ffi::c_void;
use core::mem::offset_of;

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// 64 bits.
    Pointer,
    /// 32 bits.
    Word,
}

/// A type that arguments have.
trait Passed {
    const AS: Argument;
}

impl<T> Passed for *const T {
    const AS: Argument = Argument::Pointer;
}
impl<T> Passed for *mut T {
    const AS: Argument = Argument::Pointer;
}
impl Passed for u32 {
    const AS: Argument = Argument::Word;
}

/// See [`Helper::row`].
#[derive(Clone, Copy, Debug)]
pub struct HelperRow {
    /// Field of [`HelperTable`].
    pub name: &'static str,
    /// Arguments as they are written.
    pub signature: &'static str,
    /// How they are passed.
    pub arguments: &'static [Argument],
    /// Offset in [`HelperTable`].
    pub offset: usize,
}

macro_rules! helpers {
    ($($(#[$doc:meta])* $helper:ident = $name:ident($($argument:ident: $ty:ty),*);)*) => {
        /// The functions, filled in by whoever runs generated code.
        #[repr(C)]
        pub struct HelperTable {
            $($(#[$doc])* pub $name: unsafe extern "C" fn($($argument: $ty),*),)*
        }

        /// A helper, as generated code names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Helper {
            $($(#[$doc])* $helper,)*
        }

        /// The rows, in the order of [`Helper`].
        pub const HELPERS: &[HelperRow] = &[$(HelperRow {
            name: stringify!($name),
            signature: stringify!($($argument: $ty),*),
            arguments: &[$(<$ty as Passed>::AS),*],
            offset: offset_of!(HelperTable, $name),
        }),*];
    };
}

helpers! {
    /// Any image operation whose view or sampler differs between lanes: runs the waterfall over distinct pairs.
    /// `views` and `samplers` have [`super::MAX_LANES`] entries; `samplers` may be null when the operation has none.
    /// Only lanes in `args.mask` are read.
    ImageDivergent = image_divergent(views: *const *const ImageView, samplers: *const *const Sampler, args: *mut ImageArgs);
    /// Fused multiply-add with one rounding for hosts without FMA; `n` elements each.
    FmaF32 = fma_f32(a: *const f32, b: *const f32, c: *const f32, out: *mut f32, n: u32);
    /// The same of 64 bits.
    FmaF64 = fma_f64(a: *const f64, b: *const f64, c: *const f64, out: *mut f64, n: u32);
    /// The inputs of all quads of a [`super::FragmentBatch`] where their invocations are ([`super::FragmentPrimitive`] has the formulas), and of those that pad its last chunk of `quads`.
    /// `inputs`: `count` slots, none of them flat, as [`super::interpolated`] makes them. `rows`, aligned to 32 bytes: `[pair of quads][input][lane of 8]`; the lanes of a missing second quad have
    /// some value.
    Interpolate = interpolate(batch: *const c_void, quads: u32, inputs: *const u32, count: u32, rows: *mut f32);
    /// Where inputs of all quads of a [`super::FragmentBatch`] are evaluated that are centroids': inside of each pixel, the mean of the positions of the samples that are covered, the
    /// centre where all are, or none; and of quads that pad the last chunk of `quads`. `rows`, aligned to 32 bytes: `[pair of quads][x, y][lane of 8]`; the lanes of a missing second quad have
    /// some value.
    Centroids = centroids(batch: *const c_void, quads: u32, rows: *mut f32);
    /// A plain sample of two coordinates by all chunks of 8 lanes, one after the other. `coords`: `[chunk][2][lane]`, `results`: `[chunk][4][lane]`, both
    /// aligned to 32 bytes; with `args.row_lanes` of 16 rows are of two chunks each. The rest of the arguments is in `args`, for all lanes of all chunks.
    SampleChunks = sample_chunks(view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs, coords: *const f32, results: *mut u32, chunks: u32);
    /// A table for atomics that are kept back ([`crate::deferred`]): `op` is an [`super::AtomicOp`], cells have so many bytes.
    BeginAtomics = begin_atomics(table: *mut c_void, op: u32, bytes: u32);
    /// The operation for each lane that `lanes` has a bit of, by address and value of the table's width.
    CombineAtomics = combine_atomics(table: *mut c_void, addresses: *const u64, values: *const c_void, lanes: u32);
    /// Does what was kept back.
    EndAtomics = end_atomics(table: *mut c_void);
    /// Monotonic time in nanoseconds.
    Clock = clock(out: *mut u64);
}

impl Helper {
    /// What is known of it.
    pub const fn row(self) -> &'static HelperRow {
        &HELPERS[self as usize]
    }
}

/// What code that calls helpers relies on.
pub(super) const fn layout_of(rows: &[HelperRow]) -> u64 {
    let mut hash = Hash::new("helpers").number(size_of::<HelperTable>() as u64);
    let mut i = 0;
    while i < rows.len() {
        let row = &rows[i];
        hash = hash.text(row.name).text(row.signature).number(row.offset as u64);
        let mut n = 0;
        while n < row.arguments.len() {
            hash = hash.number(row.arguments[n] as u64);
            n += 1;
        }
        i += 1;
    }
    hash.finish()
}

impl Layout for HelperTable {
    const HASH: u64 = layout_of(HELPERS);
}
