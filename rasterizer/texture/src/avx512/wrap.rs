//! Wrapping of texels outside of a level, in 512-bit vectors.

use super::super::address::{FAR, mode};
use base::host::{Host, SimdLevel};
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
    ///
    /// # Safety
    /// The host has the 512-bit level.
    #[inline(always)]
    pub(crate) unsafe fn inside<const N: usize>(
        self,
        mut texels: [__m512i; N],
        size: __m512i,
        last: __m512i,
    ) -> [__m512i; N] {
        // SAFETY: the host has the 512-bit level (`# Safety`).
        unsafe {
            match self {
                Wrap::Powers => {
                    for t in &mut texels {
                        *t = _mm512_and_si512(*t, last);
                    }
                }
                Wrap::Edge => {
                    let zero = _mm512_setzero_si512();
                    for t in &mut texels {
                        *t = _mm512_min_epi32(_mm512_max_epi32(*t, zero), last);
                    }
                }
                _ => {
                    let mut outside = 0;
                    for &t in &texels {
                        outside |= _mm512_cmpge_epu32_mask(t, size);
                    }
                    if outside != 0 {
                        wrapped(SimdLevel::Avx512)(self, size, &mut texels);
                    }
                }
            }
            texels
        }
    }
}

base::multiversion! {
    /// Wraps texels into a level of a size, for coordinates that are at most [`Wrap::farthest`]. It
    /// is not inlined, because it would take registers from the most frequent samples.
    for Avx512 unsafe fn wrapped(wrap: Wrap, size: __m512i, texels: &mut [__m512i]) {
        if H::HAS_512 {
            for texels in texels {
                *texels = wrapped_by(wrap, size, *texels);
            }
        }
    }
}

/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
unsafe fn wrapped_by(wrap: Wrap, size: __m512i, texels: __m512i) -> __m512i {
    // SAFETY: the host has the 512-bit level (`# Safety`).
    unsafe {
        let last = _mm512_sub_epi32(size, _mm512_set1_epi32(1));
        let inside = match wrap {
            Wrap::Powers | Wrap::Edge => texels,
            Wrap::Repeat => remainder(texels, size),
            Wrap::Mirrored => {
                let twice = _mm512_slli_epi32::<1>(size);
                let texels = remainder(texels, twice);
                // The number from the other end is n - 1 - x.
                let back = _mm512_sub_epi32(_mm512_add_epi32(twice, _mm512_set1_epi32(-1)), texels);
                _mm512_min_epi32(texels, back)
            }
            Wrap::MirroredOnce => _mm512_xor_si512(texels, _mm512_srai_epi32::<31>(texels)),
        };
        _mm512_min_epi32(_mm512_max_epi32(inside, _mm512_setzero_si512()), last)
    }
}

/// Returns the remainders in `0..size` of numbers up to 2^22; those of other numbers may lie
/// outside.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
unsafe fn remainder(of: __m512i, size: __m512i) -> __m512i {
    // SAFETY: the host has the 512-bit level (`# Safety`).
    unsafe {
        let quotient = floor(_mm512_div_ps(_mm512_cvtepi32_ps(of), _mm512_cvtepi32_ps(size)));
        let rest = _mm512_sub_epi32(of, _mm512_mullo_epi32(quotient, size));
        // The quotient is wrong by at most one, if it was rounded.
        let rest = _mm512_mask_add_epi32(rest, _mm512_movepi32_mask(rest), rest, size);
        _mm512_mask_sub_epi32(rest, _mm512_cmpge_epi32_mask(rest, size), rest, size)
    }
}

/// Returns the floor of numbers that are not far. (With a linear filter the argument is a
/// difference, and so no negative zero.)
#[inline(always)]
pub(crate) unsafe fn floor(u: __m512) -> __m512i {
    // SAFETY: all callers require the 512-bit level.
    unsafe { _mm512_cvt_roundps_epi32::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(u) }
}
