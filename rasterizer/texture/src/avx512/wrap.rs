//! Wrapping of texels outside of a level, in 512-bit vectors.

use super::super::address::{FAR, mode};
use base::host::Avx512;
use core::arch::x86_64::*;

/// A way to wrap texels outside of a level.
#[derive(Clone, Copy)]
pub(crate) enum Wrap {
    /// Repetition with sizes that are powers of two.
    Powers,
    Edge,
    /// Repetition with any size.
    Repeat,
    Mirrored,
    MirroredOnce,
}

impl Wrap {
    /// Returns the wrapping of an address mode; `powers` is true if sizes are powers of two. `None`
    /// is returned for modes that sample a border.
    #[inline(always)]
    pub(crate) fn of(address_mode: u32, powers: bool) -> Option<Wrap> {
        match address_mode {
            mode::REPEAT if powers => Some(Wrap::Powers),
            mode::CLAMP_TO_EDGE => Some(Wrap::Edge),
            mode::REPEAT => Some(Wrap::Repeat),
            mode::MIRRORED_REPEAT => Some(Wrap::Mirrored),
            mode::MIRROR_CLAMP_TO_EDGE => Some(Wrap::MirroredOnce),
            _ => None,
        }
    }

    /// Returns the largest magnitude of a coordinate in texels that it supports.
    #[inline(always)]
    pub(crate) fn farthest(self) -> f32 {
        match self {
            Wrap::Powers | Wrap::Edge | Wrap::MirroredOnce => FAR,
            // Up to this magnitude, the quotient of a remainder is wrong by at most one.
            Wrap::Repeat | Wrap::Mirrored => 4_194_304.0,
        }
    }
}

impl Wrap {
    /// Wraps texels into a level of these sizes, whose last texels are `last`. The coordinates are
    /// at most [`Wrap::farthest`].
    #[inline(always)]
    pub(crate) fn inside<const N: usize>(
        self,
        v: Avx512,
        mut texels: [__m512i; N],
        size: __m512i,
        last: __m512i,
    ) -> [__m512i; N] {
        match self {
            Wrap::Powers => {
                for t in &mut texels {
                    *t = v._mm512_and_si512(*t, last);
                }
            }
            Wrap::Edge => {
                let zero = v._mm512_setzero_si512();
                for t in &mut texels {
                    *t = v._mm512_min_epi32(v._mm512_max_epi32(*t, zero), last);
                }
            }
            _ => {
                let mut outside = 0;
                for &t in &texels {
                    outside |= v._mm512_cmpge_epu32_mask(t, size);
                }
                if outside != 0 {
                    wrapped(v, self, size, &mut texels);
                }
            }
        }
        texels
    }
}

base::avx512_fn! {
    /// Wraps texels into a level of a size, for coordinates that are at most [`Wrap::farthest`]. It
    /// is not inlined, because it would take registers from the most frequent samples.
    fn wrapped
        (v: Avx512, wrap: Wrap, size: __m512i, texels: &mut [__m512i]) {
        for texels in texels {
            *texels = wrapped_by(v, wrap, size, *texels);
        }

    }
}

#[inline(always)]
fn wrapped_by(v: Avx512, wrap: Wrap, size: __m512i, texels: __m512i) -> __m512i {
    let last = v._mm512_sub_epi32(size, v._mm512_set1_epi32(1));
    let inside = match wrap {
        Wrap::Powers | Wrap::Edge => texels,
        Wrap::Repeat => remainder(v, texels, size),
        Wrap::Mirrored => {
            let twice = v._mm512_slli_epi32::<1>(size);
            let texels = remainder(v, texels, twice);
            // The number from the other end is n - 1 - x.
            let back = v._mm512_sub_epi32(v._mm512_add_epi32(twice, v._mm512_set1_epi32(-1)), texels);
            v._mm512_min_epi32(texels, back)
        }
        Wrap::MirroredOnce => v._mm512_xor_si512(texels, v._mm512_srai_epi32::<31>(texels)),
    };
    v._mm512_min_epi32(v._mm512_max_epi32(inside, v._mm512_setzero_si512()), last)
}

/// Returns the remainders in `0..size` of numbers up to 2^22; those of other numbers may lie
/// outside.
#[inline(always)]
fn remainder(v: Avx512, of: __m512i, size: __m512i) -> __m512i {
    let quotient = floor(v, v._mm512_div_ps(v._mm512_cvtepi32_ps(of), v._mm512_cvtepi32_ps(size)));
    let rest = v._mm512_sub_epi32(of, v._mm512_mullo_epi32(quotient, size));
    // The quotient is wrong by at most one, if it was rounded.
    let rest = v._mm512_mask_add_epi32(rest, v._mm512_movepi32_mask(rest), rest, size);
    v._mm512_mask_sub_epi32(rest, v._mm512_cmpge_epi32_mask(rest, size), rest, size)
}

/// Returns the floor of numbers that are not far. (With a linear filter the argument is a
/// difference, and so no negative zero.)
#[inline(always)]
pub(crate) fn floor(v: Avx512, u: __m512) -> __m512i {
    v._mm512_cvt_roundps_epi32::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(u)
}
