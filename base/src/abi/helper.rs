//! Rust functions that generated code calls through its context, so that its bytes contain no
//! relocation; each has a row.

use super::image::{ImageArgs, ImageView, Sampler};
use super::layout::{Hash, Layout};
use super::ray_query::RayArguments;
use core::ffi::c_void;
use core::mem::offset_of;

/// The way in which an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// An argument of 64 bits.
    Pointer,
    /// An argument of 32 bits.
    Word,
}

/// A type of arguments.
trait HelperArgument {
    const KIND: ArgumentKind;
}

impl<T> HelperArgument for *const T {
    const KIND: ArgumentKind = ArgumentKind::Pointer;
}
impl<T> HelperArgument for *mut T {
    const KIND: ArgumentKind = ArgumentKind::Pointer;
}
impl HelperArgument for u32 {
    const KIND: ArgumentKind = ArgumentKind::Word;
}

/// The row of a helper, which [`Helper::row`] returns.
#[derive(Clone, Copy, Debug)]
pub struct HelperRow {
    /// Field of [`HelperTable`].
    pub name: &'static str,
    /// Arguments as they are written in the declaration.
    pub signature: &'static str,
    /// The ways in which the arguments are passed.
    pub arguments: &'static [ArgumentKind],
    /// Offset in [`HelperTable`].
    pub offset: usize,
}

macro_rules! helpers {
    ($($(#[$doc:meta])* $helper:ident = $name:ident($($argument:ident: $ty:ty),*);)*) => {
        /// The helper functions, which the crate that runs generated code fills in.
        #[repr(C)]
        pub struct HelperTable {
            $($(#[$doc])* pub $name: $crate::code_type!(unsafe extern "code" fn($($argument: $ty),*)),)*
        }

        /// A helper, as generated code names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Helper {
            $($(#[$doc])* $helper,)*
        }

        /// The rows of all helpers, in the order of [`Helper`].
        pub const HELPERS: &[HelperRow] = &[$(HelperRow {
            name: stringify!($name),
            signature: stringify!($($argument: $ty),*),
            arguments: &[$(<$ty as HelperArgument>::KIND),*],
            offset: offset_of!(HelperTable, $name),
        }),*];
    };
}

helpers! {
    /// Performs any image operation whose view or sampler differs between lanes, by a waterfall
    /// over distinct pairs. `views` and `samplers` have [`super::MAX_LANES`] entries; `samplers`
    /// may be null if the operation has none. Only lanes in `args.mask` are read.
    ImageDivergent = image_divergent(views: *const *const ImageView, samplers: *const *const Sampler, args: *mut ImageArgs);
    /// Computes fused multiply-adds with one rounding for hosts without FMA, on `n` elements each.
    FmaF32 = fma_f32(a: *const f32, b: *const f32, c: *const f32, out: *mut f32, n: u32);
    /// Computes 64-bit fused multiply-adds with one rounding for hosts without FMA, on `n` elements
    /// each.
    FmaF64 = fma_f64(a: *const f64, b: *const f64, c: *const f64, out: *mut f64, n: u32);
    /// Interpolates inputs of all quads of a [`super::FragmentBatch`], and of those that pad its
    /// last chunk of `quads`, at the positions of their invocations ([`super::FragmentPrimitive`]
    /// has the formulas). `inputs` are `count` slots, none of them flat, as [`super::interpolated`]
    /// encodes them. `rows`, aligned to 32 bytes, is `[pair of quads][input][lane of 8]`; the lanes
    /// of a missing second quad get some value.
    Interpolate = interpolate(batch: *const c_void, quads: u32, inputs: *const u32, count: u32, rows: *mut f32);
    /// Computes the positions at which centroid inputs of all quads of a [`super::FragmentBatch`],
    /// and of quads that pad the last chunk of `quads`, are evaluated. In each pixel, the position
    /// is the mean of the positions of the covered samples, or the centre if all or none are
    /// covered. Fragments of several pixels have theirs in the batch. `rows`, aligned to 32 bytes,
    /// is `[pair of quads][x, y][lane of 8]`; the lanes of a missing second quad get some value.
    Centroids = centroids(batch: *const c_void, quads: u32, rows: *mut f32);
    /// Takes a plain sample of two coordinates for all chunks of 8 lanes, one after the other.
    /// `coords` is `[chunk][2][lane]` and `results` is `[chunk][4][lane]`, both aligned to 32
    /// bytes; with `args.row_lanes` of 16, rows have two chunks each. The other arguments are in
    /// `args`, for all lanes of all chunks.
    SampleChunks = sample_chunks(view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs, coords: *const f32, results: *mut u32, chunks: u32);
    /// Initializes a table of deferred atomics ([`crate::deferred`]): `op` is an
    /// [`super::AtomicOp`], and cells have `bytes` bytes.
    BeginAtomics = begin_atomics(table: *mut c_void, op: u32, bytes: u32);
    /// Combines the operation for each lane that has a bit in `lanes`, by address and value of the
    /// table's width.
    CombineAtomics = combine_atomics(table: *mut c_void, addresses: *const u64, values: *const c_void, lanes: u32);
    /// Performs the deferred atomics of a table.
    EndAtomics = end_atomics(table: *mut c_void);
    /// Returns a monotonic time in nanoseconds.
    Clock = clock(out: *mut u64);
    /// Initializes the ray query of each lane that has a bit in `lanes`. `queries`, here and in the
    /// other helpers of ray queries, has [`super::MAX_RAY_LANES`] addresses, of which only those of
    /// such lanes are used. The bytes there may be anything; all other helpers are given only
    /// queries that were initialized. Results of lanes without a bit are 0.
    RayQueryInitialize = ray_query_initialize(context: *const c_void, queries: *const u64, arguments: *const RayArguments, lanes: u32);
    /// Copies the ray query of each lane in `lanes` from the one at the lane's address in
    /// `sources`.
    RayQueryCopy = ray_query_copy(context: *const c_void, queries: *const u64, sources: *const u64, lanes: u32);
    /// Proceeds with the ray query of each lane in `lanes`; a result is 1 if there is a candidate
    /// that the shader has to decide about, and 0 if the traversal is complete.
    RayQueryProceed = ray_query_proceed(context: *const c_void, queries: *const u64, results: *mut u32, lanes: u32);
    /// Commits the candidate triangle of each lane in `lanes`.
    RayQueryConfirm = ray_query_confirm(context: *const c_void, queries: *const u64, lanes: u32);
    /// Commits an intersection with the candidate box of each lane in `lanes` at a distance.
    RayQueryGenerate = ray_query_generate(context: *const c_void, queries: *const u64, t: *const f32, lanes: u32);
    /// Ends the traversal of each lane in `lanes`.
    RayQueryTerminate = ray_query_terminate(context: *const c_void, queries: *const u64, lanes: u32);
    /// Reads from the ray query of each lane in `lanes`. `getter` is a word of
    /// [`super::RayGetter::word`], and `results` is `[component][super::MAX_RAY_LANES]`.
    RayQueryGet = ray_query_get(context: *const c_void, queries: *const u64, getter: u32, results: *mut u32, lanes: u32);
}

impl Helper {
    /// Returns the row of the helper.
    pub const fn row(self) -> &'static HelperRow {
        &HELPERS[self as usize]
    }
}

/// Returns the hash of everything on which code that calls helpers relies.
pub(super) const fn hash_of_helpers(rows: &[HelperRow]) -> u64 {
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
    const HASH: u64 = hash_of_helpers(HELPERS);
}
