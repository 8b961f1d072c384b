//! Texture sampling: image views with their kernels, samplers, and the helper for operations whose
//! view differs between lanes.
//!
//! A view has the kernels for its format, dimension and this host; a sampler has its class, which
//! selects one of them. A call from generated code is thus two loads and an indirect call, and no
//! property that was known when the descriptor was written is decided per texel. The scalar
//! definition of all operations is `base::sample`, the oracle of the tests.
//!
//! The list follows one texel from its descriptor to its value. Each module depends only on those
//! after it:
//!
//! 1. `view` makes the descriptor (and `divergent` sorts lanes by descriptor); `sampler_class`
//!    classifies samplers. `texel_rows` reports the texels that generated code may read and write
//!    without kernels.
//! 2. `kernels` selects kernels by format. It has the functions that generated code calls directly,
//!    or for many chunks at once (`chunk_batch`).
//! 3. Four modules take the operations: `lanes8::sample_2d` (2D views, plain samplers),
//!    `sample_any` (all other samples), `scalar` (images with cells, lane by lane) and
//!    `fetch_store` (fetch, store, atomics). They find levels (`lod`), texels and weights
//!    (`address`, `cube`), filter, and map components (`swizzle`). `sample_2d_batch` has the most
//!    frequent samples of many chunks for hosts with 256-bit vectors.
//! 4. `texel` and `compressed` find a texel's bytes in its slice and unpack them; texels of
//!    compressed formats come from the cache of `decode_cache`. `words` moves the bytes of all
//!    lanes, and `window` those of neighbouring lanes (`slice` has the slice's address). `bilinear`
//!    filters them on hosts with the 512-bit level. The most frequent samples have separate modules
//!    there: `sample_2d`, `level` and `image_texels`. Texels of one or two components have
//!    `bilinear_narrow`, and samples without a filter of two chunks `nearest` and `nearest_texels`.
//!    Chunks with a linear filter have `bilinear_batch`, and samples with several probes
//!    `anisotropic` and `anisotropic_probes`. `quad_windows` has shared functions.
//!
//! Views of images with sparse residency have separate kernels (`sparse`). A view with a sampler
//! Y'CbCr conversion has kernels that call those of views of its planes (`ycbcr`).
//!
//! All of them reach memory through `memory`: a kernel trusts its view once (`memory::ValidView`),
//! and each access is limited to the bytes of the view's image. `taps` has the texels that one
//! kernel requests from another one.
//!
//! Invariant: every (level, layer, sample, texel) that a view admits lies inside its image. The
//! constructors check it, so that the limits of `memory` change no offset.

mod address;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod chunk_batch;
mod compressed;
mod cube;
mod decode_cache;
mod divergent;
mod fetch_store;
mod kernels;
mod lanes8;
mod lod;
mod memory;
mod sampler_class;
mod scalar;
mod slice;
mod sparse;
mod sparse_block;
mod swizzle;
mod taps;
#[cfg(test)]
mod tests;
mod texel;
mod texel_rows;
mod view;
mod window;
mod words;
mod ycbcr;

pub use chunk_batch::sample_chunks;
pub use divergent::image_divergent;
pub use texel_rows::rows_of;
pub use view::{
    ViewRequest, buffer_view, default_sampler, image_view, new_sampler, null_view, set_residency, zero_page,
};
pub use ycbcr::{ConvertedView, YcbcrConversion, YcbcrModel, converted_view};

/// Kernels for hosts of a given level. A view has those of this host's level; the tests compare the
/// kernels of all levels with one another.
pub mod levels {
    pub use crate::kernels::{joint_of, kernels_of, nothing, sparse_kernels};
    pub use crate::ycbcr::converted;
}
