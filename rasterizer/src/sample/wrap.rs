//! How texels outside of a level come inside, of vectors of 512 bits.

use super::address::{FAR, mode};
use base::host::{Host, Level};
use core::arch::x86_64::*;

/// How texels outside come inside.
#[derive(Clone, Copy)]
pub(super) enum Wrap {
    /// Repeated, of sizes that are powers of two.
    Powers,
    Edge,
    /// Repeated, of any size.
    Repeat,
    Mirrored,
    MirroredOnce,
}

impl Wrap {
    /// That of a mode, of sizes that are `powers` of two or not. None of modes that see other than texels.
    #[inline(always)]
    pub(super) fn of(address_mode: u32, powers: bool) -> Option<Wrap> {
        match address_mode {
            mode::REPEAT if powers => Some(Wrap::Powers),
            mode::CLAMP_TO_EDGE => Some(Wrap::Edge),
            mode::REPEAT => Some(Wrap::Repeat),
            mode::MIRRORED_REPEAT => Some(Wrap::Mirrored),
            mode::MIRROR_CLAMP_TO_EDGE => Some(Wrap::MirroredOnce),
            _ => None,
        }
    }

    /// The largest coordinate in texels that it takes, either way.
    #[inline(always)]
    pub(super) fn farthest(self) -> f32 {
        match self {
            Wrap::Powers | Wrap::Edge | Wrap::MirroredOnce => FAR,
            // Of a remainder the quotient is then wrong by one at most.
            Wrap::Repeat | Wrap::Mirrored => 4_194_304.0,
        }
    }
}

impl Wrap {
    /// Texels inside of a level of these sizes, whose last ones are `last`: where they belong, of those that are not [`Wrap::farthest`].
    ///
    /// # Safety
    /// The host is wide.
    #[inline(always)]
    pub(super) unsafe fn inside<const N: usize>(
        self,
        mut texels: [__m512i; N],
        size: __m512i,
        last: __m512i,
    ) -> [__m512i; N] {
        // SAFETY: the caller's promise.
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
                        wrapped(Level::Avx512)(self, size, &mut texels);
                    }
                }
            }
            texels
        }
    }
}

base::compiled! {
    /// Texels inside of a level of a size: where they belong, of those that are not [`Wrap::farthest`]. Not inlined: it would take registers from the commonest samples.
    for Avx512 unsafe fn wrapped(wrap: Wrap, size: __m512i, texels: &mut [__m512i]) {
        if H::WIDE {
            for texels in texels {
                *texels = wrapped_by(wrap, size, *texels);
            }
        }
    }
}

/// # Safety
/// The host is wide.
#[inline(always)]
unsafe fn wrapped_by(wrap: Wrap, size: __m512i, texels: __m512i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        let last = _mm512_sub_epi32(size, _mm512_set1_epi32(1));
        let inside = match wrap {
            Wrap::Powers | Wrap::Edge => texels,
            Wrap::Repeat => remainder(texels, size),
            Wrap::Mirrored => {
                let twice = _mm512_slli_epi32::<1>(size);
                let texels = remainder(texels, twice);
                // Counted from the other end: n - 1 - x.
                let back = _mm512_sub_epi32(_mm512_add_epi32(twice, _mm512_set1_epi32(-1)), texels);
                _mm512_min_epi32(texels, back)
            }
            Wrap::MirroredOnce => _mm512_xor_si512(texels, _mm512_srai_epi32::<31>(texels)),
        };
        _mm512_min_epi32(_mm512_max_epi32(inside, _mm512_setzero_si512()), last)
    }
}

/// The remainders in `0..size` of numbers up to 2^22; of others they may lie outside.
///
/// # Safety
/// The host is wide.
#[inline(always)]
unsafe fn remainder(of: __m512i, size: __m512i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        let quotient = floor(_mm512_div_ps(_mm512_cvtepi32_ps(of), _mm512_cvtepi32_ps(size)));
        let rest = _mm512_sub_epi32(of, _mm512_mullo_epi32(quotient, size));
        // The quotient is wrong by one at most, where it was rounded.
        let rest = _mm512_mask_add_epi32(rest, _mm512_movepi32_mask(rest), rest, size);
        _mm512_mask_sub_epi32(rest, _mm512_cmpge_epi32_mask(rest, size), rest, size)
    }
}

/// The floor of what is not far. (Of a linear filter it is a difference, and so no negative zero.)
#[inline(always)]
pub(super) unsafe fn floor(u: __m512) -> __m512i {
    // SAFETY: the caller's host is wide.
    unsafe { _mm512_cvt_roundps_epi32::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(u) }
}
