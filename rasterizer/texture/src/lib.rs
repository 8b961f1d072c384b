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
//! 1. `view` makes the descriptor (and `divergent` sorts lanes by descriptor); `class` classifies
//!    samplers. `rows` reports the texels that generated code may read and write without kernels.
//! 2. `kernels` selects kernels by format. It has the functions that generated code calls directly,
//!    or for many chunks at once (`chunks`).
//! 3. Four modules take the operations: `planar` (2D views, plain samplers), `vector` (all other
//!    samples), `general` (images with cells, lane by lane) and `access` (fetch, store, atomics).
//!    They find levels (`lod`), texels and weights (`address`, `cube`), filter, and map components
//!    (`components`). `many` has the most frequent samples of many chunks for hosts with 256-bit
//!    vectors.
//! 4. `texel` and `blocks` find a texel's bytes in its slice and unpack them; texels of compressed
//!    formats come from the cache of `decoded`. `words` moves the bytes of all lanes, and `window`
//!    those of neighbouring lanes (`slice` has the slice's address). `wide` filters them on hosts
//!    with the 512-bit level. The most frequent samples have separate modules there: `whole`,
//!    `axes` and `in_image`. Texels of one or two components have `narrow`, and samples without a
//!    filter of two chunks `two` and `near`. Chunks with a linear filter have `several`, and
//!    samples with several probes `anisotropic` and `probes`. `quads` has shared functions.
//!
//! Views of images with sparse residency have separate kernels (`cells`). A view with a sampler
//! Y'CbCr conversion has kernels that call those of views of its planes (`ycbcr`).
//!
//! Invariant: every (level, layer, sample, texel) that a view admits lies inside its image. The
//! constructors check it, and the kernels rely on it.

mod access;
mod address;
#[cfg(target_arch = "x86_64")]
mod anisotropic;
#[cfg(target_arch = "x86_64")]
mod axes;
mod blocks;
mod cell;
mod cells;
mod chunks;
mod class;
mod components;
mod cube;
mod decoded;
mod divergent;
mod general;
#[cfg(target_arch = "x86_64")]
mod in_image;
mod kernels;
mod lod;
mod many;
#[cfg(target_arch = "x86_64")]
mod narrow;
#[cfg(target_arch = "x86_64")]
mod near;
mod planar;
#[cfg(target_arch = "x86_64")]
mod probes;
#[cfg(target_arch = "x86_64")]
mod quads;
mod rows;
#[cfg(target_arch = "x86_64")]
mod several;
mod slice;
#[cfg(test)]
mod tests;
mod texel;
#[cfg(target_arch = "x86_64")]
mod two;
mod vector;
mod view;
#[cfg(target_arch = "x86_64")]
mod whole;
#[cfg(target_arch = "x86_64")]
mod wide;
mod window;
mod words;
#[cfg(target_arch = "x86_64")]
mod wrap;
mod ycbcr;

pub use chunks::sample_chunks;
pub use divergent::image_divergent;
pub use lod::{MAX_LOD_BIAS, MAX_SAMPLER_ANISOTROPY};
pub use rows::rows_of;
pub use view::{
    ViewRequest, buffer_view, default_sampler, image_view, new_sampler, null_view, tell_residency, zero_page,
};
pub use ycbcr::{Conversion, ConvertedView, Model, converted_view};
