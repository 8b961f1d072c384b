//! Sampling: image views with their kernels, samplers, and the helper for operations whose view differs between lanes.
//!
//! A view carries the kernels for its format, dimension and this host; a sampler carries its class, which picks one of
//! them. So a call from generated code is two loads and an indirect call, and nothing is decided per texel that was known when the
//! descriptor was written. The scalar meaning of it all is `base::sample`, the oracle of the tests.
//!
//! One texel, from its descriptor to its value; each module knows only those behind it:
//!
//! 1. `view` makes the descriptor (and `divergent` sorts lanes by descriptor); `class` sorts samplers. `rows` says what generated code may read and write without us.
//! 2. `kernels` chooses by format, and has the functions that generated code calls, or has called for many chunks (`chunks`).
//! 3. `planar` (2D views, plain samplers), `vector` (all the rest), `general` (all the rest of images with cells, lane by lane) or `access` (fetch, store, atomics) find
//!    levels (`lod`), texels and weights (`address`, `cube`), filter, and map components (`components`). `many` has the commonest samples of many chunks, on hosts of 256 bits.
//! 4. `texel` and `blocks` find a texel's bytes in its slice and unpack them (of compressed formats from what is `decoded`); `words` moves the bytes of all lanes, `window` those
//!    of lanes that are neighbours (`slice` says where they lie). `wide` filters them where vectors have 512 bits; there the commonest samples have a way of their own (`whole`, `axes`, `in_image`; `narrow` of texels of one or two components; `quads` has what they share; `several` has those of chunks with a linear filter, `anisotropic` and `probes` those with several probes).
//!
//! Views of images with sparse residency have kernels of their own (`cells`).
//! A view with a sampler Y'CbCr conversion has kernels that ask those of views of its planes (`ycbcr`).
//!
//! Invariant: every (level, layer, sample, texel) that a view admits lies inside its image; the constructors check it, the
//! kernels rely on it.

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
pub(crate) mod words;
#[cfg(target_arch = "x86_64")]
mod wrap;
mod ycbcr;

pub use access::apply as apply_atomic;
pub use chunks::sample_chunks;
pub use divergent::image_divergent;
pub use rows::rows_of;
pub use view::{
    ViewRequest, buffer_view, default_sampler, image_view, new_sampler, null_view, tell_residency, zero_page,
};
pub use ycbcr::{Conversion, ConvertedView, Model, converted_view};
